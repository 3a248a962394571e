//! Rules about where time goes: tasks that are too small, waits, the runtime's and Python's own time.

use super::Found;
use super::facts::{Facts, Sums};
use crate::kinds::{Doing, traits};
use crate::print::duration;
use rustc_hash::{FxHashMap, FxHashSet};

/// Tasks of one loop that are a bar code: so many, each so short (ns).
const MANY_TASKS: u64 = 100;
const SHORT_TASK: u64 = 100_000;
/// The part of a loop's time that longer tasks run in, above which the short ones are not to blame.
const OTHERS: (u64, u64) = (1, 2);

pub fn tiny_tasks(f: &Facts) -> Vec<Found> {
    let t = &f.p.tables.tasks;
    // By the loop they come from; without one, by their line.
    let mut by: FxHashMap<(u32, u32, u32), (Sums, u32, Vec<u64>)> = FxHashMap::default();
    let mut kinds: FxHashMap<(u32, u32), Vec<u64>> = FxHashMap::default();
    for row in 0..t.id.len() {
        let line = t.line[row];
        if line == 0 {
            continue;
        }
        let key = f.loop_key(line).map_or((0, 0, line), |(file, number)| (file, number, 0));
        let (sums, first, all) = by.entry(key).or_insert((Sums::default(), line, Vec::new()));
        let from = f.started(row);
        sums.add(1, t.ran[row], 0, from, from.saturating_add(t.ran[row]));
        *first = (*first).min(line);
        all.push(t.ran[row]);
        kinds.entry((line, t.name[row])).or_default().push(t.ran[row]);
    }
    // A short task that was interrupted is not a long one: kinds of tasks are long, by what is usual for them.
    let usual: FxHashMap<(u32, u32), u64> = kinds.into_iter().map(|(kind, mut all)| (kind, median(&mut all))).collect();
    let long = running(f, |task| {
        let kind = f.rows.of(task).map(|row| (t.line[row], t.name[row]));
        kind.and_then(|k| usual.get(&k)).is_some_and(|&ran| ran >= SHORT_TASK)
    });
    let mut out = Vec::new();
    for (s, line, mut all) in by.into_values() {
        let usual = median(&mut all);
        let took = s.last.saturating_sub(s.first);
        let computing = s.ns.min(took);
        let lost = took - computing / f.cpus as u64;
        if s.count < MANY_TASKS || usual >= SHORT_TASK || !f.matters(lost) {
            continue;
        }
        if covered(&long, s.first, s.last) >= took / OTHERS.1 * OTHERS.0 {
            continue;
        }
        out.push(Found {
            line,
            seconds: f.seconds(lost),
            bytes: 0,
            title: format!("{} tiny tasks, usually of {}", s.count, duration(usual as f64)),
            text: format!(
                "They take {} from the first to the last, of which {} is computing.",
                duration(took as f64),
                duration(computing as f64)
            ),
        });
    }
    out
}

fn median(all: &mut [u64]) -> u64 {
    let middle = all.len() / 2;
    if all.is_empty() { 0 } else { *all.select_nth_unstable(middle).1 }
}

/// Operations of one loop that are small and many.
const MANY_SMALL: u64 = 20_000;

pub fn small_operations(f: &Facts) -> Vec<Found> {
    let s = &f.p.tables.small;
    let mut by: FxHashMap<(u32, u32), (Sums, u32, u64)> = FxHashMap::default();
    for k in 0..s.name.len() {
        // Elements that are written one by one have a rule of their own.
        if f.p.string(s.name[k]) == "setitem" {
            continue;
        }
        let Some(key) = f.loop_key(s.line[k]) else { continue };
        let (sums, line, most) = by.entry(key).or_insert((Sums::default(), s.line[k], 0));
        sums.add(s.count[k], 0, 0, s.first[k], s.last[k]);
        if s.count[k] > *most {
            (*line, *most) = (s.line[k], s.count[k]);
        }
    }
    let found = by.into_values().filter(|(s, ..)| s.count >= MANY_SMALL && f.matters(s.last - s.first));
    found
        .map(|(s, line, _)| Found {
            line,
            seconds: f.seconds(s.last - s.first),
            bytes: 0,
            title: format!("{} operations on small arrays in a loop", s.count),
            text: format!(
                "They ran one by one on the program's own thread, over {}.",
                duration((s.last - s.first) as f64)
            ),
        })
        .collect()
}

/// Syncs on one line that are many.
const MANY_SYNCS: u64 = 10;

pub fn syncs(f: &Facts) -> Vec<Found> {
    let looped = |line: u32| f.loop_key(line).is_some();
    let all = f.spans(Doing::Sync).into_iter();
    let found = all.filter(|&(line, s)| line != 0 && s.count >= MANY_SYNCS && looped(line) && f.matters(s.ns));
    found
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: 0,
            title: format!("the program waits for a value {} times in a loop", s.count),
            text: format!(
                "Each wait takes {} on average, and nothing is recorded ahead meanwhile.",
                duration(s.ns as f64 / s.count as f64)
            ),
        })
        .collect()
}

/// Total time of spans of these kinds.
fn total(f: &Facts, kinds: &[Doing]) -> u64 {
    let s = &f.p.tables.spans;
    let chosen = (0..s.kind.len()).filter(|&k| kinds.iter().any(|d| *d as u8 == s.kind[k]));
    chosen.map(|k| s.ran[k]).sum()
}

pub fn utility_bound(f: &Facts) -> Vec<Found> {
    let preparing = [Doing::Merge, Doing::Analyse, Doing::Fuse, Doing::Planned, Doing::Compile, Doing::Launch];
    let (utility, cpu) = (total(f, &preparing), total(f, &[Doing::Task]));
    if utility < f.length * 2 / 5 || utility < cpu || f.seconds(utility) < 0.05 {
        return Vec::new();
    }
    let tasks = f.p.tables.tasks.id.len();
    // The line that most of the operations come from.
    let most = f.operations(|_| true).into_iter().max_by_key(|&(line, s)| (s.count, std::cmp::Reverse(line)));
    vec![Found {
        line: most.map_or(0, |(line, _)| line),
        seconds: f.seconds(utility),
        bytes: 0,
        title: format!("{:.0}% of the run goes to preparing tasks", utility as f64 / f.length as f64 * 100.0),
        text: format!(
            "{tasks} tasks were prepared in {} and computed in {}.",
            duration(utility as f64),
            duration(cpu as f64)
        ),
    }]
}

pub fn python_bound(f: &Facts) -> Vec<Found> {
    // Of a stretch of Python only what nobody computed in meanwhile is lost.
    let s = &f.p.tables.spans;
    let busy = running(f, |_| true);
    let first = busy.iter().map(|b| b.0).min().unwrap_or(0);
    let last = busy.iter().map(|b| b.1).max().unwrap_or(0);
    let mut idle: FxHashMap<u32, u64> = FxHashMap::default();
    let mut sum = 0;
    for k in (0..s.kind.len()).filter(|&k| s.kind[k] == Doing::Python as u8) {
        let (from, to) = (s.started[k].max(first), s.started[k].saturating_add(s.ran[k]).min(last));
        if from >= to {
            continue;
        }
        let covered = covered(&busy, from, to);
        let lost = (to - from).saturating_sub(covered);
        *idle.entry(s.line[k]).or_default() += lost;
        sum += lost;
    }
    let span = last.saturating_sub(first);
    if sum < span * 2 / 5 || f.seconds(sum) < 0.05 {
        return Vec::new();
    }
    let (line, _) = idle.into_iter().max_by_key(|&(line, ns)| (ns, line)).unwrap_or((0, 0));
    vec![Found {
        line,
        seconds: f.seconds(sum),
        bytes: 0,
        title: format!("the processors wait for Python {:.0}% of the time", sum as f64 / span.max(1) as f64 * 100.0),
        text: "Between its calls the program runs Python code of its own, most of it before this line.".into(),
    }]
}

/// When tasks ran anywhere, those that `choose` answers true for: sorted.
fn running(f: &Facts, choose: impl Fn(u32) -> bool) -> Vec<(u64, u64)> {
    let s = &f.p.tables.spans;
    let chosen = (0..s.kind.len()).filter(|&k| s.kind[k] == Doing::Task as u8 && choose(s.subject[k]));
    let mut out: Vec<(u64, u64)> = chosen.map(|k| (s.started[k], s.started[k].saturating_add(s.ran[k]))).collect();
    out.sort_unstable();
    out
}

/// How much of a stretch is covered by sorted spans, which may overlap.
fn covered(busy: &[(u64, u64)], from: u64, to: u64) -> u64 {
    let begin = busy.partition_point(|b| b.0 < from).saturating_sub(64);
    let (mut sum, mut until) = (0, from);
    for &(a, b) in busy[begin..].iter().take_while(|b| b.0 < to) {
        let (a, b) = (a.max(until), b.min(to));
        if a < b {
            sum += b - a;
            until = b;
        }
    }
    sum
}

/// A task that could have been cut, had it been larger or of another shape (ns).
const LONG_TASK: u64 = 1_000_000;

pub fn imbalance(f: &Facts) -> Vec<Found> {
    let t = &f.p.tables.tasks;
    let computed = |row: usize| t.ran[row].saturating_sub(t.mapped[row]);
    let o = &f.p.tables.operations;
    // What a library divides by itself keeps the others busy, too.
    let threaded: FxHashSet<u32> =
        (0..o.task.len()).filter(|&k| o.traits[k] & traits::THREADED != 0).map(|k| o.task[k]).collect();
    let is_alone = |&row: &usize| t.tiles[row] == 1 && computed(row) >= LONG_TASK && !threaded.contains(&t.id[row]);
    let alone: Vec<usize> = (0..t.id.len()).filter(is_alone).collect();
    let sum: u64 = alone.iter().map(|&row| computed(row)).sum();
    let Some(&longest) = alone.iter().max_by_key(|&&row| computed(row)) else { return Vec::new() };
    // What others computed meanwhile is not lost.
    let (busy, most) = (f.busy.values().sum::<u64>(), f.busy.values().copied().max().unwrap_or(0));
    if f.cpus < 2 || sum < f.length * 2 / 5 || busy > most * 3 / 2 || f.seconds(sum) < 0.05 {
        return Vec::new();
    }
    vec![Found {
        line: t.line[longest],
        seconds: f.seconds(sum - sum / f.cpus as u64),
        bytes: 0,
        title: format!("{} of {} processors idle while {} task(s) run on one", f.cpus - 1, f.cpus, alone.len()),
        text: format!(
            "Tasks that cannot be shared out take {}; the longest is {}.",
            duration(sum as f64),
            f.p.string(t.name[longest])
        ),
    }]
}
