//! Bash and its predecessors.

use tree_sitter::Node;

use crate::symbols::{
    SymbolKind::{Function, Variable},
    grammar::{
        Rule::{self, Comment, Skip, Special},
        Spec, Within, function,
    },
    walk::{Step, Walker, fields},
};

pub(super) const SPEC: Spec = Spec::new(RULES, TAGS);

const RULES: &[(&str, Rule)] = &[
    ("comment", Comment),
    ("function_definition", function(Function)),
    ("variable_assignment", Special(assignment)),
    ("command", Special(command)),
    ("subshell", Special(local)),
    ("command_substitution", Skip),
    ("process_substitution", Skip),
    ("string", Skip),
    ("raw_string", Skip),
    ("expansion", Skip),
    ("simple_expansion", Skip),
    ("arithmetic_expansion", Skip),
    ("test_command", Skip),
    ("heredoc_redirect", Special(heredoc)),
    ("heredoc_body", Skip),
    ("array", Skip),
];

const NAME: u8 = 1;

const TAGS: &[(&str, u8)] = &[("variable_name", NAME)];

/// Variables of the script, each at its first assignment.
fn assignment<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    let name = node.child_by_field_name("name").filter(|name| walker.grammar.tag(*name) == NAME);
    let kind = walker.settle(Variable, false);
    if let Some((name, kind)) = name.zip(kind).filter(|(name, _)| walker.is_first(*name)) {
        walker.add(kind, name, node, node.child_by_field_name("value"));
    }
    Step::Skip
}

/// `source` imports, `alias` defines. An assignment before a command (`A=1 cmd`) is not a variable of the script.
fn command<'t>(walker: &mut Walker<'t>, node: Node<'t>) -> Step {
    match node.child_by_field_name("name").map(|name| walker.text_of(name)) {
        Some("source" | ".") => walker.import(node),
        Some("alias") => {
            for argument in fields(node, "argument") {
                if let Some((name, _)) = walker.text_of(argument).split_once('=') {
                    walker.add_named(name, Function, argument, node, None);
                }
            }
            Step::Skip
        }
        Some(_) | None => Step::Skip,
    }
}

/// After `<<EOF` the line may continue with another command.
fn heredoc<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}

fn local<'t>(walker: &mut Walker<'t>, _node: Node<'t>) -> Step {
    walker.inside_named(None, "", Within::Function)
}
