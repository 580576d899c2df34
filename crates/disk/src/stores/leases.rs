//! The trait of leases: rights that exclude one another, and that end with their holder, however it ends.

use std::fmt;

use super::StoreError;

/// What a store grants leases on.
pub trait Leases: fmt::Debug + Send + Sync {
    /// Waits up to about a second for a right. It is held until the lease is dropped or its holder is gone.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when another holds it that long; any other when the store cannot grant it.
    fn take(&self, right: Right) -> Result<Box<dyn Lease>, StoreError>;

    /// The same, and waits as long as it takes, without work.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot grant it.
    fn wait(&self, right: Right) -> Result<Box<dyn Lease>, StoreError>;
}

/// A right that is held; dropping it gives it back.
pub trait Lease: fmt::Debug + Send {}

/// What a lease is on. Each has one holder at a time, but for [`Right::KeepTexts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// To put logs aside. Two at once could mark one log and rename the next of its name, which is in use.
    RetireLogs,
    /// To watch the files of the workspace. Two at once would do the same work twice.
    Watch,
    /// To store texts and then record that a version of a file needs them. Any number of holders, none beside [`Right::EraseTexts`]:
    /// a text that was there already must not go before it is recorded.
    KeepTexts,
    /// To remove texts that no record needs.
    EraseTexts,
}
