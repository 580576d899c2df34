//! Questions about the files of a workspace and their earlier texts, and the way back to one.

use alloc::{string::String, vec::Vec};

use super::{AnswerLimit, encode::Fields};

/// How many files or changes are listed unless the caller says otherwise.
pub const LISTED_FILES: usize = 1000;
/// The same of changes.
pub const LISTED_CHANGES: usize = 50;

/// The files of the workspace, as far as they are registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFiles {
    /// Only files that match one of these, as with ripgrep's `-g`; all if empty.
    pub globs: Vec<String>,
    /// Only files with one of these tags; all if empty.
    pub tags: Vec<String>,
    /// Only files of which a change is recorded.
    pub changed: bool,
    /// The most files that are listed.
    pub limit: Option<usize>,
}

/// The changes of one file, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The path as written; all files if absent.
    pub path: Option<String>,
    /// The most changes that are listed, the newest ones.
    pub limit: Option<usize>,
}

/// The text of a file after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowVersion {
    /// The number of the change.
    pub version: String,
    /// The file, as written; needed if the change is of several.
    pub path: Option<String>,
    /// How much of it is shown.
    pub most: AnswerLimit,
}

/// Which change wrote each line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The path as written.
    pub path: String,
    /// The first line, from 1.
    pub offset: Option<u64>,
    /// The number of lines.
    pub limit: Option<u64>,
    /// How much is shown.
    pub most: AnswerLimit,
}

/// What other programs changed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A version, a checkpoint or its name; since the newest call that changed something, if absent.
    pub since: Option<String>,
}

/// What becomes of changes that no call made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutsideChanges {
    /// They are undone like the conversation's own: its shell may have made them.
    #[default]
    Undo,
    /// They are kept, as another caller's are.
    Keep,
}

/// Whether the conversation goes back too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaf {
    /// It stays where it is, and is told what changed.
    #[default]
    Stays,
    /// It goes back to the same moment: the host drops what came later.
    GoesBack,
}

/// Back to the state of an earlier moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewind {
    /// A version, a checkpoint or its name.
    pub to: String,
    /// Only these files, or files in these folders, as written; all if empty.
    pub paths: Vec<String>,
    /// What becomes of changes that no call made.
    pub outside: OutsideChanges,
    /// Whether the conversation goes back too.
    pub leaf: Leaf,
    /// Whether what other conversations changed is undone too.
    pub everything: bool,
    /// Whether a file that nobody had looked at by then counts as what it was before its first known change.
    pub assume: bool,
    /// Whether only to say what would be done.
    pub dry_run: bool,
}

/// Erases earlier texts. Which ones: those of the files, those that are old enough, or those that are both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forget {
    /// The files, or the folders of them, as written; all if empty.
    pub paths: Vec<String>,
    /// Only texts that no file had at this moment or since.
    pub before: Option<Since>,
    /// Whether only to say what would go.
    pub dry_run: bool,
}

/// A moment of the version log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// Milliseconds since 1970.
    Time(u64),
    /// A version, a checkpoint or its name.
    Version(String),
}

impl Fields {
    pub(super) fn forget(self, forget: &Forget) -> Self {
        let fields = self.list("paths", &forget.paths);
        let fields = match &forget.before {
            Some(Since::Time(ms)) => fields.with("before_ms", *ms),
            Some(Since::Version(version)) => fields.with("before", version),
            None => fields,
        };
        fields.with("dry_run", forget.dry_run)
    }

    pub(super) fn files(self, list: &ListFiles) -> Self {
        self.list("globs", &list.globs)
            .list("tags", &list.tags)
            .maybe("changed", list.changed.then_some(true))
            .maybe("limit", list.limit)
    }

    pub(super) fn version(self, show: &ShowVersion) -> Self {
        self.with("version", &show.version).maybe("path", show.path.as_ref()).most(Some(show.most))
    }

    pub(super) fn blame(self, blame: &Blame) -> Self {
        self.with("path", &blame.path).maybe("offset", blame.offset).maybe("limit", blame.limit).most(Some(blame.most))
    }

    pub(super) fn rewind(self, rewind: &Rewind) -> Self {
        self.with("to", &rewind.to)
            .list("paths", &rewind.paths)
            .maybe("keep_outside", (rewind.outside == OutsideChanges::Keep).then_some(true))
            .maybe("everything", rewind.everything.then_some(true))
            .maybe("assume", rewind.assume.then_some(true))
            .maybe("conversation_too", (rewind.leaf == Leaf::GoesBack).then_some(true))
            .with("dry_run", rewind.dry_run)
    }
}
