//! What a read result shows: its metadata and the block that the model sees, judged together, and what its call must
//! have asked for. Any disagreement voids the path.

use readproof_core::{
    decide::Mode,
    diff::apply,
    knowledge::Event,
    path::PathKey,
    render::{MARKER, looks_like_marker},
    scope::{Lines, Scope},
    text::{ContentHash, Form, Text, Version},
};

use std::sync::OnceLock;

use super::{
    Source,
    block::{ends_like_pi, text_of, without_notice},
    meta::{Extras, Meta},
    piece::Piece,
    style,
};
use crate::versions::Moment;

/// The result of a read. What it tells is worked out when it is needed.
pub(super) struct ReadResult {
    /// The file, under the name to use for it.
    pub(super) path: PathKey,
    meta: Meta,
    content: Piece,
    told: OnceLock<Option<Told>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadStats {
    pub mode: Mode,
    /// How many bytes the answer is shorter than plain text; `None` if that was not recorded.
    pub saved: Option<i64>,
}

/// What a result tells, and on which conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) event: Event,
    /// The end of the file must be held under this text.
    pub(super) ends_under: Option<ContentHash>,
    /// The call must have asked for this.
    pub(super) needs: Option<Needs>,
    /// A marker tells how many lines this text has by pi's count, and so contradicts the end of any other text, whose
    /// final newline may make one line of difference.
    pub(super) counted: Option<ContentHash>,
}

/// What a call must have asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Lines from this one on.
    pub(super) first: u64,
    /// At least this many.
    pub(super) least: u64,
}

impl ReadResult {
    pub(super) fn new(path: PathKey, meta: Meta, content: Piece) -> Self {
        Self { path, meta, content, told: OnceLock::new() }
    }

    /// The same, judged by what can be seen only now.
    pub(super) fn judged(path: PathKey, meta: Meta, content: &[u8], source: &dyn Source) -> Self {
        let text = text_of(content);
        let told = text.as_ref().and_then(|text| Seen { path: &path, meta: &meta, text }.told(source));
        Self { path, meta, content: Piece::Kept(Box::default()), told: told.into() }
    }

    pub(super) fn stats(&self) -> ReadStats {
        let extras = self.meta.extras.as_ref();
        let saved = extras.and_then(|extras| Some((extras.plain?, extras.block.bytes)));
        ReadStats { mode: self.mode(), saved: saved.map(|(plain, shown)| plain.cast_signed() - shown.cast_signed()) }
    }

    /// The newest record of the version log when the file was looked at.
    pub(super) fn moment(&self) -> Option<Moment> {
        self.meta.moment
    }

    pub(super) fn mode(&self) -> Mode {
        self.meta.v1.mode
    }

    /// What it tells; `None` if that cannot be placed.
    pub(super) fn told(&self, source: &dyn Source) -> Option<&Told> {
        let told = || {
            let text = text_of(&self.content.get(source)?)?;
            Seen { path: &self.path, meta: &self.meta, text: &text }.told(source)
        };
        self.told.get_or_init(told).as_ref()
    }

    /// Whether it tells the whole file or nothing, so that what was before does not matter.
    pub(super) fn is_whole(&self) -> bool {
        let whole = |extras: &Extras| {
            let from_first = extras.lines.map_or(extras.total == 0, |lines| lines.first() == 1);
            from_first && extras.end
        };
        !self.meta.v1.mode.is_derived() && self.meta.extras.as_ref().is_some_and(whole)
    }
}

/// What the model sees, and what could vouch for it.
struct Seen<'a> {
    path: &'a PathKey,
    meta: &'a Meta,
    /// The one text block.
    text: &'a str,
}

impl Seen<'_> {
    fn told(&self, source: &dyn Source) -> Option<Told> {
        // Some transports send "(no tool output)" instead, so it is not known whether the model saw the blanks.
        if is_blank(self.text) {
            return None;
        }
        match &self.meta.extras {
            Some(extras) => self.by_extras(extras),
            None => self.by_object(source),
        }
    }

    fn shown(&self, version: Version, lines: Option<Lines>, end: bool, needs: Needs) -> Told {
        let event = Event::Shown { path: self.path.clone(), version, lines, end, part: None };
        Told { event, ends_under: None, needs: Some(needs), counted: None }
    }

    /// A result of Readproof: the block must be the one recorded.
    fn by_extras(&self, extras: &Extras) -> Option<Told> {
        let v1 = &self.meta.v1;
        let sound = style::agrees(v1.total_lines, extras.total)
            && extras.lines.is_none_or(|lines| lines.last() <= extras.total)
            && extras.block.is(self.text);
        if !sound {
            return None;
        }
        let version = Version { hash: v1.served, total: extras.total, form: Form::Disk };
        if v1.mode.is_derived() {
            return self.derived(version, extras.end);
        }
        let (lines, _) = style::range(v1.range_start, v1.range_end, extras.total);
        let (inside, first) = match (extras.lines, lines) {
            (Some(shown), Some(said)) => (shown.first() == said.first() && shown.last() <= said.last(), shown.first()),
            // The end of a file alone says too little to be placed.
            (None, _) | (Some(_), None) => return None,
        };
        let reaches = extras.lines.map_or(extras.total, Lines::last) == extras.total;
        let needs = Needs { first: u64::from(first), least: 0 };
        let ends = reaches && !ends_like_pi(self.text);
        (inside && (ends || !extras.end)).then(|| self.shown(version, extras.lines, extras.end, needs))
    }

    /// A result of the older tool: what the block shows must be in the stored text.
    fn by_object(&self, source: &dyn Source) -> Option<Told> {
        let v1 = &self.meta.v1;
        let served = source.text(v1.served).filter(|text| style::total_lines(text) == v1.total_lines)?;
        match v1.mode {
            // Nothing there tells file text that looks like a marker from a marker.
            Mode::Full | Mode::BaselineFallback if looks_like_marker(self.text) => None,
            Mode::Full | Mode::BaselineFallback => {
                let (lines, end, needs) = self.plain(&served)?;
                Some(self.shown(served.version(), lines, end, needs))
            }
            Mode::Unchanged | Mode::UnchangedRange => {
                let (total, start, end) = (v1.total_lines, v1.range_start, v1.range_end);
                let same = v1.base == Some(v1.served);
                let marker = match v1.scope {
                    Scope::Full => format!("{MARKER}unchanged, {total} lines]"),
                    Scope::Lines(_) if same => format!("{MARKER}unchanged in lines {start}-{end} of {total}]"),
                    Scope::Lines(_) => {
                        format!("{MARKER}unchanged in lines {start}-{end}; changes exist outside this range]")
                    }
                };
                // Lines that differ only in their ends are not the same: one text may stop there.
                let alike = same || source.text(v1.base?).is_some_and(|base| self.is_alike(&base, &served));
                // A marker that gives the number of lines tells where the file ends.
                if alike && self.text == marker { self.derived(served.version(), same) } else { None }
            }
            Mode::Diff => {
                let (prefix, body) = self.text.split_once('\n')?;
                let changed = prefix.strip_prefix(MARKER)?;
                let changed = changed.strip_suffix(&format!(" lines changed of {}]", v1.total_lines))?;
                let is_number = !changed.is_empty() && changed.bytes().all(|b| b.is_ascii_digit());
                let base = source.text(v1.base?)?;
                (is_number && leads_to(body, &base, &served)).then(|| self.derived(served.version(), true)).flatten()
            }
            Mode::Partial => None,
        }
    }

    /// Whether the lines of its range are the same in both texts, and the end if the range includes it.
    fn is_alike(&self, base: &Text, served: &Text) -> bool {
        let (lines, to_end) = style::range(self.meta.v1.range_start, self.meta.v1.range_end, served.total());
        let ends = !to_end || base.total() == served.total();
        ends && lines.is_some_and(|lines| lines.last() <= base.total() && base.slice(lines) == served.slice(lines))
    }

    /// The lines of a stored text that a plain block shows, whether it shows the end, and what its call must have asked
    /// for.
    fn plain(&self, served: &Text) -> Option<(Option<Lines>, bool, Needs)> {
        let v1 = &self.meta.v1;
        let first = v1.range_start;
        let start = u32::try_from(first).ok()?;
        let rest = Lines::new(start, served.total().max(start)).map_or("", |lines| served.slice(lines));
        if self.text == rest {
            // pi says so if it stops early, so this is the rest of the file. The end alone says too little to be
            // placed.
            let lines = Lines::new(start, served.total());
            let needs = Needs { first, least: v1.total_lines.saturating_sub(first).saturating_add(1) };
            return (lines.is_some() && !ends_like_pi(self.text)).then_some((lines, true, needs));
        }
        let (body, next) = without_notice(self.text)?;
        let count = body.split('\n').count() as u64;
        let lines = Lines::new(start, u32::try_from(next.checked_sub(1)?).ok()?)?;
        let whole = served.slice(lines).strip_suffix('\n') == Some(body);
        (whole && lines.last() <= served.total() && u64::from(lines.count()) == count).then_some((
            Some(lines),
            false,
            Needs { first, least: count },
        ))
    }

    /// A marker or a diff. The guards are core's. A marker that includes pi's last, empty line also relies on the end.
    fn derived(&self, version: Version, ends: bool) -> Option<Told> {
        let (path, base) = (self.path.clone(), self.meta.v1.base?);
        let (lines, to_end) = style::range(self.meta.v1.range_start, self.meta.v1.range_end, version.total);
        let (scope, to_end) = match self.meta.v1.scope {
            Scope::Full => (Scope::Full, true),
            Scope::Lines(_) => (Scope::Lines(lines?), to_end),
        };
        let (event, ends_under) = match self.meta.v1.mode {
            Mode::Diff => (Event::Diff { path, base, version }, None),
            // Never on this surface.
            Mode::Partial => return None,
            Mode::Full | Mode::BaselineFallback | Mode::Unchanged | Mode::UnchangedRange => {
                (Event::Same { path, base, version, scope, ends }, to_end.then_some(base))
            }
        };
        let counted = (base == version.hash).then_some(base);
        Some(Told { event, ends_under, needs: None, counted })
    }
}

/// Whether a text is nothing but white space, by any host's definition of it.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

/// Whether a diff of the older tool has every byte: it trims white space off its end, which may matter or not.
fn leads_to(body: &str, base: &Text, served: &Text) -> bool {
    let Some(at) = body.find("--- ").filter(|at| *at == 0 || body[..*at].ends_with('\n')) else { return false };
    let mut diff = body[at..].to_owned();
    if !diff.ends_with('\n') {
        diff.push('\n');
    }
    apply(&diff, base).as_deref() == Ok(served.as_str())
}
