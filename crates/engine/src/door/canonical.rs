//! The canonical text of every outcome, by the rule `canonical-1`: the exact text where an outcome is one text, else lines in a fixed
//! form, in the order of the outcome. It has no clock, no path outside the workspace and no words of a surface, so it is the same on
//! every wire and in a replay. Another form is another rule.

use readproof_core::text::ContentHash;
use readproof_hosts::{
    block::Sha,
    calls::LoggedLines,
    versions::{OpenedConflict, VersionId},
};
use readproof_index::Line;
use std::{borrow::Cow, fmt::Write as _};

use super::{Answer, Approval, Error, Outcome, Reading, ShownLines, StoodOn, Written, WrittenFile, record::Canonical};
use crate::{
    Blamed, Check, Compared, ConflictTexts, ContextFound, FileStat, FilesListed, HistoryEntry, HistoryListed, InFile,
    Listed, ListedKind, Outlines, Rewound, Searched, SessionView, Status, SymbolsFound, Told, upkeep::Replayed,
};

impl<G> Canonical for Outcome<G> {
    fn canonical(&self) -> Cow<'_, str> {
        match self {
            Self::Read(reading) => of_reading(reading),
            Self::Defined(defined) => {
                let text = of_reading(&defined.reading);
                if defined.surroundings.runs.is_empty() {
                    return text;
                }
                let around = |out: String, run: &crate::Around| out + &format!("@{}\n{}", run.lines.first(), run.text);
                let around = defined.surroundings.runs.iter().fold(String::new(), around);
                Cow::Owned(format!("{around}@{}\n{text}", defined.resolved.symbol.lines.first()))
            }
            Self::Told(told) => Cow::Owned(told.iter().map(of_told).collect()),
            Self::EndOfFile(end) => Cow::Borrowed(&end.text),
            Self::Compared(compared) => Cow::Borrowed(&compared.text),
            Self::Written(written) => Cow::Borrowed(&written.text),
            Self::ComparedVersions(compared) => Cow::Borrowed(&compared.diff),
            Self::Version(shown) => Cow::Borrowed(&shown.text),
            Self::Changes(found) => Cow::Owned(of_entries(&found.entries) + &found.diff),
            Self::Rewound(done) => Cow::Owned(of_rewound(done)),
            Self::Stat(stat) => Cow::Owned(of_stat(stat)),
            Self::InFile(found) => Cow::Owned(of_in_file(found)),
            Self::Searched(found) => Cow::Owned(of_searched(found)),
            Self::Symbols(found) => Cow::Owned(of_symbols(found)),
            Self::Outlined(found) => Cow::Owned(of_outlines(found)),
            Self::Listed(listed) => Cow::Owned(of_listed(listed)),
            Self::Files(files) => Cow::Owned(of_files(files)),
            Self::History(listed) => Cow::Owned(of_history(listed)),
            Self::Blamed(blamed) => Cow::Owned(of_blamed(blamed)),
            Self::Context(found) => Cow::Owned(of_context(found)),
            Self::Marked(id) => Cow::Owned(id.to_string()),
            Self::Conflicts(all) => Cow::Owned(all.iter().map(of_conflict).collect()),
            Self::Conflict(one) => Cow::Owned(of_conflict_texts(one)),
            Self::Approvals(all) => Cow::Owned(all.iter().map(of_approval).collect()),
            Self::Approval(one) => Cow::Owned(of_approval(one)),
            Self::Refreshed(done) => Cow::Owned(listing(done.paths.iter().map(|path| name(path)))),
            Self::Status(status) => Cow::Owned(of_status(status)),
            Self::Held(held) => Cow::Owned(of_held(held)),
            Self::Sessions(names) => Cow::Owned(listing(names.iter().map(|name| name.as_str().to_owned()))),
            Self::Session(view) => Cow::Owned(of_session(view)),
            Self::Moved(leaf) => Cow::Owned(leaf.map_or_else(|| "root".to_owned(), |entry| entry.0.to_string())),
            Self::Forked(session) => Cow::Owned(session.as_str().to_owned()),
            Self::Recorded(entry) => Cow::Owned(entry.0.to_string()),
            Self::Replayed(reports) => Cow::Owned(reports.iter().map(of_replayed).collect()),
            Self::Collected(done) => Cow::Owned(format!("objects {}\n", done.plan.count())),
            Self::Forgotten(done) => Cow::Owned(format!("texts {}\n", done.texts.len())),
            Self::PolicyChecked(checked) => Cow::Owned(name(&checked.path) + "\n"),
            Self::Policy(listed) => Cow::Owned(format!("rules {}\n", listed.rules.len())),
            Self::Checked(checks) => Cow::Owned(checks.iter().map(of_check).collect()),
        }
    }

    fn stood_on(&self) -> Vec<StoodOn> {
        match self {
            Self::Written(written) => written.files.iter().map(of_written).collect(),
            Self::Rewound(Rewound { written: Some(written), .. }) => written.files.iter().map(of_written).collect(),
            Self::Version(shown) => vec![StoodOn::hash(&shown.path, shown.hash)],
            Self::Read(_)
            | Self::Defined(_)
            | Self::Told(_)
            | Self::EndOfFile(_)
            | Self::Compared(_)
            | Self::ComparedVersions(_)
            | Self::Changes(_)
            | Self::Rewound(Rewound { written: None, .. })
            | Self::Stat(_)
            | Self::InFile(_)
            | Self::Searched(_)
            | Self::Symbols(_)
            | Self::Outlined(_)
            | Self::Listed(_)
            | Self::Files(_)
            | Self::History(_)
            | Self::Blamed(_)
            | Self::Context(_)
            | Self::Marked(_)
            | Self::Conflicts(_)
            | Self::Conflict(_)
            | Self::Approvals(_)
            | Self::Approval(_)
            | Self::Refreshed(_)
            | Self::Status(_)
            | Self::Held(_)
            | Self::Sessions(_)
            | Self::Session(_)
            | Self::Moved(_)
            | Self::Forked(_)
            | Self::Recorded(_)
            | Self::Replayed(_)
            | Self::Collected(_)
            | Self::Forgotten(_)
            | Self::PolicyChecked(_)
            | Self::Policy(_)
            | Self::Checked(_) => Vec::new(),
        }
    }

    fn found(&self) -> Vec<LoggedLines> {
        let Self::Searched(found) = self else { return Vec::new() };
        let of_hit = |hit: &readproof_index::Hit| {
            let whole = hit.lines.iter().filter(|line| !line.cut && !line.lossy);
            LoggedLines::of(&hit.path, whole.map(|line| (line.number, line.text.as_str(), line.matches)))
        };
        found.hits.iter().map(of_hit).collect()
    }

    fn version(&self) -> Option<VersionId> {
        if let Self::Marked(id) = self {
            return Some(*id);
        }
        let written = if let Self::Rewound(done) = self { done.written.as_ref() } else { None };
        let written = if let Self::Written(written) = self { Some(written) } else { written };
        written.and_then(|written: &Written| written.version)
    }
}

/// The canonical text of a failure: its code, and the lines of a file that it shows.
pub(crate) fn of_error(error: &Error) -> String {
    let shown: &[ShownLines] =
        if let Error::Edit { shown, .. } | Error::Conflict { shown, .. } = error { shown } else { &[] };
    let mut out = format!("{}\n", error.code());
    for run in shown {
        for (number, line) in (run.first..).zip(&run.lines) {
            let _ = writeln!(out, "{number}:{line}");
        }
    }
    out
}

/// A name on one line.
fn name(text: &str) -> String {
    readproof_core::path::printable(text)
}

fn listing(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |out, line| out + &line + "\n")
}

fn hash(hash: Option<ContentHash>) -> String {
    hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string())
}

fn sha(sha: Option<Sha>) -> String {
    hash(sha.map(|Sha(hash)| hash))
}

fn number<N: ToString>(number: Option<N>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn of_reading<G>(reading: &Reading<G>) -> Cow<'_, str> {
    match reading {
        Reading::Answer(answer) => Cow::Borrowed(&answer.text),
        Reading::NotOurs(why) => Cow::Owned(format!("{why:?}\n")),
    }
}

fn of_told<G>(told: &Told<G>) -> String {
    let text = told.answer.as_ref().map_or(told.diff.as_str(), |answer: &Answer<G>| &answer.text);
    format!("{} {} {}\n{text}", name(&told.path), told.version, told.operation)
}

fn of_written(file: &WrittenFile) -> StoodOn {
    let sensitive = file.before.is_none() && file.after.is_none() && !file.removed && !file.same;
    StoodOn { before: file.before, after: file.after, base: file.base, sensitive, ..StoodOn::unkept(&file.path) }
}

/// What a rewind makes of each file.
pub(crate) fn of_rewound_files(to: VersionId, files: &[crate::RewoundFile]) -> String {
    let mut out = format!("to {to}\n");
    for file in files {
        let _ = writeln!(out, "{} {}", file.what.as_str(), name(&file.path));
    }
    out
}

/// The canonical text of an outcome.
pub(crate) fn canonical_of<G>(outcome: &Outcome<G>) -> Cow<'_, str> {
    outcome.canonical()
}

fn of_rewound(done: &Rewound) -> String {
    let out = of_rewound_files(done.to, &done.files);
    out + done.written.as_ref().map_or("", |written| &written.text)
}

fn of_stat(stat: &FileStat) -> String {
    let FileStat { path, kind, size_bytes, .. } = stat;
    format!("{} {} {}\n", kind.unwrap_or("-"), number(*size_bytes), name(path))
}

/// Lines as `rg` prints them: `number:` before a match, `number-` before context.
fn of_lines(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        let mark = if line.matches { ':' } else { '-' };
        let cut = if line.cut { "…" } else { "" };
        let kind = line.kind.map(|kind| format!("[{}] ", kind.as_str())).unwrap_or_default();
        let _ = writeln!(out, "{}{mark}{kind}{}{cut}", line.number, line.text);
    }
    out
}

fn of_in_file(found: &InFile) -> String {
    format!("matches {} given {}\n{}", found.matches, found.given, of_lines(&found.lines))
}

fn of_searched(found: &Searched) -> String {
    let mut out = format!("matches {} files {}\n", found.matches, found.files);
    for hit in &found.hits {
        let _ = writeln!(out, "> {} {}", hit.matches, name(&hit.path));
        out += &of_lines(&hit.lines);
    }
    out
}

fn of_symbols(found: &SymbolsFound) -> String {
    let mut out = format!("definitions {}\n", found.total);
    for (_, at) in &found.found {
        let (symbol, lines) = (&at.symbol, at.symbol.lines);
        let scope = symbol.scope.join(".");
        let _ = writeln!(
            out,
            "{} {}-{} {} {} {}",
            symbol.kind.as_str(),
            lines.first(),
            lines.last(),
            name(&at.path),
            name(&symbol.name),
            name(&scope)
        );
    }
    out
}

fn of_outlines(found: &Outlines) -> String {
    let mut out = format!("left_out {} files_left_out {}\n", found.left_out, found.files_left_out);
    for file in &found.files {
        let _ = writeln!(out, "> {} {} {}", file.language, file.total_lines, name(&file.path));
        for (at, symbol) in file.symbols.iter().enumerate() {
            let (kind, lines) = (symbol.kind.as_str(), symbol.lines);
            let _ = writeln!(out, "{kind} {}-{} {}", lines.first(), lines.last(), name(&symbol.name));
            for (number, line) in file.signatures.get(at).into_iter().flatten() {
                let _ = writeln!(out, "{number}:{line}");
            }
        }
    }
    out
}

fn of_listed(listed: &Listed) -> String {
    let mut out = format!("files {} left_out {} depth {}\n", listed.files, listed.left_out, listed.depth);
    for entry in &listed.entries {
        let _ = match entry.what {
            ListedKind::Folder { files, open } => {
                writeln!(out, "folder {files} {} {}", if open { "open" } else { "closed" }, name(&entry.name))
            }
            ListedKind::File { bytes, lines } => {
                writeln!(out, "file {bytes} {} {}", number(lines), name(&entry.name))
            }
        };
    }
    out
}

fn of_files(files: &FilesListed) -> String {
    let line = |file: &crate::ListedFile| {
        format!("{} {} {} {}", file.bytes, hash(file.hash), number(file.version), name(&file.path))
    };
    format!("files {}\n{}", files.total, listing(files.files.iter().map(line)))
}

fn of_entries(entries: &[HistoryEntry]) -> String {
    let mut out = String::new();
    for entry in entries {
        let named = entry.name.as_deref().map(name).unwrap_or_default();
        let _ = writeln!(out, "{} {} {} {named}", entry.id, entry.operation, entry.by.surface);
        for (file, bytes) in &entry.files {
            let texts = (sha(file.before), sha(file.after));
            let _ = writeln!(out, "> {} {} {} {}", texts.0, texts.1, number(*bytes), name(&file.path));
        }
    }
    out
}

fn of_history(listed: &HistoryListed) -> String {
    format!("changes {}\n{}", listed.total, of_entries(&listed.entries))
}

fn of_blamed(blamed: &Blamed) -> String {
    let line = |line: &crate::BlamedLine| format!("{}:{}:{}", line.number, number(line.version), line.text);
    listing(blamed.lines.iter().map(line))
}

fn of_context(found: &ContextFound) -> String {
    let recent = listing(found.recent.iter().map(|file| name(&file.path)));
    let files = found.files.iter().map(|file| format!("{} {}", file.state.as_str(), name(&file.path)));
    format!("{recent}files {}\n{}{}", found.files_total, listing(files), of_entries(&found.own))
}

fn of_conflict(one: &OpenedConflict) -> String {
    let ended = one.resolved.as_ref().map_or("open", |(how, _)| how.as_str());
    format!("{} {ended} {}\n", one.id, name(&one.conflict.path))
}

fn of_conflict_texts(one: &ConflictTexts) -> String {
    let text = one.sides.marked.as_ref().map_or("", |text| text.as_str());
    of_conflict(&one.conflict) + text
}

fn of_approval(one: &Approval) -> String {
    let asked = &one.request.asked;
    let paths: Vec<String> = asked.paths.iter().map(|path| name(path)).collect();
    format!("{} {:?} {} {}\n", one.request.id, one.state, asked.what, paths.join(" "))
}

fn of_status(status: &Status) -> String {
    let held = status.conversation.iter().flat_map(|conversation| &conversation.files);
    let held = held.map(|file| format!("{} {}", if file.whole { "whole" } else { "part" }, name(&file.path)));
    format!("sessions {}\n{}", status.sessions.len(), listing(held))
}

fn of_held(held: &crate::HeldNow) -> String {
    let span = |span: &crate::HeldSpan| {
        let lines = span.lines.map_or_else(|| "end".to_owned(), |lines| format!("{}-{}", lines.first(), lines.last()));
        format!("{lines} {} {:?}", span.hash, span.now)
    };
    let spans = |file: &crate::HeldFile| file.spans.iter().map(span).collect::<Vec<_>>().join(", ");
    listing(held.files.iter().map(|file| format!("{} {}", name(&file.path), spans(file))))
}

fn of_session(view: &SessionView) -> String {
    let line = |entry: &crate::SessionEntry| {
        let path = entry.path.as_deref().map(name).unwrap_or_default();
        format!("{} {} {path}", entry.id.0, entry.kind)
    };
    listing(view.entries.iter().map(line))
}

fn of_replayed(report: &Replayed) -> String {
    let Replayed { session, verified, written, calls, unverifiable, wrong, .. } = report;
    let session = session.as_ref().map_or("-", |name| name.as_str());
    format!("{session} {verified} {written} {calls} {} {}\n", unverifiable.len(), wrong.len())
}

fn of_check(check: &Check) -> String {
    format!("{} {}\n", check.health.as_str(), check.name)
}

/// Compiles only while a diff against git has its exact text.
const _: fn(&Compared) -> &str = |compared| &compared.text;
