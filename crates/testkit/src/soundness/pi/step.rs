//! What each operation does: to the files, to the session, and to the product.

use readproof_core::{
    scope::{Lines, Scope},
    text::ContentHash,
};
use readproof_engine::{
    Error, HeldNow, HeldSpan, PiConversation, Refreshed,
    operation::{Operation, Refresh},
};
use readproof_reader::pi::{Asks, Judge};
use serde_json::json;
use std::sync::Arc;

use super::{
    Kind, Run,
    session::{Pruned, Pruner, What},
    turn::{How, Success, Then, Wanted, short},
    world::World,
};
use crate::{
    ask::{Ask, WAIT},
    op::{Op, Random},
    run::{Step, violation},
    world::{some_edit, some_text, watch::is_by_rule},
};

/// The most sessions in one run.
const SESSIONS: usize = 4;

impl Run {
    pub(super) fn step(&mut self, op: &Op<Kind>) -> Step {
        let random = &mut Random::new(op.seed);
        let answered = |fresh, race, then| How::Answered { fresh, race, then };
        match op.kind {
            Kind::Read => self.read(answered(false, false, Then::Kept), random),
            Kind::ReadAgain => self.read_again(random),
            Kind::ReadFresh => self.read(answered(true, false, Then::Kept), random),
            Kind::OwnRead => self.read(How::Own, random),
            Kind::OlderRead => self.read(How::Older, random),
            Kind::Race => self.read(answered(false, true, Then::Kept), random),
            Kind::Shortened => self.read(answered(false, false, Then::Shortened), random),
            Kind::Altered => self.read(answered(false, false, Then::Altered), random),
            Kind::Bare => {
                let odd = [Then::NoDetails, Then::NoDetails, Then::NoContent, Then::TwoBlocks, Then::Failed];
                let then = odd[random.below(odd.len())];
                self.bare(answered(false, false, then), random)
            }
            Kind::Batch => self.batch(random),
            Kind::Walk => self.walk(random),
            Kind::Outside => self.outside(random),
            Kind::Another => self.by_another(random),
            Kind::Revert => self.reverted(random),
            Kind::Policy => self.policy(random),
            Kind::Write | Kind::Edit | Kind::FailedChange | Kind::LostChange | Kind::FalseChange => {
                let name = self.some_name(random);
                let Some(change) = self.change(name, op.kind, random) else { return self.idle() };
                self.turn(vec![change], false, random)
            }
            Kind::Move | Kind::Summary => self.moved(op.kind == Kind::Summary, random),
            Kind::Fork => self.forked(random),
            Kind::Switch => {
                self.current = random.below(self.sessions.len());
                self.say(format!("session {} goes on", self.current));
                Ok(())
            }
            Kind::Compact => self.compacted(random),
            Kind::DropResult | Kind::ReplaceResult | Kind::DropCalls => self.context_edit(op.kind, random),
            Kind::Refresh => self.refreshed(random),
            Kind::Restart => self.restarted(random),
            Kind::FromFile => self.reopened(),
            Kind::Late => {
                self.late = 1 + random.below(3);
                self.read(answered(false, false, Then::Kept), random)
            }
            Kind::OutOfOrder => {
                self.session().out_of_order = true;
                self.read(answered(false, false, Then::Kept), random)
            }
            Kind::DropObject | Kind::AlterObject => self.object(op.kind, random),
            Kind::Inspect => self.inspect(),
            Kind::Noise => self.noise(random),
            Kind::Program => self.program(random),
            Kind::Noted => self.noted(),
            Kind::Shell => self.by_shell(random),
            Kind::Console => self.console(random),
            Kind::Rewind | Kind::TreeRewind => self.rewound(op.kind, random),
            Kind::Prune => self.prune(random),
            Kind::Distrust => {
                let session = self.session();
                session.distrusted = true;
                session.talk.distrust();
                self.say("the host prunes".to_owned());
                Ok(())
            }
        }
    }

    pub(super) fn some_name(&self, random: &mut Random) -> &'static str {
        let any = random.pick(&self.world.names).copied().unwrap_or("plain.txt");
        self.last.filter(|_| random.below(2) == 0).unwrap_or(any)
    }

    fn read(&mut self, how: How, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let want = self.some_read(name, how, random);
        self.asked = Some((name, want.asks.clone()));
        self.turn(vec![want], false, random)
    }

    fn read_again(&mut self, random: &mut Random) -> Step {
        let Some(name) = self.last else { return self.idle() };
        let how = How::Answered { fresh: false, race: false, then: Then::Kept };
        let again = self.asked.take().filter(|(of, _)| *of == name && random.below(3) == 0);
        let mut want = self.some_read(name, how, random);
        if let Some((_, again)) = again {
            want.asks = again;
        } else if random.below(2) == 0 {
            want.asks = Asks::Read { path: self.world.spelt(name, random), offset: None, limit: None };
        }
        self.asked = Some((name, want.asks.clone()));
        self.turn(vec![want], false, random)
    }

    /// A read whose result loses its metadata; often with a path that ends in a range.
    fn bare(&mut self, how: How, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let mut want = self.some_read(name, how.clone(), random);
        for _ in 0..random.below(12) {
            if !want.asks.path().contains(':') {
                want = self.some_read(name, how.clone(), random);
            }
        }
        self.turn(vec![want], false, random)
    }

    /// All of a file, or some of its lines; sometimes lines that do not exist.
    fn some_read(&mut self, name: &'static str, how: How, random: &mut Random) -> Wanted {
        self.last = Some(name);
        let total = self.world.truth(name).map_or(1, |text| text.split('\n').count()) as u64;
        let path = self.world.spelt(name, random);
        let any = |random: &mut Random| 1 + random.bits() % total;
        let near = |line: u64, random: &mut Random| (line + random.bits() % 5).saturating_sub(2).max(1);
        let (offset, limit) = match random.below(16) {
            0..=6 => (None, None),
            7 => (None, Some((total / 2).max(1))),
            8 => (Some(total / 2 + 1), None),
            // Just before the end, at the end and after it.
            9 => (None, Some(near(total, random))),
            10 => {
                let first = any(random);
                (Some(first), Some(near(total - first + 1, random)))
            }
            11 => (Some(near(total, random)), None),
            // At the end of a page.
            12 if total > 1900 => (Some(near(2000, random)), None),
            12 => (Some(any(random)), Some(1)),
            13 if random.below(3) == 0 => (Some(0), None),
            13 => (Some(any(random)), Some(any(random))),
            // pi's own tool and the older one do not support ranges in paths.
            _ if matches!(how, How::Own | How::Older) => (Some(any(random)), Some(any(random))),
            _ => {
                let first = any(random);
                let last = first + random.bits() % (total - first + 3);
                let range = if random.below(3) == 0 { format!("{first}") } else { format!("{first}-{last}") };
                let asks = Asks::Read { path: format!("{path}:{range}"), offset: None, limit: None };
                return Wanted { name, asks, how };
            }
        };
        let offset = offset.and_then(|offset| i64::try_from(offset).ok());
        Wanted { name, asks: Asks::Read { path, offset, limit }, how }
    }

    /// Several calls in one message.
    fn batch(&mut self, random: &mut Random) -> Step {
        let mut wanted = Vec::new();
        let flips = random.below(4) == 0;
        let same = self.some_name(random);
        for _ in 0..2 + random.below(3) {
            let name = if flips { same } else { self.some_name(random) };
            let kinds = [Kind::Write, Kind::Edit, Kind::FailedChange, Kind::LostChange, Kind::FalseChange];
            let change = if random.below(3) == 0 {
                let kind = random.pick(&kinds).copied().unwrap_or(Kind::Write);
                self.change(name, kind, random)
            } else {
                None
            };
            let how = match random.below(8) {
                0 => How::Older,
                1 => How::Own,
                _ => How::Answered { fresh: false, race: false, then: Then::Kept },
            };
            wanted.push(change.unwrap_or_else(|| self.some_read(name, how, random)));
        }
        self.turn(wanted, random.below(3) > 0, random)
    }

    /// A file is read whole, changes, is read in part once or twice the same way, and whole again: what was said about it in
    /// between counts.
    fn walk(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let how = |then| How::Answered { fresh: false, race: false, then };
        let kept = || how(Then::Kept);
        let whole = |run: &Self, random: &mut Random| {
            let asks = Asks::Read { path: run.world.spelt(name, random), offset: None, limit: None };
            Wanted { name, asks, how: kept() }
        };
        let first = whole(self, random);
        self.turn(vec![first], false, random)?;
        self.world.change(name, random)?;
        self.say(format!("{name} changed outside: {}", tail(&self.world.truth(name).unwrap_or_default())));
        let by = if random.below(3) == 0 { How::Older } else { kept() };
        let part = self.some_read(name, by, random);
        for _ in 0..1 + random.below(2) {
            let bare = random.below(5) == 0 && !matches!(part.how, How::Older);
            let how = if bare { how(Then::NoDetails) } else { part.how.clone() };
            let again = Wanted { name, asks: part.asks.clone(), how };
            self.turn(vec![again], false, random)?;
        }
        if random.below(2) == 0 {
            self.world.revert(name, random)?;
            self.say(format!("{name} went back: {}", tail(&self.world.truth(name).unwrap_or_default())));
        }
        let last = whole(self, random);
        self.turn(vec![last], false, random)
    }

    fn outside(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        self.world.change(name, random)?;
        let now = self.world.truth(name);
        self.say(format!("{name} changed outside: {}", now.map_or("gone".to_owned(), |now| tail(&now))));
        Ok(())
    }

    /// Another agent edits the file through this program.
    fn by_another(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        if !self.world.change_by_another(name, random)? {
            return self.idle();
        }
        let now = self.world.truth(name).unwrap_or_default();
        self.say(format!("{name} was edited by another agent: {}", tail(&now)));
        Ok(())
    }

    fn reverted(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        self.world.revert(name, random)?;
        let now = self.world.truth(name).unwrap_or_default();
        self.say(format!("{name} went back: {}", tail(&now)));
        Ok(())
    }

    /// A person changes the rules; or a file is denied for a while.
    fn policy(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        if random.below(2) == 0 {
            let said = self.world.watch.change(name, random)?;
            self.say(said);
            return self.hide_a_line(name, random);
        }
        let how = || How::Answered { fresh: false, race: false, then: Then::Kept };
        let whole = |run: &Self, random: &mut Random| {
            let asks = Asks::Read { path: run.world.spelt(name, random), offset: None, limit: None };
            Wanted { name, asks, how: how() }
        };
        if random.below(2) == 0 {
            let first = whole(self, random);
            self.turn(vec![first], false, random)?;
        }
        let said = self.world.watch.deny(name, random)?;
        self.say(said);
        let denied = self.some_read(name, how(), random);
        self.turn(vec![denied], false, random)?;
        if random.below(3) == 0 {
            self.world.change(name, random)?;
            self.say(format!("{name} changed outside"));
        }
        self.hide_a_line(name, random)?;
        let said = self.world.watch.take_back(random)?;
        self.say(said);
        let last = whole(self, random);
        self.turn(vec![last], false, random)
    }

    /// Sometimes the file gets a line that nobody was shown.
    fn hide_a_line(&mut self, name: &'static str, random: &mut Random) -> Step {
        if random.below(3) == 0 && name != ".env" {
            self.world.hide_a_line(name, random)?;
            self.say(format!("{name} gets one more line"));
        }
        Ok(())
    }

    /// A change by the model.
    pub(super) fn change(&mut self, name: &'static str, kind: Kind, random: &mut Random) -> Option<Wanted> {
        self.last = Some(name);
        let shape = self.world.shape;
        let path = self.world.spelt(name, random);
        let truth = self.world.truth(name);
        let edits = kind == Kind::Edit || (kind != Kind::Write && random.below(2) == 0);
        let (asks, after) = if edits {
            let truth = truth?;
            let mut edits = vec![some_edit(&truth, shape, random)?];
            let mut after = truth.replacen(&edits[0].0, &edits[0].1, 1);
            if random.below(3) == 0
                && let Some(second) = some_edit(&truth, shape, random)
                && apart(&truth, &edits[0].0, &second.0)
                && after.matches(&second.0).count() == 1
            {
                after = after.replacen(&second.0, &second.1, 1);
                edits.push(second);
            }
            (Asks::Edit { path, edits }, after)
        } else {
            let content = match (random.below(4), truth) {
                // The text that is there already, or almost.
                (0, Some(truth)) => truth,
                (1, Some(truth)) => format!("{truth}written\n"),
                _ => some_text(shape, random),
            };
            (Asks::Write { path, content: content.clone() }, content)
        };
        self.world.note(&after);
        let (after, result) = if kind == Kind::FailedChange {
            (Some(after).filter(|_| random.below(3) == 0), Some(Success::Failed))
        } else if kind == Kind::LostChange {
            (Some(after).filter(|_| random.below(2) == 0), None)
        } else if kind == Kind::FalseChange {
            let formatted = format!("{}// formatted\n", after.replace("  ", " "));
            (Some(formatted).filter(|_| random.below(2) == 0), Some(Success::Said))
        } else {
            (Some(after), Some(Success::Said))
        };
        Some(Wanted { name, asks, how: How::Changed { after, result } })
    }

    /// Continues from an earlier entry.
    fn moved(&mut self, summary: bool, random: &mut Random) -> Step {
        let session = self.session();
        if session.nodes.is_empty() {
            return self.idle();
        }
        let count = session.nodes.len();
        let near = count.saturating_sub(1 + random.below(12));
        let to = if random.below(3) == 0 { random.below(count) } else { near };
        let old = session.leaf_id().unwrap_or_default();
        session.leaf = Some(to).filter(|_| random.below(30) > 0);
        let at = session.leaf;
        if summary {
            let more = format!(r#""fromId":"{old}","summary":"s""#);
            session.append("branch_summary", &more, What::Nothing);
        }
        self.say(format!("on from {at:?}{}", if summary { " with a summary" } else { "" }));
        Ok(())
    }

    fn forked(&mut self, random: &mut Random) -> Step {
        if self.sessions.len() >= SESSIONS {
            return self.idle();
        }
        let number = self.sessions.len();
        let back = random.below(4);
        let session = &mut self.sessions[self.current];
        let stood = session.leaf;
        session.leaf = session.branch(stood).iter().rev().nth(back).copied().or(stood);
        let fork = session.fork(number, &self.world.engine);
        session.leaf = stood;
        self.say(format!("session {number} is forked from {}, {back} entries back", self.current));
        self.sessions.push(fork);
        self.current = number;
        Ok(())
    }

    fn compacted(&mut self, random: &mut Random) -> Step {
        let session = self.session();
        let kept = random.pick(&session.window()).map(|at| session.nodes[*at].id.clone()).unwrap_or_default();
        let more = format!(r#""summary":"s","firstKeptEntryId":"{kept}","tokensBefore":9"#);
        let at = session.append("compaction", &more, What::Compaction);
        self.say(format!("e{at}: compaction"));
        Ok(())
    }

    /// The host changes what the model sees of an entry.
    fn context_edit(&mut self, kind: Kind, random: &mut Random) -> Step {
        let session = self.session();
        let wanted = |at: &usize| match &session.nodes[*at].what {
            What::Result(_) => kind != Kind::DropCalls,
            What::Calls(_) => kind == Kind::DropCalls,
            What::Nothing
            | What::Compaction
            | What::Edit { .. }
            | What::Refreshed { .. }
            | What::Printed { .. }
            | What::Shell { .. } => false,
        };
        let fit: Vec<usize> = session.window().into_iter().filter(wanted).collect();
        // Mostly something recent.
        let from = if random.below(2) == 0 { fit.len().saturating_sub(4) } else { 0 };
        let Some(target) = random.pick(&fit[from..]).copied() else { return self.idle() };
        let other = random.pick(&fit).copied();
        let text = |at: usize| session.nodes[at].what.result().and_then(|result| result.text.clone());
        let shown = match (kind, random.below(4)) {
            (Kind::DropResult, _) | (Kind::DropCalls, 0..3) => None,
            (Kind::ReplaceResult, 0) => text(target),
            (Kind::ReplaceResult, 1) => other.and_then(text),
            (Kind::ReplaceResult, 2) => text(target).map(|text| format!("{text}.")),
            _ => Some("[pruned]".to_owned()),
        };
        let replacement = match &shown {
            None => json!(null),
            Some(text) if random.below(2) == 0 => json!({ "content": text }),
            Some(text) => json!({ "content": [{ "type": "text", "text": text }] }),
        };
        let more = format!(r#""targetId":"{}","replacement":{replacement}"#, session.nodes[target].id);
        let said = shown.as_deref().map_or("nothing".to_owned(), short);
        let at = session.append("context_edit", &more, What::Edit { target, shown });
        self.say(format!("e{at}: of e{target} is shown {said}"));
        Ok(())
    }

    /// Fresh text is asked for.
    fn refreshed(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let total = self.world.truth(name).map_or(1, |text| text.split('\n').count()) as u64;
        let (offset, limit) = match random.below(3) {
            0 => (None, None),
            1 => (Some(1 + random.bits() % total), Some(1 + random.bits() % 4)),
            _ => (Some(1 + random.bits() % total), None),
        };
        let path = self.world.spelt(name, random);
        self.session().send(0)?;
        let session = &mut self.sessions[self.current];
        let leaf = session.leaf_id();
        let refresh = Operation::Refresh(Refresh { path: path.clone(), offset, limit });
        let done = self.world.engine.call(&mut session.talk.call(leaf.as_deref()), refresh, WAIT);
        let done: Refreshed = match done.and_then(TryInto::try_into) {
            Ok(done) => done,
            Err(Error::Range { .. }) => return self.idle(),
            Err(error) if is_by_rule(&error) => return self.idle(),
            Err(error) => return violation(format!("{path} could not be refreshed: {error}")),
        };
        let lines = match done.scope {
            Scope::Full => None,
            Scope::Lines(lines) => Some((u64::from(lines.first()), u64::from(lines.last()))),
        };
        let said = format!("refresh of {path} {:?}: {:?} of {:?}", (offset, limit), done.scope, done.paths);
        for (number, key) in done.paths.iter().enumerate() {
            let scope = done.scope.to_string();
            let data = json!({ "v": 1, "kind": "invalidate", "pathKey": key, "scopeKey": scope, "at": 5 });
            let more = format!(r#""customType":"pi-readcache","data":{data}"#);
            let mut paths = vec![key.clone()];
            // After the last of them, it applies to every name of the file that the caller may use. What the model read under
            // another name is in sight all the same, so a marker that relies on it says nothing wrong.
            let last = number + 1 == done.paths.len() && !self.world.watch.is_unread(name);
            if last && !self.session().is_known_in_part() {
                paths.extend(self.world.names_in_sight_of(name));
            }
            self.session().append("custom", &more, What::Refreshed { paths, lines });
        }
        self.say(said);
        Ok(())
    }

    fn restarted(&mut self, random: &mut Random) -> Step {
        self.world.restart()?;
        for session in &mut self.sessions {
            if random.below(2) == 0 {
                session.resend(&self.world.engine)?;
            }
        }
        self.sessions[self.current].resend(&self.world.engine)?;
        self.say("the process ends and another begins".to_owned());
        Ok(())
    }

    fn reopened(&mut self) -> Step {
        let file = self.world.root.with_file_name(format!("session-{}.jsonl", self.current));
        self.world.restart()?;
        self.sessions[self.current].reopen(&self.world.engine, &file)?;
        self.say("another process begins from the session file".to_owned());
        Ok(())
    }

    fn object(&mut self, kind: Kind, random: &mut Random) -> Step {
        let stored = self.world.stored();
        let names = stored.names();
        let Some(name) = random.pick(&names) else { return self.idle() };
        let text_of = |name: &String| stored.read(name).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if kind == Kind::DropObject {
            stored.remove(name)?;
        } else {
            let text = text_of(name).unwrap_or_default();
            let changed = match random.below(3) {
                0 => format!("{text}altered\n"),
                1 => text.replacen('\n', "\n\n", 1) + " ",
                _ => random.pick(&names).and_then(text_of).unwrap_or_default(),
            };
            stored.write(name, changed.into_bytes())?;
        }
        self.say(format!("{kind:?} {name}"));
        Ok(())
    }

    /// What the product says is held must be visible to the model, byte for byte, whether or not it is asked for.
    fn inspect(&mut self) -> Step {
        let file = self.world.root.with_file_name("inspected.jsonl");
        self.session().save(&file)?;
        let leaf = self.session().leaf_id();
        // A session file does not show what is pruned from requests.
        if leaf.is_none() || self.session().pruner.is_some() {
            return self.idle();
        }
        let looked = || -> Result<HeldNow, Error> {
            let mut talk = PiConversation::open_copy(&self.world.engine, &file)?;
            let held =
                self.world.engine.call(&mut talk.call_at(leaf.as_deref())?, Operation::Held { path: None }, WAIT)?;
            Ok(*Box::<HeldNow>::try_from(held)?)
        };
        let view = match looked() {
            Ok(view) => view,
            Err(error) => return violation(format!("the session could not be looked at: {error}")),
        };
        let judge = self.session().judge().clone();
        // What a shell showed stands in no entry that counts; the version log tells it, and a session file alone does not.
        let shown = self.session().shown_by_shells();
        for file in view.files {
            let path = self.world.root.join(&file.path).display().to_string();
            if shown.contains(&path) {
                continue;
            }
            let missing = file.spans.iter().find(|span| !in_sight(&self.world, &judge, &path, span));
            if let Some(HeldSpan { lines, end, proof, .. }) = missing {
                let said = format!("{path} {lines:?}, end {end}, counts as held since {}", proof.entry);
                return violation(format!("{said}, but is not in sight"));
            }
        }
        Ok(())
    }

    /// A call whose program reads files, as pi records it, and prints some of what it got.
    fn program(&mut self, random: &mut Random) -> Step {
        self.session().request();
        let (mut calls, mut paths) = (Vec::new(), Vec::new());
        let complete = random.below(6) > 0;
        for number in 0..1 + random.below(3) {
            let name = self.some_name(random);
            if random.below(3) == 0 {
                self.world.change(name, random)?;
                self.say(format!("{name} changed outside"));
            }
            let path = self.world.spelt(name, random);
            let found = self.world.truth(name).is_some();
            if found && random.below(4) > 0 {
                paths.push(self.world.root.join(name).display().to_string());
            }
            let status = if found { "ok" } else { "error" };
            // pi leaves out what it has no room for.
            let (left_out, bare) = (!complete && random.below(2) == 0, !complete && random.below(2) == 0);
            if !left_out {
                let id = format!("p/{number}");
                calls.push(if bare {
                    json!({ "id": id, "name": "read", "argumentsBytes": 9000, "status": status })
                } else {
                    json!({ "id": id, "name": "read", "arguments": { "path": path }, "status": status })
                });
            }
        }
        let id = self.call_id();
        let call = format!(
            r#""message":{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"codemode","arguments":{{"code":"…"}}}}]}}"#
        );
        let nested = json!({ "calls": calls, "complete": complete });
        let result = format!(
            r#""message":{{"role":"toolResult","toolCallId":"{id}","toolName":"codemode","content":[],"nestedCalls":{nested},"isError":false}}"#
        );
        let session = self.session();
        session.append("message", &call, What::Calls(Vec::new()));
        let said = format!("a program prints of {paths:?}; pi says {nested}");
        let at = session.append("message", &result, What::Printed { paths });
        self.say(format!("e{at}: {said}"));
        Ok(())
    }

    /// Another extension starts or stops pruning. Whether it is loaded before ours or after, ours checks what is left.
    fn prune(&mut self, random: &mut Random) -> Step {
        let which = [Pruned::All, Pruned::Blank, Pruned::Uncounted][random.below(3)];
        let pruner = Pruner { keep: random.below(4), which, drops: random.below(2) == 0 };
        let session = self.session();
        session.pruner = if session.pruner.is_some() { None } else { Some(pruner) };
        let said = format!("from here on pruned: {:?}", session.pruner);
        self.say(said);
        Ok(())
    }

    /// Entries that have nothing to do with files.
    fn noise(&mut self, random: &mut Random) -> Step {
        let session = self.session();
        let user = r#""message":{"role":"user","content":[{"type":"text","text":"go on"}]}"#;
        let bash = r#""message":{"role":"assistant","content":[{"type":"toolCall","id":"b","name":"bash","arguments":{"command":"read"}}]}"#;
        let (kind, more) = [
            ("message", user),
            ("message", bash),
            ("model_change", r#""model":"m""#),
            ("custom_message", r#""customType":"x","content":"[readcache: unchanged, 3 lines]","display":true"#),
            ("custom", r#""customType":"other","data":{"v":1}"#),
            ("label", r#""targetId":"x","label":"l""#),
        ][random.below(6)];
        let at = session.append(kind, more, What::Nothing);
        self.say(format!("e{at}: {kind}"));
        Ok(())
    }
}

/// Whether the judge sees these lines, with the text they are said to have.
fn in_sight(world: &World, judge: &Judge, path: &str, span: &HeldSpan) -> bool {
    // The text after an edit is known only to those who saw the text before it.
    let text = world.noted(span.hash).or_else(|| {
        let seen = judge.lines(path, 1, judge.total(path)?)?;
        let seen: Vec<&str> = seen.iter().map(|line| &**line).collect();
        Some(seen.join("\n").into()).filter(|text: &Arc<str>| ContentHash::of(text.as_bytes()) == span.hash)
    });
    let first = span.lines.map_or(span.total + 1, Lines::first);
    let last = span.lines.map_or(span.total, Lines::last);
    let Some(text) = text else {
        return judge.lines(path, first.into(), last.into()).is_some();
    };
    let all: Vec<&str> = text.split('\n').collect();
    let last = if span.end { all.len() } else { last as usize };
    let due = all.get(first as usize - 1..last).unwrap_or_default();
    let seen = judge.lines(path, first.into(), last as u64).unwrap_or_default();
    // A missing final newline is not a line.
    let only_end = span.lines.is_none() && first as usize > last;
    let same = (only_end || !due.is_empty()) && seen.iter().map(|line| &**line).eq(due.iter().copied());
    // A page shown since may tell the model that the file is longer; then this is not the whole text.
    same && (!span.end || first > 1 || judge.total(path) == Some(all.len() as u64))
}

/// Whether two texts occur in a third without overlapping.
fn apart(text: &str, one: &str, other: &str) -> bool {
    let (Some(a), Some(b)) = (text.find(one), text.find(other)) else { return false };
    a + one.len() <= b || b + other.len() <= a
}

/// The end of a text, and how long it is.
fn tail(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(60));
    format!("{} lines, … {:?}", text.split('\n').count(), &text[from..])
}
