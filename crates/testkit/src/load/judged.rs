//! A worker on a disk that may be full or read-only: whatever the state of the store, it gets the text, and every answer
//! about its own files is judged by the reader. What fails must have changed nothing, or say that it has.

use readproof_core::edit::Places;
use readproof_core::text::ContentHash;
use readproof_disk::{LogError, SessionName};
use readproof_engine::{
    Engine, Error, Receipt,
    operation::{Change, Read},
};
use readproof_hosts::versions::VersionsError;
use readproof_reader::{Reader, Rendered, Replaces, Seen};
use readproof_words::notice::notices;
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::{
    ask::{Ask, Logged},
    load::{Ack, FEWEST, FILES, file_name, open, some_line, whole_text},
    op::Random,
    world::Broken,
};

/// The worker's own files.
const OWN: usize = 3;

/// Lines of each of them.
const LINES: usize = 80;

/// The number of different texts: few enough that a file often returns to an earlier one.
const VARIANTS: usize = 3;

/// The session in which something was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The worker's own, in which every answer is judged.
    Own,
    /// The one that all workers share.
    Shared,
}

/// What a worker reports on its pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Something is done and durable.
    Ack(Whose, Ack),
    /// A read returned the text but was not recorded, for the reason in its notice.
    Plain(String),
    /// A read was answered, but its text could not be stored.
    Unstored,
    /// A result could not be confirmed.
    Unconfirmed,
    /// A write was refused or failed, and the file is unchanged.
    Refused,
    /// A write was made but could not be recorded, and said so.
    Unrecorded,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack(Whose::Own, ack) => write!(f, "own {ack}"),
            Self::Ack(Whose::Shared, ack) => write!(f, "shared {ack}"),
            Self::Plain(why) => write!(f, "plain {}", why.replace('\n', " ")),
            Self::Unstored => f.write_str("unstored"),
            Self::Unconfirmed => f.write_str("unconfirmed"),
            Self::Refused => f.write_str("refused"),
            Self::Unrecorded => f.write_str("unrecorded"),
        }
    }
}

impl FromStr for Told {
    type Err = Broken;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        Ok(match (line, line.split_once(' ')) {
            (_, Some(("own", ack))) => Self::Ack(Whose::Own, ack.parse()?),
            (_, Some(("shared", ack))) => Self::Ack(Whose::Shared, ack.parse()?),
            (_, Some(("plain", why))) => Self::Plain(why.to_owned()),
            ("unstored", _) => Self::Unstored,
            ("unconfirmed", _) => Self::Unconfirmed,
            ("refused", _) => Self::Refused,
            ("unrecorded", _) => Self::Unrecorded,
            _ => return Err(line.into()),
        })
    }
}

/// What one process does.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Where.
    pub root: PathBuf,
    /// Its own session. If its files exist, its model has seen them whole.
    pub session: SessionName,
    /// The seed of its choices.
    pub seed: u64,
    /// How many steps.
    pub steps: u64,
}

/// The session that all workers share.
///
/// # Errors
/// Never: it is a name.
pub fn shared() -> Result<SessionName, Broken> {
    Ok(SessionName::parse("shared")?)
}

/// Is told at once what happened.
pub type Tell<'a> = &'a mut dyn FnMut(&Told) -> Result<(), Broken>;

struct Work<'t> {
    root: PathBuf,
    session: SessionName,
    engine: Engine,
    reader: Reader,
    random: Random,
    /// Whether a notice said to use another session.
    told_off: bool,
    tell: Tell<'t>,
}

impl Judged {
    /// Performs its steps, then reads its own files once more.
    ///
    /// # Errors
    /// On the first thing that is wrong.
    pub fn work(&self, tell: Tell<'_>) -> Result<(), Broken> {
        let mut work = Work {
            root: self.root.clone(),
            session: self.session.clone(),
            engine: open(&self.root)?,
            reader: Reader::default(),
            random: Random::new(self.seed),
            told_off: false,
            tell,
        };
        for number in 0..OWN {
            let name = work.own(number);
            match fs::read_to_string(self.root.join(&name)) {
                Ok(content) => drop(work.reader.see(&Seen::Write { path: name, content })?),
                Err(_) => work.outside(&name)?,
            }
        }
        for _ in 0..self.steps {
            work.step()?;
        }
        for number in 0..OWN {
            work.read_own(&work.own(number), None, None)?;
        }
        Ok(())
    }
}

impl Work<'_> {
    fn own(&self, number: usize) -> String {
        format!("{}-{number}.txt", self.session)
    }

    fn step(&mut self) -> Result<(), Broken> {
        let number = self.random.below(OWN);
        let (own, other) = (self.own(number), file_name(self.random.below(FILES)));
        match self.random.below(24) {
            0 | 1 => self.outside(&own),
            2..=4 => self.edit(&own),
            5 => {
                let text = self.variant(&own);
                let seen = Seen::Write { path: own.clone(), content: text.clone() };
                self.write(&own, Change::Whole(text.clone()), &text, &|_| seen.clone())
            }
            // A process that was told to use another session must not start this one again.
            6 if !self.told_off => {
                self.engine = open(&self.root)?;
                Ok(())
            }
            7..=9 => self.read_shared(other),
            10 | 11 => self.write_shared(other),
            12..=15 => {
                let (offset, limit) = (1 + self.random.below(LINES) as u64, 1 + self.random.below(30) as u64);
                self.read_own(&own, Some(offset), Some(limit))
            }
            _ => self.read_own(&own, None, None),
        }
    }

    /// One of the few texts that its files can have.
    fn variant(&mut self, name: &str) -> String {
        let variant = self.random.below(VARIANTS);
        let line = |n: usize| match n % 9 {
            3 => format!("line {n} variant {variant}\n"),
            _ => format!("line {n} of {name}\n"),
        };
        format!("begin\n{}end\n", (2..LINES).map(line).collect::<String>())
    }

    /// Another program saves one of its files, unless there is no room for that. The new text appears at once.
    fn outside(&mut self, name: &str) -> Result<(), Broken> {
        let (text, fresh) = (self.variant(name), self.root.join(format!("{name}.new")));
        match fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, self.root.join(name))) {
            Err(error) if is_scarce(&error) => {
                // On a read-only disk there is nothing to remove.
                let _ = fs::remove_file(fresh);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    fn read_own(&mut self, name: &str, offset: Option<u64>, limit: Option<u64>) -> Result<(), Broken> {
        // Only this worker writes it.
        let Ok(truth) = fs::read_to_string(self.root.join(name)) else { return Ok(()) };
        let request = Read { path: name.to_owned(), offset, limit, ..Read::default() };
        let answer = self.engine.read(Some(&self.session), request)?;
        let rendered = Rendered { text: answer.text.clone(), notices: notices(&answer.notices) };
        let seen = Seen::Read { path: name.to_owned(), offset, limit, answer: rendered };
        let rebuilt = self.reader.see(&seen).map_err(|complaint| format!("{}: {complaint}", self.session))?;
        let first = usize::try_from(offset.unwrap_or(1))?;
        let most = limit.map_or(Ok(usize::MAX), usize::try_from)?;
        let wanted: String = truth.split_inclusive('\n').skip(first - 1).take(most).collect();
        if rebuilt.as_ref().is_none_or(|rebuilt| rebuilt.text != wanted) {
            let said = format!("{} {name} {offset:?} {limit:?}: {:?}", self.session, answer.mode);
            return Err(format!("{said}: rebuilt {rebuilt:?}, but the file says {wanted:?}").into());
        }
        self.settle(Whose::Own, &answer)
    }

    fn read_shared(&mut self, name: String) -> Result<(), Broken> {
        let answer = self.engine.read(Some(&shared()?), Read { path: name, ..Read::default() })?;
        let is_text = answer.text.starts_with("begin\n") && answer.text.ends_with("\nend\n");
        if is_text || answer.mode.is_derived() {
            return self.settle(Whose::Shared, &answer);
        }
        Err(format!("{:?} gave {:?}", answer.mode, answer.text).into())
    }

    /// The answer is recorded and confirmed, or plain with a notice that says why.
    fn settle(&mut self, whose: Whose, answer: &Logged) -> Result<(), Broken> {
        self.told_off |= notices(&answer.notices).iter().any(|notice| notice.contains("use another session than"));
        let Some(receipt) = &answer.given else {
            let all = notices(&answer.notices);
            let said = all.iter().find(|notice| notice.contains("nothing is remembered of this answer"));
            return match (answer.mode.is_derived(), said) {
                (false, Some(notice)) => (self.tell)(&Told::Plain(notice.clone())),
                _ => Err(format!("not recorded: {:?}, {:?}", answer.mode, answer.notices).into()),
            };
        };
        (self.tell)(&Told::Ack(whose, Ack::Read(receipt.entry.0, ContentHash::of(answer.text.as_bytes()))))?;
        if notices(&answer.notices).iter().any(|notice| notice.contains("this text was not stored")) {
            (self.tell)(&Told::Unstored)?;
        }
        self.confirm(whose, receipt)
    }

    /// What cannot be confirmed does not count as held, and nothing more.
    fn confirm(&mut self, whose: Whose, receipt: &Receipt) -> Result<(), Broken> {
        match self.engine.delivered(receipt) {
            Ok(entry) => (self.tell)(&Told::Ack(whose, Ack::Delivered(entry.0))),
            Err(Error::Session(_) | Error::Store(_) | Error::NoSession(_)) => (self.tell)(&Told::Unconfirmed),
            Err(error) => Err(error.into()),
        }
    }

    fn edit(&mut self, name: &str) -> Result<(), Broken> {
        let Ok(before) = fs::read_to_string(self.root.join(name)) else { return Ok(()) };
        let lines: Vec<&str> = before.lines().filter(|line| line.contains("variant")).collect();
        let Some(old) = self.random.pick(&lines) else { return Ok(()) };
        let stem = old.trim_end_matches(|c: char| c.is_ascii_digit());
        let new = format!("{stem}{}", self.random.below(VARIANTS));
        let (old, after) = (format!("{old}\n"), before.replacen(*old, &new, 1));
        let (path, new) = (name.to_owned(), format!("{new}\n"));
        let (old_text, new_text) = (old.clone(), new.clone());
        let seen = |answer: &str| Seen::Edit {
            path: path.clone(),
            old: old_text.clone(),
            new: new_text.clone(),
            replaces: Replaces::One,
            answer: answer.to_owned(),
        };
        self.write(name, Change::Replace { old, new, places: Places::One }, &after, &seen)
    }

    /// The write is done and on disk; or made but not recorded, and says so; or nothing happened.
    fn write(&mut self, path: &str, change: Change, after: &str, seen: &dyn Fn(&str) -> Seen) -> Result<(), Broken> {
        let before = fs::read_to_string(self.root.join(path)).ok();
        let outcome = self.engine.write(&self.session, path, change);
        let found = fs::read_to_string(self.root.join(path)).ok();
        let must = |expected: Option<&str>, what: &str| {
            if found.as_deref() == expected { Ok(()) } else { Err(Broken::from(format!("{path}: {what}: {found:?}"))) }
        };
        match outcome {
            Ok(written) => {
                must(Some(after), "the write succeeded and the file is another")?;
                self.reader.see(&seen(&written.text))?;
                let hash = ContentHash::of(after.as_bytes());
                (self.tell)(&Told::Ack(Whose::Own, Ack::Written(written.receipt.entry.0, Some(hash))))?;
                self.confirm(Whose::Own, &written.receipt)
            }
            Err(Error::Unrecorded { .. }) => {
                must(Some(after), "the write is said to be made and the file is another")?;
                self.reader.see(&Seen::Lost { path: path.to_owned() })?;
                (self.tell)(&Told::Unrecorded)
            }
            Err(error) if is_refusal(&error) => {
                must(before.as_deref(), "the write failed and the file changed")?;
                (self.tell)(&Told::Refused)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A new text every time, so that the store fills up.
    fn write_shared(&mut self, path: String) -> Result<(), Broken> {
        let change = if self.random.below(2) == 0 {
            Change::Whole(whole_text(&mut self.random))
        } else {
            let text = fs::read_to_string(self.root.join(&path))?;
            let lines: Vec<&str> = text.lines().collect();
            let old = lines[1 + self.random.below(FEWEST - 2)].to_owned();
            Change::Replace { old, new: some_line(&mut self.random), places: Places::One }
        };
        match self.engine.write(&shared()?, &path, change) {
            Ok(written) => {
                (self.tell)(&Told::Ack(Whose::Shared, Ack::Written(written.receipt.entry.0, None)))?;
                self.confirm(Whose::Shared, &written.receipt)
            }
            Err(Error::Unrecorded { .. }) => (self.tell)(&Told::Unrecorded),
            // Another process wrote first.
            Err(Error::Edit { .. }) => (self.tell)(&Told::Refused),
            Err(error) if is_refusal(&error) => (self.tell)(&Told::Refused),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a write was refused before the file was touched, because what must be kept of it has no room. That of the version log is
/// its first line: if a later one has no room, the write is unrecorded.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Replace(_)
            | Error::Session(_)
            | Error::Store(_)
            | Error::Versions(VersionsError::Log(LogError::Full { .. } | LogError::ReadOnly { .. }))
    )
}

/// Whether the disk is full or read-only.
fn is_scarce(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::FileTooLarge];
    kinds.contains(&error.kind())
}

/// The files in a workspace that are incomplete; every file of a run begins and ends in a known way.
///
/// # Errors
/// When the folder cannot be read.
pub fn not_whole(root: &Path) -> Result<Vec<String>, Broken> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if !name.ends_with(".txt") {
            continue;
        }
        let text = fs::read_to_string(root.join(&name))?;
        if !text.starts_with("begin\n") || !text.ends_with("end\n") {
            found.push(name);
        }
    }
    Ok(found)
}
