//! The calls of the model that matter here: what they ask for, and what a change makes of a text.

use readproof_core::{
    edit::{Edit, Places, replace},
    text::{Form, Text},
};
use serde::Deserialize;

use super::shell::Reach;

/// A tool of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Read,
    Edit,
    MultiEdit,
    Write,
    Notebook,
    Grep,
    Shell,
    /// Another agent, which reports in its own words.
    Agent,
    /// It shows no text of files of the workspace.
    Blind,
    /// What it shows, if it shows text of files, cannot be placed.
    Other,
}

impl Tool {
    pub(super) fn parse(name: &str) -> Self {
        match name {
            "Read" => Self::Read,
            "Edit" => Self::Edit,
            "MultiEdit" => Self::MultiEdit,
            "Write" => Self::Write,
            "NotebookEdit" => Self::Notebook,
            "Grep" => Self::Grep,
            "Bash" => Self::Shell,
            "Agent" | "Task" => Self::Agent,
            "TodoWrite" | "Glob" | "LS" | "AskUserQuestion" | "EnterPlanMode" | "ExitPlanMode" | "TaskCreate"
            | "TaskUpdate" | "TaskList" | "TaskGet" | "TaskStop" | "KillShell" | "ToolSearch" | "WebSearch"
            | "WebFetch" => Self::Blind,
            _ => Self::Other,
        }
    }

    /// Whether it is about one file that it names.
    pub(super) fn is_of_a_file(self) -> bool {
        self == Self::Read || self.changes()
    }

    /// Whether it may show text of files that it does not name. What it shows is not known yet.
    pub(super) fn may_show(self, input: Option<&Input>) -> bool {
        match self {
            Self::Shell => input.and_then(|input| input.command.as_deref()).map(Reach::of) != Some(Reach::Nothing),
            Self::Grep => input.is_none_or(|input| input.output_mode.as_deref() == Some("content")),
            Self::Agent | Self::Other => true,
            Self::Read | Self::Edit | Self::MultiEdit | Self::Write | Self::Notebook | Self::Blind => false,
        }
    }

    /// Whether it changes the file that it names.
    pub(super) fn changes(self) -> bool {
        match self {
            Self::Edit | Self::MultiEdit | Self::Write | Self::Notebook => true,
            Self::Read | Self::Grep | Self::Shell | Self::Agent | Self::Blind | Self::Other => false,
        }
    }
}

/// The arguments of a call, as far as they matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    file_path: Option<String>,
    notebook_path: Option<String>,
    pub(super) offset: Option<serde_json::Number>,
    pub(super) limit: Option<serde_json::Number>,
    pub(super) content: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    edits: Option<Vec<Change>>,
    pub(super) command: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) path: Option<String>,
    pub(super) output_mode: Option<String>,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Change {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

impl Input {
    /// Reads the arguments; those of the wrong type make all of them unknown.
    pub(super) fn parse(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice(raw).ok()
    }

    /// The file that it names.
    pub(super) fn file(&self) -> Option<&str> {
        self.file_path.as_deref().or(self.notebook_path.as_deref())
    }

    /// The replacements, in order; `None` if they are not all there.
    pub(super) fn changes(&self) -> Option<Vec<Change>> {
        if let Some(edits) = &self.edits {
            return (!edits.is_empty()).then(|| edits.clone());
        }
        let (old_string, new_string) = (self.old_string.clone()?, self.new_string.clone()?);
        Some(vec![Change { old_string, new_string, replace_all: self.replace_all }])
    }
}

impl Change {
    /// The whole text, if the replacement makes a new file.
    pub(super) fn creates(&self) -> Option<&str> {
        self.old_string.is_empty().then_some(&self.new_string)
    }

    pub(super) fn is_of_all(&self) -> bool {
        self.replace_all == Some(true)
    }

    /// What it makes of a text. The host treats some replacements in ways of its own, which are left out here: it removes the
    /// newline after text that it deletes, and what it does about a CR is not visible.
    pub(super) fn made_of(&self, before: &Text) -> Option<Edit> {
        let (old, new) = (self.old_string.as_str(), self.new_string.as_str());
        let deletes_line = new.is_empty() && !old.ends_with('\n');
        if deletes_line || old.contains('\r') || new.contains('\r') {
            return None;
        }
        let places = if self.is_of_all() { Places::All } else { Places::One };
        let edit = replace(before, old, new, places).ok()?;
        let after = edit.after.as_str();
        // The last newline is not in the file, so nothing may match it.
        if !after.ends_with('\n') || (before.as_str().ends_with(old) && old.ends_with('\n')) {
            return None;
        }
        let after = Text::in_form(after.to_owned(), Form::Stripped);
        Some(Edit { after, ..edit })
    }
}

/// What the host says it did, which only the person and the host know. A person or a program may alter what the model asked for, and
/// the host itself adapts quotes; the model is not told.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Made {
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    content: Option<String>,
    user_modified: Option<bool>,
    staged: Option<bool>,
    edits: Option<Vec<Change>>,
}

impl Made {
    /// Whether that is what the call asked for.
    pub(super) fn is_as_asked(&self, tool: Tool, input: &Input) -> bool {
        if self.user_modified == Some(true) || self.staged == Some(true) {
            return false;
        }
        match tool {
            Tool::Write => self.content.is_some() && self.content == input.content,
            Tool::Edit => {
                let all = |all: Option<bool>| all.unwrap_or(false);
                self.old_string.is_some()
                    && self.old_string == input.old_string
                    && self.new_string == input.new_string
                    && all(self.replace_all) == all(input.replace_all)
            }
            Tool::MultiEdit => self.edits.is_some() && self.edits == input.edits,
            Tool::Read | Tool::Notebook | Tool::Grep | Tool::Shell | Tool::Agent | Tool::Blind | Tool::Other => false,
        }
    }
}

/// Whether the result of a change that failed says nothing of the file but what the call itself has.
pub(super) fn is_harmless(result: &str, input: &Input) -> bool {
    let said = result.trim().trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    let given = input.old_string.as_ref().map(|old| format!("\nString: {old}"));
    let said = given.and_then(|given| said.strip_suffix(given.as_str())).unwrap_or(said);
    let known = [
        "File has not been read yet.",
        "No changes to make",
        "Cannot create new file",
        "Error: No such tool available",
    ];
    let is_known = said == "String to replace not found in file."
        || said.starts_with("Found ") && said.contains(" matches of the string to replace, but replace_all is false.")
        || known.iter().any(|known| said.starts_with(known));
    is_known && !said.contains('\n')
}

/// How results of changes end if the host thinks that the model knows the file.
const CURRENT: &str = " (file state is current in your context \u{2014} no need to Read it back)";

/// Whether a result says that exactly what was asked for was done to this file. What the person altered, what was only held back
/// for a review and what was applied to another text is worded differently.
pub(super) fn is_done(result: &str, file: &str) -> bool {
    let said = result.trim_end();
    let said = said.strip_suffix(CURRENT).unwrap_or(said);
    let updated = || {
        let said = said.strip_prefix("The file ")?;
        said.strip_suffix(" has been updated successfully.")
            .or_else(|| said.strip_suffix(" has been updated. All occurrences were successfully replaced."))
    };
    said.strip_prefix("File created successfully at: ").or_else(updated) == Some(file)
}

#[cfg(test)]
mod tests {
    use super::{super::numbered::text_of_file, *};

    fn change(old: &str, new: &str, all: bool) -> Change {
        Change { old_string: old.into(), new_string: new.into(), replace_all: Some(all) }
    }

    #[test]
    fn replacements_that_can_be_followed() {
        let check = |before: &str, change: &Change, after: Option<&str>| {
            let made = change.made_of(&text_of_file(before));
            assert_eq!(made.map(|edit| edit.after), after.map(text_of_file), "{change:?}");
        };
        check("a\nb\n", &change("b", "c\nd", false), Some("a\nc\nd\n"));
        check("a\nb\n", &change("b\n", "", false), Some("a\n"));
        check("a\nb", &change("b", "c", false), Some("a\nc"));
        check("a\na\n", &change("a", "b", false), None);
        check("a\na\n", &change("a", "b", true), Some("b\nb\n"));
        check("a\nb\n", &change("b", "", false), None);
        check("a\nb", &change("b\n", "c", false), None);
        check("a\nb\n", &change("b", "\r", false), None);
        check("a\nb\n", &change("x", "y", false), None);
    }

    #[test]
    fn results_of_changes() {
        for done in [
            "The file /w/a.txt has been updated successfully.",
            "The file /w/a.txt has been updated. All occurrences were successfully replaced.",
            "File created successfully at: /w/a.txt (file state is current in your context \u{2014} no need to Read it back)",
        ] {
            assert!(is_done(done, "/w/a.txt"), "{done}");
        }
        for other in [
            "The file /w/a.txt has been updated successfully.  The user modified your proposed changes before accepting them. .",
            "The file /w/a.txt has been updated successfully. The user modified your proposed content before accepting it.",
            "The file /w/a.txt has been updated successfully. (note: the file had been modified on disk since you last read it)",
            "File created successfully at: /w/a.txt The user modified your proposed content before accepting it.",
            "The file /w/b.txt has been updated successfully.",
            "",
        ] {
            assert!(!is_done(other, "/w/a.txt"), "{other}");
        }
    }
}
