//! One file in every state that git knows, each compared with git's output.

use readproof_engine::{Error, operation::AnswerLimit};
use readproof_testkit::ask::WAIT;

use crate::repo::{Head, Index, Repo, WorkTree, ask, asked, compare, engine_at, plain};
use readproof_words::{
    Surface,
    notice::{notice, notices},
};

const TEXT: &str = "one\ntwo\nthree\n";

#[test]
fn an_unchanged_file_has_an_empty_diff() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    for against in [Head, Index] {
        let found = repo.diff("a.txt", against);
        assert_eq!((found.text.as_str(), found.status.as_str(), found.lines), ("", "unchanged", (0, 0)));
        assert!(found.summary().ends_with(": unchanged, the diff is empty"), "{}", found.summary());
    }
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let blob = repo.git(&["rev-parse", "HEAD:a.txt"]);
    let found = repo.diff("a.txt", Head);
    assert_eq!((found.commit.as_deref(), found.blob.as_deref()), (Some(commit.trim()), Some(blob.trim())));
}

#[test]
fn a_changed_file() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("a.txt", "one\n2\nthree");
    repo.agrees("a.txt", "modified");
    let found = repo.diff("a.txt", Head);
    assert_eq!((found.added, found.removed, found.hunks, found.is_cut()), (2, 2, (1, 1), false));
    let commit = &repo.git(&["rev-parse", "HEAD"])[..7];
    assert_eq!(found.summary(), format!("against HEAD ({commit}): 2 lines added, 2 removed"));
}

#[test]
fn staged_and_then_changed_again() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("a.txt", "one\n2\nthree\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "one\n2\n3\n");
    repo.agrees("a.txt", "modified");
    assert_eq!(repo.diff("a.txt", Index).added, 1);
    assert_eq!(repo.diff("a.txt", Head).added, 2);
    // The working file may be the committed one again.
    repo.write("a.txt", TEXT);
    assert_eq!(repo.diff("a.txt", Head).status.as_str(), "unchanged");
    assert_eq!(repo.diff("a.txt", Index).status.as_str(), "modified");
}

#[test]
fn an_untracked_file_is_all_new_and_says_so() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("b.txt", "new\n");
    for against in [Head, Index] {
        let found = repo.diff("b.txt", against);
        assert_eq!(found.status.as_str(), "untracked");
        assert_eq!(
            found.text,
            "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1,1 @@\n+new\n"
        );
        assert!(notice(&found.notices[0]).contains("git does not track it"), "{:?}", found.notices);
    }
}

#[test]
fn an_added_file_is_in_the_index_only() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("b.txt", "new\n");
    repo.git(&["add", "b.txt"]);
    repo.agrees("b.txt", "added");
    assert!(notice(&repo.diff("b.txt", Head).notices[0]).contains("in the index, not in HEAD"));
    assert_eq!(repo.diff("b.txt", Index).status.as_str(), "unchanged");
}

#[test]
fn an_empty_file_comes_and_goes() {
    let repo = Repo::with(&[("a.txt", TEXT), ("old", "")]);
    repo.write("new", "");
    repo.git(&["add", "new"]);
    repo.agrees("new", "added");
    repo.remove("old");
    repo.agrees("old", "deleted");
}

#[test]
fn a_deleted_file() {
    let repo = Repo::with(&[("d/a.txt", TEXT), ("d/b.txt", "b\n")]);
    repo.remove("d/a.txt");
    repo.agrees("d/a.txt", "deleted");
    // Also where its folder is gone.
    std::fs::remove_dir_all(repo.path.join("d")).unwrap();
    repo.agrees("d/b.txt", "deleted");
    repo.git(&["rm", "-rqf", "d"]);
    assert_eq!(repo.diff("d/a.txt", Head).status.as_str(), "deleted");
    let error = repo.ask("d/a.txt", Index, None).unwrap_err();
    assert_eq!(error.code(), "NOT_FOUND");
}

#[test]
fn what_never_was_is_not_found_and_a_name_is_offered() {
    let repo = Repo::with(&[("main.rs", TEXT)]);
    let error = repo.ask("mian.rs", Head, None).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }));
    assert!(Surface::Cli.error(&error).contains("did you mean main.rs?"), "{error}");
    assert_eq!(repo.code("/etc/passwd", Head), "OUTSIDE_WORKSPACE");
    assert_eq!(repo.code("", Head), "EMPTY_PATH");
    assert_eq!(repo.code(&"x".repeat(300), Head), "BAD_PATH");
}

#[test]
fn a_file_taken_out_of_the_index_is_still_compared() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.git(&["rm", "-q", "--cached", "a.txt"]);
    repo.write("a.txt", "one\n");
    let found = repo.diff("a.txt", Head);
    assert_eq!((found.status.as_str(), found.removed), ("modified", 2));
    assert!(notice(&found.notices[0]).contains("no longer in the index"), "{:?}", found.notices);
    assert_eq!(repo.diff("a.txt", Index).status.as_str(), "untracked");
}

#[test]
fn a_renamed_file_is_new_under_its_name_and_the_old_one_is_named() {
    let repo = Repo::with(&[("src/old.rs", TEXT), ("copy.rs", TEXT), ("empty", "")]);
    repo.git(&["mv", "src/old.rs", "src/new.rs"]);
    let found = repo.diff("src/new.rs", Head);
    assert_eq!(found.status.as_str(), "added");
    // copy.rs has the same bytes, and is still there.
    assert!(
        found.notices.iter().any(|said| notice(said).contains("likely renamed from `src/old.rs`")),
        "{:?}",
        found.notices
    );
    assert_eq!(plain(&found.text), plain(&repo.gits(&["HEAD"], "src/new.rs")));

    // Without telling git.
    let repo = Repo::with(&[("a/x.rs", TEXT), ("b/y.rs", TEXT), ("empty", "")]);
    std::fs::create_dir(repo.path.join("c")).unwrap();
    for (from, to) in [("a/x.rs", "c/x.rs"), ("b/y.rs", "c/y.rs"), ("empty", "c/empty")] {
        std::fs::rename(repo.path.join(from), repo.path.join(to)).unwrap();
    }
    let told = |name: &str, against| notices(&repo.diff(name, against).notices).join("; ");
    for against in [Head, Index] {
        assert!(told("c/x.rs", against).contains("from `a/x.rs`"));
        assert!(told("c/y.rs", against).contains("from `b/y.rs`"));
        assert!(!told("c/empty", against).contains("renamed"), "every empty file is the same");
    }
    // The old one is a deletion.
    repo.agrees("a/x.rs", "deleted");
}

#[test]
fn a_change_of_mode() {
    let repo = Repo::with(&[("run.sh", TEXT)]);
    repo.mode("run.sh", 0o755);
    repo.agrees("run.sh", "mode_changed");
    assert_eq!(repo.diff("run.sh", Head).text, "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    repo.write("run.sh", "one\n");
    repo.agrees("run.sh", "modified");
    // If the file system does not support modes, the index decides.
    repo.set("core.fileMode", "false");
    repo.agrees("run.sh", "modified");
    assert!(!repo.diff("run.sh", Head).text.contains("mode"));
    repo.write("other.sh", "x\n");
    repo.mode("other.sh", 0o755);
    assert!(repo.diff("other.sh", Head).text.contains("new file mode 100644"));
}

#[test]
fn binary_files_only_differ() {
    let repo = Repo::with(&[("a.bin", "\0a"), ("gone.bin", "\0a"), ("text", TEXT)]);
    repo.write("a.bin", "\0b");
    repo.write("new.bin", "\0b");
    repo.git(&["add", "new.bin"]);
    repo.remove("gone.bin");
    repo.write("text", "one\0\n");
    for (name, status) in [("a.bin", "modified"), ("new.bin", "added"), ("gone.bin", "deleted"), ("text", "modified")] {
        repo.agrees(name, status);
        let found = repo.diff(name, Head);
        assert!(found.binary && found.text.contains("\nBinary files ") && found.added == 0, "{}", found.text);
    }
    // The same bytes are the same.
    repo.write("a.bin", "\0a");
    assert_eq!((repo.diff("a.bin", Head).status.as_str(), repo.diff("a.bin", Head).binary), ("unchanged", false));
    repo.mode("a.bin", 0o755);
    repo.agrees("a.bin", "mode_changed");
}

#[test]
fn git_looks_for_a_nul_in_the_first_bytes_only() {
    let late = format!("{}\0\n", "x\n".repeat(5000));
    let repo = Repo::with(&[("late", &late), ("early", TEXT)]);
    repo.write("late", format!("y\n{late}"));
    assert!(!repo.gits(&["HEAD"], "late").contains("Binary"));
    assert_eq!(repo.code("late", Head), "NOT_TEXT");
    repo.write("late", &late);
    assert_eq!(repo.diff("late", Head).status.as_str(), "unchanged");
}

#[test]
fn the_diff_attribute_decides_what_is_binary() {
    let repo = Repo::with(&[("a.dat", TEXT), ("b.dat", TEXT), ("c.dat", "x\0\n"), ("d.dat", TEXT), ("e.dat", TEXT)]);
    repo.write(".gitattributes", "a.dat -diff\nb.dat binary\nc.dat diff\nd.dat diff=odd\ne.dat diff=rust\n");
    repo.set("diff.odd.binary", "true");
    for name in ["a.dat", "b.dat", "d.dat", "e.dat"] {
        repo.write(name, "two\n");
        repo.agrees(name, "modified");
        assert_eq!(repo.diff(name, Head).binary, name != "e.dat", "{name}");
    }
    // Git shows it as text, which it is not.
    repo.write("c.dat", "y\0\n");
    assert_eq!(repo.code("c.dat", Head), "NOT_TEXT");
    repo.set("core.bigFileThreshold", "3");
    repo.agrees("e.dat", "modified");
    assert!(repo.diff("e.dat", Head).binary);
}

#[test]
fn what_is_not_utf_8_cannot_be_shown_byte_for_byte() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("old.txt", b"caf\xe9\n");
    repo.commit();
    repo.write("a.txt", b"caf\xe9\n");
    let error = repo.ask("a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "NOT_TEXT");
    let said = "`a.txt`: the working file is not text: it is not valid UTF-8 from byte 3 on; use `git diff --binary`";
    assert_eq!(Surface::Cli.error(&error), said);
    repo.write("old.txt", "café\n");
    let error = repo.ask("old.txt", Head, None).unwrap_err();
    assert!(Surface::Cli.error(&error).contains("the baseline's version is not text"), "{error}");
    let error = repo.ask("a.txt", WorkTree, Some("x")).unwrap_err();
    assert!(Surface::Cli.error(&error).contains("the working file is not text"), "{error}");
    // Where nothing is shown of it, nothing is wrong.
    repo.write("old.txt", b"caf\xe9\n");
    assert_eq!(repo.diff("old.txt", Head).status.as_str(), "unchanged");
}

#[test]
fn a_link_is_the_text_of_where_it_leads() {
    let repo = Repo::with(&[("a.txt", TEXT), ("b.txt", TEXT)]);
    repo.link("a.txt", "link");
    repo.link("/etc/passwd", "out");
    repo.link("nowhere", "dangling");
    repo.commit();
    for name in ["link", "out", "dangling"] {
        assert_eq!(repo.diff(name, Head).status.as_str(), "unchanged", "{name}");
        repo.remove(name);
        repo.link("b.txt", name);
        repo.agrees(name, "modified");
        let found = repo.diff(name, Head);
        assert!(found.text.contains("+b.txt\n\\ No newline at end of file\n") && !found.text.contains("one"));
    }
    // A file that became a link, and the other way round.
    repo.remove("a.txt");
    repo.link("b.txt", "a.txt");
    repo.agrees("a.txt", "type_changed");
    repo.remove("link");
    repo.write("link", "text\n");
    repo.agrees("link", "type_changed");
    assert_eq!(repo.ask("a.txt", Head, Some("x")).unwrap_err().code(), "CONTENT_FOR_LINK");
    assert_eq!(repo.ask("a.txt", WorkTree, Some("x")).unwrap_err().code(), "CONTENT_FOR_LINK");
    // If the file system has no links, a file stands for one.
    repo.set("core.symlinks", "false");
    repo.agrees("link", "modified");
}

#[test]
fn git_does_not_look_behind_a_link() {
    let repo = Repo::with(&[("real/a.txt", TEXT)]);
    repo.link("real", "dir");
    repo.link("/etc", "away");
    let error = repo.ask("dir/a.txt", Head, None).unwrap_err();
    assert_eq!(error.code(), "BEHIND_LINK");
    assert!(Surface::Cli.error(&error).ends_with("git knows it as `real/a.txt`"), "{error}");
    assert_eq!(repo.code("away/passwd", Head), "BEHIND_LINK");
    assert_eq!(repo.ask("away/passwd", WorkTree, Some("x")).unwrap_err().code(), "BEHIND_LINK");
}

#[test]
fn what_is_no_file() {
    let repo = Repo::with(&[("d/a.txt", TEXT)]);
    assert_eq!(repo.code("d", Head), "NOT_A_FILE");
    assert_eq!(repo.code(".", Head), "NOT_A_FILE");
    assert_eq!(repo.ask("d", WorkTree, Some("x")).unwrap_err().code(), "NOT_A_FILE");
    assert_eq!(repo.code(".git/config", Head), "GIT_FOLDER");
    assert_eq!(repo.code(".GIT/config", Index), "GIT_FOLDER");
    assert_eq!(repo.ask(".git/config", WorkTree, Some("x")).unwrap_err().code(), "GIT_FOLDER");
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.path.join("pipe"), 0o600.into()).unwrap();
    assert_eq!(repo.code("pipe", Head), "NOT_A_FILE");
}

#[test]
fn a_submodule_is_named_as_one() {
    let inner = Repo::with(&[("x", TEXT)]);
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.git(&["submodule", "add", "-q", inner.path.to_str().unwrap(), "sub"]);
    repo.commit();
    let commit = inner.git(&["rev-parse", "HEAD"]);
    for against in [Head, Index] {
        let error = repo.ask("sub", against, None).unwrap_err();
        assert_eq!(error.code(), "SUBMODULE");
        assert!(Surface::Cli.error(&error).contains(commit.trim()), "{error}");
    }
    // A file in it belongs to the submodule's repository, whose folder is inside this one's.
    repo.write("sub/x", "one\n");
    let found = repo.diff("sub/x", Head);
    assert_eq!((found.path.as_str(), found.name.as_str(), found.status.as_str()), ("sub/x", "x", "modified"));
    assert_eq!(found.commit.as_deref(), Some(commit.trim()));
    // Also where the workspace is the submodule alone.
    let found = ask(&engine_at(&repo.path.join("sub")), "x", Head, None).unwrap();
    assert_eq!(found.removed, 2);
}

#[test]
fn a_conflict_has_no_one_version_in_the_index() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.git(&["checkout", "-qb", "other"]);
    repo.write("a.txt", "one\ntheirs\nthree\n");
    repo.commit();
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.txt", "one\nours\nthree\n");
    repo.commit();
    let merge = crate::repo::git_in(&repo.path).args(["merge", "-q", "other"]).output().unwrap();
    assert!(!merge.status.success());
    assert_eq!(repo.code("a.txt", Index), "CONFLICTED");
    let found = repo.diff("a.txt", Head);
    assert!(found.text.contains("+>>>>>>> other") && notice(&found.notices[0]).contains("merge"), "{found:?}");
    let gits = repo.gits(&["HEAD"], "a.txt");
    assert!(plain(&gits).ends_with(&plain(&found.text)), "{gits}");
}

#[test]
fn only_the_name_is_in_the_index() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("b.txt", "new\n");
    repo.git(&["add", "-N", "b.txt"]);
    repo.agrees("b.txt", "added");
    assert!(notice(&repo.diff("b.txt", Index).notices[0]).contains("git add -N"));
}

#[test]
fn a_file_that_is_assumed_unchanged_is_not_looked_at() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.git(&["update-index", "--assume-unchanged", "a.txt"]);
    repo.write("a.txt", "other\n");
    repo.agrees("a.txt", "unchanged");
    assert!(notice(&repo.diff("a.txt", Head).notices[0]).contains("assume-unchanged"));
    // What is given is looked at.
    let found = repo.ask("a.txt", Head, Some("one\n")).unwrap();
    assert_eq!((found.status.as_str(), found.removed), ("modified", 2));
}

#[test]
fn content_stands_for_the_working_file() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("a.txt", "working\n");
    let found = repo.ask("a.txt", Head, Some("one\ntwo\n")).unwrap();
    assert_eq!((found.added, found.removed), (0, 1));
    let found = repo.ask("a.txt", WorkTree, Some("working\nmore\n")).unwrap();
    assert_eq!(found.text, "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,2 @@\n working\n+more\n");
    assert_eq!((found.summary().as_str(), found.commit), ("against WORKTREE: 1 line added, 0 removed", None));
    let found = repo.ask("new.txt", WorkTree, Some("x\n")).unwrap();
    assert_eq!(found.status.as_str(), "added");
    assert!(found.text.contains("new file mode 100644"));
    assert_eq!(repo.ask("new.txt", Head, Some("x\n")).unwrap().status.as_str(), "untracked");
    let error = repo.ask("a.txt", WorkTree, None).unwrap_err();
    assert_eq!((error.code(), error.is_usage()), ("NO_CONTENT", true));
    // Nothing was written.
    assert_eq!(std::fs::read_to_string(repo.path.join("a.txt")).unwrap(), "working\n");
}

#[test]
fn a_diff_that_does_not_fit_is_cut_between_hunks_and_says_so() {
    let lines: String = (0..1000).map(|n| format!("{n}\n")).collect();
    let repo = Repo::with(&[("a.txt", &lines)]);
    repo.write("a.txt", lines.replace("5\n", "five\n"));
    let asked = |chars, lines| {
        let asked = asked("a.txt", Head, None, AnswerLimit { lines, chars });
        compare(&repo.engine(), asked, WAIT).unwrap()
    };
    let whole = asked(u32::MAX, u32::MAX);
    assert!(!whole.is_cut());
    let cut = asked(500, u32::MAX);
    assert!(cut.is_cut() && cut.text.len() <= 500 && whole.text.starts_with(&cut.text));
    assert!(
        cut.hunks.0 > 0 && cut.hunks.1 == whole.hunks.1 && (cut.added, cut.removed) == (whole.added, whole.removed)
    );
    assert_eq!(cut.text.matches("\n@@ ").count(), cut.hunks.0 as usize);
    assert_eq!(asked(u32::MAX, 5).lines.0, 5);
    assert_eq!(asked(1, 5).text, "");
}

#[test]
fn too_much_is_refused() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    repo.write("big.txt", "x".repeat(100));
    repo.commit();
    repo.write("big.txt", "small\n");
    let bearings = readproof_core::path::Bearings { cwd: repo.path.to_str().unwrap().to_owned(), home: None };
    let settings = readproof_engine::Settings { file_bytes: 50, ..readproof_engine::Settings::default() };
    let root = readproof_disk::Root::open(&repo.path).unwrap();
    let engine = readproof_engine::Engine::new(root, bearings, settings, Box::new(|| 0)).unwrap();
    let code = |name: &str, content: Option<&str>| ask(&engine, name, Head, content).unwrap_err().code();
    assert_eq!(code("big.txt", None), "TOO_LARGE");
    assert_eq!(code("a.txt", Some(&"x".repeat(51))), "TOO_LARGE");
    repo.write("a.txt", "x".repeat(51));
    assert_eq!(code("a.txt", None), "TOO_LARGE");
}

#[test]
fn a_call_that_nobody_waits_for_ends() {
    let repo = Repo::with(&[("a.txt", TEXT)]);
    let asked = asked("a.txt", Head, None, AnswerLimit { lines: 9, chars: 9 });
    assert_eq!(compare(&repo.engine(), asked, &|| true).unwrap_err().code(), "ABORTED");
}
