//! Whether a name is defined where it stands, as far as its line tells. This only ranks: what is really defined is a matter of
//! parsing.

use std::ops::Range;

/// Words after which a name is defined.
const DEFINERS: [&[u8]; 30] = [
    b"class",
    b"const",
    b"def",
    b"define",
    b"defn",
    b"defun",
    b"enum",
    b"extension",
    b"fn",
    b"fun",
    b"func",
    b"function",
    b"impl",
    b"interface",
    b"macro",
    b"mod",
    b"module",
    b"namespace",
    b"object",
    b"package",
    b"proc",
    b"protocol",
    b"record",
    b"static",
    b"struct",
    b"sub",
    b"trait",
    b"type",
    b"typedef",
    b"union",
];

/// Words that a line begins with where a call stands, not a definition.
const NOT_BEFORE: [&[u8]; 16] = [
    b"assert", b"await", b"case", b"catch", b"do", b"else", b"for", b"if", b"match", b"new", b"return", b"switch",
    b"throw", b"until", b"while", b"yield",
];

/// The longest line that is looked at.
const LONGEST: usize = 400;

/// Whether the name in this range is defined here.
pub(crate) fn is_defined(text: &[u8], range: &Range<usize>) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let from = range.start.saturating_sub(LONGEST);
    let spaces = text[from..range.start].iter().rev().take_while(|byte| is_space(byte)).count();
    if spaces > 0 && DEFINERS.contains(&last_word(&text[from..range.start - spaces])) {
        return true;
    }
    // Most names are followed by something else, which is cheaper to see than the line.
    let next = text[range.end..].iter().find(|byte| !is_space(byte));
    if !next.is_some_and(|byte| b"(<:=".contains(byte)) {
        return false;
    }
    let start = text[from..range.start].iter().rposition(|byte| *byte == b'\n').map_or(from, |at| from + at + 1);
    let before = &text[start..range.start];
    let to = text.len().min(range.end + LONGEST);
    let end = text[range.end..to].iter().position(|byte| *byte == b'\n').map_or(to, |at| range.end + at);
    let after = text[range.end..end].trim_ascii();
    if !after.starts_with(b"(") && !after.starts_with(b"<") {
        // `name = function`, `name: (x) =>`, `name := func`.
        let value = after.strip_prefix(b":=").or_else(|| after.strip_prefix(b"=")).or_else(|| after.strip_prefix(b":"));
        let value = value.map(<[u8]>::trim_ascii_start).unwrap_or_default();
        return [&b"function"[..], b"async ", b"func(", b"lambda", b"class "]
            .iter()
            .any(|word| value.starts_with(word))
            || (value.starts_with(b"(") && after.ends_with(b"=> {"));
    }
    if after.ends_with(b";") || after.ends_with(b",") {
        return false;
    }
    if before.starts_with(b"func (") {
        return true;
    }
    // GNU C: the name begins the line.
    if before.is_empty() {
        return !after.ends_with(b"\\");
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_ \t*&<>:~,[]?".contains(byte);
    let first = before.trim_ascii_start();
    let first = &first[..first.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(first.len())];
    after.ends_with(b"{") && before.iter().all(plain) && !NOT_BEFORE.contains(&first)
}

/// No definer is longer than ten letters.
fn last_word(text: &[u8]) -> &[u8] {
    let text = &text[text.len().saturating_sub(11)..];
    let start = text.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').map_or(0, |at| at + 1);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_define() {
        let check = |line: &str, expected: bool| {
            let text = format!("first\n{line}\nlast");
            let at = text.find("name").unwrap();
            assert_eq!(is_defined(text.as_bytes(), &(at..at + 4)), expected, "{line}");
        };
        for line in [
            "fn name() {}",
            "    pub(crate) async fn name<T>(x: T)",
            "def name(self):",
            "class name:",
            "export default function name(",
            "type name struct {",
            "func (r *T) name(x int) error {",
            "#define name 3",
            "name (int x)",
            "static int name(int x) {",
            "    public void name(String x) {",
            "  name(x) {",
            "const name = 3",
            "var name = function (x) {",
        ] {
            check(line, true);
        }
        for line in [
            "  name(x);",
            "return name(x)",
            "if name(x) {",
            "int name(int);",
            "x = name(y) {",
            "let x = name;",
            "// the name of it",
            "self.name(x)",
            "import name",
            "else if name(x) {",
        ] {
            check(line, false);
        }
    }
}
