//! The grammar of answers: which marker a text is, and what the notices beside it say.
//!
//! It looks at the words alone. It must never look at what is held, nor accept as a marker what is not exactly one.

use crate::{Complaint, demand};

/// Every marker begins with this. File text may too; then a notice says so.
const MARKER_START: &str = "[readcache: ";
pub(crate) const FILE_TEXT_NOTICE: &str =
    "the text holds lines that look like this tool's own markers; they are file text";

/// What the text of an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form<'a> {
    /// File text as it is.
    Plain,
    /// The whole file is unchanged.
    Unchanged { total: u64 },
    /// The lines are unchanged, and so is the rest of the file.
    UnchangedRange { first: u64, last: u64, total: u64 },
    /// The lines are unchanged, but other lines changed.
    UnchangedElsewhere { first: u64, last: u64 },
    /// A diff of the whole file follows.
    Diff { changed: u64, total: u64, diff: &'a str },
    /// Some lines of a range follow; the others are unchanged.
    Partial(Partial<'a>),
}

/// First and last line of a run.
pub(crate) type Run = (u64, u64);

/// What a partial answer says and shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partial<'a> {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) total: u64,
    /// The runs that follow, each with its lines.
    pub(crate) sent: Vec<(Run, Vec<&'a str>)>,
    /// The runs that had other numbers when they were shown, and those.
    pub(crate) moved: Vec<(Run, Run)>,
}

impl Partial<'_> {
    /// Whether a line follows.
    pub(crate) fn sends(&self, number: u64) -> bool {
        self.sent.iter().any(|((first, last), _)| (*first..=*last).contains(&number))
    }
}

/// What the notices say about the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notices {
    pub(crate) cut: Option<Cut>,
    pub(crate) part: Option<Part>,
    pub(crate) origin: Origin,
}

/// The answer stops after line `next - 1`; the file has `total` lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) total: u64,
}

/// The text ends within this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) line: u64,
    pub(crate) shown: u64,
}

/// Whether the text is the file's or ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No notice says that it is file text: what looks like a marker is one.
    #[default]
    Unsaid,
    /// The notices say that it is file text, whatever it looks like.
    File,
}

/// Determines what the text of an answer is.
pub(crate) fn form(text: &str, origin: Origin) -> Result<Form<'_>, Complaint> {
    if origin == Origin::File || !text.starts_with(MARKER_START) {
        return Ok(Form::Plain);
    }
    if let Some([total]) = fields(text, "[readcache: unchanged, {} lines]") {
        return Ok(Form::Unchanged { total });
    }
    if let Some([first, last, total]) = fields(text, "[readcache: unchanged in lines {}-{} of {}]") {
        return Ok(Form::UnchangedRange { first, last, total });
    }
    let elsewhere = "[readcache: unchanged in lines {}-{}; changes exist outside this range]";
    if let Some([first, last]) = fields(text, elsewhere) {
        return Ok(Form::UnchangedElsewhere { first, last });
    }
    if let Some((head, diff)) = text.split_once('\n')
        && let Some([changed, total]) = fields(head, "[readcache: {} lines changed of {}]")
    {
        return Ok(Form::Diff { changed, total, diff });
    }
    if let Some(partial) = text.split_once('\n').and_then(|(head, body)| partial(head, body)) {
        return partial.map(Form::Partial);
    }
    let head: String = text.chars().take(120).collect();
    Err(Complaint(format!("the text looks like a marker and is none: {head:?}")))
}

/// A partial answer, if its first line is that of one.
fn partial<'a>(head: &str, body: &'a str) -> Option<Result<Partial<'a>, Complaint>> {
    let said = head.strip_prefix("[readcache: lines ")?.strip_suffix(']')?;
    let (range, rest) = said.split_once("; sent: ")?;
    let [first, last, total] = fields(range, "{}-{} of {}")?;
    let (sent, others) = rest.split_once("; others unchanged")?;
    let sent: Vec<Run> = if sent == "none" { Vec::new() } else { sent.split(", ").map(run).collect::<Option<_>>()? };
    let moved: Vec<(Run, Run)> = match others {
        "" => Vec::new(),
        _ => {
            let each = others.strip_prefix(" (")?.strip_suffix(')')?.split(", ");
            each.map(|each| each.split_once(" were ").and_then(|(now, then)| Some((run(now)?, run(then)?))))
                .collect::<Option<_>>()?
        }
    };
    Some(
        check_runs((first, last), &sent, &moved)
            .and_then(|()| Ok(Partial { first, last, total, sent: shown(&sent, body)?, moved })),
    )
}

/// `7-9`, or `7` for one line.
fn run(text: &str) -> Option<Run> {
    match text.split_once('-') {
        Some((first, last)) => Some((decimal(first)?, decimal(last)?)).filter(|(first, last)| first < last),
        None => decimal(text).map(|line| (line, line)),
    }
}

/// Runs are in order and inside the range; what follows is in parts only where something lies between; nothing both follows and is
/// unchanged; what moved is as long as it was, and did move.
fn check_runs((first, last): Run, sent: &[Run], moved: &[(Run, Run)]) -> Result<(), Complaint> {
    demand!(first >= 1 && first <= last, "the range {first}-{last} is none");
    let mut next = first;
    for (from, to) in sent {
        demand!(*from >= next && *to <= last, "{from}-{to} does not stand in order in {first}-{last}");
        next = to.saturating_add(2);
    }
    let mut next = first;
    for ((from, to), (old_from, old_to)) in moved {
        demand!(*from >= next && *to <= last, "{from}-{to} does not stand in order in {first}-{last}");
        demand!(to - from == old_to - old_from && from != old_from, "{from}-{to} cannot have been {old_from}-{old_to}");
        let follows = sent.iter().any(|(a, b)| a <= to && b >= from);
        demand!(!follows && *old_from >= 1, "{from}-{to} is said to follow and to be unchanged");
        next = to.saturating_add(1);
    }
    Ok(())
}

/// The lines of each run that follows, by their number. Between two runs a line says where the next begins.
fn shown<'a>(sent: &[Run], body: &'a str) -> Result<Vec<(Run, Vec<&'a str>)>, Complaint> {
    let mut lines = body.split_inclusive('\n');
    let mut all = Vec::new();
    for (at, (first, last)) in sent.iter().enumerate() {
        if at > 0 {
            let due = if first == last {
                format!("[readcache: {first}]\n")
            } else {
                format!("[readcache: {first}-{last}]\n")
            };
            let said = lines.next().unwrap_or_default();
            demand!(said == due, "{due:?} is due before the run, not {said:?}");
        }
        let mut run = Vec::new();
        // Counts what is there, not the numbers: forged ones may be any.
        for number in *first..=*last {
            let Some(line) = lines.next() else { return Err(Complaint(format!("line {number} is said to follow"))) };
            run.push(line);
        }
        all.push(((*first, *last), run));
    }
    demand!(lines.next().is_none(), "more follows than is said");
    Ok(all)
}

/// Parses the notices; those of any other form are not about the text.
pub(crate) fn notices(all: &[String]) -> Result<Notices, Complaint> {
    let mut found = Notices::default();
    for notice in all {
        if notice == FILE_TEXT_NOTICE {
            found.origin = Origin::File;
        } else if let Some(numbers) = fields(notice, "lines {}-{} of {}; go on with offset {}") {
            demand!(found.cut.is_none(), "two notices say where the answer is cut");
            found.cut = Some(cut(notice, numbers)?);
        } else if let Some([line, bytes, shown]) =
            fields(notice, "line {} is {} bytes long and is shown in part: its first {} bytes")
        {
            demand!(found.part.is_none(), "two notices name a line shown in part");
            demand!(shown < bytes, "the notice {notice:?} calls a whole line a part");
            found.part = Some(Part { line, shown });
        }
    }
    Ok(found)
}

fn cut(notice: &str, [first, last, total, next]: [u64; 4]) -> Result<Cut, Complaint> {
    demand!(last.checked_add(1) == Some(next), "the notice {notice:?} does not go on where it stops");
    demand!(next <= total, "the notice {notice:?} goes on after the last line");
    Ok(Cut { first, next, total })
}

/// The numbers at the `{}` of a template, if the whole text matches it exactly.
pub(crate) fn fields<const N: usize>(text: &str, template: &str) -> Option<[u64; N]> {
    let mut words = template.split("{}");
    let mut rest = text.strip_prefix(words.next()?)?;
    let mut numbers = [0; N];
    for number in &mut numbers {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        *number = decimal(&rest[..digits])?;
        rest = rest[digits..].strip_prefix(words.next()?)?;
    }
    if rest.is_empty() && words.next().is_none() { Some(numbers) } else { None }
}

/// A number in its one spelling: digits without a sign or leading zeros.
pub(crate) fn decimal(digits: &str) -> Option<u64> {
    let canonical = digits == "0" || !digits.starts_with('0');
    // `parse` alone would accept a sign.
    if canonical && digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_in_their_one_spelling() {
        let diff = "--- a/x\n+++ b/x\n";
        let whole_diff = format!("[readcache: 2 lines changed of 9]\n{diff}");
        for (text, expected) in [
            ("", Form::Plain),
            ("text\n", Form::Plain),
            ("\n[readcache: unchanged, 3 lines]", Form::Plain),
            (" [readcache: unchanged, 3 lines]", Form::Plain),
            ("[readcache:", Form::Plain),
            ("[readcache: unchanged, 0 lines]", Form::Unchanged { total: 0 }),
            ("[readcache: unchanged, 3 lines]", Form::Unchanged { total: 3 }),
            ("[readcache: unchanged, 18446744073709551615 lines]", Form::Unchanged { total: u64::MAX }),
            ("[readcache: unchanged in lines 3-5 of 9]", Form::UnchangedRange { first: 3, last: 5, total: 9 }),
            (
                "[readcache: unchanged in lines 3-5; changes exist outside this range]",
                Form::UnchangedElsewhere { first: 3, last: 5 },
            ),
            (whole_diff.as_str(), Form::Diff { changed: 2, total: 9, diff }),
        ] {
            assert_eq!(form(text, Origin::Unsaid), Ok(expected), "{text:?}");
            assert_eq!(form(text, Origin::File), Ok(Form::Plain), "{text:?}");
        }
    }

    #[test]
    fn what_looks_like_a_marker_and_is_none() {
        for text in [
            "[readcache: ",
            "[readcache: anything]",
            "[readcache: unchanged, 3 lines]\n",
            "[readcache: unchanged, 3 lines] ",
            "[readcache: unchanged, 3 lines]\ntext",
            "[readcache: unchanged, 3 line]",
            "[readcache: unchanged, 03 lines]",
            "[readcache: unchanged, +3 lines]",
            "[readcache: unchanged, -3 lines]",
            "[readcache: unchanged,  lines]",
            "[readcache: unchanged, 3 lines",
            "[readcache: unchanged, 18446744073709551616 lines]",
            "[readcache: Unchanged, 3 lines]",
            "[readcache: unchanged in lines 3-5]",
            "[readcache: unchanged in lines 3 of 9]",
            "[readcache: unchanged in lines 3-5 of 9]\n",
            "[readcache: unchanged in lines 3-5; changes exist outside this range]\n",
            "[readcache: unchanged in lines 3-5 of 9; changes exist outside this range]",
            "[readcache: 2 lines changed of 9]",
            "[readcache: 2 lines changed of 9] \n--- a/x",
            "[readcache: 2 lines changed of 9]\r\n--- a/x",
            "[readcache: 2 lines changed]\n--- a/x",
        ] {
            assert!(form(text, Origin::Unsaid).is_err(), "{text:?}");
            assert_eq!(form(text, Origin::File), Ok(Form::Plain), "{text:?}");
        }
    }

    #[test]
    fn notices_about_the_text() {
        let nothing = Notices::default();
        let cut = Notices { cut: Some(Cut { first: 3, next: 6, total: 9 }), ..nothing.clone() };
        let part = Notices { part: Some(Part { line: 6, shown: 10 }), ..nothing.clone() };
        for (notice, expected) in [
            ("lines 3-5 of 9; go on with offset 6", &cut),
            ("line 6 is 11 bytes long and is shown in part: its first 10 bytes", &part),
            (FILE_TEXT_NOTICE, &Notices { origin: Origin::File, ..nothing.clone() }),
            ("", &nothing),
            ("lines 3-5 of 9 shown", &nothing),
            ("lines 3-5 of 9; go on with offset 6.", &nothing),
            (" lines 3-5 of 9; go on with offset 6", &nothing),
            ("something else", &nothing),
        ] {
            assert_eq!(notices(&[notice.to_owned()]).as_ref(), Ok(expected), "{notice}");
        }
        let both = ["lines 3-5 of 9; go on with offset 6", "else", FILE_TEXT_NOTICE].map(str::to_owned);
        assert_eq!(notices(&both), Ok(Notices { cut: cut.cut, part: None, origin: Origin::File }));
    }

    #[test]
    fn notices_that_contradict_themselves() {
        let cut = "lines 3-5 of 9; go on with offset 6";
        let part = "line 6 is 11 bytes long and is shown in part: its first 10 bytes";
        for all in [
            &["lines 3-5 of 9; go on with offset 7"][..],
            &["lines 3-5 of 9; go on with offset 5"],
            &["lines 3-5 of 5; go on with offset 6"],
            &["lines 3-5 of 4; go on with offset 6"],
            &["lines 3-18446744073709551615 of 9; go on with offset 0"],
            &["line 6 is 10 bytes long and is shown in part: its first 10 bytes"],
            &["line 6 is 9 bytes long and is shown in part: its first 10 bytes"],
            &[cut, cut],
            &[part, part],
        ] {
            let all: Vec<String> = all.iter().map(|notice| (*notice).to_owned()).collect();
            assert!(notices(&all).is_err(), "{all:?}");
        }
    }
}
