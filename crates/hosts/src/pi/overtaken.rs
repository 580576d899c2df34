//! Which of what is held was overtaken: others gave the file a third text since, and the model may have seen that one by a shell.
//! Nothing of it is stored: it follows from the moments that entries note and from what the version log tells.

use readproof_core::{knowledge::Held, path::PathKey, scope::Lines, text::ContentHash};
use std::sync::Arc;

use super::{call::Tool, fact::Fact, history::FileStep, transcript::Known};
use crate::tree::At;

/// A text that a file had, and the record that tells it; none for a text that is not kept, or if the file was gone.
pub type Met = (u64, Option<ContentHash>);

/// The version log as far as it tells of one file.
#[derive(Clone, Copy)]
struct Log<'l> {
    number: u64,
    /// Whether it was begun because another was put aside, so that what was met before its first record is not known.
    is_later: bool,
    /// What was met after a record.
    after: &'l dyn Fn(u64) -> Vec<Met>,
}

/// What must hold for a span: after its entry, up to a record, the file had no text but these.
struct Link<'s> {
    step: &'s Arc<FileStep>,
    at: At,
    texts: Vec<ContentHash>,
    to: u64,
}

impl Known<'_> {
    /// The held lines of a file, its end included as one more line, that count no more, as somebody met a text of it since that is
    /// neither the one shown nor `now`. Of the version log it takes the number that it begins with and whether another one was
    /// put aside for it; `after` tells what of the file was met after a record.
    #[must_use]
    pub fn overtaken(
        &self,
        path: &PathKey,
        now: ContentHash,
        (number, is_later): (u64, bool),
        after: &dyn Fn(u64) -> Vec<Met>,
    ) -> Vec<Lines> {
        let Some(step) = self.state.held.files.get(path) else { return Vec::new() };
        let log = Log { number, is_later, after };
        let gone = self.of(path).of(path).iter().filter(|held| self.is_overtaken((path, step), held, now, log));
        gone.filter_map(lines).collect()
    }

    fn is_overtaken(
        &self,
        (path, step): (&PathKey, &Arc<FileStep>),
        held: &Held,
        now: ContentHash,
        log: Log<'_>,
    ) -> bool {
        let Some(link) = Link::of(step, held, u64::MAX) else { return true };
        let mut links = vec![Link { texts: link.texts.into_iter().chain([now]).collect(), ..link }];
        while let Some(Link { step, at, texts, to }) = links.pop() {
            let since = self.noted(at, log.number);
            if since == 0 && log.is_later {
                return true;
            }
            let is_third = |text: Option<ContentHash>| text.is_none_or(|text| !texts.contains(&text));
            if (log.after)(since).into_iter().any(|(record, text)| record <= to && is_third(text)) {
                return true;
            }
            // After an edit the model holds what it held before, changed: so that must have counted until then.
            let Some(base) = step.edited_at(at) else { continue };
            for held in base.known(path, self.judge).of(path) {
                let Some(link) = Link::of(base, held, since) else { return true };
                links.push(link);
            }
        }
        false
    }

    /// A record of the log that was made before the file was shown, or changed, by this entry, as were all before it: the newest one
    /// that is noted on the branch. 0 if none is: then every record counts as made since.
    fn noted(&self, at: At, log: u64) -> u64 {
        let (tree, barrier) = (self.transcript.derived.tree(), self.state.barrier);
        if self.is_unchecked(at) {
            return 0;
        }
        // A read notes it when it looks at the file. Beside a change, a read may have noted one after the change was made, so of
        // reads only those before the message that asked for it count. Entries note one before a change, or after all results.
        let mut reads_count = !self.changes_at(at);
        for (at, _) in tree.walk(Some(at)).take_while(|(at, _)| Some(*at) != barrier) {
            let moment = match self.transcript.fact_of(at) {
                Some(Fact::Result(outcome)) if reads_count => outcome.read().and_then(|read| read.moment()),
                Some(Fact::Noted(moment)) => Some(*moment),
                Some(Fact::Calls(_)) => {
                    reads_count = true;
                    None
                }
                Some(
                    Fact::Unread(_)
                    | Fact::Nothing
                    | Fact::Lost
                    | Fact::Result(_)
                    | Fact::Program(_)
                    | Fact::Refreshed(_)
                    | Fact::ContextEdit(_),
                )
                | None => None,
            };
            if let Some(moment) = moment.filter(|moment| moment.log == log) {
                return moment.version.0;
            }
        }
        0
    }

    /// Whether it relies on what was shown before, and whoever made it, such as the older tool, did not ask what others had made of the
    /// file since.
    fn is_unchecked(&self, at: At) -> bool {
        let Some(Fact::Result(outcome)) = self.transcript.fact_of(at) else { return false };
        outcome.read().is_some_and(|read| read.mode().is_derived() && read.moment().is_none())
    }

    fn changes_at(&self, at: At) -> bool {
        matches!(self.transcript.fact_of(at), Some(Fact::Result(outcome)) if outcome.tool != Tool::Read)
    }
}

impl<'s> Link<'s> {
    fn of(step: &'s Arc<FileStep>, held: &Held, to: u64) -> Option<Self> {
        let at = At::of_place(held.at())?;
        Some(Self { step, at, texts: held.versions().map(|version| version.hash).collect(), to })
    }
}

fn lines(held: &Held) -> Option<Lines> {
    let end = held.version().total.saturating_add(1);
    let first = held.lines().map_or(end, Lines::first);
    let last = held.lines().filter(|_| !held.end()).map_or(end, Lines::last);
    Lines::new(first, last)
}
