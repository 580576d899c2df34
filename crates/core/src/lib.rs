//! Every rule of Readproof, and no effects: no files, no clock, no environment, no dependence on hash order.
//!
//! One read, decided from plain values:
//!
//! ```
//! use readproof_core::{
//!     decide::{Ask, Base, Reason, decide},
//!     limits::Limits,
//!     path::PathKey,
//!     render::render,
//!     text::Text,
//! };
//! let (limits, path) = (Limits::default(), PathKey::new("a.txt"));
//! let poem = "I wandered lonely as a cloud\nthat floats on high\n";
//! let now = Text::new(poem.into());
//! let ask = Ask::new(&now, None, None, &limits).unwrap();
//! let first = decide(&now, &path, &ask, Base::None(Reason::NotHeld), &limits);
//! assert_eq!(render(&first, &now, &ask).text(), poem);
//! let again = decide(&now, &path, &ask, Base::Same, &limits);
//! assert_eq!(render(&again, &now, &ask).text(), "[readcache: unchanged, 2 lines]");
//! ```
#![no_std]

extern crate alloc;

pub mod decide;
pub mod diff;

pub mod knowledge;
pub mod limits;
pub mod operation;
pub mod path;
pub mod pick;
pub mod render;
pub mod scope;
pub mod text;

pub use diff::edit;
pub use knowledge::alike;
pub use operation::{budget, policy, secrets, tlog};
pub use render::{meta, page, trailer};
