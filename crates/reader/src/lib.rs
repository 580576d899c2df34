//! The judge: it stands for the model. It sees rendered text only, in branch order, and rebuilds file lines from it.
//!
//! It checks the promise of the project: from the visible texts alone, the requested lines can be rebuilt byte for byte. It
//! must never depend on a product crate, open a file, or guess: it complains about what it cannot rebuild. It does not know
//! the true file either; a harness compares it with what was rebuilt.
#![allow(
    missing_docs,
    reason = "a name that says everything needs no comment; the crate is only used in this workspace"
)]

mod answer;
mod changes;
pub mod claude;
mod diff;
mod edit;
pub mod mcp;
mod name;
pub mod pi;
mod rebuild;
mod view;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

pub use changes::{Change, What, refusal};
pub use edit::Replaces;
pub use name::labelled;
use rebuild::Call;
use view::View;

/// What the model sees of one answer: the text block, and the notices beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text block: file text, or one of the markers.
    pub text: String,
    /// Notices are in a separate block and are never file text.
    pub notices: Vec<String>,
}

/// One thing the model sees on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A read call together with its visible result.
    Read {
        /// The path as the call gives it.
        path: String,
        /// The first line asked for, counted from 1; `None` is line 1.
        offset: Option<u64>,
        /// The most lines asked for; `None` is all.
        limit: Option<u64>,
        /// The visible result.
        answer: Rendered,
    },
    /// A write by the agent whose success result is visible.
    Write {
        /// The path as the call gives it.
        path: String,
        /// The whole new content.
        content: String,
    },
    /// An edit by the agent whose success result is visible.
    Edit {
        /// The path as the call gives it.
        path: String,
        /// The text that was replaced.
        old: String,
        /// The text that now stands in its place.
        new: String,
        /// Where.
        replaces: Replaces,
        /// The visible result, which states the lines that were replaced.
        answer: String,
    },
    /// A call by the agent that changes one file or several, whose success result is visible.
    Changes {
        /// What the call asks for, in its order.
        files: Vec<Change>,
        /// The visible result.
        answer: String,
    },
    /// Lines shown by something other than a read: a search, a diff, a program that received them.
    Lines {
        /// The file.
        path: String,
        /// What is shown of it.
        lines: Vec<Glimpse>,
    },
    /// Something of this file was seen without knowing which lines (an altered block, a failed write): the file is forgotten.
    Lost {
        /// The path as the call gives it.
        path: String,
    },
    /// The same of several files.
    AllLost {
        /// Their paths.
        paths: Vec<String>,
    },
}

/// One line, or a part of it, shown with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glimpse {
    /// Its number, from 1.
    pub number: u64,
    /// The part that is shown, without a terminator.
    pub text: String,
    /// Whether that is the whole line.
    pub whole: bool,
}

impl Glimpse {
    /// Whether a held line can be the one that is shown here.
    fn is_of(&self, line: &str) -> bool {
        let line = line.strip_suffix('\n').unwrap_or(line);
        if self.whole { line == self.text } else { line.contains(&self.text) }
    }
}

/// The lines an answer stands for, rebuilt from visible text alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// The number of the first line.
    pub first: u64,
    /// Exact bytes of the lines from `first` on, terminators included; a line shown in part is left out.
    pub text: String,
    /// Which kind of answer it was.
    pub kind: Kind,
    /// Whether a notice says that the answer stops short of what the call asked for.
    pub cut: bool,
}

/// The kinds of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// File text as it is.
    Plain,
    /// `unchanged, N lines`: the whole file as held.
    Unchanged,
    /// `unchanged in lines a-b of N`.
    UnchangedRange,
    /// `unchanged in lines a-b; changes exist outside this range`.
    UnchangedElsewhere,
    /// A unified diff against the held file.
    Diff,
    /// Some lines of a range; the others are as held.
    Partial,
}

/// Why an answer could not be rebuilt from what is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint(pub String);

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Complaint {}

/// Returns a complaint unless the condition holds.
macro_rules! demand {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err($crate::Complaint(format!($($why)+)));
        }
    };
}
use demand;

/// One model's memory of files, made of visible text alone. Clone it where the branch forks.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    views: BTreeMap<String, View>,
}

impl Reader {
    /// Takes in the next visible thing. A read returns what its answer stands for, everything else `None`.
    ///
    /// # Errors
    /// A complaint when the answer cannot be rebuilt. Its file is then forgotten: later answers cannot build on it.
    pub fn see(&mut self, seen: &Seen) -> Result<Option<Rebuilt>, Complaint> {
        match seen {
            Seen::Read { path, offset, limit, answer } => self.read(path, *offset, *limit, answer).map(Some),
            Seen::Write { path, content } => {
                let before = self.views.get(path).cloned().unwrap_or_default();
                self.views.insert(path.clone(), View::whole(content).after(&before));
                Ok(None)
            }
            Seen::Edit { path, old, new, replaces, answer } => {
                let view = self.views.remove(path).unwrap_or_default();
                let call = edit::Call { old, new, replaces: *replaces };
                let edited = edit::edited(&view, &call, None, answer);
                let edited = edited.map_err(|complaint| Complaint(format!("{path}: {complaint}")))?;
                self.views.insert(path.clone(), edited.unwrap_or_else(View::lost));
                Ok(None)
            }
            Seen::Changes { files, answer } => self.changes(files, answer).map(|()| None),
            Seen::Lines { path, lines } => {
                if let Some(view) = self.views.get_mut(path) {
                    lines.iter().for_each(|glimpse| view.glimpse(glimpse));
                }
                Ok(None)
            }
            Seen::Lost { path } => {
                self.views.insert(path.clone(), View::lost());
                Ok(None)
            }
            Seen::AllLost { paths } => {
                self.views.extend(paths.iter().map(|path| (path.clone(), View::lost())));
                Ok(None)
            }
        }
    }

    /// Whether these lines of a file are visible, whatever they say.
    #[must_use]
    pub fn holds(&self, path: &str, first: u64, last: u64) -> bool {
        self.views.get(path).is_some_and(|view| view.join(first, last).is_ok())
    }

    /// The line of this number as it was last shown; none if it is not visible.
    #[must_use]
    pub fn line(&self, path: &str, number: u64) -> Option<&str> {
        self.views.get(path)?.line(number)
    }

    /// Whether anything of the file is visible.
    #[must_use]
    pub fn knows(&self, path: &str) -> bool {
        self.views.get(path).is_some_and(|view| !view.is_empty())
    }

    /// Whether the whole of a version of the file is visible, its end included.
    #[must_use]
    pub fn holds_whole(&self, path: &str) -> bool {
        let whole = |view: &View| view.end().is_some_and(|end| end == 0 || view.join(1, end).is_ok());
        self.views.get(path).is_some_and(whole)
    }

    /// The whole text of the file as it was last shown or changed, if all of it is visible.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let view = self.views.get(path)?;
        view.join(1, view.end()?).ok()
    }

    /// A complaint about one part makes every file of the call unknown.
    fn changes(&mut self, files: &[Change], answer: &str) -> Result<(), Complaint> {
        let views: Vec<View> =
            files.iter().map(|file| self.views.get(&file.path).cloned().unwrap_or_default()).collect();
        self.views.retain(|path, _| !files.iter().flat_map(Change::paths).any(|other| other == path));
        let parts = changes::parts(answer, files.len())?;
        let mut made = Vec::new();
        for ((file, view), part) in files.iter().zip(&views).zip(parts) {
            let view = file.made(view, part).map_err(|complaint| Complaint(format!("{}: {complaint}", file.path)))?;
            made.extend(view.map(|view| (file.path.clone(), view)));
        }
        self.views.extend(made);
        Ok(())
    }

    fn read(
        &mut self,
        path: &str,
        offset: Option<u64>,
        limit: Option<u64>,
        answer: &Rendered,
    ) -> Result<Rebuilt, Complaint> {
        let call = Call { path, first: offset.unwrap_or(1), limit };
        let view = self.views.entry(path.to_owned()).or_default();
        let rebuilt = rebuild::answer(view, &call, answer);
        // The model saw something of this file without knowing which lines, so nothing held before is safe to build on.
        if rebuilt.is_err() {
            self.views.insert(path.to_owned(), View::lost());
        }
        rebuilt.map_err(|complaint| Complaint(format!("{path}: {complaint}")))
    }
}
