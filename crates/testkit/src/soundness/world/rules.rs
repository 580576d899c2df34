//! Rules that a person writes, changes and takes back while a run goes on. What they deny is worked out here by a matcher for
//! these few forms alone, so that the product's own can be compared with it.

use readproof_core::policy::{Act, Effect};
use std::{collections::BTreeMap, fmt::Write};

use crate::op::Random;

const WORKSPACE_FILE: &str = "readproof.toml";

/// Ignore files of other agents, at the root and in a folder.
const IGNORE_FILES: [&str; 2] = [".aiignore", ".cursorignore"];
const FOLDER: &str = "sub/";
const NESTED_FILES: [&str; 2] = ["sub/.aiignore", "sub/.cursorignore"];

/// Every act, if empty.
type ActList = &'static [Act];

const EVERY: ActList = &[];
const CHANGES: ActList = &[Act::Edit, Act::Write, Act::Delete];
const SINGLE: [ActList; 6] =
    [&[Act::Read], &[Act::Search], &[Act::Edit], &[Act::Write], &[Act::Delete], &[Act::History]];

/// The names that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    File(&'static str),
    Ending(&'static str),
    Folder(&'static str),
    /// All but these: the default is to deny, and these are allowed.
    AllBut(Vec<&'static str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    file: &'static str,
    effect: Effect,
    acts: ActList,
    names: Names,
}

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    all: Vec<Rule>,
}

impl Names {
    fn hold(&self, name: &str) -> bool {
        match self {
            Self::File(one) => *one == name,
            Self::Ending(end) => name.ends_with(end),
            Self::Folder(folder) => name.starts_with(folder),
            Self::AllBut(allowed) => !allowed.contains(&name),
        }
    }

    /// As a line of the file in this folder. No name stands in it to the letter, so that whoever finds the line has not found the
    /// name.
    fn pattern(&self, folder: &str) -> String {
        match self {
            Self::File(name) => masked(name.strip_prefix(folder).unwrap_or(name)),
            Self::Ending(end) => format!("*{end}"),
            Self::Folder(name) => (*name).to_owned(),
            Self::AllBut(_) => "*".to_owned(),
        }
    }
}

impl Rule {
    /// A rule for this name and perhaps others, or for others alone.
    fn any(name: &'static str, names: &[&'static str], random: &mut Random) -> Self {
        let acts = match random.below(8) {
            0..=3 => EVERY,
            4 => CHANGES,
            _ => SINGLE[random.below(SINGLE.len())],
        };
        let matched = match random.below(10) {
            0 => Names::Ending([".rs", ".txt"][random.below(2)]),
            1 => Names::Folder(FOLDER),
            2 => {
                let first = random.below(names.len());
                let denied: Vec<&str> = names.iter().copied().cycle().skip(first).take(1 + random.below(3)).collect();
                let allowed = names.iter().copied().filter(|name| !denied.contains(name)).collect();
                let names = Names::AllBut(allowed);
                return Self { file: WORKSPACE_FILE, effect: Effect::Deny, acts: EVERY, names };
            }
            _ => Names::File(name),
        };
        Self::of(matched, acts, random)
    }

    /// A rule by which this file cannot be read.
    fn against(name: &'static str, random: &mut Random) -> Self {
        let acts = if random.below(4) == 0 { SINGLE[0] } else { EVERY };
        Self::of(Names::File(name), acts, random)
    }

    fn of(names: Names, acts: ActList, random: &mut Random) -> Self {
        let effect = if random.below(4) == 0 { Effect::Ask } else { Effect::Deny };
        let ignores = acts.is_empty() && effect == Effect::Deny && random.below(2) == 0;
        let nested = matches!(names, Names::File(name) if name.starts_with(FOLDER)) && random.below(2) == 0;
        let file = match (ignores, nested) {
            (false, _) => WORKSPACE_FILE,
            (true, false) => IGNORE_FILES[random.below(IGNORE_FILES.len())],
            (true, true) => NESTED_FILES[random.below(NESTED_FILES.len())],
        };
        Self { file, effect, acts, names }
    }

    fn is_default(&self) -> bool {
        matches!(self.names, Names::AllBut(_))
    }

    fn effect(&self, name: &str, act: Act) -> Effect {
        let applies = (self.acts.is_empty() || self.acts.contains(&act)) && self.names.hold(name);
        if applies { self.effect } else { Effect::Allow }
    }

    fn table(&self) -> String {
        let Self { effect, acts, names, .. } = self;
        let mut text =
            format!("[[policy.rule]]\neffect = \"{}\"\npaths = [{:?}]\n", effect.as_str(), names.pattern(""));
        if !acts.is_empty() {
            let acts: Vec<&str> = acts.iter().map(|act| act.as_str()).collect();
            // Only a format of numbers can fail, and there are none.
            let _ = writeln!(text, "acts = {acts:?}");
        }
        text
    }
}

impl Rules {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether only some names are allowed.
    pub(crate) fn has_default(&self) -> bool {
        self.all.iter().any(Rule::is_default)
    }

    /// The strongest that a rule says about this name. Where a rule in the same file asks, the default says nothing.
    pub(crate) fn effect(&self, name: &str, act: Act) -> Effect {
        let strongest = |is: fn(&Rule) -> bool| {
            let rules = self.all.iter().filter(|rule| is(rule));
            rules.map(|rule| rule.effect(name, act)).max().unwrap_or(Effect::Allow)
        };
        let here = strongest(|rule| rule.file == WORKSPACE_FILE && !rule.is_default());
        let here = if here == Effect::Allow { strongest(Rule::is_default) } else { here };
        here.max(strongest(|rule| rule.file != WORKSPACE_FILE))
    }

    /// Adds a rule, mostly for this name. Only one can be the default.
    pub(crate) fn add(&mut self, name: &'static str, names: &[&'static str], random: &mut Random) {
        let rule = Rule::any(name, names, random);
        if rule.is_default() {
            self.all.retain(|other| !other.is_default());
        }
        self.all.push(rule);
    }

    /// Adds a rule by which this file cannot be read.
    pub(crate) fn add_against(&mut self, name: &'static str, random: &mut Random) {
        self.all.push(Rule::against(name, random));
    }

    pub(crate) fn remove_last(&mut self) {
        self.all.pop();
    }

    /// One rule goes, changes or comes; mostly they go, so that most of the time most files are allowed.
    pub(crate) fn change(&mut self, name: &'static str, names: &[&'static str], random: &mut Random) {
        match random.below(8) {
            _ if self.all.is_empty() => self.add(name, names, random),
            0 if self.all.len() < 3 => self.add(name, names, random),
            1 => {
                self.all.remove(random.below(self.all.len()));
                self.add(name, names, random);
            }
            2 => drop(self.all.remove(random.below(self.all.len()))),
            _ => self.all.clear(),
        }
    }

    /// The files that hold the rules, and their texts.
    pub(crate) fn files(&self) -> BTreeMap<&'static str, String> {
        let mut files: BTreeMap<&'static str, String> = BTreeMap::new();
        for Rule { file, names, .. } in self.all.iter().filter(|rule| rule.file != WORKSPACE_FILE) {
            let folder = if NESTED_FILES.contains(file) { FOLDER } else { "" };
            *files.entry(file).or_default() += &format!("{}\n", names.pattern(folder));
        }
        let here: Vec<&Rule> = self.all.iter().filter(|rule| rule.file == WORKSPACE_FILE).collect();
        let default = here.iter().find_map(|rule| match &rule.names {
            Names::AllBut(allowed) => Some(allowed.iter().map(|name| masked(name)).collect::<Vec<_>>()),
            Names::File(_) | Names::Ending(_) | Names::Folder(_) => None,
        });
        let default = default.map(|allowed| format!("[policy]\ndefault = \"deny\"\nallow = {allowed:?}\n"));
        let others = here.iter().filter(|rule| !rule.is_default());
        let text: String = default.into_iter().chain(others.map(|rule| rule.table())).collect();
        if !text.is_empty() {
            files.insert(WORKSPACE_FILE, text);
        }
        files
    }
}

/// A pattern for one name of a folder in which the last letter of its stem can be any.
fn masked(name: &str) -> String {
    let at = name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len()) - 1;
    format!("/{}?{}", &name[..at], &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_do_not_spell_the_name() {
        assert_eq!(masked("small.txt"), "/smal?.txt");
        assert_eq!(masked(".env"), "/.en?");
        assert_eq!(masked("sub/deep.txt"), "/sub/dee?.txt");
        assert_eq!(Names::File("sub/deep.txt").pattern(FOLDER), "/dee?.txt");
    }

    #[test]
    fn the_strongest_rule_counts() {
        let rule = |effect, acts, names| Rule { file: WORKSPACE_FILE, effect, acts, names };
        let all = vec![
            rule(Effect::Ask, CHANGES, Names::Ending(".rs")),
            rule(Effect::Deny, EVERY, Names::File("a.rs")),
            rule(Effect::Deny, EVERY, Names::AllBut(vec!["a.rs", "b.rs"])),
        ];
        let rules = Rules { all };
        assert_eq!(rules.effect("a.rs", Act::Edit), Effect::Deny);
        assert_eq!(rules.effect("b.rs", Act::Edit), Effect::Ask);
        assert_eq!(rules.effect("b.rs", Act::Read), Effect::Allow);
        assert_eq!(rules.effect("c.txt", Act::Read), Effect::Deny);
        let text = &rules.files()[WORKSPACE_FILE];
        assert!(
            text.starts_with("[policy]\ndefault = \"deny\"\nallow = [\"/?.rs\", \"/?.rs\"]\n[[policy.rule]]"),
            "{text}"
        );
    }
}
