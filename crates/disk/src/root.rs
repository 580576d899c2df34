//! A directory that may be used, and where a workspace begins. Everything is opened relative to the handle held here, so no
//! name, link or race can lead out of it. Never opens a file itself.

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Component, Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
};

use cap_std::{ambient_authority, fs::Dir};

use crate::{
    fault::Fault,
    git::Opened,
    policy::Guard,
    replace::{DisplacedTexts, Moments},
    snapshot::spelling::{on_disk, spelt},
    snapshot::times::Times,
    stores::STORE_NAME,
};

/// A directory that may be used: a handle, and the names it is known by. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Root {
    /// cap-std resolves beneath this handle: by `openat2` on Linux, step by step elsewhere.
    pub(crate) dir: Arc<Dir>,
    path: Arc<Path>,
    /// `path` as text, because names are text everywhere else.
    pub(crate) text: Arc<str>,
    /// The path as given to [`Root::open`], if it is absolute, free of `..` and differs: callers write names under it.
    pub(crate) given: Option<Arc<str>>,
    /// How finely its file system tells when something changed.
    pub(crate) times: Times,
    /// Counts temporary files, so that their names differ.
    pub(crate) temps: Arc<AtomicU64>,
    /// The git repository that was asked about last.
    pub(crate) repositories: Arc<Opened>,
    /// Whether a read waits while another program writes in the folder.
    pub(crate) waits: bool,
    /// What is called at each moment of a write.
    pub(crate) moments: Moments,
    /// What writes displaced and nobody has taken yet.
    pub(crate) displaced: Arc<DisplacedTexts>,
    /// What may be used of it; everything if absent.
    pub(crate) guard: Option<Arc<dyn Guard>>,
}

impl Root {
    /// Opens an existing directory. The handle stays with that directory even if it is renamed.
    ///
    /// # Errors
    /// [`RootError`] when there is no such directory or its name is not UTF-8.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let fail = |error| RootError::from_io(path, error);
        let canonical = fs::canonicalize(path).map_err(fail)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(fail)?;
        let Some(text) = canonical.to_str().map(Arc::from) else {
            return Err(RootError::NotUtf8 { path: canonical });
        };
        let given = clean(path).filter(|given| Path::new(given) != canonical).map(Arc::from);
        Ok(Self {
            times: Times::of(&dir),
            dir: Arc::new(dir),
            path: canonical.into(),
            text,
            given,
            temps: Arc::default(),
            repositories: Arc::default(),
            waits: true,
            moments: Moments::default(),
            displaced: Arc::default(),
            guard: None,
        })
    }

    /// The folder in which a user's settings file really lies, and the name of the file in it. For settings of hosts, outside
    /// every workspace. Links are followed wherever they lead, because people keep such files in another folder and link to
    /// them; but a file that a link leads to must belong to this user. Without such a file, it is the nearest existing
    /// parent.
    ///
    /// # Errors
    /// [`RootError`] when a link leads nowhere or to a file of another user, or the folder cannot be used.
    pub fn around(path: &Path) -> Result<(Self, String), RootError> {
        let fail = |error| RootError::from_io(path, error);
        let (real, link) = match fs::symlink_metadata(path) {
            Ok(found) => (fs::canonicalize(path), found.is_symlink()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Ok(path.to_path_buf()), false),
            Err(error) => return Err(fail(error)),
        };
        let real = match real {
            Err(error) if link && error.kind() == io::ErrorKind::NotFound => {
                return Err(RootError::NoTarget { path: path.to_path_buf() });
            }
            other => other.map_err(fail)?,
        };
        if link && fs::metadata(&real).map_err(fail)?.uid() != rustix::process::geteuid().as_raw() {
            return Err(RootError::NotOurs { path: real });
        }
        let folder = real.ancestors().skip(1).find(|folder| fs::metadata(folder).is_ok()).unwrap_or(&real);
        let root = Self::open(folder)?;
        let below = real.strip_prefix(folder).unwrap_or(&real);
        let Some(name) = root.path.join(below).to_str().map(str::to_owned) else {
            return Err(RootError::NotUtf8 { path: real });
        };
        Ok((root, name))
    }

    /// The name it was opened by, if that goes through a link, and its canonical name.
    #[must_use]
    pub fn alias(&self) -> Option<(&str, &str)> {
        self.given.as_deref().map(|given| (given, &*self.text))
    }

    /// Whether a path is spelt as one inside, below the canonical name or the one given.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.path) || self.given.as_ref().is_some_and(|given| path.starts_with(&**given))
    }

    /// Whether an absolute path is spelt as one inside or, if it exists, leads inside.
    #[must_use]
    pub fn leads_inside(&self, path: &Path) -> bool {
        self.holds(path) || (path.is_absolute() && fs::canonicalize(path).is_ok_and(|real| self.holds(&real)))
    }

    /// The name inside that an absolute path leads to, links followed, `.` for the root; `None` if it leads nowhere or elsewhere.
    #[must_use]
    pub fn leads_to(&self, path: &Path) -> Option<String> {
        let real = fs::canonicalize(path).ok().filter(|_| path.is_absolute())?;
        let name = spelt(real.strip_prefix(&self.path).ok()?.as_os_str().as_bytes())?.into_owned();
        Some(if name.is_empty() { ".".to_owned() } else { name })
    }

    /// Whether a path is spelt as one inside and, if it exists, leads inside.
    #[must_use]
    pub fn stays_inside(&self, path: &Path) -> bool {
        self.holds(path) && fs::canonicalize(path).map_or(true, |real| self.holds(&real))
    }

    /// Whether it is, or lies in, a git work tree.
    #[must_use]
    pub fn is_in_git(&self) -> bool {
        self.path.ancestors().any(holds_git)
    }

    /// Whether it lies below the root of a Jujutsu work tree.
    #[must_use]
    pub fn is_below_jj(&self) -> bool {
        self.path.ancestors().skip(1).any(|folder| fs::metadata(folder.join(".jj")).is_ok())
    }

    /// Whether there is anything of this name inside, a link that leads nowhere included.
    #[must_use]
    pub fn names_anything(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path.join(on_disk(name))).is_ok_and(|found| self.shows(name, found.is_dir()))
    }

    /// Whether a name inside leads to a folder, without following links.
    #[must_use]
    pub fn names_folder(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path.join(on_disk(name))).is_ok_and(|found| found.is_dir() && self.shows(name, true))
    }

    /// The absolute path of a name inside.
    #[must_use]
    pub fn absolute(&self, name: &str) -> String {
        format!("{}/{name}", self.text.trim_end_matches('/'))
    }

    /// The directory, absolute and free of links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether an absolute path leads to the working directory.
#[must_use]
pub fn is_current_folder(path: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    clean(path).is_some() && id(path).is_some_and(|found| id(Path::new(".")) == Some(found))
}

/// Whether there is an executable file of this name.
#[must_use]
pub fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Whether two paths lead to one file, links followed.
#[must_use]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|found| id(other) == Some(found))
}

/// The same path without doubled or final slashes; `None` when its spelling alone does not say where it leads.
fn clean(path: &Path) -> Option<String> {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    path.components().collect::<PathBuf>().into_os_string().into_string().ok()
}

/// Where the workspace of `start` begins: the nearest folder, `start` included, that holds this user's `.readproof` directory;
/// else the nearest that holds `.git`; else `start`. A `.readproof` of another user does not count, or anyone who can write
/// to a shared parent such as `/tmp` could widen what an agent may read.
#[must_use]
pub fn find_workspace(start: &Path) -> PathBuf {
    let nearest = |holds: fn(&Path) -> bool| start.ancestors().find(|folder| holds(folder)).map(Path::to_path_buf);
    nearest(holds_our_store).or_else(|| nearest(holds_git)).unwrap_or_else(|| start.to_path_buf())
}

fn holds_our_store(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder.join(STORE_NAME)).is_ok_and(|found| found.is_dir() && found.uid() == user)
}

/// A `.git` that is a file belongs to a linked work tree or submodule.
fn holds_git(folder: &Path) -> bool {
    fs::metadata(folder.join(".git")).is_ok_and(|found| found.is_dir() || found.is_file())
}

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum RootError {
    Missing {
        path: PathBuf,
    },
    NotADirectory {
        path: PathBuf,
    },
    Denied {
        path: PathBuf,
    },
    NotUtf8 {
        path: PathBuf,
    },
    NoTarget {
        path: PathBuf,
    },
    /// Another user could change it at any time.
    NotOurs {
        path: PathBuf,
    },
    Io {
        path: PathBuf,
        source: io::Error,
    },
}

impl RootError {
    pub fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match Fault::of(&source) {
            Fault::Missing => Self::Missing { path },
            Fault::NotFolder => Self::NotADirectory { path },
            Fault::Denied => Self::Denied { path },
            Fault::LinkOut | Fault::LinkLoop | Fault::TooLong | Fault::ReadOnly | Fault::Full | Fault::Other => {
                Self::Io { path, source }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_marker_decides() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let deep = top.join("repo/sub/deep");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(find_workspace(&deep), deep);

        fs::create_dir(top.join("repo/.git")).unwrap();
        assert_eq!(find_workspace(&deep), top.join("repo"));
        fs::write(top.join("repo/sub/.git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(find_workspace(&deep), top.join("repo/sub"));

        // A file or a link of that name is not a store.
        fs::write(top.join("repo/sub/.readproof"), "").unwrap();
        std::os::unix::fs::symlink("repo", top.join(".readproof")).unwrap();
        assert_eq!(find_workspace(&deep), top.join("repo/sub"));

        // A store wins over a nearer `.git`.
        fs::create_dir(top.join("repo/.readproof")).unwrap();
        assert_eq!(find_workspace(&deep), top.join("repo"));
        fs::create_dir(deep.join(".readproof")).unwrap();
        assert_eq!(find_workspace(&deep), deep);

        // Only root can test this: a store of another user does not count.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(deep.join(".readproof"), Some(12345), None).unwrap();
            assert_eq!(find_workspace(&deep), top.join("repo"));
        }
    }

    #[test]
    fn only_existing_directories_open() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(temp.path(), temp.path().join("link")).unwrap();
        let kind = |path: &Path| Root::open(path).map(|root| root.path().to_path_buf());
        let canonical = temp.path().canonicalize().unwrap();
        assert_eq!(kind(temp.path()).unwrap(), canonical);
        assert_eq!(kind(&temp.path().join("link")).unwrap(), canonical);
        assert!(matches!(Root::open(&file), Err(RootError::NotADirectory { .. })));
        assert!(matches!(kind(&temp.path().join("none")), Err(RootError::Missing { path }) if path.ends_with("none")));
    }

    #[test]
    fn names_that_are_no_text_are_refused() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let temp = tempfile::tempdir().unwrap();
        let odd = temp.path().join(OsStr::from_bytes(b"odd\xff"));
        fs::create_dir(&odd).unwrap();
        assert!(matches!(Root::open(&odd), Err(RootError::NotUtf8 { .. })));
    }

    #[test]
    fn a_file_of_the_person_is_found_where_it_really_is() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("home")).unwrap();
        fs::create_dir_all(top.join("dotfiles/app")).unwrap();
        fs::write(top.join("dotfiles/app/s.json"), "{}").unwrap();
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, top.join(name)).unwrap();
        let around = |name: &str| {
            let (root, file) = Root::around(&top.join(name))?;
            Ok((root.path().to_path_buf(), file))
        };
        let at = |folder: &str, file: &str| (top.join(folder), top.join(file).to_str().unwrap().to_owned());
        let is = |found: Result<_, RootError>, expected| assert_eq!(found.unwrap(), expected);

        is(around("dotfiles/app/s.json"), at("dotfiles/app", "dotfiles/app/s.json"));
        is(around("home/.app/deep/s.json"), at("home", "home/.app/deep/s.json"));
        link(top.join("dotfiles/app/s.json").to_str().unwrap(), "home/absolute");
        link("../dotfiles/app", "home/folder");
        link("../dotfiles/none", "home/nowhere");
        is(around("home/absolute"), at("dotfiles/app", "dotfiles/app/s.json"));
        is(around("home/folder/s.json"), at("dotfiles/app", "dotfiles/app/s.json"));
        is(around("home/folder/new.json"), at("dotfiles/app", "dotfiles/app/new.json"));
        assert!(matches!(around("home/nowhere"), Err(RootError::NoTarget { .. })));
        // Another's file counts when a link leads to it; without one, permissions decide.
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(top.join("dotfiles/app/s.json"), Some(12345), None).unwrap();
            assert!(matches!(around("home/absolute"), Err(RootError::NotOurs { .. })));
            is(around("dotfiles/app/s.json"), at("dotfiles/app", "dotfiles/app/s.json"));
        }
    }

    #[test]
    fn only_a_file_that_can_be_run_is_a_program() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        assert!(!is_program(&file) && !is_program(temp.path()));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!is_program(&file));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_program(&file));
    }
}
