//! What the rules say, for the person who wrote them: which verdict, by which rule of which file.

use readproof_core::{
    operation::Caller,
    path::candidates,
    policy::{Act, Asked, Layer, NameKind, Preset, Rule, Ruling, Verdict},
};
use readproof_disk::{ListedRule, PolicyWarning, Rules};
use std::path::Path;

use crate::{Engine, Error};

/// What the rules say about a name.
#[derive(Clone, Debug)]
pub struct PolicyChecked {
    /// The name, relative to the workspace.
    pub path: String,
    /// Where it leads, if links lead elsewhere.
    pub real: Option<String>,
    /// Who asks.
    pub caller: Caller,
    /// The verdicts, in the order of [`Act::ALL`].
    pub acts: Vec<RuledAct>,
    /// What in the policy files has no effect.
    pub warnings: Vec<PolicyWarning>,
}

/// What the rules say about one act.
#[derive(Clone, Debug)]
pub struct RuledAct {
    /// The act.
    pub act: Act,
    /// All layers together, over every name the file goes by.
    pub ruling: Ruling,
    /// What each layer that has a rule for it says, also where it allows.
    pub layers: Vec<(Layer, Verdict, Rule)>,
}

/// The rules in force.
#[derive(Clone, Debug)]
pub struct PolicyListed {
    /// The preset of the person.
    pub preset: Option<Preset>,
    /// By source. Those of ignore files in folders are not among them.
    pub rules: Vec<ListedRule>,
    /// What in the policy files has no effect.
    pub warnings: Vec<PolicyWarning>,
}

impl Engine {
    /// What the rules say about a name, whether it leads anywhere or not.
    pub(crate) fn check_policy(&self, caller: &Caller, path: &str, act: Option<Act>) -> Result<PolicyChecked, Error> {
        let rules = self.shared.policy.look(&self.root)?;
        let tried = candidates(path, &self.shared.bearings);
        let file =
            self.root.locate_new(&tried).or_else(|error| match tried.iter().find_map(|name| self.led_inside(name)) {
                Some(name) => self.root.locate_new(&[self.root.absolute(&name)]),
                None => Err(error),
            });
        let file = file.map_err(Error::Locate)?;
        let name = file.key().to_string();
        let real = self.root.real_name(&file).map(|key| key.to_string()).filter(|real| *real != name);
        let names: Vec<&str> = [Some(&name), real.as_ref()].into_iter().flatten().map(String::as_str).collect();
        let wanted = Act::ALL.into_iter().filter(|one| act.is_none_or(|act| act == *one));
        let acts = wanted.map(|act| self.ruled(&rules, (caller, act), &names)).collect::<Result<_, _>>()?;
        let (caller, warnings) = (caller.clone(), rules.warnings().to_vec());
        Ok(PolicyChecked { real, acts, caller, warnings, path: name })
    }

    /// The name inside that one elsewhere leads to by links: of what is there, or of what would be made there.
    fn led_inside(&self, name: &str) -> Option<String> {
        let path = Path::new(name);
        self.root.leads_to(path).or_else(|| {
            let folder = self.root.leads_to(path.parent()?)?;
            Some(format!("{folder}/{}", path.file_name()?.to_str()?))
        })
    }

    fn ruled(&self, rules: &Rules, (caller, act): (&Caller, Act), names: &[&str]) -> Result<RuledAct, Error> {
        let (mut all, mut layers) = (Ruling::ALLOWED, Vec::new());
        for name in names {
            let kind = if self.root.names_folder(name) { NameKind::Folder } else { NameKind::File };
            let sensitive = self.shared.sensitive.is_sensitive_name(name);
            let asked = Asked { caller, act, name, kind, sensitive };
            let ruling = rules.judge(&self.root, &asked)?;
            if ruling.verdict.effect() > all.verdict.effect() {
                all.verdict = ruling.verdict;
            }
            (all.ask_above, all.deny_above) =
                (all.ask_above.or(ruling.ask_above), all.deny_above.or(ruling.deny_above));
            for layer in rules.explain(&self.root, &asked)? {
                layers.extend(layer.rule.map(|rule| (layer.layer, layer.ruling.verdict, rule)));
            }
        }
        layers.dedup();
        Ok(RuledAct { act, ruling: all, layers })
    }

    /// Every rule in force.
    pub(crate) fn list_policy(&self) -> Result<PolicyListed, Error> {
        let rules = self.shared.policy.look(&self.root)?;
        let (rules, warnings, preset) = (rules.list(), rules.warnings().to_vec(), rules.preset());
        Ok(PolicyListed { preset, rules, warnings })
    }
}
