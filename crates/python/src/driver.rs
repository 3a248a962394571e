//! Settings and the command line from Python: what is read at import, and what the `numloom` command does.

use numloom_config::{Ranks, Stop, refuse_ranks};
use numloom_driver::{Here, How, Outcome, Plan, plan, run};
use pyo3::prelude::*;
use std::io::Write;

/// Reads the settings from the environment, once, at import: an exit status where the program cannot go on, the text
/// for standard output, the sentence for standard error, and what is to be said once.
#[pyfunction]
fn read_settings() -> (Option<i32>, String, String, Vec<String>) {
    let resolved = match numloom_config::read() {
        Err(Stop::Help) => return (Some(0), numloom_config::help("numloom"), String::new(), Vec::new()),
        Err(Stop::Bad(error)) => {
            let usage = if error.usage { numloom_config::usage("numloom") } else { String::new() };
            return (Some(1), String::new(), format!("{error}\n{usage}"), Vec::new());
        }
        Ok(resolved) => resolved,
    };
    let ranks = Ranks::detect(&numloom_config::variable);
    if let Some(sentence) = refuse_ranks(ranks.as_ref(), resolved.is_some_and(|r| r.settings.disable_mpi)) {
        return (Some(1), String::new(), sentence + "\n", Vec::new());
    }
    let shown = resolved.filter(|r| r.settings.show_config).map_or(String::new(), numloom_config::show);
    (None, shown, String::new(), resolved.map_or(Vec::new(), |r| r.notes.clone()))
}

/// What is left for Python to do: an exit status, or a program to run in this process.
#[pyclass(frozen, get_all)]
struct Driven {
    status: Option<i32>,
    is_module: bool,
    program: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    notes: Vec<String>,
    timing: bool,
}

impl Driven {
    fn ended(status: i32) -> Driven {
        Driven {
            status: Some(status),
            is_module: false,
            program: String::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            notes: Vec::new(),
            timing: false,
        }
    }
}

/// Reads the command line and does what it says, up to running a Python program in this process.
#[pyfunction]
fn drive(py: Python<'_>, command: String, words: Vec<String>, python: String) -> Driven {
    match plan(&command, &words, &Here { python }) {
        Outcome::Say(text) => {
            print(std::io::stdout(), &text);
            Driven::ended(0)
        }
        Outcome::Refuse(refusal) => {
            say(&command, &refusal.sentence);
            Driven::ended(refusal.status)
        }
        Outcome::Run(plan) => start(py, &command, *plan),
    }
}

fn start(py: Python<'_>, command: &str, plan: Plan) -> Driven {
    print(std::io::stderr(), &run::opening(&plan));
    if let Err(error) = run::bind(&plan.binding) {
        say(command, &format!("cannot bind to {}: {error}", plan.binding.shown.join(", ")));
        return Driven::ended(1);
    }
    let settings = &plan.resolved.settings;
    if settings.cprofile
        && let Err(error) = std::fs::create_dir_all(&settings.logdir)
    {
        say(command, &format!("--logdir {}: the directory cannot be made: {error}", settings.logdir.display()));
        return Driven::ended(2);
    }
    let failed = |error: std::io::Error| {
        say(command, &format!("cannot start {}: {error}", plan.argv[0]));
        Driven::ended(1)
    };
    match plan.how {
        How::Exec => failed(run::exec(&plan)),
        How::Spawn => {
            let began = std::time::Instant::now();
            let ended = py.detach(|| run::spawn(&plan));
            say(command, &format!("the program took {:.3} s", began.elapsed().as_secs_f64()));
            ended.map_or_else(failed, Driven::ended)
        }
        How::Script | How::Module => {
            let settings = &plan.resolved.settings;
            if settings.show_config {
                print(std::io::stdout(), &numloom_config::show(&plan.resolved));
            }
            let driven = Driven {
                status: None,
                is_module: plan.how == How::Module,
                program: plan.program,
                arguments: plan.arguments,
                variables: plan.variables,
                notes: plan.resolved.notes.clone(),
                timing: settings.timing,
            };
            numloom_config::settle(plan.resolved);
            driven
        }
    }
}

/// Writes at once. A reader that has gone away, as in `numloom --help | head`, is no error.
fn print(mut to: impl Write, text: &str) {
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

fn say(command: &str, sentence: &str) {
    print(std::io::stderr(), &format!("{command}: {sentence}\n"));
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(read_settings, m)?)?;
    m.add_function(wrap_pyfunction!(drive, m)?)
}
