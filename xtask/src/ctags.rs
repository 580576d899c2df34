//! `cargo xtask ctags`: every definition that universal-ctags finds in real trees, one of each of several languages, must
//! be found by `readproof symbols` too, or stand in the list of those that are none, with the reason. The trees come from
//! the package registries.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    Failure, process,
    shop::{Shop, at, npm_unpack, only},
};

/// Of a hundred definitions at least so many are found.
const LEAST: f64 = 98.0;

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
    /// As ctags calls it.
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
type Place = (String, u64, String);

/// Compares every tree; with `--only`, those whose name fits.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let names = only(arguments)?;
    let shop = Shop::open(root, "ctags")?;
    shop.require(
        &["ctags", "--output-format=json", "--version"],
        "universal-ctags",
        "definitions are compared with what it finds",
    )?;
    shop.require(&["npm", "--version"], "npm", "one of the trees is fetched with it")?;
    shop.require(&["python3", "-m", "pip", "--version"], "python3-pip", "one of the trees is fetched with it")?;
    let program = shop.program()?;
    let mut broken = Vec::new();
    for tree in TREES.iter().filter(|tree| names.is_empty() || names.iter().any(|name| name == tree.name)) {
        let folder = tree.fetch(&shop)?;
        broken.extend(compare(tree, &folder, &program)?);
    }
    if broken.is_empty() { Ok(()) } else { Err(Failure::failed(broken.join("\n"))) }
}

/// What is wrong, if anything.
fn compare(tree: &Tree, folder: &Path, program: &Path) -> Result<Vec<String>, Failure> {
    let theirs = tagged(tree, folder)?;
    let ours = found(tree, folder, program)?;
    let explained = explanations(tree.name);
    let (mut missing, mut used, mut wrong) = (0_usize, BTreeSet::new(), Vec::new());
    for (kind, place) in theirs.iter().filter(|(_, place)| !ours.contains(place)) {
        missing += 1;
        let (file, line, name) = place;
        let reason = [name.as_str(), "*"].into_iter().find(|name| explained.contains_key(&(kind.as_str(), *name)));
        match reason {
            Some(word) => drop(used.insert((kind.as_str(), word))),
            None => {
                wrong.push(format!("{}: {kind} {name} ({file}:{line}) is not found, and nothing says why", tree.name))
            }
        }
    }
    wrong.extend(
        explained
            .keys()
            .filter(|key| !used.contains(*key))
            .map(|(kind, name)| format!("{}: `{kind} {name}` is explained, and not missing", tree.name)),
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
    if percent < LEAST {
        wrong.push(format!("{}: {percent:.2} % are found, {LEAST} % must be", tree.name));
    }
    Ok(wrong)
}

/// What ctags finds, without the names it makes up.
fn tagged(tree: &Tree, folder: &Path) -> Result<Vec<(String, Place)>, Failure> {
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

fn found(tree: &Tree, folder: &Path, program: &Path) -> Result<BTreeSet<Place>, Failure> {
    let mut symbols = Command::new(program);
    symbols.arg("--workspace").arg(folder).args(["symbols", "--json", "--glob", tree.glob]);
    // Not where the person's own is kept.
    symbols.env("READPROOF_STATE_DIR", program.with_file_name("state"));
    let text = output("readproof symbols", &mut symbols)?;
    let listed: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("what readproof symbols printed is no JSON: {error}")))?;
    let place = |symbol: &Value| {
        let word = |key: &str| symbol[key].as_str().unwrap_or_default();
        (word("file").to_owned(), symbol["name_line"].as_u64().unwrap_or(0), word("name").replace(' ', ""))
    };
    Ok(listed["results"].as_array().map_or(&[][..], Vec::as_slice).iter().map(place).collect())
}

fn output(name: &str, command: &mut Command) -> Result<String, Failure> {
    let done = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let done = done.map_err(|error| Failure::failed(format!("{name} could not be started: {error}")))?;
    if !done.status.success() {
        return Err(Failure {
            code: process::exit_code(done.status),
            message: format!("{name} ended with {}", done.status),
        });
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Reasons by kind and name.
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
    fn fetch(&self, shop: &Shop) -> Result<PathBuf, Failure> {
        let folder = match self.source {
            Source::Crate(name, version, inside) => {
                let folder = shop.fetch(&format!("{name}-{version}"), |folder| vendor(folder, name, version))?;
                folder.join("vendor").join(name).join(inside)
            }
            Source::Npm(package, inside) => {
                let name = package.replace(['@', '/'], "-");
                shop.fetch(name.trim_start_matches('-'), |folder| npm_unpack(folder, package))?
                    .join("package")
                    .join(inside)
            }
            Source::Wheel(package, inside) => {
                shop.fetch(&package.replace("==", "-"), |folder| wheel(folder, package))?.join(inside)
            }
            Source::Debian(package, inside) => shop.fetch(package, |folder| debian(folder, package))?.join(inside),
        };
        if folder.is_dir() { Ok(folder) } else { Err(Failure::failed(format!("{} is not there", folder.display()))) }
    }
}

/// A crate as the registry has it.
fn vendor(folder: &Path, name: &str, version: &str) -> Result<(), Failure> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
    );
    for (file, text) in [("Cargo.toml", manifest.as_str()), ("lib.rs", "")] {
        fs::write(folder.join(file), text).map_err(|error| at(&folder.join(file), &error))?;
    }
    ran(&format!("cargo vendor of {name}"), process::cargo(folder).args(["vendor", "--quiet", "vendor"]))
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
    ran(&format!("pip download {package}"), pip.arg(package).current_dir(folder))?;
    let unpack = "import glob, zipfile; zipfile.ZipFile(glob.glob('*.whl')[0]).extractall()";
    ran("unpacking a wheel", Command::new("python3").args(["-c", unpack]).current_dir(folder))
}

fn debian(folder: &Path, package: &str) -> Result<(), Failure> {
    let download = || {
        let mut apt = Command::new("apt-get");
        ran(&format!("apt-get download {package}"), apt.args(["download", package]).current_dir(folder))
    };
    // The lists of packages may be missing on a new machine.
    download().or_else(|_| {
        ran("apt-get update", Command::new("apt-get").arg("update"))?;
        download()
    })?;
    let unpack = "for archive in *.deb; do dpkg-deb -x \"$archive\" . && rm \"$archive\"; done";
    ran("unpacking a package", Command::new("sh").args(["-c", unpack]).current_dir(folder))
}

fn ran(what: &str, command: &mut Command) -> Result<(), Failure> {
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::failed(format!("{what} ended with {status}, and without it this cannot be tested"))),
        Err(error) => Err(Failure::failed(format!("{what} could not be started: {error}"))),
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
