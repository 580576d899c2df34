//! `cargo xtask pi` and `cargo xtask pi-bench`: the pi extension in the published pi, which is fetched from the npm
//! registry with all that it needs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure, process,
    shop::{Shop, at, copy, npm, npm_unpack, only},
};

/// The newest pi, and the newest one that a plain `npm install` can install.
const PI: &str = "1.5.0";
const OLDER_PI: &str = "0.87.1";
/// What the bundle of the newest pi loads at run time. A plain install of it fails: it names packages that were never
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
/// What the adapter's own checks need of its folder.
const ADAPTER: [&str; 6] = ["package.json", "tsconfig.json", "vitest.config.ts", "index.ts", "src", "test"];

/// Runs the adapter's own checks and the tests in the real pi; with `--only`, those whose name fits.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only(arguments)?;
    let shop = Shop::open(root, "pi")?;
    shop.require(&["tmux", "-V"], "tmux", "pi's own screen is tried in it")?;
    shop.require(&["npm", "--version"], "npm", "pi is fetched with it")?;
    let program = shop.program()?;
    let node = fetch_all(&shop)?;
    if names.is_empty() {
        let adapter = adapter(&shop)?;
        let module = |name: &str| adapter.with_file_name("node_modules").join(name);
        shop.step(
            "typecheck",
            Command::new(&node).arg(module("typescript/bin/tsc")).arg("--noEmit").current_dir(&adapter),
        )?;
        let mut vitest = Command::new(&node);
        vitest.arg(module("vitest/vitest.mjs")).arg("run").current_dir(&adapter).env("READPROOF_BIN", &program);
        shop.step("the adapter's tests", &mut vitest)?;
    }
    let mut tests = script(&shop, &node, &program, "run.mjs");
    shop.step("tests in the real pi", tests.args(names.iter().flat_map(|name| ["--only", name])))
}

/// Measures reads through the extension against pi's own, in the real pi's bundle.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let shop = Shop::open(root, "pi")?;
    let program = process::build_dist(root)?;
    let node = fetch_all(&shop)?;
    shop.step("bench", script(&shop, &node, &program, "bench.mjs").args(arguments))
}

/// A script of the end-to-end folder, told where everything is.
fn script(shop: &Shop, node: &Path, program: &Path, name: &str) -> Command {
    let mut command = Command::new(node);
    command.arg("--expose-gc").arg(shop.root.join("integrations/pi/e2e").join(name));
    command.current_dir(&shop.root).env("READPROOF_PI_PACKAGES", &shop.home).env("READPROOF_BIN", program);
    command
}

/// Node and both versions of pi; gives the path of Node.
fn fetch_all(shop: &Shop) -> Result<PathBuf, Failure> {
    let node = shop.node()?;
    shop.fetch(&format!("pi-{PI}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &PI_NEEDS)?;
        npm_unpack(folder, &format!("{PI_PACKAGE}@{PI}"))?;
        let place = folder.join("node_modules").join(PI_PACKAGE);
        fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(|error| at(&place, &error))?;
        fs::rename(folder.join("package"), &place).map_err(|error| at(&place, &error))
    })?;
    shop.fetch(&format!("pi-{OLDER_PI}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &[&format!("{PI_PACKAGE}@{OLDER_PI}")])
    })?;
    Ok(node)
}

/// The adapter beside its development dependencies, away from the sources: a fresh copy every time.
fn adapter(shop: &Shop) -> Result<PathBuf, Failure> {
    let source = shop.root.join("integrations/pi");
    let place = shop.locked("adapter", &source)?.join("source");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(|error| at(&place, &error))?;
    }
    fs::create_dir(&place).map_err(|error| at(&place, &error))?;
    for name in ADAPTER {
        copy(&source.join(name), &place.join(name))?;
    }
    Ok(place)
}
