//! Formats that are data or documents rather than programs.

pub(super) mod data;
pub(super) mod markdown;
pub(super) mod yaml;
