//! A rough scanner of Rust source: enough to find words in code and not in comments, strings or tests.

/// The text with comments and the insides of strings blanked; every line keeps its number.
pub(crate) fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, keep) = piece(rest, first);
        let (taken, left) = rest.split_at(length);
        if keep {
            code.push_str(taken);
        } else {
            code.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = left;
    }
    code
}

/// The part before the tests, that is, before a `#[cfg(test)]` that opens a module. (Clippy ensures that nothing follows
/// such a module.) Any other `#[cfg(test)]` item counts as product code.
pub(crate) fn before_tests(text: &str) -> &str {
    let mut start = 0;
    let mut candidate = None;
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if words == "#[cfg(test)]" {
            candidate = candidate.or(Some(start));
        } else if !words.starts_with("#[") {
            let opens_module = words.ends_with('{') && words.split_whitespace().any(|word| word == "mod");
            match candidate.take() {
                Some(cut) if opens_module => return text.get(..cut).unwrap_or(text),
                Some(_) | None => {}
            }
        }
        start += line.len();
    }
    text
}

/// The line numbers where `word` stands by itself: no letter, digit or `_` directly before or after it.
pub(crate) fn lines_with(text: &str, word: &str) -> Vec<usize> {
    offsets(text, word).into_iter().map(|at| line_at(text, at)).collect()
}

/// The byte offsets where `word` stands by itself.
pub(crate) fn offsets(text: &str, word: &str) -> Vec<usize> {
    let joins = |inner: Option<char>, outer: Option<char>| inner.is_some_and(is_name) && outer.is_some_and(is_name);
    text.match_indices(word)
        .filter(|(at, _)| {
            let before = text.get(..*at).and_then(|part| part.chars().next_back());
            let after = text.get(at + word.len()..).and_then(|part| part.chars().next());
            !joins(word.chars().next(), before) && !joins(word.chars().next_back(), after)
        })
        .map(|(at, _)| at)
        .collect()
}

/// The number of the line that contains this byte.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The length of the next piece of source, and whether it is code.
fn piece(rest: &str, first: char) -> (usize, bool) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), false);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), false);
    }
    if first == '"' {
        return (1 + quoted(&rest[1..], '"'), false);
    }
    if first == '\'' {
        return char_literal(rest).map_or((1, true), |length| (length, false));
    }
    if is_name(first) {
        let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let raw = matches!(&rest[..name], "r" | "br" | "cr").then(|| raw_string(&rest[name..])).flatten();
        return raw.map_or((name, true), |length| (name + length, false));
    }
    (first.len_utf8(), true)
}

/// The length of a block comment, nested ones included.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(left) = rest.get(at..).filter(|left| !left.is_empty()) {
        if left.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if left.starts_with("*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += left.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length from after an opening quote up to and including the closing one.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// `#"…"#` with any number of `#`, or `None` if this is not a raw string.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest.get(hashes..)?.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(hashes + 1 + body.find(&close).map_or(body.len(), |at| at + close.len()))
}

/// `'x'` or `'\n'`; `None` for a lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        return Some(1 + quoted(&rest[1..], '\''));
    }
    chars.next().filter(|(_, second)| *second == '\'').map(|(at, _)| at + 1)
}

pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left() {
        let check = |text: &str, expected: &str| {
            let code = without_comments_and_strings(text);
            assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
            assert_eq!(code.lines().count(), text.lines().count());
        };
        check("a // b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check(r#"f("a \" // b", x)"#, "f( , x)");
        check("f(r#\"a \" b\"#, br\"c\", r##\"\"# \"##, x)", "f( , , , x)");
        check("let r#type = b\"x\"; y", "let r#type = b ; y");
        check("fn f<'a>(x: &'static str) { '\"' ; '\\'' ; 'é' } z", "fn f<'a>(x: &'static str) { ; ; } z");
        check("\"two\nlines\" a", "a");
        check("/* open\nto the end", "");
    }

    #[test]
    fn tests_begin_at_the_test_module() {
        let check = |text: &str, expected: &str| assert_eq!(before_tests(text), expected);
        check("a\n#[cfg(test)]\nmod tests {\n}\n", "a\n");
        check("a\n#[cfg(test)]\n#[allow(x)]\npub(crate) mod tests {\n}\n", "a\n");
        check("#[cfg(test)]\nmod tests;\nb\n", "#[cfg(test)]\nmod tests;\nb\n");
        check("#[cfg(test)]\nuse x;\nb\n#[cfg(test)]\nmod tests {\n", "#[cfg(test)]\nuse x;\nb\n");
        check("a\nb", "a\nb");
    }

    #[test]
    fn words_are_found_by_themselves() {
        assert_eq!(lines_with("print!()\neprint!()\nprint!()", "print!"), [1, 3]);
        assert_eq!(lines_with("nested_env::x\nstd::env::x", "env::"), [2]);
        assert_eq!(lines_with("statics\nstatic X", "static"), [2]);
    }
}
