//! Definitions by name: answers, trailers, and errors with valid calls.

use crate::client::Server;
use serde_json::{Value, json};
use std::{fs, time::Duration};

const A: &str = "use std::fmt;\n\npub struct A;\n\nimpl A {\n    /// Makes one.\n    #[must_use]\n    pub fn new() -> Self {\n        A\n    }\n\n    fn only(&self) {}\n}\n\nimpl fmt::Display for A {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        Ok(())\n    }\n}\n\nimpl fmt::Debug for A {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        Ok(())\n    }\n}\n";
const B: &str =
    "pub struct B {\n    only: u8,\n}\n\nimpl B {\n    pub fn new() -> Self {\n        B { only: 1 }\n    }\n}\n";
const NEW: &str = "    /// Makes one.\n    #[must_use]\n    pub fn new() -> Self {\n        A\n    }\n";

fn server() -> Server {
    Server::start(&[("src/a.rs", A), ("src/b.rs", B)], &[])
}

#[test]
fn a_definition_is_read_by_its_name() {
    let mut server = server();
    for target in ["A::new", "A.new", "a::A::new"] {
        let given = server.call("read", json!({"mode": "symbol", "target": target}));
        assert_eq!(given.text(), NEW);
        assert_eq!(given.trailer(), "[src/a.rs: lines 6-10 of 25; method A::new]");
        assert_eq!(given.contract["location"], json!({"file": "src/a.rs", "line": 6, "end_line": 10}));
        let symbol = &given.contract["meta"]["resolved_symbol"];
        assert_eq!(
            (&symbol["qualified"], &symbol["kind"], &symbol["name_line"], &symbol["file"]),
            (&json!("A::new"), &json!("method"), &json!(8), &json!("src/a.rs"))
        );
    }
    // By its file, with the deprecated tool, with other parameter names.
    for (tool, arguments) in [
        ("read", json!({"mode": "symbol", "target": "new", "path": "src/a.rs"})),
        ("read", json!({"mode": "Symbol", "target": "A::new"})),
        ("read_symbol", json!({"symbol": "A::new"})),
        ("read_symbol", json!({"name": "new", "file": "src/a.rs"})),
    ] {
        assert_eq!(server.call(tool, arguments.clone()).text(), NEW, "{arguments}");
    }
    let place = server.call("read", json!({"mode": "symbol", "target": "A::new", "preview_mode": "none"}));
    assert_eq!((place.blocks.len(), &place.contract["location"]["line"]), (1, &json!(6)));
    let cut = server.call("read", json!({"mode": "symbol", "target": "A::new", "limit": 2}));
    assert_eq!(cut.text(), "    /// Makes one.\n    #[must_use]\n");
    let (said, rest) = cut.trailer().split_once(" of=").unwrap();
    assert_eq!(said, "[src/a.rs: lines 6-7 of 25; go on with mode=file start_line=8");
    assert_eq!(rest[8..], *"; method A::new]");
    // A method before a field of the same name.
    let only = server.call("read", json!({"mode": "symbol", "target": "only"}));
    assert_eq!(only.text(), "    fn only(&self) {}\n");
    assert!(only.trailer().contains("1 other definitions have this name"), "{}", only.trailer());
}

#[test]
fn context_stands_in_a_block_of_its_own() {
    let mut server = server();
    let arguments = json!({"mode": "symbol", "target": "<A as Display>::fmt", "include_context": true});
    let given = server.call("read", arguments);
    assert!(given.text().starts_with("    fn fmt(") && given.text().ends_with("    }\n"));
    assert_eq!(given.blocks.len(), 3);
    assert!(given.blocks[1].starts_with("use std::fmt;\n"), "{:?}", given.blocks);
    assert!(given.trailer().contains("; with lines 1"), "{}", given.trailer());
    assert_eq!(given.contract["context"][0], json!({"line": 1, "end_line": 1}));
    let without = server.call("read", json!({"mode": "symbol", "target": "B", "include_context": true}));
    assert_eq!(without.blocks.len(), 2);
}

#[test]
fn several_and_none_are_errors_with_calls_that_work() {
    let mut server = server();
    for target in ["new", "A::fmt", "fmt"] {
        let refused = server.call("read", json!({"mode": "symbol", "target": target}));
        assert_eq!(refused.code(), "AMBIGUOUS");
        let lines: Vec<&str> = refused.blocks[0].lines().collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        for line in &lines[1..] {
            let call: Value = serde_json::from_str(line.split_once(": read ").unwrap().1).unwrap();
            let given = server.call("read", call);
            assert!(given.text().contains("fn "), "{line}");
        }
    }
    let none = server.call("read", json!({"mode": "symbol", "target": "A::nwe"}));
    assert_eq!(none.code(), "NO_SYMBOL");
    assert!(none.blocks[0].contains("did you mean new?"), "{}", none.blocks[0]);
    let elsewhere = server.call("read", json!({"mode": "symbol", "target": "B", "path": "src/a.rs"}));
    assert_eq!(elsewhere.code(), "NO_SYMBOL");
    for (path, code) in
        [("src/none.rs", "NOT_FOUND"), ("../x", "OUTSIDE_WORKSPACE"), ("/etc/passwd", "OUTSIDE_WORKSPACE")]
    {
        let refused = server.call("read", json!({"mode": "symbol", "target": "B", "path": path}));
        assert_eq!(refused.code(), code, "{path}");
    }
    server.put("notes.txt", "B\n");
    let no_language = server.call("read", json!({"mode": "symbol", "target": "B", "path": "notes.txt"}));
    assert_eq!(no_language.code(), "NO_LANGUAGE");
    let offset = server.call("read", json!({"mode": "symbol", "target": "B", "offset": 3}));
    assert_eq!(offset.code(), "INVALID_ARGS");
    assert_eq!(server.call("read", json!({"mode": "symbol", "target": " "})).code(), "EMPTY_SYMBOL");
}

#[test]
fn definitions_are_searched_by_parts_of_their_names() {
    let mut server = server();
    let given = server.call("search", json!({"query": "new", "mode": "symbol"}));
    assert_eq!(given.text(), "src/a.rs:6-10: method A::new\nsrc/b.rs:6-8: method B::new\n");
    assert_eq!(given.trailer(), "[2 of 2 with exactly this name]");
    assert_eq!(given.contract["results"][1]["file"], "src/b.rs");
    let one = server.call("search", json!({"query": "B::ne", "mode": "symbol"}));
    assert_eq!(one.text(), "src/b.rs:6-8: method B::new\n");
    let some = server.call("search", json!({"query": "n", "mode": "symbol", "limit": 1, "glob": "*.rs"}));
    assert_eq!((some.text().lines().count(), &some.contract["meta"]["truncated"]), (1, &json!(true)));
    let none = server.call("search", json!({"query": "zzz", "mode": "symbol"}));
    assert_eq!((none.text(), none.contract["meta"]["total_matches"].as_u64()), ("", Some(0)));
}

#[test]
fn what_is_known_of_a_definition_is_not_sent_again() {
    let mut server = server();
    server.window("thread", "thread:0");
    let first = server.call("read", json!({"mode": "symbol", "target": "A::new"}));
    let handle = first.handle().unwrap();
    let again = server.call("read", json!({"mode": "symbol", "target": "A::new", "known": handle}));
    assert_eq!(again.decision(), "unchanged_range");
    // Held lines count, however they were asked for.
    let lines = json!({"path": "src/a.rs", "start_line": 7, "end_line": 9, "known": handle});
    assert_eq!(server.call("read_file_range", lines).decision(), "unchanged_range");
    // It has moved, so its text is sent.
    server.put("src/a.rs", format!("// one more\n{A}"));
    let moved = server.call("read", json!({"mode": "symbol", "target": "A::new", "known": handle}));
    assert_eq!((moved.text(), &moved.contract["location"]["line"]), (NEW, &json!(7)));
}

/// The file watcher does not see a change made through another hard link.
#[test]
fn a_definition_is_found_after_a_change_through_another_link() {
    let mut server = server();
    fs::hard_link(server.path("src/a.rs"), server.path("other name")).unwrap();
    let read = json!({"mode": "symbol", "target": "A::new"});
    assert_eq!(server.call("read", read.clone()).text(), NEW);
    for round in 0..3 {
        fs::write(server.path("other name"), format!("{}{A}", "// one more\n".repeat(round + 1))).unwrap();
        assert_eq!(server.call("read", read.clone()).text(), NEW, "round {round}");
    }
}

/// A write through a hard link outside the workspace happens in no watched folder.
#[test]
fn a_definition_is_listed_after_a_change_through_a_link_outside() {
    let mut server = server();
    let outside = tempfile::tempdir_in(server.dir.path().parent().unwrap()).unwrap();
    fs::hard_link(server.path("src/a.rs"), outside.path().join("link")).unwrap();
    let listed = |server: &mut Server, name: &str| {
        server.call("search", json!({"mode": "symbol", "query": name})).contract["meta"]["total_matches"].clone()
    };
    assert_eq!(listed(&mut server, "Renamed"), json!(0));
    for round in 0..3 {
        let name = format!("Renamed{round}");
        fs::write(outside.path().join("link"), format!("struct {name};\n")).unwrap();
        assert_eq!(listed(&mut server, &name), json!(1), "round {round}");
    }
}

/// A file that is rewritten all the time: every answer has the right lines of one version.
#[test]
fn an_answer_is_never_of_two_states_of_a_file() {
    let mut server = server();
    let path = server.path("src/c.rs");
    let body = |pad: usize| format!("{}fn c() {{ {pad} }}\n", "fn pad() {}\n\n".repeat(pad));
    fs::write(&path, body(0)).unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = {
        let (stop, path) = (stop.clone(), path.clone());
        std::thread::spawn(move || {
            let mut round = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                round += 1;
                let temp = path.with_extension("tmp");
                fs::write(&temp, body(round % 7)).unwrap();
                fs::rename(&temp, &path).unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
        })
    };
    let mut answered = 0;
    for _ in 0..300 {
        let given = server.call("read", json!({"mode": "symbol", "target": "c", "path": "src/c.rs"}));
        if given.is_error {
            assert_eq!(given.code(), "CHANGING");
            continue;
        }
        answered += 1;
        let line = given.contract["location"]["line"].as_u64().unwrap();
        assert_eq!(given.text(), format!("fn c() {{ {} }}\n", (line - 1) / 2));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
    assert!(answered > 30, "{answered}");
}
