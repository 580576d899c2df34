//! What the kinds of a grammar's nodes mean for an outline: a table of rules for each language, made ready once by turning
//! names into the grammar's numbers.

use std::num::NonZeroU16;

use tree_sitter::Node;

use super::{
    SymbolKind,
    walk::{Step, Walker},
};

/// Where in a text something stands, as far as it changes what a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// In the file itself, a module or a namespace.
    Module,
    /// In a type that has methods and fields.
    Type,
    /// In an enumeration whose values are bare names.
    Enum,
    /// In a block of things that are defined elsewhere.
    Extern,
    /// In a function: variables there are nobody else's business.
    Function,
}

/// What a language does with a kind of node by itself.
pub(super) type Special = for<'t> fn(&mut Walker<'t>, Node<'t>) -> Step;

/// What is done with a kind of node.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Its children are looked at.
    Enter,
    /// Nothing in it counts.
    Skip,
    /// A word or mark that has no part in anything.
    Token,
    /// It is an import.
    Import,
    /// A comment, which belongs to what follows on the next line.
    Comment,
    /// An attribute, decorator or annotation: belongs to what follows, but not to its signature.
    Attribute,
    /// Holds attributes beside words that belong to the signature.
    Modifiers,
    /// What is defined in it begins where it begins.
    Wrap,
    /// A definition.
    Define(Define),
    /// Something for which a table has no words.
    Special(Special),
}

/// A definition whose parts are fields of its node.
#[derive(Clone, Copy)]
pub(super) struct Define {
    pub(super) kind: SymbolKind,
    body: &'static str,
    /// What its insides are; `None` where nothing in it counts.
    pub(super) inside: Option<Within>,
    /// Whether it counts in a function even if it is a variable.
    pub(super) even_local: bool,
    pub(super) name_field: Option<NonZeroU16>,
    pub(super) body_field: Option<NonZeroU16>,
}

/// A definition with its name in the field `name` and its body in the field `body`, and nothing in it that counts.
pub(super) const fn leaf(kind: SymbolKind) -> Define {
    Define { kind, body: "body", inside: None, even_local: false, name_field: None, body_field: None }
}

/// A type: what is in it are methods and fields.
pub(super) const fn ty(kind: SymbolKind) -> Rule {
    leaf(kind).inside(Within::Type).rule()
}

/// A function: what is in it is local.
pub(super) const fn function(kind: SymbolKind) -> Rule {
    leaf(kind).inside(Within::Function).rule()
}

impl Define {
    /// Its body is in another field.
    pub(super) const fn body(self, field: &'static str) -> Self {
        Self { body: field, ..self }
    }

    /// Things are defined in it.
    pub(super) const fn inside(self, within: Within) -> Self {
        Self { inside: Some(within), ..self }
    }

    /// It counts wherever it stands.
    pub(super) const fn even_local(self) -> Self {
        Self { even_local: true, ..self }
    }

    /// The rule that says so.
    pub(super) const fn rule(self) -> Rule {
        Rule::Define(self)
    }
}

/// The rules of a language.
pub(super) struct Spec {
    /// By the names of the kinds; a kind that is not listed is entered.
    pub(super) rules: &'static [(&'static str, Rule)],
    /// Numbers that the language's own functions know kinds by; 0 is any other kind.
    pub(super) tags: &'static [(&'static str, u8)],
    /// How a comment begins that belongs to nothing below it.
    pub(super) not_leading: &'static [&'static str],
    /// Gives a text of the same bytes and lines that parses better, if there is one.
    pub(super) prepare: Option<fn(&str) -> Option<String>>,
    /// Says which texts its scanner cannot be trusted with.
    pub(super) refuse: Option<fn(&str) -> bool>,
    /// Words of which every definition in a function has one: without any, its body need not be looked at. None: it must.
    pub(super) local_words: &'static [&'static str],
}

impl Spec {
    pub(super) const fn new(rules: &'static [(&'static str, Rule)], tags: &'static [(&'static str, u8)]) -> Self {
        Self { rules, tags, not_leading: &[], prepare: None, refuse: None, local_words: &[] }
    }
}

/// A language made ready.
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
                // A mark between a comment and what it belongs to parts them not.
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

    /// Whether something may be defined in the body of a function.
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

    /// What is done with a node. Errors have no place in the table: what the parser made of them is looked at.
    pub(super) fn rule(&self, node: Node<'_>) -> &Rule {
        self.rules.get(usize::from(node.kind_id())).unwrap_or(&Rule::Enter)
    }

    /// The number of a node's kind in the language's own list.
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
