//! `cargo xtask mcp`, `mcp-bench` and `beside`: the MCP server under the published clients, against other servers, and beside
//! hostile calls. Clients and servers are fetched from the package registries.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Failure, process,
    shop::{Shop, at, npm, only},
};

const CLIENTS: &str = "integrations/mcp";
/// The servers that the bench measures ours against.
const OFFICIAL: (&str, &str) = ("@modelcontextprotocol/server-filesystem", "2026.8.31");
const RUST: (&str, &str) = ("rust-mcp-filesystem", "0.4.2");

/// Lists and calls every tool with every client; with `--only`, with those whose name fits.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only(arguments)?;
    let shop = Shop::open(root, "mcp")?;
    shop.require(&["npm", "--version"], "npm", "two of the clients are fetched with it")?;
    shop.require(&["python3", "-m", "pip", "--version"], "python3-pip", "the Python client is fetched with it")?;
    let program = shop.program()?;
    let node = shop.node()?;
    let source = root.join(CLIENTS);
    let packages = shop.locked("clients", &source)?;
    let python = shop.python(&source.join("requirements.txt"))?;
    let mut tests = Command::new(&node);
    tests.arg(source.join("run.mjs")).args(names.iter().flat_map(|name| ["--only", name])).current_dir(root);
    tests.env("READPROOF_BIN", &program).env("READPROOF_MCP_PACKAGES", packages.join("node_modules"));
    tests.env("READPROOF_MCP_PYTHON", &python);
    shop.step("real MCP clients", &mut tests)
}

/// Measures the server against others, over stdio, in one run.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let shop = Shop::open(root, "mcp")?;
    shop.require(&["npm", "--version"], "npm", "a server to compare with is fetched with it")?;
    let (node, official, rust) = (shop.node()?, official(&shop)?, rust(&shop)?);
    let program = process::build_dist(root)?;
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    bench.args(["mcp", "--node"]).arg(node).arg("--official").arg(official).arg("--rust").arg(rust);
    process::finish(bench.args(arguments).current_dir(root), "the bench")
}

/// Measures how long others wait beside a hostile call.
pub(crate) fn beside(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let program = process::build_dist(root)?;
    let mut bench = Command::new(program.with_file_name("readproof-bench"));
    process::finish(bench.arg("beside").args(arguments).current_dir(root), "the bench")
}

/// The script of the official file server.
fn official(shop: &Shop) -> Result<PathBuf, Failure> {
    let (package, version) = OFFICIAL;
    let folder = shop.fetch(&format!("server-filesystem-{version}"), |folder| {
        npm(folder, &["install", "--ignore-scripts", "--no-save"], &[&format!("{package}@{version}")])
    })?;
    Ok(folder.join("node_modules").join(package).join("dist/index.js"))
}

/// The file server from the Rust registry, built in release as it was published.
fn rust(shop: &Shop) -> Result<PathBuf, Failure> {
    let (package, version) = RUST;
    let place = shop.fetch(&format!("{package}-{version}"), |folder| {
        let mut cargo = process::cargo(&env::temp_dir());
        cargo.args(["install", "--quiet", "--locked", "--version", version, "--root"]).arg(folder).arg(package);
        // Away from our own target folder: its locks and profiles are ours.
        let built = folder.join("build");
        shop.step("building rust-mcp-filesystem", cargo.env("CARGO_TARGET_DIR", &built))?;
        fs::remove_dir_all(&built).map_err(|error| at(&built, &error))
    })?;
    Ok(place.join("bin").join(package))
}
