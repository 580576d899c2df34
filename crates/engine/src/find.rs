//! Finding: what a path leads to, lines in one file, and lines, files, names and uses of a name in the whole workspace. Found lines
//! never count as held; they only end what was held of them from other versions. Limits are sizes, never times.

mod cold;
mod list;
mod names;
mod outline;
mod symbol;
mod words;

pub use list::{Listed, ListedEntry, ListedKind};
pub use outline::{Outlined, Outlines};
pub(crate) use symbol::Symbols;
pub use symbol::{AROUND_BYTES, Around, Candidate, Defined, Resolved, Surroundings, SymbolsFound};
pub(crate) use words::Words;

use std::collections::BTreeSet;

use readproof_core::{
    operation::{Matching, Search, SearchFile, SearchMode},
    path::meant,
    text::Text,
};
use readproof_disk::{FileKind, LocateError, SessionName, SnapshotError};
use readproof_index::{
    Case, Extent, FileRules, Finder, Hit, Line, Matches, NUMBER_CHARS, Query, SearchError, Skipped, TreeSearch, Uses,
    WalkRules, label, name_in,
};

use crate::{Control, Engine, Error, Notice, StoodOn, read::Glimpse};
pub(crate) use list::{listed_again, walk_rules};

/// The most characters shown of one line.
const LINE_CHARS: usize = 2000;

/// The most files that matched of which a record says what they were.
const MOST_NOTED: usize = 100;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Relative to the workspace root.
    pub path: String,
    /// Whether there is anything at this path.
    pub exists: bool,
    /// `file`, `directory`, `fifo`, `socket`, `char_device`, `block_device` or `unknown`.
    pub kind: Option<&'static str>,
    /// Its size; `None` for a folder, as that would tell how many names are in it that a rule hides.
    pub size_bytes: Option<u64>,
    /// When its content last changed; `None` for a folder, for the same reason.
    pub modified_unix_ms: Option<i64>,
}

/// The result of a search in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFile {
    /// Relative to the workspace root.
    pub path: String,
    /// As asked.
    pub query: String,
    /// As asked.
    pub matching: Matching,
    /// Matching lines with their context, in order, each once.
    pub lines: Vec<Line>,
    /// Lines that match.
    pub matches: u64,
    /// How many of them are in `lines`.
    pub given: u64,
    /// Whether some matching lines were left out.
    pub truncated: bool,
    /// Whether a line is not valid UTF-8; its invalid bytes are shown as U+FFFD.
    pub lossy: bool,
    /// Bytes in the file.
    pub bytes: u64,
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

/// The result of a search in the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// As asked.
    pub query: String,
    /// As asked.
    pub mode: SearchMode,
    /// In directory order, or best first. References by kind: a file has one hit for each kind.
    pub hits: Vec<Hit>,
    /// Number of matching lines; of matching files in the modes that rank files.
    pub matches: u64,
    /// Number of matching files.
    pub files: u64,
    /// Number of those that have every word, in text mode.
    pub complete: u64,
    /// Number of files that were searched.
    pub looked_at: u64,
    /// Whether matches were left out: lines, or files if files are ranked.
    pub truncated: bool,
    /// What was not searched.
    pub skipped: Skipped,
    /// How the name is used, if references were searched.
    pub uses: Option<Uses>,
    /// The paths of the hits, in the same order, each once.
    pub top: Vec<String>,
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

impl Engine {
    /// What a path leads to, without opening it. A path that leads nowhere is a result, not an error.
    pub(crate) fn stat(&self, path: &str) -> Result<FileStat, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        self.refuse_back_through_link(path)?;
        let names = self.names_for(path);
        let located = self.root.locate(&[meant(path, &self.shared.bearings)]).or_else(|_| self.root.locate(&names));
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
                | LocateError::Refused(_)
                | LocateError::Io { .. }),
            ) => return Err(Error::Locate(error)),
        };
        match self.root.found(&file) {
            Ok(found) => {
                let kind = kind(found.kind);
                let told = kind != "directory";
                Ok(FileStat {
                    path: file.key().to_string(),
                    exists: true,
                    kind: Some(kind),
                    size_bytes: told.then_some(found.len),
                    modified_unix_ms: told.then_some(found.mtime_ms),
                })
            }
            Err(SnapshotError::Missing { .. }) => self.missing(&names),
            Err(error) => Err(error.into()),
        }
    }

    fn missing(&self, names: &[String]) -> Result<FileStat, Error> {
        let path = self.root.locate_new(names).map_err(Error::Locate)?.key().to_string();
        Ok(FileStat { path, exists: false, kind: None, size_bytes: None, modified_unix_ms: None })
    }

    /// The matching lines of one file of any size.
    pub(crate) fn search_file(
        &self,
        log: Option<&SessionName>,
        asked: &SearchFile,
        control: &Control<'_>,
    ) -> Result<InFile, Error> {
        let call = self.asked_in(log);
        let mut found = self.lines_in(asked, control)?;
        let shown = Glimpse::found(&found.path, &found.lines);
        found.notices.extend(self.saw(log, call, [shown].into_iter()));
        Ok(found)
    }

    fn lines_in(&self, asked: &SearchFile, control: &Control<'_>) -> Result<InFile, Error> {
        if asked.query.is_empty() {
            return Err(Error::EmptyQuery);
        }
        let query = match asked.matching {
            Matching::Literal => Query::Literal,
            Matching::Regex => Query::Regex,
        };
        let finder = Finder::new(&asked.query, query, Case::Exact)?;
        // With an offset given, `:10-20` is not taken for a range but for part of the name.
        let mut target = self.resolve_target(&asked.path, Some(1), None)?;
        let path = target.file.key().to_string();
        let extent = extent_of(asked, &path);
        if let Some(text) = self.ground_text(&mut target) {
            let found = finder.find_text(text.as_str(), extent, control.cancelled);
            return in_file(asked, path, (&finder, found), text.as_str().len() as u64);
        }
        let stream = self.root.stream(&target.file, target.opened, self.hard_links())?;
        let found = finder.find_in(&stream, extent, control.cancelled);
        in_file(asked, path, (&finder, found), stream.stat().len)
    }

    /// A glob with a folder in it, taken from the current folder, if that is not the root.
    fn glob_from_here(&self, glob: Option<&str>) -> Option<String> {
        let glob = glob.filter(|glob| glob.contains('/') && !glob.starts_with(['/', '!']) && self.names_from_root)?;
        let here =
            self.shared.bearings.cwd.strip_prefix(&*self.root.path().display().to_string())?.strip_prefix('/')?;
        (!here.is_empty()).then(|| format!("{here}/{glob}"))
    }

    /// Searches the workspace, ignoring files by ripgrep's rules. Files that cannot be read are counted.
    pub(crate) fn search(
        &self,
        log: Option<&SessionName>,
        asked: &Search,
        control: &Control<'_>,
    ) -> Result<Searched, Error> {
        let call = self.asked_in(log);
        let mut found = self.searched(asked, control)?;
        let shown = found.hits.iter().map(|hit| Glimpse::found(&hit.path, &hit.lines));
        found.notices = self.saw(log, call, shown);
        if self.is_recorded() {
            self.notes_hits(&found.hits, log.is_some());
        }
        Ok(found)
    }

    /// Notes the files that matched, each with a text in which the lines stand that are shown of it. Outside of a conversation no
    /// text is kept, so nobody needs to know which it was.
    fn notes_hits(&self, hits: &[Hit], is_kept: bool) {
        for (at, hit) in hits.iter().enumerate() {
            let Ok(file) = self.root.locate(&[self.root.absolute(&hit.path)]) else { continue };
            if self.shared.sensitive.is_sensitive(&self.root, &file) {
                self.stands_on(|| StoodOn::sensitive(&hit.path));
                continue;
            }
            let read = (is_kept && at < MOST_NOTED).then(|| self.root.snapshot(&file, &self.snapshot_rules()));
            let Some(Ok(read)) = read else {
                self.stands_on(|| StoodOn::unkept(&hit.path));
                continue;
            };
            let ground = self.ground(&file, &read);
            let has = |line: &Line| line.cut || line.lossy || has_line(&read.text, line.number, &line.text);
            let is_it = ground.text.is_none() || hit.lines.iter().all(has);
            self.stands_on(|| if is_it { ground } else { StoodOn::unkept(&hit.path) });
        }
    }

    fn searched(&self, asked: &Search, control: &Control<'_>) -> Result<Searched, Error> {
        let empty = match asked.mode {
            SearchMode::Regex => asked.query.is_empty(),
            SearchMode::Text | SearchMode::Path | SearchMode::References => asked.query.trim().is_empty(),
        };
        if empty {
            return Err(Error::EmptyQuery);
        }
        if asked.mode == SearchMode::Regex {
            Finder::check(&asked.query, Case::Exact)?;
        }
        let query = match asked.mode {
            SearchMode::Text | SearchMode::Regex | SearchMode::Path => asked.query.as_str(),
            SearchMode::References => {
                name_in(&asked.query).ok_or_else(|| Error::NotAName { query: asked.query.clone() })?
            }
        };
        let under = asked.extent.path.as_deref().map(|path| self.part(path)).transpose()?;
        let tracked = self.tracked_hidden(asked.extent.hidden, control);
        let search = TreeSearch {
            root: &self.root,
            rules: FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive },
            query,
            mode: asked.mode,
            letters: asked.letters,
            walk: walk_rules(&asked.extent, under.as_deref(), &tracked),
            limit: asked.limit.unwrap_or_else(|| asked.mode.limit()),
            context_lines: asked.context_lines,
            max_chars: asked.max_chars,
        };
        let run = |search: &TreeSearch<'_>| match search.mode {
            SearchMode::Text => self.search_texts(search, control),
            SearchMode::Regex | SearchMode::Path | SearchMode::References => {
                Ok(search.run(control.cancelled, &|done| control.report(done, None))?)
            }
        };
        let mut found = run(&search)?;
        // A glob may be meant from the current folder, as names may.
        let here = self.glob_from_here(asked.extent.glob.as_deref()).filter(|_| found.looked_at == 0);
        if let Some(glob) = here {
            found = run(&TreeSearch { walk: WalkRules { glob: Some(&glob), ..search.walk }, ..search })?;
        }
        let mut met = BTreeSet::new();
        Ok(Searched {
            query: asked.query.clone(),
            mode: asked.mode,
            top: found.hits.iter().filter(|hit| met.insert(&hit.path)).map(|hit| hit.path.clone()).collect(),
            hits: found.hits,
            matches: found.matches,
            files: found.files,
            complete: found.complete,
            looked_at: found.looked_at,
            truncated: found.truncated,
            skipped: found.skipped,
            uses: found.uses,
            notices: Vec::new(),
        })
    }
}

/// Whether a text has this line, without its end.
pub(crate) fn has_line(text: &Text, number: u64, line: &str) -> bool {
    let number = u32::try_from(number).ok().filter(|number| (1..=text.total()).contains(number));
    number.is_some_and(|number| {
        let whole = text.line(number);
        whole.strip_suffix('\n').unwrap_or(whole) == line
    })
}

/// The matching lines of a text.
pub(crate) fn lines_in_text(asked: &SearchFile, path: &str, text: &str) -> Result<InFile, Error> {
    let query = match asked.matching {
        Matching::Literal => Query::Literal,
        Matching::Regex => Query::Regex,
    };
    let finder = Finder::new(&asked.query, query, Case::Exact)?;
    let found = finder.find_text(text, extent_of(asked, path), &|| false);
    in_file(asked, path.to_owned(), (&finder, found), text.len() as u64)
}

/// How much of a file is shown.
fn extent_of(asked: &SearchFile, path: &str) -> Extent {
    Extent {
        matches: asked.max_matches,
        before: asked.before,
        after: asked.after,
        line_chars: LINE_CHARS,
        chars: asked.max_chars,
        label: if asked.with_path { label(path) } else { NUMBER_CHARS },
    }
}

fn in_file(
    asked: &SearchFile,
    path: String,
    (finder, found): (&Finder, Result<Matches, SearchError>),
    bytes: u64,
) -> Result<InFile, Error> {
    let found = match found {
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
        matching: asked.matching,
        given,
        truncated: found.total > given,
        lossy: found.lines.iter().any(|line| line.lossy),
        matches: found.total,
        lines: found.lines,
        bytes,
        notices: found.view.map(Notice::Decoded).into_iter().collect(),
    })
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
    use crate::{Call, Defined, LoggedSession, Outcome, Progress, Receipt, Settings, SymbolsFound};
    use readproof_core::{
        operation::{AnswerLimit, Audience, Caller, Freshness, ListSymbols, Operation, ReadSymbol},
        path::Bearings,
    };
    use readproof_disk::Root;
    use std::{cell::Cell, fs, path::Path};

    fn engine(path: &Path) -> Engine {
        let bearings = Bearings { cwd: path.to_str().unwrap().to_owned(), home: None };
        Engine::new(Root::open(path).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap()
    }

    fn ask(engine: &Engine, operation: Operation, control: Control<'_>) -> Result<Outcome<Option<Receipt>>, Error> {
        let (caller, conversation) = (&Caller::of("test"), &mut LoggedSession::default());
        engine.perform(Call { caller, conversation, operation, control })
    }

    #[test]
    fn a_search_is_given_up_when_nobody_waits() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("a"), "text\n").unwrap();
        let engine = engine(temp.path());
        let given_up = Control { cancelled: &|| true, ..Control::WAIT };
        for mode in [SearchMode::Text, SearchMode::Regex, SearchMode::Path, SearchMode::References] {
            let asked = Operation::Search(Search { query: "a".to_owned(), mode, ..Search::default() });
            assert!(matches!(ask(&engine, asked.clone(), given_up), Err(Error::Aborted)), "{mode:?}");
            let told = Cell::new(None);
            let listens = Control { progress: &|progress| told.set(Some(progress)), ..Control::WAIT };
            assert_eq!(Searched::try_from(ask(&engine, asked, listens).unwrap()).unwrap().looked_at, 1);
            assert_eq!(told.get(), Some(Progress { done: 1, total: None }));
        }
        let asked = SearchFile { path: "a".to_owned(), query: "t".to_owned(), ..SearchFile::default() };
        let asked = Operation::SearchFile(asked);
        assert!(matches!(ask(&engine, asked.clone(), given_up), Err(Error::Aborted)));
        assert_eq!(InFile::try_from(ask(&engine, asked, Control::WAIT).unwrap()).unwrap().matches, 1);
    }

    /// Two engines of one process, or two threads of one engine, share the index of symbols.
    #[test]
    fn two_threads_index_together() {
        let temp = tempfile::tempdir().unwrap();
        for n in 0..150 {
            fs::write(temp.path().join(format!("f{n}.rs")), format!("fn name{n}() {{}}\n")).unwrap();
        }
        let shared = engine(temp.path());
        for shares in [false, true] {
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let (path, shared) = (temp.path(), &shared);
                    scope.spawn(move || {
                        let own = engine(path);
                        (0..10)
                            .for_each(|round| index_and_read(if shares { shared } else { &own }, path, thread, round));
                    });
                }
            });
        }
    }

    fn index_and_read(engine: &Engine, path: &Path, thread: u32, round: u32) {
        let text = format!("fn of{thread}_{round}() {{}}\n");
        fs::write(path.join(format!("t{thread}.rs")), &text).unwrap();
        let asked =
            Operation::ListSymbols(ListSymbols { query: None, path: None, kind: None, glob: None, limit: Some(10) });
        let found = SymbolsFound::try_from(ask(engine, asked, Control::WAIT).unwrap()).unwrap();
        assert!(found.total >= 151 && found.notices.is_empty(), "{} {:?}", found.total, found.notices);
        let asked = Operation::ReadSymbol(ReadSymbol {
            target: format!("of{thread}_{round}"),
            path: None,
            include_context: false,
            most: AnswerLimit::NONE,
            freshness: Freshness::Known,
            audience: Audience::Model,
        });
        let Defined { resolved, .. } = ask(engine, asked, Control::WAIT).unwrap().into_defined().unwrap();
        assert_eq!((resolved.path, resolved.others), (format!("t{thread}.rs"), 0));
    }
}
