//! The table: one row a setting.

/// One row: its flag, what it is for, its default as text.
pub struct Setting {
    pub name: &'static str,
    pub help: &'static str,
    pub default: &'static str,
}

macro_rules! settings {
    ($($field:ident: $kind:ident = $name:literal, $default:expr, $shown:literal, $help:literal;)*) => {
        pub static SETTINGS: &[Setting] = &[$(Setting {
            name: $name, help: $help, default: $shown,
        }),*];

        /// The values, one field a row.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings { $(pub $field: $kind),* }

        impl Default for Settings {
            fn default() -> Settings { Settings { $($field: $default),* } }
        }

        impl Settings {
            /// Sets one row by name from text; `Err` says what was expected.
            pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
                match name {
                    $($name => self.$field = <$kind as Read>::read(value)?,)*
                    _ => return Err(format!("unknown flag --{name}")),
                }
                Ok(())
            }
        }
    };
}

settings! {
    cpus: usize = "cpus", available_cores(), "all cores", "workers that run tasks";
    window_size: usize = "window-size", 4096, "4096", "operations recorded before the window is flushed";
    fuse: bool = "fuse", true, "1", "fuse runs of operations into one task";
    jit: bool = "jit", true, "1", "generate machine code for hot kernels";
    min_cpu_chunk: usize = "min-cpu-chunk", 16384, "16384", "smallest tile, in elements, worth a worker of its own";
    sysmem: usize = "sysmem", memory_of_machine(), "80% of memory", "MiB of system memory for arrays";
    show_memory_usage: bool = "show-memory-usage", false, "0", "print what the memories held at exit";
    inline_size: usize = "inline-size", 8192, "8192", "largest result, in elements, computed at once on the caller's thread";
}

pub(crate) trait Read: Sized {
    fn read(value: Option<&str>) -> Result<Self, String>;
}

impl Read for usize {
    fn read(value: Option<&str>) -> Result<usize, String> {
        let text = value.ok_or("a number is needed")?;
        text.parse().map_err(|_| format!("a number is needed, not {text:?}"))
    }
}

impl Read for bool {
    fn read(value: Option<&str>) -> Result<bool, String> {
        match value.map(|v| v.to_ascii_lowercase()).as_deref() {
            None | Some("1" | "t" | "true" | "y" | "yes") => Ok(true),
            Some("0" | "f" | "false" | "n" | "no") => Ok(false),
            Some(other) => Err(format!("1/t/true/y/yes or 0/f/false/n/no is needed, not {other:?}")),
        }
    }
}

/// Cores this process may use: its affinity counts, not the machine's size.
fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn memory_of_machine() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.split_whitespace().nth(1).and_then(|k| k.parse::<usize>().ok()).unwrap_or(1 << 24);
    (kib >> 10) * 4 / 5
}
