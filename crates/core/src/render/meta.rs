//! Metadata V1 (`details.readcache`) and the invalidation entry: their fields and what makes them valid. Anything invalid is
//! `None` and creates no knowledge. JSON itself is read and written by the hosts.

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
};

use crate::{decide::Mode, render::Shown, scope::Scope, text::ContentHash};

/// The value of the field `v` in both.
pub const VERSION: u64 = 1;

/// Metadata of one read result, valid by construction. Lines are counted as the host counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaV1 {
    /// The file, as the host's transcript names it; never empty.
    pub path_key: String,
    /// The lines that were shown or vouched for.
    pub scope: Scope,
    /// The text of the file at that time.
    pub served: ContentHash,
    /// The text the answer relies on.
    pub base: Option<ContentHash>,
    /// How the request was answered.
    pub mode: Mode,
    /// Lines in the file.
    pub total_lines: u64,
    /// First line of the scope.
    pub range_start: u64,
    /// Last line of the scope.
    pub range_end: u64,
    /// Bytes in the file.
    pub bytes: u64,
}

/// The fields of [`MetaV1`] as a record holds them: present and of the right type, or absent.
#[derive(Clone, Debug, Default)]
pub struct RawMeta<'a> {
    /// `v`
    pub v: Option<u64>,
    /// `pathKey`
    pub path_key: Option<&'a str>,
    /// `scopeKey`
    pub scope_key: Option<&'a str>,
    /// `servedHash`
    pub served_hash: Option<&'a str>,
    /// `baseHash`
    pub base_hash: Option<&'a str>,
    /// `mode`
    pub mode: Option<&'a str>,
    /// `totalLines`
    pub total_lines: Option<u64>,
    /// `rangeStart`
    pub range_start: Option<u64>,
    /// `rangeEnd`
    pub range_end: Option<u64>,
    /// `bytes`
    pub bytes: Option<u64>,
}

impl MetaV1 {
    /// The metadata of an answer; none for a line shown in part, which no scope can express.
    #[must_use]
    pub fn of(shown: &Shown<'_>, path_key: &str, bytes: u64) -> Option<Self> {
        if shown.window().part().is_some() {
            return None;
        }
        let counted = shown.counted();
        Some(Self {
            path_key: path_key.to_owned(),
            scope: counted.scope,
            served: shown.version().hash,
            base: shown.base(),
            mode: shown.mode(),
            total_lines: counted.total,
            range_start: counted.first,
            range_end: counted.last,
            bytes,
        })
    }

    /// `None` unless every field is there that the mode needs, and they agree with each other.
    #[must_use]
    pub fn parse(raw: &RawMeta<'_>) -> Option<Self> {
        let mode = Mode::parse(raw.mode?)?;
        let base = match raw.base_hash {
            Some(hash) => Some(ContentHash::parse(hash)?),
            None => None,
        };
        let scope = Scope::parse(raw.scope_key?)?;
        let (start, end, total_lines) = (raw.range_start?, raw.range_end?, raw.total_lines?);
        let scope_fits = match scope {
            Scope::Full => (start, end) == (1, total_lines),
            Scope::Lines(lines) => {
                end <= total_lines && (start, end) == (u64::from(lines.first()), u64::from(lines.last()))
            }
        };
        let mode_fits = match mode {
            Mode::Full | Mode::BaselineFallback => true,
            Mode::Unchanged | Mode::Diff => base.is_some() && scope == Scope::Full,
            Mode::UnchangedRange => base.is_some() && scope != Scope::Full,
            // No host that keeps this metadata gets such an answer.
            Mode::Partial => false,
        };
        let path_key = raw.path_key.filter(|path| !path.is_empty())?.to_string();
        (raw.v? == VERSION && start >= 1 && scope_fits && mode_fits).then_some(Self {
            path_key,
            scope,
            served: ContentHash::parse(raw.served_hash?)?,
            base,
            mode,
            total_lines,
            range_start: start,
            range_end: end,
            bytes: raw.bytes?,
        })
    }
}

/// A request for fresh text, as a transcript holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidationV1 {
    /// The file, as the host's transcript names it; never empty.
    pub path_key: String,
    /// The lines that are to be sent anew.
    pub scope: Scope,
    /// Milliseconds since 1970. The order of entries is their place in the transcript, never this.
    pub at: u64,
}

/// The fields of [`InvalidationV1`] as a record holds them: present and of the right type, or absent.
#[derive(Clone, Debug, Default)]
pub struct RawInvalidation<'a> {
    /// `v`
    pub v: Option<u64>,
    /// `kind`
    pub kind: Option<&'a str>,
    /// `pathKey`
    pub path_key: Option<&'a str>,
    /// `scopeKey`
    pub scope_key: Option<&'a str>,
    /// `at`
    pub at: Option<u64>,
}

impl InvalidationV1 {
    /// `None` unless every field is there and valid.
    #[must_use]
    pub fn parse(raw: &RawInvalidation<'_>) -> Option<Self> {
        let path_key = raw.path_key.filter(|path| !path.is_empty())?.to_string();
        let scope = Scope::parse(raw.scope_key?)?;
        (raw.v? == VERSION && raw.kind? == "invalidate").then_some(Self { path_key, scope, at: raw.at? })
    }
}
