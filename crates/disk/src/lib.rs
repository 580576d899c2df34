//! The only crate that opens files by name. A [`Root`] is a directory that may be used, a [`FileRef`] the only name that can be
//! opened in it, a [`Snapshot`] the one read of a file. A [`Store`] keeps what Readproof itself remembers; it is a trait, and
//! [`LocalStore`] the files in `.readproof`. Two kinds of files lie outside a workspace: a host's transcript
//! ([`TranscriptFile`]) and a user's settings of a host ([`Root::around`]). Decides nothing about answers, reads no environment
//! and has no mutable globals.
#![allow(
    missing_docs,
    reason = "a name that says everything needs no comment; the crate is only used in this workspace"
)]

mod fault;
mod git;
mod locate;
mod policy;
mod replace;
mod root;
mod snapshot;
mod stores;
mod transcript;

pub use git::{
    Baseline, BlobId, Compare, Compared, GitError, GitMode, GitSettings, Kept, StandsIn, Tracked, Working,
    WorkingError, looks_binary,
};
pub use locate::{FileId, FileRef, LocateError, Opened};
pub use policy::{
    Asks, BadPattern, Explained, FolderRules, Gate, Guard, Listed as ListedRule, NoEffect, NoWall, Policy, PolicyError,
    PolicySources, PolicyWarning, Refusal, Rules, STANDARD_PATTERNS, Sensitive, Wall, can_raise_wall,
};
pub use replace::{
    Applied, BesideError, Conflicting, DisplacedText, Expected, Leftover, Load, Moment, NOTE, Obstacle, Outcome,
    Present, RecoverError, Recovered, ReplaceAllError, ReplaceError, ResultsFile, Scratch, Stands, Step, Swept,
    is_in_git, is_in_store, is_ours,
};
pub use root::{Root, RootError, find_workspace, is_current_folder, is_program, is_same_file};
pub use snapshot::spelling::{on_disk, spelt};
pub use snapshot::{
    EntryKind, FileKind, Folder, Found, Happened, HardLinks, KnownBy, MOST_BYTES, MOST_NAMES, NameWatch, NoWatch,
    Small, Snapshot, SnapshotError, SnapshotRules, Stamp, Stat, Stop, Stopper, Stream, View, Waiting, Watch, Woken,
    input_is_closed_at_last,
};
pub use stores::{
    AuditCount, AuditPart, AuditParts, BadSessionName, Counted, Create, Database, Lasting, Lease, Leases, Loaded,
    LocalStore, LocalStores, Log, LogError, LogId, LogName, Logs, NextPiece, Objects, OpenedStore, Packing, Payload,
    Put, PutAside, Removal, Removed, RetiredLog, Right, STORE_NAME, SessionName, SmallTexts, Store, StoreError, Stored,
    Stores, Strange, TakeLine, Usage, Whose, copy_out, database_in_memory, is_folder, user_id, user_name,
};
pub use transcript::{
    Appended, TranscriptError, TranscriptFile, newest_file, open_recording, recordings_in, transcripts_in,
    transcripts_named,
};
