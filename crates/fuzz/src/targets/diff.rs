//! Diffs: made, applied, reversed. Input: parts separated by bytes 0xff: a text, another, any kind of diff for the first,
//! and changes (two bytes of position, one new byte) to the true diff between the two.

use readproof_core::{
    diff::{ApplyError, apply, unified},
    text::Text,
};
use readproof_testkit::op::Random;

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "diff",
    accepts: "the diff given, or the altered one, fits the text",
    check,
    start,
    words: &[
        "\n",
        "\r\n",
        "a\n",
        "b\n",
        "--- a/f\n",
        "+++ b/f\n",
        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n+b\n",
        "@@ -1,1 +1,1 @@\n",
        "@@ -0,0 +1,1 @@\n",
        "@@ -1,0 +2,1 @@\n",
        "@@ -1,1 +0,0 @@\n",
        "@@ -4294967295,1 +1,1 @@\n",
        "+",
        "-",
        " ",
        "\\",
        "\\ No newline at end of file\n",
        "\\ No newline at end of file",
        "+a\n\\ No newline at end of file\n",
        ",0 ",
        "+x\n",
        "-a\n",
        " a\n",
        "\u{feff}",
        "\u{2028}",
    ],
    most: 1500,
};

const BREAK: u8 = 0xff;

fn start(random: &mut Random) -> Vec<u8> {
    let words = [
        "a\n",
        "b\n",
        "b\r\n",
        "\n",
        " \n",
        "c",
        "-\n",
        "+\n",
        "\\\n",
        "@@\n",
        "\u{e9}\n",
        "\\ No newline at end of file\n",
    ];
    let mut lines: Vec<&str> = (0..random.below(16)).map(|_| *random.pick(&words).unwrap_or(&"")).collect();
    let before = lines.concat();
    for _ in 0..random.below(6) {
        let (at, word) = (random.below(lines.len() + 1), *random.pick(&words).unwrap_or(&""));
        if random.below(2) == 0 || at == lines.len() {
            lines.insert(at, word);
        } else {
            lines.remove(at);
        }
    }
    let after = lines.concat();
    let (a, b) = (Text::new(before.clone()), Text::new(after.clone()));
    let mut input = [before.as_bytes(), after.as_bytes(), unified(&a, &b, "f").body.as_bytes()].join(&BREAK);
    if random.below(2) == 0 {
        input.push(BREAK);
        let bytes = random.bits().to_le_bytes();
        input.extend(&bytes[..3 * random.below(3)]);
    }
    input
}

fn check(input: &[u8]) -> Seen {
    let mut parts = input.split(|byte| *byte == BREAK).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut text = || parts.next().map(Text::new);
    let (before, after) = (text().unwrap_or_else(|| Text::new(String::new())), text());
    let given = parts.next();
    let mut kinds = 0;
    if let Some(after) = &after {
        let diff = round(&before, after);
        let changes = input.splitn(4, |byte| *byte == BREAK).nth(3).unwrap_or_default();
        if let Some(altered) = altered(&diff, changes) {
            kinds |= applied(&altered, &before) << 4;
        }
    }
    if let Some(given) = given {
        kinds |= applied(&given, &before);
    }
    let accepted = kinds & 0x11 != 0;
    Seen {
        accepted,
        kind: kinds
            | u64::from(before.total().min(7)) << 8
            | after.map_or(0, |after| u64::from(after.total().min(7))) << 12,
    }
}

/// The diff between two texts leads from one to the other, and its numbers are correct.
fn round(before: &Text, after: &Text) -> String {
    let diff = unified(before, after, "f");
    assert_eq!(apply(&diff.body, before).as_deref(), Ok(after.as_str()), "{}", diff.body);
    let hunks: Vec<&str> = diff.body.split_inclusive('\n').skip(2).collect();
    assert_eq!(diff.line_count() as usize, hunks.len() + 2);
    assert!(diff.body.ends_with('\n'));
    assert_eq!(i64::from(diff.added) - i64::from(diff.removed), i64::from(after.total()) - i64::from(before.total()));
    assert_eq!(hunks.is_empty(), before == after);
    let back = unified(after, before, "f");
    assert_eq!(apply(&back.body, after).as_deref(), Ok(before.as_str()), "{}", back.body);
    diff.body
}

fn altered(diff: &str, changes: &[u8]) -> Option<String> {
    let mut bytes = diff.as_bytes().to_vec();
    let (changes, _) = changes.as_chunks::<3>();
    for [low, high, new] in changes {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        bytes[at] = *new;
    }
    (!changes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// 1 if it applies; then its reverse applies too, because every line it names was there.
fn applied(diff: &str, before: &Text) -> u64 {
    match apply(diff, before) {
        Ok(after) => {
            let back = turned(diff);
            let led = apply(&back, &Text::new(after));
            assert_eq!(led.as_deref(), Ok(before.as_str()), "{diff:?} turned round");
            1
        }
        Err(ApplyError::Malformed { line }) => {
            assert!(line >= 1 && line <= diff.lines().count().max(1));
            2
        }
        Err(ApplyError::Mismatch { line }) => {
            assert!(line >= 3 && line <= diff.lines().count());
            4
        }
    }
}

/// The reversed diff.
fn turned(diff: &str) -> String {
    let mut out = String::new();
    let (mut old, mut new) = (0_u64, 0_u64);
    for (at, line) in diff.split_inclusive('\n').enumerate() {
        let turned = match line.as_bytes().first() {
            _ if at == 0 => line.replacen("--- ", "+++ ", 1),
            _ if at == 1 => line.replacen("+++ ", "--- ", 1),
            Some(b'@') if (old, new) == (0, 0) => {
                let (header, counts) = turned_header(line);
                (old, new) = counts;
                header
            }
            Some(b'+') => {
                new = new.saturating_sub(1);
                line.replacen('+', "-", 1)
            }
            Some(b'-') => {
                old = old.saturating_sub(1);
                line.replacen('-', "+", 1)
            }
            Some(b' ') => {
                (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                line.to_owned()
            }
            _ => line.to_owned(),
        };
        out.push_str(&turned);
    }
    let mut lines: Vec<&str> = out.split_inclusive('\n').collect();
    if lines.len() >= 2 {
        lines.swap(0, 1);
    }
    lines.concat()
}

fn turned_header(line: &str) -> (String, (u64, u64)) {
    let inner = line.trim_end().strip_prefix("@@ -").and_then(|rest| rest.strip_suffix(" @@"));
    let Some((old, new)) = inner.and_then(|inner| inner.split_once(" +")) else { return (line.to_owned(), (0, 0)) };
    let count = |side: &str| side.split_once(',').and_then(|(_, count)| count.parse().ok()).unwrap_or(0);
    (format!("@@ -{new} +{old} @@\n"), (count(old), count(new)))
}
