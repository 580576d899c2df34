//! Prints the history.

use super::CommandHelper;
use crate::CommitId;

pub struct LogArgs {
    pub limit: Option<usize>,
    pub reversed: bool,
}

pub fn cmd_log(helper: &CommandHelper, args: &LogArgs, head: CommitId) -> Vec<String> {
    let mut lines: Vec<String> = (0..=head.0).rev().map(|number| CommitId(number).to_string()).collect();
    if args.reversed {
        lines.reverse();
    }
    lines.truncate(args.limit.unwrap_or(usize::MAX));
    if helper.quiet { Vec::new() } else { lines }
}
