//! From a launch to its structure, arguments and grid: the domain in walking order, joined to few axes.

use crate::CudaError;
use crate::scalar::{accumulator, cost, in_lanes, neutral};
use crate::structure::{Access, Arguments, MOST_WORDS, Order, Structure, Walk, head};
use numloom_ir::kernel::{Instr, Kernel, NO_REG};
use numloom_ir::{DType, Value};
use smallvec::SmallVec;

/// An array of a launch: the device address of its first element and its byte strides over the domain.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    pub ptr: u64,
    pub strides: &'a [isize],
}

/// Where a reduction's result goes: strides over the domain, of which those along reduced axes do not count.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    pub ptr: u64,
    pub dtype: DType,
    pub strides: &'a [isize],
    /// Folded in first, in the target's type.
    pub initial: Option<Value>,
}

/// A kernel with all it runs on. An operand that is stored to shares no bytes with another operand, unless
/// point for point and with every load before the store.
#[derive(Clone, Copy, Debug)]
pub struct FusedLaunch<'a> {
    pub kernel: &'a Kernel,
    pub domain: &'a [usize],
    pub operands: &'a [Operand<'a>],
    pub params: &'a [Value],
    /// Axes that the kernel's targets fold away.
    pub reduced: &'a [bool],
    pub outputs: &'a [Output<'a>],
}

/// What a grid is sized to.
#[derive(Clone, Copy, Debug)]
pub struct Chip {
    pub multiprocessors: u32,
    /// Threads of a block: a power of two, at most [`MOST_THREADS`].
    pub block: u32,
}

pub const MOST_THREADS: u32 = 256;
/// Blocks for each multiprocessor that a walk is cut into; more would only add scheduling.
const BLOCKS_EACH: usize = 16;
/// The same for kernels that wait behind branches: blocks that end apart fill the chip better.
const BRANCHING_BLOCKS_EACH: usize = 32;
/// Blocks for each multiprocessor that a fold should have; it splits its results until then.
const FOLD_BLOCKS_EACH: usize = 8;
/// Instructions of all lanes together that a loop's body may have.
const MOST_COST: usize = 1200;
/// 32-bit words of all lanes together that may be alive at once.
const MOST_LIVE: usize = 96;
/// Offsets and counts below this are computed in 32 bits, with room for what a grid steps beyond the end.
const NARROW: u64 = (1 << 31) - (1 << 26);

/// What planning needs to know of a kernel, found once.
#[derive(Clone, Debug)]
pub struct Facts {
    stored: SmallVec<[bool; 8]>,
    loads: usize,
    has_iota: bool,
    any_order: bool,
    cost: usize,
    live: usize,
    /// Operations that lanes do together, with a branch for all of them.
    together: usize,
}

impl Facts {
    /// About how many instructions a lane takes.
    pub fn cost(&self) -> usize {
        self.cost
    }

    pub fn of(kernel: &Kernel) -> Facts {
        let mut stored: SmallVec<[bool; 8]> = SmallVec::from_elem(false, kernel.operands.len());
        let (mut loads, mut has_iota, mut total, mut together) = (0, false, 0, 0);
        let mut last_use = vec![0; kernel.regs.len()];
        for (at, i) in kernel.instrs.iter().enumerate() {
            for r in i.sources() {
                if let Some(last) = last_use.get_mut(r as usize) {
                    *last = at;
                }
            }
            match *i {
                Instr::Load { .. } => loads += 1,
                Instr::Iota { .. } => has_iota = true,
                Instr::Store { operand, .. } => {
                    if let Some(s) = stored.get_mut(operand as usize) {
                        *s = true;
                    }
                }
                Instr::Apply { op, lp, .. } => {
                    let d = op.loops().get(lp as usize).and_then(|l| l.ins().first().copied());
                    total += cost(op, d.unwrap_or(DType::F64));
                    together += (d == Some(DType::F32) && in_lanes(op).is_some()) as usize;
                }
                _ => total += 1,
            }
        }
        let (mut alive, mut live) = (0usize, 0usize);
        let words = |r: u16| kernel.regs.get(r as usize).map_or(1, |d| d.size().div_ceil(4));
        let mut ends = vec![0usize; kernel.instrs.len() + 1];
        for (at, i) in kernel.instrs.iter().enumerate() {
            // Parameters take no registers of a lane.
            for r in i.results().filter(|_| !matches!(i, Instr::Param { .. })) {
                alive += words(r);
                let end = last_use.get(r as usize).copied().unwrap_or(at).max(at);
                ends[end] += words(r);
            }
            live = live.max(alive);
            alive = alive.saturating_sub(ends[at]);
        }
        let any_order = kernel.targets.iter().all(|t| neutral(t).is_some());
        Facts { stored, loads, has_iota, any_order, cost: total, live, together }
    }
}

/// Whether every number in a kernel names something it has; printing and planning rely on it.
pub fn check_kernel(kernel: &Kernel) -> Result<(), CudaError> {
    let reg = |r: u16| (r as usize) < kernel.regs.len();
    let (operands, params) = (kernel.operands.len(), kernel.params.len());
    let sound = |i: &Instr| {
        i.sources().chain(i.results()).all(reg)
            && match *i {
                Instr::Load { operand, .. } | Instr::Store { operand, .. } => (operand as usize) < operands,
                Instr::Param { param, .. } => (param as usize) < params,
                Instr::Iota { start, step, .. } => (start.max(step) as usize) < params,
                Instr::Apply { op, lp, dst, src } => op.loops().get(lp as usize).is_some_and(|l| {
                    let given = |regs: [u16; 2]| regs.iter().filter(|&&r| r != NO_REG).count();
                    given(src) == l.ins().len() && (1..=l.outs().len()).contains(&given(dst))
                }),
                Instr::Reduce { target, .. } => (target as usize) < kernel.targets.len(),
                _ => true,
            }
    };
    let targets = kernel.targets.iter().all(|t| t.op.loops().get(t.lp as usize).is_some_and(|l| l.outs().len() == 1));
    match kernel.instrs.iter().find(|i| !sound(i)) {
        Some(i) => Err(CudaError::Launch(format!("the kernel has an instruction that names what it has not: {i:?}"))),
        None if !targets => Err(CudaError::Launch("the kernel folds by a loop that its operation has not".into())),
        None => kernel.check().map_err(CudaError::Launch),
    }
}

/// A launch ready but for its scratch memory.
#[derive(Clone, Debug)]
pub struct Plan {
    pub structure: Structure,
    pub words: SmallVec<[u64; 64]>,
    pub grid: u32,
    pub block: (u32, u32),
    /// 64-bit words of partial values, and counters that start and end at zero.
    pub partials: usize,
    pub counters: usize,
}

type Axes = SmallVec<[usize; 4]>;

/// Axes joined to as few as possible, with the strides of all arrays along them (array by array).
struct Space {
    shape: Axes,
    strides: SmallVec<[isize; 32]>,
    arrays: usize,
}

impl Space {
    fn stride(&self, array: usize, axis: usize) -> isize {
        self.strides.get(axis * self.arrays + array).copied().unwrap_or(0)
    }

    fn size(&self) -> usize {
        self.shape.iter().fold(1, |n: usize, &d| n.saturating_mul(d))
    }

    /// Joins the axes, given from the outermost; `stride_of` tells an array's stride along a domain axis.
    fn joined(axes: &[usize], domain: &[usize], arrays: usize, stride_of: &dyn Fn(usize, usize) -> isize) -> Space {
        let mut s = Space { shape: Axes::new(), strides: SmallVec::new(), arrays };
        for &axis in axes {
            let n = domain[axis];
            if n == 1 {
                continue;
            }
            let last = s.shape.len().wrapping_sub(1);
            let joins =
                !s.shape.is_empty() && (0..arrays).all(|a| s.stride(a, last) == stride_of(a, axis) * n as isize);
            if joins {
                s.shape[last] *= n;
                for a in 0..arrays {
                    s.strides[last * arrays + a] = stride_of(a, axis);
                }
            } else {
                s.shape.push(n);
                s.strides.extend((0..arrays).map(|a| stride_of(a, axis)));
            }
        }
        s
    }

    fn pad(&mut self) {
        if self.shape.is_empty() {
            self.shape.push(1);
            self.strides.extend((0..self.arrays).map(|_| 0));
        }
    }
}

/// Axes from outermost to innermost by the strides of the operands; operands that are stored to vote first.
fn memory_order(launch: &FusedLaunch, stored: &[bool]) -> Axes {
    let mut axes: Axes = (0..launch.domain.len()).collect();
    let inside = |a: usize, b: usize| {
        if launch.domain[a] == 1 || launch.domain[b] == 1 {
            return false;
        }
        for wanted in [true, false] {
            for (o, is_stored) in launch.operands.iter().zip(stored) {
                if *is_stored != wanted {
                    continue;
                }
                let (x, y) = (o.strides[a].unsigned_abs(), o.strides[b].unsigned_abs());
                if x != 0 && y != 0 && x != y {
                    return x < y;
                }
            }
        }
        false
    };
    for i in 1..axes.len() {
        let mut j = i;
        while j > 0 && inside(axes[j - 1], axes[j]) {
            axes.swap(j - 1, j);
            j -= 1;
        }
    }
    axes
}

fn check(launch: &FusedLaunch) -> Result<(), CudaError> {
    let rank = launch.domain.len();
    let k = launch.kernel;
    let sound = launch.operands.len() == k.operands.len()
        && launch.operands.iter().all(|o| o.strides.len() == rank)
        && launch.outputs.len() == k.targets.len()
        && launch.outputs.iter().all(|o| o.strides.len() == rank)
        && launch.params.len() == k.params.len()
        && launch.params.iter().zip(&k.params).all(|(p, d)| p.dtype == *d)
        && (launch.reduced.len() == rank || k.targets.is_empty());
    if sound { Ok(()) } else { Err(CudaError::Launch("a launch does not fit its kernel".into())) }
}

/// Farthest byte from an operand's first that the walk touches.
fn reach(space: &Space, array: usize) -> u64 {
    (0..space.shape.len())
        .map(|d| (space.shape[d] as u64).saturating_mul(space.stride(array, d).unsigned_abs() as u64))
        .fold(0, u64::saturating_add)
}

fn pow2_at_most(n: usize) -> usize {
    if n == 0 { 1 } else { 1 << n.ilog2() }
}

/// The plan of a launch; `None` when there is nothing to do.
pub fn plan(facts: &Facts, launch: &FusedLaunch, chip: &Chip) -> Result<Option<Plan>, CudaError> {
    check(launch)?;
    let kernel = launch.kernel;
    let operands = launch.operands.len();
    if operands >= u8::MAX as usize {
        return Err(CudaError::Launch(format!(
            "a kernel of {operands} arrays has more arguments than a launch can carry"
        )));
    }
    let folds = !kernel.targets.is_empty();
    let last_axis = launch.domain.len().wrapping_sub(1);
    let axes = memory_order(launch, &facts.stored);
    // The progression counts as one more array, so that no axis is joined to the one it runs along.
    let arrays = operands + 1;
    let stride_of = |a: usize, axis: usize| match launch.operands.get(a) {
        Some(o) => o.strides[axis],
        None if a == operands => (facts.has_iota && axis == last_axis) as isize,
        None => launch.outputs.get(a - arrays).map_or(0, |o| o.strides[axis]),
    };
    let (kept_axes, away_axes): (Axes, Axes) =
        axes.iter().copied().partition(|&a| !folds || !launch.reduced.get(a).copied().unwrap_or(false));
    let kept_arrays = if folds { arrays + launch.outputs.len() } else { arrays };
    let mut kept = Space::joined(&kept_axes, launch.domain, kept_arrays, &stride_of);
    let mut away = Space::joined(&away_axes, launch.domain, arrays, &stride_of);
    if folds {
        away.pad();
    } else {
        kept.pad();
    }
    let (kept_size, away_size) = (kept.size(), away.size());
    if kept_size == 0 || (!folds && away_size == 0) {
        return Ok(None);
    }
    let reach_of = |a: usize| reach(&kept, a).saturating_add(reach(&away, a));
    let farthest = (0..kept_arrays).map(reach_of).fold(0, u64::max);
    let wide = farthest >= NARROW || (kept_size as u64).saturating_mul(away_size.max(1) as u64) >= NARROW;

    // Vectors go along the innermost axis of the walk: of a fold's reduced axes, if there is only one.
    let innermost = axes.iter().rev().find(|&&a| launch.domain[a] != 1);
    let along = kept_size == 1 || innermost.is_none_or(|&a| launch.reduced.get(a).copied().unwrap_or(false));
    let order = match (facts.any_order, along) {
        (false, _) => Order::InOrder,
        (true, true) => Order::Along,
        (true, false) => Order::Across,
    };
    let inner = if folds { &away } else { &kept };
    let may_vector = !folds || (order == Order::Along && away.shape.len() == 1);
    let inner_axis = inner.shape.len() - 1;
    let inner_extent = inner.shape[inner_axis];
    let single = |o: usize| !facts.stored[o] && reach_of(o) == 0;
    let misaligned = |o: usize| {
        let align = kernel.operands[o].align() as u64;
        let strides = launch.operands[o].strides;
        !launch.operands[o].ptr.is_multiple_of(align)
            || strides
                .iter()
                .zip(launch.domain)
                .any(|(&s, &n)| n > 1 && !(s.unsigned_abs() as u64).is_multiple_of(align))
    };
    let vectors = |o: usize, v: usize| {
        let size = kernel.operands[o].size();
        let unit = (size * v).min(16) as u64;
        let steps = |space: &Space, skip: Option<usize>| {
            (0..space.shape.len())
                .all(|d| Some(d) == skip || (space.stride(o, d).unsigned_abs() as u64).is_multiple_of(unit))
        };
        inner.stride(o, inner_axis) == size as isize
            && launch.operands[o].ptr.is_multiple_of(unit)
            && (inner.shape.len() == 1 || inner_extent % v == 0)
            && steps(inner, Some(inner_axis))
            && (!folds || steps(&kept, None))
    };
    let largest =
        (0..operands).filter(|&o| !single(o) && vectors(o, 1)).map(|o| kernel.operands[o].size()).max().unwrap_or(16);
    let mut v = if may_vector { 16 / largest } else { 1 };
    while v > 1 && (facts.cost * v > MOST_COST || facts.live * v > MOST_LIVE || inner_extent < v) {
        v /= 2;
    }
    // All lanes of one by one operands cost more than vectors of the others save.
    while v > 1 && 2 * (0..operands).filter(|&o| !single(o) && vectors(o, v)).count() < operands {
        v /= 2;
    }
    // Loads in flight hide the memory's latency; single elements need more of them than vectors.
    let size = kernel.operands.iter().map(|d| d.size()).max().unwrap_or(8);
    let wanted = if v > 1 { 64 } else { 160 };
    let mut u = pow2_at_most(wanted / (size * v * facts.loads.max(1))).clamp(1, 8);
    // Another group of lanes goes on while one waits behind such a branch.
    if v > 1 && facts.together > 0 {
        u = u.max(2);
    }
    // Short rows would mostly run past their end.
    if folds && (order == Order::InOrder || (order == Order::Along && away_size < 8192)) {
        u = 1;
    }
    while u > 1 && (facts.cost * v * u > MOST_COST || facts.live * v * u > MOST_LIVE) {
        u /= 2;
    }
    // Few rows: a thread takes as many as come out even.
    if !folds && kept.shape.len() > 1 {
        let rows = kept.shape[kept.shape.len() - 2];
        while u > 1 && rows < 4 * u && !rows.is_multiple_of(u) {
            u /= 2;
        }
    }
    let access = (0..operands)
        .map(|o| match () {
            _ if misaligned(o) => Access::Bytes,
            _ if single(o) => Access::Uniform,
            _ if v > 1 && vectors(o, v) => Access::Vector,
            _ => Access::Scalar,
        })
        .collect();
    let outputs = launch.outputs.iter().map(|o| (o.dtype, o.initial.is_some())).collect();
    let alike = |a: usize, b: usize| {
        let same = |s: &Space| (0..s.shape.len()).all(|d| s.stride(a, d) == s.stride(b, d));
        same(&kept) && (!folds || same(&away))
    };
    let mut twin: SmallVec<[u8; 8]> = SmallVec::new();
    for o in 0..operands {
        let first = (0..o).find(|&p| twin[p] as usize == p && alike(p, o)).unwrap_or(o);
        twin.push(first as u8);
    }
    let above = (0..operands).map(|o| (o as u8, 0)).collect();
    let forward = kept.strides.iter().chain(&away.strides).all(|&s| s >= 0);
    let mut p = Plan {
        structure: Structure { walk: Walk::Flat, wide, v: v as u8, u: u as u8, forward, access, twin, above, outputs },
        words: SmallVec::new(),
        grid: 1,
        block: (chip.block, 1),
        partials: 0,
        counters: 0,
    };
    let mut heading: SmallVec<[u64; 8]> = SmallVec::new();
    if folds {
        p.fold(&mut heading, order, &kept, &away, kernel, chip);
    } else {
        let each = if facts.together > 0 { BRANCHING_BLOCKS_EACH } else { BLOCKS_EACH };
        p.walk(&mut heading, &kept, chip, each);
        p.share_rows(facts, launch, &kept);
    }
    p.fill(&heading, &kept, &away, launch)?;
    Ok(Some(p))
}

impl Plan {
    /// A grid over one or more axes without reductions.
    fn walk(&mut self, heading: &mut SmallVec<[u64; 8]>, space: &Space, chip: &Chip, each: usize) {
        let (v, u, block) = (self.structure.v as usize, self.structure.u as usize, chip.block as usize);
        let rank = space.shape.len();
        let most = chip.multiprocessors as usize * each;
        let inner = space.shape[rank - 1];
        let tiles = if rank == 1 {
            let tiles = inner.div_ceil(block * v * u);
            heading.push(tiles as u64);
            tiles
        } else {
            self.structure.walk = Walk::Rows { rank: rank as u8 };
            let (wide, high) = (inner.div_ceil(v), space.shape[rank - 2].div_ceil(u));
            let most = wide.next_power_of_two().min((block / 2).max(1));
            let y = (block / most).min(high.next_power_of_two());
            let x = wide.next_power_of_two().min(block / y);
            self.block = (x as u32, y as u32);
            let tiles_x = inner.div_ceil(x * v);
            let tiles_y = space.shape[rank - 2].div_ceil(y * u);
            let rest: usize = space.shape[..rank - 2].iter().product();
            let tiles = tiles_x * tiles_y * rest;
            heading.extend([tiles as u64, tiles_x as u64, tiles_y as u64]);
            debug_assert_eq!((head::TILES, head::TILES_X, head::TILES_Y), (0, 1, 2));
            tiles
        };
        // A stencil's rows are shared by neighbouring blocks: they run in order, not a grid apart.
        let most = if rank == 1 { most } else { i32::MAX as usize };
        self.grid = tiles.clamp(1, most) as u32;
    }

    /// Finds operands that read the rows of others, as a stencil's do.
    fn share_rows(&mut self, facts: &Facts, launch: &FusedLaunch, space: &Space) {
        let s = &mut self.structure;
        let Walk::Rows { rank } = s.walk else { return };
        const FARTHEST: i64 = 4;
        let shared = |s: &Structure, o: usize| {
            !facts.stored[o] && matches!(s.access[o], Access::Scalar | Access::Vector) && s.u > 1
        };
        for o in 0..launch.operands.len() {
            let row = space.stride(o, rank as usize - 2) as i64;
            if row == 0 || !shared(s, o) {
                continue;
            }
            // The farthest up of those it can be read from, so that all of a family name the same one.
            let rows_up = |p: usize| {
                let apart = launch.operands[o].ptr.wrapping_sub(launch.operands[p].ptr) as i64;
                let alike = shared(s, p)
                    && s.twin[p] == s.twin[o]
                    && s.access[p] == s.access[o]
                    && launch.kernel.operands[p] == launch.kernel.operands[o];
                (alike && apart % row == 0 && (0..=FARTHEST).contains(&(apart / row))).then_some(apart / row)
            };
            let farthest = (0..launch.operands.len()).filter_map(|p| Some((rows_up(p)?, p))).max_by_key(|&(r, _)| r);
            if let Some((rows, p)) = farthest {
                s.above[o] = (p as u8, rows as u8);
            }
        }
    }

    fn fold(
        &mut self,
        heading: &mut SmallVec<[u64; 8]>,
        order: Order,
        kept: &Space,
        away: &Space,
        kernel: &Kernel,
        chip: &Chip,
    ) {
        let (v, u, block) = (self.structure.v as usize, self.structure.u as usize, chip.block as usize);
        let (results, depth) = (kept.size(), away.size());
        let wanted = chip.multiprocessors as usize * FOLD_BLOCKS_EACH;
        let lanes = match order {
            Order::InOrder => 1,
            // A thread should have a few rounds of its lanes before threads are put together.
            Order::Along => pow2_at_most(depth.div_ceil(v * u * 2)).min(block),
            Order::Across => {
                let columns = results.next_power_of_two().min(block);
                let most = pow2_at_most(depth.div_ceil(u)).min(block);
                let mut lanes = block / columns;
                while lanes < most && block / lanes > 32 && results.div_ceil(block / lanes) < wanted {
                    lanes *= 2;
                }
                lanes
            }
        };
        let tiles = results.div_ceil(block / lanes);
        let round = lanes * v * u;
        let mut splits = 1;
        if order != Order::InOrder && tiles < wanted {
            splits = (wanted / tiles).min(depth / (round * 4)).max(1);
        }
        let chunk = depth.div_ceil(splits).next_multiple_of(round).max(round);
        splits = depth.div_ceil(chunk).max(1);
        self.structure.walk =
            Walk::Fold { order, kept: kept.shape.len() as u8, away: away.shape.len() as u8, split: splits > 1 };
        if splits > 1 {
            let words: usize = kernel.targets.iter().map(|t| accumulator(t).size().div_ceil(8)).sum();
            self.partials = tiles * (block / lanes) * splits * words;
            self.counters = tiles;
        }
        self.grid = (tiles * splits).clamp(1, i32::MAX as usize) as u32;
        heading.extend([0, 0, results as u64, depth as u64, chunk as u64, splits as u64, lanes as u64]);
        debug_assert_eq!((head::KEPT, head::AWAY, head::CHUNK, head::SPLITS, head::LANES), (2, 3, 4, 5, 6));
    }

    fn fill(&mut self, heading: &[u64], kept: &Space, away: &Space, launch: &FusedLaunch) -> Result<(), CudaError> {
        let at = Arguments::new(launch.kernel, &self.structure);
        if at.len > MOST_WORDS {
            return Err(CudaError::Launch(format!(
                "a kernel of {} arrays over {} axes has more arguments than a launch can carry",
                launch.operands.len(),
                self.structure.rank()
            )));
        }
        let folds = !launch.kernel.targets.is_empty();
        let w = &mut self.words;
        w.extend_from_slice(heading);
        w.extend(kept.shape.iter().chain(folds.then_some(&away.shape).into_iter().flatten()).map(|&n| n as u64));
        for o in 0..=launch.operands.len() {
            w.push(launch.operands.get(o).map_or(0, |x| x.ptr));
            w.extend((0..kept.shape.len()).map(|d| kept.stride(o, d) as u64));
            if folds {
                w.extend((0..away.shape.len()).map(|d| away.stride(o, d) as u64));
            }
        }
        for (t, out) in launch.outputs.iter().enumerate() {
            w.push(out.ptr);
            w.extend((0..kept.shape.len()).map(|d| kept.stride(launch.operands.len() + 1 + t, d) as u64));
            let value = out.initial.map_or([0; 16], |v| v.bytes);
            w.extend(two_words(&value));
        }
        for p in launch.params {
            let words = two_words(&p.bytes);
            w.extend_from_slice(&words[..if p.dtype.size() > 8 { 2 } else { 1 }]);
        }
        debug_assert_eq!(w.len(), at.len);
        Ok(())
    }
}

fn two_words(bytes: &[u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*bytes);
    [whole as u64, (whole >> 64) as u64]
}
