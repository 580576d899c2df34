//! What a run expects of every call while rules deny files: which calls are refused, that nothing shown tells of a hidden file,
//! and that a call that was refused changed nothing. Judged by what is shown; the rules are those that the run itself wrote.

use readproof_core::{
    policy::{Act, Effect},
    scope::Scope,
};
use readproof_engine::{
    Conversation, Engine, Error, Outcome,
    operation::{Change, History, Operation, ShowVersion, Write},
};
use readproof_words::Surface;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    fs,
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    rc::Rc,
};

use super::{Broken, rules::Rules};
use crate::{
    ask::{Ask, Hook},
    op::Random,
};

const READING: &[Act] = &[Act::Read];
const SEARCHING_ONE: &[Act] = &[Act::Read, Act::Search];
const FINDING: &[Act] = &[Act::Read, Act::List, Act::Search];
const LISTING: &[Act] = &[Act::List];
const LOOKING_BACK: &[Act] = &[Act::Read, Act::History];
const CHANGING: [Act; 3] = [Act::Edit, Act::Write, Act::Delete];

/// Links that a name may lead through.
const LINKS: usize = 8;

/// The rules in force, and whose each word is that tells where it stands.
pub(crate) struct Watch {
    root: PathBuf,
    /// Other paths of the root.
    tops: Vec<String>,
    /// The working directory beneath the root; empty for the root.
    cwd: String,
    names: Vec<&'static str>,
    rules: RefCell<Rules>,
    /// The names of files in which each word of [`words`] ever stood.
    owners: RefCell<BTreeMap<String, BTreeSet<&'static str>>>,
    /// What was wrong first.
    wrong: RefCell<Option<String>>,
}

/// An engine of a run, whose every call is watched.
pub struct Watched {
    engine: Engine,
    watch: Rc<Watch>,
}

/// What a call asks for, as far as rules may refuse it.
#[derive(Default)]
struct Asked {
    /// What every name that it shows needs.
    needs: &'static [Act],
    /// Files that it is about by their own names.
    about: Vec<String>,
    /// The name as it is spelt, with lines behind it and a mark before it: a host may take them for a part of the name.
    spelt: Option<String>,
    /// Files that it changes, and how; none if that is known only to the product.
    changes: Vec<(String, Option<Act>)>,
    /// Whether it may be refused or not.
    is_open: bool,
}

/// Whether a call must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Allowed,
    /// It may be or not.
    Open,
    /// By a rule of one of these effects.
    Refused {
        deny: bool,
        ask: bool,
    },
    /// For any reason.
    NotDone,
}

impl Watched {
    pub(crate) fn new(engine: Engine, watch: &Rc<Watch>) -> Self {
        Self { engine, watch: Rc::clone(watch) }
    }
}

impl Deref for Watched {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Ask for Watched {
    fn call<C: Conversation<Given: Debug>>(
        &self,
        conversation: &mut C,
        operation: Operation,
        hook: Hook<'_>,
    ) -> Result<Outcome<C::Given>, Error> {
        if self.watch.rules.borrow().is_empty() {
            let done = self.engine.call(conversation, operation, hook);
            if let Err(error) = done.as_ref()
                && is_by_rule(error)
            {
                self.watch.say(format!("refused, though there is no rule: {error}"));
            }
            return done;
        }
        let (asked, words) = (self.watch.asked(&operation), format!("{operation:?}"));
        // While a file is read, others may change it.
        let before = operation.is_change().then(|| self.watch.texts());
        let done = self.engine.call(conversation, operation, hook);
        self.watch.judge(&asked, &words, &done);
        if done.as_ref().is_err_and(is_by_rule) && before.is_some_and(|before| self.watch.texts() != before) {
            self.watch.say(format!("files changed by a call that a rule refused: {words}"));
        }
        done
    }
}

/// Whether a rule refused a call, or asks a person first.
pub(crate) fn is_by_rule(error: &Error) -> bool {
    is_denial(error) || is_question(error)
}

fn is_denial(error: &Error) -> bool {
    matches!(error, Error::Denied { .. })
}

fn is_question(error: &Error) -> bool {
    matches!(error, Error::ApprovalNeeded(_) | Error::TooManyApprovals { .. })
}

impl Watch {
    /// `cwd` is beneath the root; `tops` are paths of it.
    pub(crate) fn new(root: PathBuf, tops: Vec<String>, cwd: &str, names: Vec<&'static str>) -> Rc<Self> {
        Rc::new(Self {
            root,
            tops,
            cwd: cwd.to_owned(),
            names,
            rules: RefCell::default(),
            owners: RefCell::default(),
            wrong: RefCell::default(),
        })
    }

    /// Takes what was wrong, if anything was.
    pub(crate) fn wrong(&self) -> Option<String> {
        self.wrong.take()
    }

    fn say(&self, what: String) {
        self.wrong.borrow_mut().get_or_insert(what);
    }

    /// Notes whose words these are: those of all names that lead to the file.
    pub(crate) fn note(&self, name: &str, text: &str) {
        let id = |name: &str| fs::metadata(self.root.join(name)).ok().map(|meta| (meta.dev(), meta.ino()));
        let wanted = id(name);
        let same: Vec<&'static str> =
            self.names.iter().copied().filter(|other| *other == name || id(other) == wanted).collect();
        let mut owners = self.owners.borrow_mut();
        for word in words(text) {
            owners.entry(word.to_owned()).or_default().extend(&same);
        }
    }

    /// Some rule comes, changes or goes; in words.
    pub(crate) fn change(&self, name: &'static str, random: &mut Random) -> Result<String, Broken> {
        self.rewrite(random, |rules, random| rules.change(name, &self.names, random))
    }

    /// From now on this file cannot be read.
    pub(crate) fn deny(&self, name: &'static str, random: &mut Random) -> Result<String, Broken> {
        self.rewrite(random, |rules, random| rules.add_against(name, random))
    }

    /// The rule that came last goes.
    pub(crate) fn take_back(&self, random: &mut Random) -> Result<String, Broken> {
        self.rewrite(random, |rules, _| rules.remove_last())
    }

    /// Every rule goes.
    pub(crate) fn lift(&self) -> Result<String, Broken> {
        self.rewrite(&mut Random::new(0), |rules, _| *rules = Rules::default())
    }

    fn rewrite(&self, random: &mut Random, change: impl FnOnce(&mut Rules, &mut Random)) -> Result<String, Broken> {
        let mut rules = self.rules.borrow_mut();
        let old = rules.files();
        change(&mut rules, random);
        let new = rules.files();
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            let path = self.root.join(name);
            if random.below(4) == 0 { fs::write(path, "")? } else { fs::remove_file(path)? }
        }
        for (name, text) in new.iter().filter(|(name, text)| old.get(*name) != Some(text)) {
            let path = self.root.join(name);
            if random.below(2) == 0 {
                fs::write(path, text)?;
            } else {
                // As editors write: another file takes its place.
                let beside = self.root.join(format!("{name}.new"));
                fs::write(&beside, text)?;
                fs::rename(beside, path)?;
            }
        }
        Ok(if new.is_empty() { "there are no rules now".to_owned() } else { format!("the rules are now {new:?}") })
    }

    /// Whether a file may not be read.
    pub(crate) fn is_unread(&self, name: &str) -> bool {
        self.is_hidden(name, READING)
    }

    /// Whether a name is hidden from a search of the workspace.
    pub(crate) fn is_unsearched(&self, name: &str) -> bool {
        self.is_hidden(name, FINDING)
    }

    fn is_hidden(&self, name: &str, needs: &[Act]) -> bool {
        self.effects(name, needs).into_iter().any(|effect| effect > Effect::Allow)
    }

    /// What the rules say about a file, for each act and each name that leads to it.
    fn effects(&self, name: &str, needs: &[Act]) -> Vec<Effect> {
        let rules = self.rules.borrow();
        let names = self.leads(name);
        names.iter().flat_map(|name| needs.iter().map(|act| rules.effect(name, *act))).collect()
    }

    /// A name and all that links lead through from it, whether anything is there or not.
    fn leads(&self, name: &str) -> Vec<String> {
        let (mut names, mut now) = (vec![name.to_owned()], name.to_owned());
        for _ in 0..LINKS {
            let ends = now.match_indices('/').map(|(at, _)| at).chain([now.len()]);
            let link = ends
                .map(|end| (&now[..end], &now[end..]))
                .find_map(|(head, rest)| Some((head.to_owned(), fs::read_link(self.root.join(head)).ok()?, rest)));
            let Some((head, target, rest)) = link else { break };
            let folder = head.rsplit_once('/').map_or("", |(folder, _)| folder);
            let next = normal(folder, &format!("{}{rest}", target.display()));
            names.extend([head, next.clone()]);
            now = next;
        }
        names
    }

    /// The name in the workspace that a caller means; lines may stand behind it.
    fn meant(&self, path: &str) -> String {
        let name = self.spelt(path.strip_prefix('@').unwrap_or(path));
        let bare = name.rsplit_once(':').map(|(bare, _)| bare).filter(|bare| self.names.contains(bare));
        bare.map_or(name.clone(), str::to_owned)
    }

    /// The same with all marks, as if they were a part of the name.
    fn spelt(&self, path: &str) -> String {
        let inside = self.tops.iter().find_map(|top| path.strip_prefix(top.as_str())?.strip_prefix('/'));
        inside.map_or_else(|| normal(&self.cwd, path), |inside| normal("", inside))
    }

    /// The texts of all files.
    fn texts(&self) -> Vec<Option<Vec<u8>>> {
        self.names.iter().map(|name| fs::read(self.root.join(name)).ok()).collect()
    }

    fn asked(&self, operation: &Operation) -> Asked {
        let about = |needs, path: &str| Asked { needs, about: vec![self.meant(path)], ..Asked::default() };
        let all = |needs| Asked { needs, ..Asked::default() };
        match operation {
            Operation::Read(read) => Asked { spelt: Some(self.spelt(&read.path)), ..about(READING, &read.path) },
            Operation::ReadEnd(read) => about(READING, &read.path),
            Operation::Refresh(refresh) => about(READING, &refresh.path),
            Operation::SearchFile(search) => about(SEARCHING_ONE, &search.path),
            Operation::ReadSymbol(symbol) => match &symbol.path {
                Some(path) => about(FINDING, path),
                None => all(FINDING),
            },
            Operation::Outline(outline) if outline.path != "." => about(FINDING, &outline.path),
            Operation::Outline(_) | Operation::Search(_) | Operation::ListSymbols(_) => all(FINDING),
            Operation::Stat { path } => about(LISTING, path),
            Operation::List(_) | Operation::Status => all(LISTING),
            Operation::Compare(compare) => about(LOOKING_BACK, &compare.path),
            Operation::CompareVersions(compare) => about(LOOKING_BACK, &compare.path),
            Operation::Blame(blame) => about(LOOKING_BACK, &blame.path),
            Operation::History(History { path: Some(path), .. })
            | Operation::ShowVersion(ShowVersion { path: Some(path), .. }) => about(LOOKING_BACK, path),
            Operation::ListFiles(_) => all(LISTING),
            // Which files it changes only the history tells.
            Operation::Rewind(_) => Asked { is_open: true, ..all(LOOKING_BACK) },
            Operation::History(_)
            | Operation::ShowVersion(_)
            | Operation::Changes(_)
            | Operation::Tell
            | Operation::Context => all(LOOKING_BACK),
            Operation::Write(write) => Asked { changes: self.changes(write), ..about(READING, &write.path) },
            Operation::Patch(patch) => {
                let heads = patch.patch.lines().map(headed).chain(patch.path.as_deref());
                let names: BTreeSet<&str> = heads.filter(|name| self.names.contains(name)).collect();
                let changes = names.into_iter().map(|name| (name.to_owned(), None)).collect();
                Asked { changes, ..all(READING) }
            }
            // Which file it changes only the conflict tells.
            Operation::Resolve { .. } => Asked { is_open: true, ..all(LOOKING_BACK) },
            Operation::ListConflicts { .. }
            | Operation::ShowConflict { .. }
            | Operation::Propose { .. }
            | Operation::ShowSession
            | Operation::Held { .. }
            | Operation::Collect(_)
            | Operation::Replay
            | Operation::Forget(_) => all(LOOKING_BACK),
            Operation::ListSessions
            | Operation::Checkpoint { .. }
            | Operation::Branch { .. }
            | Operation::Switch { .. }
            | Operation::Fork { .. }
            | Operation::Compact { .. }
            | Operation::EditContext { .. }
            | Operation::Distrust { .. }
            | Operation::CheckPolicy { .. }
            | Operation::ListPolicy
            | Operation::ListApprovals { .. }
            | Operation::ShowApproval { .. }
            | Operation::Decide { .. }
            | Operation::Doctor => all(FINDING),
        }
    }

    fn changes(&self, write: &Write) -> Vec<(String, Option<Act>)> {
        let path = self.meant(&write.path);
        let act = match &write.change {
            Change::Move { to } => {
                let gone = [Act::Edit, Act::Delete].map(|act| (path.clone(), Some(act)));
                return gone.into_iter().chain([(self.meant(to), Some(Act::Write))]).collect();
            }
            Change::Delete => Act::Delete,
            Change::Whole(_) | Change::Create(_) => Act::Write,
            Change::Append(_) | Change::Replace { .. } | Change::Edit(_) => Act::Edit,
        };
        vec![(path, Some(act))]
    }

    fn due(&self, asked: &Asked) -> Due {
        if asked.is_open {
            return Due::Open;
        }
        let about: Vec<Effect> = asked.about.iter().flat_map(|name| self.effects(name, asked.needs)).collect();
        if about.iter().any(|effect| *effect > Effect::Allow) {
            // As it is spelt, it may be another name, for which another rule speaks.
            let bare = |name: &String| name.strip_prefix('@').map(str::to_owned);
            let spelt = asked.spelt.iter().flat_map(|name| [Some(name.clone()), bare(name)]).flatten();
            let spelt = spelt.flat_map(|name| self.effects(&name, asked.needs));
            // A change that is denied is not asked about, nor is one to a name that cannot be looked at.
            let changes = asked.changes.iter().flat_map(|(name, act)| {
                let acts: &[Act] = act.as_ref().map_or(&CHANGING, std::slice::from_ref);
                [acts, READING].into_iter().flat_map(|acts| self.effects(name, acts))
            });
            let all: Vec<Effect> = about.into_iter().chain(spelt).chain(changes).collect();
            return Due::Refused { deny: all.contains(&Effect::Deny), ask: all.contains(&Effect::Ask) };
        }
        // What is not there can be meant otherwise, and where few names are allowed, no other spelling is.
        let is_missing = || asked.about.iter().any(|name| !self.root.join(name).exists());
        let may_be_other =
            |name: &String| self.is_hidden(name, asked.needs) || (self.rules.borrow().has_default() && is_missing());
        if asked.spelt.as_ref().is_some_and(may_be_other) {
            return Due::Open;
        }
        let judged = asked.changes.iter().map(|(name, act)| {
            let each = |act: &Act| self.is_hidden(name, &[*act]);
            match act {
                _ if self.is_hidden(name, READING) => Due::NotDone,
                Some(act) if each(act) => Due::NotDone,
                None if CHANGING.iter().all(each) => Due::NotDone,
                None if CHANGING.iter().any(each) => Due::Open,
                Some(_) | None => Due::Allowed,
            }
        });
        let judged: Vec<Due> = judged.collect();
        [Due::NotDone, Due::Open].into_iter().find(|due| judged.contains(due)).unwrap_or(Due::Allowed)
    }

    fn judge<G: Debug>(&self, asked: &Asked, words: &str, done: &Result<Outcome<G>, Error>) {
        let due = self.due(asked);
        let fits = match (due, done) {
            (_, Err(Error::Aborted)) | (Due::Open, _) | (Due::NotDone, Err(_)) => true,
            (Due::Refused { deny, ask }, Err(error)) => (deny && is_denial(error)) || (ask && is_question(error)),
            // In pi such a refresh only forgets: it looks at nothing, and says what it says of every name that is refused.
            (Due::Refused { .. }, Ok(Outcome::Refreshed(done))) => {
                done.entry.is_none() && done.found && done.scope == Scope::Full && done.paths.len() <= 1
            }
            (Due::Refused { .. } | Due::NotDone, Ok(_)) => false,
            (Due::Allowed, Ok(_)) => true,
            (Due::Allowed, Err(error)) => !is_by_rule(error),
        };
        let shown = match done {
            Ok(outcome) => format!("{outcome:?}").replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r"),
            Err(error) => Surface::Cli.error(error),
        };
        if !fits {
            self.say(format!("{words} is {due:?} by the rules, and the answer is {shown:?}"));
        }
        if let Some(leak) = self.leak(asked, words, &shown) {
            self.say(format!("{words} tells of a hidden file: {leak} in {shown:?}"));
        }
    }

    /// A name or a word in what is shown that only files have that this caller may not see, and that he did not say himself.
    fn leak(&self, call: &Asked, asked: &str, shown: &str) -> Option<String> {
        let needs = call.needs;
        let is_said = |name: &str| asked.contains(name) || call.about.iter().any(|about| about == name);
        let rules = self.rules.borrow();
        // A link to a hidden file is listed, if it is not hidden itself.
        let is_denied = |name: &str| needs.iter().any(|act| rules.effect(name, *act) > Effect::Allow);
        let named = |name: &&&str| shown.contains(**name) && !is_said(name) && is_denied(name);
        if let Some(name) = self.names.iter().find(named) {
            return Some((*name).to_owned());
        }
        let owners = self.owners.borrow();
        let is_hidden = |name: &&str| self.is_hidden(name, needs) || self.is_hidden(name, READING);
        let only_hidden = |word: &&str| owners.get(*word).is_some_and(|owners| owners.iter().all(is_hidden));
        words(shown).find(|word| only_hidden(word) && !asked.contains(word)).map(str::to_owned)
    }
}

/// A line that stands nowhere else.
pub(crate) fn some_secret(random: &mut Random) -> String {
    format!("only here {}\n", some_word(random))
}

/// A word that most likely stands nowhere else.
pub(crate) fn some_word(random: &mut Random) -> String {
    format!("n{:06}", random.below(1_000_000))
}

/// The words in a text that [`some_word`] can have made.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |word: &&str| {
        word.len() == 7 && word.strip_prefix('n').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    text.split(|c: char| !c.is_alphanumeric()).filter(is_word)
}

/// The name in a line of a patch that says which file is meant.
fn headed(line: &str) -> &str {
    let heads = ["--- a/", "+++ b/", "*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let more = ["rename from ", "rename to "];
    let head = heads.into_iter().chain(more).find_map(|head| line.strip_prefix(head));
    head.unwrap_or(line)
}

/// A path from a folder, both beneath the root, without `.` and `..`.
fn normal(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
