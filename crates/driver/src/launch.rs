//! The launchers' own command lines.

use crate::plan::{Refusal, refuse};
use crate::world::World;
use numloom_config::{Launcher, allotment, split};

/// How many ranks run on each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout(pub Vec<usize>);

impl Layout {
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    pub fn ranks(&self) -> usize {
        self.0.iter().sum()
    }

    /// The most ranks on one node.
    pub fn per_node(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(1)
    }

    fn is_even(&self) -> bool {
        self.0.iter().all(|&n| n == self.0[0])
    }

    /// What the flags say, and for what they leave open the job that SLURM runs.
    pub fn find(nodes: Option<usize>, per_node: Option<usize>, world: &dyn World) -> Layout {
        let job = allotment(&|name| world.variable(name)).unwrap_or_else(|| vec![1]);
        Layout(match (nodes, per_node) {
            (None, None) => job,
            (None, Some(per_node)) => vec![per_node; job.len()],
            (Some(nodes), Some(per_node)) => vec![per_node; nodes],
            (Some(nodes), None) if nodes == job.len() => job,
            (Some(nodes), None) => vec![job.iter().copied().max().unwrap_or(1); nodes],
        })
    }
}

/// Which `mpirun` it is: their flags differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mpi {
    Open,
    Mpich,
}

impl Mpi {
    fn tell(version: &str) -> Option<Mpi> {
        let says = |words: &[&str]| words.iter().any(|w| version.contains(w));
        if says(&["Open MPI", "OpenRTE", "PRTE"]) {
            Some(Mpi::Open)
        } else {
            says(&["HYDRA", "MPICH", "Intel(R) MPI", "mvapich", "MVAPICH"]).then_some(Mpi::Mpich)
        }
    }
}

/// Variables that programs need on every node; the others are the launcher's business.
const FORWARDED: [&str; 14] = [
    "CUDA_",
    "CUPYNUMERIC_",
    "LD_",
    "LEGATE_",
    "MKL_",
    "NCCL_",
    "NUMLOOM_",
    "NUMPY_",
    "OMP_",
    "OPENBLAS_",
    "PATH",
    "PYTHON",
    "UCX_",
    "VIRTUAL_ENV",
];

fn forwarded(world: &dyn World, set: &[(String, String)]) -> Vec<String> {
    let mut names = world.variables();
    names.retain(|name| FORWARDED.iter().any(|start| name.starts_with(start)));
    names.extend(set.iter().map(|(name, _)| name.clone()));
    names.sort();
    names.dedup();
    names
}

/// The words before the rank's command. `set` are the variables the plan sets.
pub fn command(
    launcher: Launcher,
    layout: &Layout,
    extra: &[String],
    set: &[(String, String)],
    world: &dyn World,
) -> Result<Vec<String>, Refusal> {
    let name = launcher.word();
    if launcher == Launcher::Dask {
        return refuse(2, "--launcher dask: there is no Dask here; use mpirun or srun".into());
    }
    let Some(found) = world.find(name) else {
        return refuse(1, format!("--launcher {name}: there is no {name} on the PATH; load its module or install it"));
    };
    let (nodes, ranks, per_node) =
        (layout.nodes().to_string(), layout.ranks().to_string(), layout.per_node().to_string());
    let even = layout.is_even();
    let mut out: Vec<String> = vec![name.into()];
    let mut put = |words: &[&str]| out.extend(words.iter().map(|w| w.to_string()));
    match launcher {
        Launcher::Mpirun => match Mpi::tell(&world.version_of(&found)) {
            Some(Mpi::Open) => {
                put(&["-n", &ranks]);
                if even {
                    put(&["--map-by", &format!("ppr:{per_node}:node")]);
                }
                put(&["--bind-to", "none"]);
                for variable in forwarded(world, set) {
                    put(&["-x", &variable]);
                }
            }
            // MPICH hands all of the environment on.
            Some(Mpi::Mpich) => {
                put(&["-n", &ranks]);
                if even {
                    put(&["-ppn", &per_node]);
                }
                put(&["-bind-to", "none"]);
            }
            None => {
                let shown = found.display();
                return refuse(
                    1,
                    format!(
                        "--launcher mpirun: {shown} says neither Open MPI nor MPICH; put one of them first on the PATH"
                    ),
                );
            }
        },
        Launcher::Srun => {
            put(&["-N", &nodes, "-n", &ranks]);
            if even {
                put(&["--ntasks-per-node", &per_node]);
            }
            put(&["--cpu-bind=none", "--export=ALL"]);
        }
        Launcher::Jsrun => {
            if !even {
                return refuse(2, "--launcher jsrun: every node must have the same number of ranks".into());
            }
            put(&["-n", &nodes, "-r", "1", "-a", &per_node, "-c", "ALL_CPUS", "-g", "ALL_GPUS", "-b", "none"]);
            for variable in forwarded(world, set) {
                put(&["-E", &variable]);
            }
        }
        Launcher::Aprun => {
            put(&["-n", &ranks]);
            if even {
                put(&["-N", &per_node]);
            }
            put(&["-cc", "none"]);
        }
        Launcher::None | Launcher::Dask => {}
    }
    for text in extra {
        out.extend(words_of("launcher-extra", text)?);
    }
    Ok(out)
}

/// A flag's value as words.
pub fn words_of(flag: &str, text: &str) -> Result<Vec<String>, Refusal> {
    match split(text) {
        Ok(words) => Ok(words),
        Err(open) => refuse(2, format!("--{flag} {text}: a {} is opened and never closed", open.0)),
    }
}
