//! Names that a walk meets, each judged on whatever thread is free while the walk goes on: most of the time of a look goes into asking
//! for stats, and that of a walk into listing folders. The registry, the index of symbols and that of words all compare stats here.

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

/// How many names are handed over together.
const TOGETHER: usize = 512;

/// So many batches are judged by the thread that walks: fewer names are not worth another one.
const ALONE: usize = 4;

/// No more threads are started: they wait for the same locks of the kernel.
const MOST_THREADS: usize = 8;

/// What `judge` makes of the names that `walk` gives, in that order.
pub(crate) fn judged<N: Send, T: Send, E>(
    walk: impl FnOnce(&mut dyn FnMut(N)) -> Result<(), E>,
    judge: impl Fn(N) -> Option<T> + Sync,
) -> Result<Vec<T>, E> {
    let of_all = |(at, names): (usize, Vec<N>)| (at, names.into_iter().filter_map(&judge).collect::<Vec<T>>());
    let (sender, given) = mpsc::channel::<(usize, Vec<N>)>();
    let given = Mutex::new(given);
    // Whoever holds the lock waits for names, and the others for the lock.
    let next = || given.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    let work = || std::iter::from_fn(next).map(of_all).collect::<Vec<_>>();
    let done = thread::scope(|scope| {
        let (mut batch, mut count, mut others, mut done) = (Vec::new(), 0, None, Vec::new());
        let walked = walk(&mut |name| {
            batch.push(name);
            if batch.len() < TOGETHER {
                return;
            }
            let names = (count, std::mem::take(&mut batch));
            count += 1;
            if count <= ALONE {
                done.push(of_all(names));
                return;
            }
            let others: &mut Vec<_> = others.get_or_insert_with(|| {
                let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).clamp(2, MOST_THREADS);
                // The system may allow none.
                (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect()
            });
            if others.is_empty() {
                done.push(of_all(names));
            } else {
                // This thread takes what is left.
                let _ = sender.send(names);
            }
        });
        drop(sender);
        if walked.is_ok() {
            done.push(of_all((count, batch)));
        }
        done.extend(work());
        for other in others.into_iter().flatten() {
            // What it took must not be left out.
            done.extend(other.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
        }
        walked.map(|()| done)
    });
    let mut done = done?;
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().flat_map(|(_, judged)| judged).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_judged_once_and_in_order() {
        for count in [0, 1, TOGETHER, TOGETHER * ALONE, TOGETHER * (ALONE + 3) + 7] {
            let walk = |give: &mut dyn FnMut(usize)| {
                (0..count).for_each(give);
                Ok::<_, ()>(())
            };
            let odd = judged(walk, |name| (name % 2 == 1).then_some(name)).unwrap();
            assert_eq!(odd, (0..count).filter(|name| name % 2 == 1).collect::<Vec<_>>());
        }
        let given_up = |give: &mut dyn FnMut(usize)| {
            (0..TOGETHER * (ALONE + 2)).for_each(give);
            Err("given up")
        };
        assert_eq!(judged(given_up, Some).unwrap_err(), "given up");
    }
}
