//! Statistics of a profile: per kind of task, per line, per lane, per memory.

use crate::kinds::{Doing, Lane};
use crate::read::Profile;
use rustc_hash::FxHashMap;

/// Count, total, mean, smallest, largest and deviation of durations, in ns.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    pub count: u64,
    pub total: u64,
    pub min: u64,
    pub max: u64,
    /// For the deviation: the sum of squared distances from the mean so far.
    mean: f64,
    spread: f64,
}

impl Default for Summary {
    fn default() -> Summary {
        Summary { count: 0, total: 0, min: u64::MAX, max: 0, mean: 0.0, spread: 0.0 }
    }
}

impl Summary {
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let off = value as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.spread += off * (value as f64 - self.mean);
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.spread / self.count as f64).sqrt() }
    }
}

/// What a line of the program stands for.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineUse {
    pub tasks: Summary,
    /// Time on processors, shared out among the operations of fused tasks.
    pub busy: f64,
    pub operations: u64,
    pub small: u64,
    /// Time the program waited there.
    pub waited: u64,
    pub bytes: u64,
}

/// A lane over the run.
#[derive(Clone, Debug)]
pub struct LaneUse {
    pub lane: Lane,
    pub processors: usize,
    pub spans: u64,
    pub busy: u64,
    /// Of all the time its processors had.
    pub utilisation: f64,
}

#[derive(Clone, Debug)]
pub struct MemoryUse {
    pub name: String,
    pub capacity: u64,
    pub peak: u64,
    pub allocated: u64,
    pub instances: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Length of the run.
    pub length: u64,
    pub kinds: Vec<(String, Summary)>,
    /// By line number in the profile, most time first.
    pub lines: Vec<(u32, LineUse)>,
    pub lanes: Vec<LaneUse>,
    pub doing: Vec<(Doing, Summary)>,
    pub memories: Vec<MemoryUse>,
    pub copied: Vec<(String, u64, u64, u64)>,
    pub critical: u64,
    /// Page faults, those that were read from disk, and the ns that one takes.
    pub faults: Option<(u64, u64, u64)>,
}

pub fn stats(p: &Profile) -> Stats {
    let length = p.length();
    let (lanes, doing, on_processors) = lanes(p, length);
    let mut out = Stats {
        length,
        kinds: kinds(p),
        lines: lines(p, &on_processors),
        lanes,
        doing,
        memories: memories(p),
        copied: copied(p),
        critical: critical_path(p).0,
        faults: faults(p),
    };
    out.kinds.sort_by_key(|(name, s)| (std::cmp::Reverse(s.total), name.clone()));
    out
}

fn kinds(p: &Profile) -> Vec<(String, Summary)> {
    let mut by: Vec<Summary> = Vec::new();
    let tasks = &p.tables.tasks;
    for (&name, &ran) in tasks.name.iter().zip(&tasks.ran) {
        if by.len() <= name as usize {
            // A damaged number names no string and needs no room.
            if name as usize > p.tables.strings.text.len() {
                continue;
            }
            by.resize(name as usize + 1, Summary::default());
        }
        by[name as usize].add(ran);
    }
    let named = by.into_iter().enumerate().filter(|(_, s)| s.count > 0);
    named.map(|(name, s)| (p.string(name as u32).to_string(), s)).collect()
}

/// Which row of `TASKS` has an id. Ids are dense, but for what a killed process left out.
pub struct TaskRows {
    first: u32,
    rows: Vec<u32>,
}

impl TaskRows {
    pub fn new(p: &Profile) -> TaskRows {
        let ids = &p.tables.tasks.id;
        let first = ids.iter().copied().min().unwrap_or(0);
        let last = ids.iter().copied().max().unwrap_or(0);
        // Ids of a damaged file may lie far apart.
        let span = (last - first) as usize + 1;
        let room = if span <= ids.len().saturating_mul(16) + 1024 { span } else { 0 };
        let mut rows = vec![u32::MAX; room];
        for (row, &id) in ids.iter().enumerate() {
            if let Some(r) = rows.get_mut((id - first) as usize) {
                *r = row as u32;
            }
        }
        TaskRows { first, rows }
    }

    pub fn of(&self, id: u32) -> Option<usize> {
        let row = *self.rows.get(id.checked_sub(self.first)? as usize)?;
        (row != u32::MAX).then_some(row as usize)
    }
}

fn lines(p: &Profile, on_processors: &FxHashMap<u32, u64>) -> Vec<(u32, LineUse)> {
    let t = &p.tables;
    let rows = TaskRows::new(p);
    let mut by: Vec<LineUse> = vec![LineUse::default(); t.lines.line.len() + 1];
    let line_of = |line: u32| if (line as usize) <= t.lines.line.len() { line as usize } else { 0 };
    // Fused tasks belong to several lines: each gets a share by its operations.
    let mut shares: Vec<u32> = vec![0; t.tasks.id.len()];
    for &task in &t.operations.task {
        if let Some(row) = rows.of(task) {
            shares[row] += 1;
        }
    }
    for (k, &task) in t.operations.task.iter().enumerate() {
        let of = &mut by[line_of(t.operations.line[k])];
        of.operations += t.operations.times[k] as u64;
        if let Some(row) = rows.of(task) {
            let share = shares[row].max(1) as f64;
            of.busy += on_processors.get(&task).map_or(t.tasks.ran[row], |b| *b) as f64 / share;
            of.bytes += ((t.tasks.read[row].saturating_add(t.tasks.written[row])) as f64 / share) as u64;
        }
    }
    for (row, &line) in t.tasks.line.iter().enumerate() {
        by[line_of(line)].tasks.add(t.tasks.ran[row]);
    }
    for (k, &line) in t.small.line.iter().enumerate() {
        by[line_of(line)].small += t.small.count[k];
    }
    for (k, &kind) in t.spans.kind.iter().enumerate() {
        if kind == Doing::Sync as u8 || kind == Doing::Fallback as u8 {
            by[line_of(t.spans.line[k])].waited += t.spans.ran[k];
        }
    }
    let used = |u: &LineUse| u.operations + u.small + u.waited > 0 || u.tasks.count > 0;
    let mut out: Vec<(u32, LineUse)> =
        by.into_iter().enumerate().filter(|(_, u)| used(u)).map(|(k, u)| (k as u32, u)).collect();
    out.sort_by(|(a, x), (b, y)| (y.busy + y.waited as f64).total_cmp(&(x.busy + x.waited as f64)).then(a.cmp(b)));
    out
}

/// The lanes, what their time went to, and each task's time on processors.
fn lanes(p: &Profile, length: u64) -> (Vec<LaneUse>, Vec<(Doing, Summary)>, FxHashMap<u32, u64>) {
    let (spans, processors) = (&p.tables.spans, &p.tables.processors);
    let mut lane_of: Vec<Option<Lane>> = Vec::new();
    for (&id, &kind) in processors.id.iter().zip(&processors.kind) {
        if id <= u16::MAX as u32 {
            lane_of.resize(lane_of.len().max(id as usize + 1), None);
            lane_of[id as usize] = Lane::of(kind);
        }
    }
    let mut busy = vec![(0u64, 0u64); Lane::ALL.len()];
    let mut doing: Vec<Summary> = vec![Summary::default(); 256];
    let waits: [bool; 256] = std::array::from_fn(|kind| Doing::of(kind as u8).is_some_and(Doing::waits));
    let mut tasks: FxHashMap<u32, u64> = FxHashMap::default();
    // A task that one span is all of needs no entry of its own.
    let mut before = (0u32, 0u64);
    for k in 0..spans.kind.len() {
        let (kind, ran) = (spans.kind[k], spans.ran[k]);
        doing[kind as usize].add(ran);
        if let Some(Some(lane)) = lane_of.get(spans.processor[k] as usize) {
            let (count, total) = &mut busy[*lane as usize];
            *count += 1;
            *total = total.saturating_add(if waits[kind as usize] { 0 } else { ran });
        }
        if kind == Doing::Task as u8 {
            if before.0 == spans.subject[k] {
                before.1 = before.1.saturating_add(ran);
            } else {
                *tasks.entry(before.0).or_default() += before.1;
                before = (spans.subject[k], ran);
            }
        }
    }
    *tasks.entry(before.0).or_default() += before.1;
    let lanes = Lane::ALL.iter().filter_map(|&lane| {
        let processors = lane_of.iter().filter(|l| **l == Some(lane)).count();
        let (spans, total) = busy[lane as usize];
        let had = (length as f64 * processors as f64).max(1.0);
        (processors > 0).then_some(LaneUse { lane, processors, spans, busy: total, utilisation: total as f64 / had })
    });
    let doing = Doing::ALL.iter().map(|&d| (d, doing[d as usize])).filter(|(_, s)| s.count > 0);
    (lanes.collect(), doing.collect(), tasks)
}

fn faults(p: &Profile) -> Option<(u64, u64, u64)> {
    let c = &p.tables.counters;
    let last = |name: &str| (0..c.name.len()).rev().find(|&k| p.string(c.name[k]) == name).map(|k| c.value[k]);
    let ns = p.meta("fault_ns").and_then(|ns| ns.parse().ok())?;
    Some((last("page_faults")?, last("page_faults_from_disk")?, ns))
}

fn memories(p: &Profile) -> Vec<MemoryUse> {
    let t = &p.tables;
    let mut out = Vec::new();
    for (k, &id) in t.memories.id.iter().enumerate() {
        let here = |m: u8| m as u32 == id;
        let levels = (0..t.levels.memory.len()).filter(|&l| here(t.levels.memory[l]));
        let peak = levels.map(|l| t.levels.bytes[l].max(t.levels.peak[l])).max().unwrap_or(0);
        let mine = (0..t.instances.id.len()).filter(|&i| here(t.instances.memory[i]));
        let (instances, allocated) = mine.fold((0, 0u64), |(n, b), i| (n + 1, b.saturating_add(t.instances.bytes[i])));
        let name = p.string(t.memories.name[k]).to_string();
        out.push(MemoryUse { name, capacity: t.memories.capacity[k], peak, allocated, instances });
    }
    out
}

/// From where to where, copies, bytes and time.
fn copied(p: &Profile) -> Vec<(String, u64, u64, u64)> {
    let (c, m) = (&p.tables.copies, &p.tables.memories);
    let name = |id: u8| {
        let row = m.id.iter().position(|&i| i == id as u32);
        row.map_or_else(|| format!("memory {id}"), |k| p.string(m.name[k]).to_string())
    };
    let mut by: FxHashMap<(u8, u8), (u64, u64, u64)> = FxHashMap::default();
    for k in 0..c.from.len() {
        let of = by.entry((c.from[k], c.to[k])).or_default();
        *of = (of.0 + 1, of.1.saturating_add(c.bytes[k]), of.2.saturating_add(c.ran[k]));
    }
    let mut out: Vec<_> =
        by.into_iter().map(|((a, b), (n, bytes, ran))| (format!("{} → {}", name(a), name(b)), n, bytes, ran)).collect();
    out.sort();
    out
}

/// The longest run of tasks each of which had to wait for the one before: its time, and the tasks' rows in order.
pub fn critical_path(p: &Profile) -> (u64, Vec<usize>) {
    let t = &p.tables;
    let rows = TaskRows::new(p);
    let n = t.tasks.id.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    let started =
        |row: usize| t.tasks.created[row].saturating_add(t.tasks.blocked[row]).saturating_add(t.tasks.queued[row]);
    order.sort_by_key(|&row| started(row as usize));
    // Edges by task, as runs of one list.
    let mut begins = vec![0u32; n + 1];
    for &task in &t.edges.task {
        if let Some(row) = rows.of(task) {
            begins[row + 1] += 1;
        }
    }
    for k in 0..n {
        begins[k + 1] += begins[k];
    }
    let mut froms = vec![u32::MAX; t.edges.task.len()];
    let mut fill = begins.clone();
    for (&task, &from) in t.edges.task.iter().zip(&t.edges.from) {
        if let (Some(row), Some(from)) = (rows.of(task), rows.of(from)) {
            froms[fill[row] as usize] = from as u32;
            fill[row] += 1;
        }
    }
    let (mut best, mut through) = (vec![0u64; n], vec![u32::MAX; n]);
    for &row in &order {
        let row = row as usize;
        let mut longest = 0;
        for &from in &froms[begins[row] as usize..begins[row + 1] as usize] {
            // Only edges that point back in time can lengthen a path.
            if from != u32::MAX
                && started(from as usize).saturating_add(t.tasks.ran[from as usize]) <= started(row)
                && best[from as usize] > longest
            {
                longest = best[from as usize];
                through[row] = from;
            }
        }
        best[row] = longest.saturating_add(t.tasks.ran[row]);
    }
    let Some(last) = (0..n).max_by_key(|&row| best[row]) else { return (0, Vec::new()) };
    let mut path = vec![last];
    while let Some(&row) = path.last()
        && through[row] != u32::MAX
    {
        path.push(through[row] as usize);
    }
    path.reverse();
    (best[last], path)
}
