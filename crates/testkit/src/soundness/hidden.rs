//! A denied file must not show in any answer. So the same calls are made in workspaces that differ in nothing but files that
//! the rules deny to the caller: there, not there, and with another content. Every answer must be the same to the byte, and so
//! must the files that may be seen afterwards. Nothing here knows how the product hides a file.

mod calls;
mod case;
mod play;
mod rules;
mod tree;
mod wires;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use self::case::Case;
use crate::{op::Random, world::Broken};

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub cases: u64,
    pub calls: u64,
    /// By operation: answered, refused by a rule, and failed otherwise.
    pub kinds: BTreeMap<&'static str, [u64; 3]>,
    pub leaks: Vec<Leak>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for leak in &self.leaks {
            writeln!(f, "VIOLATION at step {}: case {} tells of a denied file\n{}", leak.call, leak.case, leak.shown)?;
        }
        let (calls, cases, leaks) = (self.calls, self.cases, self.leaks.len());
        writeln!(
            f,
            "{calls} calls in {cases} workspaces, each with denied files there, absent and changed: {leaks} differences"
        )?;
        write!(f, "answered/refused/failed:")?;
        for (kind, [answered, refused, failed]) in &self.kinds {
            write!(f, " {kind} {answered}/{refused}/{failed}")?;
        }
        Ok(())
    }
}

/// An answer that tells of a denied file.
#[derive(Clone, Debug)]
pub struct Leak {
    /// The seed of its case.
    pub case: u64,
    /// The calls made before it, in all cases.
    pub call: u64,
    /// What was asked, and the answers.
    pub shown: String,
}

/// Makes this many calls, or until so many leaks are found: through the door, or over the wires of a program.
///
/// # Errors
/// When a case cannot be run at all.
pub fn hidden(binary: Option<&Path>, calls: u64, seed: u64, leaks: usize) -> Result<Run, Broken> {
    let place = Place::new(binary)?;
    let mut run = Run::default();
    while run.calls < calls && run.leaks.len() < leaks {
        let case = seed.wrapping_mul(1_000_003).wrapping_add(run.cases);
        let leak = one(case, &place, &mut run)?;
        run.leaks.extend(leak);
        run.cases += 1;
    }
    Ok(run)
}

/// Plays one case, by its seed.
///
/// # Errors
/// When it cannot be run at all.
pub fn one_case(binary: Option<&Path>, case: u64) -> Result<Run, Broken> {
    let mut run = Run { cases: 1, ..Run::default() };
    let leak = one(case, &Place::new(binary)?, &mut run)?;
    run.leaks.extend(leak);
    Ok(run)
}

/// Where workspaces are made.
pub(crate) struct Place {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) scratch: PathBuf,
    /// The program whose wires are used; the door if absent.
    pub(crate) binary: Option<PathBuf>,
}

impl Place {
    pub(crate) fn new(binary: Option<&Path>) -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().canonicalize()?;
        let binary = binary.map(Path::to_path_buf);
        Ok(Self { root: path.join("w"), scratch: path.join("s"), binary, _folder: folder })
    }
}

fn one(seed: u64, place: &Place, run: &mut Run) -> Result<Option<Leak>, Broken> {
    let mut random = Random::new(seed);
    let Some(case) = Case::any(&mut random, place)? else { return Ok(None) };
    let before = run.calls;
    let Some(difference) = play::differs(&case, place, Some(run)).map_err(|error| format!("case {seed}: {error}"))?
    else {
        return Ok(None);
    };
    let (case, difference) = play::shrunk(case, difference, place)?;
    let shown = format!("{}{difference}", case.told());
    Ok(Some(Leak { case: seed, call: before + difference.at, shown }))
}
