//! The entry that makes a host start `readproof mcp`, whatever the format, and why a text cannot take it. Touches no text.

use serde_json::{Map, Value};

/// The name of the entry in every host.
pub(crate) const NAME: &str = "readproof";

/// The fields of an entry, in the order in which they are written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) fields: Vec<(&'static str, Value)>,
}

impl Entry {
    /// All of it as one value.
    pub(crate) fn value(&self) -> Value {
        let fields = self.fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// Whether `there` says all that this entry says. What a person added to it, as variables or limits, is no difference.
    pub(crate) fn stands_in(&self, there: &Value) -> bool {
        self.fields.iter().all(|(key, value)| there.get(key) == Some(value))
    }
}

/// An entry that a text has already.
#[derive(Debug, PartialEq)]
pub(crate) struct There {
    /// As it is written there.
    pub(crate) text: String,
    /// What it says.
    pub(crate) value: Value,
}

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is not of its format.
    Malformed(String),
    /// The entry has no place in it.
    NoPlace(String),
    /// The change would touch more than the entry.
    Unsure,
}

impl Unfit {
    /// What to tell a person.
    pub(crate) fn says(&self) -> String {
        match self {
            Self::Malformed(why) => format!("it cannot be understood ({why})"),
            Self::NoPlace(why) => why.clone(),
            Self::Unsure => "it cannot be changed without touching more than the entry".to_owned(),
        }
    }
}
