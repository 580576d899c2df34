//! A call that changes files, as the call and its one answer show it: a part for each file, in the order of the call.
//!
//! Every part must say what the call asked for, of the file that it names. A part says nothing about another file.

use crate::edit::{self, Replaces};
use crate::name::labelled;
use crate::view::View;
use crate::{Complaint, Glimpse, demand};

/// One file of a call, and what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file by its name in the workspace; of a move the new name.
    pub path: String,
    /// What is asked for.
    pub what: What,
}

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A change of some places.
    Edit {
        /// The text that was replaced; nothing where there are several.
        old: String,
        /// The text that now stands in its place.
        new: String,
        /// Where.
        replaces: Replaces,
    },
    /// The whole content.
    Whole(String),
    /// The whole content of a new file.
    Create(String),
    /// Text behind what is there, if there is something.
    Append(String),
    /// A text that the call names and does not contain.
    Chosen,
    /// A text of an earlier moment, which the call does not contain.
    Restored,
    /// That it goes.
    Delete,
    /// That the file of another name gets this one.
    Move {
        /// The name that goes.
        from: String,
    },
}

impl Change {
    /// The names that it is about.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let from = if let What::Move { from } = &self.what { Some(from.as_str()) } else { None };
        [Some(self.path.as_str()), from].into_iter().flatten()
    }

    /// What the first line of its part may begin with.
    fn heads(&self) -> Vec<String> {
        let path = labelled(&self.path);
        match &self.what {
            What::Edit { .. } => vec![format!("edited {path}: ")],
            What::Whole(_) | What::Chosen => vec![format!("wrote {path}: ")],
            What::Create(_) => vec![format!("created {path}: ")],
            What::Append(_) => vec![format!("edited {path}: "), format!("created {path}: ")],
            What::Restored => vec![format!("edited {path}: "), format!("created {path}: ")],
            What::Delete => vec![format!("deleted {path}")],
            What::Move { from } => vec![format!("moved {} to {path}: ", labelled(from))],
        }
    }

    /// What is held of the file afterwards, if anything.
    pub(crate) fn made(&self, view: &View, part: &str) -> Result<Option<View>, Complaint> {
        let heads = self.heads();
        let Some(head) = heads.iter().find(|head| part.starts_with(head.as_str())) else {
            return Err(Complaint(format!("{heads:?} was asked for, the answer is {part:?}")));
        };
        let said = &part[head.len()..];
        let several = edit::Call { old: "", new: "", replaces: Replaces::Several };
        match &self.what {
            What::Edit { old, new, replaces } => {
                let call = edit::Call { old, new, replaces: *replaces };
                edit::edited(view, &call, Some(&self.path), part)
            }
            What::Append(_) | What::Restored if head.starts_with("edited ") => {
                edit::edited(view, &several, Some(&self.path), part)
            }
            What::Whole(content) | What::Create(content) | What::Append(content) => {
                let due = format!("{} bytes, {} lines", content.len(), content.split_inclusive('\n').count());
                demand!(said == due, "{due} were written, the answer says {said:?}");
                Ok(Some(View::whole(content).after(view)))
            }
            What::Delete => {
                demand!(said.is_empty(), "more is said of a file that goes: {said:?}");
                Ok(None)
            }
            What::Chosen | What::Restored | What::Move { .. } => {
                demand!(!said.contains('\n'), "text is shown of a file that was not edited: {said:?}");
                Ok(None)
            }
        }
    }
}

/// The parts of an answer, as many as files were to change. No line of a diff and no note begins like a part.
pub(crate) fn parts(answer: &str, count: usize) -> Result<Vec<&str>, Complaint> {
    const WORDS: [&str; 5] = ["edited ", "wrote ", "created ", "deleted ", "moved "];
    let mut starts = Vec::new();
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        if WORDS.iter().any(|word| line.starts_with(word)) {
            starts.push(at);
        }
        at += line.len();
    }
    demand!(starts.first() == Some(&0), "the answer does not begin with what was done: {answer:?}");
    demand!(starts.len() == count, "{count} files were to change, the answer is of {}: {answer:?}", starts.len());
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([answer.len()]);
    Ok(starts.iter().zip(ends).map(|(start, end)| &answer[*start..end]).collect())
}

/// The lines that the words of a refusal show: behind `The file has:`, each with its number and a tab.
///
/// # Errors
/// A complaint about words that show a line without saying which.
pub fn refusal(words: &str) -> Result<Vec<Glimpse>, Complaint> {
    let (said, shown) = words.split_once(". The file has:\n").map_or((words, None), |(said, rest)| (said, Some(rest)));
    let mut lines: Vec<Glimpse> = Vec::new();
    for line in shown.into_iter().flat_map(|shown| shown.split('\n')).filter(|line| *line != "…") {
        let numbered = line.split_once('\t').and_then(|(number, text)| Some((number.parse::<u64>().ok()?, text)));
        let Some((number, text)) = numbered else { return Err(Complaint(format!("a line without number: {line:?}"))) };
        let in_order = lines.last().is_none_or(|last| last.number < number);
        demand!(in_order && number > 0, "line {number} does not stand in order");
        lines.push(Glimpse { number, text: text.to_owned(), whole: true });
    }
    demand!(shown.is_none() || !lines.is_empty(), "lines are announced, and none is shown: {words:?}");
    if let Some((number, found)) = differs(said) {
        let is_it = |text: &String| text.trim_end_matches('\r').trim_end_matches("\\r") == found;
        let same = |line: &Glimpse| line.number == number && [escaped(&line.text), line.text.clone()].iter().any(is_it);
        demand!(found.is_empty() || lines.iter().any(same), "line {number} is quoted and not among the lines shown");
    }
    Ok(lines)
}

/// A line as a sentence quotes it: control characters by their names.
fn escaped(line: &str) -> String {
    line.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// The line of the file that a refusal quotes.
fn differs(said: &str) -> Option<(u64, &str)> {
    let (_, rest) = said.split_once(" come closest; line ")?;
    let (number, rest) = rest.split_once(" is the first that differs: ")?;
    let (_, found) = rest.rsplit_once("the file has `")?;
    let (found, _) = found.rsplit_once("`. Repeat the edit")?;
    Some((number.parse().ok()?, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Reader, Seen};

    fn edit(path: &str) -> Change {
        let what = What::Edit { old: "b".to_owned(), new: "x".to_owned(), replaces: Replaces::One };
        Change { path: path.to_owned(), what }
    }

    fn holds(changes: &[Change], answer: &str) -> Result<Reader, Complaint> {
        let mut reader = Reader::default();
        for path in ["f", "g"] {
            reader.see(&Seen::Write { path: path.to_owned(), content: "a\nb\nc\n".to_owned() })?;
        }
        reader.see(&Seen::Changes { files: changes.to_vec(), answer: answer.to_owned() })?;
        Ok(reader)
    }

    const SHOWN: &str = "edited f: lines 2-2 are now 2-2; 3 lines\nmerged with what someone else changed since you read it; \
                         the diff shows both\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c";

    #[test]
    fn every_file_has_its_part() {
        let both = [edit("f"), Change { path: "g".to_owned(), what: What::Delete }];
        let reader = holds(&both, &format!("{SHOWN}\ndeleted g")).unwrap();
        assert_eq!(reader.text("f").as_deref(), Some("a\nx\nc\n"));
        assert_eq!(reader.text("g"), None);
        for answer in
            [SHOWN.to_owned(), "deleted g".to_owned(), format!("deleted g\n{SHOWN}"), format!("{SHOWN}\ndeleted f")]
        {
            assert!(holds(&both, &answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn a_diff_must_be_what_is_stated() {
        let one = [edit("f")];
        assert!(holds(&one, SHOWN).is_ok());
        for (from, to) in [
            ("lines 2-2 are now 2-2", "lines 1-1 are now 1-1"),
            ("lines 2-2 are now 2-2", "lines 2-2 are now 2-3"),
            ("lines 2-2 are now 2-2; 3 lines", "2 places, too many to state, so read it again; 3 lines"),
            ("@@ -1,3 +1,3 @@", "@@ -2,3 +1,3 @@"),
            ("--- a/f\n+++ b/f", "--- a/g\n+++ b/g"),
            ("merged with", "and with"),
        ] {
            assert!(SHOWN.contains(from));
            assert!(holds(&one, &SHOWN.replace(from, to)).is_err(), "{to}");
        }
    }

    #[test]
    fn lines_beside_a_change_are_seen_too() {
        let mut reader = Reader::default();
        reader.see(&Seen::Write { path: "f".to_owned(), content: "old\nb\nc\n".to_owned() }).unwrap();
        reader.see(&Seen::Changes { files: vec![edit("f")], answer: SHOWN.to_owned() }).unwrap();
        assert_eq!(reader.text("f").as_deref(), Some("a\nx\nc\n"));
    }

    #[test]
    fn lines_that_a_refusal_shows() {
        let lines = |words: &str| refusal(words).map(|lines| lines.iter().map(|line| line.number).collect::<Vec<_>>());
        assert_eq!(lines("f: no; nothing was changed"), Ok(vec![]));
        assert_eq!(lines("f: no. The file has:\n1\ta\n2\t\n…\n9\tx\ty"), Ok(vec![1, 2, 9]));
        for words in ["f: no. The file has:\na", "f: no. The file has:\n2\ta\n1\tb", "f: no. The file has:\n"] {
            assert!(refusal(words).is_err(), "{words}");
        }
        let quotes = "f: x. Lines 1-2 come closest; line 2 is the first that differs: the old text has `a`, the file has \
                      `b`. Repeat the edit with the lines as they are in the file";
        assert!(refusal(&format!("{quotes}. The file has:\n1\ta\n2\tb")).is_ok());
        assert!(refusal(&format!("{quotes}. The file has:\n1\ta\n2\tc")).is_err());
        assert!(refusal(quotes).is_err());
    }
}
