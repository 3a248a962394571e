//! Which cores, memories and devices a rank keeps to.

use crate::plan::{Refusal, refuse};
use numloom_config::{Settings, number_list};

/// What one rank is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    pub cores: Vec<usize>,
    /// NUMA domains.
    pub domains: Vec<usize>,
    /// Variables that keep libraries to some devices.
    pub variables: Vec<(String, String)>,
    /// The groups as they were given.
    pub shown: Vec<String>,
}

/// One group for every rank of a node, or none at all.
pub fn check(settings: &Settings, ranks: usize) -> Result<(), Refusal> {
    let s = settings;
    let flags =
        [("cpu-bind", &s.cpu_bind), ("mem-bind", &s.mem_bind), ("gpu-bind", &s.gpu_bind), ("nic-bind", &s.nic_bind)];
    for (flag, groups) in flags {
        if !groups.is_empty() && groups.len() != ranks {
            let shown = groups.join("/");
            let (have, need) = (counted(groups.len(), "group"), counted(ranks, "rank"));
            return refuse(
                2,
                format!("--{flag} {shown} has {have}, and a node has {need}: give one group for each rank"),
            );
        }
    }
    Ok(())
}

/// The groups of one rank.
pub fn of_rank(settings: &Settings, local_rank: usize) -> Result<Binding, Refusal> {
    let mut out = Binding::default();
    let numbers = |flag: &str, group: &str| match number_list(group) {
        Ok(numbers) => Ok(numbers),
        Err(reason) => refuse(2, format!("--{flag}: {reason}")),
    };
    if let Some(group) = settings.cpu_bind.get(local_rank) {
        out.cores = numbers("cpu-bind", group)?;
        out.shown.push(format!("cores {group}"));
    }
    if let Some(group) = settings.mem_bind.get(local_rank) {
        out.domains = numbers("mem-bind", group)?;
        out.shown.push(format!("NUMA domains {group}"));
    }
    for (groups, variable, what) in [
        (&settings.gpu_bind, "CUDA_VISIBLE_DEVICES", "GPUs"),
        (&settings.nic_bind, "UCX_NET_DEVICES", "network devices"),
    ] {
        if let Some(group) = groups.get(local_rank) {
            out.variables.push((variable.to_string(), group.clone()));
            out.shown.push(format!("{what} {group}"));
        }
    }
    Ok(out)
}

pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
