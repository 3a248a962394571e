//! Large blocks of memory, kept when they are given back: the first touch of a fresh page costs more than most
//! operations.

use crate::primitives::Mutex;

/// One byte may be kept for so many that were in use at once, beside them: room for the small arrays of a loop that are
/// not there while its large ones are.
const BESIDE: usize = 16;

/// Where blocks come from.
pub trait Source: Sync {
    fn map(&self, size: usize) -> Option<*mut u8>;

    /// # Safety
    /// `block` must be a part of what `map` gave, or of neighbours, and not be used afterwards.
    unsafe fn unmap(&self, block: *mut u8, size: usize);
}

/// The blocks in use are counted, those given back are kept while they do not take the total (but for a little) above the
/// most bytes that were ever in use at once. Then blocks of other sizes are cut from them, so that a program whose arrays of
/// different sizes take turns does not give pages back to get fresh ones.
pub struct Blocks<S: Source> {
    source: S,
    state: Mutex<State>,
}

struct State {
    /// Blocks given back, as (size, address): the smallest first, within a size the last given first.
    free: Vec<(usize, usize)>,
    /// Bytes in `free`.
    kept: usize,
    /// Bytes in use.
    live: usize,
    /// Most bytes ever in use at once.
    high: usize,
}

impl State {
    fn keep(&mut self, size: usize, block: usize) {
        self.kept += size;
        let at = self.free.partition_point(|&(other, _)| other <= size);
        self.free.insert(at, (size, block));
    }

    /// So many bytes of the shortest run of kept blocks, one behind another, that has them; the rest of it is kept.
    fn cut(&mut self, size: usize) -> Option<usize> {
        let mut by_place: Vec<(usize, usize)> = self.free.iter().map(|&(size, block)| (block, size)).collect();
        by_place.sort_unstable();
        let runs = by_place.chunk_by(|a, b| a.0 + a.1 == b.0);
        let whole = runs.map(|run| (run.iter().map(|(_, n)| n).sum::<usize>(), run[0].0));
        let (bytes, start) = whole.filter(|(bytes, _)| *bytes >= size).min()?;
        self.free.retain(|&(_, block)| !(start..start + bytes).contains(&block));
        self.kept -= bytes;
        if bytes > size {
            self.keep(bytes - size, start + size);
        }
        Some(start)
    }
}

impl<S: Source> Blocks<S> {
    pub const fn new(source: S) -> Blocks<S> {
        Blocks { source, state: Mutex::new(State { free: Vec::new(), kept: 0, live: 0, high: 0 }) }
    }

    /// A block of exactly `size` bytes, warm if one of that size is kept. Belongs to the caller until `give`.
    pub fn take(&self, size: usize) -> Option<*mut u8> {
        let mut s = self.state.lock();
        let end = s.free.partition_point(|&(other, _)| other <= size);
        // Of equal sizes the last given: it is the warmest.
        if end > 0 && s.free[end - 1].0 == size {
            let (_, block) = s.free.remove(end - 1);
            s.kept -= size;
            s.live += size;
            s.high = s.high.max(s.live);
            return Some(block as *mut u8);
        }
        let high = s.high.max(s.live + size);
        let most = high + high / BESIDE;
        if s.live + size + s.kept > most
            && let Some(block) = s.cut(size)
        {
            s.live += size;
            return Some(block as *mut u8);
        }
        while s.live + size + s.kept > most {
            let Some((other, block)) = s.free.pop() else { break };
            s.kept -= other;
            // SAFETY: nobody uses a block that was given back.
            unsafe { self.source.unmap(block as *mut u8, other) };
        }
        let block = self.source.map(size).or_else(|| {
            // Nothing left: give every block back to the source and try once more.
            for (other, block) in std::mem::take(&mut s.free) {
                // SAFETY: as above.
                unsafe { self.source.unmap(block as *mut u8, other) };
            }
            s.kept = 0;
            self.source.map(size)
        })?;
        s.live += size;
        s.high = high;
        Some(block)
    }

    /// # Safety
    /// `block` must come from `take(size)` and not be used afterwards.
    pub unsafe fn give(&self, block: *mut u8, size: usize) {
        let mut s = self.state.lock();
        s.live -= size;
        s.keep(size, block as usize);
    }

    /// Bytes in use, bytes kept, and the most that were ever in use.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let s = self.state.lock();
        (s.live, s.kept, s.high)
    }
}
