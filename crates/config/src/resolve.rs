//! From what was given and what the machine has to the values.

use crate::given::{ConfigError, Given, Source, Stop};
use crate::kinds::{GpuBackend, MIB, scaled};
use crate::machine::Machine;
use crate::row::Row;
use crate::table::{MINIMAL_SYSMEM, ROWS, Settings, row_of};

/// Every value, where it came from, and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub settings: Settings,
    sources: Vec<Source>,
    /// One line each: flags whose job does not exist here.
    pub notes: Vec<String>,
    /// What a plain `python` would say of flags in the environment that the command has acted on.
    pub acted_on: Vec<String>,
}

impl Resolved {
    /// Where a row's value came from.
    pub fn source(&self, row: &Row) -> Source {
        ROWS.iter().position(|r| r.field == row.field).map_or(Source::Default, |i| self.sources[i])
    }

    /// Whether somebody gave a value for this field.
    pub fn is_given(&self, field: &str) -> bool {
        row_of(field).is_some_and(|row| self.source(row) >= Source::Legate)
    }

    fn set_source(&mut self, field: &str, source: Source) {
        if let Some(i) = ROWS.iter().position(|r| r.field == field) {
            self.sources[i] = source;
        }
    }
}

/// The values. `driven`: the command reads them, and acts on the flags that are its own.
pub fn resolve(given: &Given, machine: &Machine, driven: bool) -> Result<Resolved, Stop> {
    let mut out = Resolved {
        settings: Settings::default(),
        sources: vec![Source::Default; ROWS.len()],
        notes: Vec::new(),
        acted_on: Vec::new(),
    };
    let defaults = Settings::default();
    for (i, row) in ROWS.iter().enumerate() {
        let Some((texts, source)) = given.of(row) else { continue };
        let bad = |reason| Stop::Bad(ConfigError { what: format!("--{}", row.flag()), source, reason, usage: false });
        out.settings.set(row, &texts).map_err(bad)?;
        out.sources[i] = source;
        let reason = row.absent.or(row.driver.then_some("only the numloom command acts on it"));
        if let Some(reason) = reason.filter(|_| !out.settings.same(&defaults, row)) {
            let note = format!("--{}: {reason}; going on without it", row.flag());
            match row.driver && driven {
                true if source == Source::Flag => {}
                true => out.acted_on.push(note),
                false => out.notes.push(note),
            }
        }
    }
    size_after(&mut out, given, machine);
    gpus_that_are_there(&mut out, given, machine);
    pools_that_fit(&out, machine)?;
    a_place_to_spill(&out)?;
    Ok(out)
}

/// Auto-configuration, or the little that is reserved without it.
fn size_after(out: &mut Resolved, given: &Given, machine: &Machine) {
    let auto = out.settings.auto_config;
    if !given.has("cpus") {
        out.settings.cpus = if auto { machine.share_of_cores() } else { 1 };
    }
    if !given.has("sysmem") {
        out.settings.sysmem = match machine.memory() {
            Some(all) if auto => (all / 5 * 4 / machine.ranks_here() / MIB).max(1) * MIB,
            _ => MINIMAL_SYSMEM,
        };
    }
    // A simulated device lies in host memory, beside SYSTEM_MEM.
    if !given.has("fbmem") && out.settings.gpu_backend == GpuBackend::Sim && out.settings.gpus > 0 {
        out.settings.fbmem = (out.settings.sysmem / 4 / out.settings.gpus / MIB).max(1) * MIB;
    }
    for field in ["cpus", "sysmem", "fbmem", "gpus"] {
        if auto && !given.has(field) {
            out.set_source(field, Source::Auto);
        }
    }
}

fn gpus_that_are_there(out: &mut Resolved, given: &Given, machine: &Machine) {
    let settings = &mut out.settings;
    if settings.gpu_backend == GpuBackend::Sim {
        return;
    }
    let there = if given.has("gpus") && settings.gpus == 0 { 0 } else { machine.gpus() };
    if !given.has("gpus") {
        settings.gpus = if settings.auto_config { there / machine.ranks_here().max(1) } else { 0 };
    }
    let asked = settings.gpus;
    if asked > there {
        settings.gpus = there;
        let found =
            if there == 0 { "no GPU with a CUDA driver was found".into() } else { format!("there are {there}") };
        let instead = if there == 0 { "CPUs" } else { "those" };
        out.notes
            .push(format!("--gpus {asked}: {found}; going on with {instead} (--gpu-backend sim simulates devices)"));
    }
}

/// Refuses pools that cannot be.
fn pools_that_fit(out: &Resolved, machine: &Machine) -> Result<(), Stop> {
    let (s, ranks) = (&out.settings, machine.ranks_here());
    for (field, bytes, each) in [
        ("sysmem", s.sysmem, ""),
        ("numamem", s.numamem, " on each NUMA domain"),
        ("fbmem", s.fbmem, " on each simulated device"),
        ("zcmem", s.zcmem, ""),
    ] {
        let source = row_of(field).map_or(Source::Default, |row| out.source(row));
        if source < Source::Legate || bytes == 0 {
            continue;
        }
        let times = match field {
            "numamem" => machine.domains().len().max(1),
            "fbmem" if s.gpu_backend == GpuBackend::Sim => s.gpus,
            "fbmem" => 0,
            _ => 1,
        };
        let Some(all) = machine.memory().filter(|_| times > 0) else { continue };
        let wanted = (bytes as u128) * (times as u128) * (ranks as u128);
        if wanted <= all as u128 {
            continue;
        }
        let among = if ranks > 1 { format!(" in each of the node's {ranks} ranks") } else { String::new() };
        let reason = format!(
            "{}{each}{among} is more than the {} this process may use; give --{field} {} or less",
            scaled(bytes),
            scaled(all),
            all / MIB / times / ranks
        );
        let what = format!("--{field} {}", bytes / MIB);
        return Err(Stop::Bad(ConfigError { what, source, reason, usage: false }));
    }
    Ok(())
}

/// Refuses a directory that spilling could not write to.
fn a_place_to_spill(out: &Resolved) -> Result<(), Stop> {
    let Some(directory) = &out.settings.spill else { return Ok(()) };
    let probe = directory.join(format!(".numloom-{}", std::process::id()));
    let reason = match std::fs::File::create_new(&probe) {
        Ok(_) => return std::fs::remove_file(probe).or(Ok(())),
        Err(_) if !directory.is_dir() => "there is no such directory; make it, or give another".to_string(),
        Err(error) => format!("it cannot be written to ({error}); give another directory"),
    };
    let source = row_of("spill").map_or(Source::Default, |row| out.source(row));
    let what = format!("--spill {}", directory.display());
    Err(Stop::Bad(ConfigError { what, source, reason, usage: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Ranks;
    use crate::test_tree::Tree;

    fn machine(name: &str, ranks: usize) -> (Tree, Machine) {
        let tree = Tree::new(name)
            .file("proc/meminfo", "MemTotal:       10485760 kB\n")
            .file("sys/devices/system/cpu/online", "0-7\n");
        let ranks = Some(Ranks { rank: 0, size: ranks, local_rank: 0, local_size: ranks, launcher: "test" });
        let machine = Machine::at(tree.root(), 8, ranks);
        (tree, machine)
    }

    fn values(text: &str, machine: &Machine) -> Result<Resolved, String> {
        let mut given = Given::default();
        given.read_text(text, Source::Legate).map_err(|stop| format!("{stop:?}"))?;
        resolve(&given, machine, false).map_err(|stop| match stop {
            Stop::Help => "help".into(),
            Stop::Bad(error) => error.to_string(),
        })
    }

    #[test]
    fn sized_after_the_machine_and_its_ranks() {
        let (_tree, one) = machine("resolve-one", 1);
        let (_tree2, two) = machine("resolve-two", 2);
        let sized =
            |text: &str, machine| values(text, machine).map(|r| (r.settings.cpus, r.settings.sysmem / MIB)).unwrap();
        assert_eq!(sized("", &one), (8, 8192));
        assert_eq!(sized("", &two), (4, 4096));
        assert_eq!(sized("--auto-config=0", &one), (1, 256));
        assert_eq!(sized("--auto-config=0 --cpus 2 --sysmem 40", &one), (2, 40));
    }

    #[test]
    fn a_pool_bigger_than_the_machine_is_refused() {
        let (_tree, one) = machine("pools-one", 1);
        let (_tree2, two) = machine("pools-two", 2);
        assert_eq!(
            values("--sysmem 20000", &one).unwrap_err(),
            "--sysmem 20000 (in LEGATE_CONFIG): 19.53 GiB is more than the 10 GiB this process may use; give --sysmem 10240 or less"
        );
        assert_eq!(
            values("--sysmem 8000", &two).unwrap_err(),
            "--sysmem 8000 (in LEGATE_CONFIG): 7.81 GiB in each of the node's 2 ranks is more than the 10 GiB this process may use; give --sysmem 5120 or less"
        );
        assert!(values("--gpus 4 --gpu-backend sim --fbmem 4000", &one).unwrap_err().contains("each simulated device"));
        assert!(values("--gpus 4 --fbmem 15000 --sysmem 1000", &one).is_ok());
    }

    #[test]
    fn a_place_to_spill_must_be_there() {
        let (tree, one) = machine("spill", 1);
        assert_eq!(
            values("--spill /no/where", &one).unwrap_err(),
            "--spill /no/where (in LEGATE_CONFIG): there is no such directory; make it, or give another"
        );
        assert!(values("--spill /proc/self/fdinfo", &one).unwrap_err().contains("it cannot be written to"));
        assert_eq!(
            values(&format!("--spill {}", tree.root().display()), &one).unwrap().settings.spill.as_deref(),
            Some(tree.root())
        );
        assert_eq!(values("--spill off", &one).unwrap().settings.spill, None);
    }

    #[test]
    fn values_know_where_they_came_from() {
        let (_tree, one) = machine("sources", 1);
        let out = values("--cpus 3 --profile --consensus=0 --verbose --gpus 1", &one).unwrap();
        let source = |field| out.source(row_of(field).unwrap());
        assert_eq!(source("cpus"), Source::Legate);
        assert_eq!(source("sysmem"), Source::Auto);
        assert_eq!(source("zcmem"), Source::Default);
        assert_eq!(
            out.notes,
            [
                "--verbose: only the numloom command acts on it; going on without it",
                "--gpus 1: no GPU with a CUDA driver was found; going on with CPUs (--gpu-backend sim simulates devices)",
            ]
        );
    }
}
