//! The durable write of a whole file: temp, sync, rename, sync. A link stays a link and its target is replaced. Never leaves
//! a half-written file under the name, never writes outside the root or into a store, and never over a change that the
//! caller has not seen, if the caller says what is to be there.

mod scratch;
pub(crate) mod temp;

pub use scratch::Scratch;
pub use temp::Leftover;

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
    snapshot::{FileKind, HardLinks, MOST_BYTES, bytes::read_at},
    store::{READ_FLAGS, STORE_NAME},
};
use temp::{IN_WORKSPACE, Placed, Temp};

/// What must be there when a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Anything, or nothing.
    Anything,
    /// Nothing of this name.
    Nothing,
    /// The text with this hash.
    Text(ContentHash),
}

/// The moments at which another may change the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The new content is written, the old not looked at yet.
    Written,
    /// The old content is as expected.
    Checked,
    /// They changed places.
    Exchanged,
}

/// What became of the name.
enum Named {
    Done,
    Changed,
}

impl Root {
    /// Makes `text` the whole content of the file and returns its hash once it is on disk. Missing parents are made.
    ///
    /// Permissions are kept, without set-user-id and set-group-id; so is the owner where this user may. Access lists and
    /// extended attributes are not, and with [`HardLinks::Allow`] the other names keep the old content, as after any rename.
    ///
    /// With [`Expected::Text`] the file is looked at once more just before it is replaced, and then changes places with the
    /// new one, so that what was really replaced can be looked at as well: if that is another text, it is put back. What
    /// can still be lost: a second change by another while the first is put back; a change between look and rename where
    /// the file system cannot exchange names; and, as after any rename, what is written later through a handle that was
    /// opened before.
    ///
    /// # Errors
    /// [`ReplaceError`]; the old content is then intact, except that after a failed final sync either may be found.
    pub fn replace(
        &self,
        file: &FileRef,
        text: &str,
        expected: Expected,
        hard_links: HardLinks,
    ) -> Result<ContentHash, ReplaceError> {
        self.replace_with(file, text, expected, hard_links, |_| {})
    }

    /// `at` is called at the moments at which another may change the file, for the tests below.
    fn replace_with(
        &self,
        file: &FileRef,
        text: &str,
        expected: Expected,
        hard_links: HardLinks,
        at: impl FnMut(Moment),
    ) -> Result<ContentHash, ReplaceError> {
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
        if names.iter().any(|name| is_in_git(name)) {
            return Err(ReplaceError::InGit { name: file.name().to_owned() });
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
        let temp = self.written(&folder, text, old.as_ref()).map_err(fail)?;
        match named(temp, &folder, base, expected, at).map_err(fail)? {
            Named::Done => {}
            Named::Changed => return Err(ReplaceError::Changed { name: file.name().to_owned() }),
        }
        rustix::fs::fsync(&folder).map_err(|errno| fail(errno.into()))?;
        Ok(ContentHash::of(text.as_bytes()))
    }

    /// The new content under a name of its own, synced.
    fn written<'f>(&self, folder: &'f OwnedFd, text: &str, old: Option<&Stat>) -> io::Result<Temp<'f>> {
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
        Ok(temp)
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

/// Whether a name is git's own or lies in what is. Some file systems fold case.
#[must_use]
pub fn is_in_git(name: &str) -> bool {
    name.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Gives the new content its name, unless something else than expected has it.
fn named(
    temp: Temp<'_>,
    folder: &OwnedFd,
    base: &str,
    expected: Expected,
    mut at: impl FnMut(Moment),
) -> io::Result<Named> {
    at(Moment::Written);
    let hash = match expected {
        Expected::Text(hash) => hash,
        Expected::Anything => {
            temp.replace(folder, base)?;
            return Ok(Named::Done);
        }
        Expected::Nothing => {
            return Ok(match temp.place(folder, base)? {
                Placed::New => Named::Done,
                Placed::Taken => Named::Changed,
            });
        }
    };
    if !holds(folder, base, hash)? {
        return Ok(Named::Changed);
    }
    at(Moment::Checked);
    match temp.exchange(base) {
        Ok(true) => {}
        Ok(false) => {
            temp.replace(folder, base)?;
            return Ok(Named::Done);
        }
        Err(error) if Fault::of(&error) == Fault::Missing => return Ok(Named::Changed),
        Err(error) => return Err(error),
    }
    at(Moment::Exchanged);
    // What cannot be looked at now was changed too.
    if holds(folder, temp.name(), hash).unwrap_or(false) {
        return Ok(Named::Done);
    }
    temp.put_back(base)?;
    Ok(Named::Changed)
}

/// Whether a regular file of that name holds the text of that hash.
fn holds(folder: &OwnedFd, base: &str, hash: ContentHash) -> io::Result<bool> {
    let file = match rustix::fs::openat(folder, base, READ_FLAGS, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(false),
        Err(errno) => return Err(errno.into()),
    };
    let found = rustix::fs::fstat(&file)?;
    let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    if FileKind::of(found.st_mode).is_some() || len > MOST_BYTES {
        return Ok(false);
    }
    Ok(ContentHash::of(&read_at(&file, 0, len)?) == hash)
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
    /// Git would run what an agent writes there.
    #[error(
        "`{name}` is git's own: what stands in `.git` decides what git runs, so it is not written; use git for that"
    )]
    InGit {
        /// The key.
        name: String,
    },
    /// It has other names, and the rules refuse that.
    #[error("`{name}` has several hard links, which the settings refuse; write a copy or allow hard links")]
    HardLinked {
        /// The key.
        name: String,
    },
    /// Another was faster.
    #[error(
        "`{name}` was made, changed or removed by another while it was edited, and nothing was written; read it again and \
         repeat the edit"
    )]
    Changed {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::PathBuf};

    const OLD: &str = "old\n";

    struct World {
        temp: tempfile::TempDir,
        root: Root,
    }

    impl World {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let root = Root::open(temp.path()).unwrap();
            fs::write(temp.path().join("f"), OLD).unwrap();
            Self { temp, root }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.temp.path().join(name)
        }

        /// Edits `f` while another does something at that moment.
        fn edit(&self, moment: Moment, other: impl Fn()) -> Result<ContentHash, ReplaceError> {
            let file = self.root.locate_new(&[format!("{}/f", self.root.path().display())]).unwrap();
            let expected = Expected::Text(ContentHash::of(OLD.as_bytes()));
            self.root.replace_with(&file, "new\n", expected, HardLinks::Refuse, |at| {
                if at == moment {
                    other();
                }
            })
        }
    }

    #[test]
    fn what_is_as_expected_is_replaced() {
        let world = World::new();
        world.edit(Moment::Checked, || {}).unwrap();
        assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "new\n");
        assert_eq!(world.root.list_names("."), ["f"]);
    }

    /// A change that comes in at any moment before the names change places is kept, and nothing is left behind.
    #[test]
    fn a_change_by_another_is_never_lost() {
        for moment in [Moment::Written, Moment::Checked] {
            let world = World::new();
            let rewritten = world.edit(moment, || fs::write(world.at("f"), "mine").unwrap());
            assert!(matches!(rewritten, Err(ReplaceError::Changed { .. })), "{moment:?}");
            assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "mine");
            assert_eq!(world.root.list_names("."), ["f"]);

            // Another file of the same length, as an editor leaves it.
            let world = World::new();
            let replaced = world.edit(moment, || {
                fs::write(world.at("g"), "mine").unwrap();
                fs::rename(world.at("g"), world.at("f")).unwrap();
            });
            assert!(replaced.unwrap_err().to_string().contains("changed or removed by another"));
            assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "mine");

            let world = World::new();
            let removed = world.edit(moment, || fs::remove_file(world.at("f")).unwrap());
            assert!(matches!(removed, Err(ReplaceError::Changed { .. })), "{moment:?}");
            assert_eq!(world.root.list_names("."), [""; 0]);

            let world = World::new();
            fs::write(world.at("g"), OLD).unwrap();
            let linked = world.edit(moment, || {
                fs::remove_file(world.at("f")).unwrap();
                std::os::unix::fs::symlink("g", world.at("f")).unwrap();
            });
            assert!(matches!(linked, Err(ReplaceError::Changed { .. })), "{moment:?}");
            assert_eq!(fs::read_link(world.at("f")).unwrap(), PathBuf::from("g"));
        }
    }

    /// A file that another made first is kept, and nothing is left behind.
    #[test]
    fn a_new_file_replaces_nothing() {
        let world = World::new();
        let make = |name: &str, at: &dyn Fn()| {
            let file = world.root.locate_new(&[format!("{}/{name}", world.root.path().display())]).unwrap();
            world.root.replace_with(&file, "new\n", Expected::Nothing, HardLinks::Refuse, |_| at())
        };
        make("g", &|| {}).unwrap();
        assert_eq!(fs::read_to_string(world.at("g")).unwrap(), "new\n");
        let late = make("h", &|| fs::write(world.at("h"), "mine").unwrap());
        assert!(matches!(late, Err(ReplaceError::Changed { .. })));
        assert_eq!(fs::read_to_string(world.at("h")).unwrap(), "mine");
        assert!(matches!(make("f", &|| {}), Err(ReplaceError::Changed { .. })));
        assert_eq!(world.root.list_names("."), ["f", "g", "h"]);
    }

    /// Who still writes into the old file after it was replaced is noticed; who replaced the new one has the last word.
    #[test]
    fn a_change_after_the_names_changed_places() {
        let world = World::new();
        let open = fs::OpenOptions::new().append(true).open(world.at("f")).unwrap();
        let late = world.edit(Moment::Exchanged, || (&open).write_all(b"late\n").unwrap());
        assert!(matches!(late, Err(ReplaceError::Changed { .. })));
        assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "old\nlate\n");
        assert_eq!(world.root.list_names("."), ["f"]);

        let world = World::new();
        let open = fs::OpenOptions::new().append(true).open(world.at("f")).unwrap();
        let both = world.edit(Moment::Exchanged, || {
            (&open).write_all(b"late\n").unwrap();
            fs::write(world.at("g"), "last word").unwrap();
            fs::rename(world.at("g"), world.at("f")).unwrap();
        });
        assert!(matches!(both, Err(ReplaceError::Changed { .. })));
        assert_eq!(fs::read_to_string(world.at("f")).unwrap(), "last word");
        assert_eq!(world.root.list_names("."), ["f"]);
    }
}
