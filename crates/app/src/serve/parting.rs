//! The end of a server: once the client has closed its end, the process exits, even if a call hangs.

use readproof_disk::input_is_closed_at_last;
use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// How long running calls may continue after the client has disconnected.
pub(super) const GRACE: Duration = Duration::from_millis(800);

/// Watches standard input on a separate thread, and ends the process soon after the client has closed it and `done` no
/// longer grows. Does not delay a process that exits by itself.
pub(super) fn exit_with_client(done: Arc<AtomicU64>) {
    thread::spawn(move || {
        if input_is_closed_at_last() {
            let mut before = u64::MAX;
            while before != done.load(Ordering::Relaxed) {
                before = done.load(Ordering::Relaxed);
                thread::sleep(GRACE + GRACE / 8);
            }
            process::exit(0);
        }
    });
}
