//! The mistakes: what the file is like, how the model's copy of its lines differs, and how the request does.

use super::{Form, Hunk, Request};
use crate::{
    edits::intent::{File, Near, Wanted},
    op::Random,
};

/// What models do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::edits) enum Mistake {
    None,
    /// Wrong line numbers in the header of a hunk.
    Numbers,
    /// Wrong counts there.
    Counts,
    /// No numbers at all.
    Bare,
    /// Empty lines of context without their space.
    LostSpaces,
    /// Context that is only there after an earlier hunk.
    OwnEdit,
    /// Line numbers copied from a reader.
    ReaderNumbers,
    /// Lines left out of the old text.
    Elision,
    /// Lines left out of the new text.
    NewElision,
    /// A file with CR LF.
    Crlf,
    /// A request with CR LF.
    PatchCrlf,
    /// A file with tabs, written with spaces.
    Tabs,
    /// A file with spaces, written with tabs.
    Spaces,
    /// Written without the common indentation.
    Shallower,
    /// Written with more indentation.
    Deeper,
    /// A file with typographic quotes, dashes and spaces, written in ASCII.
    Quotes,
    /// A file with blanks at the end of lines, written without.
    Trailing,
    /// A file without a newline at its end.
    FinalNewline,
    /// A file with a byte order mark.
    Mark,
    /// The trailer or a marker of ours behind the old text.
    Ours,
    /// The same change twice.
    Twice,
    /// Two changes of the same line.
    Overlap,
    /// A line of context that is not so.
    Context,
}

impl Mistake {
    pub(in crate::edits) const ALL: [Self; 23] = [
        Self::None,
        Self::Numbers,
        Self::Counts,
        Self::Bare,
        Self::LostSpaces,
        Self::OwnEdit,
        Self::ReaderNumbers,
        Self::Elision,
        Self::NewElision,
        Self::Crlf,
        Self::PatchCrlf,
        Self::Tabs,
        Self::Spaces,
        Self::Shallower,
        Self::Deeper,
        Self::Quotes,
        Self::Trailing,
        Self::FinalNewline,
        Self::Mark,
        Self::Ours,
        Self::Twice,
        Self::Overlap,
        Self::Context,
    ];

    pub(in crate::edits) fn is_made_in(self, form: Form) -> bool {
        match self {
            Self::Numbers | Self::Counts | Self::Bare => form == Form::Unified,
            Self::LostSpaces => matches!(form, Form::Unified | Form::Begin),
            Self::OwnEdit | Self::Twice | Self::Overlap => form != Form::Replace,
            Self::None
            | Self::ReaderNumbers
            | Self::Elision
            | Self::NewElision
            | Self::Crlf
            | Self::PatchCrlf
            | Self::Tabs
            | Self::Spaces
            | Self::Shallower
            | Self::Deeper
            | Self::Quotes
            | Self::Trailing
            | Self::FinalNewline
            | Self::Mark
            | Self::Ours
            | Self::Context => true,
        }
    }

    /// How many percent of the edits must be made, because a rule covers the mistake.
    pub(in crate::edits) fn least_percent(self) -> u64 {
        match self {
            Self::None | Self::Numbers | Self::Counts | Self::Bare | Self::LostSpaces => 60,
            Self::Crlf | Self::PatchCrlf | Self::Trailing | Self::FinalNewline | Self::Mark => 60,
            Self::ReaderNumbers | Self::Tabs | Self::Spaces | Self::Shallower | Self::Deeper => 50,
            Self::OwnEdit | Self::Quotes => 40,
            Self::Elision | Self::NewElision | Self::Ours | Self::Twice | Self::Overlap | Self::Context => 0,
        }
    }

    /// Whether git may take it: it allows for wrong numbers, and for nothing else.
    pub(super) fn is_given_to_git(self) -> bool {
        matches!(
            self,
            Self::None
                | Self::Numbers
                | Self::Counts
                | Self::LostSpaces
                | Self::Mark
                | Self::OwnEdit
                | Self::FinalNewline
        )
    }

    /// Whether new lines are written as the file would not have them.
    pub(super) fn is_in_new_lines(self) -> bool {
        matches!(self, Self::Tabs | Self::Spaces | Self::Shallower | Self::Deeper | Self::Quotes | Self::ReaderNumbers)
    }

    /// The changes in which it can be made.
    pub(super) fn wanted(self, most: usize) -> Wanted {
        let near = if self == Self::FinalNewline {
            Near::End
        } else if self == Self::Mark {
            Near::Start
        } else {
            Near::Anywhere
        };
        let gap = if self == Self::OwnEdit { 0..2 } else { 1..30 };
        Wanted { most, gap, near, copies: !matches!(self, Self::Trailing | Self::Quotes | Self::OwnEdit) }
    }

    /// Makes a file in which the mistake can be made.
    pub(super) fn prepare(self, file: &mut File, random: &mut Random) -> Option<()> {
        match self {
            Self::Crlf => file.end = "\r\n",
            Self::FinalNewline => file.final_newline = false,
            Self::Mark => file.mark = true,
            Self::Trailing => {
                for line in &mut file.lines {
                    line.truncate(line.trim_end().len());
                    if random.below(2) == 0 {
                        line.push_str([" ", "  ", "\t"][random.below(3)]);
                    }
                }
            }
            Self::Tabs => {
                for line in &mut file.lines {
                    let spaces = line.len() - line.trim_start_matches(' ').len();
                    *line = format!("{}{}", "\t".repeat(spaces / 4), &line[spaces / 4 * 4..]);
                }
            }
            Self::Quotes => {
                for line in &mut file.lines {
                    let mut open = false;
                    *line = line
                        .chars()
                        .map(|c| match c {
                            '"' => {
                                open = !open;
                                if open { '“' } else { '”' }
                            }
                            '\'' => '’',
                            '-' if random.below(2) == 0 => '–',
                            other => other,
                        })
                        .collect();
                }
            }
            Self::None
            | Self::Numbers
            | Self::Counts
            | Self::Bare
            | Self::LostSpaces
            | Self::OwnEdit
            | Self::ReaderNumbers
            | Self::Elision
            | Self::NewElision
            | Self::PatchCrlf
            | Self::Spaces
            | Self::Shallower
            | Self::Deeper
            | Self::Ours
            | Self::Twice
            | Self::Overlap
            | Self::Context => {}
        }
        Some(())
    }

    /// Makes the mistake in the hunks. Says whether nothing is meant any more; `None` if it cannot be made in them.
    pub(super) fn make(self, hunks: &mut Vec<Hunk>, file: &File, random: &mut Random) -> Option<bool> {
        let made = match self {
            Self::Tabs => each(hunks, |line| {
                let tabs = line.len() - line.trim_start_matches('\t').len();
                format!("{}{}", "    ".repeat(tabs), &line[tabs..])
            }),
            Self::Spaces => each(hunks, |line| {
                let spaces = line.len() - line.trim_start_matches(' ').len();
                let width = if spaces % 4 == 0 { 4 } else { return line.to_owned() };
                format!("{}{}", "\t".repeat(spaces / width), &line[spaces..])
            }),
            Self::Deeper => {
                each(hunks, |line| if line.trim().is_empty() { line.to_owned() } else { format!("  {line}") })
            }
            Self::Quotes => each(hunks, |line| line.replace(['“', '”'], "\"").replace('’', "'").replace('–', "-")),
            Self::Trailing => each(hunks, |line| line.trim_end().to_owned()),
            Self::Shallower => shallower(hunks),
            Self::ReaderNumbers => return numbered(hunks, random),
            Self::Elision => {
                let hunk = hunks.first_mut().filter(|hunk| hunk.old.len() + hunk.behind.len() > 1)?;
                let place = if hunk.behind.is_empty() { &mut hunk.old } else { &mut hunk.behind };
                *place.first_mut()? =
                    ["...", "// ... existing code ...", "# rest of the code"][random.below(3)].to_owned();
                return Some(true);
            }
            Self::NewElision => {
                let line = ["    ...", "// ... existing code ...", "# ... rest of the function ..."][random.below(3)];
                if file.lines.iter().any(|there| there.trim() == line.trim()) {
                    return None;
                }
                hunks.first_mut()?.new.push(line.to_owned());
                return Some(true);
            }
            Self::Ours => {
                let line = ["[readcache: unchanged, 9 lines]", "[f: lines 1-9 of 20; known=h2-0f]"][random.below(2)];
                hunks.first_mut()?.behind.push(line.to_owned());
                return Some(true);
            }
            Self::Twice => {
                let hunk = hunks.first()?.clone();
                hunks.insert(1, hunk);
                return Some(true);
            }
            Self::Overlap => {
                let mut hunk = hunks.first().filter(|hunk| !hunk.old.is_empty())?.clone();
                hunk.new = vec!["something else".to_owned()];
                hunks.insert(1, hunk);
                return Some(true);
            }
            Self::Context => {
                let hunk = hunks.first_mut()?;
                let line = hunk.before.iter_mut().chain(&mut hunk.behind).find(|line| line.trim().len() > 2)?;
                line.push_str(" etc");
                return Some(true);
            }
            Self::OwnEdit => hunks.len() > 1,
            Self::LostSpaces => hunks.iter().any(|hunk| hunk.before.iter().chain(&hunk.behind).any(String::is_empty)),
            Self::FinalNewline => hunks.iter().any(|hunk| hunk.row + hunk.old_side().len() == file.lines.len()),
            Self::Mark => hunks.iter().any(|hunk| hunk.row == 0),
            Self::None | Self::Numbers | Self::Counts | Self::Bare | Self::Crlf | Self::PatchCrlf => true,
        };
        made.then_some(false)
    }

    /// Changes the text of the request as a whole.
    pub(super) fn garble(self, request: Request) -> Request {
        if self != Self::PatchCrlf {
            return request;
        }
        match request {
            Request::Patch(text) => Request::Patch(text.replace('\n', "\r\n")),
            Request::Pieces(mut pieces) => {
                for piece in &mut pieces {
                    piece.old = piece.old.replace('\n', "\r\n");
                    piece.new = piece.new.replace('\n', "\r\n");
                }
                Request::Pieces(pieces)
            }
        }
    }
}

/// Changes every line; whether any of them differs now.
fn each(hunks: &mut [Hunk], change: impl Fn(&str) -> String) -> bool {
    let mut differs = false;
    for hunk in hunks {
        hunk.each(&mut |line| {
            let changed = change(line);
            differs |= changed != *line;
            *line = changed;
        });
    }
    differs
}

/// Takes the common indentation from each hunk.
fn shallower(hunks: &mut [Hunk]) -> bool {
    let mut differs = false;
    for hunk in hunks {
        let mut common: Option<String> = None;
        hunk.each(&mut |line| {
            let indent = &line[..line.len() - line.trim_start().len()];
            if !line.trim().is_empty() {
                let shared = common.get_or_insert_with(|| indent.to_owned());
                let same = shared.bytes().zip(indent.bytes()).take_while(|(a, b)| a == b).count();
                shared.truncate(same);
            }
        });
        let common = common.unwrap_or_default();
        differs |= !common.is_empty();
        hunk.each(&mut |line| *line = line.strip_prefix(common.as_str()).unwrap_or(line).to_owned());
    }
    differs
}

/// Puts numbers before the lines of both sides, or only of the old one.
fn numbered(hunks: &mut [Hunk], random: &mut Random) -> Option<bool> {
    let style = random.below(4);
    let both = random.below(2) == 0;
    for hunk in hunks {
        let context = !hunk.before.is_empty() || !hunk.behind.is_empty();
        if !both && context {
            // Context stands on both sides.
            return None;
        }
        let count = hunk.before.len();
        let number = |line: &str, n: usize| match style {
            0 => format!("{n:>6}\t{line}"),
            1 => format!("{n}: {line}"),
            2 => format!("{n:>5}→{line}"),
            _ => format!("{n:>4} | {line}"),
        };
        let first = hunk.row + 1;
        // The lines behind must carry the same numbers on both sides.
        if hunk.old.len() != hunk.new.len() && !hunk.behind.is_empty() && hunk.new.len() > hunk.old.len() {
            return None;
        }
        let put = |lines: &mut Vec<String>, from: usize| {
            for (at, line) in lines.iter_mut().enumerate() {
                *line = number(line, from + at);
            }
        };
        let rows = hunk.old.len();
        put(&mut hunk.before, first);
        put(&mut hunk.old, first + count);
        if both {
            put(&mut hunk.new, first + count);
        }
        put(&mut hunk.behind, first + count + rows);
    }
    Some(false)
}
