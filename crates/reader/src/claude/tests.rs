//! What a request shows, and what it does not.

use super::*;

/// The requests of a conversation, written shortly: `Read f`, `Edit f old new`, results behind `=>`.
#[derive(Default)]
struct Talk {
    judge: Judge,
    calls: usize,
}

const REMINDER: &str = "\n\n<system-reminder>\n<total_tokens>5 tokens left</total_tokens>\n</system-reminder>";

impl Talk {
    fn ask(&mut self, asks: Asks, text: &str, failed: bool) -> Option<Result<Rebuilt, Complaint>> {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.judge.see(&Seen::Message);
        self.judge.see(&Seen::Call(Call { id: id.clone(), asks }));
        self.judge.see(&Seen::Result { call: id, text: Some(text.to_owned()), failed })
    }

    fn read(&mut self, ask: (Option<i64>, Option<u64>), text: &str) -> Option<Result<Rebuilt, Complaint>> {
        let (offset, limit) = ask;
        self.ask(Asks::Read { path: "/w/f".to_owned(), offset, limit }, &format!("{text}{REMINDER}"), false)
    }

    fn edit(&mut self, old: &str, new: &str, all: bool) {
        let (path, old, new) = ("/w/f".to_owned(), old.to_owned(), new.to_owned());
        self.ask(Asks::Edit { path, old, new, all }, "updated", false);
    }

    fn shell(&mut self, command: &str, text: &str) {
        self.ask(Asks::Shell { command: command.to_owned() }, &format!("{text}{REMINDER}"), false);
    }

    /// What a marker stands for, lines joined by `|`, or the complaint.
    fn marker(&mut self, ask: (Option<i64>, Option<u64>), words: &str) -> String {
        match self.read(ask, &format!("0\t[readcache: {words}]")) {
            Some(Ok(rebuilt)) => format!("{}:{}", rebuilt.first, rebuilt.lines.join("|")),
            Some(Err(complaint)) => complaint.to_string(),
            None => "no marker".to_owned(),
        }
    }
}

const ALL: (Option<i64>, Option<u64>) = (None, None);

fn talk() -> Talk {
    Talk { judge: Judge::new("/w"), calls: 0 }
}

#[test]
fn a_whole_read_vouches_for_the_file() {
    let mut talk = talk();
    assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "/w/f: line 1 of 1-3 is not visible");
    assert_eq!(talk.read(ALL, "1\ta\n2\tb\n3"), None);
    assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "1:a|b|");
    assert!(talk.marker(ALL, "unchanged, 4 lines").contains("line 4 of 1-4"));
    assert_eq!(talk.marker((Some(2), Some(1)), "unchanged in lines 2-2 of 3"), "2:b");
    assert!(talk.marker((Some(2), Some(1)), "unchanged, 3 lines").contains("does not ask for the whole"));
    assert!(talk.marker((Some(2), None), "unchanged in lines 1-2 of 3").contains("begins at line 1"));
    assert!(talk.marker((Some(2), None), "unchanged in lines 2-2 of 3").contains("due are the lines up to 3"));
}

#[test]
fn lines_that_were_not_shown_are_not_held() {
    let mut talk = talk();
    talk.read((Some(2), Some(2)), "2\tb\n3\tc");
    assert!(talk.marker((Some(1), Some(2)), "unchanged in lines 1-2 of 9").contains("line 1 of 1-2"));
    assert!(talk.marker((Some(2), None), "unchanged in lines 2-4 of 4").contains("line 4 of 2-4"));
    assert_eq!(talk.marker((Some(2), Some(2)), "unchanged in lines 2-3 of 9"), "2:b|c");
    // As it is seen: the newest text of a line.
    talk.read((Some(3), Some(1)), "3\td");
    assert_eq!(talk.marker((Some(2), Some(2)), "unchanged in lines 2-3 of 9"), "2:b|d");
}

#[test]
fn edits_move_what_is_held() {
    let mut talk = talk();
    talk.read(ALL, "1\ta\n2\tb\n3\tc\n4");
    talk.edit("b", "x\ny", false);
    assert_eq!(talk.marker(ALL, "unchanged, 5 lines"), "1:a|x|y|c|");
    talk.edit("a", "", false);
    assert!(talk.marker(ALL, "unchanged, 4 lines").contains("line 1 of 1-4"), "the host takes the line's end along");
    talk.read((Some(2), Some(3)), "2\tb\n3\tb\n4\tc");
    talk.edit("b", "z", false);
    assert!(talk.marker((Some(2), Some(1)), "unchanged in lines 2-2 of 9").contains("not visible"), "two places");
    talk.read((Some(2), Some(3)), "2\tb\n3\tk\n4\tc");
    talk.edit("k", "z\nz", false);
    assert_eq!(talk.marker((Some(2), Some(4)), "unchanged in lines 2-5 of 9"), "2:b|z|z|c");
    talk.edit("b", "q", true);
    assert!(talk.marker((Some(2), Some(1)), "unchanged in lines 2-2 of 9").contains("not visible"), "elsewhere too");
}

#[test]
fn other_eyes_take_what_they_contradict() {
    let mut talk = talk();
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.shell("cat f", "a\nb");
    assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "1:a|b|");
    talk.shell("cat /w/f", "a\nc");
    assert!(talk.marker(ALL, "unchanged, 2 lines").contains("not visible"));
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.shell("grep -n b f", "2:bb");
    assert!(talk.marker(ALL, "unchanged, 3 lines").contains("line 2 of 1-3"));
}

#[test]
fn a_program_that_prints_a_file_without_naming_it() {
    let mut talk = talk();
    let sight = |first, text: &str| Sight { path: "/w/f".to_owned(), first, text: text.to_owned() };
    talk.judge.shows("./show 1", sight(None, "a\nb"));
    talk.judge.shows("./show 2", sight(Some(2), "c"));
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.shell("./show 1", "");
    assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "1:a|b|");
    talk.shell("./show 2", "");
    assert!(talk.marker(ALL, "unchanged, 3 lines").contains("not visible"));
}

#[test]
fn attached_files_and_notes() {
    let mut talk = talk();
    let said = |talk: &mut Talk, text: &str| {
        drop(talk.judge.see(&Seen::Text(format!("<system-reminder>\n{text}\n</system-reminder>"))))
    };
    said(&mut talk, "Called the Read tool with the following input: {\"file_path\":\"/w/f\"}");
    said(&mut talk, "Result of calling the Read tool:\n1\ta\n2\tb \n3\t");
    assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "1:a|b |");
    said(&mut talk, "Note: /w/f was modified, either by the user or by a linter. Changes:\n2\tc\n3\td");
    assert!(talk.marker(ALL, "unchanged, 2 lines").contains("not visible"));
    assert_eq!(talk.marker((Some(2), Some(2)), "unchanged in lines 2-3 of 9"), "2:c|d");
}

#[test]
fn a_note_behind_a_text_that_has_the_tag() {
    let note =
        "<system-reminder>\nNote: /w/f was modified, either by the user or by a linter.\n2\tc\n</system-reminder>";
    for printed in ["x\n\n<system-reminder>\ny", "\n\n<system-reminder><system-reminder>\ny", "x"] {
        let mut talk = talk();
        talk.read(ALL, "1\ta\n2\tb\n3");
        talk.shell("make", &format!("{printed}\n\n{note}"));
        assert!(talk.marker(ALL, "unchanged, 3 lines").contains("not visible"), "{printed}");
    }
}

#[test]
fn names_as_the_model_wrote_them() {
    for name in ["f", "./f", " /w/f", "/w/f ", "/w//f", "/w/x/../f", "~/w/f"] {
        let mut talk = Talk { judge: Judge::new("/w").of_person("/"), calls: 0 };
        talk.read(ALL, "1\ta\n2\tb\n3");
        let (path, old, new) = (name.to_owned(), "b".to_owned(), "c".to_owned());
        talk.ask(Asks::Edit { path, old, new, all: false }, "updated", false);
        assert_eq!(talk.marker(ALL, "unchanged, 3 lines"), "1:a|c|", "{name:?}");
    }
}

#[test]
fn numbers_from_zero_place_nothing() {
    let mut talk = talk();
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.read((Some(0), None), "0\ta\n1\tb\n2");
    assert!(talk.marker(ALL, "unchanged, 2 lines").contains("not visible"));
}

#[test]
fn a_command_in_the_same_message() {
    let mut talk = talk();
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.judge.see(&Seen::Message);
    let read = Asks::Read { path: "/w/f".to_owned(), offset: None, limit: None };
    let command = "make".to_owned();
    talk.judge.see(&Seen::Call(Call { id: "x".to_owned(), asks: Asks::Shell { command } }));
    talk.judge.see(&Seen::Call(Call { id: "y".to_owned(), asks: read }));
    let marker = Some("0\t[readcache: unchanged, 3 lines]".to_owned());
    assert!(talk.judge.see(&Seen::Result { call: "y".to_owned(), text: marker, failed: false }).unwrap().is_err());
}

#[test]
fn a_change_in_the_same_message() {
    let mut talk = talk();
    talk.read(ALL, "1\ta\n2\tb\n3");
    talk.judge.see(&Seen::Message);
    let read = Asks::Read { path: "/w/f".to_owned(), offset: None, limit: None };
    let edit = Asks::Edit { path: "/w/f".to_owned(), old: "a".to_owned(), new: "c".to_owned(), all: false };
    talk.judge.see(&Seen::Call(Call { id: "x".to_owned(), asks: edit }));
    talk.judge.see(&Seen::Call(Call { id: "y".to_owned(), asks: read }));
    let marker = Some("0\t[readcache: unchanged, 2 lines]".to_owned());
    let came = talk.judge.see(&Seen::Result { call: "y".to_owned(), text: marker, failed: false });
    assert!(came.unwrap().is_err());
}

#[test]
fn markers_that_are_taken_back() {
    let told = "SessionStart hook additional context: [readproof: a result `[readcache: unchanged ...]` from before this compaction stands \
                for text that may be out of sight now; read the file again to see it]";
    let mut talk = talk();
    assert!(talk.marker(ALL, "unchanged, 2 lines").contains("not visible") && !talk.judge.retracts());
    talk.judge.see(&Seen::Text(format!("<system-reminder>\n{told}\n</system-reminder>")));
    assert!(talk.judge.retracts());
    talk.judge.see(&Seen::Message);
    assert!(!talk.judge.retracts());
    talk.judge.see(&Seen::Text(format!("{told} and so on")));
    assert!(!talk.judge.retracts());
}
