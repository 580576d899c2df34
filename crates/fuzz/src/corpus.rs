//! Inputs kept as files: `crates/fuzz/corpus/TARGET/`, each a start for the driver, and the folder for what it finds.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use readproof_core::text::ContentHash;

/// Where the inputs of a target are kept.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The kept inputs of a target, in the order of their names.
///
/// # Errors
/// When one cannot be read; no folder is no input.
pub fn load(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let entries = match fs::read_dir(folder(target)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// Writes an input below `folder` under a name made from its bytes.
///
/// # Errors
/// When it cannot be written.
pub fn save(folder: &Path, target: &str, input: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let hash = ContentHash::of(input).to_string();
    let path = folder.join(format!("{target}-{}", &hash[..12]));
    fs::write(&path, input)?;
    Ok(path)
}
