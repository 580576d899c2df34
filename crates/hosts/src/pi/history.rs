//! What happened to one file on a branch, step by step, and what the model holds of it then. Steps are worked out only
//! when their file is asked about, so texts of other files are never looked at; nor is anything before a step that
//! shows or writes the whole file.

use readproof_core::{
    knowledge::{Event, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, Text, Version},
};
use std::sync::{Arc, OnceLock};

use super::{
    Source,
    call::{Call, Tool},
    outcome::ReadResult,
};
use crate::tree::At;

/// One step, with the earlier ones that can matter.
pub(super) struct FileStep {
    /// The entry that made it.
    at: At,
    done: Done,
    before: Option<Arc<FileStep>>,
    /// The step before the call, for a change.
    base: Option<Arc<FileStep>>,
    /// The change among the earlier ones, and the step before its call; at most one of them is a change.
    edited: Option<(At, Arc<FileStep>)>,
    known: OnceLock<Knowledge>,
}

/// What happened to the file.
enum Done {
    /// Something that cannot be placed.
    Void,
    /// Fresh text was asked for.
    Refreshed(Scope),
    /// Text was shown. `asked` is the first line and the number of lines that were asked for.
    Read { result: Arc<ReadResult>, asked: Option<(u64, u64)> },
    /// The model changed it.
    Changed(Arc<Call>),
}

/// What is needed to work steps out.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) answers: Answers,
    pub(super) source: &'a dyn Source,
}

impl FileStep {
    fn new(at: At, done: Done, before: Option<Arc<Self>>, base: Option<Arc<Self>>) -> Self {
        let edited = before.as_ref().and_then(|before| match &before.base {
            Some(base) => Some((before.at, Arc::clone(base))),
            None => before.edited.clone(),
        });
        Self { at, done, before, base, edited, known: OnceLock::new() }
    }

    pub(super) fn void(at: At) -> Self {
        Self::new(at, Done::Void, None, None)
    }

    pub(super) fn refreshed(at: At, scope: Scope, before: Option<Arc<Self>>) -> Self {
        Self::new(at, Done::Refreshed(scope), before, None)
    }

    pub(super) fn read(at: At, result: Arc<ReadResult>, asked: Option<(u64, u64)>, before: Option<Arc<Self>>) -> Self {
        let before = before.filter(|_| !result.is_whole());
        Self::new(at, Done::Read { result, asked }, before, None)
    }

    /// A change; `base` is the step before its call.
    pub(super) fn changed(at: At, call: Arc<Call>, base: Option<Arc<Self>>) -> Self {
        Self::new(at, Done::Changed(call), None, base)
    }

    /// What is held of the file after this step.
    pub(super) fn known(self: &Arc<Self>, path: &PathKey, judge: Judge<'_>) -> &Knowledge {
        // A list rather than recursion: a file may have been read very often.
        let mut waiting = vec![self];
        while let Some(step) = waiting.last() {
            let needed = [&step.before, &step.base].into_iter().flatten().find(|step| step.known.get().is_none());
            match needed {
                Some(needed) => waiting.push(needed),
                None => {
                    step.known.get_or_init(|| step.derived(path, judge));
                    waiting.pop();
                }
            }
        }
        self.known.get_or_init(Knowledge::default)
    }

    /// The same, once everything it needs is known.
    fn derived(&self, path: &PathKey, judge: Judge<'_>) -> Knowledge {
        let held =
            |step: &Option<Arc<Self>>| step.as_ref().and_then(|step| step.known.get()).cloned().unwrap_or_default();
        let mut knowledge = held(&self.before);
        let path = path.clone();
        let event = match &self.done {
            Done::Void => None,
            Done::Refreshed(scope) => Some(Event::Refreshed { paths: vec![path.clone()], scope: *scope }),
            Done::Read { result, asked } => result.told(judge.source).and_then(|told| {
                let fits = |(first, limit)| told.needs.is_none_or(|needs| first == needs.first && limit >= needs.least);
                let ends = told.ends_under.is_none_or(|hash| {
                    knowledge.of(&path).iter().any(|held| held.end() && held.version().hash == hash)
                });
                let asked = told.needs.is_none() || asked.is_some_and(fits);
                if let Some(hash) = told.counted {
                    forget_other_end(&mut knowledge, &path, hash, self.at, judge.answers);
                }
                (asked && ends).then(|| told.event.clone())
            }),
            Done::Changed(call) => {
                let before = held(&self.base).holds_whole(&path, Form::Disk, Answers::Held);
                let before = before.and_then(|version| self.text_before(version, judge.source));
                let after = call.after(before.as_ref(), judge.source);
                after.map(|text| Event::Written { path: path.clone(), version: text.version() })
            }
        };
        knowledge.apply(self.at.place(), &event.unwrap_or(Event::Void { path }), judge.answers);
        knowledge
    }
}

impl FileStep {
    /// The step before the call, if this entry edited the file: this step, or the one that it builds on.
    pub(super) fn edited_at(&self, at: At) -> Option<&Arc<Self>> {
        let earlier = || self.edited.as_ref().filter(|(edit, _)| *edit == at).map(|(_, base)| base);
        self.base.as_ref().filter(|_| self.at == at).or_else(earlier)
    }
}

/// The most changes in a row that are followed back to a stored text.
const FOLLOWED: usize = 64;

impl FileStep {
    /// The text before this change, held as `version`: the stored one, or worked out from the changes that led to it.
    fn text_before(&self, version: Version, source: &dyn Source) -> Option<Text> {
        if let Some(text) = source.text(version.hash) {
            return Some(text);
        }
        let mut calls = Vec::new();
        let mut next = self.base.as_deref();
        let mut text = None;
        while let Some(Self { done: Done::Changed(call), base, .. }) = next.filter(|_| calls.len() < FOLLOWED) {
            calls.push(call);
            text = if call.tool() == Tool::Write {
                break;
            } else {
                let held = base.as_ref().and_then(|base| base.known.get())?.holds_whole(
                    call.key.as_ref()?,
                    Form::Disk,
                    Answers::Held,
                );
                source.text(held?.hash)
            };
            if text.is_some() {
                break;
            }
            next = base.as_deref();
        }
        for call in calls.into_iter().rev() {
            text = Some(call.after(text.as_ref(), source)?);
        }
        text.filter(|text| text.version() == version)
    }
}

/// The model is told how many lines a text has, so another end of the file no longer holds.
fn forget_other_end(knowledge: &mut Knowledge, path: &PathKey, hash: ContentHash, at: At, answers: Answers) {
    let end = knowledge.of(path).iter().find(|held| held.end()).map(|held| held.version().total.saturating_add(1));
    let end = end.filter(|_| !knowledge.holds_end(path, hash.in_form(Form::Disk))).and_then(|end| Lines::new(end, end));
    if let Some(end) = end {
        let event = Event::Refreshed { paths: vec![path.clone()], scope: Scope::Lines(end) };
        knowledge.apply(at.place(), &event, answers);
    }
}

impl Drop for FileStep {
    /// One by one: dropped recursively, a long history would overflow the stack.
    fn drop(&mut self) {
        let mut left: Vec<Arc<Self>> = self.earlier().collect();
        while let Some(step) = left.pop() {
            if let Some(mut step) = Arc::into_inner(step) {
                left.extend(step.earlier());
            }
        }
    }
}

impl FileStep {
    fn earlier(&mut self) -> impl Iterator<Item = Arc<Self>> + use<> {
        let edited = self.edited.take().map(|(_, base)| base);
        [self.before.take(), self.base.take(), edited].into_iter().flatten()
    }
}
