//! What is held of one file: numbered lines, the newest text of each, and where the file ends if that is known.
//!
//! It owns how line numbers move. It must never hold a line of which only a part was seen, nor an unterminated line that
//! is not the file's last one.

use std::collections::BTreeMap;

use crate::Glimpse;
use crate::edit::Placed;

/// The lines held of one file.
///
/// Always: no line is held beyond `end`, and a line without a terminator is held only at `end`. Callers keep line
/// numbers far below the largest one, so that moving them cannot overflow.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    lines: BTreeMap<u64, String>,
    end: Option<u64>,
    /// For every number under which something was seen the one text that was, or none if there were several.
    seen: BTreeMap<u64, Option<String>>,
    /// Something was seen of which it is not known where it belongs.
    unplaced: bool,
}

impl PartialEq for View {
    /// Whether the same is held.
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines && self.end == other.end
    }
}

impl Eq for View {}

impl View {
    /// The view of someone who sees all of `text`.
    pub(crate) fn whole(text: &str) -> Self {
        let lines: BTreeMap<u64, String> = (1..).zip(text.split_inclusive('\n').map(str::to_owned)).collect();
        let end = Some(lines.len() as u64);
        let seen = lines.iter().map(|(number, line)| (*number, Some(line.clone()))).collect();
        Self { lines, end, seen, unplaced: false }
    }

    /// The view of someone who saw something of the file without knowing which lines.
    pub(crate) fn lost() -> Self {
        Self { unplaced: true, ..Self::default() }
    }

    /// The same view, in sight of what was seen before it.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        let now = std::mem::replace(&mut self.seen, before.seen.clone());
        self.unplaced |= before.unplaced;
        for (number, line) in now {
            self.bear(number, line.as_deref());
        }
        self
    }

    /// Something is seen under a number; none is a text that is not known.
    fn bear(&mut self, number: u64, line: Option<&str>) {
        let only = self.seen.entry(number).or_insert_with(|| line.map(str::to_owned));
        if only.as_deref() != line {
            *only = None;
        }
    }

    /// A line that is held, if nothing else was ever seen under its number.
    pub(crate) fn alone(&self, number: u64) -> Option<&str> {
        let line = self.lines.get(&number)?;
        let only = self.seen.get(&number).is_some_and(|only| only.as_ref() == Some(line));
        (only && !self.unplaced).then_some(line)
    }

    /// The number of lines of the file, if known.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    pub(crate) fn line(&self, number: u64) -> Option<&str> {
        self.lines.get(&number).map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.end.is_none()
    }

    /// The lines `first..=last` joined, or the number of the first one that is not held.
    pub(crate) fn join(&self, first: u64, last: u64) -> Result<String, u64> {
        let mut text = String::new();
        let mut next = first;
        // Walks what is held, not the numbers: a forged marker may claim any number of lines.
        for (number, line) in self.lines.range(first..) {
            if next > last || *number != next {
                break;
            }
            text.push_str(line);
            next += 1;
        }
        if next > last { Ok(text) } else { Err(next) }
    }

    /// Sets a whole line; one without terminator is the file's last.
    pub(crate) fn set_line(&mut self, number: u64, line: &str) {
        self.pass(number);
        self.bear(number, Some(line));
        self.lines.insert(number, line.to_owned());
        if !line.ends_with('\n') {
            self.set_end(number);
        }
    }

    /// The line exists, but its text is not known any more.
    pub(crate) fn forget_line(&mut self, number: u64) {
        self.pass(number);
        self.bear(number, None);
        self.lines.remove(&number);
    }

    /// A line is shown by something other than a read. If it differs from what is held, its text is not known any more: how
    /// it ends was not shown.
    pub(crate) fn glimpse(&mut self, glimpse: &Glimpse) {
        if !self.lines.get(&glimpse.number).is_some_and(|line| glimpse.is_of(line)) {
            self.forget_line(glimpse.number);
        }
    }

    /// The file has exactly this many lines.
    pub(crate) fn set_end(&mut self, end: u64) {
        self.drop_lines_after(end);
        self.end = Some(end);
    }

    /// The file is said to have this many lines, without its last one being shown: what is beyond is forgotten, and
    /// an end that was held otherwise was that of another version.
    pub(crate) fn cap(&mut self, total: u64) {
        self.drop_lines_after(total);
        if self.end != Some(total) {
            self.forget_end();
        }
    }

    /// The file has at most this many lines, perhaps fewer.
    pub(crate) fn set_most(&mut self, most: u64) {
        self.drop_lines_after(most);
        if self.end.is_some_and(|end| end > most) {
            self.end = None;
        }
    }

    /// The view after runs of lines were replaced in a file of `before` lines, which then has `total` lines. Lines outside
    /// the runs move; new lines that are not known are not held.
    pub(crate) fn replaced(&self, runs: &[Placed], before: u64, total: u64) -> Self {
        let mut old = self.clone();
        // The answer says how many lines the file had: what is held beyond is of another version.
        old.cap(before);
        let mut new = Self { end: old.end.map(|_| total), ..Self::default() };
        let (mut next, mut now) = (1, 1);
        for run in runs {
            let kept = old.lines.range(next..run.first);
            new.lines.extend(kept.map(|(number, line)| (number - next + now, line.clone())));
            now += run.first - next;
            let known = (now..).zip(&run.lines).filter_map(|(number, line)| Some((number, line.clone()?)));
            new.lines.extend(known);
            let unknown = (now..).zip(&run.lines).filter(|(_, line)| line.is_none());
            new.seen.extend(unknown.map(|(number, _)| (number, None)));
            (next, now) = (run.last + 1, now + run.lines.len() as u64);
        }
        new.lines.extend(old.lines.range(next..).map(|(number, line)| (number - next + now, line.clone())));
        if runs.last().is_some_and(|run| run.last == before) {
            // The last line is the edit's own, so that is where the file ends.
            new.end = Some(total);
        }
        let held: Vec<(u64, String)> = new.lines.iter().map(|(number, line)| (*number, line.clone())).collect();
        held.iter().for_each(|(number, line)| new.bear(*number, Some(line)));
        new.after(&old)
    }

    /// A line is being shown that the held end may not allow: one beyond it, or anew the line that ended the file
    /// without terminator (what follows it now is not known).
    fn pass(&mut self, number: u64) {
        if self.end.is_some_and(|end| end < number || (end == number && self.is_open(end))) {
            self.forget_end();
        }
    }

    fn forget_end(&mut self) {
        // An unterminated line is the file's last one or it is not a whole line.
        if let Some(end) = self.end.take()
            && self.is_open(end)
        {
            self.lines.remove(&end);
        }
    }

    fn is_open(&self, number: u64) -> bool {
        self.lines.get(&number).is_some_and(|line| !line.ends_with('\n'))
    }

    fn drop_lines_after(&mut self, last: u64) {
        self.lines.retain(|number, _| *number <= last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1:a 2:b.` holds lines 1 and 2 ("." = ends here without newline); a last `|n` is the known end.
    fn draw(view: &View) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (number, line) in &view.lines {
            parts.push(match line.strip_suffix('\n') {
                Some(body) => format!("{number}:{body}"),
                None => format!("{number}:{line}."),
            });
        }
        parts.extend(view.end.map(|end| format!("|{end}")));
        parts.join(" ")
    }

    fn view(drawn: &str) -> View {
        let mut view = View::default();
        for part in drawn.split(' ').filter(|part| !part.is_empty()) {
            if let Some(end) = part.strip_prefix('|') {
                view.end = Some(end.parse().unwrap());
            } else {
                let (number, body) = part.split_once(':').unwrap();
                let line = body.strip_suffix('.').map_or_else(|| format!("{body}\n"), str::to_owned);
                view.lines.insert(number.parse().unwrap(), line);
            }
        }
        assert_eq!(draw(&view), drawn);
        view
    }

    #[test]
    fn whole_numbers_lines_by_newline_only() {
        for (text, drawn) in [
            ("", "|0"),
            ("\n", "1: |1"),
            ("a", "1:a. |1"),
            ("a\n", "1:a |1"),
            ("a\nb", "1:a 2:b. |2"),
            ("a\r\nb\rc\n", "1:a\r 2:b\rc |2"),
            ("a\n\n", "1:a 2: |2"),
        ] {
            assert_eq!(draw(&View::whole(text)), drawn, "{text:?}");
        }
    }

    #[test]
    fn join_wants_every_line() {
        let held = view("1:a 2:b 4:d");
        assert_eq!(held.join(1, 2), Ok("a\nb\n".to_owned()));
        assert_eq!(held.join(4, 4), Ok("d\n".to_owned()));
        assert_eq!(held.join(1, 4), Err(3));
        assert_eq!(held.join(3, 4), Err(3));
        assert_eq!(held.join(4, 5), Err(5));
        assert_eq!(held.join(1, u64::MAX), Err(3));
        assert_eq!(held.join(1, 0), Ok(String::new()));
    }

    #[test]
    fn setting_lines_and_ends() {
        type Step = fn(&mut View);
        let table: &[(&str, Step, &str)] = &[
            ("1:a 2:b |2", |v| v.set_line(2, "x\n"), "1:a 2:x |2"),
            ("1:a 2:b |2", |v| v.set_line(3, "x\n"), "1:a 2:b 3:x"),
            ("1:a 2:b |2", |v| v.set_line(1, "x"), "1:x. |1"),
            ("1:a 2:b |2", |v| v.set_line(3, "x"), "1:a 2:b 3:x. |3"),
            // Line 2 ended the file without newline; a line 3 means that it is another line now.
            ("1:a 2:b. |2", |v| v.set_line(3, "x\n"), "1:a 3:x"),
            ("1:a 2:b. |2", |v| v.set_line(2, "b\n"), "1:a 2:b"),
            ("1:a 2:b. |2", |v| v.set_line(2, "c"), "1:a 2:c. |2"),
            ("1:a 2:b. |2", |v| v.set_line(1, "x\n"), "1:x 2:b. |2"),
            ("1:a 2:b |2", |v| v.forget_line(1), "2:b |2"),
            ("1:a 2:b |2", |v| v.forget_line(3), "1:a 2:b"),
            ("1:a 2:b. |2", |v| v.forget_line(2), "1:a"),
            ("1:a 2:b. |2", |v| v.forget_line(5), "1:a"),
            ("1:a 2:b 3:c", |v| v.set_end(2), "1:a 2:b |2"),
            ("1:a 2:b |2", |v| v.set_end(0), "|0"),
            ("1:a 2:b 3:c |3", |v| v.cap(2), "1:a 2:b"),
            ("1:a 2:b |2", |v| v.cap(2), "1:a 2:b |2"),
            ("1:a 2:b. |2", |v| v.cap(3), "1:a"),
            ("1:a 2:b 3:c |3", |v| v.set_most(2), "1:a 2:b"),
            ("1:a 2:b. |2", |v| v.set_most(2), "1:a 2:b. |2"),
            ("1:a 2:b. |2", |v| v.set_most(7), "1:a 2:b. |2"),
        ];
        for (before, step, after) in table {
            let mut held = view(before);
            step(&mut held);
            assert_eq!(draw(&held), *after, "from {before}");
        }
    }

    use crate::edit::{Call, Replaces, edited};

    /// What an edit of `file` leaves of a view, judged by its answer, which is made here from the true file.
    fn after(held: &View, file: &str, old: &str, new: &str, replaces: Replaces) -> (String, View) {
        let (edited_file, answer) = truth(file, old, new);
        let call = Call { old, new, replaces };
        (edited_file, edited(held, &call, None, &answer).unwrap().unwrap())
    }

    /// The file after all places are replaced, and an answer that states the smallest run of lines around them.
    fn truth(file: &str, old: &str, new: &str) -> (String, String) {
        let after = file.replace(old, new);
        let line = |at: usize| file.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let places: Vec<usize> = file.match_indices(old).map(|(at, _)| at).collect();
        let (first, from) = (line(places[0]), places[0]);
        let end = places[places.len() - 1] + old.len();
        let mut last = line(end - 1);
        let total = file.split_inclusive('\n').count() as u64;
        let start = file[..from].rfind('\n').map_or(0, |at| at + 1);
        let stop = |last: u64| file.split_inclusive('\n').take(usize::try_from(last).unwrap()).map(str::len).sum();
        let made = |last: u64| file[start..stop(last)].replace(old, new);
        if !made(last).is_empty() && !made(last).ends_with('\n') && last < total {
            last += 1;
        }
        let count = made(last).split_inclusive('\n').count() as u64;
        let now = after.split_inclusive('\n').count();
        let answer = match count {
            0 => format!("edited f: lines {first}-{last} are gone; {now} lines"),
            _ => format!("edited f: lines {first}-{last} are now {first}-{}; {now} lines", first + count - 1),
        };
        (after, answer)
    }

    #[test]
    fn an_edit_moves_later_lines() {
        let table: &[(&str, &str, &str, &str, &str)] = &[
            // In place.
            ("a\nb\nc\n", "1:a 2:b 3:c |3", "b", "x", "1:a 2:x 3:c |3"),
            ("a\nb\nc\n", "1:a 2:b 3:c |3", "b\n", "x\ny\n", "1:a 2:x 3:y 4:c |4"),
            ("a\nb\nc\n", "1:a 2:b 3:c |3", "a\nb\n", "", "1:c |1"),
            ("a\nb\nc\n", "1:a 2:b 3:c |3", "a\nb\nc\n", "", "|0"),
            ("a\nb\nc\n", "1:a 2:b 3:c |3", "\nb\n", "+", "1:a+c |1"),
            // At the end of the file the last line may lose or gain its terminator.
            ("a\nb\n", "1:a 2:b |2", "b\n", "b", "1:a 2:b. |2"),
            ("a\nb", "1:a 2:b. |2", "b", "b\n", "1:a 2:b |2"),
            ("a\nb", "1:a 2:b. |2", "\nb", "", "1:a. |1"),
            // Where it ends is told by an edit of the last line.
            ("a\nb\n", "1:a", "b\n", "x\ny\n", "1:a 3:y |3"),
            // The line is not held: the first new one is not, the others stand in the call.
            ("a\nb\nc\n", "1:a 3:c", "b\n", "x\ny\n", "1:a 3:y 4:c"),
            ("a\nb b\nc\n", "1:a 3:c", " ", "x\ny\nz", "1:a 3:y 5:c"),
            // It is held of another version, and does not fit.
            ("a\nb\nc\n", "1:a 2:z 3:c", "b", "x", "1:a 3:c"),
            ("a\nb\nc\n", "1:a 2:b 3:c 4:d |4", "b", "x", "1:a 2:x 3:c"),
            // The run's last terminator goes: its last line merges with the next one.
            ("a\nb\nc\nd\n", "1:a 2:b 4:d |4", "b\n", "b", "1:a 3:d |3"),
            ("a\nb\nc\nd\n", "1:a 2:b 3:c |4", "b\n", "b", "1:a 2:bc |3"),
            ("äöä\n", "1:äöä |1", "ö", "ü\nß", "1:äü 2:ßä |2"),
        ];
        for (file, before, old, new, expected) in table {
            let (_, held) = after(&view(before), file, old, new, Replaces::One);
            assert_eq!(draw(&held), *expected, "{file:?} {before}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn all_places_are_replaced() {
        let table: &[(&str, &str, &str, &str, &str)] = &[
            ("a-a\nb\na\n", "1:a-a 2:b 3:a |3", "a", "x", "1:x-x 2:b 3:x |3"),
            ("a\na\nb\n", "1:a 2:a 3:b |3", "a", "x\ny", "1:x 2:y 3:x 4:y 5:b |5"),
            // One of the lines is not held: none of the new ones is.
            ("a\na\nb\n", "1:a 3:b |3", "a", "x\ny", "5:b |5"),
        ];
        for (file, before, old, new, expected) in table {
            let (_, held) = after(&view(before), file, old, new, Replaces::All);
            assert_eq!(draw(&held), *expected, "{file:?} {before}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn an_edit_agrees_with_editing_the_whole_text() {
        // Every view of a small file, every piece of it, several replacements: what is held after the edit must be true of
        // the edited file.
        for file in ["a\nb\nc\n", "a\nb\nc", "\n\nb\n", "ab\nba", "a\nab\nb\na"] {
            let count = file.split_inclusive('\n').count();
            for mask in 0..(1u32 << (count + 1)) {
                for from in 0..file.len() {
                    for to in from + 1..=file.len() {
                        for new in ["", "x", "\n", "x\n", "x\ny", "\nx\n"] {
                            check_edit(file, mask, &file[from..to], new);
                        }
                    }
                }
            }
        }
    }

    fn check_edit(file: &str, mask: u32, old: &str, new: &str) {
        let once = file.char_indices().filter(|(at, _)| file[*at..].starts_with(old)).count() == 1;
        let mut held = View::whole(file);
        let count = held.lines.len();
        held.lines.retain(|number, _| mask & (1 << (number - 1)) != 0);
        let open = held.lines.values().any(|line| !line.ends_with('\n'));
        if mask & (1 << count) == 0 && !open {
            held.end = None;
        }
        let before = draw(&held);
        for replaces in if once { &[Replaces::One, Replaces::All][..] } else { &[Replaces::All] } {
            let (after, held) = after(&held, file, old, new, *replaces);
            let edited = View::whole(&after);
            for (number, line) in &held.lines {
                assert_eq!(Some(line), edited.lines.get(number), "{file:?} {before}: {old:?} -> {new:?}");
            }
            assert!(held.end.is_none() || held.end == edited.end, "{file:?} {before}: {old:?} -> {new:?}");
            if before == draw(&View::whole(file)) {
                assert_eq!(held, edited, "{file:?}: {old:?} -> {new:?}");
            }
        }
    }
}
