//! One target under libFuzzer, which owns `main` and the command line, so the target's name comes from the environment.
#![no_main]

use std::sync::LazyLock;

use readproof_fuzz::{Target, targets};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    targets::named(&name).unwrap_or_else(|| panic!("FUZZ_TARGET names no target: `{name}`"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    (TARGET.check)(input);
});
