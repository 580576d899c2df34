//! Which language a file is written in, by its name and how it begins.

/// A language that can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Shell scripts, also those of `sh`.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// JSON.
    Json,
    /// Kotlin.
    Kotlin,
    /// Markdown.
    Markdown,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// Swift.
    Swift,
    /// TOML.
    Toml,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
    /// YAML.
    Yaml,
}

/// How much of a header is looked at to tell C++ from C.
const HEADER_BYTES: usize = 64 << 10;

impl Language {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Bash,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Go,
        Self::Java,
        Self::JavaScript,
        Self::Json,
        Self::Kotlin,
        Self::Markdown,
        Self::Php,
        Self::Python,
        Self::Ruby,
        Self::Rust,
        Self::Swift,
        Self::Toml,
        Self::Tsx,
        Self::TypeScript,
        Self::Yaml,
    ];

    /// The language of a file by its name and its text, of which the beginning is enough; `None` where it is none that can
    /// be parsed here. The first line decides for a file whose name says nothing, the first 64 KiB whether a `.h` is C or C++.
    #[must_use]
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A dot at the beginning hides a file and begins no extension.
        let language = match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
            Some((_, extension)) => Self::of_extension(extension, text),
            None => Self::of_name(name).or_else(|| Self::of_first_line(text.lines().next().unwrap_or_default())),
        };
        language.filter(|language| language.is_built_in())
    }

    fn of_extension(extension: &str, text: &str) -> Option<Self> {
        // `.C` and `.H` are C++ where case tells; for all others it does not.
        if matches!(extension, "C" | "H") {
            return Some(Self::Cpp);
        }
        match extension.to_ascii_lowercase().as_str() {
            "sh" | "bash" | "bats" | "ksh" => Some(Self::Bash),
            "c" => Some(Self::C),
            "h" => Some(if is_cpp(text) { Self::Cpp } else { Self::C }),
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" | "inl" | "tpp" | "cppm" | "ixx" => {
                Some(Self::Cpp)
            }
            "cs" | "csx" => Some(Self::CSharp),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "json" | "jsonc" | "json5" | "webmanifest" => Some(Self::Json),
            "kt" | "kts" => Some(Self::Kotlin),
            "md" | "markdown" | "mdown" | "mkd" => Some(Self::Markdown),
            "php" | "phtml" | "php5" | "inc" => Some(Self::Php),
            "py" | "pyi" | "pyw" => Some(Self::Python),
            "rb" | "rake" | "gemspec" | "ru" => Some(Self::Ruby),
            "rs" => Some(Self::Rust),
            "swift" => Some(Self::Swift),
            "toml" => Some(Self::Toml),
            "tsx" => Some(Self::Tsx),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// Names that are known without an extension.
    fn of_name(name: &str) -> Option<Self> {
        match name {
            ".bashrc" | ".bash_profile" | ".bash_aliases" | ".profile" | "PKGBUILD" => Some(Self::Bash),
            "Gemfile" | "Rakefile" | "Vagrantfile" | "Podfile" => Some(Self::Ruby),
            _ => None,
        }
    }

    /// By what is to run the file, as in `#!/usr/bin/env -S python3 -u`.
    fn of_first_line(line: &str) -> Option<Self> {
        let command = line.strip_prefix("#!")?;
        let mut words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let first = words.next()?;
        let program =
            if first == "env" { words.find(|word| !word.starts_with('-') && !word.contains('='))? } else { first };
        // `python3.12` is `python`.
        match program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.') {
            "sh" | "bash" | "dash" | "ash" | "ksh" => Some(Self::Bash),
            "python" | "pypy" => Some(Self::Python),
            "ruby" => Some(Self::Ruby),
            "node" | "nodejs" => Some(Self::JavaScript),
            "php" => Some(Self::Php),
            _ => None,
        }
    }

    /// Whether its grammar is part of this program.
    pub(crate) fn is_built_in(self) -> bool {
        match self {
            Self::Bash => cfg!(feature = "bash"),
            Self::C => cfg!(feature = "c"),
            Self::Cpp => cfg!(feature = "cpp"),
            Self::CSharp => cfg!(feature = "csharp"),
            Self::Go => cfg!(feature = "go"),
            Self::Java => cfg!(feature = "java"),
            Self::JavaScript => cfg!(feature = "javascript"),
            Self::Json => cfg!(feature = "json"),
            Self::Kotlin => cfg!(feature = "kotlin"),
            Self::Markdown => cfg!(feature = "markdown"),
            Self::Php => cfg!(feature = "php"),
            Self::Python => cfg!(feature = "python"),
            Self::Ruby => cfg!(feature = "ruby"),
            Self::Rust => cfg!(feature = "rust"),
            Self::Swift => cfg!(feature = "swift"),
            Self::Toml => cfg!(feature = "toml"),
            Self::Tsx | Self::TypeScript => cfg!(feature = "typescript"),
            Self::Yaml => cfg!(feature = "yaml"),
        }
    }

    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CSharp => "csharp",
            Self::Go => "go",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::Json => "json",
            Self::Kotlin => "kotlin",
            Self::Markdown => "markdown",
            Self::Php => "php",
            Self::Python => "python",
            Self::Ruby => "ruby",
            Self::Rust => "rust",
            Self::Swift => "swift",
            Self::Toml => "toml",
            Self::Tsx => "tsx",
            Self::TypeScript => "typescript",
            Self::Yaml => "yaml",
        }
    }
}

/// Whether a header has a line that begins as none of C does.
fn is_cpp(text: &str) -> bool {
    let mut end = text.len().min(HEADER_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let beginnings = [
        "class ",
        "namespace ",
        "template<",
        "template <",
        "using ",
        "public:",
        "private:",
        "protected:",
        "constexpr ",
        "inline namespace ",
    ];
    text[..end].lines().map(str::trim_start).any(|line| beginnings.iter().any(|word| line.starts_with(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(
        feature = "bash",
        feature = "c",
        feature = "cpp",
        feature = "javascript",
        feature = "python",
        feature = "ruby",
        feature = "php",
        feature = "typescript"
    ))]
    fn by_name_and_beginning() {
        use Language::{Bash, C, Cpp, JavaScript, Php, Python, Ruby, Rust, Tsx, TypeScript};
        let of = |path, text| Language::of(path, text);
        assert_eq!(of("a/b.rs", ""), Some(Rust));
        assert_eq!(of("a.b/c", ""), None);
        assert_eq!(of(".rs", ""), None);
        assert_eq!(of("A.PY", ""), Some(Python));
        assert_eq!(of("a.d.ts", ""), Some(TypeScript));
        assert_eq!(of("a.tsx", ""), Some(Tsx));
        assert_eq!(of("a.txt", "#!/bin/sh"), None);
        assert_eq!(of("run", "#!/bin/sh -e\necho"), Some(Bash));
        assert_eq!(of("run", "#!/usr/bin/env -S FOO=1 python3.12 -u\r\n"), Some(Python));
        assert_eq!(of("run", "#! /usr/bin/ruby2.7"), Some(Ruby));
        assert_eq!(of("run", "#!/usr/bin/env node"), Some(JavaScript));
        assert_eq!(of("run", "#!/usr/bin/php"), Some(Php));
        assert_eq!(of("run", "#!/usr/bin/env"), None);
        assert_eq!(of("run", "#!"), None);
        assert_eq!(of("run", "\n#!/bin/sh"), None);
        assert_eq!(of("a.h", "int f(void);\n#define class_x 1\n"), Some(C));
        assert_eq!(of("a.h", "#pragma once\n  namespace a {\n"), Some(Cpp));
        assert_eq!(of("a.H", ""), Some(Cpp));
    }

    #[test]
    fn every_word_is_its_own() {
        let mut words: Vec<&str> = Language::ALL.iter().map(|language| language.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), Language::ALL.len());
    }
}
