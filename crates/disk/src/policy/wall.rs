//! The kernel's own limit on which files this process can open (Landlock on Linux). It holds for this thread and for every
//! thread and program that it starts, and nobody can take it down again. Which files are needed is for the caller to say. Names,
//! sizes and times of other files can still be asked for: the kernel limits what is opened, listed and changed.

use std::path::PathBuf;

use crate::root::Root;

/// What can still be opened beside the workspace. A name that does not exist yet when the wall is raised cannot be opened later;
/// a file that is replaced later cannot either, in contrast to a file in a folder that is named here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wall {
    /// Files, and folders with everything in them, that can be read.
    pub readable: Vec<PathBuf>,
    /// The same, and the programs in them can be run.
    pub runnable: Vec<PathBuf>,
    /// Folders in which files can be changed too.
    pub changeable: Vec<PathBuf>,
}

/// Why there is no wall.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum NoWall {
    /// The system has nothing like it: another one than Linux, a kernel before 5.19, or one in which Landlock is off.
    Unsupported,
    /// It should work and did not.
    Failed { reason: String },
}

impl Wall {
    /// Raises the wall: from now on this thread, and those that it starts, can open only the workspace, `/dev/null`, the system's
    /// source of random numbers, and what is named here.
    ///
    /// # Errors
    /// [`NoWall`]; nothing is limited then.
    pub fn raise(&self, root: &Root) -> Result<(), NoWall> {
        raise(self, root)
    }
}

/// Whether this system can raise one.
///
/// # Errors
/// [`NoWall::Unsupported`] if not.
pub fn can_raise_wall() -> Result<(), NoWall> {
    can_raise()
}

#[cfg(target_os = "linux")]
fn can_raise() -> Result<(), NoWall> {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};

    // Before the second version no file could be moved to another folder, which is not what the wall is for.
    let needed = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let created = needed.handle_access(AccessFs::from_all(ABI::V2)).and_then(Ruleset::create);
    created.map(drop).map_err(|_| NoWall::Unsupported)
}

#[cfg(target_os = "linux")]
fn raise(wall: &Wall, root: &Root) -> Result<(), NoWall> {
    use landlock::{
        ABI, Access, AccessFs, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
        path_beneath_rules as below,
    };

    can_raise()?;
    // Everything that kernels of today can limit; older ones limit what they know.
    let all = AccessFs::from_all(ABI::V5);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let special = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::MakeFifo;
    let change = all & !(AccessFs::Execute | AccessFs::IoctlDev | special);
    let raised = || -> Result<_, RulesetError> {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rule(PathBeneath::new(&*root.dir, change))?
            .add_rules(below(["/dev/null"], AccessFs::ReadFile | AccessFs::WriteFile))?
            .add_rules(below(["/dev/urandom"], AccessFs::ReadFile))?
            .add_rules(below(&wall.readable, read))?
            .add_rules(below(&wall.changeable, change))?
            .add_rules(below(&wall.runnable, read | AccessFs::Execute))?
            .restrict_self()
    };
    match raised().map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Ok(RulesetStatus::NotEnforced) => Err(NoWall::Unsupported),
        Err(error) => Err(NoWall::Failed { reason: error.to_string() }),
    }
}

#[cfg(not(target_os = "linux"))]
fn can_raise() -> Result<(), NoWall> {
    Err(NoWall::Unsupported)
}

#[cfg(not(target_os = "linux"))]
fn raise(_wall: &Wall, _root: &Root) -> Result<(), NoWall> {
    Err(NoWall::Unsupported)
}
