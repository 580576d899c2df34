//! The workspace that calls are served from. Where the user named none, the client's roots can: a server that was set up
//! for all projects is started in any folder. They are asked for before the first call, and again after they have
//! changed. A client that does not answer delays one call for a short time, and nothing else.

use readproof_core::path::of_file_uri;
use readproof_disk::Root;
use readproof_engine::{Engine, Handles, Notice, Rollouts, Stopper};
use readproof_words::mcp::{UnusedRoot, unused_root};
use rmcp::{
    Peer, RoleServer,
    model::{ClientResult, ProtocolVersion, ServerRequest},
    service::{PeerRequestOptions, RequestContext},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Mutex as AsyncMutex,
    time::{error::Elapsed, timeout},
};

use super::{
    super::{locked, watch::in_background},
    lanes::Lanes,
};
use crate::{config::started_in, output::Failure};

/// How long the client may take to answer.
const ANSWERING: Duration = Duration::from_secs(2);

/// How long opening a root may take. Only a disk that does not answer takes longer.
const OPENING: Duration = Duration::from_secs(10);

/// How many of the client's roots are looked at.
const MOST_ROOTS: usize = 100;

/// An engine and what its calls share.
pub(super) struct Workspace {
    pub(super) lanes: Arc<Lanes>,
    /// Notices about the settings and roots, for the next answer. Kept here, because a cancelled call must not lose them.
    pub(super) notices: Mutex<Vec<Notice>>,
    pub(super) rollouts: Arc<Mutex<Rollouts>>,
    pub(super) handles: Handles,
    /// The local user.
    pub(super) user: Option<String>,
    /// How long a person may take to answer.
    pub(super) patience: Duration,
    /// Whether someone says that this folder is the workspace: the user, the client, a work tree or a store of ours.
    is_meant: bool,
    /// While the files are watched.
    watch: Mutex<Option<Stopper>>,
}

/// How the folder of a workspace was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The user or the client named it.
    Named,
    /// The server was started in it.
    StartedIn,
}

impl Workspace {
    pub(super) fn new(engine: Engine, found: Found) -> Self {
        let is_meant = found == Found::Named || engine.is_marked();
        let (handles, rollouts) = (engine.settings().handles, Rollouts::new(&engine.settings().codex_home));
        let notices = Mutex::new(engine.take_notices());
        let patience = Duration::from_secs(u64::from(engine.settings().approval_minutes) * 60);
        let user = engine.settings().user.clone();
        let (lanes, rollouts, watch) = (Lanes::new(engine), Arc::new(Mutex::new(rollouts)), Mutex::default());
        Self { handles, user, patience, notices, lanes, rollouts, is_meant, watch }
    }

    /// Watches the files from here on, if that is wanted. Any folder may be the one that a client starts its servers in, so one
    /// that nobody meant is not walked before someone asks.
    pub(super) fn watch(&self) {
        let mut watch = locked(&self.watch);
        if self.is_meant && watch.is_none() {
            *watch = in_background(self.lanes.engine());
        }
    }

    fn watch_no_more(&self) {
        *locked(&self.watch) = None;
    }
}

/// Opens a folder as the workspace.
pub(super) type Open = dyn Fn(PathBuf) -> Result<Engine, Failure> + Send + Sync;

/// The workspace of this moment, and how it changes.
pub(super) struct Workspaces {
    /// Calls that are under way keep the one they began with.
    current: Mutex<Arc<Workspace>>,
    /// The one the server was started in.
    first: Arc<Workspace>,
    /// `None` if the workspace never changes.
    open: Option<Arc<Open>>,
    /// Whether to ask for the roots before the next call.
    stale: AtomicBool,
    /// The root that is served, if it is one. Held while the roots are asked for, so that all calls wait for one question.
    root: AsyncMutex<Option<PathBuf>>,
}

impl Workspaces {
    pub(super) fn new(engine: Engine, open: Option<Arc<Open>>) -> Arc<Self> {
        let found = if open.is_some() { Found::StartedIn } else { Found::Named };
        let first = Arc::new(Workspace::new(engine, found));
        let (current, stale) = (Mutex::new(Arc::clone(&first)), AtomicBool::new(true));
        Arc::new(Self { current, first, open, stale, root: AsyncMutex::default() })
    }

    pub(super) fn current(&self) -> Arc<Workspace> {
        Arc::clone(&locked(&self.current))
    }

    /// The client is connected. Where its roots decide, the first call waits for them.
    pub(super) fn begun(&self) {
        if self.open.is_none() {
            self.current().watch();
        }
    }

    /// Serves another workspace from here on.
    fn serve(&self, workspace: Arc<Workspace>) {
        let mut current = locked(&self.current);
        if !Arc::ptr_eq(&current, &workspace) {
            current.watch_no_more();
        }
        *current = workspace;
    }

    /// The client's roots have changed.
    pub(super) fn expire(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// The workspace for a call. Asks the client for its roots if that is due.
    pub(super) async fn for_call(&self, context: &RequestContext<RoleServer>) -> Arc<Workspace> {
        if let Some(open) = self.open.as_ref().filter(|_| has_roots(context)) {
            tokio::select! {
                () = self.settle(open, &context.peer) => {}
                () = context.ct.cancelled() => {}
            }
        }
        let current = self.current();
        current.watch();
        current
    }

    /// Waits for the question that is under way, or asks it.
    async fn settle(&self, open: &Arc<Open>, peer: &Peer<RoleServer>) {
        let mut root = self.root.lock().await;
        if !self.stale.swap(false, Ordering::Relaxed) {
            return;
        }
        // A call that is cancelled meanwhile leaves the question to the next one.
        let again = Again(Some(&self.stale));
        let Some(uris) = ask(peer).await else { return again.not_needed() };
        let first = uris[0].clone();
        let (served, open) = (root.clone(), Arc::clone(open));
        let opening = tokio::task::spawn_blocking(move || choose(&uris, served.as_deref(), &*open));
        let choice = timeout(OPENING, opening).await;
        again.not_needed();
        match choice {
            Ok(Ok(Choice::First)) => {
                *root = None;
                self.serve(Arc::clone(&self.first));
            }
            Ok(Ok(Choice::Opened(folder, workspace))) => {
                *root = Some(folder);
                self.serve(workspace);
            }
            // A panic is a fault of this program; the workspace stays.
            Ok(Ok(Choice::Same) | Err(_)) => {}
            Ok(Ok(Choice::Unused(said))) => self.tell(said),
            Err(Elapsed { .. }) => self.tell(unused_root(&first, &UnusedRoot::Slow)),
        }
    }

    fn tell(&self, said: String) {
        locked(&self.current().notices).push(Notice::Setting(said));
    }
}

/// Makes the roots stale again unless it is told otherwise.
struct Again<'a>(Option<&'a AtomicBool>);

impl Again<'_> {
    fn not_needed(mut self) {
        self.0 = None;
    }
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if let Some(stale) = self.0 {
            stale.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether the client has roots and may be asked for them. From 2026-07-28 on a server sends no requests, and nobody would
/// answer one.
fn has_roots(context: &RequestContext<RoleServer>) -> bool {
    let asks = |version: ProtocolVersion| version < ProtocolVersion::V_2026_07_28;
    context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some())
        && context.protocol_version().is_some_and(asks)
}

/// The URIs of the client's roots; `None` if there are none or no valid answer comes in time.
#[expect(deprecated, reason = "the newest era has no roots, but most clients speak an older one")]
async fn ask(peer: &Peer<RoleServer>) -> Option<Vec<String>> {
    let asking = async {
        let request = ServerRequest::ListRootsRequest(Default::default());
        let options = PeerRequestOptions::with_timeout(ANSWERING);
        peer.send_request_with_option(request, options).await?.await_response().await
    };
    // The limit of the request itself tells the client that nobody waits any more. This one also holds if the client does
    // not read.
    let answered = timeout(ANSWERING + ANSWERING / 10, asking).await;
    let Ok(Ok(ClientResult::ListRootsResult(listed))) = answered else { return None };
    let uris: Vec<String> = listed.roots.into_iter().take(MOST_ROOTS).map(|root| root.uri).collect();
    (!uris.is_empty()).then_some(uris)
}

/// Which workspace follows from the client's roots.
enum Choice {
    /// The one the server was started in: it lies in a root.
    First,
    /// The root that is served already.
    Same,
    Opened(PathBuf, Arc<Workspace>),
    /// No root can be used, and why.
    Unused(String),
}

/// The workspace the server was started in if it lies in a root, else the first root that is a folder.
fn choose(uris: &[String], served: Option<&Path>, open: &Open) -> Choice {
    let (mut usable, mut unused) = (None, None);
    for uri in uris {
        match folder(uri) {
            Ok(root) if started_in(&root) => return Choice::First,
            Ok(root) => drop(usable.get_or_insert((uri, root))),
            Err(why) => drop(unused.get_or_insert_with(|| unused_root(uri, &why))),
        }
    }
    let Some((uri, root)) = usable else { return Choice::Unused(unused.unwrap_or_default()) };
    let folder = root.path().to_path_buf();
    if served == Some(&folder) {
        return Choice::Same;
    }
    match open(folder.clone()) {
        Ok(engine) => Choice::Opened(folder, Arc::new(Workspace::new(engine, Found::Named))),
        Err(failure) => Choice::Unused(unused_root(uri, &UnusedRoot::NotServed(failure.message))),
    }
}

fn folder(uri: &str) -> Result<Root, UnusedRoot> {
    let path = of_file_uri(uri).ok_or(UnusedRoot::NotAFile)?;
    Root::open(Path::new(&path)).map_err(UnusedRoot::Folder)
}
