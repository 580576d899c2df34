//! Words for what a replay finds.

use readproof_disk::LogError;
use readproof_engine::{NotAllowed, OutsideChange, Unverifiable, Wrong};

use crate::{Terms, core::scope, stores::log};

/// What an [`Unverifiable`] is in words.
#[must_use]
pub fn unverifiable(error: &Unverifiable) -> String {
    match error {
        Unverifiable::Sensitive => "the file is sensitive, so nothing of it was stored".to_owned(),
        Unverifiable::TextMissing(hash) => format!("its text sha256-{hash} is not stored, or no longer"),
        Unverifiable::BaseMissing(hash) => format!("its base sha256-{hash} is not stored any more"),
        Unverifiable::Unknown { what, word } => {
            format!("it was made under {what} `{word}`, which this readproof does not know")
        }
        Unverifiable::UnknownRecord => "the record is of a kind this readproof does not know".to_owned(),
        Unverifiable::Newer => "the log was written by a newer readproof; use that one".to_owned(),
        Unverifiable::Unfinished => {
            "a write was begun here and its outcome is not recorded: it was refused, failed or was cut off".to_owned()
        }
        Unverifiable::Hidden => "a rule hides its file".to_owned(),
        Unverifiable::Erased(hash) => format!("its text sha256-{hash} was erased"),
        Unverifiable::NotKept => {
            "the text that it stood on was not kept: it is no text, too large, or the call was part of no session"
                .to_owned()
        }
        Unverifiable::NotRerun => {
            "its answer follows from more than stored texts, so it cannot be run again".to_owned()
        }
        Unverifiable::NoText => "it looked at no text: kind and size of what a path leads to are not stored".to_owned(),
        Unverifiable::OtherVersionLog => {
            "it lists changes of a log of versions that was put aside, or is not there".to_owned()
        }
        Unverifiable::NotLogged(calls) => {
            let s = if *calls == 1 { "" } else { "s" };
            format!("{calls} call{s} could not be written to this log")
        }
        Unverifiable::Failed(code) => format!("it failed with {code} for what was there then"),
        Unverifiable::PutAside(why) => {
            let why = if let LogError::Damaged { line, .. } = why {
                format!("it is damaged at line {line}")
            } else {
                log(why)
            };
            format!("the rest of this log, which was put aside, cannot be read: {why}")
        }
    }
}

/// What a [`Wrong`] is in words.
#[must_use]
pub fn wrong(error: &Wrong) -> String {
    match error {
        Wrong::Log(source) => log(source),
        Wrong::DamagedObject(hash) => {
            format!("the object sha256-{hash}.txt is damaged: it is not the text of its name")
        }
        Wrong::Request(source) => format!("the request cannot be meant: {}", scope(Terms::PLAIN, source)),
        Wrong::Differs { field, recorded, replayed } => {
            format!("{field} differs: recorded {recorded}, replayed {replayed}")
        }
        Wrong::NotAllowed(why) => format!("what was held before it does not allow this answer: {}", not_allowed(*why)),
        Wrong::NotAnnounced => "no entry before it says that this file is about to be written".to_owned(),
        Wrong::NotThatEdit(first, last, count) => {
            format!("the text after it is not the text before it with lines {first}-{last} replaced by {count} lines")
        }
        Wrong::Hidden => "it does not come out the same; a rule hides its file".to_owned(),
        Wrong::NotAlike => "lines that it calls the same in two texts are not".to_owned(),
        Wrong::NotDefined => "the definition is not in the text that it was read from".to_owned(),
        Wrong::NotFound => "a line that it showed is not in the text of its file, or does not match".to_owned(),
        Wrong::NoSuchChange => "a change that it listed is not in the log of versions".to_owned(),
        Wrong::NotThatPatch => "the change does not turn the text before it into the text after it".to_owned(),
    }
}

fn not_allowed(why: NotAllowed) -> String {
    match why {
        NotAllowed::NothingHeld => "nothing is held".to_owned(),
        NotAllowed::Elsewhere => "it was asked for where the conversation no longer was".to_owned(),
        NotAllowed::Distrusted => "the host was seen to change results".to_owned(),
        NotAllowed::Unconfirmed => "an earlier answer about this file was not confirmed".to_owned(),
        NotAllowed::MeanwhileChanged => "what came in since it was asked for changed what is held".to_owned(),
        NotAllowed::NoBase(reason) => reason.sentence().to_owned(),
        NotAllowed::HeldInPart => "not all of the base was held".to_owned(),
        NotAllowed::OtherBase(base) => format!("the base would be sha256-{base}"),
    }
}

/// What an [`OutsideChange`] is in words.
#[must_use]
pub fn outside_change(change: &OutsideChange) -> String {
    let OutsideChange { last, before } = change;
    match before {
        Some(before) => {
            format!("someone else had changed the file: it was sha256-{last} and this replaced sha256-{before}")
        }
        None => format!("someone else had removed the file, which was sha256-{last}"),
    }
}
