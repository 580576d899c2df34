//! pi's session files, version 3, as a transcript: a tree of JSON lines, derived entry by entry as they are appended.
//! Nothing of a line is kept but what knowledge needs.
//!
//! A read result counts only by its metadata V1 (`details.readcache`) and the block that the model sees. Readproof's own
//! pi surface adds these optional fields to the metadata; lines there are counted by `lf-1`, not as pi counts them:
//!
//! | field | meaning |
//! |---|---|
//! | `textSha` | SHA-256 of the one text block of the result |
//! | `textBytes` | its bytes |
//! | `total` | lines of the text served |
//! | `lines` | `[first, last]`: lines shown whole (`full`, `baseline_fallback`) or vouched for (markers); absent for none |
//! | `end` | whether call and text, or the marker, show where the file ends |
//!
//! Without them (the older tool) only what can be checked in the block against the stored text counts.

mod block;
mod call;
mod count;
mod id;
mod line;
mod needs;
mod outcome;
mod state;
mod transcript;

pub use count::{end_line, total_lines};
pub use needs::hashes;
pub use transcript::{Counts, EntryRef, Pending, Transcript, Why};

use readproof_core::text::{ContentHash, Text};

/// Finds a stored text by its hash, verified; `None` when it is not there.
pub type Lookup<'a> = &'a dyn Fn(ContentHash) -> Option<Text>;
