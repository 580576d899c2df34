//! Search results, first and last lines and file information, as JSON with the seeds' field names and as text, for the
//! command line and the tools. Lines of files are passed on unchanged; names are escaped, as they may contain anything.

use readproof_core::{
    operation::{End, Matching, SearchMode},
    path::label,
};
use readproof_engine::{EndOfFile, FileStat, Hit, InFile, Line, Searched, UseKind, Uses};
use serde_json::{Value, json};

use super::{listed::counted, printable};

/// The seed's object for the first or last lines.
pub(crate) fn end_json(end: &EndOfFile) -> Value {
    let operation = match end.end {
        End::Head => "read_file_head",
        End::Tail => "read_file_tail",
    };
    json!({
        "success": true,
        "operation": operation,
        "path": end.path,
        "start_line": end.first,
        "end_line": end.first.map(|first| first + end.count.saturating_sub(1)),
        "line_count": end.count,
        "total_lines": end.total,
        "truncated": end.truncated,
        "cut": end.cut,
        "partial_line": end.partial,
        "size_bytes": end.bytes,
        "content": end.text,
    })
}

/// The seed's object for the matching lines of one file.
pub(crate) fn in_file_json(found: &InFile) -> Value {
    json!({
        "success": true,
        "operation": "search_in_file",
        "path": found.path,
        "query": found.query,
        "is_regex": found.matching == Matching::Regex,
        "count": found.given,
        "total_matches": found.matches,
        "truncated": found.truncated,
        "lossy": found.lossy,
        "size_bytes": found.bytes,
        "lines": found.lines.iter().map(line_json).collect::<Vec<_>>(),
    })
}

/// The seed's object for what a path leads to.
pub(crate) fn stat_json(stat: &FileStat) -> Value {
    json!({
        "success": true,
        "operation": "stat_file",
        "path": stat.path,
        "exists": stat.exists,
        "kind": stat.kind,
        "size_bytes": stat.size_bytes,
        "modified_unix_ms": stat.modified_unix_ms,
    })
}

pub(crate) fn search_json(found: &Searched) -> Value {
    let hit = |hit: &Hit| {
        let mut object = json!({
            "path": hit.path,
            "score": hit.score,
            "fit": hit.fit.map(readproof_engine::Fit::as_str),
            "matches": hit.matches,
            "lacks": hit.lacks,
            "lines": hit.lines.iter().map(|line| hit_line_json(hit, line)).collect::<Vec<_>>(),
        });
        add_kind(&mut object, kind_of(hit));
        object
    };
    let mut object = json!({
        "ok": true,
        "mode": found.mode.as_str(),
        "query": found.query,
        "results": found.hits.iter().map(hit).collect::<Vec<_>>(),
        "meta": {
            "total_matches": found.matches,
            "files_with_matches": found.files,
            "files_with_all_words": (found.mode == SearchMode::Text).then_some(found.complete),
            "files_searched": found.looked_at,
            "truncated": found.truncated,
            "skipped": {
                "large": found.skipped.large,
                "binary": found.skipped.binary,
                "unreadable": found.skipped.unreadable,
                "odd_names": found.skipped.odd_names,
                "folders": found.skipped.folders,
                "sensitive": found.skipped.sensitive,
                "long_lines": found.skipped.long_lines,
            },
            "top_paths": found.top,
        },
    });
    if let Some(uses) = &found.uses {
        let meta = &mut object["meta"];
        meta["name"] = json!(uses.name);
        meta["kinds"] = UseKind::ALL.iter().map(|kind| (kind.as_str().to_owned(), json!(uses.count(*kind)))).collect();
        meta["files_not_parsed"] = json!(uses.unparsed);
    }
    object
}

/// How the lines of a hit use the name, where references were searched.
fn kind_of(hit: &Hit) -> Option<UseKind> {
    hit.lines.iter().find_map(|line| line.kind)
}

fn add_kind(object: &mut Value, kind: Option<UseKind>) {
    if let Some(kind) = kind {
        (object["kind"], object["certain"]) = (json!(kind.as_str()), json!(kind.is_certain()));
    }
}

fn hit_line_json(hit: &Hit, line: &Line) -> Value {
    let mut object = line_json(line);
    if let Some((_, name)) = hit.within.iter().find(|(number, _)| *number == line.number) {
        object["in"] = json!(name);
    }
    object
}

fn line_json(line: &Line) -> Value {
    let mut object = json!({"line": line.number, "match": line.matches, "text": line.text});
    for (name, on) in [("cut", line.cut), ("lossy", line.lossy)] {
        if on {
            object[name] = Value::Bool(true);
        }
    }
    add_kind(&mut object, line.kind);
    object
}

/// The notice about lines that were left out.
pub(crate) fn cut_notice(end: &EndOfFile) -> Option<String> {
    let which = match end.end {
        End::Head => "first",
        End::Tail => "last",
    };
    let path = label(&end.path);
    let said = if end.partial {
        format!("only the {which} part of one line of {path} fits one answer")
    } else {
        format!("only the {which} {} lines of {path} fit one answer", end.count)
    };
    end.cut.then_some(said)
}

pub(crate) fn stat_text(stat: &FileStat) -> String {
    let path = label(&stat.path);
    match (stat.kind, stat.size_bytes, stat.modified_unix_ms) {
        (Some(kind), Some(bytes), Some(ms)) => {
            format!("{path}: {kind}, {bytes} bytes, changed {ms} ms after 1970")
        }
        (Some(kind), _, _) => format!("{path}: {kind}"),
        (None, _, _) => format!("{path}: does not exist"),
    }
}

/// Lines as ripgrep prints them: `:` around the number of a matching line, `-` around that of a context line, `--`
/// between groups.
pub(crate) fn lines_text(path: &str, lines: &[Line], context: bool) -> String {
    printed(Some(&label(path)), lines, context)
}

/// The same without the file name, for a single file.
pub(crate) fn numbered_text(lines: &[Line], context: bool) -> String {
    printed(None, lines, context)
}

fn printed(path: Option<&str>, lines: &[Line], context: bool) -> String {
    let mut out = String::new();
    let mut last = None;
    for line in lines {
        if context && last.is_some_and(|last: u64| last + 1 < line.number) {
            out.push_str("--\n");
        }
        last = Some(line.number);
        let mark = if line.matches { ':' } else { '-' };
        let more = if line.cut { "…" } else { "" };
        if let Some(path) = path {
            out.push_str(path);
            out.push(mark);
        }
        out.push_str(&format!("{}{mark}{}{more}\n", line.number, line.text));
    }
    out
}

/// Hits in order; a hit without lines is only its path. References have a line before each kind.
pub(crate) fn search_text(found: &Searched, context: bool) -> String {
    if let Some(uses) = &found.uses {
        return uses_text(found, uses, context);
    }
    let hit = |hit: &Hit| {
        let lines = match &hit.lines[..] {
            [] => format!("{}\n", label(&hit.path)),
            lines => lines_text(&hit.path, lines, context),
        };
        about(hit).into_iter().fold(lines, |lines, about| format!("{lines}  ({about})\n"))
    };
    let hits: Vec<String> = found.hits.iter().map(hit).collect();
    hits.join(if context { "--\n" } else { "" })
}

fn uses_text(found: &Searched, uses: &Uses, context: bool) -> String {
    let (mut text, mut last) = (String::new(), None);
    for hit in &found.hits {
        let kind = kind_of(hit);
        match kind.filter(|_| kind != last) {
            Some(new) => text.push_str(&format!("{} ({})\n", plural(new), uses.count(new))),
            None if context => text.push_str("--\n"),
            None => {}
        }
        last = kind;
        text.push_str(&lines_text(&hit.path, &hit.lines, context));
    }
    text
}

fn plural(kind: UseKind) -> &'static str {
    match kind {
        UseKind::Definition => "definitions",
        UseKind::Call => "calls",
        UseKind::Type => "types",
        UseKind::Import => "imports",
        UseKind::Use => "other uses",
        UseKind::Text => "text",
    }
}

/// Totals of a search for references: which are certain, and which are only text.
pub(crate) fn uses_notice(found: &Searched) -> Option<String> {
    let uses = found.uses.as_ref()?;
    let mut certain = Vec::new();
    for kind in UseKind::ALL.into_iter().filter(|kind| kind.is_certain() && uses.count(*kind) > 0) {
        let (count, kinds) = (uses.count(kind), plural(kind));
        certain.push(format!("{count} {}", if count == 1 { &kinds[..kinds.len() - 1] } else { kinds }));
    }
    let mut said: Vec<String> = Vec::new();
    if !certain.is_empty() {
        said.push(format!("by syntax: {}", certain.join(", ")));
    }
    match uses.count(UseKind::Text) {
        0 => {}
        count => said.push(format!("{count} only text (comment, string, no grammar)")),
    }
    if uses.unparsed > 0 {
        said.push(format!(
            "not parsed, so only text: {} (too many, too large or too hard)",
            counted(uses.unparsed, "file")
        ));
    }
    if uses.name != found.query {
        said.push(format!("searched for `{}`, the name in the query", printable(&uses.name)));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

/// What its lines belong to, how many more there are, and the words it lacks, for a file that was ranked by words.
fn about(hit: &Hit) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let shown = hit.lines.iter().filter(|line| line.matches).count() as u64;
    // In the order of the lines, each definition once.
    let mut before: Option<&str> = None;
    for (number, name) in &hit.within {
        match before {
            Some(same) if same == name => {}
            _ => said.push(format!("{number} in {}", printable(name))),
        }
        before = Some(name);
    }
    if shown > 0 && shown < hit.matches {
        said.push(format!("{} more lines", hit.matches - shown));
    }
    if !hit.lacks.is_empty() {
        said.push(format!("lacks {}", printable(&hit.lacks.join(", "))));
    }
    (hit.fit.is_none() && !said.is_empty() && hit.score.is_some()).then(|| said.join("; "))
}

/// The notice about what a search left out.
pub(crate) fn search_notice(found: &Searched) -> Option<String> {
    let skipped = &found.skipped;
    let left_out = [
        (skipped.large, "too large"),
        (skipped.unreadable, "not readable"),
        (skipped.odd_names, "with names that cannot be spelt as text"),
        (skipped.folders, "folders whose ignore file is no small regular file"),
        (skipped.long_lines, "with a line too long for this pattern"),
    ];
    let left_out = left_out.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let mut said: Vec<String> = Vec::new();
    if found.truncated {
        let shown: u64 = found.hits.iter().flat_map(|hit| &hit.lines).filter(|line| line.matches).count() as u64;
        said.push(match found.mode {
            SearchMode::Regex | SearchMode::References => {
                format!("{shown} of {} matching lines are shown", found.matches)
            }
            SearchMode::Text | SearchMode::Path => format!("{} of {} files are shown", found.hits.len(), found.files),
        });
    }
    let left_out: Vec<String> = left_out.collect();
    if !left_out.is_empty() {
        said.push(format!("left out: {}", left_out.join(", ")));
    }
    said.extend(secret_notice(skipped.sensitive));
    (!said.is_empty()).then(|| said.join("; "))
}

/// The notice about sensitive files that were not searched.
pub(crate) fn secret_notice(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 sensitive file was not searched; name it with search_in_file to search it".to_owned()),
        more => Some(format!("{more} sensitive files were not searched; name one with search_in_file to search it")),
    }
}
