//! Random runs and scenarios through the real disk and the real entry points, judged by `readproof-reader`. What the
//! model sees is modelled here anew, from the calls alone: nothing is taken from the product's own knowledge.

pub mod glimpse;
pub mod load;
pub mod mcp;
pub mod op;
pub mod pi;
pub mod report;
pub mod run;
pub mod scenario;
pub mod world;

/// Where programs that are tried keep the id of their user: not where the person's own is.
#[must_use]
pub fn state_dir() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("readproof-tests-{}", readproof_disk::user_id()))
}
