//! Channels: the paths between memories that copies use. Every copy is counted.

use crate::lost;
use crate::memory::Memory;
use crate::profile;
use crate::provenance::Provenance;
use crate::rectangles::AXES;
use crate::reserved;
use crate::staging;
use numloom_cuda::{CudaError, Lane, Place, Rows};
use parking_lot::Mutex;

/// What went from one memory to another so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub from: Memory,
    pub to: Memory,
    pub copies: usize,
    pub bytes: usize,
}

static TRAFFIC: Mutex<Vec<Traffic>> = Mutex::new(Vec::new());

pub fn traffic() -> Vec<Traffic> {
    TRAFFIC.lock().clone()
}

/// One end of a copy: the first byte, and the bytes from place to place along the axes of the box.
#[derive(Clone, Copy)]
pub struct End {
    pub memory: Memory,
    pub first: *mut u8,
    pub steps: [usize; AXES],
}

/// A box as memory has it: rows of `rows.width` bytes at these offsets from either end's first byte.
struct Shape {
    rows: Rows,
    /// Extent and steps of what lies outside the rows, outermost first.
    outer: [(usize, usize, usize); 2],
}

impl Shape {
    /// Axes that follow each other without a gap at both ends are one.
    fn of(lens: &[usize; AXES], from: &[usize; AXES], to: &[usize; AXES]) -> Shape {
        let mut axes = [(1, 0, 0); AXES];
        axes[0] = (lens[AXES - 1], 1, 1);
        let mut last = 0;
        for a in (0..AXES - 1).rev().filter(|&a| lens[a] > 1) {
            let (n, f, t) = axes[last];
            if n * f == from[a] && n * t == to[a] {
                axes[last].0 *= lens[a];
            } else {
                last += 1;
                axes[last] = (lens[a], from[a], to[a]);
            }
        }
        let [(width, ..), (height, from_pitch, to_pitch), inner, outer] = axes;
        Shape { rows: Rows { width, height, from_pitch, to_pitch }, outer: [outer, inner] }
    }

    /// Every run of rows, by its offsets at either end.
    fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let [(n, f, t), (m, g, u)] = self.outer;
        (0..n).flat_map(move |i| (0..m).map(move |j| (i * f + j * g, i * t + j * u)))
    }
}

/// Copies a box between memories. What the CPU reads or writes of it afterwards is in place when this returns; a GPU
/// does its part in the order of its work. The error is what the GPU said.
///
/// # Safety
/// Both ends must have the bytes of a box of these extents, and nobody else may touch the second.
pub unsafe fn copy(from: End, to: End, lens: &[usize; AXES]) -> Result<(), String> {
    let shape = Shape::of(lens, &from.steps, &to.steps);
    let started = if profile::on() { profile::record::now() } else { 0 };
    // SAFETY: the caller's; blocks of different memories, or of different instances, do not overlap.
    unsafe { on_the_way(&from, &to, &shape) }.map_err(|e| lost::heard(e).to_string())?;
    let bytes = lens.iter().product();
    profile::copied(from.memory, to.memory, started, bytes, Provenance::default());
    count(from.memory, to.memory, bytes);
    Ok(())
}

unsafe fn on_the_way(from: &End, to: &End, shape: &Shape) -> Result<(), CudaError> {
    let gpus = (reserved::gpu(from.memory), reserved::gpu(to.memory));
    if gpus.0.or(gpus.1).is_some() {
        lost::check()?;
    }
    let rows = shape.rows;
    let runs = shape.runs().map(|(f, t)| (from.first.wrapping_add(f), to.first.wrapping_add(t)));
    match gpus {
        (None, None) => runs.for_each(|(source, target)| copy_rows(source, target, &rows)),
        (None, Some(gpu)) => {
            for (source, target) in runs {
                staging::upload(gpu, from.memory, source, target as u64, rows)?;
            }
        }
        (Some(gpu), None) => {
            for (source, target) in runs {
                staging::download(gpu, to.memory, source as u64, target, rows)?;
            }
        }
        (Some(gpu), Some(_)) if from.memory == to.memory => {
            for (source, target) in runs {
                let (source, target) = (Place::Device(source as u64), Place::Device(target as u64));
                gpu.copy_rows(Lane::Compute, target, source, rows)?;
            }
        }
        (Some(other), Some(gpu)) => {
            for (source, target) in runs {
                gpu.copy_from(other, target as u64, source as u64, rows)?;
            }
        }
    }
    Ok(())
}

/// Rows of host memory.
///
/// # Safety
/// Both ends have them, and they do not overlap.
pub unsafe fn copy_rows(from: *const u8, to: *mut u8, rows: &Rows) {
    unsafe fn narrow<const WIDTH: usize>(from: *const u8, to: *mut u8, rows: &Rows) {
        for k in 0..rows.height {
            std::ptr::copy_nonoverlapping(from.add(k * rows.from_pitch), to.add(k * rows.to_pitch), WIDTH);
        }
    }
    match rows.width {
        4 => narrow::<4>(from, to, rows),
        8 => narrow::<8>(from, to, rows),
        16 => narrow::<16>(from, to, rows),
        width => {
            for k in 0..rows.height {
                numloom_loops::copy_bytes(from.add(k * rows.from_pitch), to.add(k * rows.to_pitch), width);
            }
        }
    }
}

fn count(from: Memory, to: Memory, bytes: usize) {
    let mut all = TRAFFIC.lock();
    match all.iter_mut().find(|t| t.from == from && t.to == to) {
        Some(t) => {
            t.copies += 1;
            t.bytes += bytes;
        }
        None => all.push(Traffic { from, to, copies: 1, bytes }),
    }
}
