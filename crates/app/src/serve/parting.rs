//! The end of a server: when the client has closed its end, the process goes, whatever hangs in it.

use rustix::{
    event::{PollFd, PollFlags},
    io::Errno,
};
use std::{
    io, process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// So long the calls under way have when the client goes.
pub(super) const PARTING: Duration = Duration::from_millis(800);

/// Watches standard input on a thread of its own, and ends the process soon after the client has closed it and nothing more is
/// `done`. Who ends in good order before is not kept.
pub(super) fn leave_with_the_client(done: Arc<AtomicU64>) {
    thread::spawn(move || {
        if is_closed_at_last() {
            let mut before = u64::MAX;
            while before != done.load(Ordering::Relaxed) {
                before = done.load(Ordering::Relaxed);
                thread::sleep(PARTING + PARTING / 8);
            }
            process::exit(0);
        }
    });
}

/// Waits for the end; `false` for what cannot be watched, which is read to its end like a file.
fn is_closed_at_last() -> bool {
    let input = io::stdin();
    loop {
        let mut ends = [PollFd::new(&input, PollFlags::RDHUP)];
        match rustix::event::poll(&mut ends, None) {
            Ok(_) if ends.iter().any(|end| !end.revents().is_empty()) => return true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
