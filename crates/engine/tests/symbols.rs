//! Definitions by name: found where they are now, whatever was indexed before and whatever happens to the index.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make files")]

use readproof_core::{path::Bearings, pick::Pick};
use readproof_disk::Root;
use readproof_engine::{
    Defined, Engine, Error, LoggedSession, Outlined, Outlines, Reading, Receipt, Settings, SymbolsFound,
    operation::{AnswerLimit, Audience, Change, Freshness, ListSymbols, Operation, Outline, Read, ReadSymbol},
};
use readproof_testkit::ask::{Ask, Hook, WAIT};
use readproof_words::notice::notice;
use std::{
    cell::Cell,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

struct World {
    temp: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self { temp: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            world.put(name, text);
        }
        world
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.temp.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn engine(&self) -> Engine {
        self.engine_with(Settings::default())
    }

    fn engine_with(&self, settings: Settings) -> Engine {
        let bearings = Bearings { cwd: self.temp.path().to_str().unwrap().to_owned(), home: None };
        Engine::new(Root::open(self.temp.path()).unwrap(), bearings, settings, Box::new(|| 0)).unwrap()
    }
}

fn body(engine: &Engine, target: &str) -> Result<String, Error> {
    body_in(engine, target, None)
}

fn body_in(engine: &Engine, target: &str, path: Option<&str>) -> Result<String, Error> {
    match definition(engine, symbol(target, path), WAIT)?.reading {
        Reading::Answer(answer) => Ok(answer.text),
        Reading::NotOurs(why) => panic!("{why:?}"),
    }
}

fn symbol(target: &str, path: Option<&str>) -> ReadSymbol {
    ReadSymbol {
        target: target.to_owned(),
        path: path.map(str::to_owned),
        include_context: false,
        most: AnswerLimit::NONE,
        freshness: Freshness::Known,
        audience: Audience::Model,
    }
}

fn definition(engine: &Engine, asked: ReadSymbol, hook: Hook<'_>) -> Result<Defined<Option<Receipt>>, Error> {
    engine.call(&mut LoggedSession::default(), Operation::ReadSymbol(asked), hook)?.into_defined()
}

fn symbols(engine: &Engine, asked: &ListSymbols, hook: Hook<'_>) -> Result<SymbolsFound, Error> {
    engine.ask_while(None, Operation::ListSymbols(asked.clone()), hook)
}

fn outline(engine: &Engine, path: &str, hook: Hook<'_>) -> Result<Outlined, Error> {
    let asked = Outline { path: path.to_owned(), signatures: false, max_chars: usize::MAX };
    let outlines: Outlines = engine.ask_while(None, Operation::Outline(asked), hook)?;
    Ok(outlines.files.into_iter().next().unwrap())
}

fn names(engine: &Engine, query: Option<&str>) -> Vec<String> {
    let asked = ListSymbols { query: query.map(str::to_owned), path: None, kind: None, glob: None, limit: Some(100) };
    let found = symbols(engine, &asked, WAIT).unwrap();
    found.found.iter().map(|(_, defined)| format!("{} {}", defined.path, defined.symbol.qualified())).collect()
}

#[test]
fn a_definition_is_shown_with_what_belongs_to_it() {
    let text = "use std::fmt;\n\npub struct A;\n\nimpl A {\n    /// Does it.\n    #[inline]\n    pub fn run(&self) {\n        go();\n    }\n}\n";
    let world = World::new(&[("src/a.rs", text), ("src/b.rs", "fn go() {}\n")]);
    let engine = world.engine();
    let expected = "    /// Does it.\n    #[inline]\n    pub fn run(&self) {\n        go();\n    }\n";
    for target in ["run", "A::run", "A.run", "a::A::run", "run()"] {
        assert_eq!(body(&engine, target).unwrap(), expected, "{target}");
    }
    assert_eq!(body_in(&engine, "run", Some("src/a.rs")).unwrap(), expected);
    assert_eq!(body_in(&engine, "run", Some("src")).unwrap(), expected);
    assert!(matches!(body_in(&engine, "run", Some("src/b.rs")), Err(Error::NoSymbol { .. })));
    assert!(matches!(body_in(&engine, "run", Some("src/none.rs")), Err(Error::Missing { .. })));
    let with_context = ReadSymbol { include_context: true, ..symbol("run", None) };
    let around = definition(&engine, with_context, WAIT).unwrap().surroundings;
    let cut = around.cut;
    let around: Vec<&str> = around.runs.iter().map(|run| run.text.as_str()).collect();
    assert_eq!((&around[..], cut), (&["use std::fmt;\n", "impl A {\n"][..], false));
}

#[test]
fn several_and_none() {
    let world = World::new(&[
        ("a.rs", "struct A;\nimpl A { fn new() {} }\nstruct B;\nimpl B { fn new() {} }\n"),
        ("b.rs", "fn walk() {}\nstruct P { walk: u8 }\n"),
    ]);
    let engine = world.engine();
    let Err(Error::Ambiguous { total: 2, candidates, .. }) = body(&engine, "new") else { panic!() };
    for candidate in candidates {
        let (target, path) = (candidate.target.unwrap(), candidate.path);
        body_in(&engine, &target, Some(&path)).unwrap();
    }
    // A function before a field.
    assert_eq!(body(&engine, "walk").unwrap(), "fn walk() {}\n");
    let Err(Error::NoSymbol { near, .. }) = body(&engine, "wlak") else { panic!() };
    assert_eq!(near, ["walk"]);
    assert!(matches!(body(&engine, "  "), Err(Error::EmptySymbol)));
}

/// How a file is changed must not matter.
#[test]
fn an_edit_between_index_and_read_is_never_missed() {
    let world = World::new(&[("a.rs", "fn f() { 0 }\n"), ("b.rs", "fn other() {}\n")]);
    let (engine, second) = (world.engine(), world.engine());
    assert_eq!(names(&engine, Some("f"))[0], "a.rs f");
    let before = fs::metadata(world.at("a.rs")).unwrap().modified().unwrap();
    for round in 1..40_u32 {
        // The same size and time as before, so that only the bytes differ.
        let text = format!("{}fn f() {{ {} }}\n", "// pad\n".repeat((round % 3) as usize), round % 10);
        match round % 4 {
            0 => world.put("a.rs", &text),
            1 => {
                world.put("new", &text);
                fs::rename(world.at("new"), world.at("a.rs")).unwrap();
            }
            2 => {
                let session = readproof_disk::SessionName::parse("s").unwrap();
                engine.write(&session, "a.rs", Change::Whole(text.clone())).unwrap();
            }
            _ => fs::OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(world.at("a.rs"))
                .map(|file| {
                    use std::io::Write;
                    (&file).write_all(text.as_bytes()).unwrap();
                })
                .unwrap(),
        }
        fs::OpenOptions::new().write(true).open(world.at("a.rs")).unwrap().set_modified(before).unwrap();
        let expected = format!("{}fn f() {{ {} }}\n", "// pad\n".repeat((round % 3) as usize), round % 10);
        let asked = if round % 2 == 0 { &engine } else { &second };
        assert_eq!(body(asked, "f").unwrap(), expected, "{round}");
    }
}

#[test]
fn a_place_found_in_another_text_is_refused() {
    let world = World::new(&[("a.rs", "fn f() { 1 }\nfn g() {}\n")]);
    let engine = world.engine();
    let found = definition(&engine, symbol("f", None), WAIT).unwrap().resolved;
    world.put(
        "a.rs",
        "fn g() {}
fn f() { 2 }
",
    );
    let pick = Pick::Of { lines: found.symbol.lines, hash: found.hash };
    let stale = engine.read(None, Read { path: found.path, pick, ..Read::default() });
    assert!(matches!(stale, Err(Error::Changed { .. })));
    // A change is followed, but not forever if the file changes with every read. It is noticed with the context lines,
    // or else with the definition's own.
    for include_context in [true, false] {
        let read = |changes: u32| {
            let looks = Cell::new(0);
            let look = || {
                looks.set(looks.get() + 1);
                if looks.get() <= changes {
                    world.put("a.rs", &format!("fn f() {{ {} }}\n", looks.get()));
                }
                false
            };
            let asked = ReadSymbol { include_context, ..symbol("f", Some("a.rs")) };
            (definition(&engine, asked, &look).map(drop), looks.get())
        };
        let (done, looks) = read(u32::MAX);
        assert!(matches!(done, Err(Error::Changed { .. })) && looks < 100, "{done:?} after {looks} looks");
        assert_eq!(body(&engine, "f").unwrap(), format!("fn f() {{ {looks} }}\n"));
        let (done, _) = read(1);
        assert!(done.is_ok(), "{done:?}");
    }
}

#[test]
fn files_come_and_go() {
    let world = World::new(&[("a.rs", "fn f() {}\n"), (".git/HEAD", "")]);
    let engine = world.engine();
    body(&engine, "f").unwrap();
    world.put("deep/er/b.rs", "fn f() {}\n");
    assert!(matches!(body(&engine, "f"), Err(Error::Ambiguous { total: 2, .. })));
    world.put("deep/er/b.rs", "fn h() {}\n");
    body(&engine, "f").unwrap();
    body(&engine, "h").unwrap();
    fs::rename(world.at("deep"), world.at("moved")).unwrap();
    assert_eq!(names(&engine, Some("h")), ["moved/er/b.rs h"]);
    world.put(".gitignore", "moved\n");
    assert!(matches!(body(&engine, "h"), Err(Error::NoSymbol { .. })));
    fs::remove_file(world.at("a.rs")).unwrap();
    assert_eq!(names(&engine, None), [""; 0]);
}

#[test]
fn the_index_may_be_lost_damaged_or_out_of_reach() {
    let world = World::new(&[("a.rs", "fn f() {}\n")]);
    let index = world.at(".readproof/index.db");
    let engine = world.engine();
    body(&engine, "f").unwrap();
    assert!(index.exists());
    for damage in [&b"this is no database, whatever it is called"[..], b""] {
        fs::remove_file(world.at(".readproof/index.db-wal")).ok();
        fs::write(&index, damage).unwrap();
        body(&world.engine(), "f").unwrap();
    }
    // Another process has it open while it is removed.
    fs::remove_file(&index).unwrap();
    body(&engine, "f").unwrap();
    world.put("a.rs", "fn f() { 2 }\n");
    assert_eq!(body(&engine, "f").unwrap(), "fn f() { 2 }\n");
    assert_eq!(body(&world.engine(), "f").unwrap(), "fn f() { 2 }\n");
    // A store that others could read is not used.
    fs::set_permissions(world.at(".readproof"), fs::Permissions::from_mode(0o755)).unwrap();
    let engine = world.engine();
    let asked = ListSymbols { query: Some("f".to_owned()), path: None, kind: None, glob: None, limit: Some(9) };
    let found = symbols(&engine, &asked, WAIT).unwrap();
    assert_eq!(found.total, 1);
    assert!(notice(&found.notices[0]).starts_with("the index of symbols is not stored"), "{:?}", found.notices);
    assert_eq!(body(&engine, "f").unwrap(), "fn f() { 2 }\n");
}

#[test]
fn only_what_changed_is_parsed_again() {
    let old = SystemTime::now() - Duration::from_secs(60);
    let world = World::new(&[]);
    for number in 0..20 {
        let name = format!("m{number}.rs");
        world.put(&name, &format!("fn f{number}() {{}}\n"));
        fs::OpenOptions::new().write(true).open(world.at(&name)).unwrap().set_modified(old).unwrap();
    }
    let asked = ListSymbols { query: Some("f1".to_owned()), path: None, kind: None, glob: None, limit: Some(9) };
    let indexed = |engine: &Engine| symbols(engine, &asked, WAIT).unwrap().indexed;
    let first = indexed(&world.engine());
    assert_eq!((first.files, first.read, first.parsed), (20, 20, 20));
    // They are too new to trust their times, so they are read again; their texts are known.
    let second = indexed(&world.engine());
    assert_eq!((second.files, second.parsed), (20, 0));
    let engine = world.engine();
    indexed(&engine);
    world.put("m3.rs", "fn changed() {}\n");
    let third = indexed(&engine);
    assert_eq!((third.files, third.parsed), (20, 1));
    // Nothing has happened since, so nothing is read.
    assert_eq!(indexed(&engine), readproof_engine::Indexed::default());
    fs::rename(world.at("m3.rs"), world.at("m33.rs")).unwrap();
    let fourth = indexed(&engine);
    assert_eq!((fourth.gone, fourth.parsed), (1, 0));
}

#[test]
fn nothing_is_kept_of_what_is_sensitive() {
    let world = World::new(&[("vault/keys.rs", "const TOP_SECRET_NAME: u8 = 1;\n"), ("a.rs", "fn f() {}\n")]);
    let settings = Settings { sensitive: vec!["vault/**".to_owned()], ..Settings::default() };
    let engine = world.engine_with(settings.clone());
    assert_eq!(names(&engine, None), ["a.rs f"]);
    drop(engine);
    for name in ["index.db", "index.db-wal"] {
        let stored = fs::read(world.at(&format!(".readproof/{name}"))).unwrap_or_default();
        assert!(!stored.windows(10).any(|bytes| bytes == b"TOP_SECRET"), "{name}");
    }
    // A file that is named is read, as with any read.
    let found = body_in(&world.engine_with(settings), "TOP_SECRET_NAME", Some("vault/keys.rs")).unwrap();
    assert_eq!(found, "const TOP_SECRET_NAME: u8 = 1;\n");
}

#[test]
fn what_cannot_be_parsed_is_said() {
    let world = World::new(&[("a.xyz", "fn f() {}\n"), ("b.rs", "fn ok() {}\n")]);
    fs::write(world.at("c.rs"), b"fn bad() { \xff }\n").unwrap();
    let engine = world.engine();
    assert!(matches!(outline(&engine, "a.xyz", WAIT), Err(Error::NoLanguage { .. })));
    assert!(matches!(outline(&engine, "c.rs", WAIT), Err(Error::Snapshot(_))));
    assert!(matches!(outline(&engine, "b.rs", &|| true), Err(Error::Aborted)));
    assert_eq!(outline(&engine, "b.rs", WAIT).unwrap().symbols.len(), 1);
    assert_eq!(names(&engine, None), ["b.rs ok"]);
    let asked = ListSymbols { query: None, path: None, kind: None, glob: Some("a[".to_owned()), limit: Some(9) };
    assert!(matches!(symbols(&engine, &asked, WAIT), Err(Error::Walk(_))));
    assert!(matches!(symbols(&world.engine(), &asked, &|| true), Err(Error::Aborted)));
}

#[test]
fn several_processes_share_one_index() {
    let world = World::new(&[]);
    for number in 0..60 {
        world.put(&format!("d{}/m{number}.rs", number % 7), &format!("fn f{number}() {{ {number} }}\n"));
    }
    let path: &Path = world.temp.path();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let world = &world;
            scope.spawn(move || {
                let engine = world.engine();
                for round in 0..15_u32 {
                    let own = format!("own{thread}");
                    fs::write(path.join(format!("{own}.rs")), format!("\n\nfn {own}() {{ {round} }}\n")).unwrap();
                    assert_eq!(body(&engine, &own).unwrap(), format!("fn {own}() {{ {round} }}\n"));
                    let other = (thread * 15 + round) % 60;
                    let expected = format!("fn f{other}() {{ {other} }}\n");
                    assert_eq!(body(&engine, &format!("f{other}")).unwrap(), expected);
                }
            });
        }
    });
    assert_eq!(names(&world.engine(), Some("own")).len(), 4);
}

/// The first answer in a large workspace does not wait for the index.
#[test]
fn an_exact_name_is_found_before_the_index_is_made() {
    let temp = tempfile::tempdir().unwrap();
    for number in 0..2_100 {
        fs::write(temp.path().join(format!("f{number}.rs")), format!("fn name{number}() {{}}\n")).unwrap();
    }
    fs::write(temp.path().join("uses.rs"), "fn caller() { name7(); }\n").unwrap();
    let root = Root::open(temp.path()).unwrap();
    let bearings = Bearings { cwd: temp.path().to_str().unwrap().to_owned(), home: None };
    let engine = Engine::new(root, bearings, Settings::default(), Box::new(|| 0)).unwrap();
    let ask = |query: &str| -> SymbolsFound {
        let asked = ListSymbols { query: Some(query.to_owned()), path: None, kind: None, glob: None, limit: None };
        engine.ask_while(None, Operation::ListSymbols(asked), WAIT).unwrap()
    };
    let said = |found: &SymbolsFound| found.notices.iter().map(notice).collect::<Vec<_>>().concat();
    let first = ask("name7");
    assert_eq!((first.total, first.found[0].1.path.as_str()), (1, "f7.rs"));
    assert!(said(&first).contains("the index is not made yet"), "{}", said(&first));
    assert!(engine.wants_index() && !engine.wants_index(), "it is asked for once");
    engine.make_index();
    let second = ask("name7");
    assert_eq!((second.total, said(&second).as_str()), (1, ""));
    assert_eq!(ask("name20").total, 1, "the index has all of them");
    assert!(!engine.wants_index());
}

#[test]
fn names_as_words_and_kinds() {
    let world = World::new(&[
        ("a.rs", "fn snapshot_working_copy() {}\nstruct SnapshotWorkingCopyStats;\n"),
        ("b.py", "class SnapshotWorkingCopy:\n    def head_commit(self):\n        pass\n"),
        ("c.rs", "mod tests { fn head_commit() {} }\n"),
    ]);
    let engine = world.engine();
    let list = |query: &str, kind: Option<&str>, limit| {
        let kind = kind.map(str::to_owned);
        let asked = ListSymbols { query: Some(query.to_owned()), path: None, glob: None, kind, limit };
        symbols(&engine, &asked, WAIT).map(|found| {
            let names =
                found.found.iter().map(|(fit, one)| format!("{} {}", fit.unwrap().as_str(), one.symbol.qualified()));
            names.collect::<Vec<_>>()
        })
    };
    let both = ["words snapshot_working_copy", "words SnapshotWorkingCopy"];
    assert_eq!(list("snapshot working copy", None, None).unwrap(), both, "nothing else, though another begins so");
    assert_eq!(list("Snapshot  Working COPY", Some("class"), None).unwrap(), [both[1]]);
    assert_eq!(list("snapshot working copy", Some("function"), None).unwrap(), [both[0]]);
    assert_eq!(list("copy snapshot", None, None).unwrap().len(), 3, "in another order, words only have to occur");
    assert_eq!(
        list("snapshot working copy head commit", None, None).unwrap(),
        ["words SnapshotWorkingCopy::head_commit"]
    );
    assert_eq!(list("head_commit", Some("method"), None).unwrap(), ["exact SnapshotWorkingCopy::head_commit"]);
    assert!(matches!(list("x", Some("thing"), None), Err(Error::BadKind { .. })));
}
