//! The tool calls of an assistant message that matter: `read`, `write` and `edit`. What was written is kept as its hash; the
//! texts of an edit until it is known what they lead to.

use readproof_core::{
    edit::replace_once,
    path::{Bearings, PathKey, split_range},
    text::{Text, Version},
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

use super::{Source, id::key, line::text};

/// A tool we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Read,
    Write,
    Edit,
}

impl Tool {
    /// By its name; `None` for any other tool.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "edit" => Some(Self::Edit),
            _ => None,
        }
    }

    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
        }
    }
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its id, as the result names it.
    pub(super) id: Box<str>,
    /// Which file; `None` when that cannot be told.
    pub(super) key: Option<PathKey>,
    /// What it asks.
    pub(super) what: What,
}

/// What a call asks.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Lines of a file.
    Read(Asked),
    /// A whole file written; the text, if it is one.
    Write(Option<Version>),
    /// A file edited.
    Edit(Edit),
}

/// What an edit leads to.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Not known yet.
    Texts(Arc<Edits>),
    /// From one whole text to another.
    Leads { before: Version, after: Version },
    /// Cannot be told.
    Unknown,
}

impl Edit {
    /// The text after, if this whole text is held before. What was found out once is kept.
    pub(super) fn after(&mut self, held: Option<Version>, source: &dyn Source) -> Option<Version> {
        let held = held?;
        if let Self::Texts(edits) = self {
            let after = edited(&source.text(held.hash)?, edits)?.version();
            *self = Self::Leads { before: held, after };
        }
        match self {
            Self::Leads { before, after } => (*before == held).then_some(*after),
            Self::Texts(_) | Self::Unknown => None,
        }
    }
}

impl Call {
    /// Which tool.
    pub(super) fn tool(&self) -> Tool {
        match self.what {
            What::Read(_) => Tool::Read,
            What::Write(_) => Tool::Write,
            What::Edit(_) => Tool::Edit,
        }
    }
}

/// Which lines a read asks for, as pi counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The first line; `None` when it is no line number.
    pub(super) first: Option<u64>,
    /// How many; no limit is the greatest number.
    pub(super) limit: Option<u64>,
    /// The same for a range at the end of the path, and the name without it.
    pub(super) suffix: Option<(PathKey, u64, u64)>,
}

/// Old and new texts of an edit, in order.
pub(super) type Edits = Vec<(String, String)>;

impl Asked {
    /// First line and number of lines asked for under the name that counts; `None` when the call does not fix the place.
    pub(super) fn of(&self, path: &PathKey) -> Option<(u64, u64)> {
        match &self.suffix {
            Some((named, first, limit)) if named == path => Some((*first, *limit)),
            Some(_) | None => self.first.zip(self.limit),
        }
    }
}

/// The calls in the content of an assistant message, in order. Calls of programs inside a call (`id` with a `/`) are none.
pub(super) fn calls(content: &str, bearings: &Bearings) -> Vec<Call> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<&'a RawValue>,
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(content).unwrap_or_default();
    let string = |raw: Option<&RawValue>| raw.and_then(|raw| text(raw.get())).map(std::borrow::Cow::into_owned);
    let mut calls = Vec::new();
    for part in parts {
        let tool = string(part.name).as_deref().and_then(Tool::parse);
        let (Some("toolCall"), Some(id), Some(tool)) = (string(part.kind).as_deref(), string(part.id), tool) else {
            continue;
        };
        if !id.contains('/') {
            calls.push(call(id.into(), tool, part.arguments.map_or("", RawValue::get), bearings));
        }
    }
    calls
}

fn call(id: Box<str>, tool: Tool, arguments: &str, bearings: &Bearings) -> Call {
    #[derive(Deserialize)]
    struct Path {
        path: String,
    }
    #[derive(Deserialize)]
    struct Content {
        content: String,
    }
    let path = serde_json::from_str(arguments).ok().map(|Path { path }| path);
    let key = path.as_deref().and_then(|path| key(path, bearings));
    let what = match tool {
        Tool::Read => What::Read(asked(arguments, path.as_deref(), bearings)),
        Tool::Write => {
            let content = serde_json::from_str(arguments).ok().map(|Content { content }| content);
            What::Write(content.filter(|text| !text.contains('\0')).map(|text| Text::new(text).version()))
        }
        Tool::Edit => What::Edit(Edit::Texts(edits_of(arguments).into())),
    };
    Call { id, key, what }
}

fn asked(arguments: &str, path: Option<&str>, bearings: &Bearings) -> Asked {
    #[derive(Deserialize)]
    struct Range {
        offset: Option<serde_json::Number>,
        limit: Option<serde_json::Number>,
    }
    let Ok(Range { offset, limit }) = serde_json::from_str(arguments) else { return Asked::default() };
    let named = path.and_then(|path| split_range(path).ok().flatten());
    let suffix = named.filter(|_| offset.is_none() && limit.is_none()).and_then(|named| {
        let last = named.last.unwrap_or(u64::MAX);
        Some((key(named.path, bearings)?, named.first, last.saturating_sub(named.first).saturating_add(1)))
    });
    Asked {
        // pi takes 0 and less for the first line.
        first: offset.map_or(Some(1), |offset| offset.as_i64().map(|n| n.max(1).unsigned_abs())),
        limit: limit.map_or(Some(u64::MAX), |limit| limit.as_u64().filter(|n| *n > 0)),
        suffix,
    }
}

/// Both forms: a list, and the one pair of older versions.
fn edits_of(arguments: &str) -> Edits {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Pair {
        old_text: String,
        new_text: String,
    }
    #[derive(Deserialize)]
    struct Many {
        edits: Vec<Pair>,
    }
    let pairs = match serde_json::from_str(arguments) {
        Ok(Many { edits }) => edits,
        Err(_) => serde_json::from_str(arguments).ok().into_iter().collect(),
    };
    pairs.into_iter().map(|pair: Pair| (pair.old_text, pair.new_text)).collect()
}

/// The text after pi's `edit`, if it can be told: pi also matches texts that are only alike, and keeps line ends and a
/// byte order mark in ways of its own.
fn edited(before: &Text, edits: &Edits) -> Option<Text> {
    let text = before.as_str();
    if edits.is_empty() || text.contains('\r') || text.starts_with('\u{feff}') {
        return None;
    }
    let plain = |(old, new): &(String, String)| !new.contains('\r') && replace_once(before, old, new).is_ok();
    if !edits.iter().all(plain) {
        return None;
    }
    let mut after = before.clone();
    for (old, new) in edits {
        after = replace_once(&after, old, new).ok()?.after;
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(content: &str) -> Vec<Call> {
        calls(content, &Bearings { cwd: "/w".into(), home: None })
    }

    #[test]
    fn calls_we_know() {
        let content = r#"[{"type":"text","text":"read"},{"type":"toolCall","id":"1","name":"read","arguments":{"path":"a","offset":3,"limit":2}},
            {"type":"toolCall","id":"2","name":"bash","arguments":{"command":"ls"}},
            {"type":"toolCall","id":"3/1","name":"read","arguments":{"path":"b"}},
            {"type":"toolCall","id":"4","name":"write","arguments":{"content":"x\ny\n","path":"/z"}},
            {"type":"toolCall","id":"5","name":"edit","arguments":{"path":"a","edits":[{"oldText":"a","newText":"b"}]}},
            {"type":"toolCall","id":"6","name":"edit","arguments":{"path":"a","oldText":"a","newText":"b"}},
            {"type":"toolCall","id":"7","name":"read","arguments":{}}]"#;
        let found = parsed(content);
        let ids: Vec<&str> = found.iter().map(|call| &*call.id).collect();
        assert_eq!(ids, ["1", "4", "5", "6", "7"]);
        assert_eq!(found[0].key, Some(PathKey::new("/w/a")));
        let What::Read(asked) = &found[0].what else { panic!("no read") };
        assert_eq!((asked.first, asked.limit), (Some(3), Some(2)));
        let What::Write(Some(version)) = found[1].what else { panic!("no write") };
        assert_eq!(version, Text::new("x\ny\n".into()).version());
        for call in &found[2..4] {
            let What::Edit(Edit::Texts(edits)) = &call.what else { panic!("no edit") };
            assert_eq!(**edits, [("a".to_owned(), "b".to_owned())]);
        }
        assert_eq!(found[4].key, None);
    }

    #[test]
    fn odd_numbers() {
        let check = |arguments: &str, first: Option<u64>, limit: Option<u64>| {
            let asked = asked(arguments, None, &Bearings { cwd: "/w".into(), home: None });
            assert_eq!((asked.first, asked.limit), (first, limit), "{arguments}");
        };
        check("{}", Some(1), Some(u64::MAX));
        check(r#"{"offset":0}"#, Some(1), Some(u64::MAX));
        check(r#"{"offset":-3,"limit":0}"#, Some(1), None);
        check(r#"{"offset":1.5,"limit":-1}"#, None, None);
        check(r#"{"offset":null,"limit":null}"#, Some(1), Some(u64::MAX));
        check(r#"{"offset":"3"}"#, None, None);
    }

    #[test]
    fn edits_that_can_be_told() {
        let check = |before: &str, edits: &[(&str, &str)], after: Option<&str>| {
            let edits = edits.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            let got = edited(&Text::new(before.to_owned()), &edits);
            assert_eq!(got.as_ref().map(Text::as_str), after, "{edits:?}");
        };
        check("a\nb\nc\n", &[("a", "1"), ("c", "3")], Some("1\nb\n3\n"));
        check("a\nb\n", &[("a", "b"), ("b", "c")], None);
        check("a\nb\n", &[("x", "y")], None);
        check("a\na\n", &[("a", "y")], None);
        check("a\r\n", &[("a", "y")], None);
        check("a\n", &[], None);
    }
}
