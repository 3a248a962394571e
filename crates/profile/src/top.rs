//! What a program is doing while it writes its profile: the file is read again as it grows.

use crate::error::Result;
use crate::kinds::{Doing, Lane};
use crate::print::{bytes, duration, place, short};
use crate::read::Profile;
use crate::stats::stats;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Lines shown at a time.
const SHOWN: usize = 12;

/// Shows the file until its run is over.
pub fn watch(path: &Path, interval: Duration) -> Result<()> {
    loop {
        let profile = Profile::read(path)?;
        let over = !profile.tables.end.time.is_empty();
        let mut out = std::io::stdout();
        // A terminal that has gone away ends it, too.
        let shown = write!(out, "\x1b[2J\x1b[H{}", screen(&profile)).and_then(|()| out.flush());
        if over || shown.is_err() {
            return Ok(());
        }
        std::thread::sleep(interval.max(Duration::from_millis(50)));
    }
}

/// One screen full of the profile so far.
pub fn screen(p: &Profile) -> String {
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
    let _ = writeln!(out, "  {tasks} tasks, {small} small operations; now: {}\n", now(p));
    for &(line, used) in s.lines.iter().take(SHOWN) {
        let spent = duration(used.busy + used.waited as f64);
        let _ = writeln!(out, "  {spent:>10}  {:<24} {}", place(p, line), short(p.source_line(line), 60));
    }
    out
}

/// What the program's own thread did last.
fn now(p: &Profile) -> &'static str {
    let (spans, processors) = (&p.tables.spans, &p.tables.processors);
    let io: Vec<u32> =
        processors.id.iter().zip(&processors.kind).filter(|(_, k)| **k == Lane::Io as u8).map(|(id, _)| *id).collect();
    let last = (0..spans.kind.len()).rev().find(|&k| io.contains(&(spans.processor[k] as u32)));
    last.and_then(|k| Doing::of(spans.kind[k])).map_or("?", Doing::text)
}
