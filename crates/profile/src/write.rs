//! From events to the file: numbers for strings and lines, rows for tables, chunks for the disk.

use crate::chunk;
use crate::clock;
use crate::error::{Error, Result};
use crate::event::{Event, What};
use crate::kinds::{Doing, MemoryKind};
use crate::live;
use crate::local::Place;
use crate::machine;
use crate::names;
use crate::queue::Queue;
use crate::session::{self, Line, Snapshot};
use crate::table::{Live, Tables};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Source files longer than this are left out.
const LONGEST_SOURCE: u64 = 4 << 20;
/// Operations that a task's name tells of.
const NAMED: usize = 4;

/// A thread's queue, with what its next event belongs to.
struct Source {
    queue: Arc<Queue>,
    operations: Vec<Event>,
    edges: Vec<u32>,
    reads: Vec<u32>,
    size: Option<Event>,
    by: Option<Event>,
}

pub struct Writer {
    path: PathBuf,
    file: File,
    began: u64,
    tables: Tables,
    sources: Vec<Source>,
    /// Numbers in this file, by text; by the numbers of `names`; and of lines by place.
    strings: FxHashMap<String, u32>,
    texts: FxHashMap<u32, u32>,
    knowns: FxHashMap<u16, u32>,
    places: FxHashMap<Place, u32>,
    lines: FxHashMap<Line, u32>,
    files: FxHashSet<String>,
    task_names: FxHashMap<Vec<u16>, u32>,
    processors: usize,
    memories: FxHashSet<u8>,
    first_counts: FxHashMap<&'static str, u64>,
    /// Page faults before, and how many threads compute.
    first_faults: (u64, u64),
    cpus: usize,
    lost: u64,
    line_count: u32,
    string_count: u32,
}

impl Writer {
    pub fn create(path: &Path, meta: Vec<(String, String)>, began: u64) -> Result<Writer> {
        let io = |error| Error::Io { path: path.to_path_buf(), error };
        let mut file = File::options().write(true).create_new(true).open(path).map_err(io)?;
        file.write_all(&chunk::file_header()).map_err(io)?;
        let first = session::hooks().map(|h| (h.snapshot)()).unwrap_or_default();
        let mut writer = Writer {
            path: path.to_path_buf(),
            file,
            began,
            tables: Tables::default(),
            sources: Vec::new(),
            strings: FxHashMap::default(),
            texts: FxHashMap::default(),
            knowns: FxHashMap::default(),
            places: FxHashMap::from_iter([(0, 0)]),
            lines: FxHashMap::default(),
            files: FxHashSet::default(),
            task_names: FxHashMap::default(),
            processors: 0,
            memories: FxHashSet::default(),
            first_counts: first.counters.iter().copied().collect(),
            first_faults: machine::faults(),
            cpus: meta.iter().find(|(key, _)| key == "cpus").and_then(|(_, n)| n.parse().ok()).unwrap_or(1),
            lost: 0,
            line_count: 0,
            string_count: 0,
        };
        for (key, value) in meta {
            writer.tables.meta.push(key, value);
        }
        writer.tables.meta.push("fault_ns".into(), machine::fault_ns().to_string());
        writer.first_faults = machine::faults();
        writer.snapshot(&first);
        writer.flush()?;
        Ok(writer)
    }

    pub fn rows(&self) -> usize {
        self.tables.rows()
    }

    /// Turns what the threads have told into rows; `all`: waits for what devices have not told yet.
    pub fn read_queues(&mut self, all: bool) {
        for queue in session::new_queues() {
            self.sources.push(Source {
                queue,
                operations: Vec::new(),
                edges: Vec::new(),
                reads: Vec::new(),
                size: None,
                by: None,
            });
        }
        let mut sources = std::mem::take(&mut self.sources);
        let mut batch = Vec::new();
        for source in &mut sources {
            batch.clear();
            // SAFETY: this thread alone reads the queues.
            unsafe { source.queue.drain(|e| batch.push(*e)) };
            self.learn_places(&batch);
            for event in &batch {
                self.event(source, event);
            }
        }
        // A queue that nobody else has is a thread's that is gone.
        sources.retain(|s| Arc::strong_count(&s.queue) > 1);
        self.sources = sources;
        for s in session::hooks().map(|h| (h.device_spans)(all)).unwrap_or_default() {
            let (started, ran) = self.times(s.started, s.stopped);
            let processor = session::device_processor(s.device);
            self.tables.spans.push(processor, started, ran, Doing::Task as u8, s.task, 0, 0);
        }
    }

    /// What the threads are at. After a flush, so that the lines and processors it names are in the file.
    pub fn live(&mut self) -> Live {
        let mut out = Live::default();
        for source in &self.sources {
            let at = &source.queue.at;
            let Some((_, doing, subject)) = live::unpacked(at.what.load(Ordering::Relaxed)) else { continue };
            let line = self.line(at.place.load(Ordering::Relaxed));
            let since = self.time(at.since.load(Ordering::Relaxed));
            out.push(at.processor.load(Ordering::Relaxed) as u16, doing as u8, subject, line, since);
        }
        out
    }

    /// Learns the places where threads are.
    fn learn_whereabouts(&mut self) {
        let places: Vec<Place> = self.sources.iter().map(|s| s.queue.at.place.load(Ordering::Relaxed)).collect();
        self.learn(places);
    }

    /// Writes the rows there are, whole chunks at a time.
    pub fn flush(&mut self) -> Result<()> {
        let snapshot = session::hooks().map(|h| (h.snapshot)()).unwrap_or_default();
        self.snapshot(&snapshot);
        self.learn_whereabouts();
        self.name_processors();
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        let tables = std::mem::take(&mut self.tables);
        let io = |error| Error::Io { path: self.path.clone(), error };
        self.file.write_all(&tables.chunks()).map_err(io)
    }

    pub fn finish(&mut self) -> Result<()> {
        let lost: u64 = self.sources.iter().map(|s| s.queue.lost.load(Ordering::Relaxed)).sum();
        if lost > self.lost {
            self.tables.meta.push("lost".into(), lost.to_string());
        }
        for (id, reads, last) in session::hooks().map(|h| (h.held)()).unwrap_or_default() {
            let last = self.time(last);
            self.tables.held.push(id as u32, reads, last);
        }
        let now = self.time(clock::now());
        self.tables.end.push(now);
        self.flush()?;
        // The program is over, and the machine free to be measured.
        if let Some(rate) = machine::bandwidth(self.cpus) {
            self.tables.meta.push("bandwidth".into(), rate.to_string());
        }
        self.write()
    }

    fn time(&self, counts: u64) -> u64 {
        clock::nanoseconds(counts.saturating_sub(self.began))
    }

    /// Start and length of a span that ends not before it begins.
    fn times(&self, from: u64, to: u64) -> (u64, u64) {
        let start = self.time(from);
        (start, self.time(to).saturating_sub(start))
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&n) = self.strings.get(text) {
            return n;
        }
        self.string_count += 1;
        self.strings.insert(text.to_string(), self.string_count);
        self.tables.strings.push(text.to_string());
        self.string_count
    }

    fn text(&mut self, number: u32) -> u32 {
        if let Some(&n) = self.texts.get(&number) {
            return n;
        }
        let n = self.string(&names::text(number));
        self.texts.insert(number, n);
        n
    }

    fn known(&mut self, number: u16) -> u32 {
        if let Some(&n) = self.knowns.get(&number) {
            return n;
        }
        let n = self.string(&names::known_text(number));
        self.knowns.insert(number, n);
        n
    }

    fn line(&self, place: Place) -> u32 {
        self.places.get(&place).copied().unwrap_or(0)
    }

    /// Asks for the lines of places not seen before.
    fn learn_places(&mut self, batch: &[Event]) {
        let fresh = batch.iter().map(place_of).filter(|p| !self.places.contains_key(p)).collect();
        self.learn(fresh);
    }

    fn learn(&mut self, mut fresh: Vec<Place>) {
        fresh.retain(|p| !self.places.contains_key(p));
        fresh.sort_unstable();
        fresh.dedup();
        let Some(hooks) = session::hooks().filter(|_| !fresh.is_empty()) else { return };
        for (place, line) in fresh.iter().zip((hooks.lines)(&fresh)) {
            let number = line.map_or(0, |line| self.new_line(line));
            self.places.insert(*place, number);
        }
    }

    fn new_line(&mut self, line: Line) -> u32 {
        if let Some(&n) = self.lines.get(&line) {
            return n;
        }
        let file = self.string(&line.file);
        let function = self.string(&line.function);
        self.tables.lines.push(file, line.line, function);
        if self.files.insert(line.file.clone())
            && let Ok(about) = std::fs::metadata(&line.file)
            && about.is_file()
            && about.len() <= LONGEST_SOURCE
            && let Ok(text) = std::fs::read_to_string(&line.file)
        {
            self.tables.sources.push(file, text);
        }
        self.line_count += 1;
        self.lines.insert(line, self.line_count);
        self.line_count
    }

    fn name_processors(&mut self) {
        for p in session::processors(self.processors) {
            let name = self.string(&format!("{} {} ({})", p.lane.text(), p.index, p.thread));
            self.tables.processors.push(self.processors as u32, p.lane as u8, p.index, name);
            self.processors += 1;
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let now = self.time(clock::now());
        for &(name, value) in &snapshot.counters {
            let string = self.string(&name.to_lowercase());
            // Levels are what they are; everything else counts from the beginning of the session.
            let base = if name.ends_with("_BYTES") { 0 } else { self.first_counts.get(name).copied().unwrap_or(0) };
            self.tables.counters.push(now, string, value.saturating_sub(base));
        }
        let (minor, major) = machine::faults();
        let (minor, major) = (minor - self.first_faults.0.min(minor), major - self.first_faults.1.min(major));
        for (name, value) in [("page_faults", minor), ("page_faults_from_disk", major)] {
            let string = self.string(name);
            self.tables.counters.push(now, string, value);
        }
        for m in &snapshot.levels {
            if self.memories.insert(m.id) {
                let name = self.string(&m.name);
                self.tables.memories.push(m.id as u32, m.id / 32, m.id as u32 % 32, m.capacity, name);
            }
            self.tables.levels.push(m.id, now, m.live, m.peak);
        }
    }

    fn event(&mut self, source: &mut Source, e: &Event) {
        match e.what {
            What::Span => self.span(e),
            What::Operation => source.operations.push(*e),
            What::Edges => source.edges.extend(e.at.iter().take(e.small as usize).map(|&t| t as u32)),
            What::Reads => source.reads.extend(e.at.iter().take(e.small as usize).map(|&i| i as u32)),
            What::TaskSize => source.size = Some(*e),
            What::Task => self.task(source, e),
            What::InstanceBy => source.by = Some(*e),
            What::Instance => self.instance(source.by.take(), e),
            What::Death => {
                let [id, time, level, _] = e.at;
                let time = self.time(time);
                self.tables.deaths.push(id as u32, time, e.word);
                self.tables.levels.push(e.small, time, level, 0);
            }
            What::Copy => {
                let (started, ran) = self.times(e.at[0], e.at[1]);
                let (to, reason) = ((e.half & 0xff) as u8, (e.half >> 8) as u8);
                let line = self.line(e.at[3]);
                self.tables.copies.push(e.small, to, started, ran, e.at[2], reason, line, e.word);
            }
            What::Range => {
                let (started, ran) = self.times(e.at[0], e.at[1]);
                let (name, line) = (self.text(e.word), self.line(e.at[2]));
                self.tables.ranges.push(name, started, ran, e.small as u32, line, e.half);
            }
            What::Small => {
                let (name, line) = (self.known(e.half), self.line(e.at[2]));
                let (first, last) = (self.time(e.at[0]), self.time(e.at[1]));
                self.tables.small.push(name, line, first, last, e.word as u64, e.at[3]);
            }
            What::Use => {
                let (what, line, time) = (self.known(e.half), self.line(e.at[2]), self.time(e.at[0]));
                self.tables.uses.push(e.small, line, e.word as u64, e.at[1], what, time);
            }
        }
    }

    fn span(&mut self, e: &Event) {
        let (started, ran) = self.times(e.at[0], e.at[1]);
        let bytes = Doing::of(e.small).is_some_and(Doing::counts_bytes);
        let (line, count) = if bytes { (0, e.at[3]) } else { (self.line(e.at[3]), e.word as u64) };
        let subject = match Doing::of(e.small) {
            Some(Doing::Fallback) => self.text(e.at[2] as u32),
            _ => e.at[2] as u32,
        };
        self.tables.spans.push(e.half, started, ran, e.small, subject, line, count);
    }

    fn task(&mut self, source: &mut Source, e: &Event) {
        let operations = std::mem::take(&mut source.operations);
        let size = source.size.take();
        let name = self.task_name(operations.iter().map(|o| o.half).collect());
        let mut recorded = 0;
        for o in &operations {
            let (name, line, shape) = (self.known(o.half), self.line(o.at[1]), self.text(o.at[2] as u32));
            let time = self.time(o.at[0]);
            self.tables.operations.push(e.word, name, line, shape, time, o.word, o.small);
            recorded += o.word;
        }
        for from in source.edges.drain(..) {
            self.tables.edges.push(e.word, from);
        }
        for instance in source.reads.drain(..) {
            self.tables.reads.push(e.word, instance);
        }
        let line = operations.first().map_or(0, |o| self.line(o.at[1]));
        let [created, ready, started, stopped] = e.at.map(|t| self.time(t));
        let ready = ready.max(created);
        let started = started.max(ready);
        let (variant, failed, tiles, [read, written, mapped, _]) =
            size.map_or((0, 0, 0, [0; 4]), |s| (s.small, s.half as u8, s.word, s.at));
        self.tables.tasks.push(
            e.word,
            name,
            created,
            ready - created,
            started - ready,
            stopped.saturating_sub(started),
            line,
            variant,
            read,
            written,
            tiles,
            recorded,
            clock::nanoseconds(mapped),
            failed,
        );
    }

    fn task_name(&mut self, names: Vec<u16>) -> u32 {
        if let Some(&n) = self.task_names.get(&names) {
            return n;
        }
        let mut parts: Vec<String> = names.iter().take(NAMED).map(|&n| names::known_text(n)).collect();
        if names.len() > NAMED {
            parts.push(format!("…+{}", names.len() - NAMED));
        }
        let text = if parts.is_empty() { "task".to_string() } else { parts.join("·") };
        let n = self.string(&text);
        self.task_names.insert(names, n);
        n
    }

    fn instance(&mut self, by: Option<Event>, e: &Event) {
        let [id, bytes, born, place] = e.at;
        let (born, line, shape) = (self.time(born), self.line(place), self.text(e.word));
        let (op, op_line, store, level, task) = match by {
            Some(by) => (self.known(by.half), self.line(by.at[0]), by.at[1] as u32, by.at[2], by.at[3] as u32),
            None => (0, 0, 0, bytes, 0),
        };
        self.tables.instances.push(id as u32, e.small, bytes, born, line, op, op_line, shape, store, task);
        self.tables.levels.push(e.small, born, level, 0);
    }
}

/// The place that an event names; 0: none.
fn place_of(e: &Event) -> Place {
    let bytes = e.what == What::Span && Doing::of(e.small).is_some_and(Doing::counts_bytes);
    match e.what {
        What::Span if bytes => 0,
        What::Span | What::Instance | What::Copy => e.at[3],
        What::Operation => e.at[1],
        What::InstanceBy => e.at[0],
        What::Range | What::Small | What::Use => e.at[2],
        What::Edges | What::Reads | What::TaskSize | What::Task | What::Death => 0,
    }
}

/// The number of a memory in profiles.
pub fn memory_id(kind: MemoryKind, index: usize) -> u8 {
    kind as u8 * 32 + index.min(31) as u8
}
