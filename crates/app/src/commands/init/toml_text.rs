//! Sets one entry in a TOML text, or adds one item to a list. A new entry is a table at the end; in an existing one only the
//! fields that differ are replaced, at the places that `toml_edit` tells, and every other byte stays. (The crate's own printer turns CRLF into LF,
//! drops a byte-order mark, adds a final newline and reorders dotted keys.) The result is parsed and compared before it is
//! returned. Knows no host and opens no file.

use serde::Serialize;
use serde_json::Value;
use std::ops::Range;
use toml_edit::{Array, Document, Item, TableLike, ser::ValueSerializer};

use super::entry::{EditError, Entry, Existing, newline, slot};

/// The entry at `path`.
pub(crate) fn get(text: &str, path: &[&str]) -> Result<Option<Existing>, EditError> {
    let Some(value) = path.iter().try_fold(&values(text)?, |value, key| value.get(key)).cloned() else {
        return Ok(None);
    };
    let document = Document::parse(text).map_err(|error| malformed(error.message()))?.into_mut();
    let item = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    let text = item.map(ToString::to_string).unwrap_or_default();
    Ok(Some(Existing { text: text.trim().to_owned(), value }))
}

/// The text with the entry at `path`.
pub(crate) fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, EditError> {
    let mut expected = values(text)?;
    let document = Document::parse(text).map_err(|error| malformed(error.message()))?;
    let fields: Vec<(&str, String)> = entry
        .fields
        .iter()
        .map(|(key, value)| Some((*key, value.serialize(ValueSerializer::new()).ok()?.to_string())))
        .collect::<Option<_>>()
        .ok_or(EditError::AltersMore)?;
    let existing = path.iter().try_fold(document.as_item(), |item, key| item.get(key));
    let changed = match existing {
        Some(existing) => replaced(text, existing.as_table_like().ok_or(EditError::AltersMore)?, &fields)?,
        None => appended(text, path, &fields),
    };
    let table = slot(&mut expected, path).and_then(Value::as_object_mut).ok_or(EditError::AltersMore)?;
    table.extend(entry.fields());
    // A table cannot be added to one that is written on one line, for example.
    let after = values(&changed).map_err(|_| EditError::AltersMore)?;
    if after == expected { Ok(changed) } else { Err(EditError::AltersMore) }
}

/// The text with one more item in the list at `path`, unless it has that item. A missing list is created.
pub(crate) fn add_item(text: &str, path: &[&str], item: &str) -> Result<String, EditError> {
    let mut expected = values(text)?;
    let document = Document::parse(text).map_err(|error| malformed(error.message()))?;
    let at = |path: &[&str]| path.iter().try_fold(document.as_item(), |found, key| found.get(key));
    let (key, parent) = path.split_last().ok_or(EditError::AltersMore)?;
    let list = slot(&mut expected, parent).and_then(Value::as_object_mut).ok_or(EditError::AltersMore)?;
    let list = list.entry(*key).or_insert_with(|| Value::Array(Vec::new()));
    let Some(list) = list.as_array_mut() else {
        return Err(EditError::NoPlace(format!("`{}` is not a list", path.join("."))));
    };
    if list.iter().any(|existing| existing == item) {
        return Ok(text.to_owned());
    }
    list.push(Value::from(item));
    let item = Value::from(item).serialize(ValueSerializer::new()).map_err(|_| EditError::AltersMore)?.to_string();
    let changed = match (at(path), at(parent)) {
        (Some(list), _) => list.as_array().and_then(|list| with_item(text, list, &item)),
        (None, Some(table)) => with_field(text, table, key, &format!("[{item}]")),
        (None, None) => None,
    };
    // The table may also be known only by tables inside of it.
    let changed = changed.unwrap_or_else(|| appended(text, parent, &[(key, format!("[{item}]"))]));
    let after = values(&changed).map_err(|_| EditError::AltersMore)?;
    if after == expected { Ok(changed) } else { Err(EditError::AltersMore) }
}

/// The whole text as a value.
pub(crate) fn values(text: &str) -> Result<Value, EditError> {
    toml_edit::de::from_str(text).map_err(|error| malformed(error.message()))
}

fn malformed(why: &str) -> EditError {
    EditError::Malformed(why.to_owned())
}

/// The text with a table at its end, after an empty line.
fn appended(text: &str, path: &[&str], fields: &[(&str, String)]) -> String {
    let newline = newline(text);
    let is_empty = text.trim_start_matches('\u{feff}').is_empty();
    let is_ended = is_empty || text.ends_with('\n');
    let before = [if is_ended { "" } else { newline }, if is_empty { "" } else { newline }].concat();
    let lines: String = fields.iter().map(|(key, value)| format!("{newline}{key} = {value}")).collect();
    let after = if is_ended { newline } else { "" };
    format!("{text}{before}[{}]{lines}{after}", path.join("."))
}

/// The text with other values in an existing table. A missing field goes before the first existing one, if that begins its
/// line.
fn replaced(text: &str, table: &dyn TableLike, fields: &[(&str, String)]) -> Result<String, EditError> {
    let existing = |(key, _): &(&str, String)| table.get_key_value(key).filter(|(_, item)| item.is_value());
    let Some((first, _)) = fields.iter().find_map(existing) else {
        return Err(EditError::NoPlace("the existing entry is of another kind".to_owned()));
    };
    let start = first.span().ok_or(EditError::AltersMore)?.start;
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let indent = &text[line..start];
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for field in fields {
        let (key, value) = field;
        match existing(field) {
            Some((_, item)) => edits.push((item.span().ok_or(EditError::AltersMore)?, value.clone())),
            None if indent.trim_matches([' ', '\t']).is_empty() => {
                edits.push((start..start, format!("{key} = {value}{}{indent}", newline(text))));
            }
            None => return Err(EditError::AltersMore),
        }
    }
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for (span, value) in edits {
        out.replace_range(span, &value);
    }
    Ok(out)
}

/// The text with one more field in an existing table: before its first field, written as that one is (`x.field = …` where the
/// table is made of dotted keys), or after the header of an empty table.
fn with_field(text: &str, table: &Item, key: &str, value: &str) -> Option<String> {
    let fields = table.as_table_like()?;
    let first = fields.iter().find(|(_, field)| field.is_value());
    let Some(start) = first.and_then(|(first, _)| Some(fields.get_key_value(first)?.0.span()?.start)) else {
        let header = table.as_table().filter(|table| !table.is_implicit())?.span()?;
        let line_end = text[header.end..].find('\n').map_or(text.len(), |end| header.end + end + 1);
        let newline = newline(text);
        let ended = text[..line_end].ends_with('\n');
        let (before, after) = if ended { ("", newline) } else { (newline, "") };
        return Some([&text[..line_end], before, &format!("{key} = {value}"), after, &text[line_end..]].concat());
    };
    if table.is_inline_table() {
        return Some([&text[..start], &format!("{key} = {value}, "), &text[start..]].concat());
    }
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let prefix = text[line..start].trim_start_matches('\u{feff}');
    let at = start - prefix.len();
    Some([&text[..at], &format!("{prefix}{key} = {value}{}", newline(text)), &text[at..]].concat())
}

/// The text with one more item in a list, after the last one.
fn with_item(text: &str, list: &Array, item: &str) -> Option<String> {
    let span = list.span()?;
    let Some(last) = list.iter().last() else {
        let open = span.start + 1;
        return Some([&text[..open], item, &text[open..]].concat());
    };
    let last = last.span()?;
    let line = text[..last.start].rfind('\n').map_or(0, |end| end + 1);
    let indent = &text[line..last.start];
    if !indent.trim_matches([' ', '\t']).is_empty() {
        return Some([&text[..last.end], ", ", item, &text[last.end..]].concat());
    }
    // After the comments that follow the last item, which are about that one.
    let tail = text[last.end..span.end - 1].trim_end();
    let has_comma = tail.lines().any(|line| line.trim_start().starts_with(','));
    let (before, after) = if has_comma { ("", ",") } else { (",", "") };
    let start = format!("{}{indent}", newline(text));
    let rest = &text[last.end + tail.len()..];
    Some([&text[..last.end], before, tail, &start, item, after, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATH: &[&str] = &["mcp_servers", "readproof"];
    const OURS: &str = "[mcp_servers.readproof]\ncommand = \"readproof\"\nargs = [\"mcp\"]\n";

    fn entry() -> Entry {
        Entry { fields: vec![("command", json!("readproof")), ("args", json!(["mcp"]))] }
    }

    /// Sets the entry, and again.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let once = set(text, PATH, &entry()).unwrap();
        assert_eq!(once, expected);
        assert!(entry().is_contained_in(&get(&once, PATH).unwrap().unwrap().value));
        assert_eq!(set(&once, PATH, &entry()).unwrap(), once);
    }

    #[test]
    fn a_new_entry_goes_to_the_end() {
        check("", OURS);
        check("\u{feff}", &format!("\u{feff}{OURS}"));
        check("model = \"gpt-5\" # mine\n", &format!("model = \"gpt-5\" # mine\n\n{OURS}"));
        check("# only a comment", &format!("# only a comment\n\n{}", OURS.trim_end()));
        check("a = 1\r\n", &format!("a = 1\r\n\r\n{}", OURS.replace('\n', "\r\n")));
        let other = "[mcp_servers.docs]\ncommand = \"npx\" # \"[mcp_servers.readproof]\"\n\n[mcp_servers.docs.env]\nA = \"1\"\n";
        check(other, &format!("{other}\n{OURS}"));
        let text =
            "notes = \"\"\"\n[mcp_servers.readproof]\ncommand = \"no\"\n\"\"\"\n[profiles.x]\nreadproof = true\n";
        check(text, &format!("{text}\n{OURS}"));
    }

    #[test]
    fn only_values_that_differ_are_replaced() {
        let with = |command: &str, args: &str| {
            format!(
                "a = 1\n[mcp_servers.readproof] # ours\n  command = {command} # where\n  args = {args}\nstartup_timeout_sec = 5\n\n\
                 [mcp_servers.readproof.env]\nA = \"x\"\n[b]\nc = 2"
            )
        };
        check(&with("'/old/readproof'", "[\n  \"serve\", # was\n]"), &with("\"readproof\"", "[\"mcp\"]"));
        check(
            "mcp_servers.readproof = { command = \"x\", args = [] }\n",
            "mcp_servers.readproof = { command = \"readproof\", args = [\"mcp\"] }\n",
        );
        check(
            "[mcp_servers]\n[mcp_servers.readproof]\n\tcommand = \"x\"\nenabled = true\n",
            "[mcp_servers]\n[mcp_servers.readproof]\n\targs = [\"mcp\"]\n\tcommand = \"readproof\"\nenabled = true\n",
        );
    }

    /// What `toml_edit`'s own printer would change.
    #[test]
    fn line_ends_marks_and_the_order_of_keys_stay() {
        let with = |command: &str| {
            format!(
                "\u{feff}a.b = 1\r\nc = 2\na.d = \"\"\"\r\nx\"\"\"\r\n[ mcp_servers . 'readproof' ] # ours\r\nargs = \
                 [\"mcp\"]\n\t\"command\"\t=\t{command}  # where\r\n\r\n[[z]]\ne = nan"
            )
        };
        check(&with("'old'"), &with("\"readproof\""));
        check("x.y = 1\nz = 2\nx.w = 3\r\n# end", &format!("x.y = 1\nz = 2\nx.w = 3\r\n# end\n\n{}", OURS.trim_end()));
        check(
            "mcp_servers.readproof.command = 1\nz = 2\nmcp_servers.readproof.args = 3",
            "mcp_servers.readproof.command = \"readproof\"\nz = 2\nmcp_servers.readproof.args = [\"mcp\"]",
        );
        check(
            "mcp_servers = { docs = {}, readproof = { args=[ 'a', ], \"command\" = 'b', }, }",
            "mcp_servers = { docs = {}, readproof = { args=[\"mcp\"], \"command\" = \"readproof\", }, }",
        );
        let existing =
            get("[mcp_servers.readproof]\n\n  command = 'x' # c\r\nenv = {A = 1}\n[b]\n", PATH).unwrap().unwrap();
        assert_eq!(existing.text, "command = 'x' # c\nenv = {A = 1}");
        assert_eq!(existing.value, json!({"command": "x", "env": {"A": 1}}));
    }

    #[test]
    fn what_cannot_be_changed_alone_is_refused() {
        let refused = |text: &str| set(text, PATH, &entry()).unwrap_err();
        assert!(matches!(refused("a = \n"), EditError::Malformed(_)));
        assert!(matches!(refused("[mcp_servers.readproof]\nurl = \"http://x\"\n"), EditError::NoPlace(_)));
        assert_eq!(refused("mcp_servers = { docs = { command = \"x\" } }\n"), EditError::AltersMore);
        assert_eq!(refused("mcp_servers = 3\n"), EditError::AltersMore);
        assert_eq!(refused("mcp_servers.readproof = { command = \"x\" }\n"), EditError::AltersMore);
        assert_eq!(refused("mcp_servers.readproof.command = 'x'\n"), EditError::AltersMore);
        assert_eq!(refused("[[mcp_servers.readproof]]\ncommand = 'x'\n"), EditError::AltersMore);
        assert_eq!(refused("[mcp_servers]\nreadproof = 'x'\n"), EditError::AltersMore);
        assert!(matches!(refused("[mcp_servers.readproof]\ncommand.x = 1\n"), EditError::NoPlace(_)));
        assert!(matches!(refused("a = 1\na = 2\n"), EditError::Malformed(_)));
    }

    const LIST: &[&str] = &["features", "code_mode", "direct"];

    /// Adds an item to the list, and again.
    #[track_caller]
    fn check_item(text: &str, expected: &str) {
        let once = add_item(text, LIST, "ours").unwrap_or_else(|error| panic!("{error:?}: {text}"));
        assert_eq!(once, expected);
        assert_eq!(add_item(&once, LIST, "ours").unwrap(), once, "again");
    }

    #[test]
    fn an_item_goes_to_the_end_of_its_list() {
        let table = "[features.code_mode]\ndirect = [\"ours\"]\n";
        check_item("", table);
        check_item("a = 1\r\n", &format!("a = 1\r\n\r\n{}", table.replace('\n', "\r\n")));
        check_item("[features]\nx = true\n", &format!("[features]\nx = true\n\n{table}"));
        check_item("[features.code_mode.x]\na = 1\n", &format!("[features.code_mode.x]\na = 1\n\n{table}"));
        check_item("[features.code_mode]\ndirect = []\n", table);
        check_item(
            "[features.code_mode]\r\ndirect = [ 'a', ] # mine\r\n[b]\r\nc = 1",
            "[features.code_mode]\r\ndirect = [ 'a', \"ours\", ] # mine\r\n[b]\r\nc = 1",
        );
        check_item(
            "[features.code_mode]\ndirect = [\n  \"a\", # one, two\n  \"b\" # 'ours'\n]\n",
            "[features.code_mode]\ndirect = [\n  \"a\", # one, two\n  \"b\", # 'ours'\n  \"ours\"\n]\n",
        );
        check_item(
            "[features.code_mode]\ndirect = [\n\t\"a\", # x\n\t# y\n]\n",
            "[features.code_mode]\ndirect = [\n\t\"a\", # x\n\t# y\n\t\"ours\",\n]\n",
        );
    }

    #[test]
    fn a_list_joins_the_table_that_is_there() {
        let line = "direct = [\"ours\"]";
        check_item(
            "[features.code_mode] # on\n  # yes\n  enabled = true\n[b]\n",
            &format!("[features.code_mode] # on\n  # yes\n  {line}\n  enabled = true\n[b]\n"),
        );
        check_item("[features.code_mode]\n", &format!("[features.code_mode]\n{line}\n"));
        check_item("[features.code_mode] # x", &format!("[features.code_mode] # x\n{line}"));
        check_item(
            "[features]\ncode_mode = { enabled = true }\n",
            &format!("[features]\ncode_mode = {{ {line}, enabled = true }}\n"),
        );
        check_item(
            "[features]\ncode_mode.enabled = true\n",
            &format!("[features]\ncode_mode.{line}\ncode_mode.enabled = true\n"),
        );
        check_item(
            "\u{feff}features.code_mode.enabled = true\n",
            &format!("\u{feff}features.code_mode.{line}\nfeatures.code_mode.enabled = true\n"),
        );
    }

    #[test]
    fn a_list_that_has_no_place_is_refused() {
        let refused = |text: &str| add_item(text, LIST, "ours").unwrap_err();
        assert!(matches!(refused("a = \n"), EditError::Malformed(_)));
        assert!(matches!(refused("[features.code_mode]\ndirect = 1\n"), EditError::NoPlace(_)));
        assert_eq!(refused("[features]\ncode_mode = true\n"), EditError::AltersMore);
        assert_eq!(refused("features = { x = 1 }\n"), EditError::AltersMore);
    }
}
