//! The repository that a file belongs to: found as git finds it, opened without a word from the environment, and used only
//! where git itself would use it.

use std::{
    fmt::Display,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use gix::{Repository, odb::store::init::Slots, open::Permissions, sec};

use super::{Compare, GitError, GitSettings, opened::Before};
use crate::{locate::FileRef, root::Root};

/// So much of what gix says is told on.
const MOST_CHARS: usize = 300;

/// A repository and the file in it that was asked about.
pub(super) struct Found {
    pub(super) repo: Repository,
    /// Where the working files are, free of links.
    pub(super) work_tree: PathBuf,
    /// The file's name in the repository.
    pub(super) name: String,
    /// The file's name in the workspace.
    pub(super) key: String,
    /// Whether it was open already.
    pub(super) kept: bool,
}

/// The innermost repository around a file.
pub(super) fn find(root: &Root, file: &FileRef, ask: &Compare<'_>) -> Result<Found, GitError> {
    find_with(root, file, options(ask.settings), Some((ask.settings, ask.settings_files)))
}

/// Kept open is what was opened with these settings.
fn find_with(
    root: &Root,
    file: &FileRef,
    options: gix::open::Options,
    settings: Option<(GitSettings, &[PathBuf])>,
) -> Result<Found, GitError> {
    let (key, path) = (file.name().to_owned(), PathBuf::from(file.absolute()));
    if key == "." {
        return Err(GitError::Folder { name: key });
    }
    let git = nearest(&path, &key)?;
    let asked = Asked { key: &key, path: &path, git: &git };
    check_files(&asked)?;
    let kept = settings.and_then(|(settings, _)| root.repositories.get(&git, settings));
    let is_kept = kept.is_some();
    let (repo, before) = match kept {
        Some(repo) => (repo, None),
        None => {
            let before = settings.and_then(|(all, files)| Some((all, Before::of(&git, all, files)?)));
            (open(&asked, options)?, before)
        }
    };
    let Some(work_tree) = repo.workdir() else { return Err(GitError::Bare { name: key }) };
    // A plain `.git` beside the files, as nearly always: where it lies is known to be free of links.
    let plain = git.parent() == Some(work_tree)
        && (repo.git_dir(), repo.common_dir()) == (&git, &git)
        && fs::symlink_metadata(&git).is_ok_and(|found| found.is_dir());
    let work_tree = if plain { Some(work_tree.to_path_buf()) } else { fs::canonicalize(work_tree).ok() };
    let Some(work_tree) = work_tree else { return Err(GitError::Bare { name: key }) };
    if !plain && root.holds(&git) && !is_linked(root, &git, &repo, &work_tree) {
        return Err(GitError::NotLinked { name: key });
    }
    if let Some((settings, before)) = before.filter(|_| plain) {
        root.repositories.keep(&git, settings, before, &repo);
    }
    let name = path.strip_prefix(&work_tree).ok().and_then(Path::to_str).map(str::to_owned);
    let Some(name) = name else { return Err(GitError::NoRepository { name: key }) };
    Ok(Found { repo, work_tree, name, key, kept: is_kept })
}

fn open(asked: &Asked<'_>, options: gix::open::Options) -> Result<Repository, GitError> {
    let options = options.object_store_slots(slots(asked.git));
    let repo = gix::open_opts(asked.git, options).map_err(|error| asked.broken("the configuration", &error))?;
    if repo.git_dir_trust() != sec::Trust::Full {
        return Err(GitError::NotOwned { name: asked.key.to_owned() });
    }
    check_format(asked, &repo)?;
    Ok(repo)
}

/// Room for as many packs as there are, and for some that come meanwhile. Left to itself gix looks through the packs once to
/// make room and once to use them; where packs lie elsewhere it must.
fn slots(git: &Path) -> Slots {
    let objects = git.join("objects");
    let count = fs::read_dir(objects.join("pack")).map(Iterator::count).ok();
    let apart = fs::symlink_metadata(objects.join("info/alternates")).is_ok();
    match count.and_then(|count| u16::try_from(count + SPARE_SLOTS).ok()).filter(|_| !apart) {
        Some(room) => Slots::Given(room),
        None => Slots::default(),
    }
}

/// Room for packs that come while a repository is open.
const SPARE_SLOTS: usize = 32;

/// What an error has to say.
struct Asked<'a> {
    key: &'a str,
    path: &'a Path,
    git: &'a Path,
}

impl Asked<'_> {
    fn broken(&self, what: &'static str, why: &impl Display) -> GitError {
        let folder = self.git.parent().or(self.path.parent()).unwrap_or(self.path);
        GitError::Broken { name: self.key.to_owned(), what, why: without_path(why, folder) }
    }

    fn unsupported(&self, what: impl Into<String>) -> GitError {
        GitError::Unsupported { name: self.key.to_owned(), what: what.into() }
    }
}

impl Found {
    pub(super) fn broken(&self, what: &'static str, why: &impl Display) -> GitError {
        GitError::Broken { name: self.key.clone(), what, why: without_path(why, &self.work_tree) }
    }

    /// A yes or no of the configuration.
    pub(super) fn flag(&self, key: &str, standard: bool) -> Result<bool, GitError> {
        let found = self.repo.config_snapshot().try_boolean(key);
        Ok(found.map_err(|error| self.broken("the configuration", &error))?.unwrap_or(standard))
    }

    /// Whether only some of the files are meant to be there.
    pub(super) fn is_sparse_checkout(&self) -> Result<bool, GitError> {
        self.flag("core.sparseCheckout", false)
    }
}

/// In one line, with its causes. Where the workspace lies is nobody's business.
fn without_path(why: &impl Display, folder: &Path) -> String {
    let text = format!("{why:#}").replace(&*folder.to_string_lossy(), ".");
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_CHARS).collect()
}

/// The `.git` of the innermost repository: from folder to folder as git goes, and never onto another file system.
fn nearest(path: &Path, key: &str) -> Result<PathBuf, GitError> {
    let none = || GitError::NoRepository { name: key.to_owned() };
    let mut device = None;
    for folder in path.ancestors().skip(1) {
        match (fs::metadata(folder), device) {
            // Git stays on one file system.
            (Ok(found), Some(device)) if found.dev() != device => break,
            (Ok(found), _) if found.is_dir() => device = Some(found.dev()),
            // The folder of a deleted file may be gone, too.
            (Ok(_) | Err(_), _) => continue,
        }
        let git = folder.join(".git");
        match fs::metadata(&git) {
            // A file that leads nowhere ends the search, a folder that is none of git's does not.
            Ok(found) if found.is_file() || is_git_folder(&git) => return Ok(git),
            Ok(_) | Err(_) => {}
        }
        if is_git_folder(folder) {
            return Err(GitError::Bare { name: key.to_owned() });
        }
    }
    Err(none())
}

/// By git's own test.
fn is_git_folder(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("HEAD")).is_ok()
        && folder.join("refs").is_dir()
        && (folder.join("objects").is_dir() || folder.join("commondir").is_file())
}

/// What is opened without a question must be a file: opening a pipe would wait for ever.
fn check_files(asked: &Asked<'_>) -> Result<(), GitError> {
    let git = asked.git;
    let in_git = ["HEAD", "config", "config.worktree", "index", "commondir", "gitdir", "packed-refs", "shallow"];
    let in_git = in_git.into_iter().chain(["info/attributes", "objects/info/alternates"]).map(|name| git.join(name));
    for file in in_git {
        match fs::metadata(&file) {
            Ok(found) if found.is_file() || found.is_dir() => {}
            Ok(_) => return Err(asked.broken("a file", &"it is no regular file")),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            // A link in a circle, or to where one may not look: gix will say what is wrong with it.
            Err(_) => {}
        }
    }
    Ok(())
}

/// No environment but the home folder, in which the person's settings are.
fn options(settings: GitSettings) -> gix::open::Options {
    let mut permissions = Permissions::isolated();
    permissions.config.includes = true;
    if settings == GitSettings::All {
        let config = &mut permissions.config;
        (config.system, config.git, config.user) = (true, true, true);
        (permissions.attributes.system, permissions.attributes.git) = (true, true);
        (permissions.env.home, permissions.env.xdg_config_home) = (sec::Permission::Allow, sec::Permission::Allow);
    }
    gix::open::Options::default().permissions(permissions).open_path_as_is(true).lossy_config(true)
}

/// Refuses what gix would misread.
fn check_format(asked: &Asked<'_>, repo: &Repository) -> Result<(), GitError> {
    let config = repo.config_snapshot();
    if config.string("attr.tree").is_some() {
        return Err(asked.unsupported("attributes of another tree (attr.tree)"));
    }
    let file = config.plumbing();
    for section in file.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let value = section.value(&name).map(|value| value.to_string().to_lowercase()).unwrap_or_default();
            let known = match name.to_lowercase().as_str() {
                "noop" | "noop-v1" | "partialclone" | "worktreeconfig" | "preciousobjects" | "relativeworktrees" => {
                    true
                }
                "objectformat" => matches!(value.as_str(), "sha1" | "sha256"),
                "refstorage" => value == "files",
                _ => false,
            };
            if !known {
                return Err(asked.unsupported(format!("the extension {}", printable_pair(&name, &value))));
            }
        }
    }
    Ok(())
}

fn printable_pair(name: &str, value: &str) -> String {
    let pair: String = format!("{name}={value}").chars().filter(|c| !c.is_control()).take(80).collect();
    pair
}

/// Whether a `.git` inside the workspace holds the repository, or is one that a repository elsewhere calls its own. Without
/// that, a file that an agent can write would show it any repository of the person's.
fn is_linked(root: &Root, git: &Path, repo: &Repository, work_tree: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let (Some(private), Some(common)) = (real(repo.git_dir()), real(repo.common_dir())) else { return false };
    if root.holds(&private) && root.holds(&common) {
        return true;
    }
    // A linked work tree: the repository has the way back in a file.
    let back = fs::read_to_string(private.join("gitdir")).ok();
    let back = back.and_then(|text| real(&private.join(text.trim_end_matches(['\r', '\n']))));
    let above = private.parent().and_then(Path::parent);
    if back.is_some() && back == real(git) && above == Some(&*common) {
        return true;
    }
    // A submodule: its configuration names the work tree.
    let config = repo.config_snapshot();
    let named = config.string("core.worktree").and_then(|path| real(&private.join(path.to_string())));
    private == common
        && named.as_deref() == Some(work_tree)
        && git.parent().and_then(real).as_deref() == Some(work_tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_repository_that_git_would_trust_is_used() {
        let temp = tempfile::tempdir().unwrap();
        for folder in [".git/objects", ".git/refs"] {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        fs::write(temp.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        // Its own word for itself does not count.
        fs::write(temp.path().join(".git/config"), "[core]\n\tbare = false\n[safe]\n\tdirectory = *\n").unwrap();
        fs::write(temp.path().join("a.txt"), "").unwrap();
        let root = Root::open(temp.path()).unwrap();
        let file = root.locate(&[format!("{}/a.txt", root.path().display())]).unwrap();
        let ours = || options(GitSettings::Repository);
        assert_eq!(find_with(&root, &file, ours(), None).unwrap_or_else(|error| panic!("{error}")).name, "a.txt");
        // As if it were another user's.
        let theirs = || ours().with(sec::Trust::Reduced);
        assert!(matches!(find_with(&root, &file, theirs(), None), Err(GitError::NotOwned { .. })));
        let safe = |folder: &str| {
            let system = temp.path().join("system");
            fs::write(&system, format!("[safe]\n\tdirectory = {folder}\n")).unwrap();
            let mut permissions = Permissions::isolated();
            permissions.config.system = true;
            theirs().permissions(permissions).system_config_path(system)
        };
        assert!(matches!(find_with(&root, &file, safe("/elsewhere"), None), Err(GitError::NotOwned { .. })));
        assert!(find_with(&root, &file, safe(root.path().to_str().unwrap()), None).is_ok());
        assert!(find_with(&root, &file, safe("*"), None).is_ok());
    }
}
