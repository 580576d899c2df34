//! Checks the arguments of one call against the table. Common other names are accepted, and numbers may come as text.
//! Invalid arguments are refused with what was expected, what was received, and a valid call.

use readproof_core::path::printable;
use serde_json::{Map, Value, json};

use super::{Kind, Param, Tool, unified::is_for};

/// How many characters of the arguments an error quotes.
const RECEIVED_CHARS: usize = 300;

/// Valid arguments, by the names of the table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args(Map<String, Value>);

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Args {
    /// Checks the arguments of a call. `file` returns an existing file for the example in an error.
    pub(crate) fn parse(tool: &Tool, given: &Map<String, Value>, file: &dyn Fn() -> String) -> Result<Self, Refusal> {
        let mut args = Map::new();
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let Some(param) = named(tool, name) else {
                let message = format!("{} has no parameter `{}`.", tool.name, short(&printable(name)));
                return Err(invalid(tool, given, &file(), &message, &without(given, name)));
            };
            let Some(value) = meant(param, value) else {
                let message = format!("{} must be {}.", param.name, param.expects());
                return Err(invalid(tool, given, &file(), &message, &without(given, name)));
            };
            match args.insert(param.name.to_owned(), value.clone()) {
                Some(other) if other != value => {
                    let message = format!("{} is given twice, under another name too.", param.name);
                    return Err(invalid(tool, given, &file(), &message, &without(given, name)));
                }
                Some(_) | None => {}
            }
        }
        // Without a target, `path` must be the file.
        if tool.name == "read"
            && !args.contains_key("target")
            && args.get("mode").and_then(Value::as_str) != Some("symbol")
            && let Some(path) = args.remove("path")
        {
            args.insert("target".to_owned(), path);
        }
        if let Some(param) = tool.params.iter().find(|param| param.required && !args.contains_key(param.name)) {
            let message = format!("{} is required.", param.name);
            return Err(invalid(tool, given, &file(), &message, &Value::Object(args)));
        }
        Ok(Self(args))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The same arguments for another tool, which has another name for one of them.
    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Self {
        if let Some(value) = self.0.remove(from) {
            self.0.insert(to.to_owned(), value);
        }
        self
    }

    /// With one argument more.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// The arguments without some of them.
    pub(crate) fn but_for(&self, names: &[&str]) -> Value {
        Value::Object(
            self.0
                .iter()
                .filter(|(name, _)| !names.contains(&name.as_str()))
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect(),
        )
    }

    pub(crate) fn all(&self) -> &Map<String, Value> {
        &self.0
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
    Refusal { code: "INVALID_ARGS", message }
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

fn without(given: &Map<String, Value>, name: &str) -> Value {
    Value::Object(given.iter().filter(|(other, _)| *other != name).map(|(n, v)| (n.clone(), v.clone())).collect())
}

/// The parameter of this name; `startLine` and `start-line` also mean `start_line`.
fn named<'t>(tool: &'t Tool, name: &str) -> Option<&'t Param> {
    let mut plain = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !plain.is_empty() && !plain.ends_with('_') {
            plain.push('_');
        }
        plain.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    let exact = tool.params.iter().find(|param| param.name == plain);
    exact.or_else(|| tool.params.iter().find(|param| param.aliases.contains(&plain.as_str())))
}

/// The argument as a value of the parameter's type; `None` if it is not one.
fn meant(param: &Param, value: &Value) -> Option<Value> {
    match param.kind {
        Kind::Text => value.as_str().filter(|text| text.len() <= TEXT_BYTES).map(|text| json!(text)),
        Kind::Content => value.as_str().map(|text| json!(text)),
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
        Args::parse(tool(name).unwrap(), given.as_object().unwrap(), &|| "a.rs".to_owned())
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
        let said = message("read", json!({"target": "b.rs"}));
        assert_eq!(said.lines().next(), Some("mode is required."));
        assert!(said.ends_with(r#"example: read {"mode":"file","target":"b.rs"}"#), "{said}");
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
