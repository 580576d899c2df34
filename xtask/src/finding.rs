//! `cargo xtask finding`: how well `readproof search` ranks files, against plain BM25 and the published ripgrep. The script
//! `integrations/finding/quality.py` does the work; its README describes the trees, the queries and the bars.

use std::{path::Path, process::Command};

use crate::{Failure, fetch::Downloads, process, ripgrep};

const SCRIPT: &str = "integrations/finding/quality.py";

/// Builds the program in release and passes every argument on to the script.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let downloads = Downloads::open(root, "finding")?;
    downloads.require(&["python3", "--version"], "python3", "the figures are made by a Python script")?;
    let rg = ripgrep::program(root)?;
    process::finish(process::cargo(root).args(["build", "--release", "--locked", "-p", "readproof"]), "the build")?;
    let mut script = Command::new("python3");
    script.arg(root.join(SCRIPT)).arg("--readproof").arg(process::target(root).join("release/readproof"));
    script.arg("--rg").arg(rg).arg("--cache").arg(&downloads.folder);
    process::finish(script.args(arguments), "the quality run")
}
