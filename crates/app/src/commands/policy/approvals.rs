//! `readproof approvals`: calls that wait for a person, looked at and decided. Deciding needs a person at a terminal or the
//! approver's key, so that an agent's shell does not approve the agent's own calls.

use readproof_core::operation::{
    Operation,
    approval::{Decision, How, Scope},
};
use readproof_engine::{Approval, ApprovalRequest, ApprovalState, By, Control, Error, LoggedSession};
use serde_json::{Value, json};

use super::super::{Done, Terminal, clock};
use crate::{
    cli::{ApprovalScope, ApprovalsCommand},
    config::has_approver_key,
    output::{self, Failure},
    report::label,
};

pub(in super::super) fn run(terminal: &Terminal, command: ApprovalsCommand) -> Done {
    match command {
        ApprovalsCommand::List { all } => {
            let found: Vec<Approval> = terminal.ask_in(None, Operation::ListApprovals { all })?;
            terminal.show(
                || json!({"ok": true, "approvals": found.iter().map(facts).collect::<Vec<_>>()}),
                || lines(&found),
            )
        }
        ApprovalsCommand::Show { id } => show(terminal, &look(terminal, id)?),
        ApprovalsCommand::Approve { id, scope } => {
            let scope = match scope {
                ApprovalScope { session: true, .. } => Scope::Session,
                ApprovalScope { always: true, .. } => Scope::Always,
                ApprovalScope { .. } => Scope::Once,
            };
            decide(terminal, id, Decision::Approve, scope)
        }
        ApprovalsCommand::Deny { id } => decide(terminal, id, Decision::Deny, Scope::Once),
    }
}

fn look(terminal: &Terminal, id: String) -> Result<Approval, Failure> {
    let found: Box<Approval> = terminal.ask_in(None, Operation::ShowApproval { id })?;
    Ok(*found)
}

/// Lets the person decide, or whoever has the key.
fn decide(terminal: &Terminal, id: String, decision: Decision, scope: Scope) -> Done {
    let found = look(terminal, id.clone())?;
    let how = if has_approver_key(terminal.engine.settings()) {
        How::Key
    } else if output::can_ask() {
        output::notice(&text(&found));
        let question = match (decision, scope) {
            (Decision::Approve, Scope::Once) => "Approve this call? [y/N] ",
            (Decision::Approve, Scope::Session) => "Approve this, and the like in the same conversation? [y/N] ",
            (Decision::Approve, Scope::Always) => "Approve this, and the like from now on? [y/N] ",
            (Decision::Deny, _) => "Deny this call? [y/N] ",
        };
        if !output::ask(question) {
            return Err(Failure::refused("NOT_DECIDED", format!("nothing was decided about {id}")));
        }
        How::Terminal
    } else {
        return Err(not_a_person(terminal));
    };
    let decided = record(terminal, id, (decision, scope, how))?;
    terminal.show(|| object(&decided), || output::plain(&line(&decided)))
}

/// Why nobody here can decide, and what to do.
fn not_a_person(terminal: &Terminal) -> Failure {
    let key = match terminal.engine.settings().approver_key {
        Some(_) => "READPROOF_APPROVER_KEY does not hold the key whose hash is `approver_key` in your own settings",
        None => "no `approver_key` is set in your own readproof/config.toml",
    };
    let message = format!(
        "only a person can decide: standard input and standard error are not a terminal, and {key}; run this in a terminal, or \
         see `readproof approvals approve --help`"
    );
    Failure::refused("NOT_A_PERSON", message)
}

fn record(terminal: &Terminal, id: String, (decision, scope, how): (Decision, Scope, How)) -> Result<Approval, Error> {
    let operation = Operation::Decide { id, decision, scope, how };
    let done = terminal.ask_with(&mut LoggedSession::named(None), operation, Control::WAIT)?;
    let decided: Box<Approval> = done.try_into()?;
    Ok(*decided)
}

/// Asks the person at this terminal about a call that was just made here; `false` if there is none, or without a yes.
pub(in super::super) fn is_agreed(terminal: &Terminal, request: &ApprovalRequest) -> Result<bool, Error> {
    if !output::can_ask() {
        return Ok(false);
    }
    let show = Operation::ShowApproval { id: request.id.clone() };
    let found: Box<Approval> = terminal.ask(&mut LoggedSession::named(None), show)?.try_into()?;
    output::notice(&text(&found));
    if !output::ask("Approve this call? [y/N] ") {
        return Ok(false);
    }
    record(terminal, request.id.clone(), (Decision::Approve, Scope::Once, How::Terminal)).map(|_| true)
}

fn lines(found: &[Approval]) -> String {
    if found.is_empty() {
        return "nothing waits for an approval".to_owned();
    }
    output::plain(&found.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn line(found: &Approval) -> String {
    let (request, asked) = (&found.request, &found.request.asked);
    let paths: Vec<String> = asked.paths.iter().map(|path| label(path)).collect();
    format!("{}  {} {}  {}", request.id, asked.what, paths.join(", "), state(found))
}

fn state(found: &Approval) -> String {
    let word = found.state.as_str();
    match (found.state, &found.request.decided) {
        (ApprovalState::Waiting, _) => {
            let left = found.request.asked.expires_at.saturating_sub(clock()).div_ceil(60_000);
            format!("{word}, {left} min left")
        }
        (ApprovalState::Approved(scope), Some(decided)) => {
            format!("{word} {} by {} ({})", scope.as_str(), who(&decided.by), decided.how)
        }
        (ApprovalState::Denied | ApprovalState::Used, Some(decided)) => {
            format!("{word}, decided by {} ({})", who(&decided.by), decided.how)
        }
        (ApprovalState::Expired, _)
        | (ApprovalState::Approved(_) | ApprovalState::Denied | ApprovalState::Used, None) => word.to_owned(),
    }
}

/// The wire, the local user, and the client as it calls itself, which is said to be only that.
fn who(by: &By) -> String {
    let user = by.user.as_ref().map(|name| format!(", user {}", label(name)));
    let token = by.identity.as_ref().map(|name| format!(", {}", label(name)));
    let client = by.client.as_ref().map(|name| format!(", a client that calls itself {}", label(name)));
    let parts = [Some(by.surface.clone()), user, token, client];
    parts.into_iter().flatten().collect()
}

/// Everything that a person needs to decide.
fn text(found: &Approval) -> String {
    let asked = &found.request.asked;
    let conversation =
        asked.by.conversation.as_ref().map(|name| format!(", session {}", label(name))).unwrap_or_default();
    let why = asked.rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let place = if asked.rule.file.is_empty() {
        format!("`{}`{why}", asked.rule.text)
    } else {
        format!("{}:{} `{}`{why}", asked.rule.file, asked.rule.line, asked.rule.text)
    };
    let diff = asked.diff.as_ref().map(|diff| format!("\n{}", diff.trim_end())).unwrap_or_default();
    format!("{}\nasked by {}{conversation}\nrule {place}{diff}", line(found), who(&asked.by))
}

fn show(terminal: &Terminal, found: &Approval) -> Done {
    terminal.show(|| object(found), || output::plain(&text(found)))
}

fn object(found: &Approval) -> Value {
    let mut object = facts(found);
    object["ok"] = json!(true);
    object
}

fn facts(found: &Approval) -> Value {
    let (request, asked) = (&found.request, &found.request.asked);
    let decided = request.decided.as_ref().map(|decided| {
        json!({
            "decision": decided.decision.as_str(),
            "scope": decided.scope.as_str(),
            "how": decided.how,
            "by": decided.by,
            "at": decided.at,
        })
    });
    json!({
        "id": request.id.to_string(),
        "state": found.state.as_str(),
        "operation": asked.what,
        "act": asked.act,
        "paths": asked.paths,
        "rule": asked.rule,
        "by": asked.by,
        "at": asked.at,
        "expires_at": asked.expires_at,
        "diff": asked.diff,
        "digest": asked.digest,
        "decided": decided,
        "used_at": request.used,
    })
}
