//! The wall that the setting `wall` asks for: what a command can still open beside the workspace. It is raised once, as soon as
//! the settings are known and before any thread is started, since it holds only for the thread that raises it and for its
//! children.

use readproof_core::path::meant;
use readproof_disk::{NoWall, Wall};
use readproof_engine::Walling;
use readproof_words::disk::no_wall;
use std::path::{Path, PathBuf};

use super::{Config, home, host_environment, pi_session_places};
use crate::output::{self, Failure};

/// Where programs, their libraries and their interpreters are: only the review command needs them.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache"];

/// What one command needs beyond what all of them need.
#[derive(Clone, Copy)]
pub(crate) enum Beyond<'a> {
    Nothing,
    /// Transcripts that the person names.
    Transcripts(&'a [PathBuf]),
    /// The review command.
    Review,
}

impl Config {
    /// Raises the wall if the settings ask for one. If the system cannot, standard error says so and the command goes on.
    pub(crate) fn walled(mut self, beyond: Beyond<'_>) -> Result<Self, Failure> {
        self.raise_wall(beyond)?;
        Ok(self)
    }

    /// The same.
    pub(crate) fn raise_wall(&mut self, beyond: Beyond<'_>) -> Result<(), Failure> {
        let raised = match self.settings.wall {
            Walling::None => return Ok(()),
            Walling::Landlock => self.wall_around(beyond).raise(&self.root),
        };
        match &raised {
            Ok(()) => {}
            Err(why @ NoWall::Unsupported) => output::notice(&no_wall(why)),
            // It should have worked, so nobody expects this command to run without it.
            Err(why @ NoWall::Failed { .. }) => return Err(Failure::refused("NO_WALL", no_wall(why))),
        }
        self.wall = Some(raised);
        Ok(())
    }

    /// What is readable: this user's id, the user's own settings, git's files of this work tree and of the user, and the
    /// transcripts of hosts.
    fn wall_around(&self, beyond: Beyond<'_>) -> Wall {
        let settings = &self.settings;
        let mut readable = settings.whose.settled(&self.root).to_vec();
        // The folder, so that the file may be replaced; and the file, which may be a link to elsewhere.
        let user_file = settings.policy.user_file.as_deref();
        readable.extend([user_file.and_then(Path::parent), user_file].into_iter().flatten().map(Path::to_path_buf));
        readable.extend(self.root.git_outside(&settings.git_files, home().as_deref()));
        readable.push(settings.codex_home.join("sessions"));
        let mut runnable = Vec::new();
        let named = match beyond {
            Beyond::Nothing => &[],
            Beyond::Transcripts(files) => files,
            Beyond::Review => {
                runnable.extend(SYSTEM.map(PathBuf::from));
                runnable.extend(settings.review_command.first().and_then(|program| program_file(program)));
                &[]
            }
        };
        // Checkpoints of the audit log go to a place outside.
        if let Some(witness) = settings.audit_witness.first() {
            runnable.extend(SYSTEM.map(PathBuf::from));
            runnable.extend(program_file(witness));
        }
        let (files, folder) = pi_session_places(self, named);
        readable.extend(files.into_iter().chain(folder));
        let copy = Path::new(&settings.audit_copy).parent().filter(|_| !settings.audit_copy.is_empty());
        let outside = settings.write_roots.iter().map(|name| meant(name, &self.bearings).into());
        let changeable = outside.chain(copy.map(Path::to_path_buf)).collect();
        Wall { readable, runnable, changeable }
    }
}

/// The file that is run by this word.
fn program_file(word: &str) -> Option<PathBuf> {
    if word.contains('/') { Some(PathBuf::from(word)) } else { host_environment().on_path(word) }
}
