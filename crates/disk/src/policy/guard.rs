//! Which names a root shows. A guard judges every name before anything is looked for under it, so what it refuses is as if it
//! were not there: not opened, not listed, not followed to. Every way from a name to a file asks here.

use std::{ffi::OsString, fmt, io, sync::Arc};

use readproof_core::{
    policy::{Act, Acts, Effect, Verdict},
    text::ContentHash,
};

use super::files::Mark;
use crate::{
    fault::Fault,
    locate::FileRef,
    root::Root,
    snapshot::{EntryKind, spelling::on_disk},
};

/// Why a name may not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The name that was asked for.
    pub name: String,
    /// The name that was judged: the same, or one that links lead through, which only the person may be told.
    pub judged: String,
    /// What the rules say; never that it is allowed.
    pub verdict: Verdict,
}

impl Refusal {
    fn new(name: &str, verdict: Verdict) -> Self {
        Self { name: name.to_owned(), judged: name.to_owned(), verdict }
    }
}

/// Judges names, as they are written from the root, by the names alone.
pub trait Guard: fmt::Debug + Send + Sync {
    /// Why a file or folder of this name may not be used. What lies in a folder that may not be used may not be used either.
    fn refuses(&self, name: &str, is_folder: bool) -> Option<Verdict>;

    /// The same guard for other acts.
    fn for_acts(&self, acts: Acts) -> Arc<dyn Guard>;

    /// Why something beyond that may not be done with a file of this name.
    fn refuses_act(&self, act: Act, name: &str) -> Option<Verdict>;

    /// Whether something in a folder may be used although its own name may not.
    fn passes(&self, folder: &str) -> bool;

    /// Leaves of the entries of a folder, which itself is shown or passed through, those that are shown. `as_it_was` is the folder
    /// before they were listed.
    fn filter(&self, folder: &str, _as_it_was: Mark, entries: &mut Vec<(OsString, EntryKind)>) {
        let key = |entry: &OsString| match folder {
            "." => entry.to_string_lossy().into_owned(),
            folder => format!("{folder}/{}", entry.to_string_lossy()),
        };
        entries.retain(|(entry, kind)| {
            let (name, is_folder) = (key(entry), *kind == EntryKind::Folder);
            self.refuses(&name, is_folder).is_none() || (is_folder && self.passes(&name))
        });
    }

    /// A short word for what is shown, usable in a file name: the same only for guards that show the same, but for what rules in
    /// folders say. `None` if only such rules can hide anything.
    fn sight(&self) -> Option<String>;

    /// What the files with rules say that were met below the root so far; `None` if there were none.
    fn nested(&self) -> Option<ContentHash> {
        None
    }

    /// Why a file of this name and size may not be used, if its name may.
    fn refuses_size(&self, _name: &str, _bytes: u64) -> Option<Verdict> {
        None
    }
}

impl Root {
    /// The same directory, of which only what the guard lets through can be used.
    #[must_use]
    pub fn guarded(&self, guard: Arc<dyn Guard>) -> Self {
        let mut root = self.clone();
        root.guard = Some(guard);
        root
    }

    /// The same directory, with the same guard for other acts.
    #[must_use]
    pub fn for_acts(&self, acts: Acts) -> Self {
        match &self.guard {
            Some(guard) => self.guarded(guard.for_acts(acts)),
            None => self.clone(),
        }
    }

    /// The same directory with everything in it.
    #[must_use]
    pub fn unguarded(&self) -> Self {
        let mut root = self.clone();
        root.guard = None;
        root
    }

    /// Why a name may not be used. If only a file or only a folder of that name may, the kind of what is there decides; a name
    /// that leads nowhere may then not be used.
    pub(crate) fn refusal(&self, name: &str) -> Option<Refusal> {
        let guard = self.guard.as_deref()?;
        if name == "." {
            return None;
        }
        let as_folder = guard.refuses(name, true).filter(|_| !guard.passes(name));
        let verdict = match (guard.refuses(name, false), as_folder) {
            (None, None) => return None,
            (Some(verdict), Some(_)) => verdict,
            (None, Some(verdict)) => {
                let is_other = self.dir.symlink_metadata(&*on_disk(name)).is_ok_and(|found| !found.is_dir());
                Some(verdict).filter(|_| !is_other)?
            }
            (Some(verdict), None) => {
                let is_folder = self.dir.symlink_metadata(&*on_disk(name)).is_ok_and(|found| found.is_dir());
                Some(verdict).filter(|_| !is_folder)?
            }
        };
        Some(Refusal::new(name, verdict))
    }

    /// The same for every name that links lead through from here. Links that lead nowhere or out are left to whoever opens them.
    pub(crate) fn refusal_of_links(&self, name: &str) -> Option<Refusal> {
        self.guard.as_ref()?;
        let names = match self.follow(name) {
            Ok(names) => names,
            Err(error) => return self.refusal_of_broken(name, &error),
        };
        let refusal = names.iter().skip(1).filter(|other| *other != name).find_map(|name| self.refusal(name))?;
        Some(Refusal { name: name.to_owned(), ..refusal })
    }

    /// A chain of links that cannot be followed to its end is judged as far as it goes.
    fn refusal_of_broken(&self, name: &str, error: &io::Error) -> Option<Refusal> {
        match Fault::of(error) {
            // Out of the root, or round in circles: nothing that is refused here lies behind it.
            Fault::LinkOut | Fault::LinkLoop => None,
            Fault::Missing
            | Fault::NotFolder
            | Fault::TooLong
            | Fault::Denied
            | Fault::ReadOnly
            | Fault::Full
            | Fault::Other => {
                let folder = name.rsplit_once('/').map(|(folder, _)| folder)?;
                Some(Refusal { name: name.to_owned(), ..self.refusal_of_links(folder)? })
            }
        }
    }

    pub(crate) fn refusal_of_size(&self, name: &str, bytes: u64) -> Option<Refusal> {
        let verdict = self.guard.as_deref()?.refuses_size(name, bytes)?;
        Some(Refusal::new(name, verdict))
    }

    /// See [`Guard::nested`].
    #[must_use]
    pub fn nested_rules(&self) -> Option<ContentHash> {
        self.guard.as_ref()?.nested()
    }

    /// What the guard shows, as a word; `None` if that is everything, but for what rules in folders say.
    #[must_use]
    pub fn sight(&self) -> Option<String> {
        self.guard.as_ref().and_then(|guard| guard.sight())
    }

    /// Whether there is no guard.
    pub(crate) fn shows_all(&self) -> bool {
        self.guard.is_none()
    }

    /// Whether a name that was met, and is no link, is shown.
    pub(crate) fn shows(&self, name: &str, is_folder: bool) -> bool {
        self.guard
            .as_ref()
            .is_none_or(|guard| guard.refuses(name, is_folder).is_none() || (is_folder && guard.passes(name)))
    }

    /// What the rules say about a name that someone kept, whatever is there and wherever links lead.
    #[must_use]
    pub fn refuses_name(&self, name: &str) -> Option<Verdict> {
        self.guard.as_deref()?.refuses(name, false)
    }

    /// Whether a name that someone kept is still one that may be used, whatever is there.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        self.guard.is_none() || (self.refusal(name).is_none() && self.refusal_of_links(name).is_none())
    }

    /// Why something may not be done with a file, by its own name and every name its links lead through.
    #[must_use]
    pub fn refuses_act(&self, act: Act, file: &FileRef) -> Option<Refusal> {
        let guard = self.guard.as_deref()?;
        let mut names = self.follow(file.name()).unwrap_or_else(|_| vec![file.name().to_owned()]);
        names.dedup();
        let judged = |judged: String| {
            let verdict = guard.refuses_act(act, &judged)?;
            Some(Refusal { name: file.name().to_owned(), judged, verdict })
        };
        let denies = |refusal: &Refusal| refusal.verdict.effect() == Effect::Deny;
        let mut refusals: Vec<Refusal> = names.into_iter().filter_map(judged).collect();
        let at = refusals.iter().position(denies).unwrap_or(0);
        (!refusals.is_empty()).then(|| refusals.swap_remove(at))
    }

    /// Why a file may not be used, by its own name and every name its links lead through.
    #[must_use]
    pub fn refuses(&self, file: &FileRef) -> Option<Refusal> {
        self.refusal(file.name()).or_else(|| self.refusal_of_links(file.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HardLinks, LocateError, SnapshotError, SnapshotRules};
    use readproof_core::policy::{Layer, Rule};
    use std::{fs, os::unix::fs::symlink};

    /// Refuses names that begin with a word, and everything in such folders.
    #[derive(Debug)]
    struct Word(&'static str);

    impl Guard for Word {
        fn refuses(&self, name: &str, is_folder: bool) -> Option<Verdict> {
            let parts: Vec<&str> = name.split('/').collect();
            let folders = if is_folder { parts.len() } else { parts.len() - 1 };
            let bare = self.0.trim_end_matches('/');
            let of_folders = self.0.ends_with('/');
            let found = parts.iter().enumerate().any(|(at, part)| *part == bare && (at < folders || !of_folders));
            found.then(|| Verdict::Deny(rule()))
        }

        fn for_acts(&self, _acts: Acts) -> Arc<dyn Guard> {
            Arc::new(Self(self.0))
        }

        fn refuses_act(&self, _act: Act, name: &str) -> Option<Verdict> {
            self.refuses(name, false)
        }

        fn passes(&self, _folder: &str) -> bool {
            false
        }

        fn sight(&self) -> Option<String> {
            Some(self.0.replace('/', "_"))
        }
    }

    fn rule() -> Rule {
        Rule { layer: Layer::Workspace, file: "f".into(), line: 1, text: "t".into(), reason: None }
    }

    const RULES: SnapshotRules = SnapshotRules { max_bytes: 1000, hard_links: HardLinks::Allow };

    fn world() -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        for folder in ["a", "secret", "dir"] {
            fs::create_dir(temp.path().join(folder)).unwrap();
        }
        for file in ["a/plain", "a/secret", "secret/x", "dir/y"] {
            fs::write(temp.path().join(file), file).unwrap();
        }
        symlink("secret", temp.path().join("link")).unwrap();
        symlink("a/secret", temp.path().join("to")).unwrap();
        symlink("../secret/none", temp.path().join("a/dangling")).unwrap();
        let root = Root::open(temp.path()).unwrap();
        (temp, root)
    }

    #[test]
    fn what_is_refused_is_as_if_it_were_not_there() {
        let (temp, root) = world();
        let seen = root.guarded(Arc::new(Word("secret")));
        let locate = |root: &Root, name: &str| {
            let names = [root.absolute(name)];
            let outcome = |found: Result<FileRef, LocateError>| match found {
                Ok(_) => "found",
                Err(LocateError::Refused(_)) => "refused",
                Err(LocateError::Missing { .. }) => "missing",
                Err(other) => panic!("{other}"),
            };
            let found = [
                outcome(root.locate(&names)),
                outcome(root.locate_open(&names).map(|(file, _)| file)),
                outcome(root.locate_new(&names)),
            ];
            assert!(found[0] == found[1] && (found[0] == found[2] || found[2] == "found"), "{name}: {found:?}");
            found[0]
        };
        let names =
            ["a/plain", "a/secret", "secret", "secret/x", "link", "link/x", "to", "a/dangling", "none", "a/none"];
        let expected = [
            "found", "refused", "refused", "refused", "refused", "refused", "refused", "refused", "missing", "missing",
        ];
        for (name, expected) in names.iter().zip(expected) {
            assert_eq!(locate(&seen, name), expected, "{name}");
        }
        assert_eq!(seen.list_names("."), ["a", "dir", "link", "to"]);
        assert_eq!(seen.list_names("a"), ["dangling", "plain"]);
        assert!(seen.list_names("secret").is_empty() && seen.list_names("link").is_empty());
        assert!(seen.folder("secret").is_err() && !seen.names_anything("secret") && !seen.names_folder("secret"));
        let top = seen.top().unwrap();
        assert!(top.entry("secret").is_none() && top.entry("a").is_some());
        // The same whether anything is there or not.
        fs::remove_file(temp.path().join("a/secret")).unwrap();
        fs::remove_dir_all(temp.path().join("secret")).unwrap();
        for (name, expected) in names.iter().zip(expected) {
            assert_eq!(locate(&seen, name), expected, "{name}");
        }
        assert_eq!(seen.list_names("a"), ["dangling", "plain"]);
    }

    #[test]
    fn every_link_on_the_way_is_judged_by_its_own_name() {
        let (temp, root) = world();
        // A denied name that is itself a link, reached by a link that says `..`.
        fs::remove_file(temp.path().join("a/secret")).unwrap();
        symlink("../dir", temp.path().join("a/secret")).unwrap();
        symlink("../a/secret", temp.path().join("dir/over")).unwrap();
        // A guard that goes by whole names.
        #[derive(Debug)]
        struct Whole;
        impl Guard for Whole {
            fn refuses(&self, name: &str, _is_folder: bool) -> Option<Verdict> {
                (name == "a/secret").then(|| Verdict::Deny(rule()))
            }

            fn for_acts(&self, _acts: Acts) -> Arc<dyn Guard> {
                Arc::new(Self)
            }

            fn refuses_act(&self, _act: Act, name: &str) -> Option<Verdict> {
                self.refuses(name, false)
            }

            fn passes(&self, _folder: &str) -> bool {
                false
            }

            fn sight(&self) -> Option<String> {
                None
            }
        }
        let seen = root.guarded(Arc::new(Whole));
        let locate = |name: &str| match seen.locate(&[seen.absolute(name)]) {
            Ok(_) => "found",
            Err(LocateError::Refused(_)) => "refused",
            Err(_) => "missing",
        };
        assert_eq!([locate("dir/over"), locate("dir/over/y"), locate("dir/y")], ["refused", "refused", "found"]);
        // A file where a folder would have to be is as nothing: what is below its name is judged by that name.
        fs::remove_file(temp.path().join("a/secret")).unwrap();
        let without = locate("dir/over/y");
        fs::write(temp.path().join("a/secret"), "x").unwrap();
        assert_eq!(locate("dir/over/y"), without);
    }

    #[test]
    fn a_file_located_before_is_not_read_through_a_new_link() {
        let (temp, root) = world();
        let seen = root.guarded(Arc::new(Word("secret")));
        let file = seen.locate(&[seen.absolute("a/plain")]).unwrap();
        fs::remove_file(temp.path().join("a/plain")).unwrap();
        symlink("secret", temp.path().join("a/plain")).unwrap();
        assert!(matches!(seen.snapshot(&file, &RULES), Err(SnapshotError::Refused(_))));
        assert!(matches!(seen.stream(&file, None, HardLinks::Allow), Err(SnapshotError::Refused(_))));
        assert_eq!(root.snapshot(&file, &RULES).unwrap().text.as_str(), "a/secret");
    }

    #[test]
    fn a_pattern_for_folders_leaves_files_alone() {
        let (_temp, root) = world();
        let seen = root.guarded(Arc::new(Word("secret/")));
        assert!(seen.locate(&[seen.absolute("a/secret")]).is_ok());
        assert_eq!(seen.list_names("a"), ["dangling", "plain", "secret"]);
        for refused in ["secret", "secret/x", "link", "a/dangling"] {
            assert!(matches!(seen.locate(&[seen.absolute(refused)]), Err(LocateError::Refused(_))), "{refused}");
        }
    }
}
