//! What an edit costs: one place in a large file against the bare system calls that make a change durable, a refusal against a read,
//! a merge against the merge alone, and the space that a long history takes against all its texts.

use std::{
    fs::{self, File},
    hint::black_box,
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use readproof_core::{
    edit::Places,
    path::Bearings,
    text::{ContentHash, Text},
};
use readproof_disk::{Create, LocalStore, Root, STORE_NAME, SessionName, Store as _};
use readproof_engine::{
    By, ChangedFile, Collection, Engine, Error, Merged, Settings, ShownVersion, SmallTexts, VersionChange, VersionId,
    Versions, Written,
    operation::{AnswerLimit, Change, Collect, Operation, Over, Read, Retention, ShowVersion, Write},
    three_way,
};
use readproof_hosts::{block::Sha, versions::Gaps};
use readproof_testkit::ask::Ask;
use tempfile::TempDir;

use crate::{
    Broken,
    cases::{Case, floor_read, now, text},
    harness::{Bar, Samples, Subject, Unit, measure},
};

const LARGE: usize = 500_000;
const LINES: u32 = 12_000;

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "edit-500k",
        about: "one place of 500 KB is edited, against read, hash, write beside, fsync and rename",
        bar: Bar::AtMost(4.0),
        rounds: 200,
        run: |rounds| measure(rounds, &mut Edits::new(true)?),
    },
    Case {
        name: "edit-refused-500k",
        about: "an edit of 500 KB is refused with the nearest lines, against a read of the file",
        bar: Bar::AtMost(3.0),
        rounds: 200,
        run: |rounds| measure(rounds, &mut Edits::new(false)?),
    },
    Case {
        name: "merge-12k-lines",
        about: "a merge of 12,000 lines, against gix-merge alone",
        bar: Bar::AtMost(1.5),
        rounds: 50,
        run: merges,
    },
    Case {
        name: "history-10k-edits",
        about: "the store with 10,000 versions of a file of 100 KB after `gc`, against the bytes of these versions",
        bar: Bar::AtMost(0.05),
        rounds: 1,
        run: histories,
    },
];

const VERSIONS: u32 = 10_000;
const VERSIONED_LINES: u32 = 2_000;

/// Edits of one file, made or refused.
struct Edits {
    _folder: TempDir,
    engine: Engine,
    session: SessionName,
    file: PathBuf,
    /// The same content elsewhere, for the bare calls.
    bare: PathBuf,
    made: bool,
    round: u32,
    written: Option<Written>,
}

impl Edits {
    fn new(made: bool) -> Result<Self, Broken> {
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        let bearings = Bearings { cwd: top.display().to_string(), home: None };
        let settings = Settings { small_texts: SmallTexts::Together, ..Settings::default() };
        let engine = Engine::new(Root::open(&top)?, bearings, settings, Box::new(now))?;
        fs::create_dir(top.join("src"))?;
        let (file, bare) = (top.join("src/file.rs"), top.join("bare.rs"));
        let content = format!("{}// edited 0 times\n", text(LARGE, None));
        fs::write(&file, &content)?;
        fs::write(&bare, &content)?;
        let session = SessionName::parse("bench")?;
        let answer = engine.read(Some(&session), Read { path: "src/file.rs".to_owned(), ..Read::default() })?;
        engine.delivered(&answer.given.ok_or("nothing was recorded")?)?;
        Ok(Self { _folder: folder, engine, session, file, bare, made, round: 0, written: None })
    }
}

impl Subject for Edits {
    fn prepare(&mut self, round: u32) -> Result<(), Broken> {
        self.round = round;
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        if !self.made {
            return Ok(floor_read(&self.file)?);
        }
        let content = fs::read(&self.bare)?;
        black_box(ContentHash::of(&content));
        let beside = self.bare.with_extension("tmp");
        let mut new = File::create(&beside)?;
        new.write_all(&content)?;
        new.sync_all()?;
        Ok(fs::rename(beside, &self.bare)?)
    }

    fn case(&mut self) -> Result<(), Broken> {
        let round = self.round;
        let line = |round: u32| format!("// edited {round} times\n");
        let old = if self.made { line(round) } else { format!("// edited {round} times by someone else\n") };
        let change = Change::Replace { old, new: line(round + 1), places: Places::One };
        let write = Write { path: "src/file.rs".to_owned(), change, over: Over::Held };
        match self.engine.ask::<Written>(Some(&self.session), Operation::Write(write)) {
            Ok(written) if self.made => self.written = Some(written),
            Err(Error::Edit { .. }) if !self.made => {}
            other => return Err(format!("{other:?}").into()),
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Broken> {
        for receipt in self.written.take().map(|written| written.receipts).unwrap_or_default() {
            self.engine.delivered(&receipt)?;
        }
        Ok(())
    }
}

struct Merges {
    texts: [Text; 3],
}

fn merges(rounds: u32) -> Result<Samples, Broken> {
    let changed = |by: &dyn Fn(u32) -> bool, word: &str| {
        let line = |n: u32| if by(n) { format!("line {n} {word}\n") } else { format!("line {n} of the text\n") };
        Text::new((0..LINES).map(line).collect())
    };
    let ours = changed(&|n| n % 300 == 0, "by us");
    let theirs = changed(&|n| n % 300 == 150, "by them");
    measure(rounds, &mut Merges { texts: [changed(&|_| false, ""), ours, theirs] })
}

impl Subject for Merges {
    fn prepare(&mut self, _round: u32) -> Result<(), Broken> {
        Ok(())
    }

    fn floor(&mut self) -> Result<(), Broken> {
        let [base, ours, theirs] = &self.texts;
        let (mut out, mut input) = (Vec::new(), gix_imara_diff::InternedInput::default());
        gix_merge::blob::builtin_driver::text(
            &mut out,
            &mut input,
            gix_merge::blob::builtin_driver::text::Labels::default(),
            ours.as_str().as_bytes(),
            base.as_str().as_bytes(),
            theirs.as_str().as_bytes(),
            gix_merge::blob::builtin_driver::text::Options::default(),
        );
        black_box(out);
        Ok(())
    }

    fn case(&mut self) -> Result<(), Broken> {
        let [base, ours, theirs] = &self.texts;
        match black_box(three_way(base, ours, theirs)) {
            Merged::Clean(_) => Ok(()),
            other @ (Merged::Conflict(_) | Merged::Disputed | Merged::TooLarge) => Err(format!("{other:?}").into()),
        }
    }
}

/// Histories of one file, one changed line after the other. Texts and records are written as an edit writes them, but without the
/// edit's own work, which is measured elsewhere.
fn histories(rounds: u32) -> Result<Samples, Broken> {
    let mut samples = Samples::of(Unit::Bytes);
    for _ in 0..rounds {
        let (raw, disk) = history()?;
        samples.push(raw, disk);
    }
    Ok(samples)
}

/// About 50 bytes, a third of which nobody can guess.
fn versioned_line(number: u32, version: u32) -> String {
    let hash = ContentHash::of(&[number.to_le_bytes(), version.to_le_bytes()].concat()).to_string();
    format!("    let value_{number} = compute(\"{}\")?;\n", &hash[..16])
}

/// The bytes of all versions, and of the store that holds them.
fn history() -> Result<(u64, u64), Broken> {
    let folder = tempfile::tempdir()?;
    let top = folder.path().canonicalize()?;
    let root = Root::open(&top)?;
    let store = LocalStore::open(&root)?;
    let mut versions = Versions::open(&store, Create::Yes, now())?.ok_or("no version log")?;
    let mut lines: Vec<String> = (0..VERSIONED_LINES).map(|number| versioned_line(number, 0)).collect();
    let (mut raw, mut before, mut middle) = (0, None, None);
    for version in 1..=VERSIONS {
        let number = version.wrapping_mul(7919) % VERSIONED_LINES;
        lines[number as usize] = versioned_line(number, version);
        let text = Text::new(lines.concat());
        store.objects().put(&text)?;
        raw += text.as_str().len() as u64;
        let after = Some(Sha(text.hash()));
        let path = "file.rs".to_owned();
        let (gaps, mode) = (Gaps::default(), None);
        let file = ChangedFile { path, before, after, from: None, removed: false, since: None, gaps, mode };
        let by = By { surface: "bench".to_owned(), ..By::default() };
        let (operation, files, at) = ("edit".into(), vec![file], now());
        let change = VersionChange { operation, files, by, at, entry: None, event: None };
        let id = versions.changed(change)?;
        before = after;
        if version == VERSIONS / 2 {
            middle = Some((id, text));
        }
    }
    let bearings = Bearings { cwd: top.display().to_string(), home: None };
    let engine = Engine::new(root, bearings, Settings::default(), Box::new(now))?;
    let history = Retention { pack_after_ms: Some(0), ..Retention::default() };
    let done: Collection = engine.ask(None, Operation::Collect(Collect { history, ..Collect::default() }))?;
    let packed = done.done.map_or(0, |done| done.packed);
    if packed < u64::from(VERSIONS) - 1 {
        return Err(format!("only {packed} texts were packed").into());
    }
    let (VersionId(id), text) = middle.ok_or("no version")?;
    let asked = ShowVersion { version: format!("v{id}"), path: Some("file.rs".to_owned()), most: AnswerLimit::NONE };
    let shown: ShownVersion = engine.ask(None, Operation::ShowVersion(asked))?;
    if shown.hash != text.hash() {
        return Err("another text came back".into());
    }
    Ok((raw, bytes_beneath(&top.join(STORE_NAME))?))
}

/// What files take on the disk, whole blocks included.
fn bytes_beneath(folder: &Path) -> Result<u64, Broken> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        let beneath = if found.is_dir() { bytes_beneath(&entry.path())? } else { 0 };
        bytes += beneath + found.len().max(found.blocks() * 512);
    }
    Ok(bytes)
}
