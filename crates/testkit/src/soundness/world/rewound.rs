//! What may come of a rewind: every file as it was at the mark, or said to stay and left as it is; nothing, if it is refused.

use readproof_engine::{Error, HistoryError, Rewound, Undo};
use std::collections::BTreeMap;

/// What every file of a run has in it; `None` for one that is not there.
pub(crate) type Texts = BTreeMap<&'static str, Option<String>>;

/// The texts around a rewind.
pub(crate) struct Around<'a> {
    /// At the moment that it goes back to.
    pub(crate) then: &'a Texts,
    pub(crate) before: &'a Texts,
    pub(crate) now: &'a Texts,
}

impl Around<'_> {
    /// What is wrong, if anything. A link leads to a file that was rewound under its own name.
    pub(crate) fn wrong(&self, done: &Rewound, dry_run: bool, is_link: impl Fn(&str) -> bool) -> Option<String> {
        self.now.iter().find_map(|(name, text)| {
            let said = done.files.iter().find(|file| file.path == *name).map(|file| file.what);
            let of = |texts: &Texts| texts.get(name).cloned().flatten();
            let (was, then) = (of(self.before), of(self.then));
            let is_right = match said {
                Some(Undo::Restored | Undo::Made | Undo::Removed) if !dry_run => *text == then,
                Some(Undo::Merged) if !dry_run => true,
                None | Some(Undo::Blocked(_)) if is_link(name) => true,
                Some(_) | None => *text == was,
            };
            (!is_right)
                .then(|| format!("{name} is said to be {said:?}: it was {then:?}, then {was:?}, and is {text:?}"))
        })
    }
}

/// Whether a rewind may be refused so, rules apart.
pub(crate) fn may_be_refused(error: &Error) -> bool {
    matches!(
        error,
        Error::History(HistoryError::Unresolved { .. } | HistoryError::NotOfConversation { .. })
            | Error::Precondition { .. }
            | Error::Snapshot(_)
    )
}
