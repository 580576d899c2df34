//! The trailer and the contract of a diff, the same for MCP and for `readproof diff`.

use readproof_core::trailer::remark;
use readproof_engine::Compared;
use readproof_words::notice::notices;
use serde_json::{Value, json};

use crate::tools::args::short;

/// The line after a diff.
pub(crate) fn trailer(found: &Compared) -> String {
    let cut = found.is_cut().then(|| {
        let ((hunks, all_hunks), (lines, all_lines)) = (found.hunks, found.lines);
        format!("cut, not to be applied: {hunks} of {all_hunks} hunks and {lines} of {all_lines} lines are shown")
    });
    let said: Vec<String> = cut.into_iter().chain(notices(&found.notices)).collect();
    remark(&found.path, &found.summary(), &said)
}

/// The facts about a diff for programs, without its text.
pub(crate) fn contract(found: &Compared, target: &str) -> Value {
    let cut = found.is_cut();
    json!({
        "ok": true,
        "mode": "diff_preview",
        "target": short(target),
        "location": {"file": found.path, "line": null, "end_line": null},
        "meta": {
            "against": found.against.as_str(),
            "baseline": {"commit": found.commit, "blob": found.blob},
            "status": found.status.as_str(),
            "binary": found.binary,
            "added": found.added,
            "removed": found.removed,
            "hunks": found.hunks.1,
            "shown_hunks": found.hunks.0,
            "diff_lines": found.lines.1,
            "shown_lines": found.lines.0,
            "truncated": cut,
            "preview_degraded": cut,
            "token_estimate": super::tokens(found.text.len() as u64),
            "diff_path": found.name,
            "notices": notices(&found.notices),
        },
    })
}
