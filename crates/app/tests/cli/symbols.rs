//! `symbols`, `outline` and reads by name: text, JSON, exit codes.

use crate::workspace::Workspace;
use serde_json::json;

const LIB: &str = "//! A library.\n\nuse std::fmt;\n\n/// A box.\npub struct Crate {\n    size: u32,\n}\n\nimpl Crate {\n    /// Opens it.\n    pub fn open(&self) -> u32 {\n        self.size\n    }\n}\n";

fn workspace() -> Workspace {
    Workspace::with(&[
        ("src/lib.rs", LIB),
        ("app.py", "class Door:\n    def open(self):\n        return 1\n"),
        ("README.md", "# Boxes\n\n## How to open\n\nText.\n"),
    ])
}

#[test]
fn every_definition_is_listed() {
    let ws = workspace();
    ws.run("symbols").gives(
        "README.md:1-5: heading Boxes\n\
         README.md:3-5: heading Boxes::How to open\n\
         app.py:1-3: class Door\n\
         app.py:2-3: method Door::open\n\
         src/lib.rs:5-8: struct Crate\n\
         src/lib.rs:7: field Crate::size\n\
         src/lib.rs:10-15: implementation Crate\n\
         src/lib.rs:11-14: method Crate::open\n",
    );
    ws.run("symbols --glob *.py").gives("app.py:1-3: class Door\napp.py:2-3: method Door::open\n");
    let all = ws.run("symbols open --limit 9 --json").json();
    assert_eq!((&all["ok"], &all["meta"]["total_matches"]), (&json!(true), &json!(3)));
    // What has exactly this name ends the list.
    let found = ws.run("symbols open --json").json();
    assert_eq!((&found["ok"], &found["meta"]["total_matches"]), (&json!(true), &json!(2)));
    assert_eq!(
        found["results"][0],
        json!({"file": "app.py", "name": "open", "qualified": "Door::open", "kind": "method", "scope": ["Door"],
               "line": 2, "end_line": 3, "name_line": 2, "fit": "exact"})
    );
    ws.run("symbols open --limit 1").noticed(&["1 of 3 definitions are shown"]);
    ws.run("symbols nothing_like_it").noticed(&["nothing of that name is defined"]);
    ws.run("search Door --mode symbol --limit 1").gives("app.py:1-3: class Door\n");
    ws.run_args(&["symbols", "--glob", "a["]).refused(1, &["is not a valid glob"]);
    ws.run_args(&["symbols", " "]).refused(2, &["empty"]);
}

#[test]
fn what_a_file_defines_is_shown_as_a_tree() {
    let ws = workspace();
    ws.run("outline src/lib.rs")
        .gives("     5  struct Crate\n     7    field size\n    10  implementation Crate\n    11    method open\n");
    let outline = ws.run("outline app.py --json").json();
    assert_eq!((&outline["language"], &outline["total_lines"]), (&json!("python"), &json!(3)));
    assert_eq!(outline["symbols"][1]["parent"], 0);
    ws.run("outline none.rs").refused(1, &["none.rs"]);
    ws.put("notes.xyz", "text\n");
    ws.run("outline notes.xyz").refused(1, &["no language"]);
}

#[test]
fn a_definition_is_read_by_its_name() {
    let ws = workspace();
    let open = "    /// Opens it.\n    pub fn open(&self) -> u32 {\n        self.size\n    }\n";
    assert_eq!(ws.run("read --mode symbol Crate::open").noticed(&["lines 11-14 of 15; method Crate::open"]), open);
    let read = ws.run("read --mode symbol open --path-of-symbol src --include-context --json").json();
    assert_eq!((&read["text"], &read["context_text"]), (&json!(open), &json!("use std::fmt;\nimpl Crate {\n")));
    assert_eq!(read["meta"]["resolved_symbol"]["qualified"], "Crate::open");
    ws.run("read --mode symbol open").refused(1, &["`open` is defined 2 times", "app.py:2-3"]);
    ws.run("read --mode symbol opne").refused(1, &["did you mean open?"]);
    let none = ws.run("read --mode symbol --json opne");
    assert!(none.code == Some(1) && none.out.contains("NO_SYMBOL"), "{none:?}");
}
