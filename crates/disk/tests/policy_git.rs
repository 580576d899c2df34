//! Ignore files are read as git reads its own: random patterns and paths, compared with `git check-ignore` in verdict, file, line
//! and pattern.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests and their helpers")]

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use readproof_core::{
    operation::Caller,
    policy::{Act, Asked, Dialect, Layer, NameKind},
};
use readproof_disk::{Policy, PolicySources, Root};

/// Xorshift: the same runs everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % bound as u64).unwrap()
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "a", "b", "c", "ab", "abc", "a.b", ".a", "A", "a b", " a", "a ", "é", "aé", "a-b", "[a]", "*", "a*", "{a,b}",
    "!a", "#a", "\\", "a\\b", "]", "-", "7", "a7", "**", "?", "^", "a\t", "~", "a.rs", "b.rs", ".rs", "a.b.rs",
];

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "*", "*", "*", "?", "**", "***", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[!]a]", "[[:alpha:]]", "[[:digit:]x]",
    "[^[:alnum:]]", "[[:punct:]]", "[[:space:]]", "[[:upper:]-b]", "[[:foo:]]", "[[:alpha]", "[[.]", "[\\]a]",
    "[a\\-c]", "[a-\\c]", "[-a]", "[a-]", "[!-a]", "[c-a]", "[", "[a", "[]", "[!]", "\\*", "\\a", "\\", "\\ ", "\\[",
    "\\/", "{a,b}", "{", "}", ",", "é", "[é]", "[!é]", "[a-é]", "/", "/", "/", "/**/", "**/", "/**", "/*/", ".", "..",
    "-", "]", "^", "!", "#", " ", "~", "[/]", "[!/]", "[.-0]", "[*]", "[?]", "[\\\\]", "[{,}]", "[!!]", "[^^]",
    "[!^]", "[,-.]",
];

#[rustfmt::skip]
const LETTERS: &[&str] = &[
    "a", "b", "c", "/", "/", "*", "*", "?", "[", "]", "!", "^", "-", "\\", ":", "#", " ", ".", "{", ",", "}", "é",
    "7",
];

fn line(random: &mut Random) -> String {
    let mut line = String::new();
    if random.one_in(6) {
        line.push('!');
    }
    if random.one_in(8) {
        line.push('/');
    }
    match random.below(10) {
        // A path as people write them.
        0..=4 => {
            for part in 0..=random.below(3) {
                if part > 0 {
                    line.push('/');
                }
                match random.below(8) {
                    0 => line.push_str("**"),
                    1 => line.push('*'),
                    2 => line.push_str("*.rs"),
                    3 => line.extend([random.pick(NAMES), "*"]),
                    4 => line.extend([random.pick(NAMES), "**"]),
                    _ => line.push_str(random.pick(NAMES)),
                }
            }
        }
        5..=7 => {
            for _ in 0..=random.below(4) {
                line.push_str(if random.one_in(2) { random.pick(NAMES) } else { random.pick(PIECES) });
            }
        }
        _ => {
            for _ in 0..=random.below(7) {
                line.push_str(random.pick(LETTERS));
            }
        }
    }
    if random.one_in(6) {
        line.push('/');
    }
    line.push_str(match random.below(16) {
        0 => " ",
        1 => "  ",
        2 => "\\ ",
        3 => "\r",
        4 => "\t",
        _ => "",
    });
    line
}

fn file(random: &mut Random, patterns: &mut usize) -> String {
    let mut text = String::new();
    if random.one_in(30) {
        text.push('\u{feff}');
    }
    let lines = 1 + random.below(5);
    for at in 0..lines {
        match random.below(20) {
            0 => text.push_str("# a comment"),
            1 => {}
            _ => {
                text.push_str(&line(random));
                *patterns += 1;
            }
        }
        if at + 1 < lines || !random.one_in(5) {
            text.push('\n');
        }
    }
    text
}

fn name(random: &mut Random) -> String {
    let parts: Vec<&str> = (0..=random.below(4)).map(|_| random.pick(NAMES)).collect();
    parts.join("/")
}

fn put(top: &Path, folder: &str, text: &str) {
    let folder = top.join(folder);
    if fs::create_dir_all(&folder).is_ok() {
        for name in [".gitignore", ".aiignore"] {
            fs::write(folder.join(name), text).unwrap();
        }
    }
}

/// Makes a workspace and returns the paths to ask about, and how many patterns it has.
fn fill(top: &Path, worlds: usize, random: &mut Random) -> (BTreeSet<String>, usize) {
    let (mut paths, mut patterns) = (BTreeSet::new(), 0);
    if random.one_in(2) {
        put(top, "", &file(random, &mut patterns));
    }
    for world in 0..worlds {
        let world = format!("w{world}");
        put(top, &world, &file(random, &mut patterns));
        for _ in 0..12 {
            let path = format!("{world}/{}", name(random));
            let at = top.join(&path);
            // Some are there as folders, some as files, and some are not there.
            match random.below(4) {
                0 => drop(fs::create_dir_all(at)),
                1 if fs::create_dir_all(at.parent().unwrap()).is_ok() && !at.exists() => fs::write(at, "").unwrap(),
                _ => {}
            }
            paths.insert(path);
        }
        let inner: Vec<&String> = paths.range(format!("{world}/")..format!("{world}0")).collect();
        for _ in 0..random.below(3) {
            let path = inner[random.below(inner.len())];
            let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| *folder != world) else { continue };
            put(top, folder, &file(random, &mut patterns));
        }
    }
    (paths, patterns)
}

/// `FILE:LINE:PATTERN` by path, or nothing.
fn by_git(top: &Path, paths: &BTreeSet<String>) -> Vec<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(top).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env("HOME", top);
        git
    };
    assert!(git(&["init", "-q"]).status().unwrap().success());
    fs::write(top.join(".git/info/exclude"), "").unwrap();
    let mut asked = git(&["check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = asked.stdin.take().unwrap();
    let all: String = paths.iter().flat_map(|path| [path, "\0"]).collect();
    let writer = std::thread::spawn(move || input.write_all(all.as_bytes()));
    let answered = asked.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(answered.stdout).unwrap();
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    assert_eq!(fields.len(), paths.len() * 4);
    let shown = |fields: &[&str]| match fields[0] {
        "" => String::new(),
        file => format!("{file}:{}:{}", fields[1], fields[2]),
    };
    fields.chunks(4).map(shown).collect()
}

fn by_rules(top: &Path, paths: &BTreeSet<String>) -> Vec<String> {
    let root = Root::open(top).unwrap();
    let rules = Policy::new(PolicySources::default()).look(&root).unwrap();
    let caller = Caller::of("cli");
    let shown = |path: &String| {
        let kind = if top.join(path).is_dir() { NameKind::Folder } else { NameKind::File };
        let asked = Asked { caller: &caller, act: Act::Read, name: path, kind, sensitive: false };
        let layers = rules.explain(&root, &asked).unwrap();
        let ours = layers.into_iter().find(|layer| layer.layer == Layer::Ignore(Dialect::Ai));
        let ruling = rules.judge(&root, &asked).unwrap();
        match ours.and_then(|layer| layer.rule) {
            Some(rule) => {
                let denied = ruling.verdict.rule().map(|by| (by.file == rule.file, by.line == rule.line));
                assert_eq!(denied, (!rule.text.starts_with('!')).then_some((true, true)), "{path} {rule:?}");
                format!("{}:{}:{}", rule.file.replace(".aiignore", ".gitignore"), rule.line, rule.text)
            }
            None => String::new(),
        }
    };
    paths.iter().map(shown).collect()
}

fn compare(seeds: std::ops::Range<u64>, worlds: usize) {
    let (mut all_patterns, mut all_paths, mut matched) = (0, 0, 0);
    let mut differ = Vec::new();
    for seed in seeds {
        let temp = tempfile::tempdir().unwrap();
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (paths, patterns) = fill(temp.path(), worlds, &mut random);
        let (git, ours) = (by_git(temp.path(), &paths), by_rules(temp.path(), &paths));
        for ((path, git), ours) in paths.iter().zip(&git).zip(&ours) {
            matched += usize::from(!git.is_empty());
            if git != ours {
                differ.push(format!("seed {seed} {path:?}\n  git  {git:?}\n  ours {ours:?}"));
            }
        }
        all_patterns += patterns;
        all_paths += paths.len();
    }
    println!("{all_patterns} patterns, {all_paths} paths, {matched} matched, {} differ", differ.len());
    assert!(matched * 10 > all_paths, "too few match to prove anything");
    assert!(
        differ.is_empty(),
        "{} of {all_paths} differ:\n{}",
        differ.len(),
        differ[..differ.len().min(20)].join("\n")
    );
}

#[test]
fn ignore_files_agree_with_git() {
    compare(1..5, 80);
}

/// The same with more than 10,000 patterns; about a minute.
#[test]
#[ignore = "long"]
fn ignore_files_agree_with_git_in_full() {
    compare(100..120, 150);
}
