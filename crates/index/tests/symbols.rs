//! What is found in one file of each language, against a table beside it. `UPDATE_SYMBOLS=1` writes the tables anew; read
//! what changed.
#![allow(clippy::disallowed_methods, reason = "tests read their data")]

use std::{fs, path::Path};

use readproof_index::{Language, Outline, Parsers, Symbol};

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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/symbols");
    let mut names: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let update = std::env::var_os("UPDATE_SYMBOLS").is_some();
    let mut wrong = Vec::new();
    let mut parsers = Parsers::default();
    for name in names.iter().filter(|name| !name.ends_with(".expected")) {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let source = name.strip_suffix(".txt").unwrap_or(name);
        let Some(language) = Language::of(source, &text) else { panic!("{name} is in no known language") };
        let found = table(&parsers.outline(language, &text, &|| false).unwrap());
        let expected = folder.join(format!("{name}.expected"));
        if update {
            fs::write(&expected, &found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
