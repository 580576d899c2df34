//! The one encoding of an operation: named fields in a fixed order, lossless, without a wire format.

use alloc::{
    borrow::{Cow, ToOwned},
    string::{String, ToString},
    vec::Vec,
};

use super::{
    AnswerLimit, Audience, Caller, Change, Changes, Collect, Decoding, End, Extent, Freshness, Hidden, History,
    Letters, Matching, Names, Needed, Operation, Over, Partial, Patch, Read, ReadSymbol, Resolution, Search,
    SearchFile, Write, approval, policy,
};
use crate::{
    edit::{Piece, Places, Shape},
    pick::Pick,
};

/// The value of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Text.
    Text(String),
    /// A number.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several values, in order.
    List(Vec<Field>),
    /// Named values, in a fixed order.
    Group(Vec<(Cow<'static, str>, Field)>),
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Field {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Field {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Field {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<bool> for Field {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&Vec<String>> for Field {
    fn from(words: &Vec<String>) -> Self {
        Self::List(words.iter().map(Self::from).collect())
    }
}

/// What is said of the texts that a call brings along.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// All of them.
    Whole,
    /// How many bytes they are.
    Sizes,
}

/// Fields in a fixed order; what is absent is left out.
pub(super) struct Fields {
    all: Vec<(&'static str, Field)>,
    texts: Texts,
}

impl Fields {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.all.push((name, value.into()));
        self
    }

    /// A list; nothing if it is empty.
    pub(super) fn list(self, name: &'static str, words: &Vec<String>) -> Self {
        if words.is_empty() { self } else { self.with(name, words) }
    }

    /// A text that the call brings along: all of it, or its size.
    fn text(self, (name, size): (&'static str, &'static str), text: &str) -> Self {
        match self.texts {
            Texts::Whole => self.with(name, text),
            Texts::Sizes => self.with(size, text.len()),
        }
    }

    fn maybe_text(self, names: (&'static str, &'static str), text: Option<&String>) -> Self {
        match text {
            Some(text) => self.text(names, text),
            None => self,
        }
    }

    pub(super) fn maybe(self, name: &'static str, value: Option<impl Into<Field>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn read(self, read: &Read) -> Self {
        self.with("path", &read.path)
            .maybe("offset", read.offset)
            .maybe("limit", read.limit)
            .maybe("or_suffix", (read.names == Names::OrSuffix).then_some(true))
            .maybe("decoded", (read.decoding == Decoding::View).then_some(true))
            .pick(&read.pick)
            .maybe("snapshot", read.snapshot.as_ref())
            .most(read.most)
            .maybe("partial", (read.partial == Partial::Allowed).then_some(true))
            .answered(read.freshness, read.audience)
    }

    fn read_symbol(self, read: &ReadSymbol) -> Self {
        self.with("target", &read.target)
            .maybe("path", read.path.as_ref())
            .with("include_context", read.include_context)
            .most(Some(read.most))
            .answered(read.freshness, read.audience)
    }

    fn search_file(self, search: &SearchFile) -> Self {
        self.with("path", &search.path)
            .with("query", &search.query)
            .with("is_regex", search.matching == Matching::Regex)
            .with("max_matches", search.max_matches)
            .with("before_lines", search.before)
            .with("after_lines", search.after)
            .with("max_chars", search.max_chars)
            .with("with_path", search.with_path)
    }

    fn search(self, search: &Search) -> Self {
        self.with("query", &search.query)
            .with("mode", search.mode.as_str())
            .maybe("case", (search.letters != Letters::ByMode).then(|| search.letters.as_str()))
            .extent(&search.extent)
            .maybe("limit", search.limit)
            .with("context_lines", search.context_lines)
            .with("max_chars", search.max_chars)
    }

    fn collect(self, collect: &Collect) -> Self {
        self.maybe("older_than_ms", collect.older_than_ms)
            .maybe("max_bytes", collect.max_bytes)
            .with("needed_too", collect.needed == Needed::Remove)
            .maybe("history_older_than_ms", collect.history.older_than_ms)
            .maybe("history_max_bytes", collect.history.max_bytes)
            .maybe("pack_after_ms", collect.history.pack_after_ms)
            .with("dry_run", collect.dry_run)
    }

    fn checked(self, path: &str, act: Option<policy::Act>, caller: Option<&Caller>) -> Self {
        let fields = self.with("path", path).maybe("act", act.map(policy::Act::as_str));
        let Some(caller) = caller else { return fields };
        fields
            .with("as", &*caller.surface)
            .maybe("as_client", caller.client.as_ref())
            .maybe("as_user", caller.user.as_ref())
            .maybe("as_identity", caller.identity.as_ref())
            .maybe("as_conversation", caller.conversation.as_ref())
            .maybe("as_agent", caller.agent.as_ref())
    }

    fn extent(self, extent: &Extent) -> Self {
        self.maybe("path", extent.path.as_ref())
            .maybe("glob", extent.glob.as_ref())
            .maybe("hidden", (extent.hidden != Hidden::Tracked).then(|| extent.hidden.as_str()))
            .maybe("ignored", extent.ignored.then_some(true))
    }

    pub(super) fn most(self, most: Option<AnswerLimit>) -> Self {
        self.maybe("max_lines", most.map(|most| most.lines)).maybe("max_chars", most.map(|most| most.chars))
    }

    fn answered(self, freshness: Freshness, audience: Audience) -> Self {
        self.with("fresh", freshness == Freshness::Fresh).with("for_program", audience == Audience::Program)
    }

    fn change(self, change: &Change) -> Self {
        const CONTENT: (&str, &str) = ("content", "content_bytes");
        match change {
            Change::Whole(content) => self.text(CONTENT, content),
            Change::Create(content) | Change::Append(content) => {
                self.with("change", change.word()).text(CONTENT, content)
            }
            Change::Replace { old, new, places } => {
                self.text(("old", "old_bytes"), old).text(("new", "new_bytes"), new).with("all", *places == Places::All)
            }
            Change::Edit(pieces) if self.texts == Texts::Whole => {
                self.with("edits", Field::List(pieces.iter().map(piece).collect()))
            }
            Change::Edit(pieces) => {
                let bytes = |of: fn(&Piece) -> &String| pieces.iter().map(|piece| of(piece).len()).sum::<usize>();
                self.with("edits", pieces.len())
                    .with("old_bytes", bytes(|piece| &piece.old))
                    .with("new_bytes", bytes(|piece| &piece.new))
            }
            Change::Delete => self.with("change", change.word()),
            Change::Move { to } => self.with("change", change.word()).with("to", to),
        }
    }

    fn decided(self, decision: approval::Decision, scope: approval::Scope, how: approval::How) -> Self {
        self.with("decision", decision.as_str()).with("scope", scope.as_str()).with("how", how.as_str())
    }

    fn over(self, over: Over) -> Self {
        match over {
            Over::Held => self,
            Over::Hash(hash) => self.with("expected", hash.to_string().as_str()),
            Over::Anything => self.with("over_anything", true),
        }
    }

    fn pick(self, pick: &Pick) -> Self {
        match pick {
            Pick::Given => self,
            Pick::Last(lines) => self.with("last", *lines),
            Pick::Span { first, last, context } => {
                self.with("start_line", *first).with("end_line", *last).with("context_lines", *context)
            }
            Pick::Of { lines, hash } => self
                .with("start_line", lines.first())
                .with("end_line", lines.last())
                .with("of", hash.to_string().as_str()),
            Pick::Around { query, context } => self.with("query", query).with("context_lines", *context),
        }
    }
}

/// One piece of an edit; what is as usual is left out.
fn piece(piece: &Piece) -> Field {
    let fields = Fields { all: Vec::new(), texts: Texts::Whole }
        .with("old", &piece.old)
        .with("new", &piece.new)
        .maybe("all", (piece.places == Places::All).then_some(true))
        .maybe("line", piece.line)
        .list("after", &piece.after)
        .maybe("at_end", piece.at_end.then_some(true))
        .maybe("shape", (piece.shape != Shape::Text).then_some(piece.shape.as_str()))
        .maybe("ordered", piece.ordered.then_some(true));
    Field::Group(fields.all.into_iter().map(|(name, field)| (Cow::Borrowed(name), field)).collect())
}

impl Operation {
    /// Every field that says something, by name, in a fixed order: the one encoding of an operation, beside its
    /// [`Self::name`] and [`super::VERSION`]. [`Self::decode`] gives the operation back.
    #[must_use]
    pub fn encoded(&self) -> Vec<(&'static str, Field)> {
        self.with_texts(Texts::Whole)
    }

    /// The same, with the size of a text that the call brings along in place of the text: for lists and reports.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        self.with_texts(Texts::Sizes)
    }

    fn with_texts(&self, texts: Texts) -> Vec<(&'static str, Field)> {
        let fields = Fields { all: Vec::new(), texts };
        let fields = match self {
            Self::Read(read) => fields.read(read),
            Self::ReadSymbol(read) => fields.read_symbol(read),
            Self::ReadEnd(read) => fields
                .with("path", &read.path)
                .with("end", if read.end == End::Head { "head" } else { "tail" })
                .with("lines", read.lines)
                .with("max_chars", read.chars),
            Self::Stat { path } => fields.with("path", path),
            Self::Outline(outline) => fields
                .with("path", &outline.path)
                .with("signatures", outline.signatures)
                .with("max_chars", outline.max_chars),
            Self::List(list) => fields.extent(&list.extent).maybe("depth", list.depth).maybe("limit", list.limit),
            Self::SearchFile(search) => fields.search_file(search),
            Self::Search(search) => fields.search(search),
            Self::ListSymbols(list) => {
                let fields = fields.maybe("query", list.query.as_ref()).maybe("path", list.path.as_ref());
                let fields = fields.maybe("glob", list.glob.as_ref()).maybe("kind", list.kind.as_ref());
                fields.maybe("limit", list.limit)
            }
            Self::Compare(compare) => fields
                .with("path", &compare.path)
                .with("against", compare.against.as_str())
                .maybe_text(("content", "content_bytes"), compare.content.as_ref())
                .most(Some(compare.most)),
            Self::Write(Write { path, change, over }) => fields.with("path", path).change(change).over(*over),
            Self::Patch(Patch { patch, path, over }) => {
                fields.maybe("path", path.as_ref()).text(("patch", "patch_bytes"), patch).over(*over)
            }
            Self::CompareVersions(compare) => fields
                .with("path", &compare.path)
                .maybe("version1", compare.from.as_ref())
                .maybe("version2", compare.to.as_ref())
                .most(Some(compare.most)),
            Self::ListFiles(list) => fields.files(list),
            Self::History(History { path, limit }) => fields.maybe("path", path.as_ref()).maybe("limit", *limit),
            Self::ShowVersion(show) => fields.version(show),
            Self::Blame(blame) => fields.blame(blame),
            Self::Changes(Changes { since }) => fields.maybe("since", since.as_ref()),
            Self::Checkpoint { name } => fields.maybe("name", name.as_ref()),
            Self::Rewind(rewind) => fields.rewind(rewind),
            Self::ListConflicts { all } | Self::ListApprovals { all } => fields.with("all", *all),
            Self::ShowConflict { id } | Self::ShowApproval { id } => fields.with("id", id),
            Self::Decide { id, decision, scope, how } => fields.with("id", id).decided(*decision, *scope, *how),
            Self::Propose { id, text } => fields.with("id", id).text(("text", "text_bytes"), text),
            Self::Resolve { id, with } => {
                let text = if let Resolution::Text(text) = with { Some(text) } else { None };
                fields.with("id", id).with("with", with.as_str()).maybe_text(("text", "text_bytes"), text)
            }
            Self::Refresh(refresh) => {
                fields.with("path", &refresh.path).maybe("offset", refresh.offset).maybe("limit", refresh.limit)
            }
            Self::Held { path } => fields.maybe("path", path.as_ref()),
            Self::Branch { at } => fields.maybe("at", *at),
            Self::Switch { to } => fields.with("to", *to),
            Self::Fork { from, into } => fields.maybe("from", *from).maybe("into", into.as_ref()),
            Self::Compact { summary } => fields.maybe_text(("summary", "summary_bytes"), summary.as_ref()),
            Self::EditContext { target, text } => {
                fields.with("target", *target).maybe_text(("text", "text_bytes"), text.as_ref())
            }
            Self::Distrust { why } => fields.with("why", why),
            Self::Collect(collect) => fields.collect(collect),
            Self::Forget(forget) => fields.forget(forget),
            Self::CheckPolicy { path, act, caller } => fields.checked(path, *act, caller.as_ref()),
            Self::Status | Self::ListSessions | Self::ShowSession | Self::Replay | Self::Tell | Self::Context => fields,
            Self::ListPolicy | Self::Doctor => fields,
        };
        fields.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Forget, SearchMode, Since};
    use alloc::{format, vec};

    fn encoded(operation: Operation) -> String {
        let operation = operation.normalised();
        fn word(field: &Field) -> String {
            match field {
                Field::Text(text) => format!("{text:?}"),
                Field::Number(number) => format!("{number}"),
                Field::Flag(flag) => format!("{flag}"),
                Field::List(all) => format!("[{}]", all.iter().map(word).collect::<Vec<_>>().join(", ")),
                Field::Group(all) => format!("{all:?}"),
            }
        }
        let fields: Vec<String> =
            operation.fields().iter().map(|(name, field)| format!(" {name}={}", word(field))).collect();
        format!("{}{}", operation.name(), fields.concat())
    }

    /// Logs and other machines rely on these words.
    #[test]
    fn the_encoding_of_an_operation_is_fixed() {
        let read = Read { path: "a".into(), offset: Some(3), ..Read::default() };
        let picked =
            Read { path: "a".into(), pick: Pick::Around { query: "x y".into(), context: 4 }, ..Read::default() };
        let write = Change::Replace { old: "secret".into(), new: "other text".into(), places: Places::One };
        let cases = vec![
            (Operation::Read(read), r#"read path="a" offset=3 fresh=false for_program=false"#),
            (
                Operation::Read(Read { most: Some(AnswerLimit::WINDOW), ..picked }),
                r#"read path="a" query="x y" context_lines=4 max_lines=300 max_chars=12000 fresh=false for_program=false"#,
            ),
            (
                Operation::Search(Search { query: "q".into(), ..Search::default() }),
                r#"search query="q" mode="text" limit=20 context_lines=0 max_chars=40000"#,
            ),
            (
                Operation::Search(Search { query: "q".into(), mode: SearchMode::References, ..Search::default() }),
                r#"search query="q" mode="references" limit=100 context_lines=0 max_chars=40000"#,
            ),
            (
                Operation::Write(Write { path: "a".into(), change: write, over: Over::Held }),
                r#"write path="a" old_bytes=6 new_bytes=10 all=false"#,
            ),
            (
                Operation::Decide {
                    id: "0a1b2c-7".into(),
                    decision: approval::Decision::Approve,
                    scope: approval::Scope::Session,
                    how: approval::How::Key,
                },
                r#"decide id="0a1b2c-7" decision="approve" scope="session" how="key""#,
            ),
            (
                Operation::Forget(Forget {
                    paths: alloc::vec!["a".into(), "b".into()],
                    before: Some(Since::Version("v3".into())),
                    dry_run: true,
                }),
                r#"forget paths=["a", "b"] before="v3" dry_run=true"#,
            ),
            (Operation::Branch { at: None }, "branch"),
            (Operation::Held { path: Some("a".into()) }, r#"held path="a""#),
            (Operation::Status, "status"),
        ];
        for (operation, expected) in cases {
            assert_eq!(encoded(operation), expected);
        }
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        let search = Operation::Search(Search { mode: SearchMode::Regex, ..Search::default() }).normalised();
        assert_eq!(search.clone().normalised(), search);
        assert!(search.fields().contains(&("limit", Field::Number(100))));
    }
}
