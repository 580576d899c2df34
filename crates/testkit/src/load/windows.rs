//! Editors of the same files, one of which is killed inside every window of a write in turn, while another program saves
//! over it. Every writer counts upward on its own line, and reports on a pipe what was acknowledged: a count that went back
//! is a lost edit. The windows are the moments that `disk` announces, so no kill depends on luck.

use readproof_core::edit::Places;
use readproof_core::path::Bearings;
use readproof_disk::{Moment, ReplaceError, Root, SessionName, is_ours};
use readproof_engine::{
    Engine, Error,
    operation::{Change, Read},
};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    str::FromStr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use super::heard::Running;
use crate::{ask::Ask, op::Random, world::Broken};

/// The files that all of them edit.
const FILES: usize = 2;

/// Lines in each that nobody changes, so that an incomplete file would show.
const FILLER: usize = 40;

/// The writer that saves as editors do: a new file renamed over the old.
const OUTSIDE: &str = "outside";

/// A window that is not reached in this time, or with this many edits, never is.
const PATIENCE: Duration = Duration::from_secs(60);
const EDITS: u32 = 1000;

/// What a killed editor left is gone after this many opens, while others write.
const REMOVALS: u32 = 100;

/// What an editor reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A writer's line of a file was acknowledged to have this count.
    Counted(String, String, u64),
    /// It is in this window and waits to be killed.
    At(String),
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted(file, hand, count) => write!(f, "counted {file} {hand} {count}"),
            Self::At(moment) => write!(f, "at {moment}"),
        }
    }
}

impl FromStr for Said {
    type Err = Broken;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["counted", file, hand, count] => Ok(Self::Counted(file.to_owned(), hand.to_owned(), count.parse()?)),
            ["at", moment] => Ok(Self::At(moment.to_owned())),
            _ => Err(format!("an editor said {line:?}").into()),
        }
    }
}

/// Whether another program saves just before the names are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nobody.
    Nobody,
    /// One does, and has finished.
    Saves,
}

/// One process that edits.
#[derive(Clone, Debug)]
pub struct Editor {
    /// Where.
    pub root: PathBuf,
    /// Its line, and its session.
    pub hand: String,
    /// The window in which it stops; `None`: never.
    pub stop: Option<Moment>,
    /// What happens before that.
    pub beside: Beside,
    /// The seed of its choices.
    pub seed: u64,
}

/// Reports something at once.
pub type Tell = Arc<dyn Fn(&Said) + Send + Sync>;

impl Editor {
    /// Parses the arguments that [`Self::command`] writes.
    ///
    /// # Errors
    /// When they are malformed.
    pub fn parse(words: &[String]) -> Result<Self, Broken> {
        let [root, hand, stop, beside, seed] = words else { return Err("editor ROOT HAND WINDOW BESIDE SEED".into()) };
        Ok(Self {
            root: PathBuf::from(root),
            hand: hand.clone(),
            stop: Moment::ALL.into_iter().find(|moment| format!("{moment:?}") == *stop),
            beside: if beside == "Saves" { Beside::Saves } else { Beside::Nobody },
            seed: seed.parse()?,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let stop = self.stop.map_or_else(|| "never".to_owned(), |moment| format!("{moment:?}"));
        command.arg("editor").arg(&self.root).args([&self.hand, &stop, &format!("{:?}", self.beside)]);
        command.arg(self.seed.to_string());
        command
    }

    /// Edits until it is killed.
    ///
    /// # Errors
    /// When an acknowledged edit is gone, or anything else is wrong.
    pub fn work(&self, tell: &Tell) -> Result<(), Broken> {
        let now = Arc::new(Mutex::new(String::new()));
        let engine = self.engine(&now, tell)?;
        let session = SessionName::parse(&self.hand)?;
        let mut random = Random::new(self.seed);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        loop {
            let path = file_name(random.below(FILES));
            *now.lock().map_err(|_| "a hand panicked")? = path.clone();
            let text = engine.read(None, Read { path: path.clone(), ..Read::default() })?.text;
            let (found, known) = (count_of(&text, &self.hand)?, counts.entry(path.clone()).or_default());
            if found < *known {
                return Err(format!("{path}: {} was told that {known} is done, and it is {found}", self.hand).into());
            }
            let next = found + 1;
            let change = Change::Replace {
                old: line_of(&self.hand, found),
                new: line_of(&self.hand, next),
                places: Places::One,
            };
            match engine.write(&session, &path, change) {
                Ok(written) => {
                    tell(&Said::Counted(path, self.hand.clone(), next));
                    *known = next;
                    engine.delivered(&written.receipt)?;
                }
                // Another writer was first.
                Err(Error::Replace(ReplaceError::Changed { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn engine(&self, now: &Arc<Mutex<String>>, tell: &Tell) -> Result<Engine, Broken> {
        let bearings = Bearings { cwd: self.root.display().to_string(), home: None };
        let (stop, beside, folder, now, tell) = (self.stop, self.beside, self.root.clone(), now.clone(), tell.clone());
        let saved = AtomicBool::new(beside == Beside::Nobody);
        let root = Root::open(&self.root)?.watched(Arc::new(move |moment| {
            if beside == Beside::Saves && moment == Moment::Announced {
                saved.store(true, Ordering::Relaxed);
                let file = now.lock().map(|name| name.clone()).unwrap_or_default();
                match save(&folder, &file) {
                    Ok(count) => tell(&Said::Counted(file, OUTSIDE.to_owned(), count)),
                    Err(error) => tell(&Said::At(format!("failed:{}", error.to_string().replace(' ', "_")))),
                }
            }
            // Another writer may be first; then a write ends without reaching the window.
            if stop == Some(moment) && saved.load(Ordering::Relaxed) {
                tell(&Said::At(format!("{moment:?}")));
                loop {
                    thread::park();
                }
            }
        }));
        Ok(Engine::new(root, bearings, crate::open_settings(), Box::new(|| 0))?)
    }
}

/// Another program counts on its line, and saves as editors do.
fn save(root: &Path, file: &str) -> Result<u64, Broken> {
    let text = fs::read_to_string(root.join(file))?;
    let count = count_of(&text, OUTSIDE)?;
    let fresh = root.join(format!("{file}.new"));
    fs::write(&fresh, text.replace(&line_of(OUTSIDE, count), &line_of(OUTSIDE, count + 1)))?;
    fs::rename(fresh, root.join(file))?;
    Ok(count + 1)
}

fn file_name(number: usize) -> String {
    format!("turns-{number}.txt")
}

fn line_of(hand: &str, count: u64) -> String {
    format!("{hand}: {count} times\n")
}

fn count_of(text: &str, hand: &str) -> Result<u64, Broken> {
    let whole = text.starts_with("begin\n") && text.ends_with("end\n") && text.matches("filler\n").count() == FILLER;
    if !whole {
        return Err(format!("a half file: {text:?}").into());
    }
    let start = format!("{hand}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix(" times"));
    Ok(line.ok_or_else(|| format!("{hand} has no line in {text:?}"))?.parse()?)
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// Editors that were killed, by window.
    pub killed: BTreeMap<String, u64>,
    /// Edits that were acknowledged, none of them lost.
    pub edits: u64,
    /// Saves of another program just before the names were exchanged, none of them lost.
    pub saves: u64,
    /// Files that killed editors left, removed at the next open.
    pub left: u64,
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let killed: Vec<String> = self.killed.iter().map(|(window, count)| format!("{window} {count}")).collect();
        let (edits, saves, left) = (self.edits, self.saves, self.left);
        write!(
            f,
            "killed inside a write: {}; {edits} edits and {saves} saves acknowledged, 0 lost; ",
            killed.join(", ")
        )?;
        write!(f, "{left} files left by the killed, 0 of them there after the next open")
    }
}

/// Creates files on which this many writers can count.
struct Fight<'a> {
    program: &'a Path,
    root: &'a Path,
    random: Random,
    told: BTreeMap<(String, String), u64>,
    done: Windows,
}

/// Opens a file after a kill, and returns its text.
pub type Opens<'a> = &'a mut dyn FnMut(&str) -> Result<String, Broken>;

/// Kills one editor inside each of these windows in turn, as long as `goes_on` says, while others edit the same files.
/// `program` is the testkit's `load`.
///
/// # Errors
/// On the first lost edit or save, incomplete file, or leftover file.
pub fn windows(
    (program, root): (&Path, &Path),
    among: &[(Moment, Beside)],
    others: usize,
    seed: u64,
    opens: Opens<'_>,
    mut goes_on: impl FnMut(u64) -> bool,
) -> Result<Windows, Broken> {
    let mut fight = Fight { program, root, random: Random::new(seed), told: BTreeMap::new(), done: Windows::default() };
    let hands: Vec<String> = (0..=others).map(|number| format!("hand-{number}")).collect();
    for number in 0..FILES {
        let lines: String = hands.iter().map(String::as_str).chain([OUTSIDE]).map(|hand| line_of(hand, 0)).collect();
        fs::write(root.join(file_name(number)), format!("begin\n{}{lines}end\n", "filler\n".repeat(FILLER)))?;
    }
    let running = hands[1..].iter().map(|hand| fight.start(hand, None)).collect::<Result<Vec<_>, Broken>>()?;
    let mut outcome = Ok(());
    for round in 0.. {
        if outcome.is_err() || !goes_on(round) {
            break;
        }
        let at = usize::try_from(round).unwrap_or(0) % among.len();
        outcome =
            fight.round(among[at], opens).map_err(|error| format!("round {round}, {:?}: {error}", among[at]).into());
    }
    for editor in running {
        // End all of them, even if one failed.
        outcome = outcome.and(fight.end(editor));
    }
    outcome?;
    fight.look(opens)?;
    let left: Vec<String> = ours_in(root)?;
    if !left.is_empty() {
        return Err(format!("left behind after everything was opened: {left:?}").into());
    }
    Ok(fight.done)
}

/// Every window, with and without another program that saves, where it can be reached that way: only a text saved meanwhile
/// is put back, and a write that was taken back never completes.
#[must_use]
pub fn every_window() -> Vec<(Moment, Beside)> {
    let both = Moment::ALL.into_iter().flat_map(|moment| [(moment, Beside::Saves), (moment, Beside::Nobody)]);
    both.filter(|(moment, beside)| match beside {
        Beside::Saves => *moment >= Moment::Announced && *moment != Moment::Released,
        Beside::Nobody => !matches!(moment, Moment::GoingBack | Moment::Back),
    })
    .collect()
}

/// Opens the file with a new engine.
///
/// # Errors
/// When it cannot be read.
pub fn read_anew(root: &Path, path: &str) -> Result<String, Broken> {
    let engine = super::open(root)?;
    Ok(engine.read(None, Read { path: path.to_owned(), ..Read::default() })?.text)
}

impl Fight<'_> {
    fn start(&mut self, hand: &str, stop: Option<(Moment, Beside)>) -> Result<Running<Said>, Broken> {
        let (stop, beside) = stop.map_or((None, Beside::Nobody), |(moment, beside)| (Some(moment), beside));
        let editor =
            Editor { root: self.root.to_path_buf(), hand: hand.to_owned(), stop, beside, seed: self.random.bits() };
        Running::start(&mut editor.command(self.program))
    }

    fn hear(&mut self, said: Said) -> Option<String> {
        match said {
            Said::Counted(file, hand, count) => {
                *(if hand == OUTSIDE { &mut self.done.saves } else { &mut self.done.edits }) += 1;
                let known = self.told.entry((file, hand)).or_default();
                *known = count.max(*known);
                None
            }
            Said::At(moment) => Some(moment),
        }
    }

    fn round(&mut self, window: (Moment, Beside), opens: Opens<'_>) -> Result<(), Broken> {
        let mut victim = self.start("hand-0", Some(window))?;
        let wanted = format!("{:?}", window.0);
        let mut edits = 0;
        loop {
            let said = match victim.said.recv_timeout(PATIENCE) {
                Ok(said) => said?,
                Err(error) => {
                    victim.child.kill()?;
                    return Err(format!("it never got there: {error}, {}", victim.child.wait()?).into());
                }
            };
            match self.hear(said) {
                Some(at) if at == wanted => break,
                None if edits < EDITS => edits += 1,
                at => {
                    victim.child.kill()?;
                    return Err(format!("it never got there: {at:?}, {}", victim.child.wait()?).into());
                }
            }
        }
        let pid = format!(".readproof-{}-", victim.child.id());
        let of_victim = |names: Vec<String>| names.into_iter().filter(|name| name.starts_with(&pid)).count() as u64;
        self.done.left += of_victim(ours_in(self.root)?);
        victim.child.kill()?;
        victim.child.wait()?;
        *self.done.killed.entry(wanted).or_default() += 1;
        // Another editor may have the turn and be about to remove them; then the first open need not wait for it.
        for _ in 0..REMOVALS {
            self.look(opens)?;
            if of_victim(ours_in(self.root)?) == 0 {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(format!("{} files of the killed are there after {REMOVALS} opens", of_victim(ours_in(self.root)?)).into())
    }

    fn end(&mut self, mut editor: Running<Said>) -> Result<(), Broken> {
        editor.child.kill()?;
        let status = editor.child.wait()?;
        if status.code().is_some() {
            return Err(format!("an editor that had work for ever ended with {status}").into());
        }
        while let Ok(said) = editor.said.recv() {
            self.hear(said?);
        }
        Ok(())
    }

    /// Opens every file and compares it with what was acknowledged.
    fn look(&mut self, opens: Opens<'_>) -> Result<(), Broken> {
        for number in 0..FILES {
            let name = file_name(number);
            let text = opens(&name)?;
            for ((_, hand), told) in self.told.iter().filter(|((file, _), _)| *file == name) {
                let found = count_of(&text, hand)?;
                if found < *told {
                    return Err(format!("{name}: {hand} was told that {told} is done, and it is {found}").into());
                }
            }
        }
        Ok(())
    }
}

/// What a writer left in a folder, or still needs there.
pub(crate) fn ours_in(root: &Path) -> Result<Vec<String>, Broken> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        found.extend(entry?.file_name().into_string().ok().filter(|name| is_ours(name)));
    }
    Ok(found)
}
