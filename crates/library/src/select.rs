//! Order statistics: the elements that a sort would put at given places, without sorting.
//!
//! The shortest lanes are sorted abreast (`abreast.rs`), short ones partitioned. For a long one,
//! a sample tells between which ranks each wanted element almost certainly lies; one pass over
//! the lane counts what is below and keeps what is between, and the rest is a small selection.

use crate::abreast::{self, Lanes, Network};
use crate::guide::{BLOCK, blocks};
use crate::quicksort::{select_64, sort_64};
use crate::scratch::{Buffer, Scratch};
use crate::sort_key::{Keyed, with_keyed};
use crate::vector::vectorized;
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use numloom_ir::{Dims, Strides};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

/// The elements at the `kth` places of each lane along an axis, in that order. One input, not complex; the output has
/// its dtype and shape, with as many elements along the axis as there are places.
pub struct Select {
    axis: usize,
    kth: Vec<usize>,
    brackets: Scratch,
    kept: OnceLock<Vec<Mutex<Kept>>>,
}

/// Elements of a tile of whole lanes.
const TILE: usize = 1 << 15;
/// Elements that make a lane worth cutting, of a chunk of it, and of the sample.
const LONG: usize = 1 << 17;
const CHUNK: usize = 1 << 17;
const SAMPLE: usize = 1 << 15;

/// Ranks that wanted elements are expected between, both included.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bracket {
    pub low: i64,
    pub high: i64,
}

/// What a chunk has found for each bracket.
#[derive(Default)]
struct Kept {
    brackets: Vec<Found>,
}

#[derive(Default)]
struct Found {
    below: usize,
    lows: usize,
    between: Vec<i64>,
    highs: usize,
}

struct Plan {
    outer: Dims,
    steps: [Strides; 2],
    lanes: usize,
    len: usize,
    /// For long lanes.
    chunks: Option<usize>,
}

impl Select {
    /// Any number of places, in any order.
    pub fn new(axis: usize, kth: &[usize]) -> Select {
        Select { axis, kth: kth.to_vec(), brackets: Scratch::default(), kept: OnceLock::new() }
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 1, 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(self.axis < x.shape.len() && x.shape.len() == out.shape.len(), name, "shapes do not fit")?;
        ensure(x.dtype == out.dtype && !x.dtype.is_complex(), name, "dtypes do not fit")?;
        let ((outer, x_steps), (kept, out_steps)) = (without(x, self.axis), without(out, self.axis));
        ensure(outer == kept && out.shape[self.axis] == self.kth.len(), name, "shapes do not fit")?;
        let (lanes, len): (usize, usize) = (outer.iter().product(), x.shape[self.axis]);
        if let Some(k) = self.kth.iter().find(|&&k| k >= len && lanes > 0) {
            return Err(LibraryError::Value(format!("kth(={k}) out of bounds ({len})")));
        }
        let chunks = (lanes <= 4 && len >= LONG).then(|| pieces(len, CHUNK).min(64));
        Ok(Plan { outer, steps: [x_steps, out_steps], lanes, len, chunks })
    }

    unsafe fn short_lanes<T: Keyed>(&self, args: &Args, plan: &Plan, lanes: Range<usize>) -> Result<(), LibraryError> {
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        if plan.len <= abreast::SHORT {
            let (x, out) = (&args.ins[0], &args.outs[0]);
            let (from, to) = ((x.ptr.cast_const(), x.strides[self.axis]), (out.ptr, out.strides[self.axis]));
            let network = Network::new(plan.len, Some(&self.kth));
            Lanes { from, to, walk, len: plan.len }.select::<T>(lanes, &network, &self.kth);
            return Ok(());
        }
        walk.seek(lanes.start);
        let buffer = Buffer::new::<i64>(plan.len)?;
        let ranks = std::slice::from_raw_parts_mut(buffer.as_ptr::<i64>(), plan.len);
        for _ in lanes {
            let lane = self.lane(&args.ins[0], walk.offsets[0]);
            let mut at = 0;
            blocks::<T>(&lane, 0..plan.len, |block, _| {
                let to = &mut ranks[at..at + block.len()];
                at += block.len();
                vectorized(
                    #[inline(always)]
                    || to.iter_mut().zip(block).for_each(|(r, v)| *r = v.rank()),
                );
            });
            let found = select(ranks, &self.kth);
            self.write::<T>(&args.outs[0], walk.offsets[1], &found);
            walk.step();
        }
        Ok(())
    }

    /// The lane that begins at a byte offset, as a 1-d view.
    unsafe fn lane(&self, x: &RawView, offset: isize) -> RawView {
        RawView {
            ptr: x.ptr.offset(offset),
            dtype: x.dtype,
            shape: smallvec![x.shape[self.axis]],
            strides: smallvec![x.strides[self.axis]],
        }
    }

    unsafe fn write<T: Keyed>(&self, out: &RawView, offset: isize, ranks: &[i64]) {
        for (i, &rank) in ranks.iter().enumerate() {
            let to = out.ptr.offset(offset + i as isize * out.strides[self.axis]) as *mut T;
            to.write_unaligned(T::of_rank(rank));
        }
    }

    unsafe fn long_lane<T: Keyed>(
        &self,
        args: &Args,
        plan: &Plan,
        chunks: usize,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let index = if phase == 1 { tile / chunks } else { tile };
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        walk.seek(index);
        let lane = self.lane(&args.ins[0], walk.offsets[0]);
        let brackets = self.brackets.get::<Bracket>(plan.lanes * self.kth.len())?.add(index * self.kth.len());
        let brackets = std::slice::from_raw_parts_mut(brackets, self.kth.len());
        let kept = self.kept.get_or_init(|| (0..plan.lanes * chunks).map(|_| Mutex::default()).collect());
        match phase {
            0 => self.bracket::<T>(&lane, brackets),
            1 => {
                let found = brackets.iter().enumerate().map(|(i, b)| {
                    // Elements that lie between the same ranks are kept once.
                    if brackets[..i].iter().any(|e| (e.low, e.high) == (b.low, b.high)) { None } else { Some(*b) }
                });
                let own = keep::<T>(&lane, piece(plan.len, chunks, tile % chunks), &found.collect::<Vec<_>>());
                if let Ok(mut place) = kept[tile].lock() {
                    *place = own;
                }
            }
            _ => {
                let own = &kept[index * chunks..(index + 1) * chunks];
                let found: Option<Vec<i64>> =
                    (0..self.kth.len()).map(|i| conclude(own, brackets, i, self.kth[i])).collect();
                let found = match found {
                    Some(found) => found,
                    // The sample was no image of the lane.
                    None => {
                        let buffer = Buffer::new::<i64>(plan.len)?;
                        let ranks = std::slice::from_raw_parts_mut(buffer.as_ptr::<i64>(), plan.len);
                        blocks::<T>(&lane, 0..plan.len, |block, at| {
                            block.iter().enumerate().for_each(|(i, v)| ranks[at + i] = v.rank());
                        });
                        select(ranks, &self.kth)
                    }
                };
                self.write::<T>(&args.outs[0], walk.offsets[1], &found);
            }
        }
        Ok(())
    }

    unsafe fn bracket<T: Keyed>(&self, lane: &RawView, brackets: &mut [Bracket]) {
        let sample = sample::<T>(lane);
        for (bracket, &k) in brackets.iter_mut().zip(&self.kth) {
            *bracket = around(&sample, k, lane.shape[0]);
        }
        // Neighbours share a bracket.
        for i in 1..brackets.len() {
            let (before, own) = (brackets[i - 1], brackets[i]);
            if self.kth[i].abs_diff(self.kth[i - 1]) <= 2 {
                brackets[i] = Bracket { low: before.low.min(own.low), high: before.high.max(own.high) };
                brackets[i - 1] = brackets[i];
            }
        }
    }
}

/// Between which ranks the element lies that a sort would put at place `k` of a lane.
///
/// # Safety
/// The lane must be readable.
pub(crate) unsafe fn sampled<T: Keyed>(lane: &RawView, k: usize) -> Bracket {
    around(&sample::<T>(lane), k, lane.shape[0])
}

/// The ranks of a sample from scattered places, the same in every run, in order.
unsafe fn sample<T: Keyed>(lane: &RawView) -> Vec<i64> {
    let len = lane.shape[0];
    let mut state = len as u64;
    let mut sample: Vec<i64> = (0..SAMPLE)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let place = (((state >> 32) as u128 * len as u128) >> 32) as isize;
            (lane.ptr.offset(place * lane.strides[0]) as *const T).read_unaligned().rank()
        })
        .collect();
    sort_64(&mut sample);
    sample
}

fn around(sample: &[i64], k: usize, len: usize) -> Bracket {
    let share = k as f64 / len as f64;
    let middle = (share * SAMPLE as f64) as usize;
    // How far from where it should be it may lie in the sample: nearly five times what chance does.
    let margin = (4.7 * (SAMPLE as f64 * share * (1.0 - share)).sqrt()) as usize + 12;
    Bracket {
        low: if middle < margin { i64::MIN } else { sample[middle - margin] },
        high: sample.get(middle + margin).copied().unwrap_or(i64::MAX),
    }
}

/// What lies where in a chunk, for each bracket that is there.
unsafe fn keep<T: Keyed>(lane: &RawView, range: Range<usize>, brackets: &[Option<Bracket>]) -> Kept {
    let mut all: Vec<Found> = brackets.iter().map(|_| Found::default()).collect();
    let (mut ranks, mut room) = ([0i64; BLOCK], [0i64; BLOCK + 8]);
    blocks::<T>(lane, range, |block, _| {
        let ranks = &mut ranks[..block.len()];
        vectorized(
            #[inline(always)]
            || ranks.iter_mut().zip(block).for_each(|(r, v)| *r = v.rank()),
        );
        for (bracket, found) in brackets.iter().zip(&mut all) {
            if let Some(bracket) = bracket {
                let [below, lows, highs] = counts(ranks, *bracket);
                found.below += below;
                found.lows += lows;
                found.highs += highs;
                let inside = pick(ranks, *bracket, &mut room);
                found.between.extend_from_slice(&room[..inside]);
            }
        }
    });
    Kept { brackets: all }
}

/// How many ranks are below a bracket, at its low end and at its high one.
fn counts(ranks: &[i64], Bracket { low, high }: Bracket) -> [usize; 3] {
    vectorized(
        #[inline(always)]
        || {
            let mut counts = [0i64; 3];
            for &r in ranks {
                counts[0] += (r < low) as i64;
                counts[1] += (r == low) as i64;
                counts[2] += ((r == high) & (low < high)) as i64;
            }
            counts.map(|c| c as usize)
        },
    )
}

/// The ranks between the ends of a bracket, in front of `room`; answers how many there are.
fn pick(ranks: &[i64], Bracket { low, high }: Bracket, room: &mut [i64; BLOCK + 8]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the features were just detected; there is room for a vector behind a block.
        return unsafe { pick_vectors(ranks, low, high, room) };
    }
    let mut inside = 0;
    for &r in ranks {
        // Written always and counted if wanted: no branch to mispredict.
        room[inside] = r;
        inside += ((low < r) & (r < high)) as usize;
    }
    inside
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn pick_vectors(ranks: &[i64], low: i64, high: i64, room: &mut [i64; BLOCK + 8]) -> usize {
    use std::arch::x86_64::*;
    let (lows, highs, mut inside) = (_mm512_set1_epi64(low), _mm512_set1_epi64(high), 0);
    for eight in ranks.chunks(8) {
        let there = u8::MAX >> (8 - eight.len());
        let v = _mm512_maskz_loadu_epi64(there, eight.as_ptr());
        let wanted = _mm512_cmplt_epi64_mask(lows, v) & _mm512_cmplt_epi64_mask(v, highs) & there;
        _mm512_storeu_epi64(room.as_mut_ptr().add(inside), _mm512_maskz_compress_epi64(wanted, v));
        inside += wanted.count_ones() as usize;
    }
    inside
}

/// The rank of the `k`-th element by what the chunks have kept for place `i`; nothing if it lies outside its bracket.
fn conclude(kept: &[Mutex<Kept>], brackets: &[Bracket], i: usize, k: usize) -> Option<i64> {
    let Bracket { low, high } = brackets[i];
    let first = brackets.iter().position(|b| (b.low, b.high) == (low, high))?;
    let mut all = Found::default();
    for chunk in kept {
        let chunk = chunk.lock().ok()?;
        let found = chunk.brackets.get(first)?;
        all.below += found.below;
        all.lows += found.lows;
        all.highs += found.highs;
        all.between.extend_from_slice(&found.between);
    }
    let k = k.checked_sub(all.below)?;
    if k < all.lows {
        return Some(low);
    }
    let k = k - all.lows;
    if k < all.between.len() {
        select_64(&mut all.between, k);
        return Some(all.between[k]);
    }
    (k - all.between.len() < all.highs).then_some(high)
}

/// The ranks at the wanted places, in the order they are wanted in.
fn select(ranks: &mut [i64], kth: &[usize]) -> Vec<i64> {
    let mut sorted: SmallVec<[usize; 8]> = (0..kth.len()).collect();
    sorted.sort_unstable_by_key(|&i| kth[i]);
    let mut found = vec![0; kth.len()];
    // Nothing before is larger than what follows, and all of it that is wanted has been found.
    let mut known = 0;
    for i in sorted {
        let k = kth[i];
        if k >= known && k + 1 == ranks.len() {
            found[i] = largest(&ranks[known..]);
            continue;
        }
        if k >= known {
            known += select_64(&mut ranks[known..], k - known).end;
        }
        found[i] = ranks[k];
    }
    found
}

fn largest(ranks: &[i64]) -> i64 {
    vectorized(
        #[inline(always)]
        || ranks.iter().fold(i64::MIN, |a, b| a.max(*b)),
    )
}

impl LibraryOp for Select {
    fn form(&self) -> Form {
        Form::Select { axis: self.axis, kth: self.kth.clone() }
    }

    fn name(&self) -> &'static str {
        "partition"
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        match self.plan(args) {
            Err(_) => smallvec![1],
            Ok(plan) if plan.lanes * self.kth.len() == 0 => smallvec![0],
            Ok(Plan { lanes, chunks: Some(chunks), .. }) => smallvec![lanes, lanes * chunks, lanes],
            Ok(plan) => smallvec![pieces(plan.lanes * plan.len, TILE).min(plan.lanes)],
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = &self.plan(args)?;
        with_keyed!(args.ins[0].dtype, T => match plan.chunks {
            Some(chunks) => self.long_lane::<T>(args, plan, chunks, phase, tile),
            None => {
                let tiles = pieces(plan.lanes * plan.len, TILE).min(plan.lanes);
                self.short_lanes::<T>(args, plan, piece(plan.lanes, tiles, tile))
            }
        }, Ok(()))
    }
}
