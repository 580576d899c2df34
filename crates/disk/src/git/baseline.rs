//! Git's versions of a file: in the commit that is checked out, and in the index.

use std::os::unix::ffi::OsStrExt;
use std::{fs, path::Path};

use gix::{
    ObjectId,
    index::entry::{Flags, Mode},
    objs::{Kind, tree::EntryKind},
};

use super::{Baseline, GitError, Kept, StandsIn, clean::Attributes, index::Index, look::most, mode, open::Found};
use crate::snapshot::spelling::{on_disk, spelt};

/// The most symbolic references between `HEAD` and a commit, as in git.
const MOST_STEPS: usize = 5;

/// The most folders of a commit that are searched for the old name of a file.
const MOST_TREES: usize = 2_000;

/// The most bytes of such folders.
const MOST_BYTES: usize = 64 << 20;

/// The most names of one object that are considered.
const MOST_NAMES: usize = 1_000;

/// An entry of a tree or of the index.
pub(super) type Entry = (EntryKind, ObjectId);

/// The commit that is checked out.
pub(super) struct Head {
    pub(super) commit: ObjectId,
    pub(super) tree: ObjectId,
}

/// The index's entries for a file.
pub(super) enum Staged {
    No,
    /// Only its name: `git add --intent-to-add`.
    Intended,
    /// The versions of a merge. Git compares with "ours", if there is one.
    Conflict {
        ours: Option<ObjectId>,
    },
    One {
        entry: Entry,
        flags: Flags,
    },
}

impl Staged {
    /// The staged version.
    pub(super) fn entry(&self) -> Option<Entry> {
        match self {
            Self::One { entry, .. } => Some(*entry),
            Self::No | Self::Intended | Self::Conflict { .. } => None,
        }
    }

    /// Why git uses the index's version instead of the working file, if it does.
    pub(super) fn stands_in(&self, missing: bool, sparse: bool) -> Option<StandsIn> {
        let Self::One { flags, .. } = self else { return None };
        if flags.contains(Flags::SKIP_WORKTREE) && (missing || !sparse) {
            return Some(StandsIn::SkipWorktree);
        }
        flags.contains(Flags::ASSUME_VALID).then_some(StandsIn::AssumedUnchanged)
    }
}

impl Found<'_> {
    /// `None` before the first commit.
    pub(super) fn head(&self) -> Result<Option<Head>, GitError> {
        let Some(mut id) = self.tip()? else { return Ok(None) };
        for _ in 0..=MOST_STEPS {
            let too_large = |len| self.place.too_large("a commit or tag", len, most::COMMIT);
            let object = self.object(id, most::COMMIT, too_large)?;
            match object.kind {
                Kind::Commit => {
                    let (commit, found) = (object.id, object.try_into_commit().map_err(|_| self.broken("HEAD"))?);
                    let tree = found.tree_id().map_err(|_| self.broken("HEAD"))?.detach();
                    return Ok(Some(Head { commit, tree }));
                }
                Kind::Tag => {
                    let tag = object.try_into_tag().map_err(|_| self.broken("HEAD"))?;
                    id = tag.target_id().map_err(|_| self.broken("HEAD"))?.detach();
                }
                Kind::Tree | Kind::Blob => return Err(self.place.broken("HEAD", "it leads to no commit")),
            }
        }
        Err(self.place.broken("HEAD", "it leads through too many tags"))
    }

    /// The object that `HEAD` leads to, through symbolic references; `None` if the last one does not exist yet. Each file is
    /// read here and not by gix, which would open it whatever it is.
    fn tip(&self) -> Result<Option<ObjectId>, GitError> {
        let mut path = self.place.private.join("HEAD");
        let mut name: Option<String> = None;
        for _ in 0..=MOST_STEPS {
            self.go_on()?;
            // A folder: longer reference names begin like this one.
            let is_folder = || fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            let line = if name.is_some() && is_folder() { None } else { self.place.line(&path)? };
            let Some(line) = line else {
                return name.map_or(Ok(None), |name| self.packed(&name));
            };
            let Some(next) = line.strip_prefix("ref:").map(str::trim) else {
                let id = line.split_ascii_whitespace().next().unwrap_or_default();
                let id = ObjectId::from_hex(id.as_bytes()).ok().filter(|id| id.kind() == self.repo.object_hash());
                return id.map(Some).ok_or_else(|| self.place.malformed(&path));
            };
            let valid = next.starts_with("refs/") && gix::validate::reference::name(next.into()).is_ok();
            if !valid {
                return Err(self.place.malformed(&path));
            }
            let of_work_tree =
                ["refs/bisect/", "refs/worktree/", "refs/rewritten/"].iter().any(|start| next.starts_with(start));
            let base = if of_work_tree { &self.place.private } else { &self.place.common };
            let below = Path::new(next);
            path = base.join(below);
            name = Some(next.to_owned());
            if self.place.way(base, below.parent().unwrap_or(below))?.is_none() {
                return self.packed(next);
            }
        }
        Err(self.place.broken("HEAD", "it leads through too many names"))
    }

    /// A branch without a file of its own: it is in `packed-refs`.
    fn packed(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let fail = || self.broken("`.git/packed-refs`");
        let Some(packed) = self.repo.refs.cached_packed_buffer().map_err(|_| fail())? else { return Ok(None) };
        let found = packed.try_find(name).map_err(|_| fail())?;
        Ok(found.map(|found| found.target()))
    }

    fn missing(&self, id: ObjectId) -> GitError {
        GitError::MissingObject { name: self.key.clone(), id: id.to_string() }
    }

    /// The entry of a tree with this name.
    pub(super) fn in_tree(&self, tree: ObjectId, name: &str) -> Result<Option<Entry>, GitError> {
        let mut at = tree;
        let mut parts = name.split('/').peekable();
        while let Some(part) = parts.next() {
            let Some((kind, id)) = self.in_folder(at, part)? else { return Ok(None) };
            if parts.peek().is_none() {
                return Ok(Some((kind, id)).filter(|_| kind != EntryKind::Tree));
            }
            if kind != EntryKind::Tree {
                return Ok(None);
            }
            at = id;
        }
        Ok(None)
    }

    fn in_folder(&self, tree: ObjectId, name: &str) -> Result<Option<Entry>, GitError> {
        let tree = self.tree(tree)?;
        let found = tree.find_entry(on_disk(name).as_bytes()).map(|entry| (entry.mode().kind(), entry.object_id()));
        Ok(found)
    }

    fn tree(&self, id: ObjectId) -> Result<gix::Tree<'_>, GitError> {
        let too_large = |len| self.place.too_large("a tree", len, most::TREE);
        let tree = self.object(id, most::TREE, too_large)?.try_into_tree().map_err(|_| self.broken("a tree"))?;
        // A tree that does not decode would look like a folder without this name.
        tree.decode().map_err(|_| self.broken("a tree"))?;
        Ok(tree)
    }

    /// The bytes of an object, if it has at most this many.
    pub(super) fn bytes_of(&self, id: ObjectId, max: u64) -> Result<Vec<u8>, GitError> {
        let too_large = |len| self.place.too_large("a version of a file", len, max);
        Ok(self.object(id, max, too_large)?.detach().data)
    }

    /// An object of at most this size, by the size in its header, before it is inflated.
    fn object(&self, id: ObjectId, max: u64, too_large: impl Fn(u64) -> GitError) -> Result<gix::Object<'_>, GitError> {
        self.go_on()?;
        self.look_at_loose(id)?;
        let fail = || self.broken("an object");
        let header = self.repo.try_find_header(id).map_err(|_| fail())?.ok_or_else(|| self.missing(id))?;
        if header.size() > max {
            return Err(too_large(header.size()));
        }
        self.repo.try_find_object(id).map_err(|_| fail())?.ok_or_else(|| self.missing(id))
    }

    /// Checks that a loose object, and one that replaces it, may be opened.
    fn look_at_loose(&self, id: ObjectId) -> Result<(), GitError> {
        let replaced = self.repo.objects.store_ref().replacements().find(|(from, _)| *from == id);
        for id in [Some(id), replaced.map(|(_, to)| to)].into_iter().flatten() {
            let hex = id.to_string();
            let (folder, rest) = hex.split_at(2);
            for database in &self.databases {
                let folder = database.join(folder);
                if self.place.folder(&folder)?.is_some() {
                    self.place.file(&folder.join(rest), most::OBJECT)?;
                }
            }
        }
        Ok(())
    }

    /// The index's entries with this name.
    pub(super) fn staged(&self, index: &Index, path: &str) -> Result<Staged, GitError> {
        if let Some(entry) = index.at_stage(path, 0) {
            if entry.flags.contains(Flags::INTENT_TO_ADD) {
                return Ok(Staged::Intended);
            }
            let kind = kind(entry.mode).ok_or_else(|| self.broken("the index"))?;
            return Ok(Staged::One { entry: (kind, entry.id), flags: entry.flags });
        }
        if (1..=3).any(|stage| index.at_stage(path, stage).is_some()) {
            return Ok(Staged::Conflict { ours: index.at_stage(path, 2).map(|entry| entry.id) });
        }
        self.staged_in_folder(index, path)
    }

    /// A sparse index has one entry for a whole folder that is not checked out.
    fn staged_in_folder(&self, index: &Index, path: &str) -> Result<Staged, GitError> {
        for (at, _) in path.match_indices('/') {
            let (folder, rest) = path.split_at(at + 1);
            if let Some(entry) = index.at_stage(folder, 0).filter(|entry| entry.mode.is_sparse()) {
                let found = self.in_tree(entry.id, rest)?;
                let flags = Flags::SKIP_WORKTREE;
                return Ok(found.map_or(Staged::No, |entry| Staged::One { entry, flags }));
            }
        }
        Ok(Staged::No)
    }

    /// The bytes of a version; `None` for anything but a file.
    pub(super) fn kept(
        &self,
        kind: EntryKind,
        id: ObjectId,
        max: u64,
        attributes: &Attributes,
    ) -> Result<Option<Kept>, GitError> {
        let Some(mode) = mode(kind) else { return Ok(None) };
        Ok(Some(self.version(mode, self.blob(id, max)?, Some(id), attributes)))
    }

    fn blob(&self, id: ObjectId, max: u64) -> Result<Vec<u8>, GitError> {
        let too_large = |len| GitError::TooLarge { name: self.key.clone(), len, max };
        let mut found = self.object(id, max, too_large)?;
        if found.kind != Kind::Blob {
            return Err(self.place.broken("an object", "it is not a blob"));
        }
        Ok(std::mem::take(&mut found.data))
    }

    /// The index's bytes, for the rule that a file with CRs in the index keeps them.
    pub(super) fn staged_bytes(&self, staged: &Staged, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        let id = match staged {
            Staged::One { entry: (kind, id), .. } if mode(*kind).is_some() => Some(*id),
            Staged::Conflict { ours } => *ours,
            Staged::One { .. } | Staged::No | Staged::Intended => None,
        };
        id.map(|id| self.blob(id, max)).transpose()
    }

    /// A file that was committed or staged with these bytes and is gone: perhaps this file's old name.
    pub(super) fn renamed_from(
        &self,
        kept: &Kept,
        head: Option<&Head>,
        baseline: Baseline,
    ) -> Result<Option<String>, GitError> {
        if kept.bytes.is_empty() {
            return Ok(None);
        }
        let id = gix::objs::compute_hash(self.repo.object_hash(), gix::objs::Kind::Blob, &kept.bytes);
        let id = id.map_err(|_| self.broken("the name of an object"))?;
        let mut names = self.staged_names(id)?;
        if let Some(head) = head.filter(|_| baseline == Baseline::Head) {
            self.names_of(id, head.tree, &mut names)?;
        }
        let gone = |name: &String| name != &self.name && self.is_gone(name);
        let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
        names.retain(|name| self.may_name(name));
        names.retain(gone);
        names.sort();
        // The same base name is more likely.
        let same = names.iter().position(|name| last(name) == last(&self.name));
        Ok(names.into_iter().nth(same.unwrap_or(0)))
    }

    /// Whether a name in the repository may be shown: one outside the workspace, or one that may be used there.
    fn may_name(&self, name: &str) -> bool {
        match (self.name.strip_suffix(&self.key), self.key.strip_suffix(&self.name)) {
            (Some(above), _) => name.strip_prefix(above).is_none_or(|name| self.root.may_use(name)),
            (None, Some(below)) => self.root.may_use(&format!("{below}{name}")),
            (None, None) => self.root.sight().is_none(),
        }
    }

    /// Whether the work tree has no file of this name. `false` if the name leads out.
    fn is_gone(&self, name: &str) -> bool {
        let path = on_disk(name);
        let path = Path::new(&path);
        let is_plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        let parent = path.parent().filter(|_| is_plain);
        parent.is_some_and(|parent| match self.place.way(&self.work_tree, parent) {
            Ok(Some(())) => fs::symlink_metadata(self.work_tree.join(path)).is_err(),
            Ok(None) => true,
            Err(_) => false,
        })
    }

    /// The regular files of a folder of a tree, by their names in that folder; `None` beyond the limits.
    pub(super) fn files_of(&self, tree: ObjectId, most: usize) -> Result<Option<Vec<(String, ObjectId)>>, GitError> {
        let (mut files, mut folders) = (Vec::new(), vec![(String::new(), tree)]);
        let mut bytes = 0;
        while let Some((folder, id)) = folders.pop() {
            let tree = self.tree(id)?;
            bytes += tree.data.len();
            for entry in tree.decode().map_err(|_| self.broken("a tree"))?.entries {
                let Some(name) = spelt(entry.filename) else { continue };
                let name = format!("{folder}{name}");
                match entry.mode.kind() {
                    EntryKind::Tree => folders.push((format!("{name}/"), entry.oid.to_owned())),
                    EntryKind::Blob | EntryKind::BlobExecutable => files.push((name, entry.oid.to_owned())),
                    EntryKind::Link | EntryKind::Commit => {}
                }
            }
            // The same folder may occur any number of times.
            if files.len() + folders.len() > most || bytes > MOST_BYTES {
                return Ok(None);
            }
        }
        Ok(Some(files))
    }

    /// The entry of a tree that is a folder.
    pub(super) fn folder_of(&self, tree: ObjectId, folder: &str) -> Result<Option<ObjectId>, GitError> {
        let mut at = tree;
        for part in folder.split('/').filter(|part| !part.is_empty()) {
            match self.in_folder(at, part)? {
                Some((EntryKind::Tree, id)) => at = id,
                Some(_) | None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The names of a blob in a tree, up to the limits: the same folder may occur any number of times.
    fn names_of(&self, blob: ObjectId, tree: ObjectId, names: &mut Vec<String>) -> Result<(), GitError> {
        let mut folders = vec![(String::new(), tree)];
        let (mut looked_at, mut bytes) = (0, 0);
        while let Some((folder, id)) = folders.pop() {
            let tree = self.tree(id)?;
            (looked_at, bytes) = (looked_at + 1, bytes + tree.data.len());
            if looked_at > MOST_TREES || bytes > MOST_BYTES {
                break;
            }
            for entry in tree.decode().map_err(|_| self.broken("a tree"))?.entries {
                let is_tree = entry.mode.kind() == EntryKind::Tree;
                let (wanted, room) = if is_tree {
                    (true, folders.len() < MOST_TREES)
                } else {
                    (entry.oid == blob, names.len() < MOST_NAMES)
                };
                let Some(name) = spelt(entry.filename).filter(|_| wanted && room) else { continue };
                let name = format!("{folder}{name}");
                if is_tree {
                    folders.push((format!("{name}/"), entry.oid.to_owned()));
                } else {
                    names.push(name);
                }
            }
        }
        Ok(())
    }
}

/// `None` for a mode that an index cannot have.
fn kind(mode: Mode) -> Option<EntryKind> {
    mode.to_tree_entry_mode().map(|mode| mode.kind())
}
