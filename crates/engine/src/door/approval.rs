//! Approvals by a person. A call that a rule asks about is shown with its digest: of the operation, and of the texts that it is
//! for. Whoever makes the call asks here first and goes on only if nothing is wrong. What waits, what was decided and what is
//! spent stands in a log that all processes of the workspace share.

use readproof_core::{
    operation::{
        Caller,
        approval::{Decision, How, Scope},
    },
    policy::{Act, Rule},
    text::ContentHash,
};
use readproof_disk::Create;
use readproof_hosts::{
    approvals::{
        ApprovalId, Approvals, ApprovalsError, Asked, AskingRule, MOST_WAITING, Request, Standing, State, Undecided,
    },
    block::Sha,
    versions::By,
};

use crate::{Engine, Error, conversation::locked};

/// The most bytes of a diff that are kept and shown.
const DIFF_BYTES: usize = 16 << 10;

/// A call that a rule asks about.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// The word of the operation.
    pub(crate) what: &'static str,
    /// What is done to the paths.
    pub(crate) act: Act,
    /// Names in the workspace, of files that the caller named: approvals that last are by these, and the model gets them back.
    pub(crate) paths: Vec<String>,
    /// The rule that asks. Only the person sees it.
    pub(crate) rule: Rule,
    /// Of everything that the person is shown; see [`Ask::digest_of`].
    pub(crate) digest: ContentHash,
    /// What would change. None for a sensitive file, and for a call that changes nothing.
    pub(crate) diff: Option<String>,
}

impl Ask {
    /// The digest of a call: its word, and of each file its name, the text before and the text after. If a file has another
    /// text when the call is made again, it is another call.
    pub(crate) fn digest_of<'f>(
        what: &str,
        files: impl IntoIterator<Item = (&'f str, Option<ContentHash>, Option<ContentHash>)>,
    ) -> ContentHash {
        // No name holds a NUL.
        let mut bytes = [what.as_bytes(), b"\0"].concat();
        for (path, before, after) in files {
            bytes.extend_from_slice(path.as_bytes());
            bytes.push(0);
            for hash in [before, after] {
                bytes.push(u8::from(hash.is_some()));
                bytes.extend_from_slice(hash.as_ref().map_or(&[], |hash| hash.as_bytes().as_slice()));
            }
        }
        ContentHash::of(&bytes)
    }
}

/// A call that waits for a person: what the person is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// By which it is decided about.
    pub id: String,
    /// The word of the operation.
    pub what: &'static str,
    /// What is done to the paths.
    pub act: Act,
    /// Names in the workspace.
    pub paths: Vec<String>,
    /// What would change, as much as is shown; none for a sensitive file, and for a call that changes nothing.
    pub diff: Option<String>,
    /// When it ends, in milliseconds since 1970.
    pub expires_at: u64,
    /// The rule that asks, for the person only: its text can name what is denied.
    pub rule: Rule,
}

/// A request, and what has become of it by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// As the log has it.
    pub request: Request,
    /// What has become of it.
    pub state: State,
}

impl Engine {
    /// Whether a person approved this call, to be asked once nothing else is in the way of it and before anything is done. `Ok`
    /// is for one call, made at once: an approval of one call is spent by it, durably, so that a process that dies before the
    /// call is made leaves nothing approved.
    ///
    /// # Errors
    /// [`Error::ApprovalNeeded`] if it waits now, [`Error::NotApproved`] if a person refused it. If the log cannot be used, the
    /// call must not be made either.
    pub(crate) fn approved(&self, caller: &Caller, ask: Ask) -> Result<(), Error> {
        self.uses(self.approval(caller, ask)?);
        Ok(())
    }

    /// Notes for the record of the call which approval it used.
    pub(crate) fn uses(&self, id: ApprovalId) {
        if let Some(notes) = &self.notes {
            let _ = notes.approval.set(id);
        }
    }

    /// The approval that covers this call; see [`Self::approved`].
    pub(crate) fn approval(&self, caller: &Caller, ask: Ask) -> Result<ApprovalId, Error> {
        if let Some(asker) = &self.asker {
            return asker.approval(caller, ask);
        }
        let Ask { what, act, paths, rule, digest, diff } = ask;
        let (at, diff) = (self.now(), diff.map(|diff| bounded(&diff)));
        let asked = Asked {
            digest: Sha(digest),
            what: what.to_owned(),
            act: act.as_str().to_owned(),
            paths: paths.clone(),
            rule: AskingRule {
                file: rule.file.to_string(),
                line: rule.line,
                text: rule.text.to_string(),
                reason: rule.reason.clone(),
            },
            by: By::from(caller),
            at,
            expires_at: at.saturating_add(u64::from(self.shared.settings.approval_minutes) * 60_000),
            diff: diff.clone(),
        };
        match self.with_approvals(Create::Yes, |approvals| approvals.ask(&asked))? {
            Some(Standing::Approved(id)) => Ok(id),
            Some(Standing::Denied(id)) => Err(Error::NotApproved { id: id.to_string(), what, paths }),
            Some(Standing::Waits { id, expires_at }) => {
                let id = id.to_string();
                Err(Error::ApprovalNeeded(Box::new(ApprovalRequest { id, what, act, paths, diff, expires_at, rule })))
            }
            // Without a store nothing can be approved.
            Some(Standing::TooMany) | None => Err(Error::TooManyApprovals { waiting: MOST_WAITING }),
        }
    }

    /// Runs `work` on the log of approvals, caught up; `None` if there is none and none is to be made.
    fn with_approvals<T>(
        &self,
        create: Create,
        work: impl FnOnce(&mut Approvals) -> Result<T, ApprovalsError>,
    ) -> Result<Option<T>, Error> {
        let mut open = locked(&self.shared.approvals);
        if open.as_mut().is_some_and(|approvals| approvals.catch_up().is_err()) {
            // It may have been put aside and begun anew.
            *open = None;
        }
        if open.is_none() {
            let Some(store) = self.store(create)? else { return Ok(None) };
            *open = Approvals::open(&*store, create, self.now())?;
        }
        Ok(open.as_mut().map(work).transpose()?)
    }

    /// The calls that wait or are approved, or all there ever were.
    pub(crate) fn list_approvals(&self, all: bool) -> Result<Vec<Approval>, Error> {
        let now = self.now();
        let stands = |approval: &Approval| match approval.state {
            State::Waiting | State::Approved(_) => true,
            State::Expired | State::Used | State::Denied => false,
        };
        let found = self.with_approvals(Create::No, |approvals| {
            let seen = |request: &Request| Approval { request: request.clone(), state: request.state(now) };
            Ok(approvals.requests().map(seen).filter(|approval| all || stands(approval)).collect())
        })?;
        Ok(found.unwrap_or_default())
    }

    /// One call that waits, or waited.
    pub(crate) fn show_approval(&self, id: &str) -> Result<Approval, Error> {
        let none = || Error::Undecided { id: id.to_owned(), why: Undecided::Unknown };
        let number = ApprovalId::parse(id).ok_or_else(none)?;
        let found = self.with_approvals(Create::No, |approvals| Ok(approvals.request(number).cloned()))?;
        let request = found.flatten().ok_or_else(none)?;
        Ok(Approval { state: request.state(self.now()), request })
    }

    /// A person decides. Whether it is one is for the wire to make sure of.
    pub(crate) fn decide_approval(
        &self,
        caller: &Caller,
        id: &str,
        decision: (Decision, Scope, How),
    ) -> Result<Approval, Error> {
        let no = |why| Error::Undecided { id: id.to_owned(), why };
        let none = || no(Undecided::Unknown);
        let (number, at) = (ApprovalId::parse(id).ok_or_else(none)?, self.now());
        let by = By::from(caller);
        let decided = self.with_approvals(Create::No, |approvals| approvals.decide(number, decision, (by, at)))?;
        match decided.ok_or_else(none)? {
            Ok(request) => Ok(Approval { state: request.state(at), request }),
            Err(why) => Err(no(why)),
        }
    }
}

/// As many whole lines of a diff as are kept, and how many more there are.
fn bounded(diff: &str) -> String {
    if diff.len() <= DIFF_BYTES {
        return diff.to_owned();
    }
    let mut kept = String::new();
    let mut lines = diff.split_inclusive('\n').peekable();
    while let Some(line) = lines.next_if(|line| kept.len() + line.len() <= DIFF_BYTES) {
        kept.push_str(line);
    }
    let left = lines.count();
    kept + &format!("… {left} more lines\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Control, LoggedSession, Settings};
    use readproof_core::{
        operation::Operation,
        path::Bearings,
        policy::{Layer, Preset},
    };
    use readproof_disk::Root;
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    const MINUTE: u64 = 60_000;

    /// A workspace in which every process that is started gets the same clock.
    struct World {
        temp: tempfile::TempDir,
        clock: Arc<AtomicU64>,
    }

    impl World {
        fn new() -> Self {
            Self { temp: tempfile::tempdir().unwrap(), clock: Arc::default() }
        }

        fn process(&self) -> Engine {
            let bearings = Bearings { cwd: self.temp.path().display().to_string(), home: None };
            let (root, clock) = (Root::open(self.temp.path()).unwrap(), Arc::clone(&self.clock));
            let settings = Settings { approval_minutes: 10, ..Settings::default() };
            Engine::new(root, bearings, settings, Box::new(move || clock.load(Ordering::Relaxed))).unwrap()
        }

        fn at(&self, time: u64) {
            self.clock.store(time, Ordering::Relaxed);
        }
    }

    fn caller() -> Caller {
        Caller { conversation: Some("s".to_owned()), ..Caller::of("mcp") }
    }

    /// Deleting `a.txt`, which holds `text`.
    fn ask(text: &str) -> Ask {
        let rule = Rule {
            layer: Layer::Preset(Preset::ALL[0]),
            file: "readproof.toml".into(),
            line: 4,
            text: "secret-name/**".into(),
            reason: None,
        };
        let digest = Ask::digest_of("delete", [("a.txt", Some(ContentHash::of(text.as_bytes())), None)]);
        let diff = Some(format!("-{text}\n"));
        Ask { what: "delete", act: Act::Delete, paths: vec!["a.txt".to_owned()], rule, digest, diff }
    }

    fn waiting(engine: &Engine, text: &str) -> ApprovalRequest {
        match engine.approved(&caller(), ask(text)) {
            Err(Error::ApprovalNeeded(request)) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn decide(engine: &Engine, id: &str, decision: Decision, scope: Scope) -> Result<State, Error> {
        let operation = Operation::Decide { id: id.to_owned(), decision, scope, how: How::Key };
        let person = Caller { user: Some("uid 7".to_owned()), ..Caller::of("cli") };
        let conversation = &mut LoggedSession::named(None);
        let call = Call { caller: &person, conversation, operation, control: Control::WAIT };
        let approval: Box<Approval> = engine.perform(call)?.try_into()?;
        Ok(approval.state)
    }

    #[test]
    fn a_call_waits_is_approved_and_made_once() {
        let world = World::new();
        let engine = world.process();
        let request = waiting(&engine, "1");
        assert_eq!((request.what, request.expires_at), ("delete", 10 * MINUTE));
        assert_eq!(request.diff.as_deref(), Some("-1\n"));
        assert_eq!(waiting(&world.process(), "1"), request, "another process finds it waiting");
        let yes = decide(&world.process(), &request.id, Decision::Approve, Scope::Once).unwrap();
        assert_eq!(yes, State::Approved(Scope::Once));
        assert_ne!(waiting(&engine, "2").id, request.id, "the file changed: asked again");
        engine.approved(&caller(), ask("1")).unwrap();
        assert_ne!(waiting(&engine, "1").id, request.id);
        let all = engine.list_approvals(true).unwrap();
        let decided = all[0].request.decided.as_ref().unwrap();
        assert_eq!((decided.how.as_str(), decided.by.user.as_deref()), ("key", Some("uid 7")));
        assert_eq!(engine.list_approvals(false).unwrap().len(), 2, "what is used is over");
    }

    #[test]
    fn a_process_that_dies_before_it_writes_made_the_call_not_at_all() {
        let world = World::new();
        let id = waiting(&world.process(), "1").id;
        decide(&world.process(), &id, Decision::Approve, Scope::Once).unwrap();
        let killed = world.process();
        killed.approved(&caller(), ask("1")).unwrap();
        drop(killed);
        assert_ne!(waiting(&world.process(), "1").id, id);
    }

    #[test]
    fn a_denial_stays_and_everything_expires() {
        let world = World::new();
        let engine = world.process();
        let id = waiting(&engine, "1").id;
        assert_eq!(decide(&engine, &id, Decision::Deny, Scope::Once).unwrap(), State::Denied);
        world.at(9 * MINUTE);
        let refused = engine.approved(&caller(), ask("1"));
        assert!(matches!(refused, Err(Error::NotApproved { id: of, .. }) if of == id));
        world.at(10 * MINUTE);
        let second = waiting(&engine, "1").id;
        world.at(20 * MINUTE);
        let late = decide(&engine, &second, Decision::Approve, Scope::Once);
        assert!(matches!(late, Err(Error::Undecided { why: Undecided::Over(State::Expired), .. })));
        assert_eq!(engine.show_approval(&second).unwrap().state, State::Expired);
        assert_ne!(waiting(&engine, "1").id, second);
    }

    #[test]
    fn an_approval_for_a_session_or_for_good_covers_other_texts() {
        let elsewhere = Caller { conversation: Some("t".to_owned()), ..caller() };
        for scope in [Scope::Session, Scope::Always] {
            let world = World::new();
            let engine = world.process();
            let id = waiting(&engine, "1").id;
            decide(&engine, &id, Decision::Approve, scope).unwrap();
            world.at(99 * MINUTE);
            engine.approved(&caller(), ask("2")).unwrap();
            assert_eq!(engine.approved(&elsewhere, ask("2")).is_ok(), scope == Scope::Always);
            decide(&engine, &id, Decision::Deny, Scope::Once).unwrap();
            engine.approved(&caller(), ask("3")).unwrap_err();
        }
    }

    #[test]
    fn ids_that_are_none() {
        let world = World::new();
        let engine = world.process();
        assert!(engine.list_approvals(true).unwrap().is_empty());
        assert!(engine.root.glance(".readproof").is_none(), "looking makes no store");
        for id in ["", "v1", "000000-1"] {
            assert!(matches!(engine.show_approval(id), Err(Error::Undecided { why: Undecided::Unknown, .. })));
            let decided = decide(&engine, id, Decision::Approve, Scope::Once);
            assert!(matches!(decided, Err(Error::Undecided { why: Undecided::Unknown, .. })));
        }
    }

    #[test]
    fn a_digest_is_of_every_name_and_text() {
        let (one, two) = (Some(ContentHash::of(b"1")), Some(ContentHash::of(b"2")));
        let all = [
            Ask::digest_of("delete", [("a", one, None)]),
            Ask::digest_of("delete", [("a", two, None)]),
            Ask::digest_of("delete", [("a", None, one)]),
            Ask::digest_of("delete", [("b", one, None)]),
            Ask::digest_of("patch", [("a", one, None)]),
            Ask::digest_of("delete", [("a", one, None), ("b", one, None)]),
            Ask::digest_of("delete", []),
        ];
        for (at, digest) in all.iter().enumerate() {
            assert!(!all[..at].contains(digest), "{at}");
        }
    }

    #[test]
    fn a_long_diff_is_cut_between_lines() {
        let long = "-a line of some length\n".repeat(2_000);
        let cut = bounded(&long);
        assert!(cut.len() <= DIFF_BYTES + 40);
        let left = 2_000 - (cut.lines().count() - 1);
        assert!(cut.ends_with(&format!("\n… {left} more lines\n")), "{}", &cut[cut.len() - 60..]);
        assert_eq!(bounded(&"x".repeat(DIFF_BYTES + 1)), "… 1 more lines\n");
    }
}
