//! Processes killed in the middle of rewinds of several files: at random times, and inside every window that `disk` announces.
//! Sometimes a person edits one of the files before anyone opens something again. Then the rewind is wholly made or not at all, or a
//! conflict says why not; every text can still be found, and another rewind makes everything as it was.

use readproof_core::path::Bearings;
use readproof_disk::{Moment, Root};
use readproof_engine::{
    Engine, HistoryListed, OpenedConflict, Rewound, ShownVersion, VersionId, Written,
    operation::{AnswerLimit, History, Operation, Read, Resolution, Rewind, ShowVersion},
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use super::recorder::{self, Snapshot, Thing};
use crate::{
    ask::Ask,
    contended::kills::{Said, Stop, Tell, stop, stopping},
    load::heard::Running,
    op::Random,
    world::Broken,
};

/// The two states, by name: what changes, what is only in the first, and what only in the second.
const STATES: [&str; 2] = ["first", "second"];
const BOTH: [&str; 4] = ["a.txt", "in/b.txt", "in/c.txt", "in/deep/d.txt"];
const ONLY: [&[&str]; 2] = [&["gone/e.txt", "f.sh"], &["made/g.txt", "in/h.txt"]];

/// A window that is not reached in this time never is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Kills {
    pub kills: u64,
    /// Kills by window; at a random time for `None`.
    pub windows: BTreeMap<Option<String>, u64>,
    pub made: u64,
    pub unmade: u64,
    /// A person edited one of the files before the recovery.
    pub persons: u64,
    pub conflicts: u64,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, windows, made, unmade, persons, conflicts } = self;
        writeln!(f, "{kills} kills inside rewinds: {made} wholly made, {unmade} wholly not, 0 otherwise;")?;
        writeln!(f, "{persons} times a person edited before the recovery, {conflicts} recorded conflicts;")?;
        for (window, count) in windows {
            write!(f, " {} {count}", window.as_deref().unwrap_or("random"))?;
        }
        Ok(())
    }
}

/// A process that rewinds to one state and the other until it is killed: `rewinder ROOT MOMENT NUMBER`.
///
/// # Errors
/// When a rewind is refused.
pub fn rewinder(words: &[String], tell: &Tell) -> Result<(), Broken> {
    let [root, moment, number] = words else { return Err("rewinder ROOT MOMENT NUMBER".into()) };
    let engine = stopping(Path::new(root), stop(moment, number)?, tell, crate::open_settings())?;
    for number in 0.. {
        tell(&Said::Sends(number));
        back(&engine, STATES[usize::try_from(number % 2)?])?;
        tell(&Said::Patched(number));
    }
    Ok(())
}

fn back(engine: &Engine, to: &str) -> Result<Rewound, Broken> {
    Ok(engine.ask(None, Operation::Rewind(Rewind { to: to.to_owned(), ..Rewind::default() }))?)
}

/// Kills rewinders. `program` is the testkit's `rewinds`.
///
/// # Errors
/// On the first rewind that is there in part, or text that is lost.
pub fn kills(program: &Path, kills: u64, seed: u64) -> Result<Kills, Broken> {
    let (mut done, mut random) = (Kills::default(), Random::new(seed));
    while done.kills < kills {
        let folder = super::folder()?;
        let root = folder.path().canonicalize()?;
        let number = done.kills;
        let mut fight = Fight { program, root, states: Vec::new(), done: &mut done, random: &mut random };
        fight.round().map_err(|error| format!("kill {number}, seed {seed}: {error}"))?;
    }
    Ok(done)
}

struct Fight<'a> {
    program: &'a Path,
    root: PathBuf,
    states: Vec<Snapshot>,
    done: &'a mut Kills,
    random: &'a mut Random,
}

impl Fight<'_> {
    /// Both states, each with its checkpoint; the files are in the second one.
    fn prepare(&mut self) -> Result<(), Broken> {
        for (at, state) in STATES.iter().enumerate() {
            for path in ONLY[1 - at] {
                let _ = fs::remove_file(self.root.join(path));
            }
            for path in BOTH.iter().chain(ONLY[at]) {
                let text: String = (0..20).map(|line| format!("{state} {line} of {path}\n")).collect();
                let path = self.root.join(path);
                fs::create_dir_all(path.parent().ok_or("no folder")?)?;
                fs::write(path, text)?;
            }
            let mark = Operation::Checkpoint { name: Some((*state).to_owned()) };
            open(&self.root)?.ask::<VersionId>(None, mark)?;
            self.states.push(recorder::look(&self.root)?);
        }
        Ok(())
    }

    /// Half at a random time, half in the windows in turn.
    fn window(&mut self) -> Stop {
        let of_several = [Moment::Journaled, Moment::Stepped, Moment::Complete, Moment::Unjournaled, Moment::Aside];
        let back = |moment: &Moment| !matches!(moment, Moment::GoingBack | Moment::Back);
        let windows: Vec<Moment> = Moment::ALL.into_iter().filter(back).chain(of_several).collect();
        let kills = usize::try_from(self.done.kills).unwrap_or(0);
        let window = windows[kills / 2 % windows.len()];
        (kills % 2 == 0).then(|| (window, 1 + self.random.below(9) as u64))
    }

    /// A rewinder is killed: to which state it was on its way, and whether that was acknowledged.
    fn victim(&mut self) -> Result<(usize, bool), Broken> {
        let stop = self.window();
        let (moment, number) = stop.map_or(("never".to_owned(), 0), |(moment, number)| (format!("{moment:?}"), number));
        let mut command = Command::new(self.program);
        command.arg("rewinder").arg(&self.root).arg(moment).arg(number.to_string());
        let Running::<Said> { mut child, said } = Running::start(&mut command)?;
        // Nothing was begun before it says so.
        let (mut sent, mut acknowledged) = (1, true);
        let mut hear = |said: Said| match said {
            Said::Sends(number) => (sent, acknowledged) = (number, false),
            Said::Patched(number) => (sent, acknowledged) = (number, true),
            Said::At => {}
        };
        match stop {
            Some(_) => loop {
                match said.recv_timeout(PATIENCE) {
                    Ok(Ok(Said::At)) => break,
                    Ok(said) => hear(said?),
                    Err(error) => {
                        child.kill()?;
                        return Err(format!("{stop:?} was never reached: {error}, {}", child.wait()?).into());
                    }
                }
            },
            None => {
                if self.random.below(6) > 0 {
                    hear(said.recv_timeout(PATIENCE)??);
                }
                thread::sleep(Duration::from_micros(self.random.below(60_000) as u64));
            }
        }
        child.kill()?;
        let status = child.wait()?;
        if status.code().is_some() {
            return Err(format!("a rewinder that had work for ever ended with {status}").into());
        }
        while let Ok(said) = said.recv() {
            hear(said?);
        }
        self.done.kills += 1;
        *self.done.windows.entry(stop.map(|(moment, _)| format!("{moment:?}"))).or_default() += 1;
        Ok((usize::try_from(sent % 2)?, acknowledged))
    }

    /// A person edits, replaces or deletes one of the files; which, what was found there, and what was left.
    fn person(&mut self) -> Result<Option<(String, Thing, Option<Thing>)>, Broken> {
        let there: Vec<(String, Thing)> = recorder::look(&self.root)?
            .into_iter()
            .filter(|(path, _)| self.states.iter().any(|state| state.contains_key(path)))
            .collect();
        let Some((path, found)) = self.random.pick(&there).cloned() else { return Ok(None) };
        let Thing::File { bytes, executable } = &found else { return Ok(None) };
        let mark = format!("a person was here {:016x}\n", self.random.bits()).into_bytes();
        let left = match self.random.below(5) {
            0 => None,
            1 => Some(mark),
            _ => Some([bytes.as_slice(), &mark].concat()),
        };
        match &left {
            Some(left) => fs::write(self.root.join(&path), left)?,
            None => fs::remove_file(self.root.join(&path))?,
        }
        self.done.persons += 1;
        let left = left.map(|bytes| Thing::File { bytes, executable: *executable });
        Ok(Some((path, found, left)))
    }

    fn round(&mut self) -> Result<(), Broken> {
        self.prepare()?;
        let (to, acknowledged) = self.victim()?;
        let person = if self.done.kills.is_multiple_of(3) { self.person()? } else { None };
        let engine = open(&self.root)?;
        // Anyone opens something; it may be gone.
        let _ = engine.read(None, Read { path: BOTH[0].to_owned(), ..Read::default() });
        for path in BOTH.iter().chain(ONLY[0]).chain(ONLY[1]) {
            let _ = engine.read(None, Read { path: (*path).to_owned(), ..Read::default() });
        }
        let there = recorder::look(&self.root)?;
        let is_of = |path: &String| person.as_ref().is_none_or(|(edited, ..)| edited != path);
        let is = |state: &Snapshot| {
            let names = there.keys().chain(state.keys()).filter(|path| is_of(path));
            names.into_iter().all(|path| there.get(path) == state.get(path))
        };
        let made = match (is(&self.states[to]), is(&self.states[1 - to])) {
            (true, _) => true,
            (false, true) => false,
            (false, false) => return Err(format!("half a rewind to {}: {:?}", STATES[to], there.keys()).into()),
        };
        if acknowledged && !made {
            return Err(format!("the rewind to {} was acknowledged and is not there", STATES[to]).into());
        }
        *(if made { &mut self.done.made } else { &mut self.done.unmade }) += 1;
        if let Some((path, found, left)) = &person {
            let put_back = left.is_none() && there.get(path) == self.states[1 - to].get(path);
            if there.get(path) != left.as_ref() && !put_back {
                return Err(format!("a person left {left:?} in {path}, and {:?} is there", there.get(path)).into());
            }
            if !self.states.iter().any(|state| state.get(path) == Some(found)) {
                return Err(format!("a person found {found:?} in {path}").into());
            }
        }
        self.afterwards(&engine, person.as_ref().and_then(|(path, _, left)| Some((path, left.as_ref()?))))
    }

    /// Every state can be gone back to, and what a person wrote can be found.
    fn afterwards(&mut self, engine: &Engine, person: Option<(&String, &Thing)>) -> Result<(), Broken> {
        if Root::open(&self.root)?.has_journal() {
            return Err("a journal is left".into());
        }
        let open: Vec<OpenedConflict> = engine.ask(None, Operation::ListConflicts { all: false })?;
        self.done.conflicts += open.len() as u64;
        for conflict in open {
            let resolve = |with| Operation::Resolve { id: conflict.id.to_string(), with };
            // Of a file that the person deleted nothing is theirs.
            if engine.ask::<Written>(None, resolve(Resolution::Theirs)).is_err() {
                engine.ask::<Written>(None, resolve(Resolution::Ours))?;
            }
        }
        let before = recorder::look(&self.root)?;
        for (state, name) in self.states.iter().zip(STATES) {
            let rewound = back(engine, name);
            let now = recorder::look(&self.root)?;
            if now != *state {
                let names: Vec<&String> =
                    now.keys().chain(state.keys()).filter(|path| now.get(*path) != state.get(*path)).collect();
                return Err(format!("{names:?} are not as in {name}: {:?}", rewound.map(|done| done.files)).into());
            }
        }
        let Some((path, Thing::File { bytes, .. })) = person else { return Ok(()) };
        if before.get(path).is_none_or(|thing| !matches!(thing, Thing::File { bytes: there, .. } if there == bytes)) {
            return Ok(());
        }
        let history = Operation::History(History { path: Some(path.clone()), limit: Some(1000) });
        let listed: HistoryListed = engine.ask(None, history)?;
        let is_it = |entry: &readproof_engine::HistoryEntry| {
            let most = AnswerLimit { lines: u32::MAX, chars: u32::MAX };
            let show = ShowVersion { version: entry.id.to_string(), path: Some(path.clone()), most };
            let shown = engine.ask::<ShownVersion>(None, Operation::ShowVersion(show));
            shown.is_ok_and(|shown| shown.text.as_bytes() == bytes)
        };
        if listed.entries.iter().any(is_it) {
            Ok(())
        } else {
            Err(format!("what a person wrote in {path} is gone").into())
        }
    }
}

fn open(root: &Path) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    Ok(Engine::new(Root::open(root)?, bearings, crate::open_settings(), Box::new(|| 0))?)
}
