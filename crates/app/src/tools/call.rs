//! One call of a tool: turns its arguments into an operation, and the outcome into what the model sees and what a
//! program may use. The same for MCP and for the command line.

use readproof_core::{
    decide::Mode,
    knowledge::piece::others_than,
    limits::TEXT_CHARS,
    operation::{
        AnswerLimit, Audience, Caller, Freshness, Names, Operation, Read, Refresh,
        approval::{Decision, How, Scope},
    },
    path::printable,
    policy::Acts,
    render::{fence::fenced, trailer::hidden},
    scope::{Lines, ScopeError},
};
use readproof_disk::{LocateError, SnapshotError};
use readproof_engine::{
    self as engine, Answer, ApprovalRequest, Arguments, Control, Engine, Error, Handle, HandleConversation,
    LoggedSession, Notice, Outcome, Refreshed, Status,
};
use readproof_words::{Surface, ToolTerms, notice::notices as words};
use serde_json::{Map, Value, json};

use super::{
    Tool,
    args::{Args, Refusal, short},
    context,
    conversation::Origin,
    editing, finding, history, listing, ranges, symbols, tool, unified,
};

/// The result of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolOutput {
    /// The text block; none if only the location was asked for.
    pub(crate) text: Option<String>,
    /// Whether that is text of a file as it is, and nothing else.
    pub(crate) is_plain: bool,
    /// Context lines of a definition, in a separate block.
    pub(crate) context: Option<String>,
    /// The last block.
    pub(crate) trailer: Option<Trailers>,
    /// What a program may want to know, without the text.
    pub(crate) contract: Value,
    /// The key of the text in [`Self::object`].
    pub(crate) text_key: &'static str,
    /// The results of a call that reads several files, before the trailer.
    pub(crate) several: Vec<ToolOutput>,
    /// What the conversation is told unasked, after everything else.
    pub(crate) told: Vec<String>,
}

impl ToolOutput {
    /// The blocks of text in their order. None is empty or blank: some hosts refuse a message with such a block, and then
    /// the session is stuck. The trailer says that a text was blank.
    pub(crate) fn blocks(self) -> Vec<String> {
        let visible = |block: &String| !block.trim().is_empty();
        let parts = self.several.into_iter().flat_map(Self::blocks);
        let own = self.text.into_iter().chain(self.context);
        let said = parts.chain(own).chain(self.trailer.map(|trailer| trailer.line));
        said.chain(self.told).filter(visible).collect()
    }

    /// The same, with more to be said in the last block.
    pub(crate) fn beside(self, notices: &[Notice]) -> Self {
        self.adding(&words(notices))
    }

    fn adding(self, said: &[String]) -> Self {
        if said.is_empty() {
            return self;
        }
        let more = said.iter().map(|notice| printable(notice)).collect::<Vec<_>>().join("; ");
        let trailer = match self.trailer {
            Some(Trailers { line, bare }) => {
                Trailers { line: beside(&line, &more), bare: bare.map(|bare| beside(&bare, &more)) }
            }
            None => format!("[{more}]").into(),
        };
        Self { trailer: Some(trailer), ..self }
    }

    /// The same, with the hidden characters of its text named in the last block. The text stays as it is.
    fn naming_hidden(mut self) -> Self {
        self.several = self.several.into_iter().map(Self::naming_hidden).collect();
        let found: Vec<String> =
            [&self.text, &self.context].into_iter().flatten().filter_map(|text| hidden(text)).collect();
        self.adding(&found)
    }

    /// The same, with the text of files between fences.
    fn fenced(mut self, secret: &str) -> Self {
        self.several = self.several.into_iter().map(|part| part.fenced(secret)).collect();
        let is_plain = self.is_plain;
        self.text = self.text.map(|text| if is_plain { fenced(&text, secret) } else { text });
        self.context = self.context.map(|context| fenced(&context, secret));
        self
    }

    /// The same without the handle, for a call after which it is unknown what the model saw last.
    pub(crate) fn without_handle(mut self) -> Self {
        if let Some(fields) = self.contract.as_object_mut() {
            fields.remove("handle");
        }
        if let Some(meta) = self.contract.get_mut("meta").and_then(Value::as_object_mut) {
            meta.remove("handle");
        }
        self.trailer = self.trailer.map(|Trailers { line, bare }| bare.unwrap_or(line).into());
        self.several = self.several.into_iter().map(Self::without_handle).collect();
        if let Some(results) = self.contract.get_mut("results").filter(|_| !self.several.is_empty()) {
            *results = self.several.iter().map(|part| part.contract.clone()).collect();
        }
        self
    }

    /// Contract and text in one object, as the command line prints it.
    pub(crate) fn object(self) -> Value {
        let mut object = self.contract;
        if let (Some(fields), Some(text)) = (object.as_object_mut(), self.text) {
            fields.insert(self.text_key.to_owned(), Value::String(text));
        }
        if let (Some(fields), Some(context)) = (object.as_object_mut(), self.context) {
            fields.insert("context_text".to_owned(), Value::String(context));
        }
        if !self.several.is_empty() {
            object["results"] = self.several.into_iter().map(Self::object).collect();
        }
        object
    }
}

/// A trailer, and the same without its handle.
#[derive(Clone, Debug)]
pub(crate) struct Trailers {
    pub(crate) line: String,
    /// None where the line has no handle.
    bare: Option<String>,
}

impl Trailers {
    /// The trailer of an answer; see [`Answer::trailer`].
    pub(crate) fn of(
        answer: &Answer<Handle>,
        asked_to: Option<u64>,
        go_on: &str,
        said: &[String],
        handle: bool,
    ) -> Self {
        let notices = words(&answer.notices);
        let line = |handle| answer.trailer(asked_to, go_on, (said, &notices), handle);
        Self { line: line(handle), bare: handle.then(|| line(false)) }
    }
}

impl From<String> for Trailers {
    fn from(line: String) -> Self {
        Self { line, bare: None }
    }
}

fn beside(trailer: &str, more: &str) -> String {
    format!("{}; {more}]", trailer.strip_suffix(']').unwrap_or(trailer))
}

/// Why a call gives nothing.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The call itself is wrong, and the tool said how.
    ByTool(Refusal),
    /// The engine refused it.
    ByEngine(Error),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::ByTool(refusal)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::ByEngine(error)
    }
}

impl Refusal {
    /// The same facts for programs, which find the message in the text.
    pub(crate) fn contract(&self) -> Value {
        let mut error = json!({"code": self.code});
        if let Some(fields) = error.as_object_mut() {
            fields.extend(self.facts.clone());
        }
        let contract = json!({"ok": false, "success": false, "error": error});
        if !self.of_change {
            return contract;
        }
        let conflict = self.code == "CONFLICT";
        let message = self.message.lines().next().unwrap_or_default();
        let error = &contract["error"];
        json!({"ok": false, "success": false, "conflict": conflict, "message": message, "diff": "", "version_id": null, "error": error})
    }
}

/// The call that waits, if that is why it is refused.
fn waiting(error: &Error) -> Option<Box<ApprovalRequest>> {
    if let Error::ApprovalNeeded(request) = error { Some(request.clone()) } else { None }
}

pub(crate) struct ToolCall<'a> {
    pub(crate) tool: &'static Tool,
    pub(crate) args: Args,
    pub(crate) origin: &'a Origin,
    pub(crate) control: Control<'a>,
}

impl ToolCall<'_> {
    /// Whether knowledge may shorten the answer.
    pub(crate) fn freshness(&self) -> Freshness {
        if self.args.flag("fresh") { Freshness::Fresh } else { Freshness::Known }
    }

    /// The audience of the answer: a program that made the call outranks what the call asks for.
    pub(crate) fn audience(&self, asked: Audience) -> Audience {
        match self.origin.audience {
            Audience::Model => asked,
            Audience::Program => Audience::Program,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) engine: &'a Engine,
    caller: &'a Caller,
}

impl<'a> Tools<'a> {
    pub(crate) fn new(engine: &'a Engine, caller: &'a Caller) -> Self {
        Self { engine, caller }
    }

    /// What the unified `read` shows of a file without a `limit`.
    pub(crate) fn window(&self) -> AnswerLimit {
        self.engine.settings().window
    }

    pub(crate) fn call(
        &self,
        name: &str,
        given: &Map<String, Value>,
        origin: &Origin,
        control: Control<'_>,
    ) -> Result<ToolOutput, Refusal> {
        let Some(tool) = tool(name) else {
            let message = format!("there is no tool `{}`; use read or search", short(&printable(name)));
            return Err(Refusal::new("UNKNOWN_TOOL", message));
        };
        let args = Args::parse(tool, given, self.engine.settings().args, &|| self.some_file())?;
        // The path of the call, as errors name it.
        let asked = args.text("path").or(args.text("filepath")).or(args.text("target")).unwrap_or_default().to_owned();
        let (ignored, all) = (args.ignored(), args.clone());
        let run = || self.run(ToolCall { tool, args, origin, control });
        let said = self.refusable((tool, &asked, Some(&all)), run).map_err(Refusal::naming_hidden)?;
        let said = match &self.engine.settings().fences {
            Some(secret) => said.naming_hidden().fenced(secret),
            None => said.naming_hidden(),
        };
        let said = said.adding(ignored.as_slice()).beside(&self.engine.take_notices());
        Ok(self.telling(said, origin, control))
    }

    /// The same, with what others changed of the files that the conversation was shown.
    fn telling(&self, mut said: ToolOutput, origin: &Origin, control: Control<'_>) -> ToolOutput {
        let is_told = self.engine.settings().tell && origin.audience == Audience::Model;
        let Some(session) = origin.session.as_ref().filter(|name| is_told && self.engine.has_news(name)) else {
            return said;
        };
        let mut conversation = HandleConversation::new(Some(session.clone()), None);
        let (caller, operation) = (self.caller, Operation::Tell);
        let call = engine::Call { caller, conversation: &mut conversation, operation, control };
        // Nobody asked, so a failure is none of the call's.
        let told = self.engine.perform(call).and_then(Outcome::into_told).unwrap_or_default();
        if !told.is_empty() {
            if let Some(fields) = said.contract.as_object_mut() {
                fields.insert("told".to_owned(), context::told_contract(&told));
            }
            said.told = context::told_blocks(&told);
        }
        said
    }

    /// Performs an operation in the conversation of a call.
    pub(crate) fn ask(&self, call: &ToolCall<'_>, operation: Operation) -> Result<Outcome<Handle>, Error> {
        let known = call.args.text("known").filter(|_| call.origin.handles);
        let conversation = HandleConversation::new(call.origin.session.clone(), known).cut_at(call.origin.cut);
        let mut conversation = if call.origin.handles { conversation } else { conversation.without_handles() };
        let control = call.control;
        self.engine.perform(engine::Call { caller: self.caller, conversation: &mut conversation, operation, control })
    }

    /// Reads lines of a file, for the model or only for their location.
    pub(crate) fn read(&self, call: &ToolCall<'_>, read: Read) -> Result<Answer<Handle>, Error> {
        let (audience, freshness) = (call.audience(read.audience), call.freshness());
        let snapshot = call.args.text("of").map(str::to_owned).or(read.snapshot);
        self.ask(call, Operation::Read(Read { audience, freshness, snapshot, ..read }))?.into_answer()
    }

    /// Runs, and words any error for this tool; `asked` is the path of the call.
    pub(crate) fn refusable<T>(
        &self,
        (tool, asked, args): (&'static Tool, &str, Option<&Args>),
        run: impl FnOnce() -> Result<T, Refused>,
    ) -> Result<T, Refusal> {
        run().map_err(|refused| match refused {
            Refused::ByTool(refusal) => refusal,
            Refused::ByEngine(error) => {
                let mut refusal = Refusal { of_change: tool.writes(), ..self.worded(&error, (tool, asked)) };
                if let Some(example) = self.instead(&error, (tool, asked, args)) {
                    refusal.message = format!("{}\nexample: {example}", refusal.message);
                }
                refusal
            }
        })
    }

    /// A call that works, where another name or range was most likely meant.
    fn instead(&self, error: &Error, (tool, asked, args): (&'static Tool, &str, Option<&Args>)) -> Option<String> {
        let call = |tool: &str, arguments: &Value| Some(format!("{tool} {}", printable(&arguments.to_string())));
        let with_file = |file: &str| args.map_or_else(|| tool.example(file), |args| args.with_file(asked, file));
        let is_search = tool.name == "search";
        if let Error::Missing { near, .. } = error {
            return near.first().map_or_else(|| call("list", &json!({})), |near| call(tool.name, &with_file(near)));
        }
        if let Error::Locate(LocateError::Outside { .. }) = error {
            return call(tool.name, &with_file(&self.seen()?.name_inside(asked)?));
        }
        if let Error::Snapshot(SnapshotError::NotAFile { .. }) = error {
            return call("list", &json!({"path": asked}))
                .filter(|_| self.seen().is_some_and(|seen| seen.is_folder(asked)));
        }
        if let Error::Range { source: ScopeError::BeyondEnd { total, .. }, .. } = error {
            return call(tool.name, &args?.at_the_end(u64::from(*total)));
        }
        if matches!(error, Error::EmptyQuery) && is_search {
            let path = args.and_then(|args| args.text("path"));
            return call("list", &path.map_or_else(|| json!({}), |path| json!({"path": path})));
        }
        if let (Error::NotAName { query }, Some(args)) = (error, args) {
            let words = query.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let name = words.filter(|word| !word.is_empty()).max_by_key(|word| word.len());
            let with = args.clone();
            let with = name.map_or_else(|| with.clone().with("mode", "text"), |name| with.clone().with("query", name));
            return call(tool.name, &with.but_for(&[]));
        }
        if matches!(error, Error::Query(_)) && is_search {
            return call(tool.name, &args?.clone().with("mode", "text").but_for(&[]));
        }
        None
    }

    /// An error in the words of the tool.
    fn worded(&self, error: &Error, (tool, asked): (&'static Tool, &str)) -> Refusal {
        let root = self.engine.root().path().display().to_string();
        let asked = short(&printable(asked));
        let start_line = tool.params.iter().any(|param| param.name == "start_line" && param.required);
        let surface = Surface::Mcp(ToolTerms { root: &root, asked: &asked, start_line });
        symbols::refusal(error, surface, &|name| self.seen().is_some_and(|seen| seen.is_file(name))).unwrap_or_else(
            || Refusal {
                facts: editing::facts(error),
                approval: waiting(error),
                ..Refusal::new(error.code(), surface.error(error))
            },
        )
    }

    /// Records what the person said in the client about a call that waits.
    pub(crate) fn decide(&self, id: &str, decision: Decision) -> Result<(), Refusal> {
        let (scope, how) = (Scope::Once, How::Elicitation);
        let operation = Operation::Decide { id: id.to_owned(), decision, scope, how };
        let conversation = &mut LoggedSession::named(None);
        let (caller, control) = (self.caller, Control::WAIT);
        let done = self.engine.perform(engine::Call { caller, conversation, operation, control });
        done.map(drop).map_err(|error| Refusal::new(error.code(), Surface::Cli.error(&error)))
    }

    /// How names that are not there are taken: as the strict table has it, never as another's.
    pub(crate) fn names(&self) -> Names {
        match self.engine.settings().args {
            Arguments::Loose => Names::OrSuffix,
            Arguments::Strict => Names::Literal,
        }
    }

    fn run(&self, call: ToolCall<'_>) -> Result<ToolOutput, Refused> {
        match call.tool.name {
            "read" => unified::read(self, &call),
            "get_snippet" => unified::read(self, &legacy(call, "snippet", "path")),
            "read_symbol" => unified::read(self, &legacy(call, "symbol", "symbol")),
            "dry_run_diff" => unified::read(self, &legacy(call, "diff_preview", "path")),
            "search" => finding::search(self, &call),
            "list" => listing::list(self, &call),
            "outline" => listing::outline(self, &call),
            "search_in_file" => finding::in_file(self, &call),
            "stat_file" => finding::stat(self, &call),
            "read_file" => ranges::file(self, &call),
            "read_file_range" => ranges::range(self, &call),
            "read_file_head" => ranges::head(self, &call),
            "read_file_tail" => ranges::tail(self, &call),
            "edit" => editing::edit(self, &call),
            "write_file" => editing::write(self, &call),
            "apply_patch" => editing::patch(self, &call),
            "delete_file" => editing::delete(self, &call),
            "move_file" => editing::rename(self, &call),
            "get_diff" => editing::diff(self, &call),
            "list_files" => history::files(self, &call),
            "file_history" => history::history(self, &call),
            "show_version" => history::show(self, &call),
            "blame" => history::blame(self, &call),
            "changes" => history::changes(self, &call),
            "context" => context::context(self, &call),
            "checkpoint" => history::checkpoint(self, &call),
            "rollback" => history::rollback(self, &call),
            "read_lines" => ranges::range(
                self,
                &named_as(call, &[("filepath", "path"), ("start", "start_line"), ("end", "end_line")]),
            ),
            "readcache_refresh" => self.refresh(&call),
            "readcache_status" => self.status(&call),
            other => Err(Refusal::new("UNKNOWN_TOOL", format!("{other} is not built yet")).into()),
        }
    }

    /// What may be suggested to the caller; nothing if the policy cannot be used.
    fn seen(&self) -> Option<Engine> {
        self.engine.seen_by(self.caller, Acts::SUGGESTING).ok()
    }

    /// An existing file, for examples.
    fn some_file(&self) -> String {
        let Some(seen) = self.seen() else { return "src/main.rs".to_owned() };
        let names = seen.root().list_names(".");
        let is_file = |name: &&String| seen.is_file(name);
        let readme = names.iter().find(|name| name.to_ascii_lowercase().starts_with("readme"));
        let found = readme.filter(is_file).or_else(|| names.iter().filter(|name| !name.starts_with('.')).find(is_file));
        found.map_or_else(|| "src/main.rs".to_owned(), |name| printable(name))
    }

    fn refresh(&self, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
        let path = call.args.text("path").unwrap_or_default().to_owned();
        let (offset, limit) = (call.args.number("offset"), call.args.number("limit"));
        let done: Refreshed = self.ask(call, Operation::Refresh(Refresh { path, offset, limit }))?.try_into()?;
        let names: Vec<String> = done.paths.iter().map(|path| printable(path)).collect();
        let contract =
            json!({"success": true, "operation": call.tool.name, "paths": done.paths, "scope": done.scope.to_string()});
        let text = format!("the next read of {} is sent as text ({})", names.join(", "), done.scope);
        Ok(ToolOutput { text: Some(text), contract, text_key: "content", ..ToolOutput::default() })
    }

    fn status(&self, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
        let status: Status = self.ask(call, Operation::Status)?.try_into()?;
        let reads = status.conversation.unwrap_or_default();
        let counts: Map<String, Value> = Mode::ALL
            .iter()
            .map(|mode| (mode.as_str().to_owned(), json!(reads.counts.get(mode).unwrap_or(&0))))
            .collect();
        let contract = json!({
            "success": true,
            "operation": call.tool.name,
            "handles": call.origin.handles,
            "answers": counts,
            "plain_bytes": reads.plain_bytes,
            "sent_bytes": reads.sent_bytes,
            "tokens_saved": crate::report::saved(reads.plain_bytes, reads.sent_bytes),
            "notices": self.engine.settings().notices,
            "store": status.store.map(|usage| json!({
                "objects": usage.objects,
                "object_bytes": usage.object_bytes,
                "logs": usage.logs,
                "log_bytes": usage.log_bytes,
            })),
        });
        let text = Some(contract.to_string());
        Ok(ToolOutput { text, contract, text_key: "content", ..ToolOutput::default() })
    }
}

/// The arguments of a deprecated tool for the one that replaced it.
fn legacy<'a>(call: ToolCall<'a>, mode: &str, target: &str) -> ToolCall<'a> {
    let tool = tool("read").unwrap_or(call.tool);
    ToolCall { tool, args: call.args.renamed(target, "target").with("mode", mode), ..call }
}

/// The arguments under the names of another tool that does the same.
fn named_as<'a>(call: ToolCall<'a>, names: &[(&str, &str)]) -> ToolCall<'a> {
    let args = names.iter().fold(call.args, |args, (from, to)| args.renamed(from, to));
    ToolCall { args, ..call }
}

/// The limits of an answer if the call sets none.
pub(crate) fn whole_answer() -> AnswerLimit {
    AnswerLimit { lines: u32::MAX, chars: TEXT_CHARS }
}

/// Whether the answer shows less than was asked for and exists.
pub(crate) fn is_cut(answer: &Answer<Handle>) -> bool {
    answer.next.is_some() || (answer.lines.is_none() && answer.total_lines > 0 && !answer.mode.is_derived())
}

/// The lines that an answer covers; a diff covers the whole file.
pub(crate) fn covered(answer: &Answer<Handle>) -> Option<Lines> {
    if answer.mode == Mode::Diff { Lines::new(1, answer.total_lines) } else { answer.lines }
}

/// The facts about an answer that all contracts share.
pub(crate) fn facts(answer: &Answer<Handle>, origin: &Origin) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("decision".to_owned(), json!(answer.mode.as_str()));
    facts.insert("reason".to_owned(), json!(answer.reason.as_str()));
    facts.insert("proof".to_owned(), json!(if answer.mode.is_derived() { "echo" } else { "none" }));
    facts.insert("total_lines".to_owned(), json!(answer.total_lines));
    facts.insert("token_estimate".to_owned(), json!(crate::report::tokens(answer.text.len() as u64)));
    if let Some(meta) = &answer.meta {
        facts.insert("sha256".to_owned(), json!(meta.served.to_string()));
    }
    if let Some(handle) = answer.given.as_ref().filter(|_| origin.handles) {
        facts.insert("handle".to_owned(), json!(handle));
    }
    if let Some(lines) = answer.lines.filter(|_| answer.mode == Mode::Partial) {
        let sent = others_than(lines, &answer.pieces);
        facts.insert("sent_lines".to_owned(), sent.into_iter().map(crate::report::json::range).collect());
        facts.insert("held_lines".to_owned(), answer.pieces.iter().map(crate::report::json::piece).collect());
    }
    if !answer.notices.is_empty() {
        facts.insert("notices".to_owned(), json!(words(&answer.notices)));
    }
    facts
}
