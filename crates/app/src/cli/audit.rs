//! The arguments of `readproof audit`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(crate) enum AuditCommand {
    /// Show the newest lines
    Tail {
        /// How many
        #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
        lines: u64,
    },
    /// Show one line, and the text that the call returned if it is kept
    Show {
        /// The line, counted from 0
        #[arg(value_name = "ENTRY")]
        entry: u64,
    },
    /// Show the lines that match
    Search {
        #[command(flatten)]
        filter: Filter,
        /// Show at most this many, the newest
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Print lines for other programs
    Export(ExportArgs),
    /// Compare the log with what was signed; exit code 1 if something is wrong
    Verify(VerifyArgs),
    /// Sign what is there; drop old lines, of which the hashes stay, or erase old nonces and texts
    Rotate(RotateArgs),
    /// Write a proof that a text was returned, for someone who has the log's public key; print it with `readproof audit key`
    Prove {
        /// The line, counted from 0; or FILE:FIRST-LAST, for the newest call that returned these lines
        #[arg(value_name = "ENTRY|FILE:LINES")]
        what: String,
    },
    /// Check a proof
    Check {
        /// The file with the proof; `-` is standard input
        proof: PathBuf,
        /// The log's public key, or a file with it [default: that of this workspace's log]
        #[arg(long, value_name = "KEY|FILE")]
        key: Option<String>,
    },
    /// Print the log's public key
    Key,
}

/// Which lines are meant; all of what is given must hold.
#[derive(Args, Debug)]
pub(crate) struct Filter {
    /// Lines that contain this text
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Calls of this operation, as in read or write
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Calls that stood on this file or changed it
    #[arg(long, value_name = "FILE")]
    pub(crate) path: Option<String>,
    /// Calls in this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// Calls on this wire, or of a client of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) caller: Option<String>,
    /// Calls with this outcome, as in OK or DENIED
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Calls that failed
    #[arg(long)]
    pub(crate) failed: bool,
}

#[derive(Args, Debug)]
#[group(id = "form", required = true, multiple = false)]
pub(crate) struct ExportForm {
    /// The lines as they are, with the number of each
    #[arg(long)]
    pub(crate) jsonl: bool,
    /// Calls as comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    /// Calls as OpenTelemetry spans, one OTLP JSON object on each line
    #[arg(long)]
    pub(crate) otel: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) form: ExportForm,
    /// The first line, counted from 0
    #[arg(long, value_name = "ENTRY", default_value_t = 0)]
    pub(crate) from: u64,
    /// The line to end before [default: the end of the log]
    #[arg(long, value_name = "ENTRY")]
    pub(crate) to: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// A checkpoint that was kept elsewhere: what it signs must still be the beginning of the log
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// The log's public key, or a file with it [default: the one beside the log]
    #[arg(long, value_name = "KEY|FILE")]
    pub(crate) key: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RotateArgs {
    /// Drop lines that are at least this many days old, whole bundles of 256; export them first
    #[arg(long, value_name = "DAYS")]
    pub(crate) lines_older_than: Option<u32>,
    /// Erase the nonces and texts kept for lines that are at least this many days old
    #[arg(long, value_name = "DAYS")]
    pub(crate) texts_older_than: Option<u32>,
    /// Only show what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
}
