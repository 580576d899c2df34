//! `readproof mcp`: serves the tools to an MCP client over standard input and output, in both eras of the protocol. All
//! calls share one engine and run on threads of their own; the runtime's thread only passes messages. The server never
//! sends requests to the client.

mod lanes;
mod lines;
mod scan;

use readproof_core::operation::{Audience, Caller};
use readproof_disk::SessionName;
use readproof_engine::{Engine, Error, Handles, Notice, Rollouts, Settings, SmallTexts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        MetaObject, PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
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
    lanes::{Lane, Lanes},
    lines::Lines,
};
use super::{
    locked,
    parting::{GRACE, exit_with_client},
};
use crate::{
    config::Config,
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
            "--tools {tools}: {why}; use unified, bounded, all, or names as in --tools read,stat_file"
        ))
    })?;
    if output::input_is_terminal() {
        output::notice("this speaks MCP on standard input and is started by an MCP client; Ctrl-D ends it");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Config { root, bearings, settings, .. } = Config::load_to_serve(workspace, set)?;
    let settings = Settings { small_texts: SmallTexts::Together, ..settings };
    let engine = Engine::new(root, bearings, settings, Box::new(clock))?.with_names_from_root();
    let server = Server::new(engine, listed, clock)?;
    // Started only after the first answer, for which the client waits. The counter never grows, so running calls get
    // one grace period.
    let begun = || exit_with_client(Arc::default());
    let ended = runtime.block_on(async { server.serve_on(rmcp::transport::io::stdio_pipes(), begun).await });
    // Do not wait for threads that hang.
    runtime.shutdown_background();
    ended
}

/// What all calls share.
#[derive(Clone)]
pub(crate) struct Server {
    lanes: Arc<Lanes>,
    /// Notices about the settings, for the first answer.
    notices: Arc<Mutex<Vec<Notice>>>,
    rollouts: Arc<Mutex<Rollouts>>,
    listed: Arc<ToolList>,
    /// The session of clients that do not report a context window.
    connection: SessionName,
    handles: Handles,
}

impl Server {
    pub(crate) fn new(engine: Engine, listed: ToolList, clock: fn() -> u64) -> Result<Self, Failure> {
        let (handles, rollouts) = (engine.settings().handles, Rollouts::new(&engine.settings().codex_home));
        // Kept by the server, because a cancelled call must not lose them.
        let notices = Arc::new(Mutex::new(engine.take_notices()));
        let connection = format!("mcp-c-{:x}-{:x}", clock(), std::process::id());
        Ok(Self {
            handles,
            notices,
            lanes: Lanes::new(engine),
            rollouts: Arc::new(Mutex::new(rollouts)),
            listed: Arc::new(listed),
            connection: SessionName::parse(&connection).map_err(Error::from)?,
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
        let serving = async {
            match self.serve(lines).await {
                Ok(running) => {
                    begun();
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

    /// Runs one call. Reads of small files use the quick lane; a read that turns out to be large is repeated in the
    /// long lane.
    async fn answer(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> CallToolResult {
        let origin = self.origin(&context).await;
        let name = request.name.into_owned();
        let given = Arc::new(request.arguments.unwrap_or_default());
        let caller = Arc::new(self.caller(&context, &origin));
        let run = |lane| {
            let (name, given, origin, caller) = (name.clone(), Arc::clone(&given), origin.clone(), Arc::clone(&caller));
            self.lanes.run(lane, &context, move |engine, control| {
                Tools::new(engine, &caller).call(&name, &given, &origin, control)
            })
        };
        if is_quick(&name, &given) {
            let _turn = self.lanes.in_order(origin.session.as_ref()).await;
            match run(Lane::Quick).await {
                Err(Refusal { code: NOT_QUICK, .. }) => {}
                // A concurrent long call may already have recorded another text that the model sees after this one.
                Ok(said) if self.lanes.is_busy(origin.session.as_ref()) => {
                    return self.finish(Ok(said.without_handle()));
                }
                said => return self.finish(said),
            }
        }
        let under_way = self.lanes.begin(origin.session.clone());
        let said = run(Lane::Long).await;
        self.lanes.index_if_wanted();
        self.finish(said.map(|said| if under_way.was_alone() { said } else { said.without_handle() }))
    }

    /// The caller, as far as the client reports it.
    fn caller(&self, context: &RequestContext<RoleServer>, origin: &Origin) -> Caller {
        let client = context.peer.peer_info().map(|info| info.client_info.name.clone());
        let conversation = origin.session.as_ref().map(ToString::to_string);
        Caller { client, conversation, ..Caller::of("mcp") }
    }

    /// The result, with the server's notices if it is the first.
    fn finish(&self, said: Result<ToolOutput, Refusal>) -> CallToolResult {
        result(said.map(|said| {
            let notices = std::mem::take(&mut *locked(&self.notices));
            said.beside(&notices)
        }))
    }

    /// Whether an answer to this client can have a handle; elsewhere nothing is said about them. Codex reports its window with
    /// every call, and other hosts can report it with this request.
    fn may_give_handles(&self, context: &RequestContext<RoleServer>) -> bool {
        let is_codex = || context.peer.peer_info().is_some_and(|info| info.client_info.name.starts_with("codex"));
        match self.handles {
            Handles::Always => true,
            Handles::Never => false,
            Handles::Reported => is_codex() || RequestMeta::of(&context.meta.0.0).has_window(),
        }
    }

    /// Where a call comes from.
    async fn origin(&self, context: &RequestContext<RoleServer>) -> Origin {
        let request_meta = RequestMeta::of(&context.meta.0.0);
        let (rollouts, connection, handles) = (Arc::clone(&self.rollouts), self.connection.clone(), self.handles);
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
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("readproof", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
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
        Ok(self.answer(request, context).await.into())
    }
}

/// A tool as clients list it.
fn listing(tool: &Tool, handles: bool) -> rmcp::model::Tool {
    let mut listing = rmcp::model::Tool::new(tool.name, tool.about_with(handles), Arc::new(tool.schema(handles)));
    listing.annotations = Some(ToolAnnotations::with_title(tool.title).read_only(true).open_world(false));
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
