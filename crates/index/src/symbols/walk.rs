//! One pass over a tree, from the top, that finds what the rules of its language say. Never recursive: how deep a text is
//! nested is its author's choice.

mod list;

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
    Outline { symbols: list::in_order(walker.symbols), imports: walker.imports, truncated: walker.truncated }
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
            Some(Within::Function) if body.is_some_and(|body| !self.grammar.may_define(self.text_of(body))) => {
                Step::Skip
            }
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

    /// Lists the implementation of a type, and looks into it.
    pub(super) fn implementation(&mut self, node: Node<'t>, at: Node<'t>, name: &str, of: Option<&str>) -> Step {
        let body = node.child_by_field_name("body");
        let symbol = self.add_named(name, SymbolKind::Implementation, at, node, body);
        let step = self.inside_named(symbol, name, Within::Type);
        match (step, of) {
            (Step::Inside(place), Some(of)) => {
                self.mark_of(symbol, of);
                self.traits.push(one_line(of));
                Step::Inside(Place { of: Some(self.traits.len() - 1), ..place })
            }
            (step, _) => step,
        }
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
