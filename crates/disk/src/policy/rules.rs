//! The rules of a workspace, compiled, and what they say about a name. Reads no file but the ignore files in the folders that a
//! name leads through.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use readproof_core::{
    operation::Caller,
    policy::{
        Acts, Asked, CallerPattern, Dialect, Effect, Layer, LayerRuling, Matched, NameKind, Preset, PresetRules, Rule,
        RuleNames, Ruling,
    },
    text::ContentHash,
};

use super::{
    claude,
    error::{PolicyError, PolicyWarning},
    folder::{FolderState, Folders, Hits},
    lists::Lists,
};
use crate::root::Root;

/// The file in which a workspace has its rules.
pub(super) const WORKSPACE_FILE: &str = "readproof.toml";

/// The rules in force, as they were when they were [looked at](super::Policy::look).
#[derive(Debug)]
pub struct Rules {
    pub(super) id: ContentHash,
    /// Those of the person's preset, then those of the workspace's.
    pub(super) presets: Vec<PresetRules>,
    pub(super) layers: Vec<PolicyLayer>,
    /// Of all layers, in their order.
    pub(super) rules: Vec<CompiledRule>,
    /// Those among them that match every name.
    pub(super) everywhere: Vec<usize>,
    /// All patterns that stand at the workspace's root.
    pub(super) top: Lists,
    /// Whose each list in `top` is.
    pub(super) owners: Vec<Owner>,
    pub(super) honoured: Vec<Dialect>,
    pub(super) warnings: Vec<PolicyWarning>,
    /// What applies in the root.
    pub(super) start: Arc<FolderState>,
    pub(super) folders: Mutex<Folders>,
}

/// A layer of rules.
#[derive(Debug)]
pub(super) struct PolicyLayer {
    pub(super) layer: Layer,
    pub(super) otherwise: Option<Rule>,
    pub(super) rules: Range<usize>,
}

/// A rule of a layer.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) effect: Effect,
    pub(super) acts: Acts,
    pub(super) callers: Option<Vec<CallerPattern>>,
    pub(super) larger_than: Option<u64>,
    /// The list with its patterns; `None` if it matches every name.
    pub(super) list: Option<usize>,
    pub(super) rule: Arc<Rule>,
}

impl CompiledRule {
    fn applies(&self, asked: &Asked<'_>) -> bool {
        self.acts.contains(asked.act) && self.means(asked.caller)
    }

    /// Whether it is for this caller. What only some may do, not everyone may.
    fn means(&self, caller: &Caller) -> bool {
        let by_name = |callers: &Vec<CallerPattern>| callers.iter().any(|pattern| pattern.matches(caller));
        let by_caller = |callers| if caller.is_everyone() { self.effect != Effect::Allow } else { by_name(callers) };
        self.callers.as_ref().is_none_or(by_caller)
    }
}

/// Whose patterns a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Rule(usize),
    Dialect(Dialect),
}

/// Whether a name is to be used itself, or only what is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Itself,
    Passing,
}

/// What one layer says about a call, for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub layer: Layer,
    /// What this layer alone comes to; the strongest of all layers is the verdict.
    pub ruling: Ruling,
    /// The rule that decides, also where it allows: an allow rule, or an exception (`!x`) in an ignore file.
    pub rule: Option<Rule>,
}

/// A rule in force, for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub effect: Effect,
    pub acts: Acts,
    /// `None`: any caller.
    pub callers: Option<Vec<CallerPattern>>,
    pub larger_than: Option<u64>,
    pub rule: Rule,
}

impl Rules {
    /// Whether something may be done with a name. Looks at the folders that the name leads through and at their ignore files,
    /// but not at the name itself: the ruling is the same whether it is there or not. Links are not followed, so a caller that
    /// follows one judges every name it leads through as well.
    ///
    /// # Errors
    /// [`PolicyError`] when an ignore file on the way cannot be read. Then nothing may be done with the name.
    pub fn judge(&self, root: &Root, asked: &Asked<'_>) -> Result<Ruling, PolicyError> {
        Ok(self.in_folder(root, parent(asked.name))?.judge(asked))
    }

    /// Whether a folder may be passed through on the way to something below it. Differs from [`Rules::judge`] only where the
    /// default is to deny: a folder in which an allow rule can match may be passed, and says nothing about its entries.
    ///
    /// # Errors
    /// As [`Rules::judge`].
    pub fn passes(&self, root: &Root, asked: &Asked<'_>) -> Result<Ruling, PolicyError> {
        Ok(self.in_folder(root, parent(asked.name))?.passes(asked))
    }

    /// What each layer says, in the order in which the verdict names them.
    ///
    /// # Errors
    /// As [`Rules::judge`].
    pub fn explain(&self, root: &Root, asked: &Asked<'_>) -> Result<Vec<Explained>, PolicyError> {
        let folder = self.in_folder(root, parent(asked.name))?;
        let mut all = Vec::new();
        self.each_layer(&folder.state, asked, Use::Itself, &mut |layer, ruling| {
            all.push(Explained { layer, ruling: Ruling::new([ruling]), rule: ruling.rule.cloned() });
        });
        Ok(all)
    }

    /// What applies in a folder, for a walk: its entries are then judged without a look at the disk. `.` is the root.
    ///
    /// # Errors
    /// As [`Rules::judge`].
    pub fn in_folder(&self, root: &Root, folder: &str) -> Result<FolderRules<'_>, PolicyError> {
        Ok(FolderRules { rules: self, state: self.state_of(root, folder)? })
    }

    pub(super) fn with_state(&self, state: Arc<FolderState>) -> FolderRules<'_> {
        FolderRules { rules: self, state }
    }

    /// What has no effect in the files at the workspace's root and the person's own.
    #[must_use]
    pub fn warnings(&self) -> &[PolicyWarning] {
        &self.warnings
    }

    /// Identifies the content of every policy file outside the folders below the root, and the person's choices. As long as it
    /// is the same, only ignore files in folders can have changed; see [`FolderRules::id`].
    #[must_use]
    pub fn id(&self) -> ContentHash {
        self.id
    }

    /// The preset of the person.
    #[must_use]
    pub fn preset(&self) -> Option<Preset> {
        let of_person = |rules: &PresetRules| match rules.layer() {
            Layer::Preset(preset) => Some(preset),
            Layer::Given | Layer::User | Layer::Workspace | Layer::WorkspacePreset(_) | Layer::Ignore(_) => None,
        };
        self.presets.iter().find_map(of_person)
    }

    /// The kinds of ignore files that count.
    #[must_use]
    pub fn honoured(&self) -> &[Dialect] {
        &self.honoured
    }

    /// Whether a file of this name holds rules.
    #[must_use]
    pub fn is_policy_file(&self, name: &str) -> bool {
        let base = name.rsplit('/').next().unwrap_or(name);
        let is_of = |dialect: &Dialect| match dialect.file_name() {
            Some(file) => file == base,
            None => name == claude::FOLDER || claude::FILES.contains(&name),
        };
        // Most names are told apart by their first letter.
        base == WORKSPACE_FILE
            || ((base.starts_with('.') || name.starts_with(claude::FOLDER)) && self.honoured.iter().any(is_of))
    }

    /// Every rule in force but those of ignore files in folders below the root, by layer.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let mut all = Vec::new();
        for preset in &self.presets {
            all.extend(preset.iter().map(|(effect, acts, _, rule)| Listed {
                effect,
                acts,
                callers: None,
                larger_than: None,
                rule: rule.clone(),
            }));
        }
        for (at, rule) in self.rules.iter().enumerate() {
            let of_rule = self.top.entries().iter().filter(|entry| self.owners[entry.list] == Owner::Rule(at));
            let whole = rule.list.is_none().then_some(&rule.rule);
            all.extend(of_rule.map(|entry| &entry.rule).chain(whole).map(|named| Listed {
                effect: rule.effect,
                acts: rule.acts,
                callers: rule.callers.clone(),
                larger_than: rule.larger_than,
                rule: Rule::clone(named),
            }));
        }
        let denies = |rule: &Rule| Listed {
            effect: Effect::Deny,
            acts: Acts::ALL,
            callers: None,
            larger_than: None,
            rule: rule.clone(),
        };
        all.extend(self.layers.iter().filter_map(|layer| layer.otherwise.as_ref()).map(denies));
        let of_files = self.top.entries().iter().filter_map(|entry| match self.owners[entry.list] {
            Owner::Dialect(_) => {
                Some(Listed { effect: if entry.negated { Effect::Allow } else { Effect::Deny }, ..denies(&entry.rule) })
            }
            Owner::Rule(_) => None,
        });
        all.extend(of_files);
        all.sort_by_key(|listed| listed.rule.layer);
        all
    }

    /// Whether no rule at the top of the workspace can refuse anything, unless a preset minds that it is sensitive.
    pub(super) fn top_allows_all(&self, caller: &Caller, acts: Acts) -> bool {
        let meant = |of: Acts| acts.iter().any(|act| of.contains(act));
        let mut of_presets = self.presets.iter().flat_map(PresetRules::iter);
        self.layers.iter().all(|layer| layer.otherwise.is_none())
            && !of_presets
                .any(|(effect, of, names, _)| effect > Effect::Allow && names != RuleNames::Sensitive && meant(of))
            && !self.rules.iter().any(|rule| rule.effect > Effect::Allow && meant(rule.acts) && rule.means(caller))
            && self.owners.iter().all(|owner| matches!(owner, Owner::Rule(_)))
    }

    fn each_layer(
        &self,
        folder: &FolderState,
        asked: &Asked<'_>,
        how: Use,
        each: &mut dyn FnMut(Layer, LayerRuling<'_>),
    ) {
        let policy_file = self.is_policy_file(asked.name);
        for preset in &self.presets {
            each(preset.layer(), LayerRuling::new(preset.matched(asked.act, asked.sensitive, policy_file), None));
        }
        let mut hits = folder.hits(self, asked.name, asked.kind);
        if !self.everywhere.is_empty() {
            hits.rules.extend(self.everywhere.iter().map(|at| (*at, Arc::clone(&self.rules[*at].rule))));
            hits.rules.sort_unstable_by_key(|(at, _)| *at);
        }
        for layer in &self.layers {
            each(layer.layer, self.layer(layer, &hits, asked, how));
        }
        for (dialect, negated, rule) in &hits.dialects {
            let effect = if *negated { Effect::Allow } else { Effect::Deny };
            let matched = Matched { effect, rule, larger_than: None };
            each(Layer::Ignore(*dialect), LayerRuling::new([matched], None));
        }
    }

    fn layer<'h>(&'h self, layer: &'h PolicyLayer, hits: &'h Hits, asked: &Asked<'_>, how: Use) -> LayerRuling<'h> {
        let matched = hits.rules.iter().filter(|(at, _)| layer.rules.contains(at)).filter_map(|(at, named)| {
            let rule = &self.rules[*at];
            let matched = Matched { effect: rule.effect, rule: named, larger_than: rule.larger_than };
            rule.applies(asked).then_some(matched)
        });
        let passes = || {
            let mut rules = self.rules[layer.rules.clone()].iter();
            rules.any(|rule| rule.effect == Effect::Allow && rule.applies(asked) && self.reaches(rule, asked.name))
        };
        let otherwise = layer.otherwise.as_ref().filter(|_| how == Use::Itself || !passes());
        LayerRuling::new(matched, otherwise)
    }

    fn reaches(&self, rule: &CompiledRule, folder: &str) -> bool {
        rule.list.is_none_or(|list| folder == "." || self.top.reaches_into(list, folder))
    }

    fn ruling(&self, folder: &FolderState, asked: &Asked<'_>, how: Use) -> Ruling {
        let mut ruling = Ruling::ALLOWED;
        self.each_layer(folder, asked, how, &mut |_, layer| {
            if layer.effect > Effect::Allow || layer.ask_above.is_some() || layer.deny_above.is_some() {
                ruling = std::mem::replace(&mut ruling, Ruling::ALLOWED).and(&layer);
            }
        });
        ruling
    }
}

/// What applies in one folder.
#[derive(Clone, Debug)]
pub struct FolderRules<'r> {
    rules: &'r Rules,
    pub(super) state: Arc<FolderState>,
}

impl FolderRules<'_> {
    /// As [`Rules::judge`], of a name directly in this folder. `asked.name` is still relative to the root.
    #[must_use]
    pub fn judge(&self, asked: &Asked<'_>) -> Ruling {
        self.rules.ruling(&self.state, asked, Use::Itself)
    }

    /// As [`Rules::passes`], of a folder directly in this one. `asked.name` is still relative to the root.
    #[must_use]
    pub fn passes(&self, asked: &Asked<'_>) -> Ruling {
        self.rules.ruling(&self.state, &Asked { kind: NameKind::Folder, ..*asked }, Use::Passing)
    }

    /// What applies in a folder directly in this one, given by its name relative to the root. Looks only at that folder.
    ///
    /// # Errors
    /// As [`Rules::judge`].
    pub fn inside(&self, root: &Root, folder: &str) -> Result<Self, PolicyError> {
        Ok(Self { rules: self.rules, state: self.rules.step(root, &self.state, folder, None)? })
    }

    /// Whether nothing directly in this folder can be refused to a caller for these acts, unless a preset minds that it is
    /// sensitive.
    pub(super) fn allows_all(&self, caller: &Caller, acts: Acts) -> bool {
        self.state.is_bare() && self.rules.top_allows_all(caller, acts)
    }

    /// Identifies everything by which names in this folder are judged.
    #[must_use]
    pub fn id(&self) -> ContentHash {
        self.state.id
    }
}

/// The folder that a name stands in.
fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or(".", |(parent, _)| parent)
}
