//! What the transcripts of all hosts share: the tree of entries, what holds at each of them, blocks of text by their hashes,
//! and reading a few fields of JSON lines quickly. Knows no host.

pub mod block;
pub(crate) mod derive;
pub(crate) mod json;
pub(crate) mod tree;
