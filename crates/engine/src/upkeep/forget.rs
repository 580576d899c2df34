//! Erases earlier texts because a person wants them gone: from every store of ours, for every file that had them, and from the
//! indexes made of them. Recorded before anything goes, so that `gc` completes what a killed process left. The files themselves
//! are not touched, and a text that a named file has now stays: it is there anyway, and the next change would store it again.

use readproof_core::{
    operation::{Caller, Forget, Since},
    text::ContentHash,
};
use readproof_disk::{Create, LogName, STORE_NAME, Store, StoreError, Stored};
use readproof_hosts::{
    audit::{AuditLog, CallLine, FileFacts, Sha},
    calls::PastCalls,
    session::Past,
    versions::{VersionId, Versions},
};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    gc::{Collected, RetainedBy},
    retention::{ErasedText, Named},
};
use crate::{Control, Engine, Error, HistoryError};

/// How often a plan is made again because others changed files meanwhile.
const TRIES: u32 = 5;

/// The database that holds no text and nothing made of one.
const WITHOUT_TEXT: &str = "registry.db";

/// What was erased, or would be.
#[derive(Debug, Default)]
pub struct Forgotten {
    /// The texts, with the versions that lose them.
    pub texts: Vec<ErasedText>,
    /// Files other than those that were named which had one of these texts and lose it too.
    pub others: Vec<String>,
    /// Sessions that relied on some of these texts, with the number of texts: they get plain text instead.
    pub costs: BTreeMap<RetainedBy, u64>,
    /// Files whose present text stays.
    pub present: Vec<String>,
    /// How many texts that calls returned are kept beside the audit log because of these texts, and go too.
    pub told: u64,
    /// What was removed; none for a dry run.
    pub done: Option<Collected>,
    /// The newest record of the version log when the plan was made.
    worked_out: Option<VersionId>,
}

impl Forgotten {
    /// The total size of the texts in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.texts.iter().map(|text| text.bytes).sum()
    }
}

/// The texts that the logs of sessions and calls mention, each with its files and the sessions that may rely on it.
type Mentioned = BTreeMap<ContentHash, BTreeSet<(String, Option<RetainedBy>)>>;

/// Which texts are meant.
struct Meant {
    /// Files or folders by their names in the log; all if empty.
    paths: Vec<String>,
    /// No record from this one, or from this time on may name the text.
    before: Option<Limit>,
}

#[derive(Clone, Copy)]
enum Limit {
    Time(u64),
    Version(u64),
}

impl Meant {
    fn is_path(&self, path: &str) -> bool {
        let inside = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.paths.iter().any(|one| one == path || one == "." || inside(one))
    }
}

impl Engine {
    /// Erases earlier texts, or only says which.
    pub(crate) fn forget_texts(
        &self,
        caller: &Caller,
        asked: &Forget,
        control: &Control<'_>,
    ) -> Result<Forgotten, Error> {
        let paths = asked.paths.iter().map(|path| Ok(self.logged_name(&self.new_file(path)?)));
        let paths = paths.collect::<Result<Vec<String>, Error>>()?;
        self.look_around(control)?;
        let Some(store) = self.store(Create::No)? else { return Ok(Forgotten::default()) };
        for _ in 0..TRIES {
            let mut plan = self.forget_plan(&*store, asked, &paths)?;
            if asked.dry_run {
                plan.told = self.erase_told(&*store, &plan, (asked, &paths))?;
                return Ok(plan);
            }
            let _erasing = self.erasing_texts()?;
            let going: Vec<ContentHash> = plan.texts.iter().map(|text| text.hash).collect();
            if self.record_erased((caller, "forget"), &going, plan.worked_out)? {
                plan.done = Some(self.erase(&*store, &plan));
                plan.told = self.erase_told(&*store, &plan, (asked, &paths))?;
                return Ok(plan);
            }
        }
        Err(StoreError::Busy { name: format!("{STORE_NAME}/log/versions") }.into())
    }

    fn forget_plan(&self, store: &dyn Store, asked: &Forget, paths: &[String]) -> Result<Forgotten, Error> {
        let stored = store.objects().stored();
        let (named, before) = self
            .with_versions(Create::No, |versions| Ok((Named::of(versions), self.limit(versions, asked))))?
            .unwrap_or_else(|| (Named::default(), Ok(None)));
        let meant = Meant { paths: paths.to_vec(), before: before? };
        let mentioned = mentioned(store);
        let mut plan = Forgotten { worked_out: named.newest, ..Forgotten::default() };
        let (present, names) = self.present_texts(&named, &mentioned, &meant);
        let mut others = BTreeSet::new();
        for object in stored {
            let Some(text) = self.chosen_text(&named, &mentioned, (&meant, object), &present)? else { continue };
            let found = named.texts.get(&object.hash).into_iter().flat_map(|found| &found.paths);
            let of_text = || mentioned.get(&object.hash).into_iter().flatten();
            let by_session = || of_text().filter(|(path, _)| self.may_name(path));
            let paths = found.chain(by_session().map(|(path, _)| path));
            others.extend(paths.filter(|path| !meant.is_path(path) && self.may_name(path)).cloned());
            for session in by_session().filter_map(|(_, session)| session.as_ref()).collect::<BTreeSet<_>>() {
                *plan.costs.entry(session.clone()).or_default() += 1;
            }
            plan.texts.push(text);
        }
        if !meant.paths.is_empty() {
            plan.others = others.into_iter().collect();
            plan.present = names;
        }
        Ok(plan)
    }

    fn limit(&self, versions: &Versions, asked: &Forget) -> Result<Option<Limit>, Error> {
        match &asked.before {
            None => Ok(None),
            Some(Since::Time(ms)) => Ok(Some(Limit::Time(*ms))),
            Some(Since::Version(version)) => Ok(Some(Limit::Version(self.moment(versions, version)?.0))),
        }
    }

    /// The texts that the named files have now, and their names; without names, the newest text of every file.
    fn present_texts(
        &self,
        named: &Named,
        mentioned: &Mentioned,
        meant: &Meant,
    ) -> (BTreeSet<ContentHash>, Vec<String>) {
        if meant.paths.is_empty() {
            let newest = named.texts.iter().filter(|(_, text)| text.is_newest).map(|(hash, _)| *hash);
            return (newest.collect(), Vec::new());
        }
        let by_session = mentioned.values().flatten().map(|(path, _)| path);
        let logged = named.texts.values().flat_map(|text| &text.paths).chain(by_session);
        let paths: BTreeSet<&String> = logged.filter(|path| meant.is_path(path) && self.may_name(path)).collect();
        let (mut texts, mut names) = (BTreeSet::new(), Vec::new());
        for path in paths {
            let Ok(file) = self.new_file(&self.root.absolute(path)) else { continue };
            if let Ok(read) = self.root.snapshot(&file, &self.snapshot_rules()) {
                texts.insert(read.text.hash());
                names.push(path.clone());
            }
        }
        (texts, names)
    }

    /// Whether a stored text is meant.
    fn chosen_text(
        &self,
        named: &Named,
        mentioned: &Mentioned,
        (meant, object): (&Meant, Stored),
        present: &BTreeSet<ContentHash>,
    ) -> Result<Option<ErasedText>, Error> {
        let found = named.texts.get(&object.hash);
        let is_old = match (meant.before, found) {
            (None, _) => true,
            (Some(Limit::Time(ms)), Some(found)) => found.at < ms,
            (Some(Limit::Version(id)), Some(found)) => found.last < id,
            // Nothing says when it was.
            (Some(_), None) => false,
        };
        let is_of = |path: &str| meant.is_path(path) && self.may_name(path);
        let of_file = || {
            let of_log = found.is_some_and(|found| found.paths.iter().any(|path| is_of(path)));
            of_log || mentioned.get(&object.hash).is_some_and(|all| all.iter().any(|(path, _)| is_of(path)))
        };
        let of_any = || found.is_some_and(|found| found.paths.iter().any(|path| self.may_name(path)));
        let is_meant = if meant.paths.is_empty() { of_any() } else { of_file() };
        if !is_old || present.contains(&object.hash) || !is_meant {
            return Ok(None);
        }
        match (found.and_then(|found| found.conflict.clone()), meant.paths.is_empty()) {
            (Some((id, path)), false) if self.may_name(&path) => {
                return Err(Error::History(HistoryError::Unresolved { path, id }));
            }
            (Some(_), _) => return Ok(None),
            (None, _) => {}
        }
        let of_log = named.erased_text(object, &|path| self.may_name(path));
        Ok(Some(of_log.unwrap_or(ErasedText { hash: object.hash, bytes: object.bytes, versions: Vec::new() })))
    }

    /// Removes the texts, and the indexes that were made of them.
    fn erase(&self, store: &dyn Store, plan: &Forgotten) -> Collected {
        let mut done = Collected::default();
        if plan.texts.is_empty() {
            return done;
        }
        let removal = store.objects().remove(&plan.texts.iter().map(|text| text.hash).collect());
        for text in plan.texts.iter().filter(|text| removal.removed.contains(&text.hash)) {
            done.objects += 1;
            done.bytes += text.bytes;
        }
        done.failed.extend(removal.failed);
        for name in store.databases().into_iter().filter(|name| name != WITHOUT_TEXT) {
            done.failed.extend(store.remove_database(&name).err());
        }
        done
    }
}

impl Engine {
    /// Erases what calls returned of these texts, where the audit keeps it; or only counts that. Lines and proofs stay. Where a line
    /// does not name every file that it is about, its text goes too.
    fn erase_told(
        &self,
        store: &dyn Store,
        plan: &Forgotten,
        (asked, paths): (&Forget, &[String]),
    ) -> Result<u64, Error> {
        let Some(log) = AuditLog::open(store)? else { return Ok(0) };
        let going: BTreeSet<ContentHash> = plan.texts.iter().map(|text| text.hash).collect();
        let meant = Meant { paths: paths.to_vec(), before: None };
        let is_path = |path: &str| meant.is_path(path) || plan.others.iter().any(|other| other == path);
        let is_meant = |call: &CallLine| {
            let of_file = |file: &FileFacts| {
                let mut hashes = [file.before, file.after].into_iter().flatten().map(|Sha(hash)| hash);
                let is_unknown = file.before.is_none() && file.after.is_none() && !file.sensitive;
                hashes.any(|hash| going.contains(&hash) || (is_path(&file.path) && self.is_erased(hash)))
                    || (is_unknown && asked.before.is_none() && is_path(&file.path))
            };
            call.files.iter().any(of_file) || (call.more_files > 0 && !going.is_empty())
        };
        let told = log.kept_of(&is_meant)?;
        if asked.dry_run || told == 0 {
            return Ok(told);
        }
        let mut writer = self.audit_writer()?;
        let told = writer.erase(self.now(), &is_meant)?;
        writer.sign()?;
        writer.close(0);
        Ok(told)
    }
}

/// What all sessions and logged calls mention, as far as their logs can be read.
fn mentioned(store: &dyn Store) -> Mentioned {
    let mut all = Mentioned::new();
    for name in store.logs().sessions() {
        let Ok(Some(past)) = Past::read(store, &name) else { continue };
        for record in past.lines.iter().filter_map(|line| line.record.as_ref()) {
            for (path, hash) in record.mentions() {
                all.entry(hash).or_default().insert((path.to_owned(), Some(RetainedBy::Session(name.clone()))));
            }
        }
    }
    let logged = store.logs().list().into_iter().filter_map(|log| match log {
        LogName::Calls(of) => PastCalls::read(store, of.as_ref()).ok().flatten(),
        LogName::Session(_) | LogName::Versions | LogName::Approvals => None,
    });
    let retired = store.logs().retired();
    let retired = retired.iter().filter(|log| matches!(log.log, LogName::Calls(_)));
    let retired = retired.filter_map(|log| PastCalls::read_retired(store, log).ok());
    for call in logged.chain(retired).flat_map(|past| past.calls).filter_map(|(_, call)| call) {
        for (path, hash) in call.mentions() {
            all.entry(hash).or_default().insert((path.to_owned(), None));
        }
    }
    all
}
