//! The judge for the pi surface. It is given what the model of a pi session can see on its branch since the latest
//! compaction: tool calls and the text blocks of their results, in order. It rebuilds lines from that alone.
//!
//! It knows neither the metadata of a result nor the files; a harness compares what was rebuilt with the truth. Lines are
//! counted as pi does: the pieces of `split("\n")`.

mod block;
mod page;
mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use page::{BYTES, LINES, Page, page};

use crate::{Complaint, Kind, demand, diff};
use block::{Asked, Form};
use view::View;

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
    /// `read`.
    Read {
        /// The path as written.
        path: String,
        /// The first line.
        offset: Option<i64>,
        /// The most lines.
        limit: Option<u64>,
    },
    /// `write`.
    Write {
        /// The path as written.
        path: String,
        /// The whole new content.
        content: String,
    },
    /// `edit`.
    Edit {
        /// The path as written.
        path: String,
        /// Old texts and what takes their place.
        edits: Vec<(String, String)>,
    },
}

impl Asks {
    /// The path as written.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Edit { path, .. } => path,
        }
    }
}

/// One thing that the model sees, or that a harness says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A message with these calls.
    Calls(Vec<Call>),
    /// The result of a call.
    Result {
        /// Which.
        call: String,
        /// Its one block of text; `None` when it is something else.
        text: Option<String>,
        /// Whether it is an error.
        failed: bool,
    },
    /// Fresh text was asked for: nothing visible before may be built on.
    Refreshed {
        /// The path as written.
        path: String,
        /// Which lines; all of them when left out.
        lines: Option<(u64, u64)>,
    },
    /// Another tool printed this text of a file, whole and without numbers: what it contradicts may not be built on, and nothing
    /// may be built on it.
    Printed {
        /// The path as written.
        path: String,
        /// The text.
        text: String,
    },
}

/// What an answer stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Which kind of answer it was.
    pub kind: Kind,
    /// The number of the first line.
    pub first: u64,
    /// The lines from there on.
    pub lines: Vec<Arc<str>>,
    /// How many lines the file has, if that is known.
    pub total: Option<u64>,
}

/// How paths are resolved.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The folder that relative paths start from, absolute.
    pub cwd: String,
    /// The workspace.
    pub workspace: String,
    /// Another name of the workspace.
    pub alias: Option<String>,
}

impl Place {
    /// The canonical name of a file; relative to the workspace if it is inside.
    fn name(&self, path: &str) -> String {
        let path = path.strip_prefix('@').unwrap_or(path);
        let whole = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.cwd) };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                other => parts.push(other),
            }
        }
        let name = format!("/{}", parts.join("/"));
        let below = |folder: &str| name.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
        let inside = below(&self.workspace).or_else(|| below(self.alias.as_deref()?));
        inside.unwrap_or(name)
    }

    /// The file a read asks for, and which lines: the path may end in a range.
    fn asked(&self, path: &str, offset: Option<i64>, limit: Option<u64>) -> (String, Asked) {
        let first = offset.unwrap_or(1).max(1).unsigned_abs();
        if (offset, limit) == (None, None)
            && let Some((bare, range)) = path.rsplit_once(':')
            && let Some((first, limit)) = range_of(range)
        {
            return (self.name(bare), Asked { first, limit, path: bare.to_owned() });
        }
        (self.name(path), Asked { first, limit, path: path.to_owned() })
    }
}

/// `10` or `10-20` as the first line and the number of lines.
fn range_of(range: &str) -> Option<(u64, Option<u64>)> {
    let (first, last) = range.split_once('-').map_or((range, None), |(first, last)| (first, Some(last)));
    let first: u64 = first.parse().ok().filter(|first| *first > 0)?;
    let last: Option<u64> =
        last.map(|last| last.parse().ok().filter(|last| *last >= first).ok_or(())).transpose().ok()?;
    Some((first, last.map(|last| last - first + 1)))
}

/// A call without its result.
#[derive(Clone, Debug)]
struct Open {
    call: Call,
    /// For an edit: the whole text before it, if that was visible.
    before: Option<String>,
    /// Whether it is the only change to its file in its message.
    alone: bool,
}

/// What one model sees of files. Clone it where the branch forks.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    place: Place,
    views: BTreeMap<String, View>,
    open: Vec<Open>,
}

impl Judge {
    /// Nothing has been seen yet.
    #[must_use]
    pub fn new(place: Place) -> Self {
        Self { place, ..Self::default() }
    }

    /// Takes in the next thing. A file of which something was seen without knowing which lines is forgotten.
    pub fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Calls(calls) => self.calls(calls),
            Seen::Result { call, text, failed } => self.result(call, text.as_deref(), *failed),
            Seen::Refreshed { path, lines: None } => self.forget(path),
            Seen::Refreshed { path, lines: Some((first, last)) } => {
                if let Some(view) = self.views.get_mut(&self.place.name(path)) {
                    view.forget(*first, *last);
                }
            }
            Seen::Printed { path, text } => {
                if let Some(view) = self.views.get_mut(&self.place.name(path)) {
                    view.contradict(text);
                }
            }
        }
    }

    /// What an answer to a call of the latest message stands for. Changes nothing.
    ///
    /// # Errors
    /// A complaint when that cannot be rebuilt from what is visible.
    pub fn answer(&self, call: &str, text: &str) -> Result<Rebuilt, Complaint> {
        let Some(Open { call, .. }) = self.open.iter().find(|open| open.call.id == call) else {
            return Err(Complaint(format!("the call {call} is not visible")));
        };
        let Asks::Read { path, offset, limit } = &call.asks else {
            return Err(Complaint(format!("the call {} is no read", call.id)));
        };
        let (name, asked) = self.place.asked(path, *offset, *limit);
        demand!(!self.is_changing(&name), "{name} is being changed");
        let mut view = self.views.get(&name).cloned().unwrap_or_default();
        rebuilt(&mut view, &name, &asked, text).map_err(|complaint| Complaint(format!("{name}: {complaint}")))
    }

    /// These lines of a file, if they are all visible.
    #[must_use]
    pub fn lines(&self, path: &str, first: u64, last: u64) -> Option<Vec<Arc<str>>> {
        self.views.get(&self.place.name(path))?.lines(first, last).ok()
    }

    /// How many lines a file has, if that is known.
    #[must_use]
    pub fn total(&self, path: &str) -> Option<u64> {
        self.views.get(&self.place.name(path))?.total()
    }

    /// Whether anything of a file is visible.
    #[must_use]
    pub fn sees(&self, path: &str) -> bool {
        self.views.contains_key(&self.place.name(path))
    }

    /// Takes over what another judge of the same branch sees of a file.
    pub fn adopt(&mut self, other: &Self, path: &str) {
        let name = self.place.name(path);
        match other.views.get(&name) {
            Some(view) => drop(self.views.insert(name, view.clone())),
            None => drop(self.views.remove(&name)),
        }
    }

    fn forget(&mut self, path: &str) {
        self.views.remove(&self.place.name(path));
    }

    /// Whether a change of the file has no result yet.
    fn is_changing(&self, name: &str) -> bool {
        let changes = |open: &&Open| !matches!(open.call.asks, Asks::Read { .. });
        self.open.iter().filter(changes).any(|open| self.place.name(open.call.asks.path()) == name)
    }

    /// A change may have happened from its call on.
    fn calls(&mut self, calls: &[Call]) {
        let changed = |call: &Call| match &call.asks {
            Asks::Read { .. } => None,
            Asks::Write { path, .. } | Asks::Edit { path, .. } => Some(self.place.name(path)),
        };
        let names: Vec<Option<String>> = calls.iter().map(changed).collect();
        let mut open = Vec::new();
        for (call, name) in calls.iter().zip(&names) {
            let before = name.as_ref().and_then(|name| self.views.get(name)?.text());
            let alone = names.iter().filter(|other| *other == name).count() == 1;
            open.push(Open { call: call.clone(), before, alone });
        }
        for name in names.iter().flatten().collect::<BTreeSet<_>>() {
            self.views.remove(name);
        }
        self.open = open;
    }

    fn result(&mut self, call: &str, text: Option<&str>, failed: bool) {
        let Some(at) = self.open.iter().position(|open| open.call.id == call) else { return };
        let Open { call, before, alone } = self.open.remove(at);
        match &call.asks {
            Asks::Read { .. } if failed => {}
            Asks::Read { path, offset, limit } => {
                let (name, asked) = self.place.asked(path, *offset, *limit);
                let mut view = self.views.remove(&name).unwrap_or_default();
                let placed = text.is_some_and(|text| rebuilt(&mut view, &name, &asked, text).is_ok());
                if placed && !self.is_changing(&name) {
                    self.views.insert(name, view);
                }
            }
            Asks::Write { path, content } => {
                let view = View::whole(content);
                self.changed(path, Some(view).filter(|_| alone && !failed));
            }
            Asks::Edit { path, edits } => {
                let after = before.and_then(|before| edited(&before, edits));
                self.changed(path, after.filter(|_| alone && !failed).map(|after| View::whole(&after)));
            }
        }
    }

    fn changed(&mut self, path: &str, view: Option<View>) {
        let name = self.place.name(path);
        match view {
            Some(view) => drop(self.views.insert(name, view)),
            None => drop(self.views.remove(&name)),
        }
    }
}

/// The text after pi's `edit`, if it follows from the arguments alone: pi changes line endings and byte order marks in its
/// own ways.
fn edited(before: &str, edits: &[(String, String)]) -> Option<String> {
    let odd = |text: &str| text.contains('\r') || text.starts_with('\u{feff}');
    let mut places = Vec::new();
    for (old, new) in edits {
        let mut found = before.char_indices().map(|(at, _)| at).filter(|at| before[*at..].starts_with(old.as_str()));
        let (at, None) = (found.next()?, found.next()) else { return None };
        if old.is_empty() || odd(new) {
            return None;
        }
        places.push((at, old.len(), new));
    }
    places.sort_unstable();
    let apart = places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
    if odd(before) || edits.is_empty() || !apart {
        return None;
    }
    let mut after = before.to_owned();
    for (at, len, new) in places.into_iter().rev() {
        after.replace_range(at..at + len, new);
    }
    Some(after)
}

/// What an answer stands for, and what is visible with it. After a complaint the view must not be used.
fn rebuilt(view: &mut View, name: &str, asked: &Asked, text: &str) -> Result<Rebuilt, Complaint> {
    let first = asked.first;
    match block::form(text, asked) {
        Form::Plain { body, total, ends } => {
            let lines: Vec<Arc<str>> = body.split('\n').map(Arc::from).collect();
            let fits = asked.limit.is_none_or(|limit| lines.len() as u64 <= limit);
            demand!(fits, "{} lines came, more than the call asks for", lines.len());
            for (number, line) in (first..).zip(&lines) {
                view.show(number, line);
            }
            // Saying how many lines there are shows none of them: what was visible stays visible.
            if ends {
                view.set_total(total);
            }
            Ok(Rebuilt { kind: Kind::Plain, first, lines, total: Some(total) })
        }
        Form::Hidden => {
            view.hide(first);
            Ok(Rebuilt { kind: Kind::Plain, first, lines: Vec::new(), total: None })
        }
        Form::Unchanged { total } => {
            asks_whole(asked, total)?;
            demand!(view.total() == Some(total), "{total} lines are claimed, and {:?} were told", view.total());
            Ok(Rebuilt { kind: Kind::Unchanged, first: 1, lines: held(view, 1, total)?, total: Some(total) })
        }
        Form::Range { first, last, total, cut } => range(view, asked, (first, last), total, cut),
        Form::Diff { changed, total, diff } => {
            asks_whole(asked, total)?;
            let Some(before) = view.text() else {
                return Err(Complaint("a diff came, and not all of its base is visible".to_owned()));
            };
            let applied = diff::apply(&before, name, diff)?;
            let counted = applied.added.max(applied.removed);
            demand!(changed == counted, "{changed} lines are said to be changed, the diff changes {counted}");
            *view = View::whole(&applied.text);
            demand!(view.total() == Some(total), "{total} lines are claimed, the diff leads to {:?}", view.total());
            Ok(Rebuilt { kind: Kind::Diff, first: 1, lines: held(view, 1, total)?, total: Some(total) })
        }
    }
}

fn asks_whole(asked: &Asked, total: u64) -> Result<(), Complaint> {
    let whole = asked.first == 1 && asked.limit.is_none_or(|limit| limit >= total);
    demand!(whole, "the call does not ask for all {total} lines");
    Ok(())
}

fn held(view: &View, first: u64, last: u64) -> Result<Vec<Arc<str>>, Complaint> {
    view.lines(first, last).map_err(|missing| Complaint(format!("line {missing} of {first}-{last} is not visible")))
}

fn range(
    view: &mut View,
    asked: &Asked,
    (first, last): (u64, u64),
    total: Option<u64>,
    cut: Option<u64>,
) -> Result<Rebuilt, Complaint> {
    demand!(first == asked.first, "the marker begins at line {first}, the call at line {}", asked.first);
    demand!(first <= last, "the marker ends before it begins");
    demand!(asked.last().is_none_or(|asked| last <= asked), "the marker goes beyond the lines asked for");
    demand!(total.is_none_or(|total| last <= total), "the marker goes beyond the file");
    let ends = match (cut, total) {
        (Some(cut), total) => {
            demand!(total.is_none_or(|total| total == cut), "marker and notice differ on the number of lines");
            total
        }
        (None, Some(total)) => {
            let due = asked.last().map_or(total, |asked| asked.min(total));
            demand!(last == due, "the marker stops at line {last}, due are the lines up to {due}");
            Some(total)
        }
        // If plain text stops early and nothing says so, the file ends there.
        (None, None) => Some(last).filter(|last| asked.last() != Some(*last)),
    };
    let lines = held(view, first, last)?;
    if let Some(total) = ends {
        view.set_total(total);
    }
    let kind = if total.is_some() { Kind::UnchangedRange } else { Kind::UnchangedElsewhere };
    Ok(Rebuilt { kind, first, lines, total: cut.or(ends) })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sight(Judge, usize);

    impl Sight {
        fn new() -> Self {
            let place = Place { cwd: "/w/sub".into(), workspace: "/w".into(), alias: Some("/l".into()) };
            Self(Judge::new(place), 0)
        }

        fn call(&mut self, asks: Asks) -> String {
            self.1 += 1;
            let id = self.1.to_string();
            self.0.see(&Seen::Calls(vec![Call { id: id.clone(), asks }]));
            id
        }

        fn result(&mut self, call: &str, text: &str, failed: bool) {
            self.0.see(&Seen::Result { call: call.to_owned(), text: Some(text.to_owned()), failed });
        }

        /// One read; what its answer stands for.
        fn read(&mut self, path: &str, range: (Option<i64>, Option<u64>), text: &str) -> Result<String, String> {
            let call = self.call(Asks::Read { path: path.to_owned(), offset: range.0, limit: range.1 });
            let answer = self.0.answer(&call, text);
            self.result(&call, text, false);
            let text = |rebuilt: Rebuilt| rebuilt.lines.iter().map(|line| &**line).collect::<Vec<_>>().join("\n");
            answer.map(text).map_err(|complaint| complaint.0)
        }

        fn change(&mut self, asks: Asks, failed: bool) {
            let call = self.call(asks);
            self.result(&call, "done", failed);
        }
    }

    const ALL: (Option<i64>, Option<u64>) = (None, None);

    #[test]
    fn names_of_one_file() {
        let place = Sight::new().0.place;
        for path in ["f", "./f", "@f", "x/../f", "/w/sub/f", "/l/sub/f", "/w//sub/./f"] {
            assert_eq!(place.name(path), "sub/f", "{path}");
        }
        assert_eq!((place.name("../f"), place.name("/else/f")), ("f".to_owned(), "/else/f".to_owned()));
    }

    #[test]
    fn markers_need_their_lines() {
        let mut sight = Sight::new();
        let more = "a\nb\n\n[2 more lines in file. Use offset=3 to continue.]";
        assert_eq!(sight.read("f", (None, Some(2)), more).unwrap(), "a\nb");
        let range = "[readcache: unchanged in lines 1-2 of 4]";
        assert_eq!(sight.read("f:1-2", ALL, range).unwrap(), "a\nb");
        assert_eq!(sight.0.total("f"), Some(4));
        assert!(sight.read("f", ALL, "[readcache: unchanged, 4 lines]").unwrap_err().contains("line 3 of 1-4"));
        assert!(sight.read("f", (None, Some(2)), range).is_err(), "and then the file is forgotten");
        sight.read("f", (None, Some(2)), more).unwrap();
        assert_eq!(sight.0.total("f"), None);
        sight.read("f", (Some(3), None), "c\n").unwrap();
        assert_eq!(sight.read("f", ALL, "[readcache: unchanged, 4 lines]").unwrap(), "a\nb\nc\n");
        assert!(sight.read("f", ALL, "[readcache: unchanged, 3 lines]").unwrap_err().contains("were told"));
    }

    #[test]
    fn diffs_and_own_changes() {
        let mut sight = Sight::new();
        let write = Asks::Write { path: "f".into(), content: "a\nb\n".into() };
        sight.change(write.clone(), false);
        let diff = "[readcache: 1 lines changed of 3]\n--- a/sub/f\n+++ b/sub/f\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n";
        assert_eq!(sight.read("f", ALL, diff).unwrap(), "a\nx\n");
        sight.change(Asks::Edit { path: "f".into(), edits: vec![("x".into(), "y".into())] }, false);
        assert_eq!(sight.read("f", ALL, "[readcache: unchanged, 3 lines]").unwrap(), "a\ny\n");
        for odd in [("a".to_owned(), "\r".to_owned()), ("n".into(), "m".into()), (String::new(), "m".into())] {
            sight.change(write.clone(), false);
            sight.change(Asks::Edit { path: "f".into(), edits: vec![odd] }, false);
            assert!(sight.read("f", ALL, "[readcache: unchanged, 3 lines]").is_err());
        }
        sight.change(write.clone(), true);
        assert!(sight.read("f", ALL, diff).is_err(), "it failed");
        sight.change(write.clone(), false);
        sight.call(write);
        assert!(sight.read("f", ALL, diff).is_err(), "its result never came");
    }

    #[test]
    fn a_change_on_its_way() {
        let mut sight = Sight::new();
        sight.change(Asks::Write { path: "f".into(), content: "a\n".into() }, false);
        let read = Call { id: "r".into(), asks: Asks::Read { path: "f".into(), offset: None, limit: None } };
        let write = |id: &str, content: &str| Call {
            id: id.into(),
            asks: Asks::Write { path: "f".into(), content: content.into() },
        };
        sight.0.see(&Seen::Calls(vec![read, write("1", "b\n")]));
        assert!(sight.0.answer("r", "[readcache: unchanged, 2 lines]").is_err());
        sight.result("r", "a\n", false);
        assert_eq!(sight.0.total("f"), None, "either text");
        sight.result("1", "done", false);
        assert_eq!(sight.read("f", ALL, "[readcache: unchanged, 2 lines]").unwrap(), "b\n");
        sight.0.see(&Seen::Calls(vec![write("2", "b\n"), write("3", "c\n")]));
        sight.result("2", "done", false);
        sight.result("3", "done", false);
        assert_eq!(sight.0.total("f"), None, "of two the order is not known");
    }

    #[test]
    fn what_is_forgotten() {
        let mut sight = Sight::new();
        sight.read("f", ALL, "a\nb\n").unwrap();
        sight.0.see(&Seen::Refreshed { path: "f".into(), lines: Some((2, 2)) });
        assert!(sight.0.lines("f", 2, 2).is_none() && sight.0.lines("f", 1, 1).is_some());
        sight.0.see(&Seen::Refreshed { path: "f".into(), lines: None });
        assert!(sight.0.lines("f", 1, 1).is_none());
        sight.read("f", ALL, "a\nb\n").unwrap();
        sight.0.see(&Seen::Result { call: "none".into(), text: Some("x".into()), failed: false });
        assert!(sight.0.lines("f", 1, 3).is_some());
        let long = "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' f | head -c 51200]";
        sight.read("f", (Some(2), None), long).unwrap();
        assert!(sight.0.lines("f", 2, 2).is_none());
    }
}
