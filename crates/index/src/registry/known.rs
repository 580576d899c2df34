//! Names as they were at the last look. A stat only ever says that a file need not be read.

use readproof_disk::{Root, Stamp};
use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

/// A name at the last look.
pub(super) struct Known {
    /// `None` if a change could have gone unnoticed.
    stamp: Option<Stamp>,
    /// Whether this look meets it.
    met: AtomicBool,
}

impl Known {
    pub(super) fn new(stamp: Option<Stamp>) -> Self {
        Self { stamp, met: AtomicBool::new(false) }
    }

    pub(super) fn is_met(&self) -> bool {
        self.met.load(Ordering::Relaxed)
    }
}

/// A name that a look meets.
pub(super) struct Name {
    pub(super) path: String,
    /// Whether every look meets it, unless it is hidden.
    pub(super) walked: bool,
}

/// Whether a file must be looked at; notes that its name was met.
pub(super) fn may_have_changed(root: &Root, known: &HashMap<String, Known>, name: &Name) -> bool {
    let before = known.get(&name.path);
    if let Some(before) = before {
        before.met.store(true, Ordering::Relaxed);
    }
    let Some(then) = before.and_then(|before| before.stamp) else { return true };
    root.glance(&name.path).is_none_or(|now| now.stamp() != then)
}
