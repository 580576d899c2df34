//! A cache of recently read texts. A file that is read again is most often the same, and comparing bytes is much
//! cheaper than hashing them. The cache is never trusted: a text is used only if every byte just read is equal.

use readproof_core::{path::PathKey, text::Text};
use std::collections::BTreeMap;

/// Maximum size of all texts and names together, in bytes.
const MOST: usize = 16 << 20;

/// Approximate overhead of an entry, in bytes.
const ENTRY: usize = 256;

/// The latest texts by file, bounded in size.
#[derive(Default)]
pub(crate) struct Recent {
    texts: BTreeMap<PathKey, (u64, Text)>,
    /// The same files by last use.
    used: BTreeMap<u64, PathKey>,
    bytes: usize,
    clock: u64,
}

impl Recent {
    /// Takes out the last text of a file, to compare it with what is read now.
    pub(crate) fn take(&mut self, path: &PathKey) -> Option<Text> {
        let (used, text) = self.texts.remove(path)?;
        self.used.remove(&used);
        self.bytes -= cost(path, &text);
        Some(text)
    }

    /// Keeps a text and drops the least recently used ones.
    pub(crate) fn keep(&mut self, path: &PathKey, text: Text) {
        self.take(path);
        let bytes = cost(path, &text);
        if bytes > MOST / 4 {
            return;
        }
        self.clock += 1;
        self.bytes += bytes;
        self.texts.insert(path.clone(), (self.clock, text));
        self.used.insert(self.clock, path.clone());
        while self.bytes > MOST
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.take(&oldest);
        }
    }
}

fn cost(path: &PathKey, text: &Text) -> usize {
    text.as_str().len() + path.as_str().len() + ENTRY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_go_and_large_ones_never_come() {
        let mut recent = Recent::default();
        let text = |bytes: usize| Text::new("x".repeat(bytes));
        let path = |n: usize| PathKey::new(&n.to_string());
        let quarter = MOST / 4 - ENTRY - 1;
        recent.keep(&path(0), text(quarter + 1));
        assert_eq!(recent.take(&path(0)), None);
        for n in 0..6 {
            recent.keep(&path(n), text(quarter));
            if let Some(again) = recent.take(&path(0)) {
                recent.keep(&path(0), again);
            }
        }
        let kept: Vec<usize> = (0..6).filter(|n| recent.texts.contains_key(&path(*n))).collect();
        assert_eq!((kept, recent.bytes), (vec![0, 3, 4, 5], MOST));
        recent.keep(&path(0), text(1));
        assert_eq!(recent.bytes, 3 * (MOST / 4) + 1 + 1 + ENTRY, "another text takes its place");
        assert_eq!(recent.texts.len(), recent.used.len());
    }

    #[test]
    fn empty_files_count_too() {
        let mut recent = Recent::default();
        for n in 0..100_000 {
            recent.keep(&PathKey::new(&format!("{n:06}")), Text::new(String::new()));
        }
        assert_eq!(recent.texts.len(), MOST / (6 + ENTRY));
        assert_eq!(recent.used.len(), recent.texts.len());
    }
}
