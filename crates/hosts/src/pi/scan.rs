//! JSON as pi prints it, gone through once: every byte is checked, nothing is copied. Whatever is unusual (white space,
//! escapes in a name, a field twice, deep nesting) is left to a slower look by `object`, which would find the same fields.

use super::line::{Fields, Message};

/// How deep values may nest here.
const DEEPEST: u32 = 60;

/// The longest that the name of a tool we know can be, when every letter is escaped.
const ESCAPED_NAME: usize = 5 * 6;

/// The same for `toolCall`.
const ESCAPED_CALL: usize = 8 * 6;

/// The fields of a line; `None` says nothing about it.
pub(super) fn line(line: &str) -> Option<Fields<'_>> {
    let mut scan = Scan::new(line)?;
    let mut fields = Fields::default();
    scan.object(|scan, name| {
        let slot = match name {
            b"message" if fields.message.is_none() => {
                fields.message = Some(scan.message()?);
                return Some(());
            }
            b"message" => return None,
            b"type" => &mut fields.kind,
            b"id" => &mut fields.id,
            b"parentId" => &mut fields.parent_id,
            b"version" => &mut fields.version,
            b"cwd" => &mut fields.cwd,
            b"customType" => &mut fields.custom_type,
            b"data" => &mut fields.data,
            b"targetId" => &mut fields.target_id,
            b"replacement" => &mut fields.replacement,
            _ => return scan.value(),
        };
        scan.field(slot)
    })?;
    (scan.at == line.len()).then_some(fields)
}

/// The fields of these names in any object; `None` says nothing about it.
pub(super) fn fields<'a, const N: usize>(object: &'a str, names: &[&str; N]) -> Option<[Option<&'a str>; N]> {
    let mut scan = Scan::new(object)?;
    let (mut fields, mut next) = ([None; N], 0);
    scan.object(|scan, name| {
        // Fields most often stand in the order they are asked for.
        let found = (next..N).chain(0..next).find(|at| names[*at].as_bytes() == name);
        match found {
            Some(at) => {
                next = at + 1;
                scan.field(&mut fields[at])
            }
            None => scan.value(),
        }
    })?;
    (scan.at == object.len()).then_some(fields)
}

/// The elements of an array; `None` says nothing about it.
pub(super) fn elements(array: &str) -> Option<Vec<&str>> {
    let mut scan = Scan::new(array)?;
    let mut elements = Vec::new();
    scan.eat(b'[')?;
    loop {
        let mut element = None;
        scan.field(&mut element)?;
        elements.extend(element);
        let next = scan.peek()?;
        scan.at += 1;
        match next {
            b',' => {}
            b']' => return (scan.at == array.len()).then_some(elements),
            _ => return None,
        }
    }
}

/// Which words stood as strings of their own.
#[derive(Default)]
struct Words {
    call: bool,
    tool: bool,
}

impl Words {
    fn note(&mut self, text: &[u8], escaped: bool) {
        match text {
            b"toolCall" => self.call = true,
            b"read" | b"edit" | b"write" => self.tool = true,
            // Spelt with escapes it may be any word.
            _ if escaped => {
                self.tool |= text.len() <= ESCAPED_NAME;
                self.call |= text.len() <= ESCAPED_CALL;
            }
            _ => {}
        }
    }
}

struct Scan<'a> {
    line: &'a str,
    bytes: &'a [u8],
    at: usize,
    words: Words,
}

impl<'a> Scan<'a> {
    /// `None` when there is a control character: in a string that is no JSON, and elsewhere unusual.
    fn new(line: &'a str) -> Option<Self> {
        // A sum, not a search: that is checked many bytes at a time.
        let plain = line.bytes().fold(true, |plain, byte| plain & (byte >= b' '));
        plain.then(|| Self { line, bytes: line.as_bytes(), at: 0, words: Words::default() })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn message(&mut self) -> Option<Message<'a>> {
        let mut message = Message::default();
        self.object(|scan, name| {
            let slot = match name {
                b"role" => &mut message.role,
                b"content" => {
                    scan.words = Words::default();
                    scan.field(&mut message.content)?;
                    message.may_call = scan.words.call && scan.words.tool;
                    return Some(());
                }
                b"toolCallId" => &mut message.tool_call_id,
                b"toolName" => &mut message.tool_name,
                b"isError" => &mut message.is_error,
                b"details" => &mut message.details,
                _ => return scan.value(),
            };
            scan.field(slot)
        })?;
        Some(message)
    }

    /// Keeps a value as it stands; `None` when there was one.
    fn field(&mut self, slot: &mut Option<&'a str>) -> Option<()> {
        let start = self.at;
        self.value()?;
        slot.replace(self.line.get(start..self.at)?).is_none().then_some(())
    }

    /// An object whose names have no escapes; `field` goes over each value.
    fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let (name, escaped) = self.string()?;
            self.eat(b':')?;
            if escaped {
                return None;
            }
            field(self, name)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Goes over one value.
    fn value(&mut self) -> Option<()> {
        // The kinds of the open brackets, the innermost lowest: one for an object.
        let (mut objects, mut depth) = (0_u64, 0);
        loop {
            let first = self.peek()?;
            match first {
                b'"' => {
                    let (text, escaped) = self.string()?;
                    self.words.note(text, escaped);
                }
                b'{' | b'[' => {
                    self.at += 1;
                    let object = first == b'{';
                    if self.peek()? != if object { b'}' } else { b']' } {
                        depth += 1;
                        objects = objects << 1 | u64::from(object);
                        if depth > DEEPEST || (object && self.name().is_none()) {
                            return None;
                        }
                        continue;
                    }
                    self.at += 1;
                }
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                let next = self.peek()?;
                self.at += 1;
                match (next, objects & 1 == 1) {
                    (b',', false) => break,
                    (b',', true) => {
                        self.name()?;
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        depth -= 1;
                        objects >>= 1;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// A name inside a value, and its colon.
    fn name(&mut self) -> Option<()> {
        self.string()?;
        self.eat(b':')
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek()? == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek()?, b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// At least one. A number never ends a line, so something stands behind.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek()?.is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// What stands between two quotes, and whether it has escapes.
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        self.eat(b'"')?;
        let (start, mut escaped) = (self.at, false);
        loop {
            self.at += quote_or_backslash(self.bytes.get(self.at..)?)?;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Some((&self.bytes[start..self.at - 1], escaped));
            }
            escaped = true;
            self.at += escape(&self.bytes[self.at..])?;
        }
    }
}

/// How long an escape is.
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Where the first of the two stands. Most strings are short, so the first bytes are looked at in place.
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const NEAR: usize = 4;
    const ONES: u64 = u64::MAX / 255;
    let found = |word: u64, byte: u8| {
        let zero = word ^ (ONES * u64::from(byte));
        zero.wrapping_sub(ONES) & !zero
    };
    let (words, _) = bytes.as_chunks();
    for (n, word) in words.iter().take(NEAR).enumerate() {
        let word = u64::from_le_bytes(*word);
        let hit = (found(word, b'"') | found(word, b'\\')) & (ONES << 7);
        if hit != 0 {
            return Some(n * 8 + hit.trailing_zeros() as usize / 8);
        }
    }
    let near = words.len().min(NEAR) * 8;
    memchr::memchr2(b'"', b'\\', &bytes[near..]).map(|at| near + at)
}
