//! Words for what a check and a collection find.

use readproof_engine::{HostSession, LISTED, Says, Unread};

use crate::{
    Terms,
    disk::transcript,
    engine::error,
    hosts::versions,
    stores::{log, store},
};

/// What a [`Says`] is in words.
#[must_use]
pub fn says(found: &Says) -> String {
    match found {
        Says::Plain(said) => said.clone(),
        Says::Error(source) => error(Terms::PLAIN, source),
        Says::Store(source) => store(source),
        Says::Log(source) => log(source),
        Says::HostSessions(found) => host_sessions(found),
    }
}

fn host_sessions(found: &[HostSession]) -> String {
    let shown = |found: &HostSession| match &found.unread {
        None => found.file.display().to_string(),
        Some(why) => format!("{} (not understood: {})", found.file.display(), unread(why)),
    };
    let (unread, read): (Vec<&HostSession>, Vec<&HostSession>) = found.iter().partition(|found| found.unread.is_some());
    let mut lines = vec![format!("{} session files of this workspace", found.len())];
    lines.extend(unread.iter().chain(&read).take(LISTED).map(|found| shown(found)));
    if found.len() > LISTED {
        lines.push(format!("and {} more", found.len() - LISTED));
    }
    lines.join("\n")
}

/// What an [`Unread`] is in words.
#[must_use]
pub fn unread(why: &Unread) -> String {
    match why {
        Unread::NoHeader => "it has no header of version 3".to_owned(),
        Unread::Newer => "it holds records of a newer readproof".to_owned(),
        Unread::Log(source) => log(source),
        Unread::Versions(source) => versions(source),
        Unread::File(source) => transcript(source),
        Unread::Needs(source) => error(Terms::PLAIN, source),
    }
}
