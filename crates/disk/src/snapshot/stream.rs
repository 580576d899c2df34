//! A file read in pieces, for one that is too large to be read at once or is only scanned. Holds no more of it than was asked
//! for. If the file changes meanwhile, pieces may belong to different states of it.

use std::{fs::File, io};

use crate::{
    locate::{FileRef, Opened},
    replace::turn::{Links, Settled},
    root::Root,
    snapshot::bytes::read_at,
    snapshot::spelling::on_disk,
    snapshot::{ATTEMPTS, FileKind, HardLinks, SnapshotError, Stat},
};

/// An open regular file.
#[derive(Debug)]
pub struct Stream {
    file: File,
    stat: Stat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// `None` for a regular file.
    pub kind: Option<FileKind>,
    pub len: u64,
    /// When its bytes last changed, in milliseconds since 1970.
    pub mtime_ms: i64,
}

impl Root {
    /// Opens a file to be read in pieces.
    ///
    /// # Errors
    /// As [`Root::snapshot`], but of any size.
    pub fn stream(
        &self,
        file: &FileRef,
        opened: Option<Opened>,
        hard_links: HardLinks,
    ) -> Result<Stream, SnapshotError> {
        let name = || file.name().to_owned();
        let (free_of_links, mut opened) = (opened.is_some(), opened);
        for _ in 0..ATTEMPTS {
            let mut now = opened.take();
            if free_of_links && now.is_none() {
                // The caller has judged the name without links, so none is followed now.
                now = Some(self.open_without_links(file).map_err(|_| SnapshotError::Changing { name: name() })?);
            }
            let Some((open, _)) = self.open_settled(file, now)? else { continue };
            let stat = Stat::of(&open).map_err(|error| SnapshotError::from_io(file.name(), error))?;
            if let Some(kind) = FileKind::of(stat.mode) {
                return Err(SnapshotError::NotAFile { name: name(), kind });
            }
            if self.is_unlinked(file, &stat) {
                continue;
            }
            self.admit_size(file, stat.len)?;
            if stat.nlink > 1 && hard_links == HardLinks::Refuse {
                return Err(SnapshotError::HardLinked { name: name(), links: stat.nlink });
            }
            return Ok(Stream { file: open, stat });
        }
        Err(SnapshotError::Changing { name: name() })
    }

    /// What a name leads to, following links. Opens nothing.
    ///
    /// # Errors
    /// [`SnapshotError`] when that is unknown.
    pub fn found(&self, file: &FileRef) -> Result<Found, SnapshotError> {
        use cap_std::fs::MetadataExt;
        let look =
            || self.dir.metadata(&*on_disk(file.name())).map_err(|error| SnapshotError::from_io(file.name(), error));
        for _ in 0..ATTEMPTS {
            let found = look()?;
            // Still the same file: a write that was undone meanwhile has lost its name.
            let same = || look().map(|again| (again.dev(), again.ino()) == (found.dev(), found.ino()));
            if self.settled(file, Links::Perhaps)? == Settled::Anew || !same()? {
                continue;
            }
            let mtime_ms = found.mtime().saturating_mul(1000).saturating_add(found.mtime_nsec() / 1_000_000);
            return Ok(Found { kind: FileKind::of(found.mode()), len: found.len(), mtime_ms });
        }
        Err(SnapshotError::Changing { name: file.name().to_owned() })
    }
}

impl Stream {
    /// The stat from when it was opened.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.stat
    }

    /// Up to `len` bytes from `at` on; fewer where the file ends.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn at(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = read_at(&self.file, at, len as u64)?;
        bytes.truncate(len);
        Ok(bytes)
    }
}
