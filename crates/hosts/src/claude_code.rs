//! Claude Code's transcripts. A file has the entries of a conversation, which form a tree, and a record of every request that
//! was sent because of them. That record is what counts: what stands in the request that the model answered with a call is
//! what the model sees when it makes that call.
//!
//! | line | what is taken from it |
//! |---|---|
//! | `user`, `assistant`, `attachment` | calls and results by their ids, texts that the host added, and which compaction is the last before them |
//! | `system` with `compact_boundary` | the barrier, and which entries were kept over it: these do not count |
//! | `api-request` | the messages of a request by their hashes: the first `keep` of the request `base`, then `tail` |
//! | `api-request-blob` | a message, found by its hash; other messages are those of lines |
//!
//! A message counts only if it has the hash that the request names. Files are read once, and messages only if a call is asked
//! about whose request has them.

mod call;
mod canon;
mod eyes;
mod known;
mod line;
mod message;
mod numbered;
mod request;
mod settle;
mod shell;
mod state;
mod transcript;

pub use known::{Known, Sibling, Why};
pub use request::Distrust;
pub use transcript::{Counts, Transcript};

use readproof_core::text::Text;
use std::borrow::Cow;

/// Where a transcript reads lines again.
pub trait Source {
    /// Bytes that were appended before, from this offset in the file; `None` if they are gone.
    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>>;
}

/// The bytes of a whole transcript.
impl Source for &[u8] {
    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        let at = usize::try_from(at).ok()?;
        self.get(at..at.checked_add(len)?).map(Cow::Borrowed)
    }
}

/// What a read of a file showed, by the host's own account: the lines from `first` on, of a file of `total` lines. As a text that
/// knowledge can be compared with: lines that were not read are empty. `None` if the numbers cannot be true.
#[must_use]
pub fn text_of_read(content: &str, first: u32, total: u32) -> Option<Text> {
    let pieces = u32::try_from(content.split('\n').count()).ok()?;
    let last = first.checked_add(pieces)?.checked_sub(1)?;
    if first == 0 || last > total || total > numbered::MOST_LINES {
        return None;
    }
    let after = std::iter::repeat_n("", (total - last) as usize);
    Some(numbered::text_of(first, content.split('\n').chain(after)))
}
