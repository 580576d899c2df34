//! What a file defines: names with their kind, place and the names around them, by parsing it. One grammar for each
//! language; nothing here looks at more than one text.

#![cfg_attr(
    not(feature = "languages"),
    allow(dead_code, unused_imports, reason = "not every language needs all of it")
)]

mod formats;
mod grammar;
mod lang;
mod language;
mod parse;
mod walk;

use std::collections::{BTreeMap, btree_map::Entry};

use readproof_core::scope::Lines;
use tree_sitter::Parser;

use grammar::Grammar;
pub use lang::Language;
use lang::Reader;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class, record, actor or object.
    Class,
    /// A structure or union.
    Struct,
    /// An enumeration.
    Enum,
    /// One value of an enumeration.
    Variant,
    /// An interface or protocol.
    Interface,
    /// A Rust or PHP trait.
    Trait,
    /// Another name for a type.
    Type,
    /// A module, namespace or package.
    Module,
    /// A field or property.
    Field,
    /// A constant.
    Constant,
    /// A variable that is not local to a function.
    Variable,
    /// A macro.
    Macro,
    /// A name that is said to exist and defined elsewhere, as a prototype.
    Declaration,
    /// An implementation or extension of a type, called like the type.
    Implementation,
    /// A heading of a document.
    Heading,
    /// A key of a data file.
    Key,
}

impl SymbolKind {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Variant,
        Self::Interface,
        Self::Trait,
        Self::Type,
        Self::Module,
        Self::Field,
        Self::Constant,
        Self::Variable,
        Self::Macro,
        Self::Declaration,
        Self::Implementation,
        Self::Heading,
        Self::Key,
    ];

    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Variant => "variant",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Module => "module",
            Self::Field => "field",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Macro => "macro",
            Self::Declaration => "declaration",
            Self::Implementation => "implementation",
            Self::Heading => "heading",
            Self::Key => "key",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// What it is called, without what qualifies it.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The names around it, outermost first: modules, types, classes, functions.
    pub scope: Vec<String>,
    /// The trait or interface for which an implementation has it, where the language says so there.
    pub of: Option<String>,
    /// All of it, with its doc comment and attributes.
    pub lines: Lines,
    /// The line where its name stands.
    pub line: u32,
    /// From its first keyword to the end of its signature: all but doc comment, attributes and body.
    pub signature: Lines,
    /// Where in the list that which encloses it stands.
    pub parent: Option<u32>,
}

/// What a text defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order of their names in the text; what encloses stands before what it encloses.
    pub symbols: Vec<Symbol>,
    /// Imports of the file, in order.
    pub imports: Vec<Lines>,
    /// Whether there are more than are listed.
    pub truncated: bool,
}

/// Why a text has no outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoOutline {
    /// The caller lost interest.
    Cancelled,
    /// It would take too many steps to parse.
    TooHard,
}

/// The longest text that is parsed.
const TEXT_BYTES: usize = 1 << 30;

/// Finds what texts define. Keeps a parser for each language that was needed.
#[derive(Default)]
pub struct Parsers {
    ready: BTreeMap<Language, Ready>,
}

/// What finds the definitions of one language.
enum Ready {
    Grammar(Grammar, Parser),
    Function(fn(&str) -> Outline),
}

impl Parsers {
    /// What a text defines.
    ///
    /// # Errors
    /// [`NoOutline`] says why that cannot be told.
    pub fn outline(
        &mut self,
        language: Language,
        text: &str,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Outline, NoOutline> {
        if cancelled() {
            return Err(NoOutline::Cancelled);
        }
        let (grammar, parser) = match self.ready(language) {
            None => return Ok(Outline::default()),
            Some(Ready::Function(outline)) => return Ok(outline(text)),
            Some(Ready::Grammar(grammar, parser)) => (grammar, parser),
        };
        if text.len() > TEXT_BYTES || grammar.refuse.is_some_and(|refuse| refuse(text)) || parse::is_deep(text) {
            return Err(NoOutline::TooHard);
        }
        let prepared =
            grammar.prepare.and_then(|prepare| prepare(text)).filter(|prepared| prepared.len() == text.len());
        let tree = parse::parse(parser, prepared.as_deref().unwrap_or(text), cancelled)?;
        Ok(walk::outline(grammar, &tree, text))
    }

    /// `None` if the language is not built in.
    fn ready(&mut self, language: Language) -> Option<&mut Ready> {
        match self.ready.entry(language) {
            Entry::Occupied(ready) => Some(ready.into_mut()),
            Entry::Vacant(place) => {
                let ready = match language.reader()? {
                    Reader::Function(outline) => Ready::Function(outline),
                    Reader::Grammar(grammar, spec) => {
                        let grammar = Grammar::new(grammar, spec);
                        let mut parser = Parser::new();
                        parser.set_language(&grammar.language).ok()?;
                        Ready::Grammar(grammar, parser)
                    }
                };
                Some(place.insert(ready))
            }
        }
    }
}
