//! Sorting and partitioning along an axis, of values or of their places.
//!
//! A lane becomes a dense run of records (`sort_key.rs`). Many lanes are sorted in tiles, the shortest of them abreast
//! (`abreast.rs`). A few long lanes of values are dealt out to equal shares (`shares.rs`) if equals need no order, else
//! to buckets (`buckets.rs`) if their records have ranks; of a partition only the buckets with a wanted place are
//! sorted. Else they are sorted in chunks that are then merged in pairs, each merge cut into equal pieces.

use crate::abreast::{self, Lanes, Network};
use crate::buckets::{Buckets, Cutting, Lane, Wanted, are_apart};
use crate::divide::{self, Divide};
use crate::element::{Complex32, Complex64, Truth};
use crate::merge::{Record, merge, split};
use crate::order::{places_dense, sort_dense};
use crate::radix::{Scale, sort_run};
use crate::scratch::{Buffer, Scratch};
use crate::shares::{self, Shares};
use crate::sort_key::{Codec, Keyed, Keys, LongPlaces, PairPlaces, Plain, Ranked, ShortPlaces};
use crate::walk::{Walk, ensure, ensure_operands, piece, pieces, without};
use crate::{Args, Form, LibraryError, LibraryOp, RawView};
use half::f16;
use numloom_ir::{DType, Dims, Strides};
use smallvec::{SmallVec, smallvec};

/// `sort`, `argsort`, `partition` or `argpartition` along an axis; NaNs come last. One input, one output of
/// the same shape: the input's dtype, or int64 for places.
pub struct Sort {
    axis: usize,
    order: Order,
    places: bool,
    runs: Scratch,
    buckets: Buckets,
    shares: Shares,
    divide: Divide,
}

enum Order {
    Sorted { stable: bool },
    Partitioned { kth: Vec<usize> },
}

/// Elements that are sorted where they were to be partitioned.
const SHORT: usize = 16;
/// Elements of a tile of whole lanes.
const TILE: usize = 1 << 15;
/// Elements of a lane that make it worth cutting, and of a chunk of it.
const LONG: usize = 1 << 16;
const CHUNK: usize = 1 << 20;
/// Elements of a lane that is dealt out to shares.
const SHARED: usize = 1 << 17;
/// Elements of a lane that is worth a sample.
const DIVIDED: usize = 1 << 18;
/// Elements of a piece of a merge.
const MERGED: usize = 1 << 17;
/// Lanes read side by side when they are not dense.
const GROUP: usize = 16;

struct Plan {
    outer: Dims,
    steps: [Strides; 2],
    lanes: usize,
    len: usize,
    cut: Cut,
}

enum Cut {
    Nothing,
    Lanes {
        tiles: usize,
    },
    Buckets(Cutting),
    Shares(shares::Cutting),
    /// One lane around this place.
    Divided {
        place: usize,
    },
    /// A power of two of chunks for each lane.
    Chunks {
        chunks: usize,
        pieces: usize,
    },
}

/// Where the next lanes begin in source and target.
fn group_of(walk: &mut Walk<2>, lanes: usize) -> SmallVec<[[isize; 2]; GROUP]> {
    let mut starts = SmallVec::new();
    for _ in 0..lanes {
        starts.push(walk.offsets);
        walk.step();
    }
    starts
}

impl Sort {
    fn with(axis: usize, order: Order, places: bool) -> Sort {
        Sort {
            axis,
            order,
            places,
            runs: Scratch::default(),
            buckets: Buckets::default(),
            shares: Shares::default(),
            divide: Divide::default(),
        }
    }

    pub fn new(axis: usize, stable: bool) -> Sort {
        Sort::with(axis, Order::Sorted { stable }, false)
    }

    /// Always stable.
    pub fn argsort(axis: usize) -> Sort {
        Sort::with(axis, Order::Sorted { stable: true }, true)
    }

    /// Puts the `kth` smallest elements (any number of them, from 0) where a sort would.
    pub fn partition(axis: usize, kth: &[usize]) -> Sort {
        Sort::with(axis, Order::partitioned(kth), false)
    }

    pub fn argpartition(axis: usize, kth: &[usize]) -> Sort {
        Sort::with(axis, Order::partitioned(kth), true)
    }

    fn plan(&self, args: &Args) -> Result<Plan, LibraryError> {
        let name = self.name();
        ensure_operands(args, 1, 1, name)?;
        let (x, out) = (&args.ins[0], &args.outs[0]);
        ensure(self.axis < x.shape.len() && x.shape == out.shape, name, "shapes do not fit")?;
        ensure(out.dtype == if self.places { DType::I64 } else { x.dtype }, name, "dtypes do not fit")?;
        let ((outer, x_steps), (_, out_steps)) = (without(x, self.axis), without(out, self.axis));
        let (lanes, len): (usize, usize) = (outer.iter().product(), x.shape[self.axis]);
        let sorted = match &self.order {
            Order::Sorted { .. } => true,
            Order::Partitioned { kth } => {
                if let Some(k) = kth.iter().find(|&&k| k >= len && lanes > 0) {
                    return Err(LibraryError::Value(format!("kth(={k}) out of bounds ({len})")));
                }
                false
            }
        };
        let cut = if lanes * len == 0 {
            Cut::Nothing
        } else if let Some(place) = self.divided(x, out, lanes) {
            Cut::Divided { place }
        } else if self.shared(x.dtype) && lanes <= 4 && (SHARED..u32::MAX as usize).contains(&len) {
            Cut::Shares(shares::Cutting::new(lanes, len))
        } else if lanes <= 4
            && len >= if self.shared(x.dtype) { SHARED } else { LONG }
            && !x.dtype.is_complex()
            && (self.places || x.dtype.size() > 1)
        {
            Cut::Buckets(Cutting::new(lanes, len))
        } else if sorted && lanes <= 2 && len >= LONG && x.dtype.is_complex() {
            let chunks = pieces(len, CHUNK).next_power_of_two().clamp(2, 64);
            Cut::Chunks { chunks, pieces: pieces(len, MERGED) }
        } else {
            Cut::Lanes { tiles: pieces(lanes * len, TILE).min(pieces(lanes, GROUP.min(lanes / 4))) }
        };
        Ok(Plan { outer, steps: [x_steps, out_steps], lanes, len, cut })
    }

    /// Whether long lanes are dealt out to shares: sorted values that have vectors of keys, or few enough to count.
    fn shared(&self, dtype: DType) -> bool {
        let sorted = matches!(self.order, Order::Sorted { .. }) && !self.places && self.is_plain(dtype);
        sorted && !dtype.is_complex() && (dtype.size() >= 4 || matches!(dtype, DType::I16 | DType::U16))
    }

    /// The place that one long lane is divided around: if it is the only one wanted, and the answer can be written while
    /// the lane is read.
    fn divided(&self, x: &RawView, out: &RawView, lanes: usize) -> Option<usize> {
        let Order::Partitioned { kth } = &self.order else { return None };
        let dense = out.strides[self.axis] == out.dtype.size() as isize && out.is_aligned();
        let long = lanes == 1 && x.shape[self.axis] >= DIVIDED;
        let fits = long && dense && !self.places && !x.dtype.is_complex() && are_apart(x, out);
        kth.first().copied().filter(|_| fits && kth.len() == 1)
    }

    /// Records without ranks are compared.
    unsafe fn run_compared<C: Codec>(
        &self,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        match plan.cut {
            Cut::Lanes { tiles } => {
                let lanes = piece(plan.lanes, tiles, tile);
                self.whole_lanes::<C>(args, plan, lanes, |run, _| self.order.arrange(run))
            }
            Cut::Chunks { chunks, pieces } => self.chunked::<C>(args, plan, chunks, pieces, phase, tile),
            Cut::Nothing | Cut::Buckets(_) | Cut::Shares(_) | Cut::Divided { .. } => Ok(()),
        }
    }

    unsafe fn run_ranked<C: Ranked>(
        &self,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        match plan.cut {
            Cut::Lanes { tiles } => {
                let lanes = piece(plan.lanes, tiles, tile);
                self.whole_lanes::<C>(args, plan, lanes, |run, spare| match &self.order {
                    // SAFETY: the spare is as long as a lane.
                    Order::Sorted { .. } => unsafe {
                        let scale = Scale::of::<C>(run);
                        sort_run::<C>(run, spare, scale, scale.bits)
                    },
                    Order::Partitioned { .. } => self.order.arrange(run),
                })
            }
            Cut::Buckets(cut) => {
                let index = cut.lane_of(phase, tile);
                let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
                walk.seek(index);
                let lane = Lane::new(index, &args.ins[0], &args.outs[0], self.axis, walk.offsets);
                let wanted = match &self.order {
                    Order::Sorted { .. } => Wanted::All,
                    Order::Partitioned { kth } => Wanted::Places(kth),
                };
                self.buckets.run::<C>(cut, lane, wanted, phase, tile)
            }
            Cut::Nothing | Cut::Chunks { .. } | Cut::Shares(_) | Cut::Divided { .. } => Ok(()),
        }
    }

    unsafe fn whole_lanes<C: Codec>(
        &self,
        args: &Args,
        plan: &Plan,
        lanes: std::ops::Range<usize>,
        arrange: impl Fn(&mut [C::Record], *mut C::Record),
    ) -> Result<(), LibraryError> {
        let (x, out) = (&args.ins[0], &args.outs[0]);
        let (step, out_step) = (x.strides[self.axis], out.strides[self.axis]);
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        walk.seek(lanes.start);
        let group = if step == size_of::<C::Element>() as isize { 1 } else { GROUP };
        let buffer = Buffer::new::<C::Record>(plan.len * group.min(lanes.len()))?;
        let spare = Buffer::new::<C::Record>(plan.len)?;
        let records = buffer.as_ptr::<C::Record>();
        let mut left = lanes.len();
        while left > 0 {
            let starts = group_of(&mut walk, group.min(left));
            left -= starts.len();
            // Place by place across the group, so that lanes side by side share their cache lines.
            for i in 0..plan.len {
                for (g, at) in starts.iter().enumerate() {
                    let v = (x.ptr.offset(at[0] + i as isize * step) as *const C::Element).read_unaligned();
                    records.add(g * plan.len + i).write(C::encode(v, i));
                }
            }
            for g in 0..starts.len() {
                arrange(std::slice::from_raw_parts_mut(records.add(g * plan.len), plan.len), spare.as_ptr());
            }
            for i in 0..plan.len {
                for (g, at) in starts.iter().enumerate() {
                    let to = out.ptr.offset(at[1] + i as isize * out_step) as *mut C::Answer;
                    to.write_unaligned(C::answer(*records.add(g * plan.len + i)));
                }
            }
        }
        Ok(())
    }

    /// Whether nobody can tell in which order equals are, or places tell: integers that are equal are the same, so that
    /// only floats need care.
    fn is_plain(&self, dtype: DType) -> bool {
        match self.order {
            Order::Sorted { stable } => self.places || !(stable && dtype.is_float()),
            Order::Partitioned { .. } => false,
        }
    }

    /// Lanes whose equals are the same, or places, which tell them apart: `arrange` makes the answers of a dense lane
    /// in memory of their own, or for values where they lie.
    unsafe fn dense_lanes<T: Keyed, A: Copy>(
        &self,
        args: &Args,
        plan: &Plan,
        lanes: std::ops::Range<usize>,
        arrange: unsafe fn(*const T, usize, *mut A),
    ) -> Result<(), LibraryError> {
        let (x, out, len) = (&args.ins[0], &args.outs[0], plan.len);
        let (step, out_step) = (x.strides[self.axis], out.strides[self.axis]);
        let reads = step == size_of::<T>() as isize && x.is_aligned();
        let same = !self.places && x.ptr == out.ptr && x.strides == out.strides;
        let writes = out_step == size_of::<A>() as isize && out.is_aligned() && (same || are_apart(x, out));
        let group = if reads && writes { 1 } else { GROUP.min(lanes.len()) };
        let read = Buffer::new::<T>(if reads { 0 } else { len * group })?;
        let made = Buffer::new::<A>(if writes { 0 } else { len * group })?;
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        walk.seek(lanes.start);
        let mut left = lanes.len();
        while left > 0 {
            let starts = group_of(&mut walk, group.min(left));
            left -= starts.len();
            // Place by place across the group, so that lanes side by side share their cache lines.
            for i in 0..if reads { 0 } else { len } {
                for (g, at) in starts.iter().enumerate() {
                    let v = (x.ptr.offset(at[0] + i as isize * step) as *const T).read_unaligned();
                    read.as_ptr::<T>().add(g * len + i).write(v);
                }
            }
            for (g, at) in starts.iter().enumerate() {
                let from = if reads { x.ptr.offset(at[0]) as *const T } else { read.as_ptr::<T>().add(g * len) };
                let to = if writes { out.ptr.offset(at[1]) as *mut A } else { made.as_ptr::<A>().add(g * len) };
                arrange(from, len, to);
            }
            for i in 0..if writes { 0 } else { len } {
                for (g, at) in starts.iter().enumerate() {
                    let to = out.ptr.offset(at[1] + i as isize * out_step) as *mut A;
                    to.write_unaligned(made.as_ptr::<A>().add(g * len + i).read());
                }
            }
        }
        Ok(())
    }

    unsafe fn chunked<C: Codec>(
        &self,
        args: &Args,
        plan: &Plan,
        chunks: usize,
        parts: usize,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        let (x, out, len) = (&args.ins[0], &args.outs[0], plan.len);
        let stable = matches!(self.order, Order::Sorted { stable: true });
        let (lane, tile) = if phase == 0 { (tile / chunks, tile % chunks) } else { (tile / parts, tile % parts) };
        let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
        walk.seek(lane);
        // Two buffers for each lane; merges go back and forth between them.
        let buffers = self.runs.get::<C::Record>(2 * plan.lanes * len)?.add(2 * lane * len);
        if phase == 0 {
            let range = piece(len, chunks, tile);
            let step = x.strides[self.axis];
            for i in range.clone() {
                let v = (x.ptr.offset(walk.offsets[0] + i as isize * step) as *const C::Element).read_unaligned();
                buffers.add(i).write(C::encode(v, i));
            }
            C::Record::sort(std::slice::from_raw_parts_mut(buffers.add(range.start), range.len()), stable);
            return Ok(());
        }
        let (from, to) = if phase % 2 == 1 { (0, len) } else { (len, 0) };
        let (from, to) = (std::slice::from_raw_parts(buffers.add(from), len), buffers.add(to));
        // This tile makes the merged elements `range`, which may touch several pairs of runs.
        let range = piece(len, parts, tile);
        let pairs = chunks >> phase;
        for pair in 0..pairs {
            let run = |i: usize| piece(len, chunks, i * (1 << (phase - 1))).start;
            let (start, middle) = (run(2 * pair), run(2 * pair + 1));
            let end = if pair + 1 == pairs { len } else { run(2 * pair + 2) };
            let (first, last) = (range.start.max(start), range.end.min(end));
            if first >= last {
                continue;
            }
            let (a, b) = (&from[start..middle], &from[middle..end]);
            let (k0, k1) = (first - start, last - start);
            let (i0, i1) = (split(a, b, k0), split(a, b, k1));
            merge(&a[i0..i1], &b[k0 - i0..k1 - i1], to.add(first));
        }
        if pairs == 1 {
            let step = out.strides[self.axis];
            for i in range {
                let to_out = out.ptr.offset(walk.offsets[1] + i as isize * step) as *mut C::Answer;
                to_out.write_unaligned(C::answer(*to.add(i)));
            }
        }
        Ok(())
    }

    unsafe fn run_keyed<T: Keyed>(
        &self,
        args: &Args,
        plan: &Plan,
        phase: usize,
        tile: usize,
    ) -> Result<(), LibraryError> {
        if let Cut::Divided { place } = plan.cut {
            let (x, out) = (&args.ins[0], &args.outs[0]);
            let (shape, strides) = (smallvec![plan.len], smallvec![x.strides[self.axis]]);
            let lane = RawView { ptr: x.ptr, dtype: x.dtype, shape, strides };
            self.divide.run::<T>(&lane, out.ptr as *mut T, place, phase, tile)
        } else if let Cut::Shares(cut) = plan.cut {
            let (x, out, (index, part)) = (&args.ins[0], &args.outs[0], cut.part_of(phase, tile));
            let mut walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
            walk.seek(index);
            let (shape, strides) = (smallvec![plan.len], smallvec![x.strides[self.axis]]);
            let from = RawView { ptr: x.ptr.offset(walk.offsets[0]), dtype: x.dtype, shape, strides };
            let (to, to_step) = (out.ptr.offset(walk.offsets[1]), out.strides[self.axis]);
            let lane = shares::Lane { index, from, to, to_step, apart: are_apart(x, out) };
            self.shares.run::<T>(cut, &lane, phase, part)
        } else if let (Cut::Lanes { tiles }, true) = (&plan.cut, plan.len <= abreast::SHORT && plan.lanes >= GROUP) {
            let (x, out, lanes) = (&args.ins[0], &args.outs[0], piece(plan.lanes, *tiles, tile));
            let (from, to) = ((x.ptr.cast_const(), x.strides[self.axis]), (out.ptr, out.strides[self.axis]));
            let walk = Walk::new(&plan.outer, [&plan.steps[0], &plan.steps[1]]);
            let (mut abreast, network) = (Lanes { from, to, walk, len: plan.len }, Network::new(plan.len, None));
            let stable = matches!(self.order, Order::Sorted { stable: true }) && x.dtype.is_float();
            match self.places {
                true => abreast.places::<T>(lanes, &network),
                false => abreast.sort::<T>(lanes, &network, stable),
            }
            Ok(())
        } else if let (Cut::Lanes { tiles }, true) = (&plan.cut, self.is_plain(args.ins[0].dtype)) {
            let lanes = piece(plan.lanes, *tiles, tile);
            match self.places {
                true => self.dense_lanes(args, plan, lanes, places_dense::<T>),
                false => self.dense_lanes(args, plan, lanes, sort_dense::<T>),
            }
        } else if !self.places {
            self.run_ranked::<Keys<T>>(args, plan, phase, tile)
        } else if size_of::<T>() <= 4 && plan.len < 1 << 32 {
            self.run_ranked::<ShortPlaces<T>>(args, plan, phase, tile)
        } else {
            self.run_ranked::<LongPlaces<T>>(args, plan, phase, tile)
        }
    }
}

impl Order {
    fn partitioned(kth: &[usize]) -> Order {
        let mut kth = kth.to_vec();
        kth.sort_unstable();
        kth.dedup();
        Order::Partitioned { kth }
    }

    fn arrange<R: Record>(&self, run: &mut [R]) {
        match self {
            Order::Sorted { stable } => R::sort(run, *stable),
            // As in NumPy, a short one has one answer, whichever places were asked for.
            Order::Partitioned { .. } if run.len() <= SHORT => run.sort_unstable_by(Record::compare),
            Order::Partitioned { kth } => {
                let mut done = 0;
                for &k in kth {
                    if k >= done && k < run.len() {
                        run[done..].select_nth_unstable_by(k - done, Record::compare);
                        done = k + 1;
                    }
                }
            }
        }
    }
}

impl LibraryOp for Sort {
    fn form(&self) -> Form {
        let stable = matches!(self.order, Order::Sorted { stable: true });
        Form::Sort { axis: self.axis, places: self.places, stable }
    }

    fn name(&self) -> &'static str {
        match (&self.order, self.places) {
            (Order::Sorted { .. }, false) => "sort",
            (Order::Sorted { .. }, true) => "argsort",
            (Order::Partitioned { .. }, false) => "partition",
            (Order::Partitioned { .. }, true) => "argpartition",
        }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        let Ok(plan) = self.plan(args) else { return smallvec![1] };
        match plan.cut {
            Cut::Nothing => smallvec![0],
            Cut::Lanes { tiles } => smallvec![tiles],
            Cut::Buckets(cut) => cut.phases(),
            Cut::Shares(cut) => cut.phases(),
            Cut::Divided { .. } => divide::phases(plan.len),
            Cut::Chunks { chunks, pieces } => {
                let mut phases = smallvec![plan.lanes * chunks];
                phases.extend((0..chunks.ilog2()).map(|_| plan.lanes * pieces));
                phases
            }
        }
    }

    unsafe fn run(&self, args: &Args, phase: usize, tile: usize) -> Result<(), LibraryError> {
        let plan = &self.plan(args)?;
        macro_rules! by_dtype {
            ($($d:ident $t:ty),*; $($c:ident $ct:ty),*) => {
                match args.ins[0].dtype {
                    $(DType::$d => self.run_keyed::<$t>(args, plan, phase, tile),)*
                    $(DType::$c if self.places => self.run_compared::<PairPlaces<$ct>>(args, plan, phase, tile),
                    DType::$c => self.run_compared::<Plain<$ct>>(args, plan, phase, tile),)*
                }
            };
        }
        by_dtype!(
            Bool Truth, I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F16 f16, F32 f32, F64 f64;
            C64 Complex32, C128 Complex64
        )
    }

    /// A lane is read whole before it is written: its records are dealt out in the phase before buckets are written. One
    /// that is divided is so only into memory of its own.
    fn in_place(&self) -> bool {
        true
    }
}
