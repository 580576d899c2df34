//! PHP.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Class, Constant, Enum, Field, Function, Interface, Method, Module, Trait, Variable, Variant},
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
    ("namespace_definition", Special(namespace)),
    ("namespace_use_declaration", Import),
    ("include_expression", Import),
    ("include_once_expression", Import),
    ("require_expression", Import),
    ("require_once_expression", Import),
    ("function_definition", function(Function)),
    ("class_declaration", ty(Class)),
    ("interface_declaration", ty(Interface)),
    ("trait_declaration", ty(Trait)),
    ("enum_declaration", ty(Enum)),
    ("enum_case", leaf(Variant).body("value").rule()),
    ("method_declaration", Special(method)),
    ("property_declaration", Special(property)),
    ("const_declaration", Special(constant)),
    ("assignment_expression", Special(assignment)),
    ("function_call_expression", Special(call)),
    ("anonymous_function", Special(local)),
    ("arrow_function", Special(local)),
    ("anonymous_class", Special(anonymous_class)),
    ("use_declaration", Skip),
    ("formal_parameters", Skip),
    ("base_clause", Skip),
    ("class_interface_clause", Skip),
    ("string", Skip),
    ("encapsed_string", Skip),
    ("heredoc", Skip),
    ("nowdoc", Skip),
    ("text", Skip),
    ("class_constant_access_expression", Skip),
    ("qualified_name", Skip),
    ("variable_name", Skip),
    ("member_access_expression", Skip),
    ("subscript_expression", Skip),
    ("binary_expression", Skip),
    ("unary_op_expression", Skip),
    ("cast_expression", Skip),
    ("update_expression", Skip),
    ("union_type", Skip),
    ("named_type", Skip),
];

const ELEMENT: u8 = 1;
const CONSTANT: u8 = 2;
const PROMOTION: u8 = 3;
const VARIABLE: u8 = 4;
const NAME: u8 = 5;
const ARGUMENT: u8 = 6;
const STRING: u8 = 7;
const FUNCTION: u8 = 8;
const HOOKS: u8 = 9;

const TAGS: &[(&str, u8)] = &[
    ("property_element", ELEMENT),
    ("const_element", CONSTANT),
    ("property_promotion_parameter", PROMOTION),
    ("variable_name", VARIABLE),
    ("name", NAME),
    ("argument", ARGUMENT),
    ("string", STRING),
    ("encapsed_string", STRING),
    ("property_hook_list", HOOKS),
    ("anonymous_function", FUNCTION),
    ("arrow_function", FUNCTION),
];

/// `namespace A\B;` encloses the rest of the file, or all up to the next.
fn namespace<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let body = node.child_by_field_name("body");
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    if body.is_none() {
        walker.leave_rest(node);
    }
    let mut name = walker.text_of(at);
    if let Some((outer, last)) = name.rsplit_once('\\') {
        outer.split('\\').for_each(|part| walker.within_name(part));
        name = last;
    }
    if body.is_none() {
        return walker.rest_inside(name, Module, at, node);
    }
    let symbol = walker.add_named(name, Module, at, node, body);
    walker.inside_named(symbol, name, Within::Module)
}

/// Variables are listed without their `$`.
fn plain<'t>(walker: &Walker<'t>, name: Node<'t>) -> &'t str {
    walker.text_of(name).trim_start_matches(['&', '$'])
}

/// A parameter of a constructor with a word like `private` is a field.
fn method<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    let symbol = walker.add(Method, name, node, node.child_by_field_name("body"));
    for parameter in node.child_by_field_name("parameters").map(children).unwrap_or_default() {
        let at = parameter.child_by_field_name("name").filter(|_| walker.grammar.tag(parameter) == PROMOTION);
        if let Some(at) = at {
            walker.add_named(plain(walker, at), Field, at, parameter, None);
        }
    }
    walker.inside(symbol, name, Within::Function)
}

fn property<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let parts = children(node);
    let hooks = parts.iter().find(|child| walker.grammar.tag(**child) == HOOKS).copied();
    for element in parts.into_iter().filter(|child| walker.grammar.tag(*child) == ELEMENT) {
        let Some(at) = element.child_by_field_name("name") else { continue };
        let body = element.child_by_field_name("default_value").or(hooks);
        walker.add_named(plain(walker, at), Field, at, node, body);
    }
    walker.inside_named(None, "", Within::Function)
}

fn constant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    for element in children(node).into_iter().filter(|child| walker.grammar.tag(*child) == CONSTANT) {
        let Some(name) = element.child(0) else { continue };
        walker.add(Constant, name, node, element.child(2));
    }
    Step::Skip
}

/// Variables of the file.
fn assignment<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let left = node.child_by_field_name("left").filter(|left| walker.grammar.tag(*left) == VARIABLE);
    let (Some(at), Within::Module) = (left, walker.place().within) else { return Step::Enter };
    let value = node.child_by_field_name("right");
    let is_function = value.is_some_and(|value| walker.grammar.tag(value) == FUNCTION);
    let body = value.map(|value| value.child_by_field_name("body").unwrap_or(value));
    let name = plain(walker, at);
    let symbol = walker.add_named(name, if is_function { Function } else { Variable }, at, node, body);
    walker.inside_named(symbol, name, Within::Function)
}

/// `define('NAME', …)`
fn call<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let function = node.child_by_field_name("function").filter(|name| walker.grammar.tag(*name) == NAME);
    if !function.is_some_and(|name| walker.text_of(name).eq_ignore_ascii_case("define")) {
        return Step::Enter;
    }
    let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
    let first = arguments.into_iter().find(|argument| walker.grammar.tag(*argument) == ARGUMENT);
    let name = first.and_then(|argument| argument.child(0)).filter(|name| walker.grammar.tag(*name) == STRING);
    if let Some(at) = name {
        walker.add_named(walker.text_of(at).trim_matches(['"', '\'']), Constant, at, node, None);
    }
    Step::Skip
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}

fn anonymous_class<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Type)
}
