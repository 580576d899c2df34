//! What the model can still see. Each host's transcript becomes core events and, entry by entry, knowledge: our own session
//! log, and pi's session files. This room opens nothing by itself: logs and transcripts come from `disk`.

mod block;
pub mod codex;
mod derive;
pub mod pi;
pub mod session;
mod tree;
