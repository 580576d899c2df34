//! The commands of the program.

pub mod git;
pub mod log;

/// What every command gets.
pub struct CommandHelper {
    pub quiet: bool,
    pub arguments: Vec<String>,
}
