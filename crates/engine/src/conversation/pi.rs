//! A pi session as a conversation. pi keeps the record in its session file, and the texts are in the folder of the pi
//! extension. Each entry comes in once, from the file or from the process that runs pi. Nothing is recorded here.

mod call;
mod moment;
mod texts;

pub(crate) use call::ask_of_page;
pub use call::{PiCall, PiCut, PiGiven, PiInstead, PiMeta, instead};
pub use texts::PiSources;

use readproof_core::{
    decide::Reason,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, Create, Loaded, Objects, StoreError, Stores, TranscriptFile};
use readproof_hosts::pi::{EntryRef, Known, Pushed, Source, Transcript};
use std::{borrow::Cow, path::Path, sync::Arc};

use super::{alias, batch::Batch};
use crate::{Engine, Error, Notice, ShownText};
use texts::OBJECTS;

/// The largest session file that is read.
const MOST: u64 = 1 << 30;

/// A pi session.
pub struct PiConversation {
    /// The name of its file; empty if entries are sent.
    file: String,
    transcript: Transcript,
    backing: Backing,
    distrusted: bool,
    /// Texts to store after the answer, if storing is deferred; see [`PiConversation::store_later`].
    later: Option<Vec<Text>>,
    /// What the next answer has to say.
    notices: Vec<Notice>,
    batch: Batch<EntryRef>,
    /// Where relative paths of reads start, and the workspace's path through a symbolic link.
    cwd: String,
    alias: Option<(String, String)>,
}

/// Where the session's entries and texts are stored.
struct Backing {
    /// The session file, unless entries are sent.
    file: Option<TranscriptFile>,
    /// Opened or created on first use.
    texts: Option<Arc<dyn Objects>>,
}

impl Backing {
    fn put(&mut self, stores: &dyn Stores, text: &Text) -> Result<(), StoreError> {
        let put = match self.texts.as_ref().map(|texts| texts.put(text)) {
            // Not opened yet, or removed meanwhile, for example by `git clean`.
            None | Some(Err(StoreError::Gone { .. })) => {
                self.texts = stores.host_objects(&OBJECTS, Create::Yes)?;
                let gone = || StoreError::Gone { name: OBJECTS.join("/") };
                self.texts.as_ref().ok_or_else(gone).and_then(|texts| texts.put(text))
            }
            Some(put) => put,
        };
        if put.is_err() {
            // Open it again next time.
            self.texts = None;
        }
        put.map(drop)
    }
}

impl Source for Backing {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        match self.texts.as_ref()?.load(hash) {
            Loaded::Text(text) => Some(text),
            Loaded::Missing | Loaded::Damaged => None,
        }
    }

    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        self.file.as_ref()?.again(at, len).map(Cow::Owned)
    }
}

impl PiConversation {
    /// A session whose header and entries are sent, with [`Self::push`].
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        let texts = engine.shared.stores.host_objects(&OBJECTS, Create::No).unwrap_or_default();
        let transcript = Transcript::new(engine.shared.settings.answers, engine.shared.bearings.home.clone());
        let (cwd, alias) = (engine.shared.bearings.cwd.clone(), alias(&engine.root));
        let backing = Backing { file: None, texts };
        Self {
            file: String::new(),
            transcript,
            backing,
            distrusted: false,
            later: None,
            notices: Vec::new(),
            batch: Batch::default(),
            cwd,
            alias,
        }
    }

    /// A session that is read from its file; see [`Self::follow`] for what is appended later.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(engine: &Engine, file: &Path) -> Result<Self, Error> {
        let mut conversation = Self::new(engine);
        conversation.backing.file = Some(TranscriptFile::open(file, MOST)?);
        conversation.file = file.display().to_string();
        conversation.follow()?;
        Ok(conversation)
    }

    /// The same, to look at it: it may be a copy of a session that ran elsewhere, whose folder then stands for this workspace.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open_copy(engine: &Engine, file: &Path) -> Result<Self, Error> {
        let mut conversation = Self::open(engine, file)?;
        if let Some(ran_in) = conversation.transcript.cwd().map(str::to_owned) {
            let (here, there) = (engine.root.path(), Path::new(&ran_in));
            let is_alias = conversation.alias.as_ref().is_some_and(|(from, _)| there.starts_with(from));
            if !is_alias && !there.starts_with(here) && !here.starts_with(there) {
                conversation.transcript.rename(&ran_in, &here.display().to_string());
            }
            conversation.cwd = ran_in;
        }
        Ok(conversation)
    }

    /// A call at this entry, or at the last one.
    ///
    /// # Errors
    /// [`Error::NoHostEntry`] when the session has no such entry.
    pub fn call_at(&mut self, leaf: Option<&str>) -> Result<PiCall<'_>, Error> {
        let leaf = leaf.map(str::to_owned).or_else(|| self.last());
        let is_known = leaf.as_ref().is_none_or(|leaf| self.transcript.find(leaf).is_some());
        match leaf {
            Some(entry) if !is_known => Err(Error::NoHostEntry { file: self.file.clone().into(), entry }),
            leaf => Ok(self.call(leaf.as_deref())),
        }
    }

    /// Reads what was appended to the file since.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn follow(&mut self) -> Result<(), Error> {
        let Some(file) = &mut self.backing.file else { return Ok(()) };
        loop {
            match file.appended()? {
                Appended::Nothing => break,
                Appended::More(lines) => self.transcript.append(&lines),
                Appended::Anew(lines) => {
                    self.transcript = self.transcript.anew();
                    self.transcript.append(&lines);
                }
            }
        }
        self.begin();
        Ok(())
    }

    /// Adds one line of the session: the header or an entry. An entry whose id is known is ignored.
    pub fn push(&mut self, line: &[u8]) {
        if self.transcript.push(line, &self.backing) == Pushed::Header {
            self.begin();
        }
    }

    /// The host was seen to drop or change results in its requests. From now on reads get only plain text.
    pub fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// Defers storing texts to [`Self::store_shown`], which the caller calls after it has sent an answer. So no answer
    /// waits for the disk; a text that is never stored only costs a diff later.
    pub fn store_later(&mut self) {
        self.later = Some(Vec::new());
    }

    /// Stores a text, or queues it if storing is deferred.
    fn store(&mut self, engine: &Engine, text: &Text) -> Result<(), StoreError> {
        if let Some(later) = &mut self.later {
            if !self.backing.texts.as_ref().is_some_and(|texts| texts.holds(text)) {
                later.push(text.clone());
            }
            return Ok(());
        }
        self.backing.put(&*engine.shared.stores, text)
    }

    /// Stores what answers have shown. A failure becomes a notice of the next answer.
    pub fn store_shown(&mut self, engine: &Engine) {
        let Some(later) = &mut self.later else { return };
        for text in std::mem::take(later) {
            if let Err(error) = self.backing.put(&*engine.shared.stores, &text) {
                let notice = Notice::NotStored { text: ShownText::Earlier, why: Arc::new(error) };
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
            }
        }
    }

    /// A call at this entry; `None` if the session has no entries.
    pub fn call(&mut self, leaf: Option<&str>) -> PiCall<'_> {
        let place = self.place(leaf);
        PiCall::new(self, place)
    }

    /// The id of the last entry.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.transcript.last().map(|last| self.transcript.id(last))
    }

    /// Called after a header. Our reads are recorded under paths without links, so the transcript must use the same.
    fn begin(&mut self) {
        if let Some((from, to)) = &self.alias {
            self.transcript.rename(from, to);
        }
    }

    /// The entry of a leaf; `None` if the session has no entries. Nothing is known at an entry that was never sent, or
    /// if relative paths in the session start elsewhere than in reads.
    fn place(&self, leaf: Option<&str>) -> Result<Option<EntryRef>, Reason> {
        if self.transcript.cwd() != Some(&self.cwd) {
            return Err(Reason::NoTranscript);
        }
        leaf.map(|id| self.transcript.find(id).ok_or(Reason::NoTranscript)).transpose()
    }

    /// What the model holds at an entry.
    fn known_at(&mut self, place: Option<EntryRef>) -> Known<'_> {
        self.transcript.known_at(place, &self.backing)
    }
}
