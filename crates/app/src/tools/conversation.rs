//! Where a call comes from and who gets its answer, as far as the host reports it. A conversation is one thread of one
//! host in one context window: after a compaction, or for another agent, it is another conversation, in which earlier
//! handles are worthless. A call counts as made by the model itself only if the host's record or the host itself says
//! so. Otherwise a program may have made it, and the model sees only what that program prints.

use readproof_core::{operation::Audience, text::ContentHash};
use readproof_disk::SessionName;
use readproof_engine::{Handles, Rollouts};
use serde_json::{Map, Value};

/// Where a call comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The session that records its reads; without one nothing is recorded.
    pub(crate) session: Option<SessionName>,
    /// Whether handles are issued and accepted.
    pub(crate) handles: bool,
    /// Who gets the answer.
    pub(crate) audience: Audience,
    /// The host may cut results with more bytes.
    pub(crate) cut: Option<u32>,
}

/// Some models of Codex get the middle of longer results cut out.
const CODEX_BYTES: u32 = 10_000;

/// The `_meta` key in which any host can report its context window: a text that differs after every compaction and for
/// every agent.
const WINDOW: &str = "readproof/window";

/// The `_meta` key in which any host can say, with `true`, that the model itself made the call and sees its result.
const DIRECT: &str = "readproof/direct";

/// What the `_meta` of a request says.
#[derive(Clone, Debug)]
pub(crate) struct RequestMeta {
    /// The thread and its context window, as the host names them.
    window: Option<String>,
    maker: Maker,
}

/// Who made a call.
#[derive(Clone, Debug)]
enum Maker {
    /// The host does not say.
    Unknown,
    /// As the host says, or a program if it only reports a window.
    Stated(Audience),
    /// Codex's ids of the thread and the call; its record says who made it.
    Codex { thread: String, call: String },
}

impl RequestMeta {
    pub(crate) fn of(meta: &Map<String, Value>) -> Self {
        let text = |key: &str| meta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let direct = meta.get(DIRECT).map(|direct| if *direct == true { Audience::Model } else { Audience::Program });
        if let Some(window) = text(WINDOW) {
            let maker = Maker::Stated(direct.unwrap_or(Audience::Program));
            return Self { window: Some(format!("told\0{window}")), maker };
        }
        let (thread, window) = (text("threadId"), text("windowId"));
        if thread.is_none() && window.is_none() {
            return Self { window: None, maker: direct.map_or(Maker::Unknown, Maker::Stated) };
        }
        // Codex: `<thread>:<compactions so far>`.
        let thread = thread.unwrap_or_default().to_owned();
        let window = window.map(|window| format!("codex\0{thread}\0{window}"));
        Self { window, maker: Maker::Codex { thread, call: text("callId").unwrap_or_default().to_owned() } }
    }

    /// Whether the host reports its context window.
    pub(crate) fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// Whether the host's record must be read.
    pub(crate) fn needs_record(&self) -> bool {
        matches!(self.maker, Maker::Codex { .. })
    }

    /// Where the call comes from; `connection` is the session for hosts that report no window.
    pub(crate) fn origin(&self, connection: &SessionName, handles: Handles, rollouts: &mut Rollouts) -> Origin {
        let window = self.window.as_ref().and_then(|window| {
            let hash = ContentHash::of(window.as_bytes()).to_string();
            SessionName::parse(&format!("mcp-w-{}", &hash[..32])).ok()
        });
        let audience = match &self.maker {
            Maker::Unknown => None,
            Maker::Stated(audience) => Some(*audience),
            Maker::Codex { thread, call } if rollouts.made(thread, call) => Some(Audience::Model),
            Maker::Codex { .. } => Some(Audience::Program),
        };
        let handles = match handles {
            Handles::Reported => window.is_some() && audience == Some(Audience::Model),
            Handles::Always => audience != Some(Audience::Program),
            Handles::Never => false,
        };
        let session = Some(window.unwrap_or_else(|| connection.clone()));
        let cut = matches!(self.maker, Maker::Codex { .. }).then_some(CODEX_BYTES);
        Origin { session, handles, audience: audience.unwrap_or_default(), cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn of(meta: &Value, handles: Handles) -> Origin {
        let nobody = &mut Rollouts::new(Path::new("/nonexistent"));
        RequestMeta::of(meta.as_object().unwrap()).origin(&SessionName::parse("c").unwrap(), handles, nobody)
    }

    #[test]
    fn a_window_is_a_conversation() {
        let told = |window: &str| json!({"readproof/window": window, "readproof/direct": true});
        let first = of(&told("t:0"), Handles::Reported);
        assert!(first.handles && first.audience == Audience::Model);
        assert_eq!(first, of(&told("t:0"), Handles::Reported));
        let other = of(&told("t:1"), Handles::Reported);
        assert!(other.handles && other.session != first.session);
        let codex = |thread: &str, window: &str| {
            of(&json!({"threadId": thread, "windowId": window, "callId": "1"}), Handles::Reported).session
        };
        assert_eq!(codex("t", "t:0"), codex("t", "t:0"));
        assert_ne!(codex("t", "t:0"), codex("t", "t:1"));
        assert_ne!(codex("t", "t:0"), codex("u", "t:0"));
    }

    #[test]
    fn nothing_told_nothing_known() {
        for meta in [json!({}), json!({"progressToken": 1, "claudecode/toolUseId": "x"}), json!({"windowId": 1})] {
            let told = of(&meta, Handles::Reported);
            assert_eq!((told.session.unwrap().as_str(), told.handles), ("c", false));
            assert_eq!(told.audience, Audience::Model);
            assert!(of(&meta, Handles::Always).handles);
        }
        assert!(!of(&json!({"readproof/window": "w", "readproof/direct": true}), Handles::Never).handles);
    }

    #[test]
    fn a_call_that_nobody_says_is_the_models_own_may_be_a_programs() {
        for meta in [
            json!({"readproof/window": "w"}),
            json!({"readproof/window": "w", "readproof/direct": "true"}),
            json!({"readproof/window": "w", "readproof/direct": false}),
            json!({"readproof/direct": false}),
            json!({"threadId": "t", "windowId": "t:0", "callId": "call_1"}),
            json!({"threadId": "t", "windowId": "t:0", "callId": "exec-1", "readproof/direct": true}),
            json!({"threadId": "t"}),
            json!({"windowId": "t:0"}),
        ] {
            for handles in [Handles::Reported, Handles::Always] {
                let told = of(&meta, handles);
                assert_eq!((told.handles, told.audience), (false, Audience::Program), "{meta}");
            }
        }
    }
}
