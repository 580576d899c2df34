//! Python.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Class, Function, Type, Variable},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Skip, Special, Wrap},
        Spec, Within, function, ty,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec { refuse: Some(is_too_deep), ..Spec::new(RULES, TAGS) };

/// The deepest indentation: each level takes at least one space, and the scanner has room for 510 levels.
const INDENT_BYTES: usize = 400;

fn is_too_deep(text: &str) -> bool {
    text.split('\n').any(|line| line.len() - line.trim_start_matches([' ', '\t']).len() > INDENT_BYTES)
}

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("decorator", Attribute),
    ("decorated_definition", Wrap),
    ("import_statement", Import),
    ("import_from_statement", Import),
    ("future_import_statement", Import),
    ("function_definition", function(Function)),
    ("class_definition", ty(Class)),
    ("assignment", Special(assignment)),
    ("type_alias_statement", Special(alias)),
    // An expression cannot contain a definition.
    ("argument_list", Skip),
    ("assert_statement", Skip),
    ("attribute", Skip),
    ("augmented_assignment", Skip),
    ("await", Skip),
    ("binary_operator", Skip),
    ("boolean_operator", Skip),
    ("call", Skip),
    ("comparison_operator", Skip),
    ("conditional_expression", Skip),
    ("delete_statement", Skip),
    ("dictionary", Skip),
    ("dictionary_comprehension", Skip),
    ("generator_expression", Skip),
    ("lambda", Skip),
    ("list", Skip),
    ("list_comprehension", Skip),
    ("not_operator", Skip),
    ("parameters", Skip),
    ("parenthesized_expression", Skip),
    ("raise_statement", Skip),
    ("return_statement", Skip),
    ("set", Skip),
    ("set_comprehension", Skip),
    ("string", Skip),
    ("subscript", Skip),
    ("tuple", Skip),
    ("type", Skip),
    ("type_parameter", Skip),
    ("unary_operator", Skip),
    ("yield", Skip),
];

const IDENTIFIER: u8 = 1;
const PATTERN: u8 = 2;
const ASSIGNMENT: u8 = 3;
const LAMBDA: u8 = 4;
const AROUND: u8 = 5;

const TAGS: &[(&str, u8)] = &[
    ("identifier", IDENTIFIER),
    ("pattern_list", PATTERN),
    ("tuple_pattern", PATTERN),
    ("list_pattern", PATTERN),
    ("list_splat_pattern", PATTERN),
    ("assignment", ASSIGNMENT),
    ("lambda", LAMBDA),
    ("type", AROUND),
    ("generic_type", AROUND),
];

/// Variables of a module or class, and functions without `def`; `a = b = 1` is an assignment in an assignment.
fn assignment<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let mut at = Some(node);
    while let Some(one) = at {
        let value = one.child_by_field_name("right");
        let is_function = value.is_some_and(|value| walker.grammar.tag(value) == LAMBDA);
        if walker.place().within == Within::Function && !is_function {
            return Step::Skip;
        }
        let kind = if is_function { Function } else { Variable };
        let names = one.child_by_field_name("left").map(|left| names(walker, left));
        for name in names.unwrap_or_default() {
            if let Some(kind) = walker.settle(kind, false) {
                walker.add(kind, name, node, value);
            }
        }
        at = value.filter(|value| walker.grammar.tag(*value) == ASSIGNMENT);
    }
    Step::Skip
}

/// The plain names that are assigned.
fn names<'t>(walker: &Walker<'t>, left: Node<'t>) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut open = vec![left];
    while let Some(node) = open.pop() {
        match walker.grammar.tag(node) {
            IDENTIFIER => found.push(node),
            PATTERN => open.extend(children(node).into_iter().rev()),
            _ => {}
        }
    }
    found
}

/// `type Name[T] = …`
fn alias<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let mut name = node.child_by_field_name("left");
    while let Some(around) = name.filter(|name| walker.grammar.tag(*name) == AROUND) {
        name = around.named_child(0);
    }
    if let Some(name) = name {
        walker.add(Type, name, node, node.child_by_field_name("right"));
    }
    Step::Skip
}
