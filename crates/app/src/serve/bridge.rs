//! `readproof pi`: serves one pi process over standard input and output, one JSON object per line, as
//! `integrations/pi/PROTOCOL.md` says. Lines are read on a thread of their own, so that a call can be cancelled while it
//! is answered; everything else happens in order.

mod status;
mod wire;

use readproof_core::{
    path::split_range,
    scope::{Scope, ScopeError},
};
use readproof_engine::{Cancelled, Engine, Error, Freshness, PiRead, PiTalk, Read};
use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use self::wire::{Op, Reply, Request, Said};
use super::parting::leave_with_the_client;
use crate::{
    config::Config,
    output::{self, Failure},
};

/// The protocol that is spoken here.
const PROTOCOL: u64 = 1;

/// The longest line that is taken in: a session whose every entry comes at once.
const LONGEST: u64 = 1 << 30;

/// Serves until standard input ends.
pub(crate) fn run(workspace: Option<PathBuf>, set: &[String], clock: fn() -> u64) -> Result<(), Failure> {
    if output::input_is_terminal() {
        output::notice("this speaks JSON lines on standard input and is started by the pi extension; Ctrl-D ends it");
    }
    let (lines, aborted) = listen();
    let server = Config::load(workspace, set).and_then(|mut config| {
        config.settings.notices = config.notices;
        let engine = Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?;
        Ok(Server { talk: talk(&engine), engine })
    });
    let mut server = match server {
        Ok(server) => server,
        Err(failure) => {
            // Whoever asks first is told why nothing more will come.
            if let Ok(Ok(line)) = lines.recv() {
                let id = serde_json::from_slice(&line).ok().map(|request: Request<'_>| request.id);
                output::message(&failed(id, failure.code, failure.message.clone()))?;
            }
            return Err(failure);
        }
    };
    let done = Arc::new(AtomicU64::new(0));
    leave_with_the_client(Arc::clone(&done));
    for line in lines {
        done.fetch_add(1, Ordering::Relaxed);
        let answer = match serde_json::from_slice::<Request<'_>>(&line?) {
            // Noted when it came.
            Ok(Request { op: Op::Cancel, .. }) => continue,
            Ok(request) => {
                let id = request.id;
                let gone = || aborted.lock().unwrap_or_else(PoisonError::into_inner).contains(&id);
                let answer = server.answer(&request, &gone);
                aborted.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other > id);
                answer
            }
            Err(error) => failed(None, "BAD_REQUEST", format!("this is no request: {error}")),
        };
        output::message(&answer)?;
        server.engine.store_in_pi(&mut server.talk);
    }
    Ok(())
}

fn failed(id: Option<u64>, code: &'static str, error: String) -> Reply {
    Reply { id, ok: false, said: Said::Failed { code, error } }
}

/// Requests nobody waits for any more.
type Aborted = Arc<Mutex<BTreeSet<u64>>>;

/// The lines of standard input as they come. What is cancelled is noted at once.
fn listen() -> (mpsc::Receiver<io::Result<Vec<u8>>>, Aborted) {
    let (sender, lines) = mpsc::channel();
    let aborted = Aborted::default();
    let note = Arc::clone(&aborted);
    thread::spawn(move || {
        let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
        loop {
            let mut line = Vec::new();
            let read = io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return,
                Ok(_) if line.trim_ascii().is_empty() => continue,
                Ok(_) => {}
                Err(error) => return drop(sender.send(Err(error))),
            }
            if let Some(target) = wire::cancelled(&line) {
                note.lock().unwrap_or_else(PoisonError::into_inner).insert(target);
            }
            if sender.send(Ok(line)).is_err() {
                return;
            }
        }
    });
    (lines, aborted)
}

/// A session; its texts are stored behind the answers.
fn talk(engine: &Engine) -> PiTalk {
    let mut talk = PiTalk::new(engine);
    talk.store_later();
    talk
}

/// A workspace and the session that is open in it.
struct Server {
    engine: Engine,
    talk: PiTalk,
}

impl Server {
    fn answer(&mut self, request: &Request<'_>, cancelled: Cancelled<'_>) -> Reply {
        self.take_in(request);
        let said = match request.op {
            // What is cancelled was noted when it came.
            Op::Hello | Op::Cancel => Ok(Said::Hello {
                protocol: PROTOCOL,
                version: env!("CARGO_PKG_VERSION"),
                workspace: self.engine.root().path().to_string_lossy().into_owned(),
            }),
            Op::Read => self.read(request, cancelled),
            Op::Refresh => self.refresh(request),
            Op::Status => {
                let status = self.engine.status_in_pi(&mut self.talk, request.leaf.as_deref());
                Ok(Said::Status { text: status::text(&status) })
            }
        };
        match said {
            Ok(said) => Reply { id: Some(request.id), ok: true, said },
            Err(error) => failed(Some(request.id), error.code(), words(&error)),
        }
    }

    /// Takes in the session, as far as it is new.
    fn take_in(&mut self, request: &Request<'_>) {
        if let Some(header) = request.header {
            self.talk = talk(&self.engine);
            self.talk.push(header.get().as_bytes());
        }
        for entry in &request.entries {
            self.talk.push(entry.get().as_bytes());
        }
        if request.distrusted {
            self.talk.distrust();
        }
    }

    fn read(&mut self, request: &Request<'_>, cancelled: Cancelled<'_>) -> Result<Said, Error> {
        let read = Read {
            path: request.path.clone().into_owned(),
            offset: request.offset,
            limit: request.limit,
            freshness: if request.fresh { Freshness::Fresh } else { Freshness::Known },
            ..Read::default()
        };
        let leaf = request.leaf.as_deref();
        Ok(match self.engine.read_in_pi(&mut self.talk, leaf, &read, cancelled)? {
            PiRead::Own(own) => Said::Own { own },
            PiRead::End => Said::Read(Box::default()),
            PiRead::Answer(answer) => Said::Read(Box::new((*answer).into())),
        })
    }

    fn refresh(&mut self, request: &Request<'_>) -> Result<Said, Error> {
        let asked = (request.offset, request.limit);
        let done = self.engine.refresh_in_pi(&mut self.talk, request.leaf.as_deref(), &request.path, asked)?;
        let named = split_range(&request.path).ok().flatten().filter(|_| asked == (None, None));
        let path = match (done.scope, named) {
            (Scope::Lines(_), Some(range)) => range.path,
            (Scope::Full | Scope::Lines(_), _) => &request.path,
        };
        let text = match (done.scope, done.paths.is_empty()) {
            (_, true) => format!("{path} lies outside the workspace, where every read is plain text anyway"),
            _ if !done.found => {
                format!("There is no file {path}. If there is one later, its next read gives its text.")
            }
            (Scope::Full, false) => format!("The next read of {path} gives its text."),
            (Scope::Lines(lines), false) => {
                format!("The next read of lines {}-{} of {path} gives their text.", lines.first(), lines.last())
            }
        };
        Ok(Said::Refreshed { path_keys: done.paths, scope_key: done.scope.to_string(), text })
    }
}

/// As pi itself would say it, where it has words for it.
fn words(error: &Error) -> String {
    if let Error::Range { source: ScopeError::BeyondEnd { offset, total }, .. } = error {
        format!("Offset {offset} is beyond end of file ({total} lines total)")
    } else if matches!(error, Error::Aborted) {
        "Operation aborted".to_owned()
    } else {
        error.to_string()
    }
}
