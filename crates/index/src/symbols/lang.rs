//! The tables of the languages, one file for each family.

#[cfg(feature = "bash")]
mod bash;
#[cfg(any(feature = "c", feature = "cpp"))]
mod c;
#[cfg(feature = "csharp")]
mod csharp;
#[cfg(any(feature = "toml", feature = "json"))]
mod data;
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod ecmascript;
#[cfg(feature = "go")]
mod go;
#[cfg(feature = "java")]
mod java;
#[cfg(feature = "kotlin")]
mod kotlin;
#[cfg(feature = "markdown")]
mod markdown;
#[cfg(feature = "php")]
mod php;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "ruby")]
mod ruby;
#[cfg(feature = "rust")]
mod rust;
#[cfg(feature = "swift")]
mod swift;

use super::{Language, grammar::Spec};

/// What there is to know of a language; `None` where it is not built in.
#[allow(clippy::match_same_arms, reason = "which arms are alike depends on what is built in")]
pub(super) fn spec(language: Language) -> Option<Spec> {
    /// The table, if the feature is on.
    macro_rules! built_in {
        ($feature:literal, $spec:expr) => {{
            #[cfg(feature = $feature)]
            let spec = Some($spec);
            #[cfg(not(feature = $feature))]
            let spec = None;
            spec
        }};
    }
    match language {
        Language::Bash => built_in!("bash", bash::spec()),
        Language::C => built_in!("c", c::c()),
        Language::Cpp => built_in!("cpp", c::cpp()),
        Language::CSharp => built_in!("csharp", csharp::spec()),
        Language::Go => built_in!("go", go::spec()),
        Language::Java => built_in!("java", java::spec()),
        Language::JavaScript => built_in!("javascript", ecmascript::javascript()),
        Language::Json => built_in!("json", data::json()),
        Language::Kotlin => built_in!("kotlin", kotlin::spec()),
        Language::Markdown => built_in!("markdown", markdown::spec()),
        Language::Php => built_in!("php", php::spec()),
        Language::Python => built_in!("python", python::spec()),
        Language::Ruby => built_in!("ruby", ruby::spec()),
        Language::Rust => built_in!("rust", rust::spec()),
        Language::Swift => built_in!("swift", swift::spec()),
        Language::Toml => built_in!("toml", data::toml()),
        Language::Tsx => built_in!("typescript", ecmascript::tsx()),
        Language::TypeScript => built_in!("typescript", ecmascript::typescript()),
        // Read line by line.
        Language::Yaml => None,
    }
}
