//! Checks a repository's own settings before gix reads them: every file, those it includes, and what they would make gix do. The
//! user's settings are trusted and not checked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{
    bstr::ByteSlice,
    config::{File, Source, file::Metadata, file::init},
};

use super::{
    GitError,
    look::{Place, most},
};

/// How deep files may include others, as in git.
pub(super) const DEEPEST: usize = 10;

/// What matters in the repository's own settings before it is opened.
pub(super) struct RepositorySettings {
    /// `core.worktree`, as it is written.
    pub(super) work_tree: Option<PathBuf>,
}

/// Checks every settings file of the repository.
pub(super) fn look(place: &Place) -> Result<RepositorySettings, GitError> {
    let mut settings = RepositorySettings { work_tree: None };
    let mut read = Read { place, count: 0, bytes: 0 };
    for path in [place.common.join("config"), place.private.join("config.worktree")] {
        let Some(file) = read.file(&path, 0)? else { continue };
        check_format(place, &file)?;
        let named = file.string("core.worktree").map(|path| PathBuf::from(path.to_string()));
        settings.work_tree = named.or(settings.work_tree);
    }
    Ok(settings)
}

struct Read<'a> {
    place: &'a Place,
    count: u64,
    bytes: u64,
}

impl Read<'_> {
    fn file(&mut self, path: &Path, depth: usize) -> Result<Option<File>, GitError> {
        let Some(bytes) = self.place.read(path, most::CONFIG)? else { return Ok(None) };
        self.count += 1;
        if self.count > most::INCLUDED || depth > DEEPEST {
            return Err(self.place.too_many(path, (self.count, most::INCLUDED), "included files"));
        }
        self.bytes += bytes.len() as u64;
        if self.bytes > most::CONFIGS {
            return Err(self.place.too_many(path, (self.bytes, most::CONFIGS), "bytes of settings"));
        }
        let options = init::Options { lossy: true, ..init::Options::default() };
        let file = File::from_bytes_no_includes(&bytes, Metadata::from(Source::Local), options);
        let file = file.map_err(|_| self.place.malformed(path))?;
        for named in included(&file) {
            self.include(path, &named, depth)?;
        }
        Ok(Some(file))
    }

    /// A file that another includes, whether or not its condition holds.
    fn include(&mut self, from: &Path, named: &[u8], depth: usize) -> Result<(), GitError> {
        const SETTING: &str = "an included file (`include.path`)";
        let out = || self.place.setting_leads_out(SETTING);
        // Relative to the home folder, or to where git is installed.
        if named.starts_with(b"~") || named.starts_with(b"%(") {
            return Err(out());
        }
        let named = named.to_path().map_err(|_| self.place.broken(SETTING, "its name is not valid UTF-8"))?;
        let path = from.parent().unwrap_or(from).join(named);
        let Ok(real) = fs::canonicalize(&path) else { return Ok(()) };
        if !self.place.holds(&real) {
            return Err(out());
        }
        self.file(&real, depth + 1).map(drop)
    }
}

pub(super) fn included(file: &File) -> Vec<Vec<u8>> {
    let sections = ["include", "includeIf"].into_iter().filter_map(|name| file.sections_by_name(name));
    sections.flatten().flat_map(|section| section.values("path")).map(|path| path.to_vec()).collect()
}

/// Refuses what gix would misread.
fn check_format(place: &Place, file: &File) -> Result<(), GitError> {
    match file.integer("core.repositoryFormatVersion") {
        Ok(None | Some(0 | 1)) => {}
        Ok(Some(_)) => return Err(place.broken("the configuration", "unsupported repository format version")),
        Err(_) => return Err(place.broken("the configuration", "core.repositoryFormatVersion is not a number")),
    }
    if file.string("attr.tree").is_some() {
        return Err(place.unsupported("attributes of another tree (attr.tree)"));
    }
    for section in file.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let value = section.value(&name).map(|value| value.to_string().to_lowercase()).unwrap_or_default();
            let name = name.to_lowercase();
            let known = match name.as_str() {
                "noop" | "noop-v1" | "partialclone" | "worktreeconfig" | "preciousobjects" | "relativeworktrees" => {
                    true
                }
                "objectformat" => matches!(value.as_str(), "sha1" | "sha256"),
                "refstorage" => value == "files",
                _ => false,
            };
            if !known {
                return Err(place.unsupported(extension(&name, &value)));
            }
        }
    }
    Ok(())
}

/// Only names that git itself defines are passed on to the user.
fn extension(name: &str, value: &str) -> String {
    match (name, value) {
        ("refstorage", "reftable") => "the extension refstorage=reftable".to_owned(),
        ("refstorage", _) => "an unknown refstorage (extensions.refStorage)".to_owned(),
        ("objectformat", _) => "an unknown object format (extensions.objectFormat)".to_owned(),
        ("compatobjectformat", _) => "the extension compatobjectformat".to_owned(),
        _ => "an unknown extension (extensions.*)".to_owned(),
    }
}
