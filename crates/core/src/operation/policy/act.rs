//! What can be done with a name, as far as rules tell it apart.

use alloc::{string::String, vec::Vec};

/// What is done with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Its text, or a part of it, is shown.
    Read,
    /// Its name is shown.
    List,
    /// It is searched, and its lines may be shown.
    Search,
    /// Its text is changed.
    Edit,
    /// It is made or replaced as a whole.
    Write,
    /// It is removed, or loses this name.
    Delete,
    /// Its earlier texts are shown.
    History,
    /// It leaves the workspace as part of something else.
    Export,
}

impl Act {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Read, Self::List, Self::Search, Self::Edit, Self::Write, Self::Delete, Self::History, Self::Export];

    /// The word for it in files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::List => "list",
            Self::Search => "search",
            Self::Edit => "edit",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::History => "history",
            Self::Export => "export",
        }
    }

    /// The act of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acts(u8);

impl Acts {
    /// Every act.
    pub const ALL: Self = Self(u8::MAX);

    /// The acts that show something of a file: all that change nothing.
    pub const SHOWING: Self = Self::of(&[Act::Read, Act::List, Act::Search, Act::History, Act::Export]);

    /// The acts that change a file.
    pub const CHANGING: Self = Self::of(&[Act::Edit, Act::Write, Act::Delete]);

    /// These acts.
    #[must_use]
    pub const fn of(acts: &[Act]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < acts.len() {
            set |= acts[at].bit();
            at += 1;
        }
        Self(set)
    }

    /// Whether the act is one of them.
    #[must_use]
    pub fn contains(self, act: Act) -> bool {
        self.0 & act.bit() != 0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The acts in their fixed order.
    pub fn iter(self) -> impl Iterator<Item = Act> {
        Act::ALL.into_iter().filter(move |act| self.contains(*act))
    }

    /// Their words, with a comma between.
    #[must_use]
    pub fn words(self) -> String {
        self.iter().map(Act::as_str).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_has_its_own_word_and_place() {
        for act in Act::ALL {
            assert_eq!(Act::parse(act.as_str()), Some(act));
            let alone = Acts::of(&[act]);
            assert_eq!(alone.iter().collect::<Vec<_>>(), [act]);
            assert!(Acts::ALL.contains(act));
            assert!(Acts::SHOWING.contains(act) != Acts::CHANGING.contains(act), "{act:?}");
        }
        assert_eq!(Act::parse(""), None);
        assert_eq!(Acts::CHANGING.words(), "edit,write,delete");
        assert!(Acts::of(&[]).is_empty() && Acts::of(&[]).words().is_empty());
    }
}
