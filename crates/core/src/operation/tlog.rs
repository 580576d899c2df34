//! Transparency logs, as pure functions of bytes: RFC 6962 trees of SHA-256 and the C2SP forms around them (tlog-tiles,
//! signed-note with Ed25519, tlog-checkpoint, tlog-proof). What an entry means is not known here, and nothing is stored.

pub mod base64;
pub mod bundle;
mod checkpoint;
mod merkle;
mod note;
mod proof;
mod tile;

pub use checkpoint::{Checkpoint, Unsigned};
pub use merkle::{
    Hash, HashSource, check_consistency, check_inclusion, consistency, inclusion, leaf, node, root, subtree,
};
pub use note::{Note, PublicKey, SigningKey};
pub use proof::{Proof, Unproved};
pub use tile::{Kind, TILE_WIDTH, Tile, TileHashes};
