//! Walks a syntax tree once, from the top, and lists the definitions that the language's rules describe. Not recursive: a
//! hostile text may be nested to any depth.

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

/// The most names that enclose a definition.
pub(super) const MOST_AROUND: usize = 64;

/// The longest name, in bytes.
pub(super) const NAME_BYTES: usize = 1024;

/// The most bytes of all names of a text, enclosing ones included.
pub(super) const ALL_NAME_BYTES: usize = 16 << 20;

/// What to do with a node's children.
pub(super) enum Step {
    Skip,
    /// Look at them; they have the node's surroundings.
    Enter,
    /// Look at them; a definition among them begins where the node begins.
    Wrap,
    /// Like `Wrap`, with a note for the language's own functions.
    WrapNoted(u8),
    /// Look at them; they have other surroundings.
    Inside(Place),
    /// Skip them; what follows the node has other surroundings.
    Rest(Place),
}

/// The surroundings of a node.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The innermost definition that encloses it.
    pub(super) parent: Option<u32>,
    pub(super) within: Within,
    /// The trait that is implemented here, as an index into the walker's list.
    of: Option<usize>,
}

/// The file itself.
const TOP: Place = Place { parent: None, within: Within::Module, of: None };

/// Rows where something begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// Including comments and attributes.
    pub(super) whole: usize,
    pub(super) signature: usize,
}

/// The children of one node.
struct Level {
    place: Place,
    /// How many names enclose the node.
    scope: usize,
    /// The rows of comments and attributes whose definition has not come yet.
    lead: Option<(usize, usize)>,
    /// Where the node begins, if it is a wrapper in which nothing has been defined yet.
    wrapped: Option<Start>,
    note: u8,
}

/// A walk under way.
pub(super) struct Walker<'t> {
    pub(super) grammar: &'t Grammar,
    pub(super) text: &'t str,
    cursor: TreeCursor<'t>,
    /// Of the visited node.
    level: Level,
    /// Of the nodes that enclose it.
    levels: Vec<Level>,
    scope: Vec<String>,
    /// How many names enclose what follows the visited node, if it changes that.
    rest: Option<usize>,
    traits: Vec<String>,
    /// Number of rows.
    rows: usize,
    /// Bytes left for names.
    room: usize,
    /// Each with the position of its name.
    symbols: Vec<(usize, Symbol)>,
    /// Names that are listed only once.
    names: BTreeSet<&'t str>,
    imports: Vec<Lines>,
    truncated: bool,
}

/// The definitions in a tree.
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

    /// Goes to the next node; `false` at the end.
    fn next(&mut self) -> bool {
        while !self.cursor.goto_next_sibling() {
            if !self.cursor.goto_parent() {
                return false;
            }
            self.scope.truncate(self.level.scope);
            let Some(outer) = self.levels.pop() else { return false };
            // A comment at the end of a node may belong to the definition that follows it.
            let lead = self.level.lead;
            self.level = outer;
            self.level.lead = lead;
        }
        true
    }

    /// The surroundings of a node's children, if they are to be visited.
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
            // Comments before a node also precede its first child.
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

    /// The surroundings of the visited node.
    pub(super) fn place(&self) -> Place {
        self.level.place
    }

    /// The note that the parent has left, see [`Step::WrapNoted`].
    pub(super) fn note(&self) -> u8 {
        self.level.note
    }

    pub(super) fn text_of(&self, node: Node<'t>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Adds a name to those that enclose the definitions in the visited node.
    pub(super) fn within_name(&mut self, name: &str) {
        if !name.is_empty() {
            self.scope.push(one_line(name));
        }
    }

    /// The innermost name that encloses the visited node.
    pub(super) fn innermost(&self) -> &str {
        self.scope.last().map_or("", String::as_str)
    }

    /// Lists an import, unless it is local to a function.
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

    /// The kind of a definition in these surroundings; `None` if it is local.
    pub(super) fn settle(&self, kind: SymbolKind, even_local: bool) -> Option<SymbolKind> {
        match (self.level.place.within, kind) {
            (Within::Function, SymbolKind::Variable) if !even_local => None,
            (Within::Type | Within::Enum, SymbolKind::Function) => Some(SymbolKind::Method),
            (Within::Type | Within::Enum, SymbolKind::Variable) => Some(SymbolKind::Field),
            (Within::Extern, SymbolKind::Function | SymbolKind::Variable) => Some(SymbolKind::Declaration),
            (Within::Module | Within::Type | Within::Enum | Within::Extern | Within::Function, _) => Some(kind),
        }
    }

    /// Goes into a definition.
    pub(super) fn inside(&mut self, symbol: Option<u32>, name: Node<'t>, within: Within) -> Step {
        let name = self.text_of(name);
        self.inside_named(symbol, name, within)
    }

    /// Goes into something with a name, whether it was listed or not.
    pub(super) fn inside_named(&mut self, symbol: Option<u32>, name: &str, within: Within) -> Step {
        if self.scope.len() > MOST_AROUND {
            self.truncated = true;
            return Step::Skip;
        }
        self.within_name(name);
        let parent = symbol.or(self.level.place.parent);
        Step::Inside(Place { parent, within, of: None })
    }

    /// Ends what [`Self::rest_inside`] began, before a node.
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

    /// Sets how many names enclose the visited node, and its innermost definition.
    pub(super) fn stand_in(&mut self, names: usize, parent: Option<u32>) {
        self.scope.truncate(names);
        self.level.place.parent = parent;
    }

    /// Number of rows in the text.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Lists a definition that encloses everything that follows.
    pub(super) fn rest_inside(&mut self, name: &str, kind: SymbolKind, at: Node<'t>, whole: Node<'t>) -> Step {
        let start = self.start(whole);
        let symbol = self.add_rows(name, kind, at, (start.whole, self.rows), (start.signature, last_row(whole)));
        match self.inside_named(symbol, name, Within::Module) {
            Step::Inside(place) => Step::Rest(place),
            step @ (Step::Skip | Step::Enter | Step::Wrap | Step::WrapNoted(_) | Step::Rest(_)) => step,
        }
    }

    /// Whether a name was not asked for before.
    pub(super) fn is_first(&mut self, name: Node<'t>) -> bool {
        let name = self.text_of(name);
        self.names.insert(name)
    }

    /// Sets the trait or interface that a definition implements.
    pub(super) fn mark_of(&mut self, symbol: Option<u32>, of: &str) {
        if let Some((_, symbol)) = symbol.and_then(|symbol| self.symbols.get_mut(symbol as usize)) {
            symbol.of = Some(one_line(of));
        }
    }

    /// Lists the implementation of a type, and goes into it.
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

/// All children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The children in a field.
pub(super) fn fields<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    node.children_by_field_name(field, &mut node.walk()).collect()
}

/// The last row of a node.
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
