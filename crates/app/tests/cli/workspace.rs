//! A workspace in a temporary folder, and runs of the binary in it: only `PATH` is taken from the environment, the home
//! directory is separate, and no run takes longer than [`PATIENCE`].

use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

/// A run that takes longer counts as hanging and is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The binary under test.
pub(crate) const READPROOF: &str = env!("CARGO_BIN_EXE_readproof");

/// A folder `ws` to work in, with a folder `home` beside it.
pub(crate) struct Workspace {
    temp: TempDir,
}

impl Workspace {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let workspace = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir(workspace.top().join("ws")).unwrap();
        fs::create_dir(workspace.top().join("home")).unwrap();
        workspace
    }

    /// One with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        for (name, text) in files {
            workspace.put(name, text);
        }
        workspace
    }

    /// The folder around the workspace, canonical.
    pub(crate) fn top(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap()
    }

    /// A file of the workspace; the empty name is the workspace itself.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.top().join("ws");
        if name.is_empty() { root } else { root.join(name) }
    }

    /// Writes a file from outside the session, with its folders.
    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The text of a file.
    pub(crate) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names in the workspace, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names_in(&self.path(""))
    }

    /// The permissions of a file.
    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.path(name)).unwrap().mode() & 0o7777
    }

    /// Sets the permissions of a file.
    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    /// Whether the tests run as root, for whom permissions do not apply.
    pub(crate) fn is_root(&self) -> bool {
        fs::metadata(self.temp.path()).unwrap().uid() == 0
    }

    /// `program` in the workspace, with a clean environment.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path(""));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.top().join("home"));
        command.env("TMPDIR", self.top().join("home"));
        // A stray `.readproof` or `.git` above the temporary folder must not matter; `discovery` removes this variable
        // again.
        command.env("READPROOF_WORKSPACE", self.path(""));
        // Tests use texts that are shorter than any marker.
        command.env("READPROOF_MARKERS", "always");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `readproof` with words that hold no spaces.
    pub(crate) fn run(&self, words: &str) -> Done {
        self.run_args(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs `readproof` with exactly these arguments.
    pub(crate) fn run_args(&self, args: &[&str]) -> Done {
        finish(self.command(READPROOF).args(args))
    }

    /// Runs `readproof` with something on standard input.
    pub(crate) fn feed(&self, words: &str, input: impl AsRef<[u8]>) -> Done {
        let mut command = self.command(READPROOF);
        finish_with(command.args(words.split_whitespace()), input.as_ref())
    }

    /// Runs a shell script in which `"$@"` is `readproof` with these words.
    pub(crate) fn shell(&self, script: &str, words: &str) -> Done {
        let mut command = self.command("sh");
        finish(command.args(["-c", script, "sh", READPROOF]).args(words.split_whitespace()))
    }

    /// The same with something on standard input.
    pub(crate) fn shell_fed(&self, script: &str, words: &str, input: impl AsRef<[u8]>) -> Done {
        let mut command = self.command("sh");
        finish_with(command.args(["-c", script, "sh", READPROOF]).args(words.split_whitespace()), input.as_ref())
    }

    /// Reads a file in session `s`, which must succeed without a notice.
    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        self.run_args(&["read", "--session", "s", "--", path]).text()
    }

    /// How often session `s` was answered in each way, as JSON.
    pub(crate) fn counts(&self) -> Value {
        self.run("status --session s --json").json()["status"]["counts"].clone()
    }
}

/// The names in a folder, sorted.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit code; none after a signal.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Done {
    /// The output of a run that succeeded without a notice.
    #[track_caller]
    pub(crate) fn text(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:?}");
        self.out
    }

    /// Asserts that a run succeeded with exactly this output and no notice.
    #[track_caller]
    pub(crate) fn gives(self, expected: &str) {
        assert_eq!(self.text(), expected);
    }

    /// The output of a run that succeeded with each of these in its notices.
    #[track_caller]
    pub(crate) fn noticed(self, words: &[&str]) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {self:?}");
        }
        self.out
    }

    /// The one JSON object of a run that succeeded.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// Asserts that a run was refused with this exit code, no standard output, and each of these words in its message.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {self:?}");
        }
    }
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Done {
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    wait(child)
}

/// Runs a command to its end with something on its standard input.
#[track_caller]
pub(crate) fn finish_with(command: &mut Command, input: &[u8]) -> Done {
    let spawned = command.stdin(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may refuse before it has read everything.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let done = wait(child);
    feeder.join().unwrap();
    done
}

/// Waits for a child, up to a limit.
#[track_caller]
pub(crate) fn wait(mut child: Child) -> Done {
    let collect = |pipe: Option<Box<dyn Read + Send>>| {
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                pipe.read_to_end(&mut bytes).unwrap();
            }
            // The receiver is gone if the wait was given up.
            let _ = send.send(String::from_utf8(bytes).expect("output is UTF-8"));
        });
        receive
    };
    let out = collect(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = collect(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let (Ok(out), Ok(err)) = (out.recv_timeout(PATIENCE), err.recv_timeout(PATIENCE)) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("the run was killed after {PATIENCE:?}");
    };
    Done { code: child.wait().unwrap().code(), out, err }
}

/// `1` to `last`, a line each.
pub(crate) fn numbered(last: u32) -> String {
    (1..=last).map(|n| format!("{n}\n")).collect()
}
