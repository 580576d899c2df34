//! The two records that every read appends, formatted and parsed by hand: the general serializer takes as long for them
//! as the system takes to append them. A test holds the bytes to the serializer's.

use serde::{Deserialize, de::IgnoredAny};

use super::record::{Answered, LimitsUsed, NamedLines, Record};
use crate::block::{Block, Sha};

/// Enough for an answer about a file with a name of usual length.
const ANSWER_BYTES: usize = 768;
const DELIVERED_BYTES: usize = 64;

/// `{"kind":"answer",…}`.
pub(super) fn answer(parent: Option<u64>, answer: &Answered) -> String {
    let Answered { path, offset, limit, for_program, mode, reason, hash, total, form, base, scope, .. } = answer;
    let Answered {
        lines, end, part, pieces, block, sent_bytes, plain_bytes, rule, answers, limits, versions, at, ..
    } = answer;
    let LimitsUsed { answer_lines, answer_bytes, answer_chars, diff_bytes, diff_lines, short_markers } = *limits;

    let mut line = Line(String::with_capacity(ANSWER_BYTES));
    line.parent("answer", parent);
    line.raw(",\"answer\":{\"path\":").text(path);
    line.optional(",\"offset\":", *offset).optional(",\"limit\":", *limit);
    if *for_program {
        line.raw(",\"for_program\":true");
    }
    line.raw(",\"mode\":").text(mode).raw(",\"reason\":").text(reason);
    line.hash(",\"hash\":", *hash).raw(",\"total\":").number((*total).into());
    if let Some(form) = form {
        line.raw(",\"form\":").text(form);
    }
    line.hash(",\"base\":", *base).raw(",\"scope\":").text(scope);
    if let Some((first, last)) = *lines {
        line.raw(",\"lines\":[").number(first.into()).raw(",").number(last.into()).raw("]");
    }
    line.raw(if *end { ",\"end\":true" } else { ",\"end\":false" });
    line.optional(",\"part\":", part.map(u64::from));
    for (at, NamedLines(base, shown_as, first, last)) in pieces.iter().enumerate() {
        line.raw(if at == 0 { ",\"pieces\":[" } else { "," }).hash("[", Some(*base));
        for number in [shown_as, first, last] {
            line.raw(",").number((*number).into());
        }
        line.raw(if at + 1 == pieces.len() { "]]" } else { "]" });
    }
    if let Some(Block { sha, bytes }) = *block {
        line.raw(",\"block\":{").hash("\"sha\":", Some(sha)).raw(",\"bytes\":").number(bytes).raw("}");
    }
    line.raw(",\"sent_bytes\":").number(*sent_bytes).raw(",\"plain_bytes\":").number(*plain_bytes);
    line.raw(",\"rule\":").text(rule).raw(",\"answers\":").text(answers);
    line.raw(",\"limits\":{\"answer_lines\":").number(answer_lines.into());
    line.raw(",\"answer_bytes\":").number(answer_bytes.into());
    line.optional(",\"answer_chars\":", answer_chars.map(u64::from)).raw(",\"diff_bytes\":").number(diff_bytes.into());
    line.raw(",\"diff_lines\":").number(diff_lines.into());
    line.raw(if short_markers { ",\"short_markers\":true" } else { "" });
    line.raw("}").optional(",\"versions\":", *versions).raw(",\"at\":").number(*at).raw("}}");
    line.0
}

/// `{"kind":"delivered",…}`.
pub(super) fn delivered(parent: Option<u64>, of: u64) -> String {
    let mut line = Line(String::with_capacity(DELIVERED_BYTES));
    line.parent("delivered", parent);
    line.raw(",\"of\":").number(of).raw("}");
    line.0
}

/// The parent and the file of an answer's record, without parsing the rest; `None` for any other record, and for one
/// that is formatted in another way than here.
pub(super) fn head(text: &str) -> Option<(Option<u64>, &str)> {
    let (parent, rest) = text.strip_prefix("{\"kind\":\"answer\",\"parent\":")?.split_once(',')?;
    let parent = if parent == "null" { None } else { Some(parent.parse().ok()?) };
    let path = rest.strip_prefix("\"answer\":{\"path\":\"")?;
    let end = memchr::memchr2(b'"', b'\\', path.as_bytes())?;
    (path.as_bytes()[end] == b'"').then(|| (parent, &path[..end]))
}

/// Parses a record of a delivery, formatted as here.
fn delivery(text: &str) -> Option<Record> {
    let rest = text.strip_prefix("{\"kind\":\"delivered\",\"parent\":")?.strip_suffix('}')?;
    let (parent, of) = rest.split_once(",\"of\":")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| Some(text).filter(|text| is_number(text)).and_then(|text| text.parse().ok());
    let parent = if parent == "null" { None } else { Some(number(parent)?) };
    Some(Record::Delivered { parent, of: number(of)? })
}

/// Parses a record of either kind; `None` for any other, and for one that is formatted in another way than here.
pub(super) fn parse(text: &str) -> Option<Record> {
    /// Parsed too, so that a line with two kinds is refused.
    #[derive(Deserialize)]
    struct Answer {
        #[serde(rename = "kind")]
        _kind: IgnoredAny,
        parent: Option<u64>,
        answer: Box<Answered>,
    }
    if text.starts_with("{\"kind\":\"answer\",") {
        let Answer { parent, answer, .. } = serde_json::from_str(text).ok()?;
        return Some(Record::Answer { parent, answer });
    }
    delivery(text)
}

struct Line(String);

impl Line {
    fn raw(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    fn parent(&mut self, kind: &str, parent: Option<u64>) {
        self.raw("{\"kind\":\"").raw(kind).raw("\",\"parent\":");
        match parent {
            Some(parent) => self.number(parent),
            None => self.raw("null"),
        };
    }

    fn text(&mut self, text: &str) -> &mut Self {
        let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        if plain {
            return self.raw("\"").raw(text).raw("\"");
        }
        // Serializing a string cannot fail.
        self.raw(&serde_json::to_string(text).unwrap_or_default())
    }

    fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.raw(str::from_utf8(&digits[at..]).unwrap_or_default())
    }

    fn optional(&mut self, key: &str, number: Option<u64>) -> &mut Self {
        match number {
            Some(number) => self.raw(key).number(number),
            None => self,
        }
    }

    fn hash(&mut self, key: &str, hash: Option<Sha>) -> &mut Self {
        match hash {
            Some(Sha(hash)) => {
                self.raw(key).raw("\"").raw(str::from_utf8(&hash.to_hex()).unwrap_or_default()).raw("\"")
            }
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Record;
    use readproof_core::text::ContentHash;

    fn check(record: &Record) {
        assert_eq!(record.to_json(), serde_json::to_string(record).unwrap());
    }

    /// Every combination of optional fields, with texts that need escaping.
    #[test]
    fn the_bytes_are_the_serializers() {
        let sha = |text: &str| Sha(ContentHash::of(text.as_bytes()));
        let paths = ["a", "src/ä \u{1f600}.rs", "q\"b\\s\n\t\u{1}\u{7f}\u{2028}", ""];
        for bits in 0..256_u64 {
            let on = |bit: u64| bits >> bit & 1 == 1;
            let path = paths[usize::try_from(bits % 4).unwrap()];
            let limits = LimitsUsed {
                answer_lines: 1,
                answer_bytes: 0,
                answer_chars: on(3).then_some(7),
                diff_bytes: u32::MAX,
                diff_lines: 12_000,
                short_markers: on(6),
            };
            let answered = Answered {
                path: path.to_owned(),
                offset: on(0).then_some(u64::MAX),
                limit: on(1).then_some(10),
                for_program: on(2),
                mode: "full".into(),
                reason: path.to_owned().into(),
                hash: on(3).then(|| sha("a")),
                total: 9,
                form: on(1).then(|| "stripped".into()),
                base: on(4).then(|| sha("b")),
                scope: "r:1:20".to_owned(),
                lines: on(5).then_some((1, u32::MAX)),
                end: on(2),
                part: on(6).then_some(7),
                pieces: (0..u32::try_from(bits % 3).unwrap()).map(|n| NamedLines(sha("c"), n, 7, u32::MAX)).collect(),
                block: on(7).then(|| Block::of("text")),
                sent_bytes: bits,
                plain_bytes: 1000 * bits,
                rule: "lf-1".into(),
                answers: "held".into(),
                limits,
                versions: on(5).then_some(bits),
                at: 1_700_000_000_123,
            };
            check(&Record::Answer { parent: on(0).then_some(bits), answer: Box::new(answered) });
            check(&Record::Delivered { parent: on(1).then_some(0), of: bits });
        }
    }
}
