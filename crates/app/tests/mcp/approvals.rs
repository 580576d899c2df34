//! Calls that a person must approve: asked for in the client, by a request in the first era and by a result in the second; or
//! left waiting for `readproof approvals` where the client cannot ask.

use crate::client::{Given, Server};
use readproof_core::text::ContentHash;
use serde_json::{Value, json};
use std::{fs, process::Command};

const TEXT: &str = "one\ntwo\n";

/// What else is deleted needs nobody.
const RULE: &str = "[[policy.rule]]\neffect = \"ask\"\npaths = [\"ask*\"]\nacts = [\"delete\"]\n";

/// A server of the first era whose client has these capabilities; deleting `ask.txt` needs a person.
fn first_era(capabilities: Value) -> Server {
    let mut server = Server::spawn(tempfile::tempdir().unwrap(), &["--tools", "files", "--set", "policy_preset=open"]);
    server.put("readproof.toml", RULE);
    server.put("ask.txt", TEXT);
    server.put("other.txt", TEXT);
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
    server.request("initialize", hello);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server
}

/// The same in the second era.
fn second_era(capabilities: Value) -> Server {
    let mut server = Server::spawn(tempfile::tempdir().unwrap(), &["--tools", "files", "--set", "policy_preset=open"]);
    server.put("readproof.toml", RULE);
    server.put("ask.txt", TEXT);
    server.put("ask-too.txt", TEXT);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    server.meta = meta.as_object().unwrap().clone();
    server.request("server/discover", json!({}));
    server
}

fn hash() -> String {
    ContentHash::of(TEXT.as_bytes()).to_string()
}

fn deletion(name: &str) -> Value {
    json!({"name": "delete_file", "arguments": {"filepath": name, "expected_hash": hash()}})
}

/// Makes the call and gives its number and the question that the server asks.
fn asked(server: &mut Server) -> (u64, Value) {
    let call = server.ask("tools/call", deletion("ask.txt"));
    let question = server.message();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (call, question)
}

fn reply(server: &mut Server, question: &Value, result: Value) {
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

fn accepted(word: &str) -> Value {
    json!({"action": "accept", "content": {"decision": word}})
}

/// The answer to the call, after the reply to its question.
fn answered(server: &mut Server, (call, question): &(u64, Value), result: Value) -> Given {
    reply(server, question, result);
    let answer = server.message();
    assert_eq!(answer["id"], *call, "{answer}");
    Server::given(answer)
}

fn is_there(server: &Server) -> bool {
    server.path("ask.txt").exists()
}

#[test]
fn the_first_era_asks_by_a_request() {
    for capability in [json!({}), json!({"form": {}})] {
        let mut server = first_era(json!({"elicitation": capability}));
        let asked = asked(&mut server);
        let params = &asked.1["params"];
        let message = params["message"].as_str().unwrap();
        assert!(message.starts_with("The agent wants to delete ask.txt. Approve it? (request "), "{message}");
        assert!(message.contains("\nThe rule that asks: readproof.toml:3\n") && message.ends_with("\n-one\n-two"));
        assert!(!message.contains("ask*"), "what the rule says is not for every client: {message}");
        assert_eq!(params["requestedSchema"]["properties"]["decision"]["enum"], json!(["approve", "deny"]));
        assert_eq!(params["requestedSchema"]["required"], json!(["decision"]));
        assert!(is_there(&server), "nothing happens before");
        let given = answered(&mut server, &asked, accepted("approve"));
        assert_eq!(given.text(), "deleted ask.txt");
        assert!(!is_there(&server));
    }
}

#[test]
fn other_calls_go_on_while_the_person_thinks() {
    let mut server = first_era(json!({"elicitation": {}}));
    let asked = asked(&mut server);
    for tool in ["read_file", "stat_file", "search_in_file"] {
        server.call(tool, json!({"path": "other.txt", "query": "two"}));
    }
    assert_eq!(server.call("delete_file", json!({"filepath": "other.txt", "expected_hash": hash()})).blocks.len(), 1);
    assert_eq!(answered(&mut server, &asked, accepted("approve")).text(), "deleted ask.txt");
}

#[test]
fn a_no_is_a_denial_and_no_answer_leaves_it_waiting() {
    for no in [accepted("deny"), json!({"action": "decline"})] {
        let mut server = first_era(json!({"elicitation": {}}));
        let asked = asked(&mut server);
        let refused = answered(&mut server, &asked, no);
        assert_eq!((refused.code(), is_there(&server)), ("DENIED", true));
        let again = server.call("delete_file", deletion("ask.txt")["arguments"].clone());
        assert_eq!(again.code(), "DENIED", "and the person is not asked again");
    }
    let mut server = first_era(json!({"elicitation": {}}));
    let odd = [json!({"action": "cancel"}), accepted("perhaps"), json!({"action": "accept"}), json!({"roots": []})];
    let mut ids = Vec::new();
    for nothing in odd {
        let asked = asked(&mut server);
        let waits = answered(&mut server, &asked, nothing);
        assert_eq!((waits.code(), is_there(&server)), ("APPROVAL_NEEDED", true));
        ids.push(waits.contract["error"]["id"].clone());
    }
    let (call, question) = asked(&mut server);
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}));
    let waits = server.message();
    assert_eq!(waits["id"], call);
    ids.push(Server::given(waits).contract["error"]["id"].clone());
    assert!(ids.iter().all(|id| *id == ids[0]), "one request waits: {ids:?}");
}

#[test]
fn a_file_that_changes_while_the_person_thinks_is_asked_about_again() {
    let mut server = first_era(json!({"elicitation": {}}));
    let call =
        server.ask("tools/call", json!({"name": "move_file", "arguments": {"filepath": "ask.txt", "to": "new.txt"}}));
    let first = server.message();
    server.put("ask.txt", "changed\n");
    reply(&mut server, &first, accepted("approve"));
    let second = server.message();
    assert_eq!(second["method"], "elicitation/create", "{second}");
    let message = |question: &Value| question["params"]["message"].as_str().unwrap().to_owned();
    assert!(message(&first).contains("-one") && message(&second).contains("-changed"), "{second}");
    assert!(is_there(&server));
    let done = answered(&mut server, &(call, second), accepted("approve"));
    assert!(done.text().starts_with("moved ask.txt to new.txt"));
    // A call that names the text is refused.
    server.put("ask.txt", TEXT);
    let question = asked(&mut server);
    server.put("ask.txt", "changed\n");
    assert_eq!(answered(&mut server, &question, accepted("approve")).code(), "PRECONDITION_FAILED");
    assert!(is_there(&server));
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    let mut server = first_era(json!({"elicitation": {}}));
    let (call, question) = asked(&mut server);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    let told = server.message();
    assert_eq!(
        (&told["method"], &told["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"]),
        "{told}"
    );
    reply(&mut server, &question, accepted("approve"));
    server.request("ping", json!({}));
    assert!(is_there(&server), "a late answer counts for nothing");
}

/// Runs `readproof approvals approve` as the person who has the key.
fn approve(server: &Server, id: &str) {
    let own = tempfile::tempdir().unwrap();
    fs::create_dir(own.path().join("readproof")).unwrap();
    let text = format!("approver_key = \"{}\"\n", ContentHash::of(b"key"));
    fs::write(own.path().join("readproof/config.toml"), text).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_readproof"))
        .args(["approvals", "approve", id, "--workspace"])
        .arg(server.dir.path())
        .env_clear()
        .env("XDG_CONFIG_HOME", own.path())
        .env("READPROOF_STATE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"))
        .env("READPROOF_APPROVER_KEY", "key")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_client_that_cannot_ask_leaves_the_call_waiting() {
    for mut server in [first_era(json!({})), first_era(json!({"elicitation": {"url": {}}})), second_era(json!({}))] {
        let arguments = deletion("ask.txt")["arguments"].clone();
        let waits = server.call("delete_file", arguments.clone());
        assert_eq!((waits.code(), is_there(&server)), ("APPROVAL_NEEDED", true));
        let error = &waits.contract["error"];
        assert_eq!((&error["paths"], &error["act"]), (&json!(["ask.txt"]), &json!("delete")));
        let id = error["id"].as_str().unwrap();
        assert!(
            waits.blocks[0].contains(&format!("`readproof approvals approve {id}`; then make the same call again"))
        );
        assert!(!waits.raw.to_string().contains("ask*"), "the rule is the person's: {}", waits.raw);
        approve(&server, id);
        assert_eq!(server.call("delete_file", arguments).text(), "deleted ask.txt");
        assert!(!is_there(&server));
    }
}

/// A call of the second era, made again with an answer.
fn with_answer(name: &str, state: &Value, result: Value) -> Value {
    let mut call = deletion(name);
    (call["requestState"], call["inputResponses"]) = (state.clone(), json!({"approval": result}));
    call
}

/// The result by which the server asks.
fn question(answer: &Value) -> &Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    assert_eq!(result["inputRequests"]["approval"]["method"], "elicitation/create");
    result
}

#[test]
fn the_second_era_asks_by_a_result() {
    let mut server = second_era(json!({"elicitation": {}}));
    let first = server.request("tools/call", deletion("ask.txt"));
    let asks = question(&first);
    let message = asks["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("delete ask.txt") && message.ends_with("\n-one\n-two"), "{message}");
    assert!(is_there(&server));
    let state = asks["requestState"].clone();
    let done = server.request("tools/call", with_answer("ask.txt", &state, accepted("approve")));
    assert_eq!(Server::given(done).text(), "deleted ask.txt");
    assert!(!is_there(&server));
    // The answer is spent.
    server.put("ask.txt", TEXT);
    let again = server.request("tools/call", with_answer("ask.txt", &state, accepted("approve")));
    assert_ne!(question(&again)["requestState"], state);
    assert!(is_there(&server));
}

#[test]
fn an_answer_counts_for_its_own_question_only() {
    let mut server = second_era(json!({"elicitation": {}}));
    let states = ["ask.txt", "ask-too.txt"].map(|name| {
        let answer = server.request("tools/call", deletion(name));
        question(&answer)["requestState"].clone()
    });
    let made_up = [json!("000000-9"), Value::Null, states[1].clone()];
    for state in made_up {
        let again = server.request("tools/call", with_answer("ask.txt", &state, accepted("approve")));
        assert_eq!(question(&again)["requestState"], states[0], "asked again, for what the call needs");
    }
    assert!(is_there(&server) && server.path("ask-too.txt").exists());
    // What was never asked of this client cannot be answered by it.
    let mut stranger = Server::spawn_in(&server, &[]);
    stranger.meta = server.meta.clone();
    stranger.request("server/discover", json!({}));
    let again = stranger.request("tools/call", with_answer("ask.txt", &states[0], accepted("approve")));
    assert_eq!(question(&again)["requestState"], states[0]);
    assert!(is_there(&server));
    // The file changed in between: the call needs another approval.
    server.put("ask.txt", "");
    let bare = json!({"name": "delete_file", "arguments": {"filepath": "ask.txt"}});
    let mut with_old = bare.clone();
    (with_old["requestState"], with_old["inputResponses"]) =
        (states[0].clone(), json!({"approval": accepted("approve")}));
    let changed = server.request("tools/call", with_old);
    assert_ne!(question(&changed)["requestState"], states[0]);
    assert!(is_there(&server));
}

#[test]
fn a_no_in_the_second_era() {
    for (result, code) in [
        (json!({"action": "decline"}), "DENIED"),
        (accepted("deny"), "DENIED"),
        (json!({"action": "cancel"}), "APPROVAL_NEEDED"),
        (json!({"action": "accept", "content": {"decision": true}}), "APPROVAL_NEEDED"),
        (json!("approve"), "APPROVAL_NEEDED"),
    ] {
        let mut server = second_era(json!({"elicitation": {"form": {}}}));
        let first = server.request("tools/call", deletion("ask.txt"));
        let state = question(&first)["requestState"].clone();
        let refused = Server::given(server.request("tools/call", with_answer("ask.txt", &state, result)));
        assert_eq!((refused.code(), is_there(&server)), (code, true));
    }
}
