//! What is visible of one file, in lines as pi counts them: the pieces of `split("\n")`. The newest text of a line wins.

use std::{collections::BTreeMap, sync::Arc};

/// The newest visible text of every line, and the number of lines if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    lines: BTreeMap<u64, Arc<str>>,
    total: Option<u64>,
}

impl View {
    /// All of this text is visible.
    pub(super) fn whole(text: &str) -> Self {
        let lines: BTreeMap<u64, Arc<str>> = (1..).zip(text.split('\n').map(Arc::from)).collect();
        let total = Some(lines.len() as u64);
        Self { lines, total }
    }

    /// How many lines the file has.
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// These lines, or the number of the first that is not visible.
    pub(super) fn lines(&self, first: u64, last: u64) -> Result<Vec<Arc<str>>, u64> {
        let mut found = Vec::new();
        let mut next = first;
        // Walks what is visible, not the numbers: a forged marker may claim any number of lines.
        for (number, line) in self.lines.range(first..) {
            if next > last || *number != next {
                break;
            }
            found.push(Arc::clone(line));
            next += 1;
        }
        if next > last { Ok(found) } else { Err(next) }
    }

    /// All of the text, if all of it is visible.
    pub(super) fn text(&self) -> Option<String> {
        let lines = self.lines(1, self.total?).ok()?;
        Some(lines.iter().map(|line| &**line).collect::<Vec<_>>().join("\n"))
    }

    /// A line is shown. If the file was thought to end before it, it does not.
    pub(super) fn show(&mut self, number: u64, line: &str) {
        self.pass(number);
        self.lines.insert(number, line.into());
    }

    /// A line exists, but its text is not visible.
    pub(super) fn hide(&mut self, number: u64) {
        self.pass(number);
        self.lines.remove(&number);
    }

    /// Lines are not visible any more.
    pub(super) fn forget(&mut self, first: u64, last: u64) {
        self.lines.retain(|number, _| *number < first || *number > last);
    }

    /// The file has, or had, this text: lines that are others in it are not visible any more.
    pub(super) fn contradict(&mut self, text: &str) {
        let there: Vec<&str> = text.split('\n').collect();
        let at = |number: u64| usize::try_from(number - 1).ok().and_then(|at| there.get(at));
        self.lines.retain(|number, line| at(*number) == Some(&&**line));
        self.total = self.total.filter(|total| *total == there.len() as u64);
    }

    /// The file has this many lines.
    pub(super) fn set_total(&mut self, total: u64) {
        self.lines.retain(|number, _| *number <= total);
        self.total = Some(total);
    }

    fn pass(&mut self, number: u64) {
        self.total = self.total.filter(|total| number <= *total);
    }
}
