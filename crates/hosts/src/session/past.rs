//! A session log as evidence: every line that can be read, and why reading stopped. Takes no part in the session and
//! changes nothing.

use readproof_disk::{Log, LogError, LogName, RetiredLog, SessionName, Store};

use super::record::Record;

#[derive(Debug)]
pub struct Past {
    /// The lines before the first that is damaged.
    pub lines: Vec<PastLine>,
    /// Fragments that failed writes left behind.
    pub torn: u64,
    /// Why the rest cannot be read, if it cannot.
    pub broken: Option<LogError>,
    /// Whether the log was put aside, under whatever name.
    pub out_of_use: bool,
}

#[derive(Debug)]
pub struct PastLine {
    /// The number of the entry, if it is one.
    pub line: u64,
    /// `None` if the line is not a record.
    pub record: Option<Record>,
}

impl Past {
    /// Reads a session's log; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn read(store: &dyn Store, name: &SessionName) -> Result<Option<Self>, LogError> {
        Ok(store.logs().look(&LogName::from(name))?.map(Self::of))
    }

    /// Reads a log that was put aside.
    ///
    /// # Errors
    /// If it cannot be opened.
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

    /// Whether a later version wrote it.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.lines.iter().any(|line| line.record.as_ref().is_some_and(Record::is_newer))
    }
}
