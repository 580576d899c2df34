//! A session log as evidence: every line that can be read, and why reading stopped. Takes no part in the session and
//! changes nothing.

use readproof_disk::{Log, LogError, LogName, RetiredLog, SessionName, Store};

use super::record::Record;

/// Everything a log says.
#[derive(Debug)]
pub struct Past {
    /// The lines up to the first that does not fit.
    pub lines: Vec<PastLine>,
    /// Fragments that failed writes left.
    pub torn: u64,
    /// Why the rest cannot be read, if so.
    pub broken: Option<LogError>,
    /// Whether it was taken out of use, under whatever name.
    pub out_of_use: bool,
}

/// One line.
#[derive(Debug)]
pub struct PastLine {
    /// Its number: the entry's.
    pub line: u64,
    /// What it records; `None` when it is no record at all.
    pub record: Option<Record>,
}

impl Past {
    /// Reads a session's log; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn read(store: &dyn Store, name: &SessionName) -> Result<Option<Self>, LogError> {
        Ok(store.logs().look(&LogName::from(name))?.map(Self::of))
    }

    /// Reads a log that was put aside.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn read_retired(store: &dyn Store, retired: &RetiredLog) -> Result<Self, LogError> {
        store.logs().look_at_retired(retired).map(Self::of)
    }

    fn of(mut log: Box<dyn Log>) -> Self {
        let mut payloads = Vec::new();
        let broken = log.catch_up_into(&mut payloads).err();
        let read =
            |payload: readproof_disk::Payload| PastLine { line: payload.line, record: Record::parse(&payload.text) };
        Self {
            lines: payloads.into_iter().map(read).collect(),
            torn: log.torn(),
            broken,
            out_of_use: log.is_out_of_use(),
        }
    }

    /// Whether a later program wrote it.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.lines.iter().any(|line| line.record.as_ref().is_some_and(Record::is_newer))
    }
}
