//! Processes killed between the use of an approval and the deletion that it is for: at random times, and inside every window that
//! `disk` announces. Then the file is deleted and the approval used; or the file is there, and the same call is either made now by
//! that approval or asked about anew. No approval is used for two deletions, and a text that was not approved stays.

use readproof_engine::{
    Approval, ApprovalState, Engine, Error, Settings, Written,
    operation::{
        Change, Operation, Over, Read, Write,
        approval::{Decision, How, Scope},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use super::kills::{Said, Stop, Tell, stop, stopping};
use crate::{
    ask::Ask,
    load::{heard::Running, open},
    op::Random,
    world::Broken,
};
use readproof_disk::Moment;

/// The file that is deleted.
const DOOMED: &str = "in/doomed.txt";

/// A process that does nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// After so many kills a new workspace is used.
const PER_WORKSPACE: u64 = 20;

/// Those that a deletion can reach.
const WINDOWS: [Moment; 7] =
    [Moment::Turn, Moment::Noted, Moment::Announced, Moment::Aside, Moment::Settled, Moment::Cleared, Moment::Released];

/// Deletes the file; the id of the request if a person must approve it first.
fn delete(engine: &Engine) -> Result<Option<String>, Broken> {
    let write = Write { path: DOOMED.to_owned(), change: Change::Delete, over: Over::Anything };
    match engine.ask::<Written>(None, Operation::Write(write)) {
        Ok(_) => Ok(None),
        Err(Error::ApprovalNeeded(request)) => Ok(Some(request.id)),
        Err(error) => Err(error.into()),
    }
}

fn decide(engine: &Engine, id: &str, decision: Decision) -> Result<(), Broken> {
    let operation = Operation::Decide { id: id.to_owned(), decision, scope: Scope::Once, how: How::Key };
    let _: Box<Approval> = engine.ask(None, operation)?;
    Ok(())
}

fn state_of(engine: &Engine, id: &str) -> Result<ApprovalState, Broken> {
    let found: Box<Approval> = engine.ask(None, Operation::ShowApproval { id: id.to_owned() })?;
    Ok(found.state)
}

/// A process that makes the approved call once: `deleter ROOT MOMENT NUMBER`.
///
/// # Errors
/// When the call is refused.
pub fn deleter(words: &[String], tell: &Tell) -> Result<(), Broken> {
    let [root, moment, number] = words else { return Err("deleter ROOT MOMENT NUMBER".into()) };
    let engine = stopping(Path::new(root), stop(moment, number)?, tell, Settings::default())?;
    tell(&Said::Sends(1));
    match delete(&engine)? {
        None => tell(&Said::Patched(1)),
        Some(id) => return Err(format!("an approved call waits as {id}").into()),
    }
    Ok(())
}

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Approved {
    pub rounds: u64,
    pub kills: u64,
    /// Kills by window; at a random time for `None`.
    pub windows: BTreeMap<Option<String>, u64>,
    /// The file was gone, and the approval used.
    pub made: u64,
    /// The file was there, the approval was not used, and the same call was made with it.
    pub made_later: u64,
    /// The file was there, the approval was used, and the same call was asked about anew.
    pub asked_anew: u64,
    /// The file was changed before the call was made again, which was asked about anew. Then it got its text back.
    pub changed: u64,
}

impl fmt::Display for Approved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, kills, windows, made, made_later, asked_anew, changed } = self;
        write!(f, "{rounds} approved deletions, {kills} killed: {made} made, {made_later} made by the next call, ")?;
        writeln!(
            f,
            "{asked_anew} not made and asked about anew, {changed} asked about while the file had another text; 0 otherwise;"
        )?;
        for (window, count) in windows {
            write!(f, " {} {count}", window.as_deref().unwrap_or("random"))?;
        }
        Ok(())
    }
}

/// Kills processes that make approved calls. `program` is the testkit's `contended`.
///
/// # Errors
/// On the first deletion without an approval of its own, approval that is used for two, or acknowledged one that was not made.
pub fn approved(program: &Path, rounds: u64, seed: u64) -> Result<Approved, Broken> {
    let mut done = Approved::default();
    let mut random = Random::new(seed);
    while done.rounds < rounds {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        fs::create_dir(root.join("in"))?;
        let mut case = Case { program, root: &root, over: BTreeSet::new(), done: &mut done, random: &mut random };
        for _ in 0..PER_WORKSPACE.min(rounds - case.done.rounds) {
            let number = case.done.rounds;
            case.round().map_err(|error| format!("round {number}: {error}"))?;
            case.done.rounds += 1;
        }
    }
    Ok(done)
}

struct Case<'a> {
    program: &'a Path,
    root: &'a Path,
    /// Requests that nothing may be done with any more.
    over: BTreeSet<String>,
    done: &'a mut Approved,
    random: &'a mut Random,
}

impl Case<'_> {
    fn round(&mut self) -> Result<(), Broken> {
        // Often a text that was there before: an approval that could be used twice would fit.
        let text = format!("text {}\n", self.random.below(3));
        let path = self.root.join(DOOMED);
        fs::write(&path, &text)?;
        let id = self.waits()?;
        decide(&open(self.root)?, &id, Decision::Approve)?;
        let acknowledged = self.victim()?;

        // Whoever opens it next finishes or takes back what the killed process left.
        let engine = open(self.root)?;
        let _ = engine.read(None, Read { path: DOOMED.to_owned(), ..Read::default() });
        let there = fs::read_to_string(&path).ok();
        match (there, state_of(&engine, &id)?) {
            (None, ApprovalState::Used) => self.done.made += 1,
            (None, state) => return Err(format!("deleted, and the approval is {state:?}").into()),
            (Some(_), _) if acknowledged => return Err("acknowledged, and the file is there".into()),
            (Some(found), _) if found != text => return Err(format!("another text: {found:?}").into()),
            (Some(_), state) => self.again(&engine, &id, (state, &text))?,
        }
        self.over.insert(id);
        fs::write(&path, &text)?;
        self.waits().map(drop)
    }

    /// The call is made again, after it was killed before it did anything.
    fn again(&mut self, engine: &Engine, id: &str, (state, text): (ApprovalState, &str)) -> Result<(), Broken> {
        let path = self.root.join(DOOMED);
        if self.random.below(3) == 0 {
            fs::write(&path, "what a person wrote\n")?;
            self.waits()?;
            self.done.changed += 1;
            fs::write(&path, text)?;
        }
        match (state, delete(engine)?) {
            (ApprovalState::Used, Some(other)) if other != id && path.exists() => self.done.asked_anew += 1,
            (ApprovalState::Approved(Scope::Once), None) if !path.exists() => {
                if state_of(engine, id)? != ApprovalState::Used {
                    return Err("made, and the approval is not used".into());
                }
                self.done.made_later += 1;
            }
            (state, said) => return Err(format!("{state:?}, and the same call gave {said:?}").into()),
        }
        Ok(())
    }

    /// The call as another process makes it, which must wait; the id of its request, which is of no call before.
    fn waits(&self) -> Result<String, Broken> {
        let path = self.root.join(DOOMED);
        let before = fs::read(&path)?;
        let id = delete(&open(self.root)?)?.ok_or("deleted without an approval")?;
        if fs::read(&path)? != before || self.over.contains(&id) {
            return Err(format!("{id} should wait and leave the file alone").into());
        }
        Ok(id)
    }

    /// Makes the call in a process that is killed; whether it was acknowledged before.
    fn victim(&mut self) -> Result<bool, Broken> {
        let turn = usize::try_from(self.done.rounds).unwrap_or(0);
        let window: Stop = turn.is_multiple_of(2).then(|| (WINDOWS[turn / 2 % WINDOWS.len()], 1));
        let (moment, number) =
            window.map_or(("never".to_owned(), 0), |(moment, number)| (format!("{moment:?}"), number));
        let mut command = Command::new(self.program);
        command.arg("deleter").arg(self.root).arg(moment).arg(number.to_string());
        let Running { mut child, said } = Running::start(&mut command)?;
        let mut acknowledged = false;
        if window.is_none() {
            said.recv_timeout(PATIENCE)??;
            thread::sleep(Duration::from_micros(self.random.below(20_000) as u64));
            child.kill()?;
        }
        // It stands in the window, or it ends because a deletion does not come by there.
        while let Ok(heard) = said.recv_timeout(PATIENCE) {
            match heard? {
                Said::At => child.kill()?,
                Said::Patched(_) => acknowledged = true,
                Said::Sends(_) => {}
            }
        }
        let status = child.wait()?;
        match status.code() {
            None => {
                self.done.kills += 1;
                *self.done.windows.entry(window.map(|(moment, _)| format!("{moment:?}"))).or_default() += 1;
            }
            Some(0) => {}
            Some(_) => return Err(format!("a deleter ended with {status}").into()),
        }
        Ok(acknowledged)
    }
}
