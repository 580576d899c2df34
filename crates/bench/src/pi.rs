//! pi transcripts: opening one against skipping through its lines, a step on a long one against the same on a short one,
//! and how much memory an entry that is not a read takes.

mod reads;
mod sessions;

use std::{hint::black_box, process::Command};

use readproof_core::{limits::Answers, path::PathKey};
use readproof_hosts::pi::Transcript;
use serde::de::IgnoredAny;

use crate::{
    Broken,
    cases::Case,
    harness::{Bar, Samples, Subject, Unit, measure},
};
use reads::{Leaf, Reads};
use sessions::{Session, id};

/// Opening may take twice as long as skipping.
const OPEN_BAR: Bar = Bar::AtMost(2.0);

/// A step must not cost more in a longer transcript.
const STEP_BAR: Bar = Bar::AtMost(1.3);

/// The most bytes that an entry that is not a read may take.
const HELD_BAR: Bar = Bar::AtMost(200.0);

const SHORT: u32 = 1_000;
const LONG: u32 = 100_000;

/// How many entries are kept to find out what one takes.
const MANY: u32 = 500_000;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "pi-open-mixed",
        about: "a pi session of 100,000 small entries of every kind, 50 branches, 20 compactions is opened; floor: skipped",
        bar: OPEN_BAR,
        rounds: 15,
        run: |rounds| open(rounds, sessions::mixed(LONG)),
    },
    Case {
        name: "pi-open-outputs",
        about: "the same with long thoughts and command outputs of 10 to 50 KB",
        bar: OPEN_BAR,
        rounds: 15,
        run: |rounds| open(rounds, sessions::outputs(2_000)),
    },
    Case {
        name: "pi-open-reads",
        about: "the same with reads of 8 KB, 10,050 of 100 files, compacted every 100",
        bar: OPEN_BAR,
        rounds: 15,
        run: |rounds| open(rounds, sessions::reads(10_050, 100, 100)),
    },
    Case {
        name: "pi-open-uncompacted",
        about: "the same with 10,000 of them, never compacted",
        bar: OPEN_BAR,
        rounds: 15,
        run: |rounds| open(rounds, sessions::reads(10_000, 100, u32::MAX)),
    },
    Case {
        name: "pi-open-edits",
        about: "the same with 10,000 reads of 8 KB, each omitted later by a context edit, never compacted",
        bar: OPEN_BAR,
        rounds: 15,
        run: |rounds| open(rounds, sessions::edits(10_000)),
    },
    Case {
        name: "pi-open-fresh",
        about: "a pi session of 300 reads of 8 KB, each of another file, is opened and the last of them asked about",
        bar: OPEN_BAR,
        rounds: 300,
        run: |rounds| {
            measure(rounds, &mut Open { asked: Asked::Last, ..Open::new(sessions::reads(300, u32::MAX, u32::MAX)) })
        },
    },
    Case {
        name: "pi-append",
        about: "a read result is appended to 100,000 entries and its file asked about; floor: to 1,000 entries",
        bar: STEP_BAR,
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Steps::new(Step::Append)?),
    },
    Case {
        name: "pi-move",
        about: "the leaf moves to another branch one entry away, to its parent and back; floor: among 1,000 entries",
        bar: STEP_BAR,
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Steps::new(Step::Move)?),
    },
    Case {
        name: "pi-read",
        about: "a file of 10 KB that the model holds is read in a pi session of 100,000 entries; floor: of 1,000 entries",
        bar: STEP_BAR,
        rounds: 2000,
        run: |rounds| measure(rounds, &mut Reads::new(Leaf::Same)?),
    },
    Case {
        name: "pi-read-moved",
        about: "the same, one entry on each time",
        bar: STEP_BAR,
        rounds: 2000,
        run: |rounds| measure(rounds, &mut Reads::new(Leaf::Moved)?),
    },
    Case {
        name: "pi-held",
        about: "bytes held for an entry that is no read, of 500,000",
        bar: HELD_BAR,
        rounds: 3,
        run: held_elsewhere,
    },
];

fn open(rounds: u32, session: Session) -> Result<Samples, Broken> {
    measure(rounds, &mut Open::new(session))
}

/// Which files are asked about once a session is open.
#[derive(Clone, Copy)]
enum Asked {
    All,
    /// The one read last.
    Last,
}

struct Open {
    session: Session,
    asked: Asked,
    /// Dropping it is not part of opening.
    opened: Option<Transcript>,
}

impl Open {
    fn new(session: Session) -> Self {
        Self { session, asked: Asked::All, opened: None }
    }
}

impl Subject for Open {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        self.opened = None;
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        let bytes = self.session.bytes.as_bytes();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            black_box(serde_json::from_slice::<IgnoredAny>(&bytes[start..end])?);
            start = end + 1;
        }
        Ok(())
    }

    /// The tree, and what the model holds at the last entry.
    fn case(&mut self) -> Result<(), Broken> {
        let mut transcript = Transcript::new(Answers::Held, None);
        transcript.append(self.session.bytes.as_bytes());
        let known = transcript.known_at(transcript.last(), &self.session);
        match self.asked {
            Asked::All => black_box(known.files().count()),
            Asked::Last => black_box(known.of(&self.session.last_read).of(&self.session.last_read).len()),
        };
        let counts = transcript.counts();
        if (counts.entries, counts.skipped) != (self.session.entries as usize, 0) {
            return Err(format!("{counts:?} of {} entries", self.session.entries).into());
        }
        self.opened = Some(transcript);
        Ok(())
    }
}

/// What happens each round.
#[derive(Clone, Copy)]
enum Step {
    Append,
    Move,
}

/// The same steps on a short and on a long transcript.
struct Steps {
    step: Step,
    short: Growing,
    long: Growing,
}

impl Steps {
    fn new(step: Step) -> Result<Self, Broken> {
        Ok(Self { step, short: Growing::new(SHORT)?, long: Growing::new(LONG)? })
    }
}

impl Subject for Steps {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        for growing in [&mut self.short, &mut self.long] {
            growing.prepare(self.step)?;
        }
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        self.short.run(self.step)
    }

    fn case(&mut self) -> Result<(), Broken> {
        self.long.run(self.step)
    }
}

/// An open transcript that grows.
struct Growing {
    session: Session,
    transcript: Transcript,
    path: PathKey,
    /// The call whose results are asked about.
    call: u32,
    /// Where the leaf was before.
    leaf: u32,
    line: String,
}

impl Growing {
    fn new(entries: u32) -> Result<Self, Broken> {
        let session = sessions::typical(entries);
        let mut transcript = Transcript::new(Answers::Held, None);
        transcript.append(session.bytes.as_bytes());
        transcript.known_at(transcript.last(), &session);
        let leaf = session.entries - 1;
        let path = PathKey::new("/w/f1");
        let mut growing = Self { session, transcript, path, call: leaf, leaf, line: String::new() };
        growing.call()?;
        Ok(growing)
    }

    /// Appends a call of a read after the leaf.
    fn call(&mut self) -> Result<(), Broken> {
        let line = self.session.call_line(self.leaf);
        self.call = self.grow(&line)?;
        self.ask(self.call)
    }

    fn prepare(&mut self, step: Step) -> Result<(), Broken> {
        self.line = self.session.result_line(self.call);
        match step {
            Step::Append => {
                self.leaf = self.call;
                self.call()?;
                self.line = self.session.result_line(self.call);
            }
            Step::Move => {
                let line = std::mem::take(&mut self.line);
                self.leaf = self.grow(&line)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, step: Step) -> Result<(), Broken> {
        match step {
            Step::Append => {
                let line = std::mem::take(&mut self.line);
                let leaf = self.grow(&line)?;
                self.ask(leaf)
            }
            Step::Move => {
                self.ask(self.leaf)?;
                self.ask(self.call)?;
                self.ask(self.leaf)
            }
        }
    }

    /// Appends a line; returns the number of its entry.
    fn grow(&mut self, line: &str) -> Result<u32, Broken> {
        let from = self.session.bytes.len();
        self.session.bytes += line;
        self.session.bytes.push('\n');
        self.transcript.append(self.session.bytes.as_bytes().get(from..).unwrap_or_default());
        if self.transcript.counts().entries != self.session.entries as usize + 1 {
            return Err("the line was not taken in".into());
        }
        self.session.entries += 1;
        Ok(self.session.entries - 1)
    }

    fn ask(&mut self, leaf: u32) -> Result<(), Broken> {
        let known = self.transcript.known(&id(leaf), &self.session)?;
        black_box(known.of(&self.path).of(&self.path));
        Ok(())
    }
}

/// In a new process, whose heap has nothing to reuse.
fn held_elsewhere(rounds: u32) -> Result<Samples, Broken> {
    let mut samples = Samples::of(Unit::Bytes);
    for _ in 0..rounds {
        let output = Command::new(std::env::current_exe()?).arg(HELD).output()?;
        let held: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
        samples.push(1, held);
    }
    Ok(samples)
}

/// With this argument the bench only prints [`held`].
pub(crate) const HELD: &str = "--held";

/// The bytes that an entry takes.
pub(crate) fn held() -> Result<u64, Broken> {
    let mut transcript = Transcript::new(Answers::Held, None);
    let header = r#"{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/w"}"#;
    transcript.append(format!("{header}\n").as_bytes());
    let before = resident()?;
    for at in 1..=MANY {
        let (id, parent) = (id(at), id(at - 1));
        let message = r#"{"role":"user","content":"hello"}"#;
        let line = format!(r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{message}}}"#);
        transcript.append(format!("{line}\n").as_bytes());
    }
    let held = resident()?.saturating_sub(before) / u64::from(MANY);
    black_box(transcript);
    Ok(held)
}

/// The resident memory of this process, in bytes.
fn resident() -> Result<u64, Broken> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).ok_or("statm has no second number")?.parse()?;
    Ok(pages * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readproof_core::text::Form;

    #[test]
    fn every_session_can_be_opened_whole() {
        for session in [
            sessions::mixed(2_000),
            sessions::outputs(50),
            sessions::reads(210, 10, 20),
            sessions::edits(100),
            sessions::typical(1_000),
        ] {
            open(1, session).unwrap();
        }
    }

    #[test]
    fn something_is_held_at_the_end() {
        let session = sessions::reads(150, 100, 100);
        let mut transcript = Transcript::new(Answers::Held, None);
        transcript.append(session.bytes.as_bytes());
        let known = transcript.known_at(transcript.last(), &session);
        assert!(known.files().count() > 20);
    }

    #[test]
    fn a_step_asks_about_what_it_appended() {
        for step in [Step::Append, Step::Move] {
            let mut growing = Growing::new(SHORT).unwrap();
            growing.prepare(step).unwrap();
            growing.run(step).unwrap();
            let leaf = growing.transcript.last();
            let known = growing.transcript.known_at(leaf, &growing.session);
            assert!(known.of(&growing.path).holds_whole(&growing.path, Form::Disk, Answers::Held).is_some());
        }
    }
}
