//! Lists definitions: the name, the names that enclose it, and its lines.

use readproof_core::scope::Lines;
use tree_sitter::Node;

use super::{MOST_AROUND, NAME_BYTES, Start, Step, Walker, last_row, one_line};
use crate::symbols::{Symbol, SymbolKind, grammar::Rule};

/// The most parts of a definition that are searched for the end of its signature.
const MOST_PARTS: u32 = 64;

impl<'t> Walker<'t> {
    /// Lists a definition; `None` if it has no name or there is no room. The signature ends before `body`.
    pub(in crate::symbols) fn add(
        &mut self,
        kind: SymbolKind,
        name: Node<'t>,
        whole: Node<'t>,
        body: Option<Node<'t>>,
    ) -> Option<u32> {
        self.add_named(self.text_of(name), kind, name, whole, body)
    }

    /// Lists a part of a definition that was just listed, where the walk does not come to it.
    pub(in crate::symbols) fn add_inside(&mut self, step: &Step, kind: SymbolKind, name: Node<'t>, whole: Node<'t>) {
        let Step::Inside(place) = step else { return };
        let outer = std::mem::replace(&mut self.level.place, *place);
        let row = whole.start_position().row;
        self.add_rows(self.text_of(name), kind, name, (row, last_row(whole)), (row, last_row(whole)));
        self.level.place = outer;
    }

    /// Lists a definition that is written outside of its type.
    pub(in crate::symbols) fn add_scoped(
        &mut self,
        scope: &[&str],
        name: &str,
        kind: SymbolKind,
        (at, whole, body): (Node<'t>, Node<'t>, Option<Node<'t>>),
    ) -> Option<u32> {
        let around = self.scope.len();
        scope.iter().for_each(|name| self.within_name(name));
        let symbol = self.add_named(name, kind, at, whole, body);
        self.scope.truncate(around);
        symbol
    }

    /// Lists a definition whose name is not simply the text of a node.
    pub(in crate::symbols) fn add_named(
        &mut self,
        name: &str,
        kind: SymbolKind,
        at: Node<'t>,
        whole: Node<'t>,
        body: Option<Node<'t>>,
    ) -> Option<u32> {
        let start = self.start(whole);
        let last = last_row(whole);
        let end = body.map_or(last, |body| self.signature_end(whole, body)).min(last);
        let signature = match body {
            // In C, the name may come after the body.
            Some(body) if at.start_byte() >= body.end_byte() => (at.start_position().row, last),
            Some(_) | None => (start.signature, end),
        };
        self.add_rows(name, kind, at, (start.whole, last), signature)
    }

    /// Lists a definition whose rows are known.
    pub(in crate::symbols) fn add_rows(
        &mut self,
        name: &str,
        kind: SymbolKind,
        at: Node<'t>,
        lines: (usize, usize),
        signature: (usize, usize),
    ) -> Option<u32> {
        let row = at.start_position().row;
        let taken = self.scope.iter().map(|name| name.len() + size_of::<String>()).sum::<usize>() + name.len();
        if name.is_empty() {
            return None;
        }
        if name.len() > NAME_BYTES || self.scope.len() > MOST_AROUND || taken > self.room {
            self.truncated = true;
            return None;
        }
        self.room -= taken;
        let place = self.level.place;
        let symbol = Symbol {
            name: one_line(name),
            kind,
            scope: self.scope.clone(),
            of: place.of.and_then(|of| self.traits.get(of)).cloned(),
            lines: self.lines(lines.0.min(row), lines.1.max(row))?,
            line: self.line(row),
            signature: self.lines(signature.0.min(row), signature.1.max(row))?,
            parent: place.parent,
        };
        self.symbols.push((at.start_byte(), symbol));
        u32::try_from(self.symbols.len() - 1).ok()
    }

    fn lines(&self, first: usize, last: usize) -> Option<Lines> {
        Lines::new(self.line(first), self.line(last))
    }

    /// The line number of a row. Rows that the parser assumes after the end count as the last line.
    pub(super) fn line(&self, row: usize) -> u32 {
        u32::try_from((row + 1).min(self.rows)).unwrap_or(u32::MAX)
    }

    /// Where a node begins, including its comments and wrappers.
    pub(in crate::symbols) fn start(&self, node: Node<'t>) -> Start {
        let row = node.start_position().row;
        self.level.wrapped.unwrap_or_else(|| {
            let lead = self.level.lead.filter(|(first, last)| last + 1 >= row && *first <= row);
            Start { whole: lead.map_or(row, |(first, _)| first), signature: self.signature_row(node) }
        })
    }

    /// The row of the first word that is not part of an attribute.
    fn signature_row(&self, node: Node<'t>) -> usize {
        let first = |node: Node<'t>, behind: usize| {
            let count = node.child_count().min(MOST_PARTS);
            let children = (0..count).filter_map(|at| node.child(at)).skip(behind);
            children
                .enumerate()
                .find(|(_, child)| !matches!(self.grammar.rule(*child), Rule::Comment | Rule::Attribute))
        };
        let mut passed = 0;
        while let Some((at, child)) = first(node, passed) {
            let Rule::Modifiers = self.grammar.rule(child) else { return child.start_position().row };
            if let Some((_, word)) = first(child, 0) {
                return word.start_position().row;
            }
            passed += at + 1;
        }
        node.start_position().row
    }

    /// The last row of a signature, without comments between it and the body.
    pub(in crate::symbols) fn signature_end(&self, whole: Node<'t>, body: Node<'t>) -> usize {
        let mut before = None;
        // A declaration with very many names would be searched once for each of them.
        for child in whole.children(&mut whole.walk()).take(MOST_PARTS as usize) {
            if child.id() == body.id() {
                return before.unwrap_or_else(|| self.row_before(body));
            }
            if !matches!(self.grammar.rule(child), Rule::Comment) {
                before = Some(last_row(child));
            }
        }
        self.row_before(body)
    }

    /// The row of the last word before a node.
    fn row_before(&self, node: Node<'t>) -> usize {
        let gap = self.text.get(..node.start_byte()).unwrap_or_default();
        let words = gap.trim_end_matches([' ', '\t', '\n', '\r']);
        let rows = gap.get(words.len()..).unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count();
        node.start_position().row.saturating_sub(rows)
    }

    /// Keeps a comment or an attribute for the definition that follows.
    pub(super) fn lead(&mut self, node: Node<'t>) {
        let (row, last) = (node.start_position().row, last_row(node));
        let from = node.start_byte();
        let line = self.text.get(..from).map_or("", |before| &before[before.rfind('\n').map_or(0, |at| at + 1)..]);
        let text = self.text.get(from..).unwrap_or_default();
        let is_first =
            line.trim_start_matches('\u{feff}').trim().is_empty() || self.level.lead.is_some_and(|lead| lead.1 == row);
        let is_none = self.grammar.not_leading.iter().any(|mark| text.starts_with(mark));
        let is_shebang = row == 0 && text.starts_with("#!");
        if !is_first || is_none || is_shebang {
            self.level.lead = None;
            return;
        }
        let run = self.level.lead.filter(|(_, end)| end + 1 >= row);
        self.level.lead = Some((run.map_or(row, |(first, _)| first), last));
    }
}

/// Sorts by the position of the names; a definition comes before those that it encloses.
pub(super) fn in_order(mut symbols: Vec<(usize, Symbol)>) -> Vec<Symbol> {
    for at in (0..symbols.len()).rev() {
        let (key, parent) = (symbols[at].0, symbols[at].1.parent);
        if let Some((outer, _)) = parent.and_then(|parent| symbols.get_mut(parent as usize)) {
            *outer = key.min(*outer);
        }
    }
    if !symbols.is_sorted_by_key(|(key, _)| *key) {
        let mut order: Vec<usize> = (0..symbols.len()).collect();
        order.sort_by_key(|at| symbols[*at].0);
        let mut moved = vec![0; order.len()];
        for (to, from) in order.iter().enumerate() {
            moved[*from] = u32::try_from(to).unwrap_or(u32::MAX);
        }
        for (_, symbol) in &mut symbols {
            symbol.parent = symbol.parent.and_then(|parent| moved.get(parent as usize)).copied();
        }
        symbols.sort_by_key(|(key, _)| *key);
    }
    symbols.into_iter().map(|(_, symbol)| symbol).collect()
}
