//! TOML and JSON: keys, each within the keys that enclose it.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::Key,
    grammar::{
        Rule::{self, Comment, Special},
        Spec, Within,
    },
    walk::{self, Step, Walker},
};

pub(in crate::symbols) const TOML: Spec = Spec::new(TOML_RULES, TAGS);
pub(in crate::symbols) const JSON: Spec = Spec::new(JSON_RULES, TAGS);

const TOML_RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("table", Special(table)),
    ("table_array_element", Special(table)),
    ("pair", Special(toml_pair)),
];

const JSON_RULES: &[(&str, Rule)] = &[("comment", Comment), ("pair", Special(json_pair)), ("string", Rule::Skip)];

const DOTTED: u8 = 1;
const KEY: u8 = 2;
const NOTE: u8 = 3;

const TAGS: &[(&str, u8)] = &[("dotted_key", DOTTED), ("bare_key", KEY), ("quoted_key", KEY), ("comment", NOTE)];

/// A key without its quotes.
fn plain(key: &str) -> &str {
    let key = key.trim();
    let inner = |quote| key.strip_prefix(quote).and_then(|key: &str| key.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(key)
}

fn json_pair<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(key) = node.child(0) else { return Step::Enter };
    let name = plain(walker.text_of(key));
    let symbol = walker.add_named(name, Key, key, node, node.child(2));
    walker.inside_named(symbol, name, Within::Module)
}

/// Makes all but the last part of a key enclose what follows; returns the node and the name of the last part.
fn split<'t>(walker: &mut Walker<'t>, key: Node<'t>) -> (Node<'t>, &'t str) {
    // `a.b.c` nests to the left, however long it is.
    let mut parts = Vec::new();
    let mut open = vec![key];
    while let Some(node) = open.pop() {
        match walker.grammar.tag(node) {
            DOTTED => open.extend(walk::children(node).into_iter().rev()),
            KEY => parts.push(node),
            _ => {}
        }
    }
    let last = parts.pop().unwrap_or(key);
    parts.into_iter().for_each(|part| walker.within_name(plain(walker.text_of(part))));
    (last, plain(walker.text_of(last)))
}

/// `[a.b]` and `[[a.b]]`. In the tree, comments before the next table are at the end of this one.
fn table<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let parts = walk::children(node);
    let Some(key) = parts.iter().find(|part| matches!(walker.grammar.tag(**part), DOTTED | KEY)) else {
        return Step::Enter;
    };
    let last = parts.iter().rfind(|part| walker.grammar.tag(**part) != NOTE).map_or(0, |part| walk::last_row(*part));
    let (at, name) = split(walker, *key);
    let (start, row) = (walker.start(node), walk::last_row(*key));
    let symbol = walker.add_rows(name, Key, at, (start.whole, last), (start.signature, row));
    walker.inside_named(symbol, name, Within::Module)
}

fn toml_pair<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(key) = node.child(0) else { return Step::Enter };
    let (at, name) = split(walker, key);
    let symbol = walker.add_named(name, Key, at, node, node.child(2));
    walker.inside_named(symbol, name, Within::Module)
}
