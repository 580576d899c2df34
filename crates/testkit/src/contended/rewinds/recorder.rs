//! Every byte of a workspace at a moment, and who changed which file when: an own walk and own copies.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

use crate::world::Broken;

/// What has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    File { bytes: Vec<u8>, executable: bool },
    Link(String),
}

impl Thing {
    /// The lines of a text; nothing of anything else.
    pub(super) fn lines(&self) -> Vec<&str> {
        match self {
            Self::File { bytes, .. } => str::from_utf8(bytes).unwrap_or_default().lines().collect(),
            Self::Link(_) => Vec::new(),
        }
    }

    pub(super) fn same_bytes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { bytes: one, .. }, Self::File { bytes: other, .. }) => one == other,
            (Self::Link(one), Self::Link(other)) => one == other,
            (Self::File { .. }, Self::Link(_)) | (Self::Link(_), Self::File { .. }) => false,
        }
    }
}

/// Everything in a workspace, by its name.
pub(super) type Snapshot = BTreeMap<String, Thing>;

/// Looks at everything that is there.
pub(super) fn look(root: &Path) -> Result<Snapshot, Broken> {
    let mut found = Snapshot::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| format!("{name:?}"))?;
            if folder.is_empty() && matches!(name.as_str(), ".git" | ".readproof") {
                continue;
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let about = fs::symlink_metadata(entry.path())?;
            if about.is_dir() {
                folders.push(path);
            } else if about.is_symlink() {
                found.insert(path, Thing::Link(fs::read_link(entry.path())?.display().to_string()));
            } else {
                let executable = about.permissions().mode() & 0o100 != 0;
                found.insert(path, Thing::File { bytes: fs::read(entry.path())?, executable });
            }
        }
    }
    Ok(found)
}

/// Who changed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// An agent, by the name of its conversation.
    Agent(&'static str),
    /// A person with a call.
    Person,
    Outside,
}

/// One change of one file.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) step: u64,
    pub(super) path: String,
    pub(super) who: Who,
    /// Lines that it added.
    pub(super) added: Vec<String>,
    /// Whether the product has looked at everything since.
    seen: bool,
    /// Whose call came before that.
    pub(super) taken: Option<Who>,
}

/// The recorder.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) now: Snapshot,
    pub(super) step: u64,
    pub(super) events: Vec<Event>,
}

impl Recorder {
    /// Takes in what one step changed.
    pub(super) fn take(&mut self, root: &Path, who: Who) -> Result<(), Broken> {
        let now = look(root)?;
        self.step += 1;
        for path in self.now.keys().chain(now.keys()) {
            let is_new = || !self.events.iter().rev().any(|event| event.step == self.step && event.path == *path);
            if self.now.get(path) != now.get(path) && is_new() {
                let before = self.now.get(path).map(Thing::lines).unwrap_or_default();
                let after = now.get(path).map(Thing::lines).unwrap_or_default();
                let added = after.into_iter().filter(|line| !before.contains(line)).map(str::to_owned).collect();
                if who != Who::Outside {
                    let of_path = |event: &&mut Event| event.path == *path && event.who == Who::Outside && !event.seen;
                    self.events.iter_mut().filter(of_path).for_each(|event| event.taken = event.taken.or(Some(who)));
                }
                let (step, path, seen) = (self.step, path.clone(), who != Who::Outside);
                self.events.push(Event { step, path, who, added, seen, taken: None });
            }
        }
        self.now = now;
        Ok(())
    }

    /// Everything was looked at.
    pub(super) fn looked(&mut self) {
        self.events.iter_mut().for_each(|event| event.seen = true);
    }

    /// Who changed a file after a step.
    pub(super) fn changers(&self, path: &str, since: u64) -> impl Iterator<Item = Who> {
        self.events.iter().filter(move |event| event.step > since && event.path == path).map(|event| event.who)
    }
}
