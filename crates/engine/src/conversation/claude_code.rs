//! A session of Claude Code as a conversation. Its own `Read` reads the file and shows it; a hook asks whether the model holds
//! that text, and shows a marker instead if it does. What is held follows from the host's transcripts, which also have all texts:
//! nothing is recorded or stored here.

mod call;
mod look;

pub use call::{HostRead, HostReadCall};
pub use look::LookedAt;
pub(crate) use look::text_for_host;

use readproof_core::decide::Reason;
use readproof_disk::{Appended, TranscriptFile};
use readproof_hosts::claude_code::{Distrust, Source, Transcript};
use std::{
    borrow::Cow,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{alias, batch::Batch};
use crate::{Engine, Error};

/// The largest transcript that is read.
const MOST: u64 = 1 << 30;

/// The most transcripts that are followed at once: sessions and their agents.
const FOLLOWED: usize = 16;

/// The sessions of one Claude Code process, each followed from its file.
#[derive(Default)]
pub struct HostSessions {
    files: BTreeMap<PathBuf, Followed>,
    /// The folder in which they ran, if it was another one, which this workspace stands for.
    ran_in: Option<PathBuf>,
}

/// One transcript.
struct Followed {
    file: Lines,
    transcript: Transcript,
    batch: Batch<String>,
}

/// A transcript file, which is read again where a line is needed.
struct Lines(TranscriptFile);

impl Source for Lines {
    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        self.0.again(at, len).map(Cow::Owned)
    }
}

impl HostSessions {
    /// Sessions that ran in another folder, which this workspace stands for.
    #[must_use]
    pub fn of_folder(ran_in: &Path) -> Self {
        Self { ran_in: Some(ran_in.to_path_buf()), ..Self::default() }
    }

    /// Takes in what was appended to a transcript. Says whether the record of this call is complete, so that there is nothing to
    /// wait for.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn follow(&mut self, engine: &Engine, file: &Path, call: &str) -> Result<bool, Error> {
        if !self.files.contains_key(file) {
            let opened = Followed::open(engine, file, self.ran_in.as_deref())?;
            if self.files.len() >= FOLLOWED {
                self.files.clear();
            }
            self.files.insert(file.to_path_buf(), opened);
        }
        let Some(followed) = self.files.get_mut(file) else { return Ok(false) };
        if let Err(error) = followed.follow() {
            // What is not known to go on counts for nothing.
            self.files.remove(file);
            return Err(error);
        }
        let Followed { file, transcript, .. } = followed;
        let known = transcript.known_at_call(call, file);
        Ok(!matches!(known.err(), Some(Distrust::NoCall | Distrust::NotRecorded)))
    }

    /// A read that the host made; to be followed first.
    pub fn call<'t>(&'t mut self, file: &Path, read: HostRead) -> HostReadCall<'t> {
        HostReadCall::new(self.files.get_mut(file), read)
    }
}

impl Followed {
    fn open(engine: &Engine, file: &Path, ran_in: Option<&Path>) -> Result<Self, Error> {
        let mut transcript = Transcript::new(engine.shared.settings.answers);
        if let Some(there) = ran_in {
            transcript.rename(&there.display().to_string(), &engine.root.path().display().to_string());
        } else if let Some((from, to)) = alias(&engine.root) {
            transcript.rename(&from, &to);
        }
        Ok(Self { file: Lines(TranscriptFile::open(file, MOST)?), transcript, batch: Batch::default() })
    }

    fn follow(&mut self) -> Result<(), Error> {
        loop {
            match self.file.0.appended()? {
                Appended::Nothing => return Ok(()),
                Appended::More(lines) => self.transcript.append(&lines),
                Appended::Anew(lines) => {
                    self.transcript = self.transcript.anew();
                    self.transcript.append(&lines);
                }
            }
        }
    }
}

/// The reason for plain text.
fn reason(distrust: Distrust) -> Reason {
    match distrust {
        Distrust::NoCall | Distrust::NotRecorded | Distrust::NotVerified => Reason::NotRecorded,
        Distrust::Edited | Distrust::Altered => Reason::HostAlters,
    }
}
