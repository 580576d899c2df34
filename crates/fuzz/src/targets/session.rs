//! pi's session files as a transcript. Input: four bytes that say where the file is cut while it is written, then its
//! bytes. However it is cut and however its JSON is spelled, the same is known.

pub(super) mod claude_code;
mod pi_lines;
mod respell;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use readproof_core::{
    limits::Answers,
    text::{ContentHash, Text},
};
use readproof_disk::{Appended, TranscriptFile};
use readproof_hosts::pi::{EntryRef, Known, Source, Transcript};
use readproof_testkit::op::Random;
use serde_json::Value;

use self::{
    pi_lines::{TEXTS, conversation},
    respell::unambiguous,
};
use super::{Seen, Target, held, scratch};

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

/// A transcript and the bytes it was made from.
struct Fed {
    transcript: Transcript,
    behind: Behind,
}

#[derive(Default)]
struct Behind(Vec<u8>);

impl Source for Behind {
    fn text(&self, hash: ContentHash) -> Option<Text> {
        OBJECTS.get(&hash).cloned()
    }

    fn appended(&self, at: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        let at = usize::try_from(at).ok()?;
        self.0.get(at..at.checked_add(len)?).map(Cow::Borrowed)
    }
}

impl Fed {
    fn new() -> Self {
        let transcript = Transcript::new(Answers::Held, Some("/home/u".to_owned()));
        Self { transcript, behind: Behind::default() }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.behind.0.extend_from_slice(bytes);
        self.transcript.append(bytes);
    }

    fn known(&mut self, leaf: Option<EntryRef>) -> Known<'_> {
        self.transcript.known_at(leaf, &self.behind)
    }
}

fn start(random: &mut Random) -> Vec<u8> {
    let mut input = random.bits().to_le_bytes()[..4].to_vec();
    input.extend(conversation(random).into_bytes());
    input
}

fn check(input: &[u8]) -> Seen {
    let (cuts, bytes) = input.split_at_checked(4).unwrap_or((&[], input));
    // What follows the last newline is not written yet.
    let whole = &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)];
    let mut once = Fed::new();
    once.append(whole);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let values: Vec<Option<Value>> = lines.iter().map(|line| unambiguous(line)).collect();
    let places = places(&once.transcript, &values);

    counted(&once.transcript, whole);
    let mut ends: Vec<usize> = cuts.iter().map(|cut| bytes.len() * usize::from(*cut) / 256).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    ends.dedup();
    // A real file takes longer than all the rest.
    let in_a_file = cuts.first().is_some_and(|cut| cut % 8 == 0);
    let mut cut = if in_a_file { followed(&ends, bytes) } else { given_in_pieces(&ends, bytes) };
    same(&mut once, &mut cut, &places, "cut elsewhere");
    let mut other = Fed::new();
    other.append(&spelt_otherwise(&lines, &values));
    same(&mut once, &mut other, &places, "spelt otherwise");
    let mut sent = Fed::new();
    for line in &lines {
        sent.transcript.push(line.strip_suffix(b"\n").unwrap_or(line), &sent.behind);
    }
    same(&mut once, &mut sent, &places, "sent one by one");

    let mut kind = 0;
    for leaf in &places {
        let newest = once.transcript.last().map_or(0, EntryRef::place);
        let known = once.known(*leaf);
        for (_, knowledge) in known.files() {
            kind |= held::sound(knowledge, newest);
        }
        explained(&known, *leaf);
        kind |= u64::from(!known.pending().is_empty()) << 8 | u64::from(known.barrier().is_some()) << 9;
    }
    let counts = once.transcript.counts();
    let files = once.known(once.transcript.last()).files().count() as u64;
    let size = |n: u64| u64::from(n.checked_ilog2().map_or(0, |log| log + 1));
    let sizes = size(files) << 12 | size(counts.entries as u64) << 16 | size(counts.skipped as u64) << 20;
    Seen { accepted: kind & 0x1f != 0, kind: kind | sizes | u64::from(once.transcript.cwd().is_some()) << 24 }
}

/// Every possible entry of the file, and the root.
fn places(transcript: &Transcript, values: &[Option<Value>]) -> Vec<Option<EntryRef>> {
    let id = |value: &Value| value.get("id").and_then(Value::as_str).and_then(|id| transcript.find(id));
    let named = values.iter().flatten().filter_map(id);
    named.chain(transcript.last()).map(Some).chain([None]).collect()
}

/// Every line is an entry, a header, blank, or skipped.
fn counted(transcript: &Transcript, whole: &[u8]) {
    let is_said = |line: &&[u8]| !line.iter().all(u8::is_ascii_whitespace);
    let said = whole.split(|byte| *byte == b'\n').filter(is_said).count();
    let counts = transcript.counts();
    let taken = counts.entries + counts.skipped;
    assert!(taken == said || taken + 1 == said, "{counts:?} of {said} lines");
    assert!(transcript.cwd().is_none_or(|cwd| cwd.starts_with('/') && taken + 1 == said));
}

/// Whole lines, one after the other.
fn given_in_pieces(ends: &[usize], bytes: &[u8]) -> Fed {
    let mut fed = Fed::new();
    let mut from = 0;
    for end in ends {
        let to = bytes[from..*end].iter().rposition(|byte| *byte == b'\n').map_or(from, |at| from + at + 1);
        fed.append(&bytes[from..to]);
        from = to;
    }
    fed
}

/// The file as it grows, followed by a reader.
fn followed(ends: &[usize], bytes: &[u8]) -> Fed {
    scratch::with(|scratch| {
        scratch.transcript.set(&bytes[..ends[0]]);
        let opened = TranscriptFile::open(&scratch.transcript.path, 1 << 20);
        let mut file = opened.unwrap_or_else(|error| panic!("{error}"));
        let mut fed = Fed::new();
        for (at, end) in ends.iter().enumerate() {
            if let Some(from) = at.checked_sub(1).map(|before| ends[before]) {
                scratch.transcript.put(from, &bytes[from..*end]);
            }
            loop {
                match file.appended().unwrap_or_else(|error| panic!("{error}")) {
                    Appended::Nothing => break,
                    Appended::More(lines) => fed.append(&lines),
                    Appended::Anew(_) => panic!("a file that only grows is no other"),
                }
            }
        }
        fed
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

fn same(a: &mut Fed, b: &mut Fed, places: &[Option<EntryRef>], how: &str) {
    let (one, other) = (&a.transcript, &b.transcript);
    assert_eq!((one.counts(), one.cwd(), one.last()), (other.counts(), other.cwd(), other.last()), "{how}");
    for leaf in places {
        let (one, other) = (a.known(*leaf), b.known(*leaf));
        let (ours, theirs): (Vec<_>, Vec<_>) = (one.files().collect(), other.files().collect());
        assert_eq!(ours.len(), theirs.len(), "{how}: at {leaf:?}");
        for ((path, ours), (named, theirs)) in ours.into_iter().zip(theirs) {
            assert!(path == named && held::equal(ours, theirs), "{how}: at {leaf:?} {ours:?} against {theirs:?}");
        }
        assert_eq!(one.pending(), other.pending(), "{how}");
        assert_eq!((one.barrier(), one.window()), (other.barrier(), other.window()), "{how}");
    }
}

/// Whatever is held was shown by an entry of a known tool; without a header of a known version nothing is held.
fn explained(known: &Known<'_>, leaf: Option<EntryRef>) {
    let transcript = known.transcript();
    if let Some(leaf) = leaf {
        assert_eq!(transcript.find(&transcript.id(leaf)), Some(leaf));
    }
    for (path, knowledge) in known.files() {
        assert!(transcript.cwd().is_some(), "something is held without a header");
        assert!(path.as_str().starts_with('/'), "{path}");
        for held in knowledge.of(path) {
            assert!(known.why(held.at()).is_some(), "{path}: nothing says why");
        }
    }
}
