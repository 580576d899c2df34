//! What the model of a pi session provably holds at a leaf, file by file, and which entry proves it. Read-only: records
//! nothing and creates no store.

use readproof_core::{
    decide::Mode,
    knowledge::{Held, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::Lines,
    text::{ContentHash, Form},
};
use readproof_disk::{Appended, Create, LocalStores, Objects, Root, SmallTexts, Stores, TranscriptFile, Whose};
use readproof_hosts::pi::{EntryRef, Known, Transcript};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Backing, texts::OBJECTS};
use crate::Error;

/// The largest session file that is read.
pub(super) const MOST: u64 = 1 << 30;

/// Which session file, and where in it.
#[derive(Clone, Debug)]
pub struct PiSession {
    /// The session file.
    pub file: PathBuf,
    /// The entry to look from; the last one if none is named.
    pub leaf: Option<String>,
    /// Where stored texts are; the folder in which the session ran if none is named.
    pub workspace: Option<PathBuf>,
    /// The home directory, for `~`.
    pub home: Option<String>,
    /// Which answers count.
    pub answers: Answers,
}

/// What is held at a leaf of a pi session.
#[derive(Clone, Debug)]
pub struct PiView {
    /// The folder in which the session ran; `None` if the file has no valid header.
    pub cwd: Option<String>,
    /// The leaf; `None` if there are no entries.
    pub leaf: Option<String>,
    /// The latest compaction on its branch.
    pub barrier: Option<String>,
    /// Number of entries on the branch since then.
    pub window: usize,
    /// Number of entries in the file.
    pub entries: usize,
    /// Number of lines that are neither header nor entry.
    pub skipped: usize,
    /// Number of compactions on all branches.
    pub compactions: usize,
    /// The folder of stored texts, if there is one. Without it, records of older versions of the extension do not
    /// count.
    pub objects: Option<String>,
    /// What is held, in order of paths.
    pub files: Vec<PiFile>,
    /// Calls without a result: tool and file.
    pub pending: Vec<(&'static str, Option<String>)>,
}

/// One file of which something is held.
#[derive(Clone, Debug)]
pub struct PiFile {
    /// Its absolute path.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// The lines held, in order.
    pub spans: Vec<PiSpan>,
}

/// Lines of one version of a file, and why they are held.
#[derive(Clone, Debug)]
pub struct PiSpan {
    /// The lines; `None` if only the end of the file is held.
    pub lines: Option<Lines>,
    /// Whether the end of the file is held.
    pub end: bool,
    /// The version they belong to.
    pub hash: ContentHash,
    /// How many lines it has.
    pub total: u32,
    /// The entry that showed them.
    pub entry: String,
    /// The tool whose result it is.
    pub tool: &'static str,
    /// How a read was answered.
    pub mode: Option<Mode>,
}

/// Reads a session file and derives what is held at one leaf.
///
/// # Errors
/// When the file or the workspace cannot be read, or there is no such entry.
pub fn pi_session(asked: &PiSession) -> Result<PiView, Error> {
    let mut file = TranscriptFile::open(&asked.file, MOST)?;
    let mut transcript = Transcript::new(asked.answers, asked.home.clone());
    loop {
        match file.appended()? {
            Appended::Nothing => break,
            Appended::More(lines) => transcript.append(&lines),
            Appended::Anew(lines) => {
                transcript = Transcript::new(asked.answers, asked.home.clone());
                transcript.append(&lines);
            }
        }
    }
    let root = match (&asked.workspace, transcript.cwd()) {
        (Some(workspace), _) => Some(Root::open(workspace)?),
        // The folder may be gone.
        (None, Some(cwd)) => Root::open(Path::new(cwd)).ok(),
        (None, None) => None,
    };
    if let Some((from, to)) = root.as_ref().and_then(super::super::alias) {
        transcript.rename(&from, &to);
    }
    let (texts, objects) = stored_texts(root.as_ref()).unzip();
    view(asked, &mut transcript, &Backing { file: Some(file), texts }, objects)
}

/// The texts stored beneath a workspace, and where they are.
fn stored_texts(root: Option<&Root>) -> Option<(Arc<dyn Objects>, String)> {
    let root = root?;
    let stores = LocalStores::new(root, Whose::default(), SmallTexts::default());
    let texts = stores.host_objects(&OBJECTS, Create::No).ok().flatten()?;
    Some((texts, format!("{}/{}", root.path().display(), OBJECTS.join("/"))))
}

fn view(
    asked: &PiSession,
    transcript: &mut Transcript,
    backing: &Backing,
    objects: Option<String>,
) -> Result<PiView, Error> {
    let leaf = match &asked.leaf {
        Some(id) => {
            let missing = || Error::NoHostEntry { file: asked.file.clone(), entry: id.clone() };
            Some(transcript.find(id).ok_or_else(missing)?)
        }
        None => transcript.last(),
    };
    let known = transcript.known_at(leaf, backing);
    let id = |entry: EntryRef| known.transcript().id(entry);
    let file = |(path, knowledge): (&PathKey, &Knowledge)| PiFile {
        path: path.to_string(),
        whole: knowledge.holds_whole(path, Form::Disk, asked.answers).is_some(),
        spans: knowledge.of(path).iter().map(|held| span(known, held)).collect(),
    };
    let pending = known.pending().into_iter();
    let counts = known.transcript().counts();
    Ok(PiView {
        cwd: known.transcript().cwd().map(str::to_owned),
        leaf: leaf.map(id),
        barrier: known.barrier().map(id),
        window: known.window(),
        entries: counts.entries,
        skipped: counts.skipped,
        compactions: counts.compactions,
        objects,
        files: known.files().map(file).collect(),
        pending: pending.map(|call| (call.tool, call.path.map(|path| path.to_string()))).collect(),
    })
}

fn span(known: Known<'_>, held: &Held) -> PiSpan {
    let why = known.why(held.at());
    PiSpan {
        lines: held.lines(),
        end: held.end(),
        hash: held.version().hash,
        total: held.version().total,
        tool: why.as_ref().map_or("", |why| why.tool),
        mode: why.as_ref().and_then(|why| why.mode),
        entry: why.map(|why| why.entry).unwrap_or_default(),
    }
}
