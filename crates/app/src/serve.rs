//! Servers: each serves one client on standard input and output until the client disconnects.

pub(crate) mod bridge;
pub(crate) mod claude_code;
pub(crate) mod mcp;
mod parting;
pub(crate) mod query;
pub(crate) mod watch;

pub(crate) use claude_code::HELD as HELD_BY_HOOKS;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks even after a thread has panicked: no lock here guards data that a panic leaves half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
