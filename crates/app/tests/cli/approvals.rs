//! Calls that wait for a person: listed, shown, approved with the key or at a terminal, denied, expired, used once.

use serde_json::{Value, json};

use readproof_core::text::ContentHash;
use readproof_disk::user_name;

use crate::workspace::{Done, READPROOF, Workspace, finish, finish_with, numbered};

pub(crate) const KEY: &str = "a long and random key";

/// A workspace in which deleting `ask.txt` needs a person, and the approver's key is set.
pub(crate) fn asking() -> Workspace {
    let ws = Workspace::with(&[("ask.txt", "one\n\u{1b}[2Jtwo\n")]);
    own_file(&ws, &format!("approver_key = \"{}\"\n", ContentHash::of(KEY.as_bytes())));
    ws
}

fn own_file(ws: &Workspace, text: &str) {
    let folder = ws.top().join("home/.config/readproof");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// Runs `readproof` as whoever has this key.
pub(crate) fn with_key(ws: &Workspace, key: &str, words: &str) -> Done {
    finish(ws.command(READPROOF).env("READPROOF_APPROVER_KEY", key).args(words.split_whitespace()))
}

pub(crate) const DELETE: &str = "delete ask.txt --force --session s";

/// Makes the call, which waits, and gives its id.
pub(crate) fn waits(ws: &Workspace, words: &str) -> String {
    let said = ws.run(&format!("{words} --json"));
    assert_eq!(said.code, Some(1));
    let said: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said["error"]["code"], "APPROVAL_NEEDED", "{said}");
    assert!(ws.path("ask.txt").exists());
    let message = said["error"]["message"].as_str().unwrap();
    let (_, rest) = message.split_once("`readproof approvals approve ").unwrap();
    rest.split_once('`').unwrap().0.to_owned()
}

#[test]
fn a_call_waits_is_approved_with_the_key_and_made_once() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    assert_eq!(waits(&ws, DELETE), id, "it waits once");
    ws.run(DELETE).refused(1, &["delete ask.txt: a person must approve this first; nothing was done", &id]);
    let listed = ws.run("approvals list --json").json();
    let one = &listed["approvals"][0];
    assert_eq!((&one["id"], &one["state"], &one["act"]), (&json!(id), &json!("waiting"), &json!("delete")));
    assert_eq!(one["paths"], json!(["ask.txt"]));
    assert_eq!(one["by"], json!({"surface": "cli", "user": user_name(), "conversation": "s"}));
    assert!(ws.run("approvals list").text().ends_with("delete ask.txt  waiting, 60 min left\n"));

    let said = with_key(&ws, &format!(" {KEY}\n"), &format!("approvals approve {id} --json")).json();
    assert_eq!((&said["ok"], &said["state"]), (&json!(true), &json!("approved")));
    assert_eq!((&said["decided"]["how"], &said["decided"]["scope"]), (&json!("key"), &json!("once")));
    assert_eq!(said["decided"]["by"], json!({"surface": "cli", "user": user_name()}));
    ws.run(DELETE).gives("deleted ask.txt\n");
    assert!(!ws.path("ask.txt").exists());

    ws.put("ask.txt", "one\n\u{1b}[2Jtwo\n");
    assert_ne!(waits(&ws, DELETE), id, "the same text again: it was for one call");
    with_key(&ws, KEY, &format!("approvals approve {id}")).refused(1, &["was approved and used", "asks anew"]);
    assert_eq!(ws.run("approvals list --json").json()["approvals"].as_array().unwrap().len(), 1);
    assert_eq!(ws.run("approvals list --all --json").json()["approvals"][0]["state"], "used");
}

#[test]
fn outside_the_workspace_a_change_is_made_only_in_a_listed_folder_and_after_a_yes() {
    let ws = asking();
    let notes = ws.top().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let key = ContentHash::of(KEY.as_bytes());
    let file = notes.join("a.md").display().to_string();
    let write = |more: &str| ws.feed(&format!("write {file} --session s{more}"), "a note\n");
    write("").refused(1, &["outside"]);
    write(&format!(" --set write_roots={}", notes.display())).refused(2, &["only readproof/config.toml of your own"]);
    ws.put("readproof.toml", format!("write_roots = [\"{}\"]\n", notes.display()));
    assert_eq!(write("").code, Some(1), "a workspace cannot list a folder");
    ws.put("readproof.toml", "");
    own_file(&ws, &format!("approver_key = \"{key}\"\nwrite_roots = [\"~/gone\", \"{}\"]\n", notes.display()));
    let said = write(" --json");
    let said: Value = serde_json::from_str(&said.out).unwrap();
    let message = said["error"]["message"].as_str().unwrap();
    assert_eq!(said["error"]["code"], "APPROVAL_NEEDED", "{said}");
    assert!(message.starts_with(&format!("write {file}: ")) && !notes.join("a.md").exists(), "{message}");
    let listed = ws.run("approvals list --json").json();
    let id = listed["approvals"][0]["id"].as_str().unwrap();
    assert_eq!(listed["approvals"][0]["rule"]["reason"], "outside the workspace");
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    write("").gives(&format!("wrote {file}: 7 bytes, 1 lines\n"));
    assert_eq!(std::fs::read_to_string(notes.join("a.md")).unwrap(), "a note\n");
    // One yes is for one call; reads there stay refused, and nothing else outside is in reach.
    ws.run_args(&["edit", &file, "--old", "note", "--new", "b"]).refused(1, &["a person must approve"]);
    ws.run_args(&["read", &file]).refused(1, &["outside"]);
    ws.run_args(&["delete", &file, "--force"]).refused(1, &["a person must approve"]);
    let near = ws.run_args(&["edit", &file, "--old", "nowhere", "--new", "b"]);
    near.refused(1, &[&format!("in {}: a.md: the old text does not occur", notes.display())]);
    std::os::unix::fs::symlink(ws.top().join("home"), notes.join("link")).unwrap();
    ws.feed(&format!("write {}/link/x --session s", notes.display()), "x").refused(1, &["out"]);
    ws.feed(&format!("write {}/../x --session s", notes.display()), "x").refused(1, &["outside"]);
    assert_eq!(std::fs::read_to_string(notes.join("a.md")).unwrap(), "a note\n");
    // A folder that holds the workspace would go round its rules; of several folders the innermost counts.
    let top = ws.top().display().to_string();
    own_file(&ws, &format!("approver_key = \"{key}\"\nwrite_roots = [\"{top}\"]\n"));
    write("").refused(1, &["outside"]);
    std::fs::create_dir(notes.join("inner")).unwrap();
    std::fs::write(notes.join("inner/readproof.toml"), "[policy]\nread_only = true\n").unwrap();
    own_file(&ws, &format!("approver_key = \"{key}\"\nwrite_roots = [\"{top}/notes\", \"{top}/notes/inner\"]\n"));
    ws.feed(&format!("write {top}/notes/inner/x --session s"), "x").refused(1, &["does not allow"]);
}

#[test]
fn who_agreed_to_a_read_did_not_agree_to_a_change() {
    let ws = asking();
    ws.put(".env", "KEY=1\n");
    ws.put("sec/t", "text\n");
    ws.put("readproof.toml", "[[policy.rule]]\neffect = \"ask\"\npaths = [\"sec/\", \".env\"]\nacts = [\"read\"]\n");
    for file in [".env", "sec/t"] {
        let id = waits(&ws, &format!("read {file}"));
        with_key(&ws, KEY, &format!("approvals approve {id} --always")).text();
        assert!(!ws.run(&format!("read {file}")).text().is_empty());
    }
    // Deletions and changes of sensitive files ask, whatever was agreed to before.
    let id = waits(&ws, "delete sec/t --force");
    let asked = ws.run(&format!("approvals show {id} --json")).json();
    assert_eq!((&asked["act"], &asked["paths"]), (&json!("delete"), &json!(["sec/t"])), "{asked}");
    assert!(ws.path("sec/t").exists());
    waits(&ws, "edit .env --old KEY --new TOKEN");
    assert_eq!(ws.get(".env"), "KEY=1\n");
    // One question is about the whole change; a change that cannot be made is a question too, as why tells of the text.
    ws.put("readproof.toml", "[[policy.rule]]\neffect = \"ask\"\npaths = [\"new/\"]\nacts = [\"read\"]\n");
    ws.put("new/t", "secret words\n");
    let id = waits(&ws, "edit new/t --old secret --new known");
    let asked = ws.run(&format!("approvals show {id} --json")).json();
    assert!(asked["act"] == "edit" && asked["diff"].as_str().unwrap().contains("-secret words"), "{asked}");
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    ws.run("edit new/t --old secret --new known").gives("edited new/t: lines 1-1 are now 1-1; 1 lines\n");
    let id = waits(&ws, "edit new/t --old nothing --new known");
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    ws.run("edit new/t --old nothing --new known").refused(1, &["does not occur"]);
}

#[test]
fn a_file_that_changed_meanwhile_is_asked_about_again() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    ws.put("ask.txt", "other\n");
    let other = waits(&ws, DELETE);
    assert_ne!(other, id);
    assert!(ws.run(&format!("approvals show {other}")).text().contains("\n-other"));
}

#[test]
fn an_agents_shell_decides_nothing() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    for verb in ["approve", "deny"] {
        let words = format!("approvals {verb} {id}");
        ws.run(&words).refused(1, &["only a person can decide", "READPROOF_APPROVER_KEY does not hold the key"]);
        ws.feed(&words, "y\n").refused(1, &["only a person can decide"]);
        with_key(&ws, "guessed", &words).refused(1, &["only a person can decide"]);
        with_key(&ws, "", &words).refused(1, &["only a person can decide"]);
        // The hash is no key, and nobody but the user's own file can say which key counts.
        let (mine, hash) = ("mine", ContentHash::of(b"mine").to_string());
        with_key(&ws, &ContentHash::of(KEY.as_bytes()).to_string(), &words).refused(1, &["only a person can decide"]);
        with_key(&ws, mine, &format!("{words} --set approver_key={hash}"))
            .refused(2, &["--set approver_key: only readproof/config.toml of your own can set that"]);
        ws.put("readproof.toml", format!("approver_key = \"{hash}\"\n"));
        let said = with_key(&ws, mine, &words);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains("approver_key") && said.err.contains("only a person can decide"), "{}", said.err);
        std::fs::remove_file(ws.path("readproof.toml")).unwrap();
    }
    own_file(&ws, "");
    with_key(&ws, KEY, &format!("approvals approve {id}")).refused(1, &["no `approver_key` is set"]);
    own_file(&ws, "approver_key = \"key\"\n");
    with_key(&ws, KEY, "approvals list").refused(1, &["expected 64 hex digits"]);
    own_file(&ws, "");
    assert_eq!(ws.run("approvals list --json").json()["approvals"][0]["state"], "waiting");
    waits(&ws, DELETE);
}

#[test]
fn what_is_denied_stays_denied() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    with_key(&ws, KEY, &format!("approvals deny {id}")).text();
    ws.run(DELETE).refused(1, &["delete ask.txt: a person refused this", &id]);
    let said: Value = serde_json::from_str(&ws.run(&format!("{DELETE} --json")).out).unwrap();
    assert_eq!(said["error"]["code"], "DENIED");
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    ws.run(DELETE).gives("deleted ask.txt\n");
}

#[test]
fn an_approval_may_last_and_be_taken_back() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    with_key(&ws, KEY, &format!("approvals approve {id} --session")).text();
    for text in [numbered(3), numbered(4)] {
        ws.put("ask.txt", text);
        ws.run(DELETE).gives("deleted ask.txt\n");
    }
    ws.put("ask.txt", "x\n");
    let other = waits(&ws, "delete ask.txt --force --session t");
    with_key(&ws, KEY, &format!("approvals approve {other} --always")).text();
    ws.run("delete ask.txt --force").gives("deleted ask.txt\n");
    assert!(ws.run("approvals list").text().contains(&format!("approved always by cli, user {} (key)", user_name())));
    ws.put("ask.txt", "y\n");
    with_key(&ws, KEY, &format!("approvals deny {other}")).text();
    let homeless = waits(&ws, "delete ask.txt --force");
    with_key(&ws, KEY, &format!("approvals approve {homeless} --session"))
        .refused(1, &["belongs to no session; approve it with --once or --always"]);
    with_key(&ws, KEY, &format!("approvals approve {id} --once --always")).refused(2, &["cannot be used with"]);
}

#[test]
fn requests_are_shown_to_the_person() {
    let ws = asking();
    ws.run("approvals list").gives("nothing waits for an approval\n");
    ws.run("approvals show 000000-1").refused(1, &["there is no request `000000-1`"]);
    let id = waits(&ws, DELETE);
    let shown = ws.run(&format!("approvals show {id}")).text();
    let asked = format!("asked by cli, user {}, session s\n", user_name());
    let expected = [asked.as_str(), "rule `ask delete: every name`\n", "-one\n", "[2Jtwo"];
    assert!(expected.iter().all(|part| shown.contains(part)), "{shown}");
    assert!(!shown.contains('\u{1b}'), "a file must not draw on the terminal: {shown:?}");
    assert!(ws.run("doctor --json").out.contains("\"approvals\""));
}

#[test]
fn a_log_that_was_altered_approves_nothing() {
    let ws = asking();
    let id = waits(&ws, DELETE);
    with_key(&ws, KEY, &format!("approvals approve {id}")).text();
    let log = ws.get(".readproof/log/approvals").replace("\"once\"", "\"always\"");
    ws.put(".readproof/log/approvals", log);
    ws.run(DELETE).refused(1, &["none can be recorded; nothing was done", "is damaged at line 3"]);
    assert!(ws.path("ask.txt").exists());
    assert!(ws.run("doctor").out.contains("whatever needs an approval is refused"));
}

/// Runs at a terminal, where someone types this.
fn at_terminal(ws: &Workspace, words: &str, typed: &str) -> Done {
    let line = format!("exec {READPROOF} {words}");
    finish_with(ws.command("script").args(["-qec", &line, "/dev/null"]), typed.as_bytes())
}

#[test]
fn a_person_at_the_terminal_is_asked() {
    let ws = asking();
    if finish(ws.command("sh").args(["-c", "command -v script"])).code != Some(0) {
        return;
    }
    let id = waits(&ws, DELETE);
    let said = at_terminal(&ws, &format!("approvals approve {id}"), "n\n");
    assert!(said.code == Some(1) && said.out.contains("nothing was decided"), "{}", said.out);
    // The call itself asks where it is made.
    let said = at_terminal(&ws, DELETE, "n\n");
    assert!(said.code == Some(1) && ws.path("ask.txt").exists(), "{}", said.out);
    let said = at_terminal(&ws, DELETE, "y\n");
    assert!(said.code == Some(0) && said.out.contains("Approve this call? [y/N]"), "{}", said.out);
    assert!(!ws.path("ask.txt").exists());
    let all = ws.run("approvals list --all --json").json();
    assert_eq!(all["approvals"][0]["decided"]["how"], "terminal");
}

#[test]
fn of_two_files_one_asks_and_the_other_is_denied() {
    let ws = Workspace::with(&[("ask.txt", "one\n")]);
    ws.put("readproof.toml", "[policy]\nask = [\"ask.txt\"]\ndeny = [\"no/\"]\n");
    let patch = "--- a/ask.txt\n+++ b/ask.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n--- /dev/null\n+++ b/no/new.txt\n@@ -0,0 +1,1 @@\n+x\n";
    ws.put("p.patch", patch);
    let said = ws.run("patch p.patch --json");
    let said: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said["error"]["code"], "DENIED", "{said}");
    assert_eq!(ws.run("approvals list --json").json()["approvals"], json!([]));
    assert_eq!(ws.get("ask.txt"), "one\n");
}
