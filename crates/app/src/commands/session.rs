//! `session`: list sessions, show a session's tree, and move in it.

use readproof_core::operation::Operation;
use readproof_disk::SessionName;
use readproof_engine::{EntryId, SessionView};
use serde_json::json;

use super::{Done, Terminal, entry, session_name};
use crate::{
    cli::SessionCommand,
    report::{self, json},
};

pub(super) fn run(terminal: &Terminal, command: SessionCommand) -> Done {
    match command {
        SessionCommand::List { session } => {
            let names: Vec<SessionName> = terminal.ask_in(None, Operation::ListSessions)?;
            let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names.retain(|name| session.as_ref().is_none_or(|wanted| wanted == name));
            if names.is_empty() && !terminal.json {
                return Ok(());
            }
            terminal.show(|| json!({"ok": true, "sessions": names}), || names.join("\n"))
        }
        SessionCommand::Show(session) => {
            let view: SessionView = terminal.ask_in(Some(&session.name), Operation::ShowSession)?;
            terminal.show(|| json::session(&view), || report::session(&view))
        }
        SessionCommand::Branch { entry: at, session } => {
            let at = if at == "root" { None } else { Some(entry(&at)?.0) };
            moved(terminal, &session.name, Operation::Branch { at })
        }
        SessionCommand::Switch { entry: to, session } => {
            moved(terminal, &session.name, Operation::Switch { to: entry(&to)?.0 })
        }
        SessionCommand::Fork { entry: from, into, session } => {
            let from = from.as_deref().map(entry).transpose()?.map(|EntryId(number)| number);
            into.as_deref().map(session_name).transpose()?;
            let fork: SessionName = terminal.ask_in(Some(&session.name), Operation::Fork { from, into })?;
            let fork = fork.to_string();
            terminal.show(|| json!({"ok": true, "session": fork}), || fork.clone())
        }
        SessionCommand::Compact { summary, session } => {
            let at: EntryId = terminal.ask_in(Some(&session.name), Operation::Compact { summary })?;
            let at = at.to_string();
            let text = || format!("session {} is compacted at {at}: nothing before it counts", session.name);
            terminal.show(|| json!({"ok": true, "session": session.name, "entry": at}), text)
        }
    }
}

fn moved(terminal: &Terminal, session: &str, operation: Operation) -> Done {
    let at: Option<EntryId> = terminal.ask_in(Some(session), operation)?;
    let place = at.map_or("root".to_owned(), |id| id.to_string());
    let text = || format!("session {session} goes on after {place}");
    terminal.show(|| json!({"ok": true, "session": session, "leaf": place}), text)
}
