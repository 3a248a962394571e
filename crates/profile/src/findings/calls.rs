//! Rules about single calls of the program.

use super::Found;
use super::facts::{Facts, Sums};
use crate::kinds::{Doing, Use, traits};
use crate::print::{bytes, duration};
use crate::table::Spans;

/// Elements read or written one by one, on one line, that are many: in a loop, and elsewhere.
const MANY_IN_LOOP: u64 = 100;
const MANY_ELEMENTS: u64 = 500;

pub fn scalar_indexing(f: &Facts) -> Vec<Found> {
    let mut out = Vec::new();
    let many = |line: u32| if f.loop_key(line).is_some() { MANY_IN_LOOP } else { MANY_ELEMENTS };
    for (kind, done) in [(Use::ScalarRead, "read"), (Use::ScalarWrite, "written")] {
        for (line, s) in f.uses(kind).into_iter().filter(|&(line, s)| line != 0 && s.count >= many(line)) {
            let took = s.last.saturating_sub(s.first);
            out.push(Found {
                line,
                seconds: f.seconds(took),
                bytes: 0,
                title: format!("{} elements {done} one by one", s.count),
                text: "Each costs a call from Python, hundreds of times what the element itself costs.".into(),
            });
        }
    }
    out
}

pub fn iteration(f: &Facts) -> Vec<Found> {
    let found = f.uses(Use::Iteration).into_iter().filter(|(line, s)| *line != 0 && s.bytes >= 256);
    found
        .map(|(line, s)| {
            let text = f.p.source_line(line);
            let builtin = ["sum(", "max(", "min(", "any(", "all(", "sorted("].iter().find(|b| calls(text, b));
            let title = match builtin {
                Some(b) => format!("Python's own {}…) goes over an array", b),
                None => format!("iteration over {} elements", s.bytes),
            };
            Found {
                line,
                seconds: 0.0,
                bytes: 0,
                title,
                text: format!("{} elements are taken out one by one.", s.bytes),
            }
        })
        .collect()
}

/// Whether the text calls a builtin of this name, and not a function of a module.
fn calls(text: &str, builtin: &str) -> bool {
    text.match_indices(builtin).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || c == '.' || c == '_'))
    })
}

fn is_fallback(s: &Spans, k: usize) -> bool {
    s.kind[k] == Doing::Fallback as u8
}

pub fn fallbacks(f: &Facts) -> Vec<Found> {
    let s = &f.p.tables.spans;
    // What only makes an array (random numbers) has nothing to wait for.
    let waits = |line: u32| (0..s.kind.len()).any(|k| is_fallback(s, k) && s.line[k] == line && s.count[k] > 0);
    let name = |line: u32| {
        let first = (0..s.kind.len()).find(|&k| is_fallback(s, k) && s.line[k] == line);
        first.map_or("NumPy", |k| f.p.string(s.subject[k]))
    };
    let found = f.spans(Doing::Fallback).into_iter().filter(|&(line, s)| f.matters(s.ns) && waits(line));
    found
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: 0,
            title: format!("{} runs through NumPy, on one core ({} times)", name(line), s.count),
            text: "The program waits for its arguments first, and nothing else is computed meanwhile.".into(),
        })
        .collect()
}

/// Elements of a mask that make index arrays worth a word.
const LARGE: u64 = 64 << 10;

pub fn index_arrays(f: &Facts) -> Vec<Found> {
    let o = &f.p.tables.operations;
    let ran = f.operations(|k| f.p.string(o.name[k]) == "nonzero");
    let large: Vec<(u32, Sums)> = f.uses(Use::Nonzero).into_iter().filter(|(_, s)| s.bytes >= LARGE).collect();
    let found = ran.into_iter().filter(|(line, _)| large.iter().any(|(l, _)| l == line));
    found
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: s.bytes,
            title: "index arrays of a whole mask".into(),
            text: "`nonzero` writes eight bytes for every element chosen, and what is done through them jumps about."
                .into(),
        })
        .collect()
}

/// Parts put together on one line of a loop.
const MANY_JOINS: u64 = 8;

pub fn stacking(f: &Facts) -> Vec<Found> {
    let looped = |line: u32| f.loop_key(line).is_some();
    let found = f.uses(Use::Stack).into_iter().filter(|&(line, s)| s.count >= MANY_JOINS && looped(line));
    found
        .map(|(line, s)| Found {
            line,
            seconds: 0.0,
            bytes: s.bytes,
            title: format!("arrays are put together {} times in a loop", s.count),
            text: format!("Everything gathered so far is copied every time: {} in all.", bytes(s.bytes)),
        })
        .collect()
}

/// Bytes that a cast moves before it is worth a word.
const LARGE_CAST: u64 = 1 << 20;

pub fn casts(f: &Facts) -> Vec<Found> {
    let o = &f.p.tables.operations;
    let casts = f.operations(|k| o.traits[k] & traits::CASTS != 0);
    let found = casts.into_iter().filter(|(line, s)| *line != 0 && s.bytes >= LARGE_CAST && f.matters(s.ns));
    found
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: s.bytes,
            title: "an array is converted to another type".into(),
            text: format!("The copy moves {} and takes {}.", bytes(s.bytes), duration(s.ns as f64)),
        })
        .collect()
}

pub fn transposed(f: &Facts) -> Vec<Found> {
    let o = &f.p.tables.operations;
    let against = f.operations(|k| o.traits[k] & traits::JUMPS != 0);
    let found = against.into_iter().filter(|(line, s)| *line != 0 && s.ns >= f.length / 20 && f.matters(s.ns));
    found
        .map(|(line, s)| Found {
            line,
            seconds: f.seconds(s.ns),
            bytes: s.bytes,
            title: "an array is read against the order in which it lies".into(),
            text: "Every element comes from another cache line, so that most of what is loaded is not used.".into(),
        })
        .collect()
}

/// Fewer values than these that went through Python are not worth a word.
const FEW_VALUES: u64 = 16;

pub fn read_back(f: &Facts) -> Vec<Found> {
    let found = f.uses(Use::FromValues).into_iter().filter(|(line, s)| *line != 0 && s.bytes >= FEW_VALUES);
    found
        .map(|(line, s)| Found {
            line,
            seconds: 0.0,
            bytes: s.bytes,
            title: "an array is made from values that were read back".into(),
            text: format!("{} value(s) went from arrays through Python into a new array.", s.bytes),
        })
        .collect()
}
