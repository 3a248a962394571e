//! Two runs, line by line. Lines are the same if their text and function are, wherever they have moved.

use crate::print::{duration, short};
use crate::read::Profile;
use crate::stats::{LineUse, Stats, stats};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A line in both runs: function, text, and where it stands in the last one that has it.
pub struct Row {
    pub text: String,
    pub place: String,
    pub before: Option<LineUse>,
    pub after: Option<LineUse>,
}

impl Row {
    /// Time gained, in ns; negative: lost.
    pub fn gained(&self) -> f64 {
        let spent = |u: &Option<LineUse>| u.as_ref().map_or(0.0, |u| u.busy + u.waited as f64);
        spent(&self.before) - spent(&self.after)
    }
}

/// All lines of both, those that changed most first.
pub fn rows(a: &Profile, b: &Profile) -> Vec<Row> {
    rows_of((a, &stats(a)), (b, &stats(b)))
}

fn rows_of((a, of_a): (&Profile, &Stats), (b, of_b): (&Profile, &Stats)) -> Vec<Row> {
    let mut by: BTreeMap<(String, String), Row> = BTreeMap::new();
    for (p, s, after) in [(a, of_a, false), (b, of_b, true)] {
        for &(line, used) in &s.lines {
            let (file, number, function) = p.line(line);
            let name = file.rsplit('/').next().unwrap_or(file);
            let place = if file.is_empty() { "(no line)".to_string() } else { format!("{name}:{number}") };
            let text = p.source_line(line);
            let key = if text.is_empty() { place.clone() } else { text.to_string() };
            let row = by.entry((function.to_string(), key)).or_insert_with(|| Row {
                text: text.to_string(),
                place: place.clone(),
                before: None,
                after: None,
            });
            row.place = place;
            let of = if after { &mut row.after } else { &mut row.before };
            let sum = of.get_or_insert_with(LineUse::default);
            sum.busy += used.busy;
            sum.waited += used.waited;
            sum.operations += used.operations;
            sum.small += used.small;
        }
    }
    let mut rows: Vec<Row> = by.into_values().collect();
    rows.sort_by(|x, y| y.gained().abs().total_cmp(&x.gained().abs()));
    rows
}

pub fn text(a: &Profile, b: &Profile, all: bool) -> String {
    let (of_a, of_b) = (stats(a), stats(b));
    let mut out = String::new();
    let (before, after) = (of_a.length as f64, of_b.length as f64);
    let _ = writeln!(out, "A: {} {}", a.path.display(), duration(before));
    let _ = writeln!(out, "B: {} {}", b.path.display(), duration(after));
    let _ = writeln!(out, "B took {:.2} times as long as A\n", after / before.max(1.0));
    let rows = rows_of((a, &of_a), (b, &of_b));
    let shown = if all { rows.len() } else { rows.len().min(25) };
    let _ = writeln!(out, "  {:<24} {:>10} {:>10} {:>11}  source", "line", "A", "B", "difference");
    for row in &rows[..shown] {
        let spent =
            |u: &Option<LineUse>| u.as_ref().map_or_else(|| "-".to_string(), |u| duration(u.busy + u.waited as f64));
        let gained = row.gained();
        let sign = if gained > 0.0 { "-" } else { "+" };
        let difference = format!("{sign}{}", duration(gained.abs()));
        let _ = writeln!(
            out,
            "  {:<24} {:>10} {:>10} {difference:>11}  {}",
            row.place,
            spent(&row.before),
            spent(&row.after),
            short(&row.text, 60)
        );
    }
    if rows.len() > shown {
        let _ = writeln!(out, "  … and {} more (--all shows them)", rows.len() - shown);
    }
    for (name, x, y) in lanes(&of_a, &of_b) {
        let _ = writeln!(out, "  {name}: {:.1}% of A, {:.1}% of B", x * 100.0, y * 100.0);
    }
    out
}

/// The utilisation of lanes that either has.
fn lanes(a: &Stats, b: &Stats) -> Vec<(&'static str, f64, f64)> {
    let of = |s: &Stats, lane| s.lanes.iter().find(|l| l.lane == lane).map_or(0.0, |l| l.utilisation);
    let all = crate::kinds::Lane::ALL.iter();
    all.map(|&lane| (lane.text(), of(a, lane), of(b, lane))).filter(|(_, x, y)| x + y > 0.0).collect()
}
