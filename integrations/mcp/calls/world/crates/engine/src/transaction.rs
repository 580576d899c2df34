//! A group of changes that become visible together.

use crate::CommitId;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a transaction failed.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TransactionError {
    #[error("the base {base} is no longer the head")]
    Stale { base: CommitId },
    #[error("nothing was changed")]
    Empty,
}

/// Changes that are not yet visible to others.
#[derive(Debug)]
pub struct Transaction {
    base: CommitId,
    changes: BTreeMap<String, Option<String>>,
    description: String,
}

impl Transaction {
    /// Starts from a commit.
    pub fn new(base: CommitId) -> Self {
        Self { base, changes: BTreeMap::new(), description: String::new() }
    }

    /// Sets a record.
    pub fn put(&mut self, key: &str, value: &str) -> &mut Self {
        self.changes.insert(key.to_owned(), Some(value.to_owned()));
        self
    }

    /// Removes a record.
    pub fn remove(&mut self, key: &str) -> &mut Self {
        self.changes.insert(key.to_owned(), None);
        self
    }

    pub fn describe(&mut self, words: &str) -> &mut Self {
        self.description = words.trim().to_owned();
        self
    }

    /// Makes the changes visible, unless someone else did so first.
    pub fn commit(self, head: &mut CommitId) -> Result<CommitId, TransactionError> {
        if self.changes.is_empty() {
            return Err(TransactionError::Empty);
        }
        if self.base != *head {
            return Err(TransactionError::Stale { base: self.base });
        }
        *head = head.next();
        Ok(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_transaction_is_refused() {
        let mut head = CommitId::ROOT;
        assert_eq!(Transaction::new(head).commit(&mut head), Err(TransactionError::Empty));
    }

    #[test]
    fn a_stale_base_is_refused() {
        let mut head = CommitId(4);
        let mut late = Transaction::new(CommitId(3));
        late.put("a", "1");
        assert_eq!(late.commit(&mut head), Err(TransactionError::Stale { base: CommitId(3) }));
    }
}
