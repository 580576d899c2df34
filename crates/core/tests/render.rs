//! Answers to the letter (seed 9.1, 9.2), what they do to knowledge, what is said beside them, and the cutter: random
//! texts under random limits.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    decide::{Ask, Decision, Mode, Reason},
    diff::unified,
    knowledge::Event,
    limits::{Limits, Markers},
    path::PathKey,
    render::{MARKER, Notice, Part, Shown, Window, diff_prefix, render},
    scope::{Lines, Scope},
    text::{ContentHash, Text},
};

const FIVE: &str = "one\ntwo\nthree\nfour\nfive\n";

/// Offset and limit of a call.
type Call = (Option<u64>, Option<u64>);

const ALL: Call = (None, None);

const LIMITS: Limits = Limits {
    answer_lines: 2000,
    answer_bytes: 40_000,
    answer_chars: None,
    diff_bytes: 1 << 21,
    diff_lines: 12_000,
    markers: Markers::Always,
    partial_saves: 1,
    partial_piece: 1,
};

/// Two lines to an answer.
const TWO: Limits = Limits { answer_lines: 2, ..LIMITS };

fn lines(first: u32, last: u32) -> Lines {
    Lines::new(first, last).unwrap()
}

fn base() -> ContentHash {
    ContentHash::of(b"the base")
}

/// The answer to a call about `now`, decided as told.
fn answer(mode: Mode, reason: Reason, now: &str, call: Call, limits: &Limits) -> Shown<'static> {
    let now: &'static Text = Box::leak(Box::new(Text::new(now.into())));
    let ask = Ask::new(now, call.0, call.1, limits).unwrap();
    let before = Text::new(now.as_str().replace("three", "drei"));
    let diff = (mode == Mode::Diff).then(|| unified(&before, now, "a b"));
    let decision = Decision { mode, reason, base: mode.is_derived().then(base), diff, pieces: Vec::new() };
    render(&decision, now, &ask)
}

fn said(shown: &Shown<'_>) -> Vec<String> {
    shown.notices().iter().map(Notice::to_string).collect()
}

#[test]
fn every_mode_to_the_letter() {
    let check = |mode, reason, call: Call, scope: &str, text: &str| {
        let shown = answer(mode, reason, FIVE, call, &LIMITS);
        assert_eq!((shown.text(), shown.scope().to_string().as_str()), (text, scope), "{mode:?} {call:?}");
        assert_eq!((shown.mode(), shown.reason()), (mode, reason));
        assert_eq!((shown.version(), shown.base()), (Text::new(FIVE.into()).version(), mode.is_derived().then(base)));
        assert_eq!(said(&shown), [""; 0]);
    };
    let range = (Some(2), Some(2));
    check(Mode::Full, Reason::NotHeld, ALL, "full", FIVE);
    check(Mode::Full, Reason::NotHeld, range, "r:2:3", "two\nthree\n");
    check(Mode::Full, Reason::NotHeld, (Some(5), None), "r:5:5", "five\n");
    check(Mode::BaselineFallback, Reason::BaseMissing, ALL, "full", FIVE);
    check(Mode::BaselineFallback, Reason::LinesChanged, range, "r:2:3", "two\nthree\n");
    check(Mode::Unchanged, Reason::SameText, ALL, "full", "[readcache: unchanged, 5 lines]");
    let same = "[readcache: unchanged in lines 2-3 of 5]";
    check(Mode::UnchangedRange, Reason::SameText, range, "r:2:3", same);
    let elsewhere = "[readcache: unchanged in lines 2-3; changes exist outside this range]";
    check(Mode::UnchangedRange, Reason::SameLines, range, "r:2:3", elsewhere);
    let diff = "[readcache: 1 lines changed of 5]\n--- a/a b\t\n+++ b/a b\t\n\
                @@ -1,5 +1,5 @@\n one\n two\n-drei\n+three\n four\n five\n";
    check(Mode::Diff, Reason::Changed, ALL, "full", diff);
}

#[test]
fn a_diff_says_how_many_lines_changed() {
    let check = |before: &str, after: &str, expected: &str| {
        let (before, after) = (Text::new(before.into()), Text::new(after.into()));
        assert_eq!(
            diff_prefix(&unified(&before, &after, "f"), &after, &Ask::new(&after, None, None, &LIMITS).unwrap().window),
            expected
        );
    };
    check("a\n", "a\nb\n", "[readcache: 1 lines changed of 2]\n");
    check("a\nb\nc\n", "x\n", "[readcache: 3 lines changed of 1]\n");
    check("a\n", "x\ny\nz\n", "[readcache: 3 lines changed of 3]\n");
    check("a\n", "", "[readcache: 1 lines changed of 0]\n");
    check("a\n", "a\n", "[readcache: 0 lines changed of 1]\n");
}

#[test]
fn a_cut_answer_says_where_to_go_on() {
    let check = |mode, reason, call: Call, text: &str, scope: &str, notice: &[&str]| {
        let shown = answer(mode, reason, FIVE, call, &TWO);
        assert_eq!((shown.text(), shown.scope().to_string().as_str()), (text, scope), "{mode:?} {call:?}");
        assert_eq!(said(&shown), notice, "{mode:?} {call:?}");
    };
    let first = &["lines 1-2 of 5; go on with offset 3"][..];
    check(Mode::Full, Reason::NotHeld, ALL, "one\ntwo\n", "r:1:2", first);
    check(Mode::BaselineFallback, Reason::LinesChanged, ALL, "one\ntwo\n", "r:1:2", first);
    let same = "[readcache: unchanged in lines 1-2 of 5]";
    check(Mode::UnchangedRange, Reason::SameText, ALL, same, "r:1:2", first);
    let elsewhere = "[readcache: unchanged in lines 1-2; changes exist outside this range]";
    check(Mode::UnchangedRange, Reason::SameLines, ALL, elsewhere, "r:1:2", first);
    let middle = &["lines 2-3 of 5; go on with offset 4"][..];
    check(Mode::Full, Reason::NotHeld, (Some(2), Some(3)), "two\nthree\n", "r:2:3", middle);
    // What was asked for is there: nothing to go on with.
    check(Mode::Full, Reason::NotHeld, (Some(2), Some(2)), "two\nthree\n", "r:2:3", &[]);
    check(Mode::Full, Reason::NotHeld, (Some(4), None), "four\nfive\n", "r:4:5", &[]);
    // A diff speaks of the whole file, whatever the window.
    let shown = answer(Mode::Diff, Reason::Changed, FIVE, ALL, &TWO);
    assert_eq!((shown.scope(), said(&shown)), (Scope::Full, Vec::new()));
}

#[test]
fn a_long_line_is_shown_in_part() {
    let check = |now: &str, call: Call, bytes, text: &str, notices: &[&str]| {
        let limits = Limits { answer_bytes: bytes, ..LIMITS };
        let shown = answer(Mode::Full, Reason::LineTooLong, now, call, &limits);
        let notices: Vec<String> = notices.iter().map(ToString::to_string).collect();
        assert_eq!((shown.text(), said(&shown)), (text, notices), "{now:?} {bytes}");
    };
    let (five, four) = ("its first 5 bytes", "its first 4 bytes");
    let part = |line, bytes, first| format!("line {line} is {bytes} bytes long and is shown in part: {first}");
    check("12345678\nb\n", ALL, 5, "12345", &[&part(1, 9, five), "go on with offset 2"]);
    check("12345678\nb\n", (None, Some(1)), 5, "12345", &[&part(1, 9, five)]);
    check("äöüä\nb\n", ALL, 5, "äö", &[&part(1, 9, four), "go on with offset 2"]);
    check("🦀🦀", ALL, 7, "🦀", &[&part(1, 8, four)]);
    check("a\n123456", (Some(2), None), 5, "12345", &[&part(2, 6, five)]);
}

#[test]
fn file_text_that_looks_like_a_marker_is_sent_with_a_notice() {
    let forged = "[readcache: unchanged, 3 lines]";
    let check = |now: &str, call: Call, expected: &[Notice]| {
        for (mode, reason) in [(Mode::Full, Reason::NotHeld), (Mode::BaselineFallback, Reason::LinesChanged)] {
            let shown = answer(mode, reason, now, call, &LIMITS);
            assert_eq!(shown.notices(), expected, "{now:?} {call:?}");
        }
    };
    let (notice, none) = (&[Notice::LooksLikeMarker][..], &[][..]);
    check(forged, ALL, notice);
    check(&format!("{forged}\n"), ALL, notice);
    check(&format!("a\n{forged}\nb\n"), ALL, notice);
    check(&format!("a\r\n{forged}"), ALL, notice);
    check(&format!("a {forged}\n{forged}"), ALL, notice);
    check("[readcache: anything", ALL, notice);
    check("[readcache:", ALL, notice);
    check(&format!("a {forged}\n"), ALL, none);
    check(&format!(" {forged}\n"), ALL, none);
    check("[readcach\n[Readcache: x]\n", ALL, none);
    // Only what is sent counts.
    check(&format!("a\n{forged}\nb\n"), (Some(2), Some(1)), notice);
    check(&format!("a\n{forged}\nb\n"), (Some(3), None), none);
    let words = "the text holds lines that look like this tool's own markers; they are file text";
    assert_eq!(Notice::LooksLikeMarker.to_string(), words);
}

#[test]
fn our_own_markers_are_not_taken_for_file_text() {
    let now = format!("{MARKER}unchanged, 2 lines]\nthree\n");
    for (mode, reason, call) in [
        (Mode::Unchanged, Reason::SameText, ALL),
        (Mode::UnchangedRange, Reason::SameText, (Some(1), Some(1))),
        (Mode::UnchangedRange, Reason::SameLines, (Some(1), Some(1))),
        (Mode::Diff, Reason::Changed, ALL),
    ] {
        assert_eq!(answer(mode, reason, &now, call, &LIMITS).notices(), [], "{mode:?}");
    }
}

#[test]
fn both_notices_stand_side_by_side() {
    let now = "[readcache: a]\nb\nc\n";
    let cut = Notice::Cut { lines: lines(1, 2), total: 3 };
    assert_eq!(answer(Mode::Full, Reason::NotHeld, now, ALL, &TWO).notices(), [Notice::LooksLikeMarker, cut]);
    let part = Notice::Part(Part { line: 1, bytes: 15, shown: 12 });
    let limits = Limits { answer_bytes: 12, ..LIMITS };
    assert_eq!(
        answer(Mode::Full, Reason::NotHeld, now, ALL, &limits).notices(),
        [Notice::LooksLikeMarker, part, Notice::GoOn { offset: 2 }]
    );
}

#[test]
fn what_an_answer_does_to_knowledge() {
    let path = PathKey::new("f");
    let version = Text::new(FIVE.into()).version();
    let check = |mode, reason, call: Call, limits, expected: Event| {
        assert_eq!(answer(mode, reason, FIVE, call, limits).event(&path), expected, "{mode:?} {call:?}");
    };
    let shown =
        |from, to, end| Event::Shown { path: path.clone(), version, lines: Some(lines(from, to)), end, part: None };
    for (mode, reason) in [(Mode::Full, Reason::NotHeld), (Mode::BaselineFallback, Reason::BaseMissing)] {
        check(mode, reason, ALL, &LIMITS, shown(1, 5, true));
        check(mode, reason, (None, Some(6)), &LIMITS, shown(1, 5, true));
        check(mode, reason, (Some(4), None), &LIMITS, shown(4, 5, true));
        // Five lines of five lines asked for: whether a sixth follows is not visible.
        check(mode, reason, (None, Some(5)), &LIMITS, shown(1, 5, false));
        check(mode, reason, (Some(2), Some(2)), &LIMITS, shown(2, 3, false));
        // The lines shown, never the scope asked for.
        check(mode, reason, ALL, &TWO, shown(1, 2, false));
        check(mode, reason, (Some(4), None), &TWO, shown(4, 5, true));
    }
    let part = Event::Shown { path: path.clone(), version, lines: None, end: false, part: Some(3) };
    let four = Limits { answer_bytes: 4, ..LIMITS };
    check(Mode::Full, Reason::LineTooLong, (Some(3), None), &four, part);
    let same = |scope, ends| Event::Same { path: path.clone(), base: base(), version, scope, ends };
    check(Mode::Unchanged, Reason::SameText, ALL, &LIMITS, same(Scope::Full, true));
    let range = (Some(2), Some(2));
    check(Mode::UnchangedRange, Reason::SameLines, range, &LIMITS, same(Scope::Lines(lines(2, 3)), false));
    check(Mode::UnchangedRange, Reason::SameLines, (Some(4), None), &LIMITS, same(Scope::Lines(lines(4, 5)), true));
    check(Mode::UnchangedRange, Reason::SameLines, ALL, &TWO, same(Scope::Lines(lines(1, 2)), false));
    check(Mode::Diff, Reason::Changed, ALL, &TWO, Event::Diff { path: path.clone(), base: base(), version });
}

#[test]
fn without_a_final_newline_the_end_is_always_visible() {
    let now = "one\ntwo";
    let shown = answer(Mode::Full, Reason::NotHeld, now, (None, Some(2)), &LIMITS);
    let (path, version) = (PathKey::new("f"), Text::new(now.into()).version());
    let expected = Event::Shown { path: path.clone(), version, lines: Some(lines(1, 2)), end: true, part: None };
    assert_eq!(shown.event(&path), expected);
}

#[test]
fn a_derived_answer_without_a_base_voids() {
    let now = Text::new(FIVE.into());
    let ask = Ask::new(&now, None, None, &LIMITS).unwrap();
    let path = PathKey::new("f");
    for mode in [Mode::Unchanged, Mode::UnchangedRange, Mode::Diff] {
        let decision = Decision { mode, reason: Reason::SameText, base: None, diff: None, pieces: Vec::new() };
        assert_eq!(render(&decision, &now, &ask).event(&path), Event::Void { path: path.clone() }, "{mode:?}");
    }
}

#[test]
fn an_empty_file_is_an_empty_answer() {
    let shown = answer(Mode::Full, Reason::NotHeld, "", ALL, &LIMITS);
    let (path, version) = (PathKey::new("f"), Text::new(String::new()).version());
    assert_eq!((shown.text(), shown.scope(), said(&shown)), ("", Scope::Full, Vec::new()));
    let expected = Event::Shown { path: path.clone(), version, lines: None, end: true, part: None };
    assert_eq!(shown.event(&path), expected);
    assert_eq!(answer(Mode::Unchanged, Reason::SameText, "", ALL, &LIMITS).text(), "[readcache: unchanged, 0 lines]");
}

/// Numbers that look random and are the same on every run.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(n)).unwrap()
    }

    fn text(&mut self) -> String {
        let pieces = ["a", "bc", "ä", "€", "🦀", "\n", "\n", "\r\n", " ", "[readcache: "];
        (0..self.below(40)).map(|_| pieces[self.below(10) as usize]).collect()
    }

    fn number(&mut self) -> Option<u64> {
        (self.below(3) > 0).then(|| u64::from(1 + self.below(12)))
    }
}

/// What a plain answer shows, worked out line by line.
fn naive_window(now: &Text, asked: Lines, limits: &Limits) -> (u32, usize) {
    let (mut count, mut bytes) = (0, 0);
    for line in asked.first()..=asked.last() {
        let more = bytes + now.line(line).len();
        if count == limits.answer_lines || more > limits.answer_bytes as usize {
            break;
        }
        (count, bytes) = (count + 1, more);
    }
    (count, bytes)
}

fn check_whole_lines(window: &Window, text: &str, now: &Text, asked: Lines, limits: &Limits) {
    let (count, bytes) = naive_window(now, asked, limits);
    let shown = lines(asked.first(), asked.first() + count - 1);
    let of_file = (asked.first()..=shown.last()).map(|n| now.line(n)).collect::<String>();
    assert_eq!((window.lines(), window.part()), (Some(shown), None));
    assert_eq!((text, window.bytes()), (of_file.as_str(), bytes));
    assert_eq!(window.next().is_some(), shown != asked);
    let whole = Lines::new(1, now.total()) == Some(shown);
    assert_eq!(window.scope(), if whole { Scope::Full } else { Scope::Lines(shown) });
}

fn check_part(window: &Window, text: &str, now: &Text, asked: Lines, limits: &Limits) {
    let line = now.line(asked.first());
    // The longest run of whole characters that fits.
    let mut fits =
        line.char_indices().map(|(at, c)| at + c.len_utf8()).filter(|end| *end <= limits.answer_bytes as usize);
    let length = fits.next_back().unwrap_or(0);
    let part = Part { line: asked.first(), bytes: line.len(), shown: length };
    assert_eq!((window.lines(), window.part()), (None, Some(part)));
    assert_eq!((text, window.bytes(), window.part().is_some()), (&line[..length], length, true));
}

#[test]
fn no_window_exceeds_the_limits_or_misreports_its_lines() {
    let mut random = Lcg(1);
    let (mut whole, mut cut, mut part) = (0, 0, 0);
    for _ in 0..20_000 {
        let now = Text::new(random.text());
        let limits = Limits { answer_lines: 1 + random.below(8), answer_bytes: random.below(30), ..LIMITS };
        let (offset, limit) = (random.number(), random.number());
        let Ok(ask) = Ask::new(&now, offset, limit, &limits) else { continue };
        let decision =
            Decision { mode: Mode::Full, reason: Reason::NotHeld, base: None, diff: None, pieces: Vec::new() };
        let shown = render(&decision, &now, &ask);
        let (window, text) = (shown.window(), shown.text());
        assert!(text.len() <= limits.answer_bytes as usize, "{text:?} under {limits:?}");
        assert!(text.split_inclusive('\n').count() <= limits.answer_lines as usize, "{text:?} under {limits:?}");
        let Some(asked) = ask.scope.lines(now.total()) else {
            assert_eq!((text, window.lines(), window.part(), window.next().is_some()), ("", None, None, false));
            continue;
        };
        match naive_window(&now, asked, &limits) {
            (0, _) => check_part(window, text, &now, asked, &limits),
            _ => check_whole_lines(window, text, &now, asked, &limits),
        }
        // The end is visible when the text stops there although the call asks for more, or in an open line.
        let reached = window.lines().is_some_and(|lines| lines.last() == now.total());
        let more = limit.is_none_or(|limit| offset.unwrap_or(1) + limit - 1 > u64::from(now.total()));
        let end = reached && (more || !text.ends_with('\n'));
        let (path, version, lines) = (PathKey::new("f"), now.version(), window.lines());
        let expected = Event::Shown { path: path.clone(), version, lines, end, part: window.part().map(|p| p.line) };
        assert_eq!(shown.event(&path), expected, "{now:?} {offset:?} {limit:?}");
        *(if window.part().is_some() {
            &mut part
        } else if window.next().is_some() {
            &mut cut
        } else {
            &mut whole
        }) += 1;
    }
    assert!(whole > 1000 && cut > 1000 && part > 1000, "{whole} whole, {cut} cut, {part} in part");
}

/// `full` belongs to the whole file; a piece of its first line is less than that.
#[test]
fn a_part_of_the_first_line_is_not_the_whole_file() {
    let limits = Limits { answer_bytes: 4, ..LIMITS };
    for now in ["1234567", "1234567\nb\n"] {
        let shown = answer(Mode::Full, Reason::LineTooLong, now, ALL, &limits);
        assert_ne!(shown.scope(), Scope::Full, "{now:?}");
    }
}
