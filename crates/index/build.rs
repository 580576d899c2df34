//! Hashes everything that decides which symbols are found, so that an index made by other rules is rebuilt.
#![allow(clippy::disallowed_methods, reason = "it looks at sources, not at a workspace")]

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The rules, and the lock file for the versions of the grammars.
const SOURCES: [&str; 3] = ["src/symbols.rs", "src/symbols", "../../Cargo.lock"];

fn main() {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        // In a package without the lock file, the version of the crate must do.
        if let Err(error) = add(Path::new(source), &mut hash) {
            println!("cargo:warning={source} is not part of what names the index: {error}");
        }
    }
    println!("cargo:rustc-env=SYMBOL_RULES={hash:016x}");
}

/// FNV-1a over a file, or over all files of a folder in order.
fn add(path: &Path, hash: &mut u64) -> io::Result<()> {
    if path.is_dir() {
        let mut inside: Vec<PathBuf> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        inside.sort();
        return inside.iter().try_for_each(|path| add(path, hash));
    }
    for byte in fs::read(path)? {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Ok(())
}
