//! Checks the backend on a GPU: every kernel of the tests against the CPU backend, large arrays, speed.
//!
//! `cuda_check [site-packages ...]`; the directories are where NVIDIA's wheels may lie. Exits with 1 on a failure.

#[path = "../tests/printed/cases.rs"]
mod cases;

use cases::Case;
use numloom_cuda::ops::Step;
use numloom_cuda::ops::blas::{Matrix, Product};
use numloom_cuda::ops::extreme::Extreme;
use numloom_cuda::ops::index::{Axis, Index, Mode, Picked};
use numloom_cuda::ops::scan::Scan;
use numloom_cuda::ops::select::Pack;
use numloom_cuda::ops::sort::{Sort, Wanted};
use numloom_cuda::ops::transpose::Transpose;
use numloom_cuda::{
    CudaError, Device, FusedLaunch, Lane, Operand, Options, Output, Place as End, Rows, Search, default_cache,
};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg, Target};
use numloom_ir::{DType, ScalarOp, Value};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Result<T> = std::result::Result<T, CudaError>;

fn main() {
    let sites: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let search = Search::new(&sites);
    for line in search.report() {
        println!("{line:?}");
    }
    let cache = default_cache().map(|d| d.join("check"));
    let device = match Device::open(0, &Options { search, cache, graphs: true }) {
        Ok(device) => device,
        Err(e) => {
            println!("no device: {e}");
            std::process::exit(2);
        }
    };
    println!("{:?}, memory {:?}", device.properties(), device.memory());
    let failures = check_cases(&device);
    let mut failed = failures > 0;
    for (name, check) in
        [("64-bit indices", wide as fn(&Device) -> Result<()>), ("large sums", large_sums), ("errors", errors)]
    {
        match check(&device) {
            Ok(()) => println!("{name}: good"),
            Err(e) => {
                failed = true;
                println!("{name}: FAILED: {e}");
            }
        }
    }
    for (name, part) in [("speed", speed as fn(&Device) -> Result<()>), ("library operations", library)] {
        if let Err(e) = part(&device) {
            failed = true;
            println!("{name}: FAILED: {e}");
        }
    }
    println!("{} compilations, memory {:?}", device.compilations(), device.memory());
    std::process::exit(failed as i32);
}

fn check_cases(device: &Device) -> usize {
    let start = Instant::now();
    let cases = cases::all(600);
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = run_case(device, case).unwrap_or_else(|e| Some(format!("{}: {e}", case.name)));
            if let Some(difference) = found {
                failures.lock().unwrap_or_else(|e| e.into_inner()).push(difference);
            }
        }
    };
    std::thread::scope(|s| (0..8).for_each(|_| drop(s.spawn(work))));
    let failures = failures.into_inner().unwrap_or_else(|e| e.into_inner());
    for f in failures.iter().take(60) {
        println!("FAILED {f}");
    }
    println!("{} kernels on the GPU, {} failures, {:.1} s", cases.len(), failures.len(), start.elapsed().as_secs_f64());
    failures.len()
}

fn run_case(device: &Device, case: &Case) -> Result<Option<String>> {
    let bytes = case.arena.len();
    let mut first: Option<Vec<u8>> = None;
    // Twice: results must not differ from run to run.
    for _ in 0..2 {
        let base = device.alloc(bytes)?;
        let mut got = vec![0u8; bytes];
        // SAFETY: the copies are of the size allocated; the launch lies inside; all is awaited before it goes.
        unsafe {
            device.upload(Lane::Compute, base, case.arena.as_ptr(), bytes)?;
            case.with_launch(base, |l| device.run(l))?;
            device.download(Lane::Compute, got.as_mut_ptr(), base, bytes)?;
            device.record(Lane::Compute, false)?.wait()?;
            device.free(base)?;
        }
        match &first {
            None => first = Some(got),
            Some(f) if *f != got => return Ok(Some(format!("{}: two runs differ", case.name))),
            Some(_) => {}
        }
    }
    Ok(first.and_then(|got| case.difference(&got, &case.on_cpu())))
}

/// A kernel in the making.
#[derive(Default)]
struct Build {
    kernel: Kernel,
    params: Vec<Value>,
}

impl Build {
    fn operand(&mut self, d: DType) -> u16 {
        self.kernel.operands.push(d);
        self.kernel.operands.len() as u16 - 1
    }

    fn load(&mut self, d: DType) -> Reg {
        let (dst, operand) = (self.kernel.new_reg(d), self.operand(d));
        self.kernel.instrs.push(Instr::Load { dst, operand });
        dst
    }

    fn number(&mut self, d: DType, v: f64) -> Reg {
        self.kernel.params.push(d);
        self.params.push(Value::from_f64(d, v));
        let dst = self.kernel.new_reg(d);
        self.kernel.instrs.push(Instr::Param { dst, param: self.params.len() as u16 - 1 });
        dst
    }

    fn iota(&mut self, d: DType, start: f64, step: f64) -> Reg {
        self.kernel.params.extend([d, d]);
        self.params.extend([Value::from_f64(d, start), Value::from_f64(d, step)]);
        let (dst, n) = (self.kernel.new_reg(d), self.params.len() as u16);
        self.kernel.instrs.push(Instr::Iota { dst, start: n - 2, step: n - 1 });
        dst
    }

    fn apply(&mut self, op: ScalarOp, args: &[Reg]) -> Reg {
        let d = self.kernel.regs[args[0] as usize];
        let lp = op.loop_for(d).unwrap_or(0);
        let dst = self.kernel.new_reg(op.loops()[lp].outs()[0]);
        let src = [args[0], args.get(1).copied().unwrap_or(NO_REG)];
        self.kernel.instrs.push(Instr::Apply { op, lp: lp as u8, dst: [dst, NO_REG], src });
        dst
    }

    fn cast(&mut self, src: Reg, to: DType) -> Reg {
        let dst = self.kernel.new_reg(to);
        self.kernel.instrs.push(Instr::Cast { dst, src });
        dst
    }

    fn select(&mut self, mask: Reg, yes: Reg, no: Reg) -> Reg {
        let dst = self.kernel.new_reg(self.kernel.regs[yes as usize]);
        self.kernel.instrs.push(Instr::Select { dst, mask, yes, no });
        dst
    }

    fn store(&mut self, src: Reg) {
        let operand = self.operand(self.kernel.regs[src as usize]);
        self.kernel.instrs.push(Instr::Store { operand, src, mask: NO_REG });
    }

    fn reduce(&mut self, op: ScalarOp, src: Reg) {
        let lp = op.loop_for(self.kernel.regs[src as usize]).unwrap_or(0) as u8;
        self.kernel.targets.push(Target { op, lp });
        self.kernel.instrs.push(Instr::Reduce { target: self.kernel.targets.len() as u16 - 1, src });
    }
}

/// An array of a benchmark: address and strides.
type Place = (u64, Vec<isize>);

type Steps = smallvec::SmallVec<[Step; 4]>;

fn start(
    device: &Device,
    b: &Build,
    domain: &[usize],
    arrays: &[Place],
    reduced: &[bool],
    outs: &[Place],
) -> Result<()> {
    let operands: Vec<Operand> = arrays.iter().map(|(ptr, s)| Operand { ptr: *ptr, strides: s }).collect();
    let outputs: Vec<Output> = outs
        .iter()
        .zip(&b.kernel.targets)
        .map(|((ptr, s), t)| Output { ptr: *ptr, dtype: t.dtype(), strides: s, initial: None })
        .collect();
    let launch =
        FusedLaunch { kernel: &b.kernel, domain, operands: &operands, params: &b.params, reduced, outputs: &outputs };
    // SAFETY: every caller below gives arrays that cover the domain.
    unsafe { device.run(&launch) }
}

fn read<const N: usize>(device: &Device, from: u64) -> Result<[u8; N]> {
    let mut out = [0u8; N];
    // SAFETY: awaited before the buffer is looked at.
    unsafe { device.download(Lane::Compute, out.as_mut_ptr(), from, N)? };
    device.wait()?;
    Ok(out)
}

fn wrong(what: String) -> CudaError {
    CudaError::Launch(what)
}

/// More bytes than 32 bits count.
fn wide(device: &Device) -> Result<()> {
    let n = 3_000_000_001usize;
    let (a, out) = (device.alloc(n)?, device.alloc(8)?);
    // SAFETY: the size allocated.
    unsafe { device.fill(Lane::Compute, a, 1, n)? };
    let mut b = Build::default();
    let x = b.load(DType::U8);
    let y = b.cast(x, DType::I64);
    b.reduce(ScalarOp::Add, y);
    start(device, &b, &[n], &[(a, vec![1])], &[true], &[(out, vec![0])])?;
    let sum = i64::from_le_bytes(read(device, out)?);
    let mut c = Build::default();
    let i = c.iota(DType::U8, 0.0, 1.0);
    c.store(i);
    start(device, &c, &[n], &[(a, vec![1])], &[false], &[])?;
    let last: [u8; 1] = read(device, a + n as u64 - 1)?;
    // SAFETY: freed once, after all use.
    unsafe {
        device.free(a)?;
        device.free(out)?;
    }
    if sum != n as i64 || last[0] != ((n - 1) % 256) as u8 {
        return Err(wrong(format!("a sum of {n} ones is {sum}, and the last of a progression is {}", last[0])));
    }
    Ok(())
}

/// A device that is asked for too much says so, and goes on.
fn errors(device: &Device) -> Result<()> {
    match device.alloc(1 << 50) {
        Err(CudaError::OutOfMemory { .. }) => {}
        other => return Err(wrong(format!("a petabyte was answered with {other:?}"))),
    }
    let host = device.pinned(1 << 20)?;
    let room = device.alloc(host.len())?;
    // SAFETY: both have a megabyte; awaited before they go.
    unsafe {
        host.ptr().write_bytes(7, host.len());
        let made = device.record(Lane::Compute, false)?;
        device.wait_for(Lane::Upload, &made)?;
        device.upload(Lane::Upload, room, host.ptr(), host.len())?;
        let up = device.record(Lane::Upload, false)?;
        device.wait_for(Lane::Download, &up)?;
        up.wait()?;
        let from = End::Device(room + 100);
        let rows = Rows { width: 10, height: 20, from_pitch: 1000, to_pitch: 10 };
        device.copy_rows(Lane::Download, End::Host(host.ptr().add(1000)), from, rows)?;
        device.record(Lane::Download, false)?.wait()?;
        let good = (0..200).all(|k| host.ptr().add(1000 + k).read() == 7);
        device.free(room)?;
        if !good {
            return Err(wrong("copies of rows brought something else".into()));
        }
    }
    Ok(())
}

fn large_sums(device: &Device) -> Result<()> {
    let n = 100_000_000usize;
    let (a, out) = (device.alloc(n * 4)?, device.alloc(64)?);
    let mut b = Build::default();
    let i = b.iota(DType::F32, 0.0, 1e-8);
    b.store(i);
    start(device, &b, &[n], &[(a, vec![4])], &[false], &[])?;
    let mut c = Build::default();
    let x = c.load(DType::F32);
    c.reduce(ScalarOp::Add, x);
    c.reduce(ScalarOp::Maximum, x);
    let outs = [(out, vec![0]), (out + 16, vec![0])];
    start(device, &c, &[n], &[(a, vec![4])], &[true], &outs)?;
    let sum = f32::from_le_bytes(read(device, out)?);
    let top = f32::from_le_bytes(read(device, out + 16)?);
    // SAFETY: freed once, after all use.
    unsafe {
        device.free(a)?;
        device.free(out)?;
    }
    let want = (n as f64 - 1.0) / 2.0 * n as f64 * 1e-8;
    if (sum as f64 - want).abs() > 1e-6 * want || top != 1.0 {
        return Err(wrong(format!("the sum is {sum} instead of {want}, the largest {top}")));
    }
    Ok(())
}

/// Milliseconds of a launch, the best of several.
fn time(device: &Device, mut f: impl FnMut() -> Result<()>) -> Result<f32> {
    f()?;
    device.wait()?;
    let mut best = f32::MAX;
    for _ in 0..8 {
        let begin = device.record(Lane::Compute, true)?;
        f()?;
        let end = device.record(Lane::Compute, true)?;
        end.wait()?;
        best = best.min(end.since(&begin)?);
    }
    Ok(best)
}

fn speed(device: &Device) -> Result<()> {
    let n = 100_000_000usize;
    let f = DType::F32;
    let arrays: Vec<u64> = (0..5).map(|_| device.alloc(n * 4)).collect::<Result<_>>()?;
    let outs: Vec<u64> = (0..6).map(|_| device.alloc(1 << 20)).collect::<Result<_>>()?;
    for (k, &a) in arrays.iter().enumerate() {
        let mut b = Build::default();
        let i = b.iota(f, 0.5 + k as f64 * 0.1, 1e-8);
        b.store(i);
        start(device, &b, &[n], &[(a, vec![4])], &[false], &[])?;
    }
    // SAFETY: both arrays have the size copied.
    let copy = time(device, || unsafe { device.copy(Lane::Compute, arrays[1], arrays[0], n * 4) })?;
    let show = |name: &str, ms: f32, bytes: usize| {
        let rate = bytes as f32 / ms / 1e6;
        let share = rate / (2.0 * n as f32 * 4.0 / copy / 1e6) * 100.0;
        println!("{name:<34} {ms:>8.3} ms  {rate:>7.0} GB/s  {share:>4.0}% of the driver's copy");
    };
    show("the driver's copy, 100M f32", copy, 8 * n);
    let flat = |arrays: &[u64]| -> Vec<Place> { arrays.iter().map(|&a| (a, vec![4])).collect() };

    let mut b = Build::default();
    let x = b.load(f);
    b.store(x);
    show("copy kernel", time(device, || start(device, &b, &[n], &flat(&arrays[..2]), &[false], &[]))?, 8 * n);
    let shifted = [(arrays[0] + 4, vec![4]), (arrays[1] + 8, vec![4])];
    let ms = time(device, || start(device, &b, &[n - 8], &shifted, &[false], &[]))?;
    show("copy kernel, off alignment", ms, 8 * n);

    let mut b = Build::default();
    let regs = [b.load(f), b.load(f), b.load(f)];
    let mut v = regs[0];
    for k in 0..40 {
        let op = [ScalarOp::Multiply, ScalarOp::Add, ScalarOp::Subtract][k % 3];
        v = b.apply(op, &[v, regs[(k + 1) % 3]]);
    }
    b.store(v);
    show(
        "chain of 40, 3 inputs",
        time(device, || start(device, &b, &[n], &flat(&arrays[..4]), &[false], &[]))?,
        16 * n,
    );

    let b = black_scholes();
    show(
        "black-scholes, 3 in, 2 out",
        time(device, || start(device, &b, &[n], &flat(&arrays), &[false], &[]))?,
        20 * n,
    );

    let mut b = Build::default();
    let x = b.load(f);
    let square = b.apply(ScalarOp::Square, &[x]);
    for (op, r) in [(ScalarOp::Add, x), (ScalarOp::Add, square), (ScalarOp::Minimum, x), (ScalarOp::Maximum, x)] {
        b.reduce(op, r);
    }
    let results: Vec<Place> = outs[..4].iter().map(|&o| (o, vec![0])).collect();
    let ms = time(device, || start(device, &b, &[n], &flat(&arrays[..1]), &[true], &results))?;
    show("sum, sum of squares, min, max", ms, 4 * n);

    let mut b = Build::default();
    let x = b.load(f);
    b.reduce(ScalarOp::Add, x);
    let ms = time(device, || start(device, &b, &[n], &flat(&arrays[..1]), &[true], &results[..1]))?;
    show("sum", ms, 4 * n);
    for (rows, columns) in [(10_000usize, 10_000usize), (1_000_000, 100), (100, 1_000_000)] {
        let m = [(arrays[0], vec![columns as isize * 4, 4])];
        for (axis, name) in [(1, "row sums"), (0, "column sums")] {
            let reduced = [axis == 0, axis == 1];
            let mut strides = vec![0, 0];
            strides[1 - axis] = 4;
            let to = [(arrays[4], strides)];
            let ms = time(device, || start(device, &b, &[rows, columns], &m, &reduced, &to))?;
            show(&format!("{name}, {rows} x {columns}"), ms, 4 * n);
        }
    }

    let mut b = Build::default();
    let x = b.load(f);
    b.store(x);
    let turned = [(arrays[0], vec![4, 40_000]), (arrays[1], vec![40_000, 4])];
    let ms = time(device, || start(device, &b, &[10_000, 10_000], &turned, &[false; 2], &[]))?;
    show("transposed copy, 10000 x 10000", ms, 8 * n);
    stencil(device, &show)?;

    let small = [(arrays[0], vec![4]), (arrays[1], vec![4])];
    start(device, &b, &[1000], &small, &[false], &[])?;
    device.wait()?;
    let begin = Instant::now();
    for _ in 0..20_000 {
        start(device, &b, &[1000], &small, &[false], &[])?;
    }
    let enqueued = begin.elapsed();
    device.wait()?;
    let each = |t: std::time::Duration| t.as_secs_f64() / 20_000.0 * 1e6;
    println!("a launch on 1000 elements: {:.2} µs to enqueue, {:.2} µs done", each(enqueued), each(begin.elapsed()));
    prepared_launches(device, &b, &small)?;
    for p in arrays.into_iter().chain(outs) {
        // SAFETY: freed once; the stream has come past all use.
        unsafe { device.free(p)? };
    }
    Ok(())
}

/// As the runtime does it: the kernel looked up once, and room for a result taken and given back each time.
fn prepared_launches(device: &Device, b: &Build, arrays: &[Place]) -> Result<()> {
    let prepared = device.prepare(&b.kernel)?;
    let operands: Vec<Operand> = arrays.iter().map(|(ptr, s)| Operand { ptr: *ptr, strides: s }).collect();
    let launch = FusedLaunch {
        kernel: &b.kernel,
        domain: &[1000],
        operands: &operands,
        params: &b.params,
        reduced: &[false],
        outputs: &[],
    };
    // Few enough that the device's queue never fills.
    let count = 500u32;
    let mut best = [f64::MAX; 2];
    for _ in 0..20 {
        let begin = Instant::now();
        for _ in 0..count {
            // SAFETY: the arrays cover the domain.
            unsafe { device.launch(&prepared, &launch)? };
        }
        best[0] = best[0].min(begin.elapsed().as_secs_f64() / count as f64 * 1e6);
        device.wait()?;
        let begin = Instant::now();
        for _ in 0..count {
            let room = device.alloc(4000)?;
            // SAFETY: just allocated.
            unsafe { device.free(room)? };
        }
        best[1] = best[1].min(begin.elapsed().as_secs_f64() / count as f64 * 1e6);
    }
    println!("prepared, queue not full: {:.2} µs to enqueue; {:.3} µs to allocate and free", best[0], best[1]);
    Ok(())
}

fn stencil(device: &Device, show: &dyn Fn(&str, f32, usize)) -> Result<()> {
    let (m, f) = (16_000usize, DType::F32);
    let (a, to) = (device.alloc(m * m * 4)?, device.alloc(m * m * 4)?);
    // SAFETY: the size allocated.
    unsafe { device.fill(Lane::Compute, a, 0, m * m * 4)? };
    let mut b = Build::default();
    let parts: Vec<Reg> = (0..5).map(|_| b.load(f)).collect();
    let mut sum = parts[0];
    for &p in &parts[1..] {
        sum = b.apply(ScalarOp::Add, &[sum, p]);
    }
    let fifth = b.number(f, 0.2);
    let mean = b.apply(ScalarOp::Multiply, &[sum, fifth]);
    b.store(mean);
    let row = m as u64 * 4;
    let at = |base: u64, y: u64, x: u64| (base + y * row + x * 4, vec![row as isize, 4]);
    let arrays = [at(a, 1, 1), at(a, 0, 1), at(a, 2, 1), at(a, 1, 0), at(a, 1, 2), at(to, 1, 1)];
    let ms = time(device, || start(device, &b, &[m - 2, m - 2], &arrays, &[false; 2], &[]))?;
    show("five-point stencil, 16000 x 16000", ms, 8 * m * m);
    // SAFETY: freed once; the stream has come past all use.
    unsafe {
        device.free(a)?;
        device.free(to)
    }
}

/// Library operations: right on numbers that tell, and how long they take.
fn library(device: &Device) -> Result<()> {
    let n = 100_000_000usize;
    let (a, b, c) = (device.alloc(n * 8)?, device.alloc(n * 8)?, device.alloc(n * 8)?);
    let mut bad = Vec::new();
    let mut expect = |what: &str, got: f64, want: f64| {
        if (got - want).abs() > 1e-6 * want.abs() {
            bad.push(format!("{what}: {got} instead of {want}"));
        }
    };
    // 0.5, 0.5, ...: sums are exact.
    constant(device, a, n, 0.5)?;
    let scan = Scan {
        op: ScalarOp::Add,
        dtype: DType::F32,
        src: a,
        dst: b,
        rows: 1,
        n,
        src_row: 0,
        dst_row: 0,
        src_step: 4,
        dst_step: 4,
    };
    let steps = |s: Option<Steps>| s.ok_or_else(|| wrong("no such operation".into()));
    let scratch = device.alloc(scan.scratch().max(1))?;
    let list = steps(scan.steps(scratch))?;
    // SAFETY: here and below, arrays and scratch have the sizes the operations ask for.
    println!("cumsum, 100M f32: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);
    let at = 12_345_677u64;
    expect("cumsum", f32::from_le_bytes(read(device, b + at * 4)?) as f64, (at + 1) as f64 * 0.5);

    // A permutation of 0 .. n: place i holds i * 48271 mod n.
    let mut p = Build::default();
    let i = p.iota(DType::I64, 0.0, 48_271.0);
    let modulus = p.number(DType::I64, n as f64);
    let r = p.apply(ScalarOp::Remainder, &[i, modulus]);
    let narrow = p.cast(r, DType::I32);
    p.store(narrow);
    start(device, &p, &[n], &[(a, vec![4])], &[false], &[])?;
    for (places, dtype, name) in [(false, DType::I32, "sort, 100M i32"), (true, DType::I32, "argsort, 100M i32")] {
        let wanted = if places { Wanted::Places } else { Wanted::Values };
        let sort = Sort { dtype, rows: 1, n, src: a, dst: b, wanted };
        let scratch = device.alloc(sort.scratch())?;
        let list = steps(sort.steps(scratch))?;
        println!("{name}: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);
        // All of them: the key at place k is k itself, and the place of it is the one that the permutation took it to.
        let mut w = Build::default();
        let want = if places {
            let place = w.load(DType::I64);
            let factor = w.number(DType::I64, 48_271.0);
            let modulus = w.number(DType::I64, n as f64);
            let product = w.apply(ScalarOp::Multiply, &[place, factor]);
            w.apply(ScalarOp::Remainder, &[product, modulus])
        } else {
            let key = w.load(DType::I32);
            w.cast(key, DType::I64)
        };
        let counted = w.iota(DType::I64, 0.0, 1.0);
        let differs = w.apply(ScalarOp::NotEqual, &[want, counted]);
        let one = w.cast(differs, DType::I64);
        w.reduce(ScalarOp::Add, one);
        let step = if places { 8 } else { 4 };
        start(device, &w, &[n], &[(b, vec![step])], &[true], &[(c, vec![0])])?;
        expect(&format!("places out of order, {name}"), i64::from_le_bytes(read(device, c)?) as f64, 0.0);
        let k = 77_777_777u64;
        if places {
            let place = i64::from_le_bytes(read(device, b + k * 8)?);
            expect(name, (place as i128 * 48_271 % n as i128) as f64, k as f64);
        } else {
            expect(name, i32::from_le_bytes(read(device, b + k * 4)?) as f64, k as f64);
        }
        // SAFETY: freed once, in the stream's order.
        unsafe { device.free(scratch)? };
    }
    let extreme =
        Extreme { max: true, dtype: DType::I32, src: a, dst: b, rows: 1, n, src_row: 0, src_step: 4, dst_row: 0 };
    let found = device.alloc(extreme.scratch())?;
    let list = steps(extreme.steps(found))?;
    println!("argmax, 100M i32: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);
    let place = i64::from_le_bytes(read(device, b)?);
    expect("argmax", (place as i128 * 48_271 % n as i128) as f64, n as f64 - 1.0);
    // SAFETY: freed once, in the stream's order.
    unsafe { device.free(found)? };
    let sort = Sort { dtype: DType::F32, rows: 1, n, src: a, dst: b, wanted: Wanted::Values };
    let keys = device.alloc(sort.scratch())?;
    let list = steps(sort.steps(keys))?;
    println!("sort, 100M f32 by bits: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);

    // Every second byte of the mask is true: the low bytes of 0, 1, 0, 1, ...
    let mut m = Build::default();
    let i = m.iota(DType::U8, 0.0, 1.0);
    let one = m.number(DType::U8, 1.0);
    let odd = m.apply(ScalarOp::BitwiseAnd, &[i, one]);
    m.store(odd);
    start(device, &m, &[n], &[(c, vec![1])], &[false], &[])?;
    let count = device.alloc(16)?;
    let pack = Pack { itemsize: 4, n, mask: c, values: a, packed: b, places: 0, count };
    let tiles = device.alloc(pack.scratch())?;
    let (counting, writing) = pack.steps(tiles).ok_or_else(|| wrong("no such item size".into()))?;
    let both = || unsafe { device.run_steps(&counting).and_then(|()| device.run_steps(&writing)) };
    println!("pack, 100M f32: {:.3} ms", time(device, both)?);
    expect("pack's count", i64::from_le_bytes(read(device, count)?) as f64, n as f64 / 2.0);
    let k = 31_415_926i128;
    let want = (2 * k + 1) * 48_271 % n as i128;
    expect("pack", i32::from_le_bytes(read(device, b + k as u64 * 4)?) as f64, want as f64);

    // The permutation as its own index.
    let mut w = Build::default();
    let x = w.load(DType::I32);
    let wide = w.cast(x, DType::I64);
    w.store(wide);
    start(device, &w, &[n], &[(a, vec![4]), (b, vec![8])], &[false], &[])?;
    // SAFETY: inside the array.
    unsafe { device.fill(Lane::Compute, count, 0, 16)? };
    let along = Axis::new(n, 0, 4, [8].into_iter().collect());
    let index = Index { ptr: b, extent: n, stride: 4 };
    let rest = Default::default();
    let mut take = Picked::new(4, (a, c), &[index], [along].into_iter().collect(), rest, Mode::Raise);
    take.iter_mut().for_each(|take| take.bad = count);
    let take = take.and_then(|take| take.take());
    let list = steps(take.map(|step| [step].into_iter().collect()))?;
    println!("take, 100M f32 at random: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);
    let k = 1_234_567i128;
    let want = (k * 48_271 % n as i128) * 48_271 % n as i128;
    expect("take", i32::from_le_bytes(read(device, c + k as u64 * 4)?) as f64, want as f64);

    let turn = Transpose {
        itemsize: 4,
        src: a,
        dst: c,
        rows: 10_000,
        columns: 10_000,
        batch: 1,
        src_row: 40_000,
        dst_row: 40_000,
        src_batch: 0,
        dst_batch: 0,
    };
    let list = steps(turn.steps())?;
    println!("transpose by tiles, 10000 x 10000 f32: {:.3} ms", time(device, || unsafe { device.run_steps(&list) })?);
    let k = 1_234 * 10_000 + 5_678i128;
    expect(
        "transpose",
        i32::from_le_bytes(read(device, c + 4 * (5_678 * 10_000 + 1_234))?) as f64,
        (k * 48_271 % n as i128) as f64,
    );

    match products(device, a, b, c, &mut expect) {
        Err(CudaError::Missing(why)) => println!("matmul: {why}"),
        other => other?,
    }
    for p in [a, b, c, scratch, keys, count, tiles] {
        // SAFETY: freed once; the stream has come past all use.
        unsafe { device.free(p)? };
    }
    if bad.is_empty() { Ok(()) } else { Err(wrong(bad.join("; "))) }
}

fn products(device: &Device, a: u64, b: u64, c: u64, expect: &mut dyn FnMut(&str, f64, f64)) -> Result<()> {
    let dense = |ptr, leading| Matrix { ptr, transposed: false, leading, batch_stride: 0 };
    let side = 8192usize;
    constant(device, a, side * side, 0.5)?;
    constant(device, b, side * side, 2.0)?;
    let (m, n, k, dtype, batch) = (side, side, side, DType::F32, 1);
    let mut p = Product { dtype, m, n, k, batch, a: dense(a, side), b: dense(b, side), c: dense(c, side), tf32: false };
    // SAFETY: here and below, the matrices are inside their arrays.
    println!("matmul 8192, f32: {:.3} ms", time(device, || unsafe { device.product(&p) })?);
    expect("matmul", f32::from_le_bytes(read(device, c + 4 * 1000)?) as f64, side as f64);
    p.tf32 = true;
    println!("matmul 8192, tf32: {:.3} ms", time(device, || unsafe { device.product(&p) })?);
    let v = Product { n: 1, b: dense(b, 1), c: dense(c, 1), tf32: false, ..p };
    println!("matrix times vector, 8192: {:.3} ms", time(device, || unsafe { device.product(&v) })?);
    // Small ones whose every cell differs: a[i, k] and b[k, j] count up from zero in memory.
    let mut i = Build::default();
    let r = i.iota(DType::F32, 0.0, 1.0);
    i.store(r);
    start(device, &i, &[64], &[(a, vec![4])], &[false], &[])?;
    for (m, n, k) in [(3usize, 2usize, 4usize), (3, 1, 4), (1, 3, 4), (1, 1, 5)] {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            let left = Matrix { transposed: ta, ..dense(a, if ta { m } else { k }) };
            let right = Matrix { transposed: tb, ..dense(a, if tb { k } else { n }) };
            let p = Product { dtype, m, n, k, batch, a: left, b: right, c: dense(c, n), tf32: false };
            // SAFETY: as above.
            unsafe { device.product(&p)? };
            for (row, column) in [(0, 0), (m - 1, n - 1)] {
                let at = |q: usize| {
                    let x = if ta { q * m + row } else { row * k + q };
                    let y = if tb { column * k + q } else { q * n + column };
                    (x * y) as f64
                };
                let got = f32::from_le_bytes(read(device, c + 4 * (row * n + column) as u64)?) as f64;
                expect(&format!("product {m} {n} {k} {ta} {tb}"), got, (0..k).map(at).sum());
            }
        }
    }
    Ok(())
}

fn constant(device: &Device, to: u64, n: usize, value: f64) -> Result<()> {
    let mut b = Build::default();
    let v = b.number(DType::F32, value);
    b.store(v);
    start(device, &b, &[n], &[(to, vec![4])], &[false], &[])
}

/// Call and put prices, the normal distribution by a polynomial.
fn black_scholes() -> Build {
    use ScalarOp::*;
    let f = DType::F32;
    let mut b = Build::default();
    let (spot, strike, years) = (b.load(f), b.load(f), b.load(f));
    let number = |b: &mut Build, v: f64| b.number(f, v);
    let (rate, volatility, drift) = (number(&mut b, 0.02), number(&mut b, 0.3), number(&mut b, 0.065));
    let (one, half) = (number(&mut b, 1.0), number(&mut b, 0.5));
    let root = b.apply(Sqrt, &[years]);
    let spread = b.apply(Multiply, &[volatility, root]);
    let ratio = b.apply(Divide, &[spot, strike]);
    let log = b.apply(Log, &[ratio]);
    let grown = b.apply(Multiply, &[drift, years]);
    let above = b.apply(Add, &[log, grown]);
    let d1 = b.apply(Divide, &[above, spread]);
    let d2 = b.apply(Subtract, &[d1, spread]);
    let mut normal = Vec::new();
    for d in [d1, d2] {
        let size = b.apply(Absolute, &[d]);
        let (c, zero) = (number(&mut b, 0.2316419), number(&mut b, 0.0));
        let scaled = b.apply(Multiply, &[c, size]);
        let below = b.apply(Add, &[one, scaled]);
        let k = b.apply(Divide, &[one, below]);
        let mut p = number(&mut b, 1.330274429);
        for coefficient in [-1.821255978, 1.781477937, -0.356563782, 0.319381530] {
            let c = number(&mut b, coefficient);
            let product = b.apply(Multiply, &[p, k]);
            p = b.apply(Add, &[product, c]);
        }
        let p = b.apply(Multiply, &[p, k]);
        let square = b.apply(Square, &[d]);
        let halved = b.apply(Multiply, &[half, square]);
        let negative = b.apply(Negative, &[halved]);
        let bell = b.apply(Exp, &[negative]);
        let scale = number(&mut b, 0.3989422804);
        let density = b.apply(Multiply, &[scale, bell]);
        let tail = b.apply(Multiply, &[density, p]);
        let rest = b.apply(Subtract, &[one, tail]);
        let positive = b.apply(Greater, &[d, zero]);
        normal.push(b.select(positive, rest, tail));
    }
    let decay = b.apply(Multiply, &[rate, years]);
    let decay = b.apply(Negative, &[decay]);
    let discount = b.apply(Exp, &[decay]);
    let debt = b.apply(Multiply, &[strike, discount]);
    let first = b.apply(Multiply, &[spot, normal[0]]);
    let second = b.apply(Multiply, &[debt, normal[1]]);
    let call = b.apply(Subtract, &[first, second]);
    let put = b.apply(Subtract, &[call, spot]);
    let put = b.apply(Add, &[put, debt]);
    b.store(call);
    b.store(put);
    b
}
