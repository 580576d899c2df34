//! The running program, one line per message: what every attack talks to. It is ended on drop.

use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::{state_dir, world::Broken};

/// A running server.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    next: u64,
    /// After this time a call counts as hanging.
    patience: Duration,
}

impl Server {
    /// Starts the program in a folder, with an empty environment.
    pub(crate) fn start(binary: &Path, words: &[&str], folder: &Path, patience: Duration) -> Result<Self, Broken> {
        let mut command = Command::new(binary);
        command.args(words).current_dir(folder).env_clear();
        command.env("READPROOF_WORKSPACE", folder).env("READPROOF_STATE_DIR", state_dir());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (input, output) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        let (sender, lines) = channel();
        let output = BufReader::new(output);
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Self { child, input, lines, next: 0, patience })
    }

    /// The same for MCP, after the handshake.
    pub(crate) fn mcp(binary: &Path, words: &[&str], folder: &Path, patience: Duration) -> Result<Self, Broken> {
        let words: Vec<&str> = ["mcp"].iter().chain(words).copied().collect();
        let mut server = Self::start(binary, &words, folder, patience)?;
        let client = json!({"name": "attacks", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.request("initialize", &hello)?;
        server.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())?;
        Ok(server)
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: impl AsRef<[u8]>) -> Result<(), Broken> {
        self.input.write_all(&[line.as_ref(), b"\n"].concat())?;
        Ok(())
    }

    /// Sends a message under a new id, and returns the id.
    pub(crate) fn ask(&mut self, mut message: Value) -> Result<u64, Broken> {
        self.next += 1;
        message["id"] = json!(self.next);
        self.send(message.to_string())?;
        Ok(self.next)
    }

    /// The next line.
    pub(crate) fn line(&self) -> Result<String, Broken> {
        self.lines.recv_timeout(self.patience).map_err(|_| "no answer in time, or the server is gone".into())
    }

    /// The next message.
    pub(crate) fn message(&self) -> Result<Value, Broken> {
        let line = self.line()?;
        serde_json::from_str(&line).map_err(|_| format!("this is not the protocol's: {line:?}").into())
    }

    /// The answer to a request, and how long it took.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<(Value, Duration), Broken> {
        let began = Instant::now();
        let id = self.ask(json!({"jsonrpc": "2.0", "method": method, "params": params}))?;
        loop {
            let message = self.message()?;
            let took = began.elapsed();
            if took > self.patience {
                return Err(format!("no answer to {method} in time").into());
            }
            if message["id"] == id {
                return Ok((message, took));
            }
        }
    }

    /// The answer to a call of a tool, and how long it took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Value, Duration), Broken> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Its peak memory, in KiB.
    pub(crate) fn peak_kib(&self) -> Result<u64, Broken> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("its memory is not told")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
