//! Another program that saves a file while it is edited: at every moment of a write it may rename a new file over the old, as
//! editors do. It runs inside the write, so it knows exactly what it displaced itself. Every other text that it saved is in the
//! file afterwards, or stored.

use readproof_core::{edit::Places, path::Bearings, text::ContentHash};
use readproof_disk::{Loaded, LocalStore, Moment, Root, SessionName, Store};
use readproof_engine::{
    Engine, Written,
    operation::{Change, Operation, Over, Patch, Write},
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use crate::{ask::Ask, op::Random, world::Broken};

/// After so many edits a new workspace is used.
const PER_WORKSPACE: u64 = 40;

/// The files; each is edited alone, and all of them together.
const FILES: [&str; 3] = ["a.txt", "b.txt", "in/c.txt"];

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Races {
    pub edits: u64,
    pub made: u64,
    pub saves: u64,
    /// Saved texts that the program itself saved over.
    pub over: u64,
    /// Saved texts that are in a file at the end of the edit.
    pub there: u64,
    /// Saved texts that are stored.
    pub stored: u64,
    /// Saves by the moment of the write.
    pub moments: BTreeMap<String, u64>,
}

impl fmt::Display for Races {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edits, made, saves, over, there, stored, moments } = self;
        write!(
            f,
            "{edits} edits, {made} of them made, with {saves} saves of another program inside them: {over} it saved "
        )?;
        writeln!(f, "over itself, {there} are in the file, {stored} are stored, 0 lost;")?;
        moments.iter().try_for_each(|(moment, count)| write!(f, " {moment} {count}"))
    }
}

/// The other program.
struct Saver {
    root: PathBuf,
    random: Random,
    /// What is left to save during this call.
    budget: usize,
    /// Texts that it saved and did not save over, with their files.
    open: BTreeMap<String, (String, String)>,
    number: u64,
    done: Races,
    failed: Option<String>,
}

impl Saver {
    fn at(&mut self, moment: Moment) {
        // Mostly where it matters.
        let likely = matches!(moment, Moment::Checked | Moment::Announced | Moment::Exchanged | Moment::GoingBack);
        let likely = likely || matches!(moment, Moment::Aside | Moment::Back | Moment::Moved);
        if self.budget == 0 || self.random.below(if likely { 3 } else { 12 }) > 0 {
            return;
        }
        self.budget -= 1;
        *self.done.moments.entry(format!("{moment:?}")).or_default() += 1;
        if let Err(error) = self.save() {
            self.failed = Some(error.to_string());
        }
    }

    fn save(&mut self) -> Result<(), Broken> {
        let name = FILES[self.random.below(FILES.len())];
        let path = self.root.join(name);
        let found = fs::read_to_string(&path).ok();
        self.number += 1;
        let mark = format!("saved {}\n", self.number);
        // On the last line, so that it often can be merged; or all of it anew.
        let text = match &found {
            Some(text) if self.random.below(4) > 0 => {
                let kept: String = text.split_inclusive('\n').filter(|line| !line.starts_with("saved ")).collect();
                format!("{kept}{mark}")
            }
            _ => format!("{}{mark}", first_text(name)),
        };
        let fresh = self.root.join(format!("{name}.new"));
        fs::write(&fresh, &text)?;
        fs::rename(fresh, path)?;
        let own = found.and_then(|found| self.open.remove(&found));
        self.done.over += u64::from(own.is_some());
        self.done.saves += 1;
        self.open.insert(text, (name.to_owned(), mark));
        Ok(())
    }
}

fn first_text(name: &str) -> String {
    format!("begin {name}\ncount: 0\n{}end\n", "filler\n".repeat(6))
}

/// Edits while another program saves.
///
/// # Errors
/// If a text that the other program saved is neither in the file nor stored.
pub fn races(edits: u64, seed: u64) -> Result<Races, Broken> {
    let mut done = Races::default();
    let mut round = 0;
    while done.edits < edits {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        fs::create_dir(root.join("in"))?;
        round += 1;
        let saver = Saver {
            root: root.clone(),
            random: Random::new(seed.wrapping_mul(7919).wrapping_add(round)),
            budget: 0,
            open: BTreeMap::new(),
            number: 0,
            done,
            failed: None,
        };
        let saver = Arc::new(Mutex::new(saver));
        let watching = saver.clone();
        let watched = Root::open(&root)?.watched(Arc::new(move |moment| {
            if let Ok(mut saver) = watching.lock() {
                saver.at(moment);
            }
        }));
        let bearings = Bearings { cwd: root.display().to_string(), home: None };
        let engine = Engine::new(watched, bearings, crate::open_settings(), Box::new(|| 0))?;
        let mut random = Random::new(seed.wrapping_add(round));
        for number in 0..PER_WORKSPACE {
            let broken = |error: Broken| format!("workspace {round}, edit {number}: {error}");
            edit(&engine, &root, &saver, &mut random, number).map_err(broken)?;
        }
        done = saver.lock().map_err(|_| "the saver panicked")?.done.clone();
    }
    Ok(done)
}

fn edit(engine: &Engine, root: &Path, saver: &Mutex<Saver>, random: &mut Random, number: u64) -> Result<(), Broken> {
    let locked = || saver.lock().map_err(|_| Broken::from("the saver panicked"));
    for name in FILES {
        if !root.join(name).exists() {
            fs::write(root.join(name), first_text(name))?;
        }
    }
    {
        let mut saver = locked()?;
        saver.budget = 1 + random.below(4);
        saver.open.clear();
    }
    let session = SessionName::parse("racer")?;
    let name = FILES[random.below(FILES.len())];
    let count = |name: &str| -> Result<String, Broken> {
        let text = fs::read_to_string(root.join(name))?;
        Ok(text.lines().find(|line| line.starts_with("count: ")).ok_or("no count")?.to_owned())
    };
    let write = |change, over| Operation::Write(Write { path: name.to_owned(), change, over });
    let operation = match random.below(8) {
        0 => write(Change::Delete, Over::Anything),
        1 => write(Change::Move { to: format!("moved-{number}.txt") }, Over::Anything),
        2 => write(Change::Whole(format!("{}whole {number}\n", first_text(name))), Over::Anything),
        3 | 4 => {
            let part = |name: &&str| {
                let old = count(name)?;
                Ok::<_, Broken>(format!("*** Update File: {name}\n@@\n-{old}\n+count: {number} of all\n"))
            };
            let parts = FILES.iter().map(part).collect::<Result<String, _>>()?;
            let patch = format!("*** Begin Patch\n{parts}*** End Patch\n");
            Operation::Patch(Patch { patch, path: None, over: Over::Held })
        }
        _ => {
            let change = Change::Replace { old: count(name)?, new: format!("count: {number}"), places: Places::One };
            write(change, Over::Held)
        }
    };
    let words = format!("{operation:?}");
    let outcome = engine.ask::<Written>(Some(&session), operation);
    if let Ok(written) = &outcome {
        for receipt in &written.receipts {
            engine.delivered(receipt)?;
        }
    }
    let mut saver = locked()?;
    if let Some(failed) = saver.failed.take() {
        return Err(failed.into());
    }
    saver.budget = 0;
    saver.done.edits += 1;
    saver.done.made += u64::from(outcome.is_ok());
    let store = LocalStore::open_existing(&Root::open(root)?)?;
    for (text, (name, mark)) in std::mem::take(&mut saver.open) {
        let hash = ContentHash::of(text.as_bytes());
        let there = fs::read_to_string(root.join(&name)).is_ok_and(|there| there.contains(&mark));
        let is_stored = |store: &LocalStore| matches!(store.objects().load(hash), Loaded::Text(_));
        if there {
            saver.done.there += 1;
        } else if store.as_ref().is_some_and(is_stored) {
            saver.done.stored += 1;
        } else {
            let now = fs::read_to_string(root.join(&name));
            let moments = &saver.done.moments;
            return Err(format!("{name}: {mark:?} is lost\n{words}\n{outcome:?}\n{now:?}\n{moments:?}").into());
        }
    }
    Ok(())
}
