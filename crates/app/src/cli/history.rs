//! The arguments of the commands that look back: files, log, show, blame, changes, context, checkpoint, rewind.

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct FilesArgs {
    /// Only files that match one of these globs, as in '*.rs' or 'src/**'
    #[arg(value_name = "GLOB")]
    pub(crate) globs: Vec<String>,
    /// Only files with this tag: test, doc, config, code or other
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only files of which a change is recorded
    #[arg(long)]
    pub(crate) changed: bool,
    /// Show at most this many [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// The file [default: all files, and checkpoints]
    pub(crate) path: Option<String>,
    /// Show at most this many, the newest [default: 50]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The version, as in v12
    pub(crate) version: String,
    /// The file, if that change is of several
    pub(crate) path: Option<String>,
    /// The conversation in which the text is shown
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// The file; lines can be named, as in src/main.rs:10-20
    pub(crate) path: String,
    /// The conversation in which the lines are shown
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ChangesArgs {
    /// A version or a checkpoint [default: the session's own last change]
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// The conversation that asks
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ContextArgs {
    /// The conversation; without one, only what concerns the workspace
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckpointArgs {
    /// What it is called, as in before-refactoring
    pub(crate) name: Option<String>,
    /// The conversation whose place is remembered with it
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RewindArgs {
    /// A version or a checkpoint, as in v12 or before-refactoring
    pub(crate) to: String,
    /// Only these files or folders
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) paths: Vec<String>,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep what other programs changed, as what other callers changed is kept
    #[arg(long)]
    pub(crate) keep_outside: bool,
    /// Undo what other conversations changed too
    #[arg(long)]
    pub(crate) everything: bool,
    /// Restore files too that nobody had looked at by then: to what they were before their first known change
    #[arg(long)]
    pub(crate) assume: bool,
    /// The conversation whose changes are undone; what others changed is merged or kept
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The session goes back to that moment too, and forgets what came later
    #[arg(long, requires = "session")]
    pub(crate) conversation: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ForgetArgs {
    /// The files, or folders of them, whose earlier texts go [default: all, with --before]
    #[arg(value_name = "PATH", required_unless_present = "before")]
    pub(crate) paths: Vec<String>,
    /// Only texts that no file had at this moment or since: a day as in 2026-11-18, a time as in 2026-11-18T09:30:00Z (UTC), or a version
    #[arg(long, value_name = "DATE|VERSION")]
    pub(crate) before: Option<String>,
    /// Only show what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
}
