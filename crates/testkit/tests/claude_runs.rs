//! Short random runs of Claude Code's conversations, always the same: `cargo xtask soundness --claude` plays longer ones.

use readproof_testkit::{
    claude::{run, script},
    report::Report,
    run::shrink::plays,
};

#[test]
fn what_claude_code_is_told_can_be_rebuilt() {
    let mut report = Report::default();
    for seed in [1, 2] {
        report.add(&plays(script, run, seed, 4000).unwrap_or_else(|broken| panic!("{broken}")));
    }
    let table = report.table();
    assert!(report.empty_cells().len() < 5, "short answers are missing after {:?}\n{table}", report.empty_cells());
}
