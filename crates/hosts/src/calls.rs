//! The query log: every call through the door in its normalised, versioned form, with what it stood on, the rules it was answered by
//! and the hash of what came back. There is one for each conversation and one for calls without; each only grows. A text that a call
//! brings along is not in it but among the stored texts, so that erasing a text erases it here too.

use readproof_core::{
    operation::{BadOperation, Field, Operation, VERSION as OPERATIONS},
    text::ContentHash,
};
use readproof_disk::{Create, Log, LogError, LogName, RetiredLog, SessionName, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap, ops::ControlFlow};

use crate::{
    block::{Block, Sha},
    session::Answered,
    versions::By,
};

/// The version of these records.
const VERSION: u32 = 1;

/// How often a record is offered to a log to which others append at the same time.
const ATTEMPTS: u32 = 10_000;

/// A log is put aside and begun anew once it is as long as this, so that opening one stays cheap.
pub const MOST_BYTES: u64 = 8 << 20;

/// Fields that hold a text which the call brings along, and how the field is called that has its hash instead.
const TEXTS: [(&str, &str); 6] = [
    ("content", "content_sha"),
    ("old", "old_sha"),
    ("new", "new_sha"),
    ("patch", "patch_sha"),
    ("text", "text_sha"),
    ("summary", "summary_sha"),
];

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Record {
    /// The header, with a random number.
    Open { v: u32, nonce: String, at: u64 },
    /// A call.
    Call(Box<LoggedCall>),
    /// Calls before this one that could not be written.
    Gap { at: u64, missing: u64 },
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// One call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoggedCall {
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    pub by: By,
    /// The version of the vocabulary of operations.
    pub v: u32,
    /// The name of the operation.
    pub op: String,
    /// Its fields; see [`Operation::encoded`].
    pub args: Map<String, Value>,
    /// `OK`, or the code of the error.
    pub code: String,
    /// The rules by which it was answered.
    pub rules: Vec<Cow<'static, str>>,
    /// The files that it stood on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LoggedFile>,
    /// Of a read: what was decided, and under which limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Answered>,
    /// Whatever else the answer depends on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// What came back, by the rule of canonical texts; absent where text of a sensitive file did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Block>,
    /// The lines that a search of many files showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<LoggedLines>,
    /// The approval that it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    /// The version that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

impl LoggedCall {
    /// Every text that it needs, with each file that it was about: those of the files, those that it brought along, and notes.
    pub fn mentions(&self) -> impl Iterator<Item = (&str, ContentHash)> {
        let mut hashes: Vec<ContentHash> = self.inputs.values().filter_map(|input| ContentHash::parse(input)).collect();
        brought(&self.args, &mut hashes);
        let own = |file: &LoggedFile| [file.before, file.after, file.base].into_iter().flatten().map(|Sha(hash)| hash);
        let of_file = move |file: &LoggedFile| own(file).chain(hashes.iter().copied()).collect::<Vec<_>>();
        self.files.iter().flat_map(move |file| of_file(file).into_iter().map(|hash| (file.path.as_str(), hash)))
    }
}

/// The hashes of the texts that a call brought along.
fn brought(args: &Map<String, Value>, hashes: &mut Vec<ContentHash>) {
    let named = TEXTS.iter().filter_map(|(_, name)| args.get(*name)?.as_str());
    hashes.extend(named.filter_map(ContentHash::parse));
    for edit in args.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object) {
        brought(edit, hashes);
    }
}

/// A file that a call stood on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedFile {
    pub path: String,
    /// Absent if there was no file, or its text is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha>,
    /// Absent if it is the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha>,
    /// Whether the file went.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The text that an edit was made for, where others had changed the file since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Sha>,
    /// Whether it counts as holding secrets: nothing else is said of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

/// Lines of one file that a search showed whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedLines {
    pub path: String,
    pub numbers: Vec<u64>,
    /// Those of them that match; the others stand around these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matching: Vec<u64>,
    /// Of their texts, each followed by a line feed.
    pub sha: Sha,
}

impl LoggedLines {
    /// Of lines as they were shown, without their ends, and whether each matches.
    #[must_use]
    pub fn of<'l>(path: &str, lines: impl Iterator<Item = (u64, &'l str, bool)>) -> Self {
        let (mut numbers, mut matching, mut text) = (Vec::new(), Vec::new(), String::new());
        for (number, line, matches) in lines {
            numbers.push(number);
            matching.extend(matches.then_some(number));
            text.push_str(line);
            text.push('\n');
        }
        Self { path: path.to_owned(), numbers, matching, sha: Sha(ContentHash::of(text.as_bytes())) }
    }
}

fn value(field: Field) -> Value {
    match field {
        Field::Text(text) => Value::String(text),
        Field::Number(number) => number.into(),
        Field::Flag(flag) => flag.into(),
        Field::List(all) => Value::Array(all.into_iter().map(value).collect()),
        Field::Group(all) => all.into_iter().map(|(name, field)| (name.into_owned(), value(field))).collect(),
    }
}

fn field(value: &Value) -> Option<Field> {
    Some(match value {
        Value::String(text) => Field::Text(text.clone()),
        Value::Number(number) => Field::Number(number.as_u64()?),
        Value::Bool(flag) => Field::Flag(*flag),
        Value::Array(all) => Field::List(all.iter().map(field).collect::<Option<_>>()?),
        Value::Object(all) => {
            let one = |(name, value): (&String, &Value)| Some((Cow::Owned(name.clone()), field(value)?));
            Field::Group(all.iter().map(one).collect::<Option<_>>()?)
        }
        Value::Null => return None,
    })
}

/// The one encoding of an operation, as JSON.
#[must_use]
pub fn encoded(operation: &Operation) -> Map<String, Value> {
    operation.encoded().into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect()
}

/// The same without the texts that the call brings along: only their sizes.
#[must_use]
pub fn described(operation: &Operation) -> Map<String, Value> {
    operation.fields().into_iter().map(|(name, field)| (name.to_owned(), value(field))).collect()
}

/// The operation of an encoding; a value that no field has is refused.
///
/// # Errors
/// [`BadOperation`] names the field.
pub fn decoded(version: u64, name: &str, args: &Map<String, Value>) -> Result<Operation, BadOperation> {
    let one = |(name, value): (&String, &Value)| {
        let field = field(value).ok_or_else(|| BadOperation::NoField { field: name.clone() })?;
        Ok((name.clone(), field))
    };
    Operation::decode(version, name, args.iter().map(one).collect::<Result<Vec<_>, _>>()?)
}

/// Takes the texts out of an encoding: their hashes stand for them.
pub fn texts_apart(args: &mut Map<String, Value>, texts: &mut Vec<String>) {
    for (name, named) in TEXTS {
        if let Some(Value::String(text)) = args.get(name) {
            args.insert(named.to_owned(), ContentHash::of(text.as_bytes()).to_string().into());
            if let Some(Value::String(text)) = args.remove(name) {
                texts.push(text);
            }
        }
    }
    if let Some(Value::Array(edits)) = args.get_mut("edits") {
        edits.iter_mut().filter_map(Value::as_object_mut).for_each(|edit| texts_apart(edit, texts));
    }
}

/// Puts the texts back. The first one that is not to be had is the error.
///
/// # Errors
/// Whatever `load` says of a hash.
pub fn texts_back<E>(
    args: &mut Map<String, Value>,
    load: &mut dyn FnMut(ContentHash) -> Result<String, E>,
) -> Result<(), E> {
    for (name, named) in TEXTS {
        let hash = args.get(named).and_then(Value::as_str).and_then(ContentHash::parse);
        if let Some(hash) = hash {
            args.insert(name.to_owned(), load(hash)?.into());
            args.remove(named);
        }
    }
    if let Some(Value::Array(edits)) = args.get_mut("edits") {
        for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
            texts_back(edit, load)?;
        }
    }
    Ok(())
}

/// The version of operations that this program writes.
#[must_use]
pub fn vocabulary() -> u32 {
    OPERATIONS
}

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum CallsError {
    Log(#[from] LogError),
    NoRandom(getrandom::Error),
}

impl CallsError {
    /// Whether the log itself is at fault, so that another one must be begun; else only the moment is.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NoRandom(_) => false,
            Self::Log(error) => match error {
                LogError::Damaged { .. }
                | LogError::Link { .. }
                | LogError::NotAFile { .. }
                | LogError::NotPrivate { .. }
                | LogError::NotOurs { .. }
                | LogError::TooLarge { .. } => true,
                LogError::Busy { .. }
                | LogError::Behind { .. }
                | LogError::BadPayload { .. }
                | LogError::Gone { .. }
                | LogError::Full { .. }
                | LogError::ReadOnly { .. }
                | LogError::Denied { .. }
                | LogError::Io { .. } => false,
            },
        }
    }
}

/// An open query log that is written to. What stands in it plays no part here.
#[derive(Debug)]
pub struct Calls {
    log: Box<dyn Log>,
    name: LogName,
    bytes: u64,
    lines: u64,
}

impl Calls {
    /// Opens the log of a conversation, or of the calls without one.
    ///
    /// # Errors
    /// [`CallsError`] when it cannot be read or written.
    pub fn open(store: &dyn Store, session: Option<&SessionName>, at: u64) -> Result<Self, CallsError> {
        let name = LogName::Calls(session.cloned());
        let log = store.logs().open(&name, Create::Yes)?.ok_or(LogError::Gone { log: name.clone() })?;
        let mut calls = Self { log, name, bytes: 0, lines: 0 };
        calls.catch_up()?;
        if calls.lines == 0 {
            let nonce = format!("{:016x}", getrandom::u64().map_err(CallsError::NoRandom)?);
            calls.append(&Record::Open { v: VERSION, nonce, at })?;
        }
        Ok(calls)
    }

    fn catch_up(&mut self) -> Result<(), LogError> {
        let Self { log, bytes, lines, .. } = self;
        log.catch_up_each(&mut |_, text| {
            (*bytes, *lines) = (*bytes + text.len() as u64, *lines + 1);
            ControlFlow::Continue(())
        })
    }

    fn append(&mut self, record: &Record) -> Result<(), LogError> {
        let line = serde_json::to_string(record).unwrap_or_default();
        for _ in 0..ATTEMPTS {
            match self.log.append(&line) {
                Ok(_) => {
                    (self.bytes, self.lines) = (self.bytes + line.len() as u64, self.lines + 1);
                    return Ok(());
                }
                Err(LogError::Behind { .. }) => self.catch_up()?,
                Err(error) => return Err(error),
            }
        }
        Err(LogError::Behind { log: self.name.clone() })
    }

    /// Appends a call. Nothing is synced.
    ///
    /// # Errors
    /// [`LogError`] when the log cannot be written.
    pub fn add(&mut self, call: LoggedCall) -> Result<(), LogError> {
        self.append(&Record::Call(Box::new(call)))
    }

    /// Appends that so many calls could not be written.
    ///
    /// # Errors
    /// [`LogError`] when the log cannot be written.
    pub fn add_gap(&mut self, at: u64, missing: u64) -> Result<(), LogError> {
        self.append(&Record::Gap { at, missing })
    }

    /// Makes everything appended so far survive a power failure.
    ///
    /// # Errors
    /// [`LogError`] when the system cannot promise that.
    pub fn sync(&self) -> Result<(), LogError> {
        self.log.sync()
    }

    /// Whether it is so long that it should be put aside.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    /// Which log it is.
    #[must_use]
    pub fn name(&self) -> &LogName {
        &self.name
    }
}

/// A query log as evidence.
#[derive(Debug, Default)]
pub struct PastCalls {
    /// The calls by the numbers of their lines; `None` is a record of a later program.
    pub calls: Vec<(u64, Option<LoggedCall>)>,
    /// How many calls it says could not be written.
    pub missing: u64,
    /// Fragments that failed writes left.
    pub torn: u64,
    /// Whether it was written by a newer version of this program.
    pub newer: bool,
    /// Why the rest of it cannot be read.
    pub broken: Option<LogError>,
}

impl PastCalls {
    /// The log of a conversation, or of calls without one; `None` if there is none.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be opened.
    pub fn read(store: &dyn Store, session: Option<&SessionName>) -> Result<Option<Self>, LogError> {
        Ok(store.logs().look(&LogName::Calls(session.cloned()))?.map(|mut log| Self::of(&mut *log)))
    }

    /// One that was put aside.
    ///
    /// # Errors
    /// [`LogError`] when it cannot be opened.
    pub fn read_retired(store: &dyn Store, retired: &RetiredLog) -> Result<Self, LogError> {
        store.logs().look_at_retired(retired).map(|mut log| Self::of(&mut *log))
    }

    fn of(log: &mut dyn Log) -> Self {
        let mut past = Self::default();
        let read = log.catch_up_each(&mut |line, text| {
            match serde_json::from_str(text) {
                Ok(Record::Open { v, .. }) => past.newer |= v > VERSION,
                Ok(Record::Call(call)) => past.calls.push((line, Some(*call))),
                Ok(Record::Gap { missing, .. }) => past.missing = past.missing.saturating_add(missing),
                Ok(Record::Unknown) | Err(_) => past.calls.push((line, None)),
            }
            ControlFlow::Continue(())
        });
        past.broken = read.err();
        past.torn = log.torn();
        past
    }
}
