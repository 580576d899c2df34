//! pi's session files: every rule by a hand-made conversation, and what appending, moving and editing cost.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

#[path = "pi/page.rs"]
mod page;
#[path = "pi/rules.rs"]
mod rules;
#[path = "pi/session.rs"]
mod session;
#[path = "pi/slow.rs"]
mod slow;
