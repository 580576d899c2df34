//! Our own transcript: a session log read as a tree. Appending costs only the appended record, and moving to another
//! leaf costs nothing, because every entry keeps the (shared) knowledge that holds there.

mod handle;
mod line;
mod listing;
mod past;
mod record;
mod state;
mod transcript;

pub use crate::block::{Block, Sha};
pub use listing::{EntryKind, ListedEntry};
pub use past::{Past, PastLine};
pub use record::{AlikeLines, Answered, Changed, LimitsUsed, NamedLines, Record, SeenFile, Stated};
pub use transcript::{EntryId, Transcript};

use readproof_core::{knowledge::Knowledge, limits::Answers, path::PathKey, scope::Scope};
use readproof_disk::{Create, Log, LogError, LogId, LogName, SessionName, Store};
use std::{cell::Cell, ops::ControlFlow};

/// How often a record is offered to a log to which others append at the same time.
const ATTEMPTS: u32 = 10_000;

/// Why a session cannot be used or moved.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum SessionError {
    Log(#[from] LogError),
    Newer(SessionName),
    NoEntry {
        session: SessionName,
        entry: EntryId,
    },
    /// The entry exists, but on another branch.
    OffBranch {
        session: SessionName,
        entry: EntryId,
    },
    /// The log was put aside while a result was on its way.
    OtherLog(SessionName),
    Exists(SessionName),
    /// A new log needs one; see [`Record::Open`].
    NoRandom(getrandom::Error),
    /// Never reported: the caller decides again.
    Moved,
}

/// The state of the tree when something was decided; see [`Session::offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

/// Where a call was made: the leaf at that moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    leaf: Option<u64>,
    /// How often the conversation had been moved by then. One that is moved meanwhile, if only to the entry where it was, has left the
    /// call behind. `None` of a call that stands at the root whatever happens.
    turns: Option<u64>,
}

/// Whether a call is still in the conversation.
fn is_in_sight(transcript: &Transcript, call: Call) -> bool {
    call.turns.is_none_or(|turns| turns == transcript.turns()) && transcript.reaches(call.leaf)
}

/// Where in the tree an answer is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// After everything that came in since the call, as in one conversation.
    #[default]
    AtLeaf,
    /// Directly after the call. What came in since belongs to other calls.
    AfterCall,
}

/// Which files' answers are parsed when a log is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    All,
    /// Only those of files with this name, in any folder. Answers about other files keep their place in the tree and
    /// mean nothing there: what is held of one file never depends on another.
    Named(String),
}

impl Focus {
    /// Whether everything that is held of this file is known.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(name) => path.rsplit('/').next() == Some(name.as_str()),
        }
    }
}

/// One conversation: its log and the tree read from it.
pub struct Session {
    name: SessionName,
    log: Box<dyn Log>,
    transcript: Transcript,
    focus: Focus,
}

impl Session {
    /// Opens a session's log; `None` if there is none and `create` says not to make one.
    ///
    /// # Errors
    /// If the log cannot be read or written, is damaged, or was written by a newer version.
    pub fn open(
        store: &dyn Store,
        name: &SessionName,
        create: Create,
        answers: Answers,
    ) -> Result<Option<Self>, SessionError> {
        Self::open_for(store, name, create, answers, Focus::All)
    }

    /// As [`Self::open`], for a program that will only ask about some files and need not parse the rest.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(
        store: &dyn Store,
        name: &SessionName,
        create: Create,
        answers: Answers,
        focus: Focus,
    ) -> Result<Option<Self>, SessionError> {
        let Some(log) = store.logs().open(&LogName::from(name), create)? else { return Ok(None) };
        let mut session = Self { name: name.clone(), log, transcript: Transcript::new(answers), focus };
        session.catch_up()?;
        Ok(Some(session))
    }

    /// Reads what this or another process has appended since the last time.
    ///
    /// # Errors
    /// If the log is damaged or newer.
    pub fn catch_up(&mut self) -> Result<(), SessionError> {
        let Self { name, log, transcript, focus } = self;
        let mut refused = Ok(());
        log.catch_up_each(&mut |line, text| match take_in(transcript, (name, focus), line, text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                refused = Err(error);
                ControlFlow::Break(())
            }
        })?;
        refused
    }

    /// Whether everything that is held of this file is known here; see [`Focus`].
    #[must_use]
    pub fn covers(&self, path: &PathKey) -> bool {
        self.focus.covers(path.as_str())
    }

    #[must_use]
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What the model holds at the leaf.
    #[must_use]
    pub fn knowledge(&self) -> Knowledge {
        self.transcript.knowledge()
    }

    /// The place of a call that is made now.
    #[must_use]
    pub fn call(&self) -> Call {
        Call { leaf: self.transcript.leaf(), turns: Some(self.transcript.turns()) }
    }

    /// What the model held when a call was made; `None` if the call is no longer in sight, see [`Transcript::reaches`].
    #[must_use]
    pub fn knowledge_at(&self, call: Call) -> Option<Knowledge> {
        is_in_sight(&self.transcript, call).then(|| self.transcript.knowledge_at(call.leaf))
    }

    /// Identifies this log, as another one may later take its name.
    #[must_use]
    pub fn log_id(&self) -> LogId {
        self.log.id()
    }

    /// The state of the tree now, to be passed to [`Self::offer`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.transcript.moves())
    }

    /// Records an answer before it is given. It counts only once [`Self::deliver`] is called.
    ///
    /// # Errors
    /// [`SessionError::Moved`] if the answer relies on knowledge and the tree has changed since `mark`.
    pub fn offer(
        &mut self,
        (call, stands): (Call, Stands),
        mark: Mark,
        answer: Answered,
    ) -> Result<EntryId, SessionError> {
        let derived = answer.is_derived();
        let at = answer.at;
        let left = Cell::new(None);
        let entry = self.append(Record::Answer { parent: None, answer: Box::new(answer) }, |transcript| {
            let in_sight = is_in_sight(transcript, call);
            if derived && (!in_sight || transcript.moves() != mark.0) {
                return Err(SessionError::Moved);
            }
            // Where the conversation went elsewhere meanwhile, the answer stands where it was asked for.
            let parent = if in_sight && stands == Stands::AtLeaf { transcript.leaf() } else { call.leaf };
            left.set((!in_sight && parent == transcript.leaf()).then(|| transcript.leaf()));
            Ok(parent)
        })?;
        if let Some(leaf) = left.get() {
            // The answer is where the conversation is by now, and not in it.
            self.append(Record::Switch { to: leaf, at }, |_| Ok(None))?;
        }
        Ok(entry)
    }

    /// Records which lines, held of other texts of a file, are the same in its present text. The model is told nothing;
    /// the lines then count under both texts.
    ///
    /// # Errors
    /// [`SessionError::Moved`] if the tree has changed since `mark`.
    pub fn found_alike(&mut self, mark: Mark, found: AlikeLines) -> Result<(), SessionError> {
        self.append(Record::Alike { parent: None, found: Box::new(found) }, |transcript| {
            if transcript.moves() != mark.0 {
                return Err(SessionError::Moved);
            }
            Ok(transcript.leaf())
        })?;
        Ok(())
    }

    /// Records that the agent is about to write a file. Until the result is delivered, nothing of that file is held.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn begin(&mut self, path: &str, at: u64) -> Result<EntryId, SessionError> {
        self.append(Record::Begun { parent: None, path: path.to_owned(), at }, at_leaf)
    }

    /// Records what one call did to several files, and syncs the log once.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn change_all(&mut self, changes: Vec<Changed>) -> Result<Vec<EntryId>, SessionError> {
        let session = self.name.clone();
        let mut entries = Vec::with_capacity(changes.len());
        for changed in changes {
            let begun = EntryId(changed.begun);
            let entry = self.append(Record::Change { parent: None, changed: Box::new(changed) }, |transcript| {
                let no_entry = || SessionError::NoEntry { session: session.clone(), entry: begun };
                transcript.parent_for_result(begun).ok_or_else(no_entry)
            })?;
            entries.push(entry);
        }
        self.log.sync()?;
        Ok(entries)
    }

    /// Records that the result `of` reached the model. It is put on the branch where it was asked for.
    ///
    /// # Errors
    /// If there is no such result or the log cannot be written.
    pub fn deliver(&mut self, of: EntryId) -> Result<EntryId, SessionError> {
        let name = self.name.clone();
        self.append_unless(Record::Delivered { parent: None, of: of.0 }, |transcript| {
            let done = transcript.settled(of);
            if done != of {
                // Recorded before.
                return Ok(Err(done));
            }
            let no_entry = || SessionError::NoEntry { session: name.clone(), entry: of };
            Ok(Ok(transcript.parent_for_result(of).ok_or_else(no_entry)?))
        })
    }

    /// Records that lines of files are about to be shown by anything but the answer to a read. Those lines are taken
    /// from every other text at once, whether they reach the model or not. They are recorded on the branch of `call`,
    /// wherever the leaf is by now.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn saw(&mut self, call: Call, files: Vec<SeenFile>, at: u64) -> Result<EntryId, SessionError> {
        self.append(Record::Seen { parent: None, files, at }, |transcript| {
            Ok(if is_in_sight(transcript, call) { transcript.leaf() } else { call.leaf })
        })
    }

    /// Takes lines out of what is held, under every name of a file.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn refresh(&mut self, paths: Vec<String>, scope: Scope, at: u64) -> Result<EntryId, SessionError> {
        let scope = scope.to_string();
        self.append_synced(Record::Refresh { parent: None, paths, scope, at }, at_leaf)
    }

    /// Records a compaction: nothing before it counts.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn compact(&mut self, summary: Option<String>, at: u64) -> Result<EntryId, SessionError> {
        self.append_synced(Record::Compact { parent: None, summary, at }, at_leaf)
    }

    /// Records that the host now shows another block, or none, for a delivered result.
    ///
    /// # Errors
    /// If there is no such entry on the branch or the log cannot be written.
    pub fn edit_context(&mut self, target: EntryId, block: Option<Block>, at: u64) -> Result<EntryId, SessionError> {
        let target = self.known(target)?;
        if !self.transcript.branch(self.transcript.leaf().map(EntryId)).contains(&target) {
            return Err(SessionError::OffBranch { session: self.name.clone(), entry: self.transcript.named(target) });
        }
        self.append_synced(Record::ContextEdit { parent: None, target: target.0, block, at }, at_leaf)
    }

    /// Records that the host was seen to drop or change results per request. From here on nothing is vouched for.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn distrust(&mut self, why: &str, at: u64) -> Result<EntryId, SessionError> {
        self.append_synced(Record::Distrust { why: why.to_owned(), at }, |_| Ok(None))
    }

    /// Moves the leaf; `None` is the root.
    ///
    /// # Errors
    /// If there is no such entry or the log cannot be written.
    pub fn move_to(&mut self, to: Option<EntryId>, at: u64) -> Result<EntryId, SessionError> {
        let to = to.map(|to| self.known(to)).transpose()?;
        self.append_synced(Record::Switch { to: to.map(|id| id.0), at }, |_| Ok(None))
    }

    /// Makes a new session from the branch that ends at `from`.
    ///
    /// # Errors
    /// If the name is taken, there is no such entry, or the log cannot be written.
    pub fn fork(
        &self,
        store: &dyn Store,
        name: &SessionName,
        from: Option<EntryId>,
        at: u64,
    ) -> Result<Self, SessionError> {
        let from = from.map(|from| self.known(from)).transpose()?;
        let log = store.logs().draft(&LogName::from(name))?;
        let transcript = Transcript::new(self.transcript.answers());
        let mut fork = Self { name: name.clone(), log, transcript, focus: Focus::All };
        let origin = Some((self.name.to_string(), from.map(|id| id.0)));
        let header = Record::open(name, origin, at).map_err(SessionError::NoRandom)?;
        fork.append(header, |_| Ok(None))?;
        let mut ids = std::collections::BTreeMap::new();
        for id in self.transcript.branch(from) {
            let Some(record) = self.transcript.record(id) else { continue };
            let copied = record.renumbered(&|old| ids.get(&old).copied());
            let line = fork.log.append(&copied.to_json())?;
            fork.transcript.push(line, copied);
            ids.insert(id.0, line);
        }
        if self.transcript.is_distrusted() {
            fork.distrust("forked from a session whose host changes what the model sees", at)?;
        }
        // A fork gets its name only once it is complete.
        if fork.log.publish()? { Ok(fork) } else { Err(SessionError::Exists(name.clone())) }
    }

    /// Writes the header of a new log.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn ensure_header(&mut self, at: u64) -> Result<(), SessionError> {
        if self.transcript.is_empty() {
            let header = Record::open(&self.name, None, at).map_err(SessionError::NoRandom)?;
            self.append(header, |_| Ok(None))?;
        }
        Ok(())
    }

    /// The entry that completes this one: for a call, the delivery of its result.
    fn known(&self, entry: EntryId) -> Result<EntryId, SessionError> {
        match self.transcript.entry(entry) {
            Some(_) => Ok(self.transcript.settled(entry)),
            None => Err(SessionError::NoEntry { session: self.name.clone(), entry }),
        }
    }

    /// As [`Self::append`], and it survives a power failure: without it, older text would count again.
    fn append_synced(
        &mut self,
        record: Record,
        place: impl Fn(&Transcript) -> Result<Option<u64>, SessionError>,
    ) -> Result<EntryId, SessionError> {
        let id = self.append(record, place)?;
        self.log.sync()?;
        Ok(id)
    }

    /// Appends a record after the entry that `place` names. `place` judges by the tree as it is at the moment of the append:
    /// where others append meanwhile, it is asked again.
    fn append(
        &mut self,
        record: Record,
        place: impl Fn(&Transcript) -> Result<Option<u64>, SessionError>,
    ) -> Result<EntryId, SessionError> {
        self.append_unless(record, |transcript| place(transcript).map(Ok))
    }

    /// As [`Self::append`], unless `place` names an entry that says the same already.
    fn append_unless(
        &mut self,
        mut record: Record,
        place: impl Fn(&Transcript) -> Result<Result<Option<u64>, EntryId>, SessionError>,
    ) -> Result<EntryId, SessionError> {
        // Mostly nobody else appended, so the log is only looked at when it says otherwise.
        let mut caught_up = false;
        for _ in 0..ATTEMPTS {
            match place(&self.transcript) {
                Ok(Ok(parent)) => {
                    record.stand_after(parent);
                    match self.log.append(&record.to_json()) {
                        Ok(line) => {
                            self.transcript.push(line, record);
                            return Ok(EntryId(line));
                        }
                        Err(LogError::Behind { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(Err(said)) if caught_up => return Ok(said),
                Err(error) if caught_up => return Err(error),
                // What others appended meanwhile may change that.
                Ok(Err(_)) | Err(_) => {}
            }
            self.catch_up()?;
            caught_up = true;
        }
        Err(LogError::Busy { log: LogName::from(&self.name) }.into())
    }
}

/// Where the conversation stands.
fn at_leaf(transcript: &Transcript) -> Result<Option<u64>, SessionError> {
    Ok(transcript.leaf())
}

fn take_in(
    transcript: &mut Transcript,
    (name, focus): (&SessionName, &Focus),
    line: u64,
    text: &str,
) -> Result<(), SessionError> {
    if let Focus::Named(_) = focus
        && let Some((parent, path)) = line::head(text)
        && !focus.covers(path)
    {
        transcript.push(line, Record::Unknown { parent, raw: String::new() });
        return Ok(());
    }
    match Record::parse(text) {
        Some(record) if record.is_newer() => Err(SessionError::Newer(name.clone())),
        Some(record) => {
            transcript.push(line, record);
            Ok(())
        }
        // Not a record of ours, or of a later version: skipped, never fatal.
        None => Ok(()),
    }
}
