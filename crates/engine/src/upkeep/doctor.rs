//! Checks everything that a workspace keeps, and says what to do about problems. Reads all of it and changes nothing.

use readproof_core::{policy::Preset, text::ContentHash};
use readproof_disk::{Create, Loaded, LogError, LogName, Root, Store, StoreError};
use readproof_hosts::{session::Past, versions::Versions};
use std::collections::BTreeSet;

use super::gc::{self, HostSession, HostTexts};
use crate::{Control, Engine, Error};

/// With less free space than this, in bytes, `doctor` warns.
const LITTLE_ROOM: u64 = 100 * 1024 * 1024;

/// With less free space than this, in bytes, nothing can be stored.
const NO_ROOM: u64 = 1024 * 1024;

/// How many names a check lists.
pub const LISTED: usize = 5;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// A check without findings.
    Ok,
    /// Nothing is lost, but something could be done.
    Warning,
    /// Until it is fixed, knowledge is lost or calls are refused.
    Problem,
}

impl Health {
    /// The identifier used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub health: Health,
    /// What was found.
    pub says: Says,
    /// What to do, where something can be done.
    pub advice: Option<String>,
}

/// What a check found.
#[derive(Debug)]
pub enum Says {
    /// In plain words.
    Plain(String),
    /// The store cannot be opened.
    Error(Error),
    /// The store cannot be written.
    Store(StoreError),
    /// A log is damaged, or cannot be read.
    Log(LogError),
    /// The session files of a host that count for the workspace.
    HostSessions(Vec<HostSession>),
}

impl From<String> for Says {
    fn from(says: String) -> Self {
        Self::Plain(says)
    }
}

impl Check {
    /// A check without findings.
    #[must_use]
    pub fn ok(name: &'static str, says: impl Into<Says>) -> Self {
        Self { name, health: Health::Ok, says: says.into(), advice: None }
    }

    /// A check that found something that could be done.
    #[must_use]
    pub fn warning(name: &'static str, says: impl Into<Says>, advice: &str) -> Self {
        Self { name, health: Health::Warning, says: says.into(), advice: Some(advice.to_owned()) }
    }

    /// A check that found something that must be fixed.
    #[must_use]
    pub fn problem(name: &'static str, says: impl Into<Says>, advice: &str) -> Self {
        Self { name, health: Health::Problem, says: says.into(), advice: Some(advice.to_owned()) }
    }

    /// A host's session files that count for a workspace.
    fn host_sessions(host: &'static str, found: Vec<HostSession>) -> Self {
        let all_read = found.iter().all(|found| found.unread.is_none());
        let says = Says::HostSessions(found);
        if all_read {
            return Self::ok(host, says);
        }
        let advice =
            "make them readable, or move away what is no session file; until then `readproof gc` removes no text";
        Self::warning(host, says, advice)
    }
}

impl Engine {
    /// Checks the workspace, its store with every object and every log, and what hosts keep in it.
    pub(crate) fn doctor(&self, control: &Control<'_>) -> Vec<Check> {
        let mut checks = self.check_store(control);
        let sessions = |host: &dyn HostTexts| Check::host_sessions(host.host(), host.sessions(&self.root));
        checks.extend(self.hosts.iter().map(|host| sessions(&**host)));
        checks
    }

    fn check_policy_files(&self) -> Check {
        match self.list_policy() {
            Err(error) => Check::problem("policy", Says::Error(error), "correct it; until then nothing is answered"),
            Ok(listed) if listed.warnings.is_empty() => {
                let preset = listed.preset.map_or("none", Preset::as_str);
                Check::ok("policy", format!("preset {preset}, {} rules in force", listed.rules.len()))
            }
            Ok(listed) => {
                let advice = "`readproof policy list` names them; correct or remove them";
                Check::warning("policy", format!("{} rules or keys have no effect", listed.warnings.len()), advice)
            }
        }
    }

    fn check_store(&self, control: &Control<'_>) -> Vec<Check> {
        let now = self.now();
        let workspace = Check::ok("workspace", self.root.path().display().to_string());
        let mut checks = vec![workspace, room(&self.root), self.check_policy_files()];
        let store = match self.store(Create::No) {
            Ok(Some(store)) => store,
            Ok(None) => {
                checks.push(Check::ok("store", "none yet; the first read with --session makes it".to_owned()));
                checks.push(left_behind(&self.root, None, now));
                return checks;
            }
            Err(error) => {
                let advice = "do that; until then reads give plain text and nothing is remembered";
                checks.push(Check::problem("store", Says::Error(error), advice));
                return checks;
            }
        };
        checks.push(match store.refuses() {
            None => Check::ok("store", "its format is known, it is yours, and only you can use it".to_owned()),
            Some(error) => {
                let advice =
                    "make it writable; until then reads give plain text, nothing is remembered and no edit is made";
                Check::problem("store", Says::Store(error), advice)
            }
        });
        checks.push(ignored(&*store));
        checks.push(objects(&*store, control));
        checks.extend(logs(&*store));
        checks.extend(self.history_texts(&*store));
        checks.push(left_behind(&self.root, Some(&*store), now));
        checks
    }

    /// Whether every text is there that the version log says is kept.
    fn history_texts(&self, store: &dyn Store) -> Option<Check> {
        // A log that cannot be read has a check of its own.
        let versions = Versions::open(store, Create::No, 0).ok().flatten()?;
        let stored: BTreeSet<ContentHash> = store.objects().stored().iter().map(|object| object.hash).collect();
        let (mut named, mut erased, mut lost, mut where_) = (BTreeSet::new(), 0, BTreeSet::new(), Vec::new());
        for found in versions.uses().filter(|found| found.kept) {
            if !named.insert(found.hash) {
                continue;
            }
            if versions.is_erased(found.hash) {
                erased += 1;
            } else if !stored.contains(&found.hash) && lost.insert(found.hash) {
                where_.push(format!("{} {}", found.id, self.named(found.path)));
            }
        }
        let says = format!("{} texts of earlier versions, {erased} of them erased", named.len());
        if lost.is_empty() {
            return Some(Check::ok("history", format!("{says}, the others are stored")));
        }
        let more = where_.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let listed = where_.into_iter().take(LISTED).collect::<Vec<_>>().join(", ");
        let says = format!("{says}; {} are not stored any more: {listed}{more}", lost.len());
        let advice = "if a backup has these texts, put them back into .readproof/objects; a rewind leaves such files as they are";
        Some(Check::warning("history", says, advice))
    }
}

fn ignored(store: &dyn Store) -> Check {
    if store.ignores_itself() {
        return Check::ok("git", "the store ignores itself".to_owned());
    }
    let says = "`.readproof/.gitignore` is missing or changed, so git may take up what was read".to_owned();
    Check::warning("git", says, "delete that file if it is there; the next read with --session makes it anew")
}

fn room(root: &Root) -> Check {
    let Some(bytes) = root.free_bytes() else {
        return Check::ok("space", "the system does not say how much there is".to_owned());
    };
    let says = format!("{} MiB are free", bytes / (1024 * 1024));
    if bytes < NO_ROOM {
        Check::problem("space", says, "free some; until then nothing new is remembered")
    } else if bytes < LITTLE_ROOM {
        Check::warning("space", says, "free some, for instance with `readproof gc`")
    } else {
        Check::ok("space", says)
    }
}

fn objects(store: &dyn Store, control: &Control<'_>) -> Check {
    let stored = store.objects().stored();
    let (mut damaged, mut unreadable) = (Vec::new(), Vec::new());
    let mut hashes: Vec<ContentHash> = stored.iter().map(|object| object.hash).collect();
    store.objects().sort(&mut hashes);
    for (done, hash) in hashes.into_iter().enumerate() {
        control.report(done as u64, Some(stored.len() as u64));
        match store.objects().load(hash) {
            Loaded::Text(_) => {}
            Loaded::Damaged => damaged.push(hash),
            // Removed since it was listed, or not readable.
            Loaded::Missing => unreadable.push(hash),
        }
    }
    let bytes: u64 = stored.iter().map(|object| object.bytes).sum();
    let says = format!("{} stored texts, {bytes} bytes", stored.len());
    if !damaged.is_empty() {
        let says = format!("{says}; {} damaged: {}", damaged.len(), listed(&damaged));
        let advice = "delete these files in .readproof/objects, or the `small-` or `cold/` file that holds them; `readproof replay \
             --verify` names the answers they cost";
        return Check::problem("objects", says, advice);
    }
    let packs = store.objects().damaged();
    let (cold, packs): (Vec<String>, Vec<String>) = packs.into_iter().partition(|name| name.contains('/'));
    if !cold.is_empty() {
        let says = format!("{says}; damaged, so that nothing in it can be found: {}", cold.join(", "));
        let advice = "if a backup has this file, put it back into .readproof/objects; else delete it";
        return Check::problem("objects", says, advice);
    }
    if !packs.is_empty() {
        let says = format!("{says}; what follows in {} is no stored text", packs.join(", "));
        return Check::warning("objects", says, "run `readproof gc`: it keeps what is good in them");
    }
    if !unreadable.is_empty() {
        let says = format!("{says}; {} could not be read: {}", unreadable.len(), listed(&unreadable));
        return Check::warning("objects", says, "run this again; if they are still named, check their permissions");
    }
    Check::ok("objects", format!("{says}, all as their names say"))
}

fn listed(hashes: &[ContentHash]) -> String {
    let names: Vec<String> = hashes.iter().take(LISTED).map(|hash| format!("sha256-{hash}.txt")).collect();
    let more = hashes.len().saturating_sub(LISTED);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

/// One check for all intact logs, and one for each of the others.
fn logs(store: &dyn Store) -> Vec<Check> {
    let (mut checks, mut well, mut lines, mut torn) = (Vec::new(), 0, 0, 0);
    for name in store.logs().sessions() {
        match Past::read(store, &name) {
            Ok(None) => {}
            Ok(Some(past)) if past.is_newer() => {
                let says = format!("session {name} was written by a newer readproof");
                checks.push(Check::warning("log", says, "use that one, or another session"));
            }
            Ok(Some(past)) => {
                torn += past.torn;
                lines += past.lines.len();
                match past.broken {
                    None => well += 1,
                    Some(error) => {
                        let advice =
                            "nothing to do: the next read with it begins anew; look at the file if that surprises you";
                        checks.push(Check::problem("log", Says::Log(error), advice));
                    }
                }
            }
            Err(error) => checks.push(Check::problem("log", Says::Log(error), "until then the session is not used")),
        }
    }
    let of_all = [
        (LogName::Versions, "versions", "nothing to do: the next edit begins anew"),
        (LogName::Approvals, "approvals", "until it is moved away, whatever needs an approval is refused"),
    ];
    let calls = store.logs().list().into_iter().filter(|log| matches!(log, LogName::Calls(_)));
    let calls = calls.map(|log| (log, "calls", "nothing to do: the next call keeps it as evidence and begins anew"));
    for (log, name, advice) in of_all.into_iter().chain(calls) {
        let found = store.logs().look(&log);
        match found.and_then(|log| log.map(|mut log| log.catch_up().map(|all| (all.len(), log.torn()))).transpose()) {
            Ok(None) => {}
            Ok(Some((count, fragments))) => {
                torn += fragments;
                checks.push(Check::ok(name, format!("{count} lines, every one in its chain")));
            }
            Err(error) => checks.push(Check::problem(name, Says::Log(error), advice)),
        }
    }
    let fragments =
        if torn > 0 { format!("; {torn} fragments of failed writes, which do no harm") } else { String::new() };
    checks
        .insert(0, Check::ok("logs", format!("{well} sessions, {lines} entries, every line in its chain{fragments}")));
    checks
}

/// Leftovers of killed processes, and logs that were put aside.
fn left_behind(root: &Root, store: Option<&dyn Store>, now: u64) -> Check {
    let (temporary, all) = gc::left_behind(root, now);
    let retired = store.map(|store| store.logs().retired()).unwrap_or_default();
    let mut says = Vec::new();
    let mut advice = Vec::new();
    let listed = |names: Vec<String>| {
        let more = names.len().saturating_sub(LISTED);
        let first = names.into_iter().take(LISTED).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{first} and {more} more") } else { first }
    };
    if !temporary.is_empty() {
        let names = temporary.iter().map(|file| file.name.clone()).collect();
        says.push(format!("{} temporary files of processes that are gone: {}", temporary.len(), listed(names)));
        advice.push("`readproof gc` removes temporary files".to_owned());
    }
    if !all {
        says.push("not all folders could be looked into".to_owned());
        advice.push("look for `.readproof-*.tmp` in the others yourself".to_owned());
    }
    if !retired.is_empty() {
        let names = retired.iter().map(ToString::to_string).collect();
        says.push(format!("{} logs put aside because they missed an answer: {}", retired.len(), listed(names)));
        advice.push(
            "logs put aside are evidence only: delete them in .readproof/log when you are done with them".to_owned(),
        );
    }
    let aside = store.map(|store| store.aside()).unwrap_or_default();
    if !aside.is_empty() {
        let (count, names) = (aside.len(), listed(aside));
        says.push(format!("{count} stores put aside because they were not made here: {names}"));
        advice.push(
            "stores put aside count for nothing: delete them in .readproof when you are done with them".to_owned(),
        );
    }
    if says.is_empty() {
        return Check::ok("leftovers", "none".to_owned());
    }
    Check::warning("leftovers", says.join("; "), &advice.join("; "))
}
