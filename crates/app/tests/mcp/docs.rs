//! `docs/tools.md` matches what the server says and does. `UPDATE_DOCS=1 cargo nextest run -p readproof docs`
//! regenerates it.

use crate::client::Server;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path, process::Command};

const FILES: [(&str, &str); 2] = [
    (
        "src/greet.rs",
        "//! Greetings.\n\n/// Says hello.\npub fn hello(name: &str) -> String {\n    format!(\"hello, {name}\")\n}\n",
    ),
    ("README.md", "# Greet\n\nA library that says hello.\n"),
];

/// The example calls of each tool, in order.
fn examples() -> Vec<(&'static str, Vec<Value>)> {
    let file = "src/greet.rs";
    vec![
        (
            "read",
            vec![
                json!({"path": file, "limit": 4}),
                json!({"path": file, "limit": 4, "known": "HANDLE"}),
                json!({"path": file, "lines": "3-4"}),
                json!({"path": "greet.rs"}),
                json!({"targets": ["README.md", {"path": file, "start_line": 4, "end_line": 6}]}),
                json!({"mode": "snippet", "target": file, "query": "format", "context_lines": 1}),
                json!({"mode": "symbol", "target": "hello"}),
                json!({"mode": "symbol", "target": "helo"}),
                json!({"mode": "file", "target": file, "preview_mode": "none"}),
                json!({"mode": "diff_preview", "target": "README.md", "content": "# Greet\n\nSays hello.\n"}),
                json!({"mode": "diff_preview", "target": "README.md", "against": "INDEX"}),
                json!({"mode": "diff_preview", "target": "README.md", "against": "WORKTREE"}),
                json!({"mode": "file", "target": file, "against": "HEAD"}),
                json!({"mode": "file", "target": "src/great.rs"}),
            ],
        ),
        (
            "search",
            vec![
                json!({"query": "hello"}),
                json!({"query": "fn \\w+", "mode": "regex"}),
                json!({"query": "greet", "mode": "path"}),
                json!({"query": "hel", "mode": "symbol"}),
                json!({"query": "hello", "mode": "references"}),
                json!({"query": "(", "mode": "regex"}),
            ],
        ),
        ("list", vec![json!({}), json!({"glob": "*.rs"})]),
        ("outline", vec![json!({"path": file}), json!({"path": "."})]),
        ("stat_file", vec![json!({"path": file}), json!({"path": "gone.rs"})]),
        ("search_in_file", vec![json!({"path": file, "query": "hello", "is_regex": false, "after_lines": 1})]),
        (
            "read_file_range",
            vec![
                json!({"path": file, "start_line": 3, "end_line": 4}),
                json!({"path": file, "start_line": 70, "end_line": 80}),
            ],
        ),
        ("read_file_head", vec![json!({"path": file, "max_lines": 1})]),
        ("read_file_tail", vec![json!({"path": file, "max_lines": 2})]),
        ("read_file", vec![json!({"path": "README.md"})]),
        ("readcache_refresh", vec![json!({"path": file})]),
        ("readcache_status", vec![json!({})]),
        ("read_symbol", vec![json!({"symbol": "hello", "path": file})]),
        ("get_snippet", vec![json!({"path": file, "start_line": 4, "end_line": 4, "context_lines": 1})]),
        (
            "dry_run_diff",
            vec![json!({"path": "NEWS.md", "against": "WORKTREE", "content": "# 2\n"}), json!({"path": "NEWS.md"})],
        ),
    ]
}

#[test]
fn docs_tools_md_is_true() {
    // What is stored for the log of calls is counted whenever its thread has got so far.
    let mut server = Server::start(&FILES, &["--tools", "all"]);
    committed(&server);
    server.window("thread", "thread:0");
    let listed = server.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone();
    let mut page = String::from(include_str!("tools.head.md"));
    let mut handle = None;
    for (name, calls) in examples() {
        write!(page, "\n## `{name}`\n").unwrap();
        if let Some(tool) = listed.iter().find(|tool| tool["name"] == name) {
            described(&mut page, tool);
        } else {
            page.push_str("\nKept for those who know it; listed only by name. It routes into `read`.\n");
        }
        for mut arguments in calls {
            if arguments["known"] == "HANDLE" {
                arguments["known"] = json!(handle);
            }
            let given = server.call(name, arguments.clone());
            handle = given.handle().or(handle);
            write!(page, "\n```text\n{name} {arguments}\n").unwrap();
            for block in &given.blocks {
                write!(
                    page,
                    "--- {}\n{}{}",
                    if given.is_error { "error" } else { "block" },
                    block,
                    if block.ends_with('\n') { "" } else { "\n" }
                )
                .unwrap();
            }
            write!(page, "--- contract\n{}\n```\n", given.contract).unwrap();
        }
    }
    let page = stable(&page);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &page).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == page, "docs/tools.md is not what the server says; UPDATE_DOCS=1 writes it anew\n{page}");
}

/// A commit of the files, the same in every run.
fn committed(server: &Server) {
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        let mut git = Command::new("git");
        git.current_dir(server.dir.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", server.dir.path());
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
            git.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        assert!(git.args(args).status().expect("git is in the path").success());
    }
}

/// Replaces what differs between two runs by a placeholder.
fn stable(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    let marks = [
        ("known=h", "known=hN-…"),
        ("\"handle\":\"h", "\"handle\":\"hN-…"),
        ("\"known\":\"h", "\"known\":\"hN-…"),
        ("\"modified_unix_ms\":1", "\"modified_unix_ms\":N"),
        ("\"log_bytes\":", "\"log_bytes\":N"),
    ];
    while let Some((at, mark, stand_in)) =
        marks.iter().filter_map(|(mark, s)| rest.find(mark).map(|at| (at, *mark, *s))).min()
    {
        out.push_str(&rest[..at]);
        out.push_str(stand_in);
        let tail = &rest[at + mark.len()..];
        let end = tail.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '+').unwrap_or(tail.len());
        rest = &tail[end..];
    }
    out + rest
}

fn described(page: &mut String, tool: &Value) {
    writeln!(page, "\n{}\n", tool["description"].as_str().unwrap()).unwrap();
    let schema = &tool["inputSchema"];
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        return page.push_str("It takes no arguments.\n");
    };
    page.push_str("| argument | type | |\n|---|---|---|\n");
    for (name, property) in properties {
        let words = property["enum"]
            .as_array()
            .map(|words| words.iter().map(|w| format!("`{}`", w.as_str().unwrap())).collect::<Vec<_>>().join(", "));
        let kind = words.unwrap_or_else(|| property["type"].as_str().unwrap().to_owned());
        let needed = schema["required"].as_array().is_some_and(|required| required.contains(&json!(name)));
        let about = property["description"].as_str().unwrap_or_default();
        writeln!(page, "| `{name}`{} | {kind} | {about} |", if needed { " (required)" } else { "" }).unwrap();
    }
}

/// The guide for prompts names tools that exist, in the order of the contract, each with a call that works.
#[test]
fn the_agent_guide_names_calls_that_work() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../AGENT_GUIDE.md");
    let guide = fs::read_to_string(guide).unwrap();
    let mut server = Server::start(&FILES, &["--tools", "all"]);
    let mut called = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    for line in guide.lines() {
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            tools = line.split("**`").skip(1).filter_map(|rest| rest.split('`').next()).collect();
        }
        let call =
            line.trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|call| call.starts_with('{'));
        let Some(call) = call else { continue };
        let arguments: Value = serde_json::from_str(&call.replace("FILE", "src/greet.rs")).unwrap();
        for tool in tools.iter().filter(|tool| **tool != "search") {
            let given = server.call(tool, arguments.clone());
            assert!(!given.is_error, "{tool} {call}: {:?}", given.blocks);
            called.push((*tool).to_owned());
        }
    }
    let expected = ["stat_file", "search_in_file", "read_file_range", "read_file_head", "read_file_tail", "read_file"];
    assert_eq!(called, expected);
}
