//! One line of an ignore file, read as git reads it. Most patterns become a glob of `globset`, which tries all of them at once;
//! what that syntax cannot say is matched here. Either way git's own matcher is the specification, its oddities included.

/// A line of an ignore file that is neither blank nor a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    /// The line without spaces at its end.
    pub(super) text: &'t str,
    /// Whether it begins with `!`: what it matches is excepted.
    pub(super) negated: bool,
    /// Whether it ends in `/`: it matches folders only.
    pub(super) folders_only: bool,
    /// What is compared with names.
    body: &'t str,
}

impl<'t> Line<'t> {
    /// `None` for a blank line or a comment.
    pub(super) fn parse(line: &'t str) -> Option<Self> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        // To git, a line ends at a NUL.
        let line = line.split('\0').next().unwrap_or_default();
        if line.starts_with('#') {
            return None;
        }
        let text = without_spaces_at_end(line);
        let body = text.strip_prefix('!').unwrap_or(text);
        let folder = body.strip_suffix('/');
        let parsed = Self {
            text,
            negated: body.len() < text.len(),
            folders_only: folder.is_some(),
            body: folder.unwrap_or(body),
        };
        (!text.is_empty()).then_some(parsed)
    }

    pub(super) fn pattern(&self) -> Result<Pattern, Hopeless> {
        Pattern::new(self.body)
    }

    /// Why it matches nothing, if a part of it is one that no name has. After plain text and `**` even those can match.
    pub(super) fn doubt(&self) -> Option<Hopeless> {
        let body = self.body.strip_prefix('/').unwrap_or(self.body);
        match body.split('/').find(|part| matches!(*part, "" | "." | ".."))? {
            _ if body.contains("**") => None,
            ".." => Some(Hopeless::Outside),
            _ => Some(Hopeless::Empty),
        }
    }

    /// As a pattern of absolute names: what it matches in the folder `base`.
    pub(super) fn below(&self, base: &str) -> Result<Reach, Hopeless> {
        Pattern::from_absolute(self.body.trim_start_matches('/'), base)
    }
}

/// A space at the end counts only if it is escaped.
fn without_spaces_at_end(line: &str) -> &str {
    let (mut end, mut bytes) = (0, line.bytes().enumerate());
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => {}
            b'\\' => match bytes.next() {
                Some((at, _)) => end = at + 1,
                // An escape of nothing: git leaves the line alone.
                None => return line,
            },
            _ => end = at + 1,
        }
    }
    // The end may stand within a character, after an escaped first byte of it; then more bytes of it follow, or none.
    line.get(..end).unwrap_or(line)
}

/// Why a pattern matches no name at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hopeless {
    /// It has a part `..`, which no name has.
    Outside,
    /// Nothing is left of it, or it has an empty part or a part `.`, which no name has.
    Empty,
    /// An unclosed `[`, an unknown `[:class:]` or a `\` at the end.
    Malformed,
}

/// The bytes of a `[…]`.
type Set = [u64; 4];

/// The place of `/` in the first word of a set.
const SLASH: u64 = 1 << b'/';

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`: any byte but `/`.
    One,
    /// `[…]`, never with `/` in it.
    Set(Set),
    /// `*`: any bytes but `/`.
    Star,
    /// `**`: any bytes.
    Deep,
    /// Before `Deep` and `/`: these two may be left out together.
    Skip,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The last part of a name: the pattern has no `/`.
    BaseName,
    /// The whole name, from the folder of the pattern's file on.
    Whole,
}

/// A pattern without `!` and the `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    place: Place,
    tokens: Vec<Token>,
    /// The tokens before which a match may begin: the first, or where an absolute pattern stands at the workspace's root.
    start: States,
    /// Whether it is an absolute one.
    is_cut: bool,
}

impl Pattern {
    fn new(body: &str) -> Result<Self, Hopeless> {
        let place = if body.contains('/') { Place::Whole } else { Place::BaseName };
        let body = body.strip_prefix('/').unwrap_or(body);
        if body.is_empty() {
            return Err(Hopeless::Empty);
        }
        let tokens = tokens(body.as_bytes(), place)?;
        let start = States::first(&tokens);
        Ok(Self { place, tokens, start, is_cut: false })
    }

    /// Matches every name.
    pub(super) fn everything() -> Self {
        let tokens = vec![Token::Star];
        let start = States::first(&tokens);
        Self { place: Place::BaseName, tokens, start, is_cut: false }
    }

    /// A pattern of absolute names, without its first `/`, as one of names in the folder `base`.
    fn from_absolute(body: &str, base: &str) -> Result<Reach, Hopeless> {
        let tokens = tokens(body.as_bytes(), Place::Whole)?;
        let mut states = States::first(&tokens);
        for part in base.split('/').filter(|part| !part.is_empty()) {
            for byte in part.bytes() {
                states = states.after(&tokens, byte);
            }
            if states.is_at_end(&tokens) {
                return Ok(Reach::Everything);
            }
            states = states.after(&tokens, b'/');
        }
        if states.is_empty() {
            return Ok(Reach::Nothing);
        }
        Ok(Reach::Some(Self { place: Place::Whole, tokens, start: states, is_cut: true }))
    }

    /// The same for `globset`, with `literal_separator` and `backslash_escape`; `None` if it cannot say it.
    pub(super) fn glob(&self) -> Option<String> {
        if self.is_cut {
            return None;
        }
        let mut glob = Vec::new();
        if self.place == Place::BaseName {
            glob.extend(b"**/");
        }
        let mut at = 0;
        while let Some(token) = self.tokens.get(at) {
            let at_boundary = glob.is_empty() || glob.ends_with(b"/");
            match token {
                Token::Byte(byte) => push_literal(&mut glob, *byte),
                Token::One => glob.push(b'?'),
                Token::Star => glob.push(b'*'),
                Token::Set(set) => push_set(&mut glob, set)?,
                Token::Skip if at_boundary && !glob.ends_with(b"**/") => {
                    glob.extend(b"**/");
                    at += 2;
                }
                Token::Deep if at_boundary && !glob.ends_with(b"**/") && at + 1 == self.tokens.len() => {
                    glob.extend(b"**");
                }
                Token::Skip | Token::Deep => return None,
            }
            at += 1;
        }
        // `globset` takes a `**/` at the end for a `**`.
        String::from_utf8(glob).ok().filter(|glob| !glob.ends_with('/'))
    }

    /// Whether it matches a name. Takes at most the product of both lengths in steps.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name = match self.place {
            Place::BaseName => name.rsplit('/').next().unwrap_or(name),
            Place::Whole => name,
        };
        let differs = |(token, byte): (&Token, u8)| matches!(token, Token::Byte(wanted) if *wanted != byte);
        let plain = self.tokens.iter().take_while(|token| matches!(token, Token::Byte(_)));
        if !self.is_cut && plain.zip(name.bytes()).any(differs) {
            return false;
        }
        self.run(name.bytes()).is_at_end(&self.tokens)
    }

    /// Whether it could match a name below a folder.
    pub(super) fn reaches_into(&self, folder: &str) -> bool {
        match self.place {
            Place::BaseName => true,
            Place::Whole => !self.run(folder.bytes().chain([b'/'])).is_empty(),
        }
    }

    fn run(&self, bytes: impl Iterator<Item = u8>) -> States {
        let mut states = self.start.clone();
        for byte in bytes {
            if states.is_empty() {
                break;
            }
            states = states.after(&self.tokens, byte);
        }
        states
    }
}

/// What an absolute pattern matches in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Nothing,
    Some(Pattern),
    /// It matches the folder itself, or one around it.
    Everything,
}

fn tokens(body: &[u8], place: Place) -> Result<Vec<Token>, Hopeless> {
    // Git compares what stands before the first special byte by itself, and the rest as a pattern of its own: so a `**`
    // there counts as if it stood after a `/`.
    let plain = body.iter().position(|byte| b"*?[\\".contains(byte)).unwrap_or(body.len());
    let (plain, rest) = body.split_at(plain);
    let mut tokens: Vec<Token> = plain.iter().map(|byte| Token::Byte(*byte)).collect();
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => {
                at += 1;
                tokens.push(Token::Byte(*rest.get(at).ok_or(Hopeless::Malformed)?));
            }
            b'?' => tokens.push(Token::One),
            b'[' => {
                let (set, end) = set(rest, at + 1).ok_or(Hopeless::Malformed)?;
                tokens.push(Token::Set(set));
                at = end;
            }
            b'*' => {
                let stars = rest[at..].iter().take_while(|byte| **byte == b'*').count();
                let after = &rest[at + stars..];
                let begins = at == 0 || rest[at - 1] == b'/';
                let ends = after.is_empty() || after.starts_with(b"/") || after.starts_with(b"\\/");
                if stars == 1 || place == Place::BaseName || !begins || !ends {
                    tokens.push(Token::Star);
                } else {
                    if after.starts_with(b"/") {
                        tokens.push(Token::Skip);
                    }
                    tokens.push(Token::Deep);
                }
                at += stars - 1;
            }
            other => tokens.push(Token::Byte(*other)),
        }
        at += 1;
    }
    Ok(tokens)
}

/// The set that begins after a `[`, and where its `]` stands.
fn set(body: &[u8], mut at: usize) -> Option<(Set, usize)> {
    let negated = matches!(body.get(at)?, b'!' | b'^');
    at += usize::from(negated);
    let (mut set, first) = ([0; 4], at);
    // The byte before a `-`, if it can begin a range.
    let mut before = None;
    loop {
        let mut byte = *body.get(at)?;
        match byte {
            b']' if at > first => break,
            b'\\' => {
                at += 1;
                byte = *body.get(at)?;
                insert(&mut set, byte..=byte);
                before = Some(byte);
            }
            b'-' if before.is_some() && body.get(at + 1).is_some_and(|next| *next != b']') => {
                at += 1;
                if body[at] == b'\\' {
                    at += 1;
                }
                insert(&mut set, before.unwrap_or(byte)..=*body.get(at)?);
                before = None;
            }
            b'[' if body.get(at + 1) == Some(&b':') => {
                let end = at + body[at..].iter().position(|byte| *byte == b']')?;
                match body[at + 2..end].strip_suffix(b":") {
                    Some(class) => {
                        insert_class(&mut set, class)?;
                        (at, before) = (end, None);
                    }
                    None => {
                        insert(&mut set, byte..=byte);
                        before = Some(byte);
                    }
                }
            }
            other => {
                insert(&mut set, other..=other);
                before = Some(other);
            }
        }
        at += 1;
    }
    if negated {
        set = set.map(|bits| !bits);
    }
    set[0] &= !SLASH;
    Some((set, at))
}

fn insert(set: &mut Set, bytes: std::ops::RangeInclusive<u8>) {
    for byte in bytes {
        set[usize::from(byte / 64)] |= 1 << (byte % 64);
    }
}

fn contains(set: &Set, byte: u8) -> bool {
    set[usize::from(byte / 64)] & (1 << (byte % 64)) != 0
}

/// `None` for a class that does not exist.
fn insert_class(set: &mut Set, class: &[u8]) -> Option<()> {
    let holds: fn(u8) -> bool = match class {
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"digit" => |byte| byte.is_ascii_digit(),
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    };
    for byte in (0..=u8::MAX).filter(|byte| holds(*byte)) {
        insert(set, byte..=byte);
    }
    Some(())
}

fn push_literal(glob: &mut Vec<u8>, byte: u8) {
    if byte.is_ascii_punctuation() && byte != b'/' {
        glob.push(b'\\');
    }
    glob.push(byte);
}

/// `None` if neither the set nor what it leaves out is ASCII only.
fn push_set(glob: &mut Vec<u8>, set: &Set) -> Option<()> {
    let of = |wanted: bool| (0..=u8::MAX).filter(|byte| contains(set, *byte) == wanted).collect::<Vec<u8>>();
    let (inside, outside) = (of(true), of(false));
    let (bytes, negated) = match (inside.is_ascii(), outside.is_ascii()) {
        (true, _) => (inside, false),
        (false, true) => (outside, true),
        (false, false) => return None,
    };
    if let ([only], false) = (bytes.as_slice(), negated) {
        push_literal(glob, *only);
        return Some(());
    }
    if bytes.is_empty() {
        return None;
    }
    // In a glob's set, `]` stands first, `-` first or last, and `!` and `^` not first.
    let order = |byte: &u8| match byte {
        b']' => 0,
        b'-' => 4,
        b'!' | b'^' => 3,
        _ => 1,
    };
    let mut bytes = bytes;
    bytes.sort_by_key(order);
    if matches!(bytes[0], b'!' | b'^') && bytes.last() == Some(&b'-') {
        bytes.rotate_right(1);
    }
    if matches!(bytes[0], b'!' | b'^') && !negated {
        return None;
    }
    glob.extend(if negated { &b"[!"[..] } else { b"[" });
    glob.extend(bytes);
    glob.push(b']');
    Some(())
}

/// The tokens that a match may have come to, as bits; one more stands for the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct States(Vec<u64>);

impl States {
    fn none(tokens: &[Token]) -> Self {
        Self(vec![0; tokens.len() / 64 + 1])
    }

    fn first(tokens: &[Token]) -> Self {
        let mut states = Self::none(tokens);
        states.add(tokens, 0);
        states
    }

    /// Adds a token, and those that can be reached from it without a byte.
    fn add(&mut self, tokens: &[Token], mut at: usize) {
        loop {
            if self.has(at) {
                return;
            }
            self.0[at / 64] |= 1 << (at % 64);
            match tokens.get(at) {
                Some(Token::Skip) => {
                    self.add(tokens, at + 1);
                    at += 3;
                }
                Some(Token::Star | Token::Deep) => at += 1,
                Some(Token::Byte(_) | Token::One | Token::Set(_)) | None => return,
            }
        }
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] & (1 << (at % 64)) != 0
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|bits| *bits == 0)
    }

    fn is_at_end(&self, tokens: &[Token]) -> bool {
        self.has(tokens.len())
    }

    fn after(&self, tokens: &[Token], byte: u8) -> Self {
        let mut next = Self::none(tokens);
        for (word, bits) in self.0.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                match tokens.get(at) {
                    Some(Token::Byte(wanted)) if *wanted == byte => next.add(tokens, at + 1),
                    Some(Token::One) if byte != b'/' => next.add(tokens, at + 1),
                    Some(Token::Set(set)) if contains(set, byte) => next.add(tokens, at + 1),
                    Some(Token::Star) if byte != b'/' => next.add(tokens, at),
                    Some(Token::Deep) => next.add(tokens, at),
                    Some(Token::Byte(_) | Token::One | Token::Set(_) | Token::Star | Token::Skip) | None => {}
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use globset::GlobBuilder;

    #[test]
    fn a_line_is_taken_apart_as_by_git() {
        let check = |line: &str, expected: Option<(&str, &str, bool, bool)>| {
            let found = Line::parse(line).map(|line| (line.text, line.body, line.negated, line.folders_only));
            assert_eq!(found, expected, "{line:?}");
        };
        check("", None);
        check("   ", None);
        check("#x", None);
        check("a", Some(("a", "a", false, false)));
        check("a \r", Some(("a", "a", false, false)));
        check("a\\ ", Some(("a\\ ", "a\\ ", false, false)));
        check("a\\  ", Some(("a\\ ", "a\\ ", false, false)));
        check("a\\", Some(("a\\", "a\\", false, false)));
        check("a  \\", Some(("a  \\", "a  \\", false, false)));
        check("a\t", Some(("a\t", "a\t", false, false)));
        check(" a b ", Some((" a b", " a b", false, false)));
        check("!a/", Some(("!a/", "a", true, true)));
        check("!", Some(("!", "", true, false)));
        check("!!a", Some(("!!a", "!a", true, false)));
        check("\\!a", Some(("\\!a", "\\!a", false, false)));
        check("/", Some(("/", "", false, true)));
        check("a/b//", Some(("a/b//", "a/b/", false, true)));
        check("\\é  ", Some(("\\é", "\\é", false, false)));
    }

    /// The two matchers agree, and say what is expected.
    #[test]
    fn patterns_match_as_they_do_in_git() {
        let check = |body: &str, yes: &[&str], no: &[&str]| {
            let pattern = Pattern::new(body).unwrap();
            let glob = pattern.glob().map(|glob| {
                let build = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
                build.unwrap().compile_matcher()
            });
            for (names, expected) in [(yes, true), (no, false)] {
                for name in names {
                    assert_eq!(pattern.matches(name), expected, "{body} {name}");
                    assert!(glob.as_ref().is_none_or(|glob| glob.is_match(name) == expected), "{body} {name}");
                }
            }
        };
        check("a", &["a", "x/a", "x/y/a"], &["ab", "a/b", "xa"]);
        check("/a", &["a"], &["x/a"]);
        check("a/b", &["a/b"], &["x/a/b", "a/b/c"]);
        check("*.rs", &["a.rs", ".rs", "x/b.rs"], &["a.rsx", "rs"]);
        check("a*b", &["ab", "axb", "d/axxb"], &["a/b", "abx"]);
        check("/a*b", &["ab", "axb"], &["a/b", "d/axb"]);
        check("a/**", &["a/b", "a/b/c"], &["a", "x/a/b"]);
        check("**/a", &["a", "x/a", "x/y/a"], &["xa", "a/x"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a/b/c"]);
        check("a/**/**/b", &["a/b", "a/x/b"], &["ab"]);
        check("**/**", &["a", "a/b"], &[]);
        check("**", &["a", "a/b"], &[]);
        check("a**", &["a", "ab", "x/abc"], &["ba"]);
        check("{a,b}", &["{a,b}"], &["a", "b"]);
        check("[ab]", &["a", "x/b"], &["c", "ab", "[ab]"]);
        check("[!ab]x", &["cx", "Ax"], &["ax", "x", "cy"]);
        check("a[!b]c/d", &["axc/d"], &["a/c/d", "abc/d"]);
        check("[]-]", &["]", "-"], &["a"]);
        check("[!^]", &["a"], &["^"]);
        check("[\\!^]", &["!", "^"], &["a"]);
        check("[\\!-\\!]", &["!"], &["a"]);
        check("[z-a]", &["z"], &["a", "-"]);
        check("[[:digit:]-x]", &["7", "-", "x"], &["w", ":"]);
        check("[[:digit]", &["[", ":", "d"], &["7", "x"]);
        check("\\*", &["*"], &["a"]);
        check("a\\/b", &["a/b"], &["ab"]);
        check("é?", &["éx"], &["é", "éé"]);
        check("??", &["é", "ab"], &["a"]);
        check("[é][é]", &["é"], &["a"]);
        // Oddities: a `**` after plain text counts as a whole part.
        check("/a**", &["a", "ab", "a/b"], &["b"]);
        check("x/a**/b", &["x/ab", "x/a/b", "x/ay/b", "x/ay/z/b"], &["x/b"]);
        check("a/*b**/c", &["a/xb/c"], &["a/b/x/c"]);
        check("a**/", &["a", "ab/"], &["ab", "b"]);
        check("**/", &[], &["a", "a/b"]);
        check("a/**/", &[], &["a", "a/b"]);
        check("a**/..", &["a.."], &["a"]);
        check("**\\/a/b", &["x/a/b"], &["a/b"]);
    }

    #[test]
    fn what_matches_nothing_is_known() {
        for (line, expected) in [
            ("/", Hopeless::Empty),
            ("!", Hopeless::Empty),
            ("./a", Hopeless::Empty),
            ("a//b", Hopeless::Empty),
            ("a//", Hopeless::Empty),
            ("../a", Hopeless::Outside),
            ("/a/../b", Hopeless::Outside),
            ("a[", Hopeless::Malformed),
            ("a[]", Hopeless::Malformed),
            ("[[:foo:]]", Hopeless::Malformed),
            ("[[:digit:]", Hopeless::Malformed),
            ("a\\", Hopeless::Malformed),
        ] {
            let parsed = Line::parse(line).unwrap();
            assert_eq!(parsed.pattern().err().or(parsed.doubt()), Some(expected), "{line}");
        }
        for line in ["a", "a/b", "/a/", "**/a", "a**//", "a**/.."] {
            assert_eq!(Line::parse(line).unwrap().doubt(), None, "{line}");
        }
    }

    #[test]
    fn a_folder_is_passed_where_something_below_could_match() {
        for (body, yes, no) in [
            ("a", &["x", "x/y"][..], &[][..]),
            ("src/a/*.rs", &["src", "src/a"], &["a", "src/b", "src/a/b", "sr"]),
            ("src/**", &["src", "src/x/y"], &["x"]),
            ("**/t/*", &["a", "a/t", "t"], &[]),
            ("s*/t", &["s", "sx"], &["s/t", "x"]),
        ] {
            let pattern = Pattern::new(body).unwrap();
            for (names, expected) in [(yes, true), (no, false)] {
                for name in names {
                    assert_eq!(pattern.reaches_into(name), expected, "{body} {name}");
                }
            }
        }
    }

    #[test]
    fn an_absolute_pattern_is_cut_at_the_root() {
        let check = |body: &str, yes: &[&str], no: &[&str]| match Pattern::from_absolute(body, "/home/me/ws").unwrap() {
            Reach::Nothing => assert!(yes.is_empty(), "{body}"),
            Reach::Everything => assert!(no.is_empty(), "{body}"),
            Reach::Some(pattern) => {
                assert!(yes.iter().all(|name| pattern.matches(name)), "{body}");
                assert!(!no.iter().any(|name| pattern.matches(name)), "{body}");
                assert_eq!(pattern.glob(), None);
            }
        };
        check("home/me/ws/a/*", &["a/b"], &["a", "b", "a/b/c"]);
        check("home/*/ws/a", &["a"], &["b/a"]);
        check("**/.env", &[".env", "a/.env"], &["env"]);
        check("home/me/**", &["a"], &[]);
        check("home/me", &["a"], &[]);
        check("home/me/ws", &["a"], &[]);
        check("home/you/**", &[], &["a"]);
        check("home/me/w", &[], &["s"]);
    }
}
