//! Freed blocks kept for the next one of their size, so that a repeated allocation costs no call of the driver.
//!
//! Blocks belong to the compute stream: what is given back there may be handed out again at once, since whatever uses it
//! next comes later in the stream.

use std::collections::HashMap;

/// Bytes kept in all, at least; of a large memory a small part.
const FEW: usize = 512 << 20;
const PART: usize = 64;

pub(crate) struct Kept {
    /// Bytes kept in all at most; a block takes half of that at most.
    most: usize,
    /// Sizes of the blocks in use that may be kept.
    sizes: HashMap<u64, usize>,
    free: HashMap<usize, Vec<u64>>,
    bytes: usize,
}

impl Kept {
    /// For a memory of so many bytes.
    pub fn new(memory: usize) -> Kept {
        Kept { most: FEW.max(memory / PART), sizes: HashMap::new(), free: HashMap::new(), bytes: 0 }
    }

    /// The size to allocate for so many bytes.
    pub fn rounded(bytes: usize) -> usize {
        bytes.max(1).next_multiple_of(512)
    }

    /// A kept block of this size, which is in use from here on.
    pub fn take(&mut self, size: usize) -> Option<u64> {
        let block = self.free.get_mut(&size)?.pop()?;
        self.bytes -= size;
        self.sizes.insert(block, size);
        Some(block)
    }

    /// A block the driver gave.
    pub fn watch(&mut self, block: u64, size: usize) {
        if size <= self.most / 2 {
            self.sizes.insert(block, size);
        }
    }

    /// Takes a block back; false if the driver must.
    pub fn give(&mut self, block: u64) -> bool {
        let Some(size) = self.sizes.remove(&block) else { return false };
        if self.bytes + size > self.most {
            return false;
        }
        self.bytes += size;
        self.free.entry(size).or_default().push(block);
        true
    }

    /// Everything kept, for the driver.
    pub fn all(&mut self) -> impl Iterator<Item = u64> {
        self.bytes = 0;
        std::mem::take(&mut self.free).into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn blocks_come_back_by_size_and_large_ones_do_not() {
        let mut kept = Kept::new(0);
        assert_eq!(kept.take(1024), None);
        kept.watch(7, 1024);
        assert!(kept.give(7));
        assert_eq!((kept.take(512), kept.take(1024), kept.take(1024)), (None, Some(7), None));
        assert!(kept.give(7));
        assert_eq!(kept.all().collect::<Vec<_>>(), [7]);
        assert!(!kept.give(7));
        kept.watch(8, 1 << 30);
        assert!(!kept.give(8));
    }
}
