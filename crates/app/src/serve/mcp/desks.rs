//! Where calls run that may take long: each on a thread and with a surface of its own, so that none waits for another. A
//! thread that hangs costs its surface and nobody's answer.

use readproof_core::path::Bearings;
use readproof_disk::{Root, SessionName};
use readproof_engine::{Cancelled, Engine, Error, Settings};
use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinError,
};

use crate::tools::{
    args::Refusal,
    surface::{Progress, Surface},
};

/// How many calls run at a time; more wait for their turn.
const AT_ONCE: usize = 4;

/// How often progress is told, at most.
const TOLD: Duration = Duration::from_millis(250);

/// After so many times the next in line is let in beside a call that may hang.
const PATIENCE: u32 = 40;

/// What a surface is made of.
#[derive(Clone)]
pub(super) struct Make {
    pub(super) workspace: PathBuf,
    pub(super) bearings: Bearings,
    pub(super) settings: Settings,
    pub(super) clock: fn() -> u64,
}

impl Make {
    fn surface(&self) -> Result<Surface, Refusal> {
        let root = Root::open(&self.workspace).map_err(Error::from)?;
        let (bearings, settings) = (self.bearings.clone(), self.settings.clone());
        let mut engine = Engine::new(root, bearings, settings, Box::new(self.clock))?;
        // What is to be said of the settings is said once, by the server.
        engine.untold();
        Ok(Surface::new(engine))
    }
}

/// The surfaces that nobody uses just now.
pub(super) struct Desks {
    make: Make,
    idle: Mutex<Vec<Surface>>,
    turns: Arc<Semaphore>,
    under_way: Mutex<BTreeMap<SessionName, Calls>>,
}

/// The calls of one conversation that are under way: how many, and how many ever began.
#[derive(Default)]
struct Calls {
    now: u64,
    ever: u64,
}

/// One of them. While there are others, what they showed may be recorded before this one's answer and be given after it, so
/// that nothing can be said of what the model saw last.
pub(super) struct UnderWay {
    desks: Arc<Desks>,
    session: Option<SessionName>,
    /// Its number, where it began alone.
    alone: Option<u64>,
}

impl UnderWay {
    /// Whether no other call of the conversation was under way at any time since it began.
    pub(super) fn was_alone(&self) -> bool {
        let calls = self.desks.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let ever = self.session.as_ref().and_then(|session| calls.get(session)).map(|calls| calls.ever);
        self.session.is_none() || (self.alone.is_some() && self.alone == ever)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut calls = self.desks.under_way.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Whose turn it is: held by the thread until it ends, and at most for a while by one that hangs.
type Turn = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

fn give_up(turn: &Turn) {
    drop(turn.lock().unwrap_or_else(PoisonError::into_inner).take());
}

impl Desks {
    pub(super) fn new(make: Make) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self { make, idle: Mutex::default(), turns, under_way: Mutex::default() })
    }

    /// A call of a conversation begins; it ends when this goes.
    pub(super) fn begin(self: &Arc<Self>, session: Option<SessionName>) -> UnderWay {
        let mut calls = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = session.as_ref().and_then(|session| {
            let of = calls.entry(session.clone()).or_default();
            (of.now, of.ever) = (of.now + 1, of.ever + 1);
            (of.now == 1).then_some(of.ever)
        });
        UnderWay { desks: Arc::clone(self), session, alone }
    }

    /// Whether a call of the conversation is under way.
    pub(super) fn is_busy(&self, session: Option<&SessionName>) -> bool {
        let calls = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        session.is_some_and(|session| calls.contains_key(session))
    }

    /// The one used last, as it knows most.
    fn take(&self) -> Result<Surface, Refusal> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.make.surface(), Ok)
    }

    fn put_back(&self, surface: Surface) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < AT_ONCE {
            idle.push(surface);
        }
    }

    /// Runs a call, and tells its progress to those who asked. Who cancels it waits no longer: the thread ends by itself.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut Surface, Cancelled<'_>, Progress<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let permit = tokio::select! {
            permit = Arc::clone(&self.turns).acquire_owned() => permit.ok(),
            () = context.ct.cancelled() => return Err(Error::Aborted.into()),
        };
        let turn: Turn = Arc::new(Mutex::new(permit));
        let of_thread = Arc::clone(&turn);
        let (desks, cancelled) = (Arc::clone(self), context.ct.clone());
        let done = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&done);
        let mut work = tokio::task::spawn_blocking(move || {
            let mut surface = desks.take()?;
            let progress = |files| told.store(files, Ordering::Relaxed);
            let said = work(&mut surface, &|| cancelled.is_cancelled(), &progress);
            // What was dropped in a panic is made anew.
            desks.put_back(surface);
            give_up(&of_thread);
            said
        });
        let token = context.meta.get_progress_token();
        let (mut last, mut ticks) = (0, 0);
        loop {
            ticks += 1;
            if ticks > PATIENCE {
                give_up(&turn);
            }
            tokio::select! {
                said = &mut work => return said.unwrap_or_else(|error| Err(failed(&error))),
                () = context.ct.cancelled() => {
                    // The thread has its turn until it has heard of it.
                    tokio::spawn(async move {
                        tokio::time::sleep(TOLD * PATIENCE).await;
                        give_up(&turn);
                    });
                    return Err(Error::Aborted.into());
                }
                () = tokio::time::sleep(TOLD) => {}
            }
            let now = done.load(Ordering::Relaxed);
            if let Some(token) = token.clone().filter(|_| now > last) {
                last = now;
                // Who no longer listens misses nothing.
                let progress = ProgressNotificationParam::new(token, as_float(now));
                let _ = context.peer.notify_progress(progress).await;
            }
        }
    }
}

pub(super) fn failed(error: &JoinError) -> Refusal {
    let why = if error.is_panic() { ", which is a fault of this program" } else { "" };
    Refusal { code: "INTERNAL", message: format!("the call failed{why}") }
}

/// Files are never so many that this loses one.
fn as_float(files: u64) -> f64 {
    u32::try_from(files).unwrap_or(u32::MAX).into()
}
