//! The tools that show what there is: the names of a folder, the definitions of a file or a folder.

use readproof_core::operation::{Extent, Hidden, List, Operation, Outline};
use readproof_engine::{Listed, Outlines};
use readproof_words::notice::notices;

use super::{
    args::short,
    call::{Refused, ToolCall, ToolOutput, Tools},
};
use crate::report::{
    listed::{list_json, list_notice, list_text, outlines_json, outlines_notice, outlines_text},
    printable,
};

/// Which part of the workspace a call is about.
pub(super) fn extent(call: &ToolCall<'_>) -> Extent {
    let hidden = match call.args.has("hidden").then(|| call.args.flag("hidden")) {
        None => Hidden::Tracked,
        Some(true) => Hidden::All,
        Some(false) => Hidden::None,
    };
    let text = |name| call.args.text(name).map(str::to_owned);
    Extent { path: text("path"), glob: text("glob"), hidden, ignored: call.args.flag("ignored") }
}

pub(super) fn list(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let depth = call.args.number("depth").map(|depth| u32::try_from(depth).unwrap_or(u32::MAX));
    let limit = call.args.number("limit").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX).min(MOST_LISTED));
    let listed: Listed = tools.ask(call, Operation::List(List { extent: extent(call), depth, limit }))?.try_into()?;
    let trailer = format!("[{}]", list_notice(&listed).join("; "));
    Ok(ToolOutput {
        text: Some(list_text(&listed)),
        trailer: Some(trailer.into()),
        contract: list_json(&listed),
        text_key: "text",
        ..ToolOutput::default()
    })
}

/// The most names that one answer lists.
const MOST_LISTED: usize = 1_000;

pub(super) fn outline(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = call.args.text("path").unwrap_or_default().to_owned();
    let max_chars = tools.window().chars as usize;
    let asked = Outline { path, signatures: true, max_chars };
    let found: Outlines = tools.ask(call, Operation::Outline(asked))?.try_into()?;
    let mut said = outlines_notice(&found);
    said.extend(notices(&found.notices).iter().map(|notice| short(&printable(notice))));
    Ok(ToolOutput {
        text: Some(outlines_text(&found)),
        trailer: Some(format!("[{}]", said.join("; ")).into()),
        contract: outlines_json(&found),
        text_key: "text",
        ..ToolOutput::default()
    })
}
