//! Symbols in a tree of 700 real Rust files, the sources of the gix crates: reading one definition against reading the same
//! lines, building the index against parsing alone, and refreshing it against a walk when nothing has changed.

use readproof_words::index::unusable;
use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use readproof_core::path::Bearings;
use readproof_disk::{
    HardLinks, LocalStore, Root, STANDARD_PATTERNS, Sensitive, SessionName, SnapshotRules, Store, database_in_memory,
};
use readproof_engine::{
    Engine, HandleConversation, Settings, SmallTexts,
    operation::{AnswerLimit, Audience, Freshness, Operation, Read, ReadSymbol},
};
use readproof_index::{Catalog, FileRules, walk};
use readproof_testkit::ask::{Ask, WAIT};
use tempfile::TempDir;

use crate::{
    Broken,
    cases::Case,
    harness::{Bar, Subject, measure},
};

const FILES: usize = 700;

/// The definition that is read: unique by name, of medium length.
const TARGET: &str = "gix::Repository::head_commit";

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "symbol-read",
        about: "one definition by its name, the index being warm, against a read of the same lines",
        bar: Bar::AtMost(3.0),
        rounds: 4000,
        run: |rounds| measure(rounds, &mut Reads::new()?),
    },
    Case {
        name: "symbol-index",
        about: "an index of 700 Rust files is made, against parsing them alone on the same cores",
        bar: Bar::AtMost(1.5),
        rounds: 40,
        run: |rounds| measure(rounds, &mut Builds::new()?),
    },
    Case {
        name: "symbol-refresh",
        about: "the index of 700 files that did not change is brought up to date, against walking them",
        bar: Bar::AtMost(2.0),
        rounds: 300,
        run: |rounds| measure(rounds, &mut Refreshes::new()?),
    },
];

/// A copy of the sources in the registry.
pub(crate) fn tree() -> Result<TempDir, Broken> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let words = ["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform];
    let listed = Command::new("cargo").args(words).output()?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
    let packages = listed["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let mut sources: Vec<(String, PathBuf)> = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        if name.starts_with("gix") {
            sources.extend(manifest.parent().map(|folder| (name.to_owned(), folder.join("src"))));
        }
    }
    sources.sort();
    let temp = tempfile::tempdir()?;
    let mut count = 0;
    for (name, source) in sources {
        copy(&source, &temp.path().join(name), &mut count)?;
    }
    if count < FILES { Err(format!("only {count} files are there").into()) } else { Ok(temp) }
}

fn copy(from: &Path, to: &Path, count: &mut usize) -> Result<(), Broken> {
    fs::create_dir_all(to)?;
    let mut entries: Vec<PathBuf> =
        fs::read_dir(from)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let Some(target) = path.file_name().map(|name| to.join(name)) else { continue };
        if path.is_dir() {
            copy(&path, &target, count)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && *count < FILES {
            fs::write(&target, fs::read(&path)?)?;
            // Looks like a tree that was not created just now.
            let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
            fs::File::options().write(true).open(&target)?.set_modified(long_ago)?;
            *count += 1;
        }
    }
    Ok(())
}

struct Reads {
    _tree: TempDir,
    engine: Engine,
    session: SessionName,
    plain: Read,
    symbol: ReadSymbol,
}

impl Reads {
    fn new() -> Result<Self, Broken> {
        let tree = tree()?;
        let root = Root::open(tree.path())?;
        let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
        let settings = Settings { small_texts: SmallTexts::Together, ..Settings::default() };
        let engine = Engine::new(root, bearings, settings, Box::new(|| 0))?;
        let session = SessionName::parse("bench")?;
        let symbol = ReadSymbol {
            target: TARGET.to_owned(),
            path: None,
            include_context: false,
            most: AnswerLimit::NONE,
            freshness: Freshness::Known,
            audience: Audience::Model,
        };
        let mut conversation = HandleConversation::new(Some(session.clone()), None);
        let asked = Operation::ReadSymbol(symbol.clone());
        let found = engine.call(&mut conversation, asked, WAIT)?.into_defined()?.resolved;
        let (lines, path) = (found.symbol.lines, engine.root().absolute(&found.path));
        let (offset, limit) = (Some(lines.first().into()), Some(lines.count().into()));
        let plain = Read { path, offset, limit, most: Some(symbol.most), ..Read::default() };
        Ok(Self { _tree: tree, engine, session, plain, symbol })
    }
}

impl Subject for Reads {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        black_box(self.engine.read_known(Some(&self.session), None, self.plain.clone(), WAIT)?);
        Ok(())
    }

    fn case(&mut self) -> Result<(), Broken> {
        let mut conversation = HandleConversation::new(Some(self.session.clone()), None);
        let asked = Operation::ReadSymbol(self.symbol.clone());
        black_box(self.engine.call(&mut conversation, asked, WAIT)?.into_defined()?);
        Ok(())
    }
}

struct Builds {
    tree: TempDir,
    root: Root,
    sensitive: Sensitive,
    texts: Vec<String>,
    round: u32,
}

fn rules(sensitive: &Sensitive) -> FileRules<'_> {
    FileRules { snapshot: SnapshotRules { max_bytes: 1 << 24, hard_links: HardLinks::Allow }, sensitive }
}

fn texts(folder: &Path, into: &mut Vec<String>) -> Result<(), Broken> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { texts(&path, into)? } else { into.push(fs::read_to_string(path)?) }
    }
    Ok(())
}

impl Builds {
    fn new() -> Result<Self, Broken> {
        let tree = tree()?;
        let mut all = Vec::new();
        texts(tree.path(), &mut all)?;
        let (root, sensitive) = (Root::open(tree.path())?, Sensitive::new(STANDARD_PATTERNS)?);
        Ok(Self { tree, root, sensitive, texts: all, round: 0 })
    }
}

impl Subject for Builds {
    fn prepare(&mut self, round: u32) -> Result<(), Broken> {
        self.round = round;
        let store = self.tree.path().join(".readproof");
        if store.exists() {
            fs::remove_dir_all(store)?;
        }
        Ok(())
    }

    /// Parses every text from memory, with as many threads as cores.
    fn floor(&mut self) -> Result<(), Broken> {
        let next = AtomicUsize::new(0);
        let language = tree_sitter_rust::LANGUAGE.into();
        let threads = thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut parser = tree_sitter::Parser::new();
                    if parser.set_language(&language).is_err() {
                        return;
                    }
                    while let Some(text) = self.texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        black_box(parser.parse(text, None));
                    }
                });
            }
        });
        Ok(())
    }

    fn case(&mut self) -> Result<(), Broken> {
        let store = LocalStore::open(&self.root)?;
        let mut catalog = Catalog::new(store.database("index.db")?).map_err(|error| unusable(&error))?;
        let done = catalog.refresh(&self.root, rules(&self.sensitive), &|| false, &|_, _| ());
        let done = done.map_err(|error| format!("{error:?}"))?;
        if done.parsed < FILES as u64 - 50 {
            return Err(format!("only {done:?}").into());
        }
        Ok(())
    }
}

struct Refreshes {
    _tree: TempDir,
    root: Root,
    sensitive: Sensitive,
    catalog: Catalog,
}

impl Refreshes {
    fn new() -> Result<Self, Broken> {
        let tree = tree()?;
        // Until the files are old enough for their stat to prove that they are unchanged.
        thread::sleep(std::time::Duration::from_millis(2500));
        let (root, sensitive) = (Root::open(tree.path())?, Sensitive::new(STANDARD_PATTERNS)?);
        let catalog = Catalog::new(database_in_memory()?).map_err(|error| unusable(&error))?;
        let mut refreshes = Self { _tree: tree, root, sensitive, catalog };
        refreshes.case()?;
        Ok(refreshes)
    }
}

impl Subject for Refreshes {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        self.catalog.doubt();
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        black_box(walk(&self.root, None)?.count());
        Ok(())
    }

    fn case(&mut self) -> Result<(), Broken> {
        let done = self.catalog.refresh(&self.root, rules(&self.sensitive), &|| false, &|_, _| ());
        let done = done.map_err(|error| format!("{error:?}"))?;
        black_box(done);
        Ok(())
    }
}
