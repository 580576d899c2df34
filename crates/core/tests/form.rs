//! Forms of text: what was shown in one form serves no answer in the other, even where both have the same bytes.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    alike::alike,
    decide::{Ask, Choice, Reason, choose_base},
    knowledge::{Alike, Event, Hunk, Keeps, Knowledge},
    limits::{Answers, Limits},
    path::PathKey,
    scope::{Lines, Scope},
    text::{ContentHash, Form, Text, TextId, Version},
};

const FORMS: [Form; 2] = [Form::Disk, Form::Stripped];

fn x() -> PathKey {
    PathKey::new("x")
}

fn lines(first: u32, last: u32) -> Lines {
    Lines::new(first, last).unwrap()
}

fn whole(version: Version) -> Event {
    Event::Shown { path: x(), version, lines: Lines::new(1, version.total), end: true, part: None }
}

fn known(events: &[Event]) -> Knowledge {
    let mut knowledge = Knowledge::default();
    for (at, event) in (1..).zip(events) {
        knowledge.apply(at, event, Answers::Held);
    }
    knowledge
}

#[test]
fn the_same_bytes_in_the_other_form_are_not_held() {
    for (shown, asked) in [(Form::Disk, Form::Stripped), (Form::Stripped, Form::Disk)] {
        let text = |form| Text::in_form("one\ntwo\nthree\n".to_owned(), form);
        let held = known(&[whole(text(shown).version())]);
        let choice = |form, offset, limit| {
            let now = text(form);
            let ask = Ask::new(&now, offset, limit, &Limits::default()).unwrap();
            choose_base(&held, &x(), &now, &ask, Answers::Held)
        };
        for (offset, limit) in [(None, None), (Some(2), Some(1))] {
            assert_eq!(choice(shown, offset, limit), Choice::Same);
            assert_eq!(choice(asked, offset, limit), Choice::None(Reason::NotHeld));
        }
        assert_eq!(text(shown).hash(), text(asked).hash());
        assert_ne!(text(shown).id(), text(asked).id());
        assert!(held.holds_end(&x(), text(shown).id()) && !held.holds_end(&x(), text(asked).id()));
        assert!(alike(held.of(&x()), &text(asked), |_| Some(text(shown))).is_empty());
    }
}

#[test]
fn an_event_that_crosses_forms_relies_on_nothing() {
    let version = |name: &str, form| Version { hash: ContentHash::of(name.as_bytes()), total: 3, form };
    let (disk, stripped, other) =
        (version("a", Form::Disk), version("a", Form::Stripped), version("b", Form::Stripped));
    let (path, base, scope) = (x(), disk.hash, Scope::Lines(lines(1, 2)));
    let hunks = vec![Hunk { old: lines(2, 2), new_count: 1, keeps: Keeps::Ends }];
    for event in [
        Event::Same { path: path.clone(), base, version: stripped, scope, ends: true },
        Event::Same { path: path.clone(), base, version: other, scope, ends: false },
        Event::MarkerSent { path: path.clone(), base, version: other, scope, ends: true },
        Event::Diff { path: path.clone(), base, version: other },
        Event::Edited { path: path.clone(), before: disk, after: other, hunks },
    ] {
        let held = known(&[whole(disk), event.clone()]);
        assert!(held.of(&path).is_empty(), "{event:?}");
    }
    // Lines that are the same say nothing about lines in another form.
    let pieces = vec![Alike { base, first: 1, last: 3 }];
    let held = known(&[whole(disk), Event::Alike { path: path.clone(), version: other, pieces }]);
    assert!(held.of(&path).iter().all(|span| !span.is_of(other.id())));
    assert_eq!(held.holds_whole(&path, Form::Disk, Answers::Held), Some(disk));
    // What is shown in one form takes its lines from the other, and together they are neither.
    let part = Event::Shown { path: path.clone(), version: stripped, lines: Lines::new(2, 2), end: false, part: None };
    let held = known(&[whole(disk), part]);
    for form in FORMS {
        assert_eq!(held.holds_whole(&path, form, Answers::Held), None);
        assert_eq!(held.holds_lines(&path, lines(1, 2), form, Answers::Held), None);
        assert!(!held.is_mixed(&path, lines(1, 2), form));
    }
    assert_eq!(held.holds_lines(&path, lines(2, 2), Form::Stripped, Answers::Held), Some(base));
    assert_eq!(held.holds_lines(&path, lines(3, 3), Form::Disk, Answers::Held), Some(base));
}

/// A generator of our own: core has no dependency to spare for one.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(n)).unwrap()
    }

    fn version(&mut self) -> Version {
        let name = u8::try_from(self.below(3)).unwrap();
        let form = FORMS[self.below(2) as usize];
        Version { hash: ContentHash::of(&[name]), total: [4, 4, 6][usize::from(name)], form }
    }

    fn lines(&mut self, total: u32) -> Lines {
        let first = 1 + self.below(total);
        lines(first, first + self.below(total - first + 1))
    }

    fn event(&mut self) -> Event {
        let (path, version, base) = (x(), self.version(), self.version().hash);
        let within = self.lines(version.total);
        let end = self.below(2) == 0;
        match self.below(16) {
            0..=4 => {
                let end = end && within.last() == version.total;
                Event::Shown { path, version, lines: Some(within), end, part: None }
            }
            5 => whole(version),
            6 | 7 => {
                let scope = if end { Scope::Full } else { Scope::Lines(within) };
                let base = if self.below(2) == 0 { version.hash } else { base };
                Event::Same { path, base, version, scope, ends: base == version.hash }
            }
            8 => Event::MarkerSent { path, base, version, scope: Scope::Lines(within), ends: end },
            9 => Event::Diff { path, base, version },
            10 => Event::Written { path, version },
            11 | 12 => {
                let hunks = vec![Hunk { old: lines(2, 2), new_count: 1, keeps: Keeps::Ends }];
                let after = Version { hash: base, ..version };
                let after = Version { total: if base == ContentHash::of(&[2]) { 6 } else { 4 }, ..after };
                Event::Edited { path, before: version, after, hunks }
            }
            13 => Event::Seen { path, version, lines: vec![within] },
            14 => {
                let pieces = vec![Alike { base, first: within.first(), last: within.last() }];
                Event::Alike { path, version, pieces }
            }
            _ => Event::Refreshed { paths: vec![path], scope: Scope::Lines(within) },
        }
    }
}

/// A hash that stands for a text in a form, where forms are not known.
fn renamed(text: TextId) -> ContentHash {
    ContentHash::of_parts(&[text.hash.as_bytes(), text.form.as_str().as_bytes()])
}

fn plain(version: Version) -> Version {
    Version { hash: renamed(version.id()), form: Form::Disk, ..version }
}

/// The same event about texts that have nothing but their bytes in common.
fn without_forms(event: &Event) -> Event {
    let of = |hash: &ContentHash, version: &Version| renamed(hash.in_form(version.form));
    let mut event = event.clone();
    match &mut event {
        Event::Shown { version, .. } | Event::Written { version, .. } | Event::Seen { version, .. } => {
            *version = plain(*version);
        }
        Event::Same { base, version, .. }
        | Event::MarkerSent { base, version, .. }
        | Event::Diff { base, version, .. } => {
            (*base, *version) = (of(base, version), plain(*version));
        }
        Event::Edited { before, after, .. } => (*before, *after) = (plain(*before), plain(*after)),
        Event::Alike { version, pieces, .. } => {
            pieces.iter_mut().for_each(|piece| piece.base = of(&piece.base, version));
            *version = plain(*version);
        }
        Event::Refreshed { .. } | Event::Void { .. } | Event::Compacted => {}
    }
    event
}

/// Knowledge with forms is knowledge of texts that are all different: whatever is held, asked or taken, a text in one form and
/// the same bytes in the other are as far apart as any two texts.
#[test]
fn a_form_makes_another_text_of_it() {
    let mut found = [0; 4];
    for seed in 0..3000 {
        let answers = if seed % 3 == 0 { Answers::Seed } else { Answers::Held };
        let mut random = Random(seed);
        let (mut formed, mut named) = (Knowledge::default(), Knowledge::default());
        for at in 0..30 {
            let event = random.event();
            formed.apply(at, &event, answers);
            named.apply(at, &without_forms(&event), answers);
            let spans = |knowledge: &Knowledge, name: fn(Version) -> Version| -> Vec<_> {
                let held = knowledge.of(&x()).iter();
                held.map(|span| (name(span.version()), span.lines(), span.end(), span.at())).collect()
            };
            assert_eq!(spans(&formed, plain), spans(&named, |version| version), "seed {seed}, {event:?}");
            for form in FORMS {
                let expect = named.holds_whole(&x(), Form::Disk, answers).map(|version| version.hash);
                let got = formed.holds_whole(&x(), form, answers).map(|version| renamed(version.id()));
                assert!(got.is_none() || got == expect, "seed {seed}, {event:?}");
                found[0] += u32::from(got.is_some());
                for (first, last) in [(1, 1), (1, 4), (2, 3), (4, 6)] {
                    let wanted = lines(first, last);
                    let expect = named.holds_lines(&x(), wanted, Form::Disk, answers);
                    let got = formed.holds_lines(&x(), wanted, form, answers).map(|hash| hash.in_form(form));
                    assert!(got.is_none() || got.map(renamed) == expect, "seed {seed}, {event:?}");
                    found[1] += u32::from(got.is_some());
                    found[2] += u32::from(formed.is_mixed(&x(), wanted, form));
                    assert!(!formed.is_mixed(&x(), wanted, form) || named.is_mixed(&x(), wanted, Form::Disk));
                }
            }
            // What is held at all is held in one of the forms.
            let some = FORMS.iter().any(|form| formed.holds_lines(&x(), lines(1, 4), *form, answers).is_some());
            assert_eq!(some, named.holds_lines(&x(), lines(1, 4), Form::Disk, answers).is_some());
            found[3] += u32::from(some);
        }
    }
    assert!(found.iter().all(|count| *count > 300), "{found:?}");
}
