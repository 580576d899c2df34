//! `docs/finding.md` shows what the server answers: its examples are run in the files that it lists. `UPDATE_DOCS=1 cargo nextest run
//! -p readproof finding` writes the answers anew.

use crate::client::Server;
use serde_json::Value;
use std::{fs, path::Path};

#[test]
fn docs_finding_md_is_true() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/finding.md");
    let written = fs::read_to_string(&file).unwrap();
    // Every second part is in a fence.
    let parts: Vec<&str> = written.split("```").collect();
    let fenced = || parts.iter().skip(1).step_by(2);
    let files: Vec<(&str, &str)> =
        fenced().filter_map(|block| block.strip_prefix("text file=")?.split_once('\n')).collect();
    assert!(files.len() > 3, "{files:?}");
    let mut server = Server::start(&files, &[]);
    let (mut page, mut calls) = (Vec::new(), 0);
    for part in &parts {
        let call = part.strip_prefix("text\nsearch ").and_then(|call| call.lines().next());
        page.push(
            call.map_or_else(
                || (*part).to_owned(),
                |call| format!("text\nsearch {call}\n{}", answer(&mut server, call)),
            ),
        );
        calls += usize::from(call.is_some());
    }
    assert!(calls > 5, "{calls}");
    let page = page.join("```");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap();
    assert!(written == page, "docs/finding.md is not what the server says; UPDATE_DOCS=1 writes it anew\n{page}");
}

fn answer(server: &mut Server, call: &str) -> String {
    let arguments: Value = serde_json::from_str(call).unwrap();
    let given = server.call("search", arguments);
    assert!(!given.is_error, "{:?}", given.blocks);
    let block = |block: &String| format!("--- block\n{}\n", block.trim_end_matches('\n'));
    given.blocks.iter().map(block).collect()
}
