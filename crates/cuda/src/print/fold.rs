//! Folds: lanes, threads and blocks that share a result, and its end.

use super::Printer;
use crate::scalar::{accumulator, call, cast_expression, neutral, type_name};
use crate::structure::{Order, Walk, head};
use numloom_ir::kernel::Reg;
use std::fmt::Write;

impl Printer<'_> {
    /// Accumulators of a target: several break the chain of dependent additions.
    fn accumulators(&self) -> usize {
        match (self.s.walk, self.kernel.targets.len()) {
            (Walk::Fold { order: Order::InOrder, .. }, _) => 1,
            (_, 0..=2) => self.lanes().min(4),
            _ => self.lanes().min(2),
        }
    }

    fn combined(&self, t: usize, a: &str, b: &str) -> String {
        call(self.kernel.targets[t].op, &[a, b])
    }

    pub(super) fn reduce(&mut self, t: usize, src: Reg) {
        let acc = accumulator(&self.kernel.targets[t]);
        let value = |p: &Self, l: usize| cast_expression(p.dtype(src), acc, &p.name(src, l));
        if neutral(&self.kernel.targets[t]).is_none() {
            let next = self.combined(t, &format!("s{t}_0"), "next");
            line!(self, "    if (in0) {{");
            line!(self, "      const {} next = {};", type_name(acc), value(self, 0));
            line!(self, "      s{t}_0 = some{t} ? {next} : next;");
            line!(self, "      some{t} = true;");
            line!(self, "    }}");
            return;
        }
        for guard in [false, true] {
            line!(self, "    {}", if guard { "} else {" } else { "if (full) {" });
            for l in 0..self.lanes() {
                let s = format!("s{t}_{}", l % self.accumulators());
                let next = self.combined(t, &s, &value(self, l));
                let when = if guard { format!("if (in{l}) ") } else { String::new() };
                line!(self, "      {when}{s} = {next};");
            }
        }
        line!(self, "    }}");
    }

    pub(super) fn fold(&mut self, order: Order, kept: usize, away: usize, split: bool) {
        let (i, v, u) = (self.index, self.s.v as usize, self.s.u as usize);
        let targets = self.kernel.targets.len();
        line!(self, "  __shared__ u64 room[512];");
        if split {
            line!(self, "  __shared__ int is_last;");
        }
        line!(self, "  const int lanes = (int)a.w[{}], columns = (int)blockDim.x / lanes;", head::LANES);
        if order == Order::Along {
            line!(self, "  const int column = (int)threadIdx.x / lanes, lane = (int)threadIdx.x & (lanes - 1);");
        } else {
            line!(self, "  const int column = (int)threadIdx.x & (columns - 1), lane = (int)threadIdx.x / columns;");
        }
        if split {
            line!(self, "  const {i} splits = {}, group = ({i})blockIdx.x / splits;", self.word(head::SPLITS));
            line!(self, "  const {i} part = ({i})blockIdx.x - group * splits;");
        } else {
            line!(self, "  const {i} group = ({i})blockIdx.x, part = 0;");
        }
        line!(self, "  const {i} result = group * columns + column;");
        line!(self, "  const bool mine = result < {};", self.word(head::KEPT));
        line!(self, "  const {i} chunk = {}, whole = {};", self.word(head::CHUNK), self.word(head::AWAY));
        line!(self, "  const {i} end = part * chunk + chunk < whole ? part * chunk + chunk : whole;");
        for t in 0..targets {
            let target = &self.kernel.targets[t];
            let name = type_name(accumulator(target));
            let start = neutral(target).unwrap_or_else(|| format!("{name}()"));
            if neutral(target).is_none() {
                line!(self, "  bool some{t} = false;");
            }
            for k in 0..self.accumulators() {
                line!(self, "  {name} s{t}_{k} = {start};");
            }
        }
        line!(self, "  {i} place = result;");
        self.split_index("place", "k", 0, kept, "  ");
        for o in self.walked() {
            let mut base = if o == self.at.iota() { "0".to_string() } else { self.address(o) };
            for d in 0..kept {
                let _ = write!(base, " + k{d} * {}", self.word(self.at.stride(o, d)));
            }
            let t = if o == self.at.iota() { "i64" } else { "char*" };
            line!(self, "  {t} const b{o} = {base};");
        }
        line!(self, "  if (mine) for ({i} x0 = part * chunk + lane * {v}; x0 < end; x0 += lanes * {}) {{", v * u);
        for k in 1..u {
            line!(self, "    const {i} x{k} = x{} + lanes * {v};", k - 1);
        }
        self.guards("end");
        if away > 1 {
            for k in 0..u {
                line!(self, "    {i} flat{k} = x{k};");
                self.split_index(&format!("flat{k}"), &format!("e{k}_"), kept, away, "    ");
            }
        }
        for o in self.walked() {
            for k in 0..u {
                let offset = if away == 1 {
                    format!("x{k} * {}", self.word(self.at.stride(o, kept)))
                } else {
                    let terms: Vec<String> =
                        (0..away).map(|d| format!("e{k}_{d} * {}", self.word(self.at.stride(o, kept + d)))).collect();
                    terms.join(" + ")
                };
                self.pointer(o, k, &offset, Some(format!("b{o}")));
            }
        }
        self.body();
        line!(self, "  }}");
        for t in 0..targets {
            // In pairs, as the rest of the fold.
            let mut width = self.accumulators();
            while width > 1 {
                width /= 2;
                for k in 0..width {
                    let joined = self.combined(t, &format!("s{t}_{k}"), &format!("s{t}_{}", k + width));
                    line!(self, "  s{t}_{k} = {joined};");
                }
            }
        }
        self.join_threads(order);
        if split {
            self.join_blocks(order);
        }
        line!(self, "  if (!mine || lane != 0) return;");
        self.finish(kept);
    }

    fn join_threads(&mut self, order: Order) {
        if order == Order::InOrder {
            return;
        }
        for t in 0..self.kernel.targets.len() {
            let name = type_name(accumulator(&self.kernel.targets[t]));
            let joined = self.combined(t, "x", "y");
            let (f, width) =
                if order == Order::Along { ("fold_neighbours", "lanes") } else { ("fold_rows", "columns") };
            line!(
                self,
                "  s{t}_0 = {f}<{name}>(s{t}_0, {width}, room, []({name} x, {name} y) {{ return {joined}; }});"
            );
        }
    }

    /// Partial values go to memory; the block that is last of its group folds them, in the order of the blocks.
    fn join_blocks(&mut self, order: Order) {
        let i = self.index;
        let widths: Vec<usize> = self.kernel.targets.iter().map(|t| accumulator(t).size().div_ceil(8)).collect();
        let all: usize = widths.iter().sum();
        line!(self, "  u64* const partials = (u64*)a.w[{}] + (i64)group * splits * columns * {all};", head::PARTIALS);
        line!(self, "  if (mine && lane == 0) {{");
        line!(self, "    u64* const here = partials + ((i64)part * columns + column) * {all};");
        let mut at = 0;
        for (t, w) in widths.iter().enumerate() {
            line!(self, "    poke(here + {at}, s{t}_0);");
            at += w;
        }
        line!(self, "    __threadfence();");
        line!(self, "  }}");
        line!(self, "  __syncthreads();");
        line!(self, "  if (threadIdx.x == 0) {{");
        line!(self, "    u32* const counter = (u32*)a.w[{}] + group;", head::COUNTERS);
        line!(self, "    is_last = atomicAdd(counter, 1u) == (u32)splits - 1;");
        line!(self, "    if (is_last) *counter = 0;");
        line!(self, "  }}");
        line!(self, "  __syncthreads();");
        line!(self, "  if (!is_last) return;");
        line!(self, "  __threadfence();");
        for t in 0..self.kernel.targets.len() {
            line!(self, "  s{t}_0 = {};", neutral(&self.kernel.targets[t]).unwrap_or_default());
        }
        line!(self, "  if (mine) for ({i} p = lane; p < splits; p += lanes) {{");
        line!(self, "    const u64* const there = partials + ((i64)p * columns + column) * {all};");
        let mut at = 0;
        for (t, w) in widths.iter().enumerate() {
            let name = type_name(accumulator(&self.kernel.targets[t]));
            let joined = self.combined(t, &format!("s{t}_0"), &format!("peek<{name}>(there + {at})"));
            line!(self, "    s{t}_0 = {joined};");
            at += w;
        }
        line!(self, "  }}");
        self.join_threads(order);
    }

    /// Folds the initial value in, rounds to the target's type, casts to the output's and writes.
    fn finish(&mut self, kept: usize) {
        for t in 0..self.kernel.targets.len() {
            let target = &self.kernel.targets[t];
            let (acc, own, (to, initial)) = (accumulator(target), target.dtype(), self.s.outputs[t]);
            let (an, on, tn) = (type_name(acc), type_name(own), type_name(to));
            line!(self, "  {{");
            line!(self, "    {an} total = s{t}_0;");
            if initial {
                line!(self, "    const {on} first = argument<{on}>(a.w + {});", self.at.initial(t));
                line!(self, "    const {an} start = {};", cast_expression(own, acc, "first"));
                let joined = self.combined(t, "start", "total");
                // Of nothing the result is the initial value itself, which the operation might change.
                line!(self, "    total = whole != 0 ? {joined} : start;");
            }
            line!(self, "    const {on} value = {};", cast_expression(acc, own, "total"));
            let mut address = format!("(char*)a.w[{}]", self.at.output(t));
            for d in 0..kept {
                let _ = write!(address, " + k{d} * {}", self.word(self.at.output_stride(t, d)));
            }
            line!(self, "    store_bytes<{tn}>({address}, {});", cast_expression(own, to, "value"));
            line!(self, "  }}");
        }
    }
}
