//! Random runs: operations through the real engine, on a real disk or with a store in memory ([`world::kept`]); every answer judged at once by the reader from what
//! the model can see. [`run`] plays Readproof's own sessions, [`pi`] pi's, [`mcp`] agents that return handles. [`hidden`]
//! compares answers in workspaces that differ only in denied files.

pub mod changes;
pub mod claude;
pub mod glimpse;
pub mod hidden;
pub mod mcp;
pub mod op;
pub mod pi;
pub mod report;
pub mod run;
pub mod world;
