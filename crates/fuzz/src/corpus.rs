//! Inputs kept as files in `crates/fuzz/corpus/TARGET/`, which the driver starts from, and the folder for its findings.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use readproof_core::text::ContentHash;
use readproof_testkit::op::Random;

use crate::targets::Target;

/// How many inputs are generated for another fuzzer to start from.
const STARTS: usize = 400;

/// Where the inputs of a target are kept.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The kept inputs of a target, in the order of their names.
///
/// # Errors
/// When one cannot be read. A missing folder means no inputs.
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

/// Writes the kept inputs of a target and some generated ones into `folder`, and its words in libFuzzer's format into
/// `folder.dict`.
///
/// # Errors
/// When something cannot be read or written.
pub fn write_starts(target: &Target, folder: &Path, seed: u64) -> io::Result<()> {
    let mut random = Random::new(seed);
    let generated = (0..STARTS).map(|_| (target.start)(&mut random));
    for input in load(target.name)?.into_iter().chain(generated) {
        save(folder, "start", &input)?;
    }
    let quoted = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let words: String = target.words.iter().map(|word| format!("\"{}\"\n", quoted(word))).collect();
    fs::write(folder.with_extension("dict"), words)
}
