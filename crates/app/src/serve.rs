//! Programs that stay: what speaks to one client on standard input and output until it goes.

pub(crate) mod bridge;
pub(crate) mod mcp;
mod parting;
