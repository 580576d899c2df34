//! The repository's own rules, as checks over plain data. Each is a test too, so `cargo test` enforces them all;
//! `cargo xtask tidy` runs them alone.

mod layout;
mod manifests;
mod repo;
mod rules;
mod seams;
mod source;

use std::path::Path;

use crate::{Failure, no_arguments};
use repo::Repo;

/// One rule: what holds, and how to find the places that break it.
struct Check {
    holds: &'static str,
    problems: fn(&Repo) -> Vec<String>,
}

const DIRECTION: Check =
    Check { holds: "dependencies point left only", problems: |repo| manifests::direction(&repo.packages) };
const THIRD_PARTY: Check =
    Check { holds: "outside dependencies stay in their room", problems: |repo| manifests::third_party(&repo.packages) };
const OPENING: Check =
    Check { holds: "every source file opens with `//!`", problems: |repo| rules::opening(&repo.files) };
const CRATE_HEADS: Check = Check {
    holds: "core is no_std and every crate takes the workspace's lints",
    problems: |repo| layout::crate_heads(&repo.files),
};
const ENVIRONMENT: Check =
    Check { holds: "the environment is read in one file", problems: |repo| rules::environment(&repo.files) };
const OUTPUT: Check = Check { holds: "output is written in one file", problems: |repo| rules::output(&repo.files) };
const GLOBALS: Check = Check { holds: "there are no mutable globals", problems: |repo| rules::globals(&repo.files) };
const FUNCTION_LENGTH: Check =
    Check { holds: "functions stay under 80 lines", problems: |repo| layout::function_length(&repo.files) };
const FOLDER_SIZE: Check =
    Check { holds: "a source folder holds at most 15 entries", problems: |repo| layout::folder_size(&repo.files) };
const ONE_READ: Check = Check { holds: "one read fits on two screens", problems: |repo| layout::one_read(&repo.files) };
const LEFTOVERS: Check = Check { holds: "nothing is left for later", problems: |repo| rules::leftovers(&repo.files) };
const MACHINE_PATHS: Check =
    Check { holds: "documents name no machine's paths", problems: |repo| rules::machine_paths(&repo.files) };
const SCENARIOS: Check = Check { holds: "scenarios are complete", problems: |repo| layout::scenarios(&repo.files) };
const ONE_DOOR: Check = Check {
    holds: "operations are told apart in one place, the engine's only door",
    problems: |repo| seams::one_door(&repo.files),
};
const PI: Check =
    Check { holds: "pi is named only in its own places", problems: |repo| seams::pi_in_its_places(&repo.files) };
const CLAUDE_CODE: Check = Check {
    holds: "Claude Code is named only in its own places",
    problems: |repo| seams::claude_code_in_its_places(&repo.files),
};
const STORE_TRAITS: Check = Check {
    holds: "a local store is named only where one is constructed",
    problems: |repo| seams::store_traits(&repo.files),
};
const ERROR_TEXTS: Check = Check {
    holds: "errors become words only in the tables of the surfaces",
    problems: |repo| seams::error_texts(&repo.files),
};

const ALL: &[Check] = &[
    DIRECTION,
    THIRD_PARTY,
    OPENING,
    CRATE_HEADS,
    ENVIRONMENT,
    OUTPUT,
    GLOBALS,
    FUNCTION_LENGTH,
    FOLDER_SIZE,
    ONE_READ,
    LEFTOVERS,
    MACHINE_PATHS,
    SCENARIOS,
    ONE_DOOR,
    PI,
    CLAUDE_CODE,
    STORE_TRAITS,
    ERROR_TEXTS,
];

/// Runs every check and prints every problem.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    let repo = Repo::load(root)?;
    let mut broken = 0;
    for check in ALL {
        let problems = (check.problems)(&repo);
        println!("{:6} {}", if problems.is_empty() { "ok" } else { "BROKEN" }, check.holds);
        for problem in &problems {
            println!("       {problem}");
        }
        broken += usize::from(!problems.is_empty());
    }
    if broken == 0 {
        return Ok(());
    }
    Err(Failure::failed(format!("{broken} of {} rules are broken", ALL.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(check: &Check) {
        let repo = Repo::load(&crate::root()).unwrap();
        let problems = (check.problems)(&repo);
        assert!(problems.is_empty(), "{}:\n{}", check.holds, problems.join("\n"));
    }

    #[test]
    fn dependencies_point_left_only() {
        holds(&DIRECTION);
    }

    #[test]
    fn outside_dependencies_stay_in_their_room() {
        holds(&THIRD_PARTY);
    }

    #[test]
    fn every_source_file_opens_with_what_it_owns() {
        holds(&OPENING);
    }

    #[test]
    fn core_is_no_std_and_every_crate_takes_the_lints() {
        holds(&CRATE_HEADS);
    }

    #[test]
    fn the_environment_is_read_in_one_file() {
        holds(&ENVIRONMENT);
    }

    #[test]
    fn output_is_written_in_one_file() {
        holds(&OUTPUT);
    }

    #[test]
    fn there_are_no_mutable_globals() {
        holds(&GLOBALS);
    }

    #[test]
    fn functions_stay_under_80_lines() {
        holds(&FUNCTION_LENGTH);
    }

    #[test]
    fn a_source_folder_holds_at_most_15_entries() {
        holds(&FOLDER_SIZE);
    }

    #[test]
    fn one_read_fits_on_two_screens() {
        holds(&ONE_READ);
    }

    #[test]
    fn nothing_is_left_for_later() {
        holds(&LEFTOVERS);
    }

    #[test]
    fn documents_name_no_machine_paths() {
        holds(&MACHINE_PATHS);
    }

    #[test]
    fn scenarios_are_complete() {
        holds(&SCENARIOS);
    }

    #[test]
    fn operations_are_told_apart_in_one_place() {
        holds(&ONE_DOOR);
    }

    #[test]
    fn pi_is_named_only_in_its_own_places() {
        holds(&PI);
    }

    #[test]
    fn a_local_store_is_named_only_where_one_is_constructed() {
        holds(&STORE_TRAITS);
    }

    #[test]
    fn errors_become_words_only_in_tables() {
        holds(&ERROR_TEXTS);
    }
}
