//! `--show-config`: every setting, its value and where it came from.

use crate::resolve::Resolved;
use crate::row::Group;
use crate::table::ROWS;

pub fn show(resolved: &Resolved) -> String {
    let mut out = String::from("Numloom configuration:\n");
    for group in Group::ALL {
        for row in ROWS.iter().filter(|r| r.group == group) {
            let line = format!("- {} = {}", row.flag(), resolved.settings.show(row));
            out.push_str(&format!("{:<50} [{}]\n", line.trim_end(), resolved.source(row).name()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::given::{Given, Source};
    use crate::machine::Machine;
    use crate::test_tree::{Tree, assert_written};

    #[test]
    fn every_value_and_where_it_came_from() {
        let tree = Tree::new("show")
            .file("proc/meminfo", "MemTotal:       10485760 kB\n")
            .file("sys/devices/system/cpu/online", "0-7\n");
        let mut given = Given::default();
        given.read_text("--sysmem 40 --fuse=0", Source::Legate).unwrap();
        given.read_text("--zcmem 64 --window-size 1", Source::Numloom).unwrap();
        given.read_words(&["--gpus=2".into(), "--gpu-backend=sim".into()], Source::Flag).unwrap();
        let resolved = crate::resolve(&given, &Machine::at(tree.root(), 8, None), true).unwrap();
        assert_written("snapshots/show-config.txt", &super::show(&resolved));
    }
}
