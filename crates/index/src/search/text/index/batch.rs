//! Collects the words of many files.

use std::collections::HashMap;

use super::{
    super::{
        defines::is_defined,
        split::{folded, identifiers, stem, words},
    },
    rows::number,
};

/// Names of several words are kept apart from words by this.
pub(super) const NAME_MARK: u8 = b'=';

/// A full batch is stored: it has this many files, or its words take about so much memory.
const MOST_FILES: usize = 5_000;
const MOST_BYTES: usize = 12 << 20;

/// The most identifiers whose words are remembered.
const MOST_REMEMBERED: usize = 50_000;

/// A file of a batch.
pub(super) struct Doc {
    pub(super) path: String,
    pub(super) stamp: [u8; 40],
    pub(super) bytes: u64,
    /// Whether its words are in the batch; it is no text otherwise.
    pub(super) is_text: bool,
}

/// A word, and the files that have it.
pub(super) type Listed = (Box<[u8]>, Vec<u8>);

/// Where a word occurs.
#[derive(Default)]
struct Files {
    /// For each file: how many places after the one before, then twice how often, and one more if it is defined there.
    list: Vec<u8>,
    last: u64,
    /// The file being read, its place from 1, and what was counted in it.
    now: u64,
    often: u64,
    defined: bool,
}

impl Files {
    fn add(&mut self, place: u64, defined: bool) -> usize {
        let before = self.list.len();
        if self.now != place {
            self.close();
            (self.now, self.often, self.defined) = (place, 0, false);
        }
        self.often += 1;
        self.defined |= defined;
        self.list.len() - before
    }

    fn close(&mut self) {
        if self.now > 0 {
            number(&mut self.list, self.now - self.last);
            number(&mut self.list, self.often * 2 + u64::from(self.defined));
            self.last = self.now;
        }
    }
}

#[derive(Default)]
pub(super) struct Batch {
    pub(super) docs: Vec<Doc>,
    numbers: HashMap<Box<[u8]>, u32>,
    files: Vec<Files>,
    /// The words of identifiers that occurred.
    remembered: HashMap<Box<[u8]>, Box<[u32]>>,
    bytes: usize,
}

impl Batch {
    /// Adds a file; without a text it is none.
    pub(super) fn add(&mut self, path: String, stamp: [u8; 40], text: Option<&[u8]>) {
        let bytes = text.map_or(0, <[u8]>::len) as u64;
        self.docs.push(Doc { path, stamp, bytes, is_text: text.is_some() });
        let place = self.docs.len() as u64;
        let text = text.unwrap_or_default();
        for range in identifiers(text) {
            let identifier = &text[range.clone()];
            let defined = is_defined(text, &range);
            if !self.remembered.contains_key(identifier) {
                let numbers = self.numbers_of(identifier);
                if self.remembered.len() >= MOST_REMEMBERED {
                    self.remembered.clear();
                }
                self.remembered.insert(identifier.into(), numbers);
            }
            for word in &self.remembered[identifier] {
                self.bytes += self.files[*word as usize].add(place, defined);
            }
        }
    }

    fn numbers_of(&mut self, identifier: &[u8]) -> Box<[u32]> {
        let (mut numbers, mut glued, mut word) = (Vec::new(), vec![NAME_MARK], Vec::new());
        for part in words(identifier) {
            folded(part, &mut word);
            glued.extend_from_slice(&word);
            numbers.push(self.number_of(&word[..stem(&word)]));
        }
        if numbers.len() > 1 {
            numbers.push(self.number_of(&glued));
        }
        numbers.into()
    }

    fn number_of(&mut self, word: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push(Files::default());
        self.bytes += word.len() + 150;
        self.numbers.insert(word.into(), number);
        number
    }

    pub(super) fn is_full(&self) -> bool {
        self.docs.len() >= MOST_FILES || self.bytes >= MOST_BYTES
    }

    /// Every word in order, with the files that have it.
    pub(super) fn finish(mut self) -> (Vec<Doc>, Vec<Listed>) {
        self.files.iter_mut().for_each(Files::close);
        let mut words: Vec<Listed> = Vec::with_capacity(self.numbers.len());
        for (word, number) in self.numbers {
            words.push((word, std::mem::take(&mut self.files[number as usize].list)));
        }
        words.sort_unstable();
        (self.docs, words)
    }
}
