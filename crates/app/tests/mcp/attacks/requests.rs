//! Broken or hostile clients: every request with an id gets an answer, and memory is bounded.

use crate::client::{Server, numbered, peak_kib};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Sends a line and gives the id and the code of what is answered.
fn code(server: &mut Server, line: impl AsRef<[u8]>) -> (Value, i64) {
    server.send_bytes(line.as_ref());
    let answer = server.message();
    assert!(answer.get("result").is_none() && answer["jsonrpc"] == "2.0", "{answer}");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{answer}");
    (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap())
}

#[test]
fn every_request_with_an_id_is_answered() {
    let mut server = Server::start(&[("a.txt", "one\n")], &[]);
    let call = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#).into_bytes()
    };
    let deep =
        |levels: usize| format!(r#"{{"name":"read","arguments":{}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let table: Vec<(Vec<u8>, Value, i64)> = vec![
        // Not JSON, or too deep or too large to parse.
        (call("1", r#"{"name":"read","arguments":{"target":"\ud83d"}}"#), json!(1), -32700),
        (call("2", r#"{"name":"read","arguments":{"offset":1e999}}"#), json!(2), -32700),
        (call(r#""three""#, &deep(200)), json!("three"), -32700),
        ([&call("4", r#"{"name":"r"#)[..40], b"\xff\xfe\"}"].concat(), json!(4), -32700),
        (b"{\"a\":\"\xff\",\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}".to_vec(), json!(5), -32700),
        (b"{\"a\":\"\x01\",\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}".to_vec(), json!(6), -32700),
        (b"{\"id\":7,\"method\":\"ping\"".to_vec(), json!(7), -32700),
        (b"GET / HTTP/1.1".to_vec(), Value::Null, -32700),
        // Not a request.
        (b"null".to_vec(), Value::Null, -32600),
        (b"[]".to_vec(), Value::Null, -32600),
        (br#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0"}"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":9}"#.to_vec(), json!(9), -32600),
        (br#"{"jsonrpc":"1.0","id":10,"method":"ping"}"#.to_vec(), json!(10), -32600),
        (br#"{"id":11,"method":"ping"}"#.to_vec(), json!(11), -32600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), Value::Null, -32600),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#.to_vec(), Value::Null, -32600),
        // Wrong parameters.
        (call("20", r#"{"name":5}"#), json!(20), -32602),
        (call("21", r#"{"name":"read","arguments":[1]}"#), json!(21), -32602),
        (call("22", r#"{"name":"read","arguments":"x"}"#), json!(22), -32602),
        (call("23", r#"{"name":"read","arguments":{},"_meta":5}"#), json!(23), -32602),
        (call("24", "[1]"), json!(24), -32602),
        (call("25", r#""x""#), json!(25), -32602),
        (call("26", "{}"), json!(26), -32602),
        (br#"{"jsonrpc":"2.0","id":27,"method":"tools/call"}"#.to_vec(), json!(27), -32602),
        (br#"{"jsonrpc":"2.0","id":28,"method":"tools/list","params":"x"}"#.to_vec(), json!(28), -32602),
        (br#"{"jsonrpc":"2.0","id":29,"method":"ping","params":[1]}"#.to_vec(), json!(29), -32602),
        (br#"{"jsonrpc":"2.0","id":30,"method":"no/such","params":{}}"#.to_vec(), json!(30), -32601),
    ];
    for (line, id, expected) in table {
        let shown = String::from_utf8_lossy(&line).into_owned();
        assert_eq!(code(&mut server, &line), (id, expected), "{shown}");
    }
    // Messages without an id get no answer and do no harm.
    for line in
        ["", "  ", r#"{"jsonrpc":"2.0","id":31,"result":{}}"#, r#"{"jsonrpc":"2.0","method":"tools/call","params":5}"#]
    {
        server.send_raw(line);
    }
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).text(), "one\n");
}

#[test]
fn a_line_that_is_too_long_is_answered_and_the_next_one_taken() {
    let mut server = Server::start(&[("a.txt", "one\n")], &[]);
    let long = "x".repeat(17 << 20);
    let first = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"id":3,"name":"{long}"}}}}"#);
    assert_eq!(code(&mut server, first), (json!(1), -32600));
    let last = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"{long}"}},"id":"z"}}"#);
    assert_eq!(code(&mut server, last), (json!("z"), -32600));
    // Text is cheap, JSON values are not.
    let values = "[],".repeat(300_000);
    let many =
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"read","x":[{values}0]}}}}"#);
    assert_eq!(code(&mut server, many), (json!(2), -32600));
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).text(), "one\n");
    assert!(server.peak_kib() < 200 << 10, "{} KiB", server.peak_kib());
}

/// Even the last line, without a newline.
#[test]
fn a_line_that_is_too_long_and_never_ends_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = unread(&dir);
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let long = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{}"#, "x".repeat(17 << 20));
    let asking =
        thread::spawn(move || input.write_all([opening().as_bytes(), long.as_bytes()].concat().as_slice()).unwrap());
    let answers: Vec<Value> =
        BufReader::new(output).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    asking.join().unwrap();
    assert!(answers.iter().any(|answer| answer["id"] == 5 && answer["error"]["code"] == -32600), "{answers:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn two_requests_with_one_id_are_both_answered() {
    let mut server = Server::start(&[("a.txt", &numbered(2000))], &[]);
    let line =
        r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"search","arguments":{"query":"line"}}}"#;
    server.send_raw(&format!("{line}\n{line}"));
    let answers = [server.message(), server.message()];
    assert!(answers.iter().all(|answer| answer["id"] == 77));
    assert_eq!(answers.iter().filter(|answer| answer["result"].is_object()).count(), 1, "{answers:?}");
    assert_eq!(server.call("stat_file", json!({"path": "a.txt"})).contract["kind"], "file");
}

#[test]
fn what_comes_before_the_first_request_is_nobodys() {
    let mut server = Server::spawn(tempfile::tempdir().unwrap(), &[]);
    server.send_raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.send_raw(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    assert!(server.initialize("2025-06-18")["result"].is_object());
    assert!(server.request("ping", json!({}))["result"].is_object());
}

/// What a search shows may be recorded before a concurrent read, and sent after it.
#[test]
fn no_handle_is_given_beside_another_call() {
    let mut server = Server::start(&[("a.txt", &numbered(60))], &["--set", "handles=always"]);
    for n in 0..2000 {
        server.put(&format!("d/f{n}.txt"), numbered(60));
    }
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let search = json!({"name": "search", "arguments": {"query": "(line|of) this.*nothing", "mode": "regex"}});
    // On a busy machine the search may be over first.
    let overtaken = (0..20).any(|_| {
        let search = server.ask("tools/call", search.clone());
        let beside = server.ask("tools/call", read.clone());
        let (first, second) = (server.message(), server.message());
        let overtakes = (&first["id"], &second["id"]) == (&json!(beside), &json!(search));
        let given = first.to_string();
        assert!(!overtakes || !(given.contains("known=") || given.contains("\"handle\"")), "{first}");
        overtakes
    });
    assert!(overtaken, "the read never overtook the search");
    // Alone it gets a handle, even if it takes long.
    assert!(server.call("read_file", read["arguments"].clone()).handle().is_some());
    let long = json!({"mode": "snippet", "target": "a.txt", "query": "line 7"});
    assert!(server.call("read", long).handle().is_some());
}

#[test]
fn many_words_of_a_snippet_hold_nobody() {
    let mut server = Server::start(&[("s.txt", &"\n".repeat(255_000)), ("a.txt", "one\n")], &[]);
    let query = "a b ".repeat(1_990);
    let asked = json!({"name": "read", "arguments": {"mode": "snippet", "target": "s.txt", "query": query}});
    let id = server.ask("tools/call", asked);
    let ping = server.ask("ping", json!({}));
    assert_eq!(server.message()["id"], json!(ping), "a ping waited for it");
    assert_eq!(server.message()["id"], json!(id));
}

/// A server whose answers nobody takes yet.
fn unread(dir: &tempfile::TempDir) -> Child {
    Command::new(env!("CARGO_BIN_EXE_readproof"))
        .arg("mcp")
        .current_dir(dir.path())
        .env_clear()
        .env("HOME", dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn opening() -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let first = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    format!("{first}\n{}\n", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
}

#[test]
fn a_client_that_stops_reading_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), numbered(400)).unwrap();
    let mut child = unread(&dir);
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    const ASKED: u64 = 6_000;
    let asking = thread::spawn(move || {
        input.write_all(opening().as_bytes()).unwrap();
        for id in 1..=ASKED {
            let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            input.write_all(format!("{line}\n").as_bytes()).unwrap();
            count.store(id, Ordering::Relaxed);
        }
        input
    });
    // Until the server reads no more.
    let mut last = u64::MAX;
    while last != sent.load(Ordering::Relaxed) || last == 0 {
        last = sent.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(700));
    }
    assert!(last < ASKED, "all was taken in, and its answers are held");
    let held = peak_kib(child.id());
    assert!(held < 100 << 10, "{held} KiB");
    // Nothing was lost.
    let mut answered = 0;
    for line in BufReader::new(output).lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert!(message["result"].is_object(), "{message}");
        answered += 1;
        if answered == ASKED + 1 {
            break;
        }
    }
    drop(asking.join().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_server_ends_with_its_client_whatever_hangs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), numbered(400)).unwrap();
    let mut child = unread(&dir);
    let mut input = child.stdin.take().unwrap();
    input.write_all(opening().as_bytes()).unwrap();
    for id in 1..=40 {
        let params = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    // Its answers fill the pipe, which nobody reads.
    let began = Instant::now();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // One second plus the delay of a busy machine; waiting for the pipe would take five.
    assert!(began.elapsed() < Duration::from_millis(4_500), "{:?}", began.elapsed());
}
