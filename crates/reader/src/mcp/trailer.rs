//! The grammar of a trailer: the one line after the text of an answer.
//!
//! It looks at the words alone, and knows nothing beforehand but the name of the file, which the call has.

use crate::{
    Complaint,
    answer::{FILE_TEXT_NOTICE, Origin, Part, decimal, fields},
    demand,
    name::labelled,
};

/// What a trailer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trailer {
    /// The first and the last line that the answer stands for.
    pub(super) lines: Option<(u64, u64)>,
    /// Lines in the file.
    pub(super) total: u64,
    /// The last line asked for, if the file ends before it.
    pub(super) beyond: Option<u64>,
    /// The line to continue with.
    pub(super) next: Option<u64>,
    /// The text is the beginning of this line.
    pub(super) part: Option<Part>,
    /// The lines are blank and not shown.
    pub(super) blank: bool,
    /// Whether the text is the file's or ours.
    pub(super) origin: Origin,
    /// The parts of the handle.
    pub(super) handle: Vec<String>,
}

/// Parses the trailer of an answer about a file.
pub(super) fn read(trailer: &str, path: &str) -> Result<Trailer, Complaint> {
    let plain = !trailer.chars().any(char::is_control);
    let said = trailer.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| plain);
    // A name may contain anything, also the words of a trailer: it is taken off first.
    let said = said.and_then(|said| said.strip_prefix(&*labelled(path))?.strip_prefix(": "));
    let Some(said) = said else {
        return Err(Complaint(format!("no trailer of {path}: {trailer:?}")));
    };
    let mut words = said.split("; ").peekable();
    let (lines, total) = head(words.next().unwrap_or_default())?;
    let mut read = Trailer { lines, total, ..Trailer::default() };
    if let Some([line]) = words.peek().and_then(|word| fields(word, "line {} is beyond the end")) {
        demand!(line > total, "line {line} is said to be beyond the end of {total} lines");
        read.beyond = words.next().map(|_| line);
    }
    if let Some([line]) = words.peek().and_then(|word| fields(without_snapshot(word), "go on with offset={}")) {
        read.next = words.next().map(|_| line);
    }
    if let Some(known) = words.peek().and_then(|word| word.strip_prefix("known=")) {
        read.handle = known.split('+').map(str::to_owned).collect();
        let odd = read.handle.iter().find(|part| !is_part(part));
        demand!(odd.is_none(), "{known:?} is no handle");
        words.next();
    }
    let rest: Vec<&str> = words.collect();
    read.blank = rest.contains(&"these lines are blank and not shown");
    for notice in &rest {
        if let Some([line, bytes, shown]) =
            fields(notice, "line {} is {} bytes long and is shown in part: its first {} bytes")
        {
            demand!(shown < bytes, "the notice {notice:?} calls a whole line a part");
            demand!(read.part.is_none(), "two notices name a line shown in part");
            read.part = Some(Part { line, shown });
        }
    }
    if rest.join("; ").contains(FILE_TEXT_NOTICE) {
        read.origin = Origin::File;
    }
    check(&read)?;
    Ok(read)
}

/// How to go on, without the text that the next lines must be of: it says nothing about lines.
fn without_snapshot(word: &str) -> &str {
    let is_digits = |of: &str| of.len() == 8 && of.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    word.split_once(" of=").filter(|(_, of)| is_digits(of)).map_or(word, |(next, _)| next)
}

/// Which lines of how many.
fn head(words: &str) -> Result<(Option<(u64, u64)>, u64), Complaint> {
    if let Some([line, total]) = fields(words, "line {} of {}") {
        return Ok((Some((line, line)), total));
    }
    if let Some([first, last, total]) = fields(words, "lines {}-{} of {}") {
        demand!(first < last, "{words:?} are no lines");
        return Ok((Some((first, last)), total));
    }
    if let Some([total]) = fields(words, "{} lines") {
        demand!(total > 0, "an empty file has no lines to speak of");
        return Ok((None, total));
    }
    demand!(words == "empty file", "the trailer begins with {words:?}");
    Ok((None, 0))
}

/// The statements of a trailer must be consistent.
fn check(read: &Trailer) -> Result<(), Complaint> {
    let Trailer { lines, total, next, part, .. } = *read;
    let last = match (lines, part) {
        (Some((first, last)), None) => {
            demand!(first >= 1 && last <= total, "lines {first}-{last} of {total}");
            last
        }
        (Some(_), Some(part)) => {
            return Err(Complaint(format!("lines are shown whole and line {} in part", part.line)));
        }
        (None, Some(part)) => {
            demand!((1..=total).contains(&part.line), "line {} of {total} in part", part.line);
            part.line
        }
        (None, None) => {
            demand!(total == 0, "none of {total} lines");
            0
        }
    };
    demand!(next.is_none_or(|next| next == last + 1 && next <= total), "{next:?} follows line {last} of {total}");
    Ok(())
}

/// `h<number>-<16 hex>`.
fn is_part(part: &str) -> bool {
    let hex = |digits: &str| digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let split = part.strip_prefix('h').and_then(|part| part.split_once('-'));
    split.is_some_and(|(number, digits)| decimal(number).is_some() && hex(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLE: &str = "h2-0123456789abcdef";

    #[test]
    fn what_trailers_say() {
        let plain = Trailer { lines: Some((1, 3)), total: 3, ..Trailer::default() };
        let handle = vec![HANDLE.to_owned()];
        let cut = Trailer { total: 9, next: Some(4), handle, ..plain.clone() };
        let part = Trailer { total: 9, part: Some(Part { line: 2, shown: 5 }), ..Trailer::default() };
        for (said, expected) in [
            ("lines 1-3 of 3".to_owned(), plain.clone()),
            ("line 3 of 3".to_owned(), Trailer { lines: Some((3, 3)), ..plain.clone() }),
            ("empty file".to_owned(), Trailer::default()),
            ("lines 1-3 of 3; line 7 is beyond the end".to_owned(), Trailer { beyond: Some(7), ..plain.clone() }),
            (format!("lines 1-3 of 9; go on with offset=4; known={HANDLE}"), cut),
            ("9 lines; line 2 is 6 bytes long and is shown in part: its first 5 bytes".to_owned(), part),
            (format!("lines 1-3 of 3; x; {FILE_TEXT_NOTICE}"), Trailer { origin: Origin::File, ..plain.clone() }),
            (format!("lines 1-3 of 3; known={HANDLE}; known=x"), Trailer { handle: vec![HANDLE.to_owned()], ..plain }),
        ] {
            // A name with the words of a trailer is not taken for one, and must be escaped.
            let trailer = format!("[a\\u{{3b}} known\\u{{3d}}h1: {said}]");
            assert_eq!(read(&trailer, "a; known=h1"), Ok(expected.clone()), "{said}");
            assert!(read(&format!("[a; known=h1: {said}]"), "a; known=h1").is_err(), "{said}");
            assert_eq!(read(&format!("[a [b]: {said}]"), "a [b]"), Ok(expected), "{said}");
        }
    }

    #[test]
    fn what_no_trailer_says() {
        for said in [
            "",
            "lines 1-3",
            "lines 3-3 of 3",
            "lines 0-3 of 3",
            "lines 2-4 of 3",
            "0 lines",
            "3 lines",
            "lines 1-3 of 3; line 3 is beyond the end",
            "lines 1-3 of 9; go on with offset=5",
            "lines 1-3 of 3; go on with offset=4",
            "lines 1-3 of 3; known=h2",
            "lines 1-3 of 3; known=h2-0123456789abcdeF",
            "lines 1-3 of 3; known=h02-0123456789abcdef",
            "lines 1-3 of 3; known= h2-0123456789abcdef",
            "lines 1-3 of 3\n",
            "lines 1-3 of 9; line 4 is 6 bytes long and is shown in part: its first 5 bytes",
        ] {
            assert!(read(&format!("[a: {said}]"), "a").is_err(), "{said}");
        }
        assert!(read("[a: empty file]", "b").is_err());
        assert!(read("a: empty file", "a").is_err());
    }
}
