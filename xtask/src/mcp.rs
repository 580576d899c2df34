//! `cargo xtask mcp`, `mcp-bench`, `beside`, `cold`, `words` and `history-bench`: the MCP server with the published clients, compared
//! with other servers, while it handles hostile calls; searches of a large tree against ripgrep, and its history against git. Clients
//! and servers are fetched from the package registries.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure,
    fetch::{Downloads, npm, only_names},
    process, ripgrep,
};

const CLIENTS: &str = "integrations/mcp";
/// The servers that ours is compared with.
const OFFICIAL: (&str, &str) = ("@modelcontextprotocol/server-filesystem", "2026.8.31");
const RUST: (&str, &str) = ("rust-mcp-filesystem", "0.4.2");

/// Lists and calls every tool with every client, or with those named after `--only`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only_names(arguments)?;
    let downloads = Downloads::open(root, "mcp")?;
    downloads.require(&["npm", "--version"], "npm", "two of the clients are fetched with it")?;
    downloads.require(&["python3", "-m", "pip", "--version"], "python3-pip", "the Python client is fetched with it")?;
    let program = downloads.program()?;
    let node = downloads.node()?;
    let source = root.join(CLIENTS);
    let packages = downloads.npm_locked("clients", &source)?;
    let python = downloads.python(&source.join("requirements.txt"))?;
    let mut tests = Command::new(&node);
    tests.arg(source.join("run.mjs")).args(names.iter().flat_map(|name| ["--only", name])).current_dir(root);
    tests.env("READPROOF_BIN", &program).env("READPROOF_MCP_PACKAGES", packages.join("node_modules"));
    tests.env("READPROOF_MCP_PYTHON", &python);
    downloads.step("real MCP clients", &mut tests)
}

/// Measures the server against others, over stdio, in one run.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let downloads = Downloads::open(root, "mcp")?;
    downloads.require(&["npm", "--version"], "npm", "a server to compare with is fetched with it")?;
    let (node, official, rust) = (downloads.node()?, official(&downloads)?, rust(&downloads)?);
    let program = process::build_dist(root)?;
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    bench.args(["mcp", "--node"]).arg(node).arg("--official").arg(official).arg("--rust").arg(rust);
    process::finish(bench.args(arguments).current_dir(root), "the bench")
}

/// Measures how long other calls wait during a hostile one.
pub(crate) fn beside(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let program = process::build_dist(root)?;
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    process::finish(bench.arg("beside").args(arguments).current_dir(root), "the bench")
}

/// Measures what looking back costs in a large work tree, against git.
pub(crate) fn history(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let program = process::build_dist(root)?;
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    process::finish(bench.arg("history").args(arguments).current_dir(root), "the bench")
}

/// Measures the first search for a definition in a large tree against ripgrep.
pub(crate) fn cold(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    against_ripgrep(root, "cold", arguments)
}

/// Measures searches by words and by pattern in a large tree against ripgrep.
pub(crate) fn words(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    against_ripgrep(root, "words", arguments)
}

fn against_ripgrep(root: &Path, name: &str, arguments: &[String]) -> Result<(), Failure> {
    let (rg, program) = (ripgrep::program(root)?, process::build_dist(root)?);
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    process::finish(bench.args([name, "--ripgrep"]).arg(rg).args(arguments).current_dir(root), "the bench")
}

/// The script of the official file server.
fn official(downloads: &Downloads) -> Result<PathBuf, Failure> {
    let (package, version) = OFFICIAL;
    let folder = downloads.fetch(&format!("server-filesystem-{version}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &[&format!("{package}@{version}")])
    })?;
    Ok(folder.join("node_modules").join(package).join("dist/index.js"))
}

/// The file server from the Rust registry, built in release as it was published.
fn rust(downloads: &Downloads) -> Result<PathBuf, Failure> {
    let (package, version) = RUST;
    let place = downloads.fetch(&format!("{package}-{version}"), |folder| {
        let mut cargo = process::cargo(&env::temp_dir());
        cargo.args(["install", "--quiet", "--locked", "--version", version, "--root"]).arg(folder).arg(package);
        // Not in our target folder, whose locks and profiles are ours.
        let built = folder.join("build");
        downloads.step("building rust-mcp-filesystem", cargo.env("CARGO_TARGET_DIR", &built))?;
        fs::remove_dir_all(&built).map_err(|error| Failure::io(&built, &error))
    })?;
    Ok(place.join("bin").join(package))
}
