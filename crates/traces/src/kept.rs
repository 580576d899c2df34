//! Results that are kept while a run lasts, so that one which was ended can go on. They count only for the same recordings,
//! settings and build of the program.

use readproof_disk::ResultsFile;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::{Options, Resume, SessionTally, count::Counter, recorded::Recorded};

pub(crate) struct Kept {
    file: Option<Mutex<ResultsFile>>,
    found: BTreeMap<u64, SessionTally>,
}

impl Kept {
    /// Where nothing can be kept, everything is played.
    pub(crate) fn open(options: &Options, recorded: &Recorded, counter: &Counter) -> Self {
        let none = Self { file: None, found: BTreeMap::new() };
        let Some(folder) = &options.keep else { return none };
        let heading = serde_json::json!({
            "files": recorded.files,
            "answers": options.answers.as_str(),
            "limits": format!("{:?}", options.limits),
            "tokens": counter.counted().as_str(),
        });
        let heading = heading.to_string();
        let Ok((file, lines)) = ResultsFile::open(folder, "traces", &heading) else { return none };
        let mut kept = Self { file: Some(Mutex::new(file)), found: BTreeMap::new() };
        if options.resume == Resume::Yes {
            let tallies = lines.iter().filter_map(|line| serde_json::from_str::<SessionTally>(line).ok());
            kept.found = tallies.map(|tally| (tally.session, tally)).collect();
        }
        kept
    }

    pub(crate) fn of(&self, session: u64) -> Option<&SessionTally> {
        self.found.get(&session)
    }

    /// A result that cannot be kept is only played again.
    pub(crate) fn add(&self, tally: &SessionTally) {
        if let (Some(file), Ok(line)) = (&self.file, serde_json::to_string(tally)) {
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).add(&line);
        }
    }

    /// The run is over.
    pub(crate) fn remove(self) {
        if let Some(file) = self.file {
            file.into_inner().unwrap_or_else(PoisonError::into_inner).remove();
        }
    }
}
