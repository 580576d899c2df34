//! Generated edits: real files, every dialect, the mistakes that models make. The generator knows the bytes that are meant; every
//! edit must give exactly these or be refused. Where `git apply` takes a diff, the bytes must also be those of git, or the place
//! is not unique; a diff that git itself puts elsewhere than was meant is counted apart.

mod intent;
mod judge;
mod sources;
mod written;

use std::{collections::BTreeMap, fmt};

use self::{
    judge::{Git, Judge, Outcome},
    sources::Sources,
    written::{Form, Mistake, write},
};
use crate::{op::Random, world::Broken};

/// How many edits of each kind were made, and what became of them.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub cases: u64,
    /// Those compared with `git apply`, those that it took, and those of which it made something else than was meant while we
    /// made what was meant.
    pub git: (u64, u64, u64),
    /// Files to choose from.
    pub files: usize,
    rows: BTreeMap<(Form, Mistake), Row>,
    /// What must not be: an edit that is not what was meant, or not what git makes.
    pub wrong: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    exact: u64,
    loose: u64,
    refused: u64,
    /// Cases in which the mistake made another request of it: the text is found to the byte elsewhere.
    other: u64,
}

/// The most edits that are kept as an example of what went wrong.
const EXAMPLES: usize = 20;

/// Makes so many edits. The same seed gives the same edits of the same files.
///
/// # Errors
/// [`Broken`] when the files cannot be read or git cannot be started.
pub fn run(count: u64, seed: u64) -> Result<Tally, Broken> {
    let sources = Sources::find(seed)?;
    let judge = Judge::new()?;
    let mut tally = Tally { files: sources.len(), ..Tally::default() };
    let kinds: Vec<(Form, Mistake)> =
        Form::ALL.iter().flat_map(|form| Mistake::ALL.iter().map(|mistake| (*form, *mistake))).collect();
    let kinds: Vec<(Form, Mistake)> = kinds.into_iter().filter(|(form, mistake)| mistake.is_made_in(*form)).collect();
    let mut number = 0_u64;
    while tally.cases < count {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
        let (form, mistake) = kinds[usize::try_from(number).unwrap_or(0) % kinds.len()];
        number += 1;
        if number > 20 * count + 1000 {
            return Err("too few of the files allow the edits that are wanted".into());
        }
        let Some(case) = write(&sources, form, mistake, &mut random) else { continue };
        tally.cases += 1;
        let row = tally.rows.entry((form, mistake)).or_default();
        let judged = judge.judge(&case)?;
        match judged.outcome {
            Outcome::Exact => row.exact += 1,
            Outcome::Loose => row.loose += 1,
            Outcome::Refused => row.refused += 1,
            Outcome::Other => row.other += 1,
        }
        tally.git.0 += u64::from(judged.git.is_some());
        tally.git.1 += u64::from(matches!(judged.git, Some(Git::Took | Git::Misplaced)));
        tally.git.2 += u64::from(judged.git == Some(Git::Misplaced));
        if let Some(why) = judged.wrong {
            tally.wrong.push(format!("{form:?} {mistake:?}, number {}: {why}", number - 1));
        }
    }
    Ok(tally)
}

impl Tally {
    /// Kinds of mistakes of which too few edits were made although a rule covers them, or too many although none does.
    #[must_use]
    pub fn useless(&self) -> Vec<String> {
        let mut sums: BTreeMap<Mistake, Row> = BTreeMap::new();
        for ((_, mistake), row) in &self.rows {
            let sum = sums.entry(*mistake).or_default();
            (sum.exact, sum.loose) = (sum.exact + row.exact, sum.loose + row.loose);
            sum.refused += row.refused;
        }
        let mut useless = Vec::new();
        for (mistake, row) in sums {
            let (made, all) = (row.exact + row.loose, row.exact + row.loose + row.refused);
            let least = mistake.least_percent();
            if made * 100 < all * least {
                useless.push(format!("{mistake:?}: {made} of {all} made, at least {least} % must be"));
            }
        }
        useless
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12} {:<14} {:>8} {:>8} {:>8} {:>8}",
            "dialect", "mistake", "exact", "loose", "refused", "other"
        )?;
        for ((form, mistake), row) in &self.rows {
            let (form, mistake) = (format!("{form:?}"), format!("{mistake:?}"));
            let Row { exact, loose, refused, other } = row;
            writeln!(f, "{form:<12} {mistake:<14} {exact:>8} {loose:>8} {refused:>8} {other:>8}")?;
        }
        for wrong in self.wrong.iter().take(EXAMPLES) {
            writeln!(f, "WRONG: {wrong}")?;
        }
        let (asked, took, misplaced) = self.git;
        write!(
            f,
            "{} edits of {} files, {asked} given to git, which took {took} and misplaced {misplaced} that we did not: {} silently wrong",
            self.cases,
            self.files,
            self.wrong.len()
        )
    }
}
