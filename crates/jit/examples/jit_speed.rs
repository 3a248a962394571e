//! Time to compile and to run, on blocks of 1,024 elements that stay in the first-level cache:
//! an addition, ten multiplications, additions and subtractions on three inputs, and a chain
//! with masks, also with a NaN in every ten elements. The same chains as plain Rust loops stand beside them.

use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use numloom_ir::{DType, ScalarOp};
use numloom_jit::{Compiled, Input, Segment, compile};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const BLOCK: usize = 1024;
const CALLS: usize = 2000;
const REPEATS: usize = 25;

struct Program {
    kernel: Kernel,
    inputs: Vec<Input>,
}

impl Program {
    fn new() -> Program {
        Program { kernel: Kernel::default(), inputs: Vec::new() }
    }

    fn input(&mut self, d: DType, uniform: bool) -> Reg {
        let reg = self.kernel.new_reg(d);
        self.inputs.push(Input { reg, uniform });
        reg
    }

    fn apply(&mut self, op: ScalarOp, a: Reg, b: Reg) -> Reg {
        let lp = op.loop_for(self.kernel.regs[a as usize]).expect("a loop of the operand's type");
        let dst = self.kernel.new_reg(op.loops()[lp].outs()[0]);
        self.kernel.instrs.push(Instr::Apply { op, lp: lp as u8, dst: [dst, NO_REG], src: [a, b] });
        dst
    }

    fn select(&mut self, mask: Reg, yes: Reg, no: Reg) -> Reg {
        let dst = self.kernel.new_reg(self.kernel.regs[yes as usize]);
        self.kernel.instrs.push(Instr::Select { dst, mask, yes, no });
        dst
    }

    fn compile(&self, outputs: &[Reg]) -> Arc<Compiled> {
        let segment = Segment { kernel: &self.kernel, instrs: &self.kernel.instrs, inputs: &self.inputs, outputs };
        compile(&segment).expect("a supported segment")
    }
}

/// ((((a*b + c) * a - b) * c + a) * b - c) * a + b
fn chain10(d: DType) -> (Program, Vec<Reg>) {
    use ScalarOp::{Add, Multiply, Subtract};
    let mut p = Program::new();
    let [a, b, c] = [(); 3].map(|()| p.input(d, false));
    let mut r = p.apply(Multiply, a, b);
    for (op, s) in [
        (Add, c),
        (Multiply, a),
        (Subtract, b),
        (Multiply, c),
        (Add, a),
        (Multiply, b),
        (Subtract, c),
        (Multiply, a),
        (Add, b),
    ] {
        r = p.apply(op, r, s);
    }
    (p, vec![r])
}

fn add(d: DType) -> (Program, Vec<Reg>) {
    let mut p = Program::new();
    let [a, b] = [(); 2].map(|()| p.input(d, false));
    let r = p.apply(ScalarOp::Add, a, b);
    (p, vec![r])
}

/// z = x + y; cond = (x < 0.25) & (y > 0.5); z = cond ? x*y + 1 : z; gt = z > 1; z = gt ? z + 2 : z - 2
fn masked(d: DType) -> (Program, Vec<Reg>) {
    use ScalarOp::{Add, BitwiseAnd, Greater, Less, Multiply, Subtract};
    let mut p = Program::new();
    let [x, y] = [(); 2].map(|()| p.input(d, false));
    let [quarter, half, one, two] = [(); 4].map(|()| p.input(d, true));
    let z = p.apply(Add, x, y);
    let (low, high) = (p.apply(Less, x, quarter), p.apply(Greater, y, half));
    let cond = p.apply(BitwiseAnd, low, high);
    let product = p.apply(Multiply, x, y);
    let product = p.apply(Add, product, one);
    let z = p.select(cond, product, z);
    let above = p.apply(Greater, z, one);
    let (up, down) = (p.apply(Add, z, two), p.apply(Subtract, z, two));
    let z = p.select(above, up, down);
    (p, vec![z])
}

/// Nanoseconds an element: the median of the repeats, and the best.
fn time(mut run: impl FnMut()) -> (f64, f64) {
    let mut times: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| run());
            start.elapsed().as_nanos() as f64 / (CALLS * BLOCK) as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[REPEATS / 2], times[0])
}

macro_rules! plain {
    ($t:ty) => {
        (
            |s: &[Vec<$t>], out: &mut [$t]| {
                let (a, b) = (&s[0][..BLOCK], &s[1][..BLOCK]);
                for i in 0..BLOCK {
                    out[i] = a[i] + b[i];
                }
            },
            |s: &[Vec<$t>], out: &mut [$t]| {
                let (a, b, c) = (&s[0][..BLOCK], &s[1][..BLOCK], &s[2][..BLOCK]);
                for i in 0..BLOCK {
                    let (a, b, c) = (a[i], b[i], c[i]);
                    out[i] = ((((a * b + c) * a - b) * c + a) * b - c) * a + b;
                }
            },
            |s: &[Vec<$t>], out: &mut [$t]| {
                let (x, y) = (&s[0][..BLOCK], &s[1][..BLOCK]);
                let k = [s[2][0], s[3][0], s[4][0], s[5][0]];
                for i in 0..BLOCK {
                    let (x, y) = (x[i], y[i]);
                    let z = if (x < k[0]) & (y > k[1]) { x * y + k[2] } else { x + y };
                    out[i] = if z > k[2] { z + k[3] } else { z - k[3] };
                }
            },
        )
    };
}

macro_rules! measure {
    ($t:ty, $d:expr) => {
        let plain = plain!($t);
        let programs: [(&str, (Program, Vec<Reg>), fn(&[Vec<$t>], &mut [$t])); 4] = [
            ("add", add($d), plain.0),
            ("chain10", chain10($d), plain.1),
            ("masked", masked($d), plain.2),
            ("and NaNs", masked($d), plain.2),
        ];
        for (name, (program, outputs), rust) in programs {
            let mut compile_times: Vec<f64> = (0..40)
                .map(|_| {
                    let start = Instant::now();
                    black_box(program.compile(&outputs));
                    start.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            compile_times.sort_by(f64::total_cmp);
            let code = program.compile(&outputs);
            let mut data: Vec<Vec<$t>> = (0..program.inputs.len())
                .map(|k| (0..BLOCK).map(|i| ((i * 7919 + k * 104_729) % 1000) as $t / 1000.0).collect())
                .collect();
            for (constant, value) in data.iter_mut().skip(2).zip([0.25, 0.5, 1.0, 2.0]) {
                constant[0] = value;
            }
            if name == "and NaNs" {
                data[0].iter_mut().step_by(10).for_each(|x| *x = <$t>::NAN);
            }
            let mut out = vec![0 as $t; BLOCK];
            let mut slots: Vec<*mut u8> = data.iter().map(|v| v.as_ptr() as *mut u8).collect();
            slots.push(out.as_mut_ptr().cast());
            // SAFETY: one run of BLOCK elements a slot, inputs then the output.
            let jit = time(|| unsafe { code.call(BLOCK, black_box(slots.as_ptr())) });
            let loops = time(|| rust(black_box(&data), black_box(&mut out)));
            println!(
                "{:8} {:8} | {:6.3} {:6.3} | {:6.3} {:6.3} | {:5} bytes, compiled in {:.3} ms",
                $d.name(),
                name,
                jit.0,
                jit.1,
                loops.0,
                loops.1,
                code.code_len(),
                compile_times[20]
            );
        }
    };
}

fn main() {
    println!("                  | jit ns/element | rustc, baseline x86-64");
    println!("                  | median   best | median   best");
    measure!(f32, DType::F32);
    measure!(f64, DType::F64);
}
