//! Finding: what a name leads to, lines in one file, lines, files and names in the whole workspace. Nothing is held of what
//! was found, and what is held of those lines under another text goes. Bounds are by size, never by clock.

use readproof_core::{
    limits::ANSWER_CHARS,
    path::{candidates, meant},
};
use readproof_disk::{FileKind, LocateError, SessionName, SnapshotError};
use readproof_index::{
    Case, Extent, FileRules, Finder, Hit, Line, NUMBER_CHARS, Query, SearchError, SearchMode, Skipped, TreeError,
    TreeSearch, label,
};

use crate::{Cancelled, Engine, Error, read::Glimpse};

/// The most characters given of one line in a file.
const LINE_CHARS: usize = 2000;

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// By its name in the workspace.
    pub path: String,
    /// Whether it leads anywhere.
    pub exists: bool,
    /// `file`, `directory`, `fifo`, `socket`, `char_device`, `block_device` or `unknown`.
    pub kind: Option<&'static str>,
    /// Its bytes.
    pub size_bytes: Option<u64>,
    /// When its bytes last changed.
    pub modified_unix_ms: Option<i64>,
}

/// Lines wanted of one file.
#[derive(Clone, Debug)]
pub struct FindIn {
    /// The path as written.
    pub path: String,
    /// What to find; large and small letters differ.
    pub query: String,
    /// How it is meant.
    pub kind: Query,
    /// The most matching lines that are given; all are counted.
    pub max_matches: usize,
    /// Lines given before each, at most 1,000.
    pub before: usize,
    /// Lines given behind each, at most 1,000.
    pub after: usize,
    /// The most characters that are given.
    pub max_chars: usize,
    /// Whether each line is printed with the path, which then counts too.
    pub with_path: bool,
    /// The conversation that gets the lines.
    pub session: Option<SessionName>,
}

impl Default for FindIn {
    fn default() -> Self {
        let (path, query) = (String::new(), String::new());
        Self {
            path,
            query,
            kind: Query::Literal,
            max_matches: 100,
            before: 0,
            after: 0,
            max_chars: ANSWER_CHARS as usize,
            with_path: true,
            session: None,
        }
    }
}

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFile {
    /// By its name in the workspace.
    pub path: String,
    /// As asked.
    pub query: String,
    /// As asked.
    pub kind: Query,
    /// Matching lines and those around them, in order, none twice.
    pub lines: Vec<Line>,
    /// Lines that match.
    pub matches: u64,
    /// How many of them are given.
    pub given: u64,
    /// Whether lines that match are not given.
    pub truncated: bool,
    /// Whether a line given is no UTF-8: what could not be read stands as U+FFFD.
    pub lossy: bool,
    /// Bytes in the file.
    pub bytes: u64,
    /// Whatever else there is to say.
    pub notices: Vec<String>,
}

/// One search of the workspace.
#[derive(Clone, Debug)]
pub struct Search {
    /// What to find.
    pub query: String,
    /// How it is meant.
    pub mode: SearchMode,
    /// Only files that this lets through, as ripgrep's `-g` does.
    pub glob: Option<String>,
    /// The most that is given: matching lines, else files. All are counted.
    pub limit: Option<usize>,
    /// Lines given before and behind each that matches, at most 1,000.
    pub context_lines: usize,
    /// The most characters that are given.
    pub max_chars: usize,
    /// The conversation that gets the lines.
    pub session: Option<SessionName>,
}

impl Default for Search {
    fn default() -> Self {
        let (query, mode, max_chars) = (String::new(), SearchMode::default(), ANSWER_CHARS as usize);
        Self { query, mode, glob: None, limit: None, context_lines: 0, max_chars, session: None }
    }
}

/// What a search gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// As asked.
    pub query: String,
    /// As asked.
    pub mode: SearchMode,
    /// In the order of the walk, or the best first.
    pub hits: Vec<Hit>,
    /// Lines that match, or names.
    pub matches: u64,
    /// Files that match.
    pub files: u64,
    /// Files that were looked at.
    pub looked_at: u64,
    /// Whether something that matches is not given: a line, or where files are ranked a file.
    pub truncated: bool,
    /// What was left out.
    pub skipped: Skipped,
    /// The paths of the hits, in their order.
    pub top: Vec<String>,
    /// Whatever else there is to say.
    pub notices: Vec<String>,
}

impl Engine {
    /// What a name leads to. Nothing is opened and no line is counted.
    ///
    /// # Errors
    /// For a name outside the workspace or one that cannot be meant; that it leads nowhere is an answer.
    pub fn stat(&self, path: &str) -> Result<FileStat, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        self.straight(path)?;
        let names = candidates(path, &self.bearings);
        let located = self.root.locate(&[meant(path, &self.bearings)]).or_else(|_| self.root.locate(&names));
        let file = match located {
            Ok(file) => file,
            Err(LocateError::Missing { .. }) => return self.missing(&names),
            Err(
                error @ (LocateError::Outside { .. }
                | LocateError::NulInName
                | LocateError::NameTooLong { .. }
                | LocateError::LinkLoop { .. }
                | LocateError::LinkOut { .. }
                | LocateError::Denied { .. }
                | LocateError::Io { .. }),
            ) => return Err(Error::Locate(error)),
        };
        match self.root.found(&file) {
            Ok(found) => Ok(FileStat {
                path: file.key().to_string(),
                exists: true,
                kind: Some(kind(found.kind)),
                size_bytes: Some(found.len),
                modified_unix_ms: Some(found.mtime_ms),
            }),
            Err(SnapshotError::Missing { .. }) => self.missing(&names),
            Err(error) => Err(error.into()),
        }
    }

    fn missing(&self, names: &[String]) -> Result<FileStat, Error> {
        let path = self.root.locate_new(names).map_err(Error::Locate)?.key().to_string();
        Ok(FileStat { path, exists: false, kind: None, size_bytes: None, modified_unix_ms: None })
    }

    /// The lines of one file that match, however large it is.
    ///
    /// # Errors
    /// As [`Engine::read`], but for the file's size; also for a query that cannot be searched for.
    pub fn find_in(&mut self, asked: &FindIn, cancelled: Cancelled<'_>) -> Result<InFile, Error> {
        let call = self.asked_in(asked.session.as_ref());
        let mut found = self.lines_in(asked, cancelled)?;
        let shown = Glimpse::found(&found.path, &found.lines);
        found.notices = self.saw(asked.session.as_ref(), call, [shown].into_iter());
        Ok(found)
    }

    fn lines_in(&self, asked: &FindIn, cancelled: Cancelled<'_>) -> Result<InFile, Error> {
        if asked.query.is_empty() {
            return Err(Error::EmptyQuery);
        }
        let finder = Finder::new(&asked.query, asked.kind, Case::Exact)?;
        // A number for the offset, so that `:10-20` is no range here but part of the name.
        let placed = self.place(&asked.path, Some(1), None)?;
        let path = placed.file.key().to_string();
        let stream = self.root.stream(&placed.file, placed.opened, self.settings.hard_links)?;
        let extent = Extent {
            matches: asked.max_matches,
            before: asked.before,
            after: asked.after,
            line_chars: LINE_CHARS,
            chars: asked.max_chars,
            label: if asked.with_path { label(&path) } else { NUMBER_CHARS },
        };
        let found = match finder.find_in(&stream, extent, cancelled) {
            Ok(found) => found,
            Err(SearchError::Cancelled) => return Err(Error::Aborted),
            Err(SearchError::LongLine) => return Err(Error::LongLine { path, most: finder.line_bytes() }),
            Err(SearchError::Binary(why)) => return Err(SnapshotError::NotText { name: path, why }.into()),
            Err(SearchError::Io(source)) => return Err(SnapshotError::Io { name: path, source }.into()),
        };
        let given = found.given();
        Ok(InFile {
            path,
            query: asked.query.clone(),
            kind: asked.kind,
            given,
            truncated: found.total > given,
            lossy: found.lines.iter().any(|line| line.lossy),
            matches: found.total,
            lines: found.lines,
            bytes: stream.stat().len,
            notices: Vec::new(),
        })
    }

    /// Searches the workspace by ripgrep's rules for what is ignored. `progress` is told how many files are done.
    ///
    /// # Errors
    /// For a query or a glob that is malformed. What cannot be read is counted instead.
    pub fn search(
        &mut self,
        asked: &Search,
        cancelled: Cancelled<'_>,
        progress: &dyn Fn(u64),
    ) -> Result<Searched, Error> {
        let call = self.asked_in(asked.session.as_ref());
        let mut found = self.searched(asked, cancelled, progress)?;
        let shown = found.hits.iter().map(|hit| Glimpse::found(&hit.path, &hit.lines));
        found.notices = self.saw(asked.session.as_ref(), call, shown);
        Ok(found)
    }

    fn searched(&self, asked: &Search, cancelled: Cancelled<'_>, progress: &dyn Fn(u64)) -> Result<Searched, Error> {
        let empty = match asked.mode {
            SearchMode::Regex => asked.query.is_empty(),
            SearchMode::Text | SearchMode::Path => asked.query.trim().is_empty(),
        };
        if empty {
            return Err(Error::EmptyQuery);
        }
        let search = TreeSearch {
            root: &self.root,
            rules: FileRules { snapshot: self.snapshot_rules(), sensitive: &self.sensitive },
            query: &asked.query,
            mode: asked.mode,
            glob: asked.glob.as_deref(),
            limit: asked.limit.unwrap_or_else(|| asked.mode.limit()),
            context_lines: asked.context_lines,
            max_chars: asked.max_chars,
        };
        let found = search.run(cancelled, progress).map_err(|error| match error {
            TreeError::Cancelled => Error::Aborted,
            TreeError::Query(error) => error.into(),
            TreeError::Walk(error) => error.into(),
        })?;
        Ok(Searched {
            query: asked.query.clone(),
            mode: asked.mode,
            top: found.hits.iter().map(|hit| hit.path.clone()).collect(),
            hits: found.hits,
            matches: found.matches,
            files: found.files,
            looked_at: found.looked_at,
            truncated: found.truncated,
            skipped: found.skipped,
            notices: Vec::new(),
        })
    }
}

fn kind(kind: Option<FileKind>) -> &'static str {
    match kind {
        None => "file",
        Some(FileKind::Directory) => "directory",
        Some(FileKind::Fifo) => "fifo",
        Some(FileKind::Socket) => "socket",
        Some(FileKind::CharDevice) => "char_device",
        Some(FileKind::BlockDevice) => "block_device",
        Some(FileKind::Link | FileKind::Unknown) => "unknown",
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::Settings;
    use readproof_core::path::Bearings;
    use readproof_disk::Root;
    use std::{cell::Cell, fs};

    #[test]
    fn a_search_is_given_up_when_nobody_waits() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("a"), "text\n").unwrap();
        let bearings = Bearings { cwd: temp.path().to_str().unwrap().to_owned(), home: None };
        let root = Root::open(temp.path()).unwrap();
        let mut engine = Engine::new(root, bearings, Settings::default(), Box::new(|| 0)).unwrap();
        for mode in [SearchMode::Text, SearchMode::Regex, SearchMode::Path] {
            let asked = Search { query: "a".to_owned(), mode, ..Search::default() };
            assert!(matches!(engine.search(&asked, &|| true, &|_| {}), Err(Error::Aborted)), "{mode:?}");
            let done = Cell::new(0);
            assert_eq!(engine.search(&asked, &|| false, &|files| done.set(files)).unwrap().looked_at, 1);
            assert_eq!(done.get(), 1);
        }
        let asked = FindIn { path: "a".to_owned(), query: "t".to_owned(), ..FindIn::default() };
        assert!(matches!(engine.find_in(&asked, &|| true), Err(Error::Aborted)));
        assert_eq!(engine.find_in(&asked, &|| false).unwrap().matches, 1);
    }

    /// Two engines of one process share the index of symbols and wait for each other.
    #[test]
    fn two_engines_index_together() {
        let temp = tempfile::tempdir().unwrap();
        let engine = |path: &std::path::Path| {
            let bearings = Bearings { cwd: path.to_str().unwrap().to_owned(), home: None };
            Engine::new(Root::open(path).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap()
        };
        for n in 0..150 {
            fs::write(temp.path().join(format!("f{n}.rs")), format!("fn name{n}() {{}}\n")).unwrap();
        }
        let asked = crate::SymbolSearch { query: None, glob: None, limit: 10 };
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (path, asked) = (temp.path(), &asked);
                scope.spawn(move || {
                    let mut engine = engine(path);
                    for round in 0..10 {
                        let name = format!("t{thread}.rs");
                        fs::write(path.join(&name), format!("fn of{thread}_{round}() {{}}\n")).unwrap();
                        let found = engine.symbols(asked, &|| false, &|_, _| {}).unwrap();
                        assert!(found.total >= 151 && found.notices.is_empty(), "{} {:?}", found.total, found.notices);
                        let own = format!("of{thread}_{round}");
                        engine.resolve(&own, None, &|| false, &|_, _| {}).unwrap();
                    }
                });
            }
        });
    }
}
