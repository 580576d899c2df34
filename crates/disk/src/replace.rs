//! The durable write of a whole file: temp, sync, rename, sync. A link stays a link and its target is replaced. Never leaves
//! a half-written file under the name, never writes outside the root or into a store.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
};

use readproof_core::text::ContentHash;
use rustix::{
    fs::{Access, AtFlags, Gid, Mode, OFlags, Stat, Uid},
    io::Errno,
};

use crate::{
    fault::Fault,
    locate::FileRef,
    root::Root,
    snapshot::{FileKind, HardLinks},
    store::STORE_NAME,
    temp::{IN_WORKSPACE, Temp},
};

impl Root {
    /// Makes `text` the whole content of the file and returns its hash once it is on disk. Missing parents are made.
    ///
    /// Permissions are kept, without set-user-id and set-group-id; so is the owner where this user may. Access lists and
    /// extended attributes are not, and with [`HardLinks::Allow`] the other names keep the old content, as after any rename.
    ///
    /// # Errors
    /// [`ReplaceError`]; the old content is then intact, except that after a failed final sync either may be found.
    pub fn replace(&self, file: &FileRef, text: &str, hard_links: HardLinks) -> Result<ContentHash, ReplaceError> {
        let fail = |error| ReplaceError::from_io(file.name(), error);
        let names = self.follow(file.name()).map_err(fail)?;
        let real = names.last().map_or(file.name(), String::as_str);
        let not_a_file = |kind| ReplaceError::NotAFile { name: file.name().to_owned(), kind };
        if real == "." {
            return Err(not_a_file(FileKind::Directory));
        }
        if real.split('/').any(|part| part.eq_ignore_ascii_case(STORE_NAME)) {
            return Err(ReplaceError::OwnStore { name: file.name().to_owned() });
        }
        let (parent, base) = real.rsplit_once('/').unwrap_or((".", real));
        let folder = self.folder_for(parent).map_err(fail)?;
        let old = stat_of(&folder, base).map_err(fail)?;
        if let Some(old) = &old {
            if let Some(kind) = FileKind::of(old.st_mode) {
                return Err(not_a_file(kind));
            }
            if old.st_nlink > 1 && hard_links == HardLinks::Refuse {
                return Err(ReplaceError::HardLinked { name: file.name().to_owned() });
            }
            // A rename would not ask: a file that this user may not write stays as it is.
            let writable = rustix::fs::accessat(&folder, base, Access::WRITE_OK, AtFlags::EACCESS);
            writable.map_err(|errno| fail(errno.into()))?;
        }
        self.write_over(&folder, base, text, old.as_ref()).map_err(fail)?;
        Ok(ContentHash::of(text.as_bytes()))
    }

    fn write_over(&self, folder: &OwnedFd, base: &str, text: &str, old: Option<&Stat>) -> io::Result<()> {
        let mode = match old {
            Some(_) => Mode::RUSR | Mode::WUSR,
            None => Mode::from_raw_mode(0o666),
        };
        let temp = Temp::create(folder.as_fd(), IN_WORKSPACE, mode, &self.temps)?;
        temp.file().write_all(text.as_bytes())?;
        if let Some(old) = old {
            keep_owner_and_mode(temp.file(), old)?;
        }
        rustix::fs::fsync(temp.file())?;
        temp.replace(folder, base)?;
        Ok(rustix::fs::fsync(folder)?)
    }

    /// Opens a folder so that it can be synced, and makes it if it is missing.
    fn folder_for(&self, name: &str) -> io::Result<OwnedFd> {
        match self.open_folder(name) {
            Err(error) if Fault::of(&error) == Fault::Missing => {
                self.make_folders(name)?;
                self.open_folder(name)
            }
            opened => opened,
        }
    }

    fn open_folder(&self, name: &str) -> io::Result<OwnedFd> {
        let dir = self.dir.open_dir(name)?;
        // cap-std's handle only names the folder; to sync it one must have it open.
        Ok(rustix::fs::openat(&dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    fn make_folders(&self, name: &str) -> io::Result<()> {
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        let mut parent = ".";
        for end in ends {
            let folder = &name[..end];
            match self.dir.create_dir(folder) {
                Ok(()) => rustix::fs::fsync(self.open_folder(parent)?)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            parent = folder;
        }
        Ok(())
    }
}

fn stat_of(folder: &OwnedFd, base: &str) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(folder, base, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn keep_owner_and_mode(file: &File, old: &Stat) -> io::Result<()> {
    let new = rustix::fs::fstat(file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        // Only root may give files away; for anyone else the new file is simply theirs.
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
    }
    // A write takes set-user-id away as well.
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(old.st_mode & 0o1777))?)
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// Something else than a file.
    #[error("`{name}` is {kind}, not a file; name a regular file")]
    NotAFile {
        /// The key.
        name: String,
        /// What it is.
        kind: FileKind,
    },
    /// What vouches for answers is not written by those it vouches to.
    #[error("`{name}` belongs to readproof's own store and is not written; name another file")]
    OwnStore {
        /// The key.
        name: String,
    },
    /// It has other names, and the rules refuse that.
    #[error("`{name}` has several hard links, which the settings refuse; write a copy or allow hard links")]
    HardLinked {
        /// The key.
        name: String,
    },
    /// A link one may not follow.
    #[error("`{name}` leads through a link out of the workspace; name a file inside it")]
    LinkOut {
        /// The key.
        name: String,
    },
    /// Links that end nowhere.
    #[error("`{name}` leads through links in a circle; name the file itself")]
    LinkLoop {
        /// The key.
        name: String,
    },
    /// A parent is no folder, or vanished.
    #[error("the folder of `{name}` is no folder or cannot be made; check the parents of the name")]
    NoFolder {
        /// The key.
        name: String,
    },
    /// Longer than the file system takes.
    #[error("the name `{name}` is too long; use a shorter one")]
    NameTooLong {
        /// The key.
        name: String,
    },
    /// Permissions.
    #[error("`{name}` or its folder may not be written by this user; change the permissions or write elsewhere")]
    Denied {
        /// The key.
        name: String,
    },
    /// No writes.
    #[error("`{name}` lies on a read-only file system; write elsewhere")]
    ReadOnly {
        /// The key.
        name: String,
    },
    /// No space.
    #[error("there is no space left to write `{name}`, which is unchanged; free some and try again")]
    Full {
        /// The key.
        name: String,
    },
    /// Anything else.
    #[error("`{name}` cannot be written: {source}; try again")]
    Io {
        /// The key.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ReplaceError {
    fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Fault::of(&source) {
            Fault::Missing | Fault::NotFolder => Self::NoFolder { name },
            Fault::LinkOut => Self::LinkOut { name },
            Fault::LinkLoop => Self::LinkLoop { name },
            Fault::TooLong => Self::NameTooLong { name },
            Fault::Denied => Self::Denied { name },
            Fault::ReadOnly => Self::ReadOnly { name },
            Fault::Full => Self::Full { name },
            Fault::Other => Self::Io { name, source },
        }
    }
}
