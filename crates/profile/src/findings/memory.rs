//! Rules about memory.

use super::Found;
use super::facts::{Facts, Sums};
use crate::kinds::Reason;
use crate::print::{bytes, place};
use rustc_hash::FxHashMap;

/// Arrays of one line that come and go: so many, of so many bytes.
const MANY_ARRAYS: u64 = 10;
const LARGE: u64 = 1 << 20;
/// Ticks between the end of an instance and the beginning of the one that it has moved to.
const AT_ONCE: u64 = 100_000;

pub fn temporaries(f: &Facts) -> Vec<Found> {
    let (i, d) = (&f.p.tables.instances, &f.p.tables.deaths);
    let ends: FxHashMap<u32, u64> = d.instance.iter().copied().zip(d.time.iter().copied()).collect();
    let mut births: FxHashMap<u32, Vec<(u64, u8)>> = FxHashMap::default();
    for k in 0..i.id.len() {
        births.entry(i.store[k]).or_default().push((i.born[k], i.memory[k]));
    }
    // An array that moves to another memory is gone from one and there in the other at once.
    let moved = |k: usize, end: u64| {
        births[&i.store[k]].iter().any(|&(born, memory)| memory != i.memory[k] && born.abs_diff(end) < AT_ONCE)
    };
    let mut by: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
    for k in 0..i.id.len() {
        let goes = ends.get(&i.id[k]).is_some_and(|&end| !moved(k, end));
        if i.bytes[k] >= LARGE && goes && f.loop_key(i.line[k]).is_some() && rebinds(f.p.source_line(i.line[k])) {
            let of = by.entry(i.line[k]).or_default();
            *of = (of.0 + 1, of.1.saturating_add(i.bytes[k]));
        }
    }
    let mut found: Vec<_> = by.into_iter().filter(|(_, (count, _))| *count >= MANY_ARRAYS).collect();
    found.sort_by_key(|&(line, (_, sum))| (std::cmp::Reverse(sum), line));
    found
        .into_iter()
        .map(|(line, (count, sum))| Found {
            line,
            seconds: 0.0,
            bytes: sum,
            title: format!("{count} temporaries of {} in a loop", bytes(sum / count)),
            text: "Each turn makes a new array, and the one before goes.".into(),
        })
        .collect()
}

/// Whether a statement gives a name a new value that is made from the old one, as `x = x + 1`: there the old array
/// could have been written instead. Other arrays that come and go take the memory of the ones before.
fn rebinds(statement: &str) -> bool {
    let Some((name, value)) = statement.split_once('=') else { return false };
    let name = name.trim();
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let part_of_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    plain
        && !value.starts_with('=')
        && value.match_indices(name).any(|(at, _)| {
            !part_of_name(value[..at].chars().next_back())
                && !value[at + name.len()..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
}

/// Copies from one memory to another for one line of a loop, that are many and large.
const MANY_COPIES: u64 = 10;
const LARGE_COPIES: u64 = 16 << 20;

/// Arrays that are wanted in another memory, or cut in another way, turn after turn. What makes room is told elsewhere.
pub fn repartitioning(f: &Facts) -> Vec<Found> {
    let (c, t) = (&f.p.tables.copies, &f.p.tables.tasks);
    let wanted = [Reason::Read, Reason::Kept, Reason::Host].map(|r| r as u8);
    let mut by: FxHashMap<u32, Sums> = FxHashMap::default();
    for k in (0..c.from.len()).filter(|&k| c.from[k] != c.to[k] && wanted.contains(&c.reason[k])) {
        let line = f.rows.of(c.task[k]).map_or(c.line[k], |row| t.line[row]);
        by.entry(line).or_default().add(1, c.ran[k], c.bytes[k], c.started[k], c.started[k].saturating_add(c.ran[k]));
    }
    let many = |&(line, s): &(u32, Sums)| {
        let large = s.count >= MANY_COPIES && s.bytes >= LARGE_COPIES;
        line != 0 && large && f.loop_key(line).is_some() && s.ns >= f.length / 20 && f.matters(s.ns)
    };
    let mut found: Vec<(u32, Sums)> = by.into_iter().filter(many).collect();
    found.sort_by_key(|&(line, s)| (std::cmp::Reverse(s.ns), line));
    found
        .into_iter()
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: s.bytes,
            title: format!("arrays go from one memory to another {} times in a loop", s.count),
            text: format!("{} are copied because they lie where they are not used next.", bytes(s.bytes)),
        })
        .collect()
}

pub fn unread(f: &Facts) -> Vec<Found> {
    let (i, h) = (&f.p.tables.instances, &f.p.tables.held);
    let rows: FxHashMap<u32, usize> = i.id.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    let mut out = Vec::new();
    let all: u64 = h.instance.iter().filter_map(|id| rows.get(id)).map(|&r| i.bytes[r]).sum();
    for k in 0..h.instance.len() {
        let Some(&row) = rows.get(&h.instance[k]) else { continue };
        let since = h.last_read[k].max(i.born[row]);
        let idle = f.length.saturating_sub(since);
        let large = i.bytes[row] >= 16 * LARGE && i.bytes[row] >= all / 8;
        if large && h.reads[k] == 0 && idle >= f.length / 2 && f.seconds(idle) >= 0.05 {
            out.push(Found {
                line: i.line[row],
                seconds: 0.0,
                bytes: i.bytes[row],
                title: format!("an array of {} that nobody reads", bytes(i.bytes[row])),
                text: "It was written, was there to the end, and nothing was computed from it.".into(),
            });
        }
    }
    out
}

pub fn peaks(f: &Facts) -> Vec<Found> {
    let t = &f.p.tables;
    let mut out = Vec::new();
    for m in 0..t.memories.id.len() {
        let (id, capacity) = (t.memories.id[m], t.memories.capacity[m]);
        let levels = (0..t.levels.memory.len()).filter(|&k| t.levels.memory[k] as u32 == id);
        let Some(top) = levels.max_by_key(|&k| t.levels.bytes[k].max(t.levels.peak[k])) else { continue };
        let peak = t.levels.bytes[top].max(t.levels.peak[top]);
        // The spill file is full only when the disk is.
        if capacity == 0 || t.memories.kind[m] == 4 || peak < capacity / 10 * 9 {
            continue;
        }
        let at = t.levels.time[top];
        let (line, held, text) = holders(f, id, at);
        out.push(Found {
            line,
            seconds: 0.0,
            bytes: peak,
            title: format!("{} is full: {} of {}", f.p.string(t.memories.name[m]), bytes(peak), bytes(capacity)),
            text: if held == 0 { "Small arrays hold it.".into() } else { text },
        });
    }
    out
}

/// The line that holds most of a memory at a time, its bytes, and the first few in words.
fn holders(f: &Facts, memory: u32, at: u64) -> (u32, u64, String) {
    let (i, d) = (&f.p.tables.instances, &f.p.tables.deaths);
    let ends: FxHashMap<u32, u64> = d.instance.iter().copied().zip(d.time.iter().copied()).collect();
    let mut by: FxHashMap<u32, u64> = FxHashMap::default();
    for k in 0..i.id.len() {
        let alive = i.born[k] <= at && ends.get(&i.id[k]).is_none_or(|&end| end >= at);
        if i.memory[k] as u32 == memory && alive {
            *by.entry(i.line[k]).or_default() += i.bytes[k];
        }
    }
    let mut most: Vec<(u32, u64)> = by.into_iter().collect();
    most.sort_by_key(|&(line, sum)| (std::cmp::Reverse(sum), line));
    let words: Vec<String> =
        most.iter().take(3).map(|&(line, sum)| format!("{} holds {}", place(f.p, line), bytes(sum))).collect();
    let (line, sum) = most.first().copied().unwrap_or((0, 0));
    (line, sum, format!("At its fullest {}.", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::rebinds;

    #[test]
    fn a_name_is_rebound_where_its_own_value_goes_in() {
        for yes in ["x = x + 1.0", "x = np.sin(x)", "self.x = self.x * 2", "x=x.T@x", "grid = f(a, grid[1:])"] {
            assert!(rebinds(yes), "{yes}");
        }
        for no in ["y = x + 1.0", "x += 1.0", "x[1:] = x[:-1]", "a, b = b, a", "x == x", "x", "x = self.x", "x = xx"] {
            assert!(!rebinds(no), "{no}");
        }
    }
}
