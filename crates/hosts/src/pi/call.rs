//! The tool calls of an assistant message that matter: `read`, `write` and `edit`. The text that a change writes is
//! looked at only when it is needed.

use readproof_core::{
    edit::{Places, replace},
    path::{PathKey, split_range},
    text::Text,
};
use serde::Deserialize;
use std::sync::Arc;

use crate::json::{bytes, fields, fields_of_each, number, text};

use super::{Source, id::Names, piece::Piece};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Read,
    Write,
    Edit,
}

impl Tool {
    /// `None` for any other tool.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        match name {
            b"read" => Some(Self::Read),
            b"write" => Some(Self::Write),
            b"edit" => Some(Self::Edit),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
        }
    }
}

pub(super) struct Call {
    /// As the result names it.
    pub(super) id: Box<[u8]>,
    /// The file; `None` if the call does not tell.
    pub(super) key: Option<PathKey>,
    pub(super) what: What,
}

pub(super) enum What {
    Read(Asked),
    /// Arguments of a write, which hold the text.
    Write(Piece),
    /// Arguments of an edit.
    Edit(Piece),
}

impl Call {
    pub(super) fn tool(&self) -> Tool {
        match self.what {
            What::Read(_) => Tool::Read,
            What::Write(_) => Tool::Write,
            What::Edit(_) => Tool::Edit,
        }
    }

    /// Whether it may change its file.
    pub(super) fn changes(&self) -> bool {
        self.tool() != Tool::Read
    }

    /// The text after a change; `None` if that cannot be told. An edit needs the whole text before it, a write does
    /// not.
    pub(super) fn after(&self, before: Option<&Text>, source: &dyn Source) -> Option<Text> {
        match &self.what {
            What::Read(_) => None,
            What::Write(arguments) => written(&arguments.get(source)?),
            What::Edit(arguments) => edited(before?, &edits_of(&arguments.get(source)?)),
        }
    }
}

/// Which lines a read asks for, as pi counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The first line; `None` when it is not a line number.
    pub(super) first: Option<u64>,
    /// The number of lines; `u64::MAX` without a limit.
    pub(super) limit: Option<u64>,
    /// For a path that ends in a range: the path without it, and the first line and number of lines of the range.
    pub(super) suffix: Option<(PathKey, u64, u64)>,
}

impl Asked {
    /// First line and number of lines that were asked for of the file with this name; `None` if the call does not fix
    /// the place.
    pub(super) fn of(&self, path: &PathKey) -> Option<(u64, u64)> {
        match &self.suffix {
            Some((named, first, limit)) if named == path => Some((*first, *limit)),
            Some(_) | None => self.first.zip(self.limit),
        }
    }
}

/// The calls in the content of an assistant message, in order. Calls that a program makes are not in messages. `piece`
/// tells how a value of the content can be had later.
pub(super) fn calls(content: &[u8], names: &mut Names, piece: &dyn Fn(&[u8]) -> Piece) -> Vec<Arc<Call>> {
    let parts = fields_of_each(content, &["type", "id", "name", "arguments"]);
    let mut calls = Vec::new();
    for [kind, id, name, arguments] in parts.unwrap_or_default() {
        let tool = name.and_then(bytes).and_then(|name| Tool::parse(&name));
        let is_call = kind.and_then(bytes).as_deref() == Some(b"toolCall");
        if let (true, Some(id), Some(tool)) = (is_call, id.and_then(bytes), tool) {
            calls.push(Arc::new(call(id.into(), tool, arguments.unwrap_or_default(), names, piece)));
        }
    }
    calls
}

fn call(id: Box<[u8]>, tool: Tool, arguments: &[u8], names: &mut Names, piece: &dyn Fn(&[u8]) -> Piece) -> Call {
    let [path, offset, limit] = fields(arguments, &["path", "offset", "limit"]).unwrap_or_default();
    let path = path.and_then(text);
    let key = path.as_deref().and_then(|path| names.key(path));
    let what = match tool {
        Tool::Read => What::Read(asked(path.as_deref(), offset, limit, names)),
        Tool::Write => What::Write(piece(arguments)),
        Tool::Edit => What::Edit(piece(arguments)),
    };
    Call { id, key, what }
}

/// The files that a program may show because of its calls, under every name it may have meant; `None` if pi did not
/// keep all of the calls, or one of them cannot be told.
pub(super) fn programmed(nested: &[u8], names: &mut Names) -> Option<Vec<PathKey>> {
    let [calls, complete] = fields(nested, &["calls", "complete"])?;
    let calls = fields_of_each(calls?, &["name", "arguments", "status"]).filter(|_| complete == Some(b"true"))?;
    let mut files = Vec::new();
    for [name, arguments, status] in calls {
        let Some(tool) = Tool::parse(&name.and_then(bytes)?) else { continue };
        if tool == Tool::Read && status.and_then(bytes).as_deref() == Some(b"error") {
            continue;
        }
        let [path] = fields(arguments?, &["path"])?;
        let path = text(path?)?;
        files.append(&mut names.possible(&path)?);
        if let Some(named) = split_range(&path).ok().flatten() {
            files.append(&mut names.possible(named.path)?);
        }
    }
    Some(files)
}

/// A number of any kind, or none; `Err` for anything else.
fn numeric(raw: Option<&[u8]>) -> Result<Option<&[u8]>, ()> {
    match raw {
        None | Some(b"null") => Ok(None),
        Some(raw @ [b'-' | b'0'..=b'9', ..]) => Ok(Some(raw)),
        Some(_) => Err(()),
    }
}

fn asked(path: Option<&str>, offset: Option<&[u8]>, limit: Option<&[u8]>, names: &mut Names) -> Asked {
    let (Ok(offset), Ok(limit)) = (numeric(offset), numeric(limit)) else { return Asked::default() };
    let named = path.and_then(|path| split_range(path).ok().flatten());
    let suffix = named.filter(|_| offset.is_none() && limit.is_none()).and_then(|named| {
        let last = named.last.unwrap_or(u64::MAX);
        Some((names.key(named.path)?, named.first, last.saturating_sub(named.first).saturating_add(1)))
    });
    Asked {
        // pi takes 0 and negative numbers for the first line.
        first: offset.map_or(Some(1), |offset| number::<i64>(offset).map(|n| n.max(1).unsigned_abs())),
        limit: limit.map_or(Some(u64::MAX), |limit| number(limit).filter(|n| *n > 0)),
        suffix,
    }
}

/// The text that a write leads to, if it is text.
fn written(arguments: &[u8]) -> Option<Text> {
    let [content] = fields(arguments, &["content"])?;
    let content = text(content?)?;
    (!content.contains('\0')).then(|| Text::new(content.into_owned()))
}

/// Both forms: a list, and the single pair of older versions.
fn edits_of(arguments: &[u8]) -> Vec<(String, String)> {
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
    let pairs = match serde_json::from_slice(arguments) {
        Ok(Many { edits }) => edits,
        Err(_) => serde_json::from_slice(arguments).ok().into_iter().collect(),
    };
    pairs.into_iter().map(|pair: Pair| (pair.old_text, pair.new_text)).collect()
}

fn once(before: &Text, old: &str, new: &str) -> Option<Text> {
    replace(before, old, new, Places::One).ok().map(|edit| edit.after)
}

/// The text after pi's `edit`, if it can be told. pi also matches texts that are only similar, and treats line ends and
/// byte order marks in ways of its own.
fn edited(before: &Text, edits: &[(String, String)]) -> Option<Text> {
    let text = before.as_str();
    if edits.is_empty() || text.contains('\r') || text.starts_with('\u{feff}') {
        return None;
    }
    let plain = |(old, new): &(String, String)| !new.contains('\r') && once(before, old, new).is_some();
    if !edits.iter().all(plain) {
        return None;
    }
    let mut after = before.clone();
    for (old, new) in edits {
        after = once(&after, old, new)?;
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readproof_core::path::Bearings;

    fn names() -> Names {
        Names::new(Bearings { cwd: "/w".into(), home: None })
    }

    struct NoSource;
    impl Source for NoSource {
        fn text(&self, _hash: readproof_core::text::ContentHash) -> Option<Text> {
            None
        }
        fn appended(&self, _at: u64, _len: usize) -> Option<std::borrow::Cow<'_, [u8]>> {
            None
        }
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
        let found = calls(content.as_bytes(), &mut names(), &|raw| Piece::Kept(raw.into()));
        let ids: Vec<&[u8]> = found.iter().map(|call| &*call.id).collect();
        assert_eq!(ids, [&b"1"[..], b"3/1", b"4", b"5", b"6", b"7"]);
        assert_eq!(found[0].key, Some(PathKey::new("/w/a")));
        let What::Read(asked) = &found[0].what else { panic!("no read") };
        assert_eq!((asked.first, asked.limit), (Some(3), Some(2)));
        assert_eq!(found[2].after(None, &NoSource), Some(Text::new("x\ny\n".into())));
        for call in &found[3..5] {
            let What::Edit(arguments) = &call.what else { panic!("no edit") };
            assert_eq!(edits_of(&arguments.get(&NoSource).unwrap()), [("a".to_owned(), "b".to_owned())]);
        }
        assert_eq!(found[5].key, None);
    }

    #[test]
    fn files_of_a_program() {
        let check = |nested: &str, files: Option<&[&str]>| {
            let found = programmed(nested.as_bytes(), &mut names());
            let found: Option<Vec<&str>> = found.as_ref().map(|found| found.iter().map(PathKey::as_str).collect());
            assert_eq!(found.as_deref(), files, "{nested}");
        };
        let call = |name: &str, path: &str, status: &str| {
            format!(r#"{{"id":"c/1","name":"{name}","arguments":{{"path":{path}}},"status":"{status}"}}"#)
        };
        let record = |calls: &[String]| format!(r#"{{"calls":[{}],"complete":true}}"#, calls.join(","));
        check(&record(&[]), Some(&[]));
        check(&record(&[call("read", "\"a\"", "ok"), call("bash", "7", "ok")]), Some(&["/w/a"]));
        check(&record(&[call("edit", "\"a\"", "error"), call("read", "\"b\"", "error")]), Some(&["/w/a"]));
        check(&record(&[call("read", "\"a:3-4\"", "ok")]), Some(&["/w/a:3-4", "/w/a"]));
        check(&record(&[call("read", "\"it's\"", "ok")]), Some(&["/w/it's", "/w/it\u{2019}s"]));
        check(&record(&[call("read", "7", "ok")]), None);
        check(&record(&[call("read", "\"~/a\"", "ok")]), None);
        check(&record(&[r#"{"id":"c/1","name":"write","argumentsBytes":9000,"status":"ok"}"#.to_owned()]), None);
        check(&record(&[call("read", "\"a\"", "ok")]).replace("true", "false"), None);
        check(r#"{"calls":[]}"#, None);
        check("", None);
    }

    #[test]
    fn odd_numbers() {
        let check = |offset: Option<&str>, limit: Option<&str>, first: Option<u64>, most: Option<u64>| {
            let asked = asked(None, offset.map(str::as_bytes), limit.map(str::as_bytes), &mut names());
            assert_eq!((asked.first, asked.limit), (first, most), "{offset:?} {limit:?}");
        };
        check(None, None, Some(1), Some(u64::MAX));
        check(Some("0"), None, Some(1), Some(u64::MAX));
        check(Some("-3"), Some("0"), Some(1), None);
        check(Some("1.5"), Some("-1"), None, None);
        check(Some("null"), Some("null"), Some(1), Some(u64::MAX));
        check(Some("\"3\""), None, None, None);
    }

    #[test]
    fn what_a_write_leads_to() {
        let check = |arguments: &str, text: Option<&str>| {
            let expected = text.map(|text| Text::new(text.to_owned()));
            assert_eq!(written(arguments.as_bytes()), expected, "{arguments}");
        };
        check(r#"{"path":"a","content":"b\n"}"#, Some("b\n"));
        check(r#"{ "content" : "" }"#, Some(""));
        check(r#"{"content":"a\u0000"}"#, None);
        check(r#"{"content":7}"#, None);
        check("{}", None);
        check("", None);
    }

    #[test]
    fn edits_that_can_be_told() {
        let check = |before: &str, edits: &[(&str, &str)], after: Option<&str>| {
            let edits: Vec<_> = edits.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
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
