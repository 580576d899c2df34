//! One pi session as the harness keeps it: a tree of entries as pi writes them, what the model can see of them at the leaf,
//! and what was sent to the product. Everything the judge is told comes from here, and nothing from the product.

use readproof_engine::{Engine, PiConversation};
use readproof_reader::pi::{Asks, Call, Judge, Place, Seen};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::world::Broken;

/// What an entry means to the model.
#[derive(Clone)]
pub(super) enum What {
    /// Nothing about files.
    Nothing,
    /// A message with these calls.
    Calls(Vec<Call>),
    /// A result.
    Result(ResultOf),
    /// A compaction: the barrier.
    Compaction,
    /// The model sees another entry differently: not at all, or with this text.
    Edit { target: usize, shown: Option<String> },
    /// Fresh text was asked for.
    Refreshed { paths: Vec<String>, lines: Option<(u64, u64)> },
    /// A program printed parts of these files.
    Printed { paths: Vec<String> },
    /// A shell printed this text of the file with these names.
    Shell { paths: Vec<String>, text: Arc<str> },
}

impl What {
    /// The result it is.
    pub(super) fn result(&self) -> Option<&ResultOf> {
        if let Self::Result(result) = self { Some(result) } else { None }
    }

    /// What a shell printed: the names of the file, and the text.
    fn shell(&self) -> Option<(&[String], &str)> {
        if let Self::Shell { paths, text } = self { Some((paths, text)) } else { None }
    }
}

/// The result of a call.
#[derive(Clone)]
pub(super) struct ResultOf {
    pub(super) call: String,
    pub(super) reads: bool,
    pub(super) text: Option<String>,
    pub(super) failed: bool,
    /// Whether it may count as seen.
    pub(super) counted: bool,
    /// The name and the text of the file a read was answered from.
    pub(super) served: Option<(&'static str, Arc<str>)>,
}

impl ResultOf {
    fn is_blank(&self) -> bool {
        self.text.as_ref().is_some_and(|text| text.trim_matches('\u{feff}').trim().is_empty())
    }
}

/// An entry in its place.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) id: String,
    parent: Option<usize>,
    line: String,
    pub(super) what: What,
}

/// An extension that prunes results from each request; the session keeps them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruner {
    /// How many of the latest results it leaves alone.
    pub(super) keep: usize,
    pub(super) which: Pruned,
    /// Whether it removes a whole result, or only its text.
    pub(super) drops: bool,
}

/// Which results are pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pruned {
    All,
    /// Those without text.
    Blank,
    /// Those that do not count as held anyway.
    Uncounted,
}

/// What pi's transports for OpenAI and Mistral send instead of a blank text.
const NO_OUTPUT: &str = "(no tool output)";

/// How entries reach the product.
enum Way {
    /// Each is sent separately.
    Sent,
    /// They are read from a file.
    File(PathBuf),
}

/// One session.
pub(super) struct Session {
    pub(super) nodes: Vec<Node>,
    pub(super) leaf: Option<usize>,
    pub(super) talk: PiConversation,
    header: String,
    way: Way,
    /// Whether texts are stored only after an answer is given.
    later: bool,
    /// How many entries were sent.
    sent: usize,
    /// Ids are never reused, not even in forks.
    next: u32,
    /// Whether the product was told that the host prunes.
    pub(super) distrusted: bool,
    /// Whether the next entries are sent in the wrong order.
    pub(super) out_of_order: bool,
    /// Whether some were: then the product knows less than there is until the process ends.
    disordered: bool,
    /// Whether there are records of the older tool, which count only while their texts are stored.
    pub(super) older: bool,
    pub(super) pruner: Option<Pruner>,
    /// The entries of the latest request: a later pruner removes nothing from it.
    requested: usize,
    /// Whether the transport replaces a blank text.
    names_blanks: bool,
    place: Place,
    judge: Option<(usize, Judge)>,
}

impl Session {
    pub(super) fn new(number: usize, engine: &Engine, place: Place) -> Self {
        let header = json!({ "type": "session", "version": 3, "id": format!("s{number}"), "cwd": place.cwd });
        let mut session = Self {
            nodes: Vec::new(),
            leaf: None,
            talk: PiConversation::new(engine),
            header: header.to_string(),
            way: Way::Sent,
            later: number % 2 == 1,
            sent: 0,
            next: 0x9a00_0000,
            distrusted: false,
            out_of_order: false,
            disordered: false,
            older: false,
            pruner: None,
            requested: 0,
            names_blanks: number.is_multiple_of(2),
            place,
            judge: None,
        };
        session.begin();
        session
    }

    /// The first message of a process.
    fn begin(&mut self) {
        if self.later {
            self.talk.store_later();
        }
        self.talk.push(self.header.as_bytes());
    }

    /// A fork of this session up to the leaf; all its entries are still to be sent.
    pub(super) fn fork(&self, number: usize, engine: &Engine) -> Self {
        let mut fork = Self::new(number, engine, self.place.clone());
        let branch = self.branch(self.leaf);
        let moved: BTreeMap<usize, usize> = branch.iter().copied().zip(0..).collect();
        for at in branch {
            let mut node = self.nodes[at].clone();
            node.parent = node.parent.and_then(|parent| moved.get(&parent).copied());
            if let What::Edit { target, .. } = &mut node.what {
                // An edit of another branch's entry means nothing here.
                match moved.get(target) {
                    Some(at) => *target = *at,
                    None => node.what = What::Nothing,
                }
            }
            fork.nodes.push(node);
        }
        fork.leaf = fork.nodes.len().checked_sub(1);
        (fork.next, fork.older, fork.pruner) = (self.next, self.older, self.pruner);
        fork
    }

    pub(super) fn leaf_id(&self) -> Option<String> {
        self.leaf.map(|leaf| self.nodes[leaf].id.clone())
    }

    /// Whether the product may later learn more than it knows now.
    pub(super) fn is_known_in_part(&self) -> bool {
        self.disordered || self.older
    }

    /// Appends an entry after the leaf; it becomes the leaf. `more` are its other fields.
    pub(super) fn append(&mut self, kind: &str, more: &str, what: What) -> usize {
        let at = self.nodes.len();
        let id = format!("{:08x}", self.next);
        self.next += 1;
        let parent = self.leaf.map_or("null".to_owned(), |leaf| format!("\"{}\"", self.nodes[leaf].id));
        let line = format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"t",{more}}}"#);
        // Sometimes in another order, which JSON allows.
        let line = match serde_json::from_str::<Value>(&line) {
            Ok(value) if at % 7 == 3 => value.to_string(),
            Ok(_) | Err(_) => line,
        };
        self.nodes.push(Node { id, parent: self.leaf, line, what });
        self.leaf = Some(at);
        at
    }

    /// The entries from the first to this one.
    pub(super) fn branch(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut branch: Vec<usize> = std::iter::successors(leaf, |at| self.nodes[*at].parent).collect();
        branch.reverse();
        branch
    }

    /// The same since the latest compaction, without it.
    pub(super) fn window(&self) -> Vec<usize> {
        let branch = self.branch(self.leaf);
        let barrier = branch.iter().rposition(|at| matches!(self.nodes[*at].what, What::Compaction));
        branch[barrier.map_or(0, |barrier| barrier + 1)..].to_vec()
    }

    /// A judge that sees what the model sees at the leaf.
    pub(super) fn judge(&mut self) -> &Judge {
        let window = self.window();
        let known =
            self.judge.take().and_then(|(at, judge)| Some((window.iter().position(|other| *other == at)?, judge)));
        let is_edit = |at: &usize| matches!(self.nodes[*at].what, What::Edit { .. });
        let (from, mut judge) = match known {
            Some((last, judge)) if self.pruner.is_none() && !window[last + 1..].iter().any(is_edit) => {
                (last + 1, judge)
            }
            Some(_) | None => (0, Judge::new(self.place.clone())),
        };
        let requested = window.partition_point(|at| *at < self.requested);
        let pruned = self.pruned(&window[..requested]);
        let mut shown: BTreeMap<usize, &Option<String>> = window.iter().filter_map(|at| self.edit_at(*at)).collect();
        shown.extend(pruned.iter().map(|(at, text)| (*at, text)));
        for (index, at) in window.iter().enumerate().skip(from) {
            self.sees(&mut judge, &window[..=index], &shown, None);
            self.sees_again(&mut judge, &window[..=index], *at, &shown);
        }
        // When the pruner is unloaded, what it removed becomes visible again.
        let at = window.last().copied().filter(|_| self.pruner.is_none()).unwrap_or(usize::MAX);
        &self.judge.insert((at, judge)).1
    }

    /// The judge sees the last entry of a window, unless a shell printed `but` there.
    fn sees(&self, judge: &mut Judge, window: &[usize], shown: &BTreeMap<usize, &Option<String>>, but: Option<&str>) {
        let Some(at) = window.last() else { return };
        if but.is_some() && self.nodes[*at].what.shell().map(|(_, text)| text) == but {
            return;
        }
        for seen in self.seen(*at, shown.get(at).copied()) {
            judge.see(&seen);
        }
    }

    /// A short answer about a text that a shell had shown: what leads to that text is not contradicted by it, so the answer
    /// placed its lines, and they are in sight from there on. What else was held, the shell's text contradicts as before.
    fn sees_again(&self, judge: &mut Judge, window: &[usize], at: usize, shown: &BTreeMap<usize, &Option<String>>) {
        let Some((_, text)) = self.nodes[at].what.result().and_then(|result| result.served.as_ref()) else { return };
        let of_text = |at: &usize| self.nodes[*at].what.shell().filter(|(_, printed)| **printed == **text);
        let Some((paths, printed)) = window.iter().rev().find_map(of_text) else { return };
        let lost: Vec<&String> = paths.iter().filter(|path| !judge.sees(path)).collect();
        if lost.is_empty() {
            return;
        }
        let mut other = Judge::new(self.place.clone());
        for index in 0..window.len() {
            self.sees(&mut other, &window[..=index], shown, Some(text));
        }
        for path in lost {
            other.see(&Seen::Printed { path: path.clone(), text: printed.to_owned() });
            judge.adopt(&other, path);
        }
    }

    /// The same for an answer about one of these texts: that a shell showed the very text contradicts nothing that leads to it.
    pub(super) fn judge_of(&mut self, truths: &[String]) -> Judge {
        let is_truth = |at: &usize| {
            self.nodes[*at].what.shell().is_some_and(|(_, text)| truths.iter().any(|truth| truth.as_str() == text))
        };
        let same: Vec<usize> = self.window().into_iter().filter(is_truth).collect();
        if same.is_empty() {
            return self.judge().clone();
        }
        let shells: Vec<What> =
            same.iter().map(|at| std::mem::replace(&mut self.nodes[*at].what, What::Nothing)).collect();
        self.judge = None;
        let judge = self.judge().clone();
        self.judge = None;
        for (at, shell) in same.into_iter().zip(shells) {
            self.nodes[at].what = shell;
        }
        judge
    }

    /// The files of which a shell printed a text since the latest compaction.
    pub(super) fn shown_by_shells(&self) -> Vec<String> {
        let shells = self.window().into_iter().filter_map(|at| self.nodes[at].what.shell());
        shells.flat_map(|(paths, _)| paths.iter().cloned()).collect()
    }

    /// The results that the pruner changes, and what the model sees of each.
    fn pruned(&self, window: &[usize]) -> BTreeMap<usize, Option<String>> {
        let Some(Pruner { keep, which, drops }) = self.pruner else { return BTreeMap::new() };
        let result = |at: &usize| self.nodes[*at].what.result().map(|result| (*at, result));
        let results: Vec<(usize, &ResultOf)> = window.iter().filter_map(result).collect();
        let old = &results[..results.len().saturating_sub(keep)];
        let fits = |result: &ResultOf| match which {
            Pruned::All => true,
            Pruned::Blank => result.is_blank(),
            Pruned::Uncounted => !result.counted,
        };
        let shown = || (!drops).then(|| "[pruned]".to_owned());
        old.iter().filter(|(_, result)| fits(result)).map(|(at, _)| (*at, shown())).collect()
    }

    /// A request is made, and the extension checks whether it carries every result that may count, each for its own call
    /// and as a whole block. What it finds is all that the product is told.
    pub(super) fn request(&mut self) {
        let window = self.window();
        self.requested = self.nodes.len();
        let edited: Vec<usize> = window.iter().filter_map(|at| Some(self.edit_at(*at)?.0)).collect();
        let is_due = |at: &usize| {
            let counts = |result: &ResultOf| result.counted && !result.is_blank();
            self.nodes[*at].what.result().is_some_and(counts) && !edited.contains(at)
        };
        if self.pruned(&window).keys().any(is_due) {
            self.distrusted = true;
            self.talk.distrust();
        }
    }

    fn edit_at(&self, at: usize) -> Option<(usize, &Option<String>)> {
        if let What::Edit { target, shown } = &self.nodes[at].what { Some((*target, shown)) } else { None }
    }

    /// What the model sees of an entry; `shown` is its text after a context edit.
    fn seen(&self, at: usize, shown: Option<&Option<String>>) -> Vec<Seen> {
        match (&self.nodes[at].what, shown) {
            (What::Calls(calls), None) => vec![Seen::Calls(calls.clone())],
            // Results whose calls are not visible belong to no known file.
            (What::Calls(_), Some(_)) => vec![Seen::Calls(Vec::new())],
            (What::Result(result), None) => {
                let named = self.names_blanks && result.is_blank();
                let text = if named { Some(NO_OUTPUT.to_owned()) } else { result.text.clone() };
                vec![Seen::Result { call: result.call.clone(), text, failed: result.failed }]
            }
            (What::Result(result), Some(shown)) => {
                // Another text does not say that a change succeeded.
                let failed = result.failed || shown.is_none() || (!result.reads && *shown != result.text);
                vec![Seen::Result { call: result.call.clone(), text: shown.clone(), failed }]
            }
            (What::Refreshed { paths, lines }, _) => {
                paths.iter().map(|path| Seen::Refreshed { path: path.clone(), lines: *lines }).collect()
            }
            // What it printed is newer than what was seen before, and has no line numbers.
            (What::Printed { paths }, _) => {
                paths.iter().map(|path| Seen::Refreshed { path: path.clone(), lines: None }).collect()
            }
            (What::Shell { paths, text }, _) => {
                paths.iter().map(|path| Seen::Printed { path: path.clone(), text: text.to_string() }).collect()
            }
            (What::Nothing | What::Compaction | What::Edit { .. }, _) => Vec::new(),
        }
    }

    /// Sends the entries not sent yet, except the last `late` ones.
    pub(super) fn send(&mut self, late: usize) -> Result<(), Broken> {
        let to = self.nodes.len().saturating_sub(late).max(self.sent);
        let mut order: Vec<usize> = (self.sent..to).collect();
        if std::mem::take(&mut self.out_of_order) {
            order.reverse();
            self.disordered |= order.len() > 1;
        }
        match &self.way {
            Way::Sent => {
                for at in order {
                    self.talk.push(self.nodes[at].line.as_bytes());
                }
            }
            Way::File(path) => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                for at in order {
                    let line = self.nodes[at].line.as_bytes();
                    if at % 9 == 0 {
                        // The product may read the file while pi writes it.
                        file.write_all(&line[..line.len() / 2])?;
                        self.talk.follow()?;
                        file.write_all(&line[line.len() / 2..])?;
                    } else {
                        file.write_all(line)?;
                    }
                    file.write_all(b"\n")?;
                }
                self.talk.follow()?;
            }
        }
        self.sent = to;
        Ok(())
    }

    /// The process ends, and another gets every entry again.
    pub(super) fn resend(&mut self, engine: &Engine) -> Result<(), Broken> {
        self.talk = PiConversation::new(engine);
        self.later = !self.later;
        self.begin();
        (self.way, self.sent, self.distrusted, self.disordered) = (Way::Sent, 0, false, false);
        self.send(0)
    }

    /// The same from a file, made here.
    pub(super) fn reopen(&mut self, engine: &Engine, file: &Path) -> Result<(), Broken> {
        self.save(file)?;
        self.talk = PiConversation::open(engine, file)?;
        (self.way, self.sent) = (Way::File(file.to_owned()), self.nodes.len());
        (self.distrusted, self.disordered) = (false, false);
        Ok(())
    }

    /// Writes the session file.
    pub(super) fn save(&self, file: &Path) -> Result<(), Broken> {
        let mut lines = vec![self.header.as_str()];
        lines.extend(self.nodes.iter().map(|node| node.line.as_str()));
        fs::write(file, lines.join("\n") + "\n")?;
        Ok(())
    }
}

/// The path of a call, without a range at its end.
pub(super) fn bare(asks: &Asks) -> &str {
    let path = asks.path();
    match asks {
        Asks::Read { offset: None, limit: None, .. } => {
            let digits = |range: &str| range.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            path.rsplit_once(':').filter(|(_, range)| digits(range)).map_or(path, |(bare, _)| bare)
        }
        Asks::Read { .. } | Asks::Write { .. } | Asks::Edit { .. } => path,
    }
}
