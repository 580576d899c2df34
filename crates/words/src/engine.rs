//! Words for what the engine refuses.

use readproof_core::{
    budget::{Over, Spending},
    path::label,
};
use readproof_engine::{
    ApprovalState, Candidate, Error, Gap, HistoryError, NoIndex, ShownLines, SymbolKind, Undecided,
};
use readproof_index::{LINE_BYTES, Unindexed};

use crate::{
    Terms,
    core::{bad_patch, edit, not_text, scope},
    disk::{locate, no_watch, pattern, replace, replace_all, root, snapshot, transcript},
    git::git,
    hosts::{approvals, audit, gap as gap_in_words, session, versions},
    index::{query, registry, unusable, walk},
    stores::{session_name, store},
};

use std::fmt::Display;

/// What an [`Error`] is in words.
#[must_use]
pub fn error(terms: Terms<'_>, said: &Error) -> String {
    match said {
        Error::EmptyPath => "the path is empty; name a file, as in `readproof read src/main.rs`".to_owned(),
        Error::Range { path, source } => format!("{path}: {}", scope(terms, source)),
        Error::NoMatch { path, query } => format!("{path}: no line holds `{query}`; search for other words, or name lines"),
        Error::Missing { source, near } => locate(terms, source) + &did_you_mean(near),
        Error::Locate(source) => locate(terms, source),
        Error::BackThroughLink { path } => format!("`{}` goes back by `..` out of a symbolic link; name the file without that", terms.name(path)),
        Error::Snapshot(source) => snapshot(source),
        Error::Replace(source) => replace(source),
        Error::Edit { path, source, shown, of } => format!("{}: {}; nothing was changed{}", label(path), edit(terms, source, *of), lines(shown)),
        Error::BadPatch { source } => format!("{}; nothing was changed", bad_patch(source)),
        Error::Twice { path } => format!("the call names {path} twice; put all changes of a file together"),
        Error::Precondition { path, expected: Some(expected), actual: Some(actual) } => format!("{path} has another text than the call is for: expected {expected}, actual {actual}; nothing was changed. Read it again, then use {}", terms.expecting(actual)),
        Error::Precondition { path, expected: Some(expected), actual: None } => format!("{path} does not exist or is sensitive, and the call is for the text {expected}; nothing was changed"),
        Error::Precondition { path, expected: None, actual: Some(actual) } => format!("{path} exists, and this conversation has not shown all of it; nothing was changed. Read all of it first, change it with edit, or say which text may go: {}", terms.expecting(actual)),
        Error::Precondition { path, expected: None, actual: None } => format!("{path} exists and is sensitive, so its text is never held; nothing was changed. Change it with edit, or let a person replace it with `readproof write --force`"),
        Error::Exists { path, actual } => format!("{path} exists; nothing was changed. Use another name, or change it with edit{}", actual.map_or_else(String::new, |hash| format!("; to replace all of it, use {}", terms.replacing(&hash)))),
        Error::Conflict { path, id, shown, actual } => format!("{}: someone else changed the same lines since you read them; nothing was changed{}. Repeat the edit for the lines as they are now (the file's hash is {actual}){}", label(path), id.map_or_else(String::new, |id| format!(" (conflict {id})")), lines(shown)),
        Error::NoConflict { id } => format!("there is no conflict `{id}`; `readproof conflicts list` shows those there are"),
        Error::ConflictOver { id, how } => format!("conflict {id} is over: resolved with {how}"),
        Error::NoProposal { id } => format!("nobody proposed a text for conflict {id}; resolve it with ours, theirs or a file"),
        Error::NoVersion { path, version: None } => format!("no version of {path} is kept yet: it was not changed through readproof"),
        Error::NoVersion { path, version: Some(version) } => format!("`{version}` is no version of {path}; use one as v12, or working"),
        Error::Erased { path, hash, why: Gap::Erased } => format!("the text {hash} of {path} was erased"),
        Error::Erased { path, hash, .. } => format!("the text {hash} of {path} is not stored any more"),
        Error::SensitiveVersion { path } => format!("{path} is sensitive, so no versions of it are kept or compared"),
        Error::History(source) => history(terms, source),
        Error::ReplaceAll(source) => replace_all(source),
        Error::SensitiveTogether { path } => format!("{path} is sensitive: no text of it is stored, so it cannot be put back if a patch over several files is interrupted; change it in a call of its own"),
        Error::Versions(source) => versions(source),
        Error::NotKept { path, why } => format!("{path} is not written, as what is there now could not be kept: {}. Move it elsewhere or delete it first", snapshot(why)),
        Error::Unrecorded { path, source } => format!("{path} was written, but that could not be recorded: {}. Read the file before changing it again", error(terms, source)),
        Error::TooLarge { path, bytes, max } => format!("{path}: {bytes} bytes are more than the largest file this workspace allows ({max}); raise `file_bytes`"),
        Error::Store(source) => store(source),
        Error::Session(source) => session(source),
        Error::NoSession(name) => format!("there is no session {name} in this workspace; `readproof session list` shows those there are"),
        Error::SessionName(source) => session_name(source),
        Error::Transcript(source) => transcript(source),
        Error::NoHostEntry { file, entry } => format!("{} has no entry {entry}; use the `id` of one of its lines", file.display()),
        Error::Root(source) => root(terms, source),
        Error::Pattern(source) => pattern(source),
        Error::EmptyQuery => "the query is empty; give the words to search for".to_owned(),
        Error::NotAName { query } => format!("`{query}` is not a name; mode=references takes one name, as `load`, `Store::load` or `store.load()`; for a pattern use mode=regex, for words mode=text"),
        Error::Query(source) => query(source),
        Error::Walk(source) => walk(terms, source),
        Error::LongLine { path, most } => format!("`{path}` has a line of more than {most} bytes, which is not searched{}use a tool for such files",
        if *most < LINE_BYTES { " for so large a pattern; make it simpler, or " } else { "; " }),
        Error::BadKind { kind } => {
            let kinds: Vec<&str> = SymbolKind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("`{kind}` is no kind of definition; use one of {}", kinds.join(", "))
        }
        Error::EmptySymbol => "the name of the symbol is empty; give one as `Type::method`, `Class.method` or `name`".to_owned(),
        Error::NoSymbol { target, path, near, missed } => format!("`{target}` is not defined in {}{}{}",
        path.as_deref().unwrap_or("this workspace"), did_you_mean(near), beside(missed.as_ref())),
        Error::Ambiguous { target, total, candidates } => format!("`{target}` is defined {total} times: {}; say which by what qualifies it, or by its file", places(candidates)),
        Error::Changed { path } => format!("{path} keeps changing; try again"),
        Error::OtherText { path, expected, total } => format!("{path} changed since: it is not the text {expected} any more, so these lines would not follow the earlier ones; it has {total} lines now; read it again from its beginning, or leave `of` out"),
        Error::NoLanguage { path } => format!("{path} is in no language whose symbols are known; read its lines, or search in it"),
        Error::TooHard { path } => format!("{path} takes too many steps to parse; read its lines, or search in it"),
        Error::Index { why } => format!("the index of symbols cannot be used: {}", no_index(why)),
        Error::Git(source) => git(source),
        Error::NoContent => "against=WORKTREE compares the working file with other text: give that as content, or use against=HEAD or INDEX".to_owned(),
        Error::Bytes { path, whose, why } => format!("`{path}`: {whose} is not text: {}; use `git diff --binary`", not_text(why)),
        Error::NoConversation => "nothing is known without a session; name one".to_owned(),
        Error::Denied { path, .. } => super::disk::refused(terms.name(path)),
        Error::Policy(error) => super::disk::policy(error),
        Error::ApprovalNeeded(request) => format!("{} {}: a person must approve this first; nothing was done. A person approves it with `readproof approvals approve {}`; then make the same call again", request.what, request.paths.join(", "), request.id),
        Error::NotApproved { id, what, paths } => format!("{what} {}: a person refused this (request {id}); nothing was done. Do not repeat the call; ask what to do instead", paths.join(", ")),
        Error::TooManyApprovals { waiting } => format!("{waiting} calls wait for a person's approval already, so no other can; nothing was done. `readproof approvals list` shows them"),
        Error::Undecided { id, why } => undecided(id, why),
        Error::Approvals(source) => approvals(source),
        Error::Audit(source) => audit(source),
        Error::OverBudget { why } => why.clone(),
        Error::OverLimit(over) => over_limit(*over),
        Error::Elsewhere { folder, source } => format!("in {}: {}", label(folder), error(terms, source)),
        Error::NotQuick => "the file is too large to be read quickly".to_owned(),
        Error::OtherOutcome => "the call came to another kind of outcome than it asked for, which is a fault of this program".to_owned(),
        Error::Aborted => "the call was aborted; nothing was recorded".to_owned(),
    }
}

/// Why nothing can be decided about a request.
fn undecided(id: &impl Display, why: &Undecided) -> String {
    match why {
        Undecided::Unknown => {
            format!("there is no request `{id}`; `readproof approvals list --all` shows those there are")
        }
        Undecided::Over(state) => {
            format!("nothing can be decided about {id} any more, as it {}; the next such call asks anew", over(*state))
        }
        Undecided::NoSession => {
            format!("the call of request {id} belongs to no session; approve it with --once or --always")
        }
    }
}

/// A limit on writing, and what to do about it.
fn over_limit(Over { what, asked, most }: Over) -> String {
    match what {
        Spending::Bytes => format!(
            "the call writes {asked} bytes, and one call may write {most} (`write_bytes`); nothing was changed. Write less at a time: create the file, then append to it"
        ),
        Spending::Files => format!(
            "the call changes {asked} files, and one call may change {most} (`write_files`); nothing was changed. Send several patches"
        ),
        Spending::Calls => format!(
            "this conversation has changed files {most} times, which is as often as it may (`write_calls`); nothing was changed. Ask the person how to go on"
        ),
    }
}

/// What became of a request that is over.
fn over(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Expired => "expired",
        ApprovalState::Used => "was approved and used",
        ApprovalState::Denied => "was denied",
        ApprovalState::Approved(_) => "is approved",
        ApprovalState::Waiting => "waits",
    }
}

/// Lines of a file behind a refusal, each with its number and a tab.
fn lines(shown: &[ShownLines]) -> String {
    let mut said = String::new();
    for run in shown {
        said.push_str(if said.is_empty() { ". The file has:" } else { "\n…" });
        for (number, line) in (run.first..).zip(&run.lines) {
            said.push_str(&format!("\n{number}\t{line}"));
        }
    }
    said
}

/// Why there is no stored index of symbols.
pub(crate) fn no_index(why: &NoIndex) -> String {
    match why {
        NoIndex::NoStore => "there is no store".to_owned(),
        NoIndex::Unopened(source) => error(Terms::PLAIN, source),
        NoIndex::Store(source) => store(source),
        NoIndex::Database(source) => unusable(source),
    }
}

/// Which files may define more than was found.
#[must_use]
pub fn unindexed(unindexed: &Unindexed) -> String {
    let Unindexed { files, first, sensitive } = unindexed;
    let name = |(path, large): &(String, bool)| {
        let why = if *large { "is too large" } else { "takes too many steps to parse" };
        format!("`{path}` {why}")
    };
    let mut said = Vec::new();
    if *files > 0 {
        let named: Vec<String> = first.iter().map(name).collect();
        let more = if *files > first.len() as u64 { ", …" } else { "" };
        said.push(format!("{files} not indexed: {}{more}; search in them as text", named.join(", ")));
    }
    if *sensitive > 0 {
        said.push(format!("{sensitive} not indexed, as they are sensitive"));
    }
    format!("files that may define more: {}", said.join("; "))
}

fn beside(missed: Option<&Unindexed>) -> String {
    missed.map_or_else(String::new, |missed| format!("; {}", unindexed(missed)))
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

fn places(candidates: &[Candidate]) -> String {
    let place = |candidate: &Candidate| {
        let (symbol, name) = (&candidate.symbol, candidate.symbol.qualified());
        format!("{} {name} ({}:{})", symbol.kind.as_str(), candidate.path, symbol.line)
    };
    candidates.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// What a [`HistoryError`] is in words.
fn history(terms: Terms<'_>, said: &HistoryError) -> String {
    match said {
        HistoryError::NoMoment { asked } => {
            format!("`{asked}` is no version and no checkpoint; `readproof log` lists them")
        }
        HistoryError::NoMomentName { name } => format!(
            "a checkpoint cannot be called `{name}`; use a word that is not a version number, as in before-refactoring"
        ),
        HistoryError::NotOfConversation { asked } => format!(
            "`{asked}` was not made in this session, so it cannot go back to it; leave out --conversation to restore the files alone"
        ),
        HistoryError::Unresolved { path, id } => format!(
            "{path} is in conflict {id}; resolve it first with `readproof conflicts resolve {id}`. Nothing was changed"
        ),
        HistoryError::SeveralFiles { version, paths } => {
            format!("{version} changed several files; name one of {}", paths.join(", "))
        }
        HistoryError::NotKeptThen { path, version, gap } => {
            format!("the text of {path} at {version} was not kept: {}", gap_in_words(*gap))
        }
        HistoryError::NotKept => {
            "with history = \"off\" nothing of what other programs change is kept, so there is nothing to watch"
                .to_owned()
        }
        HistoryError::NotWatched(why) => format!(
            "the files are not watched: {}; what other programs change is met at the next look instead",
            no_watch(why)
        ),
        HistoryError::LookFailed(source) => {
            format!(
                "what other programs changed could not be recorded and is looked at again later: {}",
                error(terms, source)
            )
        }
        HistoryError::MomentOfAll { asked } => {
            format!("`{asked}` is a checkpoint of all files; name the file that you want to see")
        }
        HistoryError::TooMuch { files, bytes, most: (most_files, most_bytes) } => format!(
            "this would change {files} files with {bytes} bytes, and one rewind changes at most {most_files} files with {most_bytes} bytes; name folders or files to go back in parts. Nothing was changed"
        ),
        HistoryError::NoTag { tag } => format!("`{tag}` is no tag; use test, doc, config, code or other"),
        HistoryError::Registry(source) => format!(
            "the registry of files cannot be used: {}; delete .readproof/registry.db to make a new one",
            registry(source)
        ),
    }
}
