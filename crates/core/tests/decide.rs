//! What is answered, from what is held and what is there now: the protocol's matrix 1–10 and cut windows through one
//! `check`, then whole conversations through one `talk`.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, ops::RangeInclusive};

use readproof_core::{
    decide::{Ask, Base, Choice, Decision, Mode, Reason, choose_base, decide},
    knowledge::{Event, Hunk, Keeps, Knowledge},
    limits::{Answers, Limits, Markers},
    path::PathKey,
    render::{Shown, render},
    scope::{Lines, Scope, ScopeError},
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

const LIMITS: Limits = Limits {
    answer_lines: 2000,
    answer_bytes: 40_000,
    answer_chars: None,
    diff_bytes: 2 * 1024 * 1024,
    diff_lines: 12_000,
    markers: Markers::Always,
    partial_saves: 1,
    partial_piece: 1,
};

/// Whether the store still has the texts that were shown.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Kept,
    Lost,
}

/// The text the model was shown, by which calls; then what is asked of the text that is there now.
#[derive(Clone, Copy)]
struct Case<'a> {
    before: &'a str,
    held: &'a [Call],
    now: &'a str,
    ask: Call,
    limits: Limits,
    answers: Answers,
    store: Store,
}

const CASE: Case<'static> =
    Case { before: "", held: &[ALL], now: "", ask: ALL, limits: LIMITS, answers: Answers::Held, store: Store::Kept };

/// One file and one model: every answer goes the whole way and is taken in.
struct Session {
    knowledge: Knowledge,
    stored: BTreeMap<ContentHash, Text>,
    now: Text,
    at: u64,
    limits: Limits,
    answers: Answers,
}

impl Session {
    fn new(limits: Limits, answers: Answers) -> Self {
        let (knowledge, stored, now) = (Knowledge::default(), BTreeMap::new(), Text::new(String::new()));
        Self { knowledge, stored, now, at: 0, limits, answers }
    }

    fn set(&mut self, now: &str) {
        self.now = Text::new(now.into());
    }

    fn read(&mut self, call: Call) -> (Choice, Decision, Shown<'static>) {
        let path = PathKey::new("f");
        let ask = Ask::new(&self.now, call.0, call.1, &self.limits).unwrap();
        let choice = choose_base(&self.knowledge, &path, &self.now, &ask, self.answers);
        let base = Base::of(choice, choice.needs().and_then(|hash| self.stored.get(&hash)));
        let decision = decide(&self.now, &path, &ask, base, &self.limits);
        let now: &'static Text = Box::leak(Box::new(self.now.clone()));
        let shown = render(&decision, now, &ask);
        self.happened(&shown.event(&path));
        self.stored.insert(self.now.hash(), self.now.clone());
        (choice, decision, shown)
    }

    fn happened(&mut self, event: &Event) {
        self.at += 1;
        self.knowledge.apply(self.at, event, self.answers);
    }
}

/// `expected` is `CHOICE mode reason`, CHOICE being `none`, `same`, or `whole` and `part` for another text.
fn check(case: Case<'_>, expected: &str, text: &str) {
    let mut session = Session::new(case.limits, case.answers);
    session.set(case.before);
    for call in case.held {
        session.read(*call);
    }
    session.set(case.now);
    if case.store == Store::Lost {
        session.stored.clear();
    }
    let (choice, decision, shown) = session.read(case.ask);
    let (word, base) = match choice {
        Choice::None(_) => ("none", None),
        Choice::Same => ("same", Some(ContentHash::of(case.now.as_bytes()))),
        Choice::Other { whole: true, .. } => ("whole", Some(ContentHash::of(case.before.as_bytes()))),
        Choice::Other { whole: false, .. } => ("part", Some(ContentHash::of(case.before.as_bytes()))),
    };
    let got = format!("{word} {} {}", decision.mode.as_str(), decision.reason.as_str());
    let told = format!("{:?} held by {:?}, asked {:?} of {:?}", case.before, case.held, case.ask, case.now);
    assert_eq!((got.as_str(), shown.text()), (expected, text), "{told}");
    assert_eq!((decision.base, decision.diff.is_some()), (base, decision.mode == Mode::Diff), "{told}");
}

const FIVE: &str = "a\nb\nc\nd\ne\n";

/// Lines long enough for a diff to pay, each after a sign.
fn signed(sign: &str, numbers: RangeInclusive<u32>) -> String {
    numbers.map(|n| format!("{sign}line {n:02} of a file whose lines are rather long\n")).collect()
}

fn long(lines: u32) -> String {
    signed("", 1..=lines)
}

fn with_line(text: &str, number: usize, new: &str) -> String {
    (1..).zip(text.split_inclusive('\n')).map(|(n, line)| if n == number { new } else { line }).collect()
}

/// The answer when line `n`, in the middle of a long text, became `x`.
fn diff_at(n: u32, total: u32) -> String {
    let first = n - 3;
    let head = format!("[readcache: 1 lines changed of {total}]\n--- a/f\n+++ b/f\n@@ -{first},7 +{first},7 @@\n");
    [head, signed(" ", first..=n - 1), signed("-", n..=n), "+x\n".into(), signed(" ", n + 1..=n + 3)].concat()
}

#[test]
fn matrix_1_and_2_the_whole_file_first_and_again() {
    check(Case { held: &[], now: FIVE, ..CASE }, "none full not_held", FIVE);
    let marker = "[readcache: unchanged, 5 lines]";
    for ask in [ALL, from(1), page(1, 5), page(1, 9), (None, Some(5))] {
        check(Case { before: FIVE, now: FIVE, ask, ..CASE }, "same unchanged same_text", marker);
    }
    // All lines shown, though not how the file ends: the marker says it.
    let held = &[page(1, 5)];
    check(Case { before: FIVE, held, now: FIVE, ..CASE }, "same unchanged same_text", marker);
}

#[test]
fn matrix_3_a_changed_file_is_a_diff() {
    let before = long(20);
    let now = with_line(&before, 10, "x\n");
    let case = Case { before: &before, now: &now, ..CASE };
    let text = diff_at(10, 20);
    check(case, "whole diff changed", &text);
    check(Case { held: &[page(1, 8), from(9)], ..case }, "whole diff changed", &text);
    check(Case { ask: page(1, 99), ..case }, "whole diff changed", &text);
}

#[test]
fn matrix_4_a_diff_that_does_not_pay() {
    for (before, now) in [
        (FIVE, "a\nb\nX\nd\ne\n"),
        (FIVE, "a\n"),
        (FIVE, "a\nb\nc\nd\ne"),
        ("a\nb", "a\nb\n"),
        ("a\n", "a\r\n"),
        (FIVE, "1\n2\n3\n4\n5\n6\n7\n"),
        // Fewer bytes, but more lines than the text.
        (&long(10), &with_line(&long(10), 5, "x\n")),
    ] {
        check(Case { before, now, ..CASE }, "whole baseline_fallback diff_not_shorter", now);
    }
}

#[test]
fn a_diff_has_bounds() {
    let before = long(20);
    let now = with_line(&before, 10, "x\n");
    let bytes = u32::try_from(before.len()).unwrap();
    let case = Case { before: &before, now: &now, ..CASE };
    let check_diff = |diff_bytes, diff_lines, expected: &str| {
        check(Case { limits: Limits { diff_bytes, diff_lines, ..LIMITS }, ..case }, expected, &now);
    };
    check_diff(bytes - 1, 20, "whole baseline_fallback diff_too_many_bytes");
    check_diff(bytes, 19, "whole baseline_fallback diff_too_many_lines");
    // The limits hold for the larger of the two texts.
    let grown = Case { before: &now, now: &before, ..CASE };
    let limits = Limits { diff_bytes: bytes - 1, ..LIMITS };
    check(Case { limits, ..grown }, "whole baseline_fallback diff_too_many_bytes", &before);
    let limits = Limits { diff_bytes: bytes, diff_lines: 20, ..LIMITS };
    check(Case { limits, ..case }, "whole diff changed", &diff_at(10, 20));
}

#[test]
fn a_diff_that_does_not_fit_is_no_diff() {
    let (before, limits) = (long(11), Limits { answer_lines: 11, ..LIMITS });
    let now = with_line(&before, 5, "x\n");
    let case = Case { before: &before, now: &now, limits, ..CASE };
    // Eleven lines, and the prefix before them.
    check(case, "whole baseline_fallback diff_does_not_fit", &now);
    check(Case { limits: Limits { answer_lines: 12, ..LIMITS }, ..case }, "whole diff changed", &diff_at(5, 11));
}

#[test]
fn matrix_5_and_6_a_range_first_and_again() {
    check(Case { held: &[], now: FIVE, ask: page(2, 2), ..CASE }, "none full not_held", "b\nc\n");
    let marker = "[readcache: unchanged in lines 2-3 of 5]";
    for (held, ask) in [(page(2, 2), page(2, 2)), (ALL, page(2, 2)), (page(1, 4), page(2, 2))] {
        let case = Case { before: FIVE, held: &[held], now: FIVE, ask, ..CASE };
        check(case, "same unchanged_range same_text", marker);
    }
    let case = Case { before: FIVE, held: &[page(2, 1), page(3, 1)], now: FIVE, ask: page(2, 2), ..CASE };
    check(case, "same unchanged_range same_text", marker);
    // One line more than is held.
    for (held, ask, text) in [(page(2, 2), page(2, 3), "b\nc\nd\n"), (page(2, 2), page(1, 2), "a\nb\n")] {
        check(Case { before: FIVE, held: &[held], now: FIVE, ask, ..CASE }, "none full not_held", text);
    }
    let case = Case { before: FIVE, held: &[page(2, 2)], now: FIVE, ..CASE };
    check(case, "none full not_held", FIVE);
}

#[test]
fn seed_answers_need_the_same_scope_or_the_whole_file() {
    let case = Case { before: FIVE, now: FIVE, ask: page(2, 2), answers: Answers::Seed, ..CASE };
    let marker = "[readcache: unchanged in lines 2-3 of 5]";
    check(Case { held: &[page(2, 2)], ..case }, "same unchanged_range same_text", marker);
    check(Case { held: &[ALL], ..case }, "same unchanged_range same_text", marker);
    check(Case { held: &[page(1, 4)], ..case }, "none full not_that_range", "b\nc\n");
    check(Case { held: &[page(2, 1), page(3, 1)], ..case }, "none full not_that_range", "b\nc\n");
    check(Case { held: &[page(1, 3), from(4)], ask: ALL, ..case }, "none full not_that_range", FIVE);
}

#[test]
fn matrix_7_a_change_outside_the_range() {
    let marker = "[readcache: unchanged in lines 2-3; changes exist outside this range]";
    for now in ["X\nb\nc\nd\ne\n", "a\nb\nc\nX\n", "X\nb\nc\n", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne"] {
        let case = Case { before: FIVE, now, ask: page(2, 2), ..CASE };
        check(case, "whole unchanged_range same_lines", marker);
        check(Case { held: &[page(2, 2)], ..case }, "part unchanged_range same_lines", marker);
        check(Case { held: &[page(1, 4)], ..case }, "part unchanged_range same_lines", marker);
    }
}

#[test]
fn matrix_8_and_9_a_change_in_the_range() {
    for (now, text) in [
        ("a\nX\nc\nd\ne\n", "X\nc\n"),
        ("a\nb\nX\n", "b\nX\n"),
        // The last line lost its newline.
        ("a\nb\nc", "b\nc"),
        ("a\nb\r\nc\n", "b\r\nc\n"),
        ("a\nb \nc\n", "b \nc\n"),
        // Lines before the range moved it.
        ("new\na\nb\nc\nd\ne\n", "a\nb\n"),
        ("b\nc\nd\ne\n", "c\nd\n"),
    ] {
        let case = Case { before: FIVE, now, ask: page(2, 2), ..CASE };
        check(case, "whole baseline_fallback lines_changed", text);
        check(Case { held: &[page(2, 2)], ..case }, "part baseline_fallback lines_changed", text);
    }
}

#[test]
fn matrix_10_a_range_that_means_nothing() {
    let check = |text: &str, (offset, limit): Call, expected: &ScopeError| {
        let now = Text::new(text.into());
        assert_eq!(Ask::new(&now, offset, limit, &LIMITS).as_ref(), Err(expected), "{offset:?} {limit:?} of {text:?}");
    };
    check(FIVE, from(0), &ScopeError::Zero { what: "offset" });
    check(FIVE, (None, Some(0)), &ScopeError::Zero { what: "limit" });
    check(FIVE, page(0, 0), &ScopeError::Zero { what: "offset" });
    check(FIVE, from(6), &ScopeError::BeyondEnd { offset: 6, total: 5 });
    check(FIVE, page(u64::MAX, u64::MAX), &ScopeError::BeyondEnd { offset: u64::MAX, total: 5 });
    check("", from(2), &ScopeError::BeyondEnd { offset: 2, total: 0 });
}

#[test]
fn a_base_that_is_gone() {
    let case = Case { before: FIVE, now: "a\nb\nX\n", store: Store::Lost, ..CASE };
    check(case, "whole baseline_fallback base_missing", "a\nb\nX\n");
    check(Case { ask: page(1, 2), ..case }, "whole baseline_fallback base_missing", "a\nb\n");
    check(Case { held: &[page(1, 2)], ask: page(1, 2), ..case }, "part baseline_fallback base_missing", "a\nb\n");
    // The text itself is not needed to say that nothing changed.
    check(Case { now: FIVE, ..case }, "same unchanged same_text", "[readcache: unchanged, 5 lines]");
}

#[test]
fn a_diff_needs_the_whole_base_and_its_end() {
    let before = long(20);
    let now = with_line(&before, 10, "x\n");
    for (held, expected) in [
        (&[page(1, 20)][..], "none full base_not_whole"),
        (&[page(1, 10), page(11, 10)], "none full base_not_whole"),
        (&[page(1, 19)], "none full not_held"),
        (&[from(2)], "none full not_held"),
        (&[page(1, 8), from(10)], "none full not_held"),
    ] {
        check(Case { before: &before, held, now: &now, ..CASE }, expected, &now);
    }
}

#[test]
fn empty_files() {
    check(Case { held: &[], ..CASE }, "none full not_held", "");
    check(CASE, "same unchanged same_text", "[readcache: unchanged, 0 lines]");
    check(Case { ask: page(1, 3), ..CASE }, "same unchanged same_text", "[readcache: unchanged, 0 lines]");
    check(Case { before: FIVE, ..CASE }, "whole baseline_fallback diff_not_shorter", "");
    check(Case { now: FIVE, ..CASE }, "whole baseline_fallback diff_not_shorter", FIVE);
    check(Case { before: FIVE, held: &[page(1, 2)], ..CASE }, "none full not_held", "");
}

/// Three lines to an answer.
const THREE: Limits = Limits { answer_lines: 3, ..LIMITS };

#[test]
fn a_cut_window_is_answered_for_exactly_its_lines() {
    let case = Case { before: FIVE, now: FIVE, limits: THREE, ..CASE };
    check(Case { held: &[], ..case }, "none full not_held", "a\nb\nc\n");
    let first = "[readcache: unchanged in lines 1-3 of 5]";
    for held in [&[ALL][..], &[page(1, 3)], &[ALL, from(4)], &[page(1, 1), page(2, 2)]] {
        check(Case { held, ..case }, "same unchanged_range same_text", first);
        check(Case { held, ask: page(1, 4), ..case }, "same unchanged_range same_text", first);
    }
    // A page never shown is sent.
    check(Case { ask: from(4), ..case }, "none full not_held", "d\ne\n");
    check(Case { ask: from(3), ..case }, "none full not_held", "c\nd\ne\n");
    check(Case { held: &[from(4)], ..case }, "none full not_held", "a\nb\nc\n");
    let second = "[readcache: unchanged in lines 4-5 of 5]";
    check(Case { held: &[ALL, from(4)], ask: from(4), ..case }, "same unchanged_range same_text", second);
    // Cut by bytes.
    let limits = Limits { answer_bytes: 5, ..LIMITS };
    let bytes = "[readcache: unchanged in lines 1-2 of 5]";
    check(Case { limits, ..case }, "same unchanged_range same_text", bytes);
}

#[test]
fn a_cut_window_of_a_changed_file() {
    let case = Case { before: FIVE, now: "a\nb\nc\nd\nX\n", limits: THREE, ..CASE };
    let marker = "[readcache: unchanged in lines 1-3; changes exist outside this range]";
    check(case, "part unchanged_range same_lines", marker);
    check(Case { held: &[ALL, from(4)], ..case }, "whole unchanged_range same_lines", marker);
    let changed = Case { now: "a\nX\nc\nd\ne\n", ..case };
    check(changed, "part baseline_fallback lines_changed", "a\nX\nc\n");
    check(Case { held: &[ALL, from(4)], ..changed }, "whole baseline_fallback diff_not_shorter", "a\nX\nc\n");
}

#[test]
fn a_diff_of_the_whole_file_may_stand_for_a_cut_window() {
    let before = long(20);
    let now = with_line(&before, 6, "x\n");
    let limits = Limits { answer_lines: 12, ..LIMITS };
    let case = Case { before: &before, held: &[ALL, from(13)], now: &now, limits, ..CASE };
    check(case, "whole diff changed", &diff_at(6, 20));
    let first_page: String = now.split_inclusive('\n').take(12).collect();
    check(Case { held: &[ALL], ..case }, "part baseline_fallback lines_changed", &first_page);
}

#[test]
fn a_line_too_long_for_one_answer_is_always_sent_in_part() {
    let limits = Limits { answer_bytes: 10, ..LIMITS };
    let giant = "0123456789abcdef\nb\n";
    let case = Case { before: giant, now: giant, limits, ..CASE };
    check(Case { held: &[], ..case }, "none full line_too_long", "0123456789");
    check(case, "none full line_too_long", "0123456789");
    check(Case { ask: from(2), ..case }, "none full not_held", "b\n");
    // In the middle: the window stops before it.
    let middle = "a\n0123456789abcdef\nb\n";
    let case = Case { before: middle, now: middle, ..case };
    check(case, "same unchanged_range same_text", "[readcache: unchanged in lines 1-1 of 3]");
    check(Case { ask: from(2), ..case }, "none full line_too_long", "0123456789");
    // Exactly as long as an answer.
    let case = Case { before: "123456789\n", now: "123456789\n", ..case };
    check(case, "same unchanged same_text", "[readcache: unchanged, 1 lines]");
}

#[test]
fn words_are_read_as_they_are_written() {
    for mode in Mode::ALL {
        assert_eq!(Mode::parse(mode.as_str()), Some(mode));
    }
    let words = Mode::ALL.map(|mode| (mode.as_str(), mode.is_derived()));
    let expected = [
        ("full", false),
        ("unchanged", true),
        ("unchanged_range", true),
        ("diff", true),
        ("partial", true),
        ("baseline_fallback", false),
    ];
    assert_eq!(words, expected);
    assert_eq!((Mode::parse("Full"), Mode::parse("")), (None, None));
    for reason in [Reason::NotHeld, Reason::SameText, Reason::BaseMissing, Reason::DiffNotShorter, Reason::Changed] {
        assert_eq!(Reason::parse(reason.as_str()), Some(reason));
    }
    assert_eq!(Reason::parse("nothing"), None);
}

/// What happens in a conversation about one file.
enum Step<'a> {
    /// Someone changed it.
    Now(&'a str),
    /// It is read, and this is the answer.
    Read(Call, &'a str),
    /// The agent's own edit: the text after it, the old lines it touched, how many replace them.
    Edit(&'a str, (u32, u32), u32),
    /// The whole file is wanted anew.
    Refresh,
}

fn talk(steps: &[Step<'_>]) {
    let mut session = Session::new(LIMITS, Answers::Held);
    for (n, step) in (1..).zip(steps) {
        match step {
            Step::Now(text) => session.set(text),
            Step::Read(call, expected) => assert_eq!(session.read(*call).2.text(), *expected, "step {n}"),
            Step::Edit(after, (first, last), new_count) => {
                let (before, after) = (session.now.version(), Text::new((*after).into()));
                let hunks =
                    vec![Hunk { old: Lines::new(*first, *last).unwrap(), new_count: *new_count, keeps: Keeps::Ends }];
                session.happened(&Event::Edited { path: PathKey::new("f"), before, after: after.version(), hunks });
                session.now = after;
            }
            Step::Refresh => {
                session.happened(&Event::Refreshed { paths: vec![PathKey::new("f")], scope: Scope::Full });
            }
        }
    }
}

use Step::{Edit, Now, Read, Refresh};

const EIGHT: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";

#[test]
fn a_text_that_came_back_is_not_answered_from_its_first_showing() {
    let other = "1\n2\nX\n4\n5\n6\n7\n8\n";
    let marker = "[readcache: unchanged, 8 lines]";
    talk(&[Now(EIGHT), Read(ALL, EIGHT), Now(other), Read(ALL, other), Now(EIGHT), Read(ALL, EIGHT)]);
    talk(&[Now(EIGHT), Read(ALL, EIGHT), Now(other), Now(EIGHT), Read(ALL, marker)]);
    talk(&[
        Now(EIGHT),
        Read(ALL, EIGHT),
        Now(other),
        Read(page(3, 1), "X\n"),
        Now(EIGHT),
        Read(page(2, 3), "2\n3\n4\n"),
        Read(ALL, marker),
    ]);
    talk(&[
        Now(EIGHT),
        Read(ALL, EIGHT),
        Now(other),
        Read(page(3, 1), "X\n"),
        Now(EIGHT),
        Read(page(5, 2), "[readcache: unchanged in lines 5-6 of 8]"),
        Read(ALL, EIGHT),
    ]);
}

#[test]
fn a_shorter_text_takes_the_lines_beyond_its_end() {
    talk(&[Now(EIGHT), Read(ALL, EIGHT), Now("1\nX\n"), Read(from(2), "X\n"), Now(EIGHT), Read(page(5, 2), "5\n6\n")]);
}

#[test]
fn pages_add_up_to_a_file() {
    let now = "1\n2\n3\n4\n5\nX\n7\n8\n";
    talk(&[
        Now(EIGHT),
        Read(page(1, 4), "1\n2\n3\n4\n"),
        Read(from(5), "5\n6\n7\n8\n"),
        Read(ALL, "[readcache: unchanged, 8 lines]"),
        Now(now),
        Read(page(2, 3), "[readcache: unchanged in lines 2-4; changes exist outside this range]"),
        Read(page(5, 2), "5\nX\n"),
        Read(page(2, 5), "[readcache: unchanged in lines 2-6 of 8]"),
    ]);
}

#[test]
fn own_edits_are_followed() {
    talk(&[
        Now(EIGHT),
        Read(ALL, EIGHT),
        Edit("1\nX\nY\n3\n4\n5\n6\n7\n8\n", (2, 2), 2),
        Read(ALL, "[readcache: unchanged, 9 lines]"),
        Edit("1\nX\nY\n3\n4\n5\n6\n7\nend", (9, 9), 1),
        Read(from(8), "[readcache: unchanged in lines 8-9 of 9]"),
    ]);
    talk(&[
        Now(EIGHT),
        Read(page(2, 3), "2\n3\n4\n"),
        Edit("1\n2\nX\n\n4\n5\n6\n7\n8\n", (3, 3), 2),
        Read(page(2, 4), "[readcache: unchanged in lines 2-5 of 9]"),
        Read(page(6, 1), "5\n"),
        // The answer says that it was in line 7, which was never shown: only that line is not held.
        Edit("1\n2\nX\n\n4\n5\nsix\n7\n8\n", (7, 7), 1),
        Read(page(2, 5), "[readcache: unchanged in lines 2-6 of 9]"),
        Read(page(6, 2), "5\nsix\n"),
    ]);
}

/// A line was seen where the older text had ended: it cannot be the base of the whole file any more.
#[test]
fn a_text_whose_end_was_passed_is_no_base() {
    let before = long(30);
    let longer = before.clone() + "b31\nb32\nb33\n";
    let now = with_line(&before, 9, "x\n") + "c31\nc32\nc33\n";
    talk(&[
        Now(&before),
        Read(ALL, &before),
        Now(&longer),
        Read(page(32, 2), "b32\nb33\n"),
        Now(&now),
        Read(ALL, &now),
    ]);
}

#[test]
fn a_file_seen_with_lines_was_not_seen_empty() {
    talk(&[Now(""), Read(ALL, ""), Now("x\ny\n"), Read(from(2), "y\n"), Now(""), Read(ALL, "")]);
}

/// A piece of line 2 shows as well as all of it that the file is not empty.
#[test]
fn a_file_seen_with_a_part_of_a_line_was_not_seen_empty() {
    let giant = "y".repeat(50_000);
    let now = format!("x\n{giant}\n");
    talk(&[Now(""), Read(ALL, ""), Now(&now), Read(from(2), &giant[..40_000]), Now(""), Read(ALL, "")]);
}

/// Line 2 had no newline; a line 3 means that line 2 was another one by then.
#[test]
fn a_last_line_without_newline_goes_when_a_line_after_it_is_seen() {
    let (open, longer) = ("d\nb", "x\ny\nz\n");
    talk(&[Now(open), Read(ALL, open), Now(longer), Read(page(3, 1), "z\n"), Now(open), Read(page(2, 1), "b")]);
}

/// `of 3` told the model that there is no line 7.
#[test]
fn a_range_marker_that_names_the_total_takes_the_lines_beyond() {
    talk(&[
        Now(EIGHT),
        Read(page(7, 2), "7\n8\n"),
        Now("x\ny\nz\n"),
        Read(page(1, 1), "x\n"),
        Read(page(1, 1), "[readcache: unchanged in lines 1-1 of 3]"),
        Now(EIGHT),
        Read(page(7, 2), "7\n8\n"),
    ]);
}

/// The call had no limit, so whatever answers it tells the model that the file ends at line 5.
#[test]
fn an_answer_up_to_the_end_takes_the_lines_beyond() {
    let five = "X\n2\n3\n4\n5\n";
    talk(&[Now(EIGHT), Read(ALL, EIGHT), Now(five), Read(from(4), "4\n5\n"), Now(EIGHT), Read(page(6, 2), "6\n7\n")]);
    talk(&[
        Now(EIGHT),
        Read(page(7, 2), "7\n8\n"),
        Now(five),
        Read(page(4, 2), "4\n5\n"),
        Now("Y\n2\n3\n4\n5\n"),
        Read(from(4), "[readcache: unchanged in lines 4-5; changes exist outside this range]"),
        Now(EIGHT),
        Read(page(7, 2), "7\n8\n"),
    ]);
}

/// The model never saw that line 1 was the last one; the answer says how many lines there are.
#[test]
fn an_edit_of_the_last_line_tells_where_the_file_ends() {
    talk(&[Now("d\n"), Read(page(1, 1), "d\n"), Edit("q\nr", (1, 1), 2), Read(ALL, "[readcache: unchanged, 2 lines]")]);
    // What the last line is made of was not shown.
    talk(&[Now("d\n"), Edit("q\nd", (1, 1), 2), Read(from(2), "d")]);
}

/// A refresh does not take the older line 1 out of the model's sight: `b`, `c` stand in two places for it, and the answer
/// says in which of them the edit was.
#[test]
fn an_edit_among_lines_seen_before_a_refresh() {
    talk(&[
        Now("b\nX\n"),
        Read(ALL, "b\nX\n"),
        Refresh,
        Now("q\nc\nb\nc\n"),
        Read(from(2), "c\nb\nc\n"),
        Edit("q\nc\nz\n", (3, 4), 1),
        Read(from(2), "[readcache: unchanged in lines 2-3 of 3]"),
    ]);
}

/// A marker stands for text only where it is shorter, unless it is to stand always.
#[test]
fn a_marker_is_shorter_than_its_text() {
    let limits = Limits { markers: Markers::Shorter, ..LIMITS };
    // `[readcache: unchanged, 2 lines]` has 31 bytes.
    let (short, long) = (format!("a\n{}\n", "b".repeat(28)), format!("a\n{}\n", "b".repeat(29)));
    for (text, expected, given) in [
        (&short, "same baseline_fallback marker_not_shorter", short.as_str()),
        (&long, "same unchanged same_text", "[readcache: unchanged, 2 lines]"),
    ] {
        check(Case { before: text, now: text, limits, ..CASE }, expected, given);
        check(Case { before: text, now: text, ..CASE }, "same unchanged same_text", "[readcache: unchanged, 2 lines]");
    }
    check(Case { limits, ..CASE }, "same baseline_fallback marker_not_shorter", "");
    let (before, now) = (format!("{long}c\n"), format!("{long}d\n"));
    let case = Case { before: &before, now: &now, ask: page(1, 2), limits, ..CASE };
    check(case, "whole baseline_fallback marker_not_shorter", &long);
}
