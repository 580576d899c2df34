//! JSON as hosts print it, that is as JavaScript does, in one pass: every byte is checked, nothing is copied. Anything unusual (white space, escapes
//! in a name, a field twice, deep nesting) is left to the slower way in the parent module, which gives the same result.

/// The deepest nesting that is handled here.
const DEEPEST: u32 = 60;

/// The fields with these names in an object; `None` decides nothing.
pub(super) fn fields<'a, const N: usize>(object: &'a [u8], names: &[&str; N]) -> Option<[Option<&'a [u8]>; N]> {
    let mut scan = Scan::new(object)?;
    let fields = scan.named(names)?;
    scan.is_done().then_some(fields)
}

/// The same for the object under a name; `None` decides nothing.
pub(super) fn fields_in<'a, const N: usize>(
    object: &'a [u8],
    under: &str,
    names: &[&str; N],
) -> Option<[Option<&'a [u8]>; N]> {
    let mut scan = Scan::new(object)?;
    let mut inside = None;
    scan.object(|scan, name| {
        if name != under.as_bytes() {
            return scan.value();
        }
        inside.replace(scan.named(names)?).is_none().then_some(())
    })?;
    inside.filter(|_| scan.is_done())
}

/// The same for every object in an array; `None` decides nothing.
pub(super) fn fields_of_each<'a, const N: usize>(
    array: &'a [u8],
    names: &[&str; N],
) -> Option<Vec<[Option<&'a [u8]>; N]>> {
    let mut scan = Scan::new(array)?;
    let mut all = Vec::new();
    scan.eat(b'[')?;
    loop {
        all.push(scan.named(names)?);
        let next = scan.peek()?;
        scan.at += 1;
        match next {
            b',' => {}
            b']' => return scan.is_done().then_some(all),
            _ => return None,
        }
    }
}

/// A position in some JSON.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// `None` if this is not UTF-8 or has a control character: that is invalid in a string and unusual elsewhere.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        // Folds, not searches: the compiler checks many bytes at a time.
        let ascii = bytes.iter().fold(true, |plain, byte| plain & (byte.wrapping_sub(b' ') < 0x60));
        let plain =
            ascii || (bytes.iter().fold(true, |plain, byte| plain & (*byte >= b' ')) && str::from_utf8(bytes).is_ok());
        plain.then_some(Self { bytes, at: 0 })
    }

    /// Whether the whole input was consumed.
    pub(crate) fn is_done(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Goes back to the start.
    pub(crate) fn again(&mut self) {
        self.at = 0;
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Consumes this byte; `None` if another one is next.
    pub(crate) fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// The fields with these names in an object.
    fn named<const N: usize>(&mut self, names: &[&str; N]) -> Option<[Option<&'a [u8]>; N]> {
        let (mut fields, mut next) = ([None; N], 0);
        self.object(|scan, name| {
            // Fields are mostly in the order in which they are asked for.
            let found = (next..N).chain(0..next).find(|at| names[*at].as_bytes() == name);
            match found {
                Some(at) => {
                    next = at + 1;
                    scan.field(&mut fields[at])
                }
                None => scan.value(),
            }
        })?;
        Some(fields)
    }

    /// Consumes a value and stores it raw; `None` if there was one already.
    pub(crate) fn field(&mut self, slot: &mut Option<&'a [u8]>) -> Option<()> {
        let start = self.at;
        self.value()?;
        slot.replace(&self.bytes[start..self.at]).is_none().then_some(())
    }

    /// Consumes an object whose names have no escapes; `field` consumes each value.
    pub(crate) fn object(&mut self, field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        self.fields(field)
    }

    /// The same from the name of a field on.
    pub(crate) fn fields(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
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

    /// Consumes an array; `element` consumes each value.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            element(self)?;
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Consumes one value.
    pub(crate) fn value(&mut self) -> Option<()> {
        self.over(0, &mut |_, _| ())
    }

    /// As [`Scan::field`]; `note` gets every string in the value that is not a name, and whether it has escapes.
    pub(crate) fn noted(&mut self, slot: &mut Option<&'a [u8]>, mut note: impl FnMut(&'a [u8], bool)) -> Option<()> {
        let start = self.at;
        self.over(0, &mut note)?;
        slot.replace(&self.bytes[start..self.at]).is_none().then_some(())
    }

    /// Consumes one value that is nested in `depth` others.
    fn over<F: FnMut(&'a [u8], bool)>(&mut self, depth: u32, note: &mut F) -> Option<()> {
        match self.peek()? {
            b'"' => {
                let (text, escaped) = self.string()?;
                note(text, escaped);
                Some(())
            }
            b'{' => self.over_all::<true, F>(depth, note),
            b'[' => self.over_all::<false, F>(depth, note),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    /// Consumes an object or an array.
    fn over_all<const OBJECT: bool, F: FnMut(&'a [u8], bool)>(&mut self, depth: u32, note: &mut F) -> Option<()> {
        let end = if OBJECT { b'}' } else { b']' };
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return Some(());
        }
        if depth == DEEPEST {
            return None;
        }
        loop {
            if OBJECT {
                self.string()?;
                self.eat(b':')?;
            }
            self.over(depth + 1, note)?;
            let next = self.peek()?;
            self.at += 1;
            if next == end {
                return Some(());
            }
            if next != b',' {
                return None;
            }
        }
    }

    /// Consumes these bytes; `None` if others are next.
    pub(crate) fn word(&mut self, word: &str) -> Option<()> {
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

    /// At least one digit. A number is never the end of a line, so a byte follows.
    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek()?.is_ascii_digit() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// Consumes a string: what is between the quotes, and whether it has escapes.
    #[inline]
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        self.eat(b'"')?;
        // Most strings are short and without escapes, so the first bytes are looked at in place.
        if let Some(first) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*first);
            let (quote, backslash) = (found(word, b'"'), found(word, b'\\'));
            if quote != 0 && quote.trailing_zeros() < backslash.trailing_zeros() {
                let text = &first[..quote.trailing_zeros() as usize / 8];
                self.at += text.len() + 1;
                return Some((text, false));
            }
        }
        self.long_string()
    }

    /// The same for any string, from after its first quote on.
    #[inline(never)]
    fn long_string(&mut self) -> Option<(&'a [u8], bool)> {
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

/// The length of an escape.
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// Has a bit set at the first byte of a word that is `byte`, and perhaps at later ones.
fn found(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero = word ^ (ONES * u64::from(byte));
    zero.wrapping_sub(ONES) & !zero & (ONES << 7)
}

/// The first quote or backslash. A few words are looked at in place, as escapes are often close.
pub(crate) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const NEAR: usize = 4;
    let (words, _) = bytes.as_chunks();
    for (n, word) in words.iter().take(NEAR).enumerate() {
        let word = u64::from_le_bytes(*word);
        let hit = found(word, b'"') | found(word, b'\\');
        if hit != 0 {
            return Some(n * 8 + hit.trailing_zeros() as usize / 8);
        }
    }
    let near = words.len().min(NEAR) * 8;
    memchr::memchr2(b'"', b'\\', &bytes[near..]).map(|at| near + at)
}
