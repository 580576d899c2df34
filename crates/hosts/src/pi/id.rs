//! Names as numbers: entry ids (eight hex digits, or anything else once per name), where the entry of an id stands, and the
//! paths of tool calls as keys.

use readproof_core::path::{Bearings, PathKey, candidates, resolve};
use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
};

/// Entry ids as numbers. pi's own fit 32 bits; others are kept, each once.
#[derive(Default)]
pub(super) struct Ids {
    others: BTreeMap<Box<str>, u64>,
    names: Vec<Box<str>>,
}

/// Beyond every id of eight hex digits.
const OTHERS: u64 = 1 << 32;

impl Ids {
    /// The number of an id seen before.
    pub(super) fn find(&self, id: &str) -> Option<u64> {
        hex(id).or_else(|| self.others.get(id).copied())
    }

    /// The number of an id.
    pub(super) fn intern(&mut self, id: &str) -> u64 {
        if let Some(number) = self.find(id) {
            return number;
        }
        let number = OTHERS + self.names.len() as u64;
        self.others.insert(id.into(), number);
        self.names.push(id.into());
        number
    }

    /// The id of a number.
    pub(super) fn name(&self, number: u64) -> String {
        let other = number.checked_sub(OTHERS).and_then(|at| usize::try_from(at).ok());
        match other.and_then(|at| self.names.get(at)) {
            Some(name) => name.to_string(),
            None => format!("{number:08x}"),
        }
    }
}

/// Exactly as pi prints them, so that each number has one name.
fn hex(id: &str) -> Option<u64> {
    let digits: &[u8; 8] = id.as_bytes().try_into().ok()?;
    let mut number = 0;
    for digit in digits {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | u64::from(value);
    }
    Some(number)
}

/// Which entry has an id: four to eight bytes an entry, as the ids themselves stand in the entries.
pub(super) struct Index {
    /// Entries, each at the first free slot from where its id leads; a power of two of them, at most half in use.
    slots: Vec<u32>,
    used: usize,
    /// Whoever chooses ids does not know where they lead.
    seed: u64,
}

const FREE: u32 = u32::MAX;

impl Index {
    pub(super) fn new() -> Self {
        Self { slots: vec![FREE; 16], used: 0, seed: RandomState::new().hash_one(0) }
    }

    /// The entry of an id. `id_of` tells the id of an entry.
    pub(super) fn find(&self, id: u64, id_of: impl Fn(u32) -> u64) -> Option<u32> {
        Some(self.slots[self.slot(id, id_of)]).filter(|entry| *entry != FREE)
    }

    /// Notes the entry of an id, unless there is one: then that is given.
    pub(super) fn insert(&mut self, id: u64, entry: u32, id_of: impl Fn(u32) -> u64) -> Option<u32> {
        if (self.used + 1) * 2 > self.slots.len() {
            let grown = vec![FREE; self.slots.len() * 2];
            for entry in std::mem::replace(&mut self.slots, grown).into_iter().filter(|entry| *entry != FREE) {
                let slot = self.slot(id_of(entry), &id_of);
                self.slots[slot] = entry;
            }
        }
        let slot = self.slot(id, id_of);
        if self.slots[slot] != FREE {
            return Some(self.slots[slot]);
        }
        self.slots[slot] = entry;
        self.used += 1;
        None
    }

    /// Where an id stands, or would.
    fn slot(&self, id: u64, id_of: impl Fn(u32) -> u64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = (id ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut slot = usize::try_from(mixed).unwrap_or(0) & mask;
        while self.slots[slot] != FREE && id_of(self.slots[slot]) != id {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The absolute name pi means by a path in a call; `None` when it cannot be told from the letters.
pub(super) fn key(raw: &str, bearings: &Bearings) -> Option<PathKey> {
    let bare = raw.strip_prefix('@').unwrap_or(raw);
    let at_home = bare == "~" || bare.starts_with("~/");
    if raw.is_empty() || (at_home && bearings.home.is_none()) {
        return None;
    }
    candidates(raw, bearings).first().map(|name| PathKey::new(name))
}

/// The key of a path as a record holds it: the name itself, not what a model may have meant.
pub(super) fn recorded(path: &str, bearings: &Bearings) -> PathKey {
    PathKey::new(&resolve(path, &bearings.cwd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_one_number_and_one_name() {
        let mut ids = Ids::default();
        for id in ["00000000", "deadbeef", "DEADBEEF", "dead", "deadbeef0", "", "entry 7", "0000000g"] {
            let number = ids.intern(id);
            assert_eq!((ids.intern(id), ids.find(id)), (number, Some(number)));
            assert_eq!(ids.name(number), id);
        }
        assert_eq!(ids.find("never seen"), None);
        assert_eq!(ids.find("0badf00d"), Some(0x0bad_f00d), "a hex id needs no table");
    }

    #[test]
    fn an_id_leads_to_its_first_entry() {
        let ids: Vec<u64> = (0..1000).map(|n: u64| n.wrapping_mul(0x9e37_79b1) & 0xffff).collect();
        let (mut index, mut first) = (Index::new(), BTreeMap::new());
        for (entry, id) in (0..).zip(&ids) {
            let taken = index.insert(*id, entry, |entry| ids[entry as usize]);
            assert_eq!(taken, first.get(id).copied());
            first.entry(*id).or_insert(entry);
        }
        for id in 0..0x1_0000 {
            assert_eq!(index.find(id, |entry| ids[entry as usize]), first.get(&id).copied());
        }
    }

    #[test]
    fn paths_become_absolute() {
        let mut bearings = Bearings { cwd: "/w".into(), home: Some("/home/u".into()) };
        let named = |raw: &str, bearings: &Bearings| key(raw, bearings).map(|key| key.to_string());
        assert_eq!(named("a/../b", &bearings).as_deref(), Some("/w/b"));
        assert_eq!(named("@/x//y", &bearings).as_deref(), Some("/x/y"));
        assert_eq!(named("~/a", &bearings).as_deref(), Some("/home/u/a"));
        assert_eq!(recorded("/w/@a\u{a0}b", &bearings).as_str(), "/w/@a\u{a0}b");
        assert_eq!(recorded("x/../y", &bearings).as_str(), "/w/y");
        bearings.home = None;
        assert_eq!(named("~/a", &bearings), None);
        assert_eq!(named("", &bearings), None);
    }
}
