//! Looking after the store: what there is, whether it is whole, whether logs say what was answered, what nobody needs.

mod doctor;
mod gc;
mod replay;
mod status;

pub use doctor::{Check, Health, Progress};
pub use gc::{Collected, GcPlan, GcRules, Needed, Needer};
pub use replay::{About, Finding, OutsideChange, Replayed, Unverifiable, Wrong};
pub use status::{FileStatus, SessionStatus, Status};
