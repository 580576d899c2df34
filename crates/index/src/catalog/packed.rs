//! The definitions of a text as bytes. Read only by the version that wrote them; the list ends at what cannot be read.

use readproof_core::scope::Lines;

use crate::{Symbol, SymbolKind};

/// Stands for a missing number.
const NONE: u32 = u32::MAX;

pub(super) fn pack(symbols: &[Symbol]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(symbols.len() * 64);
    for symbol in symbols {
        let start = bytes.len();
        number(&mut bytes, 0);
        text(&mut bytes, &symbol.name);
        bytes.push(SymbolKind::ALL.iter().position(|kind| *kind == symbol.kind).map_or(u8::MAX, low));
        let (lines, signature) = (symbol.lines, symbol.signature);
        for value in [
            lines.first(),
            lines.last(),
            symbol.line,
            signature.first(),
            signature.last(),
            symbol.parent.unwrap_or(NONE),
        ] {
            number(&mut bytes, value);
        }
        match &symbol.of {
            Some(of) => text(&mut bytes, of),
            None => number(&mut bytes, NONE),
        }
        number(&mut bytes, u32::try_from(symbol.scope.len()).unwrap_or(NONE));
        for name in &symbol.scope {
            text(&mut bytes, name);
        }
        // The length comes first, so that a definition can be skipped.
        let len = u32::try_from(bytes.len() - start - 4).unwrap_or(NONE);
        bytes[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }
    bytes
}

/// The definitions with this name, or all.
pub(super) fn unpack(mut bytes: &[u8], name: Option<&str>) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    while let Some(len) = take_number(&mut bytes) {
        let Some((mut one, rest)) = bytes.split_at_checked(len as usize) else { break };
        bytes = rest;
        let Some(own) = take_text(&mut one) else { break };
        if name.is_none_or(|name| name == own) {
            let Some(symbol) = unpack_one(own, &mut one) else { break };
            symbols.push(symbol);
        }
    }
    symbols
}

fn unpack_one(name: &str, bytes: &mut &[u8]) -> Option<Symbol> {
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let kind = *SymbolKind::ALL.get(usize::from(*kind))?;
    let mut next = || take_number(bytes);
    let (first, last, line, sig_first, sig_last, parent) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let of = match bytes.split_at_checked(4)? {
        (none, rest) if none == NONE.to_le_bytes() => {
            *bytes = rest;
            None
        }
        _ => Some(take_text(bytes)?.to_owned()),
    };
    let count = take_number(bytes)?;
    let scope = (0..count).map(|_| take_text(bytes).map(str::to_owned)).collect::<Option<Vec<String>>>()?;
    Some(Symbol {
        name: name.to_owned(),
        kind,
        scope,
        of,
        lines: Lines::new(first, last)?,
        line,
        signature: Lines::new(sig_first, sig_last)?,
        parent: (parent != NONE).then_some(parent),
    })
}

fn low(at: usize) -> u8 {
    u8::try_from(at).unwrap_or(u8::MAX)
}

fn number(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend_from_slice(&value.to_le_bytes());
}

/// Names have at most 1,024 bytes.
fn text(bytes: &mut Vec<u8>, text: &str) {
    number(bytes, u32::try_from(text.len()).unwrap_or(0));
    bytes.extend_from_slice(text.as_bytes());
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

fn take_text<'b>(bytes: &mut &'b [u8]) -> Option<&'b str> {
    let len = take_number(bytes)?;
    let (text, rest) = bytes.split_at_checked(len as usize)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, of: Option<&str>, parent: Option<u32>, scope: &[&str]) -> Symbol {
        Symbol {
            name: name.to_owned(),
            kind: SymbolKind::Method,
            scope: scope.iter().map(ToString::to_string).collect(),
            of: of.map(str::to_owned),
            lines: Lines::new(3, 9).unwrap(),
            line: 4,
            signature: Lines::new(4, 5).unwrap(),
            parent,
        }
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let all = [
            symbol("a", None, None, &[]),
            symbol("é\n", Some("T"), Some(0), &["x", "", "y"]),
            symbol("a", Some(""), Some(1), &["z"]),
        ];
        let bytes = pack(&all);
        assert_eq!(unpack(&bytes, None), all);
        assert_eq!(unpack(&bytes, Some("a")), [all[0].clone(), all[2].clone()]);
        assert_eq!(unpack(&bytes, Some("b")), []);
        // Damaged or cut off, the list ends early.
        for end in 0..bytes.len() {
            assert!(unpack(&bytes[..end], None).len() < 3, "{end}");
        }
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0xff;
            assert!(unpack(&other, None).len() <= 3, "{at}");
        }
    }
}
