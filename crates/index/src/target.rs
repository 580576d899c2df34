//! Parses a symbol's name as people and models write it, and tells which definitions it may mean. Independent of the
//! language: qualifiers may be written with `::`, `.` or `#` for any file.

use crate::{Symbol, SymbolKind, search::name_words};

/// Qualifiers that say nothing about where a name is defined.
const NOWHERE: [&str; 5] = ["crate", "self", "super", "this", "Self"];

/// Stems of files that stand for their folder.
const FOLDER_FILES: [&str; 5] = ["mod", "lib", "main", "index", "__init__"];

/// The name of a symbol, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As written, for names that may contain anything, such as headings or keys with dots.
    whole: String,
    /// The qualifiers, outermost first.
    within: Vec<String>,
    name: String,
    /// The trait of `<Type as Trait>::name`.
    of: Option<String>,
}

impl Target {
    /// `None` if it is blank.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let whole = text.trim();
        let mut of = None;
        let mut plain = without_call(whole).to_owned();
        if let Some((inside, rest)) = plain.strip_prefix('<').and_then(|rest| rest.split_once(">::"))
            && let Some((kind, name)) = inside.split_once(" as ")
        {
            of = Some(bare(name).to_owned());
            plain = format!("{}::{rest}", bare(kind));
        }
        let parts = parts(&plain);
        let (name, within) = parts.split_last()?;
        let within = within.iter().filter(|part| !NOWHERE.contains(&part.as_str())).cloned().collect();
        (!whole.is_empty()).then(|| Self { whole: whole.to_owned(), within, name: name.clone(), of })
    }

    /// The names under which it may be defined.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        if self.whole == self.name { vec![&self.name] } else { vec![&self.name, &self.whole] }
    }

    /// Whether it may mean a definition in this file.
    #[must_use]
    pub fn fits(&self, path: &str, symbol: &Symbol) -> bool {
        if symbol.name == self.whole {
            return true;
        }
        if symbol.name != self.name || self.of.as_ref().is_some_and(|of| symbol.of.as_deref().map(bare) != Some(of)) {
            return false;
        }
        self.is_within(path, symbol)
    }

    /// The words of what is written as words, not as a name: `snapshot working copy`.
    #[must_use]
    pub fn words(&self) -> Option<Vec<String>> {
        self.whole.contains(char::is_whitespace).then(|| name_words(&self.whole)).filter(|words| words.len() > 1)
    }

    /// Whether a definition has these words: its name the last of them, all in order, and what it is in the others.
    #[must_use]
    pub fn fits_words(&self, words: &[String], path: &str, symbol: &Symbol) -> bool {
        let name = name_words(&symbol.name);
        let Some(others) = words.strip_suffix(&name[..]).filter(|_| !name.is_empty()) else { return false };
        let around = || symbol.scope.iter().flat_map(|scope| name_words(scope)).chain(name_words(path));
        others.is_empty() || others.iter().all(|word| around().any(|other| other == *word))
    }

    /// Whether the qualifiers fit a definition, whatever its name.
    #[must_use]
    pub fn is_within(&self, path: &str, symbol: &Symbol) -> bool {
        let scope = || symbol.scope.iter().map(String::as_str);
        let (folders, file) = places(path, &symbol.scope);
        let by_file = is_end(&folders.iter().copied().chain(file).chain(scope()).collect::<Vec<_>>(), &self.within);
        let by_folder = is_end(&folders.iter().copied().chain(scope()).collect::<Vec<_>>(), &self.within);
        let innermost = self.within.last().zip(symbol.of.as_deref());
        let through = innermost.is_some_and(|(wanted, of)| wanted == bare(of)) && self.within.len() == 1;
        through || by_file || by_folder
    }
}

/// Which definition is taken if several have a name: the one of the lowest rank. Equal ranks are ambiguous.
#[must_use]
pub fn rank(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Function
        | SymbolKind::Method
        | SymbolKind::Class
        | SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Interface
        | SymbolKind::Trait
        | SymbolKind::Type
        | SymbolKind::Constant
        | SymbolKind::Variable
        | SymbolKind::Macro => 0,
        SymbolKind::Variant | SymbolKind::Field => 1,
        SymbolKind::Module => 2,
        SymbolKind::Declaration => 3,
        SymbolKind::Implementation => 4,
        SymbolKind::Heading => 5,
        SymbolKind::Key => 6,
    }
}

/// Whether `around` ends with the innermost wanted name and has the others before it in this order. Names between them, such
/// as modules, may be left out.
fn is_end(around: &[&str], wanted: &[String]) -> bool {
    let Some((innermost, outer)) = wanted.split_last() else { return true };
    let Some((last, before)) = around.split_last() else { return false };
    let mut before = before.iter();
    innermost == last && outer.iter().all(|want| before.any(|has| has == want))
}

/// The folders of a path and the stem of its file, as names that may qualify a definition: in some languages the file counts,
/// in others only the folder. `None` for a file that is named after the one thing it defines, or that stands for its folder.
fn places<'p>(path: &'p str, scope: &[String]) -> (Vec<&'p str>, Option<&'p str>) {
    let mut folders: Vec<&str> = path.split('/').collect();
    let file = folders.pop().unwrap_or_default();
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    let counts = !FOLDER_FILES.contains(&stem) && scope.first().is_none_or(|outermost| outermost != stem);
    (folders, counts.then_some(stem))
}

/// Without arguments after the name.
fn without_call(text: &str) -> &str {
    let Some(before) = text.strip_suffix(')') else { return text };
    match before.rfind('(') {
        // `(*T)` is not a call.
        Some(at) if at > 0 && !before[at..].starts_with("(*") && !before[..at].ends_with("operator") => &text[..at],
        Some(_) | None => text,
    }
}

/// Without generic parameters.
fn bare(name: &str) -> &str {
    let name = name.trim();
    match name.find('<') {
        Some(at) if at > 0 && !name.starts_with("operator") => name[..at].trim_end_matches("::"),
        Some(_) | None => name,
    }
}

/// The parts between `::`, `.` and `#`, without generics and Go's `(*…)`.
fn parts(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0_u32;
    let operator = text.contains("operator");
    for c in text.chars() {
        match c {
            '<' if !operator && !plain.is_empty() => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            '(' | ')' | '*' | '&' if !operator => {}
            '.' | '#' if !operator && !plain.is_empty() && !plain.ends_with("::") => plain.push_str("::"),
            _ => plain.push(c),
        }
    }
    let parts: Vec<String> =
        plain.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if parts.is_empty() && !text.is_empty() { vec![text.to_owned()] } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readproof_core::scope::Lines;

    fn symbol(scope: &[&str], name: &str, of: Option<&str>) -> Symbol {
        let lines = Lines::new(1, 1).unwrap();
        Symbol {
            name: name.to_owned(),
            kind: SymbolKind::Method,
            scope: scope.iter().map(ToString::to_string).collect(),
            of: of.map(str::to_owned),
            lines,
            line: 1,
            signature: lines,
            parent: None,
        }
    }

    #[track_caller]
    fn check(target: &str, path: &str, of: Option<&str>, scope: &[&str], name: &str, expected: bool) {
        let target = Target::parse(target).unwrap();
        assert_eq!(target.fits(path, &symbol(scope, name, of)), expected, "{target:?}");
        assert!(!expected || target.names().contains(&name), "{target:?}");
    }

    #[test]
    fn names_with_what_qualifies_them() {
        for target in [
            "push",
            "push()",
            "push(item)",
            "Vec::push",
            "Vec.push",
            "Vec#push",
            "Vec<T>::push",
            "Vec::<u8>::push",
            "inner::Vec::push",
            "crate::inner::Vec::push",
            "stack::inner::Vec::push",
            "stack::Vec::push",
            "src::Vec::push",
            "<Vec as Grow>::push",
            "<Vec<T> as Grow<T>>::push",
            "Grow::push",
        ] {
            check(target, "src/stack.rs", Some("Grow"), &["inner", "Vec"], "push", true);
        }
        for target in ["pop", "Vex::push", "inner::push", "<Vec as Shrink>::push", "heap::inner::Vec::push", "Push"] {
            check(target, "src/stack.rs", Some("Grow"), &["inner", "Vec"], "push", false);
        }
        check("Vec::push", "src/vec.rs", None, &[], "push", false);
        check("vec::push", "src/vec.rs", None, &[], "push", true);
        check("vec::push", "src/vec/mod.rs", None, &[], "push", true);
        check("(*Server).Serve", "http/server.go", None, &["Server"], "Serve", true);
        check("http.Server.Serve", "net/http/server.go", None, &["Server"], "Serve", true);
        check("com.shop.Cart.add", "src/com/shop/Cart.java", None, &["Cart"], "add", true);
        check("Cart.Cart", "src/com/shop/Cart.java", None, &["Cart"], "Cart", true);
    }

    #[test]
    fn names_that_hold_anything() {
        check("1. What it does (v1.2)", "README.md", None, &["Readproof"], "1. What it does (v1.2)", true);
        check("dependencies.serde", "Cargo.toml", None, &["dependencies"], "serde", true);
        check("a.b", "x.json", None, &[], "a.b", true);
        check("#secret", "x.js", None, &["Box"], "#secret", true);
        check("operator<<", "x.cpp", None, &[], "operator<<", true);
        check("Box::operator()", "x.cpp", None, &["Box"], "operator()", true);
        check("...", "x.md", None, &[], "...", true);
        assert_eq!(Target::parse("  "), None);
    }
}
