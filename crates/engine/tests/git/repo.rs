//! A repository in its own folder, git without the user's configuration, and our answer about a file.

use readproof_core::path::Bearings;
use readproof_disk::Root;
pub(crate) use readproof_engine::operation::Against;
use readproof_engine::{
    Compared, Engine, Error, GitSettings, Settings,
    operation::{AnswerLimit, Compare, Operation},
};
use readproof_testkit::ask::{Ask, Hook, WAIT};
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

pub(crate) use Against::{Head, Index, WorkTree};

/// A folder with a repository in it; other folders beside it are removed with it.
pub(crate) struct Repo {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

/// Git with a clean environment.
pub(crate) fn git_in(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/nonexistent");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b");
        git.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    git.args(["-c", "core.quotePath=false", "-c", "protocol.file.allow=always"]);
    git
}

pub(crate) fn done(output: &Output) -> Vec<u8> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.clone()
}

/// Runs a program with input and returns its output.
pub(crate) fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git runs");
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

impl Repo {
    /// Without a commit.
    pub(crate) fn unborn() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(path.join(".git/objects")).unwrap();
        fs::create_dir_all(path.join(".git/refs/heads")).unwrap();
        fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(
            path.join(".git/config"),
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
        )
        .unwrap();
        Self { temp, path }
    }

    /// With these files committed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::unborn();
        for (name, text) in files {
            repo.write(name, text);
        }
        repo.commit();
        repo
    }

    pub(crate) fn at(path: PathBuf, temp: tempfile::TempDir) -> Self {
        Self { temp, path }
    }

    /// A folder beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path.join(name)).unwrap();
    }

    pub(crate) fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path.join(name)).unwrap();
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Runs git and returns its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        String::from_utf8(self.bytes(args)).unwrap()
    }

    pub(crate) fn bytes(&self, args: &[&str]) -> Vec<u8> {
        done(&git_in(&self.path).args(args).output().expect("git is in the path"))
    }

    pub(crate) fn set(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "x", "--allow-empty"]);
    }

    pub(crate) fn engine(&self) -> Engine {
        engine_at(&self.path)
    }

    /// Our answer.
    pub(crate) fn ask(&self, name: &str, against: Against, content: Option<&str>) -> Result<Compared, Error> {
        ask(&self.engine(), name, against, content)
    }

    pub(crate) fn diff(&self, name: &str, against: Against) -> Compared {
        self.ask(name, against, None).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn code(&self, name: &str, against: Against) -> &'static str {
        self.ask(name, against, None).map(|found| found.text).unwrap_err().code()
    }

    /// Git's own diff, without the line of object ids.
    pub(crate) fn gits(&self, args: &[&str], name: &str) -> String {
        let mut all = vec!["diff", "--no-renames", "--no-ext-diff", "--no-textconv"];
        all.extend(args);
        all.extend(["--", name]);
        let text = self.git(&all);
        without_ids(&text)
    }

    /// Compares an answer with git's diff: the same text, except for the hunk headers.
    #[track_caller]
    pub(crate) fn agrees(&self, name: &str, status: &str) {
        let path = self.path.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            // Git reads the bytes only if the time differs.
            let later = fs::metadata(&path).unwrap().modified().unwrap() + Duration::from_secs(1);
            fs::File::options().append(true).open(&path).unwrap().set_modified(later).unwrap();
        }
        for (against, args) in [(Head, &["HEAD"][..]), (Index, &[])] {
            let ours = self.diff(name, against);
            assert_eq!(plain(&ours.text), plain(&self.gits(args, name)), "{against:?}");
            if against == Head {
                assert_eq!(ours.status.as_str(), status, "{:?}", ours.notices);
            }
        }
    }
}

pub(crate) fn engine_at(path: &Path) -> Engine {
    let bearings = Bearings { cwd: path.to_str().unwrap().to_owned(), home: None };
    let settings = Settings { git: GitSettings::Repository, ..Settings::default() };
    Engine::new(Root::open(path).unwrap(), bearings, settings, Box::new(|| 0)).unwrap()
}

pub(crate) fn ask(engine: &Engine, name: &str, against: Against, content: Option<&str>) -> Result<Compared, Error> {
    compare(engine, asked(name, against, content, AnswerLimit::NONE), WAIT)
}

pub(crate) fn asked(name: &str, against: Against, content: Option<&str>, most: AnswerLimit) -> Compare {
    Compare { path: name.to_owned(), against, content: content.map(str::to_owned), most }
}

pub(crate) fn compare(engine: &Engine, asked: Compare, hook: Hook<'_>) -> Result<Compared, Error> {
    engine.ask_while(None, Operation::Compare(asked), hook)
}

/// Lines of object ids occur only in headers, where no line begins like a line of a hunk.
pub(crate) fn without_ids(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect()
}

/// `@@ -1 +1 @@ fn` as `@@ -1,1 +1,1 @@`.
pub(crate) fn plain(text: &str) -> String {
    let hunk = |line: &str| {
        let inner = line.strip_prefix("@@ ")?.split(" @@").next()?.to_owned();
        let side = |side: &str| if side.contains(',') { side.to_owned() } else { format!("{side},1") };
        let sides: Vec<String> = inner.split(' ').map(side).collect();
        Some(format!("@@ {} @@\n", sides.join(" ")))
    };
    text.split_inclusive('\n').map(|line| hunk(line).unwrap_or_else(|| line.to_owned())).collect()
}
