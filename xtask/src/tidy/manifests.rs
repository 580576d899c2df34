//! Which crate may depend on which, and which crate may use which third-party dependency.

use std::collections::BTreeSet;

use crate::Failure;

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency in its manifest.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What the dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// Which dependencies of a room are judged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// Those that end up in the program; tests may use what they like.
    Shipped,
    /// All of them, tests included.
    All,
}

struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    judged: Judged,
}

const CORE: &str = "readproof-core";
const DISK: &str = "readproof-disk";
const HOSTS: &str = "readproof-hosts";
const INDEX: &str = "readproof-index";
const ENGINE: &str = "readproof-engine";
const WORDS: &str = "readproof-words";
const APP: &str = "readproof";
const READER: &str = "readproof-reader";
const TRACES: &str = "readproof-traces";
const TESTKIT: &str = "readproof-testkit";
const BENCH: &str = "readproof-bench";
const FUZZ: &str = "readproof-fuzz";

const ROOMS: &[Room] = &[
    Room { name: CORE, may_use: &[], judged: Judged::Shipped },
    Room { name: DISK, may_use: &[CORE], judged: Judged::Shipped },
    Room { name: HOSTS, may_use: &[CORE, DISK], judged: Judged::Shipped },
    Room { name: INDEX, may_use: &[CORE, DISK], judged: Judged::Shipped },
    Room { name: ENGINE, may_use: &[CORE, DISK, HOSTS, INDEX], judged: Judged::Shipped },
    Room { name: WORDS, may_use: &[CORE, DISK, HOSTS, INDEX, ENGINE], judged: Judged::Shipped },
    Room { name: TRACES, may_use: &[CORE, DISK, HOSTS, ENGINE, WORDS, READER], judged: Judged::Shipped },
    Room { name: APP, may_use: &[CORE, DISK, HOSTS, ENGINE, WORDS, TRACES], judged: Judged::Shipped },
    Room { name: READER, may_use: &[], judged: Judged::All },
    Room {
        name: TESTKIT,
        may_use: &[CORE, DISK, HOSTS, INDEX, ENGINE, WORDS, TRACES, APP, READER],
        judged: Judged::Shipped,
    },
    Room {
        name: BENCH,
        may_use: &[CORE, DISK, HOSTS, INDEX, ENGINE, WORDS, APP, READER, TESTKIT],
        judged: Judged::Shipped,
    },
    Room {
        name: FUZZ,
        may_use: &[CORE, DISK, HOSTS, INDEX, ENGINE, WORDS, APP, READER, TESTKIT],
        judged: Judged::Shipped,
    },
    Room { name: "xtask", may_use: &[], judged: Judged::All },
];

/// All third-party dependencies of core.
const CORE_LIST: &[&str] =
    &["ed25519-compact", "gix-imara-diff", "memchr", "rpds", "sha2", "thiserror", "unicode-normalization"];

/// Third-party dependencies that only one crate may use.
const ONLY_IN: &[(&str, &str)] =
    &[("clap", APP), ("clap_complete", APP), ("rmcp", APP), ("tokio", APP), ("cap-std", DISK), ("rustix", DISK)];

/// Wire formats stay out of the crates with rules and use cases.
const WIRE_FREE: &[&str] = &[CORE, ENGINE];
const WIRE: &[&str] = &["serde", "serde_json"];

/// Parses the output of `cargo metadata --no-deps`.
pub(crate) fn parse(metadata: &str) -> Result<Vec<Package>, Failure> {
    let unexpected = |what: &str| Failure::failed(format!("cargo metadata: {what}"));
    let json: serde_json::Value = serde_json::from_str(metadata).map_err(|error| unexpected(&error.to_string()))?;
    let packages = json["packages"].as_array().ok_or_else(|| unexpected("no packages"))?;
    Ok(packages.iter().map(package).collect())
}

fn package(json: &serde_json::Value) -> Package {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let dependency = |json: &serde_json::Value| Dependency {
        name: text(&json["name"]),
        kind: match json["kind"].as_str() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            Some(_) | None => Kind::Normal,
        },
    };
    let dependencies = json["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    Package { name: text(&json["name"]), dependencies: dependencies.iter().map(dependency).collect() }
}

/// Rooms use only what stands to their left.
pub(crate) fn direction(packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        let Some(room) = ROOMS.iter().find(|room| room.name == package.name) else {
            problems.push(format!("{} is in no room: add it to the table in {}", package.name, file!()));
            continue;
        };
        for dependency in judged(package, room.judged) {
            let ours = ROOMS.iter().any(|room| room.name == dependency);
            if ours && !room.may_use.contains(&dependency) {
                problems.push(format!("{} must not depend on {dependency}", package.name));
            }
        }
    }
    problems
}

/// Third-party dependencies stay where the tables put them.
pub(crate) fn third_party(packages: &[Package]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages {
        let name = package.name.as_str();
        let outside: BTreeSet<&str> = judged(package, if name == READER { Judged::All } else { Judged::Shipped })
            .filter(|dependency| ROOMS.iter().all(|room| room.name != *dependency))
            .collect();
        for (dependency, home) in ONLY_IN {
            if outside.contains(dependency) && name != *home {
                problems.push(format!("{name} must not depend on {dependency}: only {home} may"));
            }
        }
        for dependency in WIRE.iter().filter(|dependency| WIRE_FREE.contains(&name) && outside.contains(**dependency)) {
            problems.push(format!("{name} must not depend on {dependency}: wire formats do not leak inward"));
        }
        if name == READER && !outside.is_empty() {
            problems.push(format!("{name} must depend on nothing, but has {outside:?}"));
        }
        let closed: BTreeSet<&str> = CORE_LIST.iter().copied().collect();
        if name == CORE && outside != closed {
            let differing: Vec<_> = outside.symmetric_difference(&closed).collect();
            problems.push(format!("{name}'s third-party dependencies are a closed list; {differing:?} differ from it"));
        }
    }
    problems
}

fn judged(package: &Package, which: Judged) -> impl Iterator<Item = &str> {
    let counts = move |dependency: &&Dependency| which == Judged::All || dependency.kind != Kind::Dev;
    package.dependencies.iter().filter(counts).map(|dependency| dependency.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `"name: dependency dependency(dev)"`.
    fn package(line: &str) -> Package {
        let (name, dependencies) = line.split_once(':').unwrap();
        let dependency = |word: &str| match word.strip_suffix("(dev)") {
            Some(name) => Dependency { name: name.to_owned(), kind: Kind::Dev },
            None => Dependency { name: word.to_owned(), kind: Kind::Normal },
        };
        Package { name: name.to_owned(), dependencies: dependencies.split_whitespace().map(dependency).collect() }
    }

    fn check(judge: fn(&[Package]) -> Vec<String>, line: &str, expected: usize) {
        let problems = judge(&[package(line)]);
        assert_eq!(problems.len(), expected, "{line}: {problems:?}");
    }

    #[test]
    fn a_dependency_to_the_right_is_a_problem() {
        check(direction, "readproof-disk: readproof-core rustix", 0);
        check(direction, "readproof-disk: readproof-engine", 1);
        check(direction, "readproof-core: readproof-disk", 1);
        check(direction, "readproof-hosts: readproof-index", 1);
        check(direction, "readproof-engine: readproof-words", 1);
        check(direction, "readproof-words: readproof-engine readproof-index", 0);
        check(direction, "readproof: readproof-index readproof-testkit", 2);
        check(direction, "readproof-engine: readproof-testkit(dev)", 0);
        check(direction, "readproof-reader: readproof-testkit(dev)", 1);
        check(direction, "xtask: serde_json readproof-core", 1);
        check(direction, "readproof-testkit: readproof-reader readproof readproof-engine", 0);
        check(direction, "readproof-extra:", 1);
    }

    #[test]
    fn a_third_party_dependency_in_the_wrong_room_is_a_problem() {
        let core = "readproof-core: ed25519-compact gix-imara-diff memchr rpds sha2 thiserror unicode-normalization";
        check(third_party, core, 0);
        check(third_party, &format!("{core} proptest(dev)"), 0);
        check(third_party, &format!("{core} regex"), 1);
        check(third_party, "readproof-core: ed25519-compact gix-imara-diff memchr rpds sha2 thiserror", 1);
        check(third_party, &format!("{core} serde"), 2);
        check(third_party, "readproof-engine: thiserror serde_json tokio", 2);
        check(third_party, "readproof-hosts: serde serde_json", 0);
        check(third_party, "readproof: clap tokio rmcp serde", 0);
        check(third_party, "readproof-index: clap rustix", 2);
        check(third_party, "readproof-disk: cap-std rustix", 0);
        check(third_party, "readproof-reader: memchr(dev)", 1);
        check(third_party, "readproof-reader:", 0);
    }

    #[test]
    fn metadata_is_read() {
        let packages = parse(
            r#"{"packages":[{"name":"a","dependencies":[{"name":"b","kind":null},{"name":"c","kind":"dev"},
            {"name":"d","kind":"build"}]}]}"#,
        )
        .unwrap();
        let kinds: Vec<_> = packages[0].dependencies.iter().map(|d| (d.name.as_str(), d.kind)).collect();
        assert_eq!(packages[0].name, "a");
        assert_eq!(kinds, [("b", Kind::Normal), ("c", Kind::Dev), ("d", Kind::Build)]);
        assert!(parse("{}").is_err());
        assert!(parse("no json").is_err());
    }
}
