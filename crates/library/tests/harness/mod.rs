//! Random strided arrays, and a runner that takes tiles in a random order on two threads.
#![allow(dead_code)]

use half::f16;
use numloom_ir::DType;
use numloom_library::{Args, LibraryError, LibraryOp, RawView};

/// xorshift: enough randomness for tests, the same on every run.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}

/// An element as a pair of floats: exact for everything the tests use.
pub type Number = (f64, f64);

pub struct Array {
    memory: Vec<u128>,
    pub view: RawView,
}

impl Array {
    /// An array of zeros whose axes lie in a random order, with gaps and turned round.
    pub fn strided(rng: &mut Rng, dtype: DType, shape: &[usize]) -> Array {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for i in (1..axes.len()).rev() {
            axes.swap(i, rng.below(i + 1));
        }
        let mut strides = vec![0isize; shape.len()];
        let (mut step, mut start) = (dtype.size(), 0usize);
        for &axis in &axes {
            let gap = if rng.below(3) == 0 { 2 } else { 1 };
            strides[axis] = (step * gap) as isize;
            if rng.below(4) == 0 && shape[axis] > 0 {
                start += step * gap * (shape[axis] - 1);
                strides[axis] = -strides[axis];
            }
            step *= gap * shape[axis].max(1);
        }
        Array::with(dtype, shape, &strides, start, step)
    }

    pub fn dense(dtype: DType, shape: &[usize]) -> Array {
        let size = shape.iter().product::<usize>() * dtype.size();
        let strides = numloom_ir::view::dense_strides(dtype.size(), shape, numloom_ir::view::Order::C);
        Array::with(dtype, shape, &strides, 0, size)
    }

    fn with(dtype: DType, shape: &[usize], strides: &[isize], start: usize, bytes: usize) -> Array {
        let mut memory = vec![0u128; bytes / 16 + 2];
        let ptr = unsafe { (memory.as_mut_ptr() as *mut u8).add(start) };
        let view = RawView { ptr, dtype, shape: shape.into(), strides: strides.into() };
        Array { memory, view }
    }

    /// Small values, so that sums are exact; floats have NaNs if asked for.
    pub fn random(rng: &mut Rng, dtype: DType, shape: &[usize], nans: bool) -> Array {
        let array = Array::strided(rng, dtype, shape);
        array.fill(|_| {
            let mut draw = || {
                let v = rng.below(7) as f64 - 3.0;
                if nans && rng.below(20) == 0 { f64::NAN } else { v }
            };
            (draw(), draw())
        });
        array
    }

    pub fn fill(&self, mut f: impl FnMut(&[usize]) -> Number) {
        each_index(&self.view.shape, |i| self.set(i, f(i)));
    }

    pub fn address(&self, index: &[usize]) -> *mut u8 {
        let offset: isize = index.iter().zip(&self.view.strides).map(|(&i, &s)| i as isize * s).sum();
        unsafe { self.view.ptr.offset(offset) }
    }

    pub fn get(&self, index: &[usize]) -> Number {
        let p = self.address(index);
        unsafe {
            match self.view.dtype {
                DType::Bool => ((*p != 0) as u8 as f64, 0.0),
                DType::I8 => (*(p as *const i8) as f64, 0.0),
                DType::U8 => (*p as f64, 0.0),
                DType::I16 => (*(p as *const i16) as f64, 0.0),
                DType::U16 => (*(p as *const u16) as f64, 0.0),
                DType::I32 => (*(p as *const i32) as f64, 0.0),
                DType::U32 => (*(p as *const u32) as f64, 0.0),
                DType::I64 => (*(p as *const i64) as f64, 0.0),
                DType::U64 => (*(p as *const u64) as f64, 0.0),
                DType::F16 => ((*(p as *const f16)).to_f64(), 0.0),
                DType::F32 => (*(p as *const f32) as f64, 0.0),
                DType::F64 => (*(p as *const f64), 0.0),
                DType::C64 => (*(p as *const f32) as f64, *(p as *const f32).add(1) as f64),
                DType::C128 => (*(p as *const f64), *(p as *const f64).add(1)),
            }
        }
    }

    /// Wide unsigned types get magnitudes: what wraps around, or its square, does not fit a float.
    pub fn set(&self, index: &[usize], v: Number) {
        let v = if matches!(self.view.dtype, DType::U32 | DType::U64) { (v.0.abs(), v.1) } else { v };
        let value = numloom_ir::Value::from_complex(self.view.dtype, v.0, v.1);
        unsafe { self.address(index).copy_from(value.bytes.as_ptr(), self.view.dtype.size()) }
    }

    /// All elements in C order.
    pub fn list(&self) -> Vec<Number> {
        let mut all = Vec::new();
        each_index(&self.view.shape, |i| all.push(self.get(i)));
        all
    }

    /// The elements along an axis at an index of the other axes.
    pub fn lane(&self, outer: &[usize], axis: usize) -> Vec<Number> {
        (0..self.view.shape[axis]).map(|i| self.get(&with_axis(outer, axis, i))).collect()
    }
}

pub fn with_axis(outer: &[usize], axis: usize, i: usize) -> Vec<usize> {
    [&outer[..axis], &[i], &outer[axis..]].concat()
}

/// Calls `f` for every index of a shape, in C order.
pub fn each_index(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let n: usize = shape.iter().product();
    let mut index = vec![0; shape.len()];
    for _ in 0..n {
        f(&index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// The shape without one axis.
pub fn outer(shape: &[usize], axis: usize) -> Vec<usize> {
    [&shape[..axis], &shape[axis + 1..]].concat()
}

pub fn same(a: Number, b: Number) -> bool {
    let eq = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan());
    eq(a.0, b.0) && eq(a.1, b.1)
}

pub fn assert_same(got: &[Number], want: &[Number], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        assert!(same(g, w), "{what}: element {i} is {g:?}, not {w:?}");
    }
}

/// The value after it has been stored in a dtype.
pub fn stored(dtype: DType, v: Number) -> Number {
    let one = Array::dense(dtype, &[1]);
    one.set(&[0], v);
    one.get(&[0])
}

struct Shared<'a>(&'a dyn LibraryOp, &'a Args);

/// Runs an operation; tiles come in a random order, on two threads.
pub fn run(rng: &mut Rng, op: &dyn LibraryOp, ins: &[&Array], outs: &[&Array]) -> Result<(), LibraryError> {
    let views = |arrays: &[&Array]| arrays.iter().map(|a| a.view.clone()).collect();
    let args = Args { ins: views(ins), outs: views(outs) };
    for (phase, &tiles) in op.phases(&args).iter().enumerate() {
        let mut order: Vec<usize> = (0..tiles).collect();
        for i in (1..tiles).rev() {
            order.swap(i, rng.below(i + 1));
        }
        let (mine, other) = order.split_at(tiles / 2);
        let shared = Shared(op, &args);
        let work = |tiles: &[usize]| -> Vec<(usize, LibraryError)> {
            let Shared(op, args) = &shared;
            tiles.iter().filter_map(|&t| unsafe { op.run(args, phase, t) }.err().map(|e| (t, e))).collect()
        };
        let mut errors = std::thread::scope(|scope| {
            let helper = scope.spawn(|| work(other));
            let mut errors = work(mine);
            errors.extend(helper.join().expect("no tile panics"));
            errors
        });
        errors.sort_by_key(|(tile, _)| *tile);
        if let Some((_, error)) = errors.into_iter().next() {
            return Err(error);
        }
    }
    Ok(())
}
