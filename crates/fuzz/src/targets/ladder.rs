//! The places of edits. Input: parts separated by bytes 0xff: a text, then for each piece an old and a new text and a byte that says
//! how it is meant. Whatever is made must be the text with only the places of the pieces replaced.

use readproof_core::{
    edit::{Edit, EditError, Numbers, Piece, Places, Shape, place},
    text::Text,
};
use readproof_testkit::op::Random;

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "ladder",
    accepts: "the edit is made",
    check,
    start,
    words: &[
        "a\n",
        "b\n",
        "  a\n",
        "\ta\n",
        "    b\n",
        "a \n",
        "a\r\n",
        "\n",
        " \n",
        "“a”\n",
        "\"a\"\n",
        "1\ta\n",
        "2\tb\n",
        "1: a\n",
        "...\n",
        "\u{feff}",
        "\u{a0}",
        "–",
        "-",
        "[readcache: x]\n",
        "aa",
        "\u{ff}",
    ],
    most: 1200,
};

const BREAK: u8 = 0xff;

fn start(random: &mut Random) -> Vec<u8> {
    let words = ["a\n", "b\n", "  a\n", "\tb\n", "c \n", "\n", "“d”\n", "e\r\n", "f - g\n", "x", "    y\n"];
    let lines: Vec<&str> = (0..=random.below(14)).map(|_| *random.pick(&words).unwrap_or(&"")).collect();
    let mut input = lines.concat().into_bytes();
    for _ in 0..=random.below(3) {
        let from = random.below(lines.len());
        let until = from + random.below(lines.len() - from) + 1;
        let old = lines[from..until].concat();
        let old = match random.below(6) {
            0 => old.replace("  ", ""),
            1 => old.lines().map(|line| format!("{}\n", line.trim_end())).collect(),
            2 => old.replace(['“', '”'], "\""),
            3 => old.replace("\r\n", "\n"),
            4 => old.lines().enumerate().map(|(n, line)| format!("{n}\t{line}\n")).collect(),
            _ => old,
        };
        let new = [&old, words[random.below(words.len())]].concat();
        for part in [old.as_bytes(), new.as_bytes(), &[u8::try_from(random.below(64)).unwrap_or(0)]] {
            input.push(BREAK);
            input.extend_from_slice(part);
        }
    }
    input
}

fn check(input: &[u8]) -> Seen {
    let text = |part: &[u8]| String::from_utf8_lossy(part).replace('\0', "");
    let mut parts = input.split(|byte| *byte == BREAK);
    let base = Text::new(text(parts.next().unwrap_or_default()));
    let mut pieces = Vec::new();
    while let (Some(old), Some(new)) = (parts.next(), parts.next()) {
        let how = parts.next().and_then(|how| how.first().copied()).unwrap_or(0);
        let shape = [Shape::Text, Shape::Block, Shape::Hunk, Shape::Hunk][usize::from(how & 3)];
        let places = if how & 12 == 12 { Places::All } else { Places::One };
        let line = (how & 16 != 0).then(|| u32::from(how >> 5) + 1);
        let piece = Piece::replace(text(old), text(new), places);
        pieces.push(Piece { shape, line, ordered: shape == Shape::Hunk, at_end: how & 48 == 48, ..piece });
    }
    let numbers = if input.len().is_multiple_of(2) { Numbers::BreakTies } else { Numbers::Ignore };
    let made = place(&base, &pieces, numbers);
    assert_eq!(made, place(&base, &pieces, numbers), "the same call twice");
    match made {
        Ok(edit) => {
            outside(&base, &edit);
            let kinds = edit.assumed.iter().fold(0, |kinds, assumed| kinds | 1 << (kind(&assumed.what) % 16));
            assert!(edit.noop == (base.as_str() == edit.after.as_str()));
            if let ([piece], true, Places::One) =
                (&pieces[..], edit.assumed.is_empty(), pieces.first().map_or(Places::All, |p| p.places))
            {
                literal(base.as_str(), piece, &edit);
            }
            Seen { accepted: true, kind: kinds | (edit.count.min(7) as u64) << 20 | (pieces.len().min(3) as u64) << 24 }
        }
        Err(error) => {
            assert_ne!(error, EditError::Unverified);
            Seen { accepted: false, kind: refusal(&base, &error) }
        }
    }
}

/// Without an assumption, a single piece is replaced to the byte.
fn literal(base: &str, piece: &Piece, edit: &Edit) {
    let made = edit.after.as_str();
    let mut places = (0..base.len()).filter(|at| base.get(*at..).is_some_and(|rest| rest.starts_with(&piece.old)));
    let fits = places.any(|at| made == [&base[..at], &piece.new, &base[at + piece.old.len()..]].concat());
    assert!(fits || piece.old.is_empty(), "{base:?} {piece:?} {made:?}");
}

/// Lines outside the hunks are as before, and the numbers of lines add up.
fn outside(base: &Text, edit: &Edit) {
    let (mut old, mut new) = (1, 1);
    let ends = edit.hunks.iter().map(|hunk| (hunk.old.first(), hunk.old.last() + 1, hunk.new_count));
    let all: Vec<(u32, u32, u32)> = ends.chain([(base.total() + 1, base.total() + 1, 0)]).collect();
    if base.total() == 0 {
        return;
    }
    for (first, end, count) in all {
        while old < first {
            assert_eq!(base.line(old), edit.after.line(new), "{base:?} {edit:?}");
            (old, new) = (old + 1, new + 1);
        }
        (old, new) = (end, new + count);
    }
    assert_eq!(new, edit.after.total() + 1, "{base:?} {edit:?}");
}

fn kind(what: &readproof_core::edit::Looseness) -> u64 {
    use readproof_core::edit::{Looseness, Shift};
    match what {
        Looseness::LineEnds => 0,
        Looseness::FinalNewline => 1,
        Looseness::TrailingBlanks => 2,
        Looseness::Indentation { by: Shift::Deeper(_) } => 3,
        Looseness::Indentation { by: Shift::Shallower(_) } => 4,
        Looseness::Indentation { by: Shift::Tabs(_) } => 5,
        Looseness::Indentation { by: Shift::Spaces(_) } => 6,
        Looseness::Punctuation => 7,
        Looseness::LineNumbers => 8,
        Looseness::OwnEdit => 9,
    }
}

fn refusal(base: &Text, error: &EditError) -> u64 {
    match error {
        EditError::Empty => 1,
        EditError::NotText => 2,
        EditError::NotFound { nearest: None, .. } => 3,
        EditError::NotFound { nearest: Some(near), .. } => {
            assert!(near.lines.count() <= 40 && near.lines.last() <= base.total(), "{near:?}");
            let line = base.line(near.differs_at);
            assert_eq!(line.strip_suffix('\n').unwrap_or(line), near.found);
            assert!(
                near.differs_at == base.total() + 1
                    || (near.lines.first()..=near.lines.last()).contains(&near.differs_at)
            );
            4 | u64::from(near.lines.count() / 8) << 8
        }
        EditError::Many { count, places, .. } => {
            assert!(*count > 1 && !places.is_empty() && places.len() <= 16 || *count == 1, "{error:?}");
            5 | (*count as u64).min(15) << 8
        }
        EditError::Overlap { first, second } => {
            assert!(first <= second);
            6
        }
        EditError::Elision { .. } => 7,
        EditError::NoContext { .. } => 8,
        EditError::Ours { .. } => 9,
        EditError::Anchor { .. } => 10,
        EditError::Unverified => 11,
    }
}
