//! Answers other than reads that show lines of files: searches, matches in one file, diffs. Made through the engine, and
//! reported as a reader of the rendered text sees them: lines with their numbers.

use readproof_core::text::ContentHash;
use readproof_disk::SessionName;
use readproof_engine::{
    Blamed, BlamedLine, ChangesFound, Compared, ComparedVersions, ContextFound, Error, FilesListed, HistoryError,
    HistoryListed, InFile, KnownState, Line, Outlined, Outlines, Searched, ShownVersion, VersionId,
    operation::{
        Against, AnswerLimit, Blame, Changes, Compare, CompareVersions, History, ListFiles, Matching, Operation,
        Outline, Search, SearchFile, SearchMode, ShowVersion,
    },
};
use readproof_hosts::block::Sha;
use readproof_reader::Glimpse;

use crate::{
    ask::Ask,
    op::Random,
    run::{Step, violation},
    world::World,
};

/// What is shown of each file.
pub type Shown = Vec<(String, Vec<Glimpse>)>;

/// A search of the workspace for some words of a text, or for lines that match them or use one as a name.
///
/// # Errors
/// A refusal by the engine.
pub fn search(engine: &impl Ask, session: &SessionName, text: &str, random: &mut Random) -> Result<Shown, Error> {
    let mode = [SearchMode::Text, SearchMode::Regex, SearchMode::References][random.below(3)];
    let query = if mode == SearchMode::Regex { pattern(text, random) } else { word(text, random) };
    let limit = (random.below(3) == 0).then(|| 1 + random.below(4));
    let asked = Search { query, mode, limit, context_lines: random.below(3), ..Search::default() };
    let found: Searched = engine.ask(Some(session), Operation::Search(asked))?;
    Ok(found.hits.into_iter().map(|hit| (hit.path, glimpses(&hit.lines))).collect())
}

/// Lines of one file.
///
/// # Errors
/// A refusal by the engine.
pub fn find_in(
    engine: &impl Ask,
    session: &SessionName,
    (path, text): (&str, &str),
    random: &mut Random,
) -> Result<Shown, Error> {
    let asked = SearchFile {
        path: path.to_owned(),
        query: pattern(text, random),
        matching: Matching::Regex,
        max_matches: 1 + random.below(5),
        before: random.below(2),
        after: random.below(2),
        ..SearchFile::default()
    };
    let found: InFile = engine.ask(Some(session), Operation::SearchFile(asked))?;
    Ok(vec![(found.path, glimpses(&found.lines))])
}

/// A diff of the working file and a text that is to replace it.
///
/// # Errors
/// A refusal by the engine.
pub fn preview(
    engine: &impl Ask,
    session: &SessionName,
    (path, content): (&str, String),
    random: &mut Random,
) -> Result<Shown, Error> {
    let lines = if random.below(3) == 0 { 5 } else { u32::MAX };
    let asked = Compare {
        path: path.to_owned(),
        against: Against::WorkTree,
        content: Some(content),
        most: AnswerLimit { lines, chars: 40_000 },
    };
    let found: Compared = engine.ask(Some(session), Operation::Compare(asked))?;
    Ok(vec![(found.path, side_of(&found.text, '-'))])
}

/// Some versions of a file side by side: lines of both are shown.
///
/// # Errors
/// A refusal by the engine.
pub fn versions(engine: &impl Ask, session: &SessionName, path: &str, random: &mut Random) -> Result<Shown, Error> {
    let mut some = || match random.below(5) {
        0 => Some("first".to_owned()),
        1 => Some("working".to_owned()),
        2 => Some(format!("v{}", 1 + random.below(12))),
        _ => None,
    };
    let (from, to) = (some(), some());
    let lines = if random.below(3) == 0 { 5 } else { u32::MAX };
    let asked = CompareVersions { path: path.to_owned(), from, to, most: AnswerLimit { lines, chars: 40_000 } };
    let found: ComparedVersions = engine.ask(Some(session), Operation::CompareVersions(asked))?;
    Ok(['-', '+'].into_iter().map(|side| (found.path.clone(), side_of(&found.diff, side))).collect())
}

/// Whether there is nothing to look back at.
pub fn is_nothing(error: &Error) -> bool {
    matches!(
        error,
        Error::NoVersion { .. }
            | Error::History(HistoryError::NoMoment { .. })
            | Error::History(HistoryError::SeveralFiles { .. })
            | Error::History(HistoryError::NotKeptThen { .. })
            | Error::Erased { .. }
            | Error::SensitiveVersion { .. }
            | Error::Missing { .. }
            | Error::Range { .. }
            | Error::Snapshot(_)
    )
}

/// An earlier text of a file, who wrote which line, or what others changed.
///
/// # Errors
/// A refusal by the engine; [`is_nothing`] says whether there is just nothing to see.
pub fn looked_back(engine: &impl Ask, session: &SessionName, path: &str, random: &mut Random) -> Result<Shown, Error> {
    let (lines, path) = (if random.below(3) == 0 { 5 } else { u32::MAX }, path.to_owned());
    let most = AnswerLimit { lines, chars: 40_000 };
    let version = format!("v{}", 1 + random.below(30));
    match random.below(3) {
        0 => {
            let asked = ShowVersion { version, path: Some(path), most };
            let found: ShownVersion = engine.ask(Some(session), Operation::ShowVersion(asked))?;
            Ok(vec![(found.path, self::lines(&found.text, 1))])
        }
        1 => {
            let offset = (random.below(2) == 0).then(|| 1 + random.below(5) as u64);
            let asked = Blame { path, offset, limit: offset.map(|_| 3), most };
            let found: Blamed = engine.ask(Some(session), Operation::Blame(asked))?;
            let line = |line: BlamedLine| Glimpse { number: line.number.into(), text: line.text, whole: true };
            Ok(vec![(found.path, found.lines.into_iter().map(line).collect())])
        }
        _ => {
            let since = (random.below(2) == 0).then_some(version);
            let found: ChangesFound = engine.ask(Some(session), Operation::Changes(Changes { since }))?;
            let mut shown = Shown::new();
            for diff in found.diff.split_inclusive('\n').fold(Vec::<String>::new(), by_file) {
                let header = |start: &str| diff.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
                let Some(path) = header("+++ b/").or_else(|| header("--- a/")) else { continue };
                shown.extend(['-', '+'].map(|side| (path.clone(), side_of(&diff, side))));
            }
            Ok(shown)
        }
    }
}

/// Both sides of a diff of one file.
pub(crate) fn sides(path: &str, diff: &str) -> Shown {
    ['-', '+'].into_iter().map(|side| (path.to_owned(), side_of(diff, side))).collect()
}

/// Someone looks at all files, as the watch does, so that what others changed is known.
pub(crate) fn look_around(engine: &impl Ask) -> Result<(), Error> {
    let list = ListFiles { limit: Some(0), ..ListFiles::default() };
    engine.ask::<FilesListed>(None, Operation::ListFiles(list)).map(drop)
}

/// The newest record of a file, and the text after it. Someone looks at all files first.
pub(crate) fn newest_record(engine: &impl Ask, name: &str) -> Option<(VersionId, Option<Sha>)> {
    let asked = History { path: Some(name.to_owned()), limit: Some(1) };
    let met: HistoryListed = engine.ask(None, Operation::History(asked)).ok()?;
    let entry = met.entries.into_iter().next()?;
    Some((entry.id, entry.files.first()?.0.after))
}

/// Whether this text of a file is met by a look after that record. A file that a rule hides is not looked at, and a text that was
/// the last one that was met is not met again, so nobody can know.
pub(crate) fn is_met(engine: &impl Ask, name: &str, text: &str, since: Option<(VersionId, Option<Sha>)>) -> bool {
    let met = newest_record(engine, name);
    met != since && met.is_some_and(|(_, after)| after == Some(Sha(ContentHash::of(text.as_bytes()))))
}

/// What is said about files that were shown is so.
pub(crate) fn context_is_true(world: &World, context: &ContextFound) -> Step {
    for file in &context.files {
        let is_there = world.truth(&file.path).is_some();
        let is_true = match file.state {
            KnownState::Gone => !is_there,
            KnownState::Same | KnownState::Changed => is_there,
            KnownState::Unknown => true,
        };
        if !is_true {
            return violation(format!("{} is said to be {:?}", file.path, file.state));
        }
    }
    Ok(())
}

/// Lines of a diff, put together by files.
fn by_file(mut files: Vec<String>, line: &str) -> Vec<String> {
    match files.last_mut().filter(|_| !line.starts_with("diff --git ")) {
        Some(file) => file.push_str(line),
        None => files.push(line.to_owned()),
    }
    files
}

/// The signatures of a file or a folder.
///
/// # Errors
/// A refusal by the engine.
pub fn outline(engine: &impl Ask, session: &SessionName, path: &str, random: &mut Random) -> Result<Shown, Error> {
    let max_chars = if random.below(3) == 0 { 60 + random.below(200) } else { 12_000 };
    let asked = Outline { path: path.to_owned(), signatures: true, max_chars };
    let found: Outlines = engine.ask(Some(session), Operation::Outline(asked))?;
    let line = |(number, text): &(u32, String)| Glimpse { number: (*number).into(), text: text.clone(), whole: true };
    let lines = |file: &Outlined| (file.path.clone(), file.signatures.iter().flatten().map(line).collect());
    Ok(found.files.iter().map(lines).collect())
}

/// Every line of a text, by its number.
pub fn lines(text: &str, first: u64) -> Vec<Glimpse> {
    let lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned());
    (first..).zip(lines).map(|(number, text)| Glimpse { number, text, whole: true }).collect()
}

/// Some lines of an answer that a program received; it prints them with their numbers.
pub fn printed(text: &str, first: u64, random: &mut Random) -> Vec<Glimpse> {
    lines(text, first).into_iter().filter(|_| random.below(3) > 0).collect()
}

/// Lines as a search prints them: a character marks what is left out at the start of a long one.
fn glimpses(lines: &[Line]) -> Vec<Glimpse> {
    let text = |line: &Line| if line.cut { line.text.trim_start_matches('…').to_owned() } else { line.text.clone() };
    lines.iter().map(|line| Glimpse { number: line.number, text: text(line), whole: !line.cut }).collect()
}

/// The lines of the old (`-`) or the new (`+`) text in a unified diff.
fn side_of(diff: &str, side: char) -> Vec<Glimpse> {
    let (mut shown, mut number) = (Vec::new(), 0);
    for line in diff.split('\n') {
        let range =
            line.strip_prefix("@@ ").and_then(|rest| rest.split(' ').find_map(|range| range.strip_prefix(side)));
        let first = range.and_then(|range| range.split(',').next());
        if let Some(first) = first.and_then(|first| first.parse::<u64>().ok()) {
            number = first;
        } else if let Some(text) = line.strip_prefix([' ', side]).filter(|_| number > 0) {
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
