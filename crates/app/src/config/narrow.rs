//! What a workspace's own file may set. It may come from a stranger, so it can make less be read, shown, stored or relied on,
//! and never more.

use readproof_disk::Root;
use std::path::Path;
use toml::Value;

/// The most entries of a list, and the longest: each takes far more room than its letters.
const ENTRIES: usize = 500;
const ENTRY_BYTES: usize = 256;

/// What of a setting narrows.
pub(super) enum Narrow {
    /// A smaller number.
    Lower,
    /// A word that stands before the one in force.
    Down(&'static [&'static str]),
    /// More entries; those in force stay.
    Adds,
    /// Names of files inside the workspace.
    Inside,
    /// Any value: it is a matter of taste.
    Any,
    /// Nothing.
    Never,
}

impl Narrow {
    /// What is taken of what the file says over what is in force, and what is not, for a notice.
    pub(super) fn of(&self, root: &Root, now: Value, asked: Value) -> (Option<Value>, Option<String>) {
        let whole = |taken: bool, asked: Value| {
            let told = (!taken).then(|| asked.to_string());
            (taken.then_some(asked), told)
        };
        match self {
            Self::Any => (Some(asked), None),
            Self::Never => whole(false, asked),
            Self::Lower => whole(asked.as_integer() <= now.as_integer(), asked),
            Self::Down(words) => {
                let place = |value: &Value| words.iter().position(|word| Some(*word) == value.as_str());
                whole(place(&asked) <= place(&now), asked)
            }
            Self::Adds => {
                let (mut all, more) = (list(now), list(asked));
                // Nobody writes an empty list but to take entries away.
                let mut told = more.is_empty().then(|| "[]".to_owned());
                let asked = more.len();
                let fits = |entry: &Value| entry.as_str().is_none_or(|text| text.len() <= ENTRY_BYTES);
                let more: Vec<Value> = more.into_iter().filter(fits).take(ENTRIES).collect();
                if more.len() < asked {
                    told = Some(format!("[… {} entries too many or too long]", asked - more.len()));
                }
                let new: Vec<Value> = more.into_iter().filter(|entry| !all.contains(entry)).collect();
                all.extend(new);
                (Some(Value::Array(all)), told)
            }
            Self::Inside => {
                let inside = |entry: &Value| entry.as_str().is_some_and(|name| is_inside(root, name));
                let (inside, outside): (Vec<Value>, Vec<Value>) = list(asked).into_iter().partition(inside);
                let told = (!outside.is_empty()).then(|| Value::Array(outside).to_string());
                let mut all = list(now);
                all.extend(inside);
                (Some(Value::Array(all)), told)
            }
        }
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries,
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Table(_) => Vec::new(),
    }
}

/// By its letters, and by where it leads if it is there.
fn is_inside(root: &Root, name: &str) -> bool {
    let path = root.path().join(name);
    let back = Path::new(name).components().any(|part| part == std::path::Component::ParentDir);
    !name.starts_with('~') && !back && root.stays_inside(&path)
}
