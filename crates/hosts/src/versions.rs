//! The version log of a workspace: which file got which text, by whose call, and which edits are in conflict. It only grows.
//! A version is known by the number of its line.

use readproof_core::{operation::Caller, text::ContentHash};
use readproof_disk::{Create, Log, LogError, LogName, Store};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::ControlFlow,
};

use crate::block::Sha;

/// The version of these records.
const VERSION: u32 = 1;

/// The number of the line that every log begins with.
const HEADER: u64 = 1;

/// How often a record is offered to a log to which others append at the same time.
const ATTEMPTS: u32 = 10_000;

/// How many texts one record of an erasure names.
const IN_ONE_RECORD: usize = 1000;

/// A line of the version log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Record {
    /// The header, with a random number.
    Open {
        v: u32,
        nonce: String,
        at: u64,
        /// 0 of the first log, and random of one that was begun because another was put aside.
        #[serde(default, skip_serializing_if = "is_first")]
        generation: u32,
    },
    /// Files got other texts, all by one call.
    Change(Box<Change>),
    /// An edit and another's change of the same lines.
    Conflict(Box<Conflict>),
    /// Someone proposes a text for a conflict.
    Proposal { conflict: u64, text: Sha, by: By, at: u64 },
    /// A conflict is over.
    Resolved { conflict: u64, how: String, by: By, at: u64 },
    /// Someone marked the state of the tree.
    Checkpoint(Box<Checkpoint>),
    /// Texts are not kept any more.
    Erased(Box<Erasure>),
    /// Files may have had texts until here that nobody saw.
    Unwatched(Unwatched),
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Who made a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    pub surface: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl From<&Caller> for By {
    fn from(caller: &Caller) -> Self {
        let Caller { surface, client, user, identity, conversation, agent } = caller.clone();
        Self { surface: surface.into_owned(), client, user, identity, conversation, agent }
    }
}

impl By {
    /// A program other than this one: a shell, an editor, git, or a person with one of them.
    #[must_use]
    pub fn outside() -> Self {
        Self { surface: OUTSIDE.to_owned(), ..Self::default() }
    }

    /// Whether this caller made it, in this conversation.
    #[must_use]
    pub fn is_of(&self, caller: &Caller) -> bool {
        !self.is_outside() && self.conversation == caller.conversation && self.surface == caller.surface
    }

    /// Whether nobody made a call for it.
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.surface == OUTSIDE
    }
}

const OUTSIDE: &str = "outside";

/// The operation of a change that was met and not made: by any program, by git, a file met for the first time, one that is not
/// looked at from here on, and a text that another program saved and a write displaced.
pub const MET: &str = "outside";
pub const MET_BY_GIT: &str = "git";
pub const FIRST: &str = "first";
pub const UNSEEN: &str = "unseen";
pub const DISPLACED: &str = "displaced";

/// What one call did, to one file or to several at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The word of the operation.
    pub operation: Cow<'static, str>,
    pub files: Vec<ChangedFile>,
    pub by: By,
    /// Milliseconds since 1970. Says nothing about order.
    pub at: u64,
    /// The entry of the conversation's log that announced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The first record of the event that this one continues: what one look meets may be too much for one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
}

/// A time in which changes were not met one by one: between the record before it and this one, files may have had texts that
/// nobody saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwatched {
    pub why: Unseen,
    /// Milliseconds since 1970: when it ended.
    pub at: u64,
}

/// Why changes were not met one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// Nothing watched the files; this is where a watch begins.
    NotRunning,
    /// So much changed at once that the system told only a part of it.
    Overflow,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

impl Unseen {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotRunning => "not_running",
            Self::Overflow => "overflow",
            Self::Other => "other",
        }
    }
}

/// A moment that someone wants to find again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the conversation was: its leaf; absent at the root, and without a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    pub by: By,
    pub at: u64,
}

/// Texts that go, recorded before they do. A later record that names one of them says that it is kept again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    pub texts: Vec<Sha>,
    /// The word of the operation.
    pub operation: Cow<'static, str>,
    pub by: By,
    pub at: u64,
}

/// A record that names a text.
#[derive(Clone, Copy, Debug)]
pub struct Use<'v> {
    pub hash: ContentHash,
    pub path: &'v str,
    /// The record.
    pub id: VersionId,
    /// When it was made, in milliseconds since 1970.
    pub at: u64,
    pub role: Role,
    /// Whether the record says that the text is kept.
    pub kept: bool,
}

/// What a text is in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What the file was before a change.
    Before,
    /// What it was after a change.
    After,
    /// A side of a conflict, or a text proposed for it.
    Conflict { is_open: bool },
}

impl Change {
    /// The change as one line of text, for a journal.
    #[must_use]
    pub fn to_note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a journal's note is of this change: it knows neither the entry nor since when a text was there.
    fn is_of_journal(&self, note: &Self) -> bool {
        let bare = |file: &ChangedFile| ChangedFile { since: None, ..file.clone() };
        let files = self.files.iter().map(bare).collect();
        Self { entry: None, files, ..self.clone() } == *note
    }

    /// Reads [`Self::to_note`].
    #[must_use]
    pub fn from_note(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }
}

/// A file that got another text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    /// The text that was there; absent if there was no file, and for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha>,
    /// The text that is there now; absent if the file was removed, and for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha>,
    /// The name that it had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether it was removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The record of the log since which it was known to be as before; absent if an earlier record tells it, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Why a text that was there is not known, or not kept. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Gaps::are_none")]
    pub gaps: Gaps,
    /// The permissions of the file that was there, where a call removed it or another program changed it. Absent if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Why texts of a file are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Gap>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Gap>,
}

impl Gaps {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Why a text is not known or not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// Nobody looked at the file then.
    NotLookedAt,
    /// It was known by its hash, and whoever kept it has it no more.
    Lost,
    TooLarge,
    NotText,
    Sensitive,
    /// The file could not be read.
    Unreadable,
    /// It was kept, and then erased: by a person, or because of its age or size.
    Erased,
    /// It was a link, a pipe, a socket or a device.
    NotAFile,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}

impl Gap {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotLookedAt => "not_looked_at",
            Self::Lost => "lost",
            Self::TooLarge => "too_large",
            Self::NotText => "not_text",
            Self::Sensitive => "sensitive",
            Self::Unreadable => "unreadable",
            Self::Erased => "erased",
            Self::NotAFile => "not_a_file",
            Self::Other => "other",
        }
    }
}

/// An edit that could not be made because someone else changed the same lines. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub path: String,
    /// The text that the edit was made for.
    pub base: Sha,
    /// That text with the edit.
    pub ours: Sha,
    /// The text of the file at that time; absent if the file was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theirs: Option<Sha>,
    pub by: By,
    pub at: u64,
}

/// The number of a version or a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(pub u64);

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl VersionId {
    /// Reads `v12`, or `12`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix('v').unwrap_or(text).parse().ok().map(Self)
    }
}

/// A record of one certain log. Logs may be put aside and begun anew, and then the same number is of another record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The random number that the log begins with.
    pub log: u64,
    pub version: VersionId,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:016x}", self.version, self.log)
    }
}

impl Moment {
    /// Reads `v12@0123456789abcdef`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (version, log) = text.split_once('@')?;
        let version = VersionId(version.strip_prefix('v')?.parse().ok()?);
        Some(Self { log: log_number(log)?, version })
    }
}

/// The number that a log begins with, from its sixteen digits.
fn log_number(digits: &str) -> Option<u64> {
    let is_digits = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_digits)
}

/// A conflict with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedConflict {
    pub id: VersionId,
    pub conflict: Conflict,
    /// The newest text that someone proposed, and who.
    pub proposal: Option<(ContentHash, By)>,
    /// How it ended, and by whom; absent while it is open.
    pub resolved: Option<(String, By)>,
}

/// Why the version log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum VersionsError {
    Log(#[from] LogError),
    /// It was written by a newer version of this program.
    Newer,
    NoRandom(getrandom::Error),
}

impl VersionsError {
    /// Whether the log can neither be read nor continued, so that another has to be begun.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Log(LogError::Damaged { .. }))
    }
}

fn is_first(generation: &u32) -> bool {
    *generation == 0
}

/// No log has as many records as this many bits can count.
const RECORD_BITS: u32 = 40;

/// The bits of a generation, so that a mark is a number that JSON can hold exactly in every program.
const GENERATIONS: u32 = (1 << (53 - RECORD_BITS)) - 1;

/// Whether two marks ([`Versions::mark`]) are of records of the same log.
#[must_use]
pub fn is_of_one_log(one: u64, other: u64) -> bool {
    one >> RECORD_BITS == other >> RECORD_BITS
}

/// The open version log, as far as it was read.
#[derive(Debug)]
pub struct Versions {
    log: Box<dyn Log>,
    known: Known,
}

#[derive(Debug, Default)]
struct Known {
    is_open: bool,
    /// The random number of the header.
    number: Option<u64>,
    newer: bool,
    generation: u32,
    changes: BTreeMap<u64, Change>,
    conflicts: BTreeMap<u64, OpenedConflict>,
    checkpoints: BTreeMap<u64, Checkpoint>,
    /// Texts that were erased and not kept again since.
    erased: BTreeSet<ContentHash>,
    unwatched: BTreeMap<u64, Unwatched>,
    /// The changes of each file: the line, and which of its files.
    by_path: BTreeMap<String, Vec<(u64, usize)>>,
    /// The later records of an event, by its first one.
    continued: BTreeMap<u64, Vec<u64>>,
    /// The changes that moved a file from this name, or to it.
    moves: BTreeMap<String, Vec<u64>>,
    /// The number of the newest line.
    last: u64,
    /// How many calls of a conversation changed files, by its surface and its name.
    calls: BTreeMap<(String, String), u64>,
}

impl Known {
    fn take(&mut self, line: u64, record: Record) {
        self.last = line;
        match record {
            Record::Open { v, nonce, generation, .. } => {
                (self.is_open, self.newer) = (true, self.newer || v > VERSION);
                self.number = self.number.or(log_number(&nonce));
                self.generation = generation;
            }
            Record::Change(change) => {
                if let Some(conversation) = &change.by.conversation {
                    *self.calls.entry((change.by.surface.clone(), conversation.clone())).or_default() += 1;
                }
                if let Some(first) = change.event {
                    self.continued.entry(first).or_default().push(line);
                }
                for (at, file) in change.files.iter().enumerate() {
                    for (Sha(hash), _, is_kept) in texts_of(&change, file) {
                        self.keeps(hash, is_kept);
                    }
                    if let Some(from) = &file.from {
                        self.moves.entry(from.clone()).or_default().push(line);
                        self.moves.entry(file.path.clone()).or_default().push(line);
                    }
                    self.by_path.entry(file.path.clone()).or_default().push((line, at));
                }
                self.changes.insert(line, *change);
            }
            Record::Checkpoint(checkpoint) => drop(self.checkpoints.insert(line, *checkpoint)),
            Record::Erased(erasure) => self.erased.extend(erasure.texts.iter().map(|Sha(hash)| *hash)),
            Record::Unwatched(gap) => drop(self.unwatched.insert(line, gap)),
            Record::Conflict(conflict) => {
                for Sha(hash) in [Some(conflict.base), Some(conflict.ours), conflict.theirs].into_iter().flatten() {
                    self.keeps(hash, true);
                }
                let opened =
                    OpenedConflict { id: VersionId(line), conflict: *conflict, proposal: None, resolved: None };
                self.conflicts.insert(line, opened);
            }
            Record::Proposal { conflict, text: Sha(text), by, .. } => {
                self.keeps(text, true);
                if let Some(found) = self.conflicts.get_mut(&conflict) {
                    found.proposal = Some((text, by));
                }
            }
            Record::Resolved { conflict, how, by, .. } => {
                // The first to resolve it did.
                if let Some(found) = self.conflicts.get_mut(&conflict).filter(|found| found.resolved.is_none()) {
                    found.resolved = Some((how, by));
                }
            }
            Record::Unknown => {}
        }
    }

    fn keeps(&mut self, hash: ContentHash, is_kept: bool) {
        if is_kept {
            self.erased.remove(&hash);
        }
    }
}

/// The texts that a change names for a file, and whether it says that they are kept.
fn texts_of(change: &Change, file: &ChangedFile) -> impl Iterator<Item = (Sha, Role, bool)> {
    // One that is not looked at any more is named by what was known of it.
    let before = (file.before, Role::Before, file.gaps.before.is_none() && change.operation != UNSEEN);
    let after = (file.after, Role::After, file.gaps.after.is_none());
    [before, after].into_iter().filter_map(|(text, role, is_kept)| Some((text?, role, is_kept)))
}

impl Versions {
    /// Opens the log; `None` if there is none and none is to be made.
    ///
    /// # Errors
    /// [`VersionsError`] when it cannot be read or written, is damaged or newer.
    pub fn open(store: &dyn Store, create: Create, at: u64) -> Result<Option<Self>, VersionsError> {
        let Some(log) = store.logs().open(&LogName::Versions, create)? else { return Ok(None) };
        let mut versions = Self { log, known: Known::default() };
        versions.catch_up()?;
        if create == Create::Yes && !versions.known.is_open {
            let random = getrandom::u64().map_err(VersionsError::NoRandom)?;
            let is_later = store.logs().retired().iter().any(|retired| retired.log == LogName::Versions);
            let generation = if is_later { (random as u32 & GENERATIONS) | 1 } else { 0 };
            let nonce = format!("{random:016x}");
            versions.append(Record::Open { v: VERSION, nonce, at, generation }, |known| known.is_open)?;
        }
        Ok(Some(versions))
    }

    /// Reads what this or another process has appended since the last time.
    ///
    /// # Errors
    /// [`VersionsError`] when the log is damaged or newer.
    pub fn catch_up(&mut self) -> Result<(), VersionsError> {
        let Self { log, known } = self;
        log.catch_up_each(&mut |line, text| {
            known.take(line, serde_json::from_str(text).unwrap_or(Record::Unknown));
            ControlFlow::Continue(())
        })?;
        if known.newer { Err(VersionsError::Newer) } else { Ok(()) }
    }

    /// Appends a record, unless what is known by then makes it needless.
    fn append(&mut self, record: Record, is_needless: impl Fn(&Known) -> bool) -> Result<u64, VersionsError> {
        let line = serde_json::to_string(&record).unwrap_or_default();
        for _ in 0..ATTEMPTS {
            if is_needless(&self.known) {
                return Ok(0);
            }
            match self.log.append(&line) {
                Ok(number) => {
                    self.known.take(number, record);
                    return Ok(number);
                }
                Err(LogError::Behind { .. }) => self.catch_up()?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(LogError::Behind { log: LogName::Versions }.into())
    }

    /// Records what a call did, synced.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn changed(&mut self, change: Change) -> Result<VersionId, VersionsError> {
        let line = self.append(Record::Change(Box::new(change)), |_| false)?;
        self.log.sync()?;
        Ok(VersionId(line))
    }

    /// The same, unless it is recorded already: for who completes what another process began.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn changed_once(&mut self, change: Change) -> Result<(), VersionsError> {
        self.catch_up()?;
        self.append(Record::Change(Box::new(change.clone())), |known| {
            known.changes.values().any(|old| old.is_of_journal(&change))
        })?;
        Ok(self.log.sync()?)
    }

    /// Records what was met, synced, but for files of which another change was recorded after this record of the log: what was
    /// worked out for them is of a text that is gone.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn met(&mut self, mut change: Change, worked_out: VersionId) -> Result<Option<VersionId>, VersionsError> {
        let is_overtaken = |known: &Known, path: &str| {
            known.by_path.get(path).and_then(|lines| lines.last()).is_some_and(|(line, _)| *line > worked_out.0)
        };
        self.catch_up()?;
        for _ in 0..ATTEMPTS {
            change.files.retain(|file| !is_overtaken(&self.known, &file.path));
            if change.files.is_empty() {
                return Ok(None);
            }
            let files: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
            let record = Record::Change(Box::new(change.clone()));
            let line = self.append(record, |known| files.iter().any(|path| is_overtaken(known, path)))?;
            if line > 0 {
                self.log.sync()?;
                return Ok(Some(VersionId(line)));
            }
        }
        Err(LogError::Behind { log: LogName::Versions }.into())
    }

    /// Records a moment, synced.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn marked(&mut self, checkpoint: Checkpoint) -> Result<VersionId, VersionsError> {
        let line = self.append(Record::Checkpoint(Box::new(checkpoint)), |_| false)?;
        self.log.sync()?;
        Ok(VersionId(line))
    }

    /// Records that these texts go, synced, before they do. `false`: nothing was recorded, as others appended something after
    /// `worked_out`, which may need some of them.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn erased(&mut self, erasure: &Erasure, worked_out: VersionId) -> Result<bool, VersionsError> {
        let mut newest = worked_out.0;
        for texts in erasure.texts.chunks(IN_ONE_RECORD) {
            let record = Record::Erased(Box::new(Erasure { texts: texts.to_vec(), ..erasure.clone() }));
            let line = self.append(record, |known| known.last > newest)?;
            if line == 0 {
                return Ok(false);
            }
            newest = line;
        }
        self.log.sync()?;
        Ok(true)
    }

    /// Records that texts may have been missed, synced. Where nothing was ever recorded, or nothing since the last such record,
    /// that goes without saying.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn missed(&mut self, gap: Unwatched) -> Result<(), VersionsError> {
        self.catch_up()?;
        self.append(Record::Unwatched(gap), |known| {
            let is_news = known.last > HEADER && !known.unwatched.contains_key(&known.last);
            !is_news
        })?;
        Ok(self.log.sync()?)
    }

    /// Records a conflict, synced. The same conflict that is open already is not recorded again.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn conflicted(&mut self, conflict: Conflict) -> Result<VersionId, VersionsError> {
        self.catch_up()?;
        let same = |open: &&OpenedConflict| {
            let (one, other) = (&open.conflict, &conflict);
            open.resolved.is_none()
                && (&one.path, one.base, one.ours, one.theirs) == (&other.path, other.base, other.ours, other.theirs)
        };
        if let Some(open) = self.known.conflicts.values().find(same) {
            return Ok(open.id);
        }
        let line = self.append(Record::Conflict(Box::new(conflict)), |_| false)?;
        self.log.sync()?;
        Ok(VersionId(line))
    }

    /// Records a proposal for a conflict, synced.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn proposed(&mut self, id: VersionId, text: ContentHash, by: By, at: u64) -> Result<(), VersionsError> {
        self.append(Record::Proposal { conflict: id.0, text: Sha(text), by, at }, |_| false)?;
        Ok(self.log.sync()?)
    }

    /// Records how a conflict ended, synced. `false`: it had ended before.
    ///
    /// # Errors
    /// [`VersionsError`] when the log cannot be written.
    pub fn resolved(&mut self, id: VersionId, how: &str, by: By, at: u64) -> Result<bool, VersionsError> {
        let record = Record::Resolved { conflict: id.0, how: how.to_owned(), by, at };
        let is_over = |known: &Known| known.conflicts.get(&id.0).is_none_or(|found| found.resolved.is_some());
        let line = self.append(record, is_over)?;
        self.log.sync()?;
        Ok(line > 0)
    }

    /// Every change, oldest first.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = (VersionId, &Change)> {
        self.known.changes.iter().map(|(line, change)| (VersionId(*line), change))
    }

    /// How many calls of a conversation changed files.
    #[must_use]
    pub fn calls_of(&self, surface: &str, conversation: &str) -> u64 {
        self.known.calls.get(&(surface.to_owned(), conversation.to_owned())).copied().unwrap_or_default()
    }

    /// The change of that number.
    #[must_use]
    pub fn change(&self, id: VersionId) -> Option<&Change> {
        self.known.changes.get(&id.0)
    }

    /// The first record of the event that a change belongs to.
    #[must_use]
    pub fn event_of(&self, id: VersionId) -> VersionId {
        self.change(id).and_then(|change| change.event).map_or(id, VersionId)
    }

    /// The records of the event that a change belongs to, oldest first.
    pub fn event(&self, id: VersionId) -> impl DoubleEndedIterator<Item = (VersionId, &Change)> {
        let first = self.event_of(id);
        let more = self.known.continued.get(&first.0).into_iter().flatten().copied();
        let records: Vec<u64> = std::iter::once(first.0).chain(more).collect();
        records.into_iter().filter_map(|line| Some((VersionId(line), self.known.changes.get(&line)?)))
    }

    /// Every name that the file had whose version a change of `path` left, before it and since: a move carries it on. One name, if
    /// it was never moved.
    #[must_use]
    pub fn names_of(&self, path: &str, id: VersionId) -> BTreeSet<&str> {
        let Some((own, _)) = self.known.by_path.get_key_value(path) else { return BTreeSet::new() };
        let mut names = BTreeSet::from([own.as_str()]);
        if !self.known.moves.contains_key(path) {
            return names;
        }
        let (mut name, mut at) = (own.as_str(), id);
        while let Some((from, moved)) = self.came_from(name, at) {
            names.insert(from);
            (name, at) = (from, VersionId(moved.0 - 1));
        }
        (name, at) = (own.as_str(), id);
        while let Some((to, moved)) = self.went_to(name, at) {
            names.insert(to);
            (name, at) = (to, moved);
        }
        names
    }

    /// From which name, and by which change, the file came that has this name at that moment.
    #[must_use]
    pub fn came_from(&self, path: &str, moment: VersionId) -> Option<(&str, VersionId)> {
        for (id, _, file) in self.of_path(path).rev().filter(|(id, _, _)| *id <= moment) {
            match &file.from {
                Some(from) => return Some((from.as_str(), id)),
                // It ended here, or began: what was before is another file. Of the record at that moment only what it left counts.
                None if file.removed && id < moment => return None,
                None if file.before.is_none() && file.gaps.before.is_none() => return None,
                None => {}
            }
        }
        None
    }

    /// To which name, and by which change, the file went that has this name at that moment, or was removed then.
    fn went_to(&self, path: &str, moment: VersionId) -> Option<(&str, VersionId)> {
        let (id, change, _) = self.of_path(path).find(|(id, _, file)| *id >= moment && file.removed)?;
        let to = change.files.iter().find(|file| file.from.as_deref() == Some(path))?;
        Some((to.path.as_str(), id))
    }

    /// The changes of a file, oldest first.
    pub fn of_path(&self, path: &str) -> impl DoubleEndedIterator<Item = (VersionId, &Change, &ChangedFile)> {
        self.known.by_path.get(path).into_iter().flatten().filter_map(|(line, at)| {
            let change = self.known.changes.get(line)?;
            Some((VersionId(*line), change, change.files.get(*at)?))
        })
    }

    /// Every file of which a change is recorded.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.known.by_path.keys().map(String::as_str)
    }

    /// Every moment that someone marked, oldest first.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = (VersionId, &Checkpoint)> {
        self.known.checkpoints.iter().map(|(line, checkpoint)| (VersionId(*line), checkpoint))
    }

    /// The times in which changes were not met one by one, oldest first.
    pub fn unwatched(&self) -> impl DoubleEndedIterator<Item = (VersionId, Unwatched)> {
        self.known.unwatched.iter().map(|(line, gap)| (VersionId(*line), *gap))
    }

    /// The number of the newest record.
    #[must_use]
    pub fn newest(&self) -> VersionId {
        VersionId(self.known.last)
    }

    /// Whether it was begun because another was put aside.
    #[must_use]
    pub fn is_later(&self) -> bool {
        self.known.generation != 0
    }

    /// A record as a conversation notes it, so that one of a log that was put aside is told apart: see [`is_of_one_log`].
    #[must_use]
    pub fn mark(&self, VersionId(record): VersionId) -> u64 {
        (u64::from(self.known.generation) << RECORD_BITS) + record
    }

    /// The newest record as one of this log; `None` if the log has no number.
    #[must_use]
    pub fn newest_moment(&self) -> Option<Moment> {
        self.known.number.map(|log| Moment { log, version: self.newest() })
    }

    /// Every conflict, oldest first.
    pub fn conflicts(&self) -> impl Iterator<Item = &OpenedConflict> {
        self.known.conflicts.values()
    }

    /// The conflict of that number.
    #[must_use]
    pub fn conflict(&self, id: VersionId) -> Option<&OpenedConflict> {
        self.known.conflicts.get(&id.0)
    }

    /// Whether a text was erased and not kept again since. It may still be stored: the record comes first.
    #[must_use]
    pub fn is_erased(&self, hash: ContentHash) -> bool {
        self.known.erased.contains(&hash)
    }

    /// Every text that the log names, with the record.
    pub fn uses(&self) -> impl Iterator<Item = Use<'_>> {
        let changed = self.changes().flat_map(|(id, change)| {
            change.files.iter().flat_map(move |file| {
                let (path, at) = (file.path.as_str(), change.at);
                texts_of(change, file).map(move |(Sha(hash), role, kept)| Use { hash, path, id, at, role, kept })
            })
        });
        let in_conflict = self.known.conflicts.values().flat_map(|open| {
            let Conflict { path, base, ours, theirs, at, .. } = &open.conflict;
            let proposal = open.proposal.as_ref().map(|(hash, _)| Sha(*hash));
            let role = Role::Conflict { is_open: open.resolved.is_none() };
            [Some(*base), Some(*ours), *theirs, proposal].into_iter().flatten().map(move |Sha(hash)| Use {
                hash,
                path,
                id: open.id,
                at: *at,
                role,
                kept: true,
            })
        });
        changed.chain(in_conflict)
    }
}
