//! Handles: what a caller returns to say that the model still sees an answer. A handle names every answer whose text it
//! relies on, each as `h<entry>-<16 hex>`, joined by `+`: an answer in full is one part, a diff adds a part to those of
//! its base. The digits are derived from the log, and every conversation and context window has a log of its own, so a
//! handle is worth nothing anywhere else. It is the caller's claim, not a proof.

use readproof_core::path::PathKey;

use super::{EntryId, Record, Session, SessionError};

/// Hex digits of each part.
const DIGITS: usize = 16;

/// The most parts of a handle. An answer that would need more is sent in full.
const MOST_PARTS: usize = 8;

impl Session {
    /// The handle of an answer, with the answers it builds on.
    #[must_use]
    pub fn handle(&self, answer: EntryId) -> Option<String> {
        let parts: Option<Vec<String>> = self.texts(answer).into_iter().map(|entry| self.part(entry)).collect();
        // `named_by` would refuse more.
        parts.filter(|parts| parts.len() <= MOST_PARTS).map(|parts| parts.join("+"))
    }

    /// The answer that a handle stands for, if it can be relied on: it belongs to this log and file and names every
    /// answer it builds on, and since then nothing newer of the file was shown, written or asked for afresh.
    #[must_use]
    pub fn named_by(&self, handle: &str, path: &PathKey) -> Option<EntryId> {
        let parts: Vec<&str> = handle.split('+').map(str::trim).take(MOST_PARTS + 1).collect();
        let entry = |part: &&str| part.strip_prefix('h')?.split_once('-')?.0.parse().map(EntryId).ok();
        let entries: Vec<EntryId> = parts.iter().map(entry).collect::<Option<_>>()?;
        let answer = *entries.last()?;
        let genuine = entries.iter().zip(&parts).all(|(entry, part)| self.part(*entry).as_deref() == Some(*part));
        (genuine && self.texts(answer) == entries && self.is_newest(answer, path)).then_some(answer)
    }

    /// Whether another answer can build on this one without its handle becoming too long.
    #[must_use]
    pub fn has_room_after(&self, answer: EntryId) -> bool {
        self.texts(answer).len() < MOST_PARTS
    }

    /// Whether an answer shows this file, and since then no kind of answer showed another text of it, it was not
    /// written, and no fresh text of it was asked for.
    fn is_newest(&self, answer: EntryId, path: &PathKey) -> bool {
        let path = path.as_str();
        let answered = self.transcript.record(answer).and_then(Record::answered);
        let Some(text) = answered.filter(|answer| answer.path == path).and_then(|answer| answer.hash) else {
            return false;
        };
        let still = |record: &Record| match record {
            // A marker shows no text.
            Record::Answer { answer, .. } => {
                answer.path != path || answer.is_marker() || answer.hash.is_none_or(|other| other == text)
            }
            Record::Seen { files, .. } => {
                let shown = files.iter().filter(|file| file.path == path);
                shown.map(|file| file.text).all(|shown| shown.is_some_and(|(other, _)| other == text))
            }
            // The model wrote another text, or may have. What it wrote is in its call.
            Record::Begun { path: written, .. } => written != path,
            Record::Change { changed, .. } => changed.path != path,
            Record::Refresh { paths, .. } => !paths.iter().any(|other| other == path),
            Record::Open { .. }
            | Record::Delivered { .. }
            | Record::Alike { .. }
            | Record::Compact { .. }
            | Record::ContextEdit { .. }
            | Record::Distrust { .. }
            | Record::Switch { .. }
            | Record::Unknown { .. } => true,
        };
        self.transcript.records_after(answer).all(|(_, record)| still(record))
    }

    /// The answers with text on the branch that ends at `answer`.
    #[must_use]
    pub fn texts(&self, answer: EntryId) -> Vec<EntryId> {
        let answered = |entry: &EntryId| self.transcript.record(*entry).and_then(Record::answered);
        let has_text = |entry: &EntryId| answered(entry).is_some_and(|answer| !answer.is_marker());
        self.transcript.branch(Some(answer)).into_iter().filter(has_text).collect()
    }

    fn part(&self, entry: EntryId) -> Option<String> {
        let EntryId(number) = entry;
        let word = self.log.id().word(&number.to_be_bytes())?.to_string();
        Some(format!("h{number}-{}", &word[..DIGITS]))
    }

    /// Moves the leaf to where a result was delivered, or to the root, for the calls that follow. Not synced: whoever
    /// relies on the position of the leaf moves it again.
    ///
    /// # Errors
    /// If there is no such entry or the log cannot be written.
    pub fn stand_at(&mut self, answer: Option<EntryId>, at: u64) -> Result<(), SessionError> {
        let to = match answer {
            Some(answer) => Some(self.deliver(answer)?.0),
            None => None,
        };
        if self.transcript.leaf() != to {
            self.append(Record::Switch { to, at }, |_| Ok(None))?;
        }
        Ok(())
    }
}
