//! Some fields of a JSON object, each as it stands. Names that are not asked for mean nothing; one that is and stands there
//! twice makes the object none.

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

use super::scan;

/// The fields of these names; `None` when this is no such object.
pub(super) fn fields<'a, const N: usize>(object: &'a str, names: &[&str; N]) -> Option<[Option<&'a str>; N]> {
    scan::fields(object, names).or_else(|| slow_fields(object, names))
}

/// The elements of an array; `None` when this is none.
pub(super) fn elements(array: &str) -> Option<Vec<&str>> {
    scan::elements(array).or_else(|| {
        let elements: Vec<&RawValue> = serde_json::from_str(array).ok()?;
        Some(elements.into_iter().map(RawValue::get).collect())
    })
}

/// A string, unescaped only if it must be.
pub(super) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))?;
    if inner.contains('\\') { serde_json::from_str(raw).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// The same for any JSON.
pub(super) fn slow_fields<'a, const N: usize>(object: &'a str, names: &[&str; N]) -> Option<[Option<&'a str>; N]> {
    let mut input = serde_json::Deserializer::from_str(object);
    let fields = (&mut input).deserialize_map(Fields { names }).ok()?;
    input.end().ok()?;
    Some(fields)
}

struct Fields<'n, const N: usize> {
    names: &'n [&'n str; N],
}

impl<'a, const N: usize> Visitor<'a> for Fields<'_, N> {
    type Value = [Option<&'a str>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = [None; N];
        while let Some(Name(name)) = map.next_key()? {
            match self.names.iter().position(|known| *known == name) {
                Some(at) if fields[at].is_some() => return Err(A::Error::custom("twice")),
                Some(at) => fields[at] = Some(map.next_value::<&RawValue>()?.get()),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(fields)
    }
}

/// A name, copied only if it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
