//! The hostile shapes on a kernel without `openat2`. A test file of its own: cap-std remembers that for the whole process.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

mod seccomp;
mod shapes;

use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    io::Errno,
};

#[test]
fn the_hostile_shapes_without_openat2() {
    seccomp::with_failing(vec![seccomp::every(seccomp::OPENAT2)], Errno::NOSYS, || {
        let here = std::fs::File::open("/").unwrap();
        let tried = rustix::fs::openat2(here, "etc", OFlags::PATH, Mode::empty(), ResolveFlags::BENEATH);
        assert_eq!(tried.unwrap_err(), Errno::NOSYS, "the filter is in place");
        shapes::check_all();
    });
}
