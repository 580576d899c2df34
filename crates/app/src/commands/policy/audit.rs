//! `readproof audit`: what was called, by whom, and what came of it; whether the log is as it was signed; and proofs for others.
//! For the person: no tool of an agent leads here, as the log names files that an agent may not see.

use readproof_core::tlog::{PublicKey, TILE_WIDTH};
use readproof_disk::copy_out;
use readproof_engine::{
    Engine, Settings, Witness,
    audit::{AuditError, AuditLog, CallLine, Line, Proved, Rotation, Verified, check_proof},
};
use readproof_words::{
    hosts::{problem, unshown},
    stores::store,
};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use super::super::{Done, Terminal, clock, diff::content};
use crate::{
    cli::audit::{AuditCommand, ExportArgs, Filter, RotateArgs, VerifyArgs},
    output::{self, Failure},
    report::{
        audit::{COLUMNS, csv, otel, short, time},
        printable,
    },
};

const DAY_MS: u64 = 86_400_000;

pub(crate) fn run(terminal: &Terminal, command: AuditCommand) -> Done {
    match command {
        AuditCommand::Tail { lines } => {
            let log = log(terminal)?;
            let size = log.size().map_err(failed)?;
            let mut found = Vec::new();
            each(&log, (size.saturating_sub(lines), size), &mut |entry, line| {
                found.push((entry, line));
                Ok(())
            })?;
            listed(terminal, &found, size)
        }
        AuditCommand::Show { entry } => show(terminal, entry),
        AuditCommand::Search { filter, limit } => search(terminal, &filter, limit),
        AuditCommand::Export(args) => export(terminal, &args),
        AuditCommand::Verify(args) => verify(terminal, &args),
        AuditCommand::Rotate(args) => rotate(terminal, &args),
        AuditCommand::Prove { what } => prove(terminal, &what),
        AuditCommand::Check { proof, key } => check(terminal, &proof, key.as_deref()),
        AuditCommand::Key => {
            let key = log(terminal)?.key().map_err(failed)?.to_string();
            terminal.show(|| json!({"ok": true, "key": key}), || key.clone())
        }
    }
}

/// What takes checkpoints elsewhere, by the settings.
pub(crate) fn witness(settings: &Settings) -> Option<Witness> {
    let (copy, command) = (settings.audit_copy.clone(), settings.audit_witness.clone());
    if copy.is_empty() && command.is_empty() {
        return None;
    }
    Some(Arc::new(move |note: &str| {
        if !copy.is_empty() {
            copy_out(Path::new(&copy), note.as_bytes()).map_err(|error| format!("{copy}: {error}"))?;
        }
        let Some((program, words)) = command.split_first() else { return Ok(()) };
        let wrong = |error: std::io::Error| format!("{program}: {error}");
        let spawned =
            Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(wrong)?;
        if let Some(mut input) = child.stdin.take() {
            // A program that ends without reading has its own reasons; its exit code counts.
            let _ = input.write_all(note.as_bytes());
        }
        let status = child.wait().map_err(wrong)?;
        if status.success() { Ok(()) } else { Err(format!("{program} ended with {status}")) }
    }))
}

/// The same engine with what the settings say of the audit.
pub(crate) fn audited(engine: Engine) -> Engine {
    let witness = witness(engine.settings());
    engine.with_audit(witness)
}

fn failed(error: AuditError) -> Failure {
    readproof_engine::Error::from(error).into()
}

fn log(terminal: &Terminal) -> Result<AuditLog, Failure> {
    let none = || {
        let message =
            "this workspace has no audit log; set `audit = \"on\"` in readproof.toml or your own settings to begin one";
        Failure::refused("NO_AUDIT", message.to_owned())
    };
    terminal.engine.audit_log()?.ok_or_else(none)
}

/// Gives lines in order; those that were dropped are left out.
fn each(
    log: &AuditLog,
    (from, to): (u64, u64),
    take: &mut dyn FnMut(u64, Vec<u8>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let pace = output::Pace::default();
    for bundle in from / TILE_WIDTH..to.div_ceil(TILE_WIDTH) {
        let lines = log.bundle(bundle).map_err(failed)?.unwrap_or_default();
        for (entry, line) in (bundle * TILE_WIDTH..).zip(lines) {
            if (from..to).contains(&entry) {
                take(entry, line)?;
            }
        }
        pace.tell(|| format!("{} of {to} lines", ((bundle + 1) * TILE_WIDTH).min(to)));
    }
    output::progress("");
    Ok(())
}

fn object(entry: u64, line: &[u8]) -> Value {
    json!({"entry": entry, "line": serde_json::from_slice::<Value>(line).unwrap_or(Value::Null)})
}

fn parsed(line: &[u8]) -> Line {
    Line::parse(line).unwrap_or(Line::Unknown)
}

fn listed(terminal: &Terminal, found: &[(u64, Vec<u8>)], size: u64) -> Done {
    terminal.show(
        || {
            let lines: Vec<Value> = found.iter().map(|(entry, line)| object(*entry, line)).collect();
            json!({"ok": true, "size": size, "lines": lines})
        },
        || match found {
            [] => "no lines".to_owned(),
            found => found.iter().map(|(entry, line)| short(*entry, &parsed(line))).collect::<Vec<_>>().join("\n"),
        },
    )
}

fn show(terminal: &Terminal, entry: u64) -> Done {
    let log = log(terminal)?;
    let line = log.entry(entry).map_err(failed)?;
    let kept = log.disclosed(entry, &parsed(&line)).map_err(failed)?;
    let mut value = object(entry, &line);
    if terminal.json {
        value["ok"] = json!(true);
        value["text"] = json!(kept.map(|kept| kept.text));
        return Ok(output::line(&value.to_string())?);
    }
    output::line(&serde_json::to_string_pretty(&value["line"]).unwrap_or_default())?;
    match kept {
        Some(kept) => {
            output::notice("it returned:");
            Ok(output::text(&kept.text)?)
        }
        None => {
            output::notice("the text that it returned is not kept");
            Ok(())
        }
    }
}

fn search(terminal: &Terminal, filter: &Filter, limit: usize) -> Done {
    let log = log(terminal)?;
    let size = log.size().map_err(failed)?;
    let mut found = Vec::new();
    each(&log, (0, size), &mut |entry, line| {
        if matches(filter, &line) {
            found.push((entry, line));
        }
        if found.len() > limit {
            found.remove(0);
        }
        Ok(())
    })?;
    listed(terminal, &found, size)
}

fn matches(filter: &Filter, line: &[u8]) -> bool {
    let holds = |text: &String| String::from_utf8_lossy(line).contains(text.as_str());
    if !filter.text.as_ref().is_none_or(holds) {
        return false;
    }
    let wants_call = filter.failed
        || [&filter.tool, &filter.path, &filter.conversation, &filter.caller, &filter.code].iter().any(|f| f.is_some());
    match parsed(line) {
        Line::Call(call) => is_meant(filter, &call),
        Line::Gap(_) | Line::Began(_) | Line::Rotated(_) | Line::Erased(_) | Line::Unknown => !wants_call,
    }
}

fn is_meant(filter: &Filter, call: &CallLine) -> bool {
    let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
    let about = |path: &String| {
        call.files.iter().any(|file| file.path == *path) || call.args.get("path").and_then(Value::as_str) == Some(path)
    };
    let by = |name: &String| call.caller.surface == *name || call.caller.client.as_ref() == Some(name);
    is(&filter.tool, &call.tool)
        && is(&filter.code, &call.code)
        && filter.conversation.as_ref().is_none_or(|id| call.conversation.as_ref() == Some(id))
        && filter.path.as_ref().is_none_or(about)
        && filter.caller.as_ref().is_none_or(by)
        && !(filter.failed && call.ok)
}

fn export(terminal: &Terminal, args: &ExportArgs) -> Done {
    let log = log(terminal)?;
    let size = log.size().map_err(failed)?;
    if args.form.csv {
        output::line(COLUMNS)?;
    }
    each(&log, (args.from, args.to.unwrap_or(size).min(size)), &mut |entry, line| {
        let row = if args.form.csv {
            csv(entry, &parsed(&line))
        } else if args.form.otel {
            otel(entry, &parsed(&line)).map(|span| span.to_string())
        } else {
            Some(object(entry, &line).to_string())
        };
        Ok(row.map_or(Ok(()), |row| output::line(&row))?)
    })
}

/// A public key as it is, or the file that holds one.
fn key_of(
    terminal: &Terminal,
    given: Option<&str>,
    log: impl FnOnce() -> Result<AuditLog, Failure>,
) -> Result<PublicKey, Failure> {
    let Some(given) = given else { return log()?.key().map_err(failed) };
    if let Some(key) = PublicKey::parse(given) {
        return Ok(key);
    }
    let text = content(&terminal.engine, Path::new(given))?;
    let wrong = || format!("--key {given}: neither a key nor a file with one; `readproof audit key` prints it");
    PublicKey::parse(text.trim()).ok_or_else(|| Failure::usage(wrong()))
}

fn verify(terminal: &Terminal, args: &VerifyArgs) -> Done {
    let log = log(terminal)?;
    let key = key_of(terminal, args.key.as_deref(), || Ok(log.clone()))?;
    let kept = args.checkpoint.as_deref().map(|file| content(&terminal.engine, file)).transpose()?;
    let pace = output::Pace::default();
    let progress = |done: u64, total: u64| pace.tell(|| format!("{done} of {total} lines"));
    let found = log.verify(&key, kept.as_deref(), &progress).map_err(failed)?;
    output::progress("");
    terminal.show(|| verified_json(&found), || verified_text(&found))?;
    if found.problems.is_empty() { Ok(()) } else { Err(Failure::reported()) }
}

fn verified_json(found: &Verified) -> Value {
    json!({
        "ok": found.problems.is_empty(),
        "size": found.size,
        "signed": found.signed,
        "dropped": found.moved,
        "missing": found.missing,
        "problems": found.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn verified_text(found: &Verified) -> String {
    let signed = found.signed.unwrap_or(0);
    let mut lines: Vec<String> = found.problems.iter().map(|what| printable(&problem(what))).collect();
    lines.push(match found.problems.is_empty() {
        true => format!("{signed} of {} lines are signed, and all of these are as they were signed", found.size),
        false => format!("{} problems in a log of {} lines, {signed} of them signed", found.problems.len(), found.size),
    });
    if found.size > signed {
        lines.push(format!("{} lines after the newest checkpoint are not signed yet", found.size - signed));
    }
    if found.missing > 0 {
        lines
            .push(format!("{} calls have no line: their process could not write them, or ended before", found.missing));
    }
    if found.moved > 0 {
        lines.push(format!("{} lines were dropped by a rotation; their hashes were compared", found.moved));
    }
    lines.join("\n")
}

fn rotate(terminal: &Terminal, args: &RotateArgs) -> Done {
    let log = log(terminal)?;
    let before = |days: Option<u32>| match days {
        Some(days) => log.older_than(clock().saturating_sub(u64::from(days) * DAY_MS)).map_err(failed),
        None => Ok(0),
    };
    let (lines_before, texts_before) = (before(args.lines_older_than)?, before(args.texts_older_than)?);
    let parts = log.parts_before(lines_before, texts_before);
    let rotation = Rotation { lines_before, texts_before, files: parts.len() as u64 };
    let mut left = 0;
    if !args.dry_run {
        let mut writer = terminal.engine.audit_writer()?;
        if !parts.is_empty() {
            // Said and signed before anything goes.
            writer.rotated(clock(), (lines_before, texts_before)).map_err(failed)?;
        }
        writer.sign().map_err(failed)?;
        writer.close(0);
        for part in &parts {
            if let Err(error) = log.remove(part) {
                output::notice(&format!("not removed: {}", store(&error)));
                left += 1;
            }
        }
    }
    terminal.show(
        || {
            json!({"ok": left == 0, "dry_run": args.dry_run, "lines_before": rotation.lines_before,
                "texts_before": rotation.texts_before, "files": rotation.files, "left": left})
        },
        || {
            if parts.is_empty() {
                let signed = if args.dry_run { "" } else { ", and signed the log as it is" };
                return format!("found nothing old enough to drop{signed}");
            }
            let verb = if args.dry_run { "would drop" } else { "dropped" };
            format!("{verb} the lines before {lines_before} and the texts before {texts_before}: {} files; every hash stays", rotation.files)
        },
    )?;
    if left == 0 { Ok(()) } else { Err(Failure::reported()) }
}

fn prove(terminal: &Terminal, what: &str) -> Done {
    let log = log(terminal)?;
    let entry = match what.parse() {
        Ok(entry) => entry,
        Err(_) => {
            let (path, first, last) = place(what)?;
            let none = || {
                let message = format!(
                    "no call in the audit log is known to have returned {what}; `readproof audit search --path {path}` lists the \
                     calls about the file, and `readproof audit prove LINE` proves one of them"
                );
                Failure::refused("NOT_FOUND", message)
            };
            terminal.engine.audit_shown(&path, (first, last))?.ok_or_else(none)?
        }
    };
    let signed = log.checkpoint().map_err(failed)?;
    let has_entry = signed.as_deref().and_then(size_of).is_some_and(|size| entry < size);
    if !has_entry && entry < log.size().map_err(failed)? {
        let mut writer = terminal.engine.audit_writer()?;
        writer.sign().map_err(failed)?;
        writer.close(0);
    }
    let proof = log.prove(entry).map_err(failed)?;
    let text = proof.to_text();
    if terminal.json {
        return Ok(output::line(&json!({"ok": true, "entry": entry, "proof": text}).to_string())?);
    }
    let is_whole = check_proof(&text, &log.key().map_err(failed)?).is_ok_and(|proved| proved.text.is_some());
    if !is_whole {
        output::notice("the text that was returned is not kept, so this proves only that the call was made");
    }
    Ok(output::text(&text)?)
}

/// The second line of a checkpoint.
fn size_of(note: &str) -> Option<u64> {
    note.lines().nth(1)?.parse().ok()
}

/// `FILE:FIRST-LAST`, or `FILE:LINE`.
fn place(what: &str) -> Result<(String, u32, u32), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "{what}: expected a line of the log, as in 12, or lines of a file, as in src/a.rs:10-20"
        ))
    };
    let (path, lines) = what.rsplit_once(':').ok_or_else(wrong)?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(wrong);
    let (first, last) = (number(first)?, number(last)?);
    if first > last || path.is_empty() { Err(wrong()) } else { Ok((path.to_owned(), first, last)) }
}

fn check(terminal: &Terminal, file: &Path, key: Option<&str>) -> Done {
    let key = key_of(terminal, key, || log(terminal))?;
    let text = content(&terminal.engine, file)?;
    let refused = |why| Failure::refused("NOT_PROVED", format!("{} proves nothing: {}", file.display(), unshown(why)));
    let proved = check_proof(&text, &key).map_err(refused)?;
    terminal.show(|| proved_json(&proved), || proved_text(&proved))
}

fn proved_json(proved: &Proved) -> Value {
    json!({
        "ok": true,
        "entry": proved.index,
        "log": proved.checkpoint.origin,
        "signed": proved.checkpoint.size,
        "at": proved.call.at,
        "tool": proved.call.tool,
        "conversation": proved.call.conversation,
        "files": proved.call.files,
        "text": proved.text,
    })
}

fn proved_text(proved: &Proved) -> String {
    let call = &proved.call;
    let place = call
        .conversation
        .as_deref()
        .map_or("no conversation".to_owned(), |id| format!("conversation {}", printable(id)));
    let what = match &proved.text {
        Some(text) => format!("returned this text of {} bytes", text.len()),
        None => "was made; the text that it returned is not disclosed".to_owned(),
    };
    format!(
        "proved: at {} the call `{}` in {place} {what} (line {} of {}, {} lines signed)",
        time(call.at),
        printable(&call.tool),
        proved.index,
        printable(&proved.checkpoint.origin),
        proved.checkpoint.size
    )
}
