//! A minimal MCP client, so that no library corrects mistakes of the server.

use serde_json::{Map, Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Long enough for any machine; a call that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace and the server in it.
pub(crate) struct Server {
    pub(crate) dir: TempDir,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What every request carries in its `_meta`.
    pub(crate) meta: Map<String, Value>,
    /// What the client answers to `roots/list`, as `result` or `error`; null: nothing. `None`: it has no roots.
    pub(crate) roots: Option<Value>,
    /// How often it was asked for them.
    pub(crate) asked: u32,
}

/// What a call gave.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) blocks: Vec<String>,
    pub(crate) contract: Value,
    pub(crate) is_error: bool,
    pub(crate) raw: Value,
}

impl Given {
    pub(crate) fn text(&self) -> &str {
        assert!(!self.is_error, "{:?}", self.blocks);
        let trailer = |block: &String| block.starts_with('[') && block.ends_with(']');
        // No block is empty: without text there is no block.
        if let [only] = &self.blocks[..]
            && trailer(only)
        {
            return "";
        }
        &self.blocks[0]
    }

    pub(crate) fn trailer(&self) -> &str {
        self.blocks.last().unwrap()
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> &str {
        assert!(self.is_error, "{:?}", self.blocks);
        self.contract["error"]["code"].as_str().unwrap()
    }

    pub(crate) fn handle(&self) -> Option<String> {
        let handle = self.contract["handle"].as_str().or(self.contract["meta"]["handle"].as_str());
        handle.map(str::to_owned)
    }

    pub(crate) fn decision(&self) -> &str {
        self.contract["decision"].as_str().or(self.contract["meta"]["decision"].as_str()).unwrap_or("none")
    }
}

impl Server {
    /// A server in a workspace with these files, after the handshake of the first era.
    pub(crate) fn start(files: &[(&str, &str)], words: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut server = Self::spawn(dir, words);
        server.initialize("2025-06-18");
        server
    }

    /// Another server in the same workspace, which is removed with the first one.
    pub(crate) fn spawn_in(other: &Self, words: &[&str]) -> Self {
        // The folder is removed once, by its owner.
        Self::spawn_at(tempfile::tempdir().unwrap(), other.dir.path(), words)
    }

    /// The number of the server's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A server before the handshake.
    pub(crate) fn spawn(dir: TempDir, words: &[&str]) -> Self {
        let at = dir.path().to_path_buf();
        Self::spawn_at(dir, &at, words)
    }

    pub(crate) fn spawn_at(dir: TempDir, at: &Path, words: &[&str]) -> Self {
        Self::spawn_with(dir, at, words, &[])
    }

    pub(crate) fn spawn_with(dir: TempDir, at: &Path, words: &[&str], environment: &[(&str, &Path)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_readproof"))
            .arg("mcp")
            .args(words)
            .current_dir(at)
            .env_clear()
            .env("HOME", at)
            // Outside the workspace, which is also the home directory in these tests.
            .env("READPROOF_STATE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"))
            // Tests use texts that are shorter than any marker.
            .env("READPROOF_MARKERS", "always")
            // When a change is met depends on time.
            .env("READPROOF_TELL", "false")
            .env("SECRET_OF_THE_HOST", "do-not-tell-4711")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let input = child.stdin.take();
        Self { dir, child, input, lines, next: 0, meta: Map::new(), roots: None, asked: 0 }
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let capabilities = if self.roots.is_some() { json!({"roots": {"listChanged": true}}) } else { json!({}) };
        let hello = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let given = self.request("initialize", hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        given
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(&message.to_string());
    }

    pub(crate) fn send_raw(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
        input.flush().unwrap();
    }

    /// The most memory that the server ever had.
    pub(crate) fn peak_kib(&self) -> u64 {
        peak_kib(self.child.id())
    }

    /// Sends a request and gives its number.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if !self.meta.is_empty() {
            params["_meta"] = Value::Object(self.meta.clone());
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next message of the server.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server hangs or is gone");
        serde_json::from_str(&line).expect("stdout is the protocol's")
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let message = self.message();
            if message.get("method").is_some() && message.get("id").is_some() {
                self.answer(&message);
            } else if message["id"] == id {
                return message;
            }
        }
    }

    /// Answers a request of the server, which can only be the one for the roots.
    pub(crate) fn answer(&mut self, request: &Value) {
        let answer = self.roots.clone().filter(|_| request["method"] == "roots/list");
        let Some(mut answer) = answer else { panic!("asked of the client: {request}") };
        self.asked += 1;
        if answer.is_object() {
            (answer["jsonrpc"], answer["id"]) = (json!("2.0"), request["id"].clone());
            self.send(&answer);
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Given {
        Self::given(self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// What the answer to a call gives.
    pub(crate) fn given(answer: Value) -> Given {
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        assert!(result.get("structuredContent").is_none(), "{answer}");
        let blocks = result["content"].as_array().unwrap();
        let visible = |block: &Value| block["text"].as_str().is_some_and(|text| !text.trim().is_empty());
        assert!(!blocks.is_empty() && blocks.iter().all(visible), "an empty or blank block: {answer}");
        Given {
            blocks: blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect(),
            contract: result["_meta"]["readproof/contract"].clone(),
            is_error: result["isError"] == true,
            raw: answer,
        }
    }

    /// From now on the host reports this context window.
    pub(crate) fn window(&mut self, thread: &str, window: &str) {
        self.meta.insert("readproof/window".to_owned(), json!(format!("{thread} {window}")));
        self.meta.insert("readproof/direct".to_owned(), json!(true));
    }

    /// Closes standard input and waits for the server to exit.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The most memory that a process ever had.
pub(crate) fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// So many lines, each with its number.
pub(crate) fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n} of this file\n")).collect()
}
