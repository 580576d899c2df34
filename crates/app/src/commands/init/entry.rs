//! The entry that makes a host start `readproof mcp`, independent of the file format, and the errors of editing a text.
//! Edits no text itself.

use serde_json::{Map, Value};

/// The name of the entry in every host.
pub(crate) const NAME: &str = "readproof";

/// The fields of an entry, in the order in which they are written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Entry {
    pub(crate) fn value(&self) -> Value {
        Value::Object(self.fields().collect::<Map<_, _>>())
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (String, Value)> {
        self.fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone()))
    }

    /// Whether `existing` has every field of this entry. Fields that the user added, such as environment variables, do not
    /// count as a difference.
    pub(crate) fn is_contained_in(&self, existing: &Value) -> bool {
        self.fields.iter().all(|(key, value)| existing.get(key) == Some(value))
    }
}

/// An entry that a text already has.
#[derive(Debug, PartialEq)]
pub(crate) struct Existing {
    /// As written there.
    pub(crate) text: String,
    pub(crate) value: Value,
}

/// Why the entry cannot be set in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditError {
    /// The text does not parse.
    Malformed(String),
    /// Something else is where the entry belongs.
    NoPlace(String),
    /// The change would alter more than the entry.
    AltersMore,
}

impl EditError {
    /// The reason as the command line gives it.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Malformed(why) => format!("it cannot be parsed ({why})"),
            Self::NoPlace(why) => why.clone(),
            Self::AltersMore => "the entry cannot be set without changing more than the entry".to_owned(),
        }
    }
}

/// The value at `path`; missing objects on the way are created. `None` where something on the way is not an object.
pub(crate) fn slot<'v>(mut value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    for key in path {
        value = value.as_object_mut()?.entry(*key).or_insert_with(|| Value::Object(Map::new()));
    }
    Some(value)
}

/// The line terminator of a text, by its first line.
pub(crate) fn newline(text: &str) -> &'static str {
    if text.find('\n').is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}
