//! `symbols` and `outline`.

use readproof_core::{
    operation::{ListSymbols, Operation, Outline},
    path::printable,
};
use readproof_engine::{Control, LoggedSession, Outlines, Progress, SymbolsFound};

use super::{Done, Terminal, notices};
use crate::{
    cli::SymbolsArgs,
    output,
    report::{
        label,
        listed::{outlines_json, outlines_notice},
        symbols::{found_json, listed, outline_json, outline_text},
    },
};

pub(super) fn list(terminal: &Terminal, args: SymbolsArgs) -> Done {
    // Without a query everything is listed.
    let limit = args.limit.or(args.query.is_none().then_some(usize::MAX));
    let asked = ListSymbols { query: args.query.clone(), path: args.path, glob: args.glob, kind: args.kind, limit };
    let pace = output::Pace::default();
    let progress = |Progress { done, total }: Progress| {
        pace.tell(|| format!("{done} of {} files parsed", total.unwrap_or(done)));
    };
    let control = Control { progress: &progress, ..Control::WAIT };
    let outcome = terminal.ask_with(&mut LoggedSession::default(), Operation::ListSymbols(asked), control);
    output::progress("");
    let found: SymbolsFound = outcome?.try_into()?;
    if terminal.json {
        return Ok(output::line(&found_json(&found, args.query.as_deref(), found.found.len()).to_string())?);
    }
    output::text(&listed(&found, usize::MAX).0)?;
    let given = found.found.len() as u64;
    let more =
        (given < found.total).then(|| format!("{given} of {} definitions are shown; --limit gives more", found.total));
    let none = (found.total == 0).then(|| "nothing of that name is defined here".to_owned());
    notices(more.or(none), &found.notices);
    Ok(())
}

pub(super) fn outline(terminal: &Terminal, path: String) -> Done {
    let asked = Outline { path, signatures: false, max_chars: usize::MAX };
    let outlines: Outlines = terminal.ask_in(None, Operation::Outline(asked))?;
    if outlines.is_folder {
        return folder(terminal, &outlines);
    }
    let Some(outlined) = outlines.files.first() else { return Ok(()) };
    if terminal.json {
        return Ok(output::line(&outline_json(outlined).to_string())?);
    }
    output::text(&outline_text(outlined))?;
    let none = outlined.symbols.is_empty().then(|| format!("{} defines nothing", printable(&outlined.path)));
    let more = outlined.truncated.then(|| "there are more definitions than are listed".to_owned());
    notices(none.or(more), &[]);
    Ok(())
}

/// Every file that defines something, with its definitions.
fn folder(terminal: &Terminal, outlines: &Outlines) -> Done {
    if terminal.json {
        return Ok(output::line(&outlines_json(outlines).to_string())?);
    }
    for file in &outlines.files {
        output::text(&format!("{}\n{}", label(&file.path), outline_text(file)))?;
    }
    notices(Some(outlines_notice(outlines).join("; ")), &[]);
    Ok(())
}
