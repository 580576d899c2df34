//! What each operation does: to the files, to the conversation, and to the product.

use readproof_core::edit::Places;
use readproof_disk::SessionName;
use readproof_engine::{
    EntryId, Error, Receipt, Refreshed, SessionView,
    operation::{Change, Operation, Over, Refresh},
};
use readproof_reader::{Replaces, Seen};
use std::cell::{Cell, RefCell};

use super::{
    Call, NamedConversation, Run, Step,
    conversation::{Alteration, Conversation, Turn},
    violation,
};
use crate::{
    ask::{Ask, OneWritten},
    changes::{FRESH, Wanted},
    glimpse::Shown,
    op::{Kind, Op, Random},
    world::{Harm, NAMES, session, some_common, some_edit, some_text},
};

/// The most conversations in one run.
const SESSIONS: usize = 4;

impl Run {
    pub(crate) fn step(&mut self, op: &Op) -> Step {
        let random = &mut Random::new(op.seed);
        self.agent = random.below(2);
        match op.kind {
            Kind::Read | Kind::Race => {
                let call = self.some_call(random);
                self.read(&call, random)
            }
            Kind::ReadAgain => {
                let Some(last) = self.last.clone() else { return self.idle() };
                let whole = Call { name: last.name, offset: None, limit: None };
                let other = self.call_of(last.name, random);
                let call = random.pick(&[whole, other, last]).cloned().unwrap_or_else(|| self.some_call(random));
                self.read(&call, random)
            }
            Kind::ReadFresh => {
                let call = self.some_call(random);
                self.read_fresh(&call)
            }
            Kind::ReadForProgram => {
                let call = self.some_call(random);
                self.read_for_program(&call, random)
            }
            Kind::Search => self.search(random),
            Kind::Preview => self.preview(random),
            Kind::MovedUnder => self.moved_under(random),
            Kind::Aborted => {
                let call = self.some_call(random);
                self.read_aborted(&call, random)
            }
            Kind::Batch => self.batch(random),
            Kind::Unconfirmed => self.unconfirmed(random),
            Kind::Late => self.late(random),
            Kind::Outside => self.outside(random),
            Kind::Revert => self.reverted(random),
            Kind::Policy => self.policy(random),
            Kind::Write | Kind::LostWrite => self.write(random, op.kind),
            Kind::Edit | Kind::LostEdit => self.edit(random, op.kind),
            Kind::EditAll => self.edit_all(random),
            Kind::FailedEdit => self.in_vain(random),
            Kind::Pieces => self.pieces(random),
            Kind::Loose => self.loosely(random),
            Kind::Stale => self.stale(random),
            Kind::Patch => self.patch(random),
            Kind::Rename => self.rename(random),
            Kind::Versions => self.versions(random),
            Kind::LookBack => self.look_back(random),
            Kind::Told => self.is_told(random),
            Kind::Shell => self.by_shell(random),
            Kind::Rewind => self.rewind(random),
            Kind::Resolve => self.resolve(random),
            Kind::Branch => self.branch(random),
            Kind::Switch => self.switch(random),
            Kind::Fork => self.fork(),
            Kind::Compact => self.compact(),
            Kind::ContextEdit => self.context_edit(random),
            Kind::Refresh => self.refresh(random),
            Kind::Restart => {
                self.note("restart".to_owned());
                Ok(self.world.restart(random.below(2))?)
            }
            Kind::DropObject => self.harm_object(random, Harm::Remove),
            Kind::AlterObject => self.harm_object(random, Harm::Alter),
            Kind::OtherSession => self.other_session(random),
            Kind::Prune => self.prune(random),
        }
    }

    /// Several calls at one leaf, delivered in any order; sometimes the file changes between them. A search among them is seen
    /// last, whenever it was made.
    fn batch(&mut self, random: &mut Random) -> Step {
        let first = self.some_call(random);
        let mut ways = Vec::new();
        for _ in 0..2 + random.below(3) {
            let call = if random.below(3) > 0 { self.call_of(first.name, random) } else { self.some_call(random) };
            ways.extend(self.ask(&call, random)?);
            if random.below(5) == 0 {
                self.world.change(call.name, random)?;
            }
        }
        let found = if random.below(3) == 0 { self.found(random)? } else { Shown::new() };
        if random.below(3) == 0 {
            self.world.revert(first.name, random)?;
        }
        while !ways.is_empty() {
            let way = ways.swap_remove(random.below(ways.len()));
            self.deliver(way)?;
        }
        self.shown(found);
        Ok(())
    }

    /// Never confirmed: the model may have seen it or not, and both must be sound.
    fn unconfirmed(&mut self, random: &mut Random) -> Step {
        let call = match self.last.clone() {
            Some(last) if random.below(2) == 0 => last,
            _ => self.some_call(random),
        };
        let Some(way) = self.ask(&call, random)? else { return Ok(()) };
        let seen = random.below(2) == 0;
        self.note(format!("that answer was never confirmed; seen: {seen}"));
        if seen {
            self.conversation().nodes[way.node].turn = Turn::Called { glimpsed: Some(way.seen) };
            let leaf = self.conversation().leaf;
            self.conversation().go(leaf);
        }
        Ok(())
    }

    /// The leaf moves while a call is out.
    fn late(&mut self, random: &mut Random) -> Step {
        let call = self.some_call(random);
        let Some(way) = self.ask(&call, random)? else { return Ok(()) };
        if random.below(3) == 0 {
            self.compact()?
        } else {
            self.branch(random)?
        }
        self.note("only now the answer comes in".to_owned());
        self.deliver(way)
    }

    /// Another process compacts or moves to the root while an answer is decided: it must be sound where it is given.
    fn moved_under(&mut self, random: &mut Random) -> Step {
        if self.conversation().leaf.is_none() {
            return self.idle();
        }
        let call = match self.last.clone() {
            Some(last) if random.below(3) > 0 => last,
            _ => self.some_call(random),
        };
        let (name, compacts) = (self.name(), random.below(2) == 0);
        let other = self.world.open()?;
        let (at, count, moved) = (random.below(4), Cell::new(0), RefCell::new(None));
        let hook = || {
            if count.get() == at {
                let entry = if compacts {
                    other.ask::<EntryId>(Some(&name), Operation::Compact { summary: None }).map(Some)
                } else {
                    other.ask::<Option<EntryId>>(Some(&name), Operation::Branch { at: None }).map(|_| None)
                };
                *moved.borrow_mut() = Some(entry);
            }
            count.set(count.get() + 1);
            false
        };
        let truth = self.world.truth(call.name);
        let request = self.request(&call);
        let result = self.engine().read_while(Some(&name), request, &hook);
        let asked_at = self.conversation().leaf;
        match moved.into_inner().transpose()? {
            Some(Some(entry)) => {
                self.note("another process compacts meanwhile".to_owned());
                self.conversation().push(Turn::Compacted, Some(entry));
            }
            Some(None) => {
                self.note("another process goes to the root meanwhile".to_owned());
                self.conversation().go(None);
            }
            None => {}
        }
        // The call is where it was made, wherever the conversation has moved since.
        match self.judge_at(asked_at, &call, &[truth], result)? {
            Some(way) => self.deliver(way),
            None => Ok(()),
        }
    }

    fn outside(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        self.note(format!("someone changes {name}"));
        Ok(self.world.change(name, random)?)
    }

    fn reverted(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        self.note(format!("{name} goes back to an earlier text"));
        Ok(self.world.revert(name, random)?)
    }

    /// A person changes the rules; or a file that both agents read is denied to them for a while.
    fn policy(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        if random.below(2) == 0 {
            let said = self.world.watch.change(name, random)?;
            self.note(said);
            return self.hide_a_line(name, random);
        }
        let whole = Call { name, offset: None, limit: None };
        if random.below(2) == 0 {
            self.read(&whole, random)?;
        }
        let said = self.world.watch.deny(name, random)?;
        self.note(said);
        for _ in 0..2 {
            self.agent = 1 - self.agent;
            let call = self.call_of(name, random);
            self.read(&call, random)?;
        }
        if random.below(3) == 0 {
            self.note(format!("someone changes {name}"));
            self.world.change(name, random)?;
        }
        self.hide_a_line(name, random)?;
        let said = self.world.watch.take_back(random)?;
        self.note(said);
        self.read(&whole, random)
    }

    /// Sometimes the file gets a line that nobody was shown.
    fn hide_a_line(&mut self, name: &'static str, random: &mut Random) -> Step {
        if random.below(3) == 0 && name != ".env" {
            self.note(format!("{name} gets one more line"));
            self.world.hide_a_line(name, random)?;
        }
        Ok(())
    }

    /// Mostly what was read last, so that operations meet.
    pub(crate) fn some_name(&self, random: &mut Random) -> &'static str {
        match &self.last {
            Some(last) if random.below(3) > 0 => last.name,
            _ => {
                let fresh = self.world.there(&FRESH);
                let names = if random.below(8) == 0 && !fresh.is_empty() { &fresh } else { self.world.names() };
                random.pick(names).copied().unwrap_or(NAMES[0].0)
            }
        }
    }

    fn write(&mut self, random: &mut Random, kind: Kind) -> Step {
        let name = self.some_name(random);
        if name == ".env" {
            return self.idle();
        }
        let content = some_text(self.world.shape(), random);
        let seen = Seen::Write { path: name.to_owned(), content: content.clone() };
        self.note(format!("the agent writes {name}"));
        let OneWritten { receipt, .. } = self.change(name, Change::Whole(content))?;
        let node = self.conversation().push(Turn::Called { glimpsed: None }, Some(receipt.entry));
        if kind == Kind::Write {
            return self.wrote(receipt, seen);
        }
        self.never_comes(node, seen, random);
        Ok(())
    }

    /// The result of a call is never confirmed; the model may still have seen it.
    pub(crate) fn never_comes(&mut self, node: usize, seen: Seen, random: &mut Random) {
        if random.below(2) == 0 {
            self.conversation().nodes[node].turn = Turn::Called { glimpsed: Some(seen) };
            let leaf = self.conversation().leaf;
            self.conversation().go(leaf);
        }
        self.note("and its result never comes".to_owned());
    }

    fn edit(&mut self, random: &mut Random, kind: Kind) -> Step {
        let name = self.some_name(random);
        match random.below(12) {
            0 | 1 => {
                self.page(name, 0, random)?;
                return self.edit_moved(name, random);
            }
            2 => return self.edit_end(name, random),
            // The file changes from outside first, perhaps between two of its pages.
            3..=6 => {
                self.page(name, random.below(2) as u64, random)?;
                self.note(format!("someone changes {name}"));
                self.world.change(name, random)?;
                if random.below(2) == 0 {
                    self.page(name, random.below(2) as u64, random)?;
                }
            }
            _ => {}
        }
        let change = self.some_change(name, None, random);
        self.edit_with(name, change, (Places::One, kind), random)
    }

    /// A text that may occur several times, or exactly once.
    fn edit_all(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let text = self.world.truth(name).unwrap_or_default();
        let change = match random.below(4) {
            0 => self.some_change(name, None, random),
            _ => some_common(&text, self.world.shape(), random),
        };
        self.edit_with(name, change, (Places::All, Kind::EditAll), random)
    }

    /// Old and new text for an edit of one occurrence: this line, or anything.
    fn some_change(&self, name: &str, line: Option<String>, random: &mut Random) -> Option<(String, String)> {
        let text = self.world.truth(name)?;
        match line {
            Some(line) if !line.is_empty() && text.matches(&line).count() == 1 => Some((line, "moved".to_owned())),
            Some(_) | None => some_edit(&text, self.world.shape(), random),
        }
    }

    /// A line moves to where it is shown again and is then edited; its old position may still be visible.
    fn edit_moved(&mut self, name: &'static str, random: &mut Random) -> Step {
        let moved = self.world.move_line(name, random)?;
        self.note(format!("a line of {name} moves to its second half"));
        self.page(name, 1, random)?;
        let change = self.some_change(name, moved, random);
        self.edit_with(name, change, (Places::One, Kind::Edit), random)
    }

    /// The last line gains or loses its terminator and is then edited: the model holds it differently.
    fn edit_end(&mut self, name: &'static str, random: &mut Random) -> Step {
        self.read(&Call { name, offset: None, limit: None }, random)?;
        let last = self.world.change_end(name)?;
        self.note(format!("the last line of {name} ends otherwise"));
        self.page(name, 0, random)?;
        let change = self.some_change(name, last, random);
        self.edit_with(name, change, (Places::One, Kind::Edit), random)?;
        self.page(name, 1, random)
    }

    /// The first or the second half of a file; neither shows where the file ends.
    pub(crate) fn page(&mut self, name: &'static str, which: u64, random: &mut Random) -> Step {
        let total = self.world.truth(name).map_or(0, |text| text.lines().count() as u64);
        let half = (total / 2).max(1);
        let offset = (which > 0).then_some(half + 1).filter(|offset| *offset <= total);
        self.read(&Call { name, offset, limit: Some(half) }, random)
    }

    fn edit_with(
        &mut self,
        name: &'static str,
        change: Option<(String, String)>,
        (places, kind): (Places, Kind),
        random: &mut Random,
    ) -> Step {
        let Some((old, new)) = change.filter(|_| name != ".env") else { return self.idle() };
        self.note(format!("the agent edits {name} ({places:?}): {old:?} becomes {new:?}"));
        let change = Change::Replace { old: old.clone(), new: new.clone(), places };
        let wanted = Wanted::unlikely(name, &[(old.clone(), new.clone())], Over::Anything);
        let (before, newest) = (wanted.texts(&self.world), self.newest_entry());
        let OneWritten { receipt, text, .. } = match self.engine().write(&self.name(), name, change) {
            // A last line without an end may be as much like it as the line that is meant; and no line end is cut in two.
            Err(error @ Error::Edit { .. })
                if before.iter().flatten().any(|text| !text.ends_with('\n'))
                    || (old.starts_with('\n') && before.iter().flatten().any(|text| text.contains('\r'))) =>
            {
                return self.not_done(&wanted, (&before, newest), &error);
            }
            written => written?,
        };
        self.world.remember(name);
        let replaces = if places == Places::All { Replaces::All } else { Replaces::One };
        let seen = Seen::Edit { path: name.to_owned(), old, new, replaces, answer: text.clone() };
        self.note(text);
        if let Err(complaint) = self.conversation().reader().clone().see(&seen) {
            return violation(format!("the answer to an edit cannot be right: {complaint}"));
        }
        let node = self.conversation().push(Turn::Called { glimpsed: None }, Some(receipt.entry));
        if kind == Kind::LostEdit {
            self.never_comes(node, seen, random);
            return Ok(());
        }
        self.wrote(receipt, seen)
    }

    fn change(&mut self, name: &str, change: Change) -> Step<OneWritten> {
        let written = self.engine().write(&self.name(), name, change)?;
        self.world.remember(name);
        Ok(written)
    }

    fn wrote(&mut self, receipt: Receipt, seen: Seen) -> Step {
        self.engine().delivered(&receipt)?;
        self.conversation().push(Turn::Saw(seen), Some(receipt.entry));
        Ok(())
    }

    /// Turns that the leaf can move to: what the product lists.
    pub(crate) fn places(&mut self) -> Vec<usize> {
        let conversation = self.conversation();
        let answered: Vec<_> = conversation
            .nodes
            .iter()
            .filter_map(|node| node.entry.filter(|_| matches!(node.turn, Turn::Saw(_))))
            .collect();
        let is_place = |at: &usize| {
            let node = &conversation.nodes[*at];
            match (&node.turn, node.entry) {
                (_, None) => false,
                (Turn::Called { .. }, Some(entry)) => !answered.contains(&entry),
                (Turn::Saw(_) | Turn::Compacted | Turn::Edited { .. } | Turn::Silent, Some(_)) => true,
            }
        };
        (0..conversation.nodes.len()).filter(is_place).collect()
    }

    fn branch(&mut self, random: &mut Random) -> Step {
        let places = self.places();
        let name = self.name();
        let to = if random.below(12) == 0 { None } else { random.pick(&places).copied() };
        let entry = to.and_then(|at| self.conversation().nodes[at].entry);
        if to.is_none() && self.conversation().nodes.is_empty() {
            return self.idle();
        }
        self.note(format!("on from {entry:?}"));
        let at = entry.map(|entry| entry.0);
        self.engine().ask::<Option<EntryId>>(Some(&name), Operation::Branch { at })?;
        self.conversation().go(to);
        Ok(())
    }

    fn switch(&mut self, random: &mut Random) -> Step {
        let places = self.places();
        let Some(at) = random.pick(&places).copied() else { return self.idle() };
        let Some(entry) = self.conversation().nodes[at].entry else { return self.idle() };
        let call = self.conversation().nodes.iter().position(|node| node.entry == Some(entry)).unwrap_or(at);
        let name = self.name();
        self.note(format!("to the tip of {entry}"));
        self.engine().ask::<Option<EntryId>>(Some(&name), Operation::Switch { to: entry.0 })?;
        let tip = self.conversation().tip(call);
        self.conversation().go(Some(tip));
        Ok(())
    }

    /// Forks this branch into a new session: the same turns under other numbers.
    fn fork(&mut self) -> Step {
        if self.conversations.len() >= SESSIONS || self.conversation().leaf.is_none() {
            return self.idle();
        }
        let (name, into) = (self.name(), session(self.conversations.len())?);
        self.note(format!("{name} is forked as {into}"));
        let fork = Operation::Fork { from: None, into: Some(into.to_string()) };
        let made: SessionName = self.engine().ask(Some(&name), fork)?;
        if made != into {
            return violation(format!("the fork is called {made}"));
        }
        let show = |name| self.engine().ask::<SessionView>(Some(name), Operation::ShowSession);
        let old: Vec<_> = show(&name)?.entries.into_iter().filter(|e| e.on_branch).collect();
        let new = show(&into)?.entries;
        if old.len() != new.len() {
            return violation(format!("the fork lists {} entries, the branch {}", new.len(), old.len()));
        }
        let renamed = |entry| old.iter().position(|e| Some(e.id) == entry).map(|at| new[at].id);
        let conversation = self.conversation();
        let mut copy = Conversation::default();
        copy.distrusted = conversation.distrusted;
        let path = conversation.path(conversation.leaf);
        for at in &path {
            let node = conversation.nodes[*at].clone();
            let place = |old: usize| path.iter().position(|other| *other == old);
            let turn = match node.turn {
                // An edit of something not on this branch means nothing here.
                Turn::Edited { target, how } => {
                    place(target).map_or(Turn::Silent, |target| Turn::Edited { target, how })
                }
                other @ (Turn::Called { .. } | Turn::Saw(_) | Turn::Compacted | Turn::Silent) => other,
            };
            let pruned = conversation.pruned.contains(at);
            let new_at = copy.push(turn, renamed(node.entry));
            copy.nodes[new_at].also = node.also.iter().filter_map(|entry| renamed(Some(*entry))).collect();
            copy.nodes[new_at].recorded = node.recorded;
            if pruned {
                copy.prune(new_at);
            }
        }
        self.conversations.push(NamedConversation { name: into, conversation: copy });
        self.current = self.conversations.len() - 1;
        Ok(())
    }

    fn compact(&mut self) -> Step {
        if self.conversation().nodes.is_empty() {
            return self.idle();
        }
        let name = self.name();
        self.note("compaction".to_owned());
        let entry = self.engine().ask(Some(&name), Operation::Compact { summary: None })?;
        self.conversation().push(Turn::Compacted, Some(entry));
        Ok(())
    }

    fn context_edit(&mut self, random: &mut Random) -> Step {
        let Some((target, entry)) = self.some_turn(random, |turn| matches!(turn, Turn::Saw(_))) else {
            return self.idle();
        };
        let original = match &self.conversation().nodes[target].turn {
            Turn::Saw(Seen::Read { answer, .. }) => Some(answer.text.clone()),
            Turn::Saw(Seen::Edit { answer, .. } | Seen::Changes { answer, .. }) => Some(answer.clone()),
            Turn::Saw(_) | Turn::Called { .. } | Turn::Compacted | Turn::Edited { .. } | Turn::Silent => None,
        };
        let (how, text) = match (random.below(4), original) {
            (0 | 1, _) => (Alteration::Dropped, None),
            (2, Some(text)) => (Alteration::Restored, Some(text)),
            (_, _) => (Alteration::Replaced, Some("[the host shortened this]".to_owned())),
        };
        let name = self.name();
        self.note(format!("the host shows {entry} otherwise: {how:?}"));
        // A result of several files is one block, under a number for each of them.
        let also = self.conversation().nodes[target].also.clone();
        for other in also.into_iter().filter(|other| *other != entry) {
            let edit = Operation::EditContext { target: other.0, text: text.clone() };
            self.engine().ask::<EntryId>(Some(&name), edit)?;
        }
        let edit = self.engine().ask(Some(&name), Operation::EditContext { target: entry.0, text })?;
        self.conversation().push(Turn::Edited { target, how }, Some(edit));
        Ok(())
    }

    /// The next read of these lines is plain, under every name of the file.
    fn refresh(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let call = self.call_of(name, random);
        if self.world.truth(name).is_none() || self.conversation().nodes.is_empty() {
            return self.idle();
        }
        self.note(format!("fresh text is asked for: {call:?}"));
        let refresh = Refresh { path: name.to_owned(), offset: call.offset, limit: call.limit };
        let done: Refreshed = match self.engine().ask(Some(&self.name()), Operation::Refresh(refresh)) {
            Err(Error::Range { .. }) => return self.idle(),
            other => other?,
        };
        if done.entry.is_none() {
            return violation(format!("a refresh of {name} was not recorded"));
        }
        self.conversation().push(Turn::Silent, done.entry);
        match random.below(4) {
            0 | 1 => return Ok(()),
            // What was refreshed is still visible after the file, and what is held of it, has changed.
            2 => {
                return self.edit_moved(name, random);
            }
            _ => {}
        }
        let same = self.world.names_of(name, &NAMES.map(|(name, _)| name));
        let other = random.pick(&same).copied().unwrap_or(name);
        let before = self.trace.len();
        self.read(&Call { name: other, ..call }, random)?;
        let short = [" unchanged (", " unchanged_range (", " diff ("];
        match self.trace.get(before) {
            Some(line) if short.iter().any(|mode| line.contains(mode)) => {
                violation(format!("{line}, though {name} was refreshed just before"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn harm_object(&mut self, random: &mut Random, harm: Harm) -> Step {
        if !self.world.harm_object(harm, random)? {
            return self.idle();
        }
        self.note(format!("an object is harmed: {harm:?}"));
        Ok(())
    }

    fn other_session(&mut self, random: &mut Random) -> Step {
        if self.conversations.len() < 2 {
            let name = session(self.conversations.len())?;
            self.conversations.push(NamedConversation { name, conversation: Conversation::default() });
        }
        self.current = random.below(self.conversations.len());
        self.note(format!("now session {}", self.name()));
        Ok(())
    }

    fn prune(&mut self, random: &mut Random) -> Step {
        let Some((at, entry)) = self.some_turn(random, |turn| matches!(turn, Turn::Saw(_))) else {
            return self.idle();
        };
        let name = self.name();
        self.note(format!("the host is seen to prune {entry} from its requests"));
        self.conversation().prune(at);
        self.conversation().distrusted = true;
        let why = "a result was missing from a request".to_owned();
        self.engine().ask::<EntryId>(Some(&name), Operation::Distrust { why })?;
        Ok(())
    }
}
