//! Real files to edit: this repository's own, and the sources of its locked dependencies where cargo keeps them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{op::Random, world::Broken};

/// The files, each as its lines without their ends.
pub(super) struct Sources {
    files: Vec<Vec<String>>,
}

/// The most files that are read, and the sizes that are taken.
const FILES: usize = 1500;
const LINES: std::ops::RangeInclusive<usize> = 8..=1500;
const BYTES: usize = 100_000;

const ENDINGS: [&str; 12] = ["rs", "md", "toml", "ts", "js", "json", "py", "c", "h", "sh", "yml", "txt"];

impl Sources {
    pub(super) fn find(seed: u64) -> Result<Self, Broken> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut names = Vec::new();
        for folder in ["crates", "docs", "integrations", "xtask", "scenarios"] {
            collect(&root.join(folder), &mut names);
        }
        let cargo = env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
        if let Some(cargo) = cargo {
            collect(&cargo.join("registry/src"), &mut names);
        }
        names.sort();
        let mut random = Random::new(seed);
        let mut files = Vec::new();
        while files.len() < FILES && !names.is_empty() {
            let name = names.swap_remove(random.below(names.len()));
            files.extend(lines(&name));
        }
        if files.len() < 20 { Err("too few files to edit were found".into()) } else { Ok(Self { files }) }
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn pick(&self, random: &mut Random) -> &[String] {
        random.pick(&self.files).map_or(&[], Vec::as_slice)
    }
}

/// The names of text files below a folder; what cannot be listed is left out.
fn collect(folder: &Path, names: &mut Vec<PathBuf>) {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if kind.as_ref().is_ok_and(fs::FileType::is_dir) && !hidden && entry.file_name() != "node_modules" {
                folders.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file())
                && path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known))
            {
                names.push(path);
            }
        }
    }
}

fn lines(name: &Path) -> Option<Vec<String>> {
    let text =
        fs::read_to_string(name).ok().filter(|text| text.len() <= BYTES && !text.contains(['\0', '\u{feff}']))?;
    let lines: Vec<String> = text.lines().map(|line| line.replace('\r', "")).collect();
    LINES.contains(&lines.len()).then_some(lines)
}
