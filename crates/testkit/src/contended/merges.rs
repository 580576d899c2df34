//! Random triples of texts: a merge that is clean is the one that git makes, and none is clean that git calls a conflict.

use readproof_core::text::Text;
use readproof_engine::{Merged, three_way};
use std::fmt;

use super::git::{Judged, merge_file};
use crate::{op::Random, world::Broken};

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Merges {
    pub triples: u64,
    /// Clean in both, with the same bytes.
    pub clean: u64,
    /// A conflict in both.
    pub conflicts: u64,
    /// A conflict here, and clean in git.
    pub stricter: u64,
    /// Clean with other bytes than git's, or where git has a conflict.
    pub wrong: Vec<String>,
}

impl fmt::Display for Merges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { triples, clean, conflicts, stricter, wrong } = self;
        write!(f, "{triples} merges: {clean} clean as in git, {conflicts} conflicts as in git, ")?;
        write!(
            f,
            "{stricter} refused that git merges; {} with other bytes, or clean where git has a conflict",
            wrong.len()
        )
    }
}

/// Merges random texts here and with git.
///
/// # Errors
/// If a merge has other bytes than git's, or git has a conflict.
pub fn merges(triples: u64, seed: u64) -> Result<Merges, Broken> {
    let folder = tempfile::tempdir()?;
    let mut done = Merges::default();
    for number in 0..triples {
        // Each has a seed of its own, so that it can be looked at alone.
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let [ours, base, theirs] = triple(&mut random);
        let judged = merge_file(folder.path(), [&ours, &base, &theirs])?;
        let texts = [&base, &ours, &theirs].map(|text| Text::new(text.clone()));
        let wrong = |what: &str, made: &str, git: &[u8]| {
            let git = String::from_utf8_lossy(git);
            format!(
                "triple {number}: {what}\nbase {base:?}\nours {ours:?}\ntheirs {theirs:?}\nmade {made:?}\ngit {git:?}"
            )
        };
        done.triples += 1;
        match (three_way(&texts[0], &texts[1], &texts[2]), judged) {
            (Merged::Clean(made), Judged::Clean(git)) if made.as_str().as_bytes() == git => done.clean += 1,
            (Merged::Clean(made), Judged::Clean(git)) => done.wrong.push(wrong("other bytes", made.as_str(), &git)),
            (Merged::Clean(made), Judged::Conflict(git)) => {
                done.wrong.push(wrong("clean where git has a conflict", made.as_str(), &git));
            }
            (Merged::Conflict(_) | Merged::Disputed, Judged::Conflict(_)) => done.conflicts += 1,
            (Merged::Conflict(_) | Merged::Disputed, Judged::Clean(_)) => done.stricter += 1,
            (Merged::TooLarge, Judged::Clean(git) | Judged::Conflict(git)) => {
                done.wrong.push(wrong("too large", "", &git))
            }
        }
    }
    match done.wrong.first() {
        Some(first) => Err(format!("{done}\n{first}").into()),
        None => Ok(done),
    }
}

/// Ours, base and theirs.
fn triple(random: &mut Random) -> [String; 3] {
    let words = Words::any(random);
    let lines = *random.pick(&[0, 1, 2, 3, 6, 12, 30, 80, 200]).unwrap_or(&6);
    let base: Vec<String> = (0..lines).map(|_| words.line(random)).collect();
    let mut ours = changed(&base, &words, random);
    let mut theirs = changed(&base, &words, random);
    match random.below(20) {
        0 => theirs.clone_from(&base),
        1 => ours.clone_from(&base),
        2 => theirs.clone_from(&ours),
        // The same change in both, and one more.
        3 => theirs = changed(&ours, &words, random),
        _ => {}
    }
    let style = random.below(8);
    [ours, base, theirs].map(|lines| joined(&lines, style, random))
}

/// The lines of a text are taken from these.
enum Words {
    /// So few that lines repeat.
    Few(usize),
    /// As in source code.
    Code,
    /// Each once.
    Many,
}

impl Words {
    fn any(random: &mut Random) -> Self {
        match random.below(4) {
            0 => Self::Few(2 + random.below(3)),
            1 => Self::Few(8),
            2 => Self::Code,
            _ => Self::Many,
        }
    }

    fn line(&self, random: &mut Random) -> String {
        const CODE: [&str; 9] =
            ["}", "", "    }", "    return x;", "fn größe() {", "\tlet y = 1;", "// 説明", "    if x {", "    x += 1;"];
        match self {
            Self::Few(count) => format!("{}", random.below(*count)),
            Self::Code if random.below(4) == 0 => format!("    call_{}(é);", random.below(30)),
            Self::Code => CODE[random.below(CODE.len())].to_owned(),
            Self::Many => format!("line {:08x}", random.bits() >> 32),
        }
    }
}

/// The lines after a few changes: inserted, deleted, replaced, moved, at any place and at the ends.
fn changed(lines: &[String], words: &Words, random: &mut Random) -> Vec<String> {
    let mut lines = lines.to_vec();
    if random.below(40) == 0 {
        return Vec::new();
    }
    for _ in 0..1 + random.below(4) {
        let at = match random.below(6) {
            0 => 0,
            1 => lines.len(),
            _ => random.below(lines.len() + 1),
        };
        let end = (at + 1 + random.below(4)).min(lines.len());
        match random.below(5) {
            0 => drop(lines.splice(at..at, (0..1 + random.below(3)).map(|_| words.line(random)).collect::<Vec<_>>())),
            1 => drop(lines.drain(at..end)),
            2 => {
                let moved: Vec<String> = lines.drain(at..end).collect();
                let to = random.below(lines.len() + 1);
                lines.splice(to..to, moved);
            }
            _ => drop(lines.splice(at..end, (0..1 + random.below(3)).map(|_| words.line(random)).collect::<Vec<_>>())),
        }
    }
    lines
}

/// The lines as one text: with LF, with CR LF, with both; with and without a newline at the end.
fn joined(lines: &[String], style: usize, random: &mut Random) -> String {
    let end = |random: &mut Random| match style {
        0 | 1 => "\r\n",
        2 => ["\n", "\r\n"][random.below(2)],
        _ => "\n",
    };
    let mut text: String = lines.iter().map(|line| format!("{line}{}", end(random))).collect();
    if style == 3 || random.below(8) == 0 {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    text
}
