//! Work that calls leave to a thread of its own, which takes it in batches. A call only puts its piece on a list; the thread is
//! woken where it sleeps, and otherwise comes by itself a little later. A call whose piece must be done first waits.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::conversation::locked;

/// How long the first piece of a batch waits for others.
const BATCH: Duration = Duration::from_millis(20);

/// As many pieces are a batch at once.
const FULL: usize = 256;

/// A call waits while more pieces than this wait: memory is finite.
const MOST_PIECES: usize = 20_000;

/// The same for the bytes of texts that they hold.
const MOST_BYTES: usize = 64 << 20;

/// A list that one thread works off.
pub(super) struct Later<T> {
    state: Mutex<State<T>>,
    /// Something was added, for the thread.
    added: Condvar,
    /// Something was done, for calls that wait.
    done: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    bytes: usize,
    /// How many pieces were added.
    added: u64,
    /// How many of them were worked off, and how many of these durably.
    done: u64,
    durable: u64,
    thread: Thread,
    /// Whether the thread sleeps until something is added.
    is_asleep: bool,
    /// Whether a call waits for the disk.
    is_urgent: bool,
    /// Whether the program ends.
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    NotStarted,
    Runs,
    /// It ended, or there can be none.
    Gone,
}

/// What to do next.
pub(super) struct Batch<T> {
    pub(super) pieces: Vec<T>,
    /// Whether a call waits until they are durable.
    pub(super) is_urgent: bool,
    pub(super) is_over: bool,
    /// How many pieces were added up to the last of these.
    pub(super) upto: u64,
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        let state = State {
            waiting: Vec::new(),
            bytes: 0,
            added: 0,
            done: 0,
            durable: 0,
            thread: Thread::NotStarted,
            is_asleep: false,
            is_urgent: false,
            is_over: false,
        };
        Self { state: Mutex::new(state), added: Condvar::new(), done: Condvar::new() }
    }
}

impl<T: Send + 'static> Later<T> {
    /// Adds the piece that `make` makes of its number, from 1. The first one starts the thread, which runs `work`. Gives the
    /// number, and the piece back if there can be no thread.
    pub(super) fn add(
        self: &Arc<Self>,
        (bytes, is_urgent): (usize, bool),
        make: impl FnOnce(u64) -> T,
        (name, work): (&str, impl FnOnce(&Self) + Send + 'static),
    ) -> (u64, Option<T>) {
        let mut state = locked(&self.state);
        while state.thread == Thread::Runs && (state.waiting.len() >= MOST_PIECES || state.bytes >= MOST_BYTES) {
            state = wait(&self.done, state, BATCH).0;
        }
        state.added += 1;
        let (number, piece) = (state.added, make(state.added));
        if state.thread == Thread::NotStarted {
            state.thread = if self.start(name, work) { Thread::Runs } else { Thread::Gone };
        }
        if state.thread == Thread::Gone {
            return (number, Some(piece));
        }
        state.waiting.push(piece);
        state.bytes += bytes;
        state.is_urgent |= is_urgent;
        let is_to_wake = mem::take(&mut state.is_asleep) || is_urgent || state.waiting.len() == FULL;
        drop(state);
        if is_to_wake {
            self.added.notify_one();
        }
        (number, None)
    }

    fn start(self: &Arc<Self>, name: &str, work: impl FnOnce(&Self) + Send + 'static) -> bool {
        let list = Arc::clone(self);
        let run = move || {
            // Also when it panics, so that nobody waits for it.
            let gone = Gone(&list);
            work(&list);
            drop(gone);
        };
        thread::Builder::new().name(name.to_owned()).spawn(run).is_ok()
    }

    /// Waits until a piece is durable, or failed.
    pub(super) fn wait_for(&self, number: u64) {
        let mut state = locked(&self.state);
        while state.durable < number && state.thread == Thread::Runs {
            state = wait(&self.done, state, Duration::from_secs(1)).0;
        }
    }

    /// Waits until everything that was added so far is worked off, or `most` has passed.
    pub(super) fn flush(&self, most: Duration) {
        let end = Instant::now() + most;
        let mut state = locked(&self.state);
        let upto = state.added;
        state.is_urgent |= !state.waiting.is_empty();
        self.added.notify_one();
        while state.done < upto && state.thread == Thread::Runs && Instant::now() < end {
            state = wait(&self.done, state, BATCH).0;
        }
    }

    /// Tells the thread to end once nothing is left, and waits for that.
    pub(super) fn end(&self, most: Duration) {
        let end = Instant::now() + most;
        let mut state = locked(&self.state);
        state.is_over = true;
        self.added.notify_one();
        while state.thread == Thread::Runs && Instant::now() < end {
            state = wait(&self.done, state, BATCH).0;
        }
    }

    /// How many pieces were added.
    pub(super) fn count(&self) -> u64 {
        self.at_count(|count| count)
    }

    /// The same, for something to be done before the next piece is added.
    pub(super) fn at_count<R>(&self, then: impl FnOnce(u64) -> R) -> R {
        then(locked(&self.state).added)
    }

    /// For the thread: waits until something is to be done. The batch is empty after `most`, and at the end.
    pub(super) fn next(&self, most: Duration) -> Batch<T> {
        let mut state = locked(&self.state);
        let sleep = Instant::now() + most;
        while state.waiting.is_empty() && !state.is_over && !state.is_urgent {
            let left = sleep.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.is_asleep = true;
            state = wait(&self.added, state, left).0;
            state.is_asleep = false;
        }
        let end = Instant::now() + BATCH;
        while !state.waiting.is_empty() && !state.is_urgent && !state.is_over && state.waiting.len() < FULL {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wait(&self.added, state, left).0;
        }
        state.bytes = 0;
        let (pieces, is_urgent) = (mem::take(&mut state.waiting), mem::take(&mut state.is_urgent));
        Batch { pieces, is_urgent, is_over: state.is_over, upto: state.added }
    }

    /// For the thread: this batch was worked off, durably or not.
    pub(super) fn is_done(&self, batch: &Batch<T>, is_durable: bool) {
        let mut state = locked(&self.state);
        state.done = batch.upto;
        if is_durable {
            state.durable = batch.upto;
        }
        self.done.notify_all();
    }
}

/// Says that the thread is gone.
struct Gone<'l, T>(&'l Later<T>);

impl<T> Drop for Gone<'_, T> {
    fn drop(&mut self) {
        locked(&self.0.state).thread = Thread::Gone;
        self.0.done.notify_all();
    }
}

fn wait<'s, S>(on: &Condvar, state: MutexGuard<'s, S>, most: Duration) -> (MutexGuard<'s, S>, bool) {
    let (state, waited) = on.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner);
    (state, waited.timed_out())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn pieces_come_in_order_and_who_must_wait_waits() {
        let (list, (sender, taken)) = (Arc::new(Later::<u64>::default()), channel());
        let work = |sender: std::sync::mpsc::Sender<u64>| {
            move |list: &Later<u64>| {
                loop {
                    let batch = list.next(Duration::from_secs(60));
                    batch.pieces.iter().for_each(|piece| sender.send(*piece).unwrap());
                    list.is_done(&batch, batch.is_urgent);
                    if batch.is_over {
                        break;
                    }
                }
            }
        };
        for number in 1..=1000 {
            let is_urgent = number % 100 == 0;
            let (at, back) = list.add((0, is_urgent), |number| number, ("test", work(sender.clone())));
            assert_eq!((at, back), (number, None));
            if is_urgent {
                list.wait_for(at);
                assert_eq!(taken.try_iter().last(), Some(number));
            }
        }
        list.end(Duration::from_secs(60));
        assert_eq!(list.count(), 1000);
    }

    #[test]
    fn a_thread_that_panics_lets_nobody_wait() {
        let list = Arc::new(Later::<u64>::default());
        let (at, _) = list.add((0, true), |number| number, ("test", |_: &Later<u64>| panic!("on purpose")));
        list.wait_for(at);
        assert_eq!(list.add((0, true), |number| number, ("test", |_: &Later<u64>| ())), (2, Some(2)));
    }
}
