//! The end of a server: when the client has closed its end, the process goes, whatever hangs in it.

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

/// So long the calls under way have when the client goes.
pub(super) const GRACE: Duration = Duration::from_millis(800);

/// Watches standard input on a thread of its own, and ends the process soon after the client has closed it and nothing more is
/// `done`. Who ends in good order before is not kept.
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
