//! Reads bytes of an open regular file. Never opens anything, never reads more than it was told to.

use std::{fs::File, io};

use rustix::{buffer::spare_capacity, io::Errno};

/// Up to `expected + 1` bytes from `at` on, read directly into the returned vector. The additional byte reveals a file that
/// grew. A read that stops at `expected` counts as the end of the file without another call: the caller compares the stat.
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
