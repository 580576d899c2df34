//! Definitions as JSON and as text, for the command line and the tools.

use readproof_core::{
    path::{label, printable},
    scope::Lines,
};
use readproof_engine::{DefinedAt, Fitting, Outlined, Symbol, SymbolsFound};
use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::tools::args::short;

pub(crate) fn range(lines: Lines) -> String {
    if lines.count() == 1 { lines.first().to_string() } else { format!("{}-{}", lines.first(), lines.last()) }
}

/// As many definitions as fit, one per line, and their number.
pub(crate) fn listed(found: &SymbolsFound, chars: usize) -> (String, usize) {
    let (mut text, mut left, mut given) = (String::new(), chars, 0);
    for (_, DefinedAt { path, symbol, .. }) in &found.found {
        let line = format!("{}:{}: {}\n", label(path), range(symbol.lines), named(symbol));
        let Some(rest) = left.checked_sub(line.chars().count()) else { break };
        left = rest;
        text.push_str(&line);
        given += 1;
    }
    (text, given)
}

pub(crate) fn named(symbol: &Symbol) -> String {
    let of = symbol.of.as_ref().map_or_else(String::new, |of| format!(" of {of}"));
    printable(&format!("{} {}{of}", symbol.kind.as_str(), symbol.qualified()))
}

pub(crate) fn found_json(found: &SymbolsFound, query: Option<&str>, given: usize) -> Value {
    let hit = |(fitting, defined): &(Option<Fitting>, DefinedAt)| {
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
            "notices": readproof_words::notice::notices(&found.notices),
        },
    })
}

pub(crate) fn symbol_json(path: Option<&str>, symbol: &Symbol) -> Value {
    let mut object = json!({
        "name": symbol.name,
        "qualified": symbol.qualified(),
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

/// The definitions in a file, one per line, indented by depth.
pub(crate) fn outline_text(outlined: &Outlined) -> String {
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
    text
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

pub(crate) fn outline_json(outlined: &Outlined) -> Value {
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
