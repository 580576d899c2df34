//! `read`, `refresh`, `write` and `edit`.

use readproof_core::operation::{Audience, Decoding, Freshness, Operation, Partial, Read, Refresh};
use readproof_engine::{LoggedSession, Refreshed};

use super::{Done, Terminal, line_number, session_name};
use crate::{
    cli::{RangeArgs, ReadArgs, RefreshArgs},
    output::{self, Failure},
    report::json,
    tools::{call::Tools, conversation::Origin},
};

pub(super) fn read(terminal: &Terminal, args: ReadArgs) -> Done {
    let (offset, limit) = range(&args.range)?;
    let read = Read {
        offset,
        limit,
        freshness: if args.fresh { Freshness::Fresh } else { Freshness::Known },
        path: args.path,
        decoding: Decoding::View,
        partial: Partial::Allowed,
        ..Read::default()
    };
    let session = args.session.as_deref().map(session_name).transpose()?;
    let answer = terminal.ask(&mut LoggedSession::named(session), Operation::Read(read))?.into_answer()?;
    if terminal.json {
        output::line(&json::answer(&answer).to_string())?;
    } else {
        output::lines(&answer.text)?;
        super::notices(None, &answer.notices);
    }
    terminal.confirm(answer.given.as_ref());
    Ok(())
}

fn range(args: &RangeArgs) -> Result<(Option<u64>, Option<u64>), Failure> {
    Ok((line_number("offset", args.offset.clone())?, line_number("limit", args.limit.clone())?))
}

/// A read as MCP clients get it: the same checks, windows, handles and objects.
pub(super) fn as_tool(terminal: &Terminal, args: &ReadArgs) -> Done {
    let RangeArgs { offset, limit } = &args.range;
    let typed = [("target", Some(&args.path)), ("offset", offset.as_ref()), ("limit", limit.as_ref())];
    let typed = typed.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    let mut given: serde_json::Map<String, serde_json::Value> =
        typed.chain(args.unified.given()).map(|(name, value)| (name.to_owned(), value.as_str().into())).collect();
    given.insert("fresh".to_owned(), args.fresh.into());
    if args.unified.include_context {
        given.insert("include_context".to_owned(), true.into());
    }
    let session = args.session.as_deref().map(session_name).transpose()?;
    let origin = Origin { handles: session.is_some(), session, audience: Audience::Model, cut: None };
    let tools = Tools::new(&terminal.engine, &terminal.caller);
    let said = tools.call("read", &given, &origin, readproof_engine::Control::WAIT).map_err(|refusal| Failure {
        usage: refusal.code == "INVALID_ARGS",
        ..Failure::refused(refusal.code, refusal.message)
    })?;
    if terminal.json {
        return Ok(output::line(&said.object().to_string())?);
    }
    for text in said.context.iter().chain(&said.text) {
        output::text(text)?;
    }
    super::notices(said.trailer.map(|trailer| trailer.line), &[]);
    Ok(())
}

pub(super) fn refresh(terminal: &Terminal, args: RefreshArgs) -> Done {
    let (offset, limit) = range(&args.range)?;
    let operation = Operation::Refresh(Refresh { path: args.path, offset, limit });
    let done: Refreshed = terminal.ask_in(Some(&args.session), operation)?;
    terminal.show(
        || json::refreshed(&done),
        || format!("the next read of {} ({}) is plain text", done.paths.join(", "), done.scope),
    )
}
