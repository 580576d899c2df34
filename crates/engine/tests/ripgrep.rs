//! Searches compared with the published ripgrep, in this repository: every line of 200 random patterns, in the tree and
//! in single files. `cargo xtask ripgrep` fetches ripgrep and runs these tests, which are ignored elsewhere.
#![allow(clippy::disallowed_methods, reason = "tests look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

use readproof_core::path::Bearings;
use readproof_disk::Root;
use readproof_engine::{
    Engine, InFile, Line, Searched, Settings,
    operation::{Extent, Hidden, Matching, Operation, Search, SearchFile, SearchMode},
};
use readproof_testkit::ask::Ask;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Path, line number, and the line as lossy text.
type Match = (String, u64, String);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn engine(root: &Path) -> Engine {
    let bearings = Bearings { cwd: root.to_str().unwrap().to_owned(), home: None };
    Engine::new(Root::open(root).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap()
}

/// What ripgrep prints, files by path, lines by number.
fn ripgrep(root: &Path, flags: &[&str], pattern: &str) -> Vec<Match> {
    let rg = env::var_os("READPROOF_RIPGREP").expect("`cargo xtask ripgrep` names the program to compare with");
    let mut command = Command::new(rg);
    command.args(["--no-config", "--sort", "path", "--null", "-n", "--no-heading"]).args(flags);
    // Files outside the workspace are not searched.
    command.args(["--no-ignore-parent", "--no-ignore-global"]);
    let done = command.args(["-e", pattern, "./"]).current_dir(root).stdin(Stdio::null()).output().unwrap();
    assert!(matches!(done.status.code(), Some(0 | 1)), "{pattern}: {}", String::from_utf8_lossy(&done.stderr));
    let lines = done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| split(line).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(line)))).collect()
}

fn split(line: &[u8]) -> Option<Match> {
    let nul = line.iter().position(|byte| *byte == 0)?;
    let path = std::str::from_utf8(&line[..nul]).ok()?.strip_prefix("./")?;
    let rest = &line[nul + 1..];
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let number = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
    Some((path.to_owned(), number, String::from_utf8_lossy(&rest[colon + 1..]).into_owned()))
}

/// Lines may be cut; the part that is given must be the same.
#[track_caller]
fn same(ours: &[(&str, &Line)], theirs: &[&Match], pattern: &str) {
    let number = |(path, line): &(&str, &Line)| (path.to_string(), line.number);
    let ours_by_number: Vec<_> = ours.iter().map(number).collect();
    let theirs_by_number: Vec<_> = theirs.iter().map(|(path, number, _)| (path.clone(), *number)).collect();
    assert_eq!(ours_by_number, theirs_by_number, "{pattern}");
    for ((path, line), (_, _, text)) in ours.iter().zip(theirs) {
        let fits = match line.text.strip_prefix('…').filter(|_| line.cut) {
            Some(rest) => text.contains(rest),
            None if line.cut => text.starts_with(&line.text),
            None => *text == line.text,
        };
        assert!(fits, "{pattern}: {path}:{}: {:?} is not {text:?}", line.number, line.text);
    }
}

/// Pseudo-random numbers with a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most.max(1) as u64).unwrap()
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// A literal or a small regular expression made from text in the tree.
fn pattern(dice: &mut Dice, lines: &[String]) -> (Matching, String) {
    let line = dice.one(lines).trim().to_owned();
    let chars: Vec<char> = line.chars().collect();
    let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2).collect();
    let (word, other) = if words.is_empty() { ("let", "mut") } else { (*dice.one(&words), *dice.one(&words)) };
    let from = dice.below(chars.len());
    let piece: String = chars[from..].iter().take(1 + dice.below(12)).collect();
    match dice.below(14) {
        0..=3 if !piece.is_empty() => (Matching::Literal, piece),
        0..=4 => (Matching::Literal, word.to_owned()),
        5 => (Matching::Regex, format!(r"\b{word}\b")),
        6 => (Matching::Regex, format!("{word}|{other}")),
        7 => (Matching::Regex, format!("(?i){word}")),
        8 => (Matching::Regex, format!("^\\s*{word}")),
        9 => (Matching::Regex, format!("{word}.*{other}")),
        10 => (Matching::Regex, format!("{word}\\W*$")),
        11 => (Matching::Regex, format!("[{}]{}[a-z]*", &word[..1], &word[1..2])),
        12 => (Matching::Regex, format!("^.{{{},}}$", 90 + dice.below(60))),
        _ => (
            Matching::Regex,
            (*dice.one(&["^$", r"\d{4,}", r"[^\x00-\x7f]", r"\p{Lu}{6}", r"^\}$", "é|ä|…"])).to_owned(),
        ),
    }
}

/// Every line of the tree that is text, the files in order.
fn all_lines(root: &Path) -> (Vec<String>, Vec<String>) {
    let mut names: Vec<String> = ripgrep(root, &[], "^").into_iter().map(|(path, _, _)| path).collect();
    names.dedup();
    let text = |name: &String| {
        let bytes = fs::read(root.join(name)).ok()?;
        let Some(rest) = bytes.strip_prefix(b"\xff\xfe") else { return String::from_utf8(bytes).ok() };
        let units: Vec<u16> = rest.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    let lines =
        names.iter().filter_map(text).flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    (names, lines)
}

fn escape(literal: &str) -> String {
    // Not every character: `\<` means the start of a word.
    let is_special = |c: char| r"\.+*?()|[]{}^$#&-~".contains(c);
    literal.chars().map(|c| if is_special(c) { format!("\\{c}") } else { c.to_string() }).collect()
}

/// A quarter of the patterns, so that the tests run in parallel.
fn quarter(seed: u64) {
    let root = repository();
    let engine = engine(&root);
    let (names, lines) = all_lines(&root);
    let mut dice = Dice(seed);
    let (mut compared, mut in_files) = (0, 0);
    for round in 0..50 {
        let (matching, query) = pattern(&mut dice, &lines);
        // In turns without hidden files, and with all but git's own and those that may hold a secret.
        let hidden = if round % 2 == 0 { Hidden::None } else { Hidden::All };
        let mut flags = if matching == Matching::Literal { vec!["-F"] } else { Vec::new() };
        if hidden == Hidden::All {
            flags.extend(["--hidden", "--glob=!.git", "--glob=!.npmrc"]);
        }
        let theirs = ripgrep(&root, &flags, &query);
        let regex = if matching == Matching::Literal { escape(&query) } else { query.clone() };
        let asked = Search {
            query: regex,
            mode: SearchMode::Regex,
            extent: Extent { hidden, ..Extent::default() },
            limit: Some(usize::MAX),
            max_chars: usize::MAX,
            ..Search::default()
        };
        let found = engine.ask::<Searched>(None, Operation::Search(asked.clone())).unwrap();
        let ours: Vec<(&str, &Line)> =
            found.hits.iter().flat_map(|hit| hit.lines.iter().map(|line| (&*hit.path, line))).collect();
        same(&ours, &theirs.iter().collect::<Vec<_>>(), &query);
        assert_eq!((found.matches, found.truncated), (theirs.len() as u64, false), "{query}");
        compared += theirs.len();

        // With the default limits: the first of the same lines, all counted.
        let asked = Search { limit: None, max_chars: 40_000, ..asked };
        let few: Searched = engine.ask(None, Operation::Search(asked)).unwrap();
        let given: Vec<(&str, &Line)> =
            few.hits.iter().flat_map(|hit| hit.lines.iter().map(|line| (&*hit.path, line))).collect();
        assert!(given.len() <= 100 && given[..] == ours[..given.len()], "{query}");
        assert_eq!((few.matches, few.files), (found.matches, found.files), "{query}");
        assert_eq!(few.truncated, given.len() < ours.len(), "{query}");

        let mut by_file: BTreeMap<&str, Vec<&Match>> = BTreeMap::new();
        for found in &theirs {
            by_file.entry(&found.0).or_default().push(found);
        }
        let mut chosen: Vec<&str> = by_file.keys().copied().take(5).collect();
        chosen.extend((0..3).map(|_| dice.one(&names).as_str()));
        for path in chosen {
            let asked = SearchFile {
                path: path.to_owned(),
                query: query.clone(),
                matching,
                max_matches: usize::MAX,
                max_chars: usize::MAX,
                ..SearchFile::default()
            };
            let found = engine.ask::<InFile>(None, Operation::SearchFile(asked)).unwrap();
            let ours: Vec<(&str, &Line)> = found.lines.iter().map(|line| (path, line)).collect();
            same(&ours, by_file.get(path).map_or(&[][..], Vec::as_slice), &query);
            in_files += 1;
        }
    }
    assert!(compared > 500 && in_files > 200, "{compared} lines and {in_files} files compared");
}

/// UTF-16 with a mark, valid or not, beside files without one.
#[test]
#[ignore = "needs ripgrep: `cargo xtask ripgrep`"]
fn utf16_as_ripgrep_decodes_it() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let text = "one é\r\ntwo 😀 a\n\nthree";
    for (name, bytes) in [
        ("le", [b"\xff\xfe", &*little(text)].concat()),
        ("be", [b"\xfe\xff", &*big(text)].concat()),
        ("large", [b"\xff\xfe", &*little(&format!("{text} 日本\n").repeat(20_000))].concat()),
        ("odd", [b"\xff\xfe", &*little("one\na"), b"b"].concat()),
        ("half", [b"\xff\xfe", &*little("one\n"), b"\x00\xd8a\0\n\0"].concat()),
        ("twice", [b"\xff\xfe\xff\xfe", &*little(text)].concat()),
        ("mark", b"\xff\xfe".to_vec()),
        ("three", b"\xff\xfea".to_vec()),
        ("utf8", text.as_bytes().to_vec()),
        ("utf8bom", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("latin", b"one \xe9\n".to_vec()),
    ] {
        fs::write(root.join(name), bytes).unwrap();
    }
    let engine = engine(&root);
    let mut compared = 0;
    for query in ["^", "one", "^one", "é", "é\r$", "😀", "a$", "^$", "[^\\x00-\\x7f]", "\u{feff}", "(?i)THREE", "日本$"]
    {
        let theirs = ripgrep(&root, &[], query);
        let asked = Search {
            query: query.to_owned(),
            mode: SearchMode::Regex,
            limit: Some(usize::MAX),
            max_chars: usize::MAX,
            ..Search::default()
        };
        let found: Searched = engine.ask(None, Operation::Search(asked)).unwrap();
        let ours: Vec<(&str, &Line)> =
            found.hits.iter().flat_map(|hit| hit.lines.iter().map(|line| (&*hit.path, line))).collect();
        same(&ours, &theirs.iter().collect::<Vec<_>>(), query);
        for name in ["le", "be", "large", "odd", "half", "twice", "mark", "three"] {
            let asked = SearchFile {
                path: name.to_owned(),
                query: query.to_owned(),
                matching: Matching::Regex,
                max_matches: usize::MAX,
                max_chars: usize::MAX,
                ..SearchFile::default()
            };
            let found: InFile = engine.ask(None, Operation::SearchFile(asked)).unwrap();
            let ours: Vec<(&str, &Line)> = found.lines.iter().map(|line| (name, line)).collect();
            same(&ours, &theirs.iter().filter(|(path, _, _)| path == name).collect::<Vec<_>>(), query);
            compared += ours.len();
        }
    }
    assert!(compared > 100_000, "{compared}");
}

#[test]
#[ignore = "needs ripgrep: `cargo xtask ripgrep`"]
fn patterns_1_to_50() {
    quarter(0x9e37_79b9_7f4a_7c15);
}

#[test]
#[ignore = "needs ripgrep: `cargo xtask ripgrep`"]
fn patterns_51_to_100() {
    quarter(0xbf58_476d_1ce4_e5b9);
}

#[test]
#[ignore = "needs ripgrep: `cargo xtask ripgrep`"]
fn patterns_101_to_150() {
    quarter(0x94d0_49bb_1331_11eb);
}

#[test]
#[ignore = "needs ripgrep: `cargo xtask ripgrep`"]
fn patterns_151_to_200() {
    quarter(0x2545_f491_4f6c_dd1d);
}
