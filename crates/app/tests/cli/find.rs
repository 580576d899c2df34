//! `head`, `tail`, `grep`, `stat` and `search`: compared with coreutils, on files of any size, in hostile trees.

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
    os::unix::{ffi::OsStrExt, net::UnixListener},
    process::Command,
};

use serde_json::{Value, json};

use crate::workspace::{Workspace, finish, numbered};

/// Pseudo-random numbers with a fixed seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    /// Text with all kinds of lines and ends.
    fn text(&mut self) -> String {
        let mut text = String::new();
        let lines = [0, 1, 2, 12, 60, 300][usize::try_from(self.below(6)).unwrap()];
        for _ in 0..self.below(lines + 1) {
            for _ in 0..self.below(40) {
                text.push(['a', 'é', '😀', ' ', '\t', '\r', '汉', '\u{301}'][usize::try_from(self.below(8)).unwrap()]);
            }
            text.push_str(["\n", "\r\n", "\n\n"][usize::try_from(self.below(3)).unwrap()]);
        }
        if self.below(2) == 0 {
            text.push_str("no newline");
        }
        text
    }
}

fn pipe(ws: &Workspace, name: &str) {
    assert!(Command::new("mkfifo").arg(ws.path(name)).status().unwrap().success());
}

/// What coreutils print, to the byte.
fn coreutils(ws: &Workspace, verb: &str, lines: &str, name: &str) -> String {
    finish(ws.command(verb).args(["-n", lines, name])).text()
}

#[test]
fn head_and_tail_are_those_of_coreutils() {
    let ws = Workspace::new();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..200 {
        let text = dice.text();
        ws.put("a.txt", &text);
        let lines = (1 + dice.below(if round % 2 == 0 { 5 } else { 400 })).to_string();
        for verb in ["head", "tail"] {
            let theirs = coreutils(&ws, verb, &lines, "a.txt");
            assert!(theirs.chars().count() <= 40_000);
            let done = ws.run_args(&[verb, "a.txt", "-n", &lines, "--json"]).json();
            assert_eq!(done["content"], theirs, "{verb} -n {lines} of {text:?}");
            assert_eq!(done["truncated"], theirs != text, "{verb} -n {lines} of {text:?}");
            assert_eq!(done["line_count"], theirs.split_inclusive('\n').count(), "{verb} -n {lines} of {text:?}");
            if round % 20 == 0 {
                // Hidden characters are named on standard error.
                assert_eq!(ws.run_args(&[verb, "a.txt", "-n", &lines]).noticed(&[]), theirs);
            }
        }
    }
}

/// Lines, a hole of nearly a gigabyte, and lines again.
fn sparse(ws: &Workspace) {
    let mut file = fs::File::create(ws.path("sparse")).unwrap();
    file.write_all(numbered(5000).as_bytes()).unwrap();
    file.set_len(1 << 30).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(format!("\n{}", numbered(5000)).as_bytes()).unwrap();
    fs::File::create(ws.path("hole")).unwrap().set_len(1 << 30).unwrap();
}

#[test]
fn the_ends_of_a_sparse_gigabyte() {
    let ws = Workspace::new();
    sparse(&ws);
    for lines in ["1", "10", "5000"] {
        for verb in ["head", "tail"] {
            ws.run_args(&[verb, "sparse", "-n", lines]).gives(&coreutils(&ws, verb, lines, "sparse"));
        }
    }
    let tail = ws.run("tail sparse -n 2 --json").json();
    assert_eq!(
        (&tail["start_line"], &tail["total_lines"], &tail["truncated"]),
        (&Value::Null, &Value::Null, &json!(true))
    );
    // The hole is one line: the part that fits is given, without reading all of it into memory.
    let limited = "ulimit -v 300000; exec \"$@\"";
    for verb in ["head", "tail"] {
        let done = ws.shell(limited, &format!("{verb} sparse -n 5001"));
        assert_eq!(done.noticed(&["5000 lines of sparse fit one answer"]), numbered(5000));
        ws.shell(limited, &format!("{verb} hole")).refused(1, &["`hole` is not text: it holds a NUL byte"]);
    }
    ws.shell(limited, "grep 77 sparse").refused(1, &["NUL byte at offset 23893"]);
    ws.shell(limited, "tail sparse -n 1").gives("5000\n");
}

#[test]
fn an_answer_holds_forty_thousand_characters() {
    let ws = Workspace::with(&[("many", &"äöü456789\n".repeat(5000)), ("one", &format!("{}end", "ä".repeat(50_000)))]);
    for verb in ["head", "tail"] {
        let many = ws.run(&format!("{verb} many -n 4500 --json")).json();
        assert_eq!(many["content"], "äöü456789\n".repeat(4000), "{verb}");
        assert_eq!(
            (&many["cut"], &many["truncated"], &many["partial_line"]),
            (&json!(true), &json!(true), &json!(false))
        );
        let one = ws.run(&format!("{verb} one --json")).json();
        assert_eq!(one["content"].as_str().unwrap().chars().count(), 40_000, "{verb}");
        assert_eq!((&one["cut"], &one["truncated"], &one["partial_line"]), (&json!(true), &json!(true), &json!(true)));
    }
    let plain = ws.run("tail one").noticed(&["only the last part of one line of one fits one answer"]);
    assert!(plain.ends_with("äend"));
}

#[test]
fn a_search_is_no_longer_than_an_answer() {
    let ws = Workspace::new();
    for name in ["a", "\u{202e}\u{1b}", "b"] {
        ws.put(&name.repeat(50), format!("{}\n", "x".repeat(400)).repeat(200));
    }
    for words in ["grep x", "search x --mode regex", "search x --context 9", "search x --mode path"] {
        let name = if words.starts_with("grep") { "a".repeat(50) } else { "--limit=9999".to_owned() };
        let done = ws.run(&format!("{words} {name}"));
        assert!(done.code == Some(0) && done.out.chars().count() <= 40_000, "{words}: {}", done.out.len());
    }
    let found = ws.run("search x --mode regex --limit 9999 --json").json();
    assert_eq!((&found["meta"]["total_matches"], &found["meta"]["truncated"]), (&json!(600), &json!(true)));
}

#[test]
fn what_head_says() {
    let ws = Workspace::with(&[("a.txt", "1\n2\n3\n")]);
    let whole = json!({
        "success": true, "operation": "read_file_head", "path": "a.txt", "start_line": 1, "end_line": 3, "line_count": 3,
        "total_lines": 3, "truncated": false, "cut": false, "partial_line": false, "size_bytes": 6, "content": "1\n2\n3\n",
    });
    assert_eq!(ws.run("head a.txt --json").json(), whole);
    let last = ws.run("tail @a.txt -n 1 --json").json();
    assert_eq!(
        (&last["operation"], &last["start_line"], &last["content"]),
        (&json!("read_file_tail"), &json!(3), &json!("3\n"))
    );
    ws.run("head a.txt -n 0").refused(2, &["--lines 0 is no line count"]);
    ws.run("head a.txt -n -1").refused(2, &["--lines -1 is no line count"]);
    ws.run("head none").refused(1, &["`", "none` does not exist"]);
    ws.run("head a.txt:1-2").refused(1, &["does not exist"]);
    ws.run("head ../../etc/passwd").refused(1, &["outside the workspace"]);
    pipe(&ws, "pipe");
    for verb in ["head pipe", "tail pipe", "grep a pipe", "head .", "grep a ."] {
        ws.run(verb).refused(1, &["not a file"]);
    }
}

#[test]
fn the_lines_of_one_file() {
    let ws = Workspace::with(&[("a.txt", "fn a\nx\nfn b\ny\nz\nw\nFN c\n"), ("binary", "a\n\0")]);
    ws.run_args(&["grep", "fn", "a.txt"]).gives("a.txt:1:fn a\na.txt:3:fn b\n");
    ws.run_args(&["grep", "fn|FN", "a.txt", "--regex", "--after", "1"])
        .gives("a.txt:1:fn a\na.txt-2-x\na.txt:3:fn b\na.txt-4-y\n--\na.txt:7:FN c\n");
    ws.run("grep none a.txt").gives("");
    let found = ws.run_args(&["grep", "fn", "a.txt", "--max-matches", "1", "--json"]).json();
    let expected = json!({
        "success": true, "operation": "search_in_file", "path": "a.txt", "query": "fn", "is_regex": false, "count": 1,
        "total_matches": 2, "truncated": true, "lossy": false, "size_bytes": 23,
        "lines": [{"line": 1, "match": true, "text": "fn a"}],
    });
    assert_eq!(found, expected);
    ws.run("grep ( a.txt --regex").refused(1, &["`(` cannot be searched for: ", "unclosed group"]);
    ws.run("grep ( a.txt").gives("");
    ws.run_args(&["grep", "", "a.txt"]).refused(2, &["the query is empty"]);
    ws.run("grep a binary").refused(1, &["`binary` is not text: it holds a NUL byte at offset 2"]);
    ws.put("latin", b"caf\xe9\n");
    let latin = ws.run("grep caf latin --json").json();
    assert_eq!((&latin["lossy"], &latin["lines"][0]["text"]), (&json!(true), &json!("caf\u{fffd}")));
    ws.put("utf16", b"\xff\xfea\0\n\0");
    assert_eq!(ws.run("grep a utf16").noticed(&["decoded from UTF-16LE"]), "utf16:1:a\n");
    ws.put("utf16", b"\xff\xfea\0\n\0\0\0");
    ws.run("grep a utf16").refused(1, &["`utf16` is not text: it holds a NUL byte"]);
    let long = format!("{}\n", "a".repeat(5000));
    ws.put("long", long.repeat(30));
    let long = ws.run("grep a long --json").json();
    assert_eq!(long["lines"][0]["text"].as_str().unwrap().len(), 2000);
    assert_eq!(
        (&long["lines"][0]["cut"], &long["total_matches"], &long["count"]),
        (&json!(true), &json!(30), &json!(19))
    );
}

#[test]
fn what_a_path_leads_to() {
    let ws = Workspace::with(&[("a.txt", "text\n"), ("dir/b", "")]);
    ws.link("link", "a.txt");
    ws.link("dangling", "nowhere");
    ws.link("out", "/etc/passwd");
    ws.link("loop", "loop");
    pipe(&ws, "pipe");
    let _socket = UnixListener::bind(ws.path("socket")).unwrap();
    let kind = |name: &str| ws.run_args(&["stat", name, "--json"]).json()["kind"].clone();
    for (name, expected) in [
        ("a.txt", "file"),
        ("link", "file"),
        ("dir", "directory"),
        (".", "directory"),
        ("pipe", "fifo"),
        ("socket", "socket"),
    ] {
        assert_eq!(kind(name), expected, "{name}");
    }
    let stat = ws.run("stat a.txt --json").json();
    let time = fs::metadata(ws.path("a.txt")).unwrap().modified().unwrap();
    let ms = u64::try_from(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let expected = json!({
        "success": true, "operation": "stat_file", "path": "a.txt", "exists": true, "kind": "file", "size_bytes": 5,
        "modified_unix_ms": ms,
    });
    assert_eq!(stat, expected);
    for name in ["none", "dangling", "a.txt/b", "no/such/folder"] {
        let missing = ws.run_args(&["stat", name, "--json"]).json();
        assert_eq!(
            (&missing["exists"], &missing["size_bytes"], &missing["path"]),
            (&json!(false), &Value::Null, &json!(name))
        );
    }
    ws.run("stat dir").gives("dir: directory\n");
    ws.run("stat none").gives("none: does not exist\n");
    ws.run("stat out").refused(1, &["out of the workspace"]);
    ws.run("stat /etc/passwd").refused(1, &["outside the workspace"]);
    ws.run("stat loop").refused(1, &["circle"]);
    // Nobody writes to the pipe, and it was never opened.
    ws.run("stat pipe").text();
}

#[test]
fn every_line_of_the_tree() {
    let ws =
        Workspace::with(&[("b.rs", "one\ntwo\nthree\n"), ("a/c.rs", "two\n"), ("a.rs", "tWo\n"), (".hidden", "two\n")]);
    ws.run("search two --mode regex").gives("a/c.rs:1:two\nb.rs:2:two\n");
    ws.run("search t.o --mode regex --context 1 --glob *.rs")
        .gives("a/c.rs:1:two\n--\na.rs:1:tWo\n--\nb.rs-1-one\nb.rs:2:two\nb.rs-3-three\n");
    ws.run("search none --mode regex").gives("");
    let first = ws.run("search two --mode regex --limit 1 --json").json();
    assert_eq!(first["results"].as_array().unwrap().len(), 1);
    assert_eq!((&first["meta"]["total_matches"], &first["meta"]["truncated"]), (&json!(2), &json!(true)));
    let exact = ws.run("search two --mode regex --limit 2 --json").json();
    assert_eq!(exact["meta"]["truncated"], false);
    ws.run("search [ --mode regex").refused(1, &["`[` cannot be searched for: ", "unclosed character class"]);
    ws.run("search a --glob a[").refused(1, &["`a[` is not a valid glob"]);
    ws.run("search a --mode fuzzy").refused(2, &["text", "regex", "path"]);
    ws.run_args(&["search", " "]).refused(2, &["the query is empty"]);
    // Lines of a search are cut.
    ws.put("long", "two".repeat(999));
    let long = ws.run("search two --mode regex --glob long --json").json();
    let line = &long["results"][0]["lines"][0];
    assert_eq!((line["text"].as_str().unwrap().len(), &line["cut"]), (300, &json!(true)));
}

#[test]
fn uses_of_a_name() {
    let ws = Workspace::with(&[("a.rs", "// two\nfn two() {}\nfn f() {\n    two();\n}\n"), ("b.txt", "two, twos\n")]);
    let shown = ws.run("search --mode references two").noticed(&["1 definition, 1 call; 2 only text"]);
    let calls = "definitions (1)\na.rs:2:fn two() {}\ncalls (1)\na.rs:4:    two();\n";
    assert_eq!(shown, format!("{calls}text (2)\na.rs:1:// two\nb.txt:1:two, twos\n"));
    let first = ws.run("search --mode references a::two() --limit 1 --context 1");
    let first = first.noticed(&["searched for `two`, the name in the query", "1 of 4 matching lines are shown"]);
    assert_eq!(first, "definitions (1)\na.rs-1-// two\na.rs:2:fn two() {}\na.rs-3-fn f() {\n");
    let found = ws.run("search --mode references two --json").json();
    let line = |hit: usize| {
        let line = &found["results"][hit]["lines"][0];
        (line["kind"].as_str().unwrap().to_owned(), line["certain"].as_bool().unwrap())
    };
    assert_eq!(
        [line(0), line(1), line(3)],
        [("definition".into(), true), ("call".into(), true), ("text".into(), false)]
    );
    assert_eq!((&found["meta"]["name"], &found["meta"]["files_not_parsed"]), (&json!("two"), &json!(0)));
    ws.run_args(&["search", "--mode", "references", "fn two"])
        .refused(2, &["`fn two` is not a name", "`store.load()`"]);
}

#[test]
fn files_by_words_best_first() {
    let filler = "nothing here\n".repeat(200);
    let ws = Workspace::with(&[
        ("deep/down/in/phrase.rs", &format!("{filler}// The Big Query\n")),
        ("query_big.rs", &format!("{filler}big\nquery\n")),
        ("defines.rs", "fn big_query() {}\n"),
        ("sparse.rs", &format!("{filler}big\n{filler}query\n")),
        ("half.rs", "// only big\n"),
        ("CHANGELOG.md", "big query big query big query\n"),
        ("none.rs", "// small bigger answers\n"),
    ]);
    let found = ws.run_args(&["search", "the big query", "--json"]).json();
    let expected =
        json!(["defines.rs", "query_big.rs", "deep/down/in/phrase.rs", "sparse.rs", "CHANGELOG.md", "half.rs"]);
    assert_eq!(found["meta"]["top_paths"], expected);
    assert_eq!((&found["meta"]["files_with_matches"], &found["meta"]["files_with_all_words"]), (&json!(6), &json!(5)));
    let (phrase, half) = (&found["results"][2], &found["results"][5]);
    assert_eq!(phrase["lines"], json!([{"line": 201, "match": true, "text": "// The Big Query"}]));
    assert_eq!((&half["lacks"], &phrase["lacks"]), (&json!(["query"]), &json!([])));
    assert_eq!(ws.run_args(&["search", "the big query", "--json"]).json(), found, "the same every time");
    let two = ws.run_args(&["search", "big query", "--limit", "2", "--json"]).json();
    assert_eq!((&two["meta"]["files_with_matches"], &two["meta"]["truncated"]), (&json!(6), &json!(true)));
    // A phrase must occur, and a word with a minus must not.
    let quoted = ws.run_args(&["search", "\"the big query\"", "--json"]).json();
    assert_eq!(quoted["meta"]["top_paths"], json!(["deep/down/in/phrase.rs"]));
    let without = ws.run_args(&["search", "--json", "--", "big -query"]).json();
    assert_eq!(without["meta"]["top_paths"], json!(["half.rs"]));
    // Case matters only if asked for.
    let exact = ws.run_args(&["search", "Big", "--case", "sensitive", "--json"]).json();
    assert_eq!(exact["meta"]["top_paths"], json!(["deep/down/in/phrase.rs"]));
    ws.run("search zzz").gives("");
}

#[test]
fn the_file_that_defines_a_name_comes_first() {
    let ws = Workspace::with(&[
        ("a.rs", &"transaction();\ntransaction();\n// fn transaction\n".repeat(20)),
        ("deep/in/transaction_test.rs", "use x::Transaction;\nfn transaction_test() { Transaction::new(); }\n"),
        ("deep/in/store.rs", &format!("{}pub struct Transaction {{}}\n", "// nothing\n".repeat(300))),
        ("transaction.md", "# Transaction\n\nA transaction is a Transaction.\n"),
    ]);
    let found = ws.run_args(&["search", "Transaction", "--json"]).json();
    assert_eq!(found["meta"]["top_paths"][0], "deep/in/store.rs");
    assert_eq!(found["results"][0]["lines"][0]["line"], 301);
}

#[test]
fn previews_are_the_best_lines() {
    let ws = Workspace::with(&[
        (
            "src/store.rs",
            "// Copyright 2020 The Snapshot Authors\n// Licensed under MIT, copy it\n\nuse crate::snapshot::copy;\n\n\
             impl Store {\n    fn load(&self) {\n        // nothing\n        take_snapshot(self.copy());\n    }\n}\n\
             /// A copy\nfn snapshot() {}\nfn other() {}\n// copy\n",
        ),
        ("plain.txt", "snapshot copy\n"),
    ]);
    let found = ws.run_args(&["search", "snapshot copy gone", "src", "--json"]).json();
    let lines: Vec<&Value> =
        found["results"][0]["lines"].as_array().unwrap().iter().map(|line| &line["line"]).collect();
    assert_eq!(lines, [9, 12, 13]);
    assert_eq!(found["results"][0]["lines"][0]["in"], "Store::load");
    let text = ws.run_args(&["search", "snapshot copy gone", "src"]).text();
    assert!(text.contains("  (9 in Store::load; "), "{text}");
    assert!(text.contains("more lines; lacks gone)\n"), "{text}");
}

#[test]
fn files_by_their_names() {
    let ws = Workspace::with(&[
        ("r/e/a/d", ""),
        ("rxexaxd", ""),
        ("read/x.rs", ""),
        ("src/unread.rs", ""),
        ("src/reader.rs", ""),
        ("reader.rs", ""),
        ("src/read", ""),
        ("other", ""),
    ]);
    let found = ws.run("search read --mode path").text();
    assert_eq!(found, "src/read\nreader.rs\nsrc/reader.rs\nsrc/unread.rs\nread/x.rs\nrxexaxd\n");
    assert_eq!(ws.run("search read --mode path --limit 1").noticed(&["1 of 6 files are shown"]), "src/read\n");
    ws.run("search src/re --mode path").gives("src/read\nsrc/reader.rs\n");
    let fits = ws.run("search read --mode path --json").json();
    assert_eq!((&fits["results"][0]["fit"], &fits["results"][5]["fit"]), (&json!("name"), &json!("letters")));
}

#[test]
fn a_tree_that_means_no_good() {
    let ws = Workspace::with(&[("good.txt", "needle\n"), ("sub/.gitignore", ""), ("sub/b.txt", "needle\n")]);
    fs::write(ws.top().join("secret"), "needle\n").unwrap();
    ws.link("out", ws.top().join("secret"));
    ws.link("up", "..");
    ws.link("loop", ".");
    pipe(&ws, "pipe");
    ws.put("closed/c.txt", "needle\n");
    pipe(&ws, "closed/.ignore");
    ws.put("binary", "needle\n\0");
    ws.put("forged\n/etc/passwd:1:needle", "needle\n");
    ws.put("esc\u{1b}[2J\u{202e}txt", "needle\n");
    fs::write(ws.path("").join(std::ffi::OsStr::from_bytes(b"odd\xff")), "needle\n").unwrap();
    fs::File::create(ws.path("large")).unwrap().set_len(1 << 40).unwrap();
    let expected = "esc\\u{1b}[2J\\u{202e}txt:1:needle\nforged\\n/etc/passwd:1:needle:1:needle\ngood.txt:1:needle\nodd\u{fffd}ff:1:needle\nsub/b.txt:1:needle\n";
    for mode in ["regex", "text"] {
        let done = ws.run(&format!("search needle --mode {mode}"));
        let mut lines: Vec<&str> = done.out.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.join("\n") + "\n", expected, "{mode}");
        let found = ws.run(&format!("search needle --mode {mode} --json")).json();
        let skipped = json!({
            "large": 1, "binary": 1, "unreadable": 0, "odd_names": 0, "folders": 1, "sensitive": 0, "long_lines": 0
        });
        assert_eq!(found["meta"]["skipped"], skipped, "{mode}");
        assert!(found["meta"]["top_paths"].as_array().unwrap().contains(&json!("esc\u{1b}[2J\u{202e}txt")));
    }
    let names = ws.run("search t --mode path").out;
    assert!(
        !names.contains('\u{1b}') && !names.contains('\u{202e}') && names.lines().all(|line| !line.starts_with("/etc"))
    );
    ws.run_args(&["stat", "esc\u{1b}[2J\u{202e}txt"]).text().strip_prefix("esc\\u{1b}[2J\\u{202e}txt: file").unwrap();
}
