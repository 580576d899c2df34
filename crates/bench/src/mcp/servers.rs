//! The servers: how each is started on a folder, and which call reads a file.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{Broken, programs};

pub(super) struct Server {
    pub(super) name: &'static str,
    program: PathBuf,
    /// Its arguments; the folder comes last.
    words: Vec<OsString>,
    pub(super) tool: &'static str,
    /// The tool arguments that read a whole file.
    pub(super) read: fn(&Path, &str) -> Value,
    /// Whether answers carry a handle.
    handles: bool,
}

/// Ours, with handles enabled.
pub(super) fn ours() -> Result<Server, Broken> {
    let program =
        programs::beside_us().filter(|path| path.is_file()).ok_or("there is no `readproof` beside the bench")?;
    Ok(Server {
        name: "readproof",
        program,
        words: ["mcp", "--set", "handles=always", "--set", "handle_bytes=40000", "--workspace"]
            .map(OsString::from)
            .into(),
        tool: "read",
        read: |_, name| json!({ "mode": "file", "target": name }),
        handles: true,
    })
}

/// `rust-mcp-filesystem` from crates.io.
pub(super) fn rust(program: PathBuf) -> Server {
    Server {
        name: "rust-mcp-filesystem",
        program,
        words: Vec::new(),
        tool: "read_text_file",
        read: by_full_path,
        handles: false,
    }
}

/// The official `server-filesystem`, which runs on Node.
pub(super) fn official(node: PathBuf, script: PathBuf) -> Server {
    Server {
        name: "server-filesystem",
        program: node,
        words: vec![script.into()],
        tool: "read_text_file",
        read: by_full_path,
        handles: false,
    }
}

fn by_full_path(folder: &Path, name: &str) -> Value {
    json!({ "path": folder.join(name) })
}

impl Server {
    /// The command that starts it on a folder.
    pub(super) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        let state = std::env::temp_dir().join(format!("readproof-tests-{}", readproof_disk::user_id()));
        command.args(&self.words).arg(folder).current_dir(folder).env("READPROOF_STATE_DIR", state);
        command
    }

    /// The handle that the next read of the same file may pass back.
    pub(super) fn handle(&self, result: &Value) -> Result<Option<String>, Broken> {
        if !self.handles {
            return Ok(None);
        }
        let handle = result["_meta"]["readproof/contract"]["meta"]["handle"].as_str();
        Ok(Some(handle.ok_or("an answer came without a handle")?.to_owned()))
    }
}

#[cfg(test)]
pub(super) fn named(name: &'static str) -> Server {
    Server { name, ..rust(PathBuf::new()) }
}
