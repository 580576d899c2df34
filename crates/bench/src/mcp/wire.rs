//! One connection: JSON lines over a child's pipes. Knows nothing about what the servers do.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{memory, servers::Server};
use crate::Broken;

/// The newest protocol version that all servers support.
const VERSION: &str = "2025-06-18";

/// A running server; it is ended on drop.
pub(super) struct Connection {
    child: Child,
    into: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    /// Requests that were answered while another answer was awaited.
    answered: BTreeSet<u64>,
}

impl Connection {
    /// Starts a server and waits for the answer to `initialize`; returns how long that took.
    pub(super) fn open(server: &Server, folder: &Path) -> Result<(Self, Duration), Broken> {
        let hello = json!({
            "protocolVersion": VERSION, "capabilities": {}, "clientInfo": { "name": "readproof-bench", "version": "0" },
        });
        let line = request(1, "initialize", &hello);
        let mut command = server.command(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let (into, from) = (child.stdin.take(), child.stdout.take());
        let (into, from) = (into.ok_or("no pipe")?, BufReader::new(from.ok_or("no pipe")?));
        let mut connection = Self { child, into, from, last: 1, answered: BTreeSet::new() };
        let (_, took) = connection.ask(&line, begin)?;
        connection.into.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok((connection, took))
    }

    /// Calls a tool: its result, and how long it took from the first byte sent to the last one received.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Value, Duration), Broken> {
        self.last += 1;
        let line = request(self.last, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        self.ask(&line, Instant::now())
    }

    /// Calls a tool and asks for progress: its result, how long the first word of any kind took, and how long the result.
    pub(super) fn call_with_progress(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Value, Duration, Duration), Broken> {
        self.last += 1;
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": self.last } });
        let (line, begin) = (request(self.last, "tools/call", &params), Instant::now());
        let mut first = None;
        let (result, took) = self.ask_noting(&line, begin, |message| {
            if message["method"] == "notifications/progress" {
                first.get_or_insert_with(|| begin.elapsed());
            }
        })?;
        Ok((result, first.unwrap_or(took), took))
    }

    /// Calls a tool without waiting; returns the id of the request.
    pub(super) fn begin(&mut self, tool: &str, arguments: &Value) -> Result<u64, Broken> {
        self.last += 1;
        let line = request(self.last, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        self.into.write_all(&line)?;
        Ok(self.last)
    }

    /// Whether an earlier request has been answered.
    pub(super) fn is_answered(&self, id: u64) -> bool {
        self.answered.contains(&id)
    }

    /// How long a ping takes.
    pub(super) fn ping(&mut self) -> Result<Duration, Broken> {
        self.last += 1;
        let line = request(self.last, "ping", &json!({}));
        Ok(self.ask(&line, Instant::now())?.1)
    }

    /// Its peak memory, in KiB.
    pub(super) fn peak(&self) -> Result<u64, Broken> {
        memory(self.child.id(), "VmHWM:")
    }

    pub(super) fn rss(&self) -> Result<u64, Broken> {
        memory(self.child.id(), "VmRSS:")
    }

    /// Skips notifications and requests of the server.
    fn ask(&mut self, request: &[u8], begin: Instant) -> Result<(Value, Duration), Broken> {
        self.ask_noting(request, begin, |_| ())
    }

    fn ask_noting(
        &mut self,
        request: &[u8],
        begin: Instant,
        mut note: impl FnMut(&Value),
    ) -> Result<(Value, Duration), Broken> {
        self.into.write_all(request)?;
        loop {
            let mut line = Vec::with_capacity(1 << 16);
            self.from.read_until(b'\n', &mut line)?;
            let took = begin.elapsed();
            if line.is_empty() {
                return Err("the server has ended the conversation".into());
            }
            let mut message: Value = serde_json::from_slice(&line)?;
            if message["id"] == self.last && message.get("method").is_none() {
                let result = message["result"].take();
                return if result.is_null() { Err(message.to_string().into()) } else { Ok((result, took)) };
            }
            note(&message);
            self.answered.extend(message["id"].as_u64().filter(|_| message.get("method").is_none()));
        }
    }
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    let mut line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes();
    line.push(b'\n');
    line
}

impl Drop for Connection {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
