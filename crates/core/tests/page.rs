//! Pages in a made-up style, under both ways of counting: what is shown, what is said after it, and what it is called in
//! metadata and markers. The style of a real host is tested with that host.
#![allow(clippy::unwrap_used)]

use readproof_core::{
    decide::{Ask, Base, Reason, decide},
    limits::{Limits, Markers},
    page::{Fragment, LineCounting, Page, PageNotices, PageStyle},
    path::PathKey,
    render::render,
    scope::ScopeError,
    text::Text,
};

fn style(counting: LineCounting) -> PageStyle {
    use Fragment::{First, Last, LimitBytes, LimitSize, LineSize, Next, Path, Remaining, Total, Words};
    let notices = PageNotices {
        more: &[Words("|more "), Remaining, Words(" from "), Next],
        cut_by_lines: &[Words("|lines "), First, Words("-"), Last, Words(" of "), Total],
        cut_by_bytes: &[Words("|bytes "), First, Words("-"), Last, Words(" of "), Total, Words(", "), LimitSize],
        long_line: &[Words("|"), Path, Words(":"), First, Words(" "), LineSize, Words(" > "), LimitBytes],
    };
    PageStyle { counting, most_lines: 3, most_bytes: 12, notices }
}

/// What a plain answer shows, with what is said after it; the lines it covers, as the host counts.
fn page(text: &str, call: (Option<u64>, Option<u64>), counting: LineCounting) -> (String, String) {
    let (now, style, path) = (Text::new(text.to_owned()), style(counting), PathKey::new("f"));
    let limits = style.limits(Limits { markers: Markers::Always, ..Limits::default() });
    let ask = Ask::paged(&now, call.0, call.1, "{f}", &style).unwrap();
    let plain = decide(&now, &path, &ask, Base::None(Reason::NotHeld), &limits);
    let shown = render(&plain, &now, &ask);
    let said = shown.counted();
    (shown.text().to_owned() + shown.tail(), format!("{} {}-{} of {}", said.scope, said.first, said.last, said.total))
}

#[test]
fn what_a_page_shows_and_says() {
    use LineCounting::{Lf1, Split};
    let check = |text: &str, call, counting, block: &str, said: &str| {
        assert_eq!(page(text, call, counting), (block.to_owned(), said.to_owned()), "{text:?} {call:?} {counting:?}");
    };
    let (all, two, from_2) = ((None, None), (None, Some(2)), (Some(2), None));
    check("1\n2\n3\n", all, Lf1, "1\n2\n3\n", "full 1-3 of 3");
    check("1\n2\n3\n", all, Split, "1\n2\n3\n", "full 1-4 of 4");
    check("1\n2\n3", all, Split, "1\n2\n3", "full 1-3 of 3");
    check("1\n2\n3\n", two, Lf1, "1\n2|more 1 from 3", "r:1:2 1-2 of 3");
    check("1\n2\n3\n", two, Split, "1\n2|more 2 from 3", "r:1:2 1-2 of 4");
    check("1\n2\n3\n", from_2, Lf1, "2\n3\n", "r:2:3 2-3 of 3");
    check("1\n2\n3\n", from_2, Split, "2\n3\n", "r:2:4 2-4 of 4");
    check("1\n2\n3\n4\n", all, Lf1, "1\n2\n3|lines 1-3 of 4", "r:1:3 1-3 of 4");
    check("1\n2\n3\n4\n", all, Split, "1\n2\n3|lines 1-3 of 5", "r:1:3 1-3 of 5");
    check("12345678\n12345678\n", all, Lf1, "12345678|bytes 1-1 of 2, 12B", "r:1:1 1-1 of 2");
    check("", all, Lf1, "", "full 1-0 of 0");
    check("", all, Split, "", "full 1-1 of 1");
    // What stands for the path may itself look like a notice's field.
    check(&"x".repeat(1536), all, Lf1, "|{f}:1 1.5KB > 12", "full 1-1 of 1");
}

#[test]
fn an_offset_that_is_no_line_is_refused() {
    let (text, empty) = (Text::new("1\n2\n".to_owned()), Text::new(String::new()));
    for (counting, total) in [(LineCounting::Lf1, 2), (LineCounting::Split, 3)] {
        let of = |text, offset, limit| Page::of(text, offset, limit, "f", &style(counting));
        assert_eq!(of(&text, Some(3), None), Err(ScopeError::BeyondEnd { offset: 3, total }));
        assert_eq!(of(&text, Some(0), None), Err(ScopeError::Zero { what: "offset" }));
        assert_eq!(of(&text, None, Some(0)), Err(ScopeError::Zero { what: "limit" }));
        assert_eq!(of(&empty, Some(2), None), Err(ScopeError::BeyondEnd { offset: 2, total: total - 2 }));
        assert!(of(&empty, Some(1), None).is_ok());
    }
}
