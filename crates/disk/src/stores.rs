//! What Readproof itself remembers: stored texts, append-only logs, leases. For each there is a trait with a plain-data
//! interface and, beside it, `local_*`: the files in `.readproof` beneath the workspace. Other rooms use only the traits;
//! they name a local type only to construct one.

mod leases;
mod local_leases;
mod local_logs;
mod local_objects;
mod local_store;
mod log_error;
mod logs;
mod objects;
mod session_name;
mod store;
mod store_error;

pub use leases::{Lease, Leases, Right};
pub use local_logs::copy_out;
pub use local_store::{
    LocalStore, LocalStores, STORE_NAME, SmallTexts, Whose, database_in_memory, is_folder, user_id, user_name,
};
pub use log_error::LogError;
pub use logs::{
    AuditCount, AuditPart, AuditParts, Counted, Lasting, Log, LogId, LogName, Logs, NextPiece, Payload, RetiredLog,
    TakeLine,
};
pub use objects::{Loaded, Objects, Packing, Put, Removal, Removed, Stored};
pub use session_name::{BadSessionName, SessionName};
pub use store::{Create, Database, OpenedStore, PutAside, Store, Stores, Strange, Usage};
pub use store_error::StoreError;

pub(crate) use local_store::{READ_FLAGS, names, open_folder, private_folder, remove};
