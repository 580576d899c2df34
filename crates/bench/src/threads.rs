//! Reads that share the machine with other work: eight threads at once, and one read while a search runs. The floor is that
//! of every read, under the same load. Only [`shared`] calls the engine.

mod shared;

use std::{
    fs,
    num::TryFromIntError,
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use readproof_engine::Receipt;

use crate::{
    Broken,
    cases::{Case, floor_read, text},
    harness::{Bar, Samples, Subject, Unit, measure},
};
use shared::Shared;

const THREADS: usize = 8;

/// Reads of one thread in one round: enough that starting the threads does not matter.
const BATCH: u32 = 400;

/// Rounds that are discarded; each is a batch already.
const WARM_UP: u32 = 2;

/// Files that are searched.
const TREE: u32 = 40_000;
const FILES_PER_FOLDER: u32 = 200;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "threads-8",
        about: "unchanged reads of 10 KB by 8 threads, a conversation each: throughput in multiples of one thread's; \
                floor: the same for floor reads",
        bar: Bar::AtLeast(0.85),
        rounds: 40,
        run: |rounds| threads(rounds, THREADS, BATCH),
    },
    Case {
        name: "read-beside-search",
        about: "a file of 10 KB that the model holds is read again while a search of 40,000 files runs; floor: under the \
                same search",
        bar: Bar::AtMost(1.5),
        // About a second: several whole searches.
        rounds: 20_000,
        run: |rounds| measure(rounds, &mut BesideSearch::new(TREE)?),
    },
];

/// What threads repeat; each gets its number. The error is a string because it crosses threads.
type Work<'w> = dyn Fn(usize) -> Result<(), String> + Sync + 'w;

fn threads(rounds: u32, threads: usize, batch: u32) -> Result<Samples, Broken> {
    let shared = Shared::new(threads)?;
    let floor = |number| floor_read(shared.file(number)).map_err(|error| error.to_string());
    let ours = |number| shared.read(number);
    let mut samples = Samples::of(Unit::Scaling);
    for round in 0..rounds + WARM_UP {
        let (floor, ours) = if round % 2 == 0 {
            let floor = scaling(threads, batch, &floor)?;
            (floor, scaling(threads, batch, &ours)?)
        } else {
            let ours = scaling(threads, batch, &ours)?;
            (scaling(threads, batch, &floor)?, ours)
        };
        if round >= WARM_UP {
            samples.push(floor, ours);
        }
    }
    Ok(samples)
}

/// The throughput of this many threads in multiples of one thread's, in thousandths.
fn scaling(threads: usize, batch: u32, work: &Work<'_>) -> Result<u64, Broken> {
    let one = at_once(1, batch, work)?;
    Ok(multiple(threads, one, at_once(threads, batch, work)?)?)
}

/// All threads do the same batch as the one did, so the times alone say it.
fn multiple(threads: usize, one: Duration, all: Duration) -> Result<u64, TryFromIntError> {
    u64::try_from(threads as u128 * 1000 * one.as_nanos() / all.as_nanos().max(1))
}

/// How long it takes until every thread has done its batch, from the first to begin to the last to end.
fn at_once(threads: usize, batch: u32, work: &Work<'_>) -> Result<Duration, Broken> {
    let ready = Barrier::new(threads);
    let run = |number| -> Result<(Instant, Instant), String> {
        ready.wait();
        let begin = Instant::now();
        (0..batch).try_for_each(|_| work(number))?;
        Ok((begin, Instant::now()))
    };
    let spans = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(move || run(number))).collect();
        let joined =
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())));
        joined.collect::<Result<Vec<_>, String>>()
    })?;
    let begin = spans.iter().map(|(begin, _)| *begin).min().ok_or("there are no threads")?;
    let end = spans.iter().map(|(_, end)| *end).max().ok_or("there are no threads")?;
    Ok(end - begin)
}

/// One conversation that reads, and searches that follow each other without a pause.
struct BesideSearch {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    searching: Option<JoinHandle<Result<(), String>>>,
    /// The receipt of the latest answer.
    receipt: Option<Receipt>,
}

impl BesideSearch {
    fn new(files: u32) -> Result<Self, Broken> {
        let shared = Arc::new(Shared::new(1)?);
        make_tree(&shared.folder().join("tree"), files)?;
        let stop = Arc::new(AtomicBool::new(false));
        let searching = thread::spawn({
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    shared.search(&|| stop.load(Ordering::Relaxed))?;
                }
                Ok(())
            }
        });
        Ok(Self { shared, stop, searching: Some(searching), receipt: None })
    }
}

impl Subject for BesideSearch {
    /// Fails unless a search is under way.
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        match self.searching.take_if(|searching| searching.is_finished()) {
            None => Ok(()),
            Some(ended) => match ended.join() {
                Ok(Err(error)) => Err(format!("the search failed: {error}").into()),
                Ok(Ok(())) | Err(_) => Err("the search ended".into()),
            },
        }
    }

    fn floor(&mut self) -> Result<(), Broken> {
        Ok(floor_read(self.shared.file(0))?)
    }

    fn case(&mut self) -> Result<(), Broken> {
        self.receipt = Some(self.shared.unchanged(0)?);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Broken> {
        let receipt = self.receipt.take().ok_or("nothing was recorded")?;
        Ok(self.shared.confirm(&receipt)?)
    }
}

impl Drop for BesideSearch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(searching) = self.searching.take() {
            // Its result was checked before every round.
            let _ = searching.join();
        }
    }
}

/// Small files with code-like lines.
fn make_tree(folder: &Path, files: u32) -> Result<(), Broken> {
    for number in 0..files {
        let within = folder.join((number / FILES_PER_FOLDER).to_string());
        if number % FILES_PER_FOLDER == 0 {
            fs::create_dir_all(&within)?;
        }
        fs::write(within.join(format!("file-{number}.rs")), text(600, Some(number)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_thread_does_its_batch_and_an_error_is_passed_on() {
        let counts: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        let count = |number: usize| {
            counts[number].fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        at_once(3, 5, &count).unwrap();
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 5));
        let fails = |number| if number == 2 { Err("no".to_owned()) } else { Ok(()) };
        assert_eq!(at_once(3, 5, &fails).unwrap_err().to_string(), "no");
    }

    #[test]
    fn throughput_follows_from_the_times() {
        let ms = Duration::from_millis;
        assert_eq!(multiple(8, ms(10), ms(10)).unwrap(), 8_000, "no thread slows another");
        assert_eq!(multiple(8, ms(10), ms(40)).unwrap(), 2_000, "two cores");
        assert_eq!(multiple(8, ms(10), ms(80)).unwrap(), 1_000, "one after the other");
    }

    #[test]
    fn both_cases_can_be_measured() {
        threads(2, 3, 3).unwrap();
        measure(3, &mut BesideSearch::new(450).unwrap()).unwrap();
    }
}
