//! The order of files for a text query. `docs/finding.md` says it in words.

use super::{
    query::{Count, Form, Kind, TextQuery},
    split::identifiers,
};
use crate::search::text::query::Scratch;

/// How soon more occurrences of a word count less, and how much the length of a file does.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// What an occurrence as the beginning of a longer word counts, as part of a whole one.
const START: f64 = 0.25;

/// What a term counts that is a whole name of several words.
const NAME: f64 = 1.2;
const RUN: f64 = 1.0;

/// What it adds that a term is part of a name defined in the file, stands in the file's name, or in that of a folder.
const DEFINED: f64 = 0.9;
const IN_FILE_NAME: f64 = 1.3;
const IN_FOLDER_NAME: f64 = 0.35;

/// What a file keeps of its score that has nearly none of the words; one with all keeps the whole.
const LEAST: f64 = 0.25;

/// What closeness of the words in one place of the file adds, and the whole query as it is written.
const CLOSE: f64 = 3.0;
const PHRASE: f64 = 0.5;

/// Endings of code: such a file is no record, whatever its name.
const CODE: [&str; 20] = [
    "c", "cc", "cpp", "cs", "go", "h", "hpp", "java", "js", "jsx", "kt", "lua", "php", "pl", "py", "rb", "rs", "swift",
    "ts", "tsx",
];

/// What kind of file it is, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Source,
    Test,
    Document,
    /// Made by a program, or copied from elsewhere.
    Generated,
    /// Changelogs, licences, lock files.
    Record,
}

impl Class {
    pub(crate) fn of(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
        let last = ending.rsplit('.').next().unwrap_or(ending);
        let begins = |words: &[&str]| words.iter().any(|word| stem.starts_with(word));
        let is_code = CODE.contains(&last);
        let record = begins(&["changelog", "changes", "history", "news", "releases", "release_notes", "release-notes"])
            || begins(&["license", "licence", "copying", "copyright", "notice", "patents", "authors", "thanks"]);
        let lock = matches!(name, "package-lock.json" | "go.sum" | "npm-shrinkwrap.json" | "pnpm-lock.yaml");
        let records = ["changelog", "changelogs", "changes", "newsfragments"];
        if (record && !is_code)
            || last == "lock"
            || lock
            || (folders.split('/').any(|folder| records.contains(&folder)) && !is_code)
        {
            return Self::Record;
        }
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        if in_folder(&["vendor", "third_party", "node_modules", "dist", "generated", "__generated__"])
            || matches!(
                last,
                "po" | "pot" | "map" | "svg" | "min" | "snap" | "csv" | "tsv" | "gmo" | "ipynb" | "diff" | "patch"
            )
            || ending.contains("min.")
            || ending.starts_with("pb.")
            || stem.ends_with("_pb2")
            || ending.contains("generated")
            || matches!(name, "configure" | "makefile.in" | "aclocal.m4" | "ltmain.sh")
        {
            return Self::Generated;
        }
        let test = ["test", "tests", "testing", "testsuite", "__tests__", "spec", "specs", "testdata", "fixtures", "t"];
        if in_folder(&test)
            || stem.starts_with("test_")
            || stem.ends_with("_test")
            || stem.ends_with("_tests")
            || stem.ends_with("-test")
            || ending.starts_with("test.")
            || ending.starts_with("spec.")
            || matches!(stem, "test" | "tests" | "conftest")
        {
            return Self::Test;
        }
        if matches!(
            last,
            "md" | "rst" | "txt" | "adoc" | "texi" | "texinfo" | "html" | "htm" | "org" | "tex" | "info" | "pod"
        ) || (last.len() == 1 && last.chars().all(|c| c.is_ascii_digit()))
            || in_folder(&["doc", "docs", "man", "documentation"])
            || begins(&["readme", "todo", "install", "contributing"])
        {
            return Self::Document;
        }
        Self::Source
    }

    /// What a file of this class keeps of its score.
    fn keeps(self) -> f64 {
        match self {
            Self::Source => 1.0,
            Self::Test => 0.6,
            Self::Document => 0.55,
            Self::Generated => 0.4,
            Self::Record => 0.05,
        }
    }
}

/// Where in a path a term stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InPath {
    name: bool,
    folder: bool,
}

/// A file that has some of the terms.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) counts: Vec<Count>,
    pub(crate) in_path: Vec<InPath>,
}

/// Terms in a path; `None` if there are none.
pub(crate) fn in_path(query: &TextQuery, path: &str) -> Option<Vec<InPath>> {
    let mut found: Option<Vec<InPath>> = None;
    query.first_in(path.as_bytes())?;
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    let mut scratch = Scratch::default();
    for range in identifiers(path.as_bytes()) {
        query.terms_of(&path.as_bytes()[range.clone()], &mut scratch, &mut |term, form| {
            if form != Form::Start {
                let place = &mut found.get_or_insert_with(|| vec![InPath::default(); query.terms.len()])[term];
                if range.start >= name_at {
                    place.name = true;
                } else {
                    place.folder = true;
                }
            }
        });
    }
    found
}

/// What is known of all files together.
#[derive(Debug, Default)]
pub(crate) struct Corpus {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Scores files of a corpus.
pub(crate) struct Scorer<'q> {
    query: &'q TextQuery,
    /// What each term is worth: the rarer, the more.
    worth: Vec<f64>,
    mean: f64,
}

impl<'q> Scorer<'q> {
    pub(crate) fn new(query: &'q TextQuery, corpus: &Corpus, candidates: &[Candidate]) -> Self {
        let files = float(corpus.files);
        let worth = query.terms.iter().enumerate().map(|(n, term)| {
            let having = |has: &dyn Fn(&Candidate) -> bool| candidates.iter().filter(|one| has(one)).count() as u64;
            let mut number = having(&|one| one.counts.get(n).is_some_and(|count| count.whole > 0));
            if number == 0 {
                number = having(&|one| one.counts.get(n).is_some_and(|count| count.starts > 0));
            }
            let number = float(number);
            let rare = (1.0 + (files - number + 0.5).max(0.0) / (number + 0.5)).ln();
            let kind = match term.kind {
                Kind::Word => 1.0,
                Kind::Name => NAME,
                Kind::Run => RUN,
            };
            rare * kind
        });
        let worth = worth.collect();
        Self { query, worth, mean: (float(corpus.bytes) / files.max(1.0)).max(1.0) }
    }

    pub(crate) fn worth(&self, term: usize) -> f64 {
        self.worth[term]
    }

    /// The words that a file lacks.
    pub(crate) fn lacks(&self, file: &Candidate) -> Vec<String> {
        let lacking = |n: &usize| !has(file, *n);
        let words = self.query.terms.iter().enumerate().filter(|(_, term)| term.kind == Kind::Word);
        words.filter(|(n, _)| lacking(n)).map(|(_, term)| term.written.clone()).collect()
    }

    /// The score by how often and where terms occur.
    pub(crate) fn score(&self, file: &Candidate) -> f64 {
        let length = K1 * (1.0 - B + B * float(file.bytes) / self.mean);
        let (mut sum, mut covered, mut all) = (0.0, 0.0, 0.0);
        for (n, term) in self.query.terms.iter().enumerate() {
            let worth = self.worth[n];
            let count = file.counts.get(n).copied().unwrap_or_default();
            let often = f64::from(count.whole) + START * f64::from(count.starts);
            let place = file.in_path.get(n).copied().unwrap_or_default();
            let mut part = often * (K1 + 1.0) / (often + length);
            part += if count.defined { DEFINED } else { 0.0 };
            part += if place.name { IN_FILE_NAME } else { 0.0 };
            part += if place.folder { IN_FOLDER_NAME } else { 0.0 };
            sum += worth * part;
            if term.kind == Kind::Word {
                all += worth;
                covered += if has(file, n) { worth } else { 0.0 };
            }
        }
        let covered = if all > 0.0 { covered / all } else { 1.0 };
        sum * (LEAST + (1.0 - LEAST) * covered) * self.class(file).keeps()
    }

    /// A class counts unless the file is asked for by name.
    fn class(&self, file: &Candidate) -> Class {
        let class = Class::of(&file.path);
        let asks_for_tests = || self.query.terms.iter().any(|term| matches!(&*term.key, b"test" | b"spec"));
        if class == Class::Test && asks_for_tests() { Class::Source } else { class }
    }

    /// The score of a file that was looked at once more: `close` is the part of the query's worth that stands together.
    pub(crate) fn refined(&self, score: f64, close: f64, phrase: bool) -> f64 {
        score * (1.0 + CLOSE * close.powi(3) + if phrase { PHRASE } else { 0.0 })
    }

    /// The worth of all words.
    pub(crate) fn all(&self) -> f64 {
        let words = self.query.terms.iter().zip(&self.worth).filter(|(term, _)| term.kind == Kind::Word);
        words.map(|(_, worth)| *worth).sum()
    }
}

fn has(file: &Candidate, n: usize) -> bool {
    file.counts.get(n).is_some_and(|count| !count.is_zero())
        || file.in_path.get(n).is_some_and(|place| place.name || place.folder)
}

/// Exact for what files there are.
#[allow(clippy::cast_precision_loss, reason = "sizes of files are far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}
