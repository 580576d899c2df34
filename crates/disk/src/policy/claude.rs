//! What Claude Code's settings deny or ask for its `Read` and `Edit` tools, as rules of ours. Entries for other tools, and every
//! other setting, are not ours to judge.

use std::{borrow::Cow, path::Path};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::Ranged,
    parse_to_ast,
};
use readproof_core::policy::{Acts, Dialect, Effect, Layer, Rule};

use super::{
    error::PolicyError,
    files::line_of,
    table::{From, RuleSource, Written},
};

/// The files, from the workspace's root.
pub(super) const FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// The folder they stand in.
pub(super) const FOLDER: &str = ".claude";

/// The rules of one file. `home` is where `~/` leads.
///
/// # Errors
/// [`PolicyError::Syntax`] when it is not JSON (comments and commas at the end of lists are fine), [`PolicyError::Value`] when
/// `permissions`, `deny` or `ask` is something else than Claude Code expects.
pub(super) fn rules(file: &str, text: &str, home: Option<&Path>) -> Result<Vec<RuleSource>, PolicyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| PolicyError::Syntax {
        file: file.to_owned(),
        line: line_of(text, error.range().start),
        reason: error.kind().to_string(),
    })?;
    let reader = Reader { file, text, home };
    match &parsed.value {
        None => Ok(Vec::new()),
        Some(Value::Object(settings)) => reader.settings(settings),
        Some(other) => Err(reader.unexpected("settings", other)),
    }
}

/// An entry such as `Read(x`: what it was meant to deny is unknown.
struct Unclosed;

struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    home: Option<&'t Path>,
}

impl Reader<'_> {
    fn settings(&self, settings: &Object<'_>) -> Result<Vec<RuleSource>, PolicyError> {
        let mut rules = Vec::new();
        for permissions in named(settings, "permissions") {
            let Value::Object(permissions) = permissions else {
                return Err(self.unexpected("permissions", permissions));
            };
            for (key, effect) in [("deny", Effect::Deny), ("ask", Effect::Ask)] {
                for list in named(permissions, key) {
                    let Value::Array(list) = list else { return Err(self.unexpected(key, list)) };
                    for entry in &list.elements {
                        let Value::StringLit(text) = entry else { return Err(self.unexpected(key, entry)) };
                        let rule = self.entry(&text.value, line_of(self.text, entry.start()), effect);
                        rules.extend(rule.map_err(|Unclosed| self.unexpected(key, entry))?);
                    }
                }
            }
        }
        Ok(rules)
    }

    /// `None` for an entry of another tool.
    fn entry(&self, entry: &str, line: u32, effect: Effect) -> Result<Option<RuleSource>, Unclosed> {
        let entry = entry.trim();
        let (tool, pattern) = entry.split_once('(').unwrap_or((entry, ")"));
        let acts = match tool.trim_end() {
            "Read" => Acts::SHOWING,
            "Edit" | "Write" | "MultiEdit" => Acts::CHANGING,
            _ => return Ok(None),
        };
        let pattern = pattern.strip_suffix(')').ok_or(Unclosed)?.trim();
        let (file, text) = (self.file.to_owned().into(), Cow::Owned(entry.to_owned()));
        let rule = Rule { layer: Layer::Ignore(Dialect::ClaudeSettings), file, line, text, reason: None };
        let names = (!pattern.is_empty()).then(|| {
            let written = |(pattern, from)| Written { pattern, text: entry.to_owned(), line, from };
            self.patterns(pattern).into_iter().map(written).collect()
        });
        Ok(Some(RuleSource { acts, names, ..RuleSource::for_all(effect, rule) }))
    }

    /// The pattern in the syntax of ignore files. One that begins at the home folder is none at all if that is unknown, and
    /// two if the folder has two names.
    fn patterns(&self, pattern: &str) -> Vec<(String, From)> {
        if let Some(absolute) = pattern.strip_prefix("//") {
            return vec![(absolute.to_owned(), From::FileSystem)];
        }
        if let Some(below) = pattern.strip_prefix("~/") {
            let home = self.home.map(Path::to_path_buf);
            let real = self.home.and_then(|home| home.canonicalize().ok()).filter(|real| Some(real) != home.as_ref());
            let homes = home.into_iter().chain(real);
            let from_home = |home: std::path::PathBuf| {
                let home = home.to_str()?.trim_matches('/');
                Some((format!("{}/{below}", escaped(home)), From::FileSystem))
            };
            return homes.filter_map(from_home).collect();
        }
        match pattern.strip_prefix("./") {
            Some(below) => vec![(format!("/{below}"), From::Workspace)],
            // A `#` or `!` here is part of a name.
            None if pattern.starts_with(['#', '!']) => vec![(format!("\\{pattern}"), From::Workspace)],
            None => vec![(pattern.to_owned(), From::Workspace)],
        }
    }

    fn unexpected(&self, key: &'static str, value: &Value<'_>) -> PolicyError {
        let text = self.text.get(value.start()..value.end()).unwrap_or_default();
        let value_text = text.chars().take(80).collect();
        PolicyError::Value {
            file: self.file.to_owned(),
            line: line_of(self.text, value.start()),
            key,
            value: value_text,
        }
    }
}

/// The values of this key. Readers differ in which of several they take, so all of them count.
fn named<'o, 't>(object: &'o Object<'t>, key: &'o str) -> impl Iterator<Item = &'o Value<'t>> {
    object.properties.iter().filter(move |property| property.name.as_str() == key).map(|property| &property.value)
}

fn escaped(path: &str) -> String {
    let special = |letter: char| matches!(letter, '*' | '?' | '[' | '\\');
    path.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let rules = rules("s", text, Some(Path::new("/no/h*me"))).unwrap();
        let names = |rule: &RuleSource| match &rule.names {
            None => "everything".to_owned(),
            Some(names) => names.iter().map(|name| format!("{} {:?}", name.pattern, name.from)).collect(),
        };
        let one = |rule: RuleSource| {
            let acts = if rule.acts == Acts::SHOWING { "showing" } else { "changing" };
            format!("{} {} {acts} {} | {}", rule.rule.line, rule.effect.as_str(), names(&rule), rule.rule.text)
        };
        rules.into_iter().map(one).collect()
    }

    #[test]
    fn entries_of_both_tools_become_rules() {
        let text = r##"{
  // our rules
  "permissions": {
    "allow": ["Read(a)"],
    "deny": [
      "Read(./.env)", "Read(secrets/**)",
      "Edit(/build/)",
      "Bash(rm:*)", "WebFetch",
      "Read(//etc/passwd)",
      "Read(~/.ssh/**)", "Edit", "Write(x)", "Read(#odd)",
    ],
    "ask": ["MultiEdit(docs/*.md)", "Read()"],
  },
  "model": "x"
}"##;
        assert_eq!(
            shown(text),
            [
                "6 deny showing /.env Workspace | Read(./.env)",
                "6 deny showing secrets/** Workspace | Read(secrets/**)",
                "7 deny changing /build/ Workspace | Edit(/build/)",
                "9 deny showing etc/passwd FileSystem | Read(//etc/passwd)",
                "10 deny showing no/h\\*me/.ssh/** FileSystem | Read(~/.ssh/**)",
                "10 deny changing everything | Edit",
                "10 deny changing x Workspace | Write(x)",
                "10 deny showing \\#odd Workspace | Read(#odd)",
                "12 ask changing docs/*.md Workspace | MultiEdit(docs/*.md)",
                "12 ask showing everything | Read()",
            ]
        );
        assert_eq!(shown(""), [""; 0]);
        assert_eq!(shown("{}"), [""; 0]);
    }

    #[test]
    fn what_cannot_be_understood_is_an_error_with_its_line() {
        for (text, expected) in [
            ("{\n\"permissions\": {,}}", 2),
            ("{\n\"a\" 1}", 2),
            ("[\n]", 1),
            ("{\n\n\"permissions\": []}", 3),
            ("{\"permissions\": {\n\"deny\": \"Read\"}}", 2),
            ("{\"permissions\": {\"deny\": [\n\"Read\",\n3]}}", 3),
            ("{\"permissions\": {\n\"ask\": {}}}", 2),
            ("{\"permissions\": {\"deny\": [\n\"Bash(x\",\n\"Read(x\"]}}", 3),
        ] {
            let error = rules("s", text, None).unwrap_err();
            let (PolicyError::Syntax { line, .. } | PolicyError::Value { line, .. }) = error else {
                panic!("{error:?}")
            };
            assert_eq!(line, expected, "{text}");
        }
    }
}
