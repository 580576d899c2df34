//! Processes with the audit on that are killed at random moments: every edit that was acknowledged has its line, every call that
//! was acknowledged has a line or is counted as missing, and what is signed is as it was signed.

use readproof_core::{edit::Places, path::Bearings, text::ContentHash};
use readproof_disk::Root;
use readproof_engine::{
    Auditing, Engine, Settings,
    audit::{AuditLog, Line},
    operation::{Change, Read},
};
use std::{collections::BTreeMap, fmt, fs, path::Path, process::Command, str::FromStr, thread, time::Duration};

use super::heard::Running;
use crate::{ask::Ask, op::Random, world::Broken};

/// What a process was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A read was answered.
    Read,
    /// A file was written; the hash of its text.
    Wrote(ContentHash),
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Wrote(hash) => write!(f, "wrote {hash}"),
        }
    }
}

impl FromStr for Heard {
    type Err = Broken;

    fn from_str(text: &str) -> Result<Self, Broken> {
        match text.split_once(' ') {
            None if text == "read" => Ok(Self::Read),
            Some(("wrote", hash)) => Ok(Self::Wrote(ContentHash::parse(hash).ok_or("not a hash")?)),
            _ => Err(format!("not understood: {text}").into()),
        }
    }
}

/// What the run found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Killed {
    pub kills: u64,
    /// Kills of processes to which at least one edit had been acknowledged.
    pub after_edits: u64,
    pub reads: u64,
    pub writes: u64,
    /// Calls that the log itself says are missing.
    pub missing: u64,
    pub lines: u64,
}

impl fmt::Display for Killed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, after_edits, reads, writes, missing, lines } = self;
        write!(
            f,
            "{kills} kills, {after_edits} of them after acknowledged edits, {reads} reads and {writes} edits acknowledged, {lines} \
             lines: every edit has its line, {missing} calls are said to be missing"
        )
    }
}

fn engine(root: &Path) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: root.to_str().ok_or("not UTF-8")?.to_owned(), home: None };
    let settings = Settings { audit: Auditing::On, ..Settings::default() };
    Ok(Engine::new(Root::open(root)?, bearings, settings, Box::new(|| 1))?.with_audit(None))
}

/// Reads and edits until it is killed, and says what was acknowledged.
///
/// # Errors
/// When a call fails.
pub fn worker(root: &Path, seed: u64, say: &mut dyn FnMut(&Heard) -> Result<(), Broken>) -> Result<(), Broken> {
    let (engine, mut random) = (engine(root)?, Random::new(seed));
    let session = readproof_disk::SessionName::parse("s")?;
    for round in 0..u64::MAX {
        if random.below(2) == 0 {
            let new = format!("counter {seed} {round}");
            let file = fs::read_to_string(root.join("a.txt"))?;
            let old = file.lines().nth(1).ok_or("no line")?.to_owned();
            let change = Change::Replace { old, new, places: Places::One };
            engine.read(Some(&session), Read { path: "a.txt".into(), ..Read::default() })?;
            say(&Heard::Read)?;
            engine.write(&session, "a.txt", change)?;
            say(&Heard::Wrote(ContentHash::of(&fs::read(root.join("a.txt"))?)))?;
        } else {
            engine.read(Some(&session), Read { path: "b.txt".into(), ..Read::default() })?;
            say(&Heard::Read)?;
        }
    }
    Ok(())
}

/// Kills workers.
///
/// # Errors
/// The first thing that is not as it must be.
pub fn kills(program: &Path, kills: u64, seed: u64) -> Result<Killed, Broken> {
    let mut done = Killed::default();
    let mut random = Random::new(seed);
    while done.kills < kills {
        let dir = tempfile::tempdir()?;
        fs::write(dir.path().join("a.txt"), "first\nsecond\nthird\n")?;
        fs::write(dir.path().join("b.txt"), "text\n".repeat(50))?;
        // Several in turn on one log: each meets what the one before left.
        for _ in 0..(1 + random.below(6) as u64).min(kills - done.kills) {
            one(program, dir.path(), &mut random, &mut done)?;
        }
    }
    if done.after_edits * 2 < done.kills {
        return Err(format!("most processes were killed before their first edit, which shows little: {done}").into());
    }
    Ok(done)
}

fn one(program: &Path, root: &Path, random: &mut Random, done: &mut Killed) -> Result<(), Broken> {
    let before = counted(root)?;
    let mut command = Command::new(program);
    command.args(["auditor", root.to_str().ok_or("not UTF-8")?, &random.bits().to_string()]);
    let mut running = Running::<Heard>::start(&mut command)?;
    let mut heard = Vec::new();
    // Most are killed after some edits were acknowledged, and while another is on its way; some before the first.
    let wanted = random.below(5);
    while heard.is_empty() || heard.iter().filter(|said| matches!(said, Heard::Wrote(_))).count() < wanted {
        heard.push(running.said.recv_timeout(Duration::from_secs(60)).map_err(|_| "the worker said nothing")??);
    }
    thread::sleep(Duration::from_micros(random.bits() % 30_000));
    running.child.kill()?;
    running.child.wait()?;
    while let Ok(said) = running.said.recv() {
        heard.push(said?);
    }
    let after = counted(root)?;
    done.kills += 1;
    done.after_edits += u64::from(heard.iter().any(|said| matches!(said, Heard::Wrote(_))));
    let acknowledged = heard.len() as u64;
    let (lines, missing) = (after.calls - before.calls, after.missing - before.missing);
    // The last one may have been made and not heard of.
    if lines + missing < acknowledged || lines + missing > acknowledged + 2 {
        return Err(format!("{acknowledged} calls were acknowledged, {lines} have lines, {missing} are missing").into());
    }
    for said in &heard {
        match said {
            Heard::Read => done.reads += 1,
            Heard::Wrote(hash) => {
                done.writes += 1;
                if !after.written.contains_key(&hash.to_string()) {
                    return Err(format!("an acknowledged edit has no line: {hash}").into());
                }
            }
        }
    }
    done.missing += missing;
    done.lines += lines;
    Ok(())
}

#[derive(Default)]
struct Counts {
    calls: u64,
    missing: u64,
    /// By the hash that they left.
    written: BTreeMap<String, u64>,
}

/// What the log says, after whoever opens it has added what it finds missing.
fn counted(root: &Path) -> Result<Counts, Broken> {
    let engine = engine(root)?;
    let mut counts = Counts::default();
    let mut writer = engine.audit_writer()?;
    if let Some(aside) = writer.aside() {
        return Err(format!("the log was put aside as {aside}").into());
    }
    writer.sign()?;
    writer.close(0);
    let log: AuditLog = engine.audit_log()?.ok_or("there is no log")?;
    let found = log.verify(&log.key()?, None, &|_, _| ())?;
    if !found.problems.is_empty() {
        return Err(format!("{found:?}").into());
    }
    for entry in 0..log.size()? {
        match Line::parse(&log.entry(entry)?) {
            Some(Line::Call(call)) => {
                counts.calls += 1;
                for file in call.files.iter().filter(|file| file.before != file.after) {
                    if let Some(after) = file.after {
                        counts.written.insert(after.0.to_string(), entry);
                    }
                }
            }
            Some(Line::Gap(gap)) => counts.missing += gap.missing,
            Some(Line::Began(_)) => {}
            other => return Err(format!("line {entry}: {other:?}").into()),
        }
    }
    Ok(counts)
}
