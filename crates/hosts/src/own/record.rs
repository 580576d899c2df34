//! The records of a session log, version 1, and their JSON. What a record means is the transcript's business.

use super::line;
use readproof_core::{
    decide::{Mode, Reason},
    knowledge::{Alike, Event, Hunk, Rests},
    limits::{Answers, Limits, Markers},
    path::PathKey,
    render::Shown,
    scope::{Lines, Scope},
    text::{ContentHash, LINE_RULE, Version},
};
use readproof_disk::SessionName;
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::value::{RawValue, to_raw_value};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{BuildHasher, Hasher, RandomState},
};

/// The version of the records below. A program that knows only version 1 would pass over [`Record::Seen`] and vouch for
/// lines that were shown otherwise since.
const VERSION: u32 = 2;

/// One line of a session log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The header.
    Open {
        /// Version of the records that follow.
        v: u32,
        /// The session's name.
        session: String,
        /// Session and entry it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<(String, Option<u64>)>,
        /// Random, so that no other log begins with this line; old ones have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<String>,
        /// Milliseconds since 1970; says nothing about order.
        at: u64,
    },
    /// A read was answered; it counts once delivered.
    Answer {
        /// The entry before it.
        parent: Option<u64>,
        /// What was answered.
        answer: Box<Answered>,
    },
    /// An own write is about to happen.
    Begun {
        /// The entry before it.
        parent: Option<u64>,
        /// Which file.
        path: String,
        /// When.
        at: u64,
    },
    /// An own write happened; it counts once delivered.
    Change {
        /// The entry before it.
        parent: Option<u64>,
        /// What was written.
        changed: Box<Changed>,
    },
    /// A result reached the model.
    Delivered {
        /// The entry before it.
        parent: Option<u64>,
        /// The answer or change.
        of: u64,
    },
    /// Lines of files are shown otherwise than in the answer to a read.
    Seen {
        /// The entry before it.
        parent: Option<u64>,
        /// What is shown of each.
        files: Vec<SeenFile>,
        /// When.
        at: u64,
    },
    /// Lines held of other texts were found to be the same in this one. Nobody was told anything.
    Alike {
        /// The entry before it.
        parent: Option<u64>,
        /// What was found.
        found: Box<Found>,
    },
    /// Fresh text was asked for.
    Refresh {
        /// The entry before it.
        parent: Option<u64>,
        /// Every known name of the file.
        paths: Vec<String>,
        /// Which lines.
        scope: String,
        /// When.
        at: u64,
    },
    /// The barrier.
    Compact {
        /// The entry before it.
        parent: Option<u64>,
        /// What the host kept instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// When.
        at: u64,
    },
    /// The host shows another block, or none, for a result.
    ContextEdit {
        /// The entry before it.
        parent: Option<u64>,
        /// Which delivered entry.
        target: u64,
        /// What is shown instead.
        block: Option<Block>,
        /// When.
        at: u64,
    },
    /// The host was seen to drop or change results per request.
    Distrust {
        /// What was seen.
        why: String,
        /// When.
        at: u64,
    },
    /// The leaf moved.
    Switch {
        /// Where to; `None` is the root.
        to: Option<u64>,
        /// When.
        at: u64,
    },
    /// An entry of a kind this program does not know: it keeps its place in the tree and means nothing.
    #[serde(skip)]
    Unknown {
        /// The entry before it.
        parent: Option<u64>,
        /// The line as it stands in the log.
        raw: String,
    },
}

impl Record {
    /// The header of a new log.
    pub(super) fn open(session: &SessionName, forked_from: Option<(String, Option<u64>)>, at: u64) -> Self {
        // Made for hash maps, and random in every process and every time.
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        Self::Open { v: VERSION, session: session.to_string(), forked_from, nonce: Some(nonce), at }
    }

    /// One line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Answer { parent, answer } => line::answer(*parent, answer),
            Self::Delivered { parent, of } => line::delivered(*parent, *of),
            Self::Unknown { parent, raw } => {
                let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw).unwrap_or_default();
                fields.extend(to_raw_value(parent).ok().map(|parent| ("parent".to_owned(), parent)));
                let printed = serde_json::to_string(&fields).unwrap_or_default();
                // Printed anew, a line with a field twice could come to mean something.
                let unknown = matches!(Self::parse(&printed), Some(Self::Unknown { .. }));
                if unknown { printed } else { serde_json::json!({ "parent": parent }).to_string() }
            }
            Self::Open { .. }
            | Self::Begun { .. }
            | Self::Change { .. }
            | Self::Seen { .. }
            | Self::Alike { .. }
            | Self::Refresh { .. }
            | Self::Compact { .. }
            | Self::ContextEdit { .. }
            | Self::Distrust { .. }
            // These types have only string keys and finite numbers, so this cannot fail; an empty line would be skipped.
            | Self::Switch { .. } => serde_json::to_string(self).unwrap_or_default(),
        }
    }

    /// Reads a line; `None` when it is no record at all.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Loose {
            parent: Option<u64>,
        }
        // The two that every read appends are read by themselves: to find out the kind of any record, all of it must be
        // taken apart first, and a command reads the whole log of its session.
        if let Some(record) = line::parse(text) {
            return Some(record);
        }
        match serde_json::from_str(text) {
            Ok(record) => Some(record),
            Err(_) => {
                serde_json::from_str(text).ok().map(|Loose { parent }| Self::Unknown { parent, raw: text.to_owned() })
            }
        }
    }

    /// The answer, if it is one.
    #[must_use]
    pub fn answered(&self) -> Option<&Answered> {
        if let Self::Answer { answer, .. } = self { Some(answer) } else { None }
    }

    /// The file that was read or is written.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Answer { answer, .. } => Some(&answer.path),
            Self::Begun { path, .. } => Some(path),
            Self::Change { changed, .. } => Some(&changed.path),
            Self::Open { .. }
            | Self::Delivered { .. }
            | Self::Seen { .. }
            | Self::Alike { .. }
            | Self::Refresh { .. }
            | Self::Compact { .. }
            | Self::ContextEdit { .. }
            | Self::Distrust { .. }
            | Self::Switch { .. }
            | Self::Unknown { .. } => None,
        }
    }

    /// Whether it heads a log that a later program wrote.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Open { v, .. } if *v > VERSION)
    }

    /// Every text it speaks of: a superset of what an answer after it could rely on.
    #[must_use]
    pub fn mentions(&self) -> Vec<ContentHash> {
        let texts = match self {
            Self::Answer { answer, .. } => [answer.hash, answer.base],
            Self::Change { changed, .. } => [changed.before, changed.after].map(|text| text.map(|(sha, _)| sha)),
            Self::Alike { found, .. } => {
                return found.pieces.iter().map(|(Sha(base), _, _)| *base).chain([found.version.0.0]).collect();
            }
            Self::Open { .. }
            | Self::Begun { .. }
            | Self::Delivered { .. }
            | Self::Seen { .. }
            | Self::Refresh { .. }
            | Self::Compact { .. }
            | Self::ContextEdit { .. }
            | Self::Distrust { .. }
            | Self::Switch { .. }
            | Self::Unknown { .. } => [None, None],
        };
        texts.into_iter().flatten().map(|Sha(hash)| hash).collect()
    }

    /// Puts an entry of the tree after another one, or at the root.
    pub(super) fn stand_after(&mut self, entry: Option<u64>) {
        if let Some(parent) = self.parent_mut() {
            *parent = entry;
        }
    }

    /// The entry before it; `None` for a record that is not an entry of the tree.
    fn parent_mut(&mut self) -> Option<&mut Option<u64>> {
        match self {
            Self::Answer { parent, .. }
            | Self::Begun { parent, .. }
            | Self::Change { parent, .. }
            | Self::Delivered { parent, .. }
            | Self::Seen { parent, .. }
            | Self::Alike { parent, .. }
            | Self::Refresh { parent, .. }
            | Self::Compact { parent, .. }
            | Self::ContextEdit { parent, .. }
            | Self::Unknown { parent, .. } => Some(parent),
            Self::Open { .. } | Self::Distrust { .. } | Self::Switch { .. } => None,
        }
    }

    /// The same record with other entry numbers.
    pub(super) fn renumbered(&self, map: &impl Fn(u64) -> Option<u64>) -> Self {
        let mut copy = self.clone();
        let lookup = |id: &mut Option<u64>| *id = id.and_then(map);
        match &mut copy {
            Self::Open { .. } | Self::Distrust { .. } => {}
            Self::Answer { parent, .. }
            | Self::Begun { parent, .. }
            | Self::Seen { parent, .. }
            | Self::Alike { parent, .. }
            | Self::Refresh { parent, .. }
            | Self::Compact { parent, .. }
            | Self::Unknown { parent, .. } => lookup(parent),
            Self::Change { parent, changed } => {
                lookup(parent);
                changed.begun = map(changed.begun).unwrap_or_default();
            }
            Self::Delivered { parent, of: other } | Self::ContextEdit { parent, target: other, .. } => {
                lookup(parent);
                *other = map(*other).unwrap_or_default();
            }
            Self::Switch { to, .. } => lookup(to),
        }
        copy
    }
}

/// A hash in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sha(pub ContentHash);

impl Serialize for Sha {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        ContentHash::parse(&text).map(Self).ok_or_else(|| D::Error::custom("no SHA-256"))
    }
}

/// A block of text as the model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The hash of its bytes.
    pub sha: Sha,
    /// Their number.
    pub bytes: u64,
}

impl Block {
    /// The block of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { sha: Sha(ContentHash::of(text.as_bytes())), bytes: text.len() as u64 }
    }
}

/// The limits an answer was made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsUsed {
    /// Most lines of an answer.
    pub answer_lines: u32,
    /// Most bytes of an answer.
    pub answer_bytes: u32,
    /// Most characters of an answer, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_chars: Option<u32>,
    /// Most bytes of a text to diff.
    pub diff_bytes: u32,
    /// Most lines of a text to diff.
    pub diff_lines: u32,
    /// Whether markers stood only for longer text; in records of older programs they always did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_markers: bool,
}

impl From<Limits> for LimitsUsed {
    fn from(limits: Limits) -> Self {
        let Limits { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, markers } = limits;
        let short_markers = markers == Markers::Shorter;
        Self { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, short_markers }
    }
}

impl From<LimitsUsed> for Limits {
    fn from(used: LimitsUsed) -> Self {
        let LimitsUsed { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, short_markers } = used;
        let markers = if short_markers { Markers::Shorter } else { Markers::Always };
        Self { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, markers }
    }
}

/// An answer: what was asked, what was decided and why, what was shown. Everything a later replay needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// Which file.
    pub path: String,
    /// First line asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Lines asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Whether the answer goes to a program and not to the model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_program: bool,
    /// How it was answered.
    pub mode: Cow<'static, str>,
    /// Why.
    pub reason: Cow<'static, str>,
    /// The text of the file; absent for a sensitive one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Sha>,
    /// Its lines.
    pub total: u32,
    /// The text the answer is relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Sha>,
    /// What was settled: the window's scope, or `full` for a diff.
    pub scope: String,
    /// The lines shown whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Whether the end of the file became visible, by text or by a marker.
    pub end: bool,
    /// A line shown in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
    /// The block as it was given; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// Bytes of the answer.
    pub sent_bytes: u64,
    /// Bytes a plain answer would have had.
    pub plain_bytes: u64,
    /// Id of the line rule.
    pub rule: Cow<'static, str>,
    /// Which answers were allowed.
    pub answers: Cow<'static, str>,
    /// Limits in force.
    pub limits: LimitsUsed,
    /// When.
    pub at: u64,
}

impl Answered {
    /// The record of what was shown, and of nothing else.
    #[must_use]
    pub fn new(
        path: &PathKey,
        shown: &Shown<'_>,
        asked: (Option<u64>, Option<u64>),
        rules: (Answers, Limits),
        at: u64,
    ) -> Self {
        let (lines, end, part) = match shown.event(path) {
            Event::Shown { lines, end, part, .. } => (lines, end, part),
            Event::Same { ends, .. } => (None, ends, None),
            Event::Told { .. }
            | Event::Diff { .. }
            | Event::Written { .. }
            | Event::Edited { .. }
            | Event::Seen { .. }
            | Event::Alike { .. }
            | Event::Refreshed { .. }
            | Event::Void { .. }
            | Event::Compacted => (None, false, None),
        };
        let secret = shown.reason() == Reason::Sensitive;
        Self {
            path: path.to_string(),
            offset: asked.0,
            limit: asked.1,
            for_program: shown.reason() == Reason::ForProgram,
            mode: shown.mode().as_str().into(),
            reason: shown.reason().as_str().into(),
            hash: (!secret).then_some(Sha(shown.version().hash)),
            total: shown.version().total,
            base: shown.base().map(Sha),
            scope: shown.scope().to_string(),
            lines: lines.map(|lines| (lines.first(), lines.last())),
            end,
            part,
            block: (!secret).then(|| Block { sha: Sha(shown.text_hash()), bytes: shown.text().len() as u64 }),
            sent_bytes: shown.text().len() as u64,
            plain_bytes: shown.window().bytes() as u64,
            rule: LINE_RULE.into(),
            answers: rules.0.as_str().into(),
            limits: rules.1.into(),
            at,
        }
    }

    /// Whether it relies on text shown earlier.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        Mode::parse(&self.mode).is_none_or(Mode::is_derived)
    }

    /// Whether it only vouches for text and shows none.
    #[must_use]
    pub fn is_marker(&self) -> bool {
        matches!(Mode::parse(&self.mode), Some(Mode::Unchanged | Mode::UnchangedRange))
    }

    /// What it does to knowledge once delivered. A record that does not add up voids its path.
    #[must_use]
    pub fn event(&self) -> Event {
        let path = PathKey::new(&self.path);
        let void = Event::Void { path: path.clone() };
        let (Some(mode), Some(Sha(hash)), Some(scope)) =
            (Mode::parse(&self.mode), self.hash, Scope::parse(&self.scope))
        else {
            return void;
        };
        let version = Version { hash, total: self.total };
        match (mode, self.base) {
            (Mode::Full | Mode::BaselineFallback, _) => {
                let lines = self.lines.and_then(|(first, last)| Lines::new(first, last));
                if lines.is_some_and(|lines| lines.last() > self.total) {
                    return void;
                }
                Event::Shown { path, version, lines, end: self.end, part: self.part }
            }
            (Mode::Unchanged | Mode::UnchangedRange, Some(Sha(base))) => {
                Event::Same { path, base, version, scope, ends: self.end }
            }
            (Mode::Diff, Some(Sha(base))) => Event::Diff { path, base, version },
            (Mode::Unchanged | Mode::UnchangedRange | Mode::Diff, None) => void,
        }
    }
}

impl Answered {
    /// What it does to knowledge where it goes to a program: that may print any of it, or nothing.
    #[must_use]
    pub fn seen(&self) -> Event {
        match self.event() {
            Event::Shown { path, version, lines, part, .. } => {
                let part = part.and_then(|line| Lines::new(line, line));
                Event::Seen { path, version, lines: lines.into_iter().chain(part).collect() }
            }
            Event::Same { path, .. }
            | Event::Told { path, .. }
            | Event::Diff { path, .. }
            | Event::Written { path, .. }
            | Event::Edited { path, .. }
            | Event::Seen { path, .. }
            | Event::Alike { path, .. }
            | Event::Void { path } => Event::Void { path },
            none @ (Event::Refreshed { .. } | Event::Compacted) => none,
        }
    }
}

/// What is shown of one file otherwise than in the answer to a read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Which file.
    pub path: String,
    /// The text that has these lines, and how many it has in all; absent where they could not be placed in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<(Sha, u32)>,
    /// First and last line of each run of lines, whole or in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u32, u32)>,
}

impl SeenFile {
    /// What it does to knowledge where it is not known which lines are shown.
    #[must_use]
    pub fn unplaced(&self) -> Event {
        Event::Void { path: PathKey::new(&self.path) }
    }

    /// What it does to knowledge. Lines that cannot be placed void the path.
    #[must_use]
    pub fn event(&self) -> Event {
        let path = PathKey::new(&self.path);
        let lines: Option<Vec<Lines>> = self.lines.iter().map(|(first, last)| Lines::new(*first, *last)).collect();
        match (self.text, lines) {
            (Some((Sha(hash), total)), Some(lines)) if lines.iter().all(|lines| lines.last() <= total) => {
                Event::Seen { path, version: Version { hash, total }, lines }
            }
            (_, _) => Event::Void { path },
        }
    }
}

/// An own write or edit that happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Changed {
    /// The entry that announced it.
    pub begun: u64,
    /// Which file.
    pub path: String,
    /// The text that was there before and that this replaced; absent where nothing was, and for a sensitive file. Records
    /// of older programs lack it for every whole-file write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(Sha, u32)>,
    /// The text after; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<(Sha, u32)>,
    /// For an edit, the first old lines it touched and how many replace them; a whole-file write has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<(u32, u32, u32)>,
    /// For an edit, all of them as its answer states them; empty where it does not, as in records of older programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Stated>,
    /// The answer as it was given; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    /// When.
    pub at: u64,
}

impl Changed {
    /// What it does to knowledge once delivered.
    #[must_use]
    pub fn event(&self) -> Event {
        let path = PathKey::new(&self.path);
        let version = |(Sha(hash), total): (Sha, u32)| Version { hash, total };
        match (self.before.map(version), self.after.map(version), self.hunk) {
            (_, Some(version), None) => Event::Written { path, version },
            (Some(before), Some(after), Some(_)) => {
                let hunks: Option<Vec<Hunk>> = self.stated.iter().map(Stated::hunk).collect();
                // Where the answer does not state its lines, the model cannot tell where the edit fell.
                match hunks.filter(|hunks| !hunks.is_empty()) {
                    Some(hunks) => Event::Edited { path, before, after, hunks },
                    None => Event::Void { path },
                }
            }
            (_, None, _) | (None, Some(_), Some(_)) => Event::Void { path },
        }
    }
}

/// A run of old lines, how many lines replace them, and what of the old ones is in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated(pub u32, pub u32, pub u32, RestsSaid);

/// [`Rests`] in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RestsSaid {
    Ends,
    Head,
    All,
}

impl From<Hunk> for Stated {
    fn from(hunk: Hunk) -> Self {
        let rests = match hunk.rests {
            Rests::Ends => RestsSaid::Ends,
            Rests::Head => RestsSaid::Head,
            Rests::All => RestsSaid::All,
        };
        Self(hunk.old.first(), hunk.old.last(), hunk.new_count, rests)
    }
}

impl Stated {
    /// What it says; `None` when it says nothing.
    #[must_use]
    pub fn hunk(&self) -> Option<Hunk> {
        let rests = match self.3 {
            RestsSaid::Ends => Rests::Ends,
            RestsSaid::Head => Rests::Head,
            RestsSaid::All => Rests::All,
        };
        Lines::new(self.0, self.1).map(|old| Hunk { old, new_count: self.2, rests })
    }
}

/// Lines of other texts that are the same in this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Which file.
    pub path: String,
    /// The text in which they are the same, and its lines.
    pub version: (Sha, u32),
    /// The other text, its first line and its last; one more than its lines is its end.
    pub pieces: Vec<(Sha, u32, u32)>,
    /// When.
    pub at: u64,
}

impl Found {
    /// The pieces.
    #[must_use]
    pub fn alike(&self) -> Vec<Alike> {
        self.pieces.iter().map(|(Sha(base), first, last)| Alike { base: *base, first: *first, last: *last }).collect()
    }

    /// What it does to knowledge.
    #[must_use]
    pub fn event(&self) -> Event {
        let (Sha(hash), total) = self.version;
        Event::Alike { path: PathKey::new(&self.path), version: Version { hash, total }, pieces: self.alike() }
    }
}
