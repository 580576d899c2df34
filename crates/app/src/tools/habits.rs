//! What a model means by arguments that the table does not have: the names and forms that other file tools use. Everything here
//! is a translation into the table; nothing is guessed from the file. Not used if the setting `args` is `strict`.

use serde_json::{Map, Value, json};

use super::{Group, Tool, args::plain};

/// The `end_line` that stands for the last line of the file.
pub(super) const TO_THE_END: u64 = u32::MAX as u64;

/// Names of a range of lines in one argument.
const RANGES: &[&str] = &["lines", "range", "line_range", "lines_range", "view_range", "line_numbers"];

/// Names of a single line.
const ONE_LINE: &[&str] = &["line", "line_number", "at_line", "lineno"];

/// Names of a glob, which may be a list or have commas.
const GLOBS: &[&str] = &["glob", "include", "includes", "globs", "include_pattern", "file_pattern"];

/// Arguments of other tools that change nothing here.
const IDLE: &[&str] = &[
    "_n",
    "explanation",
    "description",
    "should_read_entire_file",
    "output_mode",
    "multiline",
    "literal",
    "encoding",
    "recursive",
    "command",
    "respect_git_ignore",
    "file_filtering_options",
    "match_per_line",
];

/// Arguments by the names of the table, and the names of those that mean nothing here.
pub(super) struct Translated {
    pub(super) given: Map<String, Value>,
    pub(super) ignored: Vec<String>,
}

/// Translates the arguments of a call.
pub(super) fn translated(tool: &Tool, given: &Map<String, Value>) -> Translated {
    let mut out = Translated { given: Map::new(), ignored: Vec::new() };
    // An empty text stands for an argument that is not given, except as the content of a diff and where words are needed.
    let is_diff = given.get("mode").is_none_or(|mode| mode == "diff_preview") && tool.name != "search";
    let is_given = |(name, value): &(&String, &Value)| {
        let empty = (is_diff && *name == "content") || (tool.name == "search" && *name == "query");
        !value.is_null() && (value.as_str() != Some("") || empty)
    };
    for (name, value) in given.iter().filter(is_given) {
        let known = plain(name);
        let lines = if has(tool, "start_line") || has(tool, "offset") { span(&known, value) } else { None };
        if let Some((first, last)) = lines {
            out.put("start_line", json!(first));
            out.put("end_line", json!(last));
        } else if tool.name == "search" && search(&mut out, &known, value) {
            // Translated.
        } else if tool.name == "read" && known == "head" {
            out.given.entry("limit").or_insert(value.clone());
        } else if super::args::named(tool, name).is_some() || tool.group != Group::Unified {
            out.given.insert(name.clone(), value.clone());
        } else if !IDLE.contains(&known.as_str()) {
            out.ignored.push(name.clone());
        }
    }
    match tool.name {
        "read" => read(&mut out.given),
        "search" => glob_or_pattern(&mut out.given),
        _ => {}
    }
    bounds(&mut out.given);
    as_the_tool_counts(tool, &mut out.given);
    out
}

impl Translated {
    fn put(&mut self, name: &str, value: Value) {
        self.given.insert(name.to_owned(), value);
    }
}

fn has(tool: &Tool, name: &str) -> bool {
    tool.params.iter().any(|param| param.name == name)
}

/// The first and last line of a range in one argument: `"10-20"`, `[10, 20]`, `"10-"`, or a single line.
fn span(name: &str, value: &Value) -> Option<(u64, u64)> {
    if ONE_LINE.contains(&name) {
        let line = number(value)?;
        return Some((line, line));
    }
    if !RANGES.contains(&name) {
        return None;
    }
    match value {
        Value::Array(ends) => match &ends[..] {
            [first, last] => {
                let end = if last.as_i64() == Some(-1) { Some(TO_THE_END) } else { number(last) };
                Some((number(first)?, end?))
            }
            _ => None,
        },
        Value::String(text) => written(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// A range as text; a plain number is none.
fn written(text: &str) -> Option<(u64, u64)> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, 'L' | 'l' | '#')).collect();
    let (first, last) = ["..", "-", ":", ",", "–"].iter().find_map(|mark| text.split_once(mark))?;
    let last = if last.is_empty() { TO_THE_END } else { last.parse().ok()? };
    Some((if first.is_empty() { 1 } else { first.parse().ok()? }, last))
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Which of several names of a file or a definition is meant.
fn read(given: &mut Map<String, Value>) {
    let is_symbol = given.get("mode").and_then(Value::as_str).is_some_and(|mode| mode.eq_ignore_ascii_case("symbol"));
    // A file and a definition, the file under the name that can mean both.
    let named = ["name", "symbol", "symbol_name", "identifier"].iter().any(|name| given.contains_key(*name));
    if is_symbol
        && named
        && let Some(file) = given.remove("target")
    {
        given.insert("path".to_owned(), file);
    }
    if is_symbol
        && !named
        && !given.contains_key("target")
        && let Some(name) = given.remove("query")
    {
        given.insert("target".to_owned(), name);
    }
    // Several files under the name of one, or as the text of a list.
    let names: Vec<String> = given.keys().filter(|name| *name != "content").cloned().collect();
    for name in names {
        let listed =
            |text: &str| serde_json::from_str::<Vec<Value>>(text).ok().filter(|_| text.trim_start().starts_with('['));
        let list = given.get(&name).and_then(|value| value.as_array().cloned().or_else(|| listed(value.as_str()?)));
        if let Some(list) = list {
            given.remove(&name);
            given.insert("targets".to_owned(), Value::Array(list));
        }
    }
    // Defaults that a client filled in.
    let is_snippet = given.get("mode").and_then(Value::as_str).is_some_and(|mode| mode.eq_ignore_ascii_case("snippet"));
    for (name, idle) in [("include_context", json!(false)), ("context_lines", json!(0))] {
        if given.get(name) == Some(&idle) && !(is_snippet && name == "context_lines") {
            given.remove(name);
        }
    }
    for name in ["path", "target", "file_path", "file", "filePath"] {
        if let Some(text) = given.get(name).and_then(Value::as_str).and_then(with_fragment) {
            given.insert(name.to_owned(), json!(text));
        }
    }
}

/// `x.rs#L16-L22`, as on the pages of a forge, in the form `x.rs:16-22`.
fn with_fragment(path: &str) -> Option<String> {
    let (file, lines) = path.rsplit_once("#L")?;
    let lines = lines.replace('L', "");
    lines.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{file}:{lines}"))
}

/// What `search` takes under other names; `true` if it was one of them.
fn search(out: &mut Translated, name: &str, value: &Value) -> bool {
    let yes = || value.as_bool().or_else(|| value.as_str()?.parse().ok());
    match name {
        "_i" | "ignore_case" | "case_insensitive" | "insensitive" => {
            if yes() == Some(true) {
                out.put("case", json!("insensitive"));
            }
        }
        "case_sensitive" | "match_case" => match yes() {
            Some(exact) => out.put("case", json!(if exact { "sensitive" } else { "insensitive" })),
            None => return false,
        },
        "_a" | "_b" | "_c" | "before_context" | "after_context" | "context_before" | "context_after"
        | "before_lines" | "after_lines" => {
            let most = number(value).max(out.given.get("context_lines").and_then(Value::as_u64));
            out.put("context_lines", json!(most));
        }
        "is_regex" | "use_regex" | "regexp" | "is_regexp" => {
            if yes() == Some(true) {
                out.given.entry("mode").or_insert(json!("regex"));
            }
        }
        "regex" => match value {
            Value::Bool(regex) => {
                if *regex {
                    out.given.entry("mode").or_insert(json!("regex"));
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                out.given.entry("mode").or_insert(json!("regex"));
                out.put("query", value.clone());
            }
        },
        "type" | "file_type" | "language" => match value.as_str().map(|word| word.trim().to_ascii_lowercase()) {
            Some(word)
                if name == "type" && matches!(word.as_str(), "text" | "regex" | "path" | "symbol" | "references") =>
            {
                return false;
            }
            Some(word) => out.put("glob", json!(of_type(&word))),
            None => return false,
        },
        "target_directories" | "paths" | "directories" | "path" if value.is_array() => {
            let places: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            match &places[..] {
                [one] => out.put("path", json!(one)),
                several => out.put("glob", json!(format!("{{{}}}/**", several.join(",")))),
            }
        }
        _ if GLOBS.contains(&name) => {
            let globs: Vec<String> = match value {
                Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                Value::String(text) if text.contains(',') && !text.contains('{') => {
                    text.split(',').map(|glob| glob.trim().to_owned()).collect()
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => return false,
            };
            out.put("glob", json!(if globs.len() == 1 { globs.concat() } else { format!("{{{}}}", globs.join(",")) }));
        }
        _ => return false,
    }
    true
}

/// The files of a type, as ripgrep's `-t` names it.
fn of_type(word: &str) -> String {
    let extensions = match word {
        "rust" => "rs",
        "python" | "py" => "{py,pyi}",
        "javascript" | "js" => "{js,jsx,mjs,cjs,vue}",
        "typescript" | "ts" => "{ts,tsx,mts,cts}",
        "markdown" | "md" => "{md,markdown,mdx}",
        "c" => "{c,h}",
        "cpp" | "c++" => "{cpp,cc,cxx,hpp,hh,hxx,h}",
        "csharp" | "cs" => "cs",
        "kotlin" => "{kt,kts}",
        "ruby" => "rb",
        "yaml" | "yml" => "{yaml,yml}",
        "shell" | "sh" | "bash" => "{sh,bash,zsh}",
        other => other.trim_start_matches('.'),
    };
    format!("*.{extensions}")
}

/// `pattern` is a glob in one tool and a regular expression in another; what it is shows in its letters.
fn glob_or_pattern(given: &mut Map<String, Value>) {
    if given.contains_key("mode") || given.contains_key("query") {
        return;
    }
    let Some(pattern) = given.get("pattern").and_then(Value::as_str) else { return };
    let mode = if is_glob(pattern) {
        "path"
    } else if is_regex_like(pattern) {
        "regex"
    } else {
        return;
    };
    given.insert("mode".to_owned(), json!(mode));
}

fn is_glob(pattern: &str) -> bool {
    let spoken = pattern.contains(|c: char| c.is_whitespace() || matches!(c, '\\' | '(' | '|' | '^' | '$' | '+'));
    !spoken
        && (pattern.starts_with("*.") || pattern.contains("**/") || pattern.ends_with("/*") || pattern.contains("/*."))
}

/// Whether text is more likely a regular expression than words.
pub(crate) fn is_regex_like(text: &str) -> bool {
    [".*", ".+", "\\b", "\\w", "\\s", "\\d", "\\(", "\\.", "[^", "[a-z", "[A-Z", "[0-9", "(?"]
        .iter()
        .any(|mark| text.contains(mark))
        || text.starts_with('^')
        || (text.ends_with('$') && text.len() > 1)
        || (text.contains('|') && !text.contains("||") && !text.contains(' '))
}

/// Numbers that other tools take: the line before the first, and "no limit".
fn bounds(given: &mut Map<String, Value>) {
    let signed = |value: &Value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    let names: Vec<String> = given.keys().cloned().collect();
    for name in names {
        let Some(least) = given.get(&name).and_then(signed).filter(|number| *number <= 0) else { continue };
        match (plain(&name).as_str(), least) {
            ("offset" | "start_line" | "start" | "from" | "line_start" | "start_line_one_indexed", 0)
            | ("limit", -1 | 0) => {
                given.remove(&name);
            }
            ("end_line" | "end" | "to" | "line_end" | "end_line_one_indexed_inclusive", -1) => {
                given.insert(name, json!(TO_THE_END));
            }
            _ => {}
        }
    }
}

/// First and last line for tools that count so, offset and limit for the others.
fn as_the_tool_counts(tool: &Tool, given: &mut Map<String, Value>) {
    let take = |given: &mut Map<String, Value>, name: &str| {
        let value = given.get(name).and_then(number)?;
        given.remove(name);
        Some(value)
    };
    let (starts, offsets) = (has(tool, "start_line"), has(tool, "offset"));
    if starts && !offsets {
        let first = match take(given, "offset") {
            Some(offset) => *given.entry("start_line").or_insert(json!(offset)) == json!(offset),
            None => true,
        };
        let start = given.get("start_line").and_then(number).unwrap_or(1);
        if first
            && !given.contains_key("end_line")
            && let Some(limit) = take(given, "limit")
        {
            given.insert("end_line".to_owned(), json!(start.saturating_add(limit.saturating_sub(1))));
        }
    } else if offsets && !starts {
        let start = take(given, "start_line");
        if let Some(start) = start {
            given.entry("offset").or_insert(json!(start));
        }
        if !given.contains_key("limit")
            && let Some(end) = take(given, "end_line")
        {
            let start = given.get("offset").and_then(number).unwrap_or(1);
            given.insert("limit".to_owned(), json!(end.saturating_sub(start).saturating_add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::tool;

    fn meant(name: &str, given: Value) -> (Value, Vec<String>) {
        let done = translated(tool(name).unwrap(), given.as_object().unwrap());
        (Value::Object(done.given), done.ignored)
    }

    #[test]
    fn ranges_in_every_form() {
        for given in [
            json!({"path": "a", "lines": "10-20"}),
            json!({"path": "a", "range": " L10 - L20 "}),
            json!({"path": "a", "view_range": [10, 20]}),
            json!({"path": "a", "lineRange": "10:20"}),
        ] {
            assert_eq!(meant("read", given).0, json!({"path": "a", "start_line": 10, "end_line": 20}));
        }
        assert_eq!(meant("read", json!({"path": "a", "lines": 20})).0, json!({"path": "a", "lines": 20}), "a limit");
        let open = json!({"path": "a", "start_line": 5, "end_line": TO_THE_END});
        assert_eq!(meant("read", json!({"path": "a", "range": "5-"})).0, open);
        assert_eq!(meant("read", json!({"path": "a", "start_line": 5, "end_line": -1})).0, open);
        assert_eq!(meant("read", json!({"path": "a", "offset": 0, "limit": -1})).0, json!({"path": "a"}));
        let range = json!({"path": "a", "start_line": 3, "end_line": 7});
        assert_eq!(meant("read_file_range", json!({"path": "a", "offset": 3, "limit": 5})).0, range);
        assert_eq!(meant("read_file", range).0, json!({"path": "a", "offset": 3, "limit": 5}));
    }

    #[test]
    fn a_definition_in_a_file() {
        let meant = |given| meant("read", given).0;
        let asked = json!({"mode": "symbol", "path": "a.rs", "symbol": "f"});
        assert_eq!(meant(json!({"mode": "symbol", "target": "a.rs", "symbol": "f"})), asked);
        assert_eq!(meant(json!({"mode": "symbol", "query": "f"})), json!({"mode": "symbol", "target": "f"}));
    }

    #[test]
    fn the_habits_of_a_search() {
        let grep =
            json!({"pattern": "a.*b", "-i": true, "-C": 2, "-A": 1, "type": "rust", "output_mode": "content", "x": 1});
        let (given, ignored) = meant("search", grep);
        assert_eq!(
            given,
            json!({"pattern": "a.*b", "mode": "regex", "case": "insensitive", "context_lines": 2, "glob": "*.rs"})
        );
        assert_eq!(ignored, ["x"]);
        let mode = |given: Value| meant("search", given).0["mode"].clone();
        assert_eq!(mode(json!({"pattern": "**/*.py"})), "path");
        assert_eq!(mode(json!({"pattern": "fn main"})), Value::Null);
        assert_eq!(mode(json!({"query": "fn .*"})), Value::Null, "a query is words unless the mode says otherwise");
        assert_eq!(mode(json!({"regex": "x"})), "regex");
        assert_eq!(mode(json!({"query": "x", "type": "symbol"})), Value::Null, "left to the table");
    }

    #[test]
    fn tools_of_other_groups_stay_literal() {
        assert_eq!(meant("stat_file", json!({"path": "a", "x": 1})), (json!({"path": "a", "x": 1}), vec![]));
    }
}
