//! The file name in a diff header, plain or C-quoted as git does.
//!
//! It must never repair a name: a malformed one is none.

/// The name in a `---` or `+++` field after its side prefix (`a/` or `b/`); none when it is malformed.
///
/// One tab may follow the name: diff tools write it after names with spaces.
pub(crate) fn header_name(field: &str, side: &str) -> Option<Vec<u8>> {
    let field = field.strip_suffix('\t').unwrap_or(field);
    let full = match field.strip_prefix('"') {
        Some(quoted) => unquote(quoted.strip_suffix('"')?)?,
        None => field.as_bytes().to_vec(),
    };
    let name = full.strip_prefix(side.as_bytes())?;
    if name.is_empty() { None } else { Some(name.to_vec()) }
}

/// A name as it stands in an answer: in one that reads like a trailer, the special characters are escaped.
#[must_use]
pub fn labelled(path: &str) -> String {
    let like = ["[readcache", "; ", ": line", ": empty", "known="].iter().any(|words| path.contains(words));
    let sign = |c: char| match c {
        '[' | ']' | ';' | ':' | '=' if like => format!("\\u{{{:x}}}", u32::from(c)),
        other => other.to_string(),
    };
    path.chars().map(sign).collect()
}

/// The bytes between C quotes, with the escapes that git writes.
fn unquote(inner: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => escaped(&mut rest)?,
            // A bare quote would have ended the name before.
            b'"' => return None,
            plain => plain,
        });
    }
    Some(bytes)
}

fn escaped(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    match rest.next()? {
        b'a' => Some(0x07),
        b'b' => Some(0x08),
        b't' => Some(b'\t'),
        b'n' => Some(b'\n'),
        b'v' => Some(0x0b),
        b'f' => Some(0x0c),
        b'r' => Some(b'\r'),
        b'"' => Some(b'"'),
        b'\\' => Some(b'\\'),
        // Three octal digits, one byte: the first digit is at most 3.
        high @ b'0'..=b'3' => Some((high - b'0') * 64 + octal_digit(rest)? * 8 + octal_digit(rest)?),
        _ => None,
    }
}

fn octal_digit(rest: &mut impl Iterator<Item = u8>) -> Option<u8> {
    rest.next().filter(|digit| (b'0'..=b'7').contains(digit)).map(|digit| digit - b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_headers() {
        let table: &[(&str, Option<&[u8]>)] = &[
            ("a/x.txt", Some(b"x.txt")),
            ("a/x.txt\t", Some(b"x.txt")),
            ("a/my file.txt\t", Some(b"my file.txt")),
            ("a/dir/x", Some(b"dir/x")),
            ("a/a/x", Some(b"a/x")),
            ("a//abs/x", Some(b"/abs/x")),
            (r#""a/x""#, Some(b"x")),
            ("\"a/x\"\t", Some(b"x")),
            (r#""a/\303\244.txt""#, Some("ä.txt".as_bytes())),
            ("\"a/ä\"", Some("ä".as_bytes())),
            (r#""a/\a\b\t\n\v\f\r\"\\""#, Some(b"\x07\x08\t\n\x0b\x0c\r\"\\")),
            (r#""a/\377""#, Some(&[0xff])),
            ("b/x.txt", None),
            ("x.txt", None),
            ("a/", None),
            ("", None),
            ("/dev/null", None),
            ("\"", None),
            (r#""a/x"#, None),
            (r#""a/x"y""#, None),
            (r#""a/\q""#, None),
            (r#""a/\400""#, None),
            (r#""a/\30""#, None),
            (r#""a/\308""#, None),
            (r#""a/x\""#, None),
        ];
        for (field, name) in table {
            assert_eq!(header_name(field, "a/").as_deref(), *name, "{field}");
        }
        assert_eq!(header_name("b/x", "b/").as_deref(), Some(b"x".as_slice()));
    }
}
