//! Which names are special: those that rules deny or ask about, and those that are sensitive. Names are compared with the rules
//! here; what a match means is decided in `core`. [`Policy`] looks at the files that hold rules, [`Rules`] are what they said
//! then.

mod claude;
mod compile;
mod error;
mod files;
mod folder;
mod gate;
mod guard;
mod lists;
mod look;
mod pattern;
mod rules;
mod sensitive;
mod table;
mod wall;

pub use error::{NoEffect, PolicyError, PolicyWarning};
pub(crate) use files::Mark;
pub use gate::{Asks, Gate};
pub use guard::{Guard, Refusal};
pub use look::{Policy, PolicySources};
pub use rules::{Explained, FolderRules, Listed, Rules};
pub use sensitive::{BadPattern, STANDARD_PATTERNS, Sensitive};
pub use wall::{NoWall, Wall, can_raise_wall};
