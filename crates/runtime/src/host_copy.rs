//! Copying foreign memory in: any strides to any strides, element sizes kept.

use numloom_loops::{copy_bytes, gather, scatter};

/// # Safety
/// Both sides must describe valid memory that does not overlap.
pub unsafe fn copy(size: usize, shape: &[usize], from: *const u8, fs: &[isize], to: *mut u8, ts: &[isize]) {
    let Some(&n) = shape.last() else {
        return std::ptr::copy_nonoverlapping(from, to, size);
    };
    let dense = |s: isize| s == size as isize;
    if shape.len() == 1 {
        if dense(fs[0]) && dense(ts[0]) {
            copy_bytes(from, to, n * size);
        } else if dense(ts[0]) {
            gather(size, n, from, fs[0], to);
        } else if dense(fs[0]) {
            scatter(size, n, from, to, ts[0]);
        } else {
            for i in 0..n as isize {
                std::ptr::copy_nonoverlapping(from.offset(i * fs[0]), to.offset(i * ts[0]), size);
            }
        }
        return;
    }
    // Walk along the axis that the destination has innermost.
    let inner = (0..shape.len()).min_by_key(|&a| (ts[a].unsigned_abs(), usize::MAX - a)).unwrap_or(0);
    let outer_axis = if inner == 0 { 1 } else { 0 };
    let without = |v: &[isize]| -> Vec<isize> {
        v.iter().enumerate().filter(|(a, _)| *a != outer_axis).map(|(_, s)| *s).collect()
    };
    let rest: Vec<usize> = shape.iter().enumerate().filter(|(a, _)| *a != outer_axis).map(|(_, s)| *s).collect();
    let (f2, t2) = (without(fs), without(ts));
    for i in 0..shape[outer_axis] as isize {
        copy(size, &rest, from.offset(i * fs[outer_axis]), &f2, to.offset(i * ts[outer_axis]), &t2);
    }
}
