//! `readproof files`, `log`, `show`, `blame`, `changes`, `context`, `checkpoint`, `rewind` and `forget`: what was, the way back, and what
//! is to go.

use readproof_core::operation::{
    AnswerLimit, Blame, Changes, Forget, History, Leaf, ListFiles, Operation, OutsideChanges, Rewind, ShowVersion,
    Since,
};
use readproof_engine::{
    Blamed, ChangesFound, ContextFound, ErasedText, FilesListed, Forgotten, HistoryListed, Rewound, ShownVersion,
    VersionId,
};
use readproof_words::stores::store;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write};

use super::{Done, Terminal};
use crate::{
    cli::history::{
        BlameArgs, ChangesArgs, CheckpointArgs, ContextArgs, FilesArgs, ForgetArgs, LogArgs, RewindArgs, ShowArgs,
    },
    output::{self, Failure},
    report::{printable, size},
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

/// How many files a report for people lists.
const LISTED: usize = 20;

/// What no command of ours can erase.
const ELSEWHERE: &str = "copies elsewhere are not touched: git's own objects, texts that hosts keep, stores put aside, backups, and what \
     conversations, approvals and the audit recorded";

pub(super) fn forget(terminal: &Terminal, args: ForgetArgs) -> Done {
    let ForgetArgs { paths, before, dry_run } = args;
    let before = before.map(|before| moment(&before)).transpose()?;
    let found: Forgotten = terminal.ask_watched(None, Operation::Forget(Forget { paths, before, dry_run }))?;
    for failure in found.done.iter().flat_map(|done| &done.failed) {
        output::notice(&format!("not erased: {}", store(failure)));
    }
    let is_done = found.done.as_ref().is_none_or(|done| done.failed.is_empty());
    terminal.show(|| forgotten_json(&found, is_done), || forgotten(&found))?;
    super::notices(Some(ELSEWHERE.to_owned()).filter(|_| !terminal.json), &[]);
    if is_done { Ok(()) } else { Err(Failure::reported()) }
}

fn forgotten(found: &Forgotten) -> String {
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let mut text = match &found.done {
        None => format!("would erase {} text{} ({})", found.texts.len(), s(found.texts.len()), size(found.bytes())),
        Some(done) => {
            let count = usize::try_from(done.objects).unwrap_or(usize::MAX);
            format!("erased {count} text{} ({})", s(count), size(done.bytes))
        }
    };
    text.push_str(&lost_versions(&found.texts));
    let listed = |names: &[String]| {
        let more = names.len().saturating_sub(LISTED);
        let first = names.iter().take(LISTED).map(|name| printable(name)).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{first} and {more} more") } else { first }
    };
    // Writing to a `String` cannot fail.
    if !found.others.is_empty() {
        let _ = write!(text, "\nother files that had one of these texts lose it too: {}", listed(&found.others));
    }
    if !found.present.is_empty() {
        let _ = write!(text, "\nwhat these files hold now stays: {}", listed(&found.present));
    }
    if found.told > 0 {
        let verb = if found.done.is_some() { "were erased" } else { "would be erased" };
        let _ = write!(text, "\n{} texts kept beside the audit log {verb} too; its lines and proofs stay", found.told);
    }
    for (session, count) in &found.costs {
        let _ = write!(text, "\n{} relied on {count} of these and gets plain text", printable(&session.to_string()));
    }
    text
}

/// The versions that lose their text, a line for each file.
pub(super) fn lost_versions(texts: &[ErasedText]) -> String {
    let mut by_path: BTreeMap<&str, Vec<(VersionId, bool, u64)>> = BTreeMap::new();
    for text in texts {
        for lost in &text.versions {
            by_path.entry(&lost.path).or_default().push((lost.id, lost.is_before, text.bytes));
        }
    }
    let word = |(id, is_before, _): &(VersionId, bool, u64)| match is_before {
        true => format!("before {id}"),
        false => id.to_string(),
    };
    let mut said = String::new();
    for (path, versions) in by_path.iter_mut().take(LISTED) {
        versions.sort_unstable();
        let bytes = versions.iter().map(|(_, _, bytes)| bytes).sum();
        let more = versions.len().saturating_sub(LISTED);
        let mut words: Vec<String> = versions.iter().take(LISTED).map(word).collect();
        words.extend((more > 0).then(|| format!("{more} more")));
        let _ = write!(said, "\n{}: {} ({})", printable(path), words.join(", "), size(bytes));
    }
    if by_path.len() > LISTED {
        let _ = write!(said, "\nand versions of {} more files", by_path.len() - LISTED);
    }
    said
}

/// Every text that goes, with the versions that lose it.
pub(super) fn erased_json(texts: &[ErasedText]) -> Value {
    let version = |lost: &readproof_engine::LostVersion| json!({"path": lost.path, "version_id": lost.id.to_string(), "before_it": lost.is_before});
    let text = |text: &ErasedText| {
        let versions: Vec<Value> = text.versions.iter().map(version).collect();
        json!({"sha256": text.hash.to_string(), "size_bytes": text.bytes, "versions": versions})
    };
    texts.iter().map(text).collect()
}

fn forgotten_json(found: &Forgotten, is_done: bool) -> Value {
    let sessions: BTreeMap<String, u64> = found.costs.iter().map(|(by, count)| (by.to_string(), *count)).collect();
    json!({
        "ok": is_done,
        "dry_run": found.done.is_none(),
        "texts": erased_json(&found.texts),
        "bytes": found.bytes(),
        "other_files": found.others,
        "present_text_stays": found.present,
        "relied_on_by": sessions,
        "audit_texts": found.told,
        "erased": found.done.as_ref().map(|done| json!({
            "texts": done.objects, "bytes": done.bytes, "failed": done.failed.iter().map(store).collect::<Vec<_>>(),
        })),
        "not_erased": ELSEWHERE,
    })
}

/// A day or a time in UTC, or else a version or checkpoint.
fn moment(text: &str) -> Result<Since, Failure> {
    let looks_like_date =
        text.len() >= 10 && text.as_bytes().iter().take(4).all(u8::is_ascii_digit) && text.as_bytes()[4] == b'-';
    if !looks_like_date {
        return Ok(Since::Version(text.to_owned()));
    }
    let wrong = || {
        format!(
            "`{text}` is no moment; use a day as in 2026-11-18, a time as in 2026-11-18T09:30:00Z, or a version as in v12"
        )
    };
    unix_ms(text).map(Since::Time).ok_or_else(|| Failure::usage(wrong()))
}

/// Reads `YYYY-MM-DD` and `YYYY-MM-DDTHH:MM:SS[.fraction]Z`; anything else, and what is before 1970, is `None`.
fn unix_ms(text: &str) -> Option<u64> {
    let (day, time) = text.split_once(['T', 't', ' ']).map_or((text, None), |(day, time)| (day, Some(time)));
    let numbers = |text: &str, mark: char, digits: [usize; 3]| {
        let parts: Vec<&str> = text.split(mark).collect();
        let number = |(part, digits): (&&str, usize)| {
            part.parse::<u64>().ok().filter(|_| part.len() == digits && super::is_digits(part))
        };
        let numbers: Vec<u64> = parts.iter().zip(digits).map(number).collect::<Option<_>>()?;
        <[u64; 3]>::try_from(numbers).ok().filter(|_| parts.len() == 3)
    };
    let [year, month, date] = numbers(day, '-', [4, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if year < 1970 || date == 0 || date > length {
        return None;
    }
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let before_month: u64 = lengths.iter().take(usize::try_from(month - 1).ok()?).sum();
    let days = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969) + before_month + date - 1;
    let seconds = match time {
        None => 0,
        Some(time) => {
            let time = time.strip_suffix(['Z', 'z'])?;
            let (whole, fraction) = time.split_once('.').map_or((time, "0"), |(whole, fraction)| (whole, fraction));
            let [hours, minutes, seconds] = numbers(whole, ':', [2, 2, 2])?;
            let is_time =
                hours < 24 && minutes < 60 && seconds < 60 && super::is_digits(fraction) && !fraction.is_empty();
            is_time.then_some(hours * 3600 + minutes * 60 + seconds)?
        }
    };
    Some((days * 86_400 + seconds) * 1000)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_in_utc() {
        for (text, ms) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29T12:10:45Z", Some(951_826_245_000)),
            ("2025-11-17T22:39:09.25Z", Some(1_763_419_149_000)),
            ("2025-11-17 22:39:09Z", Some(1_763_419_149_000)),
            ("2099-12-31T23:59:59Z", Some(4_102_444_799_000)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00+01:00", None),
            ("2026-01-01T24:00:00Z", None),
            ("1969-12-31", None),
            ("+026-01-01", None),
        ] {
            assert_eq!(unix_ms(text), ms, "{text}");
        }
        assert_eq!(moment("v12").ok(), Some(Since::Version("v12".to_owned())));
        assert_eq!(moment("2026-11-18").ok(), Some(Since::Time(1_794_960_000_000)));
        assert!(moment("2026-11-31").is_err());
    }
}
