//! JavaScript, TypeScript and TSX.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{self, Class, Constant, Enum, Field, Function, Interface, Method, Module, Type, Variable, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Skip, Special},
        Spec, Within, function, leaf, ty,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("html_comment", Comment),
    ("decorator", Attribute),
    ("hash_bang_line", Skip),
    ("import_statement", Import),
    ("import_alias", Import),
    ("export_statement", Special(export)),
    ("ambient_declaration", Special(ambient)),
    ("function_declaration", function(Function)),
    ("generator_function_declaration", function(Function)),
    ("function_signature", function(Function)),
    ("class_declaration", ty(Class)),
    ("abstract_class_declaration", ty(Class)),
    ("class", Special(class_expression)),
    ("function_expression", Special(function_expression)),
    ("generator_function", Special(function_expression)),
    ("arrow_function", Special(function_expression)),
    ("class_static_block", Special(local)),
    ("for_statement", Special(local)),
    ("method_definition", Special(method)),
    ("method_signature", Special(method)),
    ("abstract_method_signature", Special(method)),
    ("field_definition", Special(field)),
    ("public_field_definition", Special(field)),
    ("property_signature", Special(property)),
    ("interface_declaration", ty(Interface)),
    ("type_alias_declaration", leaf(Type).body("value").inside(Within::Type).rule()),
    ("enum_declaration", leaf(Enum).inside(Within::Enum).rule()),
    ("enum_assignment", Special(variant)),
    ("property_identifier", Special(bare_variant)),
    ("string", Special(bare_variant)),
    ("module", Special(module)),
    ("internal_module", Special(module)),
    ("lexical_declaration", Special(declaration)),
    ("variable_declaration", Special(declaration)),
    ("variable_declarator", Special(declarator)),
    ("assignment_expression", Special(assignment)),
    ("pair", Special(pair)),
    ("formal_parameters", Skip),
    ("type_parameters", Skip),
    ("type_arguments", Skip),
    ("type_annotation", Special(annotation)),
    ("template_string", Skip),
    ("regex", Skip),
    ("import_attribute", Skip),
    ("accessibility_modifier", Skip),
    ("override_modifier", Skip),
];

const FUNCTION: u8 = 1;
const CLASS: u8 = 2;
const OBJECT: u8 = 3;
const IDENTIFIER: u8 = 4;
const MEMBER: u8 = 5;
const STRING: u8 = 6;
const CALL: u8 = 7;
const NAME_IN_PATTERN: u8 = 8;
const PATTERN: u8 = 9;
const DEFAULTED: u8 = 10;
const PAIR_PATTERN: u8 = 11;
const ACCESS: u8 = 12;
const PARAMETER: u8 = 13;
const THIS: u8 = 14;
const AROUND: u8 = 15;
const BLOCK: u8 = 16;

const TAGS: &[(&str, u8)] = &[
    ("function_expression", FUNCTION),
    ("generator_function", FUNCTION),
    ("arrow_function", FUNCTION),
    ("class", CLASS),
    ("object", OBJECT),
    ("identifier", IDENTIFIER),
    ("member_expression", MEMBER),
    ("string", STRING),
    ("call_expression", CALL),
    ("shorthand_property_identifier_pattern", NAME_IN_PATTERN),
    ("object_pattern", PATTERN),
    ("array_pattern", PATTERN),
    ("rest_pattern", PATTERN),
    ("assignment_pattern", DEFAULTED),
    ("object_assignment_pattern", DEFAULTED),
    ("pair_pattern", PAIR_PATTERN),
    ("accessibility_modifier", ACCESS),
    ("override_modifier", ACCESS),
    ("required_parameter", PARAMETER),
    ("optional_parameter", PARAMETER),
    ("this", THIS),
    ("statement_block", BLOCK),
    ("parenthesized_expression", AROUND),
    ("as_expression", AROUND),
    ("satisfies_expression", AROUND),
    ("non_null_expression", AROUND),
];

/// The kind of value that a name has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Function,
    Class,
    Object,
    Other,
}

fn value_of<'t>(walker: &Walker<'t>, value: Option<Node<'t>>) -> Value {
    let mut at = value;
    while let Some(around) = at.filter(|at| walker.grammar.tag(*at) == AROUND) {
        at = around.named_child(0);
    }
    match at.map(|at| walker.grammar.tag(at)) {
        Some(FUNCTION) => Value::Function,
        Some(CLASS) => Value::Class,
        Some(OBJECT) => Value::Object,
        _ => Value::Other,
    }
}

/// The part of a value that is not in the signature: the body of a function or class, else all of it.
fn body_of<'t>(value: Option<Node<'t>>) -> Option<Node<'t>> {
    value.map(|value| value.child_by_field_name("body").unwrap_or(value))
}

/// A name without its quotes.
fn plain<'t>(walker: &Walker<'t>, name: Node<'t>) -> &'t str {
    let text = walker.text_of(name);
    if walker.grammar.tag(name) == STRING { text.trim_matches(['"', '\'']) } else { text }
}

fn export<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if node.child_by_field_name("source").is_some() {
        return walker.import(node);
    }
    let Some(value) = node.child_by_field_name("value") else { return Step::Wrap };
    let word = children(node).into_iter().find(|child| walker.text_of(*child) == "default");
    let is_named = value.child_by_field_name("name").is_some();
    match (value_of(walker, Some(value)), word) {
        (Value::Function, Some(word)) if !is_named => {
            let symbol = walker.add(Function, word, node, body_of(Some(value)));
            walker.inside(symbol, word, Within::Function)
        }
        (Value::Class, Some(word)) if !is_named => {
            let symbol = walker.add(Class, word, node, body_of(Some(value)));
            walker.inside(symbol, word, Within::Type)
        }
        (Value::Object, _) => walker.inside_named(None, "", Within::Type),
        (Value::Function | Value::Class | Value::Other, _) => Step::Wrap,
    }
}

/// `declare global { … }` contains several declarations, any other `declare` begins one.
fn ambient<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let last = node.child(node.child_count().saturating_sub(1));
    let is_block = last.is_some_and(|last| walker.grammar.tag(last) == BLOCK);
    if is_block { Step::Inside(walker.place()) } else { Step::Wrap }
}

fn class_expression<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    expression(walker, node, Class, Within::Type)
}

fn function_expression<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    expression(walker, node, Function, Within::Function)
}

/// An expression may have its own name, which is listed unless it is assigned to the same name.
fn expression<'t>(walker: &mut Walker<'t>, node: Node<'t>, kind: SymbolKind, within: Within) -> Step {
    match node.child_by_field_name("name") {
        Some(name) if walker.text_of(name) != walker.innermost() => {
            let symbol = walker.add(kind, name, node, node.child_by_field_name("body"));
            walker.inside(symbol, name, within)
        }
        Some(_) | None => walker.inside_named(None, "", within),
    }
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}

fn method<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let name = plain(walker, at);
    let symbol = walker.add_named(name, Method, at, node, node.child_by_field_name("body"));
    if name == "constructor" {
        parameters(walker, node);
    }
    walker.inside_named(symbol, name, Within::Function)
}

/// A parameter of a constructor with a word like `private` is a field.
fn parameters<'t>(walker: &mut Walker<'t>, constructor: Node<'t>) {
    for parameter in constructor.child_by_field_name("parameters").map(children).unwrap_or_default() {
        if walker.grammar.tag(parameter) != PARAMETER {
            continue;
        }
        let is_field = |word: &Node<'t>| walker.grammar.tag(*word) == ACCESS || walker.text_of(*word) == "readonly";
        let name = parameter.child_by_field_name("pattern");
        if let Some(name) = name.filter(|_| children(parameter).iter().any(is_field)) {
            let step = Step::Inside(walker.place());
            walker.add_inside(&step, Field, name, parameter);
        }
    }
}

fn field<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let at = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
    let Some(at) = at else { return Step::Enter };
    named_value(walker, (plain(walker, at), Field, at), node, node.child_by_field_name("value"))
}

/// A name with a value: what it is depends on the value.
fn named_value<'t>(
    walker: &mut Walker<'t>,
    (name, kind, at): (&str, SymbolKind, Node<'t>),
    whole: Node<'t>,
    value: Option<Node<'t>>,
) -> Step {
    let (kind, within) = match value_of(walker, value) {
        Value::Function if kind == Field => (Method, Within::Function),
        Value::Function => (Function, Within::Function),
        Value::Class => (Class, Within::Type),
        Value::Object => (kind, Within::Type),
        Value::Other => (kind, Within::Function),
    };
    let symbol = walker.add_named(name, kind, at, whole, body_of(value));
    walker.inside_named(symbol, name, within)
}

fn property<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let name = plain(walker, at);
    let symbol =
        if walker.place().within == Within::Function { None } else { walker.add_named(name, Field, at, node, None) };
    walker.inside_named(symbol, name, Within::Type)
}

/// The members of a type literal are listed for a named thing, not for a parameter.
fn annotation<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    if walker.place().within == Within::Type { Step::Enter } else { Step::Skip }
}

fn variant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if let Some(at) = node.child_by_field_name("name") {
        walker.add_named(plain(walker, at), Variant, at, node, node.child_by_field_name("value"));
    }
    Step::Skip
}

fn bare_variant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    if walker.place().within == Within::Enum {
        walker.add_named(plain(walker, node), Variant, node, node, None);
    }
    Step::Skip
}

fn module<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let mut name = plain(walker, at);
    if let Some((outer, last)) = name.rsplit_once('.').filter(|_| walker.grammar.tag(at) != STRING) {
        // `a.b` is two modules.
        outer.split('.').for_each(|part| walker.within_name(part.trim()));
        name = last.trim();
    }
    let symbol = walker.add_named(name, Module, at, node, node.child_by_field_name("body"));
    walker.inside_named(symbol, name, Within::Module)
}

/// `const x = require("x")` is also an import.
fn declaration<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let value = node.named_child(0).and_then(|first| first.child_by_field_name("value"));
    let mut at = value;
    while let Some(member) = at.filter(|at| walker.grammar.tag(*at) == MEMBER) {
        at = member.child_by_field_name("object");
    }
    let callee = at.filter(|at| walker.grammar.tag(*at) == CALL).and_then(|call| call.child_by_field_name("function"));
    if callee.is_some_and(|callee| walker.text_of(callee) == "require") {
        walker.import(node);
    }
    let is_constant = node.child(0).is_some_and(|word| walker.text_of(word) == "const");
    Step::WrapNoted(if is_constant { CONSTANT } else { 0 })
}

/// The note of a declaration for what it declares.
const CONSTANT: u8 = 1;

fn declarator<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(at) = node.child_by_field_name("name") else { return Step::Enter };
    let value = node.child_by_field_name("value");
    let is_local = walker.place().within == Within::Function;
    if is_local && matches!(value_of(walker, value), Value::Object | Value::Other) {
        return Step::Enter;
    }
    let kind = if walker.note() == CONSTANT { Constant } else { Variable };
    if walker.grammar.tag(at) == IDENTIFIER {
        return named_value(walker, (walker.text_of(at), kind, at), node, value);
    }
    for name in names(walker, at) {
        walker.add(kind, name, node, value);
    }
    walker.inside_named(None, "", Within::Function)
}

/// The names that a pattern binds.
fn names<'t>(walker: &Walker<'t>, pattern: Node<'t>) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut open = vec![pattern];
    while let Some(node) = open.pop() {
        match walker.grammar.tag(node) {
            IDENTIFIER | NAME_IN_PATTERN => found.push(node),
            PATTERN => open.extend(children(node).into_iter().rev()),
            DEFAULTED => open.extend(node.child_by_field_name("left")),
            PAIR_PATTERN => open.extend(node.child_by_field_name("value")),
            _ => {}
        }
    }
    found
}

/// `exports.x = …`, `Name.prototype.x = function …`, `this.x = function …`
fn assignment<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(left) = node.child_by_field_name("left") else { return Step::Enter };
    let value = node.child_by_field_name("right");
    let is_definition = matches!(value_of(walker, value), Value::Function | Value::Class);
    if walker.grammar.tag(left) == IDENTIFIER && is_definition {
        return named_value(walker, (walker.text_of(left), Variable, left), node, value);
    }
    let Some((path, at)) = path(walker, left) else { return Step::Enter };
    let is_export = path.first().is_some_and(|first| *first == "exports" || *first == "module");
    let name = walker.text_of(at);
    if is_export && path.len() == 1 && name == "exports" || name == "prototype" {
        path.iter().filter(|name| **name != "module").for_each(|name| walker.within_name(name));
        let is_named = value.is_some_and(|value| value.child_by_field_name("name").is_some());
        return match value_of(walker, value) {
            Value::Object => walker.inside_named(None, "", Within::Type),
            Value::Function | Value::Class if !is_named && name == "exports" => {
                named_value(walker, (name, Variable, at), node, value)
            }
            Value::Function | Value::Class | Value::Other => Step::Enter,
        };
    }
    let is_member = path.last() == Some(&"prototype") || path.len() == 1 && path[0].starts_with(char::is_uppercase);
    let owners: Vec<&str> = path.into_iter().filter(|name| !NO_OWNER.contains(name)).collect();
    let is_top = walker.place().within != Within::Function;
    if !(is_definition || (is_export || is_member) && is_top) {
        return Step::Enter;
    }
    let is_own = owners.is_empty() && walker.text_of(left).starts_with("this") || !owners.is_empty();
    let kind = if is_own { Field } else { Variable };
    owners.into_iter().for_each(|name| walker.within_name(name));
    named_value(walker, (name, kind, at), node, value)
}

/// Words before a name that do not name its owner.
const NO_OWNER: &[&str] = &["exports", "module", "prototype", "this", "window", "globalThis", "global", "self"];

/// The names before the last one of `a.b.c`, and the node of the last.
fn path<'t>(walker: &Walker<'t>, member: Node<'t>) -> Option<(Vec<&'t str>, Node<'t>)> {
    if walker.grammar.tag(member) != MEMBER {
        return None;
    }
    let last = member.child_by_field_name("property")?;
    let mut path = Vec::new();
    let mut at = member.child_by_field_name("object")?;
    while walker.grammar.tag(at) == MEMBER {
        path.push(walker.text_of(at.child_by_field_name("property")?));
        at = at.child_by_field_name("object")?;
    }
    if !matches!(walker.grammar.tag(at), IDENTIFIER | THIS) {
        return None;
    }
    path.push(walker.text_of(at));
    path.reverse();
    Some((path, last))
}

/// In an object without a name only functions and classes are listed.
fn pair<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let (Some(at), value) = (node.child_by_field_name("key"), node.child_by_field_name("value")) else {
        return Step::Enter;
    };
    let is_definition = matches!(value_of(walker, value), Value::Function | Value::Class);
    if walker.place().within != Within::Type && !is_definition {
        return Step::Enter;
    }
    named_value(walker, (plain(walker, at), Field, at), node, value)
}
