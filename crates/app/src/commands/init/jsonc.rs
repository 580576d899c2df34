//! Sets one entry in a JSON text that may hold comments and trailing commas, or adds one item to a list. `jsonc-parser` parses
//! the text and tells where everything is; the entry is inserted there, or replaces the old value, and every other byte stays. (The crate's own
//! editor reformats one-line objects and drops blank lines.) The result is parsed and compared before it is returned. Knows
//! no host and opens no file.

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult,
    ast::{Array, Object, ObjectProp, Value as Node},
    common::Ranged,
    parse_to_ast,
    tokens::{Token, TokenAndRange},
};
use serde_json::{Map, Value};

use super::entry::{EditError, Entry, Existing, newline, slot};

const BOM: char = '\u{feff}';

/// White space of JSON. A comment may end in other kinds, which belong to it.
const WHITE: [char; 4] = [' ', '\t', '\r', '\n'];

/// JSON with comments and trailing commas, and no further extension.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value of a text; `None` if it has none, as an empty file.
pub(crate) fn parse(text: &str) -> Result<Option<Value>, EditError> {
    let (_, text) = split_bom(text);
    Ok(parsed(text)?.value.map(Value::from))
}

/// The entry at `path`.
pub(crate) fn get(text: &str, path: &[&str]) -> Result<Option<Existing>, EditError> {
    let (_, text) = split_bom(text);
    let document = parsed(text)?.value;
    let node = document.as_ref().and_then(|root| node_at(root, path));
    Ok(node.map(|node| Existing { text: node.text(text).to_owned(), value: node.clone().into() }))
}

/// The text with the entry at `path`. Missing objects on the way are created.
pub(crate) fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, EditError> {
    set_leaf(text, path, Leaf::Fields(entry))
}

/// The text with a value, written on one line, at `path`. Missing objects on the way are created.
pub(crate) fn set_value(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    set_leaf(text, path, Leaf::Value(value))
}

/// The text with one more item in the list at `path`, unless it has that item. A missing list is created.
pub(crate) fn add_item(whole: &str, path: &[&str], item: &str) -> Result<String, EditError> {
    let (bom, text) = split_bom(whole);
    let document = parsed(text)?;
    let Some(node) = document.value.as_ref().and_then(|root| node_at(root, path)) else {
        return set_value(whole, path, &Value::from(vec![item]));
    };
    let Some(list) = node.as_array() else {
        return Err(EditError::NoPlace(format!("`{}` is not a list", path.join("."))));
    };
    if list.elements.iter().any(|element| element.as_string_lit().is_some_and(|text| text.value == item)) {
        return Ok(whole.to_owned());
    }
    let tokens = document.tokens.unwrap_or_default();
    let source = Source { text, tokens: &tokens, layout: Layout::of(text, document.value.as_ref()) };
    let changed = source.with_item(list, item);
    let mut expected = document.value.map(Value::from).ok_or(EditError::AltersMore)?;
    let items = slot(&mut expected, path).and_then(Value::as_array_mut).ok_or(EditError::AltersMore)?;
    items.push(Value::from(item));
    if parse(&changed)? == Some(expected) { Ok(format!("{bom}{changed}")) } else { Err(EditError::AltersMore) }
}

/// The text without the property at `path`, and without the objects on the way that have no other; `None` if there is none.
pub(crate) fn remove(whole: &str, path: &[&str]) -> Result<Option<String>, EditError> {
    let (bom, text) = split_bom(whole);
    let document = parsed(text)?;
    let Some(root) = document.value.as_ref().filter(|root| node_at(root, path).is_some()) else { return Ok(None) };
    // An object that has nothing else goes with it.
    let is_alone = |depth: &usize| {
        let object = node_at(root, &path[..*depth]).and_then(|node| node.as_object());
        object.is_some_and(|object| object.properties.len() == 1)
    };
    let goes = (1..path.len()).rev().take_while(is_alone).last().unwrap_or(path.len());
    let (Some((key, above)), Some(expected)) = (path[..goes].split_last(), parse(whole)?) else { return Ok(None) };
    let Some(object) = node_at(root, above).and_then(|node| node.as_object()) else { return Ok(None) };
    let Some(property) = property(object, key) else { return Ok(None) };
    let tokens = document.tokens.as_deref().unwrap_or_default();
    let first = tokens.partition_point(|token| token.range.start < property.start());
    let next = tokens.partition_point(|token| token.range.start < property.end());
    let (Some(before), Some(after)) = (first.checked_sub(1).and_then(|at| tokens.get(at)), tokens.get(next)) else {
        return Err(EditError::AltersMore);
    };
    let (from, to) = match (&before.token, &after.token) {
        (_, Token::Comma) => (before.range.end, after.range.end),
        (Token::Comma, _) => (before.range.start, property.end()),
        _ => (before.range.end, after.range.start),
    };
    let changed = [&text[..from], &text[to..]].concat();
    let mut expected = expected;
    let parent = slot(&mut expected, above).and_then(Value::as_object_mut).ok_or(EditError::AltersMore)?;
    parent.remove(*key);
    if parse(&changed)? == Some(expected) { Ok(Some(format!("{bom}{changed}"))) } else { Err(EditError::AltersMore) }
}

/// What is put at a path.
#[derive(Clone, Copy)]
enum Leaf<'l> {
    Fields(&'l Entry),
    Value(&'l Value),
}

fn set_leaf(text: &str, path: &[&str], entry: Leaf<'_>) -> Result<String, EditError> {
    let (bom, text) = split_bom(text);
    let document = parsed(text)?;
    let tokens = document.tokens.unwrap_or_default();
    let source = Source { text, tokens: &tokens, layout: Layout::of(text, document.value.as_ref()) };
    let changed = match &document.value {
        None => source.layout.document(text, path, entry),
        Some(node) => source.with_entry(node, path, entry)?,
    };
    let mut expected = document.value.map_or_else(|| Value::Object(Map::new()), Value::from);
    *slot(&mut expected, path).ok_or(EditError::AltersMore)? = match entry {
        Leaf::Fields(entry) => entry.value(),
        Leaf::Value(value) => value.clone(),
    };
    if parse(&changed)? == Some(expected) { Ok(format!("{bom}{changed}")) } else { Err(EditError::AltersMore) }
}

fn split_bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

fn parsed(text: &str) -> Result<ParseResult<'_>, EditError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
    parse_to_ast(text, &collect, &OPTIONS).map_err(|error| EditError::Malformed(error.to_string()))
}

fn node_at<'n, 't>(root: &'n Node<'t>, path: &[&str]) -> Option<&'n Node<'t>> {
    path.iter().try_fold(root, |node, key| property(node.as_object()?, key).map(|property| &property.value))
}

/// Of several properties with one name the last counts.
fn property<'o, 't>(object: &'o Object<'t>, key: &str) -> Option<&'o ObjectProp<'t>> {
    object.properties.iter().rfind(|property| property.name.as_str() == key)
}

/// A parsed text.
struct Source<'s> {
    text: &'s str,
    /// In order, without comments.
    tokens: &'s [TokenAndRange<'s>],
    layout: Layout,
}

impl Source<'_> {
    /// The text with the entry at `path` below `node`.
    fn with_entry(&self, node: &Node<'_>, path: &[&str], entry: Leaf<'_>) -> Result<String, EditError> {
        let (Some(object), Some((key, rest))) = (node.as_object(), path.split_first()) else {
            return Err(EditError::NoPlace(format!(
                "the value that should hold `{}` is not an object",
                path.join(".")
            )));
        };
        let Some(property) = property(object, key) else { return Ok(self.with_property(object, path, entry)) };
        if !rest.is_empty() {
            return self.with_entry(&property.value, rest, entry);
        }
        let (start, end) = (property.value.start(), property.value.end());
        let in_line = !self.begins_line(property.start()) && !self.text[start..end].contains('\n');
        let shape = if in_line { Shape::InLine } else { Shape::Lines { indent: self.indent(property.start()) } };
        Ok([&self.text[..start], &self.layout.leaf(entry, &shape), &self.text[end..]].concat())
    }

    /// The text with one more property in an object, after the last one.
    fn with_property(&self, object: &Object<'_>, path: &[&str], entry: Leaf<'_>) -> String {
        let (text, layout) = (self.text, &self.layout);
        let close = object.end() - 1;
        // After the comments that follow the last property, which are about that one.
        let content_end = text[..close].trim_end_matches(WHITE).len();
        let Some(last) = object.properties.last() else {
            if layout.in_line {
                let property = layout.property(path, entry, &Shape::InLine);
                return [&text[..content_end], &property, &text[content_end..]].concat();
            }
            let outer = self.indent(object.start());
            let indent = format!("{outer}{}", layout.unit);
            let start = format!("{}{indent}", layout.newline);
            let property = layout.property(path, entry, &Shape::Lines { indent });
            let is_open = text[content_end..close].contains('\n');
            let end = if is_open { String::new() } else { format!("{}{outer}", layout.newline) };
            return [&text[..content_end], &start, &property, &end, &text[content_end..]].concat();
        };
        let comma = self.comma_after(last.end());
        let (before, after) = if comma.is_some() { ("", ",") } else { (",", "") };
        if self.begins_line(last.start()) {
            let indent = self.indent(last.start());
            let start = format!("{}{indent}", layout.newline);
            let property = layout.property(path, entry, &Shape::Lines { indent });
            let (value, comments) = (&text[..last.end()], &text[last.end()..content_end]);
            return [value, before, comments, &start, &property, after, &text[content_end..]].concat();
        }
        let at = comma.unwrap_or(last.end());
        [&text[..at], before, " ", &layout.property(path, entry, &Shape::InLine), after, &text[at..]].concat()
    }

    /// The end of the comma that follows a value.
    fn comma_after(&self, at: usize) -> Option<usize> {
        let next = self.tokens.get(self.tokens.partition_point(|token| token.range.start < at))?;
        (next.token == Token::Comma).then_some(next.range.end)
    }

    /// The text with one more item in a list, after the last one.
    fn with_item(&self, list: &Array<'_>, item: &str) -> String {
        let (text, item) = (self.text, Value::from(item).to_string());
        let Some(last) = list.elements.last() else {
            let open = list.start() + 1;
            return [&text[..open], &item, &text[open..]].concat();
        };
        let comma = self.comma_after(last.end());
        let (before, after) = if comma.is_some() { ("", ",") } else { (",", "") };
        if self.begins_line(last.start()) {
            // After the comments that follow the last item, which are about that one.
            let content_end = text[..list.end() - 1].trim_end_matches(WHITE).len();
            let start = format!("{}{}", self.layout.newline, self.indent(last.start()));
            let (value, comments) = (&text[..last.end()], &text[last.end()..content_end]);
            return [value, before, comments, &start, &item, after, &text[content_end..]].concat();
        }
        let at = comma.unwrap_or(last.end());
        [&text[..at], before, " ", &item, after, &text[at..]].concat()
    }

    /// Whether a position is the first on its line, apart from comments.
    fn begins_line(&self, at: usize) -> bool {
        let before = self.tokens.partition_point(|token| token.range.start < at);
        let end = before.checked_sub(1).map_or(0, |before| self.tokens[before].range.end);
        self.text[end..at].contains('\n')
    }

    fn indent(&self, at: usize) -> String {
        indent(self.text, at)
    }
}

/// The white space at the beginning of the line of a position.
fn indent(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].chars().take_while(|c| *c == ' ' || *c == '\t').collect()
}

/// Whether an object is written on one line or on several.
enum Shape {
    InLine,
    Lines { indent: String },
}

/// How a text is laid out, so that the addition looks like the rest.
struct Layout {
    newline: &'static str,
    /// One level of indentation.
    unit: String,
    /// Whether the whole value is on one line.
    in_line: bool,
}

impl Layout {
    fn of(text: &str, root: Option<&Node<'_>>) -> Self {
        let first = root.and_then(|root| root.as_object()?.properties.first());
        let in_line = first.is_some() && root.is_some_and(|root| !root.text(text).contains('\n'));
        let outer = root.map_or(String::new(), |root| indent(text, root.start()));
        let inner = first.map(|property| indent(text, property.start())).unwrap_or_default();
        let unit = inner.strip_prefix(&outer).filter(|unit| !unit.is_empty() && !in_line).unwrap_or("  ").to_owned();
        Self { newline: newline(text), unit, in_line }
    }

    /// A text without a value, with the entry after what there is.
    fn document(&self, text: &str, path: &[&str], entry: Leaf<'_>) -> String {
        let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { self.newline };
        let property = self.property(path, entry, &Shape::Lines { indent: self.unit.clone() });
        [text, line_end, "{", self.newline, &self.unit, &property, self.newline, "}", self.newline].concat()
    }

    fn property(&self, path: &[&str], entry: Leaf<'_>, shape: &Shape) -> String {
        let Some((key, rest)) = path.split_first() else { return self.leaf(entry, shape) };
        let name = Value::from(*key);
        if rest.is_empty() {
            return format!("{name}: {}", self.leaf(entry, shape));
        }
        match shape {
            Shape::InLine => format!("{name}: {{{}}}", self.property(rest, entry, shape)),
            Shape::Lines { indent } => {
                let (newline, inner) = (self.newline, format!("{indent}{}", self.unit));
                let property = self.property(rest, entry, &Shape::Lines { indent: inner.clone() });
                format!("{name}: {{{newline}{inner}{property}{newline}{indent}}}")
            }
        }
    }

    fn leaf(&self, leaf: Leaf<'_>, shape: &Shape) -> String {
        let entry = match leaf {
            Leaf::Fields(entry) => entry,
            Leaf::Value(value) => return in_line(value),
        };
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

/// A value on one line, with a space after each comma.
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
    fn a_text_without_a_value_gets_one_after_its_comments() {
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
    fn a_new_entry_goes_after_the_last() {
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
    fn a_one_line_object_stays_on_one_line() {
        let ours = r#""readproof": {"command": "readproof", "args": ["mcp"]}"#;
        check(r#"{"a":1}"#, &format!(r#"{{"a":1, "mcpServers": {{{ours}}}}}"#));
        check(r#"{"a":[1,],}"#, &format!(r#"{{"a":[1,], "mcpServers": {{{ours}}},}}"#));
        check(r#"{"a":1,"mcpServers":{}}"#, &format!(r#"{{"a":1,"mcpServers":{{{ours}}}}}"#));
        check(r#"{"mcpServers":{"b":{} /* b */}}"#, &format!(r#"{{"mcpServers":{{"b":{{}}, {ours} /* b */}}}}"#));
        let lines = |inner: &str| format!("{{\n  \"mcpServers\": {{ \"b\": 1,{inner} // last\n  }}\n}}");
        check(&lines(""), &lines(&format!(" {ours},")));
    }

    /// What `jsonc-parser`'s own editor would change.
    #[test]
    fn blank_lines_and_the_rest_of_a_line_stay() {
        let ours = r#""readproof": {"command": "readproof", "args": ["mcp"]}"#;
        check(
            "{\n\n  \"mcpServers\" : { \"b\":1 ,\"c\" :2 },\n\n\n}\n",
            &format!("{{\n\n  \"mcpServers\" : {{ \"b\":1 ,\"c\" :2, {ours} }},\n\n\n}}\n"),
        );
        check(
            "{\n\n  \"a\": 1\n\n}",
            "{\n\n  \"a\": 1,\n  \"mcpServers\": {\n    \"readproof\": {\n      \"command\": \"readproof\",\n      \"args\": \
             [\"mcp\"]\n    }\n  }\n\n}",
        );
        check(
            "{\n\t\"a\": 1 // one\r\n\t// two\n}",
            "{\n\t\"a\": 1, // one\r\n\t// two\n\t\"mcpServers\": {\n\t\t\"readproof\": {\n\t\t\t\"command\": \
             \"readproof\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}",
        );
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
        let existing = get(r#"{"mcpServers":{"readproof": {"command" : "old"} }}"#, PATH).unwrap().unwrap();
        assert_eq!(existing, Existing { text: r#"{"command" : "old"}"#.to_owned(), value: json!({"command": "old"}) });
        assert_eq!(get("// none", PATH).unwrap(), None);
        assert_eq!(get(r#"{"mcpServers": 3}"#, PATH).unwrap(), None);
    }

    #[test]
    fn what_is_not_json_or_has_no_place_is_refused() {
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
            assert!(matches!(set(text, PATH, &entry()), Err(EditError::Malformed(_))), "{text:.20}");
            assert!(matches!(get(text, PATH), Err(EditError::Malformed(_))), "{text:.20}");
        }
        for text in ["[]", "null", "{\"mcpServers\": []}", "{\"mcpServers\": \"x\"}"] {
            assert!(matches!(set(text, PATH, &entry()), Err(EditError::NoPlace(_))), "{text}");
        }
        let Err(EditError::Malformed(why)) = parse("{\n  // a\n  \"a\": x\n}") else { panic!("was taken") };
        assert!(why.contains("line 3"), "{why}");
    }

    /// Adds an item to the list, and again.
    #[track_caller]
    fn check_item(text: &str, expected: &str) {
        let path = ["permissions", "allow"];
        let once = add_item(text, &path, "ours").unwrap();
        assert_eq!(once, expected);
        assert_eq!(add_item(&once, &path, "ours").unwrap(), once, "again");
    }

    #[test]
    fn an_item_goes_to_the_end_of_its_list() {
        check_item("", "{\n  \"permissions\": {\n    \"allow\": [\"ours\"]\n  }\n}\n");
        check_item(r#"{"permissions":{"allow":[]}}"#, r#"{"permissions":{"allow":["ours"]}}"#);
        check_item(r#"{"permissions":{"allow":["a"]}}"#, r#"{"permissions":{"allow":["a", "ours"]}}"#);
        check_item(r#"{"permissions":{"allow":["a",]}}"#, r#"{"permissions":{"allow":["a", "ours",]}}"#);
        check_item(r#"{"permissions":{"deny":["ours"]}}"#, r#"{"permissions":{"deny":["ours"], "allow": ["ours"]}}"#);
        check_item(
            "\u{feff}{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"a\", // one\r\n\t\t\t\"b\" // \"ours\"\r\n\t\t]\r\n\t}\r\n}",
            "\u{feff}{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"a\", // one\r\n\t\t\t\"b\", // \"ours\"\r\n\t\t\t\"ours\"\r\n\t\t]\r\n\t}\r\n}",
        );
        check_item(
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"a\", /* x */\n    ],\n    \"deny\": [\"b\"]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\n      \"a\", /* x */\n      \"ours\",\n    ],\n    \"deny\": [\"b\"]\n  }\n}\n",
        );
        check_item(
            "{\n  \"permissions\": {\n    \"allow\": [ // none\n    ]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\"ours\" // none\n    ]\n  }\n}\n",
        );
        for text in [r#"{"permissions":{"allow":{}}}"#, r#"{"permissions":[]}"#, "[]"] {
            assert!(matches!(add_item(text, &["permissions", "allow"], "x"), Err(EditError::NoPlace(_))), "{text}");
        }
        assert!(matches!(add_item("{", &["a"], "x"), Err(EditError::Malformed(_))));
    }

    #[test]
    fn a_value_is_set_alone() {
        let path = ["mcpServers", "readproof", "trust"];
        for (text, expected) in [
            (r#"{"mcpServers": {"readproof": {"a": 1}}}"#, r#"{"mcpServers": {"readproof": {"a": 1, "trust": true}}}"#),
            (r#"{"mcpServers": {"readproof": {"trust": 0}}}"#, r#"{"mcpServers": {"readproof": {"trust": true}}}"#),
            (
                "{\n \"mcpServers\": {\n  \"readproof\": {\n   \"a\": 1 // x\n  }\n }\n}",
                "{\n \"mcpServers\": {\n  \"readproof\": {\n   \"a\": 1, // x\n   \"trust\": true\n  }\n }\n}",
            ),
        ] {
            assert_eq!(set_value(text, &path, &json!(true)).unwrap(), expected);
        }
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
