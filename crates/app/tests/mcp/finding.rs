//! `docs/finding.md`, `docs/editing.md`, `docs/policy.md` and `docs/history.md` show what the server answers: their examples are run in the files that they list, in their
//! order. `UPDATE_DOCS=1 cargo nextest run -p readproof finding` writes the answers anew.

use crate::client::Server;
use serde_json::Value;
use std::{fs, path::Path};

#[test]
fn docs_finding_md_is_true() {
    is_true("finding", &["search"], 3, 5);
}

#[test]
fn docs_editing_md_is_true_by_finding_out() {
    let tools = ["edit", "write_file", "apply_patch", "get_diff", "delete_file", "move_file", "read_lines", "read"];
    is_true("editing", &tools, 2, 12);
}

#[test]
fn docs_policy_md_is_true_by_finding_out() {
    is_true("policy", &["read", "search", "list", "edit"], 6, 6);
}

#[test]
fn docs_history_md_is_true_by_finding_out() {
    let tools = ["list_files", "edit", "blame", "show_version", "changes", "context", "checkpoint", "rollback"];
    is_true("history", &tools, 2, 10);
}

/// Runs every call of a page, at least so many, in at least so many files.
fn is_true(name: &str, tools: &[&str], files_at_least: usize, calls_at_least: usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/{name}.md"));
    let written = fs::read_to_string(&file).unwrap();
    // Every second part is in a fence.
    let parts: Vec<&str> = written.split("```").collect();
    let fenced = || parts.iter().skip(1).step_by(2);
    let files: Vec<(&str, &str)> =
        fenced().filter_map(|block| block.strip_prefix("text file=")?.split_once('\n')).collect();
    assert!(files.len() >= files_at_least, "{files:?}");
    let mut server = Server::start(&files, &["--tools", "all"]);
    let (mut page, mut calls) = (Vec::new(), 0);
    for part in &parts {
        if let Some((to, content)) = part.strip_prefix("text meanwhile=").and_then(|part| part.split_once('\n')) {
            server.put(to, content);
        }
        let call = part.strip_prefix("text\n").and_then(|call| call.lines().next()?.split_once(' '));
        let call = call.filter(|(tool, _)| tools.contains(tool));
        page.push(call.map_or_else(
            || (*part).to_owned(),
            |(tool, given)| format!("text\n{tool} {given}\n{}", answer(&mut server, tool, given)),
        ));
        calls += usize::from(call.is_some());
    }
    assert!(calls >= calls_at_least, "{calls}");
    let page = page.join("```");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap();
    assert!(written == page, "docs/{name}.md is not what the server says; UPDATE_DOCS=1 writes it anew\n{page}");
}

fn answer(server: &mut Server, tool: &str, call: &str) -> String {
    let arguments: Value = serde_json::from_str(call).unwrap_or_else(|error| panic!("{call}: {error}"));
    let given = server.call(tool, arguments);
    let word = if given.is_error { "error" } else { "block" };
    let block = |block: &String| format!("--- {word}\n{}\n", without_id(block.trim_end_matches('\n')));
    given.blocks.iter().map(block).collect()
}

/// The id of a request is another one in every store.
fn without_id(text: &str) -> String {
    const BEFORE: &str = "readproof approvals approve ";
    let Some((before, rest)) = text.split_once(BEFORE) else { return text.to_owned() };
    let id = rest.find('`').unwrap_or(rest.len());
    format!("{before}{BEFORE}ID{}", &rest[id..])
}
