//! Looking after a workspace's store: `replay`, `gc` and `doctor`, each as a report for people and as JSON. Decides
//! nothing: what is right, removable or wrong is the engine's to say.

use readproof_disk::SessionName;
use readproof_engine::{Engine, Error, Finding, Replayed};
use serde_json::{Value, json};
use std::fmt::{Display, Write};

use crate::{
    cli::ReplayArgs,
    output::{self, Failure},
    report::printable,
};

/// How many findings of a kind a report for people lists.
const LISTED: usize = 20;

/// Re-runs what was recorded and says what does not come out.
pub(crate) fn replay(engine: &mut Engine, args: &ReplayArgs, json: bool) -> Result<(), Failure> {
    let name = args.session.as_deref().map(SessionName::parse).transpose().map_err(Error::from)?;
    let replayed = engine.replay(name.as_ref())?;
    let wrong = replayed.iter().any(|session| !session.wrong.is_empty());
    output::line(&if json { replay_json(&replayed, !wrong).to_string() } else { replay_text(&replayed) })?;
    if wrong { Err(Failure::reported()) } else { Ok(()) }
}

fn replay_json(replayed: &[Replayed], ok: bool) -> Value {
    fn finding<W: Display>(finding: &Finding<W>, code: &str) -> Value {
        let entry = finding.entry.map(|entry| entry.to_string());
        json!({"entry": entry, "path": finding.path, "code": code, "message": finding.what.to_string()})
    }
    let sessions: Vec<Value> = replayed
        .iter()
        .map(|session| {
            let wrong: Vec<Value> = session.wrong.iter().map(|f| finding(f, f.what.code())).collect();
            let open: Vec<Value> = session.unverifiable.iter().map(|f| finding(f, f.what.code())).collect();
            json!({
                "session": session.session.to_string(),
                "answers": session.answers(),
                "verified": session.verified,
                "torn": session.torn,
                "unverifiable": open,
                "wrong": wrong,
            })
        })
        .collect();
    json!({"ok": ok, "sessions": sessions})
}

fn replay_text(replayed: &[Replayed]) -> String {
    if replayed.is_empty() {
        return "there are no sessions in this workspace".to_owned();
    }
    let mut out = String::new();
    for session in replayed {
        let (open, wrong) = (session.unverifiable.len(), session.wrong.len());
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(
            out,
            "{:<24} {} answers: {} verified, {open} unverifiable, {wrong} wrong",
            session.session.to_string(),
            session.answers(),
            session.verified
        );
    }
    for session in replayed {
        findings(&mut out, "WRONG", session, &session.wrong);
    }
    for session in replayed {
        findings(&mut out, "unverifiable", session, &session.unverifiable);
    }
    out.trim_end().to_owned()
}

fn findings<W: Display>(out: &mut String, word: &str, session: &Replayed, findings: &[Finding<W>]) {
    for finding in findings.iter().take(LISTED) {
        let entry = finding.entry.map_or("log".to_owned(), |entry| entry.to_string());
        let path = finding.path.as_ref().map_or(String::new(), |path| format!(" {}", printable(path)));
        let _ = writeln!(out, "{word}: {} {entry}{path}: {}", session.session, finding.what);
    }
    if findings.len() > LISTED {
        let _ = writeln!(out, "{word}: {} and {} more", session.session, findings.len() - LISTED);
    }
}
