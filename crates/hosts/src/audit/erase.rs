//! Erases nonces and texts that are kept apart from lines, where a person wants a text gone. Lines, tree and proofs stay as they
//! are. The bytes are overwritten in place, so that a process that appends to the same file goes on where it was.

use readproof_core::tlog::TILE_WIDTH;
use readproof_disk::{AuditPart, Lasting};
use std::collections::BTreeMap;

use super::{
    AuditError, AuditLog, AuditWriter, CallLine, ErasedLine, Line, SCHEMA,
    log::{KEPT_HEAD, kept},
};

/// Where something is kept: the file, the first byte and how many.
type Place = (AuditPart, u64, usize);

impl AuditLog {
    /// How many texts are kept of calls that are meant. What belongs to a line that is not there any more is meant too: nothing
    /// says what it is of.
    ///
    /// # Errors
    /// [`AuditError`] when the log cannot be read.
    pub fn kept_of(&self, is_meant: &dyn Fn(&CallLine) -> bool) -> Result<u64, AuditError> {
        Ok(self.places(is_meant)?.len() as u64)
    }

    fn places(&self, is_meant: &dyn Fn(&CallLine) -> bool) -> Result<Vec<Place>, AuditError> {
        let (mut places, mut lines) = (Vec::new(), (None, BTreeMap::new()));
        for part in self.parts.parts() {
            let AuditPart::Kept { bundle, writer } = &part else { continue };
            if lines.0 != Some(*bundle) {
                lines = (Some(*bundle), self.calls_of(*bundle)?);
            }
            let Some(bytes) = self.parts.load(&part)? else { continue };
            let mut at = 0_u64;
            for (seq, _, text) in kept(&bytes) {
                let len = KEPT_HEAD + text.len();
                let call = lines.1.get(&(writer.clone(), seq));
                if seq != 0 && call.is_none_or(is_meant) {
                    places.push((part.clone(), at, len));
                }
                at += len as u64;
            }
        }
        Ok(places)
    }

    /// The calls of a bundle by process and number.
    fn calls_of(&self, bundle: u64) -> Result<BTreeMap<(String, u64), CallLine>, AuditError> {
        let lines = self.bundle(bundle)?.unwrap_or_default();
        let call = |line: &Vec<u8>| match Line::parse(line)? {
            Line::Call(call) => Some(((call.writer.clone(), call.seq), *call)),
            Line::Gap(_) | Line::Began(_) | Line::Rotated(_) | Line::Erased(_) | Line::Unknown => None,
        };
        debug_assert!(lines.len() as u64 <= TILE_WIDTH, "a bundle");
        Ok(lines.iter().filter_map(call).collect())
    }
}

impl AuditWriter {
    /// Erases the nonces and texts of calls that are meant, after a line that says so; gives how many.
    ///
    /// # Errors
    /// [`AuditError`]; some may be erased.
    pub fn erase(&mut self, now: u64, is_meant: &dyn Fn(&CallLine) -> bool) -> Result<u64, AuditError> {
        let log = AuditLog { parts: std::sync::Arc::clone(&self.parts) };
        let _turn = self.parts.lock()?;
        let places = log.places(is_meant)?;
        if places.is_empty() {
            return Ok(0);
        }
        let texts = places.len() as u64;
        let mut tail = self.tail()?;
        let line = Line::Erased(ErasedLine { v: SCHEMA, at: now, texts });
        self.add(&mut tail, &[line.to_text().into_bytes()], Lasting::Yes)?;
        for (part, at, len) in places {
            // The number 0 is no call's; the length stays, so that what follows is still found.
            let text = u32::try_from(len - KEPT_HEAD).unwrap_or(0).to_be_bytes();
            let mut nothing = vec![0; len];
            nothing[KEPT_HEAD - text.len()..KEPT_HEAD].copy_from_slice(&text);
            self.parts.overwrite(&part, at, &nothing)?;
        }
        Ok(texts)
    }
}
