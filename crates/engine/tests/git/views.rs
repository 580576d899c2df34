//! Reads of files in other encodings: what git's attributes declare is used, comes before `.editorconfig`, and costs nothing but
//! the declaration where a repository is malicious or damaged.

use readproof_engine::operation::{Decoding, Read};
use readproof_testkit::ask::Ask;
use readproof_words::notice::notice;
use std::{fs, os::unix::fs::symlink, path::Path, sync::mpsc::channel, thread, time::Duration};

use crate::repo::{Repo, engine_at};

/// An answer that takes longer hangs.
const SOON: Duration = Duration::from_secs(10);

/// The text, and what is said about its encoding.
fn view(path: &Path, name: &str) -> Result<(String, String), &'static str> {
    let (path, name) = (path.to_path_buf(), name.to_owned());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let asked = Read { path: name, decoding: Decoding::View, ..Read::default() };
        let read = engine_at(&path).read(None, asked);
        let said = read.map(|answer| (answer.text, answer.notices.iter().map(notice).collect::<String>()));
        let _ = sender.send(said.map_err(|error| error.code()));
    });
    receiver.recv_timeout(SOON).expect("an answer in time")
}

#[track_caller]
fn decoded(repo: &Repo, name: &str, text: &str, from: &str) {
    let said = format!("decoded from {from}, so this is not the file byte for byte");
    assert_eq!(view(&repo.path, name), Ok((text.to_owned(), said)), "{name}");
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn what_attributes_declare_comes_first() {
    let repo = Repo::with(&[
        (
            ".gitattributes",
            "*.le working-tree-encoding=UTF-16LE\n*.be working-tree-encoding=UTF-16BE\n*.marked working-tree-encoding=UTF-16\n\
             *.jis working-tree-encoding=SHIFT-JIS\n*.flag working-tree-encoding\n*.l1 working-tree-encoding=latin1\n",
        ),
        ("d/.gitattributes", "*.le -working-tree-encoding\n*.l1 !working-tree-encoding\n"),
        (".editorconfig", "[d/**]\ncharset = utf-16le\n[*.marked]\ncharset = utf-16le\n"),
    ]);
    for name in ["a.le", "d/a.le", "a.marked", "a.jis"] {
        repo.write(name, utf16("hé\n"));
    }
    decoded(&repo, "a.le", "hé\n", "UTF-16LE (as git's attributes declare)");
    decoded(&repo, "d/a.le", "hé\n", "UTF-16LE (as .editorconfig declares)");
    decoded(&repo, "a.marked", "hé\n", "UTF-16LE (as .editorconfig declares)");
    assert_eq!(view(&repo.path, "a.jis"), Err("NOT_TEXT"), "declared, but it is not in that encoding");
    repo.write("a.be", utf16("Ø\n"));
    assert_eq!(view(&repo.path, "a.be"), Err("NOT_TEXT"), "half a pair");
    repo.write("b.be", b"caf\xe9 noir\n\n");
    repo.write("a.flag", b"caf\xe9 noir\n");
    repo.write("b.jis", b"\x93\xfa\n");
    repo.write("a.l1", b"\xbfqu\xe9?\n");
    decoded(&repo, "a.flag", "café noir\n", "windows-1252");
    decoded(&repo, "b.jis", "日\n", "Shift_JIS (as git's attributes declare)");
    decoded(&repo, "a.l1", "¿qué?\n", "ISO-8859-1 (as git's attributes declare)");
    // A mark comes before what is declared, and UTF-8 is never decoded.
    repo.write("b.l1", [&[0xff, 0xfe][..], &utf16("x\n")].concat());
    decoded(&repo, "b.l1", "x\n", "UTF-16LE");
    repo.write("c.l1", "hé\n");
    assert_eq!(view(&repo.path, "c.l1"), Ok(("hé\n".to_owned(), String::new())));
    // Outside of a repository.
    fs::remove_dir_all(repo.path.join(".git")).unwrap();
    assert_eq!(view(&repo.path, "a.le"), Err("NOT_TEXT"));
    decoded(&repo, "d/a.le", "hé\n", "UTF-16LE (as .editorconfig declares)");
}

#[test]
fn a_malicious_repository_declares_nothing() {
    type Harm<'a> = (&'static str, &'a dyn Fn(&Path));
    let pipe = |path: &Path| {
        let _ = fs::remove_file(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
    };
    let device = |path: &Path| {
        let _ = fs::remove_file(path);
        symlink("/dev/zero", path).unwrap();
    };
    let large = |path: &Path| {
        let _ = fs::remove_file(path);
        fs::File::create(path).unwrap().set_len(5 << 30).unwrap();
    };
    let many = |path: &Path| fs::write(path, "*.txt working-tree-encoding=UTF-16LE\n".repeat(100_000)).unwrap();
    let noise = |path: &Path| fs::write(path, b"\0\xff[\"\\\n[attr]\n!x y=\n").unwrap();
    let harms: [Harm<'_>; 5] =
        [("pipe", &pipe), ("device", &device), ("large", &large), ("many", &many), ("noise", &noise)];
    for place in [".gitattributes", ".git/HEAD", ".git/config", ".git/info/attributes", ".git/packed-refs"] {
        for (kind, harm) in harms {
            let repo = Repo::with(&[("d/x", "x\n")]);
            fs::create_dir_all(repo.path.join(".git/info")).unwrap();
            repo.write("a.txt", b"caf\xe9 noir\n");
            harm(&repo.path.join(place));
            let (text, said) = view(&repo.path, "a.txt").unwrap();
            assert_eq!(text, "café noir\n", "{place}: {kind}");
            assert!(said.starts_with("decoded from windows-1252, "), "{place}: {kind}: {said}");
        }
    }
    // Attributes of another place are not heeded.
    let repo = Repo::with(&[("x", "x\n")]);
    fs::write(repo.beside("attributes"), "* working-tree-encoding=UTF-16LE\n").unwrap();
    repo.write("a.txt", utf16("hi\n"));
    symlink(repo.beside("attributes"), repo.path.join(".gitattributes")).unwrap();
    assert_eq!(view(&repo.path, "a.txt"), Err("NOT_TEXT"));
    repo.remove(".gitattributes");
    repo.set("core.attributesFile", repo.beside("attributes").to_str().unwrap());
    assert_eq!(view(&repo.path, "a.txt"), Err("NOT_TEXT"));
}
