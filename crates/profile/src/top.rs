//! What a program is doing while it writes its profile. The program is asked to write down what it has and to tell what
//! its threads are at; where it does not answer (another machine, another user), its file is read as it grows.

use crate::error::Result;
use crate::kinds::{Doing, Lane};
use crate::live;
use crate::print::{bytes, duration, place, short};
use crate::read::{Profile, Reader};
use crate::stats::stats;
use crate::table::Live;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Lines shown at a time.
const SHOWN: usize = 12;

/// Shows the file until its run is over.
pub fn watch(path: &Path, interval: Duration) -> Result<()> {
    let mut reader = Reader::open(path)?;
    reader.catch_up()?;
    loop {
        let pid = reader.profile().meta("pid").and_then(|pid| pid.parse().ok());
        let over = !reader.profile().tables.end.time.is_empty();
        let at = if over { None } else { pid.and_then(live::ask) };
        reader.catch_up()?;
        let over = !reader.profile().tables.end.time.is_empty();
        let mut out = std::io::stdout();
        // A terminal that has gone away ends it, too.
        let shown = write!(out, "\x1b[2J\x1b[H{}", screen(reader.profile(), at.as_ref())).and_then(|()| out.flush());
        if over || shown.is_err() {
            return Ok(());
        }
        std::thread::sleep(interval.max(Duration::from_millis(50)));
    }
}

/// One screen full of the profile so far, with what its threads are at.
pub fn screen(p: &Profile, at: Option<&Live>) -> String {
    let s = stats(p);
    let mut out = String::new();
    let program = p.meta("program").unwrap_or("?");
    let _ = writeln!(out, "{program}  pid {}  {}", p.meta("pid").unwrap_or("?"), duration(s.length as f64));
    for l in &s.lanes {
        let bars = (l.utilisation.clamp(0.0, 1.0) * 30.0).round() as usize;
        let _ = writeln!(
            out,
            "  {:<22} [{:<30}] {:>5.1}%",
            format!("{} ×{}", l.lane.text(), l.processors),
            "|".repeat(bars),
            l.utilisation * 100.0
        );
    }
    for m in &s.memories {
        let _ = writeln!(out, "  {:<22} peak {} of {}", m.name, bytes(m.peak), bytes(m.capacity));
    }
    let tasks: u64 = s.kinds.iter().map(|(_, k)| k.count).sum();
    let small: u64 = p.tables.small.count.iter().sum();
    let _ = writeln!(out, "  {tasks} tasks, {small} small operations");
    match at {
        Some(at) => out.push_str(&threads(p, at)),
        None => {
            let _ = writeln!(out, "  last: {}", last(p));
        }
    }
    out.push('\n');
    for &(line, used) in s.lines.iter().take(SHOWN) {
        let spent = duration(used.busy + used.waited as f64);
        let _ = writeln!(out, "  {spent:>10}  {:<24} {}", place(p, line), short(p.source_line(line), 60));
    }
    out
}

/// What each thread is at, and since when.
fn threads(p: &Profile, at: &Live) -> String {
    let mut out = String::new();
    let processors = &p.tables.processors;
    let now = p.length();
    for k in 0..at.processor.len() {
        let row = processors.id.iter().position(|&id| id == at.processor[k] as u32);
        let name = row.map_or("?", |row| p.string(processors.name[row]));
        let doing = Doing::of(at.kind[k]).map_or("?", Doing::text);
        let about = if at.line[k] != 0 {
            format!("{}  {}", place(p, at.line[k]), short(p.source_line(at.line[k]), 50))
        } else if at.subject[k] != 0 {
            format!("task {}", at.subject[k])
        } else {
            String::new()
        };
        let since = duration(now.saturating_sub(at.since[k]) as f64);
        let _ = writeln!(out, "  {name:<28} {doing:<16} {since:>10}  {about}");
    }
    out
}

/// What the program's own thread did last, as far as its file tells.
fn last(p: &Profile) -> &'static str {
    let (spans, processors) = (&p.tables.spans, &p.tables.processors);
    let io: Vec<u32> =
        processors.id.iter().zip(&processors.kind).filter(|(_, k)| **k == Lane::Io as u8).map(|(id, _)| *id).collect();
    let last = (0..spans.kind.len()).rev().find(|&k| io.contains(&(spans.processor[k] as u32)));
    last.and_then(|k| Doing::of(spans.kind[k])).map_or("?", Doing::text)
}
