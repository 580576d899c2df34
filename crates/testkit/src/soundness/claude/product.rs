//! The product, asked as the hook on `Read` asks it.

use readproof_core::decide::Mode;
use serde_json::Value;
use std::path::Path;

use super::Step;
use crate::world::Watched;

/// What the hook passes on.
pub(super) struct Asked<'a> {
    pub(super) transcript: &'a Path,
    pub(super) agent: Option<&'a str>,
    pub(super) session: &'a str,
    pub(super) call: &'a str,
    pub(super) path: &'a str,
    pub(super) input: &'a Value,
    pub(super) response: &'a Value,
}

/// What it gets back.
pub(super) struct Answered {
    /// What the model is shown instead; `None` leaves the read as it is.
    pub(super) instead: Option<Value>,
    pub(super) mode: Mode,
    pub(super) reason: &'static str,
}

pub(super) fn ask(_engine: &Watched, asked: &Asked<'_>) -> Step<Answered> {
    let _ = (asked.transcript, asked.agent, asked.session, asked.call, asked.path, asked.input, asked.response);
    Ok(Answered { instead: None, mode: Mode::Full, reason: "not_built" })
}
