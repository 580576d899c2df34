//! pi's session files as a transcript. Input: four bytes that say where the file is cut while it is written, then its bytes.
//! However it is cut and however its JSON is spelt, the same is known.

use std::{collections::BTreeMap, sync::LazyLock};

use readproof_core::{
    limits::Answers,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, TranscriptFile};
use readproof_hosts::pi::{EntryRef, Transcript};
use readproof_testkit::op::Random;
use serde_json::Value;

use super::{
    Seen, Target, held,
    pi_lines::{TEXTS, conversation},
    respell::unambiguous,
    scratch,
};

pub(super) const TARGET: Target = Target {
    name: "session",
    accepts: "something is held at some entry",
    check,
    start,
    words: &[
        "{\"type\":\"session\",\"version\":3,\"cwd\":\"/w\"}\n",
        "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":null}\n",
        "\"type\":\"message\"",
        "\"id\":\"",
        "\"parentId\":null",
        "\"parentId\":\"00000001\"",
        "\"role\":\"assistant\"",
        "\"role\":\"toolResult\"",
        "\"toolCall\"",
        "\"name\":\"read\"",
        "\"name\":\"write\"",
        "\"name\":\"edit\"",
        "\"isError\":false",
        "\"isError\":true",
        "\"toolName\":\"read\"",
        "\"toolCallId\":\"c1\"",
        "\"arguments\":{\"path\":\"a\"}",
        "\"path\":\"a:1-2\"",
        "\"offset\":2",
        "\"limit\":1",
        "\"details\":",
        "\"readcache\":",
        "\"mode\":\"unchanged\"",
        "\"mode\":\"diff\"",
        "\"end\":true",
        "\"lines\":[1,2]",
        "\"total\":4294967295",
        "\"textSha\":",
        "null",
        "\"scopeKey\":\"full\"",
        "\"type\":\"context_edit\"",
        "\"targetId\":\"00000002\"",
        "\"replacement\":null",
        "[readcache: unchanged, 2 lines]",
        "[Showing lines 1-2 of 9. Use offset=3 to continue.]",
        "\"customType\":\"pi-readcache\"",
        "\\n",
        "\\u0000",
        "\\ud800",
        "\n",
        "\r\n",
        "\u{feff}",
        "[",
        "]",
    ],
    most: 2500,
};

static OBJECTS: LazyLock<BTreeMap<ContentHash, Text>> =
    LazyLock::new(|| TEXTS.iter().map(|text| Text::new((*text).to_owned())).map(|text| (text.hash(), text)).collect());

fn lookup(hash: ContentHash) -> Option<Text> {
    OBJECTS.get(&hash).cloned()
}

fn start(random: &mut Random) -> Vec<u8> {
    let mut input = random.bits().to_le_bytes()[..4].to_vec();
    input.extend(conversation(random).into_bytes());
    input
}

fn empty() -> Transcript {
    Transcript::new(Answers::Held, Some("/home/u".to_owned()))
}

fn check(input: &[u8]) -> Seen {
    let (cuts, bytes) = input.split_at_checked(4).unwrap_or((&[], input));
    // What stands behind the last line end is not written yet.
    let whole = &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)];
    let mut once = empty();
    once.append(whole, &lookup);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let values: Vec<Option<Value>> = lines.iter().map(|line| unambiguous(line)).collect();
    let places = places(&once, &values);

    counted(&once, whole);
    let mut ends: Vec<usize> = cuts.iter().map(|cut| bytes.len() * usize::from(*cut) / 256).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    ends.dedup();
    // A real file takes longer than all the rest.
    let in_a_file = cuts.first().is_some_and(|cut| cut % 8 == 0);
    let cut = if in_a_file { followed(&ends, bytes) } else { given_in_pieces(&ends, bytes) };
    same(&once, &cut, &places, "cut elsewhere");
    let mut other = empty();
    other.append(&spelt_otherwise(&lines, &values), &lookup);
    same(&once, &other, &places, "spelt otherwise");

    let mut kind = 0;
    for leaf in &places {
        let newest = once.last().map_or(0, EntryRef::place);
        kind |= held::sound(once.knowledge_at(*leaf), newest);
        explained(&once, *leaf);
        kind |= u64::from(!once.pending_at(*leaf).is_empty()) << 8 | u64::from(once.barrier_at(*leaf).is_some()) << 9;
    }
    let counts = once.counts();
    let size = |n: u64| u64::from(n.checked_ilog2().map_or(0, |log| log + 1));
    let sizes = size(counts.applied) << 12 | size(counts.entries as u64) << 16 | size(counts.skipped as u64) << 20;
    Seen { accepted: kind & 0x1f != 0, kind: kind | sizes | u64::from(once.cwd().is_some()) << 24 }
}

/// Every entry that a line of the file could be, and the root.
fn places(transcript: &Transcript, values: &[Option<Value>]) -> Vec<Option<EntryRef>> {
    let id = |value: &Value| value.get("id").and_then(Value::as_str).and_then(|id| transcript.find(id));
    let named = values.iter().flatten().filter_map(id);
    named.chain(transcript.last()).map(Some).chain([None]).collect()
}

/// Every line is an entry, a header, blank or skipped.
fn counted(transcript: &Transcript, whole: &[u8]) {
    let is_said = |line: &&[u8]| !line.iter().all(u8::is_ascii_whitespace);
    let said = whole.split(|byte| *byte == b'\n').filter(is_said).count();
    let counts = transcript.counts();
    let taken = counts.entries + counts.skipped;
    assert!(taken == said || taken + 1 == said, "{counts:?} of {said} lines");
    assert!(transcript.cwd().is_none_or(|cwd| cwd.starts_with('/') && taken + 1 == said));
    if transcript.cwd().is_none() {
        assert_eq!(counts.applied, 0, "without a header of a known version nothing counts");
    }
}

/// Whole lines as they come.
fn given_in_pieces(ends: &[usize], bytes: &[u8]) -> Transcript {
    let mut transcript = empty();
    let mut from = 0;
    for end in ends {
        let to = bytes[from..*end].iter().rposition(|byte| *byte == b'\n').map_or(from, |at| from + at + 1);
        transcript.append(&bytes[from..to], &lookup);
        from = to;
    }
    transcript
}

/// The file as it grows, read by whoever follows it.
fn followed(ends: &[usize], bytes: &[u8]) -> Transcript {
    scratch::with(|scratch| {
        scratch.transcript.set(&bytes[..ends[0]]);
        let opened = TranscriptFile::open(&scratch.transcript.path, 1 << 20);
        let mut file = opened.unwrap_or_else(|error| panic!("{error}"));
        let mut transcript = empty();
        for (at, end) in ends.iter().enumerate() {
            if let Some(from) = at.checked_sub(1).map(|before| ends[before]) {
                scratch.transcript.put(from, &bytes[from..*end]);
            }
            loop {
                match file.appended().unwrap_or_else(|error| panic!("{error}")) {
                    Appended::Nothing => break,
                    Appended::More(lines) => transcript.append(&lines, &lookup),
                    Appended::Anew(_) => panic!("a file that only grows is no other"),
                }
            }
        }
        transcript
    })
}

fn spelt_otherwise(lines: &[&[u8]], values: &[Option<Value>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (line, value) in lines.iter().zip(values) {
        match value {
            Some(value) => out.extend(format!("{value}\n").into_bytes()),
            None => out.extend(*line),
        }
    }
    out
}

fn same(a: &Transcript, b: &Transcript, places: &[Option<EntryRef>], how: &str) {
    assert_eq!((a.counts(), a.cwd(), a.last()), (b.counts(), b.cwd(), b.last()), "{how}");
    for leaf in places {
        let (one, other) = (a.knowledge_at(*leaf), b.knowledge_at(*leaf));
        assert!(held::equal(one, other), "{how}: at {leaf:?} {one:?} against {other:?}");
        assert_eq!(a.pending_at(*leaf), b.pending_at(*leaf), "{how}");
        assert_eq!((a.barrier_at(*leaf), a.window(*leaf)), (b.barrier_at(*leaf), b.window(*leaf)), "{how}");
    }
}

/// Whatever is held, an entry of a known tool made it so.
fn explained(transcript: &Transcript, leaf: Option<EntryRef>) {
    if let Some(leaf) = leaf {
        assert_eq!(transcript.find(&transcript.id(leaf)), Some(leaf));
    }
    for (path, spans) in transcript.knowledge_at(leaf).paths() {
        assert!(path.as_str().starts_with('/'), "{path}");
        for held in spans {
            assert!(transcript.why(held.at()).is_some(), "{path}: nothing says why");
        }
    }
}
