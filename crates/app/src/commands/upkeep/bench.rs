//! `readproof bench traces`: what re-reads save on recorded sessions of real agents, as Markdown and as JSON. The sessions are
//! played in temporary workspaces; the user's own is not looked at.

use readproof_engine::{Error, Whose};
use readproof_traces::{Options, Pace, Resume, TracesError, run};
use readproof_words::disk::transcript;
use std::{path::PathBuf, sync::Mutex};

use crate::{
    cli::TracesArgs,
    commands::Done,
    config::{self, Config},
    output::{self, Failure},
};

/// The width of the progress bar.
const BAR: usize = 30;

pub(crate) fn traces(args: &TracesArgs, workspace: Option<PathBuf>, set: &[String], json: bool) -> Done {
    let mut config = Config::bare(workspace)?;
    config.fill(set)?;
    config.notices.iter().for_each(|notice| output::notice(notice));
    let keep = match &config.settings.whose {
        Whose::Kept(folders) => folders.first().map(|folder| folder.join("bench")),
        Whose::Anyones => None,
    };
    let options = Options {
        traces: args.folder.clone(),
        answers: config.settings.answers,
        limits: config.settings.limits,
        sessions: args.sessions,
        scratch: config::temp_dir(),
        keep,
        resume: if args.anew { Resume::No } else { Resume::Yes },
    };
    let pace = Mutex::new(output::Pace::default());
    let progress = |at: Pace| {
        let pace = pace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        pace.tell(|| bar(at));
    };
    let report = run(&options, &progress);
    output::progress("");
    let report = report.map_err(failure)?;
    output::line(&if json { report.json().to_string() } else { report.markdown() })?;
    let saved = report.strict().cost().saved_percent();
    let too_little = args.least.is_some_and(|least| saved < least);
    if too_little {
        output::notice(&format!("{saved:.2} % of the read tokens are saved, less than --least asks for"));
    }
    if too_little || !report.violations().is_empty() { Err(Failure::reported()) } else { Ok(()) }
}

fn bar(at: Pace) -> String {
    let filled = (BAR * at.sessions).checked_div(at.of).unwrap_or(BAR);
    let resumed = if at.resumed == 0 { String::new() } else { format!(", {} from an earlier run", at.resumed) };
    format!("[{:<BAR$}] {} of {} sessions, {} reads{resumed}", "#".repeat(filled), at.sessions, at.of, at.reads)
}

fn failure(error: TracesError) -> Failure {
    let message = match error {
        TracesError::Engine(error) => return error.into(),
        TracesError::Scratch(error) => return Error::Root(error).into(),
        TracesError::Unreadable(error) => transcript(&error),
        TracesError::NoFolder { folder } => {
            format!(
                "there is no folder `{}`; give one with recorded sessions, such as ~/.claude/projects",
                folder.display()
            )
        }
        TracesError::NothingRecorded { folder } => format!(
            "there are no recorded sessions in `{}`; give a folder with transcripts of Claude Code (*.jsonl, as below \
             ~/.claude/projects), or with NAME.events.jsonl and NAME.blobs.jsonl, compressed (.gz) or not",
            folder.display()
        ),
        TracesError::NoTexts { file } => {
            format!("`{}` has no NAME.blobs.jsonl beside it, with the texts that its steps name", file.display())
        }
        TracesError::Io { file, source } => format!("`{}` cannot be read to its end: {source}", file.display()),
        TracesError::BadLine { file, line, why } => {
            format!("line {line} of `{}` is not a step or text of a recorded session: {why}", file.display())
        }
        TracesError::Tokens(why) => format!("the tokenizer cannot be loaded: {why}"),
    };
    Failure::refused("TRACES", message)
}
