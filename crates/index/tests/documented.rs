//! `docs/finding.md` has every number that decides the order of a text search, as the source has it: a constant without a row is
//! an error too. The numbers are private, so they are taken from the text of the source. `UPDATE_DOCS=1 cargo nextest run -p
//! readproof-index documented` writes them.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test looks at the page, and may panic")]

use std::{collections::BTreeMap, fs, path::PathBuf};

/// The files whose constants decide the order and the lines shown.
const SOURCES: [(&str, &str); 7] = [
    ("search.rs", include_str!("../src/search.rs")),
    ("text.rs", include_str!("../src/search/text.rs")),
    ("score.rs", include_str!("../src/search/text/score.rs")),
    ("query.rs", include_str!("../src/search/text/query.rs")),
    ("split.rs", include_str!("../src/search/text/split.rs")),
    ("defines.rs", include_str!("../src/search/text/defines.rs")),
    ("preview.rs", include_str!("../src/search/text/preview.rs")),
];

/// Numbers without a name that the page gives, and the code that has them.
const UNNAMED: [(&str, &str, &str); 1] =
    [("preview.rs", "if near.number == line.number { 1.0 } else { 1.5 }", "divided by 1.5")];

fn page() -> (PathBuf, String) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/finding.md");
    let text = fs::read_to_string(&file).unwrap();
    (file, text)
}

/// Every number that has a name, by file and name: constants, how many stop words there are, what a kind of file keeps.
fn numbers() -> BTreeMap<(String, String), String> {
    let mut out = BTreeMap::new();
    for (file, source) in SOURCES {
        for line in source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().lines() {
            let line = line.trim_start().trim_start_matches("pub(super) ").trim_start_matches("pub(crate) ");
            let Some((name, kind, value)) = constant(line).or_else(|| kept(line)) else { continue };
            let number = match kind {
                "f64" => value.to_owned(),
                "usize" | "u64" | "u32" => whole(value),
                _ if name == "STOP_WORDS" => kind.trim_end_matches(']').rsplit(' ').next().unwrap().to_owned(),
                _ => continue,
            };
            out.insert((file.to_owned(), name.to_owned()), number);
        }
    }
    out
}

fn constant(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.strip_prefix("const ")?.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    Some((name, kind, value.trim_end_matches(';')))
}

/// `Self::Test => 0.6,`
fn kept(line: &str) -> Option<(&str, &str, &str)> {
    let (name, value) = line.strip_prefix("Self::")?.split_once(" => ")?;
    let value = value.strip_suffix(',').filter(|value| value.parse::<f64>().is_ok())?;
    Some((name, "f64", value))
}

fn whole(value: &str) -> String {
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap();
    let value = value.split_once("<<").map_or_else(|| number(value), |(left, bits)| number(left) << number(bits));
    value.to_string()
}

/// The cells of a row of a table, without the marks of code.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect()
}

/// The page with the numbers of the source, and those of the source that it lacks.
fn with_numbers(page: &str) -> (String, Vec<String>) {
    let mut missing = numbers();
    let mut out = String::new();
    for line in page.split_inclusive('\n') {
        let found = match cells(line.trim_end())[..] {
            [file, name, value, _] if file.ends_with(".rs") => Some((file, name, value)),
            [kind, value, _, _] => Some(("score.rs", kind, value)),
            _ => None,
        };
        let known = found.and_then(|(file, name, value)| {
            let number = missing.remove(&(file.to_owned(), name.to_owned()));
            assert!(number.is_some() || !file.ends_with(".rs") || value.parse::<f64>().is_err(), "no constant: {line}");
            Some((value, number?))
        });
        match known {
            Some((value, number)) => out.push_str(&line.replacen(&format!("| {value} |"), &format!("| {number} |"), 1)),
            None => out.push_str(line),
        }
    }
    (out, missing.into_keys().map(|(file, name)| format!("{file} {name}")).collect())
}

#[test]
fn documented_numbers_are_those_of_the_source() {
    let (file, page) = page();
    let (expected, missing) = with_numbers(&page);
    assert!(missing.is_empty(), "docs/finding.md has no row for {missing:?}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file, &expected).unwrap();
        return;
    }
    let differs: Vec<_> = page.lines().zip(expected.lines()).filter(|(written, right)| written != right).collect();
    assert!(differs.is_empty(), "docs/finding.md has other numbers than the source (UPDATE_DOCS=1): {differs:#?}");
    for (name, code, words) in UNNAMED {
        let (_, source) = SOURCES.iter().find(|(file, _)| *file == name).unwrap();
        assert!(source.contains(code), "{name} has no `{code}`, by which docs/finding.md says `{words}`");
        assert!(page.contains(words), "docs/finding.md no longer says `{words}`");
    }
}
