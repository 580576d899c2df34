//! What `/readcache-status` shows the person.

use readproof_engine::ConversationStatus;
use std::fmt::Write;

/// Writing to a `String` cannot fail.
pub(super) fn text(status: &ConversationStatus) -> String {
    let scopes: usize = status.files.iter().map(|file| file.spans).sum();
    let (objects, object_bytes) = status.texts.unwrap_or_default();
    let mut out = "[readcache-status]\n".to_owned();
    let _ = writeln!(out, "tracked scopes: {} across {} files", scopes, status.files.len());
    let since = if status.compacted { "since the last compaction" } else { "since the session began" };
    let _ = writeln!(out, "replay window: {} entries {since}", status.window);
    let modes: Vec<String> = status.counts.iter().map(|(mode, count)| format!("{}={count}", mode.as_str())).collect();
    let _ = writeln!(out, "mode counts: {}", if modes.is_empty() { "none".to_owned() } else { modes.join(", ") });
    // A token is about four bytes.
    let tokens = (status.saved_bytes.unsigned_abs().div_ceil(4)).cast_signed() * status.saved_bytes.signum();
    let _ = writeln!(out, "estimated savings: ~{tokens} tokens ({} KiB)", kib(status.saved_bytes));
    let bytes = i64::try_from(object_bytes).unwrap_or(i64::MAX);
    let _ = write!(out, "object store: {} objects, {} KiB", objects, kib(bytes));
    if status.distrusted {
        out.push_str("\nplain text only: something changes or drops earlier results before the model sees them");
    } else if !status.known {
        out.push_str("\nplain text only: this place in the session is not known");
    }
    out
}

fn kib(bytes: i64) -> String {
    let tenths = (bytes.unsigned_abs() * 10 + 512) / 1024;
    format!("{}{}.{}", if bytes < 0 { "-" } else { "" }, tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readproof_core::decide::Mode;
    use readproof_engine::FileStatus;

    #[test]
    fn the_report() {
        let file = |spans| FileStatus { path: "a".to_owned(), whole: false, spans, lines: Vec::new() };
        let status = ConversationStatus {
            files: vec![file(1), file(2)],
            window: 9,
            counts: [(Mode::Full, 2), (Mode::Unchanged, 1)].into(),
            saved_bytes: 2049,
            texts: Some((2, 4096)),
            known: true,
            ..ConversationStatus::default()
        };
        let expected = "[readcache-status]\ntracked scopes: 3 across 2 files\n\
            replay window: 9 entries since the session began\nmode counts: full=2, unchanged=1\n\
            estimated savings: ~513 tokens (2.0 KiB)\nobject store: 2 objects, 4.0 KiB";
        assert_eq!(text(&status), expected);
        let plain = text(&ConversationStatus { distrusted: true, saved_bytes: -8, ..status });
        assert!(plain.contains("~-2 tokens (-0.0 KiB)") && plain.contains("plain text only"), "{plain}");
    }
}
