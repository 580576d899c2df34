//! `readproof mcp`: serves the tools to an MCP client over standard input and output, in both eras of the protocol. All
//! calls share one engine and run on threads of their own; the runtime's thread only passes messages. The server itself asks
//! two things of a client: its roots, in the era that has them and if the user named no workspace (`roots`), and whether the
//! person approves a call (`asking`).

mod asking;
mod lanes;
mod lines;
mod roots;
mod scan;

use readproof_core::operation::{Audience, Caller, approval::Decision};
use readproof_disk::{SessionName, can_raise_wall};
use readproof_engine::{Engine, Error, Handles, HostSessions, Settings, SmallTexts, Walling};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        MetaObject, PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::{NotificationContext, RequestContext, ServerInitializeError},
};
use serde_json::{Map, Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
};

use self::{
    asking::{Brought, Questions, ROUNDS, Reply},
    lanes::Lane,
    lines::Lines,
    roots::{Open, Workspace, Workspaces},
};
use super::{
    claude_code::{self, AFTER_READ, AFTER_SEARCH, AfterRead, BEFORE_CALL, HookPace, PATIENCE, PAUSE, UNTOUCHED},
    locked,
    parting::{GRACE, exit_with_client},
};
use crate::{
    commands::policy::audit::audited,
    config::{Beyond, Config, names_workspace},
    output::{self, Failure},
    tools::{
        Tool, ToolList,
        args::Refusal,
        call::{ToolOutput, Tools},
        conversation::{Origin, RequestMeta},
    },
};

/// The `_meta` key of the facts for programs.
const CONTRACT: &str = "readproof/contract";

/// The server's instructions for the model.
const INSTRUCTIONS: &str = "Search, then read the lines you need. Text comes first; the last block says which lines it is \
                            and how to continue.";

pub(crate) fn run(workspace: Option<PathBuf>, set: &[String], tools: &str, clock: fn() -> u64) -> Result<(), Failure> {
    let listed = ToolList::parse(tools).map_err(|why| {
        Failure::usage(format!(
            "--tools {tools}: {why}; use unified, bounded, all, none, or names as in --tools read,stat_file"
        ))
    })?;
    if output::input_is_terminal() {
        output::notice("this speaks MCP on standard input and is started by an MCP client; Ctrl-D ends it");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let named = names_workspace(workspace.as_deref());
    // No thread is running yet.
    let config = Config::load_to_serve(workspace, set)?.walled(Beyond::Nothing)?;
    let is_walled = matches!(config.wall, Some(Ok(())));
    let engine = engine_of(config, clock)?;
    let (set, logs) = (set.to_vec(), engine.clone());
    let root: Arc<Open> = Arc::new(move |folder| {
        let config = Config::load_to_serve(Some(folder), &set)?;
        if is_walled || (config.settings.wall == Walling::Landlock && can_raise_wall().is_ok()) {
            return Err(Failure::refused("NO_WALL", NO_OTHER_ROOT.to_owned()));
        }
        engine_of(config, clock)
    });
    let finishing = engine.clone();
    let server = Server::new(engine, (!named).then_some(root), listed, clock)?;
    // Started only after the first answer, for which the client waits. The counter never grows, so running calls get
    // one grace period.
    let begun = || exit_with_client(Arc::default());
    let ended = runtime.block_on(async { server.serve_on(rmcp::transport::io::stdio_pipes(), begun).await });
    logs.finish_logs();
    // Do not wait for threads that hang.
    runtime.shutdown_background();
    finishing.finish_concerns();
    ended
}

/// Why no root of the client is served where there is, or should be, a wall: that stands around one workspace, and cannot be
/// raised around another one once threads run.
const NO_OTHER_ROOT: &str = "with `wall = \"landlock\"` a server stays in the workspace that it was started in; name this one \
                             with --workspace or READPROOF_WORKSPACE";

fn engine_of(config: Config, clock: fn() -> u64) -> Result<Engine, Failure> {
    let Config { root, bearings, settings, .. } = config;
    let settings = Settings { small_texts: SmallTexts::Together, call_log: settings.call_log.later(), ..settings };
    Ok(audited(Engine::new(root, bearings, settings, Box::new(clock))?.with_names_from_root()))
}

/// What all calls share.
#[derive(Clone)]
pub(crate) struct Server {
    workspaces: Arc<Workspaces>,
    listed: Arc<ToolList>,
    /// The session of clients that do not report a context window.
    connection: SessionName,
    questions: Arc<Questions>,
    /// The sessions of a host that asks by hooks.
    sessions: Arc<Mutex<HostSessions>>,
    /// Whether its hooks are answered in time.
    pace: Arc<HookPace>,
}

/// One call, as it is made and perhaps made again.
struct Incoming {
    workspace: Arc<Workspace>,
    name: String,
    given: Arc<Map<String, Value>>,
    origin: Origin,
    caller: Arc<Caller>,
}

impl Server {
    /// `root` opens a root of the client instead of the engine's folder; `None` if that must not be.
    pub(crate) fn new(
        engine: Engine,
        root: Option<Arc<Open>>,
        listed: ToolList,
        clock: fn() -> u64,
    ) -> Result<Self, Failure> {
        let connection = format!("mcp-c-{:x}-{:x}", clock(), std::process::id());
        Ok(Self {
            workspaces: Workspaces::new(engine, root),
            listed: Arc::new(listed),
            connection: SessionName::parse(&connection).map_err(Error::from)?,
            questions: Arc::default(),
            sessions: Arc::default(),
            pace: Arc::default(),
        })
    }

    /// Serves one client until it disconnects. `begun` is called after the first answer.
    pub(crate) async fn serve_on<R, W>(self, pipes: (R, W), begun: impl FnOnce()) -> Result<(), Failure>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let gone = Arc::new(Notify::new());
        let lines = Lines::new(pipes, Arc::clone(&gone));
        let workspaces = Arc::clone(&self.workspaces);
        let serving = async {
            match self.serve(lines).await {
                Ok(running) => {
                    begun();
                    workspaces.begun();
                    let failed = |error: tokio::task::JoinError| Failure::refused("MCP", error.to_string());
                    running.waiting().await.map(drop).map_err(failed)
                }
                // The client disconnected before it sent anything.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(Failure::refused("MCP", error.to_string())),
            }
        };
        let parting = async {
            gone.notified().await;
            tokio::time::sleep(GRACE).await;
            Ok(())
        };
        tokio::select! { ended = serving => ended, ended = parting => ended }
    }

    /// Answers a host's hook; `None` if the call is none. Whatever fails leaves the host's own call as it is.
    async fn hooked(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let name = request.name.as_ref();
        if ![AFTER_READ, AFTER_SEARCH, BEFORE_CALL].contains(&name) {
            return None;
        }
        let began = tokio::time::Instant::now();
        let workspace = self.workspaces.for_call(context).await;
        let origin = self.origin(&workspace, context).await;
        let caller = Arc::new(self.caller(context, &origin, workspace.user.clone()));
        let given = Arc::new(request.arguments.clone().unwrap_or_default());
        let asked_with = Arc::clone(&given);
        let in_lane = |work: Box<dyn FnOnce(&Engine) -> String + Send>| {
            workspace.lanes.run(Lane::Quick, context, move |engine, _| {
                Ok(ToolOutput { text: Some(work(engine)), ..ToolOutput::default() })
            })
        };
        let said = match AfterRead::parse(&given).filter(|_| name == AFTER_READ) {
            Some(asked) => {
                let asked = Arc::new(asked);
                let until = tokio::time::Instant::now() + PATIENCE;
                loop {
                    let (sessions, looked) = (Arc::clone(&self.sessions), Arc::clone(&asked));
                    let is_there =
                        move |engine: &Engine| claude_code::is_recorded(engine, &sessions, &looked).to_string();
                    let is_there = in_lane(Box::new(is_there)).await.ok().and_then(|said| said.text);
                    if is_there.as_deref() == Some("true") || tokio::time::Instant::now() >= until {
                        break;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                let sessions = Arc::clone(&self.sessions);
                in_lane(Box::new(move |engine| claude_code::after_read(engine, &sessions, &caller, &asked))).await
            }
            None if name == BEFORE_CALL => {
                in_lane(Box::new(move |engine| claude_code::before_call(engine, &caller, &given))).await
            }
            None if name == AFTER_SEARCH => {
                in_lane(Box::new(move |engine| claude_code::after_search(engine, &caller, &given))).await
            }
            None => Ok(ToolOutput::default()),
        };
        let said = said.ok().and_then(|said| said.text).unwrap_or_else(|| UNTOUCHED.to_owned());
        let said = self.pace.after(&asked_with, began.elapsed(), said);
        Some(CallToolResult::success(vec![ContentBlock::text(said)]))
    }

    /// Answers one call. If a person must approve it first, the person at the client is asked and the call is made again.
    async fn answer(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> CallToolResponse {
        if let Some(answered) = self.hooked(&request, &context).await {
            return answered.into();
        }
        let workspace = self.workspaces.for_call(&context).await;
        let origin = self.origin(&workspace, &context).await;
        let caller = Arc::new(self.caller(&context, &origin, workspace.user.clone()));
        let (name, given) = (request.name.into_owned(), Arc::new(request.arguments.unwrap_or_default()));
        let call = Incoming { workspace, name, given, origin, caller };
        let mut brought = Brought::new(request.request_state, request.input_responses);
        let mut said = performed(&call, &context, None).await;
        for _ in 0..ROUNDS {
            let Some(waiting) = said.as_ref().err().and_then(|refusal| refusal.approval.clone()) else { break };
            let patience = call.workspace.patience;
            said = match self.questions.ask(&context, &waiting, &mut brought, patience).await {
                Reply::Decided(decision) => performed(&call, &context, Some((waiting.id, decision))).await,
                Reply::Ask(question) => return CallToolResponse::InputRequired(*question),
                Reply::Nothing => break,
            };
        }
        finish(&call.workspace, said).into()
    }

    /// The caller: the local user, and the client by the name that it claims.
    fn caller(&self, context: &RequestContext<RoleServer>, origin: &Origin, user: Option<String>) -> Caller {
        let client = context.client_info().map(|client| client.name);
        let conversation = origin.session.as_ref().map(ToString::to_string);
        Caller { client, user, conversation, ..Caller::of("mcp") }
    }

    /// Whether an answer to this client can have a handle; elsewhere nothing is said about them. Codex reports its window with
    /// every call, and other hosts can report it with this request.
    fn may_give_handles(&self, context: &RequestContext<RoleServer>) -> bool {
        let is_codex = || context.peer.peer_info().is_some_and(|info| info.client_info.name.starts_with("codex"));
        match self.workspaces.current().handles {
            Handles::Always => true,
            Handles::Never => false,
            Handles::Reported => is_codex() || RequestMeta::of(&context.meta.0.0).has_window(),
        }
    }

    /// Where a call comes from.
    async fn origin(&self, workspace: &Workspace, context: &RequestContext<RoleServer>) -> Origin {
        let request_meta = RequestMeta::of(&context.meta.0.0);
        let (rollouts, handles) = (Arc::clone(&workspace.rollouts), workspace.handles);
        let connection = self.connection.clone();
        let (session, needs_record) = (Some(connection.clone()), request_meta.needs_record());
        let look = move || {
            let mut rollouts = locked(&rollouts);
            request_meta.origin(&connection, handles, &mut rollouts)
        };
        if !needs_record {
            return look();
        }
        // A long record takes time to read.
        let found = tokio::task::spawn_blocking(look).await;
        found.unwrap_or(Origin { session, handles: false, audience: Audience::Program, cut: None })
    }
}

/// Runs one call, after what the person decided about it. Reads of small files use the quick lane; a read that turns out to be
/// large is repeated in the long lane.
async fn performed(
    call: &Incoming,
    context: &RequestContext<RoleServer>,
    decided: Option<(String, Decision)>,
) -> Result<ToolOutput, Refusal> {
    let Incoming { workspace, name, given, origin, caller } = call;
    let lanes = &workspace.lanes;
    let quick = decided.is_none() && is_quick(name, given);
    let in_lane = |lane| {
        let (name, given, origin, caller) = (name.clone(), Arc::clone(given), origin.clone(), Arc::clone(caller));
        let decided = decided.clone();
        lanes.run(lane, context, move |engine, control| {
            let tools = Tools::new(engine, &caller);
            if let Some((id, decision)) = decided {
                tools.decide(&id, decision)?;
            }
            tools.call(&name, &given, &origin, control)
        })
    };
    if quick {
        let _turn = lanes.in_order(origin.session.as_ref()).await;
        match in_lane(Lane::Quick).await {
            Err(Refusal { code: NOT_QUICK, .. }) => {}
            // A concurrent long call may already have recorded another text that the model sees after this one.
            Ok(said) if lanes.is_busy(origin.session.as_ref()) => return Ok(said.without_handle()),
            said => return said,
        }
    }
    let under_way = lanes.begin(origin.session.clone());
    let said = in_lane(Lane::Long).await;
    lanes.index_if_wanted();
    said.map(|said| if under_way.was_alone() { said } else { said.without_handle() })
}

/// The result, with the workspace's notices if it is the first.
fn finish(workspace: &Workspace, said: Result<ToolOutput, Refusal>) -> CallToolResult {
    result(said.map(|said| {
        let notices = std::mem::take(&mut *locked(&workspace.notices));
        said.beside(&notices)
    }))
}

/// The error code of a read that is too large for the quick lane.
const NOT_QUICK: &str = "NOT_QUICK";

/// Whether a call belongs in the quick lane: not if it searches files, uses git or walks the store.
fn is_quick(name: &str, given: &Map<String, Value>) -> bool {
    let mode = || given.get("mode").and_then(Value::as_str).unwrap_or("file").trim().to_ascii_lowercase();
    match name {
        "read_file" | "read_file_range" | "read_file_head" | "read_file_tail" | "stat_file" | "readcache_refresh" => {
            true
        }
        // A snippet may need a search through the file, and several files take longer than one.
        "read" => mode() == "file" && !given.values().any(Value::is_array),
        _ => false,
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("readproof", env!("CARGO_PKG_VERSION")));
        // Without tools there is nothing that the model should know.
        if self.listed.tools().is_empty() { info } else { info.with_instructions(INSTRUCTIONS) }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let handles = self.may_give_handles(&context);
        let listing = |tool| listing(tool, handles);
        Ok(ListToolsResult::with_all_items(self.listed.tools().into_iter().map(listing).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.answer(request, context).await)
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.workspaces.expire();
    }
}

/// A tool as clients list it.
fn listing(tool: &Tool, handles: bool) -> rmcp::model::Tool {
    let mut listing = rmcp::model::Tool::new(tool.name, tool.about_with(handles), Arc::new(tool.schema(handles)));
    listing.annotations = Some(ToolAnnotations::with_title(tool.title).read_only(!tool.writes()).open_world(false));
    listing.meta = Some(meta([
        // No answer is larger, so the host need not truncate any.
        ("anthropic/alwaysLoad", json!(true)),
        ("anthropic/maxResultSizeChars", json!(MOST_CHARS)),
    ]));
    listing
}

/// The longest error message.
const REFUSAL_CHARS: usize = 4_000;

/// More than an answer with its trailer ever has.
const MOST_CHARS: u32 = 60_000;

fn meta<const N: usize>(fields: [(&str, Value); N]) -> MetaObject {
    MetaObject(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect::<Map<_, _>>())
}

/// The text first, the trailer in a separate block, and the contract in `_meta`, which models do not see.
fn result(said: Result<ToolOutput, Refusal>) -> CallToolResult {
    let (mut result, contract) = match said {
        Ok(mut said) => {
            let contract = said.contract.take();
            let mut blocks = said.blocks();
            if blocks.is_empty() {
                blocks.push("[no text]".to_owned());
            }
            (CallToolResult::success(blocks.into_iter().map(ContentBlock::text).collect()), contract)
        }
        Err(mut refusal) => {
            if let Some((at, _)) = refusal.message.char_indices().nth(REFUSAL_CHARS) {
                refusal.message.truncate(at);
                refusal.message.push('…');
            }
            let text = format!("{}: {}", refusal.code, refusal.message);
            (CallToolResult::error(vec![ContentBlock::text(text)]), refusal.contract())
        }
    };
    result.meta = Some(meta([(CONTRACT, contract)]));
    result
}
