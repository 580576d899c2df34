//! Changes outside the workspace: only in folders that the person listed, and there every one asks. Such a folder is a workspace
//! of its own, with its own rules, texts and versions. What the model sees of it is not followed, so nothing in it counts as held.
//! The person is asked, and decides, in the workspace that the call came from.

use readproof_core::{
    operation::{Caller, Operation},
    path::{Bearings, meant},
};
use readproof_disk::Root;
use std::path::Path;

use super::{Call, Control, Error, Outcome};
use crate::{Engine, LoggedSession, Settings};

/// The rules of such a folder, before its own.
const RULES: (&str, &str) = (
    "a folder outside the workspace",
    "[[policy.rule]]\neffect = \"ask\"\nacts = [\"edit\", \"write\", \"delete\"]\nreason = \"outside the workspace\"\n",
);

impl Engine {
    /// Performs a call that changes a file in a listed folder outside; `None` if it is not one.
    pub(crate) fn perform_elsewhere<G>(
        &self,
        (caller, control): (&Caller, &Control<'_>),
        operation: &Operation,
    ) -> Option<Result<Outcome<G>, Error>> {
        if self.shared.settings.write_roots.is_empty() || !operation.is_change() {
            return None;
        }
        let name = meant(operation.path()?, &self.shared.bearings);
        let name = Path::new(&name);
        if self.root.leads_inside(name) || self.root.holds(name) {
            return None;
        }
        let listed = self.shared.settings.write_roots.iter().filter_map(|folder| self.elsewhere(folder));
        // One that holds the workspace would go round its rules.
        let usable = listed.filter(|other| other.root.holds(name) && !other.root.holds(self.root.path()));
        let other = usable.max_by_key(|other| other.root.path().components().count())?;
        let call = Call {
            caller,
            conversation: &mut LoggedSession::named(None),
            operation: operation.clone(),
            control: *control,
        };
        let done = other.perform(call).map_err(|error| {
            let folder = || other.root.path().display().to_string();
            if error.is_of_person() { error } else { Error::Elsewhere { folder: folder(), source: Box::new(error) } }
        });
        Some(done.and_then(|outcome| {
            let Outcome::Written(written) = outcome else { return Err(Error::OtherOutcome) };
            Ok(Outcome::Written(written))
        }))
    }

    /// The workspace that a listed folder is; `None` if there is no such folder.
    fn elsewhere(&self, folder: &str) -> Option<Self> {
        let shared = &self.shared;
        let root = Root::open(Path::new(&meant(folder, &shared.bearings))).ok()?;
        let bearings = Bearings { cwd: root.path().to_str()?.to_owned(), home: shared.bearings.home.clone() };
        let mut settings = Settings { write_roots: Vec::new(), notices: Vec::new(), ..shared.settings.clone() };
        settings.policy.given.push((RULES.0.to_owned(), RULES.1.to_owned()));
        let (asker, now) = (self.clone(), self.clone());
        let mut other = Self::new(root, bearings, settings, Box::new(move || now.now())).ok()?;
        other.asker = Some(Box::new(asker));
        other.concerns = std::sync::Arc::clone(&self.concerns);
        Some(other)
    }

    /// A name as the person who is asked reads it: outside the workspace with its folder.
    pub(crate) fn named_to_person(&self, path: &str) -> String {
        if self.asker.is_some() { self.root.absolute(path) } else { path.to_owned() }
    }
}
