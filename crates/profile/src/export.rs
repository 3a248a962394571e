//! Profiles for other tools: the trace format of chrome://tracing and Perfetto, and everything as JSON.

use crate::kinds::{Doing, Lane, MemoryKind, Reason};
use crate::print::place;
use crate::read::Profile;
use crate::stats::{self, TaskRows};
use std::fmt::Write;

/// A text as JSON writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Threads of a trace: processors first, then channels and ranges, each kind with room of its own.
const CHANNELS: u32 = 100_000;
const RANGES: u32 = 200_000;

/// A trace of complete events, counters and flows. A rank is a process.
pub fn chrome(profiles: &[Profile]) -> String {
    let mut out = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    let mut first = true;
    let mut event = |text: String| {
        if !first {
            out.push_str(",\n");
        }
        first = false;
        out.push_str(&text);
    };
    for p in profiles {
        trace_of(p, &mut event);
    }
    out.push_str("\n]}\n");
    out
}

fn micros(p: &Profile, ticks: u64) -> f64 {
    ticks as f64 * p.tick() / 1000.0
}

fn named(pid: usize, tid: u32, kind: &str, name: &str) -> String {
    format!("{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{kind}\",\"args\":{{\"name\":{}}}}}", quoted(name))
}

fn trace_of(p: &Profile, event: &mut impl FnMut(String)) {
    let (t, pid) = (&p.tables, p.rank());
    event(named(pid, 0, "process_name", &format!("rank {pid}: {}", p.meta("program").unwrap_or("?"))));
    for (k, &id) in t.processors.id.iter().enumerate() {
        event(named(pid, id, "thread_name", p.string(t.processors.name[k])));
        event(format!(
            "{{\"ph\":\"M\",\"pid\":{pid},\"tid\":{id},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}}}",
            t.processors.kind[k] as u32 * 1000 + t.processors.index[k].min(999)
        ));
    }
    let rows = TaskRows::new(p);
    for k in 0..t.spans.kind.len() {
        let doing = Doing::of(t.spans.kind[k]);
        let task = rows.of(t.spans.subject[k]).filter(|_| doing == Some(Doing::Task));
        let (name, line) = match (doing, task) {
            (_, Some(row)) => (p.string(t.tasks.name[row]), t.tasks.line[row]),
            (Some(d), None) => (d.text(), t.spans.line[k]),
            (None, None) => ("?", 0),
        };
        event(format!(
            "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{},\"ts\":{:.3},\"dur\":{:.3},\"name\":{},\"args\":{{\"line\":{},\"subject\":{},\"count\":{}}}}}",
            t.spans.processor[k],
            micros(p, t.spans.started[k]),
            micros(p, t.spans.ran[k]),
            quoted(name),
            quoted(&place(p, line)),
            t.spans.subject[k],
            t.spans.count[k]
        ));
    }
    channels(p, pid, event);
    let deepest = t.ranges.depth.iter().max().copied().unwrap_or(0).min(u8::MAX as u32);
    for depth in (0..=deepest).filter(|_| !t.ranges.depth.is_empty()) {
        event(named(pid, RANGES + depth, "thread_name", &format!("Ranges {depth}")));
    }
    for k in 0..t.ranges.name.len() {
        event(format!(
            "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{},\"ts\":{:.3},\"dur\":{:.3},\"name\":{},\"args\":{{}}}}",
            RANGES.saturating_add(t.ranges.depth[k]),
            micros(p, t.ranges.started[k]),
            micros(p, t.ranges.ran[k]),
            quoted(p.string(t.ranges.name[k]))
        ));
    }
    for k in 0..t.levels.memory.len() {
        event(format!(
            "{{\"ph\":\"C\",\"pid\":{pid},\"ts\":{:.3},\"name\":{},\"args\":{{\"bytes\":{}}}}}",
            micros(p, t.levels.time[k]),
            quoted(&memory(p, t.levels.memory[k])),
            t.levels.bytes[k]
        ));
    }
}

fn memory(p: &Profile, id: u8) -> String {
    let row = p.tables.memories.id.iter().position(|&m| m == id as u32);
    row.map_or_else(|| format!("memory {id}"), |k| p.string(p.tables.memories.name[k]).to_string())
}

fn channels(p: &Profile, pid: usize, event: &mut impl FnMut(String)) {
    let c = &p.tables.copies;
    let mut seen: Vec<(u8, u8)> = Vec::new();
    for k in 0..c.from.len() {
        let pair = (c.from[k], c.to[k]);
        let at = seen.iter().position(|&s| s == pair).unwrap_or_else(|| {
            seen.push(pair);
            let name = format!("Channel {} → {}", memory(p, pair.0), memory(p, pair.1));
            event(named(pid, CHANNELS + seen.len() as u32 - 1, "thread_name", &name));
            seen.len() - 1
        });
        event(format!(
            "{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{},\"ts\":{:.3},\"dur\":{:.3},\"name\":\"copy\",\"args\":{{\"bytes\":{},\"reason\":{}}}}}",
            CHANNELS + at as u32,
            micros(p, c.started[k]),
            micros(p, c.ran[k]),
            c.bytes[k],
            quoted(Reason::of(c.reason[k]).map_or("?", Reason::text))
        ));
    }
}

/// Every table, a row an object, with strings and lines written out.
pub fn json(profiles: &[Profile]) -> String {
    let each: Vec<String> = profiles.iter().map(json_of).collect();
    format!("[{}]\n", each.join(",\n"))
}

fn list<T>(items: impl Iterator<Item = T>, mut one: impl FnMut(T) -> String) -> String {
    let mut out = String::from("[");
    for (k, item) in items.enumerate() {
        if k > 0 {
            out.push_str(",\n");
        }
        out.push_str(&one(item));
    }
    out.push(']');
    out
}

fn json_of(p: &Profile) -> String {
    let t = &p.tables;
    let line = |n: u32| quoted(&place(p, n));
    let text = |n: u32| quoted(p.string(n));
    let meta = list(0..t.meta.key.len(), |k| format!("[{},{}]", quoted(&t.meta.key[k]), quoted(&t.meta.value[k])));
    let processors = list(0..t.processors.id.len(), |k| {
        let lane = Lane::of(t.processors.kind[k]).map_or("?", Lane::text);
        format!("{{\"id\":{},\"lane\":{},\"name\":{}}}", t.processors.id[k], quoted(lane), text(t.processors.name[k]))
    });
    let memories = list(0..t.memories.id.len(), |k| {
        let kind = MemoryKind::of(t.memories.kind[k]).map_or("?", MemoryKind::text);
        let (id, name, capacity) = (t.memories.id[k], text(t.memories.name[k]), t.memories.capacity[k]);
        format!("{{\"id\":{id},\"kind\":{},\"name\":{name},\"capacity\":{capacity}}}", quoted(kind))
    });
    let tasks = list(0..t.tasks.id.len(), |k| {
        let a = &t.tasks;
        let ready = a.created[k].saturating_add(a.blocked[k]);
        let started = ready.saturating_add(a.queued[k]);
        format!(
            "{{\"id\":{},\"name\":{},\"line\":{},\"created\":{},\"ready\":{ready},\"started\":{started},\"stopped\":{},\
             \"mapped\":{},\"variant\":{},\"read\":{},\"written\":{},\"tiles\":{},\"operations\":{},\"failed\":{}}}",
            a.id[k],
            text(a.name[k]),
            line(a.line[k]),
            a.created[k],
            started.saturating_add(a.ran[k]),
            a.mapped[k],
            a.variant[k],
            a.read[k],
            a.written[k],
            a.tiles[k],
            a.operations[k],
            a.failed[k]
        )
    });
    let spans = list(0..t.spans.kind.len(), |k| {
        let s = &t.spans;
        let doing = Doing::of(s.kind[k]).map_or("?", Doing::text);
        format!(
            "{{\"processor\":{},\"started\":{},\"ran\":{},\"what\":{},\"subject\":{},\"line\":{},\"count\":{}}}",
            s.processor[k],
            s.started[k],
            s.ran[k],
            quoted(doing),
            s.subject[k],
            line(s.line[k]),
            s.count[k]
        )
    });
    let operations = list(0..t.operations.task.len(), |k| {
        let o = &t.operations;
        format!(
            "{{\"task\":{},\"name\":{},\"line\":{},\"shape\":{},\"recorded\":{},\"times\":{},\"traits\":{}}}",
            o.task[k],
            text(o.name[k]),
            line(o.line[k]),
            text(o.shape[k]),
            o.recorded[k],
            o.times[k],
            o.traits[k]
        )
    });
    let edges = list(0..t.edges.task.len(), |k| format!("[{},{}]", t.edges.from[k], t.edges.task[k]));
    let instances = list(0..t.instances.id.len(), |k| {
        let i = &t.instances;
        format!(
            "{{\"id\":{},\"memory\":{},\"bytes\":{},\"born\":{},\"line\":{},\"by\":{},\"by_line\":{},\"shape\":{},\
             \"task\":{}}}",
            i.id[k],
            i.memory[k],
            i.bytes[k],
            i.born[k],
            line(i.line[k]),
            text(i.by[k]),
            line(i.by_line[k]),
            text(i.shape[k]),
            i.task[k]
        )
    });
    let deaths = list(0..t.deaths.instance.len(), |k| format!("[{},{}]", t.deaths.instance[k], t.deaths.time[k]));
    let reads = list(0..t.reads.task.len(), |k| format!("[{},{}]", t.reads.task[k], t.reads.instance[k]));
    let copies = list(0..t.copies.from.len(), |k| {
        let c = &t.copies;
        let reason = Reason::of(c.reason[k]).map_or("?", Reason::text);
        format!(
            "{{\"from\":{},\"to\":{},\"started\":{},\"ran\":{},\"bytes\":{},\"reason\":{},\"task\":{}}}",
            c.from[k],
            c.to[k],
            c.started[k],
            c.ran[k],
            c.bytes[k],
            quoted(reason),
            c.task[k]
        )
    });
    let small = list(0..t.small.name.len(), |k| {
        let s = &t.small;
        format!("{{\"name\":{},\"line\":{},\"count\":{}}}", text(s.name[k]), line(s.line[k]), s.count[k])
    });
    let ranges = list(0..t.ranges.name.len(), |k| {
        let r = &t.ranges;
        format!("{{\"name\":{},\"started\":{},\"ran\":{}}}", text(r.name[k]), r.started[k], r.ran[k])
    });
    let counters = list(0..t.counters.name.len(), |k| {
        format!(
            "{{\"time\":{},\"name\":{},\"value\":{}}}",
            t.counters.time[k],
            text(t.counters.name[k]),
            t.counters.value[k]
        )
    });
    let levels = list(0..t.levels.memory.len(), |k| {
        let l = &t.levels;
        format!("{{\"memory\":{},\"time\":{},\"bytes\":{},\"peak\":{}}}", l.memory[k], l.time[k], l.bytes[k], l.peak[k])
    });
    let uses = list(0..t.uses.kind.len(), |k| {
        let u = &t.uses;
        let kind = crate::kinds::Use::of(u.kind[k]).map_or("?", crate::kinds::Use::text);
        let (count, bytes) = (u.count[k], u.bytes[k]);
        format!("{{\"kind\":{},\"line\":{},\"count\":{count},\"bytes\":{bytes}}}", quoted(kind), line(u.line[k]))
    });
    let notes = list(p.notes.iter(), |n| quoted(n));
    let (critical, length) = (stats::critical_path(p).0, p.length());
    format!(
        "{{\"file\":{},\"notes\":{notes},\"length\":{length},\"critical_path\":{critical},\"meta\":{meta},\
         \"processors\":{processors},\"memories\":{memories},\"tasks\":{tasks},\"spans\":{spans},\
         \"operations\":{operations},\"edges\":{edges},\"instances\":{instances},\"deaths\":{deaths},\"reads\":{reads},\"copies\":{copies},\
         \"small\":{small},\"ranges\":{ranges},\"levels\":{levels},\"counters\":{counters},\"uses\":{uses}}}",
        quoted(&p.path.display().to_string())
    )
}
