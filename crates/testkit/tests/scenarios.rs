//! Plays every scenario and compares all answers with `expected.txt`. `UPDATE_SCENARIOS=1` rewrites those files; read the
//! difference line by line.

use readproof_testkit::scenario::{folders, number, play};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The items of the protocol's matrix that can be tested at the engine.
const MATRIX: [std::ops::RangeInclusive<u32>; 2] = [1..=23, 27..=30];

fn scenarios() -> Vec<PathBuf> {
    let within = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    // No scenarios at all fail the test of the matrix below.
    folders(&within).unwrap_or_default()
}

/// The first line that differs, with its number.
fn difference(expected: &str, got: &str) -> String {
    let at = expected.lines().zip(got.lines()).take_while(|(expected, got)| expected == got).count();
    let line = |text: &str| text.lines().nth(at).map_or("(the end)".to_owned(), |line| format!("{line:?}"));
    format!("expected.txt, line {}: {} is expected, {} came", at + 1, line(expected), line(got))
}

#[test]
fn every_scenario_answers_as_expected() {
    let update = std::env::var_os("UPDATE_SCENARIOS").is_some();
    let mut failures = Vec::new();
    for folder in scenarios() {
        let name = folder.file_name().unwrap().display().to_string();
        let file = folder.join("expected.txt");
        match play(&folder) {
            Err(error) => failures.push(format!("{name}: {error}")),
            Ok(got) if update => fs::write(file, got).unwrap(),
            Ok(got) => {
                let expected = fs::read_to_string(file).unwrap_or_default();
                if expected != got {
                    failures.push(format!("{name}: {}", difference(&expected, &got)));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} scenarios fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_matrix_is_complete_and_every_number_is_used_once() {
    let mut numbers = Vec::new();
    for folder in scenarios() {
        let found = number(&folder);
        assert!(found.is_some(), "{}: the name must be NNN_[a-z0-9_]+", folder.display());
        numbers.extend(found);
    }
    assert!(!numbers.is_empty(), "there are no scenarios");
    let missing: Vec<u32> = MATRIX.into_iter().flatten().filter(|item| !numbers.contains(item)).collect();
    assert!(missing.is_empty(), "no scenario for items {missing:?} of the matrix");
    let before = numbers.len();
    numbers.dedup();
    assert_eq!(before, numbers.len(), "a number is used twice");
}
