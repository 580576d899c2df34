//! Clean filters: what git changes in a file before it stores it. The same bytes are compared, and no program is run.

use readproof_words::{Surface, notice::notice};
use std::fs;

use crate::repo::{Head, Index, Repo, WorkTree};

#[test]
fn line_ends_are_compared_as_git_keeps_them() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("crlf.txt", "one\r\ntwo\r\n")]);
    repo.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    assert_eq!(repo.diff("a.txt", Head).added, 3, "without a word about line ends, bytes are bytes");
    for setting in ["true", "input"] {
        repo.set("core.autocrlf", setting);
        repo.agrees("a.txt", "modified");
        let found = repo.diff("a.txt", Head);
        assert_eq!((found.added, found.removed), (1, 0));
        assert!(notice(&found.notices[0]).contains("line ends"), "{:?}", found.notices);
        // What has them in the index keeps them.
        repo.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
        repo.agrees("crlf.txt", "modified");
        assert!(repo.diff("crlf.txt", Head).text.ends_with("+three\r\n"));
    }
    // `core.safecrlf` stops `git add`, not `git diff`.
    repo.set("core.safecrlf", "true");
    repo.agrees("a.txt", "modified");
    repo.set("core.autocrlf", "nonsense");
    assert_eq!(repo.code("a.txt", Head), "BAD_REPOSITORY");
    // Content is cleaned in the same way, except in a comparison with the working file.
    repo.set("core.autocrlf", "true");
    assert_eq!(repo.ask("a.txt", Head, Some("one\r\ntwo\r\n")).unwrap().status.as_str(), "unchanged");
    let found = repo.ask("a.txt", WorkTree, Some("one\ntwo\nthree\n")).unwrap();
    assert_eq!((found.added, found.removed), (3, 3));
}

#[test]
fn attributes_from_every_place() {
    let repo = Repo::with(&[("d/a.txt", "one\n"), ("d/b.txt", "one\n"), (".gitattributes", "*.txt text\n")]);
    repo.write("d/a.txt", "one\r\n");
    repo.agrees("d/a.txt", "unchanged");
    // Nearer ones win.
    repo.write("d/.gitattributes", "a.txt -text\n");
    repo.agrees("d/a.txt", "modified");
    // One that is gone is taken from the index.
    repo.git(&["add", "d/.gitattributes"]);
    repo.remove("d/.gitattributes");
    repo.agrees("d/a.txt", "modified");
    // The repository's own wins over all.
    fs::create_dir_all(repo.path.join(".git/info")).unwrap();
    fs::write(repo.path.join(".git/info/attributes"), "a.txt text\n").unwrap();
    repo.agrees("d/a.txt", "unchanged");
    // A file that the configuration names comes last.
    fs::write(repo.path.join(".git/info/attributes"), "").unwrap();
    repo.remove(".gitattributes");
    repo.git(&["rm", "-q", "--cached", ".gitattributes", "d/.gitattributes"]);
    repo.agrees("d/a.txt", "modified");
    fs::write(repo.path.join(".git/mine"), "*.txt text\n").unwrap();
    repo.set("core.attributesFile", repo.path.join(".git/mine").to_str().unwrap());
    repo.agrees("d/a.txt", "unchanged");
    // A link does not count.
    repo.link("../.git/mine", "d/.gitattributes");
    fs::write(repo.path.join(".git/mine"), "").unwrap();
    repo.agrees("d/a.txt", "modified");
    // The repository's configuration cannot refer to files outside the workspace.
    fs::write(repo.beside("attributes"), "*.txt text\n").unwrap();
    repo.set("core.attributesFile", repo.beside("attributes").to_str().unwrap());
    assert_eq!(repo.code("d/a.txt", Head), "LEADS_OUT");
}

#[test]
fn a_pipe_among_the_attributes_is_refused() {
    let repo = Repo::with(&[("d/a.txt", "one\n")]);
    repo.write("d/a.txt", "two\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.path.join("d/.gitattributes"), 0o600.into()).unwrap();
    assert_eq!(repo.code("d/a.txt", Head), "BAD_REPOSITORY");
}

#[test]
fn keywords_are_taken_out() {
    let repo = Repo::with(&[("a.c", "$Id$\ncode\n"), (".gitattributes", "*.c ident\n")]);
    repo.write("a.c", "$Id: 0123456789abcdef $\ncode\n$Id: open\n$Id:$\n");
    repo.agrees("a.c", "modified");
    assert_eq!(repo.diff("a.c", Head).added, 2);
}

#[test]
fn encodings_that_are_known_are_undone() {
    let utf16 = |text: &str, bom: bool| -> Vec<u8> {
        let mark: &[u8] = if bom { &[0xff, 0xfe] } else { &[] };
        mark.iter().copied().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let repo = Repo::with(&[(
        ".gitattributes",
        "*.u16 working-tree-encoding=UTF-16\n*.le working-tree-encoding=UTF-16LE\n*.bom working-tree-encoding=UTF-16LE-BOM\n\
         *.l1 working-tree-encoding=ISO-8859-1\n*.u32 working-tree-encoding=utf-32be\n*.u8 working-tree-encoding=utf-8\n",
    )]);
    let names = ["a.u16", "a.le", "a.bom", "a.l1", "a.u32", "a.u8"];
    let files = |text: &str| -> [Vec<u8>; 6] {
        [
            utf16(text, true),
            utf16(text, false),
            utf16(text, true),
            text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
            text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
            text.as_bytes().to_vec(),
        ]
    };
    for (name, bytes) in names.iter().zip(files("café\none\n")) {
        repo.write(name, bytes);
    }
    repo.commit();
    for (name, bytes) in names.iter().zip(files("café\ntwo\n")) {
        assert_eq!(repo.diff(name, Head).status.as_str(), "unchanged", "{name}");
        repo.write(name, bytes);
        repo.agrees(name, "modified");
        assert!(repo.diff(name, Index).text.contains(" café\n-one\n+two\n"), "{name}");
    }
    repo.write("a.u16", utf16("x", false));
    repo.write("a.le", utf16("x", true));
    repo.write("a.bom", b"\xff\xfex");
    for name in ["a.u16", "a.le", "a.bom"] {
        assert_eq!(repo.code(name, Head), "ENCODED", "{name}");
    }
}

#[test]
fn encodings_that_are_not_known_are_refused() {
    let repo = Repo::with(&[("a.jis", "x\n"), ("b.jis", "x\n")]);
    repo.write(".gitattributes", "a.jis working-tree-encoding=SHIFT-JIS\nb.jis working-tree-encoding\n");
    let error = repo.ask("a.jis", Head, None).unwrap_err();
    assert_eq!(error.code(), "ENCODED");
    assert!(Surface::Cli.error(&error).contains("`SHIFT-JIS`: this encoding is not known here"), "{error}");
    assert_eq!(repo.code("b.jis", Head), "ENCODED");
}

#[test]
fn no_filter_is_ever_run() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    let ran = repo.beside("ran");
    let program = format!("touch {}; cat", ran.display());
    for (key, other) in [("clean", "process"), ("process", "clean")] {
        repo.set(&format!("filter.hostile.{key}"), &program);
        let _ =
            crate::repo::git_in(&repo.path).args(["config", "--unset", &format!("filter.hostile.{other}")]).output();
        repo.write(".gitattributes", "a.txt filter=hostile\nb.txt filter=unknown\n");
        repo.write("a.txt", "two\n");
        for against in [Head, Index] {
            let error = repo.ask("a.txt", against, None).unwrap_err();
            assert_eq!(error.code(), "FILTERED");
            assert!(Surface::Cli.error(&error).contains("the filter `hostile`"), "{error}");
        }
        assert_eq!(repo.ask("a.txt", Head, Some("x")).unwrap_err().code(), "FILTERED");
    }
    assert!(!ran.exists());
    // In a comparison with other text nothing is cleaned.
    assert_eq!(repo.ask("a.txt", WorkTree, Some("x\n")).unwrap().added, 1);
    // As in git, a filter without configuration has no effect, unless it is required.
    repo.write("b.txt", "two\n");
    repo.agrees("b.txt", "modified");
    repo.set("filter.unknown.smudge", "cat");
    repo.agrees("b.txt", "modified");
    repo.set("filter.unknown.required", "true");
    assert_eq!(repo.code("b.txt", Head), "FILTERED");
    // Nor is a textconv or external diff program.
    repo.write(".gitattributes", "b.txt diff=hostile\n");
    for key in ["diff.hostile.textconv", "diff.hostile.command", "diff.external", "core.fsmonitor", "core.hooksPath"] {
        repo.set(key, &program);
    }
    assert_eq!(repo.diff("b.txt", Head).added, 1);
    assert!(!ran.exists());
}

#[test]
fn a_file_of_git_lfs_is_its_pointer() {
    let repo = Repo::with(&[(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")]);
    // The SHA-256 of "old" and "new".
    let pointer = |sum: &str| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sum}\nsize 3\n");
    let old = pointer("f2ccb4b14d0bd4a6a0a7cc4dc4a9a3ee2f2ccfa5c69d6fd2fb1e0ae1a1f76f5c");
    let id = crate::repo::fed(
        {
            let mut git = crate::repo::git_in(&repo.path);
            git.args(["hash-object", "-w", "--no-filters", "--stdin"]);
            git
        },
        old.as_bytes(),
    );
    let id = String::from_utf8(crate::repo::done(&id)).unwrap();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},a.bin", id.trim())]);
    repo.git(&["commit", "-qm", "pointer"]);
    repo.write("a.bin", "new");
    // Without Git LFS set up, git sees the file itself.
    repo.agrees("a.bin", "modified");
    assert!(repo.diff("a.bin", Head).text.contains("+new\n"));
    repo.set("filter.lfs.clean", "git-lfs clean -- %f");
    repo.set("filter.lfs.process", "git-lfs filter-process");
    repo.set("filter.lfs.required", "true");
    let found = repo.diff("a.bin", Head);
    assert!(notice(&found.notices[0]).contains("Git LFS"), "{:?}", found.notices);
    let sum = readproof_core::text::ContentHash::of(b"new").to_string();
    assert_eq!((found.added, found.removed), (1, 1));
    assert!(found.text.contains(&format!("+oid sha256:{sum}\n")), "{}", found.text);
    // A pointer that was never fetched stays a pointer, and an empty file stays empty.
    repo.write("a.bin", &old);
    assert_eq!(repo.diff("a.bin", Head).status.as_str(), "unchanged");
    repo.write("a.bin", "");
    assert_eq!(repo.diff("a.bin", Head).removed, 3);
    // Another filter with that name, or one with more steps.
    repo.write("a.bin", "new");
    repo.set("lfs.extension.foo.clean", "foo");
    assert_eq!(repo.code("a.bin", Head), "FILTERED");
    repo.git(&["config", "--unset", "lfs.extension.foo.clean"]);
    repo.set("filter.lfs.clean", "evil clean -- %f");
    assert_eq!(repo.code("a.bin", Head), "FILTERED");
}
