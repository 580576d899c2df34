//! Searches a whole workspace: files that hold words, lines that match a pattern, files by their names, uses of a name. Files are looked at
//! on several cores, and the answer is the one that a single thread gives. Bounds are by size, never by clock.

mod rank;
mod references;
mod scan;
mod text;

pub use text::{NoWords, WordIndex, WordsBuilt, name_words};

use std::sync::atomic::{AtomicUsize, Ordering};

use readproof_core::operation::{Letters, SearchMode};
use readproof_disk::{MOST_BYTES, Root, Stream};

use crate::{
    BadQuery, BadWalk, Case, Extent, FileRules, Finder, LINE_BYTES, Line, Matches, Query, SearchError,
    grep::{decoded, label},
    walk::{WalkEntry, WalkRules, walk_by},
};
pub use rank::Fit;
use rank::{Best, Wanted, smart};
pub use references::{Uses, name_in};
use scan::{Cancelled, Desk, Met, scan};

/// The most characters given of one line.
const PREVIEW_CHARS: usize = 300;
/// The most matching lines shown of a ranked file.
const PREVIEWS: usize = 3;
/// The most files that are ranked, whatever is asked.
const MOST_RANKED: usize = 1000;

/// One search of a workspace.
#[derive(Clone, Copy)]
pub struct TreeSearch<'a> {
    /// The workspace.
    pub root: &'a Root,
    /// Which of its files are searched.
    pub rules: FileRules<'a>,
    /// What to find; not empty. For references a name, see [`name_in`].
    pub query: &'a str,
    /// How the query is meant.
    pub mode: SearchMode,
    /// Whether capital letters matter.
    pub letters: Letters,
    /// Where to look.
    pub walk: WalkRules<'a>,
    /// The most matching lines that are given, or files where they are ranked. All are counted.
    pub limit: usize,
    /// Lines given before and after each that matches, at most 1,000.
    pub context_lines: usize,
    /// The most characters that are given.
    pub max_chars: usize,
}

/// What was found in one file of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Words of the query that it lacks, where files are ranked by words.
    pub lacks: Vec<String>,
    /// The definitions that lines belong to, by the number of the line.
    pub within: Vec<(u64, String)>,
}

/// How many files and folders were left out of a search, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files larger than those that are read at once.
    pub large: u64,
    /// Files that are not text.
    pub binary: u64,
    /// Files and folders that cannot be read.
    pub unreadable: u64,
    /// Files whose names cannot be spelt as text.
    pub odd_names: u64,
    /// Folders whose ignore file is not a small regular file.
    pub folders: u64,
    /// Files whose names say that they hold secrets, and that were not asked for by name.
    pub sensitive: u64,
    /// Files with a line that is too long for the pattern.
    pub long_lines: u64,
}

/// What a search of a workspace gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeMatches {
    /// In the order of the walk, or the best first. References by kind: a file has one for each kind.
    pub hits: Vec<Hit>,
    /// Lines that match, or names, or files where they are ranked by words.
    pub matches: u64,
    /// Files that match.
    pub files: u64,
    /// Files that have every word, where they are ranked by words.
    pub complete: u64,
    /// Files that were looked at.
    pub looked_at: u64,
    /// Whether something that matches is not given: a line, or where files are ranked a file.
    pub truncated: bool,
    /// What was left out.
    pub skipped: Skipped,
    /// How the name is used, where references are searched.
    pub uses: Option<Uses>,
    /// Files that were read because the index of words does not cover them.
    pub uncovered: u64,
}

/// Why there is no result.
#[derive(Debug)]
pub enum TreeError {
    /// The caller no longer wants it.
    Cancelled,
    /// The query is malformed or too large.
    Query(BadQuery),
    /// The workspace cannot be walked as asked.
    Walk(BadWalk),
}

impl From<Cancelled> for TreeError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<BadQuery> for TreeError {
    fn from(error: BadQuery) -> Self {
        Self::Query(error)
    }
}

impl From<BadWalk> for TreeError {
    fn from(error: BadWalk) -> Self {
        Self::Walk(error)
    }
}

/// Why a file was not searched.
enum Skip {
    Cancelled,
    Sensitive,
    Unreadable,
    Large,
    Binary,
    LongLine,
}

/// What was seen in a file.
type Seen<T> = Result<T, Skip>;

impl From<Cancelled> for Skip {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl TreeSearch<'_> {
    /// Searches. `progress` is told how many files are done.
    ///
    /// # Errors
    /// For a query or a glob that is malformed. What cannot be read is counted instead.
    pub fn run(&self, cancelled: &dyn Fn() -> bool, progress: &dyn Fn(u64)) -> Result<TreeMatches, TreeError> {
        self.run_on(scan::threads(), None, cancelled, progress)
    }

    /// The same with the index of words, which changes nothing but the time it takes.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_with(
        &self,
        words: &mut WordIndex,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64),
    ) -> Result<TreeMatches, TreeError> {
        self.run_on(scan::threads(), Some(words), cancelled, progress)
    }

    fn run_on(
        &self,
        threads: usize,
        words: Option<&mut WordIndex>,
        cancelled: &dyn Fn() -> bool,
        progress: &dyn Fn(u64),
    ) -> Result<TreeMatches, TreeError> {
        let mut out = TreeMatches::default();
        let under_way = UnderWay { search: self, threads, cancelled, progress };
        match self.mode {
            SearchMode::Regex => under_way.lines(&mut out)?,
            SearchMode::Text => under_way.texts(&mut out, words)?,
            SearchMode::Path => under_way.names(&mut out)?,
            SearchMode::References => under_way.references(&mut out)?,
        }
        Ok(out)
    }

    /// Opens a file that the walk has met, if it is still one, not too large and not sensitive, unless asked for by name.
    fn open(&self, name: &str) -> Seen<Stream> {
        let (root, rules) = (self.root, &self.rules);
        let opened = root.locate_open(&[root.absolute(name)]).ok();
        // Without a handle a link has taken its place since.
        let (file, opened) = opened.and_then(|(file, opened)| Some((file, opened?))).ok_or(Skip::Unreadable)?;
        let is_glob = self.walk.glob.is_some_and(|glob| glob.strip_prefix('/').unwrap_or(glob) == name);
        let is_named = is_glob || self.walk.under == Some(name);
        if !is_named && rules.sensitive.is_sensitive_opened(&file, &opened) {
            return Err(Skip::Sensitive);
        }
        let stream = root.stream(&file, Some(opened), rules.snapshot.hard_links).map_err(|_| Skip::Unreadable)?;
        if stream.stat().len > rules.snapshot.max_bytes.min(MOST_BYTES) { Err(Skip::Large) } else { Ok(stream) }
    }

    /// The lines of a file that match.
    fn lines_of(&self, finder: &Finder, path: &str, left: &Left, desk: &Desk<'_>) -> Seen<Matches> {
        let stream = self.open(path)?;
        let _held = desk.hold(stream.stat().len)?;
        let extent = self.extent(left.matches(), left.chars(), path);
        finder.find_in(&stream, extent, desk.cancelled).map_err(|error| match error {
            SearchError::Cancelled => Skip::Cancelled,
            SearchError::Binary(_) => Skip::Binary,
            SearchError::LongLine if finder.line_bytes() < LINE_BYTES => Skip::LongLine,
            SearchError::LongLine => Skip::Large,
            SearchError::Io(_) => Skip::Unreadable,
        })
    }

    fn extent(&self, matches: usize, chars: usize, path: &str) -> Extent {
        let around = self.context_lines;
        Extent { matches, before: around, after: around, line_chars: PREVIEW_CHARS, chars, label: label(path) }
    }
}

/// The text of a file, without a byte order mark.
fn text_of(stream: &Stream, cancelled: &dyn Fn() -> bool) -> Seen<Vec<u8>> {
    let len = usize::try_from(stream.stat().len).unwrap_or(usize::MAX);
    let bytes = stream.at(0, len).map_err(|_| Skip::Unreadable)?;
    let mut text = decoded(bytes, cancelled).ok_or(Skip::Cancelled)?;
    if memchr::memchr(0, &text).is_some() {
        return Err(Skip::Binary);
    }
    if text.starts_with(b"\xef\xbb\xbf") {
        text.drain(..3);
    }
    Ok(text)
}

fn case_of(letters: Letters, query: &str, by_mode: Case) -> Case {
    match letters {
        Letters::ByMode => by_mode,
        Letters::Exact => Case::Exact,
        Letters::Any => Case::Folded,
        Letters::Smart => smart(query),
    }
}

/// What may still be given. Threads that look ahead see it too large, never too small.
struct Left {
    matches: AtomicUsize,
    chars: AtomicUsize,
}

impl Left {
    fn matches(&self) -> usize {
        self.matches.load(Ordering::Relaxed)
    }

    fn chars(&self) -> usize {
        self.chars.load(Ordering::Relaxed)
    }

    /// Whether lines that were looked for when there was more left are those that would be found now.
    fn fits(&self, found: &Matches) -> bool {
        let matches = usize::try_from(found.total).is_ok_and(|total| total <= self.matches());
        matches && found.chars <= self.chars() && !found.dropped
    }

    fn take(&self, found: &Matches) {
        // Nothing after a line that was left out is given, so that what is given is the beginning.
        let given = usize::try_from(found.given()).unwrap_or(usize::MAX);
        let left = if found.given() < found.total { 0 } else { self.matches().saturating_sub(given) };
        self.matches.store(left, Ordering::Relaxed);
        self.chars.store(self.chars().saturating_sub(found.chars), Ordering::Relaxed);
    }
}

/// One search under way.
struct UnderWay<'a> {
    search: &'a TreeSearch<'a>,
    threads: usize,
    cancelled: &'a dyn Fn() -> bool,
    progress: &'a dyn Fn(u64),
}

impl UnderWay<'_> {
    /// Looks at every file. What was seen in those that were searched goes to `take`, in the order of the walk.
    fn each<T: Send>(
        &self,
        out: &mut TreeMatches,
        look: &(impl Fn(&str, &Desk<'_>) -> Seen<T> + Sync),
        take: &mut impl FnMut(&mut TreeMatches, String, T, &Desk<'_>) -> Seen<()>,
    ) -> Result<(), TreeError> {
        if (self.cancelled)() {
            return Err(TreeError::Cancelled);
        }
        let mut walk = walk_by(self.search.root, &self.search.walk)?;
        self.each_of(&mut walk, out, look, take)?;
        out.skipped.folders = walk.closed();
        Ok(())
    }

    /// The same for files that are known already.
    fn each_of<T: Send>(
        &self,
        walk: &mut impl Iterator<Item = WalkEntry>,
        out: &mut TreeMatches,
        look: &(impl Fn(&str, &Desk<'_>) -> Seen<T> + Sync),
        take: &mut impl FnMut(&mut TreeMatches, String, T, &Desk<'_>) -> Seen<()>,
    ) -> Result<(), TreeError> {
        scan(self.threads, walk, self.cancelled, look, &mut |met, desk| {
            let (name, seen) = match met {
                Met::File(name, seen) => (name, seen),
                Met::OddName => {
                    out.skipped.odd_names += 1;
                    return Ok(());
                }
                Met::Unreadable => {
                    out.skipped.unreadable += 1;
                    return Ok(());
                }
            };
            match seen.and_then(|seen| take(out, name, seen, desk)) {
                Ok(()) => {}
                Err(Skip::Cancelled) => return Err(Cancelled),
                Err(Skip::Sensitive) => out.skipped.sensitive += 1,
                Err(Skip::Unreadable) => out.skipped.unreadable += 1,
                Err(Skip::Large) => out.skipped.large += 1,
                Err(Skip::Binary) => out.skipped.binary += 1,
                Err(Skip::LongLine) => out.skipped.long_lines += 1,
            }
            out.looked_at += 1;
            (self.progress)(out.looked_at);
            Ok(())
        })?;
        Ok(())
    }

    fn lines(&self, out: &mut TreeMatches) -> Result<(), TreeError> {
        let search = self.search;
        let case = case_of(search.letters, search.query, Case::Exact);
        let finder = Finder::for_threads(self.threads, &[search.query], Query::Regex, case)?;
        let left = Left { matches: AtomicUsize::new(search.limit), chars: AtomicUsize::new(search.max_chars) };
        let look = |path: &str, desk: &Desk<'_>| search.lines_of(&finder, path, &left, desk);
        self.each(out, &look, &mut |out, path, found, desk| {
            let mut found = found;
            if left.matches() == 0 {
                (found.lines, found.chars) = (Vec::new(), 0);
            } else if found.total > 0 && !left.fits(&found) {
                found = look(&path, desk)?;
            }
            if found.total == 0 {
                return Ok(());
            }
            (out.matches, out.files) = (out.matches + found.total, out.files + 1);
            out.truncated |= found.given() < found.total;
            left.take(&found);
            if !found.lines.is_empty() {
                out.hits.push(Hit {
                    path,
                    score: None,
                    fit: None,
                    matches: found.total,
                    lines: found.lines,
                    ..Hit::default()
                });
            }
            Ok(())
        })
    }

    /// No file is opened, so one thread does it.
    fn names(&self, out: &mut TreeMatches) -> Result<(), TreeError> {
        let mut best = Best::new(self.search.limit.min(MOST_RANKED));
        let alone = UnderWay { threads: 1, ..*self };
        let wanted = Wanted::new(self.search.query.trim())?;
        alone.each(out, &|_, _| Ok(()), &mut |out, path, (), _| {
            let Some(fit) = wanted.fit(&path) else { return Ok(()) };
            (out.matches, out.files) = (out.matches + 1, out.files + 1);
            let score = fit.score(&path);
            best.offer(score, || Hit { path, score: Some(score), fit: Some(fit), matches: 1, ..Hit::default() });
            Ok(())
        })?;
        self.fit(out, best.into_values().collect());
        Ok(())
    }

    /// The best files that an answer holds, each with as many of its lines as still fit.
    fn fit(&self, out: &mut TreeMatches, hits: Vec<Hit>) {
        let mut left = self.search.max_chars;
        for mut hit in hits {
            let label = label(&hit.path);
            let Some(rest) = left.checked_sub(label) else { break };
            left = rest;
            let cost = |line: &Line| line.text.chars().count().saturating_add(label);
            if hit.lines.iter().map(cost).sum::<usize>() > left {
                // Matches before their context.
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
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use readproof_disk::{HardLinks, STANDARD_PATTERNS, Sensitive, SnapshotRules};
    use std::{cell::Cell, fmt::Write, fs, time::Instant};
    use tempfile::TempDir;

    struct World {
        _temp: TempDir,
        root: Root,
        sensitive: Sensitive,
    }

    /// Numbers that look random and are the same every time.
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 16).unwrap() % below
        }
    }

    impl World {
        /// Files of many sizes, some of which are left out, so that threads overtake each other.
        fn new(files: usize) -> Self {
            let temp = tempfile::tempdir().unwrap();
            let mut below = numbers();
            for n in 0..files {
                let folder = temp.path().join(format!("d{}/e{}", n % 7, n % 3));
                fs::create_dir_all(&folder).unwrap();
                let lines = if below(40) == 0 { 20_000 } else { below(60) };
                let mut text = String::new();
                for line in 0..lines {
                    let word = ["alpha", "beta", "gamma", "Alpha beta", "delta"][below(5)];
                    writeln!(text, "{line} {word} {}", "x".repeat(below(90))).unwrap();
                }
                let (name, bytes) = match below(30) {
                    0 => (format!("f{n}.bin"), [text.as_bytes(), b"\0"].concat()),
                    1 => (format!("f{n}.txt"), [b"\xff\xfe", text.as_bytes()].concat()),
                    2 => (format!("id_rsa{n}.pem"), text.into_bytes()),
                    3 => (format!("f{n}.txt"), [text.as_bytes(), b"alpha ", &b"y".repeat(100_000), b"\xff\n"].concat()),
                    4..13 => {
                        (format!("alpha{n}.c"), text.replace("beta", "beta();").replace("gamma", "//").into_bytes())
                    }
                    _ => (format!("alpha{n}.txt"), text.into_bytes()),
                };
                fs::write(folder.join(name), bytes).unwrap();
            }
            let root = Root::open(temp.path()).unwrap();
            Self { _temp: temp, root, sensitive: Sensitive::new(STANDARD_PATTERNS).unwrap() }
        }

        fn search<'a>(&'a self, query: &'a str, mode: SearchMode) -> TreeSearch<'a> {
            let snapshot = SnapshotRules { max_bytes: 1_100_000, hard_links: HardLinks::Allow };
            let rules = FileRules { snapshot, sensitive: &self.sensitive };
            let (limit, max_chars) = (mode.limit(), 40_000);
            TreeSearch {
                root: &self.root,
                rules,
                query,
                mode,
                letters: Letters::ByMode,
                walk: WalkRules::default(),
                limit,
                context_lines: 0,
                max_chars,
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let world = World::new(400);
        let mut below = numbers();
        let (mut cut, mut whole, mut skipped) = (0, 0, false);
        for round in 0..72 {
            let mode = [
                SearchMode::Regex,
                SearchMode::References,
                SearchMode::Regex,
                SearchMode::Text,
                SearchMode::Path,
                SearchMode::References,
            ][round % 6];
            let query = ["alpha", "a", "^1?[05] .*beta", "nowhere", "delta x", "gamma$|y{9}"][below(6)];
            let query = if mode == SearchMode::References { ["alpha", "beta", "x"][below(3)] } else { query };
            let search = TreeSearch {
                limit: [0, 1, 3, 100, 2_000, 1_000_000, 1_000_000][below(7)],
                max_chars: [0, 400, 5_000, 40_000, 100_000_000, 100_000_000][below(6)],
                context_lines: [0, 0, 1, 5][below(4)],
                walk: WalkRules {
                    glob: [None, None, Some("*.txt"), Some("d[0-3]/**")][below(4)],
                    ..WalkRules::default()
                },
                ..world.search(query, mode)
            };
            let one = search.run_on(1, None, &|| false, &|_| ()).unwrap();
            for threads in [2, 3, 8] {
                let told = Cell::new(0);
                let found = search.run_on(threads, None, &|| false, &|files| {
                    assert_eq!(files, told.replace(files) + 1);
                });
                assert_eq!(found.unwrap(), one, "{query} {mode:?} {threads}");
                assert_eq!(told.get(), one.looked_at);
            }
            cut += usize::from(one.truncated && !one.hits.is_empty());
            whole += usize::from(!one.truncated && !one.hits.is_empty());
            let Skipped { sensitive, binary, large, .. } = one.skipped;
            skipped |= sensitive > 0 && binary > 0 && large > 0;
        }
        assert!(cut > 9 && whole > 4 && skipped, "{cut} {whole} {skipped}");
    }

    /// Lines that were found with more room are given only if those found with less are the same.
    #[test]
    fn what_still_fits_is_what_would_be_found() {
        let mut below = numbers();
        let finder = Finder::new("a", Query::Literal, Case::Exact).unwrap();
        let mut fitting = 0;
        for _ in 0..20_000 {
            let text: String = (0..below(12)).map(|_| ["a\n", "bb\n", "cccccccc\n", "a a\n"][below(4)]).collect();
            let (before, after, label) = (below(3), below(3), below(2));
            let more = Extent { matches: below(8), before, after, line_chars: 99, chars: below(20), label };
            let less = Extent { matches: below(more.matches + 1), chars: below(more.chars + 1), ..more };
            let ahead = finder.find(text.as_bytes(), more).unwrap();
            let now = finder.find(text.as_bytes(), less).unwrap();
            let left = Left { matches: AtomicUsize::new(less.matches), chars: AtomicUsize::new(less.chars) };
            if left.fits(&ahead) {
                assert_eq!(ahead, now, "{text:?} {more:?} {less:?}");
                fitting += 1;
            }
        }
        assert!(fitting > 1000, "{fitting}");
    }

    #[test]
    fn a_search_nobody_waits_for_ends_at_once() {
        let world = World::new(400);
        for mode in [SearchMode::Regex, SearchMode::Text, SearchMode::Path, SearchMode::References] {
            for (threads, most) in [(1, 3), (1, 100), (4, 3), (4, 30), (4, 60)] {
                let names = mode == SearchMode::References;
                let search = world.search(if names { "alpha" } else { "(alpha|beta).*(x|nothing)" }, mode);
                let asked = Cell::new(0);
                let cancelled = || asked.replace(asked.get() + 1) >= most;
                let found = search.run_on(threads, None, &cancelled, &|_| ());
                assert!(matches!(found, Err(TreeError::Cancelled)), "{mode:?} {threads} {most}");
            }
        }
    }

    /// A thread that has begun on a large file hears of it too.
    #[test]
    fn a_large_file_is_left_when_nobody_waits() {
        let world = World::new(40);
        let line = "alpha beta ".repeat(40);
        fs::write(world.root.path().join("zz.txt"), format!("{line}\n").repeat(60_000)).unwrap();
        let search = world.search("(?:a|b|l)+(?:p|h|e){2}.*nowhere", SearchMode::Regex);
        let rules = FileRules {
            snapshot: SnapshotRules { max_bytes: 1 << 30, hard_links: HardLinks::Allow },
            sensitive: &world.sensitive,
        };
        let search = TreeSearch { rules, ..search };
        let last = Cell::new(None);
        let cancelled = || last.get().is_some_and(|at: Instant| at.elapsed().as_millis() > 30);
        let found = search.run_on(2, None, &cancelled, &|files| {
            if files == 40 {
                last.set(Some(Instant::now()));
            }
        });
        if matches!(found, Err(TreeError::Cancelled)) {
            let took = last.get().unwrap().elapsed().as_millis();
            assert!(took < 2_000, "{took} ms");
        }
    }
}
