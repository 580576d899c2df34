//! `readproof files`, `log`, `show`, `blame`, `changes`, `context`, `checkpoint` and `rewind`: what was, and the way back.

use readproof_core::operation::{
    AnswerLimit, Blame, Changes, History, Leaf, ListFiles, Operation, OutsideChanges, Rewind, ShowVersion,
};
use readproof_engine::{
    Blamed, ChangesFound, ContextFound, FilesListed, HistoryListed, Rewound, ShownVersion, VersionId,
};

use super::{Done, Terminal};
use crate::{
    cli::history::{BlameArgs, ChangesArgs, CheckpointArgs, ContextArgs, FilesArgs, LogArgs, RewindArgs, ShowArgs},
    output,
    tools::{
        call::ToolOutput,
        context::context_said,
        history::{blame_said, changes_said, checkpoint_said, files_said, history_said, rewound_said, version_said},
    },
};

pub(super) fn files(terminal: &Terminal, args: FilesArgs) -> Done {
    let FilesArgs { globs, tags, changed, limit } = args;
    let limit = limit.or(Some(usize::MAX).filter(|_| terminal.json));
    let found: FilesListed =
        terminal.ask_watched(None, Operation::ListFiles(ListFiles { globs, tags, changed, limit }))?;
    let is_all = found.files.len() as u64 == found.total && found.total > 0 && found.odd == 0;
    said(terminal, without_trailer(files_said(&found), is_all))
}

pub(super) fn log(terminal: &Terminal, args: LogArgs) -> Done {
    let LogArgs { path, limit } = args;
    let found: HistoryListed = terminal.ask_watched(None, Operation::History(History { path, limit }))?;
    let is_all = found.entries.len() as u64 == found.total && found.total > 0;
    said(terminal, without_trailer(history_said(&found), is_all))
}

pub(super) fn show(terminal: &Terminal, args: ShowArgs) -> Done {
    let ShowArgs { version, path, session } = args;
    let asked = ShowVersion { version, path, most: AnswerLimit::NONE };
    let found: ShownVersion = terminal.ask_in(session.as_deref(), Operation::ShowVersion(asked))?;
    if !terminal.json {
        return Ok(output::text(&found.text)?);
    }
    said(terminal, version_said(&found))
}

pub(super) fn blame(terminal: &Terminal, args: BlameArgs) -> Done {
    let BlameArgs { path, session } = args;
    let asked = Blame { path, offset: None, limit: None, most: AnswerLimit::NONE };
    let found: Blamed = terminal.ask_watched(session.as_deref(), Operation::Blame(asked))?;
    said(terminal, blame_said(&found))
}

pub(super) fn changes(terminal: &Terminal, args: ChangesArgs) -> Done {
    let ChangesArgs { since, session } = args;
    let found: ChangesFound = terminal.ask_watched(session.as_deref(), Operation::Changes(Changes { since }))?;
    said(terminal, changes_said(&found))
}

pub(super) fn context(terminal: &Terminal, args: ContextArgs) -> Done {
    let found: Box<ContextFound> = terminal.ask_watched(args.session.as_deref(), Operation::Context)?;
    said(terminal, context_said(&found))
}

pub(super) fn checkpoint(terminal: &Terminal, args: CheckpointArgs) -> Done {
    let CheckpointArgs { name, session } = args;
    let id: VersionId = terminal.ask_watched(session.as_deref(), Operation::Checkpoint { name: name.clone() })?;
    let said = checkpoint_said(id, name.as_deref());
    if terminal.json {
        return Ok(output::line(&said.object().to_string())?);
    }
    Ok(output::line(&format!("{id}{}", name.map(|name| format!("  {name}")).unwrap_or_default()))?)
}

pub(super) fn rewind(terminal: &Terminal, args: RewindArgs) -> Done {
    let RewindArgs { to, paths, dry_run, keep_outside, everything, assume, session, conversation } = args;
    let asked = Rewind {
        to,
        paths,
        dry_run,
        everything,
        assume,
        outside: if keep_outside { OutsideChanges::Keep } else { OutsideChanges::Undo },
        leaf: if conversation { Leaf::GoesBack } else { Leaf::Stays },
    };
    let found: Rewound = terminal.ask_watched(session.as_deref(), Operation::Rewind(asked))?;
    said(terminal, rewound_said(&found))?;
    for receipt in found.written.iter().flat_map(|written| &written.receipts) {
        terminal.confirm(Some(receipt));
    }
    Ok(())
}

/// What is all there needs no word.
fn without_trailer(said: ToolOutput, is_all: bool) -> ToolOutput {
    if is_all { ToolOutput { trailer: None, ..said } } else { said }
}

/// What was found on standard output, and what is to be said about it on standard error.
fn said(terminal: &Terminal, said: ToolOutput) -> Done {
    if terminal.json {
        return Ok(output::line(&said.object().to_string())?);
    }
    if let Some(text) = &said.text {
        output::line(text.strip_suffix('\n').unwrap_or(text))?;
    }
    super::notices(said.trailer.map(|trailer| trailer.line), &[]);
    Ok(())
}
