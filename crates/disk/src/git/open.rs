//! Opens the repository that a file belongs to: found as git finds it, every file checked before gix opens it, without the
//! environment, and only if git itself would use it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use gix::{Repository, odb::store::init::Slots, open::Permissions, sec};

use super::{
    Compare, GitError, GitSettings,
    look::{MALFORMED, Place, most},
    opened::{Before, Kept},
    settings::{self, RepositorySettings},
};
use crate::{locate::FileRef, root::Root};

/// A repository and the file in it that was asked about.
pub(super) struct Found<'a> {
    pub(super) repo: Repository,
    /// Where its files are.
    pub(super) place: Place,
    /// The object folders, the repository's own first.
    pub(super) databases: Vec<PathBuf>,
    /// The root of the work tree, links resolved.
    pub(super) work_tree: PathBuf,
    /// The file's name in the repository.
    pub(super) name: String,
    /// The file's name in the workspace.
    pub(super) key: String,
    /// The workspace, as far as it may be used.
    pub(super) root: Root,
    /// Whether it was open already.
    pub(super) kept: bool,
    /// Whether the caller cancelled.
    pub(super) cancelled: &'a dyn Fn() -> bool,
}

/// The innermost repository around a file.
pub(super) fn find<'a>(root: &Root, file: &FileRef, ask: &Compare<'a>) -> Result<Found<'a>, GitError> {
    let options = || options(ask.settings, ask.max_bytes);
    find_with(root, file, options, Some((ask.settings, ask.settings_files)), ask.cancelled)
}

/// A repository that was opened with `settings` may be kept open; `None` opens a new one.
fn find_with<'a>(
    root: &Root,
    file: &FileRef,
    options: impl Fn() -> gix::open::Options,
    settings: Option<(GitSettings, &[PathBuf])>,
    cancelled: &'a dyn Fn() -> bool,
) -> Result<Found<'a>, GitError> {
    let (key, path) = (file.name().to_owned(), PathBuf::from(file.absolute()));
    if key == "." {
        return Err(GitError::Folder { name: key });
    }
    let git = nearest(&path, &key)?;
    let mut place = Place::new(root, &key, &git);
    let kept = settings.and_then(|(settings, _)| root.repositories.get(&git, settings));
    let is_kept = kept.is_some();
    let (Kept { repo, databases }, before) = match kept {
        // Its object folder may have become a link since.
        Some(kept) => {
            place.folder(&place.common.join("objects"))?;
            (kept, None)
        }
        None => {
            locate(root, &mut place)?;
            let databases = look(&place)?;
            let before = settings.and_then(|(all, files)| Some((all, Before::of(&git, all, files, &databases)?)));
            (Kept { repo: open(&place, &databases, options())?, databases }, before)
        }
    };
    let Some(work_tree) = repo.workdir() else { return Err(GitError::Bare { name: key }) };
    // Nearly always `.git` is a folder beside the files, whose path is known to have no links.
    let plain = git.parent() == Some(work_tree)
        && (repo.git_dir(), repo.common_dir()) == (&git, &git)
        && fs::symlink_metadata(&git).is_ok_and(|found| found.is_dir());
    let work_tree = if plain { Some(work_tree.to_path_buf()) } else { fs::canonicalize(work_tree).ok() };
    let Some(work_tree) = work_tree else { return Err(GitError::Bare { name: key }) };
    let name = path.strip_prefix(&work_tree).ok().and_then(Path::to_str).map(str::to_owned);
    let Some(name) = name else { return Err(GitError::NoRepository { name: key }) };
    if !plain && root.holds(&git) && !root.holds(&work_tree) {
        return Err(place.setting_leads_out("the work tree (`core.worktree`)"));
    }
    if let Some((settings, before)) = before.filter(|_| plain) {
        root.repositories.keep(&git, settings, before, &repo, &databases);
    }
    let mut repo = repo;
    // A pack on disk needs no object from outside it; looking for one would open an unchecked file.
    repo.objects.max_recursion_depth = 0;
    Ok(Found { repo, place, databases, work_tree, name, key, root: root.clone(), kept: is_kept, cancelled })
}

/// Finds the files of a repository: `.git` may be a file or a link that leads elsewhere.
pub(super) fn locate(root: &Root, place: &mut Place) -> Result<(), GitError> {
    const NOWHERE: &str = "it leads nowhere";
    let git = place.git.clone();
    let found = fs::symlink_metadata(&git).map_err(|_| place.broken("`.git`", NOWHERE))?;
    if !found.is_dir() {
        // Whether it may lead out is decided below.
        let real = fs::canonicalize(&git).map_err(|_| place.broken("`.git`", NOWHERE))?;
        place.private.clone_from(&real);
        if real.is_file() {
            let line = place.line(&real)?.unwrap_or_default();
            let to = line.strip_prefix("gitdir:").map(str::trim_start).filter(|to| !to.is_empty());
            let to = to.ok_or_else(|| place.broken("`.git`", "it is a file that names no repository"))?;
            let folder = git.parent().unwrap_or(&git).join(to);
            place.private = fs::canonicalize(folder).map_err(|_| place.broken("`.git`", NOWHERE))?;
        }
    }
    place.common.clone_from(&place.private);
    if let Some(line) = place.line(&place.private.join("commondir"))? {
        let common = fs::canonicalize(place.private.join(line));
        place.common = common.map_err(|_| place.broken("`.git/commondir`", NOWHERE))?;
    }
    let settings = settings::look(place)?;
    if root.holds(&git) && !is_linked(root, place, &settings)? {
        return Err(GitError::NotLinked { name: place.key.clone() });
    }
    Ok(())
}

/// Whether a `.git` inside the workspace holds the repository, or the repository elsewhere names this work tree. Otherwise a
/// file that an agent can write would show it any repository of the user.
fn is_linked(root: &Root, place: &Place, settings: &RepositorySettings) -> Result<bool, GitError> {
    let Place { git, private, common, .. } = place;
    if root.holds(private) && root.holds(common) {
        return Ok(true);
    }
    let real = |path: &Path| fs::canonicalize(path).ok();
    // A linked work tree: a file in the repository names it.
    let back = place.line(&private.join("gitdir"))?.and_then(|line| real(&private.join(line)));
    let above = private.parent().and_then(Path::parent);
    if back.is_some() && back == real(git) && above == Some(common) {
        return Ok(true);
    }
    // A submodule: its configuration names the work tree.
    let named = settings.work_tree.as_ref().and_then(|path| real(&private.join(path)));
    Ok(private == common && named.is_some() && named == git.parent().and_then(real))
}

/// Checks everything that gix opens by itself, and returns the object folders.
fn look(place: &Place) -> Result<Vec<PathBuf>, GitError> {
    let Place { private, common, .. } = place;
    place.file(&private.join("HEAD"), most::LINE)?;
    for folder in ["refs", "refs/replace", "info", "objects", "objects/info", "objects/pack"] {
        place.folder(&common.join(folder))?;
    }
    for folder in ["refs", "refs/replace"] {
        place.folder(&private.join(folder))?;
    }
    let files = [("shallow", most::SHALLOW), ("info/attributes", most::ATTRIBUTES), ("info/grafts", most::SHALLOW)];
    for (file, max) in files {
        place.file(&common.join(file), max)?;
    }
    look_at_packed(place, &common.join("packed-refs"))?;
    for folder in [private, common] {
        place.files_below(&folder.join("refs/replace"), most::REPLACED, most::LINE)?;
    }
    databases(place)
}

/// `packed-refs`. gix sorts an unsorted one in memory.
fn look_at_packed(place: &Place, path: &Path) -> Result<(), GitError> {
    use std::io::Read;
    let Some((file, stat)) = place.open(path, most::PACKED_REFS)? else { return Ok(()) };
    let mut first = Vec::new();
    if stat.len <= most::UNSORTED_REFS || file.take(most::LINE).read_to_end(&mut first).is_err() {
        return Ok(());
    }
    let header = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_sorted = header.starts_with(b"#") && header.split(|byte| *byte == b' ').any(|word| word == b"sorted");
    if is_sorted {
        Ok(())
    } else {
        Err(place.too_many(path, (stat.len, most::UNSORTED_REFS), "bytes that are not sorted"))
    }
}

/// The object folders: the repository's own, and its alternates.
fn databases(place: &Place) -> Result<Vec<PathBuf>, GitError> {
    let top = place.common.join("objects");
    let (mut folders, mut found) = (Vec::from([top.clone()]), Vec::<PathBuf>::new());
    let borrowed = top.join("info/alternates");
    while let Some(folder) = folders.pop() {
        // A missing alternate costs only its objects.
        let Ok(real) = fs::canonicalize(&folder) else { continue };
        if !place.holds(&real) {
            return Err(place.leads_out(&borrowed));
        }
        if found.contains(&real) {
            continue;
        }
        for below in ["info", "pack"] {
            place.folder(&real.join(below))?;
        }
        place.packs(&real.join("pack"))?;
        let path = real.join("info/alternates");
        for line in place.read(&path, most::ALTERNATES)?.unwrap_or_default().split(|byte| *byte == b'\n') {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            // A quoted name may continue on the next line.
            let line = std::str::from_utf8(line).ok().filter(|line| !line.starts_with('"'));
            folders.push(top.join(line.ok_or_else(|| place.malformed(&path))?));
            let count = (folders.len() + found.len()) as u64;
            if count > most::DATABASES {
                return Err(place.too_many(&path, (count, most::DATABASES), "databases of objects"));
            }
        }
        found.push(real);
    }
    Ok(found)
}

fn open(place: &Place, databases: &[PathBuf], options: gix::open::Options) -> Result<Repository, GitError> {
    let options = options.object_store_slots(slots(databases));
    let repo = gix::open_opts(&place.git, options).map_err(|_| place.broken("the configuration", MALFORMED))?;
    if repo.git_dir_trust() != sec::Trust::Full {
        return Err(GitError::NotOwned { name: place.key.clone() });
    }
    if repo.config_snapshot().string("attr.tree").is_some() {
        return Err(place.unsupported("attributes of another tree (attr.tree)"));
    }
    Ok(repo)
}

/// Slots for the existing packs and some that may be added meanwhile. By default gix scans the packs once to count them and
/// once to use them; with alternates it has to.
fn slots(databases: &[PathBuf]) -> Slots {
    let [objects] = databases else { return Slots::default() };
    let count = fs::read_dir(objects.join("pack")).map(Iterator::count).ok();
    match count.and_then(|count| u16::try_from(count + SPARE_SLOTS).ok()) {
        Some(room) => Slots::Given(room),
        None => Slots::default(),
    }
}

/// Slots for packs that are added while a repository is open.
const SPARE_SLOTS: usize = 32;

impl Found<'_> {
    /// The error for what gix could not read. gix's message is left out: it quotes the file.
    pub(super) fn broken(&self, what: &'static str) -> GitError {
        self.place.broken(what, MALFORMED)
    }

    /// Checks between two steps whether the caller cancelled.
    pub(super) fn go_on(&self) -> Result<(), GitError> {
        if (self.cancelled)() { Err(GitError::Cancelled { name: self.key.clone() }) } else { Ok(()) }
    }

    /// A boolean of the configuration.
    pub(super) fn flag(&self, key: &str, standard: bool) -> Result<bool, GitError> {
        let found = self.repo.config_snapshot().try_boolean(key);
        Ok(found.map_err(|_| self.broken("the configuration"))?.unwrap_or(standard))
    }

    /// Whether it is a sparse checkout.
    pub(super) fn is_sparse_checkout(&self) -> Result<bool, GitError> {
        self.flag("core.sparseCheckout", false)
    }
}

/// The `.git` of the innermost repository: searched upwards as git does, never on another file system.
pub(super) fn nearest(path: &Path, key: &str) -> Result<PathBuf, GitError> {
    let none = || GitError::NoRepository { name: key.to_owned() };
    let mut device = None;
    for folder in path.ancestors().skip(1) {
        match (fs::metadata(folder), device) {
            // Git stays on one file system.
            (Ok(found), Some(device)) if found.dev() != device => break,
            (Ok(found), _) if found.is_dir() => device = Some(found.dev()),
            // The folder of a deleted file may be gone as well.
            (Ok(_) | Err(_), _) => continue,
        }
        let git = folder.join(".git");
        match fs::metadata(&git) {
            // A `.git` file that leads nowhere ends the search; a folder that is not a repository does not.
            Ok(found) if found.is_file() || is_git_folder(&git) => return Ok(git),
            Ok(_) | Err(_) => {}
        }
        if is_git_folder(folder) {
            return Err(GitError::Bare { name: key.to_owned() });
        }
    }
    Err(none())
}

/// Git's test for the folder of a repository.
fn is_git_folder(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("HEAD")).is_ok()
        && folder.join("refs").is_dir()
        && (folder.join("objects").is_dir() || folder.join("commondir").is_file())
}

/// No environment but the home folder, for the user's settings.
fn options(settings: GitSettings, max_bytes: u64) -> gix::open::Options {
    let mut permissions = Permissions::isolated();
    permissions.config.includes = true;
    if settings == GitSettings::All {
        let config = &mut permissions.config;
        (config.system, config.git, config.user) = (true, true, true);
        (permissions.attributes.system, permissions.attributes.git) = (true, true);
        (permissions.env.home, permissions.env.xdg_config_home) = (sec::Permission::Allow, sec::Permission::Allow);
    }
    // A delta needs its base, the result and its instructions at once. The repository's settings must not change these.
    let object = max_bytes.saturating_mul(3).max(most::OBJECT);
    let overrides = [
        format!("gitoxide.objects.allocLimit={object}"),
        "gitoxide.objects.replaceRefBase=refs/replace/".to_owned(),
        format!("core.deltaBaseCacheLimit={DELTA_CACHE}"),
    ];
    let options = gix::open::Options::default().permissions(permissions).config_overrides(overrides);
    options.open_path_as_is(true).lossy_config(true)
}

/// The size of the cache of delta bases.
const DELTA_CACHE: u32 = 16 << 20;

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
        // A repository cannot declare itself safe.
        fs::write(temp.path().join(".git/config"), "[core]\n\tbare = false\n[safe]\n\tdirectory = *\n").unwrap();
        fs::write(temp.path().join("a.txt"), "").unwrap();
        let root = Root::open(temp.path()).unwrap();
        let file = root.locate(&[format!("{}/a.txt", root.path().display())]).unwrap();
        let ours = || options(GitSettings::Repository, 1 << 20);
        assert_eq!(
            find_with(&root, &file, ours, None, &|| false).unwrap_or_else(|error| panic!("{error}")).name,
            "a.txt"
        );
        // Treated like another user's.
        let theirs = || ours().with(sec::Trust::Reduced);
        assert!(matches!(find_with(&root, &file, theirs, None, &|| false), Err(GitError::NotOwned { .. })));
        let safe = |folder: &str| {
            let system = temp.path().join("system");
            fs::write(&system, format!("[safe]\n\tdirectory = {folder}\n")).unwrap();
            let mut permissions = Permissions::isolated();
            permissions.config.system = true;
            theirs().permissions(permissions).system_config_path(system)
        };
        assert!(matches!(
            find_with(&root, &file, || safe("/elsewhere"), None, &|| false),
            Err(GitError::NotOwned { .. })
        ));
        assert!(find_with(&root, &file, || safe(root.path().to_str().unwrap()), None, &|| false).is_ok());
        assert!(find_with(&root, &file, || safe("*"), None, &|| false).is_ok());
    }
}
