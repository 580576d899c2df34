//! Which callers a rule means.

use alloc::{borrow::ToOwned, string::String};
use core::fmt;

use super::Caller;

/// Which callers a rule means: `mcp` (a surface), `client:cursor*`, `user:alice` or `token:ci`, with `*` for any text. What a client
/// calls itself is its own word, so a rule on it keeps well-meaning clients apart and stops no other. The user is known from the
/// system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerPattern {
    /// The wire of this name.
    Surface(String),
    /// Clients of these names, whatever the case of ASCII letters.
    Client(String),
    /// Local users of these names, or `uid NUMBER` of one without a name.
    User(String),
    /// Holders of these tokens.
    Token(String),
}

/// A text that names no caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCaller;

impl CallerPattern {
    /// Reads what is written in a file.
    ///
    /// # Errors
    /// [`BadCaller`] for an unknown kind and for an empty name.
    pub fn parse(text: &str) -> Result<Self, BadCaller> {
        match text.split_once(':') {
            _ if text.is_empty() || text.ends_with(':') => Err(BadCaller),
            None => Ok(Self::Surface(text.to_owned())),
            Some(("client", name)) => Ok(Self::Client(name.to_owned())),
            Some(("user", name)) => Ok(Self::User(name.to_owned())),
            Some(("token", name)) => Ok(Self::Token(name.to_owned())),
            Some(_) => Err(BadCaller),
        }
    }

    /// Whether it means this caller. One of whom the name is unknown is not meant, not even by `*`.
    #[must_use]
    pub fn matches(&self, caller: &Caller) -> bool {
        let is = |pattern: &str, name: &Option<String>| {
            name.as_deref().is_some_and(|name| matches_star(pattern.as_bytes(), name.as_bytes(), |a, b| a == b))
        };
        match self {
            Self::Surface(name) => *name == *caller.surface,
            Self::Client(pattern) => caller.client.as_deref().is_some_and(|name| {
                matches_star(pattern.as_bytes(), name.as_bytes(), |a, b| a.eq_ignore_ascii_case(&b))
            }),
            Self::User(pattern) => is(pattern, &caller.user),
            Self::Token(pattern) => is(pattern, &caller.identity),
        }
    }
}

impl fmt::Display for CallerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surface(name) => f.write_str(name),
            Self::Client(name) => write!(f, "client:{name}"),
            Self::User(name) => write!(f, "user:{name}"),
            Self::Token(name) => write!(f, "token:{name}"),
        }
    }
}

/// Whether the name is the pattern with some text for each `*`. Takes at most the product of both lengths in steps.
fn matches_star(pattern: &[u8], name: &[u8], same: impl Fn(u8, u8) -> bool) -> bool {
    let (mut at, mut to) = (0, 0);
    // Where to go on after the last `*`, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while to < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, to));
                at += 1;
            }
            Some(byte) if same(*byte, name[to]) => (at, to) = (at + 1, to + 1),
            Some(_) | None => match &mut star {
                Some((after, reach)) => {
                    *reach += 1;
                    (at, to) = (*after, *reach);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("a", "a", true),
            ("a", "b", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b*", "abc", true),
            ("a*c", "abcbc", true),
            ("a*b", "abc", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "aab", false),
            ("**", "x", true),
            ("a**", "a", true),
            ("a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches_star(pattern.as_bytes(), name.as_bytes(), |a, b| a == b), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_caller_is_meant_by_what_is_known_of_it() {
        let (client, user, identity) = (Some("Cursor-2".into()), Some("alice".into()), Some("ci".into()));
        let known = Caller { client, user, identity, ..Caller::of("mcp") };
        let unknown = Caller::of("cli");
        for (text, of_known, of_unknown) in [
            ("mcp", true, false),
            ("cli", false, true),
            ("m*", false, false),
            ("client:cursor*", true, false),
            ("client:cursor", false, false),
            ("client:*", true, false),
            ("user:alice", true, false),
            ("user:Alice", false, false),
            ("user:ali*", true, false),
            ("user:ci", false, false),
            ("user:*", true, false),
            ("token:alice", false, false),
            ("token:ci", true, false),
            ("token:CI", false, false),
            ("token:c*", true, false),
        ] {
            let pattern = CallerPattern::parse(text).unwrap();
            assert_eq!((pattern.matches(&known), pattern.matches(&unknown)), (of_known, of_unknown), "{text}");
        }
        for bad in ["", "client:", "users:me", ":", "token:", "user:"] {
            assert_eq!(CallerPattern::parse(bad), Err(BadCaller), "{bad}");
        }
    }
}
