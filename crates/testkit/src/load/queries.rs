//! Mixed calls in one session, logged, and replayed from the store alone: the workspace's files are gone by then and its folder has
//! another name. Every call that stands on stored texts must come out byte-equal, and one changed byte must be found and named.

use readproof_core::{
    edit::{Piece, Places},
    operation::{
        Against, AnswerLimit, Audience, Blame, Change, Compare, CompareVersions, End, Extent, Freshness, History, List,
        Matching, Operation, Outline, Over, Patch, Read, ReadEnd, ReadSymbol, Rewind, Search, SearchFile, SearchMode,
        ShowVersion, Write,
    },
    path::Bearings,
    pick::Pick,
};
use readproof_disk::{Root, SessionName};
use readproof_engine::{
    Call, CallLog, Control, Engine, LoggedSession, Outcome, Reading, Replayed, ReplayedLog, Settings, operation::Caller,
};
use readproof_words::replay as words;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::{op::Random, world::Broken};

/// The session that all calls are made in.
pub const SESSION: &str = "s";

/// What a replay came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Calls that came out byte-equal.
    pub calls: u64,
    /// Searches of many files among them.
    pub searches: u64,
    /// Calls that cannot be verified, by the code of the reason.
    pub unverifiable: BTreeMap<String, u64>,
    /// What is not as recorded, in words.
    pub wrong: Vec<String>,
}

/// What was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Calls by operation.
    pub operations: BTreeMap<&'static str, u64>,
    /// Calls that failed, by code.
    pub failed: BTreeMap<&'static str, u64>,
}

/// Opens a workspace whose calls are logged.
///
/// # Errors
/// When it cannot be opened.
pub fn open(root: &Path) -> Result<Engine, Broken> {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    let settings = Settings { call_log: CallLog::AtOnce, ..Settings::default() };
    Ok(Engine::new(Root::open(root)?, bearings, settings, Box::new(|| 1_700_000_000_000))?)
}

/// Makes the files and `operations` random calls.
///
/// # Errors
/// When a file cannot be written.
pub fn play(root: &Path, operations: u64, seed: u64) -> Result<Played, Broken> {
    let mut random = Random::new(seed);
    for (name, text) in files(&mut random) {
        let path = root.join(&name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)?;
    }
    let engine = open(root)?;
    let mut played = Played::default();
    for _ in 0..operations {
        if random.below(40) == 0 {
            // Someone else saves a file.
            let (name, text) = files(&mut random).swap_remove(random.below(NAMES.len()));
            fs::write(root.join(name), text)?;
        }
        let operation = call(&mut random);
        *played.operations.entry(operation.name()).or_default() += 1;
        if let Err(code) = ask(&engine, operation)? {
            *played.failed.entry(code).or_default() += 1;
        }
    }
    Ok(played)
}

fn ask(engine: &Engine, operation: Operation) -> Result<Result<(), &'static str>, Broken> {
    let session = SessionName::parse(SESSION)?;
    let caller = Caller { conversation: Some(SESSION.to_owned()), ..Caller::of("test") };
    let conversation = &mut LoggedSession::named(Some(session));
    let done = engine.perform(Call { caller: &caller, conversation, operation, control: Control::WAIT });
    let receipts = match done {
        Err(error) => return Ok(Err(error.code())),
        Ok(Outcome::Read(Reading::Answer(answer))) => answer.given.into_iter().collect(),
        Ok(Outcome::Written(written)) => written.receipts,
        Ok(_) => Vec::new(),
    };
    for receipt in receipts {
        engine.delivered(&receipt)?;
    }
    Ok(Ok(()))
}

/// Replays what the store of a workspace holds.
///
/// # Errors
/// When nothing can be replayed at all.
pub fn replayed(root: &Path) -> Result<Verified, Broken> {
    let bearings = Bearings { cwd: root.display().to_string(), home: None };
    let engine = Engine::new(Root::open(root)?, bearings, Settings::default(), Box::new(|| 0))?;
    let (caller, conversation) = (Caller::of("test"), &mut LoggedSession::named(Some(SessionName::parse(SESSION)?)));
    let call = Call { caller: &caller, conversation, operation: Operation::Replay, control: Control::WAIT };
    let reports: Vec<Replayed> = engine.perform(call)?.try_into()?;
    let mut verified = Verified::default();
    for report in &reports {
        let name = if report.of == ReplayedLog::Calls { "calls" } else { "log" };
        for finding in &report.wrong {
            let (entry, path) = (finding.entry.map(|entry| entry.to_string()), finding.path.as_deref());
            let said = words::wrong(&finding.what);
            verified.wrong.push(format!("{name} {} {}: {said}", entry.unwrap_or_default(), path.unwrap_or_default()));
        }
        if report.of == ReplayedLog::Calls {
            verified.calls += report.calls;
            verified.searches += report.searches;
            for finding in &report.unverifiable {
                *verified.unverifiable.entry(finding.what.code().to_owned()).or_default() += 1;
            }
        }
    }
    Ok(verified)
}

/// Leaves only the store of a workspace, under another name; gives that name.
///
/// # Errors
/// When a file cannot be moved.
pub fn elsewhere(root: &Path) -> Result<PathBuf, Broken> {
    let other = root.with_extension("elsewhere");
    fs::rename(root, &other)?;
    for name in ["src", "docs"] {
        fs::remove_dir_all(other.join(name))?;
    }
    Ok(other)
}

const NAMES: [&str; 8] = [
    "src/main.rs",
    "src/lib.rs",
    "src/deep/shapes.py",
    "docs/crlf.txt",
    "docs/odd.txt",
    "docs/long.txt",
    "docs/notes.md",
    "docs/empty.txt",
];

const QUERIES: [&str; 10] =
    ["fn", "alpha", "^line \\d+", "beta$", "[a-c]+\\b", "ü", "\\r", "(", "\\x{2028}", "(?i)ALPHA"];

fn files(random: &mut Random) -> Vec<(String, String)> {
    let word = |random: &mut Random| ["alpha", "beta", "gamma", "über", "日本"][random.below(5)];
    let mut texts = Vec::new();
    for name in NAMES {
        let count = 3 + random.below(60);
        let mut text = String::new();
        for number in 1..=count {
            let (one, two) = (word(random), word(random));
            text += &match name.rsplit('.').next() {
                Some("rs") => format!(
                    "/// Does {one}.\nfn {}_{number}() -> u32 {{\n    {number}\n}}\n\n",
                    if one.is_ascii() { one } else { "other" }
                ),
                Some("py") => format!("class Shape{number}:\n    def area(self):\n        return {number}\n\n"),
                Some("md") => format!("## Part {number} {one}\n\n{two} text\n\n"),
                _ if name.ends_with("crlf.txt") => format!("line {number} {one}\r\n"),
                _ if name.ends_with("odd.txt") => {
                    let end = ["\r", "\u{2028}", "\u{85}", "\n", "\r\n", "\u{b}"][random.below(6)];
                    format!("line {number} {one}{end}{two}\n")
                }
                _ if name.ends_with("long.txt") => format!("line {number} {}\n", one.repeat(random.below(900))),
                _ => String::new(),
            };
        }
        texts.push((name.to_owned(), text));
    }
    texts
}

fn path(random: &mut Random) -> String {
    match random.below(30) {
        0 => "docs/missing.txt".to_owned(),
        1 => "docs".to_owned(),
        2 => "./src/main.rs".to_owned(),
        3 => "docs/crlf.txt:2-4".to_owned(),
        _ => NAMES[random.below(NAMES.len())].to_owned(),
    }
}

fn small(random: &mut Random, most: usize) -> u64 {
    1 + random.below(most) as u64
}

/// One call, of any kind that can be run again and of a few that cannot.
fn call(random: &mut Random) -> Operation {
    let most = AnswerLimit { lines: 20, chars: 2_000 };
    match random.below(30) {
        0..=8 => Operation::Read(read(random)),
        9..=11 => Operation::ReadEnd(ReadEnd {
            path: path(random),
            end: if random.below(2) == 0 { End::Head } else { End::Tail },
            lines: small(random, 20),
            chars: 60 + small(random, 4_000) as u32,
        }),
        12..=14 => Operation::SearchFile(SearchFile {
            path: path(random),
            query: QUERIES[random.below(QUERIES.len())].to_owned(),
            matching: if random.below(3) == 0 { Matching::Literal } else { Matching::Regex },
            max_matches: 1 + random.below(30),
            before: random.below(3),
            after: random.below(3),
            ..SearchFile::default()
        }),
        15 => Operation::ReadSymbol(ReadSymbol {
            target: ["alpha_2", "beta_1", "Shape3", "Shape2.area", "nothing"][random.below(5)].to_owned(),
            path: (random.below(2) == 0).then(|| path(random)),
            include_context: random.below(2) == 0,
            most,
            freshness: Freshness::Known,
            audience: Audience::Model,
        }),
        16 => Operation::Outline(Outline {
            path: if random.below(3) == 0 { "src".to_owned() } else { path(random) },
            signatures: random.below(2) == 0,
            max_chars: 200 + random.below(9_000),
        }),
        17 => {
            let folder = [None, Some("src"), Some("docs/notes.md"), Some("none")][random.below(4)];
            let extent = Extent { path: folder.map(str::to_owned), ..Extent::default() };
            Operation::List(List { extent, depth: Some(1 + random.below(3) as u32), limit: Some(1 + random.below(9)) })
        }
        18 => Operation::Compare(Compare {
            path: path(random),
            against: Against::WorkTree,
            content: Some(format!("line 1 alpha\r\nother {}\n", random.below(9))),
            most,
        }),
        19 => Operation::CompareVersions(CompareVersions {
            path: path(random),
            from: (random.below(2) == 0).then(|| format!("v{}", random.below(60))),
            to: None,
            most,
        }),
        20 => Operation::ShowVersion(ShowVersion {
            version: format!("v{}", random.below(60)),
            path: Some(path(random)),
            most,
        }),
        21 => Operation::Search(Search {
            query: QUERIES[random.below(QUERIES.len())].to_owned(),
            mode: [SearchMode::Regex, SearchMode::Text, SearchMode::Path][random.below(3)],
            context_lines: random.below(2),
            ..Search::default()
        }),
        22 => Operation::Rewind(Rewind {
            to: format!("v{}", random.below(40)),
            paths: vec![path(random)],
            dry_run: random.below(3) == 0,
            everything: true,
            ..Rewind::default()
        }),
        23 => Operation::Patch(patch(random)),
        24 => match random.below(3) {
            0 => Operation::Stat { path: path(random) },
            1 => Operation::History(History {
                path: (random.below(2) == 0).then(|| path(random)),
                limit: Some(1 + random.below(20)),
            }),
            _ => Operation::Blame(Blame {
                path: path(random),
                offset: (random.below(2) == 0).then(|| small(random, 9)),
                limit: None,
                most,
            }),
        },
        _ => Operation::Write(write(random)),
    }
}

fn read(random: &mut Random) -> Read {
    let ranged = random.below(2) == 0;
    Read {
        path: path(random),
        offset: ranged.then(|| small(random, 90)),
        limit: ranged.then(|| small(random, 30)),
        pick: match random.below(8) {
            0 => Pick::Last(small(random, 20)),
            1 => Pick::Span { first: small(random, 9), last: 9 + small(random, 9), context: small(random, 5) },
            2 => Pick::Around { query: "alpha".to_owned(), context: small(random, 5) },
            _ => Pick::Given,
        },
        most: (random.below(3) == 0).then_some(AnswerLimit { lines: 5, chars: 400 }),
        freshness: if random.below(5) == 0 { Freshness::Fresh } else { Freshness::Known },
        ..Read::default()
    }
}

fn write(random: &mut Random) -> Write {
    let path = path(random);
    let number = random.below(50);
    let change = match random.below(9) {
        0 => Change::Whole(format!("whole {number}\nline 2 alpha\n")),
        1 => Change::Append(format!("line {number} added\n")),
        2 => Change::Edit(vec![
            Piece::replace("alpha", format!("beta{number}"), Places::All),
            Piece::replace(format!("line {number} "), format!("line {number}, "), Places::One),
        ]),
        _ => Change::Replace {
            old: ["alpha", "line 3 ", "beta", "    2\n"][random.below(4)].to_owned(),
            new: format!("gamma{number} "),
            places: if random.below(2) == 0 { Places::All } else { Places::One },
        },
    };
    let over = if random.below(2) == 0 { Over::Anything } else { Over::Held };
    Write { path, change, over }
}

fn patch(random: &mut Random) -> Patch {
    let (name, number) = (NAMES[random.below(6)], random.below(40));
    let patch = match random.below(3) {
        0 => format!("*** Begin Patch\n*** Add File: docs/new{number}.txt\n+new {number}\n*** End Patch\n"),
        1 => format!("*** Begin Patch\n*** Update File: {name}\n@@\n-line 2 alpha\n+line 2 patched\n*** End Patch\n"),
        _ => format!("*** Begin Patch\n*** Delete File: docs/new{number}.txt\n*** End Patch\n"),
    };
    Patch { patch, path: None, over: Over::Held }
}
