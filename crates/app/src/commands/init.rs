//! `readproof init`: prints the entry that makes a host start `readproof mcp`, and writes it once the user agrees. Only that
//! entry of the host's file changes. Where this is not possible the file stays as it is and the user is told what to add.

mod entry;
mod hosts;
mod jsonc;
mod toml_text;

use readproof_core::text::ContentHash;
use readproof_disk::{Expected, FileRef, HardLinks, LocateError, ReplaceError, Root, SnapshotRules, is_folder};
use readproof_words::{
    Terms,
    disk::{locate, replace, snapshot as snapshot_words},
};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    slice,
};

use self::{
    entry::{EditError, Existing},
    hosts::HostEntry,
};
use crate::{
    cli::{Host, InitArgs, Scope},
    config::{self, Config, HostEnvironment},
    output::{self, Failure},
    report::printable,
};

/// The largest settings file that is edited. Claude Code's also holds its history.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Lists the hosts, or shows and writes the entry for one.
pub(crate) fn run(args: &InitArgs, workspace: Option<PathBuf>, json: bool) -> Result<(), Failure> {
    let root = Config::bare(workspace)?.root;
    let around = config::host_environment();
    let Some(host) = args.host else {
        let hosts: Vec<HostUse> = hosts::ALL.iter().map(|host| HostUse::look(*host, &root, &around)).collect();
        return Ok(output::line(&if json { list_json(&hosts).to_string() } else { list_text(&hosts) })?);
    };
    let scope = args.scope.unwrap_or(Scope::Project);
    let file = HostFile::find(host, scope, root, &around)?;
    let command = command(&around)?;
    if args.print {
        let entry = host.entry("", &command).map_err(|error| file.by_hand(&error.reason(), None))?;
        return Report { scope, file: &file, entry: &entry, state: State::Unread, written: false }.print(json, "");
    }
    let before = file.read()?;
    let text = before.as_deref().unwrap_or_default();
    let entry = host.entry(text, &command).map_err(|error| file.by_hand(&error.reason(), None))?;
    let by_hand = |error: EditError| file.by_hand(&error.reason(), Some(&entry));
    let state = match entry.get(text).map_err(by_hand)? {
        Some(existing) if entry.fields.is_contained_in(&existing.value) => State::Same,
        Some(existing) => State::Different(existing),
        None => State::Absent,
    };
    let mut report = Report { scope, file: &file, entry: &entry, state, written: false };
    if matches!(report.state, State::Same) {
        return report.print(json, "already there, nothing changed");
    }
    let changed = entry.set(text).map_err(by_hand)?;
    let ask = !args.yes && !json && output::can_ask();
    if ask {
        report.print(false, "")?;
        if !output::ask(&format!("{} {}? [y/N] ", report.question(), printable(&file.name()))) {
            return Ok(output::line("nothing changed")?);
        }
    } else if !args.yes {
        let scope = if scope == Scope::User { " --scope user" } else { "" };
        return report
            .print(json, &format!("nothing changed; to write this: readproof init {}{scope} --yes", host.name()));
    }
    file.write(before.as_deref(), &changed, &entry)?;
    report.written = true;
    let done = format!("written to {}", printable(&file.name()));
    if ask { Ok(output::line(&done)?) } else { report.print(json, &done) }
}

/// The command that starts this program: its bare name where `PATH` has one of that name, else its absolute path.
fn command(around: &HostEnvironment) -> Result<String, Failure> {
    if around.on_path {
        return Ok(entry::NAME.to_owned());
    }
    let path = around.program.as_ref().and_then(|program| program.to_str()).map(str::to_owned);
    let unknown = || "readproof is not on PATH, and the path of this program is not known; put it on PATH".to_owned();
    path.ok_or_else(|| Failure::refused("NO_PROGRAM", unknown()))
}

/// A host's settings file. In a workspace no symbolic link may lead out of it, as the repository may be a stranger's; in
/// the user's home, links are followed to the file itself.
struct HostFile {
    host: Host,
    path: PathBuf,
    /// The folder through which it is opened, and its name there.
    root: Root,
    name: String,
}

impl HostFile {
    fn find(host: Host, scope: Scope, workspace: Root, around: &HostEnvironment) -> Result<Self, Failure> {
        let files = host.files(scope, workspace.path(), around).unwrap_or_default();
        let Some(last) = files.last().cloned() else {
            let message =
                format!("the settings of {} are in your home directory, and HOME is not set; set it", host.name());
            return Err(Failure::refused("NO_HOME", message));
        };
        if scope == Scope::Project {
            let exists =
                |path: &PathBuf| path.to_str().is_some_and(|name| workspace.locate(&[name.to_owned()]).is_ok());
            let path = files.iter().find(|path| exists(path)).cloned().unwrap_or(last);
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

    /// The whole text; `None` if there is no file.
    fn read(&self) -> Result<Option<String>, Failure> {
        let file = match self.root.locate(slice::from_ref(&self.name)) {
            Ok(file) => file,
            Err(LocateError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(self.by_hand(&locate(Terms::PLAIN, &error), None)),
        };
        let rules = SnapshotRules { max_bytes: MOST_BYTES, hard_links: HardLinks::Allow };
        let snapshot =
            self.root.snapshot(&file, &rules).map_err(|error| self.by_hand(&snapshot_words(&error), None))?;
        Ok(Some(snapshot.text.as_str().to_owned()))
    }

    /// Writes the text that was made from `before`, unless the file has changed since.
    fn write(&self, before: Option<&str>, text: &str, entry: &HostEntry) -> Result<(), Failure> {
        let file: FileRef = self
            .root
            .locate_new(slice::from_ref(&self.name))
            .map_err(|error| self.by_hand(&locate(Terms::PLAIN, &error), Some(entry)))?;
        let expected = before.map_or(Expected::Nothing, |text| Expected::Text(ContentHash::of(text.as_bytes())));
        match self.root.replace(&file, text, expected, HardLinks::Refuse) {
            Ok(_) => Ok(()),
            Err(ReplaceError::HardLinked { .. }) => {
                Err(self.by_hand("it has several hard links, which replacing it would separate", Some(entry)))
            }
            Err(error) => Err(self.by_hand(&replace(&error), Some(entry))),
        }
    }

    fn by_hand(&self, why: &str, entry: Option<&HostEntry>) -> Failure {
        let what = match entry {
            Some(entry) => format!("add the entry by hand:\n{}", entry.alone().trim_end()),
            None => format!("add the entry by hand; `readproof init {} --print` shows it", self.host.name()),
        };
        let message = format!("{} is left unchanged: {why}\n{what}", self.name());
        Failure::refused("HOST_FILE", message)
    }
}

/// How the file compares with the entry.
enum State {
    Unread,
    Absent,
    Same,
    Different(Existing),
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

/// What the user is told about one host's entry.
struct Report<'a> {
    scope: Scope,
    file: &'a HostFile,
    entry: &'a HostEntry,
    state: State,
    written: bool,
}

impl Report<'_> {
    fn question(&self) -> &'static str {
        if matches!(self.state, State::Different(_)) { "replace the entry in" } else { "write this to" }
    }

    /// `last` ends the text; JSON has no such line.
    fn print(&self, json: bool, last: &str) -> Result<(), Failure> {
        Ok(output::line(&if json { self.json().to_string() } else { self.text(last) })?)
    }

    fn json(&self) -> Value {
        let old = if let State::Different(existing) = &self.state { Some(&existing.value) } else { None };
        json!({
            "ok": true,
            "host": self.file.host.name(),
            "scope": self.scope.as_str(),
            "file": self.file.name(),
            "state": self.state.as_str(),
            "written": self.written,
            "entry": self.entry.fields.value(),
            "old": old,
            "text": self.entry.alone(),
            "note": self.file.host.note(self.scope),
        })
    }

    /// Writing to a `String` cannot fail, here and below.
    fn text(&self, last: &str) -> String {
        let file = printable(&self.file.name());
        let mut out = format!("{} ({}): {file}\n\n", self.file.host.name(), self.scope.as_str());
        if let State::Different(existing) = &self.state {
            let _ = write!(out, "the existing entry:\n\n{}\n\nwould become:\n\n", lines(&existing.text));
        }
        let _ = writeln!(out, "{}", lines(&self.entry.alone()));
        if let Some(note) = self.file.host.note(self.scope) {
            let _ = write!(out, "\n{note}\n");
        }
        if self.entry.command() != entry::NAME {
            out.push_str("\nthere is no readproof on PATH, so the entry has the path of this program\n");
        }
        if !last.is_empty() {
            let _ = write!(out, "\n{last}\n");
        }
        out.trim_end().to_owned()
    }
}

/// Part of a file, safe to print on a terminal.
fn lines(text: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(|line| printable(&line.replace('\t', "    "))).collect();
    lines.join("\n")
}

/// Whether a host is in use, and its settings files.
struct HostUse {
    host: Host,
    /// Files and folders that show that it is in use.
    signs: Vec<String>,
    project: Option<PathBuf>,
    user: Option<PathBuf>,
}

impl HostUse {
    fn look(host: Host, root: &Root, around: &HostEnvironment) -> Self {
        let names = root.list_names(".");
        let here = host.project_signs().iter().filter(|sign| names.iter().any(|name| name == *sign));
        let home = host.user_sign(around).filter(|folder| is_folder(folder));
        let signs = here.map(|sign| (*sign).to_owned()).chain(home.map(|folder| folder.display().to_string()));
        let file = |scope| host.files(scope, root.path(), around).and_then(|mut files| files.pop());
        Self { host, signs: signs.collect(), project: file(Scope::Project), user: file(Scope::User) }
    }
}

fn list_json(hosts: &[HostUse]) -> Value {
    let path = |path: &Option<PathBuf>| path.as_deref().map(Path::display).map(|path| path.to_string());
    let hosts: Vec<Value> = hosts
        .iter()
        .map(|host| {
            json!({
                "host": host.host.name(),
                "found": host.signs,
                "project_file": path(&host.project),
                "user_file": path(&host.user),
            })
        })
        .collect();
    json!({"ok": true, "hosts": hosts})
}

fn list_text(hosts: &[HostUse]) -> String {
    let mut out = String::new();
    for host in hosts {
        let signs: Vec<String> = host.signs.iter().map(|sign| printable(sign)).collect();
        let signs = if signs.is_empty() { "not found".to_owned() } else { format!("found: {}", signs.join(", ")) };
        let _ = writeln!(out, "{:<12} {signs}", host.host.name());
    }
    let example = hosts.iter().find(|host| !host.signs.is_empty()).map_or("HOST", |host| host.host.name());
    let _ = write!(out, "\n`readproof init {example}` shows the entry for one of them and asks before it writes");
    out
}
