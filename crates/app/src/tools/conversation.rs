//! Whose call it is, and who gets its answer, as far as the host tells. A conversation is one thread of one host in one
//! context window: after a compaction, and for another agent, it is another one, so that no handle of the first is worth
//! anything there. A call is the model's own only by the host's record or word: else a program may have made it, and what the
//! program prints is all that the model sees.

use readproof_core::{operation::Audience, text::ContentHash};
use readproof_disk::SessionName;
use readproof_engine::{Handles, Rollouts};
use serde_json::{Map, Value};

/// The conversation of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The log that its reads go to; without one nothing is recorded.
    pub(crate) session: Option<SessionName>,
    /// Whether handles are given and taken.
    pub(crate) handles: bool,
    /// Who gets the answer.
    pub(crate) audience: Audience,
}

/// Where a host of any kind tells its context window: any text that is another after every compaction and for every agent.
const WINDOW: &str = "readproof/window";

/// Where a host of any kind says, by `true`, that the model itself made the call and sees its result.
const DIRECT: &str = "readproof/direct";

/// What a request's `_meta` tells.
#[derive(Clone, Debug)]
pub(crate) struct RequestMeta {
    /// The thread and its window, by the words of the host.
    window: Option<String>,
    maker: Maker,
}

/// Who made a call.
#[derive(Clone, Debug)]
enum Maker {
    /// The host says nothing of that.
    Unknown,
    /// By the host's word, or for want of it.
    Stated(Audience),
    /// What Codex calls the thread and the call: its record says whose it is.
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

    /// Whether a record must be looked into to know more.
    pub(crate) fn needs_record(&self) -> bool {
        matches!(self.maker, Maker::Codex { .. })
    }

    /// Whose call it is; `connection` is the log of those who tell nothing.
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
        Origin { session, handles, audience: audience.unwrap_or_default() }
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
