//! What pi's own `read` shows of a text. Written from pi's source, independently of Readproof's.

use std::fmt::Write;

/// The most lines one answer shows.
pub const LINES: usize = 2000;

/// The most bytes one answer shows.
pub const BYTES: usize = 50 * 1024;

/// What pi's own `read` answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The block.
    pub text: String,
    /// The first line, counted from 1.
    pub first: u64,
    /// The last line shown in full; less than `first` if none is.
    pub last: u64,
    /// Lines in the file.
    pub total: u64,
}

/// The answer to a call for a text; `None` when the offset is beyond its last line. `path` is the path as written.
#[must_use]
pub fn page(text: &str, path: &str, offset: Option<i64>, limit: Option<u64>) -> Option<Page> {
    let all: Vec<&str> = text.split('\n').collect();
    let start = usize::try_from(offset.unwrap_or(1).max(1) - 1).ok()?;
    if start >= all.len() {
        return None;
    }
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let end = limit.map_or(all.len(), |limit| start.saturating_add(limit).min(all.len()));
    let selected = all[start..end].join("\n");
    let (first, total) = (start as u64 + 1, all.len() as u64);
    let said = |text: String, last: usize| Some(Page { text, first, last: last as u64, total });

    let Some((kept, by_bytes)) = truncated(&selected) else {
        let mut block = selected;
        if end < all.len() {
            let left = all.len() - end;
            let _ = write!(block, "\n\n[{left} more lines in file. Use offset={} to continue.]", end + 1);
        }
        return said(block, end);
    };
    if kept.is_empty() {
        let size = size(all[start].len());
        let most = self::size(BYTES);
        let words = format!(
            "[Line {first} is {size}, exceeds {most} limit. Use bash: sed -n '{first}p' {path} | head -c {BYTES}]"
        );
        return said(words, start);
    }
    let last = start + kept.len();
    let mut block = kept.join("\n");
    let why = if by_bytes { format!(" ({} limit)", size(BYTES)) } else { String::new() };
    let _ = write!(block, "\n\n[Showing lines {first}-{last} of {total}{why}. Use offset={} to continue.]", last + 1);
    said(block, last)
}

/// How many lines of a text fit (0 if not even the first does), and whether the byte limit is the reason.
fn truncated(content: &str) -> Option<(Vec<&str>, bool)> {
    let mut lines: Vec<&str> = if content.is_empty() { Vec::new() } else { content.split('\n').collect() };
    if content.ends_with('\n') {
        lines.pop();
    }
    if lines.len() <= LINES && content.len() <= BYTES {
        return None;
    }
    let (mut kept, mut bytes, mut by_bytes) = (Vec::new(), 0, false);
    for line in lines.into_iter().take(LINES) {
        let more = line.len() + usize::from(!kept.is_empty());
        if bytes + more > BYTES {
            by_bytes = true;
            break;
        }
        kept.push(line);
        bytes += more;
    }
    Some((kept, by_bytes))
}

#[expect(clippy::cast_precision_loss, reason = "as pi computes it")]
fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_as_pi_gives_them() {
        let check = |text: &str, offset, limit, block: Option<&str>| {
            let page = page(text, "f", offset, limit);
            assert_eq!(page.as_ref().map(|page| page.text.as_str()), block, "{offset:?} {limit:?}");
        };
        check("", None, None, Some(""));
        check("a\nb\n", None, None, Some("a\nb\n"));
        check("a\nb\n", Some(3), None, Some(""));
        check("a\nb\n", Some(4), None, None);
        check("a\nb\n", Some(0), Some(1), Some("a\n\n[2 more lines in file. Use offset=2 to continue.]"));
        check("a\nb\n", Some(-3), Some(2), Some("a\nb\n\n[1 more lines in file. Use offset=3 to continue.]"));
        check("a\nb\n", Some(2), Some(2), Some("b\n"));
        check("a\nb", Some(2), Some(1), Some("b"));
    }

    #[test]
    fn pages_that_are_cut() {
        let lines = |count: usize| "x\n".repeat(count);
        assert_eq!(page(&lines(2000), "f", None, None).unwrap().text, lines(2000));
        let cut = page(&lines(2001), "f", None, None).unwrap();
        assert!(cut.text.ends_with("\nx\n\n[Showing lines 1-2000 of 2002. Use offset=2001 to continue.]"));
        assert_eq!((cut.first, cut.last, cut.total), (1, 2000, 2002));
        let wide = "y".repeat(30_000);
        let cut = page(&format!("{wide}\n{wide}\n"), "f", None, None).unwrap();
        let tail = "\n\n[Showing lines 1-1 of 3 (50.0KB limit). Use offset=2 to continue.]";
        assert_eq!((cut.text, cut.last), (format!("{wide}{tail}"), 1));
        let just = "z".repeat(BYTES);
        assert_eq!(page(&just, "f", None, None).unwrap().text, just);
        let over = page(&format!("{just}\n"), "f", None, None).unwrap().text;
        assert_eq!(over, format!("{just}\n\n[Showing lines 1-1 of 2. Use offset=2 to continue.]"));
        let long = page(&format!("a\n{just}z"), "my f", Some(2), None).unwrap();
        let words = "[Line 2 is 50.0KB, exceeds 50.0KB limit. Use bash: sed -n '2p' my f | head -c 51200]";
        assert_eq!((long.text.as_str(), long.first, long.last), (words, 2, 1));
    }
}
