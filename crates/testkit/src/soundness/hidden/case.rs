//! One case: a tree, its rules, who calls, which denied files vary, and what is asked.

use readproof_core::{
    operation::{Against, AnswerLimit, Compare, Operation, Read},
    policy::{Act, Acts},
};
use readproof_engine::operation::Caller;
use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use super::{
    Place,
    calls::{Spelling, Step, encoded},
    rules::{Judge, any_caller, any_rules},
    tree::{Files, Git, Tree, any_text, folders_of},
    wires::Wire,
};
use crate::{op::Random, world::Broken};

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) tree: Tree,
    pub(super) rules: Files,
    pub(super) caller: Caller,
    /// The files that vary.
    pub(super) denied: Vec<String>,
    /// Their other content.
    other: Files,
    /// If one of them is a link then, where it leads.
    leads: Option<String>,
    /// Whether git keeps them where they are not there.
    keeps: bool,
    /// The folders that are not there without them.
    gone: BTreeSet<String>,
    /// Whether the conversation read and changed them before there were rules.
    pub(super) known: bool,
    /// The current folder.
    pub(super) here: &'static str,
    /// Whether it is a conversation of pi.
    pub(super) in_pi: bool,
    /// The wire; through the door if absent.
    pub(super) wire: Option<Wire>,
    pub(super) steps: Vec<Step>,
}

/// How the denied files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum World {
    There,
    Absent,
    Changed,
}

impl World {
    pub(super) const ALL: [Self; 3] = [Self::There, Self::Absent, Self::Changed];
}

impl Case {
    /// `None` if the rules deny nothing.
    pub(super) fn any(random: &mut Random, place: &Place) -> Result<Option<Self>, Broken> {
        let wire = place.binary.as_ref().and_then(|_| random.pick(&Wire::ALL)).copied();
        let mut tree = Tree::any(random);
        if random.below(3) == 0 {
            tree.git = Some(Git::any(&tree.files, random));
        }
        let (rules, any) = (any_rules(&tree, random), any_caller(random));
        let caller = wire.map_or(any, |wire| Caller::of(wire.surface()));
        // Names are judged where nothing but the rules is.
        let _ = fs::remove_dir_all(&place.scratch);
        fs::create_dir_all(&place.scratch)?;
        tree.put_files(&place.scratch, &rules)?;
        let judge = Judge::new(&place.scratch, &caller)?;
        // Over a wire, one call may be several operations.
        let acts: &[Acts] = if wire.is_some() { &Act::ALL.map(|act| Acts::of(&[act])) } else { &[Acts::SUGGESTING] };
        let Some(denied) = chosen(&mut tree, (&judge, acts), random)? else { return Ok(None) };
        let other = denied.iter().map(|name| (name.clone(), other_text(name, random))).collect();
        let often = tree.files.keys().filter(|name| !denied.contains(name)).nth(random.below(8)).cloned();
        let renamed = random.below(2) == 0 && renames(&mut tree, often.as_deref(), &denied[0]);
        let keeps = !renamed && random.below(3) == 0;
        let known = wire.is_none() && random.below(4) == 0;
        let leads = (!known && random.below(6) == 0).then(|| "src".to_owned());
        let mut gone = BTreeSet::new();
        for folder in denied.iter().flat_map(|name| folders_of(name)) {
            let inside = format!("{folder}/");
            let mut others = tree.files.keys().chain(tree.links.keys()).chain(rules.keys());
            let alone = !others.any(|name| name.starts_with(&inside) && !denied.contains(name));
            if alone && judge.denies_folder(&folder)? {
                gone.insert(folder);
            }
        }
        let root = place.root.to_str().unwrap_or_default();
        let often = often.unwrap_or_default();
        let spelling = Spelling { tree: &tree, denied: &denied, often: &often, root };
        let mut steps: Vec<Step> = (0..5 + random.below(26)).map(|_| spelling.step(random)).collect();
        if renamed {
            let (path, most) = (often.clone(), AnswerLimit::NONE);
            let operation = Operation::Compare(Compare { path, against: Against::Head, content: None, most });
            steps.insert(0, Step::Call { operation, arrives: true });
        }
        let in_pi = caller.surface == "pi" && wire.is_none() && !known && random.below(2) == 0;
        if in_pi || wire == Some(Wire::Pi) {
            let read = Read { path: encoded(root, &denied[0]), ..Read::default() };
            steps.push(Step::Call { operation: Operation::Read(read), arrives: true });
        }
        // A call that the rules allow for one of them may show it.
        if random.below(3) == 0 {
            steps.splice(0..0, Step::one_after_another());
        }
        let mut fits = Vec::new();
        for step in &steps {
            fits.push(hides(step, &denied, &judge)?);
        }
        let mut fits = fits.into_iter();
        steps.retain(|_| fits.next().unwrap_or(false));
        let here = if wire.is_none() && random.below(5) == 0 { "src" } else { "" };
        Ok(Some(Self { tree, rules, caller, denied, other, leads, keeps, gone, known, here, in_pi, wire, steps }))
    }

    /// The tree of a world, without the rules.
    pub(super) fn tree_in(&self, world: World) -> Tree {
        let mut tree = self.tree.clone();
        match world {
            World::There => {}
            World::Absent => {
                tree.files.retain(|name, _| !self.denied.contains(name));
                tree.folders.retain(|name| !self.gone.contains(name));
                if !self.keeps {
                    tree.git.iter_mut().flat_map(Git::all).for_each(|kept| {
                        kept.retain(|name, _| !self.denied.contains(name));
                    });
                }
            }
            World::Changed => {
                let all = tree.git.iter_mut().flat_map(Git::all).chain([&mut tree.files]);
                for files in all {
                    for (name, text) in &self.other {
                        files.entry(name.clone()).and_modify(|kept| text.clone_into(kept));
                    }
                }
                if let (Some(target), Some(name)) = (&self.leads, self.denied.first())
                    && tree.files.remove(name).is_some()
                {
                    let up = "../".repeat(name.matches('/').count());
                    tree.links.insert(name.clone(), format!("{up}{target}"));
                }
            }
        }
        tree
    }

    /// Whether a path is a file that varies, as it is spelt or once a host has decoded it.
    pub(super) fn is_denied(&self, root: &Path, path: &str) -> bool {
        let root = root.to_str().unwrap_or_default();
        self.denied.iter().any(|name| path == name || path == encoded(root, name))
    }

    /// For a person who looks into a leak.
    pub(super) fn told(&self) -> String {
        let mut told = format!(
            "caller {:?} by {:?} in {:?}, pi {}, known {}\n",
            self.caller, self.wire, self.here, self.in_pi, self.known
        );
        for (name, text) in &self.rules {
            let _ = writeln!(told, "--- {name}\n{text}");
        }
        let _ = writeln!(told, "denied: {:?} (absent folders {:?}, git keeps {})", self.denied, self.gone, self.keeps);
        let names: Vec<&String> = self.tree.files.keys().collect();
        let _ = writeln!(told, "files: {names:?}\nlinks: {:?}", self.tree.links);
        for step in &self.steps {
            let _ = writeln!(told, "step: {step:?}");
        }
        told
    }
}

/// Makes a file one that git knows by a denied name, which is gone. `false` if there is no repository.
fn renames(tree: &mut Tree, file: Option<&str>, denied: &str) -> bool {
    let (Some(git), Some(file)) = (&mut tree.git, file) else { return false };
    let Some(text) = tree.files.get(file) else { return false };
    for kept in git.all() {
        kept.remove(file);
        kept.insert(denied.to_owned(), text.clone());
    }
    tree.files.remove(denied);
    true
}

/// Some of the names that are denied when they are looked for.
fn chosen(
    tree: &mut Tree,
    (judge, acts): (&Judge, &[Acts]),
    random: &mut Random,
) -> Result<Option<Vec<String>>, Broken> {
    let mut names: BTreeSet<String> = tree.files.keys().cloned().collect();
    names.extend(tree.git.iter_mut().flat_map(Git::all).flat_map(|kept| kept.keys().cloned()));
    let mut found = Vec::new();
    for name in names {
        // What such a file says is part of what is looked at, for everyone.
        let mut denied = !name.ends_with("ignore");
        for acts in acts {
            denied = denied && judge.denies(&name, *acts)?;
        }
        found.extend(denied.then_some(name));
    }
    let count = (1 + random.below(3)).min(found.len());
    let mut denied = Vec::new();
    for _ in 0..count {
        denied.push(found.swap_remove(random.below(found.len())));
    }
    Ok((!denied.is_empty()).then_some(denied))
}

/// Whether every file that varies is denied to the step, and to what is suggested if it fails.
fn hides(step: &Step, denied: &[String], judge: &Judge) -> Result<bool, Broken> {
    match step {
        Step::Index | Step::Beside(_) => Ok(true),
        Step::Outside { name, .. } => Ok(!denied.contains(name)),
        Step::Call { operation, .. } => {
            let needed = Acts::needed_by(operation);
            for name in denied {
                if !needed.is_empty() && !judge.denies(name, needed)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn other_text(name: &str, random: &mut Random) -> String {
    let text = any_text(name, random);
    format!(
        "{text}\nonly_elsewhere hidden_word\nfn only_elsewhere() {{}}\ndef load_store(x): pass\n{}",
        "more\n".repeat(random.below(200))
    )
}
