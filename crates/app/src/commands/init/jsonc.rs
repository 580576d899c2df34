//! One entry set in a JSON text that may hold comments and trailing commas. The text is only added to, or the old value of
//! the entry replaced: every other byte stays. What comes out is parsed and compared before it is given. Knows no host and
//! opens no file.

use serde_json::{Map, Value};
use std::ops::Range;

use super::entry::{Entry, There, Unfit};

const BOM: char = '\u{feff}';

/// What JSON calls white space; a comment may end in other kinds, which are part of it.
const WHITE: [char; 4] = [' ', '\t', '\r', '\n'];

/// The value of a text; `None` where there is none, as in an empty file.
pub(crate) fn parse(text: &str) -> Result<Option<Value>, Unfit> {
    let plain = plain(text)?;
    if plain.trim_matches(WHITE).is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&plain).map(Some).map_err(|error| Unfit::Malformed(error.to_string()))
}

/// What stands at `path`.
pub(crate) fn get(text: &str, path: &[&str]) -> Result<Option<There>, Unfit> {
    let Some(value) = parse(text)? else { return Ok(None) };
    let mut node = root(text)?;
    for key in path {
        let found = node.and_then(|node| node.members.into_iter().flatten().rfind(|member| member.key == *key));
        node = found.map(|member| member.value);
    }
    let value = path.iter().try_fold(&value, |value, key| value.get(key));
    Ok(node.zip(value).map(|(node, value)| There { text: text[node.span].to_owned(), value: value.clone() }))
}

/// The text with the entry at `path`, which is made as far as it is missing.
pub(crate) fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, Unfit> {
    let before = parse(text)?;
    let node = root(text)?;
    let layout = Layout::of(text, node.as_ref());
    let changed = match node {
        None => layout.document(text, path, entry),
        Some(node) => within(text, &node, path, entry, &layout)?,
    };
    let mut expected = before.unwrap_or_else(|| Value::Object(Map::new()));
    put(&mut expected, path, entry.value()).ok_or(Unfit::Unsure)?;
    if parse(&changed)?.as_ref() == Some(&expected) { Ok(changed) } else { Err(Unfit::Unsure) }
}

/// Sets a value, and makes the objects around it.
fn put(value: &mut Value, path: &[&str], entry: Value) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        *value = entry;
        return Some(());
    };
    let inner = value.as_object_mut()?.entry(*key).or_insert_with(|| Value::Object(Map::new()));
    put(inner, rest, entry)
}

/// The same text with spaces for its comments and its trailing commas, line by line and column by column.
fn plain(text: &str) -> Result<String, Unfit> {
    let mut out = String::with_capacity(text.len());
    let mut scan = Scan { text, at: 0 };
    if text.starts_with(BOM) {
        scan.at = BOM.len_utf8();
    }
    while let Some(next) = scan.rest().chars().next() {
        let from = scan.at;
        match next {
            '"' => {
                scan.string()?;
                out.push_str(&text[from..scan.at]);
            }
            '/' => {
                scan.comment()?;
                out.extend(text[from..scan.at].chars().map(|c| if c == '\n' || c == '\r' { c } else { ' ' }));
            }
            ',' => {
                scan.at += 1;
                let mut ahead = Scan { text, at: scan.at };
                ahead.trivia()?;
                out.push(if ahead.rest().starts_with(['}', ']']) { ' ' } else { ',' });
            }
            _ => {
                scan.at += next.len_utf8();
                out.push(next);
            }
        }
    }
    Ok(out)
}

/// Where the value of a text stands; `None` where there is none.
fn root(text: &str) -> Result<Option<Node>, Unfit> {
    let mut scan = Scan { text, at: if text.starts_with(BOM) { BOM.len_utf8() } else { 0 } };
    scan.trivia()?;
    if scan.rest().is_empty() { Ok(None) } else { scan.value().map(Some) }
}

/// Where a value stands.
#[derive(Debug)]
struct Node {
    span: Range<usize>,
    /// Of an object.
    members: Option<Vec<Member>>,
}

#[derive(Debug)]
struct Member {
    key: String,
    key_start: usize,
    value: Node,
    /// Where its comma ends.
    comma: Option<usize>,
}

/// A place in the text. Only for texts that [`parse`] took: it finds places and judges nothing.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn malformed<T>(&self, what: &str) -> Result<T, Unfit> {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Err(Unfit::Malformed(format!("{what} at line {line}")))
    }

    /// Steps over white space and comments.
    fn trivia(&mut self) -> Result<(), Unfit> {
        loop {
            self.at = self.text.len() - self.rest().trim_start_matches(WHITE).len();
            if !self.rest().starts_with('/') {
                return Ok(());
            }
            self.comment()?;
        }
    }

    fn comment(&mut self) -> Result<(), Unfit> {
        let rest = self.rest();
        let len = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            match inside.find("*/") {
                Some(end) => end + 4,
                None => return self.malformed("a comment without end"),
            }
        } else {
            return self.malformed("a stray `/`");
        };
        self.at += len;
        Ok(())
    }

    fn string(&mut self) -> Result<(), Unfit> {
        let mut escaped = false;
        for (at, byte) in self.rest().bytes().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    self.at += at + 1;
                    return Ok(());
                }
                _ => {}
            }
        }
        self.malformed("a text without end")
    }

    fn value(&mut self) -> Result<Node, Unfit> {
        let start = self.at;
        let mut members = None;
        match self.rest().bytes().next() {
            Some(b'{') => members = Some(self.members()?),
            Some(b'[') => self.elements()?,
            Some(b'"') => self.string()?,
            _ => {
                let end = |c: char| WHITE.contains(&c) || ",:{}[]\"/".contains(c);
                self.at += self.rest().find(end).unwrap_or(self.rest().len());
            }
        }
        if self.at == start { self.malformed("no value") } else { Ok(Node { span: start..self.at, members }) }
    }

    fn elements(&mut self) -> Result<(), Unfit> {
        self.at += 1;
        loop {
            self.trivia()?;
            if self.took(']') {
                return Ok(());
            }
            self.value()?;
            self.trivia()?;
            self.took(',');
        }
    }

    fn members(&mut self) -> Result<Vec<Member>, Unfit> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.trivia()?;
            if self.took('}') {
                return Ok(members);
            }
            let key_start = self.at;
            self.string()?;
            let Ok(key) = serde_json::from_str(&self.text[key_start..self.at]) else {
                return self.malformed("a bad name");
            };
            self.trivia()?;
            self.took(':');
            self.trivia()?;
            let value = self.value()?;
            self.trivia()?;
            let comma = self.took(',').then_some(self.at);
            members.push(Member { key, key_start, value, comma });
        }
    }

    fn took(&mut self, mark: char) -> bool {
        let there = self.rest().starts_with(mark);
        self.at += usize::from(there);
        there
    }
}

/// The text with the entry put where `path` leads from `node` on.
fn within(text: &str, node: &Node, path: &[&str], entry: &Entry, layout: &Layout) -> Result<String, Unfit> {
    let (Some(members), Some((key, rest))) = (&node.members, path.split_first()) else {
        return Err(Unfit::NoPlace(format!("what stands where `{}` should be is no object", path.join("."))));
    };
    let Some(at) = members.iter().rposition(|member| member.key == *key) else {
        return Ok(insert(text, node, members, path, entry, layout));
    };
    let member = &members[at];
    if !rest.is_empty() {
        return within(text, &member.value, rest, entry, layout);
    }
    let span = member.value.span.clone();
    let in_line = !on_own_line(text, node, members, at) && !text[span.clone()].contains('\n');
    let shape = if in_line { Shape::InLine } else { Shape::Lines { indent: indent_at(text, member.key_start) } };
    Ok([&text[..span.start], &layout.object(entry, &shape), &text[span.end..]].concat())
}

/// The text with one more member in an object, behind the last one.
fn insert(text: &str, node: &Node, members: &[Member], path: &[&str], entry: &Entry, layout: &Layout) -> String {
    let close = node.span.end - 1;
    let Some(last) = members.last() else {
        let at = text[..close].trim_end_matches(WHITE).len();
        if layout.in_line {
            return [&text[..at], &layout.member(path, entry, &Shape::InLine), &text[at..]].concat();
        }
        let outer = indent_at(text, node.span.start);
        let indent = format!("{outer}{}", layout.unit);
        let mut new = format!("{}{indent}", layout.newline);
        new.push_str(&layout.member(path, entry, &Shape::Lines { indent }));
        if !text[at..close].contains('\n') {
            new.push_str(layout.newline);
            new.push_str(&outer);
        }
        return [&text[..at], &new, &text[at..]].concat();
    };
    let (before, after) = if last.comma.is_some() { ("", ",") } else { (",", "") };
    let value_end = last.value.span.end;
    if on_own_line(text, node, members, members.len() - 1) {
        // Behind the comments that follow the last member, which are about that one.
        let at = text[..close].trim_end_matches(WHITE).len();
        let indent = indent_at(text, last.key_start);
        let start = format!("{}{indent}", layout.newline);
        let member = layout.member(path, entry, &Shape::Lines { indent });
        return [&text[..value_end], before, &text[value_end..at], &start, &member, after, &text[at..]].concat();
    }
    let at = last.comma.unwrap_or(value_end);
    [&text[..at], before, " ", &layout.member(path, entry, &Shape::InLine), after, &text[at..]].concat()
}

/// Whether the member begins a line of its own.
fn on_own_line(text: &str, node: &Node, members: &[Member], at: usize) -> bool {
    let previous = at.checked_sub(1).and_then(|before| members[before].comma).unwrap_or(node.span.start + 1);
    text[previous..members[at].key_start].contains('\n')
}

/// The white space that the line of a place begins with.
fn indent_at(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].chars().take_while(|c| *c == ' ' || *c == '\t').collect()
}

/// Whether an object takes one line or many.
enum Shape {
    InLine,
    Lines { indent: String },
}

/// How a text is laid out, so that what is added looks like the rest.
struct Layout {
    newline: &'static str,
    unit: String,
    /// Whether the whole value stands in one line.
    in_line: bool,
}

impl Layout {
    fn of(text: &str, root: Option<&Node>) -> Self {
        let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let first = root.and_then(|root| root.members.as_ref()?.first());
        let outer = root.map_or(String::new(), |root| indent_at(text, root.span.start));
        let inner = first.map(|member| indent_at(text, member.key_start));
        let unit =
            inner.and_then(|inner| inner.strip_prefix(&outer).map(str::to_owned)).filter(|unit| !unit.is_empty());
        let in_line = first.is_some() && root.is_some_and(|root| !text[root.span.clone()].contains('\n'));
        Self {
            newline: if crlf { "\r\n" } else { "\n" },
            unit: unit.filter(|_| !in_line).unwrap_or_else(|| "  ".to_owned()),
            in_line,
        }
    }

    /// The text, which has no value, with one behind what there is.
    fn document(&self, text: &str, path: &[&str], entry: &Entry) -> String {
        let comments = text.trim_start_matches(BOM);
        let break_ = if comments.is_empty() || comments.ends_with('\n') { "" } else { self.newline };
        let member = self.member(path, entry, &Shape::Lines { indent: self.unit.clone() });
        [text, break_, "{", self.newline, &self.unit, &member, self.newline, "}", self.newline].concat()
    }

    fn member(&self, path: &[&str], entry: &Entry, shape: &Shape) -> String {
        let Some((key, rest)) = path.split_first() else { return self.object(entry, shape) };
        let name = Value::from(*key);
        if rest.is_empty() {
            return format!("{name}: {}", self.object(entry, shape));
        }
        match shape {
            Shape::InLine => format!("{name}: {{{}}}", self.member(rest, entry, shape)),
            Shape::Lines { indent } => {
                let (newline, inner) = (self.newline, format!("{indent}{}", self.unit));
                let member = self.member(rest, entry, &Shape::Lines { indent: inner.clone() });
                format!("{name}: {{{newline}{inner}{member}{newline}{indent}}}")
            }
        }
    }

    fn object(&self, entry: &Entry, shape: &Shape) -> String {
        let fields = entry.fields.iter().map(|(key, value)| format!("{}: {}", Value::from(*key), in_line(value)));
        let fields: Vec<String> = fields.collect();
        match shape {
            Shape::InLine => format!("{{{}}}", fields.join(", ")),
            Shape::Lines { indent } => {
                let (newline, inner) = (self.newline, format!("{indent}{}", self.unit));
                let fields = fields.join(&format!(",{newline}{inner}"));
                format!("{{{newline}{inner}{fields}{newline}{indent}}}")
            }
        }
    }
}

/// A value on one line, with a space behind each comma.
fn in_line(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(in_line).collect::<Vec<_>>().join(", ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATH: &[&str] = &["mcpServers", "readproof"];

    fn entry() -> Entry {
        Entry { fields: vec![("command", json!("readproof")), ("args", json!(["mcp"]))] }
    }

    /// Sets the entry, and again.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let once = set(text, PATH, &entry()).unwrap();
        assert_eq!(once, expected);
        assert_eq!(get(&once, PATH).unwrap().unwrap().value, entry().value());
        assert_eq!(set(&once, PATH, &entry()).unwrap(), once, "again");
    }

    #[test]
    fn a_text_without_value_gets_one_behind_what_there_is() {
        let whole = "{\n  \"mcpServers\": {\n    \"readproof\": {\n      \"command\": \"readproof\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
        check("", whole);
        check("\n", &format!("\n{whole}"));
        check("\u{feff}", &format!("\u{feff}{whole}"));
        check("// mine", &format!("// mine\n{whole}"));
        check("/* mine */\r\n", &format!("/* mine */\r\n{}", whole.replace('\n', "\r\n")));
        check("{}", whole.trim_end());
        check("{}\n", whole);
        check("\u{feff}{\n}\n", &format!("\u{feff}{whole}"));
        check("{ // none yet\n}", &whole.trim_end().replacen('{', "{ // none yet", 1));
    }

    #[test]
    fn a_new_entry_stands_behind_the_last() {
        check(
            "{\n\t\"mcpServers\": {\n\t\t\"docs\": {\"url\": \"x\"} // docs\n\t\t/* \"readproof\": {} */\n\t},\n\t\"a\": 1\n}",
            "{\n\t\"mcpServers\": {\n\t\t\"docs\": {\"url\": \"x\"}, // docs\n\t\t/* \"readproof\": {} */\n\t\t\"readproof\": \
             {\n\t\t\t\"command\": \"readproof\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t},\n\t\"a\": 1\n}",
        );
        check(
            "{\r\n    \"theme\": \"}\\\"{//\",\r\n}\r\n",
            "{\r\n    \"theme\": \"}\\\"{//\",\r\n    \"mcpServers\": {\r\n        \"readproof\": {\r\n            \"command\": \
             \"readproof\",\r\n            \"args\": [\"mcp\"]\r\n        }\r\n    },\r\n}\r\n",
        );
        check(
            "{\n  \"a\": {\"mcpServers\": {\"readproof\": 1}},\n  \"mcpServers\": {}\n}\n",
            "{\n  \"a\": {\"mcpServers\": {\"readproof\": 1}},\n  \"mcpServers\": {\n    \"readproof\": {\n      \"command\": \
             \"readproof\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n",
        );
    }

    #[test]
    fn what_stands_in_one_line_stays_in_one_line() {
        let ours = r#""readproof": {"command": "readproof", "args": ["mcp"]}"#;
        check(r#"{"a":1}"#, &format!(r#"{{"a":1, "mcpServers": {{{ours}}}}}"#));
        check(r#"{"a":[1,],}"#, &format!(r#"{{"a":[1,], "mcpServers": {{{ours}}},}}"#));
        check(r#"{"a":1,"mcpServers":{}}"#, &format!(r#"{{"a":1,"mcpServers":{{{ours}}}}}"#));
        check(r#"{"mcpServers":{"b":{} /* b */}}"#, &format!(r#"{{"mcpServers":{{"b":{{}}, {ours} /* b */}}}}"#));
        let lines = |inner: &str| format!("{{\n  \"mcpServers\": {{ \"b\": 1,{inner} // last\n  }}\n}}");
        check(&lines(""), &lines(&format!(" {ours},")));
    }

    #[test]
    fn an_entry_that_differs_is_replaced_alone() {
        check(
            "{\n  \"mcpServers\": {\n    // ours\n    \"readproof\": { \"command\": \"old\" }, // old\n    \"b\": {}\n  }\n}",
            "{\n  \"mcpServers\": {\n    // ours\n    \"readproof\": {\n      \"command\": \"readproof\",\n      \"args\": \
             [\"mcp\"]\n    }, // old\n    \"b\": {}\n  }\n}",
        );
        check(
            r#"{"mcpServers":{"readproof":null,"b":2}}"#,
            r#"{"mcpServers":{"readproof":{"command": "readproof", "args": ["mcp"]},"b":2}}"#,
        );
        // Of two of one name the last counts.
        check(
            r#"{"mcpServers":{"readproof":1,"readproof":2}}"#,
            r#"{"mcpServers":{"readproof":1,"readproof":{"command": "readproof", "args": ["mcp"]}}}"#,
        );
        let there = get(r#"{"mcpServers":{"readproof": {"command" : "old"} }}"#, PATH).unwrap().unwrap();
        assert_eq!(there, There { text: r#"{"command" : "old"}"#.to_owned(), value: json!({"command": "old"}) });
        assert_eq!(get("// none", PATH).unwrap(), None);
        assert_eq!(get(r#"{"mcpServers": 3}"#, PATH).unwrap(), None);
    }

    #[test]
    fn what_is_no_json_or_has_no_place_is_left() {
        let deep = "[".repeat(100_000);
        let malformed = [
            "{",
            "}",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1 \"b\": 2}",
            "{a: 1}",
            "{\"a\": 1}}",
            "[1",
            "\"",
            "{\"a\": 'x'}",
            "/* ",
            "{} /",
            "{\"a\": 1,,}",
            "// x\n{\"a\": tru}",
            "{\"a\\x\": 1}",
            &deep,
        ];
        for text in malformed {
            assert!(matches!(set(text, PATH, &entry()), Err(Unfit::Malformed(_))), "{text:.20}");
            assert!(matches!(get(text, PATH), Err(Unfit::Malformed(_))), "{text:.20}");
        }
        for text in ["[]", "null", "{\"mcpServers\": []}", "{\"mcpServers\": \"x\"}"] {
            assert!(matches!(set(text, PATH, &entry()), Err(Unfit::NoPlace(_))), "{text}");
        }
        let Err(Unfit::Malformed(why)) = parse("{\n  // a\n  \"a\": x\n}") else { panic!("was taken") };
        assert!(why.contains("line 3"), "{why}");
    }

    /// Random texts of every shape, the same on every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % end
        }

        fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
            of[self.below(of.len())]
        }

        /// White space and comments.
        fn trivia(&mut self, out: &mut String) {
            for _ in 0..self.below(3) {
                out.push_str(self.one(&[
                    " ",
                    "\n",
                    "\r\n",
                    "\t",
                    "    ",
                    "\n\n  ",
                    "// x, } \"\n",
                    "/* { \"readproof\": 1, */",
                    "//\u{a0}\r\n",
                    "/**/",
                    "// mcpServers\n",
                    "\n  ",
                    "/* \n */",
                ]));
            }
        }

        fn key(&mut self) -> &'static str {
            self.one(&[
                r#""a""#,
                r#""b c""#,
                r#""mcpServers""#,
                r#""é\"{""#,
                r#""//""#,
                r#""\u0061""#,
                r#""readproof""#,
            ])
        }

        fn value(&mut self, out: &mut String, depth: usize) {
            match self.below(if depth > 3 { 1 } else { 3 }) {
                0 => out.push_str(self.one(&[
                    "1",
                    "-2.5e3",
                    "true",
                    "null",
                    r#""x""#,
                    r#""}, // \\""#,
                    "{}",
                    "[]",
                    r#""""#,
                ])),
                1 => self.list(out, ('[', ']'), |random, out| random.value(out, depth + 1)),
                _ => self.object(out, depth, "1"),
            }
        }

        /// Keys do not repeat: which of two counts is another test's business.
        fn object(&mut self, out: &mut String, depth: usize, servers: &str) {
            let mut keys = vec![r#""\u0061""#];
            self.list(out, ('{', '}'), |random, out| {
                let mut key = random.key();
                if keys.contains(&key) || key == r#""readproof""# {
                    key = ["\"k0\"", "\"k1\"", "\"k2\"", "\"k3\"", "\"k4\""][keys.len() - 1];
                }
                keys.push(key);
                out.push_str(key);
                random.trivia(out);
                out.push(':');
                random.trivia(out);
                match key {
                    r#""mcpServers""# if servers == "object" => random.object(out, depth + 1, "1"),
                    _ => random.value(out, depth + 1),
                }
            });
        }

        fn list(&mut self, out: &mut String, (open, close): (char, char), mut one: impl FnMut(&mut Self, &mut String)) {
            out.push(open);
            let count = self.below(5);
            for number in 0..count {
                self.trivia(out);
                one(self, out);
                self.trivia(out);
                if number + 1 < count || self.below(4) == 0 {
                    out.push(',');
                }
            }
            self.trivia(out);
            out.push(close);
        }
    }

    /// Whether `new` is `old` with one comma and one more piece in it, at most.
    fn only_added(old: &str, new: &str) -> bool {
        let common = |a: &mut dyn Iterator<Item = (u8, u8)>| a.take_while(|(a, b)| a == b).count();
        let piece = |old: &[u8], new: &[u8]| {
            let start = common(&mut old.iter().copied().zip(new.iter().copied()));
            let end = common(&mut old.iter().rev().copied().zip(new.iter().rev().copied()));
            new.len() >= old.len() && start + end >= old.len()
        };
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let start = common(&mut old.iter().copied().zip(new.iter().copied()));
        piece(old, new) || (new.get(start) == Some(&b',') && piece(&old[start..], &new[start + 1..]))
    }

    #[test]
    fn every_other_byte_of_any_text_stays() {
        let mut random = Random(7);
        let (mut inside, mut beside) = (0, 0);
        for round in 0..20_000 {
            let mut text = random.one(&["", "", "\u{feff}"]).to_owned();
            random.trivia(&mut text);
            random.object(&mut text, 0, "object");
            random.trivia(&mut text);
            let before = parse(&text).unwrap().unwrap();
            let after = set(&text, PATH, &entry()).unwrap_or_else(|error| panic!("{round}: {error:?}\n{text}"));
            assert!(only_added(&text, &after), "{round}:\n{text}\n=>\n{after}");
            let mut rest = parse(&after).unwrap().unwrap();
            let servers = rest["mcpServers"].as_object_mut().unwrap();
            assert_eq!(servers.remove("readproof"), Some(entry().value()));
            if before.get("mcpServers").is_none() {
                assert!(rest.as_object_mut().unwrap().remove("mcpServers").is_some());
                beside += 1;
            } else {
                inside += 1;
            }
            assert_eq!(rest, before);
            assert_eq!(set(&after, PATH, &entry()).unwrap(), after, "{round}: again");
            let cr = |text: &str| text.matches('\r').count() == text.matches("\r\n").count();
            assert_eq!(cr(&text), cr(&after));
        }
        assert!(inside > 1000 && beside > 1000, "{inside} {beside}");
    }
}
