//! Which files of the workspace git tracks, and the texts that it keeps of them. Only of the repository around the workspace:
//! one inside it counts as files that nobody tracks.

use std::{collections::BTreeMap, fmt};

use gix::{ObjectId, index::entry::Mode};

use super::{Compare, GitError, open};
use crate::{locate::FileRef, root::Root, snapshot::spelling::spelt};

/// The most files that are considered.
const MOST: usize = 1_000_000;

/// Bytes that git keeps, by the name that it gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlobId(ObjectId);

impl BlobId {
    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        ObjectId::from_hex(text.as_bytes()).ok().map(Self)
    }

    /// Whether these bytes are the ones.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        gix::objs::compute_hash(self.0.kind(), gix::object::Kind::Blob, bytes).is_ok_and(|id| id == self.0)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Root {
    /// The regular files that git tracks, by their names in the workspace, each with the bytes that are staged. Empty if there is
    /// no repository around the workspace, or none that may be used.
    #[must_use]
    pub fn tracked(&self, ask: &Compare<'_>) -> BTreeMap<String, BlobId> {
        let mut all = BTreeMap::new();
        let Some((found, prefix)) = self.repository(ask) else { return all };
        for (name, id) in found.staged_files(MOST).unwrap_or_default() {
            if let Some(name) = name.strip_prefix(&prefix).filter(|name| self.shows(name, false)) {
                all.insert(name.to_owned(), BlobId(id));
            }
        }
        all
    }

    /// The regular files of the commit that is checked out, by their names in the workspace. Empty before the first commit; `None`
    /// if there is no repository that may be used, or it has too many files.
    #[must_use]
    pub fn committed(&self, ask: &Compare<'_>) -> Option<BTreeMap<String, BlobId>> {
        let (found, prefix) = self.repository(ask)?;
        let Some(head) = found.head().ok()? else { return Some(BTreeMap::new()) };
        let Some(folder) = found.folder_of(head.tree, &prefix).ok()? else { return Some(BTreeMap::new()) };
        let mut files = found.files_of(folder, MOST).ok()??;
        files.retain(|(name, _)| self.shows(name, false));
        Some(files.into_iter().map(|(name, id)| (name, BlobId(id))).collect())
    }

    /// The bytes that git keeps under this id, verified; `None` if it does not, or they are too many.
    #[must_use]
    pub fn blob(&self, id: BlobId, ask: &Compare<'_>) -> Option<Vec<u8>> {
        let (found, _) = self.repository(ask)?;
        found.bytes_of(id.0, ask.max_bytes).ok().filter(|bytes| id.is_of(bytes))
    }

    /// The repository around the workspace, and how names of the workspace begin in it.
    pub(super) fn repository<'a>(&self, ask: &Compare<'a>) -> Option<(open::Found<'a>, String)> {
        let file: FileRef = self.file_ref(&self.absolute(".gitignore"))?;
        let found = open::find(self, &file, ask).ok()?;
        let prefix = found.name.strip_suffix(".gitignore")?.to_owned();
        Some((found, prefix))
    }
}

impl open::Found<'_> {
    /// The names of regular files in the index, with what is staged.
    fn staged_files(&self, most: usize) -> Result<Vec<(String, ObjectId)>, GitError> {
        let mut names = BTreeMap::new();
        self.scan(&mut names, &mut |names, name, item| {
            let is_file = matches!(item.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
            if is_file && item.stage() == 0 && names.len() < most {
                names.insert(name.to_vec(), vec![item]);
            }
        })?;
        let named =
            |(name, items): (Vec<u8>, Vec<super::index::Item>)| Some((spelt(&name)?.into_owned(), items.first()?.id));
        Ok(names.into_iter().filter_map(named).collect())
    }
}
