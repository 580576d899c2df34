//! `readproof pi`: serves one pi process over standard input and output, one JSON object per line, as described in
//! `integrations/pi/PROTOCOL.md`. Lines are read on a separate thread, so that a running call can be cancelled;
//! everything else happens in order.

mod history;
mod status;
mod view;
mod wire;

pub(crate) use view::HELD;

use readproof_core::{
    decide::Reason,
    operation::{Caller, Freshness, Operation, Read, Refresh},
    path::split_range,
    scope::Scope,
};
use readproof_engine::{
    Call, Control, Engine, Error, NotOurs, Outcome, PiConversation, PiGiven, PiInstead, Reading, Refreshed, Status,
    Stopper, instead,
};
use readproof_words::Surface;
use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use self::wire::{Body, Op, Reply, Request};
use super::{locked, parting::exit_with_client, watch::in_background};
use crate::{
    commands::policy::audit::audited,
    config::Config,
    output::{self, Failure},
};

/// The version of the protocol.
const PROTOCOL: u64 = 2;

/// The longest line that is accepted: a whole session may come in one.
const LONGEST: u64 = 1 << 30;

/// Serves until standard input ends.
pub(crate) fn run(workspace: Option<PathBuf>, set: &[String], clock: fn() -> u64) -> Result<(), Failure> {
    if output::input_is_terminal() {
        output::notice("this speaks JSON lines on standard input and is started by the pi extension; Ctrl-D ends it");
    }
    // Before the thread that listens: a wall holds only for threads that are started after it.
    let is_named = workspace.is_some();
    let config = Config::load(workspace, set);
    let (lines, aborted) = listen();
    let server = config.and_then(|mut config| {
        config.settings.notices = config.notices;
        config.settings.call_log = config.settings.call_log.later();
        let engine = audited(Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?);
        Ok(Server { is_named, ..Server::new(engine) })
    });
    let mut server = match server {
        Ok(server) => server,
        Err(failure) => {
            // Report the error to the first request.
            if let Ok(Ok(line)) = lines.recv() {
                let id = serde_json::from_slice(&line).ok().map(|request: Request<'_>| request.id);
                output::message(&failed(id, failure.code, failure.message.clone()))?;
            }
            return Err(failure);
        }
    };
    let done = Arc::new(AtomicU64::new(0));
    exit_with_client(Arc::clone(&done));
    for line in lines {
        done.fetch_add(1, Ordering::Relaxed);
        if let Some(answer) = server.answer_line(&line?, &aborted) {
            let is_greeting = matches!(answer.body, Body::Hello { .. });
            output::message(&answer)?;
            server.conversation.store_shown(&server.engine);
            if !is_greeting {
                server.watch();
            }
        }
    }
    server.engine.finish_logs();
    server.engine.finish_concerns();
    Ok(())
}

fn failed(id: Option<u64>, code: &'static str, error: String) -> Reply {
    Reply { id, ok: false, body: Body::Failed { code, error } }
}

/// Ids of cancelled requests.
pub(crate) type Aborted = Arc<Mutex<BTreeSet<u64>>>;

/// Receives the lines of standard input. Cancellations are noted at once.
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
                locked(&note).insert(target);
            }
            if sender.send(Ok(line)).is_err() {
                return;
            }
        }
    });
    (lines, aborted)
}

/// A conversation that stores texts after its answers.
fn new_conversation(engine: &Engine) -> PiConversation {
    let mut conversation = PiConversation::new(engine);
    conversation.store_later();
    conversation
}

/// What comes of an operation.
type Performed = Result<Outcome<PiGiven>, Error>;

/// A workspace and the session that is open in it.
pub(crate) struct Server {
    engine: Arc<Engine>,
    caller: Caller,
    conversation: PiConversation,
    /// The session's own id.
    session: Option<String>,
    /// Whether the user named the workspace.
    is_named: bool,
    /// While the files are watched.
    watch: Option<Stopper>,
}

impl Server {
    pub(crate) fn new(engine: Engine) -> Self {
        let caller = Caller { user: engine.settings().user.clone(), ..Caller::of("pi") };
        let conversation = new_conversation(&engine);
        Self { conversation, caller, engine: Arc::new(engine), session: None, is_named: false, watch: None }
    }

    /// Whether someone says that this folder is the workspace: the user, a work tree or a store of ours. Any other folder may be
    /// the one that pi happens to run in, and is not walked unasked.
    fn is_meant(&self) -> bool {
        self.is_named || self.engine.is_marked()
    }

    /// Watches the files from here on, if that is wanted, once the first answer is given, so that it does not wait for that.
    fn watch(&mut self) {
        if self.watch.is_none() && self.is_meant() {
            self.watch = in_background(&self.engine);
        }
    }

    /// The answer to one line; none to a cancellation, which was noted when it arrived.
    pub(crate) fn answer_line(&mut self, line: &[u8], aborted: &Aborted) -> Option<Reply> {
        let aborted = || locked(aborted);
        match serde_json::from_slice::<Request<'_>>(line) {
            Ok(Request { op: Op::Cancel, .. }) => None,
            Ok(request) => {
                let answer = self.answer(&request, &|| aborted().contains(&request.id));
                aborted().retain(|other| *other > request.id);
                Some(answer)
            }
            Err(error) => Some(failed(None, "BAD_REQUEST", format!("this is no request: {error}"))),
        }
    }

    fn answer(&mut self, request: &Request<'_>, cancelled: &dyn Fn() -> bool) -> Reply {
        self.take_in(request);
        let body = match request.op {
            // Cancellations were noted when they arrived.
            Op::Hello | Op::Cancel => Ok(Body::Hello {
                protocol: PROTOCOL,
                version: env!("CARGO_PKG_VERSION"),
                workspace: self.engine.root().path().to_string_lossy().into_owned(),
            }),
            Op::Read => self.read(request, cancelled),
            Op::Refresh => self.refresh(request),
            Op::Status => self.status(request),
            Op::Moment => self.moment(request, cancelled),
            Op::Rewind => self.rewind(request, cancelled),
            Op::Changes => self.changes(request, cancelled),
        };
        match body {
            Ok(body) => Reply { id: Some(request.id), ok: true, body },
            Err(error) => failed(Some(request.id), error.code(), Surface::Pi.error(&error)),
        }
    }

    /// Performs an operation at the leaf of a request.
    fn ask(&mut self, request: &Request<'_>, operation: Operation, cancelled: &dyn Fn() -> bool) -> Performed {
        let caller = self.in_conversation();
        self.ask_as(request, &caller, operation, cancelled)
    }

    fn ask_as(
        &mut self,
        request: &Request<'_>,
        caller: &Caller,
        operation: Operation,
        cancelled: &dyn Fn() -> bool,
    ) -> Performed {
        let control = Control { cancelled, ..Control::WAIT };
        let conversation = &mut self.conversation.call(request.leaf.as_deref());
        self.engine.perform(Call { caller, conversation, operation, control })
    }

    /// Adds the new part of the session.
    fn take_in(&mut self, request: &Request<'_>) {
        if let Some(header) = request.header {
            self.conversation = new_conversation(&self.engine);
            self.conversation.push(header.get().as_bytes());
            self.session = wire::session_id(header);
        }
        for entry in &request.entries {
            self.conversation.push(entry.get().as_bytes());
        }
        if request.distrusted {
            self.conversation.distrust();
        }
    }

    fn read(&mut self, request: &Request<'_>, cancelled: &dyn Fn() -> bool) -> Result<Body, Error> {
        let read = Read {
            path: request.path.clone().into_owned(),
            offset: request.offset,
            limit: request.limit,
            freshness: if request.fresh { Freshness::Fresh } else { Freshness::Known },
            ..Read::default()
        };
        let outcome = self.ask(request, Operation::Read(read.clone()), cancelled);
        Ok(match outcome.and_then(Outcome::into_reading) {
            Ok(Reading::Answer(answer)) => Body::Read(Box::new((*answer).into())),
            Ok(Reading::NotOurs(why)) => Body::UsePiRead { own: left_to_pi(why).to_owned() },
            Err(error) => match instead(&error, &read) {
                PiInstead::PiRead => Body::UsePiRead { own: Surface::Cli.error(&error) },
                PiInstead::Nothing => Body::Read(Box::default()),
                PiInstead::Error => return Err(error),
            },
        })
    }

    fn status(&mut self, request: &Request<'_>) -> Result<Body, Error> {
        let status: Status = self.ask(request, Operation::Status, &|| false)?.try_into()?;
        Ok(Body::Said { text: status::text(&status.conversation.unwrap_or_default()) })
    }

    fn refresh(&mut self, request: &Request<'_>) -> Result<Body, Error> {
        let asked = (request.offset, request.limit);
        let path = request.path.clone().into_owned();
        let operation = Operation::Refresh(Refresh { path, offset: asked.0, limit: asked.1 });
        let done: Refreshed = self.ask(request, operation, &|| false)?.try_into()?;
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
        Ok(Body::Refreshed { path_keys: done.paths, scope_key: done.scope.to_string(), text })
    }
}

/// Why pi's `read` tool must answer.
fn left_to_pi(why: NotOurs) -> &'static str {
    match why {
        NotOurs::Image => "an image",
        NotOurs::Sensitive => Reason::Sensitive.sentence(),
        NotOurs::OtherName => "pi does not look for a file of that very name",
        NotOurs::EncodedUrl => "a URL that needs decoding",
        NotOurs::OtherText => "the file changed meanwhile",
    }
}
