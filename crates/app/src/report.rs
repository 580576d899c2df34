//! Reports for people: status, a session's tree, settings. Builds text; prints nothing.

pub(crate) mod audit;
pub(crate) mod compared;
pub(crate) mod found;
pub(crate) mod json;
pub(crate) mod listed;
pub(crate) mod symbols;

use readproof_core::decide::Mode;
pub(crate) use readproof_core::path::{label, printable};
use readproof_engine::{ConversationStatus, FileStatus, SessionView, Status};
use std::fmt::Write;

use crate::config::{Config, SETTINGS};

/// An estimate: about four bytes per token.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// Estimated tokens saved; negative where markers were longer than the texts they stand for.
pub(crate) fn saved(plain: u64, sent: u64) -> i64 {
    let number = |bytes| i64::try_from(tokens(bytes)).unwrap_or(i64::MAX);
    number(plain) - number(sent)
}

/// A size for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{}.{} KiB", bytes / 1024, bytes % 1024 * 10 / 1024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// The state of a workspace. Writing to a `String` cannot fail, here and below.
pub(crate) fn status(status: &Status) -> String {
    let mut out = format!("workspace  {}\n", status.workspace);
    let _ = match &status.store {
        Some(usage) => writeln!(
            out,
            "store      {} objects, {}; {} logs, {}",
            usage.objects,
            size(usage.object_bytes),
            usage.logs,
            size(usage.log_bytes)
        ),
        None => writeln!(out, "store      none yet; the first read with --session makes it"),
    };
    let names: Vec<String> = status.sessions.iter().map(ToString::to_string).collect();
    let _ = writeln!(out, "sessions   {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    if let Some(conversation) = &status.conversation {
        out.push_str(&conversation_status(conversation));
    }
    out.trim_end().to_owned()
}

fn conversation_status(session: &ConversationStatus) -> String {
    let name = session.name.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut out = format!("\nsession {name}, on its branch since the last compaction ({} entries)\n", session.window);
    if session.distrusted {
        out.push_str("  the host was seen to drop or change results: every answer is plain\n");
    }
    let counts: Vec<String> = Mode::ALL
        .iter()
        .filter_map(|mode| session.counts.get(mode).map(|count| format!("{} {count}", mode.as_str())))
        .collect();
    let _ = writeln!(out, "  reads    {}", if counts.is_empty() { "none".to_owned() } else { counts.join(", ") });
    let (plain, sent) = (tokens(session.plain_bytes), tokens(session.sent_bytes));
    let _ = writeln!(
        out,
        "  tokens   ~{sent} sent where plain answers would have been ~{plain}: ~{} saved (bytes/4)",
        saved(session.plain_bytes, session.sent_bytes)
    );
    out.push_str(if session.files.is_empty() { "  held     nothing\n" } else { "  held\n" });
    for file in &session.files {
        let _ = writeln!(out, "    {:<32} {}", printable(&file.path), spans(file));
    }
    out
}

fn spans(file: &FileStatus) -> String {
    if file.whole {
        return "whole file".to_owned();
    }
    let spans: Vec<String> =
        file.lines.iter().map(|(lines, _)| format!("{}-{}", lines.first(), lines.last())).collect();
    format!("lines {}", spans.join(", "))
}

/// A session's tree: one line per entry, the current branch marked.
pub(crate) fn session(view: &SessionView) -> String {
    let mut out = format!("session {}\n", view.session);
    if view.leaf.is_none() {
        out.push_str("* root  <- here\n");
    }
    let mut forks = std::collections::BTreeMap::new();
    for entry in &view.entries {
        *forks.entry(entry.parent).or_insert(0) += 1;
    }
    for entry in &view.entries {
        let mark = if entry.on_branch { '*' } else { ' ' };
        let here = if view.leaf == Some(entry.id) { "  <- here" } else { "" };
        let from = match entry.parent {
            // The parent is of interest only where the tree splits.
            parent if forks.get(&parent).copied().unwrap_or(0) > 1 => {
                format!("  (after {})", parent.map_or("root".to_owned(), |id| id.to_string()))
            }
            _ => String::new(),
        };
        let mode = entry.mode.map_or("", Mode::as_str);
        let line = format!(
            "{mark} {:<5} {:<12} {:<28} {:<17} {}{from}{here}",
            entry.id.to_string(),
            entry.kind,
            printable(entry.path.as_deref().unwrap_or("")),
            mode,
            printable(&entry.note)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.trim_end().to_owned()
}

/// Every setting with its value and source.
pub(crate) fn config(config: &Config) -> String {
    let mut out = format!("workspace = {}\n", config.root.path().display());
    for (setting, source) in SETTINGS.iter().zip(&config.sources) {
        let variable = setting.variable().map(|variable| format!(" ({variable})")).unwrap_or_default();
        let _ = writeln!(out, "\n# {}{variable}", setting.help);
        let off = if setting.is_for_workspaces() { "" } else { "# " };
        let _ = writeln!(out, "{off}{} = {}  # {}", setting.key, setting.value(&config.settings), source.as_str());
    }
    for notice in &config.notices {
        let _ = writeln!(out, "\n# not taken: {}", printable(notice));
    }
    out.trim_end().to_owned()
}
