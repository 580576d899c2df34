//! Lists the definitions in a text by parsing it: each with its kind, lines and the names that enclose it. Never looks at
//! more than one text.

#![cfg_attr(
    not(feature = "languages"),
    allow(dead_code, unused_imports, reason = "not every language needs all of it")
)]

mod formats;
mod grammar;
mod lang;
mod language;
mod parse;
mod uses;
mod walk;

use std::collections::{BTreeMap, btree_map::Entry};

use readproof_core::scope::Lines;
use tree_sitter::{Parser, Tree};

use grammar::Grammar;
pub use lang::Language;
use lang::Reader;
pub use uses::UseKind;
pub(crate) use uses::{Place, Sought};

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// Not a member of a type.
    Function,
    /// A member of a type.
    Method,
    /// Also a record, actor or object.
    Class,
    /// Also a union.
    Struct,
    Enum,
    /// One value of an enumeration.
    Variant,
    /// Also a protocol.
    Interface,
    /// A Rust or PHP trait.
    Trait,
    /// A type alias.
    Type,
    /// Also a namespace or package.
    Module,
    /// Also a property.
    Field,
    Constant,
    /// A variable that is not local to a function.
    Variable,
    Macro,
    /// Of something that is defined elsewhere, such as a prototype.
    Declaration,
    /// Also an extension of a type. It has the type's name.
    Implementation,
    /// Of a document.
    Heading,
    /// Of a data file.
    Key,
}

impl Symbol {
    /// The fully qualified name, as in `Type::method`.
    #[must_use]
    pub fn qualified(&self) -> String {
        let parts: Vec<&str> = self.scope.iter().map(String::as_str).chain([self.name.as_str()]).collect();
        parts.join("::")
    }
}

impl SymbolKind {
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

    /// The kinds that a word means: its own, and those that people call so too.
    #[must_use]
    pub fn named(word: &str) -> Option<Vec<Self>> {
        let others: &[Self] = match word {
            "function" => &[Self::Method],
            "class" => &[Self::Struct],
            "struct" => &[Self::Class],
            "type" => &[Self::Class, Self::Struct, Self::Enum, Self::Interface, Self::Trait],
            "interface" => &[Self::Trait],
            "trait" => &[Self::Interface],
            _ => &[],
        };
        let own = Self::ALL.into_iter().find(|kind| kind.as_str() == word)?;
        Some(others.iter().copied().chain([own]).collect())
    }

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
    /// Without qualifiers.
    pub name: String,
    pub kind: SymbolKind,
    /// The names that enclose it, outermost first: modules, types, functions.
    pub scope: Vec<String>,
    /// The trait or interface that it implements, if the language says so at the definition.
    pub of: Option<String>,
    /// All of it, including doc comment and attributes.
    pub lines: Lines,
    /// The line of its name.
    pub line: u32,
    /// From its first keyword to the end of its signature: without doc comment, attributes and body.
    pub signature: Lines,
    /// Index in the outline of the definition that encloses it.
    pub parent: Option<u32>,
}

/// The definitions in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// In the order of their names in the text; a definition comes before those that it encloses.
    pub symbols: Vec<Symbol>,
    /// The lines of the imports, in order.
    pub imports: Vec<Lines>,
    /// Whether some definitions are left out.
    pub truncated: bool,
}

/// Why a text has no outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoOutline {
    /// The caller no longer wants it.
    Cancelled,
    /// It would take too many steps to parse.
    TooHard,
}

/// The longest text that is parsed.
const TEXT_BYTES: usize = 1 << 30;

/// Finds definitions. Keeps a parser for each language that was needed.
#[derive(Default)]
pub struct Parsers {
    ready: BTreeMap<Language, Ready>,
}

/// A [`Reader`] that is ready for use.
enum Ready {
    Grammar(Grammar, Parser),
    Function(fn(&str) -> Outline),
}

impl Parsers {
    /// The definitions in a text; none if the language is not built in.
    ///
    /// # Errors
    /// [`NoOutline`]: cancelled, or too hard to parse.
    pub fn outline(
        &mut self,
        language: Language,
        text: &str,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Outline, NoOutline> {
        if cancelled() {
            return Err(NoOutline::Cancelled);
        }
        match self.ready(language) {
            None => Ok(Outline::default()),
            Some(Ready::Function(outline)) => Ok(outline(text)),
            Some(Ready::Grammar(grammar, parser)) => {
                let tree = tree(grammar, parser, text, cancelled)?;
                Ok(walk::outline(grammar, &tree, text))
            }
        }
    }

    /// How a name is used at some places in a text, in their order; `None` if the language has no grammar.
    pub(crate) fn uses(
        &mut self,
        language: Language,
        text: &str,
        sought: &Sought<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<UseKind>>, NoOutline> {
        match self.ready(language) {
            None | Some(Ready::Function(_)) => Ok(None),
            Some(Ready::Grammar(grammar, parser)) => {
                let tree = tree(grammar, parser, text, cancelled)?;
                let outline = walk::outline(grammar, &tree, text);
                Ok(Some(uses::kinds(&tree, text, sought, &outline)))
            }
        }
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

fn tree(grammar: &Grammar, parser: &mut Parser, text: &str, cancelled: &dyn Fn() -> bool) -> Result<Tree, NoOutline> {
    if text.len() > TEXT_BYTES || grammar.refuse.is_some_and(|refuse| refuse(text)) || parse::is_deep(text) {
        return Err(NoOutline::TooHard);
    }
    let prepared = grammar.prepare.and_then(|prepare| prepare(text)).filter(|prepared| prepared.len() == text.len());
    parse::parse(parser, prepared.as_deref().unwrap_or(text), cancelled)
}
