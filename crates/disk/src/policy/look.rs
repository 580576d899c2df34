//! The policy of a workspace, looked at on every call. The compiled rules are kept with the stamps of the files they came from;
//! a stamp that is too young to tell is no proof, and such a file is read again.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use readproof_core::{
    policy::{Dialect, Layer, Preset},
    text::ContentHash,
};

use super::{
    claude,
    compile::Texts,
    error::PolicyError,
    files::{Mark, read, read_path},
    rules::{Rules, WORKSPACE_FILE},
    table::PolicyTable,
};
use crate::root::Root;

/// What the person decides, outside every workspace.
#[derive(Clone, Debug, Default)]
pub struct PolicySources {
    /// The user's own file. One that lies inside the workspace is not read: an agent could write it.
    pub user_file: Option<PathBuf>,
    /// Where `~/` leads in Claude Code's settings.
    pub home: Option<PathBuf>,
    /// The preset, from a flag or the environment: before the user's file.
    pub preset: Option<Preset>,
    /// Kinds of ignore files that do not count, in addition to those in the user's file.
    pub off: Vec<Dialect>,
    /// Rules from flags or the environment: each has a name for messages, and TOML with a `[policy]` table.
    pub given: Vec<(String, String)>,
}

/// The policy of one workspace. Threads may share it.
#[derive(Debug)]
pub struct Policy {
    sources: PolicySources,
    state: RwLock<Option<Arc<State>>>,
}

/// The rules, and what they were read from.
#[derive(Debug)]
struct State {
    root: Arc<str>,
    rules: Arc<Rules>,
    /// The root as a folder: while it is the same, no file came to stand in it.
    top: Mark,
    /// The files in the workspace.
    files: Named<Mark>,
    /// Whether there is a `.claude`.
    claude: bool,
    user: Option<Mark>,
}

impl Policy {
    /// Reads nothing yet.
    #[must_use]
    pub fn new(sources: PolicySources) -> Self {
        Self { sources, state: RwLock::default() }
    }

    /// The rules in force now. If nothing changed, this costs a stat of the root, of the user's file and of each policy file
    /// at the root that exists.
    ///
    /// # Errors
    /// [`PolicyError`] when a policy file cannot be read or does not parse. Then nothing may be done.
    pub fn look(&self, root: &Root) -> Result<Arc<Rules>, PolicyError> {
        let known = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        let known = known.filter(|known| *known.root == *root.text);
        if let Some(known) = &known {
            match known.check(root, self.user_file(root))? {
                Check::Same => return Ok(Arc::clone(&known.rules)),
                Check::OtherFolder(top) => {
                    let (rules, files) = (Arc::clone(&known.rules), known.files.clone());
                    self.keep(State { root: Arc::clone(&root.text), rules, top, files, ..**known });
                    return Ok(Arc::clone(&known.rules));
                }
                Check::Changed => {}
            }
        }
        let state = self.read(root, known.as_deref())?;
        let rules = Arc::clone(&state.rules);
        self.keep(state);
        Ok(rules)
    }

    fn keep(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(state));
    }

    fn user_file(&self, root: &Root) -> Option<&Path> {
        self.sources.user_file.as_deref().filter(|path| !root.holds(path))
    }

    fn read(&self, root: &Root, known: Option<&State>) -> Result<State, PolicyError> {
        let top = Mark::of_top(root)?;
        let mut warnings = Vec::new();
        let (mut own, mut off, mut preset) = (Vec::new(), self.sources.off.clone(), self.sources.preset);
        for (name, text) in &self.sources.given {
            let table = PolicyTable::parse(name, text, Layer::Given, &mut warnings)?;
            if let Some(table) = table {
                preset = preset.or(table.preset.map(|(preset, _)| preset));
                off.extend(table.off.iter().map(|(dialect, _)| *dialect));
                own.push(table.source);
            }
        }
        let path = self.user_file(root);
        let (user_text, user) = match path.map(read_path).transpose()? {
            Some((text, mark)) => (text, Some(mark)),
            None => (None, None),
        };
        if let (Some(path), Some(text)) = (path, &user_text) {
            let name = path.display().to_string();
            if let Some(table) = PolicyTable::parse(&name, text, Layer::User, &mut warnings)? {
                preset = preset.or(table.preset.map(|(preset, _)| preset));
                off.extend(table.off.iter().map(|(dialect, _)| *dialect));
                own.push(table.source);
            }
        }
        let preset = preset.unwrap_or_default();
        let honoured: Vec<Dialect> = Dialect::ALL.into_iter().filter(|dialect| !off.contains(dialect)).collect();
        let claude = Mark::of_name(root, claude::FOLDER)?.stamp.is_some();
        let (files, texts) = read_all(root, &honoured)?;
        let roots = vec![&*root.text].into_iter().chain(root.given.as_deref()).collect();
        let id = self.id(preset, &honoured, user_text.as_deref(), &texts, &roots);
        let kept = known.filter(|known| known.rules.id() == id).map(|known| Arc::clone(&known.rules));
        let rules = match kept {
            Some(rules) => rules,
            None => {
                let of = |name: &str| texts.iter().find(|(of, _)| *of == name).map(|(_, text)| text.as_str());
                let ignore = |dialect: &Dialect| Some((*dialect, of(dialect.file_name()?)?));
                Arc::new(Rules::compile(Texts {
                    id,
                    preset,
                    own,
                    workspace: of(WORKSPACE_FILE),
                    ignore: honoured.iter().filter_map(ignore).collect(),
                    claude: claude::FILES.iter().filter_map(|name| Some((*name, of(name)?))).collect(),
                    honoured,
                    home: self.sources.home.as_deref(),
                    roots,
                    warnings,
                })?)
            }
        };
        Ok(State { root: Arc::clone(&root.text), rules, top, files, claude, user })
    }

    /// Of all that the rules follow from.
    fn id(
        &self,
        preset: Preset,
        honoured: &[Dialect],
        user: Option<&str>,
        texts: &[(&str, String)],
        roots: &Vec<&str>,
    ) -> ContentHash {
        let mut words: Vec<&str> = vec![preset.as_str(), user.unwrap_or("\u{1}")];
        words.extend(honoured.iter().map(|dialect| dialect.as_str()));
        words.extend(self.sources.given.iter().flat_map(|(name, text)| [name.as_str(), text]));
        words.extend(texts.iter().flat_map(|(name, text)| [*name, text.as_str()]));
        words.extend(roots);
        // With their lengths, so that no two sets of words are the same bytes.
        let lengths: Vec<[u8; 8]> = words.iter().map(|word| (word.len() as u64).to_le_bytes()).collect();
        let parts: Vec<&[u8]> =
            words.iter().zip(&lengths).flat_map(|(word, len)| [&len[..], word.as_bytes()]).collect();
        ContentHash::of_parts(&parts)
    }
}

type Named<T> = Vec<(&'static str, T)>;

/// Every policy file that may stand at the root: what it was, and the texts of those that are there.
fn read_all(root: &Root, honoured: &[Dialect]) -> Result<(Named<Mark>, Named<String>), PolicyError> {
    let ignore = honoured.iter().filter_map(|dialect| dialect.file_name());
    let settings = claude::FILES.iter().copied().filter(|_| honoured.contains(&Dialect::ClaudeSettings));
    let (mut files, mut texts) = (Vec::new(), Vec::new());
    for name in [WORKSPACE_FILE].into_iter().chain(ignore).chain(settings) {
        let (text, mark) = read(root, name)?;
        files.push((name, mark));
        texts.extend(text.map(|text| (name, text)));
    }
    Ok((files, texts))
}

enum Check {
    Same,
    /// No policy file changed, but the root did.
    OtherFolder(Mark),
    Changed,
}

impl State {
    fn check(&self, root: &Root, user_file: Option<&Path>) -> Result<Check, PolicyError> {
        let top = Mark::of_top(root)?;
        let none_came = self.top.is_still(&top);
        for (name, then) in &self.files {
            let guarded = !(self.claude && name.contains('/'));
            if none_came && guarded && then.stamp.is_none() {
                continue;
            }
            if !then.is_still(&Mark::of_name(root, name)?) {
                return Ok(Check::Changed);
            }
        }
        match (user_file, &self.user) {
            (Some(path), Some(then)) if then.is_still(&Mark::of_path(path)?) => {}
            (None, None) => {}
            (Some(_) | None, Some(_) | None) => return Ok(Check::Changed),
        }
        let same = none_came || !top.tells();
        // `.claude` itself may have come.
        if !none_came && !self.claude && Mark::of_name(root, claude::FOLDER)?.stamp.is_some() {
            return Ok(Check::Changed);
        }
        Ok(if same { Check::Same } else { Check::OtherFolder(top) })
    }
}
