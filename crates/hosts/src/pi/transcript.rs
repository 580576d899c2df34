//! The tree of a session, from its file or entry by entry. An entry that changes nothing shares the state of its
//! parent, so it takes a few dozen bytes, and a leaf that was asked about before is only looked up.

use readproof_core::{
    decide::Mode,
    knowledge::{Knowledge, Place},
    limits::Answers,
    path::{Bearings, PathKey},
    text::ContentHash,
};
use std::{borrow::Cow, collections::BTreeSet};

use super::{
    Source,
    call::Tool,
    fact::{Fact, Look, Unread},
    history::Judge,
    id::{Ids, Names},
    line::{Line, Payload, parse},
    outcome::ReadStats,
    settle::Settling,
    state::Holdings,
};
use crate::{
    derive::{self, Brings, Derived, State, settle},
    tree::At,
};

/// Which fact an entry has, if it says anything that can matter.
#[derive(Clone, Copy)]
pub(super) struct FactId(u32);

const NO_FACT: FactId = FactId(u32::MAX);

/// An entry of this transcript: what a [`Place`] in its knowledge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryRef(At);

impl EntryRef {
    #[must_use]
    pub fn place(self) -> Place {
        self.0.place()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub entries: usize,
    /// Lines that are neither a header nor an entry.
    pub skipped: usize,
    /// Compactions, on any branch.
    pub compactions: usize,
}

/// A call without its result: nothing of its file counts until it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The file, if the call tells it.
    pub path: Option<PathKey>,
    pub tool: &'static str,
}

/// The entry because of which something is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    pub entry: String,
    /// The tool whose result it is.
    pub tool: &'static str,
    /// For a read.
    pub mode: Option<Mode>,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    Entry(EntryRef),
    /// An entry with an id that was there before: the first one counts.
    Known(EntryRef),
    Header,
    /// Neither a header nor an entry.
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct UnknownEntry {
    pub entry: String,
}

pub struct Transcript {
    answers: Answers,
    home: Option<String>,
    /// From the header. Without a header of a version that is understood, entries only keep their place.
    names: Option<Names>,
    /// Whether there was a header, of any version. A second one is ignored.
    headed: bool,
    ids: Ids,
    pub(super) derived: Derived<FactId, Holdings, ()>,
    facts: Vec<Fact>,
    /// Bytes appended so far.
    bytes: u64,
    counts: Counts,
    /// What is held of a file that nothing happened to.
    nothing: Knowledge,
}

#[derive(Clone, Copy)]
struct Extent {
    derived: derive::Extent,
    facts: usize,
    counts: Counts,
    headed: bool,
}

/// When a line that matters is looked at.
#[derive(Clone, Copy)]
enum When<'a> {
    Now(&'a dyn Source),
    /// Later, at this offset in the file.
    Later(u64),
}

impl Transcript {
    /// `home` is what `~` means in the paths of calls.
    #[must_use]
    pub fn new(answers: Answers, home: Option<String>) -> Self {
        Self {
            answers,
            home,
            names: None,
            headed: false,
            ids: Ids::default(),
            derived: Derived::new(),
            facts: Vec::new(),
            bytes: 0,
            counts: Counts::default(),
            nothing: Knowledge::default(),
        }
    }

    /// An empty transcript with the same settings.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.answers, self.home.clone())
    }

    /// Takes in whole lines that were appended to the session's file. Never fails: a line that cannot be used is
    /// counted and skipped. A line that matters is looked at again, through [`Source::appended`], when it is needed.
    pub fn append(&mut self, bytes: &[u8]) {
        let before = self.extent();
        for (line, at) in lines(bytes) {
            self.take_in(line, When::Later(self.bytes + at));
        }
        if self.derived.tree_mut().note().is_some() {
            // Which of them came twice shows only one by one.
            self.shrink(before);
            for (line, at) in lines(bytes) {
                self.take_in_checked(line, When::Later(self.bytes + at));
            }
        }
        self.bytes += bytes.len() as u64;
    }

    /// Takes in one line that is in no file: what matters of it is kept at once. Its parent must have come before.
    pub fn push(&mut self, line: &[u8], source: &dyn Source) -> Pushed {
        self.take_in_checked(line, When::Now(source))
    }

    fn take_in_checked(&mut self, line: &[u8], when: When<'_>) -> Pushed {
        let before = self.extent();
        let pushed = self.take_in(line, when);
        match self.derived.tree_mut().note() {
            Some(taken) => {
                self.shrink(before);
                self.counts.skipped += 1;
                Pushed::Known(EntryRef(taken))
            }
            None => pushed,
        }
    }

    /// Takes in a line without checking whether its id is taken.
    fn take_in(&mut self, line: &[u8], when: When<'_>) -> Pushed {
        match parse(line) {
            Some(Line::Header { cwd }) if self.derived.tree().len() == 0 && !self.headed => {
                self.headed = true;
                self.names = cwd.map(|cwd| Names::new(Bearings { cwd, home: self.home.clone() }));
                return Pushed::Header;
            }
            Some(Line::Entry { id, parent, payload }) if !self.derived.tree().is_full() => {
                return self.insert(id, parent.as_deref(), payload, line, when);
            }
            Some(_) => self.counts.skipped += 1,
            None => self.counts.skipped += usize::from(!line.trim_ascii().is_empty()),
        }
        Pushed::Skipped
    }

    fn extent(&self) -> Extent {
        let (derived, facts) = (self.derived.extent(), self.facts.len());
        Extent { derived, facts, counts: self.counts, headed: self.headed }
    }

    /// Takes away what came since.
    fn shrink(&mut self, to: Extent) {
        self.derived.shrink(to.derived);
        self.facts.truncate(to.facts);
        self.counts = to.counts;
        self.headed = to.headed;
        self.names = self.names.take().filter(|_| to.headed);
    }

    /// The folder that the session runs in; `None` without a header of a version that is understood.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.names.as_ref().map(Names::cwd)
    }

    /// Makes names of files that begin with the folder `from` begin with `to` instead. To be called before anything is
    /// asked.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(names) = &mut self.names {
            names.rename(from, to);
        }
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { entries: self.derived.tree().len(), ..self.counts }
    }

    /// The last entry: where pi continues when it opens the file.
    #[must_use]
    pub fn last(&self) -> Option<EntryRef> {
        self.derived.tree().last().map(EntryRef)
    }

    #[must_use]
    pub fn find(&self, id: &str) -> Option<EntryRef> {
        self.find_at(id.as_bytes()).map(EntryRef)
    }

    #[must_use]
    pub fn id(&self, entry: EntryRef) -> String {
        self.derived.tree().id(entry.0).map(|id| self.ids.name(id)).unwrap_or_default()
    }

    /// What holds at the entry with this id.
    ///
    /// # Errors
    /// [`UnknownEntry`] if there is none.
    pub fn known<'a>(&'a mut self, leaf: &str, source: &'a dyn Source) -> Result<Known<'a>, UnknownEntry> {
        let entry = self.find(leaf).ok_or_else(|| UnknownEntry { entry: leaf.to_owned() })?;
        Ok(self.known_at(Some(entry), source))
    }

    /// What holds at a leaf; `None` is the root. Only a lookup if it was asked before; else it costs what is between
    /// the leaf and the barrier, or the nearest entry before it that was asked about.
    pub fn known_at<'a>(&'a mut self, leaf: Option<EntryRef>, source: &'a dyn Source) -> Known<'a> {
        let leaf = leaf.map(|EntryRef(at)| at);
        let state = settle(&mut Settling { transcript: self, source }, leaf);
        let judge = Judge { answers: self.answers, source };
        Known { transcript: self, leaf, state: self.derived.state(state), judge }
    }

    /// The texts that the model's writes led to, with or without a result, and those held where an edit has its result,
    /// on any branch. Their hashes are in no line.
    pub fn written(&mut self, source: &dyn Source) -> BTreeSet<ContentHash> {
        let mut hashes = BTreeSet::new();
        for at in self.derived.tree().all() {
            self.read(at, source);
            if let Some(Fact::Calls(calls)) = self.fact_of(at) {
                hashes.extend(calls.iter().filter_map(|call| call.after(None, source)).map(|text| text.hash()));
            }
            let changed = matches!(self.fact_of(at), Some(Fact::Result(outcome)) if outcome.tool != Tool::Read);
            if changed {
                let known = self.known_at(Some(EntryRef(at)), source);
                let held = known.files().flat_map(|(path, knowledge)| knowledge.of(path));
                hashes.extend(held.map(|held| held.version().hash));
            }
        }
        hashes
    }

    /// What an entry says, as far as it was looked at.
    pub(super) fn fact_of(&self, at: At) -> Option<&Fact> {
        let FactId(number) = *self.derived.tree().get(at)?;
        self.facts.get(number as usize)
    }

    pub(super) fn find_at(&self, id: &[u8]) -> Option<At> {
        self.derived.tree().find(self.ids.find(id)?)
    }

    fn insert(
        &mut self,
        id: Cow<'_, [u8]>,
        parent: Option<&[u8]>,
        payload: Payload<'_>,
        line: &[u8],
        when: When<'_>,
    ) -> Pushed {
        let parent =
            parent.and_then(|parent| self.ids.find(parent)).and_then(|id| self.derived.tree_mut().find_any(id));
        let (mut brings, mut fact) = (Brings::Nothing, NO_FACT);
        match (payload, &mut self.names) {
            (Payload::Nothing, _) | (_, None) => {}
            (Payload::Compaction, Some(_)) => {
                self.counts.compactions += 1;
                brings = Brings::Barrier;
            }
            (payload, Some(names)) => {
                let said = match when {
                    When::Now(source) => Look { source, names }.now(payload),
                    When::Later(at) => {
                        let standing = if let Cow::Borrowed(id) = &id { Some(*id) } else { None };
                        Fact::Unread(Unread::new(standing, &payload, line, at))
                    }
                };
                // 32 bits are enough: the disk's limit on a file keeps the number far below.
                fact = FactId(u32::try_from(self.facts.len()).unwrap_or(u32::MAX));
                self.facts.push(said);
                brings = Brings::Something;
            }
        }
        let id = self.ids.intern(&id);
        Pushed::Entry(EntryRef(self.derived.push(id, parent, fact, brings)))
    }

    /// Looks at the line of an entry, unless that was done.
    pub(super) fn read(&mut self, at: At, source: &dyn Source) {
        let tree = self.derived.tree();
        let Some(FactId(number)) = tree.get(at) else { return };
        let Some(fact) = self.facts.get_mut(*number as usize) else { return };
        let (Fact::Unread(unread), Some(names)) = (&*fact, &mut self.names) else { return };
        let is_it = |id: &[u8]| self.ids.find(id).is_some_and(|id| tree.id(at) == Some(id));
        *fact = unread.read(source, names, is_it).unwrap_or(Fact::Lost);
    }
}

/// The lines of some bytes, and the offset of each.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    let mut start = 0;
    let lines = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]).map(move |end| {
        let at = std::mem::replace(&mut start, end + 1);
        (&bytes[at..end], at as u64)
    });
    lines.filter(|(line, _)| !line.is_empty())
}

/// What holds at one leaf.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub(super) transcript: &'a Transcript,
    leaf: Option<At>,
    pub(super) state: &'a State<Holdings, ()>,
    pub(super) judge: Judge<'a>,
}

impl<'a> Known<'a> {
    /// What the model holds of one file: knowledge of that file only. Looks at the texts that this needs, but only the
    /// first time.
    #[must_use]
    pub fn of(&self, path: &PathKey) -> &'a Knowledge {
        self.state.held.files.get(path).map_or(&self.transcript.nothing, |step| step.known(path, self.judge))
    }

    /// Every file of which something is held, in order, with its knowledge.
    pub fn files(&self) -> impl Iterator<Item = (&'a PathKey, &'a Knowledge)> {
        let judge = self.judge;
        let files = self.state.held.files.iter().map(move |(path, step)| (path, step.known(path, judge)));
        files.filter(|(path, knowledge)| !knowledge.of(path).is_empty())
    }

    /// The latest compaction on the branch.
    #[must_use]
    pub fn barrier(&self) -> Option<EntryRef> {
        self.state.barrier.map(EntryRef)
    }

    /// The latest message with calls on the branch since the barrier.
    #[must_use]
    pub fn calling(&self) -> Option<EntryRef> {
        self.state.held.calling.map(EntryRef)
    }

    /// Calls on the branch without a result.
    #[must_use]
    pub fn pending(&self) -> Vec<Pending> {
        let open = self.state.held.open.iter();
        open.map(|open| Pending { path: open.call.key.clone(), tool: open.call.tool().as_str() }).collect()
    }

    /// How many entries the branch has since its barrier.
    #[must_use]
    pub fn window(&self) -> usize {
        self.transcript.derived.window(self.leaf).count()
    }

    /// The reads on the branch since its barrier that have metadata, newest first.
    pub fn reads(&self) -> impl Iterator<Item = ReadStats> {
        let transcript = self.transcript;
        transcript.derived.window(self.leaf).filter_map(move |(at, _)| match transcript.fact_of(at) {
            Some(Fact::Result(outcome)) => outcome.read().map(|read| read.stats()),
            _ => None,
        })
    }

    /// The entry that a place in this knowledge means, and what it did.
    #[must_use]
    pub fn why(&self, place: Place) -> Option<Why> {
        let at = At::of_place(place)?;
        match self.transcript.fact_of(at)? {
            Fact::Result(outcome) => Some(Why {
                entry: self.transcript.id(EntryRef(at)),
                tool: outcome.tool.as_str(),
                mode: outcome.read().map(|read| read.mode()),
            }),
            Fact::Unread(_)
            | Fact::Nothing
            | Fact::Lost
            | Fact::Calls(_)
            | Fact::Program(_)
            | Fact::Refreshed(_)
            | Fact::Noted(_)
            | Fact::ContextEdit(_) => None,
        }
    }

    #[must_use]
    pub fn transcript(&self) -> &'a Transcript {
        self.transcript
    }
}
