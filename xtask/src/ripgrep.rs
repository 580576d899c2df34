//! `cargo xtask ripgrep`: searches against the published ripgrep, which is fetched from the npm registry. The tests that
//! need it are ignored elsewhere, so that a run without it says that they were skipped.

use std::path::Path;

use crate::{
    Failure, no_arguments, process,
    shop::{Shop, npm_unpack},
    test::Runner,
};

/// A package with the program alone: ripgrep 15.0.0.
const PACKAGE: (&str, &str) = ("@vscode/ripgrep-linux-x64", "1.18.0");

/// Fetches ripgrep once and runs every ignored test with it.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    let shop = Shop::open(root, "ripgrep")?;
    shop.require(&["npm", "--version"], "npm", "ripgrep is fetched with it")?;
    let (package, version) = PACKAGE;
    let folder =
        shop.fetch(&format!("ripgrep-{version}"), |folder| npm_unpack(folder, &format!("{package}@{version}")))?;
    let mut tests = process::cargo(root);
    tests.args(Runner::here(root).ignored_tests().split(' '));
    process::finish(tests.env("READPROOF_RIPGREP", folder.join("package/bin/rg")), "the comparison with ripgrep")
}
