//! Words for what is said beside an answer.

use readproof_disk::{KnownBy, PutAside, View};
use readproof_engine::{CompareNotice, Error, LogAfter, Notice, ShownText};

use crate::{
    Terms,
    engine::{error, no_index, unindexed},
    stores::{log, store},
};

/// What a [`Notice`] is in words.
#[must_use]
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Shown(shown) => shown.to_string(),
        Notice::Setting(said) | Notice::Reduced(said) => said.clone(),
        Notice::NoIndexYet => {
            "the index is not made yet: only files that contain the name were looked at, and similar names are missing"
                .to_owned()
        }
        Notice::Decoded(View { encoding, known_by }) => {
            let declared = match known_by {
                KnownBy::Mark | KnownBy::Guess => "",
                KnownBy::GitAttributes => " (as git's attributes declare)",
                KnownBy::EditorConfig => " (as .editorconfig declares)",
            };
            format!("decoded from {encoding}{declared}, so this is not the file byte for byte")
        }
        Notice::NotRecovered { files, why } => {
            let files = if files.is_empty() { String::new() } else { format!(" in {}", files.join(", ")) };
            let why = crate::Surface::Cli.error(why);
            format!("a change of several files that was interrupted is still half made{files}: {why}")
        }
        Notice::SoAlready(path) => format!("{path} was so already; nothing was written"),
        Notice::InsteadOf(asked) => format!("there is no `{asked}`; this is the only file whose name ends so"),
        Notice::NotStored { text, why } => {
            let what = match text {
                ShownText::This => "this text",
                ShownText::Earlier => "an earlier text",
            };
            format!("{what} was not stored, so a later change is sent as plain text: {}", store(why))
        }
        Notice::NotRemembered { why, log } => {
            format!("nothing is remembered of this answer: {}{}", error(Terms::PLAIN, why), log_after(log))
        }
        Notice::HistoryPutAside { kept, .. } => format!(
            "the log of the workspace's versions is damaged: it is kept as .readproof/log/{kept}, and a new one is begun; \
             earlier versions and open conflicts are not listed any more"
        ),
        Notice::StorePutAside(PutAside { why, aside }) => {
            let what = "so nothing in it counts: it was put aside as";
            format!("the store `.readproof` {}, {what} `{aside}`, and a new one is begun", why.as_str())
        }
        Notice::IndexInMemory(why) => {
            format!("the index of symbols is not stored and is made anew each time: {}", no_index(why))
        }
        Notice::Unindexed(missed) => unindexed(missed),
        Notice::Compared(compared) => compare(compared),
        Notice::NotAudited { calls: 0, why } => {
            format!("the audit log could not be signed: {}", error(Terms::PLAIN, why))
        }
        Notice::NotAudited { calls, why } => without_line(*calls, "audit log", why),
        Notice::NotLogged { calls, why } => without_line(*calls, "query log", why),
        Notice::NotWitnessed(why) => format!("the checkpoint of the audit log was not taken elsewhere: {why}"),
        Notice::AuditPutAside(name) => format!(
            "the audit log was not as it had been signed: it was put aside as `{name}`, and a new one is begun; see `readproof audit verify`"
        ),
    }
}

/// Each of them in words.
#[must_use]
pub fn notices(said: &[Notice]) -> Vec<String> {
    said.iter().map(notice).collect()
}

fn without_line(calls: u64, log: &str, why: &Error) -> String {
    let s = if calls == 1 { " has" } else { "s have" };
    format!("{calls} call{s} no line in the {log}: {}", error(Terms::PLAIN, why))
}

fn log_after(after: &LogAfter) -> String {
    match after {
        LogAfter::None => String::new(),
        LogAfter::Kept(kept) => format!("; its log is kept as .readproof/log/{kept} and the session begins anew"),
        LogAfter::InTheWay { session, why } => {
            format!("; use another session than {session}, as its log cannot be put aside ({})", log(why))
        }
    }
}

fn compare(said: &CompareNotice) -> String {
    match said {
        CompareNotice::NoCommit => "there is no commit yet, so everything is new".to_owned(),
        CompareNotice::OnlyName => "only its name is in the index (git add -N)".to_owned(),
        CompareNotice::NotInBaseline { against } => format!("it is in the index, not in {against} under this name"),
        CompareNotice::Untracked { against } => {
            format!("git does not track it: not in {against} under this name, shown as added")
        }
        CompareNotice::NotInIndex => {
            "it is no longer in the index: git itself calls it deleted and the working file untracked".to_owned()
        }
        CompareNotice::RenamedFrom(old) => {
            format!("likely renamed from `{old}`, which had the same bytes and is gone")
        }
        CompareNotice::Conflicted => "a merge left several versions of it in the index".to_owned(),
        CompareNotice::AssumedUnchanged => {
            "marked assume-unchanged: as in git, the index's version stands for the working file".to_owned()
        }
        CompareNotice::SkipWorktree => {
            "not checked out (skip-worktree): as in git, the index's version stands for the working file".to_owned()
        }
        CompareNotice::Lfs => "kept by Git LFS: this compares pointers, not the file itself".to_owned(),
        CompareNotice::Cleaned => {
            "line ends, encoding and keywords are as git keeps them, not as in the working file".to_owned()
        }
        CompareNotice::TooLarge { old, new } => format!(
            "too large to compare line by line: {old} lines of the baseline and {new} new ones stand as replaced blocks, whatever they \
             have in common; compare parts of them with mode=file and ranges"
        ),
    }
}
