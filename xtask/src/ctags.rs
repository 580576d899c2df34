//! `cargo xtask ctags`: every definition that universal-ctags finds in a real source tree of each of several languages must
//! be found by `readproof symbols` too, or be listed in `ctags.txt` with the reason why it is not a definition. The trees
//! come from the package registries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    Failure,
    fetch::{Downloads, npm_unpack, only_names},
    process,
};

/// The least percentage of definitions that must be found.
const LEAST_PERCENT: f64 = 98.0;

/// `tree kind name: reason`, with `*` for any name.
const EXPLAINED: &str = include_str!("../ctags.txt");

/// Where a tree comes from.
enum Source {
    /// A crate, its version, and the folder in it.
    Crate(&'static str, &'static str, &'static str),
    /// An npm package and the folder in it.
    Npm(&'static str, &'static str),
    /// A wheel of a Python package and the folder in it.
    Wheel(&'static str, &'static str),
    /// A package of Debian and the folder in it.
    Debian(&'static str, &'static str),
}

struct Tree {
    name: &'static str,
    source: Source,
    /// The name that ctags has for it.
    language: &'static str,
    glob: &'static str,
}

const TREES: [Tree; 5] = [
    Tree { name: "rust", source: Source::Crate("tokio", "1.54.1", "src"), language: "Rust", glob: "*.rs" },
    Tree { name: "c", source: Source::Crate("zstd-sys", "2.0.16", "zstd/lib"), language: "C,C++", glob: "*.[ch]" },
    Tree { name: "python", source: Source::Wheel("django==5.2.8", "django"), language: "Python", glob: "*.py" },
    Tree { name: "java", source: Source::Npm("@capacitor/android@7.4.4", ""), language: "Java", glob: "*.java" },
    Tree {
        name: "go",
        source: Source::Debian("golang-golang-x-net-dev", "usr/share/gocode/src/golang.org/x/net"),
        language: "Go",
        glob: "*.go",
    },
];

/// A definition: file, line, name without spaces.
type Definition = (String, u64, String);

/// Compares every tree, or those named after `--only`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only_names(arguments)?;
    let downloads = Downloads::open(root, "ctags")?;
    downloads.require(
        &["ctags", "--output-format=json", "--version"],
        "universal-ctags",
        "definitions are compared with what it finds",
    )?;
    downloads.require(&["npm", "--version"], "npm", "one of the trees is fetched with it")?;
    downloads.require(&["python3", "-m", "pip", "--version"], "python3-pip", "one of the trees is fetched with it")?;
    let program = downloads.program()?;
    let mut broken = Vec::new();
    for tree in TREES.iter().filter(|tree| names.is_empty() || names.iter().any(|name| name == tree.name)) {
        let folder = tree.fetch(&downloads)?;
        broken.extend(compare(tree, &folder, &program)?);
    }
    if broken.is_empty() { Ok(()) } else { Err(Failure::failed(broken.join("\n"))) }
}

/// Prints one line per tree and returns what is wrong.
fn compare(tree: &Tree, folder: &Path, program: &Path) -> Result<Vec<String>, Failure> {
    let theirs = found_by_ctags(tree, folder)?;
    let ours = found_by_readproof(tree, folder, program)?;
    let explained = explanations(tree.name);
    let (mut missing, mut used, mut wrong) = (0_usize, BTreeSet::new(), Vec::new());
    for (kind, place) in theirs.iter().filter(|(_, place)| !ours.contains(place)) {
        missing += 1;
        let (file, line, name) = place;
        let reason = [name.as_str(), "*"].into_iter().find(|name| explained.contains_key(&(kind.as_str(), *name)));
        match reason {
            Some(word) => drop(used.insert((kind.as_str(), word))),
            None => wrong.push(format!(
                "{}: {kind} {name} ({file}:{line}) is not found, and ctags.txt gives no reason",
                tree.name
            )),
        }
    }
    wrong.extend(
        explained
            .keys()
            .filter(|key| !used.contains(*key))
            .map(|(kind, name)| format!("{}: `{kind} {name}` is explained in ctags.txt, but not missing", tree.name)),
    );
    #[allow(clippy::cast_precision_loss, reason = "counts of definitions are far below 2^52")]
    let percent = 100.0 - 100.0 * missing as f64 / theirs.len().max(1) as f64;
    println!(
        "ctags: {:10} {:6} definitions, {:6} found ({percent:.2} %), {missing} explained by {} reasons; {} in all here",
        tree.name,
        theirs.len(),
        theirs.len() - missing,
        used.len(),
        ours.len()
    );
    if percent < LEAST_PERCENT {
        wrong.push(format!("{}: {percent:.2} % are found, {LEAST_PERCENT} % must be", tree.name));
    }
    Ok(wrong)
}

/// What ctags finds, without the names it makes up for anonymous items.
fn found_by_ctags(tree: &Tree, folder: &Path) -> Result<Vec<(String, Definition)>, Failure> {
    let mut ctags = Command::new("ctags");
    ctags.args(["--options=NONE", "--output-format=json", "--fields=+n", "--extras=-{anonymous}", "--recurse"]);
    ctags.args(["--links=no", &format!("--languages={}", tree.language), "-f", "-", "."]).current_dir(folder);
    let text = output("ctags", &mut ctags)?;
    let tags = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let word = |tag: &Value, key: &str| tag[key].as_str().unwrap_or_default().to_owned();
    let place = |tag: &Value| {
        let path = word(tag, "path");
        let name = word(tag, "name").replace(' ', "");
        (path.trim_start_matches("./").to_owned(), tag["line"].as_u64().unwrap_or(0), name)
    };
    Ok(tags.filter(|tag| tag["_type"] == "tag").map(|tag| (word(&tag, "kind"), place(&tag))).collect())
}

fn found_by_readproof(tree: &Tree, folder: &Path, program: &Path) -> Result<BTreeSet<Definition>, Failure> {
    let mut symbols = Command::new(program);
    symbols.arg("--workspace").arg(folder).args(["symbols", "--json", "--glob", tree.glob]);
    // The developer's own id stays untouched.
    symbols.env("READPROOF_STATE_DIR", program.with_file_name("state"));
    let text = output("readproof symbols", &mut symbols)?;
    let listed: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("readproof symbols did not print JSON: {error}")))?;
    let place = |symbol: &Value| {
        let word = |key: &str| symbol[key].as_str().unwrap_or_default();
        (word("file").to_owned(), symbol["name_line"].as_u64().unwrap_or(0), word("name").replace(' ', ""))
    };
    Ok(listed["results"].as_array().map_or(&[][..], Vec::as_slice).iter().map(place).collect())
}

fn output(name: &str, command: &mut Command) -> Result<String, Failure> {
    let done = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let done = done.map_err(|error| Failure::not_started(name, &error))?;
    if !done.status.success() {
        return Err(Failure {
            code: process::exit_code(done.status),
            message: format!("{name} ended with {}", done.status),
        });
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The reasons for one tree, by kind and name.
fn explanations(tree: &str) -> BTreeMap<(&'static str, &'static str), &'static str> {
    let mut found = BTreeMap::new();
    for line in EXPLAINED.lines().filter(|line| !line.starts_with('#')) {
        let Some((what, reason)) = line.split_once(": ") else { continue };
        if let [of, kind, name] = what.split(' ').collect::<Vec<_>>()[..]
            && of == tree
        {
            found.insert((kind, name), reason);
        }
    }
    found
}

impl Tree {
    fn fetch(&self, downloads: &Downloads) -> Result<PathBuf, Failure> {
        let folder = match self.source {
            Source::Crate(name, version, inside) => {
                let folder = downloads.fetch(&format!("{name}-{version}"), |folder| vendor(folder, name, version))?;
                folder.join("vendor").join(name).join(inside)
            }
            Source::Npm(package, inside) => {
                let name = package.replace(['@', '/'], "-");
                downloads
                    .fetch(name.trim_start_matches('-'), |folder| npm_unpack(folder, package))?
                    .join("package")
                    .join(inside)
            }
            Source::Wheel(package, inside) => {
                downloads.fetch(&package.replace("==", "-"), |folder| wheel(folder, package))?.join(inside)
            }
            Source::Debian(package, inside) => downloads.fetch(package, |folder| debian(folder, package))?.join(inside),
        };
        if folder.is_dir() { Ok(folder) } else { Err(Failure::failed(format!("{} is not there", folder.display()))) }
    }
}

/// Fetches the source of a crate.
fn vendor(folder: &Path, name: &str, version: &str) -> Result<(), Failure> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
    );
    for (file, text) in [("Cargo.toml", manifest.as_str()), ("lib.rs", "")] {
        fs::write(folder.join(file), text).map_err(|error| Failure::io(&folder.join(file), &error))?;
    }
    run_quietly(&format!("cargo vendor of {name}"), process::cargo(folder).args(["vendor", "--quiet", "vendor"]))
}

fn wheel(folder: &Path, package: &str) -> Result<(), Failure> {
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "--no-deps",
    ]);
    run_quietly(&format!("pip download {package}"), pip.arg(package).current_dir(folder))?;
    let unpack = "import glob, zipfile; zipfile.ZipFile(glob.glob('*.whl')[0]).extractall()";
    run_quietly("unpacking a wheel", Command::new("python3").args(["-c", unpack]).current_dir(folder))
}

fn debian(folder: &Path, package: &str) -> Result<(), Failure> {
    let download = || {
        let mut apt = Command::new("apt-get");
        run_quietly(&format!("apt-get download {package}"), apt.args(["download", package]).current_dir(folder))
    };
    // A new machine may have no package lists yet.
    download().or_else(|_| {
        run_quietly("apt-get update", Command::new("apt-get").arg("update"))?;
        download()
    })?;
    let unpack = "for archive in *.deb; do dpkg-deb -x \"$archive\" . && rm \"$archive\"; done";
    run_quietly("unpacking a package", Command::new("sh").args(["-c", unpack]).current_dir(folder))
}

fn run_quietly(what: &str, command: &mut Command) -> Result<(), Failure> {
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::failed(format!("{what} ended with {status}, and the comparison needs it"))),
        Err(error) => Err(Failure::not_started(what, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_is_of_a_tree_and_says_why() {
        let listed: usize = TREES.iter().map(|tree| explanations(tree.name).len()).sum();
        let lines = EXPLAINED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        assert_eq!(listed, lines.count());
        assert!(TREES.iter().all(|tree| explanations(tree.name).values().all(|reason| reason.len() > 10)));
    }
}
