//! Kernels with data to run them on: every scalar operation in every loop, every cast, every fold, and random
//! programs over random layouts; and the CPU's answer to each.

use half::f16;
use numloom_cuda::{FusedLaunch, Operand, Output};
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg, Target};
use numloom_ir::{DType, ScalarOp, Value};

/// xorshift64*: the same cases on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// How close a result must be to the CPU's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Closeness {
    /// Bit for bit, but for the sign of zero and the bits of NaN.
    Equal,
    /// Units in the last place, of the larger part for complex numbers.
    Ulps(f64),
    /// Relative to the result.
    Relative(f64),
    /// Relative to the result or, where terms cancel, to one.
    Cancelling(f64, f64),
}

pub struct Array {
    pub dtype: DType,
    /// Byte offset of the first element in the arena.
    pub at: usize,
    pub strides: Vec<isize>,
    pub closeness: Closeness,
    /// What the bytes belong to, for messages.
    pub label: String,
    written: bool,
    span: (usize, usize),
}

pub struct Case {
    pub name: String,
    pub kernel: Kernel,
    pub domain: Vec<usize>,
    pub operands: Vec<Array>,
    pub params: Vec<Value>,
    pub reduced: Vec<bool>,
    pub outputs: Vec<(Array, Option<Value>)>,
    /// The bytes of all arrays, as they are before the launch.
    pub arena: Vec<u8>,
}

const ARENA_ALIGN: usize = 64;

impl Case {
    fn new(name: String, domain: &[usize]) -> Case {
        Case {
            name,
            kernel: Kernel::default(),
            domain: domain.to_vec(),
            operands: Vec::new(),
            params: Vec::new(),
            reduced: vec![false; domain.len()],
            outputs: Vec::new(),
            arena: Vec::new(),
        }
    }

    fn reg(&mut self, d: DType) -> Reg {
        self.kernel.new_reg(d)
    }

    fn emit(&mut self, i: Instr) {
        self.kernel.instrs.push(i);
    }

    /// A dense array over the domain.
    fn dense(&self, dtype: DType) -> (Vec<isize>, usize) {
        let mut step = dtype.size() as isize;
        let mut strides = vec![0; self.domain.len()];
        for (s, &n) in strides.iter_mut().zip(&self.domain).rev() {
            *s = step;
            step *= n as isize;
        }
        (strides, 0)
    }

    /// Room for an array of these strides, `shift` bytes off alignment.
    fn place(&mut self, dtype: DType, strides: Vec<isize>, shift: usize, label: String) -> Array {
        let (mut low, mut high) = (0isize, 0isize);
        for (&n, &s) in self.domain.iter().zip(&strides) {
            let reach = (n.max(1) as isize - 1) * s;
            if reach < 0 { low += reach } else { high += reach }
        }
        let start = self.arena.len().next_multiple_of(ARENA_ALIGN) + shift;
        let bytes = (high - low) as usize + dtype.size();
        self.arena.resize(start + bytes + 16, 0xa5);
        let at = (start as isize - low) as usize;
        Array { dtype, at, strides, closeness: Closeness::Equal, label, written: false, span: (start, start + bytes) }
    }

    fn fill(&mut self, a: &Array, mut value: impl FnMut(usize) -> Value) {
        let size = a.dtype.size();
        let (from, to) = a.span;
        for (k, at) in (from..to + 1 - size).step_by(size).enumerate() {
            self.arena[at..at + size].copy_from_slice(&value(k).bytes[..size]);
        }
    }

    fn load(&mut self, operand: usize) -> Reg {
        let dst = self.reg(self.operands[operand].dtype);
        self.emit(Instr::Load { dst, operand: operand as u16 });
        dst
    }

    fn store(&mut self, operand: usize, src: Reg, mask: Reg) {
        self.operands[operand].written = true;
        self.emit(Instr::Store { operand: operand as u16, src, mask });
    }

    fn add_operand(&mut self, a: Array) -> usize {
        self.kernel.operands.push(a.dtype);
        self.operands.push(a);
        self.operands.len() - 1
    }

    fn dense_input(&mut self, d: DType, value: impl FnMut(usize) -> Value) -> usize {
        let (strides, shift) = self.dense(d);
        let a = self.place(d, strides, shift, format!("input {d}"));
        self.fill(&a, value);
        self.add_operand(a)
    }

    fn dense_output(&mut self, d: DType, closeness: Closeness, label: String) -> usize {
        let (strides, shift) = self.dense(d);
        let mut a = self.place(d, strides, shift, label);
        a.closeness = closeness;
        self.add_operand(a)
    }

    /// Calls `f` with the launch as it is when the arena lies at `base`.
    pub fn with_launch<R>(&self, base: u64, f: impl FnOnce(&FusedLaunch) -> R) -> R {
        let operands: Vec<Operand> =
            self.operands.iter().map(|a| Operand { ptr: base + a.at as u64, strides: &a.strides }).collect();
        let outputs: Vec<Output> = self
            .outputs
            .iter()
            .map(|(a, initial)| Output {
                ptr: base + a.at as u64,
                dtype: a.dtype,
                strides: &a.strides,
                initial: *initial,
            })
            .collect();
        f(&FusedLaunch {
            kernel: &self.kernel,
            domain: &self.domain,
            operands: &operands,
            params: &self.params,
            reduced: &self.reduced,
            outputs: &outputs,
        })
    }

    /// The arena after the CPU's interpreter ran the kernel on it.
    pub fn on_cpu(&self) -> Vec<u8> {
        let mut arena = Arena::new(&self.arena);
        let base = arena.ptr();
        let bind = |a: &Array| numloom_cpu::Operand {
            // SAFETY: every array lies inside the arena.
            ptr: unsafe { base.add(a.at) },
            dtype: a.dtype,
            strides: a.strides.iter().copied().collect(),
        };
        let outputs = self
            .outputs
            .iter()
            .map(|(a, initial)| numloom_cpu::Output { operand: bind(a), initial: *initial })
            .collect();
        let compiled = numloom_cpu::Compiled::new(self.kernel.clone());
        let launch = numloom_cpu::Launch::new(
            &compiled,
            &self.domain,
            self.operands.iter().map(bind).collect(),
            self.params.clone(),
            &self.reduced,
            outputs,
            1 << 14,
            1,
            false,
        );
        for (phase, &tiles) in launch.phases().iter().enumerate() {
            for tile in 0..tiles {
                // SAFETY: the arrays are inside the arena, which nobody else touches.
                unsafe { launch.run(phase, tile) };
            }
        }
        arena.bytes(self.arena.len())
    }

    /// The first difference of `got` from `want` that matters, in words.
    pub fn difference(&self, got: &[u8], want: &[u8]) -> Option<String> {
        let mut in_arrays = vec![false; self.arena.len()];
        for a in self.operands.iter().filter(|a| a.written).chain(self.outputs.iter().map(|o| &o.0)) {
            let size = a.dtype.size();
            let folded = self.outputs.iter().any(|(o, _)| std::ptr::eq(o, a));
            // A fold writes the kept points, even of an empty domain.
            let extent = |d: usize| if folded && self.reduced[d] { 1 } else { self.domain[d] };
            let count: usize = (0..self.domain.len()).map(extent).product();
            for flat in 0..count {
                let (mut rest, mut at) = (flat, a.at as isize);
                for d in (0..self.domain.len()).rev() {
                    at += (rest % extent(d)) as isize * a.strides[d];
                    rest /= extent(d);
                }
                let at = at as usize;
                in_arrays[at..at + size].fill(true);
                let x = Value::from_bytes(a.dtype, &got[at..at + size]);
                let y = Value::from_bytes(a.dtype, &want[at..at + size]);
                if !close(&x, &y, a.closeness) {
                    let inputs: Vec<String> = self
                        .operands
                        .iter()
                        .filter(|o| !o.written && !folded && self.operands.len() < 40)
                        .map(|o| {
                            let (mut rest, mut at) = (flat, o.at as isize);
                            for d in (0..self.domain.len()).rev() {
                                at += (rest % self.domain[d].max(1)) as isize * o.strides[d];
                                rest /= self.domain[d].max(1);
                            }
                            let at = at as usize;
                            show(&Value::from_bytes(o.dtype, &self.arena[at..at + o.dtype.size()]))
                        })
                        .collect();
                    return Some(format!(
                        "{}: {} at {flat}: {} instead of {} (of {})",
                        self.name,
                        a.label,
                        show(&x),
                        show(&y),
                        inputs.join(", ")
                    ));
                }
            }
        }
        let stray = (0..self.arena.len()).find(|&i| !in_arrays[i] && got[i] != self.arena[i]);
        stray.map(|i| format!("{}: byte {i}, which no output covers, was written", self.name))
    }
}

#[repr(align(64))]
#[derive(Clone)]
struct Line([u8; ARENA_ALIGN]);

/// The bytes of a case at an address as aligned as a device's.
pub struct Arena(Vec<Line>);

impl Arena {
    pub fn new(bytes: &[u8]) -> Arena {
        let mut lines = vec![Line([0; ARENA_ALIGN]); bytes.len().div_ceil(ARENA_ALIGN) + 1];
        for (line, part) in lines.iter_mut().zip(bytes.chunks(ARENA_ALIGN)) {
            line.0[..part.len()].copy_from_slice(part);
        }
        Arena(lines)
    }

    pub fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    pub fn bytes(&self, len: usize) -> Vec<u8> {
        self.0.iter().flat_map(|l| l.0).take(len).collect()
    }
}

fn show(v: &Value) -> String {
    match v.dtype {
        d if d.is_complex() => format!("{:e}{:+e}j", v.to_f64(), v.imag()),
        d if d.is_inexact() => format!("{:e}", v.to_f64()),
        _ => v.to_i128().to_string(),
    }
}

fn close(x: &Value, y: &Value, closeness: Closeness) -> bool {
    if !x.dtype.is_inexact() {
        return match closeness {
            Closeness::Equal => x.to_i128() == y.to_i128(),
            _ => (x.to_i128() - y.to_i128()).abs() <= 1,
        };
    }
    // Which part of a complex product is infinite and which NaN depends on the order of the factors.
    let is_finite = |v: &Value| v.to_f64().is_finite() && v.imag().is_finite();
    if x.dtype.is_complex() && closeness != Closeness::Equal && !is_finite(x) && !is_finite(y) {
        return true;
    }
    let size = y.to_f64().abs().max(y.imag().abs());
    near(x.to_f64(), y.to_f64(), size, x.dtype, closeness) && near(x.imag(), y.imag(), size, x.dtype, closeness)
}

fn near(x: f64, y: f64, size: f64, d: DType, closeness: Closeness) -> bool {
    if x == y || (x.is_nan() && y.is_nan()) {
        return true;
    }
    let (digits, tiny) = match d {
        DType::F16 => (2f64.powi(-10), 2f64.powi(-24)),
        DType::F32 | DType::C64 => (2f64.powi(-23), 2f64.powi(-149)),
        _ => (2f64.powi(-52), 5e-324),
    };
    if !x.is_finite() || !y.is_finite() {
        // Within its error a result may round to infinity.
        let largest = match d {
            DType::F16 => 65504.0,
            DType::F32 | DType::C64 => f32::MAX as f64,
            _ => f64::MAX,
        };
        let edge = |v: f64| v.is_infinite() || v.abs() >= largest * (1.0 - 8.0 * digits);
        return closeness != Closeness::Equal && edge(x) && edge(y) && x.signum() == y.signum();
    }
    match closeness {
        Closeness::Equal => false,
        Closeness::Ulps(n) => (x - y).abs() <= n * (size * digits).max(tiny),
        Closeness::Relative(r) => (x - y).abs() <= r * size.max(1e-30) + tiny,
        Closeness::Cancelling(r, a) => (x - y).abs() <= r * size + a,
    }
}

/// Values where operations have corners, then random ones.
pub fn special(d: DType, k: usize, random: &mut Random) -> Value {
    const REAL: &[f64] = &[
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        10.0,
        1.5,
        -1.5,
        2.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-8,
        -1e-8,
        1e-40,
        6e-8,
        1e-300,
        5e-324,
        1e4,
        -65504.0,
        1e10,
        2147483648.0,
        4294967296.0,
        3e9,
        1e19,
        -1e19,
        1e30,
        1e300,
        -1e300,
        3.4e38,
        0.9999999,
        1.0000001,
        std::f64::consts::PI,
        100.0,
        -7.0,
        88.8,
        709.9,
    ];
    const WHOLE: &[i128] =
        &[0, 1, -1, 2, 3, -3, 7, 8, 10, 31, 32, 63, 64, 100, 127, 128, 255, -128, 32767, -32768, 65535, 1 << 20];
    let float = |k: usize, random: &mut Random| match k {
        k if k < REAL.len() => REAL[k],
        _ => {
            let scale = random.pick(&[1.0, 1.0, 10.0, 1000.0, 1e-3, 1e6]);
            (random.unit() - 0.5) * 2.0 * scale
        }
    };
    match d {
        DType::Bool => Value::from_i128(d, (random.next() & 1) as i128),
        d if d.is_integer() => {
            let bits = d.size() as u32 * 8;
            match k {
                k if k < WHOLE.len() => Value::from_i128(d, WHOLE[k]),
                k if k == WHOLE.len() => Value::from_i128(d, 1i128 << (bits - 1)),
                k if k == WHOLE.len() + 1 => Value::from_i128(d, (1i128 << (bits - 1)) - 1),
                _ if random.below(2) == 0 => Value::from_i128(d, random.below(40) as i128 - 20),
                _ => Value::from_i128(d, random.next() as i128),
            }
        }
        d if d.is_complex() => {
            let re = float(k % 60, random);
            let im = float((k / 60 + k) % 60, random);
            Value::from_complex(d, re, im)
        }
        DType::F16 if k > 200 && random.below(4) == 0 => {
            Value::from_f64(d, f16::from_bits(random.next() as u16).to_f64())
        }
        d => Value::from_f64(d, float(k, random)),
    }
}

/// Ordinary values: sums of them are well conditioned.
fn plain(d: DType, random: &mut Random) -> Value {
    match d {
        DType::Bool => Value::from_i128(d, (random.next() & 1) as i128),
        d if d.is_integer() => Value::from_i128(d, random.below(50) as i128 - 20),
        d => Value::from_complex(d, random.unit() + 0.5, random.unit() + 0.25),
    }
}

/// Operations that CUDA's library and the CPU's round each in their own way.
fn closeness_of(op: ScalarOp, d: DType) -> Closeness {
    use ScalarOp::*;
    let cancelling = match d {
        DType::F16 => Closeness::Cancelling(2e-3, 1e-6),
        DType::F32 | DType::C64 => Closeness::Cancelling(2e-5, 1e-7),
        _ => Closeness::Cancelling(1e-10, 1e-14),
    };
    match op {
        Logaddexp | Logaddexp2 => cancelling,
        Absolute | Sign if d.is_complex() => Closeness::Ulps(4.0),
        Sqrt if !d.is_complex() => Closeness::Equal,
        Power if !d.is_inexact() => Closeness::Equal,
        Sqrt | Cbrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Arcsin | Arccos | Arctan
        | Arctan2 | Sinh | Cosh | Tanh | Arcsinh | Arccosh | Arctanh | Hypot | Power | FloatPower => {
            if d.is_complex() {
                cancelling
            } else {
                Closeness::Ulps(8.0)
            }
        }
        _ => Closeness::Equal,
    }
}

/// Every loop of an operation in one kernel.
pub fn operation(op: ScalarOp, n: usize) -> Case {
    let mut random = Random::new(op as u64 + 100);
    let mut c = Case::new(op.name().to_string(), &[n]);
    for (lp, l) in op.loops().iter().enumerate() {
        let mut src = [NO_REG; 2];
        for (k, &d) in l.ins().iter().enumerate() {
            // The first argument runs through its special values as the second stays at each of its own.
            let mut own = Random::new(random.next());
            let shift = op == ScalarOp::LeftShift || op == ScalarOp::RightShift || op == ScalarOp::Power;
            let powers = matches!(op, ScalarOp::Power | ScalarOp::FloatPower);
            let input = c.dense_input(d, |i| {
                let at = if k == 0 { i % 64 } else { i / 64 };
                let v = special(d, if i > 64 * 48 { 1000 } else { at }, &mut own);
                if shift && k == 1 && d.is_integer() {
                    return Value::from_i128(d, v.to_i128().rem_euclid(70));
                }
                // The angle of a complex power is the exponent times a logarithm: nothing is left of it for large ones.
                let large = |x: f64| x.is_finite() && x.abs() > 50.0;
                if d.is_complex() && l.ins().len() == 2 && (large(v.to_f64()) || large(v.imag())) && powers {
                    return Value::from_complex(d, 0.75, -1.25);
                }
                v
            });
            src[k] = c.load(input);
        }
        let mut dst = [NO_REG; 2];
        for (k, &d) in l.outs().iter().enumerate() {
            dst[k] = c.reg(d);
        }
        c.emit(Instr::Apply { op, lp: lp as u8, dst, src });
        for (k, &d) in l.outs().iter().enumerate() {
            let label = format!("{} result {k}", l.signature());
            let out = c.dense_output(d, closeness_of(op, l.ins()[0]), label);
            c.store(out, dst[k], NO_REG);
        }
    }
    c
}

/// Every cast from a type in one kernel.
pub fn casts(from: DType, n: usize) -> Case {
    let mut own = Random::new(from as u64 + 7);
    let mut c = Case::new(format!("cast of {from}"), &[n]);
    let input = c.dense_input(from, |i| special(from, i, &mut own));
    let src = c.load(input);
    for to in DType::ALL {
        let dst = c.reg(to);
        c.emit(Instr::Cast { dst, src });
        let out = c.dense_output(to, Closeness::Equal, format!("{from} to {to}"));
        c.store(out, dst, NO_REG);
    }
    c
}

/// Operations that the CPU folds in any order.
const FOLDS: &[ScalarOp] = &[
    ScalarOp::Add,
    ScalarOp::Multiply,
    ScalarOp::Maximum,
    ScalarOp::Minimum,
    ScalarOp::Fmax,
    ScalarOp::Fmin,
    ScalarOp::BitwiseAnd,
    ScalarOp::BitwiseOr,
    ScalarOp::BitwiseXor,
    ScalarOp::LogicalAnd,
    ScalarOp::LogicalOr,
    ScalarOp::LogicalXor,
    ScalarOp::Logaddexp,
    ScalarOp::Logaddexp2,
    ScalarOp::Hypot,
    ScalarOp::Gcd,
];
/// And those it folds from the left.
const IN_ORDER: &[ScalarOp] = &[
    ScalarOp::Lcm,
    ScalarOp::FloorDivide,
    ScalarOp::Remainder,
    ScalarOp::Fmod,
    ScalarOp::LeftShift,
    ScalarOp::RightShift,
    ScalarOp::Subtract,
    ScalarOp::Divide,
    ScalarOp::Copysign,
    ScalarOp::Heaviside,
];

fn fold_closeness(op: ScalarOp, d: DType) -> Closeness {
    use ScalarOp::*;
    match (op, d) {
        (Add | Multiply | Logaddexp | Logaddexp2 | Hypot | Subtract | Divide, d) if d.is_inexact() => {
            Closeness::Relative(match d {
                DType::F16 => 4e-2,
                DType::F32 | DType::C64 => 1e-4,
                _ => 1e-11,
            })
        }
        _ => Closeness::Equal,
    }
}

/// All folds of a type over one pass, with a store beside them.
pub fn folds(d: DType, domain: &[usize], reduced: &[bool], in_order: bool, seed: u64) -> Case {
    let mut random = Random::new(seed * 31 + d as u64);
    let mut c = Case::new(format!("folds of {d} over {domain:?} {reduced:?} in order {in_order}"), domain);
    c.reduced = reduced.to_vec();
    let mut own = Random::new(random.next());
    let count: usize = domain.iter().product();
    let input = c.dense_input(d, |_| plain(d, &mut own));
    let src = c.load(input);
    let copy = c.dense_output(d, Closeness::Equal, "copy".into());
    c.store(copy, src, NO_REG);
    let ops = if in_order { IN_ORDER } else { FOLDS };
    for &op in ops {
        let Some(lp) = op.loop_for(d) else { continue };
        let target = Target { op, lp: lp as u8 };
        if target.dtype() != d || (d == DType::F16 && in_order && op == ScalarOp::Fmod) {
            continue;
        }
        if count == 0 && in_order {
            continue;
        }
        c.kernel.targets.push(target);
        let t = c.kernel.targets.len() - 1;
        c.emit(Instr::Reduce { target: t as u16, src });
        let strides = kept_strides(domain, reduced, d.size());
        let mut a = c.place(d, strides, 0, format!("{} fold", op.name()));
        a.closeness = fold_closeness(op, d);
        let initial = (count == 0 || random.below(2) == 0).then(|| plain(d, &mut random));
        c.outputs.push((a, initial));
    }
    c
}

fn kept_strides(domain: &[usize], reduced: &[bool], size: usize) -> Vec<isize> {
    let mut step = size as isize;
    let mut strides = vec![0; domain.len()];
    for k in (0..domain.len()).rev() {
        if !reduced[k] {
            strides[k] = step;
            step *= domain[k].max(1) as isize;
        }
    }
    strides
}

/// Operations whose results are the same to the last bit everywhere.
const EXACT: &[ScalarOp] = &[
    ScalarOp::Add,
    ScalarOp::Subtract,
    ScalarOp::Multiply,
    ScalarOp::Divide,
    ScalarOp::Negative,
    ScalarOp::Absolute,
    ScalarOp::Square,
    ScalarOp::Sqrt,
    ScalarOp::Maximum,
    ScalarOp::Minimum,
    ScalarOp::Less,
    ScalarOp::Equal,
    ScalarOp::GreaterEqual,
    ScalarOp::LogicalAnd,
    ScalarOp::LogicalNot,
    ScalarOp::Isnan,
    ScalarOp::Isfinite,
    ScalarOp::Floor,
    ScalarOp::Rint,
    ScalarOp::BitwiseXor,
    ScalarOp::Invert,
    ScalarOp::RightShift,
    ScalarOp::Sign,
    ScalarOp::FloorDivide,
    ScalarOp::Remainder,
    ScalarOp::Conjugate,
    ScalarOp::Fmax,
    ScalarOp::Reciprocal,
    ScalarOp::Heaviside,
];

/// A random program of `length` instructions over a random domain.
pub fn random_program(seed: u64, length: usize) -> Case {
    let mut random = Random::new(seed);
    let rank = random.below(5);
    let most = [1, 3000, 60, 17, 9][rank];
    let mut domain: Vec<usize> = (0..rank).map(|_| 1 + random.below(most)).collect();
    if random.below(25) == 0 && rank > 0 {
        domain[0] = 0;
    }
    let mut c = Case::new(format!("random program {seed}"), &domain);
    let types: Vec<DType> = (0..3).map(|_| random.pick(&DType::ALL)).collect();
    let inputs = 1 + random.below(4);
    let mut values: Vec<Reg> = Vec::new();
    for k in 0..inputs {
        let d = random.pick(&types);
        let (strides, shift) = random_strides(&mut random, &domain, d, true);
        let a = c.place(d, strides, shift, format!("input {k}"));
        let mut own = Random::new(random.next());
        c.fill(&a, |i| special(d, i % 90, &mut own));
        let o = c.add_operand(a);
        values.push(c.load(o));
    }
    for _ in 0..random.below(3) {
        let d = random.pick(&types);
        let p = special(d, 1000, &mut random);
        c.params.push(p);
        c.kernel.params.push(d);
        let dst = c.reg(d);
        c.emit(Instr::Param { dst, param: c.params.len() as u16 - 1 });
        values.push(dst);
    }
    if rank == 1 && random.below(3) == 0 {
        let d = random.pick(&types);
        let (start, step) = (plain(d, &mut random), plain(d, &mut random));
        c.params.extend([start, step]);
        c.kernel.params.extend([d, d]);
        let (dst, n) = (c.reg(d), c.params.len() as u16);
        c.emit(Instr::Iota { dst, start: n - 2, step: n - 1 });
        values.push(dst);
    }
    for _ in 0..length {
        let r = random.pick(&values);
        let d = c.kernel.regs[r as usize];
        match random.below(8) {
            0 => {
                let to = random.pick(&types);
                let dst = c.reg(to);
                c.emit(Instr::Cast { dst, src: r });
                values.push(dst);
            }
            1 => {
                let masks: Vec<Reg> =
                    values.iter().copied().filter(|&m| c.kernel.regs[m as usize] == DType::Bool).collect();
                let others: Vec<Reg> = values.iter().copied().filter(|&m| c.kernel.regs[m as usize] == d).collect();
                if !masks.is_empty() {
                    let dst = c.reg(d);
                    let (mask, no) = (random.pick(&masks), random.pick(&others));
                    c.emit(Instr::Select { dst, mask, yes: r, no });
                    values.push(dst);
                }
            }
            _ => {
                let op = random.pick(EXACT);
                let complex_root = d.is_complex() && matches!(op, ScalarOp::Sqrt | ScalarOp::Absolute | ScalarOp::Sign);
                let Some(lp) = op.loop_for(d).filter(|_| !complex_root) else { continue };
                let l = &op.loops()[lp];
                let same: Vec<Reg> = values.iter().copied().filter(|&m| c.kernel.regs[m as usize] == d).collect();
                let src = [r, if l.ins().len() > 1 { random.pick(&same) } else { NO_REG }];
                let dst = c.reg(l.outs()[0]);
                c.emit(Instr::Apply { op, lp: lp as u8, dst: [dst, NO_REG], src });
                values.push(dst);
            }
        }
    }
    let tail: Vec<Reg> = values.iter().rev().take(6).copied().collect();
    let folds = random.below(3) == 0;
    for k in 0..if folds { random.below(2) } else { 1 + random.below(3) } {
        let src = random.pick(&tail);
        let d = c.kernel.regs[src as usize];
        let (strides, shift) = random_strides(&mut random, &domain, d, false);
        let mut a = c.place(d, strides, shift, format!("output {k}"));
        a.label = format!("output {k} ({d})");
        let o = c.add_operand(a);
        let masks: Vec<Reg> = values.iter().copied().filter(|&m| c.kernel.regs[m as usize] == DType::Bool).collect();
        let mask = if !masks.is_empty() && random.below(3) == 0 { random.pick(&masks) } else { NO_REG };
        c.store(o, src, mask);
    }
    if folds {
        c.reduced = domain.iter().map(|_| random.below(2) == 0).collect();
        for _ in 0..1 + random.below(3) {
            let src = random.pick(&tail);
            let d = c.kernel.regs[src as usize];
            let op = random.pick(&[ScalarOp::Maximum, ScalarOp::Minimum, ScalarOp::Add, ScalarOp::Multiply]);
            // Sums of anything may cancel; extremes are exact.
            let op = if d.is_inexact() { ScalarOp::Maximum } else { op };
            let Some(lp) = op.loop_for(d).filter(|_| !d.is_complex()) else { continue };
            c.kernel.targets.push(Target { op, lp: lp as u8 });
            c.emit(Instr::Reduce { target: c.kernel.targets.len() as u16 - 1, src });
            let strides = kept_strides(&domain, &c.reduced.clone(), d.size());
            let a = c.place(d, strides, 0, format!("fold of {d}"));
            let empty = domain.contains(&0);
            let initial = (empty || random.below(2) == 0).then(|| plain(d, &mut random));
            c.outputs.push((a, initial));
        }
        if c.kernel.targets.is_empty() {
            c.reduced.fill(false);
        }
    }
    c
}

/// A stencil: operands that are windows of one array, rows and columns apart.
pub fn stencil(d: DType, rows: usize, columns: usize, batch: usize) -> Case {
    let mut c = Case::new(format!("stencil of {d} over {batch} x {rows} x {columns}"), &[batch, rows, columns]);
    let (size, wide) = (d.size(), columns + 2);
    let row = (wide * size) as isize;
    let strides = vec![row * (rows + 3) as isize, row, size as isize];
    let mut own = Random::new(d as u64 + 5);
    c.domain = vec![batch, rows + 3, wide];
    let whole = c.place(d, strides.clone(), 0, "grid".into());
    c.fill(&whole, |_| plain(d, &mut own));
    c.domain = vec![batch, rows, columns];
    let mut sum = None;
    for (y, x) in [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2), (3, 1), (3, 0)] {
        let at = whole.at + y * row as usize + x * size;
        let (dtype, strides, closeness, span) = (d, strides.clone(), Closeness::Equal, whole.span);
        let a = Array { dtype, at, strides, closeness, label: format!("row {y}"), written: false, span };
        let o = c.add_operand(a);
        let r = c.load(o);
        sum = Some(match sum {
            None => r,
            Some(before) => {
                let lp = ScalarOp::Add.loop_for(d).unwrap_or(0) as u8;
                let dst = c.reg(d);
                c.emit(Instr::Apply { op: ScalarOp::Add, lp, dst: [dst, NO_REG], src: [before, r] });
                dst
            }
        });
    }
    let out = c.dense_output(d, Closeness::Equal, "sum".into());
    if let Some(sum) = sum {
        c.store(out, sum, NO_REG);
    }
    c
}

/// Strides of a permuted, spread, turned around or (for inputs) repeated array; and a shift off alignment.
fn random_strides(random: &mut Random, domain: &[usize], d: DType, input: bool) -> (Vec<isize>, usize) {
    let size = d.size() as isize;
    let mut axes: Vec<usize> = (0..domain.len()).collect();
    if random.below(3) == 0 {
        for k in (1..axes.len()).rev() {
            axes.swap(k, random.below(k + 1));
        }
    }
    let mut strides = vec![0; domain.len()];
    let mut step = size;
    for &axis in axes.iter().rev() {
        let spread = if random.below(6) == 0 { 2 } else { 1 };
        let turned = if random.below(8) == 0 { -1 } else { 1 };
        if input && random.below(6) == 0 {
            continue;
        }
        strides[axis] = step * spread * turned;
        step *= spread * domain[axis].max(1) as isize;
        if random.below(6) == 0 {
            step += size * random.below(4) as isize;
        }
    }
    let shift = match random.below(6) {
        0 => d.align(),
        1 if random.below(3) == 0 => 1,
        _ => 0,
    };
    (strides, shift)
}

/// Everything, in the order tests report it.
pub fn all(random_programs: u64) -> Vec<Case> {
    let mut cases: Vec<Case> = ScalarOp::ALL.iter().map(|&op| operation(op, 64 * 56 + 3)).collect();
    cases.extend(DType::ALL.iter().map(|&d| casts(d, 403)));
    let shapes: &[(&[usize], &[bool])] = &[
        (&[5000], &[true]),
        (&[1], &[true]),
        (&[0], &[true]),
        (&[9, 133], &[false, true]),
        (&[133, 9], &[true, false]),
        (&[300, 3], &[false, true]),
        (&[5, 40, 6], &[false, true, false]),
        (&[5, 40, 6], &[true, false, true]),
        (&[2, 3000], &[false, true]),
        (&[3000, 2], &[true, false]),
        (&[20_011], &[true]),
        (&[2, 9_000], &[false, true]),
    ];
    for d in DType::ALL {
        // Types of one size take the same ways: every other shape for most of them.
        let thorough = matches!(d, DType::F32 | DType::I64 | DType::C128);
        for (seed, (domain, reduced)) in shapes.iter().enumerate() {
            if thorough || (seed + d as usize).is_multiple_of(3) {
                cases.push(folds(d, domain, reduced, false, seed as u64));
            }
        }
        let (domain, reduced) = [shapes[3], shapes[4], shapes[6]][d as usize % 3];
        cases.push(folds(d, domain, reduced, true, d as u64));
    }
    for (d, rows, columns, batch) in
        [(DType::F32, 37, 101, 1), (DType::F64, 3, 70, 3), (DType::I16, 64, 66, 2), (DType::F32, 16, 62, 1)]
    {
        cases.push(stencil(d, rows, columns, batch));
    }
    cases.extend((0..random_programs).map(|k| random_program(k + 1, 3 + (k as usize * 7) % 38)));
    cases.retain(|c| !(c.kernel.targets.is_empty() && c.operands.iter().all(|o| !o.written)));
    cases
}
