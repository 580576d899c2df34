//! Finding: what a name leads to, lines in one file, lines, files and names in the whole workspace. Reads in blocks or up
//! to the largest file that is read at once. Nothing is held of what was found, and what is held of those lines under another
//! text goes. Bounds are by size, never by clock.

use readproof_core::{
    operation::{Matching, Search, SearchFile, SearchMode},
    path::{candidates, meant},
    text::NotText,
};
use readproof_disk::{FileKind, FileRef, LocateError, MOST_BYTES, SessionName, SnapshotError, Stream};
use readproof_index::{Best, Case, Entry, Extent, Finder, Fit, Found, LINE_BYTES, Line, Query, Words, fit, walk};
use std::{cell::Cell, io};

use crate::{Control, Engine, Error, read::Glimpse};

/// The most characters given of one line in a file.
const LINE_CHARS: usize = 2000;
/// The most characters given of one line of a search.
const PREVIEW_CHARS: usize = 300;
/// The most matching lines shown of a ranked file.
const PREVIEWS: usize = 3;
/// The most files that are ranked, whatever is asked.
const MOST_RANKED: usize = 1000;
/// Characters beside path and text in one printed line: a number and what stands around it.
const NUMBER_CHARS: usize = 16;

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

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFile {
    /// By its name in the workspace.
    pub path: String,
    /// As asked.
    pub query: String,
    /// As asked.
    pub matching: Matching,
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

/// What was found in one file of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// By its name in the workspace. Any character may stand in it: escape it where a person reads it.
    pub path: String,
    /// What it is ranked by, where files are ranked; more is better.
    pub score: Option<u64>,
    /// How its name fits, where names are searched.
    pub fit: Option<Fit>,
    /// Lines that match.
    pub matches: u64,
    /// Some of them, with those around them, in order.
    pub lines: Vec<Line>,
}

/// What was left out of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files larger than those that are read at once.
    pub large: u64,
    /// Files that are no text.
    pub binary: u64,
    /// Files and folders that cannot be read.
    pub unreadable: u64,
    /// Files whose names are no UTF-8.
    pub odd_names: u64,
    /// Folders whose ignore file is no small regular file.
    pub folders: u64,
    /// Files whose names say that they hold secrets, and that were not asked for by name.
    pub sensitive: u64,
    /// Files with a line that is too long for the pattern.
    pub long_lines: u64,
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
    /// What a name leads to. Nothing is opened and no line is counted; that it leads nowhere is an answer.
    pub(crate) fn stat(&self, path: &str) -> Result<FileStat, Error> {
        if path.is_empty() {
            return Err(Error::EmptyPath);
        }
        self.refuse_back_through_link(path)?;
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
    pub(crate) fn search_file(
        &self,
        log: Option<&SessionName>,
        asked: &SearchFile,
        control: &Control<'_>,
    ) -> Result<InFile, Error> {
        let call = self.asked_in(log);
        let mut found = self.lines_in(asked, control)?;
        let shown = Glimpse::found(&found.path, &found.lines);
        found.notices = self.saw(log, call, [shown].into_iter());
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
        // A number for the offset, so that `:10-20` is no range here but part of the name.
        let target = self.resolve_target(&asked.path, Some(1), None)?;
        let path = target.file.key().to_string();
        let stream = self.root.stream(&target.file, target.opened, self.hard_links())?;
        let extent = Extent {
            matches: asked.max_matches,
            before: asked.before,
            after: asked.after,
            line_chars: LINE_CHARS,
            chars: asked.max_chars,
            label: if asked.with_path { label(&path) } else { NUMBER_CHARS },
        };
        let found = match in_stream(&finder, &stream, extent, control) {
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
            bytes: stream.stat().len,
            notices: Vec::new(),
        })
    }

    /// Searches the workspace by ripgrep's rules for what is ignored. What cannot be read is counted.
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
        Ok(found)
    }

    fn searched(&self, asked: &Search, control: &Control<'_>) -> Result<Searched, Error> {
        let empty = match asked.mode {
            SearchMode::Regex => asked.query.is_empty(),
            SearchMode::Text | SearchMode::Path => asked.query.trim().is_empty(),
        };
        if empty {
            return Err(Error::EmptyQuery);
        }
        let mut out = Searched { query: asked.query.clone(), mode: asked.mode, ..Searched::default() };
        let tree = Tree { engine: self, asked, control };
        match asked.mode {
            SearchMode::Regex => tree.lines(&mut out)?,
            SearchMode::Text => tree.texts(&mut out)?,
            SearchMode::Path => tree.names(&mut out)?,
        }
        out.top = out.hits.iter().map(|hit| hit.path.clone()).collect();
        Ok(out)
    }

    /// A file that the walk has met, if it is still one, not too large and, unless it `is_named`, not sensitive.
    fn met(&self, name: &str, is_named: bool, skipped: &mut Skipped) -> Option<Stream> {
        let opened = self.root.locate_open(&[self.root.absolute(name)]).ok();
        // Without a handle a link has taken its place since.
        let opened = opened.and_then(|(file, opened): (FileRef, _)| Some((file, Some(opened?))));
        let is_secret = |(file, _): &(FileRef, _)| self.sensitive.is_sensitive(&self.root, file);
        if !is_named && opened.as_ref().is_some_and(is_secret) {
            skipped.sensitive += 1;
            return None;
        }
        let stream = opened.and_then(|(file, opened)| self.root.stream(&file, opened, self.hard_links()).ok());
        let Some(stream) = stream else {
            skipped.unreadable += 1;
            return None;
        };
        if stream.stat().len > self.settings.file_bytes.min(MOST_BYTES) {
            skipped.large += 1;
            return None;
        }
        Some(stream)
    }
}

/// One search under way.
struct Tree<'a> {
    engine: &'a Engine,
    asked: &'a Search,
    control: &'a Control<'a>,
}

impl Tree<'_> {
    /// Every file in the order of the walk.
    fn each(
        &self,
        out: &mut Searched,
        mut look: impl FnMut(&mut Searched, String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.control.check_cancelled()?;
        let mut walk = walk(&self.engine.root, self.asked.glob.as_deref())?;
        for entry in &mut walk {
            self.control.check_cancelled()?;
            match entry {
                Entry::File(name) => {
                    look(out, name)?;
                    out.looked_at += 1;
                    self.control.tell(out.looked_at, None);
                }
                Entry::Other => {}
                Entry::OddName => out.skipped.odd_names += 1,
                Entry::Unreadable => out.skipped.unreadable += 1,
            }
        }
        out.skipped.folders = walk.closed();
        Ok(())
    }

    /// Whether the caller asked for this very file.
    fn is_named(&self, path: &str) -> bool {
        self.asked.glob.as_deref().is_some_and(|glob| glob.strip_prefix('/').unwrap_or(glob) == path)
    }

    fn limit(&self) -> usize {
        self.asked.limit.unwrap_or_else(|| self.asked.mode.limit())
    }

    fn lines(&self, out: &mut Searched) -> Result<(), Error> {
        let finder = Finder::new(&self.asked.query, Query::Regex, Case::Exact)?;
        let (mut left, mut chars) = (self.limit(), self.asked.max_chars);
        self.each(out, |out, path| {
            let Some(stream) = self.engine.met(&path, self.is_named(&path), &mut out.skipped) else { return Ok(()) };
            let extent = self.preview(left, chars, &path);
            let Some(found) = self.found(&finder, &stream, extent, &mut out.skipped)? else { return Ok(()) };
            if found.total == 0 {
                return Ok(());
            }
            (out.matches, out.files) = (out.matches + found.total, out.files + 1);
            if found.given() < found.total {
                // Nothing that stands behind a line left out is given, so what is given is the beginning.
                (out.truncated, left) = (true, 0);
            }
            left = left.saturating_sub(usize::try_from(found.given()).unwrap_or(usize::MAX));
            chars = chars.saturating_sub(found.chars);
            if !found.lines.is_empty() {
                out.hits.push(Hit { path, score: None, fit: None, matches: found.total, lines: found.lines });
            }
            Ok(())
        })
    }

    fn texts(&self, out: &mut Searched) -> Result<(), Error> {
        let words = Words::new(&self.asked.query)?;
        let mut best = Best::new(self.limit().min(MOST_RANKED));
        self.each(out, |out, path| {
            let Some(stream) = self.engine.met(&path, self.is_named(&path), &mut out.skipped) else { return Ok(()) };
            let len = usize::try_from(stream.stat().len).unwrap_or(usize::MAX);
            let Ok(bytes) = stream.at(0, len) else {
                out.skipped.unreadable += 1;
                return Ok(());
            };
            if bytes.contains(&0) || is_utf16(&bytes) {
                out.skipped.binary += 1;
                return Ok(());
            }
            let Some(text) = words.of(&bytes) else { return Ok(()) };
            let extent = self.preview(PREVIEWS, self.asked.max_chars, &path);
            let Ok(found) = text.finder.find(&*bytes, extent) else {
                out.skipped.large += 1;
                return Ok(());
            };
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            (out.matches, out.files) = (out.matches + found.total, out.files + 1);
            let score = words.score(&path, text.phrase, found.total, lines);
            best.offer(score, || {
                let (matches, lines) = (found.total, found.lines);
                Hit { path, score: Some(score), fit: None, matches, lines }
            });
            Ok(())
        })?;
        self.ranked(out, best);
        Ok(())
    }

    fn names(&self, out: &mut Searched) -> Result<(), Error> {
        let mut best = Best::new(self.limit().min(MOST_RANKED));
        self.each(out, |out, path| {
            let Some(fit) = fit(&path, self.asked.query.trim()) else { return Ok(()) };
            (out.matches, out.files) = (out.matches + 1, out.files + 1);
            let score = fit.score(&path);
            best.offer(score, || Hit { path, score: Some(score), fit: Some(fit), matches: 1, lines: Vec::new() });
            Ok(())
        })?;
        self.ranked(out, best);
        Ok(())
    }

    /// The best that an answer holds: of a file that is given, as many lines as still fit.
    fn ranked(&self, out: &mut Searched, best: Best<Hit>) {
        let mut left = self.asked.max_chars;
        for mut hit in best.into_values() {
            let label = label(&hit.path);
            let Some(rest) = left.checked_sub(label) else { break };
            left = rest;
            let cost = |line: &Line| line.text.chars().count().saturating_add(label);
            if hit.lines.iter().map(cost).sum::<usize>() > left {
                // Matches before what stands around them.
                hit.lines.retain(|line| line.matches);
                out.truncated = true;
            }
            hit.lines.retain(|line| {
                let rest = left.checked_sub(cost(line));
                left = rest.unwrap_or(left);
                rest.is_some()
            });
            out.hits.push(hit);
        }
        out.truncated |= out.files > out.hits.len() as u64;
    }

    fn preview(&self, matches: usize, chars: usize, path: &str) -> Extent {
        let around = self.asked.context_lines;
        Extent { matches, before: around, after: around, line_chars: PREVIEW_CHARS, chars, label: label(path) }
    }

    /// What cannot be searched is counted.
    fn found(
        &self,
        finder: &Finder,
        stream: &Stream,
        extent: Extent,
        skipped: &mut Skipped,
    ) -> Result<Option<Found>, Error> {
        let count = match in_stream(finder, stream, extent, self.control) {
            Ok(found) => return Ok(Some(found)),
            Err(SearchError::Cancelled) => return Err(Error::Aborted),
            Err(SearchError::Binary(_)) => &mut skipped.binary,
            Err(SearchError::LongLine) if finder.line_bytes() < LINE_BYTES => &mut skipped.long_lines,
            Err(SearchError::LongLine) => &mut skipped.large,
            Err(SearchError::Io(_)) => &mut skipped.unreadable,
        };
        *count += 1;
        Ok(None)
    }
}

/// What a path takes of each line that is printed with it, escaped if need be.
fn label(path: &str) -> usize {
    path.escape_default().count() + NUMBER_CHARS
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

/// The engine would read it by its byte-order mark; nothing else here does, so its lines could not be read afterwards.
fn is_utf16(start: &[u8]) -> bool {
    start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff")
}

/// Why a file was not searched.
enum SearchError {
    Cancelled,
    LongLine,
    Binary(NotText),
    Io(io::Error),
}

fn in_stream(finder: &Finder, stream: &Stream, extent: Extent, control: &Control<'_>) -> Result<Found, SearchError> {
    let (stopped, encoded) = (Cell::new(false), Cell::new(false));
    let blocks = Blocks { stream, at: 0, end: stream.stat().len, control, stopped: &stopped, encoded: &encoded };
    match finder.find(blocks, extent) {
        Ok(found) => match found.binary {
            Some(at) => Err(SearchError::Binary(NotText::Nul(usize::try_from(at).unwrap_or(usize::MAX)))),
            None => Ok(found),
        },
        Err(_) if stopped.get() => Err(SearchError::Cancelled),
        Err(_) if encoded.get() => Err(SearchError::Binary(NotText::Encoding(0))),
        Err(error) if error.raw_os_error().is_none() => Err(SearchError::LongLine),
        Err(error) => Err(SearchError::Io(error)),
    }
}

/// A file in blocks, up to the length it had when it was opened: one that grows is not followed.
struct Blocks<'a> {
    stream: &'a Stream,
    at: u64,
    end: u64,
    control: &'a Control<'a>,
    stopped: &'a Cell<bool>,
    /// Whether it begins as UTF-16 does.
    encoded: &'a Cell<bool>,
}

impl io::Read for Blocks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if (self.control.cancelled)() {
            self.stopped.set(true);
            return Err(io::ErrorKind::Other.into());
        }
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(0);
        }
        let bytes = self.stream.at(self.at, into.len().min(left))?;
        if self.at == 0 && is_utf16(&bytes) {
            self.encoded.set(true);
            return Err(io::ErrorKind::Other.into());
        }
        into[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        Ok(bytes.len())
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
    use std::{fs, path::Path};

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
        for mode in [SearchMode::Text, SearchMode::Regex, SearchMode::Path] {
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

    /// Two engines of one process, or two threads of one engine, share the index of symbols and wait for each other.
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
        let asked = Operation::ListSymbols(ListSymbols { query: None, glob: None, limit: 10 });
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
