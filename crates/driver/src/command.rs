//! The command that a plan runs: the program, what stands before it, and the launcher around both.

use crate::bind::Binding;
use crate::launch::{self, Layout, words_of};
use crate::plan::{How, Plan, Refusal, refuse};
use crate::world::{FileKind, World};
use numloom_config::{Given, Launcher, Resolved, RunMode, Settings, Source, join};

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    Script(String),
    Module(String),
    Executable(String),
    Interpreter,
}

impl Program {
    /// What the flags and the words after them name.
    pub fn find(settings: &Settings, rest: &[String], world: &dyn World) -> Result<Program, Refusal> {
        if !settings.module.is_empty() {
            return match settings.run_mode {
                RunMode::Exec => {
                    refuse(2, format!("-m {}: a module cannot be run with --run-mode exec", settings.module))
                }
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
            FileKind::Missing => {
                refuse(2, format!("{program}: there is no such file, and no such program on the PATH"))
            }
            // A file in this directory is meant, as Python would take it.
            FileKind::Executable => Ok(Program::Executable(format!("./{program}"))),
            _ => refuse(2, format!("{program} is not executable; --run-mode python runs it as a Python script")),
        }
    }

    /// The words that name it, after the interpreter's if it has one.
    fn words(&self) -> Vec<String> {
        match self {
            Program::Script(name) | Program::Executable(name) => vec![name.clone()],
            Program::Module(name) => vec!["-m".into(), name.clone()],
            Program::Interpreter => Vec::new(),
        }
    }

    fn name(self) -> String {
        match self {
            Program::Script(name) | Program::Module(name) | Program::Executable(name) => name,
            Program::Interpreter => String::new(),
        }
    }
}

/// Tokens in arguments that stand for the rank.
const RANK_TOKENS: [&str; 2] = ["%%NUMLOOM_GLOBAL_RANK%%", "%%LEGATE_GLOBAL_RANK%%"];

fn with_rank(word: &str, rank: usize) -> String {
    RANK_TOKENS.iter().fold(word.to_string(), |word, token| word.replace(token, &rank.to_string()))
}

/// What a plan is built from, besides the settings.
pub struct Inputs<'a> {
    pub given: &'a Given,
    pub program: Program,
    /// The words after the flags.
    pub rest: &'a [String],
    pub layout: &'a Layout,
    pub rank: usize,
    pub world: &'a dyn World,
}

impl Inputs<'_> {
    pub fn build(self, resolved: Resolved, binding: Binding) -> Result<Plan, Refusal> {
        let s = &resolved.settings;
        let launched = s.launcher != Launcher::None;
        if s.module.is_empty() && resolved.is_given("module") {
            return refuse(2, "-m: the name of a module is missing".into());
        }
        // Whether they are needed or not, so that they are right on the day they are.
        for text in &s.launcher_extra {
            launch::words_of("launcher-extra", text)?;
        }
        let python = self.world.python();
        let named = usize::from(!matches!(self.program, Program::Module(_) | Program::Interpreter));
        let mut arguments = self.rest[named.min(self.rest.len())..].to_vec();
        let mut argv = if launched {
            self.launched(s, &binding)?
        } else {
            // A launched rank is this command again, and puts its own number in.
            arguments.iter_mut().for_each(|word| *word = with_rank(word, self.rank));
            let mut argv = tools(s, self.rank, self.world)?;
            argv.extend(program_command(s, &self.program, &python, self.rank)?);
            argv
        };
        argv.extend(arguments.iter().cloned());

        let plain = !launched && !s.cprofile && argv.first() == Some(&python);
        let how = match &self.program {
            // Anything else that Python runs (an archive, a directory) is Python's own business.
            Program::Script(file) if plain && is_source(file, self.world) => How::Script,
            Program::Module(_) if plain => How::Module,
            _ if s.timing => How::Spawn,
            _ => How::Exec,
        };
        let mut variables = binding.variables.clone();
        if !launched {
            variables.extend(self.settings_for_children(how, &resolved));
        }
        Ok(Plan { how, argv, program: self.program.name(), arguments, variables, binding, resolved })
    }

    /// The launcher's words, and this command again with the flags that are left to do.
    fn launched(&self, s: &Settings, binding: &Binding) -> Result<Vec<String>, Refusal> {
        let mut argv = launch::command(s.launcher, self.layout, &s.launcher_extra, &binding.variables, self.world)?;
        argv.extend([self.world.python(), "-m".into(), "numloom".into(), "--launcher=none".into()]);
        argv.extend(self.given.words(|row, source| source == Source::Flag && !OUTER.contains(&row.field)));
        argv.extend(self.program.words());
        Ok(argv)
    }

    /// The variables that hand the settings on. What the command has shown and said, its children need not again.
    fn settings_for_children(&self, how: How, resolved: &Resolved) -> Vec<(String, String)> {
        let here = matches!(how, How::Script | How::Module);
        let passed = self
            .given
            .words(|row, source| source > Source::Legate && !row.driver && !(here && row.field == "show_config"));
        [("NUMLOOM_CONFIG", join(&passed)), ("NUMLOOM_SAID", resolved.acted_on.join("\n"))]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }
}

fn is_source(file: &str, world: &dyn World) -> bool {
    file.ends_with(".py") && world.file(file) != FileKind::Directory
}

/// Flags that the launching process has acted on; its ranks must not do so again.
const OUTER: [&str; 8] =
    ["nodes", "ranks_per_node", "launcher", "launcher_extra", "verbose", "dry_run", "timing", "module"];

/// What stands before the program: wrappers and debuggers.
fn tools(s: &Settings, rank: usize, world: &dyn World) -> Result<Vec<String>, Refusal> {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for text in &s.wrapper {
        parts.push(("wrapper", words_of("wrapper", text)?));
    }
    let profile = s.logdir.join(format!("{}_{rank}", s.profile_name)).display().to_string();
    // What each runs under, in the order from the outermost.
    let known: [(&str, bool, &str); 6] = [
        ("nsys", s.nsys, "nsys profile --trace=cuda,nvtx,osrt --output"),
        ("nvprof", s.nvprof, "nvprof --force-overwrite --export-profile"),
        ("memcheck", s.memcheck, "compute-sanitizer"),
        ("cuda-gdb", s.cuda_gdb, "cuda-gdb --args"),
        ("gdb", s.gdb, "gdb --args"),
        ("valgrind", s.valgrind, "valgrind"),
    ];
    for (flag, _, line) in known.into_iter().filter(|(_, wanted, _)| *wanted) {
        let mut words: Vec<String> = line.split(' ').map(String::from).collect();
        match flag {
            "nsys" => {
                words.push(profile.clone());
                for text in &s.nsys_extra {
                    words.extend(words_of("nsys-extra", text)?);
                }
            }
            "nvprof" => words.push(format!("{profile}.nvvp")),
            _ => {}
        }
        parts.push((flag, words));
    }
    for text in &s.wrapper_inner {
        parts.push(("wrapper-inner", words_of("wrapper-inner", text)?));
    }
    let mut out = Vec::new();
    for (flag, words) in parts {
        let Some(tool) = words.first() else { continue };
        if world.find(tool).is_none() && ["nsys", "nvprof"].contains(&flag) {
            // A program is worth running without a profiler, not without the debugger that was asked for.
            eprintln!("numloom: --{flag}: there is no {tool} on the PATH; the program runs without it");
            continue;
        }
        if world.find(tool).is_none() {
            return refuse(1, format!("--{flag}: there is no {tool} on the PATH; install it or leave the flag out"));
        }
        out.extend(words.iter().map(|w| with_rank(w, rank)));
    }
    Ok(out)
}

fn program_command(s: &Settings, program: &Program, python: &str, rank: usize) -> Result<Vec<String>, Refusal> {
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
        Program::Executable(file) => Ok(vec![file.clone()]),
        _ => {
            out.extend(program.words());
            Ok(out)
        }
    }
}
