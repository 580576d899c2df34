//! Which values a workspace's file may set. It may come from a stranger, so it can only make the program read, show, store or
//! rely on less, never more.

use readproof_disk::Root;
use std::path::Path;
use toml::Value;

/// The most entries that a list may add, and the longest one in bytes: a compiled pattern takes far more memory than its text.
const ENTRIES: usize = 500;
const ENTRY_BYTES: usize = 256;

/// Which values of a setting narrow it.
pub(super) enum Narrow {
    /// A smaller number.
    Lower,
    /// The same where 0 is no limit.
    LowerUnless0,
    /// A word that comes before the one in force in this list.
    Down(&'static [&'static str]),
    /// `false`.
    Off,
    /// The same, unless the user's own file says `true`.
    OffUnlessOwn,
    /// `true`: what is recorded of calls is for the user, and nobody's to switch off.
    On,
    /// More entries; those in force remain.
    Adds,
    /// Paths inside the workspace.
    Inside,
    /// Any value, as none is less safe than another.
    Any,
    /// Nothing.
    Never,
    /// Nothing, and neither does the environment or a flag: only the user's own file counts, as those are an agent's shell's
    /// to choose.
    OwnFile,
}

impl Narrow {
    /// The value to use, given the one in force, whether the user's own file sets it, and the one in the file; and what was rejected,
    /// for a notice.
    pub(super) fn of(
        &self,
        root: &Root,
        (now, is_own): (Value, bool),
        asked: Value,
    ) -> (Option<Value>, Option<String>) {
        let whole = |taken: bool, asked: Value| {
            let told = (!taken).then(|| asked.to_string());
            (taken.then_some(asked), told)
        };
        match self {
            Self::Any => (Some(asked), None),
            Self::Never | Self::OwnFile => whole(false, asked),
            Self::Lower => whole(asked.as_integer() <= now.as_integer(), asked),
            Self::LowerUnless0 => {
                let limit = |value: &Value| value.as_integer().filter(|number| *number != 0).unwrap_or(i64::MAX);
                whole(limit(&asked) <= limit(&now), asked)
            }
            Self::Down(words) => {
                let place = |value: &Value| words.iter().position(|word| Some(*word) == value.as_str());
                whole(place(&asked) <= place(&now), asked)
            }
            Self::Off => whole(asked == Value::Boolean(false) || asked == now, asked),
            Self::OffUnlessOwn => whole((asked == Value::Boolean(false) && !is_own) || asked == now, asked),
            Self::On => whole(asked == Value::Boolean(true) || asked == now, asked),
            Self::Adds => {
                let (mut all, more) = (list(now), list(asked));
                // An empty list can only be meant to remove entries.
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

/// Judged by the path itself, and by where it leads if it exists.
fn is_inside(root: &Root, name: &str) -> bool {
    let path = root.path().join(name);
    let back = Path::new(name).components().any(|part| part == std::path::Component::ParentDir);
    !name.starts_with('~') && !back && root.stays_inside(&path)
}
