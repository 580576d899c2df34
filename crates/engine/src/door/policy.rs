//! Policy at the door: every call gets a root that shows what its caller may see, so no operation can tell of more. What a rule
//! refuses is told as data; what it asks for waits for a person.

use std::{path::Path, sync::Arc};

use readproof_core::{
    operation::{Caller, Operation, Read},
    path::candidates,
    policy::{Act, Acts, Verdict},
    text::ContentHash,
};
use readproof_disk::{Asks, FileRef, Gate, LocateError, Refusal, SnapshotError};
use readproof_hosts::approvals::ApprovalId;

use super::Ask;
use crate::{Control, Conversation, Engine, Error, Outcome, Reading};

/// Stands for a name that a rule hides.
const HIDDEN: &str = "(hidden by a rule)";

impl Engine {
    /// This engine as far as a caller may use it for these acts. The policy files are looked at each time.
    ///
    /// # Errors
    /// When a policy file cannot be used: nothing may be done then.
    pub fn seen_by(&self, caller: &Caller, acts: Acts) -> Result<Self, Error> {
        self.seen_when(caller, acts, Asks::Refuse)
    }

    pub(crate) fn seen_when(&self, caller: &Caller, acts: Acts, asks: Asks) -> Result<Self, Error> {
        let rules = self.shared.policy.look(&self.root)?;
        let mut seen = self.clone();
        if !acts.is_empty() {
            let gate = Gate::new((rules, &self.root), (caller, acts, asks), Arc::clone(&self.shared.sensitive));
            seen.root = self.root.guarded(Arc::new(gate));
        }
        Ok(seen)
    }

    /// Whether a name that a record holds may be shown, relative to the workspace or absolute.
    pub(crate) fn may_name(&self, name: &str) -> bool {
        let top = self.root.absolute("");
        self.root.may_use(name.strip_prefix(&top).unwrap_or(name))
    }

    /// A name that a record holds, unless a rule hides it.
    pub(crate) fn named(&self, name: &str) -> String {
        if self.may_name(name) { name.to_owned() } else { HIDDEN.to_owned() }
    }

    /// This engine as far as names may be suggested.
    pub(crate) fn for_suggestions(&self) -> Self {
        let mut seen = self.clone();
        seen.root = self.root.for_acts(Acts::SUGGESTING);
        seen
    }

    /// A read. Where the host would answer instead of us, a rule that refuses the file refuses that too.
    pub(crate) fn read_or_refuse<C: Conversation>(
        &self,
        conversation: &mut C,
        read: &Read,
        control: &Control<'_>,
    ) -> Result<Reading<C::Given>, Error> {
        let reading = self.read(conversation, read, control);
        if conversation.hands_on()
            && !reading.as_ref().is_err_and(|error| refusal(error).is_some())
            && let Ok(Reading::NotOurs(_)) | Err(_) = &reading
            && let Some(refusal) = self.refuses_to_hand_on(&read.path)
        {
            return Err(Error::Locate(LocateError::Refused(Box::new(refusal))));
        }
        reading
    }

    /// Answers one read.
    pub(crate) fn read<C: Conversation>(
        &self,
        conversation: &mut C,
        read: &Read,
        control: &Control<'_>,
    ) -> Result<Reading<C::Given>, Error> {
        self.read_if(conversation, read, control, |_| true)?.ok_or(Error::Aborted)
    }

    /// Why a host may not read what a path could mean to it: any name that we would try, what a URL says when it is decoded,
    /// and where links lead from outside.
    fn refuses_to_hand_on(&self, path: &str) -> Option<Refusal> {
        let bare = path.rsplit_once(':').map(|(bare, _)| bare);
        let spelt = [Some(path.to_owned()), bare.map(str::to_owned), decoded(path)];
        let names = spelt.into_iter().flatten().flat_map(|path| candidates(&path, &self.shared.bearings));
        for name in names {
            let real = self.root.leads_to(Path::new(&name)).map(|name| self.root.absolute(&name));
            let inside = [Some(name), real].into_iter().flatten();
            let mut files = inside.flat_map(|name| self.root.file_ref(&name));
            if let Some(refusal) = files.find_map(|file| self.root.refuses(&file)) {
                return Some(Refusal { name: path.to_owned(), ..refusal });
            }
        }
        None
    }

    /// Performs a call again that a rule refused, once a person has agreed to it. A change is asked about as a whole, with what it
    /// would do; unless it fails, and why tells of the file.
    pub(crate) fn answer_agreed<C: Conversation>(
        &self,
        seen: &mut Self,
        by: (&Caller, &Control<'_>),
        conversation: &mut C,
        (operation, refused): (&Operation, &Refusal),
    ) -> Result<Outcome<C::Given>, Error> {
        let asking = match &refused.verdict {
            Verdict::Ask(rule) if operation.is_change() => Some(rule.clone()),
            Verdict::Ask(_) | Verdict::Allow | Verdict::Deny(_) => None,
        };
        let as_a_whole = asking.is_some();
        if !as_a_whole {
            seen.uses(self.agreed(by.0, operation, refused)?);
        }
        let notes = seen.notes.take();
        *seen = self.seen_when(by.0, Acts::needed_by(operation), Asks::Agreed)?;
        seen.notes = notes;
        (seen.asking, seen.unseen) = (asking, as_a_whole);
        let mut outcome = seen.answer(by, conversation, operation);
        if as_a_whole && outcome.as_ref().is_err_and(|error| !error.is_of_person() && error.code() != "DENIED") {
            seen.uses(self.agreed(by.0, operation, refused)?);
            seen.unseen = false;
            outcome = seen.answer(by, conversation, operation);
        }
        // Of several files one may ask and another be denied.
        outcome.map_err(|error| match refusal(&error) {
            Some(Refusal { name, verdict: Verdict::Deny(rule), .. }) => {
                Error::Denied { path: name.clone(), rule: rule.clone() }
            }
            Some(_) | None => error,
        })
    }

    /// Says of a refusal by a rule what it means for the caller. Where the rule asks, `Ok` says that a person has agreed to this
    /// very call, and how.
    pub(crate) fn agreed(
        &self,
        caller: &Caller,
        operation: &Operation,
        refusal: &Refusal,
    ) -> Result<ApprovalId, Error> {
        match &refusal.verdict {
            Verdict::Allow => Err(Error::Aborted),
            Verdict::Deny(rule) => Err(Error::Denied { path: refusal.name.clone(), rule: rule.clone() }),
            Verdict::Ask(rule) => {
                let digest = self.digest_of(operation, refusal);
                let act = Acts::needed_by(operation).iter().next().unwrap_or(Act::Read);
                let paths = vec![self.named_to_person(&refusal.name)];
                self.approval(
                    caller,
                    Ask { what: operation.name(), act, paths, rule: rule.clone(), digest, diff: None },
                )
            }
        }
    }

    /// What a person agrees to: the call as it is, and the text that is there.
    fn digest_of(&self, operation: &Operation, refusal: &Refusal) -> ContentHash {
        let file = self.root.locate_new(&[self.root.absolute(&refusal.name)]);
        let text = file.ok().and_then(|file| self.root.snapshot(&file, &self.snapshot_rules()).ok());
        let text = text.map(|read| read.text.hash());
        let name = self.named_to_person(&refusal.name);
        ContentHash::of(format!("{name:?} {operation:?} {text:?}").as_bytes())
    }

    /// Refuses to do something with a file that a rule denies; says which rule asks, if one does.
    pub(crate) fn may(&self, act: Act, file: &FileRef) -> Result<Option<readproof_core::policy::Rule>, Error> {
        match self.root.refuses_act(act, file) {
            None => Ok(None),
            Some(Refusal { verdict: Verdict::Ask(rule), .. }) => Ok(Some(rule)),
            Some(Refusal { name, verdict: Verdict::Deny(rule), .. }) => Err(Error::Denied { path: name, rule }),
            Some(Refusal { verdict: Verdict::Allow, .. }) => Ok(None),
        }
    }
}

/// The refusal by a rule that an error is.
pub(crate) fn refusal(error: &Error) -> Option<&Refusal> {
    let (Error::Locate(LocateError::Refused(refusal)) | Error::Snapshot(SnapshotError::Refused(refusal))) = error
    else {
        return None;
    };
    Some(refusal)
}

/// What a URL of a file means once its escapes are resolved.
fn decoded(path: &str) -> Option<String> {
    let rest = path.strip_prefix("file://")?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest).as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let hex = rest.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let escaped = hex.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(escaped.unwrap_or(if *byte == b'\\' { b'/' } else { *byte }));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    let text = String::from_utf8_lossy(&bytes).replace(['\t', '\n', '\r'], "");
    // A host before the path, as in `file://localhost/x`, is not part of it.
    text.find('/').map(|at| text[at..].to_owned())
}
