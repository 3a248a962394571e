//! Copies between the host and a GPU, on streams of their own. Pageable memory goes through pinned memory, a piece at a
//! time: while one is on its way, the next is packed or the last unpacked, by several threads if there is much.

use crate::channel::copy_rows;
use crate::memory::{self, Memory};
use crate::reserved;
use numloom_cuda::{CudaError, Device, Event, Lane, Place, Rows};
use parking_lot::Mutex;

/// What is copied with less ado than events cost: in the order of the kernels, by the driver's own means.
const SMALL: usize = 64 << 10;
/// Bytes of a slot: a copy of so many takes longer than starting it does.
const SLOT: usize = 2 << 20;
/// Threads that pack or unpack for one copy; one does not keep up with the bus.
const HANDS: usize = 4;
/// Pieces that are worth another thread.
const WORTH_A_HAND: usize = 8;

/// Memory for a piece, and the end of the copy that last used it.
struct Slot {
    at: *mut u8,
    used: Option<Event>,
}

// SAFETY: plain memory, with one owner at a time.
unsafe impl Send for Slot {}

/// The slots that nobody uses, and how many there are in all.
struct Slots {
    free: Vec<[Slot; 2]>,
    made: usize,
}

static SLOTS: Mutex<Slots> = Mutex::new(Slots { free: Vec::new(), made: 0 });

/// Two slots for each of several hands, or for as many as can be had: they take a quarter of ZC_MEM at most, and none
/// is made before somebody needs it.
fn take(gpu: &Device, hands: usize) -> Vec<[Slot; 2]> {
    let mut slots = SLOTS.lock();
    while slots.free.len() < hands
        && slots.made < HANDS
        && (slots.made + 1) * 2 * SLOT <= Memory::ZeroCopy.capacity() / 4
        && let Some(pair) = make(gpu)
    {
        slots.made += 1;
        slots.free.push(pair);
    }
    let kept = slots.free.len().saturating_sub(hands);
    slots.free.split_off(kept)
}

fn give(pairs: Vec<[Slot; 2]>) {
    SLOTS.lock().free.extend(pairs);
}

fn make(gpu: &Device) -> Option<[Slot; 2]> {
    if !memory::try_take(Memory::ZeroCopy, 2 * SLOT) {
        return None;
    }
    match gpu.pinned(2 * SLOT) {
        Ok(pinned) => {
            // Kept for good: the next copy needs it again.
            let at = std::mem::ManuallyDrop::new(pinned).ptr();
            Some([0, SLOT].map(|k| Slot { at: at.wrapping_add(k), used: None }))
        }
        Err(_) => {
            memory::give(Memory::ZeroCopy, 2 * SLOT);
            None
        }
    }
}

/// Some rows of a copy, or some bytes of one row: what fits into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    row: usize,
    column: usize,
    height: usize,
    width: usize,
}

impl Piece {
    /// Its offset in rows that are `pitch` bytes apart.
    fn offset(&self, pitch: usize) -> usize {
        self.row * pitch + self.column
    }
}

fn pieces(rows: &Rows, room: usize) -> Vec<Piece> {
    let (width, height) = (rows.width, rows.height);
    if width > room {
        let columns = || (0..width).step_by(room);
        let one = |row, column| Piece { row, column, height: 1, width: room.min(width - column) };
        return (0..height).flat_map(|row| columns().map(move |column| one(row, column))).collect();
    }
    let each = room / width.max(1);
    (0..height).step_by(each).map(|row| Piece { row, column: 0, height: each.min(height - row), width }).collect()
}

/// Shares the pieces among hands. `work` has every so many-th of them, and two slots.
fn share(
    pieces: &[Piece],
    pairs: &mut [[Slot; 2]],
    work: impl Fn(&mut dyn Iterator<Item = Piece>, &mut [Slot; 2]) -> Result<(), CudaError> + Sync,
) -> Result<(), CudaError> {
    let hands = pairs.len();
    let work = &work;
    std::thread::scope(|scope| {
        let mut pairs = pairs.iter_mut().enumerate();
        let own = pairs.next();
        let others: Vec<_> = pairs
            .map(|(k, pair)| scope.spawn(move || work(&mut pieces.iter().copied().skip(k).step_by(hands), pair)))
            .collect();
        let done = own.map_or(Ok(()), |(_, pair)| work(&mut pieces.iter().copied().step_by(hands), pair));
        others.into_iter().fold(done, |done, hand| match hand.join() {
            Ok(theirs) => done.and(theirs),
            Err(_) => done.and(Err(CudaError::Launch("a thread that copied to or from the GPU panicked".into()))),
        })
    })
}

fn hands_for(pieces: usize) -> usize {
    (pieces / WORTH_A_HAND).clamp(1, HANDS)
}

/// An address that threads may share.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: what lies there is touched in pieces that have no byte in common.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// Copies rows to a GPU, behind all that its kernels were given so far and before all that they are given later. The
/// host's rows have been read when this returns.
///
/// # Safety
/// Both ends have the rows, and nobody writes the first, or touches the second, meanwhile.
pub unsafe fn upload(gpu: &Device, memory: Memory, from: *mut u8, to: u64, rows: Rows) -> Result<(), CudaError> {
    let direct = |lane| gpu.copy_rows(lane, Place::Device(to), Place::Host(from), rows);
    if rows.width * rows.height <= SMALL {
        return direct(Lane::Compute);
    }
    gpu.wait_for(Lane::Upload, &gpu.record(Lane::Compute, false)?)?;
    let pieces = pieces(&rows, SLOT);
    let pinned = is_pinned(memory);
    let mut pairs = if pinned { Vec::new() } else { take(gpu, hands_for(pieces.len())) };
    let copied = if pairs.is_empty() {
        direct(Lane::Upload)
    } else {
        let from = Shared(from);
        share(&pieces, &mut pairs, |mine, slots| {
            for (k, piece) in mine.enumerate() {
                let slot = &mut slots[k % 2];
                if let Some(used) = slot.used.take() {
                    used.wait()?;
                }
                let Piece { width, height, .. } = piece;
                let packed = Rows { width, height, from_pitch: rows.from_pitch, to_pitch: width };
                let sent = Rows { width, height, from_pitch: width, to_pitch: rows.to_pitch };
                let place = Place::Device(to + piece.offset(rows.to_pitch) as u64);
                // SAFETY: the slot has room for a piece, and no copy uses it any more.
                unsafe {
                    copy_rows(from.at(piece.offset(rows.from_pitch)), slot.at, &packed);
                    gpu.copy_rows(Lane::Upload, place, Place::Host(slot.at), sent)?;
                }
                slot.used = Some(gpu.record(Lane::Upload, false)?);
            }
            Ok(())
        })
    };
    give(pairs);
    copied?;
    let done = gpu.record(Lane::Upload, false)?;
    gpu.wait_for(Lane::Compute, &done)?;
    if pinned { done.wait() } else { Ok(()) }
}

/// Copies rows from a GPU, behind all that its kernels were given so far. They are there when this returns.
///
/// # Safety
/// As for `upload`.
pub unsafe fn download(gpu: &Device, memory: Memory, from: u64, to: *mut u8, rows: Rows) -> Result<(), CudaError> {
    let direct = |lane| {
        gpu.copy_rows(lane, Place::Host(to), Place::Device(from), rows)?;
        gpu.wait_for_lane(lane)
    };
    if rows.width * rows.height <= SMALL {
        return direct(Lane::Compute);
    }
    gpu.wait_for(Lane::Download, &gpu.record(Lane::Compute, false)?)?;
    let pieces = pieces(&rows, SLOT);
    let mut pairs = if is_pinned(memory) { Vec::new() } else { take(gpu, hands_for(pieces.len())) };
    if pairs.is_empty() {
        return direct(Lane::Download);
    }
    let to = Shared(to);
    let copied = share(&pieces, &mut pairs, |mine, slots| {
        let unpack = |slot: &mut Slot, piece: Piece| -> Result<(), CudaError> {
            if let Some(used) = slot.used.take() {
                used.wait()?;
            }
            let Piece { width, height, .. } = piece;
            let rows = Rows { width, height, from_pitch: width, to_pitch: rows.to_pitch };
            // SAFETY: the piece has arrived in the slot, and its place is this hand's alone.
            unsafe { copy_rows(slot.at, to.at(piece.offset(rows.to_pitch)), &rows) };
            Ok(())
        };
        let mut waiting: [Option<Piece>; 2] = [None; 2];
        for (k, piece) in mine.enumerate() {
            let slot = &mut slots[k % 2];
            if let Some(last) = waiting[k % 2].take() {
                unpack(slot, last)?;
            } else if let Some(used) = slot.used.take() {
                used.wait()?;
            }
            let Piece { width, height, .. } = piece;
            let sent = Rows { width, height, from_pitch: rows.from_pitch, to_pitch: width };
            let place = Place::Device(from + piece.offset(rows.from_pitch) as u64);
            // SAFETY: the slot has room for a piece, and no copy uses it any more.
            unsafe { gpu.copy_rows(Lane::Download, Place::Host(slot.at), place, sent)? };
            slot.used = Some(gpu.record(Lane::Download, false)?);
            waiting[k % 2] = Some(piece);
        }
        // In the order in which they were sent, or the other: both have their own events.
        for (slot, last) in slots.iter_mut().zip(waiting) {
            if let Some(last) = last {
                unpack(slot, last)?;
            }
        }
        Ok(())
    });
    give(pairs);
    copied
}

fn is_pinned(memory: Memory) -> bool {
    memory == Memory::ZeroCopy && reserved::pool(memory).is_some_and(|p| p.is_pinned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of the rows is in one piece, and no piece is larger than a slot.
    #[test]
    fn pieces_have_every_byte_once() {
        for (width, height, room) in [(1, 1, 8), (100, 1, 8), (96, 3, 32), (8, 1000, 64), (7, 13, 20), (20, 9, 20)] {
            let rows = Rows { width, height, from_pitch: width + 3, to_pitch: width };
            let mut seen = vec![0; width * height];
            for p in pieces(&rows, room) {
                assert!(p.width * p.height <= room && p.width > 0 && p.height > 0, "{p:?}");
                for row in p.row..p.row + p.height {
                    seen[row * width + p.column..][..p.width].iter_mut().for_each(|n| *n += 1);
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{width} {height} {room}");
        }
    }

    /// Hands pack pieces into slots and unpack them on the other side: what arrives is what was sent.
    #[test]
    fn hands_share_the_pieces() {
        let (rows, room) = (Rows { width: 24, height: 101, from_pitch: 31, to_pitch: 26 }, 64);
        let from: Vec<u8> = (0..rows.from_pitch * rows.height).map(|k| (k * 7 % 251) as u8).collect();
        let mut to = vec![0u8; rows.to_pitch * rows.height];
        let mut memory = vec![0u8; room * 6];
        let mut slots = memory.chunks_mut(room).map(|m| Slot { at: m.as_mut_ptr(), used: None });
        let mut pairs: Vec<[Slot; 2]> = Vec::new();
        while let (Some(a), Some(b)) = (slots.next(), slots.next()) {
            pairs.push([a, b]);
        }
        let (source, target) = (Shared(from.as_ptr().cast_mut()), Shared(to.as_mut_ptr()));
        let done = share(&pieces(&rows, room), &mut pairs, |mine, slots| {
            for (k, piece) in mine.enumerate() {
                let Piece { width, height, .. } = piece;
                let packed = Rows { width, height, from_pitch: rows.from_pitch, to_pitch: width };
                let spread = Rows { width, height, from_pitch: width, to_pitch: rows.to_pitch };
                // SAFETY: pieces lie in both ends, and a piece fits into a slot.
                unsafe {
                    copy_rows(source.at(piece.offset(rows.from_pitch)), slots[k % 2].at, &packed);
                    copy_rows(slots[k % 2].at, target.at(piece.offset(rows.to_pitch)), &spread);
                }
            }
            Ok(())
        });
        assert!(done.is_ok());
        for k in 0..rows.height {
            assert_eq!(to[k * 26..][..24], from[k * 31..][..24]);
        }
    }
}
