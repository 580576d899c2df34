//! Lines of the audit log for people and for other programs: a short form, CSV, and OpenTelemetry's spans with the names of its
//! conventions for generative AI.

use readproof_core::text::ContentHash;
use readproof_engine::audit::{CallLine, Line};
use serde_json::{Value, json};

use super::printable;

/// The columns of the CSV form.
pub(crate) const COLUMNS: &str = "entry,at,surface,client,user,identity,agent,conversation,tool,args,ok,code,paths,before,after,approval,version,us,bytes,tokens,returned";

/// One line for a person.
pub(crate) fn short(entry: u64, line: &Line) -> String {
    match line {
        Line::Call(call) => {
            let who = call.caller.client.as_deref().unwrap_or(&call.caller.surface);
            let paths: Vec<String> = call.files.iter().take(3).map(|file| printable(&file.path)).collect();
            let asked = call.args.get("path").and_then(Value::as_str).map(printable);
            let path = if paths.is_empty() { asked.unwrap_or_default() } else { paths.join(", ") };
            let code = if call.ok { String::new() } else { format!("  {}", call.code) };
            let place = call.conversation.as_deref().map(|name| format!(" in {}", printable(name))).unwrap_or_default();
            format!("{entry}  {}  {} {path}{code}  by {}{place}", time(call.at), call.tool, printable(who))
        }
        Line::Gap(gap) => {
            format!("{entry}  {}  {} calls have no line: {}", time(gap.at), gap.missing, printable(&gap.why))
        }
        Line::Began(began) => {
            let aside =
                began.aside.as_deref().map(|name| format!("; an earlier one was put aside as {}", printable(name)));
            format!("{entry}  {}  the log begins{}", time(began.at), aside.unwrap_or_default())
        }
        Line::Rotated(done) => format!(
            "{entry}  {}  rotated: lines before {} may be gone, texts before {}",
            time(done.at),
            done.moved_before,
            done.erased_before
        ),
        Line::Erased(done) => {
            format!("{entry}  {}  the texts of {} calls were erased", time(done.at), done.texts)
        }
        Line::Unknown => format!("{entry}  a line of a newer version"),
    }
}

/// One row of the CSV form; `None` for what is no call.
pub(crate) fn csv(entry: u64, line: &Line) -> Option<String> {
    let Line::Call(call) = line else { return None };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let files =
        |of: fn(&readproof_engine::audit::FileFacts) -> String| call.files.iter().map(of).collect::<Vec<_>>().join(" ");
    let cells = [
        entry.to_string(),
        time(call.at),
        call.caller.surface.clone(),
        text(&call.caller.client),
        text(&call.caller.user),
        text(&call.caller.identity),
        text(&call.caller.agent),
        text(&call.conversation),
        call.tool.clone(),
        Value::Object(call.args.clone()).to_string(),
        call.ok.to_string(),
        call.code.clone(),
        files(|file| file.path.clone()),
        files(|file| file.before.map(|sha| sha.0.to_string()).unwrap_or_default()),
        files(|file| file.after.map(|sha| sha.0.to_string()).unwrap_or_default()),
        text(&call.approval),
        text(&call.version),
        call.us.to_string(),
        call.bytes.to_string(),
        call.tokens.to_string(),
        call.returned.map(|sha| sha.0.to_string()).unwrap_or_default(),
    ];
    Some(cells.map(|cell| quoted(&cell)).join(","))
}

/// A cell of RFC 4180, which a spreadsheet takes for text even where it begins like a formula.
fn quoted(cell: &str) -> String {
    let cell = if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

/// One line of OTLP in JSON: a call as a span; `None` for what is no call.
pub(crate) fn otel(entry: u64, line: &Line) -> Option<Value> {
    let Line::Call(call) = line else { return None };
    let place = format!("{}-{}", call.writer, call.seq);
    let trace = ContentHash::of(call.conversation.as_deref().unwrap_or(&call.writer).as_bytes()).to_string();
    let span = ContentHash::of(place.as_bytes()).to_string();
    let start = u128::from(call.at) * 1_000_000;
    let end = start + u128::from(call.us) * 1_000;
    let status = if call.ok { json!({}) } else { json!({"code": 2, "message": call.code}) };
    let spans = json!([{
        "traceId": &trace[..32],
        "spanId": &span[..16],
        "name": format!("execute_tool {}", call.tool),
        "kind": 1,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes(entry, &place, call),
        "status": status,
    }]);
    let service = json!([{"key": "service.name", "value": {"stringValue": "readproof"}}]);
    let scope = json!({"name": "readproof.audit", "version": call.v.to_string()});
    Some(
        json!({"resourceSpans": [{"resource": {"attributes": service}, "scopeSpans": [{"scope": scope, "spans": spans}]}]}),
    )
}

fn attributes(entry: u64, place: &str, call: &CallLine) -> Vec<Value> {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let number = |key: &str, value: u64| json!({"key": key, "value": {"intValue": value.to_string()}});
    let mut all = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &call.tool),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", place),
        text("gen_ai.tool.call.arguments", &Value::Object(call.args.clone()).to_string()),
        number("gen_ai.usage.output_tokens", call.tokens),
        text("readproof.surface", &call.caller.surface),
        text("readproof.code", &call.code),
        number("readproof.audit.entry", entry),
        number("readproof.returned.bytes", call.bytes),
    ];
    let maybe = [
        ("gen_ai.conversation.id", &call.conversation),
        ("gen_ai.agent.name", &call.caller.agent),
        ("user.name", &call.caller.user),
        ("readproof.client", &call.caller.client),
        ("readproof.identity", &call.caller.identity),
        ("readproof.approval", &call.approval),
        ("readproof.version", &call.version),
    ];
    all.extend(maybe.iter().filter_map(|(key, value)| value.as_deref().map(|value| text(key, value))));
    all.extend((!call.ok).then(|| text("error.type", &call.code)));
    all.extend(call.returned.map(|sha| text("readproof.returned.sha256_nonce_text", &sha.0.to_string())));
    for (place, file) in call.files.iter().enumerate() {
        let hash = |sha: Option<readproof_engine::audit::Sha>| sha.map(|sha| sha.0.to_string()).unwrap_or_default();
        all.push(text(&format!("readproof.file.{place}.path"), &file.path));
        all.push(text(&format!("readproof.file.{place}.before"), &hash(file.before)));
        all.push(text(&format!("readproof.file.{place}.after"), &hash(file.after)));
    }
    all
}

/// A moment as in RFC 3339, in UTC.
pub(crate) fn time(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year_of_era + later;
    let (hours, minutes, seconds, millis) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_as_the_calendar_has_them() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(time(1_763_449_200_123), "2025-11-18T07:00:00.123Z");
        assert_eq!(time(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_cell_is_text_whatever_is_in_it() {
        assert_eq!(
            (quoted("a"), quoted("a,\"b\""), quoted("=1+1")),
            ("a".into(), "\"a,\"\"b\"\"\"".into(), "'=1+1".into())
        );
    }
}
