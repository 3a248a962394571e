//! Prints a kernel as CUDA C for one structure of its launches.
//!
//! Every lane of a thread has registers of its own, so that loads come in a bunch before their first use and
//! stores go out as vectors. Arithmetic is NumPy's: nothing is contracted (`-fmad=false`, see `compile.rs`).

use crate::scalar::{
    InLanes, Section, Sections, accumulator, call, cast_expression, cast_sections, instr_in_lanes, sections_of,
    type_name,
};
use crate::structure::{Access, Arguments, Structure, Walk, head};
use numloom_ir::DType;
use numloom_ir::kernel::{Instr, Kernel, NO_REG, Reg};
use std::fmt::Write;

/// A printed function and the device code it calls.
#[derive(Clone, Debug)]
pub struct Printed {
    pub sections: Sections,
    pub text: String,
}

impl Printed {
    /// A program of its own.
    pub fn program(&self) -> String {
        program(&[self])
    }
}

/// One program with several functions.
pub fn program(functions: &[&Printed]) -> String {
    let mut sections = Sections::base();
    functions.iter().for_each(|f| sections.join(f.sections));
    let mut text = sections.text();
    functions.iter().for_each(|f| text.push_str(&f.text));
    text
}

/// Lanes that go through a function together. All of them take its long way if one must.
const LANES_AT_ONCE: usize = 8;

macro_rules! line {
    ($p:expr, $($arg:tt)*) => {{
        let _ = writeln!($p.out, $($arg)*);
    }};
}

mod fold;
mod once;

struct Printer<'a> {
    kernel: &'a Kernel,
    s: &'a Structure,
    /// The words of launches, where parameters are always the same.
    settled: Option<&'a [u64]>,
    at: Arguments,
    index: &'static str,
    uniform: Vec<bool>,
    /// Loads that no store comes before: printed together at the top of the loop.
    early: Vec<bool>,
    /// Offsets that are printed, by operand and lane group.
    offsets: Vec<bool>,
    out: String,
}

/// Prints `kernel` as the function `name`.
pub fn print(kernel: &Kernel, s: &Structure, name: &str) -> Printed {
    printed(kernel, s, name, None)
}

/// The same for launches whose parameters are those among `words`: they stand in the program, and take neither
/// registers nor instructions to fetch them. What it computes is the same to the bit.
pub fn print_settled(kernel: &Kernel, s: &Structure, name: &str, words: &[u64]) -> Printed {
    printed(kernel, s, name, Some(words))
}

fn printed(kernel: &Kernel, s: &Structure, name: &str, settled: Option<&[u64]>) -> Printed {
    let mut sections = sections_of(kernel);
    for (t, &(to, _)) in kernel.targets.iter().zip(&s.outputs) {
        cast_sections(accumulator(t), t.dtype(), &mut sections);
        cast_sections(t.dtype(), to, &mut sections);
    }
    if kernel.instrs.iter().any(|i| matches!(i, Instr::Iota { .. })) {
        sections.add(Section::Arithmetic);
    }
    let mut p = Printer {
        kernel,
        s,
        settled,
        at: Arguments::new(kernel, s),
        index: if s.wide { "i64" } else { "i32" },
        uniform: vec![false; kernel.regs.len()],
        early: vec![false; kernel.instrs.len()],
        offsets: vec![false; kernel.operands.len() * s.u as usize],
        out: String::new(),
    };
    p.analyse();
    line!(p, "struct {name}_arguments {{ u64 w[{}]; }};", p.at.len);
    line!(
        p,
        "extern \"C\" __global__ void __launch_bounds__(256) {name}(const __grid_constant__ {name}_arguments a) {{"
    );
    p.before_loop();
    match s.walk {
        Walk::Flat => p.flat(),
        Walk::Rows { rank } => p.rows(rank as usize),
        Walk::Fold { order, kept, away, split } => p.fold(order, kept as usize, away as usize, split),
    }
    line!(p, "}}");
    Printed { sections, text: p.out }
}

/// A value in the words of a launch as the program says it, to the bit.
fn literal(d: DType, words: &[u64]) -> String {
    let (low, high) = (words[0], words[0] >> 32);
    let single = |bits: u64| format!("float_of(0x{:08x}u)", bits as u32);
    let double = |bits: u64| format!("float_of((u64)0x{bits:016x}ull)");
    match d {
        DType::F16 => format!("half_of_bits(0x{:04x}u)", low as u16),
        DType::F32 => single(low),
        DType::F64 => double(low),
        DType::C64 => format!("pair({}, {})", single(low), single(high)),
        DType::C128 => format!("pair({}, {})", double(low), double(words[1])),
        DType::Bool => format!("{}", low as u8 != 0),
        _ => format!("({})0x{:x}ull", type_name(d), low & (u64::MAX >> (64 - 8 * d.size()))),
    }
}

impl Printer<'_> {
    fn dtype(&self, r: Reg) -> DType {
        self.kernel.regs[r as usize]
    }

    fn name(&self, r: Reg, lane: usize) -> String {
        if self.uniform[r as usize] { format!("r{r}") } else { format!("r{r}_{lane}") }
    }

    fn word(&self, at: usize) -> String {
        format!("({})a.w[{at}]", self.index)
    }

    fn address(&self, o: usize) -> String {
        format!("(char*)a.w[{}]", self.at.operand(o))
    }

    fn lanes(&self) -> usize {
        self.s.lanes()
    }

    fn is_uniform_load(&self, o: u16) -> bool {
        self.s.access[o as usize] == Access::Uniform
    }

    fn analyse(&mut self) {
        let mut stored = vec![false; self.kernel.operands.len()];
        for (at, i) in self.kernel.instrs.iter().enumerate() {
            match *i {
                Instr::Param { dst, .. } => self.uniform[dst as usize] = true,
                Instr::Load { dst, operand } => {
                    self.uniform[dst as usize] = self.is_uniform_load(operand);
                    self.early[at] = !stored[operand as usize] && !self.is_uniform_load(operand);
                }
                Instr::Store { operand, .. } => stored[operand as usize] = true,
                Instr::Apply { .. } | Instr::Cast { .. } | Instr::Select { .. }
                    if i.sources().all(|r| self.uniform[r as usize]) =>
                {
                    i.results().for_each(|r| self.uniform[r as usize] = true);
                }
                _ => {}
            }
        }
    }

    /// What is the same at every point: parameters, single elements, and what follows from them alone.
    fn before_loop(&mut self) {
        for i in &self.kernel.instrs {
            match *i {
                Instr::Param { dst, param } => {
                    let (d, at) = (self.dtype(dst), self.at.param(param as usize));
                    let t = type_name(d);
                    let value = match self.settled {
                        Some(words) if self.is_for_lanes(dst) => literal(d, &words[at..]),
                        _ => format!("argument<{t}>(a.w + {at})"),
                    };
                    line!(self, "  const {t} r{dst} = {value};");
                }
                Instr::Load { dst, operand } if self.is_uniform_load(operand) => {
                    let t = type_name(self.dtype(dst));
                    line!(self, "  const {t} r{dst} = load<{t}>({});", self.address(operand as usize));
                }
                Instr::Apply { .. } | Instr::Cast { .. } | Instr::Select { .. }
                    if i.results().all(|r| self.uniform[r as usize]) =>
                {
                    self.compute(i, 0, "  ");
                }
                _ => {}
            }
        }
    }

    /// Whether a uniform register goes into what lanes compute alone. What is made of such registers before the loop is
    /// left to the GPU: a compiler might round it otherwise.
    fn is_for_lanes(&self, r: Reg) -> bool {
        let uniform = |i: &Instr| i.results().next().is_some() && i.results().all(|r| self.uniform[r as usize]);
        !self.kernel.instrs.iter().any(|i| uniform(i) && i.sources().any(|s| s == r))
    }

    fn flat(&mut self) {
        let (i, v, u) = (self.index, self.s.v, self.s.u);
        line!(self, "  const {i} tiles = {}, n = {};", self.word(head::TILES), self.word(self.at.extent(0)));
        line!(self, "  for ({i} tile = ({i})blockIdx.x; tile < tiles; tile += ({i})gridDim.x) {{");
        line!(self, "    const {i} x0 = (tile * ({i})blockDim.x * {u} + ({i})threadIdx.x) * {v};");
        for k in 1..u {
            line!(self, "    const {i} x{k} = x{} + ({i})blockDim.x * {v};", k - 1);
        }
        self.guards("n");
        for o in self.walked() {
            for k in 0..u {
                let stride = self.word(self.at.stride(o, 0));
                self.pointer(o, k as usize, &format!("x{k} * {stride}"), None);
            }
        }
        self.body();
        line!(self, "  }}");
    }

    fn rows(&mut self, rank: usize) {
        let (i, v, u) = (self.index, self.s.v, self.s.u);
        let word = |at| self.word(at);
        let (nx, ny) = (word(self.at.extent(rank - 1)), word(self.at.extent(rank - 2)));
        let (tiles, tiles_x, tiles_y) = (word(head::TILES), word(head::TILES_X), word(head::TILES_Y));
        line!(self, "  const {i} tiles = {tiles}, tiles_x = {tiles_x}, tiles_y = {tiles_y}, nx = {nx}, ny = {ny};");
        line!(self, "  for ({i} tile = ({i})blockIdx.x; tile < tiles; tile += ({i})gridDim.x) {{");
        line!(self, "    {i} rest = tile / tiles_x;");
        line!(self, "    const {i} x0 = ((tile - rest * tiles_x) * ({i})blockDim.x + ({i})threadIdx.x) * {v};");
        line!(self, "    const {i} deep = rest / tiles_y;");
        line!(self, "    const {i} y0 = ((rest - deep * tiles_y) * ({i})blockDim.y + ({i})threadIdx.y) * {u};");
        line!(self, "    rest = deep;");
        self.split_index("rest", "d", 0, rank - 2, "    ");
        for l in 0..self.lanes() {
            let (k, j) = (l / v as usize, l % v as usize);
            line!(self, "    const bool in{l} = x0 + {j} < nx && y0 + {k} < ny;");
        }
        for o in self.walked() {
            let mut base = format!("x0 * {}", self.word(self.at.stride(o, rank - 1)));
            for d in 0..rank - 2 {
                let _ = write!(base, " + d{d} * {}", self.word(self.at.stride(o, d)));
            }
            for k in 0..u {
                let step = self.word(self.at.stride(o, rank - 2));
                self.pointer(o, k as usize, &format!("{base} + (y0 + {k}) * {step}"), None);
            }
        }
        self.body();
        line!(self, "  }}");
    }

    /// Splits the flat index in `from` into `name0`, `name1`, ... over the axes `first..first + count`.
    fn split_index(&mut self, from: &str, name: &str, first: usize, count: usize, indent: &str) {
        let i = self.index;
        for d in (0..count).rev() {
            if d == 0 {
                line!(self, "{indent}const {i} {name}0 = {from};");
            } else {
                let n = self.word(self.at.extent(first + d));
                line!(self, "{indent}const {i} {name}{d} = {from} % {n};");
                line!(self, "{indent}{from} /= {n};");
            }
        }
    }

    fn guards(&mut self, end: &str) {
        for l in 0..self.lanes() {
            let (k, j) = (l / self.s.v as usize, l % self.s.v as usize);
            line!(self, "    const bool in{l} = x{k} + {j} < {end};");
        }
    }

    /// Operands read or written lane by lane, and the progression.
    fn walked(&self) -> Vec<usize> {
        let iota = self.kernel.instrs.iter().any(|i| matches!(i, Instr::Iota { .. }));
        let used = |o: usize| {
            self.kernel.instrs.iter().any(
                |i| matches!(*i, Instr::Load { operand, .. } | Instr::Store { operand, .. } if operand as usize == o),
            )
        };
        let arrays = (0..self.kernel.operands.len()).filter(|&o| self.s.access[o] != Access::Uniform && used(o));
        arrays.chain(iota.then_some(self.at.iota())).collect()
    }

    /// The address of operand `o` for lane group `k`: operands of the same strides share their offsets.
    fn pointer(&mut self, o: usize, k: usize, offset: &str, base: Option<String>) {
        if o == self.at.iota() {
            let base = base.map_or(String::new(), |b| format!("{b} + "));
            line!(self, "    const i64 q{o}_{k} = {base}{offset};");
            return;
        }
        let base = base.unwrap_or_else(|| self.address(o));
        let first = self.s.twin[o] as usize;
        if !std::mem::replace(&mut self.offsets[first * self.s.u as usize + k], true) {
            let t = if self.s.forward && !self.s.wide { "u32" } else { self.index };
            line!(self, "    const {t} f{first}_{k} = ({t})({offset});");
        }
        line!(self, "    char* const q{o}_{k} = {base} + f{first}_{k};");
    }

    /// The instructions of one round of lanes: `in0`, `in1`, ... tell which lanes are inside the domain, and if the
    /// last is, all are.
    fn body(&mut self) {
        let instrs = &self.kernel.instrs;
        let early: Vec<usize> = (0..instrs.len()).filter(|&at| self.early[at]).collect();
        line!(self, "    const bool full = in{};", self.lanes() - 1);
        if self.branches_once() {
            return self.body_branching_once(&early);
        }
        self.loads(&early);
        let mut at = 0;
        while at < instrs.len() {
            let i = &instrs[at];
            match *i {
                Instr::Load { operand, .. } => {
                    if !self.early[at] && !self.is_uniform_load(operand) {
                        self.loads(&[at]);
                    }
                }
                Instr::Param { .. } => {}
                Instr::Iota { dst, start, step } => self.iota(dst, start as usize, step as usize, self.lanes()),
                Instr::Store { .. } => {
                    let end = at + instrs[at..].iter().take_while(|i| matches!(i, Instr::Store { .. })).count();
                    self.stores(at..end);
                    at = end;
                    continue;
                }
                Instr::Reduce { target, src } => self.reduce(target as usize, src),
                _ if i.results().all(|r| self.uniform[r as usize]) => {}
                _ => match self.in_lanes(i) {
                    Some(of) => self.compute_lanes(i, of.together),
                    None => (0..self.lanes()).for_each(|l| self.compute(i, l, "    ")),
                },
            }
            at += 1;
        }
    }

    /// The address of a lane, for accesses one by one.
    fn lane_address(&self, o: usize, lane: usize) -> String {
        let (k, j) = (lane / self.s.v as usize, lane % self.s.v as usize);
        let stride = self.word(self.at.stride(o, self.s.rank() - 1));
        if j == 0 { format!("q{o}_{k}") } else { format!("q{o}_{k} + {j} * {stride}") }
    }

    fn loads_of(&self, at: &[usize]) -> Vec<(Reg, usize)> {
        at.iter()
            .filter_map(|&at| match self.kernel.instrs[at] {
                Instr::Load { dst, operand } => Some((dst, operand as usize)),
                _ => None,
            })
            .collect()
    }

    fn loads(&mut self, at: &[usize]) {
        let loads = self.loads_of(at);
        let family = |o: usize| self.s.above[o].0;
        let (shared, loads): (Vec<_>, Vec<_>) =
            loads.iter().partition(|&&(_, o)| loads.iter().any(|&(_, other)| other != o && family(other) == family(o)));
        let mut families: Vec<u8> = shared.iter().map(|&(_, o)| family(o)).collect();
        families.sort_unstable();
        families.dedup();
        for leader in families {
            let members: Vec<(Reg, usize)> = shared.iter().copied().filter(|&(_, o)| family(o) == leader).collect();
            self.shared_rows(leader, &members);
        }
        if loads.is_empty() {
            return;
        }
        for &(r, _) in &loads {
            let names: Vec<String> = (0..self.lanes()).map(|l| self.name(r, l)).collect();
            line!(self, "    {} {};", type_name(self.dtype(r)), names.join(", "));
        }
        line!(self, "    if (full) {{");
        self.whole_loads(&loads, false);
        line!(self, "    }} else {{");
        for &(r, o) in &loads {
            let t = type_name(self.dtype(r));
            for l in 0..self.lanes() {
                let (name, address) = (self.name(r, l), self.lane_address(o, l));
                line!(self, "      {name} = in{l} ? {}({address}) : {t}();", self.loader(o, t));
            }
        }
        line!(self, "    }}");
    }

    /// Loads of lanes that are all inside; `declaring` the registers as well.
    fn whole_loads(&mut self, loads: &[(Reg, usize)], declaring: bool) {
        let (v, u) = (self.s.v as usize, self.s.u as usize);
        let made = |t: &str| if declaring { format!("const {t} ") } else { String::new() };
        for &(r, o) in loads {
            let t = type_name(self.dtype(r));
            if self.s.access[o] == Access::Vector {
                for k in 0..u {
                    line!(self, "      const Lanes<{t}, {v}> l{r}_{k} = Lanes<{t}, {v}>::get(q{o}_{k});");
                }
            } else {
                for l in 0..self.lanes() {
                    let (name, address) = (self.name(r, l), self.lane_address(o, l));
                    line!(self, "      {}{name} = {}({address});", made(t), self.loader(o, t));
                }
            }
        }
        for &(r, _) in loads.iter().filter(|&&(_, o)| self.s.access[o] == Access::Vector) {
            for l in 0..self.lanes() {
                line!(
                    self,
                    "      {}{} = l{r}_{}.at({});",
                    made(type_name(self.dtype(r))),
                    self.name(r, l),
                    l / v,
                    l % v
                );
            }
        }
    }

    /// Loads of operands that are rows of one array: every row is read once for all that need it.
    fn shared_rows(&mut self, leader: u8, members: &[(Reg, usize)]) {
        let (v, u) = (self.s.v as usize, self.s.u as usize);
        let below = |o: usize| self.s.above[o].1 as usize;
        let t = type_name(self.dtype(members[0].0));
        let rows = u + members.iter().map(|&(_, o)| below(o)).max().unwrap_or(0);
        // The operand whose lanes come to a row first: if theirs is outside, so are those of the others.
        let reached = |row: usize, o: usize| row.checked_sub(below(o)).filter(|&k| k < u).map(|k| (k, o));
        let first = |row: usize| members.iter().filter_map(|&(_, o)| reached(row, o)).min();
        let sources: Vec<(usize, usize, usize)> =
            (0..rows).filter_map(|row| first(row).map(|(k, o)| (row, k, o))).collect();
        let name = |row: usize, j: usize| format!("w{leader}_{row}_{j}");
        for &(row, ..) in &sources {
            let names: Vec<String> = (0..v).map(|j| name(row, j)).collect();
            line!(self, "    {t} {};", names.join(", "));
        }
        line!(self, "    if (full) {{");
        for &(row, k, o) in &sources {
            if self.s.access[o] == Access::Vector {
                line!(self, "      const Lanes<{t}, {v}> l{row} = Lanes<{t}, {v}>::get(q{o}_{k});");
                (0..v).for_each(|j| line!(self, "      {} = l{row}.at({j});", name(row, j)));
            } else {
                for j in 0..v {
                    line!(self, "      {} = load<{t}>({});", name(row, j), self.lane_address(o, k * v + j));
                }
            }
        }
        line!(self, "    }} else {{");
        for &(row, k, o) in &sources {
            for j in 0..v {
                let (lane, address) = (k * v + j, self.lane_address(o, k * v + j));
                line!(self, "      {} = in{lane} ? load<{t}>({address}) : {t}();", name(row, j));
            }
        }
        line!(self, "    }}");
        for &(r, o) in members {
            for l in 0..self.lanes() {
                let row = l / v + below(o);
                line!(self, "    const {t} {} = w{leader}_{row}_{};", self.name(r, l), l % v);
            }
        }
    }

    fn loader(&self, o: usize, t: &str) -> String {
        let bytes = if self.s.access[o] == Access::Bytes { "_bytes" } else { "" };
        format!("load{bytes}<{t}>")
    }

    fn stores(&mut self, range: std::ops::Range<usize>) {
        let stores: Vec<(usize, Reg, Reg)> = self.kernel.instrs[range]
            .iter()
            .filter_map(|i| match *i {
                Instr::Store { operand, src, mask } => Some((operand as usize, src, mask)),
                _ => None,
            })
            .collect();
        line!(self, "    if (full) {{");
        for &(o, src, mask) in &stores {
            self.whole_store(o, src, mask);
        }
        line!(self, "    }} else {{");
        for &(o, src, mask) in &stores {
            for l in 0..self.lanes() {
                let text = self.one_store(o, src, mask, l, true);
                line!(self, "{text}");
            }
        }
        line!(self, "    }}");
    }

    /// A store of lanes that are all inside.
    fn whole_store(&mut self, o: usize, src: Reg, mask: Reg) {
        let v = self.s.v as usize;
        if self.s.access[o] == Access::Vector && mask == NO_REG {
            let t = type_name(self.dtype(src));
            for k in 0..self.s.u as usize {
                let sets: Vec<String> = (0..v).map(|j| format!("l.set({j}, {});", self.name(src, k * v + j))).collect();
                line!(self, "      {{ Lanes<{t}, {v}> l; {} l.put(q{o}_{k}, l); }}", sets.join(" "));
            }
        } else {
            for l in 0..self.lanes() {
                let text = self.one_store(o, src, mask, l, false);
                line!(self, "{text}");
            }
        }
    }

    /// The store of one lane, if it is inside where that must be asked.
    fn one_store(&self, o: usize, src: Reg, mask: Reg, l: usize, guard: bool) -> String {
        let bytes = if self.s.access[o] == Access::Bytes { "_bytes" } else { "" };
        let mut when = Vec::new();
        if guard {
            when.push(format!("in{l}"));
        }
        if mask != NO_REG {
            when.push(self.name(mask, l));
        }
        let when = if when.is_empty() { String::new() } else { format!("if ({}) ", when.join(" && ")) };
        let t = type_name(self.dtype(src));
        format!("      {when}store{bytes}<{t}>({}, {});", self.lane_address(o, l), self.name(src, l))
    }

    /// `start + step * i`, computed in the register's type; integers wrap.
    fn iota(&mut self, dst: Reg, start: usize, step: usize, lanes: usize) {
        let (d, o, v) = (self.dtype(dst), self.at.iota(), self.s.v as usize);
        let t = type_name(d);
        let stride = self.word(self.at.stride(o, self.s.rank() - 1));
        for l in 0..lanes {
            let i = format!("(q{o}_{} + {} * {stride})", l / v, l % v);
            let argument = |p: usize| format!("argument<{t}>(a.w + {})", self.at.param(p));
            let (a, b) = (argument(start), argument(step));
            let value = match d {
                DType::Bool => format!("{a} || ({b} && {i} != 0)"),
                DType::F16 => format!("narrow(widen({a}) + (f32){i} * widen({b}))"),
                DType::F32 | DType::F64 => format!("{a} + ({t}){i} * {b}"),
                DType::C64 | DType::C128 => {
                    let real = type_name(d.real());
                    format!("pair({a}.re + ({real}){i} * {b}.re, {a}.im + ({real}){i} * {b}.im)")
                }
                _ => format!("nl_add({a}, nl_multiply({b}, ({t}){i}))"),
            };
            line!(self, "    const {t} {} = {value};", self.name(dst, l));
        }
    }

    fn compute(&mut self, i: &Instr, lane: usize, indent: &str) {
        let n = |r: Reg| self.name(r, lane);
        match *i {
            Instr::Apply { op, dst, src, .. } => {
                let args: Vec<String> = src.iter().filter(|&&r| r != NO_REG).map(|&r| n(r)).collect();
                let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
                if op.nout() == 1 {
                    line!(self, "{indent}const {} {} = {};", type_name(self.dtype(dst[0])), n(dst[0]), call(op, &args));
                    return;
                }
                // A result nobody wants still needs a place to go.
                let outs: Vec<(DType, String)> = op.loops()[match *i {
                    Instr::Apply { lp, .. } => lp as usize,
                    _ => 0,
                }]
                .outs()
                .iter()
                .zip(dst)
                .enumerate()
                .map(|(k, (&d, r))| {
                    let other = dst[1 - k];
                    (d, if r == NO_REG { format!("{}_unused", n(other)) } else { n(r) })
                })
                .collect();
                for (d, name) in &outs {
                    line!(self, "{indent}{} {name};", type_name(*d));
                }
                args.extend(outs.iter().map(|(_, name)| name.as_str()));
                line!(self, "{indent}{};", call(op, &args));
            }
            Instr::Cast { dst, src } => {
                let value = cast_expression(self.dtype(src), self.dtype(dst), &n(src));
                line!(self, "{indent}const {} {} = {value};", type_name(self.dtype(dst)), n(dst));
            }
            Instr::Select { dst, mask, yes, no } => {
                let t = type_name(self.dtype(dst));
                line!(self, "{indent}const {t} {} = {} ? {} : {};", n(dst), n(mask), n(yes), n(no));
            }
            _ => {}
        }
    }

    /// How lanes go through an instruction, if not one by one.
    fn in_lanes(&self, i: &Instr) -> Option<InLanes> {
        if self.lanes() > 1 { instr_in_lanes(self.kernel, i) } else { None }
    }

    fn compute_lanes(&mut self, i: &Instr, function: &str) {
        let Some(dst) = i.results().next() else { return };
        let names: Vec<String> = (0..self.lanes()).map(|l| self.name(dst, l)).collect();
        line!(self, "    f32 {};", names.join(", "));
        let sources: Vec<Reg> = i.sources().collect();
        for (first, group) in names.chunks(LANES_AT_ONCE).enumerate() {
            let n = group.len();
            let mut given = String::new();
            for (k, &r) in sources.iter().enumerate() {
                let lanes: Vec<String> = (0..n).map(|l| self.name(r, first * LANES_AT_ONCE + l)).collect();
                let _ = write!(given, "const f32 x{k}[{n}] = {{{}}}; ", lanes.join(", "));
            }
            let args: Vec<String> = (0..sources.len()).map(|k| format!("x{k}, ")).collect();
            let taken: Vec<String> = group.iter().enumerate().map(|(l, name)| format!("{name} = y[{l}];")).collect();
            line!(self, "    {{ {given}f32 y[{n}]; {function}<{n}>({}y); {} }}", args.concat(), taken.join(" "));
        }
    }
}
