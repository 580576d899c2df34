//! An editor is killed between the exchange of two names and what follows it, after another program has saved the file: the
//! next program that opens the file must return what was saved. Others edit the same files all the time.

use std::{path::Path, process::Command};

use readproof_disk::Moment;

use super::Attack;
use crate::{
    load::windows::{Beside, windows},
    world::Broken,
};

pub(crate) fn run(attack: &Attack<'_>) -> Result<String, Broken> {
    // The editors are the testkit's, because only those can be stopped at a given moment; the program opens the file next.
    let load = std::env::current_exe()?.with_file_name("load");
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let among = [(Moment::Exchanged, Beside::Saves)];
    let binary = attack.binary.canonicalize()?;
    let mut opens = |name: &str| read(&binary, &root, name);
    let done = windows((&load, &root), &among, 1, attack.seed, &mut opens, |round| round < attack.rounds)?;
    Ok(done.to_string())
}

fn read(binary: &Path, root: &Path, name: &str) -> Result<String, Broken> {
    let output = Command::new(binary).current_dir(root).args(["read", name]).output()?;
    if !output.status.success() {
        return Err(format!("read {name}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
