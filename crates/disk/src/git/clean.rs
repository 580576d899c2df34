//! Turns the bytes of a working file into those that git would store: line ends, encodings, keywords, Git LFS pointers. In
//! git's order, by the attributes that git would find, and without running anything.

use std::os::unix::ffi::OsStrExt;
use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, ByteSlice},
    config::{Source, file::Metadata, tree::Core},
    filter::plumbing::{
        eol::{self, AttributesDigest, AutoCrlf},
        ident,
    },
    glob::pattern::Case,
};
use readproof_core::text::ContentHash;

use super::{GitError, GitMode, baseline::Staged, index::Index, look::most, open::Found};
use crate::snapshot::spelling::on_disk;

/// How far git looks for a NUL byte.
const FIRST_BYTES: usize = 8_000;

/// The attributes that matter, in the order of [`Attributes`].
const NAMES: [&str; 7] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding", "diff"];

/// The attributes of a file.
pub(super) struct Attributes {
    line_ends: LineEnds,
    ident: bool,
    filter: Option<String>,
    pub(super) encoding: Option<String>,
    diff: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// Kept as they are.
    Kept,
    /// Always `\n`.
    Lf,
    /// `\n`, unless it is binary or has `\r\n` in the index.
    Auto,
}

/// How `git diff` shows the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Text,
    Binary,
    /// Decided by its first bytes.
    Auto,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

/// Git's test for binary content, whatever the attributes say.
#[must_use]
pub fn looks_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(FIRST_BYTES).any(|byte| *byte == 0)
}

impl Found<'_> {
    /// The attributes by git's rules: nearer folders win, and `info/attributes` wins over all. A file of attributes that is not in
    /// the work tree is taken from the index, if one is given.
    pub(super) fn attributes(&self, index: Option<&Index>) -> Result<Attributes, GitError> {
        let (rules, names) = self.rules(index)?;
        let mut found = Outcome::default();
        found.initialize_with_selection(&names, NAMES);
        let fold = self.flag("core.ignoreCase", false)?;
        let case = if fold { Case::Fold } else { Case::Sensitive };
        rules.pattern_matching_relative_path(BStr::new(on_disk(&self.name).as_bytes()), case, Some(false), &mut found);
        let states: Vec<State> = found
            .iter_selected()
            .map(|found| match found.assignment.state {
                StateRef::Set => State::Set,
                StateRef::Unset => State::Unset,
                StateRef::Unspecified => State::Unspecified,
                StateRef::Value(value) => State::Value(value.as_bstr().to_str_lossy().into_owned()),
            })
            .collect();
        let [text, crlf, eol, ident, filter, encoding, diff] = &states[..] else {
            return Err(self.broken("the attributes"));
        };
        let named = |state: &State| match state {
            State::Value(name) if !name.is_empty() => Some(name.clone()),
            State::Value(_) | State::Set | State::Unset | State::Unspecified => None,
        };
        Ok(Attributes {
            line_ends: self.line_ends(text, crlf, eol)?,
            ident: *ident == State::Set,
            filter: named(filter),
            encoding: match encoding {
                State::Set | State::Unset => {
                    return Err(self.encoded("true or false", "it must be the name of an encoding"));
                }
                State::Value(_) | State::Unspecified => named(encoding),
            },
            diff: self.shown(diff)?,
        })
    }

    /// Every rule for this file, the weakest first. gix's own stack would rank `info/attributes` below those of folders.
    fn rules(&self, index: Option<&Index>) -> Result<(Search, MetadataCollection), GitError> {
        let mut names = MetadataCollection::default();
        // Begins with git's built-in macros, such as `binary`.
        let search = Search::new_globals([""; 0], &mut Vec::new(), &mut names);
        let search = search.map_err(|_| self.broken("the attributes"))?;
        let mut rules = Rules { search, names, bytes: 0, found: self };
        let wide = self.repo.attribute_global_paths().map_err(|_| self.broken("the attributes"))?;
        // A file named by the repository's own settings comes last.
        let local = |meta: &Metadata| matches!(meta.source, Source::Local | Source::Worktree);
        let named = self.repo.config_snapshot().plumbing().string_filter("core.attributesFile", local).is_some();
        let last = wide.len();
        for (number, path) in (1..).zip(wide) {
            if let Some(text) = self.wide_attributes(&path, named && number == last)? {
                rules.add(&text, path, None, true)?;
            }
        }
        let folders = self.name.match_indices('/').map(|(at, _)| &self.name[..=at]);
        for folder in [""].into_iter().chain(folders) {
            self.go_on()?;
            let name = format!("{folder}.gitattributes");
            let path = self.work_tree.join(on_disk(&name));
            let text = match fs::symlink_metadata(&path) {
                // Git does not follow links here.
                Ok(found) if found.is_symlink() || found.is_dir() => None,
                Ok(_) | Err(_) => self.place.read(&path, most::ATTRIBUTES)?,
            };
            let text = match (text, index) {
                (None, Some(index)) => self.staged_bytes(&self.staged(index, &name)?, most::ATTRIBUTES)?,
                (text, _) => text,
            };
            if let Some(text) = text {
                rules.add(&text, name.into(), Some(Path::new("")), folder.is_empty())?;
            }
        }
        let info = self.place.common.join("info/attributes");
        let text = if self.place.folder(&self.place.common.join("info"))?.is_some() {
            self.place.read(&info, most::ATTRIBUTES)?
        } else {
            None
        };
        if let Some(text) = text {
            rules.add(&text, info, None, true)?;
        }
        Ok((rules.search, rules.names))
    }

    /// Attributes for all repositories: the user's file is trusted, one that the repository names is not.
    fn wide_attributes(&self, path: &Path, is_own: bool) -> Result<Option<Vec<u8>>, GitError> {
        if is_own {
            let Ok(real) = fs::canonicalize(path) else { return Ok(None) };
            if !self.place.holds(&real) {
                return Err(self.place.setting_leads_out("a file of attributes (`core.attributesFile`)"));
            }
            return self.place.read(&real, most::ATTRIBUTES);
        }
        let Ok(found) = fs::metadata(path) else { return Ok(None) };
        if !found.is_file() {
            return Ok(None);
        }
        if found.len() > most::ATTRIBUTES {
            return Err(self.place.too_many(path, (found.len(), most::ATTRIBUTES), "bytes"));
        }
        fs::read(path).map(Some).map_err(|_| self.broken("the attributes"))
    }

    fn line_ends(&self, text: &State, crlf: &State, eol: &State) -> Result<LineEnds, GitError> {
        let of = |state: &State| match state {
            State::Set => Some(LineEnds::Lf),
            State::Unset => Some(LineEnds::Kept),
            State::Value(word) if word == "input" => Some(LineEnds::Lf),
            State::Value(word) if word == "auto" => Some(LineEnds::Auto),
            State::Value(_) | State::Unspecified => None,
        };
        let said = of(text).or_else(|| of(crlf));
        let has_eol = matches!(eol, State::Value(word) if word == "lf" || word == "crlf");
        match said {
            Some(said) => Ok(said),
            // A declared line end implies text.
            None if has_eol => Ok(LineEnds::Lf),
            None => {
                let value = self.repo.config_snapshot().string("core.autocrlf");
                let auto = value.map(|value| Core::AUTO_CRLF.try_into_autocrlf(value)).transpose();
                let auto = auto.map_err(|_| self.broken("the configuration"))?.unwrap_or_default();
                Ok(if auto == AutoCrlf::Disabled { LineEnds::Kept } else { LineEnds::Auto })
            }
        }
    }

    fn shown(&self, diff: &State) -> Result<Shown, GitError> {
        Ok(match diff {
            State::Set => Shown::Text,
            State::Unset => Shown::Binary,
            State::Unspecified => Shown::Auto,
            State::Value(driver) => {
                let key = format!("diff.{driver}.binary");
                // `auto` is neither yes nor no.
                match self.repo.config_snapshot().try_boolean(key.as_str()) {
                    Ok(Some(true)) => Shown::Binary,
                    Ok(Some(false)) => Shown::Text,
                    Ok(None) | Err(_) => Shown::Auto,
                }
            }
        })
    }

    /// Whether git would only report that the file differs.
    pub(super) fn is_binary(&self, attributes: &Attributes, mode: GitMode, bytes: &[u8]) -> bool {
        let has_nul = || looks_binary(bytes);
        let big = || {
            let most = self.repo.config_snapshot().integer("core.bigFileThreshold").unwrap_or(512 << 20);
            bytes.len() as u64 > u64::try_from(most).unwrap_or(u64::MAX)
        };
        match attributes.diff {
            // Attributes do not apply to links.
            _ if mode == GitMode::Link => has_nul(),
            Shown::Text => false,
            Shown::Binary => true,
            Shown::Auto => has_nul() || big(),
        }
    }

    /// The bytes git would store, if they differ, and whether they are a Git LFS pointer.
    pub(super) fn clean(
        &self,
        bytes: &[u8],
        attributes: &Attributes,
        staged: &Staged,
        max: u64,
    ) -> Result<(Option<Vec<u8>>, bool), GitError> {
        let mut kept: Option<Vec<u8>> = None;
        let lfs = self.is_lfs(attributes)?;
        if lfs {
            kept = pointer(bytes);
        }
        if let Some(encoding) = &attributes.encoding {
            let decoded = decode(kept.as_deref().unwrap_or(bytes), encoding);
            kept = decoded.map_err(|why| self.encoded(encoding, why))?.or(kept);
        }
        if let Some(ended) = self.end_lines(kept.as_deref().unwrap_or(bytes), attributes.line_ends, staged, max)? {
            kept = Some(ended);
        }
        if attributes.ident {
            let mut without = Vec::new();
            let done = ident::undo(kept.as_deref().unwrap_or(bytes), &mut without);
            if done.map_err(|_| self.broken("a keyword"))? {
                kept = Some(without);
            }
        }
        Ok((kept.filter(|kept| kept != bytes), lfs))
    }

    fn end_lines(&self, bytes: &[u8], how: LineEnds, staged: &Staged, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        let digest = match how {
            LineEnds::Kept => return Ok(None),
            LineEnds::Lf => AttributesDigest::TextInput,
            LineEnds::Auto => AttributesDigest::TextAutoInput,
        };
        // Loaded only if it matters.
        let in_index =
            if how == LineEnds::Auto && bytes.contains(&b'\r') { self.staged_bytes(staged, max)? } else { None };
        let mut ended = Vec::new();
        let changed = eol::convert_to_git(
            bytes,
            digest,
            &mut ended,
            &mut |buffer| {
                Ok(in_index.as_ref().map(|bytes| {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                }))
            },
            eol::convert_to_git::Options::default(),
        );
        Ok(changed.map_err(|_| self.broken("the line ends"))?.then_some(ended))
    }

    fn encoded(&self, encoding: &str, why: &'static str) -> GitError {
        let encoding: String = encoding.chars().filter(|c| !c.is_control()).take(80).collect();
        GitError::Encoded { name: self.key.clone(), encoding, why }
    }

    /// Whether the filter is Git LFS, whose pointers can be computed without running it. Any other program is refused.
    fn is_lfs(&self, attributes: &Attributes) -> Result<bool, GitError> {
        let Some(driver) = &attributes.filter else { return Ok(false) };
        let config = self.repo.config_snapshot();
        let value = |key: &str| {
            let value = config.string(format!("filter.{driver}.{key}").as_str());
            value.map(|value| value.to_str_lossy().trim().to_owned()).filter(|value| !value.is_empty())
        };
        let programs: Vec<String> = ["process", "clean"].into_iter().filter_map(value).collect();
        let required = self.flag(&format!("filter.{driver}.required"), false)?;
        let known = |program: &String| {
            let words: Vec<&str> = program.split_whitespace().collect();
            let rest = match &words[..] {
                ["git-lfs", rest @ ..] | ["git", "lfs", rest @ ..] => rest,
                _ => return false,
            };
            matches!(rest, ["filter-process"] | ["filter-process", "--skip"] | ["clean", "--", "%f"] | ["clean", "%f"])
        };
        let extended = config
            .plumbing()
            .sections_by_name("lfs")
            .into_iter()
            .flatten()
            .any(|section| section.header().subsection_name().is_some_and(|name| name.starts_with(b"extension.")));
        match &programs[..] {
            [] if !required => Ok(false),
            programs if driver == "lfs" && !programs.is_empty() && programs.iter().all(known) && !extended => Ok(true),
            _ => Err(GitError::Filtered { name: self.key.clone(), driver: driver.clone() }),
        }
    }
}

/// The rules so far, and the bytes of their files.
struct Rules<'a> {
    search: Search,
    names: MetadataCollection,
    bytes: u64,
    found: &'a Found<'a>,
}

impl Rules<'_> {
    fn add(&mut self, text: &[u8], path: PathBuf, root: Option<&Path>, macros: bool) -> Result<(), GitError> {
        self.bytes += text.len() as u64;
        if self.bytes > most::ALL_ATTRIBUTES {
            let counts = (self.bytes, most::ALL_ATTRIBUTES);
            return Err(self.found.place.too_many(&path, counts, "bytes of attributes, with those of other folders"));
        }
        let added = self.search.add_patterns_buffer(text, path, root, &mut self.names, macros);
        added.map_err(|_| self.found.broken("the attributes"))
    }
}

/// The Git LFS pointer for a file; `None` for an empty file and for one that is a pointer already.
fn pointer(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.is_empty() || is_pointer(bytes) {
        return None;
    }
    let (hash, size) = (ContentHash::of(bytes), bytes.len());
    Some(format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n").into_bytes())
}

fn is_pointer(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut lines = text.lines();
    let version = lines.next() == Some("version https://git-lfs.github.com/spec/v1");
    let oid = lines
        .next()
        .and_then(|line| line.strip_prefix("oid sha256:"))
        .is_some_and(|hex| ContentHash::parse(hex).is_some());
    let size = lines.next().and_then(|line| line.strip_prefix("size ")).is_some_and(|size| size.parse::<u64>().is_ok());
    bytes.len() < 1024 && version && oid && size && lines.next().is_none()
}

/// The text of a working file in another encoding, as UTF-8; `None` if it is stored unchanged.
fn decode(bytes: &[u8], encoding: &str) -> Result<Option<Vec<u8>>, &'static str> {
    const NO_BOM: &str = "a byte order mark is required, and there is none";
    const BOM: &str = "a byte order mark is prohibited, and there is one";
    if bytes.is_empty() {
        return Ok(None);
    }
    let name = encoding.to_ascii_uppercase();
    let marked = |marks: &[&[u8]]| marks.iter().any(|mark| bytes.starts_with(mark));
    let utf16 = [&[0xff, 0xfe][..], &[0xfe, 0xff]];
    let utf32 = [&[0xff, 0xfe, 0, 0][..], &[0, 0, 0xfe, 0xff]];
    let text = match name.as_str() {
        "UTF-8" | "UTF8" => return Ok(None),
        "UTF-16" | "UTF16" if !marked(&utf16) => return Err(NO_BOM),
        "UTF-16LE-BOM" | "UTF16LE-BOM" if !marked(&utf16) => return Err(NO_BOM),
        "UTF-16" | "UTF16" | "UTF-16LE-BOM" | "UTF16LE-BOM" => utf_16(&bytes[2..], bytes.starts_with(&[0xff, 0xfe])),
        "UTF-16LE" | "UTF16LE" | "UTF-16BE" | "UTF16BE" if marked(&utf16) => return Err(BOM),
        "UTF-16LE" | "UTF16LE" => utf_16(bytes, true),
        "UTF-16BE" | "UTF16BE" => utf_16(bytes, false),
        "UTF-32" | "UTF32" if !marked(&utf32) => return Err(NO_BOM),
        "UTF-32" | "UTF32" => utf_32(&bytes[4..], bytes.starts_with(&[0xff, 0xfe])),
        "UTF-32LE" | "UTF32LE" | "UTF-32BE" | "UTF32BE" if marked(&utf32) => return Err(BOM),
        "UTF-32LE" | "UTF32LE" => utf_32(bytes, true),
        "UTF-32BE" | "UTF32BE" => utf_32(bytes, false),
        "ISO-8859-1" | "ISO8859-1" | "LATIN1" | "LATIN-1" => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        "ASCII" | "US-ASCII" => bytes.is_ascii().then(|| String::from_utf8_lossy(bytes).into_owned()),
        _ => return Err("this encoding is not known here"),
    };
    text.map(|text| Some(text.into_bytes())).ok_or("the file is not in that encoding")
}

fn utf_16(bytes: &[u8], little: bool) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| if little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
    let text: Option<String> = char::decode_utf16(pairs.iter().map(unit)).map(Result::ok).collect();
    text.filter(|_| rest.is_empty())
}

pub(crate) fn utf_32(bytes: &[u8], little: bool) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<4>();
    let unit = |unit: &[u8; 4]| if little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) };
    let text: Option<String> = units.iter().map(|bytes| char::from_u32(unit(bytes))).collect();
    text.filter(|_| rest.is_empty())
}
