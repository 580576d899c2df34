//! Whether a call may be made at all, decided from what matched. Names are compared with rules in `disk`; here is what a match
//! means. Rules come in layers, one for each source. Each layer is judged by itself, and the most restrictive layer decides,
//! so a source can add a restriction and never lift one of another source.

mod act;
mod caller;
mod dialect;
mod needs;
mod preset;

use alloc::{borrow::Cow, string::String};

pub use act::{Act, Acts};
pub use caller::{BadCaller, CallerPattern};
pub use dialect::Dialect;
pub use preset::{Preset, PresetRules, RuleNames};

use super::Caller;

/// Where a rule stands, for the person who wrote it. Not for the model: the text can name what is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The source it belongs to.
    pub layer: Layer,
    /// The file that holds it: relative to the workspace's root, or the absolute path of the user's own file. Empty for a
    /// rule of a preset.
    pub file: Cow<'static, str>,
    /// Its line in that file, counted from 1; 0 if there is no file.
    pub line: u32,
    /// The rule as it is written there; of a rule with several patterns, the one that matched.
    pub text: Cow<'static, str>,
    /// Why it exists, in the words of the person who wrote it.
    pub reason: Option<String>,
}

impl Rule {
    /// Whether it comes with a preset, so that nobody wrote it for this name.
    #[must_use]
    pub fn is_of_preset(&self) -> bool {
        match self.layer {
            Layer::Preset(_) | Layer::WorkspacePreset(_) => true,
            Layer::Given | Layer::User | Layer::Workspace | Layer::Ignore(_) => false,
        }
    }
}

/// A source of rules that is judged by itself. In the order in which they are named when several say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The rules of the preset that the person chose.
    Preset(Preset),
    /// Rules given with a flag or in the environment.
    Given,
    /// The user's own file.
    User,
    /// The workspace's `readproof.toml`.
    Workspace,
    /// The rules of the preset that `readproof.toml` names, in addition to the person's own.
    WorkspacePreset(Preset),
    /// The files of one kind that other agents have too.
    Ignore(Dialect),
}

/// What a rule does. The greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The call is made.
    Allow,
    /// A person is asked first.
    Ask,
    /// The call is refused.
    Deny,
}

impl Effect {
    /// All of them, the weakest first.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// The word for it in files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// The effect of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == word)
    }
}

/// What a name is, as far as patterns that end in `/` care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Anything but a folder, and a name of which nothing is known.
    File,
    /// A folder.
    Folder,
}

/// What is to be judged: who wants to do what with which name.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// What is to be done.
    pub act: Act,
    /// Relative to the workspace's root, `/`-separated, without `.`, `..` or empty parts; `.` is the root itself.
    pub name: &'a str,
    /// File or folder.
    pub kind: NameKind,
    /// Whether the name counts as sensitive.
    pub sensitive: bool,
}

/// A rule that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched<'r> {
    /// What it does.
    pub effect: Effect,
    /// Where it stands.
    pub rule: &'r Rule,
    /// If given, it matches only files of more bytes. That is known only after the file is looked at.
    pub larger_than: Option<u64>,
}

/// What one layer says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRuling<'r> {
    /// The strongest effect that does not depend on the file's size.
    pub effect: Effect,
    /// The rule that says so; `None` if no rule matched and the layer allows what it does not mention.
    pub rule: Option<&'r Rule>,
    /// From how many bytes on a person is asked, and by which rule.
    pub ask_above: Option<(u64, &'r Rule)>,
    /// From how many bytes on the call is refused, and by which rule.
    pub deny_above: Option<(u64, &'r Rule)>,
}

impl<'r> LayerRuling<'r> {
    /// What a layer says by its rules that matched: the strongest of them, the first of those that are equally strong.
    /// Without any, the rule `otherwise` denies; a layer that has no such rule allows.
    ///
    /// A rule that depends on the size only ever adds a restriction: the verdict on a name is the same whether a file is there
    /// or not, so it cannot wait for the size to become milder.
    #[must_use]
    pub fn new(matched: impl IntoIterator<Item = Matched<'r>>, otherwise: Option<&'r Rule>) -> Self {
        let (mut found, mut ask_above, mut deny_above) = (None::<Matched<'r>>, None, None);
        for one in matched {
            match (one.effect, one.larger_than) {
                (Effect::Ask, Some(bytes)) => lower(&mut ask_above, (bytes, one.rule)),
                (Effect::Deny, Some(bytes)) => lower(&mut deny_above, (bytes, one.rule)),
                (Effect::Allow, Some(_)) => {}
                (Effect::Allow | Effect::Ask | Effect::Deny, None) => {
                    if found.is_none_or(|before| one.effect > before.effect) {
                        found = Some(one);
                    }
                }
            }
        }
        let (effect, rule) = match (found, otherwise) {
            (Some(found), _) => (found.effect, Some(found.rule)),
            (None, Some(rule)) => (Effect::Deny, Some(rule)),
            (None, None) => (Effect::Allow, None),
        };
        Self { effect, rule, ask_above, deny_above }
    }
}

/// Keeps the smaller limit, the first of equal ones.
fn lower<'r>(kept: &mut Option<(u64, &'r Rule)>, new: (u64, &'r Rule)) {
    if kept.is_none_or(|(bytes, _)| new.0 < bytes) {
        *kept = Some(new);
    }
}

/// A size from which on a rule applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeLimit {
    /// A file of more bytes is meant.
    pub bytes: u64,
    /// The rule that says so.
    pub rule: Rule,
}

impl SizeLimit {
    /// Keeps the smaller limit, the first of equal ones.
    fn lower(kept: &mut Option<Self>, new: Option<(u64, &Rule)>) {
        if let Some((bytes, rule)) = new
            && kept.as_ref().is_none_or(|kept| bytes < kept.bytes)
        {
            *kept = Some(Self { bytes, rule: rule.clone() });
        }
    }
}

/// What the rules say. Deny wins over ask, ask over allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call is made.
    Allow,
    /// The call is refused.
    Deny(Rule),
    /// A person is asked first.
    Ask(Rule),
}

impl Verdict {
    /// What it comes to.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Allow => Effect::Allow,
            Self::Ask(_) => Effect::Ask,
            Self::Deny(_) => Effect::Deny,
        }
    }

    /// The rule that restricts the call.
    #[must_use]
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            Self::Allow => None,
            Self::Ask(rule) | Self::Deny(rule) => Some(rule),
        }
    }

    fn of(effect: Effect, rule: Option<&Rule>) -> Self {
        match (effect, rule) {
            (Effect::Ask, Some(rule)) => Self::Ask(rule.clone()),
            (Effect::Deny, Some(rule)) => Self::Deny(rule.clone()),
            // Only a rule asks or denies.
            (Effect::Allow, _) | (Effect::Ask | Effect::Deny, None) => Self::Allow,
        }
    }
}

/// What all layers together say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The verdict on the name, the same whether a file is there or not.
    pub verdict: Verdict,
    /// A larger file is asked about. To be checked when the file is open, even if a person agreed to the name.
    pub ask_above: Option<SizeLimit>,
    /// A larger file is refused. To be checked when the file is open, even if a person agreed to the name.
    pub deny_above: Option<SizeLimit>,
}

impl Ruling {
    /// Nothing restricts the call.
    pub const ALLOWED: Self = Self { verdict: Verdict::Allow, ask_above: None, deny_above: None };

    /// The most restrictive over all layers; of equally restrictive ones, the first.
    #[must_use]
    pub fn new<'r>(layers: impl IntoIterator<Item = LayerRuling<'r>>) -> Self {
        layers.into_iter().fold(Self::ALLOWED, |so_far, layer| so_far.and(&layer))
    }

    /// The same with one more layer.
    #[must_use]
    pub fn and(mut self, layer: &LayerRuling<'_>) -> Self {
        if layer.effect > self.verdict.effect() {
            self.verdict = Verdict::of(layer.effect, layer.rule);
        }
        SizeLimit::lower(&mut self.ask_above, layer.ask_above);
        SizeLimit::lower(&mut self.deny_above, layer.deny_above);
        self
    }

    /// The verdict on a file of this many bytes.
    #[must_use]
    pub fn at_size(&self, bytes: u64) -> Verdict {
        let over = |limit: &Option<SizeLimit>| limit.as_ref().filter(|limit| bytes > limit.bytes).cloned();
        match (&self.verdict, over(&self.ask_above), over(&self.deny_above)) {
            (Verdict::Allow | Verdict::Ask(_), _, Some(limit)) => Verdict::Deny(limit.rule),
            (Verdict::Allow, Some(limit), None) => Verdict::Ask(limit.rule),
            (Verdict::Allow, None, None) | (Verdict::Ask(_), _, None) | (Verdict::Deny(_), _, _) => {
                self.verdict.clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec::Vec};
    use core::slice;

    fn rule(layer: Layer, line: u32) -> Rule {
        Rule { layer, file: "f".into(), line, text: "t".into(), reason: None }
    }

    fn matched(effect: Effect, rule: &Rule) -> Matched<'_> {
        Matched { effect, rule, larger_than: None }
    }

    #[test]
    fn the_strongest_rule_of_a_layer_decides_and_the_first_of_equals() {
        let rules: Vec<Rule> = (1..=5).map(|line| rule(Layer::Workspace, line)).collect();
        let effects = [Effect::Allow, Effect::Ask, Effect::Deny, Effect::Deny, Effect::Allow];
        let all: Vec<Matched<'_>> =
            effects.into_iter().zip(&rules).map(|(effect, rule)| matched(effect, rule)).collect();
        let check = |matched: &[Matched<'_>], otherwise: Option<&Rule>, effect: Effect, line: Option<u32>| {
            let ruling = LayerRuling::new(matched.iter().copied(), otherwise);
            assert_eq!((ruling.effect, ruling.rule.map(|rule| rule.line)), (effect, line), "{matched:?}");
        };
        let default = rule(Layer::Workspace, 9);
        check(&all, Some(&default), Effect::Deny, Some(3));
        check(&all[..2], Some(&default), Effect::Ask, Some(2));
        check(&all[..1], Some(&default), Effect::Allow, Some(1));
        check(&[], Some(&default), Effect::Deny, Some(9));
        check(&[], None, Effect::Allow, None);
        check(&[all[4], all[0]], None, Effect::Allow, Some(5));
    }

    #[test]
    fn no_layer_lifts_what_another_restricts() {
        let (one, two) = (rule(Layer::User, 1), rule(Layer::Ignore(Dialect::Cursor), 2));
        let layer = |effect, rule| LayerRuling::new([matched(effect, rule)], None);
        for (a, b, expected) in [
            (Effect::Allow, Effect::Allow, Verdict::Allow),
            (Effect::Allow, Effect::Deny, Verdict::Deny(two.clone())),
            (Effect::Ask, Effect::Allow, Verdict::Ask(one.clone())),
            (Effect::Ask, Effect::Ask, Verdict::Ask(one.clone())),
            (Effect::Ask, Effect::Deny, Verdict::Deny(two.clone())),
            (Effect::Deny, Effect::Ask, Verdict::Deny(one.clone())),
        ] {
            assert_eq!(Ruling::new([layer(a, &one), layer(b, &two)]).verdict, expected);
        }
        assert_eq!(Ruling::new([]), Ruling::ALLOWED);
    }

    #[test]
    fn a_size_adds_a_restriction_and_lifts_none() {
        let rules: Vec<Rule> = (1..=4).map(|line| rule(Layer::Workspace, line)).collect();
        let over = |effect, line: usize, bytes| Matched { effect, rule: &rules[line], larger_than: Some(bytes) };
        let sized = [
            over(Effect::Deny, 0, 900),
            over(Effect::Ask, 1, 100),
            over(Effect::Ask, 2, 50),
            over(Effect::Allow, 3, 1),
        ];
        let line =
            |verdict: &Verdict| format!("{} {}", verdict.effect().as_str(), verdict.rule().map_or(0, |r| r.line));
        let check = |ruling: &Ruling, expected: [&str; 5]| {
            let found = [0, 50, 51, 900, 901].map(|bytes| line(&ruling.at_size(bytes)));
            assert_eq!(found, expected);
        };
        let free = Ruling::new([LayerRuling::new(sized, None)]);
        assert_eq!(free.verdict, Verdict::Allow);
        check(&free, ["allow 0", "allow 0", "ask 3", "ask 3", "deny 1"]);
        let asks = rule(Layer::User, 7);
        let asked = Ruling::new([LayerRuling::new(sized, None), LayerRuling::new([matched(Effect::Ask, &asks)], None)]);
        check(&asked, ["ask 7", "ask 7", "ask 7", "ask 7", "deny 1"]);
        // An ask by size does not lift the default.
        let default = rule(Layer::Workspace, 9);
        check(&Ruling::new([LayerRuling::new(sized, Some(&default))]), ["deny 9"; 5]);
        // The smallest limit over all layers counts.
        let one = over(Effect::Deny, 3, 10);
        let both = [LayerRuling::new(sized, None), LayerRuling::new(slice::from_ref(&one).iter().copied(), None)];
        assert_eq!(Ruling::new(both).deny_above.map(|limit| (limit.bytes, limit.rule.line)), Some((10, 4)));
    }

    #[test]
    fn words_are_parsed_as_they_are_written() {
        for effect in Effect::ALL {
            assert_eq!(Effect::parse(effect.as_str()), Some(effect));
        }
        assert_eq!(Effect::parse("Deny"), None);
    }
}
