//! Notes what every file is at a moment: an own walk and own copies. Knows by itself which files count: those whose names do not
//! begin with a dot, and that the one ignore file of these workspaces does not name. Shares no code with the product.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::Path,
};

/// What the ignore file of these workspaces says.
pub(super) const IGNORED: &str = "*.log\nbuild/\n";

/// What a file is at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    Text(Vec<u8>),
    /// It is there, and no text of it is kept, because it is none.
    NotKept,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::NotKept => f.write_str("not kept"),
            Self::Text(bytes) => write!(f, "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(200)])),
        }
    }
}

/// All files at a moment.
pub(super) type Tree = BTreeMap<String, State>;

/// What was noted.
#[derive(Debug, Default)]
pub(super) struct Observer {
    pub(super) moments: u64,
    /// The states of each file in their order, none twice in a row.
    pub(super) states: BTreeMap<String, Vec<State>>,
    last: Tree,
}

impl Observer {
    /// Notes every file as it is.
    pub(super) fn note(&mut self, top: &Path) -> io::Result<&Tree> {
        let mut now = Tree::new();
        walk(top, "", &mut now)?;
        let names: BTreeSet<&String> = self.last.keys().chain(now.keys()).collect();
        for name in names {
            let state = now.get(name).cloned().unwrap_or(State::Absent);
            let states = self.states.entry(name.clone()).or_default();
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
        self.moments += 1;
        self.last = now;
        Ok(&self.last)
    }
}

fn walk(folder: &Path, prefix: &str, into: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_folder = entry.file_type()?.is_dir();
        if name.starts_with('.') || name.ends_with(".log") || (is_folder && name == "build") {
            continue;
        }
        let path = format!("{prefix}{name}");
        if is_folder {
            walk(&entry.path(), &format!("{path}/"), into)?;
        } else if entry.file_type()?.is_file() {
            into.insert(path, state_of(&entry.path()));
        }
    }
    Ok(())
}

/// What a file is.
pub(super) fn state_of(path: &Path) -> State {
    match fs::read(path) {
        Ok(bytes) if bytes.contains(&0) || std::str::from_utf8(&bytes).is_err() => State::NotKept,
        Ok(bytes) => State::Text(bytes),
        Err(_) => State::Absent,
    }
}
