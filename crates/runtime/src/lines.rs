//! Small arrays of any strides as block loops take them: gathered into buffers of the thread's, and scattered out of them.

use crate::array::Array;
use crate::inline::{SMALL, dense_run};
use crate::near;
use numloom_ir::{DType, View};
use numloom_loops::{BLOCK, BlockFn, In, Line, gather, scatter, spread, turn};
use std::mem::MaybeUninit;

const SLOTS: usize = 7;
type Slot = [u64; 2 * BLOCK];

/// The thread's buffer `k`, with room for a block of any type. Nothing is kept in it: whoever fills it is done with it
/// before anything else on the thread fills it, as none of them calls another.
pub fn slot(k: usize) -> *mut u8 {
    thread_local! {
        // Memory that nobody has written to yet takes none.
        static ROOM: std::cell::UnsafeCell<Box<[MaybeUninit<Slot>]>> = std::cell::UnsafeCell::new(Box::new_uninit_slice(SLOTS));
    }
    // SAFETY: only the address is taken, and nobody else refers to the list.
    ROOM.with(|r| unsafe { (&mut *r.get())[k].as_mut_ptr().cast() })
}

/// The elements of a small array that may be read now: as they lie where they are dense, or gathered into slot
/// `k`. `None` when they can be neither.
#[inline]
pub fn run(a: &Array, dtype: DType, shape: &[usize], k: usize) -> Option<In> {
    dense_run(a, dtype, shape).or_else(|| copied(a, dtype, shape, k))
}

/// The elements of a small array, broadcast to a shape and copied into slot `k`.
pub fn copied(a: &Array, dtype: DType, shape: &[usize], k: usize) -> Option<In> {
    let from = near::there(a).filter(|_| a.view.dtype == dtype && shape.iter().product::<usize>() <= SMALL)?;
    let (slot, size) = (slot(k), dtype.size());
    // SAFETY: a view lies inside its store, and a slot has room for `SMALL` elements of any type.
    unsafe {
        if a.view.shape.as_slice() == shape {
            gather_box(size, shape, &a.view.strides, from.ptr, slot);
        } else {
            gather_box(size, shape, &a.view.broadcast_to(shape)?.strides, from.ptr, slot);
        }
    }
    Some(In { ptr: slot, step: size })
}

/// Rows and columns from which on a matrix is turned in squares.
const TURNED: usize = 4;

/// Copies the elements of a box, in C order, into a dense run that does not overlap it.
///
/// # Safety
/// The box lies in memory that may be read, and the run has room for its elements.
pub unsafe fn gather_box(size: usize, shape: &[usize], steps: &[isize], from: *const u8, to: *mut u8) {
    match (shape, steps) {
        ([], _) => std::ptr::copy_nonoverlapping(from, to, size),
        (&[n], &[step]) if step == size as isize => std::ptr::copy_nonoverlapping(from, to, n * size),
        (&[n], &[step]) => gather(size, n, from, step, to),
        (&[rows, columns], &[down, along]) if down == size as isize && rows.min(columns) >= TURNED => {
            turn(size, columns, rows, from, along, to, (columns * size) as isize);
        }
        (&[rows, columns], &[down, 0]) => spread(size, rows, columns, from, down, to),
        (&[rows, ..], &[0, ..]) => {
            gather_box(size, &shape[1..], &steps[1..], from, to);
            let (each, mut done) = (shape[1..].iter().product::<usize>() * size, 1);
            while done < rows {
                let next = done.min(rows - done);
                std::ptr::copy_nonoverlapping(to, to.add(done * each), next * each);
                done += next;
            }
        }
        _ => {
            let each = shape[1..].iter().product::<usize>() * size;
            for i in 0..shape[0] {
                gather_box(size, &shape[1..], &steps[1..], from.offset(i as isize * steps[0]), to.add(i * each));
            }
        }
    }
}

/// Copies a dense run to the elements of a box, in C order.
unsafe fn scatter_box(size: usize, shape: &[usize], steps: &[isize], from: *const u8, to: *mut u8) {
    match (shape, steps) {
        ([], _) => std::ptr::copy_nonoverlapping(from, to, size),
        (&[n], &[step]) if step == size as isize => std::ptr::copy_nonoverlapping(from, to, n * size),
        (&[n], &[step]) => scatter(size, n, from, to, step),
        _ => {
            let each = shape[1..].iter().product::<usize>() * size;
            for i in 0..shape[0] {
                scatter_box(size, &shape[1..], &steps[1..], from.add(i * each), to.offset(i as isize * steps[0]));
            }
        }
    }
}

/// Writes one value to every element of a view.
///
/// # Safety
/// `base` is the address of the view's store, which nothing else touches; the value is of the view's type.
pub unsafe fn fill(v: &View, value: *const u8, base: *mut u8) {
    unsafe fn all<T: Copy>(shape: &[usize], steps: &[isize], value: T, to: *mut u8) {
        match (shape, steps) {
            ([], _) => to.cast::<T>().write_unaligned(value),
            (&[n], &[step]) => {
                for i in 0..n as isize {
                    to.offset(i * step).cast::<T>().write_unaligned(value);
                }
            }
            _ => {
                for i in 0..shape[0] as isize {
                    all(&shape[1..], &steps[1..], value, to.offset(i * steps[0]));
                }
            }
        }
    }
    let (shape, steps, to) = (&v.shape, &v.strides, base.add(v.offset));
    match v.dtype.size() {
        1 => all(shape, steps, value.read(), to),
        2 => all(shape, steps, value.cast::<u16>().read_unaligned(), to),
        4 => all(shape, steps, value.cast::<u32>().read_unaligned(), to),
        8 => all(shape, steps, value.cast::<u64>().read_unaligned(), to),
        _ => all(shape, steps, value.cast::<u128>().read_unaligned(), to),
    }
}

/// Writes a view's elements, computed in a slot, to where they belong.
///
/// # Safety
/// `base` is the address of the view's store, which nothing else touches; the slot has the view's elements.
pub unsafe fn put(v: &View, slot: *const u8, base: *mut u8) {
    scatter_box(v.dtype.size(), &v.shape, &v.strides, slot, base.add(v.offset));
}

/// Elements of a line that are gathered, computed and scattered before the next: they are still close by then.
const PIECE: usize = 128;

/// Runs a block loop over lines, piece by piece.
///
/// # Safety
/// The lines have `n` elements. What is written is read as the same elements, or not at all.
pub unsafe fn in_pieces(f: BlockFn, n: usize, lines: &[Line], out: Line) -> u8 {
    let mut flags = 0;
    for at in (0..n).step_by(PIECE) {
        let len = PIECE.min(n - at);
        let mut args = [In { ptr: std::ptr::null(), step: 0 }; 2];
        for (k, (arg, line)) in args.iter_mut().zip(lines).enumerate() {
            let from = line.ptr.offset(at as isize * line.step);
            *arg = match line.step {
                0 => In { ptr: from, step: 0 },
                step if step == line.size as isize => In { ptr: from, step: line.size },
                step => {
                    gather(line.size, len, from, step, slot(k));
                    In { ptr: slot(k), step: line.size }
                }
            };
        }
        let to = out.ptr.cast_mut().offset(at as isize * out.step);
        if out.step == out.size as isize {
            flags |= f(len, args.as_ptr(), &to);
        } else {
            let result = slot(2);
            flags |= f(len, args.as_ptr(), &result);
            scatter(out.size, len, result, to, out.step);
        }
    }
    flags
}
