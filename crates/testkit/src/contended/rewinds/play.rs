//! One random run: what agents and other programs do, the moments that someone may go back to, and the rewinds.

use readproof_core::{limits::Markers, path::Bearings};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    Call, Control, Conversation, Engine, Error, HandleConversation, HistoryError, HistoryListed, Keeping,
    LoggedSession, Outcome, Receipt, Rewound, Settings, VersionId, Written,
    operation::{
        Caller, Change, History, Leaf, ListFiles, Operation, OutsideChanges, Over, Read, Resolution, Rewind, Write,
    },
};
use readproof_reader::{Change as Told, Reader, Rendered, Seen, What};
use readproof_words::notice::notices;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

use super::{
    Rewinds,
    judge::{self, Asked},
    recorder::{Recorder, Snapshot, Who},
};
use crate::{op::Random, world::Broken};

/// The names that files have. One is a folder for some time; some are hidden, ignored, sensitive, not text or too large.
const NAMES: [&str; 12] = [
    "a.txt",
    "b.md",
    "src/c.rs",
    "src/deep/d.txt",
    "d",
    "d/x.txt",
    "odd name:3-4",
    ".hidden",
    "ignored.log",
    ".env",
    "data.bin",
    "big.txt",
];

/// The largest file that is kept.
const MOST: usize = 4000;

/// A file beside the workspace that links lead to. Nobody may write it: not the product, and not the programs that are played here.
const OUT: &str = "outside.txt";

/// How long one run is.
const STEPS: usize = 22;

/// A moment to go back to.
#[derive(Clone)]
pub(super) struct Moment {
    pub(super) to: String,
    pub(super) step: u64,
    pub(super) state: Snapshot,
    /// Whether everything had been looked at by then.
    pub(super) exact: bool,
    /// What the model of the first conversation had seen, if it can go back to it.
    reader: Option<Reader>,
}

pub(super) struct Play<'a> {
    _folder: TempDir,
    pub(super) root: PathBuf,
    engine: Engine,
    random: &'a mut Random,
    pub(super) done: &'a mut Rewinds,
    pub(super) recorder: Recorder,
    /// Whether other programs changed something that nobody has looked at.
    unseen: bool,
    moments: Vec<Moment>,
    reader: Reader,
    /// For texts that are like no other.
    count: u64,
    in_git: bool,
    pub(super) only_tracked: bool,
}

/// Plays one run.
pub(super) fn case(random: &mut Random, done: &mut Rewinds) -> Result<(), Broken> {
    let mut play = Play::new(random, done)?;
    let mut rewinds = 0;
    for step in 0..STEPS {
        match play.random.below(100) {
            0..30 => play.agent("s")?,
            30..45 => play.agent("t")?,
            45..65 => play.outside()?,
            65..75 => play.mark()?,
            75..82 => play.look()?,
            82..88 => play.read()?,
            _ if step > 5 => {
                play.rewind()?;
                rewinds += 1;
            }
            _ => {}
        }
    }
    if rewinds == 0 {
        play.rewind()?;
    }
    Ok(())
}

impl<'a> Play<'a> {
    fn new(random: &'a mut Random, done: &'a mut Rewinds) -> Result<Self, Broken> {
        let folder = super::folder()?;
        let root = folder.path().canonicalize()?.join("ws");
        fs::create_dir(&root)?;
        fs::write(root.with_file_name(OUT), OUT)?;
        let history = if random.below(12) == 0 { Keeping::Tracked } else { Keeping::All };
        let in_git = history == Keeping::Tracked || random.below(5) == 0;
        let mut settings = Settings { history, file_bytes: MOST as u64, ..crate::open_settings() };
        settings.limits.markers = Markers::Always;
        let bearings = Bearings { cwd: root.display().to_string(), home: None };
        fs::write(root.join(".gitignore"), "*.log\n")?;
        let engine = Engine::new(Root::open(&root)?, bearings, settings, Box::new(|| 0))?;
        let mut play = Self {
            _folder: folder,
            root,
            engine,
            random,
            done,
            recorder: Recorder::default(),
            unseen: true,
            moments: Vec::new(),
            reader: Reader::default(),
            count: 0,
            in_git,
            only_tracked: history == Keeping::Tracked,
        };
        for name in NAMES {
            if play.random.below(3) > 0 && !(name == "d" && play.random.below(4) > 0) {
                play.put(name)?;
            }
        }
        if play.in_git {
            play.git(&["init", "-q"])?;
            play.git(&["add", "-A"])?;
        }
        play.recorder.take(&play.root.clone(), Who::Outside)?;
        play.mark()?;
        Ok(play)
    }

    fn git(&self, words: &[&str]) -> Result<(), Broken> {
        let mut git = Command::new("git");
        git.current_dir(&self.root).args(words).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let done = git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        // A name that is a folder and a file in turn may not be added.
        if done.code().is_none() { Err("git was killed".into()) } else { Ok(()) }
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.random.below(NAMES.len())]
    }

    /// A line that stands nowhere else.
    fn line(&mut self, who: &str) -> String {
        self.count += 1;
        format!("{who} {}\n", self.count)
    }

    fn text(&mut self, who: &str) -> String {
        (0..3 + self.random.below(9)).map(|_| self.line(who)).collect()
    }

    /// Another program makes a file, with whatever must go for it.
    fn put(&mut self, name: &str) -> Result<(), Broken> {
        let path = self.root.join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        }
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| *folder != self.root) {
            if folder.symlink_metadata().is_ok_and(|about| !about.is_dir()) {
                fs::remove_file(folder)?;
            }
            above = folder.parent();
        }
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        let bytes = match name {
            "data.bin" => vec![0, 159, u8::try_from(self.random.below(200))?],
            "big.txt" if self.random.below(2) == 0 => self.line("big").repeat(MOST).into_bytes(),
            _ => self.text("x").into_bytes(),
        };
        // Never through a link.
        if path.is_symlink() || self.random.below(2) == 0 {
            let _ = fs::remove_file(&path);
        }
        fs::write(&path, bytes)?;
        let mode = if self.random.below(3) == 0 { 0o755 } else { 0o644 };
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
    }

    /// What another program does.
    fn outside(&mut self) -> Result<(), Broken> {
        let name = self.name();
        let path = self.root.join(name);
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        match self.random.below(10) {
            0..3 => self.put(name)?,
            3..6 if is_file => {
                let (text, line) = (fs::read(&path)?, self.line("x"));
                fs::write(&path, [line.as_bytes(), &text].concat())?;
            }
            6 if is_file => fs::remove_file(path)?,
            7 if is_file => {
                let other = self.name();
                let other = self.root.join(other);
                if other.parent().is_some_and(Path::is_dir) && !other.is_dir() {
                    fs::rename(path, other)?;
                }
            }
            8 if is_file => {
                fs::remove_file(&path)?;
                fs::create_dir(&path)?;
                let line = self.line("x");
                fs::write(path.join("inside.txt"), line)?;
            }
            9 if is_file && name == "src/deep/d.txt" && !self.root.join("src/deep").is_symlink() => {
                // Its folder is another one from now on.
                let other = format!("other{}", self.count);
                fs::rename(self.root.join("src/deep"), self.root.join("src").join(&other))?;
                symlink(other, self.root.join("src/deep"))?;
            }
            9 if is_file && name != "d" => {
                fs::remove_file(&path)?;
                let out = self.root.with_file_name(OUT);
                let target = [Path::new("b.md"), &out, Path::new("nowhere")][self.random.below(3)];
                symlink(target, &path)?;
            }
            _ => {}
        }
        self.unseen = true;
        if self.in_git && self.random.below(6) == 0 {
            self.git(&["add", "-A"])?;
        }
        self.recorder.take(&self.root.clone(), Who::Outside)
    }

    fn caller(who: &str) -> Caller {
        match who {
            "" => Caller::of("cli"),
            "t" => Caller { conversation: Some("t".to_owned()), ..Caller::of("mcp") },
            name => Caller { conversation: Some(name.to_owned()), ..Caller::of("cli") },
        }
    }

    fn call<C: Conversation>(
        &self,
        who: &str,
        conversation: &mut C,
        operation: Operation,
    ) -> Result<Outcome<C::Given>, Error> {
        let caller = Self::caller(who);
        self.engine.perform(Call { caller: &caller, conversation, operation, control: Control::WAIT })
    }

    /// Asks as an agent, or as a person for the empty name.
    pub(super) fn ask<T>(&self, who: &str, operation: Operation) -> Result<T, Error>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        let session = SessionName::parse(who).ok();
        self.call(who, &mut LoggedSession::named(session), operation)?.try_into()
    }

    /// What the product says of a file, for the words of a failure.
    pub(super) fn history(&self, path: &str) -> String {
        let asked = History { path: Some(path.to_owned()), limit: Some(100) };
        let Ok(listed) = self.ask::<HistoryListed>("", Operation::History(asked)) else { return String::new() };
        let said = |entry: &readproof_engine::HistoryEntry| {
            let sides = entry.files.first().map(|(file, _)| (file.before.is_some(), file.after.is_some(), file.gaps));
            format!("{} {} {:?} {sides:?}", entry.id, entry.operation, entry.by.conversation)
        };
        listed.entries.iter().rev().map(said).collect::<Vec<_>>().join(", ")
    }

    /// The product has looked at everything.
    fn seen(&mut self) {
        self.unseen = false;
        self.recorder.looked();
    }

    fn look(&mut self) -> Result<(), Broken> {
        self.ask::<readproof_engine::FilesListed>("", Operation::ListFiles(ListFiles::default()))?;
        self.seen();
        Ok(())
    }

    fn mark(&mut self) -> Result<(), Broken> {
        let who = ["s", "s", "t", ""][self.random.below(4)];
        self.count += 1;
        let name = (self.random.below(2) == 0).then(|| format!("mark-{}", self.count));
        let id: VersionId = self.ask(who, Operation::Checkpoint { name: name.clone() })?;
        self.seen();
        self.remember(name.unwrap_or_else(|| id.to_string()), who == "s");
        Ok(())
    }

    fn remember(&mut self, to: String, is_place: bool) {
        let (step, state, exact) = (self.recorder.step, self.recorder.now.clone(), !self.unseen);
        let reader = is_place.then(|| self.reader.clone());
        self.moments.push(Moment { to, step, state, exact, reader });
    }

    /// An agent changes a file.
    fn agent(&mut self, who: &'static str) -> Result<(), Broken> {
        if self.random.below(2) == 0 {
            self.look()?;
        }
        let (path, text) = (self.name(), self.text(who));
        let (change, what) = match self.random.below(10) {
            0..3 => (Change::Whole(text.clone()), What::Whole(text)),
            3..7 => (Change::Append(text.clone()), What::Append(text)),
            7 => (Change::Create(text.clone()), What::Create(text)),
            8 => (Change::Delete, What::Delete),
            _ => {
                let to = self.name();
                (Change::Move { to: to.to_owned() }, What::Move { from: path.to_owned() })
            }
        };
        let told = if let Change::Move { to } = &change { to.clone() } else { path.to_owned() };
        let operation = Operation::Write(Write { path: path.to_owned(), change, over: Over::Anything });
        let written: Result<Written, Error> = match (who, self.random.below(2)) {
            ("t", 0) => {
                let mut handles = HandleConversation::new(SessionName::parse(who).ok(), None);
                self.call(who, &mut handles, operation).and_then(TryInto::try_into)
            }
            _ => self.ask(who, operation),
        };
        let before = self.recorder.now.clone();
        self.recorder.take(&self.root.clone(), Who::Agent(who))?;
        let Ok(written) = written else {
            if self.recorder.now != before {
                return Err(format!("a call that was refused changed {path}").into());
            }
            return Ok(());
        };
        if who == "s" {
            self.told(vec![Told { path: told, what }], &written)?;
        }
        if let Some(version) = written.version {
            self.remember(version.to_string(), who == "s");
        }
        Ok(())
    }

    /// The model of the first conversation sees a result.
    fn told(&mut self, files: Vec<Told>, written: &Written) -> Result<(), Broken> {
        for receipt in &written.receipts {
            self.engine.delivered(receipt)?;
        }
        self.reader.see(&Seen::Changes { files, answer: written.text.clone() })?;
        Ok(())
    }

    /// The model of the first conversation reads a file.
    fn read(&mut self) -> Result<(), Broken> {
        let path = self.name();
        self.read_again(path, false)
    }

    /// What the answer stands for must be what is there.
    fn read_again(&mut self, path: &str, counts: bool) -> Result<(), Broken> {
        let read = Operation::Read(Read { path: path.to_owned(), ..Read::default() });
        let mut session = LoggedSession::named(SessionName::parse("s").ok());
        let Ok(answer) = self.call("s", &mut session, read).and_then(Outcome::into_answer) else { return Ok(()) };
        if let Some(receipt) = &answer.given {
            self.engine.delivered(receipt)?;
        }
        let rendered = Rendered { text: answer.text.clone(), notices: notices(&answer.notices) };
        let seen = Seen::Read { path: path.to_owned(), offset: None, limit: None, answer: rendered };
        let rebuilt = self.reader.see(&seen)?.ok_or("nothing rebuilt")?;
        let there = fs::read_to_string(self.root.join(path))?;
        if !rebuilt.cut && rebuilt.text != there {
            return Err(format!("{path} was read as {:?}, and {there:?} is there", rebuilt.text).into());
        }
        if counts {
            *self.done.reads.entry(answer.mode.as_str()).or_default() += 1;
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), Broken> {
        let Some(moment) = self.random.pick(&self.moments).cloned() else { return Ok(()) };
        let who = ["s", "s", "s", "t", ""][self.random.below(5)];
        let goes_back = who == "s" && moment.reader.is_some() && self.random.below(2) == 0;
        let paths =
            if self.random.below(4) == 0 { vec![self.name().to_owned(), self.name().to_owned()] } else { Vec::new() };
        let rewind = Rewind {
            to: moment.to.clone(),
            paths: paths.clone(),
            outside: if self.random.below(3) == 0 { OutsideChanges::Keep } else { OutsideChanges::Undo },
            leaf: if goes_back { Leaf::GoesBack } else { Leaf::Stays },
            everything: self.random.below(4) == 0,
            assume: self.random.below(10) == 0,
            dry_run: true,
        };
        // So that everything can be made as it is now.
        let undo: VersionId = self.ask("", Operation::Checkpoint { name: None })?;
        self.recorder.take(&self.root.clone(), Who::Outside)?;
        self.seen();
        let (before, step) = (self.recorder.now.clone(), self.recorder.step);
        let plan: Result<Rewound, Error> = self.ask(who, Operation::Rewind(rewind.clone()));
        let done: Result<Rewound, Error> =
            self.ask(who, Operation::Rewind(Rewind { dry_run: false, ..rewind.clone() }));
        let by = if who.is_empty() { Who::Person } else { Who::Agent(if who == "s" { "s" } else { "t" }) };
        self.recorder.take(&self.root.clone(), by)?;
        self.done.rewinds += 1;
        let done = match done {
            Ok(done) => done,
            Err(error) => return self.refused(&before, &error),
        };
        let asked = Asked { rewind: &rewind, who: by, moment: &moment, before: &before };
        judge::judge(self, &asked, (plan?, &done))?;
        if goes_back {
            self.reader = moment.reader.clone().unwrap_or_default();
        } else if let (Some(written), "s") = (&done.written, who) {
            let what = |removed: bool| if removed { What::Delete } else { What::Restored };
            let files = written.files.iter().map(|file| Told { path: file.path.clone(), what: what(file.removed) });
            self.told(files.collect(), written)?;
        }
        if let Some(version) = done.written.as_ref().and_then(|written| written.version) {
            self.remember(version.to_string(), who == "s" && !goes_back);
        }
        if fs::read_to_string(self.root.with_file_name(OUT))? != OUT {
            return Err("a rewind followed a link out of the workspace".into());
        }
        for name in [self.name(), self.name(), self.name()] {
            self.read_again(name, true)?;
        }
        self.resolve()?;
        if self.random.below(2) == 0 { self.undo(undo, &before, step, &done) } else { Ok(()) }
    }

    /// A rewind that is refused changes nothing.
    fn refused(&mut self, before: &Snapshot, error: &Error) -> Result<(), Broken> {
        if self.recorder.now != *before {
            return Err(format!("files changed by a rewind that was refused: {error:?}").into());
        }
        self.done.refused += 1;
        if let Error::History(HistoryError::Unresolved { .. } | HistoryError::NotOfConversation { .. }) = error {
            return self.resolve();
        }
        // What a caller names must be a name.
        if matches!(error, Error::Locate(_)) { Ok(()) } else { Err(format!("refused: {error:?}").into()) }
    }

    /// Nobody can go back over an open conflict.
    fn resolve(&mut self) -> Result<(), Broken> {
        let open: Vec<readproof_engine::OpenedConflict> = self.ask("", Operation::ListConflicts { all: false })?;
        for conflict in open {
            let resolve = Operation::Resolve { id: conflict.id.to_string(), with: Resolution::Theirs };
            // Where something else stands now, the file is as it is.
            let _ = self.ask::<Written>("", resolve);
        }
        self.recorder.take(&self.root.clone(), Who::Person)
    }

    /// Another rewind makes everything as it was before the first one.
    fn undo(&mut self, to: VersionId, before: &Snapshot, step: u64, first: &Rewound) -> Result<(), Broken> {
        let rewind = Rewind { to: to.to_string(), everything: true, ..Rewind::default() };
        let done: Rewound = match self.ask("", Operation::Rewind(rewind)) {
            Ok(done) => done,
            Err(Error::History(HistoryError::Unresolved { .. })) => return Ok(()),
            Err(error) => return Err(format!("cannot be undone: {error:?}").into()),
        };
        self.recorder.take(&self.root.clone(), Who::Person)?;
        for file in &first.files {
            let (was, is) = (before.get(&file.path), self.recorder.now.get(&file.path));
            let is_same = match (was, is) {
                (Some(was), Some(is)) => was.same_bytes(is),
                (was, is) => was.is_none() && is.is_none(),
            };
            if !is_same {
                let said = done.files.iter().find(|other| other.path == file.path);
                let since: Vec<Who> = self.recorder.changers(&file.path, step).collect();
                return Err(format!(
                    "{} ({:?}) is not as before the rewind to {}: {said:?}; changed by {since:?}; was {was:?}, is {is:?}",
                    file.path, file.what, first.to
                )
                .into());
            }
        }
        self.done.undone += 1;
        if let Some(version) = done.written.and_then(|written| written.version) {
            self.remember(version.to_string(), false);
        }
        Ok(())
    }
}
