//! Ruby: many definitions are method calls.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{self, Class, Constant, Field, Function, Method, Module, Variable},
    grammar::{
        Rule::{self, Comment, Skip, Special},
        Spec, Within, function,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("method", function(Function)),
    ("singleton_method", Special(singleton_method)),
    ("class", Special(class)),
    ("module", Special(module)),
    ("singleton_class", Special(singleton_class)),
    ("assignment", Special(assignment)),
    ("operator_assignment", Special(assignment)),
    ("call", Special(call)),
    ("alias", Special(alias)),
    ("method_parameters", Skip),
    ("block_parameters", Skip),
    ("superclass", Skip),
    ("string", Skip),
    ("heredoc_body", Skip),
    ("regex", Skip),
    ("symbol_array", Skip),
    ("string_array", Skip),
    ("scope_resolution", Skip),
    ("element_reference", Skip),
    ("uninterpreted", Skip),
];

const CONSTANT: u8 = 1;
const GLOBAL: u8 = 2;
const CLASS_VARIABLE: u8 = 3;
const SCOPED: u8 = 4;
const LIST: u8 = 5;
const SYMBOL: u8 = 6;
const STRING: u8 = 7;
const METHOD: u8 = 8;
const SELF: u8 = 9;

const TAGS: &[(&str, u8)] = &[
    ("constant", CONSTANT),
    ("global_variable", GLOBAL),
    ("class_variable", CLASS_VARIABLE),
    ("scope_resolution", SCOPED),
    ("left_assignment_list", LIST),
    ("simple_symbol", SYMBOL),
    ("string", STRING),
    ("method", METHOD),
    ("singleton_method", METHOD),
    ("self", SELF),
];

/// `def self.x` belongs to the enclosing class, `def Name.x` to `Name`.
fn singleton_method<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    if let Some(object) = node.child_by_field_name("object").filter(|object| walker.grammar.tag(*object) != SELF) {
        walker.within_name(walker.text_of(object));
    }
    let symbol = walker.add(Method, name, node, node.child_by_field_name("body"));
    walker.inside(symbol, name, Within::Function)
}

fn class<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    container(walker, node, Class)
}

fn module<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    container(walker, node, Module)
}

/// `class A::B` is inside `A`.
fn container<'t>(walker: &mut Walker<'t>, node: Node<'t>, kind: SymbolKind) -> Step {
    let Some(mut name) = node.child_by_field_name("name") else { return Step::Enter };
    if walker.grammar.tag(name) == SCOPED {
        let scope = name.child_by_field_name("scope").map_or("", |scope| walker.text_of(scope));
        scope.split("::").for_each(|part| walker.within_name(part));
        name = name.child_by_field_name("name").unwrap_or(name);
    }
    let symbol = walker.add(kind, name, node, node.child_by_field_name("body"));
    walker.inside(symbol, name, Within::Type)
}

fn singleton_class<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Type)
}

/// Constants and variables that begin with `$` or, in a class, with `@@`.
fn assignment<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(left) = node.child_by_field_name("left") else { return Step::Enter };
    let value = node.child_by_field_name("right");
    let is_list = walker.grammar.tag(left) == LIST;
    let names = if is_list { children(left) } else { vec![left] };
    let is_local = walker.place().within == Within::Function;
    let mut last = None;
    for name in names {
        let kind = match walker.grammar.tag(name) {
            CONSTANT => Constant,
            GLOBAL if !is_local => Variable,
            CLASS_VARIABLE if !is_local => Field,
            _ => continue,
        };
        // `X ||= 1` may occur often; `x += 1` defines nothing.
        let operator = node.child_by_field_name("operator").map_or("=", |operator| walker.text_of(operator));
        if matches!(operator, "=" | "||=") {
            last = walker.add(kind, name, node, value).map(|symbol| (symbol, name));
        }
    }
    match last {
        // `Name = Struct.new(:a) do … end` has methods.
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Type),
        None => Step::Enter,
    }
}

fn call<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let method = node.child_by_field_name("method").filter(|_| node.child_by_field_name("receiver").is_none());
    let Some(method) = method.map(|method| walker.text_of(method)) else { return Step::Enter };
    let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
    match method {
        "require" | "require_relative" | "load" | "autoload" => walker.import(node),
        "attr_accessor" | "attr_reader" | "attr_writer" | "cattr_accessor" | "mattr_accessor" | "class_attribute"
        | "attribute" => {
            symbols(walker, node, &arguments, Field);
            Step::Skip
        }
        "define_method" | "alias_method" | "define_singleton_method" => {
            let first = arguments.iter().position(|argument| argument.is_named()).map_or(0, |at| at + 1);
            symbols(walker, node, &arguments[..first], Method);
            walker.inside_named(None, "", Within::Function)
        }
        _ if arguments.iter().any(|argument| walker.grammar.tag(*argument) == METHOD) => Step::Wrap,
        _ => Step::Enter,
    }
}

/// Lists the names in symbols and plain strings.
fn symbols<'t>(walker: &mut Walker<'t>, whole: Node<'t>, arguments: &[Node<'t>], kind: SymbolKind) {
    for argument in arguments {
        let text = walker.text_of(*argument);
        let name = match walker.grammar.tag(*argument) {
            SYMBOL => text.trim_start_matches(':'),
            STRING => text.trim_matches(['"', '\'']),
            _ => continue,
        };
        let body = whole.child_by_field_name("block");
        walker.add_named(name, kind, *argument, whole, body);
    }
}

fn alias<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(name) = node.child_by_field_name("name") {
        let kind = if walker.grammar.tag(name) == GLOBAL { Variable } else { Method };
        walker.add_named(walker.text_of(name).trim_start_matches(':'), kind, name, node, None);
    }
    Step::Skip
}
