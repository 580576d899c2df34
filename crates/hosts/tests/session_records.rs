//! Records that no program of ours writes: they mean nothing, and nothing follows from them.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::{
    decide::{Ask, Base, Reason, decide},
    knowledge::Event,
    limits::{Answers, Limits},
    path::PathKey,
    render::render,
    text::{Form, Text},
};
use readproof_hosts::session::{Answered, EntryId, Record, Transcript};

#[test]
fn an_unknown_record_stays_one_when_it_is_copied() {
    for (raw, copied) in [
        (r#"{"kind":"later","parent":7,"x":[1, 2.50]}"#, r#"{"kind":"later","parent":7,"x":[1, 2.50]}"#),
        // More digits than a float has.
        (r#"{"parent":7,"x":128446744073709551615}"#, r#"{"parent":7,"x":128446744073709551615}"#),
        // Not an object.
        ("[7]", r#"{"parent":7}"#),
        // A field twice: with only the last it would be a record.
        (r#"{"kind":"begun","parent":7,"path":1,"path":"a","at":1}"#, r#"{"parent":7}"#),
    ] {
        let record = Record::parse(raw).unwrap();
        assert!(matches!(record, Record::Unknown { parent: Some(7), .. }), "{record:?}");
        assert_eq!(record.to_json(), copied);
        assert!(matches!(Record::parse(copied), Some(Record::Unknown { parent: Some(7), .. })));
    }
}

#[test]
fn nothing_is_delivered_before_it_is_there() {
    let mut transcript = Transcript::new(Answers::Held);
    let begun = |parent| Record::Begun { parent, path: "a".to_owned(), at: 0 };
    transcript.push(1, begun(None));
    transcript.push(2, Record::Delivered { parent: Some(1), of: 3 });
    transcript.push(3, begun(Some(2)));
    assert_eq!(transcript.settled(EntryId(3)), EntryId(3));
    transcript.push(4, Record::Delivered { parent: Some(3), of: 3 });
    assert_eq!(transcript.settled(EntryId(3)), EntryId(4));
}

#[test]
fn an_entry_that_cannot_be_is_its_own_tip() {
    let transcript = Transcript::new(Answers::Held);
    assert_eq!(transcript.tip(EntryId(u64::MAX)), EntryId(u64::MAX));
}

/// Records that were written before texts had forms say nothing of one, and so do those of today's answers.
#[test]
fn a_record_without_a_form_is_of_the_bytes_on_the_disk() {
    let record = |form| {
        let (limits, path) = (Limits::default(), PathKey::new("a"));
        let text = Text::in_form("1\n2\n".to_owned(), form);
        let ask = Ask::new(&text, None, None, &limits).unwrap();
        let shown = render(&decide(&text, &path, &ask, Base::None(Reason::NotHeld), &limits), &text, &ask);
        let answer = Answered::new(&path, &shown, (None, None), (Answers::Held, limits), 0);
        Record::Answer { parent: None, answer: Box::new(answer) }.to_json()
    };
    let form = |raw: &str| match Record::parse(raw) {
        Some(Record::Answer { answer, .. }) => {
            let event = answer.event();
            assert!(matches!(event, Event::Shown { .. } | Event::Void { .. }), "{event:?}");
            if let Event::Shown { version, .. } = event { Some(version.form) } else { None }
        }
        other => panic!("{other:?}"),
    };
    let (disk, stripped) = (record(Form::Disk), record(Form::Stripped));
    assert!(!disk.contains("form"), "{disk}");
    assert_eq!(form(&disk), Some(Form::Disk));
    assert_eq!(form(&stripped), Some(Form::Stripped));
    assert_eq!(stripped.replace(",\"form\":\"stripped\"", ""), disk);
    // A form of a later program: what was shown cannot be placed.
    assert_eq!(form(&stripped.replace("\"stripped\"", "\"later\"")), None);
}
