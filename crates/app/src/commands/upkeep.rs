//! Maintenance of a workspace's store: `replay`, `gc` and `doctor`, each as a report for people and as JSON. Decides
//! nothing: the engine says what is right, removable or wrong.

pub(super) mod bench;
pub(super) mod demo;

use readproof_core::operation::{Collect, Needed, Operation, Retention};
use readproof_disk::Stored;
use readproof_engine::{
    About, Check, Collected, Collection, Control, Engine, Finding, GcPlan, Health, LoggedSession, Progress, Replayed,
    ReplayedLog, RetainedBy, Settings,
};
use readproof_words::{
    disk::no_wall,
    replay::{outside_change, unverifiable, wrong},
    stores::store,
    upkeep::{says, unread},
};
use serde_json::{Value, json};
use std::{fmt::Write, path::PathBuf};

use super::{
    Done, Terminal, clock,
    history::{erased_json, lost_versions},
    init::{HostCheck, check_hosts},
    policy::audit::audited,
};
use crate::{
    cli::{GcArgs, ReplayArgs},
    config::{self, Beyond, Config},
    output::{self, Failure},
    report::{printable, size},
};

/// How many findings of a kind a report for people lists.
const LISTED: usize = 20;

/// Re-runs what was recorded and reports differences.
pub(super) fn replay(terminal: &Terminal, args: &ReplayArgs) -> Done {
    let replayed: Vec<Replayed> = terminal.ask_in(args.session.as_deref(), Operation::Replay)?;
    let wrong = replayed.iter().any(|session| !session.wrong.is_empty());
    output::line(&if terminal.json { replay_json(&replayed, !wrong).to_string() } else { replay_text(&replayed) })?;
    if wrong { Err(Failure::reported()) } else { Ok(()) }
}

fn replay_json(replayed: &[Replayed], ok: bool) -> Value {
    fn finding<W>(finding: &Finding<W>, code: &str, words: fn(&W) -> String) -> Value {
        let (about, entry) = (finding.about.as_str(), finding.entry.map(|entry| entry.to_string()));
        let message = words(&finding.what);
        json!({"about": about, "entry": entry, "path": finding.path, "code": code, "message": message})
    }
    let sessions: Vec<Value> = replayed
        .iter()
        .map(|session| {
            let found: Vec<Value> = session.wrong.iter().map(|f| finding(f, f.what.code(), wrong)).collect();
            let open: Vec<Value> = session.unverifiable.iter().map(|f| finding(f, f.what.code(), unverifiable)).collect();
            json!({
                "session": session.session.as_ref().map(ToString::to_string),
                "log": if session.of == ReplayedLog::Calls { "calls" } else { "session" },
                "retired": session.retired,
                "answers": session.looked_at(About::Answer),
                "verified": session.verified,
                "writes": session.looked_at(About::Write),
                "verified_writes": session.written,
                "calls": session.looked_at(About::Call),
                "verified_calls": session.calls,
                "searches": session.searches,
                "torn": session.torn,
                "unverifiable": open,
                "outside_changes": session.outside.iter().map(|f| finding(f, "outside_change", outside_change)).collect::<Vec<_>>(),
                "wrong": found,
            })
        })
        .collect();
    json!({"ok": ok, "sessions": sessions})
}

/// The name of a log: the session's, or one of its logs that were put aside.
fn log_name(replayed: &Replayed) -> String {
    let kind = if replayed.of == ReplayedLog::Calls { "calls" } else { "log" };
    let session = replayed.session.as_ref().map(|name| format!("{name}.")).unwrap_or_default();
    match (replayed.retired, replayed.of, &replayed.session) {
        (Some(number), _, _) => format!("{session}{kind}.retired-{number}"),
        (None, ReplayedLog::Session, Some(name)) => name.to_string(),
        (None, _, _) => format!("{session}{kind}"),
    }
}

fn replay_text(replayed: &[Replayed]) -> String {
    if replayed.is_empty() {
        return "there are no sessions in this workspace".to_owned();
    }
    let mut out = String::new();
    for session in replayed {
        let open = |writes: bool| session.unverifiable.iter().filter(|f| (f.about == About::Write) == writes).count();
        let faults = |writes: bool| session.wrong.iter().filter(|f| (f.about == About::Write) == writes).count();
        let tally =
            |verified, writes| format!("{verified} verified, {} unverifiable, {} wrong", open(writes), faults(writes));
        if session.of == ReplayedLog::Calls {
            out.push_str(&calls_line(session));
            continue;
        }
        let answers = session.looked_at(About::Answer);
        // Writing to a `String` cannot fail, here and below.
        let _ = write!(out, "{:<24} {answers} answers: {}", log_name(session), tally(session.verified, false));
        match session.looked_at(About::Write) {
            0 => {}
            writes => drop(write!(out, "; {writes} writes: {}", tally(session.written, true))),
        }
        out.push('\n');
    }
    for session in replayed {
        findings(&mut out, "WRONG", session, (&session.wrong, wrong));
    }
    for session in replayed {
        findings(&mut out, "outside change", session, (&session.outside, outside_change));
    }
    for session in replayed {
        findings(&mut out, "unverifiable", session, (&session.unverifiable, unverifiable));
    }
    out.trim_end().to_owned()
}

/// What became of the calls of a query log.
fn calls_line(session: &Replayed) -> String {
    let (all, verified) = (session.looked_at(About::Call), session.calls);
    let (open, faults) = (session.unverifiable.len(), session.wrong.len());
    let name = log_name(session);
    let mut out = format!("{name:<24} {all} calls: {verified} verified, {open} unverifiable, {faults} wrong");
    if session.searches > 0 {
        let searches = session.searches;
        let _ =
            write!(out, " ({searches} searches: the lines they showed; that nothing else matched cannot be verified)");
    }
    out.push('\n');
    out
}

/// How a finding is worded.
type Words<W> = fn(&W) -> String;

fn findings<W>(out: &mut String, word: &str, session: &Replayed, (findings, words): (&[Finding<W>], Words<W>)) {
    let name = log_name(session);
    for finding in findings.iter().take(LISTED) {
        let entry = finding.entry.map_or("log".to_owned(), |entry| entry.to_string());
        let path = finding.path.as_ref().map_or(String::new(), |path| format!(" {}", printable(path)));
        let _ = writeln!(out, "{word}: {name} {entry}{path}: {}", words(&finding.what));
    }
    if findings.len() > LISTED {
        let _ = writeln!(out, "{word}: {name} and {} more", findings.len() - LISTED);
    }
}

/// Default age in days at which a text is removed.
const DAYS: u32 = 30;

/// Removes stored texts by age and total size.
pub(super) fn gc(workspace: Option<PathBuf>, set: &[String], args: &GcArgs, json: bool) -> Done {
    let config = Config::load_with(workspace, set, Beyond::Transcripts(&args.host_session))?;
    config.notices.iter().for_each(|notice| output::notice(notice));
    let hosts = config::host_texts(&config, &args.host_session);
    let history = retention(&config.settings);
    let engine = audited(Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?);
    let terminal = Terminal::of(hosts.into_iter().fold(engine, Engine::with_host_texts), json);

    let days = args.older_than.or(args.max_bytes.is_none().then_some(DAYS));
    let needed = if args.force { Needed::Remove } else { Needed::Keep };
    let rules =
        Collect { older_than_ms: days.map(in_ms), max_bytes: args.max_bytes, needed, history, dry_run: args.dry_run };
    let Collection { plan, done } = terminal.ask_in(None, Operation::Collect(rules))?;
    let Some(done) = done else {
        let packed = Some(plan.packed).filter(|packed| *packed > 0);
        let packed = packed.map(|packed| format!("\n{packed} texts ({}) would be compressed", size(plan.packed_bytes)));
        let packed = packed.unwrap_or_default();
        let text = || format!("would remove {}{}{packed}", what_goes(&plan), what_stays(&plan, args.force));
        return terminal.show(|| gc_json(&plan, None), text);
    };
    if args.force && plan.count() > 0 {
        output::notice(&format!("removing {}", what_goes(&plan)));
    }
    for failure in &done.failed {
        output::notice(&format!("not removed: {}", store(failure)));
    }
    let text = || {
        let lost = Some(&plan.erased).filter(|erased| !erased.is_empty());
        let lost =
            lost.map(|erased| format!("\nerased from the history:{}", lost_versions(erased))).unwrap_or_default();
        let packed = Some(done.packed).filter(|packed| *packed > 0);
        let packed = packed
            .map(|packed| format!("\ncompressed {packed} texts; all compressed texts take {}", size(done.packs_bytes)));
        let removed = counted(done.objects, done.bytes, done.leftovers);
        format!("removed {removed}{}{lost}{}", what_stays(&plan, args.force), packed.unwrap_or_default())
    };
    terminal.show(|| gc_json(&plan, Some(&done)), text)?;
    if done.failed.is_empty() { Ok(()) } else { Err(Failure::reported()) }
}

fn in_ms(days: u32) -> u64 {
    u64::from(days) * 24 * 60 * 60 * 1000
}

/// What the settings say about earlier texts.
fn retention(settings: &Settings) -> Retention {
    Retention {
        older_than_ms: Some(settings.history_days).filter(|days| *days > 0).map(in_ms),
        max_bytes: Some(settings.history_bytes).filter(|bytes| *bytes > 0),
        pack_after_ms: Some(in_ms(settings.pack_days)),
    }
}

fn counted(objects: u64, bytes: u64, leftovers: u64) -> String {
    let (s, temporary) = (if objects == 1 { "" } else { "s" }, if leftovers == 1 { "file" } else { "files" });
    format!("{objects} object{s} ({}) and {leftovers} temporary {temporary}", size(bytes))
}

fn what_goes(plan: &GcPlan) -> String {
    let mut text = counted(plan.count() as u64, plan.bytes(), plan.leftovers.len() as u64);
    if !plan.erased.is_empty() {
        let _ = write!(text, "\nthese versions lose their text:{}", lost_versions(&plan.erased));
    }
    for (session, count) in &plan.costs {
        let _ = write!(text, "\n{} could still need {count} of these", printable(&session.to_string()));
    }
    text
}

fn what_stays(plan: &GcPlan, force: bool) -> String {
    let mut text = format!("; kept {} objects ({})", plan.kept, size(plan.kept_bytes));
    if plan.spared > 0 {
        let _ =
            write!(text, ", {} of them only because sessions could need them (--force removes those too)", plan.spared);
    }
    if !plan.looked_everywhere {
        text.push_str("\nnot all folders could be looked into for temporary files");
    }
    for (session, why) in plan.unread.iter().filter(|_| !force) {
        let session = printable(&session.to_string());
        let _ = write!(text, "\nno object was touched, as the needs of {session} are not known: {}", unread(why));
    }
    text
}

fn gc_json(plan: &GcPlan, done: Option<&Collected>) -> Value {
    let not_read: Vec<Value> = plan.unread.iter().map(|(session, why)| unread_json(session, &unread(why))).collect();
    let hashes = |objects: &[Stored]| objects.iter().map(|object| object.hash.to_string()).collect::<Vec<_>>();
    let mut planned = json!({
        "objects": hashes(&plan.objects),
        "bytes": plan.bytes(),
        "erased_versions": erased_json(&plan.erased),
        "compressed": {"objects": plan.packed, "bytes": plan.packed_bytes},
        "temporary_files": plan.leftovers.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
    });
    let mut object = json!({
        "ok": done.is_none_or(|done| done.failed.is_empty()),
        "dry_run": done.is_none(),
        "removed": done.map(|done| json!({
            "objects": done.objects, "bytes": done.bytes, "temporary_files": done.leftovers, "compressed": done.packed,
            "compressed_disk_bytes": done.packs_bytes, "failed": done.failed.iter().map(store).collect::<Vec<_>>(),
        })),
        "kept": {"objects": plan.kept, "bytes": plan.kept_bytes, "needed": plan.spared},
        "still_needed_by": {},
        "unread": not_read,
    });
    for host in config::HOSTS_WITH_TEXTS {
        planned[format!("{host}_objects")] = json!(hashes(plan.host_objects.get(host).map_or(&[], Vec::as_slice)));
        object[format!("still_needed_by_{host}")] = json!({});
    }
    object["planned"] = planned;
    for (session, count) in &plan.costs {
        match session {
            RetainedBy::Session(name) => object["still_needed_by"][name.to_string()] = json!(count),
            RetainedBy::Versions => object["still_needed_by_versions"] = json!(count),
            RetainedBy::HostSession { host, file } => {
                object[format!("still_needed_by_{host}")][file.display().to_string()] = json!(count);
            }
        }
    }
    object
}

fn unread_json(session: &RetainedBy, why: &str) -> Value {
    match session {
        RetainedBy::Session(name) => json!({"session": name.to_string(), "why": why}),
        RetainedBy::Versions => json!({"versions": true, "why": why}),
        RetainedBy::HostSession { host, file } => {
            json!({format!("{host}_session"): file.display().to_string(), "why": why})
        }
    }
}

/// Checks everything and says what to do. If the settings are invalid, the defaults are used.
pub(super) fn doctor(workspace: Option<PathBuf>, set: &[String], json: bool) -> Done {
    let mut config = Config::bare(workspace)?;
    let standard = config.settings.clone();
    let settings = match config.fill(set) {
        Ok(()) if config.notices.is_empty() => {
            Check::ok("settings", "they can be read; `readproof config` lists them".to_owned())
        }
        Ok(()) => Check::warning("settings", config.notices.join("\n"), "move it there, or take it out"),
        Err(failure) => {
            config.settings = standard;
            Check::problem("settings", failure.message, "correct it; until then every command refuses")
        }
    };
    // Their settings are all over the home folder, so this comes before the wall.
    let hosts = check_hosts(&config.root, &config::host_environment());
    config.raise_wall(Beyond::Nothing)?;
    let wall = wall_check(&config);
    let texts = config::host_texts(&config, &[]);
    let engine = audited(Engine::new(config.root, config.bearings, config.settings, Box::new(clock))?);
    let terminal = Terminal::of(texts.into_iter().fold(engine, Engine::with_host_texts), json);
    let pace = output::Pace::default();
    let progress = |Progress { done, total }: Progress| {
        pace.tell(|| format!("{done} of {} objects checked", total.unwrap_or(done)));
    };
    let control = Control { progress: &progress, ..Control::WAIT };
    let outcome = terminal.ask_with(&mut LoggedSession::default(), Operation::Doctor, control);
    output::progress("");
    let checks: Vec<Check> = outcome?.try_into()?;
    // Hosts and their sessions come last.
    let at = checks.len().saturating_sub(config::HOSTS_WITH_TEXTS.len());
    let mut checks: Vec<OfHost> = checks.into_iter().map(|check| (None, check)).collect();
    let hosts = hosts.into_iter().map(|HostCheck { host, check }| (Some(host), check));
    checks.splice(at..at, [(None, settings)].into_iter().chain(wall.map(|check| (None, check))).chain(hosts));
    let sick = checks.iter().any(|(_, check)| check.health == Health::Problem);
    output::line(&if json { doctor_json(&checks, !sick).to_string() } else { doctor_text(&checks) })?;
    if sick { Err(Failure::reported()) } else { Ok(()) }
}

/// What came of the wall, if one is asked for.
fn wall_check(config: &Config) -> Option<Check> {
    Some(match config.wall.as_ref()? {
        Ok(()) => Check::ok(
            "wall",
            "landlock: the kernel lets this program open nothing outside the workspace but what docs/policy.md lists"
                .to_owned(),
        ),
        Err(why) => Check::warning(
            "wall",
            no_wall(why),
            "use a kernel with Landlock, or a container or sandbox around the program",
        ),
    })
}

/// A check, with the host if it is about one.
type OfHost = (Option<&'static str>, Check);

fn doctor_json(checks: &[OfHost], ok: bool) -> Value {
    let list: Vec<Value> = checks
        .iter()
        .map(|(host, check)| {
            let health = check.health.as_str();
            let message = says(&check.says);
            json!({"check": check.name, "host": host, "health": health, "message": message, "advice": check.advice})
        })
        .collect();
    json!({"ok": ok, "checks": list})
}

fn doctor_text(checks: &[OfHost]) -> String {
    let mut out = String::new();
    for (_, check) in checks {
        let said: Vec<String> = says(&check.says).lines().map(printable).collect();
        let _ =
            writeln!(out, "{:<8} {:<10} {}", check.health.as_str(), check.name, said.join("\n                    "));
        if let Some(advice) = &check.advice {
            let _ = writeln!(out, "{:19} -> {advice}", "");
        }
    }
    out.trim_end().to_owned()
}
