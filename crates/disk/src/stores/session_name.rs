//! Names of sessions, checked once.

use std::{fmt, str::FromStr};

/// The name of a session: 1 to 64 of `A-Z a-z 0-9 . _ -`, beginning with neither `.` nor `-`. It can be a file name on any
/// system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`BadSessionName`] when it breaks the rules above.
    pub fn parse(name: &str) -> Result<Self, BadSessionName> {
        let fits = (1..=64).contains(&name.len())
            && !name.starts_with(['.', '-'])
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        fits.then(|| Self(name.to_owned())).ok_or_else(|| BadSessionName { name: name.chars().take(80).collect() })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = BadSessionName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::parse(name)
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text that cannot be the name of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct BadSessionName {
    /// As given, its first 80 characters.
    pub name: String,
}
