//! Makes the calls of a case in each of its worlds and compares what comes back.

use readproof_core::{
    edit::Places,
    operation::{Change, End, Operation, Over, Read, ReadEnd, Write},
    path::Bearings,
};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    ApprovalId, Call, CallLog, Control, Engine, Error, LoggedSession, Outcome, PiConversation, Reading, Receipt,
    Settings,
};
use readproof_words::{Surface, ToolTerms, notice::notice};
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use super::{
    Place, Run,
    calls::Step,
    case::{Case, World},
    tree::{Tree, set_times},
    wires::Line,
};
use crate::{
    ask::{Ask, WAIT},
    world::Broken,
};

/// Where two worlds came apart.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// The step; the number of steps if it is the files afterwards.
    pub(super) at: u64,
    asked: String,
    answers: Vec<(World, String)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "step {}: {}", self.at, self.asked)?;
        for (world, answer) in &self.answers {
            writeln!(f, "=== {world:?}\n{answer}")?;
        }
        Ok(())
    }
}

/// What came of the steps in one world.
struct Played {
    answers: Vec<String>,
    kinds: Vec<Option<(&'static str, usize)>>,
    files: String,
}

/// The first difference between the worlds.
pub(super) fn differs(case: &Case, place: &Place, run: Option<&mut Run>) -> Result<Option<Difference>, Broken> {
    let mut all = Vec::new();
    for world in World::ALL {
        all.push((world, Player::new(case, world, place)?.play()?));
    }
    let first = &all[0].1;
    if let Some(run) = run {
        for (kind, how) in first.kinds.iter().flatten() {
            run.kinds.entry(kind).or_default()[*how] += 1;
            run.calls += 1;
        }
    }
    let answers = |told: &dyn Fn(&Played) -> String| -> Vec<(World, String)> {
        all.iter().map(|(world, played)| (*world, told(played))).collect()
    };
    for (at, step) in case.steps.iter().enumerate() {
        if all.iter().any(|(_, played)| played.answers[at] != first.answers[at]) {
            let answers = answers(&|played| played.answers[at].clone());
            return Ok(Some(Difference { at: at as u64, asked: format!("{step:?}"), answers }));
        }
    }
    if all.iter().any(|(_, played)| played.files != first.files) {
        let shared = |line: &&str| all.iter().all(|(_, played)| played.files.lines().any(|other| other == *line));
        let own = |played: &Played| played.files.lines().filter(|line| !shared(line)).collect::<Vec<_>>().join("\n");
        let answers = answers(&own);
        return Ok(Some(Difference { at: case.steps.len() as u64, asked: "the files afterwards".to_owned(), answers }));
    }
    Ok(None)
}

/// The same difference, or another, with fewer steps.
pub(super) fn shrunk(case: Case, found: Difference, place: &Place) -> Result<(Case, Difference), Broken> {
    let (mut case, mut found) = (case, found);
    let end = usize::try_from(found.at).unwrap_or(0);
    case.steps.truncate(end + 1);
    for at in (0..case.steps.len()).rev() {
        let mut fewer = case.clone();
        fewer.steps.remove(at);
        if let Some(still) = differs(&fewer, place, None)? {
            (case, found) = (fewer, still);
        }
    }
    Ok((case, found))
}

/// One world while its steps are made.
struct Player<'a> {
    case: &'a Case,
    root: &'a Path,
    tree: Tree,
    engine: Engine,
    session: SessionName,
    talk: PiConversation,
    line: Option<Line>,
    world: World,
    /// The commit that is checked out. Its id is a hash over all that it keeps and therefore differs, but it is git's own name
    /// for the commit, nothing follows from it without the rest, and whoever may see any tracked file may know it.
    commit: Option<String>,
}

impl<'a> Player<'a> {
    /// Makes the world.
    fn new(case: &'a Case, world: World, place: &'a Place) -> Result<Self, Broken> {
        let root = place.root.as_path();
        if root.exists() {
            fs::remove_dir_all(root)?;
        }
        let tree = case.tree_in(world);
        let mut first = tree.clone();
        if case.known {
            // They are there until the conversation has read them.
            let there = case.tree_in(World::There);
            for name in &case.denied {
                if let Some(text) = there.files.get(name) {
                    first.files.entry(name.clone()).or_insert_with(|| text.clone());
                }
            }
        }
        first.put(root)?;
        let cwd = root.join(case.here).display().to_string();
        let bearings = Bearings { cwd: cwd.trim_end_matches('/').to_owned(), home: None };
        let settings = Settings { call_log: CallLog::AtOnce, ..Settings::default() };
        let engine = Engine::new(Root::open(root)?, bearings, settings, Box::new(|| 0))?;
        let engine = engine.with_names_from_root();
        let talk = PiConversation::new(&engine);
        let commit = fs::read_to_string(root.join(".git/refs/heads/main")).ok().map(|id| id.trim().to_owned());
        let mut player =
            Self { case, root, tree, engine, session: SessionName::parse("s")?, talk, commit, line: None, world };
        if case.known {
            for name in &case.denied {
                player.get_to_know(name)?;
            }
            player.engine.make_index();
            player.engine.make_word_index();
            for name in first.files.keys().filter(|name| !player.tree.files.contains_key(*name)) {
                fs::remove_file(root.join(name))?;
            }
            for folder in first.folders.difference(&player.tree.folders) {
                let _ = fs::remove_dir_all(root.join(folder));
            }
        }
        player.tree.put_files(root, &case.rules)?;
        set_times(root, 1)?;
        if let (Some(wire), Some(binary)) = (case.wire, &place.binary) {
            player.line = Some(wire.open(binary, root)?);
        }
        Ok(player)
    }

    /// The conversation reads a file, sees its end, and has an edit refused as a conflict.
    fn get_to_know(&self, name: &str) -> Result<(), Broken> {
        let path = self.root.join(name);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
        let name = format!("{}/{name}", self.root.display());
        let read = Read { path: name.clone(), ..Read::default() };
        self.logged(Operation::Read(read.clone()), true);
        self.logged(Operation::Read(Read { offset: Some(2), limit: Some(500), ..read }), true);
        fs::write(&path, text.replace("marker = 1", "marker = 5"))?;
        let change =
            Change::Replace { old: "marker = 1".to_owned(), new: "marker = 3".to_owned(), places: Places::One };
        self.logged(Operation::Write(Write { path: name.clone(), change, over: Over::Held }), true);
        self.logged(Operation::ReadEnd(ReadEnd { path: name.clone(), end: End::Head, lines: 2, chars: 1000 }), true);
        let change = Change::Append("appended\n".to_owned());
        self.logged(Operation::Write(Write { path: name, change, over: Over::Anything }), true);
        Ok(())
    }

    fn play(mut self) -> Result<Played, Broken> {
        let (mut answers, mut kinds) = (Vec::new(), Vec::new());
        for (at, step) in self.case.steps.iter().enumerate() {
            let mut kind = None;
            answers.push(match step {
                Step::Call { operation, arrives } => {
                    let (told, how) = match &self.line {
                        Some(_) => self.wired(operation, *arrives)?,
                        None => self.call(operation.clone(), *arrives),
                    };
                    kind = (!told.is_empty()).then_some((operation.name(), how));
                    told
                }
                Step::Index | Step::Beside(_) if self.line.is_some() => String::new(),
                Step::Beside(operation) => {
                    drop(self.engine.call(&mut LoggedSession::named(None), operation.clone(), WAIT));
                    drop(self.engine.take_notices());
                    String::new()
                }
                Step::Index => {
                    self.engine.make_index();
                    self.engine.make_word_index();
                    String::new()
                }
                Step::Outside { name, text } => {
                    // What a call made of the name meanwhile is the same in every world.
                    fs::write(self.root.join(name), text).err().map(|error| error.to_string()).unwrap_or_default()
                }
            });
            kinds.push(kind);
            set_times(self.root, at as u64 + 2)?;
        }
        Ok(Played { answers, kinds, files: self.files()? })
    }

    fn call(&mut self, operation: Operation, arrives: bool) -> (String, usize) {
        if !self.case.in_pi || !matches!(operation, Operation::Read(_)) {
            return self.logged(operation, arrives);
        }
        let mut conversation = self.talk.call(None);
        let (caller, control) = (&self.case.caller, Control::WAIT);
        let denied = matches!(&operation, Operation::Read(read) if self.case.is_denied(self.root, &read.path));
        let outcome = self.engine.perform(Call { caller, conversation: &mut conversation, operation, control });
        let (how, mut told) = (how(&outcome), self.told(&outcome, Surface::Pi));
        if denied && self.case.here.is_empty() && !matches!(outcome, Err(Error::Denied { .. })) {
            // pi would read it.
            told += &format!("\nhanded on, {:?}", self.world);
        }
        (told, how)
    }

    /// The same over a wire; nothing if the wire has no such call.
    fn wired(&mut self, operation: &Operation, plain: bool) -> Result<(String, usize), Broken> {
        let Some(line) = &mut self.line else { return Ok(Default::default()) };
        let mut told = line.call(operation, plain)?.unwrap_or_default();
        if let Operation::Read(read) = operation
            && self.case.is_denied(self.root, &read.path)
            && told.contains(r#""own":"#)
        {
            // The host would read it.
            told += &format!("handed on, {:?}", self.world);
        }
        let how = if told.contains("a rule of this workspace does not allow") { 1 } else { 0 };
        Ok((self.without_commit(told), how))
    }

    fn without_commit(&self, told: String) -> String {
        let told = without_requests(&told);
        match &self.commit {
            Some(id) => told.replace(id, "COMMIT").replace(&format!("({})", &id[..7]), "(COMMIT)"),
            None => told,
        }
    }

    fn logged(&self, operation: Operation, arrives: bool) -> (String, usize) {
        let mut conversation = LoggedSession::new(self.session.clone());
        let (caller, control) = (&self.case.caller, Control::WAIT);
        let mut outcome = self.engine.perform(Call { caller, conversation: &mut conversation, operation, control });
        let receipts = outcome.as_mut().map(receipts).unwrap_or_default();
        let of_records = matches!(
            &outcome,
            Ok(Outcome::Status(_)
                | Outcome::Session(_)
                | Outcome::Replayed(_)
                | Outcome::Conflicts(_)
                | Outcome::Files(_)
                | Outcome::History(_)
                | Outcome::Changes(_)
                | Outcome::Told(_)
                | Outcome::Context(_)
                | Outcome::Forgotten(_)
                | Outcome::Rewound(_))
        );
        if let Ok(Outcome::Status(status)) = &mut outcome
            && self.case.known
        {
            // What was stored before there were rules still takes room. It is the sum over all conversations.
            status.store = None;
        }
        if let (Ok(Outcome::Context(found)), Some(id)) = (&mut outcome, ApprovalId::parse("000000-1")) {
            // Each log has random ids.
            found.waiting.iter_mut().for_each(|approval| approval.request.id = id);
        }
        if let Ok(Outcome::Files(found)) = &mut outcome {
            // When the worlds were made.
            found.files.iter_mut().for_each(|file| file.modified_ms = 0);
        }
        let how = how(&outcome);
        let root = self.root.to_str().unwrap_or_default();
        let mut told = self.told(&outcome, Surface::Mcp(ToolTerms { root, asked: "x", start_line: false }));
        if of_records && self.names_denied(&told) {
            told += &format!("\nnames a denied file, {:?}", self.world);
        }
        for Receipt { session, entry, log: _ } in &receipts {
            // The id of the log is its inode and a random number.
            told += &format!("\nreceipt {session} {entry}");
        }
        for receipt in receipts.iter().filter(|_| arrives) {
            told += &format!("\ndelivered {:?}", self.engine.delivered(receipt).map_err(|error| format!("{error:?}")));
        }
        (told, how)
    }

    fn told<G: fmt::Debug>(&self, outcome: &Result<Outcome<G>, Error>, surface: Surface<'_>) -> String {
        let mut told = match outcome {
            Ok(outcome) => format!("{outcome:?}"),
            Err(error) => format!("{error:?}\n{}\n{}", surface.error(error), Surface::Cli.error(error)),
        };
        for said in self.engine.take_notices() {
            told += &format!("\nnotice {}", notice(&said));
        }
        without_log(&self.without_commit(told))
    }

    /// Whether an answer that nobody named a file for names one that varies: records have it in every world.
    fn names_denied(&self, told: &str) -> bool {
        let mut words = told.split(['"', ' ', ',']);
        self.case.known && words.any(|word| self.case.denied.iter().any(|name| name == word))
    }

    /// Every file that is there, but those that vary: of them, only whether they are as they were put.
    fn files(&self) -> Result<String, Broken> {
        let mut found = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder))? {
                let entry = entry?;
                let name = folder.join(entry.file_name());
                let text = name.to_str().unwrap_or_default().to_owned();
                // The stores: pi's is written after the answer, at any time.
                let own = [".git", ".readproof", ".pi"].contains(&text.as_str());
                if own || self.case.denied.contains(&text) {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    folders.push(name);
                } else if entry.file_type()?.is_symlink() {
                    found.insert(text, fs::read_link(entry.path())?.display().to_string());
                } else {
                    found.insert(text, fs::read_to_string(entry.path())?);
                }
            }
        }
        let same = self.case.denied.iter().filter(|_| !self.case.known).all(|name| {
            let put = self.tree.files.get(name);
            let link = self.tree.links.contains_key(name);
            link || fs::read_to_string(self.root.join(name)).ok().as_ref() == put
        });
        Ok(format!("denied files are as they were: {same}\n{found:#?}"))
    }
}

/// Takes the receipts out of an outcome.
fn receipts(outcome: &mut Outcome<Option<Receipt>>) -> Vec<Receipt> {
    let mut taken = Vec::new();
    if let Outcome::Read(Reading::Answer(answer)) = outcome {
        taken.extend(answer.given.take());
    }
    if let Outcome::Defined(defined) = outcome
        && let Reading::Answer(answer) = &mut defined.reading
    {
        taken.extend(answer.given.take());
    }
    if let Outcome::Told(told) = outcome {
        taken.extend(told.iter_mut().filter_map(|news| news.answer.as_mut()?.given.take()));
    }
    if let Outcome::Written(written) = outcome {
        taken = std::mem::take(&mut written.receipts);
    }
    taken
}

/// Answered, refused by a rule, or failed otherwise.
fn how<G>(outcome: &Result<Outcome<G>, Error>) -> usize {
    match outcome {
        Ok(_) => 0,
        Err(Error::Denied { .. }) => 1,
        Err(_) => 2,
    }
}

/// A moment has the random number of its version log.
fn without_log(told: &str) -> String {
    const BEFORE: &str = "Moment { log: ";
    let mut parts = told.split(BEFORE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| told + BEFORE + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The id of a request begins with a random number of its log, and when it ends depends on the clock.
fn without_requests(told: &str) -> String {
    let is_id = |word: &str| {
        let parts = word.split_once('-');
        parts.is_some_and(|(tag, number)| {
            tag.len() == 6
                && tag.bytes().all(|byte| byte.is_ascii_hexdigit())
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let is_time = |word: &str| word.len() == 13 && word.bytes().all(|byte| byte.is_ascii_digit());
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    told.split_inclusive(ends)
        .map(|part| {
            let word = part.trim_end_matches(ends);
            match word {
                word if is_id(word) => part.replacen(word, "REQUEST", 1),
                word if is_time(word) && told.contains("\"expires_at\":") => part.replacen(word, "TIME", 1),
                _ => part.to_owned(),
            }
        })
        .collect()
}
