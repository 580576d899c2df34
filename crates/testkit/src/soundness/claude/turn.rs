//! One message of the model: the request that it answers is recorded, its calls are performed, reads go through the product, and what
//! the next request shows is judged.

use readproof_reader::claude::Judge;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

use super::{
    Run,
    product::{self, Asked},
    request::{compare, judged},
    session::{Compaction, Flaw, Given},
    tools::{self, Done, Edit},
};
use crate::{
    op::Random,
    run::{Step, violation},
};

/// A call that is to be made.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    Read {
        name: &'static str,
        offset: Option<i64>,
        limit: Option<u64>,
        race: bool,
    },
    /// A read that somebody sends to another file.
    Redirected {
        name: &'static str,
        other: &'static str,
    },
    Edit {
        name: &'static str,
        old: String,
        new: String,
        all: bool,
        instead: Option<String>,
    },
    Write {
        name: &'static str,
        content: String,
        instead: Option<String>,
    },
    /// A look at a file; `false` for one whose output says nothing of it.
    Shell {
        command: String,
        printed: String,
        code: i32,
    },
}

/// What a read was asked, and the true text then.
struct Pending {
    name: &'static str,
    window: (Option<i64>, Option<u64>),
    truth: String,
}

impl Run {
    /// Adds a message with these calls.
    pub(super) fn turn(&mut self, wanted: &[Wanted], flaw: Option<Flaw>, random: &mut Random) -> Step {
        let blocks: Vec<Value> = wanted.iter().map(|want| self.block(want)).collect();
        let ids: Vec<String> = blocks.iter().map(|block| block["id"].as_str().unwrap_or_default().to_owned()).collect();
        let at = self.current;
        self.say(format!("session {at}: the model calls {}", described(&blocks)));
        if let Some(flaw) = flaw {
            self.say(format!("the record of the request: {flaw:?}"));
        }
        let lines = self.session().answer(blocks.clone(), flaw)?;
        let calls: BTreeMap<String, String> = ids.iter().cloned().zip(lines).collect();
        let mut given = Vec::new();
        let mut pending = BTreeMap::new();
        for ((want, id), block) in wanted.iter().zip(&ids).zip(&blocks) {
            let done = self.done(want, id, &block["input"], &mut pending, random)?;
            let of_file = !matches!(want, Wanted::Shell { .. });
            given.push(Given { call: id.clone(), text: done.text, failed: done.failed, own: done.own, of_file });
        }
        // Results arrive in any order.
        if given.len() > 1 && random.below(3) == 0 {
            given.rotate_left(1);
        }
        self.session().arrive(given, &calls)?;
        if let Some(files) = self.compacts.take() {
            let told = self.told.clone();
            self.session().compact(&files, Compaction::BeforeTheNextRequest, told.as_deref())?;
            let names: Vec<&String> = files.iter().map(|(name, _)| name).collect();
            self.say(format!("a compaction before the next request; attached: {names:?}"));
        }
        self.judge(&pending)
    }

    fn block(&mut self, want: &Wanted) -> Value {
        self.calls += 1;
        let id = format!("toolu_{:05}", self.calls);
        let (tool, input) = match want {
            Wanted::Read { name, offset, limit, .. } => {
                let mut input = json!({"file_path": self.spelled(name)});
                if let Some(offset) = offset {
                    input["offset"] = json!(offset);
                }
                if let Some(limit) = limit {
                    input["limit"] = json!(limit);
                }
                ("Read", input)
            }
            Wanted::Redirected { name, .. } => ("Read", json!({"file_path": self.world.path(name)})),
            Wanted::Edit { name, old, new, all, .. } => {
                let path = self.spelled(name);
                ("Edit", json!({"replace_all": all, "file_path": path, "old_string": old, "new_string": new}))
            }
            Wanted::Write { name, content, .. } => {
                ("Write", json!({"file_path": self.spelled(name), "content": content}))
            }
            Wanted::Shell { command, .. } if command.starts_with("TaskOutput ") => {
                ("TaskOutput", json!({"task_id": command.trim_start_matches("TaskOutput ")}))
            }
            Wanted::Shell { command, .. } => ("Bash", json!({"command": command, "description": "d"})),
        };
        json!({"id": id, "input": input, "name": tool, "type": "tool_use"})
    }

    /// The name as the model writes it.
    fn spelled(&self, name: &str) -> String {
        let whole = self.world.path(name);
        match self.spelling {
            Some(0) => name.to_owned(),
            Some(1) => format!("./{name}"),
            Some(2) => format!("{whole} "),
            Some(3) => format!(" {whole}"),
            Some(4) => format!("~/project/{name}"),
            Some(5) => whole.replace("/project/", "/project//"),
            Some(_) => whole.replace("/project/", "/project/x/../"),
            None => whole,
        }
    }

    fn done(
        &mut self,
        want: &Wanted,
        id: &str,
        input: &Value,
        pending: &mut BTreeMap<String, Pending>,
        random: &mut Random,
    ) -> Step<Done> {
        match want {
            Wanted::Read { name, offset, limit, race } => {
                let path = self.world.path(name);
                let response = match tools::read(&path, *offset, *limit) {
                    Ok(response) => response,
                    Err(failed) => return Ok(failed),
                };
                let truth = self.world.truth(name).unwrap_or_default();
                pending.insert(id.to_owned(), Pending { name, window: (*offset, *limit), truth });
                if *race {
                    self.world.change(name, random)?;
                    self.say(format!("{name} changes after the program read it"));
                }
                self.last = Some(name);
                self.read(id, &path, input, response)
            }
            Wanted::Redirected { name, other } => {
                let path = self.world.path(other);
                let response = match tools::read(&path, None, None) {
                    Ok(response) => response,
                    Err(failed) => return Ok(failed),
                };
                let truth = self.world.truth(other).unwrap_or_default();
                pending.insert(id.to_owned(), Pending { name, window: (None, None), truth });
                self.say(format!("the read is sent to {other}"));
                self.read(id, &path, input, response)
            }
            Wanted::Edit { name, old, new, all, instead } => {
                let edit = Edit { old, new, all: *all, instead: instead.as_deref() };
                let done = tools::edit(&self.world.path(name), &edit)?;
                self.changed(name);
                Ok(done)
            }
            Wanted::Write { name, content, instead } => {
                let done = tools::write(&self.world.path(name), content, instead.as_deref())?;
                self.changed(name);
                Ok(done)
            }
            Wanted::Shell { printed, code, .. } => Ok(tools::shell(printed, *code)),
        }
    }

    fn changed(&mut self, name: &'static str) {
        self.world.remember(name);
        self.last = Some(name);
    }

    /// The product is asked as its hook is; another hook may alter what comes.
    fn read(&mut self, id: &str, path: &str, input: &Value, mut response: Value) -> Step<Done> {
        let session = &self.sessions[self.current];
        let asked = Asked { transcript: &session.file, call: id, path, input, response: &response };
        let answered = product::ask(&self.world.engine, &mut self.hook, &asked)?;
        self.report.answer(answered.mode, answered.reason);
        self.say(format!("  {id}: {} ({})", answered.mode.as_str(), answered.reason));
        if let Some(instead) = answered.instead {
            if self.sessions[self.current].sends_otherwise() {
                return violation(format!("{id}: a result was cleared or altered, and the answer is a marker"));
            }
            response = instead;
        }
        if self.other_hook {
            let content = format!("ALTERED {}", response["file"]["content"].as_str().unwrap_or_default());
            response["file"]["content"] = json!(content);
        }
        Ok(Done { text: tools::shown(&response), failed: false, own: response })
    }

    /// The next request says what the model sees: every marker in it must be what plain text would have been.
    fn judge(&mut self, pending: &BTreeMap<String, Pending>) -> Step {
        let sight = self.session().sight();
        let mut judge = Judge::new(&self.world.cwd()).of_person(&self.world.person());
        for (command, sight) in &self.sights {
            judge.shows(command, sight.clone());
        }
        for (call, rebuilt) in judged(&sight, judge) {
            let Some(asked) = pending.get(&call) else { continue };
            let name = asked.name;
            match rebuilt {
                Err(complaint) => {
                    return violation(format!("{call}: nobody can know what the marker stands for: {complaint}"));
                }
                Ok(rebuilt) => {
                    if let Err(why) = compare(&rebuilt, &asked.truth, asked.window) {
                        return violation(format!("{call} of {name}: {why}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The text of a file as it would be attached.
    pub(super) fn attachable(&self, name: &str) -> Option<(String, String)> {
        let path = self.world.path(name);
        tools::text_of(Path::new(&path)).map(|text| (path, text))
    }
}

fn described(blocks: &[Value]) -> String {
    let one = |block: &Value| {
        format!(
            "{} {} {}",
            block["id"].as_str().unwrap_or_default(),
            block["name"].as_str().unwrap_or_default(),
            block["input"]
        )
    };
    blocks.iter().map(one).collect::<Vec<_>>().join("; ")
}
