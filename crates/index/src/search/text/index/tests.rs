//! With and without the index an answer is the same, whatever is done to the files, by one process or two.

use super::*;
use crate::{FileRules, search::TreeMatches};
use readproof_core::operation::{Letters, SearchMode};
use readproof_disk::{HardLinks, STANDARD_PATTERNS, Sensitive, SnapshotRules};
use std::{fs, time::Duration};

const WORDS: [&str; 14] = [
    "alpha",
    "alphas",
    "beta_gamma",
    "BetaGamma",
    "fn delta",
    "epsilon",
    "running",
    "run",
    "the",
    "auth",
    "authentication",
    "x1",
    "é",
    "class Zeta",
];
const QUERIES: [&str; 12] = [
    "alpha",
    "beta gamma",
    "delta zeta",
    "run auth",
    "the",
    "betaGamma",
    "x1 alpha",
    "nothing here",
    "é",
    "the alpha run",
    "f3",
    "\"beta_gamma\" alpha",
];

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap() % most
    }

    fn text(&mut self) -> Vec<u8> {
        let lines = (0..self.below(12)).map(|_| {
            let words: Vec<&str> = (0..self.below(6)).map(|_| WORDS[self.below(WORDS.len())]).collect();
            format!("{}\n", words.join([" ", "(", "."][self.below(3)]))
        });
        let text: String = lines.collect();
        match self.below(20) {
            0 => [text.as_bytes(), b"\0"].concat(),
            1 => [&b"\xff\xfe"[..], &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat(),
            2 => [&b"\xef\xbb\xbf"[..], text.as_bytes(), b"\xff"].concat(),
            _ => text.into_bytes(),
        }
    }
}

fn steps() -> usize {
    std::env::var("WORD_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(240)
}

#[test]
fn deleting_it_changes_no_answer() {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::open(temp.path()).unwrap();
    let sensitive = Sensitive::new(STANDARD_PATTERNS).unwrap();
    let tracked = BTreeSet::from([".github".to_owned()]);
    let databases = tempfile::tempdir().unwrap();
    let path = databases.path().join("words.db");
    let open = || WordIndex::new(Connection::open(&path).unwrap(), "").unwrap().unwrap();
    let search = |query| TreeSearch {
        root: &root,
        rules: FileRules {
            snapshot: SnapshotRules { max_bytes: 1 << 20, hard_links: HardLinks::Allow },
            sensitive: &sensitive,
        },
        query,
        mode: SearchMode::Text,
        letters: Letters::ByMode,
        walk: WalkRules { hidden: HiddenFiles::Named(&tracked), ..WalkRules::default() },
        limit: 20,
        context_lines: 0,
        max_chars: 40_000,
    };
    let mut random = Numbers(0x1234_5678_9abc_def1);
    let mut indexes = [open(), open()];
    let (mut covered, mut found) = (0, 0);
    for step in 0..steps() {
        for _ in 0..[40, 0, 1, 2][if step == 0 { 0 } else { 1 + random.below(3) }] {
            let folder = ["", "a/", "a/b/", ".github/", ".hidden/", "tests/"][random.below(6)];
            let name =
                temp.path().join(format!("{folder}f{}.{}", random.below(12), ["rs", "md", "pem"][random.below(3)]));
            fs::create_dir_all(name.parent().unwrap()).unwrap();
            match random.below(6) {
                0 => drop(fs::remove_file(name)),
                1 => drop(fs::rename(name, temp.path().join(format!("f{}.rs", random.below(12))))),
                _ => fs::write(name, random.text()).unwrap(),
            }
        }
        if random.below(40) == 0 {
            fs::write(temp.path().join(".ignore"), ["", "a/b\n", "*.md\n"][random.below(3)]).unwrap();
        }
        let which = random.below(2);
        if step % 60 == 1 || random.below(4) == 0 {
            // A file that changed just now is not indexed, as a change right after it could go unnoticed.
            let wait = if step % 60 == 1 { 2_100 } else { 0 };
            std::thread::sleep(Duration::from_millis(wait));
            indexes[which].build(&search("x"), &|| false, &|_, _| ()).unwrap();
        }
        let query = QUERIES[random.below(QUERIES.len())];
        let mut search = search(query);
        search.walk.under = [None, None, None, Some("a"), Some("f3.rs")][random.below(5)]
            .filter(|under| temp.path().join(under).exists());
        search.walk.glob = [None, None, None, Some("*.rs")][random.below(4)];
        let direct = search.run(&|| false, &|_| ()).unwrap();
        let indexed = search.run_with(&mut indexes[which], &|| false, &|_| ()).unwrap();
        covered += indexed.looked_at - indexed.uncovered;
        found += indexed.files;
        let same = |found: TreeMatches| TreeMatches { uncovered: 0, ..found };
        assert_eq!(same(indexed), same(direct), "step {step}, {query}");
        if random.below(100) == 0 {
            indexes[which] = open();
        }
    }
    assert!(covered > 1_000 && found > 1_000, "{covered} {found}");
}
