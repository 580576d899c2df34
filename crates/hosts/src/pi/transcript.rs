//! The tree of a session, from its file or entry by entry. Every entry knows its parent and, once that was asked for, the
//! state that holds there; an entry that changes nothing shares its parent's, so it costs a few dozen bytes, and a leaf
//! known before is only looked up.

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
    id::Names,
    line::{Line, Payload, parse},
    outcome::Answered,
    state::State,
    tree::{ROOT, Tree},
};

/// An entry that says nothing.
const NO_FACT: u32 = u32::MAX;

/// A state that nobody asked for yet.
pub(super) const UNSETTLED: u32 = u32::MAX;

/// An entry of this transcript: what a [`Place`] in its knowledge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryRef(u32);

impl EntryRef {
    /// The place in knowledge that stands for this entry.
    #[must_use]
    pub fn place(self) -> Place {
        Place::from(self.0)
    }
}

/// How much was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries of the tree.
    pub entries: usize,
    /// Lines that are neither header nor entry.
    pub skipped: usize,
    /// Compactions, on whatever branch.
    pub compactions: usize,
}

/// A call whose result is not there: nothing of its file counts until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Which file, if that can be told.
    pub path: Option<PathKey>,
    /// Which tool.
    pub tool: &'static str,
}

/// The entry that made something be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Its id.
    pub entry: String,
    /// The tool whose result it is.
    pub tool: &'static str,
    /// How a read was answered.
    pub mode: Option<Mode>,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// A new entry.
    Entry(EntryRef),
    /// An entry of an id that is taken: the first one counts.
    Known(EntryRef),
    /// The header of a session.
    Header,
    /// Neither header nor entry.
    Skipped,
}

/// There is no entry of this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session has no entry `{entry}`; send its entries first, or name one of them")]
pub struct UnknownEntry {
    /// As asked for.
    pub entry: String,
}

/// The tree of one session.
pub struct Transcript {
    answers: Answers,
    home: Option<String>,
    /// From the header; without one of a version that is understood, entries only keep their place.
    names: Option<Names>,
    /// Whether there was a header, of whatever version: another one says nothing.
    headed: bool,
    pub(super) tree: Tree,
    /// The first is what holds at the root.
    states: Vec<State>,
    facts: Vec<Fact>,
    /// Bytes appended so far.
    bytes: u64,
    counts: Counts,
    /// What is held of a file that nothing happened to.
    nothing: Knowledge,
}

/// How much there is.
#[derive(Clone, Copy)]
struct Extent {
    entries: usize,
    states: usize,
    facts: usize,
    counts: Counts,
    headed: bool,
}

/// When a line that matters is looked at.
#[derive(Clone, Copy)]
enum When<'a> {
    Now(&'a dyn Source),
    /// Later, where it stands.
    Later(u64),
}

impl Transcript {
    /// An empty tree. `home` is where `~` leads in the paths of calls.
    #[must_use]
    pub fn new(answers: Answers, home: Option<String>) -> Self {
        Self {
            answers,
            home,
            names: None,
            headed: false,
            tree: Tree::new(),
            states: vec![State::default()],
            facts: Vec::new(),
            bytes: 0,
            counts: Counts::default(),
            nothing: Knowledge::default(),
        }
    }

    /// An empty tree like this one was.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.answers, self.home.clone())
    }

    /// Takes in whole lines that were appended to the session's file. Never fails: a line that cannot be used is counted
    /// and skipped. A line that matters is looked at again, through [`Source::appended`], once it must be.
    pub fn append(&mut self, bytes: &[u8]) {
        let before = self.extent();
        for (line, at) in lines(bytes) {
            self.take_in(line, When::Later(self.bytes + at));
        }
        if self.tree.note().is_some() {
            // Which one is the second shows only one by one.
            self.shrink(before);
            for (line, at) in lines(bytes) {
                self.take_in_checked(line, When::Later(self.bytes + at));
            }
        }
        self.bytes += bytes.len() as u64;
    }

    /// Takes in one line, without a file behind it: what matters of it is kept at once. An entry stands behind its parent
    /// only if that came before.
    pub fn push(&mut self, line: &[u8], source: &dyn Source) -> Pushed {
        self.take_in_checked(line, When::Now(source))
    }

    fn take_in_checked(&mut self, line: &[u8], when: When<'_>) -> Pushed {
        let before = self.extent();
        let pushed = self.take_in(line, when);
        match self.tree.note() {
            Some(taken) => {
                self.shrink(before);
                self.counts.skipped += 1;
                Pushed::Known(EntryRef(taken))
            }
            None => pushed,
        }
    }

    /// Takes in a line; whether its id is taken is not looked at.
    fn take_in(&mut self, line: &[u8], when: When<'_>) -> Pushed {
        match parse(line) {
            Some(Line::Header { cwd }) if self.tree.len() == 0 && !self.headed => {
                self.headed = true;
                self.names = cwd.map(|cwd| Names::new(Bearings { cwd, home: self.home.clone() }));
                return Pushed::Header;
            }
            Some(Line::Entry { id, parent, payload }) if self.tree.len() < ROOT as usize => {
                return self.insert(id, parent.as_deref(), payload, line, when);
            }
            Some(_) => self.counts.skipped += 1,
            None => self.counts.skipped += usize::from(!line.trim_ascii().is_empty()),
        }
        Pushed::Skipped
    }

    fn extent(&self) -> Extent {
        let (entries, states, facts) = (self.tree.len(), self.states.len(), self.facts.len());
        Extent { entries, states, facts, counts: self.counts, headed: self.headed }
    }

    /// Takes away what came since.
    fn shrink(&mut self, to: Extent) {
        self.tree.truncate(to.entries);
        self.states.truncate(to.states);
        self.facts.truncate(to.facts);
        self.counts = to.counts;
        self.headed = to.headed;
        self.names = self.names.take().filter(|_| to.headed);
    }

    /// The folder the session runs in; `None` when there is no header of a version that is understood.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.names.as_ref().map(Names::cwd)
    }

    /// Names of files that begin with the folder `from` begin with `to` instead. To be said before anything is asked.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some(names) = &mut self.names {
            names.rename(from, to);
        }
    }

    /// How much was read.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { entries: self.tree.len(), ..self.counts }
    }

    /// The last entry: where pi goes on when it opens the file.
    #[must_use]
    pub fn last(&self) -> Option<EntryRef> {
        self.tree.last().map(EntryRef)
    }

    /// The entry of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<EntryRef> {
        self.tree.find(id.as_bytes()).map(EntryRef)
    }

    /// The id of an entry.
    #[must_use]
    pub fn id(&self, entry: EntryRef) -> String {
        self.tree.id(entry.0).unwrap_or_default()
    }

    /// What holds at the entry of this id.
    ///
    /// # Errors
    /// [`UnknownEntry`] when there is none.
    pub fn known<'a>(&'a mut self, leaf: &str, source: &'a dyn Source) -> Result<Known<'a>, UnknownEntry> {
        let entry = self.find(leaf).ok_or_else(|| UnknownEntry { entry: leaf.to_owned() })?;
        Ok(self.known_at(Some(entry), source))
    }

    /// What holds at a leaf; `None` is the root. Only a lookup if that was asked before; else it costs what stands between
    /// the leaf and the barrier, or the nearest entry behind that was asked about.
    pub fn known_at<'a>(&'a mut self, leaf: Option<EntryRef>, source: &'a dyn Source) -> Known<'a> {
        let at = leaf.map_or(ROOT, |leaf| leaf.0);
        let state = self.settle(at, source);
        let judge = Judge { answers: self.answers, source };
        Known { transcript: self, at, state: &self.states[state as usize], judge }
    }

    /// The texts of own writes, whether or not they have a result yet, and those held where an edit has its result, on
    /// whatever branch. Their hashes stand in no line.
    pub fn written(&mut self, source: &dyn Source) -> BTreeSet<ContentHash> {
        let mut hashes = BTreeSet::new();
        for at in 0..number(self.tree.len()) {
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

    /// The state an entry stands in; anything else than an entry is the root.
    pub(super) fn state_of(&self, at: u32) -> u32 {
        self.tree.get(at).map_or(0, |entry| entry.state)
    }

    pub(super) fn state(&self, number: u32) -> &State {
        &self.states[number as usize]
    }

    /// What an entry says, as far as that was looked at.
    pub(super) fn fact_of(&self, at: u32) -> Option<&Fact> {
        self.facts.get(self.tree.get(at)?.fact as usize)
    }

    fn insert(
        &mut self,
        id: Cow<'_, [u8]>,
        parent: Option<&[u8]>,
        payload: Payload<'_>,
        line: &[u8],
        when: When<'_>,
    ) -> Pushed {
        let at = number(self.tree.len());
        // A parent that was never read may stand for anything, so nothing before this entry counts.
        let parent = parent.and_then(|parent| self.tree.find_any(parent)).unwrap_or(ROOT);
        let (mut state, mut fact) = (self.state_of(parent), NO_FACT);
        match (payload, &mut self.names) {
            (Payload::Nothing, _) | (_, None) => {}
            (Payload::Compaction, Some(_)) => {
                self.counts.compactions += 1;
                state = self.keep(State::compacted(at));
            }
            (payload, Some(names)) => {
                let said = match when {
                    When::Now(source) => Look { source, names }.now(payload),
                    When::Later(at) => {
                        let standing = if let Cow::Borrowed(id) = &id { Some(*id) } else { None };
                        Fact::Unread(Unread::new(standing, &payload, line, at))
                    }
                };
                self.facts.push(said);
                (state, fact) = (UNSETTLED, number_of(&self.facts));
            }
        }
        self.tree.push(&id, parent, state, fact);
        Pushed::Entry(EntryRef(at))
    }

    fn keep(&mut self, state: State) -> u32 {
        self.states.push(state);
        number_of(&self.states)
    }

    /// Looks at the line of an entry, unless that was done.
    pub(super) fn read(&mut self, at: u32, source: &dyn Source) {
        let Some(entry) = self.tree.get(at) else { return };
        let Some(fact) = self.facts.get_mut(entry.fact as usize) else { return };
        let (Fact::Unread(unread), Some(names)) = (&*fact, &mut self.names) else { return };
        *fact = unread.read(source, names, |id| self.tree.has_id(at, id)).unwrap_or(Fact::Lost);
    }

    /// Notes what holds at an entry; one that says nothing shares what holds at its parent.
    pub(super) fn settle_at(&mut self, at: u32, state: &State, shared: Option<u32>) -> u32 {
        let number = shared.unwrap_or_else(|| self.keep(state.clone()));
        if let Some(entry) = self.tree.get_mut(at) {
            entry.state = number;
        }
        number
    }
}

/// The lines of some bytes, and where each begins.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    let mut start = 0;
    let lines = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]).map(move |end| {
        let at = std::mem::replace(&mut start, end + 1);
        (&bytes[at..end], at as u64)
    });
    lines.filter(|(line, _)| !line.is_empty())
}

/// Entries, states and facts are counted in 32 bits; the disk's cap on a file keeps them far below.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The number of the last of them.
fn number_of<T>(all: &[T]) -> u32 {
    number(all.len().saturating_sub(1))
}

/// What holds at one leaf.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    transcript: &'a Transcript,
    at: u32,
    state: &'a State,
    judge: Judge<'a>,
}

impl<'a> Known<'a> {
    /// What the model holds of one file: knowledge of that file only. Looks at the texts that this needs, and only the
    /// first time.
    #[must_use]
    pub fn of(&self, path: &PathKey) -> &'a Knowledge {
        self.state.files.get(path).map_or(&self.transcript.nothing, |step| step.known(path, self.judge))
    }

    /// Every file of which something is held, in order, with the same of each.
    pub fn files(&self) -> impl Iterator<Item = (&'a PathKey, &'a Knowledge)> {
        let judge = self.judge;
        let files = self.state.files.iter().map(move |(path, step)| (path, step.known(path, judge)));
        files.filter(|(path, knowledge)| !knowledge.of(path).is_empty())
    }

    /// The latest compaction on the branch.
    #[must_use]
    pub fn barrier(&self) -> Option<EntryRef> {
        self.state.barrier.map(EntryRef)
    }

    /// The latest message on the branch since the barrier that made calls.
    #[must_use]
    pub fn calling(&self) -> Option<EntryRef> {
        self.state.calling.map(EntryRef)
    }

    /// Own calls on the branch whose result is not there.
    #[must_use]
    pub fn pending(&self) -> Vec<Pending> {
        let open = self.state.open.iter();
        open.map(|open| Pending { path: open.call.key.clone(), tool: open.call.tool().as_str() }).collect()
    }

    /// How many entries the branch has since its barrier.
    #[must_use]
    pub fn window(&self) -> usize {
        self.transcript.tree.walk(self.at).take_while(|(at, _)| Some(*at) != self.state.barrier).count()
    }

    /// The reads on the branch since its barrier that say how they were answered, newest first.
    pub fn reads(&self) -> impl Iterator<Item = Answered> {
        let (transcript, barrier) = (self.transcript, self.state.barrier);
        let window = transcript.tree.walk(self.at).take_while(move |(at, _)| Some(*at) != barrier);
        window.filter_map(move |(at, _)| match transcript.fact_of(at) {
            Some(Fact::Result(outcome)) => outcome.read().map(|read| read.answered()),
            _ => None,
        })
    }

    /// Which entry a place in this knowledge is, and what it did.
    #[must_use]
    pub fn why(&self, place: Place) -> Option<Why> {
        let at = u32::try_from(place).ok()?;
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
            | Fact::ContextEdit(_) => None,
        }
    }

    /// The transcript it is taken from.
    #[must_use]
    pub fn transcript(&self) -> &'a Transcript {
        self.transcript
    }
}
