//! The transport of an MCP client: one message per line in each direction. Every request with an id gets an answer,
//! even if it is malformed. If a client does not read its answers, or sends requests faster than they are answered, no
//! more input is read. Responses of the client count only while a request of the server waits for one.

use rmcp::{
    RoleServer,
    model::{
        ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Notify,
    task::JoinHandle,
};

use super::{
    super::locked,
    scan::{Scan, is_id},
};
use crate::output;

/// The longest line that is accepted, in bytes.
const LONGEST: usize = 16 << 20;

/// A longer line is parsed on another thread, after its values were counted.
const LONG: usize = 64 << 10;

/// The most JSON values in one message: each takes far more memory than its text.
const MOST_VALUES: u64 = 200_000;

/// No more input is read while so many requests, or bytes of requests, are unanswered, or so many bytes of answers are
/// unread.
const UNANSWERED: usize = 1_024;
const UNANSWERED_BYTES: usize = 64 << 20;
const UNTAKEN_BYTES: usize = 8 << 20;

/// Methods whose parameters are known. A request that does not parse as one of these has invalid parameters; the method
/// is not unknown.
const KNOWN: [&str; 14] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "resources/templates/list",
    "completion/complete",
    "logging/setLevel",
];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// What a line is.
enum Heard {
    Message(Box<RxJsonRpcMessage<RoleServer>>, usize),
    Refused { id: Value, code: i32, why: String },
    Nothing,
}

/// Both ends.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// A line that is too long, as far as it was scanned.
    dropped: Option<Scan>,
    /// A long line that is being parsed.
    heard: Option<JoinHandle<Heard>>,
    outgoing: Arc<Outgoing<W>>,
    /// Whether the handshake is over; notifications before that are ignored, as rmcp would end the connection.
    begun: bool,
    /// Notified once at the end of input.
    ended: Arc<Notify>,
}

/// Output to the client.
struct Outgoing<W> {
    output: tokio::sync::Mutex<W>,
    load: Mutex<Load>,
    eased: Notify,
}

/// What is pending for a client.
#[derive(Default)]
struct Load {
    /// The unanswered requests with their sizes.
    unanswered: HashMap<RequestId, usize>,
    unanswered_bytes: usize,
    untaken_bytes: usize,
    /// The server's own requests that wait for a response. Text, as some clients return a number as one.
    asked: HashSet<String>,
}

impl Load {
    fn is_full(&self) -> bool {
        self.unanswered.len() >= UNANSWERED
            || self.unanswered_bytes >= UNANSWERED_BYTES
            || self.untaken_bytes >= UNTAKEN_BYTES
    }

    fn answered(&mut self, id: &RequestId) {
        self.unanswered_bytes -= self.unanswered.remove(id).unwrap_or(0);
    }
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    fn load(&self) -> MutexGuard<'_, Load> {
        locked(&self.load)
    }

    async fn has_room(&self) {
        loop {
            let eased = self.eased.notified();
            if !self.load().is_full() {
                return;
            }
            eased.await;
        }
    }

    /// Writes one whole line. `bytes` are already part of the load.
    async fn write(&self, bytes: Vec<u8>, answered: Option<RequestId>) -> io::Result<()> {
        let written = async {
            let mut output = self.output.lock().await;
            output.write_all(&bytes).await?;
            output.flush().await
        };
        let written = written.await;
        {
            let mut load = self.load();
            load.untaken_bytes -= bytes.len();
            if let Some(id) = answered {
                load.answered(&id);
            }
        }
        self.eased.notify_one();
        written
    }

    fn counted(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.load().untaken_bytes += bytes.len();
        bytes
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new((input, output): (R, W), ended: Arc<Notify>) -> Self {
        let outgoing =
            Outgoing { output: tokio::sync::Mutex::new(output), load: Mutex::default(), eased: Notify::new() };
        Self {
            input: BufReader::with_capacity(LONG, input),
            line: Vec::new(),
            dropped: None,
            heard: None,
            begun: false,
            outgoing: Arc::new(outgoing),
            ended,
        }
    }

    /// The next line, or the error for one that is too long. Cancel-safe: what was read is kept.
    async fn next(&mut self) -> io::Result<Option<Heard>> {
        loop {
            if let Some(heard) = &mut self.heard {
                let heard = heard.await;
                self.heard = None;
                return Ok(Some(heard.unwrap_or(Heard::Nothing)));
            }
            let block = self.input.fill_buf().await?;
            if block.is_empty() {
                // The last line may lack a terminator.
                if let Some(scan) = self.dropped.take() {
                    return Ok(Some(too_long(scan)));
                }
                let last = std::mem::take(&mut self.line);
                return Ok((!last.trim_ascii().is_empty()).then(|| understood(&last)));
            }
            let (ends, len) = match block.iter().position(|byte| *byte == b'\n') {
                Some(at) => (true, at + 1),
                None => (false, block.len()),
            };
            if let Some(scan) = &mut self.dropped {
                scan.feed(&block[..len]);
            } else if self.line.len() + len > LONGEST {
                let mut scan = Scan::default();
                scan.feed(&std::mem::take(&mut self.line));
                scan.feed(&block[..len]);
                self.dropped = Some(scan);
            } else {
                self.line.extend_from_slice(&block[..len]);
            }
            self.input.consume(len);
            if !ends {
                continue;
            }
            if let Some(scan) = self.dropped.take() {
                return Ok(Some(too_long(scan)));
            }
            if self.line.len() <= LONG {
                let heard = understood(&self.line);
                self.line.clear();
                return Ok(Some(heard));
            }
            let line = std::mem::take(&mut self.line);
            self.heard = Some(tokio::task::spawn_blocking(move || understood(&line)));
        }
    }

    /// Sends an error without waiting until it is written.
    fn refuse(&self, id: &Value, code: i32, why: &str) {
        output::notice(&format!("a line of the client was refused: {why}"));
        let line = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
        let bytes = self.outgoing.counted(format!("{line}\n").into_bytes());
        let outgoing = Arc::clone(&self.outgoing);
        // The client may be gone.
        tokio::spawn(async move { outgoing.write(bytes, None).await.ok() });
    }

    /// Whether a request of the server waits for a response with this id. It then no longer does.
    fn is_awaited(&self, id: Option<&RequestId>) -> bool {
        id.is_some_and(|id| self.outgoing.load().asked.remove(&id.to_string()))
    }

    /// Notes a request; `false` if another running request has the same id.
    fn note(&self, id: &RequestId, bytes: usize) -> bool {
        let mut load = self.outgoing.load();
        if load.unanswered.contains_key(id) {
            return false;
        }
        load.unanswered.insert(id.clone(), bytes);
        load.unanswered_bytes += bytes;
        true
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(request) => {
                self.outgoing.load().asked.insert(request.id.to_string());
                None
            }
            JsonRpcMessage::Notification(told) => {
                if let ServerNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.is_awaited(Some(id));
                }
                None
            }
        };
        let outgoing = Arc::clone(&self.outgoing);
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            outgoing.counted(line)
        });
        async move { outgoing.write(line?, answered).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.outgoing.has_room().await;
            match self.next().await {
                Ok(Some(Heard::Nothing)) => {}
                Ok(Some(Heard::Refused { id, code, why })) => self.refuse(&id, code, &why),
                Ok(Some(Heard::Message(message, bytes))) => {
                    match &*message {
                        JsonRpcMessage::Request(request) => self.begun |= begins(&request.request),
                        JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
                            if !self.begun =>
                        {
                            continue;
                        }
                        JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
                    }
                    match &*message {
                        JsonRpcMessage::Request(request) if !self.note(&request.id, bytes) => {
                            let why = "another request with this id is not answered yet";
                            self.refuse(&json!(request.id), INVALID_REQUEST, why);
                            continue;
                        }
                        JsonRpcMessage::Notification(told) => {
                            // A cancelled request gets no answer.
                            if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                                && let Some(id) = &cancelled.params.request_id
                            {
                                self.outgoing.load().answered(id);
                            }
                        }
                        JsonRpcMessage::Response(response) if !self.is_awaited(Some(&response.id)) => continue,
                        JsonRpcMessage::Error(error) if !self.is_awaited(error.id.as_ref()) => continue,
                        JsonRpcMessage::Request(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
                    }
                    return Some(*message);
                }
                Ok(None) | Err(_) => {
                    self.ended.notify_one();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a request ends the handshake: `initialize`, or one that has the metadata of the second era.
fn begins(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    let is_probe = matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
    let is_whole = || {
        meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
            && meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
    };
    matches!(request, ClientRequest::InitializeRequest(_)) || (!is_probe && is_whole())
}

fn too_long(mut scan: Scan) -> Heard {
    let why = format!("this line has more than {LONGEST} bytes, and no more are taken in");
    Heard::Refused { id: scan.id().into(), code: INVALID_REQUEST, why }
}

/// Parses a line.
fn understood(line: &[u8]) -> Heard {
    let text = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if text.is_empty() {
        return Heard::Nothing;
    }
    if text.len() > LONG {
        let mut scan = Scan::default();
        scan.feed(text);
        if scan.values() > MOST_VALUES {
            let why = format!("this message has more than {MOST_VALUES} values, and no more are taken in");
            return Heard::Refused { id: scan.id().into(), code: INVALID_REQUEST, why };
        }
    }
    match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(text) {
        Ok(message) => {
            if let JsonRpcMessage::Request(request) = &message
                && let ClientRequest::CustomRequest(custom) = &request.request
                && KNOWN.contains(&custom.method.as_str())
            {
                return wrong_params(json!(request.id), &custom.method);
            }
            Heard::Message(Box::new(message), line.len())
        }
        Err(_) => refused(text),
    }
}

/// The error for a line that is not a valid message.
fn refused(text: &[u8]) -> Heard {
    let value = match serde_json::from_slice::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            let mut scan = Scan::default();
            scan.feed(text);
            return Heard::Refused { id: scan.id().into(), code: PARSE_ERROR, why: format!("no JSON: {error}") };
        }
    };
    let no_request = |id: Value, why: &str| Heard::Refused { id, code: INVALID_REQUEST, why: why.to_owned() };
    let Value::Object(fields) = value else { return no_request(Value::Null, "a message is a JSON object") };
    let method = fields.get("method").and_then(Value::as_str);
    match (fields.get("id"), method) {
        // A malformed response. If a request of the server waits for it, that ends by its time limit.
        (Some(_), None) if fields.contains_key("result") || fields.contains_key("error") => Heard::Nothing,
        // Notifications get no answer.
        (None, Some(_)) => Heard::Nothing,
        (Some(id), Some(method)) if is_id(id) && fields.get("jsonrpc").is_some_and(|version| version == "2.0") => {
            wrong_params(id.clone(), method)
        }
        (Some(id), _) if is_id(id) => {
            no_request(id.clone(), r#"a request has "jsonrpc": "2.0", an id and the name of a method"#)
        }
        (Some(_), _) => no_request(Value::Null, "an id is a text or a whole number"),
        (None, None) => no_request(Value::Null, r#"a request has "jsonrpc": "2.0", an id and the name of a method"#),
    }
}

fn wrong_params(id: Value, method: &str) -> Heard {
    let why = match method {
        "tools/call" => {
            r#"the params of tools/call are like {"name": "read", "arguments": {"mode": "file", "target": "README.md"}}"#
                .to_owned()
        }
        _ => format!("the params do not fit {}", method.chars().take(60).collect::<String>()),
    };
    Heard::Refused { id, code: INVALID_PARAMS, why }
}
