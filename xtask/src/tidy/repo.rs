//! Loads what the checks read: the files of the tree, and the manifests as cargo understands them. Checks nothing.

use std::{fs, io, path::Path};

use super::manifests::{self, Package};
use crate::{Failure, process};

/// Not source: version control, build output, fetched packages, a store left by trying out the program.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", ".readproof"];

/// The repository as plain data.
pub(crate) struct Repo {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

/// One file: its `/`-separated path below the root, and its text if it is Rust, Markdown or TOML.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repo {
    /// Reads the tree and asks cargo for the manifests.
    pub(crate) fn load(root: &Path) -> Result<Self, Failure> {
        let mut files = Vec::new();
        collect(root, "", &mut files).map_err(|error| Failure::failed(format!("reading the tree: {error}")))?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files, packages: manifests::parse(&metadata(root)?)? })
    }
}

impl File {
    /// The parts of a crate's own source path: `("engine", "read.rs")`; `xtask` counts as a crate.
    pub(crate) fn in_crate_source(&self) -> Option<(&str, &str)> {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split_once("/src/").filter(|(name, _)| !name.contains('/'))
    }

    /// Whether this is Rust code of ours, tests included.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs") && (self.path.starts_with("crates/") || self.path.starts_with("xtask/"))
    }
}

fn collect(root: &Path, below: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(root, &path, files)?;
        } else if kind.is_file() {
            let wanted = [".rs", ".md", ".toml"].iter().any(|end| name.ends_with(end));
            let bytes = if wanted { fs::read(entry.path())? } else { Vec::new() };
            files.push(File { path, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(())
}

/// Tries `--offline` first: the manifests alone need no network.
fn metadata(root: &Path) -> Result<String, Failure> {
    let mut words = String::new();
    for offline in [Some("--offline"), None] {
        let output = process::cargo(root)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .args(offline)
            .output()
            .map_err(|error| Failure::not_started("cargo", &error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        words = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    Err(Failure::failed(format!("cargo metadata failed: {}", words.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_path_is_taken_apart() {
        let check = |path: &str, expected| {
            let file = File { path: path.to_owned(), text: String::new() };
            assert_eq!(file.in_crate_source(), expected, "{path}");
        };
        check("crates/engine/src/read.rs", Some(("engine", "read.rs")));
        check("crates/app/src/surface/pi.rs", Some(("app", "surface/pi.rs")));
        check("xtask/src/main.rs", Some(("xtask", "main.rs")));
        check("crates/disk/tests/crash.rs", None);
        check("scenarios/001_x/files/src/a.rs", None);
        check("README.md", None);
    }
}
