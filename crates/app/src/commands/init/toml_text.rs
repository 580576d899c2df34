//! Sets one entry in a TOML text. A new entry is a table at the end; in an existing one only the fields that differ are
//! replaced, at the places that `toml_edit` tells, and every other byte stays. (The crate's own printer turns CRLF into LF,
//! drops a byte-order mark, adds a final newline and reorders dotted keys.) The result is parsed and compared before it is
//! returned. Knows no host and opens no file.

use serde::Serialize;
use serde_json::Value;
use std::ops::Range;
use toml_edit::{Document, TableLike, ser::ValueSerializer};

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

fn values(text: &str) -> Result<Value, EditError> {
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
}
