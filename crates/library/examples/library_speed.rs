//! Figures for the README: each operation on one thread and on two.
use numloom_ir::DType;
use numloom_ir::view::{Order, dense_strides};
use numloom_library::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

struct Array {
    _memory: Vec<u64>,
    view: RawView,
}

fn array(dtype: DType, shape: &[usize], order: Order, mut f: impl FnMut(usize) -> u64) -> Array {
    let bytes = shape.iter().product::<usize>() * dtype.size();
    let mut memory: Vec<u64> = (0..bytes.div_ceil(8)).map(&mut f).collect();
    let strides = dense_strides(dtype.size(), shape, order);
    let view = RawView { ptr: memory.as_mut_ptr() as *mut u8, dtype, shape: shape.into(), strides };
    Array { _memory: memory, view }
}

fn run(op: &dyn LibraryOp, args: &Args, threads: usize) {
    for (phase, &tiles) in op.phases(args).iter().enumerate() {
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let tile = next.fetch_add(1, Ordering::Relaxed);
                if tile >= tiles {
                    break;
                }
                unsafe { op.run(args, phase, tile) }.expect("valid operands");
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}

fn time(name: &str, ins: &[&Array], outs: &[&Array], op: impl Fn() -> Box<dyn LibraryOp>) {
    let views = |arrays: &[&Array]| arrays.iter().map(|a| a.view.clone()).collect();
    let args = Args { ins: views(ins), outs: views(outs) };
    let best = |threads| {
        let times = (0..5).map(|_| {
            let op = op();
            let start = Instant::now();
            run(&*op, &args, threads);
            start.elapsed().as_secs_f64() * 1e3
        });
        times.fold(f64::INFINITY, f64::min)
    };
    println!("{name:34} {:9.2} {:9.2}", best(1), best(2));
}

fn main() {
    let mut state = 88172645463325252u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut unit = |_: usize| (1.0 + (random() >> 12) as f64 / (1u64 << 52) as f64).to_bits();
    let zero = |_: usize| 0u64;
    let column = |mut a: RawView, rows: usize| {
        a.shape = [rows, 1].as_slice().into();
        a.strides = [8isize, 8].as_slice().into();
        a
    };
    use DType::*;
    println!("{:34} {:>9} {:>9}", "ms", "1 thread", "2 threads");
    let (a, b) = (array(F64, &[1500, 1500], Order::C, &mut unit), array(F64, &[1500, 1500], Order::C, &mut unit));
    let c = array(F64, &[1500, 1500], Order::C, zero);
    time("matmul 1500^3 f64", &[&a, &b], &[&c], || Box::new(MatMul::new()));
    for (name, order, rows, k) in [
        ("matvec 4000x4000 f64", Order::C, 4000, 4000),
        ("matvec 4000x4000 f64 F order", Order::F, 4000, 4000),
        ("matvec 400000x50 f64", Order::C, 400_000, 50),
        ("matvec 50x400000 f64", Order::C, 50, 400_000),
        ("matvec 50x400000 f64 F order", Order::F, 50, 400_000),
    ] {
        let a = array(F64, &[rows, k], order, &mut unit);
        let (mut x, mut y) = (array(F64, &[k], Order::C, &mut unit), array(F64, &[rows], Order::C, zero));
        x.view = column(x.view.clone(), k);
        y.view = column(y.view.clone(), rows);
        time(name, &[&a, &x], &[&y], || Box::new(MatMul::new()));
    }
    let (x, out) = (array(F64, &[10_000_000], Order::C, &mut unit), array(F64, &[10_000_000], Order::C, zero));
    time("cumsum 10M f64", &[&x], &[&out], || Box::new(Accumulate::new(Fold::Add, 0)));
    time("sort 10M f64", &[&x], &[&out], || Box::new(Sort::new(0, false)));
    time("sort stable 10M f64", &[&x], &[&out], || Box::new(Sort::new(0, true)));
    let places = array(I64, &[10_000_000], Order::C, zero);
    time("argsort 10M f64", &[&x], &[&places], || Box::new(Sort::argsort(0)));
    let index = array(I64, &[5_000_000], Order::C, |i| (i as u64).wrapping_mul(0x9E3779B97F4A7C15) % 10_000_000);
    let taken = array(F64, &[5_000_000], Order::C, zero);
    time("take 5M of 10M f64", &[&x, &index], &[&taken], || Box::new(Take::new(&[0], Mode::Raise)));
    let (x, out) = (array(F64, &[10_000, 1000], Order::C, &mut unit), array(F64, &[10_000, 1000], Order::C, zero));
    time("cumsum axis 0 10000x1000 f64", &[&x], &[&out], || Box::new(Accumulate::new(Fold::Add, 0)));
    time("sort axis 1 10000x1000 f64", &[&x], &[&out], || Box::new(Sort::new(1, false)));
    let x = array(F64, &[4000, 5000], Order::C, &mut unit);
    let (rows, columns) = (array(I64, &[4000], Order::C, zero), array(I64, &[5000], Order::C, zero));
    time("argmax axis 1 4000x5000 f64", &[&x], &[&rows], || Box::new(ArgReduce::new(true, Some(1))));
    time("argmax axis 0 4000x5000 f64", &[&x], &[&columns], || Box::new(ArgReduce::new(true, Some(0))));
    let x = array(F32, &[10_000_000], Order::C, zero);
    let mask = array(Bool, &[10_000_000], Order::C, |_| random() & 0x0101010101010101);
    let out = array(F32, &[10_000_000], Order::C, zero);
    let count = array(I64, &[1], Order::C, zero);
    time("pack half of 10M f32", &[&x, &mask], &[&out, &count], || Box::new(Pack::new()));
}
