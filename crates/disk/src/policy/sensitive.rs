//! Which files are never stored and always sent as plain text. Decided by name: patterns over the name asked for and over
//! every name its links lead through. Reads no file; when in doubt, a file is sensitive.

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use crate::{
    locate::{FileRef, Opened},
    root::Root,
    snapshot::Snapshot,
    snapshot::spelling::on_disk,
};

/// How many names are remembered at most.
const MET: usize = 1000;

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

/// Case-insensitive patterns for sensitive names. They are parsed and compiled when the first file is checked, because that
/// takes a large part of the time a command needs to start.
#[derive(Clone, Debug)]
pub struct Sensitive {
    patterns: Vec<String>,
    /// `None` inside when they cannot be compiled, and then everything matches.
    ready: OnceLock<Option<Compiled>>,
    /// What the patterns say of names that were read before; they never change.
    met: Arc<Mutex<BTreeMap<String, bool>>>,
}

#[derive(Clone, Debug)]
struct Compiled {
    base_names: Matcher,
    keys: Matcher,
}

#[derive(Clone, Debug)]
struct Matcher {
    set: GlobSet,
    /// With the index of the glob they belong to.
    exceptions: Vec<(usize, GlobMatcher)>,
}

impl Matcher {
    fn new(patterns: &[Pattern]) -> Result<Self, globset::Error> {
        let (mut set, mut exceptions) = (GlobSetBuilder::new(), Vec::new());
        for (at, pattern) in patterns.iter().enumerate() {
            set.add(pattern.glob.clone());
            exceptions.extend(pattern.exceptions.iter().map(|except| (at, except.compile_matcher())));
        }
        Ok(Self { set: set.build()?, exceptions })
    }

    fn is_match(&self, name: &str) -> bool {
        let excepted = |at: usize| self.exceptions.iter().any(|(of, except)| *of == at && except.is_match(name));
        self.set.is_match(name) && self.set.matches(name).into_iter().any(|at| !excepted(at))
    }
}

/// A parsed pattern.
struct Pattern {
    glob: Glob,
    exceptions: Vec<Glob>,
    /// Compared with the whole key, not only with the last part of a name.
    whole_key: bool,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Self, BadPattern> {
        let bad = |error: globset::Error| BadPattern::new(pattern, &error);
        let glob =
            |body: &str| GlobBuilder::new(body).case_insensitive(true).literal_separator(true).build().map_err(bad);
        let mut parts = pattern.split(" !");
        let positive = parts.next().unwrap_or_default();
        let exceptions = parts.map(glob).collect::<Result<_, _>>()?;
        // A leading `/` only anchors a pattern to the root, as all keys are anyway.
        let body = positive.strip_prefix('/').unwrap_or(positive);
        let glob = match body.strip_suffix('/') {
            Some(folder) if body.len() == positive.len() && !folder.contains('/') => glob(&format!("**/{folder}/**"))?,
            Some(folder) => glob(&format!("{folder}/**"))?,
            None => glob(body)?,
        };
        Ok(Self { glob, exceptions, whole_key: positive.contains('/') })
    }
}

impl Sensitive {
    /// Patterns without `/` match the last part of a name, those with one the whole key. One that ends in `/` matches
    /// everything in folders of that name. After ` !` stands what is excepted, from this pattern alone.
    ///
    /// # Errors
    /// [`BadPattern`] for the first that is not a valid glob.
    pub fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self, BadPattern> {
        let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        // The standard patterns are known to be valid.
        for pattern in patterns.iter().filter(|pattern| !STANDARD_PATTERNS.contains(&pattern.as_str())) {
            Pattern::parse(pattern)?;
        }
        Ok(Self { patterns, ready: OnceLock::new(), met: Arc::default() })
    }

    fn compile(&self) -> Option<Compiled> {
        let parsed = self.patterns.iter().map(|pattern| Pattern::parse(pattern)).collect::<Result<Vec<_>, _>>().ok()?;
        let (keys, base_names): (Vec<_>, Vec<_>) = parsed.into_iter().partition(|pattern| pattern.whole_key);
        Some(Compiled { base_names: Matcher::new(&base_names).ok()?, keys: Matcher::new(&keys).ok()? })
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

    /// As [`Self::is_sensitive`] for a file that was opened by its name, in which no part was a link.
    #[must_use]
    pub fn is_sensitive_opened(&self, file: &FileRef, _opened: &Opened) -> bool {
        self.matches(file.name())
    }

    /// As [`Self::is_sensitive`] for a file that was read: judged by the names it was opened by, wherever its links lead now.
    #[must_use]
    pub fn is_sensitive_read(&self, file: &FileRef, read: &Snapshot) -> bool {
        self.matches_again(file.name()) || read.led.iter().any(|name| self.matches(name))
    }

    /// The same as [`Self::matches`] for a name that is often asked about. Another thread that asks this moment is not waited for.
    fn matches_again(&self, name: &str) -> bool {
        let Ok(mut met) = self.met.try_lock() else { return self.matches(name) };
        if let Some(known) = met.get(name) {
            return *known;
        }
        let found = self.matches(name);
        if met.len() >= MET {
            met.clear();
        }
        met.insert(name.to_owned(), found);
        found
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether a name alone is sensitive, wherever links lead.
    #[must_use]
    pub fn is_sensitive_name(&self, name: &str) -> bool {
        self.matches(name)
    }

    fn matches(&self, name: &str) -> bool {
        let Some(compiled) = self.ready.get_or_init(|| self.compile()) else { return true };
        let base = name.rsplit('/').next().unwrap_or(name);
        compiled.base_names.is_match(base) || compiled.keys.is_match(name)
    }
}

impl Root {
    /// Whether the file exists and no part of its name is a link; `false` also means "cannot tell".
    #[cfg(target_os = "linux")]
    fn is_free_of_links(&self, file: &FileRef) -> bool {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.dir, &*on_disk(file.name()), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).is_ok()
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
    fn every_standard_pattern_is_valid() {
        for pattern in STANDARD_PATTERNS {
            Pattern::parse(pattern).unwrap();
        }
        assert!(Sensitive::new(STANDARD_PATTERNS).unwrap().compile().is_some());
    }

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

    #[cfg(target_os = "linux")]
    #[test]
    fn an_opened_file_is_judged_by_the_name_it_was_opened_by() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        for name in ["plain", ".env"] {
            fs::write(at(name), name).unwrap();
        }
        symlink(".env", at("link")).unwrap();
        let (root, standard) = (Root::open(temp.path()).unwrap(), Sensitive::new(STANDARD_PATTERNS).unwrap());
        let open = |name: &str| root.locate_open(&[root.absolute(name)]).unwrap();
        // What is opened was no link, whatever its name becomes.
        assert!(open("link").1.is_none());
        let (file, opened) = open("plain");
        fs::remove_file(at("plain")).unwrap();
        symlink(".env", at("plain")).unwrap();
        assert!(!standard.is_sensitive_opened(&file, &opened.unwrap()) && standard.is_sensitive(&root, &file));
        let (file, opened) = open(".env");
        assert!(standard.is_sensitive_opened(&file, &opened.unwrap()));
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
