//! What this process may use of the machine. Nothing is looked at before it is asked for.

use crate::cgroup;
use crate::kinds::number_list;
use crate::ranks::Ranks;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The machine as seen from `/proc`, `/sys`, this process's limits and its environment.
pub struct Machine {
    /// Where `proc`, `sys` and `dev` stand; tests have a tree of their own.
    root: PathBuf,
    /// Cores in this process's affinity mask.
    affinity: Option<usize>,
    /// The limit on this process's address space.
    address_space: Option<usize>,
    pub ranks: Option<Ranks>,
}

/// A NUMA domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    pub id: usize,
    pub cores: Vec<usize>,
    pub bytes: usize,
}

/// Addresses for each byte of a pool, where they are limited: it reserves twice its size, and the rest of the process
/// needs some.
const ADDRESSES: usize = 3;

impl Machine {
    /// The machine this process runs on.
    pub fn here() -> Machine {
        Machine {
            root: "/".into(),
            affinity: affinity(),
            address_space: address_space(),
            ranks: Ranks::detect(&crate::variable),
        }
    }

    /// A machine described by files under `root`.
    pub fn at(root: &Path, affinity: usize, ranks: Option<Ranks>) -> Machine {
        Machine { root: root.to_path_buf(), affinity: Some(affinity), address_space: None, ranks }
    }

    /// How many ranks share this node.
    pub fn ranks_here(&self) -> usize {
        self.ranks.as_ref().map_or(1, |r| r.local_size)
    }

    /// The machine as one of `ranks` on this node will see it, bound to so many cores.
    pub fn share(&mut self, ranks: usize, cores: Option<usize>) {
        if ranks > 1 || self.ranks.is_some() {
            let new = Ranks { rank: 0, size: ranks, local_rank: 0, local_size: ranks, launcher: "the driver" };
            self.ranks.get_or_insert(new).local_size = ranks;
        }
        self.affinity = cores.or(self.affinity);
    }

    /// Cores in the machine.
    pub fn online(&self) -> usize {
        self.read("sys/devices/system/cpu/online").and_then(|t| number_list(&t).ok()).map_or(1, |cores| cores.len())
    }

    /// Cores this process may use, by affinity and by its groups' quotas.
    pub fn cores(&self) -> usize {
        let mask = self.affinity.unwrap_or_else(|| self.online());
        cgroup::cores(&self.root).map_or(mask, |quota| quota.min(mask)).max(1)
    }

    /// This rank's share of the node's cores. A mask no larger than a fair share was bound by the launcher.
    pub fn share_of_cores(&self) -> usize {
        let (ranks, mask) = (self.ranks_here(), self.affinity.unwrap_or_else(|| self.online()));
        let own = if mask * ranks <= self.online() { mask } else { mask / ranks };
        cgroup::cores(&self.root).map_or(own, |quota| own.min(quota / ranks)).max(1)
    }

    /// Bytes this process may use; `None` where nobody says.
    pub fn memory(&self) -> Option<usize> {
        [self.meminfo("MemTotal"), cgroup::memory(&self.root), self.address_space.map(|bytes| bytes / ADDRESSES)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Bytes that nobody uses at the moment.
    pub fn available(&self) -> Option<usize> {
        self.meminfo("MemAvailable")
    }

    fn meminfo(&self, name: &str) -> Option<usize> {
        kib_after(&self.read("proc/meminfo")?, name)
    }

    /// The NUMA domains that have memory.
    pub fn domains(&self) -> Vec<Domain> {
        let nodes = "sys/devices/system/node";
        let online = self.read(&format!("{nodes}/online")).and_then(|t| number_list(&t).ok()).unwrap_or_default();
        let domain = |id: usize| {
            let cores = self.read(&format!("{nodes}/node{id}/cpulist"))?;
            let bytes = kib_after(&self.read(&format!("{nodes}/node{id}/meminfo"))?, "MemTotal")?;
            (bytes > 0).then(|| Domain { id, cores: number_list(&cores).unwrap_or_default(), bytes })
        };
        online.into_iter().filter_map(domain).collect()
    }

    /// GPUs of a driver that can be loaded. They are counted from the driver's files: asking the driver itself would
    /// start it.
    pub fn gpus(&self) -> usize {
        let cards = read_dir(self.root.join("proc/driver/nvidia/gpus")).map_or(0, |all| all.flatten().count());
        if cards == 0 || !driver_loads() {
            return 0;
        }
        match std::env::var("CUDA_VISIBLE_DEVICES") {
            Ok(shown) => shown.split(',').take_while(|d| !d.trim().is_empty() && d.trim() != "-1").count().min(cards),
            Err(_) => cards,
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        read_to_string(self.root.join(file)).ok()
    }
}

/// The number in KiB after `name:`, in bytes.
fn kib_after(text: &str, name: &str) -> Option<usize> {
    let (_, rest) = text.split_once(&format!("{name}:"))?;
    rest.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
}

fn driver_loads() -> bool {
    // SAFETY: a library named by a constant; its handle is not used but to close it again.
    unsafe {
        let handle = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        !handle.is_null() && libc::dlclose(handle) == 0
    }
}

fn affinity() -> Option<usize> {
    // A mask for 65,536 cores: the kernel refuses one smaller than its own.
    let mut mask = [0u64; 1024];
    // SAFETY: the kernel writes at most the size it is given.
    let written =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, std::mem::size_of_val(&mask), mask.as_mut_ptr()) };
    (written > 0).then(|| mask.iter().map(|word| word.count_ones() as usize).sum())
}

/// What `ulimit -v` and `ulimit -d` leave to a process.
fn address_space() -> Option<usize> {
    let of = |which| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel fills the struct it is given.
        let done = unsafe { libc::getrlimit(which, &mut limit) };
        (done == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
    };
    [of(libc::RLIMIT_AS), of(libc::RLIMIT_DATA)].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tree::Tree;

    const GIB: usize = 1 << 30;

    fn ranks(local_size: usize) -> Option<Ranks> {
        Some(Ranks { rank: 0, size: local_size, local_rank: 0, local_size, launcher: "test" })
    }

    #[test]
    fn a_container_of_version_2_counts() {
        let tree = Tree::new("v2")
            .file("proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:   1048576 kB\n")
            .file("proc/self/cgroup", "0::/jobs/mine\n")
            .file("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n")
            .file("sys/fs/cgroup/jobs/mine/memory.max", "max\n")
            .file("sys/fs/cgroup/jobs/memory.max", "4294967296\n")
            .file("sys/fs/cgroup/jobs/mine/cpu.max", "350000 100000\n")
            .file("sys/fs/cgroup/jobs/cpu.max", "max 100000\n")
            .file("sys/devices/system/cpu/online", "0-15\n");
        let machine = Machine::at(tree.root(), 16, None);
        assert_eq!((machine.memory(), machine.cores(), machine.online()), (Some(4 * GIB), 3, 16));
        assert_eq!(machine.available(), Some(GIB));
        assert_eq!(Machine::at(tree.root(), 2, None).cores(), 2);
        assert_eq!(Machine::at(tree.root(), 16, ranks(2)).share_of_cores(), 1);
    }

    #[test]
    fn a_container_of_version_1_counts() {
        let tree = Tree::new("v1")
            .file("proc/meminfo", "MemTotal:       67108864 kB\n")
            .file("proc/self/cgroup", "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n")
            .file(
                "proc/self/mountinfo",
                "31 20 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 32 20 0:28 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            )
            .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n")
            .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n")
            .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        let machine = Machine::at(tree.root(), 8, None);
        assert_eq!((machine.memory(), machine.cores()), (Some(2 * GIB), 2));
        let tree = tree.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(Machine::at(tree.root(), 8, None).memory(), Some(64 * GIB));
    }

    #[test]
    fn ranks_share_cores_unless_they_are_bound() {
        let tree = Tree::new("ranks").file("sys/devices/system/cpu/online", "0-7\n");
        assert_eq!(Machine::at(tree.root(), 8, ranks(2)).share_of_cores(), 4);
        assert_eq!(Machine::at(tree.root(), 4, ranks(2)).share_of_cores(), 4);
        assert_eq!(Machine::at(tree.root(), 8, ranks(16)).share_of_cores(), 1);
    }

    #[test]
    fn numa_domains_with_memory() {
        let node = "sys/devices/system/node";
        let tree = Tree::new("numa")
            .file(&format!("{node}/online"), "0-2\n")
            .file(&format!("{node}/node0/cpulist"), "0-3\n")
            .file(&format!("{node}/node0/meminfo"), "Node 0 MemTotal:       1048576 kB\n")
            .file(&format!("{node}/node1/cpulist"), "4-5,7\n")
            .file(&format!("{node}/node1/meminfo"), "Node 1 MemTotal:       2097152 kB\n")
            .file(&format!("{node}/node2/cpulist"), "\n")
            .file(&format!("{node}/node2/meminfo"), "Node 2 MemTotal:       0 kB\n");
        let domains = Machine::at(tree.root(), 8, None).domains();
        assert_eq!(
            domains,
            [
                Domain { id: 0, cores: vec![0, 1, 2, 3], bytes: GIB },
                Domain { id: 1, cores: vec![4, 5, 7], bytes: 2 * GIB }
            ]
        );
    }

    #[test]
    fn a_machine_that_says_nothing() {
        let tree = Tree::new("nothing");
        let machine = Machine::at(tree.root(), 0, None);
        assert_eq!((machine.memory(), machine.cores(), machine.gpus()), (None, 1, 0));
        assert_eq!(machine.domains(), []);
        assert!(Machine::here().cores() >= 1);
    }
}
