//! Runs a closure on a thread on which chosen system calls fail, by a seccomp filter. Other threads are not touched. Never
//! used by the product.
#![allow(clippy::unwrap_used, reason = "a test helper")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use std::thread;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// A system call number, and of which calls to it the filter is about; no rule means all.
pub type Call = (i64, Vec<SeccompRule>);

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const WRITE: i64 = 1;
    pub const PREAD64: i64 = 17;
    pub const WRITEV: i64 = 20;
    pub const FLOCK: i64 = 73;
    pub const FSYNC: i64 = 74;
    pub const OPENAT: i64 = 257;
    pub const UNLINKAT: i64 = 263;
    pub const MKDIRAT: i64 = 258;
    pub const FACCESSAT: i64 = 269;
    pub const RENAMEAT2: i64 = 316;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const WRITE: i64 = 64;
    pub const WRITEV: i64 = 66;
    pub const PREAD64: i64 = 67;
    pub const FLOCK: i64 = 32;
    pub const FSYNC: i64 = 82;
    pub const OPENAT: i64 = 56;
    pub const UNLINKAT: i64 = 35;
    pub const MKDIRAT: i64 = 34;
    pub const FACCESSAT: i64 = 48;
    pub const RENAMEAT2: i64 = 276;
}
pub use numbers::*;
pub const OPENAT2: i64 = 437;
pub const FACCESSAT2: i64 = 439;

const O_CREAT: u64 = 0o100;

/// Every call of this number.
pub fn every(number: i64) -> Call {
    (number, Vec::new())
}

/// Writes to anything but the standard streams, so that a failing test can still say so.
pub fn file_writes() -> Call {
    (WRITE, vec![rule(0, SeccompCmpOp::Gt, 2)])
}

/// Reads of more than so many bytes at a place.
pub fn reads_over(bytes: u64) -> Call {
    (PREAD64, vec![rule(2, SeccompCmpOp::Gt, bytes)])
}

/// Openings that may create a file.
pub fn creating_opens() -> Call {
    (OPENAT, vec![rule(2, SeccompCmpOp::MaskedEq(O_CREAT), O_CREAT)])
}

/// Renames that must not replace.
pub fn careful_renames() -> Call {
    (RENAMEAT2, vec![rule(4, SeccompCmpOp::MaskedEq(1), 1)])
}

fn rule(argument: u8, op: SeccompCmpOp, value: u64) -> SeccompRule {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).unwrap();
    SeccompRule::new(vec![condition]).unwrap()
}

/// Runs `work` while those calls fail with `errno`.
pub fn with_failing<T: Send>(calls: Vec<Call>, errno: Errno, work: impl FnOnce() -> T + Send) -> T {
    with_answer(calls, errno.raw_os_error().cast_unsigned(), work)
}

/// Runs `work` while those calls do nothing and say that they did nothing.
pub fn with_idle<T: Send>(calls: Vec<Call>, work: impl FnOnce() -> T + Send) -> T {
    with_answer(calls, 0, work)
}

fn with_answer<T: Send>(calls: Vec<Call>, errno: u32, work: impl FnOnce() -> T + Send) -> T {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let answer = SeccompAction::Errno(errno);
    let filter = SeccompFilter::new(calls.into_iter().collect(), SeccompAction::Allow, answer, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            seccompiler::apply_filter(&program).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}
