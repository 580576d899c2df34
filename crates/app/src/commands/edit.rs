//! `write`, `edit`, `patch`, `delete`, `move`: changes of files, by an agent in a session or by a person.

use readproof_core::{
    edit::{Piece, Places},
    operation::{Change, Operation, Over, Patch, Write},
    text::ContentHash,
};
use readproof_engine::Written;
use std::path::Path;

use super::{Done, Terminal, diff::content};
use crate::{
    cli::{ChangeArgs, DeleteArgs, EditArgs, MoveArgs, PatchArgs, WriteArgs},
    output::Failure,
    report::json,
};

/// The text that a change is for.
fn over(change: &ChangeArgs, force: bool) -> Result<Over, Failure> {
    let Some(text) = &change.expect else { return Ok(if force { Over::Anything } else { Over::Held }) };
    let wrong =
        || Failure::usage(format!("--expect {text} is not a SHA-256; use 64 hex digits, as `--json` prints them"));
    ContentHash::parse(text).map(Over::Hash).ok_or_else(wrong)
}

pub(super) fn write(terminal: &Terminal, args: WriteArgs) -> Done {
    let over = over(&args.change, args.force)?;
    let content = content(&terminal.engine, Path::new("-"))?;
    let change = match (args.append, args.create) {
        (true, _) => Change::Append(content),
        (false, true) => Change::Create(content),
        (false, false) => Change::Whole(content),
    };
    changed(terminal, &args.change, Operation::Write(Write { path: args.path, change, over }))
}

pub(super) fn edit(terminal: &Terminal, args: EditArgs) -> Done {
    let over = over(&args.change, false)?;
    let pieces = match (args.old, args.new, &args.edits) {
        (Some(old), Some(new), _) => {
            vec![Piece::replace(old, new, if args.all { Places::All } else { Places::One })]
        }
        (_, _, Some(file)) => listed(&content(&terminal.engine, file)?)?,
        (_, _, None) => return Err(Failure::usage("give --old and --new, or --edits".to_owned())),
    };
    changed(terminal, &args.change, Operation::Write(Write { path: args.path, change: Change::Edit(pieces), over }))
}

/// Several changes as JSON.
fn listed(text: &str) -> Result<Vec<Piece>, Failure> {
    let wrong = |why: String| {
        Failure::refused(
            "BAD_EDIT",
            format!(r#"the changes are not a list as [{{"old": "…", "new": "…", "all": false}}]: {why}"#),
        )
    };
    let listed: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let piece = |(number, change): (usize, serde_json::Map<String, serde_json::Value>)| {
        let text = |name: &str| {
            let found = change.get(name).and_then(serde_json::Value::as_str);
            found.map(str::to_owned).ok_or_else(|| wrong(format!("change {} has no text `{name}`", number + 1)))
        };
        let all = change.get("all").and_then(serde_json::Value::as_bool).unwrap_or(false);
        Ok(Piece::replace(text("old")?, text("new")?, if all { Places::All } else { Places::One }))
    };
    listed.into_iter().enumerate().map(piece).collect()
}

pub(super) fn patch(terminal: &Terminal, args: PatchArgs) -> Done {
    let over = over(&args.change, false)?;
    let patch = content(&terminal.engine, &args.patch)?;
    changed(terminal, &args.change, Operation::Patch(Patch { patch, path: args.path, over }))
}

pub(super) fn delete(terminal: &Terminal, args: DeleteArgs) -> Done {
    let over = over(&args.change, args.force)?;
    changed(terminal, &args.change, Operation::Write(Write { path: args.path, change: Change::Delete, over }))
}

pub(super) fn rename(terminal: &Terminal, args: MoveArgs) -> Done {
    let over = over(&args.change, false)?;
    let change = Change::Move { to: args.to };
    changed(terminal, &args.change, Operation::Write(Write { path: args.path, change, over }))
}

fn changed(terminal: &Terminal, change: &ChangeArgs, operation: Operation) -> Done {
    let word = operation.name();
    let written: Written = terminal.ask_in(change.session.as_deref(), operation)?;
    said(terminal, word, &written)
}

/// Prints what was done, and confirms that it was.
pub(super) fn said(terminal: &Terminal, word: &str, written: &Written) -> Done {
    terminal.show(|| json::written(word, written), || written.text.clone())?;
    super::notices(None, &written.notices);
    written.receipts.iter().for_each(|receipt| terminal.confirm(Some(receipt)));
    Ok(())
}
