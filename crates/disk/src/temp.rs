//! A file that is not yet anyone's: written under a name of its own, then renamed, and removed if that never happens.
//! Works only inside the folder handle it is given, with names of one component; never follows a link.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};

/// How many taken names are stepped over: leftovers of crashed processes that had our process id.
const TRIES: u32 = 65_536;

/// What became of a rename that must not replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// The name is ours.
    New,
    /// The name was taken; ours is gone.
    Taken,
}

/// A temporary file; dropping it removes it.
pub(crate) struct Temp<'f> {
    folder: BorrowedFd<'f>,
    name: String,
    file: File,
    renamed: bool,
}

impl<'f> Temp<'f> {
    /// Creates `<prefix><pid>-<n>.tmp`. Uniqueness comes from `O_EXCL`; `counter` only makes collisions rare.
    pub(crate) fn create(folder: BorrowedFd<'f>, prefix: &str, mode: Mode, counter: &AtomicU64) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let pid = std::process::id();
        for _ in 0..TRIES {
            let name = format!("{prefix}{pid}-{}.tmp", counter.fetch_add(1, Ordering::Relaxed));
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(fd) => return Ok(Self { folder, name, file: fd.into(), renamed: false }),
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, replacing what has that name.
    pub(crate) fn replace(mut self, to: impl AsFd, name: &str) -> io::Result<()> {
        rustix::fs::renameat(self.folder, &self.name, to, name)?;
        self.renamed = true;
        Ok(())
    }

    /// Gives it its name unless that is taken.
    pub(crate) fn place(mut self, to: impl AsFd, name: &str) -> io::Result<Placed> {
        match rustix::fs::renameat_with(self.folder, &self.name, &to, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.renamed = true;
                Ok(Placed::New)
            }
            Err(Errno::EXIST) => Ok(Placed::Taken),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.link(to, name),
            Err(errno) => Err(errno.into()),
        }
    }

    /// For file systems without a rename that refuses to replace. The temporary name goes when `self` is dropped.
    fn link(self, to: impl AsFd, name: &str) -> io::Result<Placed> {
        match rustix::fs::linkat(self.folder, &self.name, to, name, AtFlags::empty()) {
            Ok(()) => Ok(Placed::New),
            Err(Errno::EXIST) => Ok(Placed::Taken),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing can be done about a failure here, and the name is never read.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn folder() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        let open = File::open(dir.path()).unwrap();
        (dir, open)
    }

    fn names(dir: &tempfile::TempDir) -> Vec<String> {
        let mut names: Vec<String> =
            dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_taken_name_is_stepped_over() {
        let (dir, open) = folder();
        let taken = format!("x{}-0.tmp", std::process::id());
        std::fs::write(dir.path().join(&taken), "old").unwrap();
        let temp = Temp::create(open.as_fd(), "x", Mode::RUSR, &AtomicU64::new(0)).unwrap();
        assert_eq!(temp.name, format!("x{}-1.tmp", std::process::id()));
        drop(temp);
        assert_eq!(names(&dir), [taken]);
    }

    #[test]
    fn linking_serves_where_a_rename_cannot() {
        let (dir, open) = folder();
        let counter = AtomicU64::new(0);
        let make = |text: &str| {
            let temp = Temp::create(open.as_fd(), "", Mode::RUSR | Mode::WUSR, &counter).unwrap();
            temp.file().write_all(text.as_bytes()).unwrap();
            temp
        };
        assert_eq!(make("one").link(&open, "name").unwrap(), Placed::New);
        assert_eq!(make("two").link(&open, "name").unwrap(), Placed::Taken);
        assert_eq!(make("two").place(&open, "name").unwrap(), Placed::Taken);
        assert_eq!(std::fs::read_to_string(dir.path().join("name")).unwrap(), "one");
        make("three").replace(&open, "name").unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("name")).unwrap(), "three");
        assert_eq!(names(&dir), ["name"]);
    }
}
