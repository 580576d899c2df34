//! What is new for a model's first calls: several files, lists, outlines, other encodings, names, and a window that fits the
//! host. The forms of arguments are in `calls`.

use crate::client::{Server, numbered};
use serde_json::json;

#[test]
fn several_files_are_several_reads() {
    let mut server = Server::start(&[("a.txt", "one\n"), ("d/b.txt", "two\nthree\n")], &[]);
    server.window("t", "t:0");
    let given = server.call("read", json!({"targets": ["a.txt", {"path": "d/b.txt", "start_line": 2}, "gone.txt"]}));
    assert_eq!((given.blocks.len(), &*given.blocks[0], &*given.blocks[2]), (5, "one\n", "three\n"));
    assert!(given.blocks[1].starts_with("[a.txt: line 1 of 1; known="), "{:?}", given.blocks);
    assert!(given.blocks[4].starts_with("[gone.txt: NOT_FOUND: "), "{:?}", given.blocks);
    let handle = given.contract["results"][0]["meta"]["handle"].as_str().unwrap().to_owned();
    let again = server.call("read", json!({"path": "a.txt", "known": handle}));
    assert_eq!(again.decision(), "unchanged", "each was recorded as its own read");
    server.put("long.txt", numbered(4000));
    let full = server
        .call("read", json!({"targets": ["long.txt", "long.txt", "long.txt", "long.txt", "a.txt"], "limit": 900}));
    let size: usize = full.blocks.iter().map(|block| block.chars().count()).sum();
    assert!(size <= 42_000 && full.trailer().contains("read these next: "), "{size} {}", full.trailer());
}

#[test]
fn a_list_is_bounded_and_says_how_to_go_on() {
    let mut server = Server::start(&[("a.txt", "1\n2\n"), ("src/b.rs", ""), ("src/deep/c.rs", "x")], &[]);
    let all = server.call("list", json!({}));
    assert_eq!(all.text(), "a.txt 2 lines, 4 B\nsrc/\n  b.rs 0 lines, 0 B\nsrc/deep/\n  c.rs 1 line, 1 B\n");
    assert_eq!(all.trailer(), "[.: 3 files]");
    let top = server.call("list", json!({"depth": 1}));
    assert_eq!(top.text(), "a.txt 2 lines, 4 B\nsrc/ 2 files\n");
    assert!(top.trailer().contains("give depth"), "{}", top.trailer());
    for number in 0..300 {
        server.put(&format!("many/{number:03}"), "");
    }
    let many = server.call("list", json!({"path": "many"}));
    assert!(many.text().lines().count() == 200 && many.trailer().contains("100 more names"), "{}", many.trailer());
    assert_eq!(server.call("list", json!({"path": "gone"})).code(), "NOT_FOUND");
    assert_eq!(server.call("list", json!({"path": "../x"})).code(), "OUTSIDE_WORKSPACE");
}

#[test]
fn an_outline_has_the_lines_of_the_file() {
    let code = "//! Doc.\n\n/// A box.\npub struct Box<\n    T,\n> {\n    t: T,\n}\n\nimpl<T> Box<T> {\n    fn open(self) -> T {\n        self.t\n    }\n}\n";
    let mut server = Server::start(&[("src/a.rs", code), ("notes.xyz", "x\n")], &[]);
    let given = server.call("outline", json!({"path": "src/a.rs"}));
    for line in given.text().lines() {
        let (place, text) = line.split_once(':').unwrap();
        let number: usize = place.split('-').next().unwrap().parse().unwrap();
        assert_eq!(code.lines().nth(number - 1), Some(text), "{line}");
    }
    assert!(given.text().contains("11-13:    fn open(self) -> T {"), "{}", given.text());
    let folder = server.call("outline", json!({"path": "."}));
    assert!(folder.text().starts_with("src/a.rs (14 lines)\n"), "{}", folder.text());
    assert_eq!(server.call("outline", json!({"path": "notes.xyz"})).code(), "NO_LANGUAGE");
}

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[test]
fn lines_found_in_utf16_never_count_as_held() {
    for (tool, arguments) in [
        ("search", json!({"query": "zwei", "mode": "regex"})),
        ("search", json!({"query": "zwei", "mode": "text"})),
        ("search_in_file", json!({"path": "a.txt", "query": "zwei"})),
    ] {
        let mut server = Server::start(&[("a.txt", "eins\nzwei\n"), ("b.txt", "b\n")], &[]);
        server.window("t", "t:0");
        let handle = server.call("read", json!({"path": "a.txt"})).handle().unwrap();
        server.put("a.txt", utf16("eins\n\nund zwei\n"));
        let found = server.call(tool, arguments.clone());
        assert!(found.text().contains("3:und zwei"), "{arguments}: {:?}", found.blocks);
        assert_eq!(found.blocks.concat().contains("decoded from UTF-16LE"), tool == "search_in_file");
        // A read of what was found is a view, however often.
        for _ in 0..2 {
            let view = server.call("read", json!({"path": "a.txt", "known": handle}));
            assert_eq!((view.text(), view.handle()), ("eins\n\nund zwei\n", None), "{arguments}");
        }
        server.put("a.txt", "eins\nzwei\n");
        let again = server.call("read", json!({"path": "a.txt", "known": handle}));
        assert_eq!(again.decision(), "full", "{arguments}: another text was shown since");
    }
    // The search alone ends what was held.
    let mut server = Server::start(&[("a.txt", "eins\nzwei\n")], &[]);
    server.window("t", "t:0");
    let handle = server.call("read", json!({"path": "a.txt"})).handle().unwrap();
    server.put("a.txt", utf16("eins\nzwei!\n"));
    assert!(server.call("search", json!({"query": "zwei"})).text().contains("a.txt:2:zwei!"));
    server.put("a.txt", "eins\nzwei\n");
    assert_eq!(server.call("read", json!({"path": "a.txt", "known": handle})).decision(), "full");
}

#[test]
fn a_declared_encoding_is_named() {
    let config = "root = true\n[*.le]\ncharset = utf-16le\n[*.txt]\ncharset = latin1\n";
    let mut server = Server::start(&[(".editorconfig", config), ("b.txt", "b\n")], &[]);
    server.put("a.le", &utf16("hi\n")[2..]);
    server.put("a.txt", b"\xbfqu\xe9?\n");
    for (name, text, encoding) in [("a.le", "hi\n", "UTF-16LE"), ("a.txt", "\u{bf}qu\u{e9}?\n", "ISO-8859-1")] {
        let view = server.call("read", json!({"path": name}));
        assert_eq!(view.text(), text);
        let said = format!("decoded from {encoding} (as .editorconfig declares)");
        assert!(view.trailer().contains(&said), "{}", view.trailer());
    }
    let both = server.call("read", json!({"targets": ["b.txt", "a.le"]}));
    assert!(both.blocks.contains(&"b\n".to_owned()) && both.blocks.contains(&"hi\n".to_owned()), "{:?}", both.blocks);
    // In a search they are bytes.
    assert!(
        server.call("search", json!({"query": "qu", "mode": "regex"})).text().contains("a.txt:1:\u{fffd}qu\u{fffd}?")
    );
    assert_eq!(server.call("search", json!({"query": "^hi$", "mode": "regex"})).contract["results"], json!([]));
}

#[test]
fn another_encoding_is_a_view() {
    let mut server = Server::start(&[("a.txt", "d\u{e9}j\u{e0} vu\n")], &[]);
    server.window("t", "t:0");
    let plain = server.call("read", json!({"path": "a.txt"}));
    let handle = plain.handle().unwrap();
    server.put("a.txt", b"tr\xe8s diff\xe9rent, d\xe9j\xe0\n");
    let view = server.call("read", json!({"path": "a.txt", "known": handle}));
    assert_eq!((view.text(), view.handle()), ("tr\u{e8}s diff\u{e9}rent, d\u{e9}j\u{e0}\n", None));
    assert!(view.trailer().contains("decoded from windows-1252"), "{}", view.trailer());
    server.put("a.txt", "d\u{e9}j\u{e0} vu\n");
    let again = server.call("read", json!({"path": "a.txt", "known": handle}));
    assert_eq!(again.decision(), "full", "another text was shown since");
    assert_eq!(server.call("read_file", json!({"path": "a.txt"})).text(), "d\u{e9}j\u{e0} vu\n");
}

#[test]
fn a_default_window_fits_a_host_that_cuts() {
    let wide = "\u{6f22}".repeat(40) + "\n";
    let mut server = Server::start(&[("a.txt", &wide.repeat(300))], &[]);
    server.meta.insert("threadId".to_owned(), json!("t"));
    server.meta.insert("windowId".to_owned(), json!("t:0"));
    let given = server.call("read", json!({"path": "a.txt"}));
    let size: usize = given.blocks.iter().map(String::len).sum();
    assert!(size <= 10_000 && given.trailer().contains("go on with start_line="), "{size} {}", given.trailer());
}

#[test]
fn what_is_listed_of_handles_depends_on_the_host() {
    let mut server = Server::start(&[], &[]);
    let known = |server: &mut Server| {
        let tools = server.request("tools/list", json!({}));
        let read = tools["result"]["tools"][0].clone();
        (read["inputSchema"]["properties"].get("known").is_some(), read["description"].to_string().contains("known="))
    };
    assert_eq!(known(&mut server), (false, false));
    server.window("t", "t:0");
    assert_eq!(known(&mut server), (true, true));
}

#[test]
fn sessions_without_handles_keep_no_text() {
    // With a log of calls they do: a replay needs the texts.
    let mut server = Server::start(&[("a.txt", "some text\n")], &[]);
    server.call("read", json!({"path": "a.txt"}));
    let status = server.call("readcache_status", json!({}));
    assert_eq!((&status.contract["answers"]["full"], &status.contract["store"]["objects"]), (&json!(1), &json!(0)));
    server.window("t", "t:0");
    server.call("read", json!({"path": "a.txt"}));
    assert_eq!(server.call("readcache_status", json!({})).contract["store"]["objects"], 1);
}
