//! What holds after a message, and what each of its blocks does to that. Whatever cannot be placed voids its file.

use readproof_core::{
    knowledge::{Alike, Event, Knowledge},
    path::PathKey,
    scope::{Lines, Scope},
    text::{Form, Text},
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Source,
    call::{Change, Input, Tool, is_done, is_harmless},
    canon::is_same,
    line::Attachment,
    message::Part,
    numbered::{
        MOST_LINES, Marker, Numbered, REMINDER, REMINDER_END, is_as_recorded, is_cleared, marker, names_reminders,
        text_of_file, without_reminders,
    },
    request::Built,
    transcript::{Epoch, Told, Transcript, last_part},
};
use crate::tree::At;

/// An attachment may be recorded this much later than its file was looked at, in milliseconds.
const WRITTEN_LATER: u64 = 2_000;

/// What holds after a message.
#[derive(Clone, Default)]
pub(super) struct Holdings {
    pub(super) knowledge: Knowledge,
    /// Calls without a result, as they were sent.
    open: BTreeMap<Box<str>, Arc<Asked>>,
    /// The file that the host said it read, and whether it said so itself.
    called: Option<(PathKey, bool)>,
    /// Whether a message could not be verified, so that nothing counts.
    pub(super) unverified: bool,
}

/// A call as the model sees it.
struct Asked {
    tool: Tool,
    input: Vec<u8>,
}

/// One message that is taken in.
pub(super) struct Step<'a> {
    pub(super) transcript: &'a mut Transcript,
    pub(super) source: &'a dyn Source,
    pub(super) epoch: Epoch,
    pub(super) at: At,
    pub(super) held: &'a mut Holdings,
}

impl Step<'_> {
    pub(super) fn take(&mut self, part: Part) {
        match part {
            Part::Call { id, tool, input } => {
                let counts = |call: &super::transcript::Call| call.counts && call.epoch == self.epoch;
                if self.transcript.calls.get(id.as_str()).is_some_and(counts) {
                    let asked = Asked { tool: Tool::parse(&tool), input };
                    self.held.open.insert(id.into(), Arc::new(asked));
                }
            }
            Part::Result { id, text, all, failed } => {
                if let Some(text) = &text {
                    self.notice_altered(&id, text, failed);
                }
                if let Some(asked) = self.held.open.remove(id.as_str()) {
                    self.result(&id, &asked, (text.as_deref(), &all), failed);
                }
                if let Some(text) = text {
                    // What the host recorded is the tool's, whatever it looks like.
                    let recorded = self.transcript.recorded(&id, self.source);
                    let said = recorded.and_then(|recorded| text.strip_prefix(recorded.trim_end()));
                    self.reminders(said.unwrap_or(&text));
                }
            }
            Part::Text(text) => {
                if text.contains("<bash-input>") || text.contains("<bash-stdout>") || text.contains("<bash-stderr>") {
                    self.told(&text);
                }
                self.reminders(&text);
            }
        }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        self.held.knowledge.apply(self.at.place(), event, self.transcript.answers);
    }

    pub(super) fn void(&mut self, path: PathKey) {
        self.apply(&Event::Void { path });
    }

    /// Voids every file that a name may mean.
    pub(super) fn void_like(&mut self, name: &str) {
        let Some(last) = last_part(name) else {
            self.held.knowledge = Knowledge::default();
            return;
        };
        let files = self.held.knowledge.paths().map(|(path, _)| path.clone());
        let alike: Vec<PathKey> = files.filter(|path| last_part(path.as_str()).is_none_or(|its| its == last)).collect();
        alike.into_iter().for_each(|path| self.void(path));
    }

    fn key(&self, name: &str) -> PathKey {
        self.transcript.key(name)
    }

    /// Notes when what this message shows was looked at.
    fn looked_at(&mut self, time: Option<u64>) {
        // Without a time, whatever happened may have happened since.
        let time = time.unwrap_or(0);
        let earliest = self.transcript.requests.times.entry(self.at).or_insert(time);
        *earliest = time.min(*earliest);
    }

    fn result(&mut self, id: &str, asked: &Asked, (text, all): (Option<&str>, &str), failed: bool) {
        let Some(call) = self.transcript.calls.get(id) else { return };
        let (tool, input) = (asked.tool, Input::parse(&asked.input));
        let time = call.time;
        let made = call.input.get(self.source).map(Cow::into_owned);
        let is_as_made = call.tool == tool && made.as_ref().is_some_and(|made| is_same(made, &asked.input));
        self.looked_at(time);
        if !is_as_made {
            return self.not_as_made([input, made.and_then(|made| Input::parse(&made))]);
        }
        if tool == Tool::Blind {
            return;
        }
        let Some(input) = input else {
            // Which file it is about is not known.
            self.held.knowledge = Knowledge::default();
            return;
        };
        if !tool.is_of_a_file() {
            // What the host says behind it is looked at for itself.
            let recorded = self.transcript.recorded(id, self.source);
            let shown = recorded.filter(|recorded| all.starts_with(recorded.trim_end()));
            return self.other_eyes(tool, &input, shown.as_deref().unwrap_or(all));
        }
        let Some(name) = input.file().map(str::to_owned) else { return };
        let Some(path) = self.transcript.file(&name) else { return self.void_like(&name) };
        if failed {
            let recorded = self.transcript.recorded(id, self.source);
            if tool == Tool::Read || !recorded.is_some_and(|said| is_harmless(&said, &input)) {
                self.void(path);
            }
            return;
        }
        // Somebody may have sent the call to another file, which the model is not told.
        let done_to = self.transcript.results.get(id).and_then(|recorded| recorded.file(self.source));
        if let Some(other) = done_to.filter(|name| self.transcript.file(name).as_ref() != Some(&path)) {
            self.void_like(&other);
            return self.void(path);
        }
        match (tool, text) {
            (Tool::Read, Some(text)) => self.read(id, path, text, &input),
            (Tool::Edit | Tool::MultiEdit | Tool::Write, Some(text))
                if is_done(without_reminders(text), &name) && self.is_made_as_asked(id, tool, &input) =>
            {
                self.changed(path, tool, &input);
            }
            _ => self.void(path),
        }
    }

    /// The model is sent another call than the one that was made: what became of the files of both is not known.
    fn not_as_made(&mut self, inputs: [Option<Input>; 2]) {
        let names: Option<Vec<&str>> = inputs.iter().map(|input| input.as_ref()?.file()).collect();
        match names {
            Some(names) => names.into_iter().for_each(|name| self.void_like(name)),
            None => self.held.knowledge = Knowledge::default(),
        }
    }

    /// Notes a result that was cleared or altered: what else was, and what will be, nobody says. Blocks that are no text are an
    /// image or a document; the host never alters those.
    fn notice_altered(&mut self, id: &str, sent: &str, failed: bool) {
        let of_file = |tool| matches!(tool, Tool::Read | Tool::Edit | Tool::MultiEdit | Tool::Write | Tool::Notebook);
        let compared = !failed && self.transcript.calls.get(id).is_some_and(|call| of_file(call.tool));
        let is_same = || self.transcript.recorded(id, self.source).is_some_and(|text| is_as_recorded(sent, &text));
        if is_cleared(sent) || (compared && !is_same()) {
            self.transcript.requests.altered = true;
        }
    }

    /// Whether the host did what the call asks for, and not what somebody made of it. Transcripts of agents do not say what was done;
    /// there the model knows of nothing but its call and the words of the result, and what it holds because of them is compared with
    /// the text at the next read.
    fn is_made_as_asked(&self, id: &str, tool: Tool, input: &Input) -> bool {
        self.transcript.results.get(id).is_some_and(|recorded| match recorded.made(self.source) {
            Told::Nothing => true,
            Told::Unreadable => false,
            Told::Made(made) => made.is_as_asked(tool, input),
        })
    }

    /// Text of a file, or one of our markers.
    fn read(&mut self, id: &str, path: PathKey, text: &str, input: &Input) {
        let Some(shown) = Numbered::parse(text).filter(Numbered::is_all) else { return self.void(path) };
        // Asked for the line 0, the host numbers all lines one too low.
        if input.offset.as_ref().is_some_and(|offset| offset.as_u64().is_none_or(|offset| offset == 0)) {
            return self.void(path);
        }
        if let (0, [piece]) = (shown.first, shown.pieces.as_slice()) {
            return match marker(piece) {
                Some(marker) => self.marked(path, marker),
                None => self.void(path),
            };
        }
        let recorded = || self.transcript.results.get(id).and_then(|recorded| recorded.shape(self.source));
        let shape = recorded().or_else(|| self.transcript.told.get(id).copied());
        let more_asked = input
            .limit
            .as_ref()
            .is_none_or(|limit| limit.as_u64().is_some_and(|limit| limit > shown.pieces.len() as u64));
        let ends = more_asked && shape.is_some_and(|shape| shape.ends_with(shown.first, shown.pieces.len()));
        self.shown(path, &shown, ends);
    }

    fn shown(&mut self, path: PathKey, shown: &Numbered<'_>, end: bool) {
        let Some(lines) = shown.lines() else { return self.void(path) };
        let text = shown.text(end);
        let version = text.version();
        self.keep(text);
        self.apply(&Event::Shown { path, version, lines: Some(lines), end, part: None });
    }

    fn keep(&mut self, text: Text) {
        self.transcript.requests.texts.entry(text.hash()).or_insert(text);
    }

    /// One of our markers adds nothing. If what it speaks of is not held, it is not known what the model saw.
    fn marked(&mut self, path: PathKey, marker: Marker) {
        let (lines, total) = match marker {
            Marker::Whole { total } => (Lines::new(1, total), Some(total)),
            Marker::Range { lines, total } => (Some(lines), total),
        };
        let held = lines.is_some_and(|lines| self.holds(&path, lines));
        let ends =
            || self.held.knowledge.of(&path).iter().any(|held| held.end() && Some(held.version().total) == total);
        if !held || (matches!(marker, Marker::Whole { .. }) && !ends()) {
            return self.void(path);
        }
        let beyond = total.and_then(|total| Lines::new(total.checked_add(1)?, u32::MAX)).filter(|_| !ends());
        if let Some(beyond) = beyond {
            self.apply(&Event::Refreshed { paths: vec![path], scope: Scope::Lines(beyond) });
        }
    }

    /// Whether all of these lines are held, of whatever texts.
    fn holds(&self, path: &PathKey, lines: Lines) -> bool {
        let mut next = lines.first();
        for held in self.held.knowledge.of(path).iter().filter_map(readproof_core::knowledge::Held::lines) {
            if held.first() <= next && next <= held.last() {
                next = held.last() + 1;
            }
        }
        next > lines.last()
    }

    /// A change that was made as the call asks for it.
    fn changed(&mut self, path: PathKey, tool: Tool, input: &Input) {
        let changes = if tool == Tool::Write { None } else { input.changes() };
        match (tool, input.content.as_deref(), changes) {
            (Tool::Write, Some(content), _) => self.written(path, content),
            (Tool::Edit | Tool::MultiEdit, _, Some(changes)) => {
                for change in &changes {
                    if self.replaced(&path, change).is_none() {
                        return self.void(path);
                    }
                }
            }
            _ => self.void(path),
        }
    }

    fn written(&mut self, path: PathKey, content: &str) {
        // What the host shows of these is not what was written.
        if content.contains(['\r', '\0']) || content.starts_with('\u{feff}') {
            return self.void(path);
        }
        let text = text_of_file(content);
        let version = text.version();
        self.keep(text);
        self.apply(&Event::Written { path, version });
    }

    /// One replacement; `None` if it cannot be followed.
    fn replaced(&mut self, path: &PathKey, change: &Change) -> Option<()> {
        if let Some(content) = change.creates() {
            self.written(path.clone(), content);
            return Some(());
        }
        let before = self.assembled(path)?;
        let edit = change.made_of(&before.text)?;
        let after = edit.after.version();
        if before.whole {
            // The lines that it does not touch were seen when they were shown, not when it was made.
            let spans = self.held.knowledge.of(path).to_vec();
            let built = Built { text: before.text.hash(), spans };
            self.transcript.requests.built.entry((self.at, path.clone())).or_insert(built);
            self.keep(before.text);
            self.keep(edit.after);
            self.apply(&Event::Written { path: path.clone(), version: after });
            return Some(());
        }
        // There is one such place in the file. It is the one found only if the model saw all of it.
        if change.is_of_all() || !edit.hunks.iter().all(|hunk| self.holds(path, hunk.old)) {
            return None;
        }
        let version = before.text.version();
        self.keep(before.text);
        self.keep(edit.after);
        self.apply(&Event::Alike { path: path.clone(), version, pieces: before.pieces });
        self.apply(&Event::Edited { path: path.clone(), before: version, after, hunks: edit.hunks });
        Some(())
    }

    /// All that is held of a file as one text. Lines that are not held are empty in it.
    pub(super) fn assembled(&self, path: &PathKey) -> Option<Assembled> {
        let (mut text, mut next, mut pieces, mut end) = (String::new(), 1, Vec::new(), false);
        let mut whole = true;
        for held in self.held.knowledge.of(path) {
            end = held.end();
            let Some(lines) = held.lines() else { continue };
            if lines.last() > MOST_LINES {
                return None;
            }
            whole &= lines.first() == next;
            text.extend(std::iter::repeat_n('\n', lines.first().checked_sub(next)? as usize));
            let base = held.version().hash;
            text.push_str(self.transcript.requests.texts.get(&base)?.slice(lines));
            pieces.push(Alike { base, first: lines.first(), last: lines.last() });
            next = lines.last() + 1;
        }
        if pieces.is_empty() {
            return None;
        }
        if !end {
            // Nobody knows that the file ends there.
            text.push('\n');
        }
        Some(Assembled { text: Text::in_form(text, Form::Stripped), whole: whole && end, pieces })
    }

    /// What the host says beside messages: files that it read by itself, and what others changed. A text may have the tags in it,
    /// so whatever begins before an end and after the end before it is taken for said.
    fn reminders(&mut self, text: &str) {
        let mut from = 0;
        for (at, _) in text.match_indices(&format!("\n{REMINDER_END}")) {
            let end = at + 1 + REMINDER_END.len();
            let piece = &text[from..end];
            let begins = piece.match_indices(REMINDER).map(|(at, _)| at);
            let begins: Vec<usize> = begins.filter(|at| *at == 0 || piece[..*at].ends_with('\n')).collect();
            for at in begins {
                self.reminder(&piece[at..]);
            }
            from = end;
        }
    }

    fn reminder(&mut self, said: &str) {
        let body = said.trim_start_matches(REMINDER).trim_end_matches(REMINDER_END);
        let Some(body) = body.strip_prefix('\n').and_then(|body| body.strip_suffix('\n')) else { return };
        if let Some(input) = body.strip_prefix("Called the Read tool with the following input: ") {
            let file = Input::parse(input.as_bytes()).and_then(|input| input.file().map(|name| self.key(name)));
            let own = !self.transcript.attachments(self.epoch, said, self.source).is_empty();
            self.held.called = file.map(|file| (file, own));
        } else if let Some(text) = body.strip_prefix("Result of calling the Read tool:\n") {
            self.attached(said, text);
        } else if let Some((name, text)) = body.strip_prefix("Note: ").and_then(changed_file) {
            self.changed_by_others(said, name, text);
        } else {
            self.told(body);
        }
    }

    /// A file as the host shows it unasked. It counts only if the host recorded that it did so after the last compaction.
    fn attached(&mut self, said: &str, text: &str) {
        let found = self.transcript.attachments(self.epoch, said, self.source);
        let called = self.held.called.take();
        let names: BTreeSet<PathKey> = found.iter().map(|at| self.key(&self.transcript.attached[*at].name)).collect();
        let its = |path: &PathKey| names.contains(path);
        let path = match called {
            Some((path, true)) if its(&path) => path,
            Some((path, _)) => return self.void(path),
            None => return names.into_iter().for_each(|path| self.void(path)),
        };
        let is_exact = |shown: &Numbered<'_>| shown.rest.is_empty() && shown.first > 0 && !names_reminders(text);
        let Some(shown) = Numbered::parse(text).filter(is_exact) else {
            return self.void(path);
        };
        let ends = found.iter().any(|at| {
            let attached = &self.transcript.attached[*at];
            let shape = attached.shape(self.source);
            self.key(&attached.name) == path
                && shape.is_some_and(|shape| shape.ends_with(shown.first, shown.pieces.len()))
        });
        let times = found.iter().map(|at| self.transcript.attached[*at].time);
        self.looked_at(times.min().flatten().map(|time| time.saturating_sub(WRITTEN_LATER)));
        self.shown(path, &shown, ends);
    }

    /// Lines around what others changed. Where else in the file lines moved is not said; with several places, their numbers are
    /// those of the text before, so only one place counts.
    fn changed_by_others(&mut self, said: &str, name: &str, text: &str) {
        let found = self.transcript.attachments(self.epoch, said, self.source);
        let of_it =
            found.iter().map(|at| &self.transcript.attached[*at]).find(|attached| attached.kind == Attachment::Changed);
        let own = of_it.map(|attached| self.key(&attached.name));
        if own.is_none() {
            return self.void_like(name);
        }
        let path = own.clone().unwrap_or_else(|| self.key(name));
        self.void(path.clone());
        let counts = |shown: &Numbered<'_>| !names_reminders(text) && shown.rest.trim().is_empty() && shown.first > 0;
        let shown = text.split_once(" (shown with line numbers):\n").and_then(|(_, text)| Numbered::parse(text));
        self.looked_at(None);
        if let (Some(_), Some(shown)) = (own, shown.filter(counts)) {
            self.shown(path, &shown, false);
        }
    }
}

/// The name of a file that others changed, and what is said of it, in the words of this version or of older ones.
fn changed_file(note: &str) -> Option<(&str, &str)> {
    let words = [" changed on disk since", " was modified, either by "];
    words.iter().find_map(|words| note.split_once(words))
}

/// All that is held of a file as one text.
pub(super) struct Assembled {
    pub(super) text: Text,
    /// Whether that is the whole file.
    pub(super) whole: bool,
    pieces: Vec<Alike>,
}
