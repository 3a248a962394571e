//! Models of the blocks: one owner each, the counts right, no more kept than allowed.

use super::check;
use crate::{Blocks, Source};
use shuttle::rand::Rng;
use shuttle::thread;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Hands out places one behind another that are never used again, and fails beyond `LIMIT` of them.
#[derive(Clone, Default)]
struct Places(Arc<Mutex<Mapped>>);

#[derive(Default)]
struct Mapped {
    next: usize,
    /// Every place that is mapped, and whether a thread owns it.
    places: HashMap<usize, bool>,
}

const LIMIT: usize = 7;

impl Source for Places {
    fn map(&self, size: usize) -> Option<*mut u8> {
        let mut m = self.0.lock().unwrap();
        if m.places.len() + size > LIMIT {
            return None;
        }
        let first = m.next + 1;
        m.next += size;
        m.places.extend((first..first + size).map(|place| (place, false)));
        Some(first as *mut u8)
    }

    unsafe fn unmap(&self, block: *mut u8, size: usize) {
        let mut m = self.0.lock().unwrap();
        for place in block as usize..block as usize + size {
            assert_eq!(m.places.remove(&place), Some(false), "unmapped once, and not in use");
        }
    }
}

impl Places {
    fn mark(&self, block: *mut u8, size: usize, owned: bool) {
        let mut m = self.0.lock().unwrap();
        for place in block as usize..block as usize + size {
            assert_eq!(m.places.insert(place, owned), Some(!owned), "a place that is mapped and has one owner");
        }
    }

    /// Places mapped, and those that somebody owns.
    fn counts(&self) -> (usize, usize) {
        let m = self.0.lock().unwrap();
        (m.places.len(), m.places.values().filter(|owned| **owned).count())
    }
}

fn check_counts(blocks: &Blocks<Places>) {
    let (live, kept, high) = blocks.counts();
    assert!(live + kept <= high, "no more is kept than was once in use (and a sixteenth, of seven none)");
    assert!(high <= LIMIT, "a failed request does not raise the limit");
}

/// Takes and gives blocks of a few sizes, holding up to two.
fn churn(blocks: &Blocks<Places>, source: &Places) {
    let mut held: Vec<(*mut u8, usize)> = Vec::new();
    for _ in 0..4 {
        let size = shuttle::rand::thread_rng().gen_range(1..=4);
        if held.len() < 2
            && let Some(block) = blocks.take(size)
        {
            source.mark(block, size, true);
            held.push((block, size));
        } else if let Some((block, size)) = held.pop() {
            source.mark(block, size, false);
            // SAFETY: taken above.
            unsafe { blocks.give(block, size) };
        }
        check_counts(blocks);
    }
    for (block, size) in held {
        source.mark(block, size, false);
        // SAFETY: taken above.
        unsafe { blocks.give(block, size) };
    }
}

#[test]
fn a_block_has_one_owner_and_the_counts_are_right() {
    check(|| {
        let source = Places::default();
        let blocks = Arc::new(Blocks::new(source.clone()));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (blocks, source) = (blocks.clone(), source.clone());
                thread::spawn(move || churn(&blocks, &source))
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let (live, kept, _) = blocks.counts();
        assert_eq!((live, kept), (0, source.counts().0), "all given back, all that is mapped is kept");
        assert_eq!(source.counts().1, 0);
        check_counts(&blocks);
    });
}

#[test]
fn blocks_of_other_sizes_are_cut_from_those_that_are_kept() {
    // One thread alone, but its locks are the model's.
    let alone = || {
        let source = Places::default();
        let blocks = Blocks::new(source.clone());
        let whole = blocks.take(6).unwrap();
        // SAFETY: taken above, and so below.
        unsafe { blocks.give(whole, 6) };
        for _ in 0..3 {
            let (a, b) = (blocks.take(2).unwrap(), blocks.take(3).unwrap());
            assert_eq!(source.counts().0, 6, "nothing came anew");
            unsafe {
                blocks.give(b, 3);
                blocks.give(a, 2);
            }
            assert_eq!(blocks.take(6), Some(whole), "together they are what they were");
            unsafe { blocks.give(whole, 6) };
        }
        assert_eq!(source.0.lock().unwrap().next, 6);
        check_counts(&blocks);
    };
    shuttle::check_random(alone, 1);
}
