//! Bytes out of an open regular file. Never opens anything, never reads more than it was told to.

use std::{fs::File, io};

use rustix::{buffer::spare_capacity, io::Errno};

/// Up to `expected + 1` bytes from `at` on, straight into the vector that is returned. The one byte more shows a file that
/// grew. A read that stops just at `expected` is taken for the end without asking again: the caller compares the stat.
pub(crate) fn read_at(file: &File, at: u64, expected: u64) -> io::Result<Vec<u8>> {
    let want = usize::try_from(expected).ok().and_then(|n| n.checked_add(1)).ok_or(io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(want)?;
    while bytes.len() < want {
        let from = at.saturating_add(bytes.len() as u64);
        match rustix::io::pread(file, spare_capacity(&mut bytes), from) {
            Ok(0) => break,
            Ok(_) if bytes.len() == want - 1 => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}
