//! Where calls run that may take long: each on a thread and with a surface of its own, so that none waits for another. A
//! thread that hangs costs its surface and nobody's answer.

use readproof_core::path::Bearings;
use readproof_disk::Root;
use readproof_engine::{Cancelled, Engine, Error, Settings};
use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Semaphore, task::JoinError};

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
    turns: Semaphore,
}

impl Desks {
    pub(super) fn new(make: Make) -> Arc<Self> {
        Arc::new(Self { make, idle: Mutex::default(), turns: Semaphore::new(AT_ONCE) })
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
        let mut turn = tokio::select! {
            turn = self.turns.acquire() => turn.ok(),
            () = context.ct.cancelled() => return Err(Error::Aborted.into()),
        };
        let (desks, cancelled) = (Arc::clone(self), context.ct.clone());
        let done = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&done);
        let mut work = tokio::task::spawn_blocking(move || {
            let mut surface = desks.take()?;
            let progress = |files| told.store(files, Ordering::Relaxed);
            let said = work(&mut surface, &|| cancelled.is_cancelled(), &progress);
            // What was dropped in a panic is made anew.
            desks.put_back(surface);
            said
        });
        let token = context.meta.get_progress_token();
        let (mut last, mut ticks) = (0, 0);
        loop {
            ticks += 1;
            if ticks > PATIENCE {
                drop(turn.take());
            }
            tokio::select! {
                said = &mut work => return said.unwrap_or_else(|error| Err(failed(&error))),
                () = context.ct.cancelled() => return Err(Error::Aborted.into()),
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
