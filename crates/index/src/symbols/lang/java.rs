//! Java.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{self, Class, Constant, Enum, Field, Interface, Method, Module, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Modifiers, Skip, Special},
        Spec, Within, function, leaf, ty,
    },
    walk::{Step, Walker, children, fields},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("annotation", Attribute),
    ("marker_annotation", Attribute),
    ("modifiers", Modifiers),
    ("import_declaration", Import),
    ("package_declaration", Special(package)),
    ("module_declaration", leaf(Module).rule()),
    ("class_declaration", ty(Class)),
    ("interface_declaration", ty(Interface)),
    ("annotation_type_declaration", ty(Interface)),
    ("enum_declaration", ty(Enum)),
    ("record_declaration", Special(record)),
    ("enum_constant", ty(Variant)),
    ("method_declaration", function(Method)),
    ("constructor_declaration", function(Method)),
    ("compact_constructor_declaration", function(Method)),
    ("annotation_type_element_declaration", leaf(Method).rule()),
    ("field_declaration", Special(field)),
    ("constant_declaration", Special(constant)),
    ("object_creation_expression", Special(creation)),
    ("static_initializer", Special(block)),
    ("formal_parameters", Skip),
    ("type_parameters", Skip),
    ("type_arguments", Skip),
    ("generic_type", Skip),
    ("superclass", Skip),
    ("super_interfaces", Skip),
    ("string_literal", Skip),
    ("field_access", Skip),
    ("scoped_identifier", Skip),
];

const CLASS_BODY: u8 = 1;
const PARAMETER: u8 = 2;
const NAME: u8 = 3;
const MODIFIERS: u8 = 4;
const SPREAD: u8 = 5;
const DECLARATOR: u8 = 6;

const TAGS: &[(&str, u8)] = &[
    ("class_body", CLASS_BODY),
    ("formal_parameter", PARAMETER),
    ("spread_parameter", SPREAD),
    ("identifier", NAME),
    ("scoped_identifier", NAME),
    ("modifiers", MODIFIERS),
    ("variable_declarator", DECLARATOR),
];

fn package<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(name) = children(node).into_iter().find(|child| walker.grammar.tag(*child) == NAME) {
        walker.add(Module, name, node, None);
    }
    walker.import(node)
}

/// A record has its fields before its body.
fn record<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let symbol = walker.add(Class, name, node, node.child_by_field_name("body"));
    let step = walker.inside(symbol, name, Within::Type);
    for parameter in node.child_by_field_name("parameters").map(children).unwrap_or_default() {
        let name = match walker.grammar.tag(parameter) {
            PARAMETER => parameter.child_by_field_name("name"),
            SPREAD => children(parameter).into_iter().find(|child| walker.grammar.tag(*child) == DECLARATOR),
            _ => None,
        };
        if let Some(name) = name {
            walker.add_inside(&step, Field, name, parameter);
        }
    }
    step
}

/// Fields; one that is static and final is a constant.
fn field<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let modifiers = node.child(0).filter(|first| walker.grammar.tag(*first) == MODIFIERS);
    let words: Vec<&str> = modifiers.into_iter().flat_map(children).map(|word| walker.text_of(word)).collect();
    let kind = if words.contains(&"static") && words.contains(&"final") { Constant } else { Field };
    declarators(walker, node, kind)
}

fn constant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    declarators(walker, node, Constant)
}

fn declarators<'t>(walker: &mut Walker<'t>, node: Node<'t>, kind: SymbolKind) -> Step {
    let mut last = None;
    for declarator in fields(node, "declarator") {
        let Some(name) = declarator.child_by_field_name("name") else { continue };
        last = walker.add(kind, name, node, declarator.child_by_field_name("value")).map(|symbol| (symbol, name));
    }
    match last {
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Function),
        None => walker.inside_named(None, "", Within::Function),
    }
}

/// `new Name() { … }` is an anonymous class.
fn creation<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let last = node.child(node.child_count().saturating_sub(1));
    if last.is_some_and(|last| walker.grammar.tag(last) == CLASS_BODY) {
        return walker.inside_named(None, "", Within::Type);
    }
    Step::Enter
}

fn block<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
