//! The `readproof` command from outside: arguments, output, and what is left on disk. One file per task of a user;
//! every test runs the real binary in its own workspace.
#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests and their helpers")]

mod approvals;
mod approvals_killed;
mod audit;
mod bad_input;
mod bridge;
mod delivery;
mod demo;
mod diff;
mod discovery;
mod doctor_hosts;
mod faulty_store;
mod find;
mod gc_pi;
mod held;
mod help;
mod history;
mod init;
mod init_permissions;
mod init_pi;
mod init_plugin;
mod interrupted;
mod names;
mod patches;
mod pi_sessions;
mod policy;
mod queries;
mod reads;
mod regressions;
mod replay;
mod retention;
mod rewinds;
mod sessions;
mod settings;
mod status;
mod strange_store;
mod symbols;
mod traces;
mod upkeep;
mod wall;
mod workspace;
mod writes;
