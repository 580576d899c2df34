//! The older tool as it was: it vouches for what was asked for, not for what was shown, and checks nothing else. Its records
//! exist in sessions, and Readproof has to cope with them.

use readproof_core::{diff::unified, text::Text};
use readproof_reader::pi::page;
use serde_json::{Value, json};

use super::world::World;
use crate::world::Broken;

/// A read by the older tool.
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    /// The path as written, without a range.
    pub(super) path: &'a str,
    pub(super) offset: Option<i64>,
    pub(super) limit: Option<u64>,
    /// The text it takes as held.
    pub(super) base: Option<&'a str>,
}

/// Its block and its metadata; `None` when there is no such line.
pub(super) fn answer(world: &World, asked: &Asked<'_>, now: &str) -> Result<Option<(String, Value)>, Broken> {
    let Some(page) = page(now, asked.path, asked.offset, asked.limit) else { return Ok(None) };
    let served = world.store(now)?;
    let total = page.total;
    let start = page.first;
    let end = asked.limit.map_or(total, |limit| (start - 1).saturating_add(limit).min(total));
    let whole = (start, end) == (1, total);
    let lines = |text: &str| -> Option<Vec<String>> {
        let all: Vec<&str> = text.split('\n').collect();
        let (from, to) = (usize::try_from(start - 1).ok()?, usize::try_from(end).ok()?);
        Some(all.get(from..to)?.iter().map(|line| (*line).to_owned()).collect())
    };
    let (mode, text) = match asked.base {
        None => ("full", page.text),
        Some(base) if base == now && whole => ("unchanged", format!("[readcache: unchanged, {total} lines]")),
        Some(base) if base == now => {
            ("unchanged_range", format!("[readcache: unchanged in lines {start}-{end} of {total}]"))
        }
        Some(base) if !whole && lines(base) == lines(now) => {
            let words = format!("[readcache: unchanged in lines {start}-{end}; changes exist outside this range]");
            ("unchanged_range", words)
        }
        Some(base) if whole && now.len() > 200 => {
            let diff = unified(&Text::new(base.to_owned()), &Text::new(now.to_owned()), asked.name);
            let text = format!("[readcache: {} lines changed of {total}]\n{}", diff.changed(), diff.body.trim_end());
            ("diff", text)
        }
        Some(_) => ("baseline_fallback", page.text),
    };
    let scope = if whole { "full".to_owned() } else { format!("r:{start}:{end}") };
    // It identifies files by the name they were asked for, whatever link that goes through.
    let key = world.given.join(asked.name).display().to_string();
    let mut meta = json!({
        "v": 1, "pathKey": key, "scopeKey": scope, "servedHash": served.to_string(), "mode": mode,
        "totalLines": total, "rangeStart": start, "rangeEnd": end, "bytes": now.len(),
    });
    if let (Some(base), false) = (asked.base, mode == "full") {
        meta["baseHash"] = json!(world.store(base)?.to_string());
    }
    Ok(Some((text, json!({ "readcache": meta }))))
}
