//! Processes killed in the middle of patches over several files: at random times, and inside every window that `disk`
//! announces. Sometimes a person edits one of the files before anyone opens something again, and sometimes whoever recovers is
//! killed as well. Then the patch is wholly there or not at all, or a conflict says why not; and nothing is lost.

use readproof_core::{path::Bearings, text::ContentHash};
use readproof_disk::{Create, LocalStore, Moment, Root, SessionName};
use readproof_engine::{
    Engine, Settings, Written,
    operation::{Operation, Over, Patch, Read},
};
use readproof_hosts::{
    block::Sha,
    versions::{Change, Versions},
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    ask::Ask,
    load::{heard::Running, open, windows::ours_in},
    op::Random,
    world::Broken,
};

/// The files that every patch changes, in several folders.
const COUNTED: [&str; 4] = ["a.txt", "in/b.txt", "in/c.txt", "in/deep/d.txt"];

/// The file that comes, gets another name and goes again.
const MADE: &str = "in/made.txt";
const MOVED: &str = "fresh/folder/moved.txt";

/// A window that is not reached in this time never is.
const PATIENCE: Duration = Duration::from_secs(60);

/// After so many kills a new workspace is used.
const PER_WORKSPACE: u64 = 30;

/// What a patcher reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The patch of this number is about to be sent.
    Sends(u64),
    /// It was acknowledged.
    Patched(u64),
    /// The process stands in its window and waits to be killed.
    At,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sends(number) => write!(f, "sends {number}"),
            Self::Patched(number) => write!(f, "patched {number}"),
            Self::At => f.write_str("at"),
        }
    }
}

impl FromStr for Said {
    type Err = Broken;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["sends", number] => Ok(Self::Sends(number.parse()?)),
            ["patched", number] => Ok(Self::Patched(number.parse()?)),
            ["at"] => Ok(Self::At),
            _ => Err(format!("a patcher said {line:?}").into()),
        }
    }
}

/// The window in which a process stops: the so-manieth time that this moment is reached.
pub type Stop = Option<(Moment, u64)>;

/// Reports something at once.
pub type Tell = Arc<dyn Fn(&Said) + Send + Sync>;

/// Parses `MOMENT NUMBER`; anything else is no window.
pub(crate) fn stop(moment: &str, number: &str) -> Result<Stop, Broken> {
    let all = Moment::ALL.into_iter().chain(Moment::OF_NAMES).chain(Moment::OF_SEVERAL);
    let found = all.into_iter().find(|known| format!("{known:?}") == moment);
    found.map(|moment| Ok::<_, Broken>((moment, number.parse()?))).transpose()
}

pub(crate) fn stopping(root: &Path, stop: Stop, tell: &Tell, settings: Settings) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    let (tell, times) = (tell.clone(), AtomicU64::new(0));
    let watched = Root::open(root)?.watched(Arc::new(move |moment| {
        if let Some((wanted, number)) = stop
            && wanted == moment
            && times.fetch_add(1, Ordering::Relaxed) + 1 == number
        {
            tell(&Said::At);
            loop {
                thread::park();
            }
        }
    }));
    Ok(Engine::new(watched, bearings, settings, Box::new(|| 0))?)
}

/// A process that patches until it is killed: `patcher ROOT MOMENT NUMBER`.
///
/// # Errors
/// When a patch is refused, or anything else is wrong.
pub fn patcher(words: &[String], tell: &Tell) -> Result<(), Broken> {
    let [root, moment, number] = words else { return Err("patcher ROOT MOMENT NUMBER".into()) };
    let (root, session) = (PathBuf::from(root), SessionName::parse("patcher")?);
    let engine = stopping(&root, stop(moment, number)?, tell, crate::open_settings())?;
    loop {
        let now = count_of(&fs::read_to_string(root.join(COUNTED[0]))?)?;
        let next = now + 1;
        // What goes must have been read.
        if next % 4 == 2 {
            let answer = engine.read(Some(&session), Read { path: MOVED.to_owned(), ..Read::default() })?;
            engine.delivered(&answer.given.ok_or("not recorded")?)?;
        }
        tell(&Said::Sends(next));
        let patch = Patch { patch: patch(next), path: None, over: Over::Held };
        let written: Written = engine.ask(Some(&session), Operation::Patch(patch))?;
        tell(&Said::Patched(next));
        for receipt in &written.receipts {
            engine.delivered(receipt)?;
        }
    }
}

/// A process that opens a file: `opener ROOT MOMENT NUMBER`.
///
/// # Errors
/// When the workspace cannot be opened.
pub fn opener(words: &[String], tell: &Tell) -> Result<(), Broken> {
    let [root, moment, number] = words else { return Err("opener ROOT MOMENT NUMBER".into()) };
    let engine = stopping(Path::new(root), stop(moment, number)?, tell, crate::open_settings())?;
    // A person may have deleted it.
    let _ = engine.read(None, Read { path: COUNTED[0].to_owned(), ..Read::default() });
    Ok(())
}

/// All files as they are after patch `number`.
fn state(number: u64) -> BTreeMap<&'static str, String> {
    let counted = |name: &&'static str| {
        let filler: String = (0..12).map(|at| format!("filler {at} of {name}\n")).collect();
        (*name, format!("begin {name}\n{filler}count: {number}\n{filler}end\n"))
    };
    let mut files: BTreeMap<_, _> = COUNTED.iter().map(counted).collect();
    match number % 4 {
        0 => drop(files.insert(MADE, format!("made by {number}\n"))),
        1 => drop(files.insert(MOVED, format!("made by {}\n", number - 1))),
        _ => {}
    }
    files
}

fn count_of(text: &str) -> Result<u64, Broken> {
    let found = text.lines().find_map(|line| line.strip_prefix("count: "));
    Ok(found.ok_or_else(|| format!("no count: {text:?}"))?.parse()?)
}

/// The patch that leads to this state from the one before it, in one dialect or the other.
fn patch(number: u64) -> String {
    let before = number - 1;
    if number % 8 >= 4 && number % 4 == 3 {
        let hunk =
            |name: &&str| format!("--- a/{name}\n+++ b/{name}\n@@ -14 +14 @@\n-count: {before}\n+count: {number}\n");
        return COUNTED.iter().map(hunk).collect();
    }
    let hunk = |name: &&str| format!("*** Update File: {name}\n@@\n-count: {before}\n+count: {number}\n");
    let mut parts: Vec<String> = COUNTED.iter().map(hunk).collect();
    // Not always the last.
    let at = usize::try_from(number / 4).unwrap_or(0) % (parts.len() + 1);
    match number % 4 {
        0 => parts.insert(at, format!("*** Add File: {MADE}\n+made by {number}\n")),
        1 => parts.insert(at, format!("*** Update File: {MADE}\n*** Move to: {MOVED}\n@@\n made by {before}\n")),
        2 => parts.insert(at, format!("*** Delete File: {MOVED}\n")),
        _ => {}
    }
    format!("*** Begin Patch\n{}*** End Patch\n", parts.concat())
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Kills {
    pub kills: u64,
    /// Kills by window; at a random time for `None`.
    pub windows: BTreeMap<Option<String>, u64>,
    pub applied: u64,
    pub undone: u64,
    /// A person edited one of the files before the recovery.
    pub persons: u64,
    pub conflicts: u64,
    /// Processes that recovered were killed as well.
    pub recoverers: u64,
    /// Acknowledged patches, each in the version log once.
    pub acknowledged: u64,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, windows, applied, undone, persons, conflicts, recoverers, acknowledged } = self;
        writeln!(f, "{kills} kills inside patches: {applied} wholly applied, {undone} wholly not, 0 otherwise;")?;
        write!(
            f,
            "{persons} times a person edited before the recovery, {conflicts} of these are recorded conflicts; "
        )?;
        writeln!(f, "{recoverers} recoveries were killed too; {acknowledged} patches acknowledged, each logged once;")?;
        for (window, count) in windows {
            write!(f, " {} {count}", window.as_deref().unwrap_or("random"))?;
        }
        Ok(())
    }
}

/// Kills patchers. `program` is the testkit's `edits`.
///
/// # Errors
/// On the first patch that is there in part, edit that is lost, or acknowledged patch that is not logged once.
pub fn kills(program: &Path, kills: u64, seed: u64) -> Result<Kills, Broken> {
    let mut done = Kills::default();
    let mut random = Random::new(seed);
    while done.kills < kills {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let mut fight = Fight { program, root: &root, number: 3, done: &mut done, random: &mut random };
        fight.reset()?;
        for _ in 0..PER_WORKSPACE {
            if fight.done.kills >= kills {
                break;
            }
            let number = fight.done.kills;
            fight.round().map_err(|error| format!("kill {number}: {error}"))?;
        }
    }
    Ok(done)
}

struct Fight<'a> {
    program: &'a Path,
    root: &'a Path,
    /// The state in which everything is, as far as is known.
    number: u64,
    done: &'a mut Kills,
    random: &'a mut Random,
}

/// What a person left of one file.
struct Person {
    path: &'static str,
    /// What was there; `None`: no file.
    found: Option<String>,
    left: Option<String>,
}

impl Fight<'_> {
    /// Everything anew, by another program.
    fn reset(&mut self) -> Result<(), Broken> {
        self.number += 8 - (self.number + 1) % 4;
        let state = state(self.number);
        for path in [MADE, MOVED] {
            let _ = fs::remove_file(self.root.join(path));
        }
        let _ = fs::remove_dir_all(self.root.join("fresh"));
        for (path, text) in state {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    fn start(&self, what: &str, stop: Stop) -> Result<Running<Said>, Broken> {
        let mut command = Command::new(self.program);
        let (moment, number) = stop.map_or(("never".to_owned(), 0), |(moment, number)| (format!("{moment:?}"), number));
        command.arg(what).arg(self.root).arg(moment).arg(number.to_string());
        Running::start(&mut command)
    }

    /// One patcher is killed; what it was told: the last number it sent, and the last that was acknowledged.
    fn victim(&mut self) -> Result<(u64, Option<u64>), Broken> {
        let stop = self.window();
        let Running { mut child, said } = self.start("patcher", stop)?;
        let (mut sent, mut acked) = (self.number, None);
        let mut hear = |said: Said| match said {
            Said::Sends(number) => sent = number,
            Said::Patched(number) => {
                acked = Some(number);
                self.done.acknowledged += 1;
            }
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
                thread::sleep(Duration::from_micros(self.random.below(90_000) as u64));
            }
        }
        child.kill()?;
        let status = child.wait()?;
        if status.code().is_some() {
            return Err(format!("a patcher that had work for ever ended with {status}").into());
        }
        while let Ok(said) = said.recv() {
            hear(said?);
        }
        self.done.kills += 1;
        *self.done.windows.entry(stop.map(|(moment, _)| format!("{moment:?}"))).or_default() += 1;
        Ok((sent, acked))
    }

    /// Half at a random time, half in the windows in turn.
    fn window(&mut self) -> Stop {
        let of_several = [Moment::Journaled, Moment::Stepped, Moment::Complete, Moment::Unjournaled, Moment::Aside];
        let back = |moment: &Moment| !matches!(moment, Moment::GoingBack | Moment::Back);
        let windows: Vec<Moment> =
            Moment::ALL.into_iter().filter(back).chain(of_several).chain([Moment::Stepped]).collect();
        let kills = usize::try_from(self.done.kills).unwrap_or(0);
        let window = windows[kills / 2 % windows.len()];
        // Each patch writes several files, so later times are within its first files, its last and the next ones.
        (kills % 2 == 0).then(|| (window, 1 + self.random.below(9) as u64))
    }

    fn round(&mut self) -> Result<(), Broken> {
        let (sent, acked) = self.victim()?;
        let person = if self.done.kills.is_multiple_of(3) { self.person(sent)? } else { None };
        if self.random.below(2) == 0 {
            self.recoverer_killed()?;
        }
        // Anyone opens something.
        open(self.root)?
            .read(None, Read { path: COUNTED[self.random.below(2)].to_owned(), ..Read::default() })
            .map(drop)
            .or_else(
                |error| if person.as_ref().is_some_and(|person| person.left.is_none()) { Ok(()) } else { Err(error) },
            )?;
        self.check(sent, acked, person.as_ref())?;
        self.number = sent;
        self.reset()
    }

    fn recoverer_killed(&mut self) -> Result<(), Broken> {
        let windows = [
            Moment::SteppedBack,
            Moment::Undone,
            Moment::Unjournaled,
            Moment::Written,
            Moment::Exchanged,
            Moment::Settled,
        ];
        let stop = Some((windows[self.random.below(windows.len())], 1 + self.random.below(8) as u64 / 6));
        let Running { mut child, said } = self.start("opener", stop)?;
        // Either it stands in the window, or it ends.
        let stands = said.recv_timeout(PATIENCE).is_ok();
        if stands {
            child.kill()?;
            self.done.recoverers += 1;
        }
        child.wait()?;
        Ok(())
    }

    /// A person edits, replaces or deletes one of the files. Those of an editor see what stands there under the name.
    fn person(&mut self, sent: u64) -> Result<Option<Person>, Broken> {
        let both = [state(sent), state(sent - 1)];
        let paths: Vec<&'static str> = both.iter().flat_map(BTreeMap::keys).copied().collect();
        let path = paths[self.random.below(paths.len())];
        let at = self.root.join(path);
        let found = fs::read_to_string(&at).ok();
        let Some(text) = &found else { return Ok(None) };
        let mark = format!("a person was here {:016x}\n", self.random.bits());
        let left = match self.random.below(5) {
            0 => None,
            1 => Some(mark),
            _ => Some(format!("{text}{mark}")),
        };
        match (&left, self.random.below(2)) {
            (None, _) => fs::remove_file(at)?,
            (Some(left), 0) => fs::write(at, left)?,
            (Some(left), _) => {
                let fresh = self.root.join(format!("{path}.new"));
                fs::write(&fresh, left)?;
                fs::rename(fresh, at)?;
            }
        }
        self.done.persons += 1;
        Ok(Some(Person { path, found, left }))
    }

    fn check(&mut self, sent: u64, acked: Option<u64>, person: Option<&Person>) -> Result<(), Broken> {
        let (after, before) = (state(sent), state(sent - 1));
        let mut there = BTreeMap::new();
        for path in after.keys().chain(before.keys()) {
            there.insert(*path, fs::read_to_string(self.root.join(path)).ok());
        }
        let others = || there.iter().filter(|(path, _)| person.is_none_or(|person| person.path != **path));
        let is = |state: &BTreeMap<&str, String>| others().all(|(path, text)| state.get(path) == text.as_ref());
        let applied = match (is(&after), is(&before)) {
            (true, false) => true,
            (false, true) => false,
            other => return Err(format!("half a patch {sent} ({other:?}): {there:?}").into()),
        };
        if acked == Some(sent) && !applied {
            return Err(format!("patch {sent} was acknowledged and is not there").into());
        }
        *(if applied { &mut self.done.applied } else { &mut self.done.undone }) += 1;
        let store = LocalStore::open_existing(&Root::open(self.root)?)?;
        let versions = store.map(|store| Versions::open(&store, Create::No, 0)).transpose()?.flatten();
        if let Some(person) = person {
            // Who deletes a file that the patch removes leaves what the patch leaves; that is undone with the rest of it.
            let as_patched = person.left.as_ref() == after.get(person.path);
            let put_back = as_patched && !applied && there[person.path].as_ref() == before.get(person.path);
            if there[person.path] != person.left && !put_back {
                return Err(format!("a person left {:?}, and {:?} is there", person.left, there[person.path]).into());
            }
            let sees_after = person.found.as_ref() == after.get(person.path);
            let sees_before = person.found.as_ref() == before.get(person.path);
            // No file counts as an empty one.
            let sha = |state: &BTreeMap<&str, String>| {
                let text = state.get(person.path).map_or("", String::as_str);
                Sha(ContentHash::of(text.as_bytes()))
            };
            let sides = (person.path, sha(&before), sha(&after));
            let mut conflicts = versions.iter().flat_map(Versions::conflicts).map(|open| &open.conflict);
            let open = conflicts.any(|open| (open.path.as_str(), open.base, open.ours) == sides);
            self.done.conflicts += u64::from(open);
            if !(sees_after || sees_before) {
                return Err(format!("a person found {:?}", person.found).into());
            }
            // Who deletes a file that the patch made has undone that part of it.
            let undone = person.left.as_ref() == before.get(person.path);
            if (applied && !sees_after) || !(applied || sees_before || undone || open) {
                let said = format!(
                    "{} was edited with patch {sent} in it ({sees_after}), which is applied: {applied}",
                    person.path
                );
                return Err(format!("{said}; no conflict is recorded").into());
            }
        }
        let logged = |number: u64| {
            let text = &state(number)[COUNTED[0]];
            let hash = Some(Sha(ContentHash::of(text.as_bytes())));
            let is_it = |change: &Change| change.files.iter().any(|file| file.path == COUNTED[0] && file.after == hash);
            versions.iter().flat_map(Versions::changes).filter(|(_, change)| is_it(change)).count()
        };
        for number in self.number + 1..sent {
            if logged(number) != 1 {
                return Err(format!("patch {number} was acknowledged and is logged {} times", logged(number)).into());
            }
        }
        if logged(sent) != usize::from(applied && sent > self.number) {
            return Err(format!("patch {sent} is applied: {applied}, and logged {} times", logged(sent)).into());
        }
        self.left()
    }

    /// Nothing of ours is left in the tree.
    fn left(&self) -> Result<(), Broken> {
        for folder in ["", "in", "in/deep", "fresh/folder"] {
            let folder = self.root.join(folder);
            // What waits in other folders is removed when something in them is opened.
            if folder.is_dir() {
                for path in COUNTED {
                    let _ = open(self.root)?.read(None, Read { path: path.to_owned(), ..Read::default() });
                }
                let left = ours_in(&folder)?;
                if !left.is_empty() && folder != self.root.join("fresh/folder") {
                    return Err(format!("left behind in {}: {left:?}", folder.display()).into());
                }
            }
        }
        if Root::open(self.root)?.has_journal() {
            return Err("a journal is left".into());
        }
        Ok(())
    }
}
