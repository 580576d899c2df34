//! Maintenance of the store: its state (`status`), its integrity (`doctor`), whether logs match what was answered
//! (`replay`), removal of what is not needed (`gc`), and of what a person wants gone (`forget`).

mod doctor;
mod forget;
mod gc;
mod replay;
mod retention;
mod status;

pub use doctor::{Check, Health, LISTED, Says};
pub use forget::Forgotten;
pub use gc::{Collected, Collection, GcPlan, HostSession, HostTexts, RetainedBy, Unread};
pub use replay::{About, Finding, NotAllowed, OutsideChange, Replayed, ReplayedLog, Unverifiable, Wrong};
pub use retention::{ErasedText, LostVersion};
pub use status::Status;
