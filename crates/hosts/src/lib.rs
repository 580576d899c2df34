//! What the model can still see. Each host's transcript becomes core events and, entry by entry, knowledge.
//! Today there is one host: our own session log. This room opens nothing by itself: logs come from `disk`.

pub mod own;
