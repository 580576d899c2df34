//! A pi session as the conversation of reads: pi keeps the record, in its session file; the texts lie where the pi surface
//! keeps them. Entries come in once each, from the file or from whoever runs pi; nothing is recorded here.

mod call;
mod session;
mod texts;

pub use call::{PiCall, PiCut, PiGiven, PiInstead, PiMeta, instead};
pub use session::{PiFile, PiSession, PiSpan, PiView, pi_session};
pub use texts::PiSources;

use readproof_core::{
    decide::Reason,
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, Create, Loaded, Objects, Root, StoreError, Stores, TranscriptFile};
use readproof_hosts::pi::{EntryRef, Known, Pushed, Source, Transcript};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use crate::{Engine, Error, read::not_stored};
use session::MOST;
use texts::OBJECTS;

/// A pi session that reads belong to.
pub struct PiConversation {
    transcript: Transcript,
    backing: Backing,
    distrusted: bool,
    /// Texts to be stored once the answer is given, if they are not stored before.
    later: Option<Vec<Text>>,
    /// What the next answer has to say.
    notices: Vec<String>,
    batch: Batch,
    /// Where relative names start in reads, and the workspace's name through a link.
    cwd: String,
    alias: Option<(String, String)>,
}

/// The answers given to one message of the model. None of them is in sight before all are, and beside an answer about
/// another text of the same file nobody could tell which of the two "unchanged" speaks of.
#[derive(Default)]
struct Batch {
    message: Option<EntryRef>,
    answered: BTreeMap<PathKey, BTreeSet<ContentHash>>,
}

impl Batch {
    /// Goes on with the calls of this message.
    fn continue_with(&mut self, message: Option<EntryRef>) {
        if self.message != message {
            *self = Self { message, ..Self::default() };
        }
    }

    /// Whether another text of the file was answered.
    fn holds_other(&self, path: &PathKey, text: ContentHash) -> bool {
        self.answered.get(path).is_some_and(|texts| texts.iter().any(|other| *other != text))
    }

    fn answer(&mut self, path: PathKey, text: ContentHash) {
        self.answered.entry(path).or_default().insert(text);
    }
}

/// What stands behind the entries.
struct Backing {
    /// Where they come from, unless they are sent.
    file: Option<TranscriptFile>,
    /// Opened or made on first use.
    texts: Option<Arc<dyn Objects>>,
}

impl Backing {
    fn put(&mut self, stores: &dyn Stores, text: &Text) -> Result<(), StoreError> {
        let put = match self.texts.as_ref().map(|texts| texts.put(text)) {
            // Not opened yet, or removed under our hands, as by `git clean`.
            None | Some(Err(StoreError::Gone { .. })) => {
                self.texts = stores.host_objects(&OBJECTS, Create::Yes)?;
                let gone = || StoreError::Gone { name: OBJECTS.join("/") };
                self.texts.as_ref().ok_or_else(gone).and_then(|texts| texts.put(text))
            }
            Some(put) => put,
        };
        if put.is_err() {
            // Look again next time.
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
        let texts = engine.stores.host_objects(&OBJECTS, Create::No).unwrap_or_default();
        let transcript = Transcript::new(engine.settings.answers, engine.bearings.home.clone());
        let (cwd, alias) = (engine.bearings.cwd.clone(), alias(&engine.root));
        let backing = Backing { file: None, texts };
        Self {
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

    /// A session that is read from its file, as it is now; see [`Self::follow`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(engine: &Engine, file: &Path) -> Result<Self, Error> {
        let mut conversation = Self::new(engine);
        conversation.backing.file = Some(TranscriptFile::open(file, MOST)?);
        conversation.follow()?;
        Ok(conversation)
    }

    /// Takes in what was appended to the file since.
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

    /// Takes in one line of the session: the header or an entry. One that is known by its id is ignored.
    pub fn push(&mut self, line: &[u8]) {
        if self.transcript.push(line, &self.backing) == Pushed::Header {
            self.begin();
        }
    }

    /// The host was seen to drop or change results per request: from here on reads get plain text.
    pub fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// From here on texts are stored by [`Self::store_shown`], which is called once an answer is given: nobody waits for it,
    /// and a text that is not stored costs a diff.
    pub fn store_later(&mut self) {
        self.later = Some(Vec::new());
    }

    /// Stores a text. Where it may be done later, only if it is there already.
    fn store(&mut self, engine: &Engine, text: &Text) -> Result<(), StoreError> {
        if let Some(later) = &mut self.later {
            if !self.backing.texts.as_ref().is_some_and(|texts| texts.holds(text)) {
                later.push(text.clone());
            }
            return Ok(());
        }
        self.backing.put(&*engine.stores, text)
    }

    /// Stores what answers have shown. What cannot be stored is said with the next answer.
    pub fn store_shown(&mut self, engine: &Engine) {
        let Some(later) = &mut self.later else { return };
        for text in std::mem::take(later) {
            if let Err(error) = self.backing.put(&*engine.stores, &text) {
                let notice = not_stored("an earlier text", &error);
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
            }
        }
    }

    /// A call at the entry of this id; `None` is a session without an entry.
    pub fn call(&mut self, leaf: Option<&str>) -> PiCall<'_> {
        let place = self.place(leaf);
        PiCall::new(self, place)
    }

    /// The last entry, by its id.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.transcript.last().map(|last| self.transcript.id(last))
    }

    /// A header was taken in. Our own reads are recorded under names that go through no link.
    fn begin(&mut self) {
        if let Some((from, to)) = &self.alias {
            self.transcript.rename(from, to);
        }
    }

    /// The entry of a leaf; `None` is a session without an entry. Of one that was never sent it cannot be told what holds
    /// there, nor of one where relative names lead elsewhere than in reads.
    fn place(&self, leaf: Option<&str>) -> Result<Option<EntryRef>, Reason> {
        if self.transcript.cwd() != Some(&self.cwd) {
            return Err(Reason::NoTranscript);
        }
        leaf.map(|id| self.transcript.find(id).ok_or(Reason::NoTranscript)).transpose()
    }

    /// What holds at an entry.
    fn known_at(&mut self, place: Option<EntryRef>) -> Known<'_> {
        self.transcript.known_at(place, &self.backing)
    }
}

/// The workspace's name through a link, if it was given so, and its own.
fn alias(root: &Root) -> Option<(String, String)> {
    root.alias().map(|(from, to)| (from.to_owned(), to.to_owned()))
}
