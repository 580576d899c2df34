//! What each command does: one request to the engine, one answer out. An answer counts as delivered only after it was
//! written and flushed.

mod demo;
mod diff;
mod init;
mod upkeep;

use clap::CommandFactory;
use readproof_core::edit::Places;
use readproof_disk::SessionName;
use readproof_engine::{
    Audience, Change, End, Engine, EntryId, Error, Freshness, PiSession, PiSources, Read, Receipt, Write, Written,
};
use std::{
    io::Read as _,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::{
    cli::{
        Cli, Command, EditArgs, PiSessionArgs, ReadArgs, RefreshArgs, SearchArgs, SessionCommand, SymbolsArgs,
        WriteArgs,
    },
    config::{self, Config},
    output::{self, Failure},
    report::{self, json, pi},
    serve::{bridge, mcp},
    tools::{bounded, conversation::Conversation, surface::Surface, symbols},
};

type Outcome = Result<(), Failure>;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> Outcome {
    let Cli { workspace, json, set, command } = cli;
    match command {
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "readproof", &mut script);
            return Ok(output::text(&String::from_utf8_lossy(&script))?);
        }
        Command::Demo => return demo::run(json),
        Command::Doctor => return upkeep::doctor(workspace, &set, json, Box::new(clock)),
        Command::PiSession(args) => return pi_session(args, workspace, &set, json),
        Command::Pi => return bridge::run(workspace, &set, clock),
        Command::Mcp(args) => return mcp::run(workspace, &set, &args.tools, clock),
        Command::Init(args) => return init::run(&args, workspace, json),
        Command::Read(_)
        | Command::Head(_)
        | Command::Tail(_)
        | Command::Grep(_)
        | Command::Stat { .. }
        | Command::Search(_)
        | Command::Symbols(_)
        | Command::Outline { .. }
        | Command::Diff(_)
        | Command::Refresh(_)
        | Command::Write(_)
        | Command::Edit(_)
        | Command::Status(_)
        | Command::Session(_)
        | Command::Replay(_)
        | Command::Gc(_)
        | Command::Config => {}
    }
    let config = Config::load(workspace, &set)?;
    if let Command::Config = command {
        return show(json, || json::config(&config), || report::config(&config));
    }
    config.notices.iter().for_each(|notice| output::notice(notice));
    let pi = if let Command::Gc(args) = &command {
        config::pi_sources(&config, &args.pi_session)
    } else {
        PiSources::default()
    };
    let mut engine = Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?;
    match command {
        Command::Read(args) if args.unified.mode.is_some() => unified(engine, &args, json),
        Command::Read(args) => read(&mut engine.for_one_read(), *args, json),
        Command::Head(args) => bounded::piece(&mut engine, args, End::Head, json),
        Command::Tail(args) => bounded::piece(&mut engine, args, End::Tail, json),
        Command::Grep(args) => bounded::grep(&mut engine, args, json),
        Command::Stat { path } => bounded::stat(&engine, &path, json),
        Command::Search(args) if args.mode == "symbol" => {
            let SearchArgs { query, glob, limit, .. } = args;
            symbols::list(&mut engine, SymbolsArgs { query: Some(query), glob, limit }, json)
        }
        Command::Symbols(args) => symbols::list(&mut engine, args, json),
        Command::Outline { path } => symbols::outline(&mut engine, &path, json),
        Command::Search(args) => bounded::search(&mut engine, args, json),
        Command::Diff(args) => diff::run(&mut engine, args, json),
        Command::Refresh(args) => refresh(&mut engine, args, json),
        Command::Write(args) => write(&mut engine, args, json),
        Command::Edit(args) => edit(&mut engine, args, json),
        Command::Status(args) => {
            let name = args.session.as_deref().map(session_name).transpose()?;
            let status = engine.status(name.as_ref())?;
            show(json, || json::status(&status), || report::status(&status))
        }
        Command::Session(command) => session(&mut engine, command, json),
        Command::Replay(args) => upkeep::replay(&mut engine, &args, json),
        Command::Gc(args) => upkeep::gc(&mut engine, &args, pi, json),
        Command::Config
        | Command::Demo
        | Command::Doctor
        | Command::Init(_)
        | Command::Pi
        | Command::Mcp(_)
        | Command::PiSession(_)
        | Command::Completions { .. } => Ok(()),
    }
}

/// Milliseconds since 1970; a clock before that counts as 0, as order never depends on it.
fn clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

fn show(json: bool, object: impl FnOnce() -> serde_json::Value, text: impl FnOnce() -> String) -> Outcome {
    Ok(output::line(&if json { object().to_string() } else { text() })?)
}

pub(crate) fn session_name(text: &str) -> Result<SessionName, Failure> {
    Ok(SessionName::parse(text).map_err(Error::from)?)
}

/// Digits only, so that a sign or a word gets a message of ours with the value in it.
pub(crate) fn line_number(flag: &str, text: Option<String>) -> Result<Option<u64>, Failure> {
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

/// Says that a result reached the caller. Failing that costs knowledge, not the answer.
fn confirm(engine: &mut Engine, receipt: Option<&Receipt>) {
    if let Some(Err(error)) = receipt.map(|receipt| engine.delivered(receipt)) {
        output::notice(&format!(
            "the next read of this file is plain text, as this one could not be confirmed: {error}"
        ));
    }
}

fn read(engine: &mut Engine, args: ReadArgs, json: bool) -> Outcome {
    let request = Read {
        offset: line_number("offset", args.offset)?,
        limit: line_number("limit", args.limit)?,
        session: args.session.as_deref().map(session_name).transpose()?,
        freshness: if args.fresh { Freshness::Fresh } else { Freshness::Known },
        path: args.path,
        ..Read::default()
    };
    let answer = engine.read(&request, &|| false)?;
    if json {
        output::line(&json::answer(&answer).to_string())?;
    } else {
        output::text(&answer.text)?;
        for notice in &answer.notices {
            output::notice(notice);
        }
    }
    confirm(engine, answer.receipt.as_ref());
    Ok(())
}

/// A read as MCP clients get it: the same checks, windows, handles and objects.
fn unified(engine: Engine, args: &ReadArgs, json: bool) -> Outcome {
    let typed = [("target", Some(&args.path)), ("offset", args.offset.as_ref()), ("limit", args.limit.as_ref())];
    let typed = typed.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    let mut given: serde_json::Map<String, serde_json::Value> =
        typed.chain(args.unified.given()).map(|(name, value)| (name.to_owned(), value.as_str().into())).collect();
    given.insert("fresh".to_owned(), args.fresh.into());
    if args.unified.include_context {
        given.insert("include_context".to_owned(), true.into());
    }
    let session = args.session.as_deref().map(session_name).transpose()?;
    let talk = Conversation { handles: session.is_some(), session, audience: Audience::Model };
    let said = Surface::new(engine).call("read", &given, &talk, &|| false, &|_| ()).map_err(|refusal| Failure {
        usage: refusal.code == "INVALID_ARGS",
        ..Failure::refused(refusal.code, refusal.message)
    })?;
    if json {
        return Ok(output::line(&said.object().to_string())?);
    }
    if let Some(context) = &said.context {
        output::text(context)?;
    }
    if let Some(text) = &said.text {
        output::text(text)?;
    }
    if let Some(trailer) = &said.trailer {
        output::notice(trailer);
    }
    Ok(())
}

fn refresh(engine: &mut Engine, args: RefreshArgs, json: bool) -> Outcome {
    let (offset, limit) = (line_number("offset", args.offset)?, line_number("limit", args.limit)?);
    let done = engine.refresh(&args.path, offset, limit, &session_name(&args.session)?)?;
    show(
        json,
        || json::refreshed(&done),
        || format!("the next read of {} ({}) is plain text", done.paths.join(", "), done.scope),
    )
}

fn write(engine: &mut Engine, args: WriteArgs, json: bool) -> Outcome {
    let session = session_name(&args.session)?;
    if output::input_is_terminal() {
        output::notice("type the content, then end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::refused("INPUT", format!("standard input cannot be read: {error}")))?;
    let content = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::refused(
            "NOT_TEXT",
            format!("{}: the content is not valid UTF-8 from byte {at} on; nothing was written", args.path),
        )
    })?;
    let written = engine.write(&Write { path: args.path, session, change: Change::Whole(content) })?;
    wrote(engine, &written, json)
}

fn edit(engine: &mut Engine, args: EditArgs, json: bool) -> Outcome {
    let session = session_name(&args.session)?;
    let places = if args.all { Places::All } else { Places::One };
    let change = Change::Replace { old: args.old, new: args.new, places };
    let written = engine.write(&Write { path: args.path, session, change })?;
    wrote(engine, &written, json)
}

fn wrote(engine: &mut Engine, written: &Written, json: bool) -> Outcome {
    show(json, || json::written(written), || written.text.clone())?;
    engine.untold().iter().for_each(|notice| output::notice(notice));
    confirm(engine, Some(&written.receipt));
    Ok(())
}

/// A session file is the person's to name, so it may lie anywhere; only `answers` of the settings matters to it.
fn pi_session(args: PiSessionArgs, workspace: Option<PathBuf>, set: &[String], json: bool) -> Outcome {
    let config = Config::load(workspace.clone(), set)?;
    let asked = PiSession {
        file: args.file,
        leaf: args.leaf,
        workspace: workspace.map(|_| config.root.path().to_path_buf()),
        home: config.bearings.home,
        answers: config.settings.answers,
    };
    let view = readproof_engine::pi_session(&asked)?;
    show(json, || pi::json(&view), || pi::report(&view))
}

fn session(engine: &mut Engine, command: SessionCommand, json: bool) -> Outcome {
    match command {
        SessionCommand::List { session } => {
            let mut names: Vec<String> = engine.session_list()?.iter().map(ToString::to_string).collect();
            names.retain(|name| session.as_ref().is_none_or(|wanted| wanted == name));
            if names.is_empty() && !json {
                return Ok(());
            }
            show(json, || serde_json::json!({"ok": true, "sessions": names}), || names.join("\n"))
        }
        SessionCommand::Show(session) => {
            let view = engine.session_show(&session_name(&session.name)?)?;
            show(json, || json::session(&view), || report::session(&view))
        }
        SessionCommand::Branch { entry: at, session } => {
            let at = if at == "root" { None } else { Some(entry(&at)?) };
            let at = engine.session_branch(&session_name(&session.name)?, at)?;
            let place = at.map_or("root".to_owned(), |id| id.to_string());
            moved(json, &session.name, &place)
        }
        SessionCommand::Switch { entry: to, session } => {
            let tip = engine.session_switch(&session_name(&session.name)?, entry(&to)?)?;
            moved(json, &session.name, &tip.to_string())
        }
        SessionCommand::Fork { entry: from, into, session } => {
            let from = from.as_deref().map(entry).transpose()?;
            let into = into.as_deref().map(session_name).transpose()?;
            let fork = engine.session_fork(&session_name(&session.name)?, from, into)?.to_string();
            show(json, || serde_json::json!({"ok": true, "session": fork}), || fork.clone())
        }
        SessionCommand::Compact { summary, session } => {
            let at = engine.session_compact(&session_name(&session.name)?, summary)?.to_string();
            let text = || format!("session {} is compacted at {at}: nothing before it counts", session.name);
            show(json, || serde_json::json!({"ok": true, "session": session.name, "entry": at}), text)
        }
    }
}

fn moved(json: bool, session: &str, place: &str) -> Outcome {
    let text = || format!("session {session} goes on after {place}");
    show(json, || serde_json::json!({"ok": true, "session": session, "leaf": place}), text)
}
