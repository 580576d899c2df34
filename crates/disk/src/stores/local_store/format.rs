//! The `format` file of a store: a number, and the seal that says whose the store is.

use std::{
    fs::File,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{fs::Mode, io::Errno};

use super::{
    super::{StoreError, Strange},
    READ_FLAGS, STORE_NAME,
    folder::check_private,
    owner::{self, Owner},
};
use crate::{
    fault::missing_or,
    snapshot::{FileKind, bytes::read_at},
};

/// The format this program writes: a number, and after it the seal.
const FORMAT: u32 = 2;

/// The previous format, without a seal.
const UNSEALED: u32 = 1;

/// The longest format file: ten digits, a seal of 64, and two line ends.
const FORMAT_BYTES: u64 = 76;

/// The content of the format file.
pub(super) enum Format {
    /// The previous format.
    Unsealed,
    /// The present format, and the seal that says whose the store is; none if it was made without an owner.
    Sealed(Option<String>),
}

/// Reads the format file. `None`: there is none.
pub(super) fn read(folder: BorrowedFd<'_>) -> Result<Option<Format>, StoreError> {
    let shown = format!("{STORE_NAME}/format");
    let fail = |errno: Errno| StoreError::from_io(&shown, errno.into());
    let opened = missing_or(rustix::fs::openat(folder, "format", READ_FLAGS, Mode::empty())).map_err(fail)?;
    let Some(file) = opened.map(File::from) else { return Ok(None) };
    let found = rustix::fs::fstat(&file).map_err(fail)?;
    if FileKind::of(found.st_mode).is_some() {
        return Err(StoreError::Damaged { name: shown, why: "it is not a file" });
    }
    check_private(file.as_fd(), &shown)?;
    // A longer file fails to parse.
    let bytes = read_at(&file, 0, FORMAT_BYTES + 1).map_err(|error| StoreError::from_io(&shown, error))?;
    let lines = str::from_utf8(&bytes).ok().and_then(|text| text.split_once('\n'));
    let number = lines.and_then(|(number, rest)| Some((number.parse::<u32>().ok()?, rest)));
    match number {
        Some((UNSEALED, "")) => Ok(Some(Format::Unsealed)),
        Some((FORMAT, "")) => Ok(Some(Format::Sealed(None))),
        Some((FORMAT, seal)) if seal.len() == 65 && seal.ends_with('\n') => {
            Ok(Some(Format::Sealed(Some(seal.trim_end().to_owned()))))
        }
        Some((found, _)) if found > FORMAT => Err(StoreError::Newer { found, known: FORMAT }),
        Some(_) | None => Err(StoreError::Damaged { name: shown, why: "it does not hold a known number" }),
    }
}

/// Refuses a store that this owner may not rely on.
pub(super) fn check_owner(
    folder: BorrowedFd<'_>,
    format: Option<&Format>,
    owner: Option<&Owner>,
) -> Result<(), StoreError> {
    let Some(owner) = owner else { return Ok(()) };
    let seal = match format {
        // A store that is being made is empty. Another process may have finished it since its format was read.
        None if !owner::holds_something(folder) => return Ok(()),
        None => match read(folder)? {
            Some(Format::Sealed(Some(seal))) => seal,
            Some(Format::Sealed(None) | Format::Unsealed) | None => {
                return Err(StoreError::Foreign { why: Strange::Elsewhere });
            }
        },
        Some(Format::Unsealed) => return Err(StoreError::Foreign { why: Strange::Older }),
        Some(Format::Sealed(None)) => return Err(StoreError::Foreign { why: Strange::Elsewhere }),
        Some(Format::Sealed(Some(seal))) => seal.clone(),
    };
    let expected = owner.seal(folder).map_err(|error| StoreError::from_io(STORE_NAME, error))?;
    if expected == seal { Ok(()) } else { Err(StoreError::Foreign { why: Strange::Elsewhere }) }
}

/// What the format file of a new store says.
pub(super) fn content(folder: BorrowedFd<'_>, owner: Option<&Owner>) -> Result<String, StoreError> {
    let seal = owner.map(|owner| owner.seal(folder)).transpose();
    let seal = seal.map_err(|error| StoreError::from_io(&format!("{STORE_NAME}/format"), error))?;
    Ok(format!("{FORMAT}\n{}", seal.map(|seal| format!("{seal}\n")).unwrap_or_default()))
}
