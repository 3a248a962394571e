//! Kernels that only move elements: copies in any order of the axes, past the caches where they are large, and by way
//! of small blocks where source and target run along different axes.

use crate::launch::{Launch, Space};
use crate::walk::{Operand, offset_of};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, OperandId};
use numloom_loops as loops;
use smallvec::SmallVec;
use std::cell::RefCell;

/// The source and the target of each copy of a kernel.
pub(crate) type Pairs = SmallVec<[(OperandId, OperandId); 2]>;

/// Bytes written by a launch from which on they go past the caches.
const LARGE: usize = 16 << 20;
/// Rows of fewer bytes are put together before they are streamed.
const SHORT: usize = 1024;
/// Bytes that are put together.
const BUFFER: usize = 16 << 10;
/// Bytes of a source run, and places of a target run, that are turned at a time.
const TURNED: usize = 256;
const ACROSS: usize = 256;
/// Elements after which the next of several copies has its turn.
const INTERLEAVED: usize = 1 << 12;

thread_local! {
    static ROOM: RefCell<Vec<[u64; 8]>> = const { RefCell::new(Vec::new()) };
}

/// The copies that make up a kernel, if nothing else does: every store is of an element just loaded, and nothing is
/// both read and written.
pub(crate) fn pairs_of(kernel: &Kernel) -> Option<Pairs> {
    let mut loaded: SmallVec<[Option<OperandId>; 4]> = SmallVec::from_elem(None, kernel.regs.len());
    let (mut pairs, mut read) = (Pairs::new(), SmallVec::<[OperandId; 4]>::new());
    for instr in &kernel.instrs {
        match *instr {
            Instr::Load { dst, operand } => {
                loaded[dst as usize] = Some(operand);
                read.push(operand);
            }
            Instr::Store { operand, src, mask: NO_REG } => {
                let from = loaded[src as usize]?;
                if kernel.operands[from as usize].size() != kernel.operands[operand as usize].size() {
                    return None;
                }
                pairs.push((from, operand));
            }
            _ => return None,
        }
    }
    let apart = pairs.iter().all(|(_, to)| !read.contains(to));
    (apart && !pairs.is_empty() && kernel.targets.is_empty()).then_some(pairs)
}

/// How a launch copies.
pub(crate) struct Moves {
    pairs: Pairs,
    /// Past the caches.
    stream: bool,
    /// Through room of the thread's own.
    buffered: bool,
    /// The axis along which the source is dense, where that is not the target's.
    turned: Option<usize>,
    /// Bytes from element to element of targets that together fill every byte between them.
    woven: Option<usize>,
}

impl Moves {
    pub(crate) fn new(pairs: &Pairs, space: &Space, operands: &[Operand]) -> Moves {
        let sizes = |o: OperandId| operands[o as usize].dtype.size();
        let bytes: usize = pairs.iter().map(|&(_, to)| space.size * sizes(to)).sum();
        let last = space.shape.len() - 1;
        let dense = |o: OperandId| space.shape[last] == 1 || space.strides[o as usize][last] == sizes(o) as isize;
        let stream = bytes >= LARGE;
        let buffered = stream || pairs.iter().any(|&(from, to)| !dense(from) && !dense(to));
        let mut turned = None;
        if let [(from, to)] = pairs[..] {
            let size = sizes(to) as isize;
            let (src, dst) = (&space.strides[from as usize], &space.strides[to as usize]);
            if dst[last] == size && src[last] != size && src[last] != 0 && space.shape[last] >= 8 {
                turned = (0..last).find(|&axis| src[axis] == size && space.shape[axis] >= 8);
            }
        }
        let woven = if stream { woven(pairs, space, operands) } else { None };
        Moves { pairs: pairs.clone(), stream, buffered, turned, woven }
    }

    /// How many elements of the space tiles must be multiples of, where the space is cut at all.
    pub(crate) fn unit(&self, space: &Space) -> usize {
        let last = space.shape.len() - 1;
        match self.turned {
            // The planes of the turned and the last axis are cut along the turned one.
            Some(_) => space.shape[last],
            None => 1,
        }
    }
}

/// Several targets that lie alike, one item behind another, and leave no gap along the last axis; sources are dense there.
/// Answers the bytes from element to element.
fn woven(pairs: &Pairs, space: &Space, operands: &[Operand]) -> Option<usize> {
    let (&(_, first), last) = (pairs.first()?, space.shape.len() - 1);
    let (size, steps) = (operands[first as usize].dtype.size(), &space.strides[first as usize]);
    let step = usize::try_from(steps[last]).ok().filter(|&step| step == pairs.len() * size && step <= BUFFER)?;
    let alike = |&(from, to): &(OperandId, OperandId)| {
        let dense = space.strides[from as usize][last] == size as isize;
        dense && operands[to as usize].dtype.size() == size && space.strides[to as usize] == *steps
    };
    let mut places: SmallVec<[usize; 4]> = pairs.iter().map(|&(_, to)| operands[to as usize].ptr as usize).collect();
    places.sort_unstable();
    let close = places.windows(2).all(|w| w[1] - w[0] == size);
    (pairs.len() > 1 && pairs.iter().all(alike) && close).then_some(step)
}

impl Launch {
    /// Copies what belongs to elements `start..end`: of the block space, or, where axes are turned, of the same space
    /// with the turned axis moved next to the last.
    pub(crate) unsafe fn run_moves(&self, moves: &Moves, start: usize, end: usize) {
        ROOM.with_borrow_mut(|room| {
            let need = match moves.turned {
                // Rows are a line longer than what they hold, so that they do not share places in the cache.
                Some(_) if moves.stream => TURNED * (ACROSS + 64),
                _ if moves.buffered => BUFFER,
                _ => 0,
            };
            room.resize(room.len().max(need / 64), [0; 8]);
            let room = room.as_mut_ptr() as *mut u8;
            match (moves.turned, &moves.pairs[..]) {
                (Some(axis), &[(from, to)]) => self.turn(axis, self.copy_of(from, to, moves, room), start, end),
                (_, &[(from, to)]) => self.walk(self.copy_of(from, to, moves, room), start, end),
                (_, pairs) if let Some(step) = moves.woven => self.weave(pairs, step, room, start, end),
                (_, pairs) => {
                    for at in (start..end).step_by(INTERLEAVED) {
                        for &(from, to) in pairs {
                            self.walk(self.copy_of(from, to, moves, room), at, end.min(at + INTERLEAVED));
                        }
                    }
                }
            }
            if moves.stream {
                loops::streamed();
            }
        })
    }

    fn copy_of(&self, from: OperandId, to: OperandId, moves: &Moves, room: *mut u8) -> Copy<'_> {
        let (from, to) = (from as usize, to as usize);
        Copy {
            src: self.operands[from].ptr,
            dst: self.operands[to].ptr,
            steps: [&self.block.strides[from], &self.block.strides[to]],
            size: self.operands[to].dtype.size(),
            stream: moves.stream,
            room,
        }
    }

    /// In the order of the block space: as many whole rows at a time as the last two axes have.
    unsafe fn walk(&self, copy: Copy<'_>, start: usize, end: usize) {
        let shape = &self.block.shape;
        let last = shape.len() - 1;
        let inner = shape[last];
        let (above, outer) = if last > 0 { (shape[last - 1], &shape[..last - 1]) } else { (1, &shape[..0]) };
        let step = |k: usize| if last > 0 { copy.steps[k][last - 1] } else { 0 };
        let mut at = start;
        while at < end {
            let (row, first) = (at / inner, at % inner);
            let whole = first == 0 && end - at >= inner;
            let rows = if whole { (above - row % above).min((end - at) / inner) } else { 1 };
            let width = if whole { inner } else { (inner - first).min(end - at) };
            let places: [isize; 2] = std::array::from_fn(|k| {
                let s = copy.steps[k];
                offset_of(row / above, outer, &s[..outer.len()])
                    + (row % above) as isize * step(k)
                    + first as isize * s[last]
            });
            copy.plane(places, rows, width, [step(0), step(1)], [copy.steps[0][last], copy.steps[1][last]]);
            at += rows * width;
        }
    }

    /// Fills the targets of several copies together, so that whole lines go past the caches.
    unsafe fn weave(&self, pairs: &[(OperandId, OperandId)], step: usize, room: *mut u8, start: usize, end: usize) {
        let (&inner, outer) = self.block.shape.split_last().expect("a space has an axis");
        let size = step / pairs.len();
        let place = |o: OperandId, row: usize, at: usize| {
            let (operand, steps) = (&self.operands[o as usize], &self.block.strides[o as usize]);
            let row = offset_of(row, outer, &steps[..outer.len()]);
            operand.ptr.wrapping_offset(row + at as isize * steps[outer.len()])
        };
        let mut at = start;
        while at < end {
            let (row, first) = (at / inner, at % inner);
            let n = (inner - first).min(end - at).min(BUFFER / step);
            let to = pairs.iter().map(|&(_, to)| place(to, row, first)).min().expect("there are pairs");
            for &(from, target) in pairs {
                let before = place(target, row, first) as usize - to as usize;
                loops::scatter(size, n, place(from, row, first), room.add(before), step as isize);
            }
            loops::stream(room, to, n * step);
            at += n;
        }
    }

    /// Planes of the turned and the last axis, block by block.
    unsafe fn turn(&self, axis: usize, copy: Copy<'_>, start: usize, end: usize) {
        let shape = &self.block.shape;
        let last = shape.len() - 1;
        let keep = |s: &[isize]| -> SmallVec<[isize; 8]> { (0..last).filter(|&a| a != axis).map(|a| s[a]).collect() };
        let others: SmallVec<[usize; 8]> = (0..last).filter(|&a| a != axis).map(|a| shape[a]).collect();
        let steps = [keep(copy.steps[0]), keep(copy.steps[1])];
        let (height, width) = (shape[axis], shape[last]);
        let (mut line, end) = (start / width, end / width);
        while line < end {
            let (plane, first) = (line / height, line % height);
            let lines = (height - first).min(end - line);
            let places: [isize; 2] =
                std::array::from_fn(|k| offset_of(plane, &others, &steps[k]) + first as isize * copy.steps[k][axis]);
            copy.turned(places, lines, width, copy.steps[0][last], copy.steps[1][axis]);
            line += lines;
        }
    }
}

/// One copy of a tile.
struct Copy<'a> {
    src: *const u8,
    dst: *mut u8,
    /// Of source and target over the block space.
    steps: [&'a [isize]; 2],
    size: usize,
    stream: bool,
    room: *mut u8,
}

impl Copy<'_> {
    /// `rows` rows of `n` elements: `down` are the bytes from row to row, `along` those from element to element.
    unsafe fn plane(&self, places: [isize; 2], rows: usize, n: usize, down: [isize; 2], along: [isize; 2]) {
        let (size, bytes) = (self.size, n * self.size);
        let along = if n == 1 { [size as isize; 2] } else { along };
        let from = |row: usize| self.src.offset(places[0] + row as isize * down[0]);
        let to = |row: usize| self.dst.offset(places[1] + row as isize * down[1]);
        let item = size as isize;
        if along[1] != item {
            for row in 0..rows {
                self.apart(from(row), to(row), n, along);
            }
        } else if !self.stream || (bytes < SHORT && down[1] != bytes as isize) {
            if down[1] == bytes as isize {
                self.fetch(from(0), rows, n, down[0], along[0], to(0));
            } else {
                (0..rows).for_each(|row| loops::gather(size, n, from(row), along[0], to(row)));
            }
        } else if bytes < SHORT {
            let most = BUFFER / bytes.max(1);
            for row in (0..rows).step_by(most) {
                let count = most.min(rows - row);
                self.fetch(from(row), count, n, down[0], along[0], self.room);
                loops::stream(self.room, to(row), count * bytes);
            }
        } else {
            for row in 0..rows {
                if along[0] == item {
                    loops::stream(from(row), to(row), bytes);
                    continue;
                }
                for at in (0..n).step_by(BUFFER / size) {
                    let count = (BUFFER / size).min(n - at);
                    loops::gather(size, count, from(row).offset(at as isize * along[0]), along[0], self.room);
                    loops::stream(self.room, to(row).add(at * size), count * size);
                }
            }
        }
    }

    /// Rows into one dense run.
    unsafe fn fetch(&self, src: *const u8, rows: usize, n: usize, down: isize, along: isize, dst: *mut u8) {
        if along == 0 {
            return loops::spread(self.size, rows, n, src, down, dst);
        }
        for row in 0..rows {
            loops::gather(self.size, n, src.offset(row as isize * down), along, dst.add(row * n * self.size));
        }
    }

    /// A row whose target is not dense.
    unsafe fn apart(&self, src: *const u8, dst: *mut u8, n: usize, along: [isize; 2]) {
        if along[0] == self.size as isize {
            return loops::scatter(self.size, n, src, dst, along[1]);
        }
        let most = BUFFER / self.size;
        for at in (0..n).step_by(most) {
            let count = most.min(n - at);
            loops::gather(self.size, count, src.offset(at as isize * along[0]), along[0], self.room);
            loops::scatter(self.size, count, self.room, dst.offset(at as isize * along[1]), along[1]);
        }
    }

    /// `lines` dense lines of the target, `width` elements each and `down` bytes apart, which are columns of the
    /// source: its rows are `across` bytes apart.
    unsafe fn turned(&self, places: [isize; 2], lines: usize, width: usize, across: isize, down: isize) {
        let (size, high) = (self.size, TURNED / self.size);
        let (src, dst) = (self.src.offset(places[0]), self.dst.offset(places[1]));
        for at in (0..lines).step_by(high) {
            let count = high.min(lines - at);
            for first in (0..width).step_by(ACROSS) {
                let n = ACROSS.min(width - first);
                let from = src.add(at * size).offset(first as isize * across);
                let to = dst.offset(at as isize * down).add(first * size);
                let stride = ((ACROSS + 64 / size) * size) as isize;
                if !self.stream {
                    loops::turn(size, n, count, from, across, to, down);
                    continue;
                }
                loops::turn(size, n, count, from, across, self.room, stride);
                for line in 0..count as isize {
                    loops::stream(self.room.offset(line * stride), to.offset(line * down), n * size);
                }
            }
        }
    }
}
