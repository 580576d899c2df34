//! Which files outside the workspace are read to compare a file with git: those of the repository that owns the work tree, and
//! those of the user's and the system's own git settings.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{
    bstr::ByteSlice,
    config::{File, Source, file::Metadata, file::init},
};

use super::{
    look::{Place, most},
    open::{locate, nearest},
    settings::{DEEPEST, included},
};
use crate::root::Root;

impl Root {
    /// Files, and folders with everything in them, that git's answers need from outside the workspace. `settings` are the user's
    /// and the system's settings files, `home` is where `~/` leads in them. A repository that is not this work tree's, and what
    /// only a nested repository needs, is not among them.
    #[must_use]
    pub fn git_outside(&self, settings: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
        let mut all = self.repository_outside();
        all.push(PathBuf::from("/etc/gitattributes"));
        for file in settings {
            // Beside `git/config`, and not beside `.gitconfig`.
            if file.ends_with("git/config") {
                all.push(file.with_file_name("attributes"));
            }
            user_files(file, home, 0, &mut all);
        }
        all.retain(|path| !self.holds(path));
        all
    }

    /// The folders of the repository, and the attributes in the folders between its work tree and the workspace.
    fn repository_outside(&self) -> Vec<PathBuf> {
        let Ok(git) = nearest(&self.path().join(".git"), "") else { return Vec::new() };
        let mut place = Place::new(self, "", &git);
        if locate(self, &mut place).is_err() {
            return Vec::new();
        }
        let work_tree = git.parent().unwrap_or(&git).to_path_buf();
        let between = self.path().ancestors().skip(1).take_while(|folder| folder.starts_with(&work_tree));
        let attributes = between.map(|folder| folder.join(".gitattributes"));
        [git.clone(), place.private, place.common].into_iter().chain(attributes).collect()
    }
}

/// A settings file of the user, those that it includes, and the attributes that they name.
fn user_files(path: &Path, home: Option<&Path>, depth: usize, all: &mut Vec<PathBuf>) {
    if depth > DEEPEST || all.len() as u64 > most::INCLUDED {
        return;
    }
    let Ok(bytes) = fs::read(path) else { return };
    all.push(path.to_path_buf());
    let options = init::Options { lossy: true, ..init::Options::default() };
    let Ok(file) = File::from_bytes_no_includes(&bytes, Metadata::from(Source::User), options) else { return };
    let real = |named: &[u8]| {
        let named = named.to_path().ok()?;
        match (named.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => Some(home.join(below)),
            (Ok(_), None) => None,
            (Err(_), _) => Some(path.parent().unwrap_or(path).join(named)),
        }
    };
    all.extend(file.string("core.attributesFile").and_then(|named| real(&named)));
    for named in included(&file).iter().filter_map(|named| real(named)) {
        user_files(&named, home, depth + 1, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, words: &str) {
        let done = Command::new("git").current_dir(folder).args(words.split(' ')).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn outside(workspace: &Path, settings: &[PathBuf], home: &Path) -> Vec<PathBuf> {
        let mut all = Root::open(workspace).unwrap().git_outside(settings, Some(home));
        all.retain(|path| !path.starts_with("/etc"));
        all.sort();
        all.dedup();
        all
    }

    #[test]
    fn the_repository_of_this_work_tree_and_no_other() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let none: [PathBuf; 0] = [];
        fs::create_dir_all(top.join("main/deep/down")).unwrap();
        git(&top, "init -q main");
        git(&top.join("main"), "-c user.name=a -c user.email=a@b commit -q --allow-empty -m x");
        git(&top.join("main"), "worktree add -q ../linked");
        let main = top.join("main/.git");
        assert_eq!(outside(&top.join("main"), &[], &top), none);
        assert_eq!(outside(&top.join("linked"), &[], &top), [main.clone(), main.join("worktrees/linked")]);
        // A folder of a repository: its attributes count as well.
        let attributes = ["main/.gitattributes", "main/deep/.gitattributes"].map(|name| top.join(name));
        let expected = [vec![main.clone()], attributes.to_vec()].concat();
        assert_eq!(outside(&top.join("main/deep/down"), &[], &top), expected);
        // A file that names a repository which does not name this folder in turn.
        fs::create_dir(top.join("stranger")).unwrap();
        fs::write(top.join("stranger/.git"), format!("gitdir: {}\n", main.display())).unwrap();
        assert_eq!(outside(&top.join("stranger"), &[], &top), none);
        fs::create_dir(top.join("plain")).unwrap();
        assert_eq!(outside(&top.join("plain"), &[], &top), none);
    }

    #[test]
    fn the_users_settings_with_what_they_include() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        for folder in ["ws", ".config/git", "work"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let put = |name: &str, text: &str| fs::write(top.join(name), text).unwrap();
        put(".gitconfig", "[include]\n\tpath = ~/work/config\n[core]\n\tattributesFile = ~/all.attributes\n");
        put("work/config", "[include]\n\tpath = more\n[include]\n\tpath = ../.gitconfig\n");
        put("work/more", "");
        put(".config/git/config", "");
        put(".config/git/credentials", "secret");
        let settings = [".config/git/config", ".gitconfig", "none"].map(|name| top.join(name));
        let names = [".config/git/attributes", ".config/git/config", ".gitconfig"];
        let expected = names.into_iter().chain(["all.attributes", "work/config", "work/more"]);
        let mut expected: Vec<PathBuf> = expected.map(|name| top.join(name)).collect();
        expected.sort();
        let mut found = outside(&top.join("ws"), &settings, &top);
        // A file above may be spelt by the way to it.
        found.retain(|path| !path.components().any(|part| part == std::path::Component::ParentDir));
        assert_eq!(found, expected);
    }
}
