//! `cargo xtask ripgrep`: compares searches with the published ripgrep, which is fetched from the npm registry. The tests
//! that need it are `#[ignore]`d, so that a run without it reports them as skipped.

use std::path::{Path, PathBuf};

use crate::{
    Failure,
    fetch::{Downloads, npm_unpack},
    no_arguments, process,
    test::Runner,
};

/// A package with only the program: ripgrep 15.0.0.
const PACKAGE: (&str, &str) = ("@vscode/ripgrep-linux-x64", "1.18.0");

/// Fetches ripgrep and runs every ignored test with it.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    let program = program(root)?;
    let mut tests = process::cargo(root);
    tests.args(Runner::here(root).ignored_tests().split(' '));
    process::finish(tests.env("READPROOF_RIPGREP", program), "the comparison with ripgrep")
}

/// Fetches ripgrep if it is not there yet.
pub(crate) fn program(root: &Path) -> Result<PathBuf, Failure> {
    let downloads = Downloads::open(root, "ripgrep")?;
    downloads.require(&["npm", "--version"], "npm", "ripgrep is fetched with it")?;
    let (package, version) = PACKAGE;
    let folder =
        downloads.fetch(&format!("ripgrep-{version}"), |folder| npm_unpack(folder, &format!("{package}@{version}")))?;
    Ok(folder.join("package/bin/rg"))
}
