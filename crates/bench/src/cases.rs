//! The reads that are measured: in one process, as an agent's host makes them, until the answer is recorded and ready. That
//! it was delivered is confirmed by a separate call, which has its own case.

use std::{
    fs::{self, File},
    hint::black_box,
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use readproof_core::{decide::Mode, limits::Limits, path::Bearings, text::ContentHash};
use readproof_disk::{Root, SessionName};
use readproof_engine::{Auditing, CallLog, Engine, Receipt, Settings, SmallTexts, operation::Read};
use readproof_testkit::ask::Ask;
use tempfile::TempDir;

use crate::{
    Broken,
    harness::{Bar, Samples, Subject, WARM_UP, measure},
    programs,
};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The required ratio to the floor.
    pub(crate) bar: Bar,
    pub(crate) rounds: u32,
    pub(crate) run: fn(u32) -> Result<Samples, Broken>,
}

pub(crate) const SMALL: usize = 10_000;
const LARGE: usize = 500_000;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "unchanged-10k",
        about: "a file of 10 KB that the model holds is read again",
        bar: Bar::AtMost(2.0),
        rounds: 4000,
        run: |rounds| reads(rounds, SMALL, Change::None),
    },
    Case {
        name: "unchanged-10k-rules",
        about: "a file of 10 KB that the model holds is read again, under 200 rules of access",
        bar: Bar::AtMost(2.0),
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Reads::new(SMALL, Change::None)?.under_rules()?),
    },
    Case {
        name: "unchanged-10k-logged",
        about: "a file of 10 KB that the model holds is read again, under 200 rules of access, with a line in the audit log and one \
                in the query log",
        bar: Bar::AtMost(2.0),
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Reads::of(SMALL, Change::None, Logs::Both)?.under_rules()?),
    },
    Case {
        name: "unchanged-500k",
        about: "the same with 500 KB",
        bar: Bar::AtMost(2.0),
        rounds: 1000,
        run: |rounds| reads(rounds, LARGE, Change::None),
    },
    Case {
        name: "first-10k",
        about: "a file of 10 KB is read for the first time and its text stored",
        bar: Bar::AtMost(3.0),
        rounds: 2000,
        run: |rounds| reads(rounds, SMALL, Change::NewFile),
    },
    Case {
        name: "first-500k",
        about: "the same with 500 KB",
        bar: Bar::AtMost(3.0),
        rounds: 500,
        run: |rounds| reads(rounds, LARGE, Change::NewFile),
    },
    Case {
        name: "diff-500k",
        about: "one line of 500 KB changed; the new text is stored, the answer is a diff",
        bar: Bar::AtMost(10.0),
        rounds: 300,
        run: |rounds| reads(rounds, LARGE, Change::OneLine),
    },
    Case {
        name: "delivered",
        about: "the answer of an unchanged file of 10 KB is confirmed as delivered",
        bar: Bar::AtMost(1.0),
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Confirmations(Reads::new(SMALL, Change::None)?)),
    },
    Case {
        name: "version",
        about: "`readproof --version` against `git --version`",
        bar: Bar::AtMost(3.0),
        rounds: 100,
        run: programs::version,
    },
];

/// After this time a change of a file is known to be over.
const SETTLED: Duration = Duration::from_millis(2500);

/// So many rules, a quarter each of folders, endings, names at any depth and single files.
const RULES: usize = 200;

/// What happens to the file before each read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    NewFile,
    OneLine,
}

/// Which logs get a line of every call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Logs {
    None,
    /// The audit log and the query log.
    Both,
}

fn reads(rounds: u32, bytes: usize, change: Change) -> Result<Samples, Broken> {
    let mut reads = Reads::new(bytes, change)?;
    if change == Change::NewFile {
        for round in 0..rounds + WARM_UP {
            fs::write(reads.new_file(round), text(bytes, Some(round)))?;
        }
    }
    measure(rounds, &mut reads)
}

struct Reads {
    folder: TempDir,
    engine: Engine,
    session: SessionName,
    request: Read,
    file: PathBuf,
    bytes: usize,
    change: Change,
    expected: Mode,
    /// The receipt of the latest answer.
    receipt: Option<Receipt>,
}

/// With large texts the store is emptied after this many rounds.
const EMPTIED: u32 = 64;

impl Reads {
    fn new(bytes: usize, change: Change) -> Result<Self, Broken> {
        Self::of(bytes, change, Logs::None)
    }

    fn of(bytes: usize, change: Change, logs: Logs) -> Result<Self, Broken> {
        let (audit, call_log) = match logs {
            Logs::None => (Auditing::Off, CallLog::Off),
            Logs::Both => (Auditing::On, CallLog::Later),
        };
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        let limits = Limits { answer_lines: u32::MAX, answer_bytes: u32::MAX, ..Limits::default() };
        let settings = Settings { limits, small_texts: SmallTexts::Together, audit, call_log, ..Settings::default() };
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let engine = Engine::new(Root::open(&top)?, bearings, settings, Box::new(now))?.with_audit(None);
        let session = SessionName::parse("bench")?;
        let request = Read { path: "src/file.rs".to_owned(), ..Read::default() };
        fs::create_dir(top.join("src"))?;
        let file = top.join(&request.path);
        let expected = match change {
            Change::None => Mode::Unchanged,
            Change::NewFile => Mode::Full,
            Change::OneLine => Mode::Diff,
        };
        let mut reads =
            Self { folder, engine, session, request, file, bytes, change, expected: Mode::Full, receipt: None };
        fs::write(&reads.file, text(bytes, None))?;
        reads.case()?;
        // In a folder that was changed just now, policy files are looked for each time.
        thread::sleep(SETTLED);
        reads.settle()?;
        reads.expected = expected;
        Ok(reads)
    }

    /// Empties what earlier rounds stored. Otherwise every round would touch fresh memory, which on a virtual machine costs many
    /// times as much as writing to a file.
    fn forget(&mut self, round: u32) -> Result<(), Broken> {
        if self.bytes == SMALL || !round.is_multiple_of(EMPTIED) {
            return Ok(());
        }
        for entry in fs::read_dir(self.folder.path().join(".readproof/objects"))? {
            File::options().write(true).open(entry?.path())?.set_len(0)?;
        }
        if self.change == Change::OneLine {
            // The base of the next diff.
            fs::write(&self.file, text(self.bytes, None))?;
            self.case_is(None)?;
            self.settle()?;
        }
        Ok(())
    }

    /// One read; fails if it is not answered as expected.
    fn case_is(&mut self, expected: Option<Mode>) -> Result<(), Broken> {
        let answer = self.engine.read(Some(&self.session), self.request.clone())?;
        if expected.is_some_and(|expected| answer.mode != expected) {
            return Err(format!("{:?} was answered, not {expected:?}: {:?}", answer.mode, answer.reason).into());
        }
        self.receipt = black_box(answer).given;
        Ok(())
    }

    fn new_file(&self, round: u32) -> PathBuf {
        self.folder.path().join(format!("src/file-{round}.rs"))
    }
}

impl Reads {
    /// The same with rules, none of which is about the file.
    fn under_rules(mut self) -> Result<Self, Broken> {
        let mut rules = String::from("[policy]\ndeny = [");
        for n in 0..RULES / 4 {
            rules.push_str(&format!("\"private/part_{n}/\", \"*.secret{n}\", "));
        }
        rules.push_str("]\n");
        for n in 0..RULES / 4 {
            for (acts, path) in [("read", format!("docs/**/draft_{n}.md")), ("edit", format!("/config/{n}.toml"))] {
                rules.push_str(&format!(
                    "[[policy.rule]]\neffect = \"ask\"\npaths = [\"{path}\"]\nacts = [\"{acts}\"]\n"
                ));
            }
        }
        fs::write(self.folder.path().join("readproof.toml"), rules)?;
        // A file that was changed just now is read again each time.
        thread::sleep(SETTLED);
        self.case_is(None)?;
        self.settle()?;
        Ok(self)
    }
}

impl Subject for Reads {
    fn prepare(&mut self, round: u32) -> Result<(), Broken> {
        match self.change {
            Change::None => {}
            Change::NewFile => {
                self.forget(round)?;
                self.file = self.new_file(round);
                self.request.path = format!("src/file-{round}.rs");
            }
            Change::OneLine => {
                self.forget(round)?;
                fs::write(&self.file, text(self.bytes, Some(round)))?;
            }
        }
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        Ok(floor_read(&self.file)?)
    }

    #[inline(never)]
    fn case(&mut self) -> Result<(), Broken> {
        self.case_is(Some(self.expected))
    }

    fn settle(&mut self) -> Result<(), Broken> {
        let receipt = self.receipt.take().ok_or("nothing was recorded")?;
        self.engine.delivered(&receipt)?;
        Ok(())
    }
}

/// Times the confirmation instead of the read.
struct Confirmations(Reads);

impl Subject for Confirmations {
    fn prepare(&mut self, round: u32) -> Result<(), Broken> {
        self.0.prepare(round)?;
        self.0.case()
    }

    fn floor(&mut self) -> Result<(), Broken> {
        self.0.floor()
    }

    fn case(&mut self) -> Result<(), Broken> {
        self.0.settle()
    }
}

/// The floor of every read: open, `fstat`, read, hash, close.
pub(crate) fn floor_read(file: &Path) -> io::Result<()> {
    let mut file = File::open(file)?;
    let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes)?;
    black_box(ContentHash::of(&bytes));
    Ok(())
}

/// Code-like lines of about 50 bytes, so that 500 KB stay below the 12,000 lines that are diffed. With a mark, one line in
/// the middle is unique.
pub(crate) fn text(bytes: usize, mark: Option<u32>) -> String {
    let mut text = String::with_capacity(bytes + 128);
    let mut number = 0;
    let mut mark = mark;
    while text.len() < bytes {
        number += 1;
        text += &format!("    let value_{number} = compute({number}, &table[{}])?;\n", number % 17);
        if text.len() * 2 > bytes
            && let Some(mark) = mark.take()
        {
            text += &format!("    // changed in round {mark}\n");
        }
    }
    text
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_read_is_answered_as_its_case_says() {
        for change in [Change::None, Change::NewFile, Change::OneLine] {
            reads(2, SMALL, change).unwrap();
        }
    }

    #[test]
    fn the_large_text_can_be_diffed() {
        let text = text(LARGE, Some(1));
        assert!(text.len() >= LARGE && text.lines().count() < 12_000);
        assert_eq!(text.matches("// changed").count(), 1);
    }
}
