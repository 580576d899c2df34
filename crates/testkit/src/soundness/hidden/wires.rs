//! The same calls over the wires: the command line, `readproof mcp` and `readproof pi`. What each process prints must be the
//! same to the byte.

use readproof_core::operation::{
    Against, Change, CompareVersions, End, Extent, Hidden, List, ListSymbols, Matching, Operation, Patch, Read,
    ReadEnd, ReadSymbol, Search, SearchFile, Write,
};
use readproof_engine::encoded_operation;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use crate::{load::attacks::server::Server, state_dir, world::Broken};

/// A way to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Cli,
    /// With the tools that are listed unless others are named.
    Mcp,
    /// With every tool listed.
    McpAll,
    Pi,
}

/// A call that must be answered.
const PATIENCE: Duration = Duration::from_secs(60);

impl Wire {
    pub(super) const ALL: [Self; 4] = [Self::Cli, Self::Mcp, Self::McpAll, Self::Pi];

    /// The name of its surface.
    pub(super) fn surface(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Mcp | Self::McpAll => "mcp",
            Self::Pi => "pi",
        }
    }

    /// Starts what serves it.
    pub(super) fn open(self, binary: &Path, root: &Path) -> Result<Line, Broken> {
        let server = match self {
            Self::Cli => None,
            Self::Mcp => Some(Server::mcp(binary, &[], root, PATIENCE)?),
            Self::McpAll => Some(Server::mcp(binary, &["--tools", "all"], root, PATIENCE)?),
            Self::Pi => {
                let mut server = Server::start(binary, &["pi"], root, PATIENCE)?;
                server.ask(json!({"op": "hello", "protocol": 2}))?;
                server.line()?;
                Some(server)
            }
        };
        Ok(Line { wire: self, server, binary: binary.to_path_buf(), root: root.to_path_buf() })
    }
}

/// A program that answers.
pub(super) struct Line {
    wire: Wire,
    server: Option<Server>,
    binary: std::path::PathBuf,
    root: std::path::PathBuf,
}

impl Line {
    /// What comes back; `None` if the wire has no such call.
    pub(super) fn call(&mut self, operation: &Operation, plain: bool) -> Result<Option<String>, Broken> {
        let Some(server) = &mut self.server else { return self.command(operation, plain) };
        let message = match self.wire {
            Wire::Pi => pi(operation, &self.root),
            Wire::Cli | Wire::Mcp | Wire::McpAll => tool(operation, plain).map(|(name, arguments)| {
                let params = json!({"name": name, "arguments": arguments});
                json!({"jsonrpc": "2.0", "method": "tools/call", "params": params})
            }),
        };
        let Some(message) = message else { return Ok(None) };
        let id = server.ask(message)?;
        // Notifications may come in between, at any time.
        loop {
            let line = server.line()?;
            let mut answer = serde_json::from_str::<Value>(&line)?;
            if answer["id"] != id {
                continue;
            }
            // Has the random number of a log, and depends on how far the watch is.
            let moment = answer.pointer_mut("/readcache").and_then(Value::as_object_mut);
            let _ = moment.and_then(|meta| meta.remove("moment"));
            return Ok(Some(if self.wire == Wire::Pi { answer.to_string() } else { line }));
        }
    }

    fn command(&self, operation: &Operation, plain: bool) -> Result<Option<String>, Broken> {
        let Some((words, input)) = words(operation) else { return Ok(None) };
        let mut command = Command::new(&self.binary);
        command.args(&words).args((!plain).then_some("--json")).current_dir(&self.root).env_clear();
        command.env("READPROOF_WORKSPACE", &self.root).env("READPROOF_STATE_DIR", state_dir());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        // A refused call need not read it.
        let _ = child.stdin.take().ok_or("no input")?.write_all(input.as_bytes());
        let output = child.wait_with_output()?;
        let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(Some(format!("{words:?}\n{}\n{out}\n{err}", output.status)))
    }
}

fn pi(operation: &Operation, root: &Path) -> Option<Value> {
    let header = json!({"type": "session", "version": 3, "id": "s", "cwd": root});
    match operation {
        Operation::Read(Read { path, offset, limit, .. }) => {
            Some(json!({"op": "read", "header": header, "leaf": null, "path": path, "offset": offset, "limit": limit}))
        }
        Operation::Refresh(refresh) => {
            Some(json!({"op": "refresh", "header": header, "leaf": null, "path": refresh.path}))
        }
        // Of these calls pi has no others; what they name is read.
        Operation::Stat { path } => Some(json!({"op": "read", "header": header, "leaf": null, "path": path})),
        Operation::Outline(outline) => {
            Some(json!({"op": "read", "header": header, "leaf": null, "path": outline.path}))
        }
        Operation::Compare(compare) => {
            Some(json!({"op": "read", "header": header, "leaf": null, "path": compare.path, "fresh": true}))
        }
        Operation::Status => Some(json!({"op": "status", "header": header, "leaf": null})),
        Operation::ReadSymbol(_)
        | Operation::ReadEnd(_)
        | Operation::SearchFile(_)
        | Operation::Search(_)
        | Operation::ListSymbols(_)
        | Operation::List(_)
        | Operation::Write(_)
        | Operation::Patch(_)
        | Operation::CompareVersions(_)
        | Operation::ListFiles(_)
        | Operation::History(_)
        | Operation::ShowVersion(_)
        | Operation::Blame(_)
        | Operation::Changes(_)
        | Operation::Tell
        | Operation::Context
        | Operation::Checkpoint { .. }
        | Operation::Rewind(_)
        | Operation::ListConflicts { .. }
        | Operation::ShowConflict { .. }
        | Operation::ShowSession
        | Operation::Held { .. }
        | Operation::Replay
        | Operation::Propose { .. }
        | Operation::Resolve { .. }
        | Operation::ListSessions
        | Operation::Branch { .. }
        | Operation::Switch { .. }
        | Operation::Fork { .. }
        | Operation::Compact { .. }
        | Operation::EditContext { .. }
        | Operation::Distrust { .. }
        | Operation::Collect(_)
        | Operation::Forget(_)
        | Operation::ListApprovals { .. }
        | Operation::ShowApproval { .. }
        | Operation::Decide { .. }
        | Operation::CheckPolicy { .. }
        | Operation::ListPolicy
        | Operation::Doctor => None,
    }
}

fn tool(operation: &Operation, unified: bool) -> Option<(&'static str, Value)> {
    let (name, arguments) = match operation {
        Operation::Read(Read { path, offset, limit, .. }) if unified => {
            ("read", json!({"path": path, "start_line": offset, "limit": limit}))
        }
        Operation::Read(Read { path, offset: Some(first), limit, .. }) => {
            ("read_lines", json!({"filepath": path, "start": first, "end": first + limit.unwrap_or(1)}))
        }
        Operation::Read(Read { path, .. }) => ("read_file", json!({"path": path})),
        Operation::ReadEnd(end) => {
            let name = if end.end == End::Head { "read_file_head" } else { "read_file_tail" };
            (name, json!({"path": end.path, "max_lines": end.lines}))
        }
        Operation::Stat { path } if unified => ("read", json!({"mode": "snippet", "path": path, "query": "load"})),
        Operation::Stat { path } => ("stat_file", json!({"path": path})),
        Operation::SearchFile(SearchFile { path, query, matching, .. }) => {
            let is_regex = *matching == Matching::Regex;
            ("search_in_file", json!({"path": path, "query": query, "is_regex": is_regex}))
        }
        Operation::Search(search) => ("search", searched(search)),
        Operation::ListSymbols(ListSymbols { query, path, glob, kind, limit }) => {
            let query = query.as_deref().unwrap_or("load");
            let arguments =
                json!({"query": query, "mode": "symbol", "path": path, "glob": glob, "kind": kind, "limit": limit});
            ("search", arguments)
        }
        Operation::ReadSymbol(ReadSymbol { target, path, .. }) => {
            ("read", json!({"mode": "symbol", "target": target, "path": path}))
        }
        Operation::Outline(outline) => ("outline", json!({"path": outline.path})),
        Operation::List(List { extent: Extent { path, glob, hidden, ignored }, depth, limit }) => {
            let hidden = *hidden == Hidden::All;
            let arguments = json!({"path": path, "glob": glob, "depth": depth, "limit": limit, "hidden": hidden,
                "ignored": ignored});
            ("list", arguments)
        }
        Operation::Compare(compare) if compare.against != Against::WorkTree => {
            ("read", json!({"mode": "diff_preview", "target": compare.path, "against": compare.against.as_str()}))
        }
        Operation::Write(write) => change(write),
        Operation::Patch(Patch { patch, .. }) => ("apply_patch", json!({"patch": patch})),
        Operation::CompareVersions(compare) => versions(compare),
        Operation::ShowVersion(show) => ("show_version", json!({"version": show.version, "filepath": show.path})),
        Operation::Status => ("readcache_status", json!({})),
        Operation::Refresh(refresh) => ("readcache_refresh", json!({"path": refresh.path})),
        // Their answers tell times, which differ; the door compares them.
        Operation::Compare(_)
        | Operation::ListFiles(_)
        | Operation::History(_)
        | Operation::Blame(_)
        | Operation::Changes(_)
        | Operation::Tell
        | Operation::Context
        | Operation::Checkpoint { .. }
        | Operation::Rewind(_)
        | Operation::ListConflicts { .. }
        | Operation::ShowConflict { .. }
        | Operation::ShowSession
        | Operation::Held { .. }
        | Operation::Replay
        | Operation::Propose { .. }
        | Operation::Resolve { .. }
        | Operation::ListSessions
        | Operation::Branch { .. }
        | Operation::Switch { .. }
        | Operation::Fork { .. }
        | Operation::Compact { .. }
        | Operation::EditContext { .. }
        | Operation::Distrust { .. }
        | Operation::Collect(_)
        | Operation::Forget(_)
        | Operation::ListApprovals { .. }
        | Operation::ShowApproval { .. }
        | Operation::Decide { .. }
        | Operation::CheckPolicy { .. }
        | Operation::ListPolicy
        | Operation::Doctor => return None,
    };
    Some((name, without_nulls(arguments)))
}

fn searched(Search { query, mode, extent, limit, .. }: &Search) -> Value {
    let Extent { path, glob, hidden, ignored } = extent;
    let hidden = *hidden == Hidden::All;
    json!({"query": query, "mode": mode.as_str(), "path": path, "glob": glob, "limit": limit, "hidden": hidden,
        "ignored": ignored})
}

fn versions(CompareVersions { path, from, to, .. }: &CompareVersions) -> (&'static str, Value) {
    ("get_diff", json!({"filepath": path, "version1": from, "version2": to}))
}

fn change(write: &Write) -> (&'static str, Value) {
    let path = &write.path;
    match &write.change {
        Change::Whole(text) => ("write_file", json!({"filepath": path, "content": text, "mode": "truncate"})),
        Change::Create(text) => ("write_file", json!({"filepath": path, "content": text, "mode": "create"})),
        Change::Append(text) => ("write_file", json!({"filepath": path, "content": text, "mode": "append"})),
        Change::Replace { old, new, .. } => ("edit", json!({"path": path, "old": old, "new": new})),
        Change::Edit(pieces) => {
            let edits: Vec<Value> = pieces.iter().map(|piece| json!({"old": piece.old, "new": piece.new})).collect();
            ("edit", json!({"path": path, "edits": edits}))
        }
        Change::Delete => ("delete_file", json!({"filepath": path})),
        Change::Move { to } => ("move_file", json!({"filepath": path, "to": to})),
    }
}

fn without_nulls(mut arguments: Value) -> Value {
    if let Some(fields) = arguments.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    arguments
}

fn compared(path: &str, from: Option<&str>) -> Vec<String> {
    vec!["diff".to_owned(), path.to_owned(), format!("--version={}", from.unwrap_or_default())]
}

/// The words of a command, and its input.
fn words(operation: &Operation) -> Option<(Vec<String>, String)> {
    let mut input = String::new();
    let list = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let given = |name: &str, value: Option<String>| -> Vec<String> {
        value.map_or_else(Vec::new, |value| vec![format!("--{name}={value}")])
    };
    let words = match operation {
        Operation::Read(Read { path, offset, limit, .. }) => {
            let number = |name, number: &Option<u64>| given(name, number.map(|number| number.to_string()));
            [list(&["read", path, "--session=s"]), number("offset", offset), number("limit", limit)].concat()
        }
        // The same calls as another machine makes them.
        Operation::ReadEnd(ReadEnd { end: End::Tail, .. }) | Operation::Blame(_) => {
            list(&["query", &encoded(operation)])
        }
        Operation::ReadEnd(ReadEnd { path, lines, .. }) => list(&["head", path, "-n", &lines.to_string()]),
        Operation::Stat { path } => list(&["stat", path]),
        Operation::SearchFile(search) => list(&["grep", &search.query, &search.path]),
        Operation::Search(search) => [
            list(&["search", &search.query, search.extent.path.as_deref().unwrap_or(".")]),
            given("mode", Some(search.mode.as_str().to_owned())),
            extent(&search.extent),
            given("limit", search.limit.map(|number| number.to_string())),
        ]
        .concat(),
        Operation::ListSymbols(ListSymbols { query, path, limit, .. }) => [
            list(&["symbols", query.as_deref().unwrap_or("load"), path.as_deref().unwrap_or(".")]),
            given("limit", limit.map(|number| number.to_string())),
        ]
        .concat(),
        Operation::ReadSymbol(ReadSymbol { target, path, .. }) => {
            [list(&["read", target, "--mode=symbol"]), given("path-of-symbol", path.clone())].concat()
        }
        Operation::Outline(outline) => list(&["outline", &outline.path]),
        Operation::List(asked) => [
            list(&["list", asked.extent.path.as_deref().unwrap_or(".")]),
            extent(&asked.extent),
            given("limit", asked.limit.map(|number| number.to_string())),
        ]
        .concat(),
        Operation::Compare(compare) => list(&["diff", &compare.path, "--against", compare.against.as_str()]),
        Operation::Write(write) => return Some(command(write)),
        Operation::Patch(Patch { patch, .. }) => {
            input.clone_from(patch);
            list(&["patch", "-"])
        }
        Operation::CompareVersions(CompareVersions { path, from, .. }) => compared(path, from.as_deref()),
        Operation::ShowVersion(show) => [list(&["show", &show.version]), show.path.iter().cloned().collect()].concat(),
        Operation::ListConflicts { .. } => list(&["conflicts", "list"]),
        Operation::ShowConflict { id } => list(&["conflicts", "show", id]),
        Operation::Status => list(&["status", "--session=s"]),
        Operation::ShowSession => list(&["session", "show", "--session=s"]),
        Operation::Held { path } => [list(&["held", "--session=s"]), path.iter().cloned().collect()].concat(),
        Operation::Replay => list(&["replay"]),
        Operation::Refresh(refresh) => list(&["refresh", &refresh.path, "--session=s"]),
        Operation::Propose { .. }
        | Operation::ListFiles(_)
        | Operation::History(_)
        | Operation::Changes(_)
        | Operation::Tell
        | Operation::Context
        | Operation::Checkpoint { .. }
        | Operation::Rewind(_)
        | Operation::Resolve { .. }
        | Operation::ListSessions
        | Operation::Branch { .. }
        | Operation::Switch { .. }
        | Operation::Fork { .. }
        | Operation::Compact { .. }
        | Operation::EditContext { .. }
        | Operation::Distrust { .. }
        | Operation::Collect(_)
        | Operation::Forget(_)
        | Operation::ListApprovals { .. }
        | Operation::ShowApproval { .. }
        | Operation::Decide { .. }
        | Operation::CheckPolicy { .. }
        | Operation::ListPolicy
        | Operation::Doctor => return None,
    };
    Some((words, input))
}

fn encoded(operation: &Operation) -> String {
    let mut encoded = encoded_operation(operation);
    encoded.insert("op".to_owned(), operation.name().into());
    Value::Object(encoded).to_string()
}

fn extent(extent: &Extent) -> Vec<String> {
    let mut words: Vec<String> = extent.glob.iter().map(|glob| format!("--glob={glob}")).collect();
    match extent.hidden {
        Hidden::Tracked => {}
        Hidden::All => words.push("--hidden".to_owned()),
        Hidden::None => words.push("--no-hidden".to_owned()),
    }
    words.extend(extent.ignored.then(|| "--ignored".to_owned()));
    words
}

fn command(write: &Write) -> (Vec<String>, String) {
    let path = write.path.as_str();
    let (words, input): (Vec<&str>, &str) = match &write.change {
        Change::Whole(text) => (vec!["write", path, "--force"], text),
        Change::Create(text) => (vec!["write", path, "--create"], text),
        Change::Append(text) => (vec!["write", path, "--append"], text),
        Change::Replace { old, new, .. } => (vec!["edit", path, "--old", old, "--new", new], ""),
        Change::Edit(pieces) => {
            let piece = pieces.first().map_or(("", ""), |piece| (piece.old.as_str(), piece.new.as_str()));
            (vec!["edit", path, "--old", piece.0, "--new", piece.1], "")
        }
        Change::Delete => (vec!["delete", path, "--force"], ""),
        Change::Move { to } => (vec!["move", path, to], ""),
    };
    (words.into_iter().map(str::to_owned).collect(), input.to_owned())
}
