//! Repositories of every kind: used as git would use them, or refused with an error that says why.

use readproof_words::{Surface, notice::notice};
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::repo::{Head, Index, Repo, WorkTree, ask, done, engine_at, git_in, plain};

const TEXT: &str = "one\ntwo\n";

fn code(workspace: &Path, name: &str) -> &'static str {
    ask(&engine_at(workspace), name, Head, None).map(|found| found.text).unwrap_err().code()
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repo = Repo::unborn();
    repo.write("a.txt", TEXT);
    let found = repo.diff("a.txt", Head);
    assert_eq!((found.status.as_str(), found.commit), ("untracked", None));
    assert!(notice(&found.notices[0]).contains("no commit yet"), "{:?}", found.notices);
    assert_eq!(found.text.matches("\n+").count(), 3);
    repo.git(&["add", "a.txt"]);
    assert_eq!(repo.diff("a.txt", Head).status.as_str(), "added");
    assert_eq!(repo.diff("a.txt", Index).status.as_str(), "unchanged");
}

#[test]
fn a_detached_head_is_a_commit_like_any_other() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let first = repo.git(&["rev-parse", "HEAD"]);
    repo.write("a.txt", "one\n");
    repo.commit();
    repo.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    repo.write("a.txt", "other\n");
    repo.agrees("a.txt", "modified");
    assert_eq!(repo.diff("a.txt", Head).commit.as_deref(), Some(first.trim()));
}

#[test]
fn no_repository() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("a.txt"), TEXT).unwrap();
    let path = temp.path().canonicalize().unwrap();
    let error = ask(&engine_at(&path), "a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "NO_REPOSITORY");
    assert!(Surface::Cli.error(&error).contains("`git init`"), "{error}");
    // Nothing of git's is needed beside other text.
    assert_eq!(ask(&engine_at(&path), "a.txt", WorkTree, Some("one\n")).unwrap().removed, 1);
    // A folder of that name is not enough.
    fs::create_dir(path.join(".git")).unwrap();
    assert_eq!(code(&path, "a.txt"), "NO_REPOSITORY");
}

#[test]
fn the_innermost_repository_counts() {
    let repo = Repo::with(&[("a.txt", TEXT), ("in/a.txt", TEXT)]);
    // As in git: a folder without HEAD is not a repository, and the search continues above it.
    fs::create_dir(repo.path.join("in/.git")).unwrap();
    repo.agrees("in/a.txt", "unchanged");
    fs::remove_dir(repo.path.join("in/.git")).unwrap();
    let inner = repo.path.join("in");
    done(&git_in(&inner).args(["init", "-q"]).output().unwrap());
    let found = repo.diff("in/a.txt", Head);
    assert_eq!((found.path.as_str(), found.name.as_str(), found.status.as_str()), ("in/a.txt", "a.txt", "untracked"));
    // The workspace may be a folder of the repository.
    repo.write("sub/b.txt", TEXT);
    repo.commit();
    repo.write("sub/b.txt", "one\n");
    let found = ask(&engine_at(&repo.path.join("sub")), "b.txt", Head, None).unwrap();
    assert_eq!((found.path.as_str(), found.name.as_str(), found.removed), ("b.txt", "sub/b.txt", 1));
    assert_eq!(plain(&found.text), plain(&repo.gits(&["HEAD"], "sub/b.txt")));
}

#[test]
fn a_bare_repository_has_no_files() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let bare = repo.beside("bare.git");
    done(&git_in(&repo.path).args(["clone", "-q", "--bare", ".", bare.to_str().unwrap()]).output().unwrap());
    fs::write(bare.join("a.txt"), TEXT).unwrap();
    assert_eq!(code(&bare, "a.txt"), "BARE_REPOSITORY");
    assert_eq!(code(&bare, "config"), "BARE_REPOSITORY");
    repo.set("core.bare", "true");
    assert_eq!(repo.code("a.txt", Head), "BARE_REPOSITORY");
}

#[test]
fn a_linked_work_tree() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let side = Repo::at(linked.clone(), tempfile::tempdir().unwrap());
    side.write("a.txt", "side\n");
    side.commit();
    side.write("a.txt", "side\nmore\n");
    side.agrees("a.txt", "modified");
    assert_ne!(side.diff("a.txt", Head).commit, repo.diff("a.txt", Head).commit);
    assert_eq!(repo.diff("a.txt", Head).status.as_str(), "unchanged");
    // A `.git` file that points to a repository which does not list it would reveal that repository to whoever wrote
    // the file.
    let stranger = repo.beside("stranger");
    fs::create_dir(&stranger).unwrap();
    fs::write(stranger.join("a.txt"), "x\n").unwrap();
    for target in [repo.path.join(".git"), repo.path.join(".git/worktrees/linked")] {
        fs::write(stranger.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        assert_eq!(code(&stranger, "a.txt"), "NOT_LINKED");
    }
    fs::remove_file(stranger.join(".git")).unwrap();
    fs::create_dir_all(stranger.join(".git/refs")).unwrap();
    fs::create_dir_all(stranger.join(".git/objects")).unwrap();
    fs::write(stranger.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(stranger.join(".git/commondir"), repo.path.join(".git").to_str().unwrap()).unwrap();
    assert_eq!(code(&stranger, "a.txt"), "NOT_LINKED");
    fs::remove_dir_all(stranger.join(".git")).unwrap();
    std::os::unix::fs::symlink(repo.path.join(".git"), stranger.join(".git")).unwrap();
    assert_eq!(code(&stranger, "a.txt"), "NOT_LINKED");
    // A dangling one.
    fs::remove_file(stranger.join(".git")).unwrap();
    fs::write(stranger.join(".git"), "gitdir: ../nowhere\n").unwrap();
    assert_eq!(code(&stranger, "a.txt"), "BAD_REPOSITORY");
}

#[test]
fn a_work_tree_elsewhere() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let other = repo.beside("other");
    fs::create_dir(&other).unwrap();
    repo.set("core.worktree", other.to_str().unwrap());
    assert_eq!(repo.code("a.txt", Head), "NO_REPOSITORY");
}

#[test]
fn a_sparse_checkout() {
    for sparse_index in [false, true] {
        let repo = Repo::with(&[("in/a.txt", TEXT), ("out/b.txt", TEXT), ("out/deep/c.txt", TEXT), ("top", TEXT)]);
        let mut set = vec!["sparse-checkout", "set", "--cone", "in"];
        if sparse_index {
            set.insert(3, "--sparse-index");
        }
        repo.git(&set);
        assert!(!repo.path.join("out").exists());
        for name in ["out/b.txt", "out/deep/c.txt"] {
            // A file that is not checked out is not deleted.
            let found = repo.diff(name, Head);
            assert_eq!(found.status.as_str(), "unchanged", "{name}, {sparse_index}");
            assert!(notice(&found.notices[0]).contains("skip-worktree"), "{:?}", found.notices);
            assert_eq!(repo.diff(name, Index).status.as_str(), "unchanged");
            assert_eq!(repo.gits(&["HEAD"], name), "");
            let found = repo.ask(name, Head, Some("one\n")).unwrap();
            assert_eq!((found.status.as_str(), found.removed), ("modified", 1));
        }
        assert_eq!(repo.ask("out/none.txt", Head, None).unwrap_err().code(), "NOT_FOUND");
        repo.write("in/a.txt", "one\n");
        repo.agrees("in/a.txt", "modified");
        // A file that exists after all is read.
        repo.write("out/b.txt", "one\n");
        repo.agrees("out/b.txt", "modified");
    }
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.git(&["update-index", "--skip-worktree", "a.txt"]);
    repo.write("a.txt", "one\n");
    repo.agrees("a.txt", "unchanged");
}

#[test]
fn indexes_of_every_kind() {
    for args in [&["--split-index"][..], &["--index-version", "4"], &["--untracked-cache"]] {
        let repo = Repo::with(&[("a.txt", TEXT), ("b.txt", TEXT)]);
        repo.git(&[&["update-index"], args].concat());
        repo.write("b.txt", "two\n");
        repo.git(&["add", "b.txt"]);
        repo.write("a.txt", "one\n");
        repo.write("b.txt", "2\n");
        repo.agrees("a.txt", "modified");
        repo.agrees("b.txt", "modified");
    }
    let repo = Repo::with(&[("a.txt", TEXT)]);
    fs::remove_file(repo.path.join(".git/index")).unwrap();
    let found = repo.diff("a.txt", Head);
    assert_eq!(found.status.as_str(), "unchanged");
    assert_eq!(repo.diff("a.txt", Index).status.as_str(), "untracked");
    fs::write(repo.path.join(".git/index"), "nonsense").unwrap();
    assert_eq!(repo.code("a.txt", Head), "BAD_REPOSITORY");
}

#[test]
fn a_damaged_file_of_git_never_ends_in_a_panic() {
    let mut state = 11_u64;
    let mut roll = move |sides: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % sides
    };
    let repo = Repo::with(&[("a.txt", TEXT), ("d/b.txt", TEXT), ("d/c.txt", TEXT)]);
    repo.write("a.txt", "one\n");
    repo.git(&["repack", "-adq"]);
    repo.git(&["pack-refs", "--all"]);
    let pack = fs::read_dir(repo.path.join(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let pack: Vec<PathBuf> = pack.filter(|path| path.extension().is_some_and(|e| e == "idx" || e == "pack")).collect();
    let named = ["index", "HEAD", "config", "packed-refs"].map(|name| repo.path.join(".git").join(name));
    for path in named.iter().chain(&pack) {
        let whole = fs::read(path).unwrap();
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        for _ in 0..60 {
            let mut bytes = whole.clone();
            if roll(4) == 0 {
                bytes.truncate(roll(whole.len()));
            } else {
                for _ in 0..=roll(3) {
                    let at = roll(bytes.len());
                    bytes[at] = u8::try_from(roll(256)).unwrap();
                }
            }
            fs::write(path, &bytes).unwrap();
            for against in [Head, Index] {
                // An answer or an error, each with words.
                let said = repo
                    .ask("a.txt", against, None)
                    .map_or_else(|error| Surface::Cli.error(&error), |found| found.summary());
                assert!(!said.is_empty());
            }
        }
        fs::write(path, &whole).unwrap();
        repo.agrees("a.txt", "modified");
    }
}

fn made(args: &[&str]) -> Option<Repo> {
    let temp = tempfile::tempdir().unwrap();
    let path: PathBuf = temp.path().canonicalize().unwrap().join("w");
    let output = git_in(temp.path()).args(["init", "-q", "-b", "main"]).args(args).arg(&path).output().unwrap();
    // An older git does not know the option.
    output.status.success().then(|| {
        let repo = Repo::at(path, temp);
        repo.write("a.txt", TEXT);
        repo.commit();
        repo.write("a.txt", "one\n");
        repo
    })
}

#[test]
fn objects_may_be_named_by_sha_256() {
    let Some(repo) = made(&["--object-format=sha256"]) else { return };
    repo.agrees("a.txt", "modified");
    assert_eq!(repo.diff("a.txt", Head).commit.map(|id| id.len()), Some(64));
}

#[test]
fn what_cannot_be_read_is_said() {
    if let Some(repo) = made(&["--ref-format=reftable"]) {
        let error = repo.ask("a.txt", Head, None).unwrap_err();
        assert_eq!(error.code(), "UNSUPPORTED_REPOSITORY");
        assert!(Surface::Cli.error(&error).contains("refstorage=reftable"), "{error}");
    }
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let config = fs::read_to_string(repo.path.join(".git/config")).unwrap();
    let set = |text: &str| fs::write(repo.path.join(".git/config"), text).unwrap();
    set(&format!("{config}[extensions]\n\tfuture = 1\n"));
    assert_eq!(repo.code("a.txt", Head), "UNSUPPORTED_REPOSITORY");
    set(&config.replace("repositoryformatversion = 0", "repositoryformatversion = 9"));
    let error = repo.ask("a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "BAD_REPOSITORY");
    assert!(Surface::Cli.error(&error).contains("nsupported repository format version"), "{error}");
    set(&format!("{config}[attr]\n\ttree = HEAD\n"));
    assert_eq!(repo.code("a.txt", Head), "UNSUPPORTED_REPOSITORY");
    set("[core\n");
    assert_eq!(repo.code("a.txt", Head), "BAD_REPOSITORY");
}

#[test]
fn what_is_missing_or_damaged_is_said() {
    let object = |repo: &Repo, name: &str| {
        let id = repo.git(&["rev-parse", name]);
        let path = repo.path.join(format!(".git/objects/{}/{}", &id[..2], id[2..].trim()));
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        (path, id.trim().to_owned())
    };
    for name in ["HEAD", "HEAD^{tree}", "HEAD:a.txt"] {
        let repo = Repo::with(&[("a.txt", TEXT)]);
        repo.write("a.txt", "one\n");
        let (path, id) = object(&repo, name);
        fs::write(&path, "nonsense").unwrap();
        assert!(matches!(repo.code("a.txt", Head), "BAD_REPOSITORY" | "MISSING_OBJECT"), "{name}");
        fs::remove_file(path).unwrap();
        let error = repo.ask("a.txt", Head, None).unwrap_err();
        assert_eq!(error.code(), "MISSING_OBJECT", "{name}: {error}");
        assert!(Surface::Cli.error(&error).contains(&id), "{error}");
        assert!(!Surface::Cli.error(&error).contains(repo.path.to_str().unwrap()), "{error}");
    }
    let repo = Repo::with(&[("a.txt", TEXT)]);
    for head in ["nonsense", "ref: refs/heads/../../x", ""] {
        fs::write(repo.path.join(".git/HEAD"), head).unwrap();
        assert!(matches!(repo.code("a.txt", Head), "BAD_REPOSITORY" | "NO_REPOSITORY"), "{head}");
    }
    fs::write(repo.path.join(".git/HEAD"), format!("{}\n", "1".repeat(40))).unwrap();
    assert_eq!(repo.code("a.txt", Head), "MISSING_OBJECT");
    fs::remove_file(repo.path.join(".git/HEAD")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.path.join(".git/HEAD"), 0o600.into()).unwrap();
    assert_eq!(repo.code("a.txt", Head), "BAD_REPOSITORY");
}

#[test]
fn packed_shallow_borrowed() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("a.txt", "one\n");
    repo.commit();
    repo.git(&["gc", "-q"]);
    repo.write("a.txt", "1\n");
    repo.agrees("a.txt", "modified");
    let url = format!("file://{}", repo.path.display());
    let clone = |name: &str, args: &[&str]| {
        let path = repo.beside(name);
        let mut git = git_in(&repo.path);
        done(&git.args(["clone", "-q"]).args(args).args([url.as_str(), path.to_str().unwrap()]).output().unwrap());
        Repo::at(path, tempfile::tempdir().unwrap())
    };
    let shallow = clone("shallow", &["--depth=1"]);
    shallow.write("a.txt", "2\n");
    shallow.agrees("a.txt", "modified");
    // Borrowed objects must be in the workspace, too.
    let shared = clone("shared", &["--reference", repo.path.to_str().unwrap()]);
    shared.write("a.txt", "2\n");
    assert_eq!(shared.code("a.txt", Head), "LEADS_OUT");
    let found = ask(&engine_at(&repo.beside("")), "shared/a.txt", Head, None).unwrap();
    assert_eq!(plain(&found.text), plain(&shared.gits(&["HEAD"], "a.txt")));
    repo.set("uploadpack.allowFilter", "true");
    let partial = clone("partial", &["--filter=blob:none", "--no-checkout"]);
    let error = partial.ask("a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "MISSING_OBJECT");
    assert!(Surface::Cli.error(&error).contains("partial clone"), "{error}");
}

#[test]
fn the_repository_of_another_user_is_refused() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    if !rustix::process::geteuid().is_root() {
        // Only root can make one; `disk` has a test of its own that needs no other user.
        return;
    }
    let chown = |path: &Path| std::os::unix::fs::chown(path, Some(12345), None).unwrap();
    chown(&repo.path.join(".git"));
    assert!(!git_in(&repo.path).args(["diff"]).output().unwrap().status.success());
    let error = repo.ask("a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "NOT_OWNED");
    assert!(Surface::Cli.error(&error).contains("safe.directory"), "{error}");
    // A word in the repository itself does not count.
    let config = fs::read_to_string(repo.path.join(".git/config")).unwrap();
    fs::write(repo.path.join(".git/config"), format!("{config}[safe]\n\tdirectory = *\n")).unwrap();
    assert_eq!(repo.code("a.txt", Head), "NOT_OWNED");
}

#[test]
fn a_change_of_anything_is_seen_by_the_next_call() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let engine = repo.engine();
    let status = || ask(&engine, "a.txt", Head, None).unwrap().status.as_str();
    assert_eq!(status(), "unchanged");
    repo.write("a.txt", "one\r\ntwo\r\n");
    assert_eq!(status(), "modified");
    repo.set("core.autocrlf", "input");
    assert_eq!(status(), "unchanged");
    repo.write(".gitattributes", "a.txt -text\n");
    assert_eq!(status(), "modified");
    repo.commit();
    assert_eq!(status(), "unchanged");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(status(), "unchanged");
    repo.git(&["update-ref", "-d", "HEAD"]);
    assert_eq!(status(), "added");
}

/// A repository stays open between queries once its files are old enough; every change is still noticed.
#[test]
fn a_repository_that_is_kept_open_is_never_behind() {
    let repo = Repo::with(&[("a.txt", TEXT), ("b.txt", TEXT)]);
    let rest = || std::thread::sleep(std::time::Duration::from_millis(2200));
    rest();
    let engine = engine_at(&repo.path);
    let see = |name: &str| ask(&engine, name, Head, None).map(|found| (found.text, found.status.as_str().to_owned()));
    for _ in 0..2 {
        assert_eq!(see("a.txt").unwrap().1, "unchanged");
    }
    // Objects, the branch and the index.
    repo.write("a.txt", "one\nthree\n");
    assert!(see("a.txt").unwrap().0.contains("+three"));
    repo.commit();
    assert_eq!(see("a.txt").unwrap().1, "unchanged");
    repo.git(&["repack", "-adq"]);
    assert_eq!(see("a.txt").unwrap().1, "unchanged");
    repo.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    assert_eq!(see("a.txt").unwrap().1, "unchanged");
    repo.git(&["reset", "-q", "--soft", "-"].map(|word| if word == "-" { "HEAD@{1}" } else { word }));
    assert_eq!(see("a.txt").unwrap().1, "modified");
    repo.git(&["reset", "-q", "--hard"]);
    // Attributes, and the configuration in two ways.
    repo.write("b.txt", "one\r\ntwo\r\n");
    assert_eq!(see("b.txt").unwrap().1, "modified");
    repo.git(&["config", "core.autocrlf", "true"]);
    assert_eq!(see("b.txt").unwrap().1, "unchanged");
    rest();
    assert_eq!((see("b.txt").unwrap().1, see("b.txt").unwrap().1), ("unchanged".to_owned(), "unchanged".to_owned()));
    repo.git(&["config", "core.autocrlf", "false"]);
    assert_eq!(see("b.txt").unwrap().1, "modified");
    repo.write(".gitattributes", "*.txt text\n");
    assert_eq!(see("b.txt").unwrap().1, "unchanged");
    rest();
    see("b.txt").unwrap();
    // A repository that becomes unusable is refused at once, and used again when it becomes usable.
    repo.git(&["config", "filter.x.clean", "cat"]);
    repo.write(".gitattributes", "*.txt filter=x\n");
    assert_eq!(see("b.txt").unwrap_err().code(), "FILTERED");
    fs::remove_file(repo.path.join(".gitattributes")).unwrap();
    assert_eq!(see("b.txt").unwrap().1, "modified");
    fs::rename(repo.path.join(".git"), repo.path.join("elsewhere")).unwrap();
    assert_eq!(see("b.txt").unwrap_err().code(), "NO_REPOSITORY");
    fs::rename(repo.path.join("elsewhere"), repo.path.join(".git")).unwrap();
    assert_eq!(see("b.txt").unwrap().1, "modified");
}
