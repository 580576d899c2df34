//! Every rule of Readproof, and no effect: no file, clock, environment or hash order.
//!
//! One read, decided here from plain values:
//!
//! ```
//! use readproof_core::{
//!     decide::{Ask, Base, Mode, decide},
//!     limits::Limits,
//!     text::Text,
//! };
//! let limits = Limits::default();
//! let now = Text::new("a\nb\nc\n".into());
//! let ask = Ask::new(&now, None, None, &limits).unwrap();
//! let first = decide(&now, &ask, Base::None, &limits);
//! assert_eq!(first.mode, Mode::Full);
//! let again = decide(&now, &ask, Base::Same, &limits);
//! assert_eq!(again.mode, Mode::Unchanged);
//! ```
#![no_std]

extern crate alloc;

pub mod decide;
pub mod diff;
pub mod knowledge;
pub mod limits;
pub mod meta;
pub mod path;
pub mod render;
pub mod scope;
pub mod text;
