//! Uses of a name: every line once, by how it uses the name, from the text that was searched.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make files")]

use readproof_core::path::Bearings;
use readproof_disk::Root;
use readproof_engine::{
    Engine, Error, Hit, Line, Searched, Settings, UseKind,
    operation::{Extent, Letters, Operation, Search, SearchMode},
};
use readproof_testkit::ask::Ask;
use std::{fs, path::Path};
use tempfile::TempDir;

fn put(at: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = at.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn world(files: &[(&str, &str)]) -> (TempDir, Engine) {
    let temp = tempfile::tempdir().unwrap();
    put(temp.path(), files);
    let bearings = Bearings { cwd: temp.path().to_str().unwrap().to_owned(), home: None };
    let engine = Engine::new(Root::open(temp.path()).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap();
    (temp, engine)
}

fn of(name: &str) -> Search {
    Search { query: name.to_owned(), mode: SearchMode::References, ..Search::default() }
}

fn ask(engine: &Engine, asked: Search) -> Searched {
    engine.ask(None, Operation::Search(asked)).unwrap()
}

/// `kind path:line` of each line that matches, in order.
fn said(found: &Searched) -> String {
    let line = |hit: &Hit, line: &Line| format!("{} {}:{}", line.kind.unwrap().as_str(), hit.path, line.number);
    let lines =
        found.hits.iter().flat_map(|hit| hit.lines.iter().filter(|one| one.matches).map(move |one| line(hit, one)));
    lines.collect::<Vec<_>>().join(", ")
}

const LIB: &str = "/// Does load.\npub fn load() {}\nfn twice() {\n    load();\n    let f = load; load();\n}\n";

#[test]
fn lines_by_kind_then_path_then_line() {
    let files = [
        ("b/lib.rs", LIB),
        ("a.py", "from b import load\nload()\n"),
        ("notes.txt", "load it\nreload\n"),
        ("c.toml", "load = 1\n"),
        ("key.pem", "load=1\n"),
        ("d.ts", "class A { x: load; }\n"),
    ];
    let (_temp, engine) = world(&files);
    let found = ask(&engine, of("load"));
    assert_eq!(
        said(&found),
        "definition b/lib.rs:2, call a.py:2, call b/lib.rs:4, call b/lib.rs:5, type d.ts:1, import a.py:1, \
         text b/lib.rs:1, text c.toml:1, text notes.txt:1"
    );
    let uses = found.uses.unwrap();
    assert_eq!(UseKind::ALL.map(|kind| uses.count(kind)), [1, 3, 1, 1, 0, 3]);
    assert_eq!((found.matches, found.files, found.truncated, uses.unparsed), (9, 5, false, 0));
    assert_eq!((found.skipped.sensitive, found.top.len()), (1, 5));
    // The rest of a search holds here too.
    let part = Extent { glob: Some("*.py".to_owned()), ..Extent::default() };
    assert_eq!(said(&ask(&engine, Search { extent: part, ..of("load") })), "call a.py:2, import a.py:1");
    let found = ask(&engine, Search { limit: Some(2), ..of("load") });
    assert_eq!((&*said(&found), found.matches, found.truncated), ("definition b/lib.rs:2, call a.py:2", 9, true));
    assert_eq!(ask(&engine, of("LOAD")).matches, 0);
    assert_eq!(ask(&engine, Search { letters: Letters::Any, ..of("LOAD") }).matches, 9);
    let found = ask(&engine, Search { letters: Letters::Any, ..of("LOAD") });
    assert!(said(&found).starts_with("definition b/lib.rs:2, "));
}

#[test]
fn lines_around_and_lines_that_do_not_fit() {
    let (_temp, engine) = world(&[("lib.rs", LIB)]);
    let found = ask(&engine, Search { context_lines: 1, limit: Some(2), ..of("load") });
    let lines: Vec<Vec<(u64, bool)>> =
        found.hits.iter().map(|hit| hit.lines.iter().map(|line| (line.number, line.matches)).collect()).collect();
    assert_eq!(lines, [vec![(1, false), (2, true), (3, false)], vec![(3, false), (4, true)]]);
    for max_chars in 0..400 {
        let found = ask(&engine, Search { max_chars, context_lines: 1, ..of("load") });
        let chars: usize =
            found.hits.iter().flat_map(|hit| &hit.lines).map(|line| line.text.chars().count() + 22).sum();
        assert!(chars <= max_chars && found.matches == 4, "{chars} {max_chars}");
        assert_eq!(found.truncated, said(&found).split(", ").filter(|line| !line.is_empty()).count() < 4);
    }
}

#[test]
fn a_qualified_name_is_searched_for_by_its_last_part() {
    let (_temp, engine) = world(&[("lib.rs", LIB), ("a.js", "$x.load(); let $load = 1;\n")]);
    for query in [
        "load",
        " load ",
        "Store::load",
        "store.load",
        "load()",
        "a::b.load(x, y)",
        "load!",
        "p->load",
        "A\\load",
        "A#load",
        "f().load",
    ] {
        let found = ask(&engine, of(query));
        assert_eq!((found.matches, found.uses.unwrap().name.as_str()), (5, "load"), "{query}");
    }
    assert_eq!(said(&ask(&engine, of("$load"))), "definition a.js:1");
    for query in ["fn load", "load.*", "load|x", "^load", "\\bload\\b", "load(", "[load]", "a b", "-", "load.", "::"] {
        let refused = engine.ask::<Searched>(None, Operation::Search(of(query)));
        assert!(matches!(refused, Err(Error::NotAName { .. })), "{query}");
    }
    assert!(matches!(engine.ask::<Searched>(None, Operation::Search(of(" "))), Err(Error::EmptyQuery)));
}

#[test]
fn what_is_not_parsed_is_text_and_counted() {
    let (temp, engine) = world(&[]);
    for n in 0..310 {
        put(temp.path(), &[(&format!("f{n:03}.rs"), "fn f() { load(); }\n")]);
    }
    put(temp.path(), &[("large.rs", &format!("{}fn f() {{ load(); }}\n", "// filler\n".repeat(60_000)))]);
    put(temp.path(), &[("a.bin", "load\0"), ("z.txt", "load")]);
    fs::write(temp.path().join("latin.rs"), b"fn f() { load(); } // \xe9\n").unwrap();
    fs::write(temp.path().join("bom.rs"), b"\xef\xbb\xbffn load() {}\n").unwrap();
    let found = ask(&engine, Search { limit: Some(1000), max_chars: 1 << 20, ..of("load") });
    let uses = found.uses.clone().unwrap();
    // `bom.rs` is parsed too.
    assert_eq!(UseKind::ALL.map(|kind| uses.count(kind)), [1, 299, 0, 0, 0, 14]);
    assert_eq!((uses.unparsed, found.skipped.binary, found.truncated), (12, 1, false));
    assert!(said(&found).contains("definition bom.rs:1, ") && said(&found).contains("text large.rs:60001, "));
    assert!(said(&found).contains("text latin.rs:1, ") && said(&found).contains("call f298.rs:1, "));
    assert!(said(&found).contains("text f299.rs:1, "));
}

/// Lines and kinds are of one text, whenever the file is replaced.
#[test]
fn a_line_that_changes_is_never_of_two_texts() {
    let (temp, engine) = world(&[("a.rs", LIB)]);
    let path = temp.path().join("a.rs");
    let shifted = format!("\n\n{LIB}");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..300 {
                let next = temp.path().join("next");
                fs::write(&next, if round % 2 == 0 { LIB } else { &shifted }).unwrap();
                fs::rename(&next, &path).unwrap();
            }
        });
        while !writer.is_finished() {
            let extent = Extent { glob: Some("a.rs".to_owned()), ..Extent::default() };
            let said = said(&ask(&engine, Search { extent, ..of("load") }));
            let at = |by: u64| {
                format!("definition a.rs:{}, call a.rs:{}, call a.rs:{}, text a.rs:{}", 2 + by, 4 + by, 5 + by, 1 + by)
            };
            assert!(said.is_empty() || said == at(0) || said == at(2), "{said}");
        }
    });
}
