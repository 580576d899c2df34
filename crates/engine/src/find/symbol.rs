//! Symbols: where a name is defined, what a file defines, what surrounds a definition. A location that was found
//! belongs to one version of the file, identified by its hash. If the file has changed by the time it is read, the read
//! is refused and the symbol is looked up again, so no answer is older than the file.

use readproof_core::{
    operation::{LISTED_SYMBOLS, ListSymbols, Read, ReadSymbol},
    pick::Pick,
    scope::Lines,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, SessionName, database_in_memory};
use readproof_index::{
    Catalog, CatalogError, Defined as DefinedAt, FileRules, Fitting, Indexed, Language, NoOutline, Outline, Parsers,
    Part, Symbol, SymbolKind, Target, Unindexed, Unusable, nearest, rank,
};

use std::sync::{Arc, Mutex, atomic::AtomicBool};

use crate::{Control, Conversation, Engine, Error, NoIndex, Notice, Reading, conversation::locked, read::Glimpse};

/// Where the catalog is kept in the store.
const DATABASE: &str = "index.db";

/// How the name of a catalog begins that has only what some callers may see.
const PARTIAL: &str = "index-";

/// How many candidates are listed if a name is ambiguous.
const NAMED: usize = 10;

/// How often a symbol is looked up if its file keeps changing.
const ATTEMPTS: u32 = 3;

/// The most lines shown around a definition.
const AROUND_LINES: u32 = 60;

/// The most bytes shown around a definition.
pub const AROUND_BYTES: u32 = 4_000;

/// Catalogs and parsers that stay open while the program runs. A call takes one out and puts it back, so that no call
/// waits for another; there are as many as calls ever ran at once. Where rules restrict what a caller may see, there is a catalog
/// of just that: no count, rank or suggestion can then tell of the rest.
#[derive(Default)]
pub(crate) struct Symbols {
    /// Each with the name of its database.
    catalogs: Mutex<Vec<(String, Catalog)>>,
    parsers: Mutex<Vec<Parsers>>,
    /// Why a catalog is in memory only.
    in_memory_reason: Mutex<Option<Arc<NoIndex>>>,
    /// Whether an answer was given without an index.
    pub(super) wanted: AtomicBool,
    /// Whether the index was seen to have something in it.
    pub(super) found: AtomicBool,
    /// Whether the index is being made for nobody in particular.
    pub(super) making: AtomicBool,
    /// What was parsed last.
    last: Mutex<Option<(ContentHash, Language, Arc<Outline>)>>,
}

/// One definition and its text.
#[derive(Clone, Debug)]
pub struct Defined<G> {
    /// The definition.
    pub resolved: Resolved,
    /// Its context, if that was asked for.
    pub surroundings: Surroundings,
    /// The read of its lines.
    pub reading: Reading<G>,
}

/// A definition that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The file, relative to the workspace root.
    pub path: String,
    /// The version of the file in which it was found.
    pub hash: ContentHash,
    /// Its kind, name and lines.
    pub symbol: Symbol,
    /// How many definitions of lower-ranked kinds have the same name.
    pub others: u64,
    /// Which files may define it too and were not looked at, if any.
    pub missed: Option<Unindexed>,
}

impl Resolved {
    /// The read that shows it.
    fn read(&self, engine: &Engine, asked: &ReadSymbol) -> Read {
        Read {
            path: engine.root().absolute(&self.path),
            pick: Pick::Of { lines: self.symbol.lines, hash: self.hash },
            most: Some(asked.most),
            freshness: asked.freshness,
            audience: asked.audience,
            ..Read::default()
        }
    }
}

/// One of several definitions of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file, relative to the workspace root.
    pub path: String,
    /// Its kind, name and lines.
    pub symbol: Symbol,
    /// A name that is unique within that file, if there is one.
    pub target: Option<String>,
}

/// Lines around a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Their numbers.
    pub lines: Lines,
    /// Their text, exact to the byte.
    pub text: String,
}

/// The context of a definition: imports and the signatures of what encloses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// In the order of the file.
    pub runs: Vec<Around>,
    /// Whether some of it was left out.
    pub cut: bool,
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

/// Definitions in the workspace.
#[derive(Clone, Debug, Default)]
pub struct SymbolsFound {
    /// Best first, or without a query in order of path and line.
    pub found: Vec<(Option<Fitting>, DefinedAt)>,
    /// How many there are, including those left out.
    pub total: u64,
    /// What was indexed for this call.
    pub indexed: Indexed,
    /// What must be said beside it.
    pub notices: Vec<Notice>,
}

impl Engine {
    /// Finds a definition and reads its lines; if its file has changed in between, both again.
    pub(crate) fn read_symbol<C: Conversation>(
        &self,
        conversation: &mut C,
        asked: &ReadSymbol,
        control: &Control<'_>,
    ) -> Result<Box<Defined<C::Given>>, Error> {
        let mut last = Error::Aborted;
        for _ in 0..ATTEMPTS {
            let resolved = self.resolve(asked, control)?;
            match self.read_resolved(conversation, asked, resolved, control) {
                Err(error @ Error::Changed { .. }) => {
                    // The catalog's location is outdated.
                    locked(&self.shared.symbols.catalogs).iter_mut().for_each(|(_, catalog)| catalog.doubt());
                    last = error;
                }
                done => return done.map(Box::new),
            }
        }
        Err(last)
    }

    fn read_resolved<C: Conversation>(
        &self,
        conversation: &mut C,
        asked: &ReadSymbol,
        resolved: Resolved,
        control: &Control<'_>,
    ) -> Result<Defined<C::Given>, Error> {
        let read = resolved.read(self, asked);
        let surroundings = if asked.include_context {
            self.around(conversation.log(), &read.path, &resolved, control)?
        } else {
            Surroundings::default()
        };
        let reading = self.read(conversation, &read, control)?;
        Ok(Defined { resolved, surroundings, reading })
    }

    /// The one definition of a name in a file, in a folder or in the whole workspace.
    fn resolve(&self, asked: &ReadSymbol, control: &Control<'_>) -> Result<Resolved, Error> {
        let (target, path) = (asked.target.as_str(), asked.path.as_deref());
        let asked = target.trim().to_owned();
        let target = Target::parse(target).ok_or(Error::EmptySymbol)?;
        let folder = path.map(|path| self.stat(path)).transpose()?.filter(|found| found.kind == Some("directory"));
        let (found, near, missed) = match (path, &folder) {
            (Some(path), None) => {
                let (found, near) = self.in_file(path, &target, control)?;
                (found, near, None)
            }
            (_, folder) => {
                let part = Part { under: folder.as_ref().map(|folder| folder.path.as_str()), ..Part::default() };
                let early = self.without_index(&target, part, control)?.filter(|found| !found.is_empty());
                let under = folder.as_ref().map(|folder| format!("{}/", folder.path)).filter(|under| under != "./");
                let indexed = || {
                    self.with_catalog(control, |catalog, _| {
                        let mut found = catalog.find(&target)?;
                        let counts = |path: &str| under.as_ref().is_none_or(|under| path.starts_with(under));
                        found.retain(|defined| counts(&defined.path));
                        let near = if found.is_empty() { catalog.near(&target)? } else { Vec::new() };
                        Ok((found, near, missed(catalog.unindexed(counts)?)))
                    })
                };
                early.map_or_else(indexed, |found| Ok((found, Vec::new(), None)))?
            }
        };
        let one = choose(found).map_err(|several| match several.total {
            0 => Error::NoSymbol { target: asked, path: path.map(str::to_owned), near, missed: missed.clone() },
            total => Error::Ambiguous { target: asked, total, candidates: several.first },
        })?;
        Ok(Resolved { missed, ..one })
    }

    /// Definitions that match a name, or all of them.
    pub(crate) fn list_symbols(&self, asked: &ListSymbols, control: &Control<'_>) -> Result<SymbolsFound, Error> {
        let query = match &asked.query {
            Some(query) => Some(Target::parse(query).ok_or(Error::EmptySymbol)?),
            None => None,
        };
        let under = asked.path.as_deref().map(|path| self.part(path)).transpose()?;
        let kinds = match &asked.kind {
            Some(word) => Some(SymbolKind::named(word).ok_or_else(|| Error::BadKind { kind: word.clone() })?),
            None => None,
        };
        let part = Part { under: under.as_deref(), glob: asked.glob.as_deref(), kinds: kinds.as_deref() };
        let standard = asked.limit.unwrap_or(LISTED_SYMBOLS);
        if let (Some(query), None) = (&query, asked.limit)
            && let Some(mut found) = self.without_index(query, part, control)?
            && let Some(best) = found.iter().map(|defined| rank(defined.symbol.kind)).min()
        {
            found.retain(|defined| rank(defined.symbol.kind) == best);
            let (total, notices) = (found.len() as u64, vec![Notice::NoIndexYet]);
            let found = found.into_iter().take(standard).map(|defined| (Some(Fitting::Exact), defined)).collect();
            return Ok(SymbolsFound { found, total, notices, ..SymbolsFound::default() });
        }
        let mut out = self.with_catalog(control, |catalog, indexed| {
            let mut out = SymbolsFound { indexed, ..SymbolsFound::default() };
            out.notices.extend(missed(catalog.unindexed_in(part)?).map(Notice::Unindexed));
            if let Some(query) = &query {
                let (found, total) = catalog.search(query, part, asked.limit, standard)?;
                out.found = found.into_iter().map(|(fitting, defined)| (Some(fitting), defined)).collect();
                out.total = total;
            } else {
                catalog.all(part, &mut |defined| {
                    out.total += 1;
                    if out.found.len() < standard {
                        out.found.push((None, defined));
                    }
                    true
                })?;
            }
            Ok(out)
        })?;
        out.notices.extend(locked(&self.shared.symbols.in_memory_reason).clone().map(Notice::IndexInMemory));
        Ok(out)
    }

    /// The imports of the definition's file, and the signatures of what encloses the definition, without its own lines.
    fn around(
        &self,
        log: Option<&SessionName>,
        path: &str,
        found: &Resolved,
        control: &Control<'_>,
    ) -> Result<Surroundings, Error> {
        let call = self.asked_in(log);
        let (path, text) = self.text_of(path)?;
        if text.hash() != found.hash {
            return Err(Error::Changed { path });
        }
        let (_, outline) = self.outline_of(&path, &text, control)?;
        let (runs, cut) = surroundings(&outline, &text, found.symbol.lines);
        let shown: Vec<_> = runs.iter().map(|run| Glimpse::text(&path, run.lines.first().into(), &run.text)).collect();
        let notices = self.saw(log, call, shown.into_iter());
        Ok(Surroundings { runs, cut, notices })
    }

    fn in_file(
        &self,
        path: &str,
        target: &Target,
        control: &Control<'_>,
    ) -> Result<(Vec<DefinedAt>, Vec<String>), Error> {
        let (path, text) = self.text_of(path)?;
        self.in_text((&path, &text), target, control)
    }

    /// A definition that a record stands on, found again in its text, with what stands around it.
    pub(crate) fn definition_again(
        &self,
        asked: &ReadSymbol,
        (path, text): (&str, &Text),
        control: &Control<'_>,
    ) -> Result<(Lines, Vec<Around>), Error> {
        let target = Target::parse(&asked.target).ok_or(Error::EmptySymbol)?;
        let (found, _) = self.in_text((path, text), &target, control)?;
        let none = || Error::NoSymbol { target: asked.target.clone(), path: None, near: Vec::new(), missed: None };
        let one = choose(found).map_err(|_| none())?;
        if !asked.include_context {
            return Ok((one.symbol.lines, Vec::new()));
        }
        let (_, outline) = self.outline_of(path, text, control)?;
        Ok((one.symbol.lines, surroundings(&outline, text, one.symbol.lines).0))
    }

    fn in_text(
        &self,
        (path, text): (&str, &Text),
        target: &Target,
        control: &Control<'_>,
    ) -> Result<(Vec<DefinedAt>, Vec<String>), Error> {
        let path = path.to_owned();
        let (_, outline) = self.outline_of(&path, text, control)?;
        let fits = outline.symbols.iter().filter(|symbol| target.fits(&path, symbol));
        let found: Vec<DefinedAt> =
            fits.map(|symbol| DefinedAt { path: path.clone(), hash: text.hash(), symbol: symbol.clone() }).collect();
        let near = if found.is_empty() {
            let mut names: Vec<String> = outline.symbols.iter().map(|symbol| symbol.name.clone()).collect();
            names.sort_unstable();
            names.dedup();
            nearest(target.names()[0], &names)
        } else {
            Vec::new()
        };
        Ok((found, near))
    }

    pub(crate) fn text_of(&self, path: &str) -> Result<(String, Text), Error> {
        let mut target = self.resolve_target(path, Some(1), None)?;
        let snapshot = self.look(&mut target)?;
        locked(&self.shared.recent).keep(target.file.key(), snapshot.text.clone());
        Ok((target.file.key().to_string(), snapshot.text))
    }

    pub(crate) fn outline_of(
        &self,
        path: &str,
        text: &Text,
        control: &Control<'_>,
    ) -> Result<(Language, Arc<Outline>), Error> {
        control.check_cancelled()?;
        let language = Language::of(path, text.as_str()).ok_or_else(|| Error::NoLanguage { path: path.to_owned() })?;
        let known = locked(&self.shared.symbols.last).clone();
        if let Some((_, _, outline)) = known.filter(|(hash, of, _)| (*hash, *of) == (text.hash(), language)) {
            return Ok((language, outline));
        }
        let mut parsers = locked(&self.shared.symbols.parsers).pop().unwrap_or_default();
        let parsed = parsers.outline(language, text.as_str(), control.cancelled);
        locked(&self.shared.symbols.parsers).push(parsers);
        let outline = match parsed {
            Ok(outline) => Arc::new(outline),
            Err(NoOutline::Cancelled) => return Err(Error::Aborted),
            Err(NoOutline::TooHard) => return Err(Error::TooHard { path: path.to_owned() }),
        };
        *locked(&self.shared.symbols.last) = Some((text.hash(), language, Arc::clone(&outline)));
        Ok((language, outline))
    }

    /// Queries a catalog that is up to date. If its database cannot be used, a catalog in memory replaces it.
    pub(super) fn with_catalog<T>(
        &self,
        control: &Control<'_>,
        ask: impl Fn(&Catalog, Indexed) -> Result<T, CatalogError>,
    ) -> Result<T, Error> {
        for attempt in 0..2 {
            let mut catalog = match self.idle_catalog() {
                Some(catalog) => catalog,
                None => self.open_catalog()?,
            };
            let rules = FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive };
            let progress = |done: u64, total: u64| control.report(done, Some(total));
            let indexed = if catalog.is_fresh() {
                Ok(Indexed::default())
            } else {
                catalog.refresh(&self.root, rules, control.cancelled, &progress)
            };
            let answer = indexed.and_then(|indexed| ask(&catalog, indexed));
            let back = |catalog| self.put_back(catalog);
            match answer {
                Ok(answer) => {
                    back(catalog);
                    return Ok(answer);
                }
                Err(CatalogError::Cancelled) => {
                    back(catalog);
                    return Err(Error::Aborted);
                }
                Err(CatalogError::Walk(error)) => {
                    back(catalog);
                    return Err(error.into());
                }
                Err(CatalogError::Database(error)) if attempt > 0 => {
                    return Err(no_index(error));
                }
                Err(CatalogError::Database(error)) => {
                    drop(catalog);
                    back(self.in_memory(Unusable::from(error).into())?);
                }
            }
        }
        Err(Error::Aborted)
    }

    /// The name of the database of what can be seen here.
    fn catalog_name(&self) -> String {
        self.root.sight().map_or_else(|| DATABASE.to_owned(), |sight| format!("{PARTIAL}{sight}.db"))
    }

    /// Whether a database is an index that has more, or other names, than can be seen here.
    pub(crate) fn is_old_index(&self, name: &str) -> bool {
        let own = self.catalog_name();
        let of_everything = [DATABASE, super::words::DATABASE].contains(&name);
        (name.starts_with(PARTIAL) && name != own) || (of_everything && own != DATABASE)
    }

    /// A catalog that no call uses.
    pub(super) fn idle_catalog(&self) -> Option<Catalog> {
        let (name, mut idle) = (self.catalog_name(), locked(&self.shared.symbols.catalogs));
        let at = idle.iter().rposition(|(other, _)| *other == name)?;
        Some(idle.swap_remove(at).1)
    }

    pub(super) fn put_back(&self, catalog: Catalog) {
        let (name, mut idle) = (self.catalog_name(), locked(&self.shared.symbols.catalogs));
        if name.starts_with(PARTIAL) {
            // What other rules showed is not asked for again.
            idle.retain(|(other, _)| *other == name || !other.starts_with(PARTIAL));
        }
        idle.push((name, catalog));
    }

    /// Opens the catalog in the store. One that cannot be opened is rebuilt, as everything in it comes from the files.
    pub(super) fn open_catalog(&self) -> Result<Catalog, Error> {
        let store = match self.store(Create::Yes) {
            Ok(Some(store)) => store,
            Ok(None) => return self.in_memory(NoIndex::NoStore),
            Err(error) => return self.in_memory(NoIndex::Unopened(error)),
        };
        let name = self.catalog_name();
        let open = || Ok::<_, NoIndex>(Catalog::new(store.database(&name)?)?);
        let opened = open().or_else(|_| {
            store.remove_database(&name)?;
            open()
        });
        match opened {
            Ok(catalog) => {
                *locked(&self.shared.symbols.in_memory_reason) = None;
                Ok(catalog)
            }
            Err(why) => self.in_memory(why),
        }
    }

    fn in_memory(&self, why: NoIndex) -> Result<Catalog, Error> {
        *locked(&self.shared.symbols.in_memory_reason) = Some(Arc::new(why));
        Catalog::new(database_in_memory().map_err(no_index)?).map_err(no_index)
    }
}

/// What an answer of the catalog may lack.
fn missed(unindexed: Unindexed) -> Option<Unindexed> {
    (unindexed != Unindexed::default()).then_some(unindexed)
}

fn no_index(error: impl Into<Unusable>) -> Error {
    Error::Index { why: Arc::new(NoIndex::Database(error.into())) }
}

/// A name that has no definition, or more than one.
struct Several {
    first: Vec<Candidate>,
    total: u64,
}

/// The only definition of the best-ranked kind. One that is inside another of the same name, as a constructor is inside
/// its class, does not count.
fn choose(found: Vec<DefinedAt>) -> Result<Resolved, Several> {
    let Some(best) = found.iter().map(|defined| rank(defined.symbol.kind)).min() else {
        return Err(Several { first: Vec::new(), total: 0 });
    };
    let (of_best, lesser): (Vec<DefinedAt>, Vec<DefinedAt>) =
        found.into_iter().partition(|defined| rank(defined.symbol.kind) == best);
    let is_inside = |inner: &DefinedAt| {
        of_best.iter().any(|outer| {
            let (a, b) = (outer.symbol.lines, inner.symbol.lines);
            outer.path == inner.path
                && outer.symbol.scope.len() < inner.symbol.scope.len()
                && a.first() <= b.first()
                && b.last() <= a.last()
        })
    };
    let meant: Vec<&DefinedAt> = of_best.iter().filter(|defined| !is_inside(defined)).collect();
    if let [one] = meant[..] {
        let others = (lesser.len() + of_best.len() - 1) as u64;
        let DefinedAt { path, hash, symbol } = one.clone();
        return Ok(Resolved { path, hash, symbol, others, missed: None });
    }
    let is_alone = |defined: &DefinedAt, target: &Target| {
        let twins = meant.iter().filter(|other| other.path == defined.path && target.fits(&other.path, &other.symbol));
        twins.count() == 1
    };
    let candidate = |defined: &&DefinedAt| {
        let plain = defined.symbol.qualified();
        let of = defined.symbol.of.as_ref().filter(|_| defined.symbol.kind != SymbolKind::Implementation);
        let through = of.zip(defined.symbol.scope.last());
        let through = through.map(|(of, kind)| format!("<{kind} as {of}>::{}", defined.symbol.name));
        let alone = |target: &String| Target::parse(target).is_some_and(|parsed| is_alone(defined, &parsed));
        let target = Some(plain).filter(alone).or_else(|| through.filter(alone));
        Candidate { path: defined.path.clone(), symbol: defined.symbol.clone(), target }
    };
    Err(Several { total: meant.len() as u64, first: meant.iter().take(NAMED).map(candidate).collect() })
}

/// The imports of a text, and the signatures of what encloses a definition in it; whether some of it was left out.
fn surroundings(outline: &Outline, text: &Text, definition: Lines) -> (Vec<Around>, bool) {
    let mut wanted: Vec<Lines> = outline.imports.clone();
    let encloses =
        |lines: Lines| lines != definition && lines.first() <= definition.first() && definition.last() <= lines.last();
    wanted.extend(outline.symbols.iter().filter(|symbol| encloses(symbol.lines)).map(|symbol| symbol.signature));
    wanted.sort_unstable();
    cut(text, &wanted, definition)
}

/// As many of the wanted lines as the limits allow, in runs and without those already shown; and whether some were left
/// out.
fn cut(text: &Text, wanted: &[Lines], shown: Lines) -> (Vec<Around>, bool) {
    let (mut around, mut lines, mut bytes): (Vec<Around>, u32, usize) = (Vec::new(), 0, 0);
    let mut last = 0;
    for number in wanted.iter().flat_map(|run| run.first()..=run.last().min(text.total())) {
        if number <= last || (shown.first() <= number && number <= shown.last()) {
            continue;
        }
        let line = text.line(number);
        (lines, bytes) = (lines + 1, bytes + line.len());
        if lines > AROUND_LINES || bytes > AROUND_BYTES as usize {
            return (around, true);
        }
        match around.last_mut() {
            Some(run) if last + 1 == number => {
                run.text.push_str(line);
                run.lines = Lines::new(run.lines.first(), number).unwrap_or(run.lines);
            }
            Some(_) | None => {
                around.extend(Lines::new(number, number).map(|lines| Around { lines, text: line.to_owned() }))
            }
        }
        last = number;
    }
    (around, false)
}
