//! The package that makes Readproof pi's `read`: where it lies, and how pi's settings name it, as `pi install` writes it. Runs no
//! program and fetches nothing.

use readproof_disk::{HardLinks, Root, SnapshotRules, is_program};
use readproof_words::setup::{NoPackage, no_package};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

use super::{
    entry::{EditError, NAME},
    jsonc,
};
use crate::{cli::Scope, config::HostEnvironment};

/// The name of the package.
const PACKAGE: &str = "readproof-pi";

/// Where it lies in a clone.
const IN_CLONE: &str = "integrations/pi";

/// Where the settings list packages.
pub(crate) const LIST: &[&str] = &["packages"];

/// The largest `package.json` that is read.
const MOST_BYTES: u64 = 64 * 1024;

/// A package folder, canonical.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
}

impl Package {
    /// The package in a folder; `None` if there is none, or another one.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        let root = Root::open(folder).ok()?;
        let file = root.locate(&[root.absolute("package.json")]).ok()?;
        let rules = SnapshotRules { max_bytes: MOST_BYTES, hard_links: HardLinks::Allow };
        let snapshot = root.snapshot(&file, &rules).ok()?;
        let manifest: Value = serde_json::from_str(snapshot.text.as_str()).ok()?;
        let field = |name: &str| manifest.get(name).and_then(Value::as_str);
        let version = field("version").unwrap_or_default().to_owned();
        (field("name") == Some(PACKAGE)).then(|| Self { folder: root.path().to_path_buf(), version })
    }

    /// The package of the clone in which this program was built. The workspace is not looked at: it may be a stranger's.
    pub(crate) fn beside(program: &Path) -> Option<Self> {
        program.ancestors().skip(1).find_map(|folder| Self::open(&folder.join(IN_CLONE)))
    }

    /// Whether the extension finds a program to start, as its own `src/binary.ts` looks for one.
    pub(crate) fn finds_program(&self, settings: &Value, around: &HostEnvironment) -> bool {
        let named = settings.get(NAME).and_then(|ours| ours.get("bin")).and_then(Value::as_str);
        if let (Some(named), Some(base)) = (named, &around.pi) {
            return is_program(&resolved(named, base, around));
        }
        if let Some(named) = &around.pi_program {
            return is_program(named);
        }
        let beside = ["bin", "../../target/release", "../../target/debug"];
        beside.iter().any(|place| is_program(&self.folder.join(place).join(NAME))) || around.on_path(NAME).is_some()
    }

    /// Its path as `pi install` records it: relative to the folder of the settings file.
    pub(crate) fn source(&self, settings_folder: &Path) -> String {
        relative(settings_folder, &self.folder).display().to_string()
    }
}

/// An item of the settings that names the package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// A folder that holds it.
    Folder { source: String, package: Package },
    /// A folder that does not exist any more.
    Gone { source: String },
    /// Fetched by pi.
    Fetched { source: String },
}

impl Listed {
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Folder { source, .. } | Self::Gone { source } | Self::Fetched { source } => source,
        }
    }
}

/// The items of a settings text that name the package.
pub(crate) fn listed(text: &str, folder: &Path, around: &HostEnvironment) -> Result<Vec<Listed>, EditError> {
    let settings = jsonc::parse(text)?.unwrap_or_default();
    let items = settings.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    let sources = items.iter().filter_map(|item| item.as_str().or_else(|| item.get("source")?.as_str()));
    Ok(sources.filter_map(|source| named(source, folder, around)).collect())
}

fn named(source: &str, folder: &Path, around: &HostEnvironment) -> Option<Listed> {
    let text = source.to_owned();
    if let Some(name) = source.strip_prefix("npm:") {
        let is_ours = name.strip_prefix(PACKAGE).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'));
        return is_ours.then_some(Listed::Fetched { source: text });
    }
    let path = resolved(source, folder, around);
    if let Some(package) = Package::open(&path) {
        return Some(Listed::Folder { source: text, package });
    }
    path.ends_with(IN_CLONE).then_some(Listed::Gone { source: text })
}

/// Why nothing can be installed: the package is not beside this program.
pub(crate) fn not_found(scope: Scope) -> String {
    let local = if scope == Scope::Project { " -l" } else { "" };
    no_package(&NoPackage::NotFound { install: &format!("pi install{local} ./{IN_CLONE}") })
}

/// Why nothing is added: the settings name another copy.
pub(crate) fn another(listed: &Listed, folder: &Path, scope: Scope, around: &HostEnvironment) -> String {
    let local = if scope == Scope::Project { " -l" } else { "" };
    let source = listed.source();
    // pi takes a path as it is typed, from the current folder.
    let typed = match listed {
        Listed::Fetched { .. } => source.to_owned(),
        Listed::Folder { .. } | Listed::Gone { .. } => resolved(source, folder, around).display().to_string(),
    };
    no_package(&NoPackage::Another { source, remove: &format!("pi remove{local} {typed}") })
}

/// A path of the settings, without `..`: pi, too, goes by its spelling.
fn resolved(path: &str, base: &Path, around: &HostEnvironment) -> PathBuf {
    let whole = match (path.strip_prefix("~/"), &around.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    };
    let mut clean = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
        }
    }
    clean
}

/// The way from one folder to another, both absolute and without `..`.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_between_folders() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("/home/u/.pi/agent", "/home/u/src/r/integrations/pi"), "../../src/r/integrations/pi");
        assert_eq!(way("/w/.pi", "/w/integrations/pi"), "../integrations/pi");
        assert_eq!(way("/w", "/w/a"), "a");
    }
}
