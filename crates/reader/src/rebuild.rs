//! The rules by which an answer, together with what is held, yields lines.
//!
//! It owns when a short answer may stand for text. It must never count a line as held that was not shown, nor accept an
//! answer that does not fit its call.

use crate::answer::{self, Cut, Form, Notices, Part, Partial};
use crate::view::View;
use crate::{Complaint, Kind, Rebuilt, Rendered, demand, diff};
use std::collections::{BTreeMap, btree_map::Entry};

/// Greater line numbers are refused, so that moving a held line cannot overflow.
const FURTHEST_LINE: u64 = u64::MAX / 2;

/// What the call asked for.
pub(crate) struct Call<'a> {
    pub(crate) path: &'a str,
    pub(crate) first: u64,
    pub(crate) limit: Option<u64>,
}

impl Call<'_> {
    /// The last line asked for; none when the call asks for all lines.
    fn last(&self) -> Option<u64> {
        self.limit.map(|limit| (self.first - 1).saturating_add(limit))
    }

    /// Whether the call asks for every line of a file of `total` lines.
    fn asks_whole(&self, total: u64) -> bool {
        self.first == 1 && self.limit.is_none_or(|limit| limit >= total)
    }
}

/// Rebuilds what an answer stands for and takes it into the view. After a complaint the view must not be used.
pub(crate) fn answer(view: &mut View, call: &Call<'_>, rendered: &Rendered) -> Result<Rebuilt, Complaint> {
    demand!((1..=FURTHEST_LINE).contains(&call.first), "no file has a line {}", call.first);
    let notices = answer::notices(&rendered.notices)?;
    let form = answer::form(&rendered.text, notices.origin)?;
    demand!(form == Form::Plain || notices.part.is_none(), "a marker shows no line in part");
    match form {
        Form::Plain => plain(view, call, &rendered.text, &notices),
        Form::Unchanged { total } => unchanged(view, call, total, notices.cut),
        Form::UnchangedRange { first, last, total } => {
            let range = Range { first, last, total: Some(total) };
            unchanged_range(view, call, &range, notices.cut)
        }
        Form::UnchangedElsewhere { first, last } => {
            let range = Range { first, last, total: None };
            unchanged_range(view, call, &range, notices.cut)
        }
        Form::Diff { changed, total, diff } => {
            demand!(notices.cut.is_none(), "a diff is never cut");
            changed_whole(view, call, changed, total, diff)
        }
        Form::Partial(said) => partial(view, call, &said, notices.cut),
    }
}

fn plain(view: &mut View, call: &Call<'_>, text: &str, notices: &Notices) -> Result<Rebuilt, Complaint> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len() as u64;
    demand!(call.limit.is_none_or(|limit| count <= limit), "{count} lines came, more than the call asks for");
    let last = call.first - 1 + count;
    if let Some(part) = notices.part {
        check_part(part, last, lines.pop())?;
    }
    let next = call.first + lines.len() as u64;
    if let Some(cut) = notices.cut {
        check_cut(cut, call.first, next)?;
        demand!(count > 0, "a cut answer shows nothing");
        let ended = lines.last().is_some_and(|line| !line.ends_with('\n'));
        demand!(!ended, "the text ends the file in line {}, and yet it is said to be cut", next - 1);
    }

    for (number, line) in (call.first..).zip(&lines) {
        view.set_line(number, line);
    }
    if let Some(part) = notices.part {
        view.forget_line(part.line);
    }
    let cut = notices.cut.is_some() || notices.part.is_some();
    if !cut && call.limit.is_none_or(|limit| count < limit) {
        match (count, call.first) {
            // Nothing came from a later line onward: the file may end anywhere before it.
            (0, 2..) => view.set_most(call.first - 1),
            _ => view.set_end(last),
        }
    }
    Ok(Rebuilt { first: call.first, text: lines.concat(), kind: Kind::Plain, cut })
}

/// The last piece of the text must be what the notice says about it.
fn check_part(part: Part, last: u64, piece: Option<&str>) -> Result<(), Complaint> {
    let piece = piece.unwrap_or_default();
    demand!(!piece.is_empty() && !piece.ends_with('\n'), "no piece of line {} ends the text", part.line);
    demand!(part.line == last, "line {} is said to be in part, the text ends in line {last}", part.line);
    let length = piece.len() as u64;
    demand!(part.shown == length, "{} bytes of line {last} are said to be shown, {length} are", part.shown);
    Ok(())
}

/// A cut notice must name the lines that are there.
fn check_cut(cut: Cut, first: u64, next: u64) -> Result<(), Complaint> {
    demand!(cut.first == first, "the cut notice begins at line {}, the text at line {first}", cut.first);
    demand!(cut.next == next, "the cut notice goes on at line {}, the text stops before line {next}", cut.next);
    Ok(())
}

fn unchanged(view: &mut View, call: &Call<'_>, total: u64, cut: Option<Cut>) -> Result<Rebuilt, Complaint> {
    demand!(cut.is_none(), "a whole unchanged file is never cut");
    demand!(call.asks_whole(total), "the call does not ask for all {total} lines");
    // Holding no lines is not the same as having seen that there are none.
    demand!(total > 0 || view.end() == Some(0), "the file was not seen empty");
    let text = held(view, 1, total)?;
    view.set_end(total);
    Ok(Rebuilt { first: 1, text, kind: Kind::Unchanged, cut: false })
}

/// What a range marker says; only the form for an unchanged file has a total.
struct Range {
    first: u64,
    last: u64,
    total: Option<u64>,
}

/// The range must be that of the call: all of it, or its beginning and a notice that says so.
fn check_range(call: &Call<'_>, range: &Range, cut: Option<Cut>) -> Result<(), Complaint> {
    let Range { first, last, total } = *range;
    demand!(first == call.first, "the marker begins at line {first}, the call at line {}", call.first);
    demand!(first <= last, "the marker ends before it begins");
    demand!(call.last().is_none_or(|asked| last <= asked), "the marker goes beyond the lines asked for");
    demand!(total.is_none_or(|total| last <= total), "the marker goes beyond the file");
    match (cut, total) {
        (Some(cut), _) => {
            check_cut(cut, first, last.saturating_add(1))?;
            demand!(total.is_none_or(|total| total == cut.total), "marker and notice differ on the number of lines");
        }
        (None, Some(total)) => {
            let due = call.last().map_or(total, |asked| asked.min(total));
            demand!(last == due, "the marker stops at line {last}, due are the lines up to {due}");
        }
        // Without a total the marker may stop early, as plain text may: the file ends there.
        (None, None) => {}
    }
    Ok(())
}

fn unchanged_range(view: &mut View, call: &Call<'_>, range: &Range, cut: Option<Cut>) -> Result<Rebuilt, Complaint> {
    check_range(call, range, cut)?;
    let Range { first, last, total } = *range;
    let text = held(view, first, last)?;
    let goes_on = cut.is_some() || total.is_some_and(|total| last < total);
    demand!(!goes_on || text.ends_with('\n'), "line {last} is held as the last of the file, and the file goes on");

    match total {
        Some(total) if last == total => view.set_end(total),
        Some(total) => view.cap(total),
        None if cut.is_none() && call.last() != Some(last) => view.set_end(last),
        None => {}
    }
    let kind = if total.is_some() { Kind::UnchangedRange } else { Kind::UnchangedElsewhere };
    Ok(Rebuilt { first, text, kind, cut: cut.is_some() })
}

/// What follows is taken from the answer, what moved from where it was shown, and all else from where it stands.
fn partial(view: &mut View, call: &Call<'_>, said: &Partial<'_>, cut: Option<Cut>) -> Result<Rebuilt, Complaint> {
    let Partial { first, last, total, .. } = *said;
    check_range(call, &Range { first, last, total: Some(total) }, cut)?;
    let mut lines: BTreeMap<u64, String> = BTreeMap::new();
    for ((from, _), run) in &said.sent {
        lines.extend((*from..).zip(run.iter().map(|line| (*line).to_owned())));
    }
    for ((from, to), (old, _)) in &said.moved {
        for number in *from..=*to {
            let shown_as = number - from + old;
            let Some(line) = view.alone(shown_as) else {
                return Err(Complaint(format!(
                    "line {number} was {shown_as}, of which not exactly one text is in sight"
                )));
            };
            lines.insert(number, line.to_owned());
        }
    }
    for number in first..=last {
        if let Entry::Vacant(place) = lines.entry(number) {
            place.insert(held(view, number, number)?);
        }
        let open = lines.get(&number).is_some_and(|line| !line.ends_with('\n'));
        demand!(!open || number == total, "line {number} ends the file, and the file goes on");
    }
    for (number, line) in &lines {
        view.set_line(*number, line);
    }
    if last == total {
        view.set_end(total)
    } else {
        view.cap(total)
    }
    let text = lines.into_values().collect();
    Ok(Rebuilt { first, text, kind: Kind::Partial, cut: cut.is_some() })
}

fn changed_whole(view: &mut View, call: &Call<'_>, changed: u64, total: u64, text: &str) -> Result<Rebuilt, Complaint> {
    demand!(call.asks_whole(total), "a diff answers a call that does not ask for all {total} lines");
    let Some(end) = view.end() else {
        return Err(Complaint("a diff came, and where its base ends is not held".to_owned()));
    };
    let applied = diff::apply(&held(view, 1, end)?, call.path, text)?;
    let counted = applied.added.max(applied.removed);
    demand!(changed == counted, "{changed} lines are said to be changed, the diff changes {counted}");
    demand!(total == applied.lines, "{total} lines are said to be in the file, the diff leads to {}", applied.lines);
    *view = View::whole(&applied.text).after(view);
    Ok(Rebuilt { first: 1, text: applied.text, kind: Kind::Diff, cut: false })
}

fn held(view: &View, first: u64, last: u64) -> Result<String, Complaint> {
    view.join(first, last).map_err(|missing| Complaint(format!("line {missing} is not held (of {first}-{last})")))
}

#[cfg(test)]
mod tests {
    use crate::{Kind, Reader, Rebuilt, Rendered, Replaces, Seen};

    const FILE_TEXT: &str = "the text holds lines that look like this tool's own markers; they are file text";

    /// What a call asks for: offset and limit.
    type Ask = (Option<u64>, Option<u64>);
    const ALL: Ask = (None, None);

    fn from(offset: u64, limit: u64) -> Ask {
        (Some(offset), Some(limit))
    }

    fn read(ask: Ask, text: &str, notices: &[&str]) -> Seen {
        let notices = notices.iter().map(|notice| (*notice).to_owned()).collect();
        let answer = Rendered { text: text.to_owned(), notices };
        Seen::Read { path: "x".to_owned(), offset: ask.0, limit: ask.1, answer }
    }

    fn whole(text: &str) -> Seen {
        read(ALL, text, &[])
    }

    fn page(offset: u64, limit: u64, text: &str) -> Seen {
        read(from(offset, limit), text, &[])
    }

    fn write(content: &str) -> Seen {
        Seen::Write { path: "x".to_owned(), content: content.to_owned() }
    }

    fn edit(old: &str, new: &str, stated: &str) -> Seen {
        let (path, answer) = ("x".to_owned(), format!("edited x: {stated}"));
        Seen::Edit { path, old: old.to_owned(), new: new.to_owned(), replaces: Replaces::One, answer }
    }

    fn lost() -> Seen {
        Seen::Lost { path: "x".to_owned() }
    }

    fn unchanged(total: u64) -> Seen {
        whole(&format!("[readcache: unchanged, {total} lines]"))
    }

    fn range(ask: Ask, words: &str, notices: &[&str]) -> Seen {
        read(ask, &format!("[readcache: unchanged in lines {words}]"), notices)
    }

    fn elsewhere(ask: Ask, words: &str, notices: &[&str]) -> Seen {
        range(ask, &format!("{words}; changes exist outside this range"), notices)
    }

    fn diff(ask: Ask, counts: &str, hunks: &str, notices: &[&str]) -> Seen {
        read(ask, &format!("[readcache: {counts}]\n--- a/x\n+++ b/x\n{hunks}"), notices)
    }

    /// Shows all but the last without complaint, and tells what came of the last: the lines, or the complaint.
    fn last_of(all: &[Seen]) -> Result<Option<Rebuilt>, String> {
        let mut reader = Reader::default();
        let (last, before) = all.split_last().unwrap();
        for seen in before {
            reader.see(seen).unwrap();
        }
        reader.see(last).map_err(|complaint| complaint.to_string())
    }

    fn check(all: &[Seen], kind: Kind, first: u64, text: &str) {
        let expected = Rebuilt { first, text: text.to_owned(), kind, cut: false };
        assert_eq!(last_of(all), Ok(Some(expected)), "{all:#?}");
    }

    fn check_cut(all: &[Seen], kind: Kind, first: u64, text: &str) {
        let expected = Rebuilt { first, text: text.to_owned(), kind, cut: true };
        assert_eq!(last_of(all), Ok(Some(expected)), "{all:#?}");
    }

    fn complains(all: &[Seen], why: &str) {
        match last_of(all) {
            Ok(rebuilt) => panic!("no complaint ({why}): {rebuilt:?} from {all:#?}"),
            Err(complaint) => assert!(complaint.contains(why), "{complaint:?} is not about {why:?}: {all:#?}"),
        }
    }

    #[test]
    fn plain_text_is_what_it_is() {
        for text in ["", "a", "a\n", "a\nb", "\n", "a\r\nb\r\n", "a\n[readcache: unchanged, 9 lines]\n"] {
            check(&[whole(text)], Kind::Plain, 1, text);
        }
        check(&[page(5, 2, "e\nf\n")], Kind::Plain, 5, "e\nf\n");
        check(&[read((Some(5), None), "e\nf", &[])], Kind::Plain, 5, "e\nf");
        check(&[page(5, 9, "")], Kind::Plain, 5, "");
        check(&[page(1, 0, "")], Kind::Plain, 1, "");
        check(&[read(ALL, "a\n", &["some other notice"])], Kind::Plain, 1, "a\n");
        complains(&[page(5, 1, "e\nf\n")], "more than the call asks for");
        complains(&[page(1, 0, "a\n")], "more than the call asks for");
        complains(&[page(0, 2, "a\n")], "no file has a line 0");
        complains(&[page(u64::MAX, 2, "a\n")], "no file has a line");
    }

    #[test]
    fn file_text_that_looks_like_a_marker() {
        let forged = "[readcache: unchanged, 1 lines]\nb\n";
        check(&[read(ALL, forged, &[FILE_TEXT])], Kind::Plain, 1, forged);
        let bare = "[readcache: unchanged, 2 lines]";
        check(&[whole("a\nb\n"), read(ALL, bare, &["else", FILE_TEXT])], Kind::Plain, 1, bare);
        check(&[whole("a\nb\n"), read(ALL, bare, &[FILE_TEXT]), unchanged(1)], Kind::Unchanged, 1, bare);
        complains(&[whole("a\nb\n"), whole(forged)], "looks like a marker");
        complains(&[whole("a\nb\n"), whole("[readcache: unchanged, 2 lines]\n")], "looks like a marker");
        complains(&[whole("a\nb\n"), whole("[readcache: 2 lines]")], "looks like a marker");
        let near = "the text holds lines that look like this tool's own markers";
        complains(&[whole("a\nb\n"), read(ALL, forged, &[near])], "looks like a marker");
    }

    #[test]
    fn cut_text() {
        let cut = "lines 3-4 of 9; go on with offset 5";
        let ask = (Some(3), None);
        check_cut(&[read(ask, "c\nd\n", &[cut])], Kind::Plain, 3, "c\nd\n");
        check_cut(&[read(from(3, 2), "c\nd\n", &[cut])], Kind::Plain, 3, "c\nd\n");
        complains(&[read(ALL, "c\nd\n", &[cut])], "begins at line 3");
        complains(&[read(ask, "c\n", &[cut])], "goes on at line 5");
        complains(&[read(ask, "c\nd\ne\n", &[cut])], "goes on at line 5");
        complains(&[read(ask, "c\nd", &[cut])], "said to be cut");
        complains(&[read(ask, "", &["lines 3-2 of 9; go on with offset 3"])], "shows nothing");
        complains(&[read(ask, "c\nd\n", &["lines 3-4 of 9; go on with offset 6"])], "does not go on");
        complains(&[read(ask, "c\nd\n", &["lines 3-4 of 4; go on with offset 5"])], "after the last line");
        complains(&[read(ask, "c\nd\n", &[cut, cut])], "two notices");
        // What was not shown is not held, though the total is known.
        let first_two = read(ALL, "a\nb\n", &["lines 1-2 of 3; go on with offset 3"]);
        complains(&[first_two.clone(), unchanged(3)], "line 3 is not held");
        complains(&[first_two.clone(), diff(ALL, "1 lines changed of 3", "@@ -3 +3 @@\n-c\n+x\n", &[])], "not held");
        check(&[first_two.clone(), page(3, 1, "c\n"), unchanged(3)], Kind::Unchanged, 1, "a\nb\nc\n");
        // A cut answer says nothing about the end that was held.
        let changed = diff(ALL, "1 lines changed of 3", "@@ -3 +3 @@\n-c\n+x\n", &[]);
        check(&[whole("a\nb\nc\n"), first_two, changed], Kind::Diff, 1, "a\nb\nx\n");
    }

    #[test]
    fn a_line_shown_in_part_is_not_held() {
        let part = "line 2 is 90 bytes long and is shown in part: its first 3 bytes";
        let cut = "lines 1-1 of 9; go on with offset 2";
        check_cut(&[read(ALL, "a\nbbb", &[part])], Kind::Plain, 1, "a\n");
        check_cut(&[read(ALL, "a\nbbb", &[cut, part])], Kind::Plain, 1, "a\n");
        check_cut(&[read((Some(2), None), "bbb", &[part])], Kind::Plain, 2, "");
        let bare_cut = "lines 2-1 of 9; go on with offset 2";
        check_cut(&[read((Some(2), None), "bbb", &[part, bare_cut])], Kind::Plain, 2, "");
        complains(&[read(ALL, "a\nb\nccc", &[part])], "said to be in part");
        complains(&[read(ALL, "bbb", &[part])], "said to be in part");
        complains(&[read(ALL, "a\nbbb\n", &[part])], "no piece of line 2");
        complains(&[read(ALL, "", &[part])], "no piece of line 2");
        complains(&[read(ALL, "a\nbbbb", &[part])], "3 bytes of line 2");
        complains(&[read(ALL, "a\nä", &[part])], "3 bytes of line 2");
        complains(&[read(ALL, "a\nbbb", &[part, "lines 1-2 of 9; go on with offset 3"])], "goes on at line 3");
        let no_part = "line 2 is 3 bytes long and is shown in part: its first 3 bytes";
        complains(&[read(ALL, "a\nbbb", &[no_part])], "calls a whole line a part");
        complains(&[read(from(1, 1), "a\nbbb", &[part])], "more than the call asks for");
        // What was held of that line before is gone, and the end is not where the piece stops.
        let shown = read(ALL, "a\nbbb", &[part]);
        complains(&[shown.clone(), unchanged(2)], "line 2 is not held");
        complains(&[whole("a\nbbbbb\n"), shown.clone(), unchanged(2)], "line 2 is not held");
        check(&[whole("a\nb\nc\n"), shown, range(from(3, 1), "3-3 of 3", &[])], Kind::UnchangedRange, 3, "c\n");
    }

    #[test]
    fn where_the_file_ends() {
        // A diff of an empty change would need the end; a diff that appends to line 2 shows whether it is known.
        let append = diff(ALL, "1 lines changed of 3", "@@ -2,0 +3 @@\n+x\n", &[]);
        for known in [
            vec![whole("a\nb\n")],
            vec![page(1, 3, "a\nb\n")],
            vec![page(1, 1, "a\n"), read((Some(2), None), "b\n", &[])],
            vec![page(1, 1, "a\n"), page(2, 2, "b\n")],
            vec![whole("a\nb\nc\n"), page(1, 3, "a\nb\n")],
            vec![whole("a\nb\n"), page(2, 1, "b\n")],
            vec![whole("a\nb\n"), read((Some(3), None), "", &[])],
            vec![page(1, 2, "a\nb\n"), unchanged(2)],
            vec![page(1, 2, "a\nb\n"), range(from(2, 1), "2-2 of 2", &[])],
            vec![page(1, 2, "a\nb\n"), elsewhere((Some(2), None), "2-2", &[])],
            vec![page(1, 2, "a\nb\n"), elsewhere(from(2, 5), "2-2", &[])],
            vec![write("a\nb\n")],
        ] {
            check(&[known, vec![append.clone()]].concat(), Kind::Diff, 1, "a\nb\nx\n");
        }
        for unknown in [
            vec![],
            vec![page(1, 2, "a\nb\n")],
            vec![read(ALL, "a\nb\n", &["lines 1-2 of 3; go on with offset 3"])],
            vec![whole("a\nb\n"), page(3, 1, "c\n")],
            vec![whole("a\nb"), page(2, 1, "b\n")],
            vec![page(1, 2, "a\nb\n"), range(from(1, 1), "1-1 of 2", &[])],
            vec![page(1, 2, "a\nb\n"), elsewhere(from(2, 1), "2-2", &[])],
            vec![whole("a\nb\nc\n"), read((Some(3), None), "", &[])],
            vec![whole("a\nb\nc\n"), range(from(1, 1), "1-1 of 2", &[])],
            vec![whole("a\nb\n"), range(from(1, 1), "1-1 of 7", &[])],
            vec![write("a\nb\n"), lost()],
        ] {
            complains(&[unknown, vec![append.clone()]].concat(), "where its base ends is not held");
        }
        // Lines beyond a new end are forgotten.
        complains(&[whole("a\nb\nc\n"), whole("a\n"), unchanged(3)], "line 2 is not held");
        complains(&[whole("a\nb\nc\n"), page(2, 5, "b"), unchanged(3)], "line 3 is not held");
        complains(&[whole("a\n"), whole(""), unchanged(1)], "line 1 is not held");
    }

    #[test]
    fn the_whole_file_unchanged() {
        check(&[whole("a\nb"), unchanged(2)], Kind::Unchanged, 1, "a\nb");
        check(&[whole(""), unchanged(0)], Kind::Unchanged, 1, "");
        let marker = "[readcache: unchanged, 2 lines]";
        for ask in [ALL, (Some(1), None), (None, Some(2)), from(1, 2), from(1, 9)] {
            check(&[whole("a\nb\n"), read(ask, marker, &[])], Kind::Unchanged, 1, "a\nb\n");
        }
        for ask in [(Some(2), None), from(1, 1), from(2, 9), (None, Some(0))] {
            complains(&[whole("a\nb\n"), read(ask, marker, &[])], "does not ask for all 2 lines");
        }
        check(&[page(2, 1, "b\n"), page(1, 1, "a\n"), unchanged(2)], Kind::Unchanged, 1, "a\nb\n");
        check(&[whole("a\nb\n"), page(2, 1, "x\n"), unchanged(2)], Kind::Unchanged, 1, "a\nx\n");
        complains(&[unchanged(2)], "line 1 is not held");
        complains(&[unchanged(0)], "not seen empty");
        complains(&[page(2, 1, "b\n"), unchanged(2)], "line 1 is not held");
        complains(&[page(1, 1, "a\n"), unchanged(2)], "line 2 is not held");
        complains(&[whole("a\nb\n"), unchanged(3)], "line 3 is not held");
        complains(&[whole("a\nb\n"), unchanged(u64::MAX)], "line 3 is not held");
        let cut = "lines 1-2 of 3; go on with offset 3";
        complains(&[whole("a\nb\n"), read(ALL, marker, &[cut])], "never cut");
        let part = "line 2 is 9 bytes long and is shown in part: its first 3 bytes";
        complains(&[whole("a\nb\n"), read(ALL, marker, &[part])], "no line in part");
        // Line 2 ended the file and now another follows it, so its terminator was never shown.
        complains(&[whole("a\nb"), page(3, 1, "c\n"), unchanged(3)], "line 2 is not held");
    }

    #[test]
    fn a_range_unchanged_in_an_unchanged_file() {
        let file = whole("a\nb\nc\nd\n");
        let kind = Kind::UnchangedRange;
        for (ask, words, text) in [
            (from(2, 2), "2-3 of 4", "b\nc\n"),
            (from(2, 9), "2-4 of 4", "b\nc\nd\n"),
            ((Some(3), None), "3-4 of 4", "c\nd\n"),
            (from(1, 1), "1-1 of 4", "a\n"),
            (ALL, "1-4 of 4", "a\nb\nc\nd\n"),
            (from(2, u64::MAX), "2-4 of 4", "b\nc\nd\n"),
        ] {
            check(&[file.clone(), range(ask, words, &[])], kind, ask.0.unwrap_or(1), text);
        }
        for (ask, words, why) in [
            (from(1, 2), "2-3 of 4", "the call at line 1"),
            (ALL, "2-4 of 4", "the call at line 1"),
            (from(2, 2), "2-2 of 4", "due are the lines up to 3"),
            (from(2, 2), "2-4 of 4", "beyond the lines asked for"),
            ((Some(2), None), "2-3 of 4", "due are the lines up to 4"),
            (from(2, 9), "2-3 of 4", "due are the lines up to 4"),
            (from(2, 3), "2-4 of 3", "beyond the file"),
            (from(3, 2), "3-2 of 4", "ends before it begins"),
            (from(3, 0), "3-3 of 4", "beyond the lines asked for"),
            (from(4, 2), "4-5 of 5", "line 5 is not held"),
            (from(0, 2), "0-1 of 4", "no file has a line 0"),
        ] {
            complains(&[file.clone(), range(ask, words, &[])], why);
        }
        complains(&[range(from(2, 2), "2-3 of 4", &[])], "line 2 is not held");
        check(&[page(2, 2, "b\nc\n"), range(from(2, 2), "2-3 of 4", &[])], kind, 2, "b\nc\n");
        complains(&[page(2, 2, "b\nc\n"), range(from(2, 3), "2-4 of 4", &[])], "line 4 is not held");
        complains(&[page(1, 1, "a\n"), page(3, 1, "c\n"), range(from(1, 3), "1-3 of 3", &[])], "line 2 is not held");
        // Lines beyond the total are forgotten.
        let shorter = range(from(1, 1), "1-1 of 2", &[]);
        complains(&[file.clone(), shorter.clone(), unchanged(4)], "line 3 is not held");
        check(&[file, shorter, unchanged(2)], Kind::Unchanged, 1, "a\nb\n");
        // A last line without newline cannot stand before others.
        check(&[whole("a\nb"), range(from(2, 1), "2-2 of 2", &[])], kind, 2, "b");
        complains(&[whole("a\nb"), range(from(2, 1), "2-2 of 3", &[])], "the file goes on");
        complains(&[whole("a\nb"), range(from(1, 1), "1-1 of 3", &[]), unchanged(2)], "line 2 is not held");
    }

    #[test]
    fn a_range_unchanged_though_other_lines_are_not() {
        let file = whole("a\nb\nc\nd\n");
        let kind = Kind::UnchangedElsewhere;
        check(&[file.clone(), elsewhere(from(2, 2), "2-3", &[])], kind, 2, "b\nc\n");
        check(&[file.clone(), elsewhere((Some(2), None), "2-4", &[])], kind, 2, "b\nc\nd\n");
        check(&[file.clone(), elsewhere(from(2, 9), "2-4", &[])], kind, 2, "b\nc\nd\n");
        for (ask, words, why) in [
            (from(1, 2), "2-3", "the call at line 1"),
            (from(2, 2), "2-4", "beyond the lines asked for"),
            (from(3, 2), "3-2", "ends before it begins"),
            (from(4, 2), "4-5", "line 5 is not held"),
        ] {
            complains(&[file.clone(), elsewhere(ask, words, &[])], why);
        }
        complains(&[elsewhere(from(2, 2), "2-3", &[])], "line 2 is not held");
        // Without limit or cut the range ends the file; so it does when it stops short of the limit.
        for stops in [elsewhere((Some(2), None), "2-3", &[]), elsewhere(from(2, 9), "2-3", &[])] {
            complains(&[file.clone(), stops.clone(), unchanged(4)], "line 4 is not held");
            check(&[file.clone(), stops, unchanged(3)], Kind::Unchanged, 1, "a\nb\nc\n");
        }
        check(&[file, elsewhere(from(2, 2), "2-3", &[]), unchanged(4)], Kind::Unchanged, 1, "a\nb\nc\nd\n");
    }

    #[test]
    fn range_markers_for_a_cut_window() {
        let file = whole("a\nb\nc\nd\n");
        let cut = "lines 2-3 of 4; go on with offset 4";
        let ask = (Some(2), None);
        check_cut(&[file.clone(), range(ask, "2-3 of 4", &[cut])], Kind::UnchangedRange, 2, "b\nc\n");
        check_cut(&[file.clone(), range(from(2, 3), "2-3 of 4", &[cut])], Kind::UnchangedRange, 2, "b\nc\n");
        check_cut(&[file.clone(), elsewhere(ask, "2-3", &[cut])], Kind::UnchangedElsewhere, 2, "b\nc\n");
        let all = "lines 1-3 of 4; go on with offset 4";
        check_cut(&[file.clone(), range(ALL, "1-3 of 4", &[all])], Kind::UnchangedRange, 1, "a\nb\nc\n");
        complains(&[file.clone(), range(ask, "2-2 of 4", &[cut])], "goes on at line 4");
        complains(&[file.clone(), range(ask, "2-4 of 4", &[cut])], "goes on at line 4");
        complains(&[file.clone(), range(ask, "2-3 of 5", &[cut])], "differ on the number of lines");
        complains(&[file.clone(), range(ask, "2-3 of 4", &[all])], "notice begins at line 1");
        complains(&[file.clone(), range(from(2, 1), "2-3 of 4", &[cut])], "beyond the lines asked for");
        complains(&[file.clone(), elsewhere(ask, "2-2", &[cut])], "goes on at line 4");
        complains(&[whole("a\nb\nc"), elsewhere(ask, "2-3", &[cut])], "the file goes on");
        complains(&[page(2, 1, "b\n"), elsewhere(ask, "2-3", &[cut])], "line 3 is not held");
        let part = "line 4 is 9 bytes long and is shown in part: its first 3 bytes";
        complains(&[file.clone(), range(ask, "2-3 of 4", &[cut, part])], "no line in part");
        // Cut: the range does not end the file.
        check(&[file.clone(), elsewhere(ask, "2-3", &[cut]), unchanged(4)], Kind::Unchanged, 1, "a\nb\nc\nd\n");
    }

    #[test]
    fn a_diff_needs_the_whole_base() {
        let hunk = "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n";
        let changed = diff(ALL, "1 lines changed of 3", hunk, &[]);
        let file = whole("a\nb\nc\n");
        check(&[file.clone(), changed.clone()], Kind::Diff, 1, "a\nx\nc\n");
        check(&[file.clone(), changed.clone(), unchanged(3)], Kind::Unchanged, 1, "a\nx\nc\n");
        for ask in [(Some(1), None), from(1, 3), from(1, 9)] {
            let changed = diff(ask, "1 lines changed of 3", hunk, &[]);
            check(&[file.clone(), changed], Kind::Diff, 1, "a\nx\nc\n");
        }
        for ask in [from(1, 2), (Some(2), None)] {
            let changed = diff(ask, "1 lines changed of 3", hunk, &[]);
            complains(&[file.clone(), changed], "does not ask for all 3 lines");
        }
        complains(std::slice::from_ref(&changed), "where its base ends");
        complains(&[page(1, 3, "a\nb\nc\n"), changed.clone()], "where its base ends");
        complains(&[read((Some(2), None), "b\nc\n", &[]), changed.clone()], "line 1 is not held");
        complains(&[page(1, 1, "a\n"), read((Some(3), None), "c\n", &[]), changed.clone()], "line 2 is not held");
        complains(&[whole("a\nb\nc"), changed.clone()], "base line 3");
        complains(&[whole("a\nB\nc\n"), changed.clone()], "base line 2");
        complains(&[file.clone(), changed.clone(), changed.clone()], "base line 2");
        for (counts, why) in [
            ("2 lines changed of 3", "the diff changes 1"),
            ("0 lines changed of 3", "the diff changes 1"),
            ("1 lines changed of 4", "the diff leads to 3"),
            ("1 lines changed of 2", "the diff leads to 3"),
        ] {
            complains(&[file.clone(), diff(ALL, counts, hunk, &[])], why);
        }
        // The larger side counts.
        let grow = diff(ALL, "2 lines changed of 4", "@@ -2 +2,2 @@\n-b\n+x\n+y\n", &[]);
        check(&[file.clone(), grow], Kind::Diff, 1, "a\nx\ny\nc\n");
        let shrink = diff(ALL, "2 lines changed of 1", "@@ -2,2 +1,0 @@\n-b\n-c\n", &[]);
        check(&[file.clone(), shrink.clone()], Kind::Diff, 1, "a\n");
        complains(&[file.clone(), shrink, unchanged(3)], "line 2 is not held");
        let cut = "lines 1-2 of 3; go on with offset 3";
        complains(&[file.clone(), diff(ALL, "1 lines changed of 3", hunk, &[cut])], "never cut");
        let part = "line 3 is 9 bytes long and is shown in part: its first 3 bytes";
        complains(&[file, diff(ALL, "1 lines changed of 3", hunk, &[part])], "no line in part");
        let fill = diff(ALL, "1 lines changed of 1", "@@ -0,0 +1 @@\n+a\n", &[]);
        check(&[whole(""), fill], Kind::Diff, 1, "a\n");
    }

    fn partial(ask: Ask, head: &str, body: &str) -> Seen {
        read(ask, &format!("[readcache: lines {head}]\n{body}"), &[])
    }

    #[test]
    fn a_partial_answer_and_what_is_held() {
        let (file, kind) = (page(1, 3, "a\nb\nc\n"), Kind::Partial);
        let rest = partial(ALL, "1-5 of 5; sent: 4-5; others unchanged", "d\ne\n");
        check(&[file.clone(), rest.clone()], kind, 1, "a\nb\nc\nd\ne\n");
        check(&[file.clone(), rest.clone(), unchanged(5)], Kind::Unchanged, 1, "a\nb\nc\nd\ne\n");
        let open = partial(ALL, "1-5 of 5; sent: 2, 4-5; others unchanged", "x\n[readcache: 4-5]\nd\ne");
        check(&[file.clone(), open], kind, 1, "a\nx\nc\nd\ne");
        // Our own words inside file text change nothing: the first line counts.
        let odd = partial(ALL, "1-4 of 4; sent: 2, 4; others unchanged", "[readcache: 4]\n[readcache: 4]\nd\n");
        check(&[file.clone(), odd], kind, 1, "a\n[readcache: 4]\nc\nd\n");
        for (head, body, why) in [
            ("1-5 of 5; sent: 5; others unchanged", "e\n", "line 4 is not held"),
            ("1-5 of 5; sent: 4-5; others unchanged", "d\n", "line 5 is said to follow"),
            ("1-5 of 5; sent: 4-5; others unchanged", "d\ne\nf\n", "more follows"),
            ("1-5 of 5; sent: 4, 5; others unchanged", "d\n[readcache: 5]\ne\n", "in order"),
            ("1-5 of 5; sent: 1, 4-5; others unchanged", "a\nd\ne\n", "is due before the run"),
            ("1-5 of 5; sent: 4-6; others unchanged", "d\ne\nf\n", "in order"),
            ("1-5 of 6; sent: 4-5; others unchanged", "d\ne\n", "due are the lines up to 6"),
            ("2-5 of 5; sent: 4-5; others unchanged", "d\ne\n", "the call at line 1"),
            ("1-5 of 5; sent: 4-5; others unchanged", "d\ne", ""),
        ] {
            let seen = partial(ALL, head, body);
            match why {
                "" => check(&[file.clone(), seen], kind, 1, "a\nb\nc\nd\ne"),
                _ => complains(&[file.clone(), seen], why),
            }
        }
        complains(&[file, partial(ALL, "1-5 of 5; sent: 04-5; others unchanged", "d\ne\n")], "looks like a marker");
        complains(&[whole("a\nb"), partial(ALL, "1-3 of 3; sent: 3; others unchanged", "c\n")], "the file goes on");
    }

    #[test]
    fn lines_that_moved_are_taken_from_where_they_were_shown() {
        let (file, kind) = (whole("a\nb\nc\nd\n"), Kind::Partial);
        let moved = |body: &str| partial(ALL, "1-5 of 5; sent: 1-2; others unchanged (3-5 were 2-4)", body);
        check(&[file.clone(), moved("x\ny\n")], kind, 1, "x\ny\nb\nc\nd\n");
        let all = partial((Some(3), None), "3-5 of 5; sent: none; others unchanged (3-5 were 2-4)", "");
        check(&[file.clone(), all], kind, 3, "b\nc\nd\n");
        // Another text under one of these numbers, however it came and whichever is newer.
        let why = "not exactly one text is in sight";
        complains(&[page(3, 1, "z\n"), file.clone(), moved("x\ny\n")], why);
        complains(&[file.clone(), page(3, 1, "z\n"), moved("x\ny\n")], why);
        complains(&[write("z\nz\n"), file.clone(), moved("x\ny\n")], why);
        complains(&[lost(), file.clone(), moved("x\ny\n")], why);
        let shifts = edit("a\n", "a\nn\n", "lines 1-1 are now 1-2; 5 lines");
        complains(&[file.clone(), shifts, moved("x\ny\n")], why);
        complains(&[file.clone(), moved("x\ny\n"), moved("x\ny\n")], why);
        check(&[page(3, 1, "c\n"), file.clone(), moved("x\ny\n")], kind, 1, "x\ny\nb\nc\nd\n");
        for head in [
            "1-5 of 5; sent: 1-3; others unchanged (3-5 were 2-4)",
            "1-5 of 5; sent: 1-2; others unchanged (3-5 were 2-5)",
            "1-5 of 5; sent: 1-2; others unchanged (3-5 were 3-5)",
            "1-5 of 5; sent: 1-2; others unchanged (4-5 were 3-4, 3 were 2)",
        ] {
            assert!(last_of(&[file.clone(), partial(ALL, head, "x\ny\n")]).is_err(), "{head}");
        }
    }

    #[test]
    fn own_writes_and_edits() {
        assert_eq!(last_of(&[write("a\n")]), Ok(None));
        assert_eq!(last_of(&[edit("a", "b", "lines 3-3 are now 3-3; 9 lines")]), Ok(None));
        assert_eq!(last_of(&[lost()]), Ok(None));
        check(&[whole("x\ny\n"), write("a\nb"), unchanged(2)], Kind::Unchanged, 1, "a\nb");
        let grown = "lines 1-1 are now 1-2; 3 lines";
        check(&[write("a\nb\n"), edit("a\n", "x\ny\n", grown), unchanged(3)], Kind::Unchanged, 1, "x\ny\nb\n");
        let below = range(from(6, 1), "6-6 of 7", &[]);
        let grown = "lines 1-1 are now 1-2; 7 lines";
        let pages = [page(1, 1, "a\n"), page(5, 1, "e\n"), edit("a", "x\ny", grown)];
        check(&[&pages[..], &[below]].concat(), Kind::UnchangedRange, 6, "e\n");
        complains(&[&pages[..], &[range(from(5, 1), "5-5 of 7", &[])]].concat(), "line 5 is not held");
        // Merged with a line that was never shown.
        let merged = [page(1, 2, "a\nb\n"), edit("b\n", "b", "lines 2-3 are now 2-2; 9 lines")];
        complains(&[&merged[..], &[range(from(1, 2), "1-2 of 9", &[])]].concat(), "line 2 is not held");
        // The answer says where, so a second place of the old text does not matter; a line that is none does.
        let second = "lines 2-2 are now 2-2; 2 lines";
        check(&[write("a\na\n"), edit("a", "x", second), unchanged(2)], Kind::Unchanged, 1, "a\nx\n");
        complains(&[write("a\nb\n"), edit("z", "x", second), unchanged(2)], "line 2 is not held");
        complains(&[edit("a", "x", "lines 2-3 are now 2-2; 2 lines")], "not where the old text can stand");
        complains(&[edit("a", "x", "lines 2-2 are now 2-3; 2 lines")], "2 new lines are stated");
        complains(&[edit("a", "x", "lines 2-2 are now 3-3; 2 lines")], "stand elsewhere");
        complains(&[edit("a", "x", "lines 2-2 are now 2-2; 1 lines")], "beyond the file");
        complains(&[edit("a", "x", "lines 2-2 are now 2-2, 3-3 are gone; 9 lines")], "a line of it is");
        complains(&[edit("a\n", "", "lines 2-2 are gone, 3-3 are gone; 9 lines")], "2 are stated");
        complains(&[edit("", "x", second)], "an edit of nothing");
        complains(&[edit("a", "x", "3 bytes, 2 lines")], "does not say what was edited");
        // Too many places to state: the file is forgotten.
        let many = "60 places, too many to state, so read it again; 9 lines";
        complains(&[write("a\n"), edit("a", "x", many), unchanged(1)], "line 1 is not held");
        complains(&[write("a\n"), lost(), unchanged(1)], "line 1 is not held");
    }

    #[test]
    fn each_path_has_its_own_view() {
        let mut reader = Reader::default();
        let of = |path: &str, text: &str| Seen::Read {
            path: path.to_owned(),
            offset: None,
            limit: None,
            answer: Rendered { text: text.to_owned(), notices: Vec::new() },
        };
        reader.see(&of("x", "a\n")).unwrap();
        let fork = reader.clone();
        let complaint = reader.see(&of("./x", "[readcache: unchanged, 1 lines]")).unwrap_err();
        assert_eq!(complaint.to_string(), "./x: line 1 is not held (of 1-1)");
        assert!(reader.see(&of("x", "[readcache: unchanged, 1 lines]")).is_ok());
        // After a complaint the file is forgotten, but not on the other branch.
        assert!(reader.see(&of("x", "[readcache: unchanged, 2 lines]")).is_err());
        assert!(reader.see(&of("x", "[readcache: unchanged, 1 lines]")).is_err());
        assert!(fork.clone().see(&of("x", "[readcache: unchanged, 1 lines]")).is_ok());
    }
}
