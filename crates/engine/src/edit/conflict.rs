//! Refusals that show what stands in the file, and conflicts as values: recorded with their texts, looked at and resolved
//! later. What a refusal shows counts as shown.

use readproof_core::{
    diff::made,
    edit::{EditError, Piece},
    operation::{Caller, Resolution},
    text::{ContentHash, Text},
};
use readproof_disk::{Create, FileRef};
use readproof_hosts::{
    block::Sha,
    versions::{By, Conflict, Gap, OpenedConflict, VersionId},
};

use super::{
    Wanted,
    plan::{Intent, Plan, text_for},
};
use crate::{
    Control, Conversation, Engine, Error,
    door::{ShownLines, Written},
    read::Glimpse,
};
use readproof_core::operation::Over;

/// The most lines of a file that a refusal shows.
const MOST_LINES: u32 = 40;

/// The most lines shown on each side of a place.
const AROUND: u32 = 3;

/// The most lines that text left out may have.
const LEFT_OUT: u32 = 400;

/// A conflict with its texts, as far as they are stored.
#[derive(Clone, Debug)]
pub struct ConflictTexts {
    /// What is known of it.
    pub conflict: OpenedConflict,
    /// The texts.
    pub sides: Sides,
}

/// The texts of a conflict.
#[derive(Clone, Debug, Default)]
pub struct Sides {
    /// The one that the edit was made for.
    pub base: Option<Text>,
    /// The base with the edit.
    pub ours: Option<Text>,
    /// What stood in the file.
    pub theirs: Option<Text>,
    /// What someone proposes.
    pub proposal: Option<Text>,
    /// All of it in one text, with markers around what both changed.
    pub marked: Option<Text>,
}

impl Engine {
    /// A refusal of changes in a text: the one that is there, or the one that the caller names. The lines it shows are
    /// recorded as shown.
    pub(super) fn refused<C: Conversation>(
        &self,
        conversation: &C,
        file: &FileRef,
        (text, pieces): (&Text, &[Piece]),
        source: EditError,
    ) -> Error {
        let (path, shown) = (file.key().to_string(), shown(text, pieces, &source));
        self.note_shown(conversation, &path, &shown);
        Error::Edit { path, source: Box::new(source), shown, of: pieces.len() }
    }

    fn note_shown<C: Conversation>(&self, conversation: &C, path: &str, shown: &[ShownLines]) {
        let lines = shown.iter().flat_map(|run| (u64::from(run.first)..).zip(run.lines.iter().cloned()));
        let glimpse = Glimpse::lines(path, lines);
        let log = conversation.log();
        for notice in self.saw(log, self.asked_in(log), [glimpse].into_iter()) {
            self.add_notice(notice);
        }
    }

    /// Records that an edit and another's change are of the same lines. Nothing is written to the file.
    pub(super) fn conflicted<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &C,
        plan: &Plan,
        (base, ours, theirs): (&Text, &Text, &Text),
    ) -> Error {
        let shown = others(base, ours, theirs);
        self.note_shown(conversation, &plan.path, &shown);
        let recorded = self.record_conflict(caller, plan, (base, ours, theirs));
        match recorded {
            Ok(id) => Error::Conflict { path: plan.path.clone(), id, shown, actual: theirs.hash() },
            Err(error) => error,
        }
    }

    fn record_conflict(
        &self,
        caller: &Caller,
        plan: &Plan,
        (base, ours, theirs): (&Text, &Text, &Text),
    ) -> Result<Option<VersionId>, Error> {
        if plan.sensitive || self.unseen {
            return Ok(None);
        }
        let _keeping = self.keeping_texts()?;
        if let Some(store) = self.store(Create::Yes)? {
            store.objects().put_all_synced(&[base, ours, theirs])?;
        }
        let sha = |text: &Text| Sha(text.hash());
        let (path, by, at) = (plan.path.clone(), By::from(caller), self.now());
        let conflict = Conflict { path, base: sha(base), ours: sha(ours), theirs: Some(sha(theirs)), by, at };
        self.with_versions(Create::Yes, |versions| versions.conflicted(conflict))
    }

    /// The conflicts that are open, or all.
    pub(crate) fn list_conflicts(&self, all: bool) -> Result<Vec<OpenedConflict>, Error> {
        let found = self.with_versions(Create::No, |versions| {
            Ok(versions.conflicts().filter(|open| all || open.resolved.is_none()).cloned().collect::<Vec<_>>())
        })?;
        let mut found = found.unwrap_or_default();
        found.retain(|open| self.may_name(&open.conflict.path));
        Ok(found)
    }

    /// One conflict with its texts.
    pub(crate) fn show_conflict(&self, id: &str) -> Result<ConflictTexts, Error> {
        let none = || Error::NoConflict { id: id.to_owned() };
        let number = VersionId::parse(id).ok_or_else(none)?;
        let found = self.with_versions(Create::No, |versions| Ok(versions.conflict(number).cloned()))?;
        let conflict = found.flatten().filter(|found| self.may_name(&found.conflict.path)).ok_or_else(none)?;
        let text = |Sha(hash): Sha| self.stored(hash);
        let Conflict { base, ours, theirs, .. } = &conflict.conflict;
        let (base, ours, theirs) = (text(*base), text(*ours), theirs.and_then(text));
        let proposal = conflict.proposal.as_ref().and_then(|(hash, _)| self.stored(*hash));
        let marked = base.as_ref().zip(ours.as_ref()).zip(theirs.as_ref());
        let marked = marked.and_then(|((base, ours), theirs)| match super::three_way(base, ours, theirs) {
            super::Merged::Clean(text) | super::Merged::Conflict(text) => Some(text),
            super::Merged::TooLarge | super::Merged::Disputed => None,
        });
        Ok(ConflictTexts { conflict, sides: Sides { base, ours, theirs, proposal, marked } })
    }

    /// Takes a text that someone proposes for a conflict. It becomes the file's only when someone resolves with it.
    pub(crate) fn propose(&self, caller: &Caller, id: &str, text: &str) -> Result<ConflictTexts, Error> {
        let found = self.open_conflict(id)?;
        let text = text_for(&found.conflict.conflict.path, text.to_owned())?;
        let _keeping = self.keeping_texts()?;
        if let Some(store) = self.store(Create::Yes)? {
            store.objects().put_all_synced(&[&text])?;
        }
        let (number, by, at) = (found.conflict.id, By::from(caller), self.now());
        self.with_versions(Create::Yes, |versions| versions.proposed(number, text.hash(), by, at))?;
        self.show_conflict(id)
    }

    fn open_conflict(&self, id: &str) -> Result<ConflictTexts, Error> {
        let found = self.show_conflict(id)?;
        match &found.conflict.resolved {
            Some((how, _)) => Err(Error::ConflictOver { id: id.to_owned(), how: how.clone() }),
            None => Ok(found),
        }
    }

    /// Ends a conflict: the chosen text becomes the file's, if the file still is as it was in the conflict.
    pub(crate) fn resolve_conflict<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        (id, with): (&str, &Resolution),
        control: &Control<'_>,
    ) -> Result<Written, Error> {
        let found = self.open_conflict(id)?;
        let Conflict { path, theirs, .. } = &found.conflict.conflict;
        let gone = |hash: Option<Sha>| Error::Erased {
            path: path.clone(),
            hash: hash.map_or_else(|| ContentHash::of(b""), |Sha(hash)| hash),
            why: hash.and_then(|Sha(hash)| self.recorded(hash).err()).unwrap_or(Gap::Lost),
        };
        let Sides { ours, theirs: their_text, proposal, .. } = &found.sides;
        let text = match with {
            Resolution::Ours => ours.clone().ok_or_else(|| gone(Some(found.conflict.conflict.ours)))?,
            Resolution::Theirs => their_text.clone().ok_or_else(|| gone(*theirs))?,
            Resolution::Proposal => proposal.clone().ok_or(Error::NoProposal { id: id.to_owned() })?,
            Resolution::Text(text) => Text::new(text.clone()),
        };
        let file = self.new_file(&self.root.absolute(path))?;
        let over = theirs.map_or(Over::Held, |Sha(hash)| Over::Hash(hash));
        let wanted = vec![Wanted { file, intent: Intent::Chosen(text.as_str()), over }];
        let written = self.change(caller, conversation, ("resolve", wanted), control)?;
        let (number, by, at) = (found.conflict.id, By::from(caller), self.now());
        self.with_versions(Create::Yes, |versions| versions.resolved(number, with.as_str(), by, at))?;
        Ok(written)
    }
}

/// The lines of a text that help to make the next call succeed.
fn shown(text: &Text, pieces: &[Piece], error: &EditError) -> Vec<ShownLines> {
    match error {
        EditError::NotFound { nearest: Some(nearest), .. } => {
            let lines = nearest.lines;
            runs(text, &[(lines.first(), lines.last().min(lines.first() + MOST_LINES - 1))])
        }
        EditError::Many { places, .. } => {
            // As much around each as lets all of them be shown.
            let count = u32::try_from(places.len()).unwrap_or(MOST_LINES).max(1);
            let each = (MOST_LINES / count).saturating_sub(1) / 2;
            let each = each.clamp(1, AROUND);
            let around = |line: &u32| (line.saturating_sub(each).max(1), line.saturating_add(each));
            runs(text, &places.iter().map(around).collect::<Vec<_>>())
        }
        EditError::Elision { piece, line } => {
            let old = pieces.get(*piece).map_or("", |piece| piece.old.as_str());
            runs(text, &left_out(text, old, line))
        }
        EditError::Overlap { first, second } => {
            let mut lines: Vec<(u32, u32)> =
                [first, second].into_iter().filter_map(|piece| lines_of(text, &pieces.get(*piece)?.old)).collect();
            lines.sort_unstable();
            runs(text, &lines)
        }
        EditError::NotFound { nearest: None, .. }
        | EditError::NoContext { .. }
        | EditError::Ours { .. }
        | EditError::Empty
        | EditError::NotText
        | EditError::Unverified => Vec::new(),
        EditError::Anchor { line, .. } => {
            runs(text, &[(line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND))])
        }
    }
}

/// The lines where a text stands first.
fn lines_of(text: &Text, old: &str) -> Option<(u32, u32)> {
    let at = text.as_str().find(old).filter(|_| !old.is_empty())?;
    Some((text.line_at(at), text.line_at(at + old.len() - 1)))
}

/// The lines from those before the text left out to those behind it. If they are too many, those at both ends.
fn left_out(text: &Text, old: &str, line: &str) -> Vec<(u32, u32)> {
    let (above, below) = old.split_once(line).unwrap_or((old, ""));
    let lines = |part: &str| part.lines().map(|line| line.trim().to_owned()).collect::<Vec<String>>();
    let (above, below) = (lines(above.trim_end()), lines(below.trim_start()));
    let is = |number: u32, line: Option<&String>| line.is_some_and(|line| text.line(number).trim() == line);
    let next = |from: u32, line: Option<&String>| {
        let end = text.total().min(from.saturating_add(LEFT_OUT));
        (from..=end).find(|number| is(*number, line))
    };
    let height = |lines: &[String]| u32::try_from(lines.len()).unwrap_or(MOST_LINES);
    // The nearest two of which the lines before and behind them are also those of the old text, or else only those.
    let pairs = (1..=text.total())
        .filter(|number| is(*number, above.last()))
        .filter_map(|first| next(first + 1, below.first()).map(|last| (first, last)));
    let begins = |first: u32| is((first + 1).saturating_sub(height(&above)), above.first());
    let best = pairs.min_by_key(|(first, last)| (!begins(*first), last - first));
    let (first, last) = match (best, above.last()) {
        (Some((first, last)), _) => (first, last),
        (None, Some(_)) => match next(1, above.last()) {
            Some(first) => (first, first + MOST_LINES),
            None => return Vec::new(),
        },
        (None, None) => match next(1, below.first()) {
            Some(last) => (last.saturating_sub(MOST_LINES / 2), last),
            None => return Vec::new(),
        },
    };
    let (first, last) = ((first + 1).saturating_sub(height(&above)).max(1), last + height(&below).saturating_sub(1));
    if last - first < MOST_LINES {
        return vec![(first, last)];
    }
    vec![(first, first + MOST_LINES / 2 - 1), (last.saturating_sub(MOST_LINES / 2 - 1), last)]
}

/// What stands now where the edit would be: the lines that someone else changed, and those around them.
fn others(base: &Text, ours: &Text, theirs: &Text) -> Vec<ShownLines> {
    let own = made(base, ours, "").hunks;
    let mut found = Vec::new();
    let mut added = 0_i64;
    for hunk in made(base, theirs, "").hunks {
        let (first, last) = (hunk.old.first(), hunk.old.last());
        let touches = own.iter().any(|own| own.old.first() <= last + 1 && first <= own.old.last() + 1);
        let now = u32::try_from(i64::from(first) + added).unwrap_or(1);
        if touches {
            found.push((now.saturating_sub(AROUND).max(1), now + hunk.new_count + AROUND));
        }
        added += i64::from(hunk.new_count) - i64::from(hunk.old.count());
    }
    runs(theirs, &found)
}

/// These lines of a text, joined where they touch, and no more than fit.
fn runs(text: &Text, wanted: &[(u32, u32)]) -> Vec<ShownLines> {
    let mut room = MOST_LINES;
    let mut found: Vec<ShownLines> = Vec::new();
    let mut next = 1;
    for (first, last) in wanted {
        let (first, last) = ((*first).max(next), (*last).min(text.total()));
        for number in first..=last {
            if room == 0 {
                return found;
            }
            room -= 1;
            let line = text.line(number);
            let line = line.strip_suffix('\n').unwrap_or(line).to_owned();
            match found.last_mut().filter(|run| run.first + u32::try_from(run.lines.len()).unwrap_or(0) == number) {
                Some(run) => run.lines.push(line),
                None => found.push(ShownLines { first: number, lines: vec![line] }),
            }
            next = number + 1;
        }
    }
    found
}
