//! Parses within bounds that depend on the text alone, so that a given text is always parsed or always given up. The parser
//! reports how many steps it has taken, but not their cost: with one error after another, or many unfinished constructs, a
//! step may cost as much as everything before it, in time and memory. So these two are watched as well.

use std::{
    cell::Cell,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicIsize, AtomicUsize, Ordering},
    },
};

use tree_sitter::{LogType, ParseOptions, ParseState, Parser, Point, Tree};

use super::NoOutline;

/// Reports that any text may take. The parser reports every hundred steps.
const REPORTS: usize = 200;

/// A text may take one more report for so many bytes. Real source takes at most one for 32 bytes.
const BYTES_A_REPORT: usize = 25;

/// The most reports of any text, as each may allocate more than ten kilobytes. A table of 1.5 MB takes 11,000.
const MOST_REPORTS: usize = 16_000;

/// Bytes handed to the parser at once.
const CHUNK_BYTES: usize = 4096;

/// Chunks that may be read of any text: after each look at the end, reading starts over.
const READS: usize = 4096;

/// How often each chunk may be read. A scanner that repeatedly looks far ahead takes time that no report shows.
const READS_A_CHUNK: usize = 64;

/// One report of so many is observed through the parser's log, which makes parsing twenty times slower. A text of 10 KB takes
/// about 100 reports, so most files are parsed without it.
const SAMPLE: usize = 160;

/// The same after a report full of errors.
const SAMPLE_AGAIN: usize = 4;

/// So many errors in one report suggest that the text is in another language, or in none. Real source has at most 6, except
/// for lists of numbers that are included elsewhere.
const ERRORS: usize = 12;

/// A text is given up after so many such reports in a row.
const LOST: u32 = 4;

/// The parser's stack grows by at least this in one report if nothing is ever completed, as in `a?b:a?b:` without end.
const GROWN: isize = 8;

/// A text is given up after so many such reports in a row. Real source has at most 4.
const GROWING: u32 = 10;

/// The most brackets that may be open at once. The deepest real source has about 50.
const MOST_OPEN: usize = 1000;

/// The most `<` that may be open in one statement. The deepest real source has about 20.
const MOST_ANGLES: usize = 250;

/// Whether too many brackets are open at once for the parser. Ignores that some may be in strings or comments, as the parser
/// may see them otherwise.
pub(super) fn is_deep(text: &str) -> bool {
    // Nearly every text has too few to be deep, and counting is much faster than following them.
    let count = |of: &[u8]| text.bytes().filter(|byte| of.contains(byte)).count();
    if count(b"([{") <= MOST_OPEN && count(b"<") <= MOST_ANGLES {
        return false;
    }
    let (mut open, mut angles, mut before) = (0_usize, 0_usize, 0);
    for byte in text.bytes() {
        let arrow = matches!(before, b'-' | b'=');
        let second = before == b'<' && matches!(byte, b'<' | b'=' | b'-');
        before = if second { 0 } else { byte };
        match byte {
            // `<<`, `<=` or `<-`.
            _ if second => angles = angles.saturating_sub(1),
            b'(' | b'[' => open += 1,
            b'{' => (open, angles) = (open + 1, 0),
            b')' | b']' => open = open.saturating_sub(1),
            b'}' => (open, angles) = (open.saturating_sub(1), 0),
            b';' => angles = 0,
            b'<' => angles += 1,
            b'>' if !arrow => angles = angles.saturating_sub(1),
            _ => {}
        }
        if open > MOST_OPEN || angles > MOST_ANGLES {
            return true;
        }
    }
    false
}

/// Parses a text in a number of steps that is bounded by its length.
pub(super) fn parse(parser: &mut Parser, text: &str, cancelled: &dyn Fn() -> bool) -> Result<Tree, NoOutline> {
    parser.reset();
    let done = in_turns(parser, text, cancelled);
    parser.set_logger(None);
    if done.is_err() {
        // It may hold much memory for a text that was given up.
        parser.reset();
    }
    done
}

/// Parses with the log off and on, in turns.
fn in_turns(parser: &mut Parser, text: &str, cancelled: &dyn Fn() -> bool) -> Result<Tree, NoOutline> {
    let seen = Arc::new(Seen::default());
    let mut bounds = Bounds::new(text, cancelled);
    let (mut lost, mut growing, mut looking) = (0, 0, false);
    loop {
        let turn = match (looking, lost) {
            (true, _) => 1,
            (false, 0) => SAMPLE - 1,
            (false, _) => SAMPLE_AGAIN - 1,
        };
        if let Some(tree) = bounds.turn(parser, turn)? {
            return Ok(tree);
        }
        if looking {
            lost = if seen.errors.swap(0, Ordering::Relaxed) < ERRORS { 0 } else { lost + 1 };
            growing = if seen.grown.swap(0, Ordering::Relaxed) < GROWN { 0 } else { growing + 1 };
            if lost == LOST || growing == GROWING {
                return Err(NoOutline::TooHard);
            }
            parser.set_logger(None);
        } else {
            let seen = Arc::clone(&seen);
            parser.set_logger(Some(Box::new(move |kind, message| {
                if kind == LogType::Parse {
                    seen.note(message);
                }
            })));
        }
        looking = !looking;
    }
}

/// What the log showed in one report.
#[derive(Default)]
struct Seen {
    /// Errors that the parser recovered from.
    errors: AtomicUsize,
    /// Growth of the parser's stack.
    grown: AtomicIsize,
}

impl Seen {
    fn note(&self, message: &str) {
        if message.starts_with("shift ") {
            self.grown.fetch_add(1, Ordering::Relaxed);
        } else if message.starts_with("reduce ") {
            let pieces = message.rsplit(':').next().and_then(|count| count.parse::<isize>().ok()).unwrap_or(1);
            self.grown.fetch_sub(pieces.saturating_sub(1), Ordering::Relaxed);
        } else if ["resume version", "skip_token", "recover_"].iter().any(|start| message.starts_with(start)) {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The steps that a text has left.
struct Bounds<'a> {
    text: &'a str,
    cancelled: &'a dyn Fn() -> bool,
    reports: usize,
    reads: Cell<usize>,
}

impl<'a> Bounds<'a> {
    fn new(text: &'a str, cancelled: &'a dyn Fn() -> bool) -> Self {
        let reports = (REPORTS + text.len() / BYTES_A_REPORT).min(MOST_REPORTS);
        let reads = Cell::new(READS + READS_A_CHUNK * (text.len() / CHUNK_BYTES));
        Self { text, cancelled, reports, reads }
    }

    /// Parses for so many reports; `None` if there is more to parse.
    fn turn(&mut self, parser: &mut Parser, mut reports: usize) -> Result<Option<Tree>, NoOutline> {
        let Self { text, cancelled, reports: left, reads } = self;
        let stopped = Cell::new(None);
        let mut report = |_: &ParseState| {
            (*left, reports) = (left.saturating_sub(1), reports.saturating_sub(1));
            if *left == 0 {
                stopped.set(Some(NoOutline::TooHard));
            } else if cancelled() {
                stopped.set(Some(NoOutline::Cancelled));
            }
            let ends = stopped.get().is_some() || reports == 0;
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut report);
        let mut read = |at: usize, _: Point| {
            // An empty chunk ends a scan at once. A scanner may go through the whole text in a single step.
            reads.set(reads.get().saturating_sub(1));
            if stopped.get().is_none() && cancelled() {
                stopped.set(Some(NoOutline::Cancelled));
            }
            if reads.get() == 0 || stopped.get().is_some() { "" } else { chunk(text, at) }
        };
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        match stopped.get() {
            Some(why) => Err(why),
            None if reads.get() == 0 => Err(NoOutline::TooHard),
            None => Ok(tree),
        }
    }
}

/// A chunk of a text that ends at a character boundary.
fn chunk(text: &str, at: usize) -> &str {
    let end = text.len().min(at.saturating_add(CHUNK_BYTES));
    let end = (end..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    text.get(at..end).unwrap_or_default()
}
