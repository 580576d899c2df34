//! The query log and its replay: mixed calls come out byte-equal elsewhere, and whatever was altered is found and named.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make files, and may panic")]

use readproof_testkit::load::queries::{Verified, elsewhere, play, replayed};
use std::{fs, path::Path};

/// The workspace of a run, and what a replay of it says.
fn played(operations: u64, seed: u64) -> (tempfile::TempDir, std::path::PathBuf, Verified) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("ws");
    fs::create_dir(&root).unwrap();
    play(&root, operations, seed).unwrap();
    let found = replayed(&root).unwrap();
    (folder, root, found)
}

#[test]
fn mixed_calls_replay_byte_equal_without_their_files() {
    let (_folder, root, here) = played(500, 7);
    assert_eq!(here.wrong, Vec::<String>::new());
    let there = replayed(&elsewhere(&root).unwrap()).unwrap();
    assert_eq!(there, here, "the files and the name of the folder play no part");
    let open: u64 = here.unverifiable.values().sum();
    assert!(here.calls > 300 && open < 200 && here.searches > 3, "{here:?}");
    // Nothing that was stored is missing.
    for code in ["text_missing", "base_missing", "unknown_record", "unknown_rule", "erased"] {
        assert!(!here.unverifiable.contains_key(code), "{here:?}");
    }
}

fn log(root: &Path) -> std::path::PathBuf {
    root.join(".readproof/log/s.calls")
}

#[test]
fn a_flipped_byte_in_a_line_or_an_object_is_found_and_named() {
    let (_folder, root, _) = played(60, 3);
    let whole = fs::read(log(&root)).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(log(&root), &bytes).unwrap();
        let found = replayed(&root).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let named = found.wrong.iter().any(|said| said.starts_with("calls") && said.contains(&format!("line {line}")));
        // A flipped end of the last line leaves a fragment, which is what a crash leaves too.
        assert!(named || at + 1 == whole.len(), "byte {at} in line {line}: {:?}", found.wrong);
    }
    fs::write(log(&root), &whole).unwrap();
    let objects: Vec<_> = fs::read_dir(root.join(".readproof/objects")).unwrap().map(|e| e.unwrap().path()).collect();
    let mut altered = 0;
    for object in objects.iter().filter(|path| path.extension().is_some_and(|kind| kind == "txt")).take(12) {
        let text = fs::read(object).unwrap();
        let Some(last) = text.len().checked_sub(1) else { continue };
        let mut other = text.clone();
        other[last / 2] ^= 1;
        fs::write(object, &other).unwrap();
        let found = replayed(&root).unwrap();
        let name = object.file_name().unwrap().to_str().unwrap();
        // One that no call stands on is no call's fault.
        altered += usize::from(found.wrong.iter().any(|said| said.contains(name) && said.contains("damaged")));
        fs::write(object, &text).unwrap();
    }
    assert!(altered >= 8, "{altered} of the altered objects were named");
    assert_eq!(replayed(&root).unwrap().wrong, Vec::<String>::new());
}

#[test]
fn an_object_that_is_missing_is_unverifiable_and_nothing_else() {
    let (_folder, root, before) = played(60, 5);
    for object in fs::read_dir(root.join(".readproof/objects")).unwrap().map(|entry| entry.unwrap().path()) {
        if object.is_file() {
            fs::remove_file(object).unwrap();
        }
    }
    let found = replayed(&root).unwrap();
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.unverifiable.get("text_missing").is_some_and(|count| *count > 20), "{before:?} {found:?}");
}

#[test]
fn a_log_that_is_cut_anywhere_is_a_prefix_of_itself() {
    let (_folder, root, all) = played(12, 11);
    let whole = fs::read(log(&root)).unwrap();
    let mut last = 0;
    for length in 0..whole.len() {
        fs::write(log(&root), &whole[..length]).unwrap();
        let found = replayed(&root).unwrap();
        assert_eq!(found.wrong, Vec::<String>::new(), "cut at {length}");
        let open: u64 = found.unverifiable.values().sum();
        let seen = found.calls + open;
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(seen <= lines && seen + 1 >= last, "cut at {length}: {seen} calls in {lines} lines");
        last = seen;
    }
    assert!(all.calls > 0);
}

mod vectors {
    //! Golden vectors: what each rule makes of a fixed text and question. Another answer under the same id fails here; a rule that is
    //! changed on purpose gets another id and another vector, and the old records become unverifiable instead of wrong.

    use readproof_core::{
        edit::Places,
        knowledge::{Event, Knowledge, Naming, piece::pieces},
        limits::{Answers, Limits},
        operation::{
            Against, AnswerLimit, Audience, Caller, Change, Compare, Extent, Freshness, List, Matching, Operation,
            Outline, Over, Read, ReadSymbol, SearchFile, Write,
            rules::{self, tokens},
        },
        path::{Bearings, PathKey},
        render::partial,
        scope::Lines,
        text::Text,
    };
    use readproof_disk::Root;
    use readproof_engine::{Call, CallRecord, Concern, Control, Engine, LoggedSession, Merged, Settings, three_way};
    use std::{
        fs,
        path::Path,
        sync::{Arc, Mutex},
    };

    const ODD: &str = "one\r\ntwo\rstill\nthree\u{2028}still\u{85}three\n\nÜber straße I\u{307}\nlast";
    const SOURCE: &str =
        "use x;\n\n/// Doc.\nfn first() -> u32 {\n    1\n}\n\nstruct A;\n\nimpl A {\n    fn second(&self) {}\n}\n";

    #[derive(Default)]
    struct Latest(Mutex<String>);

    impl Concern for Latest {
        fn after(&self, record: &CallRecord<'_>) {
            assert_eq!(record.rules(), record.operation.rules());
            *self.0.lock().unwrap() = record.text().into_owned();
        }
    }

    fn engine(root: &Path, latest: &Arc<Latest>) -> Engine {
        let bearings = Bearings { cwd: root.display().to_string(), home: None };
        let engine = Engine::new(Root::open(root).unwrap(), bearings, Settings::default(), Box::new(|| 0)).unwrap();
        engine.with_concern(Arc::clone(latest) as Arc<dyn Concern>)
    }

    fn read(path: &str, offset: u64, limit: u64) -> Read {
        Read { path: path.to_owned(), offset: Some(offset), limit: Some(limit), ..Read::default() }
    }

    /// Each rule with a question that it decides, and the canonical text of the answer.
    fn vectors() -> Vec<(&'static str, Operation, &'static str)> {
        let most = AnswerLimit { lines: 2, chars: 100 };
        let symbol = ReadSymbol {
            target: "A::second".to_owned(),
            path: Some("src/a.rs".to_owned()),
            include_context: true,
            most: AnswerLimit::WINDOW,
            freshness: Freshness::Known,
            audience: Audience::Model,
        };
        let search = SearchFile {
            path: "odd.txt".to_owned(),
            query: r"(?i)\bÜ\w+|e$".to_owned(),
            matching: Matching::Regex,
            after: 1,
            ..SearchFile::default()
        };
        let compare = Compare {
            path: "src/a.rs".to_owned(),
            against: Against::WorkTree,
            content: Some(SOURCE.replace("    1\n", "    2\r\n")),
            most: AnswerLimit::NONE,
        };
        let loose = Change::Replace {
            old: "fn first() -> u32 {  \n    1\n}".to_owned(),
            new: "fn first() -> u32 {\n    7\n}".to_owned(),
            places: Places::One,
        };
        vec![
            ("lf-1", Operation::Read(read("odd.txt", 2, 2)), "two\rstill\nthree\u{2028}still\u{85}three\n"),
            ("utf8-1", Operation::Read(read("bad.bin", 1, 1)), "NOT_TEXT\n"),
            (
                "rg-1+unicode-16",
                Operation::SearchFile(search),
                "matches 2 given 2\n3:three\u{2028}still\u{85}three\n4-\n5:Über straße I\u{307}\n6-last\n",
            ),
            (
                "diff-1",
                Operation::Compare(compare),
                "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,7 +2,7 @@\n \n /// Doc.\n fn first() -> u32 {\n-    1\n+    2\r\n }\n \n struct A;\n",
            ),
            ("cut-1", Operation::Read(Read { most: Some(most), ..read("odd.txt", 1, 6) }), "one\r\ntwo\rstill\n"),
            ("policy-1", Operation::Read(read("secret/key.txt", 1, 1)), "DENIED\n"),
            ("symbols-1", Operation::ReadSymbol(symbol), "@1\nuse x;\n@10\nimpl A {\n@11\n    fn second(&self) {}\n"),
            (
                "outline-1",
                Operation::Outline(Outline { path: "src/a.rs".to_owned(), signatures: true, max_chars: 900 }),
                "left_out 0 files_left_out 0\n> rust 12 src/a.rs\nfunction 3-6 first\n4:fn first() -> u32 {\nstruct 8-8 A\n8:struct A;\nimplementation 10-12 A\n10:impl A {\nmethod 11-11 second\n11:    fn second(&self) {}\n",
            ),
            (
                "list-1",
                Operation::List(List { extent: Extent::default(), depth: Some(1), limit: Some(3) }),
                "files 4 left_out 1 depth 1\nfile 5 2 bad.bin\nfile 59 6 odd.txt\nfile 54 3 readproof.toml\n",
            ),
            ("canonical-1", Operation::Stat { path: "odd.txt".to_owned() }, "file 59 odd.txt\n"),
            (
                "edit-1",
                Operation::Write(Write { path: "src/a.rs".to_owned(), change: loose, over: Over::Anything }),
                "edited src/a.rs: lines 5-5 are now 5-5; 12 lines\nchange 1 was found at line 4 without regard to blanks at the ends of lines\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -2,7 +2,7 @@\n \n /// Doc.\n fn first() -> u32 {\n-    1\n+    7\n }\n \n struct A;",
            ),
        ]
    }

    /// Which lines are named of a text that was shown before two lines came and one changed, and the words of the answer.
    fn partial_answers() {
        let line = |n: u32| format!("{n} {}\n", "x".repeat(50));
        let before = Text::new((1..=9).map(line).collect());
        let now = (1..=9).map(|n| if n == 6 { "six\n".to_owned() } else { line(n) }).collect::<String>();
        let now = Text::new(format!("{}new\nnew\n{}", line(1), &now[line(1).len()..]));
        let (path, window) = (PathKey::new("f"), Lines::new(1, 11).unwrap());
        let mut held = Knowledge::default();
        let shown = Event::Shown {
            path: path.clone(),
            version: before.version(),
            lines: Lines::new(1, 9),
            end: true,
            part: None,
        };
        held.apply(1, &shown, Answers::Lean);
        let load = |_| Some(before.clone());
        let limits = Limits { partial_piece: 50, ..Limits::default() };
        let named = pieces((&held, &path), (&now, window), Naming::OfOtherTexts, &limits, load);
        let expected = "[readcache: lines 1-11 of 11; sent: 2-3, 8; others unchanged (4-7 were 2-5, 9-11 were 7-9)]\n\
                        new\nnew\n[readcache: 8]\nsix\n";
        assert_eq!(partial(&now, window, &named).as_deref(), Some(expected), "partial-1");
    }

    #[test]
    fn every_rule_does_what_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, text) in [
            ("odd.txt", ODD.as_bytes()),
            ("bad.bin", b"a\xff\nb\n"),
            ("src/a.rs", SOURCE.as_bytes()),
            ("secret/key.txt", b"k\n"),
            ("readproof.toml", b"[[policy.rule]]\neffect = \"deny\"\npaths = [\"secret/**\"]\n"),
        ] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        }
        let latest = Arc::new(Latest::default());
        let engine = engine(&root, &latest);
        let mut shown = Vec::new();
        for (rule, operation, expected) in vectors() {
            assert!(operation.rules().contains(&rule), "{rule} has no part in {}", operation.name());
            let (caller, conversation) = (Caller::of("test"), &mut LoggedSession::named(None));
            let _ = engine.perform(Call { caller: &caller, conversation, operation, control: Control::WAIT });
            let got = latest.0.lock().unwrap().clone();
            if got != expected {
                shown.push(format!("{rule}: {got:?}\n"));
            }
        }
        assert!(shown.is_empty(), "{}", shown.concat());
        let (base, ours, theirs) = ("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        let text = |text: &str| Text::new(text.to_owned());
        let Merged::Clean(merged) = three_way(&text(base), &text(ours), &text(theirs)) else { panic!("merge-1") };
        assert_eq!(merged.as_str(), "A\nb\nc\nd\nE\n", "merge-1");
        assert_eq!((tokens(0), tokens(1), tokens(4), tokens(5)), (0, 1, 1, 2), "bytes4-1");
        partial_answers();
        let elsewhere = ["merge-1", "bytes4-1", "partial-1"];
        let mut met: Vec<&str> = vectors().iter().map(|(rule, _, _)| *rule).chain(elsewhere).collect();
        let mut all = rules::ALL.to_vec();
        met.sort_unstable();
        all.sort_unstable();
        assert_eq!(met, all, "every rule has a vector");
    }
}
