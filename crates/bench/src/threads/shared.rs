//! The engine as several threads use it at once: the only file of these cases that calls it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use readproof_core::{decide::Mode, path::Bearings};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    Engine, Receipt, Searched, Settings, SmallTexts,
    operation::{Operation, Read, Search, SearchMode},
};
use readproof_testkit::ask::Ask;
use tempfile::TempDir;

use crate::{
    Broken,
    cases::{SMALL, now, text},
};

/// A word that no file contains: the search goes through the whole tree.
const ABSENT: &str = "nothing_is_called_this";

/// A workspace, its one engine, and conversations that each hold a file of their own.
pub(super) struct Shared {
    engine: Engine,
    conversations: Vec<Conversation>,
    folder: TempDir,
}

struct Conversation {
    session: SessionName,
    request: Read,
    file: PathBuf,
}

impl Shared {
    /// Every conversation has read its file once.
    pub(super) fn new(conversations: usize) -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        let settings = Settings { small_texts: SmallTexts::Together, ..Settings::default() };
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let engine = Engine::new(Root::open(&top)?, bearings, settings, Box::new(now))?;
        let mut shared = Self { engine, conversations: Vec::new(), folder };
        for number in 0..conversations {
            let session = SessionName::parse(&format!("bench-{number}"))?;
            let request = Read { path: format!("file-{number}.rs"), ..Read::default() };
            let file = top.join(&request.path);
            fs::write(&file, text(SMALL, None))?;
            shared.conversations.push(Conversation { session, request, file });
            shared.confirm(&shared.answer(number, Mode::Full)?)?;
        }
        Ok(shared)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file that this conversation holds.
    pub(super) fn file(&self, conversation: usize) -> &Path {
        &self.conversations[conversation].file
    }

    /// Reads the file again, and confirms the answer as delivered.
    pub(super) fn read(&self, conversation: usize) -> Result<(), String> {
        self.confirm(&self.unchanged(conversation)?)
    }

    /// Reads the file again.
    pub(super) fn unchanged(&self, conversation: usize) -> Result<Receipt, String> {
        self.answer(conversation, Mode::Unchanged)
    }

    /// Confirms an answer as delivered.
    pub(super) fn confirm(&self, receipt: &Receipt) -> Result<(), String> {
        self.engine.delivered(receipt).map(drop).map_err(|error| error.to_string())
    }

    /// Searches the whole workspace, unless it is stopped.
    pub(super) fn search(&self, stopped: &dyn Fn() -> bool) -> Result<(), String> {
        let query = Search { query: ABSENT.to_owned(), mode: SearchMode::Text, ..Search::default() };
        match self.engine.ask_while::<Searched>(None, Operation::Search(query), stopped) {
            Ok(found) if found.hits.is_empty() => Ok(()),
            Ok(found) => Err(format!("{} hits for a word that is nowhere", found.hits.len())),
            Err(_) if stopped() => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn answer(&self, conversation: usize, expected: Mode) -> Result<Receipt, String> {
        let Conversation { session, request, .. } = &self.conversations[conversation];
        let answer = self.engine.read(Some(session), request.clone()).map_err(|error| error.to_string())?;
        if answer.mode != expected {
            return Err(format!("{:?} was answered, not {expected:?}: {:?}", answer.mode, answer.reason));
        }
        answer.given.ok_or_else(|| "nothing was recorded".to_owned())
    }
}
