//! The unified `read`: one tool, four modes.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{AnswerLimit, Audience, Read},
    pick::Pick,
};
use readproof_engine::{Answer, Handle};
use serde_json::{Value, json};

use super::{
    args::{Refusal, invalid, short},
    call::{Refused, ToolCall, ToolOutput, Tools, Trailers, covered, facts, is_cut, whole_answer},
    diffs, symbols,
};

/// Parameters that mean something in one mode only.
const ONLY: [(&str, &str); 8] = [
    ("against", "diff_preview"),
    ("content", "diff_preview"),
    ("start_line", "snippet"),
    ("end_line", "snippet"),
    ("context_lines", "snippet"),
    ("query", "snippet"),
    ("path", "symbol"),
    ("include_context", "symbol"),
];

/// Whether a parameter means something in a mode.
pub(super) fn is_for(param: &str, mode: &str) -> bool {
    ONLY.iter().find(|(only, _)| *only == param).is_none_or(|(_, only)| *only == mode)
}

/// Default number of lines on either side of a match.
const AROUND: u64 = 10;

/// Whether every argument means something in this mode.
pub(super) fn check(call: &ToolCall<'_>) -> Result<(), Refusal> {
    let mode = call.args.text("mode").unwrap_or_default();
    if let Some((param, only)) = ONLY.iter().find(|(param, only)| call.args.has(param) && *only != mode) {
        let message = format!("{param} is only valid for mode='{only}'. Remove it or switch mode.");
        let wrong: Vec<&str> = ONLY.iter().filter(|(_, only)| *only != mode).map(|(param, _)| *param).collect();
        return Err(refuse(call, &message, &wrong));
    }
    if matches!(mode, "symbol" | "diff_preview") && call.args.has("offset") {
        return Err(refuse(call, "offset is only valid for mode='file'. Remove it or switch mode.", &["offset"]));
    }
    Ok(())
}

pub(super) fn read(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    check(call)?;
    let mode = call.args.text("mode").unwrap_or_default();
    match mode {
        "file" => file(tools, call),
        "snippet" => snippet(tools, call),
        "symbol" => symbols::read(tools, call),
        // The table has no other mode.
        _ => diffs::read(tools, call),
    }
}

fn refuse(call: &ToolCall<'_>, message: &str, wrong: &[&str]) -> Refusal {
    let file = call.args.text("target").unwrap_or_default();
    invalid(call.tool, call.args.all(), file, message, &call.args.but_for(wrong))
}

fn file(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let (offset, limit) = (call.args.number("offset"), call.args.number("limit"));
    let window = tools.window();
    let most = match limit {
        // As much as fits into one answer.
        Some(limit) => AnswerLimit { lines: u32::try_from(limit).unwrap_or(u32::MAX), chars: TEXT_CHARS },
        None => window,
    };
    let request = Read { path: target(call), offset, limit, most: Some(bounded(call, most)), ..Read::default() };
    let asked_to = limit.map(|limit| offset.unwrap_or(1).saturating_add(limit - 1));
    answer(tools, call, request, asked_to)
}

fn snippet(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let (start, end) = (call.args.number("start_line"), call.args.number("end_line"));
    let (query, context) = (call.args.text("query"), call.args.number("context_lines"));
    if let Some(offset) = call.args.number("offset") {
        let message = "offset is only valid for mode='file'. Remove it or switch mode.";
        let better =
            call.args.clone().with("start_line", offset).with("end_line", offset).but_for(&["offset", "query"]);
        return Err(invalid(call.tool, call.args.all(), &target(call), message, &better).into());
    }
    let limit = call.args.number("limit").and_then(|limit| u32::try_from(limit).ok());
    // Named lines are given as far as they fit into one answer.
    let window = if query.is_some() { tools.window() } else { whole_answer() };
    let most = Some(bounded(call, AnswerLimit { lines: limit.unwrap_or(window.lines), ..window }));
    let path = target(call);
    match (start, end, query) {
        (None, None, Some(query)) => {
            let pick = Pick::Around { query: query.to_owned(), context: context.unwrap_or(AROUND) };
            answer(tools, call, Read { path, pick, most, ..Read::default() }, None)
        }
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(refuse(call, "query and start_line/end_line exclude each other. Give one of them.", &["query"]).into())
        }
        (None, None, None) => {
            let kept = call.args.clone().with("start_line", 1).with("end_line", 20);
            let message = "mode='snippet' needs start_line and end_line, or query.";
            Err(invalid(call.tool, call.args.all(), &path, message, &kept.but_for(&[])).into())
        }
        (start, end, None) => {
            let (start, end) = (start.or(end).unwrap_or(1), end.or(start).unwrap_or(1));
            if end < start {
                let message = format!("end_line {end} stands before start_line {start}.");
                return Err(refuse(call, &message, &["end_line"]).into());
            }
            let pick = Pick::Span { first: start, last: end, context: context.unwrap_or(0) };
            answer(tools, call, Read { path, pick, most, ..Read::default() }, Some(end))
        }
    }
}

fn target(call: &ToolCall<'_>) -> String {
    call.args.text("target").unwrap_or_default().to_owned()
}

pub(super) fn bounded(call: &ToolCall<'_>, most: AnswerLimit) -> AnswerLimit {
    let asked = call.args.number("max_preview_chars").and_then(|chars| u32::try_from(chars).ok());
    AnswerLimit { chars: asked.unwrap_or(most.chars).min(TEXT_CHARS), ..most }
}

fn answer(tools: &Tools<'_>, call: &ToolCall<'_>, request: Read, asked_to: Option<u64>) -> Result<ToolOutput, Refused> {
    let (limit, most, audience) = (request.limit, request.most, audience(call));
    let answer = tools.read(call, Read { audience, ..request })?;
    Ok(shown(call, answer, asked_to, (limit, most), &[]))
}

/// The audience of the text: the model, unless only the location is asked for.
pub(super) fn audience(call: &ToolCall<'_>) -> Audience {
    if shows(call) { Audience::Model } else { Audience::Program }
}

fn shows(call: &ToolCall<'_>) -> bool {
    call.args.text("preview_mode") != Some("none")
}

/// An answer in the form of the unified `read`, with notices in `said`.
pub(super) fn shown(
    call: &ToolCall<'_>,
    answer: Answer<Handle>,
    asked_to: Option<u64>,
    (limit, most): (Option<u64>, Option<AnswerLimit>),
    said: &[String],
) -> ToolOutput {
    let shows = shows(call);
    let contract = contract(call, &answer, limit, most);
    let next_argument = if call.args.text("mode") == Some("file") { "offset" } else { "mode=file offset" };
    let reduced = answer.reduced.then(|| "fewer lines around it than asked for".to_owned());
    let said: Vec<String> = said.iter().cloned().chain(reduced).collect();
    let trailer = Trailers::of(&answer, asked_to, next_argument, &said, call.origin.handles && shows);
    let text = shows.then_some(answer.text);
    ToolOutput { text, context: None, trailer: Some(trailer), contract, text_key: "text" }
}

fn contract(call: &ToolCall<'_>, answer: &Answer<Handle>, limit: Option<u64>, most: Option<AnswerLimit>) -> Value {
    let truncated = is_cut(answer);
    let shown = answer.lines.map_or(0, |lines| u64::from(lines.count()));
    // Fewer lines than asked for, or than the default window.
    let wanted = limit.or(most.map(|most| most.lines.into())).unwrap_or(u64::MAX);
    let mut meta = facts(answer, call.origin);
    meta.insert("truncated".to_owned(), json!(truncated));
    meta.insert("preview_degraded".to_owned(), json!(answer.reduced || (truncated && shown < wanted)));
    if let Some(next) = answer.next {
        meta.insert("next_offset".to_owned(), json!(next));
    }
    let lines = covered(answer);
    let location = json!({
        "file": answer.path,
        "line": lines.map(|lines| lines.first()),
        "end_line": lines.map(|lines| lines.last()),
    });
    json!({
        "ok": true,
        "mode": call.args.text("mode"),
        "target": call.args.text("target").map(short),
        "meta": meta,
        "location": location,
    })
}
