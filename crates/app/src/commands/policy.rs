//! `readproof policy`: which rules there are, what they say about a name, and whether they say what a person expects.

pub(super) mod approvals;
pub(crate) mod audit;

use readproof_core::{
    operation::{Caller, Operation},
    policy::{Act, CallerPattern, Effect, Ruling, SizeLimit},
};
use readproof_engine::{PolicyChecked, PolicyListed, RuledAct};
use readproof_words::disk::{policy_layer, policy_rule, policy_warning};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

use super::{Done, Terminal, diff::content};
use crate::{
    cli::PolicyCommand,
    output::{self, Failure},
    report::label,
};

pub(super) fn run(terminal: &Terminal, command: PolicyCommand) -> Done {
    match command {
        PolicyCommand::Check { path, caller, op } => {
            let caller = caller.as_deref().map(|text| caller_of(terminal, text)).transpose()?;
            let act = op.as_deref().map(act_of).transpose()?;
            let checked: PolicyChecked = terminal.ask_in(None, Operation::CheckPolicy { path, act, caller })?;
            warn(&checked.warnings);
            terminal.show(|| checked_facts(&checked), || checked_lines(&checked, act.is_some()))
        }
        PolicyCommand::List => {
            let listed: PolicyListed = terminal.ask_in(None, Operation::ListPolicy)?;
            warn(&listed.warnings);
            terminal.show(|| listed_facts(&listed), || listed_lines(&listed))
        }
        PolicyCommand::Test { file } => test(terminal, &file),
    }
}

fn warn(warnings: &[readproof_disk::PolicyWarning]) {
    warnings.iter().for_each(|warning| output::notice(&policy_warning(warning)));
}

/// Who is meant by `mcp`, `client:NAME`, `user:NAME` or `token:NAME`, or several of them with commas between. The user is the one
/// who asks, unless another is named.
fn caller_of(terminal: &Terminal, text: &str) -> Result<Caller, Failure> {
    let wrong = || {
        let expected = "expected a surface (cli, mcp, …), client:NAME, user:NAME or token:NAME, or several";
        Failure::usage(format!("--as {text}: {expected}"))
    };
    let mut caller = Caller { user: terminal.caller.user.clone(), ..Caller::default() };
    for part in text.split(',').map(str::trim) {
        match CallerPattern::parse(part).map_err(|_| wrong())? {
            CallerPattern::Surface(name) => caller.surface = name.into(),
            CallerPattern::Client(name) => caller.client = Some(name),
            CallerPattern::User(name) => caller.user = Some(name),
            CallerPattern::Token(name) => caller.identity = Some(name),
        }
    }
    Ok(caller)
}

fn act_of(text: &str) -> Result<Act, Failure> {
    let all: Vec<&str> = Act::ALL.into_iter().map(Act::as_str).collect();
    Act::parse(text).ok_or_else(|| Failure::usage(format!("{text} is no operation; there are {}", all.join(", "))))
}

/// The verdict in one word, and the rule.
fn verdict(ruling: &Ruling) -> String {
    let of_size = |limit: &Option<SizeLimit>, word: &str| {
        limit.as_ref().map(|limit| format!("; {word} above {} bytes by {}", limit.bytes, policy_rule(&limit.rule)))
    };
    let by = ruling.verdict.rule().map(|rule| format!("  {}", policy_rule(rule))).unwrap_or_default();
    let (ask, deny) = (of_size(&ruling.ask_above, "ask"), of_size(&ruling.deny_above, "deny"));
    format!("{}{by}{}{}", ruling.verdict.effect().as_str(), ask.unwrap_or_default(), deny.unwrap_or_default())
}

fn checked_lines(checked: &PolicyChecked, with_layers: bool) -> String {
    let name = match &checked.real {
        Some(real) => format!("{} (leads to {})", label(&checked.path), label(real)),
        None => label(&checked.path),
    };
    let mut lines = vec![name];
    for RuledAct { act, ruling, layers } in &checked.acts {
        lines.push(format!("{:8}{}", act.as_str(), verdict(ruling)));
        for (layer, verdict, rule) in layers.iter().filter(|_| with_layers) {
            let effect = verdict.effect().as_str();
            lines.push(format!("  {effect:6}{}: {}", policy_layer(*layer), policy_rule(rule)));
        }
    }
    lines.join("\n")
}

fn rule_facts(rule: &readproof_core::policy::Rule) -> Value {
    json!({"source": policy_layer(rule.layer), "file": rule.file, "line": rule.line, "rule": rule.text, "reason": rule.reason})
}

fn checked_facts(checked: &PolicyChecked) -> Value {
    let limit = |limit: &Option<SizeLimit>| {
        limit.as_ref().map(|limit| json!({"bytes": limit.bytes, "by": rule_facts(&limit.rule)}))
    };
    let act = |ruled: &RuledAct| {
        let layer = |(_, verdict, rule): &(_, readproof_core::policy::Verdict, _)| {
            let mut facts = rule_facts(rule);
            facts["verdict"] = json!(verdict.effect().as_str());
            facts
        };
        json!({
            "op": ruled.act.as_str(),
            "verdict": ruled.ruling.verdict.effect().as_str(),
            "by": ruled.ruling.verdict.rule().map(rule_facts),
            "ask_above": limit(&ruled.ruling.ask_above),
            "deny_above": limit(&ruled.ruling.deny_above),
            "layers": ruled.layers.iter().map(layer).collect::<Vec<_>>(),
        })
    };
    json!({
        "ok": true,
        "path": checked.path,
        "leads_to": checked.real,
        "ops": checked.acts.iter().map(act).collect::<Vec<_>>(),
        "warnings": checked.warnings.iter().map(policy_warning).collect::<Vec<_>>(),
    })
}

fn listed_lines(listed: &PolicyListed) -> String {
    let line = |rule: &readproof_disk::ListedRule| {
        let acts = if rule.acts == readproof_core::policy::Acts::ALL {
            "every operation".to_owned()
        } else {
            rule.acts.words()
        };
        let larger = rule.larger_than.map(|bytes| format!(" above {bytes} bytes")).unwrap_or_default();
        let callers = rule.callers.as_ref().map(|_| " for some callers").unwrap_or_default();
        format!("{:6}{}  ({acts}{larger}{callers})", rule.effect.as_str(), policy_rule(&rule.rule))
    };
    let lines: Vec<String> = listed.rules.iter().map(line).collect();
    let rest =
        "ignore files in folders are looked at when a name in them is judged; `readproof policy check PATH` shows them";
    format!("{}\n{rest}", lines.join("\n"))
}

fn listed_facts(listed: &PolicyListed) -> Value {
    let rule = |rule: &readproof_disk::ListedRule| {
        let mut facts = rule_facts(&rule.rule);
        facts["effect"] = json!(rule.effect.as_str());
        facts["ops"] = json!(rule.acts.iter().map(Act::as_str).collect::<Vec<_>>());
        facts["larger_than"] = json!(rule.larger_than);
        facts["callers"] =
            json!(rule.callers.as_ref().map(|callers| { callers.iter().map(ToString::to_string).collect::<Vec<_>>() }));
        facts
    };
    json!({
        "ok": true,
        "preset": listed.preset.map(readproof_core::policy::Preset::as_str),
        "rules": listed.rules.iter().map(rule).collect::<Vec<_>>(),
        "warnings": listed.warnings.iter().map(policy_warning).collect::<Vec<_>>(),
    })
}

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    #[serde(default, rename = "case")]
    cases: Vec<Case>,
}

/// A name, and what is expected of the rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    path: String,
    op: Option<String>,
    #[serde(rename = "as")]
    caller: Option<String>,
    expect: String,
}

/// Compares the verdicts with those that a file expects.
fn test(terminal: &Terminal, file: &Path) -> Done {
    let text = content(&terminal.engine, file)?;
    let wrong = |why: String| Failure::refused("BAD_CASES", format!("{}: {why}", file.display()));
    let Cases { cases } = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if cases.is_empty() {
        return Err(wrong("there is no [[case]] in it".to_owned()));
    }
    let (mut facts, mut lines, mut failed) = (Vec::new(), Vec::new(), 0);
    for case in &cases {
        let expected = Effect::parse(&case.expect)
            .ok_or_else(|| wrong(format!("expect = \"{}\": there are allow, ask and deny", case.expect)))?;
        let act = act_of(case.op.as_deref().unwrap_or("read"))?;
        let caller = case.caller.as_deref().map(|text| caller_of(terminal, text)).transpose()?;
        let operation = Operation::CheckPolicy { path: case.path.clone(), act: Some(act), caller };
        let checked: PolicyChecked = terminal.ask_in(None, operation)?;
        let Some(ruled) = checked.acts.first() else { continue };
        let met = ruled.ruling.verdict.effect() == expected;
        failed += usize::from(!met);
        let word = if met { "ok" } else { "FAILED" };
        let found = verdict(&ruled.ruling);
        lines.push(format!(
            "{word:7}{} {}: expected {}, found {found}",
            act.as_str(),
            label(&checked.path),
            expected.as_str()
        ));
        facts.push(json!({"path": checked.path, "op": act.as_str(), "expected": expected.as_str(),
            "found": ruled.ruling.verdict.effect().as_str(), "by": ruled.ruling.verdict.rule().map(rule_facts), "ok": met}));
    }
    let said = format!("{} of {} cases are as expected", cases.len() - failed, cases.len());
    terminal.show(
        || json!({"ok": failed == 0, "cases": facts, "failed": failed}),
        || format!("{}\n{said}", lines.join("\n")),
    )?;
    if failed > 0 { Err(Failure::reported()) } else { Ok(()) }
}
