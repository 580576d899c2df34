//! Looking after the store: what there is, whether it is whole, whether logs say what was answered, what nobody needs.

mod doctor;
mod gc;
mod replay;
mod status;

pub use doctor::{Check, Health};
pub use gc::{Collected, Collection, GcPlan, HostSession, HostTexts, RetainedBy};
pub use replay::{About, Finding, OutsideChange, Replayed, Unverifiable, Wrong};
pub use status::Status;
