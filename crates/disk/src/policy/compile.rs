//! From the texts of all policy files to [`Rules`]. Reads no file.

use std::{path::Path, sync::Arc};

use readproof_core::{
    policy::{Dialect, Layer, Preset, PresetRules, Rule},
    text::ContentHash,
};

use super::{
    claude,
    error::{NoEffect, PolicyError, PolicyWarning},
    folder::FolderState,
    lists::ListsBuilder,
    pattern::{Hopeless, Line, Pattern, Reach},
    rules::{CompiledRule, Owner, PolicyLayer, Rules, WORKSPACE_FILE},
    table::{From, LayerSource, PolicyTable, RuleSource, Written},
};

/// What the person decides, and what stands at the workspace's root.
#[derive(Debug)]
pub(super) struct Texts<'t> {
    pub(super) id: ContentHash,
    /// The preset in force.
    pub(super) preset: Preset,
    pub(super) honoured: Vec<Dialect>,
    /// The layers of the person.
    pub(super) own: Vec<LayerSource>,
    pub(super) workspace: Option<&'t str>,
    /// Ignore files in the root.
    pub(super) ignore: Vec<(Dialect, &'t str)>,
    /// Claude Code's settings, with their names.
    pub(super) claude: Vec<(&'static str, &'t str)>,
    /// Where `~/` leads in them.
    pub(super) home: Option<&'t Path>,
    /// The absolute names of the root.
    pub(super) roots: Vec<&'t str>,
    pub(super) warnings: Vec<PolicyWarning>,
}

impl Rules {
    /// Compiles all of it.
    ///
    /// # Errors
    /// [`PolicyError`] when a file does not parse, or there are too many patterns.
    pub(super) fn compile(texts: Texts<'_>) -> Result<Self, PolicyError> {
        let mut compiler = Compiler {
            roots: texts.roots,
            lists: ListsBuilder::default(),
            owners: Vec::new(),
            layers: Vec::new(),
            rules: Vec::new(),
            warnings: texts.warnings,
        };
        let mut presets = vec![PresetRules::new(texts.preset, Layer::Preset(texts.preset))];
        for source in texts.own {
            compiler.layer(source)?;
        }
        if let Some(text) = texts.workspace {
            let table = PolicyTable::parse(WORKSPACE_FILE, text, Layer::Workspace, &mut compiler.warnings)?;
            if let Some(table) = table {
                presets.extend(compiler.narrow(&table, texts.preset));
                compiler.layer(table.source)?;
            }
        }
        let mut claude_rules = Vec::new();
        for (file, text) in texts.claude {
            claude_rules.extend(claude::rules(file, text, texts.home)?);
        }
        if !claude_rules.is_empty() {
            let layer = Layer::Ignore(Dialect::ClaudeSettings);
            compiler.layer(LayerSource { layer, otherwise: None, rules: claude_rules })?;
        }
        for (dialect, text) in texts.ignore {
            let file = dialect.file_name().unwrap_or_default();
            add_file(&mut compiler.lists, dialect, file, text, &mut compiler.warnings)?;
            compiler.owners.push(Owner::Dialect(dialect));
        }
        let everywhere = compiler.rules.iter().enumerate().filter(|(_, rule)| rule.list.is_none());
        Ok(Self {
            id: texts.id,
            presets,
            everywhere: everywhere.map(|(at, _)| at).collect(),
            layers: compiler.layers,
            rules: compiler.rules,
            top: compiler.lists.build()?,
            owners: compiler.owners,
            honoured: texts.honoured,
            warnings: compiler.warnings,
            start: Arc::new(FolderState::top(texts.id)),
            folders: std::sync::Mutex::default(),
        })
    }
}

struct Compiler<'t> {
    roots: Vec<&'t str>,
    lists: ListsBuilder,
    owners: Vec<Owner>,
    layers: Vec<PolicyLayer>,
    rules: Vec<CompiledRule>,
    warnings: Vec<PolicyWarning>,
}

impl Compiler<'_> {
    /// What the workspace's file says that only the person can decide. A preset is added to the one in force.
    fn narrow(&mut self, table: &PolicyTable, in_force: Preset) -> Option<PresetRules> {
        let warning = |line, text: String, why| PolicyWarning { file: WORKSPACE_FILE.to_owned(), line, text, why };
        for (dialect, line) in &table.off {
            let text = format!("off: {}", dialect.as_str());
            self.warnings.push(warning(*line, text, NoEffect::NotFromWorkspace));
        }
        let (preset, line) = table.preset?;
        if preset <= in_force {
            let text = format!("preset = \"{}\"", preset.as_str());
            self.warnings.push(warning(line, text, NoEffect::PresetInForce));
            return None;
        }
        Some(PresetRules::new(preset, Layer::WorkspacePreset(preset)))
    }

    fn layer(&mut self, source: LayerSource) -> Result<(), PolicyError> {
        let first = self.rules.len();
        for rule in source.rules {
            self.rule(rule)?;
        }
        let rules = first..self.rules.len();
        self.layers.push(PolicyLayer { layer: source.layer, otherwise: source.otherwise, rules });
        Ok(())
    }

    fn rule(&mut self, source: RuleSource) -> Result<(), PolicyError> {
        let list = match &source.names {
            None => None,
            Some(names) => {
                let list = self.lists.begin();
                self.owners.push(Owner::Rule(self.rules.len()));
                self.patterns(names, &source.rule)?;
                Some(list)
            }
        };
        let RuleSource { effect, acts, callers, larger_than, rule, .. } = source;
        self.rules.push(CompiledRule { effect, acts, callers, larger_than, list, rule: Arc::new(rule) });
        Ok(())
    }

    fn patterns(&mut self, names: &[Written], whole: &Rule) -> Result<(), PolicyError> {
        let mut positive = 0;
        if names.is_empty() {
            self.warn(whole, whole.line, &whole.text, NoEffect::NoPaths);
        }
        for name in names {
            let Some(line) = Line::parse(&name.pattern) else {
                self.warn(whole, name.line, &name.text, NoEffect::Blank);
                continue;
            };
            if line.negated && positive == 0 {
                self.warn(whole, name.line, &name.text, NoEffect::NothingToExcept);
            }
            let rule = Rule { line: name.line, text: name.text.clone().into(), ..whole.clone() };
            if let Some(why) = line.doubt().filter(|_| line.pattern().is_ok()) {
                self.warn(whole, name.line, &name.text, why.into());
            }
            for pattern in self.found(&line, name.from) {
                match pattern {
                    Ok(pattern) => self.lists.add(&line, pattern, Arc::new(rule.clone()))?,
                    Err(why) => self.warn(whole, name.line, &name.text, why.into()),
                }
            }
            positive += usize::from(!line.negated);
        }
        Ok(())
    }

    /// The patterns that a line means: one, or for an absolute one as many as the root has names, less those it does not
    /// reach.
    fn found(&self, line: &Line<'_>, from: From) -> Vec<Result<Pattern, Hopeless>> {
        match from {
            From::Workspace => vec![line.pattern()],
            From::FileSystem => {
                let below = |base: &&str| match line.below(base) {
                    Ok(Reach::Nothing) => None,
                    Ok(Reach::Some(pattern)) => Some(Ok(pattern)),
                    Ok(Reach::Everything) => Some(Ok(Pattern::everything())),
                    Err(why) => Some(Err(why)),
                };
                self.roots.iter().filter_map(below).collect()
            }
        }
    }

    fn warn(&mut self, whole: &Rule, line: u32, text: &str, why: NoEffect) {
        self.warnings.push(PolicyWarning { file: whole.file.to_string(), line, text: text.to_owned(), why });
    }
}

/// Adds the lines of an ignore file as a list.
pub(super) fn add_file(
    lists: &mut ListsBuilder,
    dialect: Dialect,
    file: &str,
    text: &str,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<(), PolicyError> {
    lists.begin();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.split('\n')) {
        let Some(line) = Line::parse(line) else { continue };
        let rule = || Rule {
            layer: Layer::Ignore(dialect),
            file: file.to_owned().into(),
            line: number,
            text: line.text.to_owned().into(),
            reason: None,
        };
        let pattern = line.pattern();
        if let Some(why) = pattern.as_ref().err().copied().or(line.doubt()) {
            let text = line.text.to_owned();
            warnings.push(PolicyWarning { file: file.to_owned(), line: number, text, why: why.into() });
        }
        if let Ok(pattern) = pattern {
            lists.add(&line, pattern, Arc::new(rule()))?;
        }
    }
    Ok(())
}

impl std::convert::From<Hopeless> for NoEffect {
    fn from(why: Hopeless) -> Self {
        match why {
            Hopeless::Outside => Self::Outside,
            Hopeless::Empty => Self::Blank,
            Hopeless::Malformed => Self::Malformed,
        }
    }
}
