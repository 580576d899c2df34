//! `readproof demo`: the README's first command.

use std::fs;

use crate::workspace::{Done, READPROOF, Workspace, finish, names_in};

/// Runs the demo with its own temporary folder, which must be empty afterwards.
#[track_caller]
fn demo(ws: &Workspace, words: &str) -> Done {
    let temp = ws.top().join("temp");
    fs::create_dir_all(&temp).unwrap();
    let done = finish(ws.command(READPROOF).arg("demo").args(words.split_whitespace()).env("TMPDIR", &temp));
    assert_eq!(names_in(&temp), [""; 0], "the demo left something behind");
    assert_eq!(ws.names(), [""; 0], "the demo touched the workspace");
    done
}

#[test]
fn it_shows_a_table() {
    let text = demo(&Workspace::new(), "").text();
    let header: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["step", "sent", "plain", "answer"]);
    for word in [
        "    because the file changed",
        "first read of inventory.py",
        "[readcache: unchanged, 66 lines]",
        "tokens saved",
        "+LOW_STOCK = 12",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    let total = text.lines().find(|line| line.starts_with("total ")).unwrap();
    let numbers: Vec<u64> = total.split([' ', '~']).filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers[1] - numbers[0], numbers[2], "{total}");
}

#[test]
fn it_is_the_same_every_time() {
    let ws = Workspace::new();
    assert_eq!(demo(&ws, "").text(), demo(&ws, "").text());
}

#[test]
fn its_json_adds_up() {
    let object = demo(&Workspace::new(), "--json").json();
    assert_eq!(object["ok"], true);
    let rows = object["rows"].as_array().unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("sent"), sum("plain")), {
        let total = |key: &str| object["tokens"][key].as_u64().unwrap();
        (total("sent"), total("plain"))
    });
    let answers: Vec<&str> = rows.iter().map(|row| row["answer"].as_str().unwrap()).collect();
    for kind in ["full, ", "diff, ", "[readcache: unchanged, ", "[readcache: unchanged in lines "] {
        assert!(answers.iter().any(|answer| answer.starts_with(kind)), "no {kind:?} in {answers:?}");
    }
}

#[test]
fn a_demo_that_cannot_be_written_leaves_nothing_either() {
    let ws = Workspace::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let temp = ws.top().join("temp");
    fs::create_dir(&temp).unwrap();
    let done = finish(ws.command(READPROOF).arg("demo").env("TMPDIR", &temp).stdout(writer));
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(names_in(&temp), [""; 0]);
}

#[test]
fn without_a_folder_for_temporary_files_it_says_so() {
    let ws = Workspace::new();
    let done = finish(ws.command(READPROOF).arg("demo").env("TMPDIR", "/nowhere"));
    done.refused(1, &["/nowhere/readproof-demo", "check it"]);
}
