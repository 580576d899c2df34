//! The command line as a wire: each command becomes one operation, and its outcome is printed. An answer counts as
//! delivered only after it was written and flushed.

mod conflicts;
mod diff;
mod edit;
pub(crate) mod find;
pub(crate) mod held;
mod history;
mod init;
pub(crate) mod policy;
mod read;
mod session;
mod symbols;
mod upkeep;

use clap::CommandFactory;
use readproof_core::operation::{Caller, End, Operation};
use readproof_disk::SessionName;
use readproof_engine::{
    Call, Control, Conversation, Engine, EntryId, Error, LoggedSession, Notice, Outcome, Progress, Receipt, Status,
};
use readproof_words::{Surface, notice::notices as words};
use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use self::policy::{
    approvals,
    audit::{self, audited},
};
use crate::{
    cli::{BenchCommand, Cli, Command, SearchArgs, StatusArgs, SymbolsArgs},
    config::{Beyond, Config},
    output::{self, Failure},
    report::{self, json},
    serve::{bridge, mcp, query, watch},
};

type Done = Result<(), Failure>;

/// Runs one command.
pub(crate) fn run(cli: Cli) -> Done {
    let Cli { workspace, json, set, command } = cli;
    let open_with = |beyond| Terminal::open(workspace.clone(), &set, json, beyond);
    let open = || open_with(Beyond::Nothing);
    match command {
        Command::Read(args) if args.unified.mode.is_some() => read::as_tool(&open()?, &args),
        Command::Read(args) => read::read(&open()?.for_one_read(), *args),
        Command::Head(args) => find::end(&open()?, args, End::Head),
        Command::Tail(args) => find::end(&open()?, args, End::Tail),
        Command::Grep(args) => find::grep(&open()?, args),
        Command::Stat { path } => find::stat(&open()?, path),
        Command::Search(SearchArgs { query, mode, extent, kind, limit, .. }) if mode == "symbol" => {
            let (query, path, glob) = (Some(query), extent.path, extent.glob);
            symbols::list(&open()?, SymbolsArgs { query, path, glob, kind, limit })
        }
        Command::Search(args) => find::search(&open()?, args),
        Command::Symbols(args) => symbols::list(&open()?, args),
        Command::Outline { path } => symbols::outline(&open()?, path),
        Command::List(args) => find::list(&open()?, args),
        Command::Diff(args) => diff::run(&open()?, args),
        Command::Refresh(args) => read::refresh(&open()?, args),
        Command::Write(args) => edit::write(&open()?, args),
        Command::Edit(args) => edit::edit(&open()?, args),
        Command::Patch(args) => edit::patch(&open()?, args),
        Command::Delete(args) => edit::delete(&open()?, args),
        Command::Move(args) => edit::rename(&open()?, args),
        Command::Files(args) => history::files(&open()?, args),
        Command::Log(args) => history::log(&open()?, args),
        Command::Show(args) => history::show(&open()?, args),
        Command::Blame(args) => history::blame(&open()?, args),
        Command::Changes(args) => history::changes(&open()?, args),
        Command::Context(args) => history::context(&open()?, args),
        Command::Watch => open().and_then(|terminal| watch::run(&terminal.engine, json)),
        Command::Checkpoint(args) => history::checkpoint(&open()?, args),
        Command::Rewind(args) => history::rewind(&open()?, args),
        Command::Conflicts(command) => conflicts::run(&open_with(Beyond::Review)?, command),
        Command::Policy(command) => policy::run(&open()?, command),
        Command::Approvals(command) => approvals::run(&open()?, command),
        Command::Audit(command) => audit::run(&open()?, command),
        Command::Status(args) => status(&open()?, args),
        Command::Session(command) => session::run(&open()?, command),
        Command::Replay(args) => upkeep::replay(&open()?, &args),
        Command::Query(args) => query::run(open()?.engine, &args.operations),
        Command::Gc(args) => upkeep::gc(workspace, &set, &args, json),
        Command::Forget(args) => history::forget(&open()?, args),
        Command::Doctor => upkeep::doctor(workspace, &set, json),
        Command::Config => {
            let config = Config::load(workspace, &set)?;
            show(json, || json::config(&config), || report::config(&config))
        }
        Command::Held(args) => held::run(&args, workspace, &set, json),
        Command::HostSession(args) => held::run(&args.into(), workspace, &set, json),
        Command::Bridge => bridge::run(workspace, &set, clock),
        Command::Mcp(args) => mcp::run(workspace, &set, &args.tools, clock),
        Command::Init(args) => init::run(&args, workspace, json),
        Command::Demo => upkeep::demo::run(json),
        Command::Bench(BenchCommand::Traces(args)) => upkeep::bench::traces(&args, workspace, &set, json),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "readproof", &mut script);
            Ok(output::text(&String::from_utf8_lossy(&script))?)
        }
    }
}

/// One run of the command line: the engine, and how to print.
pub(crate) struct Terminal {
    engine: Engine,
    caller: Caller,
    json: bool,
    _ending: Ending,
}

/// The end of a run: every call has its line in the audit log, or standard error says so. The answer was given before.
struct Ending(Engine);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.finish_concerns();
        let is_of_audit = |notice: &Notice| {
            matches!(
                notice,
                Notice::NotAudited { .. }
                    | Notice::NotLogged { .. }
                    | Notice::NotWitnessed(_)
                    | Notice::AuditPutAside(_)
            )
        };
        let told: Vec<Notice> = self.0.take_notices().into_iter().filter(is_of_audit).collect();
        notices(None, &told);
    }
}

impl Terminal {
    /// Opens the workspace and prints notices about its settings.
    fn open(workspace: Option<PathBuf>, set: &[String], json: bool, beyond: Beyond<'_>) -> Result<Self, Failure> {
        let config = Config::load_with(workspace, set, beyond)?;
        config.notices.iter().for_each(|notice| output::notice(notice));
        let engine =
            Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?.with_names_from_root();
        Ok(Self::of(audited(engine), json))
    }

    pub(crate) fn of(engine: Engine, json: bool) -> Self {
        let caller = Caller { user: engine.settings().user.clone(), ..Caller::of("cli") };
        let _ending = Ending(engine.clone());
        Self { engine, caller, json, _ending }
    }

    fn for_one_read(self) -> Self {
        Self { engine: self.engine.for_one_read(), ..self }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Performs an operation in a conversation.
    pub(crate) fn ask<C: Conversation>(
        &self,
        conversation: &mut C,
        operation: Operation,
    ) -> Result<Outcome<C::Given>, Error> {
        self.ask_with(conversation, operation, Control::WAIT)
    }

    fn ask_with<C: Conversation>(
        &self,
        conversation: &mut C,
        operation: Operation,
        control: Control<'_>,
    ) -> Result<Outcome<C::Given>, Error> {
        self.ask_as(&self.caller, conversation, operation, control)
    }

    /// Performs an operation. If a person must approve it first and sits at this terminal, that person is asked, and it is
    /// performed again.
    fn ask_as<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        operation: Operation,
        control: Control<'_>,
    ) -> Result<Outcome<C::Given>, Error> {
        let call = Call { caller, conversation: &mut *conversation, operation: operation.clone(), control };
        match self.engine.perform(call) {
            Err(Error::ApprovalNeeded(request)) if !self.json && approvals::is_agreed(self, &request)? => {
                self.engine.perform(Call { caller, conversation, operation, control })
            }
            done => done,
        }
    }

    /// Performs an operation in a session, or without one.
    fn ask_in<T>(&self, session: Option<&str>, operation: Operation) -> Result<T, Failure>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        self.ask_in_with(session, operation, Control::WAIT)
    }

    fn ask_in_with<T>(&self, session: Option<&str>, operation: Operation, control: Control<'_>) -> Result<T, Failure>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        let session = session.map(session_name).transpose()?;
        let caller = Caller { conversation: session.as_ref().map(ToString::to_string), ..self.caller.clone() };
        let done = self.ask_as(&caller, &mut LoggedSession::named(session), operation, control);
        // Those of a read or a change stand in its outcome.
        notices(None, &self.engine.take_notices());
        Ok(done?.try_into()?)
    }

    /// The same, with progress at a terminal: all files are looked at first.
    fn ask_watched<T>(&self, session: Option<&str>, operation: Operation) -> Result<T, Failure>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        let pace = output::Pace::default();
        let progress = |Progress { done, total }: Progress| {
            pace.tell(|| format!("{done} of {} files looked at", total.unwrap_or(done)));
        };
        let found = self.ask_in_with(session, operation, Control { progress: &progress, ..Control::WAIT });
        output::progress("");
        found
    }

    /// Confirms that a result reached the caller. If that fails, knowledge is lost, not the answer.
    fn confirm(&self, receipt: Option<&Receipt>) {
        if let Some(Err(error)) = receipt.map(|receipt| self.engine.delivered(receipt)) {
            let why = Surface::Cli.error(&error);
            output::notice(&format!(
                "the next read of this file is plain text, as this one could not be confirmed: {why}"
            ));
        }
    }

    fn show(&self, object: impl FnOnce() -> serde_json::Value, text: impl FnOnce() -> String) -> Done {
        show(self.json, object, text)
    }
}

/// Milliseconds since 1970; earlier times count as 0, as nothing is ordered by it.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

fn show(json: bool, object: impl FnOnce() -> serde_json::Value, text: impl FnOnce() -> String) -> Done {
    Ok(output::line(&if json { object().to_string() } else { text() })?)
}

fn notices(first: Option<String>, others: &[Notice]) {
    for notice in first.iter().chain(&words(others)) {
        output::notice(notice);
    }
}

fn session_name(text: &str) -> Result<SessionName, Failure> {
    Ok(SessionName::parse(text).map_err(Error::from)?)
}

/// Accepts only digits, so that a sign or a word gets our message with the value in it.
fn line_number(flag: &str, text: Option<String>) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let number = text.parse().ok().filter(|number| *number > 0 && is_digits(&text));
    let wrong = || format!("--{flag} {text} is no line count; use a whole number from 1 on, as in --{flag} 10");
    number.map(Some).ok_or_else(|| Failure::usage(wrong()))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn entry(text: &str) -> Result<EntryId, Failure> {
    let number = text.parse().ok().filter(|_| is_digits(text.strip_prefix('e').unwrap_or(text)));
    let wrong = || format!("`{text}` is no entry; use a number as `session show` prints it, as in e12");
    number.ok_or_else(|| Failure::usage(wrong()))
}

fn status(terminal: &Terminal, args: StatusArgs) -> Done {
    let status: Status = terminal.ask_in(args.session.as_deref(), Operation::Status)?;
    terminal.show(|| json::status(&status), || report::status(&status))
}
