//! Which files are never stored and always sent as plain text. Decided by name: patterns over the name asked for and over
//! every name its links lead through. Reads no file; when in doubt, a file is sensitive.

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use std::sync::OnceLock;

use crate::{locate::FileRef, root::Root, snapshot::Snapshot};

/// The default patterns. Names that most likely hold source code or prose about secrets are excepted.
pub const STANDARD_PATTERNS: &[&str] = &[
    ".env*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.crt",
    "*.cer",
    "*.der",
    "*.pk8",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_* !*.*",
    "id_{rsa,dsa,ecdsa,ed25519,xmss}* !*.pub",
    "secrets.* !*.{c,cc,cpp,cs,go,hpp,java,js,kt,md,py,rb,rs,scala,swift,ts,tsx}",
    "credentials* !*.{c,cc,cpp,cs,go,hpp,java,js,kt,md,py,rb,rs,scala,swift,ts,tsx}",
    ".credentials*",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    "kubeconfig",
    "*.kubeconfig",
    ".aws/",
    ".gnupg/",
    ".kube/",
    ".ssh/",
];

/// Case-insensitive patterns for sensitive names. They are compiled when the first file is checked, because that takes a
/// large part of the time a command needs to start.
#[derive(Clone, Debug)]
pub struct Sensitive {
    base_names: Patterns,
    keys: Patterns,
}

#[derive(Clone, Debug, Default)]
struct Patterns {
    globs: Vec<Glob>,
    exceptions: Vec<Exception>,
    /// Compiled; `None` inside when there are too many to compile, and then everything matches.
    ready: OnceLock<Option<GlobSet>>,
}

/// What is excepted from the glob with index `of`.
#[derive(Clone, Debug)]
struct Exception {
    of: usize,
    glob: Glob,
    ready: OnceLock<GlobMatcher>,
}

impl Exception {
    fn is_match(&self, name: &str) -> bool {
        self.ready.get_or_init(|| self.glob.compile_matcher()).is_match(name)
    }
}

impl Patterns {
    fn is_match(&self, name: &str) -> bool {
        let build = || {
            let mut set = GlobSetBuilder::new();
            for glob in &self.globs {
                set.add(glob.clone());
            }
            set.build().ok()
        };
        let Some(set) = self.ready.get_or_init(build) else { return true };
        let excepted = |at: usize| self.exceptions.iter().any(|except| except.of == at && except.is_match(name));
        set.is_match(name) && set.matches(name).into_iter().any(|at| !excepted(at))
    }
}

impl Sensitive {
    /// Patterns without `/` match the last part of a name, those with one the whole key. One that ends in `/` matches
    /// everything in folders of that name. After ` !` stands what is excepted, from this pattern alone.
    ///
    /// # Errors
    /// [`BadPattern`] for the first that is not a valid glob.
    pub fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self, BadPattern> {
        let (mut base_names, mut keys) = (Patterns::default(), Patterns::default());
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let bad = |error: globset::Error| BadPattern::new(pattern, &error);
            let glob =
                |body: &str| GlobBuilder::new(body).case_insensitive(true).literal_separator(true).build().map_err(bad);
            let mut parts = pattern.split(" !");
            let positive = parts.next().unwrap_or_default();
            let patterns = if positive.contains('/') { &mut keys } else { &mut base_names };
            for except in parts {
                let of = patterns.globs.len();
                patterns.exceptions.push(Exception { of, glob: glob(except)?, ready: OnceLock::new() });
            }
            // A leading `/` only anchors a pattern to the root, as all keys are anyway.
            let body = positive.strip_prefix('/').unwrap_or(positive);
            patterns.globs.push(match body.strip_suffix('/') {
                Some(folder) if body.len() == positive.len() && !folder.contains('/') => {
                    glob(&format!("**/{folder}/**"))?
                }
                Some(folder) => glob(&format!("{folder}/**"))?,
                None => glob(body)?,
            });
        }
        Ok(Self { base_names, keys })
    }

    /// Tests the key and, if a link may be involved, every name on the way to the file. Without links this costs one
    /// `openat2` that refuses them and one `close`; with links, or where `openat2` is missing, a `stat` per component.
    #[must_use]
    pub fn is_sensitive(&self, root: &Root, file: &FileRef) -> bool {
        if self.matches(file.name()) {
            return true;
        }
        if root.is_free_of_links(file) {
            return false;
        }
        root.follow(file.name()).map_or(true, |names| names.iter().any(|name| self.matches(name)))
    }

    /// As [`Self::is_sensitive`] for a file that was read: judged by the names it was opened by, wherever its links lead now.
    #[must_use]
    pub fn is_sensitive_read(&self, file: &FileRef, read: &Snapshot) -> bool {
        self.matches(file.name()) || read.led.iter().any(|name| self.matches(name))
    }

    fn matches(&self, name: &str) -> bool {
        let base = name.rsplit('/').next().unwrap_or(name);
        self.base_names.is_match(base) || self.keys.is_match(name)
    }
}

impl Root {
    /// Whether the file exists and no part of its name is a link; `false` also means "cannot tell".
    #[cfg(target_os = "linux")]
    fn is_free_of_links(&self, file: &FileRef) -> bool {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.dir, file.name(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
    }

    /// Without `openat2` there is no cheap test.
    #[cfg(not(target_os = "linux"))]
    fn is_free_of_links(&self, _file: &FileRef) -> bool {
        false
    }
}

/// A pattern that is not a valid glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub struct BadPattern {
    pub pattern: String,
    pub reason: String,
}

impl BadPattern {
    fn new(pattern: &str, error: &globset::Error) -> Self {
        Self { pattern: pattern.to_owned(), reason: error.kind().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn names_by_pattern() {
        let standard = Sensitive::new(STANDARD_PATTERNS).unwrap();
        let check = |name: &str, expected: bool| assert_eq!(standard.matches(name), expected, "{name}");
        for sensitive in [
            ".env",
            ".env.local",
            ".ENV",
            "a/b/.envrc",
            "x.pem",
            "X.PEM",
            "a.key",
            "id_rsa",
            "ID_RSA",
            "h/.netrc",
            "credentials",
            ".aws/credentials",
            "a.kdbx",
            "c.crt",
            "a.env",
            "deploy/PROD.ENV",
            "secrets.yaml",
            "secrets.h",
            "Secrets.sh",
            "credentials.json",
            "credentials-prod",
            ".credentials.json",
            ".git-credentials",
            ".npmrc",
            ".pypirc",
            ".pgpass",
            "kubeconfig",
            "prod.kubeconfig",
            "a.jks",
            "debug.keystore",
            "id_work",
            "id_ed25519_sk",
            "id_rsa.bak",
            ".aws/config",
            ".ssh/known_hosts",
            "home/.SSH/deep/er",
            ".gnupg/trustdb.gpg",
            ".kube/config",
        ] {
            check(sensitive, true);
        }
        for plain in [
            "env",
            "environment.ts",
            "src/secrets.py",
            "secrets.rs",
            "secrets",
            "my-secrets.yaml.md",
            "credentials_test.go",
            "id_map.rs",
            "id_list.json",
            "id_ed25519.pub",
            ".ssh",
            "a.ssh/config",
            "dot.aws/x",
            "key",
            "pem.txt",
            "id_rsa.pub",
            "credentials.rs",
            ".env/readme",
            "my_id_rsa",
            "a.keys",
            ".",
        ] {
            check(plain, false);
        }

        let own = Sensitive::new(&["/secret/**", "conf/*.toml", "/top/", "in/deep/", "any/", "q* !qb* !*.c"]).unwrap();
        for (name, expected) in [
            ("secret/a", true),
            ("Secret/a/b", true),
            ("x/secret/a", false),
            ("conf/a.toml", true),
            ("conf/d/b.toml", false),
            ("b.toml", false),
            ("top/x", true),
            ("x/top/y", false),
            ("in/deep/x/y", true),
            ("x/in/deep/y", false),
            ("x/any/y", true),
            ("any/y", true),
            ("q", true),
            ("d/qx", true),
            ("qb", false),
            ("qx.c", false),
        ] {
            assert_eq!(own.matches(name), expected, "{name}");
        }
    }

    /// While a link is switched from one file to another, what is read is judged by the name it was read from.
    #[test]
    fn a_link_that_is_turned_while_it_is_read() {
        use crate::{HardLinks, SnapshotError, SnapshotRules};
        use std::sync::atomic::{AtomicBool, Ordering};
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        fs::create_dir_all(top.join(".ssh")).unwrap();
        fs::create_dir_all(top.join("open")).unwrap();
        for (name, text) in [(".env", "secret"), ("ok.txt", "fine"), (".ssh/f", "secret"), ("open/f", "fine")] {
            fs::write(top.join(name), text).unwrap();
        }
        let (root, standard) = (Root::open(top).unwrap(), Sensitive::new(STANDARD_PATTERNS).unwrap());
        let rules = SnapshotRules { max_bytes: 100, hard_links: HardLinks::Allow };
        symlink("ok.txt", top.join("link")).unwrap();
        symlink("open", top.join("folder")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let turns = [("link", ".env"), ("folder", ".ssh"), ("link", "ok.txt"), ("folder", "open")];
                for (name, target) in turns.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                    symlink(target, top.join("new")).unwrap();
                    fs::rename(top.join("new"), top.join(name)).unwrap();
                }
            });
            let at = |name: &str| root.locate(&[format!("{}/{name}", root.path().display())]).unwrap();
            let files = [at("link"), at("folder/f")];
            let (mut secret, mut fine) = (0, 0);
            for file in files.iter().cycle().take(4_000) {
                match root.snapshot(file, &rules) {
                    Ok(read) => {
                        let is_secret = read.text.as_str() == "secret";
                        assert_eq!(standard.is_sensitive_read(file, &read), is_secret, "{read:?}");
                        *(if is_secret { &mut secret } else { &mut fine }) += 1;
                    }
                    Err(SnapshotError::Changing { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            done.store(true, Ordering::Relaxed);
            assert!(secret > 0 && fine > 0, "{secret} {fine}");
        });
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Sensitive::new(&["ok", "a[", "b["]).unwrap_err();
        assert!(error.pattern == "a[" && !error.reason.is_empty(), "{error}");
    }

    #[test]
    fn every_name_on_the_way_counts() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        fs::create_dir_all(top.join("safe/deep")).unwrap();
        fs::create_dir(top.join("vault")).unwrap();
        fs::write(top.join("safe/plain"), "").unwrap();
        fs::write(top.join("safe/.env"), "").unwrap();
        fs::write(top.join("vault/x"), "").unwrap();
        symlink("safe/.env", top.join("to_env")).unwrap();
        symlink("safe/plain", top.join("to_plain")).unwrap();
        symlink("to_plain", top.join("my.key")).unwrap();
        symlink("my.key", top.join("through_key")).unwrap();
        symlink("../.env", top.join("safe/deep/up")).unwrap();
        symlink("safe", top.join("folder")).unwrap();
        symlink("vault", top.join("to_vault")).unwrap();
        symlink("to_vault", top.join("twice")).unwrap();
        symlink("nowhere.pem", top.join("dangling")).unwrap();

        let root = Root::open(top).unwrap();
        let mut patterns: Vec<String> = STANDARD_PATTERNS.iter().map(|p| (*p).to_owned()).collect();
        patterns.push("vault/*".into());
        let sensitive = Sensitive::new(&patterns).unwrap();
        let at = |name: &str| format!("{}/{name}", root.path().display());
        for (name, expected) in [
            ("safe/plain", false),
            ("to_plain", false),
            ("folder/plain", false),
            ("not/yet/there", false),
            ("not/yet/a.pem", true),
            ("safe/.env", true),
            ("to_env", true),
            ("folder/.env", true),
            ("my.key", true),
            ("through_key", true),
            ("safe/deep/up", true),
            ("folder/deep/up", true),
            ("to_vault/x", true),
            ("twice/x", true),
            ("dangling", true),
        ] {
            let file = root.locate_new(&[at(name)]).unwrap();
            assert_eq!(sensitive.is_sensitive(&root, &file), expected, "{name}");
        }
        // Swapped for a bad link after it was located.
        let file = root.locate_new(&[at("swapped")]).unwrap();
        for bad in ["swapped", "/etc/hostname", "../up"] {
            symlink(bad, top.join("swapped")).unwrap();
            assert!(sensitive.is_sensitive(&root, &file), "{bad}");
            assert_eq!(root.real_name(&file), None, "{bad}");
            fs::remove_file(top.join("swapped")).unwrap();
        }
    }
}
