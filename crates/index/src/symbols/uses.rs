//! How a text uses a name at given places: as a definition, a call, a type, an import, otherwise, or only in a comment or a
//! string. Told by the kinds of the nodes around the place, in words that the grammars share, so there is no table for each
//! language. It says what the syntax says; which definition is meant it does not know.

use std::{collections::BTreeSet, ops::Range};

use tree_sitter::{Node, Tree, TreeCursor};

use super::{Outline, SymbolKind};

/// How a line uses a name. In the order of an answer; where a line uses it in several ways, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseKind {
    Definition,
    /// Also of a method, a macro or a constructor.
    Call,
    Type,
    Import,
    /// Any other identifier.
    Use,
    /// In a comment or a string, as part of another name, or in a text that was not parsed.
    Text,
}

impl UseKind {
    pub const ALL: [Self; 6] = [Self::Definition, Self::Call, Self::Type, Self::Import, Self::Use, Self::Text];

    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Call => "call",
            Self::Type => "type",
            Self::Import => "import",
            Self::Use => "use",
            Self::Text => "text",
        }
    }

    /// Whether the syntax of the text tells it.
    #[must_use]
    pub fn is_certain(self) -> bool {
        self != Self::Text
    }
}

/// Where a name stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: u64,
    /// In bytes.
    pub(crate) at: Range<usize>,
}

/// A name and where it stands in a text.
pub(crate) struct Sought<'a> {
    /// In order.
    pub(crate) places: &'a [Place],
    /// Whether a definition has this name.
    pub(crate) is_name: &'a dyn Fn(&str) -> bool,
}

/// The lines on which a name is defined.
fn defining(outline: &Outline, is_name: &dyn Fn(&str) -> bool) -> BTreeSet<u64> {
    // The implementation of a type has the type's name and does not define it.
    let defines =
        |kind: SymbolKind| !matches!(kind, SymbolKind::Implementation | SymbolKind::Heading | SymbolKind::Key);
    let symbols = outline.symbols.iter().filter(|symbol| defines(symbol.kind) && is_name(&symbol.name));
    symbols.map(|symbol| u64::from(symbol.line)).collect()
}

/// The kind of each place.
pub(super) fn kinds(tree: &Tree, text: &str, sought: &Sought<'_>, outline: &Outline) -> Vec<UseKind> {
    let (mut descent, defined) = (Descent::new(tree), defining(outline, sought.is_name));
    let kind = |place: &Place| {
        // The way is followed for every place, as the next one goes on from there.
        let found = descent.kind(text, &place.at);
        if defined.contains(&place.line) && found.is_certain() { UseKind::Definition } else { found }
    };
    sought.places.iter().map(kind).collect()
}

/// What is known of everything in a node.
#[derive(Clone, Copy, Default)]
struct Inside {
    import: bool,
    /// A comment, or a string outside of what is inserted into it.
    text: bool,
    /// A place for types.
    types: bool,
}

/// A node on the way down.
struct Level<'t> {
    node: Node<'t>,
    field: Option<&'t str>,
    /// Whether no named node stands before it in its parent.
    first: bool,
    /// Of the parent.
    inside: Inside,
}

/// The way from the root to a place. Goes on from the last place, so that all together visit each node once.
struct Descent<'t> {
    cursor: TreeCursor<'t>,
    /// The last is the cursor's node.
    way: Vec<Level<'t>>,
}

impl<'t> Descent<'t> {
    fn new(tree: &'t Tree) -> Self {
        let cursor = tree.walk();
        let root = Level { node: cursor.node(), field: None, first: true, inside: Inside::default() };
        Self { cursor, way: vec![root] }
    }

    fn kind(&mut self, text: &str, at: &Range<usize>) -> UseKind {
        let levels = self.go_to(at);
        kind_at(text, at, &self.way[..levels])
    }

    /// Goes to the innermost node that has the whole place; returns how many levels of the way lead to it.
    fn go_to(&mut self, at: &Range<usize>) -> usize {
        loop {
            let node = self.cursor.node();
            if node.end_byte() <= at.start {
                if self.next() {
                    continue;
                }
                if !self.cursor.goto_parent() {
                    return 0;
                }
                self.way.pop();
                if self.cursor.node().end_byte() > at.start {
                    // After the last child.
                    return self.way.len();
                }
            } else if node.start_byte() <= at.start && at.end <= node.end_byte() {
                if !self.down() {
                    return self.way.len();
                }
            } else {
                // Between two children, or across them.
                return self.way.len() - 1;
            }
        }
    }

    fn next(&mut self) -> bool {
        let Some(level) = self.way.last_mut() else { return false };
        if !self.cursor.goto_next_sibling() {
            return false;
        }
        level.first &= !level.node.is_named() || level.node.is_extra();
        (level.node, level.field) = (self.cursor.node(), self.cursor.field_name());
        true
    }

    fn down(&mut self) -> bool {
        let Some(inside) = self.way.last().map(entered) else { return false };
        if !self.cursor.goto_first_child() {
            return false;
        }
        let (node, field) = (self.cursor.node(), self.cursor.field_name());
        self.way.push(Level { node, field, first: true, inside });
        true
    }
}

/// What is known of everything in the node of a level.
fn entered(level: &Level<'_>) -> Inside {
    let Inside { import, text, types } = level.inside;
    let kind = level.node.kind();
    if !level.node.is_named() {
        return level.inside;
    }
    let text = !is_inserted(kind) && (text || is_text(kind));
    let types = match level.field {
        Some(
            "type" | "return_type" | "returns" | "superclass" | "superclasses" | "interfaces" | "trait" | "bounds",
        ) => true,
        Some("body" | "length" | "size" | "pattern" | "default_value" | "arguments") => false,
        Some(_) | None => types && !is_block(kind),
    };
    Inside { import: import || is_import(kind), text, types: types || is_type_place(kind) }
}

fn is_text(kind: &str) -> bool {
    ["comment", "string", "heredoc", "nowdoc", "regex", "character", "char_literal"]
        .iter()
        .any(|word| kind.contains(word))
        || matches!(kind, "text" | "jsx_text" | "hash_bang_line" | "shebang")
}

/// Whether it is code inside a string.
fn is_inserted(kind: &str) -> bool {
    kind.starts_with("interpolation")
        || kind.ends_with("substitution")
        || matches!(kind, "interpolated_expression" | "expansion" | "simple_expansion" | "format_expression")
}

fn is_import(kind: &str) -> bool {
    kind.starts_with("import")
        || matches!(
            kind,
            "use_declaration"
                | "extern_crate_declaration"
                | "preproc_include"
                | "using_directive"
                | "using_declaration"
                | "namespace_use_declaration"
                | "future_import_statement"
        )
}

fn is_type_place(kind: &str) -> bool {
    matches!(
        kind,
        "type"
            | "user_type"
            | "named_type"
            | "type_arguments"
            | "type_argument_list"
            | "type_list"
            | "superclass"
            | "super_interfaces"
            | "class_heritage"
            | "base_list"
            | "base_class_clause"
            | "base_clause"
            | "class_interface_clause"
            | "delegation_specifiers"
            | "inheritance_specifier"
            | "trait_bounds"
    ) || kind.contains("type_annotation")
}

fn is_block(kind: &str) -> bool {
    matches!(kind, "block" | "statements" | "arguments" | "argument_list" | "field_declaration_list")
        || kind.ends_with("_body")
        || kind.ends_with("block")
}

/// The kind of a place in the last of these levels.
fn kind_at(text: &str, at: &Range<usize>, way: &[Level<'_>]) -> UseKind {
    let Some((level, above)) = way.split_last() else { return UseKind::Text };
    let (node, inside) = (level.node, entered(level));
    let kind = node.kind();
    let is_comment = |level: &Level<'_>| level.node.kind().contains("comment");
    if inside.import {
        return if way.iter().rev().take(3).any(is_comment) { UseKind::Text } else { UseKind::Import };
    }
    // A variable in a string of PHP.
    let is_variable = matches!(kind, "name" | "variable_name");
    if (inside.text && !is_variable) || !node.is_named() || !is_whole(text, at, node) {
        return UseKind::Text;
    }
    match above.last() {
        // The parser could make nothing of what is around it.
        Some(parent) if parent.node.is_error() => return UseKind::Text,
        Some(parent) if parent.node.kind() == "token_tree" => return in_macro(text, at),
        Some(_) | None => {}
    }
    if is_called(way) {
        UseKind::Call
    } else if is_type(kind, inside) {
        UseKind::Type
    } else {
        UseKind::Use
    }
}

fn is_type(kind: &str, inside: Inside) -> bool {
    let is_member = kind.contains("property") || kind.contains("field");
    (kind.contains("type") && kind != "property_type") || (inside.types && !is_member)
}

/// Whether a node is the name and no longer one. Signs before it, as in `@name` of Ruby, are not part of the name.
fn is_whole(text: &str, at: &Range<usize>, node: Node<'_>) -> bool {
    if node.byte_range() == *at {
        return true;
    }
    let before = text.get(node.start_byte()..at.start).unwrap_or("?");
    let signs = if node.kind().contains("variable") { "@:#$" } else { "@:#" };
    let after = text.get(at.end..node.end_byte()).unwrap_or("?");
    before.chars().all(|sign| signs.contains(sign)) && matches!(after, "" | ":")
}

/// In the arguments of a Rust macro there are only tokens.
fn in_macro(text: &str, at: &Range<usize>) -> UseKind {
    let after = text.get(at.end..).unwrap_or_default();
    let (name, before) = (text.get(at.clone()).unwrap_or_default(), text.get(..at.start).unwrap_or_default());
    // With a capital letter it may be a pattern.
    let is_function = !name.starts_with(char::is_uppercase) && !before.trim_end().ends_with("fn");
    let is_called = after.starts_with('(') && is_function;
    if is_called || ["!(", "![", "!{"].iter().any(|call| after.starts_with(call)) {
        UseKind::Call
    } else {
        UseKind::Use
    }
}

/// Whether the last of these nodes, with the path that leads to it, is what a call calls.
fn is_called(way: &[Level<'_>]) -> bool {
    let mut way = way;
    while let [above @ .., parent, level] = way {
        let kind = parent.node.kind();
        if is_call(kind) {
            return match level.field {
                Some("function" | "name" | "method" | "constructor" | "macro" | "callee") => true,
                Some("type") => kind.contains("new") || kind.contains("creation"),
                Some(_) => false,
                None => level.first,
            };
        }
        let goes_on = if is_path(kind) {
            level.node.end_byte() == parent.node.end_byte()
        } else {
            is_generic(kind) && level.first
        };
        if !goes_on {
            return false;
        }
        way = &way[..above.len() + 1];
    }
    false
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "call" | "new_expression" | "command_name")
        || kind.ends_with("call_expression")
        || kind.contains("invocation")
        || kind.contains("creation_expression")
}

/// Whether its last part is what it names.
fn is_path(kind: &str) -> bool {
    ["member", "field_expression", "selector_expression", "scoped_", "qualified", "navigation"]
        .iter()
        .any(|word| kind.contains(word))
        || kind == "attribute"
}

/// Whether its first part is what it names.
fn is_generic(kind: &str) -> bool {
    kind.starts_with("generic") || kind.starts_with("template_") || kind == "user_type"
}

#[cfg(test)]
mod tests;
