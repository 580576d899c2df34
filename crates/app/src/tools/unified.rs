//! The unified `read`: one tool, four modes.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{AnswerLimit, Audience, Decoding, Names, Partial, Read},
    pick::Pick,
};
use readproof_engine::{Answer, Arguments, Handle};
use serde_json::{Value, json};

use super::{
    args::{Refusal, invalid, short},
    call::{Refused, ToolCall, ToolOutput, Tools, Trailers, covered, facts, is_cut, whole_answer},
    diffs,
    habits::TO_THE_END,
    several, symbols,
};

/// Parameters that mean something in one mode only, as the strict table has it.
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

/// Parameters that name lines, which have the same meaning in every mode that takes lines.
const LINES: [&str; 3] = ["start_line", "end_line", "context_lines"];

/// Whether a parameter means something in a mode.
pub(super) fn is_for(param: &str, mode: &str) -> bool {
    (mode == "file" && LINES.contains(&param)) || is_strictly_for(param, mode)
}

/// The same by the strict table.
fn is_strictly_for(param: &str, mode: &str) -> bool {
    ONLY.iter().find(|(only, _)| *only == param).is_none_or(|(_, only)| *only == mode)
}

/// Default number of lines on either side of a match.
const AROUND: u64 = 10;

/// Whether every argument means something in this mode.
fn check(call: &ToolCall<'_>, style: Arguments) -> Result<(), Refusal> {
    let mode = call.args.text("mode").unwrap_or_default();
    let fits = |param: &str| match style {
        Arguments::Loose => is_for(param, mode),
        Arguments::Strict => is_strictly_for(param, mode),
    };
    if let Some((param, only)) = ONLY.iter().find(|(param, _)| call.args.has(param) && !fits(param)) {
        let message = format!("{param} is only valid for mode='{only}'. Remove it or switch mode.");
        let without = |fits: &dyn Fn(&str) -> bool| -> Vec<&str> {
            ONLY.iter().map(|(param, _)| *param).filter(|param| !fits(param)).collect()
        };
        // What only that mode can answer is what was asked for; anything else was added to it.
        let switches =
            style == Arguments::Loose && (call.args.is_mode_implied || matches!(*param, "query" | "path" | "content"));
        if !switches {
            return Err(refuse(call, &message, &without(&fits)));
        }
        let mut wrong = without(&|param| is_for(param, only));
        wrong.push("offset");
        let better = call.args.clone().with("mode", *only).but_for(&wrong);
        return Err(invalid(call.tool, call.args.all(), &target(call), &message, &better));
    }
    if matches!(mode, "symbol" | "diff_preview") && call.args.has("offset") {
        return Err(refuse(call, "offset is only valid for mode='file'. Remove it or switch mode.", &["offset"]));
    }
    Ok(())
}

pub(super) fn read(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    if let Some(targets) = call.args.targets() {
        return several::read(tools, call, targets);
    }
    let style = tools.engine.settings().args;
    check(call, style)?;
    let mode = call.args.text("mode").unwrap_or_default();
    match mode {
        "file" => file(tools, call),
        "snippet" if style == Arguments::Strict => snippet(tools, call, strict_lines(call)?),
        "snippet" => snippet(tools, call, lines(call)?),
        "symbol" => symbols::read(tools, call),
        // The table has no other mode.
        _ => diffs::read(tools, call),
    }
}

fn refuse(call: &ToolCall<'_>, message: &str, wrong: &[&str]) -> Refusal {
    let file = call.args.text("target").unwrap_or_default();
    invalid(call.tool, call.args.all(), file, message, &call.args.but_for(wrong))
}

/// The lines that a call names.
#[derive(Clone, Copy, Default)]
struct Named {
    first: Option<u64>,
    last: Option<u64>,
    /// Whether the last line was named, not counted.
    is_end: bool,
}

impl Named {
    fn is_none(self) -> bool {
        self.first.is_none() && self.last.is_none()
    }

    /// The last line asked for, if the call said which.
    fn asked_to(self) -> Option<u64> {
        self.last.filter(|last| *last < TO_THE_END && self.is_end)
    }
}

/// First and last line, in whatever way they are given.
fn lines(call: &ToolCall<'_>) -> Result<Named, Refusal> {
    let number = |name| call.args.number(name);
    let (start, offset, end, limit) = (number("start_line"), number("offset"), number("end_line"), number("limit"));
    if let (Some(start), Some(offset)) = (start, offset)
        && start != offset
    {
        let message = format!("offset {offset} and start_line {start} name different first lines. Give one of them.");
        return Err(refuse(call, &message, if end.is_some() { &["offset", "limit"] } else { &["offset"] }));
    }
    let first = start.or(offset);
    let limited = limit.map(|limit| first.unwrap_or(1).saturating_add(limit - 1));
    // A limit beside a last line bounds what is shown.
    let last = end.into_iter().chain(limited).min();
    if let (Some(first), Some(end)) = (first, end)
        && end < first
    {
        let message = format!("end_line {end} stands before start_line {first}.");
        let turned = call.args.clone().with("start_line", end).with("end_line", first).but_for(&["offset", "limit"]);
        return Err(invalid(call.tool, call.args.all(), &target(call), &message, &turned));
    }
    Ok(Named { first, last, is_end: end.is_some() && last == end })
}

/// The same by the strict table: one of the two stands for both.
fn strict_lines(call: &ToolCall<'_>) -> Result<Named, Refusal> {
    let (start, end) = (call.args.number("start_line"), call.args.number("end_line"));
    if let Some(offset) = call.args.number("offset") {
        let message = "offset is only valid for mode='file'. Remove it or switch mode.";
        let better =
            call.args.clone().with("start_line", offset).with("end_line", offset).but_for(&["offset", "query"]);
        return Err(invalid(call.tool, call.args.all(), &target(call), message, &better));
    }
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        return Err(refuse(call, &format!("end_line {end} stands before start_line {start}."), &["end_line"]));
    }
    Ok(Named { first: start.or(end), last: end.or(start), is_end: true })
}

fn file(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let named = lines(call)?;
    if named.last.is_some() && call.args.has("context_lines") {
        return snippet(tools, call, named);
    }
    if let Some(lines) = call.args.number("tail") {
        let (pick, most) = (Pick::Last(lines), Some(bounded(call, whole_answer())));
        return answer(tools, call, Read { path: target(call), pick, most, ..Read::default() }, None);
    }
    let limit = named.last.map(|last| last.saturating_sub(named.first.unwrap_or(1)).saturating_add(1));
    let most = match named.last {
        // As much as fits into one answer.
        Some(_) => AnswerLimit { lines: u32::MAX, chars: TEXT_CHARS },
        None => tools.window(),
    };
    let most = Some(bounded(call, most));
    let names = if named.is_none() { tools.names() } else { Names::Literal };
    let request = Read { path: target(call), offset: named.first, limit, most, names, ..Read::default() };
    answer(tools, call, request, named.asked_to())
}

fn snippet(tools: &Tools<'_>, call: &ToolCall<'_>, named: Named) -> Result<ToolOutput, Refused> {
    let (query, context) = (call.args.text("query"), call.args.number("context_lines"));
    let limit = call.args.number("limit").and_then(|limit| u32::try_from(limit).ok());
    // Named lines are given as far as they fit into one answer.
    let window = if query.is_some() || named.last.is_none() { tools.window() } else { whole_answer() };
    let most = Some(bounded(call, AnswerLimit { lines: limit.unwrap_or(window.lines), ..window }));
    let path = target(call);
    match (named.is_none(), query) {
        (_, Some(query)) if named.is_none() || (named.first.is_none() && call.args.has("limit")) => {
            let pick = Pick::Around { query: query.to_owned(), context: context.unwrap_or(AROUND) };
            answer(tools, call, Read { path, pick, most, names: tools.names(), ..Read::default() }, None)
        }
        (_, Some(_)) => {
            Err(refuse(call, "query and start_line/end_line exclude each other. Give one of them.", &["query"]).into())
        }
        (true, None) => {
            let kept = call.args.clone().with("start_line", 1).with("end_line", 20);
            let message = "mode='snippet' needs start_line and end_line, or query.";
            Err(invalid(call.tool, call.args.all(), &path, message, &kept.but_for(&[])).into())
        }
        (false, None) => {
            let first = named.first.unwrap_or(1);
            let Some(last) = named.last else {
                let request = Read { path, offset: Some(first), most, ..Read::default() };
                return answer(tools, call, request, None);
            };
            let pick = Pick::Span { first, last, context: context.unwrap_or(0) };
            answer(tools, call, Read { path, pick, most, ..Read::default() }, named.asked_to())
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
    let (decoding, partial) = (Decoding::View, Partial::Allowed);
    let answer = tools.read(call, Read { audience, decoding, partial, ..request })?;
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
    let next_argument = if call.args.text("mode") == Some("file") { "start_line" } else { "mode=file start_line" };
    let reduced = answer.reduced.then(|| "fewer lines around it than asked for".to_owned());
    let said: Vec<String> = said.iter().cloned().chain(reduced).collect();
    let trailer = Trailers::of(&answer, asked_to, next_argument, &said, call.origin.handles && shows);
    let is_plain = !answer.mode.is_derived();
    let text = shows.then_some(answer.text);
    ToolOutput { text, is_plain, trailer: Some(trailer), contract, text_key: "text", ..ToolOutput::default() }
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
