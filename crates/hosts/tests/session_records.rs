//! Records that no program of ours writes: they mean nothing, and nothing follows from them.
#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

use readproof_core::limits::Answers;
use readproof_hosts::session::{EntryId, Record, Transcript};

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
