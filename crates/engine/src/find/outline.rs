//! What a file, or the files of a folder, define. With signatures, lines of files are shown as they are, so they are recorded
//! like those of a search. What does not fit is left out by depth, the innermost first.

use readproof_core::{
    operation::{Extent, Outline as Ask},
    scope::Lines,
    text::Text,
};
use readproof_disk::SessionName;
use readproof_index::{Language, Symbol};

use crate::{Control, Engine, Error, Notice, read::Glimpse};

/// The most lines shown of one signature.
const SIGNATURE_LINES: u32 = 6;

/// The most files of a folder that are parsed.
const MOST_FILES: usize = 1_000;

/// The most bytes of a folder's files that are parsed.
const MOST_BYTES: u64 = 16 << 20;

/// What a file or a folder defines.
#[derive(Clone, Debug, Default)]
pub struct Outlines {
    /// The file or folder, relative to the workspace root.
    pub path: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// In the order of their names.
    pub files: Vec<Outlined>,
    /// Files that define something and are not shown.
    pub files_left_out: u64,
    /// Files whose definitions are unknown: no known language, no text, too large or too hard.
    pub unknown: u64,
    /// Definitions of the files shown that are left out.
    pub left_out: u64,
    /// Whatever else there is to say.
    pub notices: Vec<Notice>,
}

/// What a file defines.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// The file, relative to the workspace root.
    pub path: String,
    /// Its language.
    pub language: &'static str,
    /// In the order of the file.
    pub symbols: Vec<Symbol>,
    /// The lines of each signature, exact but for their ends, where they are shown.
    pub signatures: Vec<Vec<(u32, String)>>,
    /// Whether some were left out.
    pub truncated: bool,
    /// Lines in the file.
    pub total_lines: u32,
}

impl Engine {
    /// What a file or a folder defines.
    pub(crate) fn outline(
        &self,
        log: Option<&SessionName>,
        asked: &Ask,
        control: &Control<'_>,
    ) -> Result<Outlines, Error> {
        let call = self.asked_in(log);
        let folder = self.stat(&asked.path).ok().filter(|found| found.kind == Some("directory"));
        let mut out = match folder {
            Some(found) => self.outline_folder(found.path, control)?,
            None => {
                let (path, text) = self.text_of(&asked.path)?;
                let file = self.outlined(&path, &text, control)?;
                Outlines { path, files: vec![file], ..Outlines::default() }
            }
        };
        self.notes_input("outlined", || format!("{} {}", u8::from(out.is_folder), out.files_left_out));
        if asked.signatures {
            out.fit(asked.max_chars);
            let shown: Vec<Glimpse> = out.files.iter().map(Outlined::glimpse).collect();
            out.notices = self.saw(log, call, shown.into_iter());
        }
        Ok(out)
    }

    fn outlined(&self, path: &str, text: &Text, control: &Control<'_>) -> Result<Outlined, Error> {
        let (language, outline) = self.outline_of(path, text, control)?;
        let (symbols, truncated) = (outline.symbols.clone(), outline.truncated);
        let signatures = symbols.iter().map(|symbol| signature(text, symbol.signature)).collect();
        let (path, language) = (path.to_owned(), language.as_str());
        Ok(Outlined { path, language, symbols, signatures, truncated, total_lines: text.total() })
    }

    fn outline_folder(&self, path: String, control: &Control<'_>) -> Result<Outlines, Error> {
        let mut names = Vec::new();
        self.each_file(&Extent::default(), Some(&path), control, &mut |name| names.push(name))?;
        let mut out = Outlines { path, is_folder: true, ..Outlines::default() };
        let mut bytes = MOST_BYTES;
        for name in names {
            control.check_cancelled()?;
            if Language::of(&name, "").is_none() || self.is_sensitive_name(&name) {
                out.unknown += 1;
                continue;
            }
            let len = self.root.glance(&name).map_or(0, |stat| stat.len);
            if out.files.len() == MOST_FILES || len > bytes {
                out.files_left_out += 1;
                continue;
            }
            bytes -= len;
            let absolute = self.root.absolute(&name);
            match self.text_of(&absolute).and_then(|(path, text)| self.outlined(&path, &text, control)) {
                Ok(file) if file.symbols.is_empty() => {}
                Ok(file) => out.files.push(file),
                Err(Error::Aborted) => return Err(Error::Aborted),
                Err(_) => out.unknown += 1,
            }
        }
        Ok(out)
    }

    /// What the files that a record stands on define, as one answer.
    pub(crate) fn outline_again(
        &self,
        asked: &Ask,
        noted: &str,
        files: &[(String, Text)],
        control: &Control<'_>,
    ) -> Result<Outlines, Error> {
        let (is_folder, left_out) = noted.split_once(' ').unwrap_or_default();
        let mut out = Outlines { is_folder: is_folder == "1", ..Outlines::default() };
        out.files_left_out = left_out.parse().unwrap_or_default();
        for (path, text) in files {
            match self.outlined(path, text, control) {
                Ok(file) if file.symbols.is_empty() && out.is_folder => {}
                Ok(file) => out.files.push(file),
                Err(_) if out.is_folder => {}
                Err(error) => return Err(error),
            }
        }
        if asked.signatures {
            out.fit(asked.max_chars);
        }
        Ok(out)
    }

    fn is_sensitive_name(&self, name: &str) -> bool {
        let found = self.root.locate(&[self.root.absolute(name)]);
        found.map_or(true, |file| self.shared.sensitive.is_sensitive(&self.root, &file))
    }
}

impl Outlines {
    /// Leaves out what does not fit: by depth, then by place.
    fn fit(&mut self, max_chars: usize) {
        let cost = |deepest: usize| self.files.iter().map(|file| file.chars(deepest)).sum::<usize>();
        let deepest = (0..=MOST_DEPTH).rev().find(|deepest| cost(*deepest) <= max_chars).unwrap_or(0);
        let (mut left, mut gone) = (max_chars, 0);
        for file in &mut self.files {
            gone += file.keep(deepest, &mut left);
        }
        self.left_out = gone;
        let before = self.files.len();
        if self.is_folder {
            self.files.retain(|file| !file.symbols.is_empty());
        }
        self.files_left_out += (before - self.files.len()) as u64;
    }
}

/// Definitions are at most so deep inside each other.
const MOST_DEPTH: usize = 12;

/// What a line costs beside its text: its number and the range of the definition.
const LINE_COST: usize = 12;

impl Outlined {
    fn depth(&self, at: usize) -> usize {
        let (mut depth, mut parent) = (0, self.symbols[at].parent);
        while let Some(above) = parent.and_then(|at| self.symbols.get(at as usize)).filter(|_| depth < MOST_DEPTH) {
            (depth, parent) = (depth + 1, above.parent);
        }
        depth
    }

    fn cost(&self, at: usize) -> usize {
        self.signatures[at].iter().map(|(_, line)| line.chars().count() + LINE_COST).sum()
    }

    fn chars(&self, deepest: usize) -> usize {
        let shown = (0..self.symbols.len()).filter(|at| self.depth(*at) <= deepest);
        self.path.len() + LINE_COST + shown.map(|at| self.cost(at)).sum::<usize>()
    }

    /// Keeps what is no deeper and has room; how many definitions are left out.
    fn keep(&mut self, deepest: usize, left: &mut usize) -> u64 {
        let mut full = false;
        *left = left.saturating_sub(self.path.len() + LINE_COST);
        let keeps: Vec<bool> = (0..self.symbols.len())
            .map(|at| {
                if self.depth(at) > deepest || full {
                    return false;
                }
                let rest = left.checked_sub(self.cost(at));
                full = rest.is_none();
                *left = rest.unwrap_or(*left);
                !full
            })
            .collect();
        let gone = keeps.iter().filter(|keep| !**keep).count() as u64;
        let mut each = keeps.iter();
        self.symbols.retain(|_| each.next() == Some(&true));
        let mut each = keeps.iter();
        self.signatures.retain(|_| each.next() == Some(&true));
        self.truncated |= gone > 0;
        gone
    }

    fn glimpse(&self) -> Glimpse {
        Glimpse::lines(
            &self.path,
            self.signatures.iter().flatten().map(|(number, text)| (u64::from(*number), text.clone())),
        )
    }
}

/// The first lines of a signature, without their ends.
fn signature(text: &Text, lines: Lines) -> Vec<(u32, String)> {
    let last = lines.last().min(lines.first().saturating_add(SIGNATURE_LINES - 1)).min(text.total());
    let line = |number| {
        let line = text.line(number);
        (number, line.strip_suffix('\n').unwrap_or(line).to_owned())
    };
    (lines.first()..=last).map(line).collect()
}
