//! Definitions in a large workspace that has no index yet: only files that contain the name are parsed, so that the first
//! answer takes about as long as a search for the name. The index is made afterwards, by whoever keeps the engine.

use std::sync::atomic::Ordering;

use readproof_core::operation::{Letters, SearchMode};
use readproof_index::{Defined, FileRules, Language, Part, Symbol, Target, TreeSearch, WalkRules, name_words};

use crate::{Control, Engine, Error};

/// The index of a workspace with no more files is made as quickly as it is searched.
const FEW_FILES: u64 = 2_000;

/// The most lines with the name whose files are looked at.
const MOST_LINES: usize = 20_000;

/// The most characters of such lines.
const MOST_CHARS: usize = 8 << 20;

/// The most files that are parsed.
const MOST_FILES: usize = 1_000;

impl Engine {
    /// Definitions with this name, found without an index; `None` if there is one, or it is made as quickly.
    pub(crate) fn without_index(
        &self,
        target: &Target,
        part: Part<'_>,
        control: &Control<'_>,
    ) -> Result<Option<Vec<Defined>>, Error> {
        let (name, words) = (target.names()[0], target.words());
        let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty();
        let (query, letters) = match &words {
            Some(words) if words.iter().all(|word| is_plain(word)) => (words.join("_?"), Letters::Any),
            None if is_plain(name) => (format!(r"\b{name}\b"), Letters::Exact),
            Some(_) | None => return Ok(None),
        };
        // Only the index of everything is made while nobody waits.
        if self.root.sight().is_some() || !self.lacks_index() {
            return Ok(None);
        }
        let search = TreeSearch {
            root: &self.root,
            rules: FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive },
            query: &query,
            mode: SearchMode::Regex,
            letters,
            walk: WalkRules { under: part.under, glob: part.glob, ..WalkRules::default() },
            limit: MOST_LINES,
            context_lines: 0,
            max_chars: MOST_CHARS,
        };
        let found = search.run(control.cancelled, &|done| control.report(done, None))?;
        if found.looked_at <= FEW_FILES {
            return Ok(None);
        }
        self.shared.symbols.wanted.store(true, Ordering::Relaxed);
        let mut defined = Vec::new();
        let files = found.hits.iter().filter(|hit| Language::of(&hit.path, "").is_some()).take(MOST_FILES);
        for hit in files {
            control.check_cancelled()?;
            let absolute = self.root.absolute(&hit.path);
            let Ok((path, text)) = self.text_of(&absolute) else { continue };
            let outline = match self.outline_of(&path, &text, control) {
                Ok((_, outline)) => outline,
                Err(Error::Aborted) => return Err(Error::Aborted),
                Err(_) => continue,
            };
            let is_meant = |symbol: &Symbol| match &words {
                Some(words) => name_words(&symbol.name) == *words,
                None => target.fits(&path, symbol),
            };
            let of_kind = |symbol: &Symbol| part.kinds.is_none_or(|kinds| kinds.contains(&symbol.kind));
            let fits = outline.symbols.iter().filter(|symbol| is_meant(symbol) && of_kind(symbol));
            let at = |symbol: &Symbol| Defined { path: path.clone(), hash: text.hash(), symbol: symbol.clone() };
            defined.extend(fits.map(at));
        }
        Ok(Some(defined))
    }

    /// Whether no index was ever made, or one is being made.
    fn lacks_index(&self) -> bool {
        if self.shared.symbols.making.load(Ordering::Relaxed) {
            return true;
        }
        // An index that was there once is only ever refreshed.
        if self.shared.symbols.found.load(Ordering::Relaxed) {
            return false;
        }
        // Opened without holding the lock, as that may wait for another process.
        let Some(catalog) = self.idle_catalog().or_else(|| self.open_catalog().ok()) else { return false };
        let is_empty = catalog.is_empty();
        self.put_back(catalog);
        self.shared.symbols.found.store(!is_empty, Ordering::Relaxed);
        is_empty
    }

    /// Makes the index, unless that is under way.
    pub(crate) fn index_now(&self) {
        if self.shared.symbols.making.swap(true, Ordering::Relaxed) {
            return;
        }
        // If it fails, the next question makes it and says why it cannot.
        let _ = self.with_catalog(&Control::WAIT, |_, _| Ok(()));
        self.shared.symbols.making.store(false, Ordering::Relaxed);
    }

    /// Whether an answer was given without the index; asked once.
    pub(crate) fn take_index_wish(&self) -> bool {
        self.shared.symbols.wanted.swap(false, Ordering::Relaxed) && !self.shared.symbols.making.load(Ordering::Relaxed)
    }
}
