//! Events on their way from the thread that sees them to the one that writes the file: one producer, one consumer, no
//! lock. The producer fills blocks and links them; the consumer follows and frees those it has read.

use crate::event::Event;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

const BLOCK: usize = 4096;

/// Blocks of all queues; more than this many are not made, and what would go there is counted as lost.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
const MOST_BLOCKS: usize = (512 << 20) / (BLOCK * size_of::<Event>());

struct Block {
    events: [UnsafeCell<MaybeUninit<Event>>; BLOCK],
    /// How many are there to be read.
    length: AtomicUsize,
    next: AtomicPtr<Block>,
}

impl Block {
    fn new() -> *mut Block {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        Box::into_raw(Box::new(Block {
            events: [const { UnsafeCell::new(MaybeUninit::uninit()) }; BLOCK],
            length: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }))
    }

    /// # Safety
    /// From `new`, and nobody uses it any more.
    unsafe fn free(block: *mut Block) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(block) });
    }
}

/// The shared end points. `tail` is the producer's alone, `head` and `read` the consumer's.
pub struct Queue {
    tail: UnsafeCell<*mut Block>,
    head: UnsafeCell<*mut Block>,
    read: UnsafeCell<usize>,
    pub lost: AtomicU64,
    pub at: At,
}

/// What the thread is at, for whoever looks while the program runs; each word is right by itself, and they are written
/// one after the other.
#[derive(Default)]
pub struct At {
    /// From `live::packed`; 0: at nothing.
    pub what: AtomicU64,
    pub since: AtomicU64,
    pub place: AtomicU64,
    /// The number of the processor, of that lane.
    pub processor: AtomicU64,
}

impl At {
    #[inline]
    pub fn set(&self, what: u64, since: u64, place: u64, processor: u16) {
        self.what.store(what, Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        self.place.store(place, Ordering::Relaxed);
        self.processor.store(processor as u64, Ordering::Relaxed);
    }
}

// SAFETY: each field is used by one side only (see `push` and `drain`); blocks pass between them by `length` and `next`,
// released by the producer and acquired by the consumer.
unsafe impl Send for Queue {}
unsafe impl Sync for Queue {}

impl Default for Queue {
    fn default() -> Queue {
        let first = Block::new();
        Queue {
            tail: UnsafeCell::new(first),
            head: UnsafeCell::new(first),
            read: UnsafeCell::new(0),
            lost: AtomicU64::new(0),
            at: At::default(),
        }
    }
}

impl Queue {
    /// Adds an event; true when a block is full, so that it is time to read.
    ///
    /// # Safety
    /// One thread only may call this for a queue.
    #[inline]
    pub unsafe fn push(&self, event: Event) -> bool {
        // SAFETY: the producer's own field; its block is not freed before `next` is set.
        unsafe {
            let mut block = *self.tail.get();
            let mut at = (*block).length.load(Ordering::Relaxed);
            if at == BLOCK {
                if BLOCKS.load(Ordering::Relaxed) >= MOST_BLOCKS {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    return true;
                }
                let next = Block::new();
                (*block).next.store(next, Ordering::Release);
                *self.tail.get() = next;
                (block, at) = (next, 0);
            }
            (*(*block).events[at].get()).write(event);
            (*block).length.store(at + 1, Ordering::Release);
            at + 1 == BLOCK
        }
    }

    /// Shows what has been added since the last time.
    ///
    /// # Safety
    /// One thread at a time only may call this for a queue.
    pub unsafe fn drain(&self, mut look: impl FnMut(&Event)) {
        // SAFETY: the consumer's own fields. Events below `length` are written; a block with a `next` is the producer's
        // no more.
        unsafe {
            loop {
                let block = *self.head.get();
                let there = (*block).length.load(Ordering::Acquire);
                for at in *self.read.get()..there {
                    look((*(*block).events[at].get()).assume_init_ref());
                }
                *self.read.get() = there;
                let next = (*block).next.load(Ordering::Acquire);
                if there < BLOCK || next.is_null() {
                    return;
                }
                *self.head.get() = next;
                *self.read.get() = 0;
                Block::free(block);
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut block = *self.head.get_mut();
        while !block.is_null() {
            // SAFETY: nobody else has the queue; its blocks hang together by `next`.
            unsafe {
                let next = (*block).next.load(Ordering::Acquire);
                Block::free(block);
                block = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What;
    use std::sync::Arc;

    #[test]
    fn everything_arrives_in_order() {
        let queue = Arc::new(Queue::default());
        let writer = queue.clone();
        let total = 5 * BLOCK as u64 + 17;
        let thread = std::thread::spawn(move || {
            for n in 0..total {
                // SAFETY: the only producer.
                unsafe { writer.push(Event { what: What::Death, small: 0, half: 0, word: 0, at: [n, 0, 0, 0] }) };
            }
        });
        let mut expected = 0;
        while expected < total {
            // SAFETY: the only consumer.
            unsafe {
                queue.drain(|e| {
                    assert_eq!(e.at[0], expected);
                    expected += 1;
                })
            };
        }
        thread.join().unwrap();
    }
}
