//! Random calls about a workspace: every operation that looks at files, with names spelt in every way.

use readproof_core::{
    edit::{Piece, Places},
    operation::{
        Against, AnswerLimit, Audience, Blame, Change, Changes, Compare, CompareVersions, Decoding, End, Extent,
        Forget, Freshness, Hidden, History, List, ListFiles, ListSymbols, Matching, Names, Operation, Outline, Over,
        Partial, Patch, Read, ReadEnd, ReadSymbol, Refresh, Resolution, Rewind, Search, SearchFile, SearchMode,
        ShowVersion, Since, Write,
    },
    pick::Pick,
};

use super::tree::{Tree, WORDS, any_name, any_text, nth};
use crate::op::Random;

/// What happens in a case.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A call, and whether its answer reaches the model.
    Call { operation: Operation, arrives: bool },
    /// The indexes are made, as a server does when nobody waits.
    Index,
    /// Someone else, who may see more, looks for something. What they are told is nobody's business.
    Beside(Operation),
    /// Another program changes a file.
    Outside { name: String, text: String },
}

impl Step {
    /// Someone else looks for something, and the caller for the same: what is kept of the first must not serve the second.
    pub(super) fn one_after_another() -> Vec<Self> {
        let words = Search { query: "load".to_owned(), ..Search::default() };
        let all = ListSymbols { query: None, path: None, glob: None, kind: None, limit: Some(500) };
        let mut steps = vec![Self::Index];
        for operation in [Operation::ListSymbols(all), Operation::Search(words)] {
            steps.extend([Self::Beside(operation.clone()), Self::Call { operation, arrives: true }]);
        }
        steps
    }
}

/// The names that calls are about.
pub(super) struct Spelling<'a> {
    pub(super) tree: &'a Tree,
    pub(super) denied: &'a [String],
    /// A file that many calls are about, so that they have to do with each other.
    pub(super) often: &'a str,
    /// The workspace's absolute path.
    pub(super) root: &'a str,
}

const GLOBS: [&str; 7] = ["*.rs", "src/**", "**/vault/**", "!*.md", "alpha*", "*.{py,ts}", "vault/*"];

impl Spelling<'_> {
    /// A name as it is in the tree.
    pub(super) fn plain(&self, random: &mut Random) -> String {
        let folders: Vec<&String> = self.tree.folders.iter().collect();
        match random.below(17) {
            14.. => self.often.to_owned(),
            0..=2 => random.pick(self.denied).cloned().unwrap_or_default(),
            3 if !self.tree.links.is_empty() => nth(&self.tree.links, random).0,
            4 if !self.tree.links.is_empty() => {
                let inner = random.pick(&["alpha.rs", "inner", "x.rs", "keys.txt"]).unwrap_or(&"x");
                format!("{}/{inner}", nth(&self.tree.links, random).0)
            }
            5 => any_name(random),
            6 => random.pick(&folders).map(|name| (*name).clone()).unwrap_or_default(),
            7 => {
                let denied = random.pick(self.denied).cloned().unwrap_or_default();
                denied.rsplit_once('/').map_or(denied.clone(), |(folder, _)| folder.to_owned())
            }
            _ => nth(&self.tree.files, random).0,
        }
    }

    /// The same, as a model might write it.
    pub(super) fn path(&self, random: &mut Random) -> String {
        let name = self.plain(random);
        let file = name.rsplit('/').next().unwrap_or_default().to_owned();
        match random.below(20) {
            0 => format!("{}/{name}", self.root),
            1 => format!("@{name}"),
            2 => format!("./{name}"),
            3 => format!("{name}:3-5"),
            4 => format!("src/../{name}"),
            5 => format!("{}/../{name}", self.plain(random)),
            6 | 7 => misspelt(&name, random),
            8 => file,
            9 => format!("file://{}/{name}", self.root),
            10 => format!("{name}/"),
            11 => format!("{name}/{file}"),
            12 => name.to_uppercase(),
            13 => encoded(self.root, &name),
            _ => name,
        }
    }

    fn folder(&self, random: &mut Random) -> Option<String> {
        let folders: Vec<&String> = self.tree.folders.iter().collect();
        match random.below(6) {
            0 => Some(self.path(random)),
            1 | 2 => random.pick(&folders).map(|name| (*name).clone()),
            _ => None,
        }
    }

    fn extent(&self, random: &mut Random) -> Extent {
        // What is known of the whole workspace is kept from one call to the next.
        if random.below(3) == 0 {
            return Extent::default();
        }
        let glob = match random.below(6) {
            0 => random.pick(&GLOBS).map(|glob| (*glob).to_owned()),
            1 => random.pick(self.denied).cloned(),
            _ => None,
        };
        let hidden = *random.pick(&[Hidden::Tracked, Hidden::All, Hidden::None]).unwrap_or(&Hidden::All);
        Extent { path: self.folder(random), glob, hidden, ignored: random.below(3) == 0 }
    }

    /// A step of a case.
    pub(super) fn step(&self, random: &mut Random) -> Step {
        match random.below(30) {
            0 => Step::Index,
            2 | 3 => Step::Beside(match random.below(3) {
                0 => Operation::Read(self.read(random)),
                1 => {
                    Operation::ListSymbols(ListSymbols { query: None, path: None, glob: None, kind: None, limit: None })
                }
                _ => Operation::Search(Search { extent: Extent::default(), ..self.search(random) }),
            }),
            1 => {
                let name = nth(&self.tree.files, random).0;
                let text = any_text(&name, random);
                Step::Outside { name, text }
            }
            _ => Step::Call { operation: self.operation(random), arrives: random.below(6) > 0 },
        }
    }

    fn operation(&self, random: &mut Random) -> Operation {
        match random.below(40) {
            0..=6 => Operation::Read(self.read(random)),
            7 | 8 => {
                let end = if random.below(2) == 0 { End::Head } else { End::Tail };
                let (lines, chars) = (1 + random.below(20) as u64, 2000);
                Operation::ReadEnd(ReadEnd { path: self.path(random), end, lines, chars })
            }
            9..=11 => Operation::Stat { path: self.path(random) },
            12 => Operation::SearchFile(SearchFile {
                path: self.path(random),
                query: query(random),
                matching: if random.below(2) == 0 { Matching::Literal } else { Matching::Regex },
                before: random.below(3),
                ..SearchFile::default()
            }),
            13..=18 => Operation::Search(self.search(random)),
            19 | 20 => Operation::ListSymbols(ListSymbols {
                query: (random.below(4) > 0).then(|| query(random)),
                path: self.folder(random),
                glob: (random.below(5) == 0).then(|| (*random.pick(&GLOBS).unwrap_or(&"*")).to_owned()),
                kind: (random.below(5) == 0).then(|| "function".to_owned()),
                limit: (random.below(3) == 0).then(|| 1 + random.below(8)),
            }),
            21 | 22 => Operation::ReadSymbol(ReadSymbol {
                target: format!("{}_{}", word(random), word(random)),
                path: self.folder(random),
                include_context: random.below(3) == 0,
                most: AnswerLimit::WINDOW,
                freshness: Freshness::Known,
                audience: Audience::Model,
            }),
            23 | 24 => Operation::Outline(Outline {
                path: self.path(random),
                signatures: random.below(2) == 0,
                max_chars: 4000,
            }),
            25..=27 => Operation::List(List {
                extent: self.extent(random),
                depth: (random.below(3) == 0).then(|| 1 + u32::try_from(random.below(3)).unwrap_or(0)),
                limit: (random.below(4) == 0).then(|| 1 + random.below(12)),
            }),
            28 | 29 => Operation::Compare(Compare {
                path: self.path(random),
                against: *random
                    .pick(&[Against::Head, Against::Head, Against::Index, Against::WorkTree])
                    .unwrap_or(&Against::Head),
                content: (random.below(4) == 0).then(|| any_text("x.rs", random)),
                most: AnswerLimit::NONE,
            }),
            30..=36 => self.change(random),
            _ => self.upkeep(random),
        }
    }

    fn read(&self, random: &mut Random) -> Read {
        let ranged = random.below(4) == 0;
        Read {
            path: self.path(random),
            offset: ranged.then(|| 1 + random.below(12) as u64),
            limit: ranged.then(|| 1 + random.below(12) as u64),
            names: if random.below(2) == 0 { Names::OrSuffix } else { Names::Literal },
            decoding: if random.below(2) == 0 { Decoding::View } else { Decoding::None },
            pick: match random.below(8) {
                0 => Pick::Last(3),
                _ => Pick::Given,
            },
            snapshot: (random.below(12) == 0).then(|| "0a1b2c3d".to_owned()),
            freshness: if random.below(5) == 0 { Freshness::Fresh } else { Freshness::Known },
            audience: if random.below(8) == 0 { Audience::Program } else { Audience::Model },
            partial: if random.below(4) > 0 { Partial::Allowed } else { Partial::Never },
            most: None,
        }
    }

    fn search(&self, random: &mut Random) -> Search {
        let modes = [SearchMode::Text, SearchMode::Regex, SearchMode::Path, SearchMode::References];
        let mode = *random.pick(&modes).unwrap_or(&SearchMode::Text);
        let name = self.plain(random);
        let query = match (mode, random.below(3)) {
            (SearchMode::Path, 0) => name,
            (SearchMode::Path, 1) => misspelt(name.rsplit('/').next().unwrap_or_default(), random),
            (SearchMode::References, _) => format!("{}_{}", word(random), word(random)),
            (SearchMode::Text, 0) => format!("{} {}", word(random), word(random)),
            (SearchMode::Text | SearchMode::Regex | SearchMode::Path, _) => query(random),
        };
        Search {
            query,
            mode,
            extent: self.extent(random),
            limit: (random.below(3) == 0).then(|| 1 + random.below(6)),
            context_lines: random.below(2),
            ..Search::default()
        }
    }

    fn change(&self, random: &mut Random) -> Operation {
        let path = if random.below(3) == 0 { self.path(random) } else { self.plain(random) };
        let text = any_text(&path, random);
        let piece =
            Piece { old: "marker = 1".to_owned(), new: format!("marker = {}", random.below(9)), ..Piece::default() };
        let change = match random.below(10) {
            0 => Change::Whole(text),
            1 => Change::Create(text),
            2 => Change::Append(text),
            3 | 4 => {
                let places = if random.below(2) == 0 { Places::One } else { Places::All };
                Change::Replace { old: word(random).to_owned(), new: "other".to_owned(), places }
            }
            5 => Change::Edit(vec![piece]),
            6 => Change::Delete,
            7 => Change::Move { to: self.plain(random) },
            _ => return Operation::Patch(self.patch(random)),
        };
        let over = if random.below(3) > 0 { Over::Anything } else { Over::Held };
        Operation::Write(Write { path, change, over })
    }

    fn patch(&self, random: &mut Random) -> Patch {
        let mut patch = "*** Begin Patch\n".to_owned();
        for _ in 0..1 + random.below(2) {
            let name = self.plain(random);
            patch += &match random.below(4) {
                0 => format!("*** Add File: {name}\n+fn added() {{}}\n"),
                1 => format!("*** Delete File: {name}\n"),
                2 => format!(
                    "*** Update File: {name}\n*** Move to: {}\n@@\n-marker = 1\n+marker = 2\n",
                    self.plain(random)
                ),
                _ => format!("*** Update File: {name}\n@@\n-let marker = 1;\n+let marker = 2;\n"),
            };
        }
        Patch { patch: patch + "*** End Patch\n", path: None, over: Over::Anything }
    }

    fn looking_back(&self, random: &mut Random) -> Operation {
        let version = format!("v{}", 1 + random.below(6));
        let path = (random.below(3) > 0).then(|| self.path(random));
        match random.below(12) {
            9 => Operation::Tell,
            10 | 11 => Operation::Context,
            0 => Operation::ListFiles(ListFiles { changed: random.below(3) == 0, ..ListFiles::default() }),
            1 | 2 => Operation::History(History { path, limit: None }),
            3 => Operation::ShowVersion(ShowVersion { version, path, most: AnswerLimit::NONE }),
            4 => {
                Operation::Blame(Blame { path: self.path(random), offset: None, limit: None, most: AnswerLimit::NONE })
            }
            5 => Operation::Changes(Changes { since: (random.below(2) == 0).then_some(version) }),
            6 => Operation::Checkpoint { name: Some("mark".to_owned()) },
            7 => Operation::Forget(Forget {
                before: path.is_none().then_some(Since::Version(version)),
                paths: path.into_iter().collect(),
                dry_run: random.below(3) > 0,
            }),
            _ => Operation::Rewind(Rewind {
                to: if random.below(3) == 0 { "mark".to_owned() } else { version },
                paths: path.into_iter().collect(),
                dry_run: random.below(2) == 0,
                ..Rewind::default()
            }),
        }
    }

    fn upkeep(&self, random: &mut Random) -> Operation {
        let id = format!("v{}", 1 + random.below(4));
        match random.below(22) {
            14..=21 => self.looking_back(random),
            0 | 1 => Operation::CompareVersions(CompareVersions {
                path: self.path(random),
                from: (random.below(2) == 0).then(|| format!("v{}", 1 + random.below(6))),
                to: (random.below(3) == 0).then(|| format!("v{}", 1 + random.below(6))),
                most: AnswerLimit::NONE,
            }),
            2 | 3 => Operation::ListConflicts { all: random.below(2) == 0 },
            4 => Operation::ShowConflict { id },
            5 => Operation::Resolve {
                id,
                with: if random.below(2) == 0 { Resolution::Ours } else { Resolution::Theirs },
            },
            6 => Operation::Status,
            7 => Operation::Held { path: (random.below(2) == 0).then(|| self.path(random)) },
            8 | 9 => Operation::ShowSession,
            10 => Operation::Replay,
            11 => Operation::Branch { at: None },
            12 => Operation::Propose { id, text: "proposed\n".to_owned() },
            _ => Operation::Refresh(Refresh { path: self.path(random), ..Refresh::default() }),
        }
    }
}

fn word(random: &mut Random) -> &'static str {
    random.pick(&WORDS).unwrap_or(&"load")
}

fn query(random: &mut Random) -> String {
    let other = random.pick(&["hidden_word", "marker", "only_elsewhere", "first line"]).unwrap_or(&"marker");
    if random.below(4) == 0 { (*other).to_owned() } else { word(random).to_owned() }
}

/// A name as a URL that only a host decodes.
pub(super) fn encoded(root: &str, name: &str) -> String {
    let letters = name.bytes().map(|byte| if byte == b'a' { "%61".to_owned() } else { char::from(byte).to_string() });
    format!("file://{root}/{}", letters.collect::<String>())
}

fn misspelt(name: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let at = random.below(letters.len().max(2) - 1);
    match random.below(3) {
        _ if letters.len() < 3 => letters.push('x'),
        0 => letters.swap(at, at + 1),
        1 => drop(letters.remove(at)),
        _ => letters.insert(at, 'e'),
    }
    letters.into_iter().collect()
}
