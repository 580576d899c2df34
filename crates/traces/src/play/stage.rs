//! Gives a file the text that the recording says it had. Recordings have windows of files; the whole text is looked for in the
//! steps around, and assembled from pieces where there is none.

use crate::{
    TracesError,
    play::Play,
    recorded::{Event, Step},
};

/// How many steps that concern the file are searched for its whole text, in each direction.
const AROUND: usize = 12;

/// What a read was served.
struct Served<'a> {
    /// The number of the first line.
    start: usize,
    lines: Vec<&'a str>,
    /// Lines of the file, as the recording counts: after a final newline there is one more, empty line.
    total: usize,
}

impl Served<'_> {
    fn fits(&self, text: &str) -> bool {
        let all: Vec<&str> = text.split('\n').collect();
        all.len() == self.total && all.get(self.start - 1..self.start - 1 + self.lines.len()) == Some(&self.lines[..])
    }
}

impl Play<'_> {
    /// Changes the file so that it has the lines that this read was served.
    pub(super) fn stage(&mut self, at: usize, name: &str, served: &str) -> Result<(), TracesError> {
        let event = &self.events[at];
        let served = Served {
            start: as_size(event.start.unwrap_or(1).max(1)),
            lines: served.split('\n').collect(),
            total: as_size(event.total.unwrap_or(0)),
        };
        let current = self.scratch.text(name);
        if current.as_deref().is_some_and(|text| served.fits(text)) {
            return Ok(());
        }
        let found = self.whole_texts(at, event).find(|text| served.fits(text));
        if let Some(text) = found {
            return self.put(name, text);
        }
        self.tally.pieced += 1;
        let made = assembled(&served, &current.unwrap_or_default(), (name, at));
        self.put(name, &made)
    }

    /// Whole texts of the file from the steps around, later ones first: a change made from outside is seen after it was made.
    fn whole_texts<'e>(&'e self, at: usize, event: &'e Event) -> impl Iterator<Item = &'e str> {
        let of_it = |other: &&Event| other.path == event.path;
        let whole = |other: &Event| match other.step()? {
            Step::Read if other.start == Some(1) => self.recorded.text(other.blob.as_ref()),
            Step::Edit => self.recorded.text(other.before.as_ref()),
            Step::Write => self.recorded.text(other.blob.as_ref()),
            Step::Read | Step::Compaction => None,
        };
        let later = self.events[at..].iter().filter(of_it).take(AROUND);
        let earlier = self.events[..at].iter().rev().filter(of_it).take(AROUND);
        later.chain(earlier).filter_map(whole)
    }
}

/// The lines that were served, with what is known of the rest around them. Lines that nobody knows get a text of their own.
fn assembled(served: &Served<'_>, current: &str, (name, step): (&str, usize)) -> String {
    let old: Vec<&str> = current.split('\n').collect();
    let unknown = |n: usize| format!("(line {n} of {name} is not in the recording, step {step})");
    let known = |at: usize, n: usize| old.get(at).map_or_else(|| unknown(n), |line| (*line).to_owned());
    let mut made: Vec<String> = (0..served.start - 1).map(|n| known(n, n)).collect();
    made.extend(served.lines.iter().map(|line| (*line).to_owned()));
    let rest = served.total.saturating_sub(made.len());
    // The rest is aligned to the end: the change was most likely before it.
    let from = old.len().saturating_sub(rest);
    made.extend((0..rest).map(|n| known(from + n, served.total - rest + n)));
    made.join("\n")
}

pub(super) fn as_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
