//! Rust.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Constant, Enum, Field, Function, Macro, Module, Struct, Trait, Type, Variable, Variant},
    grammar::{
        Rule::{self, Attribute, Comment, Import, Skip, Special},
        Spec, Within, function, leaf, ty,
    },
    walk::{Step, Walker, children},
};

pub(super) const SPEC: Spec = Spec { not_leading: &["//!", "/*!"], local_words: LOCAL_WORDS, ..Spec::new(RULES, TAGS) };

/// Every definition inside a function has one of these words.
const LOCAL_WORDS: &[&str] =
    &["fn", "struct", "union", "enum", "trait", "impl", "mod", "const", "static", "type", "macro_rules", "extern"];

const RULES: &[(&str, Rule)] = &[
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("attribute_item", Attribute),
    ("use_declaration", Import),
    ("extern_crate_declaration", Import),
    ("function_item", function(Function)),
    ("function_signature_item", function(Function)),
    ("struct_item", ty(Struct)),
    ("union_item", ty(Struct)),
    ("enum_item", ty(Enum)),
    ("enum_variant", ty(Variant)),
    ("field_declaration", leaf(Field).rule()),
    ("trait_item", ty(Trait)),
    ("type_item", leaf(Type).body("").rule()),
    ("associated_type", leaf(Type).body("").rule()),
    ("mod_item", leaf(Module).inside(Within::Module).rule()),
    ("const_item", Special(constant)),
    ("static_item", leaf(Variable).body("value").inside(Within::Function).even_local().rule()),
    ("macro_definition", Special(macro_definition)),
    ("impl_item", Special(implementation)),
    ("foreign_mod_item", Special(foreign)),
    ("inner_attribute_item", Skip),
    ("token_tree", Skip),
    ("parameters", Skip),
    ("type_parameters", Skip),
    ("where_clause", Skip),
    ("trait_bounds", Skip),
    ("visibility_modifier", Skip),
    ("function_modifiers", Skip),
    ("ordered_field_declaration_list", Skip),
    ("generic_type", Skip),
    ("reference_type", Skip),
    ("scoped_identifier", Skip),
    ("scoped_type_identifier", Skip),
    ("type_arguments", Skip),
    ("string_literal", Skip),
    ("raw_string_literal", Skip),
    ("tuple_struct_pattern", Skip),
    ("struct_pattern", Skip),
    ("tuple_pattern", Skip),
    ("closure_parameters", Skip),
];

const GENERIC: u8 = 1;
const SCOPED: u8 = 2;
const AROUND: u8 = 3;
const DYNAMIC: u8 = 4;
const RULE: u8 = 5;

const TAGS: &[(&str, u8)] = &[
    ("generic_type", GENERIC),
    ("scoped_type_identifier", SCOPED),
    ("reference_type", AROUND),
    ("pointer_type", AROUND),
    ("dynamic_type", DYNAMIC),
    ("abstract_type", DYNAMIC),
    ("macro_rule", RULE),
];

/// `const _` has no name, but may contain definitions.
fn constant<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Enter };
    if walker.text_of(name) == "_" {
        return Step::Enter;
    }
    let body = node.child_by_field_name("value");
    let symbol = walker.add(Constant, name, node, body);
    walker.inside(symbol, name, Within::Function)
}

fn macro_definition<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(name) = node.child_by_field_name("name") else { return Step::Skip };
    let body = children(node).into_iter().find(|child| walker.grammar.tag(*child) == RULE);
    walker.add(Macro, name, node, body);
    Step::Skip
}

fn foreign<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Extern)
}

fn implementation<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let Some(ty) = node.child_by_field_name("type") else { return Step::Enter };
    let of = node.child_by_field_name("trait").map(|of| walker.text_of(base(walker, of)));
    let at = base(walker, ty);
    walker.implementation(node, at, walker.text_of(at), of)
}

/// The name in a type, without arguments, path, `&` and `dyn`.
fn base<'t>(walker: &Walker<'t>, ty: Node<'t>) -> Node<'t> {
    let mut at = ty;
    loop {
        let inner = match walker.grammar.tag(at) {
            GENERIC | AROUND => at.child_by_field_name("type"),
            SCOPED => at.child_by_field_name("name"),
            DYNAMIC => at.child_by_field_name("trait"),
            _ => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return at,
        }
    }
}
