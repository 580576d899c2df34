//! Answers other than reads that show lines of files: searches, matches in one file, diffs. Made through the engine, and
//! reported as a reader of the rendered text sees them: lines with their numbers.

use readproof_disk::SessionName;
use readproof_engine::{Against, Engine, Error, FindIn, Line, Most, Preview, Query, Search, SearchMode};
use readproof_reader::Glimpse;

use crate::op::Random;

/// What is shown of each file.
pub type Shown = Vec<(String, Vec<Glimpse>)>;

/// A search of the workspace for some words of a text, or for a file's lines that match them.
///
/// # Errors
/// A refusal by the engine.
pub fn search(engine: &mut Engine, session: &SessionName, text: &str, random: &mut Random) -> Result<Shown, Error> {
    let mode = if random.below(2) == 0 { SearchMode::Text } else { SearchMode::Regex };
    let query = if mode == SearchMode::Regex { pattern(text, random) } else { word(text, random) };
    let limit = (random.below(3) == 0).then(|| 1 + random.below(4));
    let asked = Search {
        query,
        mode,
        limit,
        context_lines: random.below(3),
        session: Some(session.clone()),
        ..Search::default()
    };
    let found = engine.search(&asked, &|| false, &|_| ())?;
    Ok(found.hits.into_iter().map(|hit| (hit.path, glimpses(&hit.lines))).collect())
}

/// Lines of one file.
///
/// # Errors
/// A refusal by the engine.
pub fn find_in(
    engine: &mut Engine,
    session: &SessionName,
    (path, text): (&str, &str),
    random: &mut Random,
) -> Result<Shown, Error> {
    let asked = FindIn {
        path: path.to_owned(),
        query: pattern(text, random),
        kind: Query::Regex,
        max_matches: 1 + random.below(5),
        before: random.below(2),
        after: random.below(2),
        session: Some(session.clone()),
        ..FindIn::default()
    };
    let found = engine.find_in(&asked, &|| false)?;
    Ok(vec![(found.path, glimpses(&found.lines))])
}

/// A diff of the working file and a text that is to replace it.
///
/// # Errors
/// A refusal by the engine.
pub fn preview(
    engine: &mut Engine,
    session: &SessionName,
    (path, content): (&str, String),
    random: &mut Random,
) -> Result<Shown, Error> {
    let lines = if random.below(3) == 0 { 5 } else { u32::MAX };
    let asked = Preview {
        path: path.to_owned(),
        against: Against::WorkTree,
        content: Some(content),
        most: Most { lines, chars: 40_000 },
        session: Some(session.clone()),
    };
    let found = engine.preview(&asked, &|| false)?;
    Ok(vec![(found.path, old_side(&found.text))])
}

/// Some lines of an answer that a program received; it prints them with their numbers.
pub fn printed(text: &str, first: u64, random: &mut Random) -> Vec<Glimpse> {
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned());
    let lines = (first..).zip(lines).map(|(number, text)| Glimpse { number, text, whole: true });
    lines.filter(|_| random.below(3) > 0).collect()
}

/// Lines as a search prints them: a character marks what is left out at the start of a long one.
fn glimpses(lines: &[Line]) -> Vec<Glimpse> {
    let text = |line: &Line| if line.cut { line.text.trim_start_matches('…').to_owned() } else { line.text.clone() };
    lines.iter().map(|line| Glimpse { number: line.number, text: text(line), whole: !line.cut }).collect()
}

/// The lines of the old text in a unified diff.
fn old_side(diff: &str) -> Vec<Glimpse> {
    let (mut shown, mut number) = (Vec::new(), 0);
    for line in diff.split('\n') {
        let old = line.strip_prefix("@@ -").and_then(|rest| rest.split([',', ' ']).next());
        if let Some(first) = old.and_then(|first| first.parse::<u64>().ok()) {
            number = first;
        } else if let Some(text) = line.strip_prefix([' ', '-']).filter(|_| number > 0) {
            shown.push(Glimpse { number, text: text.to_owned(), whole: true });
            number += 1;
        }
    }
    shown
}

/// Some word of a text, or one that few texts contain.
fn word(text: &str, random: &mut Random) -> String {
    let words: Vec<&str> = text.split_whitespace().filter(|word| word.chars().all(char::is_alphanumeric)).collect();
    random.pick(&words).map_or("line".to_owned(), |word| word.chars().take(12).collect())
}

/// The same as a pattern, or a pattern that matches every line.
fn pattern(text: &str, random: &mut Random) -> String {
    if random.below(3) == 0 { "^".to_owned() } else { word(text, random) }
}
