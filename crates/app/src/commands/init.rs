//! `readproof init`: the entry that makes a host start `readproof mcp`, printed, or written after a yes. Only the entry of
//! the host's file is touched; a file in which that is not possible stays as it is, and the person is told to do it.

mod entry;
mod hosts;
mod jsonc;
mod toml_text;

use readproof_core::text::ContentHash;
use readproof_disk::{Expected, FileRef, HardLinks, LocateError, ReplaceError, Root, SnapshotRules, is_folder};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    slice,
};

use self::{entry::There, hosts::Form};
use crate::{
    cli::{Host, InitArgs, Scope},
    config::{self, Config, Surroundings},
    output::{self, Failure},
    report::printable,
};

/// No file of settings is larger; Claude Code's also holds its history.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Lists the hosts, or shows and writes the entry for one.
pub(crate) fn run(args: &InitArgs, workspace: Option<PathBuf>, json: bool) -> Result<(), Failure> {
    let root = Config::bare(workspace)?.root;
    let around = config::surroundings();
    let Some(host) = args.host else {
        let found: Vec<Found> = hosts::ALL.iter().map(|host| Found::look(*host, &root, &around)).collect();
        return Ok(output::line(&if json { list_json(&found).to_string() } else { list_text(&found) })?);
    };
    // Every host has a file of its own for a project.
    let scope = args.scope.unwrap_or(Scope::Project);
    let target = Target::find(host, scope, root, &around)?;
    let command = command(&around)?;
    if args.print {
        let form = host.form("", &command).map_err(|unfit| target.by_hand(&unfit.says(), None))?;
        return Shown { scope, target: &target, form: &form, state: State::Unread, written: false }.say(json, "");
    }
    let before = target.read()?;
    let text = before.as_deref().unwrap_or_default();
    let form = host.form(text, &command).map_err(|unfit| target.by_hand(&unfit.says(), None))?;
    let by_hand = |unfit: entry::Unfit| target.by_hand(&unfit.says(), Some(&form));
    let there = form.get(text).map_err(by_hand)?;
    let state = match there {
        Some(there) if form.entry.stands_in(&there.value) => State::Same,
        Some(there) => State::Different(there),
        None => State::Absent,
    };
    let mut shown = Shown { scope, target: &target, form: &form, state, written: false };
    if matches!(shown.state, State::Same) {
        return shown.say(json, "already there, nothing changed");
    }
    let changed = form.set(text).map_err(by_hand)?;
    let ask = !args.yes && !json && output::can_ask();
    if ask {
        shown.say(false, "")?;
        if !output::ask(&format!("{} {}? [y/N] ", shown.question(), printable(&target.name()))) {
            return Ok(output::line("nothing changed")?);
        }
    } else if !args.yes {
        let scope = if scope == Scope::User { " --scope user" } else { "" };
        return shown
            .say(json, &format!("nothing changed; to write this: readproof init {}{scope} --yes", host.name()));
    }
    target.write(before.as_deref(), &changed, &form)?;
    shown.written = true;
    let done = format!("written to {}", printable(&target.name()));
    if ask { Ok(output::line(&done)?) } else { shown.say(json, &done) }
}

/// What starts this program: its name where the shell finds one of that name, else its place.
fn command(around: &Surroundings) -> Result<String, Failure> {
    if around.on_path {
        return Ok(entry::NAME.to_owned());
    }
    let place = around.program.as_ref().and_then(|program| program.to_str()).map(str::to_owned);
    let unknown = || "readproof is not on PATH, and where this program lies is not known; put it on PATH".to_owned();
    place.ok_or_else(|| Failure::refused("NO_PROGRAM", unknown()))
}

/// The file of a host, and the folder through which it is used: a workspace does not let a link lead out of it, as the
/// repository may be another's; a person's own file is taken where it really lies.
struct Target {
    host: Host,
    path: PathBuf,
    root: Root,
    name: String,
}

impl Target {
    fn find(host: Host, scope: Scope, workspace: Root, around: &Surroundings) -> Result<Self, Failure> {
        let files = host.files(scope, workspace.path(), around).unwrap_or_default();
        let Some(last) = files.last().cloned() else {
            let message = format!("the settings of {} lie in your home, and HOME is not set; set it", host.name());
            return Err(Failure::refused("NO_HOME", message));
        };
        if scope == Scope::Project {
            let there = |path: &PathBuf| path.to_str().is_some_and(|name| workspace.locate(&[name.to_owned()]).is_ok());
            let path = files.iter().find(|path| there(path)).cloned().unwrap_or(last);
            let name = path.display().to_string();
            return Ok(Self { host, path, root: workspace, name });
        }
        let mut found = None;
        for path in files {
            let (root, name) = Root::around(&path).map_err(readproof_engine::Error::Root)?;
            let exists = root.locate(slice::from_ref(&name)).is_ok();
            found = Some(Self { host, path, root, name });
            if exists {
                break;
            }
        }
        found.ok_or_else(|| Failure::refused("NO_HOME", "HOME is not set; set it".to_owned()))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The whole text; `None` where there is no file.
    fn read(&self) -> Result<Option<String>, Failure> {
        let file = match self.root.locate(slice::from_ref(&self.name)) {
            Ok(file) => file,
            Err(LocateError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(self.by_hand(&error.to_string(), None)),
        };
        let rules = SnapshotRules { max_bytes: MOST_BYTES, hard_links: HardLinks::Allow };
        let snapshot = self.root.snapshot(&file, &rules).map_err(|error| self.by_hand(&error.to_string(), None))?;
        Ok(Some(snapshot.text.as_str().to_owned()))
    }

    /// Writes what was made from `before`, unless the file is another by now.
    fn write(&self, before: Option<&str>, text: &str, form: &Form) -> Result<(), Failure> {
        let file: FileRef = self
            .root
            .locate_new(slice::from_ref(&self.name))
            .map_err(|error| self.by_hand(&error.to_string(), Some(form)))?;
        let expected = before.map_or(Expected::Nothing, |text| Expected::Text(ContentHash::of(text.as_bytes())));
        match self.root.replace(&file, text, expected, HardLinks::Refuse) {
            Ok(_) => Ok(()),
            Err(ReplaceError::HardLinked { .. }) => {
                Err(self.by_hand("it has several hard links, which a safe write would part", Some(form)))
            }
            Err(error) => Err(self.by_hand(&error.to_string(), Some(form))),
        }
    }

    fn by_hand(&self, why: &str, form: Option<&Form>) -> Failure {
        let what = match form {
            Some(form) => format!("add the entry by hand:\n{}", form.alone().trim_end()),
            None => format!("`readproof init {} --print` shows the entry, to be added by hand", self.host.name()),
        };
        let message = format!("{} is left as it is: {why}\n{what}", self.name());
        Failure::refused("HOST_FILE", message)
    }
}

/// What the file says now.
enum State {
    Unread,
    Absent,
    Same,
    Different(There),
}

impl State {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Absent => "absent",
            Self::Same => "same",
            Self::Different(_) => "different",
        }
    }
}

/// One host's entry, as it is reported.
struct Shown<'a> {
    scope: Scope,
    target: &'a Target,
    form: &'a Form,
    state: State,
    written: bool,
}

impl Shown<'_> {
    fn question(&self) -> &'static str {
        if matches!(self.state, State::Different(_)) { "replace the entry in" } else { "write this to" }
    }

    fn say(&self, json: bool, last: &str) -> Result<(), Failure> {
        Ok(output::line(&if json { self.json().to_string() } else { self.text(last) })?)
    }

    fn json(&self) -> Value {
        let old = if let State::Different(there) = &self.state { Some(&there.value) } else { None };
        json!({
            "ok": true,
            "host": self.target.host.name(),
            "scope": self.scope.as_str(),
            "file": self.target.name(),
            "state": self.state.as_str(),
            "written": self.written,
            "entry": self.form.entry.value(),
            "old": old,
            "text": self.form.alone(),
            "note": self.target.host.note(self.scope),
        })
    }

    /// Writing to a `String` cannot fail, here and below.
    fn text(&self, last: &str) -> String {
        let file = printable(&self.target.name());
        let mut out = format!("{} ({}): {file}\n\n", self.target.host.name(), self.scope.as_str());
        if let State::Different(there) = &self.state {
            let _ = write!(out, "the entry that is there:\n\n{}\n\nwould become:\n\n", lines(&there.text));
        }
        let _ = writeln!(out, "{}", lines(&self.form.alone()));
        if let Some(note) = self.target.host.note(self.scope) {
            let _ = write!(out, "\n{note}\n");
        }
        if self.form.command() != entry::NAME {
            out.push_str("\nthere is no readproof on PATH, so the entry names where this one lies\n");
        }
        if !last.is_empty() {
            let _ = write!(out, "\n{last}\n");
        }
        out.trim_end().to_owned()
    }
}

/// A piece of a file as it may be shown on a terminal.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(|line| printable(&line.replace('\t', "    "))).collect();
    lines.join("\n")
}

/// A host, and what shows that it is in use.
struct Found {
    host: Host,
    signs: Vec<String>,
    project: Option<PathBuf>,
    user: Option<PathBuf>,
}

impl Found {
    fn look(host: Host, root: &Root, around: &Surroundings) -> Self {
        let names = root.list_names(".");
        let here = host.project_signs().iter().filter(|sign| names.iter().any(|name| name == *sign));
        let home = host.user_sign(around).filter(|folder| is_folder(folder));
        let signs = here.map(|sign| (*sign).to_owned()).chain(home.map(|folder| folder.display().to_string()));
        let file = |scope| host.files(scope, root.path(), around).and_then(|mut files| files.pop());
        Self { host, signs: signs.collect(), project: file(Scope::Project), user: file(Scope::User) }
    }
}

fn list_json(found: &[Found]) -> Value {
    let path = |path: &Option<PathBuf>| path.as_deref().map(Path::display).map(|path| path.to_string());
    let hosts: Vec<Value> = found
        .iter()
        .map(|found| {
            json!({
                "host": found.host.name(),
                "found": found.signs,
                "project_file": path(&found.project),
                "user_file": path(&found.user),
            })
        })
        .collect();
    json!({"ok": true, "hosts": hosts})
}

fn list_text(found: &[Found]) -> String {
    let mut out = String::new();
    for found in found {
        let signs: Vec<String> = found.signs.iter().map(|sign| printable(sign)).collect();
        let signs = if signs.is_empty() { "not found".to_owned() } else { format!("found: {}", signs.join(", ")) };
        let _ = writeln!(out, "{:<12} {signs}", found.host.name());
    }
    let example = found.iter().find(|found| !found.signs.is_empty()).map_or("HOST", |found| found.host.name());
    let _ = write!(out, "\n`readproof init {example}` shows the entry for one of them and asks before it writes");
    out
}
