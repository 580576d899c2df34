//! Texts that were vouched for a moment ago. A file that is read again is most often the same, and to compare bytes takes a
//! fraction of what it takes to hash them. Nothing is believed: a text is used only if every byte just read is its own.

use readproof_core::{path::PathKey, text::Text};
use std::collections::BTreeMap;

/// All texts together have at most so many bytes.
const MOST: usize = 16 << 20;

/// The latest texts by file, bounded in size.
#[derive(Default)]
pub(crate) struct Recent {
    texts: BTreeMap<PathKey, (u64, Text)>,
    bytes: usize,
    clock: u64,
}

impl Recent {
    /// Takes out what a file was, to compare it with what is read now.
    pub(crate) fn take(&mut self, path: &PathKey) -> Option<Text> {
        let (_, text) = self.texts.remove(path)?;
        self.bytes -= text.as_str().len();
        Some(text)
    }

    /// Keeps a text; the ones not used for longest go.
    pub(crate) fn keep(&mut self, path: &PathKey, text: Text) {
        self.take(path);
        if text.as_str().len() > MOST / 4 {
            return;
        }
        self.clock += 1;
        self.bytes += text.as_str().len();
        self.texts.insert(path.clone(), (self.clock, text));
        while self.bytes > MOST {
            let Some(oldest) = self.texts.iter().min_by_key(|(_, (used, _))| *used).map(|(path, _)| path.clone())
            else {
                break;
            };
            self.take(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_go_and_large_ones_never_come() {
        let mut recent = Recent::default();
        let text = |bytes: usize| Text::new("x".repeat(bytes));
        let path = |n: usize| PathKey::new(&n.to_string());
        recent.keep(&path(0), text(MOST / 4 + 1));
        assert_eq!(recent.take(&path(0)), None);
        for n in 0..6 {
            recent.keep(&path(n), text(MOST / 4));
            if let Some(again) = recent.take(&path(0)) {
                recent.keep(&path(0), again);
            }
        }
        let kept: Vec<usize> = (0..6).filter(|n| recent.texts.contains_key(&path(*n))).collect();
        assert_eq!((kept, recent.bytes), (vec![0, 3, 4, 5], MOST));
        recent.keep(&path(0), text(1));
        assert_eq!(recent.bytes, 3 * (MOST / 4) + 1, "another text takes its place");
    }
}
