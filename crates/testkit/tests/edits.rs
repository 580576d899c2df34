//! The short version of `cargo xtask edits`.
#![allow(clippy::expect_used, reason = "tests")]

use readproof_testkit::edits;

#[test]
fn no_generated_edit_is_silently_wrong() {
    let tally = edits::run(2000, 1).expect("files and git");
    assert!(tally.wrong.is_empty(), "{tally}");
    assert_eq!(tally.useless(), Vec::<String>::new(), "{tally}");
    assert!(tally.cases == 2000 && tally.git.1 > 50, "{tally}");
}
