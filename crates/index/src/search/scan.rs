//! Looks at the files of a walk on several cores and hands over what was seen in the order of the walk, so that the result
//! does not depend on the number of cores. How far the cores run ahead of the slowest file, and how many bytes of files are
//! in memory together, is bounded. Knows nothing of what is searched for.

use std::{
    collections::BTreeMap,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::walk::WalkEntry;

/// Files that one thread takes together.
const CHUNK: usize = 8;

/// The most chunks that are given out and not yet handed over.
const AHEAD: u64 = 24;

/// Chunks that come back before more are given out: waking the thread that walks costs as much as a look at a small file. The
/// others keep all threads busy.
const REFILL: usize = 8;

/// Files that are looked at before other threads are started, which costs more than a few small files.
const FIRST: usize = 16;

/// The most threads: the walk is the work of one, and keeps about so many busy.
const MOST_THREADS: usize = 8;

/// Bytes of files that are in memory together; a larger file is there alone.
const ROOM_BYTES: u64 = 32 << 20;

/// How often a thread that waits asks whether anybody still wants the result.
const PATIENCE: Duration = Duration::from_millis(20);

/// The caller no longer wants the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cancelled;

/// What the walk met.
pub(super) enum Met<T> {
    /// By its name in the workspace, with what was seen in it.
    File(String, T),
    OddName,
    Unreadable,
}

/// What a look at a file may use.
pub(super) struct Desk<'a> {
    pub(super) cancelled: &'a dyn Fn() -> bool,
    room: &'a Room,
}

impl Desk<'_> {
    /// Waits until a file of this size may be read.
    pub(super) fn hold(&self, bytes: u64) -> Result<Held<'_>, Cancelled> {
        self.room.hold(bytes, self.cancelled)
    }
}

/// The number of threads for a search.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MOST_THREADS)
}

/// Looks at every file; `take` gets what was seen, in the order of the walk and on this thread.
///
/// # Errors
/// [`Cancelled`], also if `take` says so.
pub(super) fn scan<T: Send>(
    threads: usize,
    walk: &mut impl Iterator<Item = WalkEntry>,
    cancelled: &dyn Fn() -> bool,
    look: &(impl Fn(&str, &Desk<'_>) -> T + Sync),
    take: &mut impl FnMut(Met<T>, &Desk<'_>) -> Result<(), Cancelled>,
) -> Result<(), Cancelled> {
    let room = Room::default();
    let desk = Desk { cancelled, room: &room };
    let first = if threads > 1 { FIRST } else { usize::MAX };
    if !alone(first, walk, &desk, look, take)? {
        return Ok(());
    }
    let (jobs, todo) = mpsc::channel();
    let done = Done::default();
    let (todo, stop, lost) = (Mutex::new(todo), AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let start = || {
            let (todo, done, stop, lost, room) = (&todo, &done, &stop, &lost, &room);
            let thread = move || {
                let _guard = OnPanic(lost);
                let cancelled = || stop.load(Ordering::Relaxed);
                work(todo, done, look, &Desk { cancelled: &cancelled, room });
            };
            thread::Builder::new().spawn_scoped(scope, thread).is_ok()
        };
        // Where the system allows no more threads, fewer do it.
        let started = (0..threads).take_while(|_| start()).count();
        let outcome = if started == 0 {
            alone(usize::MAX, walk, &desk, look, take).map(drop)
        } else {
            Pipeline { jobs, done: &done, lost: &lost, sent: 0, taken: 0 }.run(walk, &desk, take)
        };
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Looks at up to `most` files on this thread; whether the walk goes on.
fn alone<T>(
    most: usize,
    walk: &mut impl Iterator<Item = WalkEntry>,
    desk: &Desk<'_>,
    look: &impl Fn(&str, &Desk<'_>) -> T,
    take: &mut impl FnMut(Met<T>, &Desk<'_>) -> Result<(), Cancelled>,
) -> Result<bool, Cancelled> {
    let mut files = 0;
    while files < most {
        let Some(entry) = next(walk, desk.cancelled)? else { return Ok(false) };
        match entry {
            WalkEntry::File(name) => {
                files += 1;
                let seen = look(&name, desk);
                take(Met::File(name, seen), desk)?;
            }
            WalkEntry::OddName => take(Met::OddName, desk)?,
            WalkEntry::Unreadable => take(Met::Unreadable, desk)?,
            WalkEntry::Link(_) | WalkEntry::Other => {}
        }
    }
    Ok(true)
}

/// Files by their place in the order.
type Chunk<F> = (u64, Vec<F>);

/// One of the threads: looks at chunks until there are no more.
fn work<T>(
    todo: &Mutex<mpsc::Receiver<Chunk<String>>>,
    done: &Done<T>,
    look: &impl Fn(&str, &Desk<'_>) -> T,
    desk: &Desk<'_>,
) {
    let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok((turn, names)) = next() {
        let mut seen = Vec::with_capacity(names.len());
        for name in names {
            if (desk.cancelled)() {
                return;
            }
            let one = look(&name, desk);
            seen.push((name, one));
        }
        done.put((turn, seen));
    }
}

/// Chunks that were looked at and not yet collected.
struct Done<T> {
    chunks: Mutex<Finished<T>>,
    enough: Condvar,
}

struct Finished<T> {
    seen: Vec<Chunk<(String, T)>>,
    /// How many the caller's thread waits for; 0 while it does not wait.
    wanted: usize,
}

impl<T> Default for Done<T> {
    fn default() -> Self {
        Self { chunks: Mutex::new(Finished { seen: Vec::new(), wanted: 0 }), enough: Condvar::new() }
    }
}

impl<T> Done<T> {
    fn put(&self, chunk: Chunk<(String, T)>) {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.seen.push(chunk);
        let is_enough = chunks.seen.len() == chunks.wanted;
        drop(chunks);
        if is_enough {
            self.enough.notify_one();
        }
    }

    /// Waits for so many chunks, but not long; collects what is there.
    fn collect(&self, wanted: usize) -> Vec<Chunk<(String, T)>> {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.wanted = wanted;
        let waits = |chunks: &mut Finished<T>| chunks.seen.len() < wanted;
        chunks = self.enough.wait_timeout_while(chunks, PATIENCE, waits).unwrap_or_else(PoisonError::into_inner).0;
        chunks.wanted = 0;
        std::mem::take(&mut chunks.seen)
    }
}

/// The caller's thread: walks, gives out chunks, and puts what comes back in order.
struct Pipeline<'a, T> {
    jobs: mpsc::Sender<Chunk<String>>,
    done: &'a Done<T>,
    /// Whether a thread has panicked: what it had will never come.
    lost: &'a AtomicBool,
    sent: u64,
    taken: u64,
}

impl<T> Pipeline<'_, T> {
    fn run(
        mut self,
        walk: &mut impl Iterator<Item = WalkEntry>,
        desk: &Desk<'_>,
        take: &mut impl FnMut(Met<T>, &Desk<'_>) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        let mut early = BTreeMap::new();
        let mut is_walked = false;
        loop {
            while !is_walked && self.sent - self.taken < AHEAD {
                is_walked = !self.give_out(walk, desk, take)?;
            }
            if self.sent == self.taken {
                return Ok(());
            }
            early.extend(self.done.collect(self.wanted(is_walked, early.len())));
            // The panic goes on when the threads are joined.
            if (desk.cancelled)() || self.lost.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            while let Some(seen) = early.remove(&self.taken) {
                for (name, seen) in seen {
                    take(Met::File(name, seen), desk)?;
                }
                self.taken += 1;
            }
        }
    }

    /// How many chunks to wait for: all once there is nothing more to give out, and one where a slow file holds up the rest.
    fn wanted(&self, is_walked: bool, early: usize) -> usize {
        let under_way = usize::try_from(self.sent - self.taken).unwrap_or(usize::MAX).saturating_sub(early);
        if is_walked {
            under_way
        } else if under_way > REFILL {
            REFILL
        } else {
            1
        }
    }

    /// Gives out one chunk; whether the walk goes on.
    fn give_out(
        &mut self,
        walk: &mut impl Iterator<Item = WalkEntry>,
        desk: &Desk<'_>,
        take: &mut impl FnMut(Met<T>, &Desk<'_>) -> Result<(), Cancelled>,
    ) -> Result<bool, Cancelled> {
        let mut names = Vec::with_capacity(CHUNK);
        let mut goes_on = true;
        while goes_on && names.len() < CHUNK {
            match next(walk, desk.cancelled)? {
                Some(WalkEntry::File(name)) => names.push(name),
                Some(WalkEntry::OddName) => take(Met::OddName, desk)?,
                Some(WalkEntry::Unreadable) => take(Met::Unreadable, desk)?,
                Some(WalkEntry::Link(_) | WalkEntry::Other) => {}
                None => goes_on = false,
            }
        }
        if !names.is_empty() {
            self.jobs.send((self.sent, names)).map_err(|_| Cancelled)?;
            self.sent += 1;
        }
        Ok(goes_on)
    }
}

fn next(
    walk: &mut impl Iterator<Item = WalkEntry>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Option<WalkEntry>, Cancelled> {
    if cancelled() { Err(Cancelled) } else { Ok(walk.next()) }
}

/// Tells when its thread panics.
struct OnPanic<'a>(&'a AtomicBool);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(thread::panicking(), Ordering::Relaxed);
    }
}

/// The bytes of the files that are in memory.
#[derive(Default)]
struct Room {
    held: Mutex<u64>,
    freed: Condvar,
    /// How many wait for room; nobody else need be woken.
    waiting: AtomicUsize,
}

/// Part of the room, given back when dropped.
pub(super) struct Held<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    fn hold(&self, bytes: u64, cancelled: &dyn Fn() -> bool) -> Result<Held<'_>, Cancelled> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0 && held.saturating_add(bytes) > ROOM_BYTES {
            if cancelled() {
                return Err(Cancelled);
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            held = self.freed.wait_timeout(held, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        *held = held.saturating_add(bytes);
        Ok(Held { room: self, bytes })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut held = self.room.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(self.bytes);
        let waited_for = self.room.waiting.load(Ordering::SeqCst) > 0;
        drop(held);
        if waited_for {
            self.room.freed.notify_all();
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::walk::walk;
    use readproof_disk::Root;
    use std::{fs, panic, sync::atomic::AtomicU64};

    fn tree(files: usize) -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        for n in 0..files {
            fs::write(temp.path().join(format!("f{n:04}")), "").unwrap();
        }
        let root = Root::open(temp.path()).unwrap();
        (temp, root)
    }

    #[test]
    fn files_come_in_the_order_of_the_walk() {
        let (_temp, root) = tree(300);
        for threads in 1..9 {
            let mut names = Vec::new();
            let look = |name: &str, desk: &Desk<'_>| {
                let n: u64 = name[1..].parse().unwrap();
                let _held = desk.hold(n * 1_000_000);
                thread::sleep(Duration::from_micros(n * 7919 % 400));
                n
            };
            let mut take = |met: Met<u64>, _: &Desk<'_>| {
                let Met::File(name, n) = met else { panic!("{threads}") };
                assert_eq!(name, format!("f{n:04}"));
                names.push(n);
                Ok(())
            };
            scan(threads, &mut walk(&root, None).unwrap(), &|| false, &look, &mut take).unwrap();
            assert_eq!(names, (0..300).collect::<Vec<_>>());
        }
    }

    #[test]
    fn whoever_takes_can_stop_it() {
        let (_temp, root) = tree(300);
        for at in [3, 100, 299] {
            let mut taken = 0;
            let mut take = |_: Met<()>, _: &Desk<'_>| {
                taken += 1;
                if taken > at { Err(Cancelled) } else { Ok(()) }
            };
            let done = scan(3, &mut walk(&root, None).unwrap(), &|| false, &|_, _| (), &mut take);
            assert_eq!((done, taken), (Err(Cancelled), at + 1));
        }
    }

    #[test]
    fn a_panic_is_not_waited_for() {
        let (_temp, root) = tree(300);
        let look = |name: &str, _: &Desk<'_>| assert!(name != "f0150");
        let run =
            panic::AssertUnwindSafe(|| scan(3, &mut walk(&root, None).unwrap(), &|| false, &look, &mut |_, _| Ok(())));
        assert!(panic::catch_unwind(run).is_err());
    }

    #[test]
    fn files_in_memory_together_are_bounded() {
        let room = Room::default();
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for n in 0..6_u64 {
                let (room, now, most) = (&room, &now, &most);
                scope.spawn(move || {
                    for round in 0..60 {
                        let bytes = (1 << 20) + ((n * 31 + round * 17) % 40) * (1 << 20);
                        let held = room.hold(bytes, &|| false).unwrap();
                        let sum = now.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        // One larger than the room is alone.
                        assert!(sum <= ROOM_BYTES || sum == bytes, "{sum}");
                        most.fetch_max(sum, Ordering::SeqCst);
                        thread::yield_now();
                        now.fetch_sub(bytes, Ordering::SeqCst);
                        drop(held);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) > ROOM_BYTES / 2);
        let _all = room.hold(ROOM_BYTES, &|| false).unwrap();
        assert!(room.hold(1, &|| true).is_err());
    }
}
