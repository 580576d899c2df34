//! What is found in one file of each language, against a table beside it. `UPDATE_SYMBOLS=1` writes the tables anew; read
//! what changed.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read their data, and may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use readproof_index::{Language, NoOutline, Outline, Parsers, Symbol};

/// One line for each symbol: kind, names, trait, lines, line, signature.
fn table(outline: &Outline) -> String {
    let line = |symbol: &Symbol| {
        let names = symbol.scope.iter().map(String::as_str).chain([symbol.name.as_str()]).collect::<Vec<_>>();
        let of = symbol.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
        format!(
            "{} {}{of} {}-{} @{} sig {}-{} in {}\n",
            symbol.kind.as_str(),
            names.join(" > "),
            symbol.lines.first(),
            symbol.lines.last(),
            symbol.line,
            symbol.signature.first(),
            symbol.signature.last(),
            symbol.parent.map_or("-".to_owned(), |parent| outline.symbols[parent as usize].name.clone()),
        )
    };
    let imports = outline.imports.iter().map(|lines| format!("import {}-{}\n", lines.first(), lines.last()));
    imports.chain(outline.symbols.iter().map(line)).collect()
}

#[test]
fn what_is_found_in_each_language() {
    let update = std::env::var_os("UPDATE_SYMBOLS").is_some();
    let mut wrong = Vec::new();
    let mut parsers = Parsers::default();
    for (name, language, text) in sources() {
        let found = table(&parsers.outline(language, &text, &|| false).unwrap());
        let expected = folder().join(format!("{name}.expected"));
        if update {
            fs::write(&expected, &found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols")
}

/// Every source among the fixtures whose language is built in: its name, language and text.
fn sources() -> Vec<(String, Language, String)> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| !name.ends_with(".expected")).collect();
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(folder().join(&name)).unwrap();
        let language = Language::of(name.strip_suffix(".txt").unwrap(), &text)?;
        Some((name, language, text))
    };
    names.into_iter().filter_map(read).collect()
}

/// What holds for the outline of any text.
fn check(outline: &Outline, text: &str) {
    let lines = u32::try_from(text.split_inclusive('\n').count().max(1)).unwrap();
    for (at, symbol) in outline.symbols.iter().enumerate() {
        let (whole, signature) = (symbol.lines, symbol.signature);
        assert!(whole.last() <= lines, "{symbol:?} of {lines} lines");
        assert!(whole.first() <= signature.first() && signature.last() <= whole.last(), "{symbol:?}");
        assert!(whole.first() <= symbol.line && symbol.line <= whole.last(), "{symbol:?}");
        assert!(!symbol.name.is_empty() && !symbol.name.contains('\n'), "{symbol:?}");
        if let Some(parent) = symbol.parent {
            assert!((parent as usize) < at, "{symbol:?}");
            let parent = &outline.symbols[parent as usize];
            let mut around = parent.scope.clone();
            around.push(parent.name.clone());
            assert!(symbol.scope.starts_with(&around), "{symbol:?} in {parent:?}");
            assert!(
                parent.lines.first() <= whole.first() && whole.last() <= parent.lines.last(),
                "{symbol:?} in {parent:?}"
            );
        }
    }
    assert!(outline.imports.iter().all(|import| import.last() <= lines));
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % bound.max(1)
    }
}

/// A text with something cut out, put in, doubled or swapped.
fn mutated(text: &str, numbers: &mut Numbers) -> String {
    let pieces = ["{", "}", "(", ")", "\n", "\"", "'", "/*", "#", "::", "\r\n", "\u{feff}", "é", "<", "`", "  ", ";"];
    let mut text = text.to_owned();
    let place = |text: &str, numbers: &mut Numbers| {
        let at = numbers.below(text.len() + 1);
        (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap()
    };
    for _ in 0..=numbers.below(8) {
        let (one, other) = (place(&text, numbers), place(&text, numbers));
        let (from, to) = (one.min(other), one.max(other));
        match numbers.below(5) {
            0 => text.truncate(from),
            1 => text.insert_str(from, pieces[numbers.below(pieces.len())]),
            2 if to - from < 40 => text.replace_range(from..to, ""),
            3 if to - from < 400 => {
                let piece = text[from..to].to_owned();
                text.insert_str(to, &piece);
            }
            _ => text = text[from..].to_owned(),
        }
    }
    text
}

#[test]
fn no_text_breaks_it() {
    let mut parsers = Parsers::default();
    let mut numbers = Numbers(88_172_645_463_325_252);
    let sources = sources();
    for (_, language, text) in &sources {
        check(&parsers.outline(*language, text, &|| false).unwrap(), text);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)).step_by(7) {
            check(&parsers.outline(*language, &text[..end], &|| false).unwrap(), &text[..end]);
        }
        for _ in 0..200 {
            let text = mutated(text, &mut numbers);
            if let Ok(outline) = parsers.outline(*language, &text, &|| false) {
                check(&outline, &text);
            }
        }
        // What is written in another language is no error either.
        for (_, _, other) in &sources {
            if let Ok(outline) = parsers.outline(*language, other, &|| false) {
                check(&outline, other);
            }
        }
    }
}

/// What is found in a text, without its places.
fn names(language: Language, text: &str) -> Vec<String> {
    let outline = Parsers::default().outline(language, text, &|| false).unwrap();
    check(&outline, text);
    let name = |symbol: &Symbol| [symbol.scope.clone(), vec![symbol.name.clone()]].concat().join(" > ");
    outline.symbols.iter().map(name).collect()
}

#[test]
fn marks_and_line_ends_of_other_systems() {
    assert_eq!(names(Language::Rust, "\u{feff}fn a() {}\r\nfn b() {}\r\n"), ["a", "b"]);
    assert_eq!(names(Language::Markdown, "\u{feff}# A\r\n\r\n## B\r\n"), ["A", "A > B"]);
    assert_eq!(names(Language::Yaml, "\u{feff}a:\r\n  b: 1\r\n"), ["a", "a > b"]);
    assert_eq!(names(Language::Python, "\u{feff}def a():\r\n    def b(): pass\r\n"), ["a", "a > b"]);
    let outline = Parsers::default().outline(Language::Rust, "/// Doc.\r\nfn a() {\r\n}\r\n", &|| false).unwrap();
    assert_eq!((outline.symbols[0].lines.first(), outline.symbols[0].lines.last()), (1, 3));
}

#[test]
fn an_outline_is_bounded() {
    let mut parsers = Parsers::default();
    let many = "fn a() {}\n".repeat(20_001);
    let outline = parsers.outline(Language::Rust, &many, &|| false).unwrap();
    assert!(outline.truncated && outline.symbols.len() == 20_000);
    let deep = format!("{}{}", "mod a { ".repeat(500), "}".repeat(500));
    let outline = parsers.outline(Language::Rust, &deep, &|| false).unwrap();
    assert!(outline.truncated && outline.symbols.len() < 100, "{}", outline.symbols.len());
    let long = format!("fn {}() {{}}", "a".repeat(5000));
    assert!(parsers.outline(Language::Rust, &long, &|| false).unwrap().truncated);
    assert_eq!(parsers.outline(Language::Rust, "fn a() {}", &|| true), Err(NoOutline::Cancelled));
    let asked = std::cell::Cell::new(0);
    let later = || asked.replace(asked.get() + 1) > 3;
    assert_eq!(parsers.outline(Language::Rust, &many, &later), Err(NoOutline::Cancelled));
}

#[test]
fn hostile_texts_are_given_up() {
    let mut parsers = Parsers::default();
    let hard = [
        (Language::C, "x=>".repeat(8_000)),
        (Language::Bash, ")".repeat(50_000)),
        (Language::Python, format!("if a:\n{}b", " ".repeat(500))),
    ];
    for (language, text) in hard {
        let first = parsers.outline(language, &text, &|| false);
        assert_eq!(first, Err(NoOutline::TooHard), "{language:?}");
        assert_eq!(parsers.outline(language, &text, &|| false), first);
    }
    // Nested beyond all measure, and still over at once.
    for (language, piece) in [
        (Language::Json, "["),
        (Language::Json, "{\"a\":"),
        (Language::Yaml, "- "),
        (Language::Yaml, "{a: "),
        (Language::Yaml, "a:\n "),
        (Language::Rust, "("),
        (Language::Markdown, "> "),
        (Language::Toml, "[a.b]\n"),
    ] {
        let text = piece.repeat(50_000);
        if let Ok(outline) = parsers.outline(language, &text, &|| false) {
            check(&outline, &text);
        }
    }
}

/// A language comes with a source here that shows what is found in it.
#[test]
#[cfg(feature = "languages")]
fn every_language_has_a_source() {
    let sources = sources();
    for language in Language::ALL {
        assert!(sources.iter().any(|(_, of, _)| of == language), "{} has no source", language.as_str());
    }
}
