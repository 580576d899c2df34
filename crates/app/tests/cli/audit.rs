//! `readproof audit`: what a person sees of calls, that alterations are found, and that the commands of docs/audit.md work.

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::workspace::{Done, Workspace};

/// The output of a run that ended with this exit code.
#[track_caller]
fn out(done: Done, code: i32) -> String {
    assert_eq!(done.code, Some(code), "{done:?}");
    done.out
}

/// A workspace with a log of a few calls.
fn audited() -> Workspace {
    let ws = Workspace::new();
    ws.put("a.txt", "one\ntwo\nthree\n");
    ws.put("readproof.toml", "audit = \"on\"\n");
    ws.put(".env", "PASSWORD=hunter22\n");
    out(ws.run("read a.txt --session s"), 0);
    out(ws.run("grep ghp_0123456789abcdefghijkl a.txt"), 0);
    out(ws.run("read .env"), 0);
    out(ws.run("edit a.txt --old two --new zwei --session s"), 0);
    out(ws.run("read missing.txt"), 1);
    ws
}

fn lines(ws: &Workspace) -> Vec<Value> {
    let text = out(ws.run("audit export --jsonl"), 0);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_call_leaves_a_line_with_the_documented_fields() {
    let ws = audited();
    let lines = lines(&ws);
    let calls: Vec<&Value> = lines.iter().map(|line| &line["line"]).filter(|line| line["kind"] == "call").collect();
    let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read", "search_file", "read", "write", "read"], "{lines:?}");
    let doc = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md")).unwrap();
    let table = doc.split("A `call` has").nth(1).unwrap().split("**No text").next().unwrap();
    let documented: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let written: BTreeSet<&str> =
        calls.iter().flat_map(|call| call.as_object().unwrap().keys().map(String::as_str)).collect();
    let unknown: Vec<_> = written.difference(&documented).collect();
    assert!(unknown.is_empty(), "not documented: {unknown:?}");
    let rare = BTreeSet::from(["more_files", "approval"]);
    let unseen: Vec<_> = documented.difference(&written).filter(|field| !rare.contains(**field)).collect();
    assert!(unseen.is_empty(), "documented and never written: {unseen:?}");
    let (search, secret, write, failed) = (calls[1], calls[2], calls[3], calls[4]);
    assert_eq!(search["args"]["query"], "[masked]");
    assert_eq!((&secret["files"][0]["sensitive"], secret.get("returned")), (&Value::Bool(true), None));
    assert_ne!(write["files"][0]["before"], write["files"][0]["after"]);
    assert_eq!((failed["ok"].as_bool(), failed["code"].as_str()), (Some(false), Some("NOT_FOUND")));
    let all = serde_json::to_string(&lines).unwrap();
    assert!(!all.contains("hunter22") && !all.contains("zwei") && !all.contains("ghp_"), "{all}");
}

#[test]
fn an_alteration_is_named_and_an_unaltered_log_is_not() {
    let ws = audited();
    out(ws.run("audit rotate"), 0);
    let kept = ws.get(".readproof/audit/checkpoint");
    ws.put("kept", &kept);
    let said = out(ws.run("audit verify --checkpoint kept"), 0);
    assert!(said.contains("all of these are as they were signed"), "{said}");
    let tail = ws.path("").join(".readproof/audit/tail");
    let good = fs::read(&tail).unwrap();
    let at = good.windows(5).position(|bytes| bytes == b"a.txt").unwrap();
    let mut bad = good.clone();
    bad[at] = b'b';
    fs::write(&tail, &bad).unwrap();
    let said = out(ws.run("audit verify"), 1);
    assert!(said.contains("line 1 was changed"), "{said}");
    fs::write(&tail, &good[..good.len() - 10]).unwrap();
    let said = serde_json::from_str::<Value>(&out(ws.run("audit verify --json"), 1)).unwrap();
    assert_eq!(said["ok"], false);
    assert!(said["problems"].to_string().contains("the end was cut off"), "{said}");
    fs::write(&tail, &bad).unwrap();
    // Whoever writes next does not sign over it.
    let done = ws.run("read a.txt");
    assert!(done.err.contains("put aside"), "{}", done.err);
    assert!(out(ws.run("audit verify"), 1).contains("put aside as .readproof/audit.aside-1"));
}

#[test]
fn a_proof_is_checked_by_a_program_that_shares_no_code() {
    let ws = audited();
    let key = out(ws.run("audit key"), 0);
    let proof = out(ws.run("audit prove a.txt:1-2"), 0);
    ws.put("p.tlog-proof", &proof);
    let shown = serde_json::from_str::<Value>(&out(ws.run("audit check p.tlog-proof --json"), 0)).unwrap();
    assert_eq!((shown["text"].as_str(), shown["conversation"].as_str()), (Some("one\ntwo\nthree\n"), Some("s")));
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/verify/verify.py");
    assert!(fs::read_to_string(&checker).unwrap().lines().count() <= 300);
    let python = |words: &[&str]| {
        let done = Command::new("python3").arg(&checker).args(words).current_dir(ws.path("")).output().unwrap();
        let said = [&done.stdout[..], &done.stderr[..]].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = python(&["proof", "p.tlog-proof", "--key", key.trim()]);
    assert!(code == Some(0) && said.contains("conversation: s") && said.contains("text: 14 bytes"), "{said}");
    let (code, said) = python(&["log", ".readproof/audit", "--key", ".readproof/audit/key.pub"]);
    assert_eq!(code, Some(0), "{said}");
    ws.put("p.tlog-proof", proof.replace("index 1", "index 2"));
    let (code, said) = python(&["proof", "p.tlog-proof", "--key", key.trim()]);
    assert!(code == Some(1) && said.contains("do not lead"), "{said}");
    assert!(ws.run("audit check p.tlog-proof").err.contains("do not lead"));
}

#[test]
fn the_commands_of_the_documentation_work() {
    let ws = audited();
    let doc = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md")).unwrap();
    let block = doc.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ readproof ")).collect();
    assert!(commands.len() >= 14, "{commands:?}");
    for command in commands {
        assert!(!out(ws.run(command), 0).is_empty(), "{command}");
    }
}

#[test]
fn texts_can_be_erased_and_proofs_of_lines_stay() {
    let ws = audited();
    out(ws.run("audit prove 1"), 0);
    fs::remove_dir_all(ws.path("").join(".readproof/audit/kept")).unwrap();
    let done = ws.run("audit prove 1");
    assert!(done.err.contains("only that the call was made"), "{}", done.err);
    ws.put("p", &done.out);
    assert_eq!(serde_json::from_str::<Value>(&out(ws.run("audit check p --json"), 0)).unwrap()["text"], Value::Null);
    out(ws.run("audit verify"), 0);
}

#[test]
fn a_checkpoint_goes_to_its_witnesses() {
    let ws = Workspace::new();
    ws.put("a.txt", "one\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let (copy, seen) = (elsewhere.path().join("copy"), elsewhere.path().join("seen"));
    let words = [
        "--set",
        "audit=on",
        "--set",
        &format!("audit_copy={}", copy.display()),
        "--set",
        &format!("audit_witness=[\"tee\", \"{}\"]", seen.display()),
        "edit",
        "a.txt",
        "--old",
        "one",
        "--new",
        "two",
        "--session",
        "s",
    ];
    out(ws.run_args(&words), 0);
    let note = ws.get(".readproof/audit/checkpoint");
    assert_eq!(fs::read_to_string(copy).unwrap(), note);
    assert_eq!(fs::read_to_string(seen).unwrap(), note);
    // A stranger's settings may switch the audit on, and name no program.
    ws.put("readproof.toml", "audit_witness = [\"tee\", \"x\"]\n");
    assert!(ws.run("read a.txt").err.contains("may only narrow"));
}

#[test]
fn without_a_log_the_commands_say_how_to_begin_one() {
    let ws = Workspace::new();
    for command in ["audit tail", "audit verify", "audit prove 0", "audit key"] {
        assert!(ws.run(command).err.contains("audit = \"on\""), "{command}");
    }
    out(ws.run("audit export"), 2);
    assert!(!ws.path("").join(".readproof/audit").exists());
}

fn initialized(calls: &[Value]) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "some-client", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call =
        |(id, call): (usize, &Value)| json!({"jsonrpc": "2.0", "id": id + 1, "method": "tools/call", "params": call});
    let calls = calls.iter().enumerate().map(call);
    [hello, ready].into_iter().chain(calls).map(|line| format!("{line}\n")).collect()
}

/// The lines of calls.
fn calls(ws: &Workspace) -> Vec<Value> {
    let lines = lines(ws).into_iter().map(|mut line| line["line"].take());
    lines.filter(|line| line["kind"] == "call").collect()
}

#[test]
fn calls_over_mcp_and_in_pi_leave_lines_too() {
    let ws = Workspace::with(&[("a.txt", "one\ntwo\nthree\n"), ("readproof.toml", "audit = \"on\"\n")]);
    let over_mcp = [
        json!({"name": "read_lines", "arguments": {"filepath": "a.txt", "start": 1, "end": 2}}),
        json!({"name": "search_in_file", "arguments": {"path": "a.txt", "query": "password=hunter22aB9"}}),
        json!({"name": "read_lines", "arguments": {"filepath": "none.txt", "start": 1, "end": 2}}),
    ];
    out(ws.feed("mcp", initialized(&over_mcp)), 0);
    let header = json!({"type": "session", "version": 3, "id": "pi-session", "cwd": ws.path("")});
    let hello = json!({"id": 0, "op": "hello", "protocol": 1});
    let read = json!({"id": 1, "op": "read", "path": "a.txt", "header": header, "entries": []});
    out(ws.feed("pi", format!("{hello}\n{read}\n")), 0);
    let calls = calls(&ws);
    let of = |surface: &str| calls.iter().filter(|call| call["caller"]["surface"] == surface).collect::<Vec<_>>();
    let (mcp, pi) = (of("mcp"), of("pi"));
    assert_eq!((mcp.len(), pi.len()), (3, 1), "{calls:?}");
    assert_eq!(mcp[0]["caller"]["client"], "some-client");
    assert!(mcp.iter().any(|call| call["code"] == "NOT_FOUND" && call["ok"] == false));
    assert_eq!((&pi[0]["conversation"], &pi[0]["files"][0]["path"]), (&json!("pi-session"), &json!("a.txt")));
    assert!(!serde_json::to_string(&calls).unwrap().contains("hunter22"), "{calls:?}");
    // What the model was told over each wire can be proved.
    for (entry, line) in (0..).zip(lines(&ws)) {
        if line["line"]["caller"]["surface"] == "pi" {
            ws.put("p", out(ws.run(&format!("audit prove {entry}")), 0));
            let shown = ws.run("audit check p --json").json();
            assert_eq!(shown["text"], "one\ntwo\nthree\n");
        }
    }
    assert_eq!(ws.run("audit verify --json").json()["missing"], 0);
}

#[test]
fn several_processes_share_one_log() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("readproof.toml", "audit = \"on\"\n")]);
    let (processes, each) = (5, 70);
    let input: String = (0..each).map(|_| "{\"op\":\"stat\",\"path\":\"a.txt\"}\n").collect();
    std::thread::scope(|scope| {
        for _ in 0..processes {
            scope.spawn(|| out(ws.feed("query", &input), 0));
        }
    });
    let calls = calls(&ws);
    let told: BTreeSet<(String, u64)> =
        calls.iter().map(|call| (call["writer"].as_str().unwrap().to_owned(), call["seq"].as_u64().unwrap())).collect();
    let writers: BTreeSet<&String> = told.iter().map(|(writer, _)| writer).collect();
    assert_eq!((told.len(), calls.len(), writers.len()), (processes * each, processes * each, processes));
    out(ws.run("audit rotate"), 0);
    let found = ws.run("audit verify --json").json();
    assert_eq!((&found["ok"], &found["missing"]), (&json!(true), &json!(0)), "{found}");
}

#[test]
fn lines_that_were_dropped_are_said_and_the_rest_stays_provable() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("readproof.toml", "audit = \"on\"\n")]);
    let input: String = (0..300).map(|_| "{\"op\":\"read\",\"path\":\"a.txt\"}\n").collect();
    out(ws.feed("query", &input), 0);
    ws.put("before", out(ws.run("audit prove 5"), 0));
    let kept = ws.get(".readproof/audit/checkpoint");
    ws.put("kept", &kept);
    let said = ws.run("audit rotate --lines-older-than 0 --texts-older-than 0 --json").json();
    assert_eq!((&said["lines_before"], &said["left"]), (&json!(256), &json!(0)), "{said}");
    let found = ws.run("audit verify --checkpoint kept --json").json();
    assert_eq!((&found["ok"], &found["dropped"]), (&json!(true), &json!(256)), "{found}");
    let refused = ws.run("audit show 5");
    assert!(refused.code == Some(1) && refused.err.contains("dropped"), "{refused:?}");
    assert_eq!(ws.run("audit prove 5").code, Some(1));
    // A proof from before still holds, and so do those of lines that stayed.
    out(ws.run("audit check before"), 0);
    ws.put("after", out(ws.run("audit prove 280"), 0));
    assert_eq!(ws.run("audit check after --json").json()["text"], "one\n");
    assert!(out(ws.run("audit tail -n 3"), 0).contains("rotated"));
}

/// A file may grow to this many kilobytes and no further, as on a full disk.
const FULL: &str = r#"trap '' XFSZ; ulimit -f 16; exec "$@""#;

#[test]
fn a_full_disk_costs_lines_that_are_counted_and_never_the_answer() {
    let text = "a line of text\n".repeat(4_000);
    let ws = Workspace::with(&[("big.txt", &text), ("a.txt", "one\n"), ("readproof.toml", "audit = \"on\"\n")]);
    out(ws.run("read a.txt"), 0);
    let done = ws.shell(FULL, "read big.txt --set answer_lines=4000 --set answer_bytes=100000");
    assert_eq!((done.code, done.out.len()), (Some(0), text.len()), "{}", done.err);
    assert!(done.err.contains("1 call has no line in the audit log"), "{}", done.err);
    out(ws.run("read a.txt"), 0);
    assert_eq!(ws.run("audit verify --json").json()["missing"], 1);
    assert_eq!(calls(&ws).len(), 2);
    // A server that goes on afterwards says so itself.
    let big = json!({"op": "read", "path": "big.txt", "fresh": true});
    let small = json!({"op": "read", "path": "a.txt"});
    let input = format!("{big}\n{small}\n");
    let done = ws.shell_fed(FULL, "query --set answer_lines=4000 --set answer_bytes=100000", input);
    assert_eq!(done.out.lines().count(), 2, "{}", done.err);
    out(ws.run("read a.txt"), 0);
    let found = ws.run("audit verify --json").json();
    let lines = calls(&ws).len() as u64;
    assert_eq!(found["missing"].as_u64().unwrap() + lines, 6, "every call has a line or is counted: {found}");
}

#[test]
fn what_a_person_has_forgotten_is_not_kept_beside_the_audit_either() {
    let ws = Workspace::with(&[("a.txt", "the secret plan\n"), ("readproof.toml", "audit = \"on\"\n")]);
    out(ws.run("read a.txt --session s"), 0);
    out(ws.run("edit a.txt --old secret --new open --session s"), 0);
    out(ws.run("read a.txt --session t"), 0);
    ws.put("before", out(ws.run("audit prove 1"), 0));
    let dry = ws.run("forget a.txt --dry-run --json").json();
    assert_eq!(dry["audit_texts"], 2, "{dry}");
    let done = out(ws.run("forget a.txt"), 0);
    assert!(done.contains("2 texts kept beside the audit log were erased"), "{done}");
    let kept: Vec<u8> = fs::read_dir(ws.path(".readproof/audit/kept/000"))
        .unwrap()
        .flat_map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(!String::from_utf8_lossy(&kept).contains("secret"));
    // The present text stays, proofs of before hold, and what is proved now is the line.
    assert!(String::from_utf8_lossy(&kept).contains("the open plan"));
    out(ws.run("audit check before"), 0);
    let now = ws.run("audit prove 1");
    assert!(now.err.contains("only that the call was made"), "{}", now.err);
    assert_eq!(ws.run("audit verify --json").json()["ok"], true);
}
