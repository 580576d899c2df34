//! The tables of the languages, one file for each family.

#[cfg(any(feature = "c", feature = "cpp"))]
mod c;
#[cfg(any(feature = "javascript", feature = "typescript"))]
mod ecmascript;
#[cfg(feature = "go")]
mod go;
#[cfg(feature = "java")]
mod java;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "rust")]
mod rust;

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
        Language::Bash => None,
        Language::C => built_in!("c", c::c()),
        Language::Cpp => built_in!("cpp", c::cpp()),
        Language::CSharp => None,
        Language::Go => built_in!("go", go::spec()),
        Language::Java => built_in!("java", java::spec()),
        Language::JavaScript => built_in!("javascript", ecmascript::javascript()),
        Language::Json => None,
        Language::Kotlin => None,
        Language::Markdown => None,
        Language::Php => None,
        Language::Python => built_in!("python", python::spec()),
        Language::Ruby => None,
        Language::Rust => built_in!("rust", rust::spec()),
        Language::Swift => None,
        Language::Toml => None,
        Language::Tsx => built_in!("typescript", ecmascript::tsx()),
        Language::TypeScript => built_in!("typescript", ecmascript::typescript()),
        Language::Yaml => None,
    }
}
