//! `--info`: what was found on this machine.

use crate::world::World;
use numloom_config::{Launcher, Machine, scaled};
use numloom_cuda::{Report, Search};

pub fn info(world: &dyn World, machine: &Machine) -> String {
    let mut out = format!("Numloom {}\n", crate::VERSION);
    let mut line = |name: &str, value: String| out.push_str(&format!("- {name}: {value}\n"));
    line("python", world.python());
    line("cores", format!("{} of {} may be used", machine.cores(), machine.online()));
    let bytes = |bytes: Option<usize>| bytes.map_or("unknown".into(), scaled);
    line("memory", format!("{} may be used, {} free", bytes(machine.memory()), bytes(machine.available())));
    for domain in machine.domains() {
        line(&format!("NUMA domain {}", domain.id), format!("{} cores, {}", domain.cores.len(), scaled(domain.bytes)));
    }
    line("GPUs", machine.gpus().to_string());
    for found in Search::new(&[]).report() {
        match found {
            Report::Found { library, version, path } => line(library, format!("{version}, {path}")),
            Report::Missing { library, why } => line(library, format!("missing: {why}")),
        }
    }
    line(
        "rank",
        machine.ranks.as_ref().map_or("alone".into(), |r| format!("{} of {} ({})", r.rank, r.size, r.launcher)),
    );
    let found = |names: &[&str]| {
        let there: Vec<&str> = names.iter().copied().filter(|name| world.find(name).is_some()).collect();
        if there.is_empty() { "none".to_string() } else { there.join(", ") }
    };
    line("launchers", found(&Launcher::WORDS[1..5]));
    line("debuggers", found(&["gdb", "valgrind", "cuda-gdb", "compute-sanitizer"]));
    line("profilers", found(&["nsys", "nvprof"]));
    out
}
