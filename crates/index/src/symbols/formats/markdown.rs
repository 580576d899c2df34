//! Markdown: a heading's lines extend to the next heading of its level or above. The grammar nests only headings with `#`,
//! so nesting is worked out here.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::Heading,
    grammar::{
        Rule::{self, Special},
        Spec,
    },
    walk::{Step, Walker, children, last_row},
};

pub(in crate::symbols) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[("document", Special(document))];

/// Markers have the heading's level. Headings in quotes and lists are not headings of the document.
const SECTION: u8 = 7;
const ATX: u8 = 8;
const SETEXT: u8 = 9;

const TAGS: &[(&str, u8)] = &[
    ("atx_h1_marker", 1),
    ("atx_h2_marker", 2),
    ("atx_h3_marker", 3),
    ("atx_h4_marker", 4),
    ("atx_h5_marker", 5),
    ("atx_h6_marker", 6),
    ("setext_h1_underline", 1),
    ("setext_h2_underline", 2),
    ("section", SECTION),
    ("atx_heading", ATX),
    ("setext_heading", SETEXT),
];

struct Met<'t> {
    level: u8,
    heading: Node<'t>,
    /// The last row that belongs to it.
    last: usize,
}

fn document<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let mut open: Vec<(u8, Option<u32>, usize)> = Vec::new();
    for met in headings(walker, node) {
        open.retain(|(level, _, _)| *level < met.level);
        let (parent, names) = open.last().map_or((None, 0), |(_, symbol, names)| (*symbol, *names));
        walker.stand_in(names, parent);
        let Some(content) = met.heading.child_by_field_name("heading_content") else { continue };
        let text = walker.text_of(content).trim();
        let name = if walker.grammar.tag(met.heading) == ATX { without_closing(text) } else { text };
        let rows = (met.heading.start_position().row, last_row(met.heading));
        let symbol = walker.add_rows(name, Heading, content, (rows.0, met.last.max(rows.1)), rows);
        walker.within_name(name);
        open.push((met.level, symbol.or(parent), names + usize::from(!name.is_empty())));
    }
    Step::Skip
}

/// All headings in order, each with its last row.
fn headings<'t>(walker: &Walker<'t>, document: Node<'t>) -> Vec<Met<'t>> {
    let mut met: Vec<Met<'t>> = Vec::new();
    let mut unfinished: Vec<usize> = Vec::new();
    let mut open = vec![document];
    while let Some(node) = open.pop() {
        let tag = walker.grammar.tag(node);
        if tag == SECTION || node.id() == document.id() {
            open.extend(children(node).into_iter().rev());
        }
        if !matches!(tag, ATX | SETEXT) {
            continue;
        }
        let marks = children(node).into_iter().map(|child| walker.grammar.tag(child));
        let level = marks.filter(|tag| (1..=6).contains(tag)).max().unwrap_or(1);
        let before = node.start_position().row.saturating_sub(1);
        while let Some(at) = unfinished.pop_if(|at| met[*at].level >= level) {
            met[at].last = before;
        }
        unfinished.push(met.len());
        met.push(Met { level, heading: node, last: walker.rows().saturating_sub(1) });
    }
    met
}

/// `Name ##` ends with a closing sequence that is not part of the name.
fn without_closing(text: &str) -> &str {
    let open = text.trim_end_matches('#');
    if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { text }
}
