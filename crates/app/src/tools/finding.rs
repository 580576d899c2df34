//! The search tools: files by words, lines by pattern, file information. The text for the model looks like the output
//! of `grep`; names are escaped, as they may contain anything.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{Matching, Operation, Search, SearchFile, SearchMode},
};
use readproof_engine::{FileStat, InFile, Searched};
use readproof_words::notice::notices;
use serde_json::{Value, json};

use super::{
    args::short,
    call::{Refused, ToolCall, ToolOutput, Tools},
    symbols,
};
use crate::report::{found, label, printable};

/// The whole workspace.
pub(super) fn search(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    if call.args.text("mode") == Some("symbol") {
        return symbols::search(tools, call);
    }
    let context = size(call, "context_lines").unwrap_or(0);
    let asked = Search {
        query: call.args.text("query").unwrap_or_default().to_owned(),
        mode: call.args.text("mode").and_then(SearchMode::parse).unwrap_or_default(),
        glob: call.args.text("glob").map(str::to_owned),
        limit: size(call, "limit"),
        context_lines: context,
        max_chars: TEXT_CHARS as usize,
    };
    let found: Searched = tools.ask(call, Operation::Search(asked))?.try_into()?;
    let text = found::search_text(&found, context > 0);
    let mut trailer = format!("{} matches in {} files", found.matches, found.files);
    if let Some(notice) = found::search_notice(&found) {
        trailer = format!("{trailer}; {notice}");
    }
    if found.matches == 0 {
        trailer.push_str("; try fewer or other words, mode=regex, or mode=path");
    }
    for notice in notices(&found.notices) {
        trailer = format!("{trailer}; {}", short(&printable(&notice)));
    }
    let contract = numbers(found::search_json(&found));
    Ok(ToolOutput {
        text: Some(text),
        context: None,
        trailer: Some(format!("[{trailer}]").into()),
        contract,
        text_key: "text",
    })
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
        context: None,
        trailer: Some(format!("[{trailer}]").into()),
        contract,
        text_key: "content",
    })
}

/// What a name leads to.
pub(super) fn stat(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = call.args.text("path").unwrap_or_default().to_owned();
    let stat: FileStat = tools.ask(call, Operation::Stat { path })?.try_into()?;
    let contract = found::stat_json(&stat);
    let text = plain(&contract);
    Ok(ToolOutput { text: Some(text), context: None, trailer: None, contract, text_key: "content" })
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
