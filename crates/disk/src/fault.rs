//! What a failed system call means to a caller. Every error of this room is sorted here first, so that one errno has one
//! meaning. It touches no file.

use std::io;

use rustix::io::Errno;

/// The things a caller can tell apart and act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing has this name.
    Missing,
    /// A parent in the name is no folder.
    NotFolder,
    /// A link leads out of the directory one may use.
    LinkOut,
    /// Links in a circle, or a link that only the kernel can follow.
    LinkLoop,
    /// A name beyond what the file system takes.
    TooLong,
    /// Permissions.
    Denied,
    /// The file system takes no writes.
    ReadOnly,
    /// No space, no quota, or a size limit.
    Full,
    /// Anything else.
    Other,
}

impl Fault {
    /// Sorts an error.
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

/// The error cap-std gives for a name that leads out, for the links followed by hand.
pub(crate) fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a link leads out of the directory")
}
