//! `mode=diff_preview`: a working file, or text that is to take its place, beside what git keeps. The same words for MCP and
//! for `readproof diff`.

use readproof_core::{limits::TEXT_CHARS, trailer::remark};
use readproof_engine::{Against, Most, Preview, Previewed};
use serde_json::{Value, json};

use super::{
    args::{Refusal, invalid, short},
    surface::{Call, Said, Surface},
};

pub(super) fn read(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    let path = call.args.text("target").unwrap_or_default().to_owned();
    let refuse = |message: &str, better: &Value| invalid(call.tool, call.args.all(), &path, message, better);
    let against = call.args.text("against").and_then(Against::parse).unwrap_or_default();
    let content = call.args.text("content").map(str::to_owned);
    if against == Against::WorkTree && content.is_none() {
        let message = "against='WORKTREE' compares the working file with other text, so it needs content. Give it, or use \
                       against='HEAD' or 'INDEX' for what git keeps.";
        let better = call.args.clone().with("content", "the new text\n").but_for(&[]);
        return Err(Refusal { code: "NO_CONTENT", ..refuse(message, &better) });
    }
    let number = |name| call.args.number(name).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let chars = number("max_preview_chars").unwrap_or(TEXT_CHARS).min(TEXT_CHARS);
    let session = call.talk.session.clone();
    let most = Most { lines: number("limit").unwrap_or(u32::MAX), chars };
    let found =
        surface.engine.preview(&Preview { path: path.clone(), against, content, most, session }, call.cancelled)?;
    let shows = call.args.text("preview_mode") != Some("none");
    let (trailer, contract) = (trailer(&found), contract(&found, &path));
    Ok(Said { text: shows.then_some(found.text), context: None, trailer: Some(trailer), contract, text_key: "text" })
}

/// What stands behind a diff.
pub(crate) fn trailer(found: &Previewed) -> String {
    let cut = found.is_cut().then(|| {
        let ((hunks, all_hunks), (lines, all_lines)) = (found.hunks, found.lines);
        format!("cut, not to be applied: {hunks} of {all_hunks} hunks and {lines} of {all_lines} lines are shown")
    });
    let notices: Vec<String> = cut.into_iter().chain(found.notices.iter().cloned()).collect();
    remark(&found.path, &found.summary(), &notices)
}

/// What a program may want to know, without the diff.
pub(crate) fn contract(found: &Previewed, target: &str) -> Value {
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
            "token_estimate": crate::report::tokens(found.text.len() as u64),
            "diff_path": found.name,
            "notices": found.notices,
        },
    })
}
