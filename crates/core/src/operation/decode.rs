//! Reads an encoded operation back. A field that is left out has its usual value, one that the operation does not have is an error,
//! so that a word that is spelled wrongly does not go unnoticed.

use alloc::{
    borrow::Cow,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    Against, AnswerLimit, Audience, Blame, Caller, Change, Changes, Collect, Compare, CompareVersions, Decoding, End,
    Extent, Field, Forget, Freshness, Hidden, History, Leaf, Letters, List, ListFiles, ListSymbols, Matching, Names,
    Needed, Operation, Outline, OutsideChanges, Over, Partial, Patch, Read, ReadEnd, ReadSymbol, Refresh, Resolution,
    Retention, Rewind, Search, SearchFile, SearchMode, ShowVersion, Since, VERSION, Write, approval, policy,
};
use crate::{
    edit::{Piece, Places, Shape},
    limits::ANSWER_CHARS,
    pick::Pick,
    scope::Lines,
    text::ContentHash,
};

/// Why an encoded operation means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum BadOperation {
    /// It is of a later version of the vocabulary.
    Newer {
        /// Its version.
        version: u64,
    },
    /// There is no such operation.
    Unknown {
        /// As given.
        name: String,
    },
    /// A field is missing.
    Missing {
        /// Which.
        field: &'static str,
    },
    /// The operation has no such field.
    NoField {
        /// As given.
        field: String,
    },
    /// The value of a field is none that it can have.
    Value {
        /// Which.
        field: &'static str,
        /// What it can be.
        expected: &'static str,
    },
}

type Decoded<T> = Result<T, BadOperation>;

/// The fields that were not taken yet.
struct Given(BTreeMap<String, Field>);

fn bad(field: &'static str, expected: &'static str) -> BadOperation {
    BadOperation::Value { field, expected }
}

impl Given {
    fn word(&mut self, name: &'static str) -> Decoded<Option<String>> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Field::Text(text)) => Ok(Some(text)),
            Some(Field::Number(_) | Field::Flag(_) | Field::List(_) | Field::Group(_)) => Err(bad(name, "text")),
        }
    }

    fn text(&mut self, name: &'static str) -> Decoded<String> {
        self.word(name)?.ok_or(BadOperation::Missing { field: name })
    }

    fn number<N: TryFrom<u64>>(&mut self, name: &'static str) -> Decoded<Option<N>> {
        const WHAT: &str = "a whole number that is not too large";
        match self.0.remove(name) {
            None => Ok(None),
            Some(Field::Number(number)) => N::try_from(number).map(Some).map_err(|_| bad(name, WHAT)),
            Some(Field::Text(_) | Field::Flag(_) | Field::List(_) | Field::Group(_)) => Err(bad(name, WHAT)),
        }
    }

    fn needed<N: TryFrom<u64>>(&mut self, name: &'static str) -> Decoded<N> {
        self.number(name)?.ok_or(BadOperation::Missing { field: name })
    }

    fn flag(&mut self, name: &'static str) -> Decoded<bool> {
        match self.0.remove(name) {
            None => Ok(false),
            Some(Field::Flag(flag)) => Ok(flag),
            Some(Field::Text(_) | Field::Number(_) | Field::List(_) | Field::Group(_)) => {
                Err(bad(name, "true or false"))
            }
        }
    }

    fn list(&mut self, name: &'static str) -> Decoded<Vec<Field>> {
        match self.0.remove(name) {
            None => Ok(Vec::new()),
            Some(Field::List(all)) => Ok(all),
            Some(Field::Text(_) | Field::Number(_) | Field::Flag(_) | Field::Group(_)) => Err(bad(name, "a list")),
        }
    }

    fn words(&mut self, name: &'static str) -> Decoded<Vec<String>> {
        let word = |field| if let Field::Text(text) = field { Ok(text) } else { Err(bad(name, "a list of texts")) };
        self.list(name)?.into_iter().map(word).collect()
    }

    /// One of a few words; `usual` if it is left out.
    fn one_of<T>(
        &mut self,
        name: &'static str,
        usual: T,
        (parse, expected): (fn(&str) -> Option<T>, &'static str),
    ) -> Decoded<T> {
        match self.word(name)? {
            None => Ok(usual),
            Some(word) => parse(&word).ok_or(bad(name, expected)),
        }
    }

    fn hash(&mut self, name: &'static str) -> Decoded<Option<ContentHash>> {
        let parse = |hex: String| ContentHash::parse(&hex).ok_or(bad(name, "64 lower-case hex digits"));
        self.word(name)?.map(parse).transpose()
    }

    fn most(&mut self, usual: AnswerLimit) -> Decoded<AnswerLimit> {
        Ok(self.most_if_said()?.unwrap_or(usual))
    }

    fn most_if_said(&mut self) -> Decoded<Option<AnswerLimit>> {
        let (lines, chars) = (self.number("max_lines")?, self.number("max_chars")?);
        let none = AnswerLimit::NONE;
        let said = lines.is_some() || chars.is_some();
        Ok(said.then(|| AnswerLimit { lines: lines.unwrap_or(none.lines), chars: chars.unwrap_or(none.chars) }))
    }

    fn answered(&mut self) -> Decoded<(Freshness, Audience)> {
        let freshness = if self.flag("fresh")? { Freshness::Fresh } else { Freshness::Known };
        Ok((freshness, if self.flag("for_program")? { Audience::Program } else { Audience::Model }))
    }

    fn extent(&mut self) -> Decoded<Extent> {
        Ok(Extent {
            path: self.word("path")?,
            glob: self.word("glob")?,
            hidden: self.one_of("hidden", Hidden::Tracked, (Hidden::parse, "tracked, all or none"))?,
            ignored: self.flag("ignored")?,
        })
    }

    fn pick(&mut self) -> Decoded<Pick> {
        if let Some(last) = self.number("last")? {
            return Ok(Pick::Last(last));
        }
        if let Some(query) = self.word("query")? {
            return Ok(Pick::Around { query, context: self.number("context_lines")?.unwrap_or(0) });
        }
        if let Some(hash) = self.hash("of")? {
            let lines = Lines::new(self.needed("start_line")?, self.needed("end_line")?);
            return Ok(Pick::Of { lines: lines.ok_or(bad("end_line", "no less than start_line"))?, hash });
        }
        let Some(first) = self.number("start_line")? else { return Ok(Pick::Given) };
        let (last, context) = (self.needed("end_line")?, self.number("context_lines")?.unwrap_or(0));
        Ok(Pick::Span { first, last, context })
    }

    fn read(&mut self) -> Decoded<Read> {
        let (freshness, audience) = self.answered()?;
        Ok(Read {
            path: self.text("path")?,
            offset: self.number("offset")?,
            limit: self.number("limit")?,
            names: if self.flag("or_suffix")? { Names::OrSuffix } else { Names::Literal },
            decoding: if self.flag("decoded")? { Decoding::View } else { Decoding::None },
            pick: self.pick()?,
            snapshot: self.word("snapshot")?,
            most: self.most_if_said()?,
            partial: if self.flag("partial")? { Partial::Allowed } else { Partial::Never },
            freshness,
            audience,
        })
    }

    fn read_symbol(&mut self) -> Decoded<ReadSymbol> {
        let (freshness, audience) = self.answered()?;
        Ok(ReadSymbol {
            target: self.text("target")?,
            path: self.word("path")?,
            include_context: self.flag("include_context")?,
            most: self.most(AnswerLimit::WINDOW)?,
            freshness,
            audience,
        })
    }

    fn read_end(&mut self) -> Decoded<ReadEnd> {
        fn end(word: &str) -> Option<End> {
            [("head", End::Head), ("tail", End::Tail)].into_iter().find(|(name, _)| *name == word).map(|(_, end)| end)
        }
        Ok(ReadEnd {
            path: self.text("path")?,
            end: self.one_of("end", End::Head, (end, "head or tail"))?,
            lines: self.needed("lines")?,
            chars: self.number("max_chars")?.unwrap_or(ANSWER_CHARS),
        })
    }

    fn search_file(&mut self) -> Decoded<SearchFile> {
        let usual = SearchFile::default();
        // What is printed beside each line counts unless the caller says otherwise.
        let with_path = if self.0.contains_key("with_path") { self.flag("with_path")? } else { usual.with_path };
        Ok(SearchFile {
            path: self.text("path")?,
            query: self.text("query")?,
            matching: if self.flag("is_regex")? { Matching::Regex } else { Matching::Literal },
            max_matches: self.number("max_matches")?.unwrap_or(usual.max_matches),
            before: self.number("before_lines")?.unwrap_or(0),
            after: self.number("after_lines")?.unwrap_or(0),
            max_chars: self.number("max_chars")?.unwrap_or(usual.max_chars),
            with_path,
        })
    }

    fn search(&mut self) -> Decoded<Search> {
        let usual = Search::default();
        Ok(Search {
            query: self.text("query")?,
            mode: self.one_of("mode", usual.mode, (SearchMode::parse, "text, regex, path or references"))?,
            letters: self.one_of("case", usual.letters, (Letters::parse, "sensitive, insensitive or smart"))?,
            extent: self.extent()?,
            limit: self.number("limit")?,
            context_lines: self.number("context_lines")?.unwrap_or(0),
            max_chars: self.number("max_chars")?.unwrap_or(usual.max_chars),
        })
    }

    fn over(&mut self) -> Decoded<Over> {
        if let Some(hash) = self.hash("expected")? {
            return Ok(Over::Hash(hash));
        }
        Ok(if self.flag("over_anything")? { Over::Anything } else { Over::Held })
    }

    fn change(&mut self) -> Decoded<Change> {
        const WORDS: &str = "create, append, delete or move";
        match self.word("change")?.as_deref() {
            Some("create") => return Ok(Change::Create(self.text("content")?)),
            Some("append") => return Ok(Change::Append(self.text("content")?)),
            Some("delete") => return Ok(Change::Delete),
            Some("move") => return Ok(Change::Move { to: self.text("to")? }),
            Some(_) => return Err(bad("change", WORDS)),
            None => {}
        }
        if self.0.contains_key("edits") {
            return self.list("edits")?.into_iter().map(piece).collect::<Decoded<_>>().map(Change::Edit);
        }
        let Some(old) = self.word("old")? else { return Ok(Change::Whole(self.text("content")?)) };
        let places = if self.flag("all")? { Places::All } else { Places::One };
        Ok(Change::Replace { old, new: self.text("new")?, places })
    }

    fn rewind(&mut self) -> Decoded<Rewind> {
        Ok(Rewind {
            to: self.text("to")?,
            paths: self.words("paths")?,
            outside: if self.flag("keep_outside")? { OutsideChanges::Keep } else { OutsideChanges::Undo },
            leaf: if self.flag("conversation_too")? { Leaf::GoesBack } else { Leaf::Stays },
            everything: self.flag("everything")?,
            assume: self.flag("assume")?,
            dry_run: self.flag("dry_run")?,
        })
    }

    fn collect(&mut self) -> Decoded<Collect> {
        Ok(Collect {
            older_than_ms: self.number("older_than_ms")?,
            max_bytes: self.number("max_bytes")?,
            needed: if self.flag("needed_too")? { Needed::Remove } else { Needed::Keep },
            history: Retention {
                older_than_ms: self.number("history_older_than_ms")?,
                max_bytes: self.number("history_max_bytes")?,
                pack_after_ms: self.number("pack_after_ms")?,
            },
            dry_run: self.flag("dry_run")?,
        })
    }

    fn forget(&mut self) -> Decoded<Forget> {
        let time = self.number("before_ms")?.map(Since::Time);
        let before = time.or(self.word("before")?.map(Since::Version));
        Ok(Forget { paths: self.words("paths")?, before, dry_run: self.flag("dry_run")? })
    }

    fn check_policy(&mut self) -> Decoded<Operation> {
        let act = |word: String| policy::Act::parse(&word).ok_or(bad("act", "the word of an act"));
        let caller = match self.word("as")? {
            None => None,
            Some(surface) => Some(Caller {
                surface: Cow::Owned(surface),
                client: self.word("as_client")?,
                user: self.word("as_user")?,
                identity: self.word("as_identity")?,
                conversation: self.word("as_conversation")?,
                agent: self.word("as_agent")?,
            }),
        };
        Ok(Operation::CheckPolicy { path: self.text("path")?, act: self.word("act")?.map(act).transpose()?, caller })
    }

    fn decide(&mut self) -> Decoded<Operation> {
        use approval::{Decision, How, Scope};
        fn how(word: &str) -> Option<How> {
            [How::Terminal, How::Key, How::Elicitation].into_iter().find(|how| how.as_str() == word)
        }
        let missing = |field| BadOperation::Missing { field };
        let decision: Option<Decision> =
            self.one_of("decision", None, (|word| Decision::parse(word).map(Some), "approve or deny"))?;
        let scope: Option<Scope> =
            self.one_of("scope", None, (|word| Scope::parse(word).map(Some), "once, session or always"))?;
        let how = self.one_of("how", None, (|word| how(word).map(Some), "terminal, key or elicitation"))?;
        Ok(Operation::Decide {
            id: self.text("id")?,
            decision: decision.ok_or(missing("decision"))?,
            scope: scope.ok_or(missing("scope"))?,
            how: how.ok_or(missing("how"))?,
        })
    }

    fn resolve(&mut self) -> Decoded<Operation> {
        let with = match self.text("with")?.as_str() {
            "ours" => Resolution::Ours,
            "theirs" => Resolution::Theirs,
            "proposal" => Resolution::Proposal,
            "edited" => Resolution::Text(self.text("text")?),
            _ => return Err(bad("with", "ours, theirs, proposal or edited")),
        };
        Ok(Operation::Resolve { id: self.text("id")?, with })
    }

    /// What is asked of files and of the tree.
    fn looking(&mut self, name: &str) -> Decoded<Option<Operation>> {
        let none = AnswerLimit::NONE;
        Ok(Some(match name {
            "read" => Operation::Read(self.read()?),
            "read_symbol" => Operation::ReadSymbol(self.read_symbol()?),
            "read_end" => Operation::ReadEnd(self.read_end()?),
            "stat" => Operation::Stat { path: self.text("path")? },
            "search_file" => Operation::SearchFile(self.search_file()?),
            "search" => Operation::Search(self.search()?),
            "list_symbols" => Operation::ListSymbols(ListSymbols {
                query: self.word("query")?,
                path: self.word("path")?,
                glob: self.word("glob")?,
                kind: self.word("kind")?,
                limit: self.number("limit")?,
            }),
            "outline" => Operation::Outline(Outline {
                path: self.text("path")?,
                signatures: self.flag("signatures")?,
                max_chars: self.number("max_chars")?.unwrap_or(ANSWER_CHARS as usize),
            }),
            "list" => Operation::List(List {
                extent: self.extent()?,
                depth: self.number("depth")?,
                limit: self.number("limit")?,
            }),
            "compare" => Operation::Compare(Compare {
                path: self.text("path")?,
                against: self.one_of("against", Against::Head, (Against::parse, "HEAD, INDEX or WORKTREE"))?,
                content: self.word("content")?,
                most: self.most(none)?,
            }),
            "compare_versions" => Operation::CompareVersions(CompareVersions {
                path: self.text("path")?,
                from: self.word("version1")?,
                to: self.word("version2")?,
                most: self.most(none)?,
            }),
            "list_files" => Operation::ListFiles(ListFiles {
                globs: self.words("globs")?,
                tags: self.words("tags")?,
                changed: self.flag("changed")?,
                limit: self.number("limit")?,
            }),
            "history" => Operation::History(History { path: self.word("path")?, limit: self.number("limit")? }),
            "show_version" => Operation::ShowVersion(ShowVersion {
                version: self.text("version")?,
                path: self.word("path")?,
                most: self.most(none)?,
            }),
            "blame" => Operation::Blame(Blame {
                path: self.text("path")?,
                offset: self.number("offset")?,
                limit: self.number("limit")?,
                most: self.most(none)?,
            }),
            "changes" => Operation::Changes(Changes { since: self.word("since")? }),
            _ => return Ok(None),
        }))
    }

    /// What changes files, conflicts, approvals and stored texts.
    fn changing(&mut self, name: &str) -> Decoded<Option<Operation>> {
        Ok(Some(match name {
            "write" => Operation::Write(Write { path: self.text("path")?, change: self.change()?, over: self.over()? }),
            "patch" => {
                Operation::Patch(Patch { patch: self.text("patch")?, path: self.word("path")?, over: self.over()? })
            }
            "checkpoint" => Operation::Checkpoint { name: self.word("name")? },
            "rewind" => Operation::Rewind(self.rewind()?),
            "list_conflicts" => Operation::ListConflicts { all: self.flag("all")? },
            "show_conflict" => Operation::ShowConflict { id: self.text("id")? },
            "propose" => Operation::Propose { id: self.text("id")?, text: self.text("text")? },
            "resolve" => self.resolve()?,
            "list_approvals" => Operation::ListApprovals { all: self.flag("all")? },
            "show_approval" => Operation::ShowApproval { id: self.text("id")? },
            "decide" => self.decide()?,
            "collect" => Operation::Collect(self.collect()?),
            "forget" => Operation::Forget(self.forget()?),
            "check_policy" => self.check_policy()?,
            "list_policy" => Operation::ListPolicy,
            "doctor" => Operation::Doctor,
            _ => return Ok(None),
        }))
    }

    /// What concerns a conversation.
    fn conversing(&mut self, name: &str) -> Decoded<Option<Operation>> {
        Ok(Some(match name {
            "tell" => Operation::Tell,
            "context" => Operation::Context,
            "refresh" => Operation::Refresh(Refresh {
                path: self.text("path")?,
                offset: self.number("offset")?,
                limit: self.number("limit")?,
            }),
            "status" => Operation::Status,
            "held" => Operation::Held { path: self.word("path")? },
            "list_sessions" => Operation::ListSessions,
            "show_session" => Operation::ShowSession,
            "branch" => Operation::Branch { at: self.number("at")? },
            "switch" => Operation::Switch { to: self.needed("to")? },
            "fork" => Operation::Fork { from: self.number("from")?, into: self.word("into")? },
            "compact" => Operation::Compact { summary: self.word("summary")? },
            "edit_context" => Operation::EditContext { target: self.needed("target")?, text: self.word("text")? },
            "distrust" => Operation::Distrust { why: self.text("why")? },
            "replay" => Operation::Replay,
            _ => return Ok(None),
        }))
    }

    fn end(self) -> Decoded<()> {
        match self.0.into_iter().next() {
            Some((field, _)) => Err(BadOperation::NoField { field }),
            None => Ok(()),
        }
    }
}

fn piece(field: Field) -> Decoded<Piece> {
    let Field::Group(fields) = field else { return Err(bad("edits", "a list of edits")) };
    let mut given = Given(fields.into_iter().map(|(name, field)| (name.into_owned(), field)).collect());
    let piece = Piece {
        old: given.text("old")?,
        new: given.text("new")?,
        places: if given.flag("all")? { Places::All } else { Places::One },
        line: given.number("line")?,
        after: given.words("after")?,
        at_end: given.flag("at_end")?,
        shape: given.one_of("shape", Shape::Text, (Shape::parse, "text, block or hunk"))?,
        ordered: given.flag("ordered")?,
    };
    given.end()?;
    Ok(piece)
}

impl Operation {
    /// The operation of this name and these fields, of a version of the vocabulary: what [`Self::encoded`] gave, or what someone
    /// wrote by hand, with the usual values left out.
    ///
    /// # Errors
    /// [`BadOperation`] names the field.
    pub fn decode(
        version: u64,
        name: &str,
        fields: impl IntoIterator<Item = (String, Field)>,
    ) -> Result<Self, BadOperation> {
        if version > u64::from(VERSION) {
            return Err(BadOperation::Newer { version });
        }
        let mut given = Given(fields.into_iter().collect());
        let found = match given.looking(name)? {
            Some(found) => Some(found),
            None => match given.changing(name)? {
                Some(found) => Some(found),
                None => given.conversing(name)?,
            },
        };
        let found = found.ok_or_else(|| BadOperation::Unknown { name: name.to_string() })?;
        given.end()?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    fn decoded(operation: &Operation) -> Decoded<Operation> {
        let fields = operation.encoded().into_iter().map(|(name, field)| (name.to_string(), field));
        Operation::decode(VERSION.into(), operation.name(), fields)
    }

    fn reads() -> Vec<Operation> {
        let hash = ContentHash::of(b"text");
        let picks = [
            Pick::Given,
            Pick::Last(7),
            Pick::Span { first: 3, last: 9, context: 2 },
            Pick::Of { lines: Lines::new(2, 4).unwrap(), hash },
            Pick::Around { query: "x\ny".into(), context: 5 },
        ];
        let read = |pick| Operation::Read(Read { path: "a b".into(), pick, ..Read::default() });
        let mut all: Vec<Operation> = picks.into_iter().map(read).collect();
        all.push(Operation::Read(Read {
            path: String::new(),
            offset: Some(u64::MAX),
            limit: Some(0),
            names: Names::OrSuffix,
            decoding: Decoding::View,
            pick: Pick::Given,
            snapshot: Some("0a1b2c3d".into()),
            most: Some(AnswerLimit { lines: 3, chars: 9 }),
            freshness: Freshness::Fresh,
            partial: Partial::Allowed,
            audience: Audience::Program,
        }));
        all.push(Operation::ReadSymbol(ReadSymbol {
            target: "a::b".into(),
            path: Some("c".into()),
            include_context: true,
            most: AnswerLimit::NONE,
            freshness: Freshness::Fresh,
            audience: Audience::Model,
        }));
        for end in [End::Head, End::Tail] {
            all.push(Operation::ReadEnd(ReadEnd { path: "a".into(), end, lines: 3, chars: 4 }));
        }
        all
    }

    fn finds() -> Vec<Operation> {
        let extent = Extent { path: Some("p".into()), glob: Some("*.rs".into()), hidden: Hidden::None, ignored: true };
        let search = |mode, letters| {
            let (query, extent) = ("q".into(), extent.clone());
            Operation::Search(Search { query, mode, letters, extent, limit: Some(3), context_lines: 4, max_chars: 5 })
        };
        vec![
            search(SearchMode::Regex, Letters::Smart),
            search(SearchMode::References, Letters::ByMode),
            Operation::Search(Search::default()),
            Operation::SearchFile(SearchFile {
                path: "a".into(),
                query: "(?i)x".into(),
                matching: Matching::Regex,
                max_matches: 1,
                before: 2,
                after: 3,
                max_chars: 4,
                with_path: false,
            }),
            Operation::SearchFile(SearchFile::default()),
            Operation::ListSymbols(ListSymbols {
                query: Some("q".into()),
                path: None,
                glob: Some("g".into()),
                kind: Some("function".into()),
                limit: Some(9),
            }),
            Operation::Outline(Outline { path: "a".into(), signatures: true, max_chars: 9 }),
            Operation::List(List { extent, depth: Some(2), limit: Some(3) }),
            Operation::Stat { path: "a".into() },
            Operation::ListFiles(ListFiles {
                globs: vec!["a,b".into(), "c".into()],
                tags: vec!["source".into()],
                changed: true,
                limit: Some(1),
            }),
        ]
    }

    fn changes() -> Vec<Operation> {
        let piece = Piece {
            old: "a\r\n".into(),
            new: String::new(),
            places: Places::All,
            line: Some(7),
            after: vec!["class A".into(), "def b".into()],
            at_end: true,
            shape: Shape::Hunk,
            ordered: true,
        };
        let changes = [
            Change::Whole("text".into()),
            Change::Create(String::new()),
            Change::Append("x".into()),
            Change::Replace { old: "o".into(), new: "n".into(), places: Places::All },
            Change::Edit(vec![piece, Piece::replace("a", "b", Places::One)]),
            Change::Edit(Vec::new()),
            Change::Delete,
            Change::Move { to: "b".into() },
        ];
        let over = [Over::Held, Over::Hash(ContentHash::of(b"x")), Over::Anything];
        let mut all = Vec::new();
        for (at, change) in changes.into_iter().enumerate() {
            all.push(Operation::Write(Write { path: "a".into(), change, over: over[at % 3] }));
        }
        all.push(Operation::Patch(Patch { patch: "*** Begin".into(), path: None, over: Over::Held }));
        for with in [Resolution::Ours, Resolution::Theirs, Resolution::Proposal, Resolution::Text("t".into())] {
            all.push(Operation::Resolve { id: "v1".into(), with });
        }
        all.push(Operation::Propose { id: "v1".into(), text: "t".into() });
        all.push(Operation::Rewind(Rewind {
            to: "v2".into(),
            paths: vec!["a,b".into()],
            outside: OutsideChanges::Keep,
            leaf: Leaf::GoesBack,
            everything: true,
            assume: true,
            dry_run: true,
        }));
        all
    }

    fn histories() -> Vec<Operation> {
        let most = AnswerLimit { lines: 1, chars: 2 };
        vec![
            Operation::Compare(Compare {
                path: "a".into(),
                against: Against::WorkTree,
                content: Some("c".into()),
                most,
            }),
            Operation::CompareVersions(CompareVersions { path: "a".into(), from: Some("v1".into()), to: None, most }),
            Operation::History(History { path: Some("a".into()), limit: Some(2) }),
            Operation::ShowVersion(ShowVersion { version: "v1".into(), path: Some("a".into()), most }),
            Operation::Blame(Blame { path: "a".into(), offset: Some(1), limit: Some(2), most }),
            Operation::Changes(Changes { since: Some("v1".into()) }),
            Operation::Checkpoint { name: Some("n".into()) },
            Operation::Forget(Forget { paths: vec!["a".into()], before: Some(Since::Time(4)), dry_run: true }),
            Operation::Forget(Forget { before: Some(Since::Version("v1".into())), ..Forget::default() }),
            Operation::Collect(Collect {
                older_than_ms: Some(1),
                max_bytes: Some(2),
                needed: Needed::Remove,
                history: Retention { older_than_ms: Some(3), max_bytes: Some(4), pack_after_ms: Some(5) },
                dry_run: true,
            }),
        ]
    }

    fn others() -> Vec<Operation> {
        let caller = Caller {
            surface: "mcp".into(),
            client: Some("c".into()),
            user: Some("u".into()),
            identity: Some("i".into()),
            conversation: Some("s".into()),
            agent: Some("a".into()),
        };
        use approval::{Decision, How, Scope};
        let id = || String::from("0a1b2c-7");
        vec![
            Operation::CheckPolicy { path: "a".into(), act: Some(policy::Act::Write), caller: Some(caller) },
            Operation::CheckPolicy { path: "a".into(), act: None, caller: None },
            Operation::Decide { id: id(), decision: Decision::Deny, scope: Scope::Always, how: How::Elicitation },
            Operation::ListApprovals { all: true },
            Operation::ShowApproval { id: id() },
            Operation::ListConflicts { all: false },
            Operation::ShowConflict { id: "v3".into() },
            Operation::Refresh(Refresh { path: "a".into(), offset: Some(1), limit: None }),
            Operation::Branch { at: Some(3) },
            Operation::Switch { to: 4 },
            Operation::Fork { from: Some(1), into: Some("s".into()) },
            Operation::Compact { summary: Some("sum".into()) },
            Operation::EditContext { target: 3, text: Some(String::new()) },
            Operation::Distrust { why: "w".into() },
            Operation::Tell,
            Operation::Context,
            Operation::Status,
            Operation::Held { path: Some("a".into()) },
            Operation::Held { path: None },
            Operation::ListSessions,
            Operation::ShowSession,
            Operation::Replay,
            Operation::ListPolicy,
            Operation::Doctor,
        ]
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        let all = [reads(), finds(), changes(), histories(), others()].concat();
        let names: alloc::collections::BTreeSet<&str> = all.iter().map(Operation::name).collect();
        assert_eq!(names.len(), 46, "every operation is among them");
        for operation in all {
            assert_eq!(decoded(&operation).as_ref(), Ok(&operation));
            let normal = operation.normalised();
            assert_eq!(decoded(&normal), Ok(normal));
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let text = |name: &str| (name.to_string(), Field::from("x"));
        let check = |version, name: &str, fields: Vec<(String, Field)>, expected| {
            assert_eq!(Operation::decode(version, name, fields), Err(expected));
        };
        check(2, "read", vec![text("path")], BadOperation::Newer { version: 2 });
        check(1, "raed", vec![text("path")], BadOperation::Unknown { name: "raed".into() });
        check(1, "read", vec![], BadOperation::Missing { field: "path" });
        check(1, "read", vec![text("path"), text("ofset")], BadOperation::NoField { field: "ofset".into() });
        let expected = "a whole number that is not too large";
        check(1, "read", vec![text("path"), text("offset")], BadOperation::Value { field: "offset", expected });
        let many = ("max_lines".to_string(), Field::from(u64::MAX));
        check(1, "read", vec![text("path"), many], BadOperation::Value { field: "max_lines", expected });
        let expected = "text, regex, path or references";
        check(1, "search", vec![text("query"), text("mode")], BadOperation::Value { field: "mode", expected });
    }

    #[test]
    fn what_is_left_out_has_its_usual_value() {
        let path = || vec![("path".to_string(), Field::from("a"))];
        let read = Operation::decode(1, "read", path());
        assert_eq!(read, Ok(Operation::Read(Read { path: "a".into(), ..Read::default() })));
        let query = ("query".to_string(), Field::from("q"));
        let search = Operation::decode(1, "search", vec![query]);
        assert_eq!(search, Ok(Operation::Search(Search { query: "q".into(), ..Search::default() })));
    }
}
