//! The audit log of a store in memory: parts by name. A count ends when nobody holds it, as a process does.

use readproof_disk::{AuditCount, AuditPart, AuditParts, Counted, Lasting, Lease, NextPiece, StoreError};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
    thread,
    time::Duration,
};

use super::locked;

#[derive(Debug, Default)]
pub(super) struct MemoryAudit {
    parts: Mutex<BTreeMap<AuditPart, Vec<u8>>>,
    counts: Mutex<BTreeMap<String, Holder>>,
    is_locked: Arc<Mutex<bool>>,
    aside: Mutex<Vec<BTreeMap<AuditPart, Vec<u8>>>>,
}

/// Who counts, as long as anyone does, and the numbers.
type Holder = (Weak<MemoryCount>, Arc<Mutex<Counted>>);

#[derive(Debug)]
struct MemoryCount(Arc<Mutex<Counted>>);

#[derive(Debug)]
struct MemoryTurn(Arc<Mutex<bool>>);

impl Lease for MemoryTurn {}

impl Drop for MemoryTurn {
    fn drop(&mut self) {
        *locked(&self.0) = false;
    }
}

impl AuditParts for MemoryAudit {
    fn load(&self, part: &AuditPart) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(locked(&self.parts).get(part).cloned())
    }

    fn pieces(&self, part: &AuditPart, next: NextPiece<'_>) -> Result<(), StoreError> {
        let Some(bytes) = self.load(part)? else { return Ok(()) };
        let mut piece = &bytes[..0];
        while let Some((at, most)) = next(piece) {
            let from = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            piece = &bytes[from..from.saturating_add(most).min(bytes.len())];
        }
        Ok(())
    }

    fn put(&self, part: &AuditPart, bytes: &[u8], _: Lasting) -> Result<(), StoreError> {
        locked(&self.parts).insert(part.clone(), bytes.to_vec());
        Ok(())
    }

    fn append(&self, part: &AuditPart, at: u64, bytes: &[u8], _: Lasting) -> Result<(), StoreError> {
        let mut parts = locked(&self.parts);
        let found = parts.entry(part.clone()).or_default();
        found.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        found.extend_from_slice(bytes);
        Ok(())
    }

    fn overwrite(&self, part: &AuditPart, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        if let Some(found) = locked(&self.parts).get_mut(part).and_then(|found| found.get_mut(at..at + bytes.len())) {
            found.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn remove(&self, part: &AuditPart) -> Result<(), StoreError> {
        locked(&self.parts).remove(part);
        Ok(())
    }

    fn parts(&self) -> Vec<AuditPart> {
        locked(&self.parts).keys().cloned().collect()
    }

    fn lock(&self) -> Result<Box<dyn Lease>, StoreError> {
        loop {
            let mut is_locked = locked(&self.is_locked);
            if !std::mem::replace(&mut *is_locked, true) {
                return Ok(Box::new(MemoryTurn(Arc::clone(&self.is_locked))));
            }
            drop(is_locked);
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn count(&self, writer: &str) -> Result<Arc<dyn AuditCount>, StoreError> {
        let numbers = Arc::<Mutex<Counted>>::default();
        let count = Arc::new(MemoryCount(Arc::clone(&numbers)));
        locked(&self.counts).insert(writer.to_owned(), (Arc::downgrade(&count), numbers));
        Ok(count)
    }

    fn ended(&self) -> Vec<(String, Counted)> {
        let counts = locked(&self.counts);
        let over = counts.iter().filter(|(_, (holder, _))| holder.strong_count() == 0);
        over.map(|(writer, (_, numbers))| (writer.clone(), *locked(numbers))).collect()
    }

    fn forget_count(&self, writer: &str) -> Result<(), StoreError> {
        locked(&self.counts).remove(writer);
        Ok(())
    }

    fn put_aside(&self) -> Result<String, StoreError> {
        let mut aside = locked(&self.aside);
        aside.push(std::mem::take(&mut *locked(&self.parts)));
        Ok(format!("audit.aside-{}", aside.len()))
    }

    fn aside(&self) -> Vec<String> {
        (1..=locked(&self.aside).len()).map(|number| format!("audit.aside-{number}")).collect()
    }
}

impl AuditCount for MemoryCount {
    fn calls(&self, calls: u64) -> Result<(), StoreError> {
        locked(&self.0).calls = calls;
        Ok(())
    }

    fn batch(&self, from: u64, lines: u64) -> Result<(), StoreError> {
        let mut numbers = locked(&self.0);
        (numbers.from, numbers.lines) = (from, lines);
        Ok(())
    }
}
