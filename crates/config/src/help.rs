//! The table as `--help` has it.

use crate::row::{Group, Row};
use crate::table::{ROWS, Settings};

/// How wide a line of help may be.
const WIDTH: usize = 110;
const INDENT: usize = 30;

/// The usage line.
pub fn usage(command: &str) -> String {
    let variable = if command == "legate" { "LEGATE_CONFIG" } else { "NUMLOOM_CONFIG" };
    format!(
        "usage: {command} [flags] [program [arguments]]\n       {variable}=\"[flags]\" python program.py [arguments]\n"
    )
}

/// Every flag, by group.
pub fn help(command: &str) -> String {
    let mut out = usage(command);
    out.push_str("\nWithout a program, an interactive interpreter. A switch takes 1/t/true/y/yes or 0/f/false/n/no.\n");
    for group in Group::ALL {
        out.push_str(&format!("\n{}:\n", group.title()));
        for row in ROWS.iter().filter(|r| r.group == group) {
            let left = flags(row);
            let right = format!("{}{}", row.help, otherwise(row));
            out.push_str(&format!("  {left:<width$}", width = INDENT - 2));
            if left.len() + 3 > INDENT {
                out.push_str(&format!("\n{:INDENT$}", ""));
            }
            out.push_str(&wrap(&right));
        }
    }
    out.push_str("\n  -h, --help                  this list\n");
    out
}

/// `-m, --module TEXT`.
pub(crate) fn flags(row: &Row) -> String {
    let short = row.short.map_or(String::new(), |c| format!("-{c}, "));
    format!("{short}--{} {}", row.flag(), row.value_name()).trim_end().to_string()
}

/// What the value is when it is not given, and whether the job exists.
fn otherwise(row: &Row) -> String {
    let mut parts = Vec::new();
    match (row.auto, default(row)) {
        (Some(auto), _) => parts.push(format!("auto: {auto}")),
        (None, Some(default)) => parts.push(format!("default {default}")),
        (None, None) => {}
    }
    if let Some(absent) = row.absent {
        parts.push(format!("accepted, no effect: {absent}"));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// The default worth a mention.
pub(crate) fn default(row: &Row) -> Option<String> {
    let shown = Settings::default().show(row);
    let off = row.is_switch() && shown == "0";
    match shown.split_once(" (") {
        Some(("0", _)) => None,
        Some((_, scaled)) => Some(scaled.trim_end_matches(')').to_string()),
        None => Some(shown).filter(|shown| !shown.is_empty() && !off),
    }
}

fn wrap(text: &str) -> String {
    let (mut out, mut column) = (String::new(), INDENT);
    for word in text.split(' ') {
        if column > INDENT && column + 1 + word.chars().count() > WIDTH {
            out.push_str(&format!("\n{:INDENT$}", ""));
            column = INDENT;
        } else if column > INDENT {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.chars().count();
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tree::assert_written;

    #[test]
    fn the_list_reads_well() {
        let text = help("numloom");
        assert_written("snapshots/help.txt", &text);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
