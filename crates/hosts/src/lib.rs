//! What the model can still see. Each host's transcript is read as a tree of entries and becomes core events and, entry by
//! entry, knowledge. A new transcript supplies how its entries parse, what an entry does to what is known, and how its ids
//! become numbers; branches, compactions and context edits are the same for all (`shared`). This room opens no
//! files: logs and transcripts come from `disk`.
#![allow(missing_docs, reason = "only our own rooms use this one; a comment stands where a name does not say enough")]

pub mod approvals;
pub mod audit;
pub mod calls;
pub mod claude_code;
pub mod codex;
pub mod pi;
pub mod session;
mod shared;
pub mod versions;

pub use shared::block;
use shared::{derive, json, tree};
