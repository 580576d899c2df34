//! The rules that nobody has to write.

use alloc::{borrow::Cow, format, vec::Vec};

use super::{Act, Acts, Effect, Layer, Matched, Rule};

/// A ready set of rules. Each restricts more than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// Only changes of policy files ask.
    Open,
    /// Deletions and changes of sensitive files ask too.
    #[default]
    Standard,
    /// Showing a sensitive file asks too.
    Careful,
    /// Nothing may be changed, and sensitive files are out of reach.
    Locked,
}

impl Preset {
    /// All of them, the mildest first.
    pub const ALL: [Self; 4] = [Self::Open, Self::Standard, Self::Careful, Self::Locked];

    /// The word for it in files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Standard => "standard",
            Self::Careful => "careful",
            Self::Locked => "locked",
        }
    }

    /// The preset of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == word)
    }

    fn table(self) -> &'static [(Effect, Acts, RuleNames)] {
        const POLICY: (Effect, Acts, RuleNames) = (Effect::Ask, Acts::CHANGING, RuleNames::PolicyFiles);
        const DELETE: (Effect, Acts, RuleNames) = (Effect::Ask, Acts::of(&[Act::Delete]), RuleNames::Every);
        const CHANGE: (Effect, Acts, RuleNames) = (Effect::Ask, Acts::CHANGING, RuleNames::Sensitive);
        const SHOW: (Effect, Acts, RuleNames) =
            (Effect::Ask, Acts::of(&[Act::Read, Act::Search, Act::History, Act::Export]), RuleNames::Sensitive);
        const KEPT: (Effect, Acts, RuleNames) = (Effect::Ask, Acts::of(&[Act::History, Act::Export]), RuleNames::Every);
        match self {
            Self::Open => &[POLICY],
            Self::Standard => &[POLICY, CHANGE, DELETE],
            Self::Careful => &[POLICY, CHANGE, DELETE, SHOW],
            Self::Locked => &[
                (Effect::Deny, Acts::CHANGING, RuleNames::Every),
                (Effect::Deny, Acts::ALL, RuleNames::Sensitive),
                KEPT,
            ],
        }
    }
}

/// Which names a rule of a preset is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleNames {
    /// All.
    Every,
    /// Those that count as sensitive.
    Sensitive,
    /// The files that hold the rules.
    PolicyFiles,
}

impl RuleNames {
    /// The words for it in the text of a rule.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Every => "every name",
            Self::Sensitive => "sensitive names",
            Self::PolicyFiles => "policy files",
        }
    }
}

/// The rules of a preset, ready to be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetRules {
    layer: Layer,
    rules: Vec<(Effect, Acts, RuleNames, Rule)>,
}

impl PresetRules {
    /// The rules of `preset`, as part of `layer`.
    #[must_use]
    pub fn new(preset: Preset, layer: Layer) -> Self {
        let rule = |(effect, acts, names): &(Effect, Acts, RuleNames)| {
            let text = format!("{} {}: {}", effect.as_str(), acts.words(), names.as_str());
            let rule = Rule { layer, file: Cow::Borrowed(""), line: 0, text: text.into(), reason: None };
            (*effect, *acts, *names, rule)
        };
        Self { layer, rules: preset.table().iter().map(rule).collect() }
    }

    /// The layer they belong to.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Those that match.
    pub fn matched(&self, act: Act, is_sensitive: bool, is_policy_file: bool) -> impl Iterator<Item = Matched<'_>> {
        self.rules.iter().filter_map(move |(effect, acts, names, rule)| {
            let meant = match names {
                RuleNames::Every => true,
                RuleNames::Sensitive => is_sensitive,
                RuleNames::PolicyFiles => is_policy_file,
            };
            (meant && acts.contains(act)).then_some(Matched { effect: *effect, rule, larger_than: None })
        })
    }

    /// All of them, with their acts and names.
    pub fn iter(&self) -> impl Iterator<Item = (Effect, Acts, RuleNames, &Rule)> {
        self.rules.iter().map(|(effect, acts, names, rule)| (*effect, *acts, *names, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::super::LayerRuling;
    use super::*;

    fn effect(preset: Preset, act: Act, sensitive: bool, policy_file: bool) -> Effect {
        let rules = PresetRules::new(preset, Layer::Preset(preset));
        LayerRuling::new(rules.matched(act, sensitive, policy_file), None).effect
    }

    /// Plain, sensitive and policy files, one letter per act: read list search edit write delete history export.
    #[test]
    fn each_preset_does_what_it_says() {
        let row = |preset, sensitive, policy_file| -> alloc::string::String {
            let letter = |act| match effect(preset, act, sensitive, policy_file) {
                Effect::Allow => '.',
                Effect::Ask => '?',
                Effect::Deny => 'x',
            };
            Act::ALL.into_iter().map(letter).collect()
        };
        for (preset, plain, sensitive, policy_file) in [
            (Preset::Open, "........", "........", "...???.."),
            (Preset::Standard, ".....?..", "...???..", "...???.."),
            (Preset::Careful, ".....?..", "?.??????", "...???.."),
            (Preset::Locked, "...xxx??", "xxxxxxxx", "...xxx??"),
        ] {
            assert_eq!(row(preset, false, false), plain, "{preset:?}");
            assert_eq!(row(preset, true, false), sensitive, "{preset:?}");
            assert_eq!(row(preset, false, true), policy_file, "{preset:?}");
        }
    }

    #[test]
    fn each_preset_restricts_at_least_what_the_one_before_does() {
        for pair in Preset::ALL.windows(2) {
            for act in Act::ALL {
                for (sensitive, policy_file) in [(false, false), (false, true), (true, false), (true, true)] {
                    let [before, after] = [pair[0], pair[1]].map(|preset| effect(preset, act, sensitive, policy_file));
                    assert!(before <= after, "{pair:?} {act:?}");
                }
            }
        }
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.as_str()), Some(preset));
        }
        assert_eq!(Preset::default(), Preset::Standard);
    }

    #[test]
    fn a_rule_says_what_it_is_about() {
        let rules = PresetRules::new(Preset::Standard, Layer::Preset(Preset::Standard));
        let texts: Vec<&str> = rules.iter().map(|(.., rule)| &*rule.text).collect();
        let changes = "ask edit,write,delete";
        assert_eq!(
            texts,
            [
                format!("{changes}: policy files"),
                format!("{changes}: sensitive names"),
                "ask delete: every name".into()
            ]
        );
    }
}
