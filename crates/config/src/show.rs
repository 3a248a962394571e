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
