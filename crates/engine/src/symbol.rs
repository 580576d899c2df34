//! Symbols: where a name is defined, what a file defines, what stands around a definition. A place that is found belongs
//! to one text, named by its hash; a read of it is refused when the file has another by then, and is looked for again. So
//! no answer is ever older than the file.

use readproof_core::{
    pick::Pick,
    scope::Lines,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, SessionName, database_in_memory};
use readproof_index::{
    Catalog, CatalogError, Defined, FileRules, Fitting, Indexed, Language, NoOutline, Outline, Parsers, Symbol,
    SymbolKind, Target, Unindexed, Unusable, nearest, rank,
};

use crate::{Cancelled, Engine, Error, Read, go_on, read::Glimpse};

/// Where the catalog is kept in the store.
const DATABASE: &str = "index.db";

/// So many definitions are named where a name is ambiguous.
const NAMED: usize = 10;

/// How often a file that changes is looked at again.
const ATTEMPTS: u32 = 3;

/// The most lines of what stands around a definition.
const AROUND_LINES: u32 = 60;

/// The most bytes of it.
pub const AROUND_BYTES: u32 = 4_000;

/// Told how many files of how many are done.
pub type Indexing<'a> = &'a dyn Fn(u64, u64);

/// What is known of symbols while the program runs.
#[derive(Default)]
pub(crate) struct Symbols {
    catalog: Option<Catalog>,
    /// Why the catalog is in memory only.
    in_memory_reason: Option<String>,
    parsers: Parsers,
    /// What was parsed last.
    last: Option<(ContentHash, Language, Outline)>,
}

/// A definition that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The file, by its name in the workspace.
    pub path: String,
    /// The text in which it stands there.
    pub hash: ContentHash,
    /// What it is and where.
    pub symbol: Symbol,
    /// How many definitions of lesser kinds have the name too.
    pub others: u64,
    /// Which files may define it too and were not looked at, if any.
    pub missed: Option<String>,
}

impl Resolved {
    /// The read that shows it.
    #[must_use]
    pub fn read(&self, engine: &Engine) -> Read {
        Read {
            path: engine.root().absolute(&self.path),
            pick: Pick::Of { lines: self.symbol.lines, hash: self.hash },
            ..Read::default()
        }
    }
}

/// One of several definitions of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file, by its name in the workspace.
    pub path: String,
    /// What it is and where.
    pub symbol: Symbol,
    /// A name that together with the path means it alone, if there is one.
    pub target: Option<String>,
}

/// What a file defines.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The file, by its name in the workspace.
    pub path: String,
    /// Its language.
    pub language: &'static str,
    /// In order.
    pub symbols: Vec<Symbol>,
    /// Whether there are more.
    pub truncated: bool,
    /// Lines in the file.
    pub total_lines: u32,
}

/// Lines around a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Which.
    pub lines: Lines,
    /// To the byte.
    pub text: String,
}

/// What stands around a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// In order.
    pub runs: Vec<Around>,
    /// Whether there is more.
    pub cut: bool,
    /// Whatever else there is to say.
    pub notices: Vec<String>,
}

/// Definitions of the workspace.
#[derive(Clone, Debug, Default)]
pub struct SymbolsFound {
    /// The best first, or all in order where nothing was asked.
    pub found: Vec<(Option<Fitting>, Defined)>,
    /// How many there are.
    pub total: u64,
    /// What was looked at.
    pub indexed: Indexed,
    /// What must be said beside it.
    pub notices: Vec<String>,
}

/// What definitions are listed.
#[derive(Clone, Debug)]
pub struct SymbolSearch {
    /// A name or part of one; none: all.
    pub query: Option<String>,
    /// Only in files that this lets through.
    pub glob: Option<String>,
    /// The most that are given.
    pub limit: usize,
}

/// A name with all that qualifies it.
#[must_use]
pub fn qualified(symbol: &Symbol) -> String {
    let parts: Vec<&str> = symbol.scope.iter().map(String::as_str).chain([symbol.name.as_str()]).collect();
    parts.join("::")
}

impl Engine {
    /// The one definition that is meant, in a file or folder or anywhere in the workspace.
    ///
    /// # Errors
    /// When nothing or more than one thing is meant; both say what there is.
    pub fn resolve(
        &mut self,
        target: &str,
        path: Option<&str>,
        cancelled: Cancelled<'_>,
        progress: Indexing<'_>,
    ) -> Result<Resolved, Error> {
        let asked = target.trim().to_owned();
        let target = Target::parse(target).ok_or(Error::EmptySymbol)?;
        let folder = path.map(|path| self.stat(path)).transpose()?.filter(|found| found.kind == Some("directory"));
        let (found, near, missed) = match (path, &folder) {
            (Some(path), None) => {
                let (found, near) = self.in_file(path, &target, cancelled)?;
                (found, near, None)
            }
            (_, folder) => {
                let under = folder.as_ref().map(|folder| format!("{}/", folder.path)).filter(|under| under != "./");
                self.with_catalog(cancelled, progress, |catalog, _| {
                    let mut found = catalog.find(&target)?;
                    let counts = |path: &str| under.as_ref().is_none_or(|under| path.starts_with(under));
                    found.retain(|defined| counts(&defined.path));
                    let near = if found.is_empty() { catalog.near(&target)? } else { Vec::new() };
                    Ok((found, near, missed(&catalog.unindexed(counts)?)))
                })?
            }
        };
        let one = choose(found).map_err(|several| match several.total {
            0 => Error::NoSymbol { target: asked, path: path.map(str::to_owned), near, missed: missed.clone() },
            total => Error::Ambiguous { target: asked, total, candidates: several.first },
        })?;
        Ok(Resolved { missed, ..one })
    }

    /// What a file defines.
    ///
    /// # Errors
    /// As [`Engine::read`], and for a language that is not known.
    pub fn outline(&mut self, path: &str, cancelled: Cancelled<'_>) -> Result<Outlined, Error> {
        let (path, text) = self.text_of(path)?;
        let (language, outline) = self.outline_of(&path, &text, cancelled)?;
        let (symbols, truncated) = (outline.symbols.clone(), outline.truncated);
        Ok(Outlined { path, language: language.as_str(), symbols, truncated, total_lines: text.total() })
    }

    /// Definitions by name, or all of them.
    ///
    /// # Errors
    /// When the workspace cannot be walked as asked.
    pub fn symbols(
        &mut self,
        asked: &SymbolSearch,
        cancelled: Cancelled<'_>,
        progress: Indexing<'_>,
    ) -> Result<SymbolsFound, Error> {
        let query = match &asked.query {
            Some(query) => Some(Target::parse(query).ok_or(Error::EmptySymbol)?),
            None => None,
        };
        let glob = asked.glob.as_deref();
        let mut out = self.with_catalog(cancelled, progress, |catalog, indexed| {
            let mut out = SymbolsFound { indexed, ..SymbolsFound::default() };
            out.notices.extend(missed(&catalog.unindexed_in(glob)?));
            if let Some(query) = &query {
                let (found, total) = catalog.search(query, glob, asked.limit)?;
                out.found = found.into_iter().map(|(fitting, defined)| (Some(fitting), defined)).collect();
                out.total = total;
            } else {
                catalog.all(glob, &mut |defined| {
                    out.total += 1;
                    if out.found.len() < asked.limit {
                        out.found.push((None, defined));
                    }
                    true
                })?;
            }
            Ok(out)
        })?;
        out.notices.extend(self.symbols.in_memory_reason.clone());
        Ok(out)
    }

    /// The imports of the file in which a definition stands, and the signatures of what encloses it, as far as they are
    /// not part of it.
    ///
    /// # Errors
    /// As [`Engine::read`]; also when the file has changed since.
    pub fn around(
        &mut self,
        found: &Resolved,
        session: Option<&SessionName>,
        cancelled: Cancelled<'_>,
    ) -> Result<Surroundings, Error> {
        let call = self.asked_in(session);
        let (path, text) = self.text_of(&found.read(self).path)?;
        if text.hash() != found.hash {
            return Err(Error::Changed { path });
        }
        let (_, outline) = self.outline_of(&path, &text, cancelled)?;
        let mut wanted: Vec<Lines> = outline.imports.clone();
        let own = found.symbol.lines;
        let encloses = |lines: Lines| lines != own && lines.first() <= own.first() && own.last() <= lines.last();
        wanted.extend(outline.symbols.iter().filter(|symbol| encloses(symbol.lines)).map(|symbol| symbol.signature));
        wanted.sort_unstable();
        let (runs, cut) = cut(&text, &wanted, found.symbol.lines);
        let shown: Vec<_> = runs.iter().map(|run| Glimpse::text(&path, run.lines.first().into(), &run.text)).collect();
        let notices = self.saw(session, call, shown.into_iter());
        Ok(Surroundings { runs, cut, notices })
    }

    fn in_file(
        &mut self,
        path: &str,
        target: &Target,
        cancelled: Cancelled<'_>,
    ) -> Result<(Vec<Defined>, Vec<String>), Error> {
        let (path, text) = self.text_of(path)?;
        let (_, outline) = self.outline_of(&path, &text, cancelled)?;
        let fits = outline.symbols.iter().filter(|symbol| target.fits(&path, symbol));
        let found: Vec<Defined> =
            fits.map(|symbol| Defined { path: path.clone(), hash: text.hash(), symbol: symbol.clone() }).collect();
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

    fn text_of(&mut self, path: &str) -> Result<(String, Text), Error> {
        let mut placed = self.place(path, Some(1), None)?;
        let snapshot = self.look(&mut placed)?;
        self.recent.keep(placed.file.key(), snapshot.text.clone());
        Ok((placed.file.key().to_string(), snapshot.text))
    }

    fn outline_of(&mut self, path: &str, text: &Text, cancelled: Cancelled<'_>) -> Result<(Language, &Outline), Error> {
        go_on(cancelled)?;
        let language = Language::of(path, text.as_str()).ok_or_else(|| Error::NoLanguage { path: path.to_owned() })?;
        let symbols = &mut self.symbols;
        let known = symbols.last.take().filter(|(hash, of, _)| (*hash, *of) == (text.hash(), language));
        let last = match known {
            Some(last) => last,
            None => match symbols.parsers.outline(language, text.as_str(), cancelled) {
                Ok(outline) => (text.hash(), language, outline),
                Err(NoOutline::Cancelled) => return Err(Error::Aborted),
                Err(NoOutline::TooHard) => return Err(Error::TooHard { path: path.to_owned() }),
            },
        };
        let (_, _, outline) = symbols.last.insert(last);
        Ok((language, outline))
    }

    /// Asks the catalog, brought up to date. Where its database cannot be used, one in memory takes its place.
    fn with_catalog<T>(
        &mut self,
        cancelled: Cancelled<'_>,
        progress: Indexing<'_>,
        ask: impl Fn(&Catalog, Indexed) -> Result<T, CatalogError>,
    ) -> Result<T, Error> {
        for attempt in 0..2 {
            let mut catalog = match self.symbols.catalog.take() {
                Some(catalog) => catalog,
                None => self.open_catalog()?,
            };
            let rules = FileRules { snapshot: self.snapshot_rules(), sensitive: &self.sensitive };
            let indexed = if catalog.is_fresh() {
                Ok(Indexed::default())
            } else {
                catalog.refresh(&self.root, rules, cancelled, progress)
            };
            match indexed.and_then(|indexed| ask(&catalog, indexed)) {
                Ok(answer) => {
                    self.symbols.catalog = Some(catalog);
                    return Ok(answer);
                }
                Err(CatalogError::Cancelled) => {
                    self.symbols.catalog = Some(catalog);
                    return Err(Error::Aborted);
                }
                Err(CatalogError::Walk(error)) => {
                    self.symbols.catalog = Some(catalog);
                    return Err(error.into());
                }
                Err(CatalogError::Database(error)) if attempt > 0 => {
                    return Err(Error::Index { why: error.to_string() });
                }
                Err(CatalogError::Database(error)) => {
                    drop(catalog);
                    self.symbols.catalog = Some(self.in_memory(&error.to_string())?);
                }
            }
        }
        Err(Error::Aborted)
    }

    /// The catalog in the store. One that cannot be used is made anew, as it holds nothing that is not in the files.
    fn open_catalog(&mut self) -> Result<Catalog, Error> {
        if let Err(error) = self.store(Create::Yes) {
            return self.in_memory(&error.to_string());
        }
        let Some((store, _)) = &self.store else { return self.in_memory("there is no store") };
        let open = || {
            let database = store.database(&self.root, DATABASE).map_err(|error| error.to_string())?;
            Catalog::new(database).map_err(|error: Unusable| error.to_string())
        };
        let opened = open().or_else(|_| {
            store.remove_database(DATABASE).map_err(|error| error.to_string())?;
            open()
        });
        match opened {
            Ok(catalog) => {
                self.symbols.in_memory_reason = None;
                Ok(catalog)
            }
            Err(why) => self.in_memory(&why),
        }
    }

    fn in_memory(&mut self, why: &str) -> Result<Catalog, Error> {
        self.symbols.in_memory_reason =
            Some(format!("the index of symbols is not stored and is made anew each time: {why}"));
        let database = database_in_memory().map_err(|error| Error::Index { why: error.to_string() })?;
        Catalog::new(database).map_err(|error| Error::Index { why: error.to_string() })
    }

    /// Finds a definition and does something with it; where its file has changed by then, both again.
    ///
    /// # Errors
    /// As [`Engine::resolve`], and as whatever is done.
    pub fn at_symbol<T>(
        &mut self,
        (target, path): (&str, Option<&str>),
        cancelled: Cancelled<'_>,
        progress: Indexing<'_>,
        mut then: impl FnMut(&mut Self, &Resolved) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut last = Error::Aborted;
        for _ in 0..ATTEMPTS {
            let found = self.resolve(target, path, cancelled, progress)?;
            match then(self, &found) {
                Err(error @ Error::Changed { .. }) => {
                    self.doubt_symbols();
                    last = error;
                }
                done => return done,
            }
        }
        Err(last)
    }

    /// Says that a definition was not where it had been found.
    pub fn doubt_symbols(&mut self) {
        if let Some(catalog) = &mut self.symbols.catalog {
            catalog.doubt();
        }
    }
}

/// What an answer of the catalog may lack.
fn missed(unindexed: &Unindexed) -> Option<String> {
    let Unindexed { files, first, sensitive } = unindexed;
    let name = |(path, large): &(String, bool)| {
        let why = if *large { "is too large" } else { "takes too many steps to parse" };
        format!("`{path}` {why}")
    };
    let mut said = Vec::new();
    if *files > 0 {
        let named: Vec<String> = first.iter().map(name).collect();
        let more = if *files > first.len() as u64 { ", …" } else { "" };
        said.push(format!("{files} not indexed: {}{more}; search in them as text", named.join(", ")));
    }
    if *sensitive > 0 {
        said.push(format!("{sensitive} not indexed, as they are sensitive"));
    }
    (!said.is_empty()).then(|| format!("files that may define more: {}", said.join("; ")))
}

/// None or more than one.
struct Several {
    first: Vec<Candidate>,
    total: u64,
}

/// The one of the best kind. What stands in another of the same name, as a constructor in its class, is not meant.
fn choose(found: Vec<Defined>) -> Result<Resolved, Several> {
    let Some(best) = found.iter().map(|defined| rank(defined.symbol.kind)).min() else {
        return Err(Several { first: Vec::new(), total: 0 });
    };
    let (of_best, lesser): (Vec<Defined>, Vec<Defined>) =
        found.into_iter().partition(|defined| rank(defined.symbol.kind) == best);
    let is_inside = |inner: &Defined| {
        of_best.iter().any(|outer| {
            let (a, b) = (outer.symbol.lines, inner.symbol.lines);
            outer.path == inner.path
                && outer.symbol.scope.len() < inner.symbol.scope.len()
                && a.first() <= b.first()
                && b.last() <= a.last()
        })
    };
    let meant: Vec<&Defined> = of_best.iter().filter(|defined| !is_inside(defined)).collect();
    if let [one] = meant[..] {
        let others = (lesser.len() + of_best.len() - 1) as u64;
        let Defined { path, hash, symbol } = one.clone();
        return Ok(Resolved { path, hash, symbol, others, missed: None });
    }
    let is_alone = |defined: &Defined, target: &Target| {
        let twins = meant.iter().filter(|other| other.path == defined.path && target.fits(&other.path, &other.symbol));
        twins.count() == 1
    };
    let candidate = |defined: &&Defined| {
        let plain = qualified(&defined.symbol);
        let of = defined.symbol.of.as_ref().filter(|_| defined.symbol.kind != SymbolKind::Implementation);
        let through = of.zip(defined.symbol.scope.last());
        let through = through.map(|(of, kind)| format!("<{kind} as {of}>::{}", defined.symbol.name));
        let alone = |target: &String| Target::parse(target).is_some_and(|parsed| is_alone(defined, &parsed));
        let target = Some(plain).filter(alone).or_else(|| through.filter(alone));
        Candidate { path: defined.path.clone(), symbol: defined.symbol.clone(), target }
    };
    Err(Several { total: meant.len() as u64, first: meant.iter().take(NAMED).map(candidate).collect() })
}

/// As many of these lines as may be given, without those already shown, in runs; whether that is not all.
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
