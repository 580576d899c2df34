//! Pages in pi's style against pi's own algorithm, written out plainly, and what answers on pi's surface say and vouch for.

use readproof_core::{
    decide::{Ask, Base, Mode, Reason, choose_base, decide},
    knowledge::{Event, Knowledge},
    limits::{Answers, Limits, Markers},
    page::{Page, PageStyle, Stop},
    path::PathKey,
    render::{Shown, render},
    scope::{Lines, Scope},
    text::Text,
};
use readproof_hosts::pi::{STYLE, total_lines};

fn limits(style: &PageStyle) -> Limits {
    style.limits(Limits { markers: Markers::Always, ..Limits::default() })
}

/// What pi's `read` makes of a text: the block without the words behind it, those words, and of a cut: by what, the lines
/// and bytes selected, the lines shown.
struct Read {
    body: String,
    tail: String,
    cut: Option<(&'static str, usize, usize, usize)>,
}

fn size(bytes: usize) -> String {
    let rounded = |unit: f64| format!("{:.1}", (bytes as f64 / unit * 10.0 + 0.5).floor() / 10.0);
    if bytes < 1024 {
        format!("{bytes}B")
    } else if bytes < 1024 * 1024 {
        rounded(1024.0) + "KB"
    } else {
        rounded(1024.0 * 1024.0) + "MB"
    }
}

/// Line by line after pi's source.
fn reference(text: &str, offset: Option<u64>, limit: Option<u64>, style: &PageStyle) -> Option<Read> {
    let (max_lines, max_bytes) = (style.most_lines as usize, style.most_bytes as usize);
    let all: Vec<&str> = text.split('\n').collect();
    let start = usize::try_from(offset.unwrap_or(1) - 1).unwrap();
    if start >= all.len() {
        return None;
    }
    let end = limit.map_or(all.len(), |limit| (start + usize::try_from(limit).unwrap()).min(all.len()));
    let selected = all[start..end].join("\n");
    let mut lines: Vec<&str> = if selected.is_empty() { Vec::new() } else { selected.split('\n').collect() };
    if selected.ends_with('\n') {
        lines.pop();
    }
    let first = start + 1;
    if lines.len() <= max_lines && selected.len() <= max_bytes {
        let more = all.len() - end;
        let tail = format!("\n\n[{more} more lines in file. Use offset={} to continue.]", end + 1);
        let tail = if limit.is_some() && more > 0 { tail } else { String::new() };
        return Some(Read { body: selected, tail, cut: None });
    }
    let total = (lines.len(), selected.len());
    if lines[0].len() > max_bytes {
        let (is, most) = (size(all[start].len()), size(max_bytes));
        let tail = format!(
            "[Line {first} is {is}, exceeds {most} limit. Use bash: sed -n '{first}p' some f | head -c {max_bytes}]"
        );
        return Some(Read { body: String::new(), tail, cut: Some(("bytes", total.0, total.1, 0)) });
    }
    let (mut shown, mut count, mut by) = (Vec::new(), 0, "lines");
    for (i, line) in lines.iter().enumerate().take(max_lines) {
        let bytes = line.len() + usize::from(i > 0);
        if count + bytes > max_bytes {
            by = "bytes";
            break;
        }
        shown.push(*line);
        count += bytes;
    }
    if shown.len() >= max_lines && count <= max_bytes {
        by = "lines";
    }
    let last = first + shown.len() - 1;
    let limit = if by == "bytes" { format!(" ({} limit)", size(max_bytes)) } else { String::new() };
    let tail =
        format!("\n\n[Showing lines {first}-{last} of {}{limit}. Use offset={} to continue.]", all.len(), last + 1);
    Some(Read { body: shown.join("\n"), tail, cut: Some((by, total.0, total.1, shown.len())) })
}

fn check(text: &str, offset: Option<u64>, limit: Option<u64>, style: &PageStyle) -> &'static str {
    let now = Text::new(text.to_owned());
    let told = format!(
        "{:?} {offset:?} {limit:?} of {} lines, {} bytes",
        &text[..text.floor_char_boundary(200)],
        style.most_lines,
        style.most_bytes
    );
    let expected = reference(text, offset, limit, style);
    let page = Page::of(&now, offset, limit, "some f", style);
    let (Some(expected), Ok(page)) = (&expected, &page) else {
        // The empty line after a final newline is left to pi.
        let at_end = offset.unwrap_or(1) == total_lines(&now) && now.total() > 0;
        assert!(page.is_err() && (expected.is_none() || at_end), "{told}");
        return "refused";
    };
    let ask = Ask::paged(&now, offset, limit, "some f", style).unwrap();
    let decision = decide(&now, &PathKey::new("f"), &ask, Base::None(Reason::NotHeld), &limits(style));
    let shown = render(&decision, &now, &ask);
    assert_eq!((shown.text(), shown.tail()), (expected.body.as_str(), expected.tail.as_str()), "{told}");
    let cut = match page.stop {
        Stop::End | Stop::Asked => None,
        Stop::Cut { by_bytes, selected } => {
            let by = if by_bytes { "bytes" } else { "lines" };
            Some((by, selected.lines as usize, selected.bytes, page.lines.unwrap().count() as usize))
        }
        Stop::LongLine { selected, .. } => Some(("bytes", selected.lines as usize, selected.bytes, 0)),
    };
    assert_eq!(cut, expected.cut, "{told}");
    // What is said to be shown is shown: each line whole, and the end if nothing is left behind it.
    let lines = shown.window().lines();
    if let Some(lines) = lines {
        let with_end = if shown.window().shows_end() { "" } else { "\n" };
        assert_eq!(expected.body.clone() + with_end, now.slice(lines), "{told}");
    }
    let reaches = lines.map_or(now.total() == 0, |lines| lines.last() == now.total());
    assert_eq!(shown.window().shows_end(), reaches && expected.tail.is_empty(), "{told}");
    match page.stop {
        Stop::End => "end",
        Stop::Asked => "asked",
        Stop::Cut { by_bytes: true, .. } => "bytes",
        Stop::Cut { by_bytes: false, .. } => "lines",
        Stop::LongLine { .. } => "long",
    }
}

#[test]
fn pages_are_pis_own() {
    let mut state: u64 = 7;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..40_000 {
        let text: String = (0..below(9))
            .map(|_| ["a", "\n", "\n", "bcd", "é", "x\ny", "\r\n"][usize::try_from(below(7)).unwrap()])
            .collect();
        let style = PageStyle { most_lines: 1 + below(5) as u32, most_bytes: below(12) as u32, ..STYLE };
        let mut number = |most| (below(3) > 0).then(|| 1 + below(most));
        let (offset, limit) = (number(8), number(8));
        *seen.entry(check(&text, offset, limit, &style)).or_insert(0) += 1;
    }
    for kind in ["refused", "end", "asked", "bytes", "lines", "long"] {
        assert!(seen.get(kind).is_some_and(|n| *n > 200), "{kind}: {seen:?}");
    }
}

#[test]
fn the_real_limits_to_the_byte() {
    let lines = |n: usize| "x\n".repeat(n);
    for n in [1999, 2000, 2001] {
        check(&lines(n), None, None, &STYLE);
        check(lines(n).trim_end(), None, None, &STYLE);
        check(&lines(n), Some(2), Some(2000), &STYLE);
        check(&(lines(n) + "\n"), None, Some(2001), &STYLE);
    }
    for n in [1023, 1024, 51_199, 51_200, 51_201, 52_480, 1_048_575, 1_048_576] {
        for end in ["", "\n", "\nz", "\nz\n"] {
            check(&("y".repeat(n) + end), None, None, &STYLE);
            check(&("y".repeat(100) + "\n" + &"y".repeat(n - 101) + end), None, None, &STYLE);
        }
    }
}

/// An answer about `now` where these lines of it were shown before.
fn answer(before: Option<(u32, u32, bool)>, now: &Text, call: (Option<u64>, Option<u64>)) -> String {
    let (path, mut held) = (PathKey::new("f"), Knowledge::default());
    if let Some((first, last, end)) = before {
        let lines = Lines::new(first, last);
        let event = Event::Shown { path: path.clone(), version: now.version(), lines, end, part: None };
        held.apply(1, &event, Answers::Held);
    }
    let ask = Ask::paged(now, call.0, call.1, "f", &STYLE).unwrap();
    let choice = choose_base(&held, &path, now, &ask, Answers::Held);
    assert_eq!(choice.needs(), None, "there is no other text");
    let base = Base::of(choice, None);
    let shown: Shown<'_> = render(&decide(now, &path, &ask, base, &limits(&STYLE)), now, &ask);
    let said = shown.counted();
    assert_eq!(
        said.scope == Scope::Full,
        shown.mode() == Mode::Unchanged || (said.first, said.last) == (1, said.total)
    );
    format!("{} {} {}", shown.mode().as_str(), said.scope, shown.text().to_owned() + shown.tail())
}

#[test]
fn markers_count_as_pi_does_and_speak_of_no_line_that_was_not_shown() {
    let now = Text::new("1\n2\n3\n4\n5\n".to_owned());
    let check = |before, call, expected: &str| assert_eq!(answer(before, &now, call), expected);
    let (all, five, from_4) = ((None, None), (None, Some(5)), (Some(4), None));
    check(Some((1, 5, true)), all, "unchanged full [readcache: unchanged, 6 lines]");
    check(Some((1, 5, true)), from_4, "unchanged_range r:4:6 [readcache: unchanged in lines 4-6 of 6]");
    check(Some((1, 5, true)), five, "unchanged_range r:1:5 [readcache: unchanged in lines 1-5 of 6]");
    // pi said that there is one more line, and not which.
    check(Some((1, 5, false)), five, "unchanged_range r:1:5 [readcache: unchanged in lines 1-5 of 6]");
    check(Some((1, 5, false)), all, "full full 1\n2\n3\n4\n5\n");
    check(Some((1, 5, false)), from_4, "full r:4:6 4\n5\n");
    check(None, five, "full r:1:5 1\n2\n3\n4\n5\n\n[1 more lines in file. Use offset=6 to continue.]");
    let open = Text::new("1\n2".to_owned());
    assert_eq!(
        answer(Some((1, 2, true)), &open, (Some(2), None)),
        "unchanged_range r:2:2 [readcache: unchanged in lines 2-2 of 2]"
    );
    let empty = Text::new(String::new());
    assert_eq!(answer(None, &empty, all), "full full ");
    let long = Text::new("x\n".repeat(2100));
    let again = "unchanged_range r:1:2000 [readcache: unchanged in lines 1-2000 of 2101]\n\n\
                 [Showing lines 1-2000 of 2101. Use offset=2001 to continue.]";
    assert_eq!(answer(Some((1, 2000, false)), &long, all), again);
}

#[test]
fn text_that_looks_like_a_marker_is_said_to_be_the_files() {
    let now = Text::new("[readcache: unchanged, 9 lines]\n".to_owned());
    let said = "the text holds lines that look like this tool's own markers; they are file text";
    let expected = format!("full full [readcache: unchanged, 9 lines]\n\n\n[readproof: {said}]");
    assert_eq!(answer(None, &now, (None, None)), expected);
}
