//! Re-runs every answer of a session log from stored texts, under the limits and rules in its record, and compares the
//! result with what was recorded, byte for byte. Also checks that the knowledge at that moment allowed the answer, and
//! that each write of the agent turned the recorded text into the recorded text. Logs that were put aside are evidence
//! and are replayed like the others. Read-only. What cannot be verified is reported as such, neither as right nor as
//! wrong.

mod calls;

use readproof_core::{
    alike::holds,
    decide::{Ask, Base, Choice, Decision, Mode, Reason, choose_base, decide},
    knowledge::{Piece, piece::are_equal},
    limits::Answers,
    path::PathKey,
    render::{Shown, render},
    scope::ScopeError,
    text::{ContentHash, LINE_RULE, Text},
};
use readproof_disk::{Create, Loaded, LogError, RetiredLog, SessionName, Store};
use readproof_hosts::session::{AlikeLines, Answered, Changed, EntryId, NamedLines, Past, Record, Sha, Transcript};
use std::{collections::BTreeMap, rc::Rc};

use crate::{Engine, Error, conversation::ask_of_page};

/// Size of the cache of texts while one log is replayed, in bytes.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The report on one log.
#[derive(Debug)]
pub struct Replayed {
    /// The session of the log; `None` is the query log of calls without one.
    pub session: Option<SessionName>,
    /// Which of its logs.
    pub of: ReplayedLog,
    /// The number of a log that was put aside; `None` is the one in use.
    pub retired: Option<u32>,
    /// Number of answers that match their record.
    pub verified: u64,
    /// Number of writes that match their record.
    pub written: u64,
    /// Number of calls that match their record.
    pub calls: u64,
    /// How many of them searched many files: that nothing else matched cannot be verified.
    pub searches: u64,
    /// Number of fragments left by failed writes, which are harmless.
    pub torn: u64,
    /// What cannot be verified.
    pub unverifiable: Vec<Finding<Unverifiable>>,
    /// Writes that replaced a text which the log did not know.
    pub outside: Vec<Finding<OutsideChange>>,
    /// What is not as recorded.
    pub wrong: Vec<Finding<Wrong>>,
}

/// A kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayedLog {
    /// Of a session: what was shown, written, refreshed, compacted.
    Session,
    /// Of every call.
    Calls,
}

impl Replayed {
    /// How many answers, or writes, were checked.
    #[must_use]
    pub fn looked_at(&self, about: About) -> u64 {
        let verified = match about {
            About::Answer => self.verified,
            About::Write => self.written,
            About::Call => self.calls,
            About::Log => 0,
        };
        let open = self.unverifiable.iter().filter(|finding| finding.about == about).count();
        let wrong = self.wrong.iter().filter(|finding| finding.about == about).count();
        verified + (open + wrong) as u64
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The log as a whole, or another kind of line.
    Log,
    /// An answer to a read.
    Answer,
    /// A write or edit by the agent.
    Write,
    /// A call of the query log.
    Call,
}

impl About {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Answer => "answer",
            Self::Write => "write",
            Self::Call => "call",
        }
    }
}

/// A finding about an entry, or about the log as a whole.
#[derive(Debug)]
pub struct Finding<W> {
    /// What it is about.
    pub about: About,
    /// The entry; `None` is the log as a whole.
    pub entry: Option<EntryId>,
    /// The file it was about.
    pub path: Option<String>,
    /// The finding.
    pub what: W,
}

/// Someone else changed a file between what the log knew of it and an own write. No error: both texts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideChange {
    /// The text that the log knew last.
    pub last: ContentHash,
    /// The text that the write replaced; `None` is no file.
    pub before: Option<ContentHash>,
}

/// Why an answer or write cannot be verified. No error: nothing says that it was wrong.
#[derive(Debug)]
pub enum Unverifiable {
    /// The file was never stored.
    Sensitive,
    /// Its text is gone.
    TextMissing(ContentHash),
    /// Its base is gone.
    BaseMissing(ContentHash),
    /// Made under a rule that is not known here.
    Unknown {
        /// Kind of rule.
        what: &'static str,
        /// As recorded.
        word: String,
    },
    /// A record of a later program.
    UnknownRecord,
    /// A log of a later program.
    Newer,
    /// Announced, and then nothing.
    Unfinished,
    /// Nothing relies on it any more, so damage to it is no fault of an answer.
    PutAside(LogError),
    /// It is about a file that a rule hides.
    Hidden,
    /// A text that it needs was erased.
    Erased(ContentHash),
    /// The text that it stood on was not kept: not text, too large, or the call was part of no conversation.
    NotKept,
    /// Its answer follows from more than texts, such as the state of a conversation.
    NotRerun,
    /// It looked at no text: nothing stored says what kind and size a file had.
    NoText,
    /// It lists changes of a version log that was put aside.
    OtherVersionLog,
    /// So many calls could not be written to the log.
    NotLogged(u64),
    /// The call failed for what was there then.
    Failed(String),
}

impl Unverifiable {
    /// The word used on every wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Sensitive => "sensitive",
            Self::TextMissing(_) => "text_missing",
            Self::BaseMissing(_) => "base_missing",
            Self::Unknown { .. } => "unknown_rule",
            Self::UnknownRecord => "unknown_record",
            Self::Newer => "newer_log",
            Self::Unfinished => "unfinished_write",
            Self::PutAside(_) => "put_aside",
            Self::Hidden => "hidden",
            Self::Erased(_) => "erased",
            Self::NotKept => "not_kept",
            Self::NotRerun => "not_rerun",
            Self::NoText => "no_text",
            Self::OtherVersionLog => "other_version_log",
            Self::NotLogged(_) => "not_logged",
            Self::Failed(_) => "failed",
        }
    }
}

/// What is not as recorded.
#[derive(Debug)]
pub enum Wrong {
    /// The log itself.
    Log(LogError),
    /// A stored text was altered.
    DamagedObject(ContentHash),
    /// The request means nothing in that text.
    Request(ScopeError),
    /// A field of the record that does not come out.
    Differs {
        /// Which.
        field: &'static str,
        /// As recorded.
        recorded: String,
        /// As it comes out.
        replayed: String,
    },
    /// It relied on text that was not held.
    NotAllowed(NotAllowed),
    /// A write that nothing led up to.
    NotAnnounced,
    /// An edit changed more than it says.
    NotThatEdit(u32, u32, u32),
    /// Lines that were said to be the same.
    NotAlike,
    /// It is about a file that a rule hides.
    Hidden,
    /// The definition is not in the text that the call stood on.
    NotDefined,
    /// A line that a search showed is not in the text of its file, or does not match.
    NotFound,
    /// A change that was listed is not in the version log.
    NoSuchChange,
    /// The change does not turn the text before into the text after.
    NotThatPatch,
}

/// Why what was held does not allow an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    /// Nothing is held under its rules.
    NothingHeld,
    /// It was asked for where the conversation no longer was.
    Elsewhere,
    /// The host was seen to change results.
    Distrusted,
    /// An earlier answer about the file was not confirmed.
    Unconfirmed,
    /// What came in since it was asked for changed what is held.
    MeanwhileChanged,
    /// There is no base.
    NoBase(Reason),
    /// Not all of the base was held.
    HeldInPart,
    /// The base would be another.
    OtherBase(ContentHash),
}

impl Wrong {
    /// The word used on every wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Log(_) => "log",
            Self::DamagedObject(_) => "damaged_object",
            Self::Request(_) => "request",
            Self::Differs { .. } => "differs",
            Self::NotAllowed(_) => "not_allowed",
            Self::NotAnnounced => "not_announced",
            Self::NotThatEdit(..) => "not_that_edit",
            Self::NotAlike => "not_alike",
            Self::Hidden => "hidden",
            Self::NotDefined => "not_defined",
            Self::NotFound => "not_found",
            Self::NoSuchChange => "no_such_change",
            Self::NotThatPatch => "not_that_patch",
        }
    }
}

/// Why one answer or write was not verified.
enum Miss {
    Unverifiable(Unverifiable),
    Wrong(Wrong),
}

impl From<Unverifiable> for Miss {
    fn from(what: Unverifiable) -> Self {
        Self::Unverifiable(what)
    }
}

impl From<Wrong> for Miss {
    fn from(what: Wrong) -> Self {
        Self::Wrong(what)
    }
}

impl Engine {
    /// Replays the conversation's logs, or all there are, those put aside included. The files of the workspace play no part.
    /// What is wrong in a log is no error: it is reported.
    pub(crate) fn replay(&self, session: Option<&SessionName>) -> Result<Vec<Replayed>, Error> {
        let names = match session {
            Some(name) => vec![name.clone()],
            None => self.list_sessions()?,
        };
        let Some(store) = self.store(Create::No)? else {
            return session.map_or(Ok(Vec::new()), |name| Err(Error::NoSession(name.clone())));
        };
        let store = &*store;
        let mut replayed = Vec::new();
        for name in names {
            match Past::read(store, &name) {
                Ok(Some(past)) => replayed.push(replay_log(store, Report::new(name, None), past)),
                // Put aside since it was listed.
                Ok(None) => {}
                Err(error) => {
                    let mut report = Report::new(name, None);
                    report.log_is_wrong(error, false);
                    replayed.push(report.0);
                }
            }
        }
        let retired = store.logs().retired().into_iter().filter_map(|retired| {
            let of = retired.log.session()?;
            session.is_none_or(|name| of == name).then(|| replay_retired(store, of.clone(), &retired))
        });
        replayed.extend(retired);
        replayed.extend(self.replay_calls(store, session));
        for report in &mut replayed {
            report.hide(&|name| self.named(name));
        }
        let key = |report: &Replayed| (report.session.clone(), report.of, report.retired);
        replayed.sort_by_key(key);
        match session {
            Some(name) if replayed.is_empty() => Err(Error::NoSession(name.clone())),
            _ => Ok(replayed),
        }
    }
}

fn replay_retired(store: &dyn Store, session: SessionName, log: &RetiredLog) -> Replayed {
    let past = Past::read_retired(store, log);
    let mut report = Report::new(session, Some(log.number));
    match past {
        Ok(past) => replay_log(store, report, past),
        Err(error) => {
            report.log_is_wrong(error, true);
            report.0
        }
    }
}

impl Replayed {
    /// Of findings about files that may not be shown only leaves that there is one: hashes and details tell of their texts.
    fn hide(&mut self, named: &dyn Fn(&str) -> String) {
        let hide = |path: &mut Option<String>| {
            let shown = path.as_ref().map(|path| named(path)).filter(|shown| Some(shown) != path.as_ref());
            shown.is_some_and(|shown| path.replace(shown).is_some())
        };
        for finding in &mut self.unverifiable {
            if hide(&mut finding.path) {
                finding.what = Unverifiable::Hidden;
            }
        }
        for finding in &mut self.wrong {
            if hide(&mut finding.path) {
                finding.what = Wrong::Hidden;
            }
        }
        self.outside.retain_mut(|finding| !hide(&mut finding.path));
    }
}

struct Report(Replayed);

impl Report {
    fn new(session: SessionName, retired: Option<u32>) -> Self {
        Self::of(Some(session), ReplayedLog::Session, retired)
    }

    fn of_calls(session: Option<SessionName>, retired: Option<u32>) -> Self {
        Self::of(session, ReplayedLog::Calls, retired)
    }

    fn of(session: Option<SessionName>, of: ReplayedLog, retired: Option<u32>) -> Self {
        let (unverifiable, outside, wrong) = (Vec::new(), Vec::new(), Vec::new());
        let (verified, written, calls, searches, torn) = (0, 0, 0, 0, 0);
        Self(Replayed { session, of, retired, verified, written, calls, searches, torn, unverifiable, outside, wrong })
    }

    fn unverifiable(&mut self, entry: Option<u64>, what: Unverifiable) {
        self.0.unverifiable.push(Finding { about: About::Log, entry: entry.map(EntryId), path: None, what });
    }

    /// The log in use must be whole; one that was put aside may have been for that very reason.
    fn log_is_wrong(&mut self, error: LogError, put_aside: bool) {
        if put_aside {
            self.unverifiable(None, Unverifiable::PutAside(error));
        } else {
            self.0.wrong.push(Finding { about: About::Log, entry: None, path: None, what: Wrong::Log(error) });
        }
    }

    /// Says so where an own write replaced a text that the log did not know: someone else had changed the file.
    fn met(&mut self, entry: u64, changed: &Changed, last: Option<ContentHash>) {
        let before = changed.before.map(|(Sha(hash), _)| hash);
        // Older records do not say what a whole-file write replaced, those of sensitive files never.
        let known = changed.block.is_some() || before.is_some();
        if let Some(last) = last.filter(|last| known && before != Some(*last)) {
            let path = Some(changed.path.clone());
            let what = OutsideChange { last, before };
            self.0.outside.push(Finding { about: About::Write, entry: Some(EntryId(entry)), path, what });
        }
    }

    fn settle(&mut self, about: About, entry: u64, path: &str, outcome: Result<(), Miss>) {
        let (entry, path) = (Some(EntryId(entry)), Some(path.to_owned()));
        match outcome {
            Ok(()) if about == About::Write => self.0.written += 1,
            Ok(()) => self.0.verified += 1,
            Err(Miss::Unverifiable(what)) => self.0.unverifiable.push(Finding { about, entry, path, what }),
            Err(Miss::Wrong(what)) => self.0.wrong.push(Finding { about, entry, path, what }),
        }
    }
}

fn replay_log(store: &dyn Store, mut report: Report, past: Past) -> Replayed {
    report.0.torn = past.torn;
    if past.is_newer() {
        report.unverifiable(None, Unverifiable::Newer);
        return report.0;
    }
    let mut texts = Texts::new(store);
    let mut trees = trees(&past);
    // The last text of each file that the log knows.
    let mut last: BTreeMap<String, ContentHash> = BTreeMap::new();
    // Announced writes whose outcome was not seen yet.
    let mut begun: BTreeMap<u64, String> = BTreeMap::new();
    for line in past.lines {
        match &line.record {
            None | Some(Record::Unknown { .. }) => report.unverifiable(Some(line.line), Unverifiable::UnknownRecord),
            Some(Record::Answer { answer, parent }) => {
                let outcome = replay_answer(&mut texts, &trees, *parent, answer);
                report.settle(About::Answer, line.line, &answer.path, outcome);
                last.extend(answer.hash.map(|Sha(hash)| (answer.path.clone(), hash)));
            }
            Some(Record::Begun { path, .. }) => {
                begun.insert(line.line, path.clone());
            }
            Some(Record::Change { changed, .. }) => {
                let outcome = replay_write(&mut texts, begun.remove(&changed.begun), changed);
                report.settle(About::Write, line.line, &changed.path, outcome);
                report.met(line.line, changed, last.remove(&changed.path));
                last.extend(changed.after.map(|(Sha(hash), _)| (changed.path.clone(), hash)));
            }
            Some(Record::Alike { found, .. }) => {
                // This is neither an answer nor a write, so it is not counted if it is right.
                if let Err(miss) = replay_alike(&mut texts, found) {
                    report.settle(About::Log, line.line, &found.path, Err(miss));
                }
            }
            // Reports by the caller: there is nothing to run again.
            Some(
                Record::Open { .. }
                | Record::Delivered { .. }
                | Record::Seen { .. }
                | Record::Refresh { .. }
                | Record::Compact { .. }
                | Record::ContextEdit { .. }
                | Record::Distrust { .. }
                | Record::Switch { .. },
            ) => {}
        }
        if let Some(record) = line.record {
            for tree in &mut trees {
                tree.push(line.line, record.clone());
            }
        }
    }
    for (entry, path) in begun {
        report.settle(About::Write, entry, &path, Err(Unverifiable::Unfinished.into()));
    }
    report.0.unverifiable.sort_by_key(|finding| finding.entry);
    if let Some(error) = past.broken {
        let put_aside = past.out_of_use || report.0.retired.is_some();
        report.log_is_wrong(error, put_aside);
    }
    report.0
}

/// Which knowledge counts depends on the setting of each call, so there is one tree for each setting that occurs.
fn trees(past: &Past) -> Vec<Transcript> {
    let occurs = |answers: &Answers| {
        let says =
            |record: &Record| matches!(record, Record::Answer { answer, .. } if answer.answers == answers.as_str());
        past.lines.iter().any(|line| line.record.as_ref().is_some_and(says))
    };
    [Answers::Seed, Answers::Held, Answers::Lean].into_iter().filter(occurs).map(Transcript::new).collect()
}

/// Whether a write turned the recorded text into the recorded text. `announced` is the file named when the write began.
fn replay_write(texts: &mut Texts<'_>, announced: Option<String>, changed: &Changed) -> Result<(), Miss> {
    if announced.as_deref() != Some(&changed.path) {
        return Err(Wrong::NotAnnounced.into());
    }
    let Some((Sha(hash), total)) = changed.after else { return Err(Unverifiable::Sensitive.into()) };
    let after = texts.get(hash)?.ok_or(Unverifiable::TextMissing(hash))?;
    same("the number of lines", &total.to_string(), &after.total().to_string())?;
    let before = match changed.before {
        None => None,
        Some((Sha(hash), total)) => {
            let before = texts.get(hash)?.ok_or(Unverifiable::BaseMissing(hash))?;
            same("the number of lines before", &total.to_string(), &before.total().to_string())?;
            Some(before)
        }
    };
    let Some((first, last, count)) = changed.hunk else { return Ok(()) };
    let wrong = || Wrong::NotThatEdit(first, last, count);
    let stated: Vec<(u32, u32, u32)> = changed.stated.iter().map(|hunk| (hunk.0, hunk.1, hunk.2)).collect();
    let hunks = match (stated.is_empty(), changed.block) {
        (false, _) => stated,
        // An older record: one hunk, which its answer did not state.
        (true, None) => vec![(first, last, count)],
        // Too many hunks to state, or text that came from elsewhere, so none was.
        (true, Some(_)) => return Ok(()),
    };
    let before = before.ok_or_else(wrong)?;
    if leads(&before, &after, &hunks) { Ok(()) } else { Err(wrong().into()) }
}

/// Whether replacing these runs of lines in `before`, each by the given number of lines, can lead to `after`.
fn leads(before: &Text, after: &Text, hunks: &[(u32, u32, u32)]) -> bool {
    let (mut old, mut new) = (1, 1);
    let mut same = true;
    for (first, last, count) in hunks {
        let fits = *first >= old && *last >= *first && *last <= before.total();
        same = same && fits && (old..*first).zip(new..).all(|(line, now)| same_line(before, line, after, now));
        if !same {
            return false;
        }
        (old, new) = (last + 1, new + (first - old) + count);
    }
    let rest = before.total() + 1 - old;
    new + rest == after.total() + 1 && (0..rest).all(|n| same_line(before, old + n, after, new + n))
}

fn same_line(one: &Text, line: u32, other: &Text, now: u32) -> bool {
    now <= other.total() && one.line(line) == other.line(now)
}

/// Whether lines that were recorded as identical in two texts are.
fn replay_alike(texts: &mut Texts<'_>, found: &AlikeLines) -> Result<(), Miss> {
    let (Sha(hash), total) = found.version;
    let now = texts.get(hash)?.ok_or(Unverifiable::TextMissing(hash))?;
    same("the number of lines", &total.to_string(), &now.total().to_string())?;
    for (Sha(base), _, _) in &found.pieces {
        texts.get(*base)?.ok_or(Unverifiable::BaseMissing(*base))?;
    }
    let load = |hash| texts.get(hash).ok().flatten().map(|text| Text::clone(&text));
    match holds(&found.alike(), &now, load) {
        Some(true) => Ok(()),
        Some(false) | None => Err(Wrong::NotAlike.into()),
    }
}

/// The parsed identifiers of a record.
struct Words {
    mode: Mode,
    reason: Reason,
    answers: Answers,
}

impl Words {
    fn of(answer: &Answered) -> Result<Self, Unverifiable> {
        let unknown = |what, word: &str| Unverifiable::Unknown { what, word: word.to_owned() };
        if answer.rule != LINE_RULE {
            return Err(unknown("the line rule", &answer.rule));
        }
        Ok(Self {
            mode: Mode::parse(&answer.mode).ok_or_else(|| unknown("the decision", &answer.mode))?,
            reason: Reason::parse(&answer.reason).ok_or_else(|| unknown("the reason", &answer.reason))?,
            answers: Answers::parse(&answer.answers).ok_or_else(|| unknown("the setting", &answer.answers))?,
        })
    }
}

fn replay_answer(
    texts: &mut Texts<'_>,
    trees: &[Transcript],
    parent: Option<u64>,
    recorded: &Answered,
) -> Result<(), Miss> {
    let words = Words::of(recorded)?;
    let Some(Sha(hash)) = recorded.hash else {
        // Of a sensitive file only the fact of a plain answer is recorded.
        same("the decision", words.mode.as_str(), Mode::Full.as_str())?;
        same("the reason", words.reason.as_str(), Reason::Sensitive.as_str())?;
        return Err(Unverifiable::Sensitive.into());
    };
    let now = texts.get(hash)?.ok_or(Unverifiable::TextMissing(hash))?;
    let limits = recorded.limits.into();
    let ask = Ask::new(&now, recorded.offset, recorded.limit, &limits).map_err(Wrong::Request)?;
    let path = PathKey::new(&recorded.path);
    if words.mode.is_derived() {
        let tree = trees.iter().find(|tree| tree.answers() == words.answers);
        let tree = tree.ok_or(Wrong::NotAllowed(NotAllowed::NothingHeld))?;
        allowed(tree, parent, &path, &now, &ask, recorded)?;
    }
    let asked = (recorded.offset, recorded.limit);
    let again = shown_again(texts, (&now, &ask), recorded, &words, |shown| {
        Answered::new(&path, shown, asked, (words.answers, limits), recorded.at)
    })?;
    compare(recorded, &again)
}

/// An answer of a read, made again from its texts under its recorded decision, and its text. `page` is the path that the host's own
/// page of the file names, where it was cut as the host cuts.
fn answer_again(texts: &mut Texts<'_>, recorded: &Answered, page: Option<&str>) -> Result<(Answered, String), Miss> {
    let words = Words::of(recorded)?;
    let Some(Sha(hash)) = recorded.hash else { return Err(Unverifiable::Sensitive.into()) };
    let now = texts.get(hash)?.ok_or(Unverifiable::TextMissing(hash))?;
    let (limits, asked) = (recorded.limits.into(), (recorded.offset, recorded.limit));
    let ask = match page {
        Some(page) => ask_of_page(&now, asked, page),
        None => Ask::new(&now, asked.0, asked.1, &limits),
    };
    let (ask, path) = (ask.map_err(Wrong::Request)?, PathKey::new(&recorded.path));
    let (again, text) = shown_again(texts, (&now, &ask), recorded, &words, |shown| {
        (Answered::new(&path, shown, asked, (words.answers, limits), recorded.at), shown.text().to_owned())
    })?;
    compare(recorded, &again)?;
    Ok((again, text))
}

fn shown_again<T>(
    texts: &mut Texts<'_>,
    (now, ask): (&Text, &Ask),
    recorded: &Answered,
    words: &Words,
    then: impl FnOnce(&Shown<'_>) -> T,
) -> Result<T, Miss> {
    let (hash, limits, path) = (now.hash(), recorded.limits.into(), PathKey::new(&recorded.path));
    if words.mode == Mode::Partial {
        return Ok(then(&render(&partial_again(texts, now, recorded)?, now, ask)));
    }
    let stored = match (recorded.base, words.reason) {
        (None, _) | (Some(_), Reason::SameText | Reason::BaseMissing) => None,
        (Some(Sha(base)), Reason::MarkerNotShorter) if base == hash => None,
        (Some(Sha(base)), _) => Some(texts.get(base)?.ok_or(Unverifiable::BaseMissing(base))?),
    };
    let base = match (&stored, recorded.base, words.reason) {
        // Only a fallback for changed lines leaves open whether the whole text was held, and its text is the same
        // either way.
        (Some(text), _, reason) => Base::Other { text, whole: reason != Reason::LinesChanged },
        (None, Some(Sha(base)), Reason::BaseMissing) => Base::Missing(base),
        (None, Some(_), _) => Base::Same,
        (None, None, reason) => Base::None(reason),
    };
    Ok(then(&render(&decide(now, &path, ask, base, &limits), now, ask)))
}

/// The decision for a partial answer, if the lines that it names are in the text as they are in the texts of which they were held.
fn partial_again(texts: &mut Texts<'_>, now: &Text, recorded: &Answered) -> Result<Decision, Miss> {
    let pieces: Option<Vec<Piece>> = recorded.pieces.iter().map(NamedLines::piece).collect();
    let pieces = pieces.ok_or(Wrong::NotAlike)?;
    for Piece { base, .. } in pieces.iter().filter(|piece| piece.base != now.hash()) {
        texts.get(*base)?.ok_or(Unverifiable::BaseMissing(*base))?;
    }
    let load = |hash| texts.get(hash).ok().flatten().map(|text| Text::clone(&text));
    match are_equal(&pieces, now, load) {
        Some(true) => Ok(Decision::partial(pieces)),
        Some(false) | None => Err(Wrong::NotAlike.into()),
    }
}

/// Whether the knowledge at the place of the answer allowed it to rely on its base.
fn allowed(
    tree: &Transcript,
    parent: Option<u64>,
    path: &PathKey,
    now: &Text,
    ask: &Ask,
    recorded: &Answered,
) -> Result<(), Wrong> {
    let refuse = |why| Err(Wrong::NotAllowed(why));
    // Calls that name what they rely on stand beside each other; then what is held at both must allow it.
    if !tree.reaches(parent) {
        return refuse(NotAllowed::Elsewhere);
    }
    if tree.is_distrusted() {
        return refuse(NotAllowed::Distrusted);
    }
    if tree.is_pending(path) {
        return refuse(NotAllowed::Unconfirmed);
    }
    if recorded.mode == Mode::Partial.as_str() {
        let (mut leaf, call) = (tree.knowledge(), tree.knowledge_at(parent));
        if !leaf.agrees(&call, path) {
            return refuse(NotAllowed::MeanwhileChanged);
        }
        // What it names must have been held: otherwise nothing of the file is afterwards.
        leaf.apply(0, &recorded.event(), tree.answers());
        let is_held = |lines| leaf.holds_lines_of(path, lines, now.id(), tree.answers());
        let held = ask.window.lines().is_some_and(is_held);
        return if held { Ok(()) } else { refuse(NotAllowed::HeldInPart) };
    }
    let choice = choose_base(&tree.knowledge(), path, now, ask, tree.answers());
    if choice != choose_base(&tree.knowledge_at(parent), path, now, ask, tree.answers()) {
        return refuse(NotAllowed::MeanwhileChanged);
    }
    let base = match choice {
        Choice::None(reason) => return refuse(NotAllowed::NoBase(reason)),
        Choice::Same => now.hash(),
        Choice::Other { hash, whole } if whole || recorded.mode != Mode::Diff.as_str() => hash,
        Choice::Other { .. } => return refuse(NotAllowed::HeldInPart),
    };
    if recorded.base == Some(Sha(base)) { Ok(()) } else { refuse(NotAllowed::OtherBase(base)) }
}

fn same(field: &'static str, recorded: &str, replayed: &str) -> Result<(), Wrong> {
    if recorded == replayed {
        return Ok(());
    }
    Err(Wrong::Differs { field, recorded: recorded.to_owned(), replayed: replayed.to_owned() })
}

/// Compares every field that a replay determines.
fn compare(recorded: &Answered, replayed: &Answered) -> Result<(), Miss> {
    type Field = fn(&Answered) -> String;
    let fields: [(&'static str, Field); 13] = [
        ("the decision", |answer| answer.mode.to_string()),
        ("the reason", |answer| answer.reason.to_string()),
        ("the text shown", |answer| {
            answer.block.map_or("none".to_owned(), |block| {
                let Sha(hash) = block.sha;
                format!("{} bytes, sha256-{hash}", block.bytes)
            })
        }),
        ("the base", |answer| answer.base.map_or("none".to_owned(), |Sha(hash)| hash.to_string())),
        ("the scope", |answer| answer.scope.clone()),
        ("the lines shown", |answer| format!("{:?}", answer.lines)),
        ("the lines named", |answer| format!("{:?}", answer.pieces)),
        ("the end shown", |answer| answer.end.to_string()),
        ("the line shown in part", |answer| format!("{:?}", answer.part)),
        ("the number of lines", |answer| answer.total.to_string()),
        ("the form", |answer| format!("{:?}", answer.form)),
        ("the audience", |answer| answer.for_program.to_string()),
        ("the sizes", |answer| format!("{} of {} bytes", answer.sent_bytes, answer.plain_bytes)),
    ];
    for (field, read) in fields {
        same(field, &read(recorded), &read(replayed))?;
    }
    Ok(())
}

/// A bounded cache of stored texts.
struct Texts<'s> {
    store: &'s dyn Store,
    kept: BTreeMap<ContentHash, Rc<Text>>,
    bytes: usize,
}

impl<'s> Texts<'s> {
    fn new(store: &'s dyn Store) -> Self {
        Self { store, kept: BTreeMap::new(), bytes: 0 }
    }

    fn get(&mut self, hash: ContentHash) -> Result<Option<Rc<Text>>, Wrong> {
        if let Some(text) = self.kept.get(&hash) {
            return Ok(Some(Rc::clone(text)));
        }
        let text = match self.store.objects().load(hash) {
            Loaded::Text(text) => Rc::new(text),
            Loaded::Missing => return Ok(None),
            Loaded::Damaged => return Err(Wrong::DamagedObject(hash)),
        };
        self.bytes += text.as_str().len();
        if self.bytes > CACHE_BYTES {
            self.kept.clear();
            self.bytes = text.as_str().len();
        }
        self.kept.insert(hash, Rc::clone(&text));
        Ok(Some(text))
    }
}
