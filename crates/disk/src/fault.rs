//! What a failed system call means to a caller. Every error of this crate is classified here first, so that an errno means
//! the same everywhere. Touches no file.

use std::io;

use rustix::io::Errno;

/// The failures that a caller can act on in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing has this name.
    Missing,
    /// A parent in the name is not a folder.
    NotFolder,
    /// A link leads out of the directory that may be used.
    LinkOut,
    /// Links in a circle, or a link that only the kernel can follow.
    LinkLoop,
    /// A name longer than the file system takes.
    TooLong,
    Denied,
    /// The file system is read-only.
    ReadOnly,
    /// No space, no quota, or a size limit.
    Full,
    Other,
}

impl Fault {
    pub(crate) fn of(error: &io::Error) -> Self {
        let Some(errno) = Errno::from_io_error(error) else {
            // cap-std reports an escape as `PermissionDenied` without an errno; a real EACCES always carries one.
            return if error.kind() == io::ErrorKind::PermissionDenied { Self::LinkOut } else { Self::Other };
        };
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::NOTDIR => Self::NotFolder,
            Errno::LOOP => Self::LinkLoop,
            Errno::NAMETOOLONG => Self::TooLong,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::ROFS => Self::ReadOnly,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Self::Full,
            _ => Self::Other,
        }
    }
}

/// A name that does not exist is `None`; any other failure stays one.
pub(crate) fn missing_or<T>(found: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Whether nothing has the name: it is missing, or a parent is not a folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(Fault::of(error), Fault::Missing | Fault::NotFolder)
}

/// The error that cap-std gives for a name that leads out; for links that are followed here.
pub(crate) fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a link leads out of the directory")
}
