//! Every rule by which a piece is placed, each with a case that fails without it.

use super::super::{
    Assumed, EditError, Looseness, Nearest, Numbers, Piece, Places, Shape, Shift, parse_patch, place,
    tests::check_outside,
};
use crate::{diff::edit::FileChange, knowledge::Keeps, scope::Lines, text::Text};
use alloc::{format, string::String, vec, vec::Vec};

fn text(text: &str) -> Text {
    Text::new(text.into())
}

fn swap(old: &str, new: &str) -> Piece {
    Piece::replace(old, new, Places::One)
}

fn hunk(old: &str, new: &str) -> Piece {
    Piece { shape: Shape::Hunk, ordered: true, ..swap(old, new) }
}

fn made(base: &str, pieces: &[Piece]) -> Result<String, EditError> {
    place(&text(base), pieces, Numbers::Ignore).map(|edit| edit.after.as_str().into())
}

/// The text after one replacement, and what was assumed.
fn loosely(base: &str, piece: Piece) -> Result<(String, Vec<Looseness>), EditError> {
    let edit = place(&text(base), &[piece], Numbers::Ignore)?;
    Ok((edit.after.as_str().into(), edit.assumed.into_iter().map(|assumed| assumed.what).collect()))
}

fn many(piece: usize, places: &[u32]) -> EditError {
    EditError::Many { piece, count: places.len(), places: places.into() }
}

/// The pieces of a patch of one file.
fn pieces(patch: &str) -> Vec<Piece> {
    match parse_patch(patch).unwrap().1.remove(0).change {
        FileChange::Edit(pieces) => pieces,
        other @ (FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn exact_and_unique_or_refused() {
    assert_eq!(made("a\nb\nc\n", &[swap("b", "x")]), Ok("a\nx\nc\n".into()));
    assert_eq!(made("a\nb\na\n", &[swap("a", "x")]), Err(many(0, &[1, 3])));
    assert_eq!(made("aaa\n", &[swap("aa", "x")]), Err(many(0, &[1, 1])));
    assert_eq!(made("a\n", &[swap("", "x")]), Err(EditError::Empty));
    assert_eq!(made("a\n", &[swap("a", "\0")]), Err(EditError::NotText));
    let all = Piece::replace("a", "x", Places::All);
    let edit = place(&text("a\nb\na\n"), &[all], Numbers::Ignore).unwrap();
    assert_eq!((edit.after.as_str(), edit.count, edit.hunks.len()), ("x\nb\nx\n", 2, 2));
    let same = place(&text("a\n"), &[swap("a", "a")], Numbers::Ignore).unwrap();
    assert!(same.noop && same.hunks.is_empty() && same.after.as_str() == "a\n");
}

#[test]
fn a_single_exact_piece_has_the_hunks_of_a_replacement() {
    for (base, old, new) in [("a\nb\nc\n", "b\n", "x\ny\n"), ("a\nb\nc\n", "b\n", "x"), ("ab\n", "a", "")] {
        let there = place(&text(base), &[swap(old, new)], Numbers::Ignore).unwrap();
        let plain = super::super::replace(&text(base), old, new, Places::One).unwrap();
        assert_eq!((there.hunks, there.after), (plain.hunks, plain.after), "{base:?} {old:?}");
    }
    let loose = place(&text("a \nb\n"), &[swap("a\nb\n", "a\nc\n")], Numbers::Ignore).unwrap();
    assert_eq!(loose.hunks.iter().map(|hunk| (hunk.old.first(), hunk.keeps)).collect::<Vec<_>>(), [(2, Keeps::All)]);
}

#[test]
fn a_stricter_rule_that_matches_is_the_only_one() {
    // The second place would match loosely.
    assert_eq!(loosely("  a\nb\n\n  a \nb\n", hunk("  a\nb\n", "x\n")), Ok(("x\n\n  a \nb\n".into(), vec![])));
    assert_eq!(loosely("a\r\nb\r\n\na \r\nb\r\n", hunk("a\nb\n", "x\n")).unwrap().0, "x\r\n\na \r\nb\r\n");
    // Of places that differ in other ways, neither is the nearer one.
    assert_eq!(made("if a \nb\n    if a\n    b\n", &[hunk("if a\nb\n", "x\n")]), Err(many(0, &[1, 3])));
    assert_eq!(made("if ‘a’\nb\n    if 'a'\n    b\n", &[hunk("if 'a'\nb\n", "x\n")]), Err(many(0, &[1, 3])));
}

#[test]
fn line_ends_are_those_of_the_file() {
    let ends = vec![Looseness::LineEnds];
    let crlf = "a\r\nb\r\nc\r\n";
    assert_eq!(loosely(crlf, swap("a\nb\n", "a\nx\ny\n")), Ok(("a\r\nx\r\ny\r\nc\r\n".into(), ends.clone())));
    assert_eq!(loosely("a\nb\nc\n", swap("a\r\nb\r\n", "a\r\nx\r\n")), Ok(("a\nx\nc\n".into(), ends.clone())));
    assert_eq!(loosely(crlf, swap("b", "x\ny")), Ok(("a\r\nx\r\ny\r\nc\r\n".into(), ends.clone())));
    assert_eq!(loosely("a\nb\n", swap("b", "x\r\ny")), Ok(("a\nx\ny\n".into(), ends.clone())));
    assert_eq!(loosely("a\nb", swap("b", "x\r\ny")), Ok(("a\nx\r\ny".into(), vec![])));
    assert_eq!(loosely(crlf, swap("b", "x")), Ok(("a\r\nx\r\nc\r\n".into(), vec![])));
    // Lines that stay keep their own end.
    assert_eq!(loosely("a\nb\r\nc\r\n", swap("a\nb\nc\n", "a\nb\nd\n")), Ok(("a\nb\r\nd\r\n".into(), ends)));
}

#[test]
fn blanks_at_the_end_of_lines() {
    let blanks = vec![Looseness::TrailingBlanks];
    assert_eq!(loosely("a  \nb\t\nc\n", swap("a\nb\n", "a\nx\n")), Ok(("a  \nx\nc\n".into(), blanks.clone())));
    assert_eq!(loosely("a\n  \nb\n", hunk("a\n\nb\n", "a\n\nc\n")), Ok(("a\n  \nc\n".into(), blanks)));
    // Two lines that are equal but for their blanks: which of them goes cannot be told.
    assert!(made("a\n \nb\n  \nc \n", &[hunk("a\n\nb\n\nc\n", "a\n\nc\n")]).is_err());
    assert!(made("a\n \nb\n \nc \n", &[hunk("a\n\nb\n\nc\n", "a\n\nc\n")]).is_ok());
    assert!(made("a \nb\n", &[hunk("a\nb\n", "a\na\nb\n")]).is_err());
    // A text may take the newline with it, at any of its places.
    assert_eq!(made("a \nx\na \n", &[swap("a\n", "b")]), Err(many(0, &[1, 3])));
    // Not within a line.
    assert!(matches!(made("xa  \nb\n", &[swap("a\nb\n", "c\n")]), Err(EditError::NotFound { .. })));
    assert_eq!(made("a \nb\na  \nb\n", &[swap("a\nb\n", "c\n")]), Err(many(0, &[1, 3])));
}

#[test]
fn indentation_is_shifted_alike() {
    let by = |by: Shift| vec![Looseness::Indentation { by }];
    let base = "{\n    if a {\n        b();\n    }\n}\n";
    assert_eq!(
        loosely(base, hunk("if a {\n    b();\n}\n", "if a {\n    c();\n\n    d();\n}\n")),
        Ok(("{\n    if a {\n        c();\n\n        d();\n    }\n}\n".into(), by(Shift::Deeper("    ".into()))))
    );
    assert_eq!(
        loosely("a:\n  b\n", swap("    a:\n      b\n", "    a:\n      c\n    d\n")),
        Ok(("a:\n  c\nd\n".into(), by(Shift::Shallower("    ".into()))))
    );
    assert_eq!(
        loosely("a\n\tb\n\t\tc\n", hunk("    b\n        c\n", "    b\n        d\n            e\n")),
        Ok(("a\n\tb\n\t\td\n\t\t\te\n".into(), by(Shift::Tabs(4))))
    );
    assert_eq!(
        loosely("a\n  b\n    c\n", hunk("a\n\tb\n\t\tc\n", "a\n\tb\n\t\td\n")),
        Ok(("a\n  b\n    d\n".into(), by(Shift::Spaces(2))))
    );
    // A second place that differs in its indentation, but not evenly, counts.
    assert_eq!(made("\t  a\n  a\n", &[hunk("      a\n", "      b\n")]), Err(many(0, &[1, 2])));
    // Not the same shift everywhere, and new lines that cannot be shifted.
    assert!(made("  a\n    b\n", &[hunk("a\nb\n", "c\n")]).is_err());
    assert!(made("a\nb\n", &[hunk("  a\n  b\n", "  a\nc\n")]).is_err());
    assert!(made("\ta\n", &[hunk("    a\n", "      c\n")]).is_err());
}

#[test]
fn punctuation_of_unicode() {
    let base = "say(“hi” – ‘x’)\nnext\u{a0}one\n";
    assert_eq!(
        loosely(base, hunk("say(\"hi\" - 'x')\nnext one\n", "say(\"hi\" - 'y')\nnext one\n")),
        Ok(("say(“hi” – ‘y’)\nnext\u{a0}one\n".into(), vec![Looseness::Punctuation]))
    );
    assert_eq!(
        loosely("a = \"b\"\n", swap("a = “b”\n", "a = “c”\n")),
        Ok(("a = \"c\"\n".into(), vec![Looseness::Punctuation]))
    );
    // Not even where a stated line chooses the place.
    let stated = Piece { line: Some(1), ..hunk("\"a\"\nb\n", "\"a2\"\n\"c\"\nb\n") };
    assert!(place(&text("“a”\nb\n“a”\nb\n"), &[stated], Numbers::BreakTies).is_err());
    assert!(made("“a”\nb\n", &[hunk("\"a\"\nb\n", "\"a2\"\n\"c\"\nb\n")]).is_err());
    assert!(made("“a”\n\"a”\n", &[hunk("'a'\n", "b\n")]).is_err());
}

#[test]
fn numbers_of_a_reader_are_no_text() {
    let numbers = vec![Looseness::LineNumbers];
    for (a, b, c) in [
        ("1\ta\n", "2\tb\n", "2\tx\n"),
        ("  1: a\n", "  2: b\n", "  2: x\n"),
        ("1→a\n", "2→b\n", "2→x\n"),
        ("1 | a\n", "2 | b\n", "2 | x\n"),
    ] {
        let piece = swap(&format!("{a}{b}"), &format!("{a}{c}"));
        assert_eq!(loosely("a\nb\nc\n", piece), Ok(("a\nx\nc\n".into(), numbers.clone())), "{a}");
        let plain = swap(&format!("{a}{b}"), "a\nx\n");
        assert_eq!(loosely("a\nb\nc\n", plain), Ok(("a\nx\nc\n".into(), numbers.clone())), "{a}");
    }
    assert!(made("a\nb\n", &[swap("1\ta\n3\tb\n", "x\n")]).is_err());
    assert!(made("a\nb\n", &[swap("1\ta\n2\tb\n", "1\ta\nx\n")]).is_err());
    assert_eq!(made("1\ta\n", &[swap("1\ta\n", "1\tb\n")]), Ok("1\tb\n".into()));
    // An empty last line is lost without its newline.
    assert!(made("a\n\nb\n", &[swap("1\ta\n2\t", "1\tx\n2\ty")]).is_err());
    // A reader does not change the indentation.
    assert!(made("    a\n", &[swap("1\ta\n", "b\n")]).is_err());
    // Whole lines only.
    assert!(made("xa\n", &[swap("1\ta\n", "b\n")]).is_err());
}

#[test]
fn the_newline_at_the_end_of_the_file_stays() {
    let last = vec![Looseness::FinalNewline];
    assert_eq!(loosely("a\nb", swap("b\n", "c\n")), Ok(("a\nc".into(), last.clone())));
    assert_eq!(loosely("a\nb", hunk("a\nb\n", "a\nb\nc\n")), Ok(("a\nb\nc".into(), last.clone())));
    assert_eq!(loosely("a\nb\n", hunk("a\nb", "a\nc")), Ok(("a\nc\n".into(), last.clone())));
    assert_eq!(loosely("a\nb", hunk("b", "b\n")), Ok(("a\nb\n".into(), vec![])));
    // It counts as a second place.
    assert_eq!(made("b\na\nb", &[swap("b\n", "c\n")]), Err(many(0, &[1, 3])));
    // A line without a newline is only the last one.
    assert!(made("a\nb\nc\n", &[hunk("a\nb", "a\nx")]).is_err());
    assert!(made("a\nb\nc\n", &[hunk("b\n", "x")]).is_err());
}

#[test]
fn a_hunk_is_whole_lines() {
    assert!(made("ab\n", &[hunk("b\n", "c\n")]).is_err());
    assert_eq!(made("\u{feff}b\nc\n", &[hunk("b\n", "x\n")]), Ok("\u{feff}x\nc\n".into()));
    assert_eq!(made("ab\nb\n", &[hunk("b\n", "c\n")]), Ok("ab\nc\n".into()));
}

#[test]
fn left_out_text_is_refused() {
    let refused = |old: &str, new: &str| made("a\nb\nc\n", &[swap(old, new)]);
    for line in [
        "...",
        "// ... existing code ...",
        "    # rest of the code",
        "/* ... */",
        "<!-- ... rest unchanged ... -->",
        "…",
    ] {
        let error = Err(EditError::Elision { piece: 0, line: line.into() });
        assert_eq!(refused(&format!("a\n{line}\nc\n"), "x\n"), error, "{line}");
        assert_eq!(refused("a\n", &format!("x\n{line}\n")), error, "{line}");
    }
    assert_eq!(made("a\n  ...\n", &[swap("a\n", "x\n...\n")]), Ok("x\n...\n  ...\n".into()));
    for fine in ["f(...)", "let x = ...args;", "# the rest of us", "wait...", "[...]", "//", "// see existing tests"] {
        assert!(refused("a\n", fine).is_ok(), "{fine}");
    }
}

#[test]
fn our_own_answers_are_no_text_of_a_file() {
    for line in
        ["[readcache: unchanged, 3 lines]", "[f.rs: lines 1-2 of 3; known=h2-0f]", "[f: line 2 of 3]", "[readproof: x]"]
    {
        let old = format!("a\nb\n\n{line}");
        assert_eq!(made("a\nb\n", &[swap(&old, "x")]), Err(EditError::Ours { piece: 0 }), "{line}");
        assert_eq!(made(&old, &[swap(&old, "x")]), Ok("x".into()), "{line}");
    }
    assert!(matches!(made("a\n", &[swap("[a: b]", "x")]), Err(EditError::NotFound { .. })));
}

#[test]
fn the_same_place_twice_is_refused() {
    let overlap = |first, second| Err(EditError::Overlap { first, second });
    assert_eq!(made("a\nb\n", &[swap("a", "x"), swap("a", "x")]), overlap(0, 1));
    assert_eq!(made("a\nb\nc\n", &[swap("b\nc", "x"), swap("a\nb", "y")]), overlap(0, 1));
    assert_eq!(made("a\nb\n", &[hunk("a\n", "a\nx\n"), hunk("a\nb\n", "a\ny\nb\n")]), overlap(0, 1));
    // Lines that repeat leave it open where the first one is put.
    assert_eq!(made("a\na\n", &[hunk("a\na\n", "a\na\na\n"), hunk("a\na\n", "a\nx\n")]), overlap(0, 1));
    assert_eq!(made("a\nb\nc\n", &[swap("c", "y"), swap("a", "x")]), Ok("x\nb\ny\n".into()));
}

#[test]
fn hunks_may_share_context() {
    let base = "a\nb\nc\nd\ne\n";
    assert_eq!(
        made(base, &[hunk("a\nb\nc\n", "A\nb\nc\n"), hunk("b\nc\nd\n", "b\nc\nD\n")]),
        Ok("A\nb\nc\nD\ne\n".into())
    );
    assert_eq!(made(base, &[hunk("a\nb\n", "a\nB\n"), hunk("b\nc\n", "b\nC\n")]), Ok("a\nB\nC\nd\ne\n".into()));
    assert!(matches!(
        made(base, &[swap("a\nb\n", "a\nB\n"), swap("b\nc\n", "b\nC\n")]),
        Err(EditError::Overlap { .. })
    ));
}

#[test]
fn order_decides_only_if_one_way_is_left() {
    let base = "x\n1\nx\n2\nx\n";
    let (one, two, x) = (hunk("1\n", "1!\n"), hunk("2\n", "2!\n"), hunk("x\n", "y\n"));
    assert_eq!(made(base, &[one.clone(), x.clone(), two.clone()]), Ok("x\n1!\ny\n2!\nx\n".into()));
    assert_eq!(made(base, &[two.clone(), x.clone()]), Ok("x\n1\nx\n2!\ny\n".into()));
    assert_eq!(made(base, &[one.clone(), x.clone()]), Err(many(1, &[1, 3, 5])));
    assert_eq!(made(base, &[swap("2\n", "2!\n"), swap("x\n", "y\n")]), Err(many(1, &[1, 3, 5])));
    // Two hunks for the same places may be one that is there twice.
    assert_eq!(made("x\n1\nx\n", &[x.clone(), x.clone()]), Err(many(0, &[1, 3])));
    // A stated line that points elsewhere contradicts.
    let stated = Piece { line: Some(1), ..x };
    assert_eq!(made(base, &[two, stated]), Err(many(1, &[1, 3, 5])));
}

#[test]
fn a_stated_line_decides_only_exactly_and_of_a_known_base() {
    let base = text("x\n1\nx\n2\n");
    let x = |line| Piece { line: Some(line), ..hunk("x\n", "y\n") };
    let after = |piece: &[Piece], numbers| place(&base, piece, numbers).map(|edit| String::from(edit.after.as_str()));
    assert_eq!(after(&[x(3)], Numbers::BreakTies), Ok("x\n1\ny\n2\n".into()));
    assert_eq!(after(&[x(2)], Numbers::BreakTies), Err(many(0, &[1, 3])));
    assert_eq!(after(&[x(3)], Numbers::Ignore), Err(many(0, &[1, 3])));
    // It never moves a place that is the only one, and counts for nothing beside one that is wrong.
    let two = Piece { line: Some(1), ..hunk("2\n", "3\n") };
    assert_eq!(after(core::slice::from_ref(&two), Numbers::BreakTies), Ok("x\n1\nx\n3\n".into()));
    assert_eq!(after(&[Piece { ordered: false, ..x(3) }, two], Numbers::BreakTies), Err(many(0, &[1, 3])));
}

#[test]
fn a_line_above_narrows() {
    let base = "class A:\n    def f():\n        pass\nclass B:\n    def f():\n        pass\nclass C:\n    def f():\n        pass\n";
    let after = |names: &[&str]| {
        let piece =
            Piece { after: names.iter().map(|name| (*name).into()).collect(), ..hunk("        pass\n", "        x\n") };
        made(base, &[piece])
    };
    let line = |at: usize| {
        let lines =
            base.lines().enumerate().map(|(n, line)| format!("{}\n", if n + 1 == at { "        x" } else { line }));
        Ok(lines.collect::<String>())
    };
    assert_eq!(after(&["class C:"]), line(9));
    assert_eq!(after(&["class C"]), line(9));
    assert_eq!(after(&["class B:", "def f():"]), line(6));
    assert_eq!(after(&["class B:"]), line(6));
    assert_eq!(after(&["def f():"]), Err(many(0, &[3, 6, 9])));
    let away = |anchor: &str, line| Err(EditError::Anchor { piece: 0, anchor: anchor.into(), line });
    assert_eq!(after(&["class D:"]), away("class D:", 3));
    let above = Piece { after: vec!["class C:".into()], ..hunk("class A:\n", "class X:\n") };
    assert_eq!(made(base, &[above]), away("class C:", 1));
}

#[test]
fn new_lines_without_context() {
    let add = |line, at_end| Piece { line, at_end, ..hunk("", "x\n") };
    let after = |base: &str, piece: Piece, numbers| {
        place(&text(base), &[piece], numbers).map(|e| String::from(e.after.as_str()))
    };
    let open = Err(EditError::NoContext { piece: 0 });
    assert_eq!(after("a\nb\n", add(None, false), Numbers::BreakTies), open);
    assert_eq!(after("a\nb\n", add(Some(2), false), Numbers::Ignore), open);
    assert_eq!(after("a\nb\n", add(Some(2), false), Numbers::BreakTies), Ok("a\nx\nb\n".into()));
    assert_eq!(after("a\nb\n", add(Some(3), false), Numbers::BreakTies), Ok("a\nb\nx\n".into()));
    assert_eq!(after("a\nb\n", add(Some(4), false), Numbers::BreakTies), open);
    assert_eq!(after("a\nb", add(None, true), Numbers::Ignore), Ok("a\nb\nx".into()));
    assert_eq!(after("", add(None, false), Numbers::Ignore), Ok("x\n".into()));
    assert_eq!(after("", swap("", "x"), Numbers::Ignore), Err(EditError::Empty));
}

#[test]
fn a_forgotten_own_edit_is_context() {
    let two = [hunk("a\nb\n", "a\nB\n"), hunk("B\nc\n", "B\nC\n")];
    let edit = place(&text("a\nb\nc\nd\n"), &two, Numbers::Ignore).unwrap();
    assert_eq!(edit.after.as_str(), "a\nB\nC\nd\n");
    assert_eq!(edit.assumed, [Assumed { piece: 1, line: 2, what: Looseness::OwnEdit }]);
    let three = [swap("a", "x\ny"), swap("d", "D"), swap("y\nb", "Y\nb")];
    assert_eq!(made("a\nb\nc\nd\n", &three), Ok("x\nY\nb\nc\nD\n".into()));
    // Only what stands before it in the call, and only once.
    assert!(matches!(made("a\nb\n", &[swap("x", "y"), swap("a", "x")]), Err(EditError::NotFound { piece: 0, .. })));
    assert!(matches!(made("a\nb\n", &[swap("a", "xx"), swap("x", "y")]), Err(EditError::Many { piece: 1, .. })));
    // It would also match loosely elsewhere.
    assert!(matches!(
        made("a\nx \nz\n", &[hunk("a\n", "x\n"), hunk("x\n", "y\n")]),
        Err(EditError::Many { piece: 1, .. })
    ));
}

#[test]
fn the_nearest_lines_show_what_differs() {
    let base: String = (1..100).map(|n| format!("line {n} of it\n")).collect();
    let near = |old: &str| match made(&base, &[hunk(old, "x\n")]) {
        Err(EditError::NotFound { nearest, .. }) => nearest,
        other => panic!("{other:?}"),
    };
    let found = |first, last, differs_at, wanted: &str, found: &str| {
        Some(Nearest {
            lines: Lines::new(first, last).unwrap(),
            differs_at,
            wanted: wanted.into(),
            found: found.into(),
        })
    };
    let old = "line 50 of it\nline 51 of them\nline 52 of it\n";
    assert_eq!(near(old), found(47, 55, 51, "line 51 of them", "line 51 of it"));
    assert_eq!(near("a line 50 of them, more or less\n").map(|there| there.differs_at), Some(50));
    assert_eq!(near("line 99 of it\nline 100 of it\n"), found(96, 99, 100, "line 100 of it", ""));
    let long: String = (10..90).map(|n| format!("line {n} of {}\n", if n == 80 { "IT" } else { "it" })).collect();
    let there = near(&long).unwrap();
    assert_eq!((there.differs_at, there.wanted.as_str(), there.lines.count()), (80, "line 80 of IT", 40));
    assert!(there.lines.first() <= 80 && there.lines.last() >= 80);
    assert!(near("nothing\n").is_none());
}

#[test]
fn patches_are_placed() {
    let base = "a\nb\nc\nd\ne\nf\n";
    // Wrong numbers and counts, a bare header, and empty lines that lost their space.
    for head in ["@@ -40,9 +1,2 @@", "@@", "@@ ... @@", "@@ -2,3 +2,3 @@ fn x()"] {
        let patch = format!("--- a/f\n+++ b/f\n{head}\n b\n-c\n+C\n d\n");
        assert_eq!(made(base, &pieces(&patch)), Ok("a\nb\nC\nd\ne\nf\n".into()), "{head}");
    }
    let patch = "*** Begin Patch\n*** Update File: f\n@@ b\n-c\n+C\n*** End Patch\n";
    assert_eq!(made(base, &pieces(patch)), Ok("a\nb\nC\nd\ne\nf\n".into()));
    let patch = "f\n<<<<<<< SEARCH\nc\n=======\nC\n>>>>>>> REPLACE\n";
    assert_eq!(made(base, &pieces(patch)), Ok("a\nb\nC\nd\ne\nf\n".into()));
}

#[test]
fn a_text_that_repeats_itself_too_often_is_not_searched_to_the_end() {
    // Only the last of very many places fits, and nobody looks so far.
    let base = format!("{}z\n", "a\n".repeat(200_000));
    let old = " a\n".repeat(20_000) + " z\n";
    assert!(matches!(made(&base, &[hunk(&old, " b\n")]), Err(EditError::Many { .. })));
    let all = Piece { places: Places::All, ..hunk(&old, " b\n") };
    assert!(matches!(made(&base, &[all]), Err(EditError::Many { .. })));
}

/// Every small text, every piece of it, several replacements: the result is the base with that piece replaced, the hunks add up,
/// and lines outside of them are as before.
#[test]
fn small_texts_exhaustively() {
    for base in ["a\na\nb\n", "ab\nab\nb", "\n\na\n\n", "a\nb\na\nc\na\nd\n", "a \r\n b\r\nc", "\u{feff}a\n\tb\n"] {
        let before = text(base);
        let ends: Vec<usize> = (0..=base.len()).filter(|at| base.is_char_boundary(*at)).collect();
        for (from, to) in ends.iter().flat_map(|from| ends.iter().map(move |to| (*from, *to))).filter(|(a, b)| a < b) {
            for new in ["", "x", "\n", "x\n", "x\ny", "\nx\n"] {
                check(&before, &base[from..to], new);
            }
        }
    }
}

fn check(before: &Text, old: &str, new: &str) {
    let base = before.as_str();
    for (places, shape) in [(Places::One, Shape::Text), (Places::All, Shape::Text), (Places::One, Shape::Hunk)] {
        let piece = Piece { shape, ..Piece::replace(old, new, places) };
        let Ok(edit) = place(before, &[piece], Numbers::Ignore) else { continue };
        if edit.assumed.is_empty() {
            let expected = match places {
                Places::One => base
                    .match_indices(old)
                    .map(|(at, _)| [&base[..at], new, &base[at + old.len()..]].concat())
                    .collect(),
                Places::All => vec![base.replace(old, new)],
            };
            assert!(expected.iter().any(|text| text == edit.after.as_str()), "{base:?} {old:?} {new:?} {edit:?}");
            assert!(shape == Shape::Hunk || expected.len() == 1);
        }
        check_outside(before, &edit);
    }
}

/// The line that the second hunk is meant for is gone; one like it stands in the first hunk.
#[test]
fn a_hunk_that_lost_its_place_takes_no_other() {
    let base = Text::new("B\nE\nC\nC\nF\nG\nE\n\n".into());
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-B\n+B\n+A\n E\n C\n@@\n-B\n+F\n*** End Patch\n";
    let (_, files) = parse_patch(patch).unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    assert!(matches!(place(&base, pieces, Numbers::Ignore), Err(EditError::Overlap { first: 0, second: 1 })));
    let above = Text::new("X\nB\nE\nC\n".into());
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n-E\n+e\n@@\n-X\n+F\n*** End Patch\n";
    let (_, files) = parse_patch(patch).unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    assert!(matches!(place(&above, pieces, Numbers::Ignore), Err(EditError::NotFound { piece: 1, .. })));
    let (_, files) =
        parse_patch("*** Begin Patch\n*** Update File: f\n@@\n-B\n+B\n+A\n E\n C\n*** End Patch\n").unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    assert_eq!(place(&base, &pieces[..1], Numbers::Ignore).unwrap().after.as_str(), "B\nA\nE\nC\nC\nF\nG\nE\n\n");
}

#[test]
fn a_lone_cr_at_the_end_is_no_line_end() {
    let (_, files) = parse_patch("--- a/f\n+++ b/f\n@@ -2,1 +2,1 @@\n-\r\n+\r\n").unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    let base = Text::new("a\n\r".into());
    assert!(place(&base, pieces, Numbers::Ignore).is_err_and(|error| matches!(error, EditError::NotFound { .. })));
}

#[test]
fn a_blank_line_is_not_lost_at_the_end_of_a_file() {
    let lost = |new: &str| made("a\nb", &[hunk("a\nb\n", new)]);
    assert_eq!(lost("a\nc\n"), Ok("a\nc".into()));
    assert!(matches!(lost("a\nc\n\n"), Err(EditError::NotFound { .. })));
}

#[test]
fn which_of_two_equal_lines_stays_must_be_known() {
    // Of the lines `c`, one ends in a tab in the file; which of them goes cannot be told.
    let block = |old: &str, new: &str| Piece { shape: Shape::Block, ..hunk(old, new) };
    for base in ["c\t\ne\n\nc\nm\n", "c\ne\n\nc\t\nm\n"] {
        assert!(
            matches!(made(base, &[block("c\ne\n\nc\nm\n", "c\nm\n")]), Err(EditError::NotFound { .. })),
            "{base:?}"
        );
    }
    // Both are alike, or the line that differs is another.
    for (base, after) in [("c\t\ne\n\nc\t\nm\n", "c\t\nm\n"), ("c\ne\n\nc\nm \n", "c\nm \n")] {
        assert_eq!(made(base, &[block("c\ne\n\nc\nm\n", "c\nm\n")]).as_deref(), Ok(after));
    }
    assert!(made("c \nm\n", &[block("c\nm\n", "c\nc\nm\n")]).is_err());
}

#[test]
fn a_blank_line_is_not_lost_with_the_last_newline() {
    for base in ["\nb", "a\n\nb"] {
        let old = alloc::format!("{base}\n");
        let new = old.strip_suffix("b\n").unwrap();
        assert!(made(base, &[hunk(&old, new)]).is_err(), "{base:?}");
    }
    assert_eq!(made("a\nb", &[hunk("a\nb\n", "a\n")]).as_deref(), Ok("a"));
    assert_eq!(made("b", &[hunk("b\n", "")]).as_deref(), Ok(""));
}

#[test]
fn no_line_end_is_cut_in_two() {
    let ends = vec![Looseness::LineEnds];
    // The bytes stand there, but begin between CR and LF.
    assert!(matches!(made("x\r\n\r\n\n", &[swap("\n\n", "y\nz\n")]), Err(EditError::NotFound { .. })));
    assert!(matches!(made("x\r\n\r\n\na\n\n", &[swap("\n\n", "y\n")]), Err(EditError::Many { .. })));
    assert_eq!(loosely("a\r\nb\r\nc\r\n", swap("\nb", "")), Ok(("a\r\nc\r\n".into(), ends.clone())));
    assert_eq!(loosely("a\r\nb\r\n", swap("\nb", "\nx\ny")), Ok(("a\r\nx\r\ny\r\n".into(), ends.clone())));
    assert_eq!(loosely("a\r\nb\nc\r\n", swap("\nb", "\nx\ny")), Ok(("a\r\nx\r\ny\nc\r\n".into(), ends)));
    let all = Piece { places: Places::All, ..swap("\n", "!\n") };
    assert_eq!(made("a\r\nb\nc\r\n", &[all]).as_deref(), Ok("a!\r\nb!\nc!\r\n"));
}

#[test]
fn a_place_that_differs_only_in_line_ends_may_be_meant() {
    assert!(matches!(made("d\nf\r\ng\r\nd\r\n", &[swap("d\n", "")]), Err(EditError::Many { count: 2, .. })));
    assert_eq!(made("d\r\nf\r\n", &[swap("d\r\n", "")]), Ok("f\r\n".into()));
}

#[test]
fn a_last_line_where_the_new_text_does_not_fit_may_be_meant() {
    let blank_behind = hunk("e\n", "e\n\n");
    assert_eq!(made("e\nf\ne", core::slice::from_ref(&blank_behind)), Err(many(0, &[1, 3])));
    assert_eq!(made("e\nf\ng", core::slice::from_ref(&blank_behind)), Ok("e\n\nf\ng".into()));
    let gone = hunk("g\ne\nc\n", "c\n");
    assert_eq!(made("e\ng\ne\nc\ne", &[gone, blank_behind]), Err(many(1, &[1, 3, 5])));
}

#[test]
fn order_chooses_no_place_that_another_hunk_changes() {
    let (gone, behind) = (hunk("g\ne\nc\n", "c\n"), hunk("e\n", "e\nx\n"));
    assert_eq!(made("e\ng\ne\nc\nf\n", &[gone.clone(), behind.clone()]), Err(many(1, &[1, 3])));
    assert_eq!(made("e\ng\ne\nc\ne\n", &[hunk("c\n", "d\n"), behind]), Ok("e\ng\ne\nd\ne\nx\n".into()));
}

#[test]
fn a_hunk_within_another_needs_a_known_base() {
    let hunks = [hunk("a\nb\nc\n", "a\nx\nb\nc\n"), hunk("b\nc\n", "b\ny\nc\n")];
    let after = |numbers| place(&text("a\nb\nc\nd\n"), &hunks, numbers).map(|edit| String::from(edit.after.as_str()));
    assert_eq!(after(Numbers::Ignore), Err(EditError::Overlap { first: 0, second: 1 }));
    assert_eq!(after(Numbers::BreakTies), Ok("a\nx\nb\ny\nc\nd\n".into()));
}

/// The line that the second hunk is for was changed by someone else; the first one says that this one, which is like it, stays.
#[test]
fn a_hunk_takes_no_line_that_another_shows_as_staying() {
    for (first, second) in [("c\n", "y\n"), ("c\nd\n", "y\nd\n"), ("b\nc\n", "b\n"), ("b\nc\nd\n", "b\ny\nd\n")] {
        let hunks = [hunk("a\nb\nc\n", "a\nx\nb\nc\n"), hunk(first, second)];
        for numbers in [Numbers::BreakTies, Numbers::Ignore] {
            let made = place(&text("a\nb\nc\nd\nother\n"), &hunks, numbers);
            assert_eq!(made.err(), Some(EditError::Overlap { first: 0, second: 1 }), "{first:?}");
        }
    }
    assert_eq!(
        made("a\nb\nc\nd\n", &[hunk("a\nb\n", "A\nb\n"), hunk("b\nc\nd\n", "b\nC\nd\n")]),
        Ok("A\nb\nC\nd\n".into())
    );
}

/// The line that the second hunk puts a line before is the one that the first removes: its own is gone.
#[test]
fn a_hunk_in_lines_that_go_is_refused_also_where_the_base_is_known() {
    let base = text("g\neg\nb\ne\na\nb\na\n");
    let patch = "--- a/f\n+++ b/f\n@@ -2,4 +2,3 @@\n eg\n b\n-e\n a\n@@ -7,1 +6,2 @@\n-e\n+b\n+e\n";
    let (_, files) = parse_patch(patch).unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    for numbers in [Numbers::BreakTies, Numbers::Ignore] {
        let made = place(&base, pieces, numbers);
        assert!(matches!(made, Err(EditError::Overlap { first: 0, second: 1 })), "{made:?}");
    }
}

/// A line of dots is text left out, unless the file has such a line.
#[test]
fn dots_at_the_end_of_a_line_are_not_the_line_of_dots_that_is_meant() {
    let dots = [Piece::replace("...\n", "x\n", Places::One)];
    let made = place(&text("a\n// and so on ...\nb\n"), &dots, Numbers::Ignore);
    assert!(matches!(&made, Err(EditError::Elision { piece: 0, line }) if line == "..."), "{made:?}");
    let made = place(
        &text("def f():\n    ...\n"),
        &[Piece::replace("    ...\n", "    return 1\n", Places::One)],
        Numbers::Ignore,
    );
    assert_eq!(made.unwrap().after.as_str(), "def f():\n    return 1\n");
}

/// The line that the second hunk removes is gone; the same lines stand where the first hunk ends.
#[test]
fn a_hunk_in_the_context_of_another_is_refused_where_the_base_is_not_known() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n-a\n f\n g\n@@ -5,2 +4,1 @@\n g\n-d\n";
    let (_, files) = parse_patch(patch).unwrap();
    let FileChange::Edit(pieces) = &files[0].change else { panic!("{files:?}") };
    let made = place(&text("a\nf\ng\nd\ng\ne\n"), pieces, Numbers::Ignore);
    assert!(matches!(made, Err(EditError::Overlap { first: 0, second: 1 })), "{made:?}");
    let made = place(&text("a\nf\ng\nd\ng\nd\n"), pieces, Numbers::BreakTies);
    assert_eq!(made.unwrap().after.as_str(), "f\ng\nd\ng\n");
}

/// A line of blanks alone says that tabs were written as blanks, but not how many: the new lines cannot be made to fit.
#[test]
fn tabs_in_a_line_of_blanks_are_not_guessed() {
    let base = text("a\n\t \nb\n");
    assert!(place(&base, &[hunk("a\n     \n", "a\n     x\n     \n")], Numbers::Ignore).is_err());
    // Nothing indented is brought.
    let made = place(&base, &[hunk("a\n     \n", "a\nx\n     \n")], Numbers::Ignore).unwrap();
    assert_eq!(made.after.as_str(), "a\nx\n\t \nb\n");
    // The same in a text with other characters than ASCII, where punctuation is compared too.
    let base = text("a\n\t \nb “c”\n");
    for (old, new) in [("a\n     \n", "a\n     x\n     \n"), ("a\n     ", "a\n     x")] {
        let piece = Piece { shape: Shape::Text, ..hunk(old, new) };
        assert!(place(&base, &[piece], Numbers::Ignore).is_err(), "{old:?}");
    }
}
