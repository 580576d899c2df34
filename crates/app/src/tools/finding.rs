//! The search tools: files by words, lines by pattern, file information. The text for the model looks like the output
//! of `grep`; names are escaped, as they may contain anything.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{Letters, Matching, Operation, Search, SearchFile, SearchMode},
};
use readproof_engine::{FileStat, Hit, InFile, Searched};
use readproof_words::notice::notices;
use serde_json::{Value, json};

use super::{
    args::short,
    call::{Refused, ToolCall, ToolOutput, Tools},
    habits::is_regex_like,
    listing::extent,
    symbols,
};
use crate::report::{found, label, listed::counted, printable};

/// The whole workspace.
pub(super) fn search(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    if call.args.text("mode") == Some("symbol") {
        return symbols::search(tools, call);
    }
    let context = size(call, "context_lines").unwrap_or(0);
    let asked = Search {
        query: call.args.text("query").unwrap_or_default().to_owned(),
        mode: call.args.text("mode").and_then(SearchMode::parse).unwrap_or_default(),
        letters: call.args.text("case").and_then(Letters::parse).unwrap_or_default(),
        extent: extent(call),
        limit: size(call, "limit"),
        context_lines: context,
        max_chars: TEXT_CHARS as usize,
    };
    let query = asked.query.clone();
    let as_regex = !call.args.has("mode") && is_regex_like(&query);
    let mut found: Searched = tools.ask(call, Operation::Search(asked.clone()))?.try_into()?;
    if as_regex && found.matches == 0 {
        let asked = Search { mode: SearchMode::Regex, ..asked };
        // What is no regular expression was words.
        found = tools.ask(call, Operation::Search(asked)).and_then(TryInto::try_into).unwrap_or(found);
    }
    let text = found::search_text(&found, context > 0);
    let (matches, files) = (counted(found.matches, "match"), counted(found.files, "file"));
    let mut trailer = match found.mode {
        SearchMode::Path => files,
        SearchMode::Text if found.complete < found.files => {
            format!("{files} with some of the words, {} with all", found.complete)
        }
        SearchMode::Text => files,
        SearchMode::Regex => format!("{matches} in {files}"),
        SearchMode::References => format!("{} in {files}", counted(found.matches, "line")),
    };
    if let Some(uses) = found::uses_notice(&found) {
        trailer = format!("{trailer}; {uses}");
    }
    if as_regex && found.mode == SearchMode::Regex {
        trailer.push_str("; taken as a regular expression (mode=regex)");
    }
    if let Some(notice) = found::search_notice(&found) {
        trailer = format!("{trailer}; {notice}");
    }
    if let Some(more) = rest(call, &found) {
        trailer = format!("{trailer}; {more}");
    }
    if found.matches == 0 {
        trailer = format!("{trailer}; {}", nothing(call, &found));
    }
    for notice in notices(&found.notices) {
        trailer = format!("{trailer}; {}", short(&printable(&notice)));
    }
    let contract = numbers(found::search_json(&found));
    Ok(ToolOutput {
        text: Some(text),
        trailer: Some(format!("[{trailer}]").into()),
        contract,
        text_key: "text",
        ..ToolOutput::default()
    })
}

/// How to see the matches that are not shown.
fn rest(call: &ToolCall<'_>, found: &Searched) -> Option<String> {
    let shown = |hit: &Hit| hit.lines.iter().filter(|line| line.matches).count() as u64;
    let more_lines = || found.hits.iter().any(|hit| shown(hit) < hit.matches);
    match found.mode {
        SearchMode::Text | SearchMode::Path | SearchMode::Regex if found.truncated => {
            Some("limit=N or path=FOLDER shows more".to_owned())
        }
        SearchMode::References if found.truncated => {
            let all: u64 = found.hits.iter().map(shown).sum();
            let limit = size(call, "limit").unwrap_or_else(|| found.mode.limit());
            // Where lines did not fit, a higher limit shows no more of them.
            let is_limit = usize::try_from(all).is_ok_and(|all| all >= limit);
            let more = call.args.clone().with("limit", found.matches).but_for(&[]);
            let more = format!("search {}", short(&printable(&more.to_string())));
            Some(format!("{} shows more", if is_limit { &more } else { "path=FOLDER" }))
        }
        SearchMode::Text if more_lines() => Some("path=FILE shows all lines of a file".to_owned()),
        SearchMode::Text | SearchMode::Path | SearchMode::Regex | SearchMode::References => None,
    }
}

/// What to try where nothing was found.
fn nothing(call: &ToolCall<'_>, found: &Searched) -> String {
    let query = call.args.text("query").unwrap_or_default();
    if found.looked_at == 0 {
        let narrowed = ["path", "glob"].iter().any(|name| call.args.has(name));
        let how =
            if narrowed { "nothing there fits path and glob" } else { "there is none that is not ignored or hidden" };
        return format!("no file was searched: {how}; hidden=true or ignored=true looks at more");
    }
    let regex = json!({"query": query, "mode": "regex"});
    match found.mode {
        SearchMode::Text if is_regex_like(query) => {
            format!("for a regular expression: search {}", short(&printable(&regex.to_string())))
        }
        SearchMode::Text => "try fewer or other words, or mode=symbol, mode=path".to_owned(),
        SearchMode::Regex => "try mode=text with words, or case=insensitive".to_owned(),
        SearchMode::Path => "try a part of the name, or list".to_owned(),
        SearchMode::References => "try case=insensitive, or mode=symbol for similar names".to_owned(),
    }
}

/// One file.
pub(super) fn in_file(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let standard = SearchFile::default();
    let (before, after) = (size(call, "before_lines").unwrap_or(0), size(call, "after_lines").unwrap_or(0));
    let asked = SearchFile {
        path: call.args.text("path").unwrap_or_default().to_owned(),
        query: call.args.text("query").unwrap_or_default().to_owned(),
        matching: if call.args.flag("is_regex") { Matching::Regex } else { Matching::Literal },
        max_matches: size(call, "max_matches").unwrap_or(standard.max_matches),
        before,
        after,
        max_chars: TEXT_CHARS as usize,
        with_path: false,
    };
    let found: InFile = tools.ask(call, Operation::SearchFile(asked))?.try_into()?;
    let text = found::numbered_text(&found.lines, before > 0 || after > 0);
    let mut trailer = format!("{}: {} of {} matching lines", short(&label(&found.path)), found.given, found.matches);
    if found.lossy {
        trailer.push_str("; bytes that are no UTF-8 are shown as \u{fffd}");
    }
    for notice in notices(&found.notices) {
        trailer = format!("{trailer}; {}", short(&printable(&notice)));
    }
    let contract = numbers(found::in_file_json(&found));
    Ok(ToolOutput {
        text: Some(text),
        trailer: Some(format!("[{trailer}]").into()),
        contract,
        text_key: "content",
        ..ToolOutput::default()
    })
}

/// What a name leads to.
pub(super) fn stat(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = call.args.text("path").unwrap_or_default().to_owned();
    let stat: FileStat = tools.ask(call, Operation::Stat { path })?.try_into()?;
    let contract = found::stat_json(&stat);
    let text = plain(&contract);
    Ok(ToolOutput { text: Some(text), contract, text_key: "content", ..ToolOutput::default() })
}

fn size(call: &ToolCall<'_>, name: &str) -> Option<usize> {
    call.args.number(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// Replaces lines by their numbers, as their text is already in the answer.
fn numbers(mut contract: Value) -> Value {
    fn in_place(lines: &mut Value) {
        let matching = |line: &&Value| line["match"] == true;
        let found = lines.as_array().map(|all| all.iter().filter(matching).map(|line| line["line"].clone()).collect());
        *lines = found.unwrap_or_default();
    }
    if let Some(query) = contract.get_mut("query") {
        *query = json!(short(query.as_str().unwrap_or_default()));
    }
    if let Some(lines) = contract.get_mut("lines") {
        in_place(lines);
    }
    for hit in contract.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
        in_place(&mut hit["lines"]);
    }
    contract
}

/// A record as text, with its path escaped.
fn plain(record: &Value) -> String {
    let mut record = record.clone();
    if let Some(path) = record.get_mut("path") {
        *path = json!(printable(path.as_str().unwrap_or_default()));
    }
    record.to_string()
}
