//! Models of the blocks: one owner each, the counts right, no more kept than allowed.

use super::check;
use crate::{Blocks, Source};
use shuttle::rand::Rng;
use shuttle::thread;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Hands out addresses that are never used again, and fails beyond `LIMIT` bytes.
#[derive(Clone, Default)]
struct Addresses(Arc<Mutex<Mapped>>);

#[derive(Default)]
struct Mapped {
    next: usize,
    /// Size, and whether a thread owns it, of every block that is mapped.
    blocks: HashMap<usize, (usize, bool)>,
    bytes: usize,
}

const LIMIT: usize = 7;

impl Source for Addresses {
    fn map(&self, size: usize) -> Option<*mut u8> {
        let mut m = self.0.lock().unwrap();
        if m.bytes + size > LIMIT {
            return None;
        }
        m.next += 1;
        m.bytes += size;
        let address = m.next;
        m.blocks.insert(address, (size, false));
        Some(address as *mut u8)
    }

    unsafe fn unmap(&self, block: *mut u8, size: usize) {
        let mut m = self.0.lock().unwrap();
        assert_eq!(m.blocks.remove(&(block as usize)), Some((size, false)), "unmapped once, and not in use");
        m.bytes -= size;
    }
}

impl Addresses {
    fn own(&self, block: *mut u8, size: usize) {
        let old = self.0.lock().unwrap().blocks.insert(block as usize, (size, true));
        assert_eq!(old, Some((size, false)), "a block of the right size that nobody owns");
    }

    fn disown(&self, block: *mut u8, size: usize) {
        let old = self.0.lock().unwrap().blocks.insert(block as usize, (size, false));
        assert_eq!(old, Some((size, true)), "still ours");
    }

    /// Bytes mapped, and bytes that somebody owns.
    fn bytes(&self) -> (usize, usize) {
        let m = self.0.lock().unwrap();
        (m.bytes, m.blocks.values().filter(|(_, owned)| *owned).map(|(size, _)| size).sum())
    }
}

fn check_counts(blocks: &Blocks<Addresses>) {
    let (live, kept, high) = blocks.counts();
    assert!(live + kept <= high, "no more is kept than was once in use");
    assert!(high <= LIMIT, "a failed request does not raise the limit");
}

/// Takes and gives blocks of a few sizes, holding up to two.
fn churn(blocks: &Blocks<Addresses>, source: &Addresses) {
    let mut held: Vec<(*mut u8, usize)> = Vec::new();
    for _ in 0..4 {
        let size = shuttle::rand::thread_rng().gen_range(1..=4);
        if held.len() < 2
            && let Some(block) = blocks.take(size)
        {
            source.own(block, size);
            held.push((block, size));
        } else if let Some((block, size)) = held.pop() {
            source.disown(block, size);
            // SAFETY: taken above.
            unsafe { blocks.give(block, size) };
        }
        check_counts(blocks);
    }
    for (block, size) in held {
        source.disown(block, size);
        // SAFETY: taken above.
        unsafe { blocks.give(block, size) };
    }
}

#[test]
fn a_block_has_one_owner_and_the_counts_are_right() {
    check(|| {
        let source = Addresses::default();
        let blocks = Arc::new(Blocks::new(source.clone()));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (blocks, source) = (blocks.clone(), source.clone());
                thread::spawn(move || churn(&blocks, &source))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let (live, kept, _) = blocks.counts();
        assert_eq!((live, kept), (0, source.bytes().0), "all given back, all that is mapped is kept");
        assert_eq!(source.bytes().1, 0);
        check_counts(&blocks);
    });
}
