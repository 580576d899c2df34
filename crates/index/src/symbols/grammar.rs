//! What the node kinds of a grammar mean for an outline: a table of rules for each language, resolved once from names to the
//! grammar's numbers.

use std::num::NonZeroU16;

use tree_sitter::Node;

use super::{
    SymbolKind,
    walk::{Step, Walker},
};

/// The surroundings of a definition, as far as they matter for its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// The file itself, a module or a namespace.
    Module,
    /// A type with methods and fields.
    Type,
    /// An enumeration whose values are bare names.
    Enum,
    /// A block of declarations of things that are defined elsewhere.
    Extern,
    /// A function: its variables are local and not listed.
    Function,
}

/// A language's own function for a kind of node.
pub(super) type Special = for<'t> fn(&mut Walker<'t>, Node<'t>) -> Step;

/// What to do with a kind of node.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Look at its children.
    Enter,
    /// Pass over it.
    Skip,
    /// A keyword or punctuation.
    Token,
    Import,
    /// Belongs to the definition on the next line.
    Comment,
    /// An attribute, decorator or annotation: belongs to the definition that follows, but not to its signature.
    Attribute,
    /// Contains attributes and words that belong to the signature.
    Modifiers,
    /// A definition in it begins where it begins.
    Wrap,
    Define(Define),
    /// Anything that the other rules cannot express.
    Special(Special),
}

/// A definition whose name and body are fields of its node.
#[derive(Clone, Copy)]
pub(super) struct Define {
    pub(super) kind: SymbolKind,
    body: &'static str,
    /// The surroundings of what it contains; `None` if nothing in it is listed.
    pub(super) inside: Option<Within>,
    /// Whether it is listed inside a function even if it is a variable.
    pub(super) even_local: bool,
    pub(super) name_field: Option<NonZeroU16>,
    pub(super) body_field: Option<NonZeroU16>,
}

/// A definition with its name in the field `name`, its body in the field `body`, and nothing in it that is listed.
pub(super) const fn leaf(kind: SymbolKind) -> Define {
    Define { kind, body: "body", inside: None, even_local: false, name_field: None, body_field: None }
}

/// A type: it contains methods and fields.
pub(super) const fn ty(kind: SymbolKind) -> Rule {
    leaf(kind).inside(Within::Type).rule()
}

/// A function: what it contains is local.
pub(super) const fn function(kind: SymbolKind) -> Rule {
    leaf(kind).inside(Within::Function).rule()
}

impl Define {
    /// With its body in another field.
    pub(super) const fn body(self, field: &'static str) -> Self {
        Self { body: field, ..self }
    }

    /// With definitions in it.
    pub(super) const fn inside(self, within: Within) -> Self {
        Self { inside: Some(within), ..self }
    }

    /// Listed even if it is local to a function.
    pub(super) const fn even_local(self) -> Self {
        Self { even_local: true, ..self }
    }

    pub(super) const fn rule(self) -> Rule {
        Rule::Define(self)
    }
}

/// The rules of a language.
pub(super) struct Spec {
    /// By node kind. [`Rule::Enter`] applies to kinds that are not listed.
    pub(super) rules: &'static [(&'static str, Rule)],
    /// Numbers by which the language's own functions know node kinds; 0 is any other kind.
    pub(super) tags: &'static [(&'static str, u8)],
    /// Beginnings of comments that do not belong to the definition below.
    pub(super) not_leading: &'static [&'static str],
    /// Returns a text of the same length and lines that parses better, if there is one.
    pub(super) prepare: Option<fn(&str) -> Option<String>>,
    /// Tells texts that the grammar's scanner cannot handle safely.
    pub(super) refuse: Option<fn(&str) -> bool>,
    /// Every definition inside a function has one of these words, so a body without any is skipped. Empty: never skipped.
    pub(super) local_words: &'static [&'static str],
}

impl Spec {
    pub(super) const fn new(rules: &'static [(&'static str, Rule)], tags: &'static [(&'static str, u8)]) -> Self {
        Self { rules, tags, not_leading: &[], prepare: None, refuse: None, local_words: &[] }
    }
}

/// A grammar with its rules, resolved.
pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    rules: Vec<Rule>,
    tags: Vec<u8>,
    pub(super) not_leading: &'static [&'static str],
    pub(super) prepare: Option<fn(&str) -> Option<String>>,
    pub(super) refuse: Option<fn(&str) -> bool>,
    local_words: &'static [&'static str],
}

impl Grammar {
    pub(super) fn new(language: tree_sitter::Language, spec: Spec) -> Self {
        let count = language.node_kind_count();
        let (mut rules, mut tags) = (vec![Rule::Enter; count], vec![0; count]);
        for id in 0..u16::try_from(count).unwrap_or(u16::MAX) {
            let at = usize::from(id);
            if !language.node_kind_is_named(id) {
                // Punctuation between a comment and its definition does not separate them.
                rules[at] = Rule::Token;
                continue;
            }
            let Some(kind) = language.node_kind_for_id(id) else { continue };
            if let Some((_, rule)) = spec.rules.iter().find(|(name, _)| *name == kind) {
                rules[at] = resolve(*rule, &language);
            }
            if let Some((_, tag)) = spec.tags.iter().find(|(name, _)| *name == kind) {
                tags[at] = *tag;
            }
        }
        let Spec { not_leading, prepare, refuse, local_words, .. } = spec;
        Self { language, rules, tags, not_leading, prepare, refuse, local_words }
    }

    /// Whether the body of a function may contain definitions.
    pub(super) fn may_define(&self, body: &str) -> bool {
        if self.local_words.is_empty() {
            return true;
        }
        let bytes = body.as_bytes();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let mut at = 0;
        while at < bytes.len() {
            if !is_word(bytes[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            let word = &bytes[start..at];
            if self.local_words.iter().any(|local| local.len() == word.len() && local.as_bytes() == word) {
                return true;
            }
        }
        false
    }

    /// The rule for a node. Error nodes are not in the table: what the parser made of them is entered.
    pub(super) fn rule(&self, node: Node<'_>) -> &Rule {
        self.rules.get(usize::from(node.kind_id())).unwrap_or(&Rule::Enter)
    }

    /// The number of a node's kind in [`Spec::tags`].
    pub(super) fn tag(&self, node: Node<'_>) -> u8 {
        self.tags.get(usize::from(node.kind_id())).copied().unwrap_or(0)
    }
}

fn resolve(rule: Rule, language: &tree_sitter::Language) -> Rule {
    match rule {
        Rule::Define(define) => Rule::Define(Define {
            name_field: language.field_id_for_name("name"),
            body_field: language.field_id_for_name(define.body),
            ..define
        }),
        Rule::Enter
        | Rule::Skip
        | Rule::Token
        | Rule::Import
        | Rule::Comment
        | Rule::Attribute
        | Rule::Modifiers
        | Rule::Wrap
        | Rule::Special(_) => rule,
    }
}
