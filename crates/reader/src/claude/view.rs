//! What is visible of one file, in lines as Claude Code's `Read` counts them: the pieces of `split("\n")`. The newest text of a
//! line wins. The blanks at the end of a result's last line are lost on the way, so such a line is visible only up to them.

use std::collections::BTreeMap;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: String,
    /// Whether blanks may follow that are not visible.
    open: bool,
}

/// The newest visible text of every line, and the number of lines if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    lines: BTreeMap<u64, Line>,
    total: Option<u64>,
}

impl View {
    /// All of this text is visible, to the byte.
    pub(super) fn whole(text: &str) -> Self {
        let mut view = Self::default();
        for (number, piece) in (1..).zip(text.split('\n')) {
            view.show(number, piece, false);
        }
        view.total = Some(view.lines.len() as u64);
        view
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// These lines, or the number of the first that is not visible. Only the last may be open, as it would be in the plain
    /// text.
    pub(super) fn lines(&self, first: u64, last: u64) -> Result<Vec<String>, u64> {
        let mut found = Vec::new();
        let mut next = first;
        // Walks what is visible, not the numbers: a forged marker may claim any number of lines.
        for (number, line) in self.lines.range(first..) {
            if next > last || *number != next || (line.open && next < last) {
                break;
            }
            found.push(line.text.clone());
            next += 1;
        }
        if next > last { Ok(found) } else { Err(next) }
    }

    /// A line is shown. If the file was thought to end before it, it does not.
    pub(super) fn show(&mut self, number: u64, text: &str, open: bool) {
        self.total = self.total.filter(|total| number <= *total);
        // A line whose blanks are known stays known when it is shown again without them.
        let known =
            open && self.lines.get(&number).is_some_and(|line| !line.open && line.text.trim_end() == text.trim_end());
        if !known {
            self.lines.insert(number, Line { text: text.to_owned(), open });
        }
    }

    /// A line is shown in a way that does not tell where it ends: what it contradicts is not visible any more.
    pub(super) fn glimpse(&mut self, number: u64, text: &str) {
        let bare = |text: &str| text.trim_end().to_owned();
        if self.lines.get(&number).is_some_and(|line| bare(&line.text) != bare(text)) {
            self.lines.remove(&number);
        }
    }

    /// The file has this many lines.
    pub(super) fn set_total(&mut self, total: u64) {
        self.lines.retain(|number, _| *number <= total);
        self.total = Some(total);
    }

    /// Another tool printed this text of the file, without numbers and without the blanks around it: if it is not the text
    /// that is visible, nothing is.
    pub(super) fn contradict(&mut self, printed: &str) {
        let printed: Vec<&str> = printed.trim().split('\n').collect();
        let skipped = self.lines.values().take_while(|line| line.text.trim().is_empty()).count() as u64;
        let at = |number: u64| usize::try_from(number.checked_sub(1 + skipped)?).ok().and_then(|at| printed.get(at));
        let fits = |number: &u64, line: &Line| match at(*number) {
            Some(there) => there.trim() == line.text.trim(),
            None => line.text.trim().is_empty(),
        };
        if !self.lines.iter().all(|(number, line)| fits(number, line)) {
            *self = Self::default();
        }
    }

    /// The view after one place, or every place, of `old` became `new`; `None` if that does not follow from what is visible.
    pub(super) fn edited(&self, old: &str, new: &str, all: bool) -> Option<Self> {
        // The host takes the end of the line along when nothing is to stand in its place.
        let takes_more = new.is_empty() && !old.ends_with('\n');
        if old.is_empty() || new.contains('\r') || takes_more {
            return None;
        }
        let runs = self.runs();
        let whole = self.total.is_some() && runs.len() == 1 && runs[0].0 == 1 && runs[0].1.len() as u64 == self.total?;
        if all && !whole {
            return None;
        }
        let places: usize = runs.iter().map(|(_, lines)| places(&joined(lines), old)).sum();
        if places == 0 || (!all && places != 1) {
            return None;
        }
        let mut view = Self::default();
        let mut moved: i128 = 0;
        for (first, lines) in runs {
            let text = joined(&lines);
            let made = if places_in(&text, old) { text.replace(old, new) } else { text.clone() };
            let first = u64::try_from(i128::from(first) + moved).ok()?;
            let open: Vec<u64> =
                (first..).zip(&lines).filter(|(_, line)| line.open).map(|(number, _)| number).collect();
            let count = made.split('\n').count();
            let grown = count as i128 - lines.len() as i128;
            for (number, piece) in (first..).zip(made.split('\n')) {
                // An open line ends its run.
                let last = number + 1 == first + count as u64;
                view.lines.insert(number, Line { text: piece.to_owned(), open: last && !open.is_empty() });
            }
            moved += grown;
        }
        view.total = match self.total {
            Some(total) => Some(u64::try_from(i128::from(total) + moved).ok()?),
            None => None,
        };
        Some(view)
    }

    /// Lines that follow each other, with the number of the first. An open line ends its run: what follows it is not known to
    /// follow at once.
    fn runs(&self) -> Vec<(u64, Vec<&Line>)> {
        let mut runs: Vec<(u64, Vec<&Line>)> = Vec::new();
        let mut next = None;
        for (number, line) in &self.lines {
            match runs.last_mut().filter(|_| next == Some(*number)) {
                Some((_, lines)) => lines.push(line),
                None => runs.push((*number, vec![line])),
            }
            next = (!line.open).then_some(number + 1);
        }
        runs
    }
}

fn joined(lines: &[&Line]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// How often a text occurs, places that overlap included.
fn places(text: &str, old: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count()
}

fn places_in(text: &str, old: &str) -> bool {
    text.contains(old)
}
