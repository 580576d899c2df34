//! Tells whose a store is. A store counts only for the user and on the machine that made it: an archive or clone from a stranger
//! may bring one that claims anything. So a random id is kept outside every workspace, and a store carries a seal: a hash of
//! that id and of the identity of the store's folder. A moved or renamed workspace keeps its store; in a copy, an unpacked
//! archive or a clone the folder is another one, and the seal does not fit. Never reveals the id, and never uses one that lies
//! in the workspace or that others can read or replace.

use std::{
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
    sync::atomic::AtomicU64,
    time::SystemTime,
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{
    super::{Create, StoreError, local_leases::lock},
    IGNORE_ALL, LocalStore, Privacy, READ_FLAGS, STORE_NAME, names, open_folder,
};
use crate::{
    replace::temp::Temp,
    root::Root,
    snapshot::{FileKind, bytes::read_at},
};

/// The file that holds the id.
const ID_NAME: &str = "id";

/// 128 bits.
const ID_BYTES: usize = 16;

/// The most folders that are created for it: `.local/state/readproof` in an existing home.
const MADE: usize = 3;

/// How the name of a store begins that was put aside in the one that replaced it.
const ASIDE: &str = "foreign-";

/// The most stores that are put aside; then a person has to look at them.
const ASIDE_MOST: u32 = 8;

/// This user on this machine.
pub(super) struct Owner {
    id: Vec<u8>,
    /// The folder of the id, whose file is locked while a store is put aside.
    folder: OwnedFd,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner")
    }
}

impl Owner {
    /// The owner with the id in the first of these folders that can be used; it is created if there is none. A folder in the
    /// workspace, of another user, or that others can write, cannot be used.
    ///
    /// # Errors
    /// [`StoreError::NoOwner`] when no folder can be used.
    pub(super) fn of(root: &Root, folders: &[PathBuf]) -> Result<Self, StoreError> {
        folders.iter().find_map(|folder| Self::at(root, folder)).ok_or(StoreError::NoOwner)
    }

    fn at(root: &Root, path: &Path) -> Option<Self> {
        let folder = state_folder(root, path)?;
        let found = rustix::fs::fstat(&folder).ok()?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o022 != 0 {
            return None;
        }
        let id = read_id(folder.as_fd()).or_else(|| {
            make_id(folder.as_fd()).ok()?;
            read_id(folder.as_fd())
        })?;
        Some(Self { id, folder })
    }

    /// The seal of this owner's store in this folder.
    pub(super) fn seal(&self, folder: BorrowedFd<'_>) -> io::Result<String> {
        let found = File::from(folder.try_clone_to_owned()?).metadata()?;
        // An inode number may be used again, but not with the same birth time. That is 0 if the system does not tell it.
        let born = found.created().ok().and_then(|born| born.duration_since(SystemTime::UNIX_EPOCH).ok());
        let (inode, born) = (found.ino().to_le_bytes(), born.unwrap_or_default().as_nanos().to_le_bytes());
        Ok(ContentHash::of_parts(&[b"readproof store 2\0", &self.id, &inode, &born]).to_string())
    }
}

/// The effective user id of this process.
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The name of that user in the system's list, or `uid NUMBER` if it is not there.
#[must_use]
pub fn user_name() -> String {
    let listed = fs::read("/etc/passwd").unwrap_or_default();
    name_of(user_id(), &String::from_utf8_lossy(&listed)).unwrap_or_else(|| format!("uid {}", user_id()))
}

/// The name of a user in a list as `/etc/passwd` has it. Of several the first counts, as everywhere.
fn name_of(user: u32, listed: &str) -> Option<String> {
    listed.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (!name.is_empty() && number.parse() == Ok(user)).then(|| name.to_owned())
    })
}

/// Opens the folder of the id; creates it if only its last few components are missing.
fn state_folder(root: &Root, path: &Path) -> Option<OwnedFd> {
    if !path.is_absolute() {
        return None;
    }
    let (depth, there) = path.ancestors().enumerate().find(|(_, part)| fs::symlink_metadata(part).is_ok())?;
    let below = path.strip_prefix(there).ok()?;
    let real = fs::canonicalize(there).ok()?;
    if depth > MADE || root.holds(&if depth == 0 { real.clone() } else { real.join(below) }) {
        return None;
    }
    if depth > 0 {
        DirBuilder::new().recursive(true).mode(0o700).create(path).ok()?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

fn read_id(folder: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let file = File::from(rustix::fs::openat(folder, ID_NAME, READ_FLAGS, Mode::empty()).ok()?);
    let found = rustix::fs::fstat(&file).ok()?;
    let ours = matches!(Privacy::of(found.st_mode, found.st_uid), Privacy::Private);
    let bytes = read_at(&file, 0, 2 * ID_BYTES as u64 + 1).ok()?;
    let (hex, end) = bytes.split_at_checked(2 * ID_BYTES)?;
    let well = ours && FileKind::of(found.st_mode).is_none() && end == b"\n" && hex.iter().all(u8::is_ascii_hexdigit);
    well.then(|| hex.to_vec())
}

/// Creates an id, unless another process is faster.
fn make_id(folder: BorrowedFd<'_>) -> io::Result<()> {
    let mut random = [0; ID_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let mut hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.push('\n');
    let temp = Temp::create(folder, "", Mode::RUSR | Mode::WUSR, &AtomicU64::new(0))?;
    temp.file().write_all(hex.as_bytes())?;
    temp.file().sync_all()?;
    temp.place(folder, ID_NAME).map(drop)
}

/// Puts a store that is not this owner's aside, into the one that replaces it. Returns its new name, relative to the workspace
/// root; `None` if there is no such store now.
///
/// # Errors
/// [`StoreError::Foreign`] where it cannot be put aside.
pub(super) fn put_aside(root: &Root, owner: &Owner) -> Result<Option<String>, StoreError> {
    // One process at a time, or one would put aside what another has just made.
    let id = rustix::fs::openat(&owner.folder, ID_NAME, READ_FLAGS, Mode::empty()).map(File::from);
    if !id.as_ref().is_ok_and(|id| lock(id).is_ok()) {
        return Err(StoreError::Busy { name: STORE_NAME.to_owned() });
    }
    let why = match LocalStore::open_with(root, Create::No, Some(owner)) {
        Err(StoreError::Foreign { why }) => why,
        Err(other) => return Err(other),
        Ok(_) => return Ok(None),
    };
    let aside = exchanged(root).map_err(|_| StoreError::Foreign { why })?;
    aside.map(|name| Some(format!("{STORE_NAME}/{name}"))).ok_or(StoreError::TooManyAside)
}

/// The stores that were put aside in this one.
pub(super) fn aside(folder: BorrowedFd<'_>) -> Vec<String> {
    let mut found = names(folder);
    found.retain(|name| name.starts_with(ASIDE));
    found
}

/// Replaces the store by a new folder that holds the old one. `None`: it holds too many already.
fn exchanged(root: &Root) -> Result<Option<String>, Errno> {
    let (top, old) = (root.dir.as_fd(), open_folder(root.dir.as_fd(), STORE_NAME)?);
    let held: Vec<String> = names(old.as_fd()).into_iter().filter(|name| name.starts_with(ASIDE)).collect();
    let free = (1..=ASIDE_MOST).map(|number| format!("{ASIDE}{number}")).find(|name| !held.contains(name));
    let Some(name) = free else { return Ok(None) };
    let begun = make_apart(top)?;
    let new = open_folder(top, &begun)?;
    ignore(new.as_fd());
    ignore(old.as_fd());
    // The stores inside it move along, so that they are counted.
    for held in held {
        rustix::fs::renameat(&old, &held, &new, &held)?;
    }
    rustix::fs::renameat(top, STORE_NAME, &new, &name)?;
    // If another process has made a store meanwhile, this folder stays beside it.
    rustix::fs::renameat(top, &begun, top, STORE_NAME).map(|()| Some(name))
}

/// Creates a new folder.
fn make_apart(top: BorrowedFd<'_>) -> Result<String, Errno> {
    for number in 0..64 {
        let name = format!("{STORE_NAME}.new-{number}");
        match rustix::fs::mkdirat(top, &name, Mode::RWXU) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// Makes git ignore a folder, if possible.
fn ignore(folder: BorrowedFd<'_>) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::openat(folder, ".gitignore", flags, Mode::RUSR | Mode::WUSR) {
        let _ = File::from(file).write_all(IGNORE_ALL.as_bytes());
    }
}

/// Whether a store without a format file holds anything that is only put into a finished store.
pub(super) fn holds_something(folder: BorrowedFd<'_>) -> bool {
    names(folder).iter().filter(|name| !matches!(name.as_str(), "." | ".." | ".gitignore" | "tmp")).any(|name| {
        if name.starts_with(ASIDE) {
            return false;
        }
        open_folder(folder, name)
            .map_or(true, |part| names(part.as_fd()).iter().any(|name| name != "." && name != ".."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_first_name_in_the_list() {
        let listed = "root:x:0:0:root:/root:/bin/sh\n\nodd\n:x:7::\nalice:x:1000:1000::/home/a:\nbob:x:1000:1::/:\n";
        for (user, expected) in [(0, Some("root")), (1000, Some("alice")), (7, None), (1, None)] {
            assert_eq!(name_of(user, listed).as_deref(), expected, "{user}");
        }
        assert!(!user_name().is_empty());
    }
}
