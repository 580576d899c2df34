//! What `doctor` finds about every host: whether it is in use, whether an entry or package of ours is in its settings and still
//! leads to this program, and whether the host lets the tools be used. Changes nothing and runs nothing.

use readproof_disk::{Root, is_program, is_same_file};
use readproof_engine::{Check, Health};
use readproof_words::setup::{self, Found};
use serde_json::Value;
use std::path::{Path, PathBuf};

use super::{
    HostUse, entry,
    file::HostFile,
    hosts, jsonc,
    package::{self, Listed},
    permit::{Permit, Standing},
    plugin::Named,
};
use crate::{
    cli::{Host, Scope},
    config::HostEnvironment,
};

/// A check, and the host that it is about.
pub(crate) struct HostCheck {
    pub(crate) host: &'static str,
    pub(crate) check: Check,
}

/// Checks every known host. One that is not in use gets one line, and never a problem.
pub(crate) fn check_hosts(root: &Root, around: &HostEnvironment) -> Vec<HostCheck> {
    let look = |host: &Host| Look { host: *host, root, around, found: Vec::new() }.all();
    hosts::ALL.iter().flat_map(look).collect()
}

/// One look at one host.
struct Look<'a> {
    host: Host,
    root: &'a Root,
    around: &'a HostEnvironment,
    found: Vec<(Scope, Found)>,
}

/// The text of a settings file.
struct Settings {
    file: HostFile,
    text: String,
}

impl Look<'_> {
    fn all(mut self) -> Vec<HostCheck> {
        for scope in [Scope::Project, Scope::User] {
            let files = self.host.files(scope, self.root.path(), self.around).unwrap_or_default();
            let Some(settings) = self.read(&files, scope) else { continue };
            if self.host.has_plugin() {
                self.plugin(&settings, scope);
            } else if self.host.has_package() {
                self.packages(&settings, scope);
            } else {
                self.entry(&settings, scope);
            }
        }
        if self.found.is_empty() {
            let found = self.unused();
            self.found.push((self.host.usual_scope(), found));
        }
        self.permission();
        let (host, found) = (self.host, self.found);
        found.into_iter().map(|(scope, found)| host_check(host, scope, &found)).collect()
    }

    /// The first of these files that exists. What cannot be read is noted.
    fn read(&mut self, files: &[PathBuf], scope: Scope) -> Option<Settings> {
        let unread = |file: &Path, why| (scope, Found::Unread { file: file.display().to_string(), why });
        let file = match HostFile::find(files, scope, self.root.path()) {
            Ok(file) => file?,
            Err((file, why)) => {
                self.found.push(unread(&file, why));
                return None;
            }
        };
        match file.read() {
            Ok(text) => Some(Settings { text: text?, file }),
            Err(why) => {
                self.found.push(unread(&file.path, why));
                None
            }
        }
    }

    fn unused(&self) -> Found {
        let programs = self.host.programs().iter().filter(|name| self.around.on_path(name).is_some());
        let programs = programs.map(|name| format!("`{name}` on PATH"));
        let signs: Vec<String> = programs.chain(HostUse::look(self.host, self.root, self.around).signs).collect();
        if signs.is_empty() { Found::Nothing } else { Found::NotSetUp { signs } }
    }

    /// Looks at the entry of a settings file.
    fn entry(&mut self, settings: &Settings, scope: Scope) {
        let file = settings.file.name();
        let entry = self.host.entry(&settings.text, entry::NAME).and_then(|entry| entry.get(&settings.text));
        let found = match entry {
            Ok(None) => return,
            Ok(Some(existing)) => self.started(&existing.value, file),
            Err(error) => Found::Unread { file, why: error.reason() },
        };
        self.found.push((scope, found));
    }

    /// What an entry starts.
    fn started(&self, entry: &Value, file: String) -> Found {
        let is = |key: &str, value: bool| entry.get(key).and_then(Value::as_bool) == Some(value);
        if is("enabled", false) || is("disabled", true) {
            return Found::Off { file };
        }
        let command = entry.get("command");
        let Some(name) = command.and_then(hosts::program) else { return Found::OtherCommand { file } };
        let words = [command, entry.get("args")].into_iter().flatten().filter_map(Value::as_array).flatten();
        if !words.filter_map(Value::as_str).any(|word| word == "mcp") {
            return Found::OtherCommand { file };
        }
        let program = if name.contains('/') { Some(PathBuf::from(name)) } else { self.around.on_path(name) };
        let Some(program) = program.filter(|program| is_program(program)) else {
            return Found::NoProgram { file, command: name.to_owned() };
        };
        if self.around.program.as_deref().is_some_and(|this| is_same_file(this, &program)) {
            Found::SetUp { file, permitted: None }
        } else {
            Found::OtherProgram { file, program: program.display().to_string() }
        }
    }

    /// Looks for the package in a settings file.
    fn packages(&mut self, settings: &Settings, scope: Scope) {
        let file = settings.file.name();
        let folder = settings.file.path.parent().unwrap_or(self.root.path());
        let listed = match package::listed(&settings.text, folder, self.around) {
            Ok(listed) => listed,
            Err(error) => return self.found.push((scope, Found::Unread { file, why: error.reason() })),
        };
        let values = jsonc::parse(&settings.text).ok().flatten().unwrap_or_default();
        for listed in listed {
            let file = file.clone();
            let found = match listed {
                Listed::Gone { source } => Found::NoPackage { file, source },
                Listed::Fetched { source } => Found::Fetched { file, source },
                Listed::Folder { package, .. } => {
                    let folder = package.folder.display().to_string();
                    let ours = env!("CARGO_PKG_VERSION");
                    if !package.finds_program(&values, self.around) {
                        Found::PackageAlone { folder }
                    } else if package.version == ours {
                        Found::Package { file, folder }
                    } else {
                        Found::OtherVersion { folder, version: package.version, ours }
                    }
                }
            };
            self.found.push((scope, found));
        }
    }

    /// Looks for the plugin in a settings file.
    fn plugin(&mut self, settings: &Settings, scope: Scope) {
        let file = settings.file.name();
        let found = match Named::of(&settings.text) {
            Ok(Named::Nowhere) => return,
            Ok(Named::Off) => Found::Off { file },
            Ok(Named::Elsewhere(source)) if source.starts_with('/') => Found::NoPackage { file, source },
            Ok(Named::Elsewhere(source)) => Found::Fetched { file, source },
            Ok(Named::At(plugin)) => {
                let folder = plugin.folder.display().to_string();
                let is_found = self.around.on_path(entry::NAME).is_some();
                if is_found { Found::Package { file, folder } } else { Found::PackageAlone { folder } }
            }
            Err(error) => Found::Unread { file, why: error.reason() },
        };
        self.found.push((scope, found));
    }

    /// Where there is an entry that works: whether the tools may be used. Settings of both scopes count.
    fn permission(&mut self) {
        let is_entry = |found: &Found| matches!(found, Found::SetUp { .. } | Found::OtherProgram { .. });
        let Some(scope) = self.found.iter().find(|(_, found)| is_entry(found)).map(|(scope, _)| *scope) else { return };
        let Some(permit) = self.host.permit() else { return };
        let (mut given, mut against) = (None, None);
        for scope in [Scope::Project, Scope::User] {
            for file in self.host.permit_files(scope, self.root.path(), self.around).unwrap_or_default() {
                match self.standing(&permit, file, scope) {
                    Some((Standing::Given, file)) => given = given.or(Some(file)),
                    Some((Standing::Refused(rule), file)) => against = against.or(Some((file, rule))),
                    Some((Standing::Missing, _)) | None => {}
                }
            }
        }
        if let Some((file, rule)) = against {
            return self.found.push((scope, Found::Forbidden { file, rule }));
        }
        let Some(given) = given else {
            let files = self.host.permit_files(scope, self.root.path(), self.around);
            let file = files.and_then(|files| files.into_iter().next()).map(|file| file.display().to_string());
            let missing = Found::NotPermitted { file: file.unwrap_or_default(), line: permit.shown() };
            return self.found.push((scope, missing));
        };
        for (_, found) in &mut self.found {
            if let Found::SetUp { permitted, .. } = found {
                *permitted = Some(given.clone());
            }
        }
    }

    fn standing(&mut self, permit: &Permit, path: PathBuf, scope: Scope) -> Option<(Standing, String)> {
        let known = self
            .found
            .iter()
            .any(|(_, found)| matches!(found, Found::Unread { file, .. } if *file == path.display().to_string()));
        let settings = if known { None } else { self.read(&[path], scope) }?;
        let file = settings.file.name();
        match permit.standing(&settings.text) {
            Ok(standing) => Some((standing, file)),
            Err(error) => {
                self.found.push((scope, Found::Unread { file, why: error.reason() }));
                None
            }
        }
    }
}

/// A finding with what it means: a host that is not used is never a problem.
fn host_check(host: Host, scope: Scope, found: &Found) -> HostCheck {
    let health = match found {
        Found::Nothing
        | Found::NotSetUp { .. }
        | Found::SetUp { .. }
        | Found::Package { .. }
        | Found::Fetched { .. } => Health::Ok,
        Found::Unread { .. }
        | Found::OtherProgram { .. }
        | Found::OtherCommand { .. }
        | Found::Off { .. }
        | Found::NotPermitted { .. }
        | Found::Forbidden { .. }
        | Found::OtherVersion { .. }
        | Found::PackageAlone { .. } => Health::Warning,
        Found::NoProgram { .. } | Found::NoPackage { .. } => Health::Problem,
    };
    let mut lines = vec![setup::found(host.name(), found)];
    if matches!(found, Found::SetUp { .. } | Found::Package { .. } | Found::Fetched { .. }) {
        lines.extend(setup::gets(host.name()).into_iter().flat_map(|gets| gets.lines(host.name())));
    }
    let advice = setup::advice(found, &host.init(scope));
    HostCheck { host: host.name(), check: Check { name: "host", health, says: lines.join("\n").into(), advice } }
}
