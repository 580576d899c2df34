//! From candidate names to a [`FileRef`], the only name that can be opened. Follows links only through the root's handle,
//! and never reads a file. A key holds no `.`, `..` or empty part: the one constructor refuses them.

use std::{
    borrow::Cow,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    sync::Arc,
};

use cap_std::fs::MetadataExt;
use readproof_core::path::PathKey;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use crate::{
    fault::{Fault, escape, is_missing},
    policy::Refusal,
    replace::is_ours,
    root::Root,
    snapshot::TO_READ,
    snapshot::spelling::{on_disk, spelt},
};

/// The longest component and the longest path that file systems accept, in bytes.
const COMPONENT_BYTES: usize = 255;
const PATH_BYTES: usize = 4096;

/// As many links as Linux follows in one name.
const LINKS: usize = 40;

/// How a folder is opened that is only passed through. This needs no permission to list it.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// The most names that [`Root::list_names`] returns.
const LISTED: usize = 2000;

/// A name inside a root, and the only thing that can be opened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRef {
    key: PathKey,
    root: Arc<str>,
}

impl FileRef {
    /// The one constructor: `None` when the name is not inside the root or not clean.
    fn new(root: &Root, candidate: &str) -> Option<Self> {
        let roots = [Some(&*root.text), root.given.as_deref()];
        let name = roots.into_iter().flatten().find_map(|path| below(candidate, path))?;
        let clean = name == "." || !name.split('/').any(|part| matches!(part, "" | "." | ".."));
        clean.then(|| Self { key: PathKey::new(name), root: root.text.clone() })
    }

    /// The name relative to the root, `/`-separated, links not followed; `.` is the root itself.
    #[must_use]
    pub fn key(&self) -> &PathKey {
        &self.key
    }

    /// The absolute path, beginning with the root's canonical path.
    #[must_use]
    pub fn absolute(&self) -> String {
        match self.key.as_str() {
            "." => self.root.to_string(),
            name => format!("{}/{name}", self.root.trim_end_matches('/')),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.key.as_str()
    }
}

/// Refuses what no file system accepts.
fn check_name(candidate: &str) -> Result<(), LocateError> {
    if candidate.contains('\0') {
        return Err(LocateError::NulInName);
    }
    let longest = candidate.split('/').map(|part| on_disk(part).len()).max().unwrap_or(0);
    if longest > COMPONENT_BYTES {
        return Err(LocateError::NameTooLong { len: longest });
    }
    let whole = on_disk(candidate).len();
    if whole > PATH_BYTES {
        return Err(LocateError::NameTooLong { len: whole });
    }
    Ok(())
}

/// The part of `candidate` below `root`, by its spelling.
fn below<'c>(candidate: &'c str, root: &str) -> Option<&'c str> {
    match candidate.strip_prefix(root.trim_end_matches('/'))? {
        "" | "/" => Some("."),
        rest => rest.strip_prefix('/'),
    }
}

/// A file opened for reading by a name in which no part is a link.
#[derive(Debug)]
pub struct Opened {
    pub(crate) file: File,
}

/// Identifies a file, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    pub dev: u64,
    pub ino: u64,
}

impl Root {
    /// The first candidate that exists inside the root, links followed. Costs one `openat2`, one `fstat` and one `close`
    /// per candidate tried.
    ///
    /// # Errors
    /// When none exists: the first failure that is more than "missing", else [`LocateError::Missing`] if the first candidate
    /// lies inside the root, else [`LocateError::Outside`].
    pub fn locate(&self, candidates: &[String]) -> Result<FileRef, LocateError> {
        self.first(candidates, |file| self.probe_admitted(file)).map(|(file, ())| file)
    }

    /// As [`Root::locate`], and opens what is found if no part of its name is a link. One `openat2` then finds the file, opens
    /// it and proves that no link was followed.
    ///
    /// # Errors
    /// As [`Root::locate`].
    pub fn locate_open(&self, candidates: &[String]) -> Result<(FileRef, Option<Opened>), LocateError> {
        let find = || {
            self.first(candidates, |file| match self.open_without_links(file) {
                Ok(open) => Ok(Some(Some(open))),
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
                // A link, not a file, no permission, or no `openat2`: the probe tells.
                Err(_) => Ok(self.probe_admitted(file)?.map(|()| None)),
            })
        };
        let found = find();
        if let (Err(LocateError::Missing { .. }), Some(first)) = (&found, candidates.first())
            && let Some(file) = self.file_ref(first)
            && self.settle_beside(&file)
        {
            return find();
        }
        found
    }

    /// The name, if it is spelt as one inside the root; it need not be one that may be used.
    #[must_use]
    pub fn file_ref(&self, candidate: &str) -> Option<FileRef> {
        FileRef::new(self, candidate).filter(|_| check_name(candidate).is_ok())
    }

    fn first<T>(
        &self,
        candidates: &[String],
        look: impl Fn(&FileRef) -> Result<Option<T>, LocateError>,
    ) -> Result<(FileRef, T), LocateError> {
        let mut failure = None;
        for candidate in candidates {
            let Some(file) = FileRef::new(self, candidate) else { continue };
            let admitted = || self.refusal(file.name()).map_or(Ok(()), |refusal| Err(LocateError::refused(refusal)));
            match check_name(candidate).and_then(|()| admitted()).and_then(|()| look(&file)) {
                Ok(Some(found)) => return Ok((file, found)),
                Ok(None) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| self.nowhere(candidates)))
    }

    /// For writing: the first candidate that exists, else the first of all; its parents may be missing too.
    ///
    /// # Errors
    /// As [`Root::locate`], but a name inside the root is never "missing".
    pub fn locate_new(&self, candidates: &[String]) -> Result<FileRef, LocateError> {
        let found = self.locate(candidates);
        let first = candidates.first().and_then(|first| FileRef::new(self, first));
        match (found, first) {
            (Err(LocateError::Missing { .. }), Some(first)) => Ok(first),
            (found, _) => found,
        }
    }

    /// The identity of the file a name leads to, links followed; `None` when it leads nowhere.
    #[must_use]
    pub fn file_id(&self, file: &FileRef) -> Option<FileId> {
        self.id_of(file.name())
    }

    /// The keys among these that lead to this file now, those included that a rule hides: what is held of them is of the same file.
    #[must_use]
    pub fn names_of(&self, id: FileId, keys: impl Iterator<Item = PathKey>) -> Vec<PathKey> {
        keys.filter(|key| self.id_of(key.as_str()) == Some(id)).collect()
    }

    /// The name with all links resolved, relative to the root; for a file that does not exist yet, where it would be. `None`
    /// when that is unknown or lies outside. Costs one `stat` per component, more for each link.
    #[must_use]
    pub fn real_name(&self, file: &FileRef) -> Option<PathKey> {
        self.follow(file.name()).ok()?.last().map(|name| PathKey::new(name))
    }

    /// The names in a folder, sorted, at most 2,000, without Readproof's temporary files; none when it cannot be listed.
    #[must_use]
    pub fn list_names(&self, dir_key: &str) -> Vec<String> {
        if !self.may_use(dir_key) {
            return Vec::new();
        }
        let Ok(entries) = self.dir.read_dir(&*on_disk(dir_key)) else { return Vec::new() };
        let shown = |entry: &cap_std::fs::DirEntry, name: &str| {
            let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
            let key = || if dir_key == "." { name.to_owned() } else { format!("{dir_key}/{name}") };
            !is_ours(name) && (self.shows_all() || self.shows(&key(), is_folder()))
        };
        let name_of = |entry: io::Result<cap_std::fs::DirEntry>| {
            let entry = entry.ok()?;
            spelt(entry.file_name().as_bytes()).map(Cow::into_owned).filter(|name| shown(&entry, name))
        };
        let mut names: Vec<String> = entries.filter_map(name_of).take(LISTED).collect();
        names.sort_unstable();
        names
    }

    /// Whether `..` follows a link in an absolute name inside the root. By its spelling such a name means one file, and to
    /// the system it may mean another.
    #[must_use]
    pub fn goes_back_through_link(&self, name: &str) -> bool {
        let mut done: Vec<&str> = Vec::new();
        for part in name.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part != ".." {
                done.push(part);
                continue;
            }
            let left = FileRef::new(self, &format!("/{}", done.join("/"))).filter(|left| self.may_use(left.name()));
            let link = left.and_then(|left| self.dir.symlink_metadata(&*on_disk(left.name())).ok());
            if link.is_some_and(|found| found.is_symlink()) {
                return true;
            }
            done.pop();
        }
        false
    }

    fn id_of(&self, key: &str) -> Option<FileId> {
        let found = self.dir.metadata(&*on_disk(key)).ok()?;
        Some(FileId { dev: found.dev(), ino: found.ino() })
    }

    /// The same, unless a link leads to what may not be used.
    fn probe_admitted(&self, file: &FileRef) -> Result<Option<()>, LocateError> {
        match self.refusal_of_links(file.name()) {
            Some(refusal) => Err(LocateError::refused(refusal)),
            None => self.probe(file),
        }
    }

    /// `None` when it does not exist.
    fn probe(&self, file: &FileRef) -> Result<Option<()>, LocateError> {
        match self.dir.metadata(&*on_disk(file.name())) {
            Ok(_) => Ok(Some(())),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(LocateError::new(file, error)),
        }
    }

    /// Opens a file for reading if no part of its name is a link.
    #[cfg(target_os = "linux")]
    pub(crate) fn open_without_links(&self, file: &FileRef) -> Result<Opened, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open = openat2(&self.dir, &*on_disk(file.name()), TO_READ | OFlags::CLOEXEC, Mode::empty(), resolve);
        open.map(|fd| Opened { file: fd.into() })
    }

    /// Without `openat2` there is no cheap test.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open_without_links(&self, _file: &FileRef) -> Result<Opened, Errno> {
        Err(Errno::NOSYS)
    }

    /// Opens exactly this name inside the root, part by part; [`Errno::LOOP`] where a part is a link, or no longer a folder.
    pub(crate) fn open_exactly(&self, name: &str) -> Result<File, Errno> {
        let (parents, base) = name.rsplit_once('/').map_or((None, name), |(parents, base)| (Some(parents), base));
        let to_pass = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | PASSING;
        let mut folder: Option<OwnedFd> = None;
        for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
            let above = folder.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
            let below = rustix::fs::openat(above, &*on_disk(part), to_pass, Mode::empty());
            folder = Some(below.map_err(|errno| if errno == Errno::NOTDIR { Errno::LOOP } else { errno })?);
        }
        let above = folder.as_ref().map_or(self.dir.as_fd(), AsFd::as_fd);
        let flags = TO_READ | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(above, &*on_disk(base), flags, Mode::empty()).map(File::from)
    }

    fn nowhere(&self, candidates: &[String]) -> LocateError {
        let asked = candidates.first().cloned().unwrap_or_default();
        match FileRef::new(self, &asked) {
            Some(_) => LocateError::Missing { asked },
            None => LocateError::Outside { asked, root: self.text.to_string() },
        }
    }

    /// Every name that a file goes by while its links are followed one after another: first the key, last the name in which
    /// no part is a link. Parts that do not exist do not count as links.
    pub(crate) fn follow(&self, key: &str) -> io::Result<Vec<String>> {
        let mut names = vec![key.to_owned()];
        if self.has_no_links(key) {
            names.push(key.to_owned());
            return Ok(names);
        }
        let mut done: Vec<String> = Vec::new();
        let mut left: Vec<String> = key.split('/').rev().map(str::to_owned).collect();
        let (mut exists, mut links) = (true, 0);
        while let Some(part) = left.pop() {
            match &*part {
                "" | "." => continue,
                ".." if !exists => return Err(Errno::NOENT.into()),
                ".." => {
                    done.pop().ok_or_else(escape)?;
                    continue;
                }
                _ => done.push(part),
            }
            let Some(target) = self.link_at(&done.join("/"), &mut exists)? else { continue };
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP.into());
            }
            // The link's own name: what a link says may go there by `..`.
            names.push(done.join("/"));
            done.pop();
            left.extend(target.split('/').rev().map(str::to_owned));
            names.push(done.iter().chain(left.iter().rev()).map(String::as_str).collect::<Vec<_>>().join("/"));
        }
        names.push(if done.is_empty() { ".".to_owned() } else { done.join("/") });
        Ok(names)
    }

    /// Whether something has this name and no part of it is a link, as nearly always: the system tells that at once. `false` if it
    /// cannot tell.
    #[cfg(target_os = "linux")]
    fn has_no_links(&self, key: &str) -> bool {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let is_plain = key.split('/').all(|part| !matches!(part, "" | "." | ".."));
        is_plain && openat2(&self.dir, &*on_disk(key), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn has_no_links(&self, _key: &str) -> bool {
        false
    }

    /// The target of the link of this name; `None` for anything else.
    fn link_at(&self, name: &str, exists: &mut bool) -> io::Result<Option<String>> {
        if !*exists {
            return Ok(None);
        }
        match self.dir.symlink_metadata(&*on_disk(name)) {
            Ok(found) if found.is_symlink() => {
                let target = match self.dir.read_link_contents(&*on_disk(name)) {
                    // No longer a link; opening it tells what it is.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => return Ok(None),
                    target => target?,
                };
                if target.is_absolute() {
                    return Err(escape());
                }
                let text = spelt(target.as_os_str().as_bytes()).map(Cow::into_owned);
                text.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
            }
            Ok(_) => Ok(None),
            // The same whether nothing is there, or a file where a folder would have to be.
            Err(error) if matches!(Fault::of(&error), Fault::Missing | Fault::NotFolder) => {
                *exists = false;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Why a name leads to no file that may be used. `name` is the key; `asked` is the first candidate.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum LocateError {
    Missing {
        asked: String,
    },
    Outside {
        asked: String,
        root: String,
    },
    NulInName,
    NameTooLong {
        /// Length of the part or path that is too long.
        len: usize,
    },
    LinkLoop {
        name: String,
    },
    LinkOut {
        name: String,
    },
    Denied {
        name: String,
    },
    /// The guard of the root does not let it through, whether it is there or not.
    Refused(Box<Refusal>),
    Io {
        name: String,
        source: io::Error,
    },
}

impl LocateError {
    fn refused(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }

    fn new(file: &FileRef, source: io::Error) -> Self {
        let name = file.name().to_owned();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::Missing { asked: file.absolute() },
            Fault::LinkOut => Self::LinkOut { name },
            Fault::LinkLoop => Self::LinkLoop { name },
            Fault::TooLong => Self::NameTooLong { len: name.len() },
            Fault::Denied => Self::Denied { name },
            Fault::ReadOnly | Fault::Full | Fault::Other => Self::Io { name, source },
        }
    }
}
