//! From the words of the command line to what is to be done.

use crate::bind::{self, Binding, counted};
use crate::command::{Inputs, Program};
use crate::launch::Layout;
use crate::world::World;
use crate::{info, tell};
use numloom_config::{
    Launcher, Machine, Ranks, Resolved, Settings, Shell, Source, Stop, completion, given_by, help, refuse_ranks,
    resolve, show, usage,
};

/// What the command line comes to.
#[derive(Debug)]
pub enum Outcome {
    /// Print this, and no more.
    Say(String),
    Refuse(Refusal),
    Run(Box<Plan>),
}

/// One sentence, and the exit status: 2 for what makes no sense, 1 for what is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub sentence: String,
    pub status: i32,
}

pub(crate) fn refuse<T>(status: i32, sentence: String) -> Result<T, Refusal> {
    Err(Refusal { sentence, status })
}

/// How the program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A Python script, in the interpreter that reads the command line.
    Script,
    /// A Python module, in the same interpreter.
    Module,
    /// `argv` replaces this process.
    Exec,
    /// `argv` is started and waited for.
    Spawn,
}

#[derive(Debug)]
pub struct Plan {
    pub how: How,
    /// The command; for `Script` and `Module` the one that does the same.
    pub argv: Vec<String>,
    /// The script's file or the module's name, and its arguments.
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables to set.
    pub variables: Vec<(String, String)>,
    pub binding: Binding,
    pub resolved: Resolved,
}

pub fn plan(command: &str, words: &[String], world: &dyn World) -> Outcome {
    match try_plan(command, words, world) {
        Ok(outcome) => outcome,
        Err(Halt::Refused(refusal)) => Outcome::Refuse(refusal),
        Err(Halt::Stopped(Stop::Help)) => Outcome::Say(help(command)),
        Err(Halt::Stopped(Stop::Bad(error))) => {
            let usage = if error.usage { format!("\n{}", usage(command).trim_end()) } else { String::new() };
            Outcome::Refuse(Refusal { sentence: format!("{error}{usage}"), status: 1 })
        }
    }
}

/// Why planning ended early: reading the settings did, or there is something to refuse.
enum Halt {
    Stopped(Stop),
    Refused(Refusal),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Halt {
        Halt::Stopped(stop)
    }
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Halt {
        Halt::Refused(refusal)
    }
}

fn try_plan(command: &str, words: &[String], world: &dyn World) -> Result<Outcome, Halt> {
    let mut given = given_by(&|name| world.variable(name))?;
    let rest = given.read_words(words, Source::Flag)?;
    if command == "legate" && !given.has("profile_name") {
        // The names that its users look for; handed on to all that it starts.
        given.read_words(&["--profile-name=legate".into()], Source::Flag)?;
    }
    let mut machine = world.machine();
    let first = resolve(&given, &machine, true)?;
    if let Some(text) = only_said(command, &first.settings, world, &machine) {
        return Ok(Outcome::Say(text));
    }

    let ranks = machine.ranks.clone();
    let layout = lay_out(&first, ranks.as_ref(), world)?;
    let binding = match first.settings.launcher {
        Launcher::None => bind::of_rank(&first.settings, ranks.as_ref().map_or(0, |r| r.local_rank))?,
        _ => Binding::default(),
    };
    // The node's memory and cores are for all of its ranks, and a binding is this one's share of them.
    machine.share(layout.per_node(), Some(binding.cores.len()).filter(|&n| n > 0));
    let resolved = resolve(&given, &machine, true)?;

    let program = Program::find(&resolved.settings, rest, world)?;
    if program == Program::Interpreter && resolved.settings.show_config {
        return Ok(Outcome::Say(show(&resolved)));
    }
    if program == Program::Interpreter && layout.nodes() > 1 {
        let nodes = layout.nodes();
        refuse(2, format!("an interactive interpreter cannot run on {nodes} nodes: give a program"))?;
    }
    let several = several_ranks(&resolved.settings, &layout, ranks.as_ref());
    let rank = ranks.map_or(0, |r| r.rank);
    let plan = Inputs { given: &given, program, rest, layout: &layout, rank, world }.build(resolved, binding)?;
    match several {
        several if plan.resolved.settings.dry_run => Ok(Outcome::Say(tell::tell(&plan, several.as_deref()))),
        Some(sentence) => Ok(refuse(1, sentence)?),
        None => Ok(Outcome::Run(Box::new(plan))),
    }
}

/// Flags that ask for a text and nothing else.
fn only_said(command: &str, settings: &Settings, world: &dyn World, machine: &Machine) -> Option<String> {
    match settings {
        s if s.completion != Shell::None => Some(completion(command, s.completion)),
        s if s.version => Some(format!("{command} {}\n", crate::VERSION)),
        s if s.info => Some(info::info(world, machine)),
        _ => None,
    }
}

/// The ranks on each node, checked against the launcher and the bindings.
fn lay_out(resolved: &Resolved, ranks: Option<&Ranks>, world: &dyn World) -> Result<Layout, Refusal> {
    let s = &resolved.settings;
    let given = |field: &str, value: usize| resolved.is_given(field).then_some(value);
    let layout = match (s.launcher, ranks) {
        (Launcher::None, Some(ranks)) => Layout(vec![ranks.local_size]),
        (Launcher::None, None) => Layout(vec![s.ranks_per_node; s.nodes]),
        _ => Layout::find(given("nodes", s.nodes), given("ranks_per_node", s.ranks_per_node), world),
    };
    if s.launcher == Launcher::None && ranks.is_none() && layout.ranks() > 1 {
        let (what, flag) = match layout.nodes() {
            1 => (counted(layout.ranks(), "rank"), format!("--ranks-per-node {}", s.ranks_per_node)),
            nodes => (counted(nodes, "node"), format!("--nodes {}", s.nodes)),
        };
        return refuse(2, format!("{flag}: {what} need a launcher; give --launcher mpirun, srun, jsrun or aprun"));
    }
    bind::check(s, layout.per_node())?;
    Ok(layout)
}

fn several_ranks(settings: &Settings, layout: &Layout, ranks: Option<&Ranks>) -> Option<String> {
    if settings.launcher != Launcher::None && layout.ranks() > 1 && !settings.disable_mpi {
        let ranks = counted(layout.ranks(), "rank");
        return Some(format!(
            "this would start {ranks}, and runs of more than one rank are not there yet: run one rank, or see the \
             command with --dry-run"
        ));
    }
    refuse_ranks(ranks.filter(|_| settings.launcher == Launcher::None), settings.disable_mpi)
}
