//! What is visible of one file, in lines as Claude Code's `Read` counts them: the pieces of `split("\n")`. The newest text of a
//! line wins, as it is seen: blanks at the end of a result's last line are lost on the way, so a file that has them there has
//! another text than the one that is visible.

use std::collections::BTreeMap;

/// The newest visible text of every line, and the number of lines if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    lines: BTreeMap<u64, String>,
    total: Option<u64>,
}

impl View {
    /// All of this text is visible, to the byte.
    pub(super) fn whole(text: &str) -> Self {
        let mut view = Self::default();
        for (number, piece) in (1..).zip(text.split('\n')) {
            view.show(number, piece);
        }
        view.total = Some(view.lines.len() as u64);
        view
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// These lines, or the number of the first that is not visible.
    pub(super) fn lines(&self, first: u64, last: u64) -> Result<Vec<String>, u64> {
        let mut found = Vec::new();
        let mut next = first;
        // Walks what is visible, not the numbers: a forged marker may claim any number of lines.
        for (number, line) in self.lines.range(first..) {
            if next > last || *number != next {
                break;
            }
            found.push(line.clone());
            next += 1;
        }
        if next > last { Ok(found) } else { Err(next) }
    }

    /// A line is shown. If the file was thought to end before it, it does not.
    pub(super) fn show(&mut self, number: u64, text: &str) {
        self.total = self.total.filter(|total| number <= *total);
        self.lines.insert(number, text.to_owned());
    }

    /// A line is shown in a way that does not tell where it ends: what it contradicts is not visible any more.
    pub(super) fn glimpse(&mut self, number: u64, text: &str) {
        let bare = |text: &str| text.trim_end().to_owned();
        if self.lines.get(&number).is_some_and(|line| bare(line) != bare(text)) {
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
        let skipped = self.lines.values().take_while(|line| line.trim().is_empty()).count() as u64;
        let at = |number: u64| usize::try_from(number.checked_sub(1 + skipped)?).ok().and_then(|at| printed.get(at));
        let fits = |number: &u64, line: &String| match at(*number) {
            Some(there) => there.trim() == line.trim(),
            None => line.trim().is_empty(),
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
        let places: usize = runs.iter().map(|(_, lines)| places(&lines.join("\n"), old)).sum();
        if places == 0 || (!all && places != 1) {
            return None;
        }
        let mut view = Self::default();
        let mut moved: i128 = 0;
        for (first, lines) in runs {
            let text = lines.join("\n");
            let made = if places_in(&text, old) { text.replace(old, new) } else { text.clone() };
            let first = u64::try_from(i128::from(first) + moved).ok()?;
            let count = made.split('\n').count();
            let grown = count as i128 - lines.len() as i128;
            for (number, piece) in (first..).zip(made.split('\n')) {
                view.lines.insert(number, piece.to_owned());
            }
            moved += grown;
        }
        view.total = match self.total {
            Some(total) => Some(u64::try_from(i128::from(total) + moved).ok()?),
            None => None,
        };
        Some(view)
    }

    /// Lines that follow each other, with the number of the first.
    fn runs(&self) -> Vec<(u64, Vec<&str>)> {
        let mut runs: Vec<(u64, Vec<&str>)> = Vec::new();
        let mut next = None;
        for (number, line) in &self.lines {
            match runs.last_mut().filter(|_| next == Some(*number)) {
                Some((_, lines)) => lines.push(line),
                None => runs.push((*number, vec![line])),
            }
            next = Some(number + 1);
        }
        runs
    }
}

/// How often a text occurs, places that overlap included.
fn places(text: &str, old: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count()
}

fn places_in(text: &str, old: &str) -> bool {
    text.contains(old)
}
