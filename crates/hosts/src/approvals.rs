//! The log of approvals of a workspace: which calls waited for a person, what was decided, by whom, and which approvals are
//! used. It only grows. What is approved is derived from it, so every process that shares the store knows the same.

use readproof_core::{
    operation::approval::{Decision, How, Scope},
    text::ContentHash,
};
use readproof_disk::{Create, Log, LogError, LogName, Store};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, ops::ControlFlow};

use crate::{block::Sha, versions::By};

/// The version of these records.
const VERSION: u32 = 1;

/// How often a record is offered to a log to which others append at the same time.
const ATTEMPTS: u32 = 10_000;

/// The most requests that wait at a time: nobody looks through more, and an agent must not fill the disk.
pub const MOST_WAITING: usize = 100;

/// A line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Record {
    /// The header, with a random number.
    Open { v: u32, nonce: String, at: u64 },
    /// A call waits for a person.
    Asked(Box<Asked>),
    /// A person decided. The latest decision counts.
    Decided { request: u64, decision: String, scope: String, how: String, by: By, at: u64 },
    /// An approval of one call is spent. Written before the call is made.
    Used { request: u64, at: u64 },
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A call that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Of the operation and of everything that was shown of it, the texts of its files included.
    pub digest: Sha,
    /// The word of the operation.
    pub what: String,
    /// The word of what is done to the paths.
    pub act: String,
    pub paths: Vec<String>,
    pub rule: AskingRule,
    pub by: By,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The same. From then on the request and its approval for one call count for nothing.
    pub expires_at: u64,
    /// What would change; absent for a sensitive file, and for a call that changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Where the rule stands that asks, for the person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskingRule {
    pub file: String,
    pub line: u32,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub decision: Decision,
    /// What an approval covers; says nothing in a denial.
    pub scope: Scope,
    /// How it is known that a person decided.
    pub how: String,
    pub by: By,
    pub at: u64,
}

/// The id of a request: the number of its line, and a tag so that it is not mistaken for another. The tag tells nothing about
/// what is asked, as the id is given to the caller and the file may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApprovalId {
    tag: [u8; 3],
    line: u64,
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.tag;
        write!(f, "{a:02x}{b:02x}{c:02x}-{}", self.line)
    }
}

impl ApprovalId {
    fn of(nonce: &str, digest: ContentHash, line: u64) -> Self {
        let [a, b, c, ..] = *ContentHash::of_parts(&[nonce.as_bytes(), digest.as_bytes()]).as_bytes();
        Self { tag: [a, b, c], line }
    }

    /// Reads what is printed, as in `0a1b2c-7`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (tag, line) = text.split_once('-')?;
        let number = u32::from_str_radix(tag, 16).ok()?;
        let [_, a, b, c] = number.to_be_bytes();
        let id = Self { tag: [a, b, c], line: line.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

/// A request and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: ApprovalId,
    pub asked: Asked,
    /// The latest decision.
    pub decided: Option<Decided>,
    /// When the approval of one call was spent.
    pub used: Option<u64>,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody decided yet.
    Waiting,
    /// Nobody decided in time, or the approved call was not made in time.
    Expired,
    /// The call may be made, and what the scope says.
    Approved(Scope),
    /// The approved call was made, or died on the way.
    Used,
    /// The call is refused until the request expires.
    Denied,
}

impl State {
    /// The word for it in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Expired => "expired",
            Self::Approved(_) => "approved",
            Self::Used => "used",
            Self::Denied => "denied",
        }
    }
}

impl Request {
    /// What has become of it by this time.
    #[must_use]
    pub fn state(&self, now: u64) -> State {
        let expired = now >= self.asked.expires_at;
        match self.decided.as_ref().map(|decided| (decided.decision, decided.scope)) {
            _ if self.used.is_some() => State::Used,
            Some((Decision::Approve, scope @ (Scope::Session | Scope::Always))) => State::Approved(scope),
            Some(_) | None if expired => State::Expired,
            Some((Decision::Approve, Scope::Once)) => State::Approved(Scope::Once),
            Some((Decision::Deny, _)) => State::Denied,
            None => State::Waiting,
        }
    }

    /// Whether a call is the one that was shown, by the same caller. The conversation does not matter: a client that was
    /// started again has another.
    fn is_of(&self, call: &Asked) -> bool {
        self.asked.digest == call.digest && same_caller(&self.asked.by, &call.by)
    }

    /// Whether an approval that lasts covers a call.
    fn covers(&self, call: &Asked, scope: Scope) -> bool {
        let asked = &self.asked;
        let same_conversation = || asked.by.conversation.is_some() && asked.by.conversation == call.by.conversation;
        let in_scope = match scope {
            Scope::Once => false,
            Scope::Session => same_conversation(),
            Scope::Always => true,
        };
        in_scope
            && asked.act == call.act
            && same_caller(&asked.by, &call.by)
            && !call.paths.is_empty()
            && call.paths.iter().all(|path| asked.paths.contains(path))
    }
}

/// What a person approved for one caller says nothing about another: it may be a read. Records of earlier versions name no user;
/// a log is readable for one user only, so they are of that one.
fn same_caller(asked: &By, call: &By) -> bool {
    (&asked.surface, &asked.client, &asked.identity) == (&call.surface, &call.client, &call.identity)
        && (asked.user.is_none() || asked.user == call.user)
}

/// What the log says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be made now. An approval for one call is spent by this.
    Approved(ApprovalId),
    /// A person refused it.
    Denied(ApprovalId),
    /// It waits for a person, until then.
    Waits { id: ApprovalId, expires_at: u64 },
    /// Too many calls wait already; this one was not added.
    TooMany,
}

/// Why nothing was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There is no such request.
    Unknown,
    /// It is used, or it expired.
    Over(State),
    /// An approval for a session, of a call that belongs to none.
    NoSession,
}

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum ApprovalsError {
    Log(#[from] LogError),
    /// It was written by a newer version of this program.
    Newer,
    NoRandom(getrandom::Error),
}

/// The open log, as far as it was read.
#[derive(Debug)]
pub struct Approvals {
    log: Box<dyn Log>,
    known: Known,
}

#[derive(Debug, Default)]
struct Known {
    is_open: bool,
    /// The random number of the header.
    nonce: String,
    newer: bool,
    requests: BTreeMap<u64, Request>,
}

impl Known {
    fn take(&mut self, line: u64, record: Record) {
        match record {
            Record::Open { v, nonce, .. } => {
                (self.is_open, self.newer) = (true, self.newer || v > VERSION);
                self.nonce = nonce;
            }
            Record::Asked(asked) => {
                let id = ApprovalId::of(&self.nonce, asked.digest.0, line);
                self.requests.insert(line, Request { id, asked: *asked, decided: None, used: None });
            }
            Record::Decided { request, decision, scope, how, by, at } => {
                // A word that this version does not know approves nothing.
                if let Some(found) = self.requests.get_mut(&request)
                    && let (Some(decision), Some(scope)) = (Decision::parse(&decision), Scope::parse(&scope))
                {
                    found.decided = Some(Decided { decision, scope, how, by, at });
                }
            }
            Record::Used { request, at } => {
                if let Some(found) = self.requests.get_mut(&request) {
                    found.used.get_or_insert(at);
                }
            }
            Record::Unknown => {}
        }
    }

    fn request(&self, id: ApprovalId) -> Option<&Request> {
        self.requests.get(&id.line).filter(|found| found.id == id)
    }

    /// What is to be recorded for a call, and what is to be answered then.
    fn judge(&self, call: &Asked) -> Next {
        let now = call.at;
        let newest = || self.requests.values().rev();
        // What a person said last about this very call outranks what was said of its paths.
        let of_call =
            newest().find(|request| request.is_of(call) && !matches!(request.state(now), State::Expired | State::Used));
        if let Some(request) = of_call {
            match request.state(now) {
                State::Approved(Scope::Once) => return Next::Use(request.id),
                State::Denied => return Next::Answer(Standing::Denied(request.id)),
                State::Waiting | State::Approved(_) | State::Expired | State::Used => {}
            }
        }
        let lasting = newest().find(|request| match request.state(now) {
            State::Approved(scope) => request.covers(call, scope),
            State::Waiting | State::Expired | State::Used | State::Denied => false,
        });
        match (lasting, of_call) {
            (Some(request), _) => Next::Answer(Standing::Approved(request.id)),
            (None, Some(request)) if request.state(now) == State::Waiting => {
                Next::Answer(Standing::Waits { id: request.id, expires_at: request.asked.expires_at })
            }
            (None, _) => {
                let waiting = newest().filter(|request| request.state(now) == State::Waiting).count();
                if waiting < MOST_WAITING { Next::Ask } else { Next::Answer(Standing::TooMany) }
            }
        }
    }

    /// Why a decision cannot be made; `None` if it can.
    fn objection(&self, id: ApprovalId, decided: &Decided) -> Option<Undecided> {
        let Some(request) = self.request(id) else { return Some(Undecided::Unknown) };
        match request.state(decided.at) {
            over @ (State::Used | State::Expired) => Some(Undecided::Over(over)),
            // An approval that lasts can be taken back at any time, and not be given anew for a call that nobody waits for.
            State::Approved(Scope::Session | Scope::Always)
                if decided.decision == Decision::Approve && decided.at >= request.asked.expires_at =>
            {
                Some(Undecided::Over(State::Expired))
            }
            State::Waiting | State::Denied | State::Approved(_) => {
                let of_session = decided.decision == Decision::Approve && decided.scope == Scope::Session;
                let none = request.asked.by.conversation.is_none();
                (of_session && none).then_some(Undecided::NoSession)
            }
        }
    }
}

/// The next step for a call.
enum Next {
    Answer(Standing),
    /// Spend the approval, then it may be made.
    Use(ApprovalId),
    /// Record that it waits.
    Ask,
}

impl Approvals {
    /// Opens the log; `None` if there is none and none is to be made.
    ///
    /// # Errors
    /// [`ApprovalsError`] when it cannot be read or written, is damaged or newer.
    pub fn open(store: &dyn Store, create: Create, at: u64) -> Result<Option<Self>, ApprovalsError> {
        let Some(log) = store.logs().open(&LogName::Approvals, create)? else { return Ok(None) };
        let mut approvals = Self { log, known: Known::default() };
        approvals.catch_up()?;
        if create == Create::Yes && !approvals.known.is_open {
            let nonce = format!("{:016x}", getrandom::u64().map_err(ApprovalsError::NoRandom)?);
            let open = Record::Open { v: VERSION, nonce, at };
            approvals.step(|known| if known.is_open { Err(()) } else { Ok((open.clone(), ())) })?.unwrap_or(());
        }
        Ok(Some(approvals))
    }

    /// Reads what this or another process has appended since the last time.
    ///
    /// # Errors
    /// [`ApprovalsError`] when the log is damaged or newer.
    pub fn catch_up(&mut self) -> Result<(), ApprovalsError> {
        let Self { log, known } = self;
        log.catch_up_each(&mut |line, text| {
            known.take(line, serde_json::from_str(text).unwrap_or(Record::Unknown));
            ControlFlow::Continue(())
        })?;
        if known.newer { Err(ApprovalsError::Newer) } else { Ok(()) }
    }

    /// Appends the record that `next` wants, synced, and gives what it gives with it. `next` is asked anew after every line
    /// that another process appended meanwhile, and may then want none.
    fn step<T, N>(&mut self, next: impl Fn(&Known) -> Result<(Record, T), N>) -> Result<Result<T, N>, ApprovalsError> {
        for _ in 0..ATTEMPTS {
            let (record, given) = match next(&self.known) {
                Ok(wanted) => wanted,
                Err(none) => return Ok(Err(none)),
            };
            match self.log.append(&serde_json::to_string(&record).unwrap_or_default()) {
                Ok(number) => {
                    self.known.take(number, record);
                    self.log.sync()?;
                    return Ok(Ok(given));
                }
                Err(LogError::Behind { .. }) => self.catch_up()?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(LogError::Behind { log: LogName::Approvals }.into())
    }

    /// What stands about a call. An approval for one call is spent, synced, before this says that it may be made: a process
    /// that dies afterwards leaves a call that was not made and is asked about again. A call about which nothing stands is
    /// recorded as waiting.
    ///
    /// # Errors
    /// [`ApprovalsError`] when the log cannot be written. The call must not be made then.
    pub fn ask(&mut self, call: &Asked) -> Result<Standing, ApprovalsError> {
        self.catch_up()?;
        let done = self.step(|known| match known.judge(call) {
            Next::Answer(standing) => Err(standing),
            Next::Use(id) => Ok((Record::Used { request: id.line, at: call.at }, Some(id))),
            Next::Ask => Ok((Record::Asked(Box::new(call.clone())), None)),
        })?;
        Ok(match done {
            Err(standing) => standing,
            Ok(Some(id)) => Standing::Approved(id),
            // The newest request is the one that was just appended.
            Ok(None) => match self.known.requests.last_key_value() {
                Some((_, request)) => Standing::Waits { id: request.id, expires_at: call.expires_at },
                None => Standing::TooMany,
            },
        })
    }

    /// Records a decision, synced.
    ///
    /// # Errors
    /// [`ApprovalsError`] when the log cannot be written.
    pub fn decide(
        &mut self,
        id: ApprovalId,
        (decision, scope, how): (Decision, Scope, How),
        (by, at): (By, u64),
    ) -> Result<Result<Request, Undecided>, ApprovalsError> {
        self.catch_up()?;
        let how = how.as_str().to_owned();
        let decided = Decided { decision, scope, how, by, at };
        let done = self.step(|known| match known.objection(id, &decided) {
            Some(objection) => Err(objection),
            None => {
                let Decided { how, by, at, .. } = decided.clone();
                let (decision, scope) = (decision.as_str().to_owned(), scope.as_str().to_owned());
                Ok((Record::Decided { request: id.line, decision, scope, how, by, at }, ()))
            }
        })?;
        Ok(done.and_then(|()| self.request(id).cloned().ok_or(Undecided::Unknown)))
    }

    /// Every request, oldest first.
    pub fn requests(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.known.requests.values()
    }

    /// The request of that id.
    #[must_use]
    pub fn request(&self, id: ApprovalId) -> Option<&Request> {
        self.known.request(id)
    }
}
