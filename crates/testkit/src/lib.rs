//! Random runs, scenarios and load tests through the real disk and the real entry points, judged by `readproof-reader`. What
//! the model sees is modelled here independently, from the calls alone: nothing is taken from the product's own knowledge.
#![allow(
    missing_docs,
    reason = "a name that says everything needs no comment; the crate is only used in this workspace"
)]

pub mod ask;
pub mod contended;
pub mod edits;
pub mod load;
pub mod memory;
pub mod scenario;
pub mod soundness;

pub use soundness::{changes, claude, glimpse, hidden, mcp, op, pi, report, run, world, world::kept};

/// Where programs under test keep the id of their user, so that the developer's own stays untouched.
#[must_use]
pub fn state_dir() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("readproof-tests-{}", readproof_disk::user_id()))
}

/// The person's choice in runs in which nobody can be asked: only rules that are written down ask or deny.
#[must_use]
pub fn nobody_asks() -> readproof_disk::PolicySources {
    readproof_disk::PolicySources {
        preset: Some(readproof_core::policy::Preset::Open),
        ..readproof_disk::PolicySources::default()
    }
}

/// The default settings under that choice.
#[must_use]
pub fn open_settings() -> readproof_engine::Settings {
    readproof_engine::Settings { policy: nobody_asks(), ..readproof_engine::Settings::default() }
}
