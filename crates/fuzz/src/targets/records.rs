//! Records of our own sessions, to start from: real answers, changes, deliveries, moves, barriers.

use readproof_core::{
    decide::{Ask, Base, Decision, Reason, decide},
    knowledge::{Hunk, Keeps, Piece},
    limits::{Answers, Limits},
    path::PathKey,
    render::render,
    scope::Lines,
    text::Text,
};
use readproof_hosts::session::{AlikeLines, Answered, Block, Changed, Record, Sha, Stated};
use readproof_testkit::op::Random;

const TEXTS: [&str; 6] = ["", "a\n", "a\nb", "a\nb\nc\n", "a\nX\nc\n", "1\n2\n3\n4\n5\n6\n7\n8\n"];

/// The payloads of a short session.
pub(super) fn session(random: &mut Random) -> Vec<String> {
    let mut records = vec![Record::Open { v: 1, session: "s".to_owned(), forked_from: None, nonce: None, at: 1 }];
    let mut leaf = None;
    // Sometimes more lines are claimed than a file can have.
    let huge = (random.below(4) == 0).then(|| u32::MAX - u32::try_from(random.below(4)).unwrap_or(0));
    for _ in 0..1 + random.below(10) {
        step(&mut records, &mut leaf, huge, random);
    }
    records.iter().map(Record::to_json).collect()
}

fn push(records: &mut Vec<Record>, leaf: &mut Option<u64>, record: Record) -> u64 {
    records.push(record);
    *leaf = Some(records.len() as u64);
    records.len() as u64
}

fn step(records: &mut Vec<Record>, leaf: &mut Option<u64>, huge: Option<u32>, random: &mut Random) {
    let any = 1 + random.bits() % records.len() as u64;
    let parent = *leaf;
    let path = ["a", "b"][random.below(2)].to_owned();
    match random.below(15) {
        14 => {
            let (base, now) = (text(random), text(random));
            let total = huge.unwrap_or(now.total());
            let piece =
                (Sha(base.hash()), u32::from(random.below(4) > 0), total.saturating_add(1).min(base.total() + 1));
            let found = AlikeLines { path, version: (Sha(now.hash()), total), pieces: vec![piece], at: 1 };
            push(records, leaf, Record::Alike { parent, found: Box::new(found) });
        }
        0..=5 => {
            let of = push(records, leaf, Record::Answer { parent, answer: Box::new(answer(&path, huge, random)) });
            if random.below(8) > 0 {
                push(records, leaf, Record::Delivered { parent: Some(of), of });
            }
        }
        6 | 7 => {
            let begun = push(records, leaf, Record::Begun { parent, path: path.clone(), at: 1 });
            let changed = Box::new(change(begun, path, huge, random));
            let of = push(records, leaf, Record::Change { parent: Some(begun), changed });
            push(records, leaf, Record::Delivered { parent: Some(of), of });
        }
        8 => {
            let scope = ["full", "r:1:1", "r:2:9"][random.below(3)].to_owned();
            push(records, leaf, Record::Refresh { parent, paths: vec![path, "b".to_owned()], scope, at: 1 });
        }
        9 => drop(push(records, leaf, Record::Compact { parent, summary: None, at: 1 })),
        10 => {
            let block = (random.below(2) == 0).then(|| Block::of(TEXTS[random.below(TEXTS.len())]));
            push(records, leaf, Record::ContextEdit { parent, target: any, block, at: 1 });
        }
        11 => {
            records.push(Record::Switch { to: Some(any), at: 1 });
            *leaf = Some(any);
        }
        12 => drop(push(records, leaf, Record::Delivered { parent, of: any })),
        _ => {
            let raw = format!("{{\"kind\":\"later\",\"parent\":{any}}}");
            push(records, leaf, Record::Unknown { parent, raw });
        }
    }
}

fn text(random: &mut Random) -> Text {
    Text::new(TEXTS[random.below(TEXTS.len())].to_owned())
}

fn answer(path: &str, huge: Option<u32>, random: &mut Random) -> Answered {
    let (now, before, path) = (text(random), text(random), PathKey::new(path));
    let mut limits = Limits::default();
    match random.below(8) {
        0 | 1 => limits.answer_lines = 2,
        2 => limits.answer_bytes = 1,
        _ => {}
    }
    let asked = if random.below(3) == 0 { (Some(1), Some(1 + random.bits() % 3)) } else { (None, None) };
    let ask = Ask::new(&now, asked.0, asked.1, &limits);
    let ask = ask.unwrap_or_else(|error| panic!("line 1 can always be asked for: {error}"));
    let base = match random.below(4) {
        0 => Base::Same,
        1 => Base::Other { text: &before, whole: true },
        _ => Base::None(Reason::NotHeld),
    };
    let mut decision = decide(&now, &path, &ask, base, &limits);
    if let Some(lines) = ask.window.lines().filter(|_| random.below(4) == 0) {
        let named = 1 + u32::try_from(random.below(lines.count() as usize)).unwrap_or_default();
        let (base, shown_as) = ([now.hash(), before.hash()][random.below(2)], 1 + u32::from(random.below(3) == 0));
        let lines = Lines::new(lines.first(), lines.first() + named - 1);
        decision = Decision::partial(lines.map(|lines| Piece { base, shown_as, lines }).into_iter().collect());
    }
    let shown = render(&decision, &now, &ask);
    let mut answer = Answered::new(&path, &shown, asked, (Answers::Held, limits), 1);
    if let Some(total) = huge {
        answer.total = total;
        answer.lines = answer.lines.map(|(first, last)| (first, if last == now.total() { total } else { last }));
    }
    answer
}

fn change(begun: u64, path: String, huge: Option<u32>, random: &mut Random) -> Changed {
    let (before, after) = (text(random), text(random));
    let total = |text: &Text| huge.unwrap_or(text.total());
    let of = |text: &Text| Some((Sha(text.hash()), total(text)));
    let hunk = (random.below(2) == 0 && total(&before) > 0).then(|| {
        let line = if random.below(2) == 0 { 1 } else { total(&before) };
        let new = (i64::from(total(&after)) - i64::from(total(&before)) + 1).max(0);
        (line, line, u32::try_from(new).unwrap_or(0))
    });
    let stated = hunk.into_iter().filter_map(|(first, last, new_count)| {
        let keeps = [Keeps::Ends, Keeps::Head, Keeps::All][random.below(3)];
        Lines::new(first, last).map(|old| Stated::from(Hunk { old, new_count, keeps }))
    });
    let stated = stated.collect();
    Changed { begun, path, before: of(&before), after: of(&after), hunk, stated, block: None, at: 1 }
}
