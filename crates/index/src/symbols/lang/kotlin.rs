//! Kotlin.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{self, Class, Constant, Enum, Field, Function, Interface, Method, Module, Type, Variable, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Modifiers, Skip, Special},
        Spec, Within,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("annotation", Attribute),
    ("file_annotation", Skip),
    ("modifiers", Modifiers),
    ("package_header", Special(package)),
    ("import", Import),
    ("class_declaration", Special(class)),
    ("object_declaration", Special(class)),
    ("companion_object", Special(class)),
    ("enum_entry", Special(entry)),
    ("function_declaration", Special(function)),
    ("secondary_constructor", Special(constructor)),
    ("property_declaration", Special(property)),
    ("type_alias", Special(alias)),
    ("anonymous_initializer", Special(local)),
    ("getter", Special(local)),
    ("setter", Special(local)),
    ("lambda_literal", Special(local)),
    ("anonymous_function", Special(local)),
    ("object_literal", Special(object)),
    ("primary_constructor", Skip),
    ("function_value_parameters", Skip),
    ("type_parameters", Skip),
    ("type_arguments", Skip),
    ("type_constraints", Skip),
    ("user_type", Skip),
    ("string_literal", Skip),
    ("multiline_string_literal", Skip),
];

const BODY: u8 = 1;
const MODIFIERS: u8 = 2;
const VARIABLE: u8 = 3;
const CONSTRUCTOR: u8 = 4;
const PARAMETERS: u8 = 5;
const PARAMETER: u8 = 6;
const NAME: u8 = 7;
const ACCESSOR: u8 = 8;
const VARIABLES: u8 = 9;
const COMPANION: u8 = 10;

const TAGS: &[(&str, u8)] = &[
    ("class_body", BODY),
    ("enum_class_body", BODY),
    ("function_body", BODY),
    ("block", BODY),
    ("modifiers", MODIFIERS),
    ("variable_declaration", VARIABLE),
    ("multi_variable_declaration", VARIABLES),
    ("primary_constructor", CONSTRUCTOR),
    ("class_parameters", PARAMETERS),
    ("class_parameter", PARAMETER),
    ("identifier", NAME),
    ("getter", ACCESSOR),
    ("setter", ACCESSOR),
    ("property_delegate", ACCESSOR),
    ("companion_object", COMPANION),
];

fn child<'t>(walker: &Walker<'t>, node: Node<'t>, tag: u8) -> Option<Node<'t>> {
    children(node).into_iter().find(|child| walker.grammar.tag(*child) == tag)
}

/// Whether a word is among the modifiers.
fn has_modifier<'t>(walker: &Walker<'t>, node: Node<'t>, word: &str) -> bool {
    let modifiers = child(walker, node, MODIFIERS).map(children).unwrap_or_default();
    modifiers.into_iter().any(|modifier| walker.text_of(modifier) == word)
}

fn has_word<'t>(walker: &Walker<'t>, node: Node<'t>, word: &str) -> bool {
    children(node).into_iter().any(|child| !child.is_named() && walker.text_of(child) == word)
}

fn package<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(name) = node.named_child(0) {
        walker.add(Module, name, node, None);
    }
    walker.import(node)
}

fn class<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let kind: SymbolKind = if has_word(walker, node, "interface") {
        Interface
    } else if has_modifier(walker, node, "enum") {
        Enum
    } else {
        Class
    };
    let body = child(walker, node, BODY);
    let name = node.child_by_field_name("name");
    let is_companion = walker.grammar.tag(node) == COMPANION;
    // A companion object without a name is called `Companion`.
    let word = || children(node).into_iter().find(|child| walker.text_of(*child) == "object");
    let Some(at) = name.or_else(|| word().filter(|_| is_companion)) else { return Step::Enter };
    let text = if name.is_none() { "Companion" } else { walker.text_of(at) };
    let symbol = walker.add_named(text, kind, at, node, body);
    let step = walker.inside_named(symbol, text, Within::Type);
    let list = child(walker, node, CONSTRUCTOR).and_then(|constructor| child(walker, constructor, PARAMETERS));
    for parameter in list.map(children).unwrap_or_default() {
        let is_field = walker.grammar.tag(parameter) == PARAMETER
            && (has_word(walker, parameter, "val") || has_word(walker, parameter, "var"));
        if let Some(name) = child(walker, parameter, NAME).filter(|_| is_field) {
            walker.add_inside(&step, Field, name, parameter);
        }
    }
    step
}

fn entry<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = child(walker, node, NAME) else { return Step::Enter };
    let symbol = walker.add(Variant, name, node, child(walker, node, BODY));
    walker.inside(symbol, name, Within::Type)
}

fn function<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let kind = walker.settle(Function, false).unwrap_or(Function);
    let symbol = walker.add(kind, name, node, child(walker, node, BODY));
    walker.inside(symbol, name, Within::Function)
}

fn constructor<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let word = children(node).into_iter().find(|child| walker.text_of(*child) == "constructor");
    let Some(name) = word else { return Step::Enter };
    let symbol = walker.add(Method, name, node, child(walker, node, BODY));
    walker.inside(symbol, name, Within::Function)
}

fn property<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(kind) = walker.settle(Variable, false) else { return Step::Enter };
    let kind = if has_modifier(walker, node, "const") { Constant } else { kind };
    let parts = children(node);
    let value = parts.iter().position(|part| !part.is_named() && walker.text_of(*part) == "=");
    let accessor = || parts.iter().find(|part| walker.grammar.tag(**part) == ACCESSOR).copied();
    let body = value.and_then(|at| parts.get(at + 1)).copied().or_else(accessor);
    let declared = parts.iter().find_map(|part| match walker.grammar.tag(*part) {
        VARIABLE => Some(vec![*part]),
        VARIABLES => Some(children(*part)),
        _ => None,
    });
    let names = declared.unwrap_or_default().into_iter().filter_map(|one| child(walker, one, NAME));
    let mut last = None;
    for name in names.collect::<Vec<_>>() {
        last = walker.add(kind, name, node, body).map(|symbol| (symbol, name));
    }
    match last {
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Function),
        None => Step::Enter,
    }
}

fn alias<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(name) = node.child_by_field_name("type").or_else(|| child(walker, node, NAME)) {
        walker.add(Type, name, node, None);
    }
    Step::Skip
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}

fn object<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Type)
}
