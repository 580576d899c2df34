//! Compares the working file, or text that would replace it, with a version in git. The file is read once, its lines
//! never count as held, and no program is run. A version that cannot be read is an error; no other one takes its place.

use readproof_core::{
    diff::{Side, fit, patches},
    operation::{Against, Compare},
    text::Text,
};
use readproof_disk::{
    Baseline, Compare as GitCompare, Compared as GitCompared, FileRef, GitError, GitMode, Kept, LocateError,
    SessionName, StandsIn, Working, WorkingError, looks_binary,
};

use crate::{CompareNotice, Control, Engine, Error, Notice, Settings, StoodOn, read::Glimpse};

/// How the new version differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffStatus {
    /// It does not.
    Unchanged,
    /// Its bytes.
    Modified,
    /// Only its executable bit.
    ModeChanged,
    /// It became another kind of file, such as a symbolic link.
    TypeChanged,
    /// The baseline has no file at this path.
    Added,
    /// The baseline has no file at this path, and git does not track it.
    Untracked,
    /// The working file is gone.
    Deleted,
}

impl DiffStatus {
    /// The identifier used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Modified => "modified",
            Self::ModeChanged => "mode_changed",
            Self::TypeChanged => "type_changed",
            Self::Added => "added",
            Self::Untracked => "untracked",
            Self::Deleted => "deleted",
        }
    }
}

/// A diff, or as much of it as fits.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The file, relative to the workspace root.
    pub path: String,
    /// The file as the diff names it, relative to the repository root.
    pub name: String,
    /// What it was compared with.
    pub against: Against,
    /// The commit that is checked out; none for `WORKTREE` or if there is no commit yet.
    pub commit: Option<String>,
    /// The git object of the baseline's version, if it has one.
    pub blob: Option<String>,
    /// How it differs.
    pub status: DiffStatus,
    /// Whether a version is binary; the diff then only says that they differ.
    pub binary: bool,
    /// The diff; empty if nothing differs.
    pub text: String,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// Hunks that are shown whole, and their total.
    pub hunks: (u32, u32),
    /// Lines of the diff that are shown, and their total.
    pub lines: (u32, u32),
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

impl Compared {
    /// Whether part of the diff was left out; it is then not a valid patch.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.lines.0 < self.lines.1
    }

    /// What a trailer says after the path.
    #[must_use]
    pub fn summary(&self) -> String {
        let short = |id: &String| id.chars().take(7).collect::<String>();
        let baseline = match self.against {
            Against::Head => self.commit.as_ref().map(|id| format!(" ({})", short(id))),
            Against::Index => self.blob.as_ref().map(|id| format!(" (blob {})", short(id))),
            Against::WorkTree => None,
        };
        let lines = |count: u32| if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
        let counts = format!("{} added, {} removed", lines(self.added), self.removed);
        let what = match self.status {
            DiffStatus::Unchanged => "unchanged, the diff is empty".to_owned(),
            _ if self.binary => format!("{}, binary", self.status.as_str()),
            DiffStatus::Modified => counts,
            DiffStatus::ModeChanged => "only its mode changed".to_owned(),
            DiffStatus::TypeChanged => format!("another kind of file, {counts}"),
            DiffStatus::Added | DiffStatus::Untracked => format!("new, {counts}"),
            DiffStatus::Deleted => format!("deleted, {counts}"),
        };
        format!("against {}{}: {what}", self.against.as_str(), baseline.unwrap_or_default())
    }
}

/// Both versions of the file, whichever git or the caller provides.
struct Pair {
    name: String,
    commit: Option<String>,
    old: Option<Kept>,
    new: Option<Kept>,
    tracked: bool,
    notices: Vec<Notice>,
}

impl Engine {
    /// Compares a working file, or text that would replace it, with the baseline.
    pub(crate) fn compare(
        &self,
        log: Option<&SessionName>,
        asked: &Compare,
        control: &Control<'_>,
    ) -> Result<Compared, Error> {
        let call = self.asked_in(log);
        let mut found = self.compared(asked, control)?;
        // Without a log nobody needs to know which lines were shown, and a diff may have millions.
        if log.is_none() {
            return Ok(found);
        }
        let shown = match (asked.against, &asked.content) {
            (_, None) => Glimpse::diff(&found.path, &found.text, '+'),
            (Against::WorkTree, Some(_)) => Glimpse::diff(&found.path, &found.text, '-'),
            // Neither side is the current file, though both are versions of it.
            (Against::Head | Against::Index, Some(_)) => Glimpse::somewhere(&found.path),
        };
        let shown = Some(shown).filter(|_| !found.text.is_empty());
        let notices = self.saw(log, call, shown.into_iter());
        found.notices.extend(notices);
        Ok(found)
    }

    fn compared(&self, asked: &Compare, control: &Control<'_>) -> Result<Compared, Error> {
        if asked.path.is_empty() {
            return Err(Error::EmptyPath);
        }
        if asked.against == Against::WorkTree && asked.content.is_none() {
            return Err(Error::NoContent);
        }
        let max = self.shared.settings.file_bytes;
        if let Some(content) = asked.content.as_ref().filter(|content| content.len() as u64 > max) {
            return Err(Error::TooLarge { path: asked.path.clone(), bytes: content.len() as u64, max });
        }
        let (file, pair) = self.both(asked, control)?;
        control.check_cancelled()?;
        if self.is_recorded() {
            self.notes_pair(&file, &pair);
        }
        shown(file.key().to_string(), pair, asked, control)
    }

    /// Notes both sides of a comparison, where both are text.
    fn notes_pair(&self, file: &FileRef, pair: &Pair) {
        let path = file.key().as_str();
        if self.shared.sensitive.is_sensitive(&self.root, file) {
            return self.stands_on(|| StoodOn::sensitive(path));
        }
        let side = |kept: &Option<Kept>| match kept {
            None => Some(("-".to_owned(), None)),
            Some(kept) => {
                let text = Text::from_bytes(kept.bytes.clone()).ok().filter(|_| !kept.binary)?;
                Some((format!("{} {}", kept.mode.as_str(), text.hash()), Some(text)))
            }
        };
        let (Some(old), Some(new)) = (side(&pair.old), side(&pair.new)) else {
            return self.stands_on(|| StoodOn::unkept(path));
        };
        for text in [&old.1, &new.1].into_iter().flatten() {
            self.stands_on(|| StoodOn::text(path, text));
        }
        self.notes_input("name", || pair.name.clone());
        self.notes_input("old", || old.0);
        self.notes_input("new", || new.0);
    }

    /// The diff between the two sides that a record stands on; `None` if it names no such sides.
    pub(crate) fn compared_again(
        asked: &Compare,
        (path, name): (&str, &str),
        sides: [(&str, Option<&Text>); 2],
    ) -> Option<Result<Compared, Error>> {
        let kept = |(said, text): (&str, Option<&Text>)| {
            if said == "-" {
                return Some(None);
            }
            let (mode, _) = said.split_once(' ')?;
            let mode = GitMode::ALL.into_iter().find(|known| known.as_str() == mode)?;
            Some(Some(Kept { mode, bytes: text?.as_str().as_bytes().to_vec(), binary: false, id: None }))
        };
        let [old, new] = sides;
        let (old, new) = (kept(old)?, kept(new)?);
        let pair = Pair { name: name.to_owned(), commit: None, old, new, tracked: true, notices: Vec::new() };
        Some(shown(path.to_owned(), pair, asked, &Control::WAIT))
    }

    /// The first candidate name that exists on either side.
    fn both(&self, asked: &Compare, control: &Control<'_>) -> Result<(FileRef, Pair), Error> {
        self.refuse_back_through_link(&asked.path)?;
        let names = self.names_for(&asked.path);
        let mut missing = Vec::new();
        for file in self.root.names(&names) {
            match self.root.working(&file, &self.snapshot_rules()) {
                Ok(Working::Missing) => missing.push(file),
                Ok(working) => {
                    control.check_cancelled()?;
                    let pair = self.pair(&file, working, asked, control)?;
                    return Ok((file, pair));
                }
                Err(WorkingError::Git(error)) => return Err(error.into()),
                Err(WorkingError::Snapshot(error)) => return Err(error.into()),
            }
        }
        let mut last = None;
        for file in missing {
            control.check_cancelled()?;
            let pair = self.pair(&file, Working::Missing, asked, control)?;
            if pair.old.is_some() || pair.new.is_some() {
                // The first candidate is the literal name; a new file gets that one, not one of its variants.
                if pair.old.is_some() {
                    return Ok((file, pair));
                }
                last = last.or(Some((file, pair)));
            }
        }
        if let Some(found) = last {
            return Ok(found);
        }
        let source = self.root.locate(&names).err().unwrap_or(LocateError::Missing { asked: asked.path.clone() });
        Err(self.not_there(&asked.path, source))
    }

    fn pair(&self, file: &FileRef, working: Working, asked: &Compare, control: &Control<'_>) -> Result<Pair, Error> {
        let baseline = match asked.against {
            Against::Head => Baseline::Head,
            Against::Index => Baseline::Index,
            Against::WorkTree => return beside_content(file.key().as_str(), working, asked),
        };
        let content = asked.content.as_deref();
        let Settings { git: settings, git_files: settings_files, file_bytes: max_bytes, .. } = &self.shared.settings;
        let ask = GitCompare {
            baseline,
            settings: *settings,
            settings_files,
            content,
            max_bytes: *max_bytes,
            cancelled: control.cancelled,
        };
        let compared = self.root.compare(file, working, &ask).map_err(|error| {
            if matches!(error, GitError::Cancelled { .. }) { Error::Aborted } else { Error::Git(error) }
        })?;
        let notices = notices(&compared, asked);
        let GitCompared { name, commit, old, new, in_index, .. } = compared;
        Ok(Pair { name, commit, old, new, tracked: in_index, notices })
    }
}

/// The working file's bytes and the other text: what a write would change, so git's filters are not applied.
fn beside_content(name: &str, working: Working, asked: &Compare) -> Result<Pair, Error> {
    let kept = |bytes: Vec<u8>, mode| Kept { mode, binary: looks_binary(&bytes), bytes, id: None };
    let old = match working {
        Working::Missing => None,
        Working::Folder => return Err(GitError::Folder { name: name.to_owned() }.into()),
        Working::Link { .. } => return Err(GitError::ContentForLink { name: name.to_owned() }.into()),
        Working::File { bytes, executable: true } => Some(kept(bytes, GitMode::Executable)),
        Working::File { bytes, executable: false } => Some(kept(bytes, GitMode::Plain)),
    };
    let mode = old.as_ref().map_or(GitMode::Plain, |old| old.mode);
    let new = asked.content.as_ref().map(|content| kept(content.clone().into_bytes(), mode));
    Ok(Pair { name: name.to_owned(), commit: None, old, new, tracked: true, notices: Vec::new() })
}

/// What must be said so that nobody takes the diff for another.
fn notices(compared: &GitCompared, asked: &Compare) -> Vec<Notice> {
    let (against, new) = (asked.against.as_str(), compared.new.is_some());
    let mut said = Vec::new();
    if compared.commit.is_none() && asked.against == Against::Head {
        said.push(CompareNotice::NoCommit);
    } else if compared.old.is_none() && new {
        said.push(if compared.intended {
            CompareNotice::OnlyName
        } else if compared.in_index {
            CompareNotice::NotInBaseline { against }
        } else {
            CompareNotice::Untracked { against }
        });
    } else if compared.old.is_some() && new && !compared.in_index {
        said.push(CompareNotice::NotInIndex);
    }
    if let Some(old) = &compared.renamed_from {
        said.push(CompareNotice::RenamedFrom(old.clone()));
    }
    if compared.conflicted {
        said.push(CompareNotice::Conflicted);
    }
    match compared.stands_in {
        Some(StandsIn::AssumedUnchanged) => said.push(CompareNotice::AssumedUnchanged),
        Some(StandsIn::SkipWorktree) => said.push(CompareNotice::SkipWorktree),
        None => {}
    }
    if compared.lfs {
        said.push(CompareNotice::Lfs);
    } else if compared.cleaned {
        said.push(CompareNotice::Cleaned);
    }
    said.into_iter().map(Notice::Compared).collect()
}

fn shown(path: String, pair: Pair, asked: &Compare, control: &Control<'_>) -> Result<Compared, Error> {
    let Pair { name, commit, old, new, tracked, mut notices } = pair;
    let status = status(old.as_ref(), new.as_ref(), tracked);
    let same = old.as_ref().map(|old| &old.bytes) == new.as_ref().map(|new| &new.bytes);
    // A change of the kind of file is two diffs, one that removes and one that adds.
    let apart = status == DiffStatus::TypeChanged;
    let is = |kept: &Option<Kept>| kept.as_ref().is_some_and(|kept| kept.binary);
    // An empty file that is added or removed has nothing to leave out.
    let full = |kept: &Option<Kept>| kept.as_ref().is_some_and(|kept| !kept.bytes.is_empty());
    let hidden = |kept: &Option<Kept>| {
        if apart { is(kept) && full(kept) } else { (is(&old) || is(&new)) && (full(&old) || full(&new)) }
    };
    let (hide_old, hide_new) = (hidden(&old), hidden(&new));
    let blob = old.as_ref().and_then(|old| old.id.clone());
    let given = asked.content.is_some();
    let (old_is, new_is) = match asked.against {
        Against::Head | Against::Index if given => ("the baseline's version", "content"),
        Against::Head | Against::Index => ("the baseline's version", "the working file"),
        Against::WorkTree => ("the working file", "content"),
    };
    let show = !same || apart;
    let text = |kept: Option<Kept>, hide: bool, whose| match kept {
        Some(kept) if show && !hide => {
            let text = Text::from_bytes(kept.bytes).map_err(|why| Error::Bytes { path: path.clone(), whose, why });
            Ok(Some((kept.mode, Some(text?))))
        }
        Some(kept) => Ok(Some((kept.mode, None))),
        None => Ok::<_, Error>(None),
    };
    let (old, new) = (text(old, hide_old, old_is)?, text(new, hide_new, new_is)?);
    let all =
        patches(&name, side(old.as_ref(), same), side(new.as_ref(), same), control.cancelled).ok_or(Error::Aborted)?;
    notices.extend(all.iter().find_map(|patch| too_large(patch.blocks)));
    let (added, removed) =
        all.iter().fold((0, 0), |(added, removed), patch| (added + patch.added, removed + patch.removed));
    let fitted = fit(&all, asked.most.lines, asked.most.chars);
    let binary = status != DiffStatus::Unchanged && show && (hide_old || hide_new);
    Ok(Compared {
        path,
        name,
        against: asked.against,
        commit,
        blob,
        status,
        binary,
        text: fitted.text,
        added,
        removed,
        hunks: fitted.hunks,
        lines: fitted.lines,
        notices,
    })
}

/// The diff is exact and yet not the smallest: nobody shall take its counts for what was changed.
fn too_large((old, new): (u32, u32)) -> Option<Notice> {
    (old > 0 || new > 0).then_some(Notice::Compared(CompareNotice::TooLarge { old, new }))
}

fn side(version: Option<&(GitMode, Option<Text>)>, same: bool) -> Option<Side<'_>> {
    version.map(|(mode, text)| Side { mode: mode.as_str(), text: text.as_ref(), same })
}

fn status(old: Option<&Kept>, new: Option<&Kept>, tracked: bool) -> DiffStatus {
    match (old, new) {
        (None, _) if tracked => DiffStatus::Added,
        (None, _) => DiffStatus::Untracked,
        (Some(_), None) => DiffStatus::Deleted,
        (Some(old), Some(new)) if (old.mode == GitMode::Link) != (new.mode == GitMode::Link) => DiffStatus::TypeChanged,
        (Some(old), Some(new)) if old.bytes != new.bytes => DiffStatus::Modified,
        (Some(old), Some(new)) if old.mode != new.mode => DiffStatus::ModeChanged,
        (Some(_), Some(_)) => DiffStatus::Unchanged,
    }
}
