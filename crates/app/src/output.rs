//! The only file that writes to standard output and standard error. File text goes out as exact bytes; what is said
//! beside it goes to standard error, so the two cannot be confused.
#![allow(clippy::print_stderr, reason = "this is the file that may")]

use readproof_core::render::trailer::hidden;
use readproof_engine::Error;
use readproof_words::Surface;
use serde::Serialize;
use std::{
    cell::Cell,
    io::{self, BufRead, IsTerminal, Read, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::report::printable;

/// What went wrong, ready to be shown.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) usage: bool,
    /// Whether the report has already said everything, so that only the exit code is left.
    pub(crate) said: bool,
}

impl Failure {
    /// The call was malformed.
    pub(crate) fn usage(message: String) -> Self {
        Self { code: "USAGE", message, usage: true, said: false }
    }

    /// The call was understood and refused.
    pub(crate) fn refused(code: &'static str, message: String) -> Self {
        Self { code, message, usage: false, said: false }
    }

    /// The command did its work, and its report on standard output names problems.
    pub(crate) fn reported() -> Self {
        Self { code: "PROBLEMS", message: String::new(), usage: false, said: true }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code(), usage: error.is_usage(), message: Surface::Cli.error(&error), said: false }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::refused("OUTPUT", format!("the answer could not be written: {error}"))
    }
}

/// Shows a failure and gives its exit code.
pub(crate) fn failure(failure: &Failure, json: bool) -> ExitCode {
    if failure.said {
        return ExitCode::from(1);
    }
    if json {
        let object = serde_json::json!({"ok": false, "error": {"code": failure.code, "message": failure.message}});
        // There is nowhere left to report that this could not be printed.
        let _ = line(&object.to_string());
    } else {
        notice(&failure.message);
    }
    ExitCode::from(if failure.usage { 2 } else { 1 })
}

/// A call that clap could not parse, or a help text.
pub(crate) fn not_understood(error: &clap::Error, json: bool) -> ExitCode {
    if json && error.use_stderr() {
        return failure(&Failure::usage(error.to_string().trim_end().to_owned()), json);
    }
    // There is nowhere left to report that this could not be printed.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Prints lines of files as exact bytes, and names their hidden characters beside them.
pub(crate) fn lines(lines: &str) -> io::Result<()> {
    text(lines)?;
    if let Some(hidden) = hidden(lines) {
        notice(&hidden);
    }
    Ok(())
}

/// Prints text as exact bytes. On a terminal a missing final newline is added.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if out.is_terminal() && !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// One line of a report.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// One message to a program, written as one line at once.
pub(crate) fn message(object: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(object)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// A notice beside the answer.
pub(crate) fn notice(message: &str) {
    // A closed standard error is no reason to fail.
    let _ = writeln!(io::stderr().lock(), "readproof: {}", plain(message));
}

/// Lines without control characters, which could make a terminal show something else. Tabs stay, as lines of a file have them.
pub(crate) fn plain(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(printable).collect::<Vec<_>>().join("\t");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Shows progress at most once a second.
pub(crate) struct Pace(Cell<Instant>);

impl Default for Pace {
    fn default() -> Self {
        Self(Cell::new(Instant::now()))
    }
}

impl Pace {
    /// Shows nothing in the first second.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.0.get().elapsed() > Duration::from_secs(1) {
            progress(&what());
            self.0.set(Instant::now());
        }
    }
}

/// Shows progress on a terminal and replaces the last progress; an empty text removes it.
pub(crate) fn progress(text: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        // A closed standard error is no reason to fail.
        let _ = write!(err, "\r\x1b[K{text}");
    }
}

/// Whether standard input is a terminal.
pub(crate) fn input_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether the user can be asked a question.
pub(crate) fn can_ask() -> bool {
    input_is_terminal() && io::stderr().is_terminal()
}

/// Asks a question; any answer but yes means no.
pub(crate) fn ask(question: &str) -> bool {
    let mut err = io::stderr().lock();
    if write!(err, "{question}").and_then(|()| err.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    let read = io::stdin().lock().take(100).read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}
