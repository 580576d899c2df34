//! Bugs that were found, each test named after what the user saw.

use std::fs;

use crate::{
    faulty_store::{limited, with_mounts},
    workspace::{Workspace, finish, numbered},
};

fn changed() -> String {
    numbered(40).replace("\n20\n", "\ntwenty\n")
}

/// A is recorded, B is shown while the store cannot be used, then A again: `unchanged` would refer to the older text.
#[track_caller]
fn nothing_is_held_after(fault: impl Fn(&Workspace), mended: impl Fn(&Workspace)) {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    fault(&ws);
    ws.put("a.txt", changed());
    assert_eq!(ws.run("read a.txt --session s").noticed(&["nothing is remembered"]), changed());
    mended(&ws);
    ws.put("a.txt", numbered(40));
    assert_eq!(ws.read("a.txt"), numbered(40), "the newest text the model saw is the other one");
}

#[test]
fn a_store_that_was_open_to_others() {
    nothing_is_held_after(|ws| ws.chmod(".readproof", 0o755), |ws| ws.chmod(".readproof", 0o700));
}

#[test]
fn a_log_that_was_open_to_others() {
    // It was put aside, so there is nothing left to repair.
    nothing_is_held_after(|ws| ws.chmod(".readproof/log/s.log", 0o644), |_| {});
}

#[test]
fn a_store_that_was_newer() {
    let (format, away) = (".readproof/format", ".readproof/away");
    let fault = |ws: &Workspace| {
        fs::rename(ws.path(format), ws.path(away)).unwrap();
        ws.put(format, "3\n");
    };
    nothing_is_held_after(fault, |ws| fs::rename(ws.path(away), ws.path(format)).unwrap());
}

#[test]
fn a_part_that_was_away() {
    let (here, away) = (".readproof/objects", ".readproof/away");
    let swap = |ws: &Workspace, from: &str, to: &str| fs::rename(ws.path(from), ws.path(to)).unwrap();
    let fault = |ws: &Workspace| {
        swap(ws, here, away);
        ws.put(here, "");
    };
    nothing_is_held_after(fault, |ws| {
        fs::remove_file(ws.path(here)).unwrap();
        swap(ws, away, here);
    });
}

#[test]
fn a_write_whose_record_fails_says_that_the_file_changed() {
    let ws = Workspace::with(&[("a.txt", "old\n")]);
    ws.read("a.txt");
    let used = ws.get(".readproof/log/s.log").len();
    // There is room for the announcement of the write, but not for its record.
    let padding = "p".repeat(4096 - 200 - 140 - used);
    ws.run_args(&["session", "compact", "--session", "s", "--summary", &padding]).text();
    let script = "trap '' XFSZ; ulimit -f 8; echo new | \"$@\"";
    let done = ws.shell(script, "write a.txt --session s");
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(ws.get("a.txt") == "old\n" || done.err.contains("a.txt"), "the file changed and nobody said so: {done:?}");
}

#[test]
fn a_loss_is_a_loss() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.read("a.txt");
    ws.read("a.txt");
    let session = ws.run("status --session s --json").json()["status"].clone();
    let (plain, sent) = (session["plain_bytes"].as_i64().unwrap(), session["sent_bytes"].as_i64().unwrap());
    assert_eq!(session["tokens_saved"].as_i64().unwrap(), (plain + 3) / 4 - (sent + 3) / 4);
}

#[test]
fn a_call_that_cannot_be_parsed_is_json_too() {
    let ws = Workspace::new();
    for words in ["read --json", "bogus --json", "status --session --json"] {
        let done = ws.run(words);
        assert_eq!(done.code, Some(2));
        let object: serde_json::Value = serde_json::from_str(&done.out).unwrap_or_default();
        assert_eq!(object["error"]["code"], "USAGE", "{words}: {done:?}");
    }
}

#[test]
fn settings_that_cannot_be_read_are_not_ignored() {
    let ws = Workspace::with(&[("a.txt", "secret\n")]);
    fs::write(ws.top().join("mine.toml"), "sensitive = [\"a.txt\"]\n").unwrap();
    ws.link("readproof.toml", ws.top().join("mine.toml"));
    let done = ws.run("read a.txt --session s");
    assert!(done.err.contains("readproof.toml"), "{done:?}");
}

#[test]
fn the_name_the_shell_has_for_the_current_folder() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    std::os::unix::fs::symlink(ws.path(""), ws.top().join("link")).unwrap();
    let script = "cd ../link && unset READPROOF_WORKSPACE && exec \"$@\" \"$PWD/a.txt\"";
    ws.shell(script, "read").gives("a\n");
}

#[test]
fn status_of_a_read_only_store() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.read("a.txt");
    let script = "mount --bind .readproof .readproof; mount -o remount,ro,bind .readproof
        \"$1\" status --session s; \"$1\" session show --session s";
    match with_mounts(&ws, script) {
        Some(mut command) => drop(finish(&mut command).text()),
        None => ["status --session s", "session show --session s"]
            .into_iter()
            .for_each(|words| drop(limited(&ws, 0, words).text())),
    }
}

#[test]
fn the_metadata_of_a_line_shown_in_part_claims_no_whole_file() {
    let ws = Workspace::with(&[("a.txt", &"y".repeat(100_000))]);
    let done = ws.run("read a.txt --session s --json").json();
    assert_ne!(done["readcache"]["scopeKey"], "full", "{}", done["readcache"]);
}

#[test]
fn a_refresh_beyond_the_end() {
    let ws = Workspace::with(&[("a.txt", &numbered(40)), ("folder/x", "x\n")]);
    ws.read("a.txt");
    ws.run("refresh a.txt:900-901 --session s").refused(1, &["beyond the end"]);
    ws.run("refresh folder --session s").refused(1, &["is a directory"]);
}

#[test]
fn an_edit_of_a_missing_file_asks_what_was_meant() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    ws.run("edit b.txt --session s --old a --new b").refused(1, &["b.txt` does not exist;", "did you mean a.txt?"]);
}

#[test]
fn a_bad_range_says_what_a_range_is() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    for words in ["read a.txt:-5", "read a.txt:5-", "read a.txt:five"] {
        ws.run(words).refused(1, &["10-20"]);
    }
}

#[test]
fn names_cannot_colour_the_terminal() {
    let ws = Workspace::with(&[("x\u{1b}[31mred", "a\n")]);
    let done = ws.run_args(&["read", "x\u{1b}[31mrad"]);
    assert!(!done.err.contains('\u{1b}'), "{done:?}");
    ws.read("x\u{1b}[31mred");
    let shown = ws.run("session show --session s").text();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_deleted_folder_matters_only_to_relative_names() {
    let ws = Workspace::with(&[("a.txt", "a\n")]);
    let words = format!("read a.txt --workspace {}", ws.path("").display());
    ws.shell("mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", &words).gives("a\n");
}

#[test]
fn an_empty_list_is_no_line() {
    Workspace::new().run("session list").gives("");
}
#[test]
fn a_log_that_was_locked() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    let log = fs::File::open(ws.path(".readproof/log/s.log")).unwrap();
    log.lock().unwrap();
    ws.put("a.txt", changed());
    let start = std::time::Instant::now();
    assert_eq!(ws.run("read a.txt --session s").noticed(&["nothing is remembered"]), changed());
    assert!(start.elapsed().as_secs() < 4, "{:?}", start.elapsed());
    log.unlock().unwrap();
    ws.put("a.txt", numbered(40));
    assert_eq!(ws.read("a.txt"), numbered(40), "the newest text the model saw is the other one");
}
