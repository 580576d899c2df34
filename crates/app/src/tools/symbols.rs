//! Symbols: one definition by name, definitions with similar names, and errors for ambiguous names.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{AnswerLimit, ListSymbols, Operation, ReadSymbol},
    path::{label, printable},
};
use readproof_engine::{AROUND_BYTES, Around, Candidate, Defined, Error, Fitting, Reading, Surroundings, SymbolsFound};
use readproof_words::{Surface, engine::unindexed, notice::notices as words};
use serde_json::{Value, json};
use std::fmt::Write as _;

use super::{
    args::{Refusal, short},
    call::{Refused, ToolCall, ToolOutput, Tools, whole_answer},
    unified,
};
use crate::report::symbols::{found_json, listed, named, range, symbol_json};

/// A definition by its name.
pub(super) fn read(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let include_context = call.args.flag("include_context");
    let limit = call.args.number("limit").and_then(|limit| u32::try_from(limit).ok());
    let room = if include_context { TEXT_CHARS - AROUND_BYTES } else { TEXT_CHARS };
    let most = unified::bounded(call, AnswerLimit { lines: limit.unwrap_or(whole_answer().lines), chars: room });
    let operation = Operation::ReadSymbol(ReadSymbol {
        target: call.args.text("target").unwrap_or_default().to_owned(),
        path: call.args.text("path").map(str::to_owned),
        include_context,
        most,
        freshness: call.freshness(),
        audience: call.audience(unified::audience(call)),
    });
    let Defined { resolved: found, surroundings, reading } = tools.ask(call, operation)?.into_defined()?;
    let Reading::Answer(answer) = reading else { return Err(Error::OtherOutcome.into()) };
    let Surroundings { runs: around, cut, notices } = surroundings;
    let mut said = vec![format!("{} {}", found.symbol.kind.as_str(), short(&found.symbol.qualified()))];
    if !around.is_empty() {
        let runs: Vec<String> = around.iter().map(|run| range(run.lines)).collect();
        let more = if cut { ", which has more" } else { "" };
        said.push(format!("with lines {} for context{more}", runs.join(", ")));
    }
    said.extend(words(&notices).iter().map(|notice| short(&printable(notice))));
    said.extend(found.missed.iter().map(|missed| short(&printable(&unindexed(missed)))));
    if found.others > 0 {
        said.push(format!("{} other definitions have this name: search mode=symbol lists them", found.others));
    }
    let mut output = unified::shown(call, *answer, None, (None, Some(most)), &said);
    if let Some(meta) = output.contract.get_mut("meta").and_then(Value::as_object_mut) {
        meta.insert("resolved_symbol".to_owned(), symbol_json(Some(&found.path), &found.symbol));
    }
    if output.text.is_some() && !around.is_empty() {
        output.contract["context"] =
            around.iter().map(|run| json!({"line": run.lines.first(), "end_line": run.lines.last()})).collect();
        output.context = Some(around.into_iter().map(|Around { text, .. }| text).collect());
    }
    Ok(output)
}

/// Definitions whose names are like the query.
pub(super) fn search(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let limit = call.args.number("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let query = call.args.text("query").unwrap_or_default().to_owned();
    let asked = ListSymbols {
        query: Some(query.clone()),
        path: call.args.text("path").map(str::to_owned),
        glob: call.args.text("glob").map(str::to_owned),
        kind: call.args.text("kind").map(str::to_owned),
        limit,
    };
    let found: SymbolsFound = tools.ask(call, Operation::ListSymbols(asked))?.try_into()?;
    let (text, given) = listed(&found, TEXT_CHARS as usize);
    let exact = limit.is_none() && found.found.iter().all(|(fit, _)| *fit == Some(Fitting::Exact)) && given > 0;
    let mut trailer = vec![match (exact, found.total) {
        (true, 1) => "exact; limit=20 lists similar names".to_owned(),
        (true, total) => format!("{given} of {total} with exactly this name"),
        (false, total) => format!("{given} of {total} definitions"),
    }];
    if found.total == 0 {
        trailer.push("try a part of the name, or mode=text".to_owned());
    } else if (given as u64) < found.total {
        trailer.push("limit=N lists more".to_owned());
    }
    trailer.extend(words(&found.notices).iter().map(|notice| short(&printable(notice))));
    let contract = found_json(&found, Some(&query), given);
    Ok(ToolOutput {
        text: Some(text),
        trailer: Some(format!("[{}]", trailer.join("; ")).into()),
        contract,
        text_key: "text",
        ..ToolOutput::default()
    })
}

/// What to do where a name means several things or none: calls that work.
pub(super) fn refusal(error: &Error, surface: Surface<'_>, is_file: &dyn Fn(&str) -> bool) -> Option<Refusal> {
    if let Error::Ambiguous { target, total, candidates } = error {
        let mut message = format!("`{}` is defined {total} times. Name one of them:", short(&printable(target)));
        for candidate in candidates {
            let place = format!("{}:{}", label(&candidate.path), range(candidate.symbol.lines));
            let call = printable(&working(candidate).to_string());
            // Writing to a string cannot fail.
            let _ = write!(message, "\n{place} {}: read {call}", named(&candidate.symbol));
        }
        let more = total.saturating_sub(candidates.len() as u64);
        if more > 0 {
            let call = json!({"query": short(target), "mode": "symbol", "limit": 100});
            let _ = write!(message, "\nand {more} more: search {}", printable(&call.to_string()));
        }
        if let Some(first) = candidates.first() {
            let _ = write!(message, "\nexample: read {}", printable(&working(first).to_string()));
        }
        return Some(Refusal::new(error.code(), message));
    }
    if let Error::NoSymbol { target, path, near, .. } = error {
        let example = match near.first() {
            _ if is_file(target) => format!("read {}", json!({"path": target})),
            Some(near) => {
                let mut call = json!({"mode": "symbol", "target": near});
                if let Some(path) = path {
                    call["path"] = json!(path);
                }
                format!("read {call}")
            }
            None => format!("search {}", json!({"query": short(target)})),
        };
        let message = format!("{}\nexample: {}", surface.error(error), printable(&example));
        return Some(Refusal::new(error.code(), message));
    }
    None
}

fn working(candidate: &Candidate) -> Value {
    let Candidate { path, symbol, target } = candidate;
    match target {
        Some(target) => json!({"mode": "symbol", "target": target, "path": path}),
        None => json!({
            "mode": "snippet",
            "target": path,
            "start_line": symbol.lines.first(),
            "end_line": symbol.lines.last(),
        }),
    }
}
