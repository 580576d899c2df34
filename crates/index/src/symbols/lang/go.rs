//! Go.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{self, Constant, Field, Function, Interface, Method, Module, Struct, Type, Variable},
    grammar::{
        Rule::{self, Comment, Import, Skip, Special},
        Spec, Within, function, leaf,
    },
    walk::{Step, Walker, children, fields},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("package_clause", Special(package)),
    ("import_declaration", Import),
    ("function_declaration", function(Function)),
    ("method_declaration", Special(method)),
    ("type_declaration", Special(declaration)),
    ("const_declaration", Special(declaration)),
    ("var_declaration", Special(declaration)),
    ("type_spec", Special(type_spec)),
    ("type_alias", leaf(Type).body("type").rule()),
    ("field_declaration", Special(field)),
    ("method_elem", leaf(Method).rule()),
    ("const_spec", Special(constant)),
    ("var_spec", Special(variable)),
    ("func_literal", Special(literal)),
    ("parameter_list", Skip),
    ("type_parameter_list", Skip),
    ("type_arguments", Skip),
    ("selector_expression", Skip),
    ("interpreted_string_literal", Skip),
    ("raw_string_literal", Skip),
    ("qualified_type", Skip),
    ("generic_type", Skip),
    ("map_type", Skip),
    ("function_type", Skip),
    ("type_elem", Skip),
];

const STRUCT: u8 = 1;
const INTERFACE: u8 = 2;
const POINTER: u8 = 3;
const GENERIC: u8 = 4;
const QUALIFIED: u8 = 5;
const PARAMETER: u8 = 6;
const DECLARED: u8 = 7;
const IDENTIFIER: u8 = 8;

const TAGS: &[(&str, u8)] = &[
    ("struct_type", STRUCT),
    ("interface_type", INTERFACE),
    ("pointer_type", POINTER),
    ("parenthesized_type", POINTER),
    ("generic_type", GENERIC),
    ("qualified_type", QUALIFIED),
    ("parameter_declaration", PARAMETER),
    ("type_spec", DECLARED),
    ("type_alias", DECLARED),
    ("const_spec", DECLARED),
    ("var_spec", DECLARED),
    ("identifier", IDENTIFIER),
];

fn package<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(name) = node.named_child(0) {
        walker.add(Module, name, node, None);
    }
    walker.import(node)
}

/// A `type`, `const` or `var` with one declaration begins it; one with a list in brackets only contains them.
fn declaration<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let is_single = node.child(1).is_some_and(|child| walker.grammar.tag(child) == DECLARED);
    if is_single { Step::Wrap } else { Step::Enter }
}

fn method<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let receiver = node.child_by_field_name("receiver").map(children).unwrap_or_default();
    let receiver = receiver.into_iter().find(|child| walker.grammar.tag(*child) == PARAMETER);
    if let Some(ty) = receiver.and_then(|receiver| receiver.child_by_field_name("type")) {
        walker.within_name(walker.text_of(base(walker, ty)));
    }
    let symbol = walker.add(Method, name, node, node.child_by_field_name("body"));
    walker.inside(symbol, name, Within::Function)
}

/// The name in a type: without `*`, package and arguments.
fn base<'t>(walker: &Walker<'t>, ty: Node<'t>) -> Node<'t> {
    let mut at = ty;
    loop {
        let inner = match walker.grammar.tag(at) {
            POINTER => at.named_child(0),
            GENERIC => at.child_by_field_name("type"),
            QUALIFIED => at.child_by_field_name("name"),
            _ => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return at,
        }
    }
}

fn type_spec<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let ty = node.child_by_field_name("type");
    let kind = match ty.map(|ty| walker.grammar.tag(ty)) {
        Some(STRUCT) => Struct,
        Some(INTERFACE) => Interface,
        _ => Type,
    };
    // The body begins after the word `struct` or `interface`.
    let body = ty.and_then(|ty| ty.child(1)).filter(|_| kind != Type);
    let symbol = walker.add(kind, name, node, body);
    walker.inside(symbol, name, Within::Type)
}

/// Fields; an embedded one has the name of its type.
fn field<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let ty = node.child_by_field_name("type");
    let names = fields(node, "name");
    if names.is_empty() {
        if let Some(ty) = ty {
            walker.add(Field, base(walker, ty), node, None);
        }
        return Step::Skip;
    }
    let mut last = None;
    for name in &names {
        last = walker.add(Field, *name, node, None);
    }
    match names.last() {
        Some(name) => walker.inside(last, *name, Within::Type),
        None => Step::Skip,
    }
}

fn constant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    values(walker, node, Constant)
}

fn variable<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    values(walker, node, Variable)
}

fn values<'t>(walker: &mut Walker<'t>, node: Node<'t>, kind: SymbolKind) -> Step {
    if walker.place().within == Within::Function {
        return Step::Enter;
    }
    let value = node.child_by_field_name("value");
    let mut last = None;
    for name in fields(node, "name").into_iter().filter(|name| walker.grammar.tag(*name) == IDENTIFIER) {
        if walker.text_of(name) != "_" {
            last = walker.add(kind, name, node, value).map(|symbol| (symbol, name));
        }
    }
    match last {
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Function),
        None => walker.inside_named(None, "", Within::Function),
    }
}

fn literal<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
