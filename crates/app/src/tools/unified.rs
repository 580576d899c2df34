//! The unified `read`: one tool, four modes.

use readproof_core::{limits::TEXT_CHARS, pick::Pick};
use readproof_engine::{Audience, Echoed, Engine, Error, Most, Read};
use serde_json::{Value, json};

use super::{
    args::{Refusal, invalid, short},
    preview,
    surface::{Call, Said, Surface, covered, facts, is_cut, whole_answer},
    symbols,
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

/// Lines on either side of what a query finds, where none are asked for.
const AROUND: u64 = 10;

/// Whether every argument means something in this mode.
pub(super) fn check(call: &Call<'_>) -> Result<(), Refusal> {
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

pub(super) fn read(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    check(call)?;
    let mode = call.args.text("mode").unwrap_or_default();
    match mode {
        "file" => file(surface, call),
        "snippet" => snippet(surface, call),
        "symbol" => symbols::read(surface, call),
        // The table has no other.
        _ => preview::read(surface, call),
    }
}

fn refuse(call: &Call<'_>, message: &str, wrong: &[&str]) -> Refusal {
    let file = call.args.text("target").unwrap_or_default();
    invalid(call.tool, call.args.all(), file, message, &call.args.but_for(wrong))
}

fn file(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    let (offset, limit) = (call.args.number("offset"), call.args.number("limit"));
    let window = surface.window;
    let most = match limit {
        // As far as one answer holds it.
        Some(limit) => Most { lines: u32::try_from(limit).unwrap_or(u32::MAX), chars: TEXT_CHARS },
        None => window,
    };
    let request = Read { path: target(call), offset, limit, most: Some(bounded(call, most)), ..Read::default() };
    let asked_to = limit.map(|limit| offset.unwrap_or(1).saturating_add(limit - 1));
    answer(surface, call, request, asked_to)
}

fn snippet(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    let (start, end) = (call.args.number("start_line"), call.args.number("end_line"));
    let (query, context) = (call.args.text("query"), call.args.number("context_lines"));
    if let Some(offset) = call.args.number("offset") {
        let message = "offset is only valid for mode='file'. Remove it or switch mode.";
        let better =
            call.args.clone().with("start_line", offset).with("end_line", offset).but_for(&["offset", "query"]);
        return Err(invalid(call.tool, call.args.all(), &target(call), message, &better));
    }
    let limit = call.args.number("limit").and_then(|limit| u32::try_from(limit).ok());
    // Lines that are named are given as far as one answer holds them.
    let window = if query.is_some() { surface.window } else { whole_answer() };
    let most = Some(bounded(call, Most { lines: limit.unwrap_or(window.lines), ..window }));
    let path = target(call);
    match (start, end, query) {
        (None, None, Some(query)) => {
            let pick = Pick::Around { query: query.to_owned(), context: context.unwrap_or(AROUND) };
            answer(surface, call, Read { path, pick, most, ..Read::default() }, None)
        }
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            Err(refuse(call, "query and start_line/end_line exclude each other. Give one of them.", &["query"]))
        }
        (None, None, None) => {
            let kept = call.args.clone().with("start_line", 1).with("end_line", 20);
            let message = "mode='snippet' needs start_line and end_line, or query.";
            Err(invalid(call.tool, call.args.all(), &path, message, &kept.but_for(&[])))
        }
        (start, end, None) => {
            let (start, end) = (start.or(end).unwrap_or(1), end.or(start).unwrap_or(1));
            if end < start {
                return Err(refuse(call, &format!("end_line {end} stands before start_line {start}."), &["end_line"]));
            }
            let pick = Pick::Span { first: start, last: end, context: context.unwrap_or(0) };
            answer(surface, call, Read { path, pick, most, ..Read::default() }, Some(end))
        }
    }
}

fn target(call: &Call<'_>) -> String {
    call.args.text("target").unwrap_or_default().to_owned()
}

pub(super) fn bounded(call: &Call<'_>, most: Most) -> Most {
    let asked = call.args.number("max_preview_chars").and_then(|chars| u32::try_from(chars).ok());
    Most { chars: asked.unwrap_or(most.chars).min(TEXT_CHARS), ..most }
}

fn answer(surface: &mut Surface, call: &Call<'_>, request: Read, asked_to: Option<u64>) -> Result<Said, Refusal> {
    Ok(shown(&mut surface.engine, call, request, asked_to, &[])?)
}

/// Reads lines for the model, or only looks where they are; `said` is what there is to say beside.
pub(super) fn shown(
    engine: &mut Engine,
    call: &Call<'_>,
    request: Read,
    asked_to: Option<u64>,
    said: &[String],
) -> Result<Said, Error> {
    let shows = call.args.text("preview_mode") != Some("none");
    let audience = if shows { Audience::Model } else { Audience::Program };
    let (limit, most) = (request.limit, request.most);
    let echoed = call.lines(engine, Read { audience, ..request })?;
    let contract = contract(call, &echoed, limit, most);
    let go_on = if call.args.text("mode") == Some("file") { "offset" } else { "mode=file offset" };
    let reduced = echoed.answer.reduced.then(|| "fewer lines around it than asked for".to_owned());
    let said: Vec<String> = said.iter().cloned().chain(reduced).collect();
    let trailer = echoed.trailer(asked_to, go_on, &said, call.talk.handles && shows);
    let text = shows.then_some(echoed.answer.text);
    Ok(Said { text, context: None, trailer: Some(trailer), contract, text_key: "text" })
}

fn contract(call: &Call<'_>, echoed: &Echoed, limit: Option<u64>, most: Option<Most>) -> Value {
    let answer = &echoed.answer;
    let truncated = is_cut(answer);
    let shown = answer.lines.map_or(0, |lines| u64::from(lines.count()));
    // Fewer lines than asked for, or than a window has.
    let wanted = limit.or(most.map(|most| most.lines.into())).unwrap_or(u64::MAX);
    let mut meta = facts(echoed, call.talk);
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
