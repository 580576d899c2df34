//! The hash by which a record of a request names a message: SHA-256 of `{"content":…,"role":…}`, compact, with sorted names
//! and without `cache_control`. Strings and numbers are taken as they stand, as the host prints both in the same way.

use readproof_core::text::ContentHash;

use crate::json::scan::Scan;

/// The deepest nesting that is hashed. Messages are far less deep.
const DEEPEST: u32 = 60;

/// The hash of a message with these blocks; between two of them is a comma.
pub(super) fn message_hash(blocks: &[u8], role: &[u8]) -> ContentHash {
    ContentHash::of_parts(&[b"{\"content\":[", blocks, b"],\"role\":", role, b"}"])
}

/// Appends the blocks of a content: the elements of an array, or one block of text for a string.
pub(super) fn append_blocks(content: &[u8], blocks: &mut Vec<u8>) -> Option<()> {
    if content.starts_with(b"\"") {
        comma(blocks);
        blocks.extend_from_slice(b"{\"text\":");
        append(content, blocks)?;
        blocks.extend_from_slice(b",\"type\":\"text\"}");
        return Some(());
    }
    let mut scan = Scan::new(content)?;
    scan.array(|scan| {
        comma(blocks);
        value(scan, 0, blocks)
    })?;
    scan.is_done().then_some(())
}

/// Whether two values are printed in the same way.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (mut printed, mut also) = (Vec::new(), Vec::new());
    one == other || (append(one, &mut printed).is_some() && append(other, &mut also).is_some() && printed == also)
}

fn comma(blocks: &mut Vec<u8>) {
    if !blocks.is_empty() {
        blocks.push(b',');
    }
}

fn append(raw: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut scan = Scan::new(raw)?;
    value(&mut scan, 0, out)?;
    scan.is_done().then_some(())
}

fn value(scan: &mut Scan<'_>, depth: u32, out: &mut Vec<u8>) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    match scan.peek()? {
        b'{' => object(scan, depth, out),
        b'[' => {
            out.push(b'[');
            let mut first = true;
            scan.array(|scan| {
                if !std::mem::take(&mut first) {
                    out.push(b',');
                }
                value(scan, depth + 1, out)
            })?;
            out.push(b']');
            Some(())
        }
        _ => {
            let mut raw = None;
            scan.field(&mut raw)?;
            out.extend_from_slice(raw?);
            Some(())
        }
    }
}

fn object(scan: &mut Scan<'_>, depth: u32, out: &mut Vec<u8>) -> Option<()> {
    let mut fields: Vec<(&[u8], Vec<u8>)> = Vec::new();
    scan.object(|scan, name| {
        let mut printed = Vec::new();
        value(scan, depth + 1, &mut printed)?;
        if name != b"cache_control" {
            fields.push((name, printed));
        }
        Some(())
    })?;
    fields.sort_by_key(|(name, _)| *name);
    out.push(b'{');
    for (at, (name, printed)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(printed);
    }
    out.push(b'}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_hints_for_caches_left_out() {
        let check = |raw: &str, canonical: Option<&str>| {
            let mut out = Vec::new();
            let done = append(raw.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap());
            assert_eq!(done.as_deref(), canonical, "{raw}");
        };
        check(r#"[{"b":1,"a":{"d":[],"c":"x\n"}}]"#, Some(r#"[{"a":{"c":"x\n","d":[]},"b":1}]"#));
        check(
            r#"[{"type":"text","cache_control":{"type":"ephemeral"},"text":"é"}]"#,
            Some(r#"[{"text":"é","type":"text"}]"#),
        );
        check("\"plain\"", Some("\"plain\""));
        check(r#"[{"a": 1}]"#, None);
        check("[", None);
    }

    #[test]
    fn values_that_are_the_same() {
        assert!(is_same(br#"{"a":1,"b":"x"}"#, br#"{"b":"x","a":1}"#));
        assert!(!is_same(br#"{"a":1}"#, br#"{"a":2}"#) && !is_same(b"{", br#"{"a":1}"#));
    }

    #[test]
    fn a_message_of_several_lines_is_hashed_like_one() {
        let mut one = Vec::new();
        append_blocks(br#"[{"type":"text","text":"a"},{"text":"b","type":"text"}]"#, &mut one).unwrap();
        let mut blocks = Vec::new();
        append_blocks(b"\"a\"", &mut blocks).unwrap();
        append_blocks(br#"[{"type":"text","text":"b"}]"#, &mut blocks).unwrap();
        assert_eq!(message_hash(&one, b"\"user\""), message_hash(&blocks, b"\"user\""));
    }
}
