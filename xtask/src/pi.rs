//! `cargo xtask pi` and `cargo xtask pi-bench`: the pi extension in the published pi, which is fetched from the npm
//! registry with its dependencies.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    fetch::{Downloads, copy, npm, npm_unpack, only_names},
    process,
};

/// The newest pi, and the newest one that a plain `npm install` can install.
const PI: &str = "1.5.0";
const OLDER_PI: &str = "0.87.1";
/// What the bundle of the newest pi loads at run time. A plain install fails because it names packages that were never
/// published.
const PI_NEEDS: [&str; 6] = [
    "jiti@2.7.0",
    "typebox@1.3.27",
    "quickjs-wasi@3.6.2",
    "@silvia-odwyer/photon-node@0.3.4",
    "diff@8.0.4",
    "undici@8.12.3",
];
const PI_PACKAGE: &str = "@earendil-works/pi-coding-agent";
/// The parts of the adapter's folder that its type check and unit tests need.
const ADAPTER: [&str; 6] = ["package.json", "tsconfig.json", "vitest.config.ts", "index.ts", "src", "test"];

/// Runs the adapter's type check and unit tests and the tests in the real pi; with `--only`, only matching tests in pi.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only_names(arguments)?;
    let downloads = Downloads::open(root, "pi")?;
    downloads.require(&["tmux", "-V"], "tmux", "pi's screen is tested in it")?;
    downloads.require(&["npm", "--version"], "npm", "pi is fetched with it")?;
    let program = downloads.program()?;
    let node = fetch_all(&downloads)?;
    if names.is_empty() {
        let adapter = adapter(&downloads)?;
        let module = |name: &str| adapter.with_file_name("node_modules").join(name);
        downloads.step(
            "typecheck",
            Command::new(&node).arg(module("typescript/bin/tsc")).arg("--noEmit").current_dir(&adapter),
        )?;
        let mut vitest = Command::new(&node);
        vitest.arg(module("vitest/vitest.mjs")).arg("run").current_dir(&adapter).env("READPROOF_BIN", &program);
        downloads.step("the adapter's tests", &mut vitest)?;
    }
    let mut tests = script(&downloads, &node, &program, "run.mjs");
    downloads.step("tests in the real pi", tests.args(names.iter().flat_map(|name| ["--only", name])))
}

/// Measures reads through the extension against pi's own reads, in the bundle of the real pi.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let downloads = Downloads::open(root, "pi")?;
    let program = process::build_dist(root)?;
    let node = fetch_all(&downloads)?;
    downloads.step("bench", script(&downloads, &node, &program, "bench.mjs").args(arguments))
}

/// A script of the end-to-end folder, with the paths it needs in its environment.
fn script(downloads: &Downloads, node: &Path, program: &Path, name: &str) -> Command {
    let mut command = Command::new(node);
    command.arg("--expose-gc").arg(downloads.root.join("integrations/pi/e2e").join(name));
    command.current_dir(&downloads.root).env("READPROOF_PI_PACKAGES", &downloads.folder).env("READPROOF_BIN", program);
    command
}

/// Fetches Node and both versions of pi; returns the path of Node.
fn fetch_all(downloads: &Downloads) -> Result<PathBuf, Failure> {
    let node = downloads.node()?;
    downloads.fetch(&format!("pi-{PI}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &PI_NEEDS)?;
        npm_unpack(folder, &format!("{PI_PACKAGE}@{PI}"))?;
        let place = folder.join("node_modules").join(PI_PACKAGE);
        fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(|error| Failure::io(&place, &error))?;
        fs::rename(folder.join("package"), &place).map_err(|error| Failure::io(&place, &error))
    })?;
    downloads.fetch(&format!("pi-{OLDER_PI}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &[&format!("{PI_PACKAGE}@{OLDER_PI}")])
    })?;
    Ok(node)
}

/// A fresh copy of the adapter beside its development dependencies, so that nothing is installed into the source tree.
fn adapter(downloads: &Downloads) -> Result<PathBuf, Failure> {
    let source = downloads.root.join("integrations/pi");
    let place = downloads.npm_locked("adapter", &source)?.join("source");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| Failure::io(&place, &error))?;
    }
    fs::create_dir(&place).map_err(|error| Failure::io(&place, &error))?;
    for name in ADAPTER {
        copy(&source.join(name), &place.join(name))?;
    }
    Ok(place)
}
