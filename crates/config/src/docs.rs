//! `docs/configuration.md`, made from the table.

use crate::help::{default, flags};
use crate::row::{Group, Row};
use crate::table::ROWS;

const OPENING: &str = "\
# Settings

<!-- Made from the table in crates/config/src/table.rs: `UPDATE_DOCS=1 cargo test -p numloom-config`. -->

The same flags are given to the `numloom` command and in the variables `NUMLOOM_CONFIG` and `LEGATE_CONFIG`, which
are read once, when `numloom` is first imported:

    numloom --cpus 8 --sysmem 4000 program.py
    NUMLOOM_CONFIG=\"--cpus 8 --sysmem 4000\" python program.py

`--flag`, `--flag value` and `--flag=value` are read alike; a switch takes `1 t true y yes` or `0 f false n no`, in
any case, and alone means yes. Quotes are a shell's. The last one wins; the command's flags win over
`NUMLOOM_CONFIG`, and that over `LEGATE_CONFIG`. Sizes are in MiB and count for each rank. `--show-config` prints
every value and where it came from. A flag marked *no effect* is accepted and says so once.
";

pub fn markdown() -> String {
    let mut out = String::from(OPENING);
    for group in Group::ALL {
        out.push_str(&format!("\n## {}\n\n| flag | what it does | if not given |\n|---|---|---|\n", group.title()));
        for row in ROWS.iter().filter(|r| r.group == group) {
            out.push_str(&format!("| `{}` | {} | {} |\n", flags(row).replace('|', "\\|"), what(row), otherwise(row)));
        }
    }
    out
}

fn what(row: &Row) -> String {
    let only = if row.driver { " (the command only)" } else { "" };
    let absent = row.absent.map_or(String::new(), |reason| format!("; *no effect: {reason}*"));
    format!("{}{only}{absent}", row.help)
}

fn otherwise(row: &Row) -> String {
    row.auto
        .map(str::to_string)
        .or_else(|| default(row))
        .unwrap_or_else(|| if row.is_switch() { "0" } else { "" }.into())
}

#[cfg(test)]
mod tests {
    use crate::test_tree::assert_written;

    #[test]
    fn the_page_is_up_to_date() {
        assert_written("../../docs/configuration.md", &super::markdown());
    }
}
