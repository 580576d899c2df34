//! Path candidates and the range at the end of a path. Input: one byte that chooses the working directory, then the path as
//! the model wrote it.

use readproof_core::{
    path::{Bearings, candidates, resolve, split_range},
    scope::ScopeError,
};
use readproof_testkit::op::Random;
use unicode_normalization::UnicodeNormalization;

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "paths",
    accepts: "the path has a range, or more than one reading",
    check,
    start,
    words: &[
        "@",
        "~",
        "~/",
        "/",
        "..",
        "../",
        "./",
        "//",
        "file://",
        "file:///",
        "localhost",
        "%2e%2e",
        "%2f",
        "%00",
        "%ff",
        "%",
        " ",
        "\u{a0}",
        "\u{3000}",
        "\u{202f}",
        "\u{200a}",
        "'",
        "\u{2019}",
        "\u{e9}",
        "e\u{301}",
        "\u{ac00}",
        " AM.",
        " pm.",
        "\u{202f}PM.",
        ":",
        ":1",
        ":10-20",
        ":0",
        ":5-3",
        "-",
        ":99999999999999999999",
        "\\",
        "\n",
        "\u{37e}",
        "\u{2126}",
        "\u{1f600}",
        "a",
        "sub",
        "w",
        "\0",
    ],
    most: 300,
};

/// The most names one path can mean: see [`candidates`].
const MOST: usize = 6;

/// Working directories; those with odd names must be kept as they are.
const PLACES: [(&str, Option<&str>); 7] = [
    ("/w/sub", Some("/home/u")),
    ("/w", None),
    ("/", Some("/root")),
    ("/it's/\u{e9} PM.d", Some("/home/u\u{e9}")),
    ("/a\u{a0}b", Some("/a\u{a0}b")),
    ("/caf\u{65}\u{301}/\u{2019}", None),
    ("/w/sub dir/x pm.y", Some("/")),
];

fn start(random: &mut Random) -> Vec<u8> {
    let mut input = vec![random.bits().to_le_bytes()[0]];
    for _ in 0..1 + random.below(4) {
        let words = [
            "a",
            "src/",
            "b.txt",
            "@",
            "~/",
            "../",
            "d'\u{e9}",
            "x\u{a0}y",
            "1 PM.png",
            "file:///w/",
            "%20",
            ":3-9",
            ":7",
        ];
        input.extend(random.pick(&words).copied().unwrap_or_default().as_bytes());
    }
    input
}

fn check(input: &[u8]) -> Seen {
    let (place, raw) = input.split_first().map_or((0, input), |(place, raw)| (usize::from(*place), raw));
    let raw = String::from_utf8_lossy(raw);
    let (cwd, home) = PLACES[place % PLACES.len()];
    let bearings = Bearings { cwd: cwd.to_owned(), home: home.map(str::to_owned) };

    let names = candidates(&raw, &bearings);
    assert_eq!(names, candidates(&raw, &bearings), "the same path means the same names");
    assert!((1..=MOST).contains(&names.len()), "{names:?}");
    for (at, name) in names.iter().enumerate() {
        assert!(!names[..at].contains(name), "{name:?} twice");
        absolute(name);
    }
    sides(&raw, &bearings, &names);
    let range = range(&raw);
    let is_plain = names.len() == 1;
    Seen { accepted: range == 1 || !is_plain, kind: (names.len() as u64) << 8 | range << 4 | forms(&raw) }
}

/// Absolute and normalized, as a system call needs it.
fn absolute(name: &str) {
    assert!(name.starts_with('/'), "{name:?}");
    assert!(name == "/" || name[1..].split('/').all(|part| !matches!(part, "" | "." | "..")), "{name:?}");
    assert_eq!(resolve(name, "/elsewhere"), name);
}

/// Every candidate is the name that is meant in another spelling, or the name as written. None leads out of the folder if
/// the name that is meant does not.
fn sides(raw: &str, bearings: &Bearings, names: &[String]) {
    let written = worked_out(raw, &bearings.cwd);
    let meant = &names[0];
    assert!(names.contains(&written), "{written:?} is what was written");
    let below = |name: &str| name.strip_prefix(&*bearings.cwd).is_some_and(|rest| rest.starts_with('/'));
    let is_plain = raw.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    if is_plain && (written == bearings.cwd || below(&written)) {
        assert_eq!(names, [written.as_str()], "there is nothing to read otherwise");
    }
    for name in names.iter().filter(|name| **name != written) {
        assert_eq!(folded(name), folded(meant), "{name:?} for {meant:?}");
        assert!(!below(meant) || below(name), "{name:?} leads out");
    }
}

/// A name without odd spaces, quotes or composed letters.
fn folded(name: &str) -> String {
    let plain = |c: char| match c {
        '\u{2019}' => '\'',
        other if other.is_whitespace() && other != '\n' => ' ',
        other => other,
    };
    name.nfd().map(plain).collect()
}

/// Resolves a name in a folder in the simplest way.
fn worked_out(name: &str, cwd: &str) -> String {
    let mut stack = Vec::new();
    let parts = if name.starts_with('/') { "" } else { cwd }.split('/').chain(name.split('/'));
    for part in parts.filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            stack.pop();
        } else {
            stack.push(part);
        }
    }
    format!("/{}", stack.join("/"))
}

/// 0: none, 1: a range, more: an error.
fn range(raw: &str) -> u64 {
    match split_range(raw) {
        Ok(None) => 0,
        Ok(Some(found)) => {
            assert!(found.first >= 1 && found.last.is_none_or(|last| last >= found.first) && !found.path.is_empty());
            let digits = |text: &str| text.trim_start_matches('0').to_owned();
            let suffix = raw.strip_prefix(found.path).and_then(|rest| rest.strip_prefix(':')).map(str::to_owned);
            let parts: Vec<String> = suffix.iter().flat_map(|suffix| suffix.split('-')).map(digits).collect();
            let said: Vec<String> = [Some(found.first), found.last].iter().flatten().map(u64::to_string).collect();
            assert_eq!(parts, said, "{raw:?}");
            1
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            match error {
                ScopeError::Zero { .. } => 2,
                ScopeError::Reversed { first, last } => {
                    assert!(last < first);
                    3
                }
                ScopeError::NotANumber { .. } => 4,
                ScopeError::BeyondEnd { .. } => panic!("no file was looked at"),
            }
        }
    }
}

fn forms(raw: &str) -> u64 {
    let has = |yes: bool, bit: u64| u64::from(yes) << bit;
    has(raw.starts_with('@'), 0)
        | has(raw.contains('~'), 1)
        | has(raw.contains("file://"), 2)
        | has(raw.contains(".."), 3)
}
