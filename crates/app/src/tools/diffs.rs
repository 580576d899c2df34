//! `mode=diff_preview`: compares a working file, or text that would replace it, with git.

use readproof_core::{
    limits::TEXT_CHARS,
    operation::{Against, AnswerLimit, Compare, Operation},
};
use readproof_engine::Compared;
use serde_json::Value;

use super::{
    args::{Refusal, invalid},
    call::{Refused, ToolCall, ToolOutput, Tools},
};
use crate::report::compared::{contract, trailer};

pub(super) fn read(tools: &Tools<'_>, call: &ToolCall<'_>) -> Result<ToolOutput, Refused> {
    let path = call.args.text("target").unwrap_or_default().to_owned();
    let refuse = |message: &str, better: &Value| invalid(call.tool, call.args.all(), &path, message, better);
    let against = call.args.text("against").and_then(Against::parse).unwrap_or_default();
    let content = call.args.text("content").map(str::to_owned);
    if against == Against::WorkTree && content.is_none() {
        let message = "against='WORKTREE' compares the working file with other text, so it needs content. Give it, or use \
                       against='HEAD' or 'INDEX' for what git keeps.";
        let better = call.args.clone().with("content", "the new text\n").but_for(&[]);
        return Err(Refusal { code: "NO_CONTENT", ..refuse(message, &better) }.into());
    }
    let number = |name| call.args.number(name).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    let chars = number("max_preview_chars").unwrap_or(TEXT_CHARS).min(TEXT_CHARS);
    let most = AnswerLimit { lines: number("limit").unwrap_or(u32::MAX), chars };
    let operation = Operation::Compare(Compare { path: path.clone(), against, content, most });
    let found: Compared = tools.ask(call, operation)?.try_into()?;
    let shows = call.args.text("preview_mode") != Some("none");
    let (trailer, contract) = (trailer(&found), contract(&found, &path));
    let text = shows.then_some(found.text);
    Ok(ToolOutput { text, trailer: Some(trailer.into()), contract, text_key: "text", ..ToolOutput::default() })
}
