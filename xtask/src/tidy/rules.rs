//! Words that may be used only in certain files. The lists say which word, and where it may stand.

use super::{
    repo::File,
    source::{before_tests, line_at, lines_with, offsets, without_comments_and_strings},
};

const CONFIG: &str = "crates/app/src/config.rs";
const MAIN: &str = "crates/app/src/main.rs";
const OUTPUT: &str = "crates/app/src/output.rs";
const TESTKIT_PROGRAMS: &str = "crates/testkit/src/bin/";

/// Types that make a `static` mutable.
const MUTABLE_TYPES: &[&str] = &["Mutex", "RwLock", "Atomic", "OnceLock", "LazyLock", "Cell"];

/// Marks of unfinished work, written so that this list does not find itself.
const LEFTOVERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("unimple", "mented!"),
    concat!("to", "do!"),
];

/// Every source file opens with a comment that says what it owns.
pub(crate) fn opening(files: &[File]) -> Vec<String> {
    let missing = files.iter().filter(|file| file.is_rust() && !file.text.starts_with("//!"));
    missing.map(|file| format!("{}: opens without `//!`: say first what the file owns", file.path)).collect()
}

/// The environment, the working directory and the home folder are read only in the app's `config.rs`; arguments also in its
/// `main.rs`.
pub(crate) fn environment(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_product(file) && file.path != CONFIG) {
        let code = product_code(file);
        for at in offsets(&code, "env") {
            let (before, after) = (&code[..at], &code[at + "env".len()..]);
            let used = after.starts_with("::") || before.ends_with("std::");
            let only_arguments = file.path == MAIN && (after.starts_with("::args") || !after.starts_with("::"));
            if used && !only_arguments {
                problems.push(place(file, line_at(&code, at), "reads the environment", CONFIG));
            }
        }
        for call in ["current_dir(", "home_dir("] {
            let lines = lines_with(&code, call);
            problems.extend(
                lines.into_iter().map(|line| place(file, line, "asks for the working or home directory", CONFIG)),
            );
        }
    }
    problems
}

/// Standard output and error belong to the transport.
pub(crate) fn output(files: &[File]) -> Vec<String> {
    let may = |file: &File| file.path == OUTPUT || file.path.starts_with(TESTKIT_PROGRAMS);
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| (is_product(file) || is_testkit(file)) && !may(file)) {
        let code = product_code(file);
        for word in ["println!", "print!", "eprintln!", "eprint!", "stdout()", "stderr()"] {
            let lines = lines_with(&code, word);
            problems.extend(lines.into_iter().map(|line| place(file, line, &format!("has `{word}`"), OUTPUT)));
        }
    }
    problems
}

/// State has an owner and is passed around; a global has no owner.
pub(crate) fn globals(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_product(file)) {
        let code = product_code(file);
        let mut lines = lines_with(&code, "thread_local!");
        for at in offsets(&code, "static").into_iter().filter(|at| !code[..*at].ends_with('\'')) {
            let item = code[at..].split('=').next().unwrap_or_default();
            let mutable = !offsets(item, "static mut").is_empty();
            if mutable || MUTABLE_TYPES.iter().any(|name| item.contains(name)) {
                lines.push(line_at(&code, at));
            }
        }
        problems.extend(lines.iter().map(|line| {
            format!("{}:{line}: holds a mutable global: give the state an owner and pass it on", file.path)
        }));
    }
    problems
}

/// No code or comment is marked as unfinished.
pub(crate) fn leftovers(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for word in LEFTOVERS {
            let lines = lines_with(&file.text, word);
            problems.extend(lines.iter().map(|line| format!("{}:{line}: has `{word}`: do it or drop it", file.path)));
        }
    }
    problems
}

/// A document must not name paths of the machine it was written on.
pub(crate) fn machine_paths(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for folder in ["/work/", "/root/", "/home/"] {
            for (at, _) in file.text.match_indices(folder) {
                let before = file.text[..at].chars().next_back();
                let starts_a_path = before.is_none_or(|c| !c.is_alphanumeric() && !"._-~/".contains(c));
                let below = &file.text[at + folder.len()..];
                let name: &str = below.split(|c: char| !c.is_alphanumeric() && !"._-".contains(c)).next().unwrap_or("");
                let example = folder == "/home/" && matches!(name, "" | "u");
                if starts_a_path && !example {
                    let line = line_at(&file.text, at);
                    problems.push(format!("{}:{line}: names a path of one machine `{folder}…`", file.path));
                }
            }
        }
    }
    problems
}

fn place(file: &File, line: usize, what: &str, home: &str) -> String {
    format!("{}:{line}: {what}; only {home} may", file.path)
}

/// The source of the product: `crates/` without the testkit, bench and fuzz, and without test files.
pub(super) fn is_product(file: &File) -> bool {
    let in_room = |name: &str| !matches!(name, "testkit" | "bench" | "fuzz" | "xtask");
    file.is_rust() && !is_test_file(file) && file.in_crate_source().is_some_and(|(name, _)| in_room(name))
}

fn is_testkit(file: &File) -> bool {
    file.is_rust() && !is_test_file(file) && file.in_crate_source().is_some_and(|(name, _)| name == "testkit")
}

fn is_test_file(file: &File) -> bool {
    file.path.ends_with("/tests.rs") || file.path.ends_with("_tests.rs") || file.path.contains("/tests/")
}

pub(super) fn product_code(file: &File) -> String {
    without_comments_and_strings(before_tests(&file.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(judge: fn(&[File]) -> Vec<String>, path: &str, text: &str, expected: &[&str]) {
        let problems = judge(&[File { path: path.to_owned(), text: text.to_owned() }]);
        assert_eq!(problems.len(), expected.len(), "{path}: {text}: {problems:?}");
        for (problem, start) in problems.iter().zip(expected) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }

    #[test]
    fn a_file_that_does_not_say_what_it_owns_is_a_problem() {
        check(opening, "crates/core/src/a.rs", "//! Owns a.\n", &[]);
        check(opening, "crates/core/src/a.rs", "#![no_std]\n//! Owns a.\n", &["crates/core/src/a.rs: "]);
        check(opening, "crates/core/tests/a.rs", "\n//! Owns a.\n", &["crates/core/tests/a.rs: "]);
        check(opening, "xtask/src/a.rs", "", &["xtask/src/a.rs: "]);
        check(opening, "scenarios/001_x/files/a.rs", "fn a() {}", &[]);
    }

    #[test]
    fn reading_the_environment_elsewhere_is_a_problem() {
        let engine = "crates/engine/src/a.rs";
        check(environment, engine, "fn f() {\n std::env::var(x);\n}", &["crates/engine/src/a.rs:2: "]);
        check(environment, engine, "use std::env;\nfn f() { env::temp_dir(); }", &["crates/engine", "crates/engine"]);
        check(environment, engine, "std::fs::x; env!(a); my_env::x; let env = 1;", &[]);
        check(environment, engine, "current_dir(); dirs::home_dir(); at.home_dir", &["crates", "crates"]);
        check(environment, engine, "// env::var\n/// std::env\n\"env::var\"", &[]);
        check(environment, engine, "fn f() {}\n#[cfg(test)]\nmod tests {\n env::var(x);\n}", &[]);
        check(environment, "crates/engine/src/a/tests.rs", "env::var(x)", &[]);
        check(environment, "crates/engine/tests/a.rs", "env::var(x)", &[]);
        check(environment, "crates/testkit/src/lib.rs", "env::var(x)", &[]);
        check(environment, "crates/app/src/config.rs", "env::var(x)", &[]);
        check(environment, "crates/app/src/main.rs", "use std::env;\nenv::args_os()", &[]);
        check(environment, "crates/app/src/main.rs", "env::var(x)", &["crates/app/src/main.rs:1: "]);
    }

    #[test]
    fn printing_elsewhere_is_a_problem() {
        check(output, "crates/app/src/cli.rs", "println!(); eprint!()", &["crates/app", "crates/app"]);
        check(output, "crates/app/src/cli.rs", "io::stdout().lock(); command.stdout(pipe)", &["crates/app"]);
        check(output, "crates/app/src/output.rs", "println!(); io::stderr()", &[]);
        check(output, "crates/testkit/src/lib.rs", "print!()", &["crates/testkit"]);
        check(output, "crates/testkit/src/bin/soundness.rs", "print!()", &[]);
        check(output, "xtask/src/main.rs", "print!()", &[]);
        check(output, "crates/core/src/a.rs", "/// println!()\nfn print() {}", &[]);
    }

    #[test]
    fn a_mutable_global_is_a_problem() {
        let path = "crates/index/src/a.rs";
        for bad in [
            "static A: AtomicU64 = x;",
            "pub static A: LazyLock<Vec<u8>> = x;",
            "fn f() {\n static A: [std::sync::Mutex<u8>; 2] = x; }",
            "static mut A: u8 = 0;",
            "static A: OnceCell<u8> = x;",
            "thread_local! { }",
        ] {
            check(globals, path, bad, &["crates/index/src/a.rs:"]);
        }
        check(globals, path, "static A: &str = x; fn f(a: &'static Mutex<u8>) {} let a: Mutex<u8> = b;", &[]);
        check(globals, "crates/testkit/src/a.rs", "static A: AtomicU64 = x;", &[]);
    }

    #[test]
    fn work_put_off_is_a_problem() {
        for word in LEFTOVERS {
            check(leftovers, "xtask/src/a.rs", &format!("a\n// {word} later"), &["xtask/src/a.rs:2: "]);
        }
        check(leftovers, "crates/core/src/a.rs", concat!("let a = TO", "DO_list; // xX", "XX"), &[]);
        check(leftovers, "README.md", concat!("TO", "DO"), &[]);
    }

    #[test]
    fn a_machine_path_in_a_document_is_a_problem() {
        check(machine_paths, "README.md", "see /work/x", &["README.md:1: "]);
        check(machine_paths, "docs/a.md", "\n`/root/.cargo`", &["docs/a.md:2: "]);
        check(machine_paths, "README.md", "/home/ann/x and /home/user", &["README.md:1: ", "README.md:1: "]);
        check(machine_paths, "README.md", "/home/u/x, `/home/u`, src/work/x, the /home folder", &[]);
        check(machine_paths, "crates/core/src/a.rs", "/root/x", &[]);
    }
}
