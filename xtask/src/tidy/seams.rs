//! The seams: one door, a host's name only in its own folders, local stores only where one is constructed, error texts only in
//! the tables of the surfaces. A rule may have a list of files that do not follow it yet. Such a list may only shrink: a listed
//! file that follows the rule is a problem too, until it is struck off.

use std::collections::BTreeSet;

use super::{
    repo::File,
    rules::{is_product, product_code},
    source::{before_tests, is_name, line_at, offsets},
};

/// Where calls are told apart by operation: one of these files, and no other. `core` defines the operations.
const DOOR: &[&str] = &["crates/engine/src/lib.rs", "crates/engine/src/door"];

/// Files that still have public methods of `Engine`.
const METHODS_LEFT: &[&str] = &[];

/// Where the word may stand: the host's folders, its bridge, the settings, and the command line with its help.
const PI: &[&str] = &[
    "crates/hosts/src/pi",
    "crates/engine/src/conversation/pi",
    "crates/app/src/serve/bridge",
    "crates/words/src/pi.rs",
    // It names every surface.
    "crates/words/src/lib.rs",
    // These have a row for every host, and what is special about this one.
    "crates/words/src/setup.rs",
    "crates/app/src/commands/init/hosts.rs",
    "crates/app/src/commands/init/package.rs",
    "crates/app/src/config",
    "crates/app/src/cli.rs",
    "crates/engine/src/door/settings.rs",
    // A test of its own: it names every surface.
    "crates/app/src/concern.rs",
];

/// Files that still name pi.
const PI_LEFT: &[&str] = &[];

/// Where Claude Code may be named, in the same way.
const CLAUDE_CODE: &[&str] = &[
    "crates/hosts/src/claude_code",
    "crates/engine/src/conversation/claude_code",
    "crates/app/src/serve/claude_code",
    // It hands the hooks' calls to that bridge.
    "crates/app/src/serve/mcp.rs",
    // What the host's own settings deny is a rule like any other.
    "crates/disk/src/policy",
    "crates/core/src/operation/policy",
    // These have a row for every host, and what is special about this one.
    "crates/words/src/setup.rs",
    "crates/app/src/commands/init",
    "crates/app/src/config",
    "crates/app/src/cli.rs",
];

/// Where a local store is constructed. Everything else knows only the traits.
const LOCAL_STORES: &[&str] = &["crates/disk", "crates/engine/src/door.rs", "crates/engine/src/conversation/pi"];

/// The tables that turn errors into words, one per surface.
const ERROR_TABLES: &[&str] = &["crates/words/src"];

/// An error that derives `Display` this way has no words.
const SHOW_DATA: &[&str] = &["#[error(transparent)]", "#[error(\"{self:?}\")]"];

/// A rule that is broken: the file, and what is wrong with it.
type Broken<'f> = (&'f str, String);

/// Only the door tells operations apart, and `Engine` has no public method beside it.
pub(crate) fn one_door(files: &[File]) -> Vec<String> {
    let (mut matches, mut methods, mut doors) = (Vec::new(), Vec::new(), BTreeSet::new());
    for file in product(files).filter(|file| !file.path.starts_with("crates/core/")) {
        let code = product_code(file);
        let patterns = operation_patterns(&code);
        if is_at(DOOR, &file.path) {
            doors.extend(patterns.first().map(|_| file.path.as_str()));
            continue;
        }
        matches.extend(patterns.into_iter().map(|at| problem(file, &code, at, "tells operations apart", "the door")));
        if file.path.starts_with("crates/engine/") {
            let found = public_methods(&code).into_iter();
            methods.extend(found.map(|at| problem(file, &code, at, "has a public method of `Engine`", "the door")));
        }
    }
    if doors.len() > 1 {
        matches.extend(doors.into_iter().map(|path| (path, format!("{path}: is one of several dispatchers"))));
    }
    let mut problems = except(&[], matches);
    problems.extend(except(METHODS_LEFT, methods));
    problems
}

/// The word *pi* stands in its places only, in names, comments and texts alike.
pub(crate) fn pi_in_its_places(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in product(files).filter(|file| !is_at(PI, &file.path)) {
        let text = without_declarations(before_tests(&file.text));
        let mut lines = BTreeSet::new();
        let mut at = 0;
        for word in text.split_inclusive(|c| !is_name(c)) {
            if says_pi(word.trim_end_matches(|c| !is_name(c))) {
                lines.insert(line_at(&text, at));
            }
            at += word.len();
        }
        found.extend(lines.into_iter().map(|line| (file.path.as_str(), format!("{}:{line}: names pi", file.path))));
    }
    except(PI_LEFT, found)
}

/// The same for Claude Code.
pub(crate) fn claude_code_in_its_places(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in product(files).filter(|file| !is_at(CLAUDE_CODE, &file.path)) {
        for (number, line) in before_tests(&file.text).lines().enumerate() {
            let bare = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
            let declares = bare.starts_with("mod claude_code;") || bare.starts_with("use claude_code::");
            if !declares && line.to_ascii_lowercase().contains("claude") {
                found.push((file.path.as_str(), format!("{}:{}: names Claude Code", file.path, number + 1)));
            }
        }
    }
    except(&[], found)
}

/// A store may lie elsewhere than in local files, so nobody may depend on those.
pub(crate) fn store_traits(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in product(files).filter(|file| !is_at(LOCAL_STORES, &file.path)) {
        let code = product_code(file);
        let named = offsets(&code, "LocalStore").into_iter().chain(offsets(&code, "LocalStores"));
        found.extend(named.map(|at| problem(file, &code, at, "names a local store", "what constructs one")));
    }
    except(&[], found)
}

/// `#[error("…")]` and `Display` of an error stand in the tables only. An error that shows its data has no text.
pub(crate) fn error_texts(files: &[File]) -> Vec<String> {
    let codes: Vec<(&File, String)> = product(files).map(|file| (file, product_code(file))).collect();
    let errors: BTreeSet<&str> =
        codes.iter().flat_map(|(_, code)| implementors(code, "Error")).map(|(_, n)| n).collect();
    let mut found = Vec::new();
    for (file, code) in codes.iter().filter(|(file, _)| !is_at(ERROR_TABLES, &file.path)) {
        for at in offsets(code, "#[error(") {
            let attribute = file.text.lines().nth(line_at(code, at) - 1).unwrap_or_default();
            if !SHOW_DATA.contains(&attribute.trim()) {
                found.push(problem(file, code, at, "has the text of an error", "a table of a surface"));
            }
        }
        for (at, name) in implementors(code, "Display") {
            if name.ends_with("Error") || errors.contains(name) {
                found.push(problem(file, code, at, "turns an error into words", "a table of a surface"));
            }
        }
    }
    except(&[], found)
}

/// What ends up in the program; the reader judges it from outside.
fn product(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| is_product(file) && !file.path.starts_with("crates/reader/"))
}

/// The problems outside the files that are still to follow, and those files that do follow by now.
fn except(left: &[&str], found: Vec<Broken<'_>>) -> Vec<String> {
    let done = left.iter().filter(|path| !found.iter().any(|(file, _)| file == *path));
    let struck = done.map(|path| format!("{path}: follows the rule: strike it off the list in {}", file!()));
    let new = found.iter().filter(|(file, _)| !left.contains(file)).map(|(_, problem)| problem.clone());
    new.chain(struck).collect()
}

fn problem<'f>(file: &'f File, code: &str, at: usize, what: &str, home: &str) -> Broken<'f> {
    (&file.path, format!("{}:{}: {what}; only {home} may", file.path, line_at(code, at)))
}

/// Whether a path is one of these, or below it: `a/b` stands for `a/b.rs` and for everything in `a/b/`.
fn is_at(places: &[&str], path: &str) -> bool {
    let below =
        |place: &str| path.strip_prefix(place).is_some_and(|rest| matches!(rest, "" | ".rs") || rest.starts_with('/'));
    places.iter().any(|place| below(place))
}

/// Where a variant of `Operation` stands as a pattern rather than as a value that is made, or is imported without its type.
fn operation_patterns(code: &str) -> Vec<usize> {
    let is_pattern = |at: &usize| {
        let variant = &code[at + "Operation::".len()..];
        if variant.starts_with(['*', '{']) {
            return true;
        }
        let fields = variant.trim_start_matches(is_name).trim_start();
        let rest = fields[balanced(fields)..].trim_start();
        let alternative = rest.starts_with('|') && !rest.starts_with("||");
        let bound = rest.starts_with('=') && !rest.starts_with("==");
        alternative || bound || rest.starts_with("if ")
    };
    offsets(code, "Operation::").into_iter().filter(is_pattern).collect()
}

/// Where `pub fn` stands inside of `impl Engine { … }`.
fn public_methods(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for at in offsets(code, "impl") {
        let Some(open) = code[at..].find('{').map(|length| at + length) else { continue };
        let words: Vec<&str> = code[at..open].split(|c| !is_name(c)).collect();
        if words.contains(&"Engine") && !words.contains(&"for") {
            let body = &code[open..open + balanced(&code[open..])];
            let starts = ["pub fn", "pub const fn", "pub async fn"].into_iter().flat_map(|start| offsets(body, start));
            found.extend(starts.map(|inside| open + inside));
        }
    }
    found.sort_unstable();
    found
}

/// The length of the bracketed group that opens the text; 0 without one.
fn balanced(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + c.len_utf8() };
        }
    }
    text.len()
}

/// Where a trait is implemented, and for which type.
fn implementors<'c>(code: &'c str, name: &str) -> Vec<(usize, &'c str)> {
    let type_name = |at: &usize| {
        let rest = code[at + name.len()..].strip_prefix(" for ")?;
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        Some((*at, &rest[..end]))
    };
    offsets(code, name).iter().filter_map(type_name).collect()
}

/// Without `mod pi;` and `pub use pi::…;`, by which a room declares the host's folder; every line keeps its number.
fn without_declarations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut within = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        within = within || bare.starts_with("mod pi;") || (bare.starts_with("use pi::") && line.starts_with("pub"));
        out.push_str(if within { "\n" } else { line });
        within = within && !line.contains(';');
    }
    out
}

/// Whether a name has the word: `pi`, `of_pi`, `PiRead`, `PI_LINES`, not `api` or `Pick`.
fn says_pi(name: &str) -> bool {
    name.char_indices().any(|(at, _)| {
        let (before, rest) = name.split_at(at);
        let before = before.chars().next_back();
        let Some(word) = rest.get(..2).filter(|word| word.eq_ignore_ascii_case("pi")) else { return false };
        let after = rest[2..].chars().next();
        let capital = word == "Pi" && before.is_some_and(|c| !c.is_uppercase());
        let begins = before.is_none_or(|c| c == '_') || capital;
        let ends = after.is_none_or(|c| c == '_' || c.is_ascii_digit() || (c.is_uppercase() && word != "PI"));
        begins && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    /// What a judge says about these files, without what it says about files that are not here.
    fn check(judge: fn(&[File]) -> Vec<String>, files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<File> = files.iter().map(|(path, text)| file(path, text)).collect();
        let mut problems = judge(&files);
        problems.retain(|problem| !problem.contains("strike it off"));
        assert_eq!(problems.len(), expected.len(), "{files:?}: {problems:?}");
        for (problem, start) in problems.iter().zip(expected) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }

    #[test]
    fn claude_code_stands_in_its_places_only() {
        let core = "crates/core/src/new.rs";
        check(
            claude_code_in_its_places,
            &[(core, "//! New.\n// as Claude Code does\n")],
            &["crates/core/src/new.rs:2: "],
        );
        check(
            claude_code_in_its_places,
            &[("crates/engine/src/conversation.rs", "mod claude_code;\npub use claude_code::*;\n")],
            &[],
        );
        check(claude_code_in_its_places, &[("crates/hosts/src/claude_code/line.rs", "//! Claude Code\n")], &[]);
    }

    #[test]
    fn a_second_dispatcher_is_a_problem() {
        let arms = "match op {\n Operation::Read { path, .. } => a,\n Operation::Stat(_) | Operation::List => b,\n}";
        let (app, door) = ("crates/app/src/serve/mcp.rs", "crates/engine/src/lib.rs");
        check(one_door, &[("crates/core/src/operation.rs", arms), (door, arms)], &[]);
        let lines =
            ["crates/app/src/serve/mcp.rs:2: ", "crates/app/src/serve/mcp.rs:3: ", "crates/app/src/serve/mcp.rs:3: "];
        check(one_door, &[(app, arms)], &lines);
        check(one_door, &[("crates/engine/src/read.rs", "if let Operation::Read(read) = op {}")], &["crates/engine"]);
        check(one_door, &[(app, "let a = Operation::Read { path: p };\nf(Operation::Stat(x), Operation::List)")], &[]);
        check(one_door, &[(app, "x == Operation::List || y; // Operation::List => z")], &[]);
        check(one_door, &[(app, "use readproof_core::Operation::*;")], &["crates/app"]);
        check(one_door, &[(app, "My::Operation::List => a, MyOperation::List => b")], &["crates/app"]);
        check(one_door, &[(door, arms), ("crates/engine/src/door.rs", arms)], &["crates/engine", "crates/engine"]);
    }

    #[test]
    fn a_public_method_beside_the_door_is_a_problem() {
        let methods =
            "impl Engine {\n pub fn a() {}\n fn b() {}\n pub(crate) fn c() {}\n}\nimpl Other { pub fn d() {} }";
        check(one_door, &[("crates/engine/src/new.rs", methods)], &["crates/engine/src/new.rs:2: "]);
        check(one_door, &[("crates/engine/src/lib.rs", methods)], &[]);
        check(one_door, &[("crates/engine/src/new.rs", "impl From<Engine> for X { pub fn a() {} }")], &[]);
        check(
            one_door,
            &[("crates/engine/src/new.rs", "impl<C> Engine<C> { pub const fn a() {} }")],
            &["crates/engine"],
        );
    }

    #[test]
    fn a_host_named_elsewhere_is_a_problem() {
        let core = "crates/core/src/new.rs";
        for bad in ["// as pi does", "struct PiRead;", "fn of_pi() {}", "\".pi/readcache\"", "const PI_LINES: u8 = 1;"]
        {
            check(pi_in_its_places, &[(core, &format!("//! New.\n{bad}\n"))], &["crates/core/src/new.rs:2: "]);
            for place in [
                "hosts/src/pi/tree.rs",
                "engine/src/conversation/pi.rs",
                "app/src/serve/bridge/wire.rs",
                "app/src/cli.rs",
            ] {
                check(pi_in_its_places, &[(&format!("crates/{place}"), bad)], &[]);
            }
        }
        check(pi_in_its_places, &[(core, "api, Pick, pick, PIN, spi_x, happi, rapid, typing, capi_tal")], &[]);
        check(pi_in_its_places, &[("crates/engine/src/piece.rs", "//! pi")], &["crates/engine/src/piece.rs:1: "]);
        check(pi_in_its_places, &[("crates/engine/src/new.rs", "pub mod pi;\npub use pi::{\n  PiRead,\n};\nx")], &[]);
        check(pi_in_its_places, &[(core, "use pi::Tree;")], &["crates/core/src/new.rs:1: "]);
        check(
            pi_in_its_places,
            &[(core, "a\n#[cfg(test)]\nmod tests {\n pi\n}"), ("crates/core/tests/pi.rs", "pi")],
            &[],
        );
        check(pi_in_its_places, &[("crates/testkit/src/pi.rs", "pi")], &[]);
    }

    #[test]
    fn a_local_store_named_elsewhere_is_a_problem() {
        let text = "use readproof_disk::{LocalStores, Store};\nfn f(store: &LocalStore) {}";
        let lines = ["crates/hosts/src/session.rs:2: ", "crates/hosts/src/session.rs:1: "];
        check(store_traits, &[("crates/hosts/src/session.rs", text)], &lines);
        let places = ["crates/disk/src/lib.rs", "crates/engine/src/door.rs", "crates/testkit/src/load.rs"];
        check(store_traits, &places.map(|place| (place, text)), &[]);
    }

    #[test]
    fn an_error_text_outside_a_table_is_a_problem() {
        let (disk, table) = ("crates/disk/src/new.rs", "crates/words/src/cli.rs");
        let text = "enum E {\n #[error(\"no {0}\")]\n A(u8),\n #[error(transparent)]\n B(x),\n}";
        check(error_texts, &[(disk, "// é\n#[error(\"{self:?}\")]\nenum E {}")], &[]);
        check(error_texts, &[(disk, text), (table, text)], &["crates/disk/src/new.rs:2: "]);
        check(error_texts, &[(disk, "impl fmt::Display for LogError {}")], &["crates/disk/src/new.rs:1: "]);
        check(error_texts, &[(disk, "impl Display for Gone {}\nimpl std::error::Error for Gone {}")], &["crates/disk"]);
        check(error_texts, &[(disk, "impl fmt::Display for Scope {}"), (table, "impl Display for LogError {}")], &[]);
        check(error_texts, &[("crates/reader/src/lib.rs", text), ("crates/disk/src/a/tests.rs", text)], &[]);
    }

    #[test]
    fn a_list_may_only_shrink() {
        let found = || vec![("a.rs", "a.rs:1: wrong".to_owned()), ("b.rs", "b.rs:1: wrong".to_owned())];
        assert_eq!(except(&["a.rs"], found()), ["b.rs:1: wrong"]);
        let struck = except(&["a.rs", "b.rs", "c.rs"], found());
        assert!(struck.len() == 1 && struck[0].starts_with("c.rs: follows the rule"), "{struck:?}");
    }
}
