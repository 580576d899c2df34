//! What a file is for, by its name alone. The rules are those of `docs/history.md`, and the first that fits decides.

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    Test,
    Doc,
    Config,
    Code,
    Other,
}

/// Folders of tests.
const TEST_FOLDERS: [&str; 6] = ["test", "tests", "spec", "specs", "__tests__", "testdata"];
/// Folders of documents.
const DOC_FOLDERS: [&str; 2] = ["doc", "docs"];
const DOC_ENDINGS: [&str; 8] = ["md", "markdown", "rst", "adoc", "asciidoc", "txt", "org", "tex"];
/// Names, without their endings, of files that every repository has.
const DOC_NAMES: [&str; 8] =
    ["readme", "license", "licence", "copying", "changelog", "contributing", "authors", "notice"];
const CONFIG_ENDINGS: [&str; 12] =
    ["toml", "json", "jsonc", "yaml", "yml", "ini", "cfg", "conf", "properties", "lock", "env", "plist"];
const CONFIG_NAMES: [&str; 6] = ["makefile", "dockerfile", "justfile", "gemfile", "procfile", "vagrantfile"];
const CODE_ENDINGS: [&str; 44] = [
    "rs", "py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "go", "java", "kt", "kts", "c", "h", "cc", "cpp", "cxx", "hpp",
    "hh", "cs", "rb", "php", "swift", "scala", "sh", "bash", "zsh", "fish", "pl", "pm", "lua", "r", "jl", "hs", "ml",
    "ex", "exs", "erl", "clj", "dart", "sql", "css", "scss", "html",
];

impl Tag {
    const ALL: [Self; 5] = [Self::Test, Self::Doc, Self::Config, Self::Code, Self::Other];

    /// What the file of this name is for.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, ending),
            Some(_) | None => (name, ""),
        };
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let is_test = stem.ends_with("_test")
            || stem.ends_with(".test")
            || stem.ends_with(".spec")
            || stem.ends_with("_spec")
            || stem.starts_with("test_");
        if in_folder(&TEST_FOLDERS) || is_test {
            Self::Test
        } else if DOC_NAMES.contains(&stem) || DOC_ENDINGS.contains(&ending) {
            Self::Doc
        } else if CONFIG_NAMES.contains(&stem) || CONFIG_ENDINGS.contains(&ending) || name.starts_with('.') {
            Self::Config
        } else if CODE_ENDINGS.contains(&ending) {
            Self::Code
        } else if in_folder(&DOC_FOLDERS) {
            Self::Doc
        } else {
            Self::Other
        }
    }

    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Doc => "doc",
            Self::Config => "config",
            Self::Code => "code",
            Self::Other => "other",
        }
    }

    /// Reads [`Self::as_str`]; anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is_for() {
        for (name, tag) in [
            ("src/main.rs", Tag::Code),
            ("crates/a/tests/x.rs", Tag::Test),
            ("src/app.test.ts", Tag::Test),
            ("pkg/x_test.go", Tag::Test),
            ("test_x.py", Tag::Test),
            ("README.md", Tag::Doc),
            ("LICENSE-MIT", Tag::Other),
            ("LICENSE", Tag::Doc),
            ("docs/guide.html", Tag::Code),
            ("docs/picture.svg", Tag::Doc),
            ("Cargo.toml", Tag::Config),
            (".gitignore", Tag::Config),
            ("Makefile", Tag::Config),
            ("data.bin", Tag::Other),
        ] {
            assert_eq!(Tag::of(name), tag, "{name}");
            assert_eq!(Tag::parse(tag.as_str()), Some(tag));
        }
    }
}
