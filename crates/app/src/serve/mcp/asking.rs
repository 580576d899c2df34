//! Asks the person at the client whether a call that waits may be made. Up to 2025-11-25 the server sends the client a request
//! and the call goes on when the answer is there. From 2026-07-28 on a server sends none: the call ends with the question, and
//! the client makes it again with the answer. Either way other calls go on meanwhile, and an answer counts only for the request
//! that was asked about and that the repeated call still needs.

use readproof_core::operation::approval::Decision;
use readproof_engine::ApprovalRequest;
use readproof_words::mcp::question;
use rmcp::{
    RoleServer,
    model::{
        ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
        EnumSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses, PrimitiveSchemaDefinition,
        ProtocolVersion, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Mutex, time::Duration};

use super::super::locked;

/// How often one call is asked about, as its file may change while the person thinks.
pub(super) const ROUNDS: u32 = 5;

/// The name of the question, and of the answer to it.
const QUESTION: &str = "approval";

/// The field of the form.
const FIELD: &str = "decision";

/// The most questions that are remembered; more than ever wait.
const REMEMBERED: usize = 1_000;

/// How the person at the client can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a request of the server.
    Request,
    /// By a result that asks.
    Result,
    /// Not at all.
    None,
}

/// What comes of asking.
pub(super) enum Reply {
    /// The person decided.
    Decided(Decision),
    /// The client asks the person, and makes the call again.
    Ask(Box<InputRequiredResult>),
    /// Nobody decided; the call waits.
    Nothing,
}

/// The answer that a repeated call brings.
#[derive(Debug, Default)]
pub(super) struct Brought {
    state: Option<String>,
    responses: Option<InputResponses>,
}

impl Brought {
    pub(super) fn new(state: Option<String>, responses: Option<InputResponses>) -> Self {
        Self { state, responses }
    }
}

/// The questions that were sent as results and are not answered yet. An answer to a question that was never asked counts for
/// nothing, and none counts twice.
#[derive(Debug, Default)]
pub(super) struct Questions(Mutex<BTreeSet<String>>);

impl Questions {
    /// Asks about a call, or takes the answer that it brings.
    pub(super) async fn ask(
        &self,
        context: &RequestContext<RoleServer>,
        request: &ApprovalRequest,
        brought: &mut Brought,
        patience: Duration,
    ) -> Reply {
        match way(context) {
            Way::None => Reply::Nothing,
            Way::Request => match elicited(context, request, patience).await {
                Some(decision) => Reply::Decided(decision),
                None => Reply::Nothing,
            },
            Way::Result => match self.answer(request, std::mem::take(brought)) {
                Some(Some(decision)) => Reply::Decided(decision),
                // The person dismissed the question; asking again at once would be a trap.
                Some(None) => Reply::Nothing,
                None => self.question(request),
            },
        }
    }

    /// What the call brings as an answer to this question; the outer `None`: no answer to it.
    fn answer(&self, request: &ApprovalRequest, brought: Brought) -> Option<Option<Decision>> {
        let id = brought.state.filter(|state| *state == request.id)?;
        if !locked(&self.0).remove(&id) {
            return None;
        }
        let said = brought.responses?.remove(QUESTION)?;
        Some(serde_json::from_value(said).ok().and_then(|said| decision(&said)))
    }

    fn question(&self, request: &ApprovalRequest) -> Reply {
        let Some(form) = form(request) else { return Reply::Nothing };
        let mut asked = locked(&self.0);
        if asked.len() >= REMEMBERED {
            asked.pop_first();
        }
        asked.insert(request.id.clone());
        let requests =
            InputRequests::from([(QUESTION.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form)))]);
        Reply::Ask(Box::new(InputRequiredResult::new(Some(requests), Some(request.id.clone()))))
    }
}

/// How the client of a call can be asked.
fn way(context: &RequestContext<RoleServer>) -> Way {
    let can = context.client_capabilities().and_then(|can| can.elicitation);
    // A client that names no kind has forms.
    if !can.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Way::None;
    }
    match context.protocol_version() {
        Some(version) if version >= ProtocolVersion::V_2026_07_28 => Way::Result,
        Some(_) => Way::Request,
        None => Way::None,
    }
}

/// The question as a form with one field.
fn form(request: &ApprovalRequest) -> Option<ElicitRequestParams> {
    let words = [Decision::Approve, Decision::Deny].map(|decision| decision.as_str().to_owned()).to_vec();
    let field = PrimitiveSchemaDefinition::Enum(EnumSchema::builder(words).build());
    let schema = ElicitationSchema::builder().required_property(FIELD, field).build().ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question(request),
        requested_schema: schema,
    })
}

/// What the person said; `None` if nothing was decided.
fn decision(said: &ElicitResult) -> Option<Decision> {
    match said.action {
        ElicitationAction::Accept => {
            let word = said.content.as_ref().and_then(|content| content.get(FIELD)).and_then(Value::as_str);
            word.and_then(Decision::parse)
        }
        ElicitationAction::Decline => Some(Decision::Deny),
        // Dismissed, or something that this version does not know.
        ElicitationAction::Cancel | _ => None,
    }
}

/// Sends the question and waits for the answer, until the call is cancelled or the request expires.
async fn elicited(
    context: &RequestContext<RoleServer>,
    request: &ApprovalRequest,
    patience: Duration,
) -> Option<Decision> {
    let asking = ServerRequest::ElicitRequest(ElicitRequest::new(form(request)?));
    let sent = context.peer.send_request_with_option(asking, PeerRequestOptions::no_options());
    let mut sent = tokio::select! {
        sent = sent => sent.ok()?,
        () = context.ct.cancelled() => return None,
    };
    tokio::select! {
        answered = &mut sent.rx => match answered {
            Ok(Ok(ClientResult::ElicitResult(said))) => decision(&said),
            // Not what was asked for, an error, or the client is gone.
            _ => None,
        },
        () = context.ct.cancelled() => {
            // The client need not hear it.
            let _ = sent.cancel(Some("the call was cancelled".to_owned())).await;
            None
        }
        () = tokio::time::sleep(patience) => {
            let _ = sent.cancel(Some("the request expired".to_owned())).await;
            None
        }
    }
}
