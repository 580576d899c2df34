//! A pi session as the conversation of reads: pi keeps the record, in its session file; the texts lie where the pi surface
//! keeps them. Entries come in once each, from the file or from whoever runs pi; nothing is recorded here.

mod session;

pub(crate) use session::{OBJECTS, needs};
pub use session::{PiFile, PiFound, PiSession, PiSources, PiSpan, PiView, pi_session};

use readproof_core::{
    decide::Reason,
    path::PathKey,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, FileRef, Loaded, Snapshot, StoredTexts, TranscriptFile};
use readproof_hosts::pi::{EntryRef, Source, Transcript};
use std::{borrow::Cow, path::Path};

use crate::{
    Answer, Cancelled, Engine, Error, Read,
    read::{Context, Held, Offer, Recorded, Talk},
};
use session::MOST;

/// A pi session that reads belong to.
pub struct PiTalk {
    transcript: Transcript,
    behind: Behind,
    distrusted: bool,
}

/// What stands behind the entries.
struct Behind {
    /// Where they come from, unless they are sent.
    file: Option<TranscriptFile>,
    /// Opened or made on first use.
    texts: Option<StoredTexts>,
}

impl Source for Behind {
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

impl PiTalk {
    /// A session whose header and entries are sent, with [`Self::push`].
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        let texts = StoredTexts::open(&engine.root, &OBJECTS);
        let transcript = Transcript::new(engine.settings.answers, engine.bearings.home.clone());
        Self { transcript, behind: Behind { file: None, texts }, distrusted: false }
    }

    /// A session that is read from its file, as it is now; see [`Self::follow`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn open(engine: &Engine, file: &Path) -> Result<Self, Error> {
        let mut talk = Self::new(engine);
        talk.behind.file = Some(TranscriptFile::open(file, MOST)?);
        talk.follow()?;
        Ok(talk)
    }

    /// Takes in what was appended to the file since.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn follow(&mut self) -> Result<(), Error> {
        let Some(file) = &mut self.behind.file else { return Ok(()) };
        loop {
            match file.appended()? {
                Appended::Nothing => return Ok(()),
                Appended::More(lines) => self.transcript.append(&lines),
                Appended::Anew(lines) => {
                    self.transcript = self.transcript.anew();
                    self.transcript.append(&lines);
                }
            }
        }
    }

    /// Takes in one line of the session: the header or an entry. One that is known by its id is ignored.
    pub fn push(&mut self, line: &[u8]) {
        self.transcript.push(line, &self.behind);
    }

    /// The host was seen to drop or change results per request: from here on reads get plain text.
    pub fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// The last entry, by its id.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.transcript.last().map(|last| self.transcript.id(last))
    }
}

impl Engine {
    /// Answers one read of a pi session whose leaf is the entry of this id; `None` is a session without an entry. pi
    /// records the answer; it counts once it stands in a branch.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn read_in_pi(
        &mut self,
        talk: &mut PiTalk,
        leaf: Option<&str>,
        request: &Read,
        cancelled: Cancelled<'_>,
    ) -> Result<Answer, Error> {
        let place = match leaf {
            // An entry that was never sent: what holds there cannot be told.
            Some(id) => talk.transcript.find(id).map(Some).ok_or(Reason::NoTranscript),
            None => Ok(None),
        };
        self.read_in(&mut AtLeaf { talk, place }, request, cancelled)
    }
}

/// A place in the session, for the length of one read.
struct AtLeaf<'t> {
    talk: &'t mut PiTalk,
    place: Result<Option<EntryRef>, Reason>,
}

impl Talk for AtLeaf<'_> {
    /// The leaf says it, and what stands before it never changes.
    fn begin(&mut self, _engine: &mut Engine, _request: &Read) {}

    fn key(&self, file: &FileRef) -> PathKey {
        PathKey::new(&file.absolute())
    }

    fn context(&mut self, engine: &mut Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Context {
        let mut context = Context::of(engine, request, file, read);
        if self.talk.distrusted {
            context.plain = context.plain.or(Some(Reason::HostAlters));
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &Context, path: &PathKey) -> Held {
        let knowledge = match (context.plain, self.place) {
            (Some(reason), _) | (None, Err(reason)) => Err(reason),
            (None, Ok(leaf)) => Ok(self.talk.transcript.known_at(leaf, &self.talk.behind).of(path).clone()),
        };
        Held::at(knowledge, engine.settings.answers)
    }

    fn load(&self, _engine: &Engine, hash: ContentHash) -> Loaded {
        self.talk.behind.texts.as_ref().map_or(Loaded::Missing, |texts| texts.load(hash))
    }

    fn record(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Recorded {
        if context.store_text {
            let made = match self.talk.behind.texts.take() {
                Some(texts) => Ok(texts),
                None => StoredTexts::make(&engine.root, &OBJECTS),
            };
            let put = made.and_then(|texts| self.talk.behind.texts.insert(texts).put(&offer.snapshot.text));
            if let Err(error) = put {
                // It may have been removed: look again next time.
                self.talk.behind.texts = None;
                context.not_stored(&error);
            }
        }
        Recorded::Done { receipt: None }
    }
}
