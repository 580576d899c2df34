//! Checks the arguments of one call against the table. Common other names are accepted, and numbers may come as text.
//! Invalid arguments are refused with what was expected, what was received, and a valid call.

use readproof_core::{path::printable, render::trailer::hidden};
use readproof_engine::{ApprovalRequest, Arguments};
use serde_json::{Map, Value, json};

use super::{Kind, Param, Tool, habits::translated, unified::is_for};

/// How many characters of the arguments an error quotes.
const RECEIVED_CHARS: usize = 300;

/// Valid arguments, by the names of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    given: Map<String, Value>,
    /// Names of arguments that mean nothing here.
    ignored: Vec<String>,
    /// Whether the mode was not given.
    pub(crate) is_mode_implied: bool,
}

/// Why a call was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// What a program may want to know beside the code.
    pub(crate) facts: Map<String, Value>,
    /// Whether a change of files was refused, whose result has a form of its own.
    pub(crate) of_change: bool,
    /// The call waits for a person, and is made again after a yes.
    pub(crate) approval: Option<Box<ApprovalRequest>>,
}

impl Refusal {
    /// The same, with the hidden characters of the lines that it shows named behind them.
    pub(crate) fn naming_hidden(mut self) -> Self {
        if let Some(named) = hidden(&self.message) {
            self.message = format!("{}\n[{named}]", self.message);
        }
        self
    }

    pub(crate) fn new(code: &'static str, message: String) -> Self {
        Self { code, message, ..Self::default() }
    }
}

impl Args {
    /// Checks the arguments of a call. `file` returns an existing file for the example in an error.
    pub(crate) fn parse(
        tool: &Tool,
        given: &Map<String, Value>,
        style: Arguments,
        file: &dyn Fn() -> String,
    ) -> Result<Self, Refusal> {
        let received = given;
        let refuse = |message: &str, better: &Value| invalid(tool, received, &file(), message, better);
        let (translated, ignored) = match style {
            Arguments::Loose => {
                let done = translated(tool, given);
                (done.given, done.ignored)
            }
            Arguments::Strict => (given.clone(), Vec::new()),
        };
        let mut args = Map::new();
        for (name, value) in translated.iter().filter(|(_, value)| !value.is_null()) {
            let Some(param) = named(tool, name) else {
                let message = format!("{} has no parameter `{}`.", tool.name, short(&printable(name)));
                return Err(refuse(&message, &without(&translated, name)));
            };
            let Some(value) = meant(param, value) else {
                let message = format!("{} must be {}.", param.name, param.expects());
                return Err(refuse(&message, &without(&translated, name)));
            };
            match args.insert(param.name.to_owned(), value.clone()) {
                Some(other) if other != value => {
                    let message = format!("{} is given twice, under another name too.", param.name);
                    return Err(refuse(&message, &without(&translated, name)));
                }
                Some(_) | None => {}
            }
        }
        let mut is_mode_implied = false;
        if tool.name == "read" {
            if style == Arguments::Loose && !args.contains_key("mode") {
                is_mode_implied = true;
                args.insert("mode".to_owned(), json!("file"));
                if let Some(name) = ["symbol", "symbol_name"].iter().find(|name| translated.contains_key(**name)) {
                    let message = format!("{name} is only valid for mode='symbol'. Remove it or switch mode.");
                    args.insert("mode".to_owned(), json!("symbol"));
                    return Err(refuse(&message, &Value::Object(args)));
                }
            }
            // Without a target, `path` must be the file.
            let is_symbol = args.get("mode").and_then(Value::as_str) == Some("symbol");
            if !is_symbol
                && !args.contains_key("target")
                && let Some(path) = args.remove("path")
            {
                args.insert("target".to_owned(), path);
            }
        }
        let needed = |param: &&Param| param.required && !args.contains_key(param.name);
        let needed = tool.params.iter().find(needed).map(|param| param.name);
        // The schema says nothing of them, because some hosts refuse a call that lacks what it requires.
        let read = ["mode", "target"].into_iter().find(|name| tool.name == "read" && !args.contains_key(*name));
        if let Some(name) = read.filter(|_| !args.contains_key("targets")).or(needed) {
            return Err(refuse(&format!("{name} is required."), &Value::Object(args)));
        }
        Ok(Self { given: args, ignored, is_mode_implied })
    }

    /// What is said about arguments that mean nothing here.
    pub(crate) fn ignored(&self) -> Option<String> {
        let names: Vec<String> = self.ignored.iter().take(5).map(|name| short(&printable(name))).collect();
        (!names.is_empty()).then(|| format!("no such argument, ignored: {}", names.join(", ")))
    }

    /// The targets of a call that names several.
    pub(crate) fn targets(&self) -> Option<&Vec<Value>> {
        self.given.get("targets").and_then(Value::as_array)
    }

    /// The changes of a call that makes several.
    pub(crate) fn edits(&self) -> Option<&Vec<Value>> {
        self.given.get("edits").and_then(Value::as_array)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).and_then(Value::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.given.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.given.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The same arguments for another tool, which has another name for one of them.
    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Self {
        if let Some(value) = self.given.remove(from) {
            self.given.insert(to.to_owned(), value);
        }
        self
    }

    /// With one argument more.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.given.insert(name.to_owned(), value.into());
        self
    }

    /// The arguments with another file in the place of the one asked for.
    pub(crate) fn with_file(&self, asked: &str, file: &str) -> Value {
        let named = |name: &&String| self.text(name) == Some(asked);
        let names: Vec<String> = self.given.keys().filter(named).cloned().collect();
        let mut call = self.given.clone();
        for name in names {
            call.insert(name, json!(file));
        }
        Value::Object(call)
    }

    /// The arguments with as many of the last lines of a file that has so many.
    pub(crate) fn at_the_end(&self, total: u64) -> Value {
        let (first, last) = (self.number("start_line").or(self.number("offset")), self.number("end_line"));
        let asked = last.zip(first).map(|(last, first)| last.saturating_sub(first) + 1);
        let count = self.number("limit").or(asked).unwrap_or(AT_THE_END);
        let first = total.saturating_sub(count.saturating_sub(1)).max(1);
        let call = self.clone().with("start_line", first).with("end_line", total);
        call.but_for(&["offset", "limit", "context_lines"])
    }

    /// The arguments without some of them.
    pub(crate) fn but_for(&self, names: &[&str]) -> Value {
        Value::Object(
            self.given
                .iter()
                .filter(|(name, _)| !names.contains(&name.as_str()))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect(),
        )
    }

    pub(crate) fn all(&self) -> &Map<String, Value> {
        &self.given
    }
}

/// Refuses invalid arguments. `better` are those that can be kept in the example.
pub(crate) fn invalid(tool: &Tool, given: &Map<String, Value>, file: &str, message: &str, better: &Value) -> Refusal {
    let mut example = tool.example(file);
    if let (Some(fields), Some(kept)) = (example.as_object_mut(), better.as_object()) {
        for (name, value) in kept {
            if let Some((param, value)) = named(tool, name).and_then(|param| Some((param, meant(param, value)?)))
                && value.as_str().is_none_or(|text| short(text) == text)
            {
                fields.insert(param.name.to_owned(), value);
            }
        }
        // The files are named already.
        if fields.contains_key("targets") {
            fields.remove("target");
        }
        // A file under another name than the example's.
        let is_symbol = fields.get("mode").is_some_and(|mode| mode == "symbol");
        if tool.name == "read"
            && !is_symbol
            && kept.get("target").is_none()
            && let Some(path) = fields.remove("path")
        {
            fields.insert("target".to_owned(), path);
        }
        // The first line was kept, and the last of the example may stand before it.
        let (first, last) =
            (fields.get("start_line").and_then(Value::as_u64), fields.get("end_line").and_then(Value::as_u64));
        if let (Some(first), Some(last)) = (first, last)
            && last < first
        {
            fields.insert("end_line".to_owned(), json!(first + 19));
        }
        // There is no symbol to suggest.
        if fields.get("mode").is_some_and(|mode| mode == "symbol") && kept.get("target").is_none() {
            fields.insert("mode".to_owned(), json!("file"));
        }
        // Drop arguments of other modes.
        let mode = fields.get("mode").and_then(Value::as_str).map(str::to_owned);
        if let Some(mode) = mode.filter(|_| tool.name == "read") {
            fields.retain(|name, _| is_for(name, &mode));
        }
    }
    let received: String = Value::Object(given.clone()).to_string().chars().take(RECEIVED_CHARS).collect();
    let message = format!(
        "{message}\nexpected: {}\nreceived: {}\nexample: {} {example}",
        tool.usage(),
        printable(&received),
        tool.name,
        example = printable(&example.to_string())
    );
    Refusal::new("INVALID_ARGS", message)
}

/// The part of a caller's text that is quoted.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// How many characters of one argument are quoted.
const QUOTED_CHARS: usize = 300;

/// The longest text argument, in bytes.
const TEXT_BYTES: usize = 8_000;

/// How many of the last lines an example shows.
const AT_THE_END: u64 = 20;

/// The most changes of one call.
pub(crate) const MOST_EDITS: usize = 100;

/// The most files of one call.
pub(crate) const MOST_TARGETS: usize = 50;

fn without(given: &Map<String, Value>, name: &str) -> Value {
    Value::Object(given.iter().filter(|(other, _)| *other != name).map(|(n, v)| (n.clone(), v.clone())).collect())
}

/// A name as the table writes names: `startLine` and `start-line` are `start_line`.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
        plain.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    plain
}

/// The parameter of this name.
pub(super) fn named<'t>(tool: &'t Tool, name: &str) -> Option<&'t Param> {
    let plain = plain(name);
    let exact = tool.params.iter().find(|param| param.name == plain);
    exact.or_else(|| tool.params.iter().find(|param| param.aliases.contains(&plain.as_str())))
}

/// The argument as a value of the parameter's type; `None` if it is not one.
fn meant(param: &Param, value: &Value) -> Option<Value> {
    match param.kind {
        Kind::Text => value.as_str().filter(|text| text.len() <= TEXT_BYTES).map(|text| json!(text)),
        Kind::Content => value.as_str().map(|text| json!(text)),
        Kind::Edits => {
            let listed = match value {
                // Some models write the list as text.
                Value::String(text) => serde_json::from_str(text).ok()?,
                Value::Object(_) => json!([value]),
                Value::Array(_) => value.clone(),
                Value::Null | Value::Bool(_) | Value::Number(_) => return None,
            };
            let fits = |all: &&Vec<Value>| (1..=MOST_EDITS).contains(&all.len());
            let all: Option<Vec<Value>> = listed.as_array().filter(fits)?.iter().map(one_edit).collect();
            all.map(Value::Array)
        }
        Kind::List => {
            let is_target = |one: &Value| one.is_object() || one.as_str().is_some_and(|text| text.len() <= TEXT_BYTES);
            let fits = |all: &&Vec<Value>| (1..=MOST_TARGETS).contains(&all.len()) && all.iter().all(is_target);
            value.as_array().filter(fits).map(|all| json!(all))
        }
        Kind::Flag => match value {
            Value::Bool(flag) => Some(json!(flag)),
            Value::String(word) => word.trim().parse::<bool>().ok().map(|flag| json!(flag)),
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        },
        Kind::Number(least) => {
            let number = match value {
                Value::String(digits) => digits.trim().parse().ok(),
                Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            };
            number.filter(|number| *number >= least).map(|number| json!(number))
        }
        Kind::Word(words) => {
            let word = value.as_str()?.trim();
            words.iter().find(|known| known.eq_ignore_ascii_case(word)).map(|word| json!(word))
        }
    }
}

/// One of several changes, by the names of the table; `None` if it is not one.
fn one_edit(value: &Value) -> Option<Value> {
    let tool = super::tool("edit")?;
    let mut edit = Map::new();
    for (name, value) in value.as_object()?.iter().filter(|(_, value)| !value.is_null()) {
        let param = named(tool, name).filter(|param| ["old", "new", "all"].contains(&param.name))?;
        edit.insert(param.name.to_owned(), meant(param, value)?);
    }
    (edit.contains_key("old") && edit.contains_key("new")).then_some(Value::Object(edit))
}

/// A whole number that a client wrote as a float, such as `5.0`.
fn whole(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
    fits.then(|| format!("{number:.0}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::tool;

    fn parsed(name: &str, given: &Value) -> Result<Args, Refusal> {
        Args::parse(tool(name).unwrap(), given.as_object().unwrap(), Arguments::Loose, &|| "a.rs".to_owned())
    }

    #[test]
    fn what_is_meant_is_taken() {
        let args = parsed(
            "read_file_range",
            &json!({"filePath": "a", "startLine": "3", "end": 5.0, "fresh": "true", "known": null}),
        )
        .unwrap();
        assert_eq!(
            (args.text("path"), args.number("start_line"), args.number("end_line")),
            (Some("a"), Some(3), Some(5))
        );
        assert!(args.flag("fresh") && !args.has("known"));
        assert_eq!(parsed("read", &json!({"mode": "FILE", "path": "a"})).unwrap().text("target"), Some("a"));
        let symbol = parsed("read", &json!({"mode": "symbol", "target": "f", "path": "a"})).unwrap();
        assert_eq!((symbol.text("target"), symbol.text("path")), (Some("f"), Some("a")));
        assert_eq!(parsed("search", &json!({"pattern": "x"})).unwrap().text("query"), Some("x"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_call_that_works() {
        let message = |name: &str, given: Value| parsed(name, &given).unwrap_err().message;
        let strict = |given: Value| {
            let parsed =
                Args::parse(tool("read").unwrap(), given.as_object().unwrap(), Arguments::Strict, &String::new);
            parsed.unwrap_err().message
        };
        let said = strict(json!({"target": "b.rs"}));
        assert_eq!(said.lines().next(), Some("mode is required."));
        assert!(said.ends_with(r#"example: read {"mode":"file","target":"b.rs"}"#), "{said}");
        assert_eq!(parsed("read", &json!({"path": "b.rs"})).unwrap().text("mode"), Some("file"), "unless it is strict");
        assert!(message("read_file", json!({})).ends_with(r#"example: read_file {"path":"a.rs"}"#));
        let said = message("read_file_head", json!({"path": "a", "max_lines": 0}));
        assert!(said.starts_with("max_lines must be a whole number from 1 on."), "{said}");
        assert!(
            message("stat_file", json!({"path": "a", "x\u{1b}": 1}))
                .starts_with("stat_file has no parameter `x\\u{1b}`.")
        );
        assert!(message("stat_file", json!({"path": "a", "file": "b"})).starts_with("path is given twice"));
        assert!(message("read_file_head", json!({"path": "a", "max_lines": -1})).contains("max_lines must be"));
        assert!(message("read_file_head", json!({"path": "a", "max_lines": 1.5})).contains("max_lines must be"));
        assert!(message("read_file_head", json!({"path": 3, "max_lines": 1})).contains("path must be text"));
    }
}
