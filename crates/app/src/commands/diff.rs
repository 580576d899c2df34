//! `readproof diff`: the whole diff on standard output, notices on standard error.

use readproof_core::operation::{Against, AnswerLimit, Compare, CompareVersions, Operation};
use readproof_disk::{Root, RootError, SnapshotRules};
use readproof_engine::{Compared, ComparedVersions, Engine, Error};
use readproof_words::{Terms, disk::root as root_words};
use std::{io::Read as _, path::Path};

use super::{Done, Terminal};
use crate::{
    cli::DiffArgs,
    output::{self, Failure},
    report::compared,
};

pub(super) fn run(terminal: &Terminal, args: DiffArgs) -> Done {
    if let Some(from) = &args.version {
        let from = Some(from.clone()).filter(|from| !from.is_empty());
        let compare = CompareVersions { path: args.path.clone(), from, to: args.to.clone(), most: AnswerLimit::NONE };
        let found: ComparedVersions =
            terminal.ask_in(args.shown_to.session.as_deref(), Operation::CompareVersions(compare))?;
        let said = crate::tools::compared(&found);
        if terminal.json {
            return Ok(output::line(&said.object().to_string())?);
        }
        output::text(&found.diff)?;
        super::notices(said.trailer.map(|trailer| trailer.line), &[]);
        return Ok(());
    }
    let against = Against::parse(&args.against.to_uppercase()).unwrap_or_default();
    if against == Against::WorkTree && args.content.is_none() {
        let message = "--against WORKTREE compares the working file with other text; give it, as in `readproof diff PATH --against \
                       WORKTREE --content FILE`, or with `--content -` on standard input";
        return Err(Failure { code: "NO_CONTENT", ..Failure::usage(message.to_owned()) });
    }
    let content = args.content.as_deref().map(|file| content(&terminal.engine, file)).transpose()?;
    let most = AnswerLimit::NONE;
    let operation = Operation::Compare(Compare { path: args.path.clone(), against, content, most });
    let found: Compared = terminal.ask_in(args.shown_to.session.as_deref(), operation)?;
    if terminal.json {
        let mut object = compared::contract(&found, &args.path);
        object["text"] = found.text.into();
        return Ok(output::line(&object.to_string())?);
    }
    let trailer = compared::trailer(&found);
    output::text(&found.text)?;
    output::notice(&trailer);
    Ok(())
}

/// The text that would replace the file. The user names it, so it may be anywhere.
pub(super) fn content(engine: &Engine, file: &Path) -> Result<String, Failure> {
    let wrong = |why: String| Failure::refused("INPUT", format!("--content {}: {why}", file.display()));
    if file != Path::new("-") {
        let missing = || wrong("there is no such file; `-` is standard input".to_owned());
        let (root, name) = Root::around(file).map_err(|error| match error {
            RootError::Missing { .. } => missing(),
            RootError::NotADirectory { .. }
            | RootError::Denied { .. }
            | RootError::NotUtf8 { .. }
            | RootError::NoTarget { .. }
            | RootError::NotOurs { .. }
            | RootError::Io { .. } => wrong(root_words(Terms::PLAIN, &error)),
        })?;
        let found = root.locate(&[name]).map_err(|_| missing())?;
        let settings = engine.settings();
        let rules = SnapshotRules { max_bytes: settings.file_bytes, hard_links: settings.hard_links };
        return Ok(root.snapshot(&found, &rules).map_err(Error::from)?.text.into_string());
    }
    if output::input_is_terminal() {
        output::notice("type the content, then end it with Ctrl-D");
    }
    let most = engine.settings().file_bytes.saturating_add(1);
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(most).read_to_end(&mut bytes);
    read.map_err(|error| wrong(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::refused("NOT_TEXT", format!("the content is not valid UTF-8 from byte {at} on"))
    })
}
