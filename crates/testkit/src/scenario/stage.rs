//! Plays steps: a scratch workspace, an engine on it, and for every conversation what its model sees. The reader judges
//! each answer from that.

use readproof_core::{
    edit::Places,
    limits::{Answers, Limits, Markers},
    path::Bearings,
    text::ContentHash,
};
use readproof_disk::{Create, HardLinks, LocalStore, LogName, Root, STORE_NAME, SessionName, Store};
use readproof_engine::{
    Engine, EntryId, Error, Receipt, Refreshed, Settings,
    operation::{Audience, Change, Freshness, Operation, Partial, Read, Refresh},
};
use readproof_reader::{Reader, Rendered, Replaces, Seen};
use readproof_words::notice::notices;
use serde_json::{Map, Value};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};
use tempfile::TempDir;

use super::{
    format::{
        Action, Asked, Elsewhere, Fate, For, Harm, How, Keep, Meanwhile, Of, Part, Restart, Set, Shows, Step, Whole,
        Yes,
    },
    print::{block, name, refusal},
};
use crate::{
    ask::{Ask, Logged},
    run::conversation::{Alteration, Conversation, Turn},
    world::Broken,
};

/// Something that a later step can name.
pub(super) struct Labelled {
    pub(super) session: SessionName,
    pub(super) entry: EntryId,
    /// The result, until it is delivered.
    way: Option<Way>,
    text: String,
}

/// A result that has not reached the model yet.
struct Way {
    node: usize,
    receipt: Receipt,
    seen: Seen,
}

/// A scratch workspace, the engine on it, and what each model sees.
pub(super) struct Stage {
    _dir: TempDir,
    pub(super) root: PathBuf,
    settings: Settings,
    pub(super) engine: Engine,
    conversations: BTreeMap<SessionName, Conversation>,
    pub(super) labels: BTreeMap<String, Labelled>,
    out: String,
}

/// Dispatch, and the small steps.
impl Stage {
    pub(super) fn new(files: &Path) -> Result<Self, Broken> {
        let dir = tempfile::tempdir()?;
        // One level down, so that the folder above is ours too.
        let root = dir.path().canonicalize()?.join("workspace");
        fs::create_dir(&root)?;
        if files.is_dir() {
            copy(files, &root)?;
        }
        // Most scenario files are shorter than a marker.
        let limits = Limits { markers: Markers::Always, ..Limits::default() };
        let settings = Settings { limits, policy: crate::nobody_asks(), ..Settings::default() };
        let engine = open(&root, &settings)?;
        Ok(Self {
            _dir: dir,
            root,
            settings,
            engine,
            conversations: BTreeMap::new(),
            labels: BTreeMap::new(),
            out: String::new(),
        })
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), Broken> {
        let gap = if self.out.is_empty() { "" } else { "\n" };
        self.out.push_str(gap);
        if let Some(note) = &step.note {
            self.say(&format!("# {note}"));
        }
        self.say(&format!("> {}", step.echo));
        match &step.action {
            Action::Settings { of } => self.set(of),
            Action::Read(asked) => self.read(step, asked),
            Action::Deliver(Of { of }) => self.deliver(of),
            Action::Outside(Harm { of, how }) => harm(&self.root.join(of), how),
            Action::Object(Harm { of, how }) => harm(&self.object_of(of)?, how),
            Action::Write(Whole { of, content, result }) => {
                self.write(step, of, Change::Whole(content.clone()), *result)
            }
            Action::Edit(Part { of, old, new, all, result }) => {
                let places = if *all { Places::All } else { Places::One };
                self.write(step, of, Change::Replace { old: old.clone(), new: new.clone(), places }, *result)
            }
            Action::Branch(Of { of }) => self.branch(step, of),
            Action::Switch(Of { of }) => self.switch(step, of),
            Action::Fork(Of { of }) => self.fork(step, of),
            Action::Compact(_) => self.compact(step),
            Action::Refresh { of, offset, limit } => self.refresh(step, of, *offset, *limit),
            Action::ContextEdit { of, shows } => self.context_edit(step, of, shows),
            Action::Prune(Of { of }) => self.prune(step, of),
            Action::Restart(Restart { keep, .. }) => self.restart(*keep),
            Action::LogAppend { of } => self.log_append(step, of),
            Action::Together { of, readers } => self.together(step, of, *readers),
            Action::Store(_) => self.show_store(),
            Action::SearchStore(Of { of }) => self.search_store(of),
            Action::Entries(_) => self.show_entries(step),
            Action::Status(_) => self.show_status(step),
        }
    }

    /// Everything printed so far.
    pub(super) fn into_output(self) -> String {
        self.out
    }

    pub(super) fn say(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// The result, or `None` after printing the refusal.
    pub(super) fn granted<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.say(&refusal(&error, &self.root))).ok()
    }

    fn restart(&mut self, keep: Keep) -> Result<(), Broken> {
        if keep == Keep::Logs {
            for path in all_files(&self.root.join(STORE_NAME))? {
                let is_log = path.extension().is_some_and(|end| end == "log");
                // It names the store's format version, which nothing else can tell.
                let is_format = path.file_name().is_some_and(|name| name == "format");
                if !is_log && !is_format {
                    fs::remove_file(path)?;
                }
            }
        }
        self.engine = open(&self.root, &self.settings)?;
        Ok(())
    }

    fn set(&mut self, set: &Set) -> Result<(), Broken> {
        let limits = &mut self.settings.limits;
        limits.answer_lines = set.answer_lines.unwrap_or(limits.answer_lines);
        limits.answer_bytes = set.answer_bytes.unwrap_or(limits.answer_bytes);
        limits.diff_lines = set.diff_lines.unwrap_or(limits.diff_lines);
        limits.diff_bytes = set.diff_bytes.unwrap_or(limits.diff_bytes);
        self.settings.file_bytes = set.file_bytes.unwrap_or(self.settings.file_bytes);
        if let Some(word) = &set.answers {
            self.settings.answers = Answers::parse(word).ok_or("`answers` is `seed`, `held` or `lean`")?;
        }
        if let Some(word) = &set.markers {
            self.settings.limits.markers = Markers::parse(word).ok_or("`markers` is `shorter` or `always`")?;
        }
        if set.refuse_hard_links.is_some() {
            self.settings.hard_links = HardLinks::Refuse;
        }
        self.restart(Keep::All)
    }

    fn object_of(&self, path: &str) -> Result<PathBuf, Broken> {
        let hash = ContentHash::of(&fs::read(self.root.join(path))?);
        Ok(self.root.join(format!("{STORE_NAME}/objects/sha256-{hash}.txt")))
    }

    fn label(&self, label: &str) -> Result<&Labelled, Broken> {
        self.labels.get(label).ok_or_else(|| format!("no step so far is called `{label}`").into())
    }

    /// Remembers an entry under the step's label.
    fn keep(&mut self, step: &Step, entry: EntryId, way: Option<Way>, text: &str) -> Result<(), Broken> {
        if let Some(label) = &step.label {
            let labelled = Labelled { session: named(step)?.clone(), entry, way, text: text.to_owned() };
            if self.labels.insert(label.clone(), labelled).is_some() {
                return Err(format!("two steps are called `{label}`").into());
            }
        } else if way.is_some() {
            return Err("a result that comes later needs a label (`as`)".into());
        }
        Ok(())
    }

    fn conversation(&mut self, session: &SessionName) -> &mut Conversation {
        self.conversations.entry(session.clone()).or_default()
    }
}

pub(super) fn named(step: &Step) -> Result<&SessionName, Broken> {
    step.session.as_ref().ok_or_else(|| "this step needs a session".into())
}

fn open(root: &Path, settings: &Settings) -> Result<Engine, Broken> {
    let home = Some(root.join("home").display().to_string());
    let bearings = Bearings { cwd: root.display().to_string(), home };
    Ok(Engine::new(Root::open(root)?, bearings, settings.clone(), Box::new(|| 0))?)
}

fn copy(from: &Path, to: &Path) -> Result<(), Broken> {
    for path in all_files(from)? {
        let target = to.join(path.strip_prefix(from)?);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(path, target)?;
    }
    Ok(())
}

/// Every file below a folder, sorted; links are not followed.
pub(super) fn all_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(all_files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Changes a file as `how` says.
fn harm(path: &Path, how: &How) -> Result<(), Broken> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let replaced = |old: &str, new: &str, most: usize| -> Result<(), Broken> {
        let text = fs::read_to_string(path)?;
        let count = text.matches(old).count();
        if count == 0 || count > most {
            return Err(format!("{old:?} stands {count} times in {}", path.display()).into());
        }
        Ok(fs::write(path, text.replace(old, new))?)
    };
    match how {
        How::Text(text) => fs::write(path, text)?,
        How::Bytes(bytes) => fs::write(path, bytes)?,
        How::Lines(count) => fs::write(path, (1..=*count).map(|n| format!("line {n}\n")).collect::<String>())?,
        How::Replace(old, new) => replaced(old, new, 1)?,
        How::ReplaceAll(old, new) => replaced(old, new, usize::MAX)?,
        How::Append(text) => fs::write(path, [fs::read(path)?, text.as_bytes().to_vec()].concat())?,
        How::Delete(Yes) => fs::remove_file(path)?,
        How::LinkTo(target) => symlink(target, path)?,
        How::HardLinkTo(other) => fs::hard_link(path.with_file_name(other), path)?,
    }
    Ok(())
}

/// Reads and writes, and what happens to their results.
impl Stage {
    fn read(&mut self, step: &Step, asked: &Asked) -> Result<(), Broken> {
        let request = Read {
            path: asked.of.clone(),
            offset: asked.offset,
            limit: asked.limit,
            freshness: if asked.fresh.is_some() { Freshness::Fresh } else { Freshness::Known },
            audience: if asked.audience == For::Program { Audience::Program } else { Audience::Model },
            partial: Partial::Allowed,
            ..Read::default()
        };
        // The text that the read finds: it is first asked about cancellation before it reads the file, then after.
        let late = asked.meanwhile.as_ref().filter(|meanwhile| meanwhile.at > 1);
        let before = match late.map(|meanwhile| &meanwhile.step) {
            Some(Elsewhere::Outside(harm)) => Some(fs::read_to_string(self.root.join(&harm.of))?),
            Some(Elsewhere::Compact) | None => None,
        };
        let result = self.ask(step, request, asked)?;
        if let Some(Meanwhile { step: Elsewhere::Compact, .. }) = &asked.meanwhile {
            self.conversation(named(step)?).push(Turn::Compacted, None);
        }
        let Some(answer) = self.granted(result) else { return Ok(()) };
        self.out.push_str(&block(&answer));
        let seen = seen(asked, &answer);
        let truth = match before {
            Some(text) => text,
            None => fs::read_to_string(self.root.join(&answer.path))?,
        };
        let mut reader = match (&step.session, asked.audience) {
            (Some(session), For::Model) => self.conversation(session).reader().clone(),
            (None, _) | (_, For::Program) => Reader::default(),
        };
        judge(&mut reader, &seen, &truth)?;
        self.give(step, asked, answer, seen)
    }

    /// Performs the read, and whatever happens between its stages.
    fn ask(&mut self, step: &Step, request: Read, asked: &Asked) -> Result<Result<Logged, Error>, Broken> {
        let other = open(&self.root, &self.settings)?;
        let (count, trouble) = (Cell::new(0), RefCell::new(None));
        let hook = || {
            count.set(count.get() + 1);
            if let Some(meanwhile) = asked.meanwhile.as_ref().filter(|meanwhile| meanwhile.at == count.get()) {
                let done = match (&meanwhile.step, &step.session) {
                    (Elsewhere::Outside(Harm { of, how }), _) => harm(&self.root.join(of), how),
                    (Elsewhere::Compact, Some(session)) => {
                        let compact = Operation::Compact { summary: None };
                        other.ask::<EntryId>(Some(session), compact).map(drop).map_err(Into::into)
                    }
                    (Elsewhere::Compact, None) => Err("a compaction needs a session".into()),
                };
                trouble.replace(done.err());
            }
            asked.abort_at == Some(count.get())
        };
        let result = self.engine.read_while(step.session.as_ref(), request, &hook);
        if let Some(error) = trouble.into_inner() {
            return Err(error);
        }
        let wanted = asked.abort_at.max(asked.meanwhile.as_ref().map(|meanwhile| meanwhile.at));
        if wanted > Some(count.get()) {
            return Err(format!("the read asked only {} times whether to go on", count.get()).into());
        }
        Ok(result)
    }

    /// Adds an answer to its conversation, and delivers it if it is to arrive.
    fn give(&mut self, step: &Step, asked: &Asked, answer: Logged, seen: Seen) -> Result<(), Broken> {
        let Some(receipt) = answer.given else {
            // Not recorded, so never relied on, but the model sees it.
            if let (Some(session), For::Model) = (&step.session, asked.audience) {
                self.conversation(session).push(Turn::Saw(seen), None);
            }
            return Ok(());
        };
        if asked.audience == For::Program {
            self.conversation(&receipt.session).push(Turn::Called { glimpsed: None }, Some(receipt.entry));
            self.engine.delivered(&receipt)?;
            return self.keep(step, receipt.entry, None, &answer.text);
        }
        self.called(step, asked.result, receipt, seen, &answer.text)
    }

    /// Adds a call to the conversation; `fate` says what happens to its result.
    fn called(&mut self, step: &Step, fate: Fate, receipt: Receipt, seen: Seen, text: &str) -> Result<(), Broken> {
        let entry = receipt.entry;
        let glimpsed = (fate == Fate::Unconfirmed).then(|| seen.clone());
        let node = self.conversation(&receipt.session).push(Turn::Called { glimpsed }, Some(entry));
        let way = Way { node, receipt, seen };
        match fate {
            Fate::AtOnce => {
                self.arrive(way)?;
                self.keep(step, entry, None, text)
            }
            Fate::Later => self.keep(step, entry, Some(way), text),
            Fate::Never | Fate::Unconfirmed => self.keep(step, entry, None, text),
        }
    }

    /// Tells the product and shows it to the model: on the branch of its call, wherever the leaf is by now.
    fn arrive(&mut self, way: Way) -> Result<(), Broken> {
        let Way { node, receipt, seen } = way;
        self.engine.delivered(&receipt)?;
        let conversation = self.conversation(&receipt.session);
        let parent = if conversation.is_on_branch(node) { conversation.leaf } else { Some(node) };
        let result = conversation.insert(parent, Turn::Saw(seen), Some(receipt.entry));
        // The host announced the alteration before the result arrived.
        let alteration = conversation.nodes.iter().rev().find_map(|other| match other.turn {
            Turn::Edited { target, how } if target == node => Some(how),
            Turn::Edited { .. } | Turn::Called { .. } | Turn::Saw(_) | Turn::Compacted | Turn::Silent => None,
        });
        if let Some(how) = alteration {
            conversation.insert(Some(result), Turn::Edited { target: result, how }, None);
        }
        Ok(())
    }

    fn deliver(&mut self, label: &str) -> Result<(), Broken> {
        self.label(label)?;
        let way = self.labels.get_mut(label).and_then(|labelled| labelled.way.take());
        self.arrive(way.ok_or_else(|| format!("the result of `{label}` is not on its way"))?)
    }

    fn write(&mut self, step: &Step, path: &str, change: Change, fate: Fate) -> Result<(), Broken> {
        let result = self.engine.write(named(step)?, path, change.clone());
        let Some(written) = self.granted(result) else { return Ok(()) };
        self.say(&match &change {
            Change::Whole(_) => {
                format!("written {}: {} lines, {} bytes", name(&written.path), written.lines, written.bytes)
            }
            Change::Replace { .. }
            | Change::Create(_)
            | Change::Append(_)
            | Change::Edit(_)
            | Change::Delete
            | Change::Move { .. } => written.text.clone(),
        });
        let path = written.path;
        let seen = match change {
            Change::Whole(content) => Seen::Write { path, content },
            Change::Replace { old, new, places } => {
                let replaces = if places == Places::All { Replaces::All } else { Replaces::One };
                Seen::Edit { path, old, new, replaces, answer: written.text }
            }
            Change::Create(_) | Change::Append(_) | Change::Edit(_) | Change::Delete | Change::Move { .. } => {
                return Err("scenarios write and replace".into());
            }
        };
        self.called(step, fate, written.receipt, seen, "")
    }

    /// Several readers at once, each with its own engine and session.
    fn together(&mut self, step: &Step, path: &str, readers: usize) -> Result<(), Broken> {
        let names = (1..=readers).map(|n| SessionName::parse(&format!("{}-{n}", named(step)?)).map_err(Broken::from));
        let names = names.collect::<Result<Vec<_>, Broken>>()?;
        let (root, settings, start) = (&self.root, &self.settings, Barrier::new(readers));
        let read = |name: &SessionName| -> Result<Logged, String> {
            let engine = open(root, settings).map_err(|error| error.to_string());
            start.wait();
            let engine = engine?;
            let request = Read { path: path.to_owned(), ..Read::default() };
            let answer = engine.read(Some(name), request).map_err(|error| refusal(&error, root))?;
            if let Some(receipt) = &answer.given {
                engine.delivered(receipt).map_err(|error| refusal(&error, root))?;
            }
            Ok(answer)
        };
        let answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = names.iter().map(|name| scope.spawn(|| read(name))).collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a reader panicked".to_owned())?).collect()
        });
        let mut blocks = Vec::new();
        for (name, answer) in names.iter().zip(answers) {
            let answer = answer?;
            let asked = Asked { of: path.to_owned(), ..Asked::default() };
            let seen = seen(&asked, &answer);
            judge(&mut Reader::default(), &seen, &fs::read_to_string(self.root.join(&answer.path))?)?;
            self.conversation(name).push(Turn::Saw(seen), answer.given.as_ref().map(|receipt| receipt.entry));
            blocks.push(block(&answer));
        }
        blocks.sort();
        blocks.dedup();
        self.say(&format!("{readers} readers, {} different answers", blocks.len()));
        self.out.push_str(&blocks.concat());
        Ok(())
    }
}

/// What the model sees: the file under the name in the answer, the lines that the call asks for.
fn seen(asked: &Asked, answer: &Logged) -> Seen {
    let suffix = asked.of.rsplit_once(':').map(|(_, suffix)| suffix);
    let suffix = suffix.filter(|suffix| !answer.path.ends_with(&format!(":{suffix}")));
    let numbers = suffix.and_then(|suffix| {
        let (first, last) = suffix.split_once('-').map_or((suffix, None), |(first, last)| (first, Some(last)));
        Some((first.parse::<u64>().ok()?, last.and_then(|last| last.parse::<u64>().ok())))
    });
    let (offset, limit) = match numbers {
        Some((first, last)) => (Some(first), last.map(|last| last - first + 1)),
        None => (asked.offset, asked.limit),
    };
    let rendered = Rendered { text: answer.text.clone(), notices: notices(&answer.notices) };
    Seen::Read { path: answer.path.clone(), offset, limit, answer: rendered }
}

/// The promise: from what is visible and this answer, the lines asked for can be rebuilt byte for byte.
fn judge(reader: &mut Reader, seen: &Seen, truth: &str) -> Result<(), Broken> {
    let Seen::Read { offset, limit, .. } = seen else { return Ok(()) };
    let rebuilt = reader.see(seen).map_err(|complaint| format!("the promise is broken: {complaint}"))?;
    let rebuilt = rebuilt.ok_or("the reader rebuilt nothing")?;
    let first = offset.unwrap_or(1);
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let lines = truth.split_inclusive('\n').skip(count(first - 1)).take(limit.map_or(usize::MAX, count));
    let wanted: String = lines.collect();
    let fits = if rebuilt.cut {
        wanted.starts_with(&rebuilt.text) && rebuilt.text.len() < wanted.len()
    } else {
        rebuilt.text == wanted
    };
    if rebuilt.first == first && fits {
        return Ok(());
    }
    Err(format!("the promise is broken: rebuilt {rebuilt:?}, but the file says {wanted:?}").into())
}

/// The conversation tree, and what the host does to it.
impl Stage {
    /// The entry of a label, the turn of its call, and the turn of its result (the call's if none arrived).
    fn turns(&mut self, step: &Step, label: &str) -> Result<(EntryId, usize, usize), Broken> {
        let session = named(step)?;
        let labelled = self.label(label)?;
        if labelled.session != *session {
            return Err(format!("`{label}` belongs to session {}", labelled.session).into());
        }
        let entry = labelled.entry;
        let nodes = &self.conversation(session).nodes;
        let call = nodes.iter().position(|node| node.entry == Some(entry));
        let result = nodes.iter().rposition(|node| node.entry == Some(entry));
        let (call, result) = call.zip(result).ok_or_else(|| format!("`{label}` is in no conversation"))?;
        Ok((entry, call, result))
    }

    fn branch(&mut self, step: &Step, label: &str) -> Result<(), Broken> {
        let session = named(step)?;
        let to = if label == "root" { None } else { Some(self.turns(step, label)?) };
        let at = to.map(|(entry, _, _)| entry.0);
        self.engine.ask::<Option<EntryId>>(Some(session), Operation::Branch { at })?;
        self.conversation(session).go(to.map(|(_, _, result)| result));
        Ok(())
    }

    fn switch(&mut self, step: &Step, label: &str) -> Result<(), Broken> {
        let session = named(step)?;
        let (entry, call, _) = self.turns(step, label)?;
        self.engine.ask::<Option<EntryId>>(Some(session), Operation::Switch { to: entry.0 })?;
        let talk = self.conversation(session);
        let tip = talk.tip(call);
        talk.go(Some(tip));
        Ok(())
    }

    /// Copies the branch into another session. The entry numbers of the copy are not known here, and no step names them.
    fn fork(&mut self, step: &Step, into: &str) -> Result<(), Broken> {
        let (session, into) = (named(step)?, SessionName::parse(into)?);
        let fork = Operation::Fork { from: None, into: Some(into.to_string()) };
        let result = self.engine.ask(Some(session), fork);
        if self.granted::<SessionName>(result).is_none() {
            return Ok(());
        }
        let conversation = self.conversation(session);
        let path = conversation.path(conversation.leaf);
        let place = |old: usize| path.iter().position(|other| *other == old);
        let mut copy = Conversation::default();
        for at in &path {
            let turn = match conversation.nodes[*at].turn.clone() {
                Turn::Edited { target, how } => {
                    place(target).map_or(Turn::Silent, |target| Turn::Edited { target, how })
                }
                turn @ (Turn::Called { .. } | Turn::Saw(_) | Turn::Compacted | Turn::Silent) => turn,
            };
            let new = copy.push(turn, None);
            if conversation.pruned.contains(at) {
                copy.prune(new);
            }
        }
        self.conversations.insert(into, copy);
        Ok(())
    }

    fn compact(&mut self, step: &Step) -> Result<(), Broken> {
        let session = named(step)?;
        let entry = self.engine.ask(Some(session), Operation::Compact { summary: None })?;
        self.conversation(session).push(Turn::Compacted, Some(entry));
        self.keep(step, entry, None, "")
    }

    fn refresh(&mut self, step: &Step, path: &str, offset: Option<u64>, limit: Option<u64>) -> Result<(), Broken> {
        let session = named(step)?;
        let refresh = Refresh { path: path.to_owned(), offset, limit };
        let result = self.engine.ask(Some(session), Operation::Refresh(refresh));
        let Some(done) = self.granted::<Refreshed>(result) else { return Ok(()) };
        self.say(&format!(
            "refreshed {} of {}",
            done.scope,
            done.paths.iter().map(|path| name(path)).collect::<Vec<_>>().join(", ")
        ));
        let entry = done.entry.ok_or("the refresh was not recorded")?;
        self.conversation(session).push(Turn::Silent, Some(entry));
        self.keep(step, entry, None, "")
    }

    fn context_edit(&mut self, step: &Step, label: &str, shows: &Shows) -> Result<(), Broken> {
        let session = named(step)?;
        let (target, _, result) = self.turns(step, label)?;
        let original = self.label(label)?.text.clone();
        let (how, text) = match shows {
            Shows::Nothing => (Alteration::Dropped, None),
            Shows::Original => (Alteration::Restored, Some(original)),
            Shows::Text(text) => (Alteration::Replaced, Some(text.clone())),
        };
        let entry = self.engine.ask(Some(session), Operation::EditContext { target: target.0, text })?;
        self.conversation(session).push(Turn::Edited { target: result, how }, Some(entry));
        self.keep(step, entry, None, "")
    }

    /// The host leaves a result out of its requests, and this is noticed.
    fn prune(&mut self, step: &Step, label: &str) -> Result<(), Broken> {
        let session = named(step)?;
        let (_, _, result) = self.turns(step, label)?;
        let why = "a result was missing from a request".to_owned();
        self.engine.ask::<EntryId>(Some(session), Operation::Distrust { why })?;
        self.conversation(session).prune(result);
        Ok(())
    }

    /// Appends a record as another or a later program would.
    fn log_append(&mut self, step: &Step, record: &Value) -> Result<(), Broken> {
        let store = LocalStore::open_existing(&Root::open(&self.root)?)?.ok_or("there is no store yet")?;
        let log = store.logs().open(&LogName::from(named(step)?), Create::No)?;
        let mut log = log.ok_or("there is no such session yet")?;
        log.catch_up()?;
        let last = log.lines();
        let payload = match record.as_str() {
            Some(text) => text.to_owned(),
            None => self.filled(record, last)?.to_string(),
        };
        log.append(&payload)?;
        Ok(())
    }

    /// Fills in the number of the last line for `LAST_LINE` and the file's hash for `HASH_OF path`.
    fn filled(&self, value: &Value, last: u64) -> Result<Value, Broken> {
        Ok(match value {
            Value::String(text) if text == "LAST_LINE" => Value::from(last),
            Value::String(text) => match text.strip_prefix("HASH_OF ") {
                Some(path) => Value::from(ContentHash::of(&fs::read(self.root.join(path))?).to_string()),
                None => value.clone(),
            },
            Value::Object(map) => {
                let filled = map.iter().map(|(key, value)| Ok((key.clone(), self.filled(value, last)?)));
                Value::Object(filled.collect::<Result<Map<_, _>, Broken>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.clone(),
        })
    }
}
