//! What was given, by whom: words read against the table, before anything is known of the machine.

use crate::kinds::read_switch;
use crate::row::Row;
use crate::table::{ROWS, Settings};
use crate::words::{OpenQuote, split};
use std::fmt;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Default,
    Auto,
    Legate,
    Numloom,
    Flag,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Auto => "auto",
            Source::Legate => "LEGATE_CONFIG",
            Source::Numloom => "NUMLOOM_CONFIG",
            Source::Flag => "flag",
        }
    }
}

/// Why reading stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `--help` was asked for.
    Help,
    Bad(ConfigError),
}

/// One sentence: what, where it came from, what is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub what: String,
    pub source: Source,
    pub reason: String,
    /// Whether the list of flags would help.
    pub usage: bool,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError { what, source, reason, .. } = self;
        match source {
            Source::Flag | Source::Auto | Source::Default => write!(f, "{what}: {reason}"),
            source => write!(f, "{what} (in {}): {reason}", source.name()),
        }
    }
}

/// The texts given for each row, in order.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(usize, String, Source)>);

impl Given {
    /// The texts that count for a row, and where the last of them came from.
    pub(crate) fn of(&self, row: &Row) -> Option<(Vec<&str>, Source)> {
        let all: Vec<_> = self.0.iter().filter(|(i, ..)| ROWS[*i].field == row.field).collect();
        let (_, _, source) = all.last()?;
        Some((all.iter().map(|(_, text, _)| text.as_str()).collect(), *source))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, field: &str) -> bool {
        self.0.iter().any(|(i, ..)| ROWS[*i].field == field)
    }

    /// The flags that `keep` wants, as words again.
    pub fn words(&self, keep: impl Fn(&Row, Source) -> bool) -> Vec<String> {
        let mut out = Vec::new();
        for row in ROWS {
            let Some((texts, source)) = self.of(row) else { continue };
            if !keep(row, source) {
                continue;
            }
            let counted = if row.kind.repeats { &texts[..] } else { &texts[texts.len() - 1..] };
            for text in counted {
                out.push(format!("--{}={text}", row.flag()));
            }
        }
        out
    }

    /// Reads a configuration text.
    pub fn read_text(&mut self, text: &str, source: Source) -> Result<(), Stop> {
        let words = split(text).map_err(|OpenQuote(quote)| {
            Stop::Bad(ConfigError {
                what: text.to_string(),
                source,
                reason: format!("a {quote} is opened and never closed"),
                usage: false,
            })
        })?;
        match self.read_words(&words, source)? {
            [] => Ok(()),
            [word, ..] => {
                let reason = "only flags are expected here, and flags start with --".to_string();
                Err(Stop::Bad(ConfigError { what: word.clone(), source, reason, usage: true }))
            }
        }
    }

    /// Reads flags up to the first word that is none; what is left is the program and its arguments.
    /// After `-m module`, all that is left belongs to the module.
    pub fn read_words<'a>(&mut self, words: &'a [String], source: Source) -> Result<&'a [String], Stop> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let Some((name, value)) = flag(word) else { return Ok(&words[at..]) };
            at += 1;
            match name {
                "" => return Ok(&words[at..]),
                "help" | "h" => return Err(Stop::Help),
                _ => {}
            }
            let bad = |what: &str, reason: String, usage| {
                Stop::Bad(ConfigError { what: what.to_string(), source, reason, usage })
            };
            let Some(index) = ROWS.iter().position(|r| is_named(r, word, name)) else {
                return Err(bad(word, unknown(name), true));
            };
            let row = &ROWS[index];
            let (shown, text) = match value {
                Some(value) => (word.clone(), value.to_string()),
                None => match words.get(at).filter(|next| takes(row, next)) {
                    Some(next) => {
                        at += 1;
                        (format!("{word} {next}"), next.clone())
                    }
                    None if row.is_switch() => (word.clone(), "1".to_string()),
                    None => return Err(bad(word, format!("a value is needed ({})", row.value_name()), false)),
                },
            };
            Settings::default().set(row, &[&text]).map_err(|reason| bad(&shown, reason, false))?;
            self.0.push((index, text, source));
            if row.field == "module" && source == Source::Flag {
                return Ok(&words[at..]);
            }
        }
        Ok(&[])
    }
}

/// A word as a flag: its name without hyphens, and what stands after `=`. `--` alone is a flag without a name.
fn flag(word: &str) -> Option<(&str, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        return Some(long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))));
    }
    word.strip_prefix('-').filter(|short| !short.is_empty()).map(|short| (short, None))
}

fn is_named(row: &Row, word: &str, name: &str) -> bool {
    match word.starts_with("--") {
        true => row.is_called(name),
        false => row.short.is_some_and(|c| name.strip_prefix(c) == Some("")),
    }
}

/// Whether the next word is this row's value.
fn takes(row: &Row, next: &str) -> bool {
    if row.is_switch() { read_switch(next).is_some() } else { !next.starts_with("--") || row.kind.repeats }
}

fn unknown(name: &str) -> String {
    let near = ROWS.iter().map(|r| r.flag()).min_by_key(|flag| distance(flag, name));
    match near.filter(|flag| distance(flag, name) <= 2) {
        Some(flag) => format!("there is no such flag; is --{flag} meant?"),
        None => "there is no such flag; --help lists them".into(),
    }
}

/// How many characters must be changed, put in or left out to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = changed.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Given, String> {
        let mut given = Given::default();
        match given.read_text(text, Source::Numloom) {
            Ok(()) => Ok(given),
            Err(Stop::Help) => Err("help".into()),
            Err(Stop::Bad(error)) => Err(error.to_string()),
        }
    }

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn the_last_one_wins() {
        let given = read("--cpus 3 --fuse=no --cpus=2 --jit --fuse YES --wrapper a --wrapper 'b c'").unwrap();
        assert_eq!(given.words(|_, _| true), ["--cpus=2", "--fuse=YES", "--jit=1", "--wrapper=a", "--wrapper=b c"]);
    }

    #[test]
    fn what_is_wrong_is_one_sentence() {
        for (text, sentence) in [
            ("--help", "help"),
            ("-h", "help"),
            ("--nonsense", "--nonsense (in NUMLOOM_CONFIG): there is no such flag; --help lists them"),
            ("--sysmen 3", "--sysmen (in NUMLOOM_CONFIG): there is no such flag; is --sysmem meant?"),
            ("--fuse=maybe", "--fuse=maybe (in NUMLOOM_CONFIG): 1/t/true/y/yes or 0/f/false/n/no is needed"),
            ("--fuse maybe", "maybe (in NUMLOOM_CONFIG): only flags are expected here, and flags start with --"),
            ("--cpus", "--cpus (in NUMLOOM_CONFIG): a value is needed (N)"),
            ("--cpus 0", "--cpus 0 (in NUMLOOM_CONFIG): a whole number, 1 or more, is needed"),
            ("--sysmem lots", "--sysmem lots (in NUMLOOM_CONFIG): a whole number of MiB is needed, such as --sysmem 4"),
            ("--sysmem 0", "--sysmem 0 (in NUMLOOM_CONFIG): a whole number of MiB, 1 or more, is needed"),
            ("--sysmem -5", "--sysmem -5 (in NUMLOOM_CONFIG): a whole number of MiB, 1 or more, is needed"),
            ("--sysmem 'x", "--sysmem 'x (in NUMLOOM_CONFIG): a ' is opened and never closed"),
            (
                "--launcher ssh",
                "--launcher ssh (in NUMLOOM_CONFIG): one of none, mpirun, srun, jsrun, aprun, dask is needed",
            ),
            (
                "--cpu-bind 0-3//4",
                "--cpu-bind 0-3//4 (in NUMLOOM_CONFIG): one group for each rank of the node is needed, as in 0-3/4-7",
            ),
        ] {
            assert_eq!(read(text).map(|g| g.words(|_, _| true)), Err(sentence.to_string()), "{text}");
        }
        let huge = format!("--sysmem {}", u64::MAX);
        assert!(read(&huge).unwrap_err().contains("more than any machine has"));
    }

    #[test]
    fn the_program_ends_the_flags() {
        let mut given = Given::default();
        let all = words("--profile --cpus 2 -v prog.py --cpus 9 --help");
        assert_eq!(given.read_words(&all, Source::Flag).unwrap(), words("prog.py --cpus 9 --help"));
        let all = words("--timing -m package.module -v --help");
        assert_eq!(given.read_words(&all, Source::Flag).unwrap(), words("-v --help"));
        let all = words("--fuse 0 -- --odd.py x");
        assert_eq!(given.read_words(&all, Source::Flag).unwrap(), words("--odd.py x"));
        assert_eq!(
            given.words(|r, _| r.field != "cpus"),
            ["--fuse=0", "--profile=1", "--verbose=1", "--timing=1", "--module=package.module"]
        );
    }
}
