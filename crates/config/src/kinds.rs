//! The kinds of values: how each is read from text and shown.

use crate::row::Row;
use std::path::PathBuf;

pub const MIB: usize = 1 << 20;

/// What help and completion need to know of a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// What stands for the value in help; empty for a switch.
    pub metavar: &'static str,
    pub choices: &'static [&'static str],
    /// Whether every occurrence counts, not the last one only.
    pub repeats: bool,
}

pub trait Kind {
    type Of: PartialEq;
    const INFO: KindInfo;

    /// The value of `texts`, the occurrences in order, never empty; `Err` says what is needed.
    fn read(texts: &[&str], row: &Row) -> Result<Self::Of, String>;
    fn show(value: &Self::Of) -> String;
}

const fn valued(metavar: &'static str) -> KindInfo {
    KindInfo { metavar, choices: &[], repeats: false }
}

fn last<'a>(texts: &[&'a str]) -> &'a str {
    texts.last().copied().unwrap_or_default()
}

/// The word of a switch, in any case.
pub fn read_switch(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" => Some(true),
        "0" | "f" | "false" | "n" | "no" => Some(false),
        _ => None,
    }
}

/// On or off.
pub struct Switch;

impl Kind for Switch {
    type Of = bool;
    const INFO: KindInfo = valued("");

    fn read(texts: &[&str], _: &Row) -> Result<bool, String> {
        read_switch(last(texts)).ok_or_else(|| "1/t/true/y/yes or 0/f/false/n/no is needed".into())
    }

    fn show(value: &bool) -> String {
        u8::from(*value).to_string()
    }
}

/// A whole number.
pub struct Count;

impl Kind for Count {
    type Of = usize;
    const INFO: KindInfo = valued("N");

    fn read(texts: &[&str], row: &Row) -> Result<usize, String> {
        number(last(texts), row, "a whole number")
    }

    fn show(value: &usize) -> String {
        thousands(*value)
    }
}

/// Memory: read in MiB, kept in bytes.
pub struct Size;

impl Kind for Size {
    type Of = usize;
    const INFO: KindInfo = valued("MIB");

    fn read(texts: &[&str], row: &Row) -> Result<usize, String> {
        let what = "a whole number of MiB";
        let mib = number(last(texts), row, what)?;
        mib.checked_mul(MIB).ok_or_else(|| format!("{what} is needed, and this is more than any machine has"))
    }

    fn show(value: &usize) -> String {
        format!("{} ({})", thousands(*value), scaled(*value))
    }
}

fn number(text: &str, row: &Row, what: &str) -> Result<usize, String> {
    let (least, most) = row.range;
    match text.parse::<i128>() {
        Err(_) => Err(format!("{what} is needed, such as --{} {}", row.flag(), least.max(4))),
        Ok(n) if n < least as i128 => Err(format!("{what}, {least} or more, is needed")),
        Ok(n) if n > most as i128 => Err(format!("{what}, {} or less, is needed", thousands(most))),
        Ok(n) => Ok(n as usize),
    }
}

/// `41943040` as `41,943,040`.
pub fn thousands(value: usize) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `41943040` as `40 MiB`.
pub fn scaled(bytes: usize) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let rounded = format!("{value:.2}");
    format!("{} {}", rounded.trim_end_matches('0').trim_end_matches('.'), UNITS[unit])
}

/// Any text.
pub struct Text;

impl Kind for Text {
    type Of = String;
    const INFO: KindInfo = valued("TEXT");

    fn read(texts: &[&str], _: &Row) -> Result<String, String> {
        Ok(last(texts).to_string())
    }

    fn show(value: &String) -> String {
        value.clone()
    }
}

/// Texts; each occurrence of the flag adds one.
pub struct Texts;

impl Kind for Texts {
    type Of = Vec<String>;
    const INFO: KindInfo = KindInfo { metavar: "TEXT", choices: &[], repeats: true };

    fn read(texts: &[&str], _: &Row) -> Result<Vec<String>, String> {
        Ok(texts.iter().map(|t| t.to_string()).collect())
    }

    fn show(value: &Vec<String>) -> String {
        value.join(" ")
    }
}

/// One group a local rank: `0-3/4-7`.
pub struct Groups;

impl Kind for Groups {
    type Of = Vec<String>;
    const INFO: KindInfo = valued("GROUP/…");

    fn read(texts: &[&str], _: &Row) -> Result<Vec<String>, String> {
        let groups: Vec<String> = last(texts).split('/').map(str::to_string).collect();
        match groups.iter().any(String::is_empty) {
            true => Err("one group for each rank of the node is needed, as in 0-3/4-7".into()),
            false => Ok(groups),
        }
    }

    fn show(value: &Vec<String>) -> String {
        value.join("/")
    }
}

/// One group of numbers a local rank: cores or NUMA domains.
pub struct NumberGroups;

impl Kind for NumberGroups {
    type Of = Vec<String>;
    const INFO: KindInfo = Groups::INFO;

    fn read(texts: &[&str], row: &Row) -> Result<Vec<String>, String> {
        let groups = Groups::read(texts, row)?;
        for group in &groups {
            number_list(group)?;
        }
        Ok(groups)
    }

    fn show(value: &Vec<String>) -> String {
        Groups::show(value)
    }
}

/// `0-3,8` as numbers.
pub fn number_list(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("numbers and ranges are needed, as in 0-3,8, and {text:?} is not that");
    let mut out = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().map_err(|_| wrong())?, last.parse().map_err(|_| wrong())?);
        if first > last || last >= 1 << 16 {
            return Err(wrong());
        }
        out.extend(first..=last);
    }
    Ok(out)
}

/// A directory.
pub struct Directory;

impl Kind for Directory {
    type Of = PathBuf;
    const INFO: KindInfo = valued("DIR");

    fn read(texts: &[&str], _: &Row) -> Result<PathBuf, String> {
        match last(texts) {
            "" => Err("a directory is needed".into()),
            text => Ok(text.into()),
        }
    }

    fn show(value: &PathBuf) -> String {
        value.display().to_string()
    }
}

/// A directory, or `off`.
pub struct DirectoryOrOff;

impl Kind for DirectoryOrOff {
    type Of = Option<PathBuf>;
    const INFO: KindInfo = valued("DIR|off");

    fn read(texts: &[&str], row: &Row) -> Result<Option<PathBuf>, String> {
        match last(texts) {
            "off" => Ok(None),
            text => Directory::read(&[text], row).map(Some),
        }
    }

    fn show(value: &Option<PathBuf>) -> String {
        value.as_ref().map_or("off".into(), Directory::show)
    }
}

/// An enum whose variants have one word each.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),* }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl Kind for $name {
            type Of = $name;
            const INFO: KindInfo = KindInfo { metavar: "", choices: $name::WORDS, repeats: false };

            fn read(texts: &[&str], _: &Row) -> Result<$name, String> {
                match last(texts) {
                    $($word => Ok($name::$variant),)*
                    _ => Err(format!("one of {} is needed", Self::WORDS.join(", "))),
                }
            }

            fn show(value: &$name) -> String {
                value.word().to_string()
            }
        }
    )*};
}

choices! {
    /// How the program is run.
    RunMode { Auto = "auto", Python = "python", Exec = "exec" }
    /// What starts the ranks.
    Launcher { None = "none", Mpirun = "mpirun", Srun = "srun", Jsrun = "jsrun", Aprun = "aprun", Dask = "dask" }
    /// What stands behind a GPU.
    GpuBackend { Auto = "auto", Cuda = "cuda", Sim = "sim" }
    /// What does large jobs of dense linear algebra.
    Blas { Auto = "auto", Own = "own" }
    /// A shell to write completion for.
    Shell { None = "none", Bash = "bash", Zsh = "zsh", Fish = "fish" }
}
