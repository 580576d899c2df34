//! Several files in one call. Each is a read of its own, with its own blocks, recorded for itself; together they have the room
//! of one answer. What has no room, or cannot be read, is said, and the others are still given.

use readproof_core::{limits::TEXT_CHARS, path::printable};
use serde_json::{Map, Value, json};

use super::{
    args::{Args, Refusal, invalid, short},
    call::{Refused, ToolCall, ToolOutput, Tools},
};

/// With less room than this, nothing more is read.
const LEAST_CHARS: usize = 400;

pub(super) fn read(tools: &Tools<'_>, call: &ToolCall<'_>, targets: &[Value]) -> Result<ToolOutput, Refused> {
    if let Some(other) =
        call.args.all().keys().find(|name| !matches!(name.as_str(), "targets" | "mode" | "fresh" | "limit"))
    {
        let message =
            format!("{other} cannot stand beside targets. Give each target its own, as {{\"path\":…,\"{other}\":…}}.");
        let value = &call.args.all()[other];
        let with_its_own = |target: &Value| {
            let mut fields = own(call, target);
            fields.entry(other).or_insert_with(|| value.clone());
            Value::Object(fields)
        };
        let better = call.args.clone().with("targets", targets.iter().map(with_its_own).collect::<Vec<_>>());
        return Err(invalid(call.tool, call.args.all(), "", &message, &better.but_for(&[other])).into());
    }
    let (mut parts, mut results, mut left) = (Vec::new(), Vec::new(), TEXT_CHARS as usize);
    let mut unread: Vec<String> = Vec::new();
    for target in targets {
        let given = own(call, target);
        if left < LEAST_CHARS {
            unread.push(name_of(&given));
            continue;
        }
        let said = match one(tools, call, &given, left) {
            // The whole call is repeated where there is time.
            Err(refusal) if refusal.code == "NOT_QUICK" => return Err(refusal.into()),
            Err(refusal) => {
                let said = format!("[{}: {}: {}]", short(&printable(&name_of(&given))), refusal.code, refusal.message);
                let contract = refusal.contract();
                ToolOutput { trailer: Some(said.into()), contract, text_key: "text", ..ToolOutput::default() }
            }
            Ok(said) => said,
        };
        left = left.saturating_sub(said.text.as_deref().map_or(0, |text| text.chars().count()));
        results.push(said.contract.clone());
        parts.push(said);
    }
    let trailer = (!unread.is_empty()).then(|| {
        let names: Vec<String> = unread.iter().map(|name| short(&printable(name))).collect();
        format!("[no room left in this answer; read these next: {}]", names.join(", ")).into()
    });
    let contract = json!({"ok": true, "mode": "file", "results": results, "unread": unread});
    Ok(ToolOutput { trailer, contract, text_key: "text", several: parts, ..ToolOutput::default() })
}

/// The arguments of one of the reads.
fn own(call: &ToolCall<'_>, target: &Value) -> Map<String, Value> {
    let path = || Map::from_iter([("path".to_owned(), target.clone())]);
    let mut given = target.as_object().cloned().unwrap_or_else(path);
    for name in ["mode", "fresh", "limit"] {
        if let Some(value) = call.args.all().get(name) {
            given.entry(name).or_insert_with(|| value.clone());
        }
    }
    // A call in a call.
    given.remove("targets");
    given
}

fn name_of(given: &Map<String, Value>) -> String {
    let name = ["path", "target", "file_path", "file"].iter().find_map(|name| given.get(*name)?.as_str());
    name.unwrap_or_default().to_owned()
}

/// One read.
fn one(tools: &Tools<'_>, call: &ToolCall<'_>, given: &Map<String, Value>, left: usize) -> Result<ToolOutput, Refusal> {
    let style = tools.engine.settings().args;
    tools.refusable((call.tool, &name_of(given), None), || {
        let args = Args::parse(call.tool, given, style, &String::new)?;
        let chars =
            args.number("max_preview_chars").map_or(left, |chars| (left).min(usize::try_from(chars).unwrap_or(left)));
        let args = if chars < tools.window().chars as usize { args.with("max_preview_chars", chars) } else { args };
        let call = ToolCall { tool: call.tool, args, origin: call.origin, control: call.control };
        super::unified::read(tools, &call)
    })
}
