//! `readproof pi`: the lines that pi's extension sends, and what comes back.

use serde_json::{Value, json};

use super::workspace::{Workspace, names_in, numbered};

/// A session as the extension sends it: each request carries what is new.
struct Pi {
    workspace: Workspace,
    requests: Vec<Value>,
    entries: Vec<Value>,
    leaf: Option<String>,
    calls: u32,
}

impl Pi {
    fn new(files: &[(&str, &str)]) -> Self {
        let workspace = Workspace::with(files);
        let hello = json!({"id": 0, "op": "hello", "protocol": 1});
        Self { workspace, requests: vec![hello], entries: Vec::new(), leaf: None, calls: 0 }
    }

    fn entry(&mut self, kind: &str, more: Value) {
        self.calls += 1;
        let id = format!("{:08x}", self.calls);
        let mut entry = json!({"type": kind, "id": id, "parentId": self.leaf});
        let Value::Object(more) = more else { panic!("fields") };
        entry.as_object_mut().unwrap().extend(more);
        self.entries.push(entry);
        self.leaf = Some(id);
    }

    /// A request with everything that is new.
    fn ask(&mut self, mut request: Value) {
        request["id"] = json!(self.requests.len());
        request["entries"] = Value::Array(std::mem::take(&mut self.entries));
        request["leaf"] = json!(self.leaf);
        if self.requests.len() == 1 {
            let cwd = self.workspace.path("");
            request["header"] = json!({"type": "session", "version": 3, "id": "s", "cwd": cwd});
        }
        self.requests.push(request);
    }

    /// The call, and the request for it.
    fn read(&mut self, arguments: Value) {
        let part = json!({"type": "toolCall", "id": "c", "name": "read", "arguments": arguments});
        self.entry("message", json!({"message": {"role": "assistant", "content": [part]}}));
        let mut request = arguments;
        request["op"] = json!("read");
        self.ask(request);
    }

    /// What comes back for all of it.
    fn answers(&self) -> Vec<Value> {
        let lines: String = self.requests.iter().map(|request| format!("{request}\n")).collect();
        let done = self.workspace.feed("pi", lines).text();
        done.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Puts the last answer into the session, as pi does.
    fn take(&mut self) -> Value {
        let answer = self.answers().pop().unwrap();
        let text = answer["text"].as_str().unwrap().to_owned() + answer["tail"].as_str().unwrap();
        let content = json!([{"type": "text", "text": text}]);
        let details = json!({"readcache": answer["readcache"]});
        let message = json!({
            "role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": false,
            "content": content, "details": details,
        });
        self.entry("message", json!({"message": message}));
        answer
    }
}

#[test]
fn a_file_is_read_again() {
    let mut pi = Pi::new(&[("a.txt", &numbered(40))]);
    pi.read(json!({"path": "a.txt"}));
    let first = pi.take();
    assert_eq!(
        (&first["text"], &first["tail"], &first["id"], &first["ok"]),
        (&json!(numbered(40)), &json!(""), &json!(1), &json!(true))
    );
    pi.read(json!({"path": "a.txt"}));
    assert_eq!(pi.take()["text"], "[readcache: unchanged, 41 lines]");
    pi.workspace.put("a.txt", numbered(40).replace("\n7\n", "\nseven\n"));
    pi.read(json!({"path": "a.txt"}));
    let diff = pi.take();
    assert!(diff["text"].as_str().unwrap().starts_with("[readcache: 1 lines changed of 41]\n--- "), "{diff}");
    pi.read(json!({"path": "a.txt", "offset": 20, "limit": 5}));
    assert_eq!(pi.take()["text"], "[readcache: unchanged in lines 20-24 of 41]");
    pi.ask(json!({"op": "status"}));
    let status = pi.answers().pop().unwrap();
    let status = status["text"].as_str().unwrap();
    assert!(
        status.contains("across 1 files\n") && status.contains("full=1, unchanged=1, unchanged_range=1, diff=1"),
        "{status}"
    );
    assert!(status.contains("object store: 2 objects"), "{status}");
    assert_eq!(names_in(&pi.workspace.path(".pi/readcache")), [".gitignore", "objects"]);
    assert!(!pi.workspace.names().contains(&".readproof".to_owned()));
}

#[test]
fn metadata_is_pis_v1_and_what_a_replay_checks() {
    let mut pi = Pi::new(&[("a.txt", &numbered(2100))]);
    pi.read(json!({"path": "a.txt"}));
    let answer = pi.take();
    let meta = &answer["readcache"];
    let field = |name: &str| meta[name].clone();
    assert_eq!(field("v"), 1);
    assert_eq!(field("pathKey"), json!(pi.workspace.path("a.txt")));
    assert_eq!((field("scopeKey"), field("mode")), (json!("r:1:2000"), json!("full")));
    assert_eq!([field("rangeStart"), field("rangeEnd"), field("totalLines")], [json!(1), json!(2000), json!(2101)]);
    assert_eq!([field("total"), field("lines"), field("end")], [json!(2100), json!([1, 2000]), json!(false)]);
    assert_eq!((meta.get("baseHash"), field("bytes")), (None, json!(numbered(2100).len())));
    assert_eq!(answer["tail"], "\n\n[Showing lines 1-2000 of 2101. Use offset=2001 to continue.]");
    let body = answer["text"].as_str().unwrap();
    assert_eq!(body.to_owned() + "\n", numbered(2000));
    let expected = json!({
        "truncated": true, "truncatedBy": "lines", "totalLines": 2100, "totalBytes": numbered(2100).len(),
        "outputLines": 2000, "outputBytes": body.len(), "lastLinePartial": false, "firstLineExceedsLimit": false,
        "maxLines": 2000, "maxBytes": 51200,
    });
    assert_eq!(answer["truncation"], expected);
    // The second page was never shown.
    pi.read(json!({"path": "a.txt", "offset": 2001}));
    assert_eq!(pi.take()["text"], numbered(2100)[numbered(2000).len()..]);
}

#[test]
fn fresh_text_and_refreshes_and_hosts_that_change_results() {
    let mut pi = Pi::new(&[("a.txt", &numbered(9))]);
    pi.read(json!({"path": "a.txt"}));
    pi.take();
    pi.read(json!({"path": "a.txt", "fresh": true}));
    assert_eq!(pi.take()["text"], numbered(9));
    pi.ask(json!({"op": "refresh", "path": "a.txt:2-3"}));
    let done = pi.answers().pop().unwrap();
    assert_eq!(
        (&done["scopeKey"], &done["text"]),
        (&json!("r:2:3"), &json!("The next read of lines 2-3 of a.txt gives their text."))
    );
    let data = json!({"v": 1, "kind": "invalidate", "pathKey": done["pathKeys"][0], "scopeKey": "r:2:3", "at": 1});
    pi.entry("custom", json!({"customType": "pi-readcache", "data": data}));
    pi.read(json!({"path": "a.txt", "offset": 5, "limit": 2}));
    assert_eq!(pi.take()["text"], "[readcache: unchanged in lines 5-6 of 10]");
    pi.read(json!({"path": "a.txt"}));
    assert_eq!(pi.take()["text"], numbered(9));
    pi.read(json!({"path": "a.txt"}));
    assert_eq!(pi.take()["text"], "[readcache: unchanged, 10 lines]");
    pi.read(json!({"path": "a.txt", "distrusted": true}));
    assert_eq!(pi.take()["text"], numbered(9));
    pi.read(json!({"path": "a.txt"}));
    assert_eq!(pi.take()["text"], numbered(9), "once seen, for the whole session");
}

#[test]
fn what_is_pis_own_and_what_is_wrong() {
    let mut pi = Pi::new(&[("a.txt", "1\n"), (".env", "KEY=1\n")]);
    for path in ["gone", ".", ".env", "../home", "/etc/hostname"] {
        pi.ask(json!({"op": "read", "path": path}));
        let answer = pi.answers().pop().unwrap();
        assert!(answer["ok"] == true && answer["own"].is_string() && answer.get("text").is_none(), "{path}: {answer}");
    }
    pi.ask(json!({"op": "read", "path": "a.txt:3-2"}));
    let answer = pi.answers().pop().unwrap();
    assert_eq!((&answer["ok"], &answer["code"]), (&json!(false), &json!("BAD_RANGE")), "{answer}");
    pi.ask(json!({"op": "read", "path": "a.txt:7"}));
    assert_eq!(pi.answers().pop().unwrap()["error"], "Offset 7 is beyond end of file (2 lines total)");
    for range in ["2", "2-9"] {
        pi.ask(json!({"op": "read", "path": format!("a.txt:{range}")}));
        let answer = pi.answers().pop().unwrap();
        assert_eq!((&answer["text"], answer.get("readcache")), (&json!(""), None), "as `offset` would: {answer}");
    }
}

#[test]
fn a_refresh_of_a_file_that_is_not_there_promises_nothing() {
    let mut pi = Pi::new(&[("a.txt", "1\n")]);
    pi.ask(json!({"op": "refresh", "path": "nope.txt"}));
    let done = pi.answers().pop().unwrap();
    assert_eq!(done["text"], "There is no file nope.txt. If there is one later, its next read gives its text.");
    assert_eq!(done["pathKeys"], json!([pi.workspace.path("nope.txt")]), "it may have been read before it went");
}

#[test]
fn lines_that_are_no_requests_are_answered_and_the_next_one_is_served() {
    let workspace = Workspace::with(&[("a.txt", "1\n")]);
    let lines = "nonsense\n\n{\"id\":1}\n{\"id\":2,\"op\":\"dance\"}\n{\"op\":\"cancel\",\"target\":9}\n\
                 {\"id\":3,\"op\":\"read\",\"path\":\"a.txt\",\"offset\":-1}\n{\"id\":4,\"op\":\"hello\"}";
    let out = workspace.feed("pi", lines).text();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<&Value> = answers.iter().map(|answer| &answer["code"]).collect();
    let bad = json!("BAD_REQUEST");
    assert_eq!(codes, [&bad, &bad, &bad, &bad, &Value::Null], "{answers:?}");
    assert_eq!((&answers[4]["id"], &answers[4]["protocol"]), (&json!(4), &json!(2)));
}

#[test]
fn a_cancelled_call_is_aborted() {
    let workspace = Workspace::with(&[("a.txt", "1\n")]);
    let lines = "{\"op\":\"cancel\",\"target\":7}\n{\"id\":7,\"op\":\"read\",\"path\":\"a.txt\"}\n{\"id\":8,\"op\":\"read\",\"path\":\"a.txt\"}\n";
    let out = workspace.feed("pi", lines).text();
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&answers[0]["code"], &answers[0]["error"]), (&json!("ABORTED"), &json!("Operation aborted")));
    assert_eq!(answers[1]["text"], "1\n");
}

#[test]
fn settings_that_cannot_be_read_are_told_to_whoever_asks() {
    let workspace = Workspace::with(&[("readproof.toml", "answers = 7\n")]);
    let done = workspace.feed("pi", "{\"id\":0,\"op\":\"hello\",\"protocol\":1}\n");
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    assert!(answer["ok"] == false && answer["error"].as_str().unwrap().contains("answers"), "{answer}");
    assert_eq!(done.code, Some(1));
}

#[test]
fn a_text_that_cannot_be_stored_is_told_with_the_next_answer() {
    let mut pi = Pi::new(&[("a.txt", "1\n"), (".pi", "in the way")]);
    pi.read(json!({"path": "a.txt"}));
    assert_eq!(pi.take()["notices"], json!([]));
    pi.read(json!({"path": "a.txt"}));
    let again = pi.take();
    assert_eq!(again["text"], "[readcache: unchanged, 2 lines]");
    let notice = again["notices"][0].as_str().unwrap();
    assert!(notice.starts_with("an earlier text was not stored") && notice.contains(".pi"), "{notice}");
}

/// What comes back for these requests of one process.
fn asked(workspace: &Workspace, requests: &[Value]) -> Vec<Value> {
    let number = |(id, request): (usize, &Value)| {
        let mut request = request.clone();
        request["id"] = json!(id);
        if id == 0 {
            request["header"] = json!({"type": "session", "version": 3, "id": "s", "cwd": workspace.path("")});
        }
        format!("{request}\n")
    };
    let lines: String = requests.iter().enumerate().map(number).collect();
    workspace.feed("pi", lines).text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_files_of_a_moment_are_restored_when_the_person_agreed() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    workspace.run("checkpoint").text();
    let moment = asked(&workspace, &[json!({"op": "moment"})])[0]["moment"].clone();
    assert_eq!(
        asked(&workspace, &[json!({"op": "moment"})])[0]["moment"],
        moment,
        "nothing changed, so nothing is recorded"
    );
    workspace.put("a.txt", "two\n");
    workspace.put("new.txt", "new\n");
    let later = asked(&workspace, &[json!({"op": "moment"})])[0]["moment"].clone();
    assert_ne!(later, moment);

    let rewind = |more: Value| {
        let mut request = json!({"op": "rewind", "moment": moment});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked(&workspace, &[request]).remove(0)
    };
    let plan = rewind(json!({"dryRun": true}));
    assert_eq!((&plan["changes"], &plan["stays"]), (&json!(2), &json!(0)), "{plan}");
    assert_eq!(plan["files"], json!(["a.txt: restored", "new.txt: removed"]));
    assert_eq!(workspace.get("a.txt"), "two\n");
    let asks = rewind(json!({}));
    assert_eq!(asks["ok"], false, "deleting asks a person: {asks}");
    assert_eq!((workspace.get("a.txt"), workspace.get("new.txt")), ("two\n".to_owned(), "new\n".to_owned()));
    let done = rewind(json!({"agreed": true}));
    assert_eq!(done["changes"], 2, "{done}");
    assert_eq!(workspace.get("a.txt"), "one\n");
    assert!(!workspace.names().contains(&"new.txt".to_owned()));

    workspace.put("a.txt", "three\n");
    let now = asked(&workspace, &[json!({"op": "changes", "moment": later}), json!({"op": "changes"})]);
    let since = now[0]["text"].as_str().unwrap();
    assert!(since.contains("+three") && !since.contains("rewind"), "its own rewind is not another's: {since}");
    let other = asked(&workspace, &[json!({"op": "rewind", "moment": "v2@0000000000000000", "dryRun": true})]);
    assert_eq!(other[0]["code"], "NOT_FOUND");
}

#[test]
fn no_moment_is_noted_where_no_history_is_kept() {
    let workspace = Workspace::with(&[("a.txt", "one\n")]);
    let answer = asked(&workspace, &[json!({"op": "moment"})]).remove(0);
    assert_eq!((&answer["ok"], answer.get("moment")), (&json!(true), None), "a folder that nobody means");
    assert!(!workspace.names().contains(&".readproof".to_owned()));
    workspace.put("readproof.toml", "history = \"off\"\n");
    workspace.run("checkpoint").text();
    assert_eq!(asked(&workspace, &[json!({"op": "moment"})])[0].get("moment"), None);
}
