//! Which rank this process is, of how many, from the variables that launchers set.

/// A process among those that one launcher started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    pub rank: usize,
    pub size: usize,
    pub local_rank: usize,
    /// How many of them share this node.
    pub local_size: usize,
    /// Who set the variables.
    pub launcher: &'static str,
}

/// The variables of one launcher: rank, size, rank on the node, size on the node.
struct Family {
    launcher: &'static str,
    names: [&'static str; 4],
}

// SLURM comes last: under its `srun` the others' variables, where set, are the more precise.
const FAMILIES: [Family; 4] = [
    Family {
        launcher: "Open MPI",
        names: [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
        ],
    },
    Family {
        launcher: "MVAPICH2",
        names: ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"],
    },
    Family {
        launcher: "jsrun",
        names: ["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE"],
    },
    Family { launcher: "PMI", names: ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"] },
];

/// A variable of the environment.
pub type Lookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl Ranks {
    /// `None` where no launcher started this process.
    pub fn detect(env: &Lookup) -> Option<Ranks> {
        let number = |name: &str| env(name)?.trim().parse::<usize>().ok();
        for Family { launcher, names: [rank, size, local_rank, local_size] } in FAMILIES {
            let Some(size) = number(size) else { continue };
            let (rank, local_rank) = (number(rank).unwrap_or(0), number(local_rank));
            let local_size = number(local_size).unwrap_or(size).max(1);
            return Some(Ranks { rank, size, local_rank: local_rank.unwrap_or(rank), local_size, launcher });
        }
        slurm(env)
    }
}

/// A batch script's shell has SLURM's job variables too and is no rank: only a step has a number of tasks of its
/// own, and only a rank can have an id above 0.
fn slurm(env: &Lookup) -> Option<Ranks> {
    let number = |name: &str| env(name)?.trim().parse::<usize>().ok();
    let rank = number("SLURM_PROCID")?;
    let size = number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS").filter(|_| rank > 0))?;
    let per_node = env("SLURM_STEP_TASKS_PER_NODE").or_else(|| env("SLURM_TASKS_PER_NODE"));
    let node = number("SLURM_NODEID").unwrap_or(0);
    let here = per_node.and_then(|text| tasks_per_node(&text)).and_then(|tasks| tasks.get(node).copied());
    Some(Ranks {
        rank,
        size,
        local_rank: number("SLURM_LOCALID").unwrap_or(rank),
        local_size: here.unwrap_or(size).max(1),
        launcher: "SLURM",
    })
}

/// SLURM's list of tasks, one number a node: `4`, `4(x2)`, `2(x3),1`.
pub fn tasks_per_node(text: &str) -> Option<Vec<usize>> {
    const MOST_NODES: usize = 1 << 20;
    let mut out = Vec::new();
    for part in text.trim().split(',') {
        let (tasks, times) = match part.split_once("(x") {
            Some((tasks, times)) => (tasks, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        if times == 0 || out.len() + times > MOST_NODES {
            return None;
        }
        out.resize(out.len() + times, tasks.parse().ok().filter(|&n: &usize| n > 0)?);
    }
    Some(out)
}

/// The tasks on each node that SLURM allotted to this job, for a launcher to fill. A plain number is spread over
/// the job's nodes.
pub fn allotment(env: &Lookup) -> Option<Vec<usize>> {
    let nodes = ["SLURM_JOB_NUM_NODES", "SLURM_NNODES"].iter().find_map(|n| env(n)?.trim().parse::<usize>().ok());
    let tasks = env("SLURM_TASKS_PER_NODE").and_then(|text| tasks_per_node(&text));
    match (nodes.filter(|&n| n > 0), tasks) {
        (Some(nodes), Some(tasks)) if tasks.len() == 1 => Some(vec![tasks[0]; nodes]),
        (_, Some(tasks)) => Some(tasks),
        (Some(nodes), None) => Some(vec![1; nodes]),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(text: &str) -> impl Fn(&str) -> Option<String> {
        let all: Vec<(String, String)> =
            text.split_whitespace().filter_map(|w| w.split_once('=')).map(|(n, v)| (n.into(), v.into())).collect();
        move |name| all.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    }

    #[test]
    fn slurm_lists_in_all_their_forms() {
        assert_eq!(tasks_per_node("4"), Some(vec![4]));
        assert_eq!(tasks_per_node("4(x2)"), Some(vec![4, 4]));
        assert_eq!(tasks_per_node("2(x3),1"), Some(vec![2, 2, 2, 1]));
        for wrong in ["", "x", "4(x", "4(x0)", "0", "4(x99999999999)", "-1", "2,,1"] {
            assert_eq!(tasks_per_node(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ranks_of_every_launcher() {
        let detect = |text: &str| Ranks::detect(&env(text)).map(|r| (r.rank, r.size, r.local_rank, r.local_size));
        assert_eq!(detect(""), None);
        assert_eq!(
            detect(
                "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2"
            ),
            Some((3, 4, 1, 2))
        );
        assert_eq!(detect("PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1"), Some((1, 2, 0, 1)));
        assert_eq!(detect("JSM_NAMESPACE_RANK=1 JSM_NAMESPACE_SIZE=2"), Some((1, 2, 1, 2)));
        assert_eq!(detect("MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2"), Some((1, 2, 1, 2)));
        let step =
            "SLURM_PROCID=6 SLURM_STEP_NUM_TASKS=7 SLURM_STEP_TASKS_PER_NODE=2(x3),1 SLURM_NODEID=3 SLURM_LOCALID=0";
        assert_eq!(detect(step), Some((6, 7, 0, 1)));
        assert_eq!(detect("SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=4"), Some((1, 4, 1, 4)));
        // The shell of a batch script.
        assert_eq!(detect("SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_TASKS_PER_NODE=4"), None);
        assert_eq!(detect("OMPI_COMM_WORLD_SIZE=many"), None);
    }

    #[test]
    fn a_job_has_nodes_to_fill() {
        assert_eq!(allotment(&env("")), None);
        assert_eq!(allotment(&env("SLURM_TASKS_PER_NODE=4 SLURM_JOB_NUM_NODES=2")), Some(vec![4, 4]));
        assert_eq!(allotment(&env("SLURM_TASKS_PER_NODE=2(x3),1 SLURM_NNODES=4")), Some(vec![2, 2, 2, 1]));
        assert_eq!(allotment(&env("SLURM_NNODES=2")), Some(vec![1, 1]));
    }
}
