//! The commands built, and the sentences that refuse.

use crate::plan::{How, Outcome, Plan, plan};
use crate::tell::tell;
use crate::world::{FileKind, World};
use numloom_config::{Machine, Ranks, split};
use std::path::{Path, PathBuf};

/// A world of a few files, programs and variables, on a machine of which nothing is known but eight cores.
#[derive(Default)]
struct Fake {
    variables: Vec<(String, String)>,
    mpirun: &'static str,
}

impl World for Fake {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone())
    }

    fn variables(&self) -> Vec<String> {
        self.variables.iter().map(|(name, _)| name.clone()).collect()
    }

    fn find(&self, program: &str) -> Option<PathBuf> {
        let there = ["gdb", "nsys", "compute-sanitizer", "srun", "jsrun", "aprun", "echo", "./exe", "time"]
            .contains(&program)
            || (program == "mpirun" && !self.mpirun.is_empty());
        there.then(|| Path::new("/bin").join(program))
    }

    fn version_of(&self, _: &Path) -> String {
        self.mpirun.into()
    }

    fn file(&self, path: &str) -> FileKind {
        match path {
            "prog.py" | "notes.txt" => FileKind::Plain,
            "exe" | "./exe" => FileKind::Executable,
            "package" => FileKind::Directory,
            _ => FileKind::Missing,
        }
    }

    fn python(&self) -> String {
        "python".into()
    }

    fn machine(&self) -> Machine {
        Machine::at(Path::new("/nowhere"), 8, Ranks::detect(&|name| self.variable(name)))
    }
}

/// A world with variables, written `NAME=value;NAME=value`.
fn world(variables: &str, mpirun: &'static str) -> Fake {
    let pair = |text: &str| text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    Fake { variables: variables.split(';').filter_map(pair).collect(), mpirun }
}

fn outcome(line: &str, world: &Fake) -> Outcome {
    plan("numloom", &split(line).unwrap(), world)
}

fn planned(line: &str, world: &Fake) -> Plan {
    match outcome(line, world) {
        Outcome::Run(plan) => *plan,
        other => panic!("{line}: {other:?}"),
    }
}

fn said(line: &str, world: &Fake) -> String {
    match outcome(line, world) {
        Outcome::Say(text) => text,
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str, world: &Fake) -> (i32, String) {
    match outcome(line, world) {
        Outcome::Refuse(refusal) => (refusal.status, refusal.sentence),
        other => panic!("{line}: {other:?}"),
    }
}

const OPEN_MPI: &str = "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
const MPICH: &str = "HYDRA build details:\n    Version:                                 4.2.0\n";

#[test]
fn a_script_runs_in_this_process() {
    let plan = planned("--cpus 2 --sysmem 40 prog.py a --cpus 3 %%LEGATE_GLOBAL_RANK%%", &Fake::default());
    assert_eq!((plan.how, plan.program.as_str()), (How::Script, "prog.py"));
    assert_eq!(plan.arguments, ["a", "--cpus", "3", "0"]);
    assert_eq!(
        tell(&plan, None),
        "Command (in this process):\n  python prog.py a --cpus 3 0\nEnvironment:\n  NUMLOOM_CONFIG='--cpus=2 --sysmem=40'\n"
    );
    assert_eq!((plan.resolved.settings.cpus, plan.resolved.settings.sysmem), (2, 40 << 20));
}

#[test]
fn modules_executables_and_the_interpreter() {
    let plan = planned("-m package.tool --help", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Module, split("python -m package.tool --help").unwrap()));
    let plan = planned("./exe 1 2", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("./exe 1 2").unwrap()));
    let plan = planned("exe", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("./exe").unwrap()));
    let plan = planned("--timing echo hello", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Spawn, split("echo hello").unwrap()));
    let plan = planned("--run-mode python notes.txt", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("python notes.txt").unwrap()));
    let plan = planned("--run-mode python package", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("python package").unwrap()));
    let plan = planned("--gpus 0", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("python").unwrap()));
}

#[test]
fn wrappers_and_debuggers() {
    let plan =
        planned("--wrapper 'time -p' --gdb --wrapper-inner 'echo %%NUMLOOM_GLOBAL_RANK%%' prog.py x", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Exec, split("time -p gdb --args echo 0 python prog.py x").unwrap()));
    let plan = planned("--nsys --nsys-extra '--stats true' --memcheck --logdir /tmp/logs prog.py x", &Fake::default());
    let line = "nsys profile --trace=cuda,nvtx,osrt --output /tmp/logs/numloom_0 --stats true compute-sanitizer python prog.py x";
    assert_eq!((plan.how, plan.argv), (How::Exec, split(line).unwrap()));
    let plan = planned("--nvprof prog.py x", &Fake::default());
    assert_eq!((plan.how, plan.argv), (How::Script, split("python prog.py x").unwrap()), "there is no nvprof");
    let plan = planned("--cprofile --logdir /tmp/logs prog.py x", &Fake::default());
    assert_eq!(plan.argv, split("python -m cProfile -o /tmp/logs/numloom_0.cprof prog.py x").unwrap());
    let plan = planned("--cprofile -m tool x", &Fake::default());
    assert_eq!(plan.argv, split("python -m cProfile -o ./numloom_0.cprof -m tool x").unwrap());
}

#[test]
fn launchers_have_their_own_words() {
    let variables = "HOME=/root;LEGATE_CONFIG=--sysmem 100;PATH=/bin;PYTHONPATH=/lib";
    let flags = "--nodes 2 --ranks-per-node 2 --cpus 4 --cpu-bind 0-3/4-7 --dry-run --launcher-extra '--host a,b'";
    let rank = "python -m numloom --launcher=none --cpu-bind=0-3/4-7 --cpus=4 prog.py x %%NUMLOOM_GLOBAL_RANK%%";
    let refusal = "this would start 4 ranks, and runs of more than one rank are not there yet: run one rank, or see the command with --dry-run";
    for (launcher, mpirun, words) in [
        (
            "mpirun",
            OPEN_MPI,
            "mpirun -n 4 --map-by ppr:2:node --bind-to none -x LEGATE_CONFIG -x PATH -x PYTHONPATH --host a,b",
        ),
        ("mpirun", MPICH, "mpirun -n 4 -ppn 2 -bind-to none --host a,b"),
        ("srun", "", "srun -N 2 -n 4 --ntasks-per-node 2 --cpu-bind=none --export=ALL --host a,b"),
        (
            "jsrun",
            "",
            "jsrun -n 2 -r 1 -a 2 -c ALL_CPUS -g ALL_GPUS -b none -E LEGATE_CONFIG -E PATH -E PYTHONPATH --host a,b",
        ),
        ("aprun", "", "aprun -n 4 -N 2 -cc none --host a,b"),
    ] {
        let world = world(variables, mpirun);
        let line = format!("--launcher {launcher} {flags} prog.py x %%NUMLOOM_GLOBAL_RANK%%");
        assert_eq!(said(&line, &world), format!("Command:\n  {words} {rank}\nNot run:\n  {refusal}\n"));
        assert_eq!(refused(&line.replace("--dry-run", ""), &world), (1, refusal.to_string()));
    }
}

#[test]
fn slurm_says_how_many_nodes() {
    let line = "--launcher srun --dry-run prog.py";
    let command =
        |variables: &str, line: &str| said(line, &world(variables, "")).lines().nth(1).unwrap().trim().to_string();
    let rank = "--cpu-bind=none --export=ALL python -m numloom --launcher=none prog.py";
    for (variables, words) in [
        ("SLURM_NNODES=2", "srun -N 2 -n 2 --ntasks-per-node 1"),
        ("SLURM_NNODES=2;SLURM_TASKS_PER_NODE=4", "srun -N 2 -n 8 --ntasks-per-node 4"),
        ("SLURM_TASKS_PER_NODE=4(x2)", "srun -N 2 -n 8 --ntasks-per-node 4"),
        ("SLURM_TASKS_PER_NODE=2(x3),1", "srun -N 4 -n 7"),
    ] {
        assert_eq!(command(variables, line), format!("{words} {rank}"));
    }
    let flags = "--launcher srun --nodes 3 --ranks-per-node 1 --dry-run prog.py";
    assert_eq!(command("SLURM_TASKS_PER_NODE=2(x3),1", flags), format!("srun -N 3 -n 3 --ntasks-per-node 1 {rank}"));
}

#[test]
fn one_rank_under_a_launcher_runs() {
    let plan = planned("--launcher mpirun --verbose prog.py", &world("", OPEN_MPI));
    assert_eq!(
        plan.argv,
        split("mpirun -n 1 --map-by ppr:1:node --bind-to none python -m numloom --launcher=none prog.py").unwrap()
    );
}

#[test]
fn a_rank_knows_its_own_binding() {
    let second =
        "OMPI_COMM_WORLD_RANK=3;OMPI_COMM_WORLD_SIZE=4;OMPI_COMM_WORLD_LOCAL_RANK=1;OMPI_COMM_WORLD_LOCAL_SIZE=2";
    let line = "--disable-mpi --cpu-bind 0-3/4-6 --mem-bind 0/1 --gpu-bind 0,1/2 prog.py %%LEGATE_GLOBAL_RANK%%";
    let plan = planned(line, &world(second, ""));
    assert_eq!((&plan.binding.cores[..], &plan.binding.domains[..]), (&[4, 5, 6][..], &[1][..]));
    assert_eq!(
        tell(&plan, None),
        "Command (in this process):\n  python prog.py 3\nEnvironment:\n  CUDA_VISIBLE_DEVICES=2\n  \
         NUMLOOM_CONFIG=--disable-mpi=1\nBinding:\n  cores 4-6\n  NUMA domains 1\n  GPUs 2\n"
    );
    let (status, sentence) = refused("prog.py", &world(second, ""));
    assert_eq!(status, 1);
    assert!(
        sentence.starts_with("this process is rank 3 of 4 (Open MPI), and runs of more than one rank"),
        "{sentence}"
    );
}

#[test]
fn nonsense_is_refused_with_one_sentence() {
    let slurm = "SLURM_NNODES=2";
    for (line, variables, status, sentence) in [
        (
            "--nodes 2 prog.py",
            "",
            2,
            "--nodes 2: 2 nodes need a launcher; give --launcher mpirun, srun, jsrun or aprun",
        ),
        (
            "--ranks-per-node 2 prog.py",
            "",
            2,
            "--ranks-per-node 2: 2 ranks need a launcher; give --launcher mpirun, srun, jsrun or aprun",
        ),
        (
            "--launcher mpirun prog.py",
            "",
            1,
            "--launcher mpirun: there is no mpirun on the PATH; load its module or install it",
        ),
        ("--launcher dask prog.py", "", 2, "--launcher dask: there is no Dask here; use mpirun or srun"),
        (
            "--cpu-bind 0-3/4-7 prog.py",
            "",
            2,
            "--cpu-bind 0-3/4-7 has 2 groups, and a node has 1 rank: give one group for each rank",
        ),
        (
            "--launcher srun --ranks-per-node 2 --mem-bind 0 prog.py",
            "",
            2,
            "--mem-bind 0 has 1 group, and a node has 2 ranks: give one group for each rank",
        ),
        ("--launcher srun", slurm, 2, "an interactive interpreter cannot run on 2 nodes: give a program"),
        ("missing.py", "", 2, "missing.py: there is no such file"),
        ("missing", "", 2, "missing: there is no such file, and no such program on the PATH"),
        ("notes.txt", "", 2, "notes.txt is not executable; --run-mode python runs it as a Python script"),
        ("--cuda-gdb prog.py", "", 1, "--cuda-gdb: there is no cuda-gdb on the PATH; install it or leave the flag out"),
        ("--valgrind prog.py", "", 1, "--valgrind: there is no valgrind on the PATH; install it or leave the flag out"),
        ("--cprofile ./exe", "", 2, "--cprofile: there is no Python script or module to profile"),
        ("--run-mode exec -m tool", "", 2, "-m tool: a module cannot be run with --run-mode exec"),
        ("--wrapper \"time 'x\" prog.py", "", 2, "--wrapper time 'x: a ' is opened and never closed"),
        ("--launcher-extra \"x'y\" prog.py", "", 2, "--launcher-extra x'y: a ' is opened and never closed"),
        ("-m ''", "", 2, "-m: the name of a module is missing"),
        ("--sysmem lots prog.py", "", 1, "--sysmem lots: a whole number of MiB is needed, such as --sysmem 4"),
        (
            "prog.py",
            "LEGATE_CONFIG=--sysmem -1",
            1,
            "--sysmem -1 (in LEGATE_CONFIG): a whole number of MiB, 1 or more, is needed",
        ),
    ] {
        assert_eq!(refused(line, &world(variables, "")), (status, sentence.to_string()), "{line}");
    }
    assert!(
        refused("--launcher mpirun prog.py", &world("", "something else")).1.contains("neither Open MPI nor MPICH")
    );
    assert!(refused("--nonsense prog.py", &Fake::default()).1.contains("\nusage: numloom [flags]"));
}

#[test]
fn flags_win_over_the_environment() {
    let plan =
        planned("--cpus 3 prog.py", &world("LEGATE_CONFIG=--cpus 1 --fuse=0;NUMLOOM_CONFIG=--cpus 2 --jit=0", ""));
    let s = &plan.resolved.settings;
    assert_eq!((s.cpus, s.fuse, s.jit), (3, false, false));
    assert_eq!(plan.variables, [("NUMLOOM_CONFIG".to_string(), "--cpus=3 --jit=0".to_string())]);
    let plan = planned("--auto-config=0 --profile=1 prog.py", &Fake::default());
    assert_eq!((plan.resolved.settings.cpus, plan.resolved.settings.gpus), (1, 0));
    assert_eq!(plan.resolved.notes, [""; 0]);
}

#[test]
fn under_its_other_name_profiles_have_it_too() {
    let Outcome::Run(plan) = plan("legate", &split("--cprofile prog.py").unwrap(), &Fake::default()) else { panic!() };
    assert_eq!(plan.argv, split("python -m cProfile -o ./legate_0.cprof prog.py").unwrap());
    assert_eq!(plan.variables, [("NUMLOOM_CONFIG".to_string(), "--profile-name=legate".to_string())]);
}

#[test]
fn what_is_only_said() {
    assert_eq!(said("--version", &Fake::default()), format!("numloom {}\n", crate::VERSION));
    assert!(said("--help", &Fake::default()).starts_with("usage: numloom [flags] [program [arguments]]\n"));
    assert!(
        said("--info", &Fake::default())
            .contains("- launchers: srun, jsrun, aprun\n- debuggers: gdb, compute-sanitizer\n- profilers: nsys\n")
    );
    let shown = said("--sysmem 40 --show-config", &world("LEGATE_CONFIG=--cpus 2", ""));
    assert!(shown.starts_with("Numloom configuration:\n"));
    let line = |name: &str| shown.lines().find(|l| l.starts_with(&format!("- {name} = "))).unwrap().to_string();
    assert_eq!(line("sysmem"), "- sysmem = 41,943,040 (40 MiB)                     [flag]");
    assert_eq!(line("cpus"), "- cpus = 2                                         [LEGATE_CONFIG]");
    for shell in ["bash", "zsh", "fish"] {
        assert!(said(&format!("--completion {shell}"), &Fake::default()).contains("sysmem"));
    }
}

#[test]
fn no_line_of_words_is_a_crash() {
    let mut state = 0x2545f4914f6cdd1du64;
    let mut pick = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let odd =
        ["", "-", "--", "---", "=", "--=", "-1", "0", "9999999999999999999999", "1e3", "é", "0-3/4-7", "4(x2)", "2,,3"];
    let rest = ["prog.py", "./exe", "-m", "mpirun", "srun", "off", "no", "'", "\"a", "%%LEGATE_GLOBAL_RANK%%", "prof"];
    let flags: Vec<String> = numloom_config::ROWS.iter().map(|row| format!("--{}", row.flag())).collect();
    for _ in 0..20_000 {
        let mut word = || match pick(5) {
            0 => odd[pick(odd.len())].to_string(),
            1 => rest[pick(rest.len())].to_string(),
            2 => format!("{}={}", flags[pick(flags.len())], odd[pick(odd.len())]),
            _ => flags[pick(flags.len())].clone(),
        };
        let words: Vec<String> = (0..6).map(|_| word()).collect();
        let config = (0..3).map(|_| word()).collect::<Vec<_>>().join(" ");
        let variables = format!("LEGATE_CONFIG={config};SLURM_TASKS_PER_NODE={};PMI_SIZE={}", word(), word());
        for words in [&words[..], &words[..2]] {
            if let Outcome::Refuse(refusal) = plan("numloom", words, &world(&variables, OPEN_MPI)) {
                assert!(matches!(refusal.status, 1 | 2) && !refusal.sentence.is_empty());
            }
        }
    }
}
