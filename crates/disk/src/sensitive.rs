//! Which files are never stored and always sent plain, by name: patterns over the name asked for and over every name its
//! links lead through. Reads no file; what it cannot tell counts as sensitive.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use std::sync::OnceLock;

use crate::{locate::FileRef, root::Root, snapshot::Snapshot};

/// The patterns used unless the settings say otherwise.
pub const STANDARD_PATTERNS: &[&str] = &[
    ".env*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.crt",
    "*.cer",
    "*.der",
    "*.pk8",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".npmrc",
    ".netrc",
    ".pypirc",
    "*.kdbx",
    "credentials",
];

/// Patterns for sensitive names, whatever their case. They are made ready when a file is first looked at: that takes as long
/// as much of the rest of a start.
#[derive(Clone, Debug)]
pub struct Sensitive {
    base_names: Patterns,
    keys: Patterns,
}

#[derive(Clone, Debug, Default)]
struct Patterns {
    globs: Vec<Glob>,
    /// Ready; `None` inside when they are too many for that, and then everything matches.
    ready: OnceLock<Option<GlobSet>>,
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
        self.ready.get_or_init(build).as_ref().is_none_or(|set| set.is_match(name))
    }
}

impl Sensitive {
    /// Patterns without `/` are for the last part of a name, those with one for the whole key.
    ///
    /// # Errors
    /// [`BadPattern`] for the first that is no glob.
    pub fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self, BadPattern> {
        let (mut base_names, mut keys) = (Patterns::default(), Patterns::default());
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let bad = |error: globset::Error| BadPattern::new(pattern, &error);
            // A first `/` only says "from the root on", which keys are anyway.
            let body = pattern.strip_prefix('/').unwrap_or(pattern);
            let glob = GlobBuilder::new(body).case_insensitive(true).literal_separator(true).build().map_err(bad)?;
            if pattern.contains('/') { &mut keys } else { &mut base_names }.globs.push(glob);
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

    /// As [`Self::is_sensitive`] for a file that was read: what its opening told about links is not asked again.
    #[must_use]
    pub fn is_sensitive_read(&self, root: &Root, file: &FileRef, read: &Snapshot) -> bool {
        if read.free_of_links { self.matches(file.name()) } else { self.is_sensitive(root, file) }
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

/// A pattern that is no glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sensitive pattern `{pattern}` is no glob: {reason}; correct it or leave it out")]
pub struct BadPattern {
    /// As given.
    pub pattern: String,
    /// What is wrong with it.
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
        ] {
            check(sensitive, true);
        }
        for plain in [
            "env",
            "a.env",
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

        let own = Sensitive::new(&["/secret/**".to_owned(), "conf/*.toml".to_owned()]).unwrap();
        for (name, expected) in [
            ("secret/a", true),
            ("Secret/a/b", true),
            ("x/secret/a", false),
            ("conf/a.toml", true),
            ("conf/d/a.toml", false),
            ("a.toml", false),
        ] {
            assert_eq!(own.matches(name), expected, "{name}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Sensitive::new(&["ok", "a[", "b["]).unwrap_err();
        assert_eq!(error.pattern, "a[");
        assert!(error.to_string().starts_with("the sensitive pattern `a[` is no glob: "), "{error}");
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
