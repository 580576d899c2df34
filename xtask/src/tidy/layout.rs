//! The shape of the tree: the head of each crate, the size of folders and of `read.rs`, the files of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    repo::File,
    source::{before_tests, lines_with, without_comments_and_strings},
};

const FOLDER_ENTRIES: usize = 15;
const READ: &str = "crates/engine/src/read.rs";
const READ_LINES: usize = 90;
const THRESHOLD: &str = "too-many-lines-threshold = 80";
const LENGTH_LINT: &str = "too_many_lines = \"deny\"";

/// Core is `no_std`, and every crate uses the workspace's lints.
pub(crate) fn crate_heads(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    if !has_line(files, "crates/core/src/lib.rs", "#![no_std]") {
        problems.push("crates/core/src/lib.rs: lacks `#![no_std]`, which keeps effects out of the rules".to_owned());
    }
    for file in files.iter().filter(|file| is_crate_manifest(&file.path)) {
        let mut section = file.text.lines().skip_while(|line| line.trim() != "[lints]").skip(1);
        if !section.by_ref().take_while(|line| !line.starts_with('[')).any(|line| line.trim() == "workspace = true") {
            problems.push(format!("{}: lacks `workspace = true` under `[lints]`", file.path));
        }
    }
    problems
}

/// Clippy counts the lines of functions; this checks that it does so everywhere and that no function is exempt.
pub(crate) fn function_length(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    if !has_line(files, "Cargo.toml", LENGTH_LINT) {
        problems.push(format!("Cargo.toml: lacks `{LENGTH_LINT}`"));
    }
    let required = ["clippy.toml", "crates/disk/clippy.toml"];
    let present = files.iter().map(|file| file.path.as_str()).filter(|path| path.ends_with("clippy.toml"));
    for path in required.into_iter().chain(present).collect::<BTreeSet<_>>() {
        if !has_line(files, path, THRESHOLD) {
            problems.push(format!("{path}: lacks `{THRESHOLD}`"));
        }
    }
    for file in files.iter().filter(|file| file.is_rust()) {
        for line in lines_with(&without_comments_and_strings(&file.text), "clippy::too_many_lines") {
            problems.push(format!("{}:{line}: exempts a long function: split it", file.path));
        }
    }
    problems
}

/// A folder with many entries mixes many ideas.
pub(crate) fn folder_size(files: &[File]) -> Vec<String> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.in_crate_source().is_some()) {
        let mut path = file.path.as_str();
        while let Some((folder, entry)) = path.rsplit_once('/').filter(|(folder, _)| folder.contains("/src")) {
            folders.entry(folder).or_default().insert(entry);
            path = folder;
        }
    }
    let large = folders.iter().filter(|(_, entries)| entries.len() > FOLDER_ENTRIES);
    large.map(|(folder, entries)| format!("{folder}: {} entries, at most {FOLDER_ENTRIES}", entries.len())).collect()
}

/// The file that shows one read from start to end stays short.
pub(crate) fn one_read(files: &[File]) -> Vec<String> {
    let Some(file) = files.iter().find(|file| file.path == READ) else {
        return vec![format!("{READ}: does not exist")];
    };
    match before_tests(&file.text).lines().count() {
        0..=READ_LINES => Vec::new(),
        lines => vec![format!("{READ}: {lines} lines before its tests, at most {READ_LINES}")],
    }
}

/// Every scenario is a folder `NNN_name` with its steps and the expected answers.
pub(crate) fn scenarios(files: &[File]) -> Vec<String> {
    let inside = files.iter().filter_map(|file| file.path.strip_prefix("scenarios/")?.split_once('/'));
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (folder, name) in inside {
        folders.entry(folder).or_default().insert(name);
    }
    let mut problems = Vec::new();
    for (folder, names) in folders {
        if !is_scenario_name(folder) {
            problems.push(format!("scenarios/{folder}: the name must be three digits, `_`, then a-z, 0-9 and `_`"));
        }
        for needed in ["steps.jsonl", "expected.txt"].iter().filter(|needed| !names.contains(**needed)) {
            problems.push(format!("scenarios/{folder}: lacks {needed}"));
        }
    }
    problems
}

fn is_scenario_name(folder: &str) -> bool {
    folder.split_once('_').is_some_and(|(number, name)| {
        number.len() == 3
            && number.bytes().all(|b| b.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    })
}

fn is_crate_manifest(path: &str) -> bool {
    let folder = path.strip_suffix("/Cargo.toml").unwrap_or_default();
    folder == "xtask" || folder.strip_prefix("crates/").is_some_and(|name| !name.contains('/'))
}

fn has_line(files: &[File], path: &str, line: &str) -> bool {
    files.iter().any(|file| file.path == path && file.text.lines().any(|l| l.trim() == line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn check(judge: fn(&[File]) -> Vec<String>, files: &[File], expected: &[&str]) {
        let problems = judge(files);
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, start) in problems.iter().zip(expected) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }

    #[test]
    fn a_crate_without_the_lints_is_a_problem() {
        let core = || file("crates/core/src/lib.rs", "//! Rules.\n#![no_std]\n");
        let manifest = |text| file("crates/disk/Cargo.toml", text);
        check(crate_heads, &[core(), manifest("[lints]\nworkspace = true\n")], &[]);
        check(crate_heads, &[core(), manifest("[package]\n")], &["crates/disk/Cargo.toml: "]);
        check(crate_heads, &[core(), manifest("[lints]\n[x]\nworkspace = true\n")], &["crates/disk/Cargo.toml: "]);
        check(crate_heads, &[core(), file("xtask/Cargo.toml", "")], &["xtask/Cargo.toml: "]);
        check(crate_heads, &[file("crates/core/src/lib.rs", "//! Rules.\n")], &["crates/core/src/lib.rs: "]);
    }

    #[test]
    fn an_uncounted_function_is_a_problem() {
        let good = || {
            let lint = file("Cargo.toml", LENGTH_LINT);
            vec![lint, file("clippy.toml", THRESHOLD), file("crates/disk/clippy.toml", THRESHOLD)]
        };
        check(function_length, &good(), &[]);
        check(function_length, &[], &["Cargo.toml: ", "clippy.toml: ", "crates/disk/clippy.toml: "]);
        let with = |path, text| {
            let mut files = good();
            files.push(file(path, text));
            files
        };
        check(function_length, &with("xtask/clippy.toml", "a = 1"), &["xtask/clippy.toml: "]);
        let exempt = with("crates/core/src/a.rs", "\n#[allow(clippy::too_many_lines)]\n");
        check(function_length, &exempt, &["crates/core/src/a.rs:2: "]);
    }

    #[test]
    fn a_crowded_folder_is_a_problem() {
        let crowd = |folder: &str, count: usize| (0..count).map(|n| file(&format!("{folder}/{n}.rs"), "")).collect();
        let check = |files: Vec<File>, expected: &[&str]| check(folder_size, &files, expected);
        check(crowd("crates/core/src", 15), &[]);
        check(crowd("crates/core/src", 16), &["crates/core/src: 16 entries"]);
        check(crowd("crates/app/src/surface", 16), &["crates/app/src/surface: 16 entries"]);
        check(crowd("crates/app/tests", 16), &[]);
        let folders = (0..16).map(|n| file(&format!("crates/app/src/{n}/a.rs"), "")).collect();
        check(folders, &["crates/app/src: 16 entries"]);
    }

    #[test]
    fn a_long_or_missing_read_is_a_problem() {
        let read = |lines: usize, tests: &str| [file(READ, &format!("{}{tests}", "a\n".repeat(lines)))];
        check(one_read, &read(90, "#[cfg(test)]\nmod tests {\n}\n"), &[]);
        check(one_read, &read(91, ""), &[READ]);
        check(one_read, &[], &[READ]);
    }

    #[test]
    fn an_incomplete_scenario_is_a_problem() {
        let folder = |name: &str, inside: &[&str]| -> Vec<File> {
            inside.iter().map(|inner| file(&format!("scenarios/{name}/{inner}"), "")).collect()
        };
        let whole = ["steps.jsonl", "expected.txt", "files/a.txt"];
        check(scenarios, &folder("001_first_read", &whole), &[]);
        check(scenarios, &[file("scenarios/README.md", "")], &[]);
        check(scenarios, &folder("001_first_read", &whole[1..]), &["scenarios/001_first_read: lacks steps.jsonl"]);
        for bad in ["1_read", "first", "001_", "001-read", "001_Read"] {
            check(scenarios, &folder(bad, &whole), &["scenarios/"]);
        }
    }
}
