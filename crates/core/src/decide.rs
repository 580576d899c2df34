//! Decides how a request is answered, from what the model holds and what the file is now. Pure, and cannot fail: where
//! something is uncertain the answer is plain text, as a decision with a reason.

use alloc::vec::Vec;

use crate::{
    diff::{Unified, apply, unified},
    knowledge::{Gone, Knowledge, Piece},
    limits::{Answers, Limits, Markers},
    page::{Page, PageStyle},
    path::PathKey,
    render::{self, Window, diff_prefix, marker},
    scope::{Scope, ScopeError},
    text::{ContentHash, Form, Text},
};

/// How a request is answered; the reason is a [`Reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Plain text, because there was no base.
    Full,
    /// The whole file is as the model holds it.
    Unchanged,
    /// These lines are as the model holds them.
    UnchangedRange,
    /// A diff of the whole file.
    Diff,
    /// Those of these lines that the model does not hold.
    Partial,
    /// Plain text, although there was a base.
    BaselineFallback,
}

impl Mode {
    /// Every mode, in the order reports list them.
    pub const ALL: [Self; 6] =
        [Self::Full, Self::Unchanged, Self::UnchangedRange, Self::Diff, Self::Partial, Self::BaselineFallback];

    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Unchanged => "unchanged",
            Self::UnchangedRange => "unchanged_range",
            Self::Diff => "diff",
            Self::Partial => "partial",
            Self::BaselineFallback => "baseline_fallback",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// Whether the answer relies on text shown earlier.
    #[must_use]
    pub fn is_derived(self) -> bool {
        match self {
            Self::Unchanged | Self::UnchangedRange | Self::Diff | Self::Partial => true,
            Self::Full | Self::BaselineFallback => false,
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $says:literal;)*) => {
        /// Why a request was answered as it was.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            /// The word used on every wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The reason as a sentence for a person, without a capital letter or full stop.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$name => $says,)* }
            }

            /// Reads [`Self::as_str`]; anything else is `None`.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    /// No transcript was given.
    NoTranscript = "no_transcript", "no session: nothing proves what the model holds";
    /// The caller did not say what the model still sees.
    NoHandle = "no_handle", "no handle was given: nothing says what the model still sees";
    /// The caller's handle cannot be relied on.
    UnknownHandle = "unknown_handle", "the handle is not valid for this file in this context window, or something newer was shown since";
    /// Not all of these lines were shown.
    NotHeld = "not_held", "not all of these lines were shown on this branch since the last compaction";
    /// All of these lines were shown, but from different versions of the file.
    SeveralTexts = "several_texts", "these lines were shown from several versions of the file, and together they are not the present text";
    /// These lines were shown, but not in a way that `answers = "seed"` counts.
    NotThatRange = "not_that_range", "these lines were shown, but not as exactly this range, and answers = \"seed\" counts only that";
    /// These lines were shown, and fresh text was asked for since.
    Refreshed = "refreshed", "fresh text of these lines was asked for after they were shown";
    /// These lines were shown, and the file was seen to have changed there since.
    ChangedSince = "changed_since", "the file was seen to have changed since these lines were shown";
    /// These lines were shown, and an edit by the agent since cannot be followed.
    UntrackedEdit = "untracked_edit", "the agent's edit touched or moved these lines, and what they are now does not follow from what the model can see";
    /// These lines were shown, and something was shown since of which it is not known where in the file it belongs.
    Unplaced = "unplaced", "something was shown of the file after these lines, and it is not known which lines it was";
    /// Plain text was asked for.
    Fresh = "fresh", "plain text was asked for";
    /// The file is in another encoding.
    OtherEncoding = "other_encoding", "the file is not UTF-8: what is sent is decoded, and nothing of it counts as held";
    /// The file may hold a secret.
    Sensitive = "sensitive", "the file is on the list of sensitive names: always plain, never stored";
    /// The answer goes to a program, not to the model.
    ForProgram = "for_program", "the answer goes to a program, not to the model";
    /// The store cannot be used.
    NoStore = "no_store", "the store cannot be used, so nothing is known";
    /// The session's log cannot be used.
    NoLog = "no_log", "the session's log cannot be used, so nothing is known";
    /// An earlier answer about this file, or a write to it, was not confirmed.
    NotConfirmed = "not_confirmed", "it is not known whether an earlier answer about this file reached the model";
    /// The host was seen to change what the model sees.
    HostAlters = "host_alters", "the host was seen to drop or change results, so nothing counts as held";
    /// The host's record of what it sent is missing or does not verify.
    NotRecorded = "not_recorded", "the host's record of what it sent is missing or does not verify, so nothing proves what the model sees";
    /// Every attempt to answer met a branch that had moved meanwhile.
    BranchMoved = "branch_moved", "the branch kept moving while this was answered";
    /// The first line asked for is too long for one answer.
    LineTooLong = "line_too_long", "the line does not fit into one answer, so only a part was shown";
    /// The whole text is the one held.
    SameText = "same_text", "the file is the text the model holds";
    /// The lines are the ones held, though the file changed.
    SameLines = "same_lines", "the file changed, but not in these lines";
    /// The marker is not shorter than the text.
    MarkerNotShorter = "marker_not_shorter", "a marker would not be shorter than the text";
    /// The lines changed.
    LinesChanged = "lines_changed", "these lines changed since they were shown";
    /// The file changed, and not all of the old text is held.
    BaseNotWhole = "base_not_whole", "the file changed, and not all of the old text was shown";
    /// The base is missing from the store, or damaged there.
    BaseMissing = "base_missing", "the text the model holds is no longer in the store";
    /// Too many bytes for a diff.
    DiffTooManyBytes = "diff_too_many_bytes", "the file is too large for a diff";
    /// Too many lines for a diff.
    DiffTooManyLines = "diff_too_many_lines", "the file has too many lines for a diff";
    /// The diff is not shorter than the text.
    DiffNotShorter = "diff_not_shorter", "a diff would not be shorter than the text";
    /// The diff is too long for one answer, and a diff is never cut.
    DiffDoesNotFit = "diff_does_not_fit", "the diff does not fit into one answer";
    /// Applying the diff to the base did not give the present text.
    DiffNotExact = "diff_not_exact", "applying the diff did not give the present text";
    /// A diff was sent.
    Changed = "changed", "the file changed since it was shown";
    /// Only lines that are not held were sent.
    PartHeld = "part_held", "the model holds some of these lines, and only the others were sent";
    /// The same, and some of the lines that are held have other numbers by now.
    PartMoved = "part_moved", "the model holds some of these lines, some of them under other numbers, and only the others were sent";
}

/// What is asked for: the scope, clamped to the file, and the part of it that a plain answer would show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The lines asked for.
    pub scope: Scope,
    /// What one plain answer shows of them; base and decision are about this window.
    pub window: Window,
}

impl Ask {
    /// What `offset` and `limit` mean for this text.
    ///
    /// # Errors
    /// [`ScopeError`] when they name no line of this text.
    pub fn new(now: &Text, offset: Option<u64>, limit: Option<u64>, limits: &Limits) -> Result<Self, ScopeError> {
        let scope = Scope::of(offset, limit, now.total())?;
        let asked_to = limit.map(|limit| offset.unwrap_or(1).saturating_add(limit - 1));
        Ok(Self { scope, window: Window::cut(now, scope, asked_to, limits) })
    }

    /// The same on a surface that counts, cuts and words as a host's own `read` does. `path` is the path as the caller wrote it.
    ///
    /// # Errors
    /// As [`Page::of`].
    pub fn paged(
        now: &Text,
        offset: Option<u64>,
        limit: Option<u64>,
        path: &str,
        style: &PageStyle,
    ) -> Result<Self, ScopeError> {
        let page = Page::of(now, offset, limit, path, style)?;
        let asked_all = page.asked_all;
        let window = Window::of_page(page);
        Ok(Self { scope: if asked_all { Scope::Full } else { window.scope() }, window })
    }
}

/// Which stored text an answer could rely on, before that text is loaded; [`Base::of`] makes a [`Base`] of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No text, and why.
    None(Reason),
    /// The present text itself.
    Same,
    /// Another text.
    Other {
        /// Its hash.
        hash: ContentHash,
        /// Whether the model holds it from the first line to the end; without that there is no diff.
        whole: bool,
    },
}

impl Choice {
    /// The hash of the stored text that [`Base::of`] needs; `None` when it needs none.
    #[must_use]
    pub fn needs(self) -> Option<ContentHash> {
        match self {
            Self::None(_) | Self::Same => None,
            Self::Other { hash, .. } => Some(hash),
        }
    }
}

/// The base for `ask`, by what is held in the form of `now` and nothing else.
#[must_use]
pub fn choose_base(held: &Knowledge, path: &PathKey, now: &Text, ask: &Ask, answers: Answers) -> Choice {
    let window = match (ask.window.lines(), ask.window.part()) {
        (None, Some(_)) => return Choice::None(Reason::LineTooLong),
        (Some(lines), _) if held.holds_lines_of(path, lines, now.id(), answers) => Some(now.hash()),
        (Some(lines), _) => held.holds_lines(path, lines, now.form(), answers),
        // An empty file: held when its end is.
        (None, None) => held.holds_whole(path, now.form(), answers).map(|v| v.hash).filter(|hash| *hash == now.hash()),
    };
    let ends = |hash: &ContentHash| held.holds_end(path, hash.in_form(now.form()));
    let window = window.filter(|hash| !ask.window.vouches_for_end() || ends(hash));
    let whole = held.holds_whole(path, now.form(), answers);
    match (window, whole) {
        (Some(hash), _) if hash == now.hash() => Choice::Same,
        (Some(hash), Some(version)) if version.hash == hash => Choice::Other { hash, whole: true },
        (Some(hash), _) if ask.window.scope() != Scope::Full => Choice::Other { hash, whole: false },
        (_, Some(version)) if ask.scope == Scope::Full => Choice::Other { hash: version.hash, whole: true },
        (Some(_), _) => Choice::None(Reason::BaseNotWhole),
        (None, _) => Choice::None(why_not(held, path, now.form(), ask, answers)),
    }
}

/// Why the lines of a window are not held.
fn why_not(held: &Knowledge, path: &PathKey, form: Form, ask: &Ask, answers: Answers) -> Reason {
    let Some(lines) = ask.window.lines() else { return Reason::NotHeld };
    match held.why_gone(path, lines) {
        Some(Gone::Refreshed) => Reason::Refreshed,
        Some(Gone::Changed) => Reason::ChangedSince,
        Some(Gone::Edited) => Reason::UntrackedEdit,
        Some(Gone::Unplaced) => Reason::Unplaced,
        None if held.is_mixed(path, lines, form) => Reason::SeveralTexts,
        None if answers == Answers::Seed && held.holds_lines(path, lines, form, Answers::Held).is_some() => {
            Reason::NotThatRange
        }
        None => Reason::NotHeld,
    }
}

/// A [`Choice`] whose text was looked for in the store.
#[derive(Clone, Copy, Debug)]
pub enum Base<'a> {
    /// No text, and why.
    None(Reason),
    /// The present text itself.
    Same,
    /// A text that was chosen and is not in the store.
    Missing(ContentHash),
    /// Another text.
    Other {
        /// The text, verified against its hash.
        text: &'a Text,
        /// Whether the model holds it from the first line to the end; without that there is no diff.
        whole: bool,
    },
}

impl<'a> Base<'a> {
    /// The chosen base with the text that is stored under [`Choice::needs`], verified; `loaded` is `None` when the store
    /// does not have it, which is no error: the answer is plain text then.
    #[must_use]
    pub fn of(choice: Choice, loaded: Option<&'a Text>) -> Self {
        match (choice, loaded) {
            (Choice::None(reason), _) => Self::None(reason),
            (Choice::Same, _) => Self::Same,
            (Choice::Other { whole, .. }, Some(text)) => Self::Other { text, whole },
            (Choice::Other { hash, .. }, None) => Self::Missing(hash),
        }
    }
}

/// How to answer; `render` makes the text of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// How the request is answered.
    pub mode: Mode,
    /// Why it is answered so.
    pub reason: Reason,
    /// The text the answer relies on, or would have relied on in mode `baseline_fallback`.
    pub base: Option<ContentHash>,
    /// Present only in mode `diff`.
    pub diff: Option<Unified>,
    /// The lines that are named and not sent, in mode `partial`; else empty.
    pub pieces: Vec<Piece>,
}

impl Decision {
    fn plain(mode: Mode, reason: Reason, base: Option<ContentHash>) -> Self {
        Self { mode, reason, base, diff: None, pieces: Vec::new() }
    }

    /// The decision to send only the lines of the window that are in none of these pieces.
    #[must_use]
    pub fn partial(pieces: Vec<Piece>) -> Self {
        let reason = if pieces.iter().any(Piece::is_moved) { Reason::PartMoved } else { Reason::PartHeld };
        Self { pieces, ..Self::plain(Mode::Partial, reason, None) }
    }

    /// In place of plain text a partial answer, if these pieces of the window are held and that is shorter by the margin.
    #[must_use]
    pub fn or_partial(self, now: &Text, ask: &Ask, pieces: Vec<Piece>, limits: &Limits) -> Self {
        let Some(lines) = ask.window.lines().filter(|_| !self.mode.is_derived() && !pieces.is_empty()) else {
            return self;
        };
        let partial = Self::partial(pieces);
        let Some(text) = render::partial(now, lines, &partial.pieces) else { return self };
        let saves =
            ask.window.bytes().checked_sub(text.len()).is_some_and(|saved| saved >= limits.partial_saves as usize);
        let is_long = limits.answer_chars.is_some_and(|chars| text.chars().count() > chars as usize);
        let count = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        if saves && !is_long && count < limits.answer_lines as usize { partial } else { self }
    }
}

/// Decides one answer.
#[must_use]
pub fn decide(now: &Text, path: &PathKey, ask: &Ask, base: Base<'_>, limits: &Limits) -> Decision {
    let window = &ask.window;
    match base {
        Base::None(reason) => Decision::plain(Mode::Full, reason, None),
        Base::Missing(hash) => Decision::plain(Mode::BaselineFallback, Reason::BaseMissing, Some(hash)),
        Base::Same => {
            let mode = if window.scope() == Scope::Full { Mode::Unchanged } else { Mode::UnchangedRange };
            marked((mode, Reason::SameText, now.hash()), now, window, limits.markers)
        }
        Base::Other { text, whole } => {
            // An open-ended request shows where the file ends, so that must not have moved either.
            let same_end = !window.shows_end() || text.total() == now.total();
            let same = same_end && window.lines().is_some_and(|lines| text.slice(lines) == now.slice(lines));
            if same && window.scope() != Scope::Full {
                return marked((Mode::UnchangedRange, Reason::SameLines, text.hash()), now, window, limits.markers);
            }
            let diff = if ask.scope == Scope::Full && whole {
                try_diff(text, now, path, window, limits)
            } else {
                Err(Reason::LinesChanged)
            };
            match diff {
                Ok(diff) => {
                    Decision { diff: Some(diff), ..Decision::plain(Mode::Diff, Reason::Changed, Some(text.hash())) }
                }
                Err(reason) => Decision::plain(Mode::BaselineFallback, reason, Some(text.hash())),
            }
        }
    }
}

/// A marker if it is shorter than the text it stands for, or if the settings always want one.
fn marked(
    (mode, reason, base): (Mode, Reason, ContentHash),
    now: &Text,
    window: &Window,
    markers: Markers,
) -> Decision {
    let shorter = || marker(mode, reason, now, window).is_some_and(|marker| marker.len() < window.bytes());
    if markers == Markers::Always || shorter() {
        return Decision::plain(mode, reason, Some(base));
    }
    Decision::plain(Mode::BaselineFallback, Reason::MarkerNotShorter, Some(base))
}

/// A diff that is exact, fits one answer and is shorter than the text it stands for.
fn try_diff(base: &Text, now: &Text, path: &PathKey, window: &Window, limits: &Limits) -> Result<Unified, Reason> {
    let larger = |measure: fn(&Text) -> usize| measure(base).max(measure(now));
    if larger(|t| t.as_str().len()) > limits.diff_bytes as usize {
        return Err(Reason::DiffTooManyBytes);
    }
    if larger(|t| t.total() as usize) > limits.diff_lines as usize {
        return Err(Reason::DiffTooManyLines);
    }
    let diff = unified(base, now, path.as_str());
    let bytes = diff_prefix(&diff, now, window).len() + diff.body.len();
    let lines = diff.line_count();
    let shown = window.lines().map_or(0, |lines| lines.count());
    if bytes >= window.bytes() || lines > shown {
        return Err(Reason::DiffNotShorter);
    }
    // The prefix is one more line.
    let too_long = limits.answer_chars.is_some_and(|chars| bytes > chars as usize);
    if bytes > limits.answer_bytes as usize || too_long || lines >= limits.answer_lines {
        return Err(Reason::DiffDoesNotFit);
    }
    match apply(&diff.body, base) {
        Ok(text) if text == now.as_str() => Ok(diff),
        Ok(_) | Err(_) => Err(Reason::DiffNotExact),
    }
}
