//! Watches folders for changes. Never reports "quiet" when it cannot know. Sees changes made by name on this machine; a file
//! changed through another hard link or from another machine is not seen. Also tells whether the other end of standard input
//! is still open.

mod names;

pub use names::{Happened, MOST_NAMES, NameWatch, NoWatch, Stop, Stopper, Waiting, Woken};

use rustix::event::{PollFd, PollFlags};
use std::path::Path;

#[cfg(target_os = "linux")]
use rustix::{fd::OwnedFd, fs::inotify};

#[derive(Debug)]
pub struct Watch {
    #[cfg(target_os = "linux")]
    queue: OwnedFd,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// `None` when the system allows no further one.
    #[must_use]
    pub fn new() -> Option<Self> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        Some(Self { queue: inotify::init(flags).ok()? })
    }

    /// Watches a folder and its direct entries from now on; `false` when that is impossible.
    #[must_use]
    pub fn add(&self, folder: &Path) -> bool {
        use inotify::WatchFlags as On;
        let changes = On::CREATE | On::DELETE | On::MOVE | On::MODIFY | On::CLOSE_WRITE | On::ATTRIB;
        let own = On::DELETE_SELF | On::MOVE_SELF | On::ONLYDIR | On::DONT_FOLLOW | On::EXCL_UNLINK;
        inotify::add_watch(&self.queue, folder, changes | own).is_ok()
    }

    /// Whether nothing happened since the last call.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.queue, &mut buffer);
        let mut quiet = true;
        loop {
            match events.next() {
                Ok(_) => quiet = false,
                Err(rustix::io::Errno::AGAIN) => return quiet,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

/// Other systems have no such watch, so everything may have changed.
#[cfg(not(target_os = "linux"))]
impl Watch {
    #[must_use]
    pub fn new() -> Option<Self> {
        None
    }

    #[must_use]
    pub fn add(&self, _folder: &Path) -> bool {
        false
    }

    #[must_use]
    pub fn is_quiet(&self) -> bool {
        false
    }
}

/// What `poll` is asked for beside the hang-up, which it always reports: that a socket's other end stopped writing.
#[cfg(target_os = "linux")]
const ENDED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
const ENDED: PollFlags = PollFlags::empty();

/// Waits until the other end of standard input is closed, whatever is left to read. `false` if that cannot be watched: such
/// input ends like a file.
#[must_use]
pub fn input_is_closed_at_last() -> bool {
    let input = std::io::stdin();
    loop {
        let mut ends = [PollFd::new(&input, ENDED)];
        match rustix::event::poll(&mut ends, None) {
            Ok(_) if ends.iter().any(|end| !end.revents().is_empty()) => return true,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::{fs, io::Write};

    #[test]
    fn whatever_happens_in_a_folder_is_told_once() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::write(at("a"), "1").unwrap();
        fs::create_dir(at("d")).unwrap();
        let watch = Watch::new().unwrap();
        assert!(watch.add(temp.path()) && watch.is_quiet());
        assert!(!watch.add(&at("a")) && !watch.add(&at("none")));
        let mut open = fs::OpenOptions::new().append(true).open(at("a")).unwrap();
        let happens = |what: &str, happen: &mut dyn FnMut()| {
            happen();
            assert!(!watch.is_quiet(), "{what}");
            assert!(watch.is_quiet(), "{what}");
        };
        happens("a write", &mut || open.write_all(b"2").unwrap());
        happens("another file", &mut || fs::write(at("b"), "").unwrap());
        happens("a rename over it", &mut || fs::rename(at("b"), at("a")).unwrap());
        happens("a folder", &mut || fs::create_dir(at("e")).unwrap());
        happens("a removal", &mut || fs::remove_file(at("a")).unwrap());
        // Only the folder itself is watched.
        fs::write(at("d/x"), "").unwrap();
        assert!(watch.is_quiet());
        fs::read(at("d/x")).unwrap();
        assert!(watch.add(&at("d")) && watch.is_quiet());
        happens("a file below", &mut || fs::write(at("d/x"), "y").unwrap());
    }
}
