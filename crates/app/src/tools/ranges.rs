//! The bounded reads: a range of lines, the first lines, the last lines, or the whole file.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{End, Operation, Read, ReadEnd},
    pick::Pick,
};
use readproof_engine::{Answer, EndOfFile, Error, Handle};
use readproof_words::notice::notices;
use serde_json::{Value, json};

use super::{
    args::{invalid, short},
    call::{Refused, ToolCall, ToolOutput, Tools, Trailers, covered, facts, is_cut, whole_answer},
};
use crate::report::{found, label, printable};

/// The whole file, as far as one answer holds it.
pub(super) fn file(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let (offset, limit) = (call.args.number("offset"), call.args.number("limit"));
    let request = Read { path: path(call), offset, limit, most: Some(whole_answer()), ..Read::default() };
    let answer = tools.read(call, request)?;
    let cut = is_cut(&answer);
    let asked_to = limit.map(|limit| offset.unwrap_or(1).saturating_add(limit - 1));
    Ok(said(call, answer, asked_to, cut))
}

/// The lines from one to another.
pub(super) fn range(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let start = call.args.number("start_line").unwrap_or(1);
    let end = call.args.number("end_line").unwrap_or(start);
    if end < start {
        let message = format!("end_line {end} stands before start_line {start}.");
        let turned = call.args.clone().with("start_line", end).with("end_line", start).but_for(&[]);
        return Err(invalid(call.tool, call.args.all(), &path(call), &message, &turned).into());
    }
    let lines = Read { path: path(call), offset: Some(start), limit: Some(end - start + 1), ..Read::default() };
    let answer = tools.read(call, Read { most: Some(whole_answer()), ..lines })?;
    let cut = is_cut(&answer);
    Ok(said(call, answer, Some(end), cut))
}

/// The first lines.
pub(super) fn head(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let lines = call.args.number("max_lines").unwrap_or(1);
    let request = Read { path: path(call), limit: Some(lines), most: Some(whole_answer()), ..Read::default() };
    match tools.read(call, request) {
        Ok(answer) => {
            let last = answer.lines.map_or(0, |lines| lines.last());
            let more = last < answer.total_lines;
            Ok(said(call, answer, None, more))
        }
        Err(error) => end(tools, call, End::Head, lines, error),
    }
}

/// The last lines: where they do not all fit, the last of them.
pub(super) fn tail(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let lines = call.args.number("max_lines").unwrap_or(1);
    let request = Read { path: path(call), pick: Pick::Last(lines), most: Some(whole_answer()), ..Read::default() };
    match tools.read(call, request) {
        Ok(answer) => {
            let first = answer.lines.map_or(1, |lines| lines.first());
            let more = first > 1 || is_cut(&answer);
            Ok(said(call, answer, None, more))
        }
        Err(error) => end(tools, call, End::Tail, lines, error),
    }
}

/// A file that is too large to be read at once is read from its end only; nothing is known of it.
fn end(tools: &Tools<'_>, call: &ToolCall<'_>, end: End, lines: u64, error: Error) -> Result<ToolOutput, Refused> {
    if error.code() != "TOO_LARGE" {
        return Err(error.into());
    }
    let operation = Operation::ReadEnd(ReadEnd { path: path(call), end, lines, chars: TEXT_CHARS });
    let found: EndOfFile = tools.ask(call, operation)?.try_into()?;
    let mut contract = found::end_json(&found);
    if let Some(fields) = contract.as_object_mut() {
        fields.remove("content");
        fields.extend(
            [("decision", "full"), ("reason", "too_large"), ("proof", "none")].map(|(k, v)| (k.to_owned(), json!(v))),
        );
    }
    let which = match end {
        End::Head => format!("the first {} lines", found.count),
        End::Tail => format!("the last {} lines", found.count),
    };
    let mut said = vec![format!("{}: {which} of {} bytes", short(&label(&found.path)), found.bytes)];
    said.extend(found::cut_notice(&found).map(|notice| short(&printable(&notice))));
    said.extend(notices(&found.notices).iter().map(|notice| short(&printable(notice))));
    said.push("too large for anything to be known of it".to_owned());
    let trailer = Some(format!("[{}]", said.join("; ")).into());
    Ok(ToolOutput {
        text: Some(found.text),
        is_plain: true,
        trailer,
        contract,
        text_key: "content",
        ..ToolOutput::default()
    })
}

fn path(call: &ToolCall<'_>) -> String {
    call.args.text("path").unwrap_or_default().to_owned()
}

fn said(call: &ToolCall<'_>, answer: Answer<Handle>, asked_to: Option<u64>, truncated: bool) -> ToolOutput {
    let lines = covered(&answer);
    let mut contract = facts(&answer, call.origin);
    let fields: [(&str, Value); 8] = [
        ("success", json!(true)),
        ("operation", json!(call.tool.name)),
        ("path", json!(answer.path)),
        ("start_line", json!(lines.map(|lines| lines.first()))),
        ("end_line", json!(lines.map(|lines| lines.last()))),
        ("line_count", json!(lines.map_or(0, |lines| lines.count()))),
        ("truncated", json!(truncated)),
        ("next_line", json!(answer.next)),
    ];
    contract.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    let next_argument = if call.tool.name == "read_file_range" { "start_line" } else { "read_file_range start_line" };
    let said = if answer.reduced { vec!["one answer holds no more of them".to_owned()] } else { Vec::new() };
    let trailer = Trailers::of(&answer, asked_to, next_argument, &said, call.origin.handles);
    ToolOutput {
        is_plain: !answer.mode.is_derived(),
        text: Some(answer.text),
        trailer: Some(trailer),
        contract: Value::Object(contract),
        text_key: "content",
        ..ToolOutput::default()
    }
}
