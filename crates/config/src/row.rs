//! One row of the table of settings.

use crate::kinds::KindInfo;

/// What a setting is about; `--help`, `--show-config` and the documentation follow this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    General,
    MultiNode,
    Binding,
    Cores,
    Memory,
    Tuning,
    Profiling,
    Logging,
    Debugging,
    Other,
}

impl Group {
    pub const ALL: [Group; 10] = [
        Group::General,
        Group::MultiNode,
        Group::Binding,
        Group::Cores,
        Group::Memory,
        Group::Tuning,
        Group::Profiling,
        Group::Logging,
        Group::Debugging,
        Group::Other,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Group::General => "General",
            Group::MultiNode => "Several nodes and ranks",
            Group::Binding => "Binding",
            Group::Cores => "Processors",
            Group::Memory => "Memory, for each rank",
            Group::Tuning => "Tuning",
            Group::Profiling => "Profiling",
            Group::Logging => "Logging",
            Group::Debugging => "Debugging",
            Group::Other => "Other",
        }
    }
}

/// A setting: its name, what values it takes, what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The field of `Settings`; the flag is the same with hyphens.
    pub field: &'static str,
    pub kind: KindInfo,
    pub group: Group,
    pub help: &'static str,
    /// The flag's one-letter form.
    pub short: Option<char>,
    /// The smallest and largest number that makes sense (in MiB for sizes).
    pub range: (usize, usize),
    /// What auto-configuration does when nothing is given.
    pub auto: Option<&'static str>,
    /// Accepted, but its job does not exist here: the reason.
    pub absent: Option<&'static str>,
    /// Only the command acts on it; in the environment of a plain `python` it does nothing.
    pub driver: bool,
}

/// A row with nothing special about it; the table fills in its field and kind.
pub(crate) const fn row(group: Group, help: &'static str) -> Row {
    Row {
        field: "",
        kind: KindInfo { metavar: "", choices: &[], repeats: false },
        group,
        help,
        short: None,
        range: (0, usize::MAX),
        auto: None,
        absent: None,
        driver: false,
    }
}

impl Row {
    pub(crate) const fn short(self, letter: char) -> Row {
        Row { short: Some(letter), ..self }
    }

    pub(crate) const fn range(self, least: usize, most: usize) -> Row {
        Row { range: (least, most), ..self }
    }

    pub(crate) const fn auto(self, what: &'static str) -> Row {
        Row { auto: Some(what), ..self }
    }

    pub(crate) const fn absent(self, reason: &'static str) -> Row {
        Row { absent: Some(reason), ..self }
    }

    pub(crate) const fn command_only(self) -> Row {
        Row { driver: true, ..self }
    }
}

impl Row {
    /// The flag without its hyphens in front.
    pub fn flag(&self) -> String {
        self.field.replace('_', "-")
    }

    /// Whether `name` (without hyphens in front) is this row's flag.
    pub fn is_called(&self, name: &str) -> bool {
        name.len() == self.field.len()
            && name.bytes().zip(self.field.bytes()).all(|(n, f)| n == if f == b'_' { b'-' } else { f })
    }

    /// On or off, so that a value may be left out.
    pub fn is_switch(&self) -> bool {
        self.kind.metavar.is_empty() && self.kind.choices.is_empty()
    }

    pub fn takes_directory(&self) -> bool {
        self.kind.metavar.starts_with("DIR")
    }

    /// What stands for the value in help: `MIB`, `{a,b}`, or nothing.
    pub fn value_name(&self) -> String {
        match self.kind.choices {
            [] => self.kind.metavar.to_string(),
            choices => format!("{{{}}}", choices.join(",")),
        }
    }
}
