//! Which names are sensitive, and how their values are hidden.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The patterns of sensitive names unless others are configured.
pub const DEFAULT_PATTERNS: &[&str] = &["*password*", "*secret*", "*token*", "api_key"];

/// What stands in place of a hidden value.
const MASK: &str = "******";

pub struct Redactor {
    names: GlobSet,
}

impl Redactor {
    pub fn new(patterns: &[&str]) -> Result<Self, globset::Error> {
        let mut names = GlobSetBuilder::new();
        for pattern in patterns {
            names.add(Glob::new(pattern)?);
        }
        Ok(Self { names: names.build()? })
    }

    /// The value, or the mask if the name is sensitive.
    pub fn redact<'v>(&self, name: &str, value: &'v str) -> &'v str {
        if self.names.is_match(name) { MASK } else { value }
    }
}
