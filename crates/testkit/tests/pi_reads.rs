//! Reads in a pi session: what is on the branch of the leaf counts, and nothing else does.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{
    decide::{Mode, Reason},
    limits::{Limits, Markers},
    path::Bearings,
    text::ContentHash,
};
use readproof_disk::Root;
use readproof_engine::{
    Answer, Engine, Error, HistoryListed, NotOurs, PiConversation, PiGiven, PiInstead, PiMeta, Reading, Settings,
    instead,
    operation::{Audience, Freshness, History, Operation, Read},
};
use readproof_testkit::ask::{Ask, WAIT};
use readproof_words::{Surface, notice::notice};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};
use tempfile::TempDir;

/// Texts here are shorter than any marker.
fn settings() -> Settings {
    let limits = Limits { markers: Markers::Always, ..Limits::default() };
    Settings { limits, ..Settings::default() }
}

const OLD: &str = "one, where it begins\ntwo\nthree, and how it goes on\nfour, with a few words\nfive, and more of them\n\
six, so that a diff\nseven, which has a head\neight, is shorter\nnine, than all of it\nten\neleven\ntwelve\n";

/// A workspace, and pi's session.
struct Pi {
    dir: TempDir,
    engine: Engine,
    talk: PiConversation,
    lines: Vec<String>,
    leaf: Option<String>,
}

impl Pi {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        fs::write(dir.path().join("f"), OLD).unwrap();
        let cwd = root.path().display().to_string();
        let bearings = Bearings { cwd: cwd.clone(), home: None };
        let engine = Engine::new(root, bearings, settings(), Box::new(|| 0)).unwrap();
        let talk = PiConversation::new(&engine);
        let mut pi = Self { dir, engine, talk, lines: Vec::new(), leaf: None };
        pi.send(&json!({ "type": "session", "version": 3, "id": "s", "cwd": cwd }));
        pi
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn send(&mut self, line: &Value) {
        self.lines.push(line.to_string());
        self.talk.push(line.to_string().as_bytes());
    }

    /// Appends an entry after the leaf; it becomes the leaf.
    fn entry(&mut self, kind: &str, more: Value) -> String {
        let id = format!("{:08x}", self.lines.len());
        let mut line = json!({ "type": kind, "id": id, "parentId": self.leaf });
        let Value::Object(more) = more else { panic!("fields") };
        line.as_object_mut().unwrap().extend(more);
        self.send(&line);
        self.leaf = Some(id.clone());
        id
    }

    /// An assistant message that calls a tool.
    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let id = format!("call_{}", self.lines.len());
        let call = json!([{ "type": "toolCall", "id": id, "name": tool, "arguments": arguments }]);
        self.entry("message", json!({ "message": { "role": "assistant", "content": call } }));
        id
    }

    fn result(&mut self, tool: &str, call: &str, text: &str, details: &Value) -> String {
        let message = json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool, "isError": false, "details": details,
            "content": [{ "type": "text", "text": text }],
        });
        self.entry("message", json!({ "message": message }))
    }

    fn ask(&mut self, read: &Read) -> Answer<PiGiven> {
        match self.engine.read_in_pi(&mut self.talk, self.leaf.as_deref(), read.clone(), WAIT).unwrap() {
            Reading::Answer(answer) => *answer,
            Reading::NotOurs(why) => panic!("left to pi: {why:?}"),
        }
    }

    fn refused(&mut self, read: &Read) -> Error {
        self.engine.read_in_pi(&mut self.talk, self.leaf.as_deref(), read.clone(), WAIT).unwrap_err()
    }

    /// One turn: the call, our answer, and its result in the session.
    fn read(&mut self, name: &str) -> Answer<PiGiven> {
        let call = self.call("read", &json!({ "path": name }));
        let answer = self.ask(&Read { path: name.to_owned(), ..Read::default() });
        self.result("read", &call, &(answer.text.clone() + &answer.given.tail), &details(&answer));
        answer
    }
}

fn details(answer: &Answer<PiGiven>) -> Value {
    let PiMeta { v1, block, block_bytes, total, lines, end, plain_bytes, moment } = answer.record().unwrap();
    json!({ "readcache": {
        "v": 1, "pathKey": v1.path_key, "scopeKey": v1.scope.to_string(), "servedHash": v1.served.to_string(),
        "baseHash": v1.base.map(|base| base.to_string()), "mode": v1.mode.as_str(), "totalLines": v1.total_lines,
        "rangeStart": v1.range_start, "rangeEnd": v1.range_end, "bytes": v1.bytes,
        "textSha": block.to_string(), "textBytes": block_bytes, "total": total, "end": end,
        "lines": lines.map(|lines| [lines.first(), lines.last()]), "plainBytes": plain_bytes,
        "moment": moment.map(|moment| moment.to_string()),
    }})
}

#[test]
fn a_file_is_read_again_after_a_change_and_after_a_compaction() {
    let mut pi = Pi::new();
    assert_eq!(pi.read("f").text, OLD);
    assert_eq!(pi.read("f").text, "[readcache: unchanged, 13 lines]");
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    let diff = pi.read("f");
    assert_eq!(diff.mode, Mode::Diff, "{:?}", diff.reason);
    assert!(diff.text.contains("\n-two\n+TWO\n"), "{}", diff.text);
    let range = Read { path: "f".to_owned(), offset: Some(3), limit: Some(2), ..Read::default() };
    assert_eq!(pi.ask(&range).text, "[readcache: unchanged in lines 3-4 of 13]");
    pi.entry("compaction", json!({ "summary": "s", "firstKeptEntryId": "0" }));
    assert_eq!(pi.read("f").mode, Mode::Full);
}

#[test]
fn only_the_branch_of_the_leaf_counts() {
    let mut pi = Pi::new();
    pi.entry("message", json!({ "message": { "role": "user", "content": "go" } }));
    let start = pi.leaf.clone();
    pi.read("f");
    let read = pi.leaf.clone();
    pi.leaf = start;
    assert_eq!(pi.read("f").mode, Mode::Full, "another branch saw nothing");
    pi.leaf = read;
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
    pi.leaf = None;
    assert_eq!(pi.read("f").mode, Mode::Full);
    pi.leaf = Some("ffffffff".to_owned());
    let answer = pi.ask(&Read { path: "f".to_owned(), ..Read::default() });
    assert_eq!((answer.mode, answer.reason), (Mode::Full, Reason::NoTranscript), "an entry that was never sent");
}

#[test]
fn nothing_counts_before_its_result_is_there_or_when_it_was_altered() {
    let mut pi = Pi::new();
    let call = pi.call("read", &json!({ "path": "f" }));
    let read = Read { path: "f".to_owned(), ..Read::default() };
    let first = pi.ask(&read);
    assert_eq!((first.mode, pi.ask(&read).mode), (Mode::Full, Mode::Full), "no credit inside a batch");
    pi.result("read", &call, &first.text[..20], &details(&first));
    assert_eq!(pi.ask(&read).mode, Mode::Full, "another extension shortened it");
    pi.read("f");
    pi.call("write", &json!({ "path": "f", "content": "x\n" }));
    assert_eq!(pi.ask(&read).mode, Mode::Full, "a write is on its way");
}

#[test]
fn programs_fresh_reads_and_hosts_that_prune_get_the_text() {
    let mut pi = Pi::new();
    pi.read("f");
    let known = Read { path: "f".to_owned(), ..Read::default() };
    let program = Read { audience: Audience::Program, ..known.clone() };
    let fresh = Read { freshness: Freshness::Fresh, ..known.clone() };
    assert_eq!((pi.ask(&program).reason, pi.ask(&fresh).reason), (Reason::ForProgram, Reason::Fresh));
    assert_eq!(pi.ask(&known).mode, Mode::Unchanged);
    pi.talk.distrust();
    assert_eq!((pi.ask(&known).text.as_str(), pi.ask(&known).reason), (OLD, Reason::HostAlters));
}

#[test]
fn a_blank_text_is_never_counted_as_seen() {
    for blank in ["", "\n", "   ", "\r\n", "\n\n\n\n", "\u{feff}\n", "\u{85}"] {
        let mut pi = Pi::new();
        fs::write(pi.path("f"), blank).unwrap();
        pi.read("f");
        let again = pi.read("f");
        assert_eq!((again.text.as_str(), again.reason), (blank, Reason::NotHeld), "{blank:?}");
        fs::write(pi.path("f"), OLD).unwrap();
        pi.read("f");
        assert_eq!(pi.read("f").mode, Mode::Unchanged);
        fs::write(pi.path("f"), blank).unwrap();
        let gone = pi.read("f");
        fs::write(pi.path("f"), OLD).unwrap();
        if !gone.mode.is_derived() {
            assert_eq!(pi.read("f").text, OLD, "{blank:?} was seen since, whatever of it");
        }
    }
    let mut pi = Pi::new();
    pi.read("f");
    let write = pi.call("write", &json!({ "path": "f", "content": "\n" }));
    pi.result("write", &write, "ok", &Value::Null);
    fs::write(pi.path("f"), "\n").unwrap();
    assert_eq!(pi.read("f").mode, Mode::Unchanged, "what the model wrote itself it sees in its call");
}

#[test]
fn what_a_program_read_is_taken_from_every_other_text() {
    let call = |path: &str| json!({ "id": "c/1", "name": "read", "arguments": { "path": path }, "status": "ok" });
    let check = |nested: Value, mode: Mode| {
        let mut pi = Pi::new();
        pi.read("f");
        let id = pi.call("codemode", &json!({ "code": "…" }));
        let message = json!({
            "role": "toolResult", "toolCallId": id, "toolName": "codemode", "isError": false, "nestedCalls": nested,
            "content": [{ "type": "text", "text": "whatever it printed" }],
        });
        pi.entry("message", json!({ "message": message }));
        assert_eq!(pi.read("f").mode, mode, "{message}");
        assert_eq!(pi.read("f").mode, Mode::Unchanged, "what the model reads itself is held again");
        let file = pi.path("session.jsonl");
        fs::write(&file, pi.lines.join("\n") + "\n").unwrap();
        pi.talk = PiConversation::open(&pi.engine, &file).unwrap();
        pi.leaf = Some(format!("{:08x}", pi.lines.len() - 5));
        assert_eq!(pi.ask(&Read { path: "f".to_owned(), ..Read::default() }).mode, mode, "the same from the file");
    };
    check(json!({ "calls": [call("f")], "complete": true }), Mode::Full);
    check(json!({ "calls": [call("./f:2-3")], "complete": true }), Mode::Full);
    check(json!({ "calls": [call("g")], "complete": true }), Mode::Unchanged);
    check(json!({ "calls": [call("g")], "complete": false }), Mode::Full);
    check(
        json!({ "calls": [{ "id": "c/1", "name": "edit", "argumentsBytes": 9000, "status": "ok" }], "complete": true }),
        Mode::Full,
    );
    check(
        json!({ "calls": [{ "id": "c/1", "name": "bash", "arguments": {}, "status": "ok" }], "complete": true }),
        Mode::Unchanged,
    );
    check(json!(7), Mode::Full);
    check(Value::Null, Mode::Unchanged);
}

#[test]
fn beside_an_answer_about_another_text_every_answer_is_plain() {
    let mut pi = Pi::new();
    pi.read("f");
    let new = OLD.replace("two", "TWO");
    let read = Read { path: "f".to_owned(), ..Read::default() };
    pi.call("read", &json!({ "path": "f" }));
    assert_eq!((pi.ask(&read).mode, pi.ask(&read).mode), (Mode::Unchanged, Mode::Unchanged));
    fs::write(pi.path("f"), &new).unwrap();
    let other = pi.ask(&read);
    assert_eq!((other.text.as_str(), other.reason), (new.as_str(), Reason::NotConfirmed));
    // An entry in between, as a refresh makes one, does not end the batch.
    pi.entry("custom", json!({ "customType": "other", "data": {} }));
    fs::write(pi.path("f"), OLD).unwrap();
    assert_eq!(pi.ask(&read).text, OLD);
    pi.call("read", &json!({ "path": "f" }));
    assert_eq!(pi.ask(&read).mode, Mode::Unchanged, "the next message has its own answers");
}

#[test]
fn beside_what_pi_shows_of_another_text_every_answer_is_plain() {
    let mut pi = Pi::new();
    pi.read("f");
    let read = Read { path: "f".to_owned(), ..Read::default() };
    pi.call("read", &json!({ "path": "f" }));
    fs::write(pi.path("f"), "GIF89a and so on\n").unwrap();
    let image = pi.engine.read_in_pi(&mut pi.talk, pi.leaf.as_deref(), read.clone(), WAIT);
    assert!(matches!(image, Ok(Reading::NotOurs(NotOurs::Image))), "{image:?}");
    fs::write(pi.path("f"), OLD).unwrap();
    let answer = pi.ask(&read);
    assert_eq!((answer.text.as_str(), answer.reason), (OLD, Reason::NotConfirmed));
}

#[test]
fn a_store_that_is_removed_in_use_is_made_again() {
    let mut pi = Pi::new();
    pi.read("f");
    fs::remove_dir_all(pi.path(".pi")).unwrap();
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    let after = pi.read("f");
    assert_eq!((after.reason, after.notices.as_slice()), (Reason::BaseMissing, [].as_slice()));
    fs::write(pi.path("f"), OLD).unwrap();
    assert_eq!(pi.read("f").mode, Mode::Diff, "the text after it was stored");
    fs::remove_dir_all(pi.path(".pi")).unwrap();
    fs::write(pi.path(".pi"), "in the way").unwrap();
    fs::write(pi.path("f"), OLD.replace("two", "2")).unwrap();
    let notices = pi.read("f").notices;
    assert!(notice(&notices[0]).contains("`.pi`") && !notice(&notices[0]).contains(".readproof"), "{notices:?}");
}

#[test]
fn texts_lie_where_pi_keeps_them() {
    let mut pi = Pi::new();
    pi.read("f");
    let store = pi.path(".pi/readcache");
    let objects: Vec<_> =
        fs::read_dir(store.join("objects")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(objects, [format!("sha256-{}.txt", ContentHash::of(OLD.as_bytes())).as_str()]);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(store.clone()), mode(store.join("objects"))), (0o700, 0o700));
    assert_eq!(mode(store.join("objects").join(&objects[0])), 0o600);
    assert_eq!(fs::read_to_string(store.join(".gitignore")).unwrap(), "*\n");
    assert!(!pi.path(".readproof").exists(), "the other store is not touched");
}

#[test]
fn a_store_that_cannot_be_made_costs_the_diff_and_not_the_text() {
    let mut pi = Pi::new();
    fs::write(pi.path(".pi"), "in the way").unwrap();
    let first = pi.read("f");
    assert_eq!(first.text, OLD);
    assert!(notice(&first.notices[0]).contains("`.pi` is not a directory"), "{:?}", first.notices);
    assert_eq!(pi.read("f").mode, Mode::Unchanged, "what was shown is held all the same");
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    let after = pi.read("f");
    assert_eq!((after.mode, after.reason), (Mode::BaselineFallback, Reason::BaseMissing));
    fs::remove_file(pi.path(".pi")).unwrap();
    pi.read("f");
    fs::write(pi.path("f"), OLD).unwrap();
    assert_eq!(pi.read("f").mode, Mode::Diff, "and made once it can be");
}

#[test]
fn a_session_file_says_the_same_as_entries_that_are_sent() {
    let mut pi = Pi::new();
    pi.read("f");
    let file = pi.path("session.jsonl");
    fs::write(&file, pi.lines.join("\n") + "\n").unwrap();
    let mut talk = PiConversation::open(&pi.engine, &file).unwrap();
    assert_eq!(talk.last(), pi.leaf);
    let read = Read { path: "f".to_owned(), ..Read::default() };
    let ask = |talk: &mut PiConversation, leaf: &str| match pi.engine.read_in_pi(talk, Some(leaf), read.clone(), WAIT) {
        Ok(Reading::Answer(answer)) => answer.mode,
        other => panic!("{other:?}"),
    };
    let leaf = talk.last().unwrap();
    assert_eq!(ask(&mut talk, &leaf), Mode::Unchanged);
    let more = json!({ "type": "compaction", "id": "c", "parentId": leaf });
    fs::write(&file, pi.lines.join("\n") + "\n" + &more.to_string() + "\n").unwrap();
    talk.follow().unwrap();
    assert_eq!((ask(&mut talk, "c"), ask(&mut talk, &leaf)), (Mode::Full, Mode::Unchanged));
}

#[test]
fn a_folder_named_through_a_link_is_the_same_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    fs::write(real.join("f"), OLD).unwrap();
    let cwd = link.display().to_string();
    let root = Root::open(&link).unwrap();
    let bearings = Bearings { cwd: cwd.clone(), home: None };
    let engine = Engine::new(root, bearings, settings(), Box::new(|| 0)).unwrap();
    let talk = PiConversation::new(&engine);
    let mut pi = Pi { dir, engine, talk, lines: Vec::new(), leaf: None };
    pi.send(&json!({ "type": "session", "version": 3, "id": "s", "cwd": cwd }));
    pi.read("f");
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
    for name in ["f".to_owned(), link.join("f").display().to_string(), real.join("f").display().to_string()] {
        let call = pi.call("write", &json!({ "path": name, "content": "of its own\n" }));
        pi.result("write", &call, "ok", &Value::Null);
        assert_eq!(pi.read("f").mode, Mode::BaselineFallback, "the newest text is its own, whatever the file is again");
        assert_eq!(pi.read("f").mode, Mode::Unchanged);
    }
}

#[test]
fn a_session_of_another_folder_proves_nothing() {
    let mut pi = Pi::new();
    pi.talk = PiConversation::new(&pi.engine);
    pi.send(&json!({ "type": "session", "version": 3, "id": "s", "cwd": "/elsewhere" }));
    pi.read("f");
    assert_eq!(pi.ask(&Read { path: "f".to_owned(), ..Read::default() }).reason, Reason::NoTranscript);
}

#[test]
fn what_pi_does_otherwise_is_left_to_pi() {
    let mut pi = Pi::new();
    fs::write(pi.path(".env"), "SECRET=1\n").unwrap();
    fs::write(pi.path("a.gif"), "GIF89a and so on\n").unwrap();
    fs::write(pi.path("bytes"), b"\xff\xfe").unwrap();
    fs::write(pi.path("@odd"), "x\n").unwrap();
    let mut own = |path: &str, offset| {
        let read = Read { path: path.to_owned(), offset, ..Read::default() };
        match pi.engine.read_in_pi(&mut pi.talk, None, read.clone(), WAIT) {
            Ok(Reading::NotOurs(_)) => "own".to_owned(),
            Ok(Reading::Answer(answer)) => answer.text,
            Err(error) => match instead(&error, &read) {
                PiInstead::PiRead => "own".to_owned(),
                PiInstead::Nothing => "end".to_owned(),
                PiInstead::Error => Surface::Cli.error(&error),
            },
        }
    };
    for path in [".env", "a.gif", "bytes", "@odd", "missing", ".", "/etc/hostname", "file:///a%20b", ""] {
        assert_eq!(own(path, None), "own", "{path}");
    }
    assert_eq!(own("f", Some(14)), "own", "pi has the words for it");
    assert_eq!((own("f", Some(13)).as_str(), own("f:13", None).as_str()), ("own", "end"), "the line behind the last");
    assert_eq!(own("f:13-20", None), "end");
    assert!(own("f:14", None).contains("beyond"), "{}", own("f:14", None));
    assert_eq!(own("@f:2-2", None), "two");
    assert!(own("f:3-2", None).contains("reversed"));
    assert!(pi.path(".pi/readcache/objects").read_dir().unwrap().count() == 1, "only of f");
}

#[test]
fn own_changes_in_a_row_need_no_stored_text() {
    let mut pi = Pi::new();
    let mut text = "one\ntwo\nthree\n".to_owned();
    let write = pi.call("write", &json!({ "path": "n", "content": text }));
    pi.result("write", &write, "ok", &Value::Null);
    for (old, new) in [("one", "1"), ("two", "2\n2"), ("three", "drei")] {
        let edit = pi.call("edit", &json!({ "path": "n", "edits": [{ "oldText": old, "newText": new }] }));
        pi.result("edit", &edit, "ok", &Value::Null);
        text = text.replace(old, new);
    }
    fs::write(pi.path("n"), &text).unwrap();
    assert_eq!(pi.read("n").text, "[readcache: unchanged, 5 lines]");
    let edit = pi.call("edit", &json!({ "path": "n", "edits": [{ "oldText": "2", "newText": "x" }] }));
    pi.result("edit", &edit, "ok", &Value::Null);
    assert_eq!(pi.read("n").mode, Mode::Full, "which of the two was meant cannot be told");
}

#[test]
fn a_result_that_says_nothing_of_itself_is_the_newest_text_all_the_same() {
    for content in [json!({ "content": [{ "type": "text", "text": "other" }] }), json!({ "content": [] }), json!({})] {
        let mut pi = Pi::new();
        pi.read("f");
        let call = pi.call("read", &json!({ "path": "f" }));
        let mut message = json!({ "role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false });
        message.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        pi.entry("message", json!({ "message": message }));
        assert_eq!(pi.read("f").mode, Mode::Full, "{content}");
    }
}

/// Reads a range as `f:2-4`, or otherwise, and puts the result into the session with these details.
fn read_range(pi: &mut Pi, path: &str, with_details: bool) -> Answer<PiGiven> {
    let call = pi.call("read", &json!({ "path": path }));
    let answer = pi.ask(&Read { path: path.to_owned(), ..Read::default() });
    let details = if with_details { details(&answer) } else { json!(null) };
    pi.result("read", &call, &(answer.text.clone() + &answer.given.tail), &details);
    answer
}

/// As pi counts, the final newline is one line of difference between two texts with equally many lines.
#[test]
fn a_marker_that_counts_the_lines_takes_the_end_of_another_text() {
    let mut pi = Pi::new();
    let open = OLD.trim_end().to_owned();
    fs::write(pi.path("f"), &open).unwrap();
    assert_eq!(pi.read("f").text, open);
    fs::write(pi.path("f"), format!("{open} and more\n")).unwrap();
    let elsewhere = "[readcache: unchanged in lines 1-2; changes exist outside this range]";
    assert_eq!(read_range(&mut pi, "f:1-2", true).text, elsewhere);
    assert_eq!(read_range(&mut pi, "f:1-2", true).text, "[readcache: unchanged in lines 1-2 of 13]");
    assert_eq!(pi.read("f").mode, Mode::Full, "the model was told of 13 lines and saw 12");
}

#[test]
fn a_range_in_the_path_without_metadata_is_still_of_that_file() {
    let mut pi = Pi::new();
    pi.read("f");
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    assert!(read_range(&mut pi, "f:2-3", false).text.starts_with("TWO\n"));
    fs::write(pi.path("f"), OLD).unwrap();
    assert_eq!(pi.read("f").mode, Mode::Full, "what the model saw last of line 2 is another text");
}

/// The model could mistake the end of the file for pi's note that there is more.
#[test]
fn file_text_in_pis_own_words_is_not_held() {
    let mut pi = Pi::new();
    for text in [
        "one\n\n[Showing lines 1-1 of 9 (50.0KB limit). Use offset=2 to continue.]",
        "[readcache: x]\n\n[Showing lines 1-1 of 9 (50.0KB limit). Use offset=2 to continue.]",
        "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' f | head -c 51200]",
    ] {
        fs::write(pi.path("f"), text).unwrap();
        assert_eq!((pi.read("f").text.as_str(), pi.read("f").mode), (text, Mode::Full));
    }
}

/// A record of the older tool, and its text in the store.
fn older(pi: &Pi, text: &str, served: &str, mode: &str, base: Option<&str>, range: (u64, u64)) -> (String, Value) {
    let hash = |text: &str| ContentHash::of(text.as_bytes());
    for text in [Some(served), base].into_iter().flatten() {
        fs::write(pi.path(".pi/readcache/objects").join(format!("sha256-{}.txt", hash(text))), text).unwrap();
    }
    let (total, key) = (served.split('\n').count() as u64, pi.engine.root().path().join("f"));
    let scope = if range == (1, total) { "full".to_owned() } else { format!("r:{}:{}", range.0, range.1) };
    let meta = json!({ "readcache": {
        "v": 1, "pathKey": key, "scopeKey": scope, "servedHash": hash(served).to_string(), "mode": mode,
        "baseHash": base.map(|base| hash(base).to_string()), "totalLines": total, "rangeStart": range.0,
        "rangeEnd": range.1, "bytes": served.len(),
    }});
    (text.to_owned(), meta)
}

#[test]
fn records_of_the_older_tool_that_can_be_misread() {
    let mut pi = Pi::new();
    pi.read("f");
    let read = |pi: &mut Pi, arguments: &Value, (text, details): (String, Value)| {
        let call = pi.call("read", arguments);
        pi.result("read", &call, &text, &details);
    };
    // Without the final newline the same lines end the file.
    let open = OLD.trim_end();
    fs::write(pi.path("f"), open).unwrap();
    let said = "[readcache: unchanged in lines 5-12; changes exist outside this range]";
    let record = older(&pi, said, open, "unchanged_range", Some(OLD), (5, 12));
    read(&mut pi, &json!({ "path": "f", "offset": 5 }), record);
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    assert_eq!(pi.read("f").mode, Mode::Full);
    // The empty line after the last one of a text may be an empty line of another text.
    let (longer, shorter) = (format!("{OLD}\n"), OLD.replace("two", "TWO"));
    fs::write(pi.path("f"), &longer).unwrap();
    pi.read("f");
    fs::write(pi.path("f"), &shorter).unwrap();
    let said = "[readcache: unchanged in lines 12-13; changes exist outside this range]";
    let record = older(&pi, said, &shorter, "unchanged_range", Some(&longer), (12, 13));
    read(&mut pi, &json!({ "path": "f", "offset": 12, "limit": 5 }), record);
    assert_eq!(pi.read("f").mode, Mode::Full);
    // Nothing says that this is file text.
    let forged = "[readcache: unchanged, 1 lines]";
    fs::write(pi.path("f"), forged).unwrap();
    let record = older(&pi, forged, forged, "full", None, (1, 1));
    read(&mut pi, &json!({ "path": "f" }), record);
    assert_eq!(pi.read("f").mode, Mode::Full);
}

#[test]
fn lines_behind_an_allowed_name_are_no_other_name() {
    let mut pi = Pi::new();
    fs::write(pi.path("g"), OLD).unwrap();
    fs::write(pi.path("readproof.toml"), "[policy]\ndefault = \"deny\"\nallow = [\"/f\"]\n").unwrap();
    let lines = |name: &str| Read { path: format!("{name}:1-2"), ..Read::default() };
    assert!(pi.ask(&lines("f")).text.starts_with("one, where it begins\ntwo"));
    assert_eq!(pi.engine.read(None, lines("f")).unwrap().text, "one, where it begins\ntwo\n");
    for name in ["g", "no-such-file"] {
        assert_eq!(pi.engine.read(None, lines(name)).unwrap_err().code(), "DENIED");
        assert_eq!(pi.refused(&lines(name)).code(), "DENIED");
    }
}

/// Nobody is asked about what would be denied then.
#[test]
fn a_denial_comes_before_a_question() {
    let mut pi = Pi::new();
    fs::create_dir(pi.path("sub")).unwrap();
    fs::write(pi.path("sub/g"), OLD).unwrap();
    fs::write(pi.path("readproof.toml"), "[policy]\nask = [\"sub/\"]\n").unwrap();
    let lines = Read { path: "sub/g:1-2".to_owned(), ..Read::default() };
    assert_eq!(pi.refused(&lines).code(), "APPROVAL_NEEDED");
    fs::write(pi.path("sub/.aiignore"), "/g\n").unwrap();
    assert_eq!(pi.refused(&lines).code(), "DENIED");
}

/// An entry that notes the present moment, after a look at all files, as the extension appends it.
fn note_moment(pi: &mut Pi) {
    look(pi);
    let moment = pi.talk.moment(&pi.engine).unwrap().to_string();
    pi.entry("custom", json!({ "customType": "pi-readcache", "data": { "v": 1, "kind": "moment", "moment": moment } }));
}

/// Someone looks at all files, as the watch does.
fn look(pi: &Pi) {
    let asked = History { path: None, limit: Some(0) };
    let _: HistoryListed = pi.engine.ask(None, Operation::History(asked)).unwrap();
}

/// The file has another text for a while, which someone meets and the model may see by a shell.
fn visits(pi: &Pi, text: &str) {
    let before = fs::read_to_string(pi.path("f")).unwrap();
    fs::write(pi.path("f"), text).unwrap();
    look(pi);
    fs::write(pi.path("f"), before).unwrap();
}

/// pi's own edit of the file.
fn edit(pi: &mut Pi, old: &str, new: &str) {
    let call = pi.call("edit", &json!({ "path": "f", "edits": [{ "oldText": old, "newText": new }] }));
    let text = fs::read_to_string(pi.path("f")).unwrap();
    fs::write(pi.path("f"), text.replacen(old, new, 1)).unwrap();
    pi.result("edit", &call, "Successfully replaced", &json!({}));
}

#[test]
fn a_third_text_that_was_met_makes_the_next_read_plain() {
    let mut pi = Pi::new();
    assert_eq!(pi.read("f").mode, Mode::Full);
    // Nobody met it, so nobody can know.
    fs::write(pi.path("f"), "short\n").unwrap();
    fs::write(pi.path("f"), OLD).unwrap();
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
    visits(&pi, "short\n");
    assert_eq!(pi.read("f").text, OLD);
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
    // What is there now is no third text.
    look(&pi);
    fs::write(pi.path("f"), OLD.replace("two", "TWO")).unwrap();
    look(&pi);
    assert_eq!(pi.read("f").mode, Mode::Diff);
    visits(&pi, "short\n");
    pi.engine = fresh_engine(&pi);
    assert_eq!(pi.read("f").mode, Mode::Full, "after a restart too");
}

fn fresh_engine(pi: &Pi) -> Engine {
    let root = Root::open(pi.dir.path()).unwrap();
    let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
    Engine::new(root, bearings, settings(), Box::new(|| 0)).unwrap()
}

#[test]
fn only_the_lines_that_were_overtaken_are_sent_again() {
    let mut pi = Pi::new();
    let part = |pi: &mut Pi, offset, limit| {
        let call = pi.call("read", &json!({ "path": "f", "offset": offset, "limit": limit }));
        let read = Read { path: "f".to_owned(), offset: Some(offset), limit: Some(limit), ..Read::default() };
        let answer = pi.ask(&read);
        pi.result("read", &call, &(answer.text.clone() + &answer.given.tail), &details(&answer));
        answer.mode
    };
    assert_eq!(part(&mut pi, 1, 4), Mode::Full);
    visits(&pi, "short\n");
    assert_eq!(part(&mut pi, 6, 4), Mode::Full);
    assert_eq!(part(&mut pi, 6, 4), Mode::UnchangedRange, "shown after the third text");
    assert_eq!(part(&mut pi, 1, 4), Mode::Full, "shown before it");
    assert_eq!(part(&mut pi, 1, 4), Mode::UnchangedRange);
}

#[test]
fn own_changes_that_were_met_and_noted_are_no_third_texts() {
    let mut pi = Pi::new();
    look(&pi);
    pi.read("f");
    for (old, new) in [("two", "TWO"), ("ten", "TEN"), ("four", "FOUR")] {
        edit(&mut pi, old, new);
        note_moment(&mut pi);
    }
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
    // An edit does not bring back what was overtaken before it.
    visits(&pi, "short\n");
    note_moment(&mut pi);
    edit(&mut pi, "five", "FIVE");
    assert_eq!(pi.read("f").mode, Mode::Full);
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
}

#[test]
fn a_moment_noted_before_the_first_change_tells_what_was_before_it() {
    let mut pi = Pi::new();
    // There is no log yet.
    pi.read("f");
    for (old, new) in [("two", "TWO"), ("ten", "TEN")] {
        let call = pi.call("edit", &json!({ "path": "f", "edits": [{ "oldText": old, "newText": new }] }));
        if old == "two" {
            note_moment(&mut pi);
        }
        let text = fs::read_to_string(pi.path("f")).unwrap();
        fs::write(pi.path("f"), text.replacen(old, new, 1)).unwrap();
        pi.result("edit", &call, "Successfully replaced", &json!({}));
        note_moment(&mut pi);
    }
    assert_eq!(pi.read("f").mode, Mode::Unchanged);
}

#[test]
fn a_number_noted_beside_a_change_is_not_from_before_it() {
    let mut pi = Pi::new();
    fs::write(pi.path("g"), OLD).unwrap();
    look(&pi);
    pi.read("f");
    // One message: the model writes a file, a shell shows another text of it, and a second file is read.
    let content = OLD.replace("two", "TWO");
    let parts = json!([
        { "type": "toolCall", "id": "w", "name": "write", "arguments": { "path": "f", "content": content } },
        { "type": "toolCall", "id": "r", "name": "read", "arguments": { "path": "g" } },
    ]);
    pi.entry("message", json!({ "message": { "role": "assistant", "content": parts } }));
    fs::write(pi.path("f"), &content).unwrap();
    visits(&pi, "short\n");
    let answer = pi.ask(&Read { path: "g".to_owned(), ..Read::default() });
    pi.result("read", "r", &(answer.text.clone() + &answer.given.tail), &details(&answer));
    pi.result("write", "w", "Successfully wrote", &json!({}));
    assert_eq!(pi.read("f").mode, Mode::Full);
}

#[test]
fn a_moment_of_another_log_tells_nothing() {
    let mut pi = Pi::new();
    for _ in 0..3 {
        visits(&pi, "short\n");
    }
    let moment = pi.talk.moment(&pi.engine).unwrap().to_string();
    assert!(pi.talk.version_of(&pi.engine, &moment).is_some());
    pi.read("f");
    fs::remove_dir_all(pi.path(".readproof")).unwrap();
    pi.engine = fresh_engine(&pi);
    visits(&pi, "short\n");
    assert_eq!(pi.read("f").mode, Mode::Full, "numbers of the new log are smaller");
    assert_eq!(pi.talk.version_of(&pi.engine, &moment), None);
}
