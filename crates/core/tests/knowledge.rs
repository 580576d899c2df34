//! What events do to knowledge: the protocol's transition table, tightened, one row one test, and
//! random event lists against a naive model.
//!
//! A branch is written as one string, events divided by `;`, at places 1, 2, 3, …
//! `show A1-3` lines 1-3 of text A, `show A4-5.` also its end, `show A.` the end alone, `show A!3` line 3 in part;
//! `same A B 2-3` a marker for B that relies on A; `diff A B`; `write A`; `edit A F 2-2 2` lines 2-2 of A became two
//! lines of F, the first and last with parts of the old ones kept (`2h`: only the first; `2a`: any), and `edit A F 1-1 2,4-4 0`
//! so in two places; `alike A B 2-3` lines 2-3 of A are those of B (6 is the end); `see B2-3,5-5` lines of B shown beside reads;
//! `part B 1-5 A1-2 A3-4>4` a partial answer for lines 1-5 of B, that names lines 1-2 of A, and lines 3-4 of A, which are 4-5 now; `refresh 2-3`; `void`; `compact`. The file is `x` unless a word such as `/y` or `/x/y` names others.
//! What is held is written the same way: `A1-1@1 B2-3@2 A4-5.@1 /y C1-8.@3`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use readproof_core::{
    knowledge::{Alike, Event, Gone, Held, Hunk, Keeps, Knowledge, Piece},
    limits::Answers,
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, Version},
};

/// Every text that occurs in a table: its name and its number of lines.
const TEXTS: [(char, u32); 7] = [('A', 5), ('B', 5), ('C', 8), ('D', 3), ('E', 0), ('F', 6), ('G', 4)];

fn version(name: &str) -> Version {
    let (_, total) = *TEXTS.iter().find(|(text, _)| name == text.to_string()).unwrap();
    Version { hash: ContentHash::of(name.as_bytes()), total, form: Form::Disk }
}

fn name(hash: ContentHash) -> String {
    let (name, _) = TEXTS.iter().find(|(name, _)| version(&name.to_string()).hash == hash).unwrap();
    name.to_string()
}

fn lines(text: &str) -> Lines {
    let (first, last) = text.split_once('-').unwrap();
    Lines::new(first.parse().unwrap(), last.parse().unwrap()).unwrap()
}

fn scope(text: &str) -> Scope {
    if text == "full" { Scope::Full } else { Scope::Lines(lines(text)) }
}

fn shown(path: PathKey, text: &str) -> Event {
    let (name, rest) = text.split_at(1);
    let (rest, end) = rest.strip_suffix('.').map_or((rest, false), |rest| (rest, true));
    let (rest, part) = rest.split_once('!').map_or((rest, None), |(rest, line)| (rest, Some(line.parse().unwrap())));
    let lines = (!rest.is_empty()).then(|| lines(rest));
    Event::Shown { path, version: version(name), lines, end, part }
}

fn event(text: &str) -> Event {
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('/')).collect();
    let named = text.split_whitespace().find_map(|word| word.strip_prefix('/')).unwrap_or("x");
    let paths: Vec<PathKey> = named.split('/').map(PathKey::new).collect();
    let path = paths[0].clone();
    match words[..] {
        ["show", text] => shown(path, text),
        ["same", base, now, at] => {
            let (base, version) = (version(base).hash, version(now));
            Event::Same { path, base, version, scope: scope(at), ends: base == version.hash }
        }
        ["diff", base, now] => Event::Diff { path, base: version(base).hash, version: version(now) },
        ["write", now] => Event::Written { path, version: version(now) },
        ["edit", before, after, ref places @ ..] => {
            let hunks = places.join(" ").split(',').map(hunk).collect();
            Event::Edited { path, before: version(before), after: version(after), hunks }
        }
        ["alike", base, now, at] => {
            let (base, at) = (version(base).hash, lines(at));
            let pieces = vec![Alike { base, first: at.first(), last: at.last() }];
            Event::Alike { path, version: version(now), pieces }
        }
        ["see", text] => {
            let (name, rest) = text.split_at(1);
            Event::Seen { path, version: version(name), lines: rest.split(',').map(lines).collect() }
        }
        ["part", now, at, ref pieces @ ..] => {
            let pieces = pieces.iter().map(|text| piece(text)).collect();
            Event::Partial { path, version: version(now), lines: lines(at), pieces }
        }
        ["refresh", at] => Event::Refreshed { paths, scope: scope(at) },
        ["void"] => Event::Void { path },
        ["compact"] => Event::Compacted,
        _ => panic!("no event: {text}"),
    }
}

fn piece(text: &str) -> Piece {
    let (name, rest) = text.split_at(1);
    let (old, new) = rest.split_once('>').map_or((rest, None), |(old, new)| (old, Some(new.parse().unwrap())));
    let old = lines(old);
    let first = new.unwrap_or(old.first());
    let lines = Lines::new(first, first + old.count() - 1).unwrap();
    Piece { base: version(name).hash, shown_as: old.first(), lines }
}

fn hunk(text: &str) -> Hunk {
    let (old, new) = text.split_once(' ').unwrap();
    let (new, keeps) = match new.split_at(new.len() - 1) {
        (new, "h") => (new, Keeps::Head),
        (new, "a") => (new, Keeps::All),
        _ => (new, Keeps::Ends),
    };
    Hunk { old: lines(old), new_count: new.parse().unwrap(), keeps }
}

fn known(branch: &str, answers: Answers) -> Knowledge {
    let mut knowledge = Knowledge::default();
    for (at, text) in (1..).zip(branch.split(';')) {
        knowledge.apply(at, &event(text), answers);
    }
    knowledge
}

fn draw_span(held: &Held) -> String {
    let lines = held.lines().map(|lines| format!("{}-{}", lines.first(), lines.last())).unwrap_or_default();
    let end = if held.end() { "." } else { "" };
    format!("{}{lines}{end}@{}", name(held.version().hash), held.at())
}

fn draw(knowledge: &Knowledge) -> String {
    let mut words = Vec::new();
    for (path, held) in knowledge.paths() {
        if path.as_str() != "x" {
            words.push(format!("/{path}"));
        }
        words.extend(held.iter().map(draw_span));
    }
    words.join(" ")
}

/// All that is held after a branch.
fn check(table: &[(&str, &str)]) {
    for (branch, expected) in table {
        assert_eq!(draw(&known(branch, Answers::Held)), *expected, "after {branch}");
    }
}

/// The text that serves an ask (`2-3`, or `full` for the whole file with its end), under `Seed` and under `Held`.
fn check_serves(table: &[(&str, &str, &str, &str)]) {
    for (branch, ask, seed, held) in table {
        for (answers, expected) in [(Answers::Seed, seed), (Answers::Held, held)] {
            let knowledge = known(branch, answers);
            let path = PathKey::new("x");
            let hash = match scope(ask) {
                Scope::Full => knowledge.holds_whole(&path, Form::Disk, answers).map(|version| version.hash),
                Scope::Lines(lines) => knowledge.holds_lines(&path, lines, Form::Disk, answers),
            };
            assert_eq!(hash.map_or("-".to_owned(), name), *expected, "{answers:?}: {ask} after {branch}");
        }
    }
}

#[test]
fn row_full_and_baseline_fallback_hold_the_lines_shown() {
    check(&[
        ("show A1-5.", "A1-5.@1"),
        ("show A1-5", "A1-5@1"),
        // A cut answer to a whole-file call: two lines are two lines.
        ("show A1-2", "A1-2@1"),
        ("show A2-3", "A2-3@1"),
        ("show A4-5.", "A4-5.@1"),
        ("show A.", "A.@1"),
        ("show E.", "E.@1"),
        ("show A2-3; show A4-5.", "A2-3@1 A4-5.@2"),
        ("show A4-5.; show A2-3", "A2-3@2 A4-5.@1"),
        ("show A1-5.; show /y B2-3", "A1-5.@1 /y B2-3@2"),
    ]);
}

#[test]
fn row_full_and_baseline_fallback_take_the_lines_from_older_texts() {
    check(&[
        ("show A1-5.; show B1-5.", "B1-5.@2"),
        ("show A1-5.; show B2-3", "A1-1@1 B2-3@2 A4-5.@1"),
        ("show A1-5.; show A2-3", "A1-1@1 A2-3@2 A4-5.@1"),
        ("show A1-5.; show B1-5", "B1-5@2 A.@1"),
        ("show A1-5.; show B.", "A1-5@1 B.@2"),
        // The file was seen to end: older lines beyond are gone.
        ("show C1-8.; show A4-5.", "C1-3@1 A4-5.@2"),
        ("show C1-8.; show A.", "C1-5@1 A.@2"),
        ("show C1-8.; show E.", "E.@2"),
        // Not seen to end.
        ("show C1-8.; show A4-5", "C1-3@1 A4-5@2 C6-8.@1"),
        ("show A1-2; show B3-4; show C2-3", "A1-1@1 C2-3@3 B4-4@2"),
    ]);
}

#[test]
fn a_line_shown_in_part_is_held_under_no_text() {
    check(&[
        ("show A!1", ""),
        ("show A1-5.; show A!3", "A1-2@1 A4-5.@1"),
        ("show A1-5.; show B!3", "A1-2@1 A4-5.@1"),
        ("show A1-5.; show B!1", "A2-5.@1"),
        ("show A3-3; show B!3", ""),
    ]);
}

#[test]
fn row_unchanged() {
    check(&[
        ("show A1-5.; same A A full", "A1-5.@1"),
        ("show A1-2; show A3-5.; same A A full", "A1-2@1 A3-5.@2"),
        ("show E.; same E E full", "E.@1"),
        // The marker names the number of lines, so the end is known from then on.
        ("show A1-5; same A A full", "A1-5@1 A.@2"),
        ("show C1-8.; show A1-5; same A A full", "A1-5@2 A.@3"),
    ]);
}

#[test]
fn row_unchanged_with_a_failed_guard_voids_the_path() {
    check(&[
        ("same A A full", ""),
        ("same E E full", ""),
        ("show A1-5.; same B B full", ""),
        ("show A1-5.; same A B full", ""),
        ("show A1-5.; same B A full", ""),
        ("show A1-3; same A A full", ""),
        ("show A2-5.; same A A full", ""),
        ("show A1-1; show A3-5.; same A A full", ""),
        ("show A1-5.; show B2-3; same A A full", ""),
        ("show A1-5.; show A!3; same A A full", ""),
        ("show A1-5.; show /y B1-5.; same C C full", "/y B1-5.@2"),
    ]);
}

#[test]
fn row_diff() {
    check(&[
        ("show A1-5.; diff A B", "B1-5.@2"),
        ("show A1-5.; diff A C", "C1-8.@2"),
        ("show A1-5.; diff A D", "D1-3.@2"),
        ("show A1-5.; diff A E", "E.@2"),
        ("show E.; diff E A", "A1-5.@2"),
        ("show A1-5.; diff A B; diff B C", "C1-8.@3"),
        ("show A4-5.; show A1-3; diff A B", "B1-5.@3"),
        ("show A1-5; show A.; diff A B", "B1-5.@3"),
        ("show A1-5; same A A full; diff A B", "B1-5.@3"),
    ]);
}

#[test]
fn row_diff_with_a_failed_guard_voids_the_path() {
    check(&[
        ("diff A B", ""),
        ("show A1-5.; diff B A", ""),
        ("show A1-5.; diff A B; diff A B", ""),
        ("show A1-4; diff A B", ""),
        ("show A2-5.; diff A B", ""),
        // All lines, but not the end.
        ("show A1-5; diff A B", ""),
        ("show A1-5.; show B3-3; diff A B", ""),
        ("show A1-5.; refresh 3-3; diff A B", ""),
        ("show A1-5.; show /y B1-5.; diff C A", "/y B1-5.@2"),
    ]);
}

#[test]
fn row_unchanged_range() {
    check(&[
        ("show A2-3; same A A 2-3", "A2-3@1"),
        ("show A1-5.; same A A 2-3", "A1-5.@1"),
        // Those lines are the same in both texts: they stay what they were shown as, and the whole stays whole.
        ("show A2-3; same A B 2-3", "A2-3@1"),
        ("show A1-5.; same A B 2-3", "A1-1@1 A2-3@1 A4-5.@1"),
        ("show A1-4; same A B 2-3", "A1-1@1 A2-3@1 A4-4@1"),
        ("show A2-2; show A3-3; same A B 2-3", "A2-2@1 A3-3@2"),
        ("show A1-5.; same A B 2-3; same B B 2-3", "A1-1@1 A2-3@1 A4-5.@1"),
        ("show A1-5.; same A B 2-3; same A B 4-4", "A1-1@1 A2-3@1 A4-4@1 A5-5.@1"),
        // Beyond the end there is nothing to vouch for.
        ("show A4-5.; same A A 4-9", "A4-5.@1"),
    ]);
}

#[test]
fn row_unchanged_range_with_a_failed_guard_voids_the_path() {
    check(&[
        ("same A A 2-3", ""),
        ("same A B 2-3", ""),
        ("show A2-3; same B B 2-3", ""),
        ("show A2-3; same B A 2-3", ""),
        ("show A2-3; same A B 2-4", ""),
        ("show A2-3; same A A 1-3", ""),
        ("show A2-2; show B3-3; same A A 2-3", ""),
        ("show A1-5.; show B2-3; same A B 1-2", ""),
        ("show A1-1; show B5-5; same A A 3-3", ""),
        ("show A1-5.; refresh 3-3; same A A 2-3", ""),
        ("show A2-3; show /y B1-5.; same C C 2-3", "/y B1-5.@2"),
    ]);
}

#[test]
fn row_invalidate_full() {
    check(&[
        ("refresh full", ""),
        ("show A1-5.; refresh full", ""),
        ("show A1-1; show B3-3; show C8-8.; refresh full", ""),
        ("show A1-5.; refresh full; same A A full", ""),
        ("show A1-5.; refresh full; show A1-5.", "A1-5.@3"),
        ("show A1-5.; show /y A1-5.; refresh full", "/y A1-5.@2"),
        ("show A1-5.; show /y A1-5.; show /z A1-5.; refresh /x/y full", "/z A1-5.@3"),
    ]);
}

#[test]
fn row_invalidate_range_takes_the_lines_out_of_every_text() {
    check(&[
        ("refresh 2-3", ""),
        ("show A2-3; refresh 2-3", ""),
        ("show A1-5.; refresh 2-3", "A1-1@1 A4-5.@1"),
        ("show A1-5.; show B2-3; refresh 3-4", "A1-1@1 B2-2@2 A5-5.@1"),
        ("show A2-3; refresh 1-1", "A2-3@1"),
        // Whoever wants the last line anew wants to know anew how the file ends.
        ("show A1-5.; refresh 5-5", "A1-4@1"),
        ("show A1-5.; refresh 4-9", "A1-3@1"),
        ("show A1-5.; refresh 6-9", "A1-5@1"),
        ("show A1-5.; refresh 2-3; same A A full", ""),
        ("show A1-5.; refresh 2-3; diff A B", ""),
        ("show A1-5.; refresh 2-3; show A2-3; diff A B", "B1-5.@4"),
        ("show A1-5.; show /y A1-5.; show /z A1-5.; refresh /y/z 2-4", "A1-5.@1 /y A1-1@2 A5-5.@2 /z A1-1@3 A5-5.@3"),
    ]);
}

#[test]
fn after_a_compaction_nothing_earlier_counts() {
    check(&[
        ("compact", ""),
        ("show A1-5.; show /y B2-3; compact", ""),
        ("show A1-5.; compact; show A2-3", "A2-3@3"),
        ("show A1-5.; compact; same A A full", ""),
        ("show A1-5.; compact; same A A 2-3", ""),
        ("show A1-5.; compact; diff A B", ""),
        ("show A1-5.; compact; edit A F 2-2 2", ""),
        ("show A1-5.; compact; compact; write B", "B1-5.@4"),
    ]);
}

#[test]
fn void_forgets_one_path() {
    check(&[
        ("void", ""),
        ("show A1-5.; void", ""),
        ("show A1-5.; show /y B2-3; void", "/y B2-3@2"),
        ("show A1-5.; void; show B2-3", "B2-3@3"),
    ]);
}

#[test]
fn the_newest_text_of_a_line_wins() {
    check(&[
        ("show A1-5.; show B1-5.; show A1-5.", "A1-5.@3"),
        ("show A1-5.; show B1-5.; show A2-3", "B1-1@2 A2-3@3 B4-5.@2"),
        // A → B → A must not answer from the first A.
        ("show A1-5.; show B1-5.; same A A full", ""),
        ("show A1-5.; show B1-5.; same A A 2-3", ""),
        ("show A1-5.; show B1-5.; diff A B", ""),
        ("show A1-5.; show B3-3; same A A 3-3", ""),
        ("show A1-5.; diff A B; same A A full", ""),
        ("show A1-5.; write B; same A A full", ""),
        // Lines that nothing newer touched still serve.
        ("show A1-5.; show B3-3; same A A 1-2", "A1-2@1 B3-3@2 A4-5.@1"),
    ]);
}

#[test]
fn an_own_write_is_held_whole() {
    check(&[
        ("write A", "A1-5.@1"),
        ("write E", "E.@1"),
        ("show A1-5.; write C", "C1-8.@2"),
        ("show C1-8.; write D", "D1-3.@2"),
        ("show A2-2; show B3-3; write A; diff A B", "B1-5.@4"),
        ("write A; write /y B", "A1-5.@1 /y B1-5.@2"),
    ]);
}

#[test]
fn an_own_edit_moves_what_is_held() {
    check(&[
        ("show A1-5.; edit A F 2-2 2", "F1-1@1 F2-3@2 F4-6.@1"),
        ("show A1-5.; edit A G 2-2 0", "G1-1@1 G2-4.@1"),
        ("show A1-5.; edit A B 2-3 2", "B1-1@1 B2-3@2 B4-5.@1"),
        ("show A1-5.; edit A C 1-1 4", "C1-4@2 C5-8.@1"),
        // Its answer names the number of lines, so an edit of the last line tells the end.
        ("show A1-5.; edit A F 1-5 6", "F1-6@2 F.@2"),
        ("show A1-5; edit A F 5-5 2", "F1-4@1 F5-6@2 F.@2"),
        ("show A1-5.; edit A E 1-5 0", "E.@2"),
        ("show A1-5.; edit A D 4-5 0", "D1-3@1 D.@2"),
        ("show A1-3; edit A F 5-5 2", "F1-3@1"),
        ("show A2-4; edit A F 3-3 2", "F2-2@1 F3-4@2 F5-5@1"),
        ("show A2-2; show A4-5.; edit A F 2-2 2", "F2-3@3 F5-6.@2"),
        ("show A1-5.; edit A F 2-2 2; same F F full", "F1-1@1 F2-3@2 F4-6.@1"),
        ("show A1-5.; edit A F 2-2 2; diff F A", "A1-5.@3"),
        ("write A; edit A F 5-5 2; edit F A 1-2 1", "A1-1@3 A2-3@1 A4-5@2 A.@2"),
        // Several places.
        ("show A1-5.; edit A F 1-1 2a,4-4 1a", "F1-2@2 F3-4@1 F5-5@2 F6-6.@1"),
        ("show A1-5.; edit A D 1-1 0,3-4 1", "D1-1@1 D2-2@2 D3-3.@1"),
    ]);
}

/// The answer states where an edit was, so nothing has to be looked for: only what the new lines are made of counts.
#[test]
fn an_own_edit_of_lines_that_were_not_shown() {
    check(&[
        // Not even a line beside them was: what stands in the call is held, but not what holds a rest of an old line.
        ("edit A F 2-2 2", ""),
        ("edit A F 2-3 3", "F3-3@1"),
        ("edit A F 2-3 3h", "F3-4@1"),
        ("edit A F 2-3 3a", ""),
        ("show A1-2; edit A F 4-4 2", "F1-2@1"),
        ("show A1-2; edit A F 2-3 3", "F1-1@1 F2-3@2"),
        ("show A3-4; edit A F 2-3 3", "F3-4@2 F5-5@1"),
        ("show A2-2; show A4-4; edit A F 2-4 4", "F2-5@3"),
        ("show A2-2; show A4-4; edit A F 2-4 4a", ""),
        ("show A1-5.; refresh 2-2; edit A F 2-2 2", "F1-1@1 F4-6.@1"),
        ("show A1-2; show /y A1-2; edit A F 4-4 2", "F1-2@1 /y A1-2@2"),
        ("void; show A1-2; edit A F 2-2 2", "F1-1@2 F2-3@3"),
    ]);
}

/// Of another text, lines before the edit stay where they were; those after it may have moved.
#[test]
fn an_own_edit_beside_lines_of_another_text() {
    check(&[
        ("show B1-5.; edit A F 2-2 2", "B1-1@1"),
        ("show A1-3; show B5-5; edit A F 2-2 2", "F1-1@1 F2-3@3 F4-4@1"),
        ("show A1-5.; show B5-5; edit A F 2-2 2", "F1-1@1 F2-3@3 F4-5@1 F.@1"),
        ("show B1-2; show A4-5.; edit A F 4-4 2", "B1-2@1 F4-5@3 F6-6.@2"),
        // The edited text has as many lines as the edit says: another's end, and lines beyond, are gone.
        ("show C1-8.; show A2-3; edit A F 3-3 2", "C1-1@1 F2-2@2 F3-4@3"),
        ("show D1-3.; show A4-5; edit A F 5-5 2", "D1-2@1 F4-4@2 F5-6@3 F.@3"),
    ]);
}

/// Lines of two texts that are the same count under both names, and so move with an edit of either.
#[test]
fn lines_that_are_the_same_in_two_texts() {
    check(&[
        ("show A1-5.; alike A B 4-6; edit B F 2-2 2", "A1-1@1 F5-6.@1"),
        ("show A1-5.; alike A B 2-2; edit B F 2-2 2", "A1-1@1 F2-3@3"),
        // Only what is held of that very text.
        ("show A1-2; alike B C 1-2; edit C B 1-4 1", ""),
        ("alike A B 1-5; edit B F 5-5 2", ""),
    ]);
    check_serves(&[
        ("show A1-2; show B3-4; alike A B 1-2", "1-4", "-", "B"),
        ("show A1-2; show B3-5.; alike A B 1-2", "full", "-", "B"),
        ("show A1-2; show B3-4; alike A B 1-1", "1-4", "-", "-"),
        // The older name still counts.
        ("show A1-5.; alike A B 2-3", "full", "A", "A"),
    ]);
}

/// Why lines are not held: the reason given must be the true one.
#[test]
fn why_lines_that_were_shown_are_gone() {
    let table: &[(&str, &str, Option<Gone>)] = &[
        ("show A1-5.; refresh 2-3", "1-5", Some(Gone::Refreshed)),
        ("show A1-5.; refresh full", "1-5", Some(Gone::Refreshed)),
        ("show A1-3; refresh full", "1-5", None),
        ("refresh full", "1-5", None),
        ("show A1-5.; void", "2-2", Some(Gone::Unplaced)),
        ("show A1-5.; void; show A1-5.; refresh 1-1", "1-2", Some(Gone::Refreshed)),
        ("show A1-5.; refresh full; show A1-5.", "1-5", None),
        ("show A1-5.; compact", "1-5", None),
        ("show B1-5.; edit A F 2-2 2", "5-6", Some(Gone::Edited)),
        ("show A1-5.; refresh 2-2; edit A F 2-2 2", "2-3", Some(Gone::Edited)),
        ("show A1-5.; refresh 4-4; edit A F 2-2 2", "5-5", Some(Gone::Refreshed)),
        ("show A1-5.; show C6-6", "5-5", Some(Gone::Changed)),
        ("show A1-2", "1-5", None),
    ];
    for (branch, ask, why) in table {
        let gone = known(branch, Answers::Held).why_gone(&PathKey::new("x"), lines(ask));
        assert_eq!(gone, *why, "{ask} after {branch}");
    }
    let gone = known("show A1-5.; edit A F 2-2 2", Answers::Seed).why_gone(&PathKey::new("x"), lines("2-3"));
    assert_eq!(gone, Some(Gone::Edited));
}

#[test]
fn what_serves_under_seed_and_under_held() {
    check_serves(&[
        ("show A1-5.", "full", "A", "A"),
        ("show A1-5", "full", "-", "-"),
        ("show A1-5", "1-5", "A", "A"),
        ("show E.", "full", "E", "E"),
        ("show A1-4", "1-4", "A", "A"),
        ("show A1-5.", "2-3", "A", "A"),
        ("show A4-5.", "4-5", "A", "A"),
        // Containing and adjoining spans add up.
        ("show A1-4", "2-3", "-", "A"),
        ("show A1-2; show A3-4", "1-4", "-", "A"),
        ("show A3-4; show A1-2", "2-3", "-", "A"),
        ("show A1-2; show A3-5.", "full", "-", "A"),
        ("show A1-5; show A.", "full", "-", "A"),
        ("show A1-2; show A4-5", "1-5", "-", "-"),
        // Mixed texts do not.
        ("show A1-2; show B3-4", "1-4", "-", "-"),
        ("show A1-2; show B3-5.", "full", "-", "-"),
        ("show A1-5.; show B2-3", "full", "-", "-"),
        ("show A1-5.; show B2-3", "2-3", "B", "B"),
        ("show A1-5.; show B2-3", "4-5", "-", "A"),
        ("show A1-5.; show B.", "full", "-", "-"),
        // An older range does not override a fresher whole file.
        ("show B2-3; show A1-5.", "2-3", "A", "A"),
        // What is left of a range is not the range that was read.
        ("show A2-5; refresh 4-4", "2-3", "-", "A"),
        ("show A2-4; show B4-4", "2-3", "-", "A"),
        ("show A1-5.; refresh 2-3", "full", "-", "-"),
        ("show A1-5.; refresh 2-3", "3-3", "-", "-"),
        ("show A1-5.; same A B 2-3", "2-3", "A", "B"),
        ("show A1-5.; diff A B", "full", "B", "B"),
        ("show A1-5.; diff A B", "2-3", "B", "B"),
        // Own writes and edits count under `Held` only.
        ("write A", "full", "-", "A"),
        ("write A", "2-3", "-", "A"),
        ("show A1-5.; write B", "2-3", "-", "B"),
        ("show A1-5.; edit A F 2-2 2", "full", "-", "F"),
        ("show A1-5.; edit A F 2-2 2", "5-6", "-", "F"),
    ]);
}

/// Numbers that look random and are the same on every run.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(n)).unwrap()
    }

    fn lines(&mut self, most: u32) -> Lines {
        let first = 1 + self.below(most);
        Lines::new(first, first + self.below(most - first + 1)).unwrap()
    }

    fn scope(&mut self, most: u32) -> Scope {
        if most == 0 || self.below(3) == 0 { Scope::Full } else { Scope::Lines(self.lines(most)) }
    }
}

/// The most lines a text of the random runs has.
const MOST: u32 = 12;

/// One path as a plain map: line slot → the text it is held under; the slot after the last line is the end. Beside it,
/// the newer text in which a slot is the same.
#[derive(Clone, Debug, Default, PartialEq)]
struct Slots(BTreeMap<u32, Version>, BTreeMap<u32, Version>);

impl Slots {
    fn all(version: Version) -> Self {
        Self((1..=version.total + 1).map(|slot| (slot, version)).collect(), BTreeMap::new())
    }

    fn of(held: &[Held]) -> Self {
        let mut slots = BTreeMap::new();
        for held in held {
            let lines = held.lines().into_iter().flat_map(|lines| lines.first()..=lines.last());
            let end = held.end().then(|| held.version().total + 1);
            slots.extend(lines.chain(end).map(|slot| (slot, held.version())));
        }
        Self(slots, BTreeMap::new())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    fn is_of(&self, slot: u32, hash: ContentHash) -> bool {
        [self.0.get(&slot), self.1.get(&slot)].into_iter().flatten().any(|version| version.hash == hash)
    }

    fn texts(&self, slot: u32) -> impl Iterator<Item = Version> {
        [self.1.get(&slot), self.0.get(&slot)].into_iter().flatten().copied()
    }

    fn one(&self, wanted: std::ops::RangeInclusive<u32>) -> Option<Version> {
        self.texts(*wanted.start()).find(|version| wanted.clone().all(|slot| self.is_of(slot, version.hash)))
    }

    fn whole(&self) -> Option<Version> {
        self.texts(1).find(|version| (1..=version.total + 1).all(|slot| self.is_of(slot, version.hash)))
    }

    fn keep(&mut self, is: impl Fn(u32) -> bool) {
        self.0.retain(|slot, _| is(*slot));
        self.1.retain(|slot, _| is(*slot));
    }

    fn show(&mut self, version: Version, lines: Option<Lines>, end: bool, part: Option<u32>) {
        self.keep(|slot| Some(slot) != part && (!end || slot <= version.total));
        for line in lines.into_iter().flat_map(|lines| lines.first()..=lines.last()) {
            self.0.insert(line, version);
            self.1.remove(&line);
        }
        if end {
            self.0.insert(version.total + 1, version);
        }
    }

    fn same(&mut self, base: ContentHash, version: Version, scope: Scope) {
        let needed = needed(version, scope);
        let relied = needed.clone().all(|slot| self.is_of(slot, base));
        if !relied || (scope == Scope::Full && base != version.hash) {
            return self.clear();
        }
        if base != version.hash {
            for slot in needed {
                // What it relied on becomes the text it is held under.
                if let Some(relied) = self.1.insert(slot, version).filter(|relied| relied.hash == base) {
                    self.0.insert(slot, relied);
                }
            }
        }
        if scope == Scope::Full && self.0.get(&(version.total + 1)) != Some(&version) {
            self.keep(|slot| slot <= version.total);
            self.0.insert(version.total + 1, version);
        }
    }

    /// The new number of a line is found by counting, one line of the text before after another.
    fn edit(&mut self, before: Version, after: Version, hunks: &[Hunk]) {
        let was = self.clone();
        self.clear();
        let held = |slot: u32| was.is_of(slot, before.hash);
        // A shown diff has three lines before its first change.
        let beside = if hunks.iter().any(|hunk| hunk.keeps == Keeps::Shown) { 3 } else { 0 };
        let first = hunks[0].old.first().saturating_sub(beside);
        let mut now = 1;
        for slot in 1..=before.total + 1 {
            if let Some(hunk) = hunks.iter().find(|hunk| hunk.old.first() == slot) {
                let all = (hunk.old.first()..=hunk.old.last()).all(held);
                for n in 0..hunk.new_count {
                    let (first, last) = (n == 0, n + 1 == hunk.new_count);
                    let known = match hunk.keeps {
                        Keeps::All => all,
                        Keeps::Unknown => false,
                        Keeps::Shown => true,
                        Keeps::Head => !first || held(hunk.old.first()),
                        Keeps::Ends => (!first || held(hunk.old.first())) && (!last || held(hunk.old.last())),
                    };
                    if known {
                        self.0.insert(now + n, after);
                    }
                }
                now += hunk.new_count;
            }
            if hunks.iter().any(|hunk| (hunk.old.first()..=hunk.old.last()).contains(&slot)) {
                continue;
            }
            if held(slot) {
                self.0.insert(now, after);
            } else if let Some(other) = was.0.get(&slot).filter(|_| slot < first) {
                self.0.insert(slot, *other);
                self.1.extend(was.1.get(&slot).map(|also| (slot, *also)));
            }
            now += 1;
        }
        let ends = hunks.last().is_some_and(|hunk| hunk.old.last() == before.total);
        if ends && (after.total == 0 || self.is_of(after.total, after.hash)) {
            self.0.insert(after.total + 1, after);
        }
    }

    fn alike(&mut self, version: Version, piece: Alike) {
        for slot in piece.first..=piece.last {
            if self.is_of(slot, piece.base) && piece.base != version.hash {
                // What it is called by becomes the text it is held under.
                if let Some(base) = self.1.insert(slot, version).filter(|also| also.hash == piece.base) {
                    self.0.insert(slot, base);
                }
            }
        }
    }

    fn refresh(&mut self, scope: Scope) {
        let Scope::Lines(lines) = scope else { return self.clear() };
        let last = self.0.values().any(|version| version.total <= lines.last());
        self.keep(|slot| slot < lines.first() || (slot > lines.last() && !last));
    }

    /// The last line or the end of a shorter text than was seen is held.
    fn is_passed(&self, version: Version, seen: u32) -> bool {
        self.0.iter().any(|(slot, at)| *at != version && at.total < seen && *slot >= at.total)
    }

    /// The end of the file is held of a text other than this one, at this slot.
    fn other_ends(&self, than: Version) -> impl Iterator<Item = u32> {
        self.0.iter().filter(move |(slot, at)| **slot == at.total + 1 && **at != than).map(|(slot, _)| *slot)
    }
}

fn needed(version: Version, scope: Scope) -> std::ops::RangeInclusive<u32> {
    scope.lines(version.total).map_or(version.total + 1..=version.total + 1, |lines| lines.first()..=lines.last())
}

/// All paths, one slot at a time.
#[derive(Clone, Debug, Default)]
struct Model(BTreeMap<PathKey, Slots>);

impl Model {
    fn of(&mut self, path: &PathKey) -> &mut Slots {
        self.0.entry(path.clone()).or_default()
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Shown { path, version, lines, end, part } => self.of(path).show(*version, *lines, *end, *part),
            Event::Same { path, base, version, scope, .. } => self.of(path).same(*base, *version, *scope),
            Event::Diff { path, base, version } => {
                let guard = self.of(path).whole().is_some_and(|held| held.hash == *base);
                *self.of(path) = if guard { Slots::all(*version) } else { Slots::default() };
            }
            Event::Written { path, version } => *self.of(path) = Slots::all(*version),
            Event::Edited { path, before, after, hunks } => self.of(path).edit(*before, *after, hunks),
            Event::Alike { path, version, pieces } => {
                pieces.iter().for_each(|piece| self.of(path).alike(*version, *piece));
            }
            Event::Refreshed { paths, scope } => paths.iter().for_each(|path| self.of(path).refresh(*scope)),
            Event::Void { path } => self.of(path).clear(),
            Event::Compacted => *self = Self::default(),
            // They only take, or have a guard of their own; each has a test of its own.
            Event::MarkerSent { .. } | Event::Seen { .. } | Event::Partial { .. } => {}
        }
    }
}

/// Events at the end of a file whose rule has tests of its own (here and in `decide.rs`): a line seen at or beyond an
/// end held of another text, a marker or an edit while another text's end or lines beyond are held. The random lists leave
/// them out.
fn concerns_the_end(held: &Slots, event: &Event) -> bool {
    match event {
        Event::Shown { version, lines, part, .. } => {
            let seen = lines.map(Lines::last).max(*part).unwrap_or(0);
            held.is_passed(*version, seen)
        }
        Event::Same { version, .. } | Event::Edited { before: version, .. } => {
            let beyond = held.0.iter().any(|(slot, at)| *slot > version.total && at != version);
            beyond || held.other_ends(*version).next().is_some() || held.is_passed(*version, version.total)
        }
        Event::Diff { .. }
        | Event::Alike { .. }
        | Event::Written { .. }
        | Event::Refreshed { .. }
        | Event::Void { .. }
        | Event::MarkerSent { .. }
        | Event::Partial { .. }
        | Event::Seen { .. }
        | Event::Compacted => false,
    }
}

/// A random branch over three paths and a handful of texts.
struct Branch {
    random: Lcg,
    texts: Vec<Version>,
    made: u32,
}

impl Branch {
    fn new(seed: u64) -> Self {
        let mut branch = Self { random: Lcg(seed), texts: Vec::new(), made: 0 };
        for n in 0..4 {
            // Two of them have the same number of lines: markers between texts are then common.
            let total = if n == 3 { branch.texts[2].total } else { branch.random.below(MOST + 1) };
            let text = branch.text(total);
            branch.texts.push(text);
        }
        branch
    }

    fn text(&mut self, total: u32) -> Version {
        self.made += 1;
        Version { hash: ContentHash::of(&self.made.to_le_bytes()), total, form: Form::Disk }
    }

    fn pick(&mut self) -> Version {
        self.texts[self.random.below(4) as usize]
    }

    fn path(&mut self) -> PathKey {
        PathKey::new(["x", "y", "z"][self.random.below(3) as usize])
    }

    /// Mostly the text of some held line, so that guards hold often enough.
    fn held(&mut self, slots: &Slots) -> Version {
        let at = self.random.below(MOST);
        match slots.0.range(at..).next() {
            Some((_, version)) if self.random.below(8) > 0 => *version,
            _ => self.pick(),
        }
    }

    fn shown(&mut self, path: PathKey) -> Event {
        let version = self.pick();
        let chance = self.random.below(8);
        if version.total == 0 || chance == 0 {
            return Event::Shown { path, version, lines: None, end: true, part: None };
        }
        if chance == 1 {
            let part = Some(1 + self.random.below(version.total));
            return Event::Shown { path, version, lines: None, end: false, part };
        }
        let lines = match self.random.scope(version.total) {
            Scope::Full => Lines::new(1, version.total).unwrap(),
            Scope::Lines(lines) => lines,
        };
        let end = lines.last() == version.total && self.random.below(2) == 0;
        Event::Shown { path, version, lines: Some(lines), end, part: None }
    }

    fn edited(&mut self, path: PathKey, before: Version) -> Event {
        if before.total == 0 {
            return Event::Void { path };
        }
        let mut hunks: Vec<Hunk> = Vec::new();
        let (mut from, mut total) = (1, before.total);
        while from <= before.total && hunks.len() < 3 && (hunks.is_empty() || self.random.below(2) == 0) {
            let first = from + self.random.below(before.total - from + 1);
            let old = Lines::new(first, first + self.random.below(before.total - first + 1)).unwrap();
            let new_count = self.random.below(MOST - (total - old.count()) + 1).min(3);
            let keeps =
                [Keeps::Ends, Keeps::Head, Keeps::All, Keeps::Unknown, Keeps::Shown][self.random.below(5) as usize];
            total = total - old.count() + new_count;
            hunks.push(Hunk { old, new_count, keeps });
            from = old.last() + 1;
        }
        let after = self.text(total);
        self.texts[0] = after;
        Event::Edited { path, before, after, hunks }
    }

    /// Lines of a text that are those of another, their end too if both have as many.
    fn alike(&mut self, path: PathKey, base: Version) -> Event {
        let version = self.pick();
        let common = base.total.min(version.total) + u32::from(base.total == version.total);
        if common == 0 {
            return Event::Void { path };
        }
        let lines = self.random.lines(common);
        Event::Alike {
            path,
            version,
            pieces: vec![Alike { base: base.hash, first: lines.first(), last: lines.last() }],
        }
    }

    /// Only events that rely on others: they cannot create knowledge.
    fn derived(&mut self, slots: &Slots, path: PathKey) -> Event {
        let base = self.held(slots);
        match self.random.below(10) {
            8 | 9 => self.alike(path, base),
            0..=3 => {
                let scope = self.random.scope(base.total);
                let other = Version { total: base.total, ..self.pick() };
                let same_length = self.texts.contains(&other) && scope != Scope::Full;
                let version = if same_length { other } else { base };
                Event::Same { path, base: base.hash, version, scope, ends: base.hash == version.hash }
            }
            4 => Event::Diff { path, base: base.hash, version: self.pick() },
            5 => Event::Refreshed { paths: vec![path, self.path()], scope: self.random.scope(MOST + 2) },
            _ => self.edited(path, base),
        }
    }

    fn event(&mut self, model: &mut Model) -> Event {
        let path = self.path();
        match self.random.below(24) {
            0..=9 => self.shown(path),
            10 => Event::Written { path, version: self.pick() },
            11 if self.random.below(4) == 0 => Event::Void { path },
            12 if self.random.below(8) == 0 => Event::Compacted,
            _ => self.derived(&model.of(&path).clone(), path),
        }
    }
}

fn agree(knowledge: &Knowledge, model: &mut Model, told: &dyn Fn() -> String) {
    for path in ["x", "y", "z"].map(PathKey::new) {
        let slots = model.of(&path);
        assert_eq!(Slots::of(knowledge.of(&path)).0, slots.0, "{path}: {}", told());
        assert_eq!(knowledge.holds_whole(&path, Form::Disk, Answers::Held), slots.whole(), "whole {path}: {}", told());
        for first in 1..=MOST + 2 {
            for last in first..=MOST + 2 {
                // The slot of an end is no line.
                if (first..=last).any(|slot| slots.0.get(&slot).is_some_and(|at| at.total < slot)) {
                    break;
                }
                let lines = Lines::new(first, last).unwrap();
                let expected = slots.one(first..=last).map(|version| version.hash);
                let got = knowledge.holds_lines(&path, lines, Form::Disk, Answers::Held);
                assert_eq!(got, expected, "{path} {first}-{last}: {}", told());
            }
        }
    }
}

#[test]
fn a_partial_answer_stands_for_its_window_if_what_it_names_is_held() {
    check(&[
        ("show A1-3; part A 1-5 A1-3", "A1-5.@2"),
        ("show A1-3; part A 1-4 A1-3", "A1-4@2"),
        ("show A1-3; part A 2-4 A2-3", "A1-1@1 A2-4@2"),
        ("show A1-3; part A 1-5", "A1-5.@2"),
        // Of another text, where the numbers are the same.
        ("show A1-5.; part B 1-3 A1-1 A3-3", "B1-3@2 A4-5.@1"),
        ("show A1-5.; show B2-2; part B 1-5 A1-1 B2-2 A3-5", "B1-5.@3"),
        // Fewer lines than before: what was beyond is gone. More: the end is not where it was.
        ("show C1-8.; part A 1-2 C1-1", "A1-2@2 C3-5@1"),
        ("show A1-5.; part C 1-2 A1-1", "C1-2@2 A3-4@1"),
        // Not held, held of another text, held no longer, or not confirmed as lines at all: nothing is known any more.
        ("part A 1-5 A1-3", ""),
        ("show A1-3; part A 1-5 A1-4", ""),
        ("show A1-3; part B 1-5 B1-3", ""),
        ("show A1-3; show B2-2; part B 1-5 A1-3", ""),
        ("show A1-5.; refresh 2-2; part A 1-5 A1-3", ""),
        ("show D1-3.; part A 1-5 D1-4", ""),
        // Pieces that overlap, are out of order or beyond the window.
        ("show A1-5.; part A 1-5 A1-3 A3-4", ""),
        ("show A1-5.; part A 1-5 A3-4 A1-2", ""),
        ("show A1-5.; part A 1-3 A1-4", ""),
        ("show A1-5.; part A 1-6 A1-5", ""),
    ]);
}

#[test]
fn a_line_that_moved_is_named_only_by_a_number_that_no_other_text_had() {
    check(&[
        ("show A1-5.; part F 1-6 A1-2 A3-5>4", "F1-6.@2"),
        ("show A2-5.; part F 4-5 A3-4>4", "A2-3@1 F4-5@2"),
        // Another text was shown there, before or after, and whether or not it is held.
        ("show B3-3; show A1-5.; part F 1-6 A1-2 A3-5>4", ""),
        ("show B5-5; show A1-5.; part F 1-5 A1-2 A3-4>4", "F1-5@3"),
        ("see B3-3; show A1-5.; part F 1-6 A1-2 A3-5>4", ""),
        ("see A3-3; show A1-5.; see A3-3; part F 1-6 A1-2 A3-5>4", ""),
        ("show A1-5.; see A3-3; part F 1-6 A1-2 A3-5>4", "F1-6.@3"),
        ("show B!3; show A1-5.; part F 1-6 A1-2 A3-5>4", ""),
        ("write B; show A1-5.; part F 1-6 A1-2 A3-5>4", ""),
        ("show A1-5.; refresh 3-3; show A3-3; part F 1-6 A1-2 A3-5>4", ""),
        ("void; show A1-5.; part F 1-6 A1-2 A3-5>4", ""),
        ("show B1-5.; compact; show A1-5.; part F 1-6 A1-2 A3-5>4", "F1-6.@4"),
        // The agent's own edit gave the numbers to other lines; those before it kept theirs.
        ("show G1-4.; edit G A 1-1 2; part F 1-6 A1-2 A3-5>4", ""),
        ("show B1-5.; edit B A 5-5 1; part F 1-5 A1-2 A3-4>4", "F1-5@3"),
        ("show B1-5.; edit B A 3-3 1; part F 1-6 A1-2 A3-5>4", ""),
        ("show C4-6; edit A G 1-2 1; show G1-4.; part F 1-5 G1-2 G3-4>4", ""),
        ("show C4-4; show A4-4; edit A G 1-2 1; show G1-4.; part F 1-5 G1-2 G3-4>4", ""),
        ("edit A B 3-3 1; show B1-5.; part F 1-6 B1-2 B3-5>4", ""),
        ("show C1-5; edit A B 1-1 1; show B1-5.; part F 1-6 B1-2 B3-5>4", ""),
        ("show G1-4.; edit G A 4-4 2; part F 1-5 A1-2 A3-3>4", "F1-5@3"),
        // A line that has not moved needs no number but its own.
        ("show B1-5.; show A1-5.; part F 1-5 A1-2", "F1-5@3"),
    ]);
}

#[test]
fn random_branches_agree_with_the_model() {
    let mut kept = BTreeMap::new();
    for seed in 0..4000 {
        let mut branch = Branch::new(seed);
        let (mut knowledge, mut model) = (Knowledge::default(), Model::default());
        let mut events: Vec<Event> = Vec::new();
        for at in 0..40 {
            let event = branch.event(&mut model);
            if event_path(&event).is_some_and(|path| concerns_the_end(model.of(path), &event)) {
                continue;
            }
            knowledge.apply(at, &event, Answers::Held);
            model.apply(&event);
            if let Some(path) = event_path(&event).filter(|path| !model.of(path).0.is_empty()) {
                *kept.entry((kind(&event), model.of(path).whole().is_some())).or_insert(0) += 1;
            }
            events.push(event);
            agree(&knowledge, &mut model, &|| format!("seed {seed}: {events:#?}"));
        }
    }
    // A guard that never held would prove nothing.
    for kind in ["shown", "same", "diff", "written", "edited", "alike"] {
        let count = kept.get(&(kind, true)).unwrap_or(&0);
        assert!(*count > 100, "{kind} left a whole file {count} times: {kept:?}");
    }
}

#[test]
fn derived_events_alone_create_nothing() {
    for seed in 0..4000 {
        let mut branch = Branch::new(seed);
        let mut knowledge = Knowledge::default();
        for at in 0..40 {
            let path = branch.path();
            let event = branch.derived(&Slots::default(), path);
            // New lines stand in the call of an edit: it shows text.
            if matches!(event, Event::Edited { .. }) {
                continue;
            }
            knowledge.apply(at, &event, Answers::Held);
            assert_eq!(knowledge.paths().count(), 0, "seed {seed}: {event:?}");
        }
    }
}

fn event_path(event: &Event) -> Option<&PathKey> {
    match event {
        Event::Shown { path, .. }
        | Event::Same { path, .. }
        | Event::Diff { path, .. }
        | Event::Written { path, .. }
        | Event::Edited { path, .. }
        | Event::Alike { path, .. }
        | Event::Partial { path, .. }
        | Event::Void { path } => Some(path),
        Event::MarkerSent { .. } | Event::Seen { .. } | Event::Refreshed { .. } | Event::Compacted => None,
    }
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Shown { .. } => "shown",
        Event::Same { .. } => "same",
        Event::Diff { .. } => "diff",
        Event::Written { .. } => "written",
        Event::Edited { .. } => "edited",
        Event::Alike { .. } => "alike",
        Event::Partial { .. } => "partial",
        Event::Refreshed { .. } => "refreshed",
        Event::Void { .. } => "void",
        Event::MarkerSent { .. } => "told",
        Event::Seen { .. } => "seen",
        Event::Compacted => "compacted",
    }
}

#[test]
fn lines_seen_beside_reads_are_taken_from_other_texts_and_add_nothing() {
    check(&[
        ("see A1-5", ""),
        ("show A1-5.; see A2-3", "A1-5.@1"),
        ("show A1-5.; see B2-3", "A1-1@1 A4-5.@1"),
        ("show A1-5.; see B1-1,3-3", "A2-2@1 A4-5.@1"),
        ("show A1-2; show B3-5.; see B1-5", "B3-5.@2"),
        ("show A1-2; show B3-5.; see A4-4", "A1-2@1 B3-3@2 B5-5.@2"),
        // The file goes on: where the shorter text ended, and how its last line did, is not known any more.
        ("show A1-5.; see C7-7", "A1-4@1"),
        ("show A1-5.; same A B 2-3; see B2-2", "A1-1@1 A2-3@1 A4-5.@1"),
        ("show A1-5.; see /y B2-3", "A1-5.@1"),
        ("show A1-5.; see B2-3; show A2-3", "A1-1@1 A2-3@3 A4-5.@1"),
    ]);
}

/// A text of five lines has no line 7, so it cannot serve one that another text showed.
#[test]
fn under_seed_a_whole_text_does_not_serve_lines_it_does_not_have() {
    check_serves(&[("show A1-5.; show C7-8", "7-7", "-", "C"), ("show A1-5.; show C7-8", "8-8", "-", "C")]);
}

/// The end can be visible without the lines before it: a text that names the total, a tail after a gap.
#[test]
fn an_end_that_is_seen_does_not_fill_the_lines_before_it() {
    check_serves(&[("show A1-2.", "3-5", "-", "-"), ("show A1-2.", "full", "-", "-")]);
}

/// A marker relies on lines of its base; the base's end is none.
#[test]
fn a_marker_beyond_its_bases_last_line_adds_no_line() {
    check_serves(&[("show A1-5.; same A C 6-6", "6-6", "-", "-"), ("show A1-5.; same A C 5-6", "6-6", "-", "-")]);
}

/// Records come from files, so their numbers can be anything.
#[test]
fn an_edit_with_an_absurd_count_is_no_panic() {
    let mut knowledge = known("show A1-5.", Answers::Held);
    let hunks = vec![Hunk { old: lines("2-2"), new_count: u32::MAX, keeps: Keeps::Ends }];
    let (path, before, after) = (PathKey::new("x"), version("A"), version("F"));
    knowledge.apply(2, &Event::Edited { path, before, after, hunks }, Answers::Held);
    assert_eq!(draw(&knowledge), "");
}

#[test]
fn a_marker_on_its_way_takes_what_it_may_contradict_and_adds_nothing() {
    let told = |branch: &str, total: u32, lines: &str| {
        let mut knowledge = known(branch, Answers::Held);
        let now = Version { hash: ContentHash::of(b"told"), total, form: Form::Disk };
        let (path, base, scope) = (PathKey::new("x"), version("A").hash, scope(lines));
        knowledge.apply(9, &Event::MarkerSent { path, base, version: now, scope, ends: true }, Answers::Held);
        draw(&knowledge)
    };
    let all = draw(&known("show A1-5.", Answers::Held));
    assert_eq!(told("show A1-5.", 5, "2-3"), all, "the same number of lines says nothing new");
    assert_eq!(told("show A1-5.", 3, "2-3"), draw(&known("show A1-3", Answers::Held)), "lines beyond are gone");
    assert_eq!(told("show A1-5.", 9, "2-3"), draw(&known("show A1-4", Answers::Held)), "the file goes on");
    assert_eq!(told("void", 5, "2-3"), "", "nothing is held of it");
    assert_eq!(told("show A1-1", 5, "2-3"), "", "what it relies on is not held, so what was seen cannot be placed");
}

#[test]
fn a_last_line_may_have_had_no_terminator() {
    check(&[
        // A has five lines, C eight: once line 6 was seen, line 5 of A may have gained a terminator.
        ("show A1-5.; show C6-6", "A1-4@1 C6-6@2"),
        ("show A1-5.; refresh 6-9; show C6-6", "A1-4@1 C6-6@3"),
        ("show A1-4; show C6-6", "A1-4@1 C6-6@2"),
    ]);
}

/// A record can say anything; its sums must not leave 32 bits.
#[test]
fn numbers_that_no_text_has_void_the_path() {
    let path = PathKey::new("x");
    let version = |total| Version { hash: ContentHash::of(b"a"), total, form: Form::Disk };
    let edited = |total, first, last, new_count| {
        let hunks = vec![Hunk { old: Lines::new(first, last).unwrap(), new_count, keeps: Keeps::Ends }];
        Event::Edited { path: path.clone(), before: version(total), after: version(total), hunks }
    };
    for total in [u32::MAX, u32::MAX - 1, u32::MAX - 2, (1 << 30) + 1] {
        let whole = Lines::new(1, total);
        for event in [
            Event::Shown { path: path.clone(), version: version(total), lines: whole, end: true, part: None },
            Event::Written { path: path.clone(), version: version(total) },
            edited(total, total, total, 1),
        ] {
            let mut knowledge = Knowledge::default();
            knowledge.apply(1, &event, Answers::Held);
            assert_eq!(draw(&knowledge), "", "{event:?}");
        }
    }
    // An edit after the last line.
    let mut knowledge = Knowledge::default();
    knowledge.apply(1, &Event::Written { path: path.clone(), version: version(5) }, Answers::Held);
    knowledge.apply(2, &edited(5, u32::MAX, u32::MAX, 1), Answers::Held);
    assert_eq!(draw(&knowledge), "");
}

#[test]
fn one_text_with_two_numbers_of_lines_voids_the_path() {
    let path = PathKey::new("x");
    let version = |total| Version { hash: ContentHash::of(b"a"), total, form: Form::Disk };
    let shown = |total, lines: Option<Lines>| Event::Shown {
        path: path.clone(),
        version: version(total),
        lines,
        end: true,
        part: None,
    };
    let mut knowledge = Knowledge::default();
    knowledge.apply(1, &shown(2, None), Answers::Held);
    // Line 3 was never shown, but the end of the shorter one would stand there.
    knowledge.apply(2, &shown(3, Lines::new(1, 2)), Answers::Held);
    assert_eq!(knowledge.holds_whole(&path, Form::Disk, Answers::Held), None);
    assert_eq!(draw(&knowledge), "");
}
