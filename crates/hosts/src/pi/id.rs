//! Names as numbers: entry ids (eight hex digits, or anything else once per name), and the paths of tool calls as keys.

use readproof_core::path::{Bearings, PathKey, candidates, resolve};
use std::collections::BTreeMap;

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
    let plain = id.len() == 8 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    plain.then(|| u64::from_str_radix(id, 16).ok()).flatten()
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
