//! `[policy]` of a TOML file, as data with line numbers. Other keys and tables of the file belong to the settings.

use std::borrow::Cow;

use readproof_core::policy::{Act, Acts, CallerPattern, Dialect, Effect, Layer, Preset, Rule};
use serde::Deserialize;
use toml::Spanned;

use super::{
    error::{NoEffect, PolicyError, PolicyWarning},
    files::line_of,
};

/// Rules of one layer, not yet compiled.
#[derive(Debug)]
pub(super) struct LayerSource {
    pub(super) layer: Layer,
    /// The rule that denies what no other rule mentions.
    pub(super) otherwise: Option<Rule>,
    pub(super) rules: Vec<RuleSource>,
}

/// A rule, not yet compiled.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleSource {
    pub(super) effect: Effect,
    pub(super) acts: Acts,
    /// `None`: any caller.
    pub(super) callers: Option<Vec<CallerPattern>>,
    pub(super) larger_than: Option<u64>,
    /// `None`: every name.
    pub(super) names: Option<Vec<Written>>,
    /// The rule as a whole.
    pub(super) rule: Rule,
}

/// A pattern as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// In the syntax of ignore files.
    pub(super) pattern: String,
    /// What stands in the file.
    pub(super) text: String,
    pub(super) line: u32,
    pub(super) from: From,
}

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The workspace's root.
    Workspace,
    /// The root of the file system.
    FileSystem,
}

/// What a `[policy]` table says.
#[derive(Debug)]
pub(super) struct PolicyTable {
    pub(super) preset: Option<(Preset, u32)>,
    pub(super) off: Vec<(Dialect, u32)>,
    pub(super) source: LayerSource,
}

#[derive(Deserialize)]
struct FileForm {
    policy: Option<TableForm>,
}

type Texts = Vec<Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableForm {
    preset: Option<Spanned<String>>,
    default: Option<Spanned<String>>,
    read_only: Option<Spanned<bool>>,
    off: Option<Texts>,
    deny: Option<Spanned<Texts>>,
    ask: Option<Spanned<Texts>>,
    allow: Option<Spanned<Texts>>,
    #[serde(default)]
    rule: Vec<RuleForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleForm {
    effect: Spanned<String>,
    paths: Option<Texts>,
    acts: Option<Texts>,
    callers: Option<Texts>,
    larger_than: Option<Spanned<u64>>,
    reason: Option<String>,
}

/// A file that is being read.
struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    layer: Layer,
    warnings: &'t mut Vec<PolicyWarning>,
}

impl PolicyTable {
    /// `None` if the file has no such table.
    ///
    /// # Errors
    /// [`PolicyError::Syntax`] when the file is not valid or has an unknown key in that table, [`PolicyError::Value`] for a
    /// value that means nothing.
    pub(super) fn parse(
        file: &str,
        text: &str,
        layer: Layer,
        warnings: &mut Vec<PolicyWarning>,
    ) -> Result<Option<Self>, PolicyError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let form: FileForm = toml::from_str(text).map_err(|error| PolicyError::Syntax {
            file: file.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            reason: error.message().to_owned(),
        })?;
        let Some(form) = form.policy else { return Ok(None) };
        Reader { file, text, layer, warnings }.table(form).map(Some)
    }
}

impl Reader<'_> {
    fn table(&mut self, form: TableForm) -> Result<PolicyTable, PolicyError> {
        let preset = form.preset.as_ref().map(|word| self.word("preset", word, Preset::parse)).transpose()?;
        let off = form.off.as_deref().unwrap_or_default();
        let off = off.iter().map(|word| self.word("off", word, Dialect::parse)).collect::<Result<_, _>>()?;
        let default = form.default.as_ref().map(|word| {
            let parse = |word: &str| Effect::parse(word).filter(|effect| *effect != Effect::Ask);
            self.word("default", word, parse)
        });
        let otherwise = match default.transpose()? {
            Some((Effect::Deny, line)) => Some(self.rule(line, "default = \"deny\"".into(), None)),
            Some((Effect::Allow | Effect::Ask, _)) | None => None,
        };
        let mut rules = Vec::new();
        if let Some(read_only) = form.read_only.filter(|read_only| *read_only.get_ref()) {
            let rule = self.rule(self.line(&read_only), "read_only = true".into(), None);
            rules.push(RuleSource { acts: Acts::CHANGING, ..RuleSource::for_all(Effect::Deny, rule) });
        }
        for (effect, list) in [(Effect::Deny, form.deny), (Effect::Ask, form.ask), (Effect::Allow, form.allow)] {
            let Some(list) = list else { continue };
            let rule = self.rule(self.line(&list), effect.as_str().into(), None);
            let names = Some(self.written(list.into_inner()));
            rules.push(RuleSource { names, ..RuleSource::for_all(effect, rule) });
        }
        for form in form.rule {
            let rule = self.one(form)?;
            let line = rule.rule.line;
            match rules.iter().find(|before| before.says_the_same(&rule)) {
                Some(before) => {
                    self.warn(line, rule.rule.text.to_string(), NoEffect::Duplicate { of: before.rule.line });
                }
                None => rules.push(rule),
            }
        }
        let allows = |rule: &&RuleSource| rule.effect == Effect::Allow;
        if otherwise.is_none() {
            for rule in rules.iter().filter(allows) {
                self.warn(rule.rule.line, rule.rule.text.to_string(), NoEffect::AllowedAnyway);
            }
        }
        Ok(PolicyTable { preset, off, source: LayerSource { layer: self.layer, otherwise, rules } })
    }

    fn one(&mut self, form: RuleForm) -> Result<RuleSource, PolicyError> {
        let (effect, line) = self.word("effect", &form.effect, Effect::parse)?;
        let text = format!("effect = \"{}\"", effect.as_str());
        if let Some(limit) = form.larger_than.as_ref().filter(|_| effect == Effect::Allow) {
            // The verdict on a name is given before the size is known, so this could never allow anything.
            return Err(self.value("larger_than", limit, limit.get_ref().to_string()));
        }
        if form.acts.as_ref().is_some_and(Vec::is_empty) {
            self.warn(line, text.clone(), NoEffect::NoActs);
        }
        if form.callers.as_ref().is_some_and(Vec::is_empty) {
            self.warn(line, text.clone(), NoEffect::NoCallers);
        }
        let acts = match form.acts {
            None => Acts::ALL,
            Some(words) => {
                let acts = words.iter().map(|word| Ok(self.word("acts", word, Act::parse)?.0));
                Acts::of(&acts.collect::<Result<Vec<Act>, PolicyError>>()?)
            }
        };
        let callers = form.callers.map(|words| {
            let caller = |word| Ok(self.word("callers", word, |text| CallerPattern::parse(text).ok())?.0);
            words.iter().map(caller).collect::<Result<Vec<CallerPattern>, PolicyError>>()
        });
        let rule = self.rule(line, text.into(), form.reason);
        let names = form.paths.map(|paths| self.written(paths));
        let larger_than = form.larger_than.map(Spanned::into_inner);
        Ok(RuleSource { effect, acts, callers: callers.transpose()?, larger_than, names, rule })
    }

    fn written(&mut self, texts: Texts) -> Vec<Written> {
        let mut all: Vec<Written> = Vec::new();
        let plain = !texts.iter().any(|text| text.get_ref().starts_with('!'));
        for text in texts {
            let line = self.line(&text);
            let text = text.into_inner();
            if let Some(of) = all.iter().find(|before| plain && before.text == text).map(|before| before.line) {
                self.warn(line, text, NoEffect::Duplicate { of });
            } else {
                all.push(Written { pattern: text.clone(), text, line, from: From::Workspace });
            }
        }
        all
    }

    /// What a word means, and its line.
    fn word<T>(
        &self,
        key: &'static str,
        word: &Spanned<String>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<(T, u32), PolicyError> {
        let known = parse(word.get_ref()).map(|known| (known, self.line(word)));
        known.ok_or_else(|| self.value(key, word, word.get_ref().clone()))
    }

    fn value<T>(&self, key: &'static str, at: &Spanned<T>, value: String) -> PolicyError {
        PolicyError::Value { file: self.file.to_owned(), line: self.line(at), key, value }
    }

    fn line<T>(&self, at: &Spanned<T>) -> u32 {
        line_of(self.text, at.span().start)
    }

    fn rule(&self, line: u32, text: Cow<'static, str>, reason: Option<String>) -> Rule {
        Rule { layer: self.layer, file: self.file.to_owned().into(), line, text, reason }
    }

    fn warn(&mut self, line: u32, text: String, why: NoEffect) {
        self.warnings.push(PolicyWarning { file: self.file.to_owned(), line, text, why });
    }
}

impl RuleSource {
    /// A rule for every act, caller and name.
    pub(super) fn for_all(effect: Effect, rule: Rule) -> Self {
        Self { effect, acts: Acts::ALL, callers: None, larger_than: None, names: None, rule }
    }

    fn says_the_same(&self, other: &Self) -> bool {
        let names = |rule: &Self| -> Option<Vec<String>> {
            rule.names.as_ref().map(|names| names.iter().map(|name| name.pattern.clone()).collect())
        };
        self.effect == other.effect
            && self.acts == other.acts
            && self.callers == other.callers
            && self.larger_than == other.larger_than
            && names(self) == names(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(PolicyTable, Vec<PolicyWarning>), PolicyError> {
        let mut warnings = Vec::new();
        let table = PolicyTable::parse("f", text, Layer::Workspace, &mut warnings)?;
        Ok((table.unwrap(), warnings))
    }

    #[test]
    fn every_key_is_understood_with_its_line() {
        let text = r#"answer_lines = 5
[policy]
preset = "careful"
default = "deny"
read_only = true
off = [".cursorignore"]
deny = ["secrets/",
  "*.sqlite"]
ask = ["infra/**"]
allow = ["src/**"]

[[policy.rule]]
effect = "deny"
paths = ["vendor/**", "!vendor/README.md"]
acts = ["edit", "write"]
callers = ["mcp", "client:cursor*", "user:alice", "token:ci"]
larger_than = 1000000
reason = "generated"

[[policy.rule]]
effect = "ask"
acts = ["history"]

[other]
x = 1
"#;
        let (table, warnings) = parse(text).unwrap();
        assert_eq!(warnings, []);
        assert_eq!(table.preset, Some((Preset::Careful, 3)));
        assert_eq!(table.off, [(Dialect::Cursor, 6)]);
        assert_eq!(
            table.source.otherwise.as_ref().map(|rule| (rule.line, &*rule.text)),
            Some((4, "default = \"deny\""))
        );
        let rules: Vec<String> = table
            .source
            .rules
            .iter()
            .map(|rule| {
                let names = rule.names.as_ref().map(|names| {
                    names.iter().map(|name| format!("{}:{}", name.line, name.text)).collect::<Vec<_>>().join(" ")
                });
                let callers = rule.callers.as_ref().map_or(0, Vec::len);
                let (effect, acts) = (rule.effect.as_str(), rule.acts.words());
                format!("{} {effect} {acts} {names:?} {callers} {:?}", rule.rule.line, rule.larger_than)
            })
            .collect();
        let all = "read,list,search,edit,write,delete,history,export";
        assert_eq!(
            rules,
            [
                "5 deny edit,write,delete None 0 None".to_owned(),
                format!("7 deny {all} Some(\"7:secrets/ 8:*.sqlite\") 0 None"),
                format!("9 ask {all} Some(\"9:infra/**\") 0 None"),
                format!("10 allow {all} Some(\"10:src/**\") 0 None"),
                "13 deny edit,write Some(\"14:vendor/** 14:!vendor/README.md\") 4 Some(1000000)".to_owned(),
                "21 ask history None 0 None".to_owned(),
            ]
        );
        assert_eq!(table.source.rules[4].rule.reason.as_deref(), Some("generated"));
    }

    #[test]
    fn a_file_without_the_table_has_no_rules() {
        let mut warnings = Vec::new();
        for text in ["", "a = 1\n[b]\nc = 2\n"] {
            assert!(PolicyTable::parse("f", text, Layer::User, &mut warnings).unwrap().is_none());
        }
        assert!(parse("[policy]\n").unwrap().0.source.rules.is_empty());
        assert!(parse("\u{feff}[policy]\n").is_ok());
        assert!(parse("policy.read_only = false").unwrap().0.source.rules.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let at = |text: &str| {
            let error = parse(text).unwrap_err();
            if let PolicyError::Syntax { line, reason, .. } = &error {
                return format!("{line} {}", reason.split(',').next().unwrap());
            }
            let PolicyError::Value { line, key, value, .. } = error else { panic!("{error:?}") };
            format!("{line} {key}={value}")
        };
        assert_eq!(at("[policy]\n\ncolour = 1\n"), "3 unknown field `colour`");
        assert_eq!(at("[policy]\n[[policy.rule]]\neffect = \"deny\"\npath = [\"a\"]\n"), "4 unknown field `path`");
        assert!(at("a = 1\n[policy\n").starts_with("2 "));
        assert!(at("[policy]\ndeny = \"x\"\n").starts_with("2 invalid type"));
        assert!(at("[policy]\ndeny = [\"x\", 3]\n").starts_with("2 invalid type"));
        assert_eq!(at("[policy]\n[[policy.rule]]\npaths = [\"x\"]\n"), "2 missing field `effect`");
        assert_eq!(at("[policy]\npreset = \"safe\"\n"), "2 preset=safe");
        assert_eq!(at("[policy]\ndefault = \"ask\"\n"), "2 default=ask");
        assert_eq!(at("[policy]\noff = [\n\".gitignore\"]\n"), "3 off=.gitignore");
        assert_eq!(at("[[policy.rule]]\neffect = \"no\"\n"), "2 effect=no");
        assert_eq!(at("[[policy.rule]]\neffect = \"ask\"\nacts = [\"read\", \"run\"]\n"), "3 acts=run");
        assert_eq!(at("[[policy.rule]]\neffect = \"ask\"\ncallers = [\"users:me\"]\n"), "3 callers=users:me");
        assert_eq!(at("[[policy.rule]]\neffect = \"allow\"\nlarger_than = 5\n"), "3 larger_than=5");
        assert!(at("[[policy.rule]]\neffect = \"ask\"\nlarger_than = -5\n").starts_with("3 "));
    }

    #[test]
    fn what_has_no_effect_is_named() {
        let at = |text: &str| -> Vec<(u32, String, NoEffect)> {
            parse(text).unwrap().1.into_iter().map(|warning| (warning.line, warning.text, warning.why)).collect()
        };
        let deny = "effect = \"deny\"".to_owned();
        assert_eq!(at("[[policy.rule]]\neffect = \"deny\"\nacts = []\n"), [(2, deny.clone(), NoEffect::NoActs)]);
        assert_eq!(at("[[policy.rule]]\neffect = \"deny\"\ncallers = []\n"), [(2, deny.clone(), NoEffect::NoCallers)]);
        assert_eq!(at("[policy]\nallow = [\"a\"]\n"), [(2, "allow".to_owned(), NoEffect::AllowedAnyway)]);
        assert_eq!(at("[policy]\ndefault = \"deny\"\nallow = [\"a\"]\n"), []);
        assert_eq!(at("[policy]\ndeny = [\"a\",\n\"a\"]\n"), [(3, "a".to_owned(), NoEffect::Duplicate { of: 2 })]);
        assert_eq!(at("[policy]\ndeny = [\"a\", \"!a\", \"a\"]\n"), []);
        let twice = "[[policy.rule]]\neffect = \"deny\"\npaths = [\"a\"]\n".repeat(2);
        assert_eq!(at(&twice), [(5, deny, NoEffect::Duplicate { of: 2 })]);
    }
}
