//! `head`, `tail`, `grep`, `stat` and `search`.

use readproof_core::{
    limits::ANSWER_CHARS,
    operation::{End, Letters, List, Matching, Operation, ReadEnd, Search, SearchFile, SearchMode},
};
use readproof_engine::{Control, EndOfFile, FileStat, InFile, Listed, LoggedSession, Progress, Searched};

use super::{Done, Terminal, line_number, notices, session_name};
use crate::{
    cli::{GrepArgs, ListArgs, PieceArgs, SearchArgs},
    output,
    report::{
        found,
        listed::{list_json, list_notice, list_text},
    },
};

pub(super) fn end(terminal: &Terminal, args: PieceArgs, end: End) -> Done {
    let lines = line_number("lines", Some(args.lines))?.unwrap_or_default();
    let operation = Operation::ReadEnd(ReadEnd { path: args.path, end, lines, chars: ANSWER_CHARS });
    let end: EndOfFile = terminal.ask_in(args.shown_to.session.as_deref(), operation)?;
    if terminal.json {
        return Ok(output::line(&found::end_json(&end).to_string())?);
    }
    output::lines(&end.text)?;
    notices(found::cut_notice(&end), &end.notices);
    Ok(())
}

/// The matching lines of one file.
pub(super) fn grep(terminal: &Terminal, args: GrepArgs) -> Done {
    let standard = SearchFile::default();
    let operation = Operation::SearchFile(SearchFile {
        path: args.path,
        query: args.query,
        matching: if args.regex { Matching::Regex } else { Matching::Literal },
        max_matches: args.max_matches.unwrap_or(standard.max_matches),
        before: args.before,
        after: args.after,
        ..standard
    });
    let found: InFile = terminal.ask_in(args.shown_to.session.as_deref(), operation)?;
    if terminal.json {
        return Ok(output::line(&found::in_file_json(&found).to_string())?);
    }
    let context = args.before > 0 || args.after > 0;
    output::lines(&found::lines_text(&found.path, &found.lines, context))?;
    let cut = found.truncated.then(|| format!("{} of {} matching lines are shown", found.given, found.matches));
    notices(cut, &found.notices);
    Ok(())
}

pub(crate) fn stat(terminal: &Terminal, path: String) -> Done {
    let stat: FileStat = terminal.ask_in(None, Operation::Stat { path })?;
    terminal.show(|| found::stat_json(&stat), || found::stat_text(&stat))
}

/// What is in a folder.
pub(super) fn list(terminal: &Terminal, args: ListArgs) -> Done {
    let asked = List { extent: args.extent.extent(), depth: args.depth, limit: Some(args.limit) };
    let listed: Listed = terminal.ask_in(None, Operation::List(asked))?;
    if terminal.json {
        return Ok(output::line(&list_json(&listed).to_string())?);
    }
    output::text(&list_text(&listed))?;
    notices(Some(list_notice(&listed).join("; ")), &[]);
    Ok(())
}

/// Files, lines or names of the whole workspace.
pub(super) fn search(terminal: &Terminal, args: SearchArgs) -> Done {
    let operation = Operation::Search(Search {
        query: args.query,
        mode: SearchMode::parse(&args.mode).unwrap_or_default(),
        letters: args.case.as_deref().and_then(Letters::parse).unwrap_or_default(),
        extent: args.extent.extent(),
        limit: args.limit,
        context_lines: args.context,
        ..Search::default()
    });
    let pace = output::Pace::default();
    let progress = |Progress { done, .. }: Progress| pace.tell(|| format!("{done} files searched"));
    let session = args.shown_to.session.as_deref().map(session_name).transpose()?;
    let control = Control { progress: &progress, ..Control::WAIT };
    let outcome = terminal.ask_with(&mut LoggedSession::named(session), operation, control);
    output::progress("");
    let found: Searched = outcome?.try_into()?;
    if terminal.json {
        return Ok(output::line(&found::search_json(&found).to_string())?);
    }
    output::lines(&found::search_text(&found, args.context > 0))?;
    notices(found::uses_notice(&found), &[]);
    notices(found::search_notice(&found), &found.notices);
    Ok(())
}
