//! Kernels whose lanes branch once: all lanes of a thread go the usual way together, and start again one by one where
//! any of them found something unusual.

use super::Printer;
use crate::scalar::{branches_once, type_name};
use crate::structure::Walk;
use numloom_ir::kernel::{Instr, Reg};
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn branches_once(&self) -> bool {
        // With parameters to fetch on either way the compiler makes less of it than of branches.
        self.settled.is_some() && self.s.walk == Walk::Flat && self.lanes() > 1 && branches_once(self.kernel)
    }

    /// The same where all lanes are inside and none has anything unusual; otherwise lane by lane, from the start: nothing
    /// is written before that is known.
    pub(super) fn body_branching_once(&mut self, early: &[usize]) {
        let instrs = &self.kernel.instrs;
        line!(self, "    if (full) {{");
        line!(self, "      Usual usual;");
        let loads = self.loads_of(early);
        self.whole_loads(&loads, true);
        let first = instrs.iter().position(|i| matches!(i, Instr::Store { .. })).unwrap_or(instrs.len());
        for (at, i) in instrs.iter().enumerate() {
            if at == first {
                line!(self, "      if (usual.all()) {{");
            }
            match *i {
                Instr::Load { operand, .. } => {
                    if !self.early[at] && !self.is_uniform_load(operand) {
                        let loads = self.loads_of(&[at]);
                        self.whole_loads(&loads, true);
                    }
                }
                Instr::Param { .. } | Instr::Reduce { .. } => {}
                Instr::Iota { dst, start, step } => self.iota(dst, start as usize, step as usize, self.lanes()),
                Instr::Store { operand, src, mask } => self.whole_store(operand as usize, src, mask),
                _ if i.results().all(|r| self.uniform[r as usize]) => {}
                _ => match self.in_lanes(i) {
                    Some(of) => self.compute_plainly(i, of.plain),
                    None => (0..self.lanes()).for_each(|l| self.compute(i, l, "      ")),
                },
            }
        }
        if first == instrs.len() {
            line!(self, "      if (usual.all()) {{");
        }
        line!(self, "        continue;");
        line!(self, "      }}");
        line!(self, "    }}");
        for k in 0..self.s.u {
            line!(self, "    #pragma unroll 1");
            line!(self, "    for ({} x = x{k}; x < x{k} + {} && x < n; x++) {{", self.index, self.s.v);
            self.offsets.fill(false);
            for o in self.walked() {
                let stride = self.word(self.at.stride(o, 0));
                self.pointer(o, 0, &format!("x * {stride}"), None);
            }
            let (early, later): (Vec<usize>, Vec<usize>) = (0..instrs.len()).partition(|&at| self.early[at]);
            early.into_iter().chain(later).for_each(|at| self.alone(&instrs[at]));
            line!(self, "    }}");
        }
    }

    /// An instruction for one lane, the first.
    fn alone(&mut self, i: &Instr) {
        match *i {
            Instr::Load { dst, operand } if !self.is_uniform_load(operand) => {
                let (t, o) = (type_name(self.dtype(dst)), operand as usize);
                line!(
                    self,
                    "      const {t} {} = {}({});",
                    self.name(dst, 0),
                    self.loader(o, t),
                    self.lane_address(o, 0)
                );
            }
            Instr::Load { .. } | Instr::Param { .. } | Instr::Reduce { .. } => {}
            Instr::Iota { dst, start, step } => self.iota(dst, start as usize, step as usize, 1),
            Instr::Store { operand, src, mask } => {
                let text = self.one_store(operand as usize, src, mask, 0, false);
                line!(self, "{text}");
            }
            _ if i.results().all(|r| self.uniform[r as usize]) => {}
            _ => self.compute(i, 0, "      "),
        }
    }

    /// Every lane by a function that only notes what is unusual.
    fn compute_plainly(&mut self, i: &Instr, function: &str) {
        let (Some(dst), sources) = (i.results().next(), i.sources().collect::<Vec<Reg>>()) else { return };
        let mut function = function;
        if let [a, _] = sources[..]
            && self.uniform[a as usize]
        {
            line!(self, "      usual.windows &= is_plain_dividend(r{a});");
            function = "plain_share";
        }
        for l in 0..self.lanes() {
            let args: Vec<String> = sources.iter().map(|&r| self.name(r, l)).collect();
            line!(self, "      const f32 {} = {function}({}, usual);", self.name(dst, l), args.join(", "));
        }
    }
}
