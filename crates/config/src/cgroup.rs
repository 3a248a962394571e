//! The limits of the control groups this process is in, version 1 and 2: a container's limit counts, not the host's.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A controller's directories, from this process's own group up to the mount point.
struct Hierarchy {
    directories: Vec<PathBuf>,
    unified: bool,
}

/// Bytes this process may use by its groups; `None`: no limit.
pub fn memory(root: &Path) -> Option<usize> {
    // Version 1 says "no limit" with a number near 2^63.
    const NONE: usize = 1 << 60;
    let read = |directory: &Path, unified: bool| {
        let file = directory.join(if unified { "memory.max" } else { "memory.limit_in_bytes" });
        read_to_string(file).ok()?.trim().parse::<usize>().ok().filter(|&limit| limit < NONE)
    };
    smallest(root, "memory", read)
}

/// Cores' worth of time this process may use by its groups, at least one; `None`: no limit.
pub fn cores(root: &Path) -> Option<usize> {
    let number = |file: PathBuf| read_to_string(file).ok()?.trim().parse::<i64>().ok();
    let read = |directory: &Path, unified: bool| {
        let (quota, period) = if unified {
            let text = read_to_string(directory.join("cpu.max")).ok()?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.parse::<i64>().ok()?, period.parse::<i64>().ok()?)
        } else {
            (number(directory.join("cpu.cfs_quota_us"))?, number(directory.join("cpu.cfs_period_us"))?)
        };
        (quota > 0 && period > 0).then(|| usize::try_from(quota / period).unwrap_or(1).max(1))
    };
    smallest(root, "cpu", read)
}

fn smallest(root: &Path, controller: &str, read: impl Fn(&Path, bool) -> Option<usize>) -> Option<usize> {
    let of = |h: &Hierarchy| h.directories.iter().filter_map(|d| read(d, h.unified)).min();
    hierarchies(root, controller).iter().filter_map(of).min()
}

fn hierarchies(root: &Path, controller: &str) -> Vec<Hierarchy> {
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut out = Vec::new();
    for line in mounts.lines() {
        let Some(mount) = Mount::parse(line) else { continue };
        let unified = mount.kind == "cgroup2";
        let controls = mount.kind == "cgroup" && mount.options.split(',').any(|o| o == controller);
        if !unified && !controls {
            continue;
        }
        let own = groups.lines().find_map(|group| {
            let mut parts = group.splitn(3, ':');
            let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let ours = if unified {
                number == "0" && controllers.is_empty()
            } else {
                controllers.split(',').any(|c| c == controller)
            };
            ours.then_some(path)
        });
        let Some(own) = own else { continue };
        // Inside a container the group's path may be the host's, and the mount already stands at it.
        let below = own.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or("");
        let point = root.join(mount.point.trim_start_matches('/'));
        let mut directory = point.join(below.trim_start_matches('/'));
        let mut directories = vec![directory.clone()];
        while directory != point && directory.pop() {
            directories.push(directory.clone());
        }
        out.push(Hierarchy { directories, unified });
    }
    out
}

/// A line of `mountinfo`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        let (root, point) = (left.next()?, left.next()?);
        Some(Mount { root, point, kind: right.next()?, options: right.nth(1).unwrap_or("") })
    }
}
