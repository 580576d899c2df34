//! `docs/finding.md` gives examples of stems and of kinds of files; they are true. `tests/documented.rs` compares its numbers.

use super::{score::Class, split::stem};

const PAGE: &str = include_str!("../../../../../docs/finding.md");

/// The cells of a row of a table, without the marks of code.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect()
}

#[test]
fn documented_kinds_of_files_are_told() {
    let rows = PAGE.lines().map(cells).filter(|cells| cells.len() == 4);
    let mut examples = 0;
    for cells in rows {
        let [kind, _, _, paths] = cells[..] else { continue };
        let is_kind = ["Record", "Generated", "Test", "Document", "Source"].contains(&kind);
        for path in paths.split(", ").filter(|_| is_kind) {
            let path = path.trim_matches('`');
            assert_eq!(format!("{:?}", Class::of(path)), kind, "{path}");
            examples += 1;
        }
    }
    assert!(examples > 12, "{examples}");
}

#[test]
fn documented_words_have_one_stem() {
    let (_, rest) = PAGE.split_once("<!-- stems -->\n").unwrap();
    let (lines, _) = rest.split_once("<!-- /stems -->").unwrap();
    for line in lines.lines() {
        let words: Vec<&str> = line.trim_start_matches("- ").split(", ").collect();
        let stems: Vec<&str> = words.iter().map(|word| &word[..stem(word.as_bytes())]).collect();
        assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
    }
}
