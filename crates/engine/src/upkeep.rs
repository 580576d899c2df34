//! Looking after the store: what there is, whether it is whole, whether logs say what was answered, what nobody needs.

mod doctor;
mod gc;
mod replay;
mod status;

pub use doctor::{Check, Health, LISTED, Says};
pub use gc::{Collected, Collection, GcPlan, HostSession, HostTexts, RetainedBy, Unread};
pub use replay::{About, Finding, NotAllowed, OutsideChange, Replayed, Unverifiable, Wrong};
pub use status::Status;
