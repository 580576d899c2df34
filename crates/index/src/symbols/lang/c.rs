//! C and C++: a name is deep inside a declarator, and a definition may be outside of its class.

mod macros;

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{
        self, Class, Constant, Declaration, Enum, Field, Function, Macro, Method, Module, Struct, Type, Variable,
        Variant,
    },
    grammar::{
        Rule::{self, Attribute, Comment, Import, Skip, Special, Wrap},
        Spec, Within, leaf,
    },
    walk::{Step, Walker, children, fields},
};

pub(super) const SPEC: Spec = Spec { prepare: Some(macros::without), ..Spec::new(RULES, TAGS) };

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("attribute_declaration", Attribute),
    ("preproc_include", Import),
    ("using_declaration", Import),
    ("preproc_def", leaf(Macro).body("value").rule()),
    ("preproc_function_def", leaf(Macro).body("value").rule()),
    ("preproc_call", Skip),
    ("preproc_if", Special(condition)),
    ("template_declaration", Wrap),
    ("template_parameter_list", Skip),
    ("template_instantiation", Skip),
    ("template_argument_list", Skip),
    ("requires_clause", Skip),
    ("function_definition", Special(function)),
    ("declaration", Special(declaration)),
    ("field_declaration", Special(field)),
    ("type_definition", Special(typedef)),
    ("struct_specifier", Special(structure)),
    ("union_specifier", Special(structure)),
    ("class_specifier", Special(class)),
    ("enum_specifier", Special(enumeration)),
    ("enumerator", leaf(Variant).body("value").rule()),
    ("namespace_definition", Special(namespace)),
    ("namespace_alias_definition", leaf(Module).rule()),
    ("alias_declaration", leaf(Type).body("type").rule()),
    ("concept_definition", leaf(Type).rule()),
    ("lambda_expression", Special(lambda)),
    ("base_class_clause", Skip),
    ("field_initializer_list", Skip),
    ("function_declarator", Skip),
    ("pointer_declarator", Skip),
    ("reference_declarator", Skip),
    ("parameter_list", Skip),
    ("type_descriptor", Skip),
    ("attribute_specifier", Attribute),
    ("qualified_identifier", Skip),
    ("expression_statement", Skip),
    ("return_statement", Skip),
    ("initializer_list", Skip),
    ("string_literal", Skip),
    ("call_expression", Skip),
    ("binary_expression", Skip),
    ("parenthesized_expression", Skip),
    ("condition_clause", Skip),
];

const AROUND: u8 = 1;
const INNER: u8 = 2;
const FUNCTION: u8 = 3;
const NAME: u8 = 4;
const QUALIFIED: u8 = 5;
const TEMPLATE: u8 = 6;
const CAST: u8 = 7;
const TYPE: u8 = 8;
const STORAGE: u8 = 9;
const QUALIFIER: u8 = 10;
const INITIALIZERS: u8 = 11;
const POINTER: u8 = 12;
const INITIALIZED: u8 = 13;
const ENUM: u8 = 14;
const CLASS: u8 = 15;
const NAMESPACES: u8 = 16;
const SCOPE: u8 = 17;

const TAGS: &[(&str, u8)] = &[
    ("pointer_declarator", POINTER),
    ("array_declarator", AROUND),
    ("pointer_type_declarator", POINTER),
    ("init_declarator", INITIALIZED),
    ("reference_declarator", INNER),
    ("parenthesized_declarator", INNER),
    ("attributed_declarator", INNER),
    ("variadic_declarator", INNER),
    ("function_declarator", FUNCTION),
    ("identifier", NAME),
    ("field_identifier", NAME),
    ("type_identifier", NAME),
    ("primitive_type", NAME),
    ("destructor_name", NAME),
    ("operator_name", NAME),
    ("qualified_identifier", QUALIFIED),
    ("template_function", TEMPLATE),
    ("template_method", TEMPLATE),
    ("template_type", TEMPLATE),
    ("operator_cast", CAST),
    ("struct_specifier", TYPE),
    ("union_specifier", TYPE),
    ("class_specifier", CLASS),
    ("enum_specifier", ENUM),
    ("storage_class_specifier", STORAGE),
    ("type_qualifier", QUALIFIER),
    ("field_initializer_list", INITIALIZERS),
    ("nested_namespace_specifier", NAMESPACES),
    ("namespace_identifier", SCOPE),
];

/// The name in a declarator.
struct Declarator<'t> {
    name: Node<'t>,
    /// The qualifiers before `::`, outermost first.
    scope: Vec<&'t str>,
    /// Whether a function is declared, and not a pointer to one.
    is_function: bool,
    is_pointer: bool,
    value: Option<Node<'t>>,
}

/// Looks for the name in a declarator.
fn read<'t>(walker: &Walker<'t>, declarator: Node<'t>) -> Option<Declarator<'t>> {
    let mut found =
        Declarator { name: declarator, scope: Vec::new(), is_function: false, is_pointer: false, value: None };
    // The innermost binds first: `(*f)()` is a pointer, `*f()` a function.
    let mut at = declarator;
    loop {
        let tag = walker.grammar.tag(at);
        at = match tag {
            FUNCTION | POINTER | AROUND | INITIALIZED => {
                found.is_function = tag == FUNCTION || (tag == INITIALIZED && found.is_function);
                found.is_pointer |= tag == POINTER;
                if tag == INITIALIZED {
                    found.value = at.child_by_field_name("value");
                }
                at.child_by_field_name("declarator")?
            }
            INNER => children(at).into_iter().rfind(|child| {
                let tag = walker.grammar.tag(*child);
                (AROUND..=CAST).contains(&tag) || tag == POINTER
            })?,
            QUALIFIED => {
                found.scope.extend(at.child_by_field_name("scope").map(|scope| last_name(walker, scope)));
                at.child_by_field_name("name")?
            }
            TEMPLATE => at.child_by_field_name("name")?,
            CAST => {
                found.is_function = true;
                found.name = at;
                return Some(found);
            }
            NAME => {
                found.name = at;
                return Some(found);
            }
            _ => return None,
        };
    }
}

/// The name of a scope without its template arguments.
fn last_name<'t>(walker: &Walker<'t>, scope: Node<'t>) -> &'t str {
    let name = if walker.grammar.tag(scope) == TEMPLATE { scope.child_by_field_name("name") } else { None };
    walker.text_of(name.unwrap_or(scope))
}

/// As written; a conversion operator only up to its brackets.
fn name_of<'t>(walker: &Walker<'t>, name: Node<'t>) -> &'t str {
    let text = walker.text_of(name);
    if walker.grammar.tag(name) == CAST { text.split('(').next().unwrap_or(text).trim() } else { text }
}

fn function<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let declarator = node.child_by_field_name("declarator").and_then(|declarator| read(walker, declarator));
    let Some(declarator) = declarator else { return walker.inside_named(None, "", Within::Function) };
    let list = children(node).into_iter().find(|child| walker.grammar.tag(*child) == INITIALIZERS);
    let body = list.or_else(|| node.child_by_field_name("body"));
    let is_member = walker.place().within == Within::Type || !declarator.scope.is_empty();
    declarator.scope.iter().for_each(|name| walker.within_name(name));
    let name = name_of(walker, declarator.name);
    let kind = if is_member { Method } else { Function };
    let symbol = walker.add_named(name, kind, declarator.name, node, body);
    walker.inside_named(symbol, name, Within::Function)
}

/// Whether a declaration defines a type.
fn has_body<'t>(walker: &Walker<'t>, ty: Option<Node<'t>>) -> bool {
    let is_type = |ty: &Node<'t>| matches!(walker.grammar.tag(*ty), TYPE | CLASS | ENUM);
    ty.filter(is_type).is_some_and(|ty| ty.child_by_field_name("body").is_some())
}

fn declaration<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let ty = node.child_by_field_name("type").filter(|ty| has_body(walker, Some(*ty)));
    let body = ty.and_then(|ty| ty.child_by_field_name("body"));
    let next = if body.is_some() { Step::Enter } else { Step::Skip };
    if walker.place().within == Within::Function {
        return next;
    }
    let words = children(node);
    let has = |tag: u8, word: &str| {
        words.iter().any(|child| walker.grammar.tag(*child) == tag && walker.text_of(*child) == word)
    };
    let is_extern = has(STORAGE, "extern");
    let is_constant = has(QUALIFIER, "const") || has(QUALIFIER, "constexpr");
    let is_member = walker.place().within == Within::Type;
    for one in fields(node, "declarator") {
        let Some(found) = read(walker, one) else { continue };
        let value = found.value.or_else(|| node.child_by_field_name("value"));
        let kind = match (found.is_function, value) {
            (true, _) => Declaration,
            (false, None) if is_extern => Declaration,
            (false, _) if is_member => Field,
            (false, _) if is_constant && !found.is_pointer => Constant,
            (false, _) => Variable,
        };
        walker.add_scoped(&found.scope, name_of(walker, found.name), kind, (found.name, node, value.or(body)));
    }
    next
}

fn field<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let ty = node.child_by_field_name("type");
    let body = ty.filter(|ty| has_body(walker, Some(*ty))).and_then(|ty| ty.child_by_field_name("body"));
    let value = body.or_else(|| node.child_by_field_name("default_value"));
    let mut last = None;
    for one in fields(node, "declarator") {
        let Some(found) = read(walker, one) else { continue };
        let kind = if found.is_function { Declaration } else { Field };
        let symbol = walker.add_named(name_of(walker, found.name), kind, found.name, node, value);
        last = symbol.map(|symbol| (symbol, found.name));
    }
    if body.is_none() {
        return Step::Skip;
    }
    let is_nameless = ty.is_some_and(|ty| ty.child_by_field_name("name").is_none());
    match last.filter(|_| is_nameless) {
        Some((symbol, name)) => walker.inside(Some(symbol), name, Within::Type),
        None => Step::Enter,
    }
}

/// A type without a tag gets the first name that the typedef gives it.
fn typedef<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let ty = node.child_by_field_name("type");
    let body = ty.filter(|ty| has_body(walker, Some(*ty))).and_then(|ty| ty.child_by_field_name("body"));
    let is_nameless = ty.is_some_and(|ty| ty.child_by_field_name("name").is_none());
    let own = match ty.map(|ty| walker.grammar.tag(ty)) {
        Some(TYPE | CLASS) if body.is_some() && is_nameless => Some(Struct),
        Some(ENUM) if body.is_some() && is_nameless => Some(Enum),
        _ => None,
    };
    let mut first = None;
    for one in fields(node, "declarator") {
        let Some(found) = read(walker, one) else { continue };
        let kind = own.filter(|_| first.is_none()).unwrap_or(Type);
        let symbol = walker.add(kind, found.name, node, body);
        first = first.or(Some((symbol, found.name)));
    }
    match first {
        Some((symbol, name)) if own.is_some() => walker.inside(symbol, name, Within::Type),
        Some(_) | None if body.is_some() => Step::Enter,
        Some(_) | None => Step::Skip,
    }
}

fn structure<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    specifier(walker, node, Struct)
}

fn class<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    specifier(walker, node, Class)
}

fn enumeration<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    specifier(walker, node, Enum)
}

fn specifier<'t>(walker: &mut Walker<'t>, node: Node<'t>, kind: SymbolKind) -> Step {
    let body = node.child_by_field_name("body");
    let found = node.child_by_field_name("name").and_then(|name| read(walker, name));
    let is_local = walker.place().within == Within::Function;
    let Some(found) = found.filter(|_| body.is_some() || !is_local) else {
        // The members of an anonymous type have its surroundings; inside a function it is still a type.
        return if is_local && body.is_some() { walker.inside_named(None, "", Within::Type) } else { Step::Enter };
    };
    found.scope.iter().for_each(|name| walker.within_name(name));
    let kind = if body.is_some() { kind } else { Declaration };
    let symbol = walker.add(kind, found.name, node, body);
    walker.inside(symbol, found.name, Within::Type)
}

/// `namespace a::b` is two namespaces.
fn namespace<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(mut name) = node.child_by_field_name("name") else { return Step::Enter };
    while walker.grammar.tag(name) == NAMESPACES {
        let parts: Vec<Node<'t>> = children(name).into_iter().filter(|part| part.is_named()).collect();
        let Some((last, before)) = parts.split_last() else { break };
        before.iter().for_each(|part| walker.within_name(walker.text_of(*part)));
        name = *last;
    }
    let symbol = walker.add(Module, name, node, node.child_by_field_name("body"));
    walker.inside(symbol, name, Within::Module)
}

/// `#if 0` comments out code that contains comments.
fn condition<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let condition = node.child_by_field_name("condition").map(|condition| walker.text_of(condition));
    let is_dead = condition == Some("0") && node.child_by_field_name("alternative").is_none();
    if is_dead { Step::Skip } else { Step::Inside(walker.place()) }
}

fn lambda<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
