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
