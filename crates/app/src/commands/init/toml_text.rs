//! One entry set in a TOML text. A new entry is a table at the end; of one that is there, only the values that differ are
//! replaced: every other byte stays. What comes out is parsed and compared before it is given. Knows no host and opens no
//! file.

use serde_json::Value;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

use super::entry::{Entry, There, Unfit};

/// What stands at `path`.
pub(crate) fn get(text: &str, path: &[&str]) -> Result<Option<There>, Unfit> {
    let table = parse(text)?;
    let Some(value) = at(&table, path) else { return Ok(None) };
    let text = toml::to_string(value).unwrap_or_else(|_| value.to_string());
    let value = serde_json::to_value(value).map_err(|error| Unfit::Malformed(error.to_string()))?;
    Ok(Some(There { text: text.trim_end().to_owned(), value }))
}

/// The text with the entry at `path`.
pub(crate) fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, Unfit> {
    let before = parse(text)?;
    let fields: Vec<(&str, toml::Value)> = entry
        .fields
        .iter()
        .map(|(key, value)| Some((*key, field(value)?)))
        .collect::<Option<_>>()
        .ok_or(Unfit::Unsure)?;
    let changed = if at(&before, path).is_some() { changed(text, path, &fields)? } else { added(text, path, &fields) };
    let mut expected = before;
    put(&mut expected, path, &fields).ok_or(Unfit::Unsure)?;
    // A new table cannot be added to one that is written in one line, for example.
    let after = parse(&changed).map_err(|_| Unfit::Unsure)?;
    if after == expected { Ok(changed) } else { Err(Unfit::Unsure) }
}

fn parse(text: &str) -> Result<toml::Table, Unfit> {
    // The first line of what the parser says is enough: the others repeat the text.
    text.parse().map_err(|error: toml::de::Error| {
        Unfit::Malformed(error.to_string().lines().next().unwrap_or_default().to_owned())
    })
}

fn at<'t>(table: &'t toml::Table, path: &[&str]) -> Option<&'t toml::Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

fn field(value: &Value) -> Option<toml::Value> {
    toml::Value::try_from(value).ok()
}

/// Sets the fields of a table, and makes it and the tables around it.
fn put(table: &mut toml::Table, path: &[&str], fields: &[(&str, toml::Value)]) -> Option<()> {
    let Some((key, rest)) = path.split_first() else {
        table.extend(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        return Some(());
    };
    let inner = table.entry(*key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    put(inner.as_table_mut()?, rest, fields)
}

fn newline(text: &str) -> &'static str {
    if text.find('\n').is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}

/// The text with a table at its end, after an empty line.
fn added(text: &str, path: &[&str], fields: &[(&str, toml::Value)]) -> String {
    let newline = newline(text);
    let mut out = text.to_owned();
    let empty = text.trim_start_matches('\u{feff}').is_empty();
    let ended = empty || text.ends_with('\n');
    if !ended {
        out.push_str(newline);
    }
    if !empty {
        out.push_str(newline);
    }
    let lines = fields.iter().map(|(key, value)| format!("{newline}{key} = {value}"));
    out.push_str(&format!("[{}]{}", path.join("."), lines.collect::<String>()));
    if ended {
        out.push_str(newline);
    }
    out
}

/// The text with other values in a table that is there. A value that is missing goes before the first that is not, if that
/// begins its line.
fn changed(text: &str, path: &[&str], fields: &[(&str, toml::Value)]) -> Result<String, Unfit> {
    let spans = spans(text, path, fields).ok_or(Unfit::Unsure)?;
    let mut known = fields.iter().zip(&spans).filter_map(|((key, _), span)| Some((key, span.clone()?)));
    let unlike = || Unfit::NoPlace("the entry that is there is of another kind".to_owned());
    let (key, first) = known.next().ok_or_else(unlike)?;
    let line = text[..first.start].rfind('\n').map_or(0, |end| end + 1);
    let begin = line + text[line..].len() - text[line..].trim_start_matches([' ', '\t']).len();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for ((name, value), span) in fields.iter().zip(spans) {
        match span {
            Some(span) => edits.push((span, value.to_string())),
            None if text[begin..].starts_with(*key) => {
                let indent = &text[line..begin];
                edits.push((begin..begin, format!("{name} = {value}{}{indent}", newline(text))));
            }
            None => return Err(Unfit::Unsure),
        }
    }
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for (span, value) in edits {
        out.replace_range(span, &value);
    }
    Ok(out)
}

/// Where the values of the fields stand.
fn spans(text: &str, path: &[&str], fields: &[(&str, toml::Value)]) -> Option<Vec<Option<Range<usize>>>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let mut table = &document;
    for key in path {
        let DeValue::Table(inner) = table.get(*key)?.get_ref() else { return None };
        table = inner;
    }
    Some(fields.iter().map(|(key, _)| table.get(*key).map(toml::Spanned::span)).collect())
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
        assert!(entry().stands_in(&get(&once, PATH).unwrap().unwrap().value));
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

    #[test]
    fn what_cannot_be_changed_alone_is_left() {
        let refused = |text: &str| set(text, PATH, &entry()).unwrap_err();
        assert!(matches!(refused("a = \n"), Unfit::Malformed(_)));
        assert!(matches!(refused("[mcp_servers.readproof]\nurl = \"http://x\"\n"), Unfit::NoPlace(_)));
        assert_eq!(refused("mcp_servers = { docs = { command = \"x\" } }\n"), Unfit::Unsure);
        assert_eq!(refused("mcp_servers = 3\n"), Unfit::Unsure);
        assert_eq!(refused("mcp_servers.readproof = { command = \"x\" }\n"), Unfit::Unsure);
    }
}
