//! Names as they are printed. Every name in an outcome can be passed back by whoever got it: a name from the root of the
//! workspace, unless the current folder has another file of that name, which would be taken first.

use std::path::Path;

use crate::door::{Outcome, Reading};
use crate::{Engine, Error, HeldNow, Told};

impl Engine {
    /// Puts names into an outcome that lead back to the same files from the current folder.
    pub(crate) fn with_names_that_lead_back<G>(&self, outcome: &mut Result<Outcome<G>, Error>) {
        let here = Path::new(&self.shared.bearings.cwd);
        if !self.names_from_root || here == self.root.path() {
            return;
        }
        let Ok(here) = here.strip_prefix(self.root.path()) else { return };
        let Some(here) = here.to_str() else { return };
        let rename = |name: &mut String| {
            if self.root.names_anything(&format!("{here}/{name}")) {
                *name = from(here, name);
            }
        };
        match outcome {
            Ok(outcome) => outcome.rename(&rename),
            Err(Error::Missing { near, .. }) => near.iter_mut().for_each(rename),
            Err(Error::Ambiguous { candidates, .. }) => {
                candidates.iter_mut().for_each(|candidate| rename(&mut candidate.path));
            }
            Err(_) => {}
        }
    }
}

/// A name relative to a folder of the workspace.
fn from(here: &str, name: &str) -> String {
    if name == "." {
        return vec![".."; here.split('/').count()].join("/");
    }
    let (mut here, mut left) = (here, name);
    while let (Some((a, rest_a)), Some((b, rest_b))) = (first(here), first(left))
        && a == b
        && !rest_b.is_empty()
    {
        (here, left) = (rest_a, rest_b);
    }
    let up = here.split('/').filter(|part| !part.is_empty()).count();
    // A name without any folder could be taken for something else.
    if up == 0 { format!("./{left}") } else { format!("{}{left}", "../".repeat(up)) }
}

fn first(path: &str) -> Option<(&str, &str)> {
    (!path.is_empty()).then(|| path.split_once('/').unwrap_or((path, "")))
}

impl<G> Outcome<G> {
    fn rename(&mut self, rename: &dyn Fn(&mut String)) {
        match self {
            Self::Read(Reading::Answer(answer)) => rename(&mut answer.path),
            Self::Defined(defined) => {
                rename(&mut defined.resolved.path);
                if let Reading::Answer(answer) = &mut defined.reading {
                    rename(&mut answer.path);
                }
            }
            Self::EndOfFile(end) => rename(&mut end.path),
            Self::Stat(stat) => rename(&mut stat.path),
            Self::InFile(found) => rename(&mut found.path),
            Self::Searched(found) => {
                found.hits.iter_mut().for_each(|hit| rename(&mut hit.path));
                found.top.iter_mut().for_each(rename);
            }
            Self::Symbols(found) => found.found.iter_mut().for_each(|(_, defined)| rename(&mut defined.path)),
            Self::Outlined(found) => {
                rename(&mut found.path);
                found.files.iter_mut().for_each(|file| rename(&mut file.path));
            }
            Self::Listed(listed) => {
                rename(&mut listed.path);
                listed.entries.iter_mut().for_each(|entry| rename(&mut entry.name));
            }
            Self::Compared(compared) => rename(&mut compared.path),
            Self::Written(written) => {
                for file in &mut written.files {
                    rename(&mut file.path);
                    file.from.iter_mut().for_each(rename);
                }
            }
            Self::ComparedVersions(compared) => rename(&mut compared.path),
            Self::Files(found) => found.files.iter_mut().for_each(|file| rename(&mut file.path)),
            Self::History(found) => {
                found.path.iter_mut().for_each(rename);
                found.entries.iter_mut().for_each(|entry| entry.rename(rename));
            }
            Self::Version(shown) => rename(&mut shown.path),
            Self::Blamed(blamed) => rename(&mut blamed.path),
            Self::Changes(found) => {
                found.entries.iter_mut().for_each(|entry| entry.rename(rename));
                found.unshown.iter_mut().for_each(rename);
            }
            Self::Context(found) => found.rename(rename),
            Self::Told(told) => told.iter_mut().for_each(|told| told.rename(rename)),
            Self::Rewound(done) => {
                done.files.iter_mut().for_each(|file| rename(&mut file.path));
                for file in done.written.iter_mut().flat_map(|written| &mut written.files) {
                    rename(&mut file.path);
                }
            }
            Self::Conflicts(found) => found.iter_mut().for_each(|open| rename(&mut open.conflict.path)),
            Self::Conflict(found) => rename(&mut found.conflict.conflict.path),
            Self::Forgotten(done) => {
                done.texts.iter_mut().flat_map(|text| &mut text.versions).for_each(|lost| rename(&mut lost.path));
                done.others.iter_mut().chain(&mut done.present).for_each(rename);
            }
            Self::Held(held) => held.rename(rename),
            Self::Refreshed(done) => done.paths.iter_mut().for_each(rename),
            // Approvals are by the names of the workspace, wherever a person looks at them.
            Self::Read(Reading::NotOurs(_))
            | Self::Marked(_)
            | Self::Approvals(_)
            | Self::Approval(_)
            | Self::Status(_)
            | Self::Sessions(_)
            | Self::Session(_)
            | Self::Moved(_)
            | Self::Forked(_)
            | Self::Recorded(_)
            | Self::Replayed(_)
            | Self::Collected(_)
            | Self::PolicyChecked(_)
            | Self::Policy(_)
            | Self::Checked(_) => {}
        }
    }
}

impl<G> Told<G> {
    fn rename(&mut self, rename: &dyn Fn(&mut String)) {
        rename(&mut self.path);
        self.answer.iter_mut().for_each(|answer| rename(&mut answer.path));
    }
}

impl HeldNow {
    /// What is outside the workspace has its whole name.
    fn rename(&mut self, rename: &dyn Fn(&mut String)) {
        self.files.iter_mut().filter(|file| !file.path.starts_with('/')).for_each(|file| rename(&mut file.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_relative_to_a_folder() {
        assert_eq!(from("src", "src/a.rs"), "./a.rs");
        assert_eq!(from("src", "lib/a.rs"), "../lib/a.rs");
        assert_eq!(from("a/b", "a/c/d"), "../c/d");
        assert_eq!(from("a/b", "x"), "../../x");
        assert_eq!(from("a", "a"), "../a");
        assert_eq!((from("a", ".").as_str(), from("a/b", ".").as_str()), ("..", "../.."));
    }
}
