//! Swift.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Class, Constant, Enum, Field, Function, Interface, Macro, Method, Struct, Type, Variable, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Modifiers, Skip, Special},
        Spec, Within, function, leaf, ty,
    },
    walk::{Step, Walker, children, fields},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("multiline_comment", Comment),
    ("attribute", Attribute),
    ("modifiers", Modifiers),
    ("import_declaration", Import),
    ("class_declaration", Special(class)),
    ("protocol_declaration", ty(Interface)),
    ("function_declaration", function(Function)),
    ("protocol_function_declaration", function(Function)),
    ("init_declaration", function(Method)),
    ("deinit_declaration", Special(by_word)),
    ("subscript_declaration", Special(by_word)),
    ("property_declaration", Special(property)),
    ("protocol_property_declaration", Special(property)),
    ("associatedtype_declaration", leaf(Type).body("").rule()),
    ("typealias_declaration", leaf(Type).body("value").rule()),
    ("enum_entry", Special(entry)),
    ("macro_declaration", Special(by_name)),
    ("operator_declaration", Special(by_name)),
    ("precedence_group_declaration", Special(by_name)),
    ("computed_property", Special(local)),
    ("willset_didset_block", Special(local)),
    ("lambda_literal", Special(local)),
    ("parameter", Skip),
    ("type_parameters", Skip),
    ("type_arguments", Skip),
    ("type_constraints", Skip),
    ("type_annotation", Skip),
    ("inheritance_specifier", Skip),
    ("user_type", Skip),
    ("line_string_literal", Skip),
    ("multi_line_string_literal", Skip),
    ("raw_string_literal", Skip),
    ("enum_type_parameters", Skip),
];

const INHERITANCE: u8 = 1;
const NAME: u8 = 2;
const COMPUTED: u8 = 4;
const BINDING: u8 = 5;
const MACRO: u8 = 6;
const PRECEDENCE: u8 = 7;
const WILL_SET: u8 = 8;
const PATTERN: u8 = 9;

const TAGS: &[(&str, u8)] = &[
    ("inheritance_specifier", INHERITANCE),
    ("simple_identifier", NAME),
    ("custom_operator", NAME),
    ("type_identifier", NAME),
    ("bang", NAME),
    ("computed_property", COMPUTED),
    ("protocol_property_requirements", COMPUTED),
    ("value_binding_pattern", BINDING),
    ("macro_declaration", MACRO),
    ("precedence_group_declaration", PRECEDENCE),
    ("willset_didset_block", WILL_SET),
    ("pattern", PATTERN),
];

/// Classes, structures, enumerations, actors and extensions have the same node kind.
fn class<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let word = node.child_by_field_name("declaration_kind").map_or("", |word| walker.text_of(word));
    let kind = match word {
        "extension" => return extension(walker, node, name),
        "struct" => Struct,
        "enum" => Enum,
        _ => Class,
    };
    let symbol = walker.add(kind, name, node, node.child_by_field_name("body"));
    walker.inside(symbol, name, Within::Type)
}

/// Members of an extension belong to the type; with a single protocol they implement it.
fn extension<'t>(walker: &mut Walker<'t>, node: Node<'t>, name: Node<'t>) -> Step {
    let specifiers = children(node).into_iter().filter(|child| walker.grammar.tag(*child) == INHERITANCE);
    let of: Vec<&str> = specifiers.map(|of| base(walker.text_of(of))).collect();
    walker.implementation(node, name, base(walker.text_of(name)), of.first().copied().filter(|_| of.len() == 1))
}

/// The name of a type, without arguments and qualifiers.
fn base(ty: &str) -> &str {
    let ty = ty.split(['<', '&']).next().unwrap_or(ty).trim();
    ty.rsplit('.').next().unwrap_or(ty)
}

/// `deinit` and `subscript` have no other name.
fn by_word<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let is_word = |child: &Node<'t>| matches!(walker.text_of(*child), "deinit" | "subscript");
    let Some(name) = children(node).into_iter().find(is_word) else { return Step::Enter };
    let computed = || children(node).into_iter().find(|child| walker.grammar.tag(*child) == COMPUTED);
    let body = node.child_by_field_name("body").or_else(computed);
    let symbol = walker.add(Method, name, node, body);
    walker.inside(symbol, name, Within::Function)
}

/// Macros, operators and precedence groups: the first name in it.
fn by_name<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let kind = match walker.grammar.tag(node) {
        MACRO => Macro,
        PRECEDENCE => Type,
        _ => Function,
    };
    let name = children(node).into_iter().find(|child| walker.grammar.tag(*child) == NAME);
    if let Some(name) = name {
        walker.add(kind, name, node, node.child_by_field_name("definition"));
    }
    Step::Skip
}

/// `let a = 1, b = 2` has two names.
fn property<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(kind) = walker.settle(Variable, false) else { return Step::Enter };
    let parts = children(node);
    let is_let = parts
        .iter()
        .any(|part| walker.grammar.tag(*part) == BINDING && walker.text_of(*part).trim_end().ends_with("let"));
    let kind = if is_let && kind != Field { Constant } else { kind };
    let accessors = parts.iter().find(|part| matches!(walker.grammar.tag(**part), COMPUTED | WILL_SET)).copied();
    let body = node.child_by_field_name("value").or(accessors);
    let mut last = None;
    for pattern in fields(node, "name") {
        for name in names(walker, pattern) {
            last = walker.add(kind, name, node, body).map(|symbol| (symbol, name));
        }
    }
    match last {
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Function),
        None => Step::Enter,
    }
}

/// The names that a pattern binds.
fn names<'t>(walker: &Walker<'t>, pattern: Node<'t>) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match walker.grammar.tag(node) {
            NAME => found.push(node),
            PATTERN => match node.child_by_field_name("bound_identifier") {
                Some(name) => found.push(name),
                None => open.extend(children(node).into_iter().rev()),
            },
            _ => {}
        }
    }
    found
}

/// `case a, b(Int)` has two names.
fn entry<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    for name in fields(node, "name") {
        walker.add(Variant, name, node, None);
    }
    Step::Skip
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
