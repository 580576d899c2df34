//! Recordings as they are stored, and which transcripts of hosts are in the same folder. A recording is `NAME.events.jsonl` with one step of an agent per line, and `NAME.blobs.jsonl` with the texts
//! that the steps name by their hashes; either may be compressed (`.gz`). Reads files through `disk` only.

use flate2::bufread::MultiGzDecoder;
use readproof_disk::{TranscriptError, open_recording};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use crate::{TracesError, host, shown};

/// One step of an agent.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Event {
    /// The session.
    pub(crate) s: u64,
    /// The agent: the main one, or one that it started.
    pub(crate) a: String,
    /// What it did: the name of a tool, or what happened to the conversation.
    pub(crate) t: String,
    pub(crate) path: Option<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
    /// The first line that was served.
    pub(crate) start: Option<u64>,
    /// Lines of the file.
    pub(crate) total: Option<u64>,
    /// What a read was served, or a write wrote.
    pub(crate) blob: Option<String>,
    /// The file before an edit.
    pub(crate) before: Option<String>,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    /// Whether every occurrence was replaced.
    #[serde(default)]
    pub(crate) all: Option<bool>,
    #[serde(default)]
    pub(crate) err: Option<bool>,
}

/// What a step does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    Edit,
    Write,
    /// What was shown before is gone, or some of it.
    Compaction,
}

impl Event {
    pub(crate) fn step(&self) -> Option<Step> {
        match self.t.as_str() {
            "Read" => Some(Step::Read),
            "Edit" => Some(Step::Edit),
            "Write" => Some(Step::Write),
            // The smaller kind clears old results, and the recording does not say which.
            "compact_boundary" | "microcompact_boundary" => Some(Step::Compaction),
            _ => None,
        }
    }
}

/// All recordings of a folder.
pub(crate) struct Recorded {
    sessions: BTreeMap<u64, Vec<Event>>,
    texts: HashMap<String, String>,
    /// Transcripts of a host, each a session.
    transcripts: BTreeMap<u64, PathBuf>,
    /// Names and sizes of the files: a run goes on only with the same recordings.
    pub(crate) files: Vec<(String, u64)>,
}

/// One line of the file with the texts.
#[derive(Deserialize)]
struct Blob {
    h: String,
    s: String,
}

const EVENTS: &str = ".events.jsonl";
const TEXTS: &str = ".blobs.jsonl";

impl Recorded {
    pub(crate) fn open(folder: &Path) -> Result<Self, TracesError> {
        let mut recorded =
            Self { sessions: BTreeMap::new(), texts: HashMap::new(), transcripts: BTreeMap::new(), files: Vec::new() };
        let mut first = 0;
        for file in recordings_in(folder)? {
            let name = shown(&file);
            let bare = name.strip_suffix(".gz").unwrap_or(&name);
            if let Some(stem) = bare.strip_suffix(EVENTS) {
                let texts = [format!("{stem}{TEXTS}.gz"), format!("{stem}{TEXTS}")].map(PathBuf::from);
                recorded.take_texts(&texts, &file)?;
                first = recorded.take_events(&file, first)?;
            }
        }
        for file in host::transcripts(folder)? {
            recorded.files.push((shown(&file), open_recording(&file)?.1));
            recorded.transcripts.insert(first, file);
            first += 1;
        }
        if recorded.sessions.is_empty() && recorded.transcripts.is_empty() {
            return Err(TracesError::NothingRecorded { folder: folder.to_path_buf() });
        }
        Ok(recorded)
    }

    fn take_texts(&mut self, names: &[PathBuf], events: &Path) -> Result<(), TracesError> {
        let file = names.iter().find_map(|name| match open_recording(name) {
            Err(TranscriptError::Missing { .. }) => None,
            opened => Some((name, opened)),
        });
        let Some((name, opened)) = file else { return Err(TracesError::NoTexts { file: events.to_path_buf() }) };
        let (file, bytes) = opened?;
        self.files.push((shown(name), bytes));
        each_line(name, file, |line| {
            let Blob { h, s } = serde_json::from_str(line)?;
            self.texts.insert(h, s);
            Ok(())
        })
    }

    /// Numbers of sessions begin anew in every file; here they go on.
    fn take_events(&mut self, name: &Path, first: u64) -> Result<u64, TracesError> {
        let (file, bytes) = open_recording(name)?;
        self.files.push((shown(name), bytes));
        let mut next = first;
        each_line(name, file, |line| {
            let event: Event = serde_json::from_str(line)?;
            let session = first + event.s;
            next = next.max(session + 1);
            if event.step().is_some() && event.err != Some(true) {
                self.sessions.entry(session).or_default().push(event);
            }
            Ok(())
        })?;
        Ok(next)
    }

    pub(crate) fn sessions(&self, most: Option<usize>) -> Vec<u64> {
        self.sessions.keys().chain(self.transcripts.keys()).copied().take(most.unwrap_or(usize::MAX)).collect()
    }

    /// The transcript that is this session.
    pub(crate) fn transcript(&self, session: u64) -> Option<&Path> {
        self.transcripts.get(&session).map(PathBuf::as_path)
    }

    pub(crate) fn events(&self, session: u64) -> &[Event] {
        self.sessions.get(&session).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn text(&self, hash: Option<&String>) -> Option<&str> {
        hash.and_then(|hash| self.texts.get(hash)).map(String::as_str)
    }
}

/// The files of a folder that a person named.
fn recordings_in(folder: &Path) -> Result<Vec<PathBuf>, TracesError> {
    readproof_disk::recordings_in(folder).map_err(|error| match error {
        TranscriptError::Missing { .. } => TracesError::NoFolder { folder: folder.to_path_buf() },
        other @ (TranscriptError::Denied { .. }
        | TranscriptError::NotAFile { .. }
        | TranscriptError::TooLarge { .. }
        | TranscriptError::Io { .. }) => TracesError::Unreadable(other),
    })
}

/// The lines of a file, unpacked if it begins as a compressed one does.
fn each_line(
    name: &Path,
    file: impl io::Read,
    mut take: impl FnMut(&str) -> Result<(), serde_json::Error>,
) -> Result<(), TracesError> {
    let fail = |source| TracesError::Io { file: name.to_path_buf(), source };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let packed = file.fill_buf().map_err(fail)?.starts_with(&[0x1f, 0x8b]);
    let lines: Box<dyn BufRead + '_> =
        if packed { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
    for (at, line) in lines.lines().enumerate() {
        let line = line.map_err(fail)?;
        if line.trim().is_empty() {
            continue;
        }
        let bad = |error: serde_json::Error| TracesError::BadLine {
            file: name.to_path_buf(),
            line: at + 1,
            why: error.to_string(),
        };
        take(&line).map_err(bad)?;
    }
    Ok(())
}
