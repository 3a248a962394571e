//! One table of settings, and the machine they are for. The parser, the help text, the values, shell completion and
//! the documentation all come from the table.

mod cgroup;
mod completion;
mod docs;
mod given;
mod help;
mod kinds;
mod machine;
mod ranks;
mod resolve;
mod row;
mod show;
mod table;
#[cfg(test)]
mod test_tree;
mod words;

pub use completion::completion;
pub use docs::markdown;
pub use given::{ConfigError, Given, Source, Stop};
pub use help::{help, usage};
pub use kinds::{Blas, GpuBackend, Launcher, RunMode, Shell, number_list, scaled};
pub use machine::{Domain, Machine};
pub use ranks::{Lookup, Ranks, allotment, tasks_per_node};
pub use resolve::{Resolved, resolve};
pub use row::{Group, Row};
pub use show::show;
pub use table::{ROWS, Settings, row_of};
pub use words::{join, quote, split};

use std::sync::OnceLock;

static GIVEN: OnceLock<Given> = OnceLock::new();
static CURRENT: OnceLock<Resolved> = OnceLock::new();

/// The settings of this process, read once. What cannot be read is left at its default; `read` says what was wrong
/// with it.
pub fn current() -> &'static Settings {
    &current_with_sources().settings
}

/// The settings of this process, and where each came from.
pub fn current_with_sources() -> &'static Resolved {
    CURRENT.get_or_init(|| {
        let machine = Machine::here();
        let given = GIVEN.get_or_init(|| given_by(&variable).unwrap_or_default());
        resolve(given, &machine, false).unwrap_or_else(|_| without_a_word(&machine))
    })
}

/// Reads the environment, once, and says what is wrong with it. Where it gives nothing, the machine is not looked at
/// before the first setting is asked for.
pub fn read() -> Result<Option<&'static Resolved>, Stop> {
    let given = given_by(&variable)?;
    let resolved = if given.is_empty() { None } else { Some(resolve(&given, &Machine::here(), false)?) };
    let _ = GIVEN.set(given);
    Ok(resolved.map(|resolved| CURRENT.get_or_init(|| resolved)))
}

/// Sets this process's settings, before anything has asked for one. Whether they were not yet set.
pub fn settle(resolved: Resolved) -> bool {
    CURRENT.set(resolved).is_ok()
}

/// What the environment gives: `LEGATE_CONFIG`, then `NUMLOOM_CONFIG`, which wins.
pub fn given_by(env: &Lookup) -> Result<Given, Stop> {
    let mut given = Given::default();
    for (name, source) in [("LEGATE_CONFIG", Source::Legate), ("NUMLOOM_CONFIG", Source::Numloom)] {
        if let Some(text) = env(name) {
            given.read_text(&text, source)?;
        }
    }
    Ok(given)
}

/// A variable of this process. What is not text in it becomes marks that no flag has, and is refused as such.
pub fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn without_a_word(machine: &Machine) -> Resolved {
    resolve(&Given::default(), machine, false).expect("nothing given, nothing wrong")
}

/// Why this process must not go on as if it were alone: it is one of several, and they would all run the same.
pub fn refuse_ranks(ranks: Option<&Ranks>, disable_mpi: bool) -> Option<String> {
    let ranks = ranks.filter(|r| r.size > 1 && !disable_mpi)?;
    Some(format!(
        "this process is rank {} of {} ({}), and runs of more than one rank are not there yet: start one process, or \
         give --disable-mpi to let each run the whole program on its own",
        ranks.rank, ranks.size, ranks.launcher
    ))
}
