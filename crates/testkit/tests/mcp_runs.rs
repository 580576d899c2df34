//! Random runs of agents that return handles, short and always the same: `cargo xtask soundness --mcp` plays longer ones.
#![allow(clippy::expect_used, reason = "tests and their helpers")]

use readproof_testkit::{
    mcp::{Kind, run, script},
    op::Random,
    report::Report,
    run::shrink::shrink,
};

/// Operations in one workspace.
const RUN: usize = 80;

fn plays(seed: u64, steps: u64) -> Report<Kind> {
    let (mut seeds, mut report) = (Random::new(seed), Report::default());
    while report.steps < steps {
        let (world, ops) = (seeds.bits(), script(seeds.bits(), RUN));
        let outcome = run(world, &ops).expect("the harness works");
        report.add(&outcome.report);
        if let Some((at, what)) = outcome.violation {
            let breaks = |ops: &[_]| Ok(run(world, ops)?.violation.is_some());
            let shortest = shrink(&ops[..=at], breaks).expect("the harness works");
            let trace = run(world, &shortest).expect("the harness works").trace.join("\n  ");
            panic!("seed {seed}, step {}: {what}\n  {trace}", report.steps);
        }
    }
    report
}

#[test]
fn what_agents_are_told_can_be_rebuilt_from_what_they_see() {
    let mut report = Report::default();
    for seed in [1, 2, 3] {
        report.add(&plays(seed, 2000));
    }
    let table = report.table();
    assert!(report.empty_cells().len() < 8, "short answers are missing after {:?}\n{table}", report.empty_cells());
}
