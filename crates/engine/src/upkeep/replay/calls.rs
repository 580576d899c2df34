//! Re-runs the calls of a query log from stored texts and compares what comes out with what was recorded, byte for byte. Of a search of
//! many files it checks the lines that were shown; that nothing else matched, no stored text can tell. The files of the workspace
//! play no part, and what cannot be run again is reported with the reason.

use readproof_core::{
    decide::Ask,
    edit::{FileChange, FilePatch, Numbers, Piece, parse_patch, place},
    operation::{
        Again, BadOperation, Blame, Change, Letters, Operation, Over, Patch, Read, ReadSymbol, Search, SearchMode,
        Write, rules::ALL as RULES,
    },
    text::{ContentHash, Text},
};
use readproof_disk::{LogName, RetiredLog, SessionName, Store};
use readproof_hosts::{
    block::{Block, Sha},
    calls::{LoggedCall, LoggedFile, LoggedLines, PastCalls, decoded, texts_back},
    session::EntryId,
    versions::VersionId,
};
use readproof_index::{Case, Finder, Query};
use std::rc::Rc;

use super::{About, Finding, Miss, Replayed, Report, Texts, Unverifiable, Wrong, answer_again, same};
use crate::{
    Blamed, Control, Engine, Error,
    door::{Outcome, PAGE, canonical_of, canonical_of_error},
    edit::{say_all, say_appended, say_deleted, say_edited, say_merged, say_moved, say_restored, say_written},
    find::{lines_in_text, listed_again},
    history::{HistoryAgain, blamed_again, cut, versions_again},
    read::end_in,
    three_way,
};

/// What a call returned when it succeeded.
const OK: &str = "OK";

impl Engine {
    /// Replays the query logs of a conversation, or all there are.
    pub(super) fn replay_calls(&self, store: &dyn Store, session: Option<&SessionName>) -> Vec<Replayed> {
        let is_wanted = |of: &Option<SessionName>| session.is_none_or(|name| of.as_ref() == Some(name));
        let mut replayed = Vec::new();
        for log in store.logs().list() {
            let LogName::Calls(of) = log else { continue };
            if !is_wanted(&of) {
                continue;
            }
            match PastCalls::read(store, of.as_ref()) {
                Ok(Some(past)) => replayed.push(self.replay_call_log(store, Report::of_calls(of, None), past)),
                Ok(None) => {}
                Err(error) => {
                    let mut report = Report::of_calls(of, None);
                    report.log_is_wrong(error, false);
                    replayed.push(report.0);
                }
            }
        }
        for retired in store.logs().retired() {
            let RetiredLog { log: LogName::Calls(of), number } = &retired else { continue };
            if !is_wanted(of) {
                continue;
            }
            let mut report = Report::of_calls(of.clone(), Some(*number));
            match PastCalls::read_retired(store, &retired) {
                Ok(past) => replayed.push(self.replay_call_log(store, report, past)),
                Err(error) => {
                    report.log_is_wrong(error, true);
                    replayed.push(report.0);
                }
            }
        }
        replayed
    }

    fn replay_call_log(&self, store: &dyn Store, mut report: Report, past: PastCalls) -> Replayed {
        report.0.torn = past.torn;
        if past.newer {
            report.unverifiable(None, Unverifiable::Newer);
            return report.0;
        }
        if past.missing > 0 {
            report.unverifiable(None, Unverifiable::NotLogged(past.missing));
        }
        let mut texts = Texts::new(store);
        for (line, call) in past.calls {
            let Some(call) = call else {
                report.unverifiable(Some(line), Unverifiable::UnknownRecord);
                continue;
            };
            let path = call.files.first().map(|file| file.path.clone());
            let (entry, about) = (Some(EntryId(line)), About::Call);
            match (Rerun { engine: self, texts: &mut texts, call: &call }).verify() {
                Ok(()) => {
                    report.0.calls += 1;
                    report.0.searches += u64::from(call.op == "search");
                }
                Err(Miss::Unverifiable(what)) => {
                    report.0.unverifiable.push(Finding { about, entry, path, what });
                }
                Err(Miss::Wrong(what)) => report.0.wrong.push(Finding { about, entry, path, what }),
            }
        }
        if let Some(error) = past.broken {
            let put_aside = report.0.retired.is_some();
            report.log_is_wrong(error, put_aside);
        }
        report.0
    }
}

/// The text that a call found and the one that it left; `None` is no file.
type BeforeAfter = (Option<Rc<Text>>, Option<Rc<Text>>);

/// One call that is run again.
struct Rerun<'r, 's> {
    engine: &'r Engine,
    texts: &'r mut Texts<'s>,
    call: &'r LoggedCall,
}

impl Rerun<'_, '_> {
    fn verify(&mut self) -> Result<(), Miss> {
        let call = self.call;
        if let Some(rule) = call.rules.iter().find(|rule| !RULES.contains(&rule.as_ref())) {
            return Err(Unverifiable::Unknown { what: "the rule", word: rule.to_string() }.into());
        }
        if call.files.iter().any(|file| file.sensitive) {
            return Err(Unverifiable::Sensitive.into());
        }
        let operation = self.operation().map_err(|miss| match miss {
            // Of a call that failed the texts that it brought along are not kept.
            Miss::Unverifiable(Unverifiable::UnknownRecord) if call.code != OK => {
                Unverifiable::Failed(call.code.clone()).into()
            }
            other @ (Miss::Unverifiable(_) | Miss::Wrong(_)) => other,
        })?;
        if let Again::Search(search) = operation.again()
            && call.code == OK
        {
            return self.search(search);
        }
        let recorded = call.text.ok_or(Unverifiable::NotKept)?;
        let failed = call.code != OK;
        let text = self.rerun(&operation).map_err(|miss| match miss {
            // What was not there cannot have been kept.
            Miss::Unverifiable(Unverifiable::NotKept) if failed => Unverifiable::Failed(call.code.clone()).into(),
            other @ (Miss::Unverifiable(_) | Miss::Wrong(_)) => other,
        })?;
        let block = |block: Block| {
            let Sha(hash) = block.sha;
            format!("{} bytes, sha256-{hash}", block.bytes)
        };
        Ok(same("the text returned", &block(recorded), &block(text))?)
    }

    /// What was asked, with the texts that the call brought along.
    fn operation(&mut self) -> Result<Operation, Miss> {
        let mut args = self.call.args.clone();
        texts_back(&mut args, &mut |hash| self.load(hash).map(|text| text.as_str().to_owned()))?;
        decoded(self.call.v.into(), &self.call.op, &args).map_err(|error| match error {
            BadOperation::Newer { version } => {
                Unverifiable::Unknown { what: "the vocabulary", word: version.to_string() }.into()
            }
            BadOperation::Unknown { name } => Unverifiable::Unknown { what: "the operation", word: name }.into(),
            BadOperation::Missing { .. } | BadOperation::NoField { .. } | BadOperation::Value { .. } => {
                Miss::Unverifiable(Unverifiable::UnknownRecord)
            }
        })
    }

    fn load(&mut self, hash: ContentHash) -> Result<Rc<Text>, Miss> {
        if self.engine.is_erased(hash) {
            return Err(Unverifiable::Erased(hash).into());
        }
        Ok(self.texts.get(hash)?.ok_or(Unverifiable::TextMissing(hash))?)
    }

    /// The one text that the call stood on, with its path.
    fn ground(&mut self) -> Result<(String, Rc<Text>), Miss> {
        let file = self.call.files.first().ok_or(Unverifiable::NotKept)?;
        let Sha(hash) = file.before.ok_or(Unverifiable::NotKept)?;
        Ok((file.path.clone(), self.load(hash)?))
    }

    fn input(&self, name: &str) -> Result<&str, Miss> {
        self.call.inputs.get(name).map(String::as_str).ok_or(Unverifiable::NotKept.into())
    }

    /// What comes back when the call is made again.
    fn rerun(&mut self, operation: &Operation) -> Result<Block, Miss> {
        if self.call.inputs.contains_key("outside") {
            return Err(Unverifiable::NotRerun.into());
        }
        let again = operation.again();
        if self.call.code != OK && !matches!(again, Again::Read(_) | Again::End(_) | Again::InFile(_)) {
            return Err(Unverifiable::Failed(self.call.code.clone()).into());
        }
        let outcome: Result<Outcome<()>, Error> = match again {
            Again::Read(read) => return self.read(read),
            Again::Symbol(read) => return self.symbol(read),
            Again::End(end) => {
                let (path, text) = self.ground()?;
                end_in(&path, &text, end).map(Outcome::EndOfFile)
            }
            Again::InFile(search) => {
                // A pattern that means nothing needs no text.
                let ground = if self.call.code == "BAD_QUERY" { None } else { Some(self.ground()?) };
                let (path, text) = ground.unwrap_or_else(|| (String::new(), Rc::new(Text::new(String::new()))));
                lines_in_text(search, &path, text.as_str()).map(Outcome::InFile)
            }
            Again::Outline(outline) => {
                let (mut files, noted) = (Vec::new(), self.input("outlined")?.to_owned());
                for file in &self.call.files {
                    // What is no text was left out then too.
                    let Some(Sha(hash)) = file.before else { continue };
                    files.push((file.path.clone(), Text::clone(&*self.load(hash)?)));
                }
                self.engine.outline_again(outline, &noted, &files, &Control::WAIT).map(Outcome::Outlined)
            }
            Again::List(list) => {
                let (path, noted) = self.ground()?;
                let listed = listed_again(list, &path, noted.as_str()).ok_or(Unverifiable::UnknownRecord)?;
                Ok(Outcome::Listed(listed))
            }
            Again::Compare(compare) => {
                let (path, old) = self.side("old")?;
                let (_, new) = self.side("new")?;
                let sides = [(self.input("old")?, old.as_deref()), (self.input("new")?, new.as_deref())];
                let compared = Engine::compared_again(compare, (&path, self.input("name")?), sides);
                compared.ok_or(Unverifiable::UnknownRecord)?.map(Outcome::Compared)
            }
            Again::CompareVersions(compare) => {
                let (path, old) = self.side("old")?;
                let (_, new) = self.side("new")?;
                return Ok(Block::of(&versions_again(compare, &path, (old.as_deref(), new.as_deref()))));
            }
            Again::Version(show) => {
                let (_, text) = self.ground()?;
                return Ok(Block::of(cut(&text, show.most).0));
            }
            Again::Write(write) => return self.write(write),
            Again::Patch(patch) => return self.patch(patch),
            Again::Rewind(_) => return self.rewind(),
            Again::History(_) => return self.history(),
            Again::Blame(blame) => Ok(Outcome::Blamed(self.blame(blame)?)),
            Again::Stat => return Err(Unverifiable::NoText.into()),
            Again::Search(_) | Again::Nothing => return Err(Unverifiable::NotRerun.into()),
        };
        Ok(match outcome {
            Ok(outcome) => Block::of(&canonical_of(&outcome)),
            Err(error) => Block::of(&canonical_of_error(&error)),
        })
    }

    /// One of two texts that were compared; `None` is no file.
    fn side(&mut self, name: &str) -> Result<(String, Option<Rc<Text>>), Miss> {
        let said = self.input(name)?;
        let path = self.call.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let Some(hash) = said.rsplit(' ').next().filter(|said| *said != "-").map(ContentHash::parse) else {
            return Ok((path, None));
        };
        Ok((path, Some(self.load(hash.ok_or(Unverifiable::UnknownRecord)?)?)))
    }

    fn read(&mut self, read: &Read) -> Result<Block, Miss> {
        if self.call.code != OK {
            let (path, text) = self.ground()?;
            if read.pick != readproof_core::pick::Pick::Given || read.path != path || read.most.is_some() {
                return Err(Unverifiable::Failed(self.call.code.clone()).into());
            }
            let limits = self.engine.settings().limits;
            let Err(source) = Ask::new(&text, read.offset, read.limit, &limits) else {
                return Err(Unverifiable::Failed(self.call.code.clone()).into());
            };
            return Ok(Block::of(&canonical_of_error(&Error::Range { path, source })));
        }
        let recorded = self.call.read.as_ref().ok_or(Unverifiable::NotKept)?;
        if let Some(Sha(hash)) = recorded.hash {
            self.load(hash)?;
        }
        let page = self.call.inputs.get(PAGE).map(String::as_str);
        let (again, text) = answer_again(self.texts, recorded, page)?;
        again.block.ok_or(Unverifiable::Sensitive)?;
        Ok(Block::of(&text))
    }

    /// The changes that a list showed; that there were no others cannot be verified.
    fn history(&mut self) -> Result<Block, Miss> {
        let noted = self.noted("history")?;
        match self.engine.listed_changes_again(noted.as_str()) {
            Ok(Some(listed)) => Ok(Block::of(&canonical_of(&Outcome::<()>::History(listed)))),
            Ok(None) => Err(Unverifiable::OtherVersionLog.into()),
            Err(HistoryAgain::NotThere) => Err(Wrong::NoSuchChange.into()),
            Err(HistoryAgain::Gone(hash)) => Err(self.load(hash).err().unwrap_or(Unverifiable::NotKept.into())),
        }
    }

    fn blame(&mut self, blame: &Blame) -> Result<Blamed, Miss> {
        let (_, text) = self.ground()?;
        let (steps, lines) = (self.noted("origins")?, self.input("lines")?.to_owned());
        let mut load = |hash| self.load(hash).map(|text| Some(Text::clone(&text)));
        let again = blamed_again(blame.most, &text, (&lines, steps.as_str()), &mut load)?;
        Ok(again.ok_or(Unverifiable::UnknownRecord)?)
    }

    /// A text that is no file's, which the call noted.
    fn noted(&mut self, name: &str) -> Result<Rc<Text>, Miss> {
        let hash = ContentHash::parse(self.input(name)?).ok_or(Unverifiable::UnknownRecord)?;
        self.load(hash).map_err(|miss| match miss {
            // Of a call without a conversation no text is kept.
            Miss::Unverifiable(Unverifiable::TextMissing(_)) if self.call.by.conversation.is_none() => {
                Unverifiable::NotKept.into()
            }
            other @ (Miss::Unverifiable(_) | Miss::Wrong(_)) => other,
        })
    }

    fn symbol(&mut self, read: &ReadSymbol) -> Result<Block, Miss> {
        let recorded = self.call.read.as_ref().ok_or(Unverifiable::NotKept)?;
        let Sha(hash) = recorded.hash.ok_or(Unverifiable::Sensitive)?;
        let text = self.load(hash)?;
        let found = self.engine.definition_again(read, (&recorded.path, &text), &Control::WAIT);
        let (lines, around) = found.map_err(|_| Wrong::NotDefined)?;
        same("the first line of the definition", &shown(recorded.offset), &shown(Some(lines.first().into())))?;
        let (again, body) = answer_again(self.texts, recorded, None)?;
        let block = again.block.ok_or(Unverifiable::Sensitive)?;
        if around.is_empty() {
            return Ok(block);
        }
        let around: String = around.iter().map(|run| format!("@{}\n{}", run.lines.first(), run.text)).collect();
        Ok(Block::of(&format!("{around}@{}\n{body}", lines.first())))
    }

    /// The lines that a search showed, in the texts of the files that matched.
    fn search(&mut self, search: &Search) -> Result<(), Miss> {
        let folded = match search.letters {
            Letters::Any => true,
            Letters::Smart => !search.query.chars().any(char::is_uppercase),
            Letters::ByMode | Letters::Exact => false,
        };
        let case = if folded { Case::Folded } else { Case::Exact };
        let finder = (search.mode == SearchMode::Regex).then(|| Finder::new(&search.query, Query::Regex, case));
        let finder = finder.transpose().map_err(|_| Wrong::NotFound)?;
        let found: &[LoggedLines] = &self.call.found;
        for hit in found.iter().filter(|hit| !hit.numbers.is_empty()) {
            let file = self.call.files.iter().find(|file| file.path == hit.path);
            let Sha(hash) = file.and_then(|file| file.before).ok_or(Unverifiable::NotKept)?;
            let text = self.load(hash)?;
            let lines: Option<Vec<&str>> = hit.numbers.iter().map(|number| line(&text, *number)).collect();
            let lines = lines.ok_or(Wrong::NotFound)?;
            let bare = lines.iter().map(|line| line.strip_suffix('\n').unwrap_or(line));
            let again = LoggedLines::of(&hit.path, hit.numbers.iter().zip(bare).map(|(at, line)| (*at, line, false)));
            same("the lines found", &hit.sha.0.to_string(), &again.sha.0.to_string())?;
            let is_match =
                |finder: &Finder, at: &u64| line(&text, *at).is_some_and(|line| finder.is_in(line.as_bytes()));
            if finder.as_ref().is_some_and(|finder| !hit.matching.iter().all(|at| is_match(finder, at))) {
                return Err(Wrong::NotFound.into());
            }
        }
        Ok(())
    }

    fn text_of(&mut self, sha: Option<Sha>) -> Result<Option<Rc<Text>>, Miss> {
        sha.map(|Sha(hash)| self.load(hash)).transpose()
    }

    /// What a file was and what it became.
    fn change(&mut self, file: &LoggedFile) -> Result<BeforeAfter, Miss> {
        let after = if file.removed { None } else { file.after.or(file.before) };
        Ok((self.text_of(file.before)?, self.text_of(after)?))
    }

    fn write(&mut self, write: &Write) -> Result<Block, Miss> {
        let files = &self.call.files;
        let said = match (&write.change, &files[..]) {
            (Change::Whole(content), [file]) => self.made(file, content, "wrote")?,
            (Change::Create(content), [file]) => self.made(file, content, "created")?,
            (Change::Append(content), [file]) => self.appended(file, content)?,
            (Change::Replace { old, new, places }, [file]) => {
                self.edited(file, &[Piece::replace(old, new, *places)], write.over)?
            }
            (Change::Edit(pieces), [file]) => self.edited(file, pieces, write.over)?,
            (Change::Delete, [file]) => self.deleted(file)?,
            (Change::Move { .. }, [to, from]) => self.moved(to, from, &[])?,
            _ => return Err(Unverifiable::UnknownRecord.into()),
        };
        Ok(Block::of(&say_all([said.as_str()].into_iter())))
    }

    fn patch(&mut self, patch: &Patch) -> Result<Block, Miss> {
        let (_, changes) = parse_patch(&patch.patch).map_err(|_| Wrong::NotThatPatch)?;
        let over = if changes.len() == 1 { patch.over } else { Over::Held };
        let (mut files, mut said) = (self.call.files.iter(), Vec::new());
        let mut next = || files.next().ok_or(Miss::Wrong(Wrong::NotThatPatch));
        for FilePatch { change, .. } in &changes {
            let file = next()?;
            said.push(match change {
                FileChange::Edit(pieces) if file.before.is_none() => {
                    let content = pieces.first().map_or("", |piece| piece.new.as_str());
                    self.made(file, content, "created")?
                }
                FileChange::Edit(pieces) => self.edited(file, pieces, over)?,
                FileChange::Create(content) => self.made(file, content, "created")?,
                FileChange::Delete => self.deleted(file)?,
                FileChange::Move { pieces, .. } => self.moved(file, next()?, pieces)?,
            });
        }
        Ok(Block::of(&say_all(said.iter().map(String::as_str))))
    }

    fn rewind(&mut self) -> Result<Block, Miss> {
        let first = self.input("rewound")?.to_owned();
        let to = first.lines().next().and_then(|line| VersionId::parse(line.strip_prefix("to ")?));
        let to = to.ok_or(Unverifiable::UnknownRecord)?;
        let mut said = Vec::new();
        for file in &self.call.files {
            said.push(match self.change(file)? {
                (Some(before), Some(after)) => say_restored((&file.path, &file.path), &before, &after, to).1,
                (None, Some(after)) => say_written(&file.path, "created", &after),
                (_, None) => say_deleted(&file.path),
            });
        }
        Ok(Block::of(&(first + &say_all(said.iter().map(String::as_str)))))
    }

    fn made(&mut self, file: &LoggedFile, content: &str, word: &str) -> Result<String, Miss> {
        let (_, after) = self.change(file)?;
        let after = after.ok_or(Wrong::NotThatPatch)?;
        became(&after, content)?;
        Ok(say_written(&file.path, word, &after))
    }

    fn appended(&mut self, file: &LoggedFile, content: &str) -> Result<String, Miss> {
        let (before, after) = self.change(file)?;
        let (Some(before), Some(after)) = (before, after) else { return self.made(file, content, "created") };
        became(&after, &[before.as_str(), content].concat())?;
        Ok(say_appended((&file.path, &file.path), &before, &after).1)
    }

    fn deleted(&mut self, file: &LoggedFile) -> Result<String, Miss> {
        if !file.removed {
            return Err(Wrong::NotThatPatch.into());
        }
        Ok(say_deleted(&file.path))
    }

    fn moved(&mut self, to: &LoggedFile, from: &LoggedFile, pieces: &[Piece]) -> Result<String, Miss> {
        let (source, _) = self.change(from)?;
        let (_, after) = self.change(to)?;
        let (source, after) = (source.ok_or(Wrong::NotThatPatch)?, after.ok_or(Wrong::NotThatPatch)?);
        let expected = match pieces {
            [] => Text::clone(&source),
            pieces => place(&source, pieces, Numbers::Ignore).map_err(|_| Wrong::NotThatPatch)?.after,
        };
        became(&after, expected.as_str())?;
        Ok(say_moved((&from.path, &to.path), &after))
    }

    /// An edit, made again in the text it was for. Whether stated line numbers counted follows from what was known of that text.
    fn edited(&mut self, file: &LoggedFile, pieces: &[Piece], over: Over) -> Result<String, Miss> {
        let (before, after) = self.change(file)?;
        let (before, after) = (before.ok_or(Wrong::NotThatPatch)?, after.ok_or(Wrong::NotThatPatch)?);
        let base = self.text_of(file.base)?;
        let numbers: &[Numbers] = match over {
            Over::Anything => &[Numbers::Ignore],
            Over::Hash(_) => &[Numbers::BreakTies],
            Over::Held => &[Numbers::BreakTies, Numbers::Ignore],
        };
        for numbers in numbers {
            let Ok(edit) = place(base.as_ref().unwrap_or(&before), pieces, *numbers) else { continue };
            let names = (file.path.as_str(), file.path.as_str());
            match &base {
                None if edit.after.as_str() == after.as_str() => {
                    return Ok(say_edited(names, &before, &edit, pieces).1);
                }
                Some(base) => {
                    if let crate::Merged::Clean(merged) = three_way(base, &edit.after, &before)
                        && merged.as_str() == after.as_str()
                    {
                        return Ok(say_merged(names, base, &merged, &edit.assumed).1);
                    }
                }
                None => {}
            }
        }
        Err(Wrong::NotThatPatch.into())
    }
}

/// The text after a change must be this one.
fn became(after: &Text, expected: &str) -> Result<(), Wrong> {
    same("the text after", &after.hash().to_string(), &ContentHash::of(expected.as_bytes()).to_string())
}

/// A line of a text with its end.
fn line(text: &Text, number: u64) -> Option<&str> {
    let at = u32::try_from(number).ok().filter(|at| (1..=text.total()).contains(at))?;
    Some(text.line(at))
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_owned(), |number| number.to_string())
}
