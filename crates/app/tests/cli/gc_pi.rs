//! `readproof gc` with pi: which session files count, which texts they keep, and that an unreadable file keeps all
//! texts.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use readproof_core::text::ContentHash;
use serde_json::{Value, json};

use crate::workspace::{Done, Workspace, finish, names_in};

/// A text in a store, a year old.
fn old(ws: &Workspace, folder: &str, text: &str) -> PathBuf {
    let name = format!("{folder}/sha256-{}.txt", ContentHash::of(text.as_bytes()));
    ws.put(&name, text);
    let path = ws.path(&name);
    let then = SystemTime::now() - Duration::from_secs(365 * 24 * 60 * 60);
    fs::File::open(&path).unwrap().set_modified(then).unwrap();
    path
}

const PI: &str = ".pi/readcache/objects";

fn hash(text: &str) -> String {
    ContentHash::of(text.as_bytes()).to_string()
}

/// Where pi keeps the sessions that run in a folder.
fn sessions(ws: &Workspace, cwd: &Path) -> PathBuf {
    let name = cwd.display().to_string().trim_start_matches('/').replace(['/', ':'], "-");
    ws.top().join(format!("home/.pi/agent/sessions/--{name}--"))
}

/// A session file whose second branch mentions these texts, and which wrote another.
fn session(cwd: &Path, served: &str, base: &str, written: &str) -> String {
    let result = |id: &str, parent: &str, details: Value| {
        json!({"type": "message", "id": id, "parentId": parent, "message": {
            "role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false,
            "content": [{"type": "text", "text": "x"}], "details": {"readcache": details},
        }})
    };
    let write = json!({"path": "w.txt", "content": written});
    let call = json!([{"type": "toolCall", "id": "w", "name": "write", "arguments": write}]);
    [
        json!({"type": "session", "version": 3, "id": "x", "cwd": cwd}),
        json!({"type": "message", "id": "00000001", "parentId": null, "message": {"role": "assistant", "content": call}}),
        result("00000002", "00000001", json!({"v": 1, "servedHash": hash(served), "baseHash": hash(base)})),
        json!({"type": "compaction", "id": "00000003", "parentId": "00000001"}),
    ]
    .map(|line| format!("{line}\n"))
    .concat()
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A workspace whose two stores hold old texts, and a session file that may need some of them.
fn known() -> (Workspace, PathBuf) {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.read("a.txt");
    let file = sessions(&ws, &ws.path("sub")).join("one.jsonl");
    put(&file, &session(&ws.path("sub"), "served\n", "base\n", "written\n"));
    (ws, file)
}

#[test]
fn what_a_session_file_may_need_stays_in_both_stores() {
    let (ws, _) = known();
    for folder in [PI, ".readproof/objects"] {
        for text in ["served\n", "base\n", "written\n"] {
            old(&ws, folder, text);
        }
        old(&ws, folder, "nobody's\n");
    }
    let text = ws.run("gc").text();
    assert!(text.starts_with("removed 2 objects (18 B)") && text.contains("6 of them only because"), "{text}");
    assert_eq!((names_in(&ws.path(PI)).len(), names_in(&ws.path(".readproof/objects")).len()), (3, 4));
    let text = ws.run("gc --max-bytes 10").text();
    assert!(text.starts_with("removed 0 objects"), "{text}");
}

#[test]
fn by_force_it_goes_and_that_is_said_first() {
    let (ws, file) = known();
    let served = old(&ws, PI, "served\n");
    let said = format!("pi session {} could still need 1 of these", file.display());
    let dry = ws.run("gc --force --dry-run --json").json();
    assert_eq!(dry["still_needed_by_pi"][file.to_str().unwrap()], 1, "{dry}");
    assert_eq!(dry["planned"]["pi_objects"], json!([hash("served\n")]), "{dry}");
    let out = ws.run("gc --force").noticed(&["removing 1 object", &said]);
    assert!(out.starts_with("removed 1 object (7 B)") && !served.exists(), "{out}");
}

#[test]
fn only_sessions_of_the_workspace_or_those_named_count() {
    let keeps = |with: &dyn Fn(&Workspace, &Path) -> Done| {
        let ws = Workspace::new();
        let elsewhere = ws.top().join("elsewhere");
        let file = sessions(&ws, &elsewhere).join("one.jsonl");
        put(&file, &session(&elsewhere, "served\n", "base\n", "written\n"));
        let served = old(&ws, PI, "served\n");
        with(&ws, &file).text();
        served.exists()
    };
    let env = |ws: &Workspace, name: &str, value: &Path| {
        finish(ws.command(crate::workspace::READPROOF).arg("gc").env(name, value))
    };
    assert!(!keeps(&|ws, _| ws.run("gc")));
    assert!(keeps(&|ws, file| ws.run_args(&["gc", "--pi-session", file.to_str().unwrap()])));
    assert!(keeps(&|ws, file| {
        let own = ws.top().join("home/.config/readproof");
        fs::create_dir_all(&own).unwrap();
        let text = format!("pi_sessions = [{:?}]\n", file.parent().unwrap().display().to_string());
        fs::write(own.join("config.toml"), text).unwrap();
        ws.run("gc")
    }));
    assert!(keeps(&|ws, file| {
        let told = "~/".to_owned() + file.strip_prefix(ws.top().join("home")).unwrap().to_str().unwrap();
        ws.run_args(&["gc", "--set", &format!("pi_sessions={told}")])
    }));
    // A folder that is reached by another name is the same folder.
    assert!(keeps(&|ws, file| {
        std::os::unix::fs::symlink(ws.path(""), ws.top().join("elsewhere")).unwrap();
        assert!(file.exists());
        ws.run("gc")
    }));
    for (name, under) in [("PI_CODING_AGENT_DIR", "pi/sessions/x"), ("PI_CODING_AGENT_SESSION_DIR", "pi")] {
        assert!(keeps(&|ws, _| {
            put(&ws.top().join(under).join("s.jsonl"), &session(&ws.path(""), "served\n", "base\n", "written\n"));
            env(ws, name, &ws.top().join("pi"))
        }));
    }
}

#[test]
fn beside_a_session_file_that_cannot_be_read_nothing_goes() {
    let stays = |ws: &Workspace, words: &str, why: &str| {
        let (pi, own) = (old(ws, PI, "old\n"), old(ws, ".readproof/objects", "old\n"));
        let text = ws.run(words).text();
        assert!(text.starts_with("removed 0 objects") && text.contains(why), "{text}");
        assert!(text.contains("as the needs of pi session"), "{text}");
        assert!(pi.exists() && own.exists());
        ws.run(&format!("{words} --force")).noticed(&["removing 2 objects"]);
        assert!(!pi.exists() && !own.exists());
    };
    let (ws, file) = known();
    stays(&ws, "gc --pi-session none.jsonl", "`none.jsonl` does not exist");
    for odd in ["", "no header\n", "{\"type\":\"session\",\"version\":9,\"cwd\":\"/x\"}\n"] {
        fs::write(&file, odd).unwrap();
        stays(&ws, "gc", "it has no header of version 3");
    }
    let json = ws.run("gc --json").json();
    assert_eq!(json["unread"][0]["pi_session"], file.to_str().unwrap(), "{json}");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    old(&ws, PI, "old\n");
    assert!(ws.run("gc").text().starts_with("removed 1 object"), "a folder is no session file");
    // A file among the sessions of another folder does not count.
    put(&sessions(&ws, Path::new("/elsewhere")).join("odd.jsonl"), "no header\n");
    old(&ws, PI, "old\n");
    assert!(ws.run("gc").text().starts_with("removed 1 object"));
}

#[test]
fn without_a_store_of_our_own_the_other_is_looked_after() {
    let ws = Workspace::new();
    let stray = old(&ws, PI, "old\n");
    assert!(ws.run("gc").text().starts_with("removed 1 object (4 B)"));
    assert!(!stray.exists());
    assert_eq!(ws.names(), [".pi"], "none is made");
    // Links are not followed.
    let outside = ws.top().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(ws.path(PI)).unwrap();
    std::os::unix::fs::symlink(&outside, ws.path(PI)).unwrap();
    let stray = old(&ws, "../outside", "old\n");
    assert!(ws.run("gc").text().starts_with("removed 0 objects"));
    assert!(stray.exists());
}

#[test]
fn the_doctor_names_the_session_files() {
    let (ws, file) = known();
    let text = ws.run("doctor").text();
    assert!(text.contains("1 session files of this workspace") && text.contains(file.to_str().unwrap()), "{text}");
    fs::write(&file, "no header\n").unwrap();
    let text = ws.run("doctor").text();
    assert!(text.contains("one.jsonl (not understood: it has no header of version 3)"), "{text}");
    assert!(text.contains("-> make them readable"), "{text}");
}
