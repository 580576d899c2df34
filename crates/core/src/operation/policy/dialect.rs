//! The files with rules that other agents have too.

/// One kind of ignore file. The files of one kind are judged together, as git judges its `.gitignore` files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// `.aiignore`
    Ai,
    /// `.aiexclude`
    AiExclude,
    /// `.cursorignore`
    Cursor,
    /// `.geminiignore`
    Gemini,
    /// `.codeiumignore`
    Codeium,
    /// `.clineignore`
    Cline,
    /// `.rooignore`
    Roo,
    /// `.aiderignore`
    Aider,
    /// `.agentignore`
    Agent,
    /// `.agentsignore`
    Agents,
    /// `.claudeignore`
    Claude,
    /// What Claude Code's `.claude/settings.json` and `.claude/settings.local.json` deny or ask for `Read` and `Edit`.
    ClaudeSettings,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Ai,
        Self::AiExclude,
        Self::Cursor,
        Self::Gemini,
        Self::Codeium,
        Self::Cline,
        Self::Roo,
        Self::Aider,
        Self::Agent,
        Self::Agents,
        Self::Claude,
        Self::ClaudeSettings,
    ];

    /// The name by which a person switches it off: that of its files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ai => ".aiignore",
            Self::AiExclude => ".aiexclude",
            Self::Cursor => ".cursorignore",
            Self::Gemini => ".geminiignore",
            Self::Codeium => ".codeiumignore",
            Self::Cline => ".clineignore",
            Self::Roo => ".rooignore",
            Self::Aider => ".aiderignore",
            Self::Agent => ".agentignore",
            Self::Agents => ".agentsignore",
            Self::Claude => ".claudeignore",
            Self::ClaudeSettings => ".claude/settings.json",
        }
    }

    /// The dialect of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }

    /// The name of its file, which any folder may hold; `None` if it is no such file.
    #[must_use]
    pub fn file_name(self) -> Option<&'static str> {
        (self != Self::ClaudeSettings).then(|| self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_is_found_by_its_file() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::parse(dialect.as_str()), Some(dialect));
        }
        assert_eq!(Dialect::parse(".gitignore"), None);
        assert_eq!(Dialect::ClaudeSettings.file_name(), None);
    }
}
