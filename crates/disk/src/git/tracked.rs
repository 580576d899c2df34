//! Which files of the workspace git tracks, and the texts that it keeps of them. Only of the repository around the workspace:
//! one inside it counts as files that nobody tracks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
    sync::Arc,
};

use gix::{ObjectId, index::entry::Mode};

use super::{Compare, GitError, open};
use crate::{
    locate::FileRef,
    root::Root,
    snapshot::{Stat, spelling::spelt},
};

/// The most files that are considered.
const MOST: usize = 1_000_000;

/// The most hidden names that are considered.
const MOST_HIDDEN: usize = 20_000;

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

/// What is staged, as the whole index says, whoever may see it.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// Regular files by name, sorted.
    files: Vec<(String, ObjectId)>,
    /// Names with a hidden part, of whatever kind.
    hidden: Vec<String>,
}

/// The regular files that git tracks, by their names in the workspace, each with the bytes that are staged. A name that the guard of
/// the root hides is not among them.
#[derive(Clone, Debug)]
pub struct Tracked {
    staged: Arc<Staged>,
    /// How names of the workspace begin in the index.
    prefix: String,
    root: Root,
}

impl Tracked {
    /// What is staged of a file.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<BlobId> {
        let found = match self.prefix.as_str() {
            "" => self.place_of(name),
            prefix => self.place_of(&format!("{prefix}{name}")),
        };
        let (_, id) = self.staged.files.get(found.ok()?)?;
        self.root.shows(name, false).then_some(BlobId(*id))
    }

    /// Where a name stands in the index, or would.
    fn place_of(&self, name: &str) -> Result<usize, usize> {
        self.staged.files.binary_search_by(|(other, _)| other.as_str().cmp(name))
    }

    /// All names, or those that are one of these or lie in such a folder; `but` says which are left out before anything else is
    /// asked about them.
    pub fn names<'t>(
        &'t self,
        among: Option<&BTreeSet<String>>,
        but: impl Fn(&str) -> bool + 't,
    ) -> impl Iterator<Item = &'t str> {
        let files = &self.staged.files;
        let ranges: Vec<Range<usize>> = match among {
            None => vec![self.below(&self.prefix)],
            Some(names) => names.iter().flat_map(|name| self.named(name)).collect(),
        };
        let names = ranges.into_iter().flat_map(move |range| files.get(range).unwrap_or_default());
        let inside = names.filter_map(|(name, _)| name.strip_prefix(self.prefix.as_str()));
        inside.filter(move |name| !but(name) && self.root.shows(name, false))
    }

    /// The hidden names that git tracks, of whatever kind, and every folder on the way to one.
    #[must_use]
    pub fn hidden(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for name in &self.staged.hidden {
            // A denied file must not be why others are shown that lie beside it.
            let name = name.strip_prefix(self.prefix.as_str()).filter(|name| self.root.shows(name, false));
            let Some(name) = name else { continue };
            all.extend(name.match_indices('/').map(|(at, _)| name[..at].to_owned()));
            all.insert(name.to_owned());
        }
        all
    }

    /// Where a name stands, and where those in the folder of that name do.
    fn named(&self, name: &str) -> [Range<usize>; 2] {
        let whole = format!("{}{name}", self.prefix);
        let own = self.place_of(&whole).map_or(0..0, |at| at..at + 1);
        [own, self.below(&format!("{whole}/"))]
    }

    /// Where the names stand that begin so.
    fn below(&self, prefix: &str) -> Range<usize> {
        let start = self.place_of(prefix).unwrap_or_else(|at| at);
        let rest = &self.staged.files[start..];
        start..start + rest.partition_point(|(name, _)| name.starts_with(prefix))
    }
}

impl Root {
    /// The regular files that git tracks. None if there is no repository around the workspace, or none that may be used.
    #[must_use]
    pub fn tracked(&self, ask: &Compare<'_>) -> Tracked {
        let (staged, prefix) = self.staged(ask).unwrap_or_default();
        Tracked { staged, prefix, root: self.clone() }
    }

    /// What is staged in the repository around the workspace, and how names of the workspace begin there. The index is read
    /// again only if it may have changed: git never changes one in its place.
    fn staged(&self, ask: &Compare<'_>) -> Option<(Arc<Staged>, String)> {
        let (found, prefix) = self.repository(ask)?;
        let path = found.place.private.join("index");
        let before = rustix::fs::lstat(&path).ok().map(Stat::from);
        if let Some(kept) = before.and_then(|before| self.repositories.staged(&path, &before)) {
            return Some((kept, prefix));
        }
        let settled = before.filter(Stat::tells);
        let read = found.staged_names_of(MOST).map(Arc::new);
        let kept = read.as_ref().ok().zip(settled).map(|(staged, stat)| (path, stat, Arc::clone(staged)));
        self.repositories.keep_staged(kept);
        Some((read.unwrap_or_default(), prefix))
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
    /// Everything in the index that matters here, in one pass.
    fn staged_names_of(&self, most: usize) -> Result<Staged, GitError> {
        let mut staged = Staged::default();
        self.scan(&mut BTreeMap::new(), &mut |begun, name, item| {
            // Told anew once the index turns out to refer to a shared one.
            if begun.is_empty() {
                begun.insert(Vec::new(), Vec::new());
                staged = Staged::default();
            }
            let Some(name) = spelt(name) else { return };
            if staged.hidden.len() < MOST_HIDDEN && (name.starts_with('.') || name.contains("/.")) {
                staged.hidden.push(name.clone().into_owned());
            }
            let is_file = matches!(item.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
            if is_file && item.stage() == 0 && staged.files.len() < most {
                staged.files.push((name.into_owned(), item.id));
            }
        })?;
        // Git's order is this one already, but for an index that is split.
        staged.files.sort_by(|(one, _), (other, _)| one.cmp(other));
        staged.files.dedup_by(|(one, _), (other, _)| one == other);
        staged.hidden.sort_unstable();
        staged.hidden.dedup();
        Ok(staged)
    }
}
