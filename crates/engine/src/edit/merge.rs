//! Three texts made one. The base is what the edit was made for, ours the base with the edit, theirs what stands in the file.

use gix_merge::blob::{
    Resolution,
    builtin_driver::text as merge,
    builtin_driver::text::{Conflict, ConflictStyle, Labels, Options},
};
use readproof_core::text::Text;

/// A text with more lines or bytes is not merged: the work could take too long.
const MOST_LINES: u32 = 100_000;
const MOST_BYTES: usize = 8 << 20;

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Both changes stand in it, and no line was changed by both.
    Clean(Text),
    /// Both changed the same lines; these stand between markers.
    Conflict(Text),
    /// The texts are too large.
    TooLarge,
}

/// Merges two changes of one text.
#[must_use]
pub fn three_way(base: &Text, ours: &Text, theirs: &Text) -> Merged {
    let fits = |text: &Text| text.total() <= MOST_LINES && text.as_str().len() <= MOST_BYTES;
    if ![base, ours, theirs].into_iter().all(fits) {
        return Merged::TooLarge;
    }
    if ours.as_str() == theirs.as_str() || theirs.as_str() == base.as_str() {
        return Merged::Clean(ours.clone());
    }
    let labels = Labels { ancestor: Some("base".into()), current: Some("ours".into()), other: Some("theirs".into()) };
    let conflict = match Conflict::default() {
        Conflict::Keep { marker_size, .. } => Conflict::Keep { style: ConflictStyle::Diff3, marker_size },
        other @ (Conflict::ResolveWithOurs | Conflict::ResolveWithTheirs | Conflict::ResolveWithUnion) => other,
    };
    let (mut out, mut input) = (Vec::new(), gix_imara_diff::InternedInput::default());
    let [current, ancestor, other] = [ours, base, theirs].map(|text| text.as_str().as_bytes());
    let options = Options { conflict, ..Options::default() };
    let found = merge(&mut out, &mut input, labels, current, ancestor, other, options);
    // Lines of texts are joined, so the result is a text too.
    let Ok(text) = String::from_utf8(out) else { return Merged::TooLarge };
    match found {
        Resolution::Complete => Merged::Clean(Text::new(text)),
        Resolution::CompleteWithAutoResolvedConflict | Resolution::Conflict => Merged::Conflict(Text::new(text)),
    }
}
