//! Queries of the catalog: by exact name, by part of a name, all.

use ignore::overrides::Override;
use readproof_core::text::ContentHash;
use rusqlite::params;
use std::cmp::Reverse;

use super::{Catalog, CatalogError, packed::unpack, rows};
use crate::{Symbol, SymbolKind, Target, nearest, rank, search::name_words, walk::only};

/// One definition, and the text that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Relative to the workspace.
    pub path: String,
    /// Of the text that was parsed.
    pub hash: ContentHash,
    pub symbol: Symbol,
}

/// How well a name fits a query, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fitting {
    /// It has the query's letters in this order.
    Letters,
    /// It contains the query.
    Inside,
    /// One of its words begins with the query.
    Word,
    /// It begins with the query.
    Start,
    /// It has the words of the query, and no others.
    Words,
    /// It equals the query except for case.
    Name,
    /// It equals the query.
    Exact,
}

impl Fitting {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Letters => "letters",
            Self::Inside => "inside",
            Self::Word => "word",
            Self::Start => "start",
            Self::Words => "words",
            Self::Name => "name",
            Self::Exact => "exact",
        }
    }

    /// `None` if it does not fit. Scattered letters count only if there are at least three.
    fn of(name: &str, wanted: &str) -> Option<Self> {
        if name == wanted {
            return Some(Self::Exact);
        }
        let (lower, wanted_lower) = (name.to_lowercase(), wanted.to_lowercase());
        if lower == wanted_lower {
            return Some(Self::Name);
        }
        if wanted.contains(char::is_whitespace) {
            let words = name_words(name);
            return name_words(wanted).iter().all(|word| words.contains(word)).then_some(Self::Inside);
        }
        if lower.starts_with(&wanted_lower) {
            return Some(Self::Start);
        }
        let starts_word = |at: usize| {
            let before = lower[..at].chars().next_back();
            let here = name.get(at..).and_then(|rest| rest.chars().next());
            before.is_some_and(|c| !c.is_alphanumeric()) || here.is_some_and(char::is_uppercase)
        };
        let mut inside = lower.match_indices(&wanted_lower).map(|(at, _)| at).peekable();
        if inside.peek().is_some() {
            return Some(if inside.any(starts_word) { Self::Word } else { Self::Inside });
        }
        let mut letters = lower.chars();
        let scattered = wanted_lower.chars().all(|c| letters.any(|other| other == c));
        (scattered && wanted_lower.chars().count() >= 3).then_some(Self::Letters)
    }
}

/// Files whose definitions are not in the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unindexed {
    /// Number of files that take too many steps to parse or are too large.
    pub files: u64,
    /// The first of them, each with whether it is too large.
    pub first: Vec<(String, bool)>,
    /// Number of files that are left out because they are sensitive.
    pub sensitive: u64,
}

/// The most files that are named as not indexed.
const UNINDEXED_NAMED: usize = 5;

impl Catalog {
    /// The files that are not indexed, of those that `counts` lets through.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn unindexed(&self, counts: impl Fn(&str) -> bool) -> Result<Unindexed, CatalogError> {
        let mut out = Unindexed { sensitive: self.sensitive, ..Unindexed::default() };
        let mut statement = self.db.prepare_cached(rows::UNINDEXED)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let path: String = row.get(0)?;
            if counts(&path) {
                out.first.push((path, row.get(1)?));
            }
        }
        out.files = out.first.len() as u64;
        out.first.sort_unstable();
        out.first.truncate(UNINDEXED_NAMED);
        Ok(out)
    }

    /// The files that are not indexed, of those that match a glob.
    ///
    /// # Errors
    /// When the database cannot be read, or the glob is malformed.
    pub fn unindexed_in(&self, part: Part<'_>) -> Result<Unindexed, CatalogError> {
        let within = part.compiled()?;
        self.unindexed(|path| within.has(path))
    }

    /// The definitions that a name may mean, by path and line.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn find(&self, target: &Target) -> Result<Vec<Defined>, CatalogError> {
        let mut found = Vec::new();
        for name in target.names() {
            found.extend(self.named(name)?.into_iter().filter(|defined| target.fits(&defined.path, &defined.symbol)));
            // The whole of what was written counts as a name only if it does not fit as a qualified one.
            if !found.is_empty() {
                break;
            }
        }
        found.sort_by(|a, b| (&a.path, a.symbol.lines, &a.symbol.name).cmp(&(&b.path, b.symbol.lines, &b.symbol.name)));
        found.dedup();
        Ok(found)
    }

    fn named(&self, name: &str) -> Result<Vec<Defined>, CatalogError> {
        let mut statement = self.db.prepare_cached(rows::NAMED)?;
        let mut rows = statement.query(params![name])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let of_kind: u8 = row.get(2)?;
            let Some(hash) = rows::hash(row.get_ref(1)?.as_blob()?) else { continue };
            for symbol in unpack(row.get_ref(3)?.as_blob()?, Some(name)) {
                if rank(symbol.kind) == of_kind {
                    found.push(Defined { path: row.get(0)?, hash, symbol });
                }
            }
        }
        Ok(found)
    }

    /// Names similar to one that is not defined.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn near(&self, target: &Target) -> Result<Vec<String>, CatalogError> {
        let names: Vec<String> = self.names()?.into_iter().map(|(name, _)| name).collect();
        let wanted = target.names()[0];
        let mut near = nearest(wanted, &names);
        if near.is_empty() {
            let fit = |name: &str| Fitting::of(name, wanted).filter(|fit| *fit > Fitting::Letters);
            let mut fits: Vec<_> = names.into_iter().filter_map(|name| Some((fit(&name)?, name))).collect();
            fits.sort_by(|a, b| (Reverse(a.0), a.1.len(), &a.1).cmp(&(Reverse(b.0), b.1.len(), &b.1)));
            near = fits.into_iter().take(3).map(|(_, name)| name).collect();
        }
        Ok(near)
    }

    /// All names that are defined in some file, each with its best rank.
    fn names(&self) -> Result<Vec<(String, u8)>, rusqlite::Error> {
        let sql = "SELECT name, min(rank) FROM names WHERE text IN (SELECT text FROM files) GROUP BY name";
        let mut rows = self.db.prepare_cached(sql)?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    /// Definitions whose names fit, the best first, and how many there are. Qualifiers must be right. Without a limit, what has
    /// exactly this name ends the list, and of that only what ranks best.
    ///
    /// # Errors
    /// When the database cannot be read, or the glob is malformed.
    pub fn search(
        &self,
        query: &Target,
        part: Part<'_>,
        limit: Option<usize>,
        standard: usize,
    ) -> Result<(Vec<(Fitting, Defined)>, u64), CatalogError> {
        let within = part.compiled()?;
        if limit.is_none() {
            let mut exact = self.find(query)?;
            exact.retain(|defined| query.is_within(&defined.path, &defined.symbol) && within.holds(defined));
            let mut fitting = Fitting::Exact;
            if let Some(words) = query.words().filter(|_| exact.is_empty()) {
                exact = self.with_words(query, &words)?;
                exact.retain(|defined| within.holds(defined));
                fitting = Fitting::Words;
            }
            let best = exact.iter().map(|defined| rank(defined.symbol.kind)).min();
            exact.retain(|defined| Some(rank(defined.symbol.kind)) == best);
            if !exact.is_empty() {
                let total = exact.len() as u64;
                return Ok((exact.into_iter().take(standard).map(|found| (fitting, found)).collect(), total));
            }
        }
        let limit = limit.unwrap_or(standard);
        let mut fits: Vec<(Fitting, u8, String)> = Vec::new();
        for (name, rank) in self.names()? {
            let best = query.names().into_iter().filter_map(|wanted| Fitting::of(&name, wanted)).max();
            fits.extend(best.map(|fitting| (fitting, rank, name)));
        }
        // By fit, kind and length of the name; then by place.
        fits.sort_by(|a, b| (Reverse(a.0), a.1, a.2.len(), &a.2).cmp(&(Reverse(b.0), b.1, b.2.len(), &b.2)));
        let (mut found, mut total) = (Vec::new(), 0);
        for (fitting, _, name) in fits {
            let mut all = self.named(&name)?;
            all.retain(|defined| query.is_within(&defined.path, &defined.symbol) && within.holds(defined));
            all.sort_by(|a, b| {
                let key = |d: &Defined| (rank(d.symbol.kind), d.path.clone(), d.symbol.line);
                key(a).cmp(&key(b))
            });
            total += all.len() as u64;
            let room = limit.saturating_sub(found.len());
            found.extend(all.into_iter().take(room).map(|defined| (fitting, defined)));
        }
        Ok((found, total))
    }

    /// Definitions that have these words: those whose names have all of them, or else with some in what they are in.
    fn with_words(&self, query: &Target, words: &[String]) -> Result<Vec<Defined>, CatalogError> {
        let mut names: Vec<(usize, String)> = Vec::new();
        for (name, _) in self.names()? {
            let own = name_words(&name);
            if !own.is_empty() && words.ends_with(&own) {
                names.push((own.len(), name));
            }
        }
        let most = names.iter().map(|(number, _)| *number).max();
        let mut found = Vec::new();
        for (_, name) in names.iter().filter(|(number, _)| Some(*number) == most || *number + 3 > words.len()) {
            let of_name = self.named(name)?;
            found.extend(of_name.into_iter().filter(|one| query.fits_words(words, &one.path, &one.symbol)));
        }
        let own = |one: &Defined| Reverse(name_words(&one.symbol.name).len());
        found.sort_by(|a, b| {
            let key = |one: &Defined| (own(one), rank(one.symbol.kind), one.path.clone(), one.symbol.line);
            key(a).cmp(&key(b))
        });
        let best = found.first().map(own);
        found.retain(|one| Some(own(one)) == best);
        Ok(found)
    }

    /// Every definition, file by file; `each` says whether to go on.
    ///
    /// # Errors
    /// When the database cannot be read, or the glob is malformed.
    pub fn all(&self, part: Part<'_>, each: &mut dyn FnMut(Defined) -> bool) -> Result<(), CatalogError> {
        let within = part.compiled()?;
        let mut statement = self.db.prepare_cached(rows::ALL)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let path: String = row.get(0)?;
            let hash = rows::hash(row.get_ref(1)?.as_blob()?).filter(|_| within.has(&path));
            let Some(hash) = hash else { continue };
            for symbol in unpack(row.get_ref(2)?.as_blob()?, None) {
                let defined = Defined { path: path.clone(), hash, symbol };
                if within.holds(&defined) && !each(defined) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// A part of the workspace.
#[derive(Clone, Copy, Default)]
pub struct Part<'a> {
    /// The name of a file or folder; the whole workspace if absent.
    pub under: Option<&'a str>,
    /// Only files that match.
    pub glob: Option<&'a str>,
    /// Only definitions of these kinds.
    pub kinds: Option<&'a [SymbolKind]>,
}

struct Within<'a> {
    under: Option<String>,
    only: Option<Override>,
    kinds: Option<&'a [SymbolKind]>,
}

impl<'a> Part<'a> {
    fn compiled(self) -> Result<Within<'a>, CatalogError> {
        let under = self.under.filter(|under| !matches!(*under, "" | ".")).map(str::to_owned);
        let only = self.glob.map(only).transpose().map_err(CatalogError::Walk)?;
        Ok(Within { under, only, kinds: self.kinds })
    }
}

impl Within<'_> {
    fn holds(&self, defined: &Defined) -> bool {
        self.kinds.is_none_or(|kinds| kinds.contains(&defined.symbol.kind)) && self.has(&defined.path)
    }

    fn has(&self, path: &str) -> bool {
        let below = |under: &String| {
            path.strip_prefix(under.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.under.as_ref().is_none_or(below)
            && self.only.as_ref().is_none_or(|only| only.matched(path, false).is_whitelist())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_name_fits() {
        let check = |name: &str, wanted: &str, expected: Option<Fitting>| {
            assert_eq!(Fitting::of(name, wanted), expected, "{wanted} in {name}");
        };
        check("read", "read", Some(Fitting::Exact));
        check("Read", "read", Some(Fitting::Name));
        check("read_echoed", "read", Some(Fitting::Start));
        check("do_read", "read", Some(Fitting::Word));
        check("doRead", "read", Some(Fitting::Word));
        check("thread", "read", Some(Fitting::Inside));
        check("resolve_all_dirs", "rad", Some(Fitting::Letters));
        check("resolve", "rx", None);
        check("İx", "x", Some(Fitting::Word));
    }
}
