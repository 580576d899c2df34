//! Fuzzing: one function per target, which takes any bytes, and a driver that makes them. A target asserts what must hold
//! for every input; a panic or a failed assertion is a bug. The seed alone determines the inputs: no clock, no hash order.
//! Nothing here is part of the program.
#![allow(
    missing_docs,
    reason = "a name that says everything needs no comment; the crate is only used in this workspace"
)]

pub mod corpus;
pub mod driver;
mod mutate;
pub mod targets;

pub use targets::{Seen, TARGETS, Target};
