//! What rules look at: sums by line, and the loops that lines stand in.

use crate::kinds::{Doing, Lane, Use};
use crate::read::Profile;
use crate::stats::TaskRows;
use rustc_hash::FxHashMap;

/// Sums of one line.
#[derive(Clone, Copy, Default)]
pub struct Sums {
    pub count: u64,
    pub ns: u64,
    pub bytes: u64,
    pub first: u64,
    pub last: u64,
}

impl Sums {
    pub fn add(&mut self, count: u64, ns: u64, bytes: u64, from: u64, to: u64) {
        self.first = if self.count == 0 { from } else { self.first.min(from) };
        self.last = self.last.max(to);
        self.count += count;
        self.ns = self.ns.saturating_add(ns);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

pub struct Facts<'a> {
    pub p: &'a Profile,
    pub rows: TaskRows,
    pub length: u64,
    pub cpus: usize,
    /// Busy time of CPU processors, by number.
    pub busy: FxHashMap<u16, u64>,
}

impl<'a> Facts<'a> {
    pub fn new(p: &'a Profile) -> Facts<'a> {
        let t = &p.tables;
        let cpu: Vec<u16> = t
            .processors
            .id
            .iter()
            .zip(&t.processors.kind)
            .filter(|(_, k)| **k == Lane::Cpu as u8)
            .map(|(id, _)| *id as u16)
            .collect();
        let mut busy: FxHashMap<u16, u64> = cpu.iter().map(|&id| (id, 0)).collect();
        for (k, processor) in t.spans.processor.iter().enumerate() {
            if let Some(b) = busy.get_mut(processor) {
                *b = b.saturating_add(t.spans.ran[k]);
            }
        }
        let cpus = p.meta("cpus").and_then(|c| c.parse().ok()).unwrap_or(cpu.len()).max(1);
        Facts { p, rows: TaskRows::new(p), length: p.length().max(1), cpus, busy }
    }

    /// When a task started.
    pub fn started(&self, row: usize) -> u64 {
        let t = &self.p.tables.tasks;
        t.created[row].saturating_add(t.blocked[row]).saturating_add(t.queued[row])
    }

    /// Uses of one kind, by line.
    pub fn uses(&self, kind: Use) -> Vec<(u32, Sums)> {
        let u = &self.p.tables.uses;
        by_line((0..u.kind.len()).filter(|&k| u.kind[k] == kind as u8).map(|k| {
            let one = Sums { count: u.count[k], bytes: u.bytes[k], first: u.time[k], last: u.time[k], ns: 0 };
            (u.line[k], one)
        }))
    }

    /// Spans of one kind, by line.
    pub fn spans(&self, doing: Doing) -> Vec<(u32, Sums)> {
        let s = &self.p.tables.spans;
        by_line((0..s.kind.len()).filter(|&k| s.kind[k] == doing as u8).map(|k| {
            let last = s.started[k].saturating_add(s.ran[k]);
            (s.line[k], Sums { count: 1, ns: s.ran[k], bytes: 0, first: s.started[k], last })
        }))
    }

    /// The operations for which `choose` answers true, by line; their time is their share of their tasks'.
    pub fn operations(&self, choose: impl Fn(usize) -> bool) -> Vec<(u32, Sums)> {
        let (o, t) = (&self.p.tables.operations, &self.p.tables.tasks);
        by_line((0..o.task.len()).filter(|&k| choose(k)).map(|k| {
            let mut one = Sums { count: o.times[k] as u64, ..Sums::default() };
            if let Some(row) = self.rows.of(o.task[k]) {
                let share = t.operations[row].max(1) as u64;
                let part = |whole: u64| whole / share * o.times[k].max(1) as u64;
                one.ns = part(t.ran[row]);
                one.bytes = part(t.read[row].saturating_add(t.written[row]));
                one.first = self.started(row);
                one.last = one.first.saturating_add(t.ran[row]);
            }
            (o.line[k], one)
        }))
    }

    /// The number of the loop around a line, if that is a line of the profile.
    pub fn loop_of(&self, line: u32) -> u32 {
        let lines = &self.p.tables.lines;
        let Some(of) = line.checked_sub(1).map(|n| n as usize).filter(|&n| n < lines.line.len()) else { return 0 };
        let Some((number, _)) = loop_text(self.p, line) else { return 0 };
        let here = (0..lines.line.len()).find(|&k| lines.file[k] == lines.file[of] && lines.line[k] == number);
        here.map_or(0, |k| k as u32 + 1)
    }

    /// Tells loops apart: the file and the number of the line that begins the one around a line.
    pub fn loop_key(&self, line: u32) -> Option<(u32, u32)> {
        let lines = &self.p.tables.lines;
        let of = line.checked_sub(1).map(|n| n as usize).filter(|&n| n < lines.line.len())?;
        loop_text(self.p, line).map(|(number, _)| (lines.file[of], number))
    }

    pub fn seconds(&self, ns: u64) -> f64 {
        ns as f64 * self.p.tick() / 1e9
    }

    /// Whether so much time is worth a word: a hundredth of the run, and two milliseconds.
    pub fn matters(&self, ns: u64) -> bool {
        ns >= self.length / 100 && self.seconds(ns) >= 0.002
    }
}

fn by_line(all: impl Iterator<Item = (u32, Sums)>) -> Vec<(u32, Sums)> {
    let mut by: FxHashMap<u32, Sums> = FxHashMap::default();
    for (line, s) in all {
        by.entry(line).or_default().add(s.count, s.ns, s.bytes, s.first, s.last);
    }
    let mut out: Vec<(u32, Sums)> = by.into_iter().collect();
    out.sort_by_key(|&(line, s)| (std::cmp::Reverse(s.ns), std::cmp::Reverse(s.count), line));
    out
}

fn indent(line: &str) -> Option<usize> {
    let text = line.trim_start();
    (!text.is_empty() && !text.starts_with('#')).then(|| line.len() - text.len())
}

/// The innermost `for` or `while` around a line: its number and text.
pub fn loop_text(p: &Profile, line: u32) -> Option<(u32, &str)> {
    let lines = &p.tables.lines;
    let of = line.checked_sub(1).map(|n| n as usize).filter(|&n| n < lines.line.len())?;
    let source: Vec<&str> = p.source(lines.file[of])?.lines().collect();
    let at = (lines.line[of] as usize).checked_sub(1)?;
    let own = source.get(at)?;
    if let Some(inner) = comprehension(own) {
        return Some((at as u32 + 1, inner));
    }
    let mut depth = indent(own)?;
    for (number, text) in source[..at].iter().enumerate().rev() {
        let Some(here) = indent(text).filter(|&here| here < depth) else { continue };
        depth = here;
        let text = text.trim();
        if text.starts_with("for ") || text.starts_with("while ") || text.starts_with("async for ") {
            return Some((number as u32 + 1, text));
        }
        // A loop around the function's definition is not around its calls.
        if text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ") {
            return None;
        }
    }
    None
}

/// A line that is a loop itself: a comprehension, or a loop's own head.
fn comprehension(line: &str) -> Option<&str> {
    let text = line.trim();
    let inner = text.contains(" for ") && text.contains(" in ") && text.contains(['[', '(', '{']);
    (inner || text.starts_with("for ") || text.starts_with("while ")).then_some(text)
}
