//! Encoded operations in, one JSON object for each out, in the same order: what a script or another machine asks. Nothing is held, so
//! text is always plain, and only operations that look are taken.

use readproof_core::operation::{Caller, VERSION};
use readproof_engine::{
    Call, CallRecord, Concern, Control, Engine, LoggedSession, decoded_operation, encoded_operation,
};
use readproof_words::{Surface, core::bad_operation};
use serde_json::{Map, Value, json};
use std::{
    io::{self, BufRead},
    sync::{Arc, Mutex},
};

use super::locked;
use crate::output::{self, Failure};

/// The longest line that is taken.
const LONGEST: u64 = 16 << 20;

/// What the door says of the latest call.
#[derive(Default)]
struct Latest(Mutex<Option<Map<String, Value>>>);

impl Concern for Latest {
    fn after(&self, record: &CallRecord<'_>) {
        let files: Vec<Value> = record
            .stood_on
            .iter()
            .map(|file| {
                let hash = file.before.map(|hash| hash.to_string());
                json!({"path": file.path, "sha256": hash, "sensitive": file.sensitive})
            })
            .collect();
        let text = record.text();
        let said = json!({
            "ok": record.error().is_none(),
            "v": VERSION,
            "op": record.operation.name(),
            "args": encoded_operation(record.operation),
            "code": record.code(),
            "text": text,
            "sha256": readproof_core::text::ContentHash::of(text.as_bytes()).to_string(),
            "token_estimate": record.tokens(),
            "files": files,
            "rules": record.rules(),
        });
        if let Value::Object(said) = said {
            *locked(&self.0) = Some(said);
        }
    }
}

/// Performs the operations given, or those on standard input until it ends.
pub(crate) fn run(engine: Engine, operations: &[String]) -> Result<(), Failure> {
    let latest = Arc::new(Latest::default());
    let engine = engine.with_concern(Arc::clone(&latest) as Arc<dyn Concern>);
    for operation in operations {
        output::message(&answer(&engine, &latest, operation.as_bytes()))?;
    }
    if !operations.is_empty() {
        return Ok(());
    }
    if output::input_is_terminal() {
        output::notice(
            "this takes one encoded operation per line, as in {\"op\":\"stat\",\"path\":\"README.md\"}; Ctrl-D ends it",
        );
    }
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        if io::Read::take(&mut input, LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            output::message(&answer(&engine, &latest, &line))?;
        }
    }
}

/// The answer to one line. One that means nothing is answered as such, and the next line counts as ever.
fn answer(engine: &Engine, latest: &Latest, line: &[u8]) -> Value {
    let refused = |code: &str, message: String| json!({"ok": false, "code": code, "error": message});
    let mut given: Map<String, Value> = match serde_json::from_slice(line) {
        Ok(given) => given,
        Err(why) => return refused("BAD_OPERATION", format!("not a JSON object: {why}")),
    };
    let version = given.remove("v").map_or(Some(u64::from(VERSION)), |v| v.as_u64());
    let name = given.remove("op").and_then(|op| op.as_str().map(str::to_owned));
    let (Some(version), Some(name)) = (version, name) else {
        return refused("BAD_OPERATION", "`op` must be the name of an operation, and `v` a number".to_owned());
    };
    // An answer of this command, or a line of the log of calls, can be sent again as it is.
    if let Some(Value::Object(args)) = given.remove("args") {
        given = args;
    }
    let operation = match decoded_operation(version, &name, &given) {
        Ok(operation) => operation,
        Err(why) => return refused("BAD_OPERATION", bad_operation(&why)),
    };
    if !operation.only_looks() {
        let message = format!("`{name}` does more than look; use the command or the tool that is made for it");
        return refused("NOT_A_QUERY", message);
    }
    let caller = Caller { user: engine.settings().user.clone(), ..Caller::of("query") };
    let conversation = &mut LoggedSession::named(None);
    let done = engine.perform(Call { caller: &caller, conversation, operation, control: Control::WAIT });
    let mut said = locked(&latest.0).take().unwrap_or_default();
    if let Err(error) = done {
        said.insert("error".to_owned(), Surface::Cli.error(&error).into());
    }
    Value::Object(said)
}
