//! Statistics as text.

use crate::read::Profile;
use crate::stats::{LineUse, Stats, Summary};
use std::fmt::Write;

/// Nanoseconds in a unit that suits them.
pub fn duration(ns: f64) -> String {
    match ns {
        n if n < 1e3 => format!("{n:.0} ns"),
        n if n < 1e6 => format!("{:.1} µs", n / 1e3),
        n if n < 1e9 => format!("{:.1} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Rows of text in columns; the first is left-aligned, and so is the last if it is a text.
struct Columns {
    rows: Vec<Vec<String>>,
    text_last: bool,
}

impl Columns {
    fn new(head: &[&str], text_last: bool) -> Columns {
        Columns { rows: vec![head.iter().map(|h| h.to_string()).collect()], text_last }
    }

    fn write(&self, out: &mut String) {
        let count = self.rows[0].len();
        let width = |k: usize| self.rows.iter().map(|r| r[k].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (k, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[k] - cell.chars().count());
                let left = k == 0 || self.text_last && k + 1 == count;
                let cell = if left { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
                line.push_str("  ");
                line.push_str(&cell);
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

fn summary(s: &Summary) -> [String; 6] {
    [
        s.count.to_string(),
        duration(s.total as f64),
        duration(s.mean()),
        duration(if s.count == 0 { 0.0 } else { s.min as f64 }),
        duration(s.max as f64),
        duration(s.deviation()),
    ]
}

/// Rows that a table shows unless all are asked for.
const SHOWN: usize = 20;

pub fn stats(p: &Profile, s: &Stats, all: bool) -> String {
    let mut out = String::new();
    let shown = if all { usize::MAX } else { SHOWN };
    let program = p.meta("program").unwrap_or("?");
    let _ = writeln!(out, "{}: {program}, rank {}, {}", p.path.display(), p.rank(), duration(s.length as f64));
    for note in &p.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "\nTasks");
    let mut table = Columns::new(&["task", "count", "total", "mean", "min", "max", "deviation"], false);
    for (name, kind) in s.kinds.iter().take(shown) {
        table.rows.push([vec![name.clone()], summary(kind).to_vec()].concat());
    }
    table.write(&mut out);
    left_out(&mut out, s.kinds.len(), shown);

    let _ = writeln!(out, "\nLines");
    let head = ["line", "busy", "operations", "tasks", "mean", "min", "max", "deviation", "waited", "bytes", "source"];
    let mut table = Columns::new(&head, true);
    for &(line, ref used) in s.lines.iter().take(shown) {
        table.rows.push(line_row(p, line, used));
    }
    table.write(&mut out);
    left_out(&mut out, s.lines.len(), shown);

    let _ = writeln!(out, "\nLanes");
    let mut table = Columns::new(&["lane", "processors", "spans", "busy", "utilisation"], false);
    for l in &s.lanes {
        table.rows.push(vec![
            l.lane.text().into(),
            l.processors.to_string(),
            l.spans.to_string(),
            duration(l.busy as f64),
            format!("{:.1}%", l.utilisation * 100.0),
        ]);
    }
    table.write(&mut out);

    let _ = writeln!(out, "\nTime by what it went to");
    let mut table = Columns::new(&["what", "count", "total", "mean", "min", "max", "deviation"], false);
    for (doing, kind) in &s.doing {
        table.rows.push([vec![doing.text().to_string()], summary(kind).to_vec()].concat());
    }
    table.write(&mut out);
    let _ = writeln!(out, "  critical path: {} of {}", duration(s.critical as f64), duration(s.length as f64));

    if let Some((faults, from_disk, ns)) = s.faults {
        let _ = writeln!(
            out,
            "  page faults: {faults}, about {} in all; {from_disk} of them from disk",
            duration((faults * ns) as f64)
        );
    }

    let _ = writeln!(out, "\nMemories");
    let mut table = Columns::new(&["memory", "peak", "capacity", "allocated", "instances"], false);
    for m in &s.memories {
        table.rows.push(vec![
            m.name.clone(),
            bytes(m.peak),
            bytes(m.capacity),
            bytes(m.allocated),
            m.instances.to_string(),
        ]);
    }
    table.write(&mut out);
    if !s.copied.is_empty() {
        let _ = writeln!(out, "\nCopies");
        let mut table = Columns::new(&["channel", "copies", "bytes", "time", "a second"], false);
        for (name, copies, sum, ran) in &s.copied {
            let rate = *sum as f64 / (*ran).max(1) as f64 * 1e9;
            let row = [name.clone(), copies.to_string(), bytes(*sum), duration(*ran as f64), bytes(rate as u64)];
            table.rows.push(row.to_vec());
        }
        table.write(&mut out);
    }
    out
}

fn left_out(out: &mut String, rows: usize, shown: usize) {
    if rows > shown {
        let _ = writeln!(out, "  … and {} more (--all shows them)", rows - shown);
    }
}

fn line_row(p: &Profile, line: u32, used: &LineUse) -> Vec<String> {
    let spent = |ns: f64| if ns == 0.0 { "".into() } else { duration(ns) };
    let tasks = summary(&used.tasks);
    let none = used.tasks.count == 0;
    let [count, _, mean, min, max, deviation] = tasks.map(|t| if none { String::new() } else { t });
    vec![
        place(p, line),
        spent(used.busy),
        (used.operations + used.small).to_string(),
        count,
        mean,
        min,
        max,
        deviation,
        spent(used.waited as f64),
        if used.bytes == 0 { String::new() } else { bytes(used.bytes) },
        short(p.source_line(line), 60),
    ]
}

/// `FILE:LINE` with the last part of the file's name.
pub fn place(p: &Profile, line: u32) -> String {
    let (file, number, _) = p.line(line);
    if file.is_empty() {
        return "(no line)".into();
    }
    format!("{}:{number}", file.rsplit('/').next().unwrap_or(file))
}

pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    let mut cut: String = text.chars().take(most - 1).collect();
    cut.push('…');
    cut
}
