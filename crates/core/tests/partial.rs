//! Partial answers: which held lines are named, how that is said, and when it is worth it.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    decide::{Ask, Base, Mode, Reason, decide},
    knowledge::{
        Event, Knowledge, Naming, Piece,
        piece::{are_equal, pieces},
    },
    limits::{Answers, Limits},
    path::PathKey,
    render::render,
    scope::Lines,
    text::Text,
};

const ALL: (Option<u64>, Option<u64>) = (None, None);

fn text(lines: impl Iterator<Item = String>) -> Text {
    Text::new(lines.map(|line| format!("{line}\n")).collect())
}

/// `line 3 …`, long enough to be worth a name.
fn line(n: u32) -> String {
    format!("line {n} {}", "x".repeat(30))
}

fn numbered(first: u32, last: u32) -> Text {
    text((first..=last).map(line))
}

fn lines(first: u32, last: u32) -> Lines {
    Lines::new(first, last).unwrap()
}

struct Talk {
    held: Knowledge,
    texts: Vec<Text>,
    at: u64,
}

impl Talk {
    /// A conversation that was shown these lines of these texts.
    fn of(shown: &[(&Text, u32, u32)]) -> Self {
        let mut talk = Self { held: Knowledge::default(), texts: Vec::new(), at: 0 };
        for (text, first, last) in shown {
            let (version, end) = (text.version(), *last == text.total());
            let shown = Some(lines(*first, *last));
            talk.apply(&Event::Shown { path: PathKey::new("f"), version, lines: shown, end, part: None });
            talk.texts.push((*text).clone());
        }
        talk
    }

    fn apply(&mut self, event: &Event) {
        self.at += 1;
        self.held.apply(self.at, event, Answers::Lean);
    }

    fn pieces(&self, now: &Text, ask: &Ask, naming: Naming) -> Vec<Piece> {
        let load = |hash| self.texts.iter().find(|text| text.hash() == hash).cloned();
        let window = ask.window.lines().unwrap();
        let found = pieces((&self.held, &PathKey::new("f")), (now, window), naming, &Limits::default(), load);
        assert_eq!(are_equal(&found, now, load), Some(true));
        found
    }

    /// The answer to a read of `now`; takes it in.
    fn read(&mut self, now: &Text, asked: (Option<u64>, Option<u64>), naming: Naming) -> (Mode, Reason, String) {
        let (path, limits) = (PathKey::new("f"), Limits::default());
        let ask = Ask::new(now, asked.0, asked.1, &limits).unwrap();
        let decision = decide(now, &path, &ask, Base::None(Reason::NotHeld), &limits);
        let decision = decision.or_partial(now, &ask, self.pieces(now, &ask, naming), &limits);
        let shown = render(&decision, now, &ask);
        self.apply(&shown.event(&path));
        let window = ask.window.lines().unwrap();
        assert!(self.held.holds_lines_of(&path, window, now.id(), Answers::Lean), "all of the window is held now");
        (shown.mode(), shown.reason(), shown.text().to_owned())
    }
}

#[test]
fn only_what_is_not_held_is_sent() {
    let file = numbered(1, 30);
    let mut talk = Talk::of(&[(&file, 1, 20)]);
    let (mode, reason, said) = talk.read(&file, ALL, Naming::OfThisText);
    let rest = file.slice(lines(21, 30));
    assert_eq!((mode, reason), (Mode::Partial, Reason::PartHeld));
    assert_eq!(said, format!("[readcache: lines 1-30 of 30; sent: 21-30; others unchanged]\n{rest}"));
    assert!(talk.held.holds_whole(&PathKey::new("f"), file.form(), Answers::Lean).is_some(), "the end is told too");
    // In several runs; a line says where each begins.
    let mut talk = Talk::of(&[(&file, 3, 10), (&file, 14, 29)]);
    let (_, _, said) = talk.read(&file, (Some(2), Some(29)), Naming::OfThisText);
    let (one, two, three) = (file.slice(lines(2, 2)), file.slice(lines(11, 13)), file.slice(lines(30, 30)));
    let head = "[readcache: lines 2-30 of 30; sent: 2, 11-13, 30; others unchanged]";
    assert_eq!(said, format!("{head}\n{one}[readcache: 11-13]\n{two}[readcache: 30]\n{three}"));
}

#[test]
fn lines_of_another_text_are_named_where_they_are_the_same() {
    let file = numbered(1, 30);
    let changed = text((1..=30).map(|n| if n == 15 { "other".to_owned() } else { line(n) }));
    let (mode, reason, said) = Talk::of(&[(&file, 1, 30)]).read(&changed, ALL, Naming::OfOtherTexts);
    assert_eq!((mode, reason), (Mode::Partial, Reason::PartHeld));
    assert_eq!(said, "[readcache: lines 1-30 of 30; sent: 15; others unchanged]\nother\n");
    // Not where only the present text counts.
    assert_eq!(Talk::of(&[(&file, 1, 30)]).read(&changed, ALL, Naming::OfThisText).0, Mode::Full);
    assert_eq!(Talk::of(&[(&file, 1, 30)]).read(&file, ALL, Naming::Nothing).0, Mode::Full);
}

#[test]
fn lines_that_moved_are_named_by_both_numbers() {
    let file = numbered(1, 30);
    let grown = text(["new 1".to_owned(), "new 2".to_owned()].into_iter().chain((1..=30).map(line)));
    let (_, reason, said) = Talk::of(&[(&file, 1, 30)]).read(&grown, ALL, Naming::OfOtherTexts);
    assert_eq!(reason, Reason::PartMoved);
    assert_eq!(said, "[readcache: lines 1-32 of 32; sent: 1-2; others unchanged (3-32 were 1-30)]\nnew 1\nnew 2\n");
    let (_, _, said) = Talk::of(&[(&file, 1, 30)]).read(&grown, (Some(13), Some(10)), Naming::OfOtherTexts);
    assert_eq!(said, "[readcache: lines 13-22 of 32; sent: none; others unchanged (13-22 were 11-20)]\n");
    // Another text had one of these numbers: that line is sent.
    let other = text((1..=30).map(|n| format!("other {n} {}", "y".repeat(30))));
    let mut talk = Talk::of(&[(&other, 20, 20), (&file, 1, 30)]);
    let (_, _, said) = talk.read(&grown, ALL, Naming::OfOtherTexts);
    let twenty = line(20);
    let head = "[readcache: lines 1-32 of 32; sent: 1-2, 22; others unchanged (3-21 were 1-19, 23-32 were 21-30)]";
    assert_eq!(said, format!("{head}\nnew 1\nnew 2\n[readcache: 22]\n{twenty}\n"));
}

#[test]
fn what_saves_too_little_is_plain_text() {
    let short = text((1..=30).map(|n| n.to_string()));
    assert_eq!(Talk::of(&[(&short, 1, 20)]).read(&short, ALL, Naming::OfThisText).0, Mode::Full, "a run of few bytes");
    let file = numbered(1, 30);
    assert_eq!(Talk::of(&[(&file, 1, 5)]).read(&file, ALL, Naming::OfThisText).0, Mode::Full, "below the margin");
    assert_eq!(Talk::of(&[(&file, 1, 8)]).read(&file, ALL, Naming::OfThisText).0, Mode::Partial);
    // A line that looks like one of ours is not sent among ours.
    let odd = text((1..=30).map(|n| if n == 25 { "[readcache: 7]".to_owned() } else { line(n) }));
    assert_eq!(Talk::of(&[(&odd, 1, 20)]).read(&odd, ALL, Naming::OfThisText).0, Mode::Full);
    assert_eq!(Talk::of(&[(&odd, 11, 30)]).read(&odd, ALL, Naming::OfThisText).0, Mode::Partial);
    // Held lines of many bytes and few characters: what is said of them is longer than they are.
    let wide = text((1..=6).map(|n| if n < 5 { "日".repeat(30) } else { line(n) }));
    let limits = Limits { answer_chars: Some(200), partial_saves: 1, ..Limits::default() };
    let ask = Ask::new(&wide, None, None, &limits).unwrap();
    assert_eq!(ask.window.lines(), Some(lines(1, 6)));
    let held = Talk::of(&[(&wide, 1, 4)]).pieces(&wide, &ask, Naming::OfThisText);
    let plain = decide(&wide, &PathKey::new("f"), &ask, Base::None(Reason::NotHeld), &limits);
    let mode = |chars| {
        let limits = Limits { answer_chars: Some(chars), ..limits };
        plain.clone().or_partial(&wide, &ask, held.clone(), &limits).mode
    };
    assert_eq!((mode(200), mode(100)), (Mode::Partial, Mode::Full));
}
