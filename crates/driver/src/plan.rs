//! From the words of the command line to what is to be done.

use crate::bind::{self, Binding, counted};
use crate::launch::{self, Layout, words_of};
use crate::world::{FileKind, World};
use crate::{info, tell};
use numloom_config::{
    Given, Launcher, Ranks, Resolved, RunMode, Settings, Shell, Source, Stop, completion, given_by, help, join,
    refuse_ranks, resolve, show, usage,
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

/// What is to be run.
enum Program {
    Script(String),
    Module(String),
    Executable(String),
    Interpreter,
}

/// Tokens in arguments that stand for the rank.
const RANK_TOKENS: [&str; 2] = ["%%NUMLOOM_GLOBAL_RANK%%", "%%LEGATE_GLOBAL_RANK%%"];

/// Subcommands that have a name and nothing behind it yet.
const SUBCOMMANDS: [(&str, &str); 2] = [("prof", "profiles are not written yet"), ("doctor", "there is no doctor yet")];

pub fn plan(command: &str, words: &[String], world: &dyn World) -> Outcome {
    try_plan(command, words, world).unwrap_or_else(Outcome::Refuse)
}

fn try_plan(command: &str, words: &[String], world: &dyn World) -> Result<Outcome, Refusal> {
    if let Some((name, why)) = SUBCOMMANDS.iter().find(|(name, _)| words.first().is_some_and(|w| w == name)) {
        return refuse(2, format!("{name}: {why}"));
    }
    let mut given = match given_by(&|name| world.variable(name)) {
        Ok(given) => given,
        Err(stop) => return stopped(command, stop),
    };
    let rest = match given.read_words(words, Source::Flag) {
        Ok(rest) => rest,
        Err(stop) => return stopped(command, stop),
    };
    let mut machine = world.machine();
    let mut resolved = match resolve(&given, &machine, true) {
        Ok(resolved) => resolved,
        Err(stop) => return stopped(command, stop),
    };
    let settings = &resolved.settings;
    if settings.completion != Shell::None {
        return Ok(Outcome::Say(completion(command, settings.completion)));
    }
    if settings.version {
        return Ok(Outcome::Say(format!("{command} {}\n", crate::VERSION)));
    }
    if settings.info {
        return Ok(Outcome::Say(info::info(world, &machine)));
    }

    let ranks = machine.ranks.clone();
    let layout = lay_out(&resolved, ranks.as_ref(), world)?;
    let binding = match settings.launcher {
        Launcher::None => bind::of_rank(settings, ranks.as_ref().map_or(0, |r| r.local_rank))?,
        _ => Binding::default(),
    };
    // The node's memory and cores are for all of its ranks, and a binding is this one's share of them.
    machine.share(layout.per_node(), Some(binding.cores.len()).filter(|&n| n > 0));
    resolved = match resolve(&given, &machine, true) {
        Ok(resolved) => resolved,
        Err(stop) => return stopped(command, stop),
    };
    if command == "legate" && !resolved.is_given("profile_name") {
        resolved.settings.profile_name = "legate".into();
    }

    let program = what_to_run(&resolved.settings, rest, world)?;
    if matches!(program, Program::Interpreter) {
        if resolved.settings.show_config {
            return Ok(Outcome::Say(show(&resolved)));
        }
        if layout.nodes() > 1 {
            return refuse(
                2,
                format!("an interactive interpreter cannot run on {} nodes: give a program", layout.nodes()),
            );
        }
    }
    let plan = build(&given, resolved, program, rest, &layout, binding, ranks.as_ref(), world)?;
    let settings = &plan.resolved.settings;
    let several = several_ranks(settings, &layout, ranks.as_ref());
    if settings.dry_run {
        return Ok(Outcome::Say(tell::tell(&plan, several.as_deref())));
    }
    match several {
        Some(sentence) => refuse(1, sentence),
        None => Ok(Outcome::Run(Box::new(plan))),
    }
}

fn stopped(command: &str, stop: Stop) -> Result<Outcome, Refusal> {
    match stop {
        Stop::Help => Ok(Outcome::Say(help(command))),
        Stop::Bad(error) if error.usage => refuse(1, format!("{error}\n{}", usage(command).trim_end())),
        Stop::Bad(error) => refuse(1, error.to_string()),
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

fn what_to_run(settings: &Settings, rest: &[String], world: &dyn World) -> Result<Program, Refusal> {
    if !settings.module.is_empty() {
        return match settings.run_mode {
            RunMode::Exec => refuse(2, format!("-m {}: a module cannot be run with --run-mode exec", settings.module)),
            _ => Ok(Program::Module(settings.module.clone())),
        };
    }
    let Some(program) = rest.first() else { return Ok(Program::Interpreter) };
    let python = match settings.run_mode {
        RunMode::Python => true,
        RunMode::Exec => false,
        RunMode::Auto => program.ends_with(".py"),
    };
    if python {
        return match world.file(program) {
            FileKind::Missing => refuse(2, format!("{program}: there is no such file")),
            _ => Ok(Program::Script(program.clone())),
        };
    }
    if world.find(program).is_some() {
        return Ok(Program::Executable(program.clone()));
    }
    match world.file(program) {
        FileKind::Missing => refuse(2, format!("{program}: there is no such file, and no such program on the PATH")),
        // A file in this directory is meant, as Python would take it.
        FileKind::Executable => Ok(Program::Executable(format!("./{program}"))),
        _ => refuse(2, format!("{program} is not executable; --run-mode python runs it as a Python script")),
    }
}

fn build(
    given: &Given,
    resolved: Resolved,
    program: Program,
    rest: &[String],
    layout: &Layout,
    binding: Binding,
    ranks: Option<&Ranks>,
    world: &dyn World,
) -> Result<Plan, Refusal> {
    let s = &resolved.settings;
    let launched = s.launcher != Launcher::None;
    let arguments: Vec<String> = match program {
        Program::Module(_) => rest.to_vec(),
        _ => rest.iter().skip(1).cloned().collect(),
    };
    let rank = ranks.map_or(0, |r| r.rank).to_string();
    // A launched rank is this command again, and puts its own number in.
    let filled = |word: &str| match launched {
        true => word.to_string(),
        false => RANK_TOKENS.iter().fold(word.to_string(), |word, token| word.replace(token, &rank)),
    };
    let arguments: Vec<String> = arguments.iter().map(|a| filled(a)).collect();
    let python = world.python();

    let mut variables = binding.variables.clone();
    let argv = if launched {
        let mut argv = launch::command(s.launcher, layout, &s.launcher_extra, &variables, world)?;
        argv.extend([python, "-m".into(), "numloom".into(), "--launcher=none".into()]);
        argv.extend(given.words(|row, source| source == Source::Flag && !OUTER.contains(&row.field)));
        match &program {
            Program::Module(name) => argv.extend(["-m".into(), name.clone()]),
            Program::Script(name) | Program::Executable(name) => argv.push(name.clone()),
            Program::Interpreter => {}
        }
        argv.extend(arguments.iter().cloned());
        argv
    } else {
        let mut argv = tools(s, &filled, world)?;
        argv.extend(program_command(s, &program, &python, &rank)?);
        argv.extend(arguments.iter().cloned());
        argv
    };

    let plain = !launched && !s.cprofile && argv.first() == Some(&world.python());
    let how = match &program {
        // Anything else that Python runs (an archive, a directory) is Python's own business.
        Program::Script(file) if plain && file.ends_with(".py") && world.file(file) != FileKind::Directory => {
            How::Script
        }
        Program::Module(_) if plain => How::Module,
        _ if s.timing => How::Spawn,
        _ => How::Exec,
    };
    let here = matches!(how, How::Script | How::Module);
    // What the driver has shown its children need not show again.
    let passed =
        given.words(|row, source| source > Source::Legate && !row.driver && !(here && row.field == "show_config"));
    if !launched && !passed.is_empty() {
        variables.push(("NUMLOOM_CONFIG".into(), join(&passed)));
    }
    if !launched && !resolved.acted_on.is_empty() {
        variables.push(("NUMLOOM_SAID".into(), resolved.acted_on.join("\n")));
    }
    let program = match program {
        Program::Script(name) | Program::Module(name) | Program::Executable(name) => name,
        Program::Interpreter => String::new(),
    };
    Ok(Plan { how, argv, program, arguments, variables, binding, resolved })
}

/// Flags that the launching process has acted on; its ranks must not do so again.
const OUTER: [&str; 8] =
    ["nodes", "ranks_per_node", "launcher", "launcher_extra", "verbose", "dry_run", "timing", "module"];

/// What stands before the program: wrappers and debuggers.
fn tools(s: &Settings, filled: &dyn Fn(&str) -> String, world: &dyn World) -> Result<Vec<String>, Refusal> {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for text in &s.wrapper {
        parts.push(("wrapper", words_of("wrapper", text)?));
    }
    if s.gdb {
        parts.push(("gdb", vec!["gdb".into(), "--args".into()]));
    }
    if s.valgrind {
        parts.push(("valgrind", vec!["valgrind".into()]));
    }
    for text in &s.wrapper_inner {
        parts.push(("wrapper-inner", words_of("wrapper-inner", text)?));
    }
    let mut out = Vec::new();
    for (flag, words) in parts {
        let Some(tool) = words.first() else { continue };
        if world.find(tool).is_none() {
            return refuse(1, format!("--{flag}: there is no {tool} on the PATH; install it or leave the flag out"));
        }
        out.extend(words.iter().map(|w| filled(w)));
    }
    Ok(out)
}

fn program_command(s: &Settings, program: &Program, python: &str, rank: &str) -> Result<Vec<String>, Refusal> {
    let mut out = vec![python.to_string()];
    match (program, s.cprofile) {
        (Program::Executable(_) | Program::Interpreter, true) => {
            return refuse(2, "--cprofile: there is no Python script or module to profile".into());
        }
        (_, true) => {
            let file = s.logdir.join(format!("{}_{rank}.cprof", s.profile_name));
            out.extend(["-m", "cProfile", "-o"].map(String::from));
            out.push(file.display().to_string());
        }
        _ => {}
    }
    match program {
        Program::Script(file) => out.push(file.clone()),
        Program::Module(name) => out.extend(["-m".into(), name.clone()]),
        Program::Executable(file) => out = vec![file.clone()],
        Program::Interpreter => {}
    }
    Ok(out)
}
