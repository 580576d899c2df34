//! Detects the language of a file from its name and its beginning.

use super::lang::{Language, Signs};

/// How much of a header is searched to tell C++ from C.
const HEADER_BYTES: usize = 64 << 10;

impl Language {
    /// The language of a file; `None` if it is not known or not built in. `text` may be only the beginning: the first line
    /// decides if the name does not, and the first 64 KiB tell whether a `.h` is C or C++.
    #[must_use]
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A leading dot makes a file hidden and does not begin an extension.
        let language = match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
            Some((_, extension)) => Self::of_extension(extension, text),
            None => Self::with(|signs| signs.names.contains(&name))
                .or_else(|| Self::of_first_line(text.lines().next().unwrap_or_default())),
        };
        language.filter(|language| language.is_built_in())
    }

    fn of_extension(extension: &str, text: &str) -> Option<Self> {
        let of = |extension: &str| Self::with(|signs| signs.extensions.contains(&extension));
        // The upper-case `.C` and `.H` are C++; otherwise case does not matter.
        let language = of(extension).or_else(|| of(&extension.to_ascii_lowercase()))?;
        Some(if language == Self::C && extension == "h" && is_cpp(text) { Self::Cpp } else { language })
    }

    /// By the program that is to run the file, as in `#!/usr/bin/env -S python3 -u`.
    fn of_first_line(line: &str) -> Option<Self> {
        let command = line.strip_prefix("#!")?;
        let mut words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let first = words.next()?;
        let program =
            if first == "env" { words.find(|word| !word.starts_with('-') && !word.contains('='))? } else { first };
        // `python3.12` is `python`.
        let program = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        Self::with(|signs| signs.programs.contains(&program))
    }

    fn with(is_told_by: impl Fn(&Signs) -> bool) -> Option<Self> {
        Self::ALL.iter().copied().find(|language| is_told_by(language.signs()))
    }
}

/// Whether a header has a line that begins as no line of C does.
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
    #[cfg(feature = "languages")]
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
    fn every_sign_tells_one_language() {
        let check = |of: fn(Language) -> Vec<&'static str>| {
            let mut all: Vec<&str> = Language::ALL.iter().flat_map(|language| of(*language)).collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{all:?}");
        };
        check(|language| vec![language.as_str()]);
        check(|language| language.signs().extensions.to_vec());
        check(|language| language.signs().names.to_vec());
        check(|language| language.signs().programs.to_vec());
    }
}
