//! Short random runs, always the same, of agents that pass handles back: `cargo xtask soundness --mcp` plays longer ones.
#![allow(clippy::expect_used, reason = "tests and their helpers")]

use readproof_engine::{ReplayedLog, Unverifiable, Wrong};
use readproof_testkit::{
    mcp::{replayed, run, script},
    op::Random,
    report::Report,
    run::shrink::plays,
};

/// Operations in one workspace.
const RUN: usize = 80;

#[test]
fn what_agents_are_told_can_be_rebuilt_from_what_they_see() {
    let mut report = Report::default();
    for seed in [1, 2, 3] {
        report.add(&plays(script, run, seed, 2000).unwrap_or_else(|broken| panic!("{broken}")));
    }
    let table = report.table();
    assert!(report.empty_cells().len() < 8, "short answers are missing after {:?}\n{table}", report.empty_cells());
}

/// Every recorded answer can be replayed, except for texts that the run itself removed or altered.
#[test]
fn what_agents_were_told_comes_out_again() {
    let mut seeds = Random::new(11);
    let (mut verified, mut gone) = (0, 0);
    for _ in 0..25 {
        let (world, ops) = (seeds.bits(), script(seeds.bits(), RUN));
        for session in replayed(world, &ops).expect("the harness works") {
            verified += session.verified;
            let altered = |what: &Wrong| matches!(what, Wrong::DamagedObject(_));
            let wrong: Vec<String> = session
                .wrong
                .iter()
                .filter(|f| !altered(&f.what))
                .map(|f| format!("{:?} {:?}", f.entry, f.what))
                .collect();
            assert!(wrong.is_empty(), "world {world}: {:?}: {wrong:?}", session.session);
            for finding in &session.unverifiable {
                // What the log of calls cannot verify it says by design; what is wrong in it counts above.
                let expected = session.of == ReplayedLog::Calls
                    || matches!(
                        finding.what,
                        Unverifiable::Sensitive
                        | Unverifiable::TextMissing(_)
                        | Unverifiable::BaseMissing(_)
                        // A write that the disk refused after it was announced.
                        | Unverifiable::Unfinished
                    );
                assert!(expected, "world {world}: {:?} {:?}: {:?}", session.session, finding.entry, finding.what);
                gone += 1;
            }
        }
    }
    assert!(verified > 400 && gone > 0, "{verified} verified, {gone} gone");
}
