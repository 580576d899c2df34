//! Names as numbers: entry ids, and the paths of tool calls as keys.

use readproof_core::path::{Bearings, PathKey, candidates, meant, resolve};
use std::collections::BTreeMap;

/// Entry ids as numbers. Those of pi are eight hex digits and fit 32 bits; any others are kept, each once.
#[derive(Default)]
pub(super) struct Ids {
    others: BTreeMap<Box<[u8]>, u64>,
    names: Vec<Box<[u8]>>,
}

/// Larger than every id of eight hex digits.
const OTHERS: u64 = 1 << 32;

impl Ids {
    /// The number of an id that was seen before.
    pub(super) fn find(&self, id: &[u8]) -> Option<u64> {
        hex(id).or_else(|| self.others.get(id).copied())
    }

    pub(super) fn intern(&mut self, id: &[u8]) -> u64 {
        if let Some(number) = self.find(id) {
            return number;
        }
        let number = OTHERS + self.names.len() as u64;
        self.others.insert(id.into(), number);
        self.names.push(id.into());
        number
    }

    /// The id with this number.
    pub(super) fn name(&self, number: u64) -> String {
        let other = number.checked_sub(OTHERS).and_then(|at| usize::try_from(at).ok());
        match other.and_then(|at| self.names.get(at)) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => format!("{number:08x}"),
        }
    }
}

/// Exactly as pi prints them, so that each number has one name.
fn hex(id: &[u8]) -> Option<u64> {
    let digits: &[u8; 8] = id.try_into().ok()?;
    let values = digits.map(|digit| DIGITS[usize::from(digit)]);
    let plain = values.iter().fold(0, |all, value| all | value) < 16;
    plain.then(|| values.iter().fold(0, |number, value| number << 4 | u64::from(*value)))
}

/// The value of a hex digit; 255 for any other byte.
const DIGITS: [u8; 256] = {
    let mut worth = [255; 256];
    let mut digit: u8 = 0;
    while digit < 16 {
        worth[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    worth
};

/// The names of files, each worked out once.
pub(super) struct Names {
    bearings: Bearings,
    /// A folder by a name that goes through a link, and by the name to use for it.
    renamed: Option<(String, String)>,
    called: BTreeMap<Box<str>, Option<PathKey>>,
    recorded: BTreeMap<Box<str>, PathKey>,
}

impl Names {
    pub(super) fn new(bearings: Bearings) -> Self {
        Self { bearings, renamed: None, called: BTreeMap::new(), recorded: BTreeMap::new() }
    }

    /// From now on, names that begin with the folder `from` begin with `to` instead.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let renamed = Some((from.to_owned(), to.to_owned()));
        if self.renamed != renamed {
            self.renamed = renamed;
            self.called.clear();
            self.recorded.clear();
        }
    }

    /// The folder that relative names start from.
    pub(super) fn cwd(&self) -> &str {
        &self.bearings.cwd
    }

    /// The absolute name that pi means by a path in a call; `None` if the path alone does not tell.
    pub(super) fn key(&mut self, raw: &str) -> Option<PathKey> {
        if let Some(known) = self.called.get(raw) {
            return known.clone();
        }
        let bare = raw.strip_prefix('@').unwrap_or(raw);
        let at_home = bare == "~" || bare.starts_with("~/");
        let unknown = raw.is_empty() || (at_home && self.bearings.home.is_none());
        let key = (!unknown).then(|| meant(raw, &self.bearings)).map(|name| self.recorded(&name));
        self.called.insert(raw.into(), key.clone());
        key
    }

    /// Every name under which pi looks for a path; `None` if the path alone does not tell.
    pub(super) fn possible(&mut self, raw: &str) -> Option<Vec<PathKey>> {
        self.key(raw)?;
        let found = candidates(raw, &self.bearings);
        Some(found.iter().map(|name| self.recorded(name)).collect())
    }

    /// The key of a path in a record: the name itself, not what a model may have meant by it.
    pub(super) fn recorded(&mut self, path: &str) -> PathKey {
        if let Some(known) = self.recorded.get(path) {
            return known.clone();
        }
        let name = resolve(path, &self.bearings.cwd);
        let renamed = self.renamed.as_ref().and_then(|(from, to)| {
            let rest = name.strip_prefix(from.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            Some(format!("{to}{rest}"))
        });
        let key = PathKey::new(&renamed.unwrap_or(name));
        self.recorded.insert(path.into(), key.clone());
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_one_number_and_one_name() {
        let mut ids = Ids::default();
        for id in ["00000000", "deadbeef", "DEADBEEF", "dead", "deadbeef0", "", "entry 7", "0000000g"] {
            let number = ids.intern(id.as_bytes());
            assert_eq!((ids.intern(id.as_bytes()), ids.find(id.as_bytes())), (number, Some(number)));
            assert_eq!(ids.name(number), id);
        }
        assert_eq!(ids.find(b"never seen"), None);
        assert_eq!(ids.find(b"0badf00d"), Some(0x0bad_f00d), "a hex id needs no table");
    }

    #[test]
    fn a_folder_named_through_a_link_is_the_one_it_leads_to() {
        let mut names = Names::new(Bearings { cwd: "/link/w".into(), home: None });
        assert_eq!(names.key("f"), Some(PathKey::new("/link/w/f")));
        names.rename("/link", "/real");
        for raw in ["f", "/link/w/f", "./x/../f", "/real/w/f"] {
            assert_eq!(names.key(raw), Some(PathKey::new("/real/w/f")), "{raw}");
        }
        assert_eq!(names.recorded("/link/w/f"), PathKey::new("/real/w/f"));
        assert_eq!(names.key("/linked/f"), Some(PathKey::new("/linked/f")));
        assert_eq!(names.key("../f"), Some(PathKey::new("/real/f")));
    }

    #[test]
    fn paths_become_absolute() {
        let mut names = Names::new(Bearings { cwd: "/w".into(), home: Some("/home/u".into()) });
        let mut check = |raw: &str, key: &str| {
            for _ in 0..2 {
                assert_eq!(names.key(raw), Some(PathKey::new(key)), "{raw}");
            }
        };
        check("a/../b", "/w/b");
        check("@/x//y", "/x/y");
        check("~/a", "/home/u/a");
        assert_eq!(names.recorded("/w/@a\u{a0}b").as_str(), "/w/@a\u{a0}b");
        assert_eq!(names.recorded("x/../y").as_str(), "/w/y");
        let mut homeless = Names::new(Bearings { cwd: "/w".into(), home: None });
        assert_eq!((homeless.key("~/a"), homeless.key("")), (None, None));
    }
}
