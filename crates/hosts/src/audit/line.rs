//! One line of the audit log as JSON. The schema is `docs/audit.md`; fields are added, never changed. No line holds text of a
//! file: arguments are masked and cut, and what was returned is a hash that nobody can guess a text from.

use readproof_core::{
    operation::{Caller, Field, rules::RuleId},
    secrets::{MASK, masked},
    text::ContentHash,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{block::Sha, versions::By};

/// The version of these lines.
pub const SCHEMA: u32 = 1;

/// The most characters of one argument.
const ARGUMENT_CHARS: usize = 1000;

/// The most files that one line names.
const FILES: usize = 100;

/// The most bytes of one line; a bundle cannot hold longer ones.
const LINE_BYTES: usize = 60_000;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line {
    /// A call was made.
    Call(Box<CallLine>),
    /// Calls have no line.
    Gap(GapLine),
    /// The log begins, or another one was put aside.
    Began(BeganLine),
    /// Bundles were moved away, or nonces and texts erased.
    Rotated(RotatedLine),
    /// Nonces and texts of certain calls were erased.
    Erased(ErasedLine),
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLine {
    pub v: u32,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// The process that made it, and the how many-th of its calls it is, from 1.
    pub writer: String,
    pub seq: u64,
    /// Without the conversation, which stands beside it.
    pub caller: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    pub tool: String,
    pub args: Map<String, Value>,
    pub ok: bool,
    /// `OK`, or the code of the error.
    pub code: String,
    pub files: Vec<FileFacts>,
    /// How many files more there are than `files` has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_files: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How long it took, in microseconds.
    pub us: u64,
    /// Of the text that was returned.
    pub bytes: u64,
    pub tokens: u64,
    /// SHA-256 of the nonce and the text that was returned; absent where a sensitive file is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<Sha>,
    pub rules: Vec<String>,
}

/// A file that a call stood on, or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Sha>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sensitive: bool,
}

/// Calls without a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapLine {
    pub v: u32,
    pub at: u64,
    /// The process that ended before it wrote them; absent if nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// How many calls.
    pub missing: u64,
    pub why: String,
}

/// The first line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeganLine {
    pub v: u32,
    pub at: u64,
    /// The log that was put aside, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RotatedLine {
    pub v: u32,
    pub at: u64,
    /// The entries before this one may be elsewhere; their hashes are still here.
    pub moved_before: u64,
    /// The nonces and texts of entries before this one are erased.
    pub erased_before: u64,
}

/// What a person had erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedLine {
    pub v: u32,
    pub at: u64,
    /// How many calls' nonces and texts.
    pub texts: u64,
}

/// What a call was, before it is made a line.
#[derive(Clone, Debug)]
pub struct CallFacts {
    pub at: u64,
    pub caller: Caller,
    pub conversation: Option<String>,
    pub tool: &'static str,
    pub args: Vec<(&'static str, Field)>,
    pub code: &'static str,
    pub is_ok: bool,
    pub files: Vec<FileFacts>,
    pub approval: Option<String>,
    pub version: Option<String>,
    pub us: u64,
    pub tokens: u64,
    pub text: String,
    pub rules: &'static [RuleId],
    /// Whether text of a sensitive file was returned or brought.
    pub is_sensitive: bool,
}

impl CallFacts {
    /// The line of the `seq`-th call of a process. The nonce must be random and used once.
    #[must_use]
    pub fn line(&self, writer: &str, seq: u64, nonce: &[u8; 32]) -> String {
        let text = |text: &Option<String>| text.as_deref().map(|text| clipped(&masked(text)));
        let Caller { surface, client, user, identity, agent, conversation: _ } = &self.caller;
        let caller = By {
            surface: surface.to_string(),
            client: text(client),
            user: text(user),
            identity: text(identity),
            conversation: None,
            agent: text(agent),
        };
        let mut call = CallLine {
            v: SCHEMA,
            at: self.at,
            writer: writer.to_owned(),
            seq,
            caller,
            conversation: text(&self.conversation),
            tool: self.tool.to_owned(),
            args: self.arguments(),
            ok: self.is_ok,
            code: self.code.to_owned(),
            files: self.files.iter().take(FILES).cloned().collect(),
            more_files: self.files.len().saturating_sub(FILES) as u64,
            approval: self.approval.clone(),
            version: self.version.clone(),
            us: self.us,
            bytes: self.text.len() as u64,
            tokens: self.tokens,
            returned: (!self.is_sensitive).then(|| Sha(commitment(nonce, &self.text))),
            rules: self.rules.iter().map(|rule| (*rule).to_owned()).collect(),
        };
        let line = Line::Call(Box::new(call.clone())).to_text();
        if line.len() <= LINE_BYTES {
            return line;
        }
        // Names of files can be long.
        call.more_files += call.files.len() as u64;
        call.files.clear();
        Line::Call(Box::new(call)).to_text()
    }

    /// The arguments, without what looks like a credential. Of a sensitive file only names and numbers stay.
    fn arguments(&self) -> Map<String, Value> {
        self.args.iter().map(|(name, field)| ((*name).to_owned(), self.argument(name, field))).collect()
    }

    fn argument(&self, name: &str, field: &Field) -> Value {
        match field {
            Field::Text(_) if self.is_sensitive && !is_name(name) => Value::String(MASK.to_owned()),
            Field::Text(text) => Value::String(clipped(&masked(text))),
            Field::Number(number) => Value::from(*number),
            Field::Flag(flag) => Value::Bool(*flag),
            Field::List(all) => all.iter().map(|field| self.argument(name, field)).collect(),
            Field::Group(named) => Value::Object(
                named.iter().map(|(name, field)| (name.to_string(), self.argument(name, field))).collect(),
            ),
        }
    }
}

impl Line {
    /// Reads a line; `None` if it is none.
    #[must_use]
    pub fn parse(entry: &[u8]) -> Option<Self> {
        serde_json::from_slice(entry).ok()
    }

    pub(super) fn to_text(&self) -> String {
        // These types have no keys or numbers that JSON lacks.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a line says instead of a text.
pub(super) fn commitment(nonce: &[u8; 32], text: &str) -> ContentHash {
    ContentHash::of_parts(&[nonce, text.as_bytes()])
}

/// Whether an argument is the name of a file.
fn is_name(argument: &str) -> bool {
    matches!(argument, "path" | "paths" | "to")
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(ARGUMENT_CHARS) {
        Some((at, _)) => format!("{}… [{} bytes]", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> CallFacts {
        CallFacts {
            at: 1_763_449_200_000,
            caller: Caller { client: Some("c".to_owned()), ..Caller::of("mcp") },
            conversation: Some("s".to_owned()),
            tool: "read",
            args: vec![("path", Field::Text("a.txt".to_owned())), ("limit", Field::Number(3))],
            code: "OK",
            is_ok: true,
            files: vec![FileFacts {
                path: "a.txt".to_owned(),
                before: Some(Sha(ContentHash::of(b"x"))),
                after: None,
                sensitive: false,
            }],
            approval: None,
            version: None,
            us: 12,
            tokens: 1,
            text: "x".to_owned(),
            rules: &["lf-1"],
            is_sensitive: false,
        }
    }

    #[test]
    fn a_line_comes_back_and_holds_no_text() {
        let made = CallFacts { text: "the very text".to_owned(), ..facts() };
        let line = made.line("0a", 7, &[1; 32]);
        assert!(!line.contains("the very text"));
        let Some(Line::Call(call)) = Line::parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((call.writer.as_str(), call.seq, call.tool.as_str(), call.bytes), ("0a", 7, "read", 13));
        assert_eq!(call.returned, Some(Sha(commitment(&[1; 32], "the very text"))));
        assert_eq!(Line::Call(call).to_text(), line);
        assert_eq!(Line::parse(b"{\"kind\":\"later\",\"x\":1}"), Some(Line::Unknown));
        assert_eq!(Line::parse(b"{"), None);
    }

    #[test]
    fn credentials_and_long_arguments_are_not_written_out() {
        let text = |text: &str| Field::Text(text.to_owned());
        let args = vec![("query", text("ghp_0123456789abcdefghijkl")), ("why", text(&"w".repeat(70_000)))];
        let line = CallFacts { args, ..facts() }.line("0a", 1, &[0; 32]);
        assert!(line.contains("\"query\":\"[masked]\"") && line.len() < 3_000, "{line}");
        let args = vec![("query", text("plain")), ("path", text(".env"))];
        let line = CallFacts { args, is_sensitive: true, ..facts() }.line("0a", 1, &[0; 32]);
        assert!(
            line.contains("\"query\":\"[masked]\"") && line.contains(".env") && !line.contains("returned"),
            "{line}"
        );
    }

    #[test]
    fn a_line_always_fits_a_bundle() {
        let file = FileFacts { path: "d/".repeat(2_000), before: None, after: None, sensitive: false };
        let line = CallFacts { files: vec![file; 500], ..facts() }.line("0a", 1, &[0; 32]);
        assert!(line.len() <= LINE_BYTES && line.contains("\"more_files\":500"), "{}", line.len());
    }
}
