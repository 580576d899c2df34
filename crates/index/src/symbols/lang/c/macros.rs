//! Macros in C and C++ that have not been expanded, such as `EXPORT`, mislead a parser. Where a word can only be a macro it
//! is overwritten with spaces, so that every byte and line stays in its place.

use std::ops::Range;

/// The text with spaces in place of macros that would not parse; `None` if there are none.
pub(super) fn without(text: &str) -> Option<String> {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, before: Before::Start, in_head: false, blank: Vec::new() };
    scan.all();
    if scan.blank.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in scan.blank {
        for byte in bytes.get_mut(range).unwrap_or_default() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// What comes before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The end of a statement or the beginning of a block.
    Start,
    /// The beginning of a block.
    Open,
    /// `static` or another word that may begin a declaration.
    Leading,
    /// A name or a type, or a `*` after one.
    Name,
    /// A closing bracket.
    Closed,
    Other,
}

/// The longest arguments of a macro that is overwritten.
const BRACKET_BYTES: usize = 4096;

/// The longest delimiter of a raw string.
const RAW_BYTES: usize = 17;

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    before: Before,
    /// Between `class` or its like and the brace.
    in_head: bool,
    blank: Vec<Range<usize>>,
}

/// Words that begin a declaration or a type.
const DECLARING: &[&str] = &[
    "auto",
    "bool",
    "char",
    "class",
    "constexpr",
    "double",
    "enum",
    "explicit",
    "extern",
    "float",
    "friend",
    "inline",
    "int",
    "long",
    "namespace",
    "private",
    "protected",
    "public",
    "short",
    "signed",
    "size_t",
    "static",
    "struct",
    "template",
    "typedef",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
];

/// Words after which a macro may still precede a declaration.
const LEADING: &[&str] = &["extern", "inline", "static", "virtual", "explicit", "friend", "constexpr"];

/// Words that are neither a name nor a type.
const WORDS: &[&str] = &[
    "case",
    "const",
    "delete",
    "else",
    "goto",
    "new",
    "operator",
    "return",
    "sizeof",
    "struct",
    "throw",
    "typedef",
    "typename",
    "union",
    "volatile",
    "enum",
    "class",
    "do",
    "co_return",
    "co_await",
    "and",
    "or",
    "not",
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// In capitals, as macros are written.
fn is_macro(word: &[u8]) -> bool {
    let letters = word.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    word.len() > 2 && letters > 1 && !word.iter().any(|byte| byte.is_ascii_lowercase() || *byte >= 0x80)
}

fn is_in(word: &[u8], list: &[&str]) -> bool {
    list.iter().any(|one| one.as_bytes() == word)
}

impl<'t> Scan<'t> {
    fn all(&mut self) {
        while let Some(byte) = self.peek(self.at) {
            match byte {
                b'#' if self.is_first_on_line() => self.directive(),
                b'"' | b'\'' => {
                    self.at = self.after_quote(self.at);
                    self.before = Before::Other;
                }
                b'/' if self.after_space(self.at) > self.at => self.at = self.after_space(self.at),
                byte if is_word(byte) => self.word(),
                byte => {
                    self.mark(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn mark(&mut self, byte: u8) {
        self.before = match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return,
            b';' | b'}' => Before::Start,
            b'{' => Before::Open,
            b'*' | b'&' if self.before == Before::Name => Before::Name,
            b')' => Before::Closed,
            b'>' | b':' if self.before == Before::Name || self.before == Before::Leading => Before::Leading,
            _ => Before::Other,
        };
        self.in_head &= !matches!(byte, b';' | b'{' | b'(' | b'}' | b')');
    }

    /// A word of the language, a name, or a macro.
    fn word(&mut self) {
        let start = self.at;
        let end = self.word_end(start);
        let word = &self.bytes[start..end];
        self.at = end;
        if word == b"__attribute__" || word == b"__declspec" {
            let end = self.after_brackets(end);
            if matches!(self.before, Before::Name | Before::Closed) {
                self.blank.push(start..end);
            }
            self.at = end;
            return;
        }
        if is_macro(word) && self.is_idle(start, end) {
            self.at = self.after_brackets(end);
            self.blank.push(start..self.at);
            return;
        }
        // `R"(…)"` ends at its own delimiter.
        if word.ends_with(b"R") && self.peek(end) == Some(b'"') {
            self.at = self.after_raw(end);
        }
        self.in_head |= matches!(word, b"class" | b"struct" | b"union" | b"enum" | b"namespace");
        self.before = if is_in(word, LEADING) {
            Before::Leading
        } else if is_in(word, WORDS) || word[0].is_ascii_digit() {
            Before::Other
        } else {
            Before::Name
        };
    }

    /// Whether a word can only be a macro that expands to nothing that matters.
    fn is_idle(&self, start: usize, end: usize) -> bool {
        if self.before == Before::Other && !self.in_head {
            return false;
        }
        let behind = self.after_brackets(end);
        let has_brackets = behind > end;
        let next = self.after_space(behind);
        let (follow, word) = (self.peek(next), self.word_at(next));
        let after_word = self.after_space(next + word.len());
        if self.in_head {
            // `class EXPORT Name : Base {`, `class Name FINAL {`
            let is_last = matches!(follow, Some(b'{')) || follow == Some(b':') && self.peek(next + 1) != Some(b':');
            let is_named = !word.is_empty() && self.is_head(after_word);
            return is_named || is_last && self.before == Before::Name;
        }
        match self.before {
            // `void f() NOEXCEPT {`
            Before::Closed => follow == Some(b'{'),
            // `int WINAPI main(`
            Before::Name => !has_brackets && !word.is_empty() && self.peek(after_word) == Some(b'('),
            Before::Start | Before::Open | Before::Leading => {
                let is_alone = self.bytes[behind..next].contains(&b'\n');
                let is_call = self.peek(after_word) == Some(b'(');
                let declares = is_in(word, DECLARING);
                let is_prefix = declares || (!is_in(word, WORDS) && self.is_declarator(after_word));
                let ends = matches!(follow, None | Some(b'}' | b'#'));
                // A single name in a block may be the only value of an enumeration.
                let is_open = self.before == Before::Open && ends && !has_brackets;
                let stands_alone = is_alone && self.is_first_at(start) && self.before != Before::Leading;
                !word.is_empty() && is_prefix && (declares || !is_call)
                    || stands_alone && ends && !is_open
                    || stands_alone && !word.is_empty() && (!is_call || is_macro(word))
            }
            Before::Other => false,
        }
    }

    /// Whether a name follows, perhaps after stars.
    fn is_declarator(&self, at: usize) -> bool {
        let mut at = at;
        while matches!(self.peek(at), Some(b'*' | b'&')) {
            at = self.after_space(at + 1);
        }
        self.peek(at).is_some_and(|byte| is_word(byte) && !byte.is_ascii_digit())
    }

    /// Whether the head of a type ends here.
    fn is_head(&self, at: usize) -> bool {
        let word = self.word_at(at);
        let at = if word == b"final" || is_macro(word) { self.after_space(at + word.len()) } else { at };
        match self.peek(at) {
            Some(b'{') => true,
            Some(b':') => self.peek(at + 1) != Some(b':'),
            Some(_) | None => false,
        }
    }

    /// Overwrites comments inside a macro definition, which the grammar does not expect there.
    fn directive(&mut self) {
        let name = self.after_space(self.at + 1);
        let is_define = self.word_at(name) == b"define";
        loop {
            match self.peek(self.at) {
                None | Some(b'\n') => return,
                Some(b'\\') => self.at += if self.peek(self.at + 1) == Some(b'\r') { 3 } else { 2 },
                Some(b'"' | b'\'') => self.at = self.after_quote(self.at),
                Some(b'/') if matches!(self.peek(self.at + 1), Some(b'/' | b'*')) => {
                    let end = self.after_comment(self.at);
                    let is_inside = !self.bytes[self.at..end].contains(&b'\n');
                    if is_define && is_inside && self.peek(self.at + 1) == Some(b'*') {
                        self.blank.push(self.at..end);
                    }
                    self.at = end;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn is_first_on_line(&self) -> bool {
        self.is_first_at(self.at)
    }

    fn is_first_at(&self, at: usize) -> bool {
        let line = self.bytes[..at].iter().rev().take_while(|byte| **byte != b'\n');
        { line }.all(|byte| matches!(byte, b' ' | b'\t'))
    }

    fn word_end(&self, at: usize) -> usize {
        at + self.bytes[at.min(self.bytes.len())..].iter().take_while(|byte| is_word(**byte)).count()
    }

    fn word_at(&self, at: usize) -> &'t [u8] {
        let at = at.min(self.bytes.len());
        &self.bytes[at..self.word_end(at)]
    }

    /// The position after spaces and comments.
    fn after_space(&self, at: usize) -> usize {
        let mut at = at;
        loop {
            match (self.peek(at), self.peek(at + 1)) {
                (Some(b' ' | b'\t' | b'\r' | b'\n'), _) => at += 1,
                (Some(b'/'), Some(b'/' | b'*')) => at = self.after_comment(at),
                _ => return at,
            }
        }
    }

    fn after_comment(&self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        let is_line = rest.get(1) == Some(&b'/');
        let length = if is_line {
            rest.iter().position(|byte| *byte == b'\n')
        } else {
            rest.get(2..).and_then(|rest| rest.windows(2).position(|two| two == b"*/")).map(|length| length + 4)
        };
        at + length.unwrap_or(rest.len())
    }

    /// The position after a string or character; one that is not closed ends with its line.
    fn after_quote(&self, at: usize) -> usize {
        let quote = self.peek(at);
        let mut at = at + 1;
        loop {
            match self.peek(at) {
                None | Some(b'\n') => return at.min(self.bytes.len()),
                Some(b'\\') => at += 2,
                byte if byte == quote => return at + 1,
                Some(_) => at += 1,
            }
        }
    }

    fn after_raw(&self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        let open = rest.iter().take(RAW_BYTES + 1).position(|byte| *byte == b'(');
        let Some(open) = open else { return self.after_quote(at) };
        let mut close = vec![b')'];
        close.extend_from_slice(&rest[1..open]);
        close.push(b'"');
        let end = rest[open..].windows(close.len()).position(|bytes| bytes == close);
        end.map_or(self.bytes.len(), |end| at + open + end + close.len())
    }

    /// The position after brackets that open on the same line; `at` if there are none.
    fn after_brackets(&self, at: usize) -> usize {
        let spaces = self.bytes[at.min(self.bytes.len())..].iter().take_while(|byte| **byte == b' ').count();
        let mut here = at + spaces;
        if self.peek(here) != Some(b'(') {
            return at;
        }
        let mut depth = 0_usize;
        loop {
            match self.peek(here) {
                None | Some(b';' | b'{') => return at,
                Some(_) if here > at + BRACKET_BYTES => return at,
                Some(b'"' | b'\'') => {
                    here = self.after_quote(here);
                    continue;
                }
                Some(b'(') => depth += 1,
                Some(b')') if depth == 1 => return here + 1,
                Some(b')') => depth -= 1,
                Some(_) => {}
            }
            here += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What remains, with runs of spaces collapsed.
    fn left(text: &str) -> String {
        let without = without(text).unwrap_or_else(|| text.to_owned());
        assert_eq!(without.len(), text.len());
        assert_eq!(without.matches('\n').count(), text.matches('\n').count());
        without.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_would_not_parse_is_blanked() {
        assert_eq!(left("class EXPORT_API Name : public Base {"), "class Name : public Base {");
        assert_eq!(left("struct PACKED(4) name {"), "struct name {");
        assert_eq!(left("class Name FINAL {"), "class Name {");
        assert_eq!(left("EXPORT int f(void);"), "int f(void);");
        assert_eq!(left("static FORCE_INLINE void f() {}"), "static void f() {}");
        assert_eq!(left("U_CAPI UChar * U_EXPORT2 name(int x);"), "UChar * name(int x);");
        assert_eq!(left("BEGIN_DECLS\nint x;"), "int x;");
        assert_eq!(left("DECLARE_THING(a)\nDECLARE_THING(b)\nint x;"), "int x;");
        assert_eq!(left("class A {\nQ_OBJECT\nQ_PROPERTY(a b)\npublic:"), "class A { public:");
        assert_eq!(left("void f() NOEXCEPT {"), "void f() {");
        assert_eq!(left("typedef size_t __attribute__((x)) word;"), "typedef size_t word;");
        assert_eq!(left("#define A (B /* 2 */ | C)"), "#define A (B | C)");
    }

    #[test]
    fn what_may_mean_something_stays() {
        let same = [
            "struct NAME other;",
            "struct NAME { int x; };",
            "enum { ONLY };",
            "enum { ONE,\nTWO\n};",
            "HANDLE open(int x);",
            "FILE const *file;",
            "x = (int) NAME;",
            "TEST(A, B)\n{",
            "GLOBAL(void)\nname(int x)\n{",
            "static FILE *file;",
            "\"EXPORT int x;\"",
            "// EXPORT int x;",
            "return NAME;",
            "BOOL value = TRUE;",
            "int a[NAME];",
        ];
        for text in same {
            assert_eq!(left(text), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}
