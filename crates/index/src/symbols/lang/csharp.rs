//! C#.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Class, Constant, Enum, Field, Function, Interface, Method, Module, Struct, Type, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Skip, Special},
        Spec, Within, function, leaf, ty,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("attribute_list", Attribute),
    ("global_attribute", Skip),
    ("using_directive", Import),
    ("extern_alias_directive", Import),
    ("namespace_declaration", Special(namespace)),
    ("file_scoped_namespace_declaration", Special(file_namespace)),
    ("class_declaration", ty(Class)),
    ("record_declaration", Special(record)),
    ("struct_declaration", ty(Struct)),
    ("interface_declaration", ty(Interface)),
    ("enum_declaration", ty(Enum)),
    ("enum_member_declaration", leaf(Variant).body("value").rule()),
    ("delegate_declaration", leaf(Type).rule()),
    ("method_declaration", Special(member)),
    ("constructor_declaration", function(Method)),
    ("destructor_declaration", Special(destructor)),
    ("operator_declaration", Special(operator)),
    ("conversion_operator_declaration", Special(operator)),
    ("indexer_declaration", Special(indexer)),
    ("property_declaration", Special(member)),
    ("event_declaration", Special(member)),
    ("field_declaration", Special(field)),
    ("event_field_declaration", Special(field)),
    ("local_function_statement", function(Function)),
    ("lambda_expression", Special(local)),
    ("anonymous_method_expression", Special(local)),
    ("parameter_list", Skip),
    ("bracketed_parameter_list", Skip),
    ("type_parameter_list", Skip),
    ("type_parameter_constraints_clause", Skip),
    ("type_argument_list", Skip),
    ("base_list", Skip),
    ("generic_name", Skip),
    ("qualified_name", Skip),
    ("explicit_interface_specifier", Skip),
    ("string_literal", Skip),
    ("verbatim_string_literal", Skip),
    ("raw_string_literal", Skip),
    ("preproc_region", Skip),
    ("preproc_endregion", Skip),
];

const MODIFIER: u8 = 1;
const VARIABLES: u8 = 2;
const VARIABLE: u8 = 3;
const PARAMETERS: u8 = 4;
const PARAMETER: u8 = 5;
const EXPLICIT: u8 = 6;
const NAME: u8 = 7;
const PROPERTY: u8 = 8;
const EVENT: u8 = 9;
const GENERIC: u8 = 10;

const TAGS: &[(&str, u8)] = &[
    ("modifier", MODIFIER),
    ("variable_declaration", VARIABLES),
    ("variable_declarator", VARIABLE),
    ("parameter_list", PARAMETERS),
    ("parameter", PARAMETER),
    ("explicit_interface_specifier", EXPLICIT),
    ("identifier", NAME),
    ("property_declaration", PROPERTY),
    ("event_declaration", EVENT),
    ("generic_name", GENERIC),
];

/// Makes the names before the last dot enclose what follows; returns the last name.
fn split<'t>(walker: &mut Walker<'t>, name: Node<'t>) -> &'t str {
    let text = walker.text_of(name);
    let Some((outer, last)) = text.rsplit_once('.') else { return text };
    outer.split('.').for_each(|part| walker.within_name(part.trim()));
    last.trim()
}

fn namespace<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let name = split(walker, at);
    let symbol = walker.add_named(name, Module, at, node, node.child_by_field_name("body"));
    walker.inside_named(symbol, name, Within::Module)
}

/// `namespace A.B;` holds the rest of the file.
fn file_namespace<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Skip };
    walker.leave_rest(node);
    let name = split(walker, at);
    walker.rest_inside(name, Module, at, node)
}

/// A record has its properties before its body.
fn record<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let symbol = walker.add(Class, name, node, node.child_by_field_name("body"));
    let step = walker.inside(symbol, name, Within::Type);
    let list = children(node).into_iter().find(|child| walker.grammar.tag(*child) == PARAMETERS);
    for parameter in list.map(children).unwrap_or_default() {
        let name = parameter.child_by_field_name("name").filter(|_| walker.grammar.tag(parameter) == PARAMETER);
        if let Some(name) = name {
            walker.add_inside(&step, Field, name, parameter);
        }
    }
    step
}

/// A method, property or event, perhaps of an explicit interface.
fn member<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let body = ["body", "accessors", "value"].into_iter().find_map(|field| node.child_by_field_name(field));
    let kind = if matches!(walker.grammar.tag(node), PROPERTY | EVENT) { Field } else { Method };
    let symbol = walker.add(kind, name, node, body);
    let explicit = children(node).into_iter().find(|child| walker.grammar.tag(*child) == EXPLICIT);
    if let Some(of) = explicit.and_then(|explicit| explicit.named_child(0)) {
        let of = of.child(0).filter(|_| walker.grammar.tag(of) == GENERIC).unwrap_or(of);
        let of = walker.text_of(of);
        walker.mark_of(symbol, of.rsplit('.').next().unwrap_or(of));
    }
    walker.inside(symbol, name, Within::Function)
}

fn destructor<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let name = format!("~{}", walker.text_of(at));
    let symbol = walker.add_named(&name, Method, at, node, node.child_by_field_name("body"));
    walker.inside_named(symbol, &name, Within::Function)
}

/// Named `operator` with its symbol, or with the type that it converts to.
fn operator<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let at = node.child_by_field_name("operator").or_else(|| node.child_by_field_name("type"));
    let Some(at) = at else { return Step::Enter };
    let name = format!("operator {}", walker.text_of(at));
    let symbol = walker.add_named(&name, Method, at, node, node.child_by_field_name("body"));
    walker.inside_named(symbol, &name, Within::Function)
}

fn indexer<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let word = children(node).into_iter().find(|child| walker.text_of(*child) == "this");
    let Some(at) = word else { return Step::Enter };
    let body = node.child_by_field_name("accessors").or_else(|| node.child_by_field_name("value"));
    let symbol = walker.add(Field, at, node, body);
    walker.inside(symbol, at, Within::Function)
}

fn field<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let parts = children(node);
    let is_constant =
        parts.iter().any(|part| walker.grammar.tag(*part) == MODIFIER && walker.text_of(*part) == "const");
    let kind = if is_constant { Constant } else { Field };
    let list = parts.into_iter().find(|part| walker.grammar.tag(*part) == VARIABLES);
    for variable in list.map(children).unwrap_or_default() {
        let name = variable.child_by_field_name("name").filter(|_| walker.grammar.tag(variable) == VARIABLE);
        let Some(name) = name else { continue };
        // After the name and the `=`.
        walker.add(kind, name, node, variable.child(2));
    }
    walker.inside_named(None, "", Within::Function)
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
