//! What a person decides about a call that waits, as plain data. The log of approvals, the command line and every wire use these
//! words.

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may be made.
    Approve,
    /// The call is refused.
    Deny,
}

impl Decision {
    /// The word for it in logs and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Approve, Self::Deny].into_iter().find(|decision| decision.as_str() == word)
    }
}

/// What an approval covers beside the call that was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: the call that was shown, one time, until the request expires.
    #[default]
    Once,
    /// What the same caller does to the same paths in the same conversation.
    Session,
    /// What the same caller does to the same paths, until it is denied.
    Always,
}

impl Scope {
    /// The word for it in logs and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::Always].into_iter().find(|scope| scope.as_str() == word)
    }
}

/// How it is known that a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// At a terminal.
    Terminal,
    /// With the approver's key.
    Key,
    /// In the client, which was asked.
    Elicitation,
}

impl How {
    /// The word for it in logs and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Key => "key",
            Self::Elicitation => "elicitation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parsed_as_they_are_written() {
        for decision in [Decision::Approve, Decision::Deny] {
            assert_eq!(Decision::parse(decision.as_str()), Some(decision));
        }
        for scope in [Scope::Once, Scope::Session, Scope::Always] {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!((Decision::parse("Approve"), Scope::parse("")), (None, None));
    }
}
