//! One pass over a tree, from the top, that lists what the rules of its language find. Never recursive: how deep a text is
//! nested is its author's choice.

use std::{collections::BTreeSet, num::NonZeroU16};

use readproof_core::scope::Lines;
use tree_sitter::{Node, Tree, TreeCursor};

use super::{
    Outline, Symbol, SymbolKind,
    grammar::{Define, Grammar, Rule, Within},
};

/// The most definitions that are listed for a text.
pub(super) const MOST_SYMBOLS: usize = 20_000;

/// The most names around a definition.
pub(super) const MOST_AROUND: usize = 64;

/// The longest name, in bytes.
pub(super) const NAME_BYTES: usize = 1024;

/// The most bytes that all names take, with those around them.
pub(super) const ALL_NAME_BYTES: usize = 16 << 20;

/// The most parts of a definition that are looked at for its signature.
const MOST_PARTS: u32 = 64;

/// What to do with a node's children.
pub(super) enum Step {
    /// Pass them over.
    Skip,
    /// Look at them; they stand where the node does.
    Enter,
    /// Look at them; what they define begins where the node does.
    Wrap,
    /// The same, with a note for the functions of the language that look at them.
    WrapNoted(u8),
    /// Look at them; they stand in something else.
    Inside(Place),
    /// Pass them over; what follows the node stands in something else.
    Rest(Place),
}

/// What surrounds a node.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The innermost definition around it.
    pub(super) parent: Option<u32>,
    pub(super) within: Within,
    /// The name of the trait that is implemented here, by its place in the walker's list.
    of: Option<usize>,
}

/// The file itself.
const TOP: Place = Place { parent: None, within: Within::Module, of: None };

/// Rows where something begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// With its comments and attributes.
    pub(super) whole: usize,
    pub(super) signature: usize,
}

/// The children of one node.
struct Level {
    place: Place,
    /// How many names are around its node.
    scope: usize,
    /// The rows of the comments and attributes that wait for what they belong to.
    lead: Option<(usize, usize)>,
    /// Where the node begins, if it is a wrapper of which nothing has been defined yet.
    wrapped: Option<Start>,
    note: u8,
}

/// A walk under way.
pub(super) struct Walker<'t> {
    pub(super) grammar: &'t Grammar,
    pub(super) text: &'t str,
    cursor: TreeCursor<'t>,
    /// Of the node that is visited.
    level: Level,
    /// Those around it.
    levels: Vec<Level>,
    scope: Vec<String>,
    /// How many names stay around what follows the node that is visited, if it says so.
    rest: Option<usize>,
    traits: Vec<String>,
    /// Rows of the text.
    rows: usize,
    /// Bytes left for names.
    room: usize,
    /// With the byte where each name stands.
    symbols: Vec<(usize, Symbol)>,
    /// Names of which only the first counts.
    names: BTreeSet<&'t str>,
    imports: Vec<Lines>,
    truncated: bool,
}

/// What a tree defines.
pub(super) fn outline(grammar: &Grammar, tree: &Tree, text: &str) -> Outline {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    let mut walker = Walker {
        grammar,
        text,
        cursor: tree.walk(),
        level: Level { place: TOP, scope: 0, lead: None, wrapped: None, note: 0 },
        levels: Vec::new(),
        scope: Vec::new(),
        rest: None,
        traits: Vec::new(),
        rows: (ends + usize::from(!text.ends_with('\n'))).max(1),
        room: ALL_NAME_BYTES,
        symbols: Vec::new(),
        names: BTreeSet::new(),
        imports: Vec::new(),
        truncated: false,
    };
    walker.walk();
    Outline { symbols: in_order(walker.symbols), imports: walker.imports, truncated: walker.truncated }
}

impl<'t> Walker<'t> {
    fn walk(&mut self) {
        while self.symbols.len() < MOST_SYMBOLS {
            let node = self.cursor.node();
            let scope = self.scope.len();
            let entered = self.visit(node);
            let is_deeper = match entered {
                Some(level) if self.cursor.goto_first_child() => {
                    self.levels.push(std::mem::replace(&mut self.level, level));
                    true
                }
                Some(_) | None => false,
            };
            if !is_deeper {
                self.scope.truncate(self.rest.take().unwrap_or(scope));
                if !self.next() {
                    return;
                }
            }
        }
        self.truncated = true;
    }

    /// Goes on to what follows a node; false at the end.
    fn next(&mut self) -> bool {
        while !self.cursor.goto_next_sibling() {
            if !self.cursor.goto_parent() {
                return false;
            }
            self.scope.truncate(self.level.scope);
            let Some(outer) = self.levels.pop() else { return false };
            // A comment at the end of something may belong to what follows it.
            let lead = self.level.lead;
            self.level = outer;
            self.level.lead = lead;
        }
        true
    }

    /// Where the children of a node stand, if they are to be looked at.
    fn visit(&mut self, node: Node<'t>) -> Option<Level> {
        let (symbols, scope) = (self.symbols.len(), self.scope.len());
        let grammar = self.grammar;
        let step = match grammar.rule(node) {
            Rule::Token => return None,
            Rule::Comment | Rule::Attribute => {
                self.lead(node);
                return None;
            }
            Rule::Enter if node.child_count() == 0 => Step::Skip,
            Rule::Enter => Step::Enter,
            Rule::Skip | Rule::Modifiers => Step::Skip,
            Rule::Wrap => Step::Wrap,
            Rule::Import => self.import(node),
            Rule::Define(define) => self.define(*define, node),
            Rule::Special(special) => special(self, node),
        };
        let Level { place, lead, wrapped, .. } = self.level;
        let entered = match step {
            Step::Skip => None,
            // What leads to a node leads to what comes first in it.
            Step::Enter => Some(Level { place, scope, lead, wrapped, note: 0 }),
            Step::Wrap => Some(Level { place, scope, lead: None, wrapped: Some(self.start(node)), note: 0 }),
            Step::WrapNoted(note) => Some(Level { place, scope, lead: None, wrapped: Some(self.start(node)), note }),
            Step::Inside(place) => Some(Level { place, scope, lead: None, wrapped: None, note: 0 }),
            Step::Rest(place) => {
                self.level.place = place;
                self.rest = Some(self.scope.len());
                None
            }
        };
        self.level.lead = None;
        if entered.is_some() || self.symbols.len() > symbols {
            self.level.wrapped = None;
        }
        entered
    }

    /// What surrounds the node that is visited.
    pub(super) fn place(&self) -> Place {
        self.level.place
    }

    /// What was noted for the children of the node around.
    pub(super) fn note(&self) -> u8 {
        self.level.note
    }

    /// A node's text.
    pub(super) fn text_of(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Puts a name around what is defined in the node that is visited.
    pub(super) fn within_name(&mut self, name: &str) {
        if !name.is_empty() {
            self.scope.push(one_line(name));
        }
    }

    /// The innermost name around the node that is visited.
    pub(super) fn innermost(&self) -> &str {
        self.scope.last().map_or("", String::as_str)
    }

    /// Takes a node for an import of the file; one in a function is local.
    pub(super) fn import(&mut self, node: Node<'t>) -> Step {
        if self.level.place.within == Within::Function {
            return Step::Skip;
        }
        let (first, last) = (self.line(node.start_position().row), self.line(last_row(node)));
        match self.imports.last_mut() {
            Some(run) if run.last() + 1 >= first && run.first() <= first => {
                *run = Lines::new(run.first(), run.last().max(last)).unwrap_or(*run);
            }
            Some(_) | None => self.imports.extend(Lines::new(first, last)),
        }
        Step::Skip
    }

    fn define(&mut self, define: Define, node: Node<'t>) -> Step {
        let field = |id: Option<NonZeroU16>| id.and_then(|id| node.child_by_field_id(id.get()));
        let body = field(define.body_field);
        let kind = self.settle(define.kind, define.even_local);
        let Some((kind, name)) = kind.zip(field(define.name_field)) else {
            return define.inside.map_or(Step::Skip, |_| Step::Enter);
        };
        let symbol = self.add(kind, name, node, body);
        match define.inside {
            None => Step::Skip,
            Some(within) => self.inside(symbol, name, within),
        }
    }

    /// What a definition is where it stands; `None` if it is no business of others.
    pub(super) fn settle(&self, kind: SymbolKind, even_local: bool) -> Option<SymbolKind> {
        match (self.level.place.within, kind) {
            (Within::Function, SymbolKind::Variable) if !even_local => None,
            (Within::Type | Within::Enum, SymbolKind::Function) => Some(SymbolKind::Method),
            (Within::Type | Within::Enum, SymbolKind::Variable) => Some(SymbolKind::Field),
            (Within::Extern, SymbolKind::Function | SymbolKind::Variable) => Some(SymbolKind::Declaration),
            (Within::Module | Within::Type | Within::Enum | Within::Extern | Within::Function, _) => Some(kind),
        }
    }

    /// Looks into a definition.
    pub(super) fn inside(&mut self, symbol: Option<u32>, name: Node<'t>, within: Within) -> Step {
        let name = self.text_of(name);
        self.inside_named(symbol, name, within)
    }

    /// Looks into what has a name, whether it is a definition or not.
    pub(super) fn inside_named(&mut self, symbol: Option<u32>, name: &str, within: Within) -> Step {
        if self.scope.len() > MOST_AROUND {
            self.truncated = true;
            return Step::Skip;
        }
        self.within_name(name);
        let parent = symbol.or(self.level.place.parent);
        Step::Inside(Place { parent, within, of: None })
    }

    /// Leaves what the file stood in up to a node.
    pub(super) fn leave_rest(&mut self, node: Node<'t>) {
        let end = self.line(self.start(node).whole.saturating_sub(1));
        if self.levels.len() != 1 {
            return;
        }
        let place = std::mem::replace(&mut self.level.place, TOP);
        if let Some((_, before)) = place.parent.and_then(|parent| self.symbols.get_mut(parent as usize)) {
            let last = end.max(before.signature.last());
            before.lines = Lines::new(before.lines.first(), last).unwrap_or(before.lines);
        }
        self.scope.clear();
    }

    /// Puts the node that is visited into the first of the names around it, and into a definition.
    pub(super) fn stand_in(&mut self, names: usize, parent: Option<u32>) {
        self.scope.truncate(names);
        self.level.place.parent = parent;
    }

    /// How many rows the text has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Lists what all that follows stands in.
    pub(super) fn rest_inside(&mut self, name: &str, kind: SymbolKind, at: Node<'t>, whole: Node<'t>) -> Step {
        let start = self.start(whole);
        let symbol = self.add_rows(name, kind, at, (start.whole, self.rows), (start.signature, last_row(whole)));
        match self.inside_named(symbol, name, Within::Module) {
            Step::Inside(place) => Step::Rest(place),
            step @ (Step::Skip | Step::Enter | Step::Wrap | Step::WrapNoted(_) | Step::Rest(_)) => step,
        }
    }

    /// Whether a name has not been asked for before.
    pub(super) fn is_first(&mut self, name: Node<'t>) -> bool {
        let name = self.text_of(name);
        self.names.insert(name)
    }

    /// Says for which trait or interface a definition is.
    pub(super) fn mark_of(&mut self, symbol: Option<u32>, of: &str) {
        if let Some((_, symbol)) = symbol.and_then(|symbol| self.symbols.get_mut(symbol as usize)) {
            symbol.of = Some(one_line(of));
        }
    }

    /// Looks into the implementation of a type.
    pub(super) fn implementation(&mut self, name: &str, of: Option<&str>) -> Step {
        let step = self.inside_named(None, name, Within::Type);
        match (step, of) {
            (Step::Inside(place), Some(of)) => {
                self.traits.push(one_line(of));
                Step::Inside(Place { of: Some(self.traits.len() - 1), ..place })
            }
            (step, _) => step,
        }
    }

    /// Lists a definition; `None` where it has no name or there is no room. What is in `body` is no part of its signature.
    pub(super) fn add(
        &mut self,
        kind: SymbolKind,
        name: Node<'t>,
        whole: Node<'t>,
        body: Option<Node<'t>>,
    ) -> Option<u32> {
        self.add_named(self.text_of(name), kind, name, whole, body)
    }

    /// Lists something small that stands in a definition that has just been listed, but not where the walk finds it.
    pub(super) fn add_inside(&mut self, step: &Step, kind: SymbolKind, name: Node<'t>, whole: Node<'t>) {
        let Step::Inside(place) = step else { return };
        let outer = std::mem::replace(&mut self.level.place, *place);
        let row = whole.start_position().row;
        self.add_rows(self.text_of(name), kind, name, (row, last_row(whole)), (row, last_row(whole)));
        self.level.place = outer;
    }

    /// Lists a definition that stands outside of what it belongs to: its name, its whole and its body are given.
    pub(super) fn add_scoped(
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

    /// Lists a definition whose name is not just what stands at its place.
    pub(super) fn add_named(
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
            // In C, a name may stand behind all that it names.
            Some(body) if at.start_byte() >= body.end_byte() => (at.start_position().row, last),
            Some(_) | None => (start.signature, end),
        };
        self.add_rows(name, kind, at, (start.whole, last), signature)
    }

    /// Lists a definition whose rows are known.
    pub(super) fn add_rows(
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

    /// The number of a row's line. What the parser supposes behind the end counts as the last line.
    fn line(&self, row: usize) -> u32 {
        u32::try_from((row + 1).min(self.rows)).unwrap_or(u32::MAX)
    }

    /// Where a node begins, with what leads to it and what is wrapped around it.
    pub(super) fn start(&self, node: Node<'t>) -> Start {
        let row = node.start_position().row;
        self.level.wrapped.unwrap_or_else(|| {
            let lead = self.level.lead.filter(|(first, last)| last + 1 >= row && *first <= row);
            Start { whole: lead.map_or(row, |(first, _)| first), signature: self.signature_row(node) }
        })
    }

    /// The row of the first word that is no attribute.
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

    /// The last row of a signature: none of a comment between it and the body.
    pub(super) fn signature_end(&self, whole: Node<'t>, body: Node<'t>) -> usize {
        let mut before = None;
        // Where a declaration has very many parts, each of them has it as its whole.
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

    /// Keeps a comment or an attribute for what follows.
    fn lead(&mut self, node: Node<'t>) {
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

/// The children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The children that stand in a field.
pub(super) fn fields<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    node.children_by_field_name(field, &mut node.walk()).collect()
}

/// The last row that a node has a part of.
pub(super) fn last_row(node: Node<'_>) -> usize {
    let (start, end) = (node.start_position(), node.end_position());
    if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row }
}

/// A name without line breaks.
fn one_line(name: &str) -> String {
    if name.contains(['\n', '\r', '\t']) {
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        name.to_owned()
    }
}

/// By where the names stand, with what encloses before what it encloses.
fn in_order(mut symbols: Vec<(usize, Symbol)>) -> Vec<Symbol> {
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
