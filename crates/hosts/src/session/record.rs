//! The records of a session log and their JSON. What a record means for the tree is the transcript's business.

use super::line;
use crate::block::{Block, Sha};
use readproof_core::{
    decide::{Mode, Reason},
    knowledge::{Alike, Event, Hunk, Keeps, Piece},
    limits::{Answers, Limits, Markers},
    path::PathKey,
    render::Shown,
    scope::{Lines, Scope},
    text::{ContentHash, Form, LINE_RULE, Version},
};
use readproof_disk::SessionName;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::{borrow::Cow, collections::BTreeMap};

/// The version of these records. A program that knows only version 1 would skip [`Record::Seen`], one that knows only
/// version 2 a merged edit, and vouch for lines that were shown in another text since.
const VERSION: u32 = 3;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The header.
    Open {
        v: u32,
        session: String,
        /// The session and entry that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<(String, Option<u64>)>,
        /// A random number, so that no other log begins with this line. Logs of the oldest versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<String>,
        /// Milliseconds since 1970. Says nothing about order.
        at: u64,
    },
    /// A read was answered. It counts once it is delivered.
    Answer {
        /// The entry before this one; `None` at the root. The same in every other kind.
        parent: Option<u64>,
        answer: Box<Answered>,
    },
    /// The agent is about to write a file.
    Begun { parent: Option<u64>, path: String, at: u64 },
    /// The agent wrote a file. It counts once it is delivered.
    Change { parent: Option<u64>, changed: Box<Changed> },
    /// A result reached the model.
    Delivered {
        parent: Option<u64>,
        /// The line of the answer or change.
        of: u64,
    },
    /// Lines of files are shown by anything but the answer to a read.
    Seen { parent: Option<u64>, files: Vec<SeenFile>, at: u64 },
    /// Lines held of other texts of a file were found to be the same in this one. The model was told nothing.
    Alike { parent: Option<u64>, found: Box<AlikeLines> },
    /// Fresh text was asked for.
    Refresh {
        parent: Option<u64>,
        /// Every known name of the file.
        paths: Vec<String>,
        /// A scope, as [`Scope`] prints it.
        scope: String,
        at: u64,
    },
    /// A compaction: the barrier.
    Compact {
        parent: Option<u64>,
        /// What the host kept instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        at: u64,
    },
    /// The host shows another block, or none, for a result.
    ContextEdit {
        parent: Option<u64>,
        /// The line of the entry that showed it.
        target: u64,
        /// What it shows instead.
        block: Option<Block>,
        at: u64,
    },
    /// The host was seen to drop or change results per request.
    Distrust { why: String, at: u64 },
    /// The leaf moved.
    Switch {
        /// `None` is the root.
        to: Option<u64>,
        at: u64,
    },
    /// An entry of a kind that this version does not know. It keeps its place in the tree and means nothing.
    #[serde(skip)]
    Unknown {
        parent: Option<u64>,
        /// The line as it is in the log; empty if it was left out, see `Focus`.
        raw: String,
    },
}

impl Record {
    /// The header of a new log. The digits of handles are derived from it, so it must not be possible to guess.
    ///
    /// # Errors
    /// If the system gives no random number.
    pub(super) fn open(
        session: &SessionName,
        forked_from: Option<(String, Option<u64>)>,
        at: u64,
    ) -> Result<Self, getrandom::Error> {
        let nonce = Some(format!("{:016x}", getrandom::u64()?));
        Ok(Self::Open { v: VERSION, session: session.to_string(), forked_from, nonce, at })
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Answer { parent, answer } => line::answer(*parent, answer),
            Self::Delivered { parent, of } => line::delivered(*parent, *of),
            Self::Unknown { parent, raw } => {
                let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw).unwrap_or_default();
                fields.extend(to_raw_value(parent).ok().map(|parent| ("parent".to_owned(), parent)));
                let printed = serde_json::to_string(&fields).unwrap_or_default();
                // Printed again, a line that has a field twice could come to mean something.
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

    /// Parses a line; `None` if it is not a record.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Loose {
            parent: Option<u64>,
        }
        // The two kinds that every read appends are parsed apart: serde buffers a whole record to find its kind, and a
        // command parses the whole log of its session.
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

    #[must_use]
    pub fn answered(&self) -> Option<&Answered> {
        if let Self::Answer { answer, .. } = self { Some(answer) } else { None }
    }

    /// What reaches the model once this record, at `line`, is delivered; `None` if it is neither an answer nor a
    /// change.
    pub(super) fn delivery(&self, line: u64) -> Option<Delivery> {
        match self {
            Self::Answer { answer, .. } => Some(Delivery { event: answer.event(), block: answer.block, call: line }),
            Self::Change { changed, .. } => {
                Some(Delivery { event: changed.event(), block: changed.block, call: changed.begun })
            }
            Self::Open { .. }
            | Self::Begun { .. }
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

    /// The entry before this one, `Some(None)` at the root; `None` if the record is not an entry of the tree.
    #[must_use]
    pub fn parent(&self) -> Option<Option<u64>> {
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
            | Self::Unknown { parent, .. } => Some(*parent),
            Self::Open { .. } | Self::Distrust { .. } | Self::Switch { .. } => None,
        }
    }

    /// Puts an entry of the tree after another one, or at the root. A record that is no entry stays as it is.
    pub(super) fn stand_after(&mut self, entry: Option<u64>) {
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
            | Self::Unknown { parent, .. } => *parent = entry,
            Self::Open { .. } | Self::Distrust { .. } | Self::Switch { .. } => {}
        }
    }

    /// Whether this is the header of a log that a later version wrote.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Open { v, .. } if *v > VERSION)
    }

    /// Every text that is mentioned, with its file: a superset of what a later answer could rely on.
    #[must_use]
    pub fn mentions(&self) -> Vec<(&str, ContentHash)> {
        let (path, texts) = match self {
            Self::Answer { answer, .. } => {
                let named = answer.pieces.iter().map(|piece| Some(piece.0));
                (&answer.path, named.chain([answer.hash, answer.base]).collect())
            }
            Self::Change { changed, .. } => {
                (&changed.path, [changed.before, changed.after].map(|text| text.map(|(sha, _)| sha)).to_vec())
            }
            Self::Alike { found, .. } => {
                let bases = found.pieces.iter().map(|(base, _, _)| Some(*base));
                (&found.path, bases.chain([Some(found.version.0)]).collect())
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
            | Self::Unknown { .. } => return Vec::new(),
        };
        texts.into_iter().flatten().map(|Sha(hash)| (path.as_str(), hash)).collect()
    }

    /// A copy with other entry numbers.
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

/// What an answer or a change gives to the model.
pub(super) struct Delivery {
    pub(super) event: Event,
    /// The block as it was given.
    pub(super) block: Option<Block>,
    /// The line of its call: the file is pending from there on.
    pub(super) call: u64,
}

/// The limits under which an answer was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsUsed {
    pub answer_lines: u32,
    pub answer_bytes: u32,
    /// Absent if characters were not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_chars: Option<u32>,
    pub diff_bytes: u32,
    pub diff_lines: u32,
    /// Whether a marker was sent only where it was shorter than the text; in records of older versions markers always
    /// were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_markers: bool,
}

impl From<Limits> for LimitsUsed {
    fn from(limits: Limits) -> Self {
        // The limits of partial answers decide only what one names, which is in its record.
        let Limits { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, markers, .. } = limits;
        let short_markers = markers == Markers::Shorter;
        Self { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, short_markers }
    }
}

impl From<LimitsUsed> for Limits {
    fn from(used: LimitsUsed) -> Self {
        let LimitsUsed { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, short_markers } = used;
        let markers = if short_markers { Markers::Shorter } else { Markers::Always };
        let limits = Limits::default();
        Self { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, markers, ..limits }
    }
}

/// An answer: what was asked, what was decided and why, what was shown. Everything that a replay needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    pub path: String,
    /// The first line asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many lines were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Whether the answer goes to a program and not to the model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_program: bool,
    /// A [`Mode`].
    pub mode: Cow<'static, str>,
    /// A [`Reason`].
    pub reason: Cow<'static, str>,
    /// The text of the file; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Sha>,
    /// Lines of the file.
    pub total: u32,
    /// Its form; absent for the bytes on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Cow<'static, str>>,
    /// The text the answer is relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Sha>,
    /// The scope that was decided about: the window's, or `full` for a diff.
    pub scope: String,
    /// The first and last line that were shown whole; of a partial answer, those of its window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Whether the answer shows where the file ends, by its text or by a marker.
    pub end: bool,
    /// A line that was shown in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
    /// In a partial answer: the lines that it names and does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<NamedLines>,
    /// The block as it was given; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    pub sent_bytes: u64,
    /// Bytes that a plain answer would have had.
    pub plain_bytes: u64,
    /// The rule by which lines are counted.
    pub rule: Cow<'static, str>,
    /// The [`Answers`] that were allowed.
    pub answers: Cow<'static, str>,
    pub limits: LimitsUsed,
    /// The newest record of the version log when it was given; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<u64>,
    /// Milliseconds since 1970.
    pub at: u64,
}

impl Answered {
    /// Records what was shown and nothing else.
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
            Event::Partial { lines, .. } => (Some(lines), true, None),
            Event::MarkerSent { .. }
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
            form: Some(shown.version().form).filter(|form| *form != Form::Disk).map(|form| form.as_str().into()),
            base: shown.base().map(Sha),
            scope: shown.scope().to_string(),
            lines: lines.map(|lines| (lines.first(), lines.last())),
            end,
            part,
            pieces: shown.pieces().iter().map(NamedLines::from).collect(),
            block: (!secret).then(|| Block { sha: Sha(shown.text_hash()), bytes: shown.text().len() as u64 }),
            sent_bytes: shown.text().len() as u64,
            plain_bytes: shown.window().bytes() as u64,
            rule: LINE_RULE.into(),
            answers: rules.0.as_str().into(),
            limits: rules.1.into(),
            versions: None,
            at,
        }
    }

    /// Whether it relies on text that was shown earlier.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        Mode::parse(&self.mode).is_none_or(Mode::is_derived)
    }

    /// Whether it only vouches for text and shows none.
    #[must_use]
    pub fn is_marker(&self) -> bool {
        matches!(Mode::parse(&self.mode), Some(Mode::Unchanged | Mode::UnchangedRange))
    }

    /// What it does to knowledge once it is delivered. A record that contradicts itself voids its path.
    #[must_use]
    pub fn event(&self) -> Event {
        let path = PathKey::new(&self.path);
        let void = Event::Void { path: path.clone() };
        let form = self.form.as_deref().map_or(Some(Form::Disk), Form::parse);
        let (Some(mode), Some(Sha(hash)), Some(scope), Some(form)) =
            (Mode::parse(&self.mode), self.hash, Scope::parse(&self.scope), form)
        else {
            return void;
        };
        let version = Version { hash, total: self.total, form };
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
            (Mode::Partial, _) => {
                let lines = self.lines.and_then(|(first, last)| Lines::new(first, last));
                let pieces: Option<Vec<Piece>> = self.pieces.iter().map(NamedLines::piece).collect();
                match (lines, pieces) {
                    (Some(lines), Some(pieces)) => Event::Partial { path, version, lines, pieces },
                    (_, _) => void,
                }
            }
            (Mode::Unchanged | Mode::UnchangedRange | Mode::Diff, None) => void,
        }
    }
}

impl Answered {
    /// What it does to knowledge if it goes to a program, which may print any of it, or nothing.
    #[must_use]
    pub fn seen(&self) -> Event {
        match self.event() {
            Event::Shown { path, version, lines, part, .. } => {
                let part = part.and_then(|line| Lines::new(line, line));
                Event::Seen { path, version, lines: lines.into_iter().chain(part).collect() }
            }
            Event::Same { path, .. }
            | Event::MarkerSent { path, .. }
            | Event::Diff { path, .. }
            | Event::Partial { path, .. }
            | Event::Written { path, .. }
            | Event::Edited { path, .. }
            | Event::Seen { path, .. }
            | Event::Alike { path, .. }
            | Event::Void { path } => Event::Void { path },
            none @ (Event::Refreshed { .. } | Event::Compacted) => none,
        }
    }
}

/// Lines that a partial answer names: the text of which they are held, the number of the first there, and their first and last
/// number in the text of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLines(pub Sha, pub u32, pub u32, pub u32);

impl From<&Piece> for NamedLines {
    fn from(piece: &Piece) -> Self {
        Self(Sha(piece.base), piece.shown_as, piece.lines.first(), piece.lines.last())
    }
}

impl NamedLines {
    /// `None` if the lines are not a range.
    #[must_use]
    pub fn piece(&self) -> Option<Piece> {
        let Self(Sha(base), shown_as, first, last) = *self;
        Lines::new(first, last).map(|lines| Piece { base, shown_as, lines })
    }
}

/// Lines of a file that are shown by anything but the answer to a read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    pub path: String,
    /// The text with these lines and its number of lines; absent if the lines could not be placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<(Sha, u32)>,
    /// First and last line of each run of lines, shown whole or in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u32, u32)>,
}

impl SeenFile {
    /// What it does to knowledge if it is not known which lines are shown.
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
                Event::Seen { path, version: Version { hash, total, form: Form::Disk }, lines }
            }
            (_, _) => Event::Void { path },
        }
    }
}

/// A write or edit by the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Changed {
    /// The line that announced it.
    pub begun: u64,
    pub path: String,
    /// The text that was replaced; absent if there was no file, and for a sensitive file. Records of older versions
    /// lack it for every whole-file write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(Sha, u32)>,
    /// The text after; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<(Sha, u32)>,
    /// For an edit: the first and last old line of its first hunk, and how many lines replace them. A whole-file write
    /// has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<(u32, u32, u32)>,
    /// For an edit: all hunks, as its answer states them. Empty if it does not, as in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<Stated>,
    /// The answer as it was given; absent for a sensitive file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    pub at: u64,
}

impl Changed {
    /// What it does to knowledge once it is delivered.
    #[must_use]
    pub fn event(&self) -> Event {
        let path = PathKey::new(&self.path);
        let version = |(Sha(hash), total): (Sha, u32)| Version { hash, total, form: Form::Disk };
        match (self.before.map(version), self.after.map(version), self.hunk) {
            (_, Some(version), None) => Event::Written { path, version },
            (Some(before), Some(after), Some(_)) => {
                let hunks: Option<Vec<Hunk>> = self.stated.iter().map(Stated::hunk).collect();
                // If the answer does not state its lines, the model cannot tell where the edit was.
                match hunks.filter(|hunks| !hunks.is_empty()) {
                    Some(hunks) => Event::Edited { path, before, after, hunks },
                    None => Event::Void { path },
                }
            }
            (_, None, _) | (None, Some(_), Some(_)) => Event::Void { path },
        }
    }
}

/// The first and last of a run of old lines, how many lines replace them, and what remains of the old ones in the new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated(pub u32, pub u32, pub u32, KeepsSaid);

/// [`Keeps`] in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeepsSaid {
    Ends,
    Head,
    All,
    Unknown,
    Shown,
}

impl From<Hunk> for Stated {
    fn from(hunk: Hunk) -> Self {
        let keeps = match hunk.keeps {
            Keeps::Ends => KeepsSaid::Ends,
            Keeps::Head => KeepsSaid::Head,
            Keeps::All => KeepsSaid::All,
            Keeps::Unknown => KeepsSaid::Unknown,
            Keeps::Shown => KeepsSaid::Shown,
        };
        Self(hunk.old.first(), hunk.old.last(), hunk.new_count, keeps)
    }
}

impl Stated {
    /// `None` if the lines are not a range.
    #[must_use]
    pub fn hunk(&self) -> Option<Hunk> {
        let keeps = match self.3 {
            KeepsSaid::Ends => Keeps::Ends,
            KeepsSaid::Head => Keeps::Head,
            KeepsSaid::All => Keeps::All,
            KeepsSaid::Unknown => Keeps::Unknown,
            KeepsSaid::Shown => Keeps::Shown,
        };
        Lines::new(self.0, self.1).map(|old| Hunk { old, new_count: self.2, keeps })
    }
}

/// Lines of other texts of a file that are the same in this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AlikeLines {
    pub path: String,
    /// The text in which they are the same, and its number of lines.
    pub version: (Sha, u32),
    /// Each other text with a first and a last line; the number after its last line is its end.
    pub pieces: Vec<(Sha, u32, u32)>,
    pub at: u64,
}

impl AlikeLines {
    #[must_use]
    pub fn alike(&self) -> Vec<Alike> {
        self.pieces.iter().map(|(Sha(base), first, last)| Alike { base: *base, first: *first, last: *last }).collect()
    }

    #[must_use]
    pub fn event(&self) -> Event {
        let (Sha(hash), total) = self.version;
        let version = Version { hash, total, form: Form::Disk };
        Event::Alike { path: PathKey::new(&self.path), version, pieces: self.alike() }
    }
}
