//! The hash-chained session log and its records. Input: four bytes (what to do, where the file is cut or altered and how),
//! then one payload per line, for which a correct chain is made here; or, if the first byte says so, the file itself.

use readproof_core::{
    knowledge::{Held, Knowledge},
    limits::Answers,
    path::PathKey,
    scope::Lines,
    text::{ContentHash, Version},
};
use readproof_disk::{Create, Log, LogError, LogName, Payload, Store};
use readproof_hosts::session::{Block, EntryId, Past, Record, SeenFile, Session, SessionError, Sha, Transcript};
use readproof_testkit::op::Random;

use super::{
    Seen, Target, held,
    records::session,
    scratch::{self, Scratch},
};

pub(super) const TARGET: Target = Target {
    name: "log",
    accepts: "the chain is whole and something in it is a record",
    check,
    start,
    words: &[
        "{\"kind\":\"open\",\"v\":1,\"session\":\"s\",\"at\":1}\n",
        "{\"kind\":\"open\",\"v\":2,\"session\":\"s\",\"at\":1}\n",
        "\"parent\":null",
        "\"parent\":1",
        "\"parent\":18446744073709551615",
        "\"kind\":\"answer\"",
        "\"kind\":\"delivered\"",
        "\"of\":2",
        "\"kind\":\"compact\"",
        "\"kind\":\"context_edit\"",
        "\"target\":3",
        "\"kind\":\"switch\"",
        "\"to\":2",
        "\"kind\":\"distrust\"",
        "\"kind\":\"later\"",
        "\"kind\":\"refresh\"",
        "\"scope\":\"r:1:2\"",
        "\"scope\":\"full\"",
        "\"hunk\":[1,1,1]",
        "\"hunk\":[1,4294967295,4294967295]",
        "\"total\":4294967295",
        "\"total\":4294967294",
        "\"lines\":[1,4294967295]",
        "\"part\":1",
        "\"end\":true",
        "\"mode\":\"unchanged\"",
        "\"mode\":\"unchanged_range\"",
        "\"mode\":\"diff\"",
        "\"mode\":\"full\"",
        "[5]",
        "[null]",
        "{\"parent\":3}",
        "{}",
        "null",
        "\n",
        "\u{18}",
        "\u{18}0\u{18}",
        "\\u0018",
        "\\n",
        ",4294967295]",
        "\"begun\":2",
    ],
    most: 4000,
};

/// Further lines are left out.
const MOST_LINES: usize = 48;

fn start(random: &mut Random) -> Vec<u8> {
    let mut input = random.bits().to_le_bytes()[..4].to_vec();
    let payloads = session(random);
    if input[0] & RAW == 0 {
        input.extend(payloads.join("\n").into_bytes());
    } else {
        input.extend(chained(&payloads));
    }
    input
}

/// The bit of the first byte that says whether the rest is the file itself.
const RAW: u8 = 0x80;

fn check(input: &[u8]) -> Seen {
    let (knobs, bytes) = input.split_at_checked(4).unwrap_or((&[RAW, 0, 0, 0], input));
    scratch::with(|scratch| {
        if knobs[0] & RAW != 0 {
            return as_it_is(scratch, bytes);
        }
        let text = String::from_utf8_lossy(bytes).replace('\u{18}', "");
        let payloads: Vec<String> = text.split('\n').take(MOST_LINES).map(str::to_owned).collect();
        let file = chained(&payloads);
        let place = file.len() * usize::from(u16::from_le_bytes([knobs[1], knobs[2]])) / 65536;
        let (kind, transcript) = understood(&payloads);
        // Only one of them each time: opening files takes longer than all the rest.
        match knobs[0] % 8 {
            0 | 1 => read_in_two(scratch, &payloads, &file, place),
            2..=4 => one_byte_altered(scratch, &payloads, &file, place, knobs[3].max(1)),
            5 => appended_after_a_torn_write(scratch, &payloads, &file, place),
            which => opened(scratch, &file, &transcript, which == 7),
        }
        Seen { accepted: kind & 0xfff != 0, kind }
    })
}

/// The log file with these payloads, according to the format.
fn chained(payloads: &[String]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut last = [0; 32];
    for payload in payloads {
        let hash = ContentHash::of_parts(&[&last, payload.as_bytes()]);
        file.extend(format!("{hash} {payload}\n").into_bytes());
        last = *hash.as_bytes();
    }
    file
}

fn open(scratch: &Scratch) -> Box<dyn Log> {
    let opened = scratch.store.logs().open(&LogName::from(&scratch.session), Create::No);
    opened.ok().flatten().unwrap_or_else(|| panic!("the log is there"))
}

/// Payloads and their line numbers, as a reader must return them.
fn expected(payloads: &[String]) -> Vec<Payload> {
    payloads.iter().zip(1..).map(|(text, line)| Payload { line, text: text.clone() }).collect()
}

/// Any bytes: two readers agree, and what is read is a valid chain.
fn as_it_is(scratch: &Scratch, bytes: &[u8]) -> Seen {
    scratch.log.set(bytes);
    let read = || {
        let (mut log, mut payloads) = (open(scratch), Vec::new());
        let outcome = log.catch_up_into(&mut payloads).map_err(|error| error.to_string());
        (payloads, outcome, log.lines(), log.torn())
    };
    let first = read();
    assert_eq!(first, read());
    let (payloads, outcome, lines, torn) = first;
    assert_eq!(lines, payloads.len() as u64 + torn, "every line is a payload or a fragment");
    let texts: Vec<String> = payloads.into_iter().map(|payload| payload.text).collect();
    if torn == 0 {
        assert!(bytes.starts_with(&chained(&texts)), "what was read is what stands there");
    }
    let past = Past::read(&scratch.store, &scratch.session);
    assert_eq!(past.ok().flatten().map(|past| past.lines.len()), Some(texts.len()));
    let whole = outcome.is_ok() && !texts.is_empty();
    let size = u64::from(lines.checked_ilog2().map_or(0, |log| log + 1));
    Seen { accepted: whole, kind: 1 << 63 | size << 8 | u64::from(torn > 0) << 1 | u64::from(outcome.is_ok()) }
}

/// A reader that sees a part of the file first gets every payload once.
fn read_in_two(scratch: &Scratch, payloads: &[String], file: &[u8], cut: usize) {
    scratch.log.set(&file[..cut]);
    let mut log = open(scratch);
    let mut caught_up = || log.catch_up().unwrap_or_else(|error| panic!("a true chain: {error}"));
    let mut got = caught_up();
    assert!(got.len() <= file[..cut].iter().filter(|byte| **byte == b'\n').count());
    scratch.log.put(cut, &file[cut..]);
    got.extend(caught_up());
    assert_eq!(got, expected(payloads));
    assert_eq!(log.torn(), 0);
}

/// If a byte was changed, its line is named, and the lines before it are returned.
fn one_byte_altered(scratch: &Scratch, payloads: &[String], file: &[u8], place: usize, by: u8) {
    scratch.log.set(file);
    scratch.log.put(place, &[file[place] ^ by]);
    let line = file[..place].iter().filter(|byte| **byte == b'\n').count();
    let mut got = Vec::new();
    let outcome = open(scratch).catch_up_into(&mut got);
    assert_eq!(got, expected(&payloads[..line]));
    match outcome {
        Err(LogError::Damaged { line: named, .. }) => assert_eq!(named, line as u64 + 1),
        Ok(()) => assert_eq!(place + 1, file.len(), "only the last line end may be missing"),
        Err(error) => panic!("{error}"),
    }
}

/// A writer after an interrupted write seals what is left of it, and continues.
fn appended_after_a_torn_write(scratch: &Scratch, payloads: &[String], file: &[u8], place: usize) {
    let line_end = file[place..].iter().position(|byte| *byte == b'\n').map_or(file.len(), |end| place + end);
    let fragment = &file[place..line_end];
    scratch.log.set(&[file, fragment].concat());
    let mut log = open(scratch);
    log.catch_up().unwrap_or_else(|error| panic!("a torn tail is no damage: {error}"));
    let number = log.append("{}").unwrap_or_else(|error| panic!("{error}"));
    let torn = u64::from(!fragment.is_empty());
    assert_eq!(number, payloads.len() as u64 + torn + 1);
    let mut after = expected(payloads);
    after.push(Payload { line: number, text: "{}".to_owned() });
    let mut again = open(scratch);
    assert_eq!(again.catch_up().ok(), Some(after));
    assert_eq!(again.torn(), torn);
}

/// The records of a log: each is printed and parsed again, and their tree is sound.
fn understood(payloads: &[String]) -> (u64, Transcript) {
    let mut transcript = Transcript::new(Answers::Held);
    let mut kind = 0;
    for (text, line) in payloads.iter().zip(1..) {
        let Some(record) = Record::parse(text) else { continue };
        kind |= 1 << sort(&record);
        read_back(&record);
        read_back(&filled(record.clone(), line));
        transcript.push(line, record);
    }
    let newest = payloads.len() as u64;
    kind |= held::sound(&transcript.knowledge(), newest) << 16;
    for entry in transcript.entries() {
        held::sound(&transcript.knowledge_at(Some(entry.id.0)), newest);
        let branch = transcript.branch(Some(entry.id));
        assert!(branch.is_sorted() && branch.last() == Some(&entry.id), "{branch:?}");
        assert!(transcript.tip(entry.id) >= entry.id);
        assert!((entry.id.0..=newest).contains(&transcript.settled(entry.id).0));
        assert_eq!(entry.id.to_string().parse(), Ok(entry.id));
        assert!(transcript.parent_for_result(entry.id).is_some());
        let _ = transcript.reaches(Some(entry.id.0));
    }
    for odd in [0, newest + 1, u64::MAX] {
        assert!(transcript.entry(EntryId(odd)).is_none());
        assert!(transcript.tip(EntryId(odd)) >= EntryId(odd));
    }
    kind |= u64::from(transcript.is_pending(&PathKey::new("a"))) << 24 | u64::from(transcript.is_distrusted()) << 25;
    let (entries, reads) = transcript.window();
    assert!(entries >= reads.len() && reads.len() <= payloads.len());
    (kind, transcript)
}

fn sort(record: &Record) -> u64 {
    match record {
        Record::Open { .. } => 0,
        Record::Answer { .. } => 1,
        Record::Begun { .. } => 2,
        Record::Change { .. } => 3,
        Record::Delivered { .. } => 4,
        Record::Refresh { .. } => 5,
        Record::Compact { .. } => 6,
        Record::ContextEdit { .. } => 7,
        Record::Distrust { .. } => 8,
        Record::Switch { .. } => 9,
        Record::Seen { .. } => 10,
        Record::Alike { .. } => 11,
        Record::Unknown { .. } => 12,
    }
}

/// A printed record is one line and means the same.
fn read_back(record: &Record) {
    let printed = record.to_json();
    assert!(!printed.contains(['\n', '\u{18}']), "{printed:?} cannot be appended");
    let again = Record::parse(&printed).unwrap_or_else(|| panic!("{printed:?} is no record any more"));
    assert_eq!(again.to_json(), printed);
    assert_eq!(sort(&again), sort(record));
    assert_eq!(again.mentions(), record.mentions());
    if !matches!(record, Record::Unknown { .. }) {
        assert_eq!(format!("{again:?}"), format!("{record:?}"));
    }
}

/// The record with every optional field: printing must not depend on which fields were read.
fn filled(mut record: Record, number: u64) -> Record {
    let small = u32::try_from(number).unwrap_or(u32::MAX);
    let sha = Sha(ContentHash::of(&number.to_le_bytes()));
    match &mut record {
        Record::Open { forked_from, nonce, .. } => {
            (*forked_from, *nonce) = (Some(("f".to_owned(), Some(number))), Some(number.to_string()));
        }
        Record::Answer { parent, answer } => {
            (*parent, answer.offset, answer.limit, answer.for_program) = (Some(number), Some(number), Some(1), true);
            (answer.hash, answer.base, answer.block) = (Some(sha), Some(sha), Some(Block { sha, bytes: number }));
            (answer.lines, answer.part) = (Some((1, small)), Some(small));
        }
        Record::Change { parent, changed } => {
            *parent = Some(number);
            (changed.before, changed.after, changed.hunk) = (Some((sha, small)), Some((sha, 1)), Some((1, small, 2)));
            changed.block = Some(Block { sha, bytes: number });
        }
        Record::Seen { parent, files, .. } => {
            *parent = Some(number);
            files.push(SeenFile { path: "a".to_owned(), text: Some((sha, small)), lines: vec![(1, small)] });
        }
        Record::Compact { parent, summary, .. } => {
            (*parent, *summary) = (Some(number), Some("\u{18}\n\"\u{e9}".to_owned()));
        }
        Record::ContextEdit { parent, block, .. } => {
            (*parent, *block) = (Some(number), Some(Block { sha, bytes: number }));
        }
        Record::Alike { parent, found } => {
            *parent = Some(number);
            found.pieces.push((sha, 1, small));
        }
        Record::Begun { parent, .. }
        | Record::Delivered { parent, .. }
        | Record::Refresh { parent, .. }
        | Record::Unknown { parent, .. }
        | Record::Switch { to: parent, .. } => *parent = Some(number),
        Record::Distrust { .. } => {}
    }
    record
}

/// Another session over the same log knows the same, and so does a fork of its branch.
fn opened(scratch: &Scratch, file: &[u8], transcript: &Transcript, fork: bool) {
    scratch.log.set(file);
    let session = match Session::open(&scratch.store, &scratch.session, Create::No, Answers::Held) {
        Ok(Some(session)) => session,
        Ok(None) => panic!("the log is there"),
        Err(SessionError::Newer(_)) => return,
        Err(error) => panic!("{error}"),
    };
    assert!(held::equal(&session.knowledge(), &transcript.knowledge()));
    assert_eq!(session.transcript().leaf(), transcript.leaf());
    if !fork {
        return;
    }
    let from = transcript.leaf().map(|leaf| transcript.settled(EntryId(leaf)));
    let made = session.fork(&scratch.store, &scratch.fork, transcript.leaf().map(EntryId), 0);
    let made = made.unwrap_or_else(|error| panic!("{error}"));
    let again = Session::open(&scratch.store, &scratch.fork, Create::No, Answers::Held);
    let again = again.ok().flatten().unwrap_or_else(|| panic!("the fork is there"));
    assert!(held::equal(&made.knowledge(), &again.knowledge()), "a fork reads the same when it is opened again");
    scratch.drop_fork();
    if is_ordinary(transcript, &transcript.branch(from)) {
        let (here, there) = (transcript.knowledge_at(from.map(|from| from.0)), made.knowledge());
        assert_eq!(spans(&here), spans(&there), "a fork holds what its branch does");
    }
}

/// Whether the program itself could have written a branch: every reference is to an entry on it, delivered once.
fn is_ordinary(transcript: &Transcript, branch: &[EntryId]) -> bool {
    let on_it = |entry: u64| branch.contains(&EntryId(entry));
    branch.iter().all(|id| match transcript.record(*id) {
        Some(Record::Delivered { of, .. }) => on_it(*of) && transcript.settled(EntryId(*of)) == *id,
        Some(Record::Change { changed, .. }) => on_it(changed.begun),
        Some(Record::ContextEdit { target, .. }) => on_it(*target),
        _ => true,
    })
}

type Spans = Vec<(PathKey, Vec<(Option<Lines>, bool, Version)>)>;

/// What is held, whichever entries showed it.
fn spans(knowledge: &Knowledge) -> Spans {
    let span = |held: &Held| (held.lines(), held.end(), held.version());
    knowledge.paths().map(|(path, held)| (path.clone(), held.iter().map(span).collect())).collect()
}
