//! The format of `steps.jsonl`: one JSON object per line, with one verb. Unknown keys and values are errors. Touches no
//! workspace.

use readproof_disk::SessionName;
use readproof_words::stores::session_name;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::print::shown;
use crate::world::Broken;

/// The session of a step that does not name one.
const SESSION: &str = "s";

/// What a step can do. The verb's value says to what, the other keys of the step say how.
const VERBS: &str = "settings read deliver outside object write edit branch switch fork compact refresh context_edit \
                     prune restart log_append together store search_store entries status";

/// One line of `steps.jsonl`.
pub(super) struct Step {
    pub(super) note: Option<String>,
    pub(super) label: Option<String>,
    pub(super) session: Option<SessionName>,
    /// The step as it is printed.
    pub(super) echo: String,
    pub(super) action: Action,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Action {
    Settings { of: Set },
    Read(Asked),
    Deliver(Of),
    Outside(Harm),
    Object(Harm),
    Write(Whole),
    Edit(Part),
    Branch(Of),
    Switch(Of),
    Fork(Of),
    Compact(Just),
    Refresh { of: String, offset: Option<u64>, limit: Option<u64> },
    ContextEdit { of: String, shows: Shows },
    Prune(Of),
    Restart(Restart),
    LogAppend { of: Value },
    Together { of: String, readers: usize },
    Store(Just),
    SearchStore(Of),
    Entries(Just),
    Status(Just),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    pub(super) of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Just {
    #[serde(rename = "of")]
    _of: Yes,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Whole {
    pub(super) of: String,
    pub(super) content: String,
    #[serde(default)]
    pub(super) result: Fate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    pub(super) of: String,
    pub(super) old: String,
    pub(super) new: String,
    #[serde(default)]
    pub(super) all: bool,
    #[serde(default)]
    pub(super) result: Fate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Restart {
    #[serde(rename = "of")]
    _of: Yes,
    #[serde(default)]
    pub(super) keep: Keep,
}

/// The value of a verb that needs none: `true`.
#[derive(Deserialize)]
#[serde(try_from = "bool")]
pub(super) struct Yes;

impl TryFrom<bool> for Yes {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        if value { Ok(Self) } else { Err("only `true` means something here") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Set {
    pub(super) answer_lines: Option<u32>,
    pub(super) answer_bytes: Option<u32>,
    pub(super) diff_lines: Option<u32>,
    pub(super) diff_bytes: Option<u32>,
    pub(super) file_bytes: Option<u64>,
    pub(super) answers: Option<String>,
    pub(super) markers: Option<String>,
    pub(super) refuse_hard_links: Option<Yes>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) of: String,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) fresh: Option<Yes>,
    #[serde(default)]
    pub(super) audience: For,
    #[serde(default)]
    pub(super) result: Fate,
    pub(super) abort_at: Option<usize>,
    pub(super) meanwhile: Option<Meanwhile>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum For {
    #[default]
    Model,
    Program,
}

/// What happens to a result.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fate {
    /// It reaches the model, and the product is told so.
    #[default]
    AtOnce,
    /// A later step delivers it.
    Later,
    /// It never arrives.
    Never,
    /// It arrives, but the product is never told.
    Unconfirmed,
}

/// What another process does when the read has asked for the `at`-th time whether it is cancelled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meanwhile {
    pub(super) at: usize,
    pub(super) step: Elsewhere,
}

#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(super) enum Elsewhere {
    Outside(Harm),
    Compact,
}

impl TryFrom<Map<String, Value>> for Elsewhere {
    type Error = Broken;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, Self::Error> {
        if map.len() == 1 && map.get("compact") == Some(&Value::Bool(true)) {
            return Ok(Self::Compact);
        }
        let of = map.remove("outside").ok_or("only `outside` and `compact` can happen meanwhile")?;
        map.insert("of".to_owned(), of);
        Ok(Self::Outside(Harm::try_from(map)?))
    }
}

/// A change to a file, or to the stored text of a file, that the product does not make.
#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(super) struct Harm {
    pub(super) of: String,
    pub(super) how: How,
}

impl TryFrom<Map<String, Value>> for Harm {
    type Error = serde_json::Error;

    fn try_from(mut map: Map<String, Value>) -> Result<Self, Self::Error> {
        let of = serde_json::from_value(map.remove("of").unwrap_or_default())?;
        Ok(Self { of, how: serde_json::from_value(Value::Object(map))? })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum How {
    /// The whole new text.
    Text(String),
    /// The whole new content.
    Bytes(Vec<u8>),
    /// `line 1` up to `line N`.
    Lines(u32),
    /// Replaces the first text, which must occur once, by the second.
    Replace(String, String),
    /// Replaces every occurrence.
    ReplaceAll(String, String),
    Append(String),
    Delete(Yes),
    LinkTo(String),
    HardLinkTo(String),
}

/// What the host shows in place of a result.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Shows {
    Nothing,
    Original,
    Text(String),
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Keep {
    #[default]
    All,
    /// Only the logs: everything else in the store can be derived.
    Logs,
}

pub(super) fn parse(line: &str) -> Result<Step, Broken> {
    let mut map: Map<String, Value> = serde_json::from_str(line)?;
    let echo = echo(&map);
    let mut word = |key: &str| map.remove(key).map(serde_json::from_value::<String>).transpose();
    let (note, label, session) = (word("note")?, word("as")?, word("session")?);
    let session = match session.as_deref() {
        Some("-") => None,
        other => Some(SessionName::parse(other.unwrap_or(SESSION)).map_err(|error| session_name(&error))?),
    };
    if label.as_deref() == Some("root") {
        return Err("`root` is the root of the tree and no label".into());
    }
    Ok(Step { note, label, session, echo, action: action(map)? })
}

/// Turns `{"read": "a.txt", "limit": 3}` into `{"read": {"of": "a.txt", "limit": 3}}` and reads that.
fn action(mut map: Map<String, Value>) -> Result<Action, Broken> {
    let verbs: Vec<&str> = VERBS.split(' ').filter(|verb| map.contains_key(*verb)).collect();
    let [verb] = verbs[..] else {
        return Err(format!("a step has exactly one of the verbs {VERBS}; this one has {verbs:?}").into());
    };
    let of = map.remove(verb).unwrap_or_default();
    if map.insert("of".to_owned(), of).is_some() {
        return Err("unknown key `of`".into());
    }
    let whole: Map<String, Value> = [(verb.to_owned(), Value::Object(map))].into_iter().collect();
    Ok(serde_json::from_value(Value::Object(whole))?)
}

/// The step as a line of ASCII: the verb, then the rest in alphabetical order.
fn echo(map: &Map<String, Value>) -> String {
    let is_verb = |key: &str| VERBS.split(' ').any(|verb| verb == key);
    let first = map.iter().filter(|(key, _)| is_verb(key));
    let rest = map.iter().filter(|(key, _)| !is_verb(key) && *key != "note");
    let words = first.chain(rest).flat_map(|(key, value)| [key.clone(), shown(value)]);
    words.filter(|word| word != "true").collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_strict() {
        let check = |line: &str, why: &str| {
            let error = parse(line).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(why), "{line}: {error}");
        };
        check("{}", "exactly one of");
        check(r#"{"read":"a","write":"a"}"#, "exactly one of");
        check(r#"{"read":"a","lines":3}"#, "unknown field `lines`");
        check(r#"{"read":"a","of":"b"}"#, "unknown key `of`");
        check(r#"{"write":"a","content":"","old":""}"#, "unknown field `old`");
        check(r#"{"restart":false}"#, "only `true`");
        check(r#"{"outside":"a"}"#, "expected");
        check(r#"{"outside":"a","text":"","append":""}"#, "expected");
        check(r#"{"outside":"a","shift":""}"#, "unknown variant `shift`");
        check(r#"{"read":"a","meanwhile":{"at":1,"step":{"read":"a"}}}"#, "only `outside` and `compact`");
        check(r#"{"read":"a","result":"soon"}"#, "unknown variant `soon`");
        check(r#"{"read":"a","session":"/"}"#, "session name");
        check(r#"{"compact":true,"as":"root"}"#, "no label");
    }

    #[test]
    fn a_step_in_words() {
        let echo = |line: &str| parse(line).unwrap().echo;
        assert_eq!(echo(r#"{"limit":3,"note":"n","read":"a.txt:2","as":"x"}"#), "read a.txt:2 as x limit 3");
        assert_eq!(
            echo(r#"{"outside":"é 😀","replace":["a","b"]}"#),
            r#"outside "\u00e9 \ud83d\ude00" replace ["a","b"]"#
        );
        assert_eq!(echo(r#"{"restart":true}"#), "restart");
    }
}
