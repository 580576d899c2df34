//! Watches folders and tells which names changed, until it is told to stop. Waiting costs nothing. What it cannot tell by name
//! it tells as "everything may have changed"; it never leaves a change out silently, but for what [`super::Watch`] does not see
//! either, and for what is written through a memory map. Opens no file.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::{
    collections::BTreeSet,
    io::{PipeReader, PipeWriter},
    os::fd::OwnedFd,
    time::Duration,
};

#[cfg(target_os = "linux")]
use {
    crate::{replace::is_ours, snapshot::spelling::spelt, stores::STORE_NAME},
    rustix::fs::inotify::{self, ReadFlags},
    std::{
        borrow::Cow,
        cell::RefCell,
        collections::BTreeMap,
        path::{Path, PathBuf},
    },
};

/// More names than this are told as "everything may have changed".
pub const MOST_NAMES: usize = 10_000;

/// Ignore files: while they are the same, a look meets the same names.
#[cfg(target_os = "linux")]
const RULES: [&str; 5] = [".gitignore", ".ignore", ".rgignore", ".git", ".jj"];

/// What of git's own folder says that other files may be tracked, or ignored.
#[cfg(target_os = "linux")]
const OF_GIT: [&str; 2] = [".git/index", ".git/info/exclude"];

/// Why changes cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("{self:?}")]
pub enum NoWatch {
    /// This system has no such watch.
    Unsupported,
    /// The system allows no further watches.
    Limit,
    /// The workspace was removed, or moved elsewhere.
    Gone,
    Io(#[from] std::io::Error),
}

/// What happened since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// The files that were made, changed, renamed or removed, by their names in the workspace.
    pub names: BTreeSet<String>,
    /// Whether it takes a look at everything: folders came or went, rules changed, or there are too many names.
    pub more: bool,
    /// Whether events were lost, so that nobody knows what was in between.
    pub lost: bool,
}

impl Happened {
    /// Whether nothing did.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.names.is_empty() && !self.more && !self.lost
    }

    /// Both.
    pub fn add(&mut self, later: Self) {
        self.names.extend(later.names);
        (self.more, self.lost) = (self.more || later.more, self.lost || later.lost);
        self.bound();
    }

    fn bound(&mut self) {
        if self.names.len() > MOST_NAMES {
            self.names.clear();
            self.more = true;
        }
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    Happened,
    TimeIsUp,
    Stopped,
}

/// Ends waits once the other end was dropped or written to.
#[derive(Debug)]
pub struct Stop(PipeReader);

/// Dropping it ends what waits with its [`Stop`].
#[derive(Debug)]
pub struct Stopper(PipeWriter);

impl From<Stopper> for OwnedFd {
    /// For a signal handler, which writes to it.
    fn from(stopper: Stopper) -> Self {
        stopper.0.into()
    }
}

impl Stopper {
    /// Another one: waits end with whichever is written to first, or after all of them are dropped.
    ///
    /// # Errors
    /// When no further file can be opened.
    pub fn another(&self) -> std::io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

impl Stop {
    /// A pair.
    ///
    /// # Errors
    /// When no further file can be opened.
    pub fn new() -> std::io::Result<(Stopper, Self)> {
        let (stop, stopper) = std::io::pipe()?;
        Ok((Stopper(stopper), Self(stop)))
    }

    /// Whether it is time to stop.
    #[must_use]
    pub fn is_now(&self) -> bool {
        self.or_either(&[], Some(Duration::ZERO)) != Woken::TimeIsUp
    }

    /// Waits for the one or the other to end.
    #[must_use]
    pub fn or(&self, other: &Self) -> Woken {
        self.or_either(&[PollFd::new(&other.0, PollFlags::IN)], None)
    }

    fn or_either(&self, others: &[PollFd<'_>], most: Option<Duration>) -> Woken {
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        loop {
            let mut all = vec![PollFd::new(&self.0, PollFlags::IN)];
            all.extend(others.iter().cloned());
            let woken = rustix::event::poll(&mut all, most.as_ref());
            match (woken, all.iter().position(|one| !one.revents().is_empty())) {
                (Err(rustix::io::Errno::INTR), _) => {}
                (Err(_), _) | (Ok(_), Some(0)) => return Woken::Stopped,
                (Ok(_), Some(_)) => return Woken::Happened,
                (Ok(_), None) => return Woken::TimeIsUp,
            }
        }
    }
}

/// A watch on the folders of a workspace.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct NameWatch {
    queue: OwnedFd,
    top: PathBuf,
    folders: RefCell<Folders>,
}

/// Waits until something happens.
#[derive(Debug)]
pub struct Waiting(OwnedFd);

impl Waiting {
    /// Waits until something happens that nobody has taken, at most so long.
    #[must_use]
    pub fn wait(&self, stop: &Stop, most: Option<Duration>) -> Woken {
        stop.or_either(&[PollFd::new(&self.0, PollFlags::IN)], most)
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
struct Folders {
    /// The folder of each watch, with a slash; nothing for the workspace itself.
    by_watch: BTreeMap<i32, String>,
    /// Those that the present walk has told.
    told: BTreeSet<i32>,
    /// Why one cannot be watched.
    failed: Option<NoWatch>,
}

#[cfg(target_os = "linux")]
impl NameWatch {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// [`NoWatch`] when the system allows no further one.
    pub fn new(top: &Path) -> Result<Self, NoWatch> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let queue = inotify::init(flags).map_err(|errno| match errno {
            rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM => NoWatch::Limit,
            errno => NoWatch::Io(errno.into()),
        })?;
        Ok(Self { queue, top: top.to_path_buf(), folders: RefCell::default() })
    }

    /// Begins a walk that tells every folder anew, each before it is listed: what comes into it later is an event.
    pub fn begin(&self) {
        let mut folders = self.folders.borrow_mut();
        (folders.told, folders.failed) = (BTreeSet::new(), None);
        drop(folders);
        for name in ["", ".git", ".git/info"] {
            self.add(&self.top.join(name));
        }
    }

    /// A folder that the walk is about to list.
    pub fn add(&self, folder: &Path) {
        use inotify::WatchFlags as On;
        let Some(name) =
            folder.strip_prefix(&self.top).ok().and_then(|name| spelt(name.as_os_str().as_encoded_bytes()))
        else {
            return;
        };
        let changes = On::CREATE | On::DELETE | On::MOVE | On::MODIFY | On::CLOSE_WRITE | On::ATTRIB;
        let own = On::DELETE_SELF | On::MOVE_SELF | On::ONLYDIR | On::DONT_FOLLOW | On::EXCL_UNLINK;
        let mut folders = self.folders.borrow_mut();
        match inotify::add_watch(&self.queue, folder, changes | own) {
            Ok(watch) => {
                let prefix = if name.is_empty() { String::new() } else { format!("{name}/") };
                folders.by_watch.insert(watch, prefix);
                folders.told.insert(watch);
            }
            Err(rustix::io::Errno::NOSPC | rustix::io::Errno::NOMEM) => folders.failed = Some(NoWatch::Limit),
            Err(errno) if name.is_empty() => folders.failed = Some(NoWatch::Io(errno.into())),
            // It is gone again, which its parent tells, or cannot be listed either.
            Err(_) => {}
        }
    }

    /// Ends the walk: folders that it did not tell are watched no longer.
    ///
    /// # Errors
    /// [`NoWatch`] when one of them cannot be watched.
    pub fn end(&self) -> Result<(), NoWatch> {
        let mut folders = self.folders.borrow_mut();
        let Folders { by_watch, told, failed } = &mut *folders;
        by_watch.retain(|watch, _| {
            let is_told = told.contains(watch);
            if !is_told {
                // Fails if the folder is gone, and with it the watch.
                let _ = inotify::remove_watch(&self.queue, *watch);
            }
            is_told
        });
        failed.take().map_or(Ok(()), Err)
    }

    /// How many folders are watched.
    #[must_use]
    pub fn folders(&self) -> usize {
        self.folders.borrow().by_watch.len()
    }

    /// Waits for the same, so that the watch itself can be used meanwhile.
    ///
    /// # Errors
    /// When no further file can be opened.
    pub fn waiting(&self) -> std::io::Result<Waiting> {
        self.queue.try_clone().map(Waiting)
    }

    /// What happened since the last time; waits for nothing.
    ///
    /// # Errors
    /// [`NoWatch::Gone`] when there is no workspace any more.
    pub fn happened(&self) -> Result<Happened, NoWatch> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 << 10];
        let mut events = inotify::Reader::new(&self.queue, &mut buffer);
        let (mut happened, mut folders) = (Happened::default(), self.folders.borrow_mut());
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| spelt(name.to_bytes()));
                    folders.take(&mut happened, (event.wd(), event.events()), name)?;
                    happened.bound();
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(happened),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(NoWatch::Io(errno.into())),
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Folders {
    fn take(
        &mut self,
        happened: &mut Happened,
        (watch, flags): (i32, ReadFlags),
        name: Option<Option<Cow<'_, str>>>,
    ) -> Result<(), NoWatch> {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            (happened.more, happened.lost) = (true, true);
            return Ok(());
        }
        let Some(prefix) = self.by_watch.get(&watch) else { return Ok(()) };
        let of_itself = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        if flags.intersects(of_itself) {
            if prefix.is_empty() {
                return Err(NoWatch::Gone);
            }
            happened.more = true;
            if flags.contains(ReadFlags::IGNORED) {
                self.by_watch.remove(&watch);
            }
            return Ok(());
        }
        let is_folder = flags.contains(ReadFlags::ISDIR);
        match name {
            // The folder itself, as after `chmod`.
            None => happened.more |= is_folder && !prefix.starts_with(".git/"),
            // Such a file is not kept; such a folder is not walked.
            Some(None) => {}
            Some(Some(name)) if is_ours(&name) || (prefix.is_empty() && name == STORE_NAME) => {}
            Some(Some(name)) => {
                let path = format!("{prefix}{name}");
                if path.starts_with(".git/") {
                    happened.more |= OF_GIT.contains(&path.as_str());
                } else if is_folder || RULES.contains(&&*name) {
                    happened.more = true;
                    happened.names.extend((!is_folder).then_some(path));
                } else {
                    happened.names.insert(path);
                }
            }
        }
        Ok(())
    }
}

/// Other systems have no such watch.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct NameWatch;

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unused_self, reason = "the interface is that of Linux")]
impl NameWatch {
    /// # Errors
    /// Always.
    pub fn new(_top: &std::path::Path) -> Result<Self, NoWatch> {
        Err(NoWatch::Unsupported)
    }

    pub fn begin(&self) {}

    pub fn add(&self, _folder: &std::path::Path) {}

    /// # Errors
    /// Always.
    pub fn end(&self) -> Result<(), NoWatch> {
        Err(NoWatch::Unsupported)
    }

    #[must_use]
    pub fn folders(&self) -> usize {
        0
    }

    /// # Errors
    /// Always.
    pub fn waiting(&self) -> std::io::Result<Waiting> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// # Errors
    /// Always.
    pub fn happened(&self) -> Result<Happened, NoWatch> {
        Err(NoWatch::Unsupported)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs;

    fn watched(folders: &[&str]) -> (tempfile::TempDir, NameWatch) {
        let temp = tempfile::tempdir().unwrap();
        for folder in folders {
            fs::create_dir_all(temp.path().join(folder)).unwrap();
        }
        let watch = NameWatch::new(temp.path()).unwrap();
        tell(&watch, temp.path(), folders);
        (temp, watch)
    }

    fn tell(watch: &NameWatch, top: &Path, folders: &[&str]) {
        watch.begin();
        folders.iter().for_each(|folder| watch.add(&top.join(folder)));
        watch.end().unwrap();
    }

    fn names(names: &[&str]) -> Happened {
        Happened { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Happened::default() }
    }

    #[test]
    fn changes_are_told_by_name() {
        let (temp, watch) = watched(&["d/e"]);
        let at = |name: &str| temp.path().join(name);
        assert!(watch.happened().unwrap().is_nothing());
        fs::write(at("a"), "1").unwrap();
        fs::write(at("d/e/x"), "1").unwrap();
        // Nobody told this folder.
        fs::write(at("d/y"), "1").unwrap();
        assert_eq!(watch.happened().unwrap(), names(&["a", "d/e/x"]));
        fs::rename(at("a"), at("d/e/a")).unwrap();
        assert_eq!(watch.happened().unwrap(), names(&["a", "d/e/a"]));
        fs::read(at("d/e/a")).unwrap();
        fs::remove_file(at("d/e/x")).unwrap();
        assert_eq!(watch.happened().unwrap(), names(&["d/e/x"]));
        assert!(watch.happened().unwrap().is_nothing());
    }

    #[test]
    fn our_own_files_and_those_of_git_are_no_change() {
        let (temp, watch) = watched(&[".git/info"]);
        let at = |name: &str| temp.path().join(name);
        fs::create_dir(at(".readproof")).unwrap();
        for name in [".readproof-12-3.tmp", ".readproof-turn", ".git/index.lock", ".git/HEAD", ".git/info/refs"] {
            fs::write(at(name), "1").unwrap();
        }
        fs::remove_dir(at(".readproof")).unwrap();
        assert!(watch.happened().unwrap().is_nothing());
        for name in [".git/index", ".git/info/exclude"] {
            fs::write(at(name), "1").unwrap();
            assert_eq!(watch.happened().unwrap(), Happened { more: true, ..Happened::default() }, "{name}");
        }
    }

    #[test]
    fn folders_and_rules_need_a_look_at_everything() {
        let (temp, watch) = watched(&["d"]);
        let at = |name: &str| temp.path().join(name);
        fs::create_dir(at("new")).unwrap();
        assert!(watch.happened().unwrap().more);
        fs::write(at("d/.gitignore"), "x").unwrap();
        assert_eq!(watch.happened().unwrap(), Happened { more: true, ..names(&["d/.gitignore"]) });
        // A folder that was renamed has its new name once it is told again.
        fs::rename(at("d"), at("e")).unwrap();
        assert!(watch.happened().unwrap().more);
        tell(&watch, temp.path(), &["e", "new"]);
        fs::write(at("e/x"), "1").unwrap();
        assert_eq!(watch.happened().unwrap(), names(&["e/x"]));
        assert_eq!(watch.folders(), 3);
        tell(&watch, temp.path(), &["new"]);
        fs::write(at("e/x"), "2").unwrap();
        assert!(watch.happened().unwrap().is_nothing());
        assert_eq!(watch.folders(), 2);
        drop(temp);
        assert!(matches!(watch.happened(), Err(NoWatch::Gone)));
    }

    #[test]
    fn too_many_names_are_everything_and_nothing_is_lost() {
        let (temp, watch) = watched(&["d"]);
        let mut all = Happened::default();
        for number in 0..=MOST_NAMES {
            fs::write(temp.path().join(format!("d/{number}")), "").unwrap();
            if number % 1000 == 0 {
                all.add(watch.happened().unwrap());
            }
        }
        all.add(watch.happened().unwrap());
        assert_eq!(all, Happened { more: true, ..Happened::default() });
    }

    #[test]
    fn a_full_queue_is_told() {
        let (temp, watch) = watched(&["d"]);
        let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let most: usize = most.trim().parse().unwrap();
        // Equal events in a row are one, so two files take turns.
        for number in 0..=most / 4 + 1 {
            for name in ["d/a", "d/b"] {
                fs::write(temp.path().join(name), number.to_string()).unwrap();
            }
        }
        let happened = watch.happened().unwrap();
        assert!(happened.lost && happened.more, "{happened:?}");
    }

    #[test]
    fn a_wait_ends_with_its_stopper() {
        let (_temp, watch) = watched(&["d"]);
        let (stopper, stop) = Stop::new().unwrap();
        assert_eq!(watch.waiting().unwrap().wait(&stop, Some(Duration::from_millis(1))), Woken::TimeIsUp);
        assert!(!stop.is_now());
        let another = stopper.another().unwrap();
        drop(stopper);
        assert!(!stop.is_now());
        let ended = std::thread::spawn(move || drop(another));
        assert_eq!(watch.waiting().unwrap().wait(&stop, None), Woken::Stopped);
        ended.join().unwrap();
        assert!(stop.is_now());
    }
}
