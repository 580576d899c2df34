//! From the bytes of a working file to those that git would keep: line ends, encodings, keywords, the pointers of Git LFS.
//! In git's order, by the attributes that git would find, and without running anything.

use std::{fs, io, path::Path};

use gix::{
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, ByteSlice},
    config::tree::Core,
    filter::plumbing::{
        eol::{self, AttributesDigest, AutoCrlf},
        ident,
    },
    glob::pattern::Case,
};
use readproof_core::text::ContentHash;

use super::{GitError, GitMode, baseline::Staged, open::Found};

/// As git looks for a NUL.
const FIRST_BYTES: usize = 8_000;

/// The attributes that are looked at, in the order of [`Attributes`].
const NAMES: [&str; 7] = ["text", "crlf", "eol", "ident", "filter", "working-tree-encoding", "diff"];

/// What the attributes of a file say.
pub(super) struct Attributes {
    line_ends: LineEnds,
    ident: bool,
    filter: Option<String>,
    encoding: Option<String>,
    diff: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    /// As they are.
    Kept,
    /// Always `\n`.
    Lf,
    /// `\n`, unless it is binary or has `\r\n` in the index.
    Auto,
}

/// How `git diff` shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Text,
    Binary,
    /// By its first bytes.
    Auto,
}

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

/// By git's own test, whatever attributes say.
#[must_use]
pub fn looks_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(FIRST_BYTES).any(|byte| *byte == 0)
}

impl Found {
    /// What the attributes say, by git's rules: nearer folders win, and the repository's own file over all.
    pub(super) fn attributes(&self, index: &gix::index::State) -> Result<Attributes, GitError> {
        let (rules, names) = self.rules(index)?;
        let mut found = Outcome::default();
        found.initialize_with_selection(&names, NAMES);
        let fold = self.flag("core.ignoreCase", false)?;
        let case = if fold { Case::Fold } else { Case::Sensitive };
        rules.pattern_matching_relative_path(BStr::new(&self.name), case, Some(false), &mut found);
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
            return Err(self.broken("the attributes", &"there are others than asked for"));
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

    /// Every rule for this file, the weakest first. gix's own stack would put the repository's file below those of folders.
    fn rules(&self, index: &gix::index::State) -> Result<(Search, MetadataCollection), GitError> {
        let fail = |error: io::Error| self.broken("the attributes", &error);
        let mut names = MetadataCollection::default();
        let wide = self.repo.attribute_global_paths().map_err(|error| self.broken("the attributes", &error))?;
        let wide = wide.into_iter().filter(|path| path.is_file());
        let mut rules = Search::new_globals(wide, &mut Vec::new(), &mut names).map_err(fail)?;
        let folders = self.name.match_indices('/').map(|(at, _)| &self.name[..=at]);
        for folder in [""].into_iter().chain(folders) {
            let path = format!("{folder}.gitattributes");
            let text = match regular(&self.work_tree.join(&path)).map_err(fail)? {
                Some(text) => Some(text),
                None => self.staged_bytes(&self.staged(index, &path)?)?,
            };
            if let Some(text) = text {
                let added =
                    rules.add_patterns_buffer(&text, path.into(), Some(Path::new("")), &mut names, folder.is_empty());
                added.map_err(fail)?;
            }
        }
        let own = self.repo.common_dir().join("info/attributes");
        if own.is_file() {
            let text = fs::read(&own).map_err(fail)?;
            rules.add_patterns_buffer(&text, own, None, &mut names, true).map_err(fail)?;
        }
        Ok((rules, names))
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
            // Naming a line end makes it text.
            None if has_eol => Ok(LineEnds::Lf),
            None => {
                let value = self.repo.config_snapshot().string("core.autocrlf");
                let auto = value.map(|value| Core::AUTO_CRLF.try_into_autocrlf(value)).transpose();
                let auto = auto.map_err(|error| self.broken("the configuration", &error))?.unwrap_or_default();
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
                // `auto` is no yes and no no.
                match self.repo.config_snapshot().try_boolean(key.as_str()) {
                    Ok(Some(true)) => Shown::Binary,
                    Ok(Some(false)) => Shown::Text,
                    Ok(None) | Err(_) => Shown::Auto,
                }
            }
        })
    }

    /// Whether git would only say that it differs.
    pub(super) fn is_binary(&self, attributes: &Attributes, mode: GitMode, bytes: &[u8]) -> bool {
        let has_nul = || looks_binary(bytes);
        let big = || {
            let most = self.repo.config_snapshot().integer("core.bigFileThreshold").unwrap_or(512 << 20);
            bytes.len() as u64 > u64::try_from(most).unwrap_or(u64::MAX)
        };
        match attributes.diff {
            // Attributes are for files.
            _ if mode == GitMode::Link => has_nul(),
            Shown::Text => false,
            Shown::Binary => true,
            Shown::Auto => has_nul() || big(),
        }
    }

    /// The bytes git would keep, where they are others, and whether they are a pointer of Git LFS.
    pub(super) fn clean(
        &self,
        bytes: &[u8],
        attributes: &Attributes,
        staged: &Staged,
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
        if let Some(ended) = self.end_lines(kept.as_deref().unwrap_or(bytes), attributes.line_ends, staged)? {
            kept = Some(ended);
        }
        if attributes.ident {
            let mut without = Vec::new();
            let done = ident::undo(kept.as_deref().unwrap_or(bytes), &mut without);
            if done.map_err(|error| self.broken("a keyword", &error))? {
                kept = Some(without);
            }
        }
        Ok((kept.filter(|kept| kept != bytes), lfs))
    }

    fn end_lines(&self, bytes: &[u8], how: LineEnds, staged: &Staged) -> Result<Option<Vec<u8>>, GitError> {
        let digest = match how {
            LineEnds::Kept => return Ok(None),
            LineEnds::Lf => AttributesDigest::TextInput,
            LineEnds::Auto => AttributesDigest::TextAutoInput,
        };
        // Asked for only where it matters.
        let in_index = if how == LineEnds::Auto && bytes.contains(&b'\r') { self.staged_bytes(staged)? } else { None };
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
        Ok(changed.map_err(|error| self.broken("the line ends", &error))?.then_some(ended))
    }

    fn encoded(&self, encoding: &str, why: &'static str) -> GitError {
        let encoding: String = encoding.chars().filter(|c| !c.is_control()).take(80).collect();
        GitError::Encoded { name: self.key.clone(), encoding, why }
    }

    /// Whether the filter is Git LFS, whose pointers can be told without running it. Every other program is refused.
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

/// A file in the work tree; git follows no link here, and nobody waits for a pipe.
fn regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => fs::read(path).map(Some),
        Ok(found) if found.is_dir() || found.is_symlink() => Ok(None),
        Ok(_) => Err(io::Error::other("it is no regular file")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What Git LFS keeps of a file; `None` for nothing and for what is a pointer already.
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

/// The text of a working file in another encoding, as UTF-8; `None` where it is kept as it is.
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

fn utf_32(bytes: &[u8], little: bool) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<4>();
    let unit = |unit: &[u8; 4]| if little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) };
    let text: Option<String> = units.iter().map(|bytes| char::from_u32(unit(bytes))).collect();
    text.filter(|_| rest.is_empty())
}
