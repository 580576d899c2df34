//! Whose call it is, as far as the host tells. A conversation is one thread of one host in one context window: after a
//! compaction, and for another agent, it is another one, so that no handle of the first is worth anything there.

use readproof_core::text::ContentHash;
use readproof_disk::SessionName;
use readproof_engine::Handles;
use serde_json::{Map, Value};

/// The conversation of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// The log that its reads go to; without one nothing is recorded.
    pub(crate) session: Option<SessionName>,
    /// Whether handles are given and taken.
    pub(crate) handles: bool,
}

/// Where a host of any kind tells its context window: any text that is another after every compaction and for every agent.
const WINDOW: &str = "readproof/window";

impl Conversation {
    /// What the request's `_meta` tells; `connection` is the log of those who tell nothing.
    pub(crate) fn of(meta: &Map<String, Value>, connection: &SessionName, handles: Handles) -> Self {
        let window = window(meta).and_then(|window| {
            let hash = ContentHash::of(window.as_bytes()).to_string();
            SessionName::parse(&format!("mcp-w-{}", &hash[..32])).ok()
        });
        let handles = match handles {
            Handles::Reported => window.is_some(),
            Handles::Always => true,
            Handles::Never => false,
        };
        Self { session: Some(window.unwrap_or_else(|| connection.clone())), handles }
    }
}

/// The thread and its window, by the words of the host.
fn window(meta: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| meta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(window) = text(WINDOW) {
        return Some(format!("told\0{window}"));
    }
    // Codex: `<thread>:<compactions so far>`.
    let window = text("windowId")?;
    Some(format!("codex\0{}\0{window}", text("threadId").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(meta: &Value, handles: Handles) -> Conversation {
        Conversation::of(meta.as_object().unwrap(), &SessionName::parse("c").unwrap(), handles)
    }

    #[test]
    fn a_window_is_a_conversation() {
        let first = of(&json!({"threadId": "t", "windowId": "t:0", "callId": "1"}), Handles::Reported);
        assert!(first.handles);
        assert_eq!(first, of(&json!({"threadId": "t", "windowId": "t:0", "callId": "2"}), Handles::Reported));
        for other in [
            json!({"threadId": "t", "windowId": "t:1"}),
            json!({"threadId": "u", "windowId": "t:0"}),
            json!({"readproof/window": "t:0"}),
        ] {
            let other = of(&other, Handles::Reported);
            assert!(other.handles && other.session != first.session);
        }
    }

    #[test]
    fn nothing_told_nothing_known() {
        for meta in [
            json!({}),
            json!({"progressToken": 1, "claudecode/toolUseId": "x"}),
            json!({"threadId": "t"}),
            json!({"windowId": 1}),
        ] {
            let told = of(&meta, Handles::Reported);
            assert_eq!((told.session.unwrap().as_str(), told.handles), ("c", false));
            assert!(of(&meta, Handles::Always).handles);
        }
        assert!(!of(&json!({"readproof/window": "w"}), Handles::Never).handles);
    }
}
