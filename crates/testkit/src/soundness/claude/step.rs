//! One operation of a run.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "each part of a step has its own kinds, and all others do nothing there"
)]

use readproof_engine::HostSessions;
use readproof_reader::claude::Sight;

use super::{
    Kind, Run,
    session::{CLEARED, Compaction, Flaw},
    tools,
    turn::Wanted,
};
use crate::{
    op::{Op, Random},
    run::Step,
    world::{line, some_common, some_edit, some_text},
};

impl Run {
    pub(super) fn step(&mut self, op: &Op<Kind>) -> Step {
        let mut random = Random::new(op.seed);
        let random = &mut random;
        let Some(name) = random.pick(&self.world.names.clone()).copied() else { return self.idle() };
        match op.kind {
            Kind::Read => self.read_some(name, None, random),
            Kind::ReadAgain => {
                let name = self.last.unwrap_or(name);
                self.read_some(name, None, random)
            }
            Kind::ReadFromZero => {
                self.turn(&[Wanted::Read { name, offset: Some(0), limit: None, race: false }], None, random)
            }
            Kind::Race => self.turn(&[Wanted::Read { name, offset: None, limit: None, race: true }], None, random),
            Kind::Redirected => self.redirected(name, random),
            Kind::NoRecord => self.read_some(self.last.unwrap_or(name), Some(Flaw::Missing), random),
            Kind::AlteredRecord => self.read_some(self.last.unwrap_or(name), Some(Flaw::Altered), random),
            Kind::LateRecord => self.read_some(self.last.unwrap_or(name), Some(Flaw::Late), random),
            Kind::ServiceClears => self.read_some(self.last.unwrap_or(name), Some(Flaw::Clears), random),
            Kind::Withheld => self.read_some(self.last.unwrap_or(name), Some(Flaw::Withheld), random),
            Kind::Batch => self.batch(random),
            Kind::Edit | Kind::EditAll | Kind::FailedEdit | Kind::AlteredChange | Kind::Write => {
                let name = if random.below(2) == 0 { self.last.unwrap_or(name) } else { name };
                match self.some_change(op.kind, name, random) {
                    Some(want) => self.turn(&[want], None, random),
                    None => self.idle(),
                }
            }
            Kind::Swallowed => self.swallowed(self.last.unwrap_or(name), random),
            Kind::OddName => self.odd_name(self.last.unwrap_or(name), random),
            Kind::Eyes => self.eyes(self.last.unwrap_or(name), random),
            Kind::Met => self.met(name, random),
            Kind::SentOtherwise => self.sent_otherwise(self.last.unwrap_or(name), random),
            Kind::Walk => self.walk(name, random),
            Kind::CompactByItself => {
                self.compacts = Some(self.some_files(random));
                self.read_some(self.last.unwrap_or(name), None, random)
            }
            Kind::Cat | Kind::Grep | Kind::Shell | Kind::ShellChange => {
                self.look(op.kind, self.last.unwrap_or(name), random)
            }
            Kind::Outside
            | Kind::Revert
            | Kind::Pushed
            | Kind::Compact
            | Kind::Rewind
            | Kind::Fork
            | Kind::Switch
            | Kind::Agent
            | Kind::Resume
            | Kind::Restart
            | Kind::Policy
            | Kind::Prompt
            | Kind::OtherHook
            | Kind::ClearedResult
            | Kind::AlteredResult => self.beside(op.kind, name, random),
        }
    }

    /// What happens without a call of the model.
    fn beside(&mut self, kind: Kind, name: &'static str, random: &mut Random) -> Step {
        match kind {
            Kind::Outside => {
                let name = if random.below(2) == 0 { self.last.unwrap_or(name) } else { name };
                self.world.change(name, random)?;
                self.say(format!("{name} changes outside"));
            }
            Kind::Revert => {
                let name = self.last.unwrap_or(name);
                self.world.revert(name, random)?;
                self.say(format!("{name} goes back to an earlier text"));
            }
            Kind::Pushed => return self.push(self.last.unwrap_or(name), random),
            Kind::Compact => self.compact(random)?,
            Kind::Rewind => {
                let places = self.session().places();
                let back = self.session().rewind(random.below(places.max(1)))?;
                self.say(format!("back in the conversation: {back}"));
            }
            Kind::Fork | Kind::Switch | Kind::Agent => return self.other_session(kind, random),
            Kind::Resume => {
                self.session().resume()?;
                self.restart()?;
                self.say("the conversation is taken up again".to_owned());
            }
            Kind::Restart => {
                self.restart()?;
                self.say("our process ends, another begins".to_owned());
            }
            Kind::Policy => {
                let words = match random.below(3) {
                    0 => self.world.watch.deny(name, random)?,
                    1 => self.world.watch.lift()?,
                    _ => self.world.watch.take_back(random)?,
                };
                self.world.hide_a_line(name, random)?;
                self.say(words);
            }
            Kind::Prompt => self.session().prompt("Go on.")?,
            Kind::OtherHook => {
                self.other_hook = true;
                self.say("from now on another hook alters what is read".to_owned());
            }
            Kind::ClearedResult => {
                let which = random.below(64);
                let call = self.session().replace(which, |_| CLEARED.to_owned());
                self.say(format!("the result of {call:?} is cleared"));
            }
            Kind::AlteredResult => {
                let which = random.below(64);
                let call = self.session().replace(which, |text| text.replacen('\t', "\tX", 1));
                self.say(format!("the result of {call:?} is sent with another text"));
            }
            _ => return self.idle(),
        }
        Ok(())
    }

    fn restart(&mut self) -> Step {
        self.hook = HostSessions::default();
        Ok(self.world.restart()?)
    }

    fn read_some(&mut self, name: &'static str, flaw: Option<Flaw>, random: &mut Random) -> Step {
        let want = self.some_read(name, random);
        self.turn(&[want], flaw, random)
    }

    fn some_read(&self, name: &'static str, random: &mut Random) -> Wanted {
        let count = self.world.truth(name).map_or(1, |text| text.split('\n').count());
        let (offset, limit) = match random.below(8) {
            0 | 1 => (Some(1 + random.below(count)), Some(1 + random.below(count))),
            2 => (Some(1 + random.below(count)), None),
            3 => (None, Some(1 + random.below(count + 2))),
            4 if random.below(4) == 0 => (Some(count + 1 + random.below(3)), None),
            _ => (None, None),
        };
        let offset = offset.and_then(|offset| i64::try_from(offset).ok());
        Wanted::Read { name, offset, limit: limit.map(|limit| limit as u64), race: false }
    }

    fn redirected(&mut self, name: &'static str, random: &mut Random) -> Step {
        let others: Vec<&'static str> =
            self.world.names.iter().copied().filter(|other| *other != name && *other != ".env").collect();
        let Some(other) = random.pick(&others).copied() else { return self.idle() };
        self.turn(&[Wanted::Read { name: other, offset: None, limit: None, race: false }], None, random)?;
        self.turn(&[Wanted::Redirected { name, other }], None, random)?;
        self.read_some(if random.below(2) == 0 { name } else { other }, None, random)
    }

    fn sent_otherwise(&mut self, name: &'static str, random: &mut Random) -> Step {
        let kind = if random.below(2) == 0 { Kind::Edit } else { Kind::Write };
        let Some(want) = self.some_change(kind, name, random) else { return self.idle() };
        let (argument, text) = match &want {
            Wanted::Edit { new, .. } => ("new_string", format!("{new} sent")),
            _ => ("content", "[cleared]".to_owned()),
        };
        self.turn(&[want], None, random)?;
        self.session().resend(argument, &text);
        self.say(format!("the call is sent with another {argument}"));
        self.read_some(name, None, random)
    }

    /// Another text is seen by the model and met by us, and the file goes back; the model may edit it then.
    fn met(&mut self, name: &'static str, random: &mut Random) -> Step {
        let whole = Wanted::Read { name, offset: None, limit: None, race: false };
        self.world.look_around()?;
        self.turn(std::slice::from_ref(&whole), None, random)?;
        let Some(before) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        if random.below(4) == 0 {
            self.world.set_back();
            self.say("the clock is set back".to_owned());
        }
        self.world.change(name, random)?;
        self.world.look_around()?;
        let printed = self.world.truth(name).unwrap_or_default();
        self.say(format!("{name} changes outside, and we look at it"));
        let shows = self.shows(name, "./show", printed.clone(), (None, printed));
        self.turn(&[shows], None, random)?;
        self.world.put(name, &before)?;
        self.say(format!("{name} goes back"));
        if random.below(2) == 0 {
            self.world.look_around()?;
        }
        if let Some(want) = self.some_change(Kind::Edit, name, random).filter(|_| random.below(2) == 0) {
            self.turn(&[want], None, random)?;
        }
        self.turn(&[whole], None, random)
    }

    /// A command with this output, that shows this of a file. A number behind it tells it from others.
    fn shows(&mut self, name: &str, command: &str, printed: String, (first, text): (Option<u64>, String)) -> Wanted {
        let number = self.sights.len();
        let command =
            if command == "TaskOutput" { format!("{command} {number}") } else { format!("{command} # {number}") };
        let path = self.world.path(name);
        let known = match command.strip_prefix("TaskOutput ") {
            Some(task) => format!("TaskOutput {}", serde_json::json!({"task_id": task})),
            None => command.clone(),
        };
        self.sights.push((known, Sight { path, first, text }));
        Wanted::Shell { command, printed, code: 0 }
    }

    /// The model sees another text of a file by a command that does not name it as it is, and the file goes back.
    fn eyes(&mut self, name: &'static str, random: &mut Random) -> Step {
        let Some(before) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        self.turn(&[Wanted::Read { name, offset: None, limit: None, race: false }], None, random)?;
        if random.below(8) == 0 {
            self.world.put(name, "")?;
        } else {
            self.world.change(name, random)?;
        }
        let text = self.world.truth(name).unwrap_or_default();
        self.say(format!("{name} changes outside"));
        let (stem, end) = name.split_once('.').unwrap_or((name, ""));
        let rows = |mark: &str| {
            (1..).zip(text.split('\n')).map(|(at, row)| format!("./{name}{mark}{at}:{row}\n")).collect::<String>()
        };
        let two = text.split('\n').take(2).collect::<Vec<_>>().join("\n");
        let whole = (None, text.clone());
        let shows = match random.below(10) {
            0 => self.shows(name, &format!("cat {stem}\".\"{end}"), text.clone(), whole),
            1 => self.shows(name, &format!("cat $PWD/{name}"), text.clone(), whole),
            2 => self.shows(name, &format!("head -99 *.{end}"), text.clone(), whole),
            3 => self.shows(name, &format!("cat {{x,{stem}}}.{end}"), text.clone(), whole),
            4 => self.shows(name, "cat $(ls)", text.clone(), whole),
            5 => self.shows(name, &format!("head -2 {name}"), two.clone(), (Some(1), two)),
            6 => self.shows(name, "grep -rn '' .", rows(":"), whole),
            7 => self.shows(name, "git diff", format!("diff --git a/{name} b/{name}\n{text}"), whole),
            8 => self.shows(name, "ls | xargs cat", text.clone(), whole),
            _ => self.shows(name, "TaskOutput", text.clone(), whole),
        };
        self.turn(&[shows], None, random)?;
        self.world.put(name, &before)?;
        self.say(format!("{name} goes back"));
        self.read_some(name, None, random)
    }

    /// The program tells of a change behind the output of a command that has its tags.
    fn swallowed(&mut self, name: &'static str, random: &mut Random) -> Step {
        let tags = [
            "<system-reminder>",
            "<system-reminder><system-reminder>",
            "\n\n<system-reminder>\n",
            "a\n\n<system-reminder>",
        ];
        let printed = format!("How to\n{}\nthe end", tags[random.below(tags.len())]);
        let Some(before) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        self.turn(&[Wanted::Shell { command: "./tail".to_owned(), printed, code: 0 }], None, random)?;
        self.tell(name, random)?;
        self.world.put(name, &before)?;
        self.say(format!("{name} goes back"));
        self.read_some(name, None, random)
    }

    /// The model writes the name of a file in another way; the file goes back after what it did.
    fn odd_name(&mut self, name: &'static str, random: &mut Random) -> Step {
        let Some(before) = self.world.truth(name) else { return self.idle() };
        let kind = if random.below(2) == 0 { Kind::Edit } else { Kind::Write };
        let want = match self.some_change(kind, name, random) {
            Some(want) if random.below(3) > 0 => want,
            _ => {
                self.world.change(name, random)?;
                self.some_read(name, random)
            }
        };
        self.spelling = Some(random.below(7));
        let done = self.turn(&[want], None, random);
        self.spelling = None;
        done?;
        self.world.put(name, &before)?;
        self.say(format!("{name} goes back"));
        self.read_some(name, None, random)
    }

    fn batch(&mut self, random: &mut Random) -> Step {
        let names = self.world.names.clone();
        let mut wanted = Vec::new();
        for _ in 0..2 + random.below(3) {
            let Some(name) = random.pick(&names).copied() else { continue };
            let name = if random.below(2) == 0 { self.last.unwrap_or(name) } else { name };
            if random.below(9) == 0 && name != ".env" {
                let text = self.world.truth(name).unwrap_or_default();
                wanted.push(self.shows(name, &format!("cat {name}"), text.clone(), (None, text)));
            } else if random.below(5) == 0 {
                wanted.extend(self.some_change(Kind::Edit, name, random));
            } else {
                wanted.push(self.some_read(name, random));
            }
        }
        if wanted.is_empty() { self.idle() } else { self.turn(&wanted, None, random) }
    }

    /// A change of the model; none if the file has nothing to change.
    fn some_change(&self, kind: Kind, name: &'static str, random: &mut Random) -> Option<Wanted> {
        let shape = self.world.shape;
        let path = self.world.root.join(name);
        let text = tools::text_of(&path);
        let altered = |random: &mut Random| (kind == Kind::AlteredChange).then(|| line(shape, random));
        if kind == Kind::Write || (kind == Kind::AlteredChange && random.below(3) == 0) || text.is_none() {
            let content = match random.below(6) {
                0 => text.unwrap_or_default(),
                1 => some_text(shape, random).replace('\n', "\r\n"),
                _ => some_text(shape, random),
            };
            return Some(Wanted::Write { name, content, instead: altered(random) });
        }
        let text = text?;
        let found =
            if kind == Kind::EditAll { some_common(&text, shape, random) } else { some_edit(&text, shape, random) };
        let (old, new) = found?;
        let old = if kind == Kind::FailedEdit { format!("{old} nowhere {}", line(shape, random)) } else { old };
        // The program takes blanks at line ends from what comes, in most files.
        let trimmed: Vec<&str> = new.split('\n').map(str::trim_end).collect();
        let new = if name.ends_with(".md") { new.clone() } else { trimmed.join("\n") };
        Some(Wanted::Edit { name, old, new, all: kind == Kind::EditAll, instead: altered(random) })
    }

    fn walk(&mut self, name: &'static str, random: &mut Random) -> Step {
        let whole = Wanted::Read { name, offset: None, limit: None, race: false };
        self.turn(std::slice::from_ref(&whole), None, random)?;
        self.world.change(name, random)?;
        self.say(format!("{name} changes outside"));
        let part = self.some_read(name, random);
        self.turn(&[part], None, random)?;
        if random.below(2) == 0 {
            self.world.revert(name, random)?;
            self.say(format!("{name} goes back to an earlier text"));
        }
        self.turn(&[whole], None, random)
    }

    /// A command of the model.
    fn look(&mut self, kind: Kind, name: &'static str, random: &mut Random) -> Step {
        if matches!(kind, Kind::Shell | Kind::ShellChange) {
            self.world.change(name, random)?;
            self.say(format!("{name} changes outside"));
        }
        let Some(text) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        let want = match kind {
            Kind::ShellChange => {
                let printed =
                    format!("[This command modified 1 file you've previously read: {name}. Call Read before editing.]");
                Wanted::Shell { command: format!("make {name}"), printed, code: 0 }
            }
            Kind::Grep => {
                let word = text.split_whitespace().nth(random.below(9)).unwrap_or("x").to_owned();
                let odd = |c: char| !c.is_alphanumeric();
                if word.contains(odd) {
                    return self.idle();
                }
                let rows = (1..).zip(text.split('\n')).filter(|(_, row)| row.contains(&word));
                let printed: Vec<String> = rows.map(|(number, row)| format!("{number}:{row}")).collect();
                Wanted::Shell { command: format!("grep -n {word} {name}"), printed: printed.join("\n"), code: 0 }
            }
            _ => Wanted::Shell { command: format!("cat {name}"), printed: text, code: i32::from(random.below(8) == 0) },
        };
        self.turn(&[want], None, random)?;
        if kind == Kind::Shell {
            self.world.revert(name, random)?;
            self.say(format!("{name} goes back to an earlier text"));
        }
        self.read_some(name, None, random)
    }

    /// The program notices a change and tells of it.
    fn push(&mut self, name: &'static str, random: &mut Random) -> Step {
        if self.tell(name, random)? { self.read_some(name, None, random) } else { self.idle() }
    }

    /// A file changes, and the program says so; whether it could.
    fn tell(&mut self, name: &'static str, random: &mut Random) -> Step<bool> {
        let before = self.attachable(name).map(|(_, text)| text).unwrap_or_default();
        self.world.change(name, random)?;
        let Some((path, after)) = self.attachable(name) else { return Ok(false) };
        let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
        let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let from = same.saturating_sub(2);
        let rows: Vec<String> =
            (from + 1..).zip(new.iter().skip(from).take(6)).map(|(number, row)| format!("{number}\t{row}")).collect();
        if !rows.is_empty() && self.session().note(&path, &rows.join("\n"))? {
            self.say(format!("{name} changes outside, and the program tells of it: {rows:?}"));
            self.last = Some(name);
            return Ok(true);
        }
        Ok(false)
    }

    fn compact(&mut self, random: &mut Random) -> Step {
        let attached = self.some_files(random);
        let kind = if random.below(2) == 0 { Compaction::Keeps } else { Compaction::OfAll };
        let told = self.told.clone();
        self.session().compact(&attached, kind, told.as_deref())?;
        let names: Vec<&String> = attached.iter().map(|(name, _)| name).collect();
        self.say(format!("a compaction: {kind:?}; attached: {names:?}"));
        Ok(())
    }

    /// Files that the program attaches anew.
    fn some_files(&self, random: &mut Random) -> Vec<(String, String)> {
        let names = self.world.names.iter().filter(|name| **name != ".env" && random.below(2) == 0);
        names.filter_map(|name| self.attachable(name)).collect()
    }

    fn other_session(&mut self, kind: Kind, random: &mut Random) -> Step {
        let number = self.sessions.len();
        match kind {
            Kind::Switch => self.current = random.below(number),
            Kind::Agent if random.below(2) == 0 => {
                let agents: Vec<usize> = (0..number).filter(|at| self.sessions[*at].agent.is_some()).collect();
                match random.pick(&agents) {
                    Some(at) => self.current = *at,
                    None => return self.idle(),
                }
            }
            Kind::Agent => {
                let agent = self.world.agent(&self.sessions[0], number)?;
                self.sessions.push(agent);
                self.current = number;
            }
            _ if self.session().agent.is_some() => return self.idle(),
            _ => {
                let fork = self.world.fork(&self.sessions[self.current], number)?;
                self.sessions.push(fork);
                self.current = number;
            }
        }
        let at = self.current;
        self.say(format!("{kind:?}: session {at}"));
        Ok(())
    }
}
