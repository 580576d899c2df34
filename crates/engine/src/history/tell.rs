//! What a conversation is told unasked: that others changed files that it was shown, as diffs against what it was shown. Whether it
//! was told follows from its own record: a diff that it was given makes the new text the one that it was shown last.

use readproof_core::{
    decide::Mode,
    diff::{Fitted, Side, fit, patches},
    operation::{Caller, Read},
    render::Shown,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, FileRef, SessionName};
use readproof_hosts::{
    block::Sha,
    versions::{By, ChangedFile, Gap, VersionId},
};
use std::collections::{BTreeMap, BTreeSet};

use super::{is_change, state::State};
use crate::{
    Answer, Control, Conversation, Engine, Error, Reading,
    conversation::locked,
    read::{Glimpse, Others},
};

/// The most files that one answer tells of.
const MOST_FILES: usize = 10;

/// The most characters of diffs in one answer.
const MOST_CHARS: u32 = 8000;

/// How many conversations are remembered; a conversation that is forgotten may be told once more.
const MOST_CONVERSATIONS: usize = 1000;

/// What others changed of a file since the conversation was shown it.
#[derive(Clone, Debug)]
pub struct Told<G> {
    /// Relative to the workspace root.
    pub path: String,
    /// Their newest change.
    pub version: VersionId,
    /// The word for it.
    pub operation: String,
    /// Who made it.
    pub by: By,
    /// The diff as the answer to a read that nobody asked for: it counts once it is delivered.
    pub answer: Option<Answer<G>>,
    /// The diff where it does not count: lines of it are recorded as seen. Empty if it does not fit, or is not known.
    pub diff: String,
    /// Whether the file is gone.
    pub removed: bool,
}

/// The newest change that others made of a file.
type Foreign = (VersionId, String, By);

/// The newest record, and the newest change by others of every file that they changed.
type News = (VersionId, BTreeMap<String, Foreign>);

impl Engine {
    /// Whether anything changed since the conversation was last told.
    pub(crate) fn is_news_for(&self, conversation: &SessionName) -> bool {
        let newest = self.with_versions(Create::No, |versions| Ok(versions.newest())).ok().flatten();
        let told = locked(&self.shared.told).get(conversation).copied();
        newest.is_some_and(|newest| told.is_none_or(|told| told < newest))
    }

    /// Tells a conversation what others changed of the files that it was shown.
    pub(crate) fn tell<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        control: &Control<'_>,
    ) -> Result<Vec<Told<C::Given>>, Error> {
        let Some(log) = conversation.log().cloned() else { return Ok(Vec::new()) };
        let call = self.asked_in(Some(&log));
        let Some((newest, changed)) = self.foreign_changes(caller, &log)? else { return Ok(Vec::new()) };
        let names = if changed.is_empty() { BTreeMap::new() } else { self.known_by_logged_names(conversation) };
        let names = changed.iter().flat_map(|(path, change)| {
            let names = names.get(path).into_iter().flatten();
            names.map(move |name| (name.clone(), change.clone()))
        });
        let suspects: BTreeMap<String, Foreign> = names.collect();
        let last = conversation.last_texts(self, &suspects.keys().cloned().collect());
        let (mut told, mut left, mut glimpses) = (Vec::new(), MOST_CHARS, Vec::new());
        for (path, shown) in last {
            control.check_cancelled()?;
            let Some((version, operation, by)) = suspects.get(&path).cloned() else { continue };
            if told.len() == MOST_FILES {
                break;
            }
            let mut news =
                Told { path: path.clone(), version, operation, by, answer: None, diff: String::new(), removed: false };
            match self.present_text(&path) {
                Present::Text(text) if text.hash() == shown => continue,
                Present::Text(text) => {
                    news.answer = self.told_by_answer(conversation, &path, left, control)?;
                    let diff = match &news.answer {
                        Some(answer) => answer.text.clone(),
                        None => self.diff_since(&path, shown, &text, left, control)?.unwrap_or_default(),
                    };
                    left = left.saturating_sub(u32::try_from(diff.chars().count()).unwrap_or(u32::MAX));
                    if news.answer.is_none() {
                        glimpses.extend(['+', '-'].map(|side| Glimpse::diff(&path, &diff, side)));
                        news.diff = diff;
                    }
                }
                Present::Gone => news.removed = true,
                Present::Hidden => {}
            }
            told.push(news);
        }
        for notice in self.saw(Some(&log), call, glimpses.into_iter()) {
            self.add_notice(notice);
        }
        let mut all = locked(&self.shared.told);
        if all.len() >= MOST_CONVERSATIONS {
            all.clear();
        }
        all.insert(log, newest);
        Ok(told)
    }

    /// What others changed since the conversation was last told.
    fn foreign_changes(&self, caller: &Caller, log: &SessionName) -> Result<Option<News>, Error> {
        let since = locked(&self.shared.told).get(log).copied();
        self.with_versions(Create::No, |versions| {
            let mut changed = BTreeMap::new();
            let new = versions.changes().rev().take_while(|(id, _)| since.is_none_or(|since| *id > since));
            for (id, change) in new.filter(|(_, change)| is_change(&change.operation) && !change.by.is_of(caller)) {
                for file in &change.files {
                    let newest = || (id, change.operation.to_string(), change.by.clone());
                    changed.entry(file.path.clone()).or_insert_with(newest);
                }
            }
            changed.retain(|path, _| self.may_name(path));
            Ok((versions.newest(), changed))
        })
    }

    /// What others than a conversation made of a file.
    pub(crate) fn made_by_others(&self, conversation: &SessionName, file: &FileRef) -> Others {
        let found = self.with_versions(Create::No, |versions| {
            let mut others = Others { newest: Some(versions.mark(versions.newest())), ..Others::default() };
            for (id, change, file) in versions.of_path(&self.logged_name(file)) {
                if change.by.conversation.as_deref() == Some(conversation.as_str()) {
                    // A text that the conversation then changed is one that it had seen.
                    let changed = file.before.map(|Sha(text)| text);
                    others.texts.pop_if(|(_, text)| text.is_some() && *text == changed);
                    others.own.extend(change.entry.map(|entry| (entry, versions.mark(id))));
                    continue;
                }
                others.texts.extend(met(file).map(|text| (versions.mark(id), text)));
            }
            Ok(others)
        });
        match found {
            Ok(found) => found.unwrap_or_default(),
            Err(_) => Others { unreadable: true, ..Others::default() },
        }
    }

    /// The files that a conversation may know, by their names in the version log.
    fn known_by_logged_names<C: Conversation>(&self, conversation: &mut C) -> BTreeMap<String, BTreeSet<String>> {
        let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for known in conversation.known_files(self).unwrap_or_default() {
            let logged = self.new_file(&self.root.absolute(known.as_str())).map(|file| self.logged_name(&file));
            names.entry(logged.unwrap_or_else(|_| known.to_string())).or_default().insert(known.to_string());
        }
        names
    }

    pub(crate) fn present_text(&self, path: &str) -> Present {
        let absolute = self.root.absolute(path);
        let Ok(file) = self.root.locate(&[absolute]) else {
            return if self.root.glance(path).is_none() { Present::Gone } else { Present::Hidden };
        };
        match self.root.snapshot(&file, &self.snapshot_rules()) {
            Ok(read) if !self.shared.sensitive.is_sensitive_read(&file, &read) => Present::Text(read.text),
            Ok(_) | Err(_) => Present::Hidden,
        }
    }

    /// The diff as an answer, where the whole text is held.
    fn told_by_answer<C: Conversation>(
        &self,
        conversation: &mut C,
        path: &str,
        most: u32,
        control: &Control<'_>,
    ) -> Result<Option<Answer<C::Given>>, Error> {
        if !conversation.confirms() {
            return Ok(None);
        }
        let read = Read { path: self.root.absolute(path), ..Read::default() };
        let fits = |shown: &Shown<'_>| shown.mode() == Mode::Diff && shown.text().chars().count() <= most as usize;
        match self.read_if(conversation, &read, control, fits) {
            Ok(Some(Reading::Answer(answer))) => Ok(Some(*answer)),
            Ok(Some(Reading::NotOurs(_)) | None) => Ok(None),
            Err(Error::Aborted) => Err(Error::Aborted),
            // What cannot be read is only named.
            Err(_) => Ok(None),
        }
    }

    /// The whole diff between what was shown and what is there; `None` if it does not fit or is not known.
    fn diff_since(
        &self,
        path: &str,
        shown: ContentHash,
        now: &Text,
        chars: u32,
        control: &Control<'_>,
    ) -> Result<Option<String>, Error> {
        let Some(before) = self.stored(shown) else { return Ok(None) };
        let side = |text| Some(Side { mode: "100644", text: Some(text), same: false });
        let found = patches(path, side(&before), side(now), control.cancelled).ok_or(Error::Aborted)?;
        let fitted: Fitted = fit(&found, u32::MAX, chars);
        Ok(Some(fitted).filter(|fitted| !fitted.is_cut()).map(|fitted| fitted.text))
    }
}

/// The text that a record says a file had from then on: `None` inside if there was none, or it is not kept. The outer `None` if
/// nobody looked.
pub(crate) fn met(file: &ChangedFile) -> Option<Option<ContentHash>> {
    match State::after(file) {
        State::Gap(Gap::NotLookedAt) => None,
        State::Text(text) => Some(Some(text)),
        State::Absent | State::Gap(_) | State::Unknown => Some(None),
    }
}

/// What a file that was shown is now.
pub(crate) enum Present {
    Text(Text),
    Gone,
    /// There is something, and no text of it is told.
    Hidden,
}
