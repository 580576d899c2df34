//! What must hold for any knowledge, however it came about.

use readproof_core::{
    knowledge::{Knowledge, Place},
    limits::Answers,
    scope::Lines,
    text::Form,
};

/// Spans are in order, none occurs twice, each is of an existing entry, and together they are what is said to be held.
/// Returns a few bits that characterize them.
pub(super) fn sound(knowledge: &Knowledge, newest: Place) -> u64 {
    let mut kind = 0;
    for (path, spans) in knowledge.paths() {
        let mut before = 0;
        for held in spans {
            assert!(held.at() <= newest, "{path}: held since {}, which is not there yet", held.at());
            assert!(held.lines().is_some() || held.end(), "{path}: an empty span");
            if let Some(lines) = held.lines() {
                assert!(lines.first() > before && lines.last() <= held.version().total, "{path}: {spans:?}");
                before = lines.last();
                let text = held.version().id();
                assert!(knowledge.holds_lines_of(path, lines, text, Answers::Held), "{path}: {lines:?} of {spans:?}");
                assert!(knowledge.holds_lines(path, lines, text.form, Answers::Held).is_some());
            }
            kind |= 1 << u64::from(held.end()) | u64::from(held.lines().is_some()) << 2;
        }
        kind |= u64::from(spans.len() > 1) << 3;
        let whole = knowledge.holds_whole(path, Form::Disk, Answers::Held);
        assert!(
            whole.is_some() || knowledge.holds_whole(path, Form::Disk, Answers::Seed).is_none(),
            "{path}: fewer answers hold more"
        );
        if let Some(version) = whole {
            kind |= 1 << 4;
            let lines = Lines::new(1, version.total);
            assert!(
                lines.is_none_or(|lines| knowledge.holds_lines_of(path, lines, version.id(), Answers::Held)),
                "{path}"
            );
        }
    }
    kind
}

/// Whether both are the same, entry by entry.
pub(super) fn equal(a: &Knowledge, b: &Knowledge) -> bool {
    a.paths().eq(b.paths())
}
