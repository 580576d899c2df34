//! Whether hooks are answered in time. The host waits for a hook only so long; then it goes on as if there were none, and says nothing.
//! The person is told once in a session, beside the next answer that is in time. The model is not told.

use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use super::{super::locked, text};

/// How long the host waits, by the plugin's `hooks.json`.
const HOST_WAITS: Duration = Duration::from_secs(2);

/// What the person is told.
const SLOW: &str = "readproof: an answer took longer than 2 seconds, so Claude Code went on without it and a file was sent as it is; \
                    this is said once in a session (`readproof doctor` may say why, `/plugin` disables the plugin)";

/// The sessions in which an answer came too late.
#[derive(Default)]
pub(crate) struct HookPace(Mutex<BTreeMap<String, Late>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    Untold,
    Told,
}

impl HookPace {
    /// What to answer a hook that waited this long.
    pub(crate) fn after(&self, given: &Map<String, Value>, took: Duration, said: String) -> String {
        let Some(session) = text(given, "transcript") else { return said };
        let mut sessions = locked(&self.0);
        if took >= HOST_WAITS {
            sessions.entry(session).or_insert(Late::Untold);
            return said;
        }
        let Some(late) = sessions.get_mut(&session).filter(|late| **late == Late::Untold) else { return said };
        let Ok(Value::Object(mut answer)) = serde_json::from_str(&said) else { return said };
        *late = Late::Told;
        answer.insert("systemMessage".to_owned(), json!(SLOW));
        Value::Object(answer).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_once_in_a_session() {
        let pace = HookPace::default();
        let given = |file: &str| Map::from_iter([("transcript".to_owned(), json!(file))]);
        let after = |file: &str, ms: u64| pace.after(&given(file), Duration::from_millis(ms), "{\"a\":1}".to_owned());
        let plain = "{\"a\":1}";
        assert_eq!(after("/s.jsonl", 1999), plain);
        assert_eq!(after("/s.jsonl", 2000), plain, "nobody waits for it");
        assert_eq!(after("/t.jsonl", 1), plain, "another session");
        let told: Value = serde_json::from_str(&after("/s.jsonl", 1)).unwrap();
        assert_eq!(told, json!({"a": 1, "systemMessage": SLOW}));
        for ms in [1, 2000, 1] {
            assert_eq!(after("/s.jsonl", ms), plain, "once");
        }
        assert_eq!(pace.after(&Map::new(), Duration::ZERO, plain.to_owned()), plain);
    }

    #[test]
    fn the_host_waits_that_long() {
        let hooks = include_str!("../../../../../integrations/claude-code/plugins/readproof/hooks/hooks.json");
        let hooks: Value = serde_json::from_str(hooks).unwrap();
        let events = hooks["hooks"].as_object().unwrap().values().flat_map(|event| event.as_array().unwrap());
        let mut asked = 0;
        for hook in events.flat_map(|entry| entry["hooks"].as_array().unwrap()) {
            if hook["type"] == "mcp_tool" {
                assert_eq!(hook["timeout"].as_u64().map(Duration::from_secs), Some(HOST_WAITS), "{hook}");
                asked += 1;
            }
        }
        assert_eq!(asked, 3);
    }
}
