//! The text of a partial answer: one line that says which lines of the file it is about, which of them follow, and that the others
//! are as they were shown; then the lines that follow. The first line fixes every boundary by numbers, so file text cannot be taken
//! for one of ours. Between runs that are apart a line of ours says where the next begins.

use alloc::{format, string::String, vec::Vec};

use super::{MARKER, looks_like_marker};
use crate::{
    knowledge::piece::{Piece, others_than},
    scope::Lines,
    text::Text,
};

/// The text for a window of which these pieces, in order, are held; `None` if a line that would be sent looks like one of ours.
#[must_use]
pub fn partial(now: &Text, window: Lines, pieces: &[Piece]) -> Option<String> {
    let sent = others_than(window, pieces);
    let runs = |runs: &[Lines]| runs.iter().map(|run| range(*run)).collect::<Vec<_>>().join(", ");
    let moved: Vec<Piece> = pieces.iter().filter(|piece| piece.is_moved()).copied().collect();
    let moved =
        moved.iter().filter_map(|piece| Some(format!("{} were {}", range(piece.lines), range(piece.held_lines()?))));
    let moved = moved.collect::<Vec<_>>().join(", ");
    let others = if moved.is_empty() { String::new() } else { format!(" ({moved})") };
    let following = if sent.is_empty() { String::from("none") } else { runs(&sent) };
    let (first, last, total) = (window.first(), window.last(), now.total());
    let mut text = format!("{MARKER}lines {first}-{last} of {total}; sent: {following}; others unchanged{others}]\n");
    for (at, run) in sent.iter().enumerate() {
        if at > 0 {
            text.push_str(&format!("{MARKER}{}]\n", range(*run)));
        }
        let lines = now.slice(*run);
        if looks_like_marker(lines) {
            return None;
        }
        text.push_str(lines);
    }
    Some(text)
}

/// `7-9`, or `7` for one line.
fn range(lines: Lines) -> String {
    if lines.count() == 1 { format!("{}", lines.first()) } else { format!("{}-{}", lines.first(), lines.last()) }
}
