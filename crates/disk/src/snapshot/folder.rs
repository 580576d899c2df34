//! A folder and its direct entries, for walks. It is opened beneath the root by a name in which no part is a link and read
//! through its descriptor, so a link that takes its place is never followed; and opening never blocks.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt,
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::{Errno, retry_on_intr},
};

use super::{FileKind, Stat, TO_READ, bytes::read_at};
use crate::{
    fault::Fault,
    policy::Mark,
    root::{Root, RootError},
    snapshot::spelling::on_disk,
};

/// A folder with more entries is not listed: all names are held in memory to be sorted.
const MOST_ENTRIES: usize = 1_000_000;

const TO_LIST: OFlags = TO_READ.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    /// A symbolic link, wherever it leads.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// A folder that was listed.
#[derive(Debug)]
pub struct Folder<'r> {
    root: &'r Root,
    dir: Dir,
    name: String,
    /// Its entries, sorted by the bytes of their names.
    pub entries: Vec<(OsString, EntryKind)>,
}

/// The content of a small file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Small {
    /// No such file, or this user may not read it.
    None,
    Bytes(Vec<u8>),
    /// Too large, not a regular file, or a link out of the workspace.
    Refused,
}

impl Root {
    /// The root as a folder.
    ///
    /// # Errors
    /// [`RootError`] when it is gone or cannot be listed.
    pub fn top(&self) -> Result<Folder<'_>, RootError> {
        self.folder(".").map_err(|error| RootError::from_io(self.path(), error))
    }

    /// The folder with this key, if no part of its name is a link.
    ///
    /// # Errors
    /// The system's error, or that it has too many entries.
    pub fn folder(&self, name: &str) -> io::Result<Folder<'_>> {
        if name.split('/').any(|part| matches!(part, "" | "..")) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if name != "." && !self.shows(name, true) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let opened = self.open_to_list(name)?;
        let as_it_was = self.guard.as_ref().map(|_| rustix::fs::fstat(&opened)).transpose()?;
        let as_it_was = as_it_was.map(|found| Mark::of(&Stat::from(found), self.times));
        let mut dir = Dir::new(opened)?;
        let mut entries = Vec::new();
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == MOST_ENTRIES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not tell the type.
                let Ok(found) = rustix::fs::statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                kind = FileType::from_raw_mode(found.st_mode);
            }
            entries.push((OsStr::from_bytes(name.to_bytes()).to_owned(), EntryKind::of(kind)));
        }
        if let (Some(guard), Some(as_it_was)) = (&self.guard, as_it_was) {
            guard.filter(name, as_it_was, &mut entries);
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Folder { root: self, dir, name: name.to_owned(), entries })
    }

    fn open_to_list(&self, name: &str) -> Result<OwnedFd, Errno> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{ResolveFlags, openat2};
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match retry_on_intr(|| openat2(&self.dir, &*on_disk(name), TO_LIST, Mode::empty(), resolve)) {
                // No `openat2`, or a sandbox forbids it.
                Err(Errno::NOSYS | Errno::PERM) => {}
                done => return done,
            }
        }
        let step = |at: &OwnedFd, part: &str| {
            retry_on_intr(|| rustix::fs::openat(at, &*on_disk(part), TO_LIST, Mode::empty()))
        };
        let top = retry_on_intr(|| rustix::fs::openat(&self.dir, ".", TO_LIST, Mode::empty()))?;
        name.split('/').filter(|part| *part != ".").try_fold(top, |at, part| step(&at, part))
    }
}

impl Folder<'_> {
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<EntryKind> {
        let at = self.entries.binary_search_by(|(other, _)| other.as_os_str().cmp(&on_disk(name))).ok()?;
        Some(self.entries[at].1)
    }

    /// The bytes of a small file directly in it. A link is followed if it stays in the workspace.
    #[must_use]
    pub fn small(&self, name: &str, most: u64) -> Small {
        let opened = match self.entry(name) {
            None | Some(EntryKind::Folder) => return Small::None,
            Some(EntryKind::Other) => return Small::Refused,
            Some(EntryKind::File) => self.open_here(name),
            Some(EntryKind::Link) => Err(Errno::LOOP),
        };
        let opened = match opened {
            // It may have changed since it was listed.
            Err(Errno::LOOP | Errno::MLINK) => return self.root.small_link(&self.name, name, most),
            Err(Errno::NOENT | Errno::ACCESS) => return Small::None,
            Err(_) => return Small::Refused,
            Ok(opened) => opened,
        };
        small(&opened.into(), most)
    }

    fn open_here(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags = TO_READ | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        retry_on_intr(|| rustix::fs::openat(self.dir.fd()?, &*on_disk(name), flags, Mode::empty()))
    }
}

impl Root {
    /// The bytes of a small file deeper inside, by its key.
    #[must_use]
    pub fn small(&self, key: &str, most: u64) -> Small {
        let Some(file) = self.file_ref(&self.absolute(key)) else { return Small::Refused };
        if self.refuses(&file).is_some() {
            return Small::None;
        }
        match self.open_to_read(&file) {
            Ok((opened, _)) => small(&opened, most),
            Err(
                super::SnapshotError::Missing { .. }
                | super::SnapshotError::Denied { .. }
                | super::SnapshotError::Refused(_),
            ) => Small::None,
            Err(_) => Small::Refused,
        }
    }

    fn small_link(&self, folder: &str, name: &str, most: u64) -> Small {
        self.small(&if folder == "." { name.to_owned() } else { format!("{folder}/{name}") }, most)
    }
}

fn small(opened: &std::fs::File, most: u64) -> Small {
    let Ok(stat) = Stat::of(opened) else { return Small::Refused };
    match FileKind::of(stat.mode) {
        Some(FileKind::Directory) => return Small::None,
        Some(
            FileKind::Fifo
            | FileKind::Socket
            | FileKind::CharDevice
            | FileKind::BlockDevice
            | FileKind::Link
            | FileKind::Unknown,
        ) => return Small::Refused,
        None if stat.len > most => return Small::Refused,
        None => {}
    }
    match read_at(opened, 0, stat.len) {
        Ok(bytes) => Small::Bytes(bytes),
        Err(error) if Fault::of(&error) == Fault::Denied => Small::None,
        Err(_) => Small::Refused,
    }
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn a_folder_is_listed_by_bytes_and_never_through_a_link() {
        let temp = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("d/e")).unwrap();
        for name in ["b", "B", "d/x", "d/e/y"] {
            fs::write(at(name), name).unwrap();
        }
        symlink("d", at("link")).unwrap();
        symlink(outside.path(), at("out")).unwrap();
        let root = Root::open(temp.path()).unwrap();
        let names = |folder: Folder<'_>| -> Vec<(String, EntryKind)> {
            folder.entries.into_iter().map(|(name, entry)| (name.into_string().unwrap(), entry)).collect()
        };
        let entry = |name: &str, entry| (name.to_owned(), entry);
        assert_eq!(
            names(root.top().unwrap()),
            [
                entry("B", EntryKind::File),
                entry("b", EntryKind::File),
                entry("d", EntryKind::Folder),
                entry("link", EntryKind::Link),
                entry("out", EntryKind::Link)
            ]
        );
        assert_eq!(names(root.folder("d/e").unwrap()), [entry("y", EntryKind::File)]);
        for name in ["link", "link/e", "out", "b", "none", "d/none", "..", "/", "d/../.."] {
            assert!(root.folder(name).is_err(), "{name}");
        }
        // An open folder that is moved away is still the one that was listed.
        let held = root.folder("d").unwrap();
        fs::rename(at("d"), at("moved")).unwrap();
        fs::create_dir(at("d")).unwrap();
        fs::write(at("d/x"), "another").unwrap();
        assert_eq!(held.small("x", 100), Small::Bytes(b"d/x".to_vec()));
    }

    #[test]
    fn small_files_are_read_and_nothing_else_is() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("d/folder")).unwrap();
        fs::write(at("d/plain"), "plain").unwrap();
        fs::write(at("d/large"), "x".repeat(11)).unwrap();
        symlink("plain", at("d/inside")).unwrap();
        symlink("../d/pipe", at("d/to_pipe")).unwrap();
        symlink("/dev/zero", at("d/out")).unwrap();
        symlink("nowhere", at("d/dangling")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("d/pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let root = Root::open(temp.path()).unwrap();
        let folder = root.folder("d").unwrap();
        for (name, expected) in [
            ("plain", Small::Bytes(b"plain".to_vec())),
            ("inside", Small::Bytes(b"plain".to_vec())),
            ("large", Small::Refused),
            ("pipe", Small::Refused),
            ("to_pipe", Small::Refused),
            ("out", Small::Refused),
            ("dangling", Small::None),
            ("folder", Small::None),
            ("none", Small::None),
        ] {
            assert_eq!(folder.small(name, 10), expected, "{name}");
        }
        // A pipe that replaces a file after it was listed does not block.
        fs::remove_file(at("d/plain")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("d/plain"), Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(folder.small("plain", 10), Small::Refused);
    }
}
