//! What is held of one file: numbered lines, newest wins, and where the file ends if that is known.
//!
//! It owns the moves of line numbers. It must never hold a line of which only a part was seen, nor an unterminated
//! line that is not the file's last one.

use std::collections::BTreeMap;

use crate::Glimpse;

/// The lines held of one file.
///
/// Always: no line is held beyond `end`, and a line without a terminator is held only at `end`. Callers keep line
/// numbers far below the largest one, so that moving them cannot overflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    lines: BTreeMap<u64, String>,
    end: Option<u64>,
}

/// Consecutive held lines, joined.
struct Run {
    first: u64,
    count: u64,
    text: String,
}

impl View {
    /// The view of someone who sees all of `text`.
    pub(crate) fn whole(text: &str) -> Self {
        let lines: BTreeMap<u64, String> = (1..).zip(text.split_inclusive('\n').map(str::to_owned)).collect();
        let end = Some(lines.len() as u64);
        Self { lines, end }
    }

    /// The number of lines of the file, if known.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
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
        self.lines.insert(number, line.to_owned());
        if !line.ends_with('\n') {
            self.set_end(number);
        }
    }

    /// The line is there, but its text is not known any more.
    pub(crate) fn forget_line(&mut self, number: u64) {
        self.pass(number);
        self.lines.remove(&number);
    }

    /// A line is shown by something that is no read. Where it is not what is held, its text is not known any more: how it ends
    /// was not shown.
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

    /// Replaces the only place of `old` in the held lines. False when there is not exactly one: the view is then
    /// unchanged, and no longer true of the file.
    pub(crate) fn edit(&mut self, old: &str, new: &str) -> bool {
        if old.is_empty() {
            return false;
        }
        let runs = self.runs();
        let mut places = runs.iter().flat_map(|run| occurrences(&run.text, old).map(move |at| (run, at)));
        let (Some((run, at)), None) = (places.next(), places.next()) else { return false };
        let text = [&run.text[..at], new, &run.text[at + old.len()..]].concat();
        *self = self.replaced(run, &text);
        true
    }

    /// The view after `text` took the place of a run.
    fn replaced(&self, run: &Run, text: &str) -> Self {
        let last = run.first + run.count - 1;
        // An open last piece merges with the line after the run. That line is never held, as runs are maximal, so the
        // merged line is not held either; it keeps the place of the line it swallowed, and later lines move as usual.
        let open = !text.is_empty() && !text.ends_with('\n') && self.end != Some(last);
        let mut pieces: Vec<&str> = text.split_inclusive('\n').collect();
        if open {
            pieces.pop();
        }
        let moved = |number: u64| number - run.count + pieces.len() as u64;

        let before = self.lines.range(..run.first).map(|(number, line)| (*number, line.clone()));
        let within = (run.first..).zip(pieces.iter().map(|piece| (*piece).to_owned()));
        let after = self.lines.range(last + 1..).map(|(number, line)| (moved(*number), line.clone()));
        Self { lines: before.chain(within).chain(after).collect(), end: self.end.map(moved) }
    }

    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (number, line) in &self.lines {
            match runs.last_mut().filter(|run| run.first + run.count == *number) {
                Some(run) => {
                    run.count += 1;
                    run.text.push_str(line);
                }
                None => runs.push(Run { first: *number, count: 1, text: line.clone() }),
            }
        }
        runs
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

/// Where `part` occurs in `text`, overlapping places counted each.
fn occurrences<'a>(text: &'a str, part: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.char_indices().map(|(at, _)| at).filter(move |at| text[*at..].starts_with(part))
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

    #[test]
    fn an_edit_moves_later_lines() {
        let table: &[(&str, &str, &str, Option<&str>)] = &[
            // In place.
            ("1:a 2:b 3:c |3", "b", "x", Some("1:a 2:x 3:c |3")),
            ("1:a 2:b 3:c |3", "b\n", "x\ny\n", Some("1:a 2:x 3:y 4:c |4")),
            ("1:a 2:b 3:c |3", "a\nb\n", "", Some("1:c |1")),
            ("1:a 2:b 3:c |3", "a\nb\nc\n", "", Some("|0")),
            ("1:a 2:b 3:c |3", "\nb\n", "+", Some("1:a+c |1")),
            ("1:a 2:b |2", "a", "a", Some("1:a 2:b |2")),
            // At the end of the file the last line may lose or gain its terminator.
            ("1:a 2:b |2", "b\n", "b", Some("1:a 2:b. |2")),
            ("1:a 2:b. |2", "b", "b\n", Some("1:a 2:b |2")),
            ("1:a 2:b. |2", "\nb", "", Some("1:a. |1")),
            // Lines beyond a gap move with their numbers, and so does the end.
            ("2:a 3:b 7:c |9", "a\n", "x\ny\nz\n", Some("2:x 3:y 4:z 5:b 9:c |11")),
            ("2:a 3:b 7:c |9", "a\nb\n", "", Some("5:c |7")),
            ("2:a 3:b 7:c", "c\n", "c\nd\n", Some("2:a 3:b 7:c 8:d")),
            ("5:a 9:b", "a", "1\n2\n3", Some("5:1 6:2 7:3 11:b")),
            // The run's last terminator goes: its last line merges with the next one, which is not held.
            ("2:a 3:b 7:c |9", "b\n", "b", Some("2:a 6:c |8")),
            ("2:a 3:b 7:c |9", "b\n", "x\ny", Some("2:a 3:x 7:c |9")),
            ("2:a 3:b 5:c |5", "a\nb\n", "z", Some("3:c |3")),
            ("2:a 3:b", "b\n", "b", Some("2:a")),
            // The run vanishes whole: nothing merges.
            ("2:a 4:c |4", "a\n", "", Some("3:c |3")),
            // Not exactly one place.
            ("1:a 2:b |2", "z", "x", None),
            ("1:a 2:a |2", "a", "x", None),
            ("1:a 3:a |3", "a", "x", None),
            ("1:aaa |1", "aa", "x", None),
            ("1:a 3:b |3", "a\nb", "x", None),
            ("1:a |1", "", "x", None),
            ("|0", "", "x", None),
            ("", "a", "x", None),
            // Characters of several bytes.
            ("1:äöä |1", "ö", "ü\nß", Some("1:äü 2:ßä |2")),
        ];
        for (before, old, new, after) in table {
            let mut held = view(before);
            let placed = held.edit(old, new);
            assert_eq!(placed, after.is_some(), "{before}: {old:?} -> {new:?}");
            assert_eq!(draw(&held), after.unwrap_or(before), "{before}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn an_edit_agrees_with_editing_the_whole_text() {
        // Every view of a small file, every piece of it that occurs once, several replacements: what is held after
        // the edit must be true of the edited file.
        for file in ["a\nb\nc\n", "a\nb\nc", "\n\nb\n", "ab\nba"] {
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
        if occurrences(file, old).count() != 1 {
            return;
        }
        let mut held = View::whole(file);
        let count = held.lines.len();
        held.lines.retain(|number, _| mask & (1 << (number - 1)) != 0);
        let open = held.lines.values().any(|line| !line.ends_with('\n'));
        if mask & (1 << count) == 0 && !open {
            held.end = None;
        }
        let before = draw(&held);
        if held.edit(old, new) {
            let edited = View::whole(&file.replacen(old, new, 1));
            for (number, line) in &held.lines {
                assert_eq!(Some(line), edited.lines.get(number), "{file:?} {before}: {old:?} -> {new:?}");
            }
            assert!(held.end.is_none() || held.end == edited.end, "{file:?} {before}: {old:?} -> {new:?}");
        }
    }
}
