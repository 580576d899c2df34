//! What one model sees: its conversation as a tree, kept by the harness from the calls alone. Gives the reader everything
//! that is visible at the leaf, in order.

use readproof_engine::EntryId;
use readproof_reader::{Change, Reader, Seen};

/// One thing that happened in the conversation.
#[derive(Clone, Debug)]
pub enum Turn {
    /// A call went out. `glimpsed`: its result was seen, but never confirmed.
    Called {
        /// What may have been seen.
        glimpsed: Option<Seen>,
    },
    /// A result came in.
    Saw(Seen),
    /// A compaction: the barrier.
    Compacted,
    /// The block of an earlier result is shown differently.
    Edited {
        /// The turn it concerns.
        target: usize,
        how: Alteration,
    },
    /// Nothing visible.
    Silent,
}

/// How a host shows a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// Not at all.
    Dropped,
    /// With other text.
    Replaced,
    /// As it was originally.
    Restored,
}

/// A turn in the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// The turn before it.
    pub parent: Option<usize>,
    pub turn: Turn,
    /// The product's entry for it.
    pub entry: Option<EntryId>,
    /// All entries of a result that is about several files.
    pub also: Vec<EntryId>,
    /// Whether the product recorded it. It does not where what is shown contradicts nothing that it holds.
    pub recorded: bool,
}

/// One conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// All turns.
    pub nodes: Vec<Node>,
    /// The leaf.
    pub leaf: Option<usize>,
    /// Turns the host hides from every request.
    pub pruned: Vec<usize>,
    /// Whether the product was told that results are pruned.
    pub distrusted: bool,
    reader: Option<Reader>,
}

impl Conversation {
    /// Adds a turn after the leaf, which moves to it.
    pub fn push(&mut self, turn: Turn, entry: Option<EntryId>) -> usize {
        let parent = self.leaf;
        self.insert(parent, turn, entry)
    }

    /// Adds a turn after `parent`; the leaf follows only if it was there.
    pub fn insert(&mut self, parent: Option<usize>, turn: Turn, entry: Option<EntryId>) -> usize {
        let at = self.nodes.len();
        let follows = parent == self.leaf;
        match (&turn, follows, &mut self.reader) {
            (Turn::Saw(seen), true, Some(reader)) => {
                // A complaint was reported when the answer was judged.
                let _ = reader.see(seen);
            }
            (Turn::Called { glimpsed: None } | Turn::Silent, true, _) => {}
            _ => self.reader = None,
        }
        self.nodes.push(Node { parent, turn, entry, also: Vec::new(), recorded: true });
        if follows {
            self.leaf = Some(at);
        }
        at
    }

    /// Moves the leaf.
    pub fn go(&mut self, to: Option<usize>) {
        self.leaf = to;
        self.reader = None;
    }

    /// Turns from the root to `leaf`.
    #[must_use]
    pub fn path(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(at) = next {
            path.push(at);
            next = self.nodes[at].parent;
        }
        path.reverse();
        path
    }

    /// Whether `ancestor` is on the path to `leaf`.
    #[must_use]
    pub fn is_on_branch(&self, ancestor: usize) -> bool {
        self.path(self.leaf).contains(&ancestor)
    }

    /// The newest turn at or below `at` that the product knows of, with what was shown right behind it.
    #[must_use]
    pub fn tip(&self, at: usize) -> usize {
        let mut below = vec![at];
        for (child, node) in self.nodes.iter().enumerate().skip(at + 1) {
            if node.parent.is_some_and(|parent| below.contains(&parent)) {
                below.push(child);
            }
        }
        let mut tip = below.into_iter().rfind(|at| self.nodes[*at].recorded).unwrap_or(at);
        let behind = |tip| self.nodes.iter().rposition(|node| node.parent == Some(tip) && !node.recorded);
        while let Some(next) = behind(tip) {
            tip = next;
        }
        tip
    }

    /// Turns on the branch since the barrier.
    #[must_use]
    pub fn window(&self) -> Vec<usize> {
        let path = self.path(self.leaf);
        let barrier = path.iter().rposition(|at| matches!(self.nodes[*at].turn, Turn::Compacted));
        path[barrier.map_or(0, |at| at + 1)..].to_vec()
    }

    /// Hides a turn from every request from now on.
    pub fn prune(&mut self, at: usize) {
        self.pruned.push(at);
        self.reader = None;
    }

    /// A reader that has seen what is visible at the leaf.
    pub fn reader(&mut self) -> &Reader {
        let fresh = match self.reader.take() {
            Some(reader) => reader,
            None => self.rebuilt(),
        };
        self.reader.insert(fresh)
    }

    fn rebuilt(&self) -> Reader {
        let mut reader = Reader::default();
        let window = self.window();
        for at in &window {
            let alteration = window.iter().rev().find_map(|other| match &self.nodes[*other].turn {
                Turn::Edited { target, how } => (target == at).then_some(*how),
                Turn::Called { .. } | Turn::Saw(_) | Turn::Compacted | Turn::Silent => None,
            });
            if self.pruned.contains(at) || alteration == Some(Alteration::Dropped) {
                continue;
            }
            let seen = match &self.nodes[*at].turn {
                Turn::Saw(seen) | Turn::Called { glimpsed: Some(seen) } => seen.clone(),
                Turn::Called { glimpsed: None } | Turn::Compacted | Turn::Edited { .. } | Turn::Silent => continue,
            };
            let seen = if alteration == Some(Alteration::Replaced) { lost(&seen) } else { seen };
            // A derived answer that cannot be rebuilt here was sound where it was given; its file is then forgotten.
            let _ = reader.see(&seen);
        }
        reader
    }
}

/// Something of this file was seen without line numbers.
#[must_use]
pub fn lost(seen: &Seen) -> Seen {
    match seen {
        Seen::Read { path, .. }
        | Seen::Write { path, .. }
        | Seen::Edit { path, .. }
        | Seen::Lines { path, .. }
        | Seen::Lost { path } => Seen::Lost { path: path.clone() },
        Seen::Changes { files, .. } => {
            Seen::AllLost { paths: files.iter().flat_map(Change::paths).map(str::to_owned).collect() }
        }
        Seen::AllLost { paths } => Seen::AllLost { paths: paths.clone() },
    }
}
