//! STUB
use crate::{Engine, Error};
use readproof_core::{
    operation::Caller,
    policy::{Act, Rule},
    text::ContentHash,
};
/// A question to a person.
pub(crate) struct Ask {
    pub(crate) what: &'static str,
    pub(crate) act: Act,
    pub(crate) paths: Vec<String>,
    pub(crate) rule: Rule,
    pub(crate) digest: ContentHash,
    pub(crate) diff: Option<String>,
}
impl Engine {
    pub(crate) fn approved(&self, _caller: &Caller, ask: Ask) -> Result<(), Error> {
        let _ = (ask.what, ask.act, ask.digest, ask.diff);
        Err(Error::Denied { path: ask.paths.join(", "), rule: ask.rule })
    }
}
