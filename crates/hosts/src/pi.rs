//! pi's session files, version 3, as a transcript: a tree of JSON lines. Appending lines finds only the place of each
//! entry and whether it can matter. What the model holds is derived when a leaf is asked about, back to the barrier or
//! to what was derived before. Of a line only what knowledge needs is kept.
//!
//! A read result counts only by its metadata V1 (`details.readcache`) and the block that the model sees. Readproof adds
//! these optional fields to the metadata. They count lines by `lf-1`, not as pi does:
//!
//! | field | meaning |
//! |---|---|
//! | `textSha` | SHA-256 of the one text block of the result |
//! | `textBytes` | its bytes |
//! | `total` | lines of the text served |
//! | `lines` | `[first, last]`: lines shown whole (`full`, `baseline_fallback`) or vouched for (markers); absent for none |
//! | `end` | whether call and text, or the marker, show where the file ends |
//! | `plainBytes` | bytes that a plain answer would have had; only counted, so it may be absent |
//! | `moment` | the newest record of the version log before the file was looked at; absent if there was none |
//!
//! Without them (results of the older tool), only what can be checked in the block against the stored text counts.

mod block;
mod call;
mod fact;
mod history;
mod id;
mod line;
mod meta;
mod outcome;
mod overtaken;
mod piece;
mod settle;
mod state;
mod style;
mod transcript;

pub use meta::hashes;
pub use outcome::ReadStats;
pub use overtaken::Met;
pub use style::{STYLE, is_image, total_lines};
pub use transcript::{Counts, EntryRef, Known, Pending, Pushed, Transcript, UnknownEntry, Why};

use readproof_core::text::{ContentHash, Text};
use std::borrow::Cow;

/// Where a transcript gets texts from when it is asked what holds somewhere.
pub trait Source {
    /// A stored text by its hash, verified; `None` if it is not there.
    fn text(&self, hash: ContentHash) -> Option<Text>;

    /// Bytes that were appended before, from this offset in the session; `None` if they are gone.
    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>>;
}
