//! One read through the engine in a pi session, long or short.

use std::{fs, hint::black_box};

use readproof_core::{decide::Mode, path::Bearings};
use readproof_disk::Root;
use readproof_engine::{Engine, PiConversation, Reading as Given, Settings, operation::Read};
use readproof_testkit::ask::{Ask, WAIT};
use serde_json::json;
use tempfile::TempDir;

use super::{
    LONG, SHORT,
    sessions::{self, Session, id},
};
use crate::{Broken, harness::Subject};

/// Where the leaf is when the read is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Where it was.
    Same,
    /// One entry further: that entry arrives with the read.
    Moved,
}

/// The same read in a short session and in a long one.
pub(super) struct Reads {
    short: Reading,
    long: Reading,
}

impl Reads {
    pub(super) fn new(leaf: Leaf) -> Result<Self, Broken> {
        Ok(Self { short: Reading::new(SHORT, leaf)?, long: Reading::new(LONG, leaf)? })
    }
}

impl Subject for Reads {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        self.short.prepare();
        self.long.prepare();
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        self.short.run()
    }

    fn case(&mut self) -> Result<(), Broken> {
        self.long.run()
    }
}

struct Reading {
    /// Removed on drop.
    _folder: TempDir,
    engine: Engine,
    talk: PiConversation,
    session: Session,
    request: Read,
    leaf: Leaf,
    at: String,
    line: String,
}

impl Reading {
    /// A session whose model holds a file of 10 KB, among others.
    fn new(entries: u32, leaf: Leaf) -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let engine = Engine::new(Root::open(&top)?, bearings, Settings::default(), Box::new(|| 0))?;
        let text = sessions::code(200);
        let path = top.join("file.rs").display().to_string();
        fs::write(&path, &text)?;

        let mut session = sessions::typical(entries);
        session.read_of(&path, &text);
        let mut talk = PiConversation::new(&engine);
        let header = json!({ "type": "session", "version": 3, "id": "0198c0de", "cwd": top });
        talk.push(header.to_string().as_bytes());
        session.bytes.lines().skip(1).for_each(|line| talk.push(line.as_bytes()));
        let at = id(session.entries - 1);
        let request = Read { path, ..Read::default() };
        let line = String::new();
        let mut reading = Self { _folder: folder, engine, talk, session, request, leaf, at, line };
        reading.run()?;
        Ok(reading)
    }

    fn prepare(&mut self) {
        if self.leaf == Leaf::Moved {
            let parent = self.session.entries - 1;
            let content = json!([{ "type": "text", "text": "please go on with the work" }]);
            let message = format!(r#""message":{{"role":"user","content":{content},"timestamp":1793491200000}}"#);
            self.line = self.session.line(Some(parent), "message", message);
            self.at = id(self.session.entries);
            self.session.entries += 1;
        }
    }

    fn run(&mut self) -> Result<(), Broken> {
        if !self.line.is_empty() {
            self.talk.push(self.line.as_bytes());
        }
        match self.engine.read_in_pi(&mut self.talk, Some(&self.at), self.request.clone(), WAIT)? {
            Given::Answer(answer) if answer.mode == Mode::Unchanged => {
                black_box(answer);
                Ok(())
            }
            other @ (Given::Answer(_) | Given::NotOurs(_)) => {
                Err(format!("it was answered otherwise: {other:?}").into())
            }
        }
    }
}
