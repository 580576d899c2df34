//! Many processes on one store, and processes that are killed: what a worker does, and what must hold afterwards. A worker
//! reports what was acknowledged to it on a pipe, which outlives it.

pub mod attacks;
pub mod audited;
pub mod clock;
pub(crate) mod heard;
pub mod judged;
pub mod processes;
pub mod queries;
pub mod scarce;
pub mod shell;
pub mod tamper;
pub mod windows;

use readproof_core::edit::Places;
use readproof_core::{path::Bearings, text::ContentHash};
use readproof_disk::{Loaded, LocalStore, ReplaceError, Root, SessionName, Store};
use readproof_engine::{
    Engine, Error, Replayed, Settings, SmallTexts, Unverifiable,
    operation::{Change, Operation, Read},
};
use readproof_hosts::session::{Past, Record, Sha};
use readproof_words::replay as words;
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use self::judged::not_whole;
use crate::{ask::Ask, op::Random, world::Broken};

/// The files that are read and edited.
pub(crate) const FILES: usize = 6;

/// No file ever has fewer lines.
pub(crate) const FEWEST: usize = 60;

/// Something that was acknowledged to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ack {
    /// A read was answered: the entry and the hash of the text.
    Read(u64, ContentHash),
    /// Its delivery was confirmed: the entry that records it.
    Delivered(u64),
    /// A file was written: the entry and, for a whole file, the hash of its content.
    Written(u64, Option<ContentHash>),
}

impl fmt::Display for Ack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(entry, hash) => write!(f, "read {entry} {hash}"),
            Self::Delivered(entry) => write!(f, "delivered {entry}"),
            Self::Written(entry, None) => write!(f, "edited {entry}"),
            Self::Written(entry, Some(hash)) => write!(f, "wrote {entry} {hash}"),
        }
    }
}

impl FromStr for Ack {
    type Err = Broken;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = line.split(' ').collect();
        let hash = |text: &str| ContentHash::parse(text).ok_or_else(|| Broken::from(format!("no hash: {line}")));
        match words[..] {
            ["read", entry, text] => Ok(Self::Read(entry.parse()?, hash(text)?)),
            ["delivered", entry] => Ok(Self::Delivered(entry.parse()?)),
            ["edited", entry] => Ok(Self::Written(entry.parse()?, None)),
            ["wrote", entry, text] => Ok(Self::Written(entry.parse()?, Some(hash(text)?))),
            _ => Err(line.into()),
        }
    }
}

/// What one process does.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Where.
    pub root: PathBuf,
    /// The worker's session.
    pub session: SessionName,
    /// The seed of its choices.
    pub seed: u64,
    /// How many reads.
    pub reads: u64,
}

/// Is told at once what was acknowledged.
pub type Tell<'a> = &'a mut dyn FnMut(&Ack) -> Result<(), Broken>;

impl Worker {
    /// Reads, edits and writes until all reads are done.
    ///
    /// # Errors
    /// On the first thing that is wrong; that another process edited first is not.
    pub fn work(&self, tell: Tell<'_>) -> Result<(), Broken> {
        let mut random = Random::new(self.seed);
        let engine = open(&self.root)?;
        let mut reads = 0;
        while reads < self.reads {
            let name = file_name(random.below(FILES));
            match random.below(40) {
                0 => self.write(&engine, name, Change::Whole(whole_text(&mut random)), tell)?,
                1 | 2 => {
                    let text = fs::read_to_string(self.root.join(&name))?;
                    let lines: Vec<&str> = text.lines().collect();
                    let old = lines[1 + random.below(FEWEST - 2)].to_owned();
                    let new = some_line(&mut random);
                    self.write(&engine, name, Change::Replace { old, new, places: Places::One }, tell)?;
                }
                _ => {
                    self.read(&engine, name, &mut random, tell)?;
                    reads += 1;
                }
            }
        }
        Ok(())
    }

    fn read(&self, engine: &Engine, path: String, random: &mut Random, tell: Tell<'_>) -> Result<(), Broken> {
        let ranged = random.below(3) == 0;
        let request = Read {
            path,
            offset: ranged.then(|| 1 + random.below(FEWEST / 2) as u64),
            limit: ranged.then(|| 1 + random.below(FEWEST / 2) as u64),
            ..Read::default()
        };
        let answer = engine.read(Some(&self.session), request)?;
        let receipt = answer.given.ok_or_else(|| format!("not recorded: {:?}", answer.notices))?;
        tell(&Ack::Read(receipt.entry.0, ContentHash::of(answer.text.as_bytes())))?;
        // Sometimes a result never arrives.
        if random.below(30) > 0 {
            tell(&Ack::Delivered(engine.delivered(&receipt)?.0))?;
        }
        Ok(())
    }

    fn write(&self, engine: &Engine, path: String, change: Change, tell: Tell<'_>) -> Result<(), Broken> {
        let hash = if let Change::Whole(text) = &change { Some(ContentHash::of(text.as_bytes())) } else { None };
        let written = match engine.write(&self.session, &path, change) {
            // Another process wrote first.
            Err(Error::Edit { .. } | Error::Replace(ReplaceError::Changed { .. })) => return Ok(()),
            other => other?,
        };
        tell(&Ack::Written(written.receipt.entry.0, hash))?;
        tell(&Ack::Delivered(engine.delivered(&written.receipt)?.0))
    }
}

/// A workspace for workers.
///
/// # Errors
/// When it cannot be made.
pub fn prepare(root: &Path, random: &mut Random) -> Result<(), Broken> {
    for number in 0..FILES {
        fs::write(root.join(file_name(number)), whole_text(random))?;
    }
    Ok(())
}

/// Another program saves a file as editors do: by renaming a new one over it.
///
/// # Errors
/// When it cannot be written.
pub fn change_from_outside(root: &Path, random: &mut Random) -> Result<(), Broken> {
    let name = file_name(random.below(FILES));
    let text = fs::read_to_string(root.join(&name))?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = 1 + random.below(lines.len() - 2);
    lines[at] = some_line(random);
    let fresh = root.join(format!("{name}.new"));
    fs::write(&fresh, lines.join("\n") + "\n")?;
    Ok(fs::rename(fresh, root.join(name))?)
}

/// An engine on a workspace.
///
/// # Errors
/// When it cannot be opened.
pub fn open(root: &Path) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    // Both ways of storing texts meet in one store.
    let small_texts = if std::process::id().is_multiple_of(2) { SmallTexts::Together } else { SmallTexts::Apart };
    let settings = Settings { small_texts, ..Settings::default() };
    Ok(Engine::new(Root::open(root)?, bearings, settings, Box::new(|| 0))?)
}

pub(crate) fn file_name(number: usize) -> String {
    format!("file-{number}.txt")
}

pub(crate) fn some_line(random: &mut Random) -> String {
    format!("line {:016x}", random.bits())
}

/// A text in which a missing part would show.
pub(crate) fn whole_text(random: &mut Random) -> String {
    let lines: Vec<String> = (0..FEWEST + random.below(200)).map(|_| some_line(random)).collect();
    format!("begin\n{}\nend\n", lines.join("\n"))
}

/// What was checked and found correct.
#[derive(Clone, Debug, Default)]
pub struct InOrder {
    /// Acknowledged entries, each found in its log.
    pub acknowledged: u64,
    /// Stored texts, each with the hash in its name.
    pub objects: u64,
    /// Answers that were replayed with the same result.
    pub replayed: u64,
    /// Writes by agents that led from text to text as recorded.
    pub written: u64,
    /// Writes that were announced, but whose outcome is not recorded.
    pub unfinished: u64,
    /// Answers and writes whose text is gone.
    pub unverifiable: u64,
    /// Answers by decision.
    pub modes: BTreeMap<String, u64>,
    /// Leftovers of failed writes.
    pub torn: u64,
    /// Logs that were put aside.
    pub retired: u64,
}

/// Reopens the store and checks everything: what was acknowledged is in the logs, no text is altered, every answer can be
/// replayed, every file is complete.
///
/// # Errors
/// On the first thing that is wrong.
pub fn check(root: &Path, told: &BTreeMap<SessionName, Vec<Ack>>) -> Result<InOrder, Broken> {
    let mut found = InOrder::default();
    if let Some(name) = not_whole(root)?.first() {
        return Err(format!("{name} is not whole").into());
    }
    let engine = open(root)?;
    for session in engine.ask::<Vec<Replayed>>(None, Operation::Replay)? {
        if let Some(wrong) = session.wrong.first() {
            return Err(format!("{:?} {:?}: {}", session.session, wrong.entry, words::wrong(&wrong.what)).into());
        }
        found.replayed += session.verified;
        found.written += session.written;
        let unfinished =
            session.unverifiable.iter().filter(|open| matches!(open.what, Unverifiable::Unfinished)).count();
        found.unfinished += unfinished as u64;
        found.unverifiable += (session.unverifiable.len() - unfinished) as u64;
    }
    let Some(store) = LocalStore::open_existing(&Root::open(root)?)? else {
        // Killed before there was one; nothing can have been acknowledged then.
        return if told.values().all(Vec::is_empty) { Ok(found) } else { Err("the store is gone".into()) };
    };
    for object in store.objects().stored() {
        if !matches!(store.objects().load(object.hash), Loaded::Text(_)) {
            return Err(format!("the object {} was altered", object.hash).into());
        }
        found.objects += 1;
    }
    for (session, acks) in told {
        acknowledged(&store, session, acks, &mut found)?;
    }
    Ok(found)
}

/// A log that was put aside still proves what was acknowledged.
fn acknowledged(store: &dyn Store, session: &SessionName, acks: &[Ack], found: &mut InOrder) -> Result<(), Broken> {
    let mut pasts: Vec<Past> = Past::read(store, session)?.into_iter().collect();
    for retired in store.logs().retired().iter().filter(|retired| retired.log.session() == Some(session)) {
        pasts.push(Past::read_retired(store, retired)?);
        found.retired += 1;
    }
    found.torn += pasts.iter().map(|past| past.torn).sum::<u64>();
    let lines = pasts.into_iter().flat_map(|past| past.lines);
    let mut records: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for line in lines {
        if let Some(Record::Answer { answer, .. }) = &line.record {
            *found.modes.entry(answer.mode.to_string()).or_default() += 1;
        }
        records.entry(line.line).or_default().extend(line.record);
    }
    for ack in acks {
        let says = |record: &Record| match ack {
            Ack::Read(_, hash) => matches!(record, Record::Answer { answer, .. }
                if answer.block.is_some_and(|block| block.sha == Sha(*hash))),
            Ack::Delivered(_) => matches!(record, Record::Delivered { .. }),
            Ack::Written(_, hash) => matches!(record, Record::Change { changed, .. }
                if hash.is_none_or(|hash| changed.after.is_some_and(|(sha, _)| sha == Sha(hash)))),
        };
        let (Ack::Read(entry, _) | Ack::Delivered(entry) | Ack::Written(entry, _)) = ack;
        let is_there = records.get(entry).is_some_and(|records| records.iter().any(says));
        if !is_there {
            return Err(format!("{session}: `{ack}` was acknowledged and is not in the log").into());
        }
    }
    found.acknowledged += acks.len() as u64;
    Ok(())
}
