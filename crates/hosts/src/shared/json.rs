//! Chosen fields of a JSON object, as raw values. Other fields are ignored; a chosen field that occurs twice makes the
//! object invalid. `scan` is the fast way for JSON as hosts print it; the way here takes any JSON.

pub(crate) mod scan;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, str::FromStr};

/// The fields with these names; `None` if this is not a valid object.
pub(crate) fn fields<'a, const N: usize>(object: &'a [u8], names: &[&str; N]) -> Option<[Option<&'a [u8]>; N]> {
    scan::fields(object, names).or_else(|| slow_fields(object, names))
}

/// The same for the object under a name.
pub(crate) fn fields_in<'a, const N: usize>(
    object: &'a [u8],
    under: &str,
    names: &[&str; N],
) -> Option<[Option<&'a [u8]>; N]> {
    scan::fields_in(object, under, names).or_else(|| {
        let [inside] = slow_fields(object, &[under])?;
        slow_fields(inside?, names)
    })
}

/// The same for every object in an array; `None` if anything else is in it.
pub(crate) fn fields_of_each<'a, const N: usize>(
    array: &'a [u8],
    names: &[&str; N],
) -> Option<Vec<[Option<&'a [u8]>; N]>> {
    scan::fields_of_each(array, names).or_else(|| {
        let elements: Vec<&RawValue> = serde_json::from_slice(array).ok()?;
        elements.into_iter().map(|element| slow_fields(element.get().as_bytes(), names)).collect()
    })
}

/// A string, copied only if it has escapes.
pub(crate) fn text(raw: &[u8]) -> Option<Cow<'_, str>> {
    match plain(raw)? {
        Some(inner) => str::from_utf8(inner).ok().map(Cow::Borrowed),
        None => serde_json::from_slice(raw).ok().map(Cow::Owned),
    }
}

/// The bytes of a string.
pub(crate) fn bytes(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    match plain(raw)? {
        Some(inner) => Some(Cow::Borrowed(inner)),
        None => serde_json::from_slice(raw).ok().map(|text: String| Cow::Owned(text.into_bytes())),
    }
}

/// What is between the quotes of a string; `Some(None)` if it has escapes.
fn plain(raw: &[u8]) -> Option<Option<&[u8]>> {
    let inner = raw.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    // A fold, not a search: most are short.
    let escaped = inner.iter().fold(false, |escaped, byte| escaped | (*byte == b'\\'));
    Some(Some(inner).filter(|_| !escaped))
}

/// An integer. JSON and Rust write them alike.
pub(crate) fn number<T: FromStr>(raw: &[u8]) -> Option<T> {
    str::from_utf8(raw).ok()?.parse().ok()
}

/// The same for any JSON.
pub(crate) fn slow_fields<'a, const N: usize>(object: &'a [u8], names: &[&str; N]) -> Option<[Option<&'a [u8]>; N]> {
    let mut input = serde_json::Deserializer::from_slice(object);
    let fields = (&mut input).deserialize_map(Fields { names }).ok()?;
    input.end().ok()?;
    Some(fields)
}

struct Fields<'n, const N: usize> {
    names: &'n [&'n str; N],
}

impl<'a, const N: usize> Visitor<'a> for Fields<'_, N> {
    type Value = [Option<&'a [u8]>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = [None; N];
        while let Some(Name(name)) = map.next_key()? {
            match self.names.iter().position(|known| *known == name) {
                Some(at) if fields[at].is_some() => return Err(A::Error::custom("twice")),
                Some(at) => fields[at] = Some(map.next_value::<&RawValue>()?.get().as_bytes()),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(fields)
    }
}

/// Copied only if it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
