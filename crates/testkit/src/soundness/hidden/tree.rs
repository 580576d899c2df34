//! A random workspace as data: files whose names and texts resemble each other, links, what git keeps, and the files that hold
//! rules. Put on disk at one path again and again, with the same times.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, FileTimes},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use crate::{op::Random, world::Broken};

/// Files by name.
pub(super) type Files = BTreeMap<String, String>;

/// What is in a workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Files,
    /// Also those without a file.
    pub(super) folders: BTreeSet<String>,
    /// Where each leads.
    pub(super) links: BTreeMap<String, String>,
    pub(super) git: Option<Git>,
}

/// What a repository keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Git {
    /// Oldest first; the last is checked out.
    pub(super) commits: Vec<Files>,
    pub(super) index: Files,
}

const FOLDERS: [&str; 14] = [
    "",
    "",
    "src",
    "src",
    "src/core",
    "src/core/deep",
    "lib",
    "docs",
    "vault",
    "vault/inner",
    "private",
    ".hidden",
    "src/vault",
    "old",
];
const STEMS: [&str; 16] = [
    "alpha",
    "alpha2",
    "alpah",
    "beta",
    "betas",
    "config",
    "config_old",
    "main",
    "mian",
    "util",
    "utils",
    "keys",
    "notes",
    "index",
    "token",
    "Alpha",
];
const ENDINGS: [&str; 8] = ["rs", "rs", "py", "ts", "txt", "md", "json", "sec"];

/// Words of texts and of queries.
pub(super) const WORDS: [&str; 16] = [
    "load", "store", "parse", "render", "open", "close", "token", "secret", "value", "index", "walk", "merge", "alpha",
    "beta", "config", "Widget",
];

impl Tree {
    pub(super) fn any(random: &mut Random) -> Self {
        let mut tree = Self::default();
        for _ in 0..10 + random.below(31) {
            let name = any_name(random);
            let text = match random.below(6) {
                0 if !tree.files.is_empty() => nth(&tree.files, random).1,
                _ => any_text(&name, random),
            };
            tree.files.insert(name, text);
        }
        for name in [".gitignore", ".ignore", "src/.gitignore"] {
            if random.below(4) == 0 {
                let patterns = ["*.md", "old/", "!alpha.md", "utils.*", "/lib"];
                let lines: Vec<&str> =
                    (0..1 + random.below(2)).filter_map(|_| random.pick(&patterns).copied()).collect();
                tree.files.insert(name.to_owned(), lines.join("\n") + "\n");
            }
        }
        tree.folders = tree.files.keys().flat_map(|name| folders_of(name)).collect();
        tree.folders.insert("src".to_owned());
        for _ in 0..random.below(6) {
            tree.link(random);
        }
        tree
    }

    fn link(&mut self, random: &mut Random) {
        let place = *random.pick(&["", "", "src", "docs", "lib"]).unwrap_or(&"");
        if !place.is_empty() && !self.folders.contains(place) {
            return;
        }
        let name =
            joined(place, &format!("link{}{}", random.below(5), random.pick(&["", ".rs", ".txt"]).unwrap_or(&"")));
        let up = if place.is_empty() { "" } else { "../" };
        let target = match random.below(8) {
            0 => "nowhere.rs".to_owned(),
            1 | 2 => random.pick(&self.folders.iter().cloned().collect::<Vec<_>>()).cloned().unwrap_or_default(),
            3 if !self.links.is_empty() => nth(&self.links, random).0,
            4 => "src/../vault/x.rs".to_owned(),
            _ => nth(&self.files, random).0,
        };
        if !self.files.contains_key(&name) && target != name {
            self.links.insert(name, format!("{up}{target}"));
        }
    }

    /// Puts it on disk, with the same times each time.
    pub(super) fn put(&self, root: &Path) -> Result<(), Broken> {
        fs::create_dir_all(root)?;
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder))?;
        }
        self.put_files(root, &self.files)?;
        for (name, target) in &self.links {
            symlink(target, root.join(name))?;
        }
        if let Some(git) = &self.git {
            git.put(root)?;
        }
        set_times(root, 0)
    }

    pub(super) fn put_files(&self, root: &Path, files: &Files) -> Result<(), Broken> {
        for (name, text) in files {
            let path = root.join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }
}

impl Git {
    /// A history in which files changed, and had other names.
    pub(super) fn any(files: &Files, random: &mut Random) -> Self {
        let mut older = Files::new();
        for (name, text) in files {
            let name = if random.below(5) == 0 { any_name(random) } else { name.clone() };
            if random.below(4) > 0 {
                let text = if random.below(3) == 0 { changed(text, random) } else { text.clone() };
                older.insert(name, text);
            }
        }
        let mut head = Files::new();
        for (name, text) in files {
            match random.below(8) {
                0 => {}
                1 | 2 => drop(head.insert(name.clone(), changed(text, random))),
                3 => drop(head.insert(any_name(random), text.clone())),
                _ => drop(head.insert(name.clone(), text.clone())),
            }
        }
        let mut index = head.clone();
        for (name, text) in files {
            match random.below(10) {
                0 => drop(index.remove(name)),
                1 => drop(index.insert(name.clone(), text.clone())),
                _ => {}
            }
        }
        Self { commits: vec![older, head], index }
    }

    /// Every set of files it keeps.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Files> {
        self.commits.iter_mut().chain([&mut self.index])
    }

    fn put(&self, root: &Path) -> Result<(), Broken> {
        let git = root.join(".git");
        fs::create_dir_all(git.join("objects"))?;
        fs::create_dir_all(git.join("refs/heads"))?;
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        let mut stream = String::new();
        for files in &self.commits {
            commit(&mut stream, "main", files);
        }
        commit(&mut stream, "staged", &self.index);
        run(root, &["fast-import", "--quiet", "--force"], &stream)?;
        run(root, &["read-tree", "refs/heads/staged"], "")
    }
}

fn commit(stream: &mut String, branch: &str, files: &Files) {
    *stream += &format!("commit refs/heads/{branch}\ncommitter t <t@t> 1700000000 +0000\ndata 1\nx\ndeleteall\n");
    for (name, text) in files {
        *stream += &format!("M 100644 inline {name}\ndata {}\n{text}\n", text.len());
    }
}

fn run(root: &Path, words: &[&str], input: &str) -> Result<(), Broken> {
    let mut git = Command::new("git");
    git.current_dir(root).args(words).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Gives everything that was touched since the last call of this a time that depends on the step alone.
pub(super) fn set_times(root: &Path, step: u64) -> Result<(), Broken> {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000 + step);
    let new = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let (entry, found) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
            let own = entry.file_name().is_some_and(|name| name == ".readproof" || name == ".git");
            if found.is_dir() && !own {
                folders.push(entry);
            } else if found.is_file() && found.modified()? > new {
                set_time(&entry, then)?;
            }
        }
        if fs::metadata(&folder)?.modified()? > new {
            set_time(&folder, then)?;
        }
    }
    Ok(())
}

fn set_time(path: &Path, then: SystemTime) -> Result<(), Broken> {
    File::open(path)?.set_times(FileTimes::new().set_modified(then).set_accessed(then))?;
    Ok(())
}

/// The folders above a name, the nearest last.
pub(super) fn folders_of(name: &str) -> Vec<String> {
    name.match_indices('/').map(|(at, _)| name[..at].to_owned()).collect()
}

pub(super) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

pub(super) fn nth(all: &BTreeMap<String, String>, random: &mut Random) -> (String, String) {
    all.iter().nth(random.below(all.len())).map(|(a, b)| (a.clone(), b.clone())).unwrap_or_default()
}

pub(super) fn any_name(random: &mut Random) -> String {
    let (folder, stem, ending) = (random.pick(&FOLDERS), random.pick(&STEMS), random.pick(&ENDINGS));
    let dot = if random.below(12) == 0 { "." } else { "" };
    joined(folder.unwrap_or(&""), &format!("{dot}{}.{}", stem.unwrap_or(&"a"), ending.unwrap_or(&"rs")))
}

/// A text in the language that the name tells, with a line that is in every text of the run.
pub(super) fn any_text(name: &str, random: &mut Random) -> String {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let mut lines = vec!["first line of the text".to_owned(), "let marker = 1;".to_owned()];
    if matches!(ending, "rs" | "py" | "ts") {
        lines[0] = if ending == "py" { "# first line" } else { "// first line" }.to_owned();
        lines[1] = if ending == "py" { "marker = 1" } else { "// let marker = 1;" }.to_owned();
    }
    for _ in 0..1 + random.below(10) {
        let mut word = || *random.pick(&WORDS).unwrap_or(&"x");
        let (a, b, c) = (word(), word(), word());
        lines.extend(match ending {
            "rs" => vec![format!("pub fn {a}_{b}({c}: u32) -> u32 {{"), format!("    {b}_{c}({c})"), "}".to_owned()],
            "py" => vec![format!("class {a}:"), format!("    def {b}_{c}(self):"), format!("        return {c}")],
            "ts" => vec![format!("export function {a}_{b}({c}: string) {{"), format!("  return {c};"), "}".to_owned()],
            "md" => vec![format!("# {a} {b}"), format!("{c} and {a}.")],
            _ => vec![format!("{a} {b} {c}"), format!("{c}={a}")],
        });
    }
    let text = lines.join("\n") + if random.below(8) == 0 { "" } else { "\n" };
    if random.below(10) == 0 { text.replace('\n', "\r\n") } else { text }
}

/// The same text with one other line.
pub(super) fn changed(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = format!("changed {}\n", random.below(1000));
    let at = random.below(lines.len() + 1);
    lines.insert(at, &line);
    lines.concat()
}
