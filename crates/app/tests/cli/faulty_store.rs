//! A store or log that is full, read-only, damaged, newer or not ours: the text is still sent, with a notice, exit code
//! 0 and no knowledge. Once the store works again, nothing counts as held that was not recorded.

use std::{fs, process::Command};

use crate::workspace::{Done, READPROOF, Workspace, finish, names_in, numbered};

/// A workspace whose session `s` holds `a.txt`, 40 lines.
fn known() -> Workspace {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    assert_eq!(ws.read("a.txt"), numbered(40));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
    ws
}

/// The text, again and again, with a notice, and the reason in the JSON.
#[track_caller]
fn plain_with_notice(ws: &Workspace, reason: &str, words: &[&str]) {
    for _ in 0..2 {
        let words = &[&["nothing is remembered of this answer"], words].concat();
        assert_eq!(ws.run("read a.txt --session s").noticed(words), numbered(40));
    }
    let answer = ws.run("read a.txt --session s --json").json();
    assert_eq!((&answer["mode"], &answer["reason"]), (&"full".into(), &reason.into()));
    assert_eq!((&answer["session"], &answer["entry"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    let notice = answer["notices"][0].as_str().unwrap();
    assert!(words.iter().all(|word| notice.contains(word)), "{notice}");
    ws.run("read a.txt").gives(&numbered(40));
}

/// The text with a notice; the log is put aside as evidence, and the session begins anew.
#[track_caller]
fn begins_anew(ws: &Workspace, words: &[&str]) {
    let words = &[&["nothing is remembered of this answer"], words, &["s.log.retired-", "begins anew"]].concat();
    assert_eq!(ws.run("read a.txt --session s").noticed(words), numbered(40));
    assert_eq!(ws.read("a.txt"), numbered(40), "plain first");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

/// Commands that need the store report what is wrong with it.
#[track_caller]
fn status_refuses(ws: &Workspace, words: &[&str]) {
    ws.run("status").refused(1, words);
    ws.run("session list").refused(1, words);
    ws.run("session compact --session s").refused(1, words);
}

#[test]
fn the_store_is_a_file() {
    let ws = Workspace::with(&[("a.txt", &numbered(40)), (".readproof", "mine\n")]);
    let words = ["`.readproof` is not a directory", "move it away"];
    plain_with_notice(&ws, "no_store", &words);
    status_refuses(&ws, &words);
    assert_eq!(ws.get(".readproof"), "mine\n");
    fs::remove_file(ws.path(".readproof")).unwrap();
    assert_eq!(ws.read("a.txt"), numbered(40), "plain first");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn the_store_is_a_link() {
    let ws = Workspace::with(&[("a.txt", &numbered(40)), ("inside/x", "")]);
    fs::create_dir(ws.top().join("elsewhere")).unwrap();
    for target in ["../elsewhere", "inside", "nowhere"] {
        ws.link(".readproof", target);
        let words = ["`.readproof` is a symbolic link", "remove the link"];
        plain_with_notice(&ws, "no_store", &words);
        status_refuses(&ws, &words);
        fs::remove_file(ws.path(".readproof")).unwrap();
    }
    assert_eq!(fs::read_dir(ws.top().join("elsewhere")).unwrap().count(), 0);
    assert_eq!(ws.names(), ["a.txt", "inside"]);
}

#[test]
fn the_store_can_be_used_by_others() {
    let ws = known();
    for part in [".readproof", ".readproof/objects", ".readproof/log", ".readproof/tmp", ".readproof/format"] {
        let mode = ws.mode(part);
        ws.chmod(part, mode | 0o055);
        plain_with_notice(&ws, "no_store", &[&format!("`{part}` can be used by others"), "chmod -R go= .readproof"]);
        ws.chmod(part, mode);
    }
}

#[test]
fn the_store_is_newer() {
    let ws = known();
    ws.put(".readproof/format", "3\n");
    let words = ["the store has format 3, this program knows 2", "use a newer readproof"];
    plain_with_notice(&ws, "no_store", &words);
    status_refuses(&ws, &words);
    assert_eq!(ws.get(".readproof/format"), "3\n", "a newer store is left alone");
}

#[test]
fn the_format_is_garbage() {
    let ws = known();
    for garbage in ["", "2", "two\n", "0\n", "-1\n", "2\n2\n", "99999999999999999999\n"] {
        ws.put(".readproof/format", garbage);
        plain_with_notice(&ws, "no_store", &["the store is damaged at `.readproof/format`", "delete `.readproof`"]);
    }
}

#[test]
fn a_part_of_the_store_is_a_file() {
    for part in ["objects", "log", "tmp"] {
        let ws = known();
        let path = format!(".readproof/{part}");
        fs::remove_dir_all(ws.path(&path)).unwrap();
        ws.put(&path, "");
        plain_with_notice(&ws, "no_store", &[&format!("`{path}` is not a directory"), "move it away"]);
    }
}

/// Knowledge is in the log; only a diff needs the object. Without it, the text is sent.
#[test]
fn the_objects_are_missing() {
    let ws = known();
    fs::remove_dir_all(ws.path(".readproof/objects")).unwrap();
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    let answer = ws.run("read a.txt --session s --json").json();
    assert_eq!((&answer["mode"], &answer["reason"]), (&"baseline_fallback".into(), &"base_missing".into()));
    assert_eq!(answer["text"], ws.get("a.txt"));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn an_object_was_altered() {
    let ws = known();
    let name = fs::read_dir(ws.path(".readproof/objects")).unwrap().next().unwrap().unwrap().path();
    fs::write(name, numbered(40).replace("\n30\n", "\nXX\n")).unwrap();
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    assert_eq!(ws.read("a.txt"), ws.get("a.txt"));
}

#[test]
fn one_byte_of_the_log_was_flipped() {
    let good = known();
    let log = fs::read(good.path(".readproof/log/s.log")).unwrap();
    // The last byte is a newline: without it the line is a torn tail, which is not damage.
    for at in [0, 30, 100, log.len() / 2, log.len() - 2] {
        let ws = known();
        let mut bytes = log.clone();
        bytes[at] ^= 1;
        ws.put(".readproof/log/s.log", &bytes);
        ws.run("status --session s").refused(1, &["is damaged at line"]);
        begins_anew(&ws, &["the log of session `s` is damaged at line"]);
        assert_eq!(fs::read(ws.path(".readproof/log/s.log.retired-1")).unwrap(), bytes, "kept as evidence");
        ws.run("read a.txt --session another").gives(&numbered(40));
    }
}

#[test]
fn lines_of_the_log_were_swapped_or_taken_out() {
    let ws = known();
    let log = ws.get(".readproof/log/s.log");
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let swapped = [lines[0], lines[2], lines[1], lines[3]].concat();
    for text in [lines[1..].concat(), [&lines[..1], &lines[2..]].concat().concat(), swapped, format!("\n{log}")] {
        ws.put(".readproof/log/s.log", text);
        begins_anew(&ws, &["is damaged at line"]);
    }
}

#[test]
fn a_torn_tail_is_tolerated() {
    let ws = known();
    let whole = fs::read(ws.path(".readproof/log/s.log")).unwrap();
    let cut = whole.len() - 10;
    ws.put(".readproof/log/s.log", &whole[..cut]);
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]", "the last line said nothing new");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
    ws.run("session show --session s").text();
}

#[test]
fn a_tail_torn_in_a_confirmation_leaves_the_answer_unconfirmed() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    ws.read("a.txt");
    let whole = fs::read(ws.path(".readproof/log/s.log")).unwrap();
    ws.put(".readproof/log/s.log", &whole[..whole.len() - 10]);
    assert!(ws.run("session show --session s").text().contains("not confirmed"));
    assert_eq!(ws.read("a.txt"), numbered(40));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn the_log_is_something_else() {
    let ws = known();
    let log = ws.path(".readproof/log/s.log");
    let kept = ws.top().join("kept.log");
    fs::rename(&log, &kept).unwrap();
    fs::create_dir(&log).unwrap();
    begins_anew(&ws, &["`.readproof/log/s.log` is not a regular file"]);
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&kept, &log).unwrap();
    begins_anew(&ws, &["`.readproof/log/s.log` is a symbolic link"]);
    fs::remove_file(&log).unwrap();
    assert_eq!(finish(ws.command("mkfifo").args(["-m", "600"]).arg(&log)).code, Some(0));
    begins_anew(&ws, &["`.readproof/log/s.log` is not a regular file"]);
    fs::remove_file(&log).unwrap();
    assert_eq!(ws.read("a.txt"), numbered(40), "a session without a log begins anew");
}

#[test]
fn the_log_can_be_used_by_others() {
    let ws = known();
    ws.chmod(".readproof/log/s.log", 0o644);
    begins_anew(&ws, &["`.readproof/log/s.log` can be used by others (mode 0644)"]);
}

/// The disk is full from the start.
#[test]
fn no_file_can_be_written_at_all() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    // The owner of the store is known.
    let state = ws.top().join("home/.local/state/readproof");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("id"), "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(state.join("id"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for _ in 0..3 {
        let done = limited(&ws, 0, "read a.txt --session s");
        assert_eq!(done.noticed(&["nothing is remembered", "no space left"]), numbered(40));
    }
    assert_eq!(ws.read("a.txt"), numbered(40), "plain first");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

/// The disk fills up while a session runs: the answer that the log has no room for takes the log out of use.
#[test]
fn the_log_can_grow_no_more() {
    let ws = known();
    let full = |done: &Done| done.err.contains("no space left");
    let mut answers = (0..40).map(|_| limited(&ws, 8, "read a.txt --session s"));
    let first = answers.find(full).expect("8 blocks are soon full");
    assert_eq!(first.noticed(&["nothing is remembered"]), numbered(40));
    ws.put("a.txt", numbered(40).replace("\n20\n", "\ntwenty\n"));
    assert_eq!(ws.read("a.txt"), ws.get("a.txt"), "plain first");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
    assert!(ws.path(".readproof/log/s.log.retired-1").exists(), "the old log is kept");
}

/// The version log has no room for its first line: the edit is refused before anything is touched.
#[test]
fn the_version_log_cannot_be_begun() {
    let ws = known();
    assert!(!ws.path(".readproof/log/versions").exists(), "only changes begin it");
    let words = "edit a.txt --old 39 --new x --session s";
    limited(&ws, 0, words).refused(1, &["there is no space left for the log of the workspace's versions"]);
    assert_eq!(ws.get("a.txt"), numbered(40));
    ws.run(words);
    assert_eq!(ws.get("a.txt"), numbered(40).replace("39", "x"), "with room it is made");
}

/// Runs `readproof` where no file can grow beyond this many blocks of 512 bytes: what stands in for a full or read-only disk
/// where nothing can be mounted. It stops root too.
pub(crate) fn limited(ws: &Workspace, blocks: u32, words: &str) -> Done {
    ws.shell(&format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), words)
}

/// A command in which `script` runs in its own mount namespace. `None` where the system does not permit that: the caller
/// then tests the same with [`limited`]. `cargo xtask check` and `test` end with a note in that case.
pub(crate) fn with_mounts(ws: &Workspace, script: &str) -> Option<Command> {
    let unshared = |script: &str| {
        let mut command = ws.command("unshare");
        command.args(["-rm", "sh", "-ec", script, "sh", READPROOF]);
        command
    };
    let probe = unshared("mkdir ../probe && mount -t tmpfs tmpfs ../probe").output();
    probe.is_ok_and(|output| output.status.success()).then(|| unshared(script))
}

#[test]
fn a_read_only_store() {
    let ws = known();
    let script = "mount --bind .readproof .readproof; mount -o remount,ro,bind .readproof
        for word in one two; do \"$1\" read a.txt --session s; done; \"$1\" read a.txt --session new; \"$1\" read a.txt
        \"$1\" edit a.txt --session s --old 39 --new x && exit 9; \"$1\" doctor > ../doctor && exit 9; true";
    let Some(mut command) = with_mounts(&ws, script) else {
        let done = limited(&ws, 0, "read a.txt --session s");
        assert_eq!(done.noticed(&["nothing is remembered of this answer"]), numbered(40));
        return;
    };
    let out = finish(&mut command).noticed(&[
        "nothing is remembered of this answer: the log of session `s` lies on a read-only file system",
        "the log of session `new` lies on a read-only file system",
        "use another session than s",
    ]);
    assert_eq!(out, numbered(40).repeat(4));
    assert_eq!(ws.get("a.txt"), numbered(40), "no edit without its history");
    let doctor = ws.get("../doctor");
    assert!(doctor.contains("`.readproof/objects` lies on a read-only file system"), "{doctor}");
    assert!(doctor.contains("-> make it writable"), "{doctor}");
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]", "it can be written again");
}

#[test]
fn a_read_only_workspace_without_a_store() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    let script = "mount --bind . .; cd \"$PWD\"; mount -o remount,ro,bind .
        for word in one two; do \"$1\" read a.txt --session s; done; \"$1\" status";
    let Some(mut command) = with_mounts(&ws, script) else {
        for _ in 0..2 {
            let done = limited(&ws, 0, "read a.txt --session s");
            assert_eq!(done.noticed(&["nothing is remembered of this answer"]), numbered(40));
        }
        assert_eq!(ws.read("a.txt"), numbered(40), "plain first");
        return;
    };
    let out = finish(&mut command).noticed(&["`.readproof` lies on a read-only file system"]);
    assert!(out.starts_with(&numbered(40).repeat(2)), "{out}");
    assert!(out.contains("none yet"), "{out}");
    assert_eq!(ws.read("a.txt"), numbered(40), "plain first");
}

/// Each read on a full disk fails to begin a log; empty logs are not kept.
#[test]
fn a_full_disk_is_not_littered_with_logs() {
    let ws = known();
    for _ in 0..5 {
        assert_eq!(limited(&ws, 0, "read a.txt --session s").noticed(&["nothing is remembered"]), numbered(40));
    }
    assert_eq!(names_in(&ws.path(".readproof/log")), ["s.log.retired-1"]);
}

/// If there is no room for the text after an edit, the file stays unchanged.
#[test]
fn an_edit_without_room_for_its_text_is_not_made() {
    let ws = known();
    ws.put("large.txt", numbered(2000));
    let done = limited(&ws, 8, "edit large.txt --session s --old 1999 --new x");
    done.refused(1, &["no space left for `.readproof/objects/"]);
    assert_eq!(ws.get("large.txt"), numbered(2000));
    assert_eq!(names_in(&ws.path(".readproof/tmp")), [""; 0]);
    let text = ws.run("replay --verify").text();
    assert!(!text.contains("writes"), "nothing was begun: {text}");
}

#[test]
fn a_full_disk_under_the_store() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    let script = "mkdir -m 700 .readproof; mount -t tmpfs -o size=64k,mode=700 tmpfs .readproof
        \"$1\" read a.txt --session s; head -c 99999 /dev/zero > .readproof/fill 2>/dev/null || true
        seq 1 9000 > b.txt; \"$1\" read b.txt --session s --set answer_lines=3; rm .readproof/fill
        \"$1\" read b.txt:1-3 --session s";
    let words = ["no space left for `.readproof/objects/"];
    let out = with_mounts(&ws, script).map_or_else(
        || {
            let first = ws.read("a.txt");
            ws.put("b.txt", numbered(9000));
            let second = limited(&ws, 8, "read b.txt --session s --set answer_lines=3").noticed(&words);
            [first, second, ws.read("b.txt:1-3")].concat()
        },
        |mut command| finish(&mut command).noticed(&words),
    );
    let whole = format!("{}1\n2\n3\n[readcache: unchanged in lines 1-3 of 9000]", numbered(40));
    let anew = format!("{}1\n2\n3\n1\n2\n3\n", numbered(40));
    assert!(out == whole || out == anew, "{out}");
}

#[test]
fn an_empty_or_half_made_store_is_finished() {
    let ws = Workspace::with(&[("a.txt", &numbered(40))]);
    fs::create_dir(ws.path(".readproof")).unwrap();
    ws.chmod(".readproof", 0o700);
    ws.run("status").text();
    assert_eq!(ws.read("a.txt"), numbered(40));
    assert_eq!(ws.read("a.txt"), "[readcache: unchanged, 40 lines]");
}

#[test]
fn the_store_is_private_and_ignores_itself() {
    let ws = known();
    for folder in [".readproof", ".readproof/objects", ".readproof/log", ".readproof/tmp"] {
        assert_eq!(ws.mode(folder), 0o700, "{folder}");
    }
    for file in [".readproof/format", ".readproof/.gitignore", ".readproof/log/s.log"] {
        assert_eq!(ws.mode(file), 0o600, "{file}");
    }
    assert_eq!(ws.get(".readproof/.gitignore"), "*\n");
    assert_eq!(fs::read_dir(ws.path(".readproof/tmp")).unwrap().count(), 0);
}
