//! `readproof mcp`: serves the tools to an MCP client over standard input and output, in both eras of the protocol. Calls
//! run beside each other as far as they do not wait for the same thing; nothing is ever asked of the client.

use readproof_core::path::Bearings;
use readproof_disk::{Root, SessionName};
use readproof_engine::{Audience, Cancelled, Engine, Error, Handles, Rollouts, Settings, SmallTexts};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        MetaObject, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
        ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinError;

use crate::{
    config::Config,
    output::{self, Failure},
    tools::{
        Listed, Tool,
        args::Refusal,
        conversation::{Conversation, Told},
        surface::{Progress, Said, Surface},
    },
};

/// Where a result has what a program may want to know.
const CONTRACT: &str = "readproof/contract";

/// How often progress is told, at most.
const TOLD: Duration = Duration::from_millis(250);

/// What the server says of itself.
const INSTRUCTIONS: &str = "Search, then read the lines you need. Text comes first; the last block says which lines it is \
                            and how to go on.";

/// Serves until standard input ends.
pub(crate) fn run(workspace: Option<PathBuf>, set: &[String], tools: &str, clock: fn() -> u64) -> Result<(), Failure> {
    let listed = Listed::parse(tools).map_err(|why| {
        Failure::usage(format!(
            "--tools {tools}: {why}; use unified, bounded, all, or names as in --tools read,stat_file"
        ))
    })?;
    if output::input_is_terminal() {
        output::notice("this speaks MCP on standard input and is started by an MCP client; Ctrl-D ends it");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = Server::new(workspace, set, listed, clock)?;
    runtime
        .block_on(async move {
            let served = server.serve(rmcp::transport::io::stdio_pipes()).await;
            match served {
                Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
                // The client went before it said anything.
                Err(error) => Err(error.to_string()),
            }
        })
        .or_else(|error| if error.contains("closed") { Ok(()) } else { Err(Failure::refused("MCP", error)) })
}

/// What all calls share.
#[derive(Clone)]
struct Server {
    reading: Arc<Mutex<Surface>>,
    rollouts: Arc<Mutex<Rollouts>>,
    /// Searching takes long, and reads do not wait for it.
    searching: Arc<Mutex<Lazy>>,
    listed: Arc<Listed>,
    /// The log of clients that tell nothing of themselves.
    connection: SessionName,
    handles: Handles,
}

/// A surface that is made when it is first used, with the settings that the first one has.
struct Lazy {
    workspace: PathBuf,
    bearings: Bearings,
    settings: Settings,
    clock: fn() -> u64,
    made: Option<Surface>,
}

impl Lazy {
    fn get(&mut self) -> Result<&mut Surface, Refusal> {
        let made = match self.made.take() {
            Some(made) => made,
            None => {
                let root = Root::open(&self.workspace).map_err(Error::from)?;
                let (bearings, settings) = (self.bearings.clone(), self.settings.clone());
                Surface::new(Engine::new(root, bearings, settings, Box::new(self.clock))?)
            }
        };
        Ok(self.made.insert(made))
    }
}

impl Server {
    fn new(workspace: Option<PathBuf>, set: &[String], listed: Listed, clock: fn() -> u64) -> Result<Self, Failure> {
        let Config { root, bearings, settings, .. } = Config::load_to_serve(workspace, set)?;
        let settings = Settings { small_texts: SmallTexts::Together, ..settings };
        let workspace = root.path().to_owned();
        let searching = Lazy { workspace, bearings: bearings.clone(), settings: settings.clone(), clock, made: None };
        let (handles, rollouts) = (settings.handles, Rollouts::new(&settings.codex_home));
        let reading = Surface::new(Engine::new(root, bearings, settings, Box::new(clock))?);
        let connection = format!("mcp-c-{:x}-{:x}", clock(), std::process::id());
        Ok(Self {
            handles,
            reading: Arc::new(Mutex::new(reading)),
            rollouts: Arc::new(Mutex::new(rollouts)),
            searching: Arc::new(Mutex::new(searching)),
            listed: Arc::new(listed),
            connection: SessionName::parse(&connection).map_err(Error::from)?,
        })
    }

    /// Runs one call. What takes long runs beside, so that others go on and it can be cancelled; a read does not, as to
    /// hand it over would take longer than the read.
    async fn answer(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> CallToolResult {
        let talk = self.conversation(&context).await;
        if matches!(&*request.name, "search" | "search_in_file") {
            let work = self.beside(request, talk, &context, |surface, asked, cancelled, progress| {
                surface.call(&asked.name, &asked.given, &asked.talk, cancelled, progress)
            });
            return result(work.await);
        }
        let mut said = self.read(&request, &talk, &context, Look::First).await;
        for _ in 1..ATTEMPTS {
            // A file that has changed under it is looked through again.
            if !said.as_ref().is_err_and(|refusal| refusal.code == "CHANGING") {
                break;
            }
            said = self.read(&request, &talk, &context, Look::Again).await;
        }
        result(said)
    }

    /// Whose call it is.
    async fn conversation(&self, context: &RequestContext<RoleServer>) -> Conversation {
        let told = Told::of(&context.meta.0.0);
        let (rollouts, connection, handles) = (Arc::clone(&self.rollouts), self.connection.clone(), self.handles);
        let (session, needs_record) = (Some(connection.clone()), told.needs_record());
        let look = move || {
            let mut rollouts = rollouts.lock().unwrap_or_else(PoisonError::into_inner);
            told.conversation(&connection, handles, &mut rollouts)
        };
        if !needs_record {
            return look();
        }
        // A record may be long.
        let found = tokio::task::spawn_blocking(look).await;
        found.unwrap_or(Conversation { session, handles: false, audience: Audience::Program })
    }

    async fn read(
        &self,
        request: &CallToolRequestParams,
        talk: &Conversation,
        context: &RequestContext<RoleServer>,
        look: Look,
    ) -> Result<Said, Refusal> {
        let found = if wants_symbol(request) {
            let work =
                self.beside(request.clone(), talk.clone(), context, move |surface, asked, cancelled, progress| {
                    if look == Look::Again {
                        surface.engine.doubt_symbols();
                    }
                    surface.find(&asked.name, &asked.given, &asked.talk, cancelled, progress)
                });
            Some(work.await?)
        } else {
            None
        };
        let (surface, cancelled) = (Arc::clone(&self.reading), context.ct.clone());
        let (request, talk) = (request.clone(), talk.clone());
        // A task of its own, so that whatever happens there is an answer.
        let work = tokio::spawn(async move {
            let given = request.arguments.unwrap_or_default();
            let mut surface = surface.lock().unwrap_or_else(PoisonError::into_inner);
            surface.call_found(&request.name, &given, &talk, &|| cancelled.is_cancelled(), (&|_| (), found))
        });
        work.await.unwrap_or_else(|error| Err(failed(&error)))
    }

    /// Does what takes long, and tells the progress to those who asked.
    async fn beside<T: Send + 'static>(
        &self,
        request: CallToolRequestParams,
        talk: Conversation,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&mut Surface, &Asked, Cancelled<'_>, Progress<'_>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let surface = Arc::clone(&self.searching);
        let (done, cancelled) = (Arc::new(AtomicU64::new(0)), context.ct.clone());
        let told = Arc::clone(&done);
        let mut work = tokio::task::spawn_blocking(move || {
            let asked = Asked { name: request.name.to_string(), given: request.arguments.unwrap_or_default(), talk };
            let mut surface = surface.lock().unwrap_or_else(PoisonError::into_inner);
            let progress = |files| told.store(files, Ordering::Relaxed);
            work(surface.get()?, &asked, &|| cancelled.is_cancelled(), &progress)
        });
        let token = context.meta.get_progress_token();
        let mut last = 0;
        loop {
            match tokio::time::timeout(TOLD, &mut work).await {
                Ok(done) => return done.unwrap_or_else(|error| Err(failed(&error))),
                Err(_) => {
                    let now = done.load(Ordering::Relaxed);
                    if let Some(token) = token.clone().filter(|_| now > last) {
                        last = now;
                        // Who no longer listens misses nothing.
                        let progress = ProgressNotificationParam::new(token, as_float(now));
                        let _ = context.peer.notify_progress(progress).await;
                    }
                }
            }
        }
    }
}

/// What a call asks for.
struct Asked {
    name: String,
    given: Map<String, Value>,
    talk: Conversation,
}

/// Whether a definition was looked for before, and was not where it had been found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    First,
    Again,
}

/// How often a definition is looked for in a file that changes.
const ATTEMPTS: u32 = 3;

/// Whether a definition must be found first.
fn wants_symbol(request: &CallToolRequestParams) -> bool {
    let mode = || request.arguments.as_ref().and_then(|given| given.get("mode")).and_then(Value::as_str);
    request.name == "read_symbol" || (request.name == "read" && mode().is_some_and(is_symbol))
}

fn is_symbol(mode: &str) -> bool {
    mode.trim().eq_ignore_ascii_case("symbol")
}

fn failed(error: &JoinError) -> Refusal {
    let why = if error.is_panic() { ", which is a fault of this program" } else { "" };
    Refusal { code: "INTERNAL", message: format!("the call failed{why}") }
}

/// Files are never so many that this loses one.
fn as_float(files: u64) -> f64 {
    u32::try_from(files).unwrap_or(u32::MAX).into()
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
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
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
fn listing(tool: &Tool) -> rmcp::model::Tool {
    let mut listing = rmcp::model::Tool::new(tool.name, tool.about, Arc::new(tool.schema()));
    listing.annotations = Some(ToolAnnotations::with_title(tool.title).read_only(true).open_world(false));
    listing.meta = Some(meta([
        // One answer is no larger, and must not be put away by the host.
        ("anthropic/alwaysLoad", json!(true)),
        ("anthropic/maxResultSizeChars", json!(MOST_CHARS)),
    ]));
    listing
}

/// The most that is said of what went wrong.
const REFUSAL_CHARS: usize = 4_000;

/// More than an answer and its trailer ever have.
const MOST_CHARS: u32 = 60_000;

fn meta<const N: usize>(fields: [(&str, Value); N]) -> MetaObject {
    MetaObject(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect::<Map<_, _>>())
}

/// Text first, our words in a block of their own, the contract where no model looks.
fn result(said: Result<Said, Refusal>) -> CallToolResult {
    let (mut result, contract) = match said {
        Ok(Said { text, context, trailer, contract, .. }) => {
            // Some hosts refuse a message with an empty or blank block, and their session is stuck. The trailer says that the
            // text was one.
            let visible = |block: &String| !block.trim().is_empty();
            let mut blocks: Vec<String> = text.into_iter().chain(context).chain(trailer).filter(visible).collect();
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
