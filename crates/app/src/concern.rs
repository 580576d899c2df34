//! Test: a concern that counts calls per caller is this one file, and it acts on the command line, over MCP and in pi
//! without a change to any of them.
#![allow(clippy::disallowed_methods, reason = "tests make files")]

use readproof_core::{
    operation::{Caller, Operation},
    path::Bearings,
};
use readproof_disk::Root;
use readproof_engine::{CallRecord, Concern, Engine, Error, Settings};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::{
    commands::{Terminal, find},
    serve::{bridge, mcp},
    tools::ToolList,
};

/// Number of calls by surface and operation, and how many of them returned something.
#[derive(Default)]
struct Counting(Mutex<Counts>);

type Counts = BTreeMap<(String, &'static str), (u32, u32)>;

impl Concern for Counting {
    fn before(&self, caller: &Caller, operation: &Operation) -> Result<(), Error> {
        self.0.lock().unwrap().entry((caller.surface.to_string(), operation.name())).or_default().0 += 1;
        if operation.path() == Some("refused") { Err(Error::OverBudget { why: "refused".to_owned() }) } else { Ok(()) }
    }

    fn after(&self, record: &CallRecord<'_>) {
        let text = record.code() == "OK" && !record.text().is_empty();
        let key = (record.caller.surface.to_string(), record.operation.name());
        self.0.lock().unwrap().entry(key).or_default().1 += u32::from(text);
    }
}

fn engine(folder: &Path, counting: &Arc<Counting>) -> Engine {
    let bearings = Bearings { cwd: folder.to_str().unwrap().to_owned(), home: None };
    let root = Root::open(folder).unwrap();
    let engine = Engine::new(root, bearings, Settings::default(), Box::new(|| 0)).unwrap();
    engine.with_concern(Arc::clone(counting) as Arc<dyn Concern>)
}

async fn over_mcp(server: mcp::Server, calls: &[&str]) -> Vec<String> {
    let ((ours, theirs), (into, out)) = (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 16));
    let client = async {
        let (mut ours, mut out) = (ours, BufReader::new(out).lines());
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        ours.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        out.next_line().await.unwrap().unwrap();
        ours.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await.unwrap();
        let mut answers = Vec::new();
        for (id, call) in calls.iter().enumerate() {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{call}}}"#, id + 1);
            ours.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            answers.push(out.next_line().await.unwrap().unwrap());
        }
        answers
    };
    let serving = server.serve_on((theirs, into), || ());
    tokio::select! { answers = client => answers, _ = serving => Vec::new() }
}

#[test]
fn a_concern_is_one_file_and_acts_on_every_wire() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("a.txt"), "a text\n").unwrap();
    let counting = Arc::new(Counting::default());

    let terminal = Terminal::of(engine(temp.path(), &counting), true);
    find::stat(&terminal, "a.txt".to_owned()).unwrap();
    assert!(find::stat(&terminal, "refused".to_owned()).is_err());

    let calls = [
        r#"{"name":"read_file","arguments":{"path":"a.txt"}}"#,
        r#"{"name":"search","arguments":{"query":"text"}}"#,
        r#"{"name":"read_file","arguments":{"path":"refused"}}"#,
    ];
    let server = mcp::Server::new(engine(temp.path(), &counting), None, ToolList::All, || 0).ok().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(over_mcp(server, &calls));
    assert!(answers[0].contains("a text") && answers[2].contains("BUDGET_EXCEEDED"), "{answers:?}");

    let mut pi = bridge::Server::new(engine(temp.path(), &counting));
    let lines = [r#"{"id":1,"op":"read","path":"a.txt"}"#, r#"{"id":2,"op":"status"}"#];
    let answers = lines.map(|line| serde_json::to_string(&pi.answer_line(line.as_bytes(), &Arc::default())).unwrap());
    assert!(answers[0].contains("a text"), "{answers:?}");

    let counted: Vec<String> = counting
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|((surface, operation), (calls, texts))| format!("{surface} {operation}: {calls}, {texts} with text"))
        .collect();
    let expected = [
        "cli stat: 2, 1 with text",
        "mcp read: 2, 1 with text",
        "mcp search: 1, 1 with text",
        "pi read: 1, 1 with text",
        "pi status: 1, 1 with text",
    ];
    assert_eq!(counted, expected);
}
