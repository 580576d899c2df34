//! Markdown: a heading has the lines up to the next one of its level or above.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::Heading,
    grammar::{
        Rule::{self, Skip, Special},
        Spec, Within,
    },
    walk::{Step, Walker, children, last_row},
};

pub(super) fn spec() -> Spec {
    Spec { grammar: tree_sitter_md::LANGUAGE.into(), rules: RULES, tags: TAGS, not_leading: &[] }
}

const RULES: &[(&str, Rule)] = &[
    ("section", Special(section)),
    ("block_quote", Skip),
    ("fenced_code_block", Skip),
    ("html_block", Skip),
    ("indented_code_block", Skip),
    ("list", Skip),
    ("paragraph", Skip),
    ("pipe_table", Skip),
    ("atx_heading", Skip),
    ("setext_heading", Skip),
    ("minus_metadata", Skip),
    ("plus_metadata", Skip),
    ("link_reference_definition", Skip),
];

const HEADING: u8 = 1;

const TAGS: &[(&str, u8)] = &[("atx_heading", HEADING), ("setext_heading", HEADING)];

fn section<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let heading = children(node).into_iter().find(|child| walker.grammar.tag(*child) == HEADING);
    let Some(heading) = heading else { return Step::Enter };
    let Some(content) = heading.child_by_field_name("heading_content") else { return Step::Enter };
    let name = walker.text_of(content).trim();
    let rows = (heading.start_position().row, last_row(heading));
    let symbol = walker.add_rows(name, Heading, content, (rows.0, last_row(node)), rows);
    walker.inside_named(symbol, name, Within::Module)
}
