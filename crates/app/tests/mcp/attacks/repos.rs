//! Malicious repositories, each queried through one server: an answer within seconds, nothing from outside in it,
//! little memory, and the next call works. The long form generates hundreds at random.

use crate::client::Server;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const MARKER: &str = "MARKER-of-another-place";

fn git(folder: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/nonexistent");
    let output =
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).output().expect("git is in the path");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn made(folder: &Path, text: &str) {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q", "-b", "main"]);
    fs::write(folder.join("a.txt"), text).unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "x"]);
    fs::write(folder.join("a.txt"), "one\n").unwrap();
}

/// Replaces whatever is there by a file.
enum Harm {
    Pipe,
    Sparse,
    Link(&'static str),
    Out,
    Text(String),
}

fn harm(path: &Path, name: &str, other: &Path, harm: &Harm) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match harm {
        Harm::Pipe => rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap(),
        Harm::Sparse => fs::File::create(path).unwrap().set_len(5 << 30).unwrap(),
        Harm::Link(target) => symlink(target, path).unwrap(),
        Harm::Out => symlink(other.join(name), path).unwrap(),
        Harm::Text(text) => fs::write(path, text).unwrap(),
    }
}

#[test]
fn hostile_repositories_cost_one_answer_each() {
    let outer = tempfile::tempdir().unwrap();
    let other = outer.path().canonicalize().unwrap().join("other");
    made(&other, &format!("{MARKER}\n"));
    fs::write(other.join("settings"), format!("[core\n{MARKER}\n")).unwrap();
    let commit = fs::read_to_string(other.join(".git/refs/heads/main")).unwrap();
    let alternates = (0..30_000).map(|n| format!("../../x{n}\n")).collect();
    let borrowed = format!("{}/.git/objects\n", other.display());
    let included = format!("[core]\n\tbare = false\n[include]\n\tpath = {}/settings\n", other.display());
    let cases = [
        (".git/refs/heads/main", Harm::Pipe, "BAD_REPOSITORY"),
        (".git/index", Harm::Pipe, "BAD_REPOSITORY"),
        (".git/refs/heads/main", Harm::Link("/dev/zero"), "LEADS_OUT"),
        (".git/refs/heads/main", Harm::Sparse, "TOO_LARGE"),
        (".git/HEAD", Harm::Sparse, "TOO_LARGE"),
        (".git/config", Harm::Sparse, "TOO_LARGE"),
        (".git/packed-refs", Harm::Sparse, "TOO_LARGE"),
        (".gitattributes", Harm::Sparse, "TOO_LARGE"),
        (".git/objects/info/alternates", Harm::Text(alternates), "TOO_LARGE"),
        (".git/objects/info/alternates", Harm::Text(borrowed), "LEADS_OUT"),
        (".git/refs", Harm::Out, "LEADS_OUT"),
        (".git/refs/heads/main", Harm::Out, "LEADS_OUT"),
        (".git/objects", Harm::Out, "LEADS_OUT"),
        (".git/config", Harm::Text(included), "LEADS_OUT"),
    ];
    let mut server = Server::start(&[("plain.txt", "plain text\n")], &[]);
    let shape = outer.path().join("shape");
    made(&shape, "one\ntwo\n");
    for (number, (name, kind, code)) in cases.iter().enumerate() {
        let repo = server.path(&format!("r{number}"));
        assert!(Command::new("cp").arg("-a").args([&shape, &repo]).status().unwrap().success());
        if code == &"LEADS_OUT" && !name.ends_with("main") {
            fs::write(repo.join(".git/refs/heads/main"), &commit).unwrap();
        }
        harm(&repo.join(name), name, &other, kind);
        for against in ["HEAD", "INDEX"] {
            let began = Instant::now();
            let target = format!("r{number}/a.txt");
            let given = server.call("read", json!({"mode": "diff_preview", "target": target, "against": against}));
            assert!(began.elapsed() < Duration::from_secs(5), "{name}: {:?}", began.elapsed());
            assert_eq!(given.code(), *code, "{name}: {:?}", given.blocks);
            let raw = given.raw.to_string();
            assert!(!raw.contains(MARKER) && !raw.contains(other.to_str().unwrap()), "{name}: {raw}");
        }
        assert_eq!(
            server.call("read", json!({"mode": "file", "target": "plain.txt", "fresh": true})).text(),
            "plain text\n"
        );
        server.request("ping", json!({}));
    }
    assert!(server.peak_kib() < 200 << 10, "{} KiB", server.peak_kib());
}

#[test]
fn large_texts_cost_one_answer_each() {
    let mut server = Server::start(&[], &[]);
    let lines = |word: &str| (0..400_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    server.put("many.txt", lines("a"));
    server.put("newlines.txt", "\n".repeat(32 << 20));
    for (target, content) in [("many.txt", lines("b")), ("newlines.txt", "x\n".repeat(100_000))] {
        let began = Instant::now();
        let arguments = json!({"mode": "diff_preview", "target": target, "against": "WORKTREE", "content": content});
        let given = server.call("read", arguments);
        assert!(began.elapsed() < Duration::from_secs(5), "{target}: {:?}", began.elapsed());
        assert!(given.trailer().contains("too large to compare line by line"), "{}", given.trailer());
    }
    let arguments = json!({
        "mode": "diff_preview", "target": "many.txt", "against": "WORKTREE",
        "content": lines("a").replace("a 7\n", "x\n").replace("a 399999\n", "y\n"),
    });
    let given = server.call("read", arguments);
    let signs = |sign: &str| given.text().matches(sign).count();
    assert_eq!((signs("\n@@ "), signs("\n-a 7\n+x\n"), signs("\n-a 399999\n+y\n")), (2, 1, 1), "{}", given.text());
    assert!(server.peak_kib() < 200 << 10, "{} KiB", server.peak_kib());
}
