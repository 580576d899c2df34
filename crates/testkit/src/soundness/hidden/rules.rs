//! Random rules in all the files that hold them, and what they say.

use readproof_core::policy::{Act, Acts, Asked, Effect, NameKind};
use readproof_disk::{Policy, PolicySources, Root, STANDARD_PATTERNS, Sensitive};
use readproof_engine::operation::Caller;
use std::path::Path;

use super::tree::{Files, Tree, nth};
use crate::{op::Random, world::Broken};

/// Ignore files that other agents have.
const IGNORES: [&str; 5] = [".cursorignore", ".aiignore", ".geminiignore", ".codeiumignore", ".rooignore"];

/// Who calls.
pub(super) fn any_caller(random: &mut Random) -> Caller {
    let surface = *random.pick(&["mcp", "mcp", "cli", "pi"]).unwrap_or(&"mcp");
    let client = (random.below(2) == 0).then(|| (*random.pick(&["cursor-1", "claude"]).unwrap_or(&"x")).to_owned());
    Caller { client, ..Caller::of(surface) }
}

/// The files with rules, made for this tree.
pub(super) fn any_rules(tree: &Tree, random: &mut Random) -> Files {
    let mut files = Files::new();
    if random.below(6) == 0 {
        // Only for some.
        let name = nth(&tree.files, random).0;
        let rule = format!(
            "[[policy.rule]]\neffect = \"deny\"\npaths = [\"/{name}\"]\ncallers = [\"mcp\", \"cli\", \"pi\"]\n"
        );
        files.insert("readproof.toml".to_owned(), rule);
    } else if random.below(4) > 0 {
        files.insert("readproof.toml".to_owned(), table(tree, random));
    }
    for _ in 0..random.below(3) {
        let ignore = *random.pick(&IGNORES).unwrap_or(&IGNORES[0]);
        let folders: Vec<&String> = tree.folders.iter().collect();
        let place = random.pick(&folders).filter(|_| random.below(2) == 0);
        let name = place.map_or(ignore.to_owned(), |folder| format!("{folder}/{ignore}"));
        let mut lines: Vec<String> = (0..1 + random.below(3)).map(|_| pattern(tree, random)).collect();
        if random.below(3) == 0 {
            lines.push(format!("!{}", pattern(tree, random)));
        }
        files.insert(name, lines.join("\n") + "\n");
    }
    if random.below(4) == 0 || files.is_empty() {
        let denied = format!("Read(./{})", nth(&tree.files, random).0);
        let other = format!("{}({})", random.pick(&["Read", "Edit"]).unwrap_or(&"Read"), pattern(tree, random));
        let text = serde_json::json!({ "permissions": { "deny": [denied, other] } }).to_string();
        files.insert(".claude/settings.json".to_owned(), text);
    }
    files
}

fn table(tree: &Tree, random: &mut Random) -> String {
    let mut list = |most: usize| -> String {
        let patterns: Vec<String> =
            (0..1 + random.below(most)).map(|_| format!("{:?}", pattern(tree, random))).collect();
        format!("[{}]", patterns.join(", "))
    };
    let (deny, ask, allow) = (list(3), list(1), list(6));
    let mut text = "[policy]\n".to_owned();
    if random.below(8) == 0 {
        text += &format!("default = \"deny\"\nallow = {allow}\n");
    }
    if random.below(3) > 0 {
        text += &format!("deny = {deny}\n");
    }
    if random.below(6) == 0 {
        text += &format!("ask = {ask}\n");
    }
    for _ in 0..random.below(3) {
        let effect = random.pick(&["deny", "deny", "ask"]).unwrap_or(&"deny");
        text += &format!("[[policy.rule]]\neffect = \"{effect}\"\npaths = [{:?}]\n", pattern(tree, random));
        if random.below(2) == 0 {
            let acts: Vec<&str> =
                (0..1 + random.below(3)).filter_map(|_| Some(random.pick(&Act::ALL)?.as_str())).collect();
            text += &format!("acts = {acts:?}\n");
        }
        if random.below(2) == 0 {
            let caller = random.pick(&["mcp", "cli", "pi", "client:cur*"]).unwrap_or(&"mcp");
            text += &format!("callers = [{caller:?}]\n");
        }
        if random.below(6) == 0 {
            text += "larger_than = 300\n";
        }
    }
    text
}

fn pattern(tree: &Tree, random: &mut Random) -> String {
    let name = nth(&tree.files, random).0;
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", &name));
    let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    match random.below(9) {
        0 => format!("/{name}"),
        1 | 2 if !folder.is_empty() => format!("{folder}/"),
        3 if !folder.is_empty() => format!("{folder}/**"),
        4 => format!("*.{ending}"),
        5 => format!("{stem}*"),
        6 => format!("**/{file}"),
        7 => file.to_owned(),
        _ => name,
    }
}

/// What the rules say for one caller.
pub(super) struct Judge {
    root: Root,
    caller: Caller,
    policy: Policy,
    sensitive: Sensitive,
}

impl Judge {
    /// Looks at the rules in this folder.
    pub(super) fn new(root: &Path, caller: &Caller) -> Result<Self, Broken> {
        let patterns: Vec<String> = STANDARD_PATTERNS.iter().map(ToString::to_string).collect();
        Ok(Self {
            root: Root::open(root)?,
            caller: caller.clone(),
            policy: Policy::new(PolicySources::default()),
            sensitive: Sensitive::new(&patterns)?,
        })
    }

    /// Whether a file of this name is denied to a call that needs all of these acts.
    pub(super) fn denies(&self, name: &str, acts: Acts) -> Result<bool, Broken> {
        let rules = self.policy.look(&self.root)?;
        for act in acts.iter() {
            if rules.judge(&self.root, &self.asked(name, act, NameKind::File))?.verdict.effect() == Effect::Deny {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a folder is denied for every act, with all that can be in it.
    pub(super) fn denies_folder(&self, name: &str) -> Result<bool, Broken> {
        let rules = self.policy.look(&self.root)?;
        for act in Act::ALL {
            let asked = self.asked(name, act, NameKind::Folder);
            let verdicts = [rules.judge(&self.root, &asked)?.verdict, rules.passes(&self.root, &asked)?.verdict];
            if verdicts.iter().any(|verdict| verdict.effect() != Effect::Deny) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn asked<'a>(&'a self, name: &'a str, act: Act, kind: NameKind) -> Asked<'a> {
        let sensitive = self.sensitive.is_sensitive_name(name);
        Asked { caller: &self.caller, act, name, kind, sensitive }
    }
}
