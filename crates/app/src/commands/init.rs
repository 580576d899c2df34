//! `readproof init`: shows what makes a host use Readproof (the entry that starts `readproof mcp`, or a package, and the line that
//! lets the model call the tools), and writes it once the user agrees. Nothing else in the host's files changes. Where this is
//! not possible they stay as they are and the user is told what to add.

mod check;
mod entry;
mod file;
mod hosts;
mod jsonc;
mod package;
mod permit;
mod plugin;
mod step;
mod toml_text;

use readproof_disk::{Root, is_folder};
use readproof_words::setup::{self, LeftOut};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

pub(crate) use self::check::{HostCheck, check_hosts};
use self::step::{Plan, Setup, State, Step};
use crate::{
    cli::{Host, InitArgs, Scope},
    config::{self, Config, HostEnvironment},
    output::{self, Failure},
    report::printable,
};

/// Lists the hosts, or shows and writes what one needs.
pub(crate) fn run(args: &InitArgs, workspace: Option<PathBuf>, json: bool) -> Result<(), Failure> {
    let root = Config::bare(workspace)?.root;
    let around = config::host_environment();
    let Some(host) = args.host else {
        let hosts: Vec<HostUse> = hosts::ALL.iter().map(|host| HostUse::look(*host, &root, &around)).collect();
        return Ok(output::line(&if json { list_json(&hosts).to_string() } else { list_text(&hosts) })?);
    };
    let scope = args.scope.unwrap_or(host.usual_scope());
    let setup = Setup { host, scope, workspace: root.path().to_path_buf(), around: &around };
    if args.remove {
        return remove(&setup, args.yes, json);
    }
    if args.print {
        let report = Report { plan: setup.unread()?, setup, entry_only: args.entry_only };
        return report.print(json, &[]);
    }
    let mut report = Report { plan: setup.plan(args.entry_only)?, setup, entry_only: args.entry_only };
    if !report.is_due() {
        let all = matches!(report.plan.first.state, State::Same) && report.left_out().is_none();
        return report
            .print(json, &[if all { "already there, nothing changed" } else { "nothing changed" }.to_owned()]);
    }
    if args.yes {
        report.write_all()?;
        let done = report.written();
        return report.print(json, &done);
    }
    if !json && output::can_ask() {
        return report.ask();
    }
    let flag = if args.entry_only { " --entry-only" } else { "" };
    report.print(json, &[format!("nothing changed; to write this: {} --yes{flag}", host.init(scope))])
}

/// Takes the plugin out of a host's settings.
fn remove(setup: &Setup<'_>, yes: bool, json: bool) -> Result<(), Failure> {
    if !setup.host.has_plugin() {
        let message = format!("--remove works for claude-code; take the entry of {} out by hand", setup.host.name());
        return Err(Failure::usage(message));
    }
    let mut plan = setup.removal()?;
    let file = printable(&plan.first.file.name());
    let asked = yes || (!json && output::can_ask() && output::ask(&format!("take the plugin out of {file}? [y/N] ")));
    let done = if !plan.first.is_due() {
        format!("{file} does not have the plugin; nothing changed")
    } else if asked {
        setup.write(&mut plan.first, None)?;
        format!("taken out of {file}")
    } else {
        format!("nothing changed; to take it out: {} --remove --yes", setup.host.init(setup.scope))
    };
    let said =
        json!({"ok": true, "host": setup.host.name(), "file": plan.first.file.name(), "removed": plan.first.written});
    Ok(output::line(&if json { said.to_string() } else { done })?)
}

/// What the user is told about one host.
struct Report<'a> {
    setup: Setup<'a>,
    plan: Plan,
    /// Whether the line that permits the tools is not wanted.
    entry_only: bool,
}

impl Report<'_> {
    fn is_due(&self) -> bool {
        self.plan.first.is_due() || self.wanted_permission().is_some_and(Step::is_due)
    }

    fn wanted_permission(&self) -> Option<&Step> {
        self.plan.permission.as_ref().filter(|_| !self.entry_only)
    }

    fn write_all(&mut self) -> Result<(), Failure> {
        self.setup.write(&mut self.plan.first, None)?;
        let first = &self.plan.first;
        match &mut self.plan.permission {
            Some(step) if !self.entry_only => self.setup.write(step, Some(&first.file).filter(|_| first.written)),
            _ => Ok(()),
        }
    }

    /// Shows each change and asks about it.
    fn ask(&mut self) -> Result<(), Failure> {
        let first = &self.plan.first;
        output::line(&self.first_text())?;
        if first.is_due() {
            let verb =
                if matches!(first.state, State::Different(_)) { "replace the entry in" } else { "write this to" };
            if !output::ask(&format!("{verb} {}? [y/N] ", printable(&first.file.name()))) {
                return Ok(output::line("nothing changed")?);
            }
            self.setup.write(&mut self.plan.first, None)?;
        }
        if self.wanted_permission().is_some_and(Step::is_due) {
            output::line(&self.permission_text())?;
            let first = &self.plan.first;
            if let Some(step) = &mut self.plan.permission
                && output::ask(&format!("write this to {} too? [y/N] ", printable(&step.file.name())))
            {
                self.setup.write(step, Some(&first.file).filter(|_| first.written))?;
            }
        }
        let written = self.written();
        let written = if written.is_empty() { vec!["nothing changed".to_owned()] } else { written };
        let last = written.into_iter().chain(self.left_out()).chain(self.gets());
        Ok(output::line(&last.collect::<Vec<_>>().join("\n"))?)
    }

    /// A line for each file that was written.
    fn written(&self) -> Vec<String> {
        let steps = [Some(&self.plan.first), self.plan.permission.as_ref()];
        let written = steps.into_iter().flatten().filter(|step| step.written);
        let mut lines: Vec<String> =
            written.map(|step| format!("written to {}", printable(&step.file.name()))).collect();
        lines.dedup();
        lines
    }

    /// What is said of a line that was not written although the host needs it.
    fn left_out(&self) -> Option<String> {
        let step = self.plan.permission.as_ref().filter(|step| !step.written)?;
        let why = match &step.state {
            State::Same | State::Unread | State::Different(_) => return None,
            State::Refused(rule) => LeftOut::Refused(rule),
            State::Absent => LeftOut::NotAgreed,
        };
        let command = format!("{} --yes", self.setup.host.init(self.setup.scope));
        Some(setup::left_out(&printable(&step.file.name()), &why, &command))
    }

    fn gets(&self) -> Vec<String> {
        let host = self.setup.host.name();
        setup::gets(host).map(|gets| gets.lines(host)).unwrap_or_default()
    }

    /// `last` goes before what the host gets; JSON has no such lines.
    fn print(&self, json: bool, last: &[String]) -> Result<(), Failure> {
        Ok(output::line(&if json { self.json().to_string() } else { self.text(last) })?)
    }

    fn json(&self) -> Value {
        let (host, scope, first) = (self.setup.host, self.setup.scope, &self.plan.first);
        let old = if let State::Different(existing) = &first.state { Some(&existing.value) } else { None };
        let permission = self.plan.permission.as_ref().map(|step| {
            json!({
                "file": step.file.name(),
                "state": step.state.as_str(),
                "written": step.written,
                "line": step.value,
                "text": step.alone,
                "why": setup::permission(host.name()),
                "note": host.permit_note(scope),
                "left_out": self.left_out(),
            })
        });
        let gets = setup::gets(host.name());
        json!({
            "ok": true,
            "host": host.name(),
            "scope": scope.as_str(),
            "file": first.file.name(),
            "state": first.state.as_str(),
            "written": first.written,
            "entry": first.value,
            "old": old,
            "text": first.alone,
            "note": host.note(scope),
            "permission": permission,
            "gets": gets.map(|gets| gets.has),
            "does_not_get": gets.map(|gets| gets.lacks),
        })
    }

    fn text(&self, last: &[String]) -> String {
        let mut parts = vec![self.first_text()];
        if self.wanted_permission().is_some_and(|step| !matches!(step.state, State::Refused(_))) {
            parts.push(self.permission_text());
        }
        let may_follow = self.wanted_permission().is_some_and(Step::is_due);
        let left_out = self.left_out().filter(|_| !may_follow);
        let last: Vec<String> = last.iter().cloned().chain(left_out).collect();
        parts.extend([last.join("\n"), self.gets().join("\n")].into_iter().filter(|part| !part.is_empty()));
        parts.join("\n\n")
    }

    /// Writing to a `String` cannot fail, here and below.
    fn first_text(&self) -> String {
        let (host, scope, first) = (self.setup.host, self.setup.scope, &self.plan.first);
        let mut out = format!("{} ({}): {}\n\n", host.name(), scope.as_str(), printable(&first.file.name()));
        if let State::Different(existing) = &first.state {
            let _ = write!(out, "the existing entry:\n\n{}\n\nwould become:\n\n", lines(&existing.text));
        }
        let _ = writeln!(out, "{}", lines(&first.alone));
        if let Some(note) = host.note(scope) {
            let _ = write!(out, "\n{note}\n");
        }
        let command = first.value.get("command").and_then(hosts::program);
        if command.is_some_and(|command| command != entry::NAME) {
            out.push_str("\nthere is no readproof on PATH, so the entry has the path of this program\n");
        }
        out.trim_end().to_owned()
    }

    fn permission_text(&self) -> String {
        let (host, scope) = (self.setup.host, self.setup.scope);
        let Some(step) = &self.plan.permission else { return String::new() };
        let why = setup::permission(host.name()).unwrap_or_default();
        let file = printable(&step.file.name());
        let mut out = format!("so that the tools can be used: {file}\n\n{}\n\n{why}\n", lines(&step.alone));
        if let Some(note) = host.permit_note(scope) {
            let _ = writeln!(out, "{note}");
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
        let _ = writeln!(out, "{:<17} {signs}", host.host.name());
    }
    let example = hosts.iter().find(|host| !host.signs.is_empty()).map_or("HOST", |host| host.host.name());
    let _ = write!(out, "\n`readproof init {example}` shows the entry for one of them and asks before it writes");
    out
}
