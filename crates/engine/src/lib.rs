//! Everything a caller can ask of a workspace, behind one door: [`Engine::perform`]. Each operation has its own file.
//! The engine is synchronous and shared by threads; it never prints and never reads the environment. Cancellation is a
//! flag that is checked between stages.

mod conversation;
mod door;
mod edit;
mod find;
mod history;
mod read;
mod upkeep;

pub use conversation::*;
pub use door::settings::{Arguments, Handles, Keeping, Settings, Walling};
pub use door::{
    Answer, Approval, ApprovalRequest, Auditing, Call, CallLog, CallRecord, CompareNotice, Concern, Control, Error,
    LogAfter, NoIndex, Notice, Outcome, PolicyChecked, PolicyListed, Progress, Reading, Receipt, Refreshed, RuledAct,
    ShownLines, ShownText, StoodOn, Witness, Written, WrittenFile,
};
pub use edit::{ConflictTexts, Merged, Sides, three_way};
pub use find::{
    AROUND_BYTES, Around, Candidate, Defined, FileStat, InFile, Listed, ListedEntry, ListedKind, Outlined, Outlines,
    Resolved, Searched, Surroundings, SymbolsFound,
};
pub use history::{
    Blamed, BlamedLine, ChangesFound, Compared, ComparedVersions, ContextFound, DiffStatus, FilesListed, HistoryEntry,
    HistoryError, HistoryListed, KnownFile, KnownState, ListedFile, Looked, OnSight, RecentFile, Rewound, RewoundFile,
    ShownVersion, Sighting, Told, Uncommitted, Undo, Which,
};
pub use read::{CallContext, EndOfFile, KnowledgeAtCall, PendingAnswer, Recorded, ResolvedTarget};
pub use readproof_core::operation;
pub use readproof_disk::{GitSettings, Obstacle, SmallTexts, Stop, Stopper, Whose};
pub use readproof_hosts::{
    approvals::{
        ApprovalId, Approvals, Decided, MOST_WAITING, Request as ApprovalRecord, State as ApprovalState, Undecided,
    },
    audit,
    calls::{decoded as decoded_operation, encoded as encoded_operation},
    codex::Rollouts,
    session::{EntryId, EntryKind},
    versions::{By, Change as VersionChange, ChangedFile, Gap, Moment, OpenedConflict, VersionId, Versions},
};
pub use readproof_index::{
    BadQuery, BadWalk, Defined as DefinedAt, Fit, Fitting, Hit, Indexed, Line, Skipped, Symbol, SymbolKind, Tag,
    UseKind, Uses,
};
pub use upkeep::{
    About, Check, Collected, Collection, ErasedText, Finding, Forgotten, GcPlan, Health, HostSession, HostTexts,
    LISTED, LostVersion, NotAllowed, OutsideChange, Replayed, ReplayedLog, RetainedBy, Says, Status, Unread,
    Unverifiable, Wrong,
};

use conversation::Open;
use door::{CallLogs, Notes, Running, refusal};
pub(crate) use find::walk_rules;
use find::{Symbols, Words};
use history::Watched;
use read::Recent;
use readproof_core::{
    operation::{Caller, Operation},
    path::Bearings,
    policy::{Acts, Rule},
};
use readproof_disk::{Asks, Policy, Root, Sensitive, SessionName, Stores};
use readproof_index::Registry;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::AtomicU64},
};

/// The settings file of a workspace. It belongs to the user: an agent may read it but not change it.
pub const SETTINGS_FILE: &str = "readproof.toml";

/// The time that records carry, in milliseconds since 1970. Nothing is ordered by it; approvals expire by it.
pub type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// A workspace, its store and its open sessions, shared by threads. The door makes one for each call, with a root that shows
/// what the caller may see; all of them share the rest.
#[derive(Clone)]
pub struct Engine {
    root: Root,
    /// Set by [`Engine::for_one_read`].
    one_read: bool,
    /// Set by [`Engine::with_names_from_root`].
    names_from_root: bool,
    /// A rule that asks before the files of a change may be read.
    asking: Option<Rule>,
    /// Whether a person must agree before what this call tells is shown, so that nothing of it is recorded as shown.
    unseen: bool,
    /// Of a folder outside the workspace: the workspace whose person is asked.
    asker: Option<Box<Engine>>,
    /// What this call notes for its record, if anyone wants one.
    notes: Option<Arc<Notes>>,
    concerns: Arc<Vec<Arc<dyn Concern>>>,
    hosts: Arc<Vec<Arc<dyn HostTexts>>>,
    shared: Arc<Shared>,
}

/// What all calls share.
struct Shared {
    bearings: Bearings,
    settings: Settings,
    sensitive: Arc<Sensitive>,
    policy: Policy,
    clock: Clock,
    stores: Arc<dyn Stores>,
    open: Open,
    recent: Mutex<Recent>,
    symbols: Symbols,
    words: Words,
    versions: Mutex<Option<Versions>>,
    registry: Mutex<Option<Registry>>,
    /// The watch that runs in this process.
    watched: Mutex<Option<Arc<Watched>>>,
    approvals: Mutex<Option<Approvals>>,
    calls: CallLogs,
    /// Up to which record of the version log each conversation was told what others changed.
    told: Mutex<BTreeMap<SessionName, VersionId>>,
    /// Calls that wrote, of callers who name no conversation.
    unnamed_writes: AtomicU64,
    /// What is to be said beside the next answer.
    notices: Mutex<Vec<Notice>>,
}

impl Engine {
    /// The door: every call, from every wire. What concerns all calls is done before and after the match; what one
    /// operation does is in the file that its arm calls into.
    ///
    /// # Errors
    /// [`Error`] says what failed, as data. Nothing was recorded as shown.
    pub fn perform<C: Conversation>(&self, call: Call<'_, C>) -> Result<Outcome<C::Given>, Error> {
        let Call { caller, conversation, operation, control } = call;
        if let Some(done) = self.perform_elsewhere((caller, &control), &operation) {
            return done;
        }
        self.recover();
        let mut operation = operation.normalised();
        let running = self.begun();
        let outcome = self.perform_here((caller, &control), conversation, &mut operation, running.as_ref());
        self.note(running, (caller, conversation.log()), &operation, &outcome);
        outcome
    }

    /// A call in this workspace, up to its record.
    fn perform_here<C: Conversation>(
        &self,
        (caller, control): (&Caller, &Control<'_>),
        conversation: &mut C,
        operation: &mut Operation,
        running: Option<&Running>,
    ) -> Result<Outcome<C::Given>, Error> {
        self.admit(caller, operation)?;
        let acts = Acts::needed_by(operation);
        // `doctor` tells what is wrong with the policy.
        let is_open = *operation == Operation::Doctor;
        let mut seen = if is_open { self.clone() } else { self.seen_when(caller, acts, Asks::Refuse)? };
        seen.notes = running.map(|running| Arc::clone(&running.notes));
        let mut outcome = seen.answer((caller, control), conversation, operation);
        if let Some(refused) = outcome.as_ref().err().and_then(refusal).cloned() {
            outcome = self.answer_agreed(&mut seen, (caller, control), conversation, (operation, &refused));
        }
        self.keep_displaced();
        let mut outcome = outcome.map_err(|error| seen.with_suggestions(error, operation, control));
        seen.with_names_that_lead_back(&mut outcome);
        outcome
    }

    /// What one operation does, for a caller who sees what this engine shows.
    fn answer<C: Conversation>(
        &self,
        (caller, control): (&Caller, &Control<'_>),
        conversation: &mut C,
        operation: &Operation,
    ) -> Result<Outcome<C::Given>, Error> {
        match operation {
            Operation::Read(read) => self.read_or_refuse(conversation, read, control).map(Outcome::Read),
            Operation::ReadSymbol(read) => self.read_symbol(conversation, read, control).map(Outcome::Defined),
            Operation::ReadEnd(read) => self.read_end(conversation.log(), read).map(Outcome::EndOfFile),
            Operation::Stat { path } => self.stat(path).map(Outcome::Stat),
            Operation::SearchFile(search) => self.search_file(conversation.log(), search, control).map(Outcome::InFile),
            Operation::Search(search) => self.search(conversation.log(), search, control).map(Outcome::Searched),
            Operation::ListSymbols(list) => self.list_symbols(list, control).map(Outcome::Symbols),
            Operation::Outline(outline) => self.outline(conversation.log(), outline, control).map(Outcome::Outlined),
            Operation::List(list) => self.list(list, control).map(Outcome::Listed),
            Operation::Compare(compare) => self.compare(conversation.log(), compare, control).map(Outcome::Compared),
            Operation::Write(write) => self.write(caller, conversation, write, control).map(Outcome::Written),
            Operation::Patch(patch) => self.patch(caller, conversation, patch, control).map(Outcome::Written),
            Operation::CompareVersions(compare) => {
                self.compare_versions(conversation.log(), compare, control).map(Outcome::ComparedVersions)
            }
            Operation::ListFiles(list) => self.list_files(list, control).map(Outcome::Files),
            Operation::History(asked) => self.history(asked, control).map(Outcome::History),
            Operation::ShowVersion(asked) => {
                self.show_version(conversation.log(), asked, control).map(Outcome::Version)
            }
            Operation::Blame(asked) => self.blame(conversation.log(), asked, control).map(Outcome::Blamed),
            Operation::Changes(asked) => {
                self.changes((caller, conversation.log()), asked, control).map(Outcome::Changes)
            }
            Operation::Context => self.context(caller, conversation, control).map(Box::new).map(Outcome::Context),
            Operation::Tell => self.tell(caller, conversation, control).map(Outcome::Told),
            Operation::Checkpoint { name } => {
                self.checkpoint(caller, conversation.log(), name.as_deref(), control).map(Outcome::Marked)
            }
            Operation::Rewind(rewind) => self.rewind(caller, conversation, rewind, control).map(Outcome::Rewound),
            Operation::ListConflicts { all } => self.list_conflicts(*all).map(Outcome::Conflicts),
            Operation::ShowConflict { id } => self.show_conflict(id).map(Box::new).map(Outcome::Conflict),
            Operation::Propose { id, text } => self.propose(caller, id, text).map(Box::new).map(Outcome::Conflict),
            Operation::Resolve { id, with } => {
                self.resolve_conflict(caller, conversation, (id, with), control).map(Outcome::Written)
            }
            Operation::ListApprovals { all } => self.list_approvals(*all).map(Outcome::Approvals),
            Operation::ShowApproval { id } => self.show_approval(id).map(Box::new).map(Outcome::Approval),
            Operation::Decide { id, decision, scope, how } => {
                self.decide_approval(caller, id, (*decision, *scope, *how)).map(Box::new).map(Outcome::Approval)
            }
            Operation::Refresh(refresh) => self.refresh(conversation, refresh).map(Outcome::Refreshed),
            Operation::Status => self.status(conversation).map(Outcome::Status),
            Operation::Held { path } => self.held_now(conversation, path.as_deref()).map(Box::new).map(Outcome::Held),
            Operation::ListSessions => self.list_sessions().map(Outcome::Sessions),
            Operation::ShowSession => self.show_session(conversation.log()).map(Outcome::Session),
            Operation::Branch { at } => self.branch(conversation.log(), *at).map(Outcome::Moved),
            Operation::Switch { to } => self.switch(conversation.log(), *to).map(Outcome::Moved),
            Operation::Fork { from, into } => {
                self.fork(conversation.log(), *from, into.as_deref()).map(Outcome::Forked)
            }
            Operation::Compact { summary } => self.compact(conversation.log(), summary.clone()).map(Outcome::Recorded),
            Operation::EditContext { target, text } => {
                self.edit_context(conversation.log(), *target, text.as_deref()).map(Outcome::Recorded)
            }
            Operation::Distrust { why } => self.distrust(conversation.log(), why).map(Outcome::Recorded),
            Operation::Replay => self.replay(conversation.log()).map(Outcome::Replayed),
            Operation::Collect(collect) => self.collect(caller, collect).map(Outcome::Collected),
            Operation::Forget(forget) => self.forget_texts(caller, forget, control).map(Outcome::Forgotten),
            Operation::CheckPolicy { path, act, caller: of } => {
                self.check_policy(of.as_ref().unwrap_or(caller), path, *act).map(Outcome::PolicyChecked)
            }
            Operation::ListPolicy => self.list_policy().map(Outcome::Policy),
            Operation::Doctor => Ok(Outcome::Checked(self.doctor(control))),
        }
    }
}
