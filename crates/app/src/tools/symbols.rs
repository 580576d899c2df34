//! Symbols: a definition by its name, definitions like a name, what a file defines. For MCP and for the command line.

use readproof_core::{
    limits::TEXT_CHARS,
    path::{label, printable},
    scope::Lines,
};
use readproof_engine::{
    AROUND_BYTES, Around, Candidate, Defined, Engine, Error, Fitting, Most, Outlined, Read, Resolved, Surroundings,
    Symbol, SymbolSearch, SymbolsFound, qualified,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

use super::{
    args::{Refusal, short},
    surface::{Call, Said, Surface, whole_answer},
    unified,
};
use crate::{
    cli::SymbolsArgs,
    output::{self, Failure},
};

/// So many definitions are listed unless the caller says otherwise.
const LISTED: usize = 50;

/// A definition by its name.
pub(super) fn read(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    let target = call.args.text("target").unwrap_or_default();
    let progress = |done, _| (call.progress)(done);
    let asked = (target, call.args.text("path"));
    Ok(surface.engine.at_symbol(asked, call.cancelled, &progress, |engine, found| show(engine, call, found))?)
}

fn show(engine: &mut Engine, call: &Call<'_>, found: &Resolved) -> Result<Said, Error> {
    let with_context = call.args.flag("include_context");
    let limit = call.args.number("limit").and_then(|limit| u32::try_from(limit).ok());
    let room = if with_context { TEXT_CHARS - AROUND_BYTES } else { TEXT_CHARS };
    let most = unified::bounded(call, Most { lines: limit.unwrap_or(whole_answer().lines), chars: room });
    let session = call.talk.session.as_ref();
    let Surroundings { runs: around, cut, notices } =
        if with_context { engine.around(found, session, call.cancelled)? } else { Surroundings::default() };
    let mut said = vec![format!("{} {}", found.symbol.kind.as_str(), short(&qualified(&found.symbol)))];
    if !around.is_empty() {
        let runs: Vec<String> = around.iter().map(|run| range(run.lines)).collect();
        let more = if cut { ", which has more" } else { "" };
        said.push(format!("with lines {} for context{more}", runs.join(", ")));
    }
    said.extend(notices.iter().map(|notice| short(&printable(notice))));
    said.extend(found.missed.iter().map(|missed| short(&printable(missed))));
    if found.others > 0 {
        said.push(format!("{} other definitions have this name: search mode=symbol lists them", found.others));
    }
    let request = Read { most: Some(most), ..found.read(engine) };
    let mut answer = unified::shown(engine, call, request, None, &said)?;
    if let Some(meta) = answer.contract.get_mut("meta").and_then(Value::as_object_mut) {
        meta.insert("resolved_symbol".to_owned(), symbol_json(Some(&found.path), &found.symbol));
    }
    if answer.text.is_some() && !around.is_empty() {
        answer.contract["context"] =
            around.iter().map(|run| json!({"line": run.lines.first(), "end_line": run.lines.last()})).collect();
        answer.context = Some(around.into_iter().map(|Around { text, .. }| text).collect());
    }
    Ok(answer)
}

fn range(lines: Lines) -> String {
    if lines.count() == 1 { lines.first().to_string() } else { format!("{}-{}", lines.first(), lines.last()) }
}

/// Definitions whose names are like the query.
pub(super) fn search(surface: &mut Surface, call: &Call<'_>) -> Result<Said, Refusal> {
    let limit = call.args.number("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let query = call.args.text("query").unwrap_or_default().to_owned();
    let asked = SymbolSearch {
        query: Some(query.clone()),
        glob: call.args.text("glob").map(str::to_owned),
        limit: limit.unwrap_or(LISTED),
    };
    let found = surface.engine.symbols(&asked, call.cancelled, &|done, _| (call.progress)(done))?;
    let (text, given) = listed(&found, TEXT_CHARS as usize);
    let mut trailer = vec![format!("{given} of {} definitions", found.total)];
    if found.total == 0 {
        trailer.push("try a part of the name, or mode=text".to_owned());
    } else {
        trailer.push("read mode=symbol target=NAME shows one".to_owned());
    }
    trailer.extend(found.notices.iter().map(|notice| short(&printable(notice))));
    let contract = found_json(&found, Some(&query), given);
    Ok(Said {
        text: Some(text),
        context: None,
        trailer: Some(format!("[{}]", trailer.join("; "))),
        contract,
        text_key: "text",
    })
}

/// One line each, as many as fit, and how many those are.
fn listed(found: &SymbolsFound, chars: usize) -> (String, usize) {
    let (mut text, mut left, mut given) = (String::new(), chars, 0);
    for (_, Defined { path, symbol, .. }) in &found.found {
        let line = format!("{}:{}: {}\n", label(path), range(symbol.lines), named(symbol));
        let Some(rest) = left.checked_sub(line.chars().count()) else { break };
        left = rest;
        text.push_str(&line);
        given += 1;
    }
    (text, given)
}

fn named(symbol: &Symbol) -> String {
    let of = symbol.of.as_ref().map_or_else(String::new, |of| format!(" of {of}"));
    printable(&format!("{} {}{of}", symbol.kind.as_str(), qualified(symbol)))
}

fn found_json(found: &SymbolsFound, query: Option<&str>, given: usize) -> Value {
    let hit = |(fitting, defined): &(Option<Fitting>, Defined)| {
        let mut object = symbol_json(Some(&defined.path), &defined.symbol);
        if let (Some(fitting), Some(fields)) = (fitting, object.as_object_mut()) {
            fields.insert("fit".to_owned(), json!(fitting.as_str()));
        }
        object
    };
    json!({
        "ok": true,
        "mode": "symbol",
        "query": query.map(short),
        "results": found.found.iter().take(given).map(hit).collect::<Vec<_>>(),
        "meta": {
            "total_matches": found.total,
            "truncated": found.total > given as u64,
            "notices": found.notices,
        },
    })
}

fn symbol_json(path: Option<&str>, symbol: &Symbol) -> Value {
    let mut object = json!({
        "name": symbol.name,
        "qualified": qualified(symbol),
        "kind": symbol.kind.as_str(),
        "scope": symbol.scope,
        "line": symbol.lines.first(),
        "end_line": symbol.lines.last(),
        "name_line": symbol.line,
    });
    if let Some(path) = path {
        object["file"] = json!(path);
    }
    if let Some(of) = &symbol.of {
        object["of"] = json!(of);
    }
    object
}

/// `readproof symbols`.
pub(crate) fn list(engine: &mut Engine, args: SymbolsArgs, json: bool) -> Result<(), Failure> {
    let limit = args.limit.unwrap_or(if args.query.is_some() { LISTED } else { usize::MAX });
    let asked = SymbolSearch { query: args.query, glob: args.glob, limit };
    let pace = output::Pace::default();
    let progress = |done: u64, total: u64| pace.tell(|| format!("{done} of {total} files parsed"));
    let found = engine.symbols(&asked, &|| false, &progress);
    output::progress("");
    let found = found?;
    if json {
        output::line(&found_json(&found, asked.query.as_deref(), found.found.len()).to_string())?;
        return Ok(());
    }
    output::text(&listed(&found, usize::MAX).0)?;
    let given = found.found.len() as u64;
    if given < found.total {
        output::notice(&format!("{given} of {} definitions are shown; --limit gives more", found.total));
    }
    if found.total == 0 {
        output::notice("nothing of that name is defined here");
    }
    for notice in &found.notices {
        output::notice(notice);
    }
    Ok(())
}

/// `readproof outline`.
pub(crate) fn outline(engine: &mut Engine, path: &str, json: bool) -> Result<(), Failure> {
    let outlined = engine.outline(path, &|| false)?;
    if json {
        return Ok(output::line(&outline_json(&outlined).to_string())?);
    }
    let mut text = String::new();
    for symbol in &outlined.symbols {
        let depth = depth(&outlined.symbols, symbol);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>6}  {}{} {}",
            symbol.lines.first(),
            "  ".repeat(depth),
            symbol.kind.as_str(),
            printable(&symbol.name)
        );
    }
    output::text(&text)?;
    if outlined.symbols.is_empty() {
        output::notice(&format!("{} defines nothing", printable(&outlined.path)));
    }
    if outlined.truncated {
        output::notice("there are more definitions than are listed");
    }
    Ok(())
}

fn depth(all: &[Symbol], symbol: &Symbol) -> usize {
    let mut depth = 0;
    let mut parent = symbol.parent;
    while let Some(above) = parent.and_then(|at| all.get(at as usize)) {
        depth += 1;
        parent = above.parent;
    }
    depth
}

fn outline_json(outlined: &Outlined) -> Value {
    json!({
        "ok": true,
        "path": outlined.path,
        "language": outlined.language,
        "total_lines": outlined.total_lines,
        "truncated": outlined.truncated,
        "symbols": outlined.symbols.iter().map(|symbol| {
            let mut object = symbol_json(None, symbol);
            object["parent"] = json!(symbol.parent);
            object
        }).collect::<Vec<_>>(),
    })
}

/// What to do where a name means several things or none: calls that work.
pub(super) fn refusal(error: &Error) -> Option<Refusal> {
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
        return Some(Refusal { code: error.code(), message });
    }
    if let Error::NoSymbol { target, .. } = error {
        let call = json!({"query": short(target), "mode": "symbol"});
        let message = format!("{}\nexample: search {}", printable(&error.to_string()), printable(&call.to_string()));
        return Some(Refusal { code: error.code(), message });
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
