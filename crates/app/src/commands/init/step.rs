//! The changes that set one host up: what each would put into which file, and how that file compares with it now. Plans and
//! writes; asks nobody and prints nothing.

use serde_json::{Value, json};
use std::path::PathBuf;

use super::{
    entry::{self, Existing},
    file::HostFile,
    jsonc,
    package::{self, Listed, Package},
    permit::{Permit, Standing},
    plugin::{self, Plugin},
};
use crate::{
    cli::{Host, Scope},
    config::HostEnvironment,
    output::Failure,
};

/// A host, whose settings, and where those are.
pub(crate) struct Setup<'a> {
    pub(crate) host: Host,
    pub(crate) scope: Scope,
    pub(crate) workspace: PathBuf,
    pub(crate) around: &'a HostEnvironment,
}

/// How a file compares with a change.
#[derive(Debug)]
pub(crate) enum State {
    Unread,
    Absent,
    Same,
    Different(Existing),
    /// The file says the opposite: where.
    Refused(String),
}

impl State {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Absent => "absent",
            Self::Same => "same",
            Self::Different(_) => "different",
            Self::Refused(_) => "refused",
        }
    }
}

/// One change of one file.
pub(crate) struct Step {
    pub(crate) file: HostFile,
    /// The text of a file that holds nothing else.
    pub(crate) alone: String,
    /// What is added, as JSON.
    pub(crate) value: Value,
    pub(crate) state: State,
    /// The text of the file, and the text with the change, if there is one to be made.
    before: Option<String>,
    after: Option<String>,
    pub(crate) written: bool,
}

impl Step {
    pub(crate) fn is_due(&self) -> bool {
        self.after.is_some() && !self.written
    }

    /// The text that the next change of this file begins with.
    fn result(&self) -> Option<String> {
        self.after.clone().or_else(|| self.before.clone())
    }
}

/// The entry or package, and the line that lets the host use it, where one is needed.
pub(crate) struct Plan {
    pub(crate) first: Step,
    pub(crate) permission: Option<Step>,
}

impl Setup<'_> {
    /// What would be written, without a look at any file.
    pub(crate) fn unread(&self) -> Result<Plan, Failure> {
        let file = self.file(self.host.files(self.scope, &self.workspace, self.around))?;
        let (alone, value) = if self.host.has_plugin() {
            let plugin = self.plugin()?;
            (plugin.alone(), plugin.value())
        } else if self.host.has_package() {
            let source = self.package()?.source(&self.folder(&file));
            (listing(&source), json!({"packages": [source]}))
        } else {
            let entry =
                self.host.entry("", &self.command()?).map_err(|error| self.left(&file, &error.reason(), None))?;
            (entry.alone(), entry.fields.value())
        };
        let first = Step { file, alone, value, state: State::Unread, before: None, after: None, written: false };
        let permission = match self.host.permit() {
            Some(permit) => Some(permit_step(&permit, self.permit_file()?, State::Unread, (None, None))),
            None => None,
        };
        Ok(Plan { first, permission })
    }

    /// What is to be written. Every file is read and every change made in memory first, so that nothing is written if one of
    /// them cannot take it.
    pub(crate) fn plan(&self, entry_only: bool) -> Result<Plan, Failure> {
        let first = if self.host.has_plugin() {
            self.plugin_step()?
        } else if self.host.has_package() {
            self.package_step()?
        } else {
            self.entry_step()?
        };
        let permission = match self.host.permit() {
            None => None,
            Some(permit) => Some(match self.permission_step(&permit, &first) {
                Err(_) if entry_only => permit_step(&permit, self.permit_file()?, State::Absent, (None, None)),
                step => step?,
            }),
        };
        Ok(Plan { first, permission })
    }

    /// Writes one change. `done` is what was written before it.
    pub(crate) fn write(&self, step: &mut Step, done: Option<&HostFile>) -> Result<(), Failure> {
        let Some(after) = &step.after else { return Ok(()) };
        step.file.write(step.before.as_deref(), after).map_err(|why| {
            let mut failure = self.left(&step.file, &why, Some(&step.alone));
            if let Some(done) = done {
                failure.message = format!("{}\nthe entry was written to {}", failure.message, done.name());
            }
            failure
        })?;
        step.written = true;
        Ok(())
    }

    fn entry_step(&self) -> Result<Step, Failure> {
        let file = self.file(self.host.files(self.scope, &self.workspace, self.around))?;
        let before = file.read().map_err(|why| self.left(&file, &why, None))?;
        let text = before.as_deref().unwrap_or_default();
        let entry = self.host.entry(text, &self.command()?).map_err(|error| self.left(&file, &error.reason(), None))?;
        let alone = entry.alone();
        let by_hand = |error: entry::EditError| self.left(&file, &error.reason(), Some(&alone));
        let state = match entry.get(text).map_err(by_hand)? {
            Some(existing) if entry.fields.is_contained_in(&existing.value) => State::Same,
            Some(existing) => State::Different(existing),
            None => State::Absent,
        };
        let is_same = matches!(state, State::Same);
        let after = if is_same { None } else { Some(entry.set(text).map_err(by_hand)?) };
        Ok(Step { value: entry.fields.value(), alone, file, state, before, after, written: false })
    }

    fn package_step(&self) -> Result<Step, Failure> {
        let file = self.file(self.host.files(self.scope, &self.workspace, self.around))?;
        let (package, folder) = (self.package()?, self.folder(&file));
        let source = package.source(&folder);
        let alone = listing(&source);
        let left = |why: &str| self.left(&file, why, Some(&alone));
        let before = file.read().map_err(|why| left(&why))?;
        let text = before.as_deref().unwrap_or_default();
        let listed = package::listed(text, &folder, self.around).map_err(|error| left(&error.reason()))?;
        let is_this = |listed: &Listed| matches!(listed, Listed::Folder { package: other, .. } if *other == package);
        let (state, after) = match listed.first() {
            _ if listed.iter().any(is_this) => (State::Same, None),
            Some(other) => {
                return Err(self.left(&file, &package::another(other, &folder, self.scope, self.around), None));
            }
            None => {
                let after = jsonc::add_item(text, package::LIST, &source).map_err(|error| left(&error.reason()))?;
                (State::Absent, Some(after))
            }
        };
        Ok(Step { alone, value: json!({"packages": [source]}), file, state, before, after, written: false })
    }

    fn plugin_step(&self) -> Result<Step, Failure> {
        let file = self.file(self.host.files(self.scope, &self.workspace, self.around))?;
        let plugin = self.plugin()?;
        let alone = plugin.alone();
        let left = |why: &str| self.left(&file, why, Some(&alone));
        let before = file.read().map_err(|why| left(&why))?;
        let text = before.as_deref().unwrap_or_default();
        let state = match plugin.existing(text).map_err(|error| left(&error.reason()))? {
            None => State::Absent,
            Some(_) if plugin.is_in(text).map_err(|error| left(&error.reason()))? => State::Same,
            Some(existing) => State::Different(existing),
        };
        let is_same = matches!(state, State::Same);
        let after = if is_same { None } else { Some(plugin.set(text).map_err(|error| left(&error.reason()))?) };
        Ok(Step { value: plugin.value(), alone, file, state, before, after, written: false })
    }

    /// What takes the plugin out again.
    pub(crate) fn removal(&self) -> Result<Plan, Failure> {
        let file = self.file(self.host.files(self.scope, &self.workspace, self.around))?;
        let left = |why: &str| self.left(&file, why, None);
        let before = file.read().map_err(|why| left(&why))?;
        let text = before.as_deref().unwrap_or_default();
        let after = Plugin::removed(text).map_err(|error| left(&error.reason()))?;
        let state = if after.is_some() { State::Same } else { State::Absent };
        let alone = after.clone().unwrap_or_default();
        let first = Step { value: Value::Null, alone, file, state, before, after, written: false };
        Ok(Plan { first, permission: None })
    }

    fn permission_step(&self, permit: &Permit, first: &Step) -> Result<Step, Failure> {
        let file = self.permit_file()?;
        let alone = permit.alone();
        let left = |why: &str| self.left(&file, why, Some(&alone));
        let same_file = file.path == first.file.path;
        let read = if same_file { first.before.clone() } else { file.read().map_err(|why| left(&why))? };
        let standing = permit.standing(read.as_deref().unwrap_or_default()).map_err(|error| left(&error.reason()))?;
        let before = if same_file { first.result() } else { read };
        let text = before.as_deref().unwrap_or_default();
        let (state, after) = match standing {
            Standing::Refused(rule) => (State::Refused(rule), None),
            // An entry that is replaced loses its other fields.
            Standing::Given if permit.standing(text).is_ok_and(|now| now == Standing::Given) => (State::Same, None),
            Standing::Given | Standing::Missing => {
                (State::Absent, Some(permit.set(text).map_err(|error| left(&error.reason()))?))
            }
        };
        Ok(permit_step(permit, file, state, (before, after)))
    }

    fn file(&self, files: Option<Vec<PathBuf>>) -> Result<HostFile, Failure> {
        let found = HostFile::find(&files.unwrap_or_default(), self.scope, &self.workspace);
        let found = found.map_err(|(path, why)| self.left_at(&path.display().to_string(), &why, None))?;
        found.ok_or_else(|| {
            let host = self.host.name();
            let message = format!("the settings of {host} are in your home directory, and HOME is not set; set it");
            Failure::refused("NO_HOME", message)
        })
    }

    fn permit_file(&self) -> Result<HostFile, Failure> {
        let files = self.host.permit_files(self.scope, &self.workspace, self.around);
        self.file(files.map(|files| files.into_iter().take(1).collect()))
    }

    /// The folder of a settings file, as the host names it.
    fn folder(&self, file: &HostFile) -> PathBuf {
        file.path.parent().unwrap_or(&self.workspace).to_path_buf()
    }

    fn package(&self) -> Result<Package, Failure> {
        let found = self.around.program.as_deref().and_then(Package::beside);
        found.ok_or_else(|| Failure::refused("NO_PACKAGE", package::not_found(self.scope)))
    }

    fn plugin(&self) -> Result<Plugin, Failure> {
        let found = self.around.program.as_deref().and_then(Plugin::beside);
        found.ok_or_else(|| Failure::refused("NO_PACKAGE", plugin::not_found()))
    }

    /// The command that starts this program: its bare name where `PATH` has one of that name, else its absolute path.
    fn command(&self) -> Result<String, Failure> {
        if self.around.on_path(entry::NAME).is_some() {
            return Ok(entry::NAME.to_owned());
        }
        let path = self.around.program.as_ref().and_then(|program| program.to_str()).map(str::to_owned);
        let unknown =
            || "readproof is not on PATH, and the path of this program is not known; put it on PATH".to_owned();
        path.ok_or_else(|| Failure::refused("NO_PROGRAM", unknown()))
    }

    fn left(&self, file: &HostFile, why: &str, alone: Option<&str>) -> Failure {
        self.left_at(&file.name(), why, alone)
    }

    fn left_at(&self, file: &str, why: &str, alone: Option<&str>) -> Failure {
        let what = match alone {
            Some(alone) => format!("add this by hand:\n{}", alone.trim_end()),
            None => format!("add the entry by hand; `{} --print` shows it", self.host.init(self.scope)),
        };
        Failure::refused("HOST_FILE", format!("{file} is left unchanged: {why}\n{what}"))
    }
}

/// The text of a settings file that lists only this package.
fn listing(source: &str) -> String {
    jsonc::add_item("", package::LIST, source).unwrap_or_default()
}

fn permit_step(
    permit: &Permit,
    file: HostFile,
    state: State,
    (before, after): (Option<String>, Option<String>),
) -> Step {
    let alone = permit.alone();
    Step { value: json!(permit.shown()), alone, file, state, before, after, written: false }
}
