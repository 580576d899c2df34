//! Our own transcript: a session log read as a tree. Appending costs the appended record; moving to another leaf costs
//! nothing, as every entry keeps the (shared) knowledge that holds there.

mod handle;
mod line;
mod nodes;
mod past;
mod record;
mod transcript;

pub use past::{Past, PastLine};
pub use record::{Answered, Block, Changed, Found, LimitsUsed, Record, SeenFile, Sha, Stated};
pub use transcript::{Entry, EntryId, Step, Transcript};

use readproof_core::{knowledge::Knowledge, limits::Answers, path::PathKey, scope::Scope};
use readproof_disk::{Create, Log, LogError, LogId, LogName, SessionName, Store};
use std::ops::ControlFlow;

/// How often a record is offered to a log to which others append at the same time.
const ATTEMPTS: u32 = 10_000;

/// Why a session cannot be used or moved.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The log itself.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Written by a later program.
    #[error("session {0} was written by a newer readproof; use that one, or start another session")]
    Newer(SessionName),
    /// There is no such entry.
    #[error("session {session} has no entry {entry}; `readproof session show --session {session}` lists them")]
    NoEntry {
        /// Which session.
        session: SessionName,
        /// As asked.
        entry: EntryId,
    },
    /// The entry stands elsewhere.
    #[error(
        "entry {entry} of session {session} is not on its current branch; `readproof session switch {entry}` goes there"
    )]
    OffBranch {
        /// Which session.
        session: SessionName,
        /// Which entry.
        entry: EntryId,
    },
    /// The log was put aside while a result was on its way.
    #[error("the log of session {0} is another one than when this was asked; the result does not count")]
    OtherLog(SessionName),
    /// The name is taken.
    #[error("session {0} exists already; choose another name")]
    Exists(SessionName),
    /// The branch moved while an answer was decided.
    #[error("the branch moved while the answer was decided")]
    Moved,
}

/// A place in the tree as it was when something was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

/// Where a call was made: the leaf at that moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call(Option<u64>);

/// Where in the tree an answer stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// Behind everything that came in since the call, as in one conversation.
    #[default]
    AtLeaf,
    /// Right behind the call, whatever came in since: that belongs to other calls.
    BehindCall,
}

/// Which files' answers of a log are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// All.
    #[default]
    All,
    /// Those of files with this name, in whatever folder. Answers of others keep their place in the tree and mean nothing: what
    /// is held of one file never depends on another.
    Named(String),
}

impl Focus {
    /// Whether what is known of a file is all there is to know.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(name) => path.rsplit('/').next() == Some(name.as_str()),
        }
    }
}

/// One conversation.
pub struct Session {
    name: SessionName,
    log: Box<dyn Log>,
    transcript: Transcript,
    focus: Focus,
}

impl Session {
    /// Opens a session's log; `None` when there is none and none is to be made.
    ///
    /// # Errors
    /// When the log cannot be read or written, is damaged or newer.
    pub fn open(
        store: &dyn Store,
        name: &SessionName,
        create: Create,
        answers: Answers,
    ) -> Result<Option<Self>, SessionError> {
        Self::open_for(store, name, create, answers, Focus::All)
    }

    /// The same, where only some files matter: a program that answers one read need not look at all that was read before.
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

    /// Takes in what this or another process appended.
    ///
    /// # Errors
    /// When the log is damaged or newer.
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

    /// Whether all that is held of this file is known here.
    #[must_use]
    pub fn covers(&self, path: &PathKey) -> bool {
        self.focus.covers(path.as_str())
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// The tree.
    #[must_use]
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// What the model holds at the leaf.
    #[must_use]
    pub fn knowledge(&self) -> Knowledge {
        self.transcript.knowledge()
    }

    /// Where a call that is made now is made.
    #[must_use]
    pub fn call(&self) -> Call {
        Call(self.transcript.leaf())
    }

    /// What the model held when a call was made; `None` when that call is no longer in sight.
    #[must_use]
    pub fn knowledge_at(&self, call: Call) -> Option<Knowledge> {
        self.transcript.reaches(call.0).then(|| self.transcript.knowledge_at(call.0))
    }

    /// Which log this is: another one may take its name.
    #[must_use]
    pub fn log_id(&self) -> LogId {
        self.log.id()
    }

    /// Where the tree stands now; see [`Self::offer`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.transcript.moves())
    }

    /// Records an answer before it is given. It counts only once [`Self::deliver`] says that it was.
    ///
    /// # Errors
    /// [`SessionError::Moved`] when the answer relies on knowledge and the tree is no longer as it was at `mark`.
    pub fn offer(
        &mut self,
        (call, stands): (Call, Stands),
        mark: Mark,
        answer: Answered,
    ) -> Result<EntryId, SessionError> {
        let derived = answer.is_derived();
        self.append(Record::Answer { parent: None, answer: Box::new(answer) }, |transcript| {
            let in_sight = transcript.reaches(call.0);
            if derived && (!in_sight || transcript.moves() != mark.0) {
                return Err(SessionError::Moved);
            }
            // Where the conversation went elsewhere meanwhile, the answer stands where it was asked for.
            let parent = if in_sight && stands == Stands::AtLeaf { transcript.leaf() } else { call.0 };
            Ok(parent)
        })
    }

    /// Records which lines held of other texts are the same in one that is there now. Nobody is told anything; it only says
    /// under which names they count.
    ///
    /// # Errors
    /// [`SessionError::Moved`] when the tree is no longer as it was at `mark`.
    pub fn found_alike(&mut self, mark: Mark, found: Found) -> Result<(), SessionError> {
        self.append(Record::Alike { parent: None, found: Box::new(found) }, |transcript| {
            if transcript.moves() != mark.0 {
                return Err(SessionError::Moved);
            }
            Ok(transcript.leaf())
        })?;
        Ok(())
    }

    /// Records that an own write is about to happen: until its result is delivered, nothing of the path is held.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn begin(&mut self, path: &str, at: u64) -> Result<EntryId, SessionError> {
        self.append(Record::Begun { parent: None, path: path.to_owned(), at }, at_leaf)
    }

    /// Records what an own write did, durably.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn change(&mut self, changed: Changed) -> Result<EntryId, SessionError> {
        let session = self.name.clone();
        let begun = EntryId(changed.begun);
        self.append_synced(Record::Change { parent: None, changed: Box::new(changed) }, |transcript| {
            let no_entry = || SessionError::NoEntry { session: session.clone(), entry: begun };
            transcript.parent_for_result(begun).ok_or_else(no_entry)
        })
    }

    /// Records that the result `of` reached the model. It stands on the branch on which it was asked for.
    ///
    /// # Errors
    /// When there is no such result or the log cannot be written.
    pub fn deliver(&mut self, of: EntryId) -> Result<EntryId, SessionError> {
        let name = self.name.clone();
        self.append_unless(Record::Delivered { parent: None, of: of.0 }, |transcript| {
            let done = transcript.settled(of);
            if done != of {
                // Said before; once is enough.
                return Ok(Err(done));
            }
            let no_entry = || SessionError::NoEntry { session: name.clone(), entry: of };
            Ok(Ok(transcript.parent_for_result(of).ok_or_else(no_entry)?))
        })
    }

    /// Records that lines of files are about to be shown otherwise than in the answer to a read. They take those lines
    /// from every other text at once, whether they reach the model or not. Who asked at `call` gets them there, wherever
    /// the conversation has gone since.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn saw(&mut self, call: Call, files: Vec<SeenFile>, at: u64) -> Result<EntryId, SessionError> {
        self.append(Record::Seen { parent: None, files, at }, |transcript| {
            Ok(if transcript.reaches(call.0) { transcript.leaf() } else { call.0 })
        })
    }

    /// Takes lines of every name of a file out of what is held.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn refresh(&mut self, paths: Vec<String>, scope: Scope, at: u64) -> Result<EntryId, SessionError> {
        let scope = scope.to_string();
        self.append_synced(Record::Refresh { parent: None, paths, scope, at }, at_leaf)
    }

    /// The barrier.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn compact(&mut self, summary: Option<String>, at: u64) -> Result<EntryId, SessionError> {
        self.append_synced(Record::Compact { parent: None, summary, at }, at_leaf)
    }

    /// Records that the host now shows another block (or none) for a delivered result.
    ///
    /// # Errors
    /// When there is no such entry on the branch or the log cannot be written.
    pub fn edit_context(&mut self, target: EntryId, block: Option<Block>, at: u64) -> Result<EntryId, SessionError> {
        let target = self.known(target)?;
        if !self.transcript.branch(self.transcript.leaf().map(EntryId)).contains(&target) {
            return Err(SessionError::OffBranch { session: self.name.clone(), entry: self.transcript.named(target) });
        }
        self.append_synced(Record::ContextEdit { parent: None, target: target.0, block, at }, at_leaf)
    }

    /// Records that the host was seen to drop or change results per request: from here on nothing is vouched for.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn distrust(&mut self, why: &str, at: u64) -> Result<EntryId, SessionError> {
        self.append_synced(Record::Distrust { why: why.to_owned(), at }, |_| Ok(None))
    }

    /// Moves the leaf; `None` is the root.
    ///
    /// # Errors
    /// When there is no such entry or the log cannot be written.
    pub fn move_to(&mut self, to: Option<EntryId>, at: u64) -> Result<EntryId, SessionError> {
        let to = to.map(|to| self.known(to)).transpose()?;
        self.append_synced(Record::Switch { to: to.map(|id| id.0), at }, |_| Ok(None))
    }

    /// Makes a session of its own from the branch that ends at `from`.
    ///
    /// # Errors
    /// When the name is taken, there is no such entry or the log cannot be written.
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
        fork.append(Record::open(name, origin, at), |_| Ok(None))?;
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
        // Only a fork that is whole gets its name.
        if fork.log.publish()? { Ok(fork) } else { Err(SessionError::Exists(name.clone())) }
    }

    /// Writes the header of a new log.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn ensure_header(&mut self, at: u64) -> Result<(), SessionError> {
        if self.transcript.is_empty() {
            let header = Record::open(&self.name, None, at);
            self.append(header, |_| Ok(None))?;
        }
        Ok(())
    }

    /// The entry where what is named is done.
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
        // Not ours or not known: skipped, never fatal.
        None => Ok(()),
    }
}
