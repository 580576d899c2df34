//! What a call will make of one file, worked out before anything is touched: the text that is there, the text that will be,
//! the lines that change for someone who holds the base, and the words for the model.

use readproof_core::{
    diff::{assumption, made},
    edit::{Assumed, Edit, Numbers, Piece, answer, place, stated, too_many},
    knowledge::{Hunk, Keeps, Knowledge},
    limits::Answers,
    operation::{Caller, Over},
    path::{PathKey, label},
    policy::Act,
    text::{ContentHash, Form, Text},
};
use readproof_disk::{Create, FileRef, Snapshot, SnapshotError};
use readproof_hosts::versions::VersionId;

use super::{
    Wanted,
    base::Base,
    merge::{Merged, three_way},
};
use crate::{Conversation, Engine, Error, StoodOn};

/// The most lines and characters of a diff that an answer shows. What does not fit is not held, and the answer says so.
const SHOWN_LINES: u32 = 120;
const SHOWN_CHARS: usize = 12_000;

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

/// What is wanted of a file.
pub(crate) enum Intent<'a> {
    /// This text, whatever was there.
    Whole(&'a str),
    /// The same, where the call only names the text.
    Chosen(&'a str),
    /// The text that it had at an earlier moment, and its permissions if it comes back.
    Restored(&'a str, VersionId, Option<u32>),
    /// This text, where no file is.
    Create(&'a str),
    /// This text behind what is there.
    Append(&'a str),
    /// Changes of pieces of it.
    Pieces(&'a [Piece]),
    /// That it goes.
    Delete,
    /// The text of another file that goes, with changes.
    Arrive { from: FileRef, pieces: &'a [Piece] },
    /// That it goes, because its text arrives elsewhere.
    Leave,
}

impl Intent<'_> {
    /// What it does with the name.
    pub(super) fn act(&self) -> Act {
        match self {
            Self::Whole(_) | Self::Chosen(_) | Self::Restored(..) | Self::Create(_) | Self::Arrive { .. } => Act::Write,
            Self::Append(_) | Self::Pieces(_) => Act::Edit,
            Self::Delete | Self::Leave => Act::Delete,
        }
    }
}

/// What will be made of one file.
pub(crate) struct Plan {
    pub(super) file: FileRef,
    pub(super) path: String,
    /// The text that is there; `None` if there is no file.
    pub(super) before: Option<Text>,
    /// The text that will be there; `None` if the file goes.
    pub(super) after: Option<Text>,
    /// Whether a text was read under a sensitive name.
    pub(super) sensitive: bool,
    /// The permissions of the file that is there, or that a file which comes back had.
    pub(super) mode: Option<u32>,
    /// The file whose permissions it takes, and its name.
    pub(super) from: Option<FileRef>,
    /// The text that the model is told the change of, where that is not the text that is there.
    pub(super) base: Option<Text>,
    /// The lines that change, from the base or the text that is there. Empty for a whole file.
    pub(super) hunks: Vec<Hunk>,
    /// Whether the model knows all of the new text from its call.
    pub(super) whole: bool,
    pub(super) assumed: Vec<Assumed>,
    /// What the model is told.
    pub(super) said: String,
}

impl Plan {
    /// Whether the file stays as it is.
    pub(super) fn is_needless(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before.as_str() == after.as_str() && self.from.is_none(),
            (_, _) => false,
        }
    }

    /// The exact change of the file.
    pub(super) fn diff(&self) -> String {
        let empty = Text::new(String::new());
        let (before, after) = (self.before.as_ref().unwrap_or(&empty), self.after.as_ref().unwrap_or(&empty));
        if self.sensitive { String::new() } else { made(before, after, &self.path).diff }
    }
}

/// What is there now.
struct There {
    snapshot: Option<Snapshot>,
    sensitive: bool,
}

impl There {
    fn text(&self) -> Option<&Text> {
        self.snapshot.as_ref().map(|snapshot| &snapshot.text)
    }

    fn hash(&self) -> Option<ContentHash> {
        self.text().map(Text::hash)
    }

    /// The hash that a refusal may name: that of a secret tells something about it.
    fn told_hash(&self) -> Option<ContentHash> {
        self.hash().filter(|_| !self.sensitive)
    }
}

impl Engine {
    pub(super) fn plan<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        wanted: &Wanted<'_>,
    ) -> Result<Plan, Error> {
        let (file, over) = (&wanted.file, wanted.over);
        let there = self.there(file, &wanted.intent)?;
        if there.sensitive {
            self.stands_on(|| StoodOn::sensitive(file.key().as_str()));
        }
        let plan = Plan {
            file: file.clone(),
            path: file.key().to_string(),
            before: there.text().cloned(),
            after: None,
            sensitive: there.sensitive,
            mode: there.snapshot.as_ref().map(|read| read.stat.mode & PERMISSIONS),
            from: None,
            base: None,
            hunks: Vec::new(),
            whole: false,
            assumed: Vec::new(),
            said: String::new(),
        };
        let plan = match &wanted.intent {
            Intent::Whole(content) => {
                self.may_replace(conversation, file, &there, over)?;
                self.written(plan, content, "wrote")?
            }
            Intent::Chosen(content) => {
                self.may_replace(conversation, file, &there, over)?;
                Plan { whole: false, ..self.written(plan, content, "wrote")? }
            }
            Intent::Restored(content, to, mode) => {
                self.may_replace(conversation, file, &there, over)?;
                let mode = plan.mode.or(*mode);
                self.restored(Plan { mode, ..plan }, content, *to)?
            }
            Intent::Create(content) => match there.text() {
                Some(_) => return Err(Error::Exists { path: plan.path, actual: there.told_hash() }),
                None => self.written(plan, content, "created")?,
            },
            Intent::Append(content) => {
                self.expects(file, &there, over)?;
                self.appended(plan, content)?
            }
            Intent::Pieces(pieces) => self.edited(caller, conversation, plan, (pieces, over), &there)?,
            Intent::Delete => {
                self.may_replace(conversation, file, &there, over)?;
                Plan { said: say_deleted(&self.named_to_person(&plan.path)), ..plan }
            }
            Intent::Arrive { from, pieces } => match there.text() {
                Some(_) => return Err(Error::Exists { path: plan.path, actual: there.told_hash() }),
                None => self.arrived(conversation, plan, (from, pieces), over)?,
            },
            Intent::Leave => plan,
        };
        if let Some(after) = &plan.after {
            self.fits(file, after)?;
        }
        Ok(plan)
    }

    fn written(&self, plan: Plan, content: &str, word: &str) -> Result<Plan, Error> {
        let after = text_for(&plan.path, content.to_owned())?;
        let said = say_written(&self.named_to_person(&plan.path), word, &after);
        Ok(Plan { after: Some(after), whole: true, said, ..plan })
    }

    /// A text that the call does not say: what it changes is shown, or nothing of the file is held.
    fn restored(&self, plan: Plan, content: &str, to: VersionId) -> Result<Plan, Error> {
        let Some(before) = plan.before.clone() else {
            return Ok(Plan { whole: false, ..self.written(plan, content, "created")? });
        };
        let after = text_for(&plan.path, content.to_owned())?;
        let (hunks, said) = say_restored((&self.named_to_person(&plan.path), &plan.path), &before, &after, to);
        Ok(Plan { after: Some(after), hunks, said, ..plan })
    }

    fn appended(&self, plan: Plan, content: &str) -> Result<Plan, Error> {
        let Some(before) = plan.before.clone() else { return self.written(plan, content, "created") };
        let after = text_for(&plan.path, [before.as_str(), content].concat())?;
        let (hunks, said) = say_appended((&self.named_to_person(&plan.path), &plan.path), &before, &after);
        Ok(Plan { after: Some(after), hunks, said, ..plan })
    }

    /// A file that gets the text of another one, and perhaps changes.
    fn arrived<C: Conversation>(
        &self,
        conversation: &mut C,
        plan: Plan,
        (from, pieces): (&FileRef, &[Piece]),
        over: Over,
    ) -> Result<Plan, Error> {
        let there = self.there(from, &Intent::Delete)?;
        self.expects(from, &there, over)?;
        let Some(text) = there.text() else {
            return Err(Error::Snapshot(SnapshotError::Missing { name: from.key().to_string() }));
        };
        let after = match pieces {
            [] => text.clone(),
            pieces => {
                place(text, pieces, Numbers::Ignore)
                    .map_err(|source| self.refused(conversation, from, (text, pieces), source))?
                    .after
            }
        };
        let name = |path: &str| self.named_to_person(path);
        let said = say_moved((&name(from.key().as_str()), &name(&plan.path)), &after);
        let sensitive = plan.sensitive || there.sensitive;
        Ok(Plan { after: Some(after), from: Some(from.clone()), sensitive, said, ..plan })
    }

    /// Changes of pieces: placed in the text that the model holds, and carried over to the one that is there.
    fn edited<C: Conversation>(
        &self,
        caller: &Caller,
        conversation: &mut C,
        plan: Plan,
        (pieces, over): (&[Piece], Over),
        there: &There,
    ) -> Result<Plan, Error> {
        let file = plan.file.clone();
        let Some(snapshot) = &there.snapshot else {
            return Err(Error::Snapshot(SnapshotError::Missing { name: plan.path }));
        };
        let present = &snapshot.text;
        let known = match over {
            Over::Hash(hash) => {
                let (base, edit) = self.named_base(conversation, &file, hash, (pieces, there, present))?;
                Base::Known(Box::new((base, edit)))
            }
            Over::Held => match self.held_at_call(conversation, &file, snapshot) {
                Some((key, held)) => self.base_of((&key, &held), pieces, present),
                None => Base::Unknown,
            },
            Over::Anything => Base::Unknown,
        };
        let refused = |source| self.refused(conversation, &file, (present, pieces), source);
        let (base, edit) = match known {
            Base::Known(known) => *known,
            Base::Tied(hash) => return self.tied(conversation, &plan, (pieces, there, present), hash),
            Base::Refused(source) => return Err(refused(source)),
            Base::Unknown => {
                let edit = place(present, pieces, Numbers::Ignore).map_err(refused)?;
                return Ok(self.edited_in_place(plan, edit, pieces));
            }
        };
        if base.hash() == present.hash() {
            return Ok(self.edited_in_place(plan, edit, pieces));
        }
        match three_way(&base, &edit.after, present) {
            Merged::Clean(merged) => Ok(self.merged(plan, base, merged, edit.assumed)),
            Merged::Conflict(_) | Merged::TooLarge | Merged::Disputed => {
                Err(self.conflicted(caller, conversation, &plan, (&base, &edit.after, present)))
            }
        }
    }

    /// The refusal of an edit whose place in the text that the model holds is not the only one.
    fn tied<C: Conversation>(
        &self,
        conversation: &C,
        plan: &Plan,
        (pieces, there, present): (&[Piece], &There, &Text),
        hash: ContentHash,
    ) -> Result<Plan, Error> {
        // What is shown must be what stands in the file.
        match place(present, pieces, Numbers::Ignore) {
            Ok(_) => {
                let (path, actual) = (plan.path.clone(), there.told_hash());
                Err(Error::Precondition { path, expected: Some(hash), actual })
            }
            Err(source) => Err(self.refused(conversation, &plan.file, (present, pieces), source)),
        }
    }

    /// The base that the caller names by its hash.
    fn named_base<C: Conversation>(
        &self,
        conversation: &C,
        file: &FileRef,
        hash: ContentHash,
        (pieces, there, present): (&[Piece], &There, &Text),
    ) -> Result<(Text, Edit), Error> {
        let failed =
            || Error::Precondition { path: file.key().to_string(), expected: Some(hash), actual: there.told_hash() };
        let earlier = || {
            // A call without a conversation has not opened it yet.
            self.store(Create::No).ok()?;
            self.stored(hash).filter(|_| self.had_text(conversation.log(), file, hash))
        };
        let text = if hash == present.hash() { Some(present.clone()) } else { earlier() };
        // No text of a sensitive file is stored: one under this hash is another file's.
        let text = text.filter(|text| !there.sensitive || text.hash() == present.hash()).ok_or_else(failed)?;
        match place(&text, pieces, Numbers::BreakTies) {
            // A loose match in a text that is gone is none: the hash may be another than that of the text which the call was
            // written for, and nothing tells.
            Ok(edit) if hash == present.hash() || edit.assumed.is_empty() => Ok((text, edit)),
            Err(source) if hash == present.hash() => Err(self.refused(conversation, file, (present, pieces), source)),
            // What is shown must be what stands in the file.
            Ok(_) | Err(_) => match place(present, pieces, Numbers::Ignore) {
                Ok(_) => Err(failed()),
                Err(source) => Err(self.refused(conversation, file, (present, pieces), source)),
            },
        }
    }

    /// An edit of the text that is there. If one change matched exactly, its call says what the new lines are; otherwise the
    /// answer shows them.
    fn edited_in_place(&self, plan: Plan, edit: Edit, pieces: &[Piece]) -> Plan {
        let Some(before) = plan.before.clone() else { return plan };
        let (hunks, said) = say_edited((&self.named_to_person(&plan.path), &plan.path), &before, &edit, pieces);
        let Edit { after, assumed, .. } = edit;
        Plan { after: Some(after), hunks, assumed, said, ..plan }
    }

    /// An edit of an older text, with what others changed since.
    fn merged(&self, plan: Plan, base: Text, merged: Text, assumed: Vec<Assumed>) -> Plan {
        let (hunks, said) = say_merged((&self.named_to_person(&plan.path), &plan.path), &base, &merged, &assumed);
        Plan { base: Some(base), after: Some(merged), hunks, assumed, said, ..plan }
    }

    /// Refuses a text that would be too large to read again.
    fn fits(&self, file: &FileRef, after: &Text) -> Result<(), Error> {
        let (bytes, max) = (after.as_str().len() as u64, self.shared.settings.file_bytes);
        if bytes > max {
            return Err(Error::TooLarge { path: file.key().to_string(), bytes, max });
        }
        Ok(())
    }

    /// What is there. What cannot be stored is not replaced.
    fn there(&self, file: &FileRef, intent: &Intent<'_>) -> Result<There, Error> {
        match self.root.snapshot(file, &self.snapshot_rules()) {
            Ok(snapshot) => {
                let sensitive = self.shared.sensitive.is_sensitive_read(file, &snapshot);
                Ok(There { snapshot: Some(snapshot), sensitive })
            }
            Err(SnapshotError::Missing { .. }) => {
                Ok(There { snapshot: None, sensitive: self.shared.sensitive.is_sensitive(&self.root, file) })
            }
            Err(why @ (SnapshotError::NotText { .. } | SnapshotError::TooLarge { .. })) => match intent {
                Intent::Pieces(_) => Err(why.into()),
                Intent::Whole(_)
                | Intent::Restored(..)
                | Intent::Chosen(_)
                | Intent::Create(_)
                | Intent::Append(_)
                | Intent::Delete
                | Intent::Arrive { .. }
                | Intent::Leave => Err(Error::NotKept { path: file.key().to_string(), why }),
            },
            Err(other) => Err(other.into()),
        }
    }

    /// Whether the text that is there is the one that the caller names, if it names one.
    fn expects(&self, file: &FileRef, there: &There, over: Over) -> Result<(), Error> {
        match over {
            Over::Hash(hash) if there.hash() != Some(hash) => {
                let path = file.key().to_string();
                Err(Error::Precondition { path, expected: Some(hash), actual: there.told_hash() })
            }
            Over::Hash(_) | Over::Held | Over::Anything => Ok(()),
        }
    }

    /// Whether a whole file may go: the caller names its text, or the model holds all of it.
    fn may_replace<C: Conversation>(
        &self,
        conversation: &mut C,
        file: &FileRef,
        there: &There,
        over: Over,
    ) -> Result<(), Error> {
        self.expects(file, there, over)?;
        let (Over::Held, Some(snapshot)) = (over, &there.snapshot) else { return Ok(()) };
        let held = self.held_at_call(conversation, file, snapshot);
        let whole = |(key, held): &(PathKey, Knowledge)| held.holds_whole(key, Form::Disk, Answers::Held);
        let is_held = held.as_ref().and_then(whole).is_some_and(|version| version.hash == snapshot.text.hash());
        // Nothing of an empty file can be lost.
        if is_held || snapshot.text.as_str().is_empty() {
            return Ok(());
        }
        Err(Error::Precondition { path: file.key().to_string(), expected: None, actual: there.told_hash() })
    }
}

/// What the model is told of a file that got a text as a whole. All of these are also what a replay compares with; `name` is the file
/// as the person knows it.
pub(crate) fn say_written(name: &str, word: &str, after: &Text) -> String {
    format!("{word} {}: {} bytes, {} lines", label(name), after.as_str().len(), after.total())
}

/// Of a file that went.
pub(crate) fn say_deleted(name: &str) -> String {
    format!("deleted {}", label(name))
}

/// Of a file that got another name.
pub(crate) fn say_moved((from, to): (&str, &str), after: &Text) -> String {
    format!("moved {} to {}: {} lines", label(from), label(to), after.total())
}

/// Of a file that got an earlier text back.
pub(crate) fn say_restored(names: (&str, &str), before: &Text, after: &Text, to: VersionId) -> (Vec<Hunk>, String) {
    told(names, before, after, &[format!("as it was at {to}")])
}

/// Of a file that got longer.
pub(crate) fn say_appended((name, path): (&str, &str), before: &Text, after: &Text) -> (Vec<Hunk>, String) {
    let hunks = made(before, after, path).hunks.into_iter();
    let hunks: Vec<Hunk> = hunks.map(|hunk| Hunk { keeps: Keeps::Unknown, ..hunk }).collect();
    let said = answer(name, &hunks, after.total(), 1);
    (hunks, said)
}

/// Of an edit of the text that was there. If one change matched exactly, its call says what the new lines are.
pub(crate) fn say_edited(
    (name, path): (&str, &str),
    before: &Text,
    edit: &Edit,
    pieces: &[Piece],
) -> (Vec<Hunk>, String) {
    if !edit.assumed.is_empty() {
        let notes: Vec<String> = edit.assumed.iter().map(assumption).collect();
        return told((name, path), before, &edit.after, &notes);
    }
    let one = pieces.len() == 1;
    let keeps = |hunk: &Hunk| if one { *hunk } else { Hunk { keeps: Keeps::Unknown, ..*hunk } };
    let hunks: Vec<Hunk> = edit.hunks.iter().map(keeps).collect();
    let said = answer(name, &hunks, edit.after.total(), edit.count);
    (hunks, said)
}

/// Of an edit of an older text, with what others changed since.
pub(crate) fn say_merged(names: (&str, &str), base: &Text, merged: &Text, assumed: &[Assumed]) -> (Vec<Hunk>, String) {
    let mut notes: Vec<String> = assumed.iter().map(assumption).collect();
    notes.push("merged with what someone else changed since you read it; the diff shows both".to_owned());
    told(names, base, merged, &notes)
}

/// A text for a file, which must be one that can be read again.
pub(super) fn text_for(path: &str, content: String) -> Result<Text, Error> {
    let not_text = |why| SnapshotError::NotText { name: path.to_owned(), why };
    Ok(Text::from_bytes(content.into_bytes()).map_err(not_text)?)
}

/// The answer to a change that is more or other than its call says: where it is, what was assumed, and all of it as a diff.
fn told((name, path): (&str, &str), base: &Text, after: &Text, notes: &[String]) -> (Vec<Hunk>, String) {
    let made = made(base, after, path);
    let fits = made.diff.lines().count() <= SHOWN_LINES as usize && made.diff.len() <= SHOWN_CHARS;
    let place = stated(&made.hunks, after.total()).filter(|_| fits);
    let notes = notes.join("\n");
    match place {
        Some(place) => (made.hunks, format!("edited {}: {place}\n{notes}\n{}", label(name), made.diff)),
        None => {
            let (added, removed, count) = (made.added, made.removed, made.hunks.len());
            let first = too_many(name, after.total(), count);
            (Vec::new(), format!("{first}\n{notes} (+{added} -{removed} lines, not shown)"))
        }
    }
}
