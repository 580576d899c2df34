//! Each rule of what a pi transcript shows, as a short conversation.

use readproof_core::text::Text;
use readproof_hosts::pi::Pushed;
use serde_json::{Value, json};

use crate::session::{HEADER, Session, extras, meta, ranged};

const ABC: &str = "a\nb\nc\n";

fn text(text: &str) -> Text {
    Text::new(text.to_owned())
}

#[test]
fn a_whole_read_is_held_to_its_end() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.read("open.txt", "a\nb");
    assert_eq!(s.held("/w/open.txt"), "1-2$");
}

#[test]
fn a_blank_read_is_not_held_and_ends_what_was() {
    for blank in ["", "\n", "  ", "\r\n", "\n\n\n", "\u{feff}\n", "\u{85}\n"] {
        let mut s = Session::new();
        s.read("a.txt", ABC);
        s.read("a.txt", blank);
        assert_eq!(s.held("/w/a.txt"), "", "{blank:?}");
    }
}

#[test]
fn an_old_record_counts_only_as_far_as_the_block_agrees_with_the_object() {
    let served = text("1\n2\n3\n4\n5\n");
    let check = |block: &str, arguments: Value, meta: Value, held: &str| {
        let mut s = Session::new();
        s.read("a.txt", "old\n");
        s.store(served.as_str());
        s.answer(arguments, block, meta);
        assert_eq!(s.held("/w/a.txt"), held, "{block:?}");
    };
    let all = || json!({"path": "a.txt"});
    let full = || meta("a.txt", &served, "full", None);
    check(served.as_str(), all(), full(), "1-5$");
    check("1\n2\n\n[Showing lines 1-2 of 6. Use offset=3 to continue.]", all(), full(), "1-2");
    check("1\n2\n\n[Showing lines 1-2 of 6 (50.0KB limit). Use offset=3 to continue.]", all(), full(), "1-2");
    check("1\n2\n\n[Showing lines 1-3 of 6. Use offset=4 to continue.]", all(), full(), "");
    check("1\n2\n3\n4\n5\n\n[Showing lines 1-5 of 6. Use offset=6 to continue.]", all(), full(), "1-5");
    check("1\n2\n3\n4\n5\n\n\n[1 more lines in file. Use offset=6 to continue.]", all(), full(), "");
    check("1\n2\n", all(), full(), "");
    check("1\nX\n3\n4\n5\n", all(), full(), "");
    check("1\n2\n3\n4\n5\nmore", all(), full(), "");
    check("[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' a.txt | head -c 51200]", all(), full(), "");
    let lines = |from: u64, limit: u64| json!({"path": "a.txt", "offset": from, "limit": limit});
    let part = |first, last| ranged(full(), first, last);
    let more = "2\n3\n\n[3 more lines in file. Use offset=4 to continue.]";
    check(more, lines(2, 2), part(2, 3), "2-3");
    check(more, lines(2, 1), part(2, 3), "");
    check(more, lines(3, 2), part(2, 3), "");
    check("4\n5\n", json!({"path": "a.txt", "offset": 4}), part(4, 6), "4-5$");
    check("4\n5\n", lines(4, 3), part(4, 6), "4-5$");
    check("4\n5\n", lines(4, 2), part(4, 5), "");
    check("4\n5\n\n[1 more lines in file. Use offset=6 to continue.]", lines(4, 2), part(4, 5), "4-5");
    check("4\n5\n[1 more lines in file. Use offset=6 to continue.]", lines(4, 2), part(4, 5), "");
    check("", json!({"path": "a.txt", "offset": 6}), part(6, 6), "");
}

#[test]
fn pis_notice_tells_that_the_last_line_shown_has_an_end() {
    let mut s = Session::new();
    let served = s.store("1\n2\n");
    let shown = "1\n2\n\n[1 more lines in file. Use offset=3 to continue.]";
    s.answer(json!({"path": "a.txt", "limit": 2}), shown, ranged(meta("a.txt", &served, "full", None), 1, 2));
    assert_eq!(s.held("/w/a.txt"), "1-2");
}

#[test]
fn an_old_record_without_its_object_voids() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    let other = text("x\n");
    s.answer(json!({"path": "a.txt"}), "x\n", meta("a.txt", &other, "full", None));
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn our_own_record_needs_no_object_but_its_very_block() {
    let now = text("1\n2\n3\n4\n");
    let full = || meta("a.txt", &now, "full", None);
    let check = |block: &str, arguments: Value, meta: Value, held: &str| {
        let mut s = Session::new();
        s.answer(arguments, block, meta);
        assert_eq!(s.held("/w/a.txt"), held, "{block:?}");
    };
    let all = || json!({"path": "/w/./a.txt"});
    check(now.as_str(), all(), extras(full(), now.as_str(), 4, Some((1, 4)), true), "1-4$");
    check("1\n2\n3\n", all(), extras(full(), now.as_str(), 4, Some((1, 4)), true), "");
    check("1\n2\n3\n5\n", all(), extras(full(), now.as_str(), 4, Some((1, 4)), true), "");
    check(now.as_str(), all(), extras(full(), now.as_str(), 9, Some((1, 4)), false), "");
    check(now.as_str(), all(), extras(full(), now.as_str(), 4, Some((1, 5)), false), "");
    check("1\n2\n", all(), extras(full(), "1\n2\n", 4, Some((1, 2)), true), "");
    let range = || ranged(full(), 2, 3);
    let shown = "2\n3\n\n[2 more lines in file. Use offset=4 to continue.]";
    let asked = json!({"path": "a.txt", "offset": 2, "limit": 2});
    check(shown, asked.clone(), extras(range(), shown, 4, Some((2, 3)), false), "2-3");
    check(shown, asked, extras(range(), shown, 4, Some((1, 3)), false), "");
    check(shown, json!({"path": "a.txt:2-3"}), extras(range(), shown, 4, Some((2, 3)), false), "2-3");
    check(shown, json!({"path": "a.txt:3"}), extras(range(), shown, 4, Some((2, 3)), false), "");
    check(shown, json!({"path": "a.txt"}), extras(range(), shown, 4, Some((2, 3)), false), "");
    let mut broken = extras(full(), now.as_str(), 4, Some((1, 4)), true);
    broken["textBytes"] = json!("8");
    check(now.as_str(), all(), broken, "");
}

#[test]
fn markers_need_what_they_rely_on() {
    let mut s = Session::new();
    let abc = text(ABC);
    let all = || json!({"path": "a.txt"});
    let unchanged = |path| meta(path, &text(ABC), "unchanged", Some(&text(ABC)));
    s.read("a.txt", ABC);
    s.answer(all(), "[readcache: unchanged, 4 lines]", unchanged("a.txt"));
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.answer(json!({"path": "b.txt"}), "[readcache: unchanged, 4 lines]", unchanged("b.txt"));
    assert_eq!(s.held("/w/b.txt"), "");
    let range = |first, last| ranged(meta("a.txt", &abc, "unchanged_range", Some(&abc)), first, last);
    s.answer(all(), "[readcache: unchanged in lines 2-4 of 4]", range(2, 4));
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.answer(all(), "[readcache: unchanged in lines 2-3 of 5]", range(2, 3));
    assert_eq!(s.held("/w/a.txt"), "", "another marker than the record says");
}

#[test]
fn a_marker_for_the_whole_needs_the_end() {
    let mut s = Session::new();
    let abc = s.store(ABC);
    let all = || json!({"path": "a.txt"});
    let cut = "a\nb\nc\n\n[Showing lines 1-3 of 4. Use offset=4 to continue.]";
    s.answer(all(), cut, meta("a.txt", &abc, "full", None));
    assert_eq!(s.held("/w/a.txt"), "1-3");
    s.answer(all(), "[readcache: unchanged, 4 lines]", meta("a.txt", &abc, "unchanged", Some(&abc)));
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn a_range_may_be_the_same_in_a_newer_text() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    let (abc, newer) = (text(ABC), s.store("a\nb\nX\n"));
    let range = ranged(meta("a.txt", &newer, "unchanged_range", Some(&abc)), 1, 2);
    let marker = "[readcache: unchanged in lines 1-2; changes exist outside this range]";
    s.answer(json!({"path": "a.txt", "limit": 2}), marker, range);
    assert_eq!(s.held("/w/a.txt"), "1-2 3-3$");
}

#[test]
fn a_diff_leads_to_the_new_text_or_nowhere() {
    let (before, after) = ("a\nb\nc\n", "a\nB  \nc\n");
    let body = "--- a/a.txt\t\n+++ b/a.txt\t\n@@ -1,3 +1,3 @@\n a\n-b\n+B  \n c";
    let check = |block: &str, whole: bool| {
        let mut s = Session::new();
        s.read("a.txt", before);
        let (before, after) = (text(before), s.store(after));
        s.answer(json!({"path": "a.txt"}), block, meta("a.txt", &after, "diff", Some(&before)));
        assert_eq!(s.whole("/w/a.txt"), whole.then(|| after.hash()), "{block}");
    };
    check(&format!("[readcache: 1 lines changed of 4]\n{body}"), true);
    check(&format!("[readcache: 1 lines changed of 5]\n{body}"), false);
    check(body, false);
    check(&format!("[readcache: 1 lines changed of 4]\n{}", body.replace("B  ", "B")), false);
}

#[test]
fn bad_metadata_is_no_metadata() {
    let abc = text(ABC);
    for (field, value) in [
        ("v", json!(2)),
        ("v", json!("1")),
        ("servedHash", json!("xyz")),
        ("rangeEnd", json!(9)),
        ("scopeKey", json!("r:2:1")),
        ("mode", json!("partial")),
        ("totalLines", json!(-1)),
        ("totalLines", json!(3)),
        ("pathKey", json!("")),
        ("bytes", Value::Null),
    ] {
        let mut s = Session::new();
        s.read("a.txt", ABC);
        let mut bad = meta("a.txt", &abc, "full", None);
        bad[field] = value.clone();
        s.answer(json!({"path": "a.txt"}), ABC, bad);
        assert_eq!(s.held("/w/a.txt"), "", "{field} = {value}: newer text that cannot be placed");
    }
}

#[test]
fn a_plain_read_of_pi_itself_voids_and_a_failed_one_means_nothing() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    s.calls(&[("1", "read", json!({"path": "a.txt"}))]);
    s.failed("1", "read");
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.calls(&[("2", "read", json!({"path": "a.txt"}))]);
    s.result("2", "read", "X\n", None);
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn a_result_counts_only_with_its_call() {
    let mut s = Session::new();
    let abc = s.store(ABC);
    s.result("nobody", "read", ABC, Some(meta("a.txt", &abc, "full", None)));
    assert_eq!(s.held("/w/a.txt"), "");
    s.calls(&[("1", "read", json!({"path": "a.txt"}))]);
    s.compact();
    s.result("1", "read", ABC, Some(meta("a.txt", &abc, "full", None)));
    assert_eq!(s.held("/w/a.txt"), "", "its call stands before the barrier");
    s.calls(&[("2", "read", json!({"path": "a.txt"})), ("2", "read", json!({"path": "b.txt"}))]);
    s.result("2", "read", ABC, Some(meta("a.txt", &abc, "full", None)));
    assert_eq!(s.held("/w/a.txt"), "", "which of the two it is cannot be told");
}

#[test]
fn an_id_may_hold_any_letter() {
    let mut s = Session::new();
    let abc = s.store(ABC);
    s.calls(&[("1|fc_a/b+=", "read", json!({"path": "a.txt"}))]);
    s.result("1|fc_a/b+=", "read", ABC, Some(meta("a.txt", &abc, "full", None)));
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.calls(&[("2|fc_a/b", "write", json!({"path": "a.txt", "content": "x\n"}))]);
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn own_writes() {
    let mut s = Session::new();
    s.write("a.txt", ABC);
    assert_eq!(s.whole("/w/a.txt"), Some(text(ABC).hash()));
    s.calls(&[("1", "write", json!({"path": "a.txt", "content": "x\n"}))]);
    assert_eq!(s.held("/w/a.txt"), "", "until the result is there");
    let pending = s.known().pending();
    assert_eq!((pending.len(), pending[0].tool), (1, "write"));
    s.failed("1", "write");
    assert_eq!(s.held("/w/a.txt"), "");
    assert_eq!(s.known().pending(), []);
    s.calls(&[("2", "write", json!({"path": "a.txt", "content": "x\n"}))]);
    s.read("a.txt", ABC);
    assert_eq!(s.held("/w/a.txt"), "1-3$", "a read asked for later is newer");
}

/// If a write were overlooked, the old text would still be held.
#[test]
fn a_call_counts_however_its_words_are_spelt() {
    for (kind, tool) in [("toolCall", "writ\\u0065"), ("tool\\u0043all", "write"), ("\\u0074oolCall", "\\u0077rite")] {
        let mut s = Session::new();
        let read = s.read("a.txt", ABC);
        let call =
            format!(r#"{{"type":"{kind}","id":"1","name":"{tool}","arguments":{{"path":"a.txt","content":"x"}}}}"#);
        let message = format!(r#"{{"role":"assistant","content":[{call}]}}"#);
        s.raw(&format!(r#"{{"type":"message","id":"m","parentId":"{read}","message":{message}}}"#));
        s.leaf = Some("m".to_owned());
        assert_eq!(s.held("/w/a.txt"), "", "{kind} {tool}");
    }
}

#[test]
fn two_changes_of_a_file_in_one_message_say_nothing() {
    let mut s = Session::new();
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    s.calls(&[
        ("1", "write", write("a", "1\n")),
        ("2", "write", write("./a", "2\n")),
        ("3", "write", write("b", "3\n")),
    ]);
    s.result("1", "write", "ok", None);
    s.result("2", "write", "ok", None);
    s.result("3", "write", "ok", None);
    assert_eq!((s.held("/w/a"), s.held("/w/b")), (String::new(), "1-1$".to_owned()));
}

#[test]
fn a_read_beside_a_write_may_have_seen_either() {
    let mut s = Session::new();
    let abc = s.store(ABC);
    let calls = [("1", "read", json!({"path": "a"})), ("2", "write", json!({"path": "a", "content": "x\n"}))];
    s.calls(&calls);
    s.result("1", "read", ABC, Some(meta("a", &abc, "full", None)));
    assert_eq!(s.held("/w/a"), "");
    s.result("2", "write", "ok", None);
    assert_eq!(s.whole("/w/a"), Some(text("x\n").hash()));
}

#[test]
fn a_write_to_who_knows_where_voids_everything() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    s.write("~/b.txt", "x\n");
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn own_edits() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    s.edit("a.txt", &[("a", "1"), ("c", "3")]);
    assert_eq!(s.whole("/w/a.txt"), Some(text("1\nb\n3\n").hash()));
    s.edit("a.txt", &[("1", "one")]);
    assert_eq!(s.whole("/w/a.txt"), Some(text("one\nb\n3\n").hash()), "the text before follows from the edit before");
    for (before, old) in [("a\na\n", "a"), ("a\n", "A"), ("a\r\n", "a"), ("a\n", "")] {
        s.read("a.txt", before);
        s.edit("a.txt", &[(old, "x")]);
        assert_eq!(s.held("/w/a.txt"), "", "{before:?} {old:?}");
    }
    s.read("a.txt", ABC);
    s.calls(&[("1", "edit", json!({"path": "a.txt", "edits": [{"oldText": "a", "newText": "1"}]}))]);
    s.failed("1", "edit");
    assert_eq!(s.held("/w/a.txt"), "");
    s.store("a\nb\nc\nd\n");
    let cut = ranged(meta("a.txt", &text("a\nb\nc\nd\n"), "full", None), 1, 2);
    let shown = "a\nb\n\n[3 more lines in file. Use offset=3 to continue.]";
    s.answer(json!({"path": "a.txt", "limit": 2}), shown, cut);
    s.edit("a.txt", &[("a", "1")]);
    assert_eq!(s.held("/w/a.txt"), "", "only some of its lines are held");
}

#[test]
fn an_invalidation_takes_lines_of_pis_counting() {
    let mut s = Session::new();
    let invalidate = |s: &mut Session, key: &str, kind: &str| {
        let data = json!({"v": 1, "kind": kind, "pathKey": "/w/a.txt", "scopeKey": key, "at": 1});
        s.entry("custom", json!({"customType": "pi-readcache", "data": data}));
        s.held("/w/a.txt")
    };
    s.read("a.txt", ABC);
    assert_eq!(invalidate(&mut s, "r:2:2", "nonsense"), "1-3$");
    assert_eq!(invalidate(&mut s, "r:2:2", "invalidate"), "1-1 3-3$");
    assert_eq!(invalidate(&mut s, "r:4:4", "invalidate"), "1-1 3-3", "pi's line 4 is the end");
    assert_eq!(invalidate(&mut s, "full", "invalidate"), "");
}

#[test]
fn a_compaction_is_the_barrier_on_its_branch() {
    let mut s = Session::new();
    let read = s.read("a.txt", ABC);
    let barrier = s.compact();
    assert_eq!(s.held("/w/a.txt"), "");
    assert_eq!(s.known().barrier(), s.transcript.find(&barrier));
    s.leaf = Some(read);
    s.entry("branch_summary", json!({"fromId": barrier, "summary": "went back"}));
    assert_eq!(s.held("/w/a.txt"), "1-3$", "another branch");
    assert_eq!(s.transcript.counts().compactions, 1);
}

#[test]
fn only_what_is_asked_about_is_looked_at_and_only_once() {
    let mut s = Session::new();
    let first = s.read("a.txt", ABC);
    let second = s.read("a.txt", "x\n");
    assert_eq!(s.stored.looks.get(), 0, "nobody asked");
    assert_eq!(s.held_at("/w/a.txt", Some(&second)), "1-1$");
    assert_eq!(s.held_at("/w/a.txt", Some(&first)), "1-3$");
    let looks = s.stored.looks.get();
    assert_eq!(s.held_at("/w/a.txt", Some(&second)), "1-1$");
    assert_eq!(s.held_at("/w/a.txt", Some(&first)), "1-3$");
    assert_eq!(s.held_at("/w/a.txt", None), "");
    assert_eq!(s.stored.looks.get(), looks, "moving in the tree is a lookup");
    s.leaf = Some(first);
    s.read("b.txt", ABC);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    let looks = s.stored.looks.get();
    assert_eq!(s.held("/w/b.txt"), "1-3$");
    assert_eq!(s.stored.looks.get(), looks + 1, "its text");
}

#[test]
fn what_a_whole_read_covers_is_not_looked_at() {
    let mut s = Session::new();
    let texts: Vec<Text> = (0..50).map(|n| text(&format!("{n}\n"))).collect();
    for text in &texts {
        let ours = extras(meta("a.txt", text, "full", None), text.as_str(), 1, Some((1, 1)), true);
        s.answer(json!({"path": "a.txt"}), text.as_str(), ours);
    }
    s.known();
    let looks = s.stored.looks.get();
    assert_eq!(s.whole("/w/a.txt"), Some(texts[49].hash()));
    assert_eq!(s.stored.looks.get(), looks + 1, "only the last text");
}

#[test]
fn a_file_read_very_often_does_not_fill_the_stack() {
    let mut s = Session::new();
    let abc = text(ABC);
    s.read("a.txt", ABC);
    for _ in 0..100_000 {
        let marker = "[readcache: unchanged, 4 lines]";
        s.answer(json!({"path": "a.txt"}), marker, meta("a.txt", &abc, "unchanged", Some(&abc)));
    }
    assert_eq!(s.held("/w/a.txt"), "1-3$");
}

#[test]
fn a_line_that_is_gone_takes_everything() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    s.stored.bytes.fill(b' ');
    s.read("b.txt", ABC);
    assert_eq!((s.held("/w/a.txt"), s.held("/w/b.txt")), (String::new(), "1-3$".to_owned()));
}

#[test]
fn a_context_edit_derives_anew_from_its_target() {
    let mut s = Session::new();
    let first = s.read("a.txt", ABC);
    s.read("b.txt", ABC);
    let before = s.leaf.clone();
    s.context_edit(&first, json!({"content": [{"type": "text", "text": "[omitted]"}]}));
    assert_eq!((s.held("/w/a.txt"), s.held("/w/b.txt")), (String::new(), "1-3$".to_owned()));
    assert_eq!(s.held_at("/w/a.txt", before.as_deref()), "1-3$", "before the edit it is there");
    s.read("a.txt", ABC);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.context_edit(&first, Value::Null);
    assert_eq!(s.held("/w/a.txt"), "1-3$", "what was read later stays");
}

/// The extension watches only results that were never edited: of another one it would not notice that a pruner drops it from a
/// request, and "unchanged" would be said of text that the model is not sent.
#[test]
fn an_edited_result_never_counts_even_with_the_same_text() {
    let mut s = Session::new();
    let first = s.read("a.txt", ABC);
    s.read("b.txt", ABC);
    s.context_edit(&first, json!({"content": [{"type": "text", "text": ABC}]}));
    assert_eq!((s.held("/w/a.txt"), s.held("/w/b.txt")), (String::new(), "1-3$".to_owned()));
    s.read("a.txt", ABC);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
}

#[test]
fn a_marker_falls_with_what_it_relied_on() {
    let mut s = Session::new();
    let abc = text(ABC);
    let first = s.read("a.txt", ABC);
    s.answer(json!({"path": "a.txt"}), "[readcache: unchanged, 4 lines]", meta("a.txt", &abc, "unchanged", Some(&abc)));
    s.edit("a.txt", &[("a", "1")]);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.context_edit(&first, Value::Null);
    assert_eq!(s.held("/w/a.txt"), "");
}

#[test]
fn dropping_the_message_that_called_voids_its_files() {
    let mut s = Session::new();
    let abc = s.store(ABC);
    s.read("c", ABC);
    let call = s.calls(&[("1", "read", json!({"path": "a"})), ("2", "write", json!({"path": "b", "content": ABC}))]);
    s.result("1", "read", ABC, Some(meta("a", &abc, "full", None)));
    s.result("2", "write", "ok", None);
    let held = |s: &mut Session| ["/w/a", "/w/b", "/w/c"].map(|path| s.held(path));
    assert_eq!(held(&mut s), ["1-3$", "1-3$", "1-3$"]);
    s.context_edit(&call, Value::Null);
    assert_eq!(held(&mut s), ["", "", "1-3$"]);
}

#[test]
fn a_context_edit_of_something_else_changes_nothing() {
    let mut s = Session::new();
    let user = s.message(json!({"role": "user", "content": "hello"}));
    let elsewhere = s.read("b.txt", ABC);
    s.leaf = Some(user.clone());
    let read = s.read("a.txt", ABC);
    s.context_edit(&user, Value::Null);
    s.context_edit(&elsewhere, Value::Null);
    s.context_edit("unknown", Value::Null);
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.compact();
    s.read("c.txt", ABC);
    s.context_edit(&read, Value::Null);
    assert_eq!((s.held("/w/a.txt"), s.held("/w/c.txt")), (String::new(), "1-3$".to_owned()));
}

#[test]
fn unknown_kinds_keep_their_place() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    for kind in
        ["label", "session_info", "model_change", "thinking_level_change", "usage", "custom_message", "from_the_future"]
    {
        s.entry(kind, json!({"content": "x", "message": 7, "data": [1], "targetId": 5}));
    }
    s.entry("custom", json!({"customType": "other", "data": {"v": 1}}));
    s.entry("message", json!({"message": "no object"}));
    s.entry("message", json!({"message": {"role": 7, "content": {}}}));
    s.message(json!({"role": "toolResult", "toolCallId": 1, "toolName": "read", "content": []}));
    s.message(json!({"role": "bashExecution", "command": "ls", "output": "a"}));
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.entry("context_edit", json!({"targetId": 7}));
    assert_eq!((s.held("/w/a.txt"), s.transcript.counts().skipped), ("1-3$".to_owned(), 0));
}

#[test]
fn malformed_lines_are_counted_and_skipped() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    let leaf = s.leaf.clone().unwrap();
    let bad = [
        "not json",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        r#"{"type":"message"}"#,
        r#"{"type":"message","id":7}"#,
        HEADER,
        r#"{"type":"label","id":"aaaaaaaa","parentId":7}"#,
        r#"{"type":"label","id":"a","id":"b"}"#,
        "\u{feff}{}",
    ];
    for line in bad {
        s.raw(line);
    }
    s.bytes(b"\xff\xfe\n\n  \n");
    s.raw(&json!({"type": "label", "id": leaf, "parentId": null}).to_string());
    assert_eq!(s.transcript.counts().skipped, bad.len() + 2, "the last is an id that is taken");
    assert_eq!(s.held("/w/a.txt"), "1-3$");
    s.entry("label", json!({}));
    s.raw(r#"{"type":"label","id":"bbbbbbbb","parentId":"ffffffff"}"#);
    assert_eq!(s.held_at("/w/a.txt", Some("bbbbbbbb")), "", "a parent that was never read");
}

#[test]
fn without_a_header_of_version_3_nothing_is_held() {
    for header in [r#"{"type":"session","version":4,"cwd":"/w"}"#, r#"{"type":"session","id":"x","cwd":"/w"}"#, "{}"] {
        let mut s = Session::new();
        s.begin_anew();
        s.raw(header);
        s.read("a.txt", ABC);
        assert_eq!((s.held("/w/a.txt"), s.transcript.cwd()), (String::new(), None), "{header}");
    }
}

#[test]
fn only_the_first_header_counts() {
    let mut s = Session::new();
    s.begin_anew();
    s.raw(r#"{"type":"session","version":4,"cwd":"/w"}"#);
    s.raw(r#"{"type":"session","version":3,"cwd":"/w"}"#);
    s.read("a.txt", ABC);
    assert_eq!((s.held("/w/a.txt"), s.transcript.cwd(), s.transcript.counts().skipped), (String::new(), None, 1));
}

/// As pi 0.52.12 with the older tool wrote it: no system message, `edit` with one pair, other fields in other orders.
#[test]
fn a_session_of_0_52() {
    let abc = text(ABC).hash();
    let lines = [
        r#"{"type":"session","version":3,"id":"0196","timestamp":"2026-02-11T09:00:00.000Z","cwd":"/w"}"#.to_owned(),
        r#"{"type":"model_change","id":"9a000001","parentId":null,"timestamp":"t","provider":"p","modelId":"m"}"#.to_owned(),
        r#"{"type":"message","id":"9a000002","parentId":"9a000001","timestamp":"t","message":{"role":"user","content":[{"type":"text","text":"read a.txt"}],"timestamp":1}}"#.to_owned(),
        r#"{"type":"message","id":"9a000003","parentId":"9a000002","timestamp":"t","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"toolu_01","name":"read","arguments":{"path":"a.txt"}}],"api":"x","usage":{"input":1},"stopReason":"toolUse","timestamp":2}}"#.to_owned(),
        format!(r#"{{"type":"message","id":"9a000004","parentId":"9a000003","timestamp":"t","message":{{"role":"toolResult","toolCallId":"toolu_01","toolName":"read","content":[{{"type":"text","text":"a\nb\nc\n"}}],"details":{{"readcache":{{"v":1,"pathKey":"/w/a.txt","scopeKey":"full","servedHash":"{abc}","mode":"full","totalLines":4,"rangeStart":1,"rangeEnd":4,"bytes":6,"debug":{{"reason":"no_base_hash","scope":"full","baseHashFound":false,"diffAttempted":false}}}}}},"isError":false,"timestamp":3}}}}"#),
        r#"{"message":{"role":"assistant","content":[{"type":"toolCall","id":"toolu_02","name":"edit","arguments":{"path":"a.txt","oldText":"b","newText":"B"}}]},"type":"message","id":"9a000005","parentId":"9a000004","timestamp":"t"}"#.to_owned(),
        r#"{"type":"message","id":"9a000006","parentId":"9a000005","timestamp":"t","message":{"role":"toolResult","toolCallId":"toolu_02","toolName":"edit","content":[{"type":"text","text":"Successfully replaced text in a.txt."}],"details":{"diff":"..."},"isError":false,"timestamp":4}}"#.to_owned(),
    ];
    let mut s = Session::new();
    s.begin_anew();
    s.store(ABC);
    for line in &lines {
        s.raw(line);
    }
    assert_eq!(s.held_at("/w/a.txt", Some("9a000003")), "");
    assert_eq!(s.held_at("/w/a.txt", Some("9a000004")), "1-3$");
    s.leaf = Some("9a000006".to_owned());
    assert_eq!(s.whole("/w/a.txt"), Some(text("a\nB\nc\n").hash()));
    let place = s.transcript.find("9a000006").unwrap().place();
    let why = s.known().why(place).unwrap();
    assert_eq!((why.entry.as_str(), why.tool, why.mode), ("9a000006", "edit", None));
}

#[test]
fn escapes_in_names_mean_what_they_say() {
    let mut s = Session::new();
    let abc = text(ABC);
    let call = r#"{"type":"message","id":"\u0061","parentId":null,"message":{"role":"assist\u0061nt","content":[{"type":"toolCall","id":"c\n","name":"re\u0061d","arguments":{"p\u0061th":"\u0061.txt"}}]}}"#;
    s.raw(call);
    let meta = extras(meta("a.txt", &abc, "full", None), ABC, 3, Some((1, 3)), true);
    let details = json!({ "readcache": meta });
    s.raw(&format!(
        r#"{{"type":"m\u0065ssage","id":"b\u0062","parentId":"a","message":{{"role":"toolResult","toolCallId":"c\n","toolName":"\u0072ead","content":[{{"type":"text","t\u0065xt":"a\nb\n\u0063\n"}}],"details":{details},"isError":false}}}}"#
    ));
    assert_eq!(s.held_at("/w/a.txt", Some("bb")), "1-3$");
}

#[test]
fn an_id_that_comes_twice_counts_once() {
    let abc = text(ABC);
    let entry =
        |id: &str, parent: &str, kind: &str| format!(r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}"}}"#);
    let mut lines = Session::new();
    let read = lines.read("a.txt", ABC);
    let mut all = String::from_utf8(lines.stored.bytes.clone()).unwrap();
    for line in [
        entry("00000001", &read, "label"),
        entry("00000002", "00000001", "compaction"),
        entry(&read, "00000002", "label"),
        entry("00000003", &read, "label"),
        entry("00000001", "00000002", "compaction"),
        entry("00000004", "00000001", "label"),
        entry("00000002", "00000004", "label"),
        entry("00000005", "00000002", "label"),
    ] {
        all += &format!("{line}\n");
    }
    let mut at_once = Session::new();
    at_once.begin_anew();
    at_once.bytes(all.as_bytes());
    let mut one_by_one = Session::new();
    one_by_one.begin_anew();
    all.lines().for_each(|line| one_by_one.raw(line));
    for mut s in [at_once, one_by_one] {
        s.store(abc.as_str());
        let counts = s.transcript.counts();
        assert_eq!((counts.entries, counts.skipped, counts.compactions), (7, 3, 1));
        assert_eq!(s.transcript.cwd(), Some("/w"));
        assert_eq!(s.held_at("/w/a.txt", Some("00000003")), "1-3$", "after the first entry with the id of its parent");
        assert_eq!(s.held_at("/w/a.txt", Some("00000004")), "1-3$");
        assert_eq!(s.held_at("/w/a.txt", Some("00000005")), "");
    }
}

#[test]
fn a_leaf_that_nobody_sent_is_an_error() {
    let mut s = Session::new();
    let line = r#"{"type":"label","id":"00000001","parentId":null}"#.as_bytes();
    let Pushed::Entry(first) = s.transcript.push(line, &s.stored) else { panic!("no entry") };
    assert_eq!(s.transcript.push(line, &s.stored), Pushed::Known(first));
    assert_eq!(s.transcript.push(HEADER.as_bytes(), &s.stored), Pushed::Skipped);
    assert_eq!(s.transcript.push(b"{}", &s.stored), Pushed::Skipped);
    assert!(s.transcript.known("00000001", &s.stored).is_ok());
    for id in ["00000002", "", "other"] {
        let Err(error) = s.transcript.known(id, &s.stored) else { panic!("{id} is known") };
        assert_eq!(error.entry, id);
    }
}

#[test]
fn ids_of_any_form() {
    let mut s = Session::new();
    s.read("a.txt", ABC);
    let leaf = s.leaf.clone();
    let entry = |id: &str, parent: Option<&str>| json!({"type": "label", "id": id, "parentId": parent}).to_string();
    s.raw(&entry("0198c0de-7b1c-7000-8000-aaaaaaaaaaaa", leaf.as_deref()));
    s.raw(&entry("last", Some("0198c0de-7b1c-7000-8000-aaaaaaaaaaaa")));
    assert_eq!(s.held_at("/w/a.txt", Some("last")), "1-3$");
    assert_eq!(s.transcript.id(s.transcript.last().unwrap()), "last");
}
