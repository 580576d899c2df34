//! Words for what disk cannot open, read or replace.

use readproof_core::policy::{Layer, Rule};
use readproof_disk::{
    BadPattern, Conflicting, LocateError, NOTE, NoEffect, NoWall, NoWatch, Obstacle, PolicyError, PolicyWarning,
    ReplaceAllError, ReplaceError, RootError, SnapshotError, TranscriptError,
};
use std::path::Path;

use crate::{Terms, core::not_text, stores::store};

/// What keeps a file from being changed, in words.
#[must_use]
pub fn obstacle(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Link => "a symbolic link stands there now",
        Obstacle::Folder => "a folder stands there now",
        Obstacle::NoFolder => "a file stands where its folder was",
        Obstacle::NotAFile => "no regular file stands there now",
        Obstacle::HardLinked => "it has other names, and the setting `hard_links` says to leave such files",
        Obstacle::ReadOnly => "its permissions, those of its folder or the disk do not let it be changed",
    }
}

/// What a [`LocateError`] is in words.
#[must_use]
pub fn locate(terms: Terms<'_>, error: &LocateError) -> String {
    match error {
        LocateError::Missing { asked } => {
            format!("`{}` does not exist; check the name or list the folder", terms.name(asked))
        }
        LocateError::Outside { asked, root } => match terms.hidden {
            None => format!("`{asked}` lies outside the workspace `{root}`; only names inside it can be used"),
            Some((_, asked)) => {
                format!("`{asked}` lies outside the workspace `{root}`; only names inside it can be used")
            }
        },
        LocateError::NulInName => "the name holds a NUL byte; leave it out".to_owned(),
        LocateError::NameTooLong { len } => {
            format!("the name is too long ({len} bytes; 255 per part and 4096 in all are possible); use a shorter one")
        }
        LocateError::LinkLoop { name } => format!(
            "`{}` leads through links in a circle, or through one that only the kernel can follow; name the file itself",
            terms.name(name)
        ),
        LocateError::LinkOut { name } => format!(
            "`{}` is or leads through a link out of the workspace (a link with an absolute target counts as such); \
             name a file inside it",
            terms.name(name)
        ),
        LocateError::Denied { name } => {
            format!("this user may not look at `{}`; change the permissions of its folders", terms.name(name))
        }
        LocateError::Refused(refusal) => refused(terms.name(&refusal.name)),
        LocateError::Io { name, source } => format!("`{}` cannot be looked at: {source}; try again", terms.name(name)),
    }
}

/// The rule itself is for the person who wrote it: what it says can name what is denied.
pub(crate) fn refused(name: &str) -> String {
    format!(
        "a rule of this workspace does not allow that for `{name}`; `readproof policy check {name}` tells a person which"
    )
}

/// What a [`RootError`] is in words.
#[must_use]
pub fn root(terms: Terms<'_>, error: &RootError) -> String {
    let shown = |path: &Path| terms.name(&path.display().to_string()).to_owned();
    match error {
        RootError::Missing { path } => format!("the directory `{}` does not exist; give an existing one", shown(path)),
        RootError::NotADirectory { path } => {
            format!("`{}` is not a directory; give the directory that holds it", shown(path))
        }
        RootError::Denied { path } => {
            format!("this user may not open the directory `{}`; change its permissions or give another", shown(path))
        }
        RootError::NotUtf8 { path } => format!("the name of the directory `{}` is not UTF-8; rename it", shown(path)),
        RootError::NoTarget { path } => {
            format!("`{}` is a link to a file that does not exist; create that file or remove the link", shown(path))
        }
        RootError::NotOurs { path } => {
            format!("a link leads to `{}`, which belongs to another user; it is left alone", shown(path))
        }
        RootError::Io { path, source } => {
            format!("the directory `{}` cannot be opened: {source}; check it and try again", shown(path))
        }
    }
}

/// What a [`SnapshotError`] is in words.
#[must_use]
pub fn snapshot(error: &SnapshotError) -> String {
    match error {
        SnapshotError::Missing { name } => format!("`{name}` no longer exists; list its folder"),
        SnapshotError::LinkOut { name } => {
            format!("`{name}` leads through a link out of the workspace; name a file inside it")
        }
        SnapshotError::LinkLoop { name } => format!("`{name}` leads through links in a circle; name the file itself"),
        SnapshotError::Refused(refusal) => refused(&refusal.name),
        SnapshotError::Denied { name } => format!("this user may not read `{name}`; change its permissions"),
        SnapshotError::NotAFile { name, kind } => format!("`{name}` is {kind}, not a file; name a regular file"),
        SnapshotError::HardLinked { name, links } => format!(
            "`{name}` is one of {links} hard links to the same file, which the settings refuse; use a copy or allow hard links"
        ),
        SnapshotError::TooLarge { name, len, max } => {
            format!("`{name}` has {len} bytes, more than the {max} that are read; search in it or raise the limit")
        }
        SnapshotError::Changing { name } => {
            format!("`{name}` changed during each of 3 reads; try again when its writer is done")
        }
        SnapshotError::Ours { name } => {
            format!("`{name}` is a temporary file of readproof and is not read; name the file that it was made for")
        }
        SnapshotError::Busy { name } => {
            format!("`{name}` is being replaced by another program, which has not finished; try again")
        }
        SnapshotError::Unrestored { name, source } => format!(
            "`{name}` holds a text that a killed program had only begun to put there, and what belongs there cannot be put \
             back: {source}; make its folder writable and read it again"
        ),
        SnapshotError::NotText { name, why } => {
            format!("`{name}` is not text: {}; use a tool for binary files", not_text(why))
        }
        SnapshotError::Io { name, source } => format!("`{name}` cannot be read: {source}; try again"),
    }
}

/// What a [`ReplaceAllError`] is in words.
#[must_use]
pub fn replace_all(error: &ReplaceAllError) -> String {
    match error {
        ReplaceAllError::Journal(why) => {
            format!(
                "several files can only be changed together with a journal, and nothing was written: {}",
                store(why)
            )
        }
        ReplaceAllError::TooLarge { bytes, max } => format!(
            "the change is too large to be made as a whole: its journal would have {bytes} bytes, more than {max}; make it \
             in parts"
        ),
        ReplaceAllError::BadStep { name } => {
            format!("the change names `{name}` twice or without a text, and nothing was written; name each file once")
        }
        ReplaceAllError::Step { source, left, unrestored } => {
            let mut said = replace(source);
            if !left.is_empty() {
                said.push_str("; meanwhile another program changed ");
                said.push_str(&listed(left));
                said.push_str(", which stays as it is now");
            }
            match unrestored {
                None => said.push_str("; the other files of the change are as they were"),
                Some(why) => {
                    said.push_str("; other files of the change could not be put back yet, the next call tries again: ");
                    said.push_str(&replace(why));
                }
            }
            said
        }
    }
}

/// The names of files, quoted.
#[must_use]
pub fn listed(files: &[Conflicting]) -> String {
    files.iter().map(|file| format!("`{}`", file.path)).collect::<Vec<_>>().join(", ")
}

/// What a [`ReplaceError`] is in words.
#[must_use]
pub fn replace(error: &ReplaceError) -> String {
    match error {
        ReplaceError::NotAFile { name, kind } => format!("`{name}` is {kind}, not a file; name a regular file"),
        ReplaceError::OwnStore { name } => {
            format!("`{name}` belongs to readproof's store and is not written; name another file")
        }
        ReplaceError::InGit { name } => format!(
            "`{name}` belongs to git: what is in `.git` decides what git runs, so it is not written; use git for that"
        ),
        ReplaceError::Ours { name } => {
            format!("`{name}` is a name of readproof's temporary files and is not written; use another name")
        }
        ReplaceError::Unfinished { name } => {
            format!("`{name}` is part of another change over several files that is not over yet; try again")
        }
        ReplaceError::Busy { name } => {
            format!("another program is writing in the folder of `{name}` and has not finished; try again")
        }
        ReplaceError::InTheWay { name } => format!(
            "beside `{name}` stands a `{NOTE}` that this user's readproof did not make, and nothing was written; remove it \
             and try again"
        ),
        ReplaceError::HardLinked { name } => {
            format!("`{name}` has several hard links, which the settings refuse; write a copy or allow hard links")
        }
        ReplaceError::Changed { name } => format!(
            "`{name}` was created, changed or removed by another program while it was edited, and nothing was written; read it again and \
             repeat the edit"
        ),
        ReplaceError::LinkOut { name } => {
            format!("`{name}` leads through a link out of the workspace; name a file inside it")
        }
        ReplaceError::LinkLoop { name } => format!("`{name}` leads through links in a circle; name the file itself"),
        ReplaceError::NoFolder { name } => {
            format!("the folder of `{name}` is not a folder or cannot be created; check the parents of the name")
        }
        ReplaceError::NameTooLong { name } => format!("the name `{name}` is too long; use a shorter one"),
        ReplaceError::Denied { name } => {
            format!("this user may not write `{name}` or its folder; change the permissions or write elsewhere")
        }
        ReplaceError::ReadOnly { name } => format!("`{name}` lies on a read-only file system; write elsewhere"),
        ReplaceError::Full { name } => {
            format!("there is no space left to write `{name}`, which is unchanged; free some and try again")
        }
        ReplaceError::Io { name, source } => format!("`{name}` cannot be written: {source}; try again"),
    }
}

/// What a [`TranscriptError`] is in words.
#[must_use]
pub fn transcript(error: &TranscriptError) -> String {
    match error {
        TranscriptError::Missing { path } => {
            format!("the transcript `{}` does not exist; name the host's session file", path.display())
        }
        TranscriptError::Denied { path } => {
            format!("this user may not read the transcript `{}`; change its permissions", path.display())
        }
        TranscriptError::NotAFile { path, kind } => {
            format!("the transcript `{}` is {kind}, not a file; name the host's session file", path.display())
        }
        TranscriptError::TooLarge { path, len, max } => format!(
            "the transcript `{}` has {len} bytes, more than the {max} that are read; start a new session",
            path.display()
        ),
        TranscriptError::Io { path, source } => {
            format!("the transcript `{}` cannot be read: {source}; try again", path.display())
        }
    }
}

/// What a [`BadPattern`] is in words.
#[must_use]
pub fn pattern(error: &BadPattern) -> String {
    let BadPattern { pattern, reason } = error;
    format!("the sensitive pattern `{pattern}` is not a valid glob: {reason}; correct it or leave it out")
}

/// What a [`PolicyError`] is in words: the file, the line and what to do. Until it is put right nothing is answered.
#[must_use]
pub fn policy(error: &PolicyError) -> String {
    let (file, line) = error.place();
    let place = if line == 0 { file.to_owned() } else { format!("{file}:{line}") };
    let why = match error {
        PolicyError::Unreadable { source, .. } => format!("it cannot be read: {source}"),
        PolicyError::LinkOut { .. } => "it is a link out of the workspace".to_owned(),
        PolicyError::NotAFile { .. } => "it is no regular file".to_owned(),
        PolicyError::TooLarge { len, max, .. } => format!("it has {len} bytes, more than the {max} that are read"),
        PolicyError::NotUtf8 { .. } => "it is not UTF-8".to_owned(),
        PolicyError::Syntax { reason, .. } => reason.trim_end().to_owned(),
        PolicyError::Value { key, value, .. } => format!("`{key}` cannot be {value}"),
        PolicyError::TooManyPatterns { max, .. } => format!("it has more than {max} patterns"),
        PolicyError::TooComplex { reason } => return format!("the rules cannot be compiled together: {reason}"),
    };
    format!("{place}: the policy cannot be used, so nothing is answered: {why}; put it right or remove it")
}

/// What a [`NoWatch`] is in words.
#[must_use]
pub fn no_watch(why: &NoWatch) -> String {
    match why {
        NoWatch::Unsupported => "this system does not tell which files change".to_owned(),
        NoWatch::Limit => {
            "the system allows no more watches; raise fs.inotify.max_user_watches or max_user_instances".to_owned()
        }
        NoWatch::Gone => "the workspace was removed or moved".to_owned(),
        NoWatch::Io(source) => source.to_string(),
    }
}

/// What a [`NoWall`] is in words.
#[must_use]
pub fn no_wall(why: &NoWall) -> String {
    match why {
        NoWall::Unsupported => "there is no wall, although `wall = \"landlock\"` asks for one: this system cannot (it takes \
                                Linux 5.19 or newer with Landlock switched on), so only the program's own checks keep it \
                                inside the workspace"
            .to_owned(),
        NoWall::Failed { reason } => {
            format!("the wall that `wall = \"landlock\"` asks for could not be raised, so nothing is done: {reason}")
        }
    }
}

/// What a [`PolicyWarning`] is in words.
#[must_use]
pub fn policy_warning(warning: &PolicyWarning) -> String {
    let PolicyWarning { file, line, text, why } = warning;
    let why = match why {
        NoEffect::NoActs => "it is for no act".to_owned(),
        NoEffect::NoCallers => "it is for no caller".to_owned(),
        NoEffect::NoPaths => "no pattern of it can match".to_owned(),
        NoEffect::Outside => "it leads out of the workspace".to_owned(),
        NoEffect::Blank => "nothing is left of the pattern, or no name has such a part".to_owned(),
        NoEffect::Malformed => "the pattern is malformed and matches nothing".to_owned(),
        NoEffect::NothingToExcept => "nothing before it is excluded, so there is nothing to except".to_owned(),
        NoEffect::AllowedAnyway => "everything is allowed by default, and an allow wins over no ask or deny".to_owned(),
        NoEffect::Duplicate { of } => format!("line {of} says the same"),
        NoEffect::NotFromWorkspace => "only the user's own settings can decide that".to_owned(),
        NoEffect::PresetInForce => "the preset in force does all of it already".to_owned(),
    };
    format!("{file}:{line}: `{text}` has no effect: {why}")
}

/// Where a rule stands.
#[must_use]
pub fn policy_rule(rule: &Rule) -> String {
    let place = match (&*rule.file, rule.line) {
        ("", _) => policy_layer(rule.layer),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    };
    match &rule.reason {
        Some(reason) => format!("{place}: `{}` ({reason})", rule.text),
        None => format!("{place}: `{}`", rule.text),
    }
}

/// The source of a rule.
#[must_use]
pub fn policy_layer(layer: Layer) -> String {
    match layer {
        Layer::Preset(preset) => format!("preset {}", preset.as_str()),
        Layer::Given => "flags and environment".to_owned(),
        Layer::User => "the user's file".to_owned(),
        Layer::Workspace => "readproof.toml".to_owned(),
        Layer::WorkspacePreset(preset) => format!("preset {} of readproof.toml", preset.as_str()),
        Layer::Ignore(dialect) => dialect.as_str().to_owned(),
    }
}
