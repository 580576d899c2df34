//! `readproof query` and the query log: the same operation gives the same bytes on every wire, in every environment, and is replayed.

use readproof_core::text::ContentHash;
use serde_json::{Value, json};
use std::fs;

use crate::workspace::{READPROOF, Workspace, numbered};

/// Lines that end in every way, and characters that only look like ends.
const ODD: &str = "one\r\ntwo\rstill two\nthree\u{2028}still\u{85}three\u{b}\u{c}\n\nüber I\u{307} ı\nlast";

fn ask(ws: &Workspace, operations: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = operations.iter().map(Value::to_string).collect();
    let done = ws.feed("query", lines.join("\n"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_same_query_gives_the_same_bytes_on_every_wire() {
    let ws = Workspace::with(&[("odd.txt", ODD), ("n.txt", &numbered(50))]);
    for (path, offset, limit) in [("odd.txt", 1, 9), ("odd.txt", 2, 2), ("n.txt", 20, 7), ("n.txt", 1, 50)] {
        let read = json!({"op": "read", "path": path, "offset": offset, "limit": limit});
        let answer = &ask(&ws, &[read])[0];
        let text = answer["text"].as_str().unwrap();
        let (first, last) = (offset.to_string(), (offset + limit - 1).to_string());

        let cli = ws.run(&format!("read {path} --offset {offset} --limit {limit}"));
        assert_eq!(cli.out, text, "command line");

        let call =
            json!({"name": "read_lines", "arguments": {"filepath": path, "start": offset, "end": offset + limit - 1}});
        let lines = [
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
        ];
        let mcp = ws.feed("mcp", lines.map(|line| line.to_string()).join("\n") + "\n");
        let answer: Value = serde_json::from_str(mcp.out.lines().last().unwrap()).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], text, "MCP {first}-{last}");

        let hello = json!({"id": 0, "op": "hello", "protocol": 1});
        let pi = json!({"id": 1, "op": "read", "path": path, "offset": offset, "limit": limit});
        let pi = ws.feed("pi", format!("{hello}\n{pi}\n"));
        let answer: Value = serde_json::from_str(pi.out.lines().last().unwrap()).unwrap();
        // pi counts as it does everywhere: the last line of a page has no end, and a notice follows a page that is not the last.
        let shown = answer["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let shown = shown.split("\n\n[").next().unwrap();
        assert_eq!(shown, text.strip_suffix('\n').unwrap_or(text), "pi");
    }
}

#[test]
fn no_locale_time_zone_or_umask_changes_an_answer() {
    let ws = Workspace::with(&[("odd.txt", ODD), ("src/a.rs", "/// Doc.\nfn a() {}\n")]);
    ws.put("bad.bin", b"a\xff\nb\n");
    let operations = [
        json!({"op": "read", "path": "odd.txt"}),
        json!({"op": "read", "path": "bad.bin"}),
        json!({"op": "read_end", "path": "odd.txt", "end": "tail", "lines": 2}),
        json!({"op": "search_file", "path": "odd.txt", "query": "(?i)i", "is_regex": true}),
        json!({"op": "search_file", "path": "odd.txt", "query": "^still|three$|\\w+$", "is_regex": true}),
        json!({"op": "search_file", "path": "bad.bin", "query": "b", "is_regex": true}),
        json!({"op": "search", "query": "\\bone\\b", "mode": "regex"}),
        json!({"op": "list", "path": "."}),
        json!({"op": "outline", "path": "src/a.rs", "signatures": true}),
        json!({"op": "compare", "path": "odd.txt", "against": "WORKTREE", "content": "one\nother\n"}),
    ];
    let here = ask(&ws, &operations);
    assert_eq!(here[0]["text"], ODD);
    assert_eq!((&here[1]["code"], &here[1]["ok"]), (&json!("NOT_TEXT"), &json!(false)));
    assert_eq!(here[2]["text"], "über I\u{307} ı\nlast");
    let matches = here[4]["text"].as_str().unwrap();
    assert_eq!(matches, "matches 3 given 3\n2:two\rstill two\n5:über I\u{307} ı\n6:last\n");
    let input: String = operations.iter().map(|operation| format!("{operation}\n")).collect();
    for set in ["LC_ALL=tr_TR.UTF-8", "LC_ALL=C", "LANG=de_DE.ISO-8859-1", "TZ=Asia/Kathmandu"] {
        let there = ws.shell_fed(&format!(r#"umask 077; export {set}; exec "$@""#), "query", &input);
        let there: Vec<Value> = there.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(there, here, "{set}");
    }
}

#[test]
fn what_is_no_query_is_refused_and_the_next_line_counts() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    let lines = r#"{"op":"read","path":"a.txt","colour":"red"}
nonsense
{"op":"write","path":"a.txt","content":"x","over_anything":true}
{"op":"decide","id":"000000-1","decision":"approve","scope":"always","how":"terminal"}
{"v":99,"op":"read","path":"a.txt"}
{"op":"read","path":"none.txt"}
{"op":"read","path":"a.txt","offset":9}
{"op":"search_file","path":"a.txt","query":"(","is_regex":true}
{"op":"stat","path":"a.txt"}
"#;
    let answers: Vec<Value> =
        ws.feed("query", lines).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<&str> = answers.iter().map(|answer| answer["code"].as_str().unwrap()).collect();
    let expected = [
        "BAD_OPERATION",
        "BAD_OPERATION",
        "NOT_A_QUERY",
        "NOT_A_QUERY",
        "BAD_OPERATION",
        "NOT_FOUND",
        "BAD_RANGE",
        "BAD_QUERY",
        "OK",
    ];
    assert_eq!(codes, expected);
    assert_eq!(ws.get("a.txt"), "one\n");
    assert_eq!(answers[8]["text"], "file 4 a.txt\n");
}

/// What one query prints is the next one's operation.
#[test]
fn an_answer_can_be_sent_again() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\n")]);
    let first = ws.feed("query", "{\"op\":\"read\",\"path\":\"a.txt\",\"offset\":2}\n").out;
    assert!(first.contains("\"text\":\"two\\n\""), "{first}");
    assert_eq!(ws.feed("query", &first).out, first);
}

/// A session in which calls of every kind are made.
fn logged() -> Workspace {
    let source = "use x;\n\n/// Doc.\nfn first() -> u32 {\n    1\n}\n\nfn second() {}\n";
    let ws = Workspace::with(&[("a.txt", &numbered(40)), ("src/a.rs", source), (".env", "SECRET=1\n")]);
    for words in [
        "read a.txt",
        "read a.txt:3-9",
        "read a.txt",
        "head a.txt -n 3",
        "tail a.txt -n 3",
        "grep 1 a.txt",
        "search fn --mode regex",
        "outline src/a.rs",
        "list .",
        "read .env",
    ] {
        let session = if ["outline", "list"].iter().any(|word| words.starts_with(word)) { "" } else { " --session s" };
        ws.run(&format!("{words}{session} --set call_log=true"));
    }
    ws.run("edit src/a.rs --old u32 --new u64 --session s --set call_log=true");
    ws
}

#[test]
fn the_calls_of_a_session_are_replayed() {
    let ws = logged();
    let text = ws.run("replay s").text();
    assert!(text.contains("0 wrong") && text.contains("s.calls"), "{text}");
    assert!(text.contains("that nothing else matched cannot be verified"), "{text}");
    // Files play no part; what they were does.
    fs::remove_file(ws.path("a.txt")).unwrap();
    ws.put("src/a.rs", "changed\n");
    assert_eq!(ws.run("replay s").text(), text);
    let json = ws.run("replay s --json").json();
    let calls = json["sessions"].as_array().unwrap().iter().find(|log| log["log"] == "calls").unwrap();
    assert!(calls["verified_calls"].as_u64().unwrap() >= 7, "{calls}");
    // A secret leaves neither text nor hash.
    let log = ws.get(".readproof/log/s.calls");
    let line = log.lines().find(|line| line.contains(".env")).unwrap();
    assert!(line.contains("\"sensitive\":true") && !line.contains("SECRET") && !line.contains("\"sha\""), "{line}");
}

#[test]
fn a_rule_that_this_program_does_not_know_is_unverifiable() {
    let ws = logged();
    let path = ws.path(".readproof/log/s.calls");
    // Made by another program: lines are chained anew by it.
    let other = rechained(&fs::read_to_string(&path).unwrap().replace("\"cut-1\"", "\"cut-0\""));
    fs::write(&path, other).unwrap();
    let text = ws.run("replay s").text();
    assert!(text.contains("`cut-0`, which this readproof does not know") && text.contains("0 wrong"), "{text}");
}

/// A log with these payloads, in a chain of its own.
fn rechained(log: &str) -> String {
    let (mut out, mut before) = (String::new(), ContentHash::from_digest([0; 32]));
    for line in log.lines() {
        let payload = line.split_once(' ').unwrap().1;
        before = ContentHash::of_parts(&[before.as_bytes(), payload.as_bytes()]);
        out += &format!("{before} {payload}\n");
    }
    out
}

/// Logs of the format as it is now stay readable: these were written once and never change.
#[test]
fn logs_of_an_earlier_version_stay_readable() {
    let ws = logged();
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/logs");
    for entry in fs::read_dir(&fixtures).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let to = if name.starts_with("sha256-") { "objects" } else { "log" };
        let to = ws.path(&format!(".readproof/{to}/{name}"));
        fs::copy(entry.path(), &to).unwrap();
        fs::set_permissions(&to, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let text = ws.run("replay first").text();
    assert!(text.contains("4 answers: 4 verified, 0 unverifiable, 0 wrong; 1 writes: 1 verified"), "{text}");
    assert!(text.contains("first.calls") && text.contains("10 calls: 8 verified, 2 unverifiable, 0 wrong"), "{text}");
    assert!(READPROOF.ends_with("readproof"));
}

/// The contract lists every rule by its id, and its example is what the program prints.
#[test]
fn the_contract_says_what_is_so() {
    let contract = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRACT.md");
    let contract = fs::read_to_string(contract).unwrap();
    let table = contract.split("| id | what it decides |").nth(1).unwrap();
    let mut listed: Vec<&str> =
        table.lines().skip(2).map_while(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut all = readproof_core::operation::rules::ALL.to_vec();
    listed.sort_unstable();
    all.sort_unstable();
    assert_eq!(listed, all);

    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n")]);
    let example = contract.split("$ readproof query '").nth(1).unwrap();
    let (operation, printed) = example.split_once("'\n").unwrap();
    let done = ws.run_args(&["query", operation]);
    for piece in printed.lines().next().unwrap().split(" … ") {
        assert!(
            done.out.contains(piece.trim_start_matches(',').trim_end_matches(',')),
            "{piece} is not in {}",
            done.out
        );
    }
}

/// What cannot be answered is logged with its code. A replay calls it right where the reason follows from stored texts, else
/// unverifiable, and never wrong.
#[test]
fn calls_that_fail_are_logged_and_replayed() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\n"), ("dir/b.txt", "b\n")]);
    ws.put("bad.bin", b"a\xff\0");
    // Calls are logged where there is a store.
    ws.run("read a.txt --session s");
    for (words, code) in [
        ("read none.txt", "NOT_FOUND"),
        ("read dir", "NOT_A_FILE"),
        ("read a.txt --offset 9", "BAD_RANGE"),
        ("grep --regex ( a.txt", "BAD_QUERY"),
        ("read bad.bin", "NOT_TEXT"),
    ] {
        let done = ws.run(&format!("{words} --session s --set call_log=true --json"));
        assert_ne!(done.code, Some(0), "{words}");
        let log = ws.get(".readproof/log/s.calls");
        assert!(log.lines().last().unwrap().contains(&format!("\"code\":\"{code}\"")), "{words}: {log}");
    }
    let said = ws.run("replay s --json").json();
    let calls = said["sessions"].as_array().unwrap().iter().find(|log| log["log"] == "calls").unwrap();
    assert_eq!(calls["wrong"].as_array().unwrap().len(), 0, "{calls}");
    assert!(calls["verified_calls"].as_u64().unwrap() >= 2, "the range and the pattern: {calls}");
}

#[test]
fn a_very_large_file_is_answered_within_strict_limits_and_replayed_as_far_as_it_is_kept() {
    let text: String =
        (1..=120_000).map(|number| format!("line {number} of a very large file, all of it text\n")).collect();
    let ws = Workspace::with(&[("big.txt", &text), ("small.txt", "needle\n")]);
    let strict = "--session s --set call_log=true --set file_bytes=1000000 --set answer_lines=5 --set answer_bytes=300";
    ws.run("read small.txt --session s");
    let refused = ws.run(&format!("read big.txt {strict}"));
    assert!(refused.code == Some(1) && refused.err.contains("1000000"), "{refused:?}");
    assert_eq!(ws.run(&format!("head big.txt -n 3 {strict}")).out.lines().count(), 3);
    assert_eq!(
        ws.run(&format!("tail big.txt -n 1 {strict}")).out,
        "line 120000 of a very large file, all of it text\n"
    );
    let found = ws.run(&format!("grep 119999 big.txt {strict}"));
    assert!(found.out.contains("119999") && found.out.lines().count() == 1, "{found:?}");
    ws.run(&format!("read small.txt {strict}"));
    let said = ws.run("replay s --json").json();
    let calls = said["sessions"].as_array().unwrap().iter().find(|log| log["log"] == "calls").unwrap();
    assert_eq!(calls["wrong"].as_array().unwrap().len(), 0, "{calls}");
    let open: Vec<&str> =
        calls["unverifiable"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(open.iter().all(|code| ["not_kept", "failed"].contains(code)) && open.len() >= 3, "{calls}");
    assert!(calls["verified_calls"].as_u64().unwrap() >= 1, "{calls}");
}

#[test]
fn lines_that_cannot_be_written_are_said_and_the_answer_is_given() {
    let ws = Workspace::with(&[("a.txt", "one\n")]);
    let full = r#"trap '' XFSZ; ulimit -f 1; exec "$@""#;
    ws.run("read a.txt --session s --set call_log=true");
    let stat = "{\"op\":\"stat\",\"path\":\"a.txt\"}\n".repeat(9);
    let done = ws.shell_fed(full, "query --set call_log=true", &stat);
    assert_eq!(done.out.lines().filter(|line| line.contains("\"ok\":true")).count(), 9, "{done:?}");
    assert!(done.err.contains("no line in the query log"), "{}", done.err);
    // What was written is whole.
    assert!(ws.run("replay").text().contains("0 wrong"));
}

/// Blame, lists of changes and reads in pi come out again; a stat says why it cannot.
#[test]
fn looking_back_and_reads_in_pi_are_replayed() {
    let ws = Workspace::with(&[("a.txt", &numbered(30)), ("readproof.toml", "call_log = true\n")]);
    ws.run("read a.txt --session s");
    ws.run_args(&["edit", "a.txt", "--old", "30", "--new", "thirty", "--session", "s"]).text();
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(1, "file_history", json!({"path": "a.txt"})),
        call(2, "blame", json!({"path": "a.txt"})),
        call(3, "stat_file", json!({"path": "a.txt"})),
    ];
    let mcp = ws.feed("mcp", lines.map(|line| line.to_string()).join("\n") + "\n");
    assert_eq!(mcp.out.lines().count(), 4, "{mcp:?}");
    let header = json!({"type": "session", "version": 3, "id": "p", "cwd": ws.path("")});
    let hello = json!({"id": 0, "op": "hello", "protocol": 1});
    let reads = (1..4).map(|id| json!({"id": id, "op": "read", "path": "a.txt", "offset": id, "limit": 5}));
    let mut input =
        format!("{hello}\n{}\n", json!({"id": 9, "op": "read", "path": "a.txt", "header": header, "entries": []}));
    reads.for_each(|read| input += &format!("{read}\n"));
    assert_eq!(ws.feed("pi", input).out.lines().count(), 5);
    fs::remove_file(ws.path("a.txt")).unwrap();
    let said = ws.run("replay --json").json();
    let (mut verified, mut open) = (0, Vec::new());
    for log in said["sessions"].as_array().unwrap().iter().filter(|log| log["log"] == "calls") {
        assert_eq!(log["wrong"].as_array().unwrap().len(), 0, "{log}");
        verified += log["verified_calls"].as_u64().unwrap();
        open.extend(log["unverifiable"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned()));
    }
    // A read, an edit, two looks back, four reads in pi.
    assert!(verified >= 8 && open.contains(&"no_text".to_owned()), "{verified} {open:?} {said}");
}
