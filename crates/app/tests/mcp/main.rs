//! `readproof mcp` from outside, by JSON-RPC over pipes: the real binary in a workspace of its own, in both eras of the
//! protocol.
#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

mod answers;
mod approvals;
mod attacks;
mod calls;
mod client;
mod diffs;
mod docs;
mod finding;
mod first;
mod handles;
mod hooks;
mod listing;
mod roots;
mod symbols;
mod told;
mod wire;
