//! Where calls run: on threads beside the runtime, which itself never waits for a lock or a disk. Reads of small files have a lane
//! of their own, so that none of them waits for a search; a thread that hangs costs its place in a lane for a while, and
//! nobody's answer.

use readproof_disk::SessionName;
use readproof_engine::{Control, Engine, Error, Progress};
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

/// How often progress is told, at most.
const TOLD: Duration = Duration::from_millis(250);

/// After so many times the next in line is let in beside a call that may hang.
const PATIENCE: u32 = 40;

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A read of a small file: refused as not quick if it turns out to be large.
    Quick,
    /// Whatever looks through files, at git or at all of the store.
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

/// The long calls of one conversation that are under way: how many, and how many ever began.
#[derive(Default)]
struct LongCalls {
    now: u64,
    ever: u64,
}

/// One of them. While there are others, what they showed may be recorded before this one's answer and be given after it, so
/// that nothing can be said of what the model saw last.
pub(super) struct UnderWay {
    lanes: Arc<Lanes>,
    session: Option<SessionName>,
    /// Its number, if it began alone.
    alone: Option<u64>,
}

impl UnderWay {
    /// Whether no other long call of the conversation was under way at any time since it began.
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

/// A place in a lane: held by the thread until it ends, and at most for a while by one that hangs.
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

    /// A long call of a conversation begins; it ends when this goes.
    pub(super) fn begin(self: &Arc<Self>, session: Option<SessionName>) -> UnderWay {
        let mut calls = locked(&self.under_way);
        let alone = session.as_ref().and_then(|session| {
            let of = calls.entry(session.clone()).or_default();
            (of.now, of.ever) = (of.now + 1, of.ever + 1);
            (of.now == 1).then_some(of.ever)
        });
        UnderWay { lanes: Arc::clone(self), session, alone }
    }

    /// Whether a long call of the conversation is under way.
    pub(super) fn is_busy(&self, session: Option<&SessionName>) -> bool {
        session.is_some_and(|session| locked(&self.under_way).contains_key(session))
    }

    /// Waits until the quick calls of the conversation that came before are answered: each may then have a handle, as what
    /// the model sees last is what was recorded last.
    pub(super) async fn in_order(&self, session: Option<&SessionName>) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut conversations = locked(&self.conversations);
            // Those that nobody waits for are made anew when they are needed.
            conversations.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(conversations.entry(session?.clone()).or_default())
        };
        Some(turn.lock_owned().await)
    }

    /// Runs a call, and tells its progress to those who asked. A caller who cancels waits no longer: the thread ends by itself.
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
            () = context.ct.cancelled() => return Err(Error::Aborted.into()),
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
                    // The thread has its place until it has heard of it.
                    tokio::spawn(async move {
                        tokio::time::sleep(TOLD * PATIENCE).await;
                        give_up(&place);
                    });
                    return Err(Error::Aborted.into());
                }
                () = tokio::time::sleep(TOLD) => {}
            }
            let now = done.load(Ordering::Relaxed);
            if let Some(token) = token.clone().filter(|_| now > last) {
                last = now;
                // A client that no longer listens misses nothing.
                let progress = ProgressNotificationParam::new(token, as_float(now));
                let _ = context.peer.notify_progress(progress).await;
            }
        }
    }
}

fn failed(error: &JoinError) -> Refusal {
    let why = if error.is_panic() { ", which is a fault of this program" } else { "" };
    Refusal { code: "INTERNAL", message: format!("the call failed{why}") }
}

/// Files are never so many that this loses one.
fn as_float(files: u64) -> f64 {
    u32::try_from(files).unwrap_or(u32::MAX).into()
}
