//! Maintenance of the store: its state (`status`), its integrity (`doctor`), whether logs match what was answered
//! (`replay`), and removal of what is not needed (`gc`).

mod doctor;
mod gc;
mod replay;
mod status;

pub use doctor::{Check, Health, LISTED, Says};
pub use gc::{Collected, Collection, GcPlan, HostSession, HostTexts, RetainedBy, Unread};
pub use replay::{About, Finding, NotAllowed, OutsideChange, Replayed, Unverifiable, Wrong};
pub use status::Status;
