//! The judge for Claude Code. It is given one request as the program sent it to the model: the blocks of its messages, in order.
//! It rebuilds lines from that alone, and complains about a marker that nothing in the request stands for.
//!
//! It knows neither transcripts nor files; a harness compares what was rebuilt with the truth. Lines are counted as the program's
//! `Read` counts them: the pieces of `split("\n")`, without carriage returns at their ends and without a byte order mark.

mod view;
mod wire;

use std::collections::BTreeMap;

use crate::{Complaint, Kind, demand, diff};
use view::View;
use wire::{Marker, Numbered, Said};

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// What it asks.
    pub asks: Asks,
}

/// What a call asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// `Read`.
    Read {
        /// The path as written.
        path: String,
        /// The first line.
        offset: Option<i64>,
        /// The most lines.
        limit: Option<u64>,
    },
    /// `Write`.
    Write {
        /// The path as written.
        path: String,
        /// The whole new content.
        content: String,
    },
    /// `Edit`.
    Edit {
        /// The path as written.
        path: String,
        /// The text that goes.
        old: String,
        /// The text that comes.
        new: String,
        /// Whether every place is meant.
        all: bool,
    },
    /// `Bash`.
    Shell {
        /// The command line.
        command: String,
    },
    /// A tool that shows nothing of a file.
    Other,
}

/// What a command shows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The file.
    pub path: String,
    /// The number of the first line; `None` if it is all of the file.
    pub first: Option<u64>,
    /// The lines.
    pub text: String,
}

/// One block of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A message of the model begins.
    Message,
    /// Text: of a person, of the model, or of the program itself.
    Text(String),
    /// A call of the model.
    Call(Call),
    /// The result of a call.
    Result {
        /// Which.
        call: String,
        /// Its text; `None` when it is something else.
        text: Option<String>,
        /// Whether it is an error.
        failed: bool,
    },
}

/// What a marker stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Which kind of answer it was.
    pub kind: Kind,
    /// The number of the first line.
    pub first: u64,
    /// The lines from there on.
    pub lines: Vec<String>,
    /// How many lines the file has, if the marker says so.
    pub total: Option<u64>,
}

/// What one request shows of files.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// The folder that relative names of shell commands start from.
    cwd: String,
    /// The folder that `~` means.
    home: String,
    /// What commands show of files, where their own words do not tell.
    sights: BTreeMap<String, Sight>,
    views: BTreeMap<String, View>,
    /// The calls of the newest message of the model.
    batch: Vec<Call>,
    /// All calls.
    calls: BTreeMap<String, Asks>,
    /// The file that the next block has.
    attached: Option<(String, bool)>,
    /// Whether markers were taken back since the newest message of the model.
    retracted: bool,
}

impl Judge {
    /// Nothing has been seen yet.
    #[must_use]
    pub fn new(cwd: &str) -> Self {
        Self { cwd: cwd.to_owned(), ..Self::default() }
    }

    /// What `~` means.
    #[must_use]
    pub fn of_person(self, home: &str) -> Self {
        Self { home: home.to_owned(), ..self }
    }

    /// This command shows this of a file, whatever its words are.
    pub fn shows(&mut self, command: &str, sight: Sight) {
        self.sights.insert(command.to_owned(), sight);
    }

    /// Takes in the next block. What a marker stands for is returned, or why nobody can know.
    pub fn see(&mut self, seen: &Seen) -> Option<Result<Rebuilt, Complaint>> {
        match seen {
            Seen::Message => {
                self.batch.clear();
                self.retracted = false;
            }
            Seen::Text(text) => self.said(text),
            Seen::Call(call) => {
                let call = Call { asks: self.placed(&call.asks), ..call.clone() };
                self.batch.push(call.clone());
                self.calls.insert(call.id.clone(), call.asks.clone());
            }
            Seen::Result { call, text, failed } => {
                let answer = self.result(call, text.as_deref(), *failed);
                // What the program has to say goes into the last result of a message.
                for piece in text.iter().flat_map(|text| wire::behind(text)) {
                    self.said(piece);
                }
                return answer;
            }
        }
        None
    }

    /// Whether the model was told, after its newest message, not to rely on markers that came before: a compaction may have taken
    /// what they stand for. A marker about text that is gone is then no claim.
    #[must_use]
    pub fn retracts(&self) -> bool {
        self.retracted
    }

    /// A call with the name that the program makes of what the model wrote.
    fn placed(&self, asks: &Asks) -> Asks {
        let mut asks = asks.clone();
        match &mut asks {
            Asks::Read { path, .. } | Asks::Write { path, .. } | Asks::Edit { path, .. } => *path = self.place(path),
            Asks::Shell { .. } | Asks::Other => {}
        }
        asks
    }

    /// Without blanks around it, from the folder of the conversation or of the person, without `.`, `..` and empty parts.
    fn place(&self, name: &str) -> String {
        let name = name.trim();
        let whole = match (name.strip_prefix("~/"), name.starts_with('/')) {
            (Some(rest), _) => format!("{}/{rest}", self.home),
            (None, true) => name.to_owned(),
            (None, false) => format!("{}/{name}", self.cwd),
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                other => parts.push(other),
            }
        }
        format!("/{}", parts.join("/"))
    }

    /// These lines of a file, if they are all visible.
    #[must_use]
    pub fn lines(&self, path: &str, first: u64, last: u64) -> Option<Vec<String>> {
        self.views.get(path)?.lines(first, last).ok()
    }

    /// Whether anything of a file is or was visible.
    #[must_use]
    pub fn knows(&self, path: &str) -> bool {
        self.views.contains_key(path)
    }

    fn said(&mut self, text: &str) {
        let attached = self.attached.take();
        match wire::said(text) {
            Said::Attaches { path, part } => self.attached = Some((path, part)),
            Said::Attached(lines) => {
                let Some((path, part)) = attached else { return };
                let mut view = View::default();
                if let Some(lines) = lines.filter(|lines| lines.first == 1 || part) {
                    show(&mut view, &lines, !part);
                }
                self.views.insert(path, view);
            }
            Said::Changed { path, lines } => {
                // Lines around those shown may have moved.
                let mut view = View::default();
                for (number, line) in &lines {
                    view.show(*number, line);
                }
                self.views.insert(path.to_owned(), view);
            }
            Said::Retracts => self.retracted = true,
            Said::Else => {}
        }
    }

    fn result(&mut self, call: &str, text: Option<&str>, failed: bool) -> Option<Result<Rebuilt, Complaint>> {
        let asks = self.calls.get(call).cloned()?;
        match asks {
            Asks::Read { path, offset, limit } if !failed => return self.read(call, &path, (offset, limit), text?),
            Asks::Write { path, content } if !failed => {
                let odd = content.contains('\r') || content.starts_with('\u{feff}');
                self.change(&path, (!odd).then(|| View::whole(&content)));
            }
            Asks::Edit { path, old, new, all } if !failed => {
                let view = self.views.get(&path).and_then(|view| view.edited(&old, &new, all));
                self.change(&path, view);
            }
            Asks::Shell { command } => self.look(&command, text.unwrap_or_default(), failed),
            Asks::Read { .. } | Asks::Write { .. } | Asks::Edit { .. } | Asks::Other => {}
        }
        None
    }

    fn change(&mut self, path: &str, view: Option<View>) {
        match view {
            Some(view) => drop(self.views.insert(path.to_owned(), view)),
            None => drop(self.views.remove(path)),
        }
    }

    /// Whether another call of the same message changes this file, or may show it.
    fn changed_beside(&self, call: &str, path: &str) -> bool {
        let changes = |other: &Call| match &other.asks {
            Asks::Write { path, .. } | Asks::Edit { path, .. } => Some(path.clone()),
            // Only these are known to show no text.
            Asks::Shell { command } if !["ls", "pwd"].contains(&command.as_str()) => Some(path.to_owned()),
            Asks::Read { .. } | Asks::Shell { .. } | Asks::Other => None,
        };
        let of_message = self.batch.iter().any(|other| other.id == call);
        of_message && self.batch.iter().any(|other| other.id != call && changes(other).as_deref() == Some(path))
    }

    fn read(
        &mut self,
        call: &str,
        path: &str,
        (offset, limit): (Option<i64>, Option<u64>),
        text: &str,
    ) -> Option<Result<Rebuilt, Complaint>> {
        let first = offset.unwrap_or(1);
        // The program numbers from what was asked for, and so from 0: which lines these are is not to be guessed.
        if first < 1 {
            self.views.remove(path);
            return None;
        }
        let first = first.unsigned_abs();
        let beside = self.changed_beside(call, path);
        match wire::result(text) {
            wire::Result::Plain(lines) if lines.first == first => {
                let view = self.views.entry(path.to_owned()).or_default();
                let ends = limit.is_none_or(|limit| (lines.lines.len() as u64) < limit);
                show(view, &lines, ends);
            }
            wire::Result::Empty => drop(self.views.insert(path.to_owned(), View::whole(""))),
            wire::Result::Beyond => {}
            wire::Result::Marker(marker) => {
                let mut view = self.views.get(path).cloned().unwrap_or_default();
                let rebuilt = if beside {
                    Err(Complaint("the file is changed or shown in the same message".to_owned()))
                } else {
                    rebuilt(&mut view, path, (first, limit), &marker)
                };
                self.views.insert(path.to_owned(), view);
                return Some(rebuilt.map_err(|complaint| Complaint(format!("{path}: {complaint}"))));
            }
            wire::Result::Plain(_) | wire::Result::Unknown => drop(self.views.remove(path)),
        }
        None
    }

    /// What a shell prints of a file takes what it contradicts; where its lines stand it does not say, except with numbers.
    fn look(&mut self, command: &str, text: &str, failed: bool) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let name = |word: &str| {
            if word.starts_with('/') { word.to_owned() } else { format!("{}/{word}", self.cwd) }
        };
        if let Some(sight) = self.sights.get(command) {
            let Some(view) = self.views.get_mut(&sight.path) else { return };
            match sight.first {
                None => view.contradict(&sight.text),
                Some(first) => {
                    (first..).zip(sight.text.split('\n')).for_each(|(number, line)| view.glimpse(number, line))
                }
            }
            return;
        }
        match words.as_slice() {
            ["cat", path] if !failed => {
                if let Some(view) = self.views.get_mut(&name(path)) {
                    view.contradict(wire::printed(text));
                }
            }
            ["grep", "-n", _, path] => {
                if let Some(view) = self.views.get_mut(&name(path)) {
                    wire::found(text).into_iter().for_each(|(number, line)| view.glimpse(number, line));
                }
            }
            _ => {}
        }
    }
}

/// Takes lines in; `ends` if the file ends with them.
fn show(view: &mut View, lines: &Numbered<'_>, ends: bool) {
    let last = lines.first + lines.lines.len() as u64 - 1;
    for (number, line) in (lines.first..).zip(&lines.lines) {
        view.show(number, line);
    }
    if ends {
        view.set_total(last);
    }
}

/// What a marker stands for. After a complaint nothing is known of the file.
fn rebuilt(
    view: &mut View,
    path: &str,
    (first, limit): (u64, Option<u64>),
    marker: &Marker<'_>,
) -> Result<Rebuilt, Complaint> {
    let asked = limit.map(|limit| (first - 1).saturating_add(limit));
    let held = |view: &View, first, last| {
        let missing = |number| Complaint(format!("line {number} of {first}-{last} is not visible"));
        view.lines(first, last).map_err(missing)
    };
    match marker {
        Marker::Unchanged { total } => {
            demand!(*total > 0, "no file has no lines");
            demand!(
                first == 1 && asked.is_none_or(|asked| asked >= *total),
                "the call does not ask for the whole file"
            );
            let lines = held(view, 1, *total)?;
            // Lines are pieces between newlines, so their number alone says how the file ends.
            view.set_total(*total);
            Ok(Rebuilt { kind: Kind::Unchanged, first: 1, lines, total: Some(*total) })
        }
        Marker::Range { first: from, last, total } => {
            demand!(*from == first && from <= last, "the marker begins at line {from}, the call at line {first}");
            demand!(asked.is_none_or(|asked| *last <= asked), "the marker goes beyond the lines asked for");
            if let Some(total) = total {
                let due = asked.map_or(*total, |asked| asked.min(*total));
                demand!(*last == due, "the marker stops at line {last}, due are the lines up to {due}");
            }
            let lines = held(view, first, *last)?;
            let kind = if total.is_some() { Kind::UnchangedRange } else { Kind::UnchangedElsewhere };
            Ok(Rebuilt { kind, first, lines, total: *total })
        }
        Marker::Diff { changed, total, diff } => {
            let Some(known) = view.total() else {
                return Err(Complaint("a diff came, and where its base ends is not visible".to_owned()));
            };
            let before = held(view, 1, known)?.join("\n");
            let name = path.rsplit('/').next().unwrap_or(path);
            let applied = diff::apply(&before, name, diff)?;
            let counted = applied.added.max(applied.removed);
            demand!(*changed == counted, "{changed} lines are said to be changed, the diff changes {counted}");
            *view = View::whole(&applied.text);
            let lines: Vec<String> = applied.text.split('\n').map(str::to_owned).collect();
            demand!(lines.len() as u64 == *total, "{total} lines are claimed, the diff leads to {}", lines.len());
            Ok(Rebuilt { kind: Kind::Diff, first: 1, total: Some(lines.len() as u64), lines })
        }
    }
}

#[cfg(test)]
#[path = "claude/tests.rs"]
mod tests;
