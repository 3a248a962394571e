//! Completion scripts for shells, made from the table.

use crate::kinds::Shell;
use crate::row::Row;
use crate::table::ROWS;

pub fn completion(command: &str, shell: Shell) -> String {
    match shell {
        Shell::None => String::new(),
        Shell::Bash => bash(command),
        Shell::Zsh => zsh(command),
        Shell::Fish => fish(command),
    }
}

fn bash(command: &str) -> String {
    let flags: Vec<String> = ROWS.iter().map(|r| format!("--{}", r.flag())).collect();
    let cases: String = ROWS
        .iter()
        .filter(|r| !r.kind.choices.is_empty())
        .map(|r| {
            let words = r.kind.choices.join(" ");
            format!("    --{}) COMPREPLY=($(compgen -W \"{words}\" -- \"$current\")); return ;;\n", r.flag())
        })
        .collect();
    format!(
        "_{command}() {{\n  local current=\"${{COMP_WORDS[COMP_CWORD]}}\"\n  case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{cases}  \
         esac\n  case \"$current\" in\n    -*) COMPREPLY=($(compgen -W \"{} --help\" -- \"$current\")) ;;\n    \
         *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n  esac\n}}\ncomplete -o filenames -F _{command} {command}\n",
        flags.join(" ")
    )
}

fn zsh(command: &str) -> String {
    let escape = |text: &str| text.replace('\'', "'\\''").replace('[', "\\[").replace(']', "\\]").replace(':', "\\:");
    let spec = |r: &Row| {
        let repeat = if r.kind.repeats { "*" } else { "" };
        let value = match (r.is_switch(), r.kind.choices) {
            (true, _) => String::new(),
            (_, []) if r.takes_directory() => format!(":{}:_files -/", r.kind.metavar),
            (_, []) => format!(":{}: ", r.kind.metavar),
            (_, choices) => format!(":{}:({})", r.flag(), choices.join(" ")),
        };
        let equals = if r.is_switch() { "" } else { "=" };
        format!("  '{repeat}--{}{equals}[{}]{value}' \\\n", r.flag(), escape(r.help))
    };
    let specs: String = ROWS.iter().map(spec).collect();
    format!("#compdef {command}\n_arguments -S \\\n{specs}  '--help[this list]' \\\n  '*::program:_files'\n")
}

fn fish(command: &str) -> String {
    let line = |r: &Row| {
        let value = match (r.is_switch(), r.kind.choices) {
            (true, _) => String::new(),
            (_, []) => if r.takes_directory() { " -r" } else { " -x" }.to_string(),
            (_, choices) => format!(" -x -a '{}'", choices.join(" ")),
        };
        let short = r.short.map_or(String::new(), |c| format!(" -s {c}"));
        format!("complete -c {command} -l {}{short}{value} -d '{}'\n", r.flag(), r.help.replace('\'', "\\'"))
    };
    ROWS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tree::assert_written;

    #[test]
    fn scripts_for_three_shells() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            assert_written(&format!("snapshots/completion.{}", shell.word()), &completion("numloom", shell));
        }
    }
}
