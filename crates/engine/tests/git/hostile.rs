//! Malicious repositories: each query soon gets an answer that says what is wrong and shows nothing from outside.

use readproof_words::{Surface, notice::notice};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use readproof_engine::{Error, operation::AnswerLimit};
use readproof_testkit::ask::WAIT;

use crate::repo::{Against, Head, Index, Repo, WorkTree, ask, asked, compare, done, engine_at, fed, git_in};

const TEXT: &str = "one\ntwo\n";
const MARKER: &str = "MARKER-of-another-place";

/// An answer that takes longer hangs.
const SOON: Duration = Duration::from_secs(10);

/// An answer within the time limit: its diff, or the code and message of the error.
fn answer_of(path: &Path, name: &str, against: Against) -> Result<String, (&'static str, String)> {
    let (path, name) = (path.to_path_buf(), name.to_owned());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let found = ask(&engine_at(&path), &name, against, None);
        let _ = sender.send(found.map(|found| found.text).map_err(|error| (error.code(), Surface::Cli.error(&error))));
    });
    receiver.recv_timeout(SOON).expect("an answer in time")
}

/// The error for both baselines, or for `HEAD` alone; it must not contain text from outside.
#[track_caller]
fn refused(repo: &Repo, name: &str, code: &str) -> String {
    let (found, words) = answer_of(&repo.path, name, Head).unwrap_err();
    assert!(!words.contains(MARKER), "{words}");
    assert!(!words.contains(repo.temp.path().to_str().unwrap()), "{words}");
    assert_eq!(found, code, "{words}");
    words
}

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
}

fn sparse(path: &Path) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().set_len(5 << 30).unwrap();
}

/// With one changed file; loose objects and a loose branch.
fn loose() -> Repo {
    let repo = Repo::with(&[("a.txt", TEXT), ("d/b.txt", TEXT)]);
    repo.write("a.txt", "one\n");
    repo
}

/// As before, with one pack.
fn packed() -> Repo {
    let repo = loose();
    repo.git(&["repack", "-adq"]);
    repo.git(&["pack-refs", "--all"]);
    repo
}

fn object(repo: &Repo, name: &str) -> PathBuf {
    let id = repo.git(&["rev-parse", name]);
    repo.path.join(format!(".git/objects/{}/{}", &id[..2], id[2..].trim()))
}

fn in_pack(repo: &Repo, end: &str) -> PathBuf {
    let files = fs::read_dir(repo.path.join(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|found| found == end)).unwrap()
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_any_file() {
    type Case = (&'static str, fn() -> Repo, fn(&Repo) -> PathBuf);
    let places: &[Case] = &[
        (".git/HEAD", loose, |repo| repo.path.join(".git/HEAD")),
        (".git/config", loose, |repo| repo.path.join(".git/config")),
        (".git/refs/heads/main", loose, |repo| repo.path.join(".git/refs/heads/main")),
        (".git/index", loose, |repo| repo.path.join(".git/index")),
        (".git/packed-refs", packed, |repo| repo.path.join(".git/packed-refs")),
        (".git/info/attributes", loose, |repo| repo.path.join(".git/info/attributes")),
        (".git/objects/info/alternates", loose, |repo| repo.path.join(".git/objects/info/alternates")),
        (".git/objects/", loose, |repo| object(repo, "HEAD")),
        (".git/objects/", loose, |repo| object(repo, "HEAD^{tree}")),
        (".git/objects/", loose, |repo| object(repo, "HEAD:a.txt")),
        (".git/objects/pack/", packed, |repo| in_pack(repo, "idx")),
        (".git/objects/pack/", packed, |repo| in_pack(repo, "pack")),
        (".git/objects/pack/", packed, |repo| repo.path.join(".git/objects/pack/multi-pack-index")),
        (".gitattributes", loose, |repo| repo.path.join(".gitattributes")),
    ];
    for (name, made, place) in places {
        let repo = made();
        let path = place(&repo);
        fifo(&path);
        let words = refused(&repo, "a.txt", "BAD_REPOSITORY");
        assert!(words.contains(name) && words.contains("a pipe"), "{name}: {words}");
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        if !name.ends_with("attributes") || name.contains("info") {
            let words = refused(&repo, "a.txt", "LEADS_OUT");
            assert!(words.contains(name), "{name}: {words}");
        }
    }
    // A branch below a pipe, and a branch that refers to itself.
    let repo = loose();
    fs::write(repo.path.join(".git/HEAD"), "ref: refs/heads/x/y\n").unwrap();
    fifo(&repo.path.join(".git/refs/heads/x"));
    assert!(answer_of(&repo.path, "a.txt", Head).is_ok(), "no commit yet, as git has it");
    fs::write(repo.path.join(".git/HEAD"), "ref: refs/heads/round\n").unwrap();
    fs::write(repo.path.join(".git/refs/heads/round"), "ref: refs/heads/round\n").unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
}

#[test]
fn a_shared_index() {
    let split = || {
        let repo = loose();
        repo.git(&["update-index", "--split-index"]);
        let shared = fs::read_dir(repo.path.join(".git")).unwrap().map(|entry| entry.unwrap().path());
        let shared = shared.into_iter().find(|path| path.to_str().unwrap().contains("sharedindex")).unwrap();
        (repo, shared)
    };
    let (repo, shared) = split();
    fifo(&shared);
    assert!(refused(&repo, "a.txt", "BAD_REPOSITORY").contains("a pipe"));
    let (repo, shared) = split();
    sparse(&shared);
    refused(&repo, "a.txt", "TOO_LARGE");
    let (repo, shared) = split();
    fs::remove_file(shared).unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
}

#[test]
fn five_gigabytes_of_nothing() {
    for name in
        ["HEAD", "config", "refs/heads/main", "index", "info/attributes", "objects/info/alternates", "packed-refs"]
    {
        let repo = loose();
        sparse(&repo.path.join(".git").join(name));
        let words = refused(&repo, "a.txt", "TOO_LARGE");
        assert!(words.contains(&format!("`.git/{name}`")) && words.contains("5368709120 bytes"), "{words}");
    }
    for name in [".gitattributes", "d/.gitattributes"] {
        let repo = loose();
        sparse(&repo.path.join(name));
        let words = refused(&repo, "d/b.txt", "TOO_LARGE");
        assert!(words.contains(&format!("`{name}`")), "{words}");
    }
    for end in ["idx", "pack"] {
        let repo = packed();
        sparse(&in_pack(&repo, end));
        let code = answer_of(&repo.path, "a.txt", Head).unwrap_err().0;
        assert!(matches!(code, "BAD_REPOSITORY" | "MISSING_OBJECT"), "{code}");
    }
    let repo = loose();
    sparse(&object(&repo, "HEAD:a.txt"));
    refused(&repo, "a.txt", "TOO_LARGE");
}

#[test]
fn more_lines_than_anyone_needs() {
    let many = |line: &str| (0..30_000).map(|n| format!("{line}{n}\n")).collect::<String>();
    let repo = loose();
    let alternates = repo.path.join(".git/objects/info/alternates");
    fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    for text in [many("../x"), "../../x/objects\n".repeat(3_000)] {
        fs::write(&alternates, text).unwrap();
        assert!(refused(&repo, "a.txt", "TOO_LARGE").contains("alternates"));
    }
    fs::remove_file(&alternates).unwrap();
    // A configuration that includes itself twice.
    let config = repo.path.join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[include]\n\tpath = config\n\tpath = config\n")).unwrap();
    assert!(refused(&repo, "a.txt", "TOO_LARGE").contains("included files"));
    // Long lists that are in order.
    fs::write(&config, format!("{text}{}", many("[x]\n\ty = "))).unwrap();
    fs::write(repo.path.join(".gitattributes"), many("*.x text=")).unwrap();
    fs::write(
        repo.path.join(".git/packed-refs"),
        format!(
            "# pack-refs with: peeled fully-peeled sorted \n{}",
            many("0123456789012345678901234567890123456789 refs/tags/v")
        ),
    )
    .unwrap();
    answer_of(&repo.path, "a.txt", Head).unwrap();
    // Attributes of all folders count together.
    for folder in ["", "d/", "d/e/"] {
        repo.write(&format!("{folder}.gitattributes"), "# \n".repeat(300_000));
    }
    repo.write("d/e/c.txt", TEXT);
    assert!(refused(&repo, "d/e/c.txt", "TOO_LARGE").contains("d/e/.gitattributes"));
}

#[test]
fn nothing_is_read_through_a_link_that_leaves_the_workspace() {
    let other = Repo::with(&[("a.txt", &format!("{MARKER}\n")), ("d/b.txt", TEXT)]);
    let commit = other.git(&["rev-parse", "HEAD"]);
    let outside = other.path.join(".git");
    fs::create_dir_all(outside.join("objects/pack")).unwrap();
    let steal = |change: &dyn Fn(&Path)| {
        let repo = loose();
        change(&repo.path.join(".git"));
        refused(&repo, "a.txt", "LEADS_OUT")
    };
    let swap = |git: &Path, name: &str| {
        let path = git.join(name);
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        symlink(outside.join(name), path).unwrap();
    };
    for name in ["HEAD", "config", "index", "refs", "refs/heads", "refs/heads/main", "objects", "objects/pack"] {
        let words = steal(&|git| swap(git, name));
        assert!(words.contains(".git/") && words.contains("out of the workspace"), "{name}: {words}");
    }
    // One folder of objects, with the other's commit as ours.
    let (folder, object) = commit.trim().split_at(2);
    steal(&|git| {
        fs::write(git.join("refs/heads/main"), &commit).unwrap();
        swap(git, &format!("objects/{folder}"));
    });
    steal(&|git| {
        fs::write(git.join("refs/heads/main"), &commit).unwrap();
        fs::create_dir_all(git.join("objects").join(folder)).unwrap();
        swap(git, &format!("objects/{folder}/{object}"));
    });
    for line in [outside.join("objects").display().to_string(), "../../../../".to_owned() + "x"] {
        let words = steal(&|git| {
            let at = git.join("objects/info");
            fs::create_dir_all(&at).unwrap();
            let line = if line.ends_with("/x") {
                fs::create_dir_all(git.parent().unwrap().parent().unwrap().join("x")).unwrap();
                "../../../x".to_owned()
            } else {
                line.clone()
            };
            fs::write(at.join("alternates"), format!("{line}\n")).unwrap();
            fs::write(git.join("refs/heads/main"), &commit).unwrap();
        });
        assert!(words.contains("`.git/objects/info/alternates`"), "{words}");
    }
    // Its work tree must not contain the workspace.
    let repo = loose();
    repo.set("core.worktree", "/");
    refused(&repo, "a.txt", "LEADS_OUT");
}

#[test]
fn settings_from_outside_are_neither_followed_nor_told() {
    let repo = loose();
    let config = repo.path.join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    let outside = repo.beside("settings");
    fs::write(&outside, format!("[core\n{MARKER}\n")).unwrap();
    for section in ["[include]", "[includeIf \"gitdir:/\"]", "[INCLUDE]"] {
        for path in [outside.to_str().unwrap(), "../../settings", "~/settings"] {
            fs::write(&config, format!("{text}{section}\n\tpath = {path}\n")).unwrap();
            assert!(refused(&repo, "a.txt", "LEADS_OUT").contains("include.path"));
        }
    }
    symlink(&outside, repo.path.join("link")).unwrap();
    fs::write(&config, format!("{text}[include]\n\tpath = ../link\n")).unwrap();
    refused(&repo, "a.txt", "LEADS_OUT");
    // Inside, they count; errors in them are reported in our own words.
    fs::write(repo.path.join(".git/more"), "[core]\n\tautocrlf = input\n").unwrap();
    fs::write(&config, format!("{text}[include]\n\tpath = more\n")).unwrap();
    repo.write("a.txt", "one\r\ntwo\r\n");
    assert_eq!(answer_of(&repo.path, "a.txt", Head).unwrap(), "");
    for bad in [format!("[core\n{MARKER}\n"), format!("[core]\n\tautocrlf = {MARKER}\n")] {
        fs::write(repo.path.join(".git/more"), bad).unwrap();
        refused(&repo, "a.txt", "BAD_REPOSITORY");
    }
    fs::write(&config, format!("{text}[extensions]\n\t{MARKER} = {MARKER}\n")).unwrap();
    refused(&repo, "a.txt", "UNSUPPORTED_REPOSITORY");
    fs::write(&config, format!("{text}[core]\n\trepositoryformatversion = {MARKER}\n")).unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
    fs::write(&config, &text).unwrap();
    for name in ["HEAD", "refs/heads/main"] {
        let path = repo.path.join(".git").join(name);
        let before = fs::read(&path).unwrap();
        fs::write(&path, MARKER).unwrap();
        assert!(refused(&repo, "a.txt", "BAD_REPOSITORY").contains(name));
        fs::write(&path, before).unwrap();
    }
}

/// The header of an index and so many entries, each with the data after its flags.
fn index_of(version: u32, names: impl ExactSizeIterator<Item = Vec<u8>>, extensions: &[u8]) -> Vec<u8> {
    let count = u32::try_from(names.len()).unwrap();
    let mut bytes = [b"DIRC", &version.to_be_bytes()[..], &count.to_be_bytes()].concat();
    for name in names {
        let mut entry = vec![0; 62];
        entry[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
        entry.extend(name);
        bytes.extend(entry);
    }
    bytes.extend(extensions);
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn an_index_that_swells_when_it_is_decoded() {
    let repo = loose();
    let index = repo.path.join(".git/index");
    // Each name is the previous one with one more character.
    fs::write(&index, index_of(4, (0..60_000).map(|_| b"\0a\0".to_vec()), b"")).unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
    // Deeply nested folders.
    let tree = "a\0-1 1\n".repeat(300_000).into_bytes();
    let size = u32::try_from(tree.len()).unwrap().to_be_bytes();
    let names = [b"a.txt\0\0\0\0\0".to_vec()];
    fs::write(&index, index_of(2, names.into_iter(), &[b"TREE", &size[..], &tree].concat())).unwrap();
    assert!(answer_of(&repo.path, "a.txt", Head).is_ok());
    // More entries than there are bytes, and an unknown extension.
    let mut short = index_of(2, [b"a.txt\0\0\0\0\0".to_vec()].into_iter(), b"");
    short[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    fs::write(&index, short).unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
    fs::write(&index, index_of(2, [b"a.txt\0\0\0\0\0".to_vec()].into_iter(), b"evil\0\0\0\0")).unwrap();
    refused(&repo, "a.txt", "BAD_REPOSITORY");
}

#[test]
fn objects_that_are_larger_than_they_may_be() {
    let repo = loose();
    // 70 MB of zeros take 70 KB.
    repo.write("bomb", vec![b'\n'; 70_000_000]);
    repo.git(&["add", "bomb"]);
    fs::write(repo.path.join("bomb"), "x\n").unwrap();
    let (code, words) = answer_of(&repo.path, "bomb", Index).unwrap_err();
    assert_eq!(code, "TOO_LARGE", "{words}");
    // As attributes that are only in the index.
    let id = repo.git(&["rev-parse", ":bomb"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},.gitattributes", id.trim())]);
    refused(&repo, "a.txt", "TOO_LARGE");
}

/// Names in a commit are untrusted: they must not reveal whether a file outside exists.
#[test]
fn names_that_lead_out_are_not_looked_up() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("new.txt", "unlike any other\n");
    let id = repo.git(&["hash-object", "-w", "new.txt"]);
    symlink(repo.temp.path(), repo.path.join("out")).unwrap();
    // Git itself does not create such a name.
    let name: &[u8] = b"../gone.txt\0";
    let mut entry = vec![0; 62];
    entry[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
    for (at, byte) in entry[40..60].iter_mut().enumerate() {
        *byte = u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap();
    }
    let entries = |name: &[u8]| {
        let mut bytes = [b"DIRC", &2_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &entry, name].concat();
        bytes.resize(bytes.len() + (8 - (62 + name.len()) % 8) % 8, 0);
        [bytes, vec![0; 20]].concat()
    };
    let renamed = |name: &[u8]| {
        fs::write(repo.path.join(".git/index"), entries(name)).unwrap();
        repo.diff("new.txt", Head).notices.iter().any(|said| notice(said).contains("renamed"))
    };
    assert!(renamed(b"gone.txt\0"));
    for name in [name, b"out/gone.txt\0", b"/gone.txt\0", b"d/../../gone.txt\0"] {
        assert!(!renamed(name), "{}", String::from_utf8_lossy(name));
    }
}

/// The same folder a thousand times, nested.
#[test]
fn a_commit_of_folders_without_end() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("new.txt", "unlike any other\n");
    let mut tree = {
        let id = repo.git(&["hash-object", "-w", "new.txt"]);
        let lines: String = (0..2_000).map(|n| format!("100644 blob {}\tf{n}\n", id.trim())).collect();
        let mut git = git_in(&repo.path);
        git.arg("mktree");
        String::from_utf8(done(&fed(git, lines.as_bytes()))).unwrap()
    };
    for _ in 0..6 {
        let lines: String = (0..2_000).map(|n| format!("040000 tree {}\td{n}\n", tree.trim())).collect();
        let mut git = git_in(&repo.path);
        git.arg("mktree");
        tree = String::from_utf8(done(&fed(git, lines.as_bytes()))).unwrap();
    }
    let commit = repo.git(&["commit-tree", tree.trim(), "-m", "x"]);
    fs::write(repo.path.join(".git/refs/heads/main"), commit).unwrap();
    assert!(answer_of(&repo.path, "new.txt", Head).unwrap().contains("+unlike"));
}

#[test]
fn a_repository_that_turns_hostile_while_it_is_open() {
    let repo = packed();
    thread::sleep(Duration::from_millis(2200));
    let engine = engine_at(&repo.path);
    let see = |name: &str| ask(&engine, name, Head, None).map(|found| found.text);
    assert!(see("a.txt").is_ok() && see("a.txt").is_ok());
    let extra = repo.path.join(".git/objects/pack/pack-0123456789012345678901234567890123456789.idx");
    fifo(&extra);
    assert_eq!(see("a.txt").unwrap_err().code(), "BAD_REPOSITORY");
    fs::remove_file(&extra).unwrap();
    assert!(see("a.txt").is_ok());
    let other = packed();
    fs::rename(repo.path.join(".git/objects"), repo.path.join("objects")).unwrap();
    symlink(other.path.join(".git/objects"), repo.path.join(".git/objects")).unwrap();
    assert_eq!(see("a.txt").unwrap_err().code(), "LEADS_OUT");
}

#[test]
fn large_texts_are_compared_soon_and_calling_off_is_heard() {
    let repo = Repo::unborn();
    let lines = |word: &str| (0..1_000_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    repo.write("a.txt", lines("a"));
    let (sender, receiver) = channel();
    let path = repo.path.clone();
    thread::spawn(move || {
        let engine = engine_at(&path);
        let beside = |content: String| {
            let most = AnswerLimit { lines: 100, chars: 9_999 };
            compare(&engine, asked("a.txt", WorkTree, Some(&content), most), WAIT).unwrap()
        };
        let one = beside(lines("a").replace("a 777777\n", "x\n"));
        let _ = sender.send((one, beside(lines("b"))));
    });
    let (one, all) = receiver.recv_timeout(SOON).expect("an answer in time");
    assert_eq!((one.added, one.removed, one.hunks, one.notices.len()), (1, 1, (1, 1), 0));
    assert!(one.text.contains("\n-a 777777\n+x\n"));
    assert_eq!((all.added, all.removed, all.lines), (1_000_000, 1_000_000, (100, 2_000_004)));
    assert!(
        notice(&all.notices[0]).starts_with("too large to compare line by line: 1000000 lines"),
        "{:?}",
        all.notices
    );
    // Cancelled at every one of the first steps.
    repo.write("b.txt", TEXT);
    repo.commit();
    repo.write("b.txt", "one\n");
    let ask_while = |hook: &dyn Fn() -> bool| {
        let asked = asked("b.txt", Head, None, AnswerLimit { lines: 9, chars: 999 });
        compare(&engine_at(&repo.path), asked, hook)
    };
    let steps = std::cell::Cell::new(0);
    ask_while(&|| {
        steps.set(steps.get() + 1);
        false
    })
    .unwrap();
    assert!(steps.get() > 5, "{}", steps.get());
    for last in 0..steps.get() {
        let left = std::cell::Cell::new(last);
        let found = ask_while(&|| left.replace(left.get() - 1) <= 0);
        assert!(matches!(found, Err(Error::Aborted)), "{last}");
    }
}
