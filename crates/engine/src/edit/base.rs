//! The text that an edit is meant for: the one under which the model holds the lines that it changes. It is unknown where the
//! model holds none of them, or holds them of several texts.

use readproof_core::{
    diff::changed_lines,
    edit::{Edit, EditError, Numbers, Piece, place},
    knowledge::Knowledge,
    limits::Answers,
    operation::Read,
    path::PathKey,
    scope::Lines,
    text::{ContentHash, Form, Text},
};
use readproof_disk::{Create, FileRef, SessionName, Snapshot};
use readproof_hosts::block::Sha;
use std::collections::BTreeSet;

use crate::{Conversation, Engine};

/// The most texts that are looked at.
const MOST_TEXTS: usize = 8;

/// The text that an edit is meant for.
pub(super) enum Base {
    /// This one, with the changes made in it.
    Known(Box<(Text, Edit)>),
    /// This one, in which the model holds a place that is not the only one. The text that is there may have fewer, and cannot
    /// tell which is meant.
    Tied(ContentHash),
    /// Not known, and in the text that is there the changes cannot be made.
    Refused(EditError),
    /// Not known.
    Unknown,
}

impl Engine {
    /// What the model held of a file when the call was made; `None` if nothing can be relied on.
    pub(super) fn held_at_call<C: Conversation>(
        &self,
        conversation: &mut C,
        file: &FileRef,
        snapshot: &Snapshot,
    ) -> Option<(PathKey, Knowledge)> {
        conversation.log()?;
        let read = Read { path: file.key().to_string(), ..Read::default() };
        if conversation.begin(self, &read).is_some() {
            return None;
        }
        let context = conversation.context(self, &read, file, snapshot);
        if context.plain.is_some() {
            return None;
        }
        let key = conversation.key(file);
        let held = conversation.held(self, &context, &key).at_call()?;
        Some((key, held))
    }

    /// Whether a file had this text, as far as the version log or the conversation tells. A text that only another file had is no
    /// base: merged with what stands in this one it would change lines that nobody meant.
    pub(super) fn had_text(&self, conversation: Option<&SessionName>, file: &FileRef, hash: ContentHash) -> bool {
        let logged = self.logged_name(file);
        let is_recorded = self.with_versions(Create::No, |versions| {
            Ok(versions.of_path(&logged).any(|(_, _, file)| [file.before, file.after].contains(&Some(Sha(hash)))))
        });
        let is_same = |path: &str| {
            let other = self.new_file(&self.root.absolute(path)).map(|other| self.logged_name(&other));
            path == file.key().as_str() || other.is_ok_and(|other| other == logged)
        };
        let is_shown = |name: &SessionName| {
            let shown = self.with_session(name, Create::No, |session| {
                let of_text = session.transcript().answered().filter(|answer| answer.hash == Some(Sha(hash)));
                of_text.map(|answer| answer.path.clone()).collect::<BTreeSet<_>>()
            });
            shown.is_ok_and(|paths| paths.iter().any(|path| is_same(path)))
        };
        let is_shown = || match conversation {
            Some(name) => is_shown(name),
            // Whoever has no conversation has the hash from one, or from the version log.
            None => self.list_sessions().unwrap_or_default().iter().any(is_shown),
        };
        is_recorded.ok().flatten() == Some(true) || is_shown()
    }

    /// The one text under which all lines that these changes touch are held, with the changes made in it.
    pub(super) fn base_of(&self, (key, held): (&PathKey, &Knowledge), pieces: &[Piece], present: &Text) -> Base {
        let mut hashes: Vec<ContentHash> = Vec::new();
        for version in held.of(key).iter().flat_map(|span| span.versions()).filter(|version| version.form == Form::Disk)
        {
            if !hashes.contains(&version.hash) && hashes.len() < MOST_TEXTS {
                hashes.push(version.hash);
            }
        }
        let (mut found, mut otherwise): (Option<(Text, Edit)>, _) = (None, Base::Unknown);
        let same_without_numbers = pieces.iter().all(|piece| piece.line.is_none());
        for hash in hashes {
            let is_there = hash == present.hash();
            let Some(text) = (if is_there { Some(present.clone()) } else { self.stored(hash) }) else { continue };
            let is_held = |lines| held.holds_lines_of(key, lines, text.id(), Answers::Held);
            match place(&text, pieces, Numbers::BreakTies) {
                // A loose match in a text that is gone may be an exact one in the text that is there.
                Ok(edit) if !edit.assumed.is_empty() && !is_there => {}
                Ok(edit) if edit.hunks.iter().all(|hunk| is_held(hunk.old)) => {
                    let now = (text, edit);
                    match &found {
                        Some(before) if !same_places(before, &now) => {
                            return Base::Tied(if is_there { before.0.hash() } else { hash });
                        }
                        // Both mean the same lines: nothing has to be carried over from the text that is there.
                        Some(_) if !is_there => {}
                        Some(_) | None => found = Some(now),
                    }
                }
                Err(error) if !is_there && tied_places(pieces, &error).into_iter().any(is_held) => {
                    otherwise = Base::Tied(hash);
                }
                Err(error) if is_there && same_without_numbers && matches!(otherwise, Base::Unknown) => {
                    otherwise = Base::Refused(error);
                }
                Ok(_) | Err(_) => {}
            }
        }
        match found {
            Some(found) => Base::Known(Box::new(found)),
            None => otherwise,
        }
    }
}

/// Whether changes that were made in two texts are changes of the same lines.
fn same_places((one, first): &(Text, Edit), (other, second): &(Text, Edit)) -> bool {
    let changes = changed_lines(one, other);
    let moved = |lines: Lines| -> Option<Lines> {
        let (start, end) = (lines.first() - 1, lines.last());
        let mut by = 0;
        for (before, instead) in changes.iter().take_while(|(before, _)| before.start < end) {
            // What is only put in before the lines moves them.
            if before.end > start {
                return None;
            }
            by += i64::from(instead.end - instead.start) - i64::from(before.end - before.start);
        }
        let line = |line: u32| u32::try_from(i64::from(line) + by).ok();
        Lines::new(line(lines.first())?, line(lines.last())?)
    };
    let pairs = || first.hunks.iter().zip(&second.hunks);
    first.hunks.len() == second.hunks.len() && pairs().all(|(first, second)| moved(first.old) == Some(second.old))
}

/// The lines of the places that are alike, if that is why an edit cannot be made.
fn tied_places(pieces: &[Piece], error: &EditError) -> Vec<Lines> {
    let EditError::Many { piece, places, .. } = error else { return Vec::new() };
    let count = pieces.get(*piece).map_or(1, |piece| piece.old.lines().count().max(1));
    let more = u32::try_from(count - 1).unwrap_or(u32::MAX);
    places.iter().filter_map(|first| Lines::new(*first, first.saturating_add(more))).collect()
}
