//! Sends bookmarks to a remote.

use super::DEFAULT_REMOTE;
use crate::commands::CommandHelper;

pub struct PushArgs {
    pub remote: Option<String>,
    pub bookmarks: Vec<String>,
    pub dry_run: bool,
}

pub fn cmd_git_push(helper: &CommandHelper, args: &PushArgs) -> Result<String, String> {
    let remote = args.remote.as_deref().unwrap_or(DEFAULT_REMOTE);
    let visible: Vec<&String> = args.bookmarks.iter().filter(|name| !is_hidden(name)).collect();
    if visible.is_empty() {
        return Err(format!("nothing to push to {remote}"));
    }
    let verb = if args.dry_run { "would send" } else { "sent" };
    if helper.quiet { Ok(String::new()) } else { Ok(format!("{verb} {} bookmarks to {remote}", visible.len())) }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('_')
}
