//! Parsing with bounds that follow from the text alone, so that the same text is always given up or always parsed. The parser
//! says how many steps it has taken, but not what they cost: where it meets one error after another, or holds many open
//! ends, a step costs as much as all that came before it, in time and in memory. So both are looked for as well.

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

/// How often the parser may report on a text whatever its length; it does so every hundred steps.
const REPORTS: usize = 200;

/// Bytes of a text that may cost one report more. Source takes at most a report for 32 bytes.
const BYTES_A_REPORT: usize = 25;

/// The most reports whatever its length: each may leave more than ten kilobytes behind. A table of a megabyte and a half
/// takes 11,000.
const MOST_REPORTS: usize = 16_000;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 4096;

/// How often a text may be read whatever its length: after each look at its end, reading starts over.
const READS: usize = 4096;

/// How often each chunk may be read: a scanner that looks far ahead again and again takes time that no step shows.
const READS_A_CHUNK: usize = 64;

/// What the parser does is looked at in one report of so many, as to look takes twenty times as long as to parse.
const SAMPLE: usize = 80;

/// The same behind a report full of errors.
const SAMPLE_AGAIN: usize = 4;

/// So many errors in one report are a sign of a text in another language, or in none. Source has at most 6, but for lists of
/// numbers that are included elsewhere.
const ERRORS: usize = 12;

/// After so many such reports in a row a text is given up.
const LOST: u32 = 4;

/// What the parser holds grows by at least this in one report where nothing is ended, such as `a?b:a?b:` without end.
const GROWN: isize = 8;

/// After so many such reports in a row a text is given up. Source has at most 9.
const GROWING: u32 = 20;

/// The most brackets that may be open at once. The deepest source has some 50.
const MOST_OPEN: usize = 1000;

/// The most `<` that may be open in one statement. The deepest source has some 20.
const MOST_ANGLES: usize = 250;

/// Whether so many brackets are open at once that the parser may not get through. Takes no notice of strings and comments:
/// what is closed or ended in them is closed or ended, as the parser may see it so.
pub(super) fn is_deep(text: &str) -> bool {
    let (mut open, mut angles, mut before) = (0_usize, 0_usize, 0);
    for byte in text.bytes() {
        let arrow = matches!(before, b'-' | b'=');
        let second = before == b'<' && matches!(byte, b'<' | b'=' | b'-');
        before = if second { 0 } else { byte };
        match byte {
            // A shift, no more than, or an arrow.
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

/// Parses a text in a number of steps that its length bounds.
pub(super) fn parse(parser: &mut Parser, text: &str, cancelled: &dyn Fn() -> bool) -> Result<Tree, NoOutline> {
    parser.reset();
    let done = in_turns(parser, text, cancelled);
    parser.set_logger(None);
    if done.is_err() {
        // What it holds of a text that was given up may be much.
        parser.reset();
    }
    done
}

/// Parses with and without looking at what the parser does, in turns.
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

/// What the parser did in one report.
#[derive(Default)]
struct Seen {
    /// How often it mended an error.
    errors: AtomicUsize,
    /// How many more pieces it holds.
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

/// What is left for a text.
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

    /// Goes on for so many reports; `None`: there is more to parse.
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
            // Nothing more to read is what ends a scan at once: in one step a scanner may look through all of a text.
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

/// A piece of a text, between characters.
fn chunk(text: &str, at: usize) -> &str {
    let end = text.len().min(at.saturating_add(CHUNK_BYTES));
    let end = (end..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    text.get(at..end).unwrap_or_default()
}
