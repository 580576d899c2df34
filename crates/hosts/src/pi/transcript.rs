//! The tree of a session file. Every entry knows its parent and the state that holds there; an entry that changes nothing
//! shares its parent's, so it costs a few dozen bytes, and another leaf is only looked up.

use readproof_core::{
    decide::Mode,
    knowledge::{Event, Knowledge, Place},
    limits::Answers,
    path::{Bearings, PathKey},
    text::ContentHash,
};
use std::collections::BTreeMap;

use super::{
    Lookup,
    block::{Visible, text_of},
    call::{Call, Tool, What, calls, edited},
    id::{Ids, recorded},
    line::{Line, Payload, ToolResult, meta, parse},
    outcome::{Seen, Told},
    state::{Fact, Outcome, State},
};

/// No entry: the root.
const ROOT: u32 = u32::MAX;

/// An entry that says nothing.
const NO_FACT: u32 = u32::MAX;

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
    /// Events applied so far: what all knowledge has cost.
    pub applied: u64,
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

struct Entry {
    id: u64,
    parent: u32,
    state: u32,
    fact: u32,
}

/// The tree of one session file.
pub struct Transcript {
    answers: Answers,
    home: Option<String>,
    /// From the header; without one of a version that is understood, entries only keep their place.
    bearings: Option<Bearings>,
    ids: Ids,
    by_id: BTreeMap<u64, u32>,
    entries: Vec<Entry>,
    /// The first is what holds at the root.
    states: Vec<State>,
    facts: Vec<Fact>,
    counts: Counts,
}

impl Transcript {
    /// An empty tree. `home` is where `~` leads in the paths of calls.
    #[must_use]
    pub fn new(answers: Answers, home: Option<String>) -> Self {
        Self {
            answers,
            home,
            bearings: None,
            ids: Ids::default(),
            by_id: BTreeMap::new(),
            entries: Vec::new(),
            states: vec![State::default()],
            facts: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Takes in whole lines that were appended. Never fails: a line that cannot be used is counted and skipped.
    pub fn append(&mut self, bytes: &[u8], lookup: Lookup<'_>) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            self.append_line(str::from_utf8(&bytes[start..end]).ok(), lookup);
            start = end + 1;
        }
    }

    /// `None` is a line that is no text.
    fn append_line(&mut self, line: Option<&str>, lookup: Lookup<'_>) {
        if line.is_some_and(|line| line.bytes().all(|b| b.is_ascii_whitespace())) {
            return;
        }
        match line.and_then(parse) {
            Some(Line::Header { cwd }) if self.entries.is_empty() && self.bearings.is_none() => {
                self.bearings = cwd.map(|cwd| Bearings { cwd, home: self.home.clone() });
            }
            Some(Line::Entry { id, parent, payload }) => self.push(&id, parent.as_deref(), payload, lookup),
            Some(Line::Header { .. }) | None => self.counts.skipped += 1,
        }
    }

    /// The folder the session runs in; `None` when there is no header of a version that is understood.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.bearings.as_ref().map(|bearings| bearings.cwd.as_str())
    }

    /// How much was read.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts { entries: self.entries.len(), ..self.counts }
    }

    /// The last entry: where pi goes on when it opens the file.
    #[must_use]
    pub fn last(&self) -> Option<EntryRef> {
        self.entries.len().checked_sub(1).map(|at| EntryRef(number(at)))
    }

    /// The entry of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<EntryRef> {
        self.ids.find(id).and_then(|id| self.by_id.get(&id)).copied().map(EntryRef)
    }

    /// The id of an entry.
    #[must_use]
    pub fn id(&self, entry: EntryRef) -> String {
        self.entry(entry.0).map(|entry| self.ids.name(entry.id)).unwrap_or_default()
    }

    /// What the model holds at a leaf; `None` is the root. Only a lookup.
    #[must_use]
    pub fn knowledge_at(&self, leaf: Option<EntryRef>) -> &Knowledge {
        &self.state_at(leaf).knowledge
    }

    /// The latest compaction on the branch.
    #[must_use]
    pub fn barrier_at(&self, leaf: Option<EntryRef>) -> Option<EntryRef> {
        self.state_at(leaf).barrier.map(EntryRef)
    }

    /// Own calls on the branch whose result is not there.
    #[must_use]
    pub fn pending_at(&self, leaf: Option<EntryRef>) -> Vec<Pending> {
        let open = self.state_at(leaf).open.iter();
        open.map(|call| Pending { path: call.key.clone(), tool: call.tool().as_str() }).collect()
    }

    /// How many entries the branch has since its barrier.
    #[must_use]
    pub fn window(&self, leaf: Option<EntryRef>) -> usize {
        let barrier = self.barrier_at(leaf).map(|barrier| barrier.0);
        self.walk(leaf.map_or(ROOT, |leaf| leaf.0)).take_while(|(at, _)| Some(*at) != barrier).count()
    }

    /// Which entry a place in knowledge is, and what it did.
    #[must_use]
    pub fn why(&self, place: Place) -> Option<Why> {
        let entry = self.entry(u32::try_from(place).ok()?)?;
        match self.facts.get(entry.fact as usize)? {
            Fact::Result(outcome) => Some(Why {
                entry: self.ids.name(entry.id),
                tool: outcome.tool.as_str(),
                mode: outcome.told.as_ref().and_then(|told| told.mode),
            }),
            Fact::Calls(_) | Fact::Refreshed(_) | Fact::Compacted => None,
        }
    }

    /// The texts that own writes and edits led to, on whatever branch. Their hashes stand in no line.
    pub fn written(&self) -> impl Iterator<Item = ContentHash> {
        let calls = self.facts.iter().filter_map(|fact| if let Fact::Calls(calls) = fact { Some(calls) } else { None });
        calls.flatten().filter_map(|call| match &call.what {
            What::Write(version) => version.map(|version| version.hash),
            What::Edit(result) => result.map(|(_, after)| after.hash),
            What::Read(_) => None,
        })
    }

    fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    /// The state an entry stands in; anything else than an entry is the root.
    fn state_of(&self, at: u32) -> u32 {
        self.entry(at).map_or(0, |entry| entry.state)
    }

    fn state_at(&self, leaf: Option<EntryRef>) -> &State {
        &self.states[self.state_of(leaf.map_or(ROOT, |leaf| leaf.0)) as usize]
    }

    /// From an entry up to the root. A parent always stands before its child, so this ends.
    fn walk(&self, from: u32) -> impl Iterator<Item = (u32, &Entry)> {
        let mut next = from;
        std::iter::from_fn(move || {
            let at = next;
            let entry = self.entry(at)?;
            next = entry.parent;
            Some((at, entry))
        })
    }

    fn push(&mut self, id: &str, parent: Option<&str>, payload: Payload<'_>, lookup: Lookup<'_>) {
        let at = number(self.entries.len());
        let id = self.ids.intern(id);
        if at == ROOT || self.by_id.contains_key(&id) {
            self.counts.skipped += 1;
            return;
        }
        // A parent that was never read may stand for anything, so nothing before this entry counts.
        let parent = parent.and_then(|parent| self.find(parent)).map_or(ROOT, |parent| parent.0);
        let before = self.state_of(parent);
        let (state, fact) = self.taken_in(at, parent, before, payload, lookup);
        self.by_id.insert(id, at);
        self.entries.push(Entry { id, parent, state, fact });
    }

    /// The state and the fact of a new entry.
    fn taken_in(&mut self, at: u32, parent: u32, before: u32, payload: Payload<'_>, lookup: Lookup<'_>) -> (u32, u32) {
        let Some(bearings) = &self.bearings else { return (before, NO_FACT) };
        let state = &self.states[before as usize];
        let fact = match payload {
            Payload::Assistant(content) => {
                let calls = calls(content, bearings).into_iter();
                let calls: Box<[Call]> = calls.map(|(call, edits)| settled(state, call, &edits, lookup)).collect();
                (!calls.is_empty()).then_some(Fact::Calls(calls))
            }
            Payload::Result(result) => outcome(state, &result, bearings, lookup).map(Fact::Result),
            Payload::Compaction => {
                self.counts.compactions += 1;
                Some(Fact::Compacted)
            }
            Payload::Invalidation(asked) => {
                let paths = vec![recorded(&asked.path_key, bearings)];
                Some(Fact::Refreshed(Event::Refreshed { paths, scope: asked.scope }))
            }
            Payload::ContextEdit { target, visible } => {
                let anew = self.find(&target).and_then(|target| self.edited(parent, before, target.0, visible));
                return (anew.map_or(before, |state| self.keep(state)), NO_FACT);
            }
            Payload::Nothing => None,
        };
        let Some(fact) = fact else { return (before, NO_FACT) };
        let mut state = self.states[before as usize].clone();
        self.counts.applied += state.take(at, &fact, self.answers);
        self.facts.push(fact);
        (self.keep(state), number(self.facts.len() - 1))
    }

    fn keep(&mut self, state: State) -> u32 {
        self.states.push(state);
        number(self.states.len() - 1)
    }

    /// Derives anew from the edited entry on, or from the first one edited before, as the entries between were derived
    /// without knowing of it. Once altered, an entry never counts again on that branch. `None`: nothing changes, as the
    /// target says nothing, stands on another branch or before the barrier, or is seen as it was.
    fn edited(&mut self, parent: u32, before: u32, target: u32, visible: Visible) -> Option<State> {
        let state = &self.states[before as usize];
        if state.altered.contains(&target) || state.barrier.is_some_and(|barrier| target <= barrier) {
            return None;
        }
        match self.facts.get(self.entry(target)?.fact as usize)? {
            Fact::Calls(_) => {}
            Fact::Result(outcome) => {
                let block = outcome.told.as_ref().and_then(|told| told.block);
                if block.is_some_and(|block| visible == Visible::Text(block)) {
                    return None;
                }
            }
            Fact::Refreshed(_) | Fact::Compacted => return None,
        }
        let first = state.altered.first().map_or(target, |first| target.min(*first));
        let branch: Vec<u32> = self.walk(parent).map(|(at, _)| at).take_while(|at| *at >= first).collect();
        if !branch.contains(&target) {
            return None;
        }
        let start = self.entry(*branch.last()?)?.parent;
        let altered = state.altered.insert(target);
        let mut anew = State { altered, ..self.states[self.state_of(start) as usize].clone() };
        for at in branch.into_iter().rev() {
            if let Some(fact) = self.entry(at).and_then(|entry| self.facts.get(entry.fact as usize)) {
                self.counts.applied += anew.take(at, fact, self.answers);
            }
        }
        Some(anew)
    }
}

/// Entries, states and facts are counted in 32 bits; the disk's cap on a file keeps them far below.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A call with what its edits lead to, if the whole text before them is held and stored.
fn settled(state: &State, call: Call, edits: &super::call::Edits, lookup: Lookup<'_>) -> Call {
    let What::Edit(_) = call.what else { return call };
    let held = call.key.as_ref().and_then(|key| state.knowledge.holds_whole(key, Answers::Held));
    let result = held.and_then(|held| Some((held, edited(&lookup(held.hash)?, edits)?.version())));
    Call { what: What::Edit(result), ..call }
}

/// What a result of a tool we know says; `None` for other tools and for programs inside a call.
fn outcome(state: &State, result: &ToolResult<'_>, bearings: &Bearings, lookup: Lookup<'_>) -> Option<Outcome> {
    let tool = Tool::parse(&result.tool)?;
    if result.call.contains('/') {
        return None;
    }
    let told = match tool {
        Tool::Read if !result.failed => told(state, result, bearings, lookup),
        Tool::Read | Tool::Write | Tool::Edit => None,
    };
    Some(Outcome { call: result.call.as_ref().into(), tool, failed: result.failed, told })
}

fn told(state: &State, result: &ToolResult<'_>, bearings: &Bearings, lookup: Lookup<'_>) -> Option<Told> {
    let call = state.open.iter().find(|call| *call.id == *result.call);
    let meta = result.details.and_then(meta);
    let named = meta.as_ref().map(|meta| recorded(&meta.v1.path_key, bearings));
    let path = named.or_else(|| call.and_then(|call| call.key.clone()))?;
    let asked = call.and_then(|call| match &call.what {
        What::Read(asked) => Some(asked),
        What::Write(_) | What::Edit(_) => None,
    });
    let text = text_of(result.content);
    Some(match (&meta, asked, &text) {
        (Some(meta), Some(asked), Some(text)) => Seen { path, asked, meta, text }.told(lookup),
        _ => Told::void(path),
    })
}
