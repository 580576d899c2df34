//! Scope keys, and what an offset and a limit mean. Input: a key, and on a second line `offset limit total`, each a number,
//! or anything else for none.

use readproof_core::scope::{Lines, Scope, ScopeError};
use readproof_testkit::op::Random;

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "scope",
    accepts: "the key is one, or the numbers mean lines",
    check,
    start,
    words: &[
        "full",
        "r:",
        ":",
        "r:1:1",
        "r:1:4294967295",
        "0",
        "01",
        "+1",
        " ",
        "\n",
        "-",
        "- - ",
        "18446744073709551615",
    ],
    most: 128,
};

fn start(random: &mut Random) -> Vec<u8> {
    let first = random.below(9);
    let key = if random.below(4) == 0 { "full".to_owned() } else { format!("r:{first}:{}", first + random.below(9)) };
    let mut number = || if random.below(3) == 0 { "-".to_owned() } else { random.below(12).to_string() };
    format!("{key}\n{} {} {}", number(), number(), number()).into_bytes()
}

fn check(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    let (key, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut numbers = rest.split(' ').map(|word| word.parse::<u64>().ok());
    let (offset, limit) = (numbers.next().flatten(), numbers.next().flatten());
    let total = numbers.next().flatten().map_or(0, |total| u32::try_from(total).unwrap_or(u32::MAX));

    let parsed = Scope::parse(key);
    if let Some(scope) = parsed {
        assert_eq!(scope.to_string(), key, "one key per scope");
        inside(scope, total);
    }
    let meant = Scope::of(offset, limit, total);
    let meaning = match &meant {
        Ok(scope) => {
            meant_lines(*scope, offset, limit, total);
            1 + u64::from(*scope == Scope::Full)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            refused(error, offset, limit, total)
        }
    };
    let key_kind = match parsed {
        None => key.split(':').count() as u64,
        Some(Scope::Full) => 100,
        Some(Scope::Lines(lines)) => 101 + u64::from(lines.count().ilog2()),
    };
    Seen { accepted: parsed.is_some() || (meant.is_ok() && !rest.is_empty()), kind: key_kind * 16 + meaning }
}

/// Printing and parsing change nothing, and the lines are in the file.
fn inside(scope: Scope, total: u32) {
    assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
    match scope.lines(total) {
        Some(lines) => {
            assert!(lines.first() >= 1 && lines.first() <= lines.last() && lines.last() <= total);
            assert_eq!(u64::from(lines.count()), u64::from(lines.last()) - u64::from(lines.first()) + 1);
        }
        None => assert!(match scope {
            Scope::Full => total == 0,
            Scope::Lines(lines) => lines.first() > total,
        }),
    }
}

/// The lines that were asked for and exist, computed without regard to overflow.
fn meant_lines(scope: Scope, offset: Option<u64>, limit: Option<u64>, total: u32) {
    inside(scope, total);
    let first = u128::from(offset.unwrap_or(1));
    let last = limit.map_or(u128::from(total), |limit| (first + u128::from(limit) - 1).min(u128::from(total)));
    let lines = scope.lines(total);
    let expected = (first <= last).then_some((first, last));
    assert_eq!(lines.map(|lines| (u128::from(lines.first()), u128::from(lines.last()))), expected);
    assert_eq!(scope == Scope::Full, lines == Lines::new(1, total), "the whole file has one name");
}

fn refused(error: &ScopeError, offset: Option<u64>, limit: Option<u64>, total: u32) -> u64 {
    match error {
        ScopeError::Zero { .. } => {
            assert!(offset == Some(0) || limit == Some(0));
            3
        }
        ScopeError::BeyondEnd { offset: named, total: said } => {
            assert_eq!((Some(*named), *said), (offset, total));
            assert!(*named > u64::from(total.max(1)));
            4
        }
        ScopeError::Reversed { .. } | ScopeError::NotANumber { .. } => panic!("no range was parsed: {error}"),
    }
}
