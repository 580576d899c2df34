//! Texts of other programs that a write displaced and cannot put back, because something newer has the name by then. They are
//! kept here until the caller takes them and stores them.

use std::{
    fmt,
    os::fd::BorrowedFd,
    sync::{Mutex, PoisonError},
};

use rustix::fs::Mode;

use super::{
    moment::{Moment, Moments},
    note::Content,
};
use crate::{root::Root, snapshot::bytes::read_at, stores::READ_FLAGS};

/// A larger one is not kept.
const MOST_BYTES: i64 = 64 << 20;

/// What another program had saved in a file, and nothing holds any more.
#[derive(Clone, PartialEq, Eq)]
pub struct DisplacedText {
    /// The name under which the file really lies.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl fmt::Debug for DisplacedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisplacedText({}, {} bytes)", self.name, self.bytes.len())
    }
}

/// Those that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct DisplacedTexts(Mutex<Vec<DisplacedText>>);

/// A folder in which a write is made, and what belongs to every write.
#[derive(Clone, Copy)]
pub(crate) struct At<'f> {
    moments: &'f Moments,
    texts: &'f DisplacedTexts,
    /// The folder's name.
    parent: &'f str,
}

impl At<'_> {
    pub(crate) fn tell(&self, moment: Moment) {
        self.moments.tell(moment);
    }

    /// Keeps what a temporary name holds, before that is removed, unless it is one of these. What is no file, or cannot be
    /// read, is not kept.
    pub(super) fn keep(&self, (folder, temp, base): (BorrowedFd<'_>, &str, &str), known: &[Content]) {
        if Content::of_anything(folder, temp).is_ok_and(|found| known.contains(&found)) {
            return;
        }
        let Ok(file) = rustix::fs::openat(folder, temp, READ_FLAGS, Mode::empty()) else { return };
        let Some(len) = rustix::fs::fstat(&file).ok().map(|found| found.st_size).filter(|len| *len <= MOST_BYTES)
        else {
            return;
        };
        if let Ok(bytes) = read_at(&file.into(), 0, u64::try_from(len).unwrap_or(0)) {
            let name = if self.parent == "." { base.to_owned() } else { format!("{}/{base}", self.parent) };
            self.texts.0.lock().unwrap_or_else(PoisonError::into_inner).push(DisplacedText { name, bytes });
        }
    }
}

impl Root {
    pub(crate) fn at<'f>(&'f self, parent: &'f str) -> At<'f> {
        At { moments: &self.moments, texts: &self.displaced, parent }
    }

    /// The texts of other programs that writes by this root displaced and could not put back, since the last call.
    #[must_use]
    pub fn take_displaced(&self) -> Vec<DisplacedText> {
        std::mem::take(&mut *self.displaced.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
