//! Changes to an input: bytes, pieces, words of the target, numbers and lines. All choices come from the generator.

use readproof_testkit::op::Random;

/// Boundary values.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "00",
    "1.0",
    "127",
    "65536",
    "4294967294",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e999",
];

/// The material for changes.
pub(crate) struct Material<'a> {
    /// Words of the target.
    pub(crate) words: &'a [&'a str],
    /// Another input, to take a piece from.
    pub(crate) other: &'a [u8],
    /// The most bytes of an input.
    pub(crate) most: usize,
}

/// Changes an input once or a few times.
pub(crate) fn mutate(input: &mut Vec<u8>, random: &mut Random, material: &Material<'_>) {
    let times = 1 << random.below(4);
    for _ in 0..1 + random.below(times) {
        step(input, random, material);
    }
    input.truncate(material.most);
}

fn step(input: &mut Vec<u8>, random: &mut Random, material: &Material<'_>) {
    match random.below(16) {
        0 => {
            let bit = random.below(8);
            if let Some(byte) = any(input, random) {
                *byte ^= 1 << bit;
            }
        }
        1 => {
            let new = random.bits().to_le_bytes()[0];
            if let Some(byte) = any(input, random) {
                *byte = new;
            }
        }
        2 => {
            let bytes = random.bits().to_le_bytes();
            let count = 1 + random.below(4);
            insert(input, random, &bytes[..count]);
        }
        3 => {
            let at = piece(input.len(), random);
            input.drain(at);
        }
        4 => {
            let copy = input[piece(input.len(), random)].to_vec();
            insert(input, random, &copy);
        }
        5 => input.truncate(random.below(input.len() + 1)),
        6 => {
            let taken = material.other[piece(material.other.len(), random)].to_vec();
            insert(input, random, &taken);
        }
        7 => splice(input, random, material.other),
        8 | 9 => {
            if let Some(word) = random.pick(material.words) {
                insert(input, random, word.as_bytes());
            }
        }
        10 => {
            if let Some(word) = random.pick(material.words) {
                let at = token(input, random);
                input.splice(at, word.bytes());
            }
        }
        11 => number(input, random),
        12 => lines(input, random),
        13 => escape(input, random),
        14 => swap_tokens(input, random),
        _ => {
            let (from, to) = (token(input, random), token(input, random));
            let copy = input[from].to_vec();
            input.splice(to, copy);
        }
    }
}

fn any<'a>(input: &'a mut [u8], random: &mut Random) -> Option<&'a mut u8> {
    let at = random.below(input.len());
    input.get_mut(at)
}

fn insert(input: &mut Vec<u8>, random: &mut Random, bytes: &[u8]) {
    let at = random.below(input.len() + 1);
    input.splice(at..at, bytes.iter().copied());
}

/// A piece, mostly a short one.
fn piece(len: usize, random: &mut Random) -> std::ops::Range<usize> {
    let from = random.below(len + 1);
    let most = (len - from).min(1 << random.below(12));
    from..from + random.below(most + 1)
}

/// The beginning of one and the end of the other.
fn splice(input: &mut Vec<u8>, random: &mut Random, other: &[u8]) {
    let (keep, from) = (random.below(input.len() + 1), random.below(other.len() + 1));
    input.truncate(keep);
    input.extend_from_slice(&other[from..]);
}

/// A run of letters and digits, or one other byte.
fn token(input: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let at = random.below(input.len());
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if !input.get(at).is_some_and(is_word) {
        return at..(at + 1).min(input.len());
    }
    let from = input[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |before| before + 1);
    let to = input[at..].iter().position(|byte| !is_word(byte)).map_or(input.len(), |after| at + after);
    from..to
}

/// Replaces a number by another.
fn number(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(input.len());
    let Some(from) = input[at..].iter().position(u8::is_ascii_digit).map(|from| at + from) else { return };
    let to = input[from..].iter().position(|byte| !byte.is_ascii_digit()).map_or(input.len(), |to| from + to);
    let old: Option<u64> = str::from_utf8(&input[from..to]).ok().and_then(|digits| digits.parse().ok());
    let new = match (random.below(3), old) {
        (0, Some(old)) => old.wrapping_add(1).to_string(),
        (1, Some(old)) => old.wrapping_sub(1).to_string(),
        _ => random.pick(&NUMBERS).copied().unwrap_or("0").to_owned(),
    };
    input.splice(from..to, new.into_bytes());
}

/// Removes, duplicates or moves a line.
fn lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let (at, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(to, lines[at]),
        2 => lines.swap(at, to),
        _ => {
            let line = lines.remove(at);
            lines.insert(to, line);
        }
    }
    *input = lines.concat();
}

/// Spells a letter as a JSON or percent escape.
fn escape(input: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(input.len());
    let Some(byte) = input.get(at).copied().filter(u8::is_ascii_graphic) else { return };
    let spelt = if random.below(3) == 0 { format!("%{byte:02x}") } else { format!("\\u{byte:04x}") };
    input.splice(at..=at, spelt.into_bytes());
}

fn swap_tokens(input: &mut Vec<u8>, random: &mut Random) {
    let (a, b) = (token(input, random), token(input, random));
    let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
    if first.end > second.start {
        return;
    }
    let (early, late) = (input[first.clone()].to_vec(), input[second.clone()].to_vec());
    input.splice(second, early);
    input.splice(first, late);
}
