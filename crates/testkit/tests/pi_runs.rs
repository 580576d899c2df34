//! Short random runs of pi sessions, always the same: `cargo xtask soundness --pi` plays longer ones.

use readproof_testkit::{
    pi::{run, script},
    report::Report,
    run::shrink::plays,
};

#[test]
fn what_pi_sessions_are_told_can_be_rebuilt() {
    let mut report = Report::default();
    for seed in [1, 2, 3] {
        report.add(&plays(script, run, seed, 4000).unwrap_or_else(|broken| panic!("{broken}")));
    }
    let table = report.table();
    assert!(report.empty_cells().len() < 5, "short answers are missing after {:?}\n{table}", report.empty_cells());
}
