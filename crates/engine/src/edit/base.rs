//! The text that an edit is meant for: the one under which the model holds the lines that it changes. It is unknown where the
//! model holds none of them, or holds them of several texts.

use readproof_core::{
    edit::{Edit, EditError, Numbers, Piece, place},
    knowledge::Knowledge,
    limits::Answers,
    operation::Read,
    path::PathKey,
    text::{ContentHash, Form, Text},
};
use readproof_disk::{FileRef, Snapshot};

use crate::{Conversation, Engine};

/// What the text is that changes are meant for.
pub(super) enum Base {
    /// This one, with the changes made in it.
    Known(Text, Box<Edit>),
    /// Nothing is known of it, and in the text that is there the changes cannot be made.
    Refused(EditError),
    /// Nothing is known of it.
    Unknown,
}

/// The most texts that are looked at.
const MOST_TEXTS: usize = 8;

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

    /// The one text under which all lines that these changes touch are held, with the changes made in it.
    pub(super) fn base_of(&self, (key, held): (&PathKey, &Knowledge), pieces: &[Piece], present: &Text) -> Base {
        let mut hashes: Vec<ContentHash> = Vec::new();
        for version in held.of(key).iter().flat_map(|span| span.versions()).filter(|version| version.form == Form::Disk)
        {
            if !hashes.contains(&version.hash) && hashes.len() < MOST_TEXTS {
                hashes.push(version.hash);
            }
        }
        let mut found = Base::Unknown;
        for hash in hashes {
            let is_present = hash == present.hash();
            let Some(text) = (if is_present { Some(present.clone()) } else { self.stored(hash) }) else { continue };
            let edit = match place(&text, pieces, Numbers::BreakTies) {
                Ok(edit) => edit,
                Err(source) => {
                    let same_without_numbers = pieces.iter().all(|piece| piece.line.is_none());
                    if let (true, true, Base::Unknown) = (is_present, same_without_numbers, &found) {
                        found = Base::Refused(source);
                    }
                    continue;
                }
            };
            // A loose match in a text that is gone may be an exact one in the text that is there.
            if !edit.assumed.is_empty() && !is_present {
                continue;
            }
            let is_held = |lines| held.holds_lines_of(key, lines, text.id(), Answers::Held);
            if !edit.hunks.iter().all(|hunk| is_held(hunk.old)) {
                continue;
            }
            if let Base::Known(..) = found {
                return Base::Unknown;
            }
            found = Base::Known(text, Box::new(edit));
        }
        found
    }
}
