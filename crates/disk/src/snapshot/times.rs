//! How finely a file system notes when something changed: a file that has the same times later has not changed, once the clock
//! that they are taken from has moved on. Where that is not known, the coarsest file system there is decides.

use std::os::fd::AsFd;

use super::Stat;

/// On which device times are fine, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    fine_on: Option<u64>,
}

impl Times {
    /// Of the file system that a folder lies on. Costs `fstatfs` and `fstat`.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(folder: impl AsFd) -> Self {
        let is_fine = rustix::fs::fstatfs(&folder).is_ok_and(|found| linux::is_fine(found.f_type));
        let device = rustix::fs::fstat(&folder).ok().map(|found| Stat::from(found).dev);
        Self { fine_on: device.filter(|_| is_fine) }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_folder: impl AsFd) -> Self {
        Self::default()
    }

    /// As [`Stat::tells`], and sooner where times are fine.
    pub(crate) fn tell(self, stat: &Stat) -> bool {
        #[cfg(target_os = "linux")]
        if self.fine_on == Some(stat.dev) && linux::has_passed(stat) {
            return true;
        }
        stat.tells()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::{
        fs::FsWord,
        time::{ClockId, clock_gettime},
    };

    use super::Stat;

    /// Local file systems that keep nanoseconds and take them from this kernel's clock: ext2 to ext4, XFS, Btrfs, tmpfs, F2FS.
    const FINE: [i64; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010];

    /// Many times as long as the clock of file times stands still: that moves on at every tick of the kernel, 100 to 1,000 times
    /// a second.
    const TICK_NS: i64 = 100_000_000;

    /// No clock ticks as often as this, so a time that is no multiple of it was not rounded on its way to the disk, as with inodes
    /// of ext3, which have whole seconds.
    const ROUNDED_NS: i64 = 1_000_000;

    #[allow(clippy::useless_conversion, reason = "the widths differ between systems")]
    pub(super) fn is_fine(kind: FsWord) -> bool {
        FINE.contains(&i64::from(kind))
    }

    /// Whether whatever happens to the file from now on gets a later time. Compared with the clock that file times are taken
    /// from, which may stand still longer than others on a machine that is paused.
    pub(super) fn has_passed(stat: &Stat) -> bool {
        let clock = clock_gettime(ClockId::RealtimeCoarse);
        let now = clock.tv_sec.saturating_mul(1_000_000_000).saturating_add(clock.tv_nsec);
        stat.ctime_ns % ROUNDED_NS != 0 && stat.ctime_ns.max(stat.mtime_ns).saturating_add(TICK_NS) < now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, thread, time::Duration};

    #[test]
    fn times_tell_once_the_clock_has_moved_on() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "a").unwrap();
        let opened = fs::File::open(&file).unwrap();
        let times = Times::of(fs::File::open(dir.path()).unwrap());
        let stat = Stat::of(&opened).unwrap();
        assert!(!times.tell(&stat), "another change may get the same time");
        if times.fine_on.is_none() || stat.ctime_ns % 1_000_000 == 0 {
            // The disk of this machine has coarse times, or the one time in a million that looks so.
            return;
        }
        thread::sleep(Duration::from_millis(200));
        assert!(times.tell(&stat));
        let elsewhere = Stat { dev: stat.dev + 1, ..stat };
        let rounded = Stat { ctime_ns: stat.ctime_ns - stat.ctime_ns % 1_000_000, ..stat };
        let ahead = Stat { mtime_ns: stat.mtime_ns + 3_600_000_000_000, ..stat };
        for unknown in [elsewhere, rounded, ahead] {
            assert!(!times.tell(&unknown), "{unknown:?}");
        }
        let long_ago = Stat { ctime_ns: 0, mtime_ns: 0, ..elsewhere };
        assert!(times.tell(&long_ago));
    }

    /// The rule itself: a file whose times tell is never changed without another time.
    #[test]
    fn no_change_keeps_times_that_tell() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        let times = Times::of(fs::File::open(dir.path()).unwrap());
        let look = || Stat::of(&fs::File::open(&file).unwrap()).unwrap();
        for round in 0..8_u64 {
            fs::write(&file, "a").unwrap();
            thread::sleep(Duration::from_millis(95 + round * 2));
            let before = look();
            let tells = times.tell(&before);
            fs::write(&file, "b").unwrap();
            assert!(!tells || look().stamp() != before.stamp(), "{round}");
        }
    }
}
