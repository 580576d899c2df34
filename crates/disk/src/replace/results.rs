//! Results of a long command, kept line by line in a file of its own, so that a run which was ended can go on. It lies outside
//! every workspace, belongs to one run at a time, and holds nothing that is relied on for answers.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

/// The most that is read of an earlier run.
const MOST: u64 = 256 * 1024 * 1024;

/// The file of a run that lasts.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
}

impl ResultsFile {
    /// Opens the file of this command, with the whole lines that an earlier run of the same program with the same heading left.
    /// The file of another one begins anew. `name` must not come from a caller.
    ///
    /// # Errors
    /// When the file cannot be made, is not this user's, or another run has it.
    pub fn open(folder: &Path, name: &str, heading: &str) -> io::Result<(Self, Vec<String>)> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(format!("{name}.results"));
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).custom_flags(flags).open(&path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.uid() != rustix::process::getuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a file of this user"));
        }
        file.try_lock().map_err(|error| match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => io::Error::new(io::ErrorKind::WouldBlock, "another run is using it"),
        })?;
        let mut bytes = Vec::new();
        (&file).take(MOST).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let mut lines = text.lines().map(str::to_owned);
        let mut kept = Self { path, file };
        let heading = format!("{} {heading}", program()?);
        if lines.next().as_deref() == Some(&heading) {
            // A line that was torn is written anew.
            kept.file.set_len(whole as u64)?;
            return Ok((kept, lines.collect()));
        }
        kept.file.set_len(0)?;
        kept.file.rewind()?;
        kept.add(&heading)?;
        Ok((kept, Vec::new()))
    }

    /// Adds one line; it must not contain a line break.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }

    /// The run is over, and nothing of it is needed again.
    pub fn remove(self) {
        // What cannot be removed is found by the next run, which takes it or begins anew.
        let _ = fs::remove_file(&self.path);
    }
}

/// What tells this build of the program from another.
fn program() -> io::Result<String> {
    let found = fs::metadata("/proc/self/exe")?;
    Ok(format!("{}-{}-{}.{}", found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_the_same_heading_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let open = |heading: &str| ResultsFile::open(&dir.path().join("new/bench"), "t", heading);
        let (mut file, lines) = open("one").unwrap();
        assert_eq!(lines, Vec::<String>::new());
        file.add("a").unwrap();
        assert_eq!(open("one").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        file.file.write_all(b"torn").unwrap();
        drop(file);
        let (mut file, lines) = open("one").unwrap();
        assert_eq!(lines, ["a"]);
        file.add("b").unwrap();
        drop(file);
        assert_eq!(open("one").unwrap().1, ["a", "b"]);
        let (file, lines) = open("two").unwrap();
        assert_eq!(lines, Vec::<String>::new());
        file.remove();
        assert_eq!(open("two").unwrap().1, Vec::<String>::new());
    }
}
