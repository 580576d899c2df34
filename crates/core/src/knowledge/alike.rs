//! Finds lines that are held of other texts and are equal in the present one. The model is told nothing by this: it already
//! holds these lines, and now it is known that they are lines of the present text too.

use alloc::vec::Vec;

use crate::{
    knowledge::{Alike, Held},
    text::{ContentHash, Text},
};

/// The most pieces that are found. Lines after them are held only of their old text, which is safe.
const MOST_PIECES: usize = 64;

/// The most other texts that are loaded and compared.
const MOST_TEXTS: usize = 8;

/// The lines held of other texts in the same form that are equal in `now` under the same numbers. `load` gives a stored text,
/// verified.
pub fn alike(held: &[Held], now: &Text, mut load: impl FnMut(ContentHash) -> Option<Text>) -> Vec<Alike> {
    let mut pieces: Vec<Alike> = Vec::new();
    let mut texts: Vec<(ContentHash, Option<Text>)> = Vec::new();
    let of_this_form = held.iter().filter(|span| span.version().form == now.form());
    for span in of_this_form.filter(|span| !span.is_of(now.id())) {
        let base = span.version().hash;
        if !texts.iter().any(|(hash, _)| *hash == base) {
            if texts.len() == MOST_TEXTS {
                break;
            }
            texts.push((base, load(base)));
        }
        let Some((_, Some(text))) = texts.iter().find(|(hash, _)| *hash == base) else { continue };
        let (first, last) = span.slots();
        for slot in first..=last {
            if !same_at(text, now, slot) {
                continue;
            }
            if pieces.len() > MOST_PIECES {
                pieces.pop();
                return pieces;
            }
            match pieces.last_mut().filter(|piece| piece.base == base && piece.last + 1 == slot) {
                Some(piece) => piece.last = slot,
                None => pieces.push(Alike { base, first: slot, last: slot }),
            }
        }
    }
    pieces
}

/// Whether two texts are equal at a slot: the same line with the same terminator, or both end there.
fn same_at(one: &Text, other: &Text, slot: u32) -> bool {
    let total = one.total();
    if slot > total {
        // A model that saw the last line without a terminator, and then with one, no longer knows that the file ends there.
        let open = |text: &Text| !text.as_str().ends_with('\n');
        return slot == total + 1 && total == other.total() && open(one) == open(other);
    }
    slot <= other.total() && one.line(slot) == other.line(slot)
}

/// Whether recorded pieces are true, by comparing the texts again; `None` if a text is not stored.
pub fn holds(pieces: &[Alike], now: &Text, mut load: impl FnMut(ContentHash) -> Option<Text>) -> Option<bool> {
    for piece in pieces {
        let text = load(piece.base)?;
        let within = piece.first >= 1 && piece.last <= text.total().saturating_add(1);
        if !within || !(piece.first..=piece.last).all(|slot| same_at(&text, now, slot)) {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_ends_that_are_the_same() {
        let text = |text: &str| Text::new(text.into());
        for (one, other, same) in [
            ("a\nb\n", "a\nb\n", [true, true, true, false]),
            ("a\nb\n", "a\nc\n", [true, false, true, false]),
            ("a\nb\n", "a\nb", [true, false, false, false]),
            ("a\nb", "a\nc", [true, false, true, false]),
            ("a\nb\n", "a\n", [true, false, false, false]),
            ("", "a\n", [false, false, false, false]),
            ("", "", [true, false, false, false]),
        ] {
            let found = [1, 2, 3, 4].map(|slot| same_at(&text(one), &text(other), slot));
            assert_eq!(found, same, "{one:?} {other:?}");
        }
        let base = text("a\nb\nc\n");
        let piece = |first, last| Alike { base: base.hash(), first, last };
        let check = |pieces: &[Alike], now: &str| holds(pieces, &text(now), |_| Some(base.clone()));
        assert_eq!(check(&[piece(1, 2), piece(4, 4)], "a\nb\nx\n"), Some(true));
        assert_eq!(check(&[piece(2, 3)], "a\nb\nx\n"), Some(false));
        assert_eq!(check(&[piece(0, 1)], "a\n"), Some(false));
        assert_eq!(check(&[piece(5, 5)], "a\nb\nc\n"), Some(false));
        assert_eq!(holds(&[piece(1, 1)], &base, |_| None), None);
    }
}
