//! The results of a run, as JSON and as Markdown.

use readproof_core::limits::Answers;
use serde_json::{Map, Value, json};
use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use crate::{Cost, Counted, SessionTally, Tally};

/// What was counted in all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub counted: Counted,
    pub answers: Answers,
    pub sessions: Vec<SessionTally>,
    /// How many of them are transcripts of a host. These are played once: the host's record says what was sent, not what would have
    /// been sent otherwise.
    pub transcripts: usize,
}

/// How the sessions differ in what they save, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spread {
    least: f64,
    quarter: f64,
    median: f64,
    three_quarters: f64,
    most: f64,
    /// Sessions that save nothing.
    nothing: usize,
    /// Sessions with a read.
    sessions: usize,
}

impl Report {
    /// With the strict barrier: what may be answered.
    #[must_use]
    pub fn strict(&self) -> Tally {
        self.sum(|session| &session.strict)
    }

    /// As if no compaction had been.
    #[must_use]
    pub fn open(&self) -> Tally {
        self.sum(|session| &session.open)
    }

    /// Answers that the model could not rebuild from what it sees.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let of = |s: &SessionTally| {
            [&s.strict, &s.open, &s.unreported, &s.seed]
                .into_iter()
                .flat_map(|t| t.violations.clone())
                .collect::<Vec<_>>()
        };
        self.sessions.iter().flat_map(of).collect()
    }

    /// What each rule adds to what is saved, in percent of the read tokens.
    fn rules(&self) -> [(&'static str, f64); 4] {
        let saved = |which| self.sum(which).cost().saved_percent();
        [
            ("only ranges that were read exactly so, and whole files (answers = \"seed\")", saved(|s| &s.seed)),
            ("as it is, but the agent's edits are not reported", saved(|s| &s.unreported)),
            ("as it is", saved(|s| &s.strict)),
            ("as it is, as if never compacted", saved(|s| &s.open)),
        ]
    }

    fn sum(&self, which: fn(&SessionTally) -> &Tally) -> Tally {
        let mut sum = Tally::default();
        self.sessions.iter().for_each(|session| sum.add(which(session)));
        sum
    }

    fn spread(&self, which: fn(&SessionTally) -> &Tally) -> Spread {
        let costs = self.sessions.iter().map(|session| which(session).cost()).filter(|cost| cost.reads > 0);
        let mut saved: Vec<f64> = costs.map(Cost::saved_percent).collect();
        saved.sort_by(f64::total_cmp);
        let Some(last) = saved.len().checked_sub(1) else { return Spread::default() };
        let at = |quarter: usize| saved[(last * quarter + 2) / 4];
        let nothing = saved.iter().filter(|saved| **saved <= 0.0).count();
        Spread {
            least: at(0),
            quarter: at(1),
            median: at(2),
            three_quarters: at(3),
            most: at(4),
            nothing,
            sessions: saved.len(),
        }
    }

    /// The field names are part of the contract.
    #[must_use]
    pub fn json(&self) -> Value {
        let session = |s: &SessionTally| {
            let (strict, open) = (s.strict.cost(), s.open.cost());
            json!({
                "session": s.session, "reads": strict.reads, "plain_tokens": strict.plain, "sent_tokens": strict.sent,
                "saved_percent": rounded(strict.saved_percent()),
                "without_barrier": {"sent_tokens": open.sent, "saved_percent": rounded(open.saved_percent())},
            })
        };
        let violations = self.violations();
        json!({
            "ok": violations.is_empty(),
            "tokens": self.counted.as_str(),
            "answers": self.answers.as_str(),
            "sessions": self.sessions.len(),
            "transcripts": self.transcripts,
            "strict": side(&self.strict(), self.spread(|s| &s.strict)),
            "without_barrier": side(&self.open(), self.spread(|s| &s.open)),
            "edits_not_reported": side(&self.sum(|s| &s.unreported), self.spread(|s| &s.unreported)),
            "answers_seed": side(&self.sum(|s| &s.seed), self.spread(|s| &s.seed)),
            "per_session": self.sessions.iter().map(session).collect::<Vec<_>>(),
            "violations": violations,
        })
    }

    /// The same as tables. Writing to a `String` cannot fail.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (strict, open) = (self.strict(), self.open());
        let mut out = String::new();
        let _ = writeln!(out, "# What re-reads save on {} recorded sessions\n", self.sessions.len());
        let _ = writeln!(
            out,
            "answers = \"{}\"; tokens by {}; {} own edits and writes ({} could not be made as recorded), {} compactions, \
             {} reads of files put together from pieces, {} reads left out\n",
            self.answers.as_str(),
            self.counted.as_str(),
            strict.edits,
            strict.outside,
            strict.compactions,
            strict.pieced,
            strict.skipped,
        );
        if self.transcripts > 0 {
            let _ = writeln!(
                out,
                "{} of the sessions are transcripts of Claude Code. These are played once, with the strict barrier, and count as such \
                 everywhere below.\n",
                self.transcripts
            );
        }
        let _ = writeln!(out, "| | strict barrier | as if never compacted |\n|---|---:|---:|");
        let mut row = |what: &str, of: &dyn Fn(&Tally) -> String| {
            let _ = writeln!(out, "| {what} | {} | {} |", of(&strict), of(&open));
        };
        row("reads", &|t| t.reads.to_string());
        row("answered short", &|t| t.short().to_string());
        row("read tokens, plain", &|t| t.cost().plain.to_string());
        row("read tokens, sent", &|t| t.cost().sent.to_string());
        row("**read tokens saved**", &|t| format!("**{:.2} %**", t.cost().saved_percent()));
        row("tokens of answers to edits", &|t| t.edit_answers.to_string());
        row("violations", &|t| t.violations.len().to_string());
        let spreads = [self.spread(|s| &s.strict), self.spread(|s| &s.open)];
        let [of_strict, of_open] = spreads.map(|s| {
            format!("{:.1} / {:.1} / {:.1} / {:.1} / {:.1}", s.least, s.quarter, s.median, s.three_quarters, s.most)
        });
        let _ = writeln!(out, "| % saved in a session: least, quartiles, most | {of_strict} | {of_open} |");
        let [of_strict, of_open] = spreads.map(|s| format!("{} of {}", s.nothing, s.sessions));
        let _ = writeln!(out, "| sessions that save nothing | {of_strict} | {of_open} |");
        let _ = writeln!(out, "\n## By rule\n\n| what counts | read tokens saved |\n|---|---:|");
        for (rule, saved) in self.rules() {
            let _ = writeln!(out, "| {rule} | {saved:.2} % |");
        }
        decisions(&mut out, &strict);
        sights(&mut out, &strict);
        for violation in self.violations().iter().take(20) {
            let _ = writeln!(out, "\n**VIOLATION** {violation}");
        }
        out.trim_end().to_owned()
    }
}

fn decisions(out: &mut String, tally: &Tally) {
    let _ = writeln!(out, "\n## By decision and reason\n\n| answered | reads | plain tokens | sent | saved |");
    let _ = writeln!(out, "|---|---:|---:|---:|---:|");
    for (decision, cost) in by_size(&tally.decisions) {
        let Cost { reads, plain, sent } = cost;
        let _ = writeln!(out, "| {decision} | {reads} | {plain} | {sent} | {:.1} % |", cost.saved_percent());
    }
}

fn sights(out: &mut String, tally: &Tally) {
    let all = tally.cost().plain;
    let _ = writeln!(
        out,
        "\n## Plain answers, by what the model could see\n\n| in sight | answered | reads | tokens | of all |"
    );
    let _ = writeln!(out, "|---|---|---:|---:|---:|");
    for (sight, decisions) in &tally.plain {
        for (decision, cost) in by_size(decisions) {
            let share = Cost { reads: 0, plain: all, sent: all - cost.plain.min(all) }.saved_percent();
            let _ = writeln!(out, "| {sight} | {decision} | {} | {} | {share:.2} % |", cost.reads, cost.plain);
        }
    }
}

/// The costliest first.
fn by_size(costs: &BTreeMap<String, Cost>) -> Vec<(&String, Cost)> {
    let mut sorted: Vec<(&String, Cost)> = costs.iter().map(|(what, cost)| (what, *cost)).collect();
    sorted.sort_by_key(|(_, cost)| Reverse(cost.plain));
    sorted
}

fn side(tally: &Tally, spread: Spread) -> Value {
    let all = tally.cost();
    let table = |costs: &BTreeMap<String, Cost>| -> Map<String, Value> {
        let row = |(what, cost): (&String, &Cost)| {
            (what.clone(), json!({"reads": cost.reads, "plain_tokens": cost.plain, "sent_tokens": cost.sent}))
        };
        costs.iter().map(row).collect()
    };
    let plain: Map<String, Value> =
        tally.plain.iter().map(|(sight, costs)| (sight.clone(), Value::Object(table(costs)))).collect();
    json!({
        "reads": all.reads, "short": tally.short(), "plain_tokens": all.plain, "sent_tokens": all.sent,
        "saved_percent": rounded(all.saved_percent()),
        "edits": tally.edits, "outside": tally.outside, "pieced": tally.pieced, "compactions": tally.compactions,
        "skipped": tally.skipped,
        "edit_answer_tokens": tally.edit_answers,
        "decisions": table(&tally.decisions),
        "plain_by_sight": plain,
        "spread_percent": {
            "least": rounded(spread.least), "quarter": rounded(spread.quarter), "median": rounded(spread.median),
            "three_quarters": rounded(spread.three_quarters), "most": rounded(spread.most),
            "sessions": spread.sessions, "save_nothing": spread.nothing,
        },
        "violations": tally.violations.len(),
    })
}

/// Two places are more than a sample of sessions tells.
fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}
