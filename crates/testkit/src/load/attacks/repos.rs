//! Hostile repositories: real ones, in which files are replaced by pipes, devices, links out, gigabytes of zeros, endless
//! lists, noise, empty files and folders. One server is asked about all of them; meanwhile it must keep answering, stay
//! small, write nothing and show nothing from outside.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;

use super::{Attack, server::Server};
use crate::{op::Random, world::Broken};

/// In every file outside the workspace.
const MARKER: &str = "MARKER-of-another-place";
/// Every answer must come within this time.
const SOON: Duration = Duration::from_secs(5);
/// The most memory that the server may use, in KiB.
const MOST_MEMORY: u64 = 200 << 10;
/// The apparent size of a sparse file.
const SPARSE: u64 = 5 << 30;

/// What a file is replaced by.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Pipe,
    LinkOut,
    Device,
    Sparse,
    Lines,
    Noise,
    Empty,
    Folder,
}

const HARMS: [Harm; 8] =
    [Harm::Pipe, Harm::LinkOut, Harm::Device, Harm::Sparse, Harm::Lines, Harm::Noise, Harm::Empty, Harm::Folder];

/// Files that a repository may have and those of our shapes do not.
const MORE: [&str; 14] = [
    ".git/config.worktree",
    ".git/commondir",
    ".git/gitdir",
    ".git/shallow",
    ".git/packed-refs",
    ".git/info/attributes",
    ".git/info/grafts",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/pack/multi-pack-index",
    ".git/objects/pack/pack-0123456789012345678901234567890123456789.idx",
    ".git/refs/replace/0123456789012345678901234567890123456789",
    ".gitattributes",
    "d/.gitattributes",
];

/// Folders that may be replaced too.
const FOLDERS: [&str; 7] = [
    ".git/refs",
    ".git/refs/heads",
    ".git/refs/replace",
    ".git/objects",
    ".git/objects/pack",
    ".git/objects/info",
    ".git/info",
];

/// Asks about one repository per round.
///
/// # Errors
/// What went wrong, and with which files.
pub(super) fn run(attack: &Attack<'_>) -> Result<String, Broken> {
    let world = World::new()?;
    let mut random = Random::new(attack.seed);
    let mut server = Server::mcp(attack.binary, &[], &world.workspace, SOON)?;
    let outside = state(&world.other)?;
    let (mut answered, mut refused, mut slowest) = (0_u64, 0_u64, Duration::ZERO);
    for round in 0..attack.rounds {
        let repo = world.workspace.join(format!("r{round}"));
        world.copy(&mut random, &repo)?;
        let harms = harm(&world, &repo, &mut random)?;
        let context = |what: &str| format!("round {round} of seed {}, {harms:?}: {what}", attack.seed);
        let before = state(&repo)?;
        for name in ["a.txt", "d/b.txt"] {
            for against in ["HEAD", "INDEX"] {
                let target = format!("r{round}/{name}");
                let arguments = json!({"mode": "diff_preview", "target": target, "against": against});
                let (answer, took) = server.call("read", &arguments).map_err(|error| context(&error.to_string()))?;
                slowest = slowest.max(took);
                let is_error = answer["result"]["isError"] == true;
                if is_error {
                    refused += 1
                } else {
                    answered += 1
                }
                if answer.to_string().contains(MARKER) {
                    return Err(context(&format!("told: {answer}")).into());
                }
            }
        }
        let plain = server.call("read", &json!({"mode": "file", "target": "plain.txt", "fresh": true}));
        let (plain, _) = plain.map_err(|error| context(&error.to_string()))?;
        server.request("ping", &json!({})).map_err(|error| context(&error.to_string()))?;
        if !plain.to_string().contains("plain text") {
            return Err(context(&format!("a plain read: {plain}")).into());
        }
        let memory = server.peak_kib()?;
        if memory > MOST_MEMORY {
            return Err(context(&format!("{memory} KiB of memory")).into());
        }
        if before != state(&repo)? {
            return Err(context("the repository was written to").into());
        }
        fs::remove_dir_all(&repo)?;
    }
    if outside != state(&world.other)? {
        return Err("something outside was written to".into());
    }
    let memory = server.peak_kib()? >> 10;
    Ok(format!(
        "{} repositories: {answered} diffs, {refused} refusals, slowest {slowest:.1?}, {memory} MB at most",
        attack.rounds
    ))
}

/// Repositories of several shapes, one outside, and the workspace.
struct World {
    _temp: TempDir,
    shapes: Vec<PathBuf>,
    other: PathBuf,
    workspace: PathBuf,
}

impl World {
    fn new() -> Result<Self, Broken> {
        let temp = tempfile::tempdir()?;
        let top = temp.path().canonicalize()?;
        let (workspace, other) = (top.join("workspace"), top.join("other"));
        fs::create_dir(&workspace)?;
        fs::write(workspace.join("plain.txt"), "plain text\n")?;
        made(&other, &format!("{MARKER}\n"))?;
        fs::write(top.join("other/.git/info/attributes"), format!("* filter={MARKER}\n"))?;
        let loose = made(&top.join("loose"), "one\ntwo\n")?;
        let packed = made(&top.join("packed"), "one\ntwo\n")?;
        git(&packed, &["gc", "-q"])?;
        git(&packed, &["multi-pack-index", "write"])?;
        let split = made(&top.join("split"), "one\ntwo\n")?;
        git(&split, &["update-index", "--split-index"])?;
        let shapes = vec![loose, packed, split];
        Ok(Self { _temp: temp, shapes, other, workspace })
    }

    fn copy(&self, random: &mut Random, to: &Path) -> Result<(), Broken> {
        let shape = random.pick(&self.shapes).ok_or("there are no shapes")?;
        finish(Command::new("cp").arg("-a").args([shape.as_path(), to]))
    }
}

/// With two commits, and a change that is not in them.
fn made(path: &Path, text: &str) -> Result<PathBuf, Broken> {
    fs::create_dir_all(path.join("d"))?;
    git(path, &["init", "-q", "-b", "main"])?;
    for name in ["a.txt", "d/b.txt"] {
        fs::write(path.join(name), text)?;
        git(path, &["add", "."])?;
        git(path, &["commit", "-qm", "x"])?;
    }
    fs::write(path.join("a.txt"), "one\n")?;
    Ok(path.to_path_buf())
}

fn git(folder: &Path, words: &[&str]) -> Result<(), Broken> {
    let mut git = Command::new("git");
    git.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/nonexistent");
    finish(git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words))
}

fn finish(command: &mut Command) -> Result<(), Broken> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Replaces one to three files or folders, and says which.
fn harm(world: &World, repo: &Path, random: &mut Random) -> Result<Vec<(String, Harm)>, Broken> {
    let mut names: Vec<String> = state(repo)?.into_keys().filter(|name| name.starts_with(".git/")).collect();
    names.retain(|name| !repo.join(name).is_dir() && !name.contains("/hooks/"));
    names.extend(MORE.iter().chain(&FOLDERS).map(|name| (*name).to_owned()));
    let mut done = Vec::new();
    for _ in 0..=random.below(3) {
        let (Some(name), Some(harm)) = (random.pick(&names), random.pick(&HARMS)) else { continue };
        let path = repo.join(name);
        // Below something that was replaced before, it is gone or not ours to change.
        let parent = path.parent().filter(|parent| is_in(repo, parent));
        if parent.is_none_or(|parent| fs::create_dir_all(parent).is_err()) {
            continue;
        }
        replace(world, name, &path, *harm, random)?;
        done.push((name.clone(), *harm));
    }
    // The other repository's commit as ours, with its objects borrowed or in place of ours.
    if random.below(6) == 0 {
        done.push(("the other's commit".to_owned(), Harm::LinkOut));
        steal(world, repo, random)?;
    }
    Ok(done)
}

fn replace(world: &World, name: &str, path: &Path, harm: Harm, random: &mut Random) -> Result<(), Broken> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        fs::remove_dir_all(path)?;
    } else if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    match harm {
        Harm::Pipe => finish(Command::new("mkfifo").arg(path))?,
        Harm::LinkOut => {
            let there = world.other.join(name);
            let there = if there.exists() { there } else { world.other.join("d/b.txt") };
            symlink(there, path)?;
        }
        Harm::Device => symlink(random.pick(&["/dev/zero", "/dev/tty", "/dev/full"]).unwrap_or(&"/dev/zero"), path)?,
        Harm::Sparse => fs::File::create(path)?.set_len(SPARSE)?,
        Harm::Lines => fs::write(path, lines(world, name))?,
        Harm::Noise => {
            let length = random.below(1 << 16);
            fs::write(path, (0..length).map(|_| random.bits().to_le_bytes()[3]).collect::<Vec<u8>>())?;
        }
        Harm::Empty => fs::write(path, "")?,
        Harm::Folder => fs::create_dir_all(path.join("in/it"))?,
    }
    Ok(())
}

/// 30,000 lines that make sense in a file of this name.
fn lines(world: &World, name: &str) -> String {
    let one = |number: u32| match name.rsplit('/').next().unwrap_or(name) {
        "config" | "config.worktree" => {
            format!("[include]\n\tpath = {}/.git/config\n[x{number}]\n\ty = 1", world.other.display())
        }
        "alternates" => format!("{}/.git/objects/{number}", world.other.display()),
        "packed-refs" => format!("{number:040} refs/heads/{number}"),
        "attributes" | ".gitattributes" => format!("*{number}*a*b*c text=auto x{number}=y"),
        _ => format!("ref: refs/heads/{number}"),
    };
    (0..30_000).map(|number| one(number) + "\n").collect()
}

/// Whether no link leads out of the repository from this folder or its parent.
fn is_in(repo: &Path, folder: &Path) -> bool {
    let there = folder.ancestors().find(|folder| fs::symlink_metadata(folder).is_ok());
    there.and_then(|folder| folder.canonicalize().ok()).is_some_and(|real| real.starts_with(repo))
}

/// Writes a file, unless something else was put there before.
fn put(repo: &Path, path: &Path, text: &[u8]) {
    let is_free = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    let parent = path.parent().filter(|parent| is_free && is_in(repo, parent));
    if parent.is_some_and(|parent| fs::create_dir_all(parent).is_ok()) {
        let _ = fs::write(path, text);
    }
}

fn steal(world: &World, repo: &Path, random: &mut Random) -> Result<(), Broken> {
    let head = fs::read(world.other.join(".git/refs/heads/main"))?;
    let objects = repo.join(".git/objects");
    put(repo, &repo.join(".git/refs/heads/main"), &head);
    match random.below(3) {
        0 => {
            let line = format!("{}\n", world.other.join(".git/objects").display());
            put(repo, &objects.join("info/alternates"), line.as_bytes());
        }
        1 if is_in(repo, &objects) => {
            let _ = fs::remove_dir_all(&objects);
            let _ = symlink(world.other.join(".git/objects"), &objects);
        }
        _ => {
            let real = is_in(repo, &objects);
            for entry in fs::read_dir(world.other.join(".git/objects"))?.flatten().filter(|_| real) {
                let _ = symlink(entry.path(), objects.join(entry.file_name()));
            }
        }
    }
    Ok(())
}

type State = BTreeMap<String, (u64, u64, i64, i64)>;

/// Every file below a folder: its inode, length and change time.
fn state(folder: &Path) -> Result<State, Broken> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at)? {
            let entry = entry?;
            let data = entry.metadata()?;
            if data.is_dir() {
                folders.push(entry.path());
            }
            let name = entry.path().strip_prefix(folder)?.display().to_string();
            found.insert(name, (data.ino(), data.len(), data.mtime(), data.mtime_nsec()));
        }
    }
    Ok(found)
}
