//! The languages, one row each. A new one is a row here, a file with its rules in `lang/`, its grammar in this crate's
//! manifest, and a source with what it defines in `tests/symbols/`.

mod bash;
mod c;
mod csharp;
mod ecmascript;
mod go;
mod java;
mod kotlin;
mod php;
mod python;
mod ruby;
mod rust;
mod swift;

use super::{
    Outline,
    formats::{data, markdown, yaml},
    grammar::Spec,
};

/// How the definitions of a language are found.
pub(super) enum Reader {
    /// By the tree that a grammar makes of a text, and rules for the kinds of its nodes.
    Grammar(tree_sitter::Language, Spec),
    /// Without a tree.
    Function(fn(&str) -> Outline),
}

fn grammar(grammar: impl Into<tree_sitter::Language>, spec: Spec) -> Reader {
    Reader::Grammar(grammar.into(), spec)
}

/// What tells the language of a file.
pub(super) struct Signs {
    /// Without the dot; those in lower case count in any case.
    pub(super) extensions: &'static [&'static str],
    /// Files without an extension.
    pub(super) names: &'static [&'static str],
    /// In a first line that begins with `#!`, without a version number.
    pub(super) programs: &'static [&'static str],
}

macro_rules! languages {
    ($($(#[$about:meta])* $language:ident = $word:literal, feature $feature:literal,
        extensions $extensions:tt, names $names:tt, programs $programs:tt, $reader:expr;)+) => {
        /// A language whose definitions can be found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Language {
            $($(#[$about])* $language,)+
        }

        impl Language {
            /// Also those that are not built in.
            pub const ALL: &'static [Self] = &[$(Self::$language),+];

            /// The word used on every wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$language => $word,)+
                }
            }

            /// Whether its feature is on.
            pub(crate) fn is_built_in(self) -> bool {
                match self {
                    $(Self::$language => cfg!(feature = $feature),)+
                }
            }

            pub(super) fn signs(self) -> &'static Signs {
                match self {
                    $(Self::$language => &Signs { extensions: &$extensions, names: &$names, programs: &$programs },)+
                }
            }

            /// `None` if it is not built in.
            pub(super) fn reader(self) -> Option<Reader> {
                match self {
                    $(#[cfg(feature = $feature)]
                    Self::$language => Some($reader),
                    #[cfg(not(feature = $feature))]
                    Self::$language => None,)+
                }
            }
        }
    };
}

// `::bash` is the grammar, by the name that the manifest gives it; `bash` is the file beside this one.
languages! {
    /// Shell scripts, also those of `sh`.
    Bash = "bash", feature "bash", extensions ["sh", "bash", "bats", "ksh"],
        names [".bashrc", ".bash_profile", ".bash_aliases", ".profile", "PKGBUILD"],
        programs ["sh", "bash", "dash", "ash", "ksh"], grammar(::bash::LANGUAGE, bash::SPEC);
    /// C.
    C = "c", feature "c", extensions ["c", "h"], names [], programs [], grammar(::c::LANGUAGE, c::SPEC);
    /// C++.
    Cpp = "cpp", feature "cpp",
        extensions ["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "tpp", "cppm", "ixx", "C", "H"],
        names [], programs [], grammar(::cpp::LANGUAGE, c::SPEC);
    /// C#.
    CSharp = "csharp", feature "csharp", extensions ["cs", "csx"], names [], programs [],
        grammar(::csharp::LANGUAGE, csharp::SPEC);
    /// Go.
    Go = "go", feature "go", extensions ["go"], names [], programs [], grammar(::go::LANGUAGE, go::SPEC);
    /// Java.
    Java = "java", feature "java", extensions ["java"], names [], programs [], grammar(::java::LANGUAGE, java::SPEC);
    /// JavaScript, with JSX.
    JavaScript = "javascript", feature "javascript", extensions ["js", "mjs", "cjs", "jsx"], names [],
        programs ["node", "nodejs"], grammar(::javascript::LANGUAGE, ecmascript::SPEC);
    /// JSON.
    Json = "json", feature "json", extensions ["json", "jsonc", "json5", "webmanifest"], names [], programs [],
        grammar(::json::LANGUAGE, data::JSON);
    /// Kotlin.
    Kotlin = "kotlin", feature "kotlin", extensions ["kt", "kts"], names [], programs [],
        grammar(::kotlin::LANGUAGE, kotlin::SPEC);
    /// Markdown.
    Markdown = "markdown", feature "markdown", extensions ["md", "markdown", "mdown", "mkd"], names [], programs [],
        grammar(::markdown::LANGUAGE, markdown::SPEC);
    /// PHP.
    Php = "php", feature "php", extensions ["php", "phtml", "php5", "inc"], names [], programs ["php"],
        grammar(::php::LANGUAGE_PHP, php::SPEC);
    /// Python.
    Python = "python", feature "python", extensions ["py", "pyi", "pyw"], names [], programs ["python", "pypy"],
        grammar(::python::LANGUAGE, python::SPEC);
    /// Ruby.
    Ruby = "ruby", feature "ruby", extensions ["rb", "rake", "gemspec", "ru"],
        names ["Gemfile", "Rakefile", "Vagrantfile", "Podfile"], programs ["ruby"],
        grammar(::ruby::LANGUAGE, ruby::SPEC);
    /// Rust.
    Rust = "rust", feature "rust", extensions ["rs"], names [], programs [], grammar(::rust::LANGUAGE, rust::SPEC);
    /// Swift.
    Swift = "swift", feature "swift", extensions ["swift"], names [], programs [],
        grammar(::swift::LANGUAGE, swift::SPEC);
    /// TOML.
    Toml = "toml", feature "toml", extensions ["toml"], names [], programs [], grammar(::toml::LANGUAGE, data::TOML);
    /// TypeScript with JSX.
    Tsx = "tsx", feature "typescript", extensions ["tsx"], names [], programs [],
        grammar(::typescript::LANGUAGE_TSX, ecmascript::SPEC);
    /// TypeScript.
    TypeScript = "typescript", feature "typescript", extensions ["ts", "mts", "cts"], names [], programs [],
        grammar(::typescript::LANGUAGE_TYPESCRIPT, ecmascript::SPEC);
    /// YAML.
    Yaml = "yaml", feature "yaml", extensions ["yaml", "yml"], names [], programs [], Reader::Function(yaml::outline);
}
