//! The index of words of a workspace, kept open while the program runs. It only saves time: whatever is wrong with it, files are
//! read instead. It is made by whoever keeps the engine, when nobody waits.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use readproof_core::operation::{Extent, Hidden, SearchMode};
use readproof_disk::{Create, STORE_NAME};
use readproof_index::{FileRules, TreeMatches, TreeSearch, WordIndex};

use super::list::walk_rules;
use crate::{Control, Engine, Error, conversation::locked};

/// The file name in the store.
pub(super) const DATABASE: &str = "words.db";

/// So many files are read about as quickly as the index is asked.
const FEW_FILES: u64 = 500;

/// As many indexes as searches ever ran at once.
#[derive(Default)]
pub(crate) struct Words {
    idle: Mutex<Vec<WordIndex>>,
    /// Whether a search read many files.
    wanted: AtomicBool,
    making: AtomicBool,
}

impl Engine {
    /// Searches by words, with the index if there is one.
    pub(super) fn search_texts(&self, search: &TreeSearch<'_>, control: &Control<'_>) -> Result<TreeMatches, Error> {
        let progress = |done: u64| control.report(done, None);
        let index = locked(&self.shared.words.idle).pop().or_else(|| self.open_words(Create::No));
        let found = match index {
            Some(mut index) => {
                let found = search.run_with(&mut index, control.cancelled, &progress);
                locked(&self.shared.words.idle).push(index);
                found?
            }
            None => search.run(control.cancelled, &progress)?,
        };
        if found.uncovered > FEW_FILES {
            self.shared.words.wanted.store(true, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// What the index depends on beside the files.
    fn words_settings(&self) -> String {
        format!("{:?} {:?}", self.shared.settings.sensitive, self.snapshot_rules())
    }

    fn open_words(&self, create: Create) -> Option<WordIndex> {
        if create == Create::No {
            self.root.glance(&format!("{STORE_NAME}/{DATABASE}"))?;
        }
        let store = self.store(create).ok()??;
        let open = || WordIndex::new(store.database(DATABASE).ok()?, &self.words_settings()).ok()?;
        open().or_else(|| {
            if create == Create::No {
                return None;
            }
            store.remove_database(DATABASE).ok()?;
            open()
        })
    }

    /// Indexes the words of every file that is not covered, unless that is under way.
    pub(crate) fn index_words_now(&self) {
        if self.shared.words.making.swap(true, Ordering::Relaxed) {
            return;
        }
        let extent = Extent { hidden: Hidden::Tracked, ..Extent::default() };
        let tracked = self.tracked_hidden(Hidden::Tracked, &Control::WAIT);
        let search = TreeSearch {
            root: &self.root,
            rules: FileRules { snapshot: self.snapshot_rules(), sensitive: &self.shared.sensitive },
            query: "",
            mode: SearchMode::Text,
            letters: readproof_core::operation::Letters::ByMode,
            walk: walk_rules(&extent, None, &tracked),
            limit: 0,
            context_lines: 0,
            max_chars: 0,
        };
        let index = locked(&self.shared.words.idle).pop().or_else(|| self.open_words(Create::Yes));
        if let Some(mut index) = index {
            // What is not done is read when it is searched.
            let _ = index.build(&search, &|| false, &|_, _| ());
            locked(&self.shared.words.idle).push(index);
        }
        self.shared.words.making.store(false, Ordering::Relaxed);
    }

    /// Whether a search read many files; asked once.
    pub(crate) fn take_words_wish(&self) -> bool {
        self.shared.words.wanted.swap(false, Ordering::Relaxed) && !self.shared.words.making.load(Ordering::Relaxed)
    }
}
