//! What one thread needs to run blocks of a program: register addresses, scratch, the row it is on.

use crate::blame::{Watch, charged};
use crate::partials::Partials;
use crate::program::{Home, Layout, Program, Step};
use crate::walk::{Operand, Path};
use numloom_ir::Value;
use numloom_ir::kernel::{NO_REG, Reg};
use numloom_loops as loops;
use numloom_loops::In;
use smallvec::SmallVec;
use std::cell::RefCell;

thread_local! {
    /// Scratch of the blocks, kept warm between tiles.
    static SCRATCH: RefCell<Vec<[u64; 8]>> = const { RefCell::new(Vec::new()) };
}

/// What the `Fold` steps do with a block.
pub(crate) enum Folding {
    None,
    /// Fold the block in with what was folded before.
    Inner {
        partials: Vec<Partials>,
    },
    /// Combine the block element by element into the accumulators; `first` writes instead.
    Outer {
        acc: SmallVec<[*mut u8; 2]>,
        first: bool,
    },
}

pub(crate) struct Frame<'p> {
    program: &'p Program,
    pub params: &'p [Value],
    regs: SmallVec<[In; 32]>,
    /// Boxed, so that registers can hold their addresses.
    cells: Box<[[u64; 2]]>,
    /// Registers that are the block of a dense operand.
    bound: SmallVec<[(Reg, u16); 8]>,
    pub flags: u8,
    /// Flags raised by folding, which `flags` of a block are not to hold.
    folded: u8,
    pub folding: Folding,
    watch: Option<&'p Watch>,
    /// What the watch keeps of a block.
    saved: Vec<Vec<[u64; 2]>>,
}

/// The row that blocks run over: for each operand its address at the row's start and its inner stride;
/// in a flat walk, strided operands are found along their paths through the whole space instead.
pub(crate) struct Row<'a> {
    pub ptrs: &'a [*mut u8],
    pub operands: &'a [Operand],
    pub inner: &'a [isize],
    pub flat: Option<&'a [Path]>,
}

/// Runs `body` with a frame whose scratch is this thread's.
pub(crate) fn with_frame<R>(
    program: &Program,
    params: &[Value],
    folding: Folding,
    watch: Option<&Watch>,
    body: impl FnOnce(&mut Frame) -> R,
) -> R {
    SCRATCH.with(|cell| {
        let mut own = Vec::new();
        let mut borrowed = cell.try_borrow_mut().ok();
        let scratch: &mut Vec<[u64; 8]> = borrowed.as_deref_mut().unwrap_or(&mut own);
        let need = program.scratch_bytes.div_ceil(64);
        if scratch.len() < need {
            scratch.resize(need, [0; 8]);
        }
        let base = scratch.as_mut_ptr() as *mut u8;
        let mut frame = Frame {
            program,
            params,
            regs: SmallVec::new(),
            cells: vec![[0; 2]; program.cells].into_boxed_slice(),
            bound: SmallVec::new(),
            flags: 0,
            folded: 0,
            folding,
            watch,
            saved: watch.map_or(Vec::new(), Watch::room),
        };
        for (r, (&home, &size)) in program.homes.iter().zip(&program.sizes).enumerate() {
            let size = size as usize;
            let run = match home {
                // SAFETY: the program's scratch offsets lie inside `scratch_bytes`.
                Home::Scratch(at) => In { ptr: unsafe { base.add(at as usize) }, step: size },
                Home::Cell(c) => In { ptr: frame.cells[c as usize].as_mut_ptr() as *const u8, step: 0 },
                Home::Param(p) => In { ptr: params[p as usize].bytes.as_ptr(), step: 0 },
                Home::Operand(o) => {
                    frame.bound.push((r as Reg, o));
                    In { ptr: std::ptr::null(), step: size }
                }
                Home::UniformOperand(_) => In { ptr: std::ptr::null(), step: 0 },
            };
            frame.regs.push(run);
        }
        body(&mut frame)
    })
}

impl Frame<'_> {
    /// All flags seen.
    pub fn all_flags(&self) -> u8 {
        self.flags | self.folded
    }

    /// Starts a row: uniform operands are read, and what depends on them alone is computed.
    pub unsafe fn begin_row(&mut self, row: &Row) {
        for (r, home) in self.program.homes.iter().enumerate() {
            if let Home::UniformOperand(o) = home {
                self.regs[r].ptr = row.ptrs[*o as usize];
            }
        }
        let before = std::mem::take(&mut self.flags);
        for step in &self.program.uniform {
            if let Step::Call { f, ins, outs } = step {
                self.call(1, *f, ins, outs);
            }
        }
        if self.flags != 0 && self.watch.is_some() {
            // For the first block of the row, which finds out who raised them.
            loops::fp_raise(self.flags);
        }
        self.flags |= before;
    }

    #[inline]
    unsafe fn call(&mut self, n: usize, f: loops::BlockFn, ins: &[Reg; 3], outs: &[Reg; 2]) {
        let reg = |r: Reg| if r == NO_REG { In { ptr: std::ptr::null(), step: 0 } } else { self.regs[r as usize] };
        let args = [reg(ins[0]), reg(ins[1]), reg(ins[2])];
        let results = [reg(outs[0]).ptr as *mut u8, reg(outs[1]).ptr as *mut u8];
        self.flags |= f(n, args.as_ptr(), results.as_ptr());
    }

    /// Runs one block: `n` elements from place `start` of the row. Under a watch, its flags are looked into at once.
    #[inline]
    pub unsafe fn run_block(&mut self, row: &Row, start: usize, n: usize) {
        let Some(watch) = self.watch else { return self.run_steps(row, start, n) };
        let before = std::mem::take(&mut self.flags);
        watch.save(row, start, n, &mut self.saved);
        self.run_steps(row, start, n);
        let raised = self.flags | loops::fp_status();
        if raised != 0 {
            watch.blame(raised, self.params, row, start, n, &self.saved);
            loops::fp_clear();
        }
        self.flags = before | raised;
    }

    unsafe fn run_steps(&mut self, row: &Row, start: usize, n: usize) {
        for &(r, o) in &self.bound {
            let size = self.program.sizes[r as usize] as usize;
            self.regs[r as usize].ptr = row.ptrs[o as usize].add(start * size);
        }
        let program = self.program;
        for step in &program.body {
            match step {
                Step::Call { f, ins, outs } => self.call(n, *f, ins, outs),
                Step::Code { code, regs } => {
                    let slots: SmallVec<[*mut u8; 16]> =
                        regs.iter().map(|&r| self.regs[r as usize].ptr as *mut u8).collect();
                    code.call(n, slots.as_ptr());
                }
                Step::Gather { dst, operand } => {
                    let out = self.regs[*dst as usize].ptr as *mut u8;
                    row.gather(*operand as usize, start, n, out);
                }
                Step::Iota { dst, start: first, step, dtype } => {
                    let value = |p: u16| self.params[p as usize].bytes.as_ptr();
                    loops::iota(*dtype, n, value(*first), value(*step), start, self.regs[*dst as usize].ptr as *mut u8);
                }
                Step::CopyOut { f, src, operand } => {
                    let size = self.program.sizes[*src as usize] as usize;
                    let out = row.ptrs[*operand as usize].add(start * size);
                    let input = self.regs[*src as usize];
                    f(n, &input, &out);
                }
                Step::Scatter { src, operand } => {
                    let src = self.dense(*src, n);
                    row.scatter(*operand as usize, start, n, src, None);
                }
                Step::ScatterMasked { src, mask, operand } => {
                    let mask = self.dense(*mask, n);
                    let src = self.dense(*src, n);
                    row.scatter(*operand as usize, start, n, src, Some(mask.as_ptr()));
                }
                Step::Fold { target, src } => self.fold(*target as usize, *src, n),
            }
        }
    }

    /// The register's block as a dense run, spread out if it is one value.
    unsafe fn dense(&self, r: Reg, n: usize) -> Dense {
        let run = self.regs[r as usize];
        if run.step != 0 {
            return Dense::Run(run.ptr);
        }
        let size = self.program.sizes[r as usize] as usize;
        let mut spread = vec![0u8; n * size];
        loops::gather(size, n, run.ptr, 0, spread.as_mut_ptr());
        Dense::Spread(spread)
    }

    unsafe fn fold(&mut self, target: usize, src: Reg, n: usize) {
        let fns = self.program.folds[target];
        let size = fns.dtype.size();
        let input = self.regs[src as usize];
        let watch = self.watch;
        match &mut self.folding {
            Folding::None => {}
            Folding::Inner { partials } => {
                let p = &mut partials[target];
                self.folded |= charged(watch, target, || p.add(fns.fold, input, n));
            }
            Folding::Outer { acc, first } => {
                let at = acc[target];
                if *first {
                    loops::cast_fn(fns.dtype, fns.dtype)(n, &input, &at);
                } else {
                    let ins = [In { ptr: at, step: size }, input];
                    self.folded |= charged(watch, target, || (fns.combine)(n, ins.as_ptr(), &at));
                }
            }
        }
    }

    /// Takes the folded value of an inner reduction into `out`; the buffer starts anew.
    pub unsafe fn take_partial(&mut self, target: usize, out: *mut u8) {
        let fns = self.program.folds[target];
        if let Folding::Inner { partials } = &mut self.folding {
            let p = &mut partials[target];
            self.folded |= charged(self.watch, target, || p.take(fns.fold, out));
        }
    }
}

enum Dense {
    Run(*const u8),
    Spread(Vec<u8>),
}

impl Dense {
    fn as_ptr(&self) -> *const u8 {
        match self {
            Dense::Run(p) => *p,
            Dense::Spread(v) => v.as_ptr(),
        }
    }
}

impl Row<'_> {
    pub unsafe fn gather(&self, o: usize, start: usize, n: usize, out: *mut u8) {
        let size = self.operands[o].dtype.size();
        let path = self.flat.map(|paths| &paths[o]);
        if let Some((&[_, each], &[stride, 0])) = path.map(|path| (&path.shape[..], &path.strides[..])) {
            return spread(size, self.ptrs[o], stride, each, start, n, out);
        }
        let once = path.and_then(Path::repeats_after).filter(|&once| once < n);
        let gathered = once.unwrap_or(n);
        self.runs(o, start, gathered, |ptr, stride, at, len| loops::gather(size, len, ptr, stride, out.add(at * size)));
        // Rows that are the same for all: what is there of them is doubled until there is enough.
        let mut there = gathered;
        while there < n {
            let more = there.min(n - there);
            std::ptr::copy_nonoverlapping(out, out.add(there * size), more * size);
            there += more;
        }
    }

    unsafe fn scatter(&self, o: usize, start: usize, n: usize, src: Dense, mask: Option<*const u8>) {
        let size = self.operands[o].dtype.size();
        let src = src.as_ptr();
        self.runs(o, start, n, |ptr, stride, at, len| match mask {
            None => loops::scatter(size, len, src.add(at * size), ptr, stride),
            Some(m) => loops::scatter_masked(size, len, src.add(at * size), m.add(at), ptr, stride),
        });
    }

    /// Splits `n` places from `start` into runs of one stride: (address, stride, place in block, length).
    unsafe fn runs(&self, o: usize, start: usize, n: usize, mut f: impl FnMut(*mut u8, isize, usize, usize)) {
        let base = self.ptrs[o];
        let Some(Path { shape, strides }) = self.flat.map(|paths| &paths[o]) else {
            let stride = self.inner[o];
            return f(base.offset(start as isize * stride), stride, 0, n);
        };
        let last = shape.len() - 1;
        let (inner, outer) = (shape[last], &shape[..last]);
        let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer.len());
        let (mut rest, mut first) = (start / inner, start % inner);
        let mut ptr = base;
        for k in (0..outer.len()).rev() {
            index[k] = rest % outer[k];
            rest /= outer[k];
            ptr = ptr.offset(index[k] as isize * strides[k]);
        }
        let mut at = 0;
        while at < n {
            let len = (inner - first).min(n - at);
            f(ptr.offset(first as isize * strides[last]), strides[last], at, len);
            at += len;
            first = 0;
            for k in (0..outer.len()).rev() {
                index[k] += 1;
                ptr = ptr.offset(strides[k]);
                if index[k] < outer[k] {
                    break;
                }
                ptr = ptr.offset(-(strides[k] * outer[k] as isize));
                index[k] = 0;
            }
        }
    }
}

/// One element for each row of `each` places: `n` places from `start`.
unsafe fn spread(size: usize, base: *mut u8, stride: isize, each: usize, start: usize, n: usize, out: *mut u8) {
    let mut at = 0;
    while at < n {
        let (row, first) = ((start + at) / each, (start + at) % each);
        let ptr = base.offset(row as isize * stride);
        let rows = if first == 0 { (n - at) / each } else { 0 };
        let len = if rows > 0 { rows * each } else { (each - first).min(n - at) };
        match rows {
            0 => loops::gather(size, len, ptr, 0, out.add(at * size)),
            _ => loops::spread(size, rows, each, ptr, stride, out.add(at * size)),
        }
        at += len;
    }
}

/// The layout of one operand along the block axis.
pub(crate) fn layout_of(stride: isize, size: usize, stored: bool) -> Layout {
    if stride == size as isize {
        Layout::Dense
    } else if stride == 0 && !stored {
        Layout::Uniform
    } else {
        Layout::Strided
    }
}
