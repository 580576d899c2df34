//! Knowledge at random leaves against a slow, plain derivation: for every leaf the branch is walked from its root, the
//! barrier found, the context edits collected, and the rest applied to empty knowledge. It shares nothing with the product
//! but core's events; the generator knows what each of its lines means.

use readproof_core::{
    knowledge::{Event, Held, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, Text},
};
use readproof_hosts::pi::{Known, Source, Transcript};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::session::{HEADER, Stored, extras, meta, ranged};

/// A generated entry and what it means.
struct Generated {
    parent: Option<usize>,
    meaning: Meaning,
}

enum Meaning {
    Nothing,
    Calls(Vec<Call>),
    /// The result of a call: what a read shows (`None`: it failed), or whether a change succeeded.
    Read {
        call: usize,
        shown: Option<(Event, Option<ContentHash>)>,
    },
    Changed {
        call: usize,
        done: bool,
    },
    Refreshed(Event),
    Compacted,
    ContextEdit {
        target: usize,
    },
}

#[derive(Clone)]
struct Call {
    number: usize,
    path: PathKey,
    what: What,
}

#[derive(Clone)]
enum What {
    Read,
    Write(String),
    Edit(String, String),
}

/// Knowledge at a leaf, the slow way.
fn derived(entries: &[Generated], leaf: usize, objects: &BTreeMap<ContentHash, Text>) -> Knowledge {
    let mut branch = vec![leaf];
    while let Some(parent) = entries[branch[branch.len() - 1]].parent {
        branch.push(parent);
    }
    branch.reverse();
    let barrier = branch.iter().rposition(|at| matches!(entries[*at].meaning, Meaning::Compacted));
    let branch = &branch[barrier.map_or(0, |at| at + 1)..];
    let mut altered = BTreeSet::new();
    for at in branch {
        if let Meaning::ContextEdit { target } = entries[*at].meaning
            && branch.contains(&target)
        {
            altered.insert(target);
        }
    }
    let mut knowledge = Knowledge::default();
    let mut open: Vec<(Call, Option<Text>)> = Vec::new();
    for at in branch {
        let mut apply = |event: &Event| knowledge.apply(*at as u64, event, Answers::Held);
        match &entries[*at].meaning {
            Meaning::Nothing | Meaning::Compacted | Meaning::ContextEdit { .. } => {}
            Meaning::Refreshed(event) => apply(event),
            Meaning::Calls(calls) => open = called(&mut knowledge, *at, calls, altered.contains(at), objects),
            Meaning::Read { call, shown } => {
                let known = open.iter().position(|(open, _)| open.number == *call).map(|at| open.remove(at));
                let Some((event, ends)) = shown else { continue };
                let path = path_of(event);
                let beside = open.iter().any(|(other, _)| !matches!(other.what, What::Read) && other.path == *path);
                let ends = ends
                    .is_none_or(|ends| knowledge.of(path).iter().any(|held| held.end() && held.version().hash == ends));
                let counts = known.is_some() && !altered.contains(at) && !beside && ends;
                let void = Event::Void { path: path.clone() };
                knowledge.apply(*at as u64, if counts { event } else { &void }, Answers::Held);
            }
            Meaning::Changed { call, done } => {
                let Some(known) = open.iter().position(|(open, _)| open.number == *call) else { continue };
                let (call, after) = open.remove(known);
                let path = call.path.clone();
                apply(&match after {
                    Some(text) if *done && !altered.contains(at) => Event::Written { path, version: text.version() },
                    _ => Event::Void { path },
                });
            }
        }
    }
    knowledge
}

/// The calls of a message with the text each leads to, if it succeeds.
fn called(
    knowledge: &mut Knowledge,
    at: usize,
    calls: &[Call],
    altered: bool,
    objects: &BTreeMap<ContentHash, Text>,
) -> Vec<(Call, Option<Text>)> {
    let mut open = Vec::new();
    for call in calls {
        let changes = |call: &Call| !matches!(call.what, What::Read);
        let alone = calls.iter().filter(|other| changes(other) && other.path == call.path).count() == 1;
        let after = match &call.what {
            What::Read => None,
            What::Write(content) => Some(Text::new(content.clone())),
            What::Edit(old, new) => {
                let held = knowledge.holds_whole(&call.path, Form::Disk, Answers::Held);
                let before = held.and_then(|held| objects.get(&held.hash)).map(Text::as_str);
                let once = before.filter(|before| before.matches(old.as_str()).count() == 1);
                once.map(|before| Text::new(before.replacen(old.as_str(), new, 1)))
            }
        };
        if changes(call) || altered {
            knowledge.apply(at as u64, &Event::Void { path: call.path.clone() }, Answers::Held);
        }
        if !altered {
            open.push((call.clone(), after.filter(|_| alone)));
        }
    }
    open
}

fn path_of(event: &Event) -> &PathKey {
    match event {
        Event::Shown { path, .. } | Event::Same { path, .. } | Event::Diff { path, .. } | Event::Void { path } => path,
        Event::MarkerSent { .. }
        | Event::Partial { .. }
        | Event::Written { .. }
        | Event::Edited { .. }
        | Event::Seen { .. }
        | Event::Alike { .. }
        | Event::Refreshed { .. }
        | Event::Compacted => {
            panic!("no read makes {event:?}")
        }
    }
}

/// Generates a long conversation, the same for the same seed.
struct Generator {
    random: u64,
    entries: Vec<Generated>,
    lines: Vec<String>,
    leaf: Option<usize>,
    files: Vec<Vec<Text>>,
    stored: Stored,
    words: usize,
    calls: usize,
    /// There are few entries, so odd things must happen more often.
    short: bool,
}

const FILES: usize = 60;

impl Generator {
    fn new(seed: u64) -> Self {
        let mut generator = Self {
            random: seed,
            entries: Vec::new(),
            lines: vec![HEADER.to_owned()],
            leaf: None,
            files: vec![Vec::new(); FILES],
            stored: Stored::default(),
            words: 0,
            calls: 0,
            short: false,
        };
        for file in 0..FILES {
            let text: String = (0..generator.below(8)).map(|_| generator.word()).collect();
            generator.change(file, text);
        }
        generator
    }

    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).unwrap() % n
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn word(&mut self) -> String {
        self.words += 1;
        if self.chance(12) { "same\n".to_owned() } else { format!("<{}>\n", self.words) }
    }

    fn change(&mut self, file: usize, text: String) -> Text {
        let text = Text::new(text);
        self.stored.objects.insert(text.hash(), text.clone());
        self.files[file].push(text.clone());
        text
    }

    /// Someone else changes a file: a line changes, is added or goes.
    fn touch(&mut self, file: usize) {
        let now = self.files[file].last().unwrap().clone();
        let mut lines: Vec<String> = (1..=now.total()).map(|n| now.line(n).to_owned()).collect();
        let at = self.below(lines.len() + 1);
        let word = self.word();
        match self.below(3) {
            0 if at < lines.len() => lines[at] = word,
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if lines.len() < 10 => lines.insert(at, word),
            _ => lines.truncate(2),
        }
        self.change(file, lines.concat());
    }

    fn now(&self, file: usize) -> Text {
        self.files[file].last().unwrap().clone()
    }

    fn id(at: usize) -> String {
        format!("{:08x}", at.wrapping_mul(0x9e37_79b1) & 0xffff_ffff)
    }

    fn push(&mut self, kind: &str, more: &Value, meaning: Meaning) -> usize {
        let at = self.entries.len();
        let parent = self.leaf.map(Self::id);
        let mut entry = json!({"type": kind, "id": Self::id(at), "parentId": parent, "timestamp": "t"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.lines.push(entry.to_string());
        self.entries.push(Generated { parent: self.leaf, meaning });
        self.leaf = Some(at);
        at
    }

    fn message(&mut self, message: &Value, meaning: Meaning) -> usize {
        self.push("message", &json!({ "message": message }), meaning)
    }

    fn noise(&mut self) {
        let text = json!([{"type": "text", "text": "some words about \"read\" and\nlines"}]);
        let at = match self.below(5) {
            0 => self.push("label", &json!({"targetId": "x", "label": "y"}), Meaning::Nothing),
            1 => self.push("branch_summary", &json!({"fromId": "x", "summary": "z"}), Meaning::Nothing),
            2 => self.message(&json!({"role": "user", "content": text}), Meaning::Nothing),
            3 => self.message(&json!({"role": "assistant", "content": text}), Meaning::Nothing),
            _ => self.message(
                &json!({"role": "toolResult", "toolCallId": "b", "toolName": "bash", "content": text, "isError": false}),
                Meaning::Nothing,
            ),
        };
        self.leaf = Some(at);
    }

    /// A message with one to three calls, and most of their results.
    fn turn(&mut self) {
        let count = 1 + self.below(3);
        let crowd = if self.chance(8) { 2 } else { FILES };
        let calls: Vec<(usize, Call)> = (0..count).map(|_| self.call(crowd)).collect();
        let content: Vec<Value> = calls.iter().map(|(_, call)| written(call)).collect();
        let meaning = Meaning::Calls(calls.iter().map(|(_, call)| call.clone()).collect());
        self.message(&json!({"role": "assistant", "content": content}), meaning);
        if self.short && self.chance(40) {
            // Between a call and its result.
            self.push("compaction", &json!({"summary": "s"}), Meaning::Compacted);
        }
        for (file, call) in calls {
            if !self.chance(20) {
                self.result(file, &call);
            }
        }
    }

    fn call(&mut self, crowd: usize) -> (usize, Call) {
        let file = self.below(crowd);
        self.calls += 1;
        let what = match self.below(8) {
            0 => What::Write((0..self.below(6)).map(|_| self.word()).collect()),
            1 => {
                let now = self.now(file);
                let line = u32::try_from(self.below(10)).unwrap() + 1;
                let old = now.line(line).trim_end().to_owned();
                What::Edit(if old.is_empty() { "nowhere".to_owned() } else { old }, self.word().trim_end().to_owned())
            }
            _ => What::Read,
        };
        (file, Call { number: self.calls, path: PathKey::new(&format!("/w/f{file}")), what })
    }

    fn result(&mut self, file: usize, call: &Call) {
        let failed = self.chance(15);
        let (tool, text, meta, meaning) = match &call.what {
            What::Read if failed => {
                ("read", "ENOENT".to_owned(), None, Meaning::Read { call: call.number, shown: None })
            }
            What::Read => {
                let (text, meta, event, ends) = self.answer(file, &call.path);
                ("read", text, meta, Meaning::Read { call: call.number, shown: Some((event, ends)) })
            }
            What::Write(content) => {
                self.change(file, content.clone());
                ("write", "ok".to_owned(), None, Meaning::Changed { call: call.number, done: !failed })
            }
            What::Edit(old, new) => {
                let after = self.now(file).as_str().replacen(old.as_str(), new, 1);
                self.change(file, after);
                ("edit", "ok".to_owned(), None, Meaning::Changed { call: call.number, done: !failed })
            }
        };
        let details = meta.map(|meta| json!({ "readcache": meta }));
        let message = json!({
            "role": "toolResult", "toolCallId": format!("c{}", call.number), "toolName": tool,
            "content": [{"type": "text", "text": text}], "details": details, "isError": failed,
        });
        self.message(&message, meaning);
    }

    /// How a read is answered: block, metadata, what it does, and the text whose end it needs.
    fn answer(&mut self, file: usize, path: &PathKey) -> (String, Option<Value>, Event, Option<ContentHash>) {
        let now = self.now(file);
        let (version, total, path) = (now.version(), now.total(), path.clone());
        let name = path.as_str().strip_prefix("/w/").unwrap().to_owned();
        let void = Event::Void { path: path.clone() };
        let shown = |lines, end| Event::Shown { path: path.clone(), version, lines, end, part: None };
        let plain = meta(&name, &now, "full", None);
        match self.below(9) {
            0 => (now.as_str().to_owned(), None, void, None),
            1 => (format!("{}!", now.as_str()), Some(plain), void, None),
            2 | 3 if total > 1 => {
                let to = 1 + u32::try_from(self.below(total as usize - 1)).unwrap();
                let lines = Lines::new(1, to).unwrap();
                let (body, next, all) = (now.slice(lines).trim_end_matches('\n'), to + 1, total + 1);
                let text = format!("{body}\n\n[Showing lines 1-{to} of {all}. Use offset={next} to continue.]");
                let mut meta = plain;
                if self.chance(2) {
                    meta = extras(ranged(meta, 1, u64::from(to)), &text, total, Some((1, to)), false);
                }
                (text, Some(meta), shown(Some(lines), false), None)
            }
            4 | 5 => {
                let base = self.older(file);
                let text = "[readcache: a diff]\n--- a".to_owned();
                let meta = extras(meta(&name, &now, "diff", Some(&base)), &text, total, None, false);
                (text, Some(meta), Event::Diff { path, base: base.hash(), version }, None)
            }
            6 => {
                let text = format!("[readcache: unchanged, {} lines]", total + 1);
                let meta = meta(&name, &now, "unchanged", Some(&now));
                let event = Event::Same { path, base: now.hash(), version, scope: Scope::Full, ends: true };
                (text, Some(meta), event, Some(now.hash()))
            }
            7 if total > 0 => {
                let base = self.older(file);
                let text = "[readcache: a range]".to_owned();
                let lines = Lines::new(1, 1 + u32::try_from(self.below(total as usize)).unwrap()).unwrap();
                let scope = Scope::Lines(lines);
                let range = ranged(meta(&name, &now, "unchanged_range", Some(&base)), 1, u64::from(lines.last()));
                let meta = extras(range, &text, total, Some((1, lines.last())), false);
                (text, Some(meta), Event::Same { path, base: base.hash(), version, scope, ends: false }, None)
            }
            // It is not known what a transport makes of a blank text.
            _ if now.as_str().trim().is_empty() => (now.as_str().to_owned(), Some(plain), void, None),
            _ => (now.as_str().to_owned(), Some(plain), shown(Lines::new(1, total), true), None),
        }
    }

    /// A text the file had a short while ago, often the one it has.
    fn older(&mut self, file: usize) -> Text {
        let texts = self.files[file].len();
        let back = self.below(3).min(texts - 1);
        self.files[file][texts - 1 - back].clone()
    }

    fn context_edit(&mut self) {
        let target = self.entries.len() - 1 - self.below(self.entries.len().min(400));
        let same = self.chance(4);
        let block = if let (true, Meaning::Read { .. }) = (same, &self.entries[target].meaning) {
            let line: Value = serde_json::from_str(&self.lines[target + 1]).unwrap();
            line["message"]["content"].clone()
        } else {
            Value::Null
        };
        let same = same && !block.is_null();
        let replacement = if same { json!({ "content": block }) } else { Value::Null };
        let more = json!({"targetId": Self::id(target), "replacement": replacement});
        self.push("context_edit", &more, Meaning::ContextEdit { target });
    }

    fn refresh(&mut self) {
        let path = format!("/w/f{}", self.below(FILES));
        let first = 1 + u32::try_from(self.below(5)).unwrap();
        let scope = if self.chance(3) { Scope::Full } else { Scope::Lines(Lines::new(first, first + 1).unwrap()) };
        let data = json!({"v": 1, "kind": "invalidate", "pathKey": path, "scopeKey": scope.to_string(), "at": 0});
        let event = Event::Refreshed { paths: vec![PathKey::new(&path)], scope };
        self.push("custom", &json!({"customType": "pi-readcache", "data": data}), Meaning::Refreshed(event));
    }
}

fn written(call: &Call) -> Value {
    let path = call.path.as_str().strip_prefix("/w/").unwrap();
    let (name, arguments) = match &call.what {
        What::Read => ("read", json!({ "path": path })),
        What::Write(content) => ("write", json!({"path": path, "content": content})),
        What::Edit(old, new) => ("edit", json!({"path": path, "edits": [{"oldText": old, "newText": new}]})),
    };
    json!({"type": "toolCall", "id": format!("c{}", call.number), "name": name, "arguments": arguments})
}

/// A conversation with this many entries.
fn generated(seed: u64, entries: usize, branches: usize, compactions: usize) -> Generator {
    let mut g = Generator::new(seed);
    g.short = entries < 1000;
    let due = |done: usize, all: usize, times: usize| done < times && (done + 1) * entries / (times + 1) <= all;
    let (mut moved, mut compacted) = (0, 0);
    while g.entries.len() < entries {
        match g.below(40) {
            0 => g.refresh(),
            1 if g.entries.len() > 10 && (g.short || g.chance(4)) => g.context_edit(),
            2..=5 => {
                let file = g.below(FILES);
                g.touch(file);
            }
            6..=18 => g.noise(),
            _ => g.turn(),
        }
        if due(compacted, g.entries.len(), compactions) {
            compacted += 1;
            g.push("compaction", &json!({"summary": "s"}), Meaning::Compacted);
        }
        if due(moved, g.entries.len(), branches) {
            moved += 1;
            g.leaf = Some(g.below(g.entries.len()));
        }
    }
    g
}

/// Every file and what is held of it.
type Listed = Vec<(PathKey, Vec<Held>)>;

fn listed(knowledge: &Knowledge) -> Listed {
    knowledge.paths().map(|(path, held)| (path.clone(), held.to_vec())).collect()
}

fn listed_at(known: Known<'_>) -> Listed {
    known.files().flat_map(|(_, knowledge)| listed(knowledge)).collect()
}

/// Stored texts without a file.
struct Objects<'a>(&'a BTreeMap<ContentHash, Text>);

impl Source for Objects<'_> {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        self.0.get(&hash).cloned()
    }

    fn appended(&self, _at: u64, _len: usize) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Takes a conversation in piece by piece, and again entry by entry, and compares at random leaves. Gives the number of
/// spans held there.
fn compare(mut g: Generator, leaves: usize) -> usize {
    let mut transcript = Transcript::new(Answers::Held, None);
    let mut pushed = Transcript::new(Answers::Held, None);
    for piece in g.lines.chunks(777) {
        let piece = piece.join("\n") + "\n";
        g.stored.bytes.extend_from_slice(piece.as_bytes());
        transcript.append(piece.as_bytes());
    }
    for line in &g.lines {
        pushed.push(line.as_bytes(), &Objects(&g.stored.objects));
        pushed.push(line.as_bytes(), &Objects(&g.stored.objects));
    }
    assert_eq!(pushed.counts().entries, g.entries.len(), "each counts once");
    assert_eq!((transcript.counts().entries, transcript.counts().skipped), (g.entries.len(), 0));
    let mut spans = 0;
    for _ in 0..leaves {
        let leaf = g.below(g.entries.len());
        let id = Generator::id(leaf);
        let fast = listed_at(transcript.known(&id, &g.stored).unwrap());
        let slow = listed(&derived(&g.entries, leaf, &g.stored.objects));
        assert_eq!(fast, slow, "at entry {leaf}");
        let from_wire = listed_at(pushed.known(&id, &Objects(&g.stored.objects)).unwrap());
        assert_eq!(from_wire, slow, "at entry {leaf}, without a file");
        spans += fast.iter().map(|(_, held)| held.len()).sum::<usize>();
    }
    spans
}

#[test]
fn small_conversations_agree_at_every_seed() {
    for seed in 0..100 {
        compare(generated(seed, 300, 6, 2), 60);
    }
}

#[test]
fn a_long_conversation_agrees_at_random_leaves() {
    let g = generated(1, 100_000, 50, 20);
    assert!(compare(g, 200) > 2000, "much is held, or this shows little");
}
