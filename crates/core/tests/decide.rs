//! What is answered, from what is held and what is there now: the seed's matrix 1–10 and cut windows through one
//! `check`, then whole conversations.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    decide::{Ask, Base, Choice, Decision, Mode, Reason, choose_base, decide},
    knowledge::{Event, Hunk, Knowledge},
    limits::{Answers, Limits},
    path::PathKey,
    render::{Shown, render},
    scope::{Lines, ScopeError},
    text::{ContentHash, Text},
};

/// Offset and limit of a call.
type Call = (Option<u64>, Option<u64>);

const ALL: Call = (None, None);

const fn from(offset: u64) -> Call {
    (Some(offset), None)
}

const fn page(offset: u64, limit: u64) -> Call {
    (Some(offset), Some(limit))
}

/// Lines long enough for a diff to pay.
fn numbered(lines: impl Iterator<Item = u32>) -> String {
    lines.map(|n| format!("line {n:02} of a file whose lines are of some length\n")).collect()
}

fn with_line(text: &str, number: usize, new: &str) -> String {
    (1..).zip(text.split_inclusive('\n')).map(|(n, line)| if n == number { new } else { line }).collect()
}

/// Whether the store still has the base.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Kept,
    Missing,
}

/// The text the model was shown, by which calls, and what is asked of the text that is there now.
struct Case<'a> {
    before: &'a str,
    held: &'a [Call],
    now: &'a str,
    ask: Call,
    limits: Limits,
    answers: Answers,
    store: Store,
}

const READ: Case<'static> = Case {
    before: "",
    held: &[ALL],
    now: "",
    ask: ALL,
    limits: Limits { answer_lines: 2000, answer_bytes: 40_000, diff_bytes: 2 * 1024 * 1024, diff_lines: 12_000 },
    answers: Answers::Held,
    store: Store::Kept,
};

fn answer(knowledge: &Knowledge, now: &Text, call: Call, case: &Case<'_>, stored: &Text) -> (Choice, Decision, Shown) {
    let path = PathKey::new("f");
    let ask = Ask::new(now, call.0, call.1, &case.limits).unwrap();
    let choice = choose_base(knowledge, &path, now, &ask, case.answers);
    let base = match choice {
        Choice::None(reason) => Base::None(reason),
        Choice::Same => Base::Same,
        Choice::Other { hash, whole } if case.store == Store::Kept && hash == stored.hash() => {
            Base::Other { text: stored, whole }
        }
        Choice::Other { hash, .. } => Base::Missing(hash),
    };
    let decision = decide(now, &path, &ask, base, &case.limits);
    let shown = render(&decision, now, &ask);
    (choice, decision, shown)
}

/// `expected` is `CHOICE mode reason`, CHOICE being `none`, `same`, `whole` or `part` (of another text).
fn check(case: &Case<'_>, expected: &str, text: &str) {
    let (before, now) = (Text::new(case.before.into()), Text::new(case.now.into()));
    let path = PathKey::new("f");
    let mut knowledge = Knowledge::default();
    for (at, call) in (1..).zip(case.held) {
        let (_, _, shown) = answer(&Knowledge::default(), &before, *call, case, &before);
        knowledge.apply(at, &shown.event(&path), case.answers);
    }
    let (choice, decision, shown) = answer(&knowledge, &now, case.ask, case, &before);
    let (word, base) = match choice {
        Choice::None(_) => ("none", None),
        Choice::Same => ("same", Some(now.hash())),
        Choice::Other { hash, whole } => (if whole { "whole" } else { "part" }, Some(hash)),
    };
    let got = format!("{word} {} {}", decision.mode.as_str(), decision.reason.as_str());
    let told = format!("{:?} held by {:?}, asked {:?} of {:?}", case.before, case.held, case.ask, case.now);
    assert_eq!((got.as_str(), shown.text()), (expected, text), "{told}");
    assert_eq!(decision.base, base, "{told}");
    assert_eq!(decision.diff.is_some(), decision.mode == Mode::Diff, "{told}");
}

const FIVE: &str = "a\nb\nc\nd\ne\n";

#[test]
fn matrix_1_and_2_a_whole_file_first_and_again() {
    check(&Case { held: &[], now: FIVE, ..READ }, "none full not_held", FIVE);
    check(&Case { before: FIVE, now: FIVE, ..READ }, "same unchanged same_text", "[readcache: unchanged, 5 lines]");
    for ask in [from(1), page(1, 5), page(1, 9), (None, Some(5))] {
        let case = Case { before: FIVE, now: FIVE, ask, ..READ };
        check(&case, "same unchanged same_text", "[readcache: unchanged, 5 lines]");
    }
    // All lines shown, though not how the file ends: the marker says it.
    let case = Case { before: FIVE, held: &[page(1, 5)], now: FIVE, ..READ };
    check(&case, "same unchanged same_text", "[readcache: unchanged, 5 lines]");
}

#[test]
fn matrix_3_a_changed_file_is_a_diff() {
    let before = numbered(1..=20);
    let now = with_line(&before, 10, "another line\n");
    let case = Case { before: &before, now: &now, ..READ };
    let text = format!(
        "[readcache: 1 lines changed of 20]\n--- a/f\n+++ b/f\n@@ -7,7 +7,7 @@\n{}-{}+another line\n{}",
        numbered(7..=9).replace("line ", " line "),
        numbered(10..=10),
        numbered(11..=13).replace("line ", " line "),
    );
    // Only the start of each line got a space.
    let text = text.replace("whose  line", "whose line");
    check(&case, "whole diff changed", &text);
    check(&Case { held: &[page(1, 8), from(9)], ..case }, "whole diff changed", &text);
}

#[test]
fn matrix_4_a_diff_that_does_not_pay() {
    let not_shorter = "whole baseline_fallback diff_not_shorter";
    for (before, now) in [
        (FIVE, "a\nb\nX\nd\ne\n"),
        (FIVE, "a\n"),
        (FIVE, "a\nb\nc\nd\ne"),
        ("a\nb", "a\nb\n"),
        ("a\n", "a\r\n"),
        (FIVE, "1\n2\n3\n4\n5\n6\n7\n"),
    ] {
        check(&Case { before, now, ..READ }, not_shorter, now);
    }
    // Fewer bytes, but more lines than the text has.
    let before = numbered(1..=9);
    let now = with_line(&before, 5, "x\n");
    check(&Case { before: &before, now: &now, ..READ }, not_shorter, &now);
}

#[test]
fn diffs_have_bounds() {
    let before = numbered(1..=20);
    let now = with_line(&before, 5, "x\n");
    let case = Case { before: &before, now: &now, ..READ };
    let bytes = u32::try_from(before.len()).unwrap();
    let limits = |diff_bytes, diff_lines| Limits { diff_bytes, diff_lines, ..READ.limits };
    let check_with = |limits, expected| {
        let (_, text) = (limits, &now);
        check(&Case { limits, ..Case { ..READ_OF(&case) } }, expected, text);
    };
    check_with(limits(bytes - 1, 20), "whole baseline_fallback diff_too_many_bytes");
    check_with(limits(bytes, 19), "whole baseline_fallback diff_too_many_lines");
    // Eleven lines of diff and the prefix before them.
    let fits = Limits { answer_lines: 11, ..READ.limits };
    let now11 = with_line(&numbered(1..=11), 5, "x\n");
    let case = Case { before: &numbered(1..=11), now: &now11, limits: fits, ..READ };
    check(&case, "whole baseline_fallback diff_does_not_fit", &now11);
}
