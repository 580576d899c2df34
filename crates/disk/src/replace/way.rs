//! What stands under a name, and what would keep a file of that name from being made, replaced or removed, as far as that shows
//! without trying. Follows no link and changes nothing; whoever then writes finds out for certain.

use rustix::fs::{Access, AtFlags};

use super::{folders_of, split, stat_of};
use crate::{
    fault::is_missing,
    root::Root,
    snapshot::spelling::on_disk,
    snapshot::{FileKind, HardLinks},
};

/// What a name is, every part of it taken as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    Nothing,
    File,
    Folder,
    Link,
    /// A part before the last is a link.
    BehindLink,
    /// A part before the last is neither a folder nor a link.
    BelowFile,
    /// A pipe, a socket or a device, or it cannot be told.
    Other,
}

/// Why a file cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A symbolic link has its name, or that of a folder above it.
    Link,
    /// A folder has its name.
    Folder,
    /// What should be a folder above it is none.
    NoFolder,
    /// It is a pipe, a socket or a device.
    NotAFile,
    /// It has other names, and the settings say to leave such files.
    HardLinked,
    /// Permissions or the disk do not let it be changed.
    ReadOnly,
}

impl Obstacle {
    /// The word used on every wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Folder => "folder",
            Self::NoFolder => "no_folder",
            Self::NotAFile => "not_a_file",
            Self::HardLinked => "hard_linked",
            Self::ReadOnly => "read_only",
        }
    }
}

impl Root {
    /// What stands under a name. Costs one `stat` per part.
    #[must_use]
    pub fn stands(&self, name: &str) -> Stands {
        let (parent, _) = split(name);
        for folder in folders_of(parent) {
            match self.dir.symlink_metadata(&*on_disk(folder)) {
                Ok(found) if found.is_dir() => {}
                Ok(found) if found.is_symlink() => return Stands::BehindLink,
                Ok(_) => return Stands::BelowFile,
                Err(error) if is_missing(&error) => return Stands::Nothing,
                Err(_) => return Stands::Other,
            }
        }
        match self.dir.symlink_metadata(&*on_disk(name)) {
            Ok(found) if found.is_file() => Stands::File,
            Ok(found) if found.is_dir() => Stands::Folder,
            Ok(found) if found.is_symlink() => Stands::Link,
            Ok(_) => Stands::Other,
            Err(error) if is_missing(&error) => Stands::Nothing,
            Err(_) => Stands::Other,
        }
    }

    /// Why a file of this name cannot be made, replaced or removed.
    #[must_use]
    pub fn obstacle(&self, name: &str, hard_links: HardLinks) -> Option<Obstacle> {
        match self.stands(name) {
            Stands::Nothing | Stands::File => {}
            Stands::Link | Stands::BehindLink => return Some(Obstacle::Link),
            Stands::Folder => return Some(Obstacle::Folder),
            Stands::BelowFile => return Some(Obstacle::NoFolder),
            Stands::Other => return Some(Obstacle::NotAFile),
        }
        // The folder that is there, of which the others would be made.
        let (mut folder, base) = split(name);
        let mut opened = self.open_folder(folder);
        let mut is_made = false;
        while opened.as_ref().is_err_and(is_missing) && folder != "." {
            (folder, is_made) = (split(folder).0, true);
            opened = self.open_folder(folder);
        }
        let Ok(opened) = opened else { return Some(Obstacle::ReadOnly) };
        let may = |name: &str, access| rustix::fs::accessat(&opened, &*on_disk(name), access, AtFlags::EACCESS).is_ok();
        if !may(".", Access::WRITE_OK | Access::EXEC_OK) {
            return Some(Obstacle::ReadOnly);
        }
        let found = if is_made { None } else { stat_of(&opened, base).ok().flatten() }?;
        if FileKind::of(found.st_mode).is_some() {
            return Some(Obstacle::NotAFile);
        }
        if found.st_nlink > 1 && hard_links == HardLinks::Refuse {
            return Some(Obstacle::HardLinked);
        }
        (!may(base, Access::WRITE_OK)).then_some(Obstacle::ReadOnly)
    }
}
