//! Makes an edit and compares the outcome with the intent, and with what git makes of it.

use readproof_core::{
    edit::{EditError, FileChange, Piece, parse_patch, place},
    text::Text,
};
use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};
use tempfile::TempDir;

use super::written::{Case, Request};
use crate::world::Broken;

pub(super) enum Outcome {
    Exact,
    Loose,
    Refused,
    Other,
}

/// What git did with a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Git {
    Refused,
    Took,
    /// It made something else of it than was meant, and we did not.
    Misplaced,
}

pub(super) struct Judged {
    pub(super) outcome: Outcome,
    pub(super) wrong: Option<String>,
    /// What git did; `None` if it was not asked.
    pub(super) git: Option<Git>,
}

pub(super) struct Judge {
    folder: TempDir,
}

impl Judge {
    pub(super) fn new() -> Result<Self, Broken> {
        Ok(Self { folder: tempfile::tempdir()? })
    }

    pub(super) fn judge(&self, case: &Case) -> Result<Judged, Broken> {
        let base = Text::new(case.base.clone());
        let pieces = match &case.request {
            Request::Pieces(pieces) => Some(pieces.clone()),
            Request::Patch(text) => parsed(text),
        };
        let made = pieces.as_ref().map(|pieces| place(&base, pieces, case.numbers));
        let (after, mut outcome) = match &made {
            Some(Ok(edit)) if edit.assumed.is_empty() => (Some(edit.after.as_str()), Outcome::Exact),
            Some(Ok(edit)) => (Some(edit.after.as_str()), Outcome::Loose),
            Some(Err(_)) | None => (None, Outcome::Refused),
        };
        let mut wrong = None;
        if after.is_some() && after != case.intended.as_deref() {
            let mut pieces = pieces.iter().flatten().zip(&case.starts);
            if case.intended.is_some() && pieces.any(|(piece, start)| is_elsewhere(case, piece, *start)) {
                outcome = Outcome::Other;
            } else {
                wrong = Some(told(case, after.unwrap_or_default()));
            }
        }
        if matches!(made, Some(Err(EditError::Unverified))) {
            wrong = Some("the result was not verified".to_owned());
        }
        let mut git = None;
        if let (true, Request::Patch(patch)) = (case.git, &case.request) {
            let theirs = self.git(&case.base, patch)?;
            git = Some(if theirs.is_some() { Git::Took } else { Git::Refused });
            let tied = matches!(made, Some(Err(EditError::Many { .. } | EditError::NoContext { .. })));
            if let Some(theirs) = theirs.filter(|theirs| !tied && Some(theirs.as_str()) != after) {
                if after.is_some() && after == case.intended.as_deref() {
                    return Ok(Judged { outcome, wrong, git: Some(Git::Misplaced) });
                }
                let ours = made.map(|made| made.map(|edit| edit.after.as_str().to_owned()));
                wrong.get_or_insert(format!("git made {theirs:.300?} of {patch:?}, not {ours:.300?}"));
            }
        }
        Ok(Judged { outcome, wrong, git })
    }

    /// What git makes of a file; `None` if it refuses.
    fn git(&self, base: &str, patch: &str) -> Result<Option<String>, Broken> {
        let name = self.folder.path().join("f");
        fs::write(&name, base)?;
        let mut git = Command::new("git")
            .args(["apply", "--whitespace=nowarn", "-"])
            .current_dir(self.folder.path())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GIT_CEILING_DIRECTORIES", self.folder.path().parent().unwrap_or(self.folder.path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut input) = git.stdin.take() {
            // It may stop reading at the first bad line.
            let _ = input.write_all(patch.as_bytes());
        }
        let took = git.wait()?.success();
        Ok(if took { Some(fs::read_to_string(&name)?) } else { None })
    }
}

fn parsed(text: &str) -> Option<Vec<Piece>> {
    let (_, mut files) = parse_patch(text).ok()?;
    match (files.pop()?.change, files.is_empty()) {
        (FileChange::Edit(pieces), true) => Some(pieces),
        _ => None,
    }
}

/// Whether the text that is looked for stands in the file to the byte, but not where it is meant: then another place was asked for.
fn is_elsewhere(case: &Case, piece: &Piece, start: usize) -> bool {
    let there = case.base.get(start..).is_some_and(|rest| rest.trim_start_matches('\u{feff}').starts_with(&piece.old));
    !piece.old.is_empty() && !there && case.base.contains(&piece.old)
}

fn told(case: &Case, after: &str) -> String {
    let request = match &case.request {
        Request::Pieces(pieces) => format!("{pieces:?}"),
        Request::Patch(text) => format!("{text:?}"),
    };
    let (a, b) = (case.intended.as_deref().unwrap_or("(refused)"), after);
    let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let from = text.floor_char_boundary(at.saturating_sub(80));
        let until = text.floor_char_boundary((at + 120).min(text.len()));
        text[from.min(until)..until].to_owned()
    };
    format!("meant {:?}, made {:?} by {request:.1500}", part(a), part(b))
}
