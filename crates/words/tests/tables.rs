//! What the tables say, word for word, and what differs from surface to surface.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use readproof_core::{
    edit::EditError,
    policy::{Act, Layer, Rule},
    scope::ScopeError,
    text::NotText,
};
use readproof_disk::{
    BadPattern, Conflicting, LocateError, LogError, LogName, Present, ReplaceAllError, ReplaceError, RootError,
    SessionName, SnapshotError, StoreError,
};
use readproof_engine::{ApprovalRequest, ApprovalState, Error, LogAfter, Notice, ShownLines, ShownText, Undecided};
use readproof_index::{BadQuery, BadWalk};
use readproof_words::{Surface, Terms, ToolTerms, core, disk, index, notice, stores};
use std::sync::Arc;

const TOOL: ToolTerms<'static> = ToolTerms { root: "/work/space", asked: "../far", start_line: true };

fn log() -> LogName {
    LogName::from(&SessionName::parse("s").unwrap())
}

#[test]
fn errors_of_the_other_rooms() {
    let name = || "f".to_owned();
    let check = |said: String, expected: &str| assert_eq!(said, expected);
    let missing = RootError::Missing { path: "/w/none".into() };
    check(disk::root(Terms::PLAIN, &missing), "the directory `/w/none` does not exist; give an existing one");
    check(
        disk::snapshot(&SnapshotError::TooLarge { name: name(), len: 4010, max: 10 }),
        "`f` has 4010 bytes, more than the 10 that are read; search in it or raise the limit",
    );
    check(
        disk::snapshot(&SnapshotError::NotText { name: name(), why: NotText::Nul(3) }),
        "`f` is not text: it holds a NUL byte at offset 3, so it is binary; use a tool for binary files",
    );
    check(
        disk::pattern(&BadPattern { pattern: "a[".to_owned(), reason: "unclosed".to_owned() }),
        "the sensitive pattern `a[` is not a valid glob: unclosed; correct it or leave it out",
    );
    assert!(disk::replace(&ReplaceError::Changed { name: name() }).contains("changed or removed by another program"));
    assert!(disk::replace(&ReplaceError::Busy { name: name() }).ends_with("; try again"));
    assert!(
        disk::replace(&ReplaceError::InTheWay { name: name() }).starts_with("beside `f` stands a `.readproof-turn`")
    );
    let step = |unrestored| ReplaceAllError::Step {
        source: ReplaceError::Busy { name: name() },
        left: vec![Conflicting { path: "g".into(), before: None, after: None, present: Present::Other }],
        unrestored,
    };
    check(
        disk::replace_all(&step(None)),
        "another program is writing in the folder of `f` and has not finished; try again; meanwhile another program \
         changed `g`, which stays as it is now; the other files of the change are as they were",
    );
    assert!(
        disk::replace_all(&step(Some(ReplaceError::Full { name: name() }))).contains("the next call tries again: ")
    );
    let journal = ReplaceAllError::Journal(StoreError::Full { name: ".readproof/journal".to_owned() });
    assert!(disk::replace_all(&journal).contains("nothing was written: there is no space left"));
    check(
        index::query(&BadQuery { query: "(".to_owned(), why: "unclosed group".to_owned() }),
        "`(` cannot be searched for: unclosed group; correct it, or search for it as plain text",
    );
    check(
        index::walk(Terms::PLAIN, &BadWalk::Glob { glob: "a[".to_owned(), why: "unclosed".to_owned() }),
        "`a[` is not a valid glob: unclosed; use one like `*.rs` or `src/**`",
    );
    let ignore = BadWalk::IgnoreFile { name: ".ignore".to_owned() };
    assert!(index::walk(Terms::PLAIN, &ignore).starts_with("`.ignore` is not a regular file of at most 131072 bytes"));
    check(
        stores::log(&LogError::Damaged { log: log(), line: 4 }),
        "the log of session `s` is damaged at line 4 (`.readproof/log/s.log`); the next read with it keeps the log as \
         evidence and begins anew",
    );
    check(
        stores::log(&LogError::Damaged { log: LogName::Versions, line: 4 }),
        "the log of the workspace's versions is damaged at line 4 (`.readproof/log/versions`); the next edit keeps the \
         log as evidence and begins anew",
    );
    assert!(stores::log(&LogError::NotOurs { log: log(), uid: 12345 }).contains("belongs to user 12345"));
    check(
        stores::store(&StoreError::NotPrivate { name: ".readproof".to_owned(), mode: 0o755 }),
        "`.readproof` can be used by others (mode 0755), so nothing in it is trusted; if it is yours, run \
         `chmod -R go= .readproof`, else delete it",
    );
    let busy = StoreError::Busy { name: ".readproof/objects/small-5".to_owned() };
    check(stores::store(&busy), "`.readproof/objects/small-5` is kept locked by another process; try again");
    let bad = "a/b".parse::<SessionName>().unwrap_err();
    assert!(stores::session_name(&bad).starts_with("`a/b` is not a valid session name; use 1 to 64"));
    let full = StoreError::Full { name: ".pi/readcache/objects/a".to_owned() };
    check(
        stores::store(&full),
        "there is no space left for `.pi/readcache/objects/a`; free some or delete `.pi/readcache`",
    );
}

#[test]
fn lines_are_called_as_the_tool_calls_them() {
    let beyond = |source| Error::Range { path: "offset.txt".to_owned(), source };
    let error = beyond(ScopeError::BeyondEnd { offset: 6, total: 5 });
    let plain = "offset.txt: offset 6 is beyond the end of the file (5 lines total); use an offset of at most 5";
    assert_eq!(Surface::Cli.error(&error), plain);
    assert_eq!(Surface::Mcp(ToolTerms { start_line: false, ..TOOL }).error(&error), plain);
    assert_eq!(
        Surface::Mcp(TOOL).error(&error),
        "offset.txt: start_line 6 is beyond the end of the file (5 lines total); use a start_line of at most 5"
    );
    assert_eq!(Surface::Pi.error(&error), "Offset 6 is beyond end of file (5 lines total)");
    let zero = |what| Surface::Mcp(TOOL).error(&beyond(ScopeError::Zero { what }));
    assert!(zero("offset").starts_with("offset.txt: start_line 0 is not valid"));
    assert!(zero("limit").starts_with("offset.txt: limit 0 is not valid"));
    assert_eq!(
        core::scope(Terms::PLAIN, &ScopeError::BeyondEnd { offset: 2, total: 0 }).matches("at most 1").count(),
        1
    );
}

#[test]
fn a_tool_names_the_workspace_only_to_say_what_is_outside() {
    let missing = |asked: &str| LocateError::Missing { asked: asked.to_owned() };
    let check = |error: &Error, cli: &str, tool: &str| {
        assert!(Surface::Cli.error(error).starts_with(cli), "{}", Surface::Cli.error(error));
        assert_eq!(Surface::Mcp(TOOL).error(error), tool);
    };
    check(
        &Error::Missing { source: missing("/work/space/a/b"), near: vec!["c".to_owned()] },
        "`/work/space/a/b` does not exist",
        "`a/b` does not exist; check the name or list the folder; did you mean c?",
    );
    check(
        &Error::Locate(missing("/work/space")),
        "`/work/space` does not exist",
        "`.` does not exist; check the name or list the folder",
    );
    check(
        &Error::Locate(missing("/work/spaces/a")),
        "`/work/spaces/a` does",
        "`/work/spaces/a` does not exist; check the name or list the folder",
    );
    check(
        &Error::Locate(LocateError::Outside { asked: "/work/far".to_owned(), root: "/work/space".to_owned() }),
        "`/work/far` lies outside the workspace `/work/space`; only names inside it can be used",
        "`../far` lies outside the workspace `/work/space`; only names inside it can be used",
    );
    check(
        &Error::BackThroughLink { path: "/work/space/l/../f".to_owned() },
        "`/work/space/l/../f` goes back by `..`",
        "`l/../f` goes back by `..` out of a symbolic link; name the file without that",
    );
}

#[test]
fn a_tool_says_what_takes_large_files_and_stays_on_a_line() {
    let large = Error::TooLarge { path: "a\nb".to_owned(), bytes: 2, max: 1 };
    assert_eq!(
        Surface::Mcp(TOOL).error(&large),
        "a\\nb: 2 bytes are more than the largest file this workspace allows (1); raise `file_bytes`; read_file_head, \
         read_file_tail and search_in_file take a file of any size"
    );
    assert!(Surface::Cli.error(&large).starts_with("a\\nb: 2 bytes"));
    let query = Error::Query(BadQuery { query: "(".to_owned(), why: "a\nb".to_owned() });
    assert_eq!(Surface::Mcp(TOOL).error(&query).lines().count(), 2);
    assert_eq!(Surface::Pi.error(&Error::Aborted), "Operation aborted");
}

#[test]
fn an_error_within_another() {
    let source = Box::new(Error::Session(LogError::Full { log: log() }.into()));
    assert_eq!(
        Surface::Cli.error(&Error::Unrecorded { path: "f".to_owned(), source }),
        "f was written, but that could not be recorded: there is no space left for the log of session `s`; free some and \
         try again. Read the file before changing it again"
    );
    assert_eq!(
        Surface::Cli.error(&Error::Edit {
            path: "f".to_owned(),
            source: Box::new(EditError::Many { piece: 0, count: 2, places: vec![1, 4] }),
            shown: vec![ShownLines { first: 1, lines: vec!["a".to_owned()] }],
            of: 1,
        }),
        "f: the old text occurs 2 times, at lines 1, 4; add lines around the one that is meant until it is the only one, or say \
         --all to change every one; nothing was changed. The file has:\n1\ta"
    );
}

/// The text of a rule can name what is denied, so no model gets it.
#[test]
fn what_waits_for_a_person() {
    let rule = Rule {
        layer: Layer::User,
        file: "/u/config.toml".into(),
        line: 3,
        text: "secret-name/**".into(),
        reason: Some("secret-name".to_owned()),
    };
    let request = ApprovalRequest {
        id: "0a1b2c-7".to_owned(),
        what: "delete",
        act: Act::Delete,
        paths: vec!["a".to_owned(), "b".to_owned()],
        diff: Some("-secret-name".to_owned()),
        expires_at: 0,
        rule,
    };
    let needed = Error::ApprovalNeeded(Box::new(request));
    let expected = "delete a, b: a person must approve this first; nothing was done. A person approves it with `readproof \
                    approvals approve 0a1b2c-7`; then make the same call again";
    for surface in [Surface::Cli, Surface::Mcp(TOOL), Surface::Pi] {
        assert_eq!(surface.error(&needed), expected);
    }
    let (id, paths) = ("0a1b2c-7".to_owned(), vec!["a".to_owned()]);
    assert_eq!(
        Surface::Cli.error(&Error::NotApproved { id, what: "delete", paths }),
        "delete a: a person refused this (request 0a1b2c-7); nothing was done. Do not repeat the call; ask what to do instead"
    );
    let over = Error::Undecided { id: "0a1b2c-7".to_owned(), why: Undecided::Over(ApprovalState::Expired) };
    assert!(Surface::Cli.error(&over).contains("any more, as it expired; the next such call asks anew"));
}

#[test]
fn notices() {
    let why = || Arc::new(StoreError::Gone { name: ".readproof".to_owned() });
    assert_eq!(
        notice::notice(&Notice::NotStored { text: ShownText::Earlier, why: why() }),
        "an earlier text was not stored, so a later change is sent as plain text: `.readproof` was removed while in use; \
         open the store again"
    );
    let session = SessionName::parse("s").unwrap();
    let after = LogAfter::InTheWay { session, why: Arc::new(LogError::Denied { log: log() }) };
    assert_eq!(
        notice::notice(&Notice::NotRemembered { why: Arc::new(Error::NoConversation), log: after }),
        "nothing is remembered of this answer: nothing is known without a session; name one; use another session than s, as \
         its log cannot be put aside (this user may not use `.readproof/log/s.log`; change its permissions)"
    );
}
