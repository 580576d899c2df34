//! What git has of a file: in the commit that is checked out, and in the index.

use std::{fs, io};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    index::entry::{Flags, Mode, Stage},
    objs::tree::EntryKind,
};

use super::{Baseline, GitError, Kept, StandsIn, clean::Attributes, mode, open::Found};

/// So many folders of a commit are looked at for the old name of a file.
const MOST_TREES: usize = 2_000;

/// An entry of a tree or of the index.
pub(super) type Entry = (EntryKind, ObjectId);

/// The commit that is checked out.
pub(super) struct Head {
    pub(super) commit: ObjectId,
    pub(super) tree: ObjectId,
}

/// What the index has of a file.
pub(super) enum Staged {
    No,
    /// Only its name.
    Intended,
    /// Several versions: those of a merge. Ours is what git looks at, if there is one.
    Conflict,
    One {
        entry: Entry,
        flags: Flags,
    },
}

impl Staged {
    /// The version that is staged.
    pub(super) fn entry(&self) -> Option<Entry> {
        match self {
            Self::One { entry, .. } => Some(*entry),
            Self::No | Self::Intended | Self::Conflict => None,
        }
    }

    /// Whether git takes the index's version for the working file.
    pub(super) fn stands_in(&self, missing: bool, sparse: bool) -> Option<StandsIn> {
        let Self::One { flags, .. } = self else { return None };
        if flags.contains(Flags::SKIP_WORKTREE) && (missing || !sparse) {
            return Some(StandsIn::SkipWorktree);
        }
        flags.contains(Flags::ASSUME_VALID).then_some(StandsIn::AssumedUnchanged)
    }
}

impl Found {
    /// `None` before the first commit.
    pub(super) fn head(&self) -> Result<Option<Head>, GitError> {
        let fail = |error: gix::Error| self.broken("HEAD", &error);
        let mut head = self.repo.head().map_err(fail)?;
        if head.is_unborn() {
            return Ok(None);
        }
        let commit = match head.id() {
            Some(id) => {
                let id = id.detach();
                self.repo.try_find_object(id).map_err(fail)?.ok_or_else(|| self.missing(id))?.peel_to_commit()
            }
            None => head.peel_to_commit(),
        };
        let commit = commit.map_err(fail)?;
        let tree = commit.tree_id().map_err(fail)?.detach();
        Ok(Some(Head { commit: commit.id, tree }))
    }

    /// The index as it is now; empty where there is none. Its own checksum is not looked at, as git does not; what cannot be
    /// decoded is an error all the same.
    pub(super) fn index(&self) -> Result<gix::index::File, GitError> {
        let (path, hash) = (self.repo.index_path(), self.repo.object_hash());
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(gix::index::File::from_state(gix::index::State::new(hash), path));
            }
            Ok(_) | Err(_) => {}
        }
        let found = gix::index::File::at(path, hash, true, gix::index::decode::Options::default());
        found.map_err(|error| self.broken("the index", &error))
    }

    fn missing(&self, id: ObjectId) -> GitError {
        GitError::MissingObject { name: self.key.clone(), id: id.to_string() }
    }

    /// What a tree has under a name.
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
        let found = tree.find_entry(name).map(|entry| (entry.mode().kind(), entry.object_id()));
        Ok(found)
    }

    fn tree(&self, id: ObjectId) -> Result<gix::Tree<'_>, GitError> {
        let fail = |error: gix::Error| self.broken("a tree", &error);
        let found = self.repo.try_find_object(id).map_err(fail)?.ok_or_else(|| self.missing(id))?;
        let tree = found.try_into_tree().map_err(|error| self.broken("a tree", &error))?;
        // What does not decode would look like a folder without this name.
        tree.decode().map_err(fail)?;
        Ok(tree)
    }

    /// What the index has under a name.
    pub(super) fn staged(&self, index: &gix::index::State, path: &str) -> Result<Staged, GitError> {
        let name = BStr::new(path);
        if let Some(entry) = index.entry_by_path_and_stage(name, Stage::Unconflicted) {
            if entry.flags.contains(Flags::INTENT_TO_ADD) {
                return Ok(Staged::Intended);
            }
            let kind = kind(entry.mode).ok_or_else(|| self.broken("the index", &"an entry of an unknown kind"))?;
            return Ok(Staged::One { entry: (kind, entry.id), flags: entry.flags });
        }
        let conflict = [Stage::Base, Stage::Ours, Stage::Theirs];
        if conflict.into_iter().any(|stage| index.entry_by_path_and_stage(name, stage).is_some()) {
            return Ok(Staged::Conflict);
        }
        self.staged_in_folder(index, path)
    }

    /// A sparse index has one entry for a whole folder that is not checked out.
    fn staged_in_folder(&self, index: &gix::index::State, path: &str) -> Result<Staged, GitError> {
        for (at, _) in path.match_indices('/') {
            let (folder, rest) = path.split_at(at + 1);
            let found = index.entry_by_path_and_stage(BStr::new(folder), Stage::Unconflicted);
            if let Some(entry) = found.filter(|entry| entry.mode.is_sparse()) {
                let found = self.in_tree(entry.id, rest)?;
                let flags = Flags::SKIP_WORKTREE;
                return Ok(found.map_or(Staged::No, |entry| Staged::One { entry, flags }));
            }
        }
        Ok(Staged::No)
    }

    /// The bytes of a version; `None` for what is no file.
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
        let fail = |error: gix::Error| self.broken("an object", &error);
        let header = self.repo.try_find_header(id).map_err(fail)?.ok_or_else(|| self.missing(id))?;
        if header.size() > max {
            return Err(GitError::TooLarge { name: self.key.clone(), len: header.size(), max });
        }
        let mut found = self.repo.try_find_object(id).map_err(fail)?.ok_or_else(|| self.missing(id))?;
        if found.kind != gix::objs::Kind::Blob {
            return Err(self.broken("an object", &format!("{id} is no blob")));
        }
        Ok(std::mem::take(&mut found.data))
    }

    /// The bytes that the index has, for the rule that a file with CRs in the index keeps them.
    pub(super) fn staged_bytes(&self, staged: &Staged) -> Result<Option<Vec<u8>>, GitError> {
        let id = match staged {
            Staged::One { entry: (kind, id), .. } if mode(*kind).is_some() => Some(*id),
            Staged::Conflict => {
                let index = self.index()?;
                index.entry_by_path_and_stage(BStr::new(&self.name), Stage::Ours).map(|entry| entry.id)
            }
            Staged::One { .. } | Staged::No | Staged::Intended => None,
        };
        id.map(|id| self.blob(id, u64::MAX)).transpose()
    }

    /// A file that was committed or staged with these bytes and is gone: perhaps the old name of this one.
    pub(super) fn renamed_from(
        &self,
        kept: &Kept,
        head: Option<&Head>,
        index: &gix::index::State,
        baseline: Baseline,
    ) -> Result<Option<String>, GitError> {
        if kept.bytes.is_empty() {
            return Ok(None);
        }
        let id = gix::objs::compute_hash(self.repo.object_hash(), gix::objs::Kind::Blob, &kept.bytes);
        let id = id.map_err(|error| self.broken("the name of an object", &error))?;
        let entries = index.entries().iter().filter(|entry| entry.id == id);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.path(index).to_str().ok().map(str::to_owned)).collect();
        if let Some(head) = head.filter(|_| baseline == Baseline::Head) {
            self.names_of(id, head.tree, &mut names)?;
        }
        let gone = |name: &String| name != &self.name && fs::symlink_metadata(self.work_tree.join(name)).is_err();
        let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
        names.retain(gone);
        names.sort();
        // The same last part is the likelier.
        let same = names.iter().position(|name| last(name) == last(&self.name));
        Ok(names.into_iter().nth(same.unwrap_or(0)))
    }

    /// Every name of a blob in a tree, as far as one looks.
    fn names_of(&self, blob: ObjectId, tree: ObjectId, names: &mut Vec<String>) -> Result<(), GitError> {
        let mut folders = vec![(String::new(), tree)];
        let mut looked_at = 0;
        while let Some((folder, id)) = folders.pop() {
            looked_at += 1;
            if looked_at > MOST_TREES {
                break;
            }
            let tree = self.tree(id)?;
            for entry in tree.decode().map_err(|error| self.broken("a tree", &error))?.entries {
                let Ok(name) = entry.filename.to_str() else { continue };
                let name = format!("{folder}{name}");
                if entry.mode.kind() == EntryKind::Tree {
                    folders.push((format!("{name}/"), entry.oid.to_owned()));
                } else if entry.oid == blob {
                    names.push(name);
                }
            }
        }
        Ok(())
    }
}

/// `None` for a mode that no index has.
fn kind(mode: Mode) -> Option<EntryKind> {
    mode.to_tree_entry_mode().map(|mode| mode.kind())
}
