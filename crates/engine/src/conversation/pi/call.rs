//! One call in a pi session. Knowledge is derived from pi's entries at a leaf, pi records the answer, and the text
//! block is byte for byte what pi would show. What pi does differently is declined early and left to pi's `read` tool.

use readproof_core::{
    decide::{Ask, Mode, Reason},
    knowledge::{Held, Knowledge},
    limits::Limits,
    meta::MetaV1,
    operation::Read,
    page::{Page, Stop},
    path::{Bearings, PathKey, candidates, meant, resolve, split_range},
    scope::{Lines, Scope, ScopeError},
    text::{ContentHash, Form, Text},
};
use readproof_disk::{FileRef, Loaded, Snapshot};
use readproof_hosts::{
    pi::{EntryRef, STYLE, is_image, total_lines},
    versions::Moment,
};
use std::path::Path;

use super::{
    super::{Conversation, ConversationStatus, FileStatus, Holding, HoldingFile, NotOurs, Proof},
    PiConversation,
    moment::newest,
};
use crate::{
    Engine, Error,
    door::{Answer, Refreshed},
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded, ResolvedTarget},
};

/// What comes with an answer in pi's form. The block is the answer's text followed by `tail`.
#[derive(Clone, Debug)]
pub struct PiGiven {
    /// The end of the block, after the text.
    pub tail: String,
    /// What pi reports as `truncation`.
    pub cut: Option<PiCut>,
    block: ContentHash,
    block_bytes: u64,
    plain_bytes: u64,
    moment: Option<Moment>,
}

/// Metadata V1 and the fields that are recorded with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiMeta {
    /// With lines as pi counts them.
    pub v1: MetaV1,
    /// The hash of the block.
    pub block: ContentHash,
    /// The size of the block.
    pub block_bytes: u64,
    /// Lines of the file by `lf-1`.
    pub total: u32,
    /// Lines shown or vouched for by `lf-1`.
    pub lines: Option<Lines>,
    /// Whether the answer shows where the file ends.
    pub end: bool,
    /// Size of the block of a plain answer.
    pub plain_bytes: u64,
    /// The newest record of the version log before the file was looked at.
    pub moment: Option<Moment>,
}

/// How pi truncated the requested lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PiCut {
    /// Truncated by bytes, else by lines.
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
    /// The limits on both.
    pub limits: Limits,
}

impl Answer<PiGiven> {
    /// The metadata that is recorded with the result; none for an answer that shows no line.
    #[must_use]
    pub fn record(&self) -> Option<PiMeta> {
        self.meta.clone().map(|v1| PiMeta {
            v1,
            block: self.given.block,
            block_bytes: self.given.block_bytes,
            total: self.total_lines,
            lines: self.lines,
            end: self.end,
            plain_bytes: self.given.plain_bytes,
            moment: self.given.moment,
        })
    }
}

/// What pi gets if a read failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiInstead {
    /// pi's `read` tool answers and reports what is wrong.
    PiRead,
    /// An empty answer: a range in the path named the empty line after the final newline, and pi's `read` tool does not
    /// understand ranges in paths.
    Nothing,
    /// Our error: pi does not understand ranges in paths, so it could not say what is wrong.
    Error,
}

/// What pi gets after an error.
#[must_use]
pub fn instead(error: &Error, read: &Read) -> PiInstead {
    // What a rule refuses must not be handed on to pi's own tool.
    if matches!(
        error,
        Error::Aborted
            | Error::Denied { .. }
            | Error::Policy(_)
            | Error::ApprovalNeeded(_)
            | Error::NotApproved { .. }
            | Error::TooManyApprovals { .. }
            | Error::Approvals(_)
    ) {
        return PiInstead::Error;
    }
    let Error::Range { source, .. } = error else { return PiInstead::PiRead };
    let by_path = (read.offset, read.limit) == (None, None);
    match source {
        // A name that only looks like one with a range.
        ScopeError::NotANumber { .. } => PiInstead::PiRead,
        ScopeError::BeyondEnd { offset, total } if *offset == u64::from(*total) && by_path => PiInstead::Nothing,
        ScopeError::Zero { .. } | ScopeError::Reversed { .. } | ScopeError::BeyondEnd { .. } if by_path => {
            PiInstead::Error
        }
        ScopeError::Zero { .. } | ScopeError::Reversed { .. } | ScopeError::BeyondEnd { .. } => PiInstead::PiRead,
    }
}

/// One call at a leaf.
pub struct PiCall<'t> {
    conversation: &'t mut PiConversation,
    place: Result<Option<EntryRef>, Reason>,
    moment: Option<Moment>,
    held: Knowledge,
}

impl<'t> PiCall<'t> {
    pub(super) fn new(conversation: &'t mut PiConversation, place: Result<Option<EntryRef>, Reason>) -> Self {
        Self { conversation, place, moment: None, held: Knowledge::default() }
    }
}

/// Why pi would not resolve a path to the same file.
fn unlike_pi(engine: &Engine, path: &str) -> Option<NotOurs> {
    if path.starts_with("file://") && path.contains(['%', '?', '#', '\\', '\t', '\n', '\r']) {
        return Some(NotOurs::EncodedUrl);
    }
    let bearings = &engine.shared.bearings;
    let raw = |path: &str| resolve(path, &bearings.cwd);
    let found = |path: &str| {
        let mut names = candidates(path, bearings);
        names.retain(|name| *name != raw(path));
        engine.root.locate(&names).is_ok()
    };
    let plain = |path: &str, bearings: &Bearings| raw(path) == meant(path, bearings);
    let bare = split_range(path).ok().flatten().map(|range| range.path);
    let same = plain(path, bearings) || found(path) || bare.is_some_and(found);
    (!same).then_some(NotOurs::OtherName)
}

/// The absolute path of the workspace with a final `/`.
fn top(engine: &Engine) -> String {
    format!("{}/", engine.root.path().to_string_lossy().trim_end_matches('/'))
}

impl Conversation for PiCall<'_> {
    type Given = PiGiven;

    /// The leaf is the place of the call; what comes before it never changes.
    fn begin(&mut self, engine: &Engine, read: &Read) -> Option<NotOurs> {
        if let Some(declined) = unlike_pi(engine, &read.path) {
            return Some(declined);
        }
        let message = self.place.ok().and_then(|place| self.conversation.known_at(place).calling());
        self.conversation.batch.continue_with(message);
        // Before the file is looked at: what is recorded from here on may be newer than what the answer shows.
        self.moment = newest(engine);
        None
    }

    fn hands_on(&self) -> bool {
        true
    }

    fn limits(&self, engine: &Engine, _read: &Read) -> Limits {
        STYLE.limits(engine.shared.settings.limits)
    }

    fn ask(&self, now: &Text, read: &Read, target: &ResolvedTarget, _limits: &Limits) -> Result<Ask, ScopeError> {
        ask_of_page(now, (target.offset, target.limit), bare(read, target))
    }

    fn page_name(&self, read: &Read, target: &ResolvedTarget) -> Option<String> {
        Some(bare(read, target).to_owned())
    }

    fn key(&self, file: &FileRef) -> PathKey {
        PathKey::new(&file.absolute())
    }

    fn declines(&mut self, engine: &Engine, file: &FileRef, read: &mut Snapshot) -> Option<NotOurs> {
        let declined = if is_image(read.text.as_str()) {
            NotOurs::Image
        } else if engine.shared.sensitive.is_sensitive_read(file, read) {
            NotOurs::Sensitive
        } else {
            return None;
        };
        // What pi shows instead is about this text, and stands among the answers to the same message.
        self.conversation.batch.answer(self.key(file), read.text.hash());
        Some(declined)
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        let mut context = CallContext::of(engine, read, file, snapshot);
        if self.conversation.distrusted {
            context.plain = context.plain.or(Some(Reason::HostAlters));
        }
        if self.conversation.batch.holds_other(&self.key(file), snapshot.text.hash()) {
            context.plain = context.plain.or(Some(Reason::NotConfirmed));
        }
        if let (None, Ok(place)) = (context.plain, self.place) {
            let asked = (&self.key(file), file, snapshot.text.hash());
            self.held = self.conversation.still_held(engine, place, asked);
        }
        context
    }

    fn held(&mut self, engine: &Engine, context: &CallContext, _path: &PathKey) -> KnowledgeAtCall {
        let knowledge = match (context.plain, self.place) {
            (Some(reason), _) | (None, Err(reason)) => Err(reason),
            (None, Ok(_)) => Ok(self.held.clone()),
        };
        KnowledgeAtCall::at(knowledge, engine.shared.settings.answers)
    }

    fn load(&self, _engine: &Engine, hash: ContentHash) -> Loaded {
        self.conversation.backing.texts.as_ref().map_or(Loaded::Missing, |texts| texts.load(hash))
    }

    fn record(&mut self, engine: &Engine, context: &mut CallContext, pending: &PendingAnswer<'_>) -> Recorded<PiGiven> {
        if context.store_text
            && let Err(error) = self.conversation.store(engine, &pending.snapshot.text)
        {
            context.not_stored(error);
        }
        self.conversation.batch.answer(self.key(&pending.target.file), pending.snapshot.text.hash());
        context.notices.append(&mut self.conversation.notices);
        let (shown, page) = (pending.shown, pending.shown.window().page());
        Recorded::Done(PiGiven {
            tail: shown.tail().to_owned(),
            block: shown.text_hash(),
            block_bytes: (shown.text().len() + shown.tail().len()) as u64,
            cut: page.filter(|_| !shown.mode().is_derived()).and_then(|page| cut(page, &pending.limits)),
            plain_bytes: page.map_or(0, |page| (page.bytes + page.tail.len()) as u64),
            moment: self.moment,
        })
    }

    fn total_lines(&self, text: &Text) -> u32 {
        u32::try_from(total_lines(text)).unwrap_or(u32::MAX)
    }

    /// The file may have been removed since it was read, so a missing file is not an error.
    fn refresh_unseen(&self, engine: &Engine, path: &str, error: Error) -> Result<Refreshed, Error> {
        if matches!(error, Error::Range { .. } | Error::EmptyPath) {
            return Err(error);
        }
        let found = !matches!(error, Error::Missing { .. });
        let name = meant(path, &engine.shared.bearings);
        let paths = if engine.root.holds(Path::new(&name)) { vec![name] } else { Vec::new() };
        Ok(Refreshed { paths, scope: Scope::Full, found, entry: None })
    }

    fn known_files(&mut self, engine: &Engine) -> Result<Vec<PathKey>, Error> {
        let top = top(engine);
        let Ok(place) = self.place else { return Ok(Vec::new()) };
        let known = self.conversation.known_at(place);
        Ok(known.files().filter_map(|(path, _)| path.as_str().strip_prefix(&top).map(PathKey::new)).collect())
    }

    /// pi itself appends one invalidation for every path.
    fn refresh(&mut self, engine: &Engine, names: Vec<PathKey>, scope: Scope) -> Result<Refreshed, Error> {
        let top = top(engine);
        let paths = names.iter().map(|key| format!("{top}{key}")).collect();
        Ok(Refreshed { paths, scope, found: true, entry: None })
    }

    fn holding(&mut self, engine: &Engine) -> Result<Holding, Error> {
        let (session, answers) = (self.conversation.file.clone(), engine.shared.settings.answers);
        let distrusted = self.conversation.distrusted.then(|| Reason::HostAlters.sentence());
        let place = self.place.unwrap_or_default();
        let known = self.conversation.known_at(place);
        let (transcript, counts) = (known.transcript(), known.transcript().counts());
        let id = |entry: EntryRef| transcript.id(entry);
        let proof = |held: &Held| {
            let why = known.why(held.at());
            let (tool, mode) = why.as_ref().map_or(("", None), |why| (why.tool, why.mode));
            Proof { entry: why.map(|why| why.entry).unwrap_or_default(), tool, mode }
        };
        let file = |(path, knowledge): (&PathKey, &Knowledge)| HoldingFile {
            path: path.to_string(),
            whole: knowledge.holds_whole(path, Form::Disk, answers).is_some(),
            spans: knowledge.of(path).iter().map(|held| (held.clone(), proof(held))).collect(),
        };
        let pending = known.pending().into_iter();
        Ok(Holding {
            host: "pi",
            session,
            folder: transcript.cwd().map(str::to_owned),
            leaf: place.map(id),
            barrier: known.barrier().map(id),
            window: known.window(),
            entries: counts.entries,
            skipped: counts.skipped,
            compactions: counts.compactions,
            files: if distrusted.is_none() { known.files().map(file).collect() } else { Vec::new() },
            pending: pending.map(|call| (call.tool, call.path.map(|path| path.to_string()))).collect(),
            distrusted,
        })
    }

    fn status(&mut self, engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        let stored = self.conversation.backing.texts.as_ref().map(|texts| texts.stored()).unwrap_or_default();
        let mut status = ConversationStatus {
            texts: Some((stored.len() as u64, stored.iter().map(|text| text.bytes).sum())),
            distrusted: self.conversation.distrusted,
            ..ConversationStatus::default()
        };
        let Ok(place) = self.place else { return Ok(Some(status)) };
        let known = self.conversation.known_at(place);
        let answers = engine.shared.settings.answers;
        status.known = true;
        status.files = known
            .files()
            .map(|(path, knowledge)| {
                let held = knowledge.of(path);
                let lines = held.iter().filter_map(|held| held.lines().map(|lines| (lines, held.at())));
                FileStatus {
                    path: path.to_string(),
                    whole: knowledge.holds_whole(path, Form::Disk, answers).is_some(),
                    spans: held.len(),
                    lines: lines.collect(),
                }
            })
            .collect();
        (status.window, status.compacted) = (known.window(), known.barrier().is_some());
        // Partial answers do not exist here.
        let modes = Mode::ALL.iter().filter(|mode| **mode != Mode::Partial);
        status.counts = modes.map(|mode| (*mode, 0)).collect();
        for read in known.reads() {
            *status.counts.entry(read.mode).or_default() += 1;
            status.saved_bytes += read.saved.unwrap_or_default();
        }
        Ok(Some(status))
    }
}

/// Which lines a page of the host shows, for a read that was cut so: `name` is what [`Conversation::page_name`] said of it.
pub(crate) fn ask_of_page(
    now: &Text,
    (offset, limit): (Option<u64>, Option<u64>),
    name: &str,
) -> Result<Ask, ScopeError> {
    Ask::paged(now, offset, limit, name, &STYLE)
}

/// The path of a read without the range that it may end in.
fn bare<'r>(read: &'r Read, target: &ResolvedTarget) -> &'r str {
    let has_range = read.offset.is_none() && target.offset.is_some();
    let bare = read.path.rsplit_once(':').filter(|_| has_range);
    bare.map_or(read.path.as_str(), |(bare, _)| bare)
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
