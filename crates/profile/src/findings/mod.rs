//! What a profile says against the program: one row a rule, in plain words, with the line, the cost and the change that
//! would help.

mod calls;
mod facts;
mod memory;
mod program;
mod time;

use crate::print::{bytes, duration, place};
use crate::read::Profile;
use facts::Facts;
use std::fmt::Write;

/// Something that costs, and what to do about it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// As `sync-in-loop`.
    pub kind: &'static str,
    /// Lines of the profile: where it is, and the loop around it (0: none).
    pub line: u32,
    pub looped: u32,
    pub seconds: f64,
    pub bytes: u64,
    pub title: String,
    pub text: String,
    pub advice: &'static str,
}

/// A kind of finding: what helps against it, and where it is.
struct Rule {
    kind: &'static str,
    advice: &'static str,
    find: fn(&Facts) -> Vec<Found>,
    /// Kinds that are the reason for this one: nothing is said where one of them has been found.
    unless: Unless,
}

/// Where a reason has to be found.
enum Unless {
    Never,
    /// On the same line.
    Line(&'static [&'static str]),
    /// Anywhere.
    Program(&'static [&'static str]),
}

impl Unless {
    fn holds(&self, line: u32, found: &[Finding]) -> bool {
        match self {
            Unless::Never => false,
            Unless::Line(kinds) => found.iter().any(|f| f.line == line && kinds.contains(&f.kind)),
            Unless::Program(kinds) => found.iter().any(|f| kinds.contains(&f.kind)),
        }
    }
}

/// What a rule has found.
struct Found {
    line: u32,
    seconds: f64,
    bytes: u64,
    title: String,
    text: String,
}

const RULES: &[Rule] = &[
    Rule {
        kind: "tiny-tasks",
        advice: "Work on the whole array at once, or on much larger slices: a task should run for a millisecond or more.",
        find: time::tiny_tasks,
        unless: Unless::Never,
    },
    Rule {
        kind: "small-operations",
        advice: "Move the loop into the arrays: one operation on a long array instead of many on short ones.",
        find: time::small_operations,
        unless: Unless::Never,
    },
    Rule {
        kind: "sync-in-loop",
        advice: "Keep the value an array and look at it after the loop, or only every so many turns.",
        find: time::syncs,
        unless: Unless::Never,
    },
    Rule {
        kind: "value-read-back",
        advice: "Build the array from arrays: `stack`, `concatenate`, or an operation on the whole.",
        find: calls::read_back,
        unless: Unless::Never,
    },
    Rule {
        kind: "fallback",
        advice: "Use a function that is native (`numloom.coverage()` lists them), or call this one less often.",
        find: calls::fallbacks,
        unless: Unless::Never,
    },
    Rule {
        kind: "scalar-indexing",
        advice: "Read or write whole slices; `take`, a mask or `where` does what the loop does by hand.",
        find: calls::scalar_indexing,
        unless: Unless::Never,
    },
    Rule {
        kind: "iteration",
        advice: "Use an operation on the whole array; `for x in a` takes the elements out one by one.",
        find: calls::iteration,
        unless: Unless::Never,
    },
    Rule {
        kind: "index-arrays",
        advice: "Use the mask itself: `x[mask] = …`, `putmask` or `where` writes in one pass, without index arrays.",
        find: calls::index_arrays,
        unless: Unless::Never,
    },
    Rule {
        kind: "stacking-in-loop",
        advice: "Collect the parts in a list and put them together once, or fill an array made before the loop.",
        find: calls::stacking,
        unless: Unless::Never,
    },
    Rule {
        kind: "temporaries",
        advice: "Write into an array that is there, with `out=` or an in-place operator such as `x += y`.",
        find: memory::temporaries,
        unless: Unless::Line(&["stacking-in-loop"]),
    },
    Rule {
        kind: "casts",
        advice: "Make the array in the type that is needed (`dtype=` where it is created) instead of converting it.",
        find: calls::casts,
        unless: Unless::Never,
    },
    Rule {
        kind: "unread-arrays",
        advice: "Let go of it (`del`) when it is not needed any more, or do not make it.",
        find: memory::unread,
        unless: Unless::Never,
    },
    Rule {
        kind: "memory-peak",
        advice: "Free or reuse what the lines named hold, work in parts, or give more with --sysmem (or --fbmem).",
        find: memory::peaks,
        unless: Unless::Never,
    },
    Rule {
        kind: "transposed-access",
        advice: "Keep the array in the order in which it is read (`ascontiguousarray` once), or loop over the other axis.",
        find: calls::transposed,
        unless: Unless::Never,
    },
    Rule {
        kind: "repartitioning",
        advice: "Work on the parts where they lie: the same slices on both sides, and no reading on the host in between.",
        find: memory::repartitioning,
        unless: Unless::Never,
    },
    Rule {
        kind: "utility-bound",
        advice: "Give the runtime fewer and larger operations: it spends this time on preparing them.",
        find: time::utility_bound,
        unless: Unless::Program(&["tiny-tasks"]),
    },
    Rule {
        kind: "python-bound",
        advice: "Move work from Python into arrays, or let it go on while arrays are computed (sync later).",
        find: time::python_bound,
        unless: Unless::Program(&["small-operations", "scalar-indexing", "iteration"]),
    },
    Rule {
        kind: "imbalance",
        advice: "Use larger arrays, or shapes whose first axis can be cut into equal parts.",
        find: time::imbalance,
        unless: Unless::Program(&["utility-bound", "tiny-tasks"]),
    },
    Rule {
        kind: "mpi4py",
        advice: "Leave mpi4py out: the ranks of a run are Numloom's own, and two masters of MPI get in each other's way.",
        find: program::mpi,
        unless: Unless::Never,
    },
];

/// Everything found, what costs most first.
pub fn findings(p: &Profile) -> Vec<Finding> {
    let facts = Facts::new(p);
    let mut out = Vec::new();
    for rule in RULES {
        // Reasons stand before what they explain.
        let fresh: Vec<Found> = (rule.find)(&facts).into_iter().filter(|f| !rule.unless.holds(f.line, &out)).collect();
        for f in fresh {
            let (looped, advice) = (facts.loop_of(f.line), rule.advice);
            let Found { line, seconds, bytes, title, text } = f;
            out.push(Finding { kind: rule.kind, line, looped, seconds, bytes, title, text, advice });
        }
    }
    out.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(b.bytes.cmp(&a.bytes)));
    out
}

/// Findings for people.
pub fn text(p: &Profile, found: &[Finding]) -> String {
    let mut out = String::new();
    let program = p.meta("program").unwrap_or("?");
    if found.is_empty() {
        let _ = writeln!(out, "{program}: nothing to complain about ({}).", duration(p.length() as f64));
        return out;
    }
    let _ = writeln!(out, "{program}: {} finding(s) in {}\n", found.len(), duration(p.length() as f64));
    for f in found {
        let mut cost = Vec::new();
        if f.seconds > 0.0 {
            cost.push(duration(f.seconds * 1e9));
        }
        if f.bytes > 0 {
            cost.push(bytes(f.bytes));
        }
        let cost = if cost.is_empty() { String::new() } else { format!("  ({})", cost.join(", ")) };
        let _ = writeln!(out, "{}: {}{cost}", f.kind, f.title);
        if f.line != 0 {
            let _ = writeln!(out, "    {}  {}", place(p, f.line), p.source_line(f.line));
        }
        if let Some((number, text)) = facts::loop_text(p, f.line) {
            let _ = writeln!(out, "    in the loop of line {number}: {text}");
        }
        let _ = writeln!(out, "    {}", f.text);
        let _ = writeln!(out, "    {}\n", f.advice);
    }
    out
}
