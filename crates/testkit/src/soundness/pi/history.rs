//! Looking back and going back in a pi session: moments that the extension notes, texts that a shell shows while someone meets them,
//! what the command line prints in pi's shell, and rewinds, by a person or after a move in the tree. What the files were at a moment
//! is written down here, so that what comes of a rewind can be compared with it.

use readproof_disk::SessionName;
use readproof_engine::{
    Error, Rewound, VersionId,
    operation::{Leaf, Operation, OutsideChanges, Read, Rewind},
};
use readproof_reader::pi::Asks;
use serde_json::json;

use super::{
    Kind, Run,
    session::What,
    turn::{How, Then, Wanted, short},
};
use crate::{
    ask::{Ask, WAIT},
    glimpse,
    op::Random,
    run::{Step, violation},
    world::{
        Broken,
        rewound::{self, Around, Texts},
        watch::is_by_rule,
    },
};

/// A moment that an entry notes.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// As the entry has it.
    moment: String,
    /// The session, and the entry.
    session: usize,
    at: usize,
    texts: Texts,
}

impl Run {
    /// Looks at all files and notes the moment in the session, as the extension does at the end of a turn.
    pub(super) fn noted(&mut self) -> Step {
        glimpse::look_around(&self.world.engine)?;
        if self.sessions[self.current].talk.moment(&self.world.engine).is_none() {
            let _: VersionId = self.world.engine.ask(None, Operation::Checkpoint { name: None })?;
        }
        let session = &mut self.sessions[self.current];
        let Some(moment) = session.talk.moment(&self.world.engine) else {
            return violation("no moment can be noted".to_owned());
        };
        let data = json!({ "v": 1, "kind": "moment", "moment": moment.to_string(), "at": 5 });
        let at = session.append("custom", &format!(r#""customType":"pi-readcache","data":{data}"#), What::Nothing);
        let (session, texts) = (self.current, self.all_texts());
        self.say(format!("e{at}: {moment}"));
        self.marks.push(Mark { moment: moment.to_string(), session, at, texts });
        Ok(())
    }

    /// The model sees another text by a shell, someone looks at the files, and the file goes back, or on.
    pub(super) fn by_shell(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let Some(before) = self.world.truth(name).filter(|_| name != ".env") else { return self.idle() };
        if random.below(2) == 0 {
            self.read_whole(name, random)?;
        }
        let since = glimpse::newest_record(&self.world.engine, name);
        self.world.change(name, random)?;
        let Some(there) = self.world.truth(name).filter(|there| *there != before) else { return self.idle() };
        if !glimpse::is_met(&self.world.engine, name, &there, since) {
            return self.idle();
        }
        let paths = self.world.names_of(name);
        self.shell_prints(&format!("cat {name}"), &there, What::Shell { paths, text: there.as_str().into() });
        if random.below(3) == 0 {
            self.world.change(name, random)?;
        }
        if self.world.truth(name).is_none_or(|now| now == there) {
            self.world.put(name, &before)?;
        }
        match random.below(4) {
            0 => glimpse::look_around(&self.world.engine)?,
            1 => self.noted()?,
            _ => {}
        }
        // An edit does not bring back what was held before the shell showed another text.
        if random.below(3) == 0
            && let Some(edit) = self.change(name, Kind::Edit, random)
        {
            self.turn(vec![edit], false, random)?;
        }
        self.read_whole(name, random)
    }

    /// The model runs this program in pi's shell: what it prints is output of a shell, whatever it shows or looks like.
    pub(super) fn console(&mut self, random: &mut Random) -> Step {
        let name = self.some_name(random);
        let path = self.world.root.join(name).display().to_string();
        let session = SessionName::parse("console").map_err(Broken::from)?;
        let printed = match random.below(3) {
            0 => {
                // In a session of its own, so that the second one is a marker.
                let read = Read { path, ..Read::default() };
                let session = Some(&session).filter(|_| random.below(2) == 0);
                self.world.engine.read_while(session, read, WAIT).map(|answer| {
                    let receipt = answer.given.as_ref().filter(|_| random.below(2) == 0);
                    let _ = receipt.map(|receipt| self.world.engine.delivered(receipt));
                    answer.text
                })
            }
            _ => glimpse::looked_back(&self.world.engine, &session, &path, random).map(|shown| {
                let lines = shown.iter().flat_map(|(_, lines)| lines.iter().map(|line| line.text.as_str()));
                lines.collect::<Vec<_>>().join("\n")
            }),
        };
        let text = match printed {
            Ok(text) => text,
            Err(error) if is_by_rule(&error) || glimpse::is_nothing(&error) => return self.idle(),
            // A file that is no text, is gone or sensitive.
            Err(_) => return self.idle(),
        };
        self.shell_prints(&format!("readproof … {name}"), &text, What::Nothing);
        self.read_whole(name, random)
    }

    /// Back to a moment: a person does it on the command line, or moves in the tree and agrees that the files go along.
    pub(super) fn rewound(&mut self, kind: Kind, random: &mut Random) -> Step {
        let current = self.current;
        let of_tree = |mark: &&Mark| kind != Kind::TreeRewind || mark.session == current;
        let marks: Vec<Mark> = self.marks.iter().filter(of_tree).cloned().collect();
        let Some(mark) = random.pick(&marks).cloned() else { return self.noted() };
        let talk = &self.sessions[current].talk;
        let Some(version) = talk.version_of(&self.world.engine, &mark.moment) else {
            return violation(format!("{} is no moment any more", mark.moment));
        };
        let asked = Rewind {
            to: version.to_string(),
            paths: Vec::new(),
            outside: OutsideChanges::Undo,
            leaf: Leaf::Stays,
            everything: random.below(4) == 0,
            assume: false,
            dry_run: random.below(6) == 0,
        };
        let before = self.all_texts();
        let done: Result<Rewound, Error> = if kind == Kind::TreeRewind {
            let session = &mut self.sessions[current];
            session.leaf = Some(mark.at);
            session.send(0)?;
            let leaf = session.leaf_id();
            let done =
                self.world.engine.call(&mut session.talk.call(leaf.as_deref()), Operation::Rewind(asked.clone()), WAIT);
            done.and_then(TryInto::try_into)
        } else {
            self.world.engine.ask(None, Operation::Rewind(asked.clone()))
        };
        self.say(format!("{kind:?} to {}: {:?}", mark.moment, done.as_ref().map(|done| &done.files)));
        let done = match done {
            Ok(done) => done,
            Err(error) => return self.not_rewound(&before, error),
        };
        let around = Around { then: &mark.texts, before: &before, now: &self.all_texts() };
        if let Some(wrong) = around.wrong(&done, asked.dry_run, |name| self.world.is_link(name)) {
            return violation(wrong);
        }
        for name in self.world.names.clone() {
            self.world.remember(name);
        }
        let name = self.some_name(random);
        self.read_whole(name, random)
    }

    fn read_whole(&mut self, name: &'static str, random: &mut Random) -> Step {
        self.last = Some(name);
        let asks = Asks::Read { path: self.world.spelt(name, random), offset: None, limit: None };
        let how = How::Answered { fresh: false, race: false, then: Then::Kept };
        self.turn(vec![Wanted { name, asks, how }], false, random)
    }

    /// A call of pi's shell with its result, as pi records them.
    fn shell_prints(&mut self, command: &str, text: &str, what: What) {
        self.session().request();
        let id = self.call_id();
        let call = json!([{ "type": "toolCall", "id": id, "name": "bash", "arguments": { "command": command } }]);
        let result = json!({
            "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false,
            "content": [{ "type": "text", "text": text }],
        });
        let session = self.session();
        session.append("message", &format!(r#""message":{{"role":"assistant","content":{call}}}"#), What::Nothing);
        let at = session.append("message", &format!(r#""message":{result}"#), what);
        self.say(format!("e{at}: a shell prints by `{command}`: {}", short(text)));
    }

    fn all_texts(&self) -> Texts {
        self.world.names.iter().map(|name| (*name, self.world.truth(name))).collect()
    }

    /// A rewind that is refused changes nothing.
    fn not_rewound(&mut self, before: &Texts, error: Error) -> Step {
        if self.all_texts() != *before {
            return violation(format!("files changed by a rewind that was refused: {error:?}"));
        }
        if rewound::may_be_refused(&error) || is_by_rule(&error) || glimpse::is_nothing(&error) {
            return self.idle();
        }
        Err(error.into())
    }
}
