//! Keys and anchors of YAML, read line by line. Malformed text and templates are read as far as they look like YAML. No
//! grammar: tree-sitter's scanner writes beyond a buffer if a text is nested deeply, so a text could crash the program.
//! ARCHITECTURE.md, "Written by hand", says why no YAML parser is used.

use readproof_core::scope::Lines;

use crate::symbols::{
    Outline, Symbol, SymbolKind,
    walk::{ALL_NAME_BYTES, MOST_AROUND, MOST_SYMBOLS, NAME_BYTES},
};

/// The keys of a text, and its anchors as variables.
pub(in crate::symbols) fn outline(text: &str) -> Outline {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rows: Vec<&str> = text.split_terminator('\n').map(|row| row.strip_suffix('\r').unwrap_or(row)).collect();
    let mut reader =
        Reader { rows, open: Vec::new(), last: 0, lead: None, room: ALL_NAME_BYTES, outline: Outline::default() };
    let mut row = 0;
    while row < reader.rows.len() && reader.outline.symbols.len() < MOST_SYMBOLS {
        row = reader.line(row);
    }
    reader.outline.truncated |= row < reader.rows.len();
    reader.close(0);
    reader.outline
}

/// A key whose value has not ended yet.
struct Open<'t> {
    /// Its column; [`IN_BRACES`] is deeper than any.
    column: usize,
    name: &'t str,
    symbol: Option<u32>,
}

struct Reader<'t> {
    rows: Vec<&'t str>,
    open: Vec<Open<'t>>,
    /// The last row that is not blank and not a comment.
    last: usize,
    /// The first and last row of the comments above.
    lead: Option<(usize, usize)>,
    room: usize,
    outline: Outline,
}

/// A position.
#[derive(Clone, Copy)]
struct At {
    row: usize,
    column: usize,
}

const IN_BRACES: usize = usize::MAX;

impl<'t> Reader<'t> {
    /// Reads a row and the rows that its value continues on; returns the row after them.
    fn line(&mut self, row: usize) -> usize {
        let text = self.rows[row];
        let content = text.trim_start_matches(' ');
        let column = text.len() - content.len();
        if content.trim().is_empty() {
            return row + 1;
        }
        if content.starts_with('#') {
            let run = self.lead.filter(|(_, last)| last + 1 == row);
            self.lead = Some((run.map_or(row, |(first, _)| first), row));
            return row + 1;
        }
        if text.starts_with("---") || text.starts_with("...") || text.starts_with('%') {
            self.close(0);
            return row + 1;
        }
        let next = self.entry(At { row, column });
        self.lead = None;
        next
    }

    /// Reads a row after its indentation: dashes, then a key or a value.
    fn entry(&mut self, at: At) -> usize {
        let text = self.rows[at.row];
        let mut column = at.column;
        let mut around = None;
        while let Some(mark) = text[column..].chars().next().filter(|mark| matches!(mark, '-' | '?' | ':')) {
            let behind = &text[column + mark.len_utf8()..];
            if !(behind.is_empty() || behind.starts_with([' ', '\t'])) {
                break;
            }
            // A list may have the indentation of its key.
            self.close(column + 1);
            around = Some((column, mark == '?'));
            column = text.len() - behind.trim_start().len();
        }
        let column = self.properties(At { row: at.row, column });
        let rest = &text[column..];
        let Some((name, length)) = key(rest) else {
            if let Some((outer, true)) = around {
                // `? key`, with its value after a colon in another row.
                self.close(outer);
                self.add(rest.trim_end(), at.row, outer, self.lead.filter(|(_, last)| last + 1 == at.row));
            }
            self.last = at.row;
            let around = around.map(|(column, _)| column).or_else(|| self.open.last().map(|open| open.column));
            return self.value(At { row: at.row, column }, around);
        };
        self.close(column);
        self.last = at.row;
        self.add(name, at.row, column, self.lead.filter(|(_, last)| last + 1 == at.row));
        let value = column + length;
        let value = text.len() - text[value..].trim_start().len();
        let value = self.properties(At { row: at.row, column: value });
        self.value(At { row: at.row, column: value }, Some(column))
    }

    /// Skips tags, and lists anchors.
    fn properties(&mut self, at: At) -> usize {
        let text = self.rows[at.row];
        let mut column = at.column;
        while let Some(mark) = text[column..].chars().next().filter(|mark| matches!(mark, '&' | '!')) {
            let word = text[column..].split([' ', '\t']).next().unwrap_or_default();
            if mark == '&' && word.len() > 1 {
                self.list(&word[1..], SymbolKind::Variable, at.row, (at.row, at.row));
            }
            column = text.len() - text[column + word.len()..].trim_start().len();
        }
        column
    }

    /// Skips a value that continues on further rows; `around` is the column of the key or dash that it belongs to.
    fn value(&mut self, at: At, around: Option<usize>) -> usize {
        let text = &self.rows[at.row][at.column..];
        match text.as_bytes().first() {
            Some(b'|' | b'>') => self.scalar(at.row + 1, around),
            Some(b'"' | b'\'') => self.quoted(at).row + 1,
            Some(b'{' | b'[') => self.braces(at, around),
            Some(_) | None => at.row + 1,
        }
    }

    /// Skips the rows of a block scalar: those that are blank or deeper than `around`.
    fn scalar(&mut self, first: usize, around: Option<usize>) -> usize {
        let mut row = first;
        while let Some(text) = self.rows.get(row) {
            let depth = text.len() - text.trim_start_matches(' ').len();
            let is_blank = text.trim().is_empty();
            if !is_blank && around.is_none_or(|around| depth <= around) {
                break;
            }
            if !is_blank {
                self.last = row;
            }
            row += 1;
        }
        row
    }

    /// The end of a quoted text; one that is never closed ends with its row.
    fn quoted(&mut self, at: At) -> At {
        let mut row = at.row;
        let mut from = at.column + 1;
        let quote = self.rows[at.row].as_bytes()[at.column];
        while let Some(text) = self.rows.get(row) {
            if let Some(length) = closing(&text.as_bytes()[from.min(text.len())..], quote) {
                self.last = self.last.max(row);
                return At { row, column: from + length + 1 };
            }
            (row, from) = (row + 1, 0);
        }
        At { row: at.row, column: self.rows[at.row].len() }
    }

    /// Reads braces and brackets, over any number of rows, and lists the keys in them.
    fn braces(&mut self, at: At, around: Option<usize>) -> usize {
        let outside = self.open.len();
        // How many keys are open in each pair.
        let mut pairs: Vec<usize> = Vec::new();
        let mut at = at;
        while let Some(text) = self.rows.get(at.row).copied() {
            let content = text.trim_start();
            let indent = text.len() - content.len();
            let is_over = at.column == 0 && !content.is_empty() && !content.starts_with(['}', ']']);
            if is_over && !pairs.is_empty() && around.is_some_and(|around| around != IN_BRACES && indent <= around) {
                break;
            }
            at = self.braces_row(at, &mut pairs);
            if pairs.is_empty() || self.outline.symbols.len() >= MOST_SYMBOLS {
                break;
            }
        }
        self.close_to(outside);
        if at.column == 0 { at.row } else { at.row + 1 }
    }

    /// Reads one row of them, or up to the end of a quoted text in a later one.
    fn braces_row(&mut self, at: At, pairs: &mut Vec<usize>) -> At {
        let text = self.rows[at.row];
        let mut column = at.column;
        while let Some(letter) = text.as_bytes().get(column) {
            self.last = at.row;
            match letter {
                b'{' | b'[' => pairs.push(self.open.len()),
                b'}' | b']' => {
                    if let Some(open) = pairs.pop() {
                        self.close_to(open);
                    }
                    if pairs.is_empty() {
                        return At { row: at.row, column: column + 1 };
                    }
                }
                b',' => self.close_to(pairs.last().copied().unwrap_or(0)),
                b'#' if column == 0 || text.as_bytes()[column - 1].is_ascii_whitespace() => break,
                b' ' | b'\t' | b':' => {}
                _ => {
                    let rest = &text[column..];
                    if let Some((name, length)) = key_in_braces(rest) {
                        self.add(name, at.row, IN_BRACES, None);
                        column += length;
                        continue;
                    }
                    if matches!(letter, b'"' | b'\'') {
                        let end = self.quoted(At { row: at.row, column });
                        if end.row != at.row {
                            return end;
                        }
                        column = end.column;
                        continue;
                    }
                    column += rest.find([',', '{', '}', '[', ']', '#', ' ']).unwrap_or(rest.len()).max(1);
                    continue;
                }
            }
            column += 1;
        }
        At { row: at.row + 1, column: 0 }
    }

    /// Lists a key and opens it.
    fn add(&mut self, name: &'t str, row: usize, column: usize, lead: Option<(usize, usize)>) {
        let symbol = self.list(name, SymbolKind::Key, row, (lead.map_or(row, |(first, _)| first), row));
        self.open.push(Open { column, name, symbol });
    }

    fn list(&mut self, name: &str, kind: SymbolKind, row: usize, rows: (usize, usize)) -> Option<u32> {
        let scope = || self.open.iter().map(|open| open.name);
        if name.is_empty() {
            return None;
        }
        let is_deep = self.open.len() > MOST_AROUND;
        let taken = if is_deep { 0 } else { scope().map(|name| name.len() + size_of::<String>()).sum::<usize>() };
        if is_deep || name.len() > NAME_BYTES || taken + name.len() > self.room {
            self.outline.truncated = true;
            return None;
        }
        let symbol = Symbol {
            name: name.to_owned(),
            kind,
            scope: scope().map(str::to_owned).collect(),
            of: None,
            lines: lines(rows.0, rows.1)?,
            line: line(row),
            signature: lines(row, row)?,
            parent: self.open.iter().rev().find_map(|open| open.symbol),
        };
        self.room -= taken + name.len();
        self.outline.symbols.push(symbol);
        u32::try_from(self.outline.symbols.len() - 1).ok()
    }

    /// Ends the keys at or after a column.
    fn close(&mut self, column: usize) {
        let left = self.open.iter().rposition(|open| open.column < column).map_or(0, |at| at + 1);
        self.close_to(left);
    }

    fn close_to(&mut self, left: usize) {
        while self.open.len() > left {
            let symbol = self.open.pop().and_then(|open| open.symbol);
            if let Some(symbol) = symbol.and_then(|symbol| self.outline.symbols.get_mut(symbol as usize)) {
                let last = line(self.last).max(symbol.lines.last());
                symbol.lines = Lines::new(symbol.lines.first(), last).unwrap_or(symbol.lines);
            }
        }
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row + 1).unwrap_or(u32::MAX)
}

fn lines(first: usize, last: usize) -> Option<Lines> {
    Lines::new(line(first), line(last))
}

/// The position of the closing quote. A quote is escaped by `\` in double quotes, by a second quote in single ones.
fn closing(bytes: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 2,
            b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if *byte == quote => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// The key at the beginning of a text: its name, and the position after its colon.
fn key(text: &str) -> Option<(&str, usize)> {
    let first = *text.as_bytes().first()?;
    let (name, colon) = if matches!(first, b'"' | b'\'') {
        let end = closing(&text.as_bytes()[1..], first)? + 1;
        let behind = &text[end + 1..];
        (&text[1..end], end + 1 + (behind.len() - behind.trim_start().len()))
    } else {
        if matches!(first, b'|' | b'>' | b'%' | b'@' | b'`' | b'{' | b'}' | b'[' | b']' | b',' | b'#') {
            return None;
        }
        let is_colon = |at: &usize| text[at + 1..].is_empty() || text[at + 1..].starts_with([' ', '\t']);
        let colon = text.match_indices(':').map(|(at, _)| at).find(is_colon)?;
        if text[..colon].contains(" #") {
            return None;
        }
        (text[..colon].trim_end(), colon)
    };
    let behind = text.get(colon..)?.strip_prefix(':')?;
    (behind.is_empty() || behind.starts_with([' ', '\t'])).then_some((name, colon + 1))
}

/// The same in braces, where a comma ends a key and a quoted key needs no space after its colon.
fn key_in_braces(text: &str) -> Option<(&str, usize)> {
    let first = *text.as_bytes().first()?;
    if matches!(first, b'"' | b'\'') {
        let end = closing(&text.as_bytes()[1..], first)? + 1;
        let behind = &text[end + 1..];
        let colon = end + 1 + (behind.len() - behind.trim_start().len());
        return text[colon..].starts_with(':').then_some((&text[1..end], colon + 1));
    }
    let end = text.find([',', '{', '}', '[', ']']).unwrap_or(text.len());
    let word = &text[..end];
    let is_colon = |at: &usize| word[at + 1..].is_empty() || word[at + 1..].starts_with([' ', '\t']);
    let colon = word.match_indices(':').map(|(at, _)| at).find(is_colon)?;
    Some((word[..colon].trim_end(), colon + 1))
}
