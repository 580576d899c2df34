//! Runs calls on threads, so that the async runtime never waits for a lock or the disk. Reads of small files have their
//! own lane, so that they never wait for a search. A thread that hangs occupies its place in a lane for a while, but
//! delays no other answer.

use readproof_disk::SessionName;
use readproof_engine::{Control, Engine, Error, Progress};
use readproof_words::Surface;
use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore},
    task::JoinError,
};

use super::super::locked;
use crate::tools::{args::Refusal, call::ToolOutput};

/// How many long calls run at a time; more wait for their turn.
const LONG_AT_ONCE: usize = 4;

/// How many reads of small files run at a time.
const QUICK_AT_ONCE: usize = 16;

/// The largest file whose read is quick.
pub(super) const QUICK_BYTES: u64 = 256 << 10;

/// The shortest time between two progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// After so many intervals a call that may hang no longer occupies its place.
const PATIENCE: u32 = 40;

/// The lane of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Reads of small files; refused with `NOT_QUICK` if the file turns out to be large.
    Quick,
    /// Searches, git, and anything that walks the store.
    Long,
}

/// What all calls of a server share.
pub(super) struct Lanes {
    engine: Arc<Engine>,
    quick: Arc<Semaphore>,
    long: Arc<Semaphore>,
    under_way: Mutex<BTreeMap<SessionName, LongCalls>>,
    conversations: Mutex<BTreeMap<SessionName, Arc<AsyncMutex<()>>>>,
}

/// The running long calls of one conversation: how many, and how many ever began.
#[derive(Default)]
struct LongCalls {
    now: u64,
    ever: u64,
}

/// One running long call. While others run, their texts may be recorded before this one's answer but sent after it, so
/// it is unknown what the model saw last.
pub(super) struct UnderWay {
    lanes: Arc<Lanes>,
    session: Option<SessionName>,
    /// Its number, if it began alone.
    alone: Option<u64>,
}

impl UnderWay {
    /// Whether no other long call of the conversation has run at any time since it began.
    pub(super) fn was_alone(&self) -> bool {
        let calls = locked(&self.lanes.under_way);
        let ever = self.session.as_ref().and_then(|session| calls.get(session)).map(|calls| calls.ever);
        self.session.is_none() || (self.alone.is_some() && self.alone == ever)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut calls = locked(&self.lanes.under_way);
        if let Some(session) = &self.session
            && let Some(of) = calls.get_mut(session)
        {
            of.now -= 1;
            if of.now == 0 {
                calls.remove(session);
            }
        }
    }
}

/// A place in a lane. The thread keeps it until it ends; a thread that hangs loses it after a while.
type Place = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

fn give_up(place: &Place) {
    drop(locked(place).take());
}

impl Lanes {
    pub(super) fn new(engine: Engine) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::new(engine),
            quick: Arc::new(Semaphore::new(QUICK_AT_ONCE)),
            long: Arc::new(Semaphore::new(LONG_AT_ONCE)),
            under_way: Mutex::default(),
            conversations: Mutex::default(),
        })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Makes the index of symbols, or of words, in the background if an answer was given without it.
    pub(super) fn index_if_wanted(&self) {
        if self.engine.wants_index() {
            let engine = Arc::clone(&self.engine);
            // Nobody waits for it, and the process ends without it.
            let _ = std::thread::Builder::new().name("index".to_owned()).spawn(move || engine.make_index());
        }
        if self.engine.wants_word_index() {
            let engine = Arc::clone(&self.engine);
            let _ = std::thread::Builder::new().name("words".to_owned()).spawn(move || engine.make_word_index());
        }
    }

    /// Begins a long call of a conversation, which ends when the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>, session: Option<SessionName>) -> UnderWay {
        let mut calls = locked(&self.under_way);
        let alone = session.as_ref().and_then(|session| {
            let of = calls.entry(session.clone()).or_default();
            (of.now, of.ever) = (of.now + 1, of.ever + 1);
            (of.now == 1).then_some(of.ever)
        });
        UnderWay { lanes: Arc::clone(self), session, alone }
    }

    /// Whether a long call of the conversation is running.
    pub(super) fn is_busy(&self, session: Option<&SessionName>) -> bool {
        session.is_some_and(|session| locked(&self.under_way).contains_key(session))
    }

    /// Waits until earlier quick calls of the conversation are answered. So what the model sees last is what was
    /// recorded last, and each answer can have a handle.
    pub(super) async fn in_order(&self, session: Option<&SessionName>) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut conversations = locked(&self.conversations);
            // Locks that nobody holds are created again when needed.
            conversations.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(conversations.entry(session?.clone()).or_default())
        };
        Some(turn.lock_owned().await)
    }

    /// Runs a call and reports its progress if the client asked for that. After a cancellation it returns at once, and
    /// the thread ends by itself.
    pub(super) async fn run(
        self: &Arc<Self>,
        lane: Lane,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Engine, Control<'_>) -> Result<ToolOutput, Refusal> + Send + 'static,
    ) -> Result<ToolOutput, Refusal> {
        let places = match lane {
            Lane::Quick => &self.quick,
            Lane::Long => &self.long,
        };
        let permit = tokio::select! {
            permit = Arc::clone(places).acquire_owned() => permit.ok(),
            () = context.ct.cancelled() => return Err(aborted()),
        };
        let place: Place = Arc::new(Mutex::new(permit));
        let of_thread = Arc::clone(&place);
        let (engine, cancelled) = (Arc::clone(&self.engine), context.ct.clone());
        let done = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&done);
        let mut work = tokio::task::spawn_blocking(move || {
            let progress = |Progress { done, .. }: Progress| told.store(done, Ordering::Relaxed);
            let cancelled = || cancelled.is_cancelled();
            let file_bytes = (lane == Lane::Quick).then_some(QUICK_BYTES);
            let said = work(&engine, Control { cancelled: &cancelled, progress: &progress, file_bytes });
            give_up(&of_thread);
            said
        });
        let token = context.meta.get_progress_token();
        let (mut last, mut ticks) = (0, 0);
        loop {
            ticks += 1;
            if ticks > PATIENCE {
                give_up(&place);
            }
            tokio::select! {
                said = &mut work => return said.unwrap_or_else(|error| Err(failed(&error))),
                () = context.ct.cancelled() => {
                    // The thread keeps its place until it notices the cancellation.
                    tokio::spawn(async move {
                        tokio::time::sleep(PROGRESS_INTERVAL * PATIENCE).await;
                        give_up(&place);
                    });
                    return Err(aborted());
                }
                () = tokio::time::sleep(PROGRESS_INTERVAL) => {}
            }
            let now = done.load(Ordering::Relaxed);
            if let Some(token) = token.clone().filter(|_| now > last) {
                last = now;
                // A client that does not listen needs no progress.
                let progress = ProgressNotificationParam::new(token, as_float(now));
                let _ = context.peer.notify_progress(progress).await;
            }
        }
    }
}

fn aborted() -> Refusal {
    let error = Error::Aborted;
    Refusal::new(error.code(), Surface::Cli.error(&error))
}

fn failed(error: &JoinError) -> Refusal {
    let why = if error.is_panic() { ", which is a fault of this program" } else { "" };
    Refusal::new("INTERNAL", format!("the call failed{why}"))
}

/// Saturates at `u32::MAX`, which is more files than a workspace has.
fn as_float(files: u64) -> f64 {
    u32::try_from(files).unwrap_or(u32::MAX).into()
}
