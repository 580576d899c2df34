// Written by the build. Not kept in git.
pub const BUILD_STAMP: &str = "2026-03-14T09:26:53Z";
pub fn provenance() -> &'static str {
    "only in the ignored folder"
}
