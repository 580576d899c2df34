//! The same script with a steady clock and with one that jumps by years, both ways, while the times of all files jump
//! too: every answer and every record must be the same byte for byte, and removal by age never removes a young text.

use readproof_core::edit::Places;
use readproof_core::{path::Bearings, text::Text};
use readproof_disk::{LocalStore, Root, SessionName, Store};
use readproof_engine::{
    Collection, Engine, EntryId, Refreshed, Replayed, Settings,
    operation::{Change, Collect, Operation, Read, Refresh},
};
use readproof_hosts::session::{Past, Record};
use readproof_words::replay as words;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use crate::{
    ask::Ask,
    load::{FEWEST, FILES, file_name, prepare, some_line, whole_text},
    op::Random,
    world::Broken,
};

/// A year, in milliseconds.
const YEAR: u64 = 365 * 24 * 60 * 60 * 1000;

/// Where a steady clock begins: some time in 2026.
const START: u64 = 56 * YEAR;

/// Texts stored longer ago than this are removed.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How the clock and the files' times behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    Steady,
    Jumping,
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Jumped {
    /// Answers, the same in both.
    pub answers: u64,
    /// Records, the same in both except for their time.
    pub records: u64,
    /// How often the clock went back.
    pub back: u64,
    /// Stored texts that were removed by age while it jumped.
    pub removed: u64,
    /// Stored texts of the future that were left alone.
    pub future: u64,
    /// Answers by decision.
    pub modes: BTreeMap<String, u64>,
}

struct Play {
    root: PathBuf,
    engine: Engine,
    clock: Arc<AtomicU64>,
    times: Times,
    script: Random,
    jumps: Random,
    said: Vec<String>,
    done: Jumped,
}

/// Plays a script twice and compares.
///
/// # Errors
/// On the first difference, and on anything else that is not as it should be.
pub fn jumps(steps: u64, seed: u64) -> Result<Jumped, Broken> {
    let (steady, jumping) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (one, first) = play(&steady.path().canonicalize()?, steps, seed, Times::Steady)?;
    let (mut other, second) = play(&jumping.path().canonicalize()?, steps, seed, Times::Jumping)?;
    for (at, (one, other)) in one.said.iter().zip(&other.said).enumerate() {
        if one != other {
            return Err(format!("answer {at}: {one}\nwith a clock that jumps: {other}").into());
        }
    }
    if one.said.len() != other.said.len() || first != second {
        return Err("the logs differ by more than the times and nonces in them".into());
    }
    other.done.records = second.len() as u64;
    Ok(other.done)
}

fn play(root: &Path, steps: u64, seed: u64, times: Times) -> Result<(Play, Vec<String>), Broken> {
    let clock = Arc::new(AtomicU64::new(START));
    let (script, jumps) = (Random::new(seed), Random::new(!seed));
    let engine = open(root, &clock)?;
    let root = root.to_path_buf();
    let mut play = Play { root, engine, clock, times, script, jumps, said: Vec::new(), done: Jumped::default() };
    prepare(&play.root, &mut play.script)?;
    for _ in 0..steps {
        play.jump()?;
        play.step()?;
    }
    for session in play.engine.ask::<Vec<Replayed>>(None, Operation::Replay)? {
        if let Some(wrong) = session.wrong.first() {
            return Err(format!("{:?} {:?}: {}", session.session, wrong.entry, words::wrong(&wrong.what)).into());
        }
    }
    let records = records(&play.root)?;
    Ok((play, records))
}

fn open(root: &Path, clock: &Arc<AtomicU64>) -> Result<Engine, Broken> {
    let (bearings, clock) = (Bearings { cwd: root.display().to_string(), home: None }, Arc::clone(clock));
    let now = Box::new(move || clock.load(Ordering::Relaxed));
    Ok(Engine::new(Root::open(root)?, bearings, Settings::default(), now)?)
}

fn session() -> Result<SessionName, Broken> {
    Ok(SessionName::parse("s")?)
}

/// Every record in order, without the time and what is random by design.
fn records(root: &Path) -> Result<Vec<String>, Broken> {
    fn timeless(value: &mut Value) {
        if let Value::Object(fields) = value {
            fields.remove("at");
            fields.remove("nonce");
            fields.values_mut().for_each(timeless);
        }
    }
    let store = LocalStore::open_existing(&Root::open(root)?)?.ok_or("there is no store")?;
    let past = Past::read(&store, &session()?)?.ok_or("there is no log")?;
    let mut records = Vec::new();
    for (at, line) in past.lines.iter().enumerate() {
        let record: &Record = line.record.as_ref().ok_or("no record")?;
        let mut value: Value = serde_json::from_str(&record.to_json())?;
        timeless(&mut value);
        if line.line != at as u64 + 1 {
            return Err(format!("line {} stands at {}", line.line, at + 1).into());
        }
        records.push(value.to_string());
    }
    Ok(records)
}

impl Play {
    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Advances the clock, or lets it jump; likewise the times of every file, those of the store included.
    fn jump(&mut self) -> Result<(), Broken> {
        if self.times == Times::Steady {
            self.clock.fetch_add(1000, Ordering::Relaxed);
            return Ok(());
        }
        let before = self.now();
        let now = match self.jumps.below(6) {
            0 => [0, 1, u64::MAX, START, 2 * START][self.jumps.below(5)],
            1 => before.saturating_sub(self.jumps.below(20) as u64 * YEAR),
            2 => before.saturating_add(self.jumps.below(20) as u64 * YEAR),
            _ => before.saturating_add(1000),
        };
        self.done.back += u64::from(now < before);
        self.clock.store(now, Ordering::Relaxed);
        if self.jumps.below(8) == 0 {
            for folder in ["", ".readproof/objects", ".readproof/log"] {
                let Ok(entries) = fs::read_dir(self.root.join(folder)) else { continue };
                for entry in entries {
                    let path = entry?.path();
                    if path.is_file() {
                        fs::File::open(path)?.set_modified(self.some_time())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn some_time(&mut self) -> SystemTime {
        let years = Duration::from_millis(self.jumps.below(60) as u64 * YEAR);
        match self.jumps.below(3) {
            0 => SystemTime::UNIX_EPOCH - years,
            1 => SystemTime::UNIX_EPOCH + years,
            _ => SystemTime::now() + years,
        }
    }

    fn step(&mut self) -> Result<(), Broken> {
        let name = file_name(self.script.below(FILES));
        match self.script.below(30) {
            0..=2 => self.outside(&name),
            3 => self.write(name, whole_text),
            4 | 5 => self.edit(name),
            6 => {
                let compact = Operation::Compact { summary: None };
                let at = self.engine.ask::<EntryId>(Some(&session()?), compact);
                self.said.push(format!("{:?}", at.is_ok()));
                Ok(())
            }
            7 => self.collect(),
            8 | 9 => {
                self.engine = open(&self.root, &self.clock)?;
                Ok(())
            }
            10 => {
                let refresh = Refresh { path: name, offset: Some(3), limit: Some(9) };
                let refreshed = self.engine.ask::<Refreshed>(Some(&session()?), Operation::Refresh(refresh));
                self.said.push(format!("{:?}", refreshed.is_ok()));
                Ok(())
            }
            _ => self.read(name),
        }
    }

    /// Another program rewrites a line in place with the same length; where times jump, the file's time stays the same.
    fn outside(&mut self, name: &str) -> Result<(), Broken> {
        let path = self.root.join(name);
        let modified = fs::metadata(&path)?.modified()?;
        let text = fs::read_to_string(&path)?;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = 1 + self.script.below(FEWEST);
        lines[at] = some_line(&mut self.script);
        fs::write(&path, lines.join("\n") + "\n")?;
        if self.times == Times::Jumping {
            fs::File::open(path)?.set_modified(modified)?;
        }
        Ok(())
    }

    fn write(&mut self, path: String, text: fn(&mut Random) -> String) -> Result<(), Broken> {
        let change = Change::Whole(text(&mut self.script));
        self.change(path, change)
    }

    fn edit(&mut self, path: String) -> Result<(), Broken> {
        let text = fs::read_to_string(self.root.join(&path))?;
        let lines: Vec<&str> = text.lines().collect();
        let old = lines[1 + self.script.below(FEWEST - 2)].to_owned();
        let new = some_line(&mut self.script);
        self.change(path, Change::Replace { old, new, places: Places::One })
    }

    fn change(&mut self, path: String, change: Change) -> Result<(), Broken> {
        let written = self.engine.write(&session()?, &path, change)?;
        self.said.push(format!("{} {} {} {:?}", written.path, written.bytes, written.lines, written.receipt.entry));
        self.engine.delivered(&written.receipt)?;
        Ok(())
    }

    fn read(&mut self, path: String) -> Result<(), Broken> {
        let ranged = self.script.below(3) == 0;
        let offset = ranged.then(|| 1 + self.script.below(FEWEST / 2) as u64);
        let limit = ranged.then(|| 1 + self.script.below(FEWEST / 2) as u64);
        let answer = self.engine.read(Some(&session()?), Read { path, offset, limit, ..Read::default() })?;
        let receipt = answer.given.as_ref().ok_or_else(|| format!("not recorded: {:?}", answer.notices))?;
        let (mode, reason) = (answer.mode.as_str(), answer.reason.as_str());
        self.said.push(format!("{mode} {reason} {:?} {:?} {:?}", answer.notices, receipt.entry, answer.text));
        self.done.answers += 1;
        *self.done.modes.entry(mode.to_owned()).or_default() += 1;
        // Sometimes a result never arrives.
        if self.script.below(20) > 0 {
            self.engine.delivered(receipt)?;
        }
        Ok(())
    }

    /// Removes texts by age. What a session could need stays, so this never changes an answer.
    fn collect(&mut self) -> Result<(), Broken> {
        let store = LocalStore::open(&Root::open(&self.root)?)?;
        for _ in 0..4 {
            // A text that no session needs, of any age.
            let text = Text::new(some_line(&mut self.script));
            store.objects().put(&text)?;
            if self.times == Times::Jumping {
                let path = self.root.join(format!(".readproof/objects/sha256-{}.txt", text.hash()));
                fs::File::open(path)?.set_modified(self.some_time())?;
            }
        }
        let older_than_ms = Some(u64::try_from(OLD.as_millis())?);
        let rules = Collect { older_than_ms, dry_run: true, ..Collect::default() };
        let Collection { plan, done } = self.engine.ask(None, Operation::Collect(rules.clone()))?;
        if done.is_some() {
            return Err("something was removed that was only asked about".into());
        }
        let age = |modified: u64| Duration::from_millis(self.now().saturating_sub(modified));
        if let Some(young) = plan.objects.iter().find(|object| age(object.modified) < OLD) {
            return Err(format!("at {}, {young:?} would be removed", self.now()).into());
        }
        self.done.future +=
            store.objects().stored().iter().filter(|object| object.modified > self.now()).count() as u64;
        let rules = Collect { dry_run: false, ..rules };
        let Collection { done, .. } = self.engine.ask(None, Operation::Collect(rules))?;
        self.done.removed += done.ok_or("nothing was done")?.objects;
        Ok(())
    }
}
