//! What the command line says: everything as it is.

use readproof_engine::Error;

use crate::{Terms, engine};

/// An error.
pub(crate) fn error(error: &Error) -> String {
    engine::error(Terms::CLI, error)
}
