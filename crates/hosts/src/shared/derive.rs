//! What holds at an entry, derived from what holds at its parent. All transcripts share this file and supply only what
//! their entries say ([`Derive`]). A transcript may settle each entry as it comes, or only the leaves that are asked about.
//!
//! Three rules stand here and nowhere else: an entry that changes nothing shares the state of its parent; nothing before a
//! compaction counts; a context edit derives anew from the edited entry on, for the branch after it only.

use rpds::RedBlackTreeMapSync;

use crate::tree::{At, Tree};

/// What holds at an entry. Cheap to clone.
#[derive(Clone)]
pub(crate) struct State<H, V> {
    /// What the transcript itself derives.
    pub(crate) held: H,
    /// The latest compaction on the branch.
    pub(crate) barrier: Option<At>,
    /// The entries since then that the model sees in another way than they were given, and how.
    pub(crate) edits: RedBlackTreeMapSync<At, V>,
}

impl<H: Default, V> Default for State<H, V> {
    fn default() -> Self {
        Self { held: H::default(), barrier: None, edits: RedBlackTreeMapSync::default() }
    }
}

/// What a new entry does to the state of its parent, as far as that is known at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brings {
    /// Nothing: it only keeps its place.
    Nothing,
    /// A compaction.
    Barrier,
    /// Possibly something: [`Derive::take`] tells.
    Something,
}

/// What taking an entry in did to the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    Changed,
}

/// The number of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateId(u32);

/// What holds where there is no entry.
const AT_ROOT: StateId = StateId(0);

/// A state that was not derived yet.
const UNSETTLED: StateId = StateId(u32::MAX);

/// A tree and the states derived so far.
pub(crate) struct Derived<E, H, V> {
    tree: Tree<E>,
    /// The first is the one at the root.
    states: Vec<State<H, V>>,
}

/// How much there is of both.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    entries: usize,
    states: usize,
}

impl<E, H: Default, V> Derived<E, H, V> {
    pub(crate) fn new() -> Self {
        Self { tree: Tree::new(), states: vec![State::default()] }
    }

    /// Adds an entry after its parent. Only the state of a compaction is known at once: it needs nothing of what was before.
    pub(crate) fn push(&mut self, id: u64, parent: Option<At>, entry: E, brings: Brings) -> At {
        let state = match brings {
            Brings::Nothing => self.state_id(parent),
            Brings::Barrier | Brings::Something => UNSETTLED,
        };
        let at = self.tree.push(id, parent, state.0, entry);
        if brings == Brings::Barrier {
            let state = self.keep(State { barrier: Some(at), ..State::default() });
            self.tree.set_state(at, state.0);
        }
        at
    }
}

impl<E, H, V> Derived<E, H, V> {
    pub(crate) fn tree(&self) -> &Tree<E> {
        &self.tree
    }

    pub(crate) fn tree_mut(&mut self) -> &mut Tree<E> {
        &mut self.tree
    }

    pub(crate) fn state(&self, id: StateId) -> &State<H, V> {
        &self.states[id.0 as usize]
    }

    /// What holds at an entry, if that was derived; `None` as a leaf is the root.
    pub(crate) fn state_at(&self, leaf: Option<At>) -> Option<&State<H, V>> {
        Some(self.state_id(leaf)).filter(|id| *id != UNSETTLED).map(|id| self.state(id))
    }

    /// The entries on the branch since its barrier, newest first, where that was derived.
    pub(crate) fn window(&self, leaf: Option<At>) -> impl Iterator<Item = (At, &E)> {
        let barrier = self.state_at(leaf).and_then(|state| state.barrier);
        self.tree.walk(leaf).take_while(move |(at, _)| Some(*at) != barrier)
    }

    pub(crate) fn extent(&self) -> Extent {
        Extent { entries: self.tree.len(), states: self.states.len() }
    }

    /// Takes away what came since.
    pub(crate) fn shrink(&mut self, to: Extent) {
        self.tree.truncate(to.entries);
        self.states.truncate(to.states);
    }

    fn state_id(&self, at: Option<At>) -> StateId {
        at.and_then(|at| self.tree.state(at)).map_or(AT_ROOT, StateId)
    }

    fn is_settled(&self, at: At) -> bool {
        self.state_id(Some(at)) != UNSETTLED
    }

    fn keep(&mut self, state: State<H, V>) -> StateId {
        let id = StateId(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        self.states.push(state);
        id
    }
}

/// The states of a transcript.
pub(crate) type StateOf<T> = State<<T as Derive>::Holdings, <T as Derive>::View>;

/// The tree and states of a transcript.
pub(crate) type DerivedOf<T> = Derived<<T as Derive>::Entry, <T as Derive>::Holdings, <T as Derive>::View>;

/// A transcript that states can be derived from: what its entries say.
pub(crate) trait Derive {
    type Entry;
    /// What is known at an entry besides compactions and context edits.
    type Holdings: Clone + Default;
    /// How the model sees an entry after a context edit.
    type View: Clone;

    fn derived(&self) -> &DerivedOf<Self>;

    fn derived_mut(&mut self) -> &mut DerivedOf<Self>;

    /// Looks at an entry, for a transcript that puts that off until the entry matters.
    fn read(&mut self, _at: At) {}

    /// Takes an entry into the state of its parent, which becomes its own.
    fn take(&mut self, at: At, state: &mut StateOf<Self>) -> Effect;

    /// The entry that `at` edits, if `at` is a context edit and that entry is known.
    fn target(&self, at: At) -> Option<At>;

    /// How the model sees `target` once the context edit `at` stands; `None` if that changes nothing. `before` is how
    /// earlier edits left it.
    fn view(&self, at: At, target: At, before: Option<&Self::View>) -> Option<Self::View>;
}

/// How many entries up to a leaf are settled with it, each; of those before them, one in this many.
const NEAR: usize = 32;

/// The state at a leaf; `None` is the root. Only a lookup if it was derived before; else it costs what stands between the
/// leaf and the nearest entry whose state is known, which is at the latest the barrier.
pub(crate) fn settle<T: Derive>(transcript: &mut T, leaf: Option<At>) -> StateId {
    let derived = transcript.derived();
    let known = derived.state_id(leaf);
    if known != UNSETTLED {
        return known;
    }
    let fresh = derived.tree.branch(leaf, |at| derived.is_settled(at));
    for at in &fresh {
        transcript.read(*at);
    }
    match edits(transcript, &fresh) {
        None => {
            let (before, state) = before(transcript.derived(), &fresh);
            settle_all(transcript, &fresh, None, state, Some(before))
        }
        Some(edits) => settle_anew(transcript, leaf, edits),
    }
}

/// The state that the first of these entries builds on.
fn before<E, H: Clone, V: Clone>(derived: &Derived<E, H, V>, entries: &[At]) -> (StateId, State<H, V>) {
    let parent = entries.first().and_then(|first| derived.tree.parent(*first));
    let id = derived.state_id(parent);
    (id, derived.state(id).clone())
}

/// Derives entries one after the other, and settles some of those from `from` on: near the end each, as that is where a
/// leaf moves. `kept` is the number of the state, if it has one.
fn settle_all<T: Derive>(
    transcript: &mut T,
    branch: &[At],
    from: Option<At>,
    mut state: StateOf<T>,
    mut kept: Option<StateId>,
) -> StateId {
    for (at, left) in branch.iter().zip((0..branch.len()).rev()) {
        if transcript.take(*at, &mut state) == Effect::Changed {
            kept = None;
        }
        if from.is_none_or(|from| *at >= from) && (left < NEAR || left % NEAR == 0) {
            let derived = transcript.derived_mut();
            let id = kept.unwrap_or_else(|| derived.keep(state.clone()));
            derived.tree.set_state(*at, id.0);
            kept = Some(id);
        }
    }
    kept.unwrap_or(AT_ROOT)
}

/// The context edits on a branch.
struct Edits<V> {
    /// All since the barrier: which entries are seen in another way, and how.
    views: RedBlackTreeMapSync<At, V>,
    /// The last edit that changes something.
    last: At,
}

/// The edits among entries that are derived for the first time, with those on the branch before them; `None` when they
/// change nothing. An edit of an entry before the barrier, or on another branch, changes nothing.
fn edits<T: Derive>(transcript: &T, fresh: &[At]) -> Option<Edits<T::View>> {
    let edit = |at: &At| transcript.target(*at).map(|target| (*at, target));
    let found: Vec<(At, At)> = fresh.iter().filter_map(edit).collect();
    let first = found.iter().map(|(_, target)| *target).min()?;
    let derived = transcript.derived();
    let parent = derived.tree.parent(*fresh.first()?);
    let state = derived.state(derived.state_id(parent));
    // Entries that can be edited: from the first target to the leaf, in order. A compaction is never among the fresh ones.
    let mut branch = derived.tree.branch(parent, |at| at < first || Some(at) == state.barrier);
    branch.extend(fresh);
    let (mut views, mut last) = (state.edits.clone(), None);
    for (at, target) in found {
        let stands = target < at && branch.binary_search(&target).is_ok();
        let view = if stands { transcript.view(at, target, views.get(&target)) } else { None };
        if let Some(view) = view {
            views.insert_mut(target, view);
            last = Some(at);
        }
    }
    last.map(|last| Edits { views, last })
}

/// Derives a branch with edits in it. What was derived without knowing of an edit stays right for leaves before that edit,
/// so this begins before the first entry that any of the edits is about, and settles only from the last edit on.
fn settle_anew<T: Derive>(transcript: &mut T, leaf: Option<At>, edits: Edits<T::View>) -> StateId {
    let derived = transcript.derived();
    let first = edits.views.first().map(|(first, _)| *first);
    let is_before = |at: At| first.is_some_and(|first| at < first);
    let branch = derived.tree.branch(leaf, |at| is_before(at) && derived.is_settled(at));
    let (_, state) = before(derived, &branch);
    settle_all(transcript, &branch, Some(edits.last), State { edits: edits.views, ..state }, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of the smallest transcript there can be.
    #[derive(Clone, Copy, PartialEq)]
    enum Entry {
        Nothing,
        Shows,
        Compacts,
        Edits(At),
    }

    /// Knows which entries are shown and not edited.
    struct Small {
        derived: Derived<Entry, Vec<At>, ()>,
        read: Vec<At>,
    }

    impl Derive for Small {
        type Entry = Entry;
        type Holdings = Vec<At>;
        type View = ();

        fn derived(&self) -> &DerivedOf<Self> {
            &self.derived
        }

        fn derived_mut(&mut self) -> &mut DerivedOf<Self> {
            &mut self.derived
        }

        fn read(&mut self, at: At) {
            self.read.push(at);
        }

        fn take(&mut self, at: At, state: &mut StateOf<Self>) -> Effect {
            if self.derived.tree().get(at) != Some(&Entry::Shows) || state.edits.contains_key(&at) {
                return Effect::Nothing;
            }
            state.held.push(at);
            Effect::Changed
        }

        fn target(&self, at: At) -> Option<At> {
            if let Some(Entry::Edits(target)) = self.derived.tree().get(at) { Some(*target) } else { None }
        }

        fn view(&self, _at: At, _target: At, before: Option<&()>) -> Option<()> {
            before.is_none().then_some(())
        }
    }

    impl Small {
        fn new() -> Self {
            Self { derived: Derived::new(), read: Vec::new() }
        }

        fn push(&mut self, parent: Option<At>, entry: Entry) -> At {
            let id = self.derived.tree().len() as u64;
            let brings = match entry {
                Entry::Nothing => Brings::Nothing,
                Entry::Compacts => Brings::Barrier,
                Entry::Shows | Entry::Edits(_) => Brings::Something,
            };
            self.derived.push(id, parent, entry, brings)
        }

        fn held(&mut self, leaf: Option<At>) -> Vec<At> {
            let state = settle(self, leaf);
            self.derived.state(state).held.clone()
        }

        /// The same from nothing, for one leaf.
        fn slow(&self, leaf: Option<At>) -> Vec<At> {
            let tree = self.derived.tree();
            let branch = tree.branch(leaf, |at| tree.get(at) == Some(&Entry::Compacts));
            let edited = |at: &At| branch.iter().any(|edit| *edit > *at && tree.get(*edit) == Some(&Entry::Edits(*at)));
            branch.iter().filter(|at| tree.get(**at) == Some(&Entry::Shows) && !edited(at)).copied().collect()
        }
    }

    fn below(random: &mut u64, n: usize) -> usize {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*random >> 33).unwrap() % n
    }

    #[test]
    fn a_state_is_the_same_whenever_it_is_derived() {
        for seed in 0..400 {
            let (mut at_once, mut later, mut random) = (Small::new(), Small::new(), seed);
            let mut leaf = None;
            for _ in 0..120 {
                let some = at_once.derived.tree().all().nth(below(&mut random, at_once.derived.tree().len().max(1)));
                let entry = match (below(&mut random, 12), some) {
                    (0..=6, _) => Entry::Shows,
                    (7, _) if below(&mut random, 4) == 0 => Entry::Compacts,
                    (8 | 9, Some(target)) => Entry::Edits(target),
                    (_, _) => Entry::Nothing,
                };
                let at = at_once.push(leaf, entry);
                assert_eq!(later.push(leaf, entry), at);
                assert_eq!(at_once.held(Some(at)), at_once.slow(Some(at)), "seed {seed}, {at:?}");
                leaf = if below(&mut random, 15) == 0 { some } else { Some(at) };
            }
            for _ in 0..60 {
                let leaf = later.derived.tree().all().nth(below(&mut random, 120));
                assert_eq!(later.held(leaf), later.slow(leaf), "seed {seed}, {leaf:?}");
            }
        }
    }

    #[test]
    fn what_was_derived_is_not_derived_again() {
        let mut small = Small::new();
        let mut leaf = None;
        for _ in 0..1000 {
            leaf = Some(small.push(leaf, Entry::Shows));
        }
        assert_eq!(small.held(leaf).len(), 1000);
        let states = small.derived.states.len();
        assert!(states < 1000 / NEAR + NEAR + 2, "{states} states");
        small.read.clear();
        small.held(leaf);
        assert_eq!(small.read, []);
        let next = small.push(leaf, Entry::Nothing);
        let last = small.push(Some(next), Entry::Shows);
        assert_eq!(small.held(Some(last)).len(), 1001);
        assert_eq!(small.read, [last]);
        assert_eq!(small.derived.states.len(), states + 1);
    }
}
