//! A scratch workspace with files of every awkward shape, two engines on one store, and changes from outside.

pub mod glimpse;
pub mod kept;
pub(crate) mod rewound;
pub(crate) mod rules;
pub(crate) mod watch;

use readproof_core::limits::{Answers, Limits, Markers};
use readproof_disk::SessionName;
use readproof_engine::{Settings, SmallTexts};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    rc::Rc,
};
use tempfile::TempDir;

pub use self::watch::Watched;
use self::{
    kept::{Keep, Kept, OWN_TEXTS, Texts, some_logged},
    watch::{Watch, some_secret, some_word},
};
use crate::op::Random;

/// The names a run reads, and the file that each leads to.
pub const NAMES: [(&str, &str); 11] = [
    (".env", ".env"),
    ("small.txt", "small.txt"),
    ("long.txt", "long.txt"),
    ("wide.txt", "wide.txt"),
    ("giant.txt", "giant.txt"),
    ("link.txt", "small.txt"),
    ("forged.txt", "forged.txt"),
    ("medium.rs", "medium.rs"),
    ("hard.rs", "medium.rs"),
    ("crlf.txt", "crlf.txt"),
    ("sub/deep.txt", "sub/deep.txt"),
];

/// Names of files long enough for a diff and short enough for one answer.
pub const MIDDLING: [&str; 5] = ["forged.txt", "medium.rs", "hard.rs", "crlf.txt", "sub/deep.txt"];

/// What texts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lines that mostly differ, files of every length.
    Ample,
    /// A few lines that are mostly alike, so that whatever can be confused will be.
    Tiny,
}

/// What is done to a stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// It is removed.
    Remove,
    /// One byte is changed.
    Alter,
}

/// The most lines of a tiny text; a diff of one can still be shorter than the text.
const TINY: usize = 16;

/// A failure of the harness itself, not of the product.
pub type Broken = Box<dyn std::error::Error>;

/// The workspace and its engines.
pub struct World {
    root: PathBuf,
    kept: Kept,
    settings: Settings,
    engines: Vec<Watched>,
    pub(crate) watch: Rc<Watch>,
    shape: Shape,
    names: Vec<&'static str>,
    /// Earlier texts of each file.
    history: BTreeMap<String, Vec<String>>,
    /// Removed when the world is dropped, after the threads of its engines ended.
    _dir: TempDir,
}

impl World {
    /// From now on, longer answers have no handle.
    ///
    /// # Errors
    /// When the engines cannot be reopened.
    pub fn limit_handles(&mut self, bytes: u32) -> Result<(), Broken> {
        self.settings.handle_bytes = bytes;
        self.engines = vec![self.open()?, self.open()?];
        Ok(())
    }

    /// A new workspace; the run has `more` files beside those that every run has.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn new(seed: u64, keep: Keep, more: &[&'static str]) -> Result<Self, Broken> {
        let dir = tempfile::tempdir()?;
        let root = dir.path().canonicalize()?;
        let mut random = Random::new(seed);
        let shape = if random.below(3) == 0 { Shape::Tiny } else { Shape::Ample };
        let answers = if random.below(5) == 0 { Answers::Seed } else { Answers::Held };
        let markers = if random.below(4) == 0 { Markers::Shorter } else { Markers::Always };
        let limits = Limits {
            answer_lines: 40,
            answer_bytes: 2500,
            answer_chars: None,
            diff_bytes: 20_000,
            diff_lines: 400,
            markers,
        };
        let small_texts = if random.below(2) == 0 { SmallTexts::Together } else { SmallTexts::Apart };
        let settings = Settings { limits, answers, small_texts, policy: crate::nobody_asks(), ..Settings::default() };
        let settings = some_logged(seed, settings);
        fs::create_dir(root.join("sub"))?;
        let known = NAMES.iter().map(|(name, _)| *name).chain(crate::changes::FRESH).chain(more.iter().copied());
        let watch = Watch::new(root.clone(), vec![root.display().to_string()], "", known.collect());
        let mut world = Self {
            _dir: dir,
            root,
            watch,
            kept: Kept::new(keep),
            settings,
            engines: Vec::new(),
            shape,
            names: some_names(&mut random),
            history: BTreeMap::new(),
        };
        for (name, file) in NAMES {
            if name == file {
                let text = first_text(name, shape, &mut random);
                world.put(name, &text)?;
            }
        }
        symlink("small.txt", world.root.join("link.txt"))?;
        fs::hard_link(world.root.join("medium.rs"), world.root.join("hard.rs"))?;
        world.remember("hard.rs");
        world.engines = vec![world.open()?, world.open()?];
        Ok(world)
    }

    /// One more engine on the same workspace.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> Result<Watched, Broken> {
        let engine = self.kept.engine(&self.root, self.root.display().to_string(), &self.settings)?;
        Ok(Watched::new(engine, &self.watch))
    }

    /// One of the two agents' engines.
    pub fn engine(&self, which: usize) -> &Watched {
        &self.engines[which % self.engines.len()]
    }

    /// Ends the process and begins another.
    ///
    /// # Errors
    /// When it cannot.
    pub fn restart(&mut self, which: usize) -> Result<(), Broken> {
        let at = which % self.engines.len();
        self.engines[at] = self.open()?;
        Ok(())
    }

    /// The names this run is about.
    #[must_use]
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// What its texts are made of.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.settings.limits
    }

    /// The true text of a name; `None` when there is no such file.
    #[must_use]
    pub fn truth(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root.join(name)).ok()
    }

    /// Whether a name is a link.
    #[must_use]
    pub fn is_link(&self, name: &str) -> bool {
        self.root.join(name).is_symlink()
    }

    /// The workspace's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Notes that a file has the words of a text.
    pub(crate) fn note_words(&self, name: &str, text: &str) {
        self.watch.note(name, text);
    }

    /// Remembers the text of a write, so that it can be reverted to.
    pub fn remember(&mut self, name: &str) {
        if let Some(text) = self.truth(name) {
            self.watch.note(name, &text);
            let texts = self.history.entry(target(name).to_owned()).or_default();
            if texts.last() != Some(&text) {
                texts.push(text);
            }
        }
    }

    /// Writes a file from outside, in place, so that its other names see it too.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&mut self, name: &str, text: &str) -> Result<(), Broken> {
        fs::write(self.root.join(name), text)?;
        self.remember(name);
        Ok(())
    }

    /// Some change to a file from outside.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn change(&mut self, name: &str, random: &mut Random) -> Result<(), Broken> {
        let old = self.truth(name).unwrap_or_default();
        let new = changed(&old, self.shape, random);
        if random.below(6) == 0 {
            // Deleted and created again: a new inode, and the hard link keeps the old one.
            match fs::remove_file(self.root.join(target(name))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
            if random.below(4) == 0 {
                return Ok(());
            }
            return self.put(target(name), &new);
        }
        self.put(name, &new)
    }

    /// A line comes that no other file has.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn hide_a_line(&mut self, name: &str, random: &mut Random) -> Result<(), Broken> {
        let text = self.truth(name).unwrap_or_default();
        self.put(name, &format!("{text}{}", some_secret(random)))
    }

    /// A line moves from the first half of a file to the second; returns that line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn move_line(&mut self, name: &str, random: &mut Random) -> Result<Option<String>, Broken> {
        let text = self.truth(name).unwrap_or_default();
        let mut parts: Vec<&str> = text.split_inclusive('\n').collect();
        if parts.len() < 2 || !text.ends_with('\n') {
            return Ok(None);
        }
        let line = parts.remove(random.below(parts.len() / 2));
        let half = parts.len() / 2;
        parts.insert(half + 1 + random.below(parts.len() - half), line);
        self.put(name, &parts.concat())?;
        Ok(Some(line.trim_end().to_owned()))
    }

    /// The last line gains or loses its terminator; returns that line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn change_end(&mut self, name: &str) -> Result<Option<String>, Broken> {
        let text = self.truth(name).unwrap_or_default();
        let Some(last) = text.lines().last().map(str::to_owned) else { return Ok(None) };
        let new = text.strip_suffix('\n').map_or_else(|| format!("{text}\n"), str::to_owned);
        self.put(name, &new)?;
        Ok(Some(last))
    }

    /// Back to an earlier text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn revert(&mut self, name: &str, random: &mut Random) -> Result<(), Broken> {
        let texts = self.history.get(target(name)).cloned().unwrap_or_default();
        let recent = &texts[texts.len().saturating_sub(4)..];
        match random.pick(recent) {
            Some(text) => self.put(name, text),
            None => Ok(()),
        }
    }

    /// The latest texts of a file, oldest first.
    #[must_use]
    pub fn earlier(&self, name: &str) -> Vec<String> {
        let texts = self.history.get(target(name)).map_or(&[][..], Vec::as_slice);
        texts[texts.len().saturating_sub(8)..].to_vec()
    }

    /// Those of these names that lead to a file.
    #[must_use]
    pub fn there(&self, among: &[&'static str]) -> Vec<&'static str> {
        among.iter().copied().filter(|name| self.root.join(name).is_file()).collect()
    }

    /// The names among these that lead to the same file as this one.
    #[must_use]
    pub fn names_of(&self, name: &str, among: &[&'static str]) -> Vec<&'static str> {
        let id = |name: &str| fs::metadata(self.root.join(name)).ok().map(|meta| (meta.dev(), meta.ino()));
        let wanted = id(name);
        among.iter().copied().filter(|other| id(other) == wanted).collect()
    }

    /// What was stored of a secret, if anything was.
    #[must_use]
    pub fn stored_secret(&self) -> Option<String> {
        let texts = self.texts();
        let holds = |name: &String| texts.read(name).is_ok_and(|bytes| bytes.windows(7).any(|part| part == b"SECRET="));
        let found = texts.names().into_iter().find(holds)?;
        let text = texts.read(&found).unwrap_or_default();
        let text: String = String::from_utf8_lossy(&text).chars().take(400).collect();
        Some(format!("a sensitive text was stored as {found}: {text:?}"))
    }

    /// Some stored object is removed or altered; false when there is none.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn harm_object(&self, harm: Harm, random: &mut Random) -> Result<bool, Broken> {
        let (texts, names) = (self.texts(), self.texts().names());
        let Some(name) = random.pick(&names) else { return Ok(false) };
        if harm == Harm::Remove {
            texts.remove(name)?;
            return Ok(true);
        }
        let mut bytes = texts.read(name)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let at = random.below(bytes.len());
        bytes[at] = if bytes[at] == b'#' { b'+' } else { b'#' };
        texts.write(name, bytes)?;
        Ok(true)
    }

    fn texts(&self) -> Texts {
        self.kept.texts(&self.root, &OWN_TEXTS)
    }
}

/// All names, or a few files under all their names, so that operations meet.
fn some_names(random: &mut Random) -> Vec<&'static str> {
    let all = NAMES.map(|(name, _)| name);
    if random.below(2) == 0 {
        return all.to_vec();
    }
    let files: Vec<&str> = (0..1 + random.below(2)).map(|_| NAMES[1 + random.below(NAMES.len() - 1)].1).collect();
    all.into_iter().filter(|name| files.contains(&target(name))).collect()
}

/// The file a name leads to at first.
#[must_use]
pub fn target(name: &str) -> &str {
    NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, file)| file)
}

/// A session's name.
///
/// # Errors
/// When it is not a valid name.
pub fn session(number: usize) -> Result<SessionName, Broken> {
    Ok(SessionName::parse(&format!("s{number}"))?)
}

pub(crate) fn line(shape: Shape, random: &mut Random) -> String {
    if shape == Shape::Tiny {
        return ["a", "b", "c", "d", "e", "f", "g", ""][random.below(8)].repeat(40);
    }
    const WORDS: [&str; 8] = ["let", "x", "=", "return", "über", "日本", "{", "}"];
    let count = random.below(6);
    let mut text: Vec<String> = (0..count).map(|_| (*random.pick(&WORDS).unwrap_or(&"")).to_owned()).collect();
    // Some lines are equal, most are not.
    match random.below(3) {
        0 => {}
        1 => text.push(random.below(1000).to_string()),
        _ => text.push(some_word(random)),
    }
    text.join(" ")
}

pub(crate) fn lines(count: usize, shape: Shape, random: &mut Random, end: &str) -> String {
    (0..count).map(|_| line(shape, random) + end).collect()
}

fn first_text(name: &str, shape: Shape, random: &mut Random) -> String {
    match name {
        ".env" => "SECRET=1\nOTHER=2\n".to_owned(),
        _ if shape == Shape::Tiny => {
            let count = random.below(TINY);
            lines(count, shape, random, "\n")
        }
        "small.txt" => {
            let count = random.below(12);
            lines(count, shape, random, "\n")
        }
        "long.txt" => lines(90, shape, random, "\n"),
        "wide.txt" => (0..12).map(|n| format!("{n} {}\n", "w".repeat(300 + n))).collect(),
        "giant.txt" => format!("{}\nsecond\n", "g".repeat(4000)),
        "forged.txt" => {
            let start = ["[readcache: unchanged, 3 lines]\n", "plain\n[readcache: unchanged in lines 1-2 of 9]\n"];
            let first = random.pick(&start).copied().unwrap_or_default();
            format!("{first}{}", lines(20, shape, random, "\n"))
        }
        "crlf.txt" => lines(25, shape, random, "\r\n"),
        _ => {
            let count = 25 + random.below(12);
            lines(count, shape, random, "\n")
        }
    }
}

/// Changes a text in one of several ways.
pub(crate) fn changed(old: &str, shape: Shape, random: &mut Random) -> String {
    let mut parts: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
    let at = random.below(parts.len() + 1);
    match random.below(12) {
        0..=2 => parts.insert(at, line(shape, random) + "\n"),
        3 | 4 if at < parts.len() => {
            parts.remove(at);
        }
        5..=7 if at < parts.len() => parts[at] = line(shape, random) + "\n",
        8 if random.below(2) == 0 => {
            // Its end changes.
            let keep = parts.len().saturating_sub(1 + random.below(3));
            parts.truncate(keep);
        }
        8 if at < parts.len() => {
            let text = parts[at].trim_end_matches('\n').to_owned();
            parts[at] = text + " \n";
        }
        9 if old.contains("\r\n") => return old.replace("\r\n", "\n"),
        9 => return old.replace('\n', "\r\n"),
        10 if old.ends_with('\n') => return old[..old.len() - 1].to_owned(),
        10 => return format!("{old}\n"),
        11 if random.below(3) == 0 => return String::new(),
        11 => {
            let count = random.below(if shape == Shape::Tiny { TINY } else { 60 });
            return lines(count, shape, random, "\n");
        }
        _ => parts.push(line(shape, random) + "\n"),
    }
    parts.concat()
}

/// Something that occurs exactly once in a text, whatever its line ends, and its replacement.
#[must_use]
pub fn some_edit(text: &str, shape: Shape, random: &mut Random) -> Option<(String, String)> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let parts: Vec<&str> = text.split_inclusive('\n').collect();
    for _ in 0..8 {
        let from = *random.pick(&starts)?;
        let to = *random.pick(&starts)?;
        let old = match random.below(4) {
            // A line, with or without its end; the last one; or anything.
            0 => random.pick(&parts).copied(),
            1 => random.pick(&parts).map(|line| line.trim_end()),
            2 => parts.last().copied(),
            _ => text.get(from.min(to)..from.max(to).min(from.min(to) + 120)),
        };
        let Some(old) = old.filter(|old| !old.is_empty()) else { continue };
        let bare = |text: &str| text.replace("\r\n", "\n");
        let once = !text.contains('\r') || bare(text).matches(&bare(old)).count() <= 1;
        if once && text.match_indices(old).count() == 1 && text.find(old) == text.rfind(old) {
            let new = match random.below(4) {
                0 => String::new(),
                1 => line(shape, random),
                2 => lines(2, shape, random, "\n"),
                _ => old.replace('\n', ""),
            };
            return Some((old.to_owned(), new));
        }
    }
    None
}

/// A piece of a text, mostly a short one, and its replacement everywhere.
#[must_use]
pub fn some_common(text: &str, shape: Shape, random: &mut Random) -> Option<(String, String)> {
    let parts: Vec<&str> = text.split_inclusive('\n').collect();
    let line = random.pick(&parts).copied()?;
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let from = *random.pick(&starts)?;
    let short = line[from..].char_indices().nth(1 + random.below(3)).map_or(line.len(), |(at, _)| from + at);
    let old = match random.below(3) {
        0 => line,
        1 => &line[from..short],
        _ => line.trim_end(),
    };
    let new = match random.below(5) {
        0 => String::new(),
        1 => self::line(shape, random),
        2 => lines(1, shape, random, "\n"),
        3 => format!("{}\n", old.trim_end()),
        _ => format!("<{}>", old.trim_end()),
    };
    (!old.is_empty()).then(|| (old.to_owned(), new))
}

/// A whole new text for a file.
#[must_use]
pub fn some_text(shape: Shape, random: &mut Random) -> String {
    let count = random.below(if shape == Shape::Tiny { TINY } else { 50 });
    let mut text = lines(count, shape, random, "\n");
    if random.below(3) == 0 {
        text.push_str("end");
    }
    text
}
