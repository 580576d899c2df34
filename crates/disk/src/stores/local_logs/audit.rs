//! The audit log of a local store: the files beneath `.readproof/audit`, private like everything there. Its `checkpoint` and
//! `tile/` are laid out so that any file server can serve them. One `flock` on the folder lets one writer in; each process has
//! a small file `open/<writer>` with its counts, locked as long as it lives.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::super::{
    AuditCount, AuditPart, AuditParts, Counted, Create, Lasting, Lease, NextPiece, STORE_NAME, StoreError,
    local_leases::{lock_within, wait_for},
    local_store::{READ_FLAGS, names, open_folder, private_folder},
    logs::is_writer,
};
use crate::{
    fault::missing_or,
    replace::temp::{IN_WORKSPACE, Temp},
    snapshot::MOST_BYTES,
    snapshot::bytes::read_at,
};

const FOLDER: &str = "audit";
const OPEN: &str = "open";

/// The bytes of a file of counts: three numbers.
const COUNTS: u64 = 24;

/// How many logs can be put aside.
const MOST_ASIDE: u32 = 1000;

/// How deep the folders of tiles can be.
const DEPTH: usize = 12;

/// The folder of the log.
#[derive(Debug)]
pub(in super::super) struct LocalAudit {
    /// The store's folder.
    store: Arc<OwnedFd>,
    folder: OwnedFd,
    tmp: Arc<OwnedFd>,
    counter: AtomicU64,
}

impl LocalAudit {
    /// Opens the log of a store; `None` if there is none and none is to be made.
    pub(in super::super) fn open(
        store: &Arc<OwnedFd>,
        tmp: &Arc<OwnedFd>,
        create: Create,
    ) -> Result<Option<Self>, StoreError> {
        let shown = format!("{STORE_NAME}/{FOLDER}");
        let Some(folder) = private_folder(store.as_fd(), FOLDER, &shown, create)? else { return Ok(None) };
        if create == Create::Yes {
            private_folder(folder.as_fd(), OPEN, &format!("{shown}/{OPEN}"), create)?;
        }
        Ok(Some(Self { store: Arc::clone(store), folder, tmp: Arc::clone(tmp), counter: AtomicU64::new(0) }))
    }

    /// The folder that holds a part and the last component of its name.
    fn place(&self, path: &str, create: Create) -> Result<Option<(OwnedFd, String)>, StoreError> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = open_folder(self.folder.as_fd(), ".").map_err(|errno| fail(path, errno))?;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            match private_folder(folder.as_fd(), part, &shown(path), create)? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        Ok(Some((folder, name.to_owned())))
    }

    /// A part that is there, and its length.
    fn open_part(&self, path: &str) -> Result<Option<(File, u64)>, StoreError> {
        let Some((folder, name)) = self.place(path, Create::No)? else { return Ok(None) };
        let opened = missing_or(rustix::fs::openat(&folder, &name, READ_FLAGS, Mode::empty()));
        let Some(file) = opened.map_err(|errno| fail(path, errno))?.map(File::from) else { return Ok(None) };
        let found = rustix::fs::fstat(&file).map_err(|errno| fail(path, errno))?;
        super::super::local_store::is_private(&found, &shown(path))?;
        let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
        if len > MOST_BYTES {
            return Err(StoreError::Damaged { name: shown(path), why: "it is too large" });
        }
        Ok(Some((file, len)))
    }

    fn made(&self, path: &str) -> Result<(OwnedFd, String), StoreError> {
        let place = self.place(path, Create::Yes)?;
        place.ok_or_else(|| StoreError::Gone { name: shown(path) })
    }

    fn list(&self, folder: &OwnedFd, path: &str, depth: usize, found: &mut Vec<AuditPart>) {
        for name in names(folder.as_fd()) {
            if name == "." || name == ".." {
                continue;
            }
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            match open_folder(folder.as_fd(), &name) {
                Ok(inner) if depth < DEPTH => self.list(&inner, &below, depth + 1, found),
                Ok(_) | Err(_) => found.extend(AuditPart::parse(&below)),
            }
        }
    }
}

impl AuditParts for LocalAudit {
    fn load(&self, part: &AuditPart) -> Result<Option<Vec<u8>>, StoreError> {
        let path = part.path();
        let Some((file, len)) = self.open_part(&path)? else { return Ok(None) };
        read_at(&file, 0, len).map(Some).map_err(|error| StoreError::from_io(&shown(&path), error))
    }

    fn pieces(&self, part: &AuditPart, next: NextPiece<'_>) -> Result<(), StoreError> {
        let path = part.path();
        let Some((file, len)) = self.open_part(&path)? else { return Ok(()) };
        let mut piece = Vec::new();
        while let Some((at, most)) = next(&piece) {
            let most = most.min(len.saturating_sub(at));
            piece = read_at(&file, at, most).map_err(|error| StoreError::from_io(&shown(&path), error))?;
            piece.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn put(&self, part: &AuditPart, bytes: &[u8], lasting: Lasting) -> Result<(), StoreError> {
        let path = part.path();
        let (folder, name) = self.made(&path)?;
        let write = || -> io::Result<()> {
            let temp = Temp::create(self.tmp.as_fd(), "", Mode::RUSR | Mode::WUSR, &self.counter)?;
            write_at(temp.file(), 0, bytes)?;
            if lasting == Lasting::Yes {
                temp.file().sync_data()?;
            }
            temp.replace(&folder, &name)?;
            if lasting == Lasting::Yes {
                rustix::fs::fsync(&folder)?;
            }
            Ok(())
        };
        write().map_err(|error| StoreError::from_io(&shown(&path), error))
    }

    fn append(&self, part: &AuditPart, at: u64, bytes: &[u8], lasting: Lasting) -> Result<(), StoreError> {
        let path = part.path();
        let (folder, name) = self.made(&path)?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.map_err(|errno| fail(&path, errno))?);
        let write = || -> io::Result<()> {
            let len = file.metadata()?.len();
            if len > at {
                file.set_len(at)?;
            } else if len < at {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            write_at(&file, at, bytes)?;
            if lasting == Lasting::Yes {
                file.sync_data()?;
            }
            if lasting == Lasting::Yes && at == 0 {
                rustix::fs::fsync(&folder)?;
            }
            Ok(())
        };
        write().map_err(|error| StoreError::from_io(&shown(&path), error))
    }

    fn overwrite(&self, part: &AuditPart, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let path = part.path();
        let Some((folder, name)) = self.place(&path, Create::No)? else { return Ok(()) };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = missing_or(rustix::fs::openat(&folder, &name, flags, Mode::empty()));
        let Some(file) = opened.map_err(|errno| fail(&path, errno))?.map(File::from) else { return Ok(()) };
        let write = || -> io::Result<()> {
            let end = at.checked_add(bytes.len() as u64);
            if end.is_none_or(|end| end > file.metadata().map_or(0, |found| found.len())) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            write_at(&file, at, bytes)?;
            file.sync_data()
        };
        write().map_err(|error| StoreError::from_io(&shown(&path), error))
    }

    fn remove(&self, part: &AuditPart) -> Result<(), StoreError> {
        let path = part.path();
        let Some((folder, name)) = self.place(&path, Create::No)? else { return Ok(()) };
        missing_or(rustix::fs::unlinkat(&folder, &name, AtFlags::empty())).map_err(|errno| fail(&path, errno))?;
        // The folder of partial tiles, or of what is kept, goes with its last file.
        if let Some((parent, last)) = path.rsplit_once('/')
            && (last.len() != 3 || matches!(part, AuditPart::Kept { .. }))
            && let Ok(Some((above, folder))) = self.place(parent, Create::No)
        {
            let _ = rustix::fs::unlinkat(&above, &folder, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    fn parts(&self) -> Vec<AuditPart> {
        let mut found = Vec::new();
        self.list(&self.folder, "", 0, &mut found);
        found.sort_unstable();
        found
    }

    fn lock(&self) -> Result<Box<dyn Lease>, StoreError> {
        let lease = wait_for(&self.folder, FOLDER)?;
        // Another process may have put this one aside meanwhile.
        let named =
            rustix::fs::statat(&self.store, FOLDER, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| fail("", errno))?;
        let own = rustix::fs::fstat(&self.folder).map_err(|errno| fail("", errno))?;
        if (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino) {
            Ok(lease)
        } else {
            Err(StoreError::Gone { name: shown("") })
        }
    }

    fn count(&self, writer: &str) -> Result<Arc<dyn AuditCount>, StoreError> {
        let path = format!("{OPEN}/{writer}");
        if !is_writer(writer) {
            return Err(StoreError::Damaged { name: shown(&path), why: "it is not the name of a process" });
        }
        let (folder, name) = self.made(&path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR);
        let file = File::from(opened.map_err(|errno| fail(&path, errno))?);
        // Nobody else knows the name yet, but `ended` may look at it this very moment.
        lock_within(&file, 1000).map_err(|_| StoreError::Busy { name: shown(&path) })?;
        Ok(Arc::new(LocalCount { file, path }))
    }

    fn ended(&self) -> Vec<(String, Counted)> {
        let Ok(folder) = open_folder(self.folder.as_fd(), OPEN) else { return Vec::new() };
        let look = |name: String| {
            let file = File::from(rustix::fs::openat(&folder, &name, READ_FLAGS, Mode::empty()).ok()?);
            is_writer(&name).then(|| file.try_lock().ok())??;
            let bytes = read_at(&file, 0, COUNTS).ok()?;
            let number = |at: usize| {
                let chunk = bytes.get(at..at + 8).and_then(|chunk| chunk.try_into().ok());
                chunk.map_or(0, u64::from_be_bytes)
            };
            Some((name, Counted { calls: number(0), from: number(8), lines: number(16) }))
        };
        names(folder.as_fd()).into_iter().filter_map(look).collect()
    }

    fn forget_count(&self, writer: &str) -> Result<(), StoreError> {
        let path = format!("{OPEN}/{writer}");
        let Some((folder, name)) = self.place(&path, Create::No)?.filter(|_| is_writer(writer)) else { return Ok(()) };
        missing_or(rustix::fs::unlinkat(&folder, &name, AtFlags::empty())).map_err(|errno| fail(&path, errno))?;
        Ok(())
    }

    fn put_aside(&self) -> Result<String, StoreError> {
        for number in 1..=MOST_ASIDE {
            let name = format!("{FOLDER}.aside-{number}");
            match rustix::fs::renameat_with(&self.store, FOLDER, &self.store, &name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(format!("{STORE_NAME}/{name}")),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(fail("", errno)),
            }
        }
        Err(StoreError::TooManyAside)
    }

    fn aside(&self) -> Vec<String> {
        let is_aside = |name: &String| name.starts_with(&format!("{FOLDER}.aside-"));
        names(self.store.as_fd()).into_iter().filter(is_aside).map(|name| format!("{STORE_NAME}/{name}")).collect()
    }
}

/// The open file of counts, locked while it is open.
#[derive(Debug)]
struct LocalCount {
    file: File,
    path: String,
}

impl AuditCount for LocalCount {
    fn calls(&self, calls: u64) -> Result<(), StoreError> {
        self.write(0, &calls.to_be_bytes())
    }

    fn batch(&self, from: u64, lines: u64) -> Result<(), StoreError> {
        self.write(8, [from.to_be_bytes(), lines.to_be_bytes()].as_flattened())
    }
}

impl LocalCount {
    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        write_at(&self.file, at, bytes).map_err(|error| StoreError::from_io(&shown(&self.path), error))
    }
}

/// Writes a file anywhere, or another in its place: for a checkpoint that is to be kept outside the store.
///
/// # Errors
/// When its folder does not exist, or cannot be written.
pub fn copy_out(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let temp = Temp::create(folder.as_fd(), IN_WORKSPACE, Mode::RUSR | Mode::WUSR, &AtomicU64::new(0))?;
    write_at(temp.file(), 0, bytes)?;
    temp.file().sync_data()?;
    temp.replace(&folder, name)
}

fn write_at(file: &File, mut at: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(0) => return Err(Errno::NOSPC.into()),
            Ok(count) => {
                at += count as u64;
                bytes = &bytes[count..];
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn shown(path: &str) -> String {
    if path.is_empty() { format!("{STORE_NAME}/{FOLDER}") } else { format!("{STORE_NAME}/{FOLDER}/{path}") }
}

fn fail(path: &str, errno: Errno) -> StoreError {
    StoreError::from_io(&shown(path), errno.into())
}
