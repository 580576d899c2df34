//! Fuzzing: one function per target, which takes any bytes, and a driver that makes them. A target asserts what must hold
//! for every input; a panic or a failed assertion is a bug. Which inputs come is decided by the seed alone: no clock, no
//! hash order. Nothing here is part of the program.

pub mod corpus;
pub mod driver;
mod mutate;
pub mod targets;

pub use targets::{Seen, TARGETS, Target};
