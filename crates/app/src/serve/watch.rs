//! Keeps what other programs change while they change it: `readproof watch`, until a signal ends it, and in the background of a
//! server, which never waits for it. Needs no terminal.

use readproof_engine::{Engine, Error, Keeping, Sighting, Stop, Stopper};
use readproof_words::Surface;
use serde_json::json;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::pipe,
};
use std::{io, ops::ControlFlow, sync::Arc, thread};

use crate::{
    output::{self, Failure},
    tools::history::{entry_line, entry_object},
};

/// Watches in the background until the result is dropped; `None` if that is not wanted or no thread can be started. What is
/// not watched is looked at before each question, as ever.
pub(super) fn in_background(engine: &Arc<Engine>) -> Option<Stopper> {
    let settings = engine.settings();
    if !settings.watch || settings.history == Keeping::Off {
        return None;
    }
    let (stopper, stop) = Stop::new().ok()?;
    let engine = Arc::clone(engine);
    let watch = move || {
        if let Err(error) = engine.watch(&stop, &mut |_| ControlFlow::Continue(())) {
            output::notice(&words(&error));
        }
    };
    thread::Builder::new().name("watch".to_owned()).spawn(watch).ok().map(|_| stopper)
}

/// Watches, and prints what is met, until a signal ends it.
pub(crate) fn run(engine: &Engine, json: bool) -> Result<(), Failure> {
    let (stopper, stop) = Stop::new()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        pipe::register(signal, stopper.another()?)?;
    }
    let mut failed: Option<io::Error> = None;
    let watched = engine.watch(&stop, &mut |sighting| match if json {
        output::line(&object(&sighting).to_string())
    } else {
        say(&sighting)
    } {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    watched?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

fn say(sighting: &Sighting) -> io::Result<()> {
    match sighting {
        Sighting::Watching { folders } => output::notice(&format!("watching {folders} folders; Ctrl-C ends it")),
        Sighting::Waiting => {
            output::notice("another process watches this workspace; this one goes on when that ends");
        }
        Sighting::Failed(why) => output::notice(&words(why)),
        Sighting::Met(entry) => output::line(&entry_line(entry))?,
    }
    Ok(())
}

fn object(sighting: &Sighting) -> serde_json::Value {
    match sighting {
        Sighting::Watching { folders } => json!({"ok": true, "watching": true, "folders": folders}),
        Sighting::Waiting => json!({"ok": true, "watching": false}),
        Sighting::Met(entry) => json!({"ok": true, "change": entry_object(entry)}),
        Sighting::Failed(why) => json!({"ok": false, "error": {"code": why.code(), "message": words(why)}}),
    }
}

fn words(why: &Error) -> String {
    Surface::Cli.error(why)
}
