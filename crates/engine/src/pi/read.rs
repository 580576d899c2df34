//! A read as pi's own `read` tool answers it, or pi's own tool itself where ours has no business.

use readproof_core::{
    decide::{Ask, Reason},
    limits::Limits,
    meta::MetaV1,
    page::{Page, Stop},
    path::{Bearings, PathKey, candidates, meant, resolve, split_range},
    scope::{Lines, ScopeError},
    text::{ContentHash, Text},
};
use readproof_disk::{FileRef, Loaded, Snapshot};
use readproof_hosts::pi::{EntryRef, STYLE, is_image};

use super::PiTalk;
use crate::{
    Answer, Cancelled, Engine, Error, Read,
    read::{Context, Held, Offer, Placed, Recorded, Talk},
};

/// What becomes of a read of pi's model.
#[derive(Debug)]
pub enum PiRead {
    /// This is the answer.
    Answer(Box<PiAnswer>),
    /// The empty line behind a final newline was asked for by a range in the path, which pi's own `read` would not
    /// understand: no text, and nothing is known of it.
    End,
    /// pi's own `read` answers, and nothing is known of it; why.
    Own(String),
}

/// An answer in pi's form.
#[derive(Debug)]
pub struct PiAnswer {
    /// The answer. Its text is the block but for the tail; its lines are counted by `lf-1`.
    pub answer: Answer,
    /// What stands behind the text in the same block.
    pub tail: String,
    /// What the result records of itself; none for an answer that shows no line.
    pub meta: Option<PiMeta>,
    /// What pi calls the truncation.
    pub cut: Option<PiCut>,
}

/// Metadata V1 and what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiMeta {
    /// As pi counts.
    pub v1: MetaV1,
    /// The hash of the block.
    pub block: ContentHash,
    /// Its bytes.
    pub block_bytes: u64,
    /// Lines of the file by `lf-1`.
    pub total: u32,
    /// Lines shown or vouched for by `lf-1`.
    pub lines: Option<Lines>,
    /// Whether the end of the file is shown.
    pub end: bool,
    /// Bytes of the block that a plain answer has.
    pub plain_bytes: u64,
}

/// How pi cut what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiCut {
    /// Whether by bytes, else by lines.
    pub by_bytes: bool,
    /// Whether not even the first line fits.
    pub long_line: bool,
    /// Lines asked for.
    pub lines: u32,
    /// Bytes asked for.
    pub bytes: usize,
    /// Lines shown.
    pub shown_lines: u32,
    /// Bytes shown.
    pub shown_bytes: usize,
    /// The most of both.
    pub limits: Limits,
}

impl Engine {
    /// Answers one read of a pi session whose leaf is the entry of this id; `None` is a session without an entry. pi
    /// records the answer; it counts once it stands in a branch.
    ///
    /// # Errors
    /// A range at the end of the path that means nothing, and a call that was aborted. Whatever else fails, pi's own `read`
    /// may say.
    pub fn read_in_pi(
        &mut self,
        talk: &mut PiTalk,
        leaf: Option<&str>,
        request: &Read,
        cancelled: Cancelled<'_>,
    ) -> Result<PiRead, Error> {
        if let Some(why) = self.unlike_pi(&request.path) {
            return Ok(PiRead::Own(why.to_owned()));
        }
        let place = talk.place(leaf);
        let message = place.ok().and_then(|place| talk.known_at(place).calling());
        talk.batch.go_on(message);
        let mut at = AtLeaf { talk, place, own: None, given: None };
        match self.read_in(&mut at, request, cancelled) {
            Ok(mut answer) => match (at.own, at.given) {
                (None, Some(given)) => {
                    answer.notices.append(&mut at.talk.notices);
                    Ok(PiRead::Answer(Box::new(given.with(answer))))
                }
                (Some(why), _) => Ok(PiRead::Own(why.to_owned())),
                (None, None) => Ok(PiRead::Own("the answer was not recorded".to_owned())),
            },
            Err(error @ Error::Aborted) => Err(error),
            // A name that only looks like one with a range.
            Err(error @ Error::Range { source: ScopeError::NotANumber { .. }, .. }) => {
                Ok(PiRead::Own(error.to_string()))
            }
            Err(Error::Range { source: ScopeError::BeyondEnd { offset, total }, .. })
                if offset == u64::from(total) && (request.offset, request.limit) == (None, None) =>
            {
                Ok(PiRead::End)
            }
            // pi knows no ranges in paths, so it could not say what is wrong.
            Err(error @ Error::Range { .. }) if (request.offset, request.limit) == (None, None) => Err(error),
            Err(error) => Ok(PiRead::Own(error.to_string())),
        }
    }

    /// Why pi would not find the same file by a path.
    fn unlike_pi(&self, path: &str) -> Option<&'static str> {
        if path.starts_with("file://") && path.contains(['%', '?', '#', '\\', '\t', '\n', '\r']) {
            return Some("a URL that needs decoding");
        }
        let raw = |path: &str| resolve(path, &self.bearings.cwd);
        let found = |path: &str| {
            let mut names = candidates(path, &self.bearings);
            names.retain(|name| *name != raw(path));
            self.root.locate(&names).is_ok()
        };
        let plain = |path: &str, bearings: &Bearings| raw(path) == meant(path, bearings);
        let bare = split_range(path).ok().flatten().map(|range| range.path);
        let same = plain(path, &self.bearings) || found(path) || bare.is_some_and(found);
        (!same).then_some("pi does not look for a file of that very name")
    }
}

/// A place in the session, for the length of one read.
struct AtLeaf<'t> {
    talk: &'t mut PiTalk,
    place: Result<Option<EntryRef>, Reason>,
    /// Why pi's own tool answers after all.
    own: Option<&'static str>,
    given: Option<Given>,
}

/// What was given, beside the text.
struct Given {
    tail: String,
    block: ContentHash,
    block_bytes: u64,
    cut: Option<PiCut>,
    plain_bytes: u64,
}

impl Given {
    fn with(self, answer: Answer) -> PiAnswer {
        let meta = answer.meta.clone().map(|v1| PiMeta {
            v1,
            block: self.block,
            block_bytes: self.block_bytes,
            total: answer.total_lines,
            lines: answer.lines,
            end: answer.end,
            plain_bytes: self.plain_bytes,
        });
        PiAnswer { answer, tail: self.tail, meta, cut: self.cut }
    }
}

impl Talk for AtLeaf<'_> {
    /// The leaf says it, and what stands before it never changes.
    fn begin(&mut self, _engine: &mut Engine, _request: &Read) {}

    fn limits(&self, engine: &Engine, _request: &Read) -> Limits {
        STYLE.limits(engine.settings.limits)
    }

    fn ask(&self, now: &Text, request: &Read, placed: &Placed, _limits: &Limits) -> Result<Ask, ScopeError> {
        let has_range = request.offset.is_none() && placed.offset.is_some();
        let bare = request.path.rsplit_once(':').filter(|_| has_range);
        let path = bare.map_or(request.path.as_str(), |(bare, _)| bare);
        Ask::paged(now, placed.offset, placed.limit, path, &STYLE)
    }

    fn key(&self, file: &FileRef) -> PathKey {
        PathKey::new(&file.absolute())
    }

    fn context(&mut self, engine: &mut Engine, request: &Read, file: &FileRef, read: &Snapshot) -> Context {
        let mut context = Context::of(engine, request, file, read);
        if self.talk.distrusted {
            context.plain = context.plain.or(Some(Reason::HostAlters));
        }
        if self.talk.batch.holds_other(&self.key(file), read.text.hash()) {
            context.plain = context.plain.or(Some(Reason::NotConfirmed));
        }
        if is_image(read.text.as_str()) {
            self.own = Some("an image");
        } else if context.plain == Some(Reason::Sensitive) {
            self.own = Some(Reason::Sensitive.sentence());
        }
        context.store_text &= self.own.is_none();
        context
    }

    fn held(&mut self, engine: &Engine, context: &Context, path: &PathKey) -> Held {
        let knowledge = match (context.plain, self.place) {
            (Some(reason), _) | (None, Err(reason)) => Err(reason),
            (None, Ok(leaf)) => Ok(self.talk.known_at(leaf).of(path).clone()),
        };
        Held::at(knowledge, engine.settings.answers)
    }

    fn load(&self, _engine: &Engine, hash: ContentHash) -> Loaded {
        self.talk.behind.texts.as_ref().map_or(Loaded::Missing, |texts| texts.load(hash))
    }

    fn record(&mut self, engine: &mut Engine, context: &mut Context, offer: &Offer<'_>) -> Recorded {
        if context.store_text
            && let Err(error) = self.talk.store(engine, &offer.snapshot.text)
        {
            context.not_stored(&error);
        }
        self.talk.batch.answer(self.key(&offer.placed.file), offer.snapshot.text.hash());
        let (shown, page) = (offer.shown, offer.shown.window().page());
        self.given = Some(Given {
            tail: shown.tail().to_owned(),
            block: shown.text_hash(),
            block_bytes: (shown.text().len() + shown.tail().len()) as u64,
            cut: page.filter(|_| !shown.mode().is_derived()).and_then(|page| cut(page, &offer.limits)),
            plain_bytes: page.map_or(0, |page| (page.bytes + page.tail.len()) as u64),
        });
        Recorded::Done { receipt: None }
    }
}

fn cut(page: &Page, limits: &Limits) -> Option<PiCut> {
    let (by_bytes, long_line, selected) = match page.stop {
        Stop::End | Stop::Asked => return None,
        Stop::Cut { by_bytes, selected } => (by_bytes, false, selected),
        Stop::LongLine { selected, .. } => (true, true, selected),
    };
    Some(PiCut {
        by_bytes,
        long_line,
        lines: selected.lines,
        bytes: selected.bytes,
        shown_lines: page.lines.map_or(0, Lines::count),
        shown_bytes: page.bytes,
        limits: *limits,
    })
}
